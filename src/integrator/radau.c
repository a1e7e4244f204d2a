// radau.c: Radau IIa with 3, 5 or 7 stages, orders 5, 9, 13, for 0 = F(t, x, x') (HW II chapter IV.8, S3 section 3; the
// choice of the order: E. Hairer, G. Wanner, Stiff differential equations solved by Radau methods, J. Comput. Appl.
// Math. 111 (1999) 93-111).
//
//     X_i = x_0 + Z_i,   X_i' = (1/h) sum_j inv(A)_ij Z_j,   0 = F(t_0 + c_i h, X_i, X_i'),   x_1 = X_s
//
// Simplified Newton with the matrices (g1/h) F_x' + F_x and ((al_k + i be_k)/h) F_x' + F_x, coupled by T of inv(A) = T
// Lambda inv(T). What the formulation eliminates without knowing h (reduce, expand) is done stage by stage in real
// arithmetic; only the reduced right-hand sides are transformed. Error estimate, step control, convergence test: as in
// RADAU5 and RADAU, with the options of S3.
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "integrator/radau_impl.h"

#define O kd_integrator_options

// Rules of RADAU5 (HW II, IV.8); those of all implicit one-step methods are in one_step.c
static const double SMALL = 1; // increment, in tolerances, that is not given up after one look at the rate
// ---- creation -------------------------------------------------------------------------------------------------------

// clang-format off
static const kd_option options[] = {
    KD_ONE_STEP_OPTIONS("radau", radau, 0.001, "the Jacobian is kept while Newton contracts faster; below 0: never", 8),
    {KD_WHOLE("radau.reference", O, radau.reference, 0, 0, 3, "Newton matrix at x_k (0) or at an extrapolated stage 1 to 3"), .paper = "NWTMAT"},
    {KD_WHOLE("radau.order_max", O, radau.order_max, 5, 5, 13, "highest order: 5, 9 or 13 (3, 5 or 7 stages)")},
    {KD_WHOLE("radau.order_fixed", O, radau.order_fixed, 0, 0, 13, "this order only, 5, 9 or 13; 0: variable up to order_max")},
    {KD_WHOLE("radau.newton_updates", O, radau.newton_updates, 0, 0, INFINITY, "new Newton matrices inside one Newton iteration"), .paper = "NWTUPD"},
};
// clang-format on

static double least_rtol(const kd_integrator_options *o)
{
    return kd_one_step_least_rtol(&o->radau);
}

static kd_status check(const kd_dae *dae, const kd_integrator_options *o, char *message, size_t size)
{
    const int order[] = {o->radau.order_max, o->radau.order_fixed > 0 ? o->radau.order_fixed : 5};
    // tableaus are there for 3, 5 and 7 stages
    for (int k = 0; k < 2; k++) {
        if (order[k] == 5 || order[k] == 9 || order[k] == 13) continue;
        kd_text(message, size, "radau.%s = %d must be 5, 9 or 13", k == 0 ? "order_max" : "order_fixed", order[k]);
        return KD_ERR_ARGUMENT;
    }
    // one complex matrix for each pair of eigenvalues of the tableau's inverse
    if (kd_radau_highest(&o->radau) > 0 && !dae->methods->pair) {
        kd_text(message, size, "the form has one complex Newton matrix: radau of order 5 only");
        return KD_ERR_UNSUPPORTED;
    }
    if (o->radau.reference == 0 || !o->radau.start_zero) return KD_OK;
    kd_text(message, size,
            "radau.reference = %d at a stage needs extrapolated starting values: radau.start_zero must be no",
            o->radau.reference);
    return KD_ERR_ARGUMENT;
}

// ---- Newton's method ------------------------------------------------------------------------------------------------

// Lagrange's polynomials of the nodes c_j among 0, c_1, .., c_s at x
static void lagrange(const kd_radau_tableau *m, double x, double *L)
{
    for (int j = 0; j < m->stages; j++) {
        L[j] = x / m->c[j];
        for (int k = 0; k < m->stages; k++)
            if (k != j) L[j] *= (x - m->c[k]) / (m->c[j] - m->c[k]);
    }
}

