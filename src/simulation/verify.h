// simulation/verify.h: does an accepted step stand? Judged before anybody sees it; a step that does not is taken back.
// Method: docs/methods/verify.md
#ifndef KD_SIMULATION_VERIFY_H
#define KD_SIMULATION_VERIFY_H

#include <math.h>
#include <stdbool.h>

#include <kardan/simulation.h>

// What a check says about the last step. The driver takes the step back when h is shorter than it.
typedef struct kd_step_verdict {
    double      h;    // length [s] to which it is to be shortened; INFINITY: it stands
    double      size; // what was found, over what the tolerance allows
    const char *why;  // in words; must live until the next step
} kd_step_verdict;
static const kd_step_verdict KD_STANDS = {INFINITY, 0, NULL};

// Steps against the equations of motion at points inside
typedef struct kd_verify kd_verify;

// point: the driver's evaluation point; integrator works on dae; x is the state of the simulation: discrete states and
// active rows
kd_status kd_verify_create(kd_eom_data *point, const kd_inputs *inputs, const kd_simulation_options *opt, kd_dae *dae,
                           kd_integrator *integrator, const kd_state *x, kd_verify **verify) KD_NODISCARD;
void      kd_verify_destroy(kd_verify *self);                // NULL is fine
void      kd_verify_archive(kd_verify *self, kd_archive *a); // save or restore
// A run to t_end begins.
void kd_verify_run(kd_verify *self, double t_end);
// The integrator has started again: what was before is another motion.
void kd_verify_restart(kd_verify *self);
// As after creation: a restart is like new.
void kd_verify_anew(kd_verify *self);
// After an accepted step; singular: it may have passed a singular position. KD_OK, or a function asked to stop
kd_status kd_verify_look(kd_verify *self, bool singular, kd_step_verdict *verdict) KD_NODISCARD;
// The step that was looked at last did not stand, but cannot be made shorter: it is kept.
void                   kd_verify_keep(kd_verify *self, const kd_step_verdict *verdict);
const kd_verification *kd_verify_result(const kd_verify *self);

#endif
