// tests/integrator/radau_cases.h: small problems with known solutions behind a dense DAE that radau solves, and runs of
// them.
#ifndef KD_TEST_RADAU_CASES_H
#define KD_TEST_RADAU_CASES_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <complex.h>
#include <kardan/integrator.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "integrator/radau_tableau.h"
#include "math/dense.h"

static const kd_radau_tableau *const three = &radau_tableau[0]; // of order 5, at first in use

// ---- hand-made DAEs -------------------------------------------------------------------------------------------------

enum { MOST = 3, LOG = 20000 };

// 0 = F(t, x, x') with F_x, F_x' (column-major) and its solution.
typedef struct problem {
    const char *name;
    int         n;
    bool        algebraic; // the last component is algebraic
    kd_eval (*residual)(double t, const double *x, const double *xdot, double *F);
    void (*derivatives)(double t, const double *x, double *F_x, double *F_xdot);
    void (*solution)(double t, double *x);
} problem;

// Prothero and Robinson's stiff equation beside a slow one: x0' = -1e6 (x0 - cos t) - sin t,  x1' = -x1
static inline kd_eval stiff_residual(double t, const double *x, const double *xdot, double *F)
{
    F[0] = xdot[0] + 1e6 * (x[0] - cos(t)) + sin(t);
    F[1] = xdot[1] + x[1];
    return KD_EVAL_OK;
}
static inline void stiff_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t, (void)x;
    F_x[0] = 1e6, F_x[3] = 1;
    F_xdot[0] = F_xdot[3] = 1;
}
static inline void stiff_solution(double t, double *x)
{
    x[0] = cos(t);
    x[1] = exp(-t);
}
static const problem stiff = {"stiff", 2, false, stiff_residual, stiff_derivatives, stiff_solution};

// Index 1: x0' = 3 x0 cos(3 t) - (x1 - sin 3 t),  0 = x1 - log x0; x0 = exp(sin 3 t), x1 = sin 3 t
static inline kd_eval index1_residual(double t, const double *x, const double *xdot, double *F)
{
    F[0] = xdot[0] - 3 * x[0] * cos(3 * t) + x[1] - sin(3 * t);
    F[1] = x[1] - log(x[0]);
    return KD_EVAL_OK;
}
static inline void index1_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    F_x[0] = -3 * cos(3 * t), F_x[1] = -1 / x[0], F_x[2] = 1, F_x[3] = 1;
    F_xdot[0] = 1;
}
static inline void index1_solution(double t, double *x)
{
    x[0] = exp(sin(3 * t));
    x[1] = sin(3 * t);
}
static const problem index1 = {"index 1", 2, true, index1_residual, index1_derivatives, index1_solution};

// Nonlinear, oscillating: x0' = 3 x0 cos(3 t), x1' = 3 x1^2 cos(3 t) / 4; x0 = exp(sin 3t), x1 = 1 / (2 - sin(3 t) / 4)
static inline kd_eval waves_residual(double t, const double *x, const double *xdot, double *F)
{
    F[0] = xdot[0] - 3 * x[0] * cos(3 * t);
    F[1] = xdot[1] - 0.75 * x[1] * x[1] * cos(3 * t);
    return KD_EVAL_OK;
}
static inline void waves_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    F_x[0] = -3 * cos(3 * t), F_x[3] = -1.5 * x[1] * cos(3 * t);
    F_xdot[0] = F_xdot[3] = 1;
}
static inline void waves_solution(double t, double *x)
{
    x[0] = exp(sin(3 * t));
    x[1] = 1 / (2 - 0.25 * sin(3 * t));
}
static const problem waves = {"waves", 2, false, waves_residual, waves_derivatives, waves_solution};

// A front f = tanh(50 (t - 0.2)) that a stiff nonlinear equation follows: x' = f' - 1e3 (x^3 - f^3)
static inline kd_eval front_residual(double t, const double *x, const double *xdot, double *F)
{
    double f = tanh(50 * (t - 0.2));
    F[0] = xdot[0] - 50 * (1 - f * f) + 1e3 * (x[0] * x[0] * x[0] - f * f * f);
    return KD_EVAL_OK;
}
static inline void front_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t;
    F_x[0] = 3e3 * x[0] * x[0];
    F_xdot[0] = 1;
}
static inline void front_solution(double t, double *x)
{
    x[0] = tanh(50 * (t - 0.2));
}
static const problem front = {"front", 1, false, front_residual, front_derivatives, front_solution};

// The same front, linear: x' = f' - 5 (x - f)
static inline kd_eval ramp_residual(double t, const double *x, const double *xdot, double *F)
{
    double f = tanh(50 * (t - 0.2));
    F[0] = xdot[0] - 50 * (1 - f * f) + 5 * (x[0] - f);
    return KD_EVAL_OK;
}
static inline void ramp_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t, (void)x;
    F_x[0] = 5;
    F_xdot[0] = 1;
}
static const problem ramp = {"ramp", 1, false, ramp_residual, ramp_derivatives, front_solution};

