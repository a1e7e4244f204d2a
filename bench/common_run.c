// common_run.c: runs of formulation + integrator on a problem, their errors and their time.
#include "common_run.h"
#include "core/memory.h"
#include "core/text.h"
#include "gallery.h"
#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define MAX_STEPS 20000000L
#define CLOCK_STEPS 256  // steps between two looks at the clock
#define PATIENCE 30      // a method may need so many times the time of the first one
#define ERROR_FLOOR 1e-3 // |ref| below which the error is absolute

double bench_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- problems -------------------------------------------------------------------------------------------------------

bool bench_problem_start(bench_problem *problem, char *message, size_t size)
{
    kd_initial_options options = kd_initial_options_default();
    return kd_initial_consistent(problem->eom, &problem->inputs, &options, problem->x, message, size) >= 0;
}

bool bench_problem_open(bench_problem *problem, const char *name, char *message, size_t size)
{
    const kd_example *example = kd_gallery_find(name);
    *problem = (bench_problem){.name = name};
    if (!example || example->create(&problem->eom, &problem->x, &problem->inputs) < 0) {
        kd_text(message, size, "%s: no such example, or no memory", name);
        return false;
    }
    problem->t_end = example->t_end;
    problem->reference = example->reference;
    problem->digits = example->digits;
    return bench_problem_start(problem, message, size);
}

void bench_problem_close(bench_problem *problem)
{
    kd_state_destroy(problem->x);
    kd_eom_destroy(problem->eom);
    *problem = (bench_problem){0};
}

// ---- one solver: formulation and integrator -------------------------------------------------------------------------

typedef struct solver {
    const bench_problem *problem;
    kd_dae              *dae;
    kd_integrator       *self;
    double              *vector; // (dae->n) start
    kd_state            *x;      // as observed
    char                 message[200];
} solver;

static kd_status create_integrator(solver *s, const bench_method *method, double tol, double h_first)
{
    kd_simulation_options o = kd_simulation_options_default();
    o.integrator = method->integrator;
    o.integrator_options.rtol = o.integrator_options.atol = tol;
    o.integrator_options.max_steps = LONG_MAX / 2;
    o.integrator_options.h_first = h_first;
    o.integrator_options.ida.suppress_algebraic = !method->all_in_error;
    o.integrator_options.ida.own_linear_algebra = method->own_linear;
    if (method->order_max > 0) o.integrator_options.radau.order_max = method->order_max;
    o.integrator_options.radau.order_fixed = method->order_fixed;
    return kd_integrator_create(s->dae, o.integrator, &o.integrator_options, &s->self, s->message, sizeof s->message);
}

static kd_status solver_create(solver *s, const bench_problem *problem, const bench_method *method, double tol,
                               double h_first)
{
    *s = (solver){.problem = problem};
    kd_formulation_options o = kd_formulation_options_default();
    o.invariants = method->invariants;
    o.projection = method->projection;
    if (method->invariants && kd_eom_dims(problem->eom).ne == 0) {
        kd_text(s->message, sizeof s->message, "no known invariants");
        return KD_ERR_UNSUPPORTED;
    }
    kd_status status = kd_formulation_create(problem->eom, &problem->inputs, problem->x, method->formulation, &o,
                                             &s->dae, s->message, sizeof s->message);
    if (status >= 0) status = create_integrator(s, method, tol, h_first);
    if (status >= 0) status = kd_state_create(problem->eom, &s->x);
    if (status < 0) return status;
    kd_state_copy(problem->x, s->x);
    s->vector = kd_alloc((size_t)s->dae->n * sizeof *s->vector);
    if (!s->vector) return KD_ERR_MEMORY;
    kd_formulation_pack(s->dae, problem->x, s->vector);
    return KD_OK;
}

static void solver_destroy(solver *s)
{
    if (s->self) kd_integrator_destroy(s->self);
    kd_dae_destroy(s->dae);
    kd_state_destroy(s->x);
    kd_free(s->vector);
}

static double time_of(const solver *s)
{
    return kd_integrator_time(s->self);
}

static void take_state(solver *s)
{
    kd_formulation_unpack(s->dae, time_of(s), kd_integrator_x(s->self), s->x);
}

static kd_status integrate(solver *s, bench_observer observe, void *context, double max_seconds)
{
    const double limit = bench_cpu_seconds() + max_seconds;
    const double t0 = s->problem->x->t, t_end = s->problem->t_end;
    kd_formulation_pack(s->dae, s->problem->x, s->vector); // coordinates may have changed in the last run
    kd_status status = kd_integrator_restart(s->self, t0, s->vector, KD_RESTART_FRESH);
    if (observe && status >= 0) observe(s->problem->x, context);
    for (long n = 1; status >= 0 && time_of(s) < t_end; n++) {
        if (n > MAX_STEPS || (n % CLOCK_STEPS == 0 && bench_cpu_seconds() > limit)) {
            kd_text(s->message, sizeof s->message, "given up at t = %.6g after %.3g s", time_of(s), max_seconds);
            return KD_ERR_TOO_MANY_STEPS;
        }
        status = kd_integrator_step(s->self, t_end);
        if (!observe || status < 0) continue;
        take_state(s);
        observe(s->x, context);
    }
    if (status < 0) kd_text(s->message, sizeof s->message, "%s", kd_integrator_message(s->self));
    return status;
}

