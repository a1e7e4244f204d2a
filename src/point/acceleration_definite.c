// acceleration_definite.c: accelerations and multipliers where M is definite and the active rows C are independent, by
// Cholesky's method (kkt.c). Rows that do not hold are left out.
//
// The matrix may serve points close to its own, at the same time: with K of (t, p0) and the solution x0 there,
//     x = x0 - K \ (residual, gII, hI)(t, p; x0)
// leaves an error that is bilinear in the correction and the distance p - p0. A step that ends with an acceleration and
// a projection needs one factorisation.
#include "math/dense.h"
#include "point/acceleration_impl.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define NEAR 1e-4 // distance from the point of a matrix, in natural units, up to which it serves a neighbouring one
#define JUMP_NEAR 1e-3 // the same for jumps, of which a few digits are enough
#define JUMPS 100      // jumps that one matrix serves at most: it may depend on time
#define ABOUT 0.1      // the same distance for a difference that is only compared with a limit

// ---- factors --------------------------------------------------------------------------------------------------------

// Only the active ones of `rows` rows of C (rows x nv), in place; their number
static int pack_rows(kd_acceleration *self, int first, int rows, double *C)
{
    const int nv = self->dims.nv;
    int      *packed = self->definite.packed + self->definite.npacked, count = 0;
    for (int i = 0; i < rows; i++)
        if (kd_acceleration_is_active(self, first + i)) packed[count++] = first + i;
    self->definite.npacked += count;
    if (count == rows) return count;
    for (int j = 0; j < nv; j++)
        for (int k = 0; k < count; k++) C[k + j * count] = C[packed[k] - first + j * rows];
    return count;
}

// [M C'; C 0] of the active rows
static bool factor_packed(kd_acceleration *self)
{
    const kd_dims           d = self->dims;
    kd_acceleration_blocks *b = &self->block;
    kd_definite            *m = &self->definite;
    m->npacked = 0;
    const int nlambda = pack_rows(self, 0, d.nlambda, b->GZ);
    const int nmu = pack_rows(self, d.nlambda, d.nmu, b->HZ);
    m->kkt.nrows = m->kkt.schur.n = m->npacked;
    for (int k = 0; k < self->nk - d.nv; k++) m->active[k] = kd_acceleration_is_active(self, k);
    return kd_kkt_factor(&m->kkt, b->M, nlambda, b->GZ, nmu, b->HZ);
}

kd_eval kd_definite_matrices(kd_acceleration *self)
{
    kd_acceleration_blocks *b = &self->block;
    kd_eval                 answer = kd_eom_definition(self->eom)->M ? kd_eom_eval(self->data, KD_MASS, b->M)
                                                                     : kd_eom_derivatives(self->data, KD_PART_ALL, &self->wanted_mass);
    if (answer == KD_EVAL_OK && self->nk > self->dims.nv) answer = kd_eom_constraint_matrices(self->data, b->GZ, b->HZ);
    return kd_acceleration_note(self, answer);
}

kd_eval kd_definite_factor(kd_acceleration *self, double t, const double *p, bool *done)
{
    kd_definite *m = &self->definite;
    *done = m->known = m->solved = self->kept.usable = false;
    self->factors = KD_FACTORS_NONE;
    if (self->svd || self->stage.in_use || !self->block.M) return KD_EVAL_OK;
    kd_eval answer = kd_definite_matrices(self);
    if (answer != KD_EVAL_OK) return answer;

    // their factors, and where they belong
    *done = m->known = factor_packed(self);
    if (*done) self->factors = KD_FACTORS_DEFINITE;
    m->t = t;
    m->jumps = 0;
    memcpy(m->p, p, (size_t)self->dims.np * sizeof *p);
    return KD_EVAL_OK;
}

// b <- [M C'; C 0] \ b; multipliers of rows that do not hold stay as they are, 0
void kd_definite_solve(kd_acceleration *self, double *b)
{
    const int    nv = self->dims.nv;
    kd_definite *m = &self->definite;
    double      *x = m->packed_b;
    if (m->npacked == self->nk - nv) {
        kd_kkt_solve(&m->kkt, b);
        return;
    }
    memcpy(x, b, (size_t)nv * sizeof *x);
    for (int k = 0; k < m->npacked; k++) x[nv + k] = b[nv + m->packed[k]];
    kd_kkt_solve(&m->kkt, x);
    memcpy(b, x, (size_t)nv * sizeof *x);
    for (int k = 0; k < m->npacked; k++) b[nv + m->packed[k]] = x[nv + k];
}

// ---- neighbours -----------------------------------------------------------------------------------------------------

