// bench_explicit.c: time of the explicit methods at error 1e-6 with all constraints to rounding, beside ARKODE's best
// explicit method and CVODE's Adams methods without projection, all on the same right-hand side of the form ode.
#include "common_fit.h"
#include "common_rows.h"
#include "common_run.h"
#include "core/memory.h"
#include "core/text.h"
#include "explicit.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TARGET 1e-6       // error at which times are compared
#define CONSTRAINTS 1e-11 // largest violation that is allowed to the methods with projection
#define ERROR_FLOOR 1e-3
enum { MAX_TOL = 12, ROUNDS = 15 };

typedef struct method {
    const char        *name;
    kd_integrator_kind integrator;
    int                order; // of arkode
    bool               projected;
} method;

enum { DOPRI5, DOP853, HALF_EXPLICIT };
static const method methods[] = {
    [DOPRI5] = {"dopri5", KD_DOPRI5, 0, true},
    [DOP853] = {"dop853", KD_DOP853, 0, true},
    [HALF_EXPLICIT] = {"half-explicit", KD_HALF_EXPLICIT, 0, true},
    {"dop853 drifting", KD_DOP853, 0, false},
    {"arkode erk 4", KD_ARKODE, 4, false},
    {"arkode erk 5", KD_ARKODE, 5, false},
    {"arkode erk 6", KD_ARKODE, 6, false},
    {"arkode erk 8", KD_ARKODE, 8, false},
    {"cvode adams", KD_CVODE, 0, false},
    {"extrapolation", KD_EXTRAPOLATION, 0, true},
    {"adams", KD_ADAMS, 0, true},
};
enum { METHODS = sizeof methods / sizeof *methods };

typedef struct outcome {
    double error, seconds, violation;
    long   evaluations, steps, rejected;
    char   message[200];
} outcome;

typedef struct solver {
    const bench_problem *problem;
    kd_dae              *dae;
    kd_integrator       *self;
    double              *x0;
    kd_eom_data         *data;
    double              *rows; // (nlambda)
    char                 message[200];
} solver;

// ---- one run --------------------------------------------------------------------------------------------------------

static kd_status open_solver(solver *s, const bench_problem *problem, const method *m, double tol)
{
    kd_simulation_options o = kd_simulation_options_default();
    *s = (solver){.problem = problem};
    o.integrator = m->integrator;
    o.integrator_options.rtol = o.integrator_options.atol = tol;
    o.integrator_options.max_steps = LONG_MAX / 2;
    if (m->order > 0) o.integrator_options.arkode.order = m->order;
    o.integrator_options.cvode.method = KD_CVODE_ADAMS;
    o.formulation_options.projection = m->projected ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER;
    kd_status status = kd_formulation_create(problem->eom, &problem->inputs, problem->x, KD_ODE, &o.formulation_options,
                                             &s->dae, s->message, sizeof s->message);
    if (status >= 0)
        status =
            kd_integrator_create(s->dae, o.integrator, &o.integrator_options, &s->self, s->message, sizeof s->message);
    if (status >= 0) status = kd_eom_data_create(problem->eom, &s->data);
    if (status < 0) return status;
    s->x0 = kd_alloc((size_t)s->dae->n * sizeof(double));
    s->rows = kd_alloc((size_t)kd_eom_dims(problem->eom).nlambda * sizeof(double));
    if (!s->x0 || !s->rows) return KD_ERR_MEMORY;
    kd_formulation_pack(s->dae, problem->x, s->x0);
    return KD_OK;
}

static void close_solver(solver *s)
{
    if (s->self) kd_integrator_destroy(s->self);
    kd_dae_destroy(s->dae);
    kd_eom_data_destroy(s->data);
    kd_free(s->x0);
    kd_free(s->rows);
}