// Z_i = q(1 + c_i h / h_old) - q(1), q the collocation polynomial of the last step through 0, c_1, .., 1
static void extrapolate_collocation(kd_radau *r)
{
    const kd_radau_tableau *now = kd_radau_use(r), *old = &radau_tableau[r->method_prev];
    const double            ratio = r->s.h / r->s.h_accepted;
    double                  L[STAGES];
    for (int i = 0; i < now->stages; i++) {
        lagrange(old, 1 + now->c[i] * ratio, L);
        L[old->stages - 1] -= 1; // relative to the new start, which is the last node: q(1) = Z_s
        kd_radau_combine(old->stages, L, r->Zprev, r->s.n, r->Z[i]);
    }
}

// The formulation's smooth continuation, plus the deviation of the stages from the smooth motion. Three stages have order
// 3 only: their deviation is C h^4 x^(4) and hardly changes from step to step, so that of the last step is scaled by
// h^4.
static void extrapolate_smoothly(kd_radau *r)
{
    double        ratio = r->s.h / r->s.h_accepted, scale = ratio * ratio * ratio * ratio;
    const double *c = kd_radau_use(r)->c;
    for (int i = 0; i < kd_radau_use(r)->stages; i++) {
        // in: the collocation's guess; out: the formulation's, which knows velocities as derivatives
        for (int k = 0; k < r->s.nd; k++) r->s.X[k] = r->s.base.x[k] + r->Z[i][k];
        r->s.dae->methods->extrapolate(r->s.dae->impl, r->s.base.t_old, r->s.x_old, r->s.base.t, r->s.base.x,
                                       r->s.base.t + c[i] * r->s.h, r->s.X);
        for (int k = 0; k < r->s.nd; k++) r->Z[i][k] = r->s.X[k] - r->s.base.x[k] + scale * r->deviation[i][k];
    }
}

// Higher orders: the polynomial of the last step is as good
static bool continues_smoothly(const kd_radau *r)
{
    return r->s.dae->methods->extrapolate && r->method == 0 && r->method_prev == 0;
}

// Deviation of the stages of the step that was just accepted from the smooth motion through its ends
static void measure_deviation(kd_radau *r)
{
    const double h = r->s.base.t - r->s.base.t_old, *c = kd_radau_use(r)->c;
    if (!continues_smoothly(r)) return;
    for (int i = 0; i < kd_radau_use(r)->stages; i++) {
        // stage minus smooth motion, at the same time
        for (int k = 0; k < r->s.nd; k++) r->deviation[i][k] = r->s.X[k] = r->s.x_old[k] + r->Zprev[i][k];
        r->s.dae->methods->extrapolate(r->s.dae->impl, r->s.base.t_old, r->s.x_old, r->s.base.t, r->s.base.x,
                                       r->s.base.t_old + c[i] * h, r->s.X);
        for (int k = 0; k < r->s.nd; k++) r->deviation[i][k] -= r->s.X[k];
    }
}

static void start_values(kd_radau *r)
{
    if (r->s.rule->start_zero || !r->s.has_past) {
        for (int i = 0; i < kd_radau_use(r)->stages; i++) memset(r->Z[i], 0, (size_t)r->s.n * sizeof(double));
        return;
    }
    extrapolate_collocation(r);
    if (continues_smoothly(r)) extrapolate_smoothly(r);
}

// X_i and X_i' to r->s.X, r->s.Xdot
static void stage_point(kd_radau *r, int i)
{
    const kd_radau_tableau *m = kd_radau_use(r);
    const double           *x = r->s.base.x, *z = r->Z[i];
    double                  w[STAGES];
    // X_i' = (1/h) sum inv(A)_ij Z_j
    for (int j = 0; j < m->stages; j++) w[j] = m->inv_A[i][j] / r->s.h;
    for (int k = 0; k < r->s.n; k++) r->s.X[k] = x[k] + z[k];
    kd_radau_combine(m->stages, w, r->Z, r->s.nd, r->s.Xdot);
}

// y <- M y for the reduced right-hand sides of s stages; s is a constant where it is called
static inline void mix_stages(int s, int m, const double M[STAGES][STAGES], double *const *y)
{
    for (int k = 0; k < m; k++) {
        double a[STAGES];
        for (int j = 0; j < s; j++) a[j] = y[j][k];
        for (int i = 0; i < s; i++) {
            double sum = M[i][0] * a[0];
            for (int j = 1; j < s; j++) sum += M[i][j] * a[j];
            y[i][k] = sum;
        }
    }
}

