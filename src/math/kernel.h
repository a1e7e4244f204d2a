// math/kernel.h: the own dense kernels for small matrices, and their inner loops.
//
// The loops are written on pairs of doubles, the vector that every 64-bit machine has, and end with at most one scalar.
// For short columns that is faster than what the vectoriser makes of plain loops (it adds checks, prologues and
// epilogues), and the order of the operations is the same on every machine. A complex number is one pair (re, im): the
// multiplication of C99 complex numbers checks for infinities and costs a call.
#ifndef KD_MATH_KERNEL_H
#define KD_MATH_KERNEL_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

// ---- kernels (kernel.c) ---------------------------------------------------------------------------------------------

// The factors are stored as LAPACK does: L unit lower and U upper in place, pivot[k] the row (1-based) that was
// exchanged with row k + 1. A pivot below the smallest normal number (its reciprocal may overflow), NaN or infinity
// makes the matrix singular; NaN anywhere in A ends in a pivot.

int  kd_kernel_lu_factor(int n, double *A, int *pivot);
void kd_kernel_lu_solve(int n, const double *LU, const int *pivot, double *x);
void kd_kernel_lu_solve_t(int n, const double *LU, const int *pivot, double *x);
int  kd_kernel_zlu_factor(int n, double *A, int *pivot);
void kd_kernel_zlu_solve(int n, const double *LU, const int *pivot, double *x);
int  kd_kernel_cholesky_factor(int n, double *A);
void kd_kernel_cholesky_solve(int n, const double *L, double *x);

void kd_kernel_gemv(int m, int n, double alpha, const double *A, const double *x, double *y);        // y += alpha A x
void kd_kernel_gemv_t(int m, int n, double alpha, const double *A, const double *x, double *y);      // y += alpha A' x
void kd_kernel_gemm(int m, int n, int k, double alpha, const double *A, const double *B, double *C); // C += alpha A B
void kd_kernel_gemm_tn(int m, int n, int k, double alpha, const double *A, const double *B,
                       double *C); // C += alpha A' B

// ---- pairs ----------------------------------------------------------------------------------------------------------

typedef double kd_two __attribute__((vector_size(16), aligned(8), may_alias));

static inline kd_two kd_two_load(const double *x)
{
    return *(const kd_two *)x;
}
static inline void kd_two_store(double *x, kd_two value)
{
    *(kd_two *)x = value;
}
static inline kd_two kd_two_both(double x)
{
    return (kd_two){x, x};
}

// a b of complex numbers, b prepared as (re, re) and (-im, im): the second factor meets the exchanged pair
static inline kd_two kd_two_multiply(kd_two a, kd_two re, kd_two im)
{
    return a * re + (kd_two){a[1], a[0]} * im;
}
static inline kd_two kd_two_re(kd_two b)
{
    return (kd_two){b[0], b[0]};
}
static inline kd_two kd_two_im(kd_two b)
{
    return (kd_two){-b[1], b[1]};
}

// 1 / z, scaled by the larger part against overflow (Smith)
static inline kd_two kd_two_inverse(kd_two z)
{
    if (fabs(z[0]) >= fabs(z[1])) {
        const double q = z[1] / z[0], d = 1 / (z[0] + z[1] * q);
        return (kd_two){d, -q * d};
    }
    const double q = z[0] / z[1], d = 1 / (z[0] * q + z[1]);
    return (kd_two){q * d, -d};
}

// Where pairs begin to pay: loading a pair that was just stored as two scalars (an exchange of rows, the end of a loop)
// stalls, which short columns do not make good. Measured on LU, orders 2 to 32.
#define KD_PAIRS_FROM 8

// ---- inner loops ----------------------------------------------------------------------------------------------------

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
    const kd_two s = kd_two_both(alpha);
    int          i = 0;
    if (n >= KD_PAIRS_FROM)
        for (; i + 2 <= n; i += 2) kd_two_store(y + i, kd_two_load(y + i) - s * kd_two_load(x + i));
    for (; i < n; i++) y[i] -= alpha * x[i];
}

