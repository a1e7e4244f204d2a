// scale_default.c: the default beside all other methods at the same error: gallery, models of many bodies, and random
// models that the rule of the default was not fitted to.
//
// Error: max |p - ref| / max(1e-3, |ref|) at the ends of INSTANTS steps, the first ones behind instants that are equally
// long apart, up to the end of the first STEPS steps of psf + radau at 1e-6. The reference, ode + dop853 at 1e-11, is
// interpolated there; errors below ten times its distance to the nearest of psf + radau at 1e-10, whose steps end at
// these instants, and the other integrators' results at the tightest tolerance are not judged.
//
// At one instant errors depend on chance, and the best of eight methods takes the luckiest: air-suspension by psf + radau
// had 4.1e-6 at the tolerance 1e-5 and 4.6e-5 at 1e-6; of motions that come to rest the end tells nothing. So many
// instants count, and where an error is still larger at the tighter tolerance, both have their mean (isotonic regression
// of log error over tolerances, pool adjacent violators). Times are the smallest of several rounds with all methods in
// turns: load of the machine meets all of them.
#include "scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_fit.h"
#include "common_run.h"
#include "core/text.h"

#define STEPS 300
#define INSTANTS 20
#define GENERATED 30
#define FIRST_SEED 40000 // the rule was looked at with seeds below 100, 5000 to 5029, 9000 to 9024, 20000 to 20029
#define REPEATED 0.02    // [s] shorter runs are measured again, until so much time is used up,
#define MOST_REPEATED 12 // or so often: other programs share the machine
#define MOST 20.0        // [s] of one run
enum { TOLERANCES = 9, WANTED = 4, METHODS = 9 };
static const double wanted[WANTED] = {1e-3, 1e-4, 1e-5, 1e-6};

static const scale_method methods[METHODS] = {
    {.chosen = true},
    {.formulation = KD_PSF, .integrator = KD_RADAU},
    {.formulation = KD_GGL, .integrator = KD_BDF},
    {.formulation = KD_ODE, .integrator = KD_BDF},
    {.formulation = KD_ODE, .integrator = KD_RADAU},
    {.formulation = KD_ODE, .integrator = KD_DOP853},
    {.formulation = KD_ODE, .integrator = KD_DOPRI5},
    {.formulation = KD_ODE, .integrator = KD_EXTRAPOLATION},
    {.formulation = KD_STATESPACE, .integrator = KD_DOP853},
};

// Positions at the end of a step, to be compared with the reference
typedef struct sample {
    double  t;
    int     method, tolerance; // METHODS: of the second reference
    double *p;
} sample;
enum { SAMPLES = (METHODS * TOLERANCES + 1) * INSTANTS };

typedef struct curve {
    double error[TOLERANCES], seconds[TOLERANCES], used[TOLERANCES];
    int    count;
} curve;

typedef struct contest {
    const scale_subject *subject;
    kd_state            *x;
    int                  np;
    double               instants[INSTANTS];
    sample               samples[SAMPLES];
    double              *p; // (SAMPLES x np)
    int                  count;
    double               times[SAMPLES]; // of all samples, each once
    int                  ntimes;
    curve                curves[METHODS];
    double               floor; // distance of both references
} contest;

typedef struct guard {
    double   started, most; // [s] of processor time
    long     left;          // accepted steps; < 0: any
    double   t;
    bool     late;              // stopped after most seconds
    contest *keeps;             // samples
    int      method, tolerance; // of them
    int      reached;           // instants
    contest *compares;          // samples with the reference, which this is
    int      compared;
} guard;

static void keep(contest *c, guard *g, const kd_state *x)
{
    if (g->reached == INSTANTS || x->t < c->instants[g->reached]) return;
    while (g->reached < INSTANTS && c->instants[g->reached] <= x->t) g->reached++;
    sample *s = &c->samples[c->count];
    *s = (sample){x->t, g->method, g->tolerance, c->p + (size_t)c->count++ * (size_t)c->np};
    memcpy(s->p, x->p, (size_t)c->np * sizeof *s->p);
}

static double distance(int np, const double *p, const double *reference)
{
    double worst = 0;
    for (int i = 0; i < np; i++) worst = fmax(worst, fabs(p[i] - reference[i]) / fmax(1e-3, fabs(reference[i])));
    return worst;
}

// All samples of the time of x
static void compare_samples(contest *c, guard *g, const kd_state *x)
{
    for (; g->compared < c->count && c->samples[g->compared].t <= x->t; g->compared++) {
        const sample *s = &c->samples[g->compared];
        double       *error = s->method < METHODS ? &c->curves[s->method].error[s->tolerance] : &c->floor;
        *error = s->t == x->t ? fmax(*error, distance(c->np, s->p, x->p)) : INFINITY;
    }
}

