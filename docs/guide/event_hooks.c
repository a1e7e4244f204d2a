// event_hooks.c: a tank that a pump fills below one level and leaves alone above another: a switching function with an
// event, and a listener that prints what happens.
//
//   p: level of the water [m], M = 1, v' = (q(z) - v) / T: the flow follows the pump with a lag
//   z[0]: 1 the pump runs, 0 it does not        z[1]: level at which that changes next
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>

static const double LAG = 0.2, INFLOW = 0.1, OUTFLOW = 0.05, LOW = 1.0, HIGH = 1.2; // SI units

static kd_eval mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = (x->z[0] * INFLOW - OUTFLOW - x->v[0]) / LAG;
    return KD_EVAL_OK;
}

static kd_eval level(const kd_point *x, void *context, double *s) // changes its sign: an event
{
    (void)context;
    s[0] = x->p[0] - x->z[1];
    return KD_EVAL_OK;
}

static kd_eval switch_pump(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump)
{
    (void)x, (void)context;
    const bool full = crossed[0] > 0;
    jump->z[0] = full ? 0 : 1;
    jump->z[1] = full ? LOW : HIGH; // a band: the event that follows is far away
    snprintf(jump->text, sizeof jump->text, "pump %s", full ? "off" : "on");
    return KD_EVAL_OK;
}

static kd_eval print_event(const kd_event *event, const kd_state *before, const kd_state *after, void *context)
{
    (void)before, (void)context;
    printf("%9.5f  %7.4f  %s\n", event->t, after->p[0], event->text);
    return KD_EVAL_OK;
}

int main(void)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "tank";
    def.dims = (kd_dims){.np = 1, .nv = 1, .nz = 2, .nswitch = 1};
    def.M = mass, def.f = force;
    def.switching = level, def.event = switch_pump;

    kd_eom               *eom = NULL;
    kd_state             *x = NULL;
    kd_simulation_options options = kd_simulation_options_default();
    char                  message[400] = "";
    options.rtol = options.atol = 1e-9;
    options.events.listener = print_event;
    kd_status status = kd_eom_create(&def, &eom, message, sizeof message);
    if (status >= 0) status = kd_state_create(eom, &x);
    if (status >= 0) {
        x->p[0] = 1.1, x->z[0] = 1, x->z[1] = HIGH; // half full, the pump begins
        printf("        t    level\n");
        status = kd_simulate(eom, NULL, &options, x, 20.0, NULL, message, sizeof message);
    }
    if (status < 0) fprintf(stderr, "%s: %s\n", kd_status_sentence(status), message);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return status < 0;
}
