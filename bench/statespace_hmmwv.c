// statespace_hmmwv.c: the HMMWV over a bump (S2 section 5.2): implicit and explicit integration (tables V and VI), step
// sizes and height (figure 5), constraints, dominant eigenvalue, and ARKODE's implicit methods on the same functions.
// Runs are cut at the four instants at which wheels meet or leave the bump.
#include "common_figure.h"
#include "common_fit.h"
#include "core/memory.h"
#include "core/text.h"
#include "statespace.h"
#include <lapacke.h>
#include <math.h>
#include <string.h>

#define WANTED_ERROR 1e-5
enum { TOLERANCES = 4, SPANS = 4, STOPS = 8, MAX_STEPS_DRAWN = 4000, MAX_OUTPUTS = 40 };

static const double paper_implicit[SPANS][TOLERANCES] = {
    {10.1, 21, 33, 57}, {25.3, 49, 78, 139}, {29.5, 58, 92, 166}, {30, 61, 94, 184}};
static const double paper_explicit[SPANS][TOLERANCES] = {
    {3618, 3641, 3667, 3663}, {7276, 7348, 7287, 7276}, {10865, 11122, 10949, 10965}, {14480, 14771, 14630, 14592}};

// The instants up to the end, as models/hmmwv.yaml has them
static int stops_until(double end, double stops[STOPS])
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

// One run of a method, the smallest time of several
static statespace_outcome simulate(const statespace_problem *problem, const statespace_method *method, double tol,
                                   double end, int rounds, kd_state *x)
{
    double             stops[STOPS];
    statespace_run     run = {.tol = tol, .stops = stops, .nstops = stops_until(end, stops)};
    statespace_outcome best = statespace_simulate(problem, method, &run, x);
    for (int r = 1; r < rounds && best.status >= 0; r++) {
        statespace_outcome now = statespace_simulate(problem, method, &run, x);
        if (now.seconds < best.seconds) best = now;
    }
    return best;
}

static double largest_difference(const statespace_problem *problem, const kd_state *a, const kd_state *b)
{
    double worst = 0;
    for (int i = 0; i < kd_eom_dims(problem->eom).np; i++)
        worst = fmax(worst, fabs(a->p[i] - b->p[i]) / fmax(1e-3, fabs(b->p[i])));
    return worst;
}

// In the norm of equal absolute and relative tolerances
static double scaled_difference(const statespace_problem *problem, const kd_state *a, const kd_state *b)
{
    double worst = 0;
    for (int i = 0; i < kd_eom_dims(problem->eom).np; i++)
        worst = fmax(worst, fabs(a->p[i] - b->p[i]) / (1 + fabs(b->p[i])));
    return worst;
}

// ---- tables V and VI ------------------------------------------------------------------------------------------------

static void implicit_table(bench *b, const statespace_problem *problem, const statespace_method *method,
                           double seconds[TOLERANCES])
{
    for (int span = 1; span <= SPANS; span++)
        for (int k = 0; k < TOLERANCES; k++) {
            statespace_outcome o =
                simulate(problem, method, pow(10, -2 - k), span, bench_quick(b) || span < SPANS ? 1 : 3, NULL);
            char note[340];
            kd_text(note, sizeof note, "%s on %s, %ld steps%s%s", method->integrator, method->form, o.stats.accepted,
                    o.status < 0 ? ": " : "", o.status < 0 ? o.message : "");
            bench_row(b, bench_no_goal(false), paper_implicit[span - 1][k], o.seconds, "s", note,
                      "time.implicit.%ds.1e%d", span, -2 - k);
            if (span == SPANS) seconds[k] = o.seconds;
        }
}

// Adams methods take steps that stability allows, at any tolerance: the second tolerance is run to the end, for the
// comparison of motions; the others, and all in a quick run, over a short time on the bump, from which 4 s follow.
// Times of 1 to 3 s are in proportion.
static void explicit_table(bench *b, const statespace_problem *problem, const statespace_problem *on_bump,
                           const statespace_method *method, double seconds[TOLERANCES], kd_state *x, bool *complete)
{
    const double span = bench_quick(b) ? 0.02 : 0.1;
    for (int k = 0; k < TOLERANCES; k++) {
        const bool         whole = k == 1 && !bench_quick(b);
        statespace_run     part = {.tol = pow(10, -2 - k), .stops = &span, .nstops = 1};
        statespace_outcome o = whole ? simulate(problem, method, part.tol, SPANS, 1, x)
                                     : statespace_simulate(on_bump, method, &part, NULL);
        char               note[340];
        seconds[k] = whole ? o.seconds : o.seconds * SPANS / span;
        if (whole) *complete = o.status >= 0;
        kd_text(note, sizeof note, "Adams on %s, %ld steps in %g s of motion%s%s%s", method->form, o.stats.accepted,
                whole ? SPANS : span, whole ? "" : ", in proportion", o.status < 0 ? ": " : "",
                o.status < 0 ? o.message : "");
        for (int end = 1; end <= SPANS; end++)
            bench_row(b, bench_no_goal(false), paper_explicit[end - 1][k], seconds[k] * end / SPANS, "s", note,
                      "time.explicit.%ds.1e%d", end, -2 - k);
    }
}

