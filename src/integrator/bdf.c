// bdf.c: variable-step, variable-order BDF with fixed leading coefficient for 0 = F(t, x, x') (BCP chapter 5, DASSL).
//
//     x' = P'(t) + cj (x - P(t)),   0 = F(t, x, x'),   P the polynomial of degree k through x_n .. x_(n-k)
//
// Here: error estimate, order and step size. History and coefficients: bdf_history.c. Newton iteration and the rules
// of its matrix: corrector.c. Method, constants and where they differ from DASSL's: docs/methods/bdf.md.
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "integrator/attempt.h"
#include "integrator/bdf_impl.h"

static const double FAILED_SHRINK = 0.25;    // step after a corrector that failed or a function that asked for less
static const int    MAX_SINGULAR = 10;       // singular Newton matrices in a row
static const double ESTIMATE_FLOOR = 1e-4;   // added to safety times estimate
static const double MOST_GROWTH = 2;         // of the step size
static const double NOISE = 1e-13;           // steps shorter than this times t: x' is rounding
static const double LEAST_FIRST = 0.01;      // part of a first step that is left after an error
static const double VANISHING = 1e-14;       // part of the first attempt at which a step is given up
static const double LANDING = 0.05;          // part by which a step may be longer than planned to end at an instant
static const double LAST_STEP = 1.0001;      // a step that ends this close to t_end is stretched to it
static const double BEHIND = 0.1;            // of the tolerance, behind jumps
static const double START_TOLERANCE = 1e-12; // of the values that steps of fixed size start from
static const double MEANS = 10;              // tolerances of a speed: what the error of a position may mean
static const double SPEED_FADES = 0.99;      // from step to step: how fast a position has been lately
static const double MOST_TIGHTER = 1e-3;     // of the tolerance of a position, where its error means one of its speed
static const double ROUNDING = 1e-13;        // of a position
static const int    SETTLED = 12;            // steps since a start: speeds of a motion from rest are no measure before

static const kd_bdf_rule own_rule = {.safety = 4, .least_growth = 1.4, .newton_stop = 0.02};
static const kd_bdf_rule dassl_rule = {.safety = 2, .least_growth = 2, .newton_stop = 0.33};

// ---- creation -------------------------------------------------------------------------------------------------------

#define O kd_integrator_options
// rows of the table of options; .paper: the name that DASSL, or the paper, gives it
// clang-format off
static const kd_option options[] = {
    {KD_WHOLE("bdf.order_max", O, bdf.order_max, KD_BDF_ORDER_MAX, 1, KD_BDF_ORDER_MAX, "highest order; the formulas are stable up to 5"), .paper = "MXORD"},
    {KD_WHOLE("bdf.order_fixed", O, bdf.order_fixed, 0, 0, KD_BDF_ORDER_MAX, "this order only, after start values; 0: variable")},
    {KD_WHOLE("bdf.max_newton", O, bdf.max_newton, 4, 2, INFINITY, "iterations of the corrector, at most"), .paper = "MAXIT"},
    {KD_REAL("bdf.newton_stop", O, bdf.newton_stop, 0, 0, INFINITY, "kappa: the corrector stops when its error is below; 0: chosen"), .paper = "0.33"},
    {KD_REAL("bdf.cj_lower", O, bdf.cj_lower, 0.6, 0, 1, "the matrix is kept while cj / cj_old is above"), .above = true, .paper = "TEMP1"},
    {KD_REAL("bdf.cj_upper", O, bdf.cj_upper, 1.667, 1, INFINITY, "the matrix is kept while cj / cj_old is below"), .paper = "TEMP2"},
    {KD_SWITCH("bdf.dassl_rules", O, bdf.dassl_rules, 0, "DASSL's own rules of re-evaluation, the baseline of S0")},
};
// clang-format on
#undef O

// Any value is accepted here; least_rtol of the class info below is what is sensible
static double least_rtol(const kd_integrator_options *o)
{
    (void)o;
    return 0;
}

static void cut_arrays(kd_bdf *b)
{
    kd_arena *a = &b->base.arena;
    for (int i = 0; i < b->n; i++) b->index_3 = b->index_3 || b->base.dae->index[i] > 2;
    double **vector[] = {&b->predicted,    &b->predicted_dot, &b->x,     &b->xdot,      &b->e,     &b->weight,
                         &b->index_weight, &b->share,         &b->x_old, &b->slope_old, &b->slope, &b->speed};
    for (size_t k = 0; k < sizeof vector / sizeof *vector; k++) *vector[k] = kd_cut_double(a, b->n);
    kd_bdf_history_cut(&b->past, a, b->n);
    b->base.x = b->past.D[0]; // before a start as well: a saved run may be restored here
    // the corrector has rules and weights of its own: they are looked up once, the weights are shared
    const kd_corrector_options rules = {.max_newton = b->base.opt.bdf.max_newton,
                                        .stop = b->base.opt.bdf.newton_stop > 0 ? b->base.opt.bdf.newton_stop
                                                                                : b->rule->newton_stop,
                                        .cj_lower = b->base.opt.bdf.cj_lower,
                                        .cj_upper = b->base.opt.bdf.cj_upper,
                                        .dassl_rules = b->base.opt.bdf.dassl_rules};
    kd_corrector_cut(&b->corrector, a, b->base.dae, &rules);
    b->corrector.slack = b->base.slack;
    b->corrector.weight = b->index_weight;
    kd_kink_cut(&b->kink, a, b->n);
    for (int j = 0; b->base.opt.h_fixed > 0 && j < KD_BDF_TERMS; j++) b->grid[j] = kd_cut_double(a, b->n);
}

