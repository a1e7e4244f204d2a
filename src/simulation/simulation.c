// simulation.c: the driver: consistent initial values, a formulation, an integrator, output at steps and at wanted
// times.
//
// A run alternates between steps and instants:
//
//     step       the integrator goes towards t_end, not beyond the next known instant (standing_step); a step that does
//                not stand up to the checks is taken back and made again with a smaller size
//     look       did a switching function cross inside? Then x goes back to the crossing (kd_hybrid_look)
//     instant    breaks, events, rows, samples; the integrator starts again from the limit from the right
//                (pass_instant)
//     show       wanted times by dense output, then the end of the step (show_step)
//     change     another method from here on, where that is the simulation's choice and counts say so (reconsider)
//
// A failure is told with the reason that a look at the last good state finds: a function that is no number, a singular
// position, a force that jumps, friction without solution.
#include "simulation/simulation_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/text.h"

#define LEAST_OF_TIME 1e-10 // of the present time: the same
#define LEAST_PART 1e-6     // of the first attempt: steps that are taken back do not become shorter
#define MOST_RETRACTED 40   // steps taken back in a row
#define MOST_IDLE 100       // turns of the loop in a row that move nothing
#define PENDING 8           // [ulp] wanted times so far before an instant wait for what happens there
#define PASSED 32           // [ulp] and are one with it when it was passed: more than PENDING and its own slack

// ---- the integrator -------------------------------------------------------------------------------------------------

// Begin at x, with what the mode says is still good; whoever remembers the motion before forgets it.
kd_status kd_simulation_start_integrator(kd_simulation *s, kd_restart mode)
{
    if (mode != KD_RESTART_SMOOTH) kd_formulation_pack(s->dae, s->x, s->vector);
    if (s->search) kd_unseen_restart(s->search);
    s->end = NULL;
    s->inside = true;
    kd_status status = kd_integrator_restart(s->integrator, s->x->t, s->vector, mode);
    s->inside = false;
    if (s->verify) kd_verify_restart(s->verify);
    if (s->verify && mode == KD_RESTART_FRESH) kd_verify_anew(s->verify);
    if (status < 0) kd_text(s->message, sizeof s->message, "%s", kd_integrator_message(s->integrator));
    if (status >= 0 && s->branches) {
        kd_status followed = kd_branch_watch_start(s->branches, s->x, s->message, sizeof s->message);
        if (followed < 0) return followed;
    }
    // rank and branch of the constraints are measured where the rows may be new
    if (status < 0 || !s->ranks) return status;
    if (mode != KD_RESTART_FRESH) return kd_rank_watch_go_on(s->ranks, s->x), status;
    kd_status watched = kd_rank_watch_start(s->ranks, s->x, s->message, sizeof s->message);
    return watched < 0 ? watched : status;
}

// News of a step, kept until the next start
static void take_advice(kd_simulation *s)
{
    const char *advice = kd_integrator_message(s->integrator);
    s->stiff = true;
    kd_text_append(s->news, sizeof s->news, "%s%s", s->news[0] ? "; " : "", advice);
    kd_text(s->message, sizeof s->message, "%s", s->news);
}

