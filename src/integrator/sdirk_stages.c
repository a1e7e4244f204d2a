// sdirk_stages.c: the stages of SDIRK 4/15 and of ESDIRK by Newton's method and those of RODAS by linear systems.
//
//     X_i = x_0 + h sum_j<=i A_ij X_j',   0 = F(t_0 + c_i h, X_i, X_i'),   x_1 = last X_i     (HW II, IV.6; S2 Eq. 47)
//
// One stage after the other. X_i' = (X_i - x_0 - h sum_j<i A_ij X_j') / (h gamma) is never evaluated as a function: for
// stiff components rounding and Newton errors of X_i would be multiplied by the stiffness.
#include "integrator/sdirk_impl.h"

#include <math.h>
#include <string.h>

#include "integrator/sdirk_tableau.h"

static const double TIME_INCREMENT = 1e-5; // part of h over which f is differenced by t

// ---- prediction -----------------------------------------------------------------------------------------------------

// Z_i = sum_j<i alpha_ij Z_j + beta_i h x_0' with the terms h x', h^2 x'' right for non-stiff stages (sum A_ij c_j) and
// for stiff ones, which lie on the solution (c_i^2 / 2), as far as there are coefficients to satisfy that; then more.
// clang-format off
static const double alpha[5][5] = { // the last entry is beta
    {0, 0, 0, 0, 4.0 / 15},
    {4.75, 0, 0, 0, -0.5},
    {0.6447674670596394, 0.46830790568654646, 0, 0, 0.03569261442441054},
    {1.11669205536032, -0.03792816691121552, 0.23959440000356808, 0, -0.038344908736328974},
    {-5.348412657280269, 0.20011561724923638, 3.7888898561855395, 0.34354816179974346, 0},
};
// clang-format on

static void predict_from_stages(kd_sdirk *s, int i)
{
    // beta h x_0' where x_0' is known; components without derivative begin with the stages before
    double *z = s->Z[i], beta = s->s.xdot_known ? (i == 0 ? s->table.c[0] : alpha[i][4]) * s->s.h : 0;
    for (int k = 0; k < s->s.nd; k++) z[k] = beta * s->s.xdot[k];
    for (int k = s->s.nd; k < s->s.n; k++) z[k] = 0;
    for (int j = 0; j < i; j++)
        for (int k = 0; k < s->s.n; k++) z[k] += alpha[i][j] * s->Z[j][k];
}

// The smooth motion through the ends of the last step at time t to X
static void smooth_motion(kd_sdirk *s, double t)
{
    kd_one_step_hermite(&s->s, t, s->s.X);
    if (s->s.dae->methods->extrapolate)
        s->s.dae->methods->extrapolate(s->s.dae->impl, s->s.base.t_old, s->s.x_old, s->s.base.t, s->s.base.x, t,
                                       s->s.X);
}

// The first stage of the last step lies off the smooth motion: by h^2 gamma^2 x'' / 2 where the motion is not stiff, by
// nothing where it is. That hardly changes from step to step.
void kd_sdirk_remember(kd_sdirk *s)
{
    // where the first stage would lie on the smooth motion, and by how much it does not
    smooth_motion(s, s->s.base.t_old + s->table.c[0] * (s->s.base.t - s->s.base.t_old));
    for (int k = 0; k < s->s.n; k++) s->deviation[k] = s->s.x_old[k] + s->Z[0][k] - s->s.X[k];
}

static void predict_from_past(kd_sdirk *s)
{
    // the deviation is C h^2 x'': it grows with the square of the step
    double ratio = s->s.h / s->s.h_accepted;
    smooth_motion(s, s->s.base.t + s->table.c[0] * s->s.h);
    for (int k = 0; k < s->s.n; k++) s->Z[0][k] = s->s.X[k] - s->s.base.x[k] + ratio * ratio * s->deviation[k];
}

// ESDIRK: Hermite's polynomial through points that are known, with values and derivatives there; number of points and
// the points: stages, -1 for the start of the last step. Other choices differ by a few percent.
static const int esdirk_nodes[7][4] = {{0}, {2, -1, 0}, {2, 0, 1}, {3, 0, 1, 2}, {3, 0, 1, 3}, {2, 0, 3}, {2, 0, 5}};