static kd_status init(kd_integrator *base)
{
    kd_bdf               *b = (kd_bdf *)base;
    const kd_bdf_options *o = &base->opt.bdf;
    b->rule = o->dassl_rules ? &dassl_rule : &own_rule;
    b->n = base->n;
    b->order_max = o->order_fixed > 0 ? o->order_fixed : o->order_max;
    cut_arrays(b);
    // the error norm is a mean over the controlled components; without any it is zero, not 0 / 0
    for (int i = 0; i < b->n; i++) b->nc += base->dae->controlled[i];
    if (b->nc == 0) b->nc = 1;
    return KD_OK;
}

// What the history has, for those who ask
void kd_bdf_show(kd_bdf *b)
{
    b->base.t = b->past.t[0];
    b->base.x = b->past.D[0];
}

// ---- norms ----------------------------------------------------------------------------------------------------------

// |x''| from the slopes of the last step, which have less noise than differences of x; of a start, what was found there
static double curvature_of(const kd_bdf *b, int i)
{
    if (b->h_old > 0) return fabs(b->slope[i] - b->slope_old[i]) / b->h_old;
    return b->past.terms > 2 ? 2 * fabs(b->past.D[2][i]) : 0;
}

// Two motions that differ by (e, 0) in position and speed differ by (0, p'' e / p') after a shift in time by e / p', and that
// lasts: by p'' e the energy is off for good, where a force acts on a short way only. So this, too, must be within the
// tolerance of the speed. Where the motion turns, p' is what it has been lately. As a rule the error of the velocity is the
// larger one of both; not where p'' is constant, and order 1 has no error but that of p.
static double position_tolerance(const kd_bdf *b, int i, double unit, double tolerance)
{
    const double speed = b->speed[i], curvature = curvature_of(b, i);
    const double allowed = MEANS * speed * (b->base.atol[i] * unit + b->base.rtol[i] * speed);
    if (!(curvature * tolerance > allowed)) return tolerance;
    // at least a part of it, and what rounding asks for
    const double part = MOST_TIGHTER * tolerance, rounding = ROUNDING * fabs(b->past.D[0][i]),
                 size = allowed / curvature;
    const double least = part > rounding ? part : rounding, tighter = size > least ? size : least;
    return tighter < tolerance ? tighter : tolerance;
}

// Not in the first step behind a kink, which has a past that was moved along, by jumps of few digits
static bool positions_mean_speed(const kd_bdf *b)
{
    return !(b->index_3 || b->base.opt.bdf.dassl_rules || b->kinked || b->lands || b->accepted_since_start < SETTLED);
}

// How fast positions move
static void watch_speed(kd_bdf *b)
{
    for (int i = 0; i < b->n; i++) {
        const double now = fabs(b->slope[i]), before = SPEED_FADES * b->speed[i];
        b->speed[i] = now > before ? now : before;
    }
}

// While the start values of fixed steps are made, tolerances are as tight as they can be; behind jumps, where starts
// follow each other and what they lose adds up, tighter than asked for.
void kd_bdf_set_weights(kd_bdf *b)
{
    const kd_dae *dae = b->base.dae;
    const bool    tight = b->grid_wanted > 0, means = positions_mean_speed(b);
    const double *x = b->past.D[0], *atol = b->base.atol, *rtol = b->base.rtol, time = kd_attempt_time(dae);
    const double *usual = b->base.usual, *unit = dae->unit;
    double       *tolerance = b->weight;
    watch_speed(b);
    // kd_integrator_tolerance: of most components in a plain loop, then of those beyond their usual size
    for (int i = 0; i < b->n; i++) tolerance[i] = (unit ? atol[i] * unit[i] : atol[i]) + rtol[i] * fabs(x[i]);
    for (int i = 0; usual && i < b->n; i++)
        if (fabs(x[i]) > usual[i])
            tolerance[i] = kd_integrator_tolerance(&b->base, i, atol[i] * kd_attempt_unit(dae, i), x[i]);
    for (int i = 0; means && i < b->n; i++)
        if (dae->component[i] == KD_COMPONENT_POSITION)
            tolerance[i] = position_tolerance(b, i, kd_attempt_unit(dae, i) / time, tolerance[i]);
    for (int i = 0; (tight || b->behind) && i < b->n; i++) {
        const double least = START_TOLERANCE * (kd_attempt_unit(dae, i) + fabs(x[i]));
        tolerance[i] = tight ? least : fmin(tolerance[i], fmax(BEHIND * tolerance[i], least));
    }
    for (int i = 0; i < b->n; i++) b->weight[i] = 1 / tolerance[i];
}

