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

typedef struct kd_file_parameter {
    const char *name;
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

typedef struct kd_named { // an expression with a name
    const char *name, *text;
    int         line, column;
} kd_named;

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

    // parameters, until they are in the model
    kd_file_parameter *parameter;
    int                nparameters;
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

    // what the model must know of numbers of parameters (bindings.c)
    kd_pending      *pending;
    int              npending, pending_capacity;
    const char      *key_read, *key_kept; // the last key, and its copy in the model
    kd_pending_array array[KD_READER_MAX_ARRAYS];
    int              narrays;
    int             *order; // (nparameters) in which they were computed
    int              nordered;

    // expressions of repeated elements are compiled once; kd_node.cache is a place in the list of the model + 1
    double *work;
    int     work_size;

    // units of the numbers that are being read (expr/quantity.h)
    const char *unit;      // as the schema says, "m|rad"; "": none; NULL: any
    int         turns;     // of "m|rad": 0 the first, 1 the second; KD_TURNS_...
    int         joint;     // -1, or the kind of the joint whose coordinates are being read: each has its own unit
    bool        any_units; // fields without a unit in the schema take any: curves, inputs, states, blocks, ...

    // the definition that is being filled: numbers in it keep their expressions
    const void *definition;
    size_t      definition_size;

    char denied[100]; // while compiling: a name that has no value before the simulation
} kd_reader;

// A complaint at a node, with the element in front.
void kd_reader_complain(kd_reader *r, const kd_node *node, const char *format, ...) KD_PRINTF(3, 4);
bool kd_reader_short_of_memory(kd_reader *r); // false
bool kd_reader_is_tired(const kd_reader *r);  // so much is wrong that it makes no sense to go on
// A copy that lives until the element has been read; NULL: memory is short.
char *kd_reader_copy(kd_reader *r, const char *text, size_t length);

// ---- scope.c: parameters, indices, expressions ----------------------------------------------------------------------

bool kd_reader_parameters(kd_reader *r, const kd_node *map, const kd_setting *settings, int nsettings);
void kd_reader_scope_release(kd_reader *r);
// The number of a scalar, an expression or a number with a unit; key is for messages.
bool kd_reader_number(kd_reader *r, kd_node *node, const char *key, double *value);
bool kd_reader_hold_parameter(kd_reader *r, const kd_node *node, const char *key, const char *name);
bool kd_reader_integer(kd_reader *r, kd_node *node, const char *key, int *value);
// A name or path with its indices evaluated: link(i-1) becomes link(3).
bool kd_reader_name(kd_reader *r, const kd_node *node, const char **name);
// An expression for the simulation, with the indices of the repetition put in. *literal: it is as in the file.
bool   kd_reader_law(kd_reader *r, const kd_node *node, const char *key, const char **law, bool *literal);
size_t kd_reader_token(const char *text); // characters of the number, word or other sign at the beginning of a text

// ---- named.c: expressions with names --------------------------------------------------------------------------------

bool            kd_reader_named(kd_reader *r, const kd_node *map); // the section `expressions`; NULL: there is none
const kd_named *kd_reader_find_named(const kd_reader *r, const char *name);
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

// Places. Short form: bodies, point, axis, ... in the element itself, in place of `from` and `to`.
bool kd_reader_is_place_key(const kd_schema *schema, int kind, const char *key);
void kd_reader_offer_place_keys(const kd_schema *schema, int kind, kd_nearest *nearest);
bool kd_reader_place(kd_reader *r, const kd_field *field, kd_node *node, kd_place *place);
bool kd_reader_place_map(kd_reader *r, kd_node *map, kd_place *place);
bool kd_reader_has_short_places(const kd_node *map);
bool kd_reader_short_places(kd_reader *r, const kd_schema *schema, int kind, const kd_node *map, void *def);

#endif
