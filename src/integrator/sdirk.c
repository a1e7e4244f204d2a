// SDIRK 4/15, order 4, for 0 = F(t, x, x'), ESDIRK and RODAS, order 4, for x' = rhs(t, x): steps and their size (HW II,
// IV.6, IV.7 and IV.8; S2 section 4). The stages are in sdirk_stages.c. Step control and convergence test follow the
// codes of HW; a step that fails with an old Jacobian is repeated with a new one before it is made shorter.
#include "integrator/sdirk_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "integrator/attempt.h"
#include "integrator/sdirk_tableau.h"

#define ORDER 4

static const double UPDATE_THETA = 0.1;        // rate of Newton up to which derivatives are updated, not evaluated
static const double RETRY_SHRINK = 0.25;       // step after a function that could not be evaluated
static const double FIRST_SHRINK = 0.1;        // step after an error failure in the first step
static const double LEAST_RTOL = 9.99;         // times uround
static const int    MAX_SINGULAR = 5;          // singular Newton matrices in a row
static const double NEWTON_STOP = 0.003;       // of the tolerance
static const double NEWTON_TIGHT = 0.3;        // times sqrt(rtol)
static const double NEWTON_STOP_ESDIRK = 0.03; // stages enter x_1 with factors up to 4 instead of 11
static const double ESDIRK_ERROR = 10;     // its embedded formula is very near: errors at the tolerance of the others
static const double KEEP_RHS = 0.02;       // theta for x' = rhs: the error of an old J counts h times
static const double KEEP_RESIDUAL = 0.001; // for F(t, x, x'): that of an old F_x' counts fully
static const double NOISE = 1e-13;         // steps shorter than this times t: X' = Z / h is rounding
static const double VANISHING = 1e-14;     // part of the first attempt at which a step is given up
static const double ULPS = 10;      // a t_end that lies so few units in the last place away is reached without a step
static const double LANDING = 0.05; // part by which a step may be longer than planned to end at an instant
static const double LAST_STEP = 1.0001; // a step that ends this close to t_end is stretched to it

kd_sdirk_options kd_sdirk_options_default(void)
{
    return (kd_sdirk_options){
        .method = KD_SDIRK_NEWTON,
        .rtol = 1e-6,
        .atol = 1e-6,
        .max_steps = 100000,
        .max_newton = 10,
        .uround = 1e-16,
        .safety = 0.9,
        .quot1 = 1.0,
        .quot2 = 1.2,
        .fac_upper = 5,
        .fac_lower = 0.2,
    };
}

// ---- creation -------------------------------------------------------------------------------------------------------

static kd_status check_tolerances(const kd_sdirk_options *o, int nstate, char *message, size_t size)
{
    for (int i = -1; i < nstate; i++) {
        double r = i >= 0 && o->rtol_each ? o->rtol_each[i] : o->rtol;
        double a = i >= 0 && o->atol_each ? o->atol_each[i] : o->atol;
        if (r >= LEAST_RTOL * o->uround && a > 0 && isfinite(r) && isfinite(a)) continue;
        if (i < 0)
            kd_text(message, size, "rtol = %g, atol = %g: tolerances must be positive (rtol at least %g)", r, a,
                    LEAST_RTOL * o->uround);
        else
            kd_text(message, size, "tolerances of component %d are rtol = %g, atol = %g; they must be positive", i, r,
                    a);
        return KD_ERR_TOLERANCE;
    }
    return KD_OK;
}

static kd_status check_options(const kd_sdirk_options *o, int nstate, char *message, size_t size)
{
    const char *wrong = NULL;
    if ((int)o->method < 0 || o->method >= KD_SDIRK_METHOD_COUNT) wrong = "unknown method";
    if (!(o->uround > 0 && o->uround < 1e-3)) wrong = "uround must lie between 0 and 1e-3";
    if (!(o->h_first >= 0)) wrong = "h_first must not be negative";
    if (!(o->h_max >= 0)) wrong = "h_max must not be negative";
    if (o->max_steps < 1) wrong = "max_steps must be at least 1";
    if (o->max_newton < 2) wrong = "max_newton must be at least 2";
    if (!(o->safety > 1e-3 && o->safety < 1)) wrong = "safety must lie between 0.001 and 1";
    if (!(o->theta < 1)) wrong = "theta must be below 1";
    if (!(o->newton_stop >= 0)) wrong = "newton_stop must not be negative";
    if (!(o->quot1 <= 1 && o->quot2 >= 1)) wrong = "quot1 <= 1 <= quot2 is required";
    if (!(o->fac_upper > 1 && o->fac_lower > 0 && o->fac_lower < 1))
        wrong = "0 < fac_lower < 1 < fac_upper is required";
    if (!wrong) return check_tolerances(o, nstate, message, size);
    kd_text(message, size, "SDIRK: %s", wrong);
    return KD_ERR_ARGUMENT;
}

