// model/build.h: what the builder, the checks and the readers of files share: memory, names, messages, positions.
#ifndef KARDAN_MODEL_BUILD_H
#define KARDAN_MODEL_BUILD_H

#include "core/nearest.h"
#include "model/model.h"
#include "model/parameters.h"
#include "model/schema.h"

enum {
    KD_MODEL_MAX_ERRORS = 50,    // lines in kd_model_message
    KD_MODEL_MAX_WARNINGS = 200, // the rest is counted
    KD_MODEL_MAX_ELEMENTS = 10000000,
    KD_MODEL_LINE = 600, // of a message
};

// ---- positions: where readers of files found what they add ----------------------------------------------------------
// Elements that are added from now on stand there. file is copied.
kd_status kd_model_at(kd_model *m, const char *file, int line, int column) KD_NODISCARD;
// A field of the element that is added next: "law", "from.body", "motion[0]"; messages about "from.body" fall back to
// the position of "from", then of the element. The word is not copied: a literal or a string of the model.
kd_status kd_model_field_at(kd_model *m, const char *field, int line, int column) KD_NODISCARD;
// The same for an expression that stands there as it is: messages then point at the column inside.
kd_status kd_model_law_at(kd_model *m, const char *field, int line, int column) KD_NODISCARD;
void      kd_model_claim_fields(kd_model *m, kd_section section, int element);   // the fields and numbers that waited
kd_source kd_element_source(const kd_model *m, kd_section section, int element); // model.c
kd_source kd_model_source_waiting(const kd_model *m, const char *field);         // of an element that is not added yet
void      kd_model_drop_fields(kd_model *m); // no element comes: forget the fields that wait for one
kd_source kd_model_run_source(const kd_model *m,
                              const char     *field); // where a field of `run` stands; file NULL: nowhere
// A file that others include: nobody need use all that it has.
kd_status kd_model_share_file(kd_model *m, const char *file) KD_NODISCARD;
bool      kd_model_is_shared(const kd_model *m, const char *file);
kd_source kd_model_source_of(const kd_model *m, kd_section section, int element, const char *field);
// The position of a column (1-based) of an expression. false: it is not in the file as it is.
bool kd_model_source_in(const kd_model *m, kd_section section, int element, const char *field, int column,
                        kd_source *source);

// ---- messages -------------------------------------------------------------------------------------------------------
// One line each: "file:line:column: joint 'hinge': text". element < 0: no element; field NULL: the whole element.
void kd_model_error(kd_model *m, kd_section section, int element, const char *field, const char *format, ...)
    KD_PRINTF(5, 6);
void kd_model_warn(kd_model *m, kd_section section, int element, const char *field, const char *format, ...)
    KD_PRINTF(5, 6);
// The same at a position of a file that belongs to no element yet.
void kd_model_error_at(kd_model *m, const kd_source *source, const char *format, ...) KD_PRINTF(3, 4);
void kd_model_warn_at(kd_model *m, const kd_source *source, const char *format, ...) KD_PRINTF(3, 4);
int  kd_model_error_count(const kd_model *m);

// ---- names ----------------------------------------------------------------------------------------------------------

// an entry of the table of names: a name is unique within its section
typedef struct kd_name_entry {
    const char *name; // NULL: free
    kd_section  section;
    int         element;
} kd_name_entry;

typedef struct kd_names { // open addressing
    kd_name_entry *entry; // (size)
    int            size;  // power of two
    int            count;
} kd_names;

int              kd_names_find(const kd_names *names, kd_section section, const char *name); // -1: unknown
kd_status        kd_names_add(kd_names *names, kd_section section, const char *name, int element) KD_NODISCARD;
void             kd_names_release(kd_names *names);
int              kd_section_count(const kd_model *m, kd_section section);
const char      *kd_element_name(const kd_model *m, kd_section section, int element);
const void      *kd_element(const kd_model *m, kd_section section, int element);            // kd_body, kd_joint, ...
const void      *kd_element_definition(const kd_model *m, kd_section section, int element); // kd_body_def, ...
const kd_schema *kd_section_schema(kd_section section); // of these definitions; NULL: sections without one
// The name of an element of the section that was probably meant; NULL: none is near.
const char *kd_model_nearest(const kd_model *m, kd_section section, const char *wanted);
// "unknown body 'trailr', did you mean 'trailer'?"
void kd_model_say_unknown(const kd_model *m, kd_section section, const char *name, char *text, size_t size);

// ---- parameters -----------------------------------------------------------------------------------------------------
// For readers: the value, and that the parameter has been used. false: unknown
bool kd_model_use_parameter(kd_model *m, const char *name, double *value);
// The text that a parameter was computed from, for the writer.
kd_status kd_model_set_parameter_text(kd_model *m, const char *name, const char *text) KD_NODISCARD;

