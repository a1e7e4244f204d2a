// kkt.c: [M C'; C 0] [a; lambda] = [f; c] with definite M, for small dense systems:
//
//     M = L L',  W = inv(L) C',  W' W = R R';     z = inv(L) f,  lambda = inv(R R') (W' z - c),  a = inv(L') (z - W
//     lambda)
//
// Half the operations of an LU of the whole, without a search for pivots and without scaling: Cholesky's method does
// not depend on the scales of rows. What it cannot do safely is left to the LU: pivots that cancel.
#include "formulation/kkt.h"
#include "math/kernel.h"
#include <math.h>
#include <string.h>

#define DEFINITE 1e-12   // smallest part that is left of a diagonal entry of M
#define INDEPENDENT 1e-8 // ... of C inv(M) C': squares of sines of angles between rows

void kd_kkt_cut(kd_kkt *self, kd_arena *arena, int nv, int nrows)
{
    self->nv = nv;
    self->nrows = nrows;
    self->L = kd_cut_matrix(arena, nv, nv);
    self->W = kd_cut_matrix(arena, nv, nrows);
    self->R = kd_cut_matrix(arena, nrows, nrows);
    self->inverse = kd_cut_double(arena, nv + nrows);
}

// y -= sum_k l_k x_k over columns x_k of X (m rows, ld apart): sums stay in registers. All factors below are made of
// it.
static inline void subtract(int m, int count, const double *l, int stride, const double *X, int ld, double *y)
{
    int i = 0;
    for (; i + 4 <= m; i += 4) {
        kd_pair a = kd_pair_load(y + i), b = kd_pair_load(y + i + 2);
        for (int k = 0; k < count; k++) {
            const kd_pair s = kd_pair_both(l[k * stride]);
            a -= s * kd_pair_load(X + i + k * ld);
            b -= s * kd_pair_load(X + i + 2 + k * ld);
        }
        kd_pair_store(y + i, a);
        kd_pair_store(y + i + 2, b);
    }
    for (; i + 2 <= m; i += 2) {
        kd_pair a = kd_pair_load(y + i);
        for (int k = 0; k < count; k++) a -= kd_pair_both(l[k * stride]) * kd_pair_load(X + i + k * ld);
        kd_pair_store(y + i, a);
    }
    for (; i < m; i++)
        for (int k = 0; k < count; k++) y[i] -= l[k * stride] * X[i + k * ld];
}

// Lower triangle in place, reciprocals of its diagonal; false: a pivot below least times the entry that it was
static bool cholesky(int n, double *A, double *inverse, double least)
{
    for (int k = 0; k < n; k++) {
        double *x = A + k + k * n, entry = *x;
        subtract(n - k, k, A + k, n, A + k, n, x);
        if (!(*x > least * entry)) return false;
        double root = sqrt(*x);
        inverse[k] = 1 / root;
        *x = root;
        for (int i = 1; i < n - k; i++) x[i] *= inverse[k];
    }
    return true;
}

// x = inv(L) x
static void forward(int n, const double *L, const double *inverse, double *x)
{
    for (int k = 0; k < n; k++) {
        x[k] *= inverse[k];
        kd_kernel_sub(n - k - 1, x[k], L + k + 1 + k * n, x + k + 1);
    }
}

// x = inv(L') x
static void backward(int n, const double *L, const double *inverse, double *x)
{
    for (int k = n - 1; k >= 0; k--)
        x[k] = (x[k] - kd_kernel_dot(n - k - 1, L + k + 1 + k * n, x + k + 1)) * inverse[k];
}

// W' = C inv(L'), column by column: w_i = (c_i - sum_k<i l_ik w_k) / l_ii
static void reduce_rows(kd_kkt *self, int nlambda, const double *GZ, int nmu, const double *HZ)
{
    int nv = self->nv, m = self->nrows;
    for (int i = 0; i < nv; i++) {
        double *w = self->W + i * m;
        for (int j = 0; j < nlambda; j++) w[j] = GZ[j + i * nlambda];
        for (int j = 0; j < nmu; j++) w[nlambda + j] = HZ[j + i * nmu];
        subtract(m, i, self->L + i, nv, self->W, m, w);
        for (int j = 0; j < m; j++) w[j] *= self->inverse[i];
    }
}

// lower triangle of W' W
static void multiply_rows(kd_kkt *self)
{
    int     nv = self->nv, m = self->nrows;
    double *R = self->R;
    for (int j = 0; j < m; j++) {
        double *r = R + j + j * m;
        for (int i = 0; i < m - j; i++) r[i] = 0;
        subtract(m - j, nv, self->W + j, m, self->W + j, m, r);
        for (int i = 0; i < m - j; i++) r[i] = -r[i];
    }
}

bool kd_kkt_factor(kd_kkt *self, const double *M, int nlambda, const double *GZ, int nmu, const double *HZ)
{
    int nv = self->nv, m = self->nrows;
    memcpy(self->L, M, (size_t)nv * (size_t)nv * sizeof *M);
    if (!cholesky(nv, self->L, self->inverse, DEFINITE)) return false;
    reduce_rows(self, nlambda, GZ, nmu, HZ);
    multiply_rows(self);
    return cholesky(m, self->R, self->inverse + nv, INDEPENDENT);
}

void kd_kkt_solve(const kd_kkt *self, double *b)
{
    int     nv = self->nv, m = self->nrows;
    double *lambda = b + nv;
    forward(nv, self->L, self->inverse, b);
    for (int j = 0; j < m; j++) lambda[j] = -lambda[j];
    for (int i = 0; i < nv; i++) kd_kernel_sub(m, -b[i], self->W + i * m, lambda);
    forward(m, self->R, self->inverse + nv, lambda);
    backward(m, self->R, self->inverse + nv, lambda);
    for (int i = 0; i < nv; i++) b[i] -= kd_kernel_dot(m, self->W + i * m, lambda);
    backward(nv, self->L, self->inverse, b);
}
