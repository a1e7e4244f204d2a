// Radau IIa without models: the coefficients against their definition, every option, failures, on small hand-made DAEs
// with known solutions.
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

// ---- coefficients ---------------------------------------------------------------------------------------------------

static const kd_radau_tableau *const three = &radau_tableau[0]; // of order 5, at first in use

// sum_j A_ij c_j^(k-1)
static double moment(const double *row, const kd_radau_tableau *m, int k)
{
    double sum = 0;
    for (int j = 0; j < m->stages; j++) sum += row[j] * pow(m->c[j], k - 1);
    return sum;
}

// B(2 s - 1), C(s) and D(s - 1) of Radau IIa with s stages; the last row of A is b. Not of order 2 s.
static void tableau_satisfies_order_conditions(void **state)
{
    (void)state;
    for (const kd_radau_tableau *m = radau_tableau; m < radau_tableau + KD_RADAU_METHODS; m++) {
        const int     s = m->stages;
        const double *b = m->A[s - 1], *c = m->c;
        for (int k = 1; k < 2 * s; k++) assert_true(fabs(moment(b, m, k) - 1.0 / k) < 1e-14);
        for (int k = 1; k <= s; k++)
            for (int i = 0; i < s; i++) assert_true(fabs(moment(m->A[i], m, k) - pow(c[i], k) / k) < 1e-14);
        for (int k = 1; k < s; k++) {
            for (int j = 0; j < s; j++) {
                double sum = 0;
                for (int i = 0; i < s; i++) sum += b[i] * pow(c[i], k - 1) * m->A[i][j];
                assert_true(fabs(sum - b[j] / k * (1 - pow(c[j], k))) < 1e-14);
            }
        }
        assert_true(fabs(moment(b, m, 2 * s) - 0.5 / s) > 1e-9);
    }
}

static double entry(int s, const double A[7][7], const double B[7][7], int i, int j)
{
    double sum = 0;
    for (int k = 0; k < s; k++) sum += A[i][k] * B[k][j];
    return sum;
}

// Characteristic polynomial of inv(A): the denominator of the stability function, Pade's (s - 1, s) of exp, whose k-th
// coefficient is (-1)^k s! (2 s - 1 - k)! / (k! (s - k)! (2 s - 1)!)
static double complex denominator(int s, double complex z)
{
    double complex sum = 0;
    for (int k = s; k >= 0; k--) {
        const double size = lgamma(s + 1) + lgamma(2 * s - k) - lgamma(k + 1) - lgamma(s - k + 1) - lgamma(2 * s);
        sum = sum * z + (k % 2 ? -1 : 1) * exp(size);
    }
    return sum;
}

// A inv(A) = I, T inv(T) = I, inv(A) T = T Lambda with Lambda = diag(g1, [al_k -be_k; be_k al_k], ..); the eigenvalues are
// the poles of the stability function.
static void transformation_matches_tableau(void **state)
{
    (void)state;
    for (const kd_radau_tableau *m = radau_tableau; m < radau_tableau + KD_RADAU_METHODS; m++) {
        const int s = m->stages;
        double    Lambda[7][7] = {{m->g1}};
        for (int k = 0; 2 * k + 1 < s; k++) {
            Lambda[2 * k + 1][2 * k + 1] = Lambda[2 * k + 2][2 * k + 2] = m->al[k];
            Lambda[2 * k + 1][2 * k + 2] = -m->be[k], Lambda[2 * k + 2][2 * k + 1] = m->be[k];
            assert_true(m->be[k] > 0);
            assert_true(cabs(denominator(s, m->al[k] + m->be[k] * I)) < 1e-11);
        }
        assert_true(cabs(denominator(s, m->g1)) < 1e-11);
        const double rounding = s == 3 ? 2e-14 : 2e-12; // cancellation in sums of large entries
        for (int i = 0; i < s; i++) {
            for (int j = 0; j < s; j++) {
                assert_true(fabs(entry(s, m->A, m->inv_A, i, j) - (i == j)) < rounding);
                assert_true(fabs(entry(s, m->T, m->inv_T, i, j) - (i == j)) < rounding);
                assert_true(fabs(entry(s, m->inv_A, m->T, i, j) - entry(s, m->T, (const double(*)[7])Lambda, i, j)) <
                            rounding);
            }
        }
    }
}

// e belongs to the embedded quadrature formula with nodes 0, c_1, .., 1, weight 1/g1 at 0 and order s.
static void error_coefficients_match_embedded_formula(void **state)
{
    (void)state;
    for (const kd_radau_tableau *m = radau_tableau; m < radau_tableau + KD_RADAU_METHODS; m++) {
        const int s = m->stages;
        double    V[49], weight[7];
        int       pivot[7];
        for (int k = 0; k < s; k++) {
            for (int i = 0; i < s; i++) V[k + s * i] = pow(m->c[i], k);
            weight[k] = 1.0 / (k + 1) - (k == 0 ? 1 / m->g1 : 0);
        }
        assert_int_equal(kd_lu_factor(s, V, pivot), 0);
        kd_lu_solve(s, V, pivot, weight, 1);
        for (int j = 0; j < s; j++) { // g1 (weight - b)' inv(A)
            double sum = 0;
            for (int i = 0; i < s; i++) sum += m->g1 * (weight[i] - m->A[s - 1][i]) * m->inv_A[i][j];
            assert_true(fabs(sum - m->e[j]) < (s == 3 ? 1e-12 : 1e-9));
        }
    }
}

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
static kd_eval stiff_residual(double t, const double *x, const double *xdot, double *F)
{
    F[0] = xdot[0] + 1e6 * (x[0] - cos(t)) + sin(t);
    F[1] = xdot[1] + x[1];
    return KD_EVAL_OK;
}
static void stiff_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t, (void)x;
    F_x[0] = 1e6, F_x[3] = 1;
    F_xdot[0] = F_xdot[3] = 1;
}
static void stiff_solution(double t, double *x)
{
    x[0] = cos(t);
    x[1] = exp(-t);
}
static const problem stiff = {"stiff", 2, false, stiff_residual, stiff_derivatives, stiff_solution};