// y -= alpha_0 a + alpha_1 b + alpha_2 c + alpha_3 d, the columns ld apart
static inline void kd_kernel_sub4(int n, const double *restrict alpha, const double *restrict a, ptrdiff_t ld,
                                  double *restrict y)
{
    const double *restrict b = a + ld, *restrict c = b + ld, *restrict d = c + ld;
    const kd_two p = kd_two_both(alpha[0]), q = kd_two_both(alpha[1]);
    const kd_two r = kd_two_both(alpha[2]), s = kd_two_both(alpha[3]);
    int          i = 0;
    if (n >= KD_PAIRS_FROM)
        for (; i + 2 <= n; i += 2)
            kd_two_store(y + i, kd_two_load(y + i) - ((p * kd_two_load(a + i) + q * kd_two_load(b + i)) +
                                                      (r * kd_two_load(c + i) + s * kd_two_load(d + i))));
    for (; i < n; i++) y[i] -= (alpha[0] * a[i] + alpha[1] * b[i]) + (alpha[2] * c[i] + alpha[3] * d[i]);
}

// x' y
static inline double kd_kernel_dot(int n, const double *restrict x, const double *restrict y)
{
    kd_two s = kd_two_both(0), t = s;
    int    i = 0;
    for (; i + 4 <= n; i += 4) {
        s += kd_two_load(x + i) * kd_two_load(y + i);
        t += kd_two_load(x + i + 2) * kd_two_load(y + i + 2);
    }
    s += t;
    double sum = s[0] + s[1];
    for (; i < n; i++) sum += x[i] * y[i];
    return sum;
}

// x = inv(L) x for a unit lower L (n x n, ld): four columns per sweep over x
static inline void kd_kernel_lower(int n, const double *restrict L, ptrdiff_t ld, double *restrict x)
{
    int k = 0;
    for (; k + 4 <= n; k += 4) {
        const double *restrict a = L + ld * k + k, *restrict b = a + ld, *restrict c = b + ld;
        x[k + 1] -= a[1] * x[k];
        x[k + 2] -= a[2] * x[k] + b[2] * x[k + 1];
        x[k + 3] -= a[3] * x[k] + b[3] * x[k + 1] + c[3] * x[k + 2];
        kd_kernel_sub4(n - k - 4, x + k, a + 4, ld, x + k + 4);
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
        x[k + 3] *= rd;
        x[k + 2] = (x[k + 2] - d[k + 2] * x[k + 3]) * rc;
        x[k + 1] = (x[k + 1] - d[k + 1] * x[k + 3] - c[k + 1] * x[k + 2]) * rb;
        x[k] = (x[k] - d[k] * x[k + 3] - c[k] * x[k + 2] - b[k] * x[k + 1]) * ra;
        kd_kernel_sub4(k, x + k, a, ld, x);
    }
    for (k += 3; k >= 0; k--) {
        x[k] *= 1 / U[ld * k + k];
        kd_kernel_sub(k, x[k], U + ld * k, x);
    }
}

// y -= alpha x, n complex numbers
static inline void kd_kernel_zsub(int n, kd_two alpha, const double *restrict x, double *restrict y)
{
    const kd_two re = kd_two_re(alpha), im = kd_two_im(alpha);
    for (int i = 0; i < 2 * n; i += 2)
        kd_two_store(y + i, kd_two_load(y + i) - kd_two_multiply(kd_two_load(x + i), re, im));
}

// sum conj(x_i) y_i
static inline kd_two kd_kernel_zdotc(int n, const double *restrict x, const double *restrict y)
{
    kd_two direct = kd_two_both(0), crossed = direct; // (xr yr, xi yi), (xr yi, xi yr)
    for (int i = 0; i < 2 * n; i += 2) {
        const kd_two a = kd_two_load(x + i), b = kd_two_load(y + i);
        direct += a * b;
        crossed += a * (kd_two){b[1], b[0]};
    }
    return (kd_two){direct[0] + direct[1], crossed[0] - crossed[1]};
}

// x = inv(U) x for a complex upper U (n x n)
static inline void kd_kernel_zupper(int n, const double *U, double *x)
{
    for (int k = n - 1; k >= 0; k--) {
        const double *uk = kd_column_const(U, 2 * n, k);
        const kd_two  r = kd_two_inverse(kd_two_load(uk + 2 * k));
        const kd_two  xk = kd_two_multiply(kd_two_load(x + 2 * k), kd_two_re(r), kd_two_im(r));
        kd_two_store(x + 2 * k, xk);
        kd_kernel_zsub(k, xk, uk, x);
    }
}

#endif
