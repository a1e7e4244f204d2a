// math/kernel.c: the own dense kernels: LU real and complex, Cholesky, products. See kernel.h for the format of the
// factors. The build turns the vectoriser off for this file: the loops that matter are written on pairs, and the short
// scalar ones only suffer from it.
#include "math/kernel.h"

// ---- LU, real -------------------------------------------------------------------------------------------------------

// exchange rows i and k of the first columns of A (n rows)
static inline void swap_rows(int n, double *A, int columns, int i, int k)
{
    for (int j = 0; j < columns; j++) {
        double      *a = kd_column(A, n, j);
        const double t = a[i];
        a[i] = a[k];
        a[k] = t;
    }
}

// pivot of column k, exchange of rows, column k of L; false: no pivot, the column is left as it is
static inline bool finish_column(int n, int k, double *A, int *pivot)
{
    double *x = kd_column(A, n, k);
    double  best = 0;
    int     p = k;
    // largest entry at or below the diagonal
    for (int i = k; i < n; i++) {
        const double a = fabs(x[i]);
        const bool   larger = a > best;
        best = larger ? a : best;
        p = larger ? i : p;
    }
    pivot[k] = p + 1;
    if (!kd_is_pivot(best)) return false;
    // l_ik = a_ik / pivot
    const double r = 1 / x[p];
    if (p != k) swap_rows(n, A, n, k, p);
    for (int i = k + 1; i < n; i++) x[i] *= r;
    return true;
}

// A_ij -= l_ik u_kj + l_i,k+1 u_k+1,j for all columns j behind k + 1, two at a time; u_k+1,j on the way
static inline void eliminate_two(int n, int k, double *A)
{
    const double *restrict x = kd_column_const(A, n, k), *restrict y = x + n;
    const double l = x[k + 1];
    const int    pairs_end = n - k - 2 >= KD_PAIRS_FROM ? n - 1 : k + 2;
    int          j = k + 2;
    for (; j + 2 <= n; j += 2) {
        // u_k+1,j = a_k+1,j - l u_kj of both columns
        double *restrict a = kd_column(A, n, j), *restrict b = a + n;
        const double s = a[k], t = b[k], u = a[k + 1] - l * s, v = b[k + 1] - l * t;
        a[k + 1] = u;
        b[k + 1] = v;
        int i = k + 2;
        for (; i < pairs_end; i += 2) {
            const kd_two xi = kd_two_load(x + i), yi = kd_two_load(y + i);
            kd_two_store(a + i, kd_two_load(a + i) - (xi * kd_two_both(s) + yi * kd_two_both(u)));
            kd_two_store(b + i, kd_two_load(b + i) - (xi * kd_two_both(t) + yi * kd_two_both(v)));
        }
        for (; i < n; i++) {
            a[i] -= x[i] * s + y[i] * u;
            b[i] -= x[i] * t + y[i] * v;
        }
    }
    // the last column alone
    if (j < n) {
        double *restrict a = kd_column(A, n, j);
        const double s = a[k], u = a[k + 1] - l * s;
        a[k + 1] = u;
        int i = k + 2;
        for (; i < pairs_end; i += 2)
            kd_two_store(a + i, kd_two_load(a + i) -
                                    (kd_two_load(x + i) * kd_two_both(s) + kd_two_load(y + i) * kd_two_both(u)));
        for (; i < n; i++) a[i] -= x[i] * s + y[i] * u;
    }
}

// Right-looking, two pivots per sweep over the remaining columns. Measured faster than one pivot per sweep and than
// left-looking variants.
int kd_kernel_lu_factor(int n, double *A, int *pivot)
{
    int singular = 0;
    for (int k = 0; k < n; k += 2) {
        if (!finish_column(n, k, A, pivot) && !singular) singular = k + 1;
        if (k + 1 == n) break;
        // column k + 1 with pivot k, then both pivots on the rest
        const double *x = kd_column_const(A, n, k);
        double       *y = kd_column(A, n, k + 1);
        const double  u = y[k];
        for (int i = k + 1; i < n; i++) y[i] -= u * x[i]; // scalar: the search for the pivot reads it at once
        if (!finish_column(n, k + 1, A, pivot) && !singular) singular = k + 2;
        eliminate_two(n, k, A);
    }
    return singular;
}

