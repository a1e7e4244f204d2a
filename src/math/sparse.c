// math/sparse.c: sparse LU of a fixed pattern by KLU (Davis, Palamadai Natarajan 2010), real and complex.
//
// create analyses the pattern (block triangular form, AMD ordering). The first factor call chooses pivots (klu_factor,
// which allocates); later ones keep the pivots (klu_refactor, which does not). The pivots are chosen anew when the kept
// ones became bad: the element growth or the spread of the diagonal of U is worse by a large factor than when they were
// chosen. Real and complex factors live side by side.
#include "core/archive.h"
#include "math/klu_solve.h"
#include "math/linsolve.h"

#include <klu.h>
#include <limits.h>
#include <math.h>
#include <string.h>

// The diagonal is kept as pivot above this part of the largest entry. KLU's default 1e-3 lost three digits on random
// matrices of order 5 (tests/math/test_linsolve.c), 0.1 less than one.
#define PIVOT_TOLERANCE 0.1
#define GROWTH_DROP 1e-2 // new pivots when max |A| / max |U| fell below this part of its value at the choice of pivots
#define RCOND_DROP 1e-6  // the same for min |u_kk| / max |u_kk|

// the factors of one kind of numbers
typedef struct half {
    klu_numeric *numeric;        // NULL: no pivots chosen
    bool         factored;       // numeric holds the values of the last factor call
    double       rgrowth, rcond; // when the pivots were chosen
    double      *chosen, *last;  // (parts x entries) values at that time, and those of the last factor call
    int          parts;          // doubles of a number
    kd_klu_plan *plan;           // real: columns that are treated together (klu_solve.h); complex: NULL
} half;

struct kd_sparse_lu {
    kd_arena      arena;
    int           n;
    int          *column; // (n + 1)
    int          *row;    // (column[n])
    klu_common    common;
    klu_symbolic *symbolic;
    half          real;                  // real factors
    kd_klu_plan   plan;                  // of them
    half          pair[KD_LINEAR_PAIRS]; // complex ones
    half         *z;                     // that complex calls are about
    int           npairs;                // that have memory
    double        rcond;                 // of the last factor call
    long          full;                  // calls of klu_factor, klu_z_factor
};

// ---- creation -------------------------------------------------------------------------------------------------------

// columns in order, rows in range, none twice
static bool pattern_is_valid(int n, const int *column, const int *row, int *seen)
{
    if (column[0] != 0) return false;
    for (int j = 0; j < n; j++) seen[j] = -1;
    for (int j = 0; j < n; j++) {
        if (column[j + 1] < column[j]) return false;
        for (int k = column[j]; k < column[j + 1]; k++) {
            if (row[k] < 0 || row[k] >= n || seen[row[k]] == j) return false;
            seen[row[k]] = j;
        }
    }
    return true;
}

static kd_status analyze(kd_sparse_lu *lu)
{
    if (lu->n == 0) return KD_OK;
    lu->symbolic = klu_analyze(lu->n, lu->column, lu->row, &lu->common);
    if (lu->symbolic) return KD_OK;
    return lu->common.status == KLU_OUT_OF_MEMORY ? KD_ERR_MEMORY : KD_ERR_ARGUMENT;
}

// Values that the factors come from: whoever saves them makes them again from these
static void cut_half(kd_sparse_lu *lu, half *h, int parts, int nonzeros)
{
    h->parts = parts;
    h->chosen = kd_cut_matrix(&lu->arena, parts, nonzeros);
    h->last = kd_cut_matrix(&lu->arena, parts, nonzeros);
}

kd_status kd_sparse_lu_pair(kd_sparse_lu *lu, int k)
{
    for (; lu->npairs <= k; lu->npairs++) {
        cut_half(lu, &lu->pair[lu->npairs], 2, lu->n > 0 ? lu->column[lu->n] : 0);
        if (lu->arena.failed) return KD_ERR_MEMORY;
    }
    lu->z = &lu->pair[k];
    return KD_OK;
}

