// bdf_start.c: where the steps of BDF begin: first step and order, restarts, kinks that the past is moved along, steps
// that are taken back.
#include "integrator/bdf_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double PROBE = 1e-4;            // part of the time in which x changes by its own size, for differences
static const double PROBE_PART = 0.1;        // of the first step, at most
static const double UNSEEN = 1e-3;           // of a tolerance: what a first step may change without a look at x'
static const double FIRST_PART = 0.01;       // of the span, at most: what rests at the start need not rest for long
static const double SAME_COEFFICIENT = 1e-9; // difference of leading coefficients that is the rounding of instants
static const double BLIND = 0.1;             // of the step before: so short a one after a retraction has no past
static const double KINK_PART = 0.5;         // of the size of a kink that was too large, for the next ones

static double controlled_norm(const kd_bdf *b, const double *x)
{
    double sum = 0;
    for (int i = 0; i < b->n; i++) {
        double z = b->base.dae->controlled[i] ? x[i] * b->weight[i] : 0;
        sum += z * z;
    }
    return sqrt(sum / b->nc);
}

// x'' at the start to b->xdot, from x' after a short Euler step of length h (HNW II.4); false: not to be had
static bool second_derivative(kd_bdf *b, double h)
{
    const double *x = b->past.D[0], *xdot = b->past.D[1];
    if (!b->base.dae->methods->start || !(h > 0)) return false;
    for (int i = 0; i < b->n; i++) b->x[i] = x[i] + h * xdot[i];
    if (b->base.dae->methods->start(b->base.dae->impl, b->past.t[0] + h, b->x, b->xdot) != KD_EVAL_OK) return false;
    for (int i = 0; i < b->n; i++) {
        b->xdot[i] = (b->xdot[i] - xdot[i]) / h;
        if (!isfinite(b->xdot[i])) return false;
    }
    return true;
}

// The step with an error of a tenth of the tolerance by the norms of x, x', x'' in tolerances
static double first_length(double d0, double d1, double d2, double span)
{
    if (!(d2 > 0)) return d1 > 0 ? 0.1 * fmax(d0, 1) / d1 : span;
    return fmax(fmin(cbrt(0.1 * d1 / d2 / d2), 0.1 * d1 / d2), sqrt(UNSEEN / d2));
}

// The first step. DASSL: |h x'| is half a tolerance, order 1. Otherwise x'' makes it possible to start with order 2,
// and |h^3 x^(3)| is a tenth of the tolerance with |x^(3)| = |x''|^2 / |x'|; not longer than a tenth of the time in
// which x' changes by its own size, unless h^2 x'' is UNSEEN beside the tolerance: x' of a motion that begins without
// velocity and acceleration is rounding, and no measure. What begins later than at the start is not foreseen: never
// longer than FIRST_PART, or at a restart than the steps before. The probe for x'' is short beside the step: where a force sets
// in between, predictor and corrector would agree at the end of a probe that is as long as the step, and its error not be seen.
void kd_bdf_prepare_first_step(kd_bdf *b, double span)
{
    // d0, d1, d2: |x|, |x'|, |x''| in tolerances; h x' of half a tolerance, at most a thousandth of the span
    double d0 = controlled_norm(b, b->past.D[0]), d1 = controlled_norm(b, b->past.D[1]);
    double h = fmin(1e-3 * span, d1 > 0 ? 0.5 / d1 : span);
    // the probe: x changes by a small part of itself (or of one tolerance), but not by rounding only
    double probe = fmin(1e-5 * span, d1 > 0 ? PROBE * fmax(d0, 1) / d1 : span);
    if (b->h_next > 0) probe = fmin(probe, PROBE_PART * b->h_next);
    bool known = !b->base.opt.bdf.dassl_rules && b->order_max > 1 && second_derivative(b, probe);
    if (known) {
        h = first_length(d0, d1, controlled_norm(b, b->xdot), span);
        if (b->h_next <= 0 && probe > PROBE_PART * h) known = second_derivative(b, PROBE_PART * h);
    }
    if (known) {
        h = fmin(h, first_length(d0, d1, controlled_norm(b, b->xdot), span));
        kd_bdf_history_curvature(&b->past, b->xdot);
        b->order = 2;
    }
    if (b->h_next <= 0) b->h_next = fmin(fmax(h, DBL_EPSILON * span), fmax(FIRST_PART * span, b->h_before));
}

// No past but b->x and b->xdot at t
static void begin(kd_bdf *b, double t, bool keep_matrix)
{
    // the past is x and x' at one double node: order 1, all counters anew
    kd_bdf_history_start(&b->past, t, b->x, b->xdot);
    memcpy(b->slope, b->xdot, (size_t)b->n * sizeof *b->x);
    b->base.t_old = t;
    b->order = b->order_least = 1;
    // restarts keep the matrix and remember the step before, which limits the first one (prepare_first_step)
    b->h_before = keep_matrix ? b->h_next : 0;
    b->h_next = b->base.opt.h_first;
    b->h_old = 0;
    b->equal = 0;
    b->raising = true;
    // a sequence of instants goes on over restarts; a fresh start ends it, and cj is compared exactly again
    b->lands = b->lands && keep_matrix;
    if (!b->lands) b->corrector.same = 0;
    b->kinked = b->retractable = b->retracted = false;
    b->accepted_since_start = 0;
    // steps of fixed size need order_max + 1 values on the grid first
    b->grid_wanted = b->base.opt.h_fixed > 0 ? b->order_max + 1 : 0;
    b->grid_count = 0;
    kd_corrector_start(&b->corrector, keep_matrix);
    kd_bdf_set_weights(b);
}

