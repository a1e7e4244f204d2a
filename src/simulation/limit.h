// simulation/limit.h: states at and around an instant: algebraic unknowns, projection, switching functions.
#ifndef KD_SIMULATION_LIMIT_H
#define KD_SIMULATION_LIMIT_H

#include "point/acceleration.h"
#include "simulation/rows_of_events.h"

typedef struct kd_limit kd_limit;

// point: an evaluation point of the caller, which is moved; x gives discrete states and active rows; both and rows (may
// be NULL) stay the caller's.
kd_status kd_limit_create(kd_eom_data *point, const kd_inputs *inputs, const kd_simulation_options *opt,
                          const kd_state *x, kd_event_rows *rows, kd_limit **limit) KD_NODISCARD;
void      kd_limit_destroy(kd_limit *self);                // NULL is fine
void      kd_limit_archive(kd_limit *self, kd_archive *a); // save or restore

// s, a, w, lambda, mu for p, v, r of the state; what is there serves as guess.
kd_status kd_limit_solve(kd_limit *self, kd_state *x) KD_NODISCARD;
// p, s, v onto the constraints of the active rows; far: they may be far from them. Then solve. Allocates only if far.
kd_status kd_limit_project(kd_limit *self, kd_state *x, bool far) KD_NODISCARD;

// Point of evaluation at all stages of a state, for hooks of the definition.
kd_status kd_limit_at(kd_limit *self, const kd_state *x, kd_eom_data **data) KD_NODISCARD;
// Do switching functions depend on a, w, lambda or mu, with the rows that are active in x?
bool kd_limit_needs_accelerations(const kd_limit *self, const kd_state *x);
int  kd_limit_count(const kd_limit *self);
// All switching functions: those of the definition, then those of the rows. (kd_limit_count)
kd_status kd_limit_values(kd_limit *self, const kd_state *x, double *out) KD_NODISCARD;
// The same shortly after and before x on its straight way: p oplus v tau, v + a tau. moved is room for a state.
kd_status kd_limit_around(kd_limit *self, const kd_state *x, kd_state *moved, double *after,
                          double *before) KD_NODISCARD;
// Name of a function: "switching function 'level'"
const char *kd_limit_name(const kd_limit *self, int i, char *buffer, size_t size);
// z behind the samples that are due at the time of x.
kd_status kd_limit_sample(kd_limit *self, const kd_state *x, double *z) KD_NODISCARD;
// The next times of their own accord behind the time of x.
kd_status kd_limit_next(kd_limit *self, const kd_state *x, double *next_break, double *next_sample) KD_NODISCARD;

kd_acceleration *kd_limit_acceleration(kd_limit *self); // of the state of the simulation

const char *kd_limit_message(const kd_limit *self); // why the last call failed
// A status for an answer of the point of evaluation; the reason is in the message.
kd_status kd_limit_fault(kd_limit *self, kd_eval answer);

#endif
