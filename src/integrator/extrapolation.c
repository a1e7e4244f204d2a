// extrapolation.c: extrapolation of the explicit midpoint rule on x' = f(t, x) (Gragg, Bulirsch, Stoer), with control
// of order and step size by work per unit step (Deuflhard) and dense output (Hairer, Ostermann). Hairer, Norsett,
// Wanner, Solving Ordinary Differential Equations I (2nd ed., HNW), II.9.
//
// Column j divides the step in n_j parts, sigma = h / n_j, and works with d_i = x_i - x_0:
//
//     d_1 = sigma f(t_0, x_0),   d_i+1 = d_i-1 + 2 sigma f_i,   f_i = f(t_0 + i sigma, x_0 + d_i),
//     T_j1 = (d_n + d_n-1 + sigma f_n) / 2,   T_j,l+1 = T_jl + (T_jl - T_j-1,l) / ((n_j / n_j-l)^2 - 1)
//
// The n_j are even, so that errors have even powers of sigma only: x_0 + T_kk is of order 2 k, and |T_kk - T_k,k-1|
// estimates the error of the order 2 k - 2. Projection, f of the next step, failures: explicit.c.
// Method: docs/methods/extrapolation.md
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "integrator/explicit_impl.h"

#define COLUMNS (KD_EXTRAPOLATION_ORDER_MAX / 2)
#define FIRST_SAFETY 0.65 // h_k = h safety (FIRST_SAFETY / err_k)^(1 / (2 k - 1)) (HNW Eq. 9.24 and ODEX)
#define SAFETY 0.94       // default of the option
#define LIMIT 0.02        // LIMIT^(1 / (2 k - 1)) / FALL <= h_k / h <= LIMIT^(-1 / (2 k - 1)) (HNW Eq. 9.24)
#define FALL 4
#define LOWER 0.8        // order is lowered if the work per unit step is so much less
#define RAISE 0.9        // order is raised if the last column made it so much less
#define DIVERGES 4       // growth of the error from a column to the next that ends an attempt
#define INSIDE 10        // error of the dense output over that of the step that is still accepted (ODEX)
#define LEAST_INSIDE 0.1 // factor of the step after a larger one
#define AT_BORDER 0.9    // part of the border of stability that counts as reaching it

// f at all points of a column whose midpoint is an odd one, n = 4 l + 2, for dense output
typedef struct member {
    double *middle; // (n) d at the midpoint
    double *f;      // (4 l + 1) x (n) f at the points 1 ..
    bool    known;  // for the present step
} member;

typedef struct kd_extrapolation {
    kd_explicit frame;                // first: its address is that of the whole
    bool        constant;             // order
    int         kmax;                 // columns that there are
    int         k, k_first;           // columns aimed at, in the first step
    int         columns;              // of the present attempt
    int         parts[COLUMNS];       // n_j
    double      work[COLUMNS];        // evaluations of a step with columns 0 .. j
    double      border[COLUMNS];      // h rho at the end of stability on the negative axis
    double      error[COLUMNS];       // of the present attempt, by columns
    double      h_of[COLUMNS];        // step size that each of them proposes
    double      cost[COLUMNS];        // work per unit step
    double     *T[COLUMNS];           // (n) T[i] = T_j,j-i+1 of the last column j
    double     *X, *f, *before, *now; // (n) a point, f there; d_i-1, d_i
    double     *lower;                // (n) x + T_k,k-1
    member      member[COLUMNS];
    bool        watches_inside; // the error of the dense output is controlled
    double      inside;         // that error
    bool        q_known;        // for the present step
    int         degree;         // of q
    double     *q[2 * COLUMNS]; // (n) of the dense output
} kd_extrapolation;

static kd_extrapolation *whole(kd_explicit *frame)
{
    return (kd_extrapolation *)frame;
}

// ---- columns --------------------------------------------------------------------------------------------------------

