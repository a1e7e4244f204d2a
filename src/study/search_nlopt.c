// search_nlopt.c: a search of a study by a method of NLopt (search.c says what is searched for).
#include "study/search.h"

#ifndef KD_WITH_NLOPT

kd_status kd_search_run(kd_study *s, int k, bool (*make)(void *, int), void *context, kd_search_end *end)
{
    (void)s, (void)k, (void)make, (void)context, (void)end;
    return KD_ERR_UNAVAILABLE;
}

unsigned long kd_search_hash(unsigned long hash)
{
    return hash;
}

const char *kd_search_words(int code)
{
    (void)code;
    return "";
}

#else

#include <math.h>
#include <nlopt.h>
#include <string.h>

static const double STEP = 1e-3; // of the differences, as a share of the range

// ---- rows -----------------------------------------------------------------------------------------------------------

// One of the latest rows of this search that has these values; -1: none
static int find_row(const kd_searcher *f, const double *theta)
{
    const int oldest = f->used > 4 * f->p + 8 ? f->used - 4 * f->p - 8 : 0;
    for (int i = f->used - 1; i >= oldest; i--)
        if (memcmp(kd_searcher_point(f, f->first + i), theta, (size_t)f->p * sizeof *theta) == 0) return f->first + i;
    return -1;
}

// The row with parameters u, made if it is not there; -1: it cannot be, and the search ends
static int row_at(kd_searcher *f, const double *u)
{
    double theta[KD_STUDY_MOST];
    // from shares to values; the ends exactly
    for (int i = 0; i < f->p; i++) {
        const double a = f->study->distribution[i].a, b = f->study->distribution[i].b;
        theta[i] = u[i] <= 0 ? a : u[i] >= 1 ? b : a + (b - a) * u[i];
    }
    // rows are never made twice: methods ask for the same point again
    int row = find_row(f, theta);
    if (row >= 0) return row;
    // no row is left: the method is told to end
    if (f->stopped || (f->full = f->used >= f->most)) {
        if (f->opt) (void)nlopt_force_stop(f->opt);
        return -1;
    }
    row = f->first + f->used++;
    double *point = f->q->point + (size_t)row * (size_t)f->p;
    // a row of a study that goes on may be there, from the same search before
    const bool there = f->study->cell[row].done && memcmp(point, theta, (size_t)f->p * sizeof *theta) == 0;
    memcpy(point, theta, (size_t)f->p * sizeof *theta);
    if (there || f->make(f->context, row)) return row;
    // the run could not be made
    f->used--, f->stopped = true;
    if (f->opt) (void)nlopt_force_stop(f->opt);
    return -1;
}

// ---- what is minimised ----------------------------------------------------------------------------------------------

// Scaled objective of one alone; a failure is worse than everything before
static double scaled(kd_searcher *f, int row)
{
    if (row < 0 || !kd_searcher_is_good(f->study, row)) return f->worst + 0.1 * (1 + fabs(f->worst));
    const double value = kd_search_objective(f->study, row, f->objective) / f->size;
    f->worst = fmax(f->worst, value);
    return value;
}

// All that must be at most 0: constraints, then the objectives of a front less t; equations apart
static int limits(const kd_searcher *f, int row, bool equal, double t, double *g)
{
    const bool good = row >= 0 && kd_searcher_is_good(f->study, row);
    int        n = 0;
    for (int i = 0; i < f->q->nconstraints; i++)
        if (f->q->constraint[i].equal == equal)
            g[n++] = good ? kd_searcher_value(f->study, row, f->q->constraint[i].output) / f->scale[i] : 1;
    for (int i = 0; i < f->q->nobjectives && f->objective < 0 && !equal; i++)
        g[n++] = good ? kd_searcher_normalised(f, row, i) - t : 1;
    return n;
}

// Rows on both sides of u along a parameter, as far as there is room, and their distance
static void neighbours(kd_searcher *f, const double *u, int j, double h, int row[2], double *distance)
{
    double moved[KD_STUDY_MOST];
    memcpy(moved, u, (size_t)f->p * sizeof *u);
    const double low = fmax(0, u[j] - h), high = fmin(1, u[j] + h);
    moved[j] = low, row[0] = row_at(f, moved);
    moved[j] = high, row[1] = row_at(f, moved);
    *distance = high - low;
    // where one side fails, from the middle
    if ((row[0] < 0 || !kd_searcher_is_good(f->study, row[0])) && row[1] >= 0)
        row[0] = row_at(f, u), *distance = high - u[j];
    if (row[1] >= 0 && !kd_searcher_is_good(f->study, row[1])) row[1] = row_at(f, u), *distance = u[j] - low;
}

