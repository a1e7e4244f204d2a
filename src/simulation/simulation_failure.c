// simulation_failure.c: why a run failed: what a look at the last good state finds, the most specific reason first.
#include "simulation/simulation_impl.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "simulation/singular.h"

#define NEARLY_SINGULAR 0.1 // fall of the least singular value of the constraints since the start that is worth a word
#define SINGULAR 0.03       // the same, that is the reason
#define AHEAD 1e-4          // way ahead of a failure that is looked at, relative to the time
#define NEAREST 40          // in parts of down to 2^-NEAREST of it

void kd_simulation_measure_assumed(kd_simulation *s)
{
    if (!s->opt.initial.assume || kd_initial_residuals(s->eom, &s->inputs, s->x, &s->assumed) < 0)
        s->assumed = (kd_consistency){0};
}

// After a failure: a start off the constraints that nobody was to check may be the reason.
void kd_simulation_recall_assumed(kd_simulation *s)
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
                 status == KD_ERR_RETRY_FAILED || status == KD_ERR_RANK_CHANGE || status == KD_ERR_NOT_FINITE ||
                 status == KD_ERR_STAGNATION;
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
    // a step that lost the solution has told the reason already
    const bool told = strstr(s->message, "two solutions meet") != NULL;
    kd_text_append(s->message, sizeof s->message,
                   "; in the last good state, at t = %.9g, the equations of %s hardly depend on %s any more (least "
                   "singular value of d_w %.2g, at the start %.2g)%s",
                   s->x->t, names, found.nrows > 1 ? "them" : "it", found.now, found.before,
                   told ? ""
                        : ": two solutions meet there, and beyond there is none; write an equation that has one "
                          "solution in every state, or end the run before by an event");
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
kd_status kd_simulation_tell_friction(kd_simulation *s, kd_status status)
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

// Whose fault? The most specific reason first
kd_status kd_simulation_tell_reason(kd_simulation *s, kd_status status)
{
    kd_status told = tell_not_finite(s, status);
    if (told == status) told = kd_simulation_tell_friction(s, tell_jump(s, tell_fold(s, tell_singular(s, status))));
    kd_simulation_recall_assumed(s);
    return told;
}
