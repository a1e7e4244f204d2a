// math/eigen.c: eigenvalues and right eigenvectors of a general matrix, by LAPACK (balanced, QR algorithm).
#include <math.h>
#include <stddef.h>

#include "math/blas.h"
#include "math/dense.h"

int kd_eigen_work(int n)
{
    if (n == 0) return 1;
    double size = 1;
    (void)KD_BLAS(LAPACKE_dgeev_work(LAPACK_COL_MAJOR, 'N', 'V', n, NULL, n, NULL, NULL, NULL, n, NULL, n, &size, -1));
    return (int)size;
}

int kd_eigen(int n, double *A, double *real, double *imaginary, double *V, double *work)
{
    if (n == 0) return 0;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n * n; i++)
        if (!isfinite(A[i])) return 1; // the iteration would not end well
    const int size = kd_eigen_work(n);
    return KD_BLAS(
        LAPACKE_dgeev_work(LAPACK_COL_MAJOR, 'N', V ? 'V' : 'N', n, A, n, real, imaginary, NULL, n, V, n, work, size));
}
