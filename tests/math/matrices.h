// tests/math/matrices.h: reproducible matrices and plain triple-loop references for the tests of math/.
#ifndef KD_TEST_MATRICES_H
#define KD_TEST_MATRICES_H

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define LARGEST 72 // orders of the tests go beyond KD_SMALL

static const int orders[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 17, 20, 31, 32, 33, 34, 48, 49, 50, 72};
#define ORDERS ((int)(sizeof orders / sizeof *orders))

// re + i im, also for NaN and infinity (CMPLX is missing from some compilers)
static inline double complex complex_number(double re, double im)
{
    const double   part[2] = {re, im};
    double complex z;
    memcpy(&z, part, sizeof z);
    return z;
}

// uniform in [-1, 1)
static inline double random_number(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

static inline void random_fill(int count, double *x, uint64_t *seed)
{
    for (int i = 0; i < count; i++) x[i] = random_number(seed);
}

// rows and columns scaled over 2 * decades powers of ten, in scattered order
static inline void grade(int m, int n, double *A, double decades)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            A[i + m * j] *=
                pow(10, decades * ((7 * i % m) / (double)m - 0.5) + decades * ((5 * j % n) / (double)n - 0.5));
}

static inline double entry_max(int count, const double *x)
{
    double largest = 0;
    for (int i = 0; i < count; i++) largest = isnan(x[i]) ? INFINITY : fmax(largest, fabs(x[i]));
    return largest;
}

// C = A B, plain
static inline void multiply_plain(int m, int n, int k, const double *A, const double *B, double *C)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double sum = 0;
            for (int l = 0; l < k; l++) sum += A[i + m * l] * B[l + k * j];
            C[i + m * j] = sum;
        }
}

// A' (n x m) of A (m x n)
static inline void transpose(int m, int n, const double *A, double *T)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) T[j + n * i] = A[i + m * j];
}

// Backward error of A x = b by rows and columns (Oettli, Prager): max_i |b - A x|_i / (|A| |x| + |b|)_i, in units of
// epsilon. Does not depend on the scaling of rows.
static inline double backward_error(int n, const double *A, const double *x, const double *b)
{
    double worst = 0;
    for (int i = 0; i < n; i++) {
        double residual = b[i], size = fabs(b[i]);
        for (int j = 0; j < n; j++) {
            residual -= A[i + n * j] * x[j];
            size += fabs(A[i + n * j] * x[j]);
        }
        if (!(fabs(residual) <= worst * size)) worst = size > 0 ? fabs(residual) / size : INFINITY;
    }
    return worst / DBL_EPSILON;
}

// Residual of A x = b in the norm of LU's backward analysis, in units of epsilon: |b - A x| / (|A| |x|).
static inline double norm_error(int n, const double *A, const double *x, const double *b)
{
    double worst = 0;
    for (int i = 0; i < n; i++) {
        double residual = b[i];
        for (int j = 0; j < n; j++) residual -= A[i + n * j] * x[j];
        worst = isnan(residual) ? INFINITY : fmax(worst, fabs(residual));
    }
    const double size = n * entry_max(n * n, A) * entry_max(n, x);
    return size > 0 ? worst / size / DBL_EPSILON : worst;
}

static inline double norm_error_complex(int n, const double complex *A, const double complex *x,
                                        const double complex *b)
{
    double worst = 0, largest_a = 0, largest_x = 0;
    for (int i = 0; i < n; i++) {
        double complex residual = b[i];
        for (int j = 0; j < n; j++) {
            residual -= A[i + n * j] * x[j];
            largest_a = fmax(largest_a, cabs(A[i + n * j]));
        }
        largest_x = fmax(largest_x, cabs(x[i]));
        worst = isnan(cabs(residual)) ? INFINITY : fmax(worst, cabs(residual));
    }
    const double size = n * largest_a * largest_x;
    return size > 0 ? worst / size / DBL_EPSILON : worst;
}

// A (m x n) of the given rank: product of two random matrices
static inline void random_of_rank(int m, int n, int rank, double *A, uint64_t *seed)
{
    double left[LARGEST * LARGEST], right[LARGEST * LARGEST];
    random_fill(m * rank, left, seed);
    random_fill(rank * n, right, seed);
    multiply_plain(m, n, rank, left, right, A);
}

#endif
