// statespace_pendulum.c: the double pendulum with two rotational spring-dampers (S2 section 5.1): errors against
// tolerance (table II) and numbers of steps (table III), in angles as ordinary differential equation and in the
// state-space form of Cartesian coordinates. Moments of inertia are not printed in the paper: several are tried.
#include "core/text.h"
#include "statespace.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOLERANCES = 7, GRID = 200, OUTPUTS = 5 };

static const double paper_ode[TOLERANCES] = {31, 47, 76, 127, 223, 387, 682};
static const double paper_dae[TOLERANCES] = {29, 47, 75, 126, 219, 384, 678};

// One line of table II: time of the largest error, that error, the same in percent of the value there, mean of all
typedef struct errors {
    double at, largest, percent, mean;
} errors;

enum { PRINTED = 4 }; // tolerances of table II
// clang-format off
static const errors paper_position[PRINTED] = {{0.413557, 3.280e-2, 0.887, 1.147e-3}, {0.425395, 3.787e-3, 0.103, 1.111e-4},
                                               {0.351082, 7.546e-4, 0.020, 1.966e-5}, {1.084304, 1.706e-4, 0.004, 4.211e-6}};
static const errors paper_velocity[PRINTED] = {{0.578444, 2.290e-1, 3.841, 8.375e-3}, {0.291094, 3.131e-2, 0.428, 9.066e-4},
                                               {0.551010, 6.407e-3, 0.119, 1.531e-4}, {0.136235, 1.485e-3, 0.017, 3.502e-5}};
// clang-format on

typedef struct reference {
    double t[GRID], row[GRID][4]; // theta1, theta2, rates
} reference;

static bool read_reference(reference *r)
{
    char  path[400], line[400];
    int   n = 0;
    FILE *file;
    kd_text(path, sizeof path, "%s/reference/doublependulum.csv", KD_MODELS_DIR);
    if (!(file = fopen(path, "r"))) return false;
    while (n < GRID && fgets(line, sizeof line, file)) {
        double t, v[4];
        if (sscanf(line, "%lf,%lf,%lf,%lf,%lf", &t, &v[0], &v[1], &v[2], &v[3]) != 5 || t == 0) continue;
        r->t[n] = t;
        for (int i = 0; i < 4; i++) r->row[n][i] = v[i];
        n++;
    }
    fclose(file);
    return n == GRID;
}

typedef struct watch {
    const statespace_problem *problem;
    const reference          *reference;
    int                       k;
    errors                    position, velocity; // of theta1 and its rate
} watch;

static void take_error(errors *e, double t, double value, double exact)
{
    const double error = fabs(value - exact);
    e->mean += error / GRID;
    if (error <= e->largest) return;
    e->largest = error;
    e->at = t;
    e->percent = 100 * error / fabs(exact);
}

static kd_eval compare(const kd_state *x, bool at_time, void *context)
{
    watch *w = context;
    double y[OUTPUTS];
    if (!at_time || w->k >= GRID) return KD_EVAL_OK;
    if (!statespace_outputs(w->problem, x, y)) return KD_EVAL_STOP;
    take_error(&w->position, x->t, y[0], w->reference->row[w->k][0]);
    take_error(&w->velocity, x->t, y[2], w->reference->row[w->k][2]);
    w->k++;
    return KD_EVAL_OK;
}

typedef struct series {
    double steps[TOLERANCES];
    errors position[TOLERANCES], velocity[TOLERANCES];
} series;

static const errors unknown = {NAN, NAN, NAN, NAN};

typedef enum coordinates { ANGLES, PLANAR, SPATIAL } coordinates;

// factor: inertias I = factor m L^2, not for PLANAR
static void measure(const bench *b, const statespace_method *method, coordinates c, double factor, const reference *r,
                    series *out)
{
    static const double end = 2;
    statespace_problem  problem;
    char                message[300] = "", value[2][40];
    kd_setting          settings[2] = {{"I1", value[0]}, {"I2", value[1]}};
    kd_text(value[0], sizeof value[0], "%.17g", factor * 3);
    kd_text(value[1], sizeof value[1], "%.17g", factor * 0.3 * 1.5 * 1.5);
    bool open = c == PLANAR ? statespace_open_planar(&problem, message, sizeof message)
                            : statespace_open(&problem, "stiff-double-pendulum", settings, 2,
                                              c == ANGLES ? KD_JOINT : KD_CARTESIAN, message, sizeof message);
    if (!open) bench_say(b, "%s\n", message);
    for (int k = 0; k < TOLERANCES; k++) {
        watch          w = {.problem = &problem, .reference = r};
        statespace_run run = {.tol = pow(10, -2 - k), .stops = &end, .nstops = 1};
        if (r) run.times = r->t, run.ntimes = GRID, run.output = compare, run.context = &w;
        out->steps[k] = NAN;
        out->position[k] = out->velocity[k] = unknown;
        if (!open) continue;
        statespace_outcome o = statespace_simulate(&problem, method, &run, NULL);
        if (o.status < 0) {
            bench_say(b, "%s %s, tolerance %.0e: %s\n", method->integrator, method->form, run.tol, o.message);
            continue;
        }
        out->steps[k] = (double)o.stats.accepted;
        if (r && w.k == GRID) out->position[k] = w.position, out->velocity[k] = w.velocity;
    }
    statespace_close(&problem);
}