// Index 1: x0' = 3 x0 cos(3 t) - (x1 - sin 3 t),  0 = x1 - log x0; x0 = exp(sin 3 t), x1 = sin 3 t
static kd_eval index1_residual(double t, const double *x, const double *xdot, double *F)
{
    F[0] = xdot[0] - 3 * x[0] * cos(3 * t) + x[1] - sin(3 * t);
    F[1] = x[1] - log(x[0]);
    return KD_EVAL_OK;
}
static void index1_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    F_x[0] = -3 * cos(3 * t), F_x[1] = -1 / x[0], F_x[2] = 1, F_x[3] = 1;
    F_xdot[0] = 1;
}
static void index1_solution(double t, double *x)
{
    x[0] = exp(sin(3 * t));
    x[1] = sin(3 * t);
}
static const problem index1 = {"index 1", 2, true, index1_residual, index1_derivatives, index1_solution};

// Nonlinear, oscillating: x0' = 3 x0 cos(3 t), x1' = 3 x1^2 cos(3 t) / 4; x0 = exp(sin 3t), x1 = 1 / (2 - sin(3 t) / 4)
static kd_eval waves_residual(double t, const double *x, const double *xdot, double *F)
{
    F[0] = xdot[0] - 3 * x[0] * cos(3 * t);
    F[1] = xdot[1] - 0.75 * x[1] * x[1] * cos(3 * t);
    return KD_EVAL_OK;
}
static void waves_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    F_x[0] = -3 * cos(3 * t), F_x[3] = -1.5 * x[1] * cos(3 * t);
    F_xdot[0] = F_xdot[3] = 1;
}
static void waves_solution(double t, double *x)
{
    x[0] = exp(sin(3 * t));
    x[1] = 1 / (2 - 0.25 * sin(3 * t));
}
static const problem waves = {"waves", 2, false, waves_residual, waves_derivatives, waves_solution};

// A front f = tanh(50 (t - 0.2)) that a stiff nonlinear equation follows: x' = f' - 1e3 (x^3 - f^3)
static kd_eval front_residual(double t, const double *x, const double *xdot, double *F)
{
    double f = tanh(50 * (t - 0.2));
    F[0] = xdot[0] - 50 * (1 - f * f) + 1e3 * (x[0] * x[0] * x[0] - f * f * f);
    return KD_EVAL_OK;
}
static void front_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t;
    F_x[0] = 3e3 * x[0] * x[0];
    F_xdot[0] = 1;
}
static void front_solution(double t, double *x)
{
    x[0] = tanh(50 * (t - 0.2));
}
static const problem front = {"front", 1, false, front_residual, front_derivatives, front_solution};

// The same front, linear: x' = f' - 5 (x - f)
static kd_eval ramp_residual(double t, const double *x, const double *xdot, double *F)
{
    double f = tanh(50 * (t - 0.2));
    F[0] = xdot[0] - 50 * (1 - f * f) + 5 * (x[0] - f);
    return KD_EVAL_OK;
}
static void ramp_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t, (void)x;
    F_x[0] = 5;
    F_xdot[0] = 1;
}
static const problem ramp = {"ramp", 1, false, ramp_residual, ramp_derivatives, front_solution};

// Blows up at t = 1: x' = x^2, x = 1 / (1 - t)
static kd_eval burst_residual(double t, const double *x, const double *xdot, double *F)
{
    (void)t;
    F[0] = xdot[0] - x[0] * x[0];
    return KD_EVAL_OK;
}
static void burst_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t;
    F_x[0] = -2 * x[0];
    F_xdot[0] = 1;
}
static void burst_solution(double t, double *x)
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

static kd_eval dense_residual(void *impl, double t, const double *x, const double *xdot, double *F)
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

static kd_status dense_linearize(void *impl, double t, const double *x, const double *xdot, bool restart)
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

static kd_status dense_factor(void *impl, double gamma_real, double gamma_re, double gamma_im)
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

static kd_status dense_pair(void *impl, int k)
{
    ((dense_dae *)impl)->pair = k;
    return KD_OK;
}

static void dense_reduce(void *impl, const double *F, double *part, double *y)
{
    dense_dae *d = impl;
    for (int i = 0; i < d->problem->n; i++) {
        part[i] = 0;
        y[i] = -F[i];
    }
}

static void dense_solve_real(void *impl, double *y)
{
    dense_dae *d = impl;
    kd_lu_solve(d->problem->n, d->real, d->pivot, y, 1);
}

static void dense_solve_complex(void *impl, double *y_re, double *y_im)
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

static void dense_expand(void *impl, const double *part, const double *y, double *dx)
{
    dense_dae *d = impl;
    for (int i = 0; i < d->problem->n; i++) dx[i] = part[i] + y[i];
}

static kd_eval dense_start(void *impl, double t, const double *x, double *xdot)
{
    dense_dae *d = impl;
    double     F[MOST], zero[MOST] = {0};
    kd_eval    answer = dense_residual(d, t, x, zero, F);
    for (int i = 0; i < d->problem->n; i++) xdot[i] = d->problem->algebraic && i == d->problem->n - 1 ? 0 : -F[i];
    return answer;
}

static const char *dense_name(void *impl, int i, char *buffer, size_t size)
{
    (void)impl;
    snprintf(buffer, size, "x[%d] of the test", i);
    return buffer;
}

static kd_status dense_fault(void *impl, const char **message)
{
    dense_dae *d = impl;
    *message = "the test wants it so";
    return d->status;
}

