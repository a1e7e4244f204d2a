// runtime/eigen.c: eigenvalues and vectors of a general matrix by the complex QR algorithm: Hessenberg form and QR steps by
// plane rotations, Wilkinson's shift (Golub, Van Loan, 7.5). In place of math/eigen.c where there is no LAPACK; for the
// small matrices of a start.
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stddef.h>

#include "math/dense.h"

enum { MOST = 60 }; // steps for one value

typedef double complex number;

typedef struct schur {
    int     n;
    number *T, *Z; // (n x n) both
} schur;

int kd_eigen_work(int n)
{
    return 4 * n * n + 2 * n + 2; // T, Z, a vector
}

static number *entry(int n, number *A, int i, int j)
{
    return A + i + (ptrdiff_t)n * j;
}

// A turn in the plane of rows i, k that makes y = T_kj zero against x = T_ij; columns and Z follow
static void rotate(schur *s, int i, int k, number x, number y)
{
    const int    n = s->n;
    const double size = hypot(cabs(x), cabs(y));
    if (size == 0 || y == 0) return;
    const number c = x / size, d = y / size;
    for (int j = 0; j < n; j++) {
        number *a = entry(n, s->T, i, j), *b = entry(n, s->T, k, j), ai = *a, bi = *b;
        *a = conj(c) * ai + conj(d) * bi;
        *b = c * bi - d * ai;
    }
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < n; j++) {
            number *M = pass ? s->Z : s->T, *a = entry(n, M, j, i), *b = entry(n, M, j, k), ai = *a, bi = *b;
            *a = c * ai + d * bi;
            *b = conj(c) * bi - conj(d) * ai;
        }
}

static void to_hessenberg(schur *s)
{
    for (int j = 0; j + 2 < s->n; j++)
        for (int k = s->n - 1; k > j + 1; k--) {
            rotate(s, k - 1, k, *entry(s->n, s->T, k - 1, j), *entry(s->n, s->T, k, j));
            *entry(s->n, s->T, k, j) = 0; // but for rounding
        }
}

// The eigenvalue of the last 2 x 2 block that is nearer to its last entry
static number shift_of(const schur *s, int last)
{
    const int    n = s->n;
    const number a = *entry(n, s->T, last - 1, last - 1), b = *entry(n, s->T, last - 1, last);
    const number c = *entry(n, s->T, last, last - 1), d = *entry(n, s->T, last, last);
    const number root = csqrt((a - d) * (a - d) / 4 + b * c), middle = (a + d) / 2;
    return cabs(middle + root - d) < cabs(middle - root - d) ? middle + root : middle - root;
}

// One step on rows first .. last, by the implicit double: chase the bulge of T - shift down
static void step(schur *s, int first, int last, number shift)
{
    const int n = s->n;
    number    x = *entry(n, s->T, first, first) - shift, y = *entry(n, s->T, first + 1, first);
    for (int k = first; k < last; k++) {
        rotate(s, k, k + 1, x, y);
        if (k > first) *entry(n, s->T, k + 1, k - 1) = 0;
        if (k + 2 > last) break;
        x = *entry(n, s->T, k + 1, k);
        y = *entry(n, s->T, k + 2, k);
    }
}

static bool triangular(schur *s)
{
    const int n = s->n;
    int       last = n - 1, steps = 0;
    while (last > 0) {
        // where the matrix falls into parts
        int first = last;
        while (first > 0) {
            number      *below = entry(n, s->T, first, first - 1);
            const double size = cabs(*entry(n, s->T, first, first)) + cabs(*entry(n, s->T, first - 1, first - 1));
            if (cabs(*below) <= 4 * DBL_EPSILON * size || cabs(*below) < DBL_MIN) {
                *below = 0;
                break;
            }
            first--;
        }
        if (first == last) {
            last--;
            steps = 0;
            continue;
        }
        if (++steps > MOST) return false;
        const number odd = cabs(*entry(n, s->T, last, last - 1)); // now and then another shift
        step(s, first, last, steps % 10 == 0 ? *entry(n, s->T, last, last) + odd : shift_of(s, last));
    }
    return true;
}

// The vector of value k: T y = T_kk y, v = Z y, of length 1, its largest entry real
static void vector_of(schur *s, int k, double least, number *y, number *v)
{
    const int    n = s->n;
    const number value = *entry(n, s->T, k, k);
    y[k] = 1;
    for (int i = k - 1; i >= 0; i--) {
        number sum = 0, difference = *entry(n, s->T, i, i) - value;
        for (int j = i + 1; j <= k; j++) sum += *entry(n, s->T, i, j) * y[j];
        if (cabs(difference) < least) difference = least;
        y[i] = -sum / difference;
    }
    double length = 0;
    int    most = 0;
    for (int i = 0; i < n; i++) {
        v[i] = 0;
        for (int j = 0; j <= k; j++) v[i] += *entry(n, s->Z, i, j) * y[j];
        length = hypot(length, cabs(v[i]));
        if (cabs(v[i]) > cabs(v[most])) most = i;
    }
    if (length == 0) return;
    const number turn = conj(v[most]) / cabs(v[most]) / length;
    for (int i = 0; i < n; i++) v[i] *= turn;
}

int kd_eigen(int n, double *A, double *real, double *imaginary, double *V, double *work)
{
    double size = 0;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n * n; i++) {
        if (!isfinite(A[i])) return 1;
        size = fmax(size, fabs(A[i]));
    }
    schur   s = {n, (number *)work, (number *)work + (ptrdiff_t)n * n};
    number *y = s.Z + (ptrdiff_t)n * n;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            *entry(n, s.T, i, j) = A[i + (ptrdiff_t)n * j];
            *entry(n, s.Z, i, j) = i == j;
        }
    to_hessenberg(&s);
    if (!triangular(&s)) return 1;
    const double least = fmax(DBL_EPSILON * n * size, DBL_MIN);
    // real ones as they come; of pairs the one with the positive part, its partner with it
    int count = 0;
    for (int k = 0; k < n; k++) {
        const number value = *entry(n, s.T, k, k);
        const bool   is_real = fabs(cimag(value)) <= 100 * least;
        if (!is_real && cimag(value) < 0) continue;
        if (count + (is_real ? 1 : 2) > n) return 1;
        number *v = (number *)(void *)A; // (n) of n x n doubles
        number  one;
        if (V && n == 1) v = &one;
        if (V) vector_of(&s, k, least, y, v);
        for (int part = 0; part < (is_real ? 1 : 2); part++) {
            real[count + part] = creal(value);
            imaginary[count + part] = is_real ? 0 : part ? -cimag(value) : cimag(value);
            for (int i = 0; i < n && V; i++) V[i + (ptrdiff_t)n * (count + part)] = part ? cimag(v[i]) : creal(v[i]);
        }
        count += is_real ? 1 : 2;
    }
    return count == n ? 0 : 1;
}