// ---- errors ---------------------------------------------------------------------------------------------------------

static double relative_error(const double *x, const double *reference, int n)
{
    double worst = NAN;
    for (int i = 0; i < n; i++)
        if (!isnan(reference[i]))
            worst = fmax(worst, fabs(x[i] - reference[i]) / fmax(ERROR_FLOOR, fabs(reference[i])));
    return worst;
}

static double mescd(const double *x, const double *reference, int n)
{
    double worst = NAN;
    for (int i = 0; i < n; i++)
        if (!isnan(reference[i])) worst = fmax(worst, fabs(x[i] - reference[i]) / (1 + fabs(reference[i])));
    return -log10(fmax(worst, 1e-17)); // not a number if nothing is known
}

static void measure_error(const solver *s, bench_outcome *out)
{
    const double *ref = s->problem->reference;
    kd_dims       D = kd_eom_dims(s->problem->eom);
    if (!ref || out->status < 0) return;
    out->error = relative_error(s->x->p, ref, D.np);
    out->error_v = relative_error(s->x->v, ref + D.np, D.nv);
    out->error_lambda = relative_error(s->x->lambda, ref + (s->x->lambda - s->x->p), D.nlambda);
    out->mescd_p = mescd(s->x->p, ref, D.np);
    out->mescd_v = mescd(s->x->v, ref + D.np, D.nv);
}

static bench_outcome unknown(double tol)
{
    return (bench_outcome){
        .tol = tol, .error = NAN, .error_v = NAN, .error_lambda = NAN, .mescd_p = NAN, .mescd_v = NAN, .seconds = NAN};
}

static void describe(solver *s, bench_outcome *out)
{
    if (s->self) {
        if (out->status >= 0) take_state(s);
        out->t = time_of(s);
        out->stats = kd_integrator_stats(s->self);
    }
    measure_error(s, out);
    if (out->status < 0) kd_text(out->message, sizeof out->message, "%s", s->message);
}

// ---- runs -----------------------------------------------------------------------------------------------------------

bench_outcome bench_run(const bench_problem *problem, const bench_method *method, double tol, double h_first,
                        bench_observer observe, void *context)
{
    bench_outcome out = unknown(tol);
    solver        s;
    out.status = solver_create(&s, problem, method, tol, h_first);
    if (out.status >= 0) out.status = integrate(&s, observe, context, INFINITY);
    describe(&s, &out);
    solver_destroy(&s);
    return out;
}

bench_outcome bench_run_timed(const bench_problem *problem, const bench_method *method, double tol, double min_seconds,
                              double max_seconds)
{
    bench_outcome out = unknown(tol);
    solver        s;
    double        used = 0;
    int           runs = 0;
    out.status = solver_create(&s, problem, method, tol, 0);
    while (out.status >= 0 && (runs == 0 || used < min_seconds)) {
        double start = bench_cpu_seconds();
        out.status = integrate(&s, NULL, NULL, max_seconds);
        used += bench_cpu_seconds() - start;
        if (runs++ == 0) describe(&s, &out);
    }
    if (runs == 0) describe(&s, &out);
    if (out.status >= 0) out.seconds = used / runs;
    solver_destroy(&s);
    return out;
}

// One more measurement of method m with tolerance k
static void measure_again(const bench_problem *problem, const bench_method *method, const bench_outcome *first,
                          double min_seconds, bool again, bench_outcome *best)
{
    double        limit = first == best || first->status < 0 ? INFINITY : fmax(min_seconds, PATIENCE * first->seconds);
    bench_outcome now = bench_run_timed(problem, method, best->tol, min_seconds, limit);
    if (!again || now.seconds < best->seconds) *best = now;
}

void bench_work_precision(const bench_problem *problem, const bench_method *methods, int nmethods, const double *tol,
                          int ntol, int rounds, double min_seconds, bench_outcome *out)
{
    for (int r = 0; r < rounds; r++) {
        for (int k = 0; k < ntol; k++) {
            for (int m = 0; m < nmethods; m++) {
                bench_outcome *o = &out[m * ntol + k];
                bool           hopeless = k > 1 && o[-1].status < 0 && o[-2].status < 0;
                if (r == 0) *o = unknown(tol[k]);
                if (r == 0 && hopeless) {
                    o->status = o[-1].status;
                    o->skipped = true;
                    kd_text(o->message, sizeof o->message, "not tried: two looser tolerances failed");
                }
                if (o->status >= 0) measure_again(problem, &methods[m], &out[k], min_seconds, r > 0, o);
            }
        }
    }
}
