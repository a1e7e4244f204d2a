// fours.h: numbers of modes four at a time, filled up with zeros, and sums over modes of rows and slopes that stand in fours.
#ifndef KARDAN_TREE_FOURS_H
#define KARDAN_TREE_FOURS_H

#include "tree/vector.h"

// macros, because functions that return vectors have another calling convention on every processor
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
#define AT(x) (*(const four *)(x))
#define PUT(x) (*(four *)(x))
#define ALL(x) ((four){x, x, x, x})
#define SUM(a) ((a)[0] + (a)[1] + ((a)[2] + (a)[3]))

// sums of four vectors in one; the four vectors as columns: lanes of one become a vector
#if KD_LANES == 4
#define SUMS(a, b, c, d, out)                                                                                          \
    do {                                                                                                               \
        const __m256d ab_ = _mm256_hadd_pd((__m256d)(a), (__m256d)(b)),                                                \
                      cd_ = _mm256_hadd_pd((__m256d)(c), (__m256d)(d));                                                \
        (out) = (four)(_mm256_permute2f128_pd(ab_, cd_, 0x20) + _mm256_permute2f128_pd(ab_, cd_, 0x31));               \
    } while (0)
#define TRANSPOSE(a, b, c, d)                                                                                          \
    do {                                                                                                               \
        const __m256d l0_ = _mm256_unpacklo_pd((__m256d)(a), (__m256d)(b)),                                            \
                      h0_ = _mm256_unpackhi_pd((__m256d)(a), (__m256d)(b));                                            \
        const __m256d l1_ = _mm256_unpacklo_pd((__m256d)(c), (__m256d)(d)),                                            \
                      h1_ = _mm256_unpackhi_pd((__m256d)(c), (__m256d)(d));                                            \
        (a) = (four)_mm256_permute2f128_pd(l0_, l1_, 0x20), (b) = (four)_mm256_permute2f128_pd(h0_, h1_, 0x20);        \
        (c) = (four)_mm256_permute2f128_pd(l0_, l1_, 0x31), (d) = (four)_mm256_permute2f128_pd(h0_, h1_, 0x31);        \
    } while (0)
#else
#define SUMS(a, b, c, d, out) ((out) = (four){SUM(a), SUM(b), SUM(c), SUM(d)})
#define TRANSPOSE(a, b, c, d)                                                                                          \
    do {                                                                                                               \
        const four a_ = (a), b_ = (b), c_ = (c), d_ = (d);                                                             \
        (a) = (four){a_[0], b_[0], c_[0], d_[0]}, (b) = (four){a_[1], b_[1], c_[1], d_[1]};                            \
        (c) = (four){a_[2], b_[2], c_[2], d_[2]}, (d) = (four){a_[3], b_[3], c_[3], d_[3]};                            \
    } while (0)
#endif

// a vector and one number more
#if KD_LANES == 4
#define PUT_WITH(to, a, last) (PUT(to) = (four)_mm256_blend_pd(a, _mm256_set1_pd(last), 8))
#else
#define PUT_WITH(to, a, last) (PUT(to) = (four){(a).x, (a).y, (a).z, last})
#endif

// functions whose number of modes the compiler is to know: all that they call belongs into them
#define KD_INLINE __attribute__((always_inline)) static inline

// m numbers, four at a time
KD_INLINE void copy_modes(int m, const double *restrict from, double *restrict to)
{
    int k = 0;
    for (; k + 4 <= m; k += 4) PUT(to + k) = AT(from + k);
    for (; k < m; k++) to[k] = from[k];
}

KD_INLINE void subtract_modes(int m, const double *restrict a, double *restrict from)
{
    int k = 0;
    for (; k + 4 <= m; k += 4) PUT(from + k) = AT(from + k) - AT(a + k);
    for (; k < m; k++) from[k] -= a[k];
}

// n of the x_k, in registers: nfours of out = from + sum_k x_k slope_k (from NULL: 0), which stand at these places; the slopes of one
// of them side by side, mp of them
KD_INLINE void add_some_slopes(const int n, int mp, int nfours, const int *at, const double *from, const double *slope,
                               const double *x, double *out)
{
    four by[8];
#pragma GCC unroll 8
    for (int k = 0; k < n; k++) by[k] = ALL(x[k]);
    for (int i = 0; i < nfours; i++, slope += 4 * mp) {
        // two sums, so that one addition need not wait for all others
        four sum = by[0] * AT(slope), other = by[1] * AT(slope + 4);
        if (from) sum += AT(from + at[i]);
#pragma GCC unroll 8
        for (int k = 2; k < n; k += 2) {
            sum += by[k] * AT(slope + 4 * k);
            other += by[k + 1] * AT(slope + 4 * k + 4);
        }
        PUT(out + at[i]) = sum + other;
    }
}

KD_INLINE void add_slopes(int mp, int nfours, const int *at, const double *from, const double *slope, const double *x,
                          double *out)
{
    int k = 0;
    for (; k + 8 <= mp; k += 8) add_some_slopes(8, mp, nfours, at, k > 0 ? out : from, slope + 4 * k, x + k, out);
    if (k < mp) add_some_slopes(4, mp, nfours, at, k > 0 ? out : from, slope + 4 * k, x + k, out);
}

// the rows' sums over the lanes, fours of rows
#define PUT_SUMS(rows, sum, out)                                                                                       \
    for (int r_ = 0; r_ < (rows); r_ += 4) SUMS((sum)[r_], (sum)[r_ + 1], (sum)[r_ + 2], (sum)[r_ + 3], PUT((out) + r_))

// out (rows, up to fours) = sum_l x_l row_l, of so many rows out of nrows of each block
KD_INLINE void sum_rows(const int rows, const int nrows, const int mp, const double *restrict row,
                        const double *restrict x, double *restrict out)
{
    four sum[12];
    for (int r = 0; r < rows; r++) sum[r] = AT(row + 4 * r) * AT(x);
    for (int r = rows; r % 4 > 0; r++) sum[r] = sum[0];
    for (int l = 4; l < mp; l += 4)
        for (int r = 0; r < rows; r++) sum[r] += AT(row + nrows * l + 4 * r) * AT(x + l);
    PUT_SUMS(rows, sum, out);
}

// out (rows, up to fours) = sum_l x_l (a_l + b_l)/2
KD_INLINE void sum_means(const int rows, const int nrows, const int mp, const double *restrict a,
                         const double *restrict b, const double *restrict x, double *restrict out)
{
    four sum[12], by = ALL(0.5) * AT(x);
    for (int r = 0; r < rows; r++) sum[r] = (AT(a + 4 * r) + AT(b + 4 * r)) * by;
    for (int l = 4; l < mp; l += 4) {
        const double *one = a + nrows * l, *other = b + nrows * l;
        by = ALL(0.5) * AT(x + l);
        for (int r = 0; r < rows; r++) sum[r] += (AT(one + 4 * r) + AT(other + 4 * r)) * by;
    }
    for (int r = rows; r % 4 > 0; r++) sum[r] = sum[0];
    PUT_SUMS(rows, sum, out);
}

#endif
