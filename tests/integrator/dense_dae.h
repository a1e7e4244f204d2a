// tests/integrator/dense_dae.h: small DAEs with known solutions and dense LU, which write down what an integrator asks,
// and which can be told to refuse.
#ifndef KD_TEST_DENSE_DAE_H
#define KD_TEST_DENSE_DAE_H

#include <kardan/dae.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "math/dense.h"

#define KD_DENSE_UNUSED __attribute__((unused))

enum { DENSE_MOST = 3, DENSE_LOG = 4000 };

// 0 = F(t, x, x') with F_x, F_x' (column-major) and its solution.
typedef struct dense_problem {
    const char *name;
    int         n, ndifferential;
    kd_eval (*residual)(double t, const double *x, const double *xdot, double *F);
    void (*derivatives)(double t, const double *x, double *F_x, double *F_xdot);
    void (*solution)(double t, double *x);
} dense_problem;

// ---- problems -------------------------------------------------------------------------------------------------------

// Nonlinear, oscillating: x0' = 3 x0 cos(3 t), x1' = 3 x1^2 cos(3 t) / 4; x0 = exp(sin 3t), x1 = 1 / (2 - sin(3 t) / 4)
KD_DENSE_UNUSED static kd_eval waves_residual(double t, const double *x, const double *xdot, double *F)
{
    F[0] = xdot[0] - 3 * x[0] * cos(3 * t);
    F[1] = xdot[1] - 0.75 * x[1] * x[1] * cos(3 * t);
    return KD_EVAL_OK;
}
KD_DENSE_UNUSED static void waves_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    F_x[0] = -3 * cos(3 * t), F_x[3] = -1.5 * x[1] * cos(3 * t);
    F_xdot[0] = F_xdot[3] = 1;
}
KD_DENSE_UNUSED static void waves_solution(double t, double *x)
{
    x[0] = exp(sin(3 * t));
    x[1] = 1 / (2 - 0.25 * sin(3 * t));
}
KD_DENSE_UNUSED static const dense_problem waves = {"waves", 2, 2, waves_residual, waves_derivatives, waves_solution};

// Index 1: x0' = 3 x0 cos(3 t) - (x1 - sin 3 t),  0 = x1 - log x0; x0 = exp(sin 3 t), x1 = sin 3 t
KD_DENSE_UNUSED static kd_eval index1_residual(double t, const double *x, const double *xdot, double *F)
{
    F[0] = xdot[0] - 3 * x[0] * cos(3 * t) + x[1] - sin(3 * t);
    F[1] = x[1] - log(x[0]);
    return KD_EVAL_OK;
}
KD_DENSE_UNUSED static void index1_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    F_x[0] = -3 * cos(3 * t), F_x[1] = -1 / x[0], F_x[2] = 1, F_x[3] = 1;
    F_xdot[0] = 1;
}
KD_DENSE_UNUSED static void index1_solution(double t, double *x)
{
    x[0] = exp(sin(3 * t));
    x[1] = sin(3 * t);
}
KD_DENSE_UNUSED static const dense_problem index1 = {"index 1",      2, 1, index1_residual, index1_derivatives,
                                                     index1_solution};

// Prothero and Robinson's stiff equation beside a slow one: x0' = -1e6 (x0 - cos t) - sin t,  x1' = -x1
KD_DENSE_UNUSED static kd_eval stiff_residual(double t, const double *x, const double *xdot, double *F)
{
    F[0] = xdot[0] + 1e6 * (x[0] - cos(t)) + sin(t);
    F[1] = xdot[1] + x[1];
    return KD_EVAL_OK;
}
KD_DENSE_UNUSED static void stiff_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t, (void)x;
    F_x[0] = 1e6, F_x[3] = 1;
    F_xdot[0] = F_xdot[3] = 1;
}
KD_DENSE_UNUSED static void stiff_solution(double t, double *x)
{
    x[0] = cos(t);
    x[1] = exp(-t);
}
KD_DENSE_UNUSED static const dense_problem stiff = {"stiff", 2, 2, stiff_residual, stiff_derivatives, stiff_solution};

