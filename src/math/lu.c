// math/lu.c: LU with partial pivoting, real and complex, and LU with full pivoting of rectangular matrices.
//
// The format of the factors is LAPACK's for every order (kernel_body.h), so that kd_lu_rcond serves all.
#include "math/dense.h"

#include "math/blas.h"
#include "math/kernel.h"

#include <math.h>

#define KD_SMALL_RCOND 16 // order up to which LAPACK's care for overflow costs more than the estimate itself

// ---- real -----------------------------------------------------------------------------------------------------------

static int first_bad_pivot(int n, const double *LU)
{
    for (int k = 0; k < n; k++)
        if (!kd_is_pivot(kd_column_const(LU, n, k)[k])) return k + 1;
    return 0;
}

int kd_lu_factor(int n, double *A, int *pivot)
{
    if (n <= KD_SMALL) return kd_kernel_lu_factor(n, A, pivot);
    const int info = KD_BLAS(LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, A, n, pivot));
    return info > 0 ? info : first_bad_pivot(n, A);
}

void kd_lu_solve(int n, const double *LU, const int *pivot, double *b, int nrhs)
{
    if (n <= KD_SMALL)
        for (int r = 0; r < nrhs; r++) kd_kernel_lu_solve(n, LU, pivot, kd_column(b, n, r));
    else
        (void)KD_BLAS(LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, nrhs, LU, n, pivot, b, n));
}

void kd_lu_solve_t(int n, const double *LU, const int *pivot, double *b, int nrhs)
{
    if (n <= KD_SMALL)
        for (int r = 0; r < nrhs; r++) kd_kernel_lu_solve_t(n, LU, pivot, kd_column(b, n, r));
    else
        (void)KD_BLAS(LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'T', n, nrhs, LU, n, pivot, b, n));
}

// Sum of the sizes of x, whose signs are put down; *same: they are those of before
static double take_signs(int n, const double *x, double *sign, bool *same)
{
    double sum = 0;
    *same = true;
    for (int i = 0; i < n; i++) {
        const double now = x[i] >= 0 ? 1 : -1;
        sum += fabs(x[i]);
        *same = *same && now == sign[i];
        sign[i] = now;
    }
    return sum;
}

static int place_of_largest(int n, const double *x)
{
    int j = 0;
    for (int i = 1; i < n; i++)
        if (fabs(x[i]) > fabs(x[j])) j = i;
    return j;
}

// A lower bound of |inv(LU)|_1 that is mostly exact, from a few solutions: Higham, ACM Trans. Math. Softw. 14 (1988),
// algorithm 4.1, in the order of LAPACK
static double inverse_norm(int n, const double *LU, const int *pivot, double *x, double *sign)
{
    enum { ROUNDS = 4 };
    bool same;
    for (int i = 0; i < n; i++) x[i] = 1.0 / n;
    kd_kernel_lu_solve(n, LU, pivot, x);
    double norm = take_signs(n, x, sign, &same);
    if (n == 1) return norm;
    // the column of the inverse that is larger than the last one, as long as there is one
    for (int i = 0; i < n; i++) x[i] = sign[i];
    kd_kernel_lu_solve_t(n, LU, pivot, x);
    for (int round = 0, j = place_of_largest(n, x), last; round < ROUNDS; round++) {
        for (int i = 0; i < n; i++) x[i] = i == j;
        kd_kernel_lu_solve(n, LU, pivot, x);
        const double before = norm;
        norm = take_signs(n, x, sign, &same);
        if (same || norm <= before) break;
        for (int i = 0; i < n; i++) x[i] = sign[i];
        kd_kernel_lu_solve_t(n, LU, pivot, x);
        last = j;
        j = place_of_largest(n, x);
        if (x[last] == fabs(x[j])) break;
    }
    // a vector of changing signs, which finds what they have missed
    for (int i = 0; i < n; i++) x[i] = (i % 2 == 0 ? 1 : -1) * (1 + (double)i / (n - 1));
    kd_kernel_lu_solve(n, LU, pivot, x);
    const double other = 2 * take_signs(n, x, sign, &same) / (3 * n);
    return other > norm ? other : norm;
}

double kd_lu_rcond(int n, const double *LU, const int *pivot, double norm1, double *work, int *iwork)
{
    (void)pivot; // the 1-norm of inv(A) = inv(U) inv(L) P does not see the order of its columns
    if (n == 0) return 1;
    if (first_bad_pivot(n, LU) || !kd_is_pivot(norm1)) return 0;
    if (n <= KD_SMALL_RCOND) {
        for (int k = 0; k < n; k++) iwork[k] = k + 1;
        const double norm = inverse_norm(n, LU, iwork, work, work + n);
        return isfinite(norm) && norm > 0 ? 1 / norm / norm1 : 0;
    }
    double rcond = 0;
    (void)KD_BLAS(LAPACKE_dgecon_work(LAPACK_COL_MAJOR, '1', n, LU, n, norm1, &rcond, work, iwork));
    return rcond;
}

