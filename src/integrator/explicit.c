// explicit.c: explicit Runge-Kutta methods on x' = f(t, x), with step size control, dense output and detection of
// stiffness (Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.4 to II.6, II.10, and II, IV.2).
//
// After an accepted step x_1 is projected onto the constraints by the formulation. The value f(t_1, x_1) that the error
// estimate or the projection needed is that of the next step where x_1 did not move; otherwise f is asked for once
// more, which costs one solve where the formulation still has the matrix of x_1. The error has been estimated before.
// The half-explicit method takes its stages from the formulation's constraints on velocity level instead.
// Methods: docs/methods/explicit.md, half-explicit.md
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "integrator/attempt.h"
#include "integrator/explicit_impl.h"
#include "math/kernel.h"

#define RETRY_SHRINK 0.25   // step after a function that could not be evaluated
#define NOT_FINITE 0.1      // step after values that are not finite
#define VANISHING 1e-14     // part of the first attempt at which a step is given up
#define LAST_STEP 1.01      // a step that ends this close to t_end is stretched to it (HNW: 1.01)
#define STIFF_HITS 15       // tests in a row with a spectral radius at the border of stability (HNW II, IV.2)
#define STIFF_MISSES 6      // tests in a row that take it back
#define GREW 100            // times what h^4 makes of the lower estimate from step to step: something began inside
#define FELL 30             // times less than h^2 makes of the ratio of both: the higher one may be small by accident
#define NOTHING 1           // [tolerances] so small a lower estimate means nothing
#define SMALLEST_ERROR 1e-4 // least error_last of the PI control: one very good step must not brake the next

// ---- life cycle -----------------------------------------------------------------------------------------------------

kd_status kd_explicit_check(const kd_dae *dae, const char *name, const char *equations, char *message, size_t size)
{
    if (dae->methods->rhs) return KD_OK;
    kd_text(message, size, "%s integrates %s, which the %s form is not; use the formulation ode", name, equations,
            dae->methods->name);
    return KD_ERR_UNSUPPORTED;
}

void kd_explicit_init(kd_explicit *self, const kd_explicit_class *method)
{
    kd_arena *arena = &self->base.arena;
    const int n = self->n = self->base.n;
    self->dae = self->base.dae;
    self->method = method;
    self->base.x = kd_cut_double(arena, n);
    self->x_old = kd_cut_double(arena, n);
    self->x_new = kd_cut_double(arena, n);
    self->k_next = kd_cut_double(arena, n);
    self->err = kd_cut_double(arena, n);
    self->share = kd_cut_double(arena, n);
}

// ---- answers --------------------------------------------------------------------------------------------------------

// Keep the reason of an answer that was not OK
static kd_status eval_cause(kd_explicit *self, kd_eval answer)
{
    const char *text = "";
    // the formulation's own reason comes first; without one the answer itself is the reason
    self->base.cause = self->dae->methods->fault ? self->dae->methods->fault(self->dae->impl, &text) : KD_OK;
    if (self->base.cause >= 0) self->base.cause = answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
    kd_text(self->base.message, sizeof self->base.message, "%s", text);
    return answer == KD_EVAL_STOP ? self->base.cause : KD_ERR_RETRY_FAILED;
}

kd_status kd_explicit_rhs(kd_explicit *self, double t, const double *x, double *xdot)
{
    kd_eval answer = self->dae->methods->rhs(self->dae->impl, t, x, xdot);
    self->base.stats.residuals++;
    return answer == KD_EVAL_OK ? KD_OK : eval_cause(self, answer);
}

static kd_status explain_end(kd_explicit *self, kd_status status)
{
    const char *advice = "";
    char        head[120];
    // stiffness explains small steps better than whatever failed last
    if (self->stiff)
        advice = "the equations are stiff here: take an implicit method, radau or bdf";
    else if (status == KD_ERR_STEP_TOO_SMALL)
        advice = "look for a discontinuity or a singular position near this time, or loosen the tolerances";
    kd_text(head, sizeof head, "at t = %.9g, h = %.3g: %s", self->base.t, self->h, self->base.how->info.word);
    kd_attempt_explain(self->dae, head, self->base.worst, advice, self->base.message, sizeof self->base.message);
    return status;
}

