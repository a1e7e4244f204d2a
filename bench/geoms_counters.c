// geoms_counters.c: S3 tables 3 and 4: the pendulum over [0, 5], psf + Radau IIa, gravity 13.75, first step 0.01.
#include "geoms.h"
#include <math.h>
#include <stdio.h>

enum { NTOL = 3, NCOUNTERS = 10 };
static const double      tolerances[NTOL] = {1e-7, 1e-8, 1e-9};
static const char *const tolerance_names[NTOL] = {"1e-7", "1e-8", "1e-9"};
static const char *const counter_names[NCOUNTERS] = {"NACCPT", "NERJCT", "NCRJCT", "NEOM",  "NJAC",
                                                     "NMAS",   "NPDEC",  "NEDEC",  "NBSUB", "NSEL"};

// clang-format off
static const struct scenario {
    const char *name;
    double      v10;
    long        paper[NTOL][NCOUNTERS]; // in the order of counter_names
    double      paper_selectors;        // NSEL - NCRJCT
} scenarios[] = {
    {"v2.8", 2.8, {{187, 16,  1, 2167, 187, 1, 187, 204,  660,  2},
                   {270, 13,  1, 2961, 270, 1, 270, 284,  897,  2},
                   {391,  9,  1, 4141, 391, 1, 391, 401, 1250,  2}}, 1},
    {"v2.9", 2.9, {{207,  7, 13, 2730, 207, 1, 207, 227,  841, 26},
                   {303, 12,  6, 3729, 303, 1, 303, 321, 1142, 19},
                   {441, 12,  6, 5208, 441, 1, 441, 459, 1589, 19}}, 13},
};
// clang-format on

static void counters_of(const kd_stats *s, long counters[NCOUNTERS])
{
    const long all[NCOUNTERS] = {s->accepted, s->rejected_error,    s->rejected_newton, s->residuals, s->jacobians,
                                 s->mass,     s->predecompositions, s->decompositions,  s->solves,    s->selectors};
    for (int i = 0; i < NCOUNTERS; i++) counters[i] = all[i];
}

static double steps_of(const long counters[NCOUNTERS])
{
    return (double)(counters[0] + counters[1] + counters[2]);
}

static void say_counters(const bench *b, const struct scenario *s, int k, const bench_outcome *run,
                         const long counters[NCOUNTERS])
{
    bench_say(b, "%s %s kardan", s->name, tolerance_names[k]);
    for (int i = 0; i < NCOUNTERS; i++) bench_say(b, " %7ld", counters[i]);
    bench_say(b, "  error %.1e %s\n%9s S3    ", run->error, run->message, "");
    for (int i = 0; i < NCOUNTERS; i++) bench_say(b, " %7ld", s->paper[k][i]);
    bench_say(b, "\n");
}

static void rows_of(bench *b, const struct scenario *s, int k, const bench_outcome *run, const long counters[NCOUNTERS],
                    const double steps[NTOL])
{
    double paper = steps_of(s->paper[k]), selectors = (double)(counters[9] - counters[2]);
    bool   failed = run->status < 0;
    bench_row(b, bench_between(0.9 * paper, 1.1 * paper, false), paper, steps[k], "steps", run->message, "steps.%s.%s",
              s->name, tolerance_names[k]);
    bench_row(b, bench_exactly(s->paper_selectors), s->paper_selectors, failed ? NAN : selectors, "", run->message,
              "selectors_minus_rejections.%s.%s", s->name, tolerance_names[k]);
    if (k > 0)
        bench_row(b, bench_between(1.40, 1.50, false), paper / steps_of(s->paper[k - 1]), steps[k] / steps[k - 1], "",
                  "", "steps_growth.%s.%s_%s", s->name, tolerance_names[k - 1], tolerance_names[k]);
}

static void run_scenario(bench *b, const struct scenario *s)
{
    bench_problem problem;
    double        reference[5], steps[NTOL], common = NAN;
    char          message[200] = "";
    bool open = geoms_pendulum_open(&problem, 13.75, s->v10, 5, reference, message, sizeof message), differ = false;
    for (int k = 0; open && k < NTOL; k++) {
        bench_outcome run = bench_run(&problem, &geoms_methods[GEOMS_PSF], tolerances[k], 0.01, NULL, NULL);
        long          counters[NCOUNTERS];
        counters_of(&run.stats, counters);
        steps[k] = run.status < 0 ? NAN : steps_of(counters);
        double selectors = run.status < 0 ? NAN : (double)(counters[9] - counters[2]);
        differ = differ || isnan(selectors) || (k > 0 && selectors != common);
        common = selectors;
        say_counters(b, s, k, &run, counters);
        rows_of(b, s, k, &run, counters, steps);
    }
    bench_row(b, bench_exactly(s->paper_selectors), s->paper_selectors, open && !differ ? common : NAN, "",
              differ ? "differs between tolerances" : message, "selectors_minus_rejections.%s", s->name);
    bench_problem_close(&problem);
}

void geoms_counters(bench *b)
{
    bool wanted =
        bench_wants(b, "steps.") || bench_wants(b, "steps_growth.") || bench_wants(b, "selectors_minus_rejections*");
    if (!wanted) return;
    bench_say(b, "\nTables 3 and 4 of S3: pendulum, psf, [0, 5]\n%16s", "");
    for (int i = 0; i < NCOUNTERS; i++) bench_say(b, " %7s", counter_names[i]);
    bench_say(b, "\n");
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) run_scenario(b, &scenarios[i]);
}
