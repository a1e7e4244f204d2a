// schema.h: the one table of everything that a model can say: sections, kinds, fields with their type, range, default,
// unit and meaning. It drives the reader and the writer of model files, the defaults and checks of the builder API, the
// reference page (docs/reference/model-file.md) and the tests.
#ifndef KD_MODEL_SCHEMA_H
#define KD_MODEL_SCHEMA_H

#include <kardan/model.h>

#include "core/kind.h"

typedef enum kd_schema_id {
    KD_SCHEMA_CURVE,
    KD_SCHEMA_TRACK,
    KD_SCHEMA_INPUT,
    KD_SCHEMA_BODY,
    KD_SCHEMA_FRAME,
    KD_SCHEMA_JOINT,
    KD_SCHEMA_CONSTRAINT,
    KD_SCHEMA_FORCE,
    KD_SCHEMA_STATE,
    KD_SCHEMA_ALGEBRAIC,
    KD_SCHEMA_BLOCK,
    KD_SCHEMA_VARIABLE,
    KD_SCHEMA_EVENT,
    KD_SCHEMA_SENSOR,
    KD_SCHEMA_INVARIANT,
    KD_SCHEMA_CONDITION, // in files inside of `start`
    KD_SCHEMA_RUN,
    KD_SCHEMA_SECTION_COUNT,                   // those above are sections of a file, in the order of writing
    KD_SCHEMA_PLACE = KD_SCHEMA_SECTION_COUNT, // parts of definitions
    KD_SCHEMA_SHAPE,
    KD_SCHEMA_SUBSYSTEM,
    KD_SCHEMA_CURVE_FILE,
    KD_SCHEMA_CURVE_ROAD,
    KD_SCHEMA_MATERIAL,
    KD_SCHEMA_COUNT
} kd_schema_id;

typedef enum kd_field_type {
    KD_FIELD_NUMBER,      // double[count]; count 1: a number, otherwise a list
    KD_FIELD_INTEGER,     // int
    KD_FIELD_BOOLEAN,     // bool
    KD_FIELD_WORD,        // an enum, one of `words`
    KD_FIELD_TEXT,        // const char *; if there are `words`, one of them
    KD_FIELD_NAME,        // const char *, the name of an element of the section `refers`
    KD_FIELD_LAW,         // const char *[count], expressions that the simulation evaluates; count 1: one
    KD_FIELD_PATHS,       // const char *[count] with `length` entries, paths of channels
    KD_FIELD_ORIENTATION, // double[4], unit quaternion, scalar first
    KD_FIELD_INERTIA,     // double[6]: xx yy zz, or all of xx yy zz xy xz yz
    KD_FIELD_MATRIX,      // double[36]: the diagonal, or six rows of six
    KD_FIELD_PLACE,       // kd_place
    KD_FIELD_PLACES,      // kd_place[count] with `length` entries
    KD_FIELD_SHAPES,      // kd_shape[count] with `length` entries
    KD_FIELD_TERMS,       // const char *[count] (paths) with `length` entries, and double[count] at `second`: factors
    KD_FIELD_SAMPLES,     // const double * with `length` entries
    KD_FIELD_SIGNALS, // const char *[count], expressions, with `length` entries, and const char *[count] at `second`:
                      // their names (second 0: they have none)
    KD_FIELD_NEXT,    // const char *[count], expressions by the names at `second`, which has `length` entries
    KD_FIELD_STARTS,  // double[count], as many as the int at `length` says
    KD_FIELD_ROWS,    // const double *: a matrix row by row, sizes are the ints at `length` and `second`
    KD_FIELD_TYPE_COUNT
} kd_field_type;

