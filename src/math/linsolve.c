// math/linsolve.c: one interface for the square systems of Newton's method: dense LU, dense QR, sparse LU.
//
// Real and complex factors live side by side (a Radau step needs one of each). The sparse kind keeps one pattern for
// both and one KLU object for each: when the pattern grows through one of them, the factors of the other stay usable
// until its own next factor call.
#include "math/linsolve.h"

#include "core/memory.h"
#include "math/dense.h"
#include "math/kernel.h"

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <string.h>

struct kd_linsolve {
    kd_arena        arena;
    kd_linear_kind  kind;
    int             size;                       // largest order
    int             n, n_complex;               // orders of the present factors; -1: none
    double         *A;                          // (size x size) factors; sparse: values of the pattern
    double complex *Z;                          // the same, complex
    int            *pivot, *pivot_complex;      // (size) exchanges of LU, columns of QR
    double         *tau, *work;                 // QR: (size), (kd_qr_work)
    double complex *tau_complex, *work_complex; // QR: (size) each

    bool         *pattern;                          // sparse: (size x size)
    int          *column, *row;                     // sparse: (size + 1), (size * size)
    int           nonzeros;                         // sparse: entries of the pattern
    kd_sparse_lu *lu, *lu_complex;                  // sparse: NULL before the first analysis
    int           nonzeros_lu, nonzeros_lu_complex; // sparse: entries of the pattern that was analysed
    long          analyses; // sparse: symbolic ones, and the full factorisations of objects that are gone
};

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void cut_arrays(kd_linsolve *s)
{
    kd_arena    *arena = &s->arena;
    const size_t n = (size_t)s->size;
    s->A = kd_arena_cut(arena, n * n, sizeof *s->A);
    s->Z = kd_arena_cut(arena, n * n, sizeof *s->Z);
    if (s->kind == KD_LINEAR_SPARSE) {
        s->pattern = kd_arena_cut(arena, n * n, sizeof *s->pattern);
        s->column = kd_arena_cut(arena, n + 1, sizeof *s->column);
        s->row = kd_arena_cut(arena, n * n, sizeof *s->row);
        return;
    }
    s->pivot = kd_arena_cut(arena, n, sizeof *s->pivot);
    s->pivot_complex = kd_arena_cut(arena, n, sizeof *s->pivot_complex);
    if (s->kind == KD_LINEAR_QR) {
        s->tau = kd_arena_cut(arena, n, sizeof *s->tau);
        s->work = kd_cut_double(arena, kd_qr_work(s->size, s->size) + s->size);
        s->tau_complex = kd_arena_cut(arena, n, sizeof *s->tau_complex);
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
    return status == KD_OK ? follow_pattern(s, &s->lu_complex, &s->nonzeros_lu_complex) : status;
}

kd_status kd_linsolve_create(int n, kd_linear_kind kind, const bool *pattern, kd_linsolve **solver)
{
    *solver = NULL;
    if (n < 0 || n > INT_MAX / (n > 0 ? n : 1) || kind < KD_LINEAR_LU || kind > KD_LINEAR_SPARSE)
        return KD_ERR_ARGUMENT;
    kd_linsolve *s = kd_alloc(sizeof *s);
    if (!s) return KD_ERR_MEMORY;
    s->kind = kind;
    s->size = n;
    s->n = s->n_complex = -1;
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
    kd_sparse_lu_destroy(s->lu_complex);
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
    memcpy(s->Z, A, (size_t)n * (size_t)n * sizeof *A);
    if (s->kind == KD_LINEAR_LU) return kd_zlu_factor(n, s->Z, s->pivot_complex) == 0;
    return kd_zqr_factor(n, s->Z, s->tau_complex, s->work_complex) == 0 && !r_is_singular(n, 2, (const double *)s->Z);
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
    const kd_status status = follow_pattern(s, &s->lu_complex, &s->nonzeros_lu_complex);
    if (status != KD_OK) return status;
    for (int j = 0; j < s->size; j++)
        for (int k = s->column[j]; k < s->column[j + 1]; k++) s->Z[k] = A[(ptrdiff_t)s->size * j + s->row[k]];
    return kd_sparse_lu_factor_complex(s->lu_complex, s->Z);
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
    assert(s->n >= 0);
    if (s->n == 0) return;
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
    s->n_complex = -1;
    if (!order_is_valid(s, n)) return KD_ERR_ARGUMENT;
    kd_status status = KD_OK;
    if (s->kind == KD_LINEAR_SPARSE)
        status = factor_sparse_complex(s, A);
    else if (n > 0 && !factor_dense_complex(s, n, A))
        status = KD_ERR_DECOMPOSITION;
    if (status == KD_OK) s->n_complex = n;
    return status;
}

void kd_linsolve_solve_complex(kd_linsolve *s, double complex *b)
{
    assert(s->n_complex >= 0);
    if (s->n_complex == 0) return;
    switch (s->kind) {
    case KD_LINEAR_LU:
        kd_zlu_solve(s->n_complex, s->Z, s->pivot_complex, b, 1);
        break;
    case KD_LINEAR_QR:
        kd_zqr_solve(s->n_complex, s->Z, s->tau_complex, b, s->work_complex);
        break;
    case KD_LINEAR_SPARSE:
        kd_sparse_lu_solve_complex(s->lu_complex, b, 1);
        break;
    }
}

long kd_linsolve_analyses(const kd_linsolve *s)
{
    long count = s->analyses;
    if (s->lu) count += kd_sparse_lu_full_factorizations(s->lu);
    if (s->lu_complex) count += kd_sparse_lu_full_factorizations(s->lu_complex);
    return count;
}