// T_j1 of a step from x; keep: d at the midpoint and f at all points, NULL: not wanted
static kd_status column(kd_extrapolation *self, double t, const double *x, double h, int parts, member *keep,
                        double *out)
{
    const int    n = self->frame.n;
    const double sigma = h / parts;
    double      *before = self->before, *now = self->now;
    // d_0 = 0, and the first half of a midpoint step by Euler: d_1 = sigma f_0
    for (int i = 0; i < n; i++) {
        before[i] = 0;
        now[i] = sigma * self->frame.k_start[i];
    }
    for (int step = 1; step <= parts; step++) {
        // f of the last point is not part of the polynomial at the midpoint: scratch
        double *f = keep && step < parts ? keep->f + (size_t)(step - 1) * (size_t)n : self->f;
        for (int i = 0; i < n; i++) self->X[i] = x[i] + now[i];
        kd_status status = kd_explicit_rhs(&self->frame, t + step * sigma, self->X, f);
        if (status < 0) return status;
        if (keep && 2 * step == parts) memcpy(keep->middle, now, (size_t)n * sizeof *now);
        // d_(i+1) = d_(i-1) + 2 sigma f_i
        for (int i = 0; i < n && step < parts; i++) {
            double next = before[i] + 2 * sigma * f[i];
            before[i] = now[i];
            now[i] = next;
        }
    }
    // Gragg's smoothing: the mean of both ends of the leapfrog removes its oscillation
    for (int i = 0; i < n; i++) out[i] = 0.5 * (now[i] + before[i] + sigma * self->f[i]);
    if (keep) keep->known = true;
    return KD_OK;
}

// member that a column fills; NULL: its midpoint is an even point
static member *member_of(kd_extrapolation *self, int parts)
{
    return parts % 4 == 2 ? &self->member[parts / 4] : NULL;
}

// high += one more order from low, the value with ratio times as many parts
static void raise_order(const kd_extrapolation *self, const double *low, double *high, double ratio)
{
    // T_(j,l+1) = T_jl + (T_jl - T_(j-1,l)) / (ratio^2 - 1)
    const double divisor = ratio * ratio - 1;
    for (int i = 0; i < self->frame.n; i++) high[i] = low[i] + (low[i] - high[i]) / divisor;
}

// Aitken and Neville: T[j] = T_j1 is new, T[j-1] .. T[0] become T_j2 .. T_jj
static void extrapolate(kd_extrapolation *self, int j)
{
    for (int l = j; l > 0; l--)
        raise_order(self, self->T[l], self->T[l - 1], (double)self->parts[j] / self->parts[l - 1]);
}

// Root mean square of the errors in terms over the scales, by which they are divided
static double norm(const kd_explicit *frame, double *terms)
{
    double sum = 0;
    int    counted = 0;
    for (int i = 0; i < frame->n; i++) {
        bool counts = frame->dae->controlled[i];
        terms[i] = counts ? terms[i] / kd_explicit_scale(frame, i) : 0;
        sum += terms[i] * terms[i];
        counted += counts;
    }
    return counted > 0 ? sqrt(sum / counted) : 0;
}

// x_new, error and proposed step of column j
static void judge(kd_extrapolation *self, int j)
{
    kd_explicit *frame = &self->frame;
    // T[0] is T_jj, the best value so far, T[1] = T_(j,j-1) the one below: their difference is the error
    for (int i = 0; i < frame->n; i++) frame->x_new[i] = frame->base.x[i] + self->T[0][i];
    if (j == 0) return;
    for (int i = 0; i < frame->n; i++) frame->err[i] = self->T[0][i] - self->T[1][i];
    // h_j = h safety (0.65 / err)^(1 / (2 j + 1)), within bounds
    double power = 1.0 / (2 * j + 1), most = pow(LIMIT, -power), err = self->error[j] = norm(frame, frame->err);
    double factor = err > 0 ? frame->safety * pow(FIRST_SAFETY / err, power) : most;
    double h = frame->h * fmax(1 / (FALL * most), fmin(most, factor));
    self->h_of[j] = frame->base.opt.h_max > 0 ? fmin(h, frame->base.opt.h_max) : h;
    // the columns so far per unit of time: what best_columns compares
    self->cost[j] = self->work[j] / self->h_of[j];
}

