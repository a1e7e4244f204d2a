// hybrid_sampled.c: CPU time per step of the truck with sampled actuators over that with continuous ones, whose steps
// are not longer than a period. Runs are interleaved; the ratio is the median of the repetitions' ratios. Errors are
// those against a sampled run with a tight tolerance: a cheap restart must not cost accuracy.
#include "core/memory.h"
#include "core/text.h"
#include "hybrid.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 31 };
static const double TOLERANCE = 1e-6, TIGHT = 1e-10, SAMPLED_GOAL = 1.5;

typedef struct method {
    const char        *name; // of rows; "" is the default method
    kd_formulation     formulation;
    kd_integrator_kind integrator;
    bool               own_matrices; // ida: Newton matrices of kardan instead of differences
    bool               is_peer;
} method;
static const method methods[] = {
    {"", KD_PSF, KD_RADAU, false, false},
    {"radau-ggl", KD_GGL, KD_RADAU, false, false},
    {"radau-statespace", KD_STATESPACE, KD_RADAU, false, false},
    {"bdf-ggl", KD_GGL, KD_BDF, false, false},
    {"bdf-psf", KD_PSF, KD_BDF, false, false},
    {"sdirk-psf", KD_PSF, KD_SDIRK, false, false},
    {"sdirk-statespace", KD_STATESPACE, KD_SDIRK, false, false},
    {"dopri5", KD_ODE, KD_DOPRI5, false, false},
    {"dop853", KD_ODE, KD_DOP853, false, false},
    {"half-explicit", KD_ODE, KD_HALF_EXPLICIT, false, false},
    {"extrapolation", KD_ODE, KD_EXTRAPOLATION, false, false},
    {"ida", KD_GGL, KD_IDA, false, true},
    {"ida-own", KD_GGL, KD_IDA, true, true},
};
enum { METHODS = sizeof methods / sizeof *methods };

typedef struct outcome {
    kd_status status;
    double    seconds;
    kd_stats  stats;
    double    p[9]; // at the end
    char      message[300];
} outcome;

// ---- one run --------------------------------------------------------------------------------------------------------

static void limit_steps(kd_simulation_options *o, double h_max)
{
    o->integrator_options.h_max = h_max;
    o->integrator_options.h_max = h_max;
}

// Objects are made before the clock starts.
static outcome run(const hybrid_truck *truck, const method *m, double tol, double h_max, double t_end)
{
    outcome               out = {.status = KD_ERR_MEMORY, .seconds = NAN};
    kd_simulation_options o = kd_simulation_options_default();
    kd_eom               *eom = hybrid_truck_eom(truck);
    kd_inputs             inputs = hybrid_truck_inputs(truck);
    kd_simulation        *s = NULL;
    kd_state             *x = NULL;
    o.formulation = m->formulation;
    o.integrator = m->integrator;
    o.rtol = o.atol = tol;
    o.integrator_options.ida.own_linear_algebra = m->own_matrices;
    limit_steps(&o, h_max);
    if (kd_state_create(eom, &x) < 0) goto done;
    kd_state_copy(hybrid_truck_start(truck), x);
    out.status = kd_simulation_create(eom, &inputs, &o, x, &s, out.message, sizeof out.message);
    if (out.status < 0) goto done;
    double start = bench_cpu_seconds();
    out.status = kd_simulation_run(s, t_end);
    out.seconds = bench_cpu_seconds() - start;
    out.stats = kd_simulation_stats(s);
    if (out.status < 0) kd_text(out.message, sizeof out.message, "%s", kd_simulation_message(s));
    memcpy(out.p, x->p, sizeof out.p);
done:
    kd_simulation_destroy(s);
    kd_state_destroy(x);
    return out;
}

static double per_step(const outcome *o)
{
    return o->seconds / (double)o->stats.accepted;
}

static double distance(const outcome *a, const outcome *b)
{
    double most = 0;
    for (int i = 0; i < 9; i++) most = fmax(most, fabs(a->p[i] - b->p[i]));
    return most;
}

// ---- repetitions ----------------------------------------------------------------------------------------------------

typedef struct pair {
    outcome sampled, continuous; // the fastest
    double  ratio[MAX_ROUNDS];   // CPU per step, sampled / continuous
    double  whole[MAX_ROUNDS];   // of the whole run
    double  seconds[MAX_ROUNDS]; // of the sampled run
    int     rounds;
} pair;

static void keep_fastest(outcome *kept, const outcome *now, int round)
{
    if (round == 0 || now->seconds < kept->seconds) *kept = *now;
}

