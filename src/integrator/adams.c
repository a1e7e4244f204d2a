// adams.c: Adams methods of variable order and step size on x' = f(t, x), each step predicted, evaluated, corrected and
// evaluated (PECE), with local extrapolation; L. F. Shampine, M. K. Gordon, Computer Solution of Ordinary Differential
// Equations, 1975; Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, III.5 and III.7 (HNW).
//
// The past is a polynomial through the last slopes, as modified divided differences at t_n:
//
//     Phi_j(n) = (t_n - t_{n-1}) .. (t_n - t_{n-j}) f[t_n, .., t_{n-j}],   Phi_0 = f_n,   Phi_{j+1}(n) = Phi_j(n) - beta_j Phi_j(n-1)
//     beta_j   = prod_{i<j} (t_{n+1} - t_{n-i}) / (t_n - t_{n-i-1})
//     g_j      = c_{j,1},   c_{0,q} = 1/q,   c_{j,q} = c_{j-1,q} - c_{j-1,q+1} h / (t_{n+1} - t_{n-j+1})
//
//     predictor   x^p = x_n + h sum_{j<k} g_j beta_j Phi_j(n)           polynomial through k slopes
//     corrector   x_{n+1} = x^p + h g_k Phi_k(n+1)                      k + 1 slopes, the new one f(t_{n+1}, x^p); order k + 1
//     errors      le_j = h (g_j - g_{j-1}) Phi_j(n+1)                   of the formula of order j, for j = k-2 .. k+1
//
// A projection moves x_n and f_n, of which the past has slopes alone: it goes on as if nothing had happened.
// Method: docs/methods/adams.md
#include <limits.h>
#include <math.h>
#include <string.h>

#include "integrator/attempt.h"
#include "integrator/explicit_impl.h"

// slopes of a predictor, differences that are kept, points of a rule; steps with more slopes than STIFF_SLOPES are limited
// by their order, which falls, before stiffness
enum { MOST = 12, TERMS = MOST + 2, GAUSS = 7, STIFF_SLOPES = 4 };

static const double HALF = 0.5;         // of the tolerance: what the proposed step aims at
static const double SHORTEST = 0.1;     // of the step: what an attempt shrinks to
static const double LONGER = 2;         // steps grow by doubling, so that most of them are equal
static const int    PATIENCE = 3;       // attempts in a row that fail before the past is distrusted
static const double UNFELT = 1e-3;      // [tolerances] jump of a slope, times a step, that the past may keep
static const double EQUAL_STEPS = 1e-9; // part of a step by which equal ones may differ

// h |f_x| on the negative real axis up to which steps of equal size with k slopes do not grow: largest z at which all roots
// of x_{n+1} as made above for x' = -z x / h lie in the unit circle
static const double border[STIFF_SLOPES + 1] = {0, 2, 2.3999, 1.9346, 1.4114};

// Gauss's rule on [0, 1], exact for polynomials of degree 13
static const double gauss_node[GAUSS] = {0.025446043828620738, 0.12923440720030278, 0.29707742431130142, 0.5,
                                         0.70292257568869858,  0.87076559279969722, 0.97455395617137926};
static const double gauss_weight[GAUSS] = {0.064742483084434847, 0.13985269574463833, 0.19091502525255947,
                                           0.20897959183673469,  0.19091502525255947, 0.13985269574463833,
                                           0.064742483084434847};

typedef struct kd_adams {
    kd_explicit frame; // first: its address is that of the whole
    int         k;     // slopes of the predictor
    int         made;  // those of the last step
    int         kmax;
    int         known;        // slopes in the past
    int         equal;        // steps in a row, up to now, that had the length of the last one
    int         failures;     // attempts of this step that failed
    bool        constant;     // the order is the user's
    bool        rising;       // at the start: order and step grow as long as errors let them
    bool        lower;        // the attempt says that one slope less would do
    double      h_equal;      // [s] length of the last steps
    double      t[TERMS];     // [s] times of the slopes, newest first
    double     *Phi[TERMS];   // (n) differences of the past at t[0]
    double     *end[TERMS];   // (n) the same with the slope at the end of the step, for dense output
    double     *f;            // (n) slope at the predicted point
    double     *predicted;    // (n)
    double     *last;         // (n) Phi_k(n+1) with that slope
    double     *before;       // (n) slope before a restart
    double     *gap;          // (n) what the polynomial of dense output misses at the start of the step
    double      t_end[TERMS]; // [s] times of the slopes in end
    int         degree;       // of that polynomial
    double      beta[TERMS], g[TERMS];
    double      error[TERMS]; // [tolerances] le_j, j = k-2 .. k+1
} kd_adams;

