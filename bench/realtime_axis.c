// realtime_axis.c: the car axis (S4 4.2): drift over time at h = 10 ms (figure 5), largest drift over h (figure 6),
// explicit and linear-implicit methods (figure 7), global error over h (figure 8). Forces at the start of the step as
// in S4 Eq. 6, kardan's default beside it.
#include <math.h>
#include <stdio.h>

#include "common_figure.h"
#include "common_fit.h"
#include "common_run.h"
#include "core/text.h"
#include "realtime.h"

#define LONG_STEP 1e-2
#define FIRST_STEP 2e-3 // then halves
#define BETWEEN 0.1     // times of the reference [s]
enum { STEPS = 5, WAYS = 11, JACOBIANS = 4, CURVE = 3000, NP = 4, ERROR_WAYS = 6, TIMES = 31 };

typedef struct way {
    const char               *word, *title;
    int                       index;
    kd_realtime_stabilisation stabilisation;
    kd_realtime_projector     projector;
    bool                      ahead;
    double                    low, high; // goal of the slope of the drift; high 0: none
    double                    paper;
} way;

// clang-format off
static const way ways[WAYS] = {
    {"none_index1",           "none, index 1",           1, KD_REALTIME_NONE,           KD_REALTIME_PROJECTOR_STEP,      false, 0,   0, 1},
    {"none",                  "none, index 2",           2, KD_REALTIME_NONE,           KD_REALTIME_PROJECTOR_STEP,      false, 0.8, 1.2, 1},
    {"baumgarte_index1",      "Baumgarte, index 1",      1, KD_REALTIME_BAUMGARTE,      KD_REALTIME_PROJECTOR_STEP,      false, 1.8, 2.2, 2},
    {"baumgarte",             "Baumgarte, index 2",      2, KD_REALTIME_BAUMGARTE,      KD_REALTIME_PROJECTOR_STEP,      false, 1.8, 2.2, 2},
    {"projection_index1",     "projection, index 1",     1, KD_REALTIME_PROJECTION,     KD_REALTIME_PROJECTOR_START,     false, 2.8, 3.2, 3},
    {"projection",            "projection, index 2",     2, KD_REALTIME_PROJECTION,     KD_REALTIME_PROJECTOR_START,     false, 2.8, 3.2, 3},
    {"projection_predicted",  "projection, predicted",   2, KD_REALTIME_PROJECTION,     KD_REALTIME_PROJECTOR_PREDICTED, false, 3.8, INFINITY, NAN},
    {"ggl_paper",             "GGL (Eq. 9, 11)",         2, KD_REALTIME_GGL,            KD_REALTIME_PROJECTOR_START,     false, 2.8, 3.2, 3},
    {"ggl",                   "ggl (default)",           2, KD_REALTIME_GGL,            KD_REALTIME_PROJECTOR_STEP,      true,  2.8, 3.2, NAN},
    {"ggl_predicted",         "ggl, predicted",          2, KD_REALTIME_GGL,            KD_REALTIME_PROJECTOR_PREDICTED, true,  3.8, INFINITY, NAN},
    {"regularisation",        "regularisation",          2, KD_REALTIME_REGULARISATION, KD_REALTIME_PROJECTOR_STEP,      true,  0,   0, NAN},
};
static const int error_ways[ERROR_WAYS] = {0, 1, 2, 3, 4, 8}; // those of figure 8
// clang-format on

typedef struct axis_run {
    double drift; // largest |g|; NaN: not finished
    double error; // largest |p - reference| at all times of the reference
} axis_run;

typedef struct axis {
    bench_problem problem;
    double        reference[TIMES][NP]; // positions every 0.1 s
} axis;

typedef struct axis_curve {
    double t[CURVE], g[CURVE], y[CURVE]; // |g|, height of the right end
    int    n;
} axis_curve;

static kd_realtime_options options_of(const way *w, double h)
{
    kd_realtime_options opt = kd_realtime_options_default();
    opt.h = h;
    opt.index = w->index;
    opt.stabilisation = w->stabilisation;
    opt.projector = w->projector;
    opt.ahead = w->ahead;
    if (w->stabilisation == KD_REALTIME_BAUMGARTE || w->stabilisation == KD_REALTIME_REGULARISATION)
        opt.alpha = 1 / h, opt.beta = 1 / (h * h); // S4 3.2
    return opt;
}

static void keep(axis_curve *c, const kd_state *x, double g)
{
    if (!c || c->n >= CURVE) return;
    c->t[c->n] = x->t;
    c->g[c->n] = fmax(1e-17, g); // 0 cannot be shown in a logarithm
    c->y[c->n] = x->p[3];
    c->n++;
}

