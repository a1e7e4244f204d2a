// math/cholesky.c: Cholesky A = L L' of a symmetric positive definite matrix. Only the lower triangle is read and
// written, in all functions.
#include "math/dense.h"

#include "math/blas.h"
#include "math/kernel.h"

#ifdef KD_RUNTIME
#define SMALL KD_SMALL
#else
#define SMALL 28 // order up to which the own kernel measured faster than LAPACK
#endif

int kd_cholesky_factor(int n, double *A)
{
    if (n <= SMALL) return kd_kernel_cholesky_factor(n, A);
    const int info = KD_BLAS(LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, A, n));
    if (info > 0) return info;
    for (int k = 0; k < n; k++)
        if (!kd_is_pivot(kd_column(A, n, k)[k])) return k + 1; // infinity passes the test of LAPACK
    return 0;
}

void kd_cholesky_solve(int n, const double *L, double *b, int nrhs)
{
    if (n <= SMALL)
        for (int r = 0; r < nrhs; r++) kd_kernel_cholesky_solve(n, L, kd_column(b, n, r));
    else
        (void)KD_BLAS(LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', n, nrhs, L, n, b, n));
}