static void mix(int s, int m, const double M[STAGES][STAGES], double *const *y)
{
    if (s == 3)
        mix_stages(3, m, M, y);
    else if (s == 5)
        mix_stages(5, m, M, y);
    else
        mix_stages(STAGES, m, M, y);
}

// One real system, one complex one for every pair of eigenvalues
static void solve_systems(kd_radau *r)
{
    const kd_dae_class *f = r->s.dae->methods;
    void               *impl = r->s.dae->impl;
    f->solve_real(impl, r->y[0]);
    for (int k = 0; 2 * k + 1 < kd_radau_use(r)->stages; k++) {
        if (f->pair) (void)f->pair(impl, k); // memory is there
        f->solve_complex(impl, r->y[2 * k + 1], r->y[2 * k + 2]);
    }
}

// One simplified Newton step: Z_i += dZ_i. *norm is the weighted size of the increments.
static kd_status newton_step(kd_radau *r, double *norm)
{
    kd_dae                 *dae = r->s.dae;
    const kd_dae_class     *f = dae->methods;
    const kd_radau_tableau *m = kd_radau_use(r);
    // residuals of the stages, reduced in real arithmetic
    kd_status status = KD_OK;
    dae->patient = true;
    dae->unsettled = false;
    for (int i = 0; i < m->stages && status == KD_OK; i++) {
        stage_point(r, i);
        status = kd_one_step_evaluate(&r->s, r->s.base.t + m->c[i] * r->s.h, r->s.X, r->part[i], r->y[i]);
    }
    dae->patient = false;
    if (status < 0) return status;
    // inv(T) decouples: one real system, complex ones, then back
    mix(m->stages, dae->nreduced, m->inv_T, r->y);
    solve_systems(r);
    mix(m->stages, dae->nreduced, m->T, r->y);

    // increments of full size, stage by stage; the particular part counts less in the norm by its discount
    double sum = 0, discount = dae->part_discount;
    for (int i = 0; i < m->stages; i++) {
        f->expand(dae->impl, r->part[i], r->y[i], r->s.dx);
        const double *dz = r->s.dx, *part = r->part[i], *w = r->s.newton_weight;
        double       *z = r->Z[i];
        for (int k = 0; k < r->s.n; k++) {
            double d = (dz[k] - discount * part[k]) * w[k];
            z[k] += dz[k];
            sum += d * d;
        }
    }
    *norm = r->s.norm = sqrt(sum / (m->stages * r->s.nn));
    return isfinite(*norm) ? KD_OK : KD_ERR_NEWTON;
}

// Iterations that are allowed: more for more stages, as in RADAU
static int most_iterations(const kd_radau *r)
{
    return r->s.rule->max_newton + 5 * (kd_radau_use(r)->stages - 3) / 2;
}

// Increment after the last iteration that is allowed, at the present rate, over the stopping criterion
static double predicted(const kd_radau *r, int k, double norm)
{
    return r->s.theta / (1 - r->s.theta) * norm * pow(r->s.theta, most_iterations(r) - 1 - k) / r->s.newton_stop;
}

static bool promising(const kd_radau *r, int k, double norm)
{
    return r->s.theta < KD_DIVERGED && predicted(r, k, norm) < 1;
}

// Newton iteration. KD_OK; KD_ERR_NEWTON with *shrink, the factor for the next attempt; other failures as they come.
static kd_status newton(kd_radau *r, double *shrink)
{
    int    most = most_iterations(r), k;
    double norm_old = 0, rate_old = 0;
    bool   settled = true; // what the increment before was found with
    *shrink = KD_NEWTON_SHRINK;
    // what the last iteration told about the rate, weakened by KD_FORGET, and worse in a longer step
    double carried = pow(fmax(r->s.contraction, r->s.rule->uround), KD_FORGET);
    r->s.contraction = fmin(fmax(carried, 1), carried * kd_one_step_growth_of_rate(&r->s, r->s.h_newton));
    double expected = KD_SURPRISE * r->norm_first *
                      pow(kd_one_step_growth_of_rate(&r->s, r->s.h_newton),
                          0.5 * (kd_radau_use(r)->stages + 1)); // starting values have order s
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
            // a first increment that was small by chance, or found with what was not settled?
            if (k == 2 && (norm <= SMALL || !settled) && !promising(r, k, norm)) {
                norm_old = fmax(norm, r->s.rule->uround);
                settled = !r->s.dae->unsettled;
                continue;
            }
            rate_old = rate;
            // diverging, or too slow to arrive within the iterations that are left: give up, with a factor for the step
            if (r->s.theta >= KD_DIVERGED) return KD_ERR_NEWTON;
            if (settled) { // the rate of the matrix alone
                r->s.theta_seen = fmax(r->s.theta, KD_LEAST_RATE * fabs(r->s.rule->theta));
                r->s.h_seen = r->s.h;
            }
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
        settled = !r->s.dae->unsettled;
        if (settled && r->s.contraction * norm <= r->s.newton_stop) return KD_OK;
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
        t = r->s.base.t + kd_radau_use(r)->c[stage - 1] * r->s.h;
        x = r->s.X;
        xdot = r->s.Xdot;
    }
    return kd_one_step_linearize(&r->s, t, x, xdot, 0, stage == 0);
}