static kd_status add_column(kd_extrapolation *self)
{
    kd_explicit *frame = &self->frame;
    int          j = self->columns, parts = self->parts[j];
    kd_status status = column(self, frame->base.t, frame->base.x, frame->h, parts, member_of(self, parts), self->T[j]);
    if (status < 0) return status;
    extrapolate(self, j);
    judge(self, j);
    self->columns++;
    frame->order = 2 * self->columns;
    return KD_OK;
}

// ---- the polynomial of a step ---------------------------------------------------------------------------------------

// out = h^c x^(c)(t + h / 2) / c! from member l: its value, or central differences of f over 2 sigma (HNW Eq. 9.39)
static void derivative(const kd_extrapolation *self, int l, int c, double h, double *out)
{
    const size_t  n = (size_t)self->frame.n;
    const double *f = self->member[l].f + (size_t)(2 * l) * n; // at the midpoint
    double        weight = c > 0 ? h / c : 0;                  // h / c! (h / (2 sigma))^(c - 1)
    // h / (2 sigma) = 2 l + 1 in member l
    for (int m = 1; m < c; m++) weight *= (2 * l + 1.0) / m;
    memcpy(out, self->member[l].middle, n * sizeof *out);
    if (c > 0) memset(out, 0, n * sizeof *out);
    for (int m = 0; m < c; m++) { // (-1)^m (c - 1 over m) f_{middle + c - 1 - 2 m}
        const double *at = f + (ptrdiff_t)n * (c - 1 - 2 * m);
        for (size_t i = 0; i < n; i++) out[i] += weight * at[i];
        weight *= -(double)(c - 1 - m) / (m + 1);
    }
}

// The same, extrapolated over the members that have points enough, in T of the first of them
static const double *middle_derivative(kd_extrapolation *self, int c, double h)
{
    const int first = c / 2;
    // member l has 4 l + 1 points, enough for derivatives up to 2 l + 1: the first one that has them is c / 2
    for (int l = first; l < self->columns; l++) {
        derivative(self, l, c, h, self->T[l]);
        for (int m = l; m > first; m--) raise_order(self, self->T[m], self->T[m - 1], (4 * l + 2.0) / (4 * m - 2.0));
    }
    return self->T[first];
}

// x(s) = Hermite(s) + s^2 (1 - s)^2 q(s - 1/2) from x0 to x1, where q gives the derivatives at the midpoint: with u =
// s - 1/2 and x(s) - Hermite(s) = sum r_c u^c, (1/16 - u^2 / 2 + u^4) sum q_c u^c = sum r_c u^c. Overwrites T.
static void make_polynomial(kd_extrapolation *self, const double *x0, const double *x1, double h)
{
    const kd_explicit *frame = &self->frame;
    self->degree = 2 * self->columns - 1;
    // coefficients of increasing order: each one needs q_(c-2) and q_(c-4) of before
    for (int c = 0; c <= self->degree; c++) {
        const double *r = middle_derivative(self, c, h);
        for (int i = 0; i < frame->n; i++) {
            // h^c / c! times the derivative of the Hermite polynomial at the midpoint
            double D = x1[i] - x0[i], p0 = h * frame->k_start[i], p1 = h * frame->k_end[i];
            double hermite = c == 0   ? D / 2 + (p0 - p1) / 8
                             : c == 1 ? 1.5 * D - (p0 + p1) / 4
                             : c == 2 ? (p1 - p0) / 2
                             : c == 3 ? p0 + p1 - 2 * D
                                      : 0;
            double below = (c > 1 ? self->q[c - 2][i] / 2 : 0) - (c > 3 ? self->q[c - 4][i] : 0);
            self->q[c][i] = 16 * (r[i] - hermite + below);
        }
    }
    self->q_known = true;
}

// Largest value of s^2 (1 - s)^2 |u|^c, which is at u^2 = c / (4 (c + 4))
static double bubble_most(double c)
{
    return pow(0.5 * sqrt(c / (c + 4)), c) / ((c + 4) * (c + 4));
}