void kd_kernel_lu_solve(int n, const double *LU, const int *pivot, double *x)
{
    for (int k = 0; k < n; k++) swap_rows(n, x, 1, k, pivot[k] - 1);
    kd_kernel_lower(n, LU, n, x);
    kd_kernel_upper(n, LU, n, x);
}

// A' = U' L' P
void kd_kernel_lu_solve_t(int n, const double *LU, const int *pivot, double *x)
{
    // U' y = b
    for (int k = 0; k < n; k++) {
        const double *uk = kd_column_const(LU, n, k);
        x[k] = (x[k] - kd_kernel_dot(k, uk, x)) / uk[k];
    }
    // L' z = y, x = P' z
    for (int k = n - 1; k >= 0; k--) x[k] -= kd_kernel_dot(n - k - 1, kd_column_const(LU, n, k) + k + 1, x + k + 1);
    for (int k = n - 1; k >= 0; k--) swap_rows(n, x, 1, k, pivot[k] - 1);
}

// ---- LU, complex ----------------------------------------------------------------------------------------------------

static inline void zswap_rows(int n, double *A, int columns, int i, int k)
{
    for (int j = 0; j < columns; j++) {
        double      *a = kd_column(A, 2 * n, j);
        const kd_two t = kd_two_load(a + 2 * i);
        kd_two_store(a + 2 * i, kd_two_load(a + 2 * k));
        kd_two_store(a + 2 * k, t);
    }
}

static inline bool zfinish_column(int n, int k, double *A, int *pivot)
{
    double *x = kd_column(A, 2 * n, k);
    double  best = 0;
    int     p = k;
    for (int i = k; i < n; i++) {
        const double a = fabs(x[2 * i]) + fabs(x[2 * i + 1]);
        const bool   larger = a > best;
        best = larger ? a : best;
        p = larger ? i : p;
    }
    pivot[k] = p + 1;
    if (!kd_is_pivot(best)) return false;
    const kd_two r = kd_two_inverse(kd_two_load(x + 2 * p)), re = kd_two_re(r), im = kd_two_im(r);
    if (p != k) zswap_rows(n, A, n, k, p);
    for (int i = 2 * k + 2; i < 2 * n; i += 2) kd_two_store(x + i, kd_two_multiply(kd_two_load(x + i), re, im));
    return true;
}

// A_ij -= l_ik u_kj for all columns j behind k, two at a time
static inline void zeliminate(int n, int k, double *A)
{
    const double *restrict x = kd_column_const(A, 2 * n, k);
    int j = k + 1;
    // two columns share the loads of the pivot column
    for (; j + 2 <= n; j += 2) {
        double *restrict a = kd_column(A, 2 * n, j), *restrict b = a + 2 * n;
        const kd_two s = kd_two_load(a + 2 * k), sr = kd_two_re(s), si = kd_two_im(s);
        const kd_two t = kd_two_load(b + 2 * k), tr = kd_two_re(t), ti = kd_two_im(t);
        for (int i = 2 * k + 2; i < 2 * n; i += 2) {
            const kd_two xi = kd_two_load(x + i);
            kd_two_store(a + i, kd_two_load(a + i) - kd_two_multiply(xi, sr, si));
            kd_two_store(b + i, kd_two_load(b + i) - kd_two_multiply(xi, tr, ti));
        }
    }
    // the last one where their number is odd
    if (j < n) {
        double *a = kd_column(A, 2 * n, j);
        kd_kernel_zsub(n - k - 1, kd_two_load(a + 2 * k), x + 2 * k + 2, a + 2 * k + 2);
    }
}

int kd_kernel_zlu_factor(int n, double *A, int *pivot)
{
    int singular = 0;
    for (int k = 0; k < n; k++) {
        if (!zfinish_column(n, k, A, pivot) && !singular) singular = k + 1;
        zeliminate(n, k, A);
    }
    return singular;
}