static void times(bench *b, const statespace_problem *problem, const statespace_problem *on_bump)
{
    kd_formulation          form;
    const statespace_method implicit = {.form = statespace_form(), .integrator = "sdirk"};
    const statespace_method adams = {
        .form = kd_formulation_parse("statespace", &form) ? "statespace" : "ode", .integrator = "cvode", .adams = true};
    double    own[TOLERANCES], other[TOLERANCES];
    bool      complete = false;
    kd_state *x = NULL, *y = NULL;
    if (kd_state_create(problem->eom, &x) < 0 || kd_state_create(problem->eom, &y) < 0) goto done;
    implicit_table(b, problem, &implicit, own);
    explicit_table(b, problem, on_bump, &adams, other, x, &complete);
    for (int k = 0; k < TOLERANCES; k++)
        bench_row(b,
                  k == 0   ? bench_above(150)
                  : k == 1 ? bench_above(100)
                           : bench_no_goal(true),
                  paper_explicit[SPANS - 1][k] / paper_implicit[SPANS - 1][k], other[k] / own[k], "",
                  k == 1 ? "CVODE Adams / sdirk, 4 s of motion"
                         : "CVODE Adams / sdirk, 4 s of motion; Adams in proportion from a shorter run",
                  "ratio.explicit_over_implicit.1e%d", -2 - k);
    // in the norm of the tolerances; and, as small positions count more there, in that of the errors with a tighter one
    if (complete && simulate(problem, &implicit, 1e-3, SPANS, 1, y).status >= 0)
        bench_row(b, bench_below(1e-3), NAN, scaled_difference(problem, y, x), "",
                  "positions at 4 s, both at tolerance 1e-3: |difference| / (1 + |p|)", "same_motion.1e-3");
    if (complete && simulate(problem, &implicit, 1e-4, SPANS, 1, y).status >= 0)
        bench_row(b, bench_below(1e-2), NAN, largest_difference(problem, y, x), "",
                  "the same with sdirk at 1e-4: |difference| / max(1e-3, |p|)", "same_motion.1e-4");
done:
    kd_state_destroy(x);
    kd_state_destroy(y);
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
    double                  stops[STOPS];
    const statespace_method method = {.form = statespace_form(), .integrator = "sdirk"};
    const double            end = 5;
    statespace_run          run = {
                 .tol = 1e-3, .stops = stops, .nstops = stops_until(end, stops), .output = keep, .context = &r};
    r = (record){.problem = problem};
    for (int i = 0; i < kd_eom_dims(problem->eom).ny; i++) {
        char name[64];
        kd_eom_name(problem->eom, KD_NAME_Y, i, name, sizeof name);
        if (strcmp(name, "height") == 0) r.height = i;
    }
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
        statespace_outcome o = simulate(problem, method, pow(10, -4 - k), span, rounds, x);
        seconds[k] = o.seconds;
        if (o.status >= 0) error[k] = largest_difference(problem, x, reference);
        bench_say(b, "%-7s %-29s 1e%d %10.3g %8.4f s %6ld steps %6ld evaluations %s\n", method->integrator,
                  method->table                             ? method->table
                  : method->sdirk == KD_SDIRK_STAGE_ORDER_2 ? "esdirk"
                                                            : "",
                  -4 - k, error[k], o.seconds, o.stats.accepted, o.stats.residuals, o.status < 0 ? o.message : "");
    }
    return bench_crossing(done, error, seconds, WANTED_ERROR);
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
    if (kd_state_create(problem->eom, &x) < 0 || kd_state_create(problem->eom, &y) < 0) goto done;
    if (simulate(problem, &reference, 1e-10, span, 1, x).status < 0) goto done;
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
    bench_row(b, bench_above(2), NAN, best[0] / own[0], "", note, "ratio.arkode_dirk.hmmwv");
    bench_row(b, bench_no_goal(true), NAN, usual / own[0], "", "the same, ARKODE's usual table of order 4",
              "ratio.arkode_dirk.hmmwv.usual");
    kd_text(note, sizeof note, "the same, ARKODE with extrapolated stages and deduced slopes, best table %s", names[1]);
    bench_row(b, bench_no_goal(true), NAN, best[1] / own[0], "", note, "ratio.arkode_dirk.hmmwv.tuned");
    bench_row(b, bench_no_goal(true), NAN, best[0] / own[1], "", "SDIRK 4/15 against ARKODE as it comes, best table",
              "ratio.arkode_dirk.hmmwv.sdirk");
done:
    kd_state_destroy(x);
    kd_state_destroy(y);
}

void statespace_hmmwv(bench *b)
{
    const kd_setting   reach = {"reach", "0"};
    statespace_problem problem = {0}, on_bump = {0};
    char               message[300] = "";
    if (statespace_open(&problem, "hmmwv", NULL, 0, KD_JOINT, message, sizeof message) &&
        statespace_open(&on_bump, "hmmwv", &reach, 1, KD_JOINT, message, sizeof message)) {
        if (bench_wants(b, "eigenvalue*")) eigenvalue(b, &problem);
        if (bench_wants(b, "residual*")) figure(b, &problem);
        if (bench_wants(b, "time*") || bench_wants(b, "ratio.explicit*") || bench_wants(b, "same_motion*"))
            times(b, &problem, &on_bump);
        if (bench_wants(b, "ratio.arkode*")) against_arkode(b, &problem);
    } else {
        bench_say(b, "%s\n", message);
    }
    statespace_close(&problem);
    statespace_close(&on_bump);
}
