// corrector.c: simplified Newton iteration of a multistep step (S0 Eq. 14, 18; BCP 5.2.2) and its matrix.
//
//     z = -J \ (C F(t, x, x')),   J = cj_old F_x' + F_x of an earlier point,   C = diag(c .. c, 1 .. 1)
//     x <- x + z, improved by what earlier iterations tell about J (secants.c)
//
// c = 2 / (1 + cj / cj_old) on the differential rows makes up for a cj that changed since J was factored. Constraint
// rows do not contain cj and are solved unscaled; scaled, they would keep |1 - c|^m of their residual.
#include "integrator/corrector.h"

#include <limits.h>

#include "core/archive.h"
#include "integrator/integrator.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double SLOW = 0.9;        // rate of convergence that is given up
static const double DOUBTFUL = 0.5;    // rate of two increments that a third one must confirm
static const int    MOST_SHRUNK = 3;   // times in a row that the step became much shorter with the same derivatives
static const double OUTGROWN = 1000;   // times the step of the derivatives
static const int    WORTH = 8;         // iterations that new factors cost, about
static const double AGEING = 1.5;      // growth of a measured rate in a step without measurement
static const double VANISHING = 1e-40; // increment that is nothing, in tolerances; squares of smaller ones underflow
static const double ROUNDING = 100;    // increments below this many units in the last place are converged
static const double HELD = 0.9;        // cosine and least ratio of increments of a point that a wrong matrix holds
static const double LAST_PLACES = 4;   // units: increments that x does not notice
static const double NOTHING = 1e-3; // slow increments below this part of opt.stop are rounding, whatever the size of x

void kd_corrector_cut(kd_corrector *c, kd_arena *arena, kd_dae *dae, const kd_corrector_options *opt)
{
    c->dae = dae;
    c->opt = *opt;
    c->F = kd_cut_double(arena, dae->nrows);
    c->y = kd_cut_double(arena, dae->nreduced_max);
    double **vector[] = {&c->part, &c->z, &c->z_old, &c->dx, &c->x_start, &c->xdot_start};
    for (size_t k = 0; k < sizeof vector / sizeof *vector; k++) *vector[k] = kd_cut_double(arena, dae->n);
    kd_secants_cut(&c->secants, arena, dae->n);
    for (int i = 0; i < dae->n; i++) c->counted += dae->index[i] > 0;
    if (c->counted == 0) c->counted = 1;
}

void kd_corrector_start(kd_corrector *c, bool keep)
{
    c->exists = c->exists && keep;
    c->restart = !c->exists;
    c->cj_factored = 0; // the leading coefficient is new in any case
    c->evaluate_next = false;
    c->shrunk = c->spent = c->iterations = 0;
    c->rate = 1;
    c->secants.count = 0;
}

// ---- the matrix -----------------------------------------------------------------------------------------------------

// The table of docs/methods/bdf.md, line by line
kd_matrix_action kd_corrector_decide(const kd_corrector_options *opt, const kd_matrix_state *s)
{
    // bounds on cj / cj_factored within which the factor c makes up for the difference
    bool in_bounds = s->ratio >= opt->cj_lower && s->ratio <= opt->cj_upper;
    bool update = s->has_update && !opt->dassl_rules;
    // no derivatives; nothing better to be had; too slow; no factors; cj out of bounds; too many iterations; else keep
    if (!s->exists) return KD_MATRIX_EVALUATE;
    if (s->failed && s->fresh) return KD_MATRIX_GIVE_UP;
    if (s->failed) return update && !s->renewed && s->ratio != 1 ? KD_MATRIX_UPDATE : KD_MATRIX_EVALUATE;
    if (s->ratio == 0) return opt->dassl_rules || s->outgrown ? KD_MATRIX_EVALUATE : KD_MATRIX_FACTOR;
    if (!in_bounds && s->outgrown) return KD_MATRIX_EVALUATE;
    if (!in_bounds && (opt->dassl_rules || (s->ratio > 1 && s->shrunk >= MOST_SHRUNK))) return KD_MATRIX_EVALUATE;
    if (!in_bounds) return update ? KD_MATRIX_UPDATE : KD_MATRIX_FACTOR;
    if (s->ratio != 1 && s->spent >= WORTH && !opt->dassl_rules) return update ? KD_MATRIX_UPDATE : KD_MATRIX_FACTOR;
    return s->scales || s->ratio == 1 ? KD_MATRIX_KEEP : KD_MATRIX_FACTOR;
}