enum {                      // flags of a field
    KD_FIELD_REQUIRED = 1,  // must be given in a file; as a text it must not be NULL
    KD_FIELD_MAYBE = 2,     // NaN (a number) means: not given
    KD_FIELD_INFINITE = 4,  // infinity is a value
    KD_FIELD_DIRECTION = 8, // a direction: not the zero vector where it is given
    KD_FIELD_NAMED = 16,    // signals: always with names
    KD_FIELD_EQUAL = 32,    // one number stands for a list of equal ones
    KD_FIELD_OWN = 64,      // names of terms are the element's own, no paths
    KD_FIELD_FILE = 128,    // a text is a file beside the model; readers put its path as they opened it to `second`
    KD_FIELD_FEWER = 256,   // numbers: a shorter list will do, the others are not given
};

typedef enum kd_law_reads {
    KD_READS_MOTION,     // positions, velocities, states, inputs, t
    KD_READS_POSITIONS,  // positions, inputs, t
    KD_READS_VELOCITIES, // velocities, positions, inputs, t
    KD_READS_TIME,       // inputs, t
} kd_law_reads;

// What becomes of a field of an element in a subsystem that is mirrored, turned and shifted: x is at c + Q x then, and
// vectors in frames of its bodies are multiplied by L (model/subsystems.c). Of vectors that turn the sign is that of
// the determinant besides.
typedef enum kd_image {
    KD_IMAGE_SAME,            // scalars, coordinates of joints, texts
    KD_IMAGE_POINT,           // c + Q x
    KD_IMAGE_VECTOR,          // Q x
    KD_IMAGE_AXIAL,           // det Q Q x: a turning
    KD_IMAGE_ORIENTATION,     // of a body: Q R L'
    KD_IMAGE_OWN_VECTOR,      // in the frame of a body: L x
    KD_IMAGE_OWN_ORIENTATION, // L R L'
    KD_IMAGE_INVERTED,        // det L L R: of a surface that is inverted at its origin besides (its scale is reversed)
    KD_IMAGE_TENSOR,          // L A L'
    KD_IMAGE_STIFFNESS,       // forces and moments over shifts and turns: blocks L K L', those that couple det L L K L'
    KD_IMAGE_WRENCH,          // force L f, moment det L L m
    KD_IMAGE_FORCE,           // three expressions: L f, or Q f where `axes` of the element says so
    KD_IMAGE_MOMENT,          // with det L, det Q
    KD_IMAGE_REVERSED,        // changes its sign in a mirror
    KD_IMAGE_SIDE,            // left and right change places in a mirror
    // Places. The image of a frame F in a mirror is left-handed; F' = Q F M is not, with M = L', or M turning one axis
    // round
    KD_IMAGE_FRAME,    // M = L'
    KD_IMAGE_KEEPS_XZ, // M = diag(1, -1, 1): z is a normal or a direction. The default of places, where often only the
                       // point counts
    KD_IMAGE_KEEPS_XY, // M = diag(1, 1, -1): z is an axis of turning
    KD_IMAGE_OF_JOINT, // by the word of the joint (joint/joint.h)
} kd_image;

// allowed values of a number
typedef struct kd_range {
    double min, max;
    bool   open; // min itself is not allowed
} kd_range;

// one field: how it is written, where it goes, what it may be and what it means
typedef struct kd_field {
    const char   *key;
    kd_field_type type;
    size_t        offset; // in the definition
    int           count;
    unsigned      kinds; // bit k: kind k has this field
    unsigned      flags;
    double        value; // default: number, each number of a list, integer, truth, index of a word
    kd_range      range;
    const char   *unit;        // "" or "m"; "|" separates those of shifts and turns
    const char   *doc;         // one sentence without its full stop
    int (*counts)(int kind);   // NULL, or the count by kind; 0: that kind has no such field
    const char *const *words;  // of a word, NULL at the end
    kd_schema_id       refers; // of a name
    size_t             length; // offset of the int that counts entries
    size_t             second; // offset of a second array, or of the number of columns
    const char *const
                *locals; // of an expression: names of its own, "": that of the element, NULL at the end; NULL: none
    kd_law_reads reads;  // of an expression of a force or constraint: what else it may read
    kd_image     image;  // in a subsystem
} kd_field;

