// simulation_change.c: another method from here on, where that is the simulation's choice and counts say so; what all
// methods of a run did together.
#include "simulation/simulation_impl.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"

#define TOLD_CHANGES 3 // changes of the method that are told one by one

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

// What the present method found
kd_verification kd_simulation_own_verification(const kd_simulation *s)
{
    kd_verification v = {.why_not = kd_simulation_why_not_verified(s)};
    // what was lost at jumps is counted by the search, also without checks of steps
    if (s->verify) v = *kd_verify_result(s->verify);
    v.lost = kd_unseen_lost(s->search, &v.lost_by) + kd_integrator_lost(s->integrator);
    v.rounded = kd_unseen_rounding(s->search, &v.rounded_by);
    return v;
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
    if (b->rounded > a.rounded) a.rounded = b->rounded, a.rounded_by = b->rounded_by;
    return a;
}

// Counters and findings of the method that is left are kept, its memory is given back; its form stays for who knows it
static void leave_method(kd_simulation *s)
{
    const kd_stats        stats = kd_integrator_stats(s->integrator);
    const kd_verification found = kd_simulation_own_verification(s);
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

kd_status kd_simulation_switch(kd_simulation *s, bool implicit)
{
    const kd_dae *old = s->dae;
    leave_method(s);
    kd_status status = kd_simulation_create_method(s, implicit, s->message, sizeof s->message);
    if (status >= 0) status = kd_simulation_create_checks(s);
    if (status < 0) return status;
    // who listens goes on listening
    s->dae->observe = old->observe;
    s->dae->observer = old->observer;
    return KD_OK;
}

// This choice goes on from x, with about the step of the one before
static kd_status change_method(kd_simulation *s, bool implicit, const char *why)
{
    const double  h = kd_integrator_time(s->integrator) - kd_integrator_time_old(s->integrator);
    double        t;
    const double *x = kd_simulation_vector(s, &t);
    // the whole state, with what the next form begins with
    kd_formulation_unpack(s->dae, t, x, s->x);
    kd_status status = kd_simulation_set_acceleration(s, t, x, s->x);
    if (status < 0) return status;
    status = kd_simulation_switch(s, implicit);
    if (status < 0) return status;
    // counters of a form that is used again were counted
    const kd_stats again = kd_integrator_stats(s->integrator);
    s->before = sum_of(s->before, &again, -1);
    s->lazy = kd_simulation_leaves_accelerations(s);
    s->advised = false;
    if (s->verify) kd_verify_run(s->verify, s->t_run);
    if (s->method->one_step) kd_integrator_propose(s->integrator, h); // others begin with order 1
    status = kd_simulation_start_integrator(s, KD_RESTART_FRESH);
    if (status >= 0) tell_change(s, why);
    return status;
}

// Is the other method better from here?
kd_status kd_simulation_reconsider(kd_simulation *s)
{
    const double h = kd_integrator_time(s->integrator) - kd_integrator_time_old(s->integrator);
    char         why[120];
    if (!s->choice || !(h > 0) || s->x->t != kd_integrator_time(s->integrator)) return KD_OK;
    if (!kd_choice_look(s->choice, s->x, h, s->advised)) return KD_OK;
    kd_text(why, sizeof why,
            s->implicit ? "as steps of %.2g s are short enough for an explicit method (fastest motion %.2g 1/s)"
            : s->advised || h > kd_choice_stable_step(s->choice)
                ? "as stability limits steps to %.2g s (fastest motion %.2g 1/s)"
                : "as steps of %.2g s are short beside what moves (fastest motion %.2g 1/s, which has died out)",
            h, kd_choice_radius(s->choice));
    return change_method(s, !s->implicit, why);
}

// A method that gets no further: another one may
bool kd_simulation_is_curable(const kd_simulation *s, kd_status status)
{
    const bool stuck = status == KD_ERR_STEP_TOO_SMALL || status == KD_ERR_RETRY_FAILED ||
                       status == KD_ERR_DECOMPOSITION || status == KD_ERR_SINGULAR_MASS;
    return stuck && s->choice && (s->implicit ? kd_choice_may_retreat(s->choice) : kd_choice_may_change(s->choice));
}

kd_status kd_simulation_cure(kd_simulation *s)
{
    s->message[0] = '\0';
    if (!s->implicit) return change_method(s, true, "as the explicit method gets no further");
    kd_choice_retreat(s->choice);
    return change_method(s, true, "as bdf gets no further");
}

// ---- queries --------------------------------------------------------------------------------------------------------

const char *kd_simulation_choice(const kd_simulation *s)
{
    return s && s->choice ? kd_choice_reason(s->choice) : "";
}

long kd_simulation_changes(const kd_simulation *s)
{
    return s ? s->changes : 0;
}

kd_verification kd_simulation_verification(const kd_simulation *s)
{
    if (!s) return (kd_verification){.why_not = "there is no simulation"};
    const kd_verification own = kd_simulation_own_verification(s);
    return join(s->verified, &own);
}

kd_stats kd_simulation_stats(const kd_simulation *s)
{
    if (!s) return (kd_stats){0};
    kd_stats stats = sum_of(kd_integrator_stats(s->integrator), &s->before, 1);
    stats.accelerations = s->solved;
    return stats;
}