// ---- error estimates ------------------------------------------------------------------------------------------------

// Norms of the scaled derivatives from the differences of the new point: phi_(k+1) = e, phi_k = pi_k D_k + e, ...,
// and phi_(k+2) = e - pi_(k+1) D_(k+1)
static kd_bdf_estimates estimate(const kd_bdf *b)
{
    // x^(k+1) from e, x^k and x^(k-1) from differences of the past; x^(k+2) where one more difference is known
    const kd_bdf_coefficients *c = &b->step;
    int                        k = c->order;
    bool                       known = b->past.terms > k + 1;
    const double              *D1 = b->past.D[k], *D2 = b->past.D[k - 1], *Dh = known ? b->past.D[k + 1] : D1;
    double                     p1 = c->pi[k], p2 = c->pi[k - 1], ph = known ? c->pi[k + 1] : 0;
    double                     same = 0, lower = 0, lower2 = 0, higher = 0;
    for (int i = 0; i < b->n; i++) {
        if (!b->base.dae->controlled[i]) continue;
        double w = b->index_weight[i], e = w * b->e[i], one = e + w * p1 * D1[i], two = one + w * p2 * D2[i],
               up = e - w * ph * Dh[i];
        // four sums in one sweep: weighted squares for orders k, k-1, k-2, k+1
        same += e * e;
        lower += one * one;
        lower2 += two * two;
        higher += up * up;
    }
    // sigma_j makes h^j x^(j) / j of the differences; without enough points an order is out of reach
    return (kd_bdf_estimates){
        .same = c->sigma[k + 1] * sqrt(same / b->nc),
        .lower = k > 1 ? c->sigma[k] * sqrt(lower / b->nc) : INFINITY,
        .lower2 = k > 2 ? c->sigma[k - 1] * sqrt(lower2 / b->nc) : INFINITY,
        .higher = known ? (k + 1) * c->sigma[k + 1] * c->h / c->psi[k + 1] * sqrt(higher / b->nc) : INFINITY,
    };
}

// Shall the order be lowered, judged by the sizes of h^j x^(j)? (DASSL)
static bool should_lower(int k, const kd_bdf_estimates *s)
{
    // (j) |h^j x^(j)| / j: the derivatives themselves; a regular series decreases with j
    double same = (k + 1) * s->same, lower = k * s->lower, lower2 = (k - 1) * s->lower2;
    if (k == 1) return false;
    return k == 2 ? lower <= 0.5 * same : fmax(lower, lower2) <= same;
}

// h_new / h that makes the error 1 / safety
static double growth(const kd_bdf *b, double estimate, int order)
{
    return pow(b->rule->safety * estimate + ESTIMATE_FLOOR, -1.0 / (order + 1));
}

// Is a higher order promising, judged by the sizes of h^j x^(j)? Or a lower one after all: *down
static bool should_raise(const kd_bdf *b, const kd_bdf_estimates *s, bool *down)
{
    int    k = b->step.order;
    double up = (k + 2) * s->higher, same = (k + 1) * s->same, below = k * s->lower;
    // a higher order needs a difference of equal steps: k + 2 of them; at the top there is none
    if (*down || k == b->order_max || b->equal <= k + 1 || !isfinite(s->higher)) return false;
    *down = k > 1 && below <= fmin(same, up);
    return !*down && (k == 1 ? up < 0.5 * same : up < same);
}

// Order and size of the next step after a good one
static void choose_next(kd_bdf *b, const kd_bdf_estimates *s)
{
    int    k = b->step.order;
    bool   down = should_lower(k, s);
    double est = s->same;
    // the start phase ends at the highest order, in DASSL also when the kd_bdf_estimates speak for a lower one
    if ((down && b->base.opt.bdf.dassl_rules) || k == b->order_max) b->raising = false;
    if (b->raising) {
        b->order = k + 1;
        b->h_next = b->h * (b->base.opt.bdf.dassl_rules ? MOST_GROWTH : fmax(1, fmin(MOST_GROWTH, growth(b, est, k))));
        return;
    }
    // order_fixed is climbed to; otherwise the estimates tell: one up, one down, or the same
    if (k < b->base.opt.bdf.order_fixed) {
        b->order = k + 1;
    } else if (should_raise(b, s, &down)) {
        b->order = k + 1;
        est = s->higher;
    } else if (down && k > b->order_least) {
        b->order = k - 1;
        est = s->lower;
    }
    // before k + 2 equal steps the kd_bdf_estimates mix step sizes: only doubling is worth new coefficients
    double r = growth(b, est, b->order), least = b->equal > k + 1 ? b->rule->least_growth : MOST_GROWTH;
    b->h_next = b->h;
    if (r >= least) b->h_next *= fmin(MOST_GROWTH, r);
    if (r <= 1) b->h_next *= fmax(0.5, fmin(0.9, r));
}

