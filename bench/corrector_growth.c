// corrector_growth.c: time per step of bdf on longer and longer chains of pendulums, in Cartesian coordinates, where
// the Newton matrix is sparse, and in joint coordinates, where it is full.
#include "common_figure.h"
#include "common_fit.h"
#include "core/text.h"
#include "corrector.h"
#include <math.h>

enum { MAX_SIZES = 8, STEPS = 300 };
#define TOLERANCE 1e-6

typedef struct series {
    const char    *name;
    kd_coordinates coordinates;
    int            count;
    int            sizes[MAX_SIZES];
    double         n[MAX_SIZES], per_step[MAX_SIZES];
} series;

// Time per step [s]; NaN: failed
static double measure(const bench *b, const series *s, int rods)
{
    static const corrector_method method = {.integrator = KD_BDF, .form = KD_ODASSL, .update = KD_UPDATE_PARTITIONED};
    corrector_problem             problem;
    corrector_outcome             best = {.status = KD_ERR_ARGUMENT};
    char                          settings[40], message[300] = "";
    kd_text(settings, sizeof settings, "N=%d", rods);
    bool open = corrector_open_model(&problem, "chain", settings, s->coordinates, message, sizeof message);
    problem.steps = STEPS;
    for (int r = 0; open && r < (bench_quick(b) ? 1 : 2); r++)
        corrector_again(&problem, &method, TOLERANCE, TOLERANCE, INFINITY, r == 0, &best);
    corrector_close(&problem);
    if (best.status < 0) {
        bench_say(b, "%-10s %6d %s\n", s->name, rods, open ? best.message : message);
        return NAN;
    }
    double seconds = best.seconds / (double)best.stats.steps;
    bench_say(b, "%-10s %6d %8ld %8ld %8ld %12.1f\n", s->name, rods, best.stats.steps, best.stats.residuals,
              best.stats.jacobians + best.stats.updates, 1e6 * seconds);
    return seconds;
}

void corrector_growth(bench *b)
{
    static series both[] = {{"cartesian", KD_CARTESIAN, 5, {64, 128, 256, 512, 1024}, {0}, {0}},
                            {"joint", KD_JOINT, 3, {64, 128, 256}, {0}, {0}}};
    kd_series     curves[2];
    if (!bench_wants(b, "growth.chain") && !bench_wants(b, "growth.chain_joint")) return;
    bench_say(b, "\nchains, %d steps, tolerance %g\n%-10s %6s %8s %8s %8s %12s\n", STEPS, TOLERANCE, "", "rods",
              "steps", "#fcw", "matrices", "us per step");
    for (int k = 0; k < 2; k++) {
        series *s = &both[k];
        for (int i = 0; i < s->count; i++) {
            s->n[i] = s->sizes[i];
            s->per_step[i] = measure(b, s, s->sizes[i]);
        }
        curves[k] = (kd_series){.name = s->name, .x = s->n, .y = s->per_step, .n = s->count, .markers = true};
    }
    bench_row(b, bench_below(1.2), NAN, bench_slope(both[0].count, both[0].n, both[0].per_step), "",
              "time per step ~ N^x, 64 to 1024 rods, Cartesian coordinates", "growth.chain");
    bench_row(b, bench_no_goal(false), NAN, bench_slope(both[1].count, both[1].n, both[1].per_step), "",
              "64 to 256 rods, joint coordinates: the Newton matrix is full", "growth.chain_joint");
    kd_plot plot = {.title = "bdf on chains of pendulums",
                    .xlabel = "rods",
                    .ylabel = "CPU time per step [s]",
                    .xlog = true,
                    .ylog = true,
                    .nseries = 2,
                    .series = curves};
    bench_figure(b, "corrector-growth", &plot, 1, 1);
}
