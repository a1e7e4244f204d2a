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

static const double DIVERGED = 0.99;          // contraction factor beyond which Newton is given up
static const double FORGET_CONTRACTION = 0.8; // exponent that carries the contraction of one stage to the next
static const double SURPRISE = 10;            // first increment over what the last one promised: the rate is unknown
static const double HARMLESS = 0.1;           // a first increment of so few tolerances surprises nobody
static const double TIME_INCREMENT = 1e-5;    // part of h over which f is differenced by t

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
    double *z = s->Z[i], beta = s->xdot_known ? alpha[i][4] * s->h : 0;
    for (int k = 0; k < s->nd; k++) z[k] = beta * s->xdot[k];
    for (int k = s->nd; k < s->n; k++) z[k] = 0;
    for (int j = 0; j < i; j++)
        for (int k = 0; k < s->n; k++) z[k] += alpha[i][j] * s->Z[j][k];
}

// The smooth motion through the ends of the last step at time t to X
static void smooth_motion(kd_sdirk *s, double t)
{
    kd_sdirk_hermite(s, t, s->X);
    if (s->dae->methods->extrapolate)
        s->dae->methods->extrapolate(s->dae->impl, s->t_old, s->x_old, s->t, s->x, t, s->X);
}

// The first stage of the last step lies off the smooth motion: by h^2 gamma^2 x'' / 2 where the motion is not stiff, by
// nothing where it is. That hardly changes from step to step.
void kd_sdirk_remember(kd_sdirk *s)
{
    smooth_motion(s, s->t_old + sdirk_c[0] * (s->t - s->t_old));
    for (int k = 0; k < s->n; k++) s->deviation[k] = s->x_old[k] + s->Z[0][k] - s->X[k];
}

static void predict_from_past(kd_sdirk *s)
{
    double ratio = s->h / s->h_accepted;
    smooth_motion(s, s->t + sdirk_c[0] * s->h);
    for (int k = 0; k < s->n; k++) s->Z[0][k] = s->X[k] - s->x[k] + ratio * ratio * s->deviation[k];
}

// ESDIRK: Hermite's polynomial through points that are known, with values and derivatives there; number of points and
// the points: stages, -1 for the start of the last step. Other choices differ by a few percent.
static const int esdirk_nodes[7][4] = {{0}, {2, -1, 0}, {2, 0, 1}, {3, 0, 1, 2}, {3, 0, 1, 3}, {2, 0, 3}, {2, 0, 5}};

static void predict_by_nodes(kd_sdirk *s, int i, int count, const int *node)
{
    double       *z = s->Z[i], at[3]; // times of the nodes, from t_0 in units of h
    const double  theta = s->table.c[i];
    const double *Z[3], *K[3];
    memset(z, 0, (size_t)s->n * sizeof *z);
    for (int a = 0; a < count; a++) {
        const bool past = node[a] < 0;
        at[a] = past ? (s->t_old - s->t) / s->h : s->table.c[node[a]];
        Z[a] = past ? NULL : s->Z[node[a]];
        K[a] = past ? s->xdot_old : s->K[node[a]];
    }
    for (int a = 0; a < count; a++) {
        double l = 1, slope = 0; // Lagrange's polynomial of the node at theta, its derivative at the node
        for (int b = 0; b < count; b++) {
            if (b == a) continue;
            l *= (theta - at[b]) / (at[a] - at[b]);
            slope += 1 / (at[a] - at[b]);
        }
        const double value = (1 - 2 * slope * (theta - at[a])) * l * l, rate = s->h * (theta - at[a]) * l * l;
        for (int k = 0; k < s->n; k++) z[k] += value * (Z[a] ? Z[a][k] : s->x_old[k] - s->x[k]) + rate * K[a][k];
    }
}

static void predict_esdirk(kd_sdirk *s, int i)
{
    const int *nodes = esdirk_nodes[i];
    if (nodes[1] < 0 && !(s->has_past && s->old_known)) // x_0 + c h x_0'
        predict_by_nodes(s, i, 1, nodes + 2);
    else
        predict_by_nodes(s, i, nodes[0], nodes + 1);
}