static void predict_by_nodes(kd_sdirk *s, int i, int count, const int *node)
{
    double       *z = s->Z[i], at[3]; // times of the nodes, from t_0 in units of h
    const double  theta = s->table.c[i];
    const double *Z[3], *K[3];
    memset(z, 0, (size_t)s->s.n * sizeof *z);
    // times, values (relative to x_0) and slopes of the nodes; -1: the start of the last step
    for (int a = 0; a < count; a++) {
        const bool past = node[a] < 0;
        at[a] = past ? (s->s.base.t_old - s->s.base.t) / s->s.h : s->table.c[node[a]];
        Z[a] = past ? NULL : s->Z[node[a]];
        K[a] = past ? s->s.xdot_old : s->K[node[a]];
    }
    for (int a = 0; a < count; a++) {
        double l = 1, slope = 0; // Lagrange's polynomial of the node at theta, its derivative at the node
        for (int b = 0; b < count; b++) {
            if (b == a) continue;
            l *= (theta - at[b]) / (at[a] - at[b]);
            slope += 1 / (at[a] - at[b]);
        }
        // Hermite's basis: (1 - 2 l'(t_a) (theta - t_a)) l^2 for the value, (theta - t_a) l^2 for the slope
        const double value = (1 - 2 * slope * (theta - at[a])) * l * l, rate = s->s.h * (theta - at[a]) * l * l;
        for (int k = 0; k < s->s.n; k++)
            z[k] += value * (Z[a] ? Z[a][k] : s->s.x_old[k] - s->s.base.x[k]) + rate * K[a][k];
    }
}

static void predict_esdirk(kd_sdirk *s, int i)
{
    const int *nodes = esdirk_nodes[i];
    // without a past only the start is known: Euler's step
    if (nodes[1] < 0 && !(s->s.has_past && s->s.old_known)) // x_0 + c h x_0'
        predict_by_nodes(s, i, 1, nodes + 2);
    else
        predict_by_nodes(s, i, nodes[0], nodes + 1);
}

static void predict(kd_sdirk *s, int i)
{
    if (s->s.rule->start_zero)
        memset(s->Z[i], 0, (size_t)s->s.n * sizeof(double));
    else if (s->table.first > 0)
        predict_esdirk(s, i);
    else if (i == 0 && s->s.has_past)
        predict_from_past(s);
    else
        predict_from_stages(s, i);
}

// ---- Newton's method ------------------------------------------------------------------------------------------------

// X_i and X_i' to X, Xdot
static void stage_point(kd_sdirk *s, int i)
{
    // X_i' from Z_i = base + h gamma X_i'
    const double *z = s->Z[i], *base = s->base, inverse = 1 / (s->s.h * s->table.gamma);
    for (int k = 0; k < s->s.n; k++) s->s.X[k] = s->s.base.x[k] + z[k];
    for (int k = 0; k < s->s.nd; k++) s->s.Xdot[k] = inverse * (z[k] - base[k]);
}

// One simplified Newton step of stage i: Z_i += dX. norm is the weighted size of the increment.
static kd_status newton_step(kd_sdirk *s, int i)
{
    kd_dae             *dae = s->s.dae;
    const kd_dae_class *f = dae->methods;
    stage_point(s, i);
    dae->patient = true;
    dae->unsettled = false;
    kd_status status = kd_one_step_evaluate(&s->s, s->s.base.t + s->table.c[i] * s->s.h, s->s.X, s->part, s->y);
    dae->patient = false;
    if (status < 0) return status;
    // dX = -(F_x' / (h gamma) + F_x) \ F
    f->solve_real(dae->impl, s->y);
    f->expand(dae->impl, s->part, s->y, s->s.dx);
    double        sum = 0;
    const double *w = s->s.newton_weight;
    for (int k = 0; k < s->s.n; k++) {
        double d = s->s.dx[k] * w[k];
        s->Z[i][k] += s->s.dx[k];
        sum += d * d;
    }
    s->s.norm = sqrt(sum / s->s.nn);
    return isfinite(s->s.norm) ? KD_OK : KD_ERR_NEWTON;
}