static kd_dae_counters dense_counters(void *impl)
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

static void dense_init(dense_dae *d, const problem *p)
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

static void go(const problem *p, const kd_integrator_options *opt, double t_end, run *r)
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
static void solve(const problem *p, const kd_integrator_options *opt, double t_end, run *r)
{
    dense_init(&shared, p);
    go(p, opt, t_end, r);
    if (r->status != KD_OK) fail_msg("%s: %s", p->name, r->message);
    assert_true(r->t == t_end);
    assert_int_equal(r->stats.steps, r->stats.accepted + r->stats.rejected_error + r->stats.rejected_newton);
}

static kd_integrator_options with_tolerance(double tolerance)
{
    kd_integrator_options opt = kd_integrator_options_default();
    opt.rtol = opt.atol = tolerance;
    return opt;
}

static kd_integrator_options fixed_step(double h)
{
    kd_integrator_options opt = with_tolerance(0.5);
    opt.h_first = opt.h_max = h;
    opt.radau.newton_stop = 1e-12;
    opt.radau.theta = -1; // no old Jacobians
    opt.radau.max_newton = 50;
    return opt;
}

static run one, two; // large

// ---- accuracy -------------------------------------------------------------------------------------------------------

// The error follows the tolerance on a stiff equation, an index-1 DAE and a nonlinear one; few steps for the stiff one.
static void error_follows_the_tolerance(void **state)
{
    (void)state;
    const problem *problems[] = {&stiff, &index1, &waves};
    for (int k = 0; k < 3; k++) {
        for (double tol = 1e-4; tol > 1e-11; tol *= 1e-2) {
            kd_integrator_options opt = with_tolerance(tol);
            solve(problems[k], &opt, 2, &one);
            assert_true(one.error < 10 * tol);
            assert_true(one.stats.accepted < 1000);
        }
    }
    kd_integrator_options opt = with_tolerance(1e-6);
    solve(&stiff, &opt, 2, &one);
    assert_true(one.stats.accepted < 40); // an explicit method needs a million
}

// Fixed steps show order 5 in differential and algebraic components (the slope of the error), and not more.
static void order_is_five(void **state)
{
    (void)state;
    const problem *problems[] = {&index1, &waves};
    const double   coarse[] = {0.0625, 0.1};
    for (int k = 0; k < 2; k++) {
        kd_integrator_options opt = fixed_step(coarse[k]);
        solve(problems[k], &opt, 2, &one);
        opt.h_first = opt.h_max = coarse[k] / 2;
        solve(problems[k], &opt, 2, &two);
        assert_int_equal(two.stats.accepted, 2 * one.stats.accepted);
        double slope = log2(one.error / two.error);
        if (!(slope > 4.7 && slope < 5.4))
            fail_msg("%s: slope %.2f (%.2e, %.2e)", problems[k]->name, slope, one.error, two.error);
    }
}

// Five and seven stages show orders 9 and 13; index 1 keeps them, as the methods are stiffly accurate (order 9: beyond it
// rounding is too near).
static void orders_are_nine_and_thirteen(void **state)
{
    (void)state;
    // rounding of seven stages is larger: Newton's method ends above it
    const struct {
        const problem *problem;
        int            order;
        double         coarse, newton_stop;
    } cases[] = {{&index1, 9, 0.2, 1e-13}, {&waves, 9, 0.2, 1e-13}, {&waves, 13, 0.5, 1e-11}};
    for (int k = 0; k < 3; k++) {
        const int             order = cases[k].order;
        kd_integrator_options opt = fixed_step(cases[k].coarse);
        opt.radau.order_fixed = order;
        opt.radau.newton_stop = cases[k].newton_stop;
        solve(cases[k].problem, &opt, 4, &one);
        opt.h_first = opt.h_max = cases[k].coarse / 2;
        solve(cases[k].problem, &opt, 4, &two);
        const double slope = log2(one.worst / two.worst);
        if (two.stats.accepted != 2 * one.stats.accepted || two.stats.order_last != order ||
            !(fabs(slope - order) < 1.8))
            fail_msg("%s: order %d, slope %.2f (%.2e, %.2e), %ld and %ld steps", cases[k].problem->name, order, slope,
                     one.worst, two.worst, one.stats.accepted, two.stats.accepted);
    }
}

// The order is chosen: at tight tolerances it rises to 13 and saves most of the steps and half of the evaluations, with an
// error that still follows the tolerance; at loose ones and on a front it costs hardly more than order 5.
static void order_is_chosen(void **state)
{
    (void)state;
    kd_integrator_options opt = kd_integrator_options_default();
    opt.rtol = opt.atol = 1e-10;
    solve(&waves, &opt, 20, &one);
    assert_int_equal(one.stats.order_last, 0); // fixed
    opt.radau.order_max = 13;
    solve(&waves, &opt, 20, &two);
    assert_int_equal(two.stats.order_last, 13);
    assert_true(two.stats.accepted < one.stats.accepted / 4);
    assert_true(two.stats.residuals < one.stats.residuals / 2);
    assert_true(two.error < 10 * one.error && two.error < 1e-8);
    opt.radau.order_max = 9;
    solve(&waves, &opt, 20, &two);
    assert_int_equal(two.stats.order_last, 9);
    assert_true(two.stats.residuals < one.stats.residuals / 2);
    const problem *problems[] = {&waves, &front, &ramp, &stiff, &index1};
    for (int k = 0; k < 5; k++) {
        opt.rtol = opt.atol = 1e-4;
        opt.radau.order_max = 5;
        solve(problems[k], &opt, 2, &one);
        opt.radau.order_max = 13;
        solve(problems[k], &opt, 2, &two);
        if (two.stats.residuals > 2 * one.stats.residuals || two.error > fmax(20 * one.error, 1e-3))
            fail_msg("%s: %ld evaluations, error %.1e; order 5: %ld, %.1e", problems[k]->name, two.stats.residuals,
                     two.error, one.stats.residuals, one.error);
    }
}

