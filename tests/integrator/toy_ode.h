// tests/integrator/toy_ode.h: a small equation with a right-hand side, x' = -rate (x - cos t) - sin t with the solution
// cos t, that can be told to refuse, to stop, to answer NaN and to turn its coordinate.
#ifndef KD_TESTS_TOY_ODE_H
#define KD_TESTS_TOY_ODE_H

#include <math.h>
#include <stdbool.h>

#include <kardan/dae.h>

typedef struct toy {
    kd_dae       dae;
    kd_dae_class methods;
    double       rate;   // x' = -rate (x - cos t)
    double       sign;   // of the coordinate, which relabel turns
    double       beyond; // refuses later times
    bool         nan;    // ... or answers NaN
    long         relabelled;
    long         calls, stop_at; // asks to stop at this call, once
    kd_component component[1];
    int          index[1];
    bool         controlled[1];
} toy;

static kd_eval toy_rhs(void *impl, double t, const double *x, double *xdot)
{
    toy *self = impl;
    if (++self->calls == self->stop_at) return KD_EVAL_STOP;
    if (t > self->beyond && !self->nan) return KD_EVAL_RETRY;
    xdot[0] = -self->rate * (x[0] - self->sign * cos(t)) - self->sign * sin(t);
    if (t > self->beyond) xdot[0] = NAN;
    return KD_EVAL_OK;
}

// no constraints
static kd_eval toy_stage(void *impl, double t, const double *x, double t_next, const double *base, double factor,
                         double *xdot)
{
    (void)t_next, (void)base, (void)factor;
    return toy_rhs(impl, t, x, xdot);
}

static kd_status toy_fault(void *impl, const char **message)
{
    const toy *self = impl;
    if (message) *message = "the toy is broken";
    return self->calls == self->stop_at ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
}

static inline kd_eval toy_relabel(void *impl, double t, double *x, bool *changed)
{
    toy *self = impl;
    (void)t;
    *changed = ++self->relabelled % 5 == 0;
    if (!*changed) return KD_EVAL_OK;
    self->sign = -self->sign;
    x[0] = -x[0];
    return KD_EVAL_OK;
}

static inline void toy_init(toy *self, double rate)
{
    *self = (toy){.rate = rate, .sign = 1, .beyond = INFINITY};
    self->methods = (kd_dae_class){.name = "toy", .rhs = toy_rhs, .stage = toy_stage, .fault = toy_fault};
    self->controlled[0] = true;
    self->dae = (kd_dae){.methods = &self->methods,
                         .impl = self,
                         .n = 1,
                         .component = self->component,
                         .index = self->index,
                         .controlled = self->controlled,
                         .nstate = 1};
}

#endif
