// simulation/unseen.h: what happened inside an accepted step that it did not see: laws of time and of coordinates that
// rise and fall between its nodes, gaps that close and open. Method: docs/methods/intervals.md
#ifndef KD_SIMULATION_UNSEEN_H
#define KD_SIMULATION_UNSEEN_H

#include <kardan/simulation.h>

#include "simulation/verify.h"

typedef struct kd_unseen kd_unseen;

// The tolerances are those of the integrator, x has the parameters. *unseen is NULL where the equations cannot be
// searched.
kd_status kd_unseen_create(kd_eom_data *data, const kd_inputs *inputs, const kd_state *x,
                           const kd_integrator_info *method, double rtol, double atol, const kd_dae *dae,
                           kd_unseen **unseen) KD_NODISCARD;
void      kd_unseen_destroy(kd_unseen *self);                // NULL is fine
void      kd_unseen_archive(kd_unseen *self, kd_archive *a); // save or restore

const kd_state *kd_unseen_ended(const kd_unseen *self); // the end of the last step, as it was filled

void kd_unseen_restart(kd_unseen *self); // the integrator starts again: the end of the last step is forgotten

// The state that the caller fills with the end of the last step, from t0 to t1: t, p, v, r count. x: the present state
// of the simulation, whose z holds in the step, and which is its start. NULL: nothing can hide in this step.
kd_state *kd_unseen_end(kd_unseen *self, double t0, double t1, const kd_state *x);
// The verdict gets shorter where something in the step was not seen, whose end is filled.
kd_status kd_unseen_look(kd_unseen *self, kd_step_verdict *verdict) KD_NODISCARD;
// Is the verdict about a kink or jump whose cost is known? It is in the sum below when the step stays.
bool kd_unseen_accounts(const kd_unseen *unseen, const kd_step_verdict *verdict);
// Has the step passed a jump, which costs about a tolerance, not only a kink?
bool kd_unseen_jumped(const kd_unseen *self);
// Has the last step passed a kink or a jump that matters? What a method remembers of before is another motion then.
bool kd_unseen_passed(const kd_unseen *self);
// What steps have lost at most where laws have kinks and jumps, in tolerances; *by: one of these laws, may be NULL
double kd_unseen_lost(const kd_unseen *self, const char **by);
// Errors of velocities that the rounding of times has left, in tolerances; *by: the fastest drive
double kd_unseen_rounding(kd_unseen *self, const char **by);
// Name of an element whose bounds did not tell in some step; NULL: none
const char *kd_unseen_undecided(const kd_unseen *self);

#endif
