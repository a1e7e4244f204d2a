// simulation/integrators.h: one interface to all integrators, for the driver. Not for others.
#ifndef KD_SIMULATION_INTEGRATORS_H
#define KD_SIMULATION_INTEGRATORS_H

#include <kardan/simulation.h>

// self is what create made.
typedef struct kd_integrator_class {
    // Take rtol and atol of the simulation where they are given; *max_steps is the number of attempts that one run may
    // make, which the driver counts. On failure *self is NULL.
    kd_status (*create)(kd_dae *dae, kd_simulation_options *opt, void **self, long *max_steps, char *message,
                        size_t size);
    // KD_RESTART_SMOOTH: t is its present time, x may be NULL; x() has the limit from the right then
    kd_status (*start)(void *self, double t, const double *x, kd_restart mode);
    kd_status (*step)(void *self, double t_end);
    // give up the last accepted step: time and x are those of its start again, the next step is at most h long.
    // KD_ERR_STAGE: there is none, or steps have a fixed size
    kd_status (*retract)(void *self, double h);
    bool (*ends)(void *self, kd_step_ends *ends); // of the last step; false: not known
    // somebody else used the matrices of the DAE; NULL: it has none of its own there
    void (*refresh)(void *self);
    double (*time)(const void *self);
    double (*time_old)(const void *self);
    const double *(*x)(const void *self);
    kd_status (*dense)(void *self, double t, double *x);
    kd_stats (*stats)(const void *self);
    const char *(*message)(const void *self);
    void (*destroy)(void *self); // NULL is fine
} kd_integrator_class;

// Tolerances of the integrator that is chosen, after its creation
kd_tolerances kd_integrator_tolerances(const kd_simulation_options *opt);

// NULL for a number that is none
const kd_integrator_class *kd_integrator_find(kd_integrator integrator);

#endif
