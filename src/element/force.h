// force.h: the class of a force element, and what its file needs: how a load is made, laws by expressions.
//
// An element is one file: equations, fields of the file schema, checks, law, derivatives, energies, readings, drawing.
// list.c has one line for it. Constraints and states: constraint.h, state.h
#ifndef KARDAN_ELEMENT_FORCE_H
#define KARDAN_ELEMENT_FORCE_H

#include "element/list.h"
#include "model/element.h"
#include "system/system.h"

typedef struct kd_load_builder {
    kd_system *s;
    kd_load   *load;
    int        capacity; // of load->variable
    bool      *reads;    // (nstates) controllers whose outputs are still to be followed; all false between calls
    kd_status  status;
    char      *message;
    size_t     size;
} kd_load_builder;

typedef struct kd_force_class {
    kd_element_class     element; // what the model knows
    const kd_load_class *law;
    const kd_load_class *(*choose)(const kd_force_def *def); // where there are several; NULL: law
    int  nchannels;                                          // at most
    bool stiff;                                              // unless the model says otherwise: it pushes back
    bool (*is_motor)(const kd_force_def *def);               // this one does not; NULL: none
    double (*stiffness)(const kd_force_def *def);            // of a spring at rest, by which fast it is; NULL: none
    int (*states)(const kd_force_def *def);                  // number of inner states; NULL: 0
    int (*measure)(kd_system *s, int force);                 // what it acts along, as sensors read it; < 0: no memory
    void (*make)(kd_load_builder *b, int force);             // channels and variables of its load
    int (*structure)(const kd_force_def *def);               // what these depend on beside states; NULL: nothing
    void (*rows)(kd_row_builder *b, int force);              // rows that it brings; NULL: none
    int rigid_reading;                                       // of one-sided rows: the reading that shows their force
} kd_force_class;

#define KD_CLASS(kind, name) extern const kd_force_class name;
KD_FORCES(KD_CLASS)
#undef KD_CLASS
extern const kd_force_class *const kd_forces[KD_FORCE_KIND_COUNT]; // list.c

// Rows of fields that many have
// first and second: what becomes of their axes in a mirror
#define KD_FORCE_PLACES_OF(first, second)                                                                              \
    {"from", KD_FIELD_PLACE,   offsetof(kd_force_def, from), 1, ALL, KD_FIELD_REQUIRED, 0, ANY,                        \
     "",     .image = (first), .doc = "first place"},                                                                  \
    {                                                                                                                  \
        "to", KD_FIELD_PLACE, offsetof(kd_force_def, to), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "", .image = (second),    \
                                                                                                 .doc = "second place" \
    }
#define KD_FORCE_PLACES KD_FORCE_PLACES_OF(KD_IMAGE_KEEPS_XZ, KD_IMAGE_KEEPS_XZ)
#define KD_FORCE_JOINT                                                                                                 \
    {"joint",                                                                                                          \
     KD_FIELD_NAME,                                                                                                    \
     offsetof(kd_force_def, joint),                                                                                    \
     1,                                                                                                                \
     ALL,                                                                                                              \
     KD_FIELD_REQUIRED,                                                                                                \
     0,                                                                                                                \
     ANY,                                                                                                              \
     "",                                                                                                               \
     .doc = "the joint that the force acts in",                                                                        \
     .refers = KD_SCHEMA_JOINT},                                                                                       \
    {                                                                                                                  \
        "coordinate", KD_FIELD_INTEGER, offsetof(kd_force_def, coordinate), 1, ALL, 0, 1, BETWEEN(1, 6), "",           \
            .doc = "which coordinate of the joint"                                                                     \
    }
#define KD_FORCE_STIFF(when)                                                                                           \
    {                                                                                                                  \
        "stiff", KD_FIELD_WORD, offsetof(kd_force_def, stiff), 1, ALL, 0, KD_STIFFNESS_AUTO, ANY, "",                  \
            .doc = "belongs to the stiff part of the Jacobian; auto: " when, .words = kd_words_stiff                   \
    }
extern const char *const kd_words_stiff[], *const kd_words_in[]; // of fields
extern const char *const kd_length_locals[];                     // length, rate

// ---- making a load --------------------------------------------------------------------------------------------------
void kd_load_add_channel(kd_load_builder *b, int measure);
void kd_load_add_variable(kd_load_builder *b, int slot);
void kd_load_add_measured(kd_load_builder *b, int measure, int level);
void kd_load_add_states(kd_load_builder *b, int n);
// The expression in a field of the element, number i of it, as law k; slots: of the local names of that field
void kd_load_add_law(kd_load_builder *b, int k, int force, const char *key, int i, const int *slots);
// Along one measure: variables s, v, then the states; `length` (NULL: 0) is of the model, NaN: as at the start
void kd_load_make_scalar(kd_load_builder *b, int force, const double *length);
bool kd_load_start(kd_load_builder *b, const kd_load_class *class, const char *name, int n); // arrays for n channels
bool kd_load_is_stiff(kd_stiffness given, bool usual);
void kd_load_find_direction(kd_load_builder *b, int force); // of the rows that hold it while it sticks, one or two
int  kd_across_contact(kd_system *s, int force); // joint_friction.c: the normal force of a rigid contact in w

// A measure of a pair of frames
int kd_plain_measure(kd_system *s, int pair, kd_measure_kind kind, int i);
int kd_force_pair(kd_system *s, int force);       // from -> to
int kd_force_length(kd_system *s, int force);     // distance of its places
int kd_force_height(kd_system *s, int force);     // shift along z of `from`
int kd_force_coordinate(kd_system *s, int force); // of its joint

// ---- laws -----------------------------------------------------------------------------------------------------------
// Of expressions inside laws: the value (NULL: 0), J[row, :] += factor * gradient through the outputs of controllers,
// and J[row, variable] += value
double kd_law_value(const kd_expr *e, const double *x, kd_work *w);
// Height of the road of a tyre, its law 0, while variables are in x. Of points it is the value there, and w->slot is
// overwritten.
kd_interval kd_road_range(const kd_load *load, const kd_interval *x, kd_work *w);
void        kd_law_gradient(const kd_load *load, int row, const kd_expr *e, double factor, const double *x, kd_work *w,
                            double *J);
void        kd_law_put(const kd_load *load, int row, int variable, double value, double *J);

// Range of max(0, stiffness depth + damping speed) where depth > 0, else 0
kd_interval kd_push_bounds(double stiffness, double damping, kd_interval depth, kd_interval speed);

void kd_no_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum);

// Readings: forces of the channels of a load; a tension; a component of its wrench on `to`
const double *kd_load_forces(const kd_work *w, const kd_load *load);
double        kd_read_tension(const kd_load *load, const kd_work *w, const kd_point *x, int number);
double        kd_read_wrench(const kd_load *load, const kd_work *w, const kd_point *x, int number);
double        kd_read_sticking(const kd_load *load, const kd_work *w, const kd_point *x, int number);

// ---- stops and contacts with restitution: their forces are multipliers ----------------------------------------------
extern const kd_load_class kd_load_rigid;

#endif