static kd_eval look(const kd_state *x, bool at_time, void *context)
{
    guard *g = context;
    if (at_time && g->compares) compare_samples(g->compares, g, x);
    if (at_time) return KD_EVAL_OK;
    if (g->keeps) keep(g->keeps, g, x);
    g->t = x->t;
    if (g->left == 0) return KD_EVAL_STOP;
    if (g->left > 0) g->left--;
    g->late = bench_cpu_seconds() - g->started > g->most;
    return g->late ? KD_EVAL_STOP : KD_EVAL_OK;
}

// Processor time of creation and run; NaN: failed, or more than g->most
static double run_once(contest *c, scale_method m, double tolerance, double t_end, guard *g)
{
    const scale_subject  *s = c->subject;
    char                  message[300];
    kd_simulation        *simulation = NULL;
    kd_simulation_options o = scale_options(s, m, tolerance);
    o.output = look;
    o.context = g;
    o.accelerations = false;
    if (g->compares) o.times = c->times, o.ntimes = c->ntimes;
    kd_state_copy(s->start, c->x);
    g->started = bench_cpu_seconds();
    kd_status status =
        kd_simulation_create(s->eom, kd_system_inputs(s->system), &o, c->x, &simulation, message, sizeof message);
    // the second reference has its steps end at the instants
    for (int k = 0; g->method == METHODS && k < INSTANTS - 1 && status >= 0 && !g->late; k++)
        status = kd_simulation_run(simulation, c->instants[k]);
    if (status >= 0 && !g->late) status = kd_simulation_run(simulation, t_end);
    const double seconds = bench_cpu_seconds() - g->started;
    kd_simulation_destroy(simulation);
    return status < 0 || g->late ? NAN : seconds;
}

// The instants until the end of the first steps of psf + radau; false: it does not run
static bool find_instants(contest *c)
{
    guard        g = {.most = MOST, .left = STEPS};
    const double start = c->subject->start->t;
    if (isnan(run_once(c, methods[1], 1e-6, c->subject->t_end, &g))) return false;
    const double length = fmin(g.t, c->subject->t_end) - start;
    for (int k = 0; k < INSTANTS; k++)
        c->instants[k] = k + 1 < INSTANTS ? start + (k + 1.0) / INSTANTS * length : fmin(g.t, c->subject->t_end);
    return true;
}

static int earlier(const void *a, const void *b)
{
    const double s = ((const sample *)a)->t, t = ((const sample *)b)->t;
    return (s > t) - (s < t);
}

// The second reference
static bool make_second(contest *c, int method, double tolerance)
{
    guard g = {.most = 3 * MOST, .left = -1, .keeps = c, .method = METHODS};
    c->count = 0;
    return !isnan(run_once(c, methods[method], tolerance, c->instants[INSTANTS - 1], &g));
}

// Errors of all samples by the reference, which may be replaced by the other method at the tolerance of the second one
static bool find_errors(contest *c)
{
    guard g = {.most = 3 * MOST, .left = -1, .compares = c};
    qsort(c->samples, (size_t)c->count, sizeof *c->samples, earlier);
    c->ntimes = 0;
    for (int i = 0; i < c->count; i++)
        if (i == 0 || c->samples[i].t > c->times[c->ntimes - 1]) c->times[c->ntimes++] = c->samples[i].t;
    if (!isnan(run_once(c, methods[5], 1e-11, c->instants[INSTANTS - 1], &g))) return true;
    // not by the explicit method: against itself at another tolerance
    for (int m = 0; m < METHODS; m++)
        for (int k = 0; k < TOLERANCES; k++)
            if (isfinite(c->curves[m].error[k])) c->curves[m].error[k] = 0;
    g = (guard){.most = 3 * MOST, .left = -1, .compares = c};
    c->floor = 0;
    return !isnan(run_once(c, methods[1], 1e-11, c->instants[INSTANTS - 1], &g));
}

static double tolerance_of(int k)
{
    return pow(10, -3 - k);
}

// Samples at all tolerances until one is far below the smallest error that is judged, by the tolerance
static void take_samples(contest *c, int m, double most)
{
    curve *of = &c->curves[m];
    for (int k = 0; k < TOLERANCES; k++) {
        guard g = {.most = most, .left = -1, .keeps = c, .method = m, .tolerance = k};
        of->seconds[k] = run_once(c, methods[m], tolerance_of(k), c->instants[INSTANTS - 1], &g);
        of->error[k] = isnan(of->seconds[k]) ? NAN : 0;
        of->count = k + 1;
        if (isnan(of->seconds[k])) break;
    }
}