// The polynomial of the attempt; its last two terms stand for its error (ODEX takes the last one, which a jump of f can
// leave at 0), where it is too large in err as well
static double error_inside(kd_extrapolation *self)
{
    kd_explicit *frame = &self->frame;
    // both terms are bounded by the largest value of their bubble function in the step
    make_polynomial(self, frame->base.x, frame->x_new, frame->h);
    const double  most[2] = {bubble_most(self->degree - 1), bubble_most(self->degree)};
    const double *q[2] = {self->q[self->degree - 1], self->q[self->degree]};
    for (int i = 0; i < frame->n; i++) self->X[i] = fabs(most[0] * q[0][i]) + fabs(most[1] * q[1][i]);
    double error = norm(frame, self->X);
    if (error > INSIDE) memcpy(frame->err, self->X, (size_t)frame->n * sizeof *self->X);
    return error;
}

// ---- the step -------------------------------------------------------------------------------------------------------

// Errors fall by about (n_1 / n_j+1)^2 with column j: can the columns k and k + 1 still bring it below 1 (HNW II.9)?
static bool is_hopeless(const kd_extrapolation *self, double err)
{
    int    c = self->columns, k = self->k, next = k < self->kmax ? self->parts[k] : 0;
    double first = self->parts[0];
    // no column left, or not a number: more columns do not help
    if (!isfinite(err) || c == self->kmax || c > k) return true;
    if (c > 2 && err > fmax(1, DIVERGES * self->error[c - 2])) return true;
    // before column k: k and k + 1 may still follow; at k: only k + 1
    if (c == k - 1) return err > pow((next > 0 ? next : first) * self->parts[k - 1] / (first * first), 2);
    if (c == k) return err > pow(next / first, 2);
    return false;
}

// Columns until the error is small enough, from k - 1 on; in the first and in the last step, whose size says little
// about k, from 2 on
static kd_status add_columns(kd_extrapolation *self, double *err)
{
    bool any = self->frame.since_start == 0 || self->frame.to_end;
    for (;;) {
        kd_status status = add_column(self);
        if (status < 0) return status;
        int c = self->columns;
        *err = c > 1 ? self->error[c - 1] : 0;
        // constant order: k columns; otherwise as soon as the error is small enough, where that may be asked
        if (self->constant ? c == self->k : c > 1 && *err < 1 && (any || c >= self->k - 1)) return KD_OK;
        if (!self->constant && c > 1 && is_hopeless(self, *err)) return KD_OK;
    }
}

static kd_status solve(kd_explicit *frame, double *err)
{
    kd_extrapolation *self = whole(frame);
    // nothing of the attempt before counts
    self->columns = 0;
    self->inside = 0;
    self->q_known = false;
    for (int l = 0; l < COLUMNS; l++) self->member[l].known = false;
    kd_status status = add_columns(self, err);
    if (status < 0 || !(*err < 1 || frame->base.opt.h_fixed > 0)) return status;
    // the value below the best one at t + h, for the test of stiffness
    for (int i = 0; i < frame->n && self->columns > 1; i++) self->lower[i] = frame->base.x[i] + self->T[1][i];
    if (!self->watches_inside) return KD_OK;
    // its polynomial is part of the step: one that errs inside makes the step too long
    status = kd_explicit_evaluate_end(frame);
    if (status < 0) return status;
    self->inside = error_inside(self);
    if (!(self->inside <= INSIDE)) *err = self->inside;
    return KD_OK;
}

// ---- order and step size --------------------------------------------------------------------------------------------

// Number of columns with the least work per unit step, among those that were computed; one more where the last one paid
static int best_columns(const kd_extrapolation *self)
{
    int           c = self->columns, k, most = self->kmax;
    const double *cost = self->cost; // cost[c - 1]: of c columns
    if (c == 2) return self->frame.rejected ? 2 : 3 < most ? 3 : most;
    // as many columns as planned, or fewer: is one less cheaper, did the last one pay?
    if (c <= self->k) {
        k = c;
        if (cost[c - 2] < LOWER * cost[c - 1]) k = c - 1;
        if (cost[c - 1] < RAISE * cost[c - 2]) k = c + 1;
    } else {
        // one more than planned was needed: the plan, one less, or what it took
        k = c - 1;
        if (c > 3 && cost[c - 3] < LOWER * cost[c - 2]) k = c - 2;
        if (cost[c - 1] < RAISE * cost[k - 1]) k = c;
    }
    return k < most ? k : most;
}