static kd_status factor(kd_corrector *c, double cj)
{
    // a matrix without factors is given up with its selectors: the next one is evaluated from scratch
    kd_status status = c->dae->methods->factor(c->dae->impl, cj, cj, 0);
    c->cj_factored = status < 0 ? 0 : cj;
    if (status < 0) c->evaluate_next = c->restart = true;
    return status;
}

// Do what was decided, at the starting values. KD_OK, > 0 with news or < 0
static kd_status renew(kd_corrector *c, kd_matrix_action action, double t, double cj)
{
    kd_dae        *dae = c->dae;
    kd_status      status = KD_OK;
    kd_matrix_news news = KD_MATRIX_FACTORED;
    // what earlier iterations taught belongs to the old matrix: rate, secants and their cost are forgotten
    dae->gamma = cj;
    c->shrunk = action != KD_MATRIX_EVALUATE && cj > c->cj_factored ? c->shrunk + 1 : 0;
    c->cj_factored = 0;
    c->spent = 0;
    c->secants.count = 0;
    c->rate = 1;
    // EVALUATE: all derivatives at the starting values; UPDATE: F_x' only; FACTOR: the same for another cj
    if (action == KD_MATRIX_EVALUATE) {
        news = KD_MATRIX_EVALUATED;
        status = dae->methods->linearize(dae->impl, t, c->x_start, c->xdot_start, c->restart);
        dae->widen = c->restart = c->evaluate_next = false;
        c->exists = c->fresh = status >= 0;
        c->cj_evaluated = cj;
    } else if (action == KD_MATRIX_UPDATE) {
        news = KD_MATRIX_UPDATED;
        status = dae->methods->update(dae->impl, t, c->x_start, c->xdot_start);
    }
    // the observer hears of the most expensive one
    if (news > c->news) c->news = news;
    c->renewed = true;
    return status < 0 ? status : factor(c, cj);
}

// ---- the iteration --------------------------------------------------------------------------------------------------

static kd_eval evaluate_residual(kd_corrector *c, double t, const double *x, const double *xdot, double scale)
{
    kd_dae             *dae = c->dae;
    const kd_dae_class *f = dae->methods;
    // the formulation may evaluate and reduce in one go; else C F, then the reduction
    if (f->evaluate) return f->evaluate(dae->impl, t, x, xdot, c->part, c->y);
    kd_eval answer = kd_integrator_residual(dae, c->slack, t, x, xdot, c->F);
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; scale != 1 && i < dae->ndifferential; i++) c->F[i] *= scale;
    f->reduce(dae->impl, c->F, c->part, c->y);
    return answer;
}

static double weighted_norm(const kd_corrector *c, const double *x)
{
    double sum = 0;
    for (int i = 0; i < c->dae->n; i++) {
        double z = x[i] * c->weight[i];
        sum += z * z;
    }
    return sqrt(sum / c->counted);
}

static double larger_norm(const kd_corrector *c, const double *a, const double *b)
{
    double one = 0, two = 0;
    for (int i = 0; i < c->dae->n; i++) {
        double x = a[i] * c->weight[i], y = b[i] * c->weight[i];
        one += x * x;
        two += y * y;
    }
    return sqrt((one <= two ? two : one) / c->counted);
}

