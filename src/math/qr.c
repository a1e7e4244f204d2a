// math/qr.c: Householder QR, real with column pivoting (Businger, Golub 1965) and complex without, stored as LAPACK
// does: Q = H_1 .. H_k, H_i = I - tau_i v_i v_i', v_i(1..i-1) = 0, v_i(i) = 1, the rest of v_i below the diagonal of R.
#include "math/dense.h"

#include "math/blas.h"
#include "math/kernel.h"

#include <float.h>

#define BLOCK 32             // block size of LAPACK's QR, for its workspace
#define NORM_SAFE_LOW 1e-140 // a sum of squares neither underflows ..
#define NORM_SAFE_HIGH 1e140 // .. nor overflows in between

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

// Euclidean norm; scaled where the squares would leave the range
static double norm2(int n, const double *x)
{
    const double norm = sqrt(kd_kernel_dot(n, x, x));
    if (norm > NORM_SAFE_LOW && norm < NORM_SAFE_HIGH) return norm;
    double largest = 0;
    for (int i = 0; i < n; i++)
        if (!(fabs(x[i]) <= largest)) largest = fabs(x[i]);
    if (!(largest > 0 && largest <= DBL_MAX)) return largest;
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (x[i] / largest) * (x[i] / largest);
    return largest * sqrt(sum);
}

// ---- real -----------------------------------------------------------------------------------------------------------

// H x = (beta, 0, .., 0)', x is overwritten by beta and v(2..n); returns tau
static double reflector(int n, double *x)
{
    const double tail = norm2(n - 1, x + 1);
    if (tail == 0) return 0;
    const double alpha = x[0];
    const double beta = -copysign(hypot(alpha, tail), alpha);
    const double diff = alpha - beta; // no cancellation: opposite signs
    for (int i = 1; i < n; i++) x[i] /= diff;
    x[0] = beta;
    return -diff / beta;
}

// y = (I - tau v v') y with v(1) = 1 implied
static void reflect(int n, double tau, const double *v, double *y)
{
    const double s = tau * (y[0] + kd_kernel_dot(n - 1, v + 1, y + 1));
    y[0] -= s;
    kd_kernel_sub(n - 1, s, v + 1, y + 1);
}

// Norms of the remaining columns are updated instead of computed anew, unless cancellation ate half of the digits
// (the safe variant of Drmac and Bujanovic 2008, as in LAPACK). now: norm, full: norm when last computed.
static void update_norm(int n, const double *column, double *now, double *full)
{
    if (*now == 0) return;
    const double q = fabs(column[0]) / *now;
    const double rest = fmax(0, (1 + q) * (1 - q));
    const double lost = rest * (*now / *full) * (*now / *full);
    if (lost <= sqrt(DBL_EPSILON))
        *now = *full = norm2(n - 1, column + 1);
    else
        *now *= sqrt(rest);
}