// share of each component in the square of the norm
static const double *shares(kd_explicit *self)
{
    double sum = 0;
    for (int i = 0; i < self->n; i++) sum += self->err[i] * self->err[i];
    if (!(sum > 0) || !isfinite(sum)) return NULL;
    for (int i = 0; i < self->n; i++) self->share[i] = self->err[i] * self->err[i] / sum;
    return self->share;
}

static void report(kd_explicit *self, double t, kd_attempt outcome, double error)
{
    if (!self->dae->observe) return;
    const kd_attempt_report told = {
        .t = t,
        .h = self->h,
        .order = self->order,
        .outcome = outcome,
        .matrix = KD_MATRIX_KEPT,
        .error = error,
        .share = outcome == KD_ATTEMPT_EVALUATE || self->base.opt.h_fixed > 0 ? NULL : shares(self),
    };
    self->dae->observe(&told, self->dae->observer);
}

// ---- stages and errors ----------------------------------------------------------------------------------------------

// out = x + h sum_j a_j k_j; x NULL: without it. Coefficients that are 0 are left out.
static void combine(const kd_explicit *self, const double *x, double h, const double *a, int count, double *out)
{
    int           n = self->n, m = 0;
    const double *k[KD_EXPLICIT_STAGES];
    double        w[KD_EXPLICIT_STAGES];
    // gather what is not zero: rows of dop853 have many zeros
    for (int j = 0; j < count; j++) {
        if (a[j] == 0) continue;
        k[m] = self->k[j];
        w[m++] = h * a[j];
    }
    int i = 0;
    // four components at once, all stages inside
    for (; i + 4 <= n; i += 4) { // sums stay in registers
        kd_two low = kd_two_both(0), high = low;
        for (int j = 0; j < m; j++) {
            const kd_two both = kd_two_both(w[j]);
            low += both * kd_two_load(k[j] + i);
            high += both * kd_two_load(k[j] + i + 2);
        }
        if (x) low = kd_two_load(x + i) + low, high = kd_two_load(x + i + 2) + high;
        kd_two_store(out + i, low);
        kd_two_store(out + i + 2, high);
    }
    for (; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < m; j++) sum += w[j] * k[j][i];
        out[i] = x ? x[i] + sum : sum;
    }
}

static double end_time(const kd_explicit *self)
{
    return self->to_end ? self->t_end : self->base.t + self->h;
}

// f at the end, before projection: of the error estimate or, for dop853, of an accepted step
kd_status kd_explicit_evaluate_end(kd_explicit *self)
{
    self->end_known = true;
    return kd_explicit_rhs(self, end_time(self), self->x_new, self->k_end);
}

static double time_of(const kd_explicit *self, double c)
{
    return c == 1 ? end_time(self) : self->base.t + c * self->h;
}

// k_i of a stage of the half-explicit method at X, whose multipliers belong to the constrained point; base = that point
// without k_i
static kd_status solve_half(kd_explicit *self, int i, double *base)
{
    const kd_constrained_points *half = self->points;
    combine(self, self->base.x, self->h, half->a[i], i, base);
    kd_eval answer = self->dae->methods->stage(self->dae->impl, time_of(self, self->tableau->c[i]), self->X,
                                               time_of(self, half->c[i]), base, self->h * half->a[i][i], self->k[i]);
    self->base.stats.residuals++;
    return answer == KD_EVAL_OK ? KD_OK : eval_cause(self, answer);
}

// X_i; where the stage before was constrained there, with the same bits: base + h a k is what its rows were evaluated at
static void stage_point(const kd_explicit *self, int i, const double *base, double *X)
{
    const kd_constrained_points *half = self->points;
    if (!half || !half->is_next[i - 1]) {
        combine(self, self->base.x, self->h, self->tableau->a[i], i, X);
        return;
    }
    const double *k = self->k[i - 1], factor = self->h * half->a[i - 1][i - 1];
    for (int j = 0; j < self->n; j++) X[j] = base[j] + factor * k[j];
}

