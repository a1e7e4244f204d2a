// realtime_train.c: car and caravan as modules with a hook between them (S4 4.3, figure 9): each has equations, matrix and stepper of its own.
#include <math.h>

#include "common_run.h"
#include "core/text.h"
#include "realtime.h"

enum { PIECES = 10, PIECE = 100 }; // steps of a piece
static const char *const END_OF[] = {"ball", "eye"}, *const FILES[] = {"tow-car", "caravan"};
static const char JOINT[] = "hitch";

static kd_status add_end(kd_model *m, void *context)
{
    return kd_model_add_end(m, JOINT, context);
}

static bool open_module(realtime_ride *r, int i, const kd_realtime_options *opt, char *message, size_t size)
{
    static const char *const watch[2][15] = {
        {"frame.ball.pos.x", "frame.ball.pos.y", "frame.ball.pos.z", "joint.hitch.force.x", "joint.hitch.force.y",
         "joint.hitch.force.z", "body.chassis.R.xx", "body.chassis.R.xy", "body.chassis.R.xz", "body.chassis.R.yx",
         "body.chassis.R.yy", "body.chassis.R.yz", "body.chassis.R.zx", "body.chassis.R.zy", "body.chassis.R.zz"},
        {"frame.eye.pos.x", "frame.eye.pos.y", "frame.eye.pos.z"}};
    char              path[BENCH_PATH];
    const char *const library = KD_MODELS_DIR;
    kd_model_source   source = kd_model_source_default();
    kd_text(path, sizeof path, "%s/systems/%s.yaml", KD_MODELS_DIR, FILES[i]);
    source.path = path, source.libraries = &library, source.nlibraries = 1;
    source.complete = add_end, source.context = (void *)END_OF[i];
    *r = (realtime_ride){0};
    if (kd_model_read_by(&source, &r->model, message, size) < 0) return false;
    kd_system_options options = kd_system_options_of(r->model);
    options.watch = watch[i], options.nwatch = i == 0 ? 15 : 3;
    if (kd_system_create(r->model, &options, &r->system, message, size) < 0) return false;
    const kd_eom *eom = kd_system_eom(r->system);
    if (kd_state_create(eom, &r->x) < 0) return false;
    if (kd_state_open(eom, JOINT, r->x) != 3) {
        kd_text(message, size, "%s: the end has not three rows", FILES[i]);
        return false;
    }
    if (kd_system_start(r->system, r->x, message, size) < 0) return false;
    return kd_realtime_create(eom, kd_system_inputs(r->system), opt, r->x, &r->stepper, message, size) >= 0;
}

bool realtime_train_open(realtime_train *t, const kd_realtime_options *opt, char *message, size_t size)
{
    kd_realtime_options open = *opt;
    *t = (realtime_train){0};
    open.open = true;
    for (int i = 0; i < 2; i++)
        if (!open_module(&t->module[i], i, &open, message, size)) return false;
    kd_realtime *const  stepper[] = {t->module[0].stepper, t->module[1].stepper};
    const kd_hook_joint joint = {0, 1, JOINT, JOINT};
    return kd_hook_create(stepper, 2, &joint, 1, &t->hook, message, size) >= 0;
}

void realtime_train_close(realtime_train *t)
{
    kd_hook_destroy(t->hook);
    for (int i = 0; i < 2; i++) realtime_ride_close(&t->module[i]);
}

// An output of a module by its path with one or two letters behind it
static double output_of(const realtime_ride *r, const double *y, const char *path, const char *letters)
{
    char name[60];
    kd_text(name, sizeof name, "%s%s", path, letters);
    const int i = kd_realtime_output(r->stepper, name);
    return i >= 0 ? y[i] : NAN;
}

