// master.c: one macro step: its length, samples and events of the systems, the estimate of the coupling error, going on.
//
// The estimate compares, for every input, what was extrapolated to the end of the step with what came: C H^(k+1) for degree k, as
// the error of the motion is. Halves: a step against two of half its length, C H^(k+2); the tolerance is shared out over the run.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "cosim/cosim.h"

static const double SAFETY = 0.9, SHRINK = 0.2, GROW = 2; // of controlled steps
static const double CLOSE = 1e-9;                         // part of a step that is no step of its own
enum { MOST_ATTEMPTS = 60 };

// ---- where the step ends --------------------------------------------------------------------------------------------

// The next point of the grid, or by the controlled step; not much shorter than to the end
static double wanted_end(const kd_cosim *c, double t_end)
{
    const double H = c->opt.control == KD_COSIM_FIXED ? c->opt.step : c->H;
    double       end = c->opt.control == KD_COSIM_FIXED ? (double)(c->n + 1) * H : c->T + H;
    return end > t_end - CLOSE * H ? t_end : end;
}

// Not beyond the next sample of a system; those that are due there are marked
static double meet_samples(kd_cosim *c, double end)
{
    double next[KD_COSIM_MOST_SYSTEMS];
    for (int s = 0; s < c->nsystems; s++) {
        next[s] = kd_cosim_next_event(c, s);
        if (next[s] > c->T && next[s] < end + CLOSE * (end - c->T)) end = next[s];
    }
    for (int s = 0; s < c->nsystems; s++) c->sampled[s] = fabs(next[s] - end) <= CLOSE * (end - c->T);
    return end;
}

// ---- a try ----------------------------------------------------------------------------------------------------------

static void predict(kd_cosim *c, double end)
{
    for (int k = 0; k < c->nconnections; k++) {
        kd_cosim_extrapolate(c, k);
        c->predicted[k] = kd_signal_at(&c->course[k], end);
    }
}

// Systems to the end by the master's way, then what they tell there: c->w. The first step has no past to be extrapolated from: it is
// made again with what it told
static kd_status attempt_once(kd_cosim *c, double end)
{
    predict(c, end);
    if (c->opt.master == KD_COSIM_ITERATION) {
        const kd_status status = kd_cosim_iterate(c, end);
        return status == KD_OK ? kd_cosim_communicate(c) : status;
    }
    kd_status status = kd_cosim_step_systems(c, end, NULL);
    if (status == KD_OK) status = kd_cosim_communicate(c);
    if (status == KD_OK && c->starting && c->opt.degree > 0 && kd_cosim_all_restore(c)) {
        memcpy(c->predicted, c->w, (size_t)c->nconnections * sizeof *c->w);
        status = kd_cosim_restore_all(c, 0);
        if (status >= 0) status = kd_cosim_step_systems(c, end, c->predicted);
        if (status == KD_OK) status = kd_cosim_communicate(c);
    }
    return status;
}

// The first event inside of the step, which ends it then; infinity: none
static double first_event(kd_cosim *c, double end)
{
    double first = INFINITY;
    for (int s = 0; s < c->nsystems; s++) first = fmin(first, c->event[s]);
    const double close = CLOSE * (end - c->T);
    return first > c->T + close && first < end - close ? first : INFINITY;
}

// The end of a step that an event ends: so little behind it that the event surely belongs to it
static double just_behind(const kd_cosim *c, double event)
{
    return event + 0.5 * CLOSE * (event - c->T);
}

// The same with the multipliers of rigid joints, which are improved until the rows hold at the end
static kd_status attempt(kd_cosim *c, double end)
{
    double    norm;
    kd_status status = c->nrows_joined > 0 ? kd_cosim_joints_begin(c, end) : KD_OK;
    for (int pass = 0; status >= 0; pass++) {
        status = attempt_once(c, end);
        if (status != KD_OK || c->nrows_joined == 0 || first_event(c, end) < end) return status;
        if (kd_cosim_joints_fit(c, end, &norm)) return KD_OK;
        status = kd_cosim_restore_all(c, 0);
        if (status >= 0) status = kd_cosim_joints_improve(c, pass, norm);
    }
    return status;
}