// k_1 .. and x_new; k_0 is known
static kd_status solve_stages(kd_explicit *self)
{
    const kd_explicit_tableau *b = self->tableau;
    for (int i = 1; i < b->stages; i++) {
        // the stage point, then its slope: f there or, half-explicit, with multipliers of the constrained point
        stage_point(self, i, self->x_new, self->X);
        kd_status status = self->points ? solve_half(self, i, self->x_new)
                                        : kd_explicit_rhs(self, self->base.t + b->c[i] * self->h, self->X, self->k[i]);
        if (status < 0) return status;
    }
    // row `stages` of a is the weights b: x_1 = x_0 + h sum b_j k_j
    stage_point(self, b->stages, self->x_new, self->x_new);
    return KD_OK;
}

double kd_explicit_scale(const kd_explicit *self, int i)
{
    return kd_integrator_tolerance(&self->base, i, self->base.atol[i] * kd_attempt_unit(self->dae, i),
                                   fmax(fabs(self->base.x[i]), fabs(self->x_new[i])));
}

// sum of the squares of increments over the scales, in their place
static double norm_of(kd_explicit *self, double *terms)
{
    double sum = 0;
    for (int i = 0; i < self->n; i++) {
        terms[i] = self->dae->controlled[i] ? terms[i] / kd_explicit_scale(self, i) : 0;
        sum += terms[i] * terms[i];
    }
    return sum;
}

// err = x_1 - x^_1 = h sum e_j k_j. The embedded solution of the half-explicit method has multipliers of its own in its
// last stage, at x_1, with which it satisfies the constraints as x_1 does.
static kd_status embed(kd_explicit *self, const double *e)
{
    const kd_dae_class *f = self->dae->methods;
    combine(self, NULL, self->h, e, self->tableau->stages + 1, self->err);
    if (!self->points || !f->neighbour || self->base.opt.h_fixed > 0) return KD_OK;
    kd_eval answer = f->neighbour(self->dae->impl, end_time(self), self->x_new, self->err);
    return answer == KD_EVAL_OK ? KD_OK : eval_cause(self, answer);
}

// HNW II.4 Eq. 4.11 and, for dop853, II.10 Eq. 10.17: err5^2 / sqrt(err5^2 + 0.01 err3^2)
static kd_status error_norm(kd_explicit *self, double *err)
{
    const kd_explicit_tableau *b = self->tableau;
    int                        counted = 0;
    double                     low = 0, high;
    kd_status                  status = KD_OK;
    for (int i = 0; i < self->n; i++) counted += self->dae->controlled[i];
    if (b->order == 8) {
        status = embed(self, b->error_low);
        low = norm_of(self, self->err);
    }
    // the fifth-order terms stay in err, for the blame and the shares
    if (status == KD_OK) status = embed(self, b->error);
    if (status < 0) return status;
    high = norm_of(self, self->err);
    self->now = (kd_estimates){self->h, 0, 1};
    *err = high == 0 ? 0 : NAN;
    if (!(high > 0)) return KD_OK;
    self->now = (kd_estimates){self->h, sqrt(low / counted), low > 0 ? sqrt(high / low) : 1};
    *err = high / sqrt((high + 0.01 * low) * counted);
    return KD_OK;
}

static kd_status stages_solve(kd_explicit *self, double *err)
{
    // dop853 estimates without f at the end: a rejected step saves that evaluation
    bool      early = self->tableau->error[self->tableau->stages] == 0;
    kd_status status = solve_stages(self);
    if (status == KD_OK && !early) status = kd_explicit_evaluate_end(self);
    return status == KD_OK ? error_norm(self, err) : status;
}

static void find_worst(kd_explicit *self)
{
    self->base.worst = 0;
    for (int i = 1; i < self->n; i++)
        if (fabs(self->err[i]) > fabs(self->err[self->base.worst])) self->base.worst = i;
}

// ---- stiffness ------------------------------------------------------------------------------------------------------

double kd_explicit_radius(const kd_explicit *self, const double *f, const double *x)
{
    double num = 0, den = 0;
    for (int i = 0; i < self->n; i++) {
        const double scale = kd_explicit_scale(self, i);
        num += pow((self->k_end[i] - f[i]) / scale, 2);
        den += pow((self->x_new[i] - x[i]) / scale, 2);
    }
    return den > 0 ? self->h * sqrt(num / den) : 0;
}