// Newton iteration of stage i. The rate of convergence tells when it is done and, early, that it will not be.
static kd_status newton(kd_sdirk *s, int i, double growth, double *shrink)
{
    int    most = s->s.rule->max_newton;
    double norm_old = 0, rate_old = 0, theta = 0;
    bool   settled = true; // what the increment before was found with
    // what the last step needed at first, in a step that is longer by so much
    double expected = KD_SURPRISE * s->norm_first[i] * growth; // starting values of stages have order 1
    s->s.contraction = pow(fmax(s->s.contraction, s->s.rule->uround), KD_FORGET);
    for (int k = 1; k <= most; k++) {
        kd_status status = newton_step(s, i);
        if (k > s->s.iterations) s->s.iterations = k;
        if (status < 0) return status;
        // from the second increment on there is a rate; too slow to arrive: give up with a factor for the step
        if (k > 1) {
            double rate = s->s.norm / norm_old;
            theta = rate_old == 0 ? rate : sqrt(rate * rate_old);
            if (k == 2 && !settled && theta >= KD_DIVERGED) { // an increment of what was not settled tells no rate
                norm_old = fmax(s->s.norm, s->s.rule->uround);
                settled = !s->s.dae->unsettled;
                continue;
            }
            rate_old = rate;
            if (settled) s->s.theta = fmax(s->s.theta, theta); // the rate of the matrix alone
            if (theta >= KD_DIVERGED) return KD_ERR_NEWTON;
            s->s.contraction = theta / (1 - theta);
            double left = most - 1 - k; // iterations left: can they reach the stopping criterion?
            double predicted = s->s.contraction * s->s.norm * pow(theta, left) / s->s.newton_stop;
            if (k < most && predicted >= 1) {
                *shrink = 0.8 * pow(fmax(1e-4, fmin(20, predicted)), -1 / (4 + left));
                return KD_ERR_NEWTON;
            }
        }
        // a first increment far above expectation: the rate of before is not trusted
        if (k == 1 && s->s.norm > fmax(expected, KD_HARMLESS)) s->s.contraction = fmax(s->s.contraction, 1);
        if (k == 1) s->norm_first[i] = s->s.norm;
        norm_old = fmax(s->s.norm, s->s.rule->uround);
        settled = !s->s.dae->unsettled;
        if (settled && s->s.contraction * s->s.norm <= s->s.newton_stop) return KD_OK;
    }
    return KD_ERR_NEWTON;
}

// base = shift + h sum_j<i A_ij X_j'
static void set_base(kd_sdirk *s, int i)
{
    if (s->shift)
        memcpy(s->base, s->shift, (size_t)s->s.n * sizeof(double));
    else
        memset(s->base, 0, (size_t)s->s.n * sizeof(double));
    for (int j = 0; j < i; j++) {
        double a = s->s.h * s->table.A[i * s->table.width + j];
        for (int k = 0; k < s->s.nd; k++) s->base[k] += a * s->K[j][k];
    }
}

// The slowest rate of the stages; that of an earlier step if none needed a second iteration
static void take_rate(kd_sdirk *s)
{
    if (s->s.theta == 0) {
        s->s.theta = s->s.theta_seen * kd_one_step_growth_of_rate(&s->s, s->s.h_seen);
    } else {
        s->s.theta_seen = fmax(s->s.theta, KD_LEAST_RATE * fabs(s->s.rule->theta));
        s->s.h_seen = s->s.h;
    }
}

kd_status kd_sdirk_stages(kd_sdirk *s, double *shrink)
{
    const double growth = kd_one_step_growth_of_rate(&s->s, s->s.h_newton);
    *shrink = KD_NEWTON_SHRINK;
    s->s.theta = 0;
    s->s.iterations = 0;
    // rates of before, worse in a longer step
    s->s.contraction = fmin(fmax(s->s.contraction, 1), s->s.contraction * growth);
    s->s.h_newton = s->s.h;
    if (s->table.first > 0) { // X_1 = x_0
        memset(s->Z[0], 0, (size_t)s->s.n * sizeof(double));
        memcpy(s->K[0], s->s.xdot, (size_t)s->s.n * sizeof(double));
    }
    // stage after stage: each one uses the slopes of those before
    for (int i = s->table.first; i < s->table.stages; i++) {
        if (!s->goes_on) predict(s, i);
        set_base(s, i);
        kd_status status = newton(s, i, growth, shrink);
        if (status < 0) return status;
        // not f(X_i): see the head of this file
        for (int k = 0; k < s->s.nd; k++) s->K[i][k] = (s->Z[i][k] - s->base[k]) / (s->s.h * s->table.gamma);
    }
    take_rate(s);
    return KD_OK;
}

// err = (F_x' / (h gamma) + F_x) \ (F_x' / (h gamma)) d with the difference d = h sum (b3_i - b_i) X_i' of the embedded
// formula: d itself where components are slow, filtered where they are stiff. For x' = rhs F_x' is the identity; else
// the product comes from F(t_1, x_1, X_5' - d / (h gamma)), as F(t_1, x_1, X_5') = 0.
kd_status kd_sdirk_estimate(kd_sdirk *s, double *norm)
{
    const kd_dae_class *f = s->s.dae->methods;
    const double        inverse = 1 / (s->s.h * s->table.gamma);
    const bool          plain = f->rhs && !f->evaluate;
    const int           last = s->table.stages - 1;
    // d = h sum (b3_i - b_i) X_i', b the last row of A
    memset(s->s.err, 0, (size_t)s->s.n * sizeof(double));
    for (int i = 0; i <= last; i++) {
        double e = s->table.error * s->s.h * (s->table.b3[i] - s->table.A[last * s->table.width + i]);
        for (int k = 0; k < s->s.nd; k++) s->s.err[k] += e * s->K[i][k];
    }
    // x' = rhs: F_x' is the identity, and the right-hand side is d / (h gamma) itself
    if (plain) {
        for (int k = 0; k < s->s.n; k++) s->s.F[k] = -inverse * s->s.err[k];
        f->reduce(s->s.dae->impl, s->s.F, s->part, s->y);
    } else {
        stage_point(s, last);
        for (int k = 0; k < s->s.nd; k++) s->s.Xdot[k] -= inverse * s->s.err[k];
        kd_status status = kd_one_step_evaluate(&s->s, s->s.base.t + s->s.h, s->s.X, s->part, s->y);
        if (status < 0) return status;
    }
    // filtered by the matrix of the step
    f->solve_real(s->s.dae->impl, s->y);
    f->expand(s->s.dae->impl, s->part, s->y, s->s.err);
    *norm = kd_one_step_error_norm(&s->s, s->s.err);
    return isfinite(*norm) ? KD_OK : KD_ERR_NEWTON;
}

