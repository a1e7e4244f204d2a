// math/kernel_body.h: the own dense kernels, compiled twice: kernel_scalar.c (vectoriser off) for tiny orders, where
// the ends of vector loops and loads across just-stored entries cost more than they save, and kernel_vector.c above. No
// include guard on purpose; KERNEL(name) gives the symbol. Entry by entry both do the same operations in the same
// order.
//
// LU: P A = L U is stored as LAPACK does: L unit lower and U upper in place, pivot[k] the row (1-based) that was
// exchanged with row k + 1. A pivot below the smallest normal number (its reciprocal may overflow), NaN or infinity
// makes the matrix singular; NaN anywhere in A ends in a pivot. Complex numbers are pairs (re, im).

// ---- products
// --------------------------------------------------------------------------------------------------------

// y += alpha A x, two columns per sweep
void KERNEL(gemv)(int m, int n, double alpha, const double *restrict A, const double *restrict x, double *restrict y)
{
    int j = 0;
    for (; j + 2 <= n; j += 2) {
        const double *restrict a = kd_column_const(A, m, j), *restrict b = a + m;
        const double s = alpha * x[j], t = alpha * x[j + 1];
        for (int i = 0; i < m; i++) y[i] += s * a[i] + t * b[i];
    }
    if (j < n) kd_kernel_sub(m, -alpha * x[j], kd_column_const(A, m, j), y);
}

// y += alpha A' x
void KERNEL(gemv_t)(int m, int n, double alpha, const double *restrict A, const double *restrict x, double *restrict y)
{
    for (int j = 0; j < n; j++) y[j] += alpha * kd_kernel_dot(m, kd_column_const(A, m, j), x);
}

// C += alpha A B: two columns of A against two columns of C
void KERNEL(gemm)(int m, int n, int k, double alpha, const double *restrict A, const double *restrict B,
                  double *restrict C)
{
    int j = 0;
    for (; j + 2 <= n; j += 2) {
        const double *restrict x = kd_column_const(B, k, j), *restrict y = x + k;
        double *restrict u = kd_column(C, m, j), *restrict v = u + m;
        int l = 0;
        for (; l + 2 <= k; l += 2) {
            const double *restrict a = kd_column_const(A, m, l), *restrict b = a + m;
            const double p = alpha * x[l], q = alpha * x[l + 1], r = alpha * y[l], s = alpha * y[l + 1];
            for (int i = 0; i < m; i++) {
                u[i] += p * a[i] + q * b[i];
                v[i] += r * a[i] + s * b[i];
            }
        }
        if (l < k) {
            const double *restrict a = kd_column_const(A, m, l);
            const double p = alpha * x[l], r = alpha * y[l];
            for (int i = 0; i < m; i++) {
                u[i] += p * a[i];
                v[i] += r * a[i];
            }
        }
    }
    if (j < n) KERNEL(gemv)(m, k, alpha, A, kd_column_const(B, k, j), kd_column(C, m, j));
}

// C += alpha A' B
void KERNEL(gemm_tn)(int m, int n, int k, double alpha, const double *restrict A, const double *restrict B,
                     double *restrict C)
{
    for (int j = 0; j < n; j++) KERNEL(gemv_t)(k, m, alpha, A, kd_column_const(B, k, j), kd_column(C, m, j));
}

// ---- LU, real
// --------------------------------------------------------------------------------------------------------

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
    for (int i = k; i < n; i++) {
        const double a = fabs(x[i]);
        const bool   larger = a > best;
        best = larger ? a : best;
        p = larger ? i : p;
    }
    pivot[k] = p + 1;
    if (!kd_is_pivot(best)) return false;
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
    int          j = k + 2;
    for (; j + 2 <= n; j += 2) {
        double *restrict a = kd_column(A, n, j), *restrict b = a + n;
        const double s = a[k], t = b[k], u = a[k + 1] - l * s, v = b[k + 1] - l * t;
        a[k + 1] = u;
        b[k + 1] = v;
        for (int i = k + 2; i < n; i++) {
            a[i] -= x[i] * s + y[i] * u;
            b[i] -= x[i] * t + y[i] * v;
        }
    }
    if (j < n) {
        double *restrict a = kd_column(A, n, j);
        const double s = a[k], u = a[k + 1] - l * s;
        a[k + 1] = u;
        for (int i = k + 2; i < n; i++) a[i] -= x[i] * s + y[i] * u;
    }
}

// Right-looking, two pivots per sweep over the remaining columns. Measured faster than one pivot per sweep and than
// left-looking variants.
int KERNEL(lu_factor)(int n, double *A, int *pivot)
{
    int singular = 0;
    for (int k = 0; k < n; k += 2) {
        if (!finish_column(n, k, A, pivot) && !singular) singular = k + 1;
        if (k + 1 == n) break;
        const double *x = kd_column_const(A, n, k);
        double       *y = kd_column(A, n, k + 1);
        kd_kernel_sub(n - k - 1, y[k], x + k + 1, y + k + 1);
        if (!finish_column(n, k + 1, A, pivot) && !singular) singular = k + 2;
        eliminate_two(n, k, A);
    }
    return singular;
}

