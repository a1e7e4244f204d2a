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
#include <kardan/simulation.h>

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "point/acceleration.h"
#include "simulation/branch_watch.h"
#include "simulation/choice.h"
#include "simulation/collapse.h"
#include "simulation/hybrid.h"
#include "simulation/options.h"
#include "simulation/rank_watch.h"
#include "simulation/singular.h"
#include "simulation/unseen.h"
#include "simulation/verify.h"

#define NEARLY_SINGULAR 0.1 // fall of the least singular value of the constraints since the start that is worth a word
#define SINGULAR 0.03       // the same, that is the reason
#define AHEAD 1e-4          // way ahead of a failure that is looked at, relative to the time
#define NEAREST 40          // in parts of down to 2^-NEAREST of it
#define LEAST_OF_TIME 1e-10 // of the present time: the same
#define LEAST_PART 1e-6     // of the first attempt: steps that are taken back do not become shorter
#define MOST_RETRACTED 40   // steps taken back in a row
#define PENDING 8           // [ulp] wanted times so far before an instant wait for what happens there
#define TOLD_CHANGES 3      // changes of the method that are told one by one
#define PASSED 32           // [ulp] and are one with it when it was passed: more than PENDING and its own slack

struct kd_simulation {
    const kd_eom             *eom;
    kd_inputs                 inputs;
    kd_simulation_options     opt;
    kd_simulation_options     given;  // opt as it was given: what a change of the method begins with
    kd_state                 *x;      // the caller's: present state, discrete states, active rows
    kd_state                 *at;     // state between steps
    kd_state                 *origin; // the last start
    double                   *vector; // (n) of the DAE
    double                   *xdot;   // (n) its derivative, for accelerations
    unsigned char            *active; // (nlambda + nmu) rows at the last start
    kd_dae                   *dae;
    kd_acceleration          *least;  // redundant rows (SVD): multipliers of least norm; NULL: no need
    const kd_integrator_info *method; // properties of the integrator
    kd_integrator            *integrator;
    kd_choice                *choice;   // NULL: formulation and integrator were named
    bool                      implicit; // the present method is the choice for stiff motions
    bool                      advised;  // the integrator has found the equations stiff
    kd_dae                   *form[2];  // of motions that are not stiff and of stiff ones; dae is one of them
    kd_stats                  before;   // counters of methods that were left
    kd_verification           verified; // by them
    long                      changes;
    double                    t_run;         // end of the present run
    kd_hybrid                *hybrid;        // NULL: the equations are smooth
    kd_probe                 *probe;         // of who asks by name; NULL: nobody has asked
    const kd_state           *seen;          // the state that is shown, or x
    unsigned long             version, read; // of that state; of the one that the probe is set to
    bool                      lazy;          // accelerations of states that are shown are left to who asks
    long                      solved;        // accelerations for states that were shown
    kd_eom_data              *data;          // where watchers look: of whoever asks, until the next does
    kd_rank_watch            *ranks;         // NULL: no constraints, or too many of them (unwatched)
    bool                      unwatched;
    kd_branch_watch          *branches; // NULL: no auxiliary variables that could have several solutions
    kd_collapse              *collapse;
    kd_unseen                *search; // NULL: there is nothing to be searched, or it is not wanted
    const kd_state           *end;    // its state of the end of the last step, if that was solved for; NULL: it was not
    kd_verify                *verify; // NULL: steps are not checked
    long                      max_steps;
    int                       next_time; // first wanted time that is still to come
    bool                      shown;     // the start has been shown
    double                    from;      // time of the last start; x may be the limit from the right, an ulp later
    double                    passed;    // time of the last instant
    bool                      unseen;    // the end of the last step has not been shown yet
    kd_status                 started;   // what the last start answered: KD_OK, KD_CORRECTED, KD_REDUNDANT
    char                      news[800]; // the same in words, and advice of the integrator
    bool                      stiff;     // advised in this run
    bool                      busy;      // at work: callbacks must not call it
    bool                      inside;    // a step or start of the integrator is being made
    kd_consistency            assumed;   // residuals of a start that was assumed to be consistent
    char                      message[1600];
};

// ---- the integrator -------------------------------------------------------------------------------------------------

// Begin at x, with what the mode says is still good; whoever remembers the motion before forgets it.
static kd_status integrator_start(kd_simulation *s, kd_restart mode)
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
    if (status < 0 || mode != KD_RESTART_FRESH || !s->ranks) return status;
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

static kd_status integrator_dense(kd_simulation *s, double t)
{
    kd_status status = kd_integrator_dense(s->integrator, t, s->vector);
    if (status < 0)
        kd_text(s->message, sizeof s->message, "the state at t = %.9g between two steps could not be determined: %s", t,
                kd_integrator_message(s->integrator));
    return status;
}

// Does the form carry accelerations along, or solve for them with the rest of a state?
static bool keeps_accelerations(const kd_simulation *s)
{
    return s->dae->keeps_acceleration || s->dae->methods->complete;
}

