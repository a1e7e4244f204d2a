// compare_run.c: one run by one method: its motion at common times, its cost, how it ended.
//
// The clock is that of the computing time of this thread, which other programs disturb least; looking at the motion
// does not count. Short runs are repeated, and the fastest repetition counts.
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "analysis/compare_internal.h"
#include "core/text.h"

enum { STEPS_BETWEEN_LOOKS = 8 }; // at the clock
static const double SHORT = 0.02; // [s] a run that is repeated
static const double LONG = 0.05;  // [s] of all repetitions

typedef struct runner {
    const kd_run_request *request;
    kd_observer          *observer; // NULL: a repetition
    kd_track_of_run      *track;
    kd_compare_run       *out;
    double                begun, observing; // [s]
    long                  calls;
    kd_status             observed;
    bool                  cut, stopped;
} runner;

double kd_thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// The row of a wanted time; the last one again where an instant shows both limits, of which the right one is kept
static void observe(runner *r, const kd_state *x)
{
    kd_track_of_run *track = r->track;
    int              row = track->rows;
    double           begun = kd_thread_seconds(), violation[2];
    // an instant shows its left and its right limit: the second takes the row of the first
    if (row > 0 && track->times[row - 1] == x->t) row--;
    if (row == track->ntimes || track->times[row] != x->t) return;
    double *values = track->value + (size_t)row * (size_t)track->nvalues;
    // time of observing is no time of the method
    r->observed = kd_observer_take(r->observer, x, values, violation);
    for (int i = 0; r->observed >= 0 && i < track->nvalues; i++)
        if (!isfinite(values[i])) r->observed = KD_ERR_NOT_FINITE;
    if (r->observed >= 0) {
        track->rows = row + 1;
        r->out->position_level = fmax(r->out->position_level, violation[0]);
        r->out->velocity_level = fmax(r->out->velocity_level, violation[1]);
    }
    r->observing += kd_thread_seconds() - begun;
}

static kd_eval take_output(const kd_state *x, bool at_time, void *context)
{
    runner *r = context;
    if (at_time && r->observer) observe(r, x);
    if (r->calls++ % STEPS_BETWEEN_LOOKS == 0) {
        const kd_run_request *q = r->request;
        r->cut = kd_thread_seconds() - r->begun - r->observing > q->limit;
        r->stopped = q->go_on && !q->go_on(x->t, q->context);
    }
    return r->observed < 0 || r->cut || r->stopped ? KD_EVAL_STOP : KD_EVAL_OK;
}

static void set_options(const kd_run_request *q, const kd_track_of_run *track, runner *r, kd_simulation_options *o)
{
    *o = q->options;
    o->rtol = q->rtol;
    o->atol = q->atol;
    if (q->side->redundant) o->formulation_options.constraints = KD_DECOMPOSE_SVD;
    o->integrator_options.h_max = q->h_max;
    o->integrator_options.max_steps = LONG_MAX / 2;
    o->integrator_options.explicit_rk.stiff_steps = 0; // the clock decides
    o->times = track->times;
    o->ntimes = track->ntimes;
    o->output = take_output;
    o->accelerations = false; // the observer finds those that it reads
    o->context = r;
}

static void note_outcome(runner *r, kd_status status, const char *message)
{
    kd_compare_run *out = r->out;
    out->status = r->observed < 0 ? r->observed : status;
    // refused by the method itself, stopped by the user, cut off by the limit; what is left went wrong or well
    if (status == KD_ERR_UNSUPPORTED || status == KD_ERR_UNAVAILABLE)
        out->outcome = KD_COMPARE_REFUSED;
    else if (r->stopped)
        out->outcome = KD_COMPARE_STOPPED;
    else if (r->cut)
        out->outcome = KD_COMPARE_CUT;
    else
        out->outcome = out->status < 0 || status == KD_STOPPED ? KD_COMPARE_FAILED : KD_COMPARE_DONE;
    // the reason in words
    if (out->outcome == KD_COMPARE_CUT)
        kd_text(out->message, sizeof out->message, "cut off at t = %.4g s", out->t);
    else if (r->observed < 0)
        kd_text(out->message, sizeof out->message, "outputs at t = %.6g s could not be evaluated", out->t);
    else if (out->outcome != KD_COMPARE_DONE)
        kd_text(out->message, sizeof out->message, "%s%s%s", kd_status_sentence(status), message[0] ? ": " : "",
                message);
}

// One repetition; x is overwritten by the start first
static kd_status run_repetition(runner *r, kd_state *x)
{
    const kd_run_request *q = r->request;
    kd_simulation        *simulation = NULL;
    kd_simulation_options options;
    char                  message[400] = "";
    kd_compare_run       *out = r->out;
    // options of this run; its state begins as that of the side
    set_options(q, r->track, r, &options);
    kd_state_copy(q->side->start, x);
    r->begun = kd_thread_seconds();
    r->observing = 0;
    r->calls = 0;
    kd_status status =
        kd_simulation_create(q->side->eom, q->side->inputs, &options, x, &simulation, message, sizeof message);
    // only the run itself is timed; the least of several repetitions counts
    if (status >= 0) {
        r->begun = kd_thread_seconds();
        status = kd_simulation_run(simulation, q->t_end);
        double seconds = kd_thread_seconds() - r->begun - r->observing;
        if (r->observer || seconds < out->seconds) out->seconds = seconds;
        if (r->observer) {
            kd_text(message, sizeof message, "%s", kd_simulation_message(simulation));
            out->stats = kd_simulation_stats(simulation);
        }
    }
    // the first repetition tells how it went
    if (r->observer) {
        out->t = x->t;
        note_outcome(r, status, message);
    }
    kd_simulation_destroy(simulation);
    return status;
}

kd_status kd_run_once(const kd_run_request *q, kd_track_of_run *track, kd_compare_run *out)
{
    kd_state    *x = NULL;
    kd_observer *observer = NULL;
    runner       r = {.request = q, .track = track, .out = out};
    kd_status    status = kd_observer_create(q->side, &observer);
    if (status >= 0) status = kd_state_create(q->side->eom, &x);
    if (status < 0) goto done;
    // the first run is observed; those that follow are for the clock only
    r.observer = observer;
    track->rows = 0;
    out->position_level = out->velocity_level = 0;
    out->message[0] = '\0';
    status = run_repetition(&r, x);
    r.observer = NULL;
    double sum = out->seconds;
    // short runs again, until the best time of several says something
    for (int i = 1; i < q->repetitions && out->outcome == KD_COMPARE_DONE && out->seconds < SHORT && sum < LONG; i++) {
        if (run_repetition(&r, x) < 0 || r.stopped) break;
        sum += kd_thread_seconds() - r.begun;
    }
done:
    kd_state_destroy(x);
    kd_observer_destroy(observer);
    return status == KD_ERR_MEMORY ? status : KD_OK;
}