// ---- the estimate ---------------------------------------------------------------------------------------------------

// A jump at the end of the step is no error
static bool jumps(const kd_cosim *c, int k)
{
    return c->sampled[c->connection[k].from] || c->jumped[c->connection[k].from];
}

// Largest difference between w and what is compared with it, over what errors are relative to; *which connection
static double difference(kd_cosim *c, const double *other, int *which)
{
    double largest = 0;
    *which = -1;
    for (int k = 0; k < c->nconnections; k++) {
        if (jumps(c, k)) continue;
        // from rest: tries of the first step tell how large values become
        if (c->certificate.steps <= 1) kd_cosim_note_size(c, k, c->w[k]);
        const double e = fabs(other[k] - c->w[k]) / fmax(kd_cosim_scale(c, k), fabs(c->w_past[0][k]));
        if (e > largest || isnan(e)) largest = e, *which = k;
        if (isnan(e)) return INFINITY;
    }
    return largest;
}

static void note_errors(kd_cosim *c, const double *other)
{
    for (int k = 0; k < c->nconnections; k++) {
        kd_connection *l = &c->connection[k];
        const double   e = fabs(other[k] - c->w[k]);
        if (!jumps(c, k) && e > l->error) l->error = e, l->error_time = c->T;
    }
}

static double next_length(const kd_cosim *c, double H, double error)
{
    const double factor = SAFETY * pow(c->opt.rtol / fmax(error, 1e-300), 1.0 / (c->opt.degree + 1));
    return fmin(c->opt.max_step, H * fmin(GROW, fmax(SHRINK, factor)));
}

// ---- going on -------------------------------------------------------------------------------------------------------

static void accept(kd_cosim *c, double end)
{
    kd_cosim_certificate *z = &c->certificate;
    const double          H = end - c->T;
    // energy and joints are booked before the past moves on
    kd_cosim_count_energy(c, end);
    kd_cosim_joints_note(c);
    // the past moves on; behind a jump it is gone
    double *oldest = c->w_past[KD_COSIM_PAST - 1];
    for (int i = KD_COSIM_PAST - 1; i > 0; i--) c->t_past[i] = c->t_past[i - 1], c->w_past[i] = c->w_past[i - 1];
    c->w_past[0] = oldest, c->t_past[0] = end;
    memcpy(c->w_past[0], c->w, (size_t)c->nconnections * sizeof *c->w);
    // the next step starts anew if one of the systems jumped
    c->starting = false;
    for (int s = 0; s < c->nsystems; s++) c->starting = c->starting || c->jumped[s];
    for (int k = 0; k < c->nconnections; k++) {
        kd_connection *l = &c->connection[k];
        l->past = c->sampled[l->from] || c->jumped[l->from] ? 1 : l->past < KD_COSIM_PAST ? l->past + 1 : KD_COSIM_PAST;
        kd_cosim_note_size(c, k, c->w[k]);
    }
    // steps of fixed length are counted, so that their ends are n h and no sum
    if (c->opt.control == KD_COSIM_FIXED && end >= (double)(c->n + 1) * c->opt.step * (1 - CLOSE)) c->n++;
    z->shortest = z->steps == 0 ? H : fmin(z->shortest, H);
    z->longest = fmax(z->longest, H);
    z->steps++;
    z->t_end = c->T = end;
}

// Is a way back needed?
static bool wants_back(const kd_cosim *c)
{
    if (c->opt.control != KD_COSIM_FIXED || c->opt.master == KD_COSIM_ITERATION) return true;
    if (c->starting && c->opt.degree > 0) return true;
    if (c->nrows_joined > 0 && c->joint_index == 2) return true;
    for (int s = 0; s < c->nsystems; s++)
        if (c->system[s]->jumps) return true;
    return false;
}

static kd_status too_short(kd_cosim *c, double error, int which)
{
    const kd_connection *l = which >= 0 ? &c->connection[which] : NULL;
    kd_text(c->why, sizeof c->why,
            "the macro step at t = %.9g s would be shorter than %.3g s (error %.2g of input '%s.%s'): does this input "
            "jump, or are the tolerances of the systems too loose?",
            c->T, c->opt.min_step, error, l ? c->system[l->to]->name : "",
            l ? c->system[l->to]->input[l->input].name : "");
    return KD_ERR_STEP_TOO_SMALL;
}

