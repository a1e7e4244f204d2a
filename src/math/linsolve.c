// math/linsolve.c: one interface for the square systems of Newton's method: dense LU, dense QR, sparse LU.
//
// Real and complex factors live side by side (a Radau step needs one real and up to three complex ones). The sparse kind
// keeps one pattern for all and one KLU object for each: when the pattern grows through one of them, the factors of the
// others stay usable until their own next factor call.
#include "math/linsolve.h"

#include "core/memory.h"
#include "math/dense.h"
#include "math/kernel.h"

#include <float.h>
#include <limits.h>
#include <string.h>

// Factors of one complex matrix
typedef struct complex_factors {
    int             n;           // order; -1: none
    double complex *Z;           // (size x size) factors; sparse: values of the pattern, the same array for all
    int            *pivot;       // (size) exchanges of LU
    double complex *tau;         // QR: (size)
    kd_sparse_lu   *lu;          // sparse: NULL before the first analysis
    int             nonzeros_lu; // sparse: entries of the pattern that was analysed
} complex_factors;

struct kd_linsolve {
    kd_arena         arena;
    kd_linear_kind   kind;
    int              size;                  // largest order
    int              n;                     // order of the present real factors; -1: none
    double          *A;                     // (size x size) factors; sparse: values of the pattern
    int             *pivot;                 // (size) exchanges of LU, columns of QR
    double          *tau, *work;            // QR: (size), (kd_qr_work)
    double complex  *work_complex;          // QR: (size)
    complex_factors  pair[KD_LINEAR_PAIRS]; // complex ones
    complex_factors *z;                     // that complex calls are about
    int              npairs;                // that have memory

    bool         *pattern;      // sparse: (size x size)
    int          *column, *row; // sparse: (size + 1), (size * size)
    int           nonzeros;     // sparse: entries of the pattern
    kd_sparse_lu *lu;           // sparse: NULL before the first analysis
    int           nonzeros_lu;  // sparse: entries of the pattern that was analysed
    long          analyses;     // sparse: symbolic ones, and the full factorisations of objects that are gone
};

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void cut_pair(kd_linsolve *s, complex_factors *z)
{
    kd_arena    *arena = &s->arena;
    const size_t n = (size_t)s->size;
    const bool   sparse = s->kind == KD_LINEAR_SPARSE;
    z->n = -1;
    z->Z = sparse && z != s->pair ? s->pair->Z : kd_arena_cut(arena, n * n, sizeof *z->Z);
    if (!sparse) z->pivot = kd_arena_cut(arena, n, sizeof *z->pivot);
    if (s->kind == KD_LINEAR_QR) z->tau = kd_arena_cut(arena, n, sizeof *z->tau);
}

kd_status kd_linsolve_pair(kd_linsolve *s, int k)
{
    for (; s->npairs <= k; s->npairs++) {
        cut_pair(s, &s->pair[s->npairs]);
        if (s->arena.failed) return KD_ERR_MEMORY;
    }
    s->z = &s->pair[k];
    return KD_OK;
}

static void cut_arrays(kd_linsolve *s)
{
    kd_arena    *arena = &s->arena;
    const size_t n = (size_t)s->size;
    s->A = kd_arena_cut(arena, n * n, sizeof *s->A);
    if (kd_linsolve_pair(s, 0) < 0) return;
    // sparse: pattern and its compressed columns; the factors are KLU's
    if (s->kind == KD_LINEAR_SPARSE) {
        s->pattern = kd_arena_cut(arena, n * n, sizeof *s->pattern);
        s->column = kd_arena_cut(arena, n + 1, sizeof *s->column);
        s->row = kd_arena_cut(arena, n * n, sizeof *s->row);
        return;
    }
    // full: row exchanges, and for QR the reflectors' factors
    s->pivot = kd_arena_cut(arena, n, sizeof *s->pivot);
    if (s->kind == KD_LINEAR_QR) {
        s->tau = kd_arena_cut(arena, n, sizeof *s->tau);
        s->work = kd_cut_double(arena, kd_qr_work(s->size, s->size) + s->size);
        s->work_complex = kd_arena_cut(arena, n, sizeof *s->work_complex);
    }
}