// h |k_end - k_last| / |x_1 - X_last| at the same time t + h estimates h times the largest eigenvalue (HNW II, IV.2)
static kd_status stages_radius(kd_explicit *self, double *radius)
{
    const kd_explicit_tableau *b = self->tableau;
    const double              *k_last = self->k[b->stages - 1];
    if (self->points) { // whose multipliers do not belong to X alone
        kd_status status = kd_explicit_rhs(self, end_time(self), self->X, self->k_other);
        if (status < 0) return status;
        k_last = self->k_other;
    }
    *radius = kd_explicit_radius(self, k_last, self->X) / b->stiff;
    return KD_OK;
}

// < 0: a function asked to stop
static kd_status watch_stiffness(kd_explicit *self)
{
    int    every = self->stiff_steps;
    double radius;
    // every so many steps; at each one while there is a suspicion
    if (every == 0 || self->stiff || (self->hits == 0 && self->since_start % every != 0)) return KD_OK;
    kd_status status = self->method->radius(self, &radius);
    // f could not be evaluated where it was asked for: says nothing about stiffness
    if (status == KD_ERR_RETRY_FAILED) {
        self->base.message[0] = '\0';
        return KD_OK;
    }
    if (status < 0) return status;
    // at the border of stability so often in a row, with few exceptions, is no chance
    if (radius > 1) {
        self->misses = 0;
        self->stiff = ++self->hits >= STIFF_HITS;
    } else if (self->hits > 0 && ++self->misses >= STIFF_MISSES) {
        self->hits = self->misses = 0;
    }
    return KD_OK;
}

static kd_status advise(kd_explicit *self)
{
    if (!self->stiff || self->told) return KD_OK;
    self->told = true;
    kd_text(self->base.message, sizeof self->base.message,
            "at t = %.9g, h = %.3g: the equations are stiff: stability, not accuracy, limits the steps of %s; an "
            "implicit method, radau or bdf, would take longer ones",
            self->base.t, self->h, self->base.how->info.word);
    return KD_STIFF;
}

// ---- start ----------------------------------------------------------------------------------------------------------

// size of y over the scales of x
static double weighted(const kd_explicit *self, const double *y, const double *minus)
{
    double sum = 0;
    for (int i = 0; i < self->n; i++)
        if (self->dae->controlled[i])
            sum += pow((y[i] - (minus ? minus[i] : 0)) / (self->base.atol[i] * kd_attempt_unit(self->dae, i) +
                                                          self->base.rtol[i] * fabs(self->base.x[i])),
                       2);
    return sqrt(sum);
}

// HNW II.4: a trial step of Euler's method gives the second derivative. Where f is not to be had there, the trial step
// itself is proposed
static kd_status first_step(kd_explicit *self, double span)
{
    // sizes of x and x' in tolerances; the trial step changes x by a hundredth of itself
    double d0 = weighted(self, self->base.x, NULL), d1 = weighted(self, self->k_next, NULL);
    double T = kd_attempt_time(self->dae), h = d0 > 1e-5 && d1 * T > 1e-5 ? 0.01 * d0 / d1 : 1e-6 * T;
    h = fmin(h, span);
    for (int i = 0; i < self->n; i++) self->x_new[i] = self->base.x[i] + h * self->k_next[i];
    kd_status status = kd_explicit_rhs(self, self->base.t + h, self->x_new, self->k_end);
    self->h_next = h;
    if (status == KD_ERR_RETRY_FAILED) return KD_OK; // the step itself will try and shrink
    if (status < 0) return status;
    // h^p max(|x'|, |x''|) = 0.01, in units of the natural time T; not more than a hundred trial steps
    double d2 = weighted(self, self->k_end, self->k_next) / h, most = fmax(d1 * T, d2 * T * T);
    double h1 = most <= 1e-15 ? fmax(1e-6 * T, 1e-3 * h) : T * pow(0.01 / most, 1.0 / self->order);
    self->h_next = fmin(fmin(100 * h, h1), span);
    return KD_OK;
}