void kd_kernel_zlu_solve(int n, const double *LU, const int *pivot, double *x)
{
    for (int k = 0; k < n; k++) zswap_rows(n, x, 1, k, pivot[k] - 1);
    for (int k = 0; k < n; k++)
        kd_kernel_zsub(n - k - 1, kd_two_load(x + 2 * k), kd_column_const(LU, 2 * n, k) + 2 * k + 2, x + 2 * k + 2);
    kd_kernel_zupper(n, LU, x);
}

// ---- Cholesky -------------------------------------------------------------------------------------------------------

int kd_kernel_cholesky_factor(int n, double *A)
{
    for (int k = 0; k < n; k++) {
        double *x = kd_column(A, n, k);
        if (!(x[k] > 0) || !kd_is_pivot(x[k])) return k + 1;
        // l_kk = sqrt(a_kk), l_ik = a_ik / l_kk
        const double root = sqrt(x[k]), r = 1 / root;
        x[k] = root;
        for (int i = k + 1; i < n; i++) x[i] *= r;
        for (int j = k + 1; j < n; j++) // A_ij -= l_ik l_jk, i >= j
            kd_kernel_sub(n - j, x[j], x + j, kd_column(A, n, j) + j);
    }
    return 0;
}

void kd_kernel_cholesky_solve(int n, const double *L, double *x)
{
    for (int k = 0; k < n; k++) { // L y = b
        const double *lk = kd_column_const(L, n, k);
        x[k] *= 1 / lk[k];
        kd_kernel_sub(n - k - 1, x[k], lk + k + 1, x + k + 1);
    }
    for (int k = n - 1; k >= 0; k--) { // L' x = y
        const double *lk = kd_column_const(L, n, k);
        x[k] = (x[k] - kd_kernel_dot(n - k - 1, lk + k + 1, x + k + 1)) * (1 / lk[k]);
    }
}

// ---- products -------------------------------------------------------------------------------------------------------

void kd_kernel_gemv(int m, int n, double alpha, const double *A, const double *x, double *y)
{
    int j = 0;
    for (; j + 4 <= n; j += 4) {
        const double factor[4] = {-alpha * x[j], -alpha * x[j + 1], -alpha * x[j + 2], -alpha * x[j + 3]};
        kd_kernel_sub4(m, factor, kd_column_const(A, m, j), m, y);
    }
    for (; j < n; j++) kd_kernel_sub(m, -alpha * x[j], kd_column_const(A, m, j), y);
}

// two columns of A share the loads of x
void kd_kernel_gemv_t(int m, int n, double alpha, const double *A, const double *x, double *y)
{
    int j = 0;
    // two scalar products side by side, each in two halves that are added at the end
    for (; j + 2 <= n; j += 2) {
        const double *restrict a = kd_column_const(A, m, j), *restrict b = a + m;
        kd_two s = kd_two_both(0), t = s;
        int    i = 0;
        for (; i + 2 <= m; i += 2) {
            const kd_two xi = kd_two_load(x + i);
            s += kd_two_load(a + i) * xi;
            t += kd_two_load(b + i) * xi;
        }
        // the last row where m is odd
        double u = s[0] + s[1], v = t[0] + t[1];
        if (i < m) {
            u += a[i] * x[i];
            v += b[i] * x[i];
        }
        y[j] += alpha * u;
        y[j + 1] += alpha * v;
    }
    if (j < n) y[j] += alpha * kd_kernel_dot(m, kd_column_const(A, m, j), x);
}

// C[0..2 pairs) x [0..columns) += alpha A B, kept in registers while k runs.
// pairs and columns are constants of the call.
static inline void gemm_block(const int pairs, const int columns, int m, int k, double alpha, const double *restrict A,
                              const double *restrict B, double *restrict C)
{
    kd_two sum[2][4];
    for (int p = 0; p < pairs; p++)
        for (int j = 0; j < columns; j++) sum[p][j] = kd_two_both(0);
    // sum_l A_il B_lj
    for (int l = 0; l < k; l++) {
        const double *a = kd_column_const(A, m, l);
        for (int j = 0; j < columns; j++) {
            const kd_two b = kd_two_both(kd_column_const(B, k, j)[l]);
            for (int p = 0; p < pairs; p++) sum[p][j] += kd_two_load(a + 2 * p) * b;
        }
    }
    for (int j = 0; j < columns; j++)
        for (int p = 0; p < pairs; p++) {
            // C += alpha sum
            double *c = kd_column(C, m, j) + 2 * p;
            kd_two_store(c, kd_two_load(c) + kd_two_both(alpha) * sum[p][j]);
        }
}