static kd_status integrator_step(kd_simulation *s, double t_end)
{
    s->inside = true;
    kd_status status = kd_integrator_step(s->integrator, t_end);
    s->inside = false;
    if (status < 0) kd_text(s->message, sizeof s->message, "%s", kd_integrator_message(s->integrator));
    if (status == KD_STIFF && s->choice) return s->advised = true, KD_OK;
    if (status == KD_STIFF) take_advice(s);
    return status;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

// Remember which rows are active. Are they the same as at the last start?
static bool same_rows(kd_simulation *s)
{
    kd_dims d = kd_eom_dims(s->eom);
    bool    same = memcmp(s->active, s->x->active_lambda, (size_t)d.nlambda) == 0 &&
                memcmp(s->active + d.nlambda, s->x->active_mu, (size_t)d.nmu) == 0;
    memcpy(s->active, s->x->active_lambda, (size_t)d.nlambda);
    memcpy(s->active + d.nlambda, s->x->active_mu, (size_t)d.nmu);
    return same;
}

static kd_status instant_failed(kd_simulation *s, kd_status status)
{
    if (status == KD_OK) return status;
    const char *reason = kd_hybrid_message(s->hybrid);
    if (reason[0]) kd_text(s->message, sizeof s->message, "%s", reason);
    return status;
}

// A tolerance below what rounding allows is raised, and that is said.
static void tell_tolerance(kd_simulation *s)
{
    double least = s->method->least_rtol;
    if (!(s->opt.rtol > 0 && s->opt.rtol < least)) return;
    kd_text_append(s->news, sizeof s->news, "%srtol = %g is raised to %g, the least that rounding allows with %s",
                   s->news[0] ? "; " : "", s->opt.rtol, least, kd_integrator_word(s->opt.integrator));
    kd_text(s->message, sizeof s->message, "%s", s->news);
}

// Steps so far, of all methods
static kd_effort effort_of(const kd_simulation *s)
{
    const kd_stats stats = kd_simulation_stats(s);
    const long     unverified = s->verify ? kd_verify_result(s->verify)->unverified : 0;
    return (kd_effort){stats.steps, stats.retracted, s->verified.unverified + unverified, stats.rejected_newton};
}

// Consistent values in x and a fresh integrator, KD_OK, > 0 with news, < 0
kd_status kd_simulation_begin(kd_simulation *s, bool created)
{
    // before anything is made consistent: what the caller left
    kd_simulation_measure_assumed(s);
    s->from = s->x->t;
    kd_initial_options opt = s->opt.initial;
    opt.point = s->data;
    kd_status status = kd_initial_consistent(s->eom, &s->inputs, &opt, s->x, s->message, sizeof s->message);
    // consistent values have accelerations
    s->x->unsolved = s->x->unsolved && status < 0;
    s->seen = s->x;
    s->version++;
    // news of the start are kept: every later run tells them again
    if (status >= 0) {
        s->started = status;
        kd_text(s->news, sizeof s->news, "%s", s->message);
        tell_tolerance(s);
        if (s->hybrid) status = instant_failed(s, kd_hybrid_begin(s->hybrid, created));
    }
    // the start was an instant itself: x is its limit from the right
    if (s->x->t > s->from) s->passed = s->x->t;
    (void)same_rows(s);
    if (status >= 0) status = kd_simulation_start_integrator(s, KD_RESTART_FRESH);
    if (status < 0) kd_simulation_recall_assumed(s);
    // what singular positions and collapses are compared with
    kd_state_copy(s->x, s->origin);
    kd_collapse_begin(s->collapse, s->x, effort_of(s));
    return status < 0 ? status : s->started;
}

// The instant that was passed is the same time as t but for rounding.
static bool is_passed(const kd_simulation *s, double t)
{
    return s->x->t == s->passed && t >= s->x->t - PASSED * DBL_EPSILON * fabs(s->x->t) - DBL_MIN;
}

// wanted times before the present one can no longer be shown
static void skip_times(kd_simulation *s)
{
    // times next to an instant that was passed are one with it, and still to be shown
    while (s->next_time < s->opt.ntimes && s->opt.times[s->next_time] < s->x->t &&
           !is_passed(s, s->opt.times[s->next_time]))
        s->next_time++;
}

kd_status kd_simulation_restart(kd_simulation *s)
{
    if (!s) return KD_ERR_ARGUMENT;
    if (s->busy) return KD_ERR_BUSY;
    s->busy = true;
    kd_status status = kd_simulation_begin(s, false);
    s->busy = false;
    if (status < 0) return status;
    s->unseen = false;
    skip_times(s);
    return status;
}

kd_status kd_simulation_resume(kd_simulation *s)
{
    if (!s) return KD_ERR_ARGUMENT;
    if (s->busy) return KD_ERR_BUSY;
    s->busy = true;
    // the same point has other derivatives now
    if (s->dae->methods->forget) s->dae->methods->forget(s->dae->impl);
    kd_status status = kd_simulation_start_integrator(s, KD_RESTART_SMOOTH);
    if (status >= 0) status = kd_simulation_take_state(s);
    s->busy = false;
    return status;
}

// ---- running --------------------------------------------------------------------------------------------------------

static kd_status show(kd_simulation *s, const kd_state *x, bool at_time)
{
    // who asks by name during the call sees this state, afterwards the present one again
    s->seen = x;
    s->version++;
    const kd_eval answer = s->opt.output ? s->opt.output(x, at_time, s->opt.context) : KD_EVAL_OK;
    s->seen = s->x;
    s->version++;
    if (answer == KD_EVAL_OK) return KD_OK;
    kd_text(s->message, sizeof s->message, "stopped by the output function at t = %.9g", x->t);
    return KD_STOPPED;
}

// x is the limit from the left of an instant that is still to be passed
static bool is_left(const kd_simulation *s)
{
    return s->hybrid && kd_hybrid_pending(s->hybrid);
}

// The state at a wanted time up to the present one, in s->at
static kd_status find_wanted(kd_simulation *s, double wanted)
{
    kd_status status = KD_OK;
    bool      inside_step = wanted < s->x->t && !is_passed(s, wanted);
    // an instant is shown by its limit from the right, whatever dense output has
    if (inside_step) status = kd_simulation_dense(s, wanted);
    if (status < 0) return status;
    kd_state_copy(s->x, s->at);
    s->at->t = wanted;
    return inside_step ? kd_simulation_unpack(s, wanted, s->vector, s->at) : KD_OK;
}

// Wanted times up to the present one, by dense output; at an instant, and next to it, the limit from the right
static kd_status show_times(kd_simulation *s)
{
    kd_status status = KD_OK;
    while (status == KD_OK && s->next_time < s->opt.ntimes && s->opt.times[s->next_time] <= s->x->t) {
        double wanted = s->opt.times[s->next_time];
        // x is the limit from the left: the time belongs to what happens there
        if (is_left(s) && wanted >= s->x->t - PENDING * DBL_EPSILON * fabs(s->x->t)) return KD_OK;
        s->next_time++;
        status = find_wanted(s, wanted);
        if (status >= 0) status = show(s, s->at, true);
    }
    return status;
}

static kd_status show_start(kd_simulation *s)
{
    if (s->shown) return KD_OK;
    s->shown = true;
    skip_times(s);
    // a start at an instant is shown with the time that the caller gave
    if (s->x->t == s->from || s->x->t != s->passed) return show(s, s->x, false);
    kd_state_copy(s->x, s->at);
    s->at->t = s->from;
    return show(s, s->at, false);
}

// Wanted times up to the present one, then the end of the step; what a stop left unseen comes with the next run
static kd_status show_step(kd_simulation *s)
{
    kd_status status = show_times(s);
    if (status != KD_OK || !s->unseen) return status;
    s->unseen = false;
    return show(s, s->x, false);
}

// Does the motion still know its branch?
static kd_status watch_rank(kd_simulation *s, kd_status status)
{
    kd_status found = kd_rank_watch_look(s->ranks, s->x, s->message, sizeof s->message);
    return found < 0 ? found : status;
}

// The same of the equations of auxiliary variables
static kd_status watch_branches(kd_simulation *s, kd_status status)
{
    kd_status found = kd_branch_watch_look(s->branches, s->x, s->message, sizeof s->message);
    return found < 0 ? found : status;
}

// ---- steps that stand -----------------------------------------------------------------------------------------------

// end, a copy of the start of the accepted step, becomes its end: what the integrator has
static void fill_end(kd_simulation *s, kd_state *end)
{
    double        t;
    const double *x = kd_simulation_vector(s, &t);
    if (s->dae->methods->pack) { // x has no p, v of its own
        kd_formulation_unpack(s->dae, t, x, end);
        s->end = end;
    } else {
        end->t = t;
        memcpy(end->p, x, (size_t)s->dae->nstate * sizeof *x);
    }
}

// Laws inside the accepted step
static kd_status look_inside(kd_simulation *s, kd_step_verdict *verdict)
{
    const double t0 = kd_integrator_time_old(s->integrator), t = kd_integrator_time(s->integrator);
    kd_state    *end = kd_unseen_end(s->search, t0, t, s->x);
    if (!end) return KD_OK;
    fill_end(s, end);
    return kd_unseen_look(s->search, verdict);
}

// Branches of the constraints that the accepted step may have gone over to
static void look_at_branches(kd_simulation *s, kd_step_verdict *verdict)
{
    const double t = kd_integrator_time(s->integrator);
    if (!kd_rank_watch_wants(s->ranks, t - s->x->t)) return;
    const kd_state *end = s->end && s->end->t == t ? s->end : s->at;
    if (end == s->at) {
        kd_state_copy(s->x, s->at);
        fill_end(s, s->at);
    }
    verdict->h = kd_rank_watch_judge(s->ranks, end);
    verdict->size = 1;
    verdict->why = "they may have gone over to another branch of the constraints";
}

// The accepted step, which nobody has seen yet: x of the simulation is still its start, dense output gives its inside.
// What laws hide is looked for first: it tells where the step should end.
static kd_status judge(kd_simulation *s, kd_step_verdict *verdict)
{
    *verdict = KD_STANDS;
    s->end = NULL;
    kd_status status = s->search ? look_inside(s, verdict) : KD_OK;
    if (status < 0 || verdict->h < INFINITY) return status;
    if (s->ranks && kd_simulation_may_take_back(s)) look_at_branches(s, verdict);
    if (verdict->h < INFINITY) return status;
    // accelerations change fastest where constraints nearly depend on each other, whatever the steps before looked like
    const bool singular = s->ranks && kd_rank_watch_passed(s->ranks, kd_integrator_time(s->integrator));
    return s->verify ? kd_verify_look(s->verify, singular, verdict) : KD_OK;
}

// The step does not stand, but cannot be made shorter: it is remembered as not verified.
static void keep(kd_simulation *s, const kd_step_verdict *verdict)
{
    if (kd_unseen_accounts(s->search, verdict)) return; // a jump that no step resolves: what it costs is summed up
    if (s->verify) kd_verify_keep(s->verify, verdict);
    if (s->ranks) kd_rank_watch_doubt(s->ranks);
}

// Take the last step back, and tell who listens.
static kd_status retract(kd_simulation *s, const kd_step_verdict *verdict)
{
    const double t = kd_integrator_time_old(s->integrator), h = kd_integrator_time(s->integrator) - t;
    kd_status    status = kd_integrator_retract(s->integrator, verdict->h);
    if (status < 0) {
        kd_text(s->message, sizeof s->message, "the step from t = %.9g could not be taken back: %s", t,
                kd_integrator_message(s->integrator));
        return status;
    }
    const kd_attempt_report told = {
        .t = t, .h = h, .outcome = KD_ATTEMPT_RETRACTED, .error = verdict->size, .why = verdict->why};
    // who listens to attempts hears that this one did not stand
    if (s->dae->observe) s->dae->observe(&told, s->dae->observer);
    return KD_OK;
}

// One step that stands up to the checks, or cannot be made shorter
static kd_status standing_step(kd_simulation *s, double target)
{
    double    least = 0;
    kd_status news = KD_OK;
    for (int tries = 0;; tries++) {
        kd_step_verdict verdict;
        const long      accepted = kd_simulation_stats(s).accepted;
        kd_status       status = integrator_step(s, target);
        if (status < 0) return status;
        if (status > 0) news = status;
        if (kd_simulation_stats(s).accepted == accepted) return news; // some ulp away: no step, the last one was seen
        double h = kd_integrator_time(s->integrator) - kd_integrator_time_old(s->integrator);
        // the first attempt sets the scale below which steps are not taken back
        if (tries == 0) least = fmax(LEAST_PART * h, LEAST_OF_TIME * fabs(s->x->t));
        // x is still the start of the step; a verdict names the size that would stand
        status = judge(s, &verdict);
        if (status < 0) {
            const char *why = s->data ? kd_eom_data_message(s->data) : "";
            kd_text(s->message, sizeof s->message, "t = %.9g: %s", s->x->t, why[0] ? why : "a function asked to stop");
            return status;
        }
        // it stands; it cannot be made shorter; or back, and again with the size of the verdict
        if (!(verdict.h < h)) return news;
        if (!(h > least) || tries == MOST_RETRACTED) return keep(s, &verdict), news;
        verdict.h = fmax(verdict.h, least);
        status = retract(s, &verdict);
        if (status < 0) return status;
    }
}

// Methods with a memory start again behind a jump inside of a step: their past is that of another motion, and would
// cost them many short steps, each of which loses a little in the same direction.
static kd_status leave_past(kd_simulation *s)
{
    if (s->method->one_step || !kd_unseen_passed(s->search)) return KD_OK;
    s->dae->jumped = kd_unseen_jumped(s->search);
    return kd_simulation_start_integrator(s, KD_RESTART_BEHIND);
}

// ---- another method -------------------------------------------------------------------------------------------------

// A step of the present method, or of another one where it cannot make it
static kd_status chosen_step(kd_simulation *s, double target)
{
    kd_status status = kd_simulation_reconsider(s);
    if (status >= 0) status = leave_past(s);
    if (status >= 0) status = standing_step(s, target);
    if (!kd_simulation_is_curable(s, status)) return status;
    status = kd_simulation_cure(s);
    return status < 0 ? status : standing_step(s, target);
}

// One step towards t_end, not beyond the next instant; x is its end, or an instant inside
static kd_status step(kd_simulation *s, double t_end)
{
    // not beyond the next break, sample or stride
    double    target = s->hybrid ? kd_hybrid_target(s->hybrid, t_end) : t_end;
    kd_status status = KD_OK;
    if (target > s->x->t) {
        status = chosen_step(s, target);
        // x becomes the end of the step; then its rank, then crossings inside
        if (status >= 0) status = kd_simulation_take_state(s);
        if (status >= 0 && s->ranks) status = watch_rank(s, status);
        if (status >= 0 && s->branches) status = watch_branches(s, status);
    }
    if (status < 0 || !s->hybrid) return status;
    bool solved = s->dae->keeps_acceleration || (s->dae->methods->complete && kd_simulation_is_watched(s));
    return instant_failed(s, kd_hybrid_look(s->hybrid, fmin(kd_simulation_step_start(s), s->x->t), solved));
}

// Pass an instant; the integrator starts again from the limit from the right. KD_STOPPED: passed, too
static kd_status pass_instant(kd_simulation *s)
{
    // x is behind it: the limit from the right
    kd_status status = instant_failed(s, kd_hybrid_pass(s->hybrid));
    if (status < 0) return status;
    s->unseen = true;
    s->passed = s->x->t;
    if (is_left(s)) return status; // what happened made functions change their sign
    // what changed decides what the integrator may keep: x' only, x under the same rows, or nothing
    bool       smooth = kd_hybrid_is_smooth(s->hybrid) && s->x->t == kd_integrator_time(s->integrator);
    bool       same = same_rows(s);
    kd_restart mode = smooth ? KD_RESTART_SMOOTH : same ? KD_RESTART_SAME_ROWS : KD_RESTART_FRESH;
    kd_status  started = kd_simulation_start_integrator(s, mode);
    if (started >= 0 && smooth) started = kd_simulation_take_state(s);
    return started < 0 ? started : status;
}

// Does the run get on? After a failure it may be told again
static kd_status watch(kd_simulation *s, double t_end, kd_status status)
{
    const kd_effort effort = effort_of(s);
    kd_status       seen = kd_collapse_see(s->collapse, s->x, effort, t_end, s->message, sizeof s->message);
    // it is told once: a further run begins to watch anew
    if (seen < 0) kd_collapse_begin(s->collapse, s->x, effort);
    return seen < 0 ? seen : status;
}

// A turn of the loop that moved nothing: neither t, nor an attempt of a step, nor an instant to pass
static bool is_idle(const kd_simulation *s, double t, long attempts)
{
    return s->x->t == t && kd_simulation_stats(s).steps == attempts && !is_left(s);
}

// No step and no instant is left, but t_end is not reached: only a state that was restored can be like this
static kd_status tell_idle(kd_simulation *s, double t_end)
{
    kd_text(s->message, sizeof s->message,
            "t = %.9g: no step leads on to t_end = %g; times that were restored contradict each other", s->x->t, t_end);
    return KD_ERR_SAVED;
}

static kd_status run(kd_simulation *s, double t_end)
{
    int idle = 0; // turns in a row
    // what the last run left unseen comes first
    kd_status status = show_start(s);
    if (status == KD_OK) status = show_step(s);
    // the limit counts the steps of this run
    long limit = kd_simulation_stats(s).steps + s->max_steps;
    // at an instant the run goes on even if t_end is reached: the limit from the right is its end
    while (status == KD_OK && (s->x->t < t_end || is_left(s))) {
        if (!is_left(s) && kd_simulation_stats(s).steps >= limit) {
            kd_text(s->message, sizeof s->message,
                    "%ld steps did not reach t_end = %g (now t = %.9g); run again to continue, or raise max_steps",
                    s->max_steps, t_end, s->x->t);
            return KD_ERR_TOO_MANY_STEPS;
        }
        const double t = s->x->t;
        const long   attempts = kd_simulation_stats(s).steps;
        status = is_left(s) ? pass_instant(s) : step(s, t_end);
        if (status < 0) return status;
        idle = is_idle(s, t, attempts) ? idle + 1 : 0;
        if (idle == MOST_IDLE) return tell_idle(s, t_end);
        s->unseen = true;
        // behind a stop by an event the state is shown with the next run
        if (status != KD_STOPPED) status = show_step(s);
        if (status != KD_STOPPED && status >= 0) status = watch(s, t_end, status);
    }
    return status;
}

static kd_status run_to(kd_simulation *s, double t_end)
{
    // news of the start are told with every run
    kd_text(s->message, sizeof s->message, "%s", s->news);
    if (!isfinite(t_end)) {
        kd_text(s->message, sizeof s->message, "the end time %g is not a finite number", t_end);
        return KD_ERR_TIME;
    }
    // the time of an instant that was passed, but for rounding, is the present one
    if (is_passed(s, t_end)) t_end = fmax(t_end, s->x->t);
    if (!(t_end >= s->x->t)) {
        kd_text(s->message, sizeof s->message, "the end time %g lies before the present time %g", t_end, s->x->t);
        return KD_ERR_TIME;
    }
    // advice on stiffness comes once per run
    s->stiff = false;
    s->t_run = t_end;
    if (s->verify) kd_verify_run(s->verify, t_end);
    kd_status status = s->x->t < t_end ? kd_simulation_finish(s, run(s, t_end)) : run(s, t_end);
    if (status < 0) status = kd_simulation_tell_reason(s, status);
    return status == KD_OK && s->stiff ? KD_STIFF : status;
}

kd_status kd_simulation_run(kd_simulation *s, double t_end)
{
    if (!s) return KD_ERR_ARGUMENT;
    if (s->busy) return KD_ERR_BUSY;
    if (s->broken) {
        kd_text(s->message, sizeof s->message, "it was to be restored from something that does not fit");
        return KD_ERR_SAVED;
    }
    s->busy = true;
    kd_status status = run_to(s, t_end);
    s->busy = false;
    s->version++;
    return status;
}

kd_tolerances kd_simulation_tolerances(const kd_simulation *s)
{
    if (!s) return (kd_tolerances){0};
    return kd_simulation_tolerances_of(&s->opt);
}

kd_formulation kd_simulation_formulation(const kd_simulation *s)
{
    return s ? s->opt.formulation : (kd_formulation)0;
}

kd_integrator_kind kd_simulation_integrator(const kd_simulation *s)
{
    return s ? s->opt.integrator : KD_INTEGRATOR_COUNT;
}

kd_dae *kd_simulation_dae(const kd_simulation *s)
{
    if (!s) return NULL;
    return s->dae;
}

const kd_state *kd_simulation_state(const kd_simulation *s)
{
    if (!s) return NULL;
    return s->x;
}

double kd_simulation_step_start(const kd_simulation *s)
{
    if (!s) return 0;
    return kd_integrator_time_old(s->integrator);
}

const char *kd_simulation_not_searched(const kd_simulation *s, int i)
{
    // laws that declare themselves unsearchable first, then the one that the search could not decide
    const char *name = s && i >= 0 ? kd_eom_unsearched(s->eom, i) : NULL;
    if (name || !s || !s->search || i < 0 || (i > 0 && !kd_eom_unsearched(s->eom, i - 1))) return name;
    return kd_unseen_undecided(s->search);
}

bool kd_simulation_rank_unwatched(const kd_simulation *s)
{
    return s && s->unwatched;
}

long kd_simulation_events(const kd_simulation *s, kd_event_kind kind)
{
    if (!s) return 0;
    return s->hybrid ? kd_hybrid_count(s->hybrid, kind) : 0;
}

const char *kd_simulation_message(const kd_simulation *s)
{
    return s ? s->message : "";
}

kd_status kd_simulate(const kd_eom *eom, const kd_inputs *inputs, const kd_simulation_options *opt, kd_state *x,
                      double t_end, kd_stats *stats, char *message, size_t size)
{
    kd_simulation *s;
    if (stats) *stats = (kd_stats){0};
    kd_status status = kd_simulation_create(eom, inputs, opt, x, &s, message, size);
    if (status < 0) return status;
    status = kd_simulation_run(s, t_end);
    if (status == KD_OK) status = s->started;
    if (stats) *stats = kd_simulation_stats(s);
    kd_text(message, size, "%s", s->message);
    kd_simulation_destroy(s);
    return status;
}
