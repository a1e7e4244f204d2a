// index_wheelset.c: the hunting wheelset (S1 figures 2, 3, 4), and how many digits each form reaches.
#include "common_figure.h"
#include "common_fit.h"
#include "core/text.h"
#include "index.h"
#include <math.h>

enum { SAMPLES = 1001, MAX_TOL = 5 }; // each 0.01 s
enum { PERIOD = 20 };                 // samples of one oscillation
#define T_END 10.0
#define SMALLEST 1e-17 // shown for zero on a logarithmic axis

typedef struct trace {
    kd_eom_data *data;
    double       lateral[SAMPLES];   // displacement x
    double       violation[SAMPLES]; // |g| of the right wheel
} trace;

typedef struct wheelset {
    bench_problem problem;
    kd_state     *x;
    double        t[SAMPLES];
    trace         reference;
    double        amplitude;
    char          message[200];
} wheelset;

static void watch_trace(const kd_state *x, int sample, void *context)
{
    trace *r = context;
    double g[2] = {0, 0};
    r->lateral[sample] = x->p[0];
    kd_eom_at_time(r->data, x->t, NULL, NULL, NULL, NULL);
    kd_eom_at_position(r->data, x->p, x->s);
    if (kd_eom_eval(r->data, KD_G, g) != KD_EVAL_OK) g[1] = NAN;
    r->violation[sample] = fmax(SMALLEST, fabs(g[1]));
}

static bool run(wheelset *w, const index_method *method, trace *r)
{
    r->data = w->reference.data;
    for (int i = 0; i < SAMPLES; i++) r->lateral[i] = r->violation[i] = NAN;
    return index_run(&w->problem, method, w->t, SAMPLES, watch_trace, r, w->x, w->message, sizeof w->message) >= 0;
}

static bool open_wheelset(wheelset *w)
{
    const index_method exact = {.form = KD_PSF, .integrator = KD_BDF, .rtol = 1e-11, .atol = 1e-13};
    *w = (wheelset){.amplitude = 0};
    if (!bench_problem_open(&w->problem, "wheelset", w->message, sizeof w->message) ||
        kd_state_create(w->problem.eom, &w->x) != KD_OK ||
        kd_eom_data_create(w->problem.eom, &w->reference.data) != KD_OK)
        return false;
    for (int i = 0; i < SAMPLES; i++) w->t[i] = T_END * i / (SAMPLES - 1);
    if (!run(w, &exact, &w->reference)) return false;
    for (int i = 0; i < SAMPLES; i++) w->amplitude = fmax(w->amplitude, fabs(w->reference.lateral[i]));
    return true;
}

static void close_wheelset(wheelset *w)
{
    kd_eom_data_destroy(w->reference.data);
    kd_state_destroy(w->x);
    bench_problem_close(&w->problem);
}

// ---- figure 2 -------------------------------------------------------------------------------------------------------

static void figure_2(bench *b, const wheelset *w)
{
    const kd_series series = {.x = w->t, .y = w->reference.lateral, .n = SAMPLES};
    const kd_plot   plot = {.title = "Hunting motion of the wheelset (S1 figure 2)",
                            .xlabel = "t [s]",
                            .ylabel = "lateral displacement [m]",
                            .nseries = 1,
                            .series = &series};
    bench_figure(b, "index-hunting", &plot, 1, 1);
}

// ---- figure 3 -------------------------------------------------------------------------------------------------------

typedef struct panel {
    const char    *name, *title;
    kd_formulation form;
    double         kappa;
    bool           start_zero;
} panel;

static const panel panels[] = {
    {"kappa0.03", "index 3, kappa = 0.03", KD_INDEX3, 0.03, true},
    {"kappa1e-5", "index 3, kappa = 1e-5", KD_INDEX3, 1e-5, true},
    {"index2.kappa0.03", "index 2, kappa = 0.03", KD_INDEX2, 0.03, true},
    {"default", "index 3, kardan's rule, extrapolated starting values", KD_INDEX3, 0, false},
};
enum { PANELS = sizeof panels / sizeof *panels };

static bench_goal goal_of(const panel *p)
{
    if (p->start_zero && p->form == KD_INDEX3) return p->kappa > 1e-3 ? bench_above(1e-3) : bench_below(2e-3);
    return bench_no_goal(false);
}