static kd_status start(kd_explicit *self, double t, const double *x)
{
    size_t bytes = (size_t)self->n * sizeof *x;
    self->started = false;
    self->base.t = self->base.t_old = t;
    // x may be base.x itself
    memmove(self->base.x, x, bytes);
    memcpy(self->x_old, self->base.x, bytes);
    self->base.message[0] = '\0';
    self->base.cause = KD_OK;
    const kd_dae_class *f = self->dae->methods;
    kd_eval             answer = KD_EVAL_OK;
    // a form may have to prepare itself for a start (coordinates); the slope is f in any case
    if (f->start) answer = f->start(self->dae->impl, t, self->base.x, self->k_next);
    if (answer == KD_EVAL_OK) {
        answer = f->rhs(self->dae->impl, t, self->base.x, self->k_next);
        self->base.stats.residuals++;
    }
    if (answer != KD_EVAL_OK) return (void)eval_cause(self, answer), self->base.cause;
    // no memory of steps before: no error, no stiffness, no dense output
    self->h_next = self->base.opt.h_fixed > 0 ? self->base.opt.h_fixed : self->base.opt.h_first;
    self->error_last = SMALLEST_ERROR;
    self->last = self->before = (kd_estimates){0};
    self->has_past = self->rejected = self->retracted = self->stiff = self->told = self->dense_known = false;
    self->since_start = 0;
    self->hits = self->misses = 0;
    self->started = true;
    return KD_OK;
}

// One-step methods have no past but the size of their steps. k_end stays for dense output of the last step.
kd_status kd_explicit_restart(kd_integrator *base, double t, const double *x, kd_restart mode)
{
    kd_explicit *self = (kd_explicit *)base;
    // behind a kink only f is new; size of steps and its control go on
    if (mode == KD_RESTART_SMOOTH && self->started) {
        base->message[0] = '\0';
        base->cause = KD_OK;
        return kd_explicit_rhs(self, base->t, base->x, self->k_next) < 0 ? base->cause : KD_OK;
    }
    // x jumped under the same rows: the size of the steps is a good guess, all else starts anew
    double    h = self->started && mode == KD_RESTART_SAME_ROWS ? self->h_next : 0;
    kd_status status = start(self, t, x ? x : base->x);
    if (h > 0) self->h_next = h;
    return status;
}

// k_start is f at the start of the last step.
kd_status kd_explicit_retract(kd_integrator *base, double h)
{
    kd_explicit *self = (kd_explicit *)base;
    if (!self->has_past) return KD_ERR_STAGE;
    // the ends of the step change places: x_old is the present point again
    double *end = self->base.x;
    self->base.x = self->x_old;
    self->x_old = end;
    memcpy(self->k_next, self->k_start, (size_t)self->n * sizeof(double));
    self->base.t = self->base.t_old;
    self->h_next = h;
    self->error_last = SMALLEST_ERROR;
    self->last = self->before;
    self->has_past = self->dense_known = false;
    self->retracted = true;
    self->base.stats.accepted--;
    self->base.stats.retracted++;
    return KD_OK;
}

// ---- the step -------------------------------------------------------------------------------------------------------

static kd_status choose_step(kd_explicit *self, double t_end)
{
    // h_max and t_end bound the proposal; the first one has to be found
    double span = t_end - self->base.t, limit = self->base.opt.h_max > 0 ? fmin(self->base.opt.h_max, span) : span;
    if (self->h_next <= 0) {
        kd_status status = first_step(self, limit);
        if (status < 0) return status;
    }
    self->h = fmin(self->h_next, limit);
    self->t_end = t_end;
    // what nearly reaches t_end is stretched to it; equal steps of fixed size only by rounding
    self->to_end = self->h * (self->base.opt.h_fixed > 0 ? 1 + 1e-9 : LAST_STEP) >= span;
    if (self->to_end) self->h = span;
    self->h_least = VANISHING * self->h;
    return KD_OK;
}

static bool too_small(const kd_explicit *self)
{
    return self->base.t + 0.1 * self->h == self->base.t || self->h <= self->h_least;
}

// State-space forms may go on in other coordinates: k_0 anew. Before a step, so that dense output of the last one is in
// the coordinates of its own.
static kd_status relabel(kd_explicit *self)
{
    bool changed = false;
    if (!self->dae->methods->relabel || !self->has_past) return KD_OK;
    kd_eval answer = self->dae->methods->relabel(self->dae->impl, self->base.t, self->base.x, &changed);
    if (answer != KD_EVAL_OK) return (void)eval_cause(self, answer), self->base.cause;
    if (!changed) return KD_OK;
    if (self->method->forget) self->method->forget(self);
    return kd_explicit_rhs(self, self->base.t, self->base.x, self->k_next);
}