// For readers that copy the place of a frame: the frame is used.
void kd_model_use_frame(kd_model *m, int frame);

// ---- numbers that are computed --------------------------------------------------------------------------------------
// For readers: the expression of a number of the element that is added next, by its place (bytes) in the definition;
// the writer keeps it. text is copied.
typedef struct kd_number_text {
    kd_section  section;
    int         element; // -1: waits for its element
    size_t      offset;
    const char *text;
} kd_number_text;
kd_status kd_model_number_text(kd_model *m, size_t offset, const char *text) KD_NODISCARD;

// ---- memory of the model --------------------------------------------------------------------------------------------
const char *kd_model_text(kd_model *m, const char *text); // a copy; NULL for NULL, and when memory is short

const double *kd_model_numbers(kd_model *m, const double *x, int n); // the same of numbers

// ---- written models -------------------------------------------------------------------------------------------------
// For readers: a piece of the text of a model with subsystems, as the writer puts it: text, then a curve or the path of a
// file. Texts are copied.
typedef struct kd_written {
    const char        *text;
    int                curve; // -1: none
    const char        *real;  // path of a file that was read; NULL: none
    const char        *path;  // of that, as it was written
    struct kd_written *next;
} kd_written;
kd_status kd_model_add_written(kd_model *m, const kd_written *part) KD_NODISCARD;

// ---- adding elements ------------------------------------------------------------------------------------------------
// Was the definition made by its default function? Otherwise an error names it: "body 'arm': kd_body_def does not ..".
bool kd_model_is_made(kd_model *m, const char *singular, const char *name, unsigned cookie);
// Name and definition are acceptable (schema KD_SCHEMA_COUNT: the definition is not looked at) and there is room behind
// the last element of the section: then the caller writes it there, and kd_model_enter counts it in.
kd_status kd_model_prepare(kd_model *m, kd_section section, kd_schema_id schema, const char *name,
                           const void *def) KD_NODISCARD;
kd_status kd_model_enter(kd_model *m, kd_section section, const char *name) KD_NODISCARD;
// One more user force on a finished model, of which there is no system now, in place of the last one attached; def NULL
// takes it away again. No path finds it. Texts and *def->measure are not copied and must outlive it.
kd_status kd_model_attach(kd_model *m, const char *name, const kd_user_force_def *def) KD_NODISCARD;
// An error of an element that is not there yet, at the position of its field.
void kd_model_refuse(kd_model *m, kd_section section, const char *name, const char *field, const char *format, ...)
    KD_PRINTF(5, 6);
// The same of a block; false, which checks of blocks answer
bool kd_block_refuse(kd_model *m, const char *block, const char *field, const char *words);
// "input", or where there are several "input.NAME", "input[1]": what messages call an expression of a list
void kd_signal_field(const char *key, int i, int n, const char *name, char *text, size_t size);

// where a field stands in a file
typedef struct kd_field_position {
    const char *field;
    kd_section  section;
    int         element; // -1: waits for its element
    int         line, column;
    bool        literal; // an expression stands there as it is
} kd_field_position;

// what only src/model sees of a model
struct kd_model_private {
    kd_arena              arena; // strings, arrays of curves, warnings
    kd_names              names;
    int                   capacity[KD_SECTION_COUNT];
    bool                  attached; // the last user force is one of kd_model_attach
    kd_source             source;   // of what is added now
    kd_source             run_source;
    int                   nfields, fields_capacity, fields_waiting;
    kd_field_position    *field;
    int                   nnumbers, numbers_capacity, numbers_waiting;
    kd_number_text       *number; // in the order of the elements that were added
    int                   nerrors, nwarnings;
    bool                  checked;  // kd_model_finish has run
    bool                  quiet;    // no warnings: numbers change
    bool                  borrowed; // of a copy: names, positions and bindings are those of the model
    struct kd_bindings    bindings;
    struct kd_model_mesh *meshes;                  // files of triangles that were read
    struct kd_model_part *parts;                   // files of flexible bodies that were read
    struct kd_model_road *roads;                   // OpenCRG files that were read
    struct kd_model_tyre *tyres;                   // tyre property files that were read
    struct kd_shared     *shared;                  // files that are included
    kd_written           *written, *last_written;  // the text of a model with subsystems; NULL: it has none
    char                 *given[KD_SECTION_COUNT]; // definitions before finish filled them in; NULL: it does not
    double               *theta, *work;            // of a copy: values of parameters; workspace of expressions
    double               *at, *rate;               // of a copy: a tangent of the parameters (kd_model_change_along)
    struct kd_groups     *groups;                  // the same: bodies that move together
    const char           *warning[KD_MODEL_MAX_WARNINGS];
    char                  message[16384];
};