// Neighbours whose errors do not fall with the tolerance have their geometric mean
static void make_monotone(curve *c)
{
    int last[TOLERANCES], blocks = 0; // last point of each block of equal errors
    for (int k = 0; k < c->count; k++) {
        if (!(c->error[k] > 0)) c->error[k] = isnan(c->error[k]) ? NAN : 1e-16; // the reference itself
        last[blocks++] = k;
        // the mean of a block, over the sum of both sizes, as long as it is above the one before
        while (blocks > 1 && c->error[last[blocks - 1]] > c->error[last[blocks - 2]]) {
            const int start = blocks > 2 ? last[blocks - 3] + 1 : 0, middle = last[blocks - 2], end = last[blocks - 1];
            const double part = (double)(end - middle) / (end - start + 1);
            const double mean = pow(c->error[middle], 1 - part) * pow(c->error[end], part);
            for (int i = start; i <= end; i++) c->error[i] = mean;
            last[--blocks - 1] = end;
        }
    }
}

// The loosest tolerances up to the one that is below all errors that are judged; a tighter one may take less time: three
// at least
static void shorten(curve *c)
{
    for (int k = 2; k < c->count; k++)
        if (c->error[k] < 0.3 * wanted[WANTED - 1]) c->count = k + 1;
}

// Times, methods in turns
static void find_times(contest *c)
{
    for (int r = 0; r < MOST_REPEATED; r++)
        for (int k = 0; k < TOLERANCES; k++)
            for (int m = 0; m < METHODS; m++) {
                guard  g = {.most = 3 * MOST, .left = -1};
                curve *of = &c->curves[m];
                if (k >= of->count || isnan(of->seconds[k]) || (r > 0 && of->used[k] > REPEATED)) continue;
                const double seconds = run_once(c, methods[m], tolerance_of(k), c->instants[INSTANTS - 1], &g);
                of->used[k] += seconds;
                of->seconds[k] = fmin(of->seconds[k], seconds);
            }
}

// Least time with no more than this error
static double time_at(const curve *c, double error)
{
    double least = bench_crossing(c->count, c->error, c->seconds, error);
    for (int k = 0; k < c->count; k++)
        if (c->error[k] <= error && !(c->seconds[k] >= least)) least = c->seconds[k];
    return least;
}

typedef struct sum {
    double log_ratio, worst;
    int    count;
    char   worst_name[120];
} sum;

// The default over the best at each of the errors
static void judge(bench *b, const scale_subject *s, const curve *c, double floor, sum *all)
{
    char   note[200] = "", word[60], part[100];
    double log_ratio = 0;
    int    count = 0;
    for (int k = 0; k < WANTED; k++) {
        double best = INFINITY, own = time_at(&c[0], wanted[k]);
        int    which = 0;
        if (wanted[k] < 10 * floor) continue;
        for (int m = 0; m < METHODS; m++) {
            const double at = time_at(&c[m], wanted[k]);
            if (at < best) best = at, which = m;
        }
        if (!isfinite(best)) continue;
        const double ratio = isnan(own) ? 100 : own / best; // not reached at all: a hundred times
        kd_text(part, sizeof part, "%s%.0e: %.2f (%s %.3g ms)", note[0] ? ", " : "", wanted[k], ratio,
                scale_method_word(methods[which], word, sizeof word), 1e3 * best);
        kd_text_append(note, sizeof note, "%s", part);
        log_ratio += log(ratio);
        count++;
        if (ratio > all->worst) {
            all->worst = ratio;
            kd_text(all->worst_name, sizeof all->worst_name, "%s at %.0e, best: %s", s->name, wanted[k], word);
        }
    }
    bench_say(b, "  %-24s %s\n", s->name, count > 0 ? note : "not judged: no reference");
    fflush(stdout);
    if (count == 0) return;
    bench_row(b, bench_no_goal(false), NAN, exp(log_ratio / count), "", note, "default.of.%s", s->name);
    all->log_ratio += log_ratio;
    all->count += count;
}

// [s] beyond which another method is slower than the default at all of its errors
static double slower_than(const curve *c)
{
    double most = 0;
    for (int k = 0; k < c->count; k++) most = fmax(most, c->seconds[k]);
    return 0.05 + 3 * most;
}

// Distance of the reference to the nearest result of another integrator
static double nearest(const contest *c)
{
    double least = c->floor;
    for (int m = 1; m < METHODS; m++)
        if (methods[m].integrator != KD_DOP853 && c->curves[m].error[TOLERANCES - 1] > 0)
            least = fmin(least, c->curves[m].error[TOLERANCES - 1]);
    return least;
}