// compressed columns of the pattern
static void compress_pattern(kd_linsolve *s)
{
    const int n = s->size;
    int       count = 0;
    for (int j = 0; j < n; j++) {
        s->column[j] = count;
        for (int i = 0; i < n; i++)
            if (s->pattern[(ptrdiff_t)n * j + i]) s->row[count++] = i;
    }
    s->column[n] = count;
    s->nonzeros = count;
}

// a new analysis when the pattern grew since the last one
static kd_status follow_pattern(kd_linsolve *s, kd_sparse_lu **lu, int *nonzeros)
{
    if (*lu && *nonzeros == s->nonzeros) return KD_OK;
    if (*lu) s->analyses += kd_sparse_lu_full_factorizations(*lu);
    kd_sparse_lu_destroy(*lu);
    *nonzeros = s->nonzeros;
    s->analyses++;
    return kd_sparse_lu_create(s->size, s->column, s->row, lu);
}

static kd_status analyze_given_pattern(kd_linsolve *s, const bool *pattern)
{
    memcpy(s->pattern, pattern, (size_t)s->size * (size_t)s->size * sizeof *pattern);
    compress_pattern(s);
    const kd_status status = follow_pattern(s, &s->lu, &s->nonzeros_lu);
    return status == KD_OK ? follow_pattern(s, &s->z->lu, &s->z->nonzeros_lu) : status;
}

kd_status kd_linsolve_create(int n, kd_linear_kind kind, const bool *pattern, kd_linsolve **solver)
{
    *solver = NULL;
    if (n < 0 || n > INT_MAX / (n > 0 ? n : 1) || kind < KD_LINEAR_LU || kind > KD_LINEAR_SPARSE)
        return KD_ERR_ARGUMENT;
    // n = -1: nothing factored yet
    kd_linsolve *s = kd_alloc(sizeof *s);
    if (!s) return KD_ERR_MEMORY;
    s->kind = kind;
    s->size = n;
    s->n = -1;
    cut_arrays(s);
    kd_status status = s->arena.failed ? KD_ERR_MEMORY : KD_OK;
    if (status == KD_OK && kind == KD_LINEAR_SPARSE && pattern && n > 0) status = analyze_given_pattern(s, pattern);
    if (status == KD_OK)
        *solver = s;
    else
        kd_linsolve_destroy(s);
    return status;
}

void kd_linsolve_destroy(kd_linsolve *s)
{
    if (!s) return;
    kd_sparse_lu_destroy(s->lu);
    for (int k = 0; k < s->npairs; k++) kd_sparse_lu_destroy(s->pair[k].lu);
    kd_arena_release(&s->arena);
    kd_free(s);
}

// ---- dense ----------------------------------------------------------------------------------------------------------

// R_kk is no more than rounding of its column: column k of A depends on those before. Does not depend on the scaling of
// columns. parts: doubles per number, 1 or 2.
static bool r_is_singular(int n, int parts, const double *R)
{
    for (int k = 0; k < n; k++) {
        const double *rk = kd_column_const(R, parts * n, k);
        double        largest = 0, diagonal = 0;
        for (int i = 0; i < parts * (k + 1); i++) largest = fmax(largest, fabs(rk[i]));
        for (int i = parts * k; i < parts * (k + 1); i++) diagonal = fmax(diagonal, fabs(rk[i]));
        if (!(diagonal > n * DBL_EPSILON * largest)) return true;
    }
    return false;
}

static bool factor_dense(kd_linsolve *s, int n, const double *A)
{
    memcpy(s->A, A, (size_t)n * (size_t)n * sizeof *A);
    if (s->kind == KD_LINEAR_LU) return kd_lu_factor(n, s->A, s->pivot) == 0;
    return kd_qr_pivot(n, n, s->A, s->pivot, s->tau, 0, s->work) == n && !r_is_singular(n, 1, s->A);
}