// largest entry of g and gI at the present point
static double violation(solver *s)
{
    kd_dims       d = kd_eom_dims(s->problem->eom);
    const double *x = kd_integrator_x(s->self);
    double        most = 0;
    kd_eom_at_parameters(s->data, s->problem->x->theta);
    kd_eom_at_time(s->data, kd_integrator_time(s->self), NULL, NULL, NULL, s->problem->x->z);
    kd_eom_at_position(s->data, x, s->problem->x->s);
    kd_eom_at_velocity(s->data, x + d.np, x + d.np + d.nv);
    for (int level = 0; level < 2; level++) {
        if (kd_eom_eval(s->data, level == 0 ? KD_G : KD_GI, s->rows) != KD_EVAL_OK) return NAN;
        for (int i = 0; i < d.nlambda; i++) most = fmax(most, fabs(s->rows[i]));
    }
    return most;
}

static kd_status integrate(solver *s, double *worst)
{
    double    t_end = s->problem->t_end;
    kd_status status = kd_integrator_restart(s->self, s->problem->x->t, s->x0, false);
    while (status >= 0 && kd_integrator_time(s->self) < t_end) {
        status = kd_integrator_step(s->self, t_end);
        if (worst && status >= 0) *worst = fmax(*worst, violation(s));
    }
    if (status < 0) kd_text(s->message, sizeof s->message, "%s", kd_integrator_message(s->self));
    return status;
}

static double error_of(const solver *s)
{
    const double *x = kd_integrator_x(s->self), *ref = s->problem->reference;
    double        worst = 0;
    for (int i = 0; i < kd_eom_dims(s->problem->eom).np; i++)
        if (!isnan(ref[i])) worst = fmax(worst, fabs(x[i] - ref[i]) / fmax(ERROR_FLOOR, fabs(ref[i])));
    return worst;
}

// The smaller of *out and one more measurement; the first one looks at the constraints as well
static void measure(const bench_problem *problem, const method *m, double tol, bool first, double min_seconds,
                    outcome *out)
{
    solver    s;
    kd_status status = open_solver(&s, problem, m, tol);
    double    used = 0;
    int       runs = 0;
    if (first) *out = (outcome){.error = NAN, .seconds = NAN};
    if (first && status >= 0 && integrate(&s, &out->violation) >= 0) {
        kd_stats stats = kd_integrator_stats(s.self);
        out->error = error_of(&s);
        out->evaluations = stats.residuals;
        out->steps = stats.accepted;
        out->rejected = stats.rejected_error;
    }
    while (status >= 0 && (runs == 0 || used < min_seconds)) {
        double start = bench_cpu_seconds();
        status = integrate(&s, NULL);
        used += bench_cpu_seconds() - start;
        runs++;
    }
    if (status >= 0) out->seconds = fmin(first ? INFINITY : out->seconds, used / runs);
    kd_text(out->message, sizeof out->message, "%s", s.message);
    close_solver(&s);
}

// ---- one problem ----------------------------------------------------------------------------------------------------

typedef struct campaign {
    const bench_problem *problem;
    int                  ntol;
    double               tol[MAX_TOL];
    outcome              out[METHODS][MAX_TOL];
} campaign;

static double time_at_target(const campaign *c, int m)
{
    double error[MAX_TOL], seconds[MAX_TOL];
    for (int k = 0; k < c->ntol; k++) {
        error[k] = c->out[m][k].error;
        seconds[k] = c->out[m][k].seconds;
    }
    return bench_crossing(c->ntol, error, seconds, TARGET);
}

// fastest method of a kind at the target; -1: none reaches it
static int best_of(const campaign *c, kd_integrator_kind first, kd_integrator_kind last, bool projected)
{
    int best = -1;
    for (int m = 0; m < METHODS; m++) {
        if (methods[m].integrator < first || methods[m].integrator > last || methods[m].projected != projected)
            continue;
        double now = time_at_target(c, m);
        if (!isnan(now) && (best < 0 || now < time_at_target(c, best))) best = m;
    }
    return best;
}

static void say_curves(const bench *b, const campaign *c)
{
    bench_say(b, "\n%s over [0, %g]: error in p, CPU time [ms], evaluations, rejected steps\n", c->problem->name,
              c->problem->t_end);
    for (int m = 0; m < METHODS; m++) {
        bench_say(b, "%16s", methods[m].name);
        for (int k = 0; k < c->ntol; k++) {
            const outcome *o = &c->out[m][k];
            bench_say(b, "  %7.1e %6.3f %5ld %3ld", o->error, 1e3 * o->seconds, o->evaluations, o->rejected);
        }
        bench_say(b, "\n");
    }
}

