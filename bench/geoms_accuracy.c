// geoms_accuracy.c: psf on the problems of the gallery for all tolerances: failed runs, error over tolerance, digits.
#include "common_fit.h"
#include "core/text.h"
#include "geoms.h"
#include <math.h>

enum { MAX_TOL = 10, SLOPE_TOL = 5, DIGITS_TOL = 6 }; // 1e-4 .. 1e-13; slope over 1e-4 .. 1e-8; digits at 1e-10

static const struct example {
    const char *name;
    int         ntol;
} examples[] = {{"caraxis", 8}, {"andrews", 8}, {"truck5", 10}, {"truck7", 10}, {"truck7-bump", 10}, {"fekete", 8}};

static void say_run(const bench *b, const bench_problem *problem, const bench_outcome *o)
{
    bench_say(b, "%-12s %8.0e", problem->name, o->tol);
    if (o->status < 0) {
        bench_say(b, "  failed: %s\n", o->message);
        return;
    }
    bench_say(b, " %9.1e %9.1e %7.2f %7.2f %8ld %5ld %5ld %10.2f%s\n", o->error, o->error_v, o->mescd_p, o->mescd_v,
              o->stats.accepted, o->stats.rejected_error, o->stats.rejected_newton, 1e3 * o->seconds,
              o->mescd_p >= problem->digits - 1 ? "  at the limit of the reference" : "");
}

static void rows_of(bench *b, const bench_problem *problem, const bench_outcome *out, const double *tol, int ntol)
{
    double      error[MAX_TOL];
    int         failed = 0;
    const char *note = "";
    for (int k = 0; k < ntol; k++) {
        error[k] = out[k].error;
        if (out[k].status >= 0) continue;
        failed++;
        note = out[k].message;
    }
    const bench_outcome *fine = &out[DIGITS_TOL];
    const char          *name = problem->name;
    bench_row(b, bench_exactly(0), NAN, failed, "failed", note, "success.%s", name);
    bench_row(b, bench_between(0.7, 1.3, true), NAN, bench_slope(SLOPE_TOL, tol, error), "", "", "slope.%s", name);
    bench_row(b, bench_above(8), NAN, fmin(fine->mescd_p, fine->mescd_v), "digits", fine->message, "mescd.%s", name);
    bench_row(b, bench_above(8), NAN, fine->mescd_p, "digits", fine->message, "mescd.%s.p", name);
    bench_row(b, bench_above(8), NAN, fine->mescd_v, "digits", fine->message, "mescd.%s.v", name);
    bench_row(b, bench_no_goal(false), NAN, out[4].seconds, "s", "tolerance 1e-8", "cost.%s", name);
}

// The same digits with variable order, at 1e-10
static void rows_of_orders(bench *b, const bench_problem *problem)
{
    const bench_outcome o = bench_run_timed(problem, &geoms_methods[GEOMS_PSF_ORDERS], 1e-10, 0.005, 60);
    say_run(b, problem, &o);
    bench_row(b, bench_above(8), NAN, fmin(o.mescd_p, o.mescd_v), "digits", "radau of variable order up to 13",
              "mescd.%s.orders", problem->name);
}

static bool wants(const bench *b, const char *name)
{
    return bench_wants(b, "success.%s", name) || bench_wants(b, "slope.%s", name) ||
           bench_wants(b, "mescd.%s*", name) || bench_wants(b, "cost.%s", name);
}

static void run_example(bench *b, const struct example *example)
{
    bench_problem problem;
    bench_outcome out[MAX_TOL];
    double        tol[MAX_TOL];
    char          message[200] = "";
    if (!wants(b, example->name)) return;
    if (bench_problem_open(&problem, example->name, message, sizeof message)) {
        for (int k = 0; k < example->ntol; k++) tol[k] = pow(10, -4 - k);
        bench_work_precision(&problem, &geoms_methods[GEOMS_PSF], 1, tol, example->ntol, 1, 0.005, out);
        for (int k = 0; k < example->ntol; k++) say_run(b, &problem, &out[k]);
        rows_of(b, &problem, out, tol, example->ntol);
        rows_of_orders(b, &problem);
    } else {
        bench_row(b, bench_exactly(0), NAN, NAN, "failed", message, "success.%s", example->name);
    }
    bench_problem_close(&problem);
}

void geoms_accuracy(bench *b)
{
    bench_say(b,
              "\npsf on the gallery at t_end; digits = min -log10(|err| / (1 + |ref|))\n%-12s %8s %9s %9s %7s %7s %8s "
              "%5s %5s "
              "%10s\n",
              "example", "tol", "error p", "error v", "digit p", "digit v", "accepted", "error", "Newt.", "CPU [ms]");
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) run_example(b, &examples[i]);
}
