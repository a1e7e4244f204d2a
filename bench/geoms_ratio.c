// geoms_ratio.c: time of the solvers at equal error, and work against precision (S3 figures 2, 3, 8).
#include "common_fit.h"
#include "geoms.h"
#include "pendulum.h"
#include <math.h>

enum { MAX_TOL = 16 };
#define TARGET 1e-6 // error at which times are compared

typedef struct campaign {
    const bench_problem *problem;
    int                  ntol;
    double               tol[MAX_TOL];
    bench_outcome        out[GEOMS_METHODS * MAX_TOL];
} campaign;

static void tolerances(campaign *c, double first, double factor, int count)
{
    c->ntol = count;
    for (int k = 0; k < count; k++) c->tol[k] = first * pow(factor, k);
}

static void say_curves(const bench *b, const campaign *c)
{
    bench_say(b, "\n%s over [0, %g]: error in p, CPU time [ms]\n%8s", c->problem->name, c->problem->t_end, "tol");
    for (int m = 0; m < GEOMS_METHODS; m++) bench_say(b, " %18s", geoms_methods[m].name);
    bench_say(b, "\n");
    for (int k = 0; k < c->ntol; k++) {
        bench_say(b, "%8.1e", c->tol[k]);
        for (int m = 0; m < GEOMS_METHODS; m++) {
            const bench_outcome *o = &c->out[m * c->ntol + k];
            if (o->status < 0)
                bench_say(b, " %18s", kd_status_name(o->status) + 3);
            else
                bench_say(b, " %8.1e %9.3f", o->error, 1e3 * o->seconds);
        }
        bench_say(b, "\n");
    }
}

// time of a method at the target error
static double time_at_target(const campaign *c, int method)
{
    double error[MAX_TOL], seconds[MAX_TOL];
    for (int k = 0; k < c->ntol; k++) {
        error[k] = c->out[method * c->ntol + k].error;
        seconds[k] = c->out[method * c->ntol + k].seconds;
    }
    return bench_crossing(c->ntol, error, seconds, TARGET);
}

static void ratio_rows(bench *b, const campaign *c)
{
    const char *name = c->problem->name;
    double      psf = time_at_target(c, GEOMS_PSF), ggl = time_at_target(c, GEOMS_RADAU_GGL);
    double      ida = fmin(time_at_target(c, GEOMS_IDA_GGL), time_at_target(c, GEOMS_IDA_GGL_ALL));
    const char *why = isnan(psf) ? "psf does not meet error 1e-6" : "";
    bench_row(b, bench_above(3.5), NAN, ida / psf, "", isnan(ida) ? "ida does not meet error 1e-6" : why,
              "ratio.ida_ggl.%s", name);
    bench_row(b, bench_above(1), NAN, ggl / psf, "", isnan(ggl) ? "radau ggl does not meet error 1e-6" : why,
              "ratio.radau_ggl.%s", name);
    bench_row(b, bench_no_goal(false), NAN, 1e3 * psf, "ms", why, "time.psf.%s", name);
    bench_row(b, bench_no_goal(false), NAN, 1e3 * ida, "ms", "", "time.ida_ggl.%s", name);
    bench_row(b, bench_no_goal(false), NAN, 1e3 * ggl, "ms", "", "time.radau_ggl.%s", name);
}

static bool wants(const bench *b, const char *name)
{
    return bench_wants(b, "ratio.ida_ggl.%s", name) || bench_wants(b, "ratio.radau_ggl.%s", name) ||
           bench_wants(b, "time.psf.%s", name);
}

static void run_campaign(bench *b, campaign *c, int rounds)
{
    bool quick = bench_quick(b);
    bench_work_precision(c->problem, geoms_methods, GEOMS_METHODS, c->tol, c->ntol, quick ? 2 : rounds,
                         quick ? 0.002 : 0.02, c->out);
    say_curves(b, c);
    ratio_rows(b, c);
}

static void gallery_campaign(bench *b, const char *name)
{
    campaign      c = {0};
    bench_problem problem;
    char          message[200] = "";
    if (!wants(b, name)) return;
    c.problem = &problem;
    tolerances(&c, 1e-4, 0.1, 8);
    if (bench_problem_open(&problem, name, message, sizeof message))
        run_campaign(b, &c, 5);
    else
        bench_row(b, bench_no_goal(true), NAN, NAN, "", message, "ratio.ida_ggl.%s", name);
    bench_problem_close(&problem);
}

static void pendulum_campaign(bench *b)
{
    campaign      c = {0};
    bench_problem problem;
    double        reference[5];
    char          message[200] = "";
    if (!wants(b, "pendulum")) return;
    c.problem = &problem;
    tolerances(&c, 1e-4, 0.1, 8);
    if (geoms_pendulum_open(&problem, KD_PENDULUM_GRAVITY_PERIOD_2, 2.8, bench_quick(b) ? 20 : 1000, reference, message,
                            sizeof message))
        run_campaign(b, &c, 2);
    else
        bench_row(b, bench_no_goal(true), NAN, NAN, "", message, "ratio.ida_ggl.pendulum");
    bench_problem_close(&problem);
}

void geoms_ratio(bench *b)
{
    gallery_campaign(b, "caraxis");
    gallery_campaign(b, "andrews");
    pendulum_campaign(b);
}