static kd_status factor(kd_radau *r)
{
    const kd_radau_tableau *m = kd_radau_use(r);
    const double            h = r->s.h;
    kd_dae                 *dae = r->s.dae;
    if (r->s.h_factored == h) return KD_OK;
    kd_status status = dae->methods->pair ? dae->methods->pair(dae->impl, 0) : KD_OK;
    if (status == KD_OK) status = kd_one_step_factor(&r->s, m->g1 / h, m->al[0] / h, m->be[0] / h);
    for (int k = 1; 2 * k + 1 < m->stages && status == KD_OK; k++)
        status = kd_one_step_factor_further(&r->s, k, m->al[k] / h, m->be[k] / h);
    return status;
}

// ---- error ----------------------------------------------------------------------------------------------------------

// err = ((g1/h) F_x' + F_x) \ -F(t_0, x_0 + shift, -(1/h) sum e_i Z_i)
static kd_status error_solve(kd_radau *r, const double *x)
{
    const kd_dae_class *f = r->s.dae->methods;
    double              w[STAGES];
    for (int j = 0; j < kd_radau_use(r)->stages; j++) w[j] = -kd_radau_use(r)->e[j] / r->s.h;
    kd_radau_combine(kd_radau_use(r)->stages, w, r->Z, r->s.nd, r->s.Xdot);
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
    if (self->first && self->restart && !self->rejected) kd_radau_forget_order(r);
    start_values(r);
    kd_status status = prepare_matrices(r);
    if (status == KD_OK) status = solve_stages(r, shrink);
    if (status == KD_ERR_NEWTON) r->wasted += kd_radau_work(kd_radau_use(r), self->iterations);
    if (status == KD_OK) status = estimate_error(r, norm);
    r->err = *norm;
    return status;
}

static void end_point(kd_one_step *self)
{
    kd_radau *r = (kd_radau *)self;
    stage_point(r, kd_radau_use(r)->stages - 1);
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
    for (int i = 0; i < kd_radau_use(r)->stages; i++) {
        double *z = r->Zprev[i];
        r->Zprev[i] = r->Z[i];
        r->Z[i] = z;
    }
    // the matrix belongs to a stage of the last step, not to this point
    if (self->rule->reference > 0) self->jacobian_current = false;
    r->method_prev = r->method;
    self->own_dense = r->method > 0;
    measure_deviation(r);
    kd_radau_choose_order(r);
}

static void forget(kd_one_step *self)
{
    ((kd_radau *)self)->norm_first = 0;
}

// X_i = x_old + Z_i move along q(t) as x_old does
static void bend(kd_one_step *self)
{
    kd_radau               *r = (kd_radau *)self;
    const kd_kink          *kink = &self->kink;
    const double            h = self->base.t - self->base.t_old;
    const kd_radau_tableau *m = &radau_tableau[r->method_prev];
    // X_i + q(t_i) - (x_old + q(t_old)): first with x_old, then minus the moved x_old
    for (int i = 0; i < m->stages; i++) {
        kd_kink_add(kink, (m->c[i] - 1) * h, r->Zprev[i]);
        for (int k = 0; k < self->n; k++) r->Zprev[i][k] += self->x_old[k];
    }
    memcpy(self->X, self->x_old, (size_t)self->n * sizeof(double));
    kd_kink_add(kink, -h, self->X);
    for (int i = 0; i < m->stages; i++)
        for (int k = 0; k < self->n; k++) r->Zprev[i][k] -= self->X[k];
}