static void predict(kd_sdirk *s, int i)
{
    if (s->opt.start_zero)
        memset(s->Z[i], 0, (size_t)s->n * sizeof(double));
    else if (s->table.first > 0)
        predict_esdirk(s, i);
    else if (i == 0 && s->has_past)
        predict_from_past(s);
    else
        predict_from_stages(s, i);
}

// ---- Newton's method ------------------------------------------------------------------------------------------------

// Right-hand side of the Newton system at (t, x, s->Xdot)
static kd_status evaluate(kd_sdirk *s, double t, const double *x, double *part)
{
    const kd_dae_class *f = s->dae->methods;
    kd_eval             answer;
    if (f->evaluate) {
        answer = f->evaluate(s->dae->impl, t, x, s->Xdot, part, s->y);
    } else {
        answer = f->residual(s->dae->impl, t, x, s->Xdot, s->F);
        if (answer == KD_EVAL_OK) f->reduce(s->dae->impl, s->F, part, s->y);
    }
    return answer == KD_EVAL_OK ? KD_OK : kd_sdirk_eval_cause(s, answer);
}

// X_i and X_i' to s->X, s->Xdot
static void stage_point(kd_sdirk *s, int i)
{
    const double *z = s->Z[i], *base = s->base, inverse = 1 / (s->h * s->table.gamma);
    for (int k = 0; k < s->n; k++) s->X[k] = s->x[k] + z[k];
    for (int k = 0; k < s->nd; k++) s->Xdot[k] = inverse * (z[k] - base[k]);
}

// One simplified Newton step of stage i: Z_i += dX. s->norm is the weighted size of the increment.
static kd_status newton_step(kd_sdirk *s, int i)
{
    kd_dae             *dae = s->dae;
    const kd_dae_class *f = dae->methods;
    stage_point(s, i);
    kd_status status = evaluate(s, s->t + s->table.c[i] * s->h, s->X, s->part);
    if (status < 0) return status;
    f->solve_real(dae->impl, s->y);
    f->expand(dae->impl, s->part, s->y, s->dx);
    double        sum = 0;
    const double *w = s->newton_weight;
    for (int k = 0; k < s->n; k++) {
        double d = s->dx[k] * w[k];
        s->Z[i][k] += s->dx[k];
        sum += d * d;
    }
    s->norm = sqrt(sum / s->nn);
    return isfinite(s->norm) ? KD_OK : KD_ERR_NEWTON;
}

// The rate is (matrix) \ (error of F_x): it grows with h^2 where F_x has a wrong stiffness. One that was measured in a
// short step says nothing about a long one.
static double growth_of_rate(const kd_sdirk *s, double h)
{
    double ratio = s->h / h;
    return ratio > 1 ? ratio * ratio : 1;
}

void kd_sdirk_forget_contraction(kd_sdirk *s)
{
    s->contraction = 1;
    s->h_newton = INFINITY;
    memset(s->norm_first, 0, sizeof s->norm_first);
}