// ---- reports --------------------------------------------------------------------------------------------------------

static void report(kd_bdf *b, kd_attempt outcome, double error, const double *vector)
{
    if (!b->base.dae->observe) return;
    double sum = 0;
    // share: part of each component in the square of the norm; Newton increments count in all components
    for (int i = 0; vector && i < b->n; i++) {
        bool   counts = outcome == KD_ATTEMPT_NEWTON || b->base.dae->controlled[i];
        double z = counts ? vector[i] * b->index_weight[i] : 0;
        b->share[i] = z * z;
        sum += z * z;
    }
    bool known = vector && sum > 0 && isfinite(sum);
    for (int i = 0; known && i < b->n; i++) b->share[i] /= sum;
    // what the observer gets is valid during the call only
    kd_attempt_report r = {.t = b->past.t[0],
                           .h = b->h,
                           .order = b->step.order,
                           .iterations = b->corrector.iterations,
                           .outcome = outcome,
                           .matrix = b->corrector.news,
                           .error = error,
                           .share = known ? b->share : NULL};
    b->base.dae->observe(&r, b->base.dae->observer);
}

static kd_status explain_end(kd_bdf *b, kd_status status)
{
    // with steps of fixed size the usual advice (tolerances) would not help
    const bool  stuck = b->base.opt.h_fixed > 0 && (status == KD_ERR_STEP_TOO_SMALL || status == KD_ERR_NEWTON);
    const char *advice = stuck ? kd_attempt_advice_fixed() : kd_attempt_advice(status);
    char        head[100];
    kd_text(head, sizeof head, "at t = %.9g, h = %.3g, order %d", b->past.t[0], b->h, b->order);
    b->failed = true;
    kd_attempt_explain(b->base.dae, head, b->base.worst, advice, b->base.message, sizeof b->base.message);
    return status;
}

// What fails in a step so short that x' is rounding says less than the failure that made it so short.
static bool is_noise(const kd_bdf *b)
{
    return b->base.cause < 0 && b->h < NOISE * fabs(b->past.t[0]);
}

// A new step begins. Where attempts that failed in the step before have made it so short that x' is rounding, their
// cause stays.
static void begin_causes(kd_bdf *b)
{
    const bool noise = b->h_next > 0 && b->h_next < NOISE * fabs(b->past.t[0]);
    if (b->base.cause < 0 && noise && !b->failed) return;
    b->base.cause = KD_OK;
    b->base.worst = -1;
    b->base.message[0] = '\0';
    b->failed = false;
}

// Keep what the formulation says about its failure.
void kd_bdf_keep_fault(kd_bdf *b, kd_status status)
{
    const char *text = "";
    kd_status   fault = b->base.dae->methods->fault ? b->base.dae->methods->fault(b->base.dae->impl, &text) : KD_OK;
    if (status != KD_ERR_CALLBACK_STOP && is_noise(b)) return;
    b->base.cause = fault < 0 ? fault : status;
    b->base.worst = -1;
    kd_text(b->base.message, sizeof b->base.message, "%s", text);
}

// ---- the step -------------------------------------------------------------------------------------------------------

static void shrink(kd_bdf *b, double factor)
{
    b->h *= factor;
    b->rejected = true;
    b->raising = false;
    b->to_end = false;
}

// t + h must differ from t; near t = 0, where any h does, h must not vanish beside the first attempt
static bool too_small(const kd_bdf *b)
{
    double t = b->past.t[0];
    return b->h <= 4 * DBL_EPSILON * fabs(t) || t + b->h == t || b->h <= b->h_least;
}

// A step whose error is too large: DASSL's rules, but a first step, whose size was a guess, may become much shorter.
static void after_error(kd_bdf *b, const kd_bdf_estimates *s, int failures)
{
    // of a first step the guess of its size was wrong, not its order
    int    k = b->step.order;
    bool   first = b->accepted_since_start == 0 && !b->base.opt.bdf.dassl_rules;
    bool   down = should_lower(k, s) && k > b->order_least && !first;
    double est = down ? s->lower : s->same;
    b->base.stats.rejected_error++;
    if (!is_noise(b)) {
        b->base.cause = KD_ERR_STEP_TOO_SMALL;
        b->base.message[0] = '\0';
        b->base.worst = kd_attempt_worst(b->n, b->e, b->index_weight);
    }
    // third failure in a row: the differences are of no use, the lowest order remains
    if (down) b->order = k - 1;
    if (failures > 2) b->order = b->order_least;
    shrink(b, failures == 1 ? fmax(first ? LEAST_FIRST : 0.25, fmin(0.9, 0.9 * growth(b, est, b->order))) : 0.25);
    if (first && failures == 1) b->raising = true;
}

// Could a shorter step help? Matrices belong to predicted points, which may lie where the formulation has none.
static bool may_pass(kd_status status)
{
    return status == KD_ERR_DECOMPOSITION || status == KD_ERR_RETRY_FAILED || status == KD_ERR_NOT_FINITE ||
           status == KD_ERR_RANK_CHANGE || status == KD_ERR_SINGULAR_CS || status == KD_ERR_SINGULAR_MASS;
}

