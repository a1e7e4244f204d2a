// math/lu.c: LU with partial pivoting, real and complex, and LU with full pivoting of rectangular matrices.
//
// P A = L U is stored as LAPACK does: L unit lower and U upper in place, pivot[k] the row (1-based) that was exchanged
// with row k + 1. So the own kernels and LAPACK can read each other's factors, and kd_lu_rcond serves both.
// A pivot below the smallest normal number (its reciprocal may overflow), NaN or infinity makes the matrix singular;
// NaN anywhere in A ends in a pivot.
#include "math/dense.h"

#include "math/kernel.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>

static bool is_pivot(double magnitude)
{
    return magnitude >= DBL_MIN && magnitude <= DBL_MAX;
}

static void swap(double *a, double *b)
{
    const double t = *a;
    *a = *b;
    *b = t;
}

// ---- real
// ------------------------------------------------------------------------------------------------------------

// row of the largest entry in x[k..n), and its magnitude
static int largest(int k, int n, const double *x, double *magnitude)
{
    int    row = k;
    double best = 0;
    for (int i = k; i < n; i++) {
        const double a = fabs(x[i]);
        const bool   larger = a > best;
        best = larger ? a : best;
        row = larger ? i : row;
    }
    *magnitude = best;
    return row;
}

static void multiply(int n, double factor, double *x)
{
    for (int i = 0; i < n; i++) x[i] *= factor;
}

// Left-looking: column j is loaded and stored once, and only short solves with L touch it in between.
int kd_kernel_lu_factor(int n, double *A, int *pivot)
{
    int singular = 0;
    for (int j = 0; j < n; j++) {
        double *x = kd_column(A, n, j);
        for (int k = 0; k < j; k++) swap(x + k, x + pivot[k] - 1);
        kd_kernel_lower(n, j, A, n, x);
        double    magnitude = 0;
        const int p = largest(j, n, x, &magnitude);
        pivot[j] = p + 1;
        if (!is_pivot(magnitude)) {
            if (!singular) singular = j + 1;
            continue;
        }
        if (p != j)
            for (int k = 0; k <= j; k++) swap(kd_column(A, n, k) + j, kd_column(A, n, k) + p);
        multiply(n - j - 1, 1 / x[j], x + j + 1);
    }
    return singular;
}

static int first_bad_pivot(int n, const double *LU)
{
    for (int k = 0; k < n; k++)
        if (!is_pivot(fabs(kd_column_const(LU, n, k)[k]))) return k + 1;
    return 0;
}

int kd_lu_factor(int n, double *A, int *pivot)
{
    if (n <= KD_SMALL) return kd_kernel_lu_factor(n, A, pivot);
    const int info = LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, A, n, pivot);
    return info > 0 ? info : first_bad_pivot(n, A);
}

void kd_kernel_lu_solve(int n, const double *LU, const int *pivot, double *x)
{
    for (int k = 0; k < n; k++) swap(x + k, x + pivot[k] - 1);
    kd_kernel_lower(n, n, LU, n, x);
    kd_kernel_upper(n, LU, n, x);
}

void kd_lu_solve(int n, const double *LU, const int *pivot, double *b, int nrhs)
{
    if (n <= KD_SMALL)
        for (int r = 0; r < nrhs; r++) kd_kernel_lu_solve(n, LU, pivot, kd_column(b, n, r));
    else
        LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, nrhs, LU, n, pivot, b, n);
}

// A' = U' L' P
void kd_lu_solve_t(int n, const double *LU, const int *pivot, double *b, int nrhs)
{
    if (n > KD_SMALL) {
        LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'T', n, nrhs, LU, n, pivot, b, n);
        return;
    }
    for (int r = 0; r < nrhs; r++) {
        double *x = kd_column(b, n, r);
        for (int k = 0; k < n; k++) {
            const double *uk = kd_column_const(LU, n, k);
            x[k] = (x[k] - kd_kernel_dot(k, uk, x)) / uk[k];
        }
        for (int k = n - 1; k >= 0; k--) x[k] -= kd_kernel_dot(n - k - 1, kd_column_const(LU, n, k) + k + 1, x + k + 1);
        for (int k = n - 1; k >= 0; k--) swap(x + k, x + pivot[k] - 1);
    }
}

double kd_lu_rcond(int n, const double *LU, const int *pivot, double norm1, double *work, int *iwork)
{
    (void)pivot; // the 1-norm of inv(A) does not depend on the exchange of rows beyond what LU holds
    if (n == 0) return 1;
    if (first_bad_pivot(n, LU) || !is_pivot(norm1)) return 0;
    double rcond = 0;
    LAPACKE_dgecon_work(LAPACK_COL_MAJOR, '1', n, LU, n, norm1, &rcond, work, iwork);
    return rcond;
}

// ---- complex
// ---------------------------------------------------------------------------------------------------------

static double zmagnitude(const double *z)
{
    return fabs(z[0]) + fabs(z[1]);
}

static void zswap(double *a, double *b)
{
    swap(a, b);
    swap(a + 1, b + 1);
}