// Iteration number m; the increment is c->dx, its size c->norm.
static kd_status newton_step(kd_corrector *c, int m, double t, double cj, double *x, double *xdot)
{
    const kd_dae_class *f = c->dae->methods;
    double             *swap = c->z_old;
    c->iterations++;
    kd_eval answer = evaluate_residual(c, t, x, xdot, 2 / (1 + cj / c->cj_factored));
    if (answer != KD_EVAL_OK) return answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
    // z = -J \ C F, full size again
    c->z_old = c->z;
    c->z = swap;
    f->solve_real(c->dae->impl, c->y);
    f->expand(c->dae->impl, c->part, c->y, c->z);
    // the increment before and what it changed of z make a secant pair; dx is z improved by the pairs
    if (m > 0 && !c->opt.dassl_rules) kd_secants_add(&c->secants, c->dx, c->z, c->z_old);
    kd_secants_improve(&c->secants, c->weight, c->z, c->dx);
    // x' follows x: x' = P' + cj (x - P)
    for (int i = 0; i < c->dae->n; i++) {
        x[i] += c->dx[i];
        xdot[i] += cj * c->dx[i];
    }
    c->norm = larger_norm(c, c->dx, c->z); // the parts of dx may cancel
    return isfinite(c->norm) ? KD_OK : KD_ERR_NEWTON;
}

// of m iterations
static double mean_rate(double reduction, int m)
{
    return m == 1 ? reduction : m == 2 ? sqrt(reduction) : pow(reduction, 1.0 / m);
}

// Does x notice most of the increment?
static bool is_felt(const kd_corrector *c, const double *x)
{
    double all = 0, felt = 0;
    for (int i = 0; i < c->dae->n; i++) {
        const double a = c->z[i] * c->weight[i];
        all += a * a;
        if (fabs(c->z[i]) > LAST_PLACES * DBL_EPSILON * fabs(x[i])) felt += a * a;
    }
    return felt > HELD * all;
}

// Two increments that are all but the same: a stiffness of the matrix that is not there at x (a contact that has opened) makes
// them small. Noise changes its sign and size, and so do increments of a matrix that is right.
static bool is_held(const kd_corrector *c)
{
    double product = 0, now = 0, before = 0;
    for (int i = 0; i < c->dae->n; i++) {
        const double a = c->z[i] * c->weight[i], b = c->z_old[i] * c->weight[i];
        product += a * b;
        now += a * a;
        before += b * b;
    }
    return product > HELD * sqrt(now * before) && now > HELD * HELD * before;
}

// Iterate with the present matrix. KD_ERR_NEWTON: too slow
static kd_status iterate(kd_corrector *c, double t, double cj, double *x, double *xdot)
{
    // increments of rounding size are converged, whatever the rate says
    double first = 0, rate = c->rate, rounding = fmax(ROUNDING * DBL_EPSILON * weighted_norm(c, x), VANISHING);
    for (int m = 0; m < c->opt.max_newton; m++) {
        kd_status status = newton_step(c, m, t, cj, x, xdot);
        if (status < 0) return status;
        if (m == 0) first = c->norm;
        if (m > 0) rate = mean_rate(fmax(c->norm, rounding) / first, m);
        // what a fresh matrix does at its own point says nothing about the steps to come
        if (m > 0 && rate <= SLOW && (!c->renewed || c->opt.dassl_rules)) c->rate = rate;
        if (c->norm <= rounding) return KD_OK;
        if (m > 0 && rate > SLOW && !c->opt.dassl_rules && c->norm <= NOTHING * c->opt.stop) {
            // noise, unless x follows and goes on in the same direction: a third increment tells
            if (!is_felt(c, x) || (m > 1 && !is_held(c))) return KD_OK;
            if (m + 1 < c->opt.max_newton) continue;
        }
        if (m > 0 && rate > SLOW) return KD_ERR_NEWTON;
        // the error left is at most rate / (1 - rate) times the last increment. Two that hardly differ are no series: a matrix with
        // the stiffness of a contact that has opened since holds the point, by increments that are small, not smaller and smaller
        if (m == 1 && rate > DOUBTFUL && !c->opt.dassl_rules) continue;
        if (rate < 1 && rate / (1 - rate) * c->norm <= c->opt.stop) return KD_OK;
    }
    return KD_ERR_NEWTON;
}

static bool is_same(const kd_corrector *c, double cj, double other)
{
    return fabs(cj - other) <= c->same * cj;
}

