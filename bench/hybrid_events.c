// hybrid_events.c: cost of an event: a ball that bounces without loss beside one that falls for as long.
#include "core/text.h"
#include "hybrid.h"
#include <math.h>

static const double GRAVITY = 9.81, TOLERANCE = 1e-9;
enum { ROUNDS = 7 };

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 1;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = -GRAVITY;
    return KD_EVAL_OK;
}

static kd_eval height(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->p[0];
    return KD_EVAL_OK;
}

static kd_eval bounce(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump)
{
    (void)x, (void)context;
    if (crossed[0] < 0) {
        jump->v[0] = -jump->v[0];
        jump->moved = true;
    }
    return KD_EVAL_OK;
}

typedef struct ball {
    double    seconds;
    long      events, steps, jacobians;
    double    height; // at the end
    kd_status status;
    char      message[200];
} ball;

static ball drop(kd_integrator_kind integrator, kd_formulation formulation, double t_end)
{
    ball                  out = {.seconds = NAN, .status = KD_ERR_MEMORY};
    kd_eom_def            def = kd_eom_def_default();
    kd_simulation_options o = kd_simulation_options_default();
    kd_eom               *eom = NULL;
    kd_state             *x = NULL;
    kd_simulation        *s = NULL;
    def.dims = (kd_dims){.np = 1, .nv = 1, .nswitch = 1};
    def.M = mass;
    def.f = force;
    def.switching = height;
    def.event = bounce;
    def.autonomous = true;
    o.integrator = integrator;
    o.formulation = formulation;
    o.rtol = o.atol = TOLERANCE;
    if (kd_eom_create(&def, &eom, out.message, sizeof out.message) < 0 || kd_state_create(eom, &x) < 0) goto done;
    x->p[0] = 1;
    out.status = kd_simulation_create(eom, NULL, &o, x, &s, out.message, sizeof out.message);
    if (out.status < 0) goto done;
    double start = bench_cpu_seconds();
    out.status = kd_simulation_run(s, t_end);
    out.seconds = bench_cpu_seconds() - start;
    out.events = kd_simulation_events(s, KD_EVENT_SWITCH);
    out.steps = kd_simulation_stats(s).accepted;
    out.jacobians = kd_simulation_stats(s).jacobians;
    out.height = x->p[0];
    if (out.status < 0) kd_text(out.message, sizeof out.message, "%s", kd_simulation_message(s));
done:
    kd_simulation_destroy(s);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return out;
}

// Height of a ball that bounces without loss from 1 m
static double exact_height(double t)
{
    const double fall = sqrt(2 / GRAVITY), phase = fmod(t + fall, 2 * fall) - fall;
    return 1 - 0.5 * GRAVITY * phase * phase;
}

void hybrid_events(bench *b)
{
    const struct {
        const char        *name;
        kd_integrator_kind integrator;
        kd_formulation     formulation;
    } methods[] = {{"radau", KD_RADAU, KD_PSF}, {"bdf", KD_BDF, KD_GGL}, {"dopri5", KD_DOPRI5, KD_ODE}};
    const double t_end = bench_quick(b) ? 50 : 200;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (!bench_wants(b, "event.*")) continue;
        ball best = {.seconds = INFINITY}, half = {.seconds = INFINITY};
        for (int k = 0; k < ROUNDS; k++) {
            ball now = drop(methods[i].integrator, methods[i].formulation, t_end);
            ball shorter = drop(methods[i].integrator, methods[i].formulation, t_end / 2);
            if (now.seconds < best.seconds || now.status < 0) best = now;
            if (shorter.seconds < half.seconds) half = shorter;
        }
        char note[300];
        kd_text(note, sizeof note, "%ld events, %.1f steps and %.2f Jacobians each", best.events,
                (double)best.steps / (double)best.events, (double)best.jacobians / (double)best.events);
        const bool failed = best.status < 0;
        bench_row(b, bench_no_goal(false), NAN, failed ? NAN : 1e6 * best.seconds / (double)best.events, "us",
                  failed ? best.message : note, "event.time.%s", methods[i].name);
        bench_row(b, bench_below(1.2), NAN,
                  failed ? NAN : best.seconds / (double)best.events / (half.seconds / (double)half.events), "",
                  "time per event, twice as many over half of them", "event.growth.%s", methods[i].name);
        bench_row(b, bench_below(1e-6), NAN, failed ? NAN : fabs(best.height - exact_height(t_end)), "m", "",
                  "event.error.%s", methods[i].name);
    }
}
