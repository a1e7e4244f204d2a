// coupling_truck.c: the truck of five bodies in two parts against the whole; two equal cars in two threads.
#include <kardan/model.h>
#include <kardan/results.h>
#include <kardan/system.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "coupling.h"

static const char *const WHOLE[9] = {"p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"};
static const char *const SPLIT[9] = {"chassis.p1", "chassis.p2", "chassis.p3", "chassis.p4", "cabin.p5",
                                     "cabin.p6",   "chassis.p7", "chassis.p8", "chassis.p9"};

// The coordinates of the whole truck at t
static bool run_whole(double t_end, double p[9], double range[9])
{
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    kd_recorder          *recorder = NULL;
    kd_state             *x = NULL;
    kd_simulation_options opt;
    char                  message[1000] = "";
    kd_status status = kd_model_read(KD_SOURCE_DIR "/models/truck5.yaml", NULL, 0, &model, message, sizeof message);
    if (status >= 0) status = kd_system_create(model, NULL, &system, message, sizeof message);
    if (status >= 0) status = kd_system_run_options(system, &opt, message, sizeof message);
    if (status >= 0) status = kd_recorder_create(system, NULL, &recorder, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, sizeof message);
    if (status >= 0) status = kd_recorder_simulate(recorder, &opt, x, t_end);
    for (int i = 0; i < 9 && status >= 0; i++) {
        const int column = kd_recorder_find(recorder, WHOLE[i]), rows = kd_recorder_rows(recorder);
        double    low = INFINITY, high = -INFINITY;
        for (int k = 0; k < rows; k++) {
            low = fmin(low, kd_recorder_value(recorder, k, column));
            high = fmax(high, kd_recorder_value(recorder, k, column));
        }
        p[i] = kd_recorder_value(recorder, rows - 1, column), range[i] = high - low;
    }
    if (status < 0) fprintf(stderr, "%s\n", message);
    kd_recorder_destroy(recorder);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status >= 0;
}

void coupling_truck(bench *b)
{
    const double         t_end = bench_quick(b) ? 2 : 5;
    double               p[9], range[9], worst = 0;
    kd_cosim            *c = NULL;
    kd_cosim_certificate z;
    char                 message[1000] = "", note[300];
    if (!bench_wants(b, "truck.split")) return;
    bool good = run_whole(t_end, p, range) &&
                kd_cosim_read(KD_SOURCE_DIR "/models/systems/truck-split.yaml", &c, message, sizeof message) >= 0;
    kd_cosim_options opt = kd_cosim_options_of(c);
    opt.t_end = t_end;
    good = good && kd_cosim_set_options(c, &opt, message, sizeof message) >= 0 &&
           kd_cosim_run(c, message, sizeof message) >= 0;
    // beside how far each coordinate moves
    for (int i = 0; i < 9 && good; i++) {
        const double e = fabs(kd_cosim_read_value(c, SPLIT[i]) - p[i]) / range[i];
        bench_say(b, "%s: whole %.9g, split %.9g, error %.2e of its range\n", WHOLE[i], p[i],
                  kd_cosim_read_value(c, SPLIT[i]), e);
        worst = fmax(worst, e);
    }
    if (good) kd_cosim_certify(c, &z);
    snprintf(note, sizeof note,
             "largest error at %g s beside the range of a coordinate, in tolerances of %.0e; %ld steps, %s", t_end,
             opt.rtol, good ? z.steps : 0, good ? z.clean ? "clean" : "not clean" : message);
    bench_row(b, bench_below(10), NAN, good ? worst / opt.rtol : NAN, "", note, "truck.split");
    kd_cosim_destroy(c);
}

// ---- threads --------------------------------------------------------------------------------------------------------

static double now(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Wall time of two cars that one driver steers: both do the same work in every macro step
static double time_cars(int threads, double t_end, double *last, double *cpu)
{
    static const char TEXT[] = "systems:\n  driver: {outputs: {steer: \"-0.00357*pulse(t, 1, 3)*(sin(2*pi*(t - 1)/3) - "
                               "sin(4*pi*(t - 1)/3)/2)\"}}\n"
                               "  first: {model: ../passenger-car.yaml}\n  second: {model: ../passenger-car.yaml}\n"
                               "connections: {first.steer: driver.steer, second.steer: driver.steer}\n";
    kd_cosim         *c;
    char              message[1000];
    kd_cosim_options  opt = kd_cosim_options_default();
    double            seconds = NAN;
    opt.degree = 2, opt.step = 0.01, opt.t_end = t_end, opt.threads = threads, opt.intervals = 1;
    if (kd_cosim_read_text(KD_SOURCE_DIR "/models/systems/bench.yaml", TEXT, strlen(TEXT), &c, message,
                           sizeof message) >= 0 &&
        kd_cosim_set_options(c, &opt, message, sizeof message) >= 0 &&
        kd_cosim_start(c, message, sizeof message) >= 0) {
        const double begin = now(CLOCK_MONOTONIC), spent = now(CLOCK_THREAD_CPUTIME_ID);
        if (kd_cosim_advance(c, t_end, message, sizeof message) >= 0) seconds = now(CLOCK_MONOTONIC) - begin;
        *cpu = fmin(*cpu, now(CLOCK_THREAD_CPUTIME_ID) - spent);
        *last = kd_cosim_value(c, 0);
    }
    if (isnan(seconds)) fprintf(stderr, "%s\n", message);
    kd_cosim_destroy(c);
    return seconds;
}

void coupling_threads(bench *b)
{
    const double t_end = bench_quick(b) ? 1 : 5;
    double       best[2] = {INFINITY, INFINITY}, last[2] = {NAN, NAN}, cpu[2] = {INFINITY, INFINITY};
    char         note[200];
    if (!bench_wants(b, "threads.speedup")) return;
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 2; k++) best[k] = fmin(best[k], time_cars(k + 1, t_end, &last[k], &cpu[k]));
    snprintf(note, sizeof note, "two passenger cars, best of 5: %.3f s in one thread, %.3f s in two; %s", best[0],
             best[1], last[0] == last[1] ? "same bits" : "OTHER BITS");
    bench_row(b, bench_above(1.7), NAN, last[0] == last[1] ? best[0] / best[1] : NAN, "", note, "threads.speedup");
    snprintf(note, sizeof note,
             "the same in processor time of the calling thread: %.3f s, %.3f s; what a free machine would show", cpu[0],
             cpu[1]);
    bench_row(b, bench_above(1.7), NAN, cpu[0] / cpu[1], "", note, "threads.processor_time");
}