// Newton iteration of stage i. The rate of convergence tells when it is done and, early, that it will not be.
static kd_status newton(kd_sdirk *s, int i, double growth, double *shrink)
{
    int    most = s->opt.max_newton;
    double norm_old = 0, rate_old = 0, theta = 0;
    double expected = SURPRISE * s->norm_first[i] * growth; // starting values of stages have order 1
    s->contraction = pow(fmax(s->contraction, s->opt.uround), FORGET_CONTRACTION);
    for (int k = 1; k <= most; k++) {
        kd_status status = newton_step(s, i);
        if (k > s->iterations) s->iterations = k;
        if (status < 0) return status;
        if (k > 1) {
            double rate = s->norm / norm_old;
            theta = k == 2 ? rate : sqrt(rate * rate_old);
            rate_old = rate;
            s->theta = fmax(s->theta, theta);
            if (theta >= DIVERGED) return KD_ERR_NEWTON;
            s->contraction = theta / (1 - theta);
            double left = most - 1 - k; // iterations left: can they reach the stopping criterion?
            double predicted = s->contraction * s->norm * pow(theta, left) / s->newton_stop;
            if (k < most && predicted >= 1) {
                *shrink = 0.8 * pow(fmax(1e-4, fmin(20, predicted)), -1 / (4 + left));
                return KD_ERR_NEWTON;
            }
        }
        if (k == 1 && s->norm > fmax(expected, HARMLESS)) s->contraction = fmax(s->contraction, 1);
        if (k == 1) s->norm_first[i] = s->norm;
        norm_old = fmax(s->norm, s->opt.uround);
        if (s->contraction * s->norm <= s->newton_stop) return KD_OK;
    }
    return KD_ERR_NEWTON;
}

// base = h sum_j<i A_ij X_j'
static void set_base(kd_sdirk *s, int i)
{
    memset(s->base, 0, (size_t)s->n * sizeof(double));
    for (int j = 0; j < i; j++) {
        double a = s->h * s->table.A[i * s->table.width + j];
        for (int k = 0; k < s->nd; k++) s->base[k] += a * s->K[j][k];
    }
}

// The slowest rate of the stages; that of an earlier step if none needed a second iteration
static void take_rate(kd_sdirk *s)
{
    if (s->theta == 0) {
        s->theta = s->theta_seen * growth_of_rate(s, s->h_seen);
    } else {
        s->theta_seen = fmax(s->theta, KD_SDIRK_LEAST_RATE * fabs(s->opt.theta));
        s->h_seen = s->h;
    }
}

kd_status kd_sdirk_stages(kd_sdirk *s, double *shrink)
{
    const double growth = growth_of_rate(s, s->h_newton);
    *shrink = KD_SDIRK_SHRINK;
    s->theta = 0;
    s->iterations = 0;
    s->contraction = fmin(fmax(s->contraction, 1), s->contraction * growth);
    s->h_newton = s->h;
    if (s->table.first > 0) { // X_1 = x_0
        memset(s->Z[0], 0, (size_t)s->n * sizeof(double));
        memcpy(s->K[0], s->xdot, (size_t)s->n * sizeof(double));
    }
    for (int i = s->table.first; i < s->table.stages; i++) {
        predict(s, i);
        set_base(s, i);
        kd_status status = newton(s, i, growth, shrink);
        if (status < 0) return status;
        for (int k = 0; k < s->nd; k++) s->K[i][k] = (s->Z[i][k] - s->base[k]) / (s->h * s->table.gamma);
    }
    take_rate(s);
    return KD_OK;
}

// err = (F_x' / (h gamma) + F_x) \ (F_x' / (h gamma)) d with the difference d = h sum (b3_i - b_i) X_i' of the embedded
// formula: d itself where components are slow, filtered where they are stiff. For x' = rhs F_x' is the identity; else
// the product comes from F(t_1, x_1, X_5' - d / (h gamma)), as F(t_1, x_1, X_5') = 0.
kd_status kd_sdirk_estimate(kd_sdirk *s, double *norm)
{
    const kd_dae_class *f = s->dae->methods;
    const double        inverse = 1 / (s->h * s->table.gamma);
    const bool          plain = f->rhs && !f->evaluate;
    const int           last = s->table.stages - 1;
    memset(s->err, 0, (size_t)s->n * sizeof(double));
    for (int i = 0; i <= last; i++) {
        double e = s->table.error * s->h * (s->table.b3[i] - s->table.A[last * s->table.width + i]);
        for (int k = 0; k < s->nd; k++) s->err[k] += e * s->K[i][k];
    }
    if (plain) {
        for (int k = 0; k < s->n; k++) s->F[k] = -inverse * s->err[k];
        f->reduce(s->dae->impl, s->F, s->part, s->y);
    } else {
        stage_point(s, last);
        for (int k = 0; k < s->nd; k++) s->Xdot[k] -= inverse * s->err[k];
        kd_status status = evaluate(s, s->t + s->h, s->X, s->part);
        if (status < 0) return status;
    }
    f->solve_real(s->dae->impl, s->y);
    f->expand(s->dae->impl, s->part, s->y, s->err);
    *norm = kd_sdirk_error_norm(s, s->err);
    return isfinite(*norm) ? KD_OK : KD_ERR_NEWTON;
}

