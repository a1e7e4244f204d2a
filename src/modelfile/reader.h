// reader.h: what the parts of the reader of model files share.
//
// Functions that read answer true if they could; otherwise the findings have it, or status says that memory is
// short.
#ifndef KD_MODELFILE_READER_H
#define KD_MODELFILE_READER_H

#include "expr/expr.h"
#include "model/build.h"
#include "model/schema.h"
#include "modelfile/document.h"
#include "modelfile/paths.h"

enum {
    KD_READER_MAX_INDICES = 4, // `for` of one element
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    KD_READER_MAX_ELEMENTS = 2000,
#else
    KD_READER_MAX_ELEMENTS = 1000000, // after repetition
#endif
    KD_READER_MAX_ROUNDS = 4000000, // of all `for` together, empty ones included
    KD_READER_MAX_PARAMETER_DEPTH = 64,
};

enum { KD_TURNS_UNKNOWN = -1, KD_TURNS_PLAIN = 2 }; // of coordinates: either; neither, part of a quaternion

enum {
    KD_READER_MAX_DEPTH = 16,   // subsystems inside each other, files that include each other
    KD_READER_MAX_FILES = 1000, // of one model
    KD_READER_MAX_LIBRARIES = 8,
};

// ---- subsystems -----------------------------------------------------------------------------------------------------

// A file of a model, read once
typedef struct kd_model_file {
    const char *shown, *real; // as messages call it; with links resolved
    const char *folder;       // where others are looked for; NULL: nowhere
    kd_document document;
    bool        wrong;
} kd_model_file;

typedef enum kd_need_kind { KD_NEED_BODY, KD_NEED_POINT, KD_NEED_SIGNAL, KD_NEED_COUNT } kd_need_kind;

// What a subsystem needs from outside, and what it was given
typedef struct kd_handed {
    const char      *name;
    kd_need_kind     kind;
    struct kd_scope *scope; // in which the value is meant
    kd_node         *node;  // the value as written
    const char      *text;  // with indices put in; NULL: a map
    bool             busy;  // its value is being looked for
} kd_handed;

typedef struct kd_named { // an expression with a name
    const char *name, *text;
    const char *file; // as in kd_node
    int         line, column;
    bool        used;
} kd_named;

// A model or subsystem with its own names
typedef struct kd_scope {
    const char      *name;   // with those around it, "front.left"; "" of the model itself
    int              number; // of the subsystem, from 1 on; 0: the model itself
    int              depth;
    struct kd_scope *outer;
    kd_node         *root, *home; // its sections; those of its file, where definitions are
    const kd_node   *key;         // where it stands in the one around it
    // indices of the `for` that it was made by
    int         nindices;
    const char *index[KD_READER_MAX_INDICES];
    double      index_value[KD_READER_MAX_INDICES];
    // of `needs`
    int        nhanded;
    kd_handed *handed;
    // named expressions
    kd_named *named;
    int       nnamed;
    bool      wrong;     // it has been told why; its sections are not read
    bool      has_parts; // subsystems of its own
    bool      placed;    // Q and c are not those of the model itself
    // for hierarchy.c: what it is made of, with what in place of what, and its number among definitions
    const kd_node   *made_of, *replaced;
    int              definition;
    struct kd_scope *first_part, *last_part, *next_part; // its own subsystems, and the next one beside it
    struct kd_scope *next_same;                          // of the same definition
    // its first numbers among the bindings of the model, and behind the last: mirror, orientation, position
    int  first_binding, end_binding;
    bool held;
    // its place by parameters: how it is turned or mirrored, or how that around it is; else expressions of the components
    // of its origin c that are no numbers
    bool        turns;
    const char *origin[3];
} kd_scope;