// Orders that do not exist are refused by name; a form with one complex matrix has order 5 only.
static void orders_that_do_not_exist(void **state)
{
    (void)state;
    kd_integrator *radau;
    char           message[300];
    kd_dae_class   alone = dense_class;
    alone.pair = NULL;
    dense_init(&shared, &waves);
    kd_integrator_options opt = kd_integrator_options_default();
    opt.radau.order_max = 7;
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, message, sizeof message),
                     KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "radau.order_max = 7 must be 5, 9 or 13"));
    opt.radau.order_max = 13;
    opt.radau.order_fixed = 6;
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, message, sizeof message),
                     KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "radau.order_fixed = 6"));
    opt.radau.order_fixed = 0;
    shared.dae.methods = &alone;
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, message, sizeof message),
                     KD_ERR_UNSUPPORTED);
    opt.radau.order_max = 5;
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, message, sizeof message), KD_OK);
    kd_integrator_destroy(radau);
    shared.problem = NULL;
}

// On Prothero and Robinson's equation the order falls to the stage order or better, and the error is still tiny.
static void stiff_order(void **state)
{
    (void)state;
    kd_integrator_options opt = fixed_step(0.2);
    solve(&stiff, &opt, 2, &one);
    double coarse = fabs(one.x[0] - cos(2));
    opt.h_first = opt.h_max = 0.1;
    solve(&stiff, &opt, 2, &two);
    double fine = fabs(two.x[0] - cos(2));
    assert_true(coarse < 1e-9); // h^4 / 1e6
    assert_true(fine < coarse / 7 || fine < 1e-13);
}

// ---- options: refused values ----------------------------------------------------------------------------------------

// Every field out of range is refused with its own words.
static void options_are_validated(void **state)
{
    (void)state;
    static const double         bad_each[] = {1e-6, 0}, nan_each[] = {NAN, 1e-6};
    const kd_integrator_options good = kd_integrator_options_default();
    kd_integrator_options       list[64];
    const char                 *word[64];
    kd_status                   expected[64];
    int                         n = 0;
#define BAD(field, value, status)                                                                                      \
    do {                                                                                                               \
        list[n] = good;                                                                                                \
        list[n].field = (value);                                                                                       \
        word[n] = #field;                                                                                              \
        expected[n++] = (status);                                                                                      \
    } while (0)
    const double wrong_tolerances[] = {0, -1e-6, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        BAD(rtol, wrong_tolerances[i], KD_ERR_TOLERANCE);
        BAD(atol, wrong_tolerances[i], KD_ERR_TOLERANCE);
    }
    BAD(rtol, 1e-16, KD_ERR_TOLERANCE); // below rounding
    BAD(rtol_each, bad_each, KD_ERR_TOLERANCE);
    word[n - 1] = "rtol";
    BAD(atol_each, nan_each, KD_ERR_TOLERANCE);
    word[n - 1] = "atol";
    BAD(h_first, -1e-3, KD_ERR_ARGUMENT);
    BAD(h_first, NAN, KD_ERR_ARGUMENT);
    BAD(h_max, -1, KD_ERR_ARGUMENT);
    BAD(h_max, NAN, KD_ERR_ARGUMENT);
    BAD(max_steps, 0, KD_ERR_ARGUMENT);
    BAD(max_steps, -5, KD_ERR_ARGUMENT);
    BAD(radau.max_newton, 1, KD_ERR_ARGUMENT);
    BAD(radau.reference, -1, KD_ERR_ARGUMENT);
    BAD(radau.reference, 4, KD_ERR_ARGUMENT);
    BAD(radau.reference, 1, KD_ERR_ARGUMENT);
    list[n - 1].radau.start_zero = true; // nothing to extrapolate
    BAD(radau.newton_updates, -1, KD_ERR_ARGUMENT);
    BAD(radau.uround, 0, KD_ERR_ARGUMENT);
    BAD(radau.uround, -1, KD_ERR_ARGUMENT);
    BAD(radau.uround, 0.5, KD_ERR_ARGUMENT);
    BAD(radau.uround, NAN, KD_ERR_ARGUMENT);
    BAD(radau.safety, 0, KD_ERR_ARGUMENT);
    BAD(radau.safety, 1, KD_ERR_ARGUMENT);
    BAD(radau.safety, NAN, KD_ERR_ARGUMENT);
    BAD(radau.theta, 1, KD_ERR_ARGUMENT);
    BAD(radau.theta, NAN, KD_ERR_ARGUMENT);
    BAD(radau.newton_stop, -1, KD_ERR_ARGUMENT);
    BAD(radau.newton_stop, NAN, KD_ERR_ARGUMENT);
    BAD(radau.quot1, 1.1, KD_ERR_ARGUMENT);
    BAD(radau.quot1, NAN, KD_ERR_ARGUMENT);
    BAD(radau.quot2, 0.9, KD_ERR_ARGUMENT);
    BAD(radau.quot2, NAN, KD_ERR_ARGUMENT);
    BAD(radau.fac_upper, 1, KD_ERR_ARGUMENT);
    BAD(radau.fac_upper, NAN, KD_ERR_ARGUMENT);
    BAD(radau.fac_lower, 0, KD_ERR_ARGUMENT);
    BAD(radau.fac_lower, 1, KD_ERR_ARGUMENT);
    BAD(radau.fac_lower, NAN, KD_ERR_ARGUMENT);
#undef BAD
    dense_init(&shared, &waves);
    for (int i = 0; i < n; i++) {
        char           message[300] = "";
        kd_integrator *radau = (kd_integrator *)&shared;
        kd_status      status = kd_integrator_create(&shared.dae, KD_RADAU, &list[i], &radau, message, sizeof message);
        if (status != expected[i]) fail_msg("case %d, %s: %s (%s)", i, word[i], kd_status_name(status), message);
        assert_null(radau);
        if (!strstr(message, word[i])) fail_msg("'%s' does not name %s", message, word[i]);
    }
    kd_integrator *radau;
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, NULL, &radau, NULL, 0),
                     KD_OK); // defaults, no place for a message
    kd_integrator_destroy(radau);
    kd_integrator_destroy(NULL);
}

