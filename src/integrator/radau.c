// Radau IIa, 3 stages, order 5, for 0 = F(t, x, x') (HW II chapter IV.8, S3 section 3).
//
//     X_i = x_0 + Z_i,   X_i' = (1/h) sum_j inv(A)_ij Z_j,   0 = F(t_0 + c_i h, X_i, X_i'),   x_1 = X_3
//
// Simplified Newton with the matrices (g1/h) F_x' + F_x and ((al + i be)/h) F_x' + F_x, coupled by T of inv(A) = T
// Lambda inv(T). What the formulation eliminates without knowing h (reduce, expand) is done stage by stage in real
// arithmetic; only the reduced right-hand sides are transformed. Error estimate, step control, convergence test: as in
// RADAU5, with the options of S3.
#include <kardan/radau.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "integrator/attempt.h"
#include "integrator/kink.h"
#include "integrator/radau_tableau.h"

#define STAGES 3
#define ORDER 5

// Rules of RADAU5 (HW II, IV.8)
static const double UPDATE_THETA = 0.1;       // rate of Newton up to which derivatives are updated, not evaluated
static const double DIVERGED = 0.99;          // contraction factor beyond which Newton is given up
static const double NEWTON_SHRINK = 0.5;      // step after divergence
static const double RETRY_SHRINK = 0.25;      // step after a function that could not be evaluated
static const double FIRST_SHRINK = 0.1;       // step after an error failure in the first step
static const double FORGET_CONTRACTION = 0.8; // exponent that carries the contraction of one step to the next
static const double LEAST_RATE = 1e-3;        // of theta: without another measurement h may grow by 32, not more
static const double SURPRISE = 10;            // first increment over what the last one promised: the rate is unknown
static const double SMALL = 1;          // increment, in tolerances, that is not given up after one look at the rate
static const double HARMLESS = 0.1;     // a first increment of so few tolerances surprises nobody
static const double LEAST_RTOL = 9.99;  // times uround
static const int    MAX_SINGULAR = 5;   // singular Newton matrices in a row
static const double NEWTON_STOP = 0.05; // fnewt = 0.05 sqrt(rtol_i): RADAU5's 1 leaves a Newton error above that of the
                                        // method on the pendulum; it costs 10 % (docs/methods/radau.md)
static const double NEWTON_LOOSE = 1.33; // 1.33 rtol_i^(3/4) where that is larger (rtol above 1e-7): long steps
                                         // converge slowly, and rejections cost more than the Newton error there
static const double NOISE = 1e-13;       // steps shorter than this times t: X' = Z / h is rounding
static const double VANISHING = 1e-14;   // part of the first attempt at which a step is given up
static const double ULPS = 10;      // a t_end that lies so few units in the last place away is reached without a step
static const double LANDING = 0.05; // part by which a step may be longer than planned to end at an instant
static const double LAST_STEP = 1.0001; // a step that ends this close to t_end is stretched to it

struct kd_radau {
    kd_dae          *dae;
    kd_radau_options opt;
    kd_arena         arena;
    int              n;
    int              nd;     // leading components whose derivative is needed
    int              nc, nn; // components that count in the error norm, in the Newton norm

    double  t, t_old;
    double *x, *x_old;         // (n) accepted point and the one before
    double *xdot;              // (n) derivative at x
    double *Z[STAGES];         // (n) stage increments of the present attempt
    double *Zprev[STAGES];     // (n) of the last accepted step
    double *deviation[STAGES]; // (n) of the stages from the smooth motion, in the last step
    double *X, *Xdot;          // (n) one stage
    double *F;                 // (nrows)
    double *part[STAGES];      // (n) zero where the formulation eliminates nothing
    double *dx;                // (n)
    double *y[STAGES];         // (nreduced_max)
    double *err;               // (n)
    double *rtol, *atol;       // (n) inner tolerances
    double *weight;            // (n) 1 / (atol + rtol |x|)
    double *newton_weight;     // (n) the same, with powers of h for components of higher index
    double *share;             // (n) for the observer
    kd_kink kink;              // the last one

    double h, h_next; // present step, proposal for the next one
    double h_least;   // no attempt of this step may be shorter
    double t_end;
    bool   to_end;                   // the present attempt ends at t_end
    double h_factored;               // step that the decomposition belongs to; 0: none
    double h_accepted, err_accepted; // for the predictive controller
    double newton_stop;              // fnewt
    double theta, contraction;       // rate of the last Newton iteration; theta / (1 - theta) carried on
    double theta_seen, h_seen;       // last rate that was measured with these derivatives, and the step that it was in
    double h_newton, norm_first;     // step that contraction belongs to, first increment in it
    double norm;                     // of its last increment
    int    iterations;               // of the last Newton iteration
    bool   first, rejected, has_past, jacobian_current, restart;
    bool   retracted;                // the last step was taken back: no growth right after it
    bool   lands;                    // ends of steps are instants, one after the other
    bool   kinked;                   // since the last step: x_old and Zprev are a past that nobody has seen
    bool   linearized, only_updated; // since creation; the matrix has new F_x' but old F_x
    long   accepted_since_start;

    kd_matrix_news news; // of the Newton matrix in the present attempt
    kd_stats       stats;
    kd_status      cause; // why the last attempt failed
    int            worst; // component that made it fail, -1: unknown
    char           message[600];
};

kd_radau_options kd_radau_options_default(void)
{
    return (kd_radau_options){
        .rtol = 1e-6,
        .atol = 1e-6,
        .max_steps = 100000,
        .max_newton = 10,
        .uround = 1e-16,
        .safety = 0.9,
        .theta = 0.001,
        .quot1 = 1.0,
        .quot2 = 1.2,
        .fac_upper = 8,
        .fac_lower = 0.2,
    };
}

