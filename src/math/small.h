// math/small.h: inlined products for the small matrices of one Newton right-hand side; larger ones go to math/dense.h.
// Four rows at a time: the sums stay in registers, and the calls, which cost as much as a 4 x 4 product, disappear.
#ifndef KD_MATH_SMALL_H
#define KD_MATH_SMALL_H

#include <string.h>

#include "math/dense.h"

#define KD_INLINE_MOST 400 // entries up to which the inlined loops measured faster than a call of BLAS

// y = (add ? y : 0) + sign A x,  A (m x n)
static inline void kd_mul_general(int m, int n, const double *restrict A, const double *restrict x, double sign, bool add,
                                  double *restrict y)
{
    if (m * n > KD_INLINE_MOST) {
        kd_gemv(m, n, sign, A, x, add ? 1 : 0, y);
        return;
    }
    int i = 0;
    for (; i + 4 <= m; i += 4) {
        const double *a = A + i;
        double        s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (int j = 0; j < n; j++, a += m) {
            double f = x[j];
            s0 += a[0] * f;
            s1 += a[1] * f;
            s2 += a[2] * f;
            s3 += a[3] * f;
        }
        y[i] = (add ? y[i] : 0) + sign * s0;
        y[i + 1] = (add ? y[i + 1] : 0) + sign * s1;
        y[i + 2] = (add ? y[i + 2] : 0) + sign * s2;
        y[i + 3] = (add ? y[i + 3] : 0) + sign * s3;
    }
    for (; i < m; i++) {
        const double *a = A + i;
        double        s = 0;
        for (int j = 0; j < n; j++, a += m) s += a[0] * x[j];
        y[i] = (add ? y[i] : 0) + sign * s;
    }
}

static inline void kd_mul(int m, int n, const double *A, const double *x, double *y) // y = A x
{
    kd_mul_general(m, n, A, x, 1, false, y);
}
static inline void kd_mul_add(int m, int n, const double *A, const double *x, double *y) // y += A x
{
    kd_mul_general(m, n, A, x, 1, true, y);
}
static inline void kd_mul_sub(int m, int n, const double *A, const double *x, double *y) // y -= A x
{
    kd_mul_general(m, n, A, x, -1, true, y);
}

// y = A' x,  A (m x n)
static inline void kd_mul_t(int m, int n, const double *restrict A, const double *restrict x, double *restrict y)
{
    if (m * n > KD_INLINE_MOST) {
        kd_gemv_t(m, n, 1, A, x, 0, y);
        return;
    }
    for (int j = 0; j < n; j++, A += m) {
        double s0 = 0, s1 = 0;
        int    i = 0;
        for (; i + 2 <= m; i += 2) {
            s0 += A[i] * x[i];
            s1 += A[i + 1] * x[i + 1];
        }
        if (i < m) s0 += A[i] * x[i];
        y[j] = s0 + s1;
    }
}

#endif
