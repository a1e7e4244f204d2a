// klu_kernels.h: the loops over numbers of klu_solve.c, compiled twice on x86-64: as they are (variant base) and, in
// klu_avx2.c, for processors with AVX2 and FMA.
#ifndef KD_MATH_KLU_KERNELS_H
#define KD_MATH_KLU_KERNELS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KD_KLU_TOGETHER = 6, // columns of a group, at most
    KD_KLU_LANES = 4     // columns that get new values side by side
};

// One diagonal block of the factors. Column k: its row numbers begin at LU + l_row[k] (as int), its values at LU + l_value[k]
typedef struct kd_klu_block {
    int        n;
    double    *LU, *diagonal; // diagonal: of U
    const int *l_row, *l_count, *l_value;
    const int *u_row, *u_count, *u_value;
    const int *below, *above; // columns of the group that begins (L) or ends (U) with column k
} kd_klu_block;

typedef struct kd_klu_kernels {
    // L U x = x
    void (*solve)(const kd_klu_block *b, double *restrict x);
    // Columns k .. k + count - 1 of U and L: X (n x lanes) holds those of the matrix, and zeros at the end. All of them are one
    // group of U. largest (lanes): of |U|. false: a pivot is zero
    bool (*eliminate)(const kd_klu_block *b, int k, int count, double *restrict X, double *largest);
} kd_klu_kernels;

extern const kd_klu_kernels kd_klu_base, kd_klu_avx2;

#ifdef KD_VARIANT

typedef double  lanes __attribute__((vector_size(8 * KD_KLU_LANES), aligned(8), may_alias));
typedef int64_t masks __attribute__((vector_size(8 * KD_KLU_LANES), aligned(8), may_alias));

#define LOAD(x) (*(const lanes *)(x))
#define ALL(x) ((lanes){x, x, x, x})
#define ROWS(b, at) ((const int *)(const void *)((b)->LU + (at)))
#define INLINE static inline __attribute__((always_inline))

// ---- solution -------------------------------------------------------------------------------------------------------

// x_row -= sum_i value[i] y_i over count rows that rise. m is a number here: the loops over columns are unrolled
INLINE void take_columns_of(const int m, int count, const int *restrict row, const double *const *value,
                            const double *y, double *restrict x)
{
    int e = 0;
    for (; e + KD_KLU_LANES <= count; e += KD_KLU_LANES) {
        lanes sum = LOAD(value[0] + e) * ALL(y[0]);
        for (int i = 1; i < m; i++) sum += LOAD(value[i] + e) * ALL(y[i]);
        // rows of one body follow each other
        if (row[e + 3] - row[e] == 3) {
            *(lanes *)(x + row[e]) -= sum;
        } else {
            for (int k = 0; k < KD_KLU_LANES; k++) x[row[e + k]] -= sum[k];
        }
    }
    for (; e < count; e++) {
        double sum = value[0][e] * y[0];
        for (int i = 1; i < m; i++) sum += value[i][e] * y[i];
        x[row[e]] -= sum;
    }
}

// the same call for m = 1 .. 6
#define BY_COLUMNS(m, function, ...)                                                                                   \
    do {                                                                                                               \
        if ((m) == 1)                                                                                                  \
            function(1, __VA_ARGS__);                                                                                  \
        else if ((m) == 2)                                                                                             \
            function(2, __VA_ARGS__);                                                                                  \
        else if ((m) == 3)                                                                                             \
            function(3, __VA_ARGS__);                                                                                  \
        else if ((m) == 4)                                                                                             \
            function(4, __VA_ARGS__);                                                                                  \
        else if ((m) == 5)                                                                                             \
            function(5, __VA_ARGS__);                                                                                  \
        else                                                                                                           \
            function(KD_KLU_TOGETHER, __VA_ARGS__);                                                                    \
    } while (0)

// Group of m columns of L that begins with k: rows k + i + 1 .. k + m - 1 are the first ones of column k + i
INLINE void lower_group(const int m, const kd_klu_block *b, int k, double *restrict x)
{
    const double *value[KD_KLU_TOGETHER];
    double        y[KD_KLU_TOGETHER];
    for (int i = 0; i < m; i++) y[i] = x[k + i];
    for (int i = 0; i < m; i++) {
        const double *column = b->LU + b->l_value[k + i];
        for (int r = i + 1; r < m; r++) y[r] -= column[r - i - 1] * y[i];
        value[i] = column + (m - 1 - i);
    }
    for (int i = 1; i < m; i++) x[k + i] = y[i];
    take_columns_of(m, b->l_count[k + m - 1], ROWS(b, b->l_row[k + m - 1]), value, y, x);
}