static void set_tolerances(kd_sdirk *s)
{
    const kd_sdirk_options *o = &s->opt;
    double                  tightest = 1;
    for (int i = 0; i < s->n; i++) {
        bool own = i < s->dae->nstate;
        s->rtol[i] = own && o->rtol_each ? o->rtol_each[i] : o->rtol;
        s->atol[i] = own && o->atol_each ? o->atol_each[i] : o->atol;
        tightest = fmin(tightest, s->rtol[i]);
    }
    const double stop =
        o->method == KD_SDIRK_STAGE_ORDER_2 ? NEWTON_STOP_ESDIRK : fmin(NEWTON_STOP, NEWTON_TIGHT * sqrt(tightest));
    s->newton_stop = o->newton_stop > 0 ? o->newton_stop : fmax(10 * o->uround / tightest, stop);
    if (o->theta == 0) s->opt.theta = s->dae->methods->rhs ? KEEP_RHS : KEEP_RESIDUAL;
    s->opt.rtol_each = s->opt.atol_each = NULL; // copied
}

static void set_table(kd_sdirk *s)
{
    if (s->opt.method == KD_SDIRK_STAGE_ORDER_2)
        s->table = (kd_sdirk_table){.stages = ESDIRK_STAGES,
                                    .width = ESDIRK_STAGES,
                                    .first = 1,
                                    .gamma = esdirk_gamma,
                                    .c = esdirk_c,
                                    .A = esdirk_A[0],
                                    .b3 = esdirk_b3,
                                    .error = ESDIRK_ERROR};
    else
        s->table = (kd_sdirk_table){.stages = SDIRK_STAGES,
                                    .width = SDIRK_STAGES,
                                    .gamma = sdirk_gamma,
                                    .c = sdirk_c,
                                    .A = sdirk_A[0],
                                    .b3 = sdirk_b3,
                                    .error = 1};
}

static void cut_arrays(kd_sdirk *s)
{
    kd_arena *a = &s->arena;
    int       n = s->n;
    double  **vector[] = {&s->x,    &s->x_old,  &s->xdot,          &s->xdot_old, &s->base, &s->deviation,
                          &s->X,    &s->Xdot,   &s->part,          &s->dx,       &s->err,  &s->rtol,
                          &s->atol, &s->weight, &s->newton_weight, &s->share};
    for (size_t k = 0; k < sizeof vector / sizeof *vector; k++) *vector[k] = kd_cut_double(a, n);
    s->F = kd_cut_double(a, s->dae->nrows);
    s->y = kd_cut_double(a, s->dae->nreduced_max);
    for (int i = 0; i < KD_SDIRK_STAGES; i++) {
        s->Z[i] = kd_cut_double(a, n);
        s->K[i] = kd_cut_double(a, n);
    }
    kd_kink_cut(&s->kink, a, n);
}

static void count_components(kd_sdirk *s)
{
    for (int i = 0; i < s->n; i++) {
        s->nc += s->dae->controlled[i];
        s->nn += s->dae->index[i] > 0;
    }
    if (s->nc == 0) s->nc = 1;
    if (s->nn == 0) s->nn = 1;
}

// Rosenbrock methods and explicit first stages need x' = rhs; multipliers of index 3 have an error that does not fall
// with h, as stages have order 1
static kd_status check_form(const kd_dae *dae, kd_sdirk_method method, char *message, size_t size)
{
    if (method != KD_SDIRK_NEWTON && !dae->methods->rhs) {
        kd_text(message, size, "%s needs x' = rhs(t, x), which the form %s is not; ode works",
                method == KD_SDIRK_ROSENBROCK ? "the Rosenbrock method" : "ESDIRK", dae->methods->name);
        return KD_ERR_UNSUPPORTED;
    }
    for (int i = 0; i < dae->n; i++) {
        if (dae->index[i] < 3) continue;
        kd_text(message, size,
                "SDIRK has stages of order 1, which leave multipliers of index 3 wrong; psf, ggl or ode works");
        return KD_ERR_UNSUPPORTED;
    }
    return KD_OK;
}