// Accelerations of a state for forms that do not keep them
static kd_status set_acceleration(kd_simulation *s, double t, const double *x, kd_state *state)
{
    state->unsolved = false;
    if (s->dae->keeps_acceleration) return KD_OK;
    kd_dims D = kd_eom_dims(s->eom);
    s->solved += !s->dae->methods->complete;
    // three ways to them: with the rest of the state, by a function of their own, out of x' of a start
    if (s->dae->methods->complete) { // gives what x does not have, accelerations among it
        if (s->dae->methods->complete(s->dae->impl, t, x, state->p + s->dae->nstate) == KD_EVAL_OK) return KD_OK;
    } else if (s->dae->methods->acceleration) {
        if (s->dae->methods->acceleration(s->dae->impl, t, x, state->a) == KD_EVAL_OK) return KD_OK;
    } else if (s->dae->methods->start(s->dae->impl, t, x, s->xdot) == KD_EVAL_OK) {
        memcpy(state->a, s->xdot + D.np, (size_t)D.nv * sizeof(double));
        return KD_OK;
    }
    const char *text = "";
    kd_status   status = s->dae->methods->fault(s->dae->impl, &text);
    kd_text(s->message, sizeof s->message, "no accelerations at t = %.9g: %s", t, text);
    return status;
}

// Does someone look at the state after each step?
static bool is_watched(const kd_simulation *s)
{
    const bool packs = s->dae->methods->pack; // x has no p, v, s: who needs them?
    const bool ranks = s->ranks && (packs || kd_eom_dims(s->eom).ns > 0), search = s->search && packs;
    return s->opt.output || ranks || search || s->branches || (s->hybrid && kd_hybrid_watch(s->hybrid));
}

// Multipliers of redundant rows are not unique: whatever a form carries along, those of least norm are shown.
static kd_status set_least_norm(kd_simulation *s, kd_state *x)
{
    if (!s->least ||
        kd_acceleration_least_norm(s->least, x->t, x->p, x->s, x->v, x->r, x->a, x->w, x->lambda, x->mu) == KD_EVAL_OK)
        return KD_OK;
    const char *text = "";
    kd_status   status = kd_acceleration_fault(s->least, &text);
    kd_text(s->message, sizeof s->message, "no multipliers at t = %.9g: %s", x->t, text);
    return status < 0 ? status : KD_ERR_RETRY_FAILED;
}

// A vector of the DAE to a state; what has to be solved for only when someone looks.
static kd_status unpack(kd_simulation *s, double t, const double *x, kd_state *state)
{
    // nobody looks: what x has is enough
    if (!is_watched(s) && s->dae->methods->complete) {
        state->t = t;
        memcpy(state->p, x, (size_t)s->dae->nstate * sizeof *x);
        return KD_OK;
    }
    if (state == s->x && s->end && s->end->t == t)
        kd_state_copy(s->end, state); // the search has solved for it
    else
        kd_formulation_unpack(s->dae, t, x, state);
    state->unsolved = !keeps_accelerations(s);
    kd_status status = s->opt.output && !s->lazy ? set_acceleration(s, t, x, state) : KD_OK;
    return status < 0 || !is_watched(s) ? status : set_least_norm(s, state);
}

static const double *present_vector(const kd_simulation *s, double *t)
{
    *t = kd_integrator_time(s->integrator);
    return kd_integrator_x(s->integrator);
}

static kd_status take_state(kd_simulation *s)
{
    double        t;
    const double *x = present_vector(s, &t);
    return unpack(s, t, x, s->x);
}

