// operating_point.c: the linear equations of a model at its start or along its motion, with their modes.
#include "cli/operating_point.h"

#include <math.h>

#include "cli/method.h"

static const double TOLERANCE = 1e-9; // of the simulation that leads to the point

// By the method that kardan simulate would choose, with tight tolerances
static bool go_to(kd_operating_point *o)
{
    kd_subject *s = &o->subject;
    kd_method   method = {.rtol = TOLERANCE};
    if (isnan(o->at)) return true;
    if (o->at < s->x->t) {
        fprintf(stderr, "kardan: --at %g lies before the start at %g s\n", o->at, s->x->t);
        return false;
    }
    if (!kd_method_read(&method)) return false;
    kd_method_choose(&method, s);
    kd_simulation_options opt = method.options;
    opt.rtol = opt.atol = TOLERANCE;
    kd_status status =
        kd_simulate(s->eom, kd_subject_inputs(s), &opt, s->x, o->at, NULL, o->message, sizeof o->message);
    if (status >= 0) return true;
    fprintf(stderr, "kardan: %s\n", o->message);
    return false;
}

static bool linearize(kd_operating_point *o)
{
    const kd_subject    *s = &o->subject;
    kd_linearize_options opt = kd_linearize_options_default();
    opt.descriptor = o->descriptor;
    kd_status status =
        kd_linearize(s->eom, kd_subject_inputs(s), &opt, s->x, &o->linear, o->message, sizeof o->message);
    if (status >= 0) status = kd_modes_create(o->linear, &o->modes);
    if (status >= 0) return true;
    fprintf(stderr, "kardan: %s\n", o->message[0] ? o->message : kd_status_sentence(status));
    return false;
}

bool kd_operating_point_open(kd_operating_point *o, int *exit_status)
{
    if (!kd_subject_open(&o->subject, &o->request, exit_status)) return false;
    *exit_status = KD_EXIT_FAILED;
    if (!go_to(o) || !linearize(o)) return false;
    *exit_status = KD_EXIT_OK;
    return true;
}

void kd_operating_point_close(kd_operating_point *o)
{
    kd_modes_destroy(o->modes);
    kd_linear_destroy(o->linear);
    kd_subject_close(&o->subject);
    o->modes = NULL;
    o->linear = NULL;
}
