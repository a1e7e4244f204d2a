// math/kernel.h: the own dense kernels and their inner loops. Complex numbers are pairs (re, im) of doubles here: the
// multiplication of C99 complex numbers checks for infinities and costs a call.
#ifndef KD_MATH_KERNEL_H
#define KD_MATH_KERNEL_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define KD_TINY 12         // order up to which scalar code measured faster than vector code (bench: build/bench/dense)
#define KD_TINY_COMPLEX 10 // the same for complex matrices

// ---- the kernels, scalar and vector code of one text (kernel_body.h)
// -------------------------------------------------

#define KD_KERNELS(family)                                                                                             \
    void family##_gemv(int m, int n, double alpha, const double *restrict A, const double *restrict x,                 \
                       double *restrict y);                                                                            \
    void family##_gemv_t(int m, int n, double alpha, const double *restrict A, const double *restrict x,               \
                         double *restrict y);                                                                          \
    void family##_gemm(int m, int n, int k, double alpha, const double *restrict A, const double *restrict B,          \
                       double *restrict C);                                                                            \
    void family##_gemm_tn(int m, int n, int k, double alpha, const double *restrict A, const double *restrict B,       \
                          double *restrict C);                                                                         \
    int  family##_lu_factor(int n, double *A, int *pivot);                                                             \
    void family##_lu_solve(int n, const double *LU, const int *pivot, double *x);                                      \
    void family##_lu_solve_t(int n, const double *LU, const int *pivot, double *x);                                    \
    int  family##_zlu_factor(int n, double *A, int *pivot);                                                            \
    void family##_zlu_solve(int n, const double *LU, const int *pivot, double *x);                                     \
    int  family##_cholesky_factor(int n, double *A);                                                                   \
    void family##_cholesky_solve(int n, const double *L, double *x);

KD_KERNELS(kd_scalar)
KD_KERNELS(kd_vector)

// ---- inner loops
// -----------------------------------------------------------------------------------------------------

// A pivot must have a finite reciprocal.
static inline bool kd_is_pivot(double x)
{
    return fabs(x) >= DBL_MIN && fabs(x) <= DBL_MAX;
}

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

// x = inv(L) x for a unit lower L (n x n, ld): four columns per sweep over x
static inline void kd_kernel_lower(int n, const double *restrict L, ptrdiff_t ld, double *restrict x)
{
    int k = 0;
    for (; k + 4 <= n; k += 4) {
        const double *restrict a = L + ld * k, *restrict b = a + ld, *restrict c = b + ld, *restrict d = c + ld;
        const double x0 = x[k], x1 = x[k + 1] - a[k + 1] * x0, x2 = x[k + 2] - a[k + 2] * x0 - b[k + 2] * x1;
        const double x3 = x[k + 3] - a[k + 3] * x0 - b[k + 3] * x1 - c[k + 3] * x2;
        x[k + 1] = x1;
        x[k + 2] = x2;
        x[k + 3] = x3;
        for (int i = k + 4; i < n; i++) x[i] -= (a[i] * x0 + b[i] * x1) + (c[i] * x2 + d[i] * x3);
    }
    for (; k < n; k++) kd_kernel_sub(n - k - 1, x[k], L + ld * k + k + 1, x + k + 1);
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

// x = inv(U) x for a complex upper U (n x n)
static inline void kd_kernel_zupper(int n, const double *U, double *x)
{
    for (int k = n - 1; k >= 0; k--) {
        const double *uk = kd_column_const(U, 2 * n, k);
        double        re = 0, im = 0;
        kd_kernel_zinverse(uk[2 * k], uk[2 * k + 1], &re, &im);
        kd_kernel_zscale(re, im, x + 2 * k);
        kd_kernel_zsub(k, x[2 * k], x[2 * k + 1], uk, x);
    }
}

#endif