kd_status kd_sdirk_create(kd_dae *dae, const kd_sdirk_options *opt, kd_sdirk **sdirk, char *message, size_t size)
{
    kd_sdirk_options o = opt ? *opt : kd_sdirk_options_default();
    kd_text(message, size, "%s", "");
    if (sdirk) *sdirk = NULL;
    if (!dae || !sdirk) {
        kd_text(message, size, "an integrator needs a DAE and a place for the result");
        return KD_ERR_ARGUMENT;
    }
    kd_status status = check_options(&o, dae->nstate, message, size);
    if (status >= 0) status = check_form(dae, o.method, message, size);
    if (status < 0) return status;
    kd_sdirk *s = kd_alloc(sizeof *s);
    if (!s) goto no_memory;
    s->dae = dae;
    s->opt = o;
    s->n = dae->n;
    s->nd = dae->nderivative > 0 ? dae->nderivative : dae->n;
    set_table(s);
    cut_arrays(s);
    if (s->arena.failed) goto no_memory;
    count_components(s);
    set_tolerances(s);
    *sdirk = s;
    return KD_OK;
no_memory:
    kd_sdirk_destroy(s);
    kd_text(message, size, "%s", kd_status_sentence(KD_ERR_MEMORY));
    return KD_ERR_MEMORY;
}

void kd_sdirk_destroy(kd_sdirk *s)
{
    if (!s) return;
    kd_arena_release(&s->arena);
    kd_free(s);
}

// ---- norms ----------------------------------------------------------------------------------------------------------