static bool factor_dense_complex(kd_linsolve *s, int n, const double complex *A)
{
    const complex_factors *z = s->z;
    memcpy(z->Z, A, (size_t)n * (size_t)n * sizeof *A);
    if (s->kind == KD_LINEAR_LU) return kd_zlu_factor(n, z->Z, z->pivot) == 0;
    return kd_zqr_factor(n, z->Z, z->tau, s->work_complex) == 0 && !r_is_singular(n, 2, (const double *)z->Z);
}

static void solve_qr(kd_linsolve *s, double *b)
{
    const int n = s->n;
    double   *x = s->work;
    // A P = Q R: x = P (R \ Q' b)
    kd_qr_apply_t(n, n, s->A, s->tau, b, 1, x);
    kd_qr_solve_r(n, s->A, n, b, 1);
    for (int j = 0; j < n; j++) x[s->pivot[j]] = b[j];
    memcpy(b, x, (size_t)n * sizeof *b);
}

// ---- sparse ---------------------------------------------------------------------------------------------------------

// Entries of the dense matrix that the pattern lacks are added to it. parts: doubles per number, 1 or 2.
static void grow_pattern(kd_linsolve *s, int parts, const double *A)
{
    const ptrdiff_t count = (ptrdiff_t)s->size * s->size;
    bool            grown = false;
    for (ptrdiff_t k = 0; k < count; k++) {
        const bool is_zero = A[parts * k] == 0 && A[parts * k + parts - 1] == 0;
        if (!is_zero && !s->pattern[k]) s->pattern[k] = grown = true;
    }
    if (grown) compress_pattern(s);
}

static kd_status factor_sparse(kd_linsolve *s, const double *A)
{
    if (s->size == 0) return KD_OK;
    // a pattern that holds all entries so far; its values
    grow_pattern(s, 1, A);
    const kd_status status = follow_pattern(s, &s->lu, &s->nonzeros_lu);
    if (status != KD_OK) return status;
    for (int j = 0; j < s->size; j++)
        for (int k = s->column[j]; k < s->column[j + 1]; k++) s->A[k] = A[(ptrdiff_t)s->size * j + s->row[k]];
    return kd_sparse_lu_factor(s->lu, s->A);
}

static kd_status factor_sparse_complex(kd_linsolve *s, const double complex *A)
{
    if (s->size == 0) return KD_OK;
    grow_pattern(s, 2, (const double *)A);
    const kd_status status = follow_pattern(s, &s->z->lu, &s->z->nonzeros_lu);
    if (status != KD_OK) return status;
    for (int j = 0; j < s->size; j++)
        for (int k = s->column[j]; k < s->column[j + 1]; k++) s->z->Z[k] = A[(ptrdiff_t)s->size * j + s->row[k]];
    return kd_sparse_lu_factor_complex(s->z->lu, s->z->Z);
}

// ---- use ------------------------------------------------------------------------------------------------------------

static bool order_is_valid(const kd_linsolve *s, int n)
{
    return n >= 0 && n <= s->size && (s->kind != KD_LINEAR_SPARSE || n == s->size);
}

kd_status kd_linsolve_factor(kd_linsolve *s, int n, const double *A)
{
    s->n = -1;
    if (!order_is_valid(s, n)) return KD_ERR_ARGUMENT;
    kd_status status = KD_OK;
    if (s->kind == KD_LINEAR_SPARSE)
        status = factor_sparse(s, A);
    else if (n > 0 && !factor_dense(s, n, A))
        status = KD_ERR_DECOMPOSITION;
    if (status == KD_OK) s->n = n;
    return status;
}

void kd_linsolve_solve(kd_linsolve *s, double *b)
{
    if (s->n == 0) return;
    // without factors there is no solution
    for (int i = 0; s->n < 0 && i < s->size; i++) b[i] = NAN;
    if (s->n < 0) return;
    switch (s->kind) {
    case KD_LINEAR_LU:
        kd_lu_solve(s->n, s->A, s->pivot, b, 1);
        break;
    case KD_LINEAR_QR:
        solve_qr(s, b);
        break;
    case KD_LINEAR_SPARSE:
        kd_sparse_lu_solve(s->lu, b, 1);
        break;
    }
}

