// geoms_ratio.c: time of the solvers at equal error, and work against precision (S3 figures 2, 3, 8).
#include "common_figure.h"
#include "common_fit.h"
#include "core/text.h"
#include "geoms.h"
#include "pendulum.h"
#include <math.h>
#include <string.h>

enum { MAX_TOL = 12 };
#define TARGET 1e-6      // error at which times are compared
#define FINE_TARGET 1e-8 // and of the car axis, too

typedef struct campaign {
    const bench_problem *problem;
    int                  ntol;
    double               tol[MAX_TOL];
    bench_outcome        out[GEOMS_METHODS * MAX_TOL];
    double               seconds[GEOMS_METHODS][MAX_TOL], error[GEOMS_METHODS][MAX_TOL]; // of p
    bool                 with_velocities; // error: the larger one of p and v, |err| / (1 + |ref|)
    double               error_v[GEOMS_METHODS][MAX_TOL], error_lambda[GEOMS_METHODS][MAX_TOL];
} campaign;

// ---- table ----------------------------------------------------------------------------------------------------------

static void say_curves(const bench *b, const campaign *c)
{
    bench_say(b, "\n%s over [0, %g]: error in %s, CPU time [ms]\n%8s", c->problem->name, c->problem->t_end,
              c->with_velocities ? "p and v" : "p", "tol");
    for (int m = 0; m < GEOMS_METHODS; m++) bench_say(b, " %18s", geoms_methods[m].name);
    bench_say(b, "\n");
    for (int k = 0; k < c->ntol; k++) {
        bench_say(b, "%8.1e", c->tol[k]);
        for (int m = 0; m < GEOMS_METHODS; m++) {
            const bench_outcome *o = &c->out[m * c->ntol + k];
            if (o->status == KD_ERR_UNSUPPORTED)
                bench_say(b, " %18s", "-");
            else if (o->skipped)
                bench_say(b, " %18s", "not tried");
            else if (o->status < 0)
                bench_say(b, " %18s", kd_status_name(o->status) + strlen("KD_"));
            else
                bench_say(b, " %8.1e %9.3f", c->error[m][k], 1e3 * o->seconds);
        }
        bench_say(b, "\n");
    }
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static double time_at(const campaign *c, int method, double target)
{
    return bench_crossing(c->ntol, c->error[method], c->seconds[method], target);
}

static double time_at_target(const campaign *c, int method)
{
    return time_at(c, method, TARGET);
}

// The fastest of kardan's implicit methods
static double best_implicit(const campaign *c, double target)
{
    static const int methods[] = {GEOMS_PSF, GEOMS_PSF_ORDERS, GEOMS_RADAU_GGL, GEOMS_RADAU_INDEX2, GEOMS_ODASSL_BDF};
    double           best = NAN;
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) best = fmin(best, time_at(c, methods[k], target));
    return best;
}

// time.NAME of a method, and ratio.NAME against psf
static void peer_rows(bench *b, const campaign *c, const char *peer, double seconds, bench_goal goal, const char *note)
{
    const char *name = c->problem->name;
    double      psf = time_at_target(c, GEOMS_PSF);
    char        text[200];
    kd_text(text, sizeof text, "%s", note);
    if (isnan(seconds)) kd_text(text, sizeof text, "%s does not meet error %g", peer, TARGET);
    if (isnan(psf)) kd_text(text, sizeof text, "psf does not meet error %g", TARGET);
    bench_row(b, goal, NAN, seconds / psf, "", text, "ratio.%s.%s", peer, name);
    bench_row(b, bench_no_goal(false), NAN, 1e3 * seconds, "ms", text, "time.%s.%s", peer, name);
}

// IDA with one kind of matrices, with the faster one of its two error tests, over the best implicit method at an error
static void ida_rows(bench *b, const campaign *c, const char *name, int suppressed, double target, bench_goal goal,
                     const char *given)
{
    double      ida = time_at(c, suppressed, target), ida_all = time_at(c, suppressed + 1, target);
    double      own = best_implicit(c, target);
    bool        all = isnan(ida) || ida_all < ida;
    const char *problem = c->problem->name, *at = target == TARGET ? "" : ".1e-8";
    char        note[160];
    kd_text(note, sizeof note, "IDA with %s; algebraic variables %s", given,
            all ? "in the error test" : "suppressed in the error test");
    if (isnan(ida) && isnan(ida_all)) kd_text(note, sizeof note, "IDA does not meet error %g", target);
    if (isnan(own)) kd_text(note, sizeof note, "no implicit method meets error %g", target);
    if (!kd_integrator_about(KD_IDA, NULL)->available) {
        bench_row_without(b, goal, "SUNDIALS", "libsundials-dev", "ratio.%s.%s%s", name, problem, at);
        return;
    }
    bench_row(b, goal, NAN, (all ? ida_all : ida) / own, "", note, "ratio.%s.%s%s", name, problem, at);
    bench_row(b, bench_no_goal(false), NAN, 1e3 * (all ? ida_all : ida), "ms", note, "time.%s.%s%s", name, problem, at);
}