static void exchange(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

static void set_weights(kd_sdirk *s)
{
    for (int i = 0; i < s->n; i++)
        s->weight[i] = 1 / (s->atol[i] * kd_attempt_unit(s->dae, i) + s->rtol[i] * fabs(s->x[i]));
}

double kd_sdirk_error_norm(const kd_sdirk *s, const double *err)
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
static void report(kd_sdirk *s, double t, kd_attempt outcome, double norm, const double *x)
{
    if (!s->dae->observe) return;
    const kd_attempt_report told = {
        .t = t,
        .h = s->h,
        .order = ORDER,
        .iterations = s->iterations,
        .outcome = outcome,
        .matrix = s->news,
        .error = norm,
        .share = x ? kd_attempt_shares(s->dae, x, s->newton_weight, outcome != KD_ATTEMPT_NEWTON, s->share) : NULL,
    };
    s->dae->observe(&told, s->dae->observer);
}

static void raise_news(kd_sdirk *s, kd_matrix_news news)
{
    if (news > s->news) s->news = news;
}

// ---- matrices -------------------------------------------------------------------------------------------------------

// What fails in a step so short that X' is rounding says less than the failure that made it so short.
static bool is_noise(const kd_sdirk *s)
{
    return s->cause < 0 && s->h < NOISE * fabs(s->t);
}

kd_status kd_sdirk_eval_cause(kd_sdirk *s, kd_eval answer)
{
    const char *text = "";
    kd_status   status = s->dae->methods->fault(s->dae->impl, &text);
    if (answer == KD_EVAL_STOP || !is_noise(s)) {
        s->cause = status < 0 ? status : KD_ERR_RETRY_FAILED;
        s->worst = -1;
        kd_text(s->message, sizeof s->message, "%s", text);
    }
    return answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
}

static kd_status linear_cause(kd_sdirk *s, kd_status status)
{
    const char *text = "";
    (void)s->dae->methods->fault(s->dae->impl, &text);
    s->cause = status;
    s->worst = -1;
    kd_text(s->message, sizeof s->message, "%s", text);
    return status;
}

static double gamma_of(const kd_sdirk *s)
{
    return 1 / (s->h * (s->opt.method == KD_SDIRK_ROSENBROCK ? rodas_gamma : s->table.gamma));
}

// Derivatives of the present point serve a step of the present size.
static void assume_rate(kd_sdirk *s)
{
    s->theta_seen = KD_SDIRK_LEAST_RATE * fabs(s->opt.theta);
    s->h_seen = s->h;
}

// Derivatives at the start of the step
static kd_status linearize(kd_sdirk *s)
{
    s->dae->h = s->h;
    s->dae->gamma = gamma_of(s);
    kd_status status = s->dae->methods->linearize(s->dae->impl, s->t, s->x, s->xdot, s->restart);
    s->restart = false;
    s->h_factored = 0;
    raise_news(s, KD_MATRIX_EVALUATED);
    if (status < 0) return linear_cause(s, status);
    s->jacobian_current = s->jacobian_here = s->linearized = true;
    assume_rate(s);
    return KD_OK;
}

// The derivatives of the last linearisation, moved along cheaply (S0 section 3.2) while they serve Newton well
static kd_status update(kd_sdirk *s)
{
    s->dae->h = s->h;
    s->dae->gamma = gamma_of(s);
    kd_status status = s->dae->methods->update(s->dae->impl, s->t, s->x, s->xdot);
    s->h_factored = 0;
    raise_news(s, KD_MATRIX_UPDATED);
    if (status < 0) return linear_cause(s, status);
    s->jacobian_current = true;
    s->jacobian_here = false;
    assume_rate(s);
    return KD_OK;
}

static kd_status factor(kd_sdirk *s)
{
    if (s->h_factored == s->h) return KD_OK;
    kd_status status = s->dae->methods->factor(s->dae->impl, gamma_of(s), 0, 0);
    raise_news(s, KD_MATRIX_FACTORED);
    if (status < 0) return linear_cause(s, status);
    s->h_factored = s->h;
    return KD_OK;
}

static kd_status prepare_matrices(kd_sdirk *s)
{
    kd_status status = KD_OK;
    bool      exact = s->opt.method == KD_SDIRK_ROSENBROCK; // the order depends on J
    bool update_serves = s->dae->methods->update && s->linearized && !s->restart && !exact && s->theta < UPDATE_THETA;
    if (exact ? !s->jacobian_here : !s->jacobian_current) status = update_serves ? update(s) : linearize(s);
    return status == KD_OK ? factor(s) : status;
}

// ---- error and step size --------------------------------------------------------------------------------------------

static double clamp(double x, double low, double high)
{
    return fmax(low, fmin(high, x));
}

// h_new = h / quotient; Newton iterations count into the safety factor (HW IV Eq. 8.21)
static double quotient(const kd_sdirk *s, double err)
{
    const kd_sdirk_options *o = &s->opt;
    double safe = fmin(o->safety, o->safety * (1 + 2 * o->max_newton) / (s->iterations + 2 * o->max_newton));
    return clamp(pow(err, 0.25) / safe, 1 / o->fac_upper, 1 / o->fac_lower);
}

// predictive controller of Gustafsson (HW IV Eq. 8.25)
static double predictive_quotient(const kd_sdirk *s, double err, double quot)
{
    const kd_sdirk_options *o = &s->opt;
    if (o->classical || s->accepted_since_start < 1) return quot;
    double g = s->h_accepted / s->h * pow(err * err / s->err_accepted, 0.25) / o->safety;
    return fmax(quot, clamp(g, 1 / o->fac_upper, 1 / o->fac_lower));
}

// ---- the step -------------------------------------------------------------------------------------------------------

// First step: a hundredth of the time in which x changes by its own size (HNW I, II.4)
static double first_step(kd_sdirk *s, double span)
{
    double d0 = 0, d1 = 0;
    for (int i = 0; i < s->n; i++) {
        if (!s->dae->controlled[i]) continue;
        d0 += pow(s->x[i] * s->weight[i], 2);
        d1 += pow(s->xdot[i] * s->weight[i], 2);
    }
    double T = kd_attempt_time(s->dae), h = d0 > 1e-10 && d1 * T * T > 1e-10 ? 0.01 * sqrt(d0 / d1) : 1e-6 * T;
    return fmin(h, span);
}

kd_status kd_sdirk_start(kd_sdirk *s, double t, const double *x)
{
    if (!s || !x) return KD_ERR_ARGUMENT;
    const kd_dae_class *f = s->dae->methods;
    kd_eval             answer = KD_EVAL_OK;
    s->t = s->t_old = t;
    memcpy(s->x, x, (size_t)s->n * sizeof *x);
    memcpy(s->x_old, x, (size_t)s->n * sizeof *x);
    memset(s->xdot, 0, (size_t)s->n * sizeof *x);
    s->message[0] = '\0';
    s->cause = KD_OK;
    s->has_past = false;
    if (f->start) answer = f->start(s->dae->impl, t, s->x, s->xdot);
    if (answer == KD_EVAL_OK && f->rhs && !f->start) answer = f->rhs(s->dae->impl, t, s->x, s->xdot);
    if (answer != KD_EVAL_OK) return (void)kd_sdirk_eval_cause(s, answer), s->cause;
    s->xdot_known = f->start || f->rhs;
    set_weights(s);
    s->h_next = s->opt.h_first;
    s->h_factored = 0;
    kd_sdirk_forget_contraction(s);
    s->theta = 0;
    s->first = s->restart = true;
    s->rejected = s->jacobian_current = s->jacobian_here = s->moved_on = false;
    s->kinked = s->lands = s->retracted = false;
    s->accepted_since_start = 0;
    return KD_OK;
}

// The past of the motion behind a kink: all of it moves along q(t)
static kd_status pass_kink(kd_sdirk *s)
{
    s->message[0] = '\0';
    s->cause = KD_OK;
    memcpy(s->Xdot, s->xdot, (size_t)s->n * sizeof *s->x);
    kd_eval answer = kd_kink_solve(&s->kink, s->dae, s->t, s->x, s->Xdot);
    if (answer != KD_EVAL_OK) return (void)kd_sdirk_eval_cause(s, answer), s->cause;
    kd_kink_add_slope(&s->kink, 0, s->xdot);
    if (s->has_past) {
        kd_kink_add(&s->kink, s->t_old - s->t, s->x_old);
        kd_kink_add_slope(&s->kink, s->t_old - s->t, s->xdot_old);
    }
    s->kinked = s->lands = true;
    return KD_OK;
}

kd_status kd_sdirk_restart(kd_sdirk *s, double t, const double *x, kd_restart mode)
{
    if (!s || (!x && mode != KD_RESTART_SMOOTH)) return KD_ERR_ARGUMENT;
    if (mode == KD_RESTART_SMOOTH) return pass_kink(s);
    const double h = s->h_next, h_factored = s->h_factored;
    const bool   linearized = s->linearized, current = s->jacobian_current, lands = s->lands;
    kd_status    status = kd_sdirk_start(s, t, x);
    if (status < 0 || mode == KD_RESTART_FRESH || !linearized) return status;
    if (h > 0) s->h_next = h;
    s->h_factored = h_factored;
    s->jacobian_current = current;
    s->lands = lands;
    s->restart = false;
    return KD_OK;
}

// The matrix is renewed: what was missed shall enter it.
kd_status kd_sdirk_retract(kd_sdirk *s, double h)
{
    if (!s) return KD_ERR_ARGUMENT;
    if (!(h > 0) || !s->has_past || s->kinked) return KD_ERR_STAGE;
    exchange(&s->x, &s->x_old);
    exchange(&s->xdot, &s->xdot_old);
    s->xdot_known = s->old_known;
    s->t = s->t_old;
    s->h_next = h;
    s->h_factored = 0;
    kd_sdirk_forget_contraction(s);
    s->has_past = s->moved_on = s->jacobian_current = s->jacobian_here = false;
    s->retracted = true;
    s->accepted_since_start = 0;
    s->stats.accepted--;
    s->stats.retracted++;
    set_weights(s);
    return KD_OK;
}

static kd_status fail(kd_sdirk *s, kd_status status)
{
    char head[80];
    kd_text(head, sizeof head, "at t = %.9g, h = %.3g", s->t, s->h);
    kd_attempt_explain(s->dae, head, s->worst, kd_attempt_advice(status), s->message, sizeof s->message);
    return status;
}

// The present attempt is over; make h smaller
static void reject(kd_sdirk *s, double factor_of_h)
{
    s->h *= factor_of_h;
    s->rejected = true;
    s->to_end = false;
}

// t + h must differ from t; near t = 0, where any h does, h must not vanish beside the first attempt
static bool too_small(const kd_sdirk *s)
{
    return 0.1 * s->h <= fabs(s->t) * s->opt.uround || s->t + s->h == s->t || s->h <= s->h_least;
}

// State-space forms may choose new coordinates after an accepted step. It is done when the next one begins, so that
// dense output of the last one remains possible. Step size and its control go on; derivatives and stages are void.
static kd_status relabel(kd_sdirk *s)
{
    const kd_dae_class *f = s->dae->methods;
    bool                changed = false;
    if (!f->relabel || !s->moved_on) return KD_OK;
    kd_eval answer = f->relabel(s->dae->impl, s->t, s->x, &changed);
    if (answer == KD_EVAL_OK && changed) {
        s->has_past = s->jacobian_current = s->jacobian_here = false;
        s->restart = true;
        s->h_factored = 0;
        if (f->rhs) answer = f->rhs(s->dae->impl, s->t, s->x, s->xdot);
        s->xdot_known = f->rhs;
        set_weights(s);
    }
    s->moved_on = false;
    if (answer == KD_EVAL_OK) return KD_OK;
    kd_status status = kd_sdirk_eval_cause(s, answer);
    return status == KD_ERR_CALLBACK_STOP ? status : s->cause;
}

// x_1 in X, corrected and projected by the formulation; Xdot belongs to it. KD_OK, or the attempt has to be repeated.
static kd_status finish_point(kd_sdirk *s, double t1, double h_new)
{
    kd_dae             *dae = s->dae;
    const kd_dae_class *f = dae->methods;
    kd_eval             answer = KD_EVAL_OK;
    const bool          rosenbrock = s->opt.method == KD_SDIRK_ROSENBROCK;
    kd_sdirk_end_point(s);
    dae->keep = !rosenbrock && s->opt.theta >= 0 && s->theta <= s->opt.theta;
    dae->h = h_new;
    if (f->correct) {
        answer = f->correct(dae->impl, t1, s->X, s->Xdot);
        if (answer != KD_EVAL_OK) s->jacobian_current = s->jacobian_here = false; // it may have been replaced
        if (answer != KD_EVAL_OK || !dae->keep) s->h_factored = 0;
    }
    if (answer == KD_EVAL_OK && f->project) { // the error was estimated before; the next step starts from here
        bool moved = false;
        answer = f->project(dae->impl, t1, s->X, &moved);
    }
    if (answer == KD_EVAL_OK && rosenbrock) answer = f->rhs(dae->impl, t1, s->X, s->Xdot);
    return answer == KD_EVAL_OK ? KD_OK : kd_sdirk_eval_cause(s, answer);
}

// The step is accepted if its end point can be finished.
static kd_status complete(kd_sdirk *s, double h_new)
{
    double    t1 = s->to_end ? s->t_end : s->t + s->h;
    kd_status status = finish_point(s, t1, h_new);
    if (status < 0) return status;
    exchange(&s->x_old, &s->x);
    exchange(&s->x, &s->X);
    exchange(&s->xdot_old, &s->xdot);
    exchange(&s->xdot, &s->Xdot);
    s->t_old = s->t;
    s->t = t1;
    s->old_known = s->xdot_known;
    s->xdot_known = true;
    s->jacobian_current = s->dae->keep;
    s->jacobian_here = false;
    s->moved_on = true;
    if (s->opt.method == KD_SDIRK_NEWTON) kd_sdirk_remember(s);
    return KD_OK;
}

// Choose the next step; keep it, and the decomposition, if it would hardly change. A step that was cut short by t_end
// says nothing against the longer one that was proposed before.
static void propose(kd_sdirk *s, double h_new)
{
    double ratio = h_new / s->h;
    if (!s->rejected && s->h < s->h_next && h_new >= s->h)
        h_new = fmax(h_new, s->h_next);
    else if (s->jacobian_current && ratio >= s->opt.quot1 && ratio <= s->opt.quot2)
        h_new = s->h;
    s->h_next = h_new;
}

// Stages and error of an attempt. Where Newton fails with derivatives of an earlier point: once more with new ones.
static kd_status attempt(kd_sdirk *s, double *shrink, double *err)
{
    kd_status status = prepare_matrices(s);
    if (s->opt.method == KD_SDIRK_ROSENBROCK) return status == KD_OK ? kd_sdirk_rosenbrock(s, err) : status;
    if (status == KD_OK) status = kd_sdirk_stages(s, shrink);
    if (status == KD_ERR_NEWTON && !s->jacobian_here) {
        status = linearize(s);
        if (status == KD_OK) status = factor(s);
        kd_sdirk_forget_contraction(s);
        if (status == KD_OK) status = kd_sdirk_stages(s, shrink);
    }
    return status == KD_OK ? kd_sdirk_estimate(s, err) : status;
}

// An attempt that failed before its error test: a smaller step, fresh selectors. < 0: give up.
static kd_status after_failure(kd_sdirk *s, kd_status status, double shrink, int *singular)
{
    if (status == KD_ERR_NEWTON) {
        if (!is_noise(s)) {
            s->cause = KD_ERR_NEWTON;
            s->worst = kd_attempt_worst(s->n, s->dx, s->newton_weight);
            s->message[0] = '\0';
        }
        report(s, s->t, KD_ATTEMPT_NEWTON, s->norm, s->dx);
    } else if (status == KD_ERR_RETRY_FAILED) {
        report(s, s->t, KD_ATTEMPT_EVALUATE, 0, NULL);
        shrink = RETRY_SHRINK;
    } else if (status == KD_ERR_DECOMPOSITION) {
        report(s, s->t, KD_ATTEMPT_NEWTON, 0, NULL);
        shrink = KD_SDIRK_SHRINK;
    } else {
        return status;
    }
    s->stats.rejected_newton++;
    if (status == KD_ERR_DECOMPOSITION && ++*singular >= MAX_SINGULAR) return status;
    reject(s, shrink);
    s->restart = true;
    s->jacobian_current = s->jacobian_here = false;
    kd_sdirk_forget_contraction(s);
    if (too_small(s)) return s->cause == KD_ERR_NEWTON ? KD_ERR_STEP_TOO_SMALL : s->cause;
    return KD_OK;
}

// Length of the first attempt: the proposal, not beyond t_end, stretched to it where it nearly reaches it
static void choose_step(kd_sdirk *s, double t_end)
{
    double span = t_end - s->t, limit = s->opt.h_max > 0 ? fmin(s->opt.h_max, span) : span;
    if (s->h_next <= 0) s->h_next = first_step(s, span);
    s->h = fmin(s->h_next, limit);
    s->t_end = t_end;
    s->to_end = s->h * LAST_STEP >= span;
    if (s->to_end || s->lands) s->h = kd_attempt_landing(s->t, t_end, s->h, s->lands ? LANDING : 1, s->h_factored);
    s->h_least = VANISHING * s->h;
}

// Take the attempt as a step, which may still fail.
static kd_status accept(kd_sdirk *s, double err)
{
    double h_new = s->h / predictive_quotient(s, err, quotient(s, err));
    if (s->rejected) h_new = fmin(h_new, s->h); // no growth right after a rejection
    kd_status status = complete(s, fmin(h_new, s->opt.h_max > 0 ? s->opt.h_max : h_new));
    if (status < 0) return status;
    propose(s, h_new);
    s->h_accepted = s->h;
    s->err_accepted = fmax(1e-2, err);
    s->stats.h_last = s->h;
    s->stats.accepted++;
    report(s, s->t_old, KD_ATTEMPT_ACCEPTED, err, s->err);
    s->accepted_since_start++;
    s->first = false;
    s->has_past = true;
    s->kinked = s->retracted = false;
    set_weights(s);
    return KD_OK;
}

static void reject_error(kd_sdirk *s, double err)
{
    s->stats.rejected_error++;
    s->cause = KD_ERR_STEP_TOO_SMALL;
    s->worst = kd_attempt_worst(s->n, s->err, s->newton_weight);
    report(s, s->t, KD_ATTEMPT_ERROR, err, s->err);
    reject(s, s->first ? FIRST_SHRINK : 1 / quotient(s, err));
}

kd_status kd_sdirk_step(kd_sdirk *s, double t_end)
{
    int singular = 0;
    if (!s) return KD_ERR_ARGUMENT;
    s->rejected = s->retracted;
    s->cause = KD_OK;
    s->worst = -1;
    s->message[0] = '\0';
    if (!(t_end >= s->t)) return fail(s, KD_ERR_TIME);
    if (t_end - s->t <= ULPS * DBL_EPSILON * fabs(s->t)) { // no time in which anything could happen
        s->t = t_end;
        return KD_OK;
    }
    kd_status status = relabel(s);
    if (status < 0) return fail(s, status);
    choose_step(s, t_end);
    for (;;) {
        double shrink = KD_SDIRK_SHRINK, err = 0;
        s->news = KD_MATRIX_KEPT;
        s->stats.steps++;
        if (too_small(s)) {
            if (s->worst < 0 && s->has_past)
                s->worst =
                    kd_attempt_worst(s->n, s->err, s->newton_weight); // the last accepted error asked for such a step
            return fail(s, KD_ERR_STEP_TOO_SMALL);
        }
        kd_attempt_weights(s->dae, s->h, s->weight, s->newton_weight);
        status = attempt(s, &shrink, &err);
        if (status == KD_OK && err >= 1) {
            reject_error(s, err);
            continue;
        }
        if (status == KD_OK) status = accept(s, err);
        if (status == KD_OK) return KD_OK;
        status = after_failure(s, status, shrink, &singular);
        if (status < 0) return fail(s, status);
    }
}

// ---- queries --------------------------------------------------------------------------------------------------------

void kd_sdirk_refresh(kd_sdirk *s)
{
    if (!s) return;
    s->h_factored = 0;
    s->jacobian_current = s->jacobian_here = false;
}

bool kd_sdirk_ends(kd_sdirk *s, kd_step_ends *ends)
{
    if (!s || !ends || !s->has_past || s->kinked || !s->old_known || !s->xdot_known) return false;
    *ends = (kd_step_ends){s->t_old, s->t, s->x_old, s->xdot_old, s->x, s->xdot};
    return true;
}

double kd_sdirk_time(const kd_sdirk *s)
{
    if (!s) return 0;
    return s->t;
}

double kd_sdirk_time_old(const kd_sdirk *s)
{
    if (!s) return 0;
    return s->kinked ? s->t : s->t_old;
}

const double *kd_sdirk_x(const kd_sdirk *s)
{
    if (!s) return NULL;
    return s->x;
}

void kd_sdirk_hermite(const kd_sdirk *s, double t, double *x)
{
    const double  h = s->t - s->t_old, a = (t - s->t_old) / h, b = 1 - a;
    const double *x0 = s->x_old, *x1 = s->x;
    // x0 + a (x1 - x0) + a b (b (h x0' - d) - a (h x1' - d)), d = x1 - x0; without x0' the quadratic polynomial
    for (int k = 0; k < s->nd; k++) {
        double d = x1[k] - x0[k], right = h * s->xdot[k] - d, left = s->old_known ? h * s->xdot_old[k] - d : -right;
        x[k] = x0[k] + a * d + a * b * (b * left - a * right);
    }
    for (int k = s->nd; k < s->n; k++) x[k] = x0[k] + a * (x1[k] - x0[k]);
}

kd_status kd_sdirk_dense(kd_sdirk *s, double t, double *x)
{
    if (!s || !x) return KD_ERR_ARGUMENT;
    const kd_dae_class *f = s->dae->methods;
    if (t == s->t || !s->has_past || s->kinked) {
        memcpy(x, s->x, (size_t)s->n * sizeof *x);
        return KD_OK;
    }
    if (f->interpolate) {
        s->cause = KD_OK;
        kd_eval answer = f->interpolate(s->dae->impl, s->t_old, s->x_old, s->t, s->x, t, x);
        return answer == KD_EVAL_OK ? KD_OK : ((void)kd_sdirk_eval_cause(s, answer), s->cause);
    }
    kd_sdirk_hermite(s, t, x);
    return KD_OK;
}

kd_stats kd_sdirk_stats(const kd_sdirk *s)
{
    if (!s) return (kd_stats){0};
    kd_stats stats = s->stats;
    kd_attempt_counters(s->dae, &stats);
    return stats;
}

const char *kd_sdirk_message(const kd_sdirk *s)
{
    return s ? s->message : "";
}