// ---- complex --------------------------------------------------------------------------------------------------------

int kd_zlu_factor(int n, double complex *A, int *pivot)
{
    if (n <= KD_SMALL_COMPLEX) return kd_kernel_zlu_factor(n, (double *)A, pivot);
    const int info = KD_BLAS(LAPACKE_zgetrf_work(LAPACK_COL_MAJOR, n, n, A, n, pivot));
    if (info > 0) return info;
    for (int k = 0; k < n; k++) {
        const double *u = kd_column((double *)A, 2 * n, k) + 2 * k;
        if (!kd_is_pivot(fabs(u[0]) + fabs(u[1]))) return k + 1;
    }
    return 0;
}

void kd_zlu_solve(int n, const double complex *LU, const int *pivot, double complex *b, int nrhs)
{
    const double *lu = (const double *)LU;
    double       *x = (double *)b;
    if (n <= KD_SMALL_COMPLEX)
        for (int r = 0; r < nrhs; r++) kd_kernel_zlu_solve(n, lu, pivot, kd_column(x, 2 * n, r));
    else
        (void)KD_BLAS(LAPACKE_zgetrs_work(LAPACK_COL_MAJOR, 'N', n, nrhs, LU, n, pivot, b, n));
}

// ---- full pivoting --------------------------------------------------------------------------------------------------

// magnitude and place of the largest entry of the remaining matrix A[k.., k..)
static double largest_remaining(int k, int m, int n, const double *A, int *row, int *col)
{
    double best = 0;
    *row = *col = k;
    for (int j = k; j < n; j++) {
        const double *a = kd_column_const(A, m, j);
        for (int i = k; i < m; i++)
            if (fabs(a[i]) > best) {
                best = fabs(a[i]);
                *row = i;
                *col = j;
            }
    }
    return best;
}

static void swap(double *a, double *b)
{
    const double t = *a;
    *a = *b;
    *b = t;
}

static void swap_index(int *a, int *b)
{
    const int t = *a;
    *a = *b;
    *b = t;
}

int kd_lu_full(int m, int n, double *A, int *row, int *col, double tolerance)
{
    return kd_lu_full_sparse(m, n, A, row, col, tolerance, NULL);
}

// largest magnitude of column j below row k
static double largest_of_column(int k, int m, const double *a)
{
    double best = 0;
    for (int i = k; i < m; i++) best = fabs(a[i]) > best ? fabs(a[i]) : best;
    return best;
}

// The same place from the largest magnitudes of all columns
static double largest_known(int k, int m, int n, const double *A, const double *most, int *row, int *col)
{
    *row = *col = k;
    for (int j = k; j < n; j++)
        if (most[j] > most[*col]) *col = j;
    const double *a = kd_column_const(A, m, *col);
    while (*row < m - 1 && fabs(a[*row]) != most[*col]) ++*row;
    return most[*col];
}

// A column that has no entry in the pivot's row stays as it is, and so does the largest one of its remaining entries.
int kd_lu_full_sparse(int m, int n, double *A, int *row, int *col, double tolerance, double *most)
{
    for (int i = 0; i < m; i++) row[i] = i;
    for (int j = 0; j < n; j++) col[j] = j;
    const int count = m < n ? m : n;
    double    first = 0;
    for (int j = 0; j < n && most; j++) most[j] = largest_of_column(0, m, kd_column_const(A, m, j));
    for (int k = 0; k < count; k++) {
        // largest remaining entry, to place (k, k)
        int          p = k, q = k;
        const double best = most ? largest_known(k, m, n, A, most, &p, &q) : largest_remaining(k, m, n, A, &p, &q);
        if (!kd_is_pivot(best) || (k > 0 && best < tolerance * first)) return k;
        if (k == 0) first = best;
        swap_index(row + k, row + p);
        swap_index(col + k, col + q);
        for (int j = 0; j < n; j++) swap(kd_column(A, m, j) + k, kd_column(A, m, j) + p);
        double *lk = kd_column(A, m, k), *aq = kd_column(A, m, q);
        for (int i = 0; i < m; i++) swap(lk + i, aq + i);
        if (most) swap(most + k, most + q);
        // column of L, then A_ij -= L_ik U_kj
        const double r = 1 / lk[k];
        for (int i = k + 1; i < m; i++) lk[i] *= r;
        for (int j = k + 1; j < n; j++) {
            double *aj = kd_column(A, m, j);
            if (most && aj[k] == 0) continue;
            kd_kernel_sub(m - k - 1, aj[k], lk + k + 1, aj + k + 1);
            if (most) most[j] = largest_of_column(k + 1, m, aj);
        }
    }
    return count;
}