// Norms of quaternions, projection, and f of the next step
static kd_status complete(kd_explicit *self)
{
    const kd_dae_class *f = self->dae->methods;
    double              t1 = end_time(self);
    bool                moved = false;
    kd_eval             answer = KD_EVAL_OK;
    kd_status           status = watch_stiffness(self);
    if (status < 0) return status;
    // stiffness was looked for at x_new as computed; now norms of quaternions, then the projection
    if (f->correct) {
        moved = true;
        self->dae->keep = true;
        answer = f->correct(self->dae->impl, t1, self->x_new, self->k_end);
    }
    bool projected = false;
    if (answer == KD_EVAL_OK && f->project) answer = f->project(self->dae->impl, t1, self->x_new, &projected);
    if (answer != KD_EVAL_OK) return eval_cause(self, answer);
    // f belongs to the point where the next step starts; where nothing moved it is known
    if (moved || projected) return kd_explicit_rhs(self, t1, self->x_new, self->k_next);
    memcpy(self->k_next, self->k_end, (size_t)self->n * sizeof(double));
    return KD_OK;
}

// PI control (HNW IV.2 Eq. 2.43): h_new = h safety err^-(1/p - 3/4 beta) err_last^beta
static double stages_proposal(kd_explicit *self, double err)
{
    const kd_explicit_tableau *b = self->tableau;
    double                     least = self->rejected ? fmin(1, b->fac_upper) : b->fac_upper;
    if (err == 0) return self->h * least;
    double factor = self->safety * pow(err, -(1.0 / b->order - 0.75 * self->beta)) *
                    (self->beta > 0 ? pow(self->error_last, self->beta) : 1);
    return self->h * fmax(b->fac_lower, fmin(least, factor));
}

static double stages_shrink(kd_explicit *self, double err)
{
    return fmax(self->tableau->fac_lower, self->safety * pow(err, -1.0 / self->tableau->order));
}

static void accept(kd_explicit *self, double err)
{
    double  h_new = self->base.opt.h_fixed > 0 ? self->base.opt.h_fixed : self->method->proposal(self, err);
    double *old = self->x_old;
    // a step that was cut short by t_end says nothing against the longer one that was proposed before
    if (!self->rejected && self->h < self->h_next && h_new >= self->h) h_new = fmax(h_new, self->h_next);
    // the end of the step is its start now; three arrays take turns
    self->x_old = self->base.x;
    self->base.x = self->x_new;
    self->x_new = old;
    self->base.t_old = self->base.t;
    self->base.t = end_time(self);
    self->h_dense = self->h;
    self->h_next = h_new;
    self->error_last = fmax(err, SMALLEST_ERROR);
    self->before = self->last;
    self->last = self->now;
    self->base.stats.h_last = self->h;
    self->base.stats.accepted++;
    self->since_start++;
    self->has_past = true;
    self->retracted = self->dense_known = false;
    report(self, self->base.t_old, KD_ATTEMPT_ACCEPTED, err);
}

static void reject(kd_explicit *self, double factor)
{
    self->h *= factor;
    self->rejected = true;
    self->to_end = false;
}

// One attempt: KD_OK with *err; error too large: x_new is not complete
static kd_status attempt(kd_explicit *self, double *err)
{
    self->end_known = false;
    // stages and error; steps of fixed size do not look at it
    kd_status status = self->method->solve(self, err);
    if (status < 0) return status;
    if (!isfinite(*err)) return KD_ERR_NOT_FINITE;
    if (self->base.opt.h_fixed > 0) *err = 0;
    if (*err >= 1) return KD_OK;
    // accepted: f at the end is needed for the next step and for dense output
    if (!self->end_known) status = kd_explicit_evaluate_end(self);
    return status < 0 ? status : complete(self);
}

