// kkt_mixed.c: [M C'; N 0] [a; lambda] = [f; c] with definite M, for small dense systems:
//
//     M = L D L',  [Y z] = inv(M) [C' f],  lambda = inv(N Y) (N z - c),  a = z - Y lambda
//
// One system for one solution: f is one more row beside those of C. N is close to C and N Y close to C inv(M) C', so
// that few rows, whose number is known to the compiler, are eliminated as they stand, while the pivots are those of such
// a matrix: positive and not larger than the entries that they were. All others by an LU with search for pivots, of rows
// and columns scaled by the lengths of the rows of C in the norm of inv(M): pivots are then sines of angles between rows.
#include "point/kkt_mixed.h"
#include "math/dense.h"
#include "math/kernel.h"
#include "point/kkt_impl.h"
#include <math.h>

#define INDEPENDENT 1e-8 // smallest part that is left of scaled N inv(M) C'
#define SAFE 1e-3        // ... without search for pivots
#define GROWN 2          // largest part
enum { BLOCK = 8 };      // entries of a row that are summed up at once

// Entries of a row of [C' f], rounded up: one block of pairs for few rows, whole blocks for others
KD_KKT_INLINE int width_of(const int m)
{
    return m <= KD_KKT_FEW ? (m + 2) / 2 * 2 : (m + BLOCK) / BLOCK * BLOCK;
}

void kd_kkt_mixed_cut(kd_kkt_mixed *self, kd_arena *arena, int nv, int nrows)
{
    const int ld = width_of(nrows);
    self->nv = nv;
    self->nrows = nrows;
    kd_kkt_factors_cut(&self->mass, arena, nv);
    self->Y = kd_cut_matrix(arena, ld, nv);
    self->S = kd_cut_matrix(arena, ld, nrows);
    self->LU = kd_cut_matrix(arena, nrows, nrows);
    self->lambda = kd_cut_double(arena, nrows);
    self->scale = kd_cut_double(arena, nrows);
    self->pivot = kd_cut_int(arena, nrows);
}

// ---- inv(M) [C' f] and its product with N ---------------------------------------------------------------------------

// [GZ; HZ]: rows of nlambda and of nmu entries in memory
typedef struct parts {
    int           nlambda, nmu;
    const double *GZ, *HZ;
} parts;

// row k: its first entry, and how far apart they are
static inline const double *row_of(const parts *C, int k, int *stride)
{
    *stride = k < C->nlambda ? C->nlambda : C->nmu;
    return k < C->nlambda ? C->GZ + k : C->HZ + (k - C->nlambda);
}

// Y = [C' f], by rows
KD_KKT_INLINE void collect(const int m, const kd_kkt_mixed *self, const parts *C, const double *f)
{
    const int     ld = width_of(m), nv = self->nv, nlambda = C->nlambda, nmu = C->nmu;
    const double *g = C->GZ, *h = C->HZ;
    double       *y = self->Y;
    for (int i = 0; i < nv; i++, y += ld, g += nlambda, h += nmu) {
        for (int k = 0; k < m; k++) y[k] = k < nlambda ? g[k] : h[k - nlambda];
        y[m] = f[i];
        for (int k = m + 1; k < ld; k++) y[k] = 0;
    }
}

// Y <- inv(M) Y, `width` entries of its rows, a number known to the compiler
KD_KKT_INLINE void divide(const int width, const kd_kkt_mixed *self, const int ld, int from)
{
    const kd_kkt_factors M = self->mass;
    const int            nv = self->nv, n = width / 2;
    double              *Y = self->Y + from;
    kd_two               y[BLOCK / 2];
    // inv(D) inv(L): y_i = (y_i - sum_k l_ik d_k y_k) / d_i
    for (int i = 0; i < nv; i++) {
        for (int j = 0; j < n; j++) y[j] = kd_two_load(Y + i * ld + 2 * j);
        for (int k = M.first[i]; k < i; k++)
            for (int j = 0; j < n; j++) y[j] -= kd_two_both(M.LD[i + k * nv]) * kd_two_load(Y + k * ld + 2 * j);
        for (int j = 0; j < n; j++) kd_two_store(Y + i * ld + 2 * j, kd_two_both(M.inverse[i]) * y[j]);
    }
    // inv(L'): y_k -= l_ik y_i
    for (int i = nv - 1; i > 0; i--) {
        const double *row = M.rows + i * nv;
        for (int j = 0; j < n; j++) y[j] = kd_two_load(Y + i * ld + 2 * j);
        for (int k = M.first[i]; k < i; k++)
            for (int j = 0; j < n; j++)
                kd_two_store(Y + k * ld + 2 * j, kd_two_load(Y + k * ld + 2 * j) + kd_two_both(row[k]) * y[j]);
    }
}

// S = N Y, by rows, the same entries
KD_KKT_INLINE void multiply(const int width, const kd_kkt_mixed *self, const int ld, int from, const parts *N, int m)
{
    const int nv = self->nv;
    for (int k = 0; k < m; k++) {
        int           stride;
        const double *n = row_of(N, k, &stride), *Y = self->Y + from;
        kd_two        sum[BLOCK / 2];
        for (int j = 0; j < width / 2; j++) sum[j] = kd_two_both(0);
        for (int i = 0; i < nv; i++, n += stride, Y += ld)
            for (int j = 0; j < width / 2; j++) sum[j] += kd_two_both(*n) * kd_two_load(Y + 2 * j);
        for (int j = 0; j < width / 2; j++) kd_two_store(self->S + k * ld + from + 2 * j, sum[j]);
    }
}

// ---- few rows -------------------------------------------------------------------------------------------------------

