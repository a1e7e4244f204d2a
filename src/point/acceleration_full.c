// acceleration_full.c: the full matrix of accelerations, multipliers and auxiliary variables (acceleration.c), scaled,
// by LU or, where rows are redundant, by SVD: x = V diag(1/sigma) U' b over the singular values that count.
//
// Scale factors: accelerations 1/sqrt(M_ii), all multipliers one number, so that their minimum norm keeps its meaning;
// rows of constraints and columns of w to largest entry 1.
#include "math/dense.h"
#include "point/acceleration_impl.h"
#include <math.h>
#include <string.h>

#define MASSLESS 1e-12 // M_ii relative to the largest, in natural units, below which it gives no scale
#define SINGULAR 1e-14 // reciprocal condition of the scaled matrix that counts as redundant rows
#define PIVOTS 1e-7    // smallest pivot relative to the largest above which the condition is not estimated

// ---- the matrix -----------------------------------------------------------------------------------------------------

// A block (rows x columns) to place (row, column) of A of order n; NULL: zero
static void put_block(double *A, int n, int row, int column, int rows, int columns, const double *block)
{
    if (!block) return;
    for (int j = 0; j < columns; j++)
        memcpy(A + row + (size_t)(column + j) * (size_t)n, block + (size_t)j * (size_t)rows,
               (size_t)rows * sizeof(double));
}

static void put_transposed(double *A, int n, int row, int column, int rows, int columns, const double *block)
{
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) A[row + i + (column + j) * n] = block[j + i * columns];
}

// Inactive rows and columns of multipliers: lambda_i = 0.
static void switch_off(const kd_acceleration *self, int n)
{
    const int nv = self->dims.nv;
    double   *A = self->full.A;
    for (int k = 0; k < self->nk - nv; k++) {
        if (kd_acceleration_is_active(self, k)) continue;
        for (int j = 0; j < n; j++) A[nv + k + j * n] = 0;
        A[nv + k + (nv + k) * n] = 1;
    }
}

kd_eval kd_full_evaluate(kd_acceleration *self)
{
    const kd_dims           d = self->dims;
    const int               nv = d.nv, n = self->nf, at_mu = nv + d.nlambda, at_w = self->nk;
    kd_acceleration_blocks *b = &self->block;
    const bool              staged = self->stage.in_use;
    double                 *A = self->full.A;
    kd_eval                 answer = kd_eom_derivatives(self->data, KD_PART_ALL, &self->wanted);
    if (answer == KD_EVAL_OK && d.nlambda + d.nmu > 0 && !staged)
        answer = kd_eom_constraint_matrices(self->data, b->GZ, b->HZ);
    if (answer != KD_EVAL_OK) return kd_acceleration_note(self, answer);
    memset(A, 0, (size_t)n * (size_t)n * sizeof(double));
    // equations of motion
    put_block(A, n, 0, 0, nv, nv, b->M);
    put_block(A, n, 0, nv, nv, d.nlambda, b->C_lambda);
    put_block(A, n, 0, at_mu, nv, d.nmu, b->C_mu);
    put_block(A, n, 0, at_w, nv, d.nw, b->R_w);
    // constraints, of this or of the other point of a stage
    put_block(A, n, nv, 0, d.nlambda, nv, staged ? self->stage.GZ : b->GZ);
    put_block(A, n, at_mu, 0, d.nmu, nv, staged ? self->stage.HZ : b->HZ);
    // auxiliary variables
    put_block(A, n, at_w, nv, d.nw, d.nlambda, b->d_lambda);
    put_block(A, n, at_w, at_mu, d.nw, d.nmu, b->d_mu);
    put_block(A, n, at_w, at_w, d.nw, d.nw, b->d_w);
    switch_off(self, n);
    return KD_EVAL_OK;
}

kd_eval kd_full_evaluate_projector(kd_acceleration *self)
{
    const kd_dims           d = self->dims;
    const int               nv = d.nv, n = self->nk, at_mu = nv + d.nlambda;
    kd_acceleration_blocks *b = &self->block;
    double                 *A = self->full.A;
    // [M C'; C 0] in the norm of M, [1 C'; C 0] in the Euclidean one
    kd_eval answer = self->euclidean ? KD_EVAL_OK : kd_eom_derivatives(self->data, KD_PART_ALL, &self->wanted_mass);
    if (answer == KD_EVAL_OK) answer = kd_eom_constraint_matrices(self->data, b->GZ, b->HZ);
    if (answer != KD_EVAL_OK) return kd_acceleration_note(self, answer);
    memset(A, 0, (size_t)n * (size_t)n * sizeof(double));
    if (!self->euclidean) put_block(A, n, 0, 0, nv, nv, b->M);
    for (int i = 0; i < nv && self->euclidean; i++) A[i + i * n] = 1;
    put_block(A, n, nv, 0, d.nlambda, nv, b->GZ);
    put_block(A, n, at_mu, 0, d.nmu, nv, b->HZ);
    put_transposed(A, n, 0, nv, nv, d.nlambda, b->GZ);
    put_transposed(A, n, 0, at_mu, nv, d.nmu, b->HZ);
    // rows that are switched off: unit rows, so that their multiplier is 0
    switch_off(self, n);
    return KD_EVAL_OK;
}

