// realtime_track.c: drift on the circular track with PI controller (S4 4.1, figure 3): unstabilised index 1 and index
// 2, index 1 with projection, in steps of 1 ms up to 1000 s.
#include <math.h>

#include "common_figure.h"
#include "common_fit.h"
#include "common_run.h"
#include "core/text.h"
#include "realtime.h"

#define STEP 1e-3
#define SETTLED 5.0 // time from which slopes are taken: the speed is reached [s]
#define SMALL 0.1   // |g| up to which slopes are taken: beyond, the mass is on another circle
#define COMPARED 10 // time at which drifts are compared [s]
enum { SAMPLES = 61, CASES = 4 };

typedef struct track_case {
    const char               *word, *title;
    int                       index;
    kd_realtime_stabilisation stabilisation;
    kd_realtime_projector     projector;
    bool                      ahead;
} track_case;

static const track_case cases[CASES] = {
    {"index1", "index 1", 1, KD_REALTIME_NONE, KD_REALTIME_PROJECTOR_STEP, false},
    {"index2", "index 2", 2, KD_REALTIME_NONE, KD_REALTIME_PROJECTOR_STEP, false},
    {"projection", "index 1, projection", 1, KD_REALTIME_PROJECTION, KD_REALTIME_PROJECTOR_START, false},
    {"ggl", "ggl (default)", 2, KD_REALTIME_GGL, KD_REALTIME_PROJECTOR_STEP, true},
};

typedef struct track_drift {
    double t[SAMPLES], g[SAMPLES]; // at steps in geometric sequence; NaN: given up
    double half[2];                // largest |g| of either half of the time
} track_drift;

static void run(const bench_problem *problem, const track_case *c, long steps, track_drift *d)
{
    kd_realtime_options opt = kd_realtime_options_default();
    kd_realtime        *rt = NULL;
    char                message[200];
    opt.h = STEP;
    opt.index = c->index;
    opt.stabilisation = c->stabilisation;
    opt.projector = c->projector;
    opt.ahead = c->ahead;
    d->half[0] = d->half[1] = 0;
    bool good = kd_realtime_create(problem->eom, NULL, &opt, problem->x, &rt, message, sizeof message) >= 0;
    long next = 0;
    for (int i = 0; i < SAMPLES; i++) {
        const long until = lrint((double)steps * pow(1e-3, 1 - (double)i / (SAMPLES - 1)));
        double     g = NAN;
        for (; next < until && good; next++) {
            good = kd_realtime_step(rt, NULL, NULL) >= 0;
            const double *p = kd_realtime_state(rt)->p;
            g = good ? fabs(p[0] * p[0] + p[1] * p[1] - 1) : NAN;
            double *most = &d->half[2 * next >= steps];
            *most = good ? fmax(*most, g) : NAN;
        }
        d->t[i] = STEP * (double)until;
        d->g[i] = fmax(1e-17, g); // 0 cannot be shown in a logarithm
        if (!good) d->g[i] = NAN;
    }
    kd_realtime_destroy(rt);
}

static double slope_of(const track_drift *d)
{
    double g[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) g[i] = d->t[i] > SETTLED && d->g[i] < SMALL ? d->g[i] : NAN;
    return bench_slope(SAMPLES, d->t, g);
}

static void rows_of(bench *b, const track_drift *d, long steps)
{
    int  middle = 0;
    char note[200];
    while (d[0].t[middle] < COMPARED) middle++;
    bench_row(b, bench_no_goal(false), NAN, slope_of(&d[0]), "",
              "of log |g| over log t while |g| < 0.1: where the speed is held, gI hardly drifts", "track.slope.index1");
    bench_row(b, bench_between(0.9, 1.1, false), 1, slope_of(&d[1]), "", "of log |g| over log t while |g| < 0.1",
              "track.slope.index2");
    kd_text(note, sizeof note, "drift of index 1 over that of index 2 at t = %.3g s", d[0].t[middle]);
    bench_row(b, bench_above(1.5), NAN, d[0].g[middle] / d[1].g[middle], "", note, "track.ratio");
    for (int k = 2; k < CASES; k++) {
        kd_text(note, sizeof note, "largest |g| of %ld steps of 1 ms", steps);
        bench_row(b, bench_below(1e-8), NAN, fmax(d[k].half[0], d[k].half[1]), "", note, "track.largest.%s",
                  cases[k].word);
        bench_row(b, bench_below(1.01), NAN, d[k].half[1] / d[k].half[0], "",
                  "largest |g|, second half of the time over first", "track.growth.%s", cases[k].word);
    }
}

void realtime_track(bench *b)
{
    const long    steps = bench_quick(b) ? 100000 : 1000000;
    track_drift   drift[CASES];
    kd_series     series[CASES];
    bench_problem problem;
    char          message[200] = "";
    if (!bench_wants(b, "track.")) return;
    if (bench_problem_open(&problem, "circulartrack", message, sizeof message)) {
        for (int k = 0; k < CASES; k++) {
            run(&problem, &cases[k], steps, &drift[k]);
            series[k] = (kd_series){.name = cases[k].title, .x = drift[k].t, .y = drift[k].g, .n = SAMPLES};
        }
        rows_of(b, drift, steps);
        const kd_plot plot = {.title = "Drift on the circular track, h = 1 ms",
                              .xlabel = "t [s]",
                              .ylabel = "|g|",
                              .xlog = true,
                              .ylog = true,
                              .nseries = CASES,
                              .series = series};
        bench_figure(b, "realtime-track", &plot, 1, 1);
    } else {
        bench_row(b, bench_no_goal(false), NAN, NAN, "", message, "track.slope.index1");
    }
    bench_problem_close(&problem);
}
