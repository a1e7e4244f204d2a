// math/kernel.h: the inner loops of the own dense kernels. Complex numbers are pairs (re, im) of doubles here: the
// multiplication of C99 complex numbers checks for infinities and costs a call.
#ifndef KD_MATH_KERNEL_H
#define KD_MATH_KERNEL_H

#include <math.h>
#include <stddef.h>

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
    for (int i = 0; i < n; i++) {
        const double xr = x[2 * i], xi = x[2 * i + 1];
        y[2 * i] -= re * xr - im * xi;
        y[2 * i + 1] -= re * xi + im * xr;
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
