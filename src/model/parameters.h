// model/parameters.h: parameters that live: numbers of a model that remember the expressions they were written as.
//
// A binding is an expression of parameters (and indices of a repetition) with the place where its value goes: a number
// of a definition, of an array of one, of the scratch of a step; or nowhere: then the value is held, because a count or
// a name was made of it. Steps make numbers of others: orientations of angles, places of frames. A model is constant
// once it is finished; kd_model_copy gives a copy of its numbers, which kd_model_change fills with other values and
// finishes again, without allocation. Method: docs/methods/parameters.md
#ifndef KARDAN_MODEL_PARAMETERS_H
#define KARDAN_MODEL_PARAMETERS_H

#include "model/model.h"
#include "model/schema.h"

typedef enum kd_binding_target {
    KD_BIND_DEFINITION, // number at `offset` of the definition
    KD_BIND_ARRAY,      // number `item` of the array whose address is at `offset` of the definition
    KD_BIND_SCRATCH,    // number `item` of the scratch of steps
    KD_BIND_GRAVITY,    // component `item`
    KD_BIND_NOTHING,    // held
} kd_binding_target;

// one expression and where its value goes
typedef struct kd_binding {
    int               expr;  // in the list of the model
    int               index; // first of its indices in the list of the model
    kd_binding_target target;
    kd_section        section; // KD_SECTION_COUNT: the run
    int               element; // -1: waits for its element
    size_t            offset;
    int               item;
    double            value;  // held
    const char       *key;    // of the field, for messages
    kd_source         source; // of what is held
} kd_binding;

// Numbers that are made of other numbers, in the order of the file, after all bindings
typedef enum kd_binding_op {
    KD_MAKE_AXIS_ANGLE, // quaternion of axis (3) and angle
    KD_MAKE_CARDAN,     // quaternion of roll, pitch, yaw
    KD_MAKE_SPAN,       // length, position and orientation of a shape, from (3) one point to another (3)
    KD_MAKE_PLACE,      // the place of frame `from`
    KD_MAKE_POSITION,   // the position of body `from`
} kd_binding_op;

// one number, or several, made of others
typedef struct kd_binding_step {
    kd_binding_op op;
    int           from; // first number in the scratch; frame; body
    kd_section    section;
    int           element; // -1: waits for its element
    size_t        offset;  // of what is made, in the definition
} kd_binding_step;

// A field that has numbers of parameters, checked when they change
typedef struct kd_binding_check {
    kd_section      section;
    int             element;
    const kd_field *field; // NULL: all of the definition
    int             kind;
    size_t          part; // of the definition that the field belongs to: a place, a shape; 0: itself
} kd_binding_check;

// all that is bound in a model
struct kd_bindings {
    int              nbindings, nsteps, nexprs, nindices, nscratch;
    int              capacity[5]; // of the same
    int              bindings_waiting, steps_waiting;
    kd_binding      *binding;
    kd_binding_step *step;
    kd_expr        **expr;
    double          *index;   // values of indices of repetitions
    double          *scratch; // as read; copies have their own
    int              work_size;
    int             *order; // (nparameters) each behind those that it is computed from
    // of copies
    int               nchecks;
    kd_binding_check *check;
};

// ---- for readers: what they found -----------------------------------------------------------------------------------
// The model takes the expression; its place in the list, -1: out of memory (then it is destroyed)
int kd_model_keep_expr(kd_model *m, kd_expr *expr);
int kd_model_keep_indices(kd_model *m, const double *index, int n);  // -1: out of memory
int kd_model_keep_scratch(kd_model *m, const double *number, int n); // first place; -1: out of memory
// Of the element that is added next; those of gravity and held ones of none.
kd_status kd_model_bind(kd_model *m, const kd_binding *binding) KD_NODISCARD;
kd_status kd_model_bind_step(kd_model *m, const kd_binding_step *step) KD_NODISCARD;
// A parameter that is computed from others.
void      kd_model_derive_parameter(kd_model *m, int i, kd_expr *expr);
kd_status kd_model_order_parameters(kd_model *m, const int *order) KD_NODISCARD; // (nparameters)
void      kd_bindings_claim(kd_model *m, kd_section section, int element); // those that wait belong to this element
void      kd_bindings_drop(kd_model *m);
void      kd_bindings_release(kd_model *m);

// How composed numbers are made, here and in the reader
void kd_make_axis_angle(const double in[4], double q[4]);
void kd_make_cardan(const double in[3], double q[4]); // Rz(yaw) Ry(pitch) Rx(roll)
void kd_make_span(const double from[3], const double to[3], kd_shape *shape);

// ---- for systems ----------------------------------------------------------------------------------------------------
// Definitions as they were given, before finish fills in what is missing; called by kd_model_finish.
kd_status kd_model_keep_given(kd_model *m) KD_NODISCARD;
// The definition before finish filled it in; NULL: none is kept, as of models without parameters.
const void *kd_model_given(const kd_model *m, kd_section section, int element);
// A copy whose numbers can change. Names, texts and positions stay those of the model, which must outlive it.
kd_status kd_model_copy(const kd_model *m, kd_model **copy) KD_NODISCARD;
// Other values of the independent parameters: theta (nparameters), those of derived ones are not looked at; before: all
// values until now, for messages. KD_ERR_MODEL: kd_model_message says why; then call it again with the values
// of before.
kd_status kd_model_change(kd_model *copy, const double *theta, const double *before) KD_NODISCARD;
// Along the tangent of all numbers at theta, by parameter `along`: each is the one at theta plus h times its exact derivative. KD_ERR_MODEL:
// one has none, or is held.
kd_status kd_model_change_along(kd_model *copy, const double *theta, int along, double h) KD_NODISCARD;
// The parameters of the last such change
kd_expr_line kd_model_line(const kd_model *copy, double h);
// The name of a parameter that the expression reads and that differs between the copy and before (nparameters)
const char *kd_model_changed_parameter(const kd_model *m, const kd_expr *expr, const double *before);

#endif