// The defaults are those of S3's manual (FACL, FACR, SAFE, QUOT1, QUOT2, THET, NIT).
static void defaults(void **state)
{
    (void)state;
    kd_integrator_options o = kd_integrator_options_default();
    assert_true(o.rtol == 1e-6 && o.atol == 1e-6 && !o.rtol_each && !o.atol_each && o.h_first == 0 && o.h_max == 0);
    assert_true(o.max_steps == 100000 && o.radau.max_newton == 10 && !o.radau.start_zero && o.radau.reference == 0);
    assert_true(o.radau.newton_updates == 0 && !o.radau.classical && o.radau.uround == 1e-16 && o.radau.safety == 0.9 &&
                o.radau.theta == 0.001);
    assert_true(o.radau.newton_stop == 0 && o.radau.quot1 == 1 && o.radau.quot2 == 1.2 && o.radau.fac_upper == 8 &&
                o.radau.fac_lower == 0.2);
}

// ---- options: what they do ------------------------------------------------------------------------------------------

// Zero starting values give the same solution at the price of more Newton iterations.
static void start_zero_costs_iterations(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    solve(&waves, &opt, 3, &one);
    opt.radau.start_zero = true;
    solve(&waves, &opt, 3, &two);
    assert_true(two.error < 1e-7);
    assert_true((double)two.stats.solves / (double)two.stats.accepted >
                (double)one.stats.solves / (double)one.stats.accepted);
}

// The Newton matrix is taken at x_k or at the extrapolated stage that is asked for; the solution does not notice.
static void reference_point_of_the_newton_matrix(void **state)
{
    (void)state;
    for (int reference = 0; reference <= 3; reference++) {
        kd_integrator_options opt = fixed_step(0.05);
        opt.radau.reference = reference;
        opt.radau.theta = -1;
        solve(&waves, &opt, 2, &one);
        assert_int_equal(shared.nlog, one.nh); // one matrix per step
        double c = reference == 0 ? 0 : three->c[reference - 1], t = one.h[0];
        assert_true(shared.linearized_at[0] == 0); // nothing to extrapolate yet
        for (int k = 1; k < one.nh; k++) {
            assert_true(fabs(shared.linearized_at[k] - (t + c * one.h[k])) < 1e-12);
            t += one.h[k];
        }
        if (reference == 0) two = one;
        assert_true(fabs(one.x[0] - two.x[0]) < 1e-11);
        opt = with_tolerance(1e-9);
        opt.radau.reference = reference;
        solve(&waves, &opt, 3, &one);
        assert_true(one.error < 1e-8);
    }
}

// With few iterations allowed, new matrices inside a Newton iteration save rejected steps.
static void newton_updates_save_steps(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    opt.radau.max_newton = 3;
    opt.radau.newton_stop = 1e-5;
    opt.radau.start_zero = true;
    opt.radau.theta = -1;
    solve(&front, &opt, 0.5, &one);
    assert_int_equal(one.stats.newton_updates, 0);
    assert_true(one.stats.rejected_newton > 3);
    opt.radau.newton_updates = 1;
    solve(&front, &opt, 0.5, &two);
    assert_true(two.stats.newton_updates > 0);
    assert_true(two.stats.rejected_newton < one.stats.rejected_newton);
    assert_true(two.error < 1e-5);
}

// Newton never takes more iterations than allowed, and reports failures when they do not suffice.
static void max_newton_is_respected(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    opt.radau.start_zero = true;
    opt.radau.max_newton = 4;
    solve(&front, &opt, 0.5, &one);
    assert_true(one.stats.solves <= 4 * one.stats.steps);
    assert_true(one.stats.rejected_newton > 0);
    opt.radau.max_newton = 20;
    solve(&front, &opt, 0.5, &two);
    assert_true(two.stats.rejected_newton < one.stats.rejected_newton);
}

// A smaller newton_stop costs iterations and leaves a smaller defect.
static void newton_stop_is_used(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-4);
    opt.radau.newton_stop = 0.5;
    solve(&index1, &opt, 2, &one);
    opt.radau.newton_stop = 1e-9;
    solve(&index1, &opt, 2, &two);
    assert_true(two.stats.solves > one.stats.solves);
    double defect[] = {fabs(one.x[1] - log(one.x[0])), fabs(two.x[1] - log(two.x[0]))};
    assert_true(defect[1] < 0.01 * defect[0]);
}

// Predictive and classical control reach the same solution by different steps; at a front the predictive one is
// rejected less often.
static void classical_and_predictive_control(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    solve(&front, &opt, 0.5, &one);
    opt.radau.classical = true;
    solve(&front, &opt, 0.5, &two);
    assert_true(one.error < 1e-7 && two.error < 1e-7);
    assert_true(one.stats.accepted != two.stats.accepted);
    assert_true(one.stats.rejected_error <= two.stats.rejected_error);
}

// theta < 0: a new Jacobian in every step; a generous theta keeps it: fewer Jacobians, the same solution.
static void theta_keeps_the_jacobian(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    opt.radau.theta = -1;
    solve(&waves, &opt, 5, &one);
    assert_true(one.stats.jacobians >= one.stats.accepted);
    opt.radau.theta = 0.2;
    solve(&waves, &opt, 5, &two);
    assert_true(two.stats.jacobians < one.stats.jacobians / 2);
    assert_true(two.error < 1e-7);
    for (int i = 0; i < 2; i++) assert_true(fabs(one.x[i] - two.x[i]) < 1e-7);
}