// ---- parts of kd_model_finish ---------------------------------------------------------------------------------------
// Mass, centre of mass and inertia about it of the shapes, with their densities; a total mass that is given (not NaN)
// scales them, and then shapes without any density count with equal ones. false: the shapes have no mass.
typedef struct kd_mass {
    double  mass;
    kd_vec3 centre;
    kd_sym3 inertia; // about the centre
} kd_mass;
double  kd_shape_volume(const kd_shape *shape);
kd_sym3 kd_shape_inertia(const kd_shape *shape, double mass); // about its centre of mass, in its own axes
kd_vec3 kd_shape_centre(const kd_shape *shape);               // of mass, in the body's frame
bool    kd_shapes_mass(const kd_shape *shape, int n, double mass, kd_mass *out);
// Rigidly joined
kd_mass kd_mass_add(const kd_mass *a, const kd_mass *b);
// Principal moments, rising
void kd_sym_eigenvalues(const kd_sym3 *A, double value[3]);

// Places of one element as anchors; unset references agree between the two ends. false: an error has been written.
bool    kd_places_resolve(kd_model *m, kd_section section, int element, const kd_place *from, const kd_place *to,
                          bool universal, kd_anchor *from_anchor, kd_anchor *to_anchor);
bool    kd_place_is_default(const kd_place *place); // the ground as it is: what a field has that is not written
bool    kd_place_resolve(kd_model *m, kd_section section, int element, const char *field, const kd_place *place,
                         kd_anchor *anchor);
kd_vec3 kd_anchor_point(const kd_model *m, const kd_anchor *a); // in the world, at the design position

// ---- subsystems: subsystems.c ---------------------------------------------------------------------------------------
// For readers: a subsystem, of this file or section; elements that are added from now on are its parts (0: nobody's).
kd_status kd_model_add_subsystem(kd_model *m, const char *name, const char *of,
                                 const kd_subsystem_def *def) KD_NODISCARD;
void      kd_model_within(kd_model *m, int subsystem);
// That an element is a part of; NULL: of none
const kd_subsystem *kd_subsystem_of(const kd_model *m, kd_section section, int element);
bool                kd_subsystem_is_inside(const kd_model *m, const kd_subsystem *inner, const kd_subsystem *outer);
void                kd_subsystem_place(kd_model *m, int i); // c, Q, L; those around it are known
void                kd_finish_subsystems(kd_model *m);      // where they are; definitions of their parts
// Axes R of a place of an element of a subsystem, seen in the frame of its body before the mirror: their image, L R M
kd_mat3 kd_place_image(const kd_model *m, kd_section section, int element, const char *key, const kd_mat3 *R);

void      kd_finish_bodies(kd_model *m);              // masses, poses
kd_status kd_finish_curves(kd_model *m) KD_NODISCARD; // curves and tracks
void      kd_update_curves(kd_model *m);              // the same with other numbers, without allocation
// of joint i: its curves are found and checked (joint_table.c)
void      kd_finish_joint_table(kd_model *m, int i, const kd_joint_form *form);
void      kd_fill_joint_table(kd_model *m, int i);  // the curves of the model as its functions
void      kd_finish_numbers(kd_model *m);           // bodies, frames, joints, constraints, forces; does not allocate
void      kd_model_check_block(kd_model *m, int i); // numbers that are checked when a block is added
kd_status kd_model_copy_sections(kd_model *copy, const kd_model *m) KD_NODISCARD;
void      kd_model_forget_track(kd_model_track *t);
kd_status kd_finish_plausible(kd_model *m);           // warnings of what looks odd
kd_status kd_finish_groups(kd_model *m) KD_NODISCARD; // what moves alone has inertia; bodies that nothing acts on
struct kd_groups *kd_groups_cut(const kd_model *m, kd_arena *arena); // memory for the same; NULL: there is none
void              kd_check_groups(kd_model *m, struct kd_groups *memory);
// Who reads whom: nodes are sensors, then states, then equations of algebraic variables.
typedef struct kd_read_edge {
    int from, to;
} kd_read_edge;
typedef struct kd_read_graph {
    int           nnodes, nedges, capacity;
    kd_read_edge *edge;
    bool          failed; // out of memory
} kd_read_graph;
// Can the equations be solved for the variables? Edges between nodes, and from nodes to algebraic variables.
kd_status kd_finish_algebraic(kd_model *m, const kd_read_graph *between, const kd_read_graph *variables) KD_NODISCARD;
kd_status kd_finish_laws(kd_model *m) KD_NODISCARD; // texts compile, read only what they may, without cycles; unused
                                                    // names
#endif