// Table II, of theta1 or its rate: the four columns of one tolerance. The paper averages over its steps, we do over 200
// equal intervals, at whose ends the reference is known.
static void error_rows(bench *b, const char *what, const char *unit, bench_goal goal, const errors *paper,
                       const errors *own, int exponent)
{
    bench_row(b, goal, paper->largest, own->largest, unit, "largest, at 200 times", "error.%s.1e%d", what, exponent);
    bench_row(b, bench_no_goal(false), paper->at, own->at, "s", "time t* of the largest error", "error_time.%s.1e%d",
              what, exponent);
    bench_row(b, bench_no_goal(false), paper->percent, own->percent, "%", "largest error over the value at t*",
              "error_percent.%s.1e%d", what, exponent);
    bench_row(b, bench_no_goal(false), paper->mean, own->mean, unit, "mean over 200 times; paper: over its steps",
              "error_mean.%s.1e%d", what, exponent);
}

static void table_rows(bench *b, const series *ode, const series *dae)
{
    for (int k = 0; k < TOLERANCES; k++) {
        const int    e = -2 - k;
        const double tol = pow(10, e);
        bench_row(b, bench_no_goal(false), paper_ode[k], ode->steps[k], "", "angles", "steps.ode.1e%d", e);
        bench_row(b, bench_no_goal(false), paper_dae[k], dae->steps[k], "", statespace_form(), "steps.statespace.1e%d",
                  e);
        bench_row(b, bench_between(0.93, 1.07, false), paper_dae[k] / paper_ode[k], dae->steps[k] / ode->steps[k], "",
                  "state-space form / angles", "steps_ratio.1e%d", e);
        if (k > 0)
            bench_row(b, bench_between(1.4, 1.9, false), paper_dae[k] / paper_dae[k - 1],
                      dae->steps[k] / dae->steps[k - 1], "", "from the decade before", "steps_growth.1e%d", e);
        error_rows(b, "position", "rad", bench_below(tol), k < PRINTED ? &paper_position[k] : &unknown,
                   &dae->position[k], e);
        error_rows(b, "velocity", "rad/s", bench_below(5 * tol), k < PRINTED ? &paper_velocity[k] : &unknown,
                   &dae->velocity[k], e);
    }
}

// Which moments of inertia come closest to the paper's numbers of steps?
static void inertia_row(bench *b, const statespace_method *method)
{
    static const double factors[] = {1e-4, 1.0 / 12, 1.0 / 3, 1};
    double              best = NAN, least = INFINITY;
    char                note[200] = "";
    size_t              used = 0;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        series s;
        double sum = 0;
        measure(b, method, ANGLES, factors[i], NULL, &s);
        for (int k = 0; k < TOLERANCES; k++) sum += pow(log(s.steps[k] / paper_ode[k]), 2);
        sum = sqrt(sum / TOLERANCES);
        used +=
            (size_t)snprintf(note + used, sizeof note - used, "%s%.4g: %.1f %%", i ? ", " : "", factors[i], 100 * sum);
        if (sum < least) least = sum, best = factors[i];
    }
    bench_row(b, bench_no_goal(false), NAN, best, "m L^2", note, "inertia.closest");
}

void statespace_pendulum(bench *b)
{
    static reference        r;
    const statespace_method angles = {.form = "ode", .integrator = "sdirk"};
    const statespace_method sode = {.form = statespace_form(), .integrator = "sdirk"};
    series                  ode, dae, spatial;
    if (!bench_wants(b, "steps*") && !bench_wants(b, "error*") && !bench_wants(b, "inertia*")) return;
    if (!statespace_known(&sode)) {
        bench_say(b, "the integrator sdirk is not built\n");
        return;
    }
    if (!read_reference(&r)) bench_say(b, "no reference of the double pendulum\n");
    measure(b, &angles, ANGLES, 1.0 / 3, &r, &ode);
    measure(b, &sode, PLANAR, 1.0 / 3, &r, &dae);
    measure(b, &sode, SPATIAL, 1.0 / 3, &r, &spatial);
    table_rows(b, &ode, &dae);
    for (int k = 0; k < TOLERANCES; k++)
        bench_row(b, bench_no_goal(false), NAN, spatial.steps[k], "", "with quaternions, the angles are no coordinates",
                  "steps.spatial.1e%d", -2 - k);
    inertia_row(b, &angles);
}