// Blows up at t = 1: x' = x^2, x = 1 / (1 - t)
KD_DENSE_UNUSED static kd_eval burst_residual(double t, const double *x, const double *xdot, double *F)
{
    (void)t;
    F[0] = xdot[0] - x[0] * x[0];
    return KD_EVAL_OK;
}
KD_DENSE_UNUSED static void burst_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t;
    F_x[0] = -2 * x[0];
    F_xdot[0] = 1;
}
KD_DENSE_UNUSED static void burst_solution(double t, double *x)
{
    x[0] = 1 / (1 - t);
}
KD_DENSE_UNUSED static const dense_problem burst = {"burst", 1, 1, burst_residual, burst_derivatives, burst_solution};

// ---- the DAE --------------------------------------------------------------------------------------------------------

typedef struct dense_dae {
    kd_dae               dae;
    kd_dae_class         methods; // a copy, to be changed by tests
    const dense_problem *problem;
    double               F_x[DENSE_MOST * DENSE_MOST], F_xdot[DENSE_MOST * DENSE_MOST], J[DENSE_MOST * DENSE_MOST];
    int                  pivot[DENSE_MOST];
    kd_component         component[DENSE_MOST];
    int                  index[DENSE_MOST];
    bool                 controlled[DENSE_MOST];
    kd_dae_counters      counters;
    kd_status            status;
    bool                 singular;           // factor fails
    double               spoil;              // F_x is multiplied by it
    kd_eval              beyond_answer;      // answer of residual for t > beyond
    double               beyond;             // default: never
    bool                 other_reason;       // another fault beyond, in the shortest steps
    double               t_good;             // last time that was not beyond
    bool                 not_a_number;       // residual beyond, although it answers OK
    int                  widened;            // calls of linearize with dae.widen
    int                  restarted;          // calls of linearize with restart
    char                 log[DENSE_LOG + 1]; // E evaluate, U update, F factor, r residual
    int                  nlog;
    double               gamma; // of the last factor
} dense_dae;

KD_DENSE_UNUSED static void dense_note(dense_dae *d, char what)
{
    if (d->nlog < DENSE_LOG) d->log[d->nlog++] = what;
}

KD_DENSE_UNUSED static kd_eval dense_residual(void *impl, double t, const double *x, const double *xdot, double *F)
{
    dense_dae *d = impl;
    d->counters.residuals++;
    dense_note(d, 'r');
    if (t > d->beyond && d->beyond_answer != KD_EVAL_OK) {
        d->status = d->beyond_answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_NOT_FINITE;
        if (d->other_reason && t - d->t_good < 1e-14 * t) d->status = KD_ERR_SINGULAR_MASS;
        return d->beyond_answer;
    }
    d->t_good = t;
    kd_eval answer = d->problem->residual(t, x, xdot, F);
    if (t > d->beyond && d->not_a_number) F[0] = NAN;
    return answer;
}

KD_DENSE_UNUSED static kd_status dense_linearize(void *impl, double t, const double *x, const double *xdot,
                                                 bool restart)
{
    dense_dae *d = impl;
    (void)xdot;
    d->counters.jacobians++;
    d->widened += d->dae.widen;
    d->restarted += restart;
    d->dae.widen = false;
    dense_note(d, 'E');
    memset(d->F_x, 0, sizeof d->F_x);
    memset(d->F_xdot, 0, sizeof d->F_xdot);
    d->problem->derivatives(t, x, d->F_x, d->F_xdot);
    for (int i = 0; i < DENSE_MOST * DENSE_MOST; i++) d->F_x[i] *= d->spoil;
    return KD_OK;
}