static kd_adams *whole(kd_explicit *frame)
{
    return (kd_adams *)frame;
}

// ---- past -----------------------------------------------------------------------------------------------------------

// Nothing of the past belongs to what follows
static void forget(kd_explicit *frame)
{
    kd_adams *self = whole(frame);
    self->known = self->equal = self->failures = 0;
    self->k = 1;
    self->rising = true;
    self->lower = false;
    self->h_equal = 0;
    frame->order = 2;
    frame->h_next = 0; // steps of high order say nothing about the first ones of a new past: estimated
}

// beta_j for a step from t[0] to t, j < count
static void find_beta(kd_adams *self, double t, int count)
{
    self->beta[0] = 1;
    for (int j = 1; j < count; j++)
        self->beta[j] = self->beta[j - 1] * (t - self->t[j - 1]) / (self->t[0] - self->t[j]);
}

// g_j for a step of length h to t, j < count
static void find_g(kd_adams *self, double t, double h, int count)
{
    double c[TERMS];
    for (int q = 0; q < TERMS; q++) c[q] = 1.0 / (q + 1);
    self->g[0] = c[0];
    // row by row in place: c_{j,q} needs c_{j-1,q} and its right neighbour
    for (int j = 1; j < count; j++) {
        const double part = h / (t - self->t[j - 1]);
        for (int q = 0; q + j < count; q++) c[q] -= c[q + 1] * part;
        self->g[j] = c[0];
    }
}

// Differences at t from those at t[0] and the slope f at t: out_0 = f, out_{j+1} = out_j - beta_j Phi_j. out may be Phi.
static void shift(kd_adams *self, double t, const double *f, double **out)
{
    const int terms = self->known < TERMS ? self->known + 1 : TERMS;
    find_beta(self, t, terms - 1);
    for (int i = 0; i < self->frame.n; i++) {
        double now = f[i];
        for (int j = 0; j < terms - 1; j++) {
            const double next = now - self->beta[j] * self->Phi[j][i];
            out[j][i] = now;
            now = next;
        }
        out[terms - 1][i] = now;
    }
}

// The start of this step becomes part of the past; steps that were taken back have not come so far
static void take_start(kd_adams *self)
{
    kd_explicit *frame = &self->frame;
    if (self->known > 0 && self->t[0] == frame->base.t) return;
    shift(self, frame->base.t, frame->k_start, self->Phi);
    memmove(self->t + 1, self->t, (TERMS - 1) * sizeof *self->t);
    self->t[0] = frame->base.t;
    if (self->known < TERMS) self->known++;
    self->failures = 0;
    if (self->known < 2) return;
    // equal steps let the order rise
    const double h = self->t[0] - self->t[1];
    self->equal = fabs(h - self->h_equal) <= EQUAL_STEPS * h ? self->equal + 1 : 1;
    if (self->equal == 1) self->h_equal = h;
}

// ---- the step -------------------------------------------------------------------------------------------------------

// Predicted point, its slope, Phi_k(n+1)
static kd_status predict(kd_adams *self, double t, double h)
{
    kd_explicit *frame = &self->frame;
    const int    k = self->k;
    // coefficients of steps of different length, as far as the past is known
    find_beta(self, t, k + 2 < self->known ? k + 2 : self->known);
    find_g(self, t, h, k + 2 < self->known + 1 ? k + 2 : self->known + 1);
    // x + h sum g_j beta_j Phi_j, and the slope that the polynomial has there
    for (int i = 0; i < frame->n; i++) {
        double way = 0, slope = 0;
        for (int j = k - 1; j >= 0; j--) {
            const double term = self->beta[j] * self->Phi[j][i];
            way += self->g[j] * term;
            slope += term;
        }
        self->predicted[i] = frame->base.x[i] + h * way;
        self->last[i] = slope;
    }
    const kd_status status = kd_explicit_rhs(frame, t, self->predicted, self->f);
    // the last difference: slope at the predicted point minus that of the polynomial
    for (int i = 0; i < frame->n && status >= 0; i++) self->last[i] = self->f[i] - self->last[i];
    return status;
}

