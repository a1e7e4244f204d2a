// radau.c: Radau IIa, 3 stages, order 5, for 0 = F(t, x, x') (HW II chapter IV.8, S3 section 3).
//
//     X_i = x_0 + Z_i,   X_i' = (1/h) sum_j inv(A)_ij Z_j,   0 = F(t_0 + c_i h, X_i, X_i'),   x_1 = X_3
//
// Simplified Newton with the matrices (g1/h) F_x' + F_x and ((al + i be)/h) F_x' + F_x, coupled by T of inv(A) = T
// Lambda inv(T). What the formulation eliminates without knowing h (reduce, expand) is done stage by stage in real
// arithmetic; only the reduced right-hand sides are transformed. Error estimate, step control, convergence test: as in
// RADAU5, with the options of S3.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "integrator/one_step.h"
#include "integrator/radau_tableau.h"

#define STAGES 3
#define O kd_integrator_options

// Rules of RADAU5 (HW II, IV.8); those of all implicit one-step methods are in one_step.c
static const double SMALL = 1;          // increment, in tolerances, that is not given up after one look at the rate
static const double NEWTON_STOP = 0.05; // fnewt = 0.05 sqrt(rtol_i): RADAU5's 1 leaves a Newton error above that of the
                                        // method on the pendulum; it costs 10 % (docs/methods/radau.md)
static const double NEWTON_LOOSE = 1.33; // 1.33 rtol_i^(3/4) where that is larger (rtol above 1e-7): long steps
                                         // converge slowly, and rejections cost more than the Newton error there

typedef struct kd_radau {
    kd_one_step s;                 // first: its address is that of the whole
    double     *Z[STAGES];         // (n) stage increments of the present attempt
    double     *Zprev[STAGES];     // (n) of the last accepted step
    double     *deviation[STAGES]; // (n) of the stages from the smooth motion, in the last step
    double     *part[STAGES];      // (n) zero where the formulation eliminates nothing
    double     *y[STAGES];         // (nreduced_max)
    double      norm_first;        // first increment of the last Newton iteration
} kd_radau;

// ---- creation -------------------------------------------------------------------------------------------------------

// clang-format off
static const kd_option options[] = {
    KD_ONE_STEP_OPTIONS("radau", radau, 0.001, "the Jacobian is kept while Newton contracts faster; below 0: never", 8),
    {KD_WHOLE("radau.reference", O, radau.reference, 0, 0, STAGES, "Newton matrix at x_k (0) or at an extrapolated stage 1 to 3"), .paper = "NWTMAT"},
    {KD_WHOLE("radau.newton_updates", O, radau.newton_updates, 0, 0, INFINITY, "new Newton matrices inside one Newton iteration"), .paper = "NWTUPD"},
};
// clang-format on

static double least_rtol(const kd_integrator_options *o)
{
    return kd_one_step_least_rtol(&o->radau);
}

static kd_status check(const kd_dae *dae, const kd_integrator_options *o, char *message, size_t size)
{
    (void)dae;
    if (o->radau.reference == 0 || !o->radau.start_zero) return KD_OK;
    kd_text(message, size,
            "radau.reference = %d at a stage needs extrapolated starting values: radau.start_zero must be no",
            o->radau.reference);
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
    const kd_implicit_options *o = r->s.rule;
    double                    *rtol = r->s.base.rtol, *atol = r->s.base.atol, tightest = 1;
    // each component has its own pair; the tightest decides when Newton may stop
    for (int i = 0; i < r->s.n; i++) {
        const double outer = rtol[i];
        rtol[i] = inner_tolerance(outer);
        atol[i] = fmin(rtol[i] * (atol[i] / outer), inner_tolerance(atol[i]));
        tightest = fmin(tightest, rtol[i]);
    }
    // not below rounding, not above 0.03 tolerances
    r->s.newton_stop = o->newton_stop > 0
                           ? o->newton_stop
                           : fmax(10 * o->uround / tightest,
                                  fmin(0.03, fmax(NEWTON_STOP * sqrt(tightest), NEWTON_LOOSE * pow(tightest, 0.75))));
}

