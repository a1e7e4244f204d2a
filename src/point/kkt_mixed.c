// kkt_mixed.c: [M C'; N 0] [a; lambda] = [f; c] with definite M, for small dense systems:
//
//     M = L L',  X = inv(M) C',  S = N X;     z = inv(M) f,  lambda = inv(S) (N z - c),  a = z - X lambda
//
// Rows and columns of S are scaled by the lengths of the rows of C in the norm of inv(M): its pivots are then sines of
// angles between rows.
#include "point/kkt_mixed.h"
#include "math/dense.h"
#include <math.h>
#include <string.h>

#define DEFINITE 1e-12   // smallest part that is left of a diagonal entry of M
#define INDEPENDENT 1e-8 // ... of scaled N inv(M) C'

void kd_kkt_mixed_cut(kd_kkt_mixed *self, kd_arena *arena, int nv, int nrows)
{
    self->nv = nv;
    self->nrows = nrows;
    self->L = kd_cut_matrix(arena, nv, nv);
    self->X = kd_cut_matrix(arena, nv, nrows);
    self->N = kd_cut_matrix(arena, nrows, nv);
    self->S = kd_cut_matrix(arena, nrows, nrows);
    self->scale = kd_cut_double(arena, nrows);
    self->pivot = kd_cut_int(arena, nrows);
}

static bool factor_mass(kd_kkt_mixed *self, const double *M)
{
    int n = self->nv;
    memcpy(self->L, M, (size_t)n * (size_t)n * sizeof *M);
    if (kd_cholesky_factor(n, self->L) != 0) return false;
    for (int k = 0; k < n; k++) {
        double l = self->L[k + k * n];
        if (!(l * l > DEFINITE * M[k + k * n])) return false;
    }
    return true;
}

// X = C', N; out of two parts with m rows each
static void collect(kd_kkt_mixed *self, int first, int m, const double *C, const double *N)
{
    int nv = self->nv, rows = self->nrows;
    for (int i = 0; i < nv; i++) {
        for (int k = 0; k < m; k++) {
            self->X[i + (first + k) * nv] = C[k + i * m];
            self->N[first + k + i * rows] = N[k + i * m];
        }
    }
}

// 1 / sqrt(c_j' inv(M) c_j); X is C' on input, inv(M) C' on output
static bool solve_rows(kd_kkt_mixed *self, int nlambda, const double *GZ, int nmu, const double *HZ)
{
    int nv = self->nv;
    kd_cholesky_solve(nv, self->L, self->X, self->nrows);
    for (int j = 0; j < self->nrows; j++) {
        const double *C = j < nlambda ? GZ + j : HZ + (j - nlambda);
        int           ld = j < nlambda ? nlambda : nmu;
        double        sum = 0;
        for (int i = 0; i < nv; i++) sum += C[i * ld] * self->X[i + j * nv];
        if (!(sum > 0)) return false;
        self->scale[j] = 1 / sqrt(sum);
    }
    return true;
}

bool kd_kkt_mixed_factor(kd_kkt_mixed *self, const double *M, int nlambda, const double *GZ, const double *next_GZ,
                         int nmu, const double *HZ, const double *next_HZ)
{
    int m = self->nrows;
    if (!factor_mass(self, M)) return false;
    collect(self, 0, nlambda, GZ, next_GZ);
    collect(self, nlambda, nmu, HZ, next_HZ);
    if (!solve_rows(self, nlambda, GZ, nmu, HZ)) return false;
    kd_gemm(m, m, self->nv, 1, self->N, self->X, 0, self->S);
    for (int j = 0; j < m; j++)
        for (int i = 0; i < m; i++) self->S[i + j * m] *= self->scale[i] * self->scale[j];
    if (kd_lu_factor(m, self->S, self->pivot) != 0) return false;
    for (int j = 0; j < m; j++)
        if (!(fabs(self->S[j + j * m]) > INDEPENDENT)) return false;
    return true;
}

void kd_kkt_mixed_solve(const kd_kkt_mixed *self, double *b)
{
    int     nv = self->nv, m = self->nrows;
    double *lambda = b + nv;
    kd_cholesky_solve(nv, self->L, b, 1);
    kd_gemv(m, nv, 1, self->N, b, -1, lambda);
    for (int j = 0; j < m; j++) lambda[j] *= self->scale[j];
    kd_lu_solve(m, self->S, self->pivot, lambda, 1);
    for (int j = 0; j < m; j++) lambda[j] *= self->scale[j];
    kd_gemv(nv, m, -1, self->X, lambda, 1, b);
}