// An event of a system ends the run; where all are at its time the step counts
static kd_status stop_there(kd_cosim *c, double end)
{
    bool all = true;
    for (int s = 0; s < c->nsystems; s++) all = all && c->system[s]->t == end;
    if (all && kd_cosim_communicate(c) >= 0) accept(c, end);
    return KD_STOPPED;
}

// ---- one step against what was extrapolated -------------------------------------------------------------------------

static kd_status single_step(kd_cosim *c, double t_end)
{
    const bool back = kd_cosim_all_restore(c) && wants_back(c), controlled = c->opt.control != KD_COSIM_FIXED;
    double     end = meet_samples(c, wanted_end(c, t_end));
    kd_status  status = back ? kd_cosim_save_all(c, 0) : KD_OK;
    int        which = -1;
    memset(c->jumped, 0, sizeof c->jumped);
    for (int i = 0; i < MOST_ATTEMPTS && status >= 0; i++) {
        const double H = end - c->T;
        status = attempt(c, end);
        // an event inside: the step is made again up to there
        const double event = status >= 0 && back ? first_event(c, end) : INFINITY;
        if (event < end) {
            for (int s = 0; s < c->nsystems; s++) c->jumped[s] = c->event[s] <= event, c->sampled[s] = false;
            c->certificate.events++;
            if ((status = kd_cosim_restore_all(c, 0)) >= 0) end = just_behind(c, event);
            continue;
        }
        if (status == KD_STOPPED) return stop_there(c, end);
        // shorter where the iteration fails, or where the error is too large
        const bool   failed = status == KD_ERR_NEWTON && controlled && back;
        const double error = status < 0 ? INFINITY : difference(c, c->predicted, &which);
        if (status != KD_OK && !failed) break;
        if (controlled && back && (failed || error > c->opt.rtol)) {
            c->certificate.rejected++;
            c->H = failed ? 0.25 * H : next_length(c, H, error);
            if (c->H < c->opt.min_step) return too_short(c, error, which);
            memset(c->jumped, 0, sizeof c->jumped);
            if ((status = kd_cosim_restore_all(c, 0)) >= 0) end = meet_samples(c, wanted_end(c, t_end));
            continue;
        }
        // the first step of an iteration has nothing to be compared with
        if (!(c->starting && c->opt.master == KD_COSIM_ITERATION)) note_errors(c, c->predicted);
        const double next = controlled ? next_length(c, H, error) : c->H;
        // a step that a sample or an end has cut short says little about longer ones
        c->H = controlled && H < 0.5 * c->H ? fmax(next, c->H) : next;
        accept(c, end);
        return KD_OK;
    }
    return status < 0 ? status : too_short(c, NAN, which);
}

// ---- one step against two halves ------------------------------------------------------------------------------------

static void keep_past(kd_cosim *c, double t[KD_COSIM_PAST], int *past)
{
    for (int i = 0; i < KD_COSIM_PAST; i++) {
        t[i] = c->t_past[i];
        memcpy(c->before + (size_t)i * (size_t)c->nconnections, c->w_past[i],
               (size_t)c->nconnections * sizeof *c->before);
    }
    for (int k = 0; k < c->nconnections; k++) past[k] = c->connection[k].past;
}

static void take_past(kd_cosim *c, const double t[KD_COSIM_PAST], const int *past)
{
    for (int i = 0; i < KD_COSIM_PAST; i++) {
        c->t_past[i] = t[i];
        memcpy(c->w_past[i], c->before + (size_t)i * (size_t)c->nconnections,
               (size_t)c->nconnections * sizeof *c->before);
    }
    for (int k = 0; k < c->nconnections; k++) c->connection[k].past = past[k];
}

