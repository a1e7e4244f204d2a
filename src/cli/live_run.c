// live_run.c: one face for the integrator and the stepper.
#include "cli/live_run.h"

#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "core/text.h"

static const double MOST_OWED = 0.1; // [s] that are made up for

static kd_status make_stepper(kd_live_run *r, char *message, size_t size)
{
    kd_realtime_options opt = kd_realtime_options_default();
    opt.h = r->h;
    opt.external = r->external;
    kd_status status = kd_realtime_create(r->eom, r->inputs, &opt, r->x, &r->stepper, message, size);
    // it made the state consistent
    if (status >= 0) status = kd_state_copy(kd_realtime_state(r->stepper), r->x);
    return status;
}

kd_status kd_live_run_make(kd_live_run *r, const kd_eom *eom, const kd_inputs *inputs,
                           const kd_simulation_options *options, double step, kd_state *x, char *message, size_t size)
{
    kd_live_run_drop(r);
    *r = (kd_live_run){.eom = eom, .inputs = inputs, .x = x, .h = step};
    if (!(step > 0)) return kd_simulation_create(eom, inputs, options, x, &r->simulation, message, size);
    r->external = calloc((size_t)kd_eom_dims(eom).nu + 1, sizeof *r->external);
    const kd_status status = r->external ? make_stepper(r, message, size) : KD_ERR_MEMORY;
    if (status < 0) kd_live_run_drop(r);
    return status;
}

void kd_live_run_drop(kd_live_run *r)
{
    kd_simulation_destroy(r->simulation);
    kd_realtime_destroy(r->stepper);
    free(r->external);
    *r = (kd_live_run){0};
}

bool kd_live_run_is_made(const kd_live_run *r)
{
    return r->simulation || r->stepper;
}

// whole steps; what is left is owed
static kd_status step_by(kd_live_run *r, double seconds, double deadline)
{
    kd_status status = KD_OK;
    r->owed = fmin(r->owed + seconds, fmax(MOST_OWED, seconds));
    while (status == KD_OK && r->owed >= r->h && !r->late) {
        status = kd_realtime_step(r->stepper, NULL, NULL);
        r->owed -= r->h;
        r->late = kd_cli_seconds() > deadline;
    }
    if (r->late) r->owed = 0;
    if (status != KD_OK) kd_text(r->message, sizeof r->message, "%s", kd_realtime_message(r->stepper));
    const kd_status copied = kd_state_copy(kd_realtime_state(r->stepper), r->x);
    return copied < 0 ? copied : status;
}

kd_status kd_live_run_by(kd_live_run *r, double seconds, double deadline)
{
    r->late = false;
    return r->stepper ? step_by(r, seconds, deadline) : kd_simulation_run(r->simulation, r->x->t + seconds);
}

kd_status kd_live_run_restart(kd_live_run *r)
{
    if (!r->stepper) return kd_simulation_restart(r->simulation);
    // made again: its pivots and its matrices are those of the start
    kd_realtime    *before = r->stepper;
    const kd_status status = make_stepper(r, r->message, sizeof r->message);
    if (status < 0)
        r->stepper = before;
    else
        kd_realtime_destroy(before);
    return status;
}

// a stepper evaluates its forces in every step
kd_status kd_live_run_resume(kd_live_run *r)
{
    return r->stepper ? KD_OK : kd_simulation_resume(r->simulation);
}

const char *kd_live_run_message(const kd_live_run *r)
{
    return r->simulation ? kd_simulation_message(r->simulation) : r->message;
}