// An attempt that failed before its error test. < 0: give up
static kd_status after_failure(kd_bdf *b, kd_status status, int *singular)
{
    b->base.stats.rejected_newton++;
    // Newton did not converge: the component with the largest increment is named
    if (status == KD_ERR_NEWTON) {
        if (!is_noise(b)) {
            b->base.cause = KD_ERR_NEWTON;
            b->base.message[0] = '\0';
            b->base.worst = kd_attempt_worst(b->n, b->corrector.dx, b->index_weight);
        }
        report(b, KD_ATTEMPT_NEWTON, b->corrector.norm, b->corrector.dx);
    } else {
        // the formulation could not answer: its reason is kept, and a shorter step is tried only where that may help
        kd_bdf_keep_fault(b, status);
        report(b, status == KD_ERR_DECOMPOSITION ? KD_ATTEMPT_NEWTON : KD_ATTEMPT_EVALUATE, 0, NULL);
        if (status == KD_ERR_DECOMPOSITION && ++*singular >= MAX_SINGULAR) return status;
        if (!may_pass(status)) return status;
    }
    // a fixed step cannot shrink; while the grid is being collected steps still can
    if (b->base.opt.h_fixed > 0 && b->grid_wanted == 0) return b->base.cause;
    shrink(b, FAILED_SHRINK);
    if (too_small(b)) return b->base.cause == KD_ERR_NEWTON ? KD_ERR_STEP_TOO_SMALL : b->base.cause;
    return KD_OK;
}

// Starting values of the corrector: the predictor, raised by one degree where the history allows it. The difference of
// the next order is nearly that of the last step, so that the iteration starts an order nearer to the solution.
static void start_values(kd_bdf *b)
{
    const kd_bdf_coefficients *c = &b->step;
    int                        next = c->order + 1;
    bool                       raise = !b->base.opt.bdf.dassl_rules && b->past.terms > next;
    double                     pi = raise ? c->pi[next] : 0;
    const double              *D = b->past.D[raise ? next : 0];
    for (int i = 0; i < b->n; i++) {
        double d = raise ? pi * D[i] : 0;
        b->x[i] = b->predicted[i] + d;
        b->xdot[i] = b->predicted_dot[i] + c->cj * d;
    }
}

// Predict, correct, e = x - P
static kd_status attempt(kd_bdf *b)
{
    // the last step ends at t_end itself, not at t + h, which may differ by rounding
    double t1 = b->to_end ? b->t_end : b->past.t[0] + b->h;
    kd_bdf_history_coefficients(&b->past, t1, b->order, &b->step);
    // velocities of index 3 are differences of positions over h: they count by h alone, no step is short enough for more
    kd_attempt_weights(b->base.dae, b->h, 0, b->weight, b->index_weight);
    kd_bdf_history_predict(&b->past, &b->step, b->predicted, b->predicted_dot);
    start_values(b);
    // 0 = F(t, x, P' + cj (x - P))
    kd_status status = kd_corrector_solve(&b->corrector, t1, b->h, b->step.cj, b->x, b->xdot);
    if (status < 0) return status;
    for (int i = 0; i < b->n; i++) b->e[i] = b->x[i] - b->predicted[i];
    return KD_OK;
}

// Let the formulation move the new point (projection, norms of quaternions). Only the newest value changes, by delta:
// all its divided differences pi_j D_j change by the same delta, as they do by e.
static kd_status complete(kd_bdf *b)
{
    kd_dae *dae = b->base.dae;
    kd_eval answer = KD_EVAL_OK;
    bool    moved = false;
    // onto the constraints of position and velocity; then all algebraic equations to rounding
    if (dae->methods->project) answer = dae->methods->project(dae->impl, b->step.t, b->x, &moved);
    if (answer == KD_EVAL_OK && dae->methods->correct) {
        dae->keep = true;
        answer = dae->methods->correct(dae->impl, b->step.t, b->x, b->xdot);
        if (!dae->keep) b->corrector.cj_factored = 0; // it linearised
        moved = true;
    }
    if (answer == KD_EVAL_OK && dae->methods->relabel) // does the last correction lie in the range of the coordinates?
        answer = dae->methods->rhs(dae->impl, b->step.t, b->x, b->xdot);
    if (answer != KD_EVAL_OK) return answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
    for (int i = 0; moved && i < b->n; i++) b->e[i] = b->x[i] - b->predicted[i];
    return KD_OK;
}

// Fixed steps: keep values on the grid t_0 + j h until there are enough; then they are the history.
static void collect_grid(kd_bdf *b)
{
    if (b->grid_wanted == 0) return;
    double *last = b->grid[KD_BDF_TERMS - 1];
    // the oldest room takes the newest value
    for (int j = KD_BDF_TERMS - 1; j > 0; j--) {
        b->grid[j] = b->grid[j - 1];
        b->grid_t[j] = b->grid_t[j - 1];
    }
    b->grid[0] = last;
    memcpy(last, b->past.D[0], (size_t)b->n * sizeof *last);
    b->grid_t[0] = b->past.t[0];
    // enough: they are the nodes of a history of order_max, and from here on the step and the order stay
    if (++b->grid_count < b->grid_wanted) return;
    kd_bdf_history_points(&b->past, b->grid_wanted, b->grid_t, b->grid);
    b->order = b->order_least = b->order_max;
    b->grid_wanted = 0;
    kd_bdf_set_weights(b);
}