typedef struct kd_file_parameter {
    const char *name; // with those of subsystems
    const char *file;
    kd_scope   *scope;        // whose names its expression reads
    kd_scope   *looped;       // whose indices besides; NULL: nobody's
    const char *text;         // its expression; NULL: no scalar
    int         line, column; // 0: set from outside
    int         first;        // as in kd_node
    bool        set;          // from outside
    bool        used;
    enum { KD_PARAMETER_NEW, KD_PARAMETER_BUSY, KD_PARAMETER_DONE } state;
    double value;
} kd_file_parameter;

// A number of parameters, or a step that makes others of such numbers, of the element that is being read
typedef struct kd_pending {
    const double   *value; // where it goes
    bool            is_step;
    kd_binding      binding;
    kd_binding_step step;
} kd_pending;

typedef struct kd_pending_array { // of the element: its address will be at an offset of the definition
    const double *first;
    int           n;
    size_t        offset;
} kd_pending_array;
enum { KD_READER_MAX_ARRAYS = 8 };

// Files that are not on disk: tests
typedef struct kd_file_source {
    int                n;
    const char *const *name;
    const char *const *text;
    const size_t      *length;
} kd_file_source;

typedef struct kd_reader {
    kd_model         *m;
    kd_file_findings *findings;
    kd_document       document;
    kd_status         status;       // KD_OK or KD_ERR_MEMORY
    const char       *folder;       // of the file, in which others are looked for; NULL: the text came from memory
    char              element[200]; // "joint 'hinge': ", in front of messages
    const char       *name;         // of the element that is being read
    int               elements;     // so far
    int               rounds;       // of repetition so far
    kd_arena          scratch;      // texts of the element that is being read
    kd_arena          memory;       // what lives as long as the reader

    // subsystems: subsystem.c, files.c
    kd_scope            **scope_list; // that of the model itself first, those around others before them
    int                   nscopes, scopes_capacity;
    kd_names              scope_names; // full names
    kd_scope             *scope;       // that is being read
    kd_model_file       **file;
    int                   nfiles, files_capacity;
    const char           *home;         // folder of the model, with links resolved; NULL: it is no file
    const char           *first_folder; // `folder` of the file of the model
    const char           *library[KD_READER_MAX_LIBRARIES]; // with links resolved
    int                   nlibraries;
    const kd_file_source *files_given; // in place of files; NULL: files
    const kd_field       *field;       // that is being read, and the map that it stands in
    const kd_node        *map;

    // parameters, until they are in the model
    kd_file_parameter *parameter;
    int                nparameters, parameters_capacity;
    kd_names           parameter_names;
    int                busy[KD_READER_MAX_PARAMETER_DEPTH]; // those being computed, outermost first
    int                nbusy;

    // named expressions of the file
    kd_named *named;
    int       nnamed;

    // indices of the repetition, outermost first
    int         nindices;
    const char *index[KD_READER_MAX_INDICES];
    double      index_value[KD_READER_MAX_INDICES];
    bool        indices_vary;    // while compiling: indices are variables instead of numbers
    bool        parameters_live; // while compiling: parameters stay what they are, instead of numbers
    bool        reads_parameter; // a parameter was read
    bool        looks;           // names are only looked for: nothing becomes part of the model

    // what the model must know of numbers of parameters (bindings.c)
    kd_pending      *pending;
    int              npending, pending_capacity;
    const char      *key_read, *key_kept; // the last key, and its copy in the model
    kd_pending_array array[KD_READER_MAX_ARRAYS];
    int              narrays;
    int             *order; // (parameters_capacity) in which they were computed
    int              nordered;

    // expressions of repeated elements are compiled once; kd_node.cache is a place in the list of the model + 1
    double *work;
    int     work_size;

    // units of the numbers that are being read (expr/quantity.h)
    const char *unit;         // as the schema says, "m|rad"; "": none; NULL: any
    int         turns;        // of "m|rad": 0 the first, 1 the second; KD_TURNS_...
    int         joint;        // -1, or the kind of the joint whose coordinates are being read: each has its own unit
    bool        bodies_known; // all bodies and frames were read, and none was wrong: another name is unknown
    bool        any_units;    // fields without a unit in the schema take any: curves, inputs, states, blocks, ...

    // the definition that is being filled: numbers in it keep their expressions
    const void *definition;
    size_t      definition_size;

    char        denied[100]; // while compiling: a name that has no value before the simulation
    const char *advice;      // what to write where a number must not read it; NULL: nothing is known
} kd_reader;