static void ratio_rows(bench *b, const campaign *c)
{
    double psf = time_at_target(c, GEOMS_PSF);
    // over 1000 s from S3's start IDA does not come to this error at any tolerance: no goal there
    const bool  long_rest = c->with_velocities;
    const bool  axis = strcmp(c->problem->name, "caraxis") == 0;
    const char *own = "its own dense differences", *same = "kardan's analytic Newton matrices of ggl and their factors";
    ida_rows(b, c, "ida_ggl", GEOMS_IDA_GGL, TARGET, long_rest ? bench_no_goal(true) : bench_above(axis ? 10 : 3.5),
             own);
    ida_rows(b, c, "ida_same_jacobian", GEOMS_IDA_SAME, TARGET, long_rest ? bench_no_goal(true) : bench_above(1), same);
    if (axis) {
        ida_rows(b, c, "ida_ggl", GEOMS_IDA_GGL, FINE_TARGET, bench_above(17), own);
        ida_rows(b, c, "ida_same_jacobian", GEOMS_IDA_SAME, FINE_TARGET, bench_no_goal(true), same);
    }
    peer_rows(b, c, "psf_orders", time_at_target(c, GEOMS_PSF_ORDERS), bench_no_goal(false),
              "radau of variable order up to 13");
    const bool small = axis || strcmp(c->problem->name, "andrews") == 0;
    peer_rows(b, c, "statespace", time_at_target(c, GEOMS_STATESPACE), small ? bench_below(1.5) : bench_no_goal(false),
              "statespace and psf, both with radau");
    peer_rows(b, c, "odassl_bdf", time_at_target(c, GEOMS_ODASSL_BDF), bench_no_goal(true), "of the kind of ODASSL");
    peer_rows(b, c, "extrapolation", time_at_target(c, GEOMS_EXTRAPOLATION), bench_no_goal(true),
              "of the kind of MEXAX");
    peer_rows(b, c, "half_explicit", time_at_target(c, GEOMS_HALF_EXPLICIT), bench_no_goal(true),
              "of the kind of HEDOP5");
    peer_rows(b, c, "radau_ggl", time_at_target(c, GEOMS_RADAU_GGL), bench_above(1), "");
    if (kd_eom_dims(c->problem->eom).ne > 0)
        peer_rows(b, c, "psf_invariant", time_at_target(c, GEOMS_PSF_INVARIANT), bench_no_goal(true), "");
    bench_row(b, bench_no_goal(false), NAN, 1e3 * psf, "ms", "", "time.psf.%s", c->problem->name);
}

// ---- figures --------------------------------------------------------------------------------------------------------

typedef double curves[GEOMS_METHODS][MAX_TOL];

static bool has_points(const double *y, int n)
{
    for (int i = 0; i < n; i++)
        if (isfinite(y[i])) return true;
    return false;
}

// Methods that never reached the end are left out.
static kd_plot panel(const campaign *c, const char *title, const curves error, kd_series series[GEOMS_METHODS])
{
    int n = 0;
    for (int m = 0; m < GEOMS_METHODS; m++) {
        if (!has_points(error[m], c->ntol)) continue;
        series[n++] = (kd_series){.name = geoms_methods[m].name,
                                  .x = c->seconds[m],
                                  .y = error[m],
                                  .n = c->ntol,
                                  .markers = true,
                                  .dashed = geoms_methods[m].integrator == KD_IDA};
    }
    return (kd_plot){.title = title,
                     .xlabel = "CPU time [s]",
                     .ylabel = "error",
                     .xlog = true,
                     .ylog = true,
                     .nseries = n,
                     .series = series};
}

