// math/svd.c: singular value decomposition A = U diag(sigma) V', by LAPACK for every size: it is asked for rarely
// (redundant constraints, initial values), never inside Newton's method.
#include "math/blas.h"
#include "math/dense.h"

#include <math.h>
#include <stddef.h>

#define LARGE 100 // rows and columns from which on vectors are found by divide and conquer: three to ten times faster

static void set_identity(int n, double *A)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) A[(ptrdiff_t)n * j + i] = i == j;
}

static bool is_large(int m, int n)
{
    return m >= LARGE && n >= LARGE;
}

// room for the integers of divide and conquer, in doubles
static int integers(int m, int n)
{
    return 8 * (m < n ? m : n);
}

int kd_svd_work(int m, int n)
{
    if (m == 0 || n == 0) return 1;
    double size = 1;
    (void)KD_BLAS(LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'A', 'A', m, n, NULL, m, NULL, NULL, m, NULL, n, &size, -1));
    if (!is_large(m, n)) return (int)size;
    const double plain = size;
    lapack_int   unused;
    (void)KD_BLAS(
        LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'A', m, n, NULL, m, NULL, NULL, m, NULL, n, &size, -1, &unused));
    return (int)fmax(plain, size) + integers(m, n);
}

int kd_svd(int m, int n, double *A, double *U, double *sigma, double *Vt, double *work)
{
    if (m == 0 || n == 0) {
        if (U) set_identity(m, U);
        if (Vt) set_identity(n, Vt);
        return 0;
    }
    for (ptrdiff_t i = 0; i < (ptrdiff_t)m * n; i++)
        if (!isfinite(A[i])) return 1; // the iteration would not end well
    // with both bases of a large matrix divide and conquer is several times quicker
    const char job = U && Vt ? 'A' : 'N';
    const int  size = kd_svd_work(m, n);
    if (job == 'A' && is_large(m, n)) {
        const int own = integers(m, n);
        return KD_BLAS(LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, job, m, n, A, m, sigma, U, m, Vt, n, work + own,
                                           size - own, (lapack_int *)(void *)work));
    }
    return KD_BLAS(LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, job, job, m, n, A, m, sigma, U, m, Vt, n, work, size));
}
