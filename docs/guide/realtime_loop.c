// realtime_loop.c: a crane whose load must not swing, in steps of fixed work inside the program's own loop.
//
//   p = (x, bx, by): trolley on the x axis, load at (bx, by)     0 = g = ((bx - x)^2 + by^2 - L^2) / 2
//   input: drive [N] on the trolley                              outputs: place of the trolley, angle of the rope
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double TROLLEY = 200, LOAD = 500, ROPE = 4, GRAVITY = 9.81; // SI units

static kd_eval mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = TROLLEY, M[4] = M[8] = LOAD;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = x->u[0], f[1] = 0, f[2] = -LOAD * GRAVITY;
    return KD_EVAL_OK;
}

static kd_eval rope(const kd_point *x, void *context, double *g)
{
    (void)context;
    double dx = x->p[1] - x->p[0], dy = x->p[2];
    g[0] = 0.5 * (dx * dx + dy * dy - ROPE * ROPE);
    return KD_EVAL_OK;
}

static kd_eval outputs(const kd_point *x, void *context, double *y)
{
    (void)context;
    y[0] = x->p[0], y[1] = atan2(x->p[1] - x->p[0], -x->p[2]);
    return KD_EVAL_OK;
}

static const char *name(kd_kind kind, int i, void *context)
{
    (void)context;
    if (kind == KD_NAME_U) return "drive";
    if (kind == KD_NAME_Y) return i == 0 ? "place" : "angle";
    return NULL;
}

// The controller: to the wanted place, against the swing; rates by differences from step to step
static double control(double h, double wanted, const double *y, double *before)
{
    double speed = (y[0] - before[0]) / h, swing = (y[1] - before[1]) / h;
    memcpy(before, y, 2 * sizeof *y);
    return 400 * (wanted - y[0]) - 900 * speed + 6000 * y[1] + 1500 * swing;
}

static kd_status drive(kd_realtime *rt, kd_state *safe, double h)
{
    const int place = kd_realtime_output(rt, "place"), angle = kd_realtime_output(rt, "angle");
    double    u[1] = {0}, y[2] = {0}, before[2] = {0};
    long      late = 0;
    for (int n = 1; n <= 20000; n++) {
        kd_status status = kd_realtime_step(rt, u, y);
        if (status == KD_LATE) late++; // done, but not in time: count it, or warn the driver
        if (status < 0) {              // not done: go on from the last state that was put aside
            fprintf(stderr, "%s\n", kd_realtime_message(rt));
            return kd_realtime_restore(rt, safe);
        }
        if (n % 1000 == 0) kd_state_copy(kd_realtime_state(rt), safe);
        u[kd_realtime_input(rt, "drive")] = control(h, n > 1000 ? 5 : 0, y, before);
        if (n % 4000 == 0) printf("%5.1f  %8.4f  %8.4f\n", kd_realtime_state(rt)->t, y[place], y[angle]);
    }
    kd_realtime_defect defect;
    kd_status          status = kd_realtime_defects(rt, &defect);
    printf("rope: position error %.1e, velocity error %.1e\n", defect.position, defect.velocity);
    fprintf(stderr, "%ld steps were late\n", late);
    return status;
}

int main(void)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "crane";
    def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = 1, .nu = 1, .ny = 2};
    def.M = mass, def.f = force, def.g = rope, def.y = outputs, def.name = name;

    kd_eom             *eom = NULL;
    kd_state           *x = NULL, *safe = NULL;
    kd_realtime        *rt = NULL;
    kd_realtime_options options = kd_realtime_options_default();
    char                message[400] = "";
    options.h = 1e-3, options.deadline = 1e-3;
    kd_status status = kd_eom_create(&def, &eom, message, sizeof message);
    if (status >= 0) status = kd_state_create(eom, &x);
    if (status >= 0) status = kd_state_create(eom, &safe);
    if (status >= 0) {
        x->p[2] = -ROPE; // the load hangs at rest
        kd_state_copy(x, safe);
        status = kd_realtime_create(eom, NULL, &options, x, &rt, message, sizeof message); // all memory is taken here
    }
    if (status >= 0) status = drive(rt, safe, options.h);
    if (status < 0) fprintf(stderr, "%s: %s\n", kd_status_sentence(status), message);
    kd_realtime_destroy(rt);
    kd_state_destroy(safe);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return status < 0;
}