// Between quot1 and quot2 step size and decomposition are kept; with quot1 = quot2 = 1 hardly ever.
static void quotients_keep_the_step_size(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    opt.radau.theta = 0.5; // the Jacobian must be kept, too
    opt.radau.quot1 = 0.5;
    opt.radau.quot2 = 3;
    solve(&waves, &opt, 5, &one);
    opt.radau.quot1 = opt.radau.quot2 = 1;
    solve(&waves, &opt, 5, &two);
    int kept = 0, kept_two = 0;
    for (int k = 1; k < one.nh; k++) kept += fabs(one.h[k] / one.h[k - 1] - 1) < 1e-9;
    for (int k = 1; k < two.nh; k++) kept_two += fabs(two.h[k] / two.h[k - 1] - 1) < 1e-9;
    assert_true(kept > one.nh / 2);
    assert_true(kept_two < two.nh / 10 + 1);
    assert_true((double)one.stats.decompositions / (double)one.stats.accepted <
                0.7 * (double)two.stats.decompositions / (double)two.stats.accepted);
}

// The first step is h_first if it can be; no step is longer than h_max.
static void first_and_largest_step(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-4);
    opt.h_first = 1.25e-3;
    solve(&index1, &opt, 2, &one);
    assert_true(one.h[0] == 1.25e-3);
    opt.h_max = 0.01;
    solve(&index1, &opt, 2, &two);
    for (int k = 0; k < two.nh; k++) assert_true(two.h[k] <= 0.01 * (1 + 2e-4));
    assert_true(two.stats.accepted >= 200 && two.stats.accepted < 215);
    assert_true(one.stats.accepted < 100);
    opt.h_first = 10; // beyond everything: h_max
    solve(&index1, &opt, 2, &two);
    assert_true(two.h[0] == 0.01);
}

// h_last is the last step; a step that was cut at t_end does not make the next one shorter.
static void short_last_step_is_forgotten(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    kd_integrator        *radau;
    double                x[MOST];
    dense_init(&shared, &waves);
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, NULL, 0), KD_OK);
    waves.solution(0, x);
    assert_int_equal(kd_integrator_start(radau, 0, x), KD_OK);
    for (int k = 0; k < 10; k++) assert_int_equal(kd_integrator_step(radau, 100), KD_OK);
    double t = kd_integrator_time(radau), h = t - kd_integrator_time_old(radau);
    assert_true(kd_integrator_stats(radau).h_last == h || fabs(kd_integrator_stats(radau).h_last - h) < 1e-14);
    assert_int_equal(kd_integrator_step(radau, t + 1e-6), KD_OK);
    assert_true(kd_integrator_time(radau) == t + 1e-6);
    assert_int_equal(kd_integrator_step(radau, 100), KD_OK);
    assert_true(kd_integrator_stats(radau).h_last > 0.5 * h);
    kd_integrator_destroy(radau);
}

// A smaller safety factor takes more steps and is rejected less often.
static void safety(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    opt.radau.safety = 0.95;
    solve(&waves, &opt, 5, &one);
    opt.radau.safety = 0.5;
    solve(&waves, &opt, 5, &two);
    assert_true(two.stats.accepted > one.stats.accepted);
    assert_true(two.stats.rejected_error <= one.stats.rejected_error);
    assert_true(two.error < one.error);
}

// Steps grow at most by fac_upper and shrink after an error at most by fac_lower.
static void growth_is_limited(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    opt.h_first = 1e-7;
    opt.radau.fac_upper = 1.5;
    solve(&front, &opt, 0.5, &one);
    for (int k = 1; k < one.nh; k++) assert_true(one.h[k] <= 1.5 * one.h[k - 1] * (1 + 1e-6));
    opt.radau.fac_upper = 8;
    solve(&front, &opt, 0.5, &two);
    double most = 0;
    for (int k = 1; k < two.nh; k++) most = fmax(most, two.h[k] / two.h[k - 1]);
    assert_true(most > 5 && most <= 8 * (1 + 1e-6));
    assert_true(two.stats.accepted < one.stats.accepted);
    double least[2];
    for (int k = 0; k < 2; k++) {
        opt.radau.fac_lower = k == 0 ? 0.7 : 0.01;
        opt.radau.classical = true;
        solve(&ramp, &opt, 0.5, &one);
        assert_true(one.stats.rejected_error > 0);
        assert_int_equal(one.stats.rejected_newton, 0);
        least[k] = 1;
        for (int i = 2; i < shared.nfactored; i++)
            least[k] = fmin(least[k], shared.h_factored[i] / shared.h_factored[i - 1]);
    }
    assert_true(least[0] >= 0.7 * (1 - 1e-9));
    assert_true(least[1] < 0.6);
}

// Tolerances per component are copied and count for their component: a tight one costs what it must and helps there.
static void tolerances_of_components(void **state)
{
    (void)state;
    double                tight[] = {1e-10, 1e-10}, mixed[] = {1e-3, 1e-10}, loose[] = {1e-3, 1e-3};
    kd_integrator_options opt = kd_integrator_options_default();
    double               *choice[] = {loose, mixed, tight};
    double                error[3][2];
    long                  steps[3];
    for (int k = 0; k < 3; k++) {
        opt.rtol_each = opt.atol_each = choice[k];
        solve(&waves, &opt, 2.5, &one);
        double exact[MOST];
        waves.solution(2.5, exact);
        for (int i = 0; i < 2; i++) error[k][i] = fabs(one.x[i] - exact[i]);
        steps[k] = one.stats.accepted;
    }
    assert_true(steps[0] < steps[1] && steps[1] < steps[2]);
    assert_true(error[1][1] < 1e-9 && error[0][1] > 1e-9);
    assert_true(error[1][0] > 10 * error[2][0]);
    kd_integrator *radau; // the arrays are copied
    double         x[MOST];
    opt.rtol_each = opt.atol_each = tight;
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, NULL, 0), KD_OK);
    tight[0] = tight[1] = 1;
    waves.solution(0, x);
    assert_int_equal(kd_integrator_start(radau, 0, x), KD_OK);
    while (kd_integrator_time(radau) < 2.5) assert_int_equal(kd_integrator_step(radau, 2.5), KD_OK);
    for (int i = 0; i < 2; i++) assert_true(kd_integrator_x(radau)[i] == one.x[i]);
    kd_integrator_destroy(radau);
}