// Errors in p, v and lambda over the time of the run
static void draw(const bench *b, const campaign *c, const char *name, const char *name_lambda)
{
    kd_series p[GEOMS_METHODS], v[GEOMS_METHODS], lambda[GEOMS_METHODS];
    kd_plot   plots[3];
    char      title[3][120];
    kd_text(title[0], sizeof title[0], "%s: positions at t = %g", c->problem->name, c->problem->t_end);
    kd_text(title[1], sizeof title[1], "%s: velocities at t = %g", c->problem->name, c->problem->t_end);
    kd_text(title[2], sizeof title[2], "%s: multipliers at t = %g", c->problem->name, c->problem->t_end);
    plots[0] = panel(c, title[0], c->error, p);
    plots[1] = panel(c, title[1], c->error_v, v);
    plots[2] = panel(c, title[2], c->error_lambda, lambda);
    bench_figure(b, name, plots, name_lambda ? 2 : 3, 2);
    if (name_lambda) bench_figure(b, name_lambda, plots + 2, 1, 1);
}

// ---- problems -------------------------------------------------------------------------------------------------------

// ntol tolerances 1e-4, 1e-5, ...
static void measure(const bench *b, campaign *c, int ntol, int rounds)
{
    bool quick = bench_quick(b);
    c->ntol = ntol;
    for (int k = 0; k < ntol; k++) c->tol[k] = pow(10, -4 - k);
    bench_work_precision(c->problem, geoms_methods, GEOMS_METHODS, c->tol, ntol, quick ? 1 : rounds,
                         quick ? 0.005 : 0.02, c->out);
    for (int m = 0; m < GEOMS_METHODS; m++) {
        for (int k = 0; k < ntol; k++) {
            const bench_outcome *o = &c->out[m * ntol + k];
            c->seconds[m][k] = o->seconds;
            c->error[m][k] = c->with_velocities ? pow(10, -fmin(o->mescd_p, o->mescd_v)) : o->error;
            c->error_v[m][k] = o->error_v;
            c->error_lambda[m][k] = o->error_lambda;
        }
    }
}

static bool wants(const bench *b, const char *name)
{
    static const char *const rows[] = {
        "ida_ggl",    "ida_same_jacobian", "radau_ggl",     "psf_invariant", "psf_orders",
        "odassl_bdf", "statespace",        "extrapolation", "half_explicit", "psf"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (bench_wants(b, "ratio.%s.%s", rows[i], name) || bench_wants(b, "ratio.%s.%s.1e-8", rows[i], name) ||
            bench_wants(b, "time.%s.%s", rows[i], name))
            return true;
    return false;
}

static void run_campaign(bench *b, bench_problem *problem, bool open, const char *message, int ntol, int rounds,
                         bool with_velocities, const char *figure, const char *figure_lambda)
{
    campaign c = {.problem = problem, .with_velocities = with_velocities};
    if (open) {
        measure(b, &c, ntol, rounds);
        say_curves(b, &c);
        ratio_rows(b, &c);
        if (figure) draw(b, &c, figure, figure_lambda);
    } else {
        bench_row(b, bench_above(3.5), NAN, NAN, "", message, "ratio.ida_ggl.%s", problem->name);
    }
    bench_problem_close(problem);
}

static void gallery_campaign(bench *b, const char *name, int ntol, int rounds, const char *figure)
{
    bench_problem problem;
    char          message[200] = "";
    if (!wants(b, name)) return;
    bool open = bench_problem_open(&problem, name, message, sizeof message);
    run_campaign(b, &problem, open, message, ntol, rounds, false, figure, NULL);
}

// From the bottom with v10, so that the error of p at the end is first order in the phase; or at rest from the
// horizontal for v10 = 0, which is S3's start: after whole periods the pendulum stands still there, so the error of v
// counts, too.
static void pendulum_campaign(bench *b, const char *name, double v10, double t_end, int rounds, const char *figure,
                              const char *figure_lambda)
{
    bench_problem problem;
    double        reference[5];
    char          message[200] = "";
    if (!wants(b, name)) return;
    bool open =
        geoms_pendulum_open(&problem, KD_PENDULUM_GRAVITY_PERIOD_2, v10, t_end, reference, message, sizeof message);
    problem.name = name;
    run_campaign(b, &problem, open, message, 10, rounds, v10 == 0, figure, figure_lambda);
}

void geoms_ratio(bench *b)
{
    gallery_campaign(b, "caraxis", 8, 5, "work-precision-caraxis");
    gallery_campaign(b, "andrews", 8, 5, "work-precision-andrews");
    gallery_campaign(b, "truck7", 8, 3, "fig8");
    pendulum_campaign(b, "pendulum-short", 2.8, 5, 3, NULL, NULL);
    pendulum_campaign(b, "pendulum", 2.8, bench_quick(b) ? 20 : 1000, 2, "work-precision-pendulum", NULL);
    pendulum_campaign(b, "pendulum-rest", 0, bench_quick(b) ? 20 : 1000, 1, "fig2", "fig3");
}
