// system/discrete.h: sampled blocks, variables and events of a model in the equations of motion.
//
// Places in z: of each block its outputs, its states, and the number k of its next sample, at offset + k period; of a block without period
// the number of its events and the time of the last one; then one of each variable.
#ifndef KARDAN_SYSTEM_DISCRETE_H
#define KARDAN_SYSTEM_DISCRETE_H

#include <kardan/eom.h>

#include "expr/expr.h"
#include "model/model.h"

struct kd_system;

// a block as it is sampled
typedef struct kd_sampler {
    const kd_block    *block;
    int                z;                          // its first place
    kd_expr           *input[KD_MAX_SIGNALS];      // (ninputs)
    int                input_slot[KD_MAX_SIGNALS]; // (ninputs) variables of expressions that read inputs by name
    kd_expr           *output[KD_MAX_SIGNALS];     // (noutputs), (nstates) of a block of expressions
    kd_expr           *next[KD_MAX_SIGNALS];       // NULL: unchanged
    const double      *A, *B, *C, *D;              // state space and transfer function, row by row; D NULL: 0
    double            *made[3];                    // of a transfer function: A, C, D; NULL
    struct kd_foreign *unit;                       // foreign code; NULL
    // without period: foreign code whose states are states of the model
    struct kd_continuous *continuous; // NULL: it is sampled
    int                   load;       // its number, as a controller, too
    int                   epoch[2];   // variables of its two places in z: count and time of its events
    int                   functions;  // number of its first switching function: indicators, time, end of a step
} kd_sampler;

typedef enum kd_target { KD_TARGET_Z, KD_TARGET_R, KD_TARGET_V } kd_target;

// an event: its condition and what it sets
typedef struct kd_trigger {
    const kd_model_event *event;
    kd_expr              *when;
    kd_expr              *value[KD_MAX_SETTINGS];
    kd_target             target[KD_MAX_SETTINGS];
    int                   place[KD_MAX_SETTINGS]; // in z, r or v
} kd_trigger;

// How far the stages must be evaluated before expressions can be read.
typedef struct kd_reading {
    bool fast;    // positions, velocities and states are enough, and only those that blocks and events read
    bool forces;  // accelerations, forces, reactions or energies
    bool sensors; // sensors
} kd_reading;

// Places in z that belong to nobody else, count of them from the one that is answered on.
int       kd_system_add_z(struct kd_system *s, int count);
kd_status kd_system_discrete_places(struct kd_system *s) KD_NODISCARD; // before anything is compiled
// Expressions of blocks and events, before those of sensors; what they read, behind them.
kd_status kd_system_discrete(struct kd_system *s, char *message, size_t size) KD_NODISCARD;
void      kd_system_discrete_readings(struct kd_system *s);
// Directions in which events happen, for kd_eom_def.crossing; NULL: out of memory
const signed char *kd_system_crossings(struct kd_system *s);
void               kd_system_close_units(struct kd_system *s); // foreign code of blocks
// Values of z at the start; blocks are due at their first sample that is not before t.
void kd_system_start_z(const struct kd_system *s, double t, double *z);

// Functions of the equations of motion
kd_eval kd_work_switching(const kd_point *x, void *context, double *out);
kd_eval kd_work_event(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump);
double  kd_work_next_sample(const kd_point *x, void *context);
kd_eval kd_work_discrete(const kd_point *x, void *context, double *z_new);
kd_eval kd_work_completed(const kd_point *x, void *context, signed char *crossed);

#endif