void KERNEL(lu_solve)(int n, const double *LU, const int *pivot, double *x)
{
    for (int k = 0; k < n; k++) swap_rows(n, x, 1, k, pivot[k] - 1);
    kd_kernel_lower(n, LU, n, x);
    kd_kernel_upper(n, LU, n, x);
}

// A' = U' L' P
void KERNEL(lu_solve_t)(int n, const double *LU, const int *pivot, double *x)
{
    for (int k = 0; k < n; k++) {
        const double *uk = kd_column_const(LU, n, k);
        x[k] = (x[k] - kd_kernel_dot(k, uk, x)) / uk[k];
    }
    for (int k = n - 1; k >= 0; k--) x[k] -= kd_kernel_dot(n - k - 1, kd_column_const(LU, n, k) + k + 1, x + k + 1);
    for (int k = n - 1; k >= 0; k--) swap_rows(n, x, 1, k, pivot[k] - 1);
}

// ---- LU, complex
// -----------------------------------------------------------------------------------------------------

static inline void zswap_rows(int n, double *A, int columns, int i, int k)
{
    for (int j = 0; j < columns; j++) {
        double      *a = kd_column(A, 2 * n, j);
        const double re = a[2 * i], im = a[2 * i + 1];
        a[2 * i] = a[2 * k];
        a[2 * i + 1] = a[2 * k + 1];
        a[2 * k] = re;
        a[2 * k + 1] = im;
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
    double re = 0, im = 0;
    kd_kernel_zinverse(x[2 * p], x[2 * p + 1], &re, &im);
    if (p != k) zswap_rows(n, A, n, k, p);
    for (int i = k + 1; i < n; i++) kd_kernel_zscale(re, im, x + 2 * i);
    return true;
}

// A_ij -= l_ik u_kj for all columns j behind k, two at a time. Both parts get the same shape of sum (with -im), which
// the vectoriser pairs.
static inline void zeliminate(int n, int k, double *A)
{
    const double *restrict x = kd_column_const(A, 2 * n, k);
    int j = k + 1;
    for (; j + 2 <= n; j += 2) {
        double *restrict a = kd_column(A, 2 * n, j), *restrict b = a + 2 * n;
        const double ar = a[2 * k], ai = a[2 * k + 1], am = -ai, br = b[2 * k], bi = b[2 * k + 1], bm = -bi;
        for (int i = k + 1; i < n; i++) {
            a[2 * i] -= x[2 * i] * ar + x[2 * i + 1] * am;
            a[2 * i + 1] -= x[2 * i + 1] * ar + x[2 * i] * ai;
            b[2 * i] -= x[2 * i] * br + x[2 * i + 1] * bm;
            b[2 * i + 1] -= x[2 * i + 1] * br + x[2 * i] * bi;
        }
    }
    if (j < n) {
        double *a = kd_column(A, 2 * n, j);
        kd_kernel_zsub(n - k - 1, a[2 * k], a[2 * k + 1], x + 2 * k + 2, a + 2 * k + 2);
    }
}

int KERNEL(zlu_factor)(int n, double *A, int *pivot)
{
    int singular = 0;
    for (int k = 0; k < n; k++) {
        if (!zfinish_column(n, k, A, pivot) && !singular) singular = k + 1;
        zeliminate(n, k, A);
    }
    return singular;
}

void KERNEL(zlu_solve)(int n, const double *LU, const int *pivot, double *x)
{
    for (int k = 0; k < n; k++) zswap_rows(n, x, 1, k, pivot[k] - 1);
    for (int k = 0; k < n; k++)
        kd_kernel_zsub(n - k - 1, x[2 * k], x[2 * k + 1], kd_column_const(LU, 2 * n, k) + 2 * k + 2, x + 2 * k + 2);
    kd_kernel_zupper(n, LU, x);
}

// ---- Cholesky
// --------------------------------------------------------------------------------------------------------

int KERNEL(cholesky_factor)(int n, double *A)
{
    for (int k = 0; k < n; k++) {
        double *restrict x = kd_column(A, n, k);
        if (!(x[k] > 0) || !kd_is_pivot(x[k])) return k + 1;
        const double root = sqrt(x[k]), r = 1 / root;
        x[k] = root;
        for (int i = k + 1; i < n; i++) x[i] *= r;
        for (int j = k + 1; j < n; j++) // A_ij -= l_ik l_jk, i >= j
            kd_kernel_sub(n - j, x[j], x + j, kd_column(A, n, j) + j);
    }
    return 0;
}

void KERNEL(cholesky_solve)(int n, const double *L, double *x)
{
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
