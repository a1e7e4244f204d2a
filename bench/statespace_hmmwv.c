// statespace_hmmwv.c: the HMMWV over a bump (S2 section 5.2): step sizes and height (figure 5), constraints, dominant
// eigenvalue, and ARKODE's implicit methods on the same functions. Runs are cut at the four instants at which wheels
// meet or leave the bump.
#include "common_figure.h"
#include "common_fit.h"
#include "core/memory.h"
#include "core/text.h"
#include "statespace.h"
#include <lapacke.h>
#include <math.h>
#include <string.h>

#define WANTED_ERROR 1e-5
enum { MAX_STEPS_DRAWN = 4000, MAX_OUTPUTS = 40 };

// as models/hmmwv.yaml has them
int statespace_stops(double end, double stops[STATESPACE_STOPS])
{
    const double speed = 16 / 3.6, R = 0.45, bump = 0.05, way = sqrt((R + bump) * (R + bump) - R * R);
    const double base = 2 * 1.688965 - 0.040 - 0.036; // between the wheel centres
    const double at[4] = {0.5, 0.5 + 2 * way / speed, 0.5 + base / speed, 0.5 + (base + 2 * way) / speed};
    int          n = 0;
    for (int i = 0; i < 4; i++)
        if (at[i] < end) stops[n++] = at[i];
    stops[n++] = end;
    return n;
}

statespace_outcome statespace_drive(const statespace_problem *problem, const statespace_method *method, double tol,
                                    double end, int rounds, kd_state *x)
{
    double             stops[STATESPACE_STOPS];
    statespace_run     run = {.tol = tol, .stops = stops, .nstops = statespace_stops(end, stops)};
    statespace_outcome best = statespace_simulate(problem, method, &run, x);
    for (int r = 1; r < rounds && best.status >= 0; r++) {
        statespace_outcome now = statespace_simulate(problem, method, &run, x);
        if (now.seconds < best.seconds) best = now;
    }
    return best;
}

double statespace_difference(const statespace_problem *problem, const kd_state *a, const kd_state *b)
{
    double worst = 0;
    for (int i = 0; i < kd_eom_dims(problem->eom).np; i++)
        worst = fmax(worst, fabs(a->p[i] - b->p[i]) / fmax(1e-3, fabs(b->p[i])));
    return worst;
}

// ---- figure 5 and constraints ---------------------------------------------------------------------------------------

typedef struct record {
    const statespace_problem *problem;
    int                       n, height; // points; place of the output "height"
    double                    t[MAX_STEPS_DRAWN], z[MAX_STEPS_DRAWN], h[MAX_STEPS_DRAWN];
    double                    position, velocity; // largest residuals
} record;

static kd_eval keep(const kd_state *x, bool at_time, void *context)
{
    record *r = context;
    double  y[MAX_OUTPUTS], position, velocity;
    if (at_time) return KD_EVAL_OK;
    statespace_residuals(r->problem, x, &position, &velocity);
    r->position = fmax(r->position, position);
    r->velocity = fmax(r->velocity, velocity);
    if (r->n >= MAX_STEPS_DRAWN || !statespace_outputs(r->problem, x, y)) return KD_EVAL_OK;
    r->t[r->n] = x->t;
    r->z[r->n] = y[r->height];
    r->h[r->n] = r->n > 0 ? x->t - r->t[r->n - 1] : NAN;
    r->n++;
    return KD_EVAL_OK;
}

static void figure(bench *b, const statespace_problem *problem)
{
    static record           r;
    double                  stops[STATESPACE_STOPS];
    const statespace_method method = {.form = statespace_form(), .integrator = "sdirk"};
    const double            end = 5;
    statespace_run          run = {
                 .tol = 1e-3, .stops = stops, .nstops = statespace_stops(end, stops), .output = keep, .context = &r};
    r = (record){.problem = problem};
    r.height = statespace_output(problem, "height");
    if (r.height < 0) return;
    statespace_outcome o = statespace_simulate(problem, &method, &run, NULL);
    const bool         good = o.status >= 0;
    bench_row(b, bench_below(1e-10), NAN, good ? r.position : NAN, "", good ? "all steps" : o.message,
              "residual.position");
    bench_row(b, bench_below(1e-10), NAN, good ? r.velocity : NAN, "", good ? "all steps" : o.message,
              "residual.velocity");
    if (!good || r.n < 3) return;
    bench_row(b, bench_no_goal(false), 0.71, r.z[r.n - 1], "m", "centre of mass of another chassis than the paper's",
              "height.end");
    kd_series height = {.name = "height", .x = r.t, .y = r.z, .n = r.n};
    kd_series step = {.name = "step size", .x = r.t + 1, .y = r.h + 1, .n = r.n - 1};
    kd_plot   plots[2] = {
          {.title = "height of the chassis", .xlabel = "t [s]", .ylabel = "z [m]", .nseries = 1, .series = &height},
          {.title = "step size", .xlabel = "t [s]", .ylabel = "h [s]", .ylog = true, .nseries = 1, .series = &step}};
    bench_figure(b, "statespace-hmmwv", plots, 2, 1);
}