// Collocation polynomial through 0, c_1, .., 1
static void interpolate(const kd_one_step *self, double t, double *x)
{
    const kd_radau         *r = (const kd_radau *)self;
    const kd_radau_tableau *m = &radau_tableau[r->method_prev];
    const double           *x0 = self->x_old, *x1 = self->base.x;
    const int               last = m->stages - 1;
    double                  L[STAGES];
    lagrange(m, (t - self->base.t_old) / (self->base.t - self->base.t_old), L);
    kd_radau_combine(last, L, r->Zprev, self->n, x);
    // the end is base.x, not Z_s: the point may have been projected
    for (int k = 0; k < self->n; k++) x[k] = x0[k] + x[k] + L[last] * (x1[k] - x0[k]);
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
    for (int i = 0; i < radau_tableau[kd_radau_highest(r->s.rule)].stages; i++) {
        r->Z[i] = kd_cut_double(a, base->n);
        r->Zprev[i] = kd_cut_double(a, base->n);
        r->deviation[i] = kd_cut_double(a, base->n);
        r->part[i] = kd_cut_double(a, base->n);
        r->y[i] = kd_cut_double(a, base->dae->nreduced_max);
    }
    r->rtol_outer = kd_cut_double(a, base->n);
    r->atol_outer = kd_cut_double(a, base->n);
    if (a->failed) return KD_ERR_MEMORY;
    memcpy(r->rtol_outer, base->rtol, (size_t)base->n * sizeof(double));
    memcpy(r->atol_outer, base->atol, (size_t)base->n * sizeof(double));
    kd_radau_set_method(r, kd_radau_lowest(r->s.rule));
    // room for the complex matrices of the highest order
    const kd_dae_class *f = base->dae->methods;
    return kd_radau_highest(r->s.rule) > 0 ? f->pair(base->dae->impl, kd_radau_highest(r->s.rule)) : KD_OK;
}

// 0 and c_1, c_2 = (4 -+ sqrt 6) / 10
static const double nodes[] = {0.0, 0.15505102572168219, 0.64494897427831781};

static void archive(kd_integrator *base, kd_archive *a)
{
    kd_radau *r = (kd_radau *)base;
    kd_one_step_archive(base, a);
    kd_archive_real(a, &r->norm_first);
    kd_archive_int(a, &r->method, kd_radau_lowest(r->s.rule), kd_radau_highest(r->s.rule));
    kd_archive_int(a, &r->method_prev, 0, kd_radau_highest(r->s.rule));
    kd_archive_int(a, &r->since_change, 0, INT_MAX);
    kd_archive_int(a, &r->patience, 0, INT_MAX);
    KD_ARCHIVE_REALS(a, &r->err, &r->gain_up, &r->gain_down, &r->wasted);
}

// turns, nodes: of the method with the fewest stages, which a run begins with
#define RADAU_INFO(order_, dense_)                                                                                     \
    {                                                                                                                  \
        .word = "radau", .own_word = "radau", .sentence = "Radau IIa of order 5, or of variable order up to 13",       \
        .available = true, .needs = KD_INTEGRATES_RESIDUAL, .one_step = true, .projected = KD_CONTINUES,               \
        .index_max = 3, .selectors = true, .updates = true, .own_matrices = true, .fixed_steps = true,                 \
        .order = order_, .order_dense = dense_, .turns = 5, .nnodes = sizeof nodes / sizeof *nodes, .nodes = nodes,    \
        .check_period = 16,                                                                                            \
        .compared = "psf*1 ggl index2 index1 statespace psf1- index3- index2- index1- baumgarte2- baumgarte1-",        \
        .loose_inside = true                                                                                           \
    }
static const kd_integrator_info info[KD_RADAU_METHODS] = {RADAU_INFO(5, 3), RADAU_INFO(9, 5), RADAU_INFO(13, 7)};

static const kd_integrator_info *about(const kd_integrator_options *o)
{
    const int method = kd_radau_highest(&o->radau);
    return &info[method >= 0 && method < KD_RADAU_METHODS ? method : 0];
}

const kd_integrator_class kd_radau_class = {
    .info = RADAU_INFO(5, 3),
    .title = "Radau",
    .size = sizeof(kd_radau),
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .about = about,
    .least_rtol = least_rtol,
    .check = check,
    .init = init,
    KD_ONE_STEP_CALLS,
    .archive = archive,
};