// All methods on one model; false: there is no reference
static bool hold(bench *b, contest *c)
{
    char   word[60];
    double most = MOST;
    if (kd_state_create(c->subject->eom, &c->x) < 0 || !find_instants(c) || !make_second(c, 1, 1e-10)) return false;
    for (int m = 0; m < METHODS; m++) {
        take_samples(c, m, most);
        // a method that takes longer than the default at all of its tolerances is not the best
        const curve *own = &c->curves[0];
        if (m == 0 && own->count == TOLERANCES && !isnan(own->seconds[TOLERANCES - 1])) most = slower_than(own);
    }
    if (!find_errors(c)) return false;
    c->floor = nearest(c);
    for (int m = 0; m < METHODS; m++) shorten(&c->curves[m]);
    find_times(c);
    for (int m = 0; m < METHODS; m++) {
        const curve *of = &c->curves[m];
        bench_say(b, "    %-22s %-20s", c->subject->name, scale_method_word(methods[m], word, sizeof word));
        for (int k = 0; k < of->count; k++) bench_say(b, " %.1e:%.3g", of->error[k], 1e3 * of->seconds[k]);
        bench_say(b, "\n");
        make_monotone(&c->curves[m]);
    }
    return true;
}

static void compare(bench *b, scale_kind kind, int n, sum *all)
{
    char          message[400] = "";
    scale_subject s;
    contest      *c = calloc(1, sizeof *c);
    const bool    open = scale_open(&s, kind, n, message, sizeof message) && c;
    if (open) {
        c->subject = &s;
        c->np = kd_eom_dims(s.eom).np;
        c->p = calloc((size_t)SAMPLES * (size_t)c->np, sizeof *c->p);
    }
    if (!open)
        bench_say(b, "  %-24s %s\n", s.name, message);
    else if (c->p && hold(b, c))
        judge(b, &s, c->curves, c->floor, all);
    else
        bench_say(b, "  %-24s not judged: no reference\n", s.name);
    if (c) {
        kd_state_destroy(c->x);
        free(c->p);
    }
    free(c);
    scale_close(&s);
}

void scale_default(bench *b)
{
    static const struct {
        scale_kind kind;
        int        n;
    } scales[] = {{SCALE_CHAIN, 30},
                  {SCALE_CHAIN, 100},
                  {SCALE_CHAIN_CARTESIAN, 10},
                  {SCALE_CHAIN_CARTESIAN, 30},
                  {SCALE_LOOPS, 10},
                  {SCALE_LOOPS, 40},
                  {SCALE_ROPE, 20},
                  {SCALE_ROPE, 50},
                  {SCALE_TREE, 31},
                  {SCALE_TREE, 127},
                  {SCALE_LATTICE, 2},
                  {SCALE_LATTICE, 3},
                  {SCALE_CONVOY, 3},
                  {SCALE_CONVOY, 20},
                  {SCALE_LATTICE_STIFF, 2},
                  {SCALE_LATTICE_STIFF, 3}};
    sum  all = {0};
    char note[200], name[64];
    bench_say(b, "\nerror : processor time [ms] of each method\n");
    for (int i = 0; i < scale_gallery_count(); i += bench_quick(b) ? 6 : 1) {
        kd_text(name, sizeof name, "%s", scale_gallery_name(i));
        if (bench_wants(b, "default.of.%s", name)) compare(b, SCALE_GALLERY, i, &all);
    }
    for (int i = 0; i < (int)(sizeof scales / sizeof *scales); i += bench_quick(b) ? 2 : 1)
        if (bench_wants(b, "default.of.%s.%d", scale_word(scales[i].kind), scales[i].n))
            compare(b, scales[i].kind, scales[i].n, &all);
    // SEED=83000 build/bench/scale --only default.of.generated: other random models
    const char *other = getenv("SEED");
    const int   seed = other && atoi(other) > 0 ? atoi(other) : FIRST_SEED;
    for (int i = 0; i < (bench_quick(b) ? GENERATED / 6 : GENERATED); i++)
        if (bench_wants(b, "default.of.generated.%d", seed + i)) compare(b, SCALE_GENERATED, seed + i, &all);
    if (all.count == 0) return;
    kd_text(note, sizeof note, "default over best at equal error, 1e-3 to 1e-6; %s", all.worst_name);
    bench_row(b, bench_below(2.5), NAN, all.worst, "", note, "default.worst");
    kd_text(note, sizeof note, "geometric mean of %d comparisons", all.count);
    bench_row(b, bench_below(1.4), NAN, exp(all.log_ratio / all.count), "", note, "default.mean");
}
