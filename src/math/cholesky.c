// math/cholesky.c: Cholesky A = L L' of a symmetric positive definite matrix. Only the lower triangle is read and
// written, in all functions.
#include "math/dense.h"

#include "math/kernel.h"

#include <float.h>
#include <lapacke.h>

static int cholesky_small(int n, double *A)
{
    for (int k = 0; k < n; k++) {
        double      *lk = kd_column(A, n, k);
        const double d = lk[k];
        if (!(d >= DBL_MIN && d <= DBL_MAX)) return k + 1;
        const double root = sqrt(d), r = 1 / root;
        lk[k] = root;
        for (int i = k + 1; i < n; i++) lk[i] *= r;
        for (int j = k + 1; j < n; j++) // A_ij -= l_ik l_jk, i >= j
            kd_kernel_sub(n - j, lk[j], lk + j, kd_column(A, n, j) + j);
    }
    return 0;
}

int kd_cholesky_factor(int n, double *A)
{
    if (n <= KD_SMALL) return cholesky_small(n, A);
    const int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, A, n);
    if (info > 0) return info;
    for (int k = 0; k < n; k++) {
        const double d = kd_column(A, n, k)[k];
        if (!(d >= DBL_MIN && d <= DBL_MAX)) return k + 1;
    }
    return 0;
}

void kd_cholesky_solve(int n, const double *L, double *b, int nrhs)
{
    if (n > KD_SMALL) {
        LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', n, nrhs, L, n, b, n);
        return;
    }
    for (int r = 0; r < nrhs; r++) {
        double *x = kd_column(b, n, r);
        for (int k = 0; k < n; k++) { // L y = b
            const double *lk = kd_column_const(L, n, k);
            x[k] /= lk[k];
            kd_kernel_sub(n - k - 1, x[k], lk + k + 1, x + k + 1);
        }
        for (int k = n - 1; k >= 0; k--) { // L' x = y
            const double *lk = kd_column_const(L, n, k);
            x[k] = (x[k] - kd_kernel_dot(n - k - 1, lk + k + 1, x + k + 1)) / lk[k];
        }
    }
}