enum { KD_MAX_NAME = 200 }; // characters of the name of an element with those of the subsystems around it

// A curve whose numbers stand in a file of their own
typedef struct kd_curve_file {
    const char      *file, *grid; // one of them
    const char      *x, *y;       // columns; NULL: 1, 2
    const char      *unit[3];     // of x, y, z; NULL: none
    kd_curve_form    form;
    kd_curve_outside outside;
} kd_curve_file;

// A curve whose numbers are those of a random road
typedef struct kd_curve_road {
    int class;                  // A to H
    double           roughness; // [m^3]; NaN: that of the class
    double           waviness, least, most, length, step, width;
    int              tracks;
    int              seed;
    kd_curve_form    form;
    kd_curve_outside outside;
} kd_curve_road;

// Numbers of a stuff, which elements of a file have by its name
typedef struct kd_material {
    double density, E, nu; // NaN: not known
} kd_material;

struct kd_element_class; // model/element.h

// Kinds have their fields in one table with bits, or each kind is an element with a class of its own.
typedef struct kd_schema {
    const char         *word;     // "joints"
    const char         *singular; // "joint"
    const char         *doc;
    size_t              size;        // of the definition
    const kd_kind_word *kinds;       // NULL: no kinds, or classes
    int                 nkinds;      // 1 without kinds
    size_t              kind;        // offset of the kind
    bool                kind_by_key; // the kind is not written as `type` but is the key of that name
    const char         *short_key;   // a scalar in place of the element means this field; NULL: none
    const kd_field     *fields;
    int                 nfields;
    const struct kd_element_class *(*class)(int kind); // NULL: no classes
    size_t cookie;                                     // offset of the cookie; 0: a part of definitions, without
} kd_schema;

const kd_schema *kd_schema_of(kd_schema_id id);

// Kinds: are there any, and what one is called (word NULL: it cannot be written).
bool                kd_schema_has_kinds(const kd_schema *schema);
const kd_kind_word *kd_schema_word(const kd_schema *schema, int kind);
// Rows of the table that a kind can have (kd_field_has says if it does); kind -1: of all kinds.
int             kd_schema_field_count(const kd_schema *schema, int kind);
const kd_field *kd_schema_field_at(const kd_schema *schema, int kind, int i);

// The field that `key` means for this kind; NULL: there is none. kind -1: of any kind.
const kd_field *kd_schema_field(const kd_schema *schema, int kind, const char *key);
// The kind of a word; -1: unknown.
int kd_schema_kind(const kd_schema *schema, const char *word);
int kd_schema_kind_of(const kd_schema *schema, const void *def);
// The key or kind that was probably meant; NULL: none is near.
const char *kd_schema_suggest_field(const kd_schema *schema, int kind, const char *key);
const char *kd_schema_suggest_kind(const kd_schema *schema, const char *word);
bool        kd_schema_is_local(const char *name); // do laws of some element have this name for a quantity of their own?
bool        kd_field_has(const kd_field *field, int kind); // is it a field of this kind
int         kd_field_count(const kd_field *field, int kind);

// Every field of def to its default.
void kd_schema_default(const kd_schema *schema, int kind, void *def);

// Check one field: finite, within its range, a known word, not missing. false: message is a sentence without full stop
// ("mass must be at least 0, but is -1").
bool kd_field_check(const kd_field *field, int kind, const void *def, char *message, size_t size);
// Check the kind and all fields of that kind, places and shapes inside included. NULL: all is well; otherwise the first
// field that is wrong, with a sentence in message (the kind itself: the first field of the schema).
const kd_field *kd_schema_check(const kd_schema *schema, const void *def, char *message, size_t size);

// A name of an element: letters, digits, '_', '-', starting with a letter or '_'; then perhaps one index in
// parentheses: integers, separated by commas. false: message says what is wrong.
bool kd_name_check(const char *name, char *message, size_t size);
// The same of a part of subsystems: such names with points between them.
bool kd_name_check_parts(const char *name, char *message, size_t size);

#endif