kd_status kd_sparse_lu_create(int n, const int *column, const int *row, kd_sparse_lu **result)
{
    *result = NULL;
    if (n < 0 || (n > 0 && (!column || !row))) return KD_ERR_ARGUMENT;
    kd_sparse_lu *lu = kd_alloc(sizeof *lu);
    if (!lu) return KD_ERR_MEMORY;
    kd_status status = KD_ERR_MEMORY;
    // pivots stay on the diagonal as long as they can
    lu->n = n;
    klu_defaults(&lu->common);
    lu->common.tol = PIVOT_TOLERANCE;
    // pattern and values
    const int nonzeros = n > 0 ? column[n] : 0;
    int      *seen = kd_cut_int(&lu->arena, n);
    lu->column = kd_cut_int(&lu->arena, n + 1);
    lu->row = kd_cut_int(&lu->arena, nonzeros);
    cut_half(lu, &lu->real, 1, nonzeros);
    kd_klu_cut_plan(&lu->plan, &lu->arena, n);
    lu->real.plan = &lu->plan;
    if (lu->arena.failed) goto done;
    // the first pair; then whether the pattern makes sense
    if (n > 0) memcpy(lu->column, column, (size_t)(n + 1) * sizeof *column);
    if (kd_sparse_lu_pair(lu, 0) < 0) goto done;
    status = KD_ERR_ARGUMENT;
    if (n > 0 && !pattern_is_valid(n, column, row, seen)) goto done;
    if (nonzeros > 0) memcpy(lu->row, row, (size_t)nonzeros * sizeof *row);
    status = analyze(lu);
done:
    if (status == KD_OK)
        *result = lu;
    else
        kd_sparse_lu_destroy(lu);
    return status;
}

void kd_sparse_lu_destroy(kd_sparse_lu *lu)
{
    if (!lu) return;
    if (lu->real.numeric) klu_free_numeric(&lu->real.numeric, &lu->common);
    for (int k = 0; k < lu->npairs; k++)
        if (lu->pair[k].numeric) klu_z_free_numeric(&lu->pair[k].numeric, &lu->common);
    if (lu->symbolic) klu_free_symbolic(&lu->symbolic, &lu->common);
    kd_arena_release(&lu->arena);
    kd_free(lu);
}

// ---- real and complex KLU behind one set of calls -------------------------------------------------------------------

// What differs between the two: complex values are pairs of doubles for KLU. It takes pointers to plain double but only
// reads the values of the matrix.
typedef struct arithmetic {
    klu_numeric *(*factor)(int *, int *, double *, klu_symbolic *, klu_common *);
    int (*refactor)(int *, int *, double *, klu_symbolic *, klu_numeric *, klu_common *);
    int (*rgrowth)(int *, int *, double *, klu_symbolic *, klu_numeric *, klu_common *);
    int (*rcond)(klu_symbolic *, klu_numeric *, klu_common *);
    int (*free_numeric)(klu_numeric **, klu_common *);
} arithmetic;

static const arithmetic real_arithmetic = {klu_factor, klu_refactor, klu_rgrowth, klu_rcond, klu_free_numeric};
static const arithmetic complex_arithmetic = {klu_z_factor, klu_z_refactor, klu_z_rgrowth, klu_z_rcond,
                                              klu_z_free_numeric};

// New values with the pivots that are there, and their rgrowth; real ones by groups of columns
static bool refill(kd_sparse_lu *lu, const half *h, double *values, const arithmetic *use)
{
    klu_common *c = &lu->common;
    if (h->plan) return kd_klu_refactor(lu->column, lu->row, values, lu->symbolic, h->numeric, c, h->plan);
    return use->refactor(lu->column, lu->row, values, lu->symbolic, h->numeric, c) && c->status == KLU_OK &&
           use->rgrowth(lu->column, lu->row, values, lu->symbolic, h->numeric, c);
}

// rcond of the present factors into common, whose rgrowth is there; false: singular or not finite
static bool measure_factors(kd_sparse_lu *lu, const half *h, const arithmetic *use)
{
    klu_common *c = &lu->common;
    if (!use->rcond(lu->symbolic, h->numeric, c)) return false;
    return c->rcond > 0 && isfinite(c->rcond) && isfinite(c->rgrowth);
}

// new values with the pivots of before; false: these pivots do not do
static bool refactor(kd_sparse_lu *lu, const half *h, double *values, const arithmetic *use)
{
    klu_common *c = &lu->common;
    if (!refill(lu, h, values, use) || c->status != KLU_OK) return false;
    return measure_factors(lu, h, use) && c->rgrowth >= GROWTH_DROP * h->rgrowth && c->rcond >= RCOND_DROP * h->rcond;
}