// Largest error over the run, part of the amplitude; error[] gets the largest one of the last period, over time
static double error_over_time(const wheelset *w, const trace *r, double *error)
{
    double worst = 0;
    for (int i = 0; i < SAMPLES; i++) {
        error[i] = SMALLEST;
        for (int k = i < PERIOD ? 0 : i - PERIOD; k <= i; k++)
            error[i] = fmax(error[i], fabs(r->lateral[k] - w->reference.lateral[k]));
        worst = fmax(worst, error[i] / w->amplitude);
    }
    return worst;
}

static void one_panel(bench *b, wheelset *w, const panel *p, int ntol, double error[][SAMPLES])
{
    double       tol[MAX_TOL], worst[MAX_TOL];
    static trace r; // too large for the stack
    for (int k = 0; k < ntol; k++) {
        tol[k] = pow(10, -6 - k);
        const index_method method = {
            .form = p->form, .rtol = tol[k], .atol = 0.01 * tol[k], .kappa = p->kappa, .start_zero = p->start_zero};
        w->message[0] = '\0';
        worst[k] = run(w, &method, &r) ? error_over_time(w, &r, error[k]) : NAN;
        for (int i = 0; i < SAMPLES && isnan(worst[k]); i++) error[k][i] = NAN;
        bench_row(b, goal_of(p), NAN, worst[k], "", isnan(worst[k]) ? w->message : "of the amplitude",
                  "fig3.error.%s.%.0e", p->name, tol[k]);
    }
    bench_row(b, p->kappa == 1e-5 ? bench_above(0.4) : bench_no_goal(true), NAN, bench_slope(ntol, tol, worst), "",
              "of log error over log TOL", "fig3.slope.%s", p->name);
}

static void figure_3(bench *b, wheelset *w)
{
    static double error[PANELS][MAX_TOL][SAMPLES];
    static char   names[MAX_TOL][20];
    kd_series     series[PANELS][MAX_TOL];
    kd_plot       plots[PANELS];
    const int     ntol = bench_quick(b) ? 3 : MAX_TOL;
    if (!bench_wants(b, "fig3.*")) return;
    for (int k = 0; k < ntol; k++) kd_text(names[k], sizeof names[k], "TOL = %.0e", pow(10, -6 - k));
    for (int i = 0; i < PANELS; i++) {
        one_panel(b, w, &panels[i], ntol, error[i]);
        for (int k = 0; k < ntol; k++)
            series[i][k] = (kd_series){.name = names[k], .x = w->t + 1, .y = error[i][k] + 1, .n = SAMPLES - 1};
        plots[i] = (kd_plot){.title = panels[i].title,
                             .xlabel = "t [s]",
                             .ylabel = "error of the displacement [m]",
                             .ylog = true,
                             .nseries = ntol,
                             .series = series[i],
                             .note = "radau on the wheelset (S1 figure 3); largest error of one period"};
    }
    bench_figure(b, "index-newton", plots, PANELS, 2);
}

// ---- figure 4 -------------------------------------------------------------------------------------------------------

// Largest value up to each time: drift without the zeros between changes of sign
static void envelope(const double *y, double *out)
{
    double most = 0;
    for (int i = 0; i < SAMPLES; i++) out[i] = most = fmax(most, y[i]);
}

static void figure_4(bench *b, wheelset *w)
{
    static const struct {
        const char    *name;
        kd_formulation form;
    } forms[] = {{"index2", KD_INDEX2}, {"index1", KD_INDEX1}, {"ggl", KD_GGL}};
    static trace r[3];
    double       grown[SAMPLES];
    kd_series    series[3];
    if (!bench_wants(b, "fig4.*")) return;
    for (int k = 0; k < 3; k++) {
        const index_method method = {.form = forms[k].form, .rtol = 1e-6, .atol = 1e-8, .kappa = 0.03};
        const bool         good = run(w, &method, &r[k]);
        envelope(r[k].violation, grown);
        bench_row(b, bench_no_goal(false), NAN, good ? grown[SAMPLES - 1] : NAN, "m", w->message, "fig4.distance.%s",
                  forms[k].name);
        if (forms[k].form != KD_GGL)
            bench_row(b, bench_no_goal(false), NAN,
                      bench_slope(SAMPLES - SAMPLES / 10, w->t + SAMPLES / 10, grown + SAMPLES / 10), "",
                      "of log distance over log t, t from 1 to 10 s", "fig4.slope.%s", forms[k].name);
        series[k] = (kd_series){.name = forms[k].name, .x = w->t + 1, .y = r[k].violation + 1, .n = SAMPLES - 1};
    }
    const kd_plot plot = {.title = "Drift of the right wheel from its rail (S1 figure 4)",
                          .xlabel = "t [s]",
                          .ylabel = "|g_r| [m]",
                          .ylog = true,
                          .nseries = 3,
                          .series = series,
                          .note = "radau, TOL = 1e-6, kappa = 0.03"};
    bench_figure(b, "index-drift-wheelset", &plot, 1, 1);
}

