// math/kernel.h: the inner loops of the own dense kernels. Complex numbers are pairs (re, im) of doubles here: the
// multiplication of C99 complex numbers checks for infinities and costs a call.
#ifndef KD_MATH_KERNEL_H
#define KD_MATH_KERNEL_H

#include <complex.h>
#include <math.h>
#include <stddef.h>

// LU of any order by the own kernels, as kd_lu_factor and so on use them for small orders (lu.c)
int                   kd_kernel_lu_factor(int n, double *A, int *pivot);
void                  kd_kernel_lu_solve(int n, const double *LU, const int *pivot, double *b);
int                   kd_kernel_zlu_factor(int n, double *A, int *pivot);
void                  kd_kernel_zlu_solve(int n, const double *LU, const int *pivot, double *b);

// entry (0, j) of a column-major array with ld rows
static inline double *kd_column(double *A, int ld, int j)
{
    return A + (ptrdiff_t)ld * j;
}
static inline const double *kd_column_const(const double *A, int ld, int j)
{
    return A + (ptrdiff_t)ld * j;
}

// y -= alpha x
static inline void kd_kernel_sub(int n, double alpha, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++) y[i] -= alpha * x[i];
}

// x' y, four partial sums (a single one would have to be added in order)
static inline double kd_kernel_dot(int n, const double *restrict x, const double *restrict y)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int    i = 0;
    for (; i + 4 <= n; i += 4) {
        s0 += x[i] * y[i];
        s1 += x[i + 1] * y[i + 1];
        s2 += x[i + 2] * y[i + 2];
        s3 += x[i + 3] * y[i + 3];
    }
    for (; i < n; i++) s0 += x[i] * y[i];
    return (s0 + s2) + (s1 + s3);
}

// y -= (re + i im) x, n complex numbers
static inline void kd_kernel_zsub(int n, double re, double im, const double *restrict x, double *restrict y)
{
    const double minus = -im; // both parts get the same shape of sum, which the vectoriser pairs
    for (int i = 0; i < n; i++) {
        y[2 * i] -= x[2 * i] * re + x[2 * i + 1] * minus;
        y[2 * i + 1] -= x[2 * i + 1] * re + x[2 * i] * im;
    }
}

// x = inv(L) x for the first m columns of a unit lower L (n rows, ld): four columns per sweep over x
static inline void kd_kernel_lower(int n, int m, const double *restrict L, ptrdiff_t ld, double *restrict x)
{
    int k = 0;
    for (; k + 4 <= m; k += 4) {
        const double *restrict a = L + ld * k, *restrict b = a + ld, *restrict c = b + ld, *restrict d = c + ld;
        const double x0 = x[k], x1 = x[k + 1] - a[k + 1] * x0, x2 = x[k + 2] - a[k + 2] * x0 - b[k + 2] * x1;
        const double x3 = x[k + 3] - a[k + 3] * x0 - b[k + 3] * x1 - c[k + 3] * x2;
        x[k + 1] = x1;
        x[k + 2] = x2;
        x[k + 3] = x3;
        for (int i = k + 4; i < n; i++) x[i] -= (a[i] * x0 + b[i] * x1) + (c[i] * x2 + d[i] * x3);
    }
    if (k + 2 <= m) {
        const double *restrict a = L + ld * k, *restrict b = a + ld;
        const double x0 = x[k], x1 = x[k + 1] - a[k + 1] * x0;
        x[k + 1] = x1;
        for (int i = k + 2; i < n; i++) x[i] -= a[i] * x0 + b[i] * x1;
        k += 2;
    }
    if (k < m) kd_kernel_sub(n - k - 1, x[k], L + ld * k + k + 1, x + k + 1);
}

// x = inv(U) x for an upper U (n x n, ld). The reciprocals do not wait for x.
static inline void kd_kernel_upper(int n, const double *restrict U, ptrdiff_t ld, double *restrict x)
{
    int k = n - 4;
    for (; k >= 0; k -= 4) {
        const double *restrict a = U + ld * k, *restrict b = a + ld, *restrict c = b + ld, *restrict d = c + ld;
        const double ra = 1 / a[k], rb = 1 / b[k + 1], rc = 1 / c[k + 2], rd = 1 / d[k + 3];
        const double x3 = x[k + 3] * rd, x2 = (x[k + 2] - d[k + 2] * x3) * rc;
        const double x1 = (x[k + 1] - d[k + 1] * x3 - c[k + 1] * x2) * rb;
        const double x0 = (x[k] - d[k] * x3 - c[k] * x2 - b[k] * x1) * ra;
        x[k] = x0;
        x[k + 1] = x1;
        x[k + 2] = x2;
        x[k + 3] = x3;
        for (int i = 0; i < k; i++) x[i] -= (a[i] * x0 + b[i] * x1) + (c[i] * x2 + d[i] * x3);
    }
    for (k += 3; k >= 0; k--) {
        x[k] *= 1 / U[ld * k + k];
        kd_kernel_sub(k, x[k], U + ld * k, x);
    }
}

// sum conj(x_i) y_i
static inline void kd_kernel_zdotc(int n, const double *restrict x, const double *restrict y, double *re, double *im)
{
    double sr = 0, si = 0;
    for (int i = 0; i < n; i++) {
        sr += x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1];
        si += x[2 * i] * y[2 * i + 1] - x[2 * i + 1] * y[2 * i];
    }
    *re = sr;
    *im = si;
}

// 1 / (re + i im), scaled by the larger part against overflow (Smith)
static inline void kd_kernel_zinverse(double re, double im, double *out_re, double *out_im)
{
    if (fabs(re) >= fabs(im)) {
        const double q = im / re, d = 1 / (re + im * q);
        *out_re = d;
        *out_im = -q * d;
    } else {
        const double q = re / im, d = 1 / (re * q + im);
        *out_re = q * d;
        *out_im = -d;
    }
}

// y *= re + i im
static inline void kd_kernel_zscale(double re, double im, double *y)
{
    const double yr = y[0], yi = y[1];
    y[0] = re * yr - im * yi;
    y[1] = re * yi + im * yr;
}

#endif
