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
static const double paper_position[TOLERANCES] = {3.28e-2, 3.79e-3, 7.55e-4, 1.71e-4, NAN, NAN, NAN};
static const double paper_velocity[TOLERANCES] = {2.29e-1, 3.13e-2, 6.41e-3, 1.49e-3, NAN, NAN, NAN};

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
    double                    position, velocity; // largest errors of theta1 and its rate
} watch;

static kd_eval compare(const kd_state *x, bool at_time, void *context)
{
    watch *w = context;
    double y[OUTPUTS];
    if (!at_time || w->k >= GRID) return KD_EVAL_OK;
    if (!statespace_outputs(w->problem, x, y)) return KD_EVAL_STOP;
    w->position = fmax(w->position, fabs(y[0] - w->reference->row[w->k][0]));
    w->velocity = fmax(w->velocity, fabs(y[2] - w->reference->row[w->k][2]));
    w->k++;
    return KD_EVAL_OK;
}

typedef struct series {
    double steps[TOLERANCES], position[TOLERANCES], velocity[TOLERANCES];
} series;

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
        out->steps[k] = out->position[k] = out->velocity[k] = NAN;
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
        bench_row(b, bench_below(tol), paper_position[k], dae->position[k], "rad", "largest, theta1",
                  "error.position.1e%d", e);
        bench_row(b, bench_below(5 * tol), paper_velocity[k], dae->velocity[k], "rad/s", "largest, rate of theta1",
                  "error.velocity.1e%d", e);
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
