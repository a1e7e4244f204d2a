// kkt_mixed.c: [M C'; N 0] [a; lambda] = [f; c] with definite M, for small dense systems:
//
//     M = L D L',  W' = [C; N] inv(L'),  V' = W' inv(D),  S = N inv(M) C' = W_N' V_C
//     z = inv(L) f,  lambda = inv(S) (V_N' z - c),  a = inv(L') (inv(D) z - V_C lambda)
//
// as kkt.c, with twice as many rows. Rows and columns of S are scaled by the lengths of the rows of C in the norm of
// inv(M): its pivots are then sines of angles between rows. For few rows their number is known to the compiler.
#include "point/kkt_mixed.h"
#include "math/dense.h"
#include "point/kkt_impl.h"
#include <math.h>

#define INDEPENDENT 1e-8 // smallest part that is left of scaled N inv(M) C'

void kd_kkt_mixed_cut(kd_kkt_mixed *self, kd_arena *arena, int nv, int nrows)
{
    self->nv = nv;
    self->nrows = nrows;
    kd_kkt_factors_cut(&self->mass, arena, nv);
    self->W = kd_cut_matrix(arena, 2 * nrows, nv);
    self->V = kd_cut_matrix(arena, 2 * nrows, nv);
    self->S = kd_cut_matrix(arena, nrows, nrows);
    self->scale = kd_cut_double(arena, nrows);
    self->pivot = kd_cut_int(arena, nrows);
}

// Columns of [C; N], out of two parts
static void collect(kd_kkt_mixed *self, int first, int rows, const double *C, const double *N)
{
    const int m = self->nrows;
    for (int i = 0; i < self->nv; i++) {
        double *w = self->W + 2 * m * i + first;
        for (int k = 0; k < rows; k++) {
            w[k] = C[k + i * rows];
            w[m + k] = N[k + i * rows];
        }
    }
}

// W' = [C; N] inv(L'), column by column: w_i = c_i - sum_k<i l_ik w_k; V
KD_KKT_INLINE void reduce(const int m, kd_kkt_mixed *self)
{
    const kd_kkt_factors *M = &self->mass;
    const int             nv = self->nv, ld = 2 * m;
    for (int i = 0; i < nv; i++) {
        const double *row = M->rows + i * nv, inverse = M->inverse[i];
        double       *w = self->W + ld * i, *v = self->V + ld * i;
        for (int k = M->first[i]; k < i; k++) {
            const double l = row[k], *wk = self->W + ld * k;
            for (int j = 0; j < ld; j++) w[j] += l * wk[j];
        }
        for (int j = 0; j < ld; j++) v[j] = inverse * w[j];
    }
}

// 1 / sqrt(c_j' inv(M) c_j), then S. false: a row of zeros
KD_KKT_INLINE void multiply(const int m, kd_kkt_mixed *self, bool *good)
{
    const int nv = self->nv, ld = 2 * m;
    double   *S = self->S, *scale = self->scale;
    for (int j = 0; j < m; j++) scale[j] = 0;
    for (int j = 0; j < m * m; j++) S[j] = 0;
    for (int i = 0; i < nv; i++) {
        const double *w = self->W + ld * i, *v = self->V + ld * i;
        for (int j = 0; j < m; j++) {
            scale[j] += w[j] * v[j];
            for (int k = 0; k < m; k++) S[k + j * m] += w[m + k] * v[j];
        }
    }
    *good = true;
    for (int j = 0; j < m; j++) {
        *good = *good && scale[j] > 0;
        scale[j] = 1 / sqrt(scale[j]);
    }
    for (int j = 0; j < m; j++)
        for (int k = 0; k < m; k++) S[k + j * m] *= scale[k] * scale[j];
}

bool kd_kkt_mixed_factor(kd_kkt_mixed *self, const double *M, int nlambda, const double *GZ, const double *next_GZ,
                         int nmu, const double *HZ, const double *next_HZ)
{
    const int m = self->nrows;
    bool      good;
    if (!kd_kkt_mass_factor(&self->mass, M)) return false;
    collect(self, 0, nlambda, GZ, next_GZ);
    collect(self, nlambda, nmu, HZ, next_HZ);
    KD_KKT_FOR_ROWS(m, reduce, self);
    KD_KKT_FOR_ROWS(m, multiply, self, &good);
    if (!good || kd_lu_factor(m, self->S, self->pivot) != 0) return false;
    for (int j = 0; j < m; j++)
        if (!(fabs(self->S[j + j * m]) > INDEPENDENT)) return false;
    return true;
}

// b = [z; c] <- [inv(D) z - V_C lambda; lambda]
KD_KKT_INLINE void solve_rows(const int m, const kd_kkt_mixed *self, double *b)
{
    const int nv = self->nv, ld = 2 * m;
    double   *lambda = b + nv;
    // V_N' z - c
    for (int j = 0; j < m; j++) lambda[j] = -lambda[j];
    for (int i = 0; i < nv; i++) {
        const double *v = self->V + ld * i + m;
        for (int j = 0; j < m; j++) lambda[j] += b[i] * v[j];
    }
    for (int j = 0; j < m; j++) lambda[j] *= self->scale[j];
    kd_lu_solve(m, self->S, self->pivot, lambda, 1);
    for (int j = 0; j < m; j++) lambda[j] *= self->scale[j];
    for (int i = 0; i < nv; i++) {
        const double *v = self->V + ld * i;
        double        sum = b[i] * self->mass.inverse[i];
        for (int j = 0; j < m; j++) sum -= v[j] * lambda[j];
        b[i] = sum;
    }
}

void kd_kkt_mixed_solve(const kd_kkt_mixed *self, double *b)
{
    kd_kkt_forward(&self->mass, b);
    KD_KKT_FOR_ROWS(self->nrows, solve_rows, self, b);
    kd_kkt_backward(&self->mass, b);
}