// le_j over the tolerances: Phi_j(n+1) is Phi_k(n+1) plus or minus terms of the past. weighted: terms of the norm, or NULL
static double error_of(kd_adams *self, int j, double *weighted)
{
    const kd_explicit *frame = &self->frame;
    const int          k = self->k;
    const double       factor = frame->h * (self->g[j] - (j > 0 ? self->g[j - 1] : 0));
    double             sum = 0;
    int                counted = 0;
    // differences of order j: from those of order k by terms of the past, up or down
    for (int i = 0; i < frame->n; i++) {
        double e = self->last[i];
        for (int l = k - 1; l >= j; l--) e += self->beta[l] * self->Phi[l][i];
        for (int l = k; l < j; l++) e -= self->beta[l] * self->Phi[l][i];
        e = frame->dae->controlled[i] ? factor * e / kd_explicit_scale(frame, i) : 0;
        if (weighted) weighted[i] = e;
        counted += frame->dae->controlled[i];
        sum += e * e;
    }
    return sqrt(sum / (counted > 0 ? counted : 1));
}

// Errors of the orders below; do they say that one slope less would do as well? (HNW III.7)
static bool wants_lower(kd_adams *self)
{
    const int k = self->k;
    if (self->constant || k < 2) return false;
    self->error[k - 1] = error_of(self, k - 1, NULL);
    if (k == 2) return self->error[1] <= HALF * self->error[2];
    self->error[k - 2] = error_of(self, k - 2, NULL);
    return fmax(self->error[k - 1], self->error[k - 2]) <= self->error[k];
}

static kd_status solve(kd_explicit *frame, double *err)
{
    kd_adams *self = whole(frame);
    take_start(self);
    const double    t = frame->to_end ? frame->t_end : frame->base.t + frame->h;
    const kd_status status = predict(self, t, frame->h);
    if (status < 0) return status;
    // corrected with the polynomial through one more slope: order k + 1
    const int k = self->k;
    for (int i = 0; i < frame->n; i++) frame->x_new[i] = self->predicted[i] + frame->h * self->g[k] * self->last[i];
    *err = self->error[k] = error_of(self, k, frame->err);
    self->lower = wants_lower(self);
    self->made = k;
    frame->order = k + 1;
    return KD_OK;
}

// ---- order and step size --------------------------------------------------------------------------------------------

// Slopes of the next step, after an accepted one
static int next_slopes(kd_adams *self)
{
    const int k = self->k;
    if (self->lower) return k - 1;
    // one more needs its difference, which a step has when the past is long enough
    if (k == self->kmax || self->known <= k) return k;
    if (self->constant || self->rising) return k + 1;
    // differences of high order are to be trusted behind equal steps only
    if (self->equal < k + 1) return k;
    const double above = self->error[k + 1] = error_of(self, k + 1, NULL);
    if (k == 1) return above < HALF * self->error[1] ? 2 : 1;
    if (self->error[k - 1] <= fmin(self->error[k], above)) return k - 1;
    return above < self->error[k] ? k + 1 : k;
}

static double proposal(kd_explicit *frame, double err)
{
    kd_adams *self = whole(frame);
    const int before = self->k;
    // a start ends where an error asks for something else
    if (frame->rejected || self->lower || before == self->kmax) self->rising = false;
    self->k = next_slopes(self);
    const double error = self->k > before && !self->rising && !self->constant ? self->error[self->k]
                         : self->k < before                                   ? self->error[self->k]
                                                                              : err;
    // doubled where the error then stays below half the tolerance; shorter only if this one was above it
    if (frame->rejected) return frame->h;
    if (self->rising || error * pow(LONGER, self->k + 1) <= HALF) return LONGER * frame->h;
    if (error <= HALF) return frame->h;
    return frame->h * fmax(HALF, fmin(0.9, pow(HALF / error, 1.0 / (self->k + 1))));
}

static double shrink(kd_explicit *frame, double err)
{
    kd_adams *self = whole(frame);
    self->failures++;
    self->rising = false;
    if (self->lower) self->k--;
    // the past does not describe what comes: Euler's method and the trapezoidal rule, and a new rise
    if (self->failures >= PATIENCE && !self->constant) {
        self->k = 1;
        self->rising = true;
    }
    return fmax(SHORTEST, fmin(HALF, pow(HALF / err, 1.0 / (self->k + 1))));
}

