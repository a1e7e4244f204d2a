// math/small.h: inlined products for the small matrices of one Newton right-hand side; larger ones go to math/dense.h.
// Four rows at a time, in pairs: the sums stay in registers, and the calls,
// which cost as much as a 4 x 4 product, disappear.
#ifndef KD_MATH_SMALL_H
#define KD_MATH_SMALL_H

#include <string.h>

#include "math/dense.h"
#include "math/kernel.h"

#define KD_INLINE_MOST 400 // entries that are inlined; anything from 100 to 1600 measures alike

// y = (add ? y : 0) + sign s, two entries
static inline void kd_put(double *y, kd_two s, double sign, bool add)
{
    s *= kd_two_both(sign);
    if (add) s += kd_two_load(y);
    kd_two_store(y, s);
}

// y = (add ? y : 0) + sign A x,  A (m x n)
static inline void kd_mul_general(int m, int n, const double *restrict A, const double *restrict x, double sign,
                                  bool add, double *restrict y)
{
    if (m * n > KD_INLINE_MOST) {
        kd_gemv(m, n, sign, A, x, add ? 1 : 0, y);
        return;
    }
    int i = 0;
    for (; i + 4 <= m; i += 4) {
        const double *a = A + i;
        kd_two        s = kd_two_both(0), t = s;
        for (int j = 0; j < n; j++, a += m) {
            const kd_two f = kd_two_both(x[j]);
            s += kd_two_load(a) * f;
            t += kd_two_load(a + 2) * f;
        }
        kd_put(y + i, s, sign, add);
        kd_put(y + i + 2, t, sign, add);
    }
    if (i + 2 <= m) {
        const double *a = A + i;
        kd_two        s = kd_two_both(0);
        for (int j = 0; j < n; j++, a += m) s += kd_two_load(a) * kd_two_both(x[j]);
        kd_put(y + i, s, sign, add);
        i += 2;
    }
    if (i < m) {
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

#endif