// The whole step, then two halves; *event: the first one inside
static kd_status both(kd_cosim *c, double end, double *event)
{
    bool      sampled[KD_COSIM_MOST_SYSTEMS], jumped[KD_COSIM_MOST_SYSTEMS];
    double    middle = c->T + 0.5 * (end - c->T);
    kd_status status = kd_cosim_save_all(c, 0);
    // what has been sampled in this step must be sampled again in the second half
    memcpy(sampled, c->sampled, sizeof sampled);
    memcpy(jumped, c->jumped, sizeof jumped);
    // the whole step: its end is compared, and an event inside makes it a shorter one
    if (status >= 0) status = attempt(c, end);
    *event = status == KD_OK ? first_event(c, end) : INFINITY;
    if (status != KD_OK || *event < end) return status;
    memcpy(c->half, c->w, (size_t)c->nconnections * sizeof *c->w);
    // the same from the start, in two halves
    status = kd_cosim_restore_all(c, 1);
    for (int i = 0; i < 2 && status >= 0; i++) {
        const double to = i == 1 ? end : middle;
        for (int s = 0; s < c->nsystems; s++) c->sampled[s] = i == 1 && sampled[s], c->jumped[s] = i == 1 && jumped[s];
        status = kd_cosim_save_all(c, 0);
        if (status >= 0) status = attempt(c, to);
        *event = status == KD_OK ? first_event(c, to) : INFINITY;
        if (status != KD_OK || *event < to) return status;
        if (i == 0) accept(c, to);
    }
    return status;
}

static kd_status halved_step(kd_cosim *c, double t_end)
{
    const double          T = c->T;
    const bool            starting = c->starting;
    double                t[KD_COSIM_PAST], end = meet_samples(c, wanted_end(c, t_end)), event;
    kd_cosim_certificate *z = &c->certificate;
    const long            steps = z->steps;
    int                   which = -1;
    kd_status             status = kd_cosim_save_all(c, 1);
    // what a step changes is put aside: it may be made again
    keep_past(c, t, c->past_before);
    memset(c->jumped, 0, sizeof c->jumped);
    for (int i = 0; i < MOST_ATTEMPTS && status >= 0; i++) {
        const double H = end - T, energy[3] = {z->energy, z->energy_lost, z->energy_scale};
        // one step, then two halves of it
        status = both(c, end, &event);
        const bool   failed = status == KD_ERR_NEWTON;
        const double local = status == KD_OK ? difference(c, c->half, &which) : INFINITY;
        // Richardson: the difference of the two is the error but for a factor; told per length of the run
        const double error = local / (1 - pow(0.5, c->opt.degree + 1)) * c->opt.t_end / H;
        if (status != KD_OK && !failed) return status;
        // good: the halves count, and the next length follows from the error
        if (event >= end && !failed && error <= c->opt.rtol) {
            note_errors(c, c->half);
            z->error_sum += local;
            c->H = H < 0.5 * c->H ? fmax(c->H, next_length(c, H, error)) : next_length(c, H, error);
            accept(c, end);
            return KD_OK;
        }
        // back to the start
        c->T = z->t_end = T, z->steps = steps, c->starting = starting;
        z->energy = energy[0], z->energy_lost = energy[1], z->energy_scale = energy[2];
        take_past(c, t, c->past_before);
        status = kd_cosim_restore_all(c, 1);
        // an event inside: the next attempt ends just behind it, where its systems may jump
        if (event < end) {
            for (int s = 0; s < c->nsystems; s++) c->jumped[s] = c->event[s] <= event, c->sampled[s] = false;
            z->events++, end = just_behind(c, event);
            continue;
        }
        // too inexact, or not solved: a shorter one, which has its own meeting with samples
        z->rejected++;
        c->H = failed ? 0.25 * H : next_length(c, H, error);
        if (c->H < c->opt.min_step) return too_short(c, error, which);
        memset(c->jumped, 0, sizeof c->jumped);
        end = meet_samples(c, wanted_end(c, t_end));
    }
    return status < 0 ? status : too_short(c, NAN, which);
}

kd_status kd_cosim_macro_step(kd_cosim *c, double t_end)
{
    return c->opt.control == KD_COSIM_HALVES ? halved_step(c, t_end) : single_step(c, t_end);
}
