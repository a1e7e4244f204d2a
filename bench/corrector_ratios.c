// corrector_ratios.c: bdf and SUNDIALS IDA on the same GGL equations: time at an error of 1e-5.
//
// bdf has one setting for all problems: form odassl (ggl with eta inside Newton's method), analytic derivatives,
// partitioned updates. IDA makes its own dense differences ("default"), or takes the Newton matrices of the formulation
// and their factors ("same Jacobian"); with and without algebraic variables in its error test, whichever is faster.
#include "common_figure.h"
#include "common_fit.h"
#include "core/text.h"
#include "corrector.h"
#include <math.h>
#include <string.h>

enum { METHODS = 6, MAX_TOL = 8 };
#define TARGET 1e-5 // error at which times are compared
#define PATIENCE 40 // IDA may need so many times the time of bdf
#define ALL_PATIENCE 1.5
#define LEAST_S 0.05 // and at least this time [s]
#define BUDGET_S 20  // no new round of measurements after this time [s]

enum { BDF, BDF_GGL, IDA, IDA_ALL, IDA_SAME, IDA_SAME_ALL };

static const corrector_method methods[METHODS] = {
    [BDF] = {.name = "bdf odassl", .integrator = KD_BDF, .form = KD_ODASSL, .update = KD_UPDATE_PARTITIONED},
    [BDF_GGL] = {.name = "bdf ggl", .integrator = KD_BDF, .form = KD_GGL, .update = KD_UPDATE_PARTITIONED},
    [IDA] = {.name = "ida", .integrator = KD_IDA, .form = KD_GGL},
    [IDA_ALL] = {.name = "ida, all", .integrator = KD_IDA, .form = KD_GGL, .all_in_error = true},
    [IDA_SAME] = {.name = "ida same J", .integrator = KD_IDA, .form = KD_GGL, .own_linear = true},
    [IDA_SAME_ALL] =
        {.name = "ida same J, all", .integrator = KD_IDA, .form = KD_GGL, .own_linear = true, .all_in_error = true},
};

typedef struct contest {
    const char       *name;
    const char       *model, *settings; // file, or
    const char       *example;          // written in C
    kd_coordinates    coordinates;
    double            t_end; // 0: the problem's own
    int               ntol;
    double            first;   // loosest tolerance
    bool              informs; // without goals
    double            tol[MAX_TOL];
    corrector_outcome out[METHODS][MAX_TOL];
    double            error[METHODS][MAX_TOL], seconds[METHODS][MAX_TOL];
} contest;

// ---- measuring ------------------------------------------------------------------------------------------------------

static void collect(contest *c)
{
    for (int m = 0; m < METHODS; m++)
        for (int k = 0; k < c->ntol; k++) {
            c->error[m][k] = c->out[m][k].status < 0 ? NAN : c->out[m][k].error;
            c->seconds[m][k] = c->out[m][k].status < 0 ? NAN : c->out[m][k].seconds;
        }
}

// Is this measurement one of the two between which the time at the target is interpolated?
static bool counts(const contest *c, int m, int k)
{
    for (int i = 1; i < c->ntol; i++)
        if (c->error[m][i - 1] > TARGET && c->error[m][i] <= TARGET) return k == i || k == i - 1;
    return false;
}

// Longest time of a run that is of interest: IDA beside bdf, its slower error test beside the other one
static double limit_of(const contest *c, int m, int k)
{
    if (m <= BDF_GGL) return INFINITY;
    if (m == IDA_ALL || m == IDA_SAME_ALL) return fmax(LEAST_S, ALL_PATIENCE * c->out[m - 1][k].seconds);
    return fmax(LEAST_S, PATIENCE * c->out[BDF][k].seconds);
}