// ---- stiffness ------------------------------------------------------------------------------------------------------

// h |df| / |dx| between predicted and corrected point, whose difference is that of the stiff components where stability
// limits the step (HNW II, IV.2). High orders have small borders, at which the order falls first: no sign of stiffness.
static kd_status radius(kd_explicit *frame, double *out)
{
    const kd_adams *self = whole(frame);
    const bool      low = self->made <= STIFF_SLOPES;
    *out = low ? kd_explicit_radius(frame, self->f, self->predicted) / border[self->made] : 0;
    return KD_OK;
}

// ---- dense output ---------------------------------------------------------------------------------------------------

// weight_j, j <= degree: x(t) = x_{n+1} + sum weight_j end_j, the integral of the polynomial through the slopes from the
// end of the step back to t
static void dense_weights(const kd_adams *self, double t, double *weight)
{
    const double *at = self->t_end, way = t - at[0];
    memset(weight, 0, TERMS * sizeof *weight);
    for (int p = 0; p < GAUSS; p++) {
        // Newton's basis at a point between, scaled as the differences are
        const double tau = at[0] + gauss_node[p] * way;
        double       basis = way * gauss_weight[p];
        for (int j = 0; j <= self->degree; j++) {
            weight[j] += basis;
            if (j < self->degree) basis *= (tau - at[j]) / (at[0] - at[j + 1]);
        }
    }
}

static void add_weighted(const kd_adams *self, const double *weight, double *x)
{
    for (int i = 0; i < self->frame.n; i++) {
        double sum = 0;
        for (int j = self->degree; j >= 0; j--) sum += weight[j] * self->end[j][i];
        x[i] += sum;
    }
}

static kd_status prepare_dense(kd_explicit *frame)
{
    kd_adams    *self = whole(frame);
    const double t = frame->base.t;
    double       weight[TERMS];
    // slopes of the step that was made: the new one and those of its past
    if (self->t[0] != t) {
        shift(self, t, frame->k_end, self->end);
        self->t_end[0] = t;
        memcpy(self->t_end + 1, self->t, (TERMS - 1) * sizeof *self->t);
    } else {
        for (int j = 0; j < self->known; j++) memcpy(self->end[j], self->Phi[j], (size_t)frame->n * sizeof(double));
        memcpy(self->t_end, self->t, sizeof self->t);
    }
    self->degree = self->made;
    // what is missing at the start: error of the step and what projections have moved
    memcpy(self->gap, frame->base.x, (size_t)frame->n * sizeof(double));
    dense_weights(self, frame->base.t_old, weight);
    add_weighted(self, weight, self->gap);
    for (int i = 0; i < frame->n; i++) self->gap[i] = frame->x_old[i] - self->gap[i];
    return KD_OK;
}