// atol is the user's, not a copy of rtol: a large one makes the steps longer.
static void absolute_tolerance(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    solve(&waves, &opt, 5, &one);
    opt.atol = 1e-2;
    solve(&waves, &opt, 5, &two);
    assert_true(2 * two.stats.accepted < one.stats.accepted);
}

// Right after a rejection the step does not grow.
static void no_growth_after_rejection(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    opt.radau.theta = -1; // every attempt factors once
    int rejections = 0;
    for (int k = 0; k < 40; k++) {
        opt.h_first = 0.05 + 0.005 * k;
        solve(&ramp, &opt, 0.5, &one);
        assert_int_equal(shared.nfactored, one.stats.steps);
        for (int i = 0, j = 0; i + 1 < one.nh; i++, j++) { // i-th accepted step, j-th attempt
            bool rejected = false;
            for (; fabs(shared.h_factored[j] / one.h[i] - 1) > 1e-9; j++) rejected = true;
            if (rejected) assert_true(one.h[i + 1] <= one.h[i] * (1 + 1e-9));
            rejections += rejected;
        }
    }
    assert_true(rejections > 40);
}

// Components that are not controlled do not drive the step size.
static void uncontrolled_components(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    solve(&waves, &opt, 5, &one);
    dense_init(&shared, &waves);
    shared.controlled[0] = false; // the harder one
    go(&waves, &opt, 5, &two);
    assert_int_equal(two.status, KD_OK);
    assert_true(two.stats.accepted < 0.8 * (double)one.stats.accepted);
}

// ---- dense output ---------------------------------------------------------------------------------------------------

// The collocation polynomial of s stages meets both ends exactly and has an error of order s + 1 between.
static double dense_slope(int order, double coarse)
{
    double worst[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        kd_integrator_options opt = fixed_step(k == 0 ? coarse : coarse / 2);
        opt.radau.order_fixed = order;
        kd_integrator *radau;
        double         x[MOST], y[MOST], exact[MOST];
        dense_init(&shared, &waves);
        assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, NULL, 0), KD_OK);
        waves.solution(0, x);
        assert_int_equal(kd_integrator_start(radau, 0, x), KD_OK);
        while (kd_integrator_time(radau) < 2) {
            double before[MOST];
            memcpy(before, kd_integrator_x(radau), sizeof(double) * 2);
            assert_int_equal(kd_integrator_step(radau, 2), KD_OK);
            double t0 = kd_integrator_time_old(radau), t1 = kd_integrator_time(radau);
            assert_int_equal(kd_integrator_dense(radau, t0, y), KD_OK);
            for (int i = 0; i < 2; i++) assert_true(fabs(y[i] - before[i]) < 1e-15);
            assert_int_equal(kd_integrator_dense(radau, t1, y), KD_OK);
            for (int i = 0; i < 2; i++) assert_true(y[i] == kd_integrator_x(radau)[i]);
            for (int j = 1; j < 8; j++) {
                double t = t0 + (t1 - t0) * j / 8;
                assert_int_equal(kd_integrator_dense(radau, t, y), KD_OK);
                waves.solution(t, exact);
                for (int i = 0; i < 2; i++) worst[k] = fmax(worst[k], fabs(y[i] - exact[i]));
            }
        }
        kd_integrator_destroy(radau);
    }
    return log2(worst[0] / worst[1]);
}

static void dense_output(void **state)
{
    (void)state;
    const double coarse[] = {0.1, 0.2, 0.2};
    for (int m = 0; m < 3; m++) {
        const double slope = dense_slope(4 * m + 5, coarse[m]), stages = radau_tableau[m].stages;
        if (!(slope > stages + 0.6 && slope < stages + 1.7)) fail_msg("order %d: slope %.2f", 4 * m + 5, slope);
    }
}

// ---- failures -------------------------------------------------------------------------------------------------------

// A solution that blows up ends with the status of its own, the time and the name of the component; the state is the
// last accepted one.
static void step_becomes_too_small(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    dense_init(&shared, &burst);
    go(&burst, &opt, 2, &one);
    assert_int_equal(one.status, KD_ERR_STEP_TOO_SMALL);
    assert_true(one.t < 1.001 && one.t > 0.99);
    assert_true(isfinite(one.x[0]));
    assert_non_null(strstr(one.message, "at t = "));
    assert_non_null(strstr(one.message, "x[0] of the test"));
    assert_non_null(strstr(one.message, "kd_eom_check")); // advice; the sentence comes with the status
}

// A function that cannot be evaluated beyond a time makes steps shorter until the status of its fault is reported; the
// state lies before that time.
static void function_refuses(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    dense_init(&shared, &waves);
    shared.beyond = 0.7;
    shared.beyond_answer = KD_EVAL_RETRY;
    go(&waves, &opt, 2, &one);
    assert_int_equal(one.status, KD_ERR_NOT_FINITE);
    assert_true(one.t <= 0.7 && one.t > 0.69);
    assert_true(one.error < 1e-4);
    assert_non_null(strstr(one.message, "the test wants it so"));
    assert_true(one.stats.rejected_newton > 10);
}