// A start gives no x' of multipliers, auxiliary variables and contact coordinates. Their differences of the start's
// multiple node are not theirs: without them they have fewer points, which is what predictor and dense output need.
static void forget_start(kd_bdf *b)
{
    for (int j = b->past.terms - 1; j > b->accepted_since_start; j--)
        for (int i = 0; i < b->n; i++)
            if (b->base.dae->component[i] > KD_COMPONENT_INNER) b->past.D[j][i] = 0;
}

static void accept(kd_bdf *b, const kd_bdf_estimates *s)
{
    // before the history changes: kd_bdf_estimates belong to the old differences
    int k = b->step.order;
    b->equal = b->h == b->h_old && k == b->order_old ? b->equal + 1 : 1;
    choose_next(b, s);
    // what retract and the ends of the step need: x and x' of the start
    memcpy(b->x_old, b->past.D[0], (size_t)b->n * sizeof *b->x);
    double *slope = b->slope_old;
    b->slope_old = b->slope;
    b->slope = slope;
    memcpy(slope, b->xdot, (size_t)b->n * sizeof *b->x);
    // the new point enters the differences; order_fixed is kept once it is reached
    kd_bdf_history_accept(&b->past, &b->step, b->e);
    b->base.t_old = b->past.t[1];
    b->h_old = b->h;
    b->order_old = k;
    if (b->base.opt.bdf.order_fixed == b->order) b->order_least = b->order;
    b->accepted_since_start++;
    b->kinked = b->retracted = false;
    b->retractable = !(b->base.opt.h_fixed > 0);
    forget_start(b);
    b->base.stats.accepted++;
    b->base.stats.h_last = b->h;
    b->base.stats.order_last = k;
    kd_bdf_set_weights(b);
}

// Length of the first attempt: the proposal, not beyond t_end, stretched to it where it nearly reaches it
static void choose_step(kd_bdf *b, double t_end)
{
    double span = t_end - b->past.t[0], limit = b->base.opt.h_max > 0 ? fmin(b->base.opt.h_max, span) : span;
    // a double node with nothing behind it: no step size is known yet
    if (b->accepted_since_start == 0 && b->past.terms == 2) kd_bdf_prepare_first_step(b, span);
    b->h = fmin(b->h_next, limit);
    b->t_end = t_end;
    b->to_end = b->h * LAST_STEP >= span;
    // at t_end exactly, or in equal parts where instants follow each other (LANDING)
    if (b->to_end || b->lands) b->h = kd_attempt_landing(b->past.t[0], t_end, b->h, b->lands ? LANDING : 1, b->h_old);
    b->h_least = VANISHING * b->h;
}

// One accepted step of variable size
static kd_status variable_step(kd_bdf *b, double t_end)
{
    int singular = 0, failures = 0;
    choose_step(b, t_end);
    double proposed = b->h_next;
    for (;;) {
        b->base.stats.steps++;
        if (too_small(b)) {
            if (b->base.worst < 0 && b->accepted_since_start > 0)
                b->base.worst = kd_attempt_worst(b->n, b->e, b->index_weight);
            return explain_end(b, KD_ERR_STEP_TOO_SMALL);
        }
        // predict and correct; then the local error, error |x - P|, in tolerances
        kd_status        status = attempt(b);
        kd_bdf_estimates s = {0};
        double           error = 0;
        if (status == KD_OK) {
            s = estimate(b);
            error = b->step.error / b->step.sigma[b->step.order + 1] * s.same;
            if (!isfinite(error)) status = KD_ERR_NEWTON;
        }
        // too large: lower order or smaller h; behind a kink the past is to blame first
        if (status == KD_OK && error > 1) {
            report(b, KD_ATTEMPT_ERROR, error, b->e);
            after_error(b, &s, ++failures);
            if (b->kinked && b->grid_wanted == 0) {
                status = kd_bdf_forget_past(b);
                if (status < 0) return explain_end(b, status);
                choose_step(b, t_end);
                proposed = b->h_next;
            }
            continue;
        }
        // accurate enough: projection, then the point is history
        if (status == KD_OK) status = complete(b);
        if (status == KD_OK) {
            report(b, KD_ATTEMPT_ACCEPTED, error, b->e);
            accept(b, &s);
            // a step that was cut short by t_end says nothing against the longer one that was proposed before
            if (!b->rejected && b->h < proposed && b->h_next >= b->h) b->h_next = fmax(b->h_next, proposed);
            return KD_OK;
        }
        // Newton or a function failed: a shorter step, unless that cannot help
        status = after_failure(b, status, &singular);
        if (status < 0) return explain_end(b, status);
    }
}

