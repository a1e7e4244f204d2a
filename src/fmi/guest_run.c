// guest_run.c: an FMU from its start to its end.
#include "fmi/guest_run.h"

#include <float.h>
#include <math.h>

#include "fmi/guest_motion.h"

enum { PARTS = 200 }; // of a step that ends early

static kd_status exchange(kd_guest *guest, kd_guest_run *run)
{
    kd_guest_motion              *motion;
    const kd_guest_motion_options options = {.rtol = run->tolerance > 0 ? run->tolerance : 1e-6,
                                             .step = run->step,
                                             .show = run->show,
                                             .context = run->context};
    kd_status                     status = kd_guest_motion_create(guest, &options, run->t_start, &motion);
    if (status < 0) return status;
    status = run->show(run->t_start, guest, run->context);
    const long points = lround((run->t_stop - run->t_start) / run->step);
    for (long k = 1; k <= points && status >= 0 && !run->stopped; k++) {
        // inputs of a table are held until the next point
        if (run->feed) status = run->feed(kd_guest_motion_about(motion).t, guest, run->context);
        const double end = k == points ? run->t_stop : run->t_start + (double)k * run->step;
        if (status >= 0) status = kd_guest_motion_to(motion, end);
        const kd_guest_motion_news news = kd_guest_motion_about(motion);
        run->steps = news.steps;
        run->events = news.events;
        run->stopped = news.stopped;
        if (status >= 0) status = run->show(news.t, guest, run->context);
    }
    kd_guest_motion_destroy(motion);
    return status;
}

static kd_status cosimulate(kd_guest *guest, kd_guest_run *run)
{
    double     t = run->t_start;
    const long points = lround((run->t_stop - run->t_start) / run->step);
    kd_status  status = run->show(t, guest, run->context);
    for (long k = 1; k <= points && status >= 0 && !run->stopped; k++) {
        const double end = k == points ? run->t_stop : run->t_start + (double)k * run->step;
        if (run->feed) status = run->feed(t, guest, run->context);
        // a step that ends early is gone on with
        for (int part = 0; part < PARTS && status >= 0 && t < end && !run->stopped; part++) {
            double reached;
            status = kd_guest_step(guest, t, end - t, &reached, &run->stopped);
            if (status >= 0 && reached <= t && !run->stopped) part = PARTS;
            if (status >= 0) t = reached >= end - 16 * DBL_EPSILON * fabs(end) ? end : reached;
            run->steps++;
        }
        if (status >= 0 && t < end && !run->stopped) status = KD_ERR_STEP_TOO_SMALL;
        if (status >= 0) status = run->show(t, guest, run->context);
    }
    return status;
}

kd_status kd_guest_run_all(kd_guest *guest, bool is_exchange, kd_guest_run *run)
{
    kd_status status = kd_guest_begin(guest, run->t_start, run->t_stop, run->tolerance);
    if (status >= 0 && run->feed) status = run->feed(run->t_start, guest, run->context);
    if (status >= 0) status = kd_guest_finish(guest);
    if (status >= 0) status = is_exchange ? exchange(guest, run) : cosimulate(guest, run);
    if (status >= 0) status = kd_guest_end(guest);
    return status;
}