kd_status kd_bdf_start(kd_bdf *b, double t, const double *x, bool keep_matrix)
{
    const kd_dae_class *f = b->base.dae->methods;
    size_t              bytes = (size_t)b->n * sizeof *x;
    b->base.message[0] = '\0';
    b->base.cause = KD_OK;
    b->base.worst = -1;
    b->h = 0;
    b->kink_most = INFINITY;
    // x may be the history itself, which begin() overwrites: a copy first
    memmove(b->x, x, bytes);
    memset(b->xdot, 0, bytes);
    if (!keep_matrix) memset(b->speed, 0, bytes);
    kd_eval answer = f->start ? f->start(b->base.dae->impl, t, b->x, b->xdot) : KD_EVAL_OK;
    begin(b, t, keep_matrix);
    if (answer == KD_EVAL_OK) return KD_OK;
    kd_bdf_keep_fault(b, answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED);
    return b->base.cause;
}

// From b->x, the point behind a kink, without past; jumps have few digits, so x' is determined anew
static kd_status begin_behind(kd_bdf *b)
{
    const kd_dae_class *f = b->base.dae->methods;
    const double        t = b->past.t[0];
    kd_eval             answer = f->start ? f->start(b->base.dae->impl, t, b->x, b->xdot) : KD_EVAL_OK;
    begin(b, t, true);
    if (answer == KD_EVAL_OK) return KD_OK;
    kd_bdf_keep_fault(b, answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED);
    return b->base.cause;
}

// The past of the motion behind a kink: all of it moves along q(t); order, step size and matrix go on. Third and higher
// derivatives jump, too: of a kink beyond the size at which the error test noticed that, nothing but x and x' is kept.
static kd_status pass_kink(kd_bdf *b)
{
    const kd_kink *kink = &b->kink;
    const double   t = b->past.t[0];
    b->base.message[0] = '\0';
    b->base.cause = KD_OK;
    memcpy(b->x, b->past.D[0], (size_t)b->n * sizeof *b->x);
    // the jumps of x, x', x'' at t into b->kink; b->x is behind them
    kd_eval answer = kd_kink_solve(&b->kink, b->base.dae, t, b->x, b->xdot);
    if (answer != KD_EVAL_OK) {
        kd_bdf_keep_fault(b, answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED);
        return b->base.cause;
    }
    // |h jump of x'| tells whether the past can be moved; from now on steps end at instants, often with the same cj
    b->kink_size = b->h_next * controlled_norm(b, kink->xdot);
    b->lands = true;
    b->corrector.same = SAME_COEFFICIENT;
    if (b->kink_size > b->kink_most) return begin_behind(b);
    b->kinked = true;
    kd_bdf_set_weights(b);
    // x <- x + q in all that remembers the motion before: differences, slope, start values of a fixed grid
    kd_bdf_history_bend(&b->past, kink->x, kink->xdot, kink->xddot);
    kd_kink_add_slope(kink, 0, b->slope);
    for (int j = 0; b->grid_wanted > 0 && j < b->grid_count; j++) kd_kink_add(kink, b->grid_t[j] - t, b->grid[j]);
    b->base.t_old = t;
    return KD_OK;
}

// The first step behind a kink has too large an error: without the past, then
kd_status kd_bdf_forget_past(kd_bdf *b)
{
    b->kink_most = KINK_PART * b->kink_size;
    memcpy(b->x, b->past.D[0], (size_t)b->n * sizeof *b->x);
    return begin_behind(b);
}

kd_status kd_bdf_restart(kd_integrator *base, double t, const double *x, kd_restart mode)
{
    kd_bdf    *b = (kd_bdf *)base;
    const bool goes_on = mode == KD_RESTART_SMOOTH && b->past.terms > 0;
    b->behind = mode == KD_RESTART_BEHIND;
    kd_status status = goes_on ? pass_kink(b) : kd_bdf_start(b, t, x ? x : b->past.D[0], mode != KD_RESTART_FRESH);
    kd_bdf_show(b);
    return status;
}

// Order and past of before the step; the matrix is renewed: what was missed shall enter it.
kd_status kd_bdf_retract(kd_integrator *base, double h)
{
    kd_bdf   *b = (kd_bdf *)base;
    kd_status status = KD_OK;
    if (!b->retractable || b->kinked) return KD_ERR_STAGE;
    // differences of before the step, from those behind it; slope and x were kept
    kd_bdf_history_retract(&b->past, &b->step, b->x_old);
    memcpy(b->slope, b->slope_old, (size_t)b->n * sizeof *b->x);
    b->base.t_old = b->past.t[0];
    b->order = b->step.order;
    // the step that follows begins a new row of equal steps, with a new matrix
    b->h_next = h;
    b->h_old = 0;
    b->equal = 0;
    b->raising = b->retractable = false;
    b->retracted = true;
    b->accepted_since_start--;
    b->base.stats.accepted--;
    b->base.stats.retracted++;
    kd_corrector_start(&b->corrector, false);
    kd_bdf_set_weights(b);
    // beside a past of much longer steps the estimate is blind to what the past does not show: without it, then
    if (b->accepted_since_start > 0 && h < BLIND * (b->past.t[0] - b->past.t[1])) {
        memcpy(b->x, b->past.D[0], (size_t)b->n * sizeof *b->x);
        status = begin_behind(b);
        b->h_next = h;
    }
    kd_bdf_show(b);
    return status;
}