// all rows of the first columns of C: blocks of four rows, two rows, one row
static inline void gemm_columns(const int columns, int m, int k, double alpha, const double *A, const double *B,
                                double *C)
{
    int i = 0;
    for (; i + 4 <= m; i += 4) gemm_block(2, columns, m, k, alpha, A + i, B, C + i);
    if (i + 2 <= m) {
        gemm_block(1, columns, m, k, alpha, A + i, B, C + i);
        i += 2;
    }
    if (i == m) return;
    double sum[4] = {0, 0, 0, 0};
    for (int l = 0; l < k; l++)
        for (int j = 0; j < columns; j++) sum[j] += kd_column_const(A, m, l)[i] * kd_column_const(B, k, j)[l];
    for (int j = 0; j < columns; j++) kd_column(C, m, j)[i] += alpha * sum[j];
}

void kd_kernel_gemm(int m, int n, int k, double alpha, const double *A, const double *B, double *C)
{
    int j = 0;
    // four columns of B at a time, then the rest
    for (; j + 4 <= n; j += 4) gemm_columns(4, m, k, alpha, A, kd_column_const(B, k, j), kd_column(C, m, j));
    const double *b = kd_column_const(B, k, j);
    double       *c = kd_column(C, m, j);
    switch (n - j) { // constants, so that the sums stay in registers
    case 3:
        gemm_columns(3, m, k, alpha, A, b, c);
        break;
    case 2:
        gemm_columns(2, m, k, alpha, A, b, c);
        break;
    case 1:
        gemm_columns(1, m, k, alpha, A, b, c);
        break;
    default:
        break;
    }
}

// two columns of A against two columns of B
static inline void gemm_tn_block(int m, int k, double alpha, const double *restrict a, const double *restrict b,
                                 double *restrict c)
{
    const double *restrict a1 = a + k, *restrict b1 = b + k;
    kd_two sum[4] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    double rest[4] = {0, 0, 0, 0};
    int    l = 0;
    // four scalar products at once: each load serves two of them
    for (; l + 2 <= k; l += 2) {
        const kd_two x = kd_two_load(a + l), y = kd_two_load(a1 + l);
        const kd_two u = kd_two_load(b + l), v = kd_two_load(b1 + l);
        sum[0] += x * u;
        sum[1] += y * u;
        sum[2] += x * v;
        sum[3] += y * v;
    }
    // the last row where k is odd
    if (l < k) {
        rest[0] = a[l] * b[l];
        rest[1] = a1[l] * b[l];
        rest[2] = a[l] * b1[l];
        rest[3] = a1[l] * b1[l];
    }
    c[0] += alpha * (sum[0][0] + sum[0][1] + rest[0]);
    c[1] += alpha * (sum[1][0] + sum[1][1] + rest[1]);
    c[m] += alpha * (sum[2][0] + sum[2][1] + rest[2]);
    c[m + 1] += alpha * (sum[3][0] + sum[3][1] + rest[3]);
}

void kd_kernel_gemm_tn(int m, int n, int k, double alpha, const double *A, const double *B, double *C)
{
    int j = 0;
    for (; j + 2 <= n; j += 2) {
        const double *b = kd_column_const(B, k, j);
        double       *c = kd_column(C, m, j);
        int           i = 0;
        for (; i + 2 <= m; i += 2) gemm_tn_block(m, k, alpha, kd_column_const(A, k, i), b, c + i);
        if (i == m) continue;
        const double *a = kd_column_const(A, k, i);
        c[i] += alpha * kd_kernel_dot(k, a, b);
        c[m + i] += alpha * kd_kernel_dot(k, a, b + k);
    }
    if (j < n) kd_kernel_gemv_t(k, m, alpha, A, kd_column_const(B, k, j), kd_column(C, m, j));
}