// One step of fixed size, without error control
static kd_status fixed_step(kd_bdf *b, double t_end)
{
    int singular = 0;
    // the size is given; only the rest before t_end may be shorter
    b->h_next = b->base.opt.h_fixed;
    choose_step(b, t_end);
    b->base.stats.steps++;
    kd_status status = attempt(b);
    if (status == KD_OK) status = complete(b);
    // after_failure answers with the reason, as a fixed step is not repeated
    if (status < 0) {
        status = after_failure(b, status, &singular);
        return explain_end(b, status);
    }
    report(b, KD_ATTEMPT_ACCEPTED, 0, b->e);
    kd_bdf_estimates none = {0};
    accept(b, &none);
    b->order = b->order_max;
    return KD_OK;
}

// The past in new coordinates, as far as the formulation knows it; b->x is the newest point. Order and step size go on.
// Derivatives at a start (equal nodes) are left out. false: too little is left, or start values are being collected.
static bool keep_past(kd_bdf *b)
{
    const kd_dae_class *f = b->base.dae->methods;
    int                 count = kd_bdf_history_distinct(&b->past), known = 1;
    bool                fixed = b->base.opt.h_fixed > 0;
    if (!f->recall || b->grid_wanted > 0) return false;
    // the values of the past, newest first, until one is not known in the new coordinates
    while (known < count && f->recall(b->base.dae->impl, b->past.t[known], b->past.D[known])) known++;
    if (known < 2 || (fixed && known <= b->order)) return false;
    // differences from values; the order cannot be higher than the points allow, and the matrix is of other coordinates
    memcpy(b->past.D[0], b->x, (size_t)b->n * sizeof *b->x);
    memset(b->speed, 0, (size_t)b->n * sizeof *b->speed);
    kd_bdf_history_rebuild(&b->past, known);
    if (b->order > known - 1) b->order = known - 1;
    if (b->order_least > b->order) b->order_least = b->order;
    kd_corrector_start(&b->corrector, false);
    kd_bdf_set_weights(b);
    return true;
}

// State-space forms may change their coordinates between two steps. Where the past is not to be had in the new ones, it
// is void.
static kd_status relabel(kd_bdf *b)
{
    const kd_dae_class *f = b->base.dae->methods;
    bool                changed = false;
    double              t = b->past.t[0];
    if (!f->relabel || b->accepted_since_start == 0) return KD_OK;
    memcpy(b->x, b->past.D[0], (size_t)b->n * sizeof *b->x);
    kd_eval answer = f->relabel(b->base.dae->impl, t, b->x, &changed);
    if (answer != KD_EVAL_OK) {
        kd_bdf_keep_fault(b, answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED);
        return explain_end(b, b->base.cause);
    }
    // new coordinates without a past: an ordinary start at the same point
    if (!changed || keep_past(b)) return KD_OK;
    kd_status status = kd_bdf_start(b, t, b->x, false);
    return status < 0 ? explain_end(b, status) : KD_OK;
}

// A step of the grid that fixed steps start from
static kd_status grid_step(kd_bdf *b, double t_end)
{
    if (b->grid_count == 0) collect_grid(b); // the start itself
    double    next = b->grid_t[0] + b->base.opt.h_fixed;
    kd_status status = variable_step(b, fmin(next, t_end));
    if (status == KD_OK && b->past.t[0] == next) collect_grid(b);
    return status;
}

static kd_status step(kd_integrator *base, double t_end)
{
    kd_bdf *b = (kd_bdf *)base;
    // the step behind one that was taken back counts as rejected: no return to a longer proposal
    b->rejected = b->retracted;
    b->retractable = false;
    begin_causes(b);
    if (b->past.terms == 0) {
        kd_text(base->message, sizeof base->message, "bdf: start comes before step");
        return KD_ERR_STAGE;
    }
    if (!(t_end >= base->t)) return explain_end(b, KD_ERR_TIME);
    // t_end is reached already, up to rounding of t
    if (kd_integrator_is_there(base, t_end)) {
        base->t = b->past.t[0] = t_end;
        return KD_OK;
    }
    // coordinates may change only here, between two steps
    kd_status status = relabel(b);
    if (status >= 0)
        status = b->grid_wanted > 0        ? grid_step(b, t_end)
                 : b->base.opt.h_fixed > 0 ? fixed_step(b, t_end)
                                           : variable_step(b, t_end);
    kd_bdf_show(b);
    return status;
}

// ---- queries --------------------------------------------------------------------------------------------------------

static void refresh(kd_integrator *base)
{
    kd_corrector_start(&((kd_bdf *)base)->corrector, false);
}

static double gamma_of(const kd_integrator *base)
{
    const double cj = ((const kd_bdf *)base)->corrector.cj_factored;
    return cj > 0 ? cj : -1;
}