static bool read_reference(axis *a, char *message, size_t size)
{
    const char *path = KD_MODELS_DIR "/reference/caraxis.csv";
    FILE       *file = fopen(path, "r");
    char        line[500];
    bool        good = file && fgets(line, sizeof line, file) != NULL; // names of the columns
    for (int i = 0; i < TIMES && good; i++) {
        double *p = a->reference[i], t;
        good = fgets(line, sizeof line, file) && sscanf(line, "%lf,%lf,%lf,%lf,%lf", &t, p, p + 1, p + 2, p + 3) == 5 &&
               fabs(t - BETWEEN * i) < 1e-9;
    }
    if (file) fclose(file);
    if (!good) kd_text(message, size, "%s: not the reference of 31 times", path);
    return good;
}

// 0 between times of the reference
static double error_at(const axis *a, const kd_state *x)
{
    const long i = lrint(x->t / BETWEEN);
    double     error = 0;
    if (i < 0 || i >= TIMES || fabs(x->t - BETWEEN * (double)i) > 1e-7) return 0;
    for (int k = 0; k < NP; k++) error = fmax(error, fabs(x->p[k] - a->reference[i][k]));
    return error;
}

static axis_run run(const axis *a, const kd_realtime_options *opt, axis_curve *curve)
{
    const bench_problem *problem = &a->problem;
    kd_realtime         *rt = NULL;
    char                 message[200];
    axis_run             result = {0, 0};
    bool good = kd_realtime_create(problem->eom, NULL, opt, problem->x, &rt, message, sizeof message) >= 0;
    if (curve) curve->n = 0;
    for (long i = 0; i < lrint(problem->t_end / opt->h) && good; i++) {
        kd_realtime_defect defect = {.position = NAN, .velocity = NAN};
        good = kd_realtime_step(rt, NULL, NULL) >= 0 && kd_realtime_defects(rt, &defect) >= 0;
        result.drift = fmax(result.drift, defect.position);
        result.error = fmax(result.error, error_at(a, kd_realtime_state(rt)));
        if (good) keep(curve, kd_realtime_state(rt), defect.position);
    }
    kd_realtime_destroy(rt);
    return good ? result : (axis_run){NAN, NAN};
}

// ---- figure 5 -------------------------------------------------------------------------------------------------------

static void draw_drift(bench *b, const axis *a)
{
    static axis_curve curves[WAYS];
    kd_series         series[WAYS];
    for (int i = 0; i < WAYS; i++) {
        const kd_realtime_options opt = options_of(&ways[i], LONG_STEP);
        const axis_run            r = run(a, &opt, &curves[i]);
        series[i] = (kd_series){.name = ways[i].title, .x = curves[i].t, .y = curves[i].g, .n = curves[i].n};
        bench_row(b, bench_no_goal(false), NAN, r.drift, "", "largest |g|, h = 10 ms", "drift.10ms.%s", ways[i].word);
    }
    const kd_plot plot = {.title = "Car axis: drift, h = 10 ms",
                          .xlabel = "t [s]",
                          .ylabel = "|g|",
                          .ylog = true,
                          .width = 800,
                          .height = 460,
                          .nseries = WAYS,
                          .series = series};
    bench_figure(b, "realtime-axis-drift", &plot, 1, 1);
}

// ---- figures 6 and 8 ------------------------------------------------------------------------------------------------

typedef struct axis_table {
    double h[STEPS], drift[WAYS][STEPS], error[WAYS][STEPS];
    int    n;
} axis_table;

static void draw_tables(bench *b, const axis_table *t)
{
    kd_series drift[WAYS], error[ERROR_WAYS];
    for (int i = 0; i < WAYS; i++)
        drift[i] = (kd_series){.name = ways[i].title, .x = t->h, .y = t->drift[i], .n = t->n, .markers = true};
    for (int k = 0; k < ERROR_WAYS; k++) {
        const int i = error_ways[k];
        error[k] = (kd_series){.name = ways[i].title, .x = t->h, .y = t->error[i], .n = t->n, .markers = true};
    }
    const kd_plot plots[2] = {{.title = "Car axis: largest drift",
                               .xlabel = "h [s]",
                               .ylabel = "|g|",
                               .xlog = true,
                               .ylog = true,
                               .height = 460,
                               .nseries = WAYS,
                               .series = drift},
                              {.title = "Car axis: global error",
                               .xlabel = "h [s]",
                               .ylabel = "|p - reference|, all t",
                               .xlog = true,
                               .ylog = true,
                               .height = 460,
                               .nseries = ERROR_WAYS,
                               .series = error}};
    bench_figure(b, "realtime-axis-largest", &plots[0], 1, 1);
    bench_figure(b, "realtime-axis-error", &plots[1], 1, 1);
}

static void rows_of_tables(bench *b, const axis_table *t)
{
    for (int i = 0; i < WAYS; i++) {
        char note[200];
        kd_text(note, sizeof note, "largest |g| from %.2e at 2 ms to %.2e at %.4g ms", t->drift[i][0],
                t->drift[i][t->n - 1], 1e3 * t->h[t->n - 1]);
        bench_row(b, ways[i].high > 0 ? bench_between(ways[i].low, ways[i].high, true) : bench_no_goal(true),
                  ways[i].paper, bench_slope(t->n, t->h, t->drift[i]), "", note, "slope.%s", ways[i].word);
    }
    for (int k = 0; k < ERROR_WAYS; k++) {
        const int i = error_ways[k];
        char      note[200];
        kd_text(note, sizeof note, "largest error of the positions: %.2e at 1 ms", t->error[i][1]);
        bench_row(b, bench_no_goal(true), 1, bench_slope(t->n, t->h, t->error[i]), "", note, "error.slope.%s",
                  ways[i].word);
    }
}