// Several files at once, the model first: for tests
kd_status kd_model_read_files(const kd_file_source *files, kd_model **model, char *message, size_t size) KD_NODISCARD;

// A complaint at a node, with the element in front.
void kd_reader_complain(kd_reader *r, const kd_node *node, const char *format, ...) KD_PRINTF(3, 4);
bool kd_reader_short_of_memory(kd_reader *r); // false
bool kd_reader_is_tired(const kd_reader *r);  // so much is wrong that it makes no sense to go on
// A copy that lives until the element has been read; NULL: memory is short.
char *kd_reader_copy(kd_reader *r, const char *text, size_t length);

// ---- scope.c: parameters, indices, expressions ----------------------------------------------------------------------

// Parameters: names and texts of a scope, its own ones or values from outside; then settings; then values of all.
bool kd_reader_enter_parameter(kd_reader *r, kd_scope *scope, const kd_node *key, const kd_node *value, kd_scope *reads,
                               kd_scope *looped);
void kd_reader_override(kd_reader *r, const kd_setting *settings, int nsettings,
                        int from); // those entered from there on
bool kd_reader_compute_parameters(kd_reader *r, int from);
bool kd_reader_add_parameters(kd_reader *r);
void kd_reader_check_settings(kd_reader *r, const kd_setting *settings, int nsettings); // each is a parameter
bool kd_reader_has_parameter(const kd_reader *r, const char *name);                     // of the scope
void kd_reader_scope_release(kd_reader *r);
// The number of a scalar, an expression or a number with a unit; key is for messages.
bool kd_reader_number(kd_reader *r, kd_node *node, const char *key, double *value);
bool kd_reader_hold_parameter(kd_reader *r, const kd_node *node, const char *key, const char *name);
bool kd_reader_integer(kd_reader *r, kd_node *node, const char *key, int *value);
// An expression with numbers in place of indices, which lives as long as the reader; NULL: memory is short
const char *kd_reader_text_with_indices(kd_reader *r, const kd_node *node);
// A name or path with its indices evaluated: link(i-1) becomes link(3).
bool kd_reader_name(kd_reader *r, const kd_node *node, const char **name);
// An expression for the simulation, with the indices of the repetition put in. *literal: it is as in the file.
bool   kd_reader_law(kd_reader *r, const kd_node *node, const char *key, const char **law, bool *literal);
size_t kd_reader_token(const char *text); // characters of the number, word or other sign at the beginning of a text

// ---- named.c: expressions with names --------------------------------------------------------------------------------

bool            kd_reader_named(kd_reader *r, const kd_node *map); // the section `expressions`; NULL: there is none
const kd_named *kd_reader_find_named(const kd_reader *r, const char *name); // it is used then
void            kd_reader_warn_named(kd_reader *r);                         // of those of the model that nobody uses
// The law with the texts of named expressions in place of their names
bool kd_reader_put_named(kd_reader *r, const kd_node *node, const char *key, const char **law);

// ---- bindings.c: numbers of parameters ------------------------------------------------------------------------------
// `mark` is npending before what they speak of was read.

bool kd_reader_pend(kd_reader *r, const kd_node *node, const char *key, int expr, const double *value);
bool kd_reader_hold(kd_reader *r, int mark);                                   // these numbers must not change
bool kd_reader_pend_gravity(kd_reader *r, int mark, const double *g);          // these are the gravity
bool kd_reader_spread(kd_reader *r, int mark, const double *from, double *to); // a number stands at another place, too
void kd_reader_move(kd_reader *r, int mark, const double *from, double *to);   // at another place instead
// Of n numbers at `in` something is made at `out`
bool kd_reader_compose(kd_reader *r, int mark, kd_binding_op op, const double *in, int n, const void *out);
bool kd_reader_compose_of(kd_reader *r, kd_binding_op op, int element, const void *out); // of a frame or body
void kd_reader_array(kd_reader *r, const double *array, int n, size_t offset);
bool kd_reader_bind(kd_reader *r, const void *def, size_t size); // tell the model, of the element that is added next