// One round of every method; a method that failed is not tried again.
static void measure(const hybrid_truck *sampled, const hybrid_truck *continuous, double h_max, double t_end, int round,
                    const bool *wanted, pair *pairs)
{
    for (int i = 0; i < METHODS; i++) {
        pair *p = &pairs[i];
        if (!wanted[i] || (round > 0 && (p->sampled.status < 0 || p->continuous.status < 0))) continue;
        outcome a = run(sampled, &methods[i], TOLERANCE, 0, t_end);
        outcome b = run(continuous, &methods[i], TOLERANCE, h_max, t_end);
        p->ratio[round] = per_step(&a) / per_step(&b);
        p->whole[round] = a.seconds / b.seconds;
        p->seconds[round] = a.seconds;
        keep_fastest(&p->sampled, &a, round);
        keep_fastest(&p->continuous, &b, round);
        p->rounds = round + 1;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(int n, const double *values)
{
    double sorted[MAX_ROUNDS];
    memcpy(sorted, values, (size_t)n * sizeof *values);
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    return sorted[n / 2];
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static const char *reason(const pair *p)
{
    return p->sampled.status < 0 ? p->sampled.message : p->continuous.status < 0 ? p->continuous.message : "";
}

static const char *dot(const method *m)
{
    return m->name[0] ? "." : "";
}

static void method_rows(bench *b, const char *what, bool main_rows, const method *m, const pair *p, double error)
{
    const char *why = reason(p);
    const bool  failed = why[0] != '\0';
    char        note[300];
    kd_text(note, sizeof note, "%.2f and %.2f us; %ld and %ld steps, %ld and %ld Jacobians, %ld and %ld evaluations",
            1e6 * per_step(&p->sampled), 1e6 * per_step(&p->continuous), p->sampled.stats.accepted,
            p->continuous.stats.accepted, p->sampled.stats.jacobians, p->continuous.stats.jacobians,
            p->sampled.stats.residuals, p->continuous.stats.residuals);
    bench_goal goal = main_rows && !m->name[0] ? bench_below(SAMPLED_GOAL) : bench_no_goal(false);
    bench_row(b, goal, NAN, failed ? NAN : median(p->rounds, p->ratio), "", failed ? why : note, "ratio.%s%s%s", what,
              dot(m), m->name);
    bench_row(b, bench_no_goal(false), NAN, failed ? NAN : median(p->rounds, p->whole), "", failed ? why : "",
              "ratio.%s_run%s%s", what, dot(m), m->name);
    bench_row(b, bench_no_goal(false), NAN, failed ? NAN : error, "m", failed ? why : "", "error.%s%s%s", what, dot(m),
              m->name);
}

// IDA is compared with kardan's default method and with the one that is most like it.
static bool is_compared(const method *m)
{
    return !m->is_peer && (m->name[0] == '\0' || strcmp(m->name, "bdf-ggl") == 0);
}

static void rows_without_peer(bench *b, const char *what)
{
    for (int i = 0; i < METHODS; i++)
        for (int k = 0; k < METHODS && methods[i].is_peer; k++)
            if (is_compared(&methods[k]))
                bench_row_without(b, bench_above(1), "SUNDIALS", "libsundials-dev", "ratio.%s.%s%s%s", methods[i].name,
                                  what, dot(&methods[k]), methods[k].name);
}

// Time of a sampled run with IDA over that with kardan's cheapest and default methods
static void peer_rows(bench *b, const char *what, const pair *pairs)
{
    for (int i = 0; i < METHODS; i++) {
        const method *m = &methods[i];
        double        ratio[MAX_ROUNDS];
        if (!m->is_peer || pairs[i].rounds == 0) continue;
        for (int k = 0; k < METHODS; k++) {
            const pair *own = &pairs[k];
            if (!is_compared(&methods[k]) || own->rounds != pairs[i].rounds || reason(own)[0] || reason(&pairs[i])[0])
                continue;
            for (int n = 0; n < own->rounds; n++) ratio[n] = pairs[i].seconds[n] / own->seconds[n];
            bench_row(b, bench_above(1), NAN, median(own->rounds, ratio), "", "time of the peer / time of kardan",
                      "ratio.%s.%s%s%s", m->name, what, dot(&methods[k]), methods[k].name);
        }
    }
}

static void sampled_rows(bench *b, const char *what, double period, double h_max, double t_end, bool main_rows)
{
    bool          wanted[METHODS], any = false;
    outcome       reference = {0};
    pair         *pairs = kd_alloc(METHODS * sizeof *pairs);
    hybrid_truck *sampled = hybrid_truck_create(period), *continuous = hybrid_truck_create(0);
    for (int i = 0; i < METHODS; i++) {
        const method *m = &methods[i];
        wanted[i] = (!m->is_peer || kd_integrator_about(KD_IDA, NULL)->available) &&
                    (bench_wants(b, "ratio.%s%s%s", what, dot(m), m->name) || bench_wants(b, "ratio.ida*"));
        any = any || wanted[i];
    }
    if (!any || !pairs || !sampled || !continuous) goto done;
    const int rounds = bench_quick(b) ? 3 : 15;
    reference = run(sampled, &methods[0], TIGHT, 0, t_end);
    for (int k = 0; k < rounds; k++) measure(sampled, continuous, h_max, t_end, k, wanted, pairs);
    for (int i = 0; i < METHODS; i++)
        if (pairs[i].rounds > 0)
            method_rows(b, what, main_rows, &methods[i], &pairs[i], distance(&pairs[i].sampled, &reference));
    peer_rows(b, what, pairs);
    if (!kd_integrator_about(KD_IDA, NULL)->available) rows_without_peer(b, what);
done:
    hybrid_truck_destroy(sampled);
    hybrid_truck_destroy(continuous);
    kd_free(pairs);
}

void hybrid_sampled(bench *b)
{
    const double t_end = bench_quick(b) ? 1 : 4;
    sampled_rows(b, "sampled", 1e-3, 1e-3, t_end, true);
    sampled_rows(b, "sampled200", 5e-3, 5e-3, 2 * t_end, false);
}
