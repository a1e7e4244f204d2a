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

// Lower triangle in place, reciprocals of its diagonal; false: a pivot below least times the entry that it was
static bool cholesky(int n, double *A, double *inverse, double least)
{
    for (int k = 0; k < n; k++) inverse[k] = A[k + k * n];
    for (int k = 0; k < n; k++) {
        double *x = A + k * n;
        if (!(x[k] > least * inverse[k])) return false;
        double root = sqrt(x[k]), r = 1 / root;
        x[k] = root;
        inverse[k] = r;
        for (int i = k + 1; i < n; i++) x[i] *= r;
        for (int j = k + 1; j < n; j++) kd_kernel_sub(n - j, x[j], x + j, A + j + j * n);
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

// W' = C inv(L'), column by column: w_i = (c_i - sum_k<i l_ik w_k) / l_ii, four columns at a time
static void reduce_rows(kd_kkt *self, int nlambda, const double *GZ, int nmu, const double *HZ)
{
    int nv = self->nv, m = self->nrows;
    for (int i = 0; i < nv; i++) {
        double *w = self->W + i * m;
        for (int j = 0; j < nlambda; j++) w[j] = GZ[j + i * nlambda];
        for (int j = 0; j < nmu; j++) w[nlambda + j] = HZ[j + i * nmu];
        int k = 0;
        for (; k + 4 <= i; k += 4) {
            const double *l = self->L + i + k * nv;
            const double  four[4] = {l[0], l[nv], l[2 * nv], l[3 * nv]};
            kd_kernel_sub4(m, four, self->W + k * m, m, w);
        }
        for (; k < i; k++) kd_kernel_sub(m, self->L[i + k * nv], self->W + k * m, w);
        for (int j = 0; j < m; j++) w[j] *= self->inverse[i];
    }
}

// lower triangle of R = W' W
static void multiply_rows(kd_kkt *self)
{
    int     nv = self->nv, m = self->nrows;
    double *R = self->R;
    memset(R, 0, (size_t)m * (size_t)m * sizeof *R);
    for (int j = 0; j < m; j++) {
        int k = 0;
        for (; k + 4 <= nv; k += 4) {
            const double *w = self->W + j + k * m;
            const double  four[4] = {-w[0], -w[m], -w[2 * m], -w[3 * m]};
            kd_kernel_sub4(m - j, four, w, m, R + j + j * m);
        }
        for (; k < nv; k++) kd_kernel_sub(m - j, -self->W[j + k * m], self->W + j + k * m, R + j + j * m);
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
