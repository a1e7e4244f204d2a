// one_step.c: the frame of implicit one-step methods: attempts, their size, matrices, restarts (HW II, IV.8: the rules
// of RADAU5; S3 section 3: its options). The stages are in radau.c and sdirk.c.
#include "integrator/one_step.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "integrator/attempt.h"

static const double UPDATE_THETA = 0.1;    // rate of Newton up to which derivatives are updated, not evaluated
static const double RETRY_SHRINK = 0.25;   // step after a function that could not be evaluated
static const double FIRST_SHRINK = 0.1;    // step after an error failure in the first step
static const double LEAST_RTOL = 9.99;     // times uround
static const int    MAX_SINGULAR = 5;      // singular Newton matrices in a row
static const double NOISE = 1e-13;         // steps shorter than this times t: X' = Z / h is rounding
static const double VANISHING = 1e-14;     // part of the first attempt at which a step is given up
static const double LANDING = 0.05;        // part by which a step may be longer than planned to end at an instant
static const double LAST_STEP = 1.0001;    // a step that ends this close to t_end is stretched to it
static const double LAST_FIXED = 1 + 1e-9; // the same for steps of a fixed size

// ---- creation -------------------------------------------------------------------------------------------------------

double kd_one_step_least_rtol(const kd_implicit_options *rule)
{
    return LEAST_RTOL * rule->uround;
}

void kd_one_step_init(kd_one_step *s, const kd_one_step_class *method, kd_implicit_options *rule)
{
    kd_integrator *base = &s->base;
    kd_arena      *a = &base->arena;
    const int      n = s->n = base->n;
    s->dae = base->dae;
    s->method = method;
    s->order = method->order;
    s->exponent = method->exponent;
    s->rule = rule;
    // derivatives of components behind nderivative are never asked for
    s->nd = s->dae->nderivative > 0 ? s->dae->nderivative : n;
    double **vector[] = {&base->x, &s->x_old, &s->xdot,   &s->xdot_old,      &s->X,    &s->Xdot,
                         &s->dx,   &s->err,   &s->weight, &s->newton_weight, &s->share};
    for (size_t k = 0; k < sizeof vector / sizeof *vector; k++) *vector[k] = kd_cut_double(a, n);
    s->F = kd_cut_double(a, s->dae->nrows);
    kd_kink_cut(&s->kink, a, n);
    // both norms are means over their own components; none at all must not divide by zero
    for (int i = 0; i < n; i++) {
        s->nc += s->dae->controlled[i];
        s->nn += s->dae->index[i] > 0;
    }
    if (s->nc == 0) s->nc = 1;
    if (s->nn == 0) s->nn = 1;
}

// ---- norms ----------------------------------------------------------------------------------------------------------