// ---- Newton's method ------------------------------------------------------------------------------------------------

// Z_i = q(1 + c_i h / h_old) - q(1), q the collocation polynomial of the last step through 0, c_1, c_2, 1
static void extrapolate_collocation(kd_radau *r)
{
    const double *c = radau_c;
    double        L[STAGES][STAGES];
    double        ratio = r->s.h / r->s.h_accepted;
    for (int i = 0; i < STAGES; i++) {
        // L_j(s), s = 1 + c_i h / h_old beyond the end of the last step
        double s = 1 + c[i] * ratio;
        for (int j = 0; j < STAGES; j++) { // Lagrange polynomial of node c_j among 0, c_1, c_2, c_3
            L[i][j] = s / c[j];
            for (int k = 0; k < STAGES; k++)
                if (k != j) L[i][j] *= (s - c[k]) / (c[j] - c[k]);
        }
        // relative to the new start, which is the last node: q(1) = Z_3
        L[i][2] -= 1;
    }
    for (int k = 0; k < r->s.n; k++) {
        double z0 = r->Zprev[0][k], z1 = r->Zprev[1][k], z2 = r->Zprev[2][k];
        for (int i = 0; i < STAGES; i++) r->Z[i][k] = L[i][0] * z0 + L[i][1] * z1 + L[i][2] * z2;
    }
}

// The formulation's smooth continuation, plus the deviation of the stages from the smooth motion. The stages have order
// 3 only: their deviation is C h^4 x^(4) and hardly changes from step to step, so that of the last step is scaled by
// h^4.
static void extrapolate_smoothly(kd_radau *r)
{
    double ratio = r->s.h / r->s.h_accepted, scale = ratio * ratio * ratio * ratio;
    for (int i = 0; i < STAGES; i++) {
        // in: the collocation's guess; out: the formulation's, which knows velocities as derivatives
        for (int k = 0; k < r->s.nd; k++) r->s.X[k] = r->s.base.x[k] + r->Z[i][k];
        r->s.dae->methods->extrapolate(r->s.dae->impl, r->s.base.t_old, r->s.x_old, r->s.base.t, r->s.base.x,
                                       r->s.base.t + radau_c[i] * r->s.h, r->s.X);
        for (int k = 0; k < r->s.nd; k++) r->Z[i][k] = r->s.X[k] - r->s.base.x[k] + scale * r->deviation[i][k];
    }
}

// Deviation of the stages of the step that was just accepted from the smooth motion through its ends
static void measure_deviation(kd_radau *r)
{
    double h = r->s.base.t - r->s.base.t_old;
    if (!r->s.dae->methods->extrapolate) return;
    for (int i = 0; i < STAGES; i++) {
        // stage minus smooth motion, at the same time
        for (int k = 0; k < r->s.nd; k++) r->deviation[i][k] = r->s.X[k] = r->s.x_old[k] + r->Zprev[i][k];
        r->s.dae->methods->extrapolate(r->s.dae->impl, r->s.base.t_old, r->s.x_old, r->s.base.t, r->s.base.x,
                                       r->s.base.t_old + radau_c[i] * h, r->s.X);
        for (int k = 0; k < r->s.nd; k++) r->deviation[i][k] -= r->s.X[k];
    }
}

static void start_values(kd_radau *r)
{
    if (r->s.rule->start_zero || !r->s.has_past) {
        for (int i = 0; i < STAGES; i++) memset(r->Z[i], 0, (size_t)r->s.n * sizeof(double));
        return;
    }
    extrapolate_collocation(r);
    if (r->s.dae->methods->extrapolate) extrapolate_smoothly(r);
}