// KD_OK: try again with a smaller step
static kd_status after_failure(kd_explicit *self, kd_status status)
{
    // only what a smaller step may cure
    if (status != KD_ERR_RETRY_FAILED && status != KD_ERR_NOT_FINITE) return status;
    if (status == KD_ERR_NOT_FINITE) {
        self->base.cause = status;
        kd_text(self->base.message, sizeof self->base.message, "the right-hand side is not finite");
    }
    self->base.stats.rejected_newton++;
    report(self, self->base.t, KD_ATTEMPT_EVALUATE, 0);
    reject(self, status == KD_ERR_NOT_FINITE ? NOT_FINITE : RETRY_SHRINK);
    return too_small(self) || self->base.opt.h_fixed > 0 ? self->base.cause : KD_OK;
}

kd_status kd_explicit_step(kd_integrator *base, double t_end)
{
    kd_explicit *self = (kd_explicit *)base;
    // behind a step that was taken back no growth
    self->rejected = self->retracted;
    self->base.cause = KD_OK;
    self->base.worst = -1;
    self->base.message[0] = '\0';
    if (!self->started)
        return kd_text(self->base.message, sizeof self->base.message, "start comes before step"), KD_ERR_STAGE;
    if (!(t_end >= self->base.t)) return explain_end(self, KD_ERR_TIME);
    if (kd_integrator_is_there(base, t_end)) {
        base->t = t_end;
        return KD_OK;
    }
    // the coordinates may change only here; then the first attempt's size
    kd_status status = relabel(self);
    if (status == KD_OK) status = choose_step(self, t_end);
    if (status < 0) return explain_end(self, status);
    // k_0 = f at the start is that of the end of the last step, for all attempts
    memcpy(self->k_start, self->k_next, (size_t)self->n * sizeof(double));
    self->dense_known = false;
    for (;;) {
        double err = 0;
        self->base.stats.steps++;
        if (too_small(self)) return explain_end(self, KD_ERR_STEP_TOO_SMALL);
        if (!self->to_end && base->opt.h_fixed == 0) self->h = kd_attempt_exact(base->t, self->h);
        status = attempt(self, &err);
        if (status == KD_OK && err < 1) {
            accept(self, err);
            return advise(self);
        }
        // too large an error: a smaller step by its size; otherwise a function failed
        if (status == KD_OK) {
            self->base.stats.rejected_error++;
            find_worst(self);
            report(self, self->base.t, KD_ATTEMPT_ERROR, err);
            reject(self, self->method->shrink(self, err));
        } else {
            status = after_failure(self, status);
            if (status < 0) return explain_end(self, status);
        }
    }
}

// ---- dense output ---------------------------------------------------------------------------------------------------

// k of the further stages and r
static kd_status stages_dense(kd_explicit *self)
{
    const kd_explicit_tableau *b = self->tableau;
    // further stages after the evaluation at the end, from the kept start and size of the step
    for (int i = b->stages + 1; i < b->all_stages; i++) {
        combine(self, self->x_old, self->h_dense, b->a[i], i, self->X);
        kd_status status = kd_explicit_rhs(self, self->base.t_old + b->c[i] * self->h_dense, self->X, self->k[i]);
        if (status < 0) return status;
    }
    // r_i = h sum_j dense_ij k_j
    for (int i = 0; i < b->ndense; i++) combine(self, NULL, self->h_dense, b->dense[i], b->all_stages, self->r[i]);
    return KD_OK;
}

static void stages_interpolate(const kd_explicit *self, double s, double *x)
{
    const kd_explicit_tableau *b = self->tableau;
    const double              *k_end = self->k_end;
    double                     h = self->h_dense;
    // the formula of explicit_tableau.h, tail = r_0 + s (r_1 + s' (r_2 + s r_3)) from inside
    for (int i = 0; i < self->n; i++) {
        double d = self->base.x[i] - self->x_old[i], start = h * self->k[0][i] - d, tail = 0;
        for (int j = b->ndense - 1; j >= 0; j--) tail = self->r[j][i] + (j % 2 == 0 ? s : 1 - s) * tail;
        x[i] = self->x_old[i] + s * (d + (1 - s) * (start + s * (d - h * k_end[i] - start + (1 - s) * tail)));
    }
}