// ---- eigenvalue -----------------------------------------------------------------------------------------------------

// Of x' = f(x), the form ode, at the start; central differences
static void eigenvalue(bench *b, const statespace_problem *problem)
{
    char    message[300] = "";
    kd_dae *dae = NULL;
    double  dominant = 0, *J = NULL, *x = NULL;
    if (kd_formulation_create(problem->eom, NULL, problem->start, KD_ODE, NULL, &dae, message, sizeof message) < 0)
        return;
    const int    n = dae->n;
    const size_t m = (size_t)n;
    J = kd_alloc(m * m * sizeof *J);
    x = kd_alloc(5 * m * sizeof *x);
    bool good = J && x;
    if (good) kd_formulation_pack(dae, problem->start, x);
    for (int j = 0; good && j < n; j++) {
        const double h = 1e-5, kept = x[j];
        double      *high = x + m, *low = x + 2 * m;
        x[j] = kept + h;
        good = dae->methods->rhs(dae->impl, 0, x, high) == KD_EVAL_OK;
        x[j] = kept - h;
        good = good && dae->methods->rhs(dae->impl, 0, x, low) == KD_EVAL_OK;
        x[j] = kept;
        for (int i = 0; i < n; i++) J[(size_t)i + (size_t)j * m] = (high[i] - low[i]) / (2 * h);
    }
    double *re = x + 3 * m, *im = x + 4 * m;
    good = good && LAPACKE_dgeev(LAPACK_COL_MAJOR, 'N', 'N', n, J, n, re, im, NULL, 1, NULL, 1) == 0;
    for (int i = 0; good && i < n; i++)
        if (fabs(re[i]) > fabs(dominant)) dominant = re[i];
    bench_row(b, bench_between(-5e5, -5e4, false), -2.6e5, good ? dominant : NAN, "1/s", "at the start",
              "eigenvalue.dominant");
    kd_free(J);
    kd_free(x);
    kd_dae_destroy(dae);
}

// ---- ARKODE ---------------------------------------------------------------------------------------------------------

enum { LEVELS = 5 }; // tolerances 1e-4 to 1e-8

// Time at the wanted error of the positions at the end against the reference; NaN: not reached
static double time_at(bench *b, const statespace_problem *problem, const statespace_method *method, double span,
                      const kd_state *reference, kd_state *x)
{
    double    error[LEVELS], seconds[LEVELS];
    const int rounds = bench_quick(b) ? 1 : 2;
    int       done = 0;
    for (int k = 0; k < LEVELS && (k < 2 || !(error[k - 1] <= WANTED_ERROR)); k++, done++) {
        error[k] = NAN;
        statespace_outcome o = statespace_drive(problem, method, pow(10, -4 - k), span, rounds, x);
        seconds[k] = o.seconds;
        if (o.status >= 0) error[k] = statespace_difference(problem, x, reference);
        bench_say(b, "%-7s %-29s 1e%d %10.3g %8.4f s %6ld steps %6ld evaluations %s\n", method->integrator,
                  method->table                             ? method->table
                  : method->sdirk == KD_SDIRK_STAGE_ORDER_2 ? "esdirk"
                                                            : "",
                  -4 - k, error[k], o.seconds, o.stats.accepted, o.stats.residuals, o.status < 0 ? o.message : "");
    }
    return bench_crossing(done, error, seconds, WANTED_ERROR);
}

// Both with a goal: ARKODE as it comes with its best table, and with the settings that suit it best
static bench_goal arkode_goal(const char *ending)
{
    if (ending[0] == '\0') return bench_above(2);
    return strcmp(ending, ".tuned") == 0 ? bench_above(1) : bench_no_goal(true);
}