bool realtime_train_step(realtime_train *t, double distance[3], double force[3])
{
    static const char *const axis[] = {"x", "y", "z"};
    double                   y[2][REALTIME_OUTPUTS], *out[2] = {y[0], y[1]};
    for (int i = 0; i < 2; i++)
        if (kd_eom_dims(kd_system_eom(t->module[i].system)).ny > REALTIME_OUTPUTS) return false;
    if (kd_hook_step(t->hook, NULL, out) < 0) return false;
    const realtime_ride *car = &t->module[0], *caravan = &t->module[1];
    for (int k = 0; k < 3; k++) {
        distance[k] =
            output_of(car, y[0], "frame.ball.pos.", axis[k]) - output_of(caravan, y[1], "frame.eye.pos.", axis[k]);
        // in axes of the car
        force[k] = 0;
        for (int i = 0; i < 3; i++) {
            const char letters[] = {axis[i][0], axis[k][0], '\0'};
            force[k] +=
                output_of(car, y[0], "body.chassis.R.", letters) * output_of(car, y[0], "joint.hitch.force.", axis[i]);
        }
    }
    return true;
}

// ---- cost -----------------------------------------------------------------------------------------------------------

typedef struct times {
    double seconds[PIECES];
} times;

static bool time_whole(realtime_ride *r, int pieces, times *t)
{
    bool good = kd_realtime_restore(r->stepper, r->x) >= 0;
    for (int i = 0; i < pieces && good; i++) {
        const double start = bench_cpu_seconds();
        for (int k = 0; k < PIECE && good; k++) good = kd_realtime_step(r->stepper, NULL, NULL) >= 0;
        t->seconds[i] = fmin(t->seconds[i], bench_cpu_seconds() - start);
    }
    return good;
}

static bool time_modules(realtime_train *r, int pieces, times *t)
{
    bool good = true;
    for (int i = 0; i < 2; i++) good = good && kd_realtime_restore(r->module[i].stepper, r->module[i].x) >= 0;
    for (int i = 0; i < pieces && good; i++) {
        const double start = bench_cpu_seconds();
        for (int k = 0; k < PIECE && good; k++) good = kd_hook_step(r->hook, NULL, NULL) >= 0;
        t->seconds[i] = fmin(t->seconds[i], bench_cpu_seconds() - start);
    }
    return good;
}

void realtime_train_cost(bench *b, const kd_realtime_options *opt)
{
    const kd_setting coupling = {"coupling", "1"};
    const int        pieces = bench_quick(b) ? 2 : PIECES, rounds = bench_quick(b) ? 2 : 15;
    realtime_train   train;
    realtime_ride    whole;
    times            t[2];
    char             message[500] = "", note[300];
    double           sum[2] = {0, 0};
    for (int i = 0; i < PIECES; i++) t[0].seconds[i] = t[1].seconds[i] = INFINITY;
    bool good = realtime_train_open(&train, opt, message, sizeof message);
    good = realtime_ride_open(&whole, "car-trailer", &coupling, 1, NULL, opt, message, sizeof message) && good;
    for (int r = 0; r < rounds && good; r++)
        good = time_whole(&whole, pieces, &t[0]) && time_modules(&train, pieces, &t[1]);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < pieces; i++) sum[k] += 1e6 * t[k].seconds[i] / (pieces * PIECE);
    if (good) {
        const kd_realtime_work a = kd_realtime_work_of(train.module[0].stepper),
                               c = kd_realtime_work_of(train.module[1].stepper);
        kd_text(
            note, sizeof note,
            "%.1f us for the modules, %.1f us for the assembled step; forces of car and caravan %d and %d times a step",
            sum[1], sum[0], a.calls[KD_FORCE] + a.calls[KD_RESIDUAL], c.calls[KD_FORCE] + c.calls[KD_RESIDUAL]);
    }
    bench_row(b, bench_below(1.3), NAN, good ? sum[1] / sum[0] : NAN, "", good ? note : message, "hitch.modules.cost");
    realtime_ride_close(&whole);
    realtime_train_close(&train);
}