int kd_kernel_zlu_factor(int n, double *A, int *pivot)
{
    int singular = 0;
    for (int k = 0; k < n; k++) {
        double *lk = kd_column(A, 2 * n, k);
        int     p = k;
        double  best = 0;
        for (int i = k; i < n; i++) {
            const double a = zmagnitude(lk + 2 * i);
            if (a > best) {
                best = a;
                p = i;
            }
        }
        pivot[k] = p + 1;
        if (!is_pivot(best)) {
            if (!singular) singular = k + 1;
            continue;
        }
        for (int j = 0; j <= k; j++) zswap(kd_column(A, 2 * n, j) + 2 * k, kd_column(A, 2 * n, j) + 2 * p);
        double re = 0, im = 0;
        kd_kernel_zinverse(lk[2 * k], lk[2 * k + 1], &re, &im);
        for (int i = k + 1; i < n; i++) kd_kernel_zscale(re, im, lk + 2 * i);
        for (int j = k + 1; j < n; j++) {
            double *aj = kd_column(A, 2 * n, j);
            zswap(aj + 2 * k, aj + 2 * p);
            kd_kernel_zsub(n - k - 1, aj[2 * k], aj[2 * k + 1], lk + 2 * k + 2, aj + 2 * k + 2);
        }
    }
    return singular;
}

int kd_zlu_factor(int n, double complex *A, int *pivot)
{
    if (n <= KD_SMALL) return kd_kernel_zlu_factor(n, (double *)A, pivot);
    const int info = LAPACKE_zgetrf_work(LAPACK_COL_MAJOR, n, n, A, n, pivot);
    if (info > 0) return info;
    for (int k = 0; k < n; k++)
        if (!is_pivot(zmagnitude((const double *)(A + (ptrdiff_t)n * k + k)))) return k + 1;
    return 0;
}

void kd_kernel_zlu_solve(int n, const double *LU, const int *pivot, double *x)
{
    for (int k = 0; k < n; k++) zswap(x + 2 * k, x + 2 * (pivot[k] - 1));
    for (int k = 0; k < n; k++)
        kd_kernel_zsub(n - k - 1, x[2 * k], x[2 * k + 1], kd_column_const(LU, 2 * n, k) + 2 * k + 2, x + 2 * k + 2);
    for (int k = n - 1; k >= 0; k--) {
        const double *uk = kd_column_const(LU, 2 * n, k);
        double        re = 0, im = 0;
        kd_kernel_zinverse(uk[2 * k], uk[2 * k + 1], &re, &im);
        kd_kernel_zscale(re, im, x + 2 * k);
        kd_kernel_zsub(k, x[2 * k], x[2 * k + 1], uk, x);
    }
}

void kd_zlu_solve(int n, const double complex *LU, const int *pivot, double complex *b, int nrhs)
{
    if (n <= KD_SMALL)
        for (int r = 0; r < nrhs; r++)
            kd_kernel_zlu_solve(n, (const double *)LU, pivot, kd_column((double *)b, 2 * n, r));
    else
        LAPACKE_zgetrs_work(LAPACK_COL_MAJOR, 'N', n, nrhs, LU, n, pivot, b, n);
}

// ---- full pivoting
// ---------------------------------------------------------------------------------------------------

// largest entry of the remaining matrix A[k.., k..)
static double largest_remaining(int k, int m, int n, const double *A, int *row, int *col)
{
    double best = 0;
    *row = *col = k;
    for (int j = k; j < n; j++) {
        double    magnitude = 0;
        const int i = largest(k, m, kd_column_const(A, m, j), &magnitude);
        if (magnitude > best) {
            best = magnitude;
            *row = i;
            *col = j;
        }
    }
    return best;
}

static void swap_index(int *a, int *b)
{
    const int t = *a;
    *a = *b;
    *b = t;
}

int kd_lu_full(int m, int n, double *A, int *row, int *col, double tolerance)
{
    for (int i = 0; i < m; i++) row[i] = i;
    for (int j = 0; j < n; j++) col[j] = j;
    const int count = m < n ? m : n;
    double    first = 0;
    for (int k = 0; k < count; k++) {
        int          p = k, q = k;
        const double best = largest_remaining(k, m, n, A, &p, &q);
        if (!is_pivot(best) || (k > 0 && best < tolerance * first)) return k;
        if (k == 0) first = best;
        swap_index(row + k, row + p);
        swap_index(col + k, col + q);
        for (int j = 0; j < n; j++) swap(kd_column(A, m, j) + k, kd_column(A, m, j) + p);
        double *lk = kd_column(A, m, k), *aq = kd_column(A, m, q);
        for (int i = 0; i < m; i++) swap(lk + i, aq + i);
        multiply(m - k - 1, 1 / lk[k], lk + k + 1);
        for (int j = k + 1; j < n; j++) {
            double *aj = kd_column(A, m, j);
            kd_kernel_sub(m - k - 1, aj[k], lk + k + 1, aj + k + 1);
        }
    }
    return count;
}
