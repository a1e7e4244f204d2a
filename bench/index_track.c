// index_track.c: drift of |g| on the circular track, uniform rotation, t from 10 to 1000 s (S1 Eq. 35 and below).
//
// Radau with constant steps and a fixed bound of Newton's error: every step adds the same, so that the slopes are
// clean.
#include "common_figure.h"
#include "common_fit.h"
#include "core/memory.h"
#include "index.h"
#include <math.h>

enum { SAMPLES = 61 };
#define STEP 0.125

typedef struct track_case {
    const char    *name;
    kd_formulation form;
    kd_projection  projection;
    double         slope_low, slope_high; // goal; 0, 0: no drift wanted, |g| stays below most
    double         most;
} track_case;

static const track_case cases[] = {
    {"index2", KD_INDEX2, KD_PROJECT_NEVER, 0.95, 1.05, 0},
    {"index1", KD_INDEX1, KD_PROJECT_NEVER, 1.85, 2.15, 0},
    {"ggl", KD_GGL, KD_PROJECT_NEVER, 0, 0, 1e-8},
    {"psf", KD_PSF, KD_PROJECT_NEVER, 0, 0, 1e-12},
    {"index2+projection", KD_INDEX2, KD_PROJECT_ALWAYS, 0, 0, 1e-12},
    {"index1+projection", KD_INDEX1, KD_PROJECT_ALWAYS, 0, 0, 1e-12},
};
enum { CASES = sizeof cases / sizeof *cases };

static void watch_violation(const kd_state *x, int sample, void *context)
{
    double *g = context;
    g[sample] = fmax(1e-17, fabs(x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1)); // 0 cannot be shown in a logarithm
}

static void rows_of(bench *b, const track_case *c, const double *t, const double *g)
{
    double most = 0;
    for (int i = 0; i < SAMPLES; i++) most = fmax(most, g[i]);
    if (c->most > 0) {
        bench_row(b, bench_below(c->most), NAN, most, "", "largest |g| up to t = 1000 s", "drift.largest.%s", c->name);
        return;
    }
    bench_row(b, bench_between(c->slope_low, c->slope_high, false), c->form == KD_INDEX2 ? 1 : 2,
              bench_slope(SAMPLES, t, g), "", "of log |g| over log t, t from 10 to 1000 s", "drift.slope.%s", c->name);
    bench_row(b, bench_no_goal(false), NAN, most, "", "largest |g| up to t = 1000 s", "drift.largest.%s", c->name);
}

void index_track(bench *b)
{
    bench_problem problem;
    double        t[SAMPLES], g[CASES][SAMPLES];
    kd_series     series[CASES];
    char          message[200] = "";
    kd_state     *x = NULL;
    if (!bench_wants(b, "drift.slope.*") && !bench_wants(b, "drift.largest.*")) return;
    const bool open = bench_problem_open(&problem, "circulartrack", message, sizeof message);
    if (open && kd_state_create(problem.eom, &x) == KD_OK) {
        problem.x->v[0] = 0, problem.x->v[1] = 1; // at the wanted speed: nothing but drift happens
        for (int i = 0; i < SAMPLES; i++) t[i] = floor(10 * pow(100, (double)i / (SAMPLES - 1)) / STEP) * STEP;
        for (int k = 0; k < CASES; k++) {
            const index_method method = {.form = cases[k].form,
                                         .projection = cases[k].projection,
                                         .rtol = 1e-6,
                                         .atol = 1e-6,
                                         .kappa = 1e-4,
                                         .step = STEP};
            for (int i = 0; i < SAMPLES; i++) g[k][i] = NAN;
            if (index_run(&problem, &method, t, SAMPLES, watch_violation, g[k], x, message, sizeof message) >= 0)
                rows_of(b, &cases[k], t, g[k]);
            else
                bench_row(b, bench_no_goal(false), NAN, NAN, "", message, "drift.slope.%s", cases[k].name);
            series[k] = (kd_series){.name = cases[k].name, .x = t, .y = g[k], .n = SAMPLES};
        }
        const kd_plot plot = {.title = "Drift on the circular track",
                              .xlabel = "t [s]",
                              .ylabel = "|g|",
                              .xlog = true,
                              .ylog = true,
                              .nseries = CASES,
                              .series = series,
                              .note = "radau, constant steps of 1/8 s, kappa = 1e-4"};
        bench_figure(b, "index-drift", &plot, 1, 1);
    } else {
        bench_row(b, bench_no_goal(false), NAN, NAN, "", message, "drift.slope");
    }
    kd_state_destroy(x);
    bench_problem_close(&problem);
}