// Factors with new pivots, ready for solutions. NULL: singular or out of memory, common tells
static klu_numeric *new_factors(kd_sparse_lu *lu, const half *h, double *values, const arithmetic *use)
{
    klu_numeric *made = use->factor(lu->column, lu->row, values, lu->symbolic, &lu->common);
    if (made && h->plan && !kd_klu_prepare(lu->symbolic, made, &lu->common, h->plan))
        use->free_numeric(&made, &lu->common);
    return made;
}

static kd_status choose_pivots(kd_sparse_lu *lu, half *h, double *values, const arithmetic *use)
{
    klu_common *c = &lu->common;
    if (h->numeric) use->free_numeric(&h->numeric, c);
    lu->full++;
    h->numeric = new_factors(lu, h, values, use);
    if (!h->numeric) return c->status == KLU_OUT_OF_MEMORY ? KD_ERR_MEMORY : KD_ERR_DECOMPOSITION;
    if (!use->rgrowth(lu->column, lu->row, values, lu->symbolic, h->numeric, c) || !measure_factors(lu, h, use)) {
        use->free_numeric(&h->numeric, c);
        return KD_ERR_DECOMPOSITION;
    }
    memcpy(h->chosen, values, (size_t)lu->column[lu->n] * (size_t)h->parts * sizeof *values);
    // what later factors with these pivots are compared with
    h->rgrowth = c->rgrowth;
    h->rcond = c->rcond;
    return KD_OK;
}

static kd_status factor_values(kd_sparse_lu *lu, half *h, double *values, const arithmetic *use)
{
    if (lu->n == 0) return KD_OK;
    kd_status status = KD_OK;
    // pivots of before, new ones where they do not do
    if (!h->numeric || !refactor(lu, h, values, use)) status = choose_pivots(lu, h, values, use);
    h->factored = status == KD_OK;
    if (h->factored) memcpy(h->last, values, (size_t)lu->column[lu->n] * (size_t)h->parts * sizeof *values);
    lu->rcond = h->factored ? lu->common.rcond : 0;
    return status;
}

kd_status kd_sparse_lu_factor(kd_sparse_lu *lu, const double *values)
{
    return factor_values(lu, &lu->real, (double *)values, &real_arithmetic);
}

kd_status kd_sparse_lu_factor_complex(kd_sparse_lu *lu, const double complex *values)
{
    return factor_values(lu, lu->z, (double *)values, &complex_arithmetic);
}

// ---- use ------------------------------------------------------------------------------------------------------------

// Without factors there is no solution
static bool has_factors(const kd_sparse_lu *lu, const half *h, double *b, int nrhs)
{
    if (lu->n > 0 && h->factored) return true;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)lu->n * nrhs * h->parts; i++) b[i] = NAN;
    return false;
}

void kd_sparse_lu_solve(kd_sparse_lu *lu, double *b, int nrhs)
{
    if (!has_factors(lu, &lu->real, b, nrhs)) return;
    for (int r = 0; r < nrhs; r++)
        kd_klu_solve(lu->symbolic, lu->real.numeric, &lu->common, lu->real.plan, b + (ptrdiff_t)r * lu->n);
}

void kd_sparse_lu_solve_complex(kd_sparse_lu *lu, double complex *b, int nrhs)
{
    if (!has_factors(lu, lu->z, (double *)b, nrhs)) return;
    klu_z_solve(lu->symbolic, lu->z->numeric, lu->n, nrhs, (double *)b, &lu->common);
}

double kd_sparse_lu_rcond(kd_sparse_lu *lu)
{
    return lu->n == 0 ? 1 : lu->rcond;
}

long kd_sparse_lu_full_factorizations(const kd_sparse_lu *lu)
{
    return lu->full;
}

// ---- saved factors --------------------------------------------------------------------------------------------------

// KLU's factors follow from two sets of values: pivots from those at their choice, the rest from the last ones.
static void make_again(kd_archive *a, kd_sparse_lu *lu, half *h, const arithmetic *use)
{
    const size_t bytes = (size_t)lu->column[lu->n] * (size_t)h->parts * sizeof(double);
    const bool   newer = memcmp(h->last, h->chosen, bytes) != 0;
    klu_common  *c = &lu->common;
    if (h->numeric) use->free_numeric(&h->numeric, c);
    h->numeric = new_factors(lu, h, h->chosen, use);
    if (!h->numeric || (newer && !refill(lu, h, h->last, use)))
        kd_archive_fail(a, KD_ERR_SAVED, "a matrix that was saved cannot be factored");
}