// Step size that the error of the polynomial allows
static double size_inside(const kd_extrapolation *self)
{
    double factor = self->inside > 0 ? pow(self->inside, -1.0 / (self->degree + 4)) : INFINITY;
    return self->frame.h * fmax(factor, LEAST_INSIDE);
}

// Step size for k columns, which may be one more than were computed: h in proportion to the work (HNW Eq. 9.27)
static double size_for(const kd_extrapolation *self, int k)
{
    int c = self->columns;
    return k <= c ? self->h_of[k - 1] : self->h_of[c - 1] * self->work[k - 1] / self->work[c - 1];
}

static double proposal(kd_explicit *frame, double err)
{
    // which number of columns is the cheapest for the next step?
    kd_extrapolation *self = whole(frame);
    int               k = self->constant ? self->k : best_columns(self);
    (void)err;
    // no growth of order or size right after a rejection
    if (frame->rejected && k > self->columns) k = self->columns;
    double h = fmin(size_for(self, k), size_inside(self));
    if (frame->rejected) h = fmin(h, frame->h);
    bool cut = !frame->rejected && frame->h < frame->h_next; // by t_end: says nothing against what was planned
    if (!cut || h < frame->h || h > frame->h_next) self->k = k;
    return h;
}

static double shrink(kd_explicit *frame, double err)
{
    kd_extrapolation *self = whole(frame);
    (void)err;
    // the polynomial was to blame, or the error of the columns
    if (self->inside > INSIDE) return fmin(size_inside(self) / frame->h, frame->safety);
    if (self->k > self->columns) self->k = self->columns;
    if (!self->constant && self->k > 2 && self->cost[self->k - 2] < LOWER * self->cost[self->k - 1]) self->k--;
    return fmin(self->h_of[self->k - 1] / frame->h, frame->safety);
}

// ---- stiffness ------------------------------------------------------------------------------------------------------

// h |df| / |dx| between the last two approximations at t + h, whose difference is that of the stiff components where
// stability limits the step (HNW II, IV.2); one more evaluation
static kd_status radius(kd_explicit *frame, double *out)
{
    kd_extrapolation *self = whole(frame);
    if (self->columns < 2) return KD_ERR_RETRY_FAILED;
    // f at the lower approximation; at the better one it is known
    kd_status status = kd_explicit_rhs(frame, frame->base.t + frame->h, self->lower, self->f);
    if (status < 0) return status;
    *out = kd_explicit_radius(frame, self->f, self->lower) / (AT_BORDER * self->border[self->columns - 1]);
    return KD_OK;
}

// Growth of x' = -z x in a step with columns 0 .. j
static double growth(const kd_extrapolation *self, double z, int j)
{
    double T[COLUMNS];
    // the same column for x' = -z x with x_0 = 1, and the same table: real numbers instead of vectors
    for (int c = 0; c <= j; c++) {
        double sigma = z / self->parts[c], before = 1, now = 1 - sigma;
        for (int i = 1; i < self->parts[c]; i++) {
            double next = before - 2 * sigma * now;
            before = now;
            now = next;
        }
        T[c] = 0.5 * (now + before - sigma * now);
        for (int l = c; l > 0; l--) {
            double ratio = (double)self->parts[c] / self->parts[l - 1];
            T[l - 1] = T[l] + (T[l] - T[l - 1]) / (ratio * ratio - 1);
        }
    }
    return fabs(T[0]);
}

// ---- dense output ---------------------------------------------------------------------------------------------------

static kd_status prepare_dense(kd_explicit *frame)
{
    kd_extrapolation *self = whole(frame);
    if (self->q_known) return KD_OK;
    // harmonic sequence: members of the midpoint sequence that the step did not need are computed now
    for (int l = 0; l < self->columns; l++) {
        if (self->member[l].known) continue;
        kd_status status =
            column(self, frame->base.t_old, frame->x_old, frame->h_dense, 4 * l + 2, &self->member[l], self->T[0]);
        if (status < 0) return status;
    }
    make_polynomial(self, frame->x_old, frame->base.x, frame->h_dense);
    return KD_OK;
}