// What projection gains in the global error over index 1 without stabilisation. S4 does not say with which Jacobian its
// figure 8 was made. At small steps the drift of 3 s is small beside the error of the method itself.
static void gain_rows(bench *b, const axis *a)
{
    static const struct {
        const char          *word;
        kd_realtime_jacobian jacobian;
    } jacobians[] = {{"j3", KD_REALTIME_J3}, {"j2", KD_REALTIME_J2}};
    static const int milliseconds[] = {10, 5, 2, 1};
    for (int j = 0; j < 2; j++)
        for (size_t i = 0; i < sizeof milliseconds / sizeof *milliseconds; i++) {
            kd_realtime_options none = options_of(&ways[0], 1e-3 * milliseconds[i]);
            kd_realtime_options projected = options_of(&ways[4], 1e-3 * milliseconds[i]);
            char                note[160];
            none.jacobian = projected.jacobian = jacobians[j].jacobian;
            const double without = run(a, &none, NULL).error, with = run(a, &projected, NULL).error;
            kd_text(note, sizeof note, "global error, index 1: %.2e without stabilisation, %.2e with projection",
                    without, with);
            bench_row(b, i == 0 && j == 0 ? bench_above(10) : bench_no_goal(true), 10, without / with, "", note,
                      "error.gain.projection.%s.%dms", jacobians[j].word, milliseconds[i]);
        }
}

static void measure_tables(bench *b, const axis *a)
{
    axis_table t = {.n = bench_quick(b) ? STEPS - 1 : STEPS};
    for (int k = 0; k < t.n; k++) {
        t.h[k] = FIRST_STEP / (1 << k);
        for (int i = 0; i < WAYS; i++) {
            const kd_realtime_options opt = options_of(&ways[i], t.h[k]);
            const axis_run            r = run(a, &opt, NULL);
            t.drift[i][k] = r.drift;
            t.error[i][k] = r.error;
        }
    }
    rows_of_tables(b, &t);
    gain_rows(b, a);
    draw_tables(b, &t);
}

// ---- figure 7 -------------------------------------------------------------------------------------------------------

static void measure_jacobians(bench *b, const axis *a)
{
    static const struct {
        const char          *word, *title;
        kd_realtime_jacobian jacobian;
    } cases[JACOBIANS] = {{"explicit", "explicit", KD_REALTIME_EXPLICIT},
                          {"j1", "J1", KD_REALTIME_J1},
                          {"j2", "J2", KD_REALTIME_J2},
                          {"j3", "J3", KD_REALTIME_J3}};
    static axis_curve curves[JACOBIANS];
    kd_series         series[JACOBIANS];
    double            good = 0;
    for (int i = JACOBIANS - 1; i >= 0; i--) { // explicit last: it is compared with the others
        kd_realtime_options opt = options_of(&ways[4], 1e-3);
        opt.jacobian = cases[i].jacobian;
        const axis_run r = run(a, &opt, &curves[i]);
        series[i] = (kd_series){.name = cases[i].title, .x = curves[i].t, .y = curves[i].y, .n = curves[i].n};
        bench_row(b, i == 0 ? bench_above(10 * good) : bench_below(0.05), NAN, r.error, "",
                  i == 0
                      ? "largest error of the positions, h = 1 ms: unstable, wanted above 10 times those of J1, J2, J3"
                      : "largest error of the positions, h = 1 ms, projection",
                  "error.1ms.%s", cases[i].word);
        good = fmax(good, r.error);
    }
    const kd_plot plot = {.title = "Car axis: explicit and linear-implicit Euler methods, h = 1 ms",
                          .xlabel = "t [s]",
                          .ylabel = "height of the right end [m]",
                          .width = 800,
                          .nseries = JACOBIANS,
                          .series = series,
                          .note = "index 1 with projection"};
    bench_figure(b, "realtime-axis-methods", &plot, 1, 1);
}

void realtime_axis(bench *b)
{
    static axis a;
    char        message[700] = "";
    const bool  tables = bench_wants(b, "slope.") || bench_wants(b, "error."), drift = bench_wants(b, "drift.");
    if (!tables && !drift) return;
    if (bench_problem_open(&a.problem, "caraxis", message, sizeof message) &&
        read_reference(&a, message, sizeof message)) {
        if (drift) draw_drift(b, &a);
        if (tables) measure_tables(b, &a);
        if (tables) measure_jacobians(b, &a);
    } else {
        bench_row(b, bench_no_goal(false), NAN, NAN, "", message, "slope.none");
    }
    bench_problem_close(&a.problem);
}
