// geoms_pendulum.c: the pendulum over [0, 1000]: constraints on three levels, energy, error against the exact motion,
// at every accepted step (S3 figures 1, 4, 5).
#include "common_figure.h"
#include "core/memory.h"
#include "core/text.h"
#include "geoms.h"
#include "pendulum.h"
#include <math.h>

enum { NBIN = 400, NTOL = 8, LEVELS = 3, NSHOWN = GEOMS_IDA_GGL + 1 };
enum { STANDARD = 3 }; // tolerance 1e-7 among 1e-4, 1e-5, ...
#define TOLERANCE 1e-7
#define GRAVITY KD_PENDULUM_GRAVITY_PERIOD_2
#define SMALLEST 1e-16 // shown for zero on a logarithmic axis

static const char *const level_names[LEVELS] = {"position", "velocity", "acceleration"};

// What one run shows: largest values over the run, and in each of NBIN equal spans of time.
typedef struct watch {
    kd_eom_data *data;
    double       v10, t_end;
    double       energy0;
    bool         exact; // compare with the exact motion
    double       residual[LEVELS], energy, error_p, error_v;
    double       bin_residual[LEVELS][NBIN], bin_energy[NBIN];
} watch;

// ---- watching -------------------------------------------------------------------------------------------------------

// g, gI, gII from p, v, lambda alone: a from the dynamics, where M is the identity
static bool residuals(watch *w, const kd_state *x, double out[LEVELS])
{
    double       a[2] = {0, 0}, force[2];
    kd_eom_data *d = w->data;
    const kd_fn  fn[LEVELS] = {KD_G, KD_GI, KD_GII};
    kd_eom_at_time(d, x->t, NULL, NULL, NULL, NULL);
    kd_eom_at_position(d, x->p, NULL);
    kd_eom_at_velocity(d, x->v, NULL);
    kd_eom_at_acceleration(d, a, NULL, x->lambda, NULL);
    if (kd_eom_eval(d, KD_RESIDUAL, force) != KD_EVAL_OK) return false;
    a[0] = -force[0];
    a[1] = -force[1];
    kd_eom_at_acceleration(d, a, NULL, x->lambda, NULL);
    for (int i = 0; i < LEVELS; i++)
        if (kd_eom_eval(d, fn[i], &out[i]) != KD_EVAL_OK) return false;
    return true;
}

static double energy(const double *p, const double *v)
{
    return 0.5 * (v[0] * v[0] + v[1] * v[1]) + GRAVITY * p[1];
}

static double distance(const double *x, const double *y)
{
    return fmax(fabs(x[0] - y[0]), fabs(x[1] - y[1]));
}

static void observe(const kd_state *x, void *context)
{
    watch *w = context;
    int    bin = (int)fmin(NBIN - 1, NBIN * x->t / w->t_end);
    double level[LEVELS], exact[5];
    if (!residuals(w, x, level)) level[0] = level[1] = level[2] = INFINITY;
    for (int i = 0; i < LEVELS; i++) {
        w->residual[i] = fmax(w->residual[i], fabs(level[i]));
        w->bin_residual[i][bin] = fmax(w->bin_residual[i][bin], fabs(level[i]));
    }
    double change = fabs(energy(x->p, x->v) - w->energy0);
    w->energy = fmax(w->energy, change);
    w->bin_energy[bin] = fmax(w->bin_energy[bin], change);
    if (!w->exact) return;
    geoms_pendulum_exact(GRAVITY, w->v10, x->t, exact);
    w->error_p = fmax(w->error_p, distance(x->p, exact));
    w->error_v = fmax(w->error_v, distance(x->v, exact + 2));
}

// One watched run
static bench_outcome run_watched(const bench_problem *problem, int method, double tol, double v10, bool exact, watch *w)
{
    bench_outcome out = {.status = KD_ERR_MEMORY};
    *w = (watch){.v10 = v10, .t_end = problem->t_end, .exact = exact, .energy0 = energy(problem->x->p, problem->x->v)};
    for (int i = 0; i < LEVELS; i++)
        for (int k = 0; k < NBIN; k++) w->bin_residual[i][k] = SMALLEST;
    for (int k = 0; k < NBIN; k++) w->bin_energy[k] = SMALLEST;
    if (kd_eom_data_create(problem->eom, &w->data) == KD_OK)
        out = bench_run(problem, &geoms_methods[method], tol, 0, observe, w);
    kd_eom_data_destroy(w->data);
    w->data = NULL;
    return out;
}