static void interpolate(const kd_explicit *frame, double s, double *x)
{
    const kd_extrapolation *self = (const kd_extrapolation *)frame;
    const double            h = frame->h_dense, u = s - 0.5, bubble = s * s * (1 - s) * (1 - s);
    for (int i = 0; i < frame->n; i++) {
        // Hermite through both ends, plus the bubble times q, by Horner's scheme
        double D = frame->base.x[i] - frame->x_old[i], start = h * frame->k_start[i] - D, q = 0;
        for (int c = self->degree; c >= 0; c--) q = self->q[c][i] + u * q;
        x[i] = frame->x_old[i] + s * (D + (1 - s) * (start + s * (D - h * frame->k_end[i] - start))) + bubble * q;
    }
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

static const kd_explicit_class extrapolation_method = {
    .solve = solve,
    .proposal = proposal,
    .shrink = shrink,
    .radius = radius,
    .prepare_dense = prepare_dense,
    .interpolate = interpolate,
};

#define O kd_integrator_options
static const char *const SEQUENCES[] = {"chosen", "harmonic", "midpoint", NULL};
// clang-format off
static const kd_option options[] = {
    {KD_REAL("extrapolation.safety", O, extrapolation.safety, 0, 0, 1, "factor of the proposed step; 0: 0.94"), .below = true},
    {KD_WHOLE("extrapolation.order_max", O, extrapolation.order_max, 18, 4, KD_EXTRAPOLATION_ORDER_MAX, "highest order; odd ones count as the even one below")},
    {KD_WHOLE("extrapolation.order", O, extrapolation.order, 0, 0, KD_EXTRAPOLATION_ORDER_MAX, "constant order, even, 2 with steps.h_fixed only; 0: chosen from step to step by work per unit step, with steps.h_fixed order_max")},
    {KD_WORD("extrapolation.sequence", O, extrapolation.sequence, KD_SEQUENCE_CHOSEN, SEQUENCES, "substeps of the columns: harmonic (2, 4, 6, 8, ...) is the least work, midpoint (2, 6, 10, 14, ...) has dense output without further evaluations; chosen: harmonic, midpoint where dense output is wanted often")},
    {KD_WHOLE("extrapolation.stiff_steps", O, extrapolation.stiff_steps, 20, 0, INFINITY, "stiffness is looked for every so many steps; 0: never")},
};
// clang-format on
#undef O

static kd_status check(const kd_dae *dae, const kd_integrator_options *opt, char *message, size_t size)
{
    const kd_extrapolation_options *o = &opt->extrapolation;
    const int                       least = opt->h_fixed > 0 ? 2 : 4;
    if (o->order != 0 && (o->order % 2 != 0 || o->order > o->order_max || o->order < least)) {
        kd_text(message, size, "extrapolation: order = %d must be even, at least %d and at most order_max = %d",
                o->order, least, o->order_max);
        return KD_ERR_ARGUMENT;
    }
    return kd_explicit_check(dae, kd_extrapolation_class.info.word, "ordinary differential equations", message, size);
}

// Columns, their work and stability; arrays
static void init_columns(kd_extrapolation *self)
{
    const kd_integrator_options    *opt = &self->frame.base.opt;
    const kd_extrapolation_options *o = &opt->extrapolation;
    kd_arena                       *arena = &self->frame.base.arena;
    int                             n = self->frame.n, digits = (int)(1.5 - 0.6 * log10(opt->rtol));
    bool midpoint = o->sequence == KD_SEQUENCE_MIDPOINT || (o->sequence == KD_SEQUENCE_CHOSEN && opt->dense_often);
    self->kmax = o->order_max / 2;
    self->constant = o->order > 0 || opt->h_fixed > 0;
    self->watches_inside = midpoint && !(opt->h_fixed > 0);
    int most = self->kmax;
    // more digits, more columns at first: 1.5 - 0.6 log10(rtol)
    self->k_first = digits < 2 ? 2 : digits < most ? digits : most; // ODEX
    if (self->constant) self->k_first = o->order > 0 ? o->order / 2 : self->kmax;
    // the table of columns: substeps, evaluations up to there, end of stability, found by growing z
    for (int j = 0; j < self->kmax; j++) {
        self->parts[j] = midpoint ? 4 * j + 2 : 2 * j + 2;
        self->work[j] = (j > 0 ? self->work[j - 1] : 1) + self->parts[j];
        for (self->border[j] = 0.5; growth(self, self->border[j], j) <= 1;) self->border[j] += 0.01;
        self->T[j] = kd_cut_double(arena, n);
        self->member[j].middle = kd_cut_double(arena, n);
        self->member[j].f = kd_cut_matrix(arena, 4 * j + 1, n);
        self->q[2 * j] = kd_cut_double(arena, n);
        self->q[2 * j + 1] = kd_cut_double(arena, n);
    }
    self->X = kd_cut_double(arena, n);
    self->f = kd_cut_double(arena, n);
    self->before = kd_cut_double(arena, n);
    self->now = kd_cut_double(arena, n);
    self->lower = kd_cut_double(arena, n);
    self->frame.k_start = kd_cut_double(arena, n);
    self->frame.k_end = kd_cut_double(arena, n);
}

static kd_status init(kd_integrator *base)
{
    kd_extrapolation               *self = (kd_extrapolation *)base;
    const kd_extrapolation_options *o = &base->opt.extrapolation;
    kd_explicit_init(&self->frame, &extrapolation_method);
    self->frame.safety = o->safety > 0 ? o->safety : SAFETY;
    self->frame.stiff_steps = o->stiff_steps;
    init_columns(self);
    return KD_OK;
}

static kd_status restart(kd_integrator *base, double t, const double *x, kd_restart mode)
{
    kd_extrapolation *self = (kd_extrapolation *)base;
    if (mode == KD_RESTART_FRESH) {
        // the order of before may go on over a kink; a fresh start does not know it
        self->k = self->k_first;
        self->frame.order = 2 * self->k;
    }
    return kd_explicit_restart(base, t, x, mode);
}

// i / n_j of the first columns
static const double nodes[] = {0.0, 1.0 / 6, 0.25, 1.0 / 3, 0.5, 2.0 / 3, 0.75, 5.0 / 6};

static void archive(kd_integrator *base, kd_archive *a)
{
    kd_extrapolation *self = (kd_extrapolation *)base;
    int              *column[] = {&self->k, &self->k_first, &self->columns};
    kd_explicit_archive(base, a);
    for (int i = 0; i < 3; i++) kd_archive_int(a, column[i], 0, self->kmax);
    double *each[] = {self->error, self->h_of, self->cost};
    for (int i = 0; i < 3; i++) kd_archive_doubles(a, each[i], COLUMNS);
    for (int i = 0; i < COLUMNS; i++) kd_archive_bool(a, &self->member[i].known);
    kd_archive_real(a, &self->inside);
    kd_archive_bool(a, &self->q_known);
    kd_archive_int(a, &self->degree, 0, 2 * COLUMNS - 1);
}

const kd_integrator_class kd_extrapolation_class = {
    .info = {.word = "extrapolation",
             .own_word = "extrapolation",
             .sentence = "extrapolation of the explicit midpoint rule, variable order, on the formulation ode",
             .available = true,
             .needs = KD_INTEGRATES_RHS,
             .one_step = true,
             .projected = KD_CONTINUES,
             .projects = true,
             .index_max = 1,
             .is_explicit = true,
             .fixed_steps = true,
             .order = KD_EXTRAPOLATION_ORDER_MAX,
             .order_least = 4,
             .order_option = "extrapolation.order_max",
             .order_dense = KD_EXTRAPOLATION_ORDER_MAX - 1,
             .turns = 9,
             .nnodes = sizeof nodes / sizeof *nodes,
             .nodes = nodes,
             .check_period = 1,
             .compared = "ode* statespace"},
    .title = "extrapolation",
    .size = sizeof(kd_extrapolation),
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .check = check,
    .init = init,
    .restart = restart,
    KD_EXPLICIT_CALLS,
    .archive = archive,
};