static void measure(const bench *b, contest *c, const corrector_problem *problem)
{
    double begin = bench_cpu_seconds();
    for (int r = 0; r < (bench_quick(b) ? 1 : 7) && (r < 2 || bench_cpu_seconds() < begin + BUDGET_S); r++) {
        for (int k = 0; k < c->ntol; k++) {
            for (int m = 0; m < METHODS; m++) {
                double limit = limit_of(c, m, k);
                bool   hopeless = k > 0 && c->out[m][k - 1].status == KD_ERR_TOO_MANY_STEPS;
                if (r == 0 && hopeless) c->out[m][k] = c->out[m][k - 1];
                if ((r == 0 && !hopeless) || (r > 0 && counts(c, m, k)))
                    corrector_again(problem, &methods[m], c->tol[k], c->tol[k], limit, r == 0, &c->out[m][k]);
            }
        }
        collect(c);
    }
}

// ---- text -----------------------------------------------------------------------------------------------------------

static void say(const bench *b, const contest *c, const corrector_problem *problem)
{
    kd_dims D = kd_eom_dims(problem->eom);
    bench_say(b, "\n%s over [0, %g]: %d positions, %d constraints; error in p, CPU time [ms], steps\n%8s", c->name,
              problem->t_end, D.np, D.nlambda + D.nmu, "tol");
    for (int m = 0; m < METHODS; m++) bench_say(b, " %25s", methods[m].name);
    bench_say(b, "\n");
    for (int k = 0; k < c->ntol; k++) {
        bench_say(b, "%8.1e", c->tol[k]);
        for (int m = 0; m < METHODS; m++) {
            const corrector_outcome *o = &c->out[m][k];
            if (o->status < 0)
                bench_say(b, " %25s", o->status == KD_ERR_TOO_MANY_STEPS ? "given up" : kd_status_name(o->status));
            else
                bench_say(b, " %8.1e %9.3f %6ld", o->error, 1e3 * o->seconds, o->stats.steps);
        }
        bench_say(b, "\n");
    }
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static double time_at_target(const contest *c, int m)
{
    return bench_crossing(c->ntol, c->error[m], c->seconds[m], TARGET);
}

// Was a method given up before it met the target?
static bool given_up(const contest *c, int m)
{
    for (int k = 0; k < c->ntol; k++) {
        if (c->out[m][k].status == KD_ERR_TOO_MANY_STEPS) return true;
        if (c->error[m][k] <= TARGET) return false;
    }
    return false;
}

static void ratio_row(bench *b, const contest *c, int suppressed, int all, double goal, const char *peer)
{
    double own = time_at_target(c, BDF), one = time_at_target(c, suppressed), two = time_at_target(c, all);
    bool   use_all = isnan(one) || two < one;
    double value = (use_all ? two : one) / own;
    char   note[200];
    if (!kd_integrator_about(KD_IDA, NULL)->available) {
        bench_row_without(b, c->informs ? bench_no_goal(true) : bench_above(goal), "SUNDIALS", "libsundials-dev",
                          "ratio.%s.%s", peer, c->name);
        return;
    }
    kd_text(note, sizeof note, "bdf %.3g ms; %s", 1e3 * own,
            use_all ? "algebraic variables in the error test" : "algebraic variables suppressed");
    if (isnan(value) && given_up(c, suppressed)) {
        value = PATIENCE;
        kd_text(note, sizeof note, "at least: IDA was given up after %d times the time of bdf at the same tolerance",
                PATIENCE);
    } else if (isnan(value)) {
        kd_text(note, sizeof note, "%s does not meet error %g", isnan(own) ? "bdf" : "IDA", TARGET);
    }
    bench_row(b, c->informs ? bench_no_goal(true) : bench_above(goal), NAN, value, "", note, "ratio.%s.%s", peer,
              c->name);
}

static void rows(bench *b, const contest *c)
{
    ratio_row(b, c, IDA, IDA_ALL, 4, "ida_default");
    ratio_row(b, c, IDA_SAME, IDA_SAME_ALL, 1.5, "ida_same_jacobian");
    bench_row(b, bench_no_goal(false), NAN, 1e3 * time_at_target(c, BDF), "ms", "", "time.bdf.%s", c->name);
    bench_row(b, bench_no_goal(false), NAN, 1e3 * time_at_target(c, BDF_GGL), "ms", "form ggl", "time.bdf_ggl.%s",
              c->name);
}

static void draw(const bench *b, const contest *c)
{
    kd_series series[METHODS];
    char      title[120], name[80];
    int       n = 0;
    for (int m = 0; m < METHODS; m++) {
        bool any = false;
        for (int k = 0; k < c->ntol; k++) any = any || isfinite(c->error[m][k]);
        if (!any) continue;
        series[n++] = (kd_series){.name = methods[m].name,
                                  .x = c->seconds[m],
                                  .y = c->error[m],
                                  .n = c->ntol,
                                  .markers = true,
                                  .dashed = methods[m].integrator == KD_IDA};
    }
    kd_text(title, sizeof title, "%s: positions at the end", c->name);
    kd_text(name, sizeof name, "corrector-%s", c->name);
    kd_plot plot = {.title = title,
                    .xlabel = "CPU time [s]",
                    .ylabel = "error",
                    .xlog = true,
                    .ylog = true,
                    .nseries = n,
                    .series = series};
    bench_figure(b, name, &plot, 1, 1);
}

// ---- problems -------------------------------------------------------------------------------------------------------

static void run(bench *b, contest *c)
{
    corrector_problem problem;
    char              message[300] = "";
    bool              open = c->model
                                 ? corrector_open_model(&problem, c->model, c->settings, c->coordinates, message, sizeof message)
                                 : corrector_open_example(&problem, c->example, message, sizeof message);
    if (c->t_end > 0) problem.t_end = c->t_end;
    for (int k = 0; k < c->ntol; k++) c->tol[k] = c->first * pow(10, -k);
    if (open) // large models come to the limits of rounding
        open = corrector_make_reference(&problem, 1e-12, message, sizeof message) ||
               corrector_make_reference(&problem, 1e-11, message, sizeof message);

    if (open) {
        measure(b, c, &problem);
        say(b, c, &problem);
        rows(b, c);
        draw(b, c);
    } else {
        bench_row(b, bench_above(4), NAN, NAN, "", message, "ratio.ida_default.%s", c->name);
        bench_row(b, bench_above(1.5), NAN, NAN, "", message, "ratio.ida_same_jacobian.%s", c->name);
    }
    corrector_close(&problem);
}

static bool wants(const bench *b, const char *name)
{
    static const char *const kinds[] = {"ratio.ida_default", "ratio.ida_same_jacobian", "time.bdf", "time.bdf_ggl"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (bench_wants(b, "%s.%s", kinds[i], name)) return true;
    return false;
}

void corrector_ratios(bench *b)
{
    static contest contests[] = {
        {.name = "carriage", .model = "carriage", .t_end = 15, .ntol = 5, .first = 1e-5},
        {.name = "car", .model = "passenger-car", .t_end = 5, .ntol = 5, .first = 1e-5},
        {.name = "chain16",
         .model = "chain",
         .settings = "N=16",
         .coordinates = KD_CARTESIAN,
         .t_end = 20,
         .ntol = 6,
         .first = 1e-5},
        {.name = "chain64",
         .model = "chain",
         .settings = "N=64",
         .coordinates = KD_CARTESIAN,
         .t_end = 20,
         .ntol = 6,
         .first = 1e-5},
        {.name = "andrews", .example = "andrews", .ntol = 7, .first = 1e-3},
        {.name = "caraxis", .example = "caraxis", .ntol = 7, .first = 1e-3},
        {.name = "chain16_joint",
         .model = "chain",
         .settings = "N=16",
         .t_end = 20,
         .ntol = 6,
         .first = 1e-5,
         .informs = true},
        {.name = "chain64_joint",
         .model = "chain",
         .settings = "N=64",
         .t_end = 20,
         .ntol = 6,
         .first = 1e-5,
         .informs = true},
    };
    for (size_t i = 0; i < sizeof contests / sizeof *contests; i++)
        if (wants(b, contests[i].name)) run(b, &contests[i]);
}