// The end of a run: accelerations for the caller if nobody looked on the way. A function that asked to stop is left
// alone.
static kd_status finish(kd_simulation *s, kd_status status)
{
    double        t;
    const double *x = present_vector(s, &t);
    // accelerations are there, or must not be asked for, or x is not the end of a step
    if ((s->opt.output && !s->lazy) || status == KD_ERR_CALLBACK_STOP || t != s->x->t) return status;
    char      kept[sizeof s->message];
    kd_status last;
    memcpy(kept, s->message, sizeof kept);
    kd_formulation_unpack(s->dae, t, x, s->x);
    last = set_acceleration(s, t, x, s->x);
    if (last >= 0) last = set_least_norm(s, s->x);
    // after a failure its own message stays; that there are no accelerations either is no news
    if (status >= 0) return last < 0 ? last : status;
    memcpy(s->message, kept, sizeof kept);
    return status;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void measure_assumed(kd_simulation *s)
{
    if (!s->opt.initial.assume || kd_initial_residuals(s->eom, &s->inputs, s->x, &s->assumed) < 0)
        s->assumed = (kd_consistency){0};
}

// After a failure: a start off the constraints that nobody was to check may be the reason.
static void recall_assumed(kd_simulation *s)
{
    if (fmax(s->assumed.position, s->assumed.velocity) <= s->opt.initial.tolerance) return;
    kd_text_append(s->message, sizeof s->message,
                   "; initial values were assumed to be consistent, but left residuals of %.3g in the constraints of "
                   "positions and %.3g in those of velocities",
                   s->assumed.position, s->assumed.velocity);
}

// After a failure: is a function no number just ahead, on the straight way from the last good state? Steps that become
// ever shorter before such a place end with the complaint of whoever met it last.
static kd_status tell_not_finite(kd_simulation *s, kd_status status)
{
    // every function that a step evaluates, from positions to forces
    static const kd_fn fns[] = {KD_G, KD_GI, KD_GII, KD_H, KD_HI, KD_C, KD_RESIDUAL, KD_B, KD_D};
    kd_eom_data       *data = s->data;
    kd_dims            d = kd_eom_dims(s->eom);
    const kd_state    *x = s->x;
    // failures that may come from steps that became ever shorter
    bool small = status == KD_ERR_STEP_TOO_SMALL || status == KD_ERR_NEWTON || status == KD_ERR_RETRY_FAILED ||
                 status == KD_ERR_DECOMPOSITION || status == KD_ERR_RANK_CHANGE;
    const double longest = fmax(x->t - kd_simulation_step_start(s), AHEAD * fmax(1, fabs(x->t)));
    const int    most = d.np + 2 * d.nv + d.nr + d.nw + d.ns + d.nlambda + d.nmu + 1;
    double      *room = small ? kd_alloc((size_t)(most + d.np + d.nv) * sizeof *room) : NULL;
    if (!room) return status;
    // scratch behind the rows: positions p, increment e = tau v
    double *p = room + most, *e = p + d.np;
    bool    found = false;
    // from the nearest point to the farthest, doubling: the first that is no number is the place
    for (int k = NEAREST; k >= 0 && !found; k--) {
        const double tau = ldexp(longest, -k);
        if (kd_eom_at_instant(data, &s->inputs, x->t + tau, x) != KD_EVAL_OK) break;
        for (int j = 0; j < d.nv; j++) e[j] = tau * x->v[j];
        kd_eom_at_position(data, x->p, x->s);
        if (kd_eom_oplus(data, x->p, e, p) != KD_EVAL_OK) break;
        kd_eom_at_position(data, p, x->s);
        kd_eom_at_velocity(data, x->v, x->r);
        kd_eom_at_acceleration(data, x->a, x->w, x->lambda, x->mu);
        for (size_t i = 0; i < sizeof fns / sizeof *fns && !found; i++)
            found = kd_eom_rows(s->eom, fns[i]) > 0 && kd_eom_eval(data, fns[i], room) != KD_EVAL_OK &&
                    kd_eom_data_fault(data).status == KD_ERR_NOT_FINITE;
    }
    // the place first, then the complaint that steps ended with
    if (found) {
        char words[sizeof s->message];
        kd_text(words, sizeof words, "%s", s->message);
        kd_text(s->message, sizeof s->message, "%s, ahead of the last good state at t = %.9g; %s",
                kd_eom_data_message(data), x->t, words);
    }
    kd_free(room);
    return found ? KD_ERR_NOT_FINITE : status;
}

// After a failure: does the mechanism lock? Then the constraints nearly depend on each other in the last good state.
static kd_status tell_singular(kd_simulation *s, kd_status status)
{
    kd_singularity found;
    char           names[300];
    bool small = status == KD_ERR_STEP_TOO_SMALL || status == KD_ERR_NEWTON || status == KD_ERR_DECOMPOSITION ||
                 status == KD_ERR_RETRY_FAILED || status == KD_ERR_RANK_CHANGE || status == KD_ERR_NOT_FINITE;
    // compared with the start: what was badly scaled from the beginning is no news
    if (!small || !kd_singularity_find(s->eom, &s->inputs, s->origin, s->x, &found)) return status;
    if (!(found.now <= NEARLY_SINGULAR * found.before)) return status;
    kd_singularity_names(s->eom, &found, names, sizeof names);
    kd_text_append(s->message, sizeof s->message,
                   "; in the last good state, at t = %.9g, the constraints nearly depend on each other, most of all %s "
                   "(least singular value %.2g, at the start %.2g): the mechanism locks or is near a singular position",
                   s->x->t, names, found.now, found.before);
    return found.now <= SINGULAR * found.before ? KD_ERR_RANK_CHANGE : status;
}

// After a failure: do the equations of auxiliary variables lose their solution, as where two of them meet?
static kd_status tell_fold(kd_simulation *s, kd_status status)
{
    kd_singularity found;
    char           names[300];
    bool small = status == KD_ERR_STEP_TOO_SMALL || status == KD_ERR_NEWTON || status == KD_ERR_DECOMPOSITION ||
                 status == KD_ERR_RETRY_FAILED || status == KD_ERR_SINGULAR_DW ||
                 status == KD_ERR_NOT_FINITE; // w of an iteration without end
    if (!small || !kd_singularity_of_auxiliary(s->eom, &s->inputs, s->origin, s->x, &found)) return status;
    if (!(found.now <= SINGULAR * found.before)) return status;
    kd_singularity_variables(s->eom, &found, names, sizeof names);
    kd_text_append(
        s->message, sizeof s->message,
        "; in the last good state, at t = %.9g, the equations of %s hardly depend on %s any more (least "
        "singular value of d_w %.2g, at the start %.2g): two solutions meet there, and beyond there is none; "
        "write an equation that has one solution in every state, or end the run before by an event",
        s->x->t, names, found.nrows > 1 ? "them" : "it", found.now, found.before);
    return KD_ERR_SINGULAR_DW;
}

// After a failure of the steps: does a force jump where the motion is?
static kd_status tell_jump(kd_simulation *s, kd_status status)
{
    char cause[900];
    // only where the integrator itself lost its way
    if (status != KD_ERR_STEP_TOO_SMALL && status != KD_ERR_NEWTON) return status;
    kd_collapse_cause(s->collapse, s->x, cause, sizeof cause);
    if (cause[0]) kd_text_append(s->message, sizeof s->message, "; here %s", cause);
    return status;
}

// Friction that depends on reactions may leave no unique accelerations (generalised Gruebler condition): the reason of
// a failure, or the news of a start, which fails where there are none at all.
static kd_status tell_friction(kd_simulation *s, kd_status status)
{
    kd_solvability found;
    char           words[500];
    // not where nobody may call the functions, or no memory is left
    if (status == KD_ERR_CALLBACK_STOP || status == KD_ERR_MEMORY) return status;
    kd_status holds = kd_initial_solvable(s->eom, &s->inputs, s->x, &found, words, sizeof words);
    if (!words[0]) return status;
    kd_text_append(s->message, sizeof s->message, "%s%s", s->message[0] ? "; " : "", words);
    if (status < 0) return status;
    kd_text(s->news, sizeof s->news, "%s", s->message);
    return holds == KD_ERR_SINGULAR_MASS || holds == KD_ERR_CALLBACK_STOP ? holds : status;
}

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

// Consistent values in x and a fresh integrator, KD_OK, > 0 with news, < 0
static kd_status start(kd_simulation *s, bool created)
{
    // before anything is made consistent: what the caller left
    measure_assumed(s);
    s->from = s->x->t;
    kd_status status = kd_initial_consistent(s->eom, &s->inputs, &s->opt.initial, s->x, s->message, sizeof s->message);
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
    if (status >= 0) status = integrator_start(s, KD_RESTART_FRESH);
    if (status < 0) recall_assumed(s);
    // what singular positions and collapses are compared with
    kd_state_copy(s->x, s->origin);
    kd_collapse_begin(s->collapse, s->x, kd_simulation_stats(s).steps);
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

static kd_status check_times(const kd_simulation_options *o, double start, char *message, size_t size)
{
    // a finite start, an array where there are times, strictly increasing ones
    if (!isfinite(start)) {
        kd_text(message, size, "the start time %g is not a finite number", start);
        return KD_ERR_TIME;
    }
    if (o->ntimes < 0 || (o->ntimes > 0 && !o->times)) {
        kd_text(message, size,
                o->ntimes < 0 ? "options.ntimes = %d is negative" : "options.ntimes = %d, but options.times is NULL",
                o->ntimes);
        return KD_ERR_ARGUMENT;
    }
    for (int i = 0; i < o->ntimes; i++) {
        if (isfinite(o->times[i]) && (i == 0 || o->times[i] > o->times[i - 1])) continue;
        kd_text(message, size, "wanted times must increase; number %d is %g", i, o->times[i]);
        return KD_ERR_ARGUMENT;
    }
    return KD_OK;
}

static kd_tolerances tolerances(const kd_simulation_options *o)
{
    return (kd_tolerances){o->integrator_options.rtol, o->integrator_options.atol, o->integrator_options.h_fixed};
}

// Invariants that the formulation cannot keep are refused, unless they are to be watched only.
static kd_status check_invariants(const kd_eom *eom, const kd_simulation_options *opt, char *message, size_t size)
{
    const kd_formulation_info *form = kd_formulation_about(opt->formulation);
    char                       name[100];
    if (kd_eom_dims(eom).ne == 0 || !opt->formulation_options.invariants || !form || form->keeps_invariants)
        return KD_OK;
    kd_text(message, size,
            "formulation %s cannot keep invariant '%s': formulation psf (with radau) and psf1 do; option "
            "form.invariants=no only watches it",
            kd_formulation_word(opt->formulation), kd_eom_name(eom, KD_NAME_E, 0, name, sizeof name));
    return KD_ERR_UNSUPPORTED;
}

static kd_status check_integrator(kd_integrator_kind integrator, char *message, size_t size)
{
    if (kd_integrator_about(integrator, NULL)) return KD_OK;
    kd_text(message, size, "options.integrator = %d is none of", (int)integrator);
    for (int i = 0; i < KD_INTEGRATOR_COUNT; i++)
        kd_text_append(message, size, "%s %s", i > 0 ? "," : "", kd_integrator_word((kd_integrator_kind)i));
    return KD_ERR_ARGUMENT;
}

// Explicit methods on the form ode drift: they project unless they were told not to
static void choose_projection(const kd_integrator_info *method, kd_simulation_options *o)
{
    const kd_formulation_info *form = kd_formulation_about(o->formulation);
    if (o->formulation_options.projection == KD_PROJECT_AUTO)
        o->formulation_options.projection =
            form && form->has_rhs && form->drifts && method->projects ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER;
}

// Steps of a fixed size cannot be taken back. NULL: accepted steps are checked
static const char *why_not_verified(const kd_simulation *s)
{
    const kd_simulation_options *o = &s->opt;
    const bool                   fixed = o->integrator_options.h_fixed > 0;
    // reasons in the order in which they exclude a check
    if (o->formulation == KD_INDEX3) return "velocities of index 3 have no derivatives to compare with";
    return !o->verify ? "it was not wanted" : fixed ? "steps of a fixed size are not taken back" : NULL;
}

// The motion inside the last step, without accelerations for forms that do not have them
static kd_status inside(double t, kd_state *x, void *context)
{
    kd_simulation *s = context;
    // who asks behind a run must not change what the run has told
    kd_status status = s->busy ? integrator_dense(s, t) : kd_integrator_dense(s->integrator, t, s->vector);
    if (status < 0) return status;
    // rows and discrete states of the simulation, the rest from dense output
    kd_state_copy(s->x, x);
    kd_formulation_unpack(s->dae, t, s->vector, x);
    x->unsolved = !keeps_accelerations(s);
    return set_least_norm(s, x);
}

// The integrator with the tolerances of the simulation, where they are given; what rounding does not allow is raised.
// The driver counts the steps of a run.
static kd_status create_integrator(kd_simulation *s, char *message, size_t size)
{
    kd_integrator_options *o = &s->opt.integrator_options;
    const double           least = s->method->least_rtol, rtol = s->opt.rtol;
    // tolerances of the simulation come before those of the integrator
    if (rtol != 0) o->rtol = rtol;
    if (s->opt.atol != 0) o->atol = s->opt.atol;
    if (rtol > 0 && rtol < least) {
        o->atol *= least / rtol; // the balance of the two is the user's
        o->rtol = least;
    }
    if (s->opt.ntimes > 0) o->dense_often = true;
    // h and order are the integrator's, the number of steps is the driver's
    kd_integrator_options own = *o;
    s->max_steps = o->max_steps;
    if (own.max_steps > 0) own.max_steps = LONG_MAX / 2; // counted run by run
    return kd_integrator_create(s->dae, s->opt.integrator, &own, &s->integrator, message, size);
}

// Are accelerations left to who asks for them? Where M determines them from forces and multipliers, and nothing here
// needs them
static bool leaves_accelerations(kd_simulation *s)
{
    double *a = s->xdot;
    // asked for, carried along anyway, of least norm, or not determined by M: then they are solved for
    return !s->opt.accelerations && !keeps_accelerations(s) && !s->least && kd_eom_definition(s->eom)->acceleration &&
           kd_eom_at_state(s->data, &s->inputs, s->x, KD_STAGE_ACCELERATION) == KD_EVAL_OK &&
           kd_eom_acceleration(s->data, a) == KD_EVAL_OK;
}

static kd_status create_search(kd_simulation *s)
{
    const kd_integrator_options *o = &s->opt.integrator_options;
    return kd_unseen_create(s->eom, &s->inputs, s->x, s->method, o->rtol, o->atol, &s->search);
}

// Checks of accepted steps belong to a method
static kd_status create_checks(kd_simulation *s)
{
    if (why_not_verified(s)) return KD_OK;
    kd_status status = create_search(s);
    if (status < 0) return status;
    return kd_verify_create(s->eom, &s->inputs, &s->opt, s->dae, s->integrator, s->x, &s->verify);
}

// Formulation and integrator for s->x: those that were named, or the choice for motions that are stiff or not
static kd_status create_method(kd_simulation *s, bool implicit, char *message, size_t size)
{
    // options as they were given, then what follows from the method
    s->opt = s->given;
    s->implicit = implicit;
    if (s->choice) {
        const kd_pair chosen = kd_choice_method(s->choice, implicit);
        s->opt.formulation = chosen.formulation;
        s->opt.integrator = chosen.integrator;
        kd_choice_begin(s->choice, implicit);
    }
    s->method = kd_integrator_about(s->opt.integrator, &s->opt.integrator_options);
    choose_projection(s->method, &s->opt);
    s->opt.formulation_options.without_matrices = s->method->is_explicit;
    // x in the form's own coordinates, then the integrator that has to fit
    kd_dae  **form = &s->form[implicit];
    kd_status status = *form ? KD_OK
                             : kd_formulation_create(s->eom, &s->inputs, s->x, s->opt.formulation,
                                                     &s->opt.formulation_options, form, message, size);
    s->dae = *form;
    if (status >= 0 && s->method->available && !kd_method_fits(&s->opt, message, size)) status = KD_ERR_UNSUPPORTED;
    if (status >= 0) status = create_integrator(s, message, size);
    if (status < 0) return status;
    s->vector = kd_alloc(2 * (size_t)s->dae->n * sizeof(double));
    s->xdot = s->vector ? s->vector + s->dae->n : NULL;
    return s->vector ? KD_OK : KD_ERR_MEMORY;
}

kd_status kd_simulation_create(const kd_eom *eom, const kd_inputs *inputs, const kd_simulation_options *opt,
                               kd_state *x, kd_simulation **simulation, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    if (simulation) *simulation = NULL;
    if (!eom || !x || !simulation) {
        kd_text(message, size, "kd_simulation_create: %s is NULL", !eom ? "eom" : (!x ? "x" : "simulation"));
        return KD_ERR_ARGUMENT;
    }
    if (!kd_state_fits(eom, x)) {
        kd_text(message, size,
                "the state is NULL or belongs to other equations: make it with kd_state_create(eom, ...)");
        return KD_ERR_ARGUMENT;
    }
    kd_status      status = KD_ERR_MEMORY;
    kd_simulation *s = kd_alloc(sizeof *s);
    if (!s) goto failed;
    // options first: everything that follows reads them
    s->eom = eom;
    s->x = x;
    s->opt = opt ? *opt : kd_simulation_options_default();
    s->passed = NAN;
    if (inputs) s->inputs = *inputs;
    status = kd_simulation_check_options(&s->opt, message, size);
    if (status == KD_OK) status = check_times(&s->opt, x->t, message, size);
    if (status == KD_OK) status = check_integrator(s->opt.integrator, message, size);
    if (status == KD_OK) status = check_invariants(eom, &s->opt, message, size);
    if (status < 0) goto failed;
    s->given = s->opt;
    if (s->opt.automatic) status = kd_choice_create(eom, &s->inputs, x, &s->opt, &s->choice);
    if (status >= 0) status = create_method(s, s->choice && kd_choice_starts_stiff(s->choice), message, size);
    if (status < 0) goto failed;
    // states of the driver
    status = kd_state_create(eom, &s->at);
    if (status >= 0) status = kd_state_create(eom, &s->origin);
    if (status < 0) goto failed;
    s->active = kd_alloc((size_t)(kd_eom_dims(eom).nlambda + kd_eom_dims(eom).nmu));
    status = s->active ? KD_OK : KD_ERR_MEMORY;
    // redundant rows; events; ranks, collapse; checks of accepted steps come with the method
    if (status >= 0 && s->opt.formulation_options.constraints == KD_DECOMPOSE_SVD)
        status = kd_acceleration_create(eom, &s->inputs, x, &s->opt.formulation_options, &s->least);
    if (status >= 0) status = kd_hybrid_create(eom, &s->inputs, &s->opt, x, inside, s, &s->hybrid);
    if (status >= 0) status = kd_eom_data_create(eom, &s->data);
    if (status >= 0) status = kd_rank_watch_create(s->data, &s->inputs, &s->ranks, &s->unwatched);
    if (status >= 0) status = kd_branch_watch_create(s->data, &s->inputs, &s->branches);
    if (status >= 0) status = kd_collapse_create(s->data, &s->inputs, tolerances(&s->opt), &s->collapse);
    if (status >= 0) status = create_checks(s);
    // consistent values and the first start; what friction does to them is news or a failure
    if (status >= 0) status = start(s, true);
    if (status >= 0) status = tell_friction(s, status);
    kd_text(message, size, "%s", s->message);
    if (status < 0) goto failed;
    s->lazy = leaves_accelerations(s);
    *simulation = s;
    return status;
failed:
    if (message && size > 0 && message[0] == '\0') kd_text(message, size, "%s", kd_status_sentence(status));
    kd_simulation_destroy(s);
    return status;
}

void kd_simulation_destroy(kd_simulation *s)
{
    if (!s || s->busy) return;
    kd_hybrid_destroy(s->hybrid);
    kd_branch_watch_destroy(s->branches);
    kd_rank_watch_destroy(s->ranks);
    kd_collapse_destroy(s->collapse);
    kd_unseen_destroy(s->search);
    kd_verify_destroy(s->verify);
    kd_probe_destroy(s->probe);
    kd_eom_data_destroy(s->data);
    kd_integrator_destroy(s->integrator);
    for (int k = 0; k < 2; k++) kd_dae_destroy(s->form[k]);
    kd_choice_destroy(s->choice);
    kd_acceleration_destroy(s->least);
    kd_state_destroy(s->at);
    kd_state_destroy(s->origin);
    kd_free(s->vector);
    kd_free(s->active);
    kd_free(s);
}

kd_status kd_simulation_restart(kd_simulation *s)
{
    if (!s) return KD_ERR_ARGUMENT;
    if (s->busy) return KD_ERR_BUSY;
    s->busy = true;
    kd_status status = start(s, false);
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
    kd_status status = integrator_start(s, KD_RESTART_SMOOTH);
    if (status >= 0) status = take_state(s);
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
    if (inside_step) status = integrator_dense(s, wanted);
    if (status < 0) return status;
    kd_state_copy(s->x, s->at);
    s->at->t = wanted;
    return inside_step ? unpack(s, wanted, s->vector, s->at) : KD_OK;
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

// Laws inside the accepted step
static kd_status look_inside(kd_simulation *s, kd_step_verdict *verdict)
{
    // the start of the step is x, its end is what the integrator has
    double        t;
    const double *x = present_vector(s, &t);
    kd_state     *end = kd_unseen_end(s->search, kd_integrator_time_old(s->integrator), t, s->x);
    s->end = NULL;
    if (!end) return KD_OK;
    if (s->dae->methods->pack) { // x has no p, v of its own
        kd_formulation_unpack(s->dae, t, x, end);
        s->end = end;
    } else {
        end->t = t;
        memcpy(end->p, x, (size_t)s->dae->nstate * sizeof *x);
    }
    return kd_unseen_look(s->search, verdict);
}

// The accepted step, which nobody has seen yet: x of the simulation is still its start, dense output gives its inside.
// What laws hide is looked for first: it tells where the step should end.
static kd_status judge(kd_simulation *s, kd_step_verdict *verdict)
{
    *verdict = KD_STANDS;
    kd_status status = s->search ? look_inside(s, verdict) : KD_OK;
    if (status < 0 || verdict->h < INFINITY) return status;
    return s->verify ? kd_verify_look(s->verify, verdict) : KD_OK;
}

// The step does not stand, but cannot be made shorter: it is remembered as not verified.
static void keep(kd_simulation *s, const kd_step_verdict *verdict)
{
    if (kd_unseen_accounts(s->search, verdict)) return; // a jump that no step resolves: what it costs is summed up
    if (s->verify) kd_verify_keep(s->verify, verdict);
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
            kd_text(s->message, sizeof s->message, "t = %.9g: a function asked to stop", s->x->t);
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
    return integrator_start(s, KD_RESTART_BEHIND);
}

// What the present method found
static kd_verification own_verification(const kd_simulation *s)
{
    kd_verification v = {.why_not = why_not_verified(s)};
    // what was lost at jumps is counted by the search, also without checks of steps
    if (s->verify) v = *kd_verify_result(s->verify);
    v.lost = kd_unseen_lost(s->search, &v.lost_by);
    return v;
}

// ---- another method -------------------------------------------------------------------------------------------------

// Counters of both
static kd_stats sum_of(kd_stats a, const kd_stats *b, long sign)
{
    const size_t first = offsetof(kd_stats, accepted), last = offsetof(kd_stats, order_last);
    for (size_t at = first; at < last; at += sizeof(long)) {
        long x, y;
        memcpy(&x, (char *)&a + at, sizeof x);
        memcpy(&y, (const char *)b + at, sizeof y);
        x += sign * y;
        memcpy((char *)&a + at, &x, sizeof x);
    }
    return a;
}

// What two methods found about their steps
static kd_verification join(kd_verification a, const kd_verification *b)
{
    a.searched = b->searched;
    a.why_not = b->why_not;
    a.steps += b->steps;
    a.checked += b->checked;
    a.points += b->points;
    a.redone += b->redone;
    if (a.unverified == 0) a.t_unverified = b->t_unverified;
    a.unverified += b->unverified;
    if (b->worst > a.worst) a.worst = b->worst, a.t_worst = b->t_worst;
    a.lost += b->lost;
    if (!a.lost_by) a.lost_by = b->lost_by;
    return a;
}

// Counters and findings of the method that is left are kept, its memory is given back; its form stays for who knows it
static void leave_method(kd_simulation *s)
{
    const kd_stats        stats = kd_integrator_stats(s->integrator);
    const kd_verification found = own_verification(s);
    s->before = sum_of(s->before, &stats, 1);
    s->verified = join(s->verified, &found);
    kd_unseen_destroy(s->search);
    kd_verify_destroy(s->verify);
    kd_integrator_destroy(s->integrator);
    kd_free(s->vector);
    s->search = NULL;
    s->end = NULL; // was the search's
    s->verify = NULL;
    s->integrator = NULL;
    s->vector = NULL;
}

static void tell_change(kd_simulation *s, const char *why)
{
    char words[300];
    if (++s->changes > TOLD_CHANGES) return;
    kd_text(words, sizeof words, "from t = %.6g on %s with %s, %s", s->x->t, kd_formulation_word(s->opt.formulation),
            kd_integrator_word(s->opt.integrator), why);
    if (s->changes == TOLD_CHANGES) kd_text_append(words, sizeof words, " (further changes are not told)");
    kd_text_append(s->news, sizeof s->news, "%s%s", s->news[0] ? "; " : "", words);
    kd_text(s->message, sizeof s->message, "%s", s->news);
}

// The other choice goes on from x, with about the step of the one before
static kd_status change_method(kd_simulation *s, const char *why)
{
    const double  h = kd_integrator_time(s->integrator) - kd_integrator_time_old(s->integrator);
    const kd_dae *old = s->dae;
    double        t;
    const double *x = present_vector(s, &t);
    // the whole state, with what the next form begins with
    kd_formulation_unpack(s->dae, t, x, s->x);
    kd_status status = set_acceleration(s, t, x, s->x);
    if (status < 0) return status;
    leave_method(s);
    status = create_method(s, !s->implicit, s->message, sizeof s->message);
    if (status >= 0) status = create_checks(s);
    if (status < 0) return status;
    // who listens goes on listening; counters of a form that is used again were counted
    const kd_stats again = kd_integrator_stats(s->integrator);
    s->before = sum_of(s->before, &again, -1);
    s->dae->observe = old->observe;
    s->dae->observer = old->observer;
    s->lazy = leaves_accelerations(s);
    s->advised = false;
    if (s->verify) kd_verify_run(s->verify, s->t_run);
    if (s->method->one_step) kd_integrator_propose(s->integrator, h); // others begin with order 1
    status = integrator_start(s, KD_RESTART_FRESH);
    if (status >= 0) tell_change(s, why);
    return status;
}

// Is the other method better from here?
static kd_status reconsider(kd_simulation *s)
{
    const double h = kd_integrator_time(s->integrator) - kd_integrator_time_old(s->integrator);
    char         why[120];
    if (!s->choice || !(h > 0) || s->x->t != kd_integrator_time(s->integrator)) return KD_OK;
    if (!kd_choice_look(s->choice, s->x, h, s->advised)) return KD_OK;
    kd_text(why, sizeof why,
            s->implicit ? "as steps of %.2g s are short enough for an explicit method (fastest motion %.2g 1/s)"
                        : "as stability limits steps to %.2g s (fastest motion %.2g 1/s)",
            h, kd_choice_radius(s->choice));
    return change_method(s, why);
}

// An explicit method that gets no further: the implicit one may
static bool is_curable(const kd_simulation *s, kd_status status)
{
    return s->choice && kd_choice_may_change(s->choice) && !s->implicit &&
           (status == KD_ERR_STEP_TOO_SMALL || status == KD_ERR_RETRY_FAILED || status == KD_ERR_DECOMPOSITION ||
            status == KD_ERR_SINGULAR_MASS);
}

// A step of the present method, or of the implicit one where the explicit one cannot make it
static kd_status chosen_step(kd_simulation *s, double target)
{
    kd_status status = reconsider(s);
    if (status >= 0) status = leave_past(s);
    if (status >= 0) status = standing_step(s, target);
    if (!is_curable(s, status)) return status;
    s->message[0] = '\0';
    status = change_method(s, "as the explicit method gets no further");
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
        if (status >= 0) status = take_state(s);
        if (status >= 0 && s->ranks) status = watch_rank(s, status);
        if (status >= 0 && s->branches) status = watch_branches(s, status);
    }
    if (status < 0 || !s->hybrid) return status;
    bool solved = s->dae->keeps_acceleration || (s->dae->methods->complete && is_watched(s));
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
    kd_status  started = integrator_start(s, mode);
    if (started >= 0 && smooth) started = take_state(s);
    return started < 0 ? started : status;
}

// Does the run get on? After a failure it may be told again
static kd_status watch(kd_simulation *s, double t_end, kd_status status)
{
    const long attempts = kd_simulation_stats(s).steps;
    kd_status  seen = kd_collapse_see(s->collapse, s->x, attempts, t_end, s->message, sizeof s->message);
    // it is told once: a further run begins to watch anew
    if (seen < 0) kd_collapse_begin(s->collapse, s->x, attempts);
    return seen < 0 ? seen : status;
}

static kd_status run(kd_simulation *s, double t_end)
{
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
        status = is_left(s) ? pass_instant(s) : step(s, t_end);
        if (status < 0) return status;
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
    kd_status status = s->x->t < t_end ? finish(s, run(s, t_end)) : run(s, t_end);
    // whose fault? The most specific reason first
    if (status < 0) {
        kd_status told = tell_not_finite(s, status);
        status = told != status ? told : tell_friction(s, tell_jump(s, tell_fold(s, tell_singular(s, status))));
        recall_assumed(s);
    }
    return status == KD_OK && s->stiff ? KD_STIFF : status;
}

kd_status kd_simulation_run(kd_simulation *s, double t_end)
{
    if (!s) return KD_ERR_ARGUMENT;
    if (s->busy) return KD_ERR_BUSY;
    s->busy = true;
    kd_status status = run_to(s, t_end);
    s->busy = false;
    s->version++;
    return status;
}

kd_tolerances kd_simulation_tolerances(const kd_simulation *s)
{
    if (!s) return (kd_tolerances){0};
    return tolerances(&s->opt);
}

kd_formulation kd_simulation_formulation(const kd_simulation *s)
{
    return s ? s->opt.formulation : (kd_formulation)0;
}

kd_integrator_kind kd_simulation_integrator(const kd_simulation *s)
{
    return s ? s->opt.integrator : KD_INTEGRATOR_COUNT;
}

long kd_simulation_changes(const kd_simulation *s)
{
    return s ? s->changes : 0;
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

kd_status kd_simulation_inside(kd_simulation *s, double t, kd_state *x)
{
    if (!s || !kd_state_fits(s->eom, x) || !(t >= kd_simulation_step_start(s) && t <= s->x->t)) return KD_ERR_ARGUMENT;
    if (s->inside) return KD_ERR_BUSY;
    return inside(t, x, s);
}

kd_status kd_simulation_accelerations(kd_simulation *s, const kd_state *x, double *a)
{
    if (!s || !a || !kd_state_fits(s->eom, x)) return KD_ERR_ARGUMENT;
    if (s->inside) return KD_ERR_BUSY;
    const size_t size = (size_t)kd_eom_dims(s->eom).nv * sizeof *a;
    // known, or carried along by the form
    if (!x->unsolved || keeps_accelerations(s)) {
        memcpy(a, x->a, size);
        return KD_OK;
    }
    // x' of a start at this state has them
    kd_formulation_pack(s->dae, x, s->vector);
    s->solved++;
    if (s->dae->methods->start(s->dae->impl, x->t, s->vector, s->xdot) == KD_EVAL_OK) {
        memcpy(a, s->xdot + kd_eom_dims(s->eom).np, size);
        return KD_OK;
    }
    const char *text = "";
    return s->dae->methods->fault(s->dae->impl, &text);
}

kd_probe *kd_simulation_probe(kd_simulation *s)
{
    if (!s) return NULL;
    // made for the first who asks; set to a state only when that changed
    if (!s->probe && kd_probe_create(s->eom, &s->inputs, &s->probe) < 0) return NULL;
    if (s->read != s->version && kd_probe_set(s->probe, s->seen) >= 0) s->read = s->version;
    return s->probe;
}

double kd_simulation_output(kd_simulation *s, const char *name)
{
    return kd_probe_read(kd_simulation_probe(s), name);
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

kd_verification kd_simulation_verification(const kd_simulation *s)
{
    if (!s) return (kd_verification){.why_not = "there is no simulation"};
    const kd_verification own = own_verification(s);
    return join(s->verified, &own);
}

kd_stats kd_simulation_stats(const kd_simulation *s)
{
    if (!s) return (kd_stats){0};
    kd_stats stats = sum_of(kd_integrator_stats(s->integrator), &s->before, 1);
    stats.accelerations = s->solved;
    return stats;
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