static bool ends_of(kd_integrator *base, kd_step_ends *ends)
{
    const kd_bdf *b = (const kd_bdf *)base;
    if (!b->retractable || b->kinked) return false;
    *ends = (kd_step_ends){b->base.t_old, b->past.t[0], b->x_old, b->slope_old, b->past.D[0], b->slope, false};
    return true;
}

// The polynomial through the last k + 2 points, moved onto the constraints that the formulation holds. The
// formulation's own interpolation is not used: it differentiates positions, which agree with the velocities to the
// tolerance only, and steps of a multistep method are short.
static kd_status dense(kd_integrator *base, double t, double *x)
{
    kd_bdf *b = (kd_bdf *)base;
    if (!(t >= b->base.t_old && t <= b->past.t[0])) {
        kd_text(b->base.message, sizeof b->base.message, "t = %.9g lies outside of the last step", t);
        return KD_ERR_TIME;
    }
    // at the end of the step, and before the first one, the point itself
    bool inside = t < b->past.t[0] && b->accepted_since_start > 0;
    kd_bdf_history_interpolate(&b->past, inside ? b->past.terms - 1 : 0, t, x);
    if (!inside || t == b->base.t_old || !b->base.dae->methods->between) return KD_OK;
    // pieces between two steps leave the constraints: back onto them
    b->base.cause = KD_OK;
    kd_eval answer = b->base.dae->methods->between(b->base.dae->impl, t, x);
    if (answer == KD_EVAL_OK) return KD_OK;
    kd_bdf_keep_fault(b, answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED);
    return b->base.cause;
}

static kd_stats stats_of(const kd_integrator *base)
{
    kd_stats stats = base->stats;
    kd_attempt_counters(base->dae, &stats);
    return stats;
}

static const double nodes[] = {0.0};

// least_rtol: differences of x over many digits estimate the error, some 45 units in the last place. Below that steps
// shrink with the rounding errors that they should see (Cartesian pendulum, 1 s: 2400 steps at 1e-14, 207000 at 1e-15).
static void archive_step(kd_archive *a, kd_bdf_coefficients *c)
{
    double *each[] = {c->psi, c->pi, c->slope, c->sigma};
    kd_archive_int(a, &c->order, 0, KD_BDF_ORDER_MAX);
    KD_ARCHIVE_REALS(a, &c->t, &c->h, &c->cj, &c->error);
    for (int k = 0; k < 4; k++) kd_archive_doubles(a, each[k], KD_BDF_TERMS);
}

static void archive(kd_integrator *base, kd_archive *a)
{
    kd_bdf *b = (kd_bdf *)base;
    int    *order[] = {&b->order, &b->order_old, &b->order_least};
    // the past and the present attempt
    kd_archive_int(a, &b->past.terms, 0, KD_BDF_TERMS);
    kd_archive_doubles(a, b->past.t, KD_BDF_TERMS);
    kd_archive_doubles(a, b->grid_t, KD_BDF_TERMS);
    const int most = b->grid[0] ? KD_BDF_TERMS : 0; // only steps of fixed size have a grid
    kd_archive_int(a, &b->grid_count, 0, KD_BDF_TERMS);
    kd_archive_int(a, &b->grid_wanted, 0, most);
    archive_step(a, &b->step);
    kd_corrector_archive(&b->corrector, a);
    // order and step size
    for (int k = 0; k < 3; k++) kd_archive_int(a, order[k], 0, KD_BDF_ORDER_MAX);
    KD_ARCHIVE_REALS(a, &b->h, &b->h_next, &b->h_old, &b->h_least, &b->t_end, &b->kink_size, &b->kink_most,
                     &b->h_before);
    KD_ARCHIVE_BOOLS(a, &b->to_end, &b->rejected, &b->raising, &b->kinked, &b->retractable, &b->retracted, &b->behind,
                     &b->lands, &b->failed);
    kd_archive_int(a, &b->equal, 0, INT_MAX / 2);
    kd_archive_count(a, &b->accepted_since_start);
}

const kd_integrator_class kd_bdf_class = {
    .info = {.word = "bdf",
             .own_word = "bdf",
             .sentence = "variable-order BDF with fixed leading coefficient",
             .available = true,
             .needs = KD_INTEGRATES_RESIDUAL,
             .projected = KD_CONTINUES,
             .index_max = 3,
             .selectors = true,
             .updates = true,
             .own_matrices = true,
             .fixed_steps = true,
             .order = KD_BDF_ORDER_MAX,
             .order_least = 1,
             .order_option = "bdf.order_max",
             .order_dense = KD_BDF_ORDER_MAX,
             .least_rtol = 1e-14,
             .turns = 4,
             .nnodes = 1,
             .nodes = nodes,
             .check_period = 32,
             .compared = "ggl*3 odassl index1 statespace index3-"},
    .title = "bdf",
    .size = sizeof(kd_bdf),
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .least_rtol = least_rtol,
    .init = init,
    .restart = kd_bdf_restart,
    .step = step,
    .retract = kd_bdf_retract,
    .ends = ends_of,
    .refresh = refresh,
    .gamma = gamma_of,
    .dense = dense,
    .stats = stats_of,
    .archive = archive,
};