// ---- material.c: materials ------------------------------------------------------------------------------------------

bool kd_reader_takes_material(const kd_schema *schema, int kind); // has it the key `material`?
void kd_reader_check_materials(kd_reader *r);                     // all of the scope, used or not
// Fields of an element, map, that the material that node names has numbers for
bool kd_reader_of_material(kd_reader *r, const kd_schema *schema, int kind, const kd_node *node, const kd_node *map,
                           void *def);

// ---- subsystem.c: the subsystems of a model -------------------------------------------------------------------------

// All subsystems of the root, their parameters and places; false: nothing can be read
bool        kd_reader_expand(kd_reader *r, kd_node *root, const kd_setting *settings, int nsettings);
bool        kd_reader_has_scopes(const kd_reader *r);             // are names other ones than those of the file?
void        kd_reader_enter_scope(kd_reader *r, kd_scope *scope); // names are meant in it from now on
bool        kd_reader_hand_points(kd_reader *r, kd_scope *scope); // frames of the points that it was given
kd_scope   *kd_reader_find_scope(const kd_reader *r, const char *name);
bool        kd_reader_check_keys(kd_reader *r, const kd_node *root, bool whole); // of a file, or of a definition
const char *kd_reader_top_word(kd_schema_id id);                                 // of a section at the top of a file
void        kd_reader_subsystems_release(kd_reader *r);

// ---- connections.c: what subsystems are given is there ---------------------------------------------------------------

void kd_reader_check_bodies(kd_reader *r); // when all bodies are in the model
void kd_reader_check_offers(kd_reader *r); // when all is in the model: warnings of those that lead nowhere

// ---- hierarchy.c: the model as one file with its subsystems --------------------------------------------------------

bool kd_reader_keep_hierarchy(kd_reader *r, const kd_setting *settings, int nsettings);

// ---- files.c: files that a model refers to --------------------------------------------------------------------------

// The path of a file of numbers or triangles, beside the one that is being read, in the folder of the model or of a
// library; as kd_model_file_path (paths.h)
// flexible_body.c: the file that a body names, read. false: a complaint was made
bool kd_reader_flexible(kd_reader *r, const kd_node *map, kd_body_def *def);
// Pieces behind the first of a body, with joints between them
bool      kd_reader_has_pieces(const kd_node *map, const kd_body_def *def);
bool      kd_reader_add_pieces(kd_reader *r, const kd_node *map, const char *body, const kd_body_def *first);
kd_status kd_reader_data_path(const kd_reader *r, const char *written, char path[KD_PATH_LENGTH], char *why,
                              size_t size) KD_NODISCARD;
// The sections of a file that a node of another one names; NULL: it has been told why not
kd_node  *kd_reader_file(kd_reader *r, const kd_node *node);
void      kd_reader_look_beside(kd_reader *r, const char *file); // files are looked for beside this one from now on
bool      kd_reader_include(kd_reader *r, kd_node *root); // sections of files that `include` names, into those of root
kd_status kd_reader_set_folders(kd_reader *r, const char *path, const char *const *library, int nlibraries);

// ---- qualify.c: names inside of subsystems become those of the model ------------------------------------------------

