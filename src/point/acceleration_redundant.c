// acceleration_redundant.c: redundant rows. Their multipliers are not unique: those of least norm with the same forces,
//     (lambda, mu) <- (I - N N') (lambda, mu),   N orthonormal null vectors of the multipliers;
// and the independent rows among them, which stand for all in half-explicit stages.
#include "math/dense.h"
#include "point/acceleration_impl.h"
#include <math.h>
#include <string.h>

#define INDEPENDENT 1e-8 // part of a null vector beyond the others that counts

// ---- multipliers of least norm --------------------------------------------------------------------------------------

// Null vectors of the matrix whose SVD is at hand, without its scale, orthonormal in the multipliers: N (nk - nv x k)
// in the columns of U. The norm that counts is that of lambda and mu, not of the scaled unknowns.
static int null_multipliers(kd_acceleration *self)
{
    kd_full_matrix *m = &self->full;
    const int       n = self->nf, nv = self->dims.nv, rows = self->nk - nv;
    int             count = 0;
    for (int i = 0; i < n && count < rows; i++) {
        double *q = m->U + (size_t)count * (size_t)rows, length;
        if (m->sigma[i] > self->rank_tolerance * m->sigma[0]) continue;
        // the part of the multipliers, unscaled
        for (int j = 0; j < rows; j++) q[j] = m->Vt[i + (nv + j) * n] * m->column[nv + j];
        length = sqrt(kd_dot(rows, q, q));
        // orthogonal to those before: twice is enough
        for (int b = 0; b < 2 * count; b++) {
            const double *other = m->U + (size_t)(b % count) * (size_t)rows;
            kd_axpy(rows, -kd_dot(rows, other, q), other, q);
        }
        const double left = sqrt(kd_dot(rows, q, q));
        if (!(left > INDEPENDENT * length)) continue;
        for (int j = 0; j < rows; j++) q[j] /= left;
        count++;
    }
    return count;
}

void kd_redundant_least_norm(kd_acceleration *self, double *lambda, double *mu)
{
    const int nlambda = self->dims.nlambda, nmu = self->dims.nmu, rows = nlambda + nmu;
    const int count = null_multipliers(self);
    for (int k = 0; k < count; k++) {
        const double *q = self->full.U + (size_t)k * (size_t)rows;
        const double  part = kd_dot(nlambda, q, lambda) + kd_dot(nmu, q + nlambda, mu);
        kd_axpy(nlambda, -part, q, lambda);
        kd_axpy(nmu, -part, q + nlambda, mu);
    }
}

kd_eval kd_acceleration_least_norm(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                                   const double *r, const double *a, const double *w, double *lambda, double *mu)
{
    kd_eval answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer != KD_EVAL_OK || self->nk == self->dims.nv) return answer;
    if (!kd_acceleration_reserve(self)) return kd_acceleration_no_room(self, t);
    kd_eom_at_acceleration(self->data, a, w, lambda, mu);
    answer = kd_full_evaluate(self);
    if (answer != KD_EVAL_OK) return answer;
    if (!kd_full_factor(self, self->nf))
        return kd_acceleration_no_solution(self, KD_ERR_SINGULAR_MASS, t, kd_status_sentence(KD_ERR_SINGULAR_MASS));
    if (self->factors == KD_FACTORS_TRUNCATED) kd_redundant_least_norm(self, lambda, mu);
    return KD_EVAL_OK;
}

// ---- independent rows -----------------------------------------------------------------------------------------------

// C = the active rows of [GZ; HZ] of the stage, each with largest entry 1 (count x nv); which to row. Their number
static int scaled_active_rows(const kd_acceleration *self, double *C, int *row)
{
    const kd_dims        d = self->dims;
    const kd_stage_rows *stage = &self->stage;
    const int            m = d.nlambda + d.nmu;
    int                  count = 0;
    // rows of any unit side by side: each by its largest entry
    for (int k = 0; k < m; k++) {
        if (!kd_acceleration_is_active(self, k)) continue;
        const double *from = k < d.nlambda ? stage->GZ + k : stage->HZ + (k - d.nlambda);
        const int     ld = k < d.nlambda ? d.nlambda : d.nmu;
        double        most = 0;
        for (int j = 0; j < d.nv; j++) most = kd_larger(most, fabs(from[j * ld]));
        for (int j = 0; j < d.nv; j++) C[count + j * m] = most > 0 ? from[j * ld] / most : 0;
        row[count++] = k;
    }
    // columns as long as the number of rows that were found
    for (int j = 0; j < d.nv && count < m; j++) memmove(C + j * count, C + j * m, (size_t)count * sizeof *C);
    return count;
}

kd_eval kd_acceleration_select(kd_acceleration *self, double t, const double *p, const double *s)
{
    const kd_dims  d = self->dims;
    const int      m = d.nlambda + d.nmu;
    kd_stage_rows *stage = &self->stage;
    double        *C = self->full.A;
    int           *row = self->full.pivot;
    if (!self->svd || m == 0) return KD_EVAL_OK;
    kd_eval answer = kd_acceleration_at_time(self, t);
    if (answer != KD_EVAL_OK) return answer;
    kd_eom_at_position(self->data, p, s);
    answer = kd_acceleration_note(self, kd_eom_constraint_matrices(self->data, stage->GZ, stage->HZ));
    if (answer != KD_EVAL_OK) return answer;

    // those behind the rank, in the order of a full-pivot LU, are left out
    memset(stage->left_out, 0, (size_t)m * sizeof *stage->left_out);
    const int rows = scaled_active_rows(self, C, row);
    const int rank = kd_lu_full(rows, d.nv, C, stage->row_order, stage->column_order, self->rank_tolerance);
    for (int k = rank; k < rows; k++) stage->left_out[row[stage->row_order[k]]] = true;
    self->factors = KD_FACTORS_NONE; // A was the workspace
    self->definite.known = self->kept.usable = false;
    return KD_EVAL_OK;
}