// The rate of convergence was measured at an earlier step. DASSL: unknown when cj changed. Otherwise it is taken to
// grow from step to step, and with the square of a growing step size, until it is measured again; what cj contributes
// is known.
static void age_rate(kd_corrector *c, double cj)
{
    // stretch: a longer step than the last one; |1 - ratio| / (1 + ratio): what the factor c leaves of a wrong cj
    double stretch = fmax(1, c->cj_last / cj), ratio = c->cj_factored > 0 ? cj / c->cj_factored : 1;
    if (c->opt.dassl_rules)
        c->rate = is_same(c, cj, c->cj_last) ? c->rate : 1;
    else
        c->rate = fmin(1, fmax(c->rate * AGEING * stretch * stretch, fabs(1 - ratio) / (1 + ratio)));
    if (!is_same(c, cj, c->cj_last)) c->secants.count = 0;
    c->cj_last = cj;
}

static void reset(kd_corrector *c, double h, double cj, const double *x, const double *xdot)
{
    size_t bytes = (size_t)c->dae->n * sizeof *x;
    memcpy(c->x_start, x, bytes);
    memcpy(c->xdot_start, xdot, bytes);
    c->dae->h = h;
    c->fresh = c->renewed = false;
    c->settled = is_same(c, cj, c->cj_last);
    // iterations beyond one are what worse factors cost, as long as cj would let them stay
    if (c->settled && c->iterations > 1) c->spent += c->iterations - 1;
    c->iterations = 0;
    c->news = KD_MATRIX_KEPT;
    c->norm = 0;
    age_rate(c, cj);
}

kd_status kd_corrector_solve(kd_corrector *c, double t, double h, double cj, double *x, double *xdot)
{
    kd_dae   *dae = c->dae;
    size_t    bytes = (size_t)dae->n * sizeof *x;
    kd_status status = KD_OK;
    bool      failed = false;
    reset(c, h, cj, x, xdot);
    // with the present matrix if the rules allow it; each failure makes the next one better, until it is fresh
    for (;;) {
        const kd_matrix_state state = {.exists = c->exists && !c->evaluate_next,
                                       .fresh = c->fresh,
                                       .renewed = c->renewed,
                                       .failed = failed,
                                       .has_update = dae->methods->update,
                                       .scales = dae->ndifferential > 0,
                                       .shrunk = c->shrunk,
                                       .outgrown = c->cj_evaluated > OUTGROWN * cj,
                                       .spent = c->settled ? c->spent : 0,
                                       .ratio = is_same(c, cj, c->cj_factored) ? 1
                                                : c->cj_factored > 0           ? cj / c->cj_factored
                                                                               : 0};
        kd_matrix_action      action = kd_corrector_decide(&c->opt, &state);
        // not even fresh derivatives at these starting values: next time wider differences and new selectors
        if (action == KD_MATRIX_GIVE_UP) {
            dae->widen = c->evaluate_next = c->restart = true;
            return KD_ERR_NEWTON;
        }
        if (action != KD_MATRIX_KEEP) status = renew(c, action, t, cj);
        if (status < 0) return status;
        status = iterate(c, t, cj, x, xdot);
        if (status != KD_ERR_NEWTON) return status;
        // back to the starting values; the rules see the failure and choose more
        failed = true;
        status = KD_OK;
        memcpy(x, c->x_start, bytes);
        memcpy(xdot, c->xdot_start, bytes);
    }
}

void kd_corrector_archive(kd_corrector *c, kd_archive *a)
{
    kd_secants *s = &c->secants;
    KD_ARCHIVE_BOOLS(a, &c->exists, &c->fresh, &c->renewed, &c->evaluate_next, &c->restart, &c->settled);
    KD_ARCHIVE_REALS(a, &c->cj_factored, &c->cj_evaluated, &c->cj_last, &c->same, &c->rate, &c->norm);
    kd_archive_int(a, &c->counted, 0, c->dae->n > 1 ? c->dae->n : 1); // without any it is one
    kd_archive_int(a, &c->shrunk, 0, INT_MAX / 2);
    kd_archive_int(a, &c->spent, 0, INT_MAX / 2);
    kd_archive_int(a, &c->iterations, 0, INT_MAX / 2);
    KD_ARCHIVE_ENUM(a, kd_matrix_news, c->news, KD_MATRIX_EVALUATED);
    kd_archive_int(a, &s->count, 0, KD_SECANTS);
    kd_archive_int(a, &s->used, 0, KD_SECANTS);
    kd_archive_int(a, &s->known, -1, KD_SECANTS);
}