bool kd_reader_full_name(kd_reader *r, const kd_node *node, const char *name, const char **full);
// Of a body, or of a frame or body, that an element refers to; the ground stays what it is.
bool kd_reader_find_body(kd_reader *r, const kd_node *node, const char **name);
bool kd_reader_find_place(kd_reader *r, const kd_node *node, const char **name);
// An expression; locals of the field that is being read stay what they are. *text becomes the one for the model.
bool kd_reader_qualify(kd_reader *r, const kd_node *node, const char *key, const char **text);
bool kd_reader_qualify_path(kd_reader *r, const kd_node *node, const char **path);
// Do all paths of an expression that was qualified lead somewhere? why: the first that does not. Parameters in it are used.
bool kd_reader_use_paths(kd_reader *r, const char *text, char *why, size_t size);
bool kd_reader_tell_origin(kd_reader *r, kd_scope *scope, const kd_node *map); // where it is, for such expressions
// Three expressions that are components of a vector
bool kd_reader_image_laws(kd_reader *r, const kd_field *field, const char **law);

// ---- repeat.c: repetition -------------------------------------------------------------------------------------------

typedef bool kd_reader_each(kd_reader *r, void *context);
// Call `each` for every combination of indices that `loops` (the value of `for`; NULL: once) says, until one is false.
bool kd_reader_repeat(kd_reader *r, const kd_node *loops, kd_reader_each *each, void *context);

// ---- values.c, places.c: fields -------------------------------------------------------------------------------------

// Read a map into a definition that has its defaults; kind is known.
bool kd_reader_fields(kd_reader *r, const kd_schema *schema, int kind, const kd_node *map, void *def);
bool kd_reader_value(kd_reader *r, const kd_field *field, int kind, kd_node *node, void *def);
bool kd_reader_numbers(kd_reader *r, kd_node *node, const char *key, int n, bool maybe, double *value);
// Tell the model where a field stands; field lives as long as the model. Of an expression: whether it is literally
// there.
bool kd_reader_note(kd_reader *r, const char *field, const kd_node *node);
bool kd_reader_note_law(kd_reader *r, const char *field, const kd_node *node, bool literal);
bool kd_reader_check_room(kd_reader *r, const kd_field *field, const kd_node *node, int n); // for n entries

// ---- run.c: the section run -----------------------------------------------------------------------------------------

void kd_reader_run(kd_reader *r, const kd_node *map);
// Groups of options of the simulation, "radau", beside the fields of the schema
bool kd_reader_is_option_group(const kd_schema *schema, const char *key);
bool kd_reader_complain_group(kd_reader *r, const kd_schema *schema, const kd_node *key); // false: it is no method
void kd_reader_offer_option_groups(kd_reader *r, const kd_schema *schema, kd_nearest *nearest);

// ---- signals.c: fields of blocks and events -------------------------------------------------------------------------

bool kd_reader_signals(kd_reader *r, const kd_field *field, kd_node *node, char *def);
bool kd_reader_next(kd_reader *r, const kd_field *field, const kd_node *node, char *def);
bool kd_reader_starts(kd_reader *r, const kd_field *field, kd_node *node, char *def);
bool kd_reader_rows(kd_reader *r, const kd_field *field, kd_node *node, char *def);

// ---- curve_file.c: curves from files --------------------------------------------------------------------------------

bool kd_reader_is_curve_file(const kd_node *map);
bool kd_reader_curve_file(kd_reader *r, const kd_node *map, kd_curve_def *def);
bool kd_reader_curve_road(kd_reader *r, const kd_node *map, kd_curve_def *def); // curve_road.c: a random road

// Places. Short form: bodies, point, axis, ... in the element itself, in place of `from` and `to`.
bool kd_reader_is_place_key(const kd_schema *schema, int kind, const char *key);
void kd_reader_offer_place_keys(const kd_schema *schema, int kind, kd_nearest *nearest);
bool kd_reader_place(kd_reader *r, const kd_field *field, kd_node *node, kd_place *place);
bool kd_reader_places(kd_reader *r, const kd_field *field, kd_node *node, void *def);
bool kd_reader_place_map(kd_reader *r, kd_node *map, kd_place *place);
bool kd_reader_has_short_places(const kd_node *map);
void kd_reader_check_short_bodies(kd_reader *r, const kd_node *map);
bool kd_reader_short_places(kd_reader *r, const kd_schema *schema, int kind, const kd_node *map, void *def);

#endif
