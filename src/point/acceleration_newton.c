// acceleration_newton.c: accelerations, multipliers and auxiliary variables by Newton's method with the full matrix:
// forces may depend on multipliers (friction by reactions), M may be singular on its own, rows may be redundant.
//
// At first the matrix of an earlier point is tried, from the accelerations there and the guess that came: simplified
// Newton's method, as long as it converges fast.
#include "math/dense.h"
#include "point/acceleration_impl.h"
#include <math.h>
#include <string.h>

#define KEPT_ITERATIONS 8 // with the matrix of an earlier point
#define KEPT_RATE 0.15    // slowest convergence with it
#define KEPT_LEFT 1e-14   // estimated error relative to the largest scaled unknown

// ---- unknowns -------------------------------------------------------------------------------------------------------

// (a, lambda, mu, w) += rhs
static void add_increment(const kd_acceleration *self, double *a, double *w, double *lambda, double *mu)
{
    const kd_dims d = self->dims;
    const double *y = self->rhs;
    kd_axpy(d.nv, 1, y, a);
    kd_axpy(d.nlambda, 1, y + d.nv, lambda);
    kd_axpy(d.nmu, 1, y + d.nv + d.nlambda, mu);
    kd_axpy(d.nw, 1, y + self->nk, w);
}

// largest component of (a, lambda, mu, w) in scaled units
static double scaled_size(const kd_acceleration *self, const double *a, const double *w, const double *lambda,
                          const double *mu)
{
    const kd_dims d = self->dims;
    const double *part[] = {a, lambda, mu, w};
    const int     length[] = {d.nv, d.nlambda, d.nmu, d.nw};
    double        size = 0;
    for (int k = 0, j = 0; k < 4; k++)
        for (int i = 0; i < length[k]; i++, j++) size = fmax(size, fabs(part[k][i] / self->full.column[j]));
    return size;
}

static double scaled_increment(const kd_acceleration *self)
{
    double size = 0;
    for (int j = 0; j < self->nf; j++) size = fmax(size, fabs(self->rhs[j] / self->full.column[j]));
    return size;
}

// n numbers; those that there are none of may be NULL
static void copy(int n, const double *from, double *to)
{
    if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
}

// (a, lambda, mu, w) to or from one array
static void save(const kd_acceleration *self, const double *a, const double *w, const double *lambda, const double *mu,
                 double *to)
{
    const kd_dims d = self->dims;
    copy(d.nv, a, to);
    copy(d.nlambda, lambda, to + d.nv);
    copy(d.nmu, mu, to + d.nv + d.nlambda);
    copy(d.nw, w, to + self->nk);
}

static void restore(const kd_acceleration *self, const double *from, double *a, double *w, double *lambda, double *mu)
{
    const kd_dims d = self->dims;
    copy(d.nv, from, a);
    copy(d.nlambda, from + d.nv, lambda);
    copy(d.nmu, from + d.nv + d.nlambda, mu);
    copy(d.nw, from + self->nk, w);
}

// ---- the matrix of an earlier point ---------------------------------------------------------------------------------

// The matrix in use may serve later points with the same rows, unless it was truncated. That of a stage serves stages
// only: it may lack redundant rows, whose multipliers would stay what they came as.
static void keep_matrix(kd_acceleration *self, const double *a, const double *w, const double *lambda, const double *mu)
{
    const kd_dims   d = self->dims;
    kd_kept_matrix *kept = &self->kept;
    save(self, a, w, lambda, mu, kept->point);
    kept->usable = self->factors == KD_FACTORS_FULL;
    kept->of_stage = self->stage.in_use;
    memcpy(kept->active, self->state->active_lambda, (size_t)d.nlambda);
    memcpy(kept->active + d.nlambda, self->state->active_mu, (size_t)d.nmu);
}

static bool kept_serves(const kd_acceleration *self)
{
    const kd_dims         d = self->dims;
    const kd_kept_matrix *kept = &self->kept;
    return kept->usable && kept->of_stage == self->stage.in_use &&
           memcmp(kept->active, self->state->active_lambda, (size_t)d.nlambda) == 0 &&
           memcmp(kept->active + d.nlambda, self->state->active_mu, (size_t)d.nmu) == 0;
}