// Group of m columns of U that ends with k: rows k - m + 1 .. k - i - 1 are the last ones of column k - i
INLINE void upper_group(const int m, const kd_klu_block *b, int k, double *restrict x)
{
    const double *value[KD_KLU_TOGETHER];
    double        y[KD_KLU_TOGETHER];
    const int     count = b->u_count[k - m + 1];
    for (int i = 0; i < m; i++) y[i] = x[k - i];
    for (int i = 0; i < m; i++) {
        value[i] = b->LU + b->u_value[k - i];
        y[i] /= b->diagonal[k - i];
        for (int r = i + 1; r < m; r++) y[r] -= value[i][count + m - 1 - r] * y[i];
    }
    for (int i = 0; i < m; i++) x[k - i] = y[i];
    take_columns_of(m, count, ROWS(b, b->u_row[k - m + 1]), value, y, x);
}

static void solve(const kd_klu_block *b, double *restrict x)
{
    for (int k = 0; k < b->n; k += b->below[k]) BY_COLUMNS(b->below[k], lower_group, b, k, x);
    for (int k = b->n - 1; k >= 0; k -= b->above[k]) BY_COLUMNS(b->above[k], upper_group, b, k, x);
}

// ---- new values -----------------------------------------------------------------------------------------------------

// most = max(most, |u|), lane by lane
INLINE void keep_largest(lanes *most, const lanes *u)
{
    const lanes size = (lanes)((masks)*u & INT64_MAX);
    const masks more = (masks)(size > *most);
    *most = (lanes)((more & (masks)size) | (~more & (masks)*most));
}

// m columns of L that begin with j are taken off all columns of X; u: their rows of U, which become zero in X
INLINE void take_group_of(const int m, const kd_klu_block *b, int j, lanes *u, double *restrict X)
{
    const double *value[KD_KLU_TOGETHER];
    for (int i = 0; i < m; i++) u[i] = LOAD(X + KD_KLU_LANES * (j + i));
    for (int i = 0; i < m; i++) {
        const double *column = b->LU + b->l_value[j + i];
        for (int r = i + 1; r < m; r++) u[r] -= ALL(column[r - i - 1]) * u[i];
        value[i] = column + (m - 1 - i);
        *(lanes *)(X + KD_KLU_LANES * (j + i)) = ALL(0.0);
    }
    const int count = b->l_count[j + m - 1], *row = ROWS(b, b->l_row[j + m - 1]);
    for (int e = 0; e < count; e++) {
        lanes *x = (lanes *)(X + KD_KLU_LANES * row[e]), sum = ALL(value[0][e]) * u[0];
        for (int i = 1; i < m; i++) sum += ALL(value[i][e]) * u[i];
        *x -= sum;
    }
}

// Column q of the panel that begins with k: pivot and L; what it leaves of the columns behind it
INLINE bool take_pivot(const kd_klu_block *b, int k, int q, int count, double *restrict X, double *largest)
{
    const int    rows = b->l_count[k + q], *row = ROWS(b, b->l_row[k + q]);
    double      *lower = b->LU + b->l_value[k + q], *at = X + KD_KLU_LANES * (k + q);
    const double pivot = at[q];
    lanes        u = LOAD(at);
    b->diagonal[k + q] = pivot;
    for (int c = 0; c < KD_KLU_LANES; c++) u[c] = c > q ? u[c] : 0;
    for (int c = q + 1; c < count; c++) {
        b->LU[b->u_value[k + c] + b->u_count[k + q]] = u[c];
        largest[c] = fmax(largest[c], fabs(u[c]));
    }
    largest[q] = fmax(largest[q], fabs(pivot));
    *(lanes *)at = ALL(0.0);
    for (int e = 0; e < rows; e++) {
        double      *x = X + KD_KLU_LANES * row[e];
        const double l = lower[e] = x[q] / pivot;
        *(lanes *)x = LOAD(x) - ALL(l) * u;
        x[q] = 0;
    }
    return pivot != 0;
}

static bool eliminate(const kd_klu_block *b, int k, int count, double *restrict X, double *largest)
{
    const int rows = b->u_count[k], *row = ROWS(b, b->u_row[k]);
    lanes     most = ALL(0.0);
    // rows above the panel, which all its columns have
    for (int e = 0; e < rows;) {
        lanes     u[KD_KLU_TOGETHER];
        const int j = row[e], left = b->below[j] < k - j ? b->below[j] : k - j;
        const int m = e + left <= rows && row[e + left - 1] == j + left - 1 ? left : 1;
        BY_COLUMNS(m, take_group_of, b, j, u, X);
        for (int i = 0; i < m; i++, e++) {
            keep_largest(&most, &u[i]);
            for (int q = 0; q < count; q++) b->LU[b->u_value[k + q] + e] = u[i][q];
        }
    }
    for (int q = 0; q < KD_KLU_LANES; q++) largest[q] = most[q];
    // the panel itself
    bool good = true;
    for (int q = 0; q < count; q++) good = take_pivot(b, k, q, count, X, largest) && good;
    return good;
}

const kd_klu_kernels KD_VARIANT = {solve, eliminate};

#endif
#endif