// Times at equal error, against radau on psf with a tight tolerance. ARKODE has many tables: the one of order 4 that it
// takes by itself, and those that were best among all 23 of them; as it comes, and with the settings that suit it best.
static void against_arkode(bench *b, const statespace_problem *problem)
{
    static const char *const tables[] = {NULL, "ARKODE_ESDIRK436L2SA_6_3_4", "ARKODE_QESDIRK436L2SA_6_3_4",
                                         "ARKODE_ARK436L2SA_DIRK_6_3_4", "ARKODE_ARK437L2SA_DIRK_7_3_4"};
    enum { TABLES = sizeof tables / sizeof *tables };
    const statespace_method reference = {.form = "psf", .integrator = "radau"};
    const double            span = bench_quick(b) ? 0.7 : 2;
    double                  best[2] = {INFINITY, INFINITY}, usual = NAN, own[2] = {NAN, NAN};
    const char             *names[2] = {"none", "none"};
    kd_state               *x = NULL, *y = NULL;
    char                    note[300];
    if (!kd_integrator_about(KD_ARKODE, NULL)->available) {
        static const char *const endings[] = {"", ".usual", ".tuned", ".sdirk"};
        for (int i = 0; i < 4; i++)
            bench_row_without(b, arkode_goal(endings[i]), "SUNDIALS", "libsundials-dev", "ratio.arkode_dirk.hmmwv%s",
                              endings[i]);
        return;
    }
    if (kd_state_create(problem->eom, &x) < 0 || kd_state_create(problem->eom, &y) < 0) goto done;
    if (statespace_drive(problem, &reference, 1e-10, span, 1, x).status < 0) goto done;
    for (int m = 0; m < 2; m++) {
        const statespace_method method = {.form = statespace_form(),
                                          .integrator = "sdirk",
                                          .sdirk = m == 0 ? KD_SDIRK_STAGE_ORDER_2 : KD_SDIRK_NEWTON};
        own[m] = time_at(b, problem, &method, span, x, y);
    }
    for (int m = 0; m < 2 * TABLES; m++) {
        const int               i = m % TABLES, tuned = m / TABLES;
        const statespace_method method = {
            .form = statespace_form(), .integrator = "arkode", .dirk = true, .table = tables[i], .extrapolate = tuned};
        if (tuned && i < 3) continue; // 2 to 5 times slower than the best
        const double seconds = time_at(b, problem, &method, span, x, y);
        if (m == 0) usual = seconds;
        if (seconds < best[tuned]) best[tuned] = seconds, names[tuned] = tables[i] ? tables[i] : "that of order 4";
    }
    kd_text(note, sizeof note, "error 1e-5 at %g s; sdirk --method esdirk; ARKODE as it comes, its best table %s", span,
            names[0]);
    bench_row(b, arkode_goal(""), NAN, best[0] / own[0], "", note, "ratio.arkode_dirk.hmmwv");
    bench_row(b, bench_no_goal(true), NAN, usual / own[0], "", "the same, ARKODE's usual table of order 4",
              "ratio.arkode_dirk.hmmwv.usual");
    kd_text(note, sizeof note, "the same, ARKODE with extrapolated stages and deduced slopes, best table %s", names[1]);
    bench_row(b, arkode_goal(".tuned"), NAN, best[1] / own[0], "", note, "ratio.arkode_dirk.hmmwv.tuned");
    bench_row(b, bench_no_goal(true), NAN, best[0] / own[1], "", "SDIRK 4/15 against ARKODE as it comes, best table",
              "ratio.arkode_dirk.hmmwv.sdirk");
done:
    kd_state_destroy(x);
    kd_state_destroy(y);
}

void statespace_hmmwv(bench *b)
{
    statespace_problem problem = {0};
    char               message[300] = "";
    if (statespace_open(&problem, "hmmwv", NULL, 0, KD_JOINT, message, sizeof message)) {
        if (bench_wants(b, "eigenvalue*")) eigenvalue(b, &problem);
        if (bench_wants(b, "residual*")) figure(b, &problem);
        if (bench_wants(b, "ratio.arkode*")) against_arkode(b, &problem);
    } else {
        bench_say(b, "%s\n", message);
    }
    statespace_close(&problem);
}