static void exchange(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

static void set_weights(kd_one_step *s)
{
    const double *x = s->base.x, *atol = s->base.atol;
    for (int i = 0; i < s->n; i++)
        s->weight[i] = 1 / kd_integrator_tolerance(&s->base, i, atol[i] * kd_attempt_unit(s->dae, i), x[i]);
}

double kd_one_step_error_norm(const kd_one_step *s, const double *err)
{
    double sum = 0;
    for (int i = 0; i < s->n; i++) {
        if (!s->dae->controlled[i]) continue;
        double e = err[i] * s->newton_weight[i];
        sum += e * e;
    }
    double norm = sqrt(sum / s->nc);
    return norm < 1e-10 ? 1e-10 : norm; // NaN stays NaN
}

// ---- the observer ---------------------------------------------------------------------------------------------------

// Tell who listens how the attempt from t ended.
static void report(kd_one_step *s, double t, kd_attempt outcome, double norm, const double *x)
{
    if (!s->dae->observe) return;
    const kd_attempt_report told = {
        .t = t,
        .h = s->h,
        .order = s->order,
        .iterations = s->iterations,
        .outcome = outcome,
        .matrix = s->news,
        .error = norm,
        .share = x ? kd_attempt_shares(s->dae, x, s->newton_weight, outcome != KD_ATTEMPT_NEWTON, s->share) : NULL,
    };
    s->dae->observe(&told, s->dae->observer);
}

static void raise_news(kd_one_step *s, kd_matrix_news news)
{
    if (news > s->news) s->news = news;
}

// ---- causes ---------------------------------------------------------------------------------------------------------

// What fails in a step so short that X' is rounding says less than the failure that made it so short.
static bool is_noise(const kd_one_step *s)
{
    return s->base.cause < 0 && s->h < NOISE * fabs(s->base.t);
}

kd_status kd_one_step_eval_cause(kd_one_step *s, kd_eval answer)
{
    kd_integrator *base = &s->base;
    const char    *text = "";
    kd_status      status = s->dae->methods->fault(s->dae->impl, &text);
    // a failure that is only the rounding of a tiny step does not replace the reason of before
    if (answer == KD_EVAL_STOP || !is_noise(s)) {
        base->cause = status < 0 ? status : KD_ERR_RETRY_FAILED;
        base->worst = -1;
        kd_text(base->message, sizeof base->message, "%s", text);
    }
    return answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
}

static kd_status linear_cause(kd_one_step *s, kd_status status)
{
    kd_integrator *base = &s->base;
    const char    *text = "";
    (void)s->dae->methods->fault(s->dae->impl, &text);
    base->cause = status;
    base->worst = -1;
    kd_text(base->message, sizeof base->message, "%s", text);
    return status;
}

static kd_status explain_end(kd_one_step *s, kd_status status)
{
    const bool stuck = s->base.opt.h_fixed > 0 && (status == KD_ERR_STEP_TOO_SMALL || status == KD_ERR_NEWTON);
    char       head[80];
    kd_text(head, sizeof head, "at t = %.9g, h = %.3g", s->base.t, s->h);
    s->failed = true;
    kd_attempt_explain(s->dae, head, s->base.worst, stuck ? kd_attempt_advice_fixed() : kd_attempt_advice(status),
                       s->base.message, sizeof s->base.message);
    return status;
}

static void clear_cause(kd_one_step *s)
{
    s->base.message[0] = '\0';
    s->base.cause = KD_OK;
    s->failed = false;
}

// A new step begins. Where attempts that failed in the step before have made it so short that X' is rounding, their
// cause stays.
static void begin_causes(kd_one_step *s)
{
    const bool noise = s->h_next > 0 && s->h_next < NOISE * fabs(s->base.t);
    if (s->base.cause < 0 && noise && !s->failed) return;
    clear_cause(s);
    s->base.worst = -1;
}

// Status of who has no smaller step to try
static kd_status exhausted(const kd_one_step *s)
{
    return s->base.cause >= 0 || s->base.cause == KD_ERR_NEWTON ? KD_ERR_STEP_TOO_SMALL : s->base.cause;
}

// ---- matrices -------------------------------------------------------------------------------------------------------

void kd_one_step_forget(kd_one_step *s)
{
    s->contraction = 1;
    s->h_newton = INFINITY;
    if (s->method->forget) s->method->forget(s);
}

double kd_one_step_growth_of_rate(const kd_one_step *s, double h)
{
    // rates that were measured in longer steps are pessimistic, not wrong: no correction downwards
    double ratio = s->h / h;
    return ratio > 1 ? ratio * ratio : 1;
}

kd_status kd_one_step_evaluate(kd_one_step *s, double t, const double *x, double *part, double *y)
{
    const kd_dae_class *f = s->dae->methods;
    kd_eval             answer;
    // reduced at once by the formulation, or F first and its elimination afterwards
    if (f->evaluate) {
        answer = f->evaluate(s->dae->impl, t, x, s->Xdot, part, y);
    } else {
        answer = kd_integrator_residual(s->dae, s->base.slack, t, x, s->Xdot, s->F);
        if (answer == KD_EVAL_OK) f->reduce(s->dae->impl, s->F, part, y);
    }
    return answer == KD_EVAL_OK ? KD_OK : kd_one_step_eval_cause(s, answer);
}

// Derivatives of the present point serve a step of the present size.
static void assume_rate(kd_one_step *s)
{
    s->theta_seen = KD_LEAST_RATE * fabs(s->rule->theta);
    s->h_seen = s->h;
}

kd_status kd_one_step_linearize(kd_one_step *s, double t, const double *x, const double *xdot, double gamma, bool here)
{
    // step and gamma tell the formulation how to scale differences
    s->dae->h = s->h;
    if (gamma > 0) s->dae->gamma = gamma;
    kd_status status = s->dae->methods->linearize(s->dae->impl, t, x, xdot, s->restart);
    s->restart = false;
    s->h_factored = 0;
    raise_news(s, KD_MATRIX_EVALUATED);
    if (status < 0) return linear_cause(s, status);
    // serves this step; whether it belongs to its very start decides if failures are blamed on it
    s->jacobian_current = s->linearized = true;
    s->jacobian_here = here;
    s->only_updated = false;
    assume_rate(s);
    return KD_OK;
}

kd_status kd_one_step_update(kd_one_step *s, double gamma)
{
    s->dae->h = s->h;
    if (gamma > 0) s->dae->gamma = gamma;
    // F_x' at the start of the step; F_x as it was
    kd_status status = s->dae->methods->update(s->dae->impl, s->base.t, s->base.x, s->xdot);
    s->h_factored = 0;
    raise_news(s, KD_MATRIX_UPDATED);
    if (status < 0) return linear_cause(s, status);
    s->jacobian_current = s->only_updated = true;
    s->jacobian_here = false;
    assume_rate(s);
    return KD_OK;
}

bool kd_one_step_update_serves(const kd_one_step *s)
{
    return s->dae->methods->update && s->linearized && !s->restart && s->theta < UPDATE_THETA;
}

kd_status kd_one_step_factor(kd_one_step *s, double gamma_real, double gamma_re, double gamma_im)
{
    // the factors serve every step of the same size
    if (s->h_factored == s->h) return KD_OK;
    kd_status status = s->dae->methods->factor(s->dae->impl, gamma_real, gamma_re, gamma_im);
    raise_news(s, KD_MATRIX_FACTORED);
    if (status < 0) return linear_cause(s, status);
    s->h_factored = s->h;
    s->gamma = gamma_real;
    return KD_OK;
}

kd_status kd_one_step_factor_further(kd_one_step *s, int k, double gamma_re, double gamma_im)
{
    kd_status status = s->dae->methods->pair(s->dae->impl, k);
    if (status == KD_OK) status = s->dae->methods->factor(s->dae->impl, 0, gamma_re, gamma_im);
    if (status >= 0) return KD_OK;
    s->h_factored = 0;
    return linear_cause(s, status);
}

// ---- step size ------------------------------------------------------------------------------------------------------

static double clamp(double x, double low, double high)
{
    return fmax(low, fmin(high, x));
}

// h_new = h / quotient; Newton iterations count into the safety factor (HW IV Eq. 8.21)
static double quotient(const kd_one_step *s, double err)
{
    const kd_implicit_options *o = s->rule;
    // many iterations: the step is too long for the old matrix, not for the error alone
    double safe = fmin(o->safety, o->safety * (1 + 2 * o->max_newton) / (s->iterations + 2 * o->max_newton));
    return clamp(pow(err, s->exponent) / safe, 1 / o->fac_upper, 1 / o->fac_lower);
}

// predictive controller of Gustafsson (HW IV Eq. 8.25)
static double predictive_quotient(const kd_one_step *s, double err, double quot)
{
    const kd_implicit_options *o = s->rule;
    // after a first step there is nothing to predict from
    if (o->classical || s->accepted_since_start < 1) return quot;
    // err_(n+1) is expected to change as it did from the last step to this one; the more careful of both quotients
    double g = s->h_accepted / s->h * pow(err * err / s->err_accepted, s->exponent) / o->safety;
    return fmax(quot, clamp(g, 1 / o->fac_upper, 1 / o->fac_lower));
}

// First step: a hundredth of the time in which x changes by its own size (HNW I, II.4)
static double first_step(kd_one_step *s, double span)
{
    double d0 = 0, d1 = 0;
    for (int i = 0; i < s->n; i++) {
        if (!s->dae->controlled[i]) continue;
        // |x| and |x'| in tolerances, squared
        d0 += pow(s->base.x[i] * s->weight[i], 2);
        d1 += pow(s->xdot[i] * s->weight[i], 2);
    }
    double T = kd_attempt_time(s->dae), h = d0 > 1e-10 && d1 * T * T > 1e-10 ? 0.01 * sqrt(d0 / d1) : 1e-6 * T;
    return fmin(h, span);
}

// Length of the first attempt: the proposal, not beyond t_end, stretched to it where it nearly reaches it
static void choose_step(kd_one_step *s, double t_end)
{
    const kd_integrator_options *o = &s->base.opt;
    double                       t = s->base.t, span = t_end - t, limit = o->h_max > 0 ? fmin(o->h_max, span) : span;
    // constant steps: neither proposal nor h_max
    if (o->h_fixed > 0) {
        s->h_next = o->h_fixed;
        limit = span;
    }
    if (s->h_next <= 0) s->h_next = first_step(s, span);
    s->h = fmin(s->h_next, limit);
    s->t_end = t_end;
    // what nearly reaches t_end is stretched to it, or lands there in equal parts
    s->to_end = s->h * (o->h_fixed > 0 ? LAST_FIXED : LAST_STEP) >= span;
    if (o->h_fixed > 0)
        s->h = s->to_end ? span : s->h;
    else if (s->to_end || s->lands)
        s->h = kd_attempt_landing(t, t_end, s->h, s->lands ? LANDING : 1, s->h_factored);
    s->h_least = VANISHING * s->h;
}

// Choose the next step; keep it, and the decomposition, if it would hardly change. A step that was cut short by t_end
// says nothing against the longer one that was proposed before.
static void propose(kd_one_step *s, double h_new)
{
    double ratio = h_new / s->h;
    // a step cut short by t_end: back to the longer plan; else a factored matrix is worth a little less growth
    if (!s->rejected && s->h < s->h_next && h_new >= s->h)
        h_new = fmax(h_new, s->h_next);
    else if (s->jacobian_current && ratio >= s->rule->quot1 && ratio <= s->rule->quot2)
        h_new = s->h;
    s->h_next = h_new;
}

// The present attempt is over; make h smaller
static void reject(kd_one_step *s, double factor_of_h)
{
    s->h *= factor_of_h;
    s->rejected = true;
    s->to_end = false;
}

// t + h must differ from t; near t = 0, where any h does, h must not vanish beside the first attempt
static bool too_small(const kd_one_step *s)
{
    const double t = s->base.t;
    return 0.1 * s->h <= fabs(t) * s->rule->uround || t + s->h == t || s->h <= s->h_least;
}

// ---- start ----------------------------------------------------------------------------------------------------------

static kd_status start(kd_one_step *s, double t, const double *x)
{
    const kd_dae_class *f = s->dae->methods;
    const size_t        bytes = (size_t)s->n * sizeof *x;
    kd_eval             answer = KD_EVAL_OK;
    // x may be base.x itself; nothing is known of before
    s->base.t = s->base.t_old = t;
    memmove(s->base.x, x, bytes);
    memcpy(s->x_old, s->base.x, bytes);
    memset(s->xdot, 0, bytes);
    clear_cause(s);
    s->has_past = false;
    // x' from the formulation's start, or from the right-hand side, or not at all
    if (f->start) answer = f->start(s->dae->impl, t, s->base.x, s->xdot);
    if (answer == KD_EVAL_OK && f->rhs && !f->start) answer = f->rhs(s->dae->impl, t, s->base.x, s->xdot);
    if (answer != KD_EVAL_OK) return (void)kd_one_step_eval_cause(s, answer), s->base.cause;
    s->xdot_known = f->start || f->rhs;
    // rate, factors and derivatives belonged to another motion
    set_weights(s);
    s->h_next = s->base.opt.h_first;
    s->h_factored = 0;
    kd_one_step_forget(s);
    s->theta = 0;
    s->first = s->restart = true;
    s->rejected = s->jacobian_current = s->jacobian_here = s->moved_on = false;
    s->base.kinked = s->lands = s->retracted = false;
    s->accepted_since_start = 0;
    return KD_OK;
}

// The past of the motion behind a kink: all of it moves along q(t)
static kd_status pass_kink(kd_one_step *s)
{
    clear_cause(s);
    // Xdot: x' from the left in, x' from the right out
    memcpy(s->Xdot, s->xdot, (size_t)s->n * sizeof *s->xdot);
    kd_eval answer = kd_kink_solve(&s->kink, s->dae, s->base.t, s->base.x, s->Xdot);
    if (answer != KD_EVAL_OK) return (void)kd_one_step_eval_cause(s, answer), s->base.cause;
    // where x' is that of a stage (SDIRK) its jump is added, not the value from the right
    if (s->method->slope_jumps)
        kd_kink_add_slope(&s->kink, 0, s->xdot);
    else
        exchange(&s->xdot, &s->Xdot);
    // the past moves along q(t): stages, then the start of the last step and its slope
    if (s->has_past) {
        if (s->method->bend) s->method->bend(s);
        kd_kink_add(&s->kink, s->base.t_old - s->base.t, s->x_old);
        kd_kink_add_slope(&s->kink, s->base.t_old - s->base.t, s->xdot_old);
    }
    s->base.kinked = s->lands = true;
    return KD_OK;
}

kd_status kd_one_step_restart(kd_integrator *base, double t, const double *x, kd_restart mode)
{
    kd_one_step *s = (kd_one_step *)base;
    if (mode == KD_RESTART_SMOOTH) return pass_kink(s);
    // SAME_ROWS: pattern, matrix and step size of before are still good; FRESH begins with nothing
    const double h = s->h_next, h_factored = s->h_factored;
    const bool   linearized = s->linearized, current = s->jacobian_current, lands = s->lands;
    if (mode == KD_RESTART_FRESH) s->h_longest = 0;
    kd_status status = start(s, t, x);
    if (status < 0 || mode == KD_RESTART_FRESH || !linearized) return status;
    if (h > 0) s->h_next = h;
    s->h_factored = h_factored;
    s->jacobian_current = current;
    s->lands = lands;
    s->restart = false;
    return KD_OK;
}

// The matrix is renewed: what was missed shall enter it.
kd_status kd_one_step_retract(kd_integrator *base, double h)
{
    kd_one_step *s = (kd_one_step *)base;
    if (!s->has_past || base->kinked) return KD_ERR_STAGE;
    // the ends of the step change places; its matrix and rates are forgotten
    exchange(&base->x, &s->x_old);
    exchange(&s->xdot, &s->xdot_old);
    s->xdot_known = s->old_known;
    base->t = base->t_old;
    s->h_next = h;
    s->h_factored = 0;
    kd_one_step_forget(s);
    s->has_past = s->moved_on = s->jacobian_current = s->jacobian_here = false;
    s->retracted = true;
    s->accepted_since_start = 0;
    base->stats.accepted--;
    base->stats.retracted++;
    set_weights(s);
    return KD_OK;
}

// ---- the step -------------------------------------------------------------------------------------------------------

// State-space forms may choose new coordinates after an accepted step. It is done when the next one begins, so that
// dense output of the last one remains possible. Step size and its control go on; derivatives and stages are void.
static kd_status relabel(kd_one_step *s)
{
    const kd_dae_class *f = s->dae->methods;
    bool                changed = false;
    if (!f->relabel || !s->moved_on) return KD_OK;
    kd_eval answer = f->relabel(s->dae->impl, s->base.t, s->base.x, &changed);
    // new coordinates: the old point is one in them, but neither stages nor derivatives nor weights are
    if (answer == KD_EVAL_OK && changed) {
        s->has_past = s->jacobian_current = s->jacobian_here = false;
        s->restart = true;
        s->h_factored = 0;
        if (s->method->forgets_rate) kd_one_step_forget(s);
        if (f->rhs) answer = f->rhs(s->dae->impl, s->base.t, s->base.x, s->xdot);
        s->xdot_known = f->rhs;
        set_weights(s);
    }
    s->moved_on = false;
    if (answer == KD_EVAL_OK) return KD_OK;
    kd_status status = kd_one_step_eval_cause(s, answer);
    return explain_end(s, status == KD_ERR_CALLBACK_STOP ? status : s->base.cause);
}

// x_1 in X, corrected and projected by the formulation; Xdot belongs to it. KD_OK, or the attempt has to be repeated.
static kd_status finish_point(kd_one_step *s, double t1, double h_new)
{
    kd_dae             *dae = s->dae;
    const kd_dae_class *f = dae->methods;
    kd_eval             answer = KD_EVAL_OK;
    // x_1 of the stages; may the matrix be kept, and for which step?
    s->method->end_point(s);
    dae->keep = s->method->keeps(s);
    dae->h = h_new;
    // algebraic equations to rounding; where that linearises anew (keep is false then), the factors are void
    if (f->correct) {
        answer = f->correct(dae->impl, t1, s->X, s->Xdot);
        if (answer != KD_EVAL_OK) s->jacobian_current = s->jacobian_here = false; // it may have been replaced
        if (answer != KD_EVAL_OK || !dae->keep) s->h_factored = 0;
    }
    if (answer == KD_EVAL_OK && f->project) { // the error was estimated before; the next step starts from here
        bool moved = false;
        answer = f->project(dae->impl, t1, s->X, &moved);
    }
    // the slope where the method's own last stage does not give it
    if (answer == KD_EVAL_OK && s->method->end_slope(s)) answer = f->rhs(dae->impl, t1, s->X, s->Xdot);
    return answer == KD_EVAL_OK ? KD_OK : kd_one_step_eval_cause(s, answer);
}

// The step is accepted if its end point can be finished.
static kd_status complete(kd_one_step *s, double h_new)
{
    double    t1 = s->to_end ? s->t_end : s->base.t + s->h;
    kd_status status = finish_point(s, t1, h_new);
    if (status < 0) return status;
    // X is the new point, x_old the start of the step; arrays take turns
    exchange(&s->x_old, &s->base.x);
    exchange(&s->base.x, &s->X);
    exchange(&s->xdot_old, &s->xdot);
    exchange(&s->xdot, &s->Xdot);
    s->base.t_old = s->base.t;
    s->base.t = t1;
    s->old_known = s->xdot_known;
    s->xdot_known = true;
    // the matrix serves the next step if the class and the formulation both keep it
    s->jacobian_current = s->dae->keep;
    s->jacobian_here = false;
    s->moved_on = true;
    s->method->accepted(s);
    return KD_OK;
}

// Take the attempt as a step, which may still fail.
static kd_status accept(kd_one_step *s, double err)
{
    const kd_integrator_options *o = &s->base.opt;
    double                       h_new = s->h / predictive_quotient(s, err, quotient(s, err));
    if (s->rejected) h_new = fmin(h_new, s->h); // no growth right after a rejection
    s->growth = h_new / s->h;
    // with the size of the next step, for which the formulation may linearise when it corrects the point
    kd_status status = complete(s, fmin(h_new, o->h_max > 0 ? o->h_max : h_new));
    if (status < 0) return status;
    propose(s, h_new);
    // what the predictive controller compares with; 0.01 at least: one very good step must not brake the next
    s->h_accepted = s->h;
    s->h_longest = fmax(s->h_longest, s->h);
    s->err_accepted = fmax(1e-2, err);
    s->base.stats.h_last = s->h;
    s->base.stats.accepted++;
    report(s, s->base.t_old, KD_ATTEMPT_ACCEPTED, err, o->h_fixed > 0 ? NULL : s->err);
    s->accepted_since_start++;
    s->first = false;
    s->has_past = true;
    s->base.kinked = s->retracted = false;
    set_weights(s);
    return KD_OK;
}

static void reject_error(kd_one_step *s, double err)
{
    s->base.stats.rejected_error++;
    s->base.cause = KD_ERR_STEP_TOO_SMALL;
    // the component to name, should no step be small enough
    s->base.worst = kd_attempt_worst(s->n, s->err, s->newton_weight);
    report(s, s->base.t, KD_ATTEMPT_ERROR, err, s->err);
    reject(s, s->first ? FIRST_SHRINK : 1 / quotient(s, err));
}

// An attempt that failed before its error test: a smaller step, fresh selectors. < 0: give up.
static kd_status after_failure(kd_one_step *s, kd_status status, double shrink, int *singular)
{
    kd_integrator *base = &s->base;
    // Newton diverged: by the factor that its rate suggests; refused evaluation, singular matrix: fixed factors
    if (status == KD_ERR_NEWTON) {
        if (!is_noise(s)) {
            base->cause = KD_ERR_NEWTON;
            base->worst = kd_attempt_worst(s->n, s->dx, s->newton_weight);
            base->message[0] = '\0';
        }
        report(s, base->t, KD_ATTEMPT_NEWTON, s->norm, s->dx);
    } else if (status == KD_ERR_RETRY_FAILED) {
        report(s, base->t, KD_ATTEMPT_EVALUATE, 0, NULL);
        shrink = RETRY_SHRINK;
    } else if (status == KD_ERR_DECOMPOSITION) {
        report(s, base->t, KD_ATTEMPT_NEWTON, 0, NULL);
        shrink = KD_NEWTON_SHRINK;
    } else {
        return status;
    }
    // again from the same point, with everything new but the point
    base->stats.rejected_newton++;
    if (status == KD_ERR_DECOMPOSITION && ++*singular >= MAX_SINGULAR) return status;
    reject(s, shrink);
    s->restart = true; // selectors anew (S3: NSEL counts Newton failures)
    s->jacobian_current = s->jacobian_here = false;
    kd_one_step_forget(s);
    if (base->opt.h_fixed > 0) return base->cause;
    return too_small(s) ? exhausted(s) : KD_OK;
}

kd_status kd_one_step_step(kd_integrator *base, double t_end)
{
    kd_one_step *s = (kd_one_step *)base;
    int          singular = 0;
    // checks; t_end may be reached already
    s->rejected = s->retracted;
    if (!(t_end >= base->t)) {
        clear_cause(s);
        base->worst = -1;
        return explain_end(s, KD_ERR_TIME);
    }
    begin_causes(s);
    if (kd_integrator_is_there(base, t_end)) {
        base->t = t_end;
        return KD_OK;
    }
    // coordinates may change only between steps
    kd_status status = relabel(s);
    if (status < 0) return status;
    choose_step(s, t_end);
    // attempts until one is accepted or no smaller one is left
    for (;;) {
        double shrink = KD_NEWTON_SHRINK, err = 0;
        s->news = KD_MATRIX_KEPT;
        base->stats.steps++;
        if (too_small(s)) {
            if (base->cause >= 0 && s->has_past) // the last accepted error asked for such a step
                base->worst = kd_attempt_worst(s->n, s->err, s->newton_weight);
            return explain_end(s, exhausted(s));
        }
        if (!s->to_end && base->opt.h_fixed == 0) s->h = kd_attempt_exact(base->t, s->h);
        // weights of this step size; then stages, error, and the verdict
        kd_attempt_weights(s->dae, s->h, s->h_longest, s->weight, s->newton_weight);
        status = s->method->attempt(s, &shrink, &err);
        if (base->opt.h_fixed > 0) err = 0;
        if (status == KD_OK && err >= 1) {
            reject_error(s, err);
            continue;
        }
        if (status == KD_OK) status = accept(s, err);
        if (status == KD_OK) return KD_OK;
        status = after_failure(s, status, shrink, &singular);
        if (status < 0) return explain_end(s, status);
    }
}

// ---- queries --------------------------------------------------------------------------------------------------------

// The next attempt evaluates derivatives anew.
void kd_one_step_refresh(kd_integrator *base)
{
    kd_one_step *s = (kd_one_step *)base;
    s->h_factored = 0;
    s->jacobian_current = s->jacobian_here = false;
}

// Factors of the step; or derivatives of its start, or of its end where the formulation has corrected that with new ones
double kd_one_step_gamma(const kd_integrator *base)
{
    const kd_one_step *s = (const kd_one_step *)base;
    return s->h_factored > 0 ? s->gamma : s->linearized && !s->restart ? 0 : -1;
}

bool kd_one_step_ends(kd_integrator *base, kd_step_ends *ends)
{
    const kd_one_step *s = (const kd_one_step *)base;
    if (!s->has_past || base->kinked || !s->old_known || !s->xdot_known) return false;
    *ends = (kd_step_ends){base->t_old, base->t, s->x_old, s->xdot_old, base->x, s->xdot, false};
    return true;
}

void kd_one_step_hermite(const kd_one_step *s, double t, double *x)
{
    const double  t_old = s->base.t_old, h = s->base.t - t_old, a = (t - t_old) / h, b = 1 - a;
    const double *x0 = s->x_old, *x1 = s->base.x;
    // x0 + a (x1 - x0) + a b (b (h x0' - d) - a (h x1' - d)), d = x1 - x0; without x0' the quadratic polynomial
    for (int k = 0; k < s->nd; k++) {
        double d = x1[k] - x0[k], right = h * s->xdot[k] - d, left = s->old_known ? h * s->xdot_old[k] - d : -right;
        x[k] = x0[k] + a * d + a * b * (b * left - a * right);
    }
    for (int k = s->nd; k < s->n; k++) x[k] = x0[k] + a * (x1[k] - x0[k]);
}

kd_status kd_one_step_dense(kd_integrator *base, double t, double *x)
{
    kd_one_step        *s = (kd_one_step *)base;
    const kd_dae_class *f = s->dae->methods;
    // the end is exact; behind a kink the piece before is nobody's any more
    if (t == base->t || !s->has_past || base->kinked) {
        memcpy(x, base->x, (size_t)s->n * sizeof *x);
        return KD_OK;
    }
    // the formulation's own interpolation solves again for the algebraic components; a polynomial of the method is
    // brought back to the constraints
    const kd_status before = base->cause; // of the step
    kd_eval         answer = KD_EVAL_OK;
    base->cause = KD_OK;
    if (f->interpolate && !s->own_dense) {
        answer = f->interpolate(s->dae->impl, base->t_old, s->x_old, base->t, base->x, t, x);
    } else {
        s->method->interpolate(s, t, x);
        if (s->own_dense && f->between && t != base->t_old) answer = f->between(s->dae->impl, t, x);
    }
    if (answer != KD_EVAL_OK) return (void)kd_one_step_eval_cause(s, answer), base->cause;
    base->cause = before;
    return KD_OK;
}

kd_stats kd_one_step_stats(const kd_integrator *base)
{
    kd_stats stats = base->stats;
    kd_attempt_counters(base->dae, &stats);
    return stats;
}

void kd_one_step_archive(kd_integrator *base, kd_archive *a)
{
    kd_one_step *s = (kd_one_step *)base;
    KD_ARCHIVE_REALS(a, &s->h, &s->h_next, &s->h_least, &s->t_end, &s->h_factored, &s->gamma, &s->h_accepted,
                     &s->err_accepted, &s->newton_stop, &s->theta, &s->contraction, &s->theta_seen, &s->h_seen,
                     &s->h_newton, &s->norm, &s->exponent, &s->growth, &s->h_longest);
    kd_archive_int(a, &s->iterations, 0, INT_MAX);
    kd_archive_int(a, &s->order, 0, INT_MAX);
    KD_ARCHIVE_BOOLS(a, &s->to_end, &s->first, &s->rejected, &s->has_past, &s->restart, &s->xdot_known, &s->old_known,
                     &s->retracted, &s->lands, &s->moved_on, &s->linearized, &s->jacobian_current, &s->jacobian_here,
                     &s->only_updated, &s->own_dense);
    kd_archive_count(a, &s->accepted_since_start);
    KD_ARCHIVE_ENUM(a, kd_matrix_news, s->news, KD_MATRIX_EVALUATED);
}