static void swap_columns(int m, double *A, int *col, int k, int p)
{
    if (k == p) return;
    double *a = kd_column(A, m, k), *b = kd_column(A, m, p);
    for (int i = 0; i < m; i++) {
        const double t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
    const int t = col[k];
    col[k] = col[p];
    col[p] = t;
}

static void qr_small(int m, int n, double *A, int *col, double *tau, double *work)
{
    double *now = work, *full = work + n;
    // norms of the columns
    for (int j = 0; j < n; j++) {
        col[j] = j;
        now[j] = full[j] = norm2(m, kd_column(A, m, j));
    }
    for (int k = 0; k < min_int(m, n); k++) {
        // pivot: the longest remaining column
        int p = k;
        for (int j = k + 1; j < n; j++)
            if (now[j] > now[p]) p = j;
        swap_columns(m, A, col, k, p);
        now[p] = now[k];
        full[p] = full[k];
        // H_k on it and on the columns to the right
        double *ak = kd_column(A, m, k) + k;
        tau[k] = reflector(m - k, ak);
        for (int j = k + 1; j < n; j++) {
            double *aj = kd_column(A, m, j) + k;
            reflect(m - k, tau[k], ak, aj);
            update_norm(m - k, aj, now + j, full + j);
        }
    }
}

static bool is_small(int m, int n)
{
    return m <= KD_SMALL && n <= KD_SMALL;
}

int kd_qr_work(int m, int n)
{
    return is_small(m, n) ? 2 * n : 2 * n + BLOCK * (n + 1);
}

int kd_qr_pivot(int m, int n, double *A, int *col, double *tau, double tolerance, double *work)
{
    const int count = min_int(m, n);
    if (is_small(m, n)) {
        qr_small(m, n, A, col, tau, work);
    } else {
        for (int j = 0; j < n; j++) col[j] = 0; // every column is free
        if (count > 0)
            (void)KD_BLAS(LAPACKE_dgeqp3_work(LAPACK_COL_MAJOR, m, n, A, m, col, tau, work, kd_qr_work(m, n)));
        for (int j = 0; j < n; j++) col[j] = count > 0 ? col[j] - 1 : j;
    }
    // |R_kk| > tolerance |R_11|
    int rank = 0;
    while (rank < count) {
        const double r = fabs(kd_column_const(A, m, rank)[rank]);
        if (!(r > tolerance * fabs(A[0]) && r >= DBL_MIN && r <= DBL_MAX)) break;
        rank++;
    }
    return rank;
}

// Reflectors one after the other; with many right-hand sides by w = B' v, B -= tau v w'.
static void apply_one(int m, int i, const double *QR, double tau, double *b, int nrhs, double *work)
{
    const int     length = m - i;
    const double *v = kd_column_const(QR, m, i) + i;
    // one column: a scalar product and an axpy are quicker than BLAS
    if (m <= KD_SMALL || nrhs == 1) {
        for (int r = 0; r < nrhs; r++) reflect(length, tau, v, kd_column(b, m, r) + i);
        return;
    }
    for (int first = 0; first < nrhs; first += m) { // work holds m numbers
        const int count = min_int(m, nrhs - first);
        double   *B = kd_column(b, m, first) + i;
        KD_BLAS_DO(cblas_dcopy(count, B, m, work, 1)); // v(1) = 1
        KD_BLAS_DO(cblas_dgemv(CblasColMajor, CblasTrans, length - 1, count, 1, B + 1, m, v + 1, 1, 1, work, 1));
        KD_BLAS_DO(cblas_daxpy(count, -tau, work, 1, B, m));
        KD_BLAS_DO(cblas_dger(CblasColMajor, length - 1, count, -tau, v + 1, 1, work, 1, B + 1, m));
    }
}

void kd_qr_apply_t(int m, int k, const double *QR, const double *tau, double *b, int nrhs, double *work)
{
    for (int i = 0; i < k; i++) apply_one(m, i, QR, tau[i], b, nrhs, work);
}

void kd_qr_apply(int m, int k, const double *QR, const double *tau, double *b, int nrhs, double *work)
{
    for (int i = k - 1; i >= 0; i--) apply_one(m, i, QR, tau[i], b, nrhs, work);
}

void kd_qr_solve_r(int n, const double *QR, int m, double *b, int nrhs)
{
    for (int r = 0; r < nrhs; r++) kd_kernel_upper(n, QR, m, kd_column(b, n, r));
}

void kd_qr_solve_rt(int n, const double *QR, int m, double *b, int nrhs)
{
    for (int r = 0; r < nrhs; r++) {
        double *x = kd_column(b, n, r);
        for (int k = 0; k < n; k++) {
            const double *rk = kd_column_const(QR, m, k);
            x[k] = (x[k] - kd_kernel_dot(k, rk, x)) / rk[k];
        }
    }
}

// ---- complex --------------------------------------------------------------------------------------------------------

// H' x = (beta, 0, .., 0)', beta real; x is overwritten by beta and v(2..n)
static void zreflector(int n, double *x, double *tau)
{
    const double tail = norm2(2 * (n - 1), x + 2);
    const double re = x[0], im = x[1];
    tau[0] = tau[1] = 0;
    if (tail == 0 && im == 0) return;
    const double beta = -copysign(hypot(hypot(re, im), tail), re);
    const kd_two r = kd_two_inverse((kd_two){re - beta, im});
    for (int i = 2; i < 2 * n; i += 2)
        kd_two_store(x + i, kd_two_multiply(kd_two_load(x + i), kd_two_re(r), kd_two_im(r)));
    x[0] = beta;
    x[1] = 0;
    tau[0] = (beta - re) / beta;
    tau[1] = -im / beta;
}

// y = (I - conj(tau) v v') y
static void zreflect_t(int n, const double *tau, const double *v, double *y)
{
    const kd_two sum = kd_two_load(y) + kd_kernel_zdotc(n - 1, v + 2, y + 2);
    const kd_two s = kd_two_multiply(sum, kd_two_both(tau[0]), (kd_two){tau[1], -tau[1]});
    kd_two_store(y, kd_two_load(y) - s);
    kd_kernel_zsub(n - 1, s, v + 2, y + 2);
}

int kd_zqr_factor(int n, double complex *A, double complex *tau, double complex *work)
{
    double *a = (double *)A;
    if (n <= KD_SMALL) {
        double *t = (double *)tau;
        for (int k = 0; k < n; k++) {
            double *ak = kd_column(a, 2 * n, k) + 2 * k;
            zreflector(n - k, ak, t + 2 * k);
            for (int j = k + 1; j < n; j++) zreflect_t(n - k, t + 2 * k, ak, kd_column(a, 2 * n, j) + 2 * k);
        }
    } else {
        (void)KD_BLAS(LAPACKE_zgeqrf_work(LAPACK_COL_MAJOR, n, n, A, n, tau, work, n));
    }
    for (int k = 0; k < n; k++) {
        // first pivot that is zero or not finite
        const double *d = kd_column_const(a, 2 * n, k) + 2 * k;
        const double  size = fabs(d[0]) + fabs(d[1]);
        if (!(size >= DBL_MIN && size <= DBL_MAX)) return k + 1;
    }
    return 0;
}

void kd_zqr_solve(int n, const double complex *QR, const double complex *tau, double complex *b, double complex *work)
{
    (void)work;
    const double *a = (const double *)QR, *t = (const double *)tau;
    double       *x = (double *)b;
    for (int k = 0; k < n; k++) zreflect_t(n - k, t + 2 * k, kd_column_const(a, 2 * n, k) + 2 * k, x + 2 * k);
    kd_kernel_zupper(n, a, x);
}