// What fails in steps of the size of rounding does not hide why they became so short.
static void first_reason_counts(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    dense_init(&shared, &waves);
    shared.beyond = 0.7;
    shared.beyond_answer = KD_EVAL_RETRY;
    shared.other_reason = true;
    go(&waves, &opt, 2, &one);
    assert_int_equal(shared.status, KD_ERR_SINGULAR_MASS); // the last one
    assert_int_equal(one.status, KD_ERR_NOT_FINITE);
}

// A function that asks to stop ends the run at once, without further attempts.
static void function_stops(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    dense_init(&shared, &waves);
    shared.beyond = 0.7;
    shared.beyond_answer = KD_EVAL_STOP;
    go(&waves, &opt, 2, &one);
    assert_int_equal(one.status, KD_ERR_CALLBACK_STOP);
    assert_int_equal(one.stats.steps, one.stats.accepted + one.stats.rejected_error + 1);
    assert_non_null(strstr(one.message, "the test wants it so"));
}

// Singular Newton matrices are tried again with smaller steps a few times, then reported.
static void singular_matrix(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    dense_init(&shared, &waves);
    shared.singular = true;
    go(&waves, &opt, 2, &one);
    assert_int_equal(one.status, KD_ERR_DECOMPOSITION);
    assert_true(one.t == 0);
    assert_int_equal(shared.nfactored, 5);
    assert_non_null(strstr(one.message, "the test wants it so"));
}

// Derivatives that cannot be evaluated at the accepted point end the run: no smaller step helps.
static void derivative_refuses(void **state)
{
    (void)state;
    dense_init(&shared, &waves);
    shared.linearize_answer = KD_EVAL_RETRY;
    go(&waves, NULL, 2, &one);
    assert_int_equal(one.status, KD_ERR_NOT_FINITE);
    assert_int_equal(shared.counters.jacobians, 1);
}

// Going back in time is refused; going nowhere is fine.
static void end_time(void **state)
{
    (void)state;
    kd_integrator *radau;
    double         x[MOST];
    dense_init(&shared, &waves);
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, NULL, &radau, NULL, 0), KD_OK);
    waves.solution(0, x);
    assert_int_equal(kd_integrator_start(radau, 1, x), KD_OK);
    assert_int_equal(kd_integrator_step(radau, 0.5), KD_ERR_TIME);
    assert_int_equal(kd_integrator_step(radau, NAN), KD_ERR_TIME);
    assert_true(kd_integrator_time(radau) == 1);
    assert_int_equal(kd_integrator_step(radau, 1), KD_OK);
    assert_true(kd_integrator_time(radau) == 1);
    assert_int_equal(kd_integrator_dense(radau, 1, x), KD_OK); // before any step: the start
    assert_true(x[0] == kd_integrator_x(radau)[0]);
    kd_integrator_destroy(radau);
}

// ---- restart --------------------------------------------------------------------------------------------------------

// After a start at a new place the integrator has forgotten everything: the same bits as a new one, also after failure.
static void restart_is_like_new(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    kd_integrator        *radau;
    double                x[MOST];
    solve(&waves, &opt, 2, &one);
    dense_init(&shared, &waves);
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, NULL, 0), KD_OK);
    for (int k = 0; k < 3; k++) {
        if (k == 1) shared.beyond = 1.1, shared.beyond_answer = KD_EVAL_RETRY; // the second run fails
        waves.solution(0, x);
        assert_int_equal(kd_integrator_start(radau, 0, x), KD_OK);
        kd_status status = KD_OK;
        while (status == KD_OK && kd_integrator_time(radau) < 2) status = kd_integrator_step(radau, 2);
        assert_int_equal(status, k == 1 ? KD_ERR_NOT_FINITE : KD_OK);
        for (int i = 0; i < 2 && k != 1; i++) assert_true(kd_integrator_x(radau)[i] == one.x[i]);
        shared.beyond = INFINITY;
    }
    kd_integrator_destroy(radau);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tableau_satisfies_order_conditions),
        cmocka_unit_test(transformation_matches_tableau),
        cmocka_unit_test(error_coefficients_match_embedded_formula),
        cmocka_unit_test(error_follows_the_tolerance),
        cmocka_unit_test(order_is_five),
        cmocka_unit_test(orders_are_nine_and_thirteen),
        cmocka_unit_test(order_is_chosen),
        cmocka_unit_test(orders_that_do_not_exist),
        cmocka_unit_test(stiff_order),
        cmocka_unit_test(options_are_validated),
        cmocka_unit_test(defaults),
        cmocka_unit_test(start_zero_costs_iterations),
        cmocka_unit_test(reference_point_of_the_newton_matrix),
        cmocka_unit_test(newton_updates_save_steps),
        cmocka_unit_test(max_newton_is_respected),
        cmocka_unit_test(newton_stop_is_used),
        cmocka_unit_test(classical_and_predictive_control),
        cmocka_unit_test(theta_keeps_the_jacobian),
        cmocka_unit_test(quotients_keep_the_step_size),
        cmocka_unit_test(first_and_largest_step),
        cmocka_unit_test(short_last_step_is_forgotten),
        cmocka_unit_test(safety),
        cmocka_unit_test(growth_is_limited),
        cmocka_unit_test(tolerances_of_components),
        cmocka_unit_test(absolute_tolerance),
        cmocka_unit_test(no_growth_after_rejection),
        cmocka_unit_test(uncontrolled_components),
        cmocka_unit_test(dense_output),
        cmocka_unit_test(step_becomes_too_small),
        cmocka_unit_test(function_refuses),
        cmocka_unit_test(first_reason_counts),
        cmocka_unit_test(function_stops),
        cmocka_unit_test(singular_matrix),
        cmocka_unit_test(derivative_refuses),
        cmocka_unit_test(end_time),
        cmocka_unit_test(restart_is_like_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