// ---- Rosenbrock -----------------------------------------------------------------------------------------------------

// f_t to K[0], by differences
static kd_status differentiate_by_time(kd_sdirk *s)
{
    // the step as it is in floating point: t + step - t may differ
    double t = s->s.base.t + TIME_INCREMENT * s->s.h, step = t - s->s.base.t;
    memset(s->K[0], 0, (size_t)s->s.n * sizeof(double));
    if (step == 0) return KD_OK;
    kd_eval answer = s->s.dae->methods->rhs(s->s.dae->impl, t, s->s.base.x, s->K[0]);
    if (answer != KD_EVAL_OK) return kd_one_step_eval_cause(&s->s, answer);
    for (int k = 0; k < s->s.n; k++) s->K[0][k] = (s->K[0][k] - s->s.xdot[k]) / step;
    return KD_OK;
}

// Point of stage i to X, f there to F
static kd_status stage_slope(kd_sdirk *s, int i)
{
    // x_0 + sum a_ij U_j; at x_0 itself f is known
    memcpy(s->s.X, s->s.base.x, (size_t)s->s.n * sizeof(double));
    for (int j = 0; j < i; j++)
        for (int k = 0; k < s->s.n; k++) s->s.X[k] += rodas_a[i][j] * s->Z[j][k];
    if (i == 0) {
        memcpy(s->s.F, s->s.xdot, (size_t)s->s.n * sizeof(double));
        return KD_OK;
    }
    kd_eval answer = s->s.dae->methods->rhs(s->s.dae->impl, s->s.base.t + rodas_c[i] * s->s.h, s->s.X, s->s.F);
    return answer == KD_EVAL_OK ? KD_OK : kd_one_step_eval_cause(&s->s, answer);
}

kd_status kd_sdirk_rosenbrock(kd_sdirk *s, double *norm)
{
    const kd_dae_class *f = s->s.dae->methods;
    s->s.iterations = 1;
    kd_status status = differentiate_by_time(s);
    for (int i = 0; i < RODAS_STAGES && status == KD_OK; i++) {
        status = stage_slope(s, i);
        if (status < 0) break;
        // (1/(h gamma) - J) U_i = f(X_i) + sum C_ij / h U_j + d_i h f_t
        for (int j = 0; j < i; j++)
            for (int k = 0; k < s->s.n; k++) s->s.F[k] += rodas_C[i][j] / s->s.h * s->Z[j][k];
        for (int k = 0; k < s->s.n; k++) s->s.F[k] = -s->s.F[k] - rodas_d[i] * s->s.h * s->K[0][k];
        f->reduce(s->s.dae->impl, s->s.F, s->part, s->y);
        f->solve_real(s->s.dae->impl, s->y);
        f->expand(s->s.dae->impl, s->part, s->y, s->Z[i]);
    }
    if (status < 0) return status;
    // the last U is the difference to the embedded formula
    memcpy(s->s.err, s->Z[RODAS_STAGES - 1], (size_t)s->s.n * sizeof(double));
    memcpy(s->s.dx, s->s.err, (size_t)s->s.n * sizeof(double));
    *norm = s->s.norm = kd_one_step_error_norm(&s->s, s->s.err);
    return isfinite(*norm) ? KD_OK : KD_ERR_NEWTON;
}

void kd_sdirk_end_point(kd_sdirk *s)
{
    const int last = s->table.stages - 1;
    if (s->s.rule->method != KD_SDIRK_ROSENBROCK) {
        for (int k = 0; k < s->s.n; k++) s->s.X[k] = s->s.base.x[k] + s->Z[last][k];
        memcpy(s->s.Xdot, s->K[last], (size_t)s->s.n * sizeof(double));
    } else { // X is the point of the last stage
        for (int k = 0; k < s->s.n; k++) s->s.X[k] += s->Z[RODAS_STAGES - 1][k];
        memcpy(s->s.Xdot, s->s.xdot, (size_t)s->s.n * sizeof(double));
    }
}