// Blows up at t = 1: x' = x^2, x = 1 / (1 - t)
static inline kd_eval burst_residual(double t, const double *x, const double *xdot, double *F)
{
    (void)t;
    F[0] = xdot[0] - x[0] * x[0];
    return KD_EVAL_OK;
}
static inline void burst_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t;
    F_x[0] = -2 * x[0];
    F_xdot[0] = 1;
}
static inline void burst_solution(double t, double *x)
{
    x[0] = 1 / (1 - t);
}
static const problem burst = {"burst", 1, false, burst_residual, burst_derivatives, burst_solution};

// A DAE of a problem, with dense LU, and a log of what the integrator asks.
typedef struct dense_dae {
    kd_dae          dae;
    const problem  *problem;
    double          F_x[MOST * MOST], F_xdot[MOST * MOST];
    double          real[MOST * MOST];
    double complex  complex_[KD_RADAU_PAIRS][MOST * MOST];
    int             pivot[MOST], pivot_c[KD_RADAU_PAIRS][MOST];
    int             pair; // complex matrix that calls are about
    kd_component    component[MOST];
    int             index[MOST];
    bool            controlled[MOST];
    kd_dae_counters counters;
    kd_status       status;
    bool            singular;      // factor fails
    kd_eval         beyond_answer; // answer of residual for t > beyond
    double          beyond;
    bool            other_reason;     // in the shortest steps
    kd_eval         linearize_answer; // answer of linearize
    int             nlog;
    double          linearized_at[LOG]; // times
    double          h_factored[LOG];
    int             nfactored;
} dense_dae;

static inline kd_eval dense_residual(void *impl, double t, const double *x, const double *xdot, double *F)
{
    dense_dae *d = impl;
    d->counters.residuals++;
    if (t > d->beyond && d->beyond_answer != KD_EVAL_OK) {
        d->status = d->beyond_answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_NOT_FINITE;
        bool noise = d->nfactored > 0 && d->h_factored[(d->nfactored - 1) % LOG] < 1e-14 * t;
        if (noise && d->other_reason) d->status = KD_ERR_SINGULAR_MASS;
        return d->beyond_answer;
    }
    return d->problem->residual(t, x, xdot, F);
}

static inline kd_status dense_linearize(void *impl, double t, const double *x, const double *xdot, bool restart)
{
    dense_dae *d = impl;
    (void)xdot, (void)restart;
    d->counters.jacobians++;
    if (d->linearize_answer != KD_EVAL_OK) return d->status = KD_ERR_NOT_FINITE;
    memset(d->F_x, 0, sizeof d->F_x);
    memset(d->F_xdot, 0, sizeof d->F_xdot);
    d->problem->derivatives(t, x, d->F_x, d->F_xdot);
    if (d->nlog < LOG) d->linearized_at[d->nlog++] = t;
    return KD_OK;
}

static inline kd_status dense_factor(void *impl, double gamma_real, double gamma_re, double gamma_im)
{
    dense_dae *d = impl;
    int        n = d->problem->n;
    bool       failed = d->singular;
    for (int i = 0; i < n * n; i++) d->complex_[d->pair][i] = (gamma_re + gamma_im * I) * d->F_xdot[i] + d->F_x[i];
    failed = failed || kd_zlu_factor(n, d->complex_[d->pair], d->pivot_c[d->pair]) != 0;
    if (gamma_real != 0) { // 0: a further complex one
        d->counters.decompositions++;
        if (d->nfactored < LOG) d->h_factored[d->nfactored++] = three->g1 / gamma_real;
        for (int i = 0; i < n * n; i++) d->real[i] = gamma_real * d->F_xdot[i] + d->F_x[i];
        failed = failed || kd_lu_factor(n, d->real, d->pivot) != 0;
    }
    return d->status = failed ? KD_ERR_DECOMPOSITION : KD_OK;
}

static inline kd_status dense_pair(void *impl, int k)
{
    ((dense_dae *)impl)->pair = k;
    return KD_OK;
}

static inline void dense_reduce(void *impl, const double *F, double *part, double *y)
{
    dense_dae *d = impl;
    for (int i = 0; i < d->problem->n; i++) {
        part[i] = 0;
        y[i] = -F[i];
    }
}

static inline void dense_solve_real(void *impl, double *y)
{
    dense_dae *d = impl;
    kd_lu_solve(d->problem->n, d->real, d->pivot, y, 1);
}

static inline void dense_solve_complex(void *impl, double *y_re, double *y_im)
{
    dense_dae     *d = impl;
    double complex y[MOST];
    d->counters.solves += d->pair == 0;
    for (int i = 0; i < d->problem->n; i++) y[i] = y_re[i] + y_im[i] * I;
    kd_zlu_solve(d->problem->n, d->complex_[d->pair], d->pivot_c[d->pair], y, 1);
    for (int i = 0; i < d->problem->n; i++) {
        y_re[i] = creal(y[i]);
        y_im[i] = cimag(y[i]);
    }
}