// X_i and X_i' to r->s.X, r->s.Xdot
static void stage_point(kd_radau *r, int i)
{
    const double *z0 = r->Z[0], *z1 = r->Z[1], *z2 = r->Z[2];
    double        a = radau_inv_A[i][0] / r->s.h, b = radau_inv_A[i][1] / r->s.h, c = radau_inv_A[i][2] / r->s.h;
    const double *x = r->s.base.x, *z = r->Z[i];
    // X_i' = (1/h) sum inv(A)_ij Z_j
    for (int k = 0; k < r->s.n; k++) r->s.X[k] = x[k] + z[k];
    for (int k = 0; k < r->s.nd; k++) r->s.Xdot[k] = a * z0[k] + b * z1[k] + c * z2[k];
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

// One simplified Newton step: Z_i += dZ_i. *norm is the weighted size of the increments.
static kd_status newton_step(kd_radau *r, double *norm)
{
    kd_dae             *dae = r->s.dae;
    const kd_dae_class *f = dae->methods;
    // residuals of the three stages, reduced in real arithmetic
    for (int i = 0; i < STAGES; i++) {
        stage_point(r, i);
        kd_status status = kd_one_step_evaluate(&r->s, r->s.base.t + radau_c[i] * r->s.h, r->s.X, r->part[i], r->y[i]);
        if (status < 0) return status;
    }
    // inv(T) decouples: one real system, one complex one, then back
    mix(dae->nreduced, radau_inv_T, r->y);
    f->solve_real(dae->impl, r->y[0]);
    f->solve_complex(dae->impl, r->y[1], r->y[2]);
    mix(dae->nreduced, radau_T, r->y);

    // increments of full size, stage by stage; the particular part counts less in the norm by its discount
    double sum = 0, discount = dae->part_discount;
    for (int i = 0; i < STAGES; i++) {
        f->expand(dae->impl, r->part[i], r->y[i], r->s.dx);
        const double *dz = r->s.dx, *part = r->part[i], *w = r->s.newton_weight;
        double       *z = r->Z[i];
        for (int k = 0; k < r->s.n; k++) {
            double d = (dz[k] - discount * part[k]) * w[k];
            z[k] += dz[k];
            sum += d * d;
        }
    }
    *norm = r->s.norm = sqrt(sum / (STAGES * r->s.nn));
    return isfinite(*norm) ? KD_OK : KD_ERR_NEWTON;
}

// Increment after the last iteration that is allowed, at the present rate, over the stopping criterion
static double predicted(const kd_radau *r, int k, double norm)
{
    return r->s.theta / (1 - r->s.theta) * norm * pow(r->s.theta, r->s.rule->max_newton - 1 - k) / r->s.newton_stop;
}

static bool promising(const kd_radau *r, int k, double norm)
{
    return r->s.theta < KD_DIVERGED && predicted(r, k, norm) < 1;
}

// Newton iteration. KD_OK; KD_ERR_NEWTON with *shrink, the factor for the next attempt; other failures as they come.
static kd_status newton(kd_radau *r, double *shrink)
{
    int    most = r->s.rule->max_newton, k;
    double norm_old = 0, rate_old = 0;
    *shrink = KD_NEWTON_SHRINK;
    // what the last iteration told about the rate, weakened by KD_FORGET, and worse in a longer step
    double carried = pow(fmax(r->s.contraction, r->s.rule->uround), KD_FORGET);
    r->s.contraction = fmin(fmax(carried, 1), carried * kd_one_step_growth_of_rate(&r->s, r->s.h_newton));
    double expected = KD_SURPRISE * r->norm_first *
                      pow(kd_one_step_growth_of_rate(&r->s, r->s.h_newton), 2); // starting values have order 3
    r->s.h_newton = r->s.h;
    // theta of the last measurement counts until there is a new one
    r->s.theta = r->s.theta_seen * kd_one_step_growth_of_rate(&r->s, r->s.h_seen);
    for (k = 1; k <= most; k++) {
        double    norm = 0;
        kd_status status = newton_step(r, &norm);
        r->s.iterations = k;
        if (status < 0) return status;
        // from the second increment on there is a rate: the geometric mean of the last two
        if (k > 1) {
            double rate = norm / norm_old;
            r->s.theta = rate_old == 0 ? rate : sqrt(rate * rate_old);
            if (k == 2 && norm <= SMALL && !promising(r, k, norm)) { // a first increment that was small by chance?
                norm_old = fmax(norm, r->s.rule->uround);
                continue;
            }
            rate_old = rate;
            // diverging, or too slow to arrive within the iterations that are left: give up, with a factor for the step
            if (r->s.theta >= KD_DIVERGED) return KD_ERR_NEWTON;
            r->s.theta_seen = fmax(r->s.theta, KD_LEAST_RATE * fabs(r->s.rule->theta));
            r->s.h_seen = r->s.h;
            r->s.contraction = r->s.theta / (1 - r->s.theta);
            double left = most - 1 - k; // iterations left: can they reach the stopping criterion?
            if (k < most && predicted(r, k, norm) >= 1) {
                double q = fmax(1e-4, fmin(20, predicted(r, k, norm)));
                *shrink = 0.8 * pow(q, -1 / (4 + left));
                return KD_ERR_NEWTON;
            }
        }
        // a first increment far above what the last step promised: its rate is not trusted
        if (k == 1 && norm > fmax(expected, KD_HARMLESS)) r->s.contraction = fmax(r->s.contraction, 1);
        if (k == 1) r->norm_first = norm;
        norm_old = fmax(norm, r->s.rule->uround);
        // theta / (1 - theta) |dZ| bounds the error that is left
        if (r->s.contraction * norm <= r->s.newton_stop) return KD_OK;
    }
    return KD_ERR_NEWTON;
}

// ---- matrices -------------------------------------------------------------------------------------------------------

// Newton matrix at x_k or at stage `stage` (1..3) of the present starting values or iterates
static kd_status linearize_at(kd_radau *r, int stage)
{
    const double *x = r->s.base.x, *xdot = r->s.xdot;
    double        t = r->s.base.t;
    if (stage > 0) {
        // the start of the step is always there; a stage is known by its starting values
        stage_point(r, stage - 1);
        t = r->s.base.t + radau_c[stage - 1] * r->s.h;
        x = r->s.X;
        xdot = r->s.Xdot;
    }
    return kd_one_step_linearize(&r->s, t, x, xdot, 0, stage == 0);
}

static kd_status factor(kd_radau *r)
{
    return kd_one_step_factor(&r->s, radau_g1 / r->s.h, radau_al / r->s.h, radau_be / r->s.h);
}

// ---- error ----------------------------------------------------------------------------------------------------------

// err = ((g1/h) F_x' + F_x) \ -F(t_0, x_0 + shift, -(1/h) sum e_i Z_i)
static kd_status error_solve(kd_radau *r, const double *x)
{
    const kd_dae_class *f = r->s.dae->methods;
    double              a = -radau_e[0] / r->s.h, b = -radau_e[1] / r->s.h, c = -radau_e[2] / r->s.h;
    for (int k = 0; k < r->s.nd; k++) r->s.Xdot[k] = a * r->Z[0][k] + b * r->Z[1][k] + c * r->Z[2][k];
    // at the accepted point the algebraic equations hold, which may save their evaluation
    if (x == r->s.base.x && f->evaluate_accepted) {
        kd_eval answer = f->evaluate_accepted(r->s.dae->impl, r->s.base.t, x, r->s.Xdot, r->s.err, r->y[0]);
        if (answer != KD_EVAL_OK) return kd_one_step_eval_cause(&r->s, answer);
    } else {
        kd_status status = kd_one_step_evaluate(&r->s, r->s.base.t, x, r->s.err, r->y[0]);
        if (status < 0) return status;
    }
    f->solve_real(r->s.dae->impl, r->y[0]);
    f->expand(r->s.dae->impl, r->s.err, r->y[0], r->s.err);
    return KD_OK;
}

static kd_status estimate_error(kd_radau *r, double *err)
{
    kd_status status = error_solve(r, r->s.base.x);
    if (status < 0) return status;
    *err = kd_one_step_error_norm(&r->s, r->s.err);
    if (!isfinite(*err)) return KD_ERR_NEWTON;
    if (*err < 1 || !(r->s.first || r->s.rejected)) return KD_OK;
    // too large in a first step or after a rejection: stiff components may be to blame, once more without them
    for (int k = 0; k < r->s.n; k++)
        r->s.X[k] = r->s.base.x[k] + r->s.err[k]; // filters stiff components (HW IV Eq. 8.20)
    status = error_solve(r, r->s.X);
    if (status < 0) return status;
    *err = kd_one_step_error_norm(&r->s, r->s.err);
    return isfinite(*err) ? KD_OK : KD_ERR_NEWTON;
}

// ---- the step -------------------------------------------------------------------------------------------------------

static kd_status prepare_matrices(kd_radau *r)
{
    kd_status status = KD_OK;
    int       stage = r->s.has_past ? r->s.rule->reference : 0;
    // update where that is offered and Newton was fast; else new derivatives, at the stage if one is wanted
    if (!r->s.jacobian_current && kd_one_step_update_serves(&r->s)) {
        status = kd_one_step_update(&r->s, 0);
    } else if (!r->s.jacobian_current) {
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
    // an updated matrix failed: true derivatives before a smaller step
    if (status == KD_ERR_NEWTON && r->s.only_updated) {
        status = linearize_at(r, 0);
        if (status == KD_OK) status = factor(r);
        if (status == KD_OK) status = newton(r, shrink);
    }
    // at iterates: what they cost is counted, and they are no good for the step after this one
    for (int k = 0; status == KD_ERR_NEWTON && k < r->s.rule->newton_updates && r->s.theta < KD_DIVERGED; k++) {
        r->s.base.stats.newton_updates++;
        status = linearize_at(r, r->s.rule->reference > 0 ? r->s.rule->reference : 2);
        if (status < 0 && status != KD_ERR_CALLBACK_STOP) status = KD_ERR_NEWTON; // the iterates are no good place
        if (status == KD_OK) status = factor(r);
        if (status == KD_OK) status = newton(r, shrink);
        r->s.jacobian_current = false;
    }
    return status;
}

// ---- for the frame --------------------------------------------------------------------------------------------------

static kd_status attempt(kd_one_step *self, double *shrink, double *norm)
{
    kd_radau *r = (kd_radau *)self;
    start_values(r);
    kd_status status = prepare_matrices(r);
    if (status == KD_OK) status = solve_stages(r, shrink);
    return status == KD_OK ? estimate_error(r, norm) : status;
}

static void end_point(kd_one_step *self)
{
    stage_point((kd_radau *)self, STAGES - 1);
}

static bool keeps(const kd_one_step *self)
{
    const kd_implicit_options *o = self->rule;
    return o->reference > 0 || (o->theta >= 0 && self->theta <= o->theta);
}

// The last Newton correction may have left the range of the coordinates of a state-space form.
static bool end_slope(const kd_one_step *self)
{
    return self->dae->methods->relabel;
}

static void accepted(kd_one_step *self)
{
    kd_radau *r = (kd_radau *)self;
    // stages of the accepted step are the past; those of before get the memory
    for (int i = 0; i < STAGES; i++) {
        double *z = r->Zprev[i];
        r->Zprev[i] = r->Z[i];
        r->Z[i] = z;
    }
    // the matrix belongs to a stage of the last step, not to this point
    if (self->rule->reference > 0) self->jacobian_current = false;
    measure_deviation(r);
}

static void forget(kd_one_step *self)
{
    ((kd_radau *)self)->norm_first = 0;
}

// X_i = x_old + Z_i move along q(t) as x_old does
static void bend(kd_one_step *self)
{
    kd_radau      *r = (kd_radau *)self;
    const kd_kink *kink = &self->kink;
    const double   h = self->base.t - self->base.t_old;
    // X_i + q(t_i) - (x_old + q(t_old)): first with x_old, then minus the moved x_old
    for (int i = 0; i < STAGES; i++) {
        kd_kink_add(kink, (radau_c[i] - 1) * h, r->Zprev[i]);
        for (int k = 0; k < self->n; k++) r->Zprev[i][k] += self->x_old[k];
    }
    memcpy(self->X, self->x_old, (size_t)self->n * sizeof(double));
    kd_kink_add(kink, -h, self->X);
    for (int i = 0; i < STAGES; i++)
        for (int k = 0; k < self->n; k++) r->Zprev[i][k] -= self->X[k];
}

// Collocation polynomial through 0, c_1, c_2, 1
static void interpolate(const kd_one_step *self, double t, double *x)
{
    const kd_radau *r = (const kd_radau *)self;
    const double   *c = radau_c, *x0 = self->x_old, *x1 = self->base.x;
    double          s = (t - self->base.t_old) / (self->base.t - self->base.t_old), L[STAGES];
    for (int j = 0; j < STAGES; j++) {
        // Lagrange's polynomials of c_1, c_2, c_3 and 0, where Z is 0
        L[j] = s / c[j];
        for (int k = 0; k < STAGES; k++)
            if (k != j) L[j] *= (s - c[k]) / (c[j] - c[k]);
    }
    // the end is base.x, not Z_3: the point may have been projected
    for (int k = 0; k < self->n; k++)
        x[k] = x0[k] + L[0] * r->Zprev[0][k] + L[1] * r->Zprev[1][k] + L[2] * (x1[k] - x0[k]);
}

static const kd_one_step_class radau_method = {.order = 5,
                                               .exponent = 0.25,
                                               .forgets_rate = true,
                                               .attempt = attempt,
                                               .end_point = end_point,
                                               .keeps = keeps,
                                               .end_slope = end_slope,
                                               .accepted = accepted,
                                               .forget = forget,
                                               .bend = bend,
                                               .interpolate = interpolate};

static kd_status init(kd_integrator *base)
{
    kd_radau *r = (kd_radau *)base;
    kd_arena *a = &base->arena;
    kd_one_step_init(&r->s, &radau_method, &base->opt.radau);
    for (int i = 0; i < STAGES; i++) {
        r->Z[i] = kd_cut_double(a, base->n);
        r->Zprev[i] = kd_cut_double(a, base->n);
        r->deviation[i] = kd_cut_double(a, base->n);
        r->part[i] = kd_cut_double(a, base->n);
        r->y[i] = kd_cut_double(a, base->dae->nreduced_max);
    }
    set_tolerances(r);
    return KD_OK;
}

// 0 and c_1, c_2 = (4 -+ sqrt 6) / 10
static const double nodes[] = {0.0, 0.15505102572168219, 0.64494897427831781};

const kd_integrator_class kd_radau_class = {
    .info = {.word = "radau",
             .own_word = "radau",
             .sentence = "Radau IIa of order 5",
             .available = true,
             .needs = KD_INTEGRATES_RESIDUAL,
             .one_step = true,
             .projected = KD_CONTINUES,
             .index_max = 3,
             .selectors = true,
             .updates = true,
             .own_matrices = true,
             .fixed_steps = true,
             .order = 5,
             .order_dense = 3,
             .turns = 5,
             .nnodes = sizeof nodes / sizeof *nodes,
             .nodes = nodes,
             .check_period = 16,
             .compared = "psf*1 ggl index2 index1 statespace psf1- index3- index2- index1- baumgarte2- baumgarte1-",
             .loose_inside = true},
    .title = "Radau",
    .size = sizeof(kd_radau),
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .least_rtol = least_rtol,
    .check = check,
    .init = init,
    KD_ONE_STEP_CALLS,
};