// F_x' of the new point
KD_DENSE_UNUSED static kd_status dense_update(void *impl, double t, const double *x, const double *xdot)
{
    dense_dae *d = impl;
    double     unused[DENSE_MOST * DENSE_MOST] = {0};
    (void)xdot;
    d->counters.updates++;
    dense_note(d, 'U');
    memset(d->F_xdot, 0, sizeof d->F_xdot);
    d->problem->derivatives(t, x, unused, d->F_xdot);
    return KD_OK;
}

KD_DENSE_UNUSED static kd_status dense_factor(void *impl, double gamma, double gamma_re, double gamma_im)
{
    dense_dae *d = impl;
    int        n = d->problem->n;
    (void)gamma_re, (void)gamma_im;
    d->counters.decompositions++;
    dense_note(d, 'F');
    d->gamma = gamma;
    for (int i = 0; i < n * n; i++) d->J[i] = gamma * d->F_xdot[i] + d->F_x[i];
    return d->status = d->singular || kd_lu_factor(n, d->J, d->pivot) != 0 ? KD_ERR_DECOMPOSITION : KD_OK;
}

KD_DENSE_UNUSED static void dense_reduce(void *impl, const double *F, double *part, double *y)
{
    dense_dae *d = impl;
    for (int i = 0; i < d->problem->n; i++) {
        part[i] = 0;
        y[i] = -F[i];
    }
}

KD_DENSE_UNUSED static void dense_solve(void *impl, double *y)
{
    dense_dae *d = impl;
    d->counters.solves++;
    kd_lu_solve(d->problem->n, d->J, d->pivot, y, 1);
}

KD_DENSE_UNUSED static void dense_expand(void *impl, const double *part, const double *y, double *dx)
{
    dense_dae *d = impl;
    for (int i = 0; i < d->problem->n; i++) dx[i] = part[i] + y[i];
}

KD_DENSE_UNUSED static kd_eval dense_start(void *impl, double t, const double *x, double *xdot)
{
    dense_dae *d = impl;
    double     F[DENSE_MOST], zero[DENSE_MOST] = {0};
    kd_eval    answer = d->problem->residual(t, x, zero, F);
    for (int i = 0; i < d->problem->n; i++) xdot[i] = i < d->problem->ndifferential ? -F[i] : 0;
    return answer;
}

KD_DENSE_UNUSED static const char *dense_name(void *impl, int i, char *buffer, size_t size)
{
    (void)impl;
    snprintf(buffer, size, "x[%d] of the test", i);
    return buffer;
}

KD_DENSE_UNUSED static kd_status dense_fault(void *impl, const char **message)
{
    dense_dae *d = impl;
    *message = "the reason of the test";
    return d->status;
}

KD_DENSE_UNUSED static kd_dae_counters dense_counters(void *impl)
{
    return ((dense_dae *)impl)->counters;
}

KD_DENSE_UNUSED static void dense_make(dense_dae *d, const dense_problem *problem)
{
    *d = (dense_dae){.problem = problem, .beyond = INFINITY, .spoil = 1};
    d->methods = (kd_dae_class){.name = "test",
                                .residual = dense_residual,
                                .linearize = dense_linearize,
                                .factor = dense_factor,
                                .reduce = dense_reduce,
                                .solve_real = dense_solve,
                                .expand = dense_expand,
                                .start = dense_start,
                                .component_name = dense_name,
                                .fault = dense_fault,
                                .counters = dense_counters};
    for (int i = 0; i < problem->n; i++) {
        bool differential = i < problem->ndifferential;
        d->component[i] = differential ? KD_COMPONENT_INNER : KD_COMPONENT_AUXILIARY;
        d->index[i] = 1;
        d->controlled[i] = differential;
    }
    d->dae = (kd_dae){.methods = &d->methods,
                      .impl = d,
                      .n = problem->n,
                      .nrows = problem->n,
                      .nreduced = problem->n,
                      .nreduced_max = problem->n,
                      .component = d->component,
                      .index = d->index,
                      .controlled = d->controlled,
                      .ndifferential = problem->ndifferential,
                      .nstate = problem->n};
}

#endif