static bool both_good(const kd_searcher *f, const int row[2], double distance)
{
    return row[0] >= 0 && row[1] >= 0 && distance > 0 && kd_searcher_is_good(f->study, row[0]) &&
           kd_searcher_is_good(f->study, row[1]);
}

static double minimised(unsigned n, const double *x, double *gradient, void *context)
{
    kd_searcher *f = context;
    const bool   front = f->objective < 0;
    for (unsigned j = 0; gradient && j < n; j++) {
        int    row[2];
        double distance;
        gradient[j] = front && j == (unsigned)f->p;
        if (front) continue;
        neighbours(f, x, (int)j, STEP, row, &distance);
        if (both_good(f, row, distance)) gradient[j] = (scaled(f, row[1]) - scaled(f, row[0])) / distance;
    }
    return front ? x[f->p] : scaled(f, row_at(f, x));
}

static void limited(kd_searcher *f, bool equal, double *result, unsigned n, const double *x, double *gradient)
{
    const double t = f->objective < 0 ? x[f->p] : 0;
    double       low[KD_SEARCH_CONSTRAINTS + KD_SEARCH_OBJECTIVES], high[KD_SEARCH_CONSTRAINTS + KD_SEARCH_OBJECTIVES];
    const int    m = limits(f, row_at(f, x), equal, t, result);
    for (unsigned j = 0; gradient && j < n; j++) {
        int    row[2];
        double distance = 0;
        for (int i = 0; i < m; i++) gradient[(unsigned)i * n + j] = 0;
        if ((int)j == f->p) { // by t
            for (int i = m - f->q->nobjectives; i < m && !equal; i++) gradient[(unsigned)i * n + j] = -1;
            continue;
        }
        neighbours(f, x, (int)j, STEP, row, &distance);
        if (!both_good(f, row, distance)) continue;
        (void)limits(f, row[0], equal, t, low), (void)limits(f, row[1], equal, t, high);
        for (int i = 0; i < m; i++) gradient[(unsigned)i * n + j] = (high[i] - low[i]) / distance;
    }
}

static void at_most(unsigned m, double *result, unsigned n, const double *x, double *gradient, void *context)
{
    (void)m;
    limited(context, false, result, n, x, gradient);
}

static void equal_to(unsigned m, double *result, unsigned n, const double *x, double *gradient, void *context)
{
    (void)m;
    limited(context, true, result, n, x, gradient);
}

// Sizes by the first row: what objective and constraints are divided by
static bool find_sizes(kd_searcher *f, const double *u)
{
    const int row = row_at(f, u);
    f->size = 1, f->worst = 0;
    for (int i = 0; i < f->q->nconstraints; i++) f->scale[i] = f->q->constraint[i].size;
    if (row < 0) return false;
    const bool good = kd_searcher_is_good(f->study, row);
    for (int i = 0; i < f->q->nconstraints; i++)
        if (f->scale[i] == 0)
            f->scale[i] = good ? fabs(kd_searcher_value(f->study, row, f->q->constraint[i].output)) : 1;
    for (int i = 0; i < f->q->nconstraints; i++)
        if (!(f->scale[i] > 0)) f->scale[i] = 1;
    if (!good || f->objective < 0) return true;
    const double value = fabs(kd_search_objective(f->study, row, f->objective));
    f->size = value > 0 ? value : 1;
    f->worst = kd_search_objective(f->study, row, f->objective) / f->size;
    return true;
}

// ---- one search -----------------------------------------------------------------------------------------------------