kd_eval kd_newton_with_kept(kd_acceleration *self, double *a, double *w, double *lambda, double *mu, bool *done)
{
    double last = 0;
    *done = false;
    if (!kept_serves(self)) return KD_EVAL_OK;
    // from the accelerations of the kept point; the guess comes back after a failure
    save(self, a, w, lambda, mu, self->kept.guess);
    memcpy(a, self->kept.point, (size_t)self->dims.nv * sizeof *a);
    for (int k = 0; k < KEPT_ITERATIONS; k++) {
        // residuals, and the increment with the kept factors
        kd_eom_at_acceleration(self->data, a, w, lambda, mu);
        kd_eval answer = kd_acceleration_rows(self, lambda, mu);
        if (answer == KD_EVAL_STOP) return answer;
        if (answer != KD_EVAL_OK) break;
        kd_acceleration_apply(self, self->nf, self->rhs);
        // how fast it falls
        const double step = scaled_increment(self), rate = k > 0 && last > 0 ? step / last : KEPT_RATE;
        if (!isfinite(step) || rate > KEPT_RATE) break;
        add_increment(self, a, w, lambda, mu);
        *done = step * rate / (1 - rate) <= KEPT_LEFT * scaled_size(self, a, w, lambda, mu);
        if (*done) {
            save(self, a, w, lambda, mu, self->kept.point);
            return KD_EVAL_OK;
        }
        last = step;
    }
    restore(self, self->kept.guess, a, w, lambda, mu);
    return KD_EVAL_OK;
}

// ---- the matrix of every iterate ------------------------------------------------------------------------------------

// rhs = increment of (a, lambda, mu, w) from the present iterate
static kd_eval newton_increment(kd_acceleration *self, double t, bool first, const double *a, const double *w,
                                double *lambda, double *mu)
{
    kd_eom_at_acceleration(self->data, a, w, lambda, mu);
    kd_eval answer = kd_full_evaluate(self);
    if (answer != KD_EVAL_OK) return answer;
    if (!kd_full_factor(self, self->nf))
        return kd_acceleration_no_solution(self, KD_ERR_SINGULAR_MASS, t, kd_status_sentence(KD_ERR_SINGULAR_MASS));
    if (first && self->factors == KD_FACTORS_TRUNCATED && !self->least_change) { // minimum norm counts from zero
        for (int i = 0; i < self->dims.nlambda; i++) lambda[i] = 0;
        for (int i = 0; i < self->dims.nmu; i++) mu[i] = 0;
        kd_eom_at_acceleration(self->data, a, w, lambda, mu);
    }
    answer = kd_acceleration_rows(self, lambda, mu);
    if (answer == KD_EVAL_OK) kd_acceleration_apply(self, self->nf, self->rhs);
    return answer;
}

kd_eval kd_newton_accelerations(kd_acceleration *self, double t, double *a, double *w, double *lambda, double *mu)
{
    double last = INFINITY;
    bool   least = self->least_change; // nothing is left to be done for the norm
    for (int k = 0; k < KD_ACCELERATION_ITERATIONS; k++) {
        kd_eval answer = newton_increment(self, t, k == 0, a, w, lambda, mu);
        if (answer != KD_EVAL_OK) return answer;
        const double step = scaled_increment(self);
        add_increment(self, a, w, lambda, mu);
        const bool truncated = self->factors == KD_FACTORS_TRUNCATED;

        // linear equations: that was all
        if (self->linear) {
            if (!isfinite(step))
                return kd_acceleration_no_solution(self, KD_ERR_NOT_FINITE, t, "no finite acceleration");
            if (truncated && !least) kd_redundant_least_norm(self, lambda, mu);
            return KD_EVAL_OK;
        }

        // at the level of rounding, or no longer falling
        const double size = scaled_size(self, a, w, lambda, mu);
        const bool   converged = step <= KD_ACCELERATION_CONVERGED * size ||
                               (step >= 0.5 * last && step <= KD_ACCELERATION_STAGNATED * size);
        if (converged && !(truncated && !least)) {
            keep_matrix(self, a, w, lambda, mu);
            return KD_EVAL_OK;
        }
        if (converged) { // forces that depend on multipliers: once more from those of least norm
            kd_redundant_least_norm(self, lambda, mu);
            least = true;
            last = INFINITY;
            continue;
        }
        if (!isfinite(step)) break;
        last = step;
    }
    return kd_acceleration_no_solution(
        self, KD_ERR_NEWTON, t,
        "the equations for accelerations, multipliers and auxiliary variables have no solution near the guess");
}