const kd_explicit_class kd_explicit_stages = {
    .solve = stages_solve,
    .proposal = stages_proposal,
    .shrink = stages_shrink,
    .radius = stages_radius,
    .prepare_dense = stages_dense,
    .interpolate = stages_interpolate,
};

kd_status kd_explicit_dense(kd_integrator *base, double t, double *x)
{
    kd_explicit        *self = (kd_explicit *)base;
    const kd_dae_class *f = self->dae->methods;
    if (!(t >= self->base.t_old && t <= self->base.t)) {
        kd_text(self->base.message, sizeof self->base.message, "t = %.9g lies outside of the last step", t);
        return KD_ERR_TIME;
    }
    // the end itself is exact, and before the first step there is nothing else
    if (t == self->base.t || !self->has_past) {
        memcpy(x, self->base.x, (size_t)self->n * sizeof *x);
        return KD_OK;
    }
    self->base.cause = KD_OK;
    // further stages are computed once, for the first time that is asked for in a step
    if (!self->dense_known && self->method->prepare_dense(self) < 0) return self->base.cause;
    self->dense_known = true;
    self->method->interpolate(self, (t - self->base.t_old) / self->h_dense, x);
    // points between leave the constraints: norms and projection as at the end of a step
    bool    moved;
    kd_eval answer = KD_EVAL_OK;
    self->dae->keep = true;
    if (f->correct) answer = f->correct(self->dae->impl, t, x, self->k_start);
    if (answer == KD_EVAL_OK && f->project) answer = f->project(self->dae->impl, t, x, &moved);
    return answer == KD_EVAL_OK ? KD_OK : ((void)eval_cause(self, answer), self->base.cause);
}

// ---- queries --------------------------------------------------------------------------------------------------------

// The error of dop853 is err5 times 10 err5 / err3. With f that begins to act inside of a step err5 may be next to 0 by
// accident, and the product is more so. Where err3 comes out of nothing, or the ratio falls, with steps that have not
// changed, the step wants a look from outside.
static bool is_doubtful(const kd_explicit *self)
{
    const kd_estimates *now = &self->last, *last = &self->before;
    if (!(last->h > 0) || !(now->low > NOTHING)) return false;
    const double part = now->h / last->h, square = part * part;
    return now->low > GREW * square * square * fmax(last->low, NOTHING) || now->ratio * FELL < square * last->ratio;
}

bool kd_explicit_ends(kd_integrator *base, kd_step_ends *ends)
{
    const kd_explicit *self = (const kd_explicit *)base;
    if (!self->has_past) return false;
    *ends = (kd_step_ends){self->base.t_old, self->base.t, self->x_old,      self->k_start,
                           self->base.x,     self->k_next, is_doubtful(self)};
    return true;
}

kd_stats kd_explicit_stats(const kd_integrator *base)
{
    const kd_explicit *self = (const kd_explicit *)base;
    kd_stats           stats = self->base.stats;
    // residuals and steps are counted here, the rest by the formulation
    stats.order_last = self->order;
    if (!self->dae->methods->counters) return stats;
    kd_dae_counters c = self->dae->methods->counters(self->dae->impl);
    stats.for_differences = c.for_differences;
    stats.mass = c.mass;
    stats.projections = c.projections;
    return stats;
}

void kd_explicit_archive(kd_integrator *base, kd_archive *a)
{
    kd_explicit *self = (kd_explicit *)base;
    kd_archive_int(a, &self->order, 0, 2 * KD_EXTRAPOLATION_ORDER_MAX);
    KD_ARCHIVE_REALS(a, &self->t_end, &self->h, &self->h_next, &self->h_least, &self->h_dense, &self->error_last);
    KD_ARCHIVE_REALS(a, &self->last.h, &self->last.low, &self->last.ratio, &self->before.h, &self->before.low,
                     &self->before.ratio);
    KD_ARCHIVE_BOOLS(a, &self->has_past, &self->to_end, &self->rejected, &self->started, &self->dense_known,
                     &self->end_known, &self->stiff, &self->told, &self->retracted);
    kd_archive_count(a, &self->since_start);
    kd_archive_int(a, &self->hits, 0, INT_MAX / 2);
    kd_archive_int(a, &self->misses, 0, INT_MAX / 2);
}