// lambda = inv(N Y) (N z - c); false: not safe without search for pivots
KD_KKT_INLINE bool eliminate(const int m, const kd_kkt_mixed *self, const double *c, double *lambda)
{
    const int ld = width_of(m);
    double   *S = self->S, diagonal[KD_KKT_FEW], inverse[KD_KKT_FEW];
#pragma GCC unroll 8
    for (int k = 0; k < m; k++) diagonal[k] = S[k + ld * k];
// right-hand sides as one column more
#pragma GCC unroll 8
    for (int k = 0; k < m; k++) S[m + ld * k] -= c[k];
#pragma GCC unroll 8
    for (int k = 0; k < m; k++) {
        const double pivot = S[k + ld * k];
        if (!(pivot > SAFE * diagonal[k] && pivot < GROWN * diagonal[k])) return false;
        inverse[k] = 1 / pivot;
#pragma GCC unroll 8
        for (int i = k + 1; i < m; i++) {
            const kd_two factor = kd_two_both(S[k + ld * i] * inverse[k]);
#pragma GCC unroll 8
            for (int j = (k + 1) & ~1; j < ld; j += 2)
                kd_two_store(S + j + ld * i, kd_two_load(S + j + ld * i) - factor * kd_two_load(S + j + ld * k));
        }
    }
// back substitution
#pragma GCC unroll 8
    for (int k = m - 1; k >= 0; k--) {
        double sum = S[m + ld * k];
        for (int j = k + 1; j < m; j++) sum -= S[j + ld * k] * lambda[j];
        lambda[k] = sum * inverse[k];
    }
    return true;
}

// a = z - Y lambda
KD_KKT_INLINE void substitute(const int m, const kd_kkt_mixed *self, const double *lambda, double *a)
{
    const int     ld = width_of(m), nv = self->nv;
    const double *y = self->Y;
    for (int i = 0; i < nv; i++, y += ld) {
        double sum = y[m];
        for (int j = 0; j < m; j++) sum -= y[j] * lambda[j];
        a[i] = sum;
    }
}

// b <- [a; lambda]; false: b is as before
KD_KKT_INLINE bool solve_few(const int m, const kd_kkt_mixed *self, const parts *C, const parts *N, double *b)
{
    const int ld = width_of(m), nv = self->nv;
    double    lambda[KD_KKT_FEW];
    collect(m, self, C, b);
    divide(ld, self, ld, 0);
    multiply(ld, self, ld, 0, N, m);
    if (!eliminate(m, self, b + nv, lambda)) return false;
    substitute(m, self, lambda, b);
    for (int k = 0; k < m; k++) b[nv + k] = lambda[k];
    return true;
}

// ---- any number of rows ---------------------------------------------------------------------------------------------

// 1 / sqrt(c_j' inv(M) c_j). false: a row of zeros
static bool measure_rows(const kd_kkt_mixed *self, const parts *C)
{
    const int ld = width_of(self->nrows);
    bool      good = true;
    for (int j = 0; j < self->nrows; j++) {
        int           stride;
        const double *c = row_of(C, j, &stride);
        double        sum = 0;
        for (int i = 0; i < self->nv; i++) sum += c[i * stride] * self->Y[j + ld * i];
        good = good && sum > 0;
        self->scale[j] = 1 / sqrt(sum);
    }
    return good;
}

// lambda = inv(N Y) (N z - c) with search for pivots; false: rows nearly depend on each other
static bool eliminate_with_pivots(const kd_kkt_mixed *self, const double *c)
{
    const int     m = self->nrows, ld = width_of(m);
    const double *S = self->S, *scale = self->scale;
    double       *LU = self->LU, *lambda = self->lambda;
    for (int j = 0; j < m; j++)
        for (int k = 0; k < m; k++) LU[k + j * m] = S[j + ld * k] * scale[k] * scale[j];
    if (kd_lu_factor(m, LU, self->pivot) != 0) return false;
    for (int j = 0; j < m; j++)
        if (!(fabs(LU[j + j * m]) > INDEPENDENT)) return false;
    for (int k = 0; k < m; k++) lambda[k] = scale[k] * (S[m + ld * k] - c[k]);
    kd_lu_solve(m, LU, self->pivot, lambda, 1);
    for (int k = 0; k < m; k++) lambda[k] *= scale[k];
    return true;
}

static bool solve_any(const kd_kkt_mixed *self, const parts *C, const parts *N, double *b)
{
    const int m = self->nrows, ld = width_of(m), nv = self->nv;
    collect(m, self, C, b);
    for (int from = 0; from < ld; from += BLOCK) {
        const int width = ld - from < BLOCK ? ld : BLOCK; // narrower: few rows that want pivots
        divide(width, self, ld, from);
        multiply(width, self, ld, from, N, m);
    }
    if (!measure_rows(self, C) || !eliminate_with_pivots(self, b + nv)) return false;
    substitute(m, self, self->lambda, b);
    for (int k = 0; k < m; k++) b[nv + k] = self->lambda[k];
    return true;
}

bool kd_kkt_mixed_solve(kd_kkt_mixed *self, const double *M, int nlambda, const double *GZ, const double *next_GZ,
                        int nmu, const double *HZ, const double *next_HZ, double *b)
{
    const parts C = {nlambda, nmu, GZ, HZ}, N = {nlambda, nmu, next_GZ, next_HZ};
    bool        done = false;
    if (!kd_kkt_mass_factor(&self->mass, M)) return false;
    KD_KKT_FOR_FEW(self->nrows, done = solve_few, self, &C, &N, b);
    return done || solve_any(self, &C, &N, b);
}