kd_status kd_linsolve_factor_complex(kd_linsolve *s, int n, const double complex *A)
{
    s->z->n = -1;
    if (!order_is_valid(s, n)) return KD_ERR_ARGUMENT;
    kd_status status = KD_OK;
    if (s->kind == KD_LINEAR_SPARSE)
        status = factor_sparse_complex(s, A);
    else if (n > 0 && !factor_dense_complex(s, n, A))
        status = KD_ERR_DECOMPOSITION;
    if (status == KD_OK) s->z->n = n;
    return status;
}

void kd_linsolve_solve_complex(kd_linsolve *s, double complex *b)
{
    if (s->z->n == 0) return;
    // without factors there is no solution, and nobody shall take b for one
    for (int i = 0; s->z->n < 0 && i < s->size; i++) b[i] = NAN;
    if (s->z->n < 0) return;
    switch (s->kind) {
    case KD_LINEAR_LU:
        kd_zlu_solve(s->z->n, s->z->Z, s->z->pivot, b, 1);
        break;
    case KD_LINEAR_QR:
        kd_zqr_solve(s->z->n, s->z->Z, s->z->tau, b, s->work_complex);
        break;
    case KD_LINEAR_SPARSE:
        kd_sparse_lu_solve_complex(s->z->lu, b, 1);
        break;
    }
}

long kd_linsolve_analyses(const kd_linsolve *s)
{
    long count = s->analyses;
    if (s->lu) count += kd_sparse_lu_full_factorizations(s->lu);
    for (int k = 0; k < s->npairs; k++)
        if (s->pair[k].lu) count += kd_sparse_lu_full_factorizations(s->pair[k].lu);
    return count;
}

// ---- saved factors --------------------------------------------------------------------------------------------------

static void archive_dense(kd_archive *a, kd_linsolve *s)
{
    // exchanges of LU count from 1, columns of QR from 0
    const bool   lu = s->kind == KD_LINEAR_LU;
    const size_t n = s->n > 0 ? (size_t)s->n : 0;
    kd_archive_doubles(a, s->A, n * n);
    kd_archive_ints(a, s->pivot, n, lu, (int)n - !lu);
    if (!lu) kd_archive_doubles(a, s->tau, n);
}

static void archive_pair(kd_archive *a, kd_linsolve *s, complex_factors *z)
{
    const bool lu = s->kind == KD_LINEAR_LU;
    kd_archive_int(a, &z->n, -1, s->size);
    if (!kd_archive_good(a)) return;
    if (s->kind == KD_LINEAR_SPARSE) {
        kd_sparse_lu_archive(a, s->size, false, &z->lu);
        kd_archive_int(a, &z->nonzeros_lu, 0, s->size * s->size);
        return;
    }
    const size_t m = z->n > 0 ? (size_t)z->n : 0;
    kd_archive_doubles(a, (double *)z->Z, 2 * m * m);
    if (lu) kd_archive_ints(a, z->pivot, m, 1, (int)m);
    if (!lu) kd_archive_doubles(a, (double *)z->tau, 2 * m);
}

void kd_linsolve_archive(kd_archive *a, kd_linsolve *s)
{
    kd_archive_tag(a, "linear");
    kd_archive_same(a, s->size, "order of a matrix");
    kd_archive_same(a, s->npairs, "number of complex matrices");
    kd_archive_int(a, &s->n, -1, s->size);
    kd_archive_count(a, &s->analyses);
    // what a matrix of other order left there fits nowhere
    if (!kd_archive_good(a)) return;
    if (s->kind != KD_LINEAR_SPARSE) {
        archive_dense(a, s);
    } else {
        kd_archive_bools(a, s->pattern, (size_t)s->size * (size_t)s->size);
        if (a->reads && kd_archive_good(a)) compress_pattern(s);
        kd_sparse_lu_archive(a, s->size, false, &s->lu);
        kd_archive_int(a, &s->nonzeros_lu, 0, s->size * s->size);
    }
    // complex factors of each pair of stages
    for (int k = 0; k < s->npairs; k++) archive_pair(a, s, &s->pair[k]);
}