// Largest distance of a coordinate from the point of the matrix, in natural units
static double distance(const kd_acceleration *self, const double *p)
{
    double far = 0;
    for (int i = 0; i < self->dims.np; i++)
        far = kd_larger(far, fabs(p[i] - self->definite.p[i]) / kd_eom_position_unit(self->eom, i));
    return far;
}

static bool has_same_rows(const kd_acceleration *self)
{
    for (int k = 0; k < self->nk - self->dims.nv; k++)
        if (self->definite.active[k] != kd_acceleration_is_active(self, k)) return false;
    return true;
}

bool kd_definite_is_near(const kd_acceleration *self, double t, const double *p, double *far)
{
    const kd_definite *m = &self->definite;
    *far = 0;
    if (!self->shares || !m->known || self->stage.in_use || m->t != t || !has_same_rows(self)) return false;
    *far = distance(self, p);
    return *far <= NEAR;
}

bool kd_definite_serves_jump(const kd_acceleration *self, const double *p)
{
    const kd_definite *m = &self->definite;
    return m->known && !self->stage.in_use && m->jumps < JUMPS && has_same_rows(self) && distance(self, p) <= JUMP_NEAR;
}

// ---- solution -------------------------------------------------------------------------------------------------------

kd_eval kd_definite_improve(kd_acceleration *self, const double *w, double *step, double *size)
{
    const int nv = self->dims.nv, nlambda = self->dims.nlambda;
    double   *x = self->definite.solution;
    kd_eom_at_acceleration(self->data, x, w, x + nv, x + nv + nlambda);
    kd_eval answer = kd_acceleration_rows(self, x + nv, x + nv + nlambda);
    if (answer != KD_EVAL_OK) return answer;
    kd_acceleration_apply(self, self->nk, self->rhs);
    kd_axpy(self->nk, 1, self->rhs, x);
    *step = kd_norm_max(nv, self->rhs);
    *size = kd_norm_max(nv, x);
    return KD_EVAL_OK;
}

kd_eval kd_definite_accelerations(kd_acceleration *self, double t, const double *p, const double *w, bool *done)
{
    kd_definite *m = &self->definite;
    double       far, step, size;
    kd_eval      answer = KD_EVAL_OK;
    *done = false;

    // close to the point of the last matrix: correct its solution
    if (kd_definite_is_near(self, t, p, &far) && m->solved) {
        answer = kd_definite_improve(self, w, &step, &size);
        *done = answer == KD_EVAL_OK && step * far <= DBL_EPSILON * size;
        if (*done || answer != KD_EVAL_OK) return answer;
    }

    // elsewhere: the matrix of this point, from 0
    memset(m->solution, 0, (size_t)self->nk * sizeof(double));
    kd_eom_at_acceleration(self->data, m->solution, w, m->solution, m->solution);
    answer = kd_definite_factor(self, t, p, done);
    if (answer != KD_EVAL_OK || !*done) return answer;
    answer = kd_definite_improve(self, w, &step, &size);
    if (answer == KD_EVAL_OK && !isfinite(step))
        answer = kd_acceleration_no_solution(self, KD_ERR_NOT_FINITE, t, "no finite acceleration");
    m->solved = answer == KD_EVAL_OK;
    return answer;
}

void kd_definite_take(const kd_acceleration *self, double *a, double *lambda, double *mu)
{
    const kd_dims d = self->dims;
    const double *x = self->definite.solution;
    memcpy(a, x, (size_t)d.nv * sizeof *a);
    for (int i = 0; i < d.nlambda; i++) lambda[i] = x[d.nv + i];
    for (int i = 0; i < d.nmu; i++) mu[i] = x[d.nv + d.nlambda + i];
}

kd_eval kd_acceleration_difference(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                                   const double *r, const double *a, const double *w, const double *lambda,
                                   const double *mu, double *difference, bool *done)
{
    kd_definite *m = &self->definite;
    *done = false;
    if (!self->linear || !m->known || self->factors != KD_FACTORS_DEFINITE || m->jumps >= JUMPS ||
        !has_same_rows(self) || !(distance(self, p) <= ABOUT))
        return KD_EVAL_OK;
    // the residual at the known accelerations, behind old factors: one correction, the difference
    kd_eval answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer != KD_EVAL_OK) return answer;
    kd_eom_at_acceleration(self->data, a, w, lambda, mu);
    answer = kd_acceleration_rows(self, lambda, mu);
    if (answer != KD_EVAL_OK) return answer;
    // one matrix serves so many only: it may depend on time
    m->jumps++;
    kd_acceleration_apply(self, self->nk, self->rhs);
    memcpy(difference, self->rhs, (size_t)self->dims.nv * sizeof *difference);
    *done = isfinite(kd_norm_max(self->dims.nv, difference));
    return KD_EVAL_OK;
}