static void interpolate(const kd_explicit *frame, double s, double *x)
{
    const kd_adams *self = (const kd_adams *)frame;
    double          weight[TERMS];
    dense_weights(self, frame->base.t_old + s * frame->h_dense, weight);
    memcpy(x, frame->base.x, (size_t)frame->n * sizeof *x);
    add_weighted(self, weight, x);
    // the gap goes away with zero slope at both ends
    const double fade = (1 - s) * (1 - s) * (1 + 2 * s);
    for (int i = 0; i < frame->n; i++) x[i] += fade * self->gap[i];
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

static const kd_explicit_class adams_method = {
    .solve = solve,
    .proposal = proposal,
    .shrink = shrink,
    .radius = radius,
    .prepare_dense = prepare_dense,
    .interpolate = interpolate,
    .forget = forget,
};

#define O kd_integrator_options
// clang-format off
static const kd_option options[] = {
    {KD_WHOLE("adams.order_max", O, adams.order_max, MOST + 1, 2, MOST + 1, "highest order")},
    {KD_WHOLE("adams.order", O, adams.order, 0, 0, MOST + 1, "constant order after the first steps, at least 2; 0: chosen from step to step")},
    {KD_WHOLE("adams.stiff_steps", O, adams.stiff_steps, 50, 0, INFINITY, "stiffness is looked for every so many steps; 0: never")},
};
// clang-format on
#undef O

static kd_status check(const kd_dae *dae, const kd_integrator_options *opt, char *message, size_t size)
{
    (void)opt;
    return kd_explicit_check(dae, kd_adams_class.info.word, "ordinary differential equations", message, size);
}

static kd_status init(kd_integrator *base)
{
    kd_adams               *self = (kd_adams *)base;
    const kd_adams_options *o = &base->opt.adams;
    kd_arena               *arena = &base->arena;
    const int               n = base->n;
    kd_explicit_init(&self->frame, &adams_method);
    self->frame.stiff_steps = o->stiff_steps;
    // order k + 1 takes k slopes; 1 is asked for as 2, the least there is
    self->constant = o->order > 0;
    self->kmax = (self->constant ? (o->order > 2 ? o->order : 2) : o->order_max) - 1;
    for (int j = 0; j < TERMS; j++) {
        self->Phi[j] = kd_cut_double(arena, n);
        self->end[j] = kd_cut_double(arena, n);
    }
    self->f = kd_cut_double(arena, n);
    self->predicted = kd_cut_double(arena, n);
    self->last = kd_cut_double(arena, n);
    self->before = kd_cut_double(arena, n);
    self->gap = kd_cut_double(arena, n);
    self->frame.k_start = kd_cut_double(arena, n);
    self->frame.k_end = kd_cut_double(arena, n);
    forget(&self->frame);
    return KD_OK;
}

// Did the slope at the present point jump, by more than a step would feel?
static bool has_jumped(const kd_adams *self, const double *before)
{
    const kd_explicit *frame = &self->frame;
    const double       h = fmax(frame->h_next, frame->h_dense);
    double             most = 0;
    for (int i = 0; i < frame->n; i++) {
        const double unit = frame->base.atol[i] * kd_attempt_unit(frame->dae, i);
        const double scale = kd_integrator_tolerance(&frame->base, i, unit, frame->base.x[i]);
        if (frame->dae->controlled[i]) most = fmax(most, h * fabs(frame->k_next[i] - before[i]) / scale);
    }
    return !(most < UNFELT);
}

// A past goes on behind samples and kinks that change nothing; otherwise there is none
static kd_status restart(kd_integrator *base, double t, const double *x, kd_restart mode)
{
    kd_adams    *self = (kd_adams *)base;
    const bool   may_go_on = mode == KD_RESTART_SMOOTH && self->frame.started;
    const size_t bytes = (size_t)base->n * sizeof(double);
    if (may_go_on) memcpy(self->before, self->frame.k_next, bytes);
    const kd_status status = kd_explicit_restart(base, t, x, mode);
    if (status >= 0 && may_go_on && !has_jumped(self, self->before)) return status;
    forget(&self->frame);
    self->frame.h_next = base->opt.h_first;
    return status;
}

static void archive(kd_integrator *base, kd_archive *a)
{
    kd_adams *self = (kd_adams *)base;
    kd_explicit_archive(base, a);
    kd_archive_int(a, &self->k, 1, self->kmax);
    kd_archive_int(a, &self->made, 0, self->kmax);
    kd_archive_int(a, &self->known, 0, TERMS);
    kd_archive_int(a, &self->equal, 0, INT_MAX / 2);
    kd_archive_int(a, &self->failures, 0, INT_MAX / 2);
    kd_archive_int(a, &self->degree, 0, MOST);
    KD_ARCHIVE_BOOLS(a, &self->rising, &self->lower);
    kd_archive_real(a, &self->h_equal);
    double *each[] = {self->t, self->t_end, self->beta, self->g, self->error};
    for (int i = 0; i < 5; i++) kd_archive_doubles(a, each[i], TERMS);
}

static const double nodes[] = {0.0};

const kd_integrator_class kd_adams_class = {
    .info = {.word = "adams",
             .own_word = "adams",
             .sentence = "Adams methods of variable order, predicted and corrected (PECE), on the formulation ode",
             .available = true,
             .needs = KD_INTEGRATES_RHS,
             .projected = KD_CONTINUES,
             .projects = true,
             .index_max = 1,
             .is_explicit = true,
             .order = MOST + 1,
             .order_least = 2,
             .order_option = "adams.order_max",
             .order_dense = MOST + 1,
             .turns = 4,
             .nnodes = 1,
             .nodes = nodes,
             .check_period = 8,
             .compared = "ode* statespace"},
    .title = "Adams",
    .size = sizeof(kd_adams),
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .check = check,
    .init = init,
    .restart = restart,
    KD_EXPLICIT_CALLS,
    .archive = archive,
};