// ---- creation -------------------------------------------------------------------------------------------------------

static kd_status check_options(const kd_radau_options *o, int nstate, char *message, size_t size)
{
    const char *wrong = NULL;
    if (!(o->uround > 0 && o->uround < 1e-3)) wrong = "uround must lie between 0 and 1e-3";
    for (int i = -1; i < nstate && !wrong; i++) {
        double r = i >= 0 && o->rtol_each ? o->rtol_each[i] : o->rtol;
        double a = i >= 0 && o->atol_each ? o->atol_each[i] : o->atol;
        if (r >= LEAST_RTOL * o->uround && a > 0 && isfinite(r) && isfinite(a)) continue;
        if (i < 0)
            kd_text(message, size, "rtol = %g, atol = %g: tolerances must be positive (rtol at least %g)", r, a,
                    LEAST_RTOL * o->uround);
        else
            kd_text(message, size, "tolerances of component %d are rtol = %g, atol = %g; they must be positive", i, r,
                    a);
        return KD_ERR_TOLERANCE;
    }
    if (!(o->h_first >= 0)) wrong = "h_first must not be negative";
    if (!(o->h_max >= 0)) wrong = "h_max must not be negative";
    if (o->max_steps < 1) wrong = "max_steps must be at least 1";
    if (o->max_newton < 2) wrong = "max_newton must be at least 2";
    if (o->reference < 0 || o->reference > STAGES) wrong = "reference must be 0 (x_k) or a stage 1..3";
    if (o->reference > 0 && o->start_zero) wrong = "reference at a stage needs extrapolated starting values";
    if (o->newton_updates < 0) wrong = "newton_updates must not be negative";
    if (!(o->safety > 1e-3 && o->safety < 1)) wrong = "safety must lie between 0.001 and 1";
    if (!(o->theta < 1)) wrong = "theta must be below 1";
    if (!(o->newton_stop >= 0)) wrong = "newton_stop must not be negative";
    if (!(o->quot1 <= 1 && o->quot2 >= 1)) wrong = "quot1 <= 1 <= quot2 is required";
    if (!(o->fac_upper > 1 && o->fac_lower > 0 && o->fac_lower < 1))
        wrong = "0 < fac_lower < 1 < fac_upper is required";
    if (!wrong) return KD_OK;
    kd_text(message, size, "Radau: %s", wrong);
    return KD_ERR_ARGUMENT;
}

// Inner tolerance: the error of the method falls with a higher order (5) than its estimate (3). RADAU5 takes 0.1
// tol^(2/3), which lets error / tol grow like tol^(-1/6); below 1e-9, where digits are asked for, 1.585 tol^(4/5) keeps
// the proportion.
static double inner_tolerance(double tol)
{
    return fmin(0.1 * pow(tol, 2.0 / 3), 1.585 * pow(tol, 0.8));
}

// rtol_i from rtol, atol_i = rtol_i atol / rtol. The second rule alone would loosen atol_i when only rtol is made
// smaller; what atol itself would give bounds it.
static void set_tolerances(kd_radau *r)
{
    const kd_radau_options *o = &r->opt;
    double                  tightest = 1;
    for (int i = 0; i < r->n; i++) {
        bool   own = i < r->dae->nstate;
        double rtol = own && o->rtol_each ? o->rtol_each[i] : o->rtol;
        double atol = own && o->atol_each ? o->atol_each[i] : o->atol;
        r->rtol[i] = inner_tolerance(rtol);
        r->atol[i] = fmin(r->rtol[i] * (atol / rtol), inner_tolerance(atol));
        tightest = fmin(tightest, r->rtol[i]);
    }
    r->newton_stop = o->newton_stop > 0
                         ? o->newton_stop
                         : fmax(10 * o->uround / tightest,
                                fmin(0.03, fmax(NEWTON_STOP * sqrt(tightest), NEWTON_LOOSE * pow(tightest, 0.75))));
}

static void cut_arrays(kd_radau *r)
{
    kd_arena *a = &r->arena;
    int       n = r->n;
    double  **vector[] = {&r->x,   &r->x_old, &r->xdot, &r->X,      &r->Xdot,          &r->dx,
                          &r->err, &r->rtol,  &r->atol, &r->weight, &r->newton_weight, &r->share};
    for (size_t k = 0; k < sizeof vector / sizeof *vector; k++) *vector[k] = kd_cut_double(a, n);
    r->F = kd_cut_double(a, r->dae->nrows);
    for (int i = 0; i < STAGES; i++) {
        r->Z[i] = kd_cut_double(a, n);
        r->Zprev[i] = kd_cut_double(a, n);
        r->deviation[i] = kd_cut_double(a, n);
        r->part[i] = kd_cut_double(a, n);
        r->y[i] = kd_cut_double(a, r->dae->nreduced_max);
    }
    kd_kink_cut(&r->kink, a, n);
}

kd_status kd_radau_create(kd_dae *dae, const kd_radau_options *opt, kd_radau **radau, char *message, size_t size)
{
    kd_radau_options o = opt ? *opt : kd_radau_options_default();
    kd_text(message, size, "%s", "");
    if (radau) *radau = NULL;
    if (!dae || !radau) {
        kd_text(message, size, "an integrator needs a DAE and a place for the result");
        return KD_ERR_ARGUMENT;
    }
    kd_status status = check_options(&o, dae->nstate, message, size);
    if (status < 0) return status;
    kd_radau *r = kd_alloc(sizeof *r);
    if (!r) goto no_memory;
    r->dae = dae;
    r->opt = o;
    r->n = dae->n;
    r->nd = dae->nderivative > 0 ? dae->nderivative : dae->n;
    cut_arrays(r);
    if (r->arena.failed) goto no_memory;
    for (int i = 0; i < r->n; i++) {
        r->nc += dae->controlled[i];
        r->nn += dae->index[i] > 0;
    }
    if (r->nc == 0) r->nc = 1;
    if (r->nn == 0) r->nn = 1;
    set_tolerances(r);
    r->opt.rtol_each = r->opt.atol_each = NULL; // copied
    *radau = r;
    return KD_OK;
no_memory:
    kd_radau_destroy(r);
    kd_text(message, size, "%s", kd_status_sentence(KD_ERR_MEMORY));
    return KD_ERR_MEMORY;
}