// ---- digits ---------------------------------------------------------------------------------------------------------

// Digits of the worst component of [p v s lambda], relative to the component itself (index 3: positions, as in
// bench_run)
static double digits(const bench_problem *problem, const kd_state *x, bool positions)
{
    double    error = 0;
    const int n = positions ? kd_eom_dims(problem->eom).np : x->n;
    for (int i = 0; i < n; i++) {
        const double r = problem->reference[i];
        error = fmax(error, fabs(x->p[i] - r) / fmax(positions ? 1e-3 : 0, fabs(r)));
    }
    return -log10(error);
}

static void nothing(const kd_state *x, int sample, void *context)
{
    (void)x, (void)sample, (void)context;
}

static void all_forms(bench *b, wheelset *w)
{
    static const struct {
        kd_formulation     form;
        kd_integrator_kind integrator;
        kd_projection      projection;
        double             tol, kappa;
    } runs[] = {
        {KD_PSF, KD_RADAU, KD_PROJECT_NEVER, 1e-11, 0},     {KD_PSF1, KD_RADAU, KD_PROJECT_NEVER, 1e-11, 0},
        {KD_GGL, KD_RADAU, KD_PROJECT_NEVER, 1e-11, 0},     {KD_INDEX3, KD_RADAU, KD_PROJECT_NEVER, 1e-12, 0},
        {KD_INDEX2, KD_RADAU, KD_PROJECT_ALWAYS, 1e-11, 0}, {KD_INDEX1, KD_RADAU, KD_PROJECT_ALWAYS, 1e-11, 0},
        {KD_PSF, KD_BDF, KD_PROJECT_NEVER, 1e-10, 0},       {KD_PSF1, KD_BDF, KD_PROJECT_NEVER, 1e-10, 0},
        {KD_GGL, KD_BDF, KD_PROJECT_NEVER, 1e-10, 0},       {KD_ODASSL, KD_BDF, KD_PROJECT_NEVER, 1e-10, 0},
        {KD_INDEX3, KD_BDF, KD_PROJECT_NEVER, 1e-12, 1e-4}, {KD_INDEX2, KD_BDF, KD_PROJECT_ALWAYS, 1e-10, 0},
        {KD_INDEX1, KD_BDF, KD_PROJECT_ALWAYS, 1e-10, 0},
    };
    const double end = T_END;
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        const index_method method = {.form = runs[k].form,
                                     .integrator = runs[k].integrator,
                                     .projection = runs[k].projection,
                                     .rtol = runs[k].tol,
                                     .atol = 0.01 * runs[k].tol,
                                     .kappa = runs[k].kappa};
        const char *form = kd_formulation_word(runs[k].form), *integrator = kd_integrator_word(runs[k].integrator);
        const char *projected = runs[k].projection == KD_PROJECT_NEVER ? "" : "+projection";
        if (!bench_wants(b, "digits.%s%s.%s", form, projected, integrator)) continue;
        const bool good =
            index_run(&w->problem, &method, &end, 1, nothing, NULL, w->x, w->message, sizeof w->message) >= 0;
        bench_row(b, bench_above(6), NAN, good ? digits(&w->problem, w->x, runs[k].form == KD_INDEX3) : NAN, "digits",
                  w->message, "digits.%s%s.%s", form, projected, integrator);
    }
}

void index_wheelset(bench *b)
{
    static wheelset w; // too large for the stack
    if (!bench_wants(b, "fig3.*") && !bench_wants(b, "fig4.*") && !bench_wants(b, "digits.*")) return;
    if (open_wheelset(&w)) {
        figure_2(b, &w);
        figure_3(b, &w);
        figure_4(b, &w);
        if (!bench_quick(b)) all_forms(b, &w);
    } else {
        bench_row(b, bench_no_goal(false), NAN, NAN, "", w.message, "fig3.error");
    }
    close_wheelset(&w);
}