static inline void dense_expand(void *impl, const double *part, const double *y, double *dx)
{
    dense_dae *d = impl;
    for (int i = 0; i < d->problem->n; i++) dx[i] = part[i] + y[i];
}

static inline kd_eval dense_start(void *impl, double t, const double *x, double *xdot)
{
    dense_dae *d = impl;
    double     F[MOST], zero[MOST] = {0};
    kd_eval    answer = dense_residual(d, t, x, zero, F);
    for (int i = 0; i < d->problem->n; i++) xdot[i] = d->problem->algebraic && i == d->problem->n - 1 ? 0 : -F[i];
    return answer;
}

static inline const char *dense_name(void *impl, int i, char *buffer, size_t size)
{
    (void)impl;
    snprintf(buffer, size, "x[%d] of the test", i);
    return buffer;
}

static inline kd_status dense_fault(void *impl, const char **message)
{
    dense_dae *d = impl;
    *message = "the test wants it so";
    return d->status;
}

static inline kd_dae_counters dense_counters(void *impl)
{
    return ((dense_dae *)impl)->counters;
}

static const kd_dae_class dense_class = {
    .name = "dense",
    .residual = dense_residual,
    .linearize = dense_linearize,
    .factor = dense_factor,
    .reduce = dense_reduce,
    .solve_real = dense_solve_real,
    .pair = dense_pair,
    .solve_complex = dense_solve_complex,
    .expand = dense_expand,
    .start = dense_start,
    .component_name = dense_name,
    .fault = dense_fault,
    .counters = dense_counters,
};

static inline void dense_init(dense_dae *d, const problem *p)
{
    memset(d, 0, sizeof *d);
    d->problem = p;
    d->beyond = INFINITY;
    for (int i = 0; i < p->n; i++) {
        d->component[i] = KD_COMPONENT_POSITION;
        d->index[i] = 1;
        d->controlled[i] = true;
    }
    d->dae = (kd_dae){.methods = &dense_class,
                      .impl = d,
                      .n = p->n,
                      .nrows = p->n,
                      .nreduced = p->n,
                      .nreduced_max = p->n,
                      .component = d->component,
                      .index = d->index,
                      .controlled = d->controlled,
                      .nstate = p->n};
}

// What a run did.
typedef struct run {
    kd_status status;
    kd_stats  stats;
    double    t, x[MOST];
    double    error; // largest absolute error at the end
    double    worst; // the same over the ends of all steps
    int       nh;
    double    h[LOG]; // accepted steps
    char      message[600];
} run;

static dense_dae shared; // large

static inline void go(const problem *p, const kd_integrator_options *opt, double t_end, run *r)
{
    double         exact[MOST];
    kd_integrator *radau;
    char           message[300];
    if (shared.problem != p) dense_init(&shared, p);
    memset(r, 0, sizeof *r);
    if (kd_integrator_create(&shared.dae, KD_RADAU, opt, &radau, message, sizeof message) != KD_OK)
        fail_msg("%s", message);
    p->solution(0, exact);
    r->status = kd_integrator_start(radau, 0, exact);
    while (r->status == KD_OK && kd_integrator_time(radau) < t_end) {
        r->status = kd_integrator_step(radau, t_end);
        if (r->status == KD_OK && r->nh < LOG)
            r->h[r->nh++] = kd_integrator_time(radau) - kd_integrator_time_old(radau);
        p->solution(kd_integrator_time(radau), exact);
        for (int i = 0; i < p->n; i++) r->worst = fmax(r->worst, fabs(kd_integrator_x(radau)[i] - exact[i]));
    }
    r->t = kd_integrator_time(radau);
    memcpy(r->x, kd_integrator_x(radau), (size_t)p->n * sizeof *r->x);
    p->solution(r->t, exact);
    for (int i = 0; i < p->n; i++) r->error = fmax(r->error, fabs(r->x[i] - exact[i]));
    r->stats = kd_integrator_stats(radau);
    snprintf(r->message, sizeof r->message, "%s", kd_integrator_message(radau));
    kd_integrator_destroy(radau);
}

// A run on a fresh DAE that must succeed.
static inline void solve(const problem *p, const kd_integrator_options *opt, double t_end, run *r)
{
    dense_init(&shared, p);
    go(p, opt, t_end, r);
    if (r->status != KD_OK) fail_msg("%s: %s", p->name, r->message);
    assert_true(r->t == t_end);
    assert_int_equal(r->stats.steps, r->stats.accepted + r->stats.rejected_error + r->stats.rejected_newton);
}

static inline kd_integrator_options with_tolerance(double tolerance)
{
    kd_integrator_options opt = kd_integrator_options_default();
    opt.rtol = opt.atol = tolerance;
    return opt;
}

static inline kd_integrator_options fixed_step(double h)
{
    kd_integrator_options opt = with_tolerance(0.5);
    opt.h_first = opt.h_max = h;
    opt.radau.newton_stop = 1e-12;
    opt.radau.theta = -1; // no old Jacobians
    opt.radau.max_newton = 50;
    return opt;
}

static run one, two; // large

#endif