// ---- rows: psf with and without the energy as invariant -------------------------------------------------------------

// The worst of several runs; failed: one of them did not reach its end.
typedef struct worst {
    double residual[LEVELS], energy;
    bool   failed;
    char   note[200];
} worst;

static void note_worst(worst *all, const bench_outcome *out, const watch *w, bool invariant)
{
    for (int i = 0; i < LEVELS; i++) all->residual[i] = fmax(all->residual[i], w->residual[i]);
    if (invariant) all->energy = fmax(all->energy, w->energy);
    if (out->status >= 0) return;
    all->failed = true;
    kd_text(all->note, sizeof all->note, "%s", out->message);
}

static void case_rows(bench *b, const char *name, const char *method, bool invariant, const bench_outcome *out,
                      const watch *w)
{
    bool failed = out->status < 0;
    char note[240];
    bench_row(b, invariant ? bench_below(1e-11) : bench_no_goal(false), NAN, failed ? NAN : w->energy, "", out->message,
              "energy.%s.%s", method, name);
    kd_text(note, sizeof note, "%s", out->message);
    if (!failed) kd_text(note, sizeof note, "at t = %g; velocities %.2g", w->t_end, out->error_v);
    // with the invariant the motion should be the exact one within the tolerance
    bench_row(b, invariant ? bench_below(TOLERANCE) : bench_no_goal(false), NAN, out->error, "", note, "error.%s.%s",
              method, name);
    if (!failed) kd_text(note, sizeof note, "over the run, absolute; velocities %.2g", w->error_v);
    bench_row(b, bench_no_goal(false), NAN, failed ? NAN : w->error_p, "", note, "error_worst.%s.%s", method, name);
    bench_say(b, "%-6s %-10s %8ld %5ld %5ld %6ld  %8.1e %8.1e %8.1e  %8.1e  %8.1e %8.1e %s\n", name, method,
              out->stats.accepted, out->stats.rejected_error, out->stats.rejected_newton, out->stats.selectors,
              w->residual[0], w->residual[1], w->residual[2], w->energy, out->error, w->error_p, out->message);
}

// From the bottom with v10, or at rest from (1, 0) for v10 = 0
static void run_case(bench *b, const char *name, double v10, double t_end, watch *w, worst *all)
{
    static const struct {
        int         index;
        const char *name;
    } methods[] = {{GEOMS_PSF, "psf"}, {GEOMS_PSF_INVARIANT, "invariant"}};
    bench_problem problem;
    double        reference[5];
    bool          open = geoms_pendulum_open(&problem, GRAVITY, v10, t_end, reference, all->note, sizeof all->note);
    all->failed = all->failed || !open;
    for (int i = 0; open && i < 2; i++) {
        bool          invariant = geoms_methods[methods[i].index].invariants;
        bench_outcome out = run_watched(&problem, methods[i].index, TOLERANCE, v10, true, w);
        case_rows(b, name, methods[i].name, invariant, &out, w);
        note_worst(all, &out, w, invariant);
    }
    bench_problem_close(&problem);
}

static void long_runs(bench *b, double t_end, watch *w)
{
    worst all = {.failed = false};
    bench_say(
        b,
        "\npendulum over [0, %g], tolerance %g, worst of all accepted steps\n%-17s %8s %5s %5s %6s  %8s %8s %8s  %8s  "
        "%8s %8s\n",
        t_end, TOLERANCE, "", "accepted", "error", "Newt.", "select", "g", "gI", "gII", "energy", "err(end)",
        "err(max)");
    run_case(b, "v2.8", 2.8, t_end, w, &all);
    run_case(b, "rest", 0, t_end, w, &all);
    for (int i = 0; i < LEVELS; i++)
        bench_row(b, bench_below(1e-10), NAN, all.failed ? NAN : all.residual[i], "", all.note, "residual.%s",
                  level_names[i]);
    bench_row(b, bench_below(1e-11), NAN, all.failed ? NAN : all.energy, "", all.note, "energy.invariant");
}

// ---- figures --------------------------------------------------------------------------------------------------------

// All solvers on the pendulum from S3's start: at rest from the horizontal
typedef struct survey {
    double tol[NTOL], t[NBIN];
    watch  standard[NSHOWN];               // at TOLERANCE
    double residual[LEVELS][NSHOWN][NTOL]; // NaN: failed
} survey;

static kd_series series_of(int method, const double *x, const double *y, int n)
{
    return (kd_series){.name = geoms_methods[method].name,
                       .x = x,
                       .y = y,
                       .n = n,
                       .markers = n == NTOL,
                       .dashed = geoms_methods[method].integrator == KD_IDA};
}