// ---- scale ----------------------------------------------------------------------------------------------------------

// Factors of accelerations: 1/sqrt(M_ii), of the largest in natural units where that is none
static void scale_accelerations(kd_acceleration *self, int n)
{
    const double *A = self->full.A;
    double       *row = self->full.row, *column = self->full.column, largest = 0;
    for (int i = 0; i < self->dims.nv; i++) {
        const double unit = kd_eom_unit(self->eom, i);
        largest = kd_larger(largest, fabs(A[i + i * n]) * unit * unit);
    }
    if (largest == 0) largest = 1;
    for (int i = 0; i < self->dims.nv; i++) {
        const double unit = kd_eom_unit(self->eom, i), m = fabs(A[i + i * n]) * unit * unit;
        row[i] = column[i] = unit / sqrt(m > MASSLESS * largest ? m : largest);
    }
}

static void scale_matrix(kd_acceleration *self, int n)
{
    const int nv = self->dims.nv, nk = self->nk;
    double   *A = self->full.A, *row = self->full.row, *column = self->full.column;
    scale_accelerations(self, n);

    // multipliers: all alike, by the largest force that a unit of one exerts
    double force = 0;
    for (int j = nv; j < nk; j++)
        for (int i = 0; i < nv; i++) force = kd_larger(force, row[i] * fabs(A[i + j * n]));
    for (int j = nv; j < nk; j++) column[j] = force > 0 ? 1 / force : 1;

    // auxiliary variables: their columns to largest entry 1
    for (int j = nk; j < n; j++) {
        double most = 0;
        for (int i = 0; i < n; i++) most = kd_larger(most, (i < nv ? row[i] : 1) * fabs(A[i + j * n]));
        column[j] = most > 0 ? 1 / most : 1;
    }

    // the rows below M likewise
    for (int i = nv; i < n; i++) row[i] = 0;
    for (int j = 0; j < n; j++)
        for (int i = nv; i < n; i++) row[i] = kd_larger(row[i], column[j] * fabs(A[i + j * n]));
    for (int i = nv; i < n; i++) row[i] = row[i] > 0 ? 1 / row[i] : 1;

    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) A[i + j * n] *= row[i] * column[j];
}

// ---- factors --------------------------------------------------------------------------------------------------------

static double norm_1(int n, const double *A)
{
    double most = 0;
    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < n; i++) sum += fabs(A[i + j * n]);
        most = fmax(most, sum);
    }
    return most;
}

// Does a pivot fall so much below the others that the matrix may be singular? Estimating its condition costs as much as
// the LU of a small matrix.
static bool has_small_pivot(int n, const double *LU)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < n; i++) {
        const double u = fabs(LU[i + i * n]);
        least = u < least ? u : least;
        most = u > most ? u : most;
    }
    return !(least > PIVOTS * most);
}

// LU in place of A; false: numerically singular, A is as before
static bool factor_lu(kd_full_matrix *m, int n)
{
    const size_t bytes = (size_t)n * (size_t)n * sizeof(double);
    memcpy(m->U, m->A, bytes);
    if (kd_lu_factor(n, m->A, m->pivot) == 0 &&
        (!has_small_pivot(n, m->A) || !(kd_lu_rcond(n, m->A, m->pivot, norm_1(n, m->U), m->work, m->iwork) < SINGULAR)))
        return true;
    memcpy(m->A, m->U, bytes);
    return false;
}

bool kd_full_factor(kd_acceleration *self, int n)
{
    kd_full_matrix *m = &self->full;
    self->definite.known = self->kept.usable = false;
    scale_matrix(self, n);

    // redundant rows that are expected need no attempt; a stage has independent rows only
    if ((!self->svd || self->stage.in_use) && factor_lu(m, n)) {
        self->factors = KD_FACTORS_FULL;
        return true;
    }
    self->factors = KD_FACTORS_TRUNCATED;
    return kd_svd(n, n, m->A, m->U, m->sigma, m->Vt, m->work) == 0;
}

void kd_full_solve(kd_acceleration *self, int n, double *b)
{
    kd_full_matrix *m = &self->full;
    for (int i = 0; i < n; i++) b[i] *= m->row[i];
    if (self->factors == KD_FACTORS_TRUNCATED) { // V diag(1/sigma) U' b over the singular values that count
        double *y = m->work;
        kd_gemv_t(n, n, 1, m->U, b, 0, y);
        for (int i = 0; i < n; i++) y[i] = m->sigma[i] > self->rank_tolerance * m->sigma[0] ? y[i] / m->sigma[i] : 0;
        kd_gemv_t(n, n, 1, m->Vt, y, 0, b);
    } else {
        kd_lu_solve(n, m->A, m->pivot, b, 1);
    }
    for (int i = 0; i < n; i++) b[i] *= m->column[i];
}