static void archive_half(kd_archive *a, kd_sparse_lu *lu, half *h, const arithmetic *use)
{
    const size_t count = (size_t)lu->column[lu->n] * (size_t)h->parts;
    bool         factored = h->factored;
    kd_archive_bool(a, &factored);
    KD_ARCHIVE_REALS(a, &h->rgrowth, &h->rcond);
    if (factored) kd_archive_doubles(a, h->chosen, count);
    if (factored) kd_archive_doubles(a, h->last, count);
    if (!a->reads || !kd_archive_good(a)) return;
    if (factored) make_again(a, lu, h, use);
    if (!factored && h->numeric) use->free_numeric(&h->numeric, &lu->common);
    h->factored = factored && kd_archive_good(a);
}

// As many complex matrices as were saved
static void archive_pairs(kd_archive *a, kd_sparse_lu *lu)
{
    int npairs = lu->npairs, now = (int)(lu->z - lu->pair);
    kd_archive_int(a, &npairs, 1, KD_LINEAR_PAIRS);
    kd_archive_int(a, &now, 0, KD_LINEAR_PAIRS - 1);
    if (kd_archive_good(a) && (kd_sparse_lu_pair(lu, npairs - 1) < 0 || kd_sparse_lu_pair(lu, now) < 0))
        kd_archive_fail(a, KD_ERR_MEMORY, "no memory for Newton matrices");
    for (int k = 0; k < npairs && kd_archive_good(a); k++) archive_half(a, lu, &lu->pair[k], &complex_arithmetic);
}

// The pattern that is to be read, where it is another one
static kd_sparse_lu *read_pattern(kd_archive *a, int n, const kd_sparse_lu *present)
{
    kd_arena      arena = {0};
    kd_sparse_lu *made = NULL;
    int          *column = kd_cut_int(&arena, n + 1), *row = NULL;
    if (column) kd_archive_ints(a, column, (size_t)n + 1, 0, INT_MAX);
    // no more entries than there are bytes
    const bool sane = kd_archive_good(a) && column &&
                      column[n] <= (int)((a->size - a->at) / 4 < INT_MAX ? (a->size - a->at) / 4 : INT_MAX);
    if (sane) row = kd_cut_int(&arena, column[n]);
    if (row) kd_archive_ints(a, row, (size_t)column[n], 0, n - 1);
    if (!row || !kd_archive_good(a)) {
        kd_archive_fail(a, KD_ERR_SAVED, "the pattern of a matrix is wrong");
    } else {
        const bool same = present && present->n == n &&
                          memcmp(present->column, column, ((size_t)n + 1) * sizeof *column) == 0 &&
                          memcmp(present->row, row, (size_t)column[n] * sizeof *row) == 0;
        const kd_status status = same ? KD_OK : kd_sparse_lu_create(n, column, row, &made);
        if (status < 0) kd_archive_fail(a, KD_ERR_SAVED, "the pattern of a matrix is wrong");
    }
    kd_arena_release(&arena);
    return made;
}

void kd_sparse_lu_archive(kd_archive *a, int n, bool fixed, kd_sparse_lu **at)
{
    // is it there, on both sides?
    const bool present = *at && n > 0;
    bool       exists = present;
    kd_archive_tag(a, "sparse");
    kd_archive_bool(a, &exists);
    if (fixed && exists != present) kd_archive_fail(a, KD_ERR_SAVED, "a matrix is there on one side only");
    if (!kd_archive_good(a) || n == 0) return;
    if (!exists) {
        if (a->reads) kd_sparse_lu_destroy(*at), *at = NULL;
        return;
    }
    // the pattern; another one than before means another matrix
    if (!a->reads) {
        kd_archive_ints(a, (*at)->column, (size_t)n + 1, 0, INT_MAX);
        kd_archive_ints(a, (*at)->row, (size_t)(*at)->column[n], 0, n - 1);
    } else {
        kd_sparse_lu *made = read_pattern(a, n, *at);
        if (made && fixed) kd_archive_fail(a, KD_ERR_SAVED, "the pattern of a matrix is another one");
        if (made && !kd_archive_good(a)) kd_sparse_lu_destroy(made);
        if (!kd_archive_good(a)) return;
        if (made) kd_sparse_lu_destroy(*at), *at = made;
    }
    // values and factors, real and complex
    archive_half(a, *at, &(*at)->real, &real_arithmetic);
    archive_pairs(a, *at);
    kd_archive_real(a, &(*at)->rcond);
    kd_archive_count(a, &(*at)->full);
}