static void draw_time(const bench *b, const survey *s)
{
    kd_series series[LEVELS + 1][NSHOWN];
    kd_plot   plots[LEVELS + 1];
    char      title[LEVELS + 1][80];
    for (int m = 0; m < NSHOWN; m++) {
        for (int i = 0; i < LEVELS; i++) series[i][m] = series_of(m, s->t, s->standard[m].bin_residual[i], NBIN);
        series[LEVELS][m] = series_of(m, s->t, s->standard[m].bin_energy, NBIN);
    }
    for (int i = 0; i <= LEVELS; i++) {
        kd_text(title[i], sizeof title[i], i < LEVELS ? "pendulum: constraint on %s level" : "pendulum: %s",
                i < LEVELS ? level_names[i] : "change of the total energy");
        plots[i] = (kd_plot){.title = title[i],
                             .xlabel = "t [s]",
                             .ylabel = "largest in each span",
                             .ylog = true,
                             .nseries = NSHOWN,
                             .series = series[i],
                             .note = "rtol = atol = 1e-7"};
    }
    bench_figure(b, "fig1", plots + LEVELS, 1, 1);
    bench_figure(b, "fig4", plots, LEVELS, 2);
}

static void draw_tolerance(const bench *b, const survey *s)
{
    kd_series series[LEVELS][NSHOWN];
    kd_plot   plots[LEVELS];
    char      title[LEVELS][80];
    for (int i = 0; i < LEVELS; i++) {
        for (int m = 0; m < NSHOWN; m++) series[i][m] = series_of(m, s->tol, s->residual[i][m], NTOL);
        kd_text(title[i], sizeof title[i], "pendulum: constraint on %s level", level_names[i]);
        plots[i] = (kd_plot){.title = title[i],
                             .xlabel = "tolerance",
                             .ylabel = "largest residual of the run",
                             .xlog = true,
                             .ylog = true,
                             .nseries = NSHOWN,
                             .series = series[i]};
    }
    bench_figure(b, "fig5", plots, LEVELS, 2);
}

static void say_survey(const bench *b, const survey *s, int method, int k, const bench_outcome *out)
{
    if (out->status < 0)
        bench_say(b, "%-14s %8.0e failed: %s\n", geoms_methods[method].name, s->tol[k], out->message);
    else
        bench_say(b, "%-14s %8.0e %8.1e %8.1e %8.1e\n", geoms_methods[method].name, s->tol[k],
                  s->residual[0][method][k], s->residual[1][method][k], s->residual[2][method][k]);
}

static void figures(bench *b, double t_end, survey *s)
{
    bench_problem problem;
    double        reference[5];
    char          message[200] = "";
    bool          open = geoms_pendulum_open(&problem, GRAVITY, 0, t_end, reference, message, sizeof message);
    bench_say(b, "\npendulum at rest from the horizontal over [0, %g]: worst residuals of all solvers %s\n", t_end,
              message);
    for (int k = 0; k < NBIN; k++) s->t[k] = (k + 0.5) * t_end / NBIN;
    for (int k = 0; k < NTOL; k++) s->tol[k] = pow(10, -4 - k);
    for (int m = 0; open && m < NSHOWN; m++) {
        for (int k = 0; k < NTOL; k++) {
            watch         w;
            bench_outcome out = run_watched(&problem, m, s->tol[k], 0, false, &w);
            if (k == STANDARD) s->standard[m] = w;
            for (int i = 0; i < LEVELS; i++)
                s->residual[i][m][k] = out.status < 0 ? NAN : fmax(w.residual[i], SMALLEST);
            say_survey(b, s, m, k, &out);
        }
    }
    if (open) draw_time(b, s);
    if (open) draw_tolerance(b, s);
    bench_problem_close(&problem);
}

void geoms_pendulum(bench *b)
{
    survey *s = kd_alloc(sizeof *s);
    bool    rows = bench_wants(b, "residual.") || bench_wants(b, "energy.") || bench_wants(b, "error.") ||
                bench_wants(b, "error_worst.");
    if (s && rows) long_runs(b, bench_quick(b) ? 100 : 1000, &s->standard[0]);
    if (s && bench_wants(b, "figures")) figures(b, bench_quick(b) ? 20 : 1000, s);
    if (!s) bench_row(b, bench_below(1e-10), NAN, NAN, "", "no memory", "residual.position");
    kd_free(s);
}