static void ratio_row(bench *b, const campaign *c, const char *peer, kd_integrator_kind integrator, double goal)
{
    if (!(integrator == KD_ARKODE ? kd_integrator_about(KD_ARKODE, NULL)->available
                                  : kd_integrator_about(KD_CVODE, NULL)->available)) {
        bench_row_without(b, bench_above(goal), "SUNDIALS", "libsundials-dev", "ratio.%s.%s", peer, c->problem->name);
        return;
    }
    int  own = best_of(c, KD_DOPRI5, KD_DOP853, true), other = best_of(c, integrator, integrator, false);
    char note[200];
    kd_text(note, sizeof note, "%s, projected, beside %s", own < 0 ? "none" : methods[own].name,
            other < 0 ? "none" : methods[other].name);
    double ratio = own < 0 || other < 0 ? NAN : time_at_target(c, other) / time_at_target(c, own);
    bench_row(b, bench_above(goal), NAN, ratio, "", note, "ratio.%s.%s", peer, c->problem->name);
    if (other >= 0)
        bench_row(b, bench_no_goal(false), NAN, 1e3 * time_at_target(c, other), "ms", methods[other].name, "time.%s.%s",
                  peer, c->problem->name);
}

static void rows(bench *b, const campaign *c)
{
    const char *name = c->problem->name;
    double      most = 0;
    ratio_row(b, c, "arkode_erk", KD_ARKODE, 2.2);
    ratio_row(b, c, "cvode_adams", KD_CVODE, 4);
    bench_row(b, bench_below(1.2), NAN, time_at_target(c, HALF_EXPLICIT) / time_at_target(c, DOPRI5), "",
              "half-explicit / dopri5, both projected", "ratio.half_explicit.%s", name);
    for (int m = 0; m < METHODS; m++) {
        if (!methods[m].projected) continue;
        bench_row(b, bench_no_goal(false), NAN, 1e3 * time_at_target(c, m), "ms", "", "time.%s.%s", methods[m].name,
                  name);
        for (int k = 0; k < c->ntol; k++) most = fmax(most, c->out[m][k].violation);
    }
    bench_row(b, bench_below(CONSTRAINTS), NAN, most, "", "largest |g|, |gI| at all steps, all tolerances",
              "violation.explicit.%s", name);
}

static void campaign_of(bench *b, const char *name)
{
    bench_problem problem;
    campaign      c = {.problem = &problem, .ntol = 11};
    char          message[200] = "";
    bool          quick = bench_quick(b);
    if (!bench_wants(b, "ratio.arkode_erk.%s", name) && !bench_wants(b, "ratio.cvode_adams.%s", name) &&
        !bench_wants(b, "ratio.half_explicit.%s", name))
        return;
    if (!bench_problem_open(&problem, name, message, sizeof message)) {
        bench_row(b, bench_above(2.2), NAN, NAN, "", message, "ratio.arkode_erk.%s", name);
        return;
    }
    for (int k = 0; k < c.ntol; k++) c.tol[k] = pow(10, -4 - 0.5 * k);
    for (int round = 0; round < (quick ? 1 : ROUNDS); round++) // many short ones: other programs slow some of them down
        for (int k = 0; k < c.ntol; k++)
            for (int m = 0; m < METHODS; m++) measure(&problem, &methods[m], c.tol[k], round == 0, 0.002, &c.out[m][k]);
    say_curves(b, &c);
    rows(b, &c);
    bench_problem_close(&problem);
}

int main(int argc, char **argv)
{
    int    exit_status;
    bench *b =
        bench_create(argc, argv, "Explicit methods with projection beside those of SUNDIALS without.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    campaign_of(b, "caraxis");
    campaign_of(b, "andrews");
    explicit_constants(b);
    return bench_end(b);
}