void kd_radau_destroy(kd_radau *r)
{
    if (!r) return;
    kd_arena_release(&r->arena);
    kd_free(r);
}

// ---- norms ----------------------------------------------------------------------------------------------------------

static void exchange(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

// Nothing is known about the rate of Newton's method.
static void forget_contraction(kd_radau *r)
{
    r->contraction = 1;
    r->h_newton = INFINITY;
    r->norm_first = 0;
}

static void set_weights(kd_radau *r)
{
    for (int i = 0; i < r->n; i++)
        r->weight[i] = 1 / (r->atol[i] * kd_attempt_unit(r->dae, i) + r->rtol[i] * fabs(r->x[i]));
}

static double error_norm(const kd_radau *r, const double *err)
{
    double sum = 0;
    for (int i = 0; i < r->n; i++) {
        if (!r->dae->controlled[i]) continue;
        double e = err[i] * r->newton_weight[i];
        sum += e * e;
    }
    double norm = sqrt(sum / r->nc);
    return norm < 1e-10 ? 1e-10 : norm; // NaN stays NaN
}

// ---- the observer ---------------------------------------------------------------------------------------------------

// Tell who listens how the attempt from t ended.
static void report(kd_radau *r, double t, kd_attempt outcome, double norm, const double *x)
{
    if (!r->dae->observe) return;
    const kd_attempt_report told = {
        .t = t,
        .h = r->h,
        .order = ORDER,
        .iterations = r->iterations,
        .outcome = outcome,
        .matrix = r->news,
        .error = norm,
        .share = x ? kd_attempt_shares(r->dae, x, r->newton_weight, outcome != KD_ATTEMPT_NEWTON, r->share) : NULL,
    };
    r->dae->observe(&told, r->dae->observer);
}

static void raise_news(kd_radau *r, kd_matrix_news news)
{
    if (news > r->news) r->news = news;
}

// ---- Newton's method ------------------------------------------------------------------------------------------------

// What fails in a step so short that X' is rounding says less than the failure that made it so short.
static bool is_noise(const kd_radau *r)
{
    return r->cause < 0 && r->h < NOISE * fabs(r->t);
}

static kd_status eval_cause(kd_radau *r, kd_eval answer)
{
    const char *text = "";
    kd_status   status = r->dae->methods->fault(r->dae->impl, &text);
    if (answer == KD_EVAL_STOP || !is_noise(r)) {
        r->cause = status < 0 ? status : KD_ERR_RETRY_FAILED;
        r->worst = -1;
        kd_text(r->message, sizeof r->message, "%s", text);
    }
    return answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
}

// Z_i = q(1 + c_i h / h_old) - q(1), q the collocation polynomial of the last step through 0, c_1, c_2, 1
static void extrapolate_collocation(kd_radau *r)
{
    const double *c = radau_c;
    double        L[STAGES][STAGES];
    double        ratio = r->h / r->h_accepted;
    for (int i = 0; i < STAGES; i++) {
        double s = 1 + c[i] * ratio;
        for (int j = 0; j < STAGES; j++) { // Lagrange polynomial of node c_j among 0, c_1, c_2, c_3
            L[i][j] = s / c[j];
            for (int k = 0; k < STAGES; k++)
                if (k != j) L[i][j] *= (s - c[k]) / (c[j] - c[k]);
        }
        L[i][2] -= 1;
    }
    for (int k = 0; k < r->n; k++) {
        double z0 = r->Zprev[0][k], z1 = r->Zprev[1][k], z2 = r->Zprev[2][k];
        for (int i = 0; i < STAGES; i++) r->Z[i][k] = L[i][0] * z0 + L[i][1] * z1 + L[i][2] * z2;
    }
}

// The formulation's smooth continuation, plus the deviation of the stages from the smooth motion. The stages have order
// 3 only: their deviation is C h^4 x^(4) and hardly changes from step to step, so that of the last step is scaled by
// h^4.
static void extrapolate_smoothly(kd_radau *r)
{
    double ratio = r->h / r->h_accepted, scale = ratio * ratio * ratio * ratio;
    for (int i = 0; i < STAGES; i++) {
        for (int k = 0; k < r->nd; k++) r->X[k] = r->x[k] + r->Z[i][k];
        r->dae->methods->extrapolate(r->dae->impl, r->t_old, r->x_old, r->t, r->x, r->t + radau_c[i] * r->h, r->X);
        for (int k = 0; k < r->nd; k++) r->Z[i][k] = r->X[k] - r->x[k] + scale * r->deviation[i][k];
    }
}

// Deviation of the stages of the step that was just accepted from the smooth motion through its ends
static void measure_deviation(kd_radau *r)
{
    double h = r->t - r->t_old;
    if (!r->dae->methods->extrapolate) return;
    for (int i = 0; i < STAGES; i++) {
        for (int k = 0; k < r->nd; k++) r->deviation[i][k] = r->X[k] = r->x_old[k] + r->Zprev[i][k];
        r->dae->methods->extrapolate(r->dae->impl, r->t_old, r->x_old, r->t, r->x, r->t_old + radau_c[i] * h, r->X);
        for (int k = 0; k < r->nd; k++) r->deviation[i][k] -= r->X[k];
    }
}

static void start_values(kd_radau *r)
{
    if (r->opt.start_zero || !r->has_past) {
        for (int i = 0; i < STAGES; i++) memset(r->Z[i], 0, (size_t)r->n * sizeof(double));
        return;
    }
    extrapolate_collocation(r);
    if (r->dae->methods->extrapolate) extrapolate_smoothly(r);
}

// X_i and X_i' to r->X, r->Xdot
static void stage_point(kd_radau *r, int i)
{
    const double *z0 = r->Z[0], *z1 = r->Z[1], *z2 = r->Z[2];
    double        a = radau_inv_A[i][0] / r->h, b = radau_inv_A[i][1] / r->h, c = radau_inv_A[i][2] / r->h;
    const double *x = r->x, *z = r->Z[i];
    for (int k = 0; k < r->n; k++) r->X[k] = x[k] + z[k];
    for (int k = 0; k < r->nd; k++) r->Xdot[k] = a * z0[k] + b * z1[k] + c * z2[k];
}

// y <- M y for the three reduced right-hand sides
static void mix(int m, const double M[3][3], double *const y[3])
{
    for (int k = 0; k < m; k++) {
        double a = y[0][k], b = y[1][k], c = y[2][k];
        y[0][k] = M[0][0] * a + M[0][1] * b + M[0][2] * c;
        y[1][k] = M[1][0] * a + M[1][1] * b + M[1][2] * c;
        y[2][k] = M[2][0] * a + M[2][1] * b + M[2][2] * c;
    }
}

// Right-hand side of the Newton system at (t, x, r->Xdot)
static kd_eval evaluate(kd_radau *r, double t, const double *x, double *part, double *y)
{
    const kd_dae_class *f = r->dae->methods;
    if (f->evaluate) return f->evaluate(r->dae->impl, t, x, r->Xdot, part, y);
    kd_eval answer = f->residual(r->dae->impl, t, x, r->Xdot, r->F);
    if (answer == KD_EVAL_OK) f->reduce(r->dae->impl, r->F, part, y);
    return answer;
}

// One simplified Newton step: Z_i += dZ_i. *norm is the weighted size of the increments.
static kd_status newton_step(kd_radau *r, double *norm)
{
    kd_dae             *dae = r->dae;
    const kd_dae_class *f = dae->methods;
    for (int i = 0; i < STAGES; i++) {
        stage_point(r, i);
        kd_eval answer = evaluate(r, r->t + radau_c[i] * r->h, r->X, r->part[i], r->y[i]);
        if (answer != KD_EVAL_OK) return eval_cause(r, answer);
    }
    mix(dae->nreduced, radau_inv_T, r->y);
    f->solve_real(dae->impl, r->y[0]);
    f->solve_complex(dae->impl, r->y[1], r->y[2]);
    mix(dae->nreduced, radau_T, r->y);

    double sum = 0, discount = dae->part_discount;
    for (int i = 0; i < STAGES; i++) {
        f->expand(dae->impl, r->part[i], r->y[i], r->dx);
        const double *dz = r->dx, *part = r->part[i], *w = r->newton_weight;
        double       *z = r->Z[i];
        for (int k = 0; k < r->n; k++) {
            double d = (dz[k] - discount * part[k]) * w[k];
            z[k] += dz[k];
            sum += d * d;
        }
    }
    *norm = r->norm = sqrt(sum / (STAGES * r->nn));
    return isfinite(*norm) ? KD_OK : KD_ERR_NEWTON;
}

// The rate is (matrix) \ (error of F_x): it grows with h^2 where F_x has a wrong stiffness. One that was measured in a
// short step says nothing about a long one.
static double growth_of_rate(const kd_radau *r, double h)
{
    double ratio = r->h / h;
    return ratio > 1 ? ratio * ratio : 1;
}

// Increment after the last iteration that is allowed, at the present rate, over the stopping criterion
static double predicted(const kd_radau *r, int k, double norm)
{
    return r->theta / (1 - r->theta) * norm * pow(r->theta, r->opt.max_newton - 1 - k) / r->newton_stop;
}

static bool promising(const kd_radau *r, int k, double norm)
{
    return r->theta < DIVERGED && predicted(r, k, norm) < 1;
}

// Newton iteration. KD_OK; KD_ERR_NEWTON with *shrink, the factor for the next attempt; other failures as they come.
static kd_status newton(kd_radau *r, double *shrink)
{
    int    most = r->opt.max_newton, k;
    double norm_old = 0, rate_old = 0;
    *shrink = NEWTON_SHRINK;
    double carried = pow(fmax(r->contraction, r->opt.uround), FORGET_CONTRACTION);
    r->contraction = fmin(fmax(carried, 1), carried * growth_of_rate(r, r->h_newton));
    double expected = SURPRISE * r->norm_first * pow(growth_of_rate(r, r->h_newton), 2); // starting values have order 3
    r->h_newton = r->h;
    r->theta = r->theta_seen * growth_of_rate(r, r->h_seen);
    for (k = 1; k <= most; k++) {
        double    norm = 0;
        kd_status status = newton_step(r, &norm);
        r->iterations = k;
        if (status < 0) return status;
        if (k > 1) {
            double rate = norm / norm_old;
            r->theta = rate_old == 0 ? rate : sqrt(rate * rate_old);
            if (k == 2 && norm <= SMALL && !promising(r, k, norm)) { // a first increment that was small by chance?
                norm_old = fmax(norm, r->opt.uround);
                continue;
            }
            rate_old = rate;
            if (r->theta >= DIVERGED) return KD_ERR_NEWTON;
            r->theta_seen = fmax(r->theta, LEAST_RATE * fabs(r->opt.theta));
            r->h_seen = r->h;
            r->contraction = r->theta / (1 - r->theta);
            double left = most - 1 - k; // iterations left: can they reach the stopping criterion?
            if (k < most && predicted(r, k, norm) >= 1) {
                double q = fmax(1e-4, fmin(20, predicted(r, k, norm)));
                *shrink = 0.8 * pow(q, -1 / (4 + left));
                return KD_ERR_NEWTON;
            }
        }
        if (k == 1 && norm > fmax(expected, HARMLESS)) r->contraction = fmax(r->contraction, 1);
        if (k == 1) r->norm_first = norm;
        norm_old = fmax(norm, r->opt.uround);
        if (r->contraction * norm <= r->newton_stop) return KD_OK;
    }
    return KD_ERR_NEWTON;
}

// ---- matrices -------------------------------------------------------------------------------------------------------

static kd_status linear_cause(kd_radau *r, kd_status status)
{
    const char *text = "";
    (void)r->dae->methods->fault(r->dae->impl, &text);
    r->cause = status;
    r->worst = -1;
    kd_text(r->message, sizeof r->message, "%s", text);
    return status;
}

// Derivatives of the present point serve a step of the present size.
static void assume_rate(kd_radau *r)
{
    r->theta_seen = LEAST_RATE * fabs(r->opt.theta);
    r->h_seen = r->h;
}

// Newton matrix at x_k or at stage `stage` (1..3) of the present starting values or iterates
static kd_status linearize_at(kd_radau *r, int stage)
{
    const double *x = r->x, *xdot = r->xdot;
    double        t = r->t;
    if (stage > 0) {
        stage_point(r, stage - 1);
        t = r->t + radau_c[stage - 1] * r->h;
        x = r->X;
        xdot = r->Xdot;
    }
    r->dae->h = r->h;
    kd_status status = r->dae->methods->linearize(r->dae->impl, t, x, xdot, r->restart);
    r->restart = false;
    r->h_factored = 0;
    raise_news(r, KD_MATRIX_EVALUATED);
    if (status < 0) return linear_cause(r, status);
    r->jacobian_current = r->linearized = true;
    assume_rate(r);
    r->only_updated = false;
    return KD_OK;
}

// The derivatives of the last linearisation, moved along cheaply (S0 section 3.2) while they serve Newton well
static kd_status update(kd_radau *r)
{
    r->dae->h = r->h;
    kd_status status = r->dae->methods->update(r->dae->impl, r->t, r->x, r->xdot);
    r->h_factored = 0;
    raise_news(r, KD_MATRIX_UPDATED);
    if (status < 0) return linear_cause(r, status);
    r->jacobian_current = r->only_updated = true;
    assume_rate(r);
    return KD_OK;
}

static kd_status factor(kd_radau *r)
{
    if (r->h_factored == r->h) return KD_OK;
    kd_status status = r->dae->methods->factor(r->dae->impl, radau_g1 / r->h, radau_al / r->h, radau_be / r->h);
    raise_news(r, KD_MATRIX_FACTORED);
    if (status < 0) return linear_cause(r, status);
    r->h_factored = r->h;
    return KD_OK;
}

// ---- error and step size --------------------------------------------------------------------------------------------

// err = ((g1/h) F_x' + F_x) \ -F(t_0, x_0 + shift, -(1/h) sum e_i Z_i)
static kd_status error_solve(kd_radau *r, const double *x)
{
    const kd_dae_class *f = r->dae->methods;
    double              a = -radau_e[0] / r->h, b = -radau_e[1] / r->h, c = -radau_e[2] / r->h;
    for (int k = 0; k < r->nd; k++) r->Xdot[k] = a * r->Z[0][k] + b * r->Z[1][k] + c * r->Z[2][k];
    kd_eval answer = x == r->x && f->evaluate_accepted
                         ? f->evaluate_accepted(r->dae->impl, r->t, x, r->Xdot, r->err, r->y[0])
                         : evaluate(r, r->t, x, r->err, r->y[0]);
    if (answer != KD_EVAL_OK) return eval_cause(r, answer);
    f->solve_real(r->dae->impl, r->y[0]);
    f->expand(r->dae->impl, r->err, r->y[0], r->err);
    return KD_OK;
}

static kd_status estimate_error(kd_radau *r, double *err)
{
    kd_status status = error_solve(r, r->x);
    if (status < 0) return status;
    *err = error_norm(r, r->err);
    if (!isfinite(*err)) return KD_ERR_NEWTON;
    if (*err < 1 || !(r->first || r->rejected)) return KD_OK;
    for (int k = 0; k < r->n; k++) r->X[k] = r->x[k] + r->err[k]; // filters stiff components (HW IV Eq. 8.20)
    status = error_solve(r, r->X);
    if (status < 0) return status;
    *err = error_norm(r, r->err);
    return isfinite(*err) ? KD_OK : KD_ERR_NEWTON;
}

static double clamp(double x, double low, double high)
{
    return fmax(low, fmin(high, x));
}

// h_new = h / quotient; Newton iterations count into the safety factor (HW IV Eq. 8.21)
static double quotient(const kd_radau *r, double err)
{
    const kd_radau_options *o = &r->opt;
    double safe = fmin(o->safety, o->safety * (1 + 2 * o->max_newton) / (r->iterations + 2 * o->max_newton));
    return clamp(pow(err, 0.25) / safe, 1 / o->fac_upper, 1 / o->fac_lower);
}

// predictive controller of Gustafsson (HW IV Eq. 8.25)
static double predictive_quotient(const kd_radau *r, double err, double quot)
{
    const kd_radau_options *o = &r->opt;
    if (o->classical || r->accepted_since_start < 1) return quot;
    double g = r->h_accepted / r->h * pow(err * err / r->err_accepted, 0.25) / o->safety;
    return fmax(quot, clamp(g, 1 / o->fac_upper, 1 / o->fac_lower));
}

// ---- the step -------------------------------------------------------------------------------------------------------

// First step: a hundredth of the time in which x changes by its own size (HNW I, II.4)
static double first_step(kd_radau *r, double span)
{
    double d0 = 0, d1 = 0;
    for (int i = 0; i < r->n; i++) {
        if (!r->dae->controlled[i]) continue;
        d0 += pow(r->x[i] * r->weight[i], 2);
        d1 += pow(r->xdot[i] * r->weight[i], 2);
    }
    double T = kd_attempt_time(r->dae), h = d0 > 1e-10 && d1 * T * T > 1e-10 ? 0.01 * sqrt(d0 / d1) : 1e-6 * T;
    return fmin(h, span);
}

kd_status kd_radau_start(kd_radau *r, double t, const double *x)
{
    if (!r || !x) return KD_ERR_ARGUMENT;
    const kd_dae_class *f = r->dae->methods;
    r->t = r->t_old = t;
    memcpy(r->x, x, (size_t)r->n * sizeof *x);
    memcpy(r->x_old, x, (size_t)r->n * sizeof *x);
    memset(r->xdot, 0, (size_t)r->n * sizeof *x);
    r->message[0] = '\0';
    r->cause = KD_OK;
    if (f->start) {
        kd_eval answer = f->start(r->dae->impl, t, r->x, r->xdot);
        if (answer != KD_EVAL_OK) return (void)eval_cause(r, answer), r->cause;
    }
    set_weights(r);
    r->h_next = r->opt.h_first;
    r->h_factored = 0;
    forget_contraction(r);
    r->first = r->restart = true;
    r->rejected = r->has_past = r->jacobian_current = false;
    r->kinked = r->lands = r->retracted = false;
    r->accepted_since_start = 0;
    return KD_OK;
}

// The past of the motion behind a kink: all of it moves along q(t)
static kd_status pass_kink(kd_radau *r)
{
    const double h = r->t - r->t_old;
    r->message[0] = '\0';
    r->cause = KD_OK;
    kd_eval answer = kd_kink_solve(&r->kink, r->dae, r->t, r->x, r->xdot);
    if (answer != KD_EVAL_OK) return (void)eval_cause(r, answer), r->cause;
    if (r->has_past) {
        for (int i = 0; i < STAGES; i++) { // X_i = x_old + Z_i
            kd_kink_add(&r->kink, (radau_c[i] - 1) * h, r->Zprev[i]);
            for (int k = 0; k < r->n; k++) r->Zprev[i][k] += r->x_old[k];
        }
        kd_kink_add(&r->kink, -h, r->x_old);
        for (int i = 0; i < STAGES; i++)
            for (int k = 0; k < r->n; k++) r->Zprev[i][k] -= r->x_old[k];
    }
    r->kinked = r->lands = true;
    return KD_OK;
}

kd_status kd_radau_restart(kd_radau *r, double t, const double *x, kd_restart mode)
{
    if (!r || (!x && mode != KD_RESTART_SMOOTH)) return KD_ERR_ARGUMENT;
    if (mode == KD_RESTART_SMOOTH) return pass_kink(r);
    const double h = r->h_next, h_factored = r->h_factored;
    const bool   linearized = r->linearized, current = r->jacobian_current, lands = r->lands;
    kd_status    status = kd_radau_start(r, t, x);
    if (status < 0 || mode == KD_RESTART_FRESH || !linearized) return status;
    if (h > 0) r->h_next = h;
    r->h_factored = h_factored;
    r->jacobian_current = current;
    r->lands = lands;
    r->restart = false;
    return KD_OK;
}

// Xdot has x' of the start of the last step until the next attempt. The matrix is renewed: what was missed shall enter
// it.
kd_status kd_radau_retract(kd_radau *r, double h)
{
    if (!r) return KD_ERR_ARGUMENT;
    if (!(h > 0) || !r->has_past || r->kinked) return KD_ERR_STAGE;
    exchange(&r->x, &r->x_old);
    exchange(&r->xdot, &r->Xdot);
    r->t = r->t_old;
    r->h_next = h;
    r->h_factored = 0;
    forget_contraction(r);
    r->has_past = r->jacobian_current = false;
    r->retracted = true;
    r->accepted_since_start = 0;
    r->stats.accepted--;
    r->stats.retracted++;
    set_weights(r);
    return KD_OK;
}

static kd_status fail(kd_radau *r, kd_status status)
{
    char head[80];
    kd_text(head, sizeof head, "at t = %.9g, h = %.3g", r->t, r->h);
    kd_attempt_explain(r->dae, head, r->worst, kd_attempt_advice(status), r->message, sizeof r->message);
    return status;
}

// The present attempt is over; make h smaller
static void reject(kd_radau *r, double factor_of_h)
{
    r->h *= factor_of_h;
    r->rejected = true;
    r->to_end = false;
}

// t + h must differ from t; near t = 0, where any h does, h must not vanish beside the first attempt
static bool too_small(const kd_radau *r)
{
    return 0.1 * r->h <= fabs(r->t) * r->opt.uround || r->t + r->h == r->t || r->h <= r->h_least;
}

// x_1 = X_3, corrected by the formulation. KD_OK, or the attempt has to be repeated.
static kd_status complete(kd_radau *r, double h_new)
{
    kd_dae *dae = r->dae;
    double  t1 = r->to_end ? r->t_end : r->t + r->h;
    stage_point(r, STAGES - 1);
    dae->keep = r->opt.reference > 0 || (r->opt.theta >= 0 && r->theta <= r->opt.theta);
    dae->h = h_new;
    if (dae->methods->correct) {
        kd_eval answer = dae->methods->correct(dae->impl, t1, r->X, r->Xdot);
        if (answer != KD_EVAL_OK) {
            r->h_factored = 0;
            r->jacobian_current = false; // it may have been replaced
            return eval_cause(r, answer);
        }
        if (!dae->keep) r->h_factored = 0;
    }
    if (dae->methods->project) { // the error was estimated before; the next step starts from the projected point
        bool    moved;
        kd_eval answer = dae->methods->project(dae->impl, t1, r->X, &moved);
        if (answer != KD_EVAL_OK) return eval_cause(r, answer);
    }
    if (dae->methods->relabel) { // the last Newton correction may have left the range of the coordinates
        kd_eval answer = dae->methods->rhs(dae->impl, t1, r->X, r->Xdot);
        if (answer != KD_EVAL_OK) return eval_cause(r, answer);
    }
    exchange(&r->x_old, &r->x);
    exchange(&r->x, &r->X);
    exchange(&r->xdot, &r->Xdot);
    for (int i = 0; i < STAGES; i++) exchange(&r->Zprev[i], &r->Z[i]);
    r->t_old = r->t;
    r->t = t1;
    r->jacobian_current = dae->keep && r->opt.reference == 0;
    measure_deviation(r);
    return KD_OK;
}

// Choose the next step; keep it, and the decomposition, if it would hardly change. A step that was cut short by t_end
// says nothing against the longer one that was proposed before.
static void propose(kd_radau *r, double h_new)
{
    double ratio = h_new / r->h;
    if (!r->rejected && r->h < r->h_next && h_new >= r->h)
        h_new = fmax(h_new, r->h_next);
    else if (r->jacobian_current && ratio >= r->opt.quot1 && ratio <= r->opt.quot2)
        h_new = r->h;
    r->h_next = h_new;
}

static kd_status prepare_matrices(kd_radau *r)
{
    kd_status status = KD_OK;
    int       stage = r->has_past ? r->opt.reference : 0;
    bool      update_serves = r->dae->methods->update && r->linearized && !r->restart && r->theta < UPDATE_THETA;
    if (!r->jacobian_current && update_serves) {
        status = update(r);
    } else if (!r->jacobian_current) {
        status = linearize_at(r, stage);
        if (status < 0 && status != KD_ERR_CALLBACK_STOP && stage > 0)
            status = linearize_at(r, 0); // a bad guess of the stage
    }
    if (status == KD_OK) status = factor(r);
    return status;
}

// Newton with at most newton_updates new matrices at the present iterates (S3 NWTUPD)
static kd_status solve_stages(kd_radau *r, double *shrink)
{
    kd_status status = newton(r, shrink);
    if (status == KD_ERR_NEWTON && r->only_updated) {
        status = linearize_at(r, 0);
        if (status == KD_OK) status = factor(r);
        if (status == KD_OK) status = newton(r, shrink);
    }
    for (int k = 0; status == KD_ERR_NEWTON && k < r->opt.newton_updates && r->theta < DIVERGED; k++) {
        r->stats.newton_updates++;
        status = linearize_at(r, r->opt.reference > 0 ? r->opt.reference : 2);
        if (status < 0 && status != KD_ERR_CALLBACK_STOP) status = KD_ERR_NEWTON; // the iterates are no good place
        if (status == KD_OK) status = factor(r);
        if (status == KD_OK) status = newton(r, shrink);
        r->jacobian_current = false;
    }
    return status;
}

// An attempt that failed before its error test: a smaller step, fresh selectors. < 0: give up.
static kd_status after_failure(kd_radau *r, kd_status status, double shrink, int *singular)
{
    if (status == KD_ERR_CALLBACK_STOP) return status;
    if (status == KD_ERR_NEWTON) {
        r->stats.rejected_newton++;
        if (!is_noise(r)) {
            r->cause = KD_ERR_NEWTON;
            r->worst = kd_attempt_worst(r->n, r->dx, r->newton_weight);
            r->message[0] = '\0';
        }
        report(r, r->t, KD_ATTEMPT_NEWTON, r->norm, r->dx);
        reject(r, shrink);
    } else if (status == KD_ERR_RETRY_FAILED) {
        r->stats.rejected_newton++;
        report(r, r->t, KD_ATTEMPT_EVALUATE, 0, NULL);
        reject(r, RETRY_SHRINK);
    } else if (status == KD_ERR_DECOMPOSITION) {
        r->stats.rejected_newton++;
        report(r, r->t, KD_ATTEMPT_NEWTON, 0, NULL);
        if (++*singular >= MAX_SINGULAR) return status;
        reject(r, NEWTON_SHRINK);
    } else {
        return status;
    }
    r->restart = true; // selectors anew (S3: NSEL counts Newton failures)
    r->jacobian_current = false;
    forget_contraction(r);
    if (too_small(r)) return r->cause == KD_ERR_NEWTON ? KD_ERR_STEP_TOO_SMALL : r->cause;
    return KD_OK;
}

// State-space forms may change their coordinates between two steps: a new matrix and no past, but the same step size.
static kd_status relabel(kd_radau *r)
{
    const kd_dae_class *f = r->dae->methods;
    bool                changed = false;
    if (!f->relabel || !r->has_past) return KD_OK;
    kd_eval answer = f->relabel(r->dae->impl, r->t, r->x, &changed);
    if (answer == KD_EVAL_OK && changed) answer = f->rhs(r->dae->impl, r->t, r->x, r->xdot);
    if (answer != KD_EVAL_OK) return (void)eval_cause(r, answer), fail(r, r->cause);
    if (!changed) return KD_OK;
    r->has_past = r->jacobian_current = false;
    r->restart = true;
    r->h_factored = 0;
    forget_contraction(r);
    set_weights(r);
    return KD_OK;
}

// Length of the first attempt: the proposal, not beyond t_end, stretched to it where it nearly reaches it
static void choose_step(kd_radau *r, double t_end)
{
    double span = t_end - r->t, limit = r->opt.h_max > 0 ? fmin(r->opt.h_max, span) : span;
    if (r->h_next <= 0) r->h_next = first_step(r, span);
    r->h = fmin(r->h_next, limit);
    r->t_end = t_end;
    r->to_end = r->h * LAST_STEP >= span;
    if (r->to_end || r->lands) r->h = kd_attempt_landing(r->t, t_end, r->h, r->lands ? LANDING : 1, r->h_factored);
    r->h_least = VANISHING * r->h;
}

kd_status kd_radau_step(kd_radau *r, double t_end)
{
    int singular = 0;
    if (!r) return KD_ERR_ARGUMENT;
    r->rejected = r->retracted;
    r->cause = KD_OK;
    r->worst = -1;
    r->message[0] = '\0';
    if (!(t_end >= r->t)) return fail(r, KD_ERR_TIME);
    if (t_end - r->t <= ULPS * DBL_EPSILON * fabs(r->t)) { // no time in which anything could happen
        r->t = t_end;
        return KD_OK;
    }
    kd_status relabelled = relabel(r);
    if (relabelled < 0) return relabelled;
    choose_step(r, t_end);
    for (;;) {
        double shrink = NEWTON_SHRINK, err = 0;
        r->news = KD_MATRIX_KEPT;
        r->stats.steps++;
        if (too_small(r)) {
            if (r->worst < 0 && r->has_past)
                r->worst =
                    kd_attempt_worst(r->n, r->err, r->newton_weight); // the last accepted error asked for such a step
            return fail(r, KD_ERR_STEP_TOO_SMALL);
        }
        kd_attempt_weights(r->dae, r->h, r->weight, r->newton_weight);
        start_values(r);
        kd_status status = prepare_matrices(r);
        if (status == KD_OK) status = solve_stages(r, &shrink);
        if (status == KD_OK) status = estimate_error(r, &err);
        if (status == KD_OK) {
            double quot = quotient(r, err);
            if (err >= 1) {
                r->stats.rejected_error++;
                r->cause = KD_ERR_STEP_TOO_SMALL;
                r->worst = kd_attempt_worst(r->n, r->err, r->newton_weight);
                report(r, r->t, KD_ATTEMPT_ERROR, err, r->err);
                reject(r, r->first ? FIRST_SHRINK : 1 / quot);
                continue;
            }
            double h_new = r->h / predictive_quotient(r, err, quot);
            if (r->rejected) h_new = fmin(h_new, r->h); // no growth right after a rejection
            status = complete(r, fmin(h_new, r->opt.h_max > 0 ? r->opt.h_max : h_new));
            if (status == KD_OK) {
                propose(r, h_new);
                r->h_accepted = r->h;
                r->err_accepted = fmax(1e-2, err);
                r->stats.h_last = r->h;
                r->stats.accepted++;
                report(r, r->t_old, KD_ATTEMPT_ACCEPTED, err, r->err);
                r->accepted_since_start++;
                r->first = false;
                r->has_past = true;
                r->kinked = r->retracted = false;
                set_weights(r);
                return KD_OK;
            }
        }
        status = after_failure(r, status, shrink, &singular);
        if (status < 0) return fail(r, status);
    }
}

// ---- queries --------------------------------------------------------------------------------------------------------

void kd_radau_refresh(kd_radau *r)
{
    if (!r) return;
    r->h_factored = 0;
    r->jacobian_current = false;
}

// Xdot has x' of the start of the step until the next attempt
bool kd_radau_ends(kd_radau *r, kd_step_ends *ends)
{
    if (!r || !ends || !r->has_past || r->kinked) return false;
    *ends = (kd_step_ends){r->t_old, r->t, r->x_old, r->Xdot, r->x, r->xdot};
    return true;
}

double kd_radau_time(const kd_radau *r)
{
    if (!r) return 0;
    return r->t;
}

double kd_radau_time_old(const kd_radau *r)
{
    if (!r) return 0;
    return r->kinked ? r->t : r->t_old;
}

const double *kd_radau_x(const kd_radau *r)
{
    if (!r) return NULL;
    return r->x;
}

kd_status kd_radau_dense(kd_radau *r, double t, double *x)
{
    if (!r || !x) return KD_ERR_ARGUMENT;
    const kd_dae_class *f = r->dae->methods;
    if (t == r->t || !r->has_past || r->kinked) {
        memcpy(x, r->x, (size_t)r->n * sizeof *x);
        return KD_OK;
    }
    if (f->interpolate) {
        r->cause = KD_OK;
        kd_eval answer = f->interpolate(r->dae->impl, r->t_old, r->x_old, r->t, r->x, t, x);
        return answer == KD_EVAL_OK ? KD_OK : ((void)eval_cause(r, answer), r->cause);
    }
    double        s = (t - r->t_old) / (r->t - r->t_old), L[STAGES]; // collocation polynomial through 0, c_1, c_2, 1
    const double *c = radau_c;
    for (int j = 0; j < STAGES; j++) {
        L[j] = s / c[j];
        for (int k = 0; k < STAGES; k++)
            if (k != j) L[j] *= (s - c[k]) / (c[j] - c[k]);
    }
    for (int k = 0; k < r->n; k++)
        x[k] = r->x_old[k] + L[0] * r->Zprev[0][k] + L[1] * r->Zprev[1][k] + L[2] * (r->x[k] - r->x_old[k]);
    return KD_OK;
}

kd_stats kd_radau_stats(const kd_radau *r)
{
    if (!r) return (kd_stats){0};
    kd_stats stats = r->stats;
    kd_attempt_counters(r->dae, &stats);
    return stats;
}

const char *kd_radau_message(const kd_radau *r)
{
    return r ? r->message : "";
}