// ---- Rosenbrock -----------------------------------------------------------------------------------------------------

// f_t to K[0], by differences
static kd_status differentiate_by_time(kd_sdirk *s)
{
    double t = s->t + TIME_INCREMENT * s->h, step = t - s->t;
    memset(s->K[0], 0, (size_t)s->n * sizeof(double));
    if (step == 0) return KD_OK;
    kd_eval answer = s->dae->methods->rhs(s->dae->impl, t, s->x, s->K[0]);
    if (answer != KD_EVAL_OK) return kd_sdirk_eval_cause(s, answer);
    for (int k = 0; k < s->n; k++) s->K[0][k] = (s->K[0][k] - s->xdot[k]) / step;
    return KD_OK;
}

// Point of stage i to X, f there to F
static kd_status stage_slope(kd_sdirk *s, int i)
{
    memcpy(s->X, s->x, (size_t)s->n * sizeof(double));
    for (int j = 0; j < i; j++)
        for (int k = 0; k < s->n; k++) s->X[k] += rodas_a[i][j] * s->Z[j][k];
    if (i == 0) {
        memcpy(s->F, s->xdot, (size_t)s->n * sizeof(double));
        return KD_OK;
    }
    kd_eval answer = s->dae->methods->rhs(s->dae->impl, s->t + rodas_c[i] * s->h, s->X, s->F);
    return answer == KD_EVAL_OK ? KD_OK : kd_sdirk_eval_cause(s, answer);
}

kd_status kd_sdirk_rosenbrock(kd_sdirk *s, double *norm)
{
    const kd_dae_class *f = s->dae->methods;
    s->iterations = 1;
    kd_status status = differentiate_by_time(s);
    for (int i = 0; i < RODAS_STAGES && status == KD_OK; i++) {
        status = stage_slope(s, i);
        if (status < 0) break;
        for (int j = 0; j < i; j++)
            for (int k = 0; k < s->n; k++) s->F[k] += rodas_C[i][j] / s->h * s->Z[j][k];
        for (int k = 0; k < s->n; k++) s->F[k] = -s->F[k] - rodas_d[i] * s->h * s->K[0][k];
        f->reduce(s->dae->impl, s->F, s->part, s->y);
        f->solve_real(s->dae->impl, s->y);
        f->expand(s->dae->impl, s->part, s->y, s->Z[i]);
    }
    if (status < 0) return status;
    memcpy(s->err, s->Z[RODAS_STAGES - 1], (size_t)s->n * sizeof(double));
    memcpy(s->dx, s->err, (size_t)s->n * sizeof(double));
    *norm = s->norm = kd_sdirk_error_norm(s, s->err);
    return isfinite(*norm) ? KD_OK : KD_ERR_NEWTON;
}

void kd_sdirk_end_point(kd_sdirk *s)
{
    const int last = s->table.stages - 1;
    if (s->opt.method != KD_SDIRK_ROSENBROCK) {
        for (int k = 0; k < s->n; k++) s->X[k] = s->x[k] + s->Z[last][k];
        memcpy(s->Xdot, s->K[last], (size_t)s->n * sizeof(double));
    } else { // X is the point of the last stage
        for (int k = 0; k < s->n; k++) s->X[k] += s->Z[RODAS_STAGES - 1][k];
        memcpy(s->Xdot, s->xdot, (size_t)s->n * sizeof(double));
    }
}