// A method from u on; what NLopt says at its end
static int run_method(kd_searcher *f, const kd_search_method *method, double *u)
{
    const bool     front = f->objective < 0;
    const unsigned n = (unsigned)(f->p + front);
    double       low[KD_STUDY_MOST + 1], high[KD_STUDY_MOST + 1], step[KD_STUDY_MOST + 1], x[KD_STUDY_MOST + 1], value;
    double       tolerance[KD_SEARCH_CONSTRAINTS + KD_SEARCH_OBJECTIVES];
    unsigned     nequal = 0, nless = front ? (unsigned)f->q->nobjectives : 0;
    const int    start = row_at(f, u);
    const double t = front && start >= 0 && kd_searcher_is_good(f->study, start) ? kd_searcher_merit(f, start) : 1;
    f->opt = nlopt_create(nlopt_algorithm_from_string(method->nlopt), n);
    if (!f->opt) return NLOPT_OUT_OF_MEMORY;
    for (unsigned i = 0; i < n; i++) {
        low[i] = 0, high[i] = 1, step[i] = 0.2;
        if (i < (unsigned)f->p) x[i] = u[i];
    }
    if (front) x[f->p] = t, low[f->p] = t - 3, high[f->p] = t + 1, step[f->p] = 0.2;
    for (int i = 0; i < f->q->nconstraints; i++) f->q->constraint[i].equal ? nequal++ : nless++;
    for (unsigned i = 0; i < nless + nequal; i++) tolerance[i] = 1e-7;
    // bounds, what is minimised and kept, when it ends
    (void)nlopt_set_lower_bounds(f->opt, low);
    (void)nlopt_set_upper_bounds(f->opt, high);
    (void)nlopt_set_initial_step(f->opt, step);
    (void)nlopt_set_min_objective(f->opt, minimised, f);
    if (nless > 0) (void)nlopt_add_inequality_mconstraint(f->opt, nless, at_most, f, tolerance);
    if (nequal > 0) (void)nlopt_add_equality_mconstraint(f->opt, nequal, equal_to, f, tolerance);
    (void)nlopt_set_xtol_abs1(f->opt, f->q->tolerance);
    nlopt_srand((unsigned long)(f->q->seed * 1000003u + (unsigned)f->k));
    const int code = nlopt_optimize(f->opt, x, &value);
    nlopt_destroy(f->opt);
    f->opt = NULL;
    return code;
}

// Differences with twice the step at the best row tell the error of those that were used
static double judge_gradient(kd_searcher *f, const double *u)
{
    double error = 0, size = 0;
    for (int j = 0; j < f->p; j++) {
        int    near[2], far[2];
        double h, H;
        neighbours(f, u, j, STEP, near, &h);
        neighbours(f, u, j, 2 * STEP, far, &H);
        if (!both_good(f, near, h) || !both_good(f, far, H)) return NAN;
        const double d = (kd_searcher_merit(f, near[1]) - kd_searcher_merit(f, near[0])) / h,
                     D = (kd_searcher_merit(f, far[1]) - kd_searcher_merit(f, far[0])) / H;
        error = fmax(error, fabs(d - D) / 3);
        // at a minimum the gradient vanishes: against the change of the objective over a range
        size = fmax(size, fabs(d));
    }
    return error / fmax(size, fabs(f->size));
}

kd_status kd_search_run(kd_study *s, int k, bool (*make)(void *, int), void *context, kd_search_end *end)
{
    const kd_search *q = &s->search;
    double           u[KD_STUDY_MOST];
    kd_searcher      f;
    *end = (kd_search_end){.done = true, .code = NLOPT_FAILURE, .gradient_error = NAN};
    if (!kd_searcher_init(&f, s, k) || !kd_searcher_start(&f, u)) return KD_OK;
    f.make = make, f.context = context;
    // what follows a global method, which knows no end, has a quarter of the runs
    f.most = q->polish >= 0 ? q->runs - q->runs / 4 : q->runs;
    if (find_sizes(&f, u)) end->code = run_method(&f, &KD_SEARCH_METHOD[q->method], u);
    // a second method from the best row on
    int best = kd_searcher_best(&f, f.first, f.first + f.used);
    if (q->polish >= 0 && best >= 0 && !f.stopped) {
        f.most = q->runs, f.full = false;
        kd_searcher_place(&f, best, u);
        end->code = run_method(&f, &KD_SEARCH_METHOD[q->polish], u);
        best = kd_searcher_best(&f, f.first, f.first + f.used);
    }
    // how sure the differences were
    const bool by_gradient = KD_SEARCH_METHOD[q->polish >= 0 ? q->polish : q->method].gradient;
    if (by_gradient && best >= 0 && !f.stopped && !f.full) {
        kd_searcher_place(&f, best, u);
        end->gradient_error = judge_gradient(&f, u);
    }
    end->used = f.used;
    if (f.full) end->code = NLOPT_MAXEVAL_REACHED;
    return f.stopped ? KD_STOPPED : KD_OK;
}

unsigned long kd_search_hash(unsigned long hash)
{
    int version[3];
    nlopt_version(&version[0], &version[1], &version[2]);
    return kd_study_hash_bytes(hash, version, sizeof version);
}

const char *kd_search_words(int code)
{
    switch (code) {
    case NLOPT_XTOL_REACHED:
    case NLOPT_FTOL_REACHED:
    case NLOPT_SUCCESS:
        return "converged";
    case NLOPT_MAXEVAL_REACHED:
        return "all its runs are used";
    case NLOPT_ROUNDOFF_LIMITED:
        return "rounding, or noise of the runs, ends it";
    case NLOPT_OUT_OF_MEMORY:
        return "no memory";
    case NLOPT_INVALID_ARGS:
        return "the method refuses this study";
    default:
        return "it failed";
    }
}

#endif
