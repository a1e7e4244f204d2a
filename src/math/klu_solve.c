// math/klu_solve.c: solutions with KLU's real factors and factors of new values, columns of the same pattern together.
// Method: klu_solve.h, loops over numbers: klu_kernels.h
//
// The blocks of the block triangular form from the last to the first, in the order of pivots; in each
//
//     x = R \ P b,   L x = x,   U x = x,   x of earlier blocks -= F x,   b = Q x
//
// with unit diagonals of L; klu.h says where the numbers are. Indices of a column are stored before its values, in units
// of a double. New values of a column a of A, with the pivots of before (Gilbert, Peierls 1988):
//
//     x = R \ P a,   x -= L_j u_j with u_j = x_j for the rows j of the column in U,   u_kk = x_k,   L_k = x / u_kk
//
// A row j of U means the whole rest of its group of L: L_j has the next row, and so on.
#define KD_VARIANT kd_klu_base
#include "math/klu_solve.h"
#include "math/klu_kernels.h"

#include <string.h>

static kd_klu_kernels choose_kernels(void)
{
#ifdef KD_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kd_klu_avx2;
#endif
    return kd_klu_base;
}

void kd_klu_cut_plan(kd_klu_plan *plan, kd_arena *arena, int n)
{
    int **each[] = {&plan->below, &plan->above, &plan->l_value, &plan->u_value};
    for (size_t k = 0; k < sizeof each / sizeof *each; k++) *each[k] = kd_cut_int(arena, n);
    plan->work = kd_cut_numbers(arena, KD_KLU_LANES * (size_t)n);
}

static kd_klu_block block_of(const klu_symbolic *symbolic, const klu_numeric *f, const kd_klu_plan *plan, int number)
{
    const int first = symbolic->R[number];
    return (kd_klu_block){.n = symbolic->R[number + 1] - first,
                          .LU = f->LUbx[number],
                          .diagonal = (double *)f->Udiag + first,
                          .l_row = f->Lip + first,
                          .l_count = f->Llen + first,
                          .l_value = plan->l_value + first,
                          .u_row = f->Uip + first,
                          .u_count = f->Ulen + first,
                          .u_value = plan->u_value + first,
                          .below = plan->below + first,
                          .above = plan->above + first};
}

// ---- groups ---------------------------------------------------------------------------------------------------------

static int values_behind(int row, int count)
{
    return row + (int)(((size_t)count * sizeof(int) + sizeof(double) - 1) / sizeof(double));
}

// Rows of L below the diagonal: those of column k are k + 1 and those of column k + 1
static bool continues_below(const kd_klu_block *b, int k)
{
    const int *row = ROWS(b, b->l_row[k]), *next = ROWS(b, b->l_row[k + 1]), count = b->l_count[k + 1];
    return b->l_count[k] == count + 1 && row[0] == k + 1 && memcmp(row + 1, next, (size_t)count * sizeof *row) == 0;
}

// Rows of U above the diagonal: those of column k are those of column k - 1 and k - 1
static bool continues_above(const kd_klu_block *b, int k)
{
    const int *row = ROWS(b, b->u_row[k]), *before = ROWS(b, b->u_row[k - 1]), count = b->u_count[k - 1];
    return b->u_count[k] == count + 1 && row[count] == k - 1 && memcmp(row, before, (size_t)count * sizeof *row) == 0;
}

static void find_groups(const kd_klu_block *b, int *below, int *above)
{
    // L from the left: columns whose patterns continue each other are one group
    for (int k = 0, m; k < b->n; k += m) {
        for (m = 1; m < KD_KLU_TOGETHER && k + m < b->n && continues_below(b, k + m - 1);) m++;
        for (int i = 0; i < m; i++) below[k + i] = m - i; // the rest of a group is one, too
    }
    // U from the right
    for (int k = b->n - 1, m; k >= 0; k -= m) {
        for (m = 1; m < KD_KLU_TOGETHER && k - m >= 0 && continues_above(b, k - m + 1);) m++;
        for (int i = 0; i < m; i++) above[k - i] = m - i;
    }
}

bool kd_klu_prepare(klu_symbolic *symbolic, klu_numeric *numeric, klu_common *common, kd_klu_plan *plan)
{
    if (!klu_sort(symbolic, numeric, common)) return false;
    for (int number = 0; number < symbolic->nblocks; number++) {
        const kd_klu_block b = block_of(symbolic, numeric, plan, number);
        const int          first = symbolic->R[number];
        for (int k = 0; k < b.n && b.n > 1; k++) {
            plan->l_value[first + k] = values_behind(b.l_row[k], b.l_count[k]);
            plan->u_value[first + k] = values_behind(b.u_row[k], b.u_count[k]);
        }
        if (b.n > 1) find_groups(&b, plan->below + first, plan->above + first);
    }
    return true;
}

// ---- solution -------------------------------------------------------------------------------------------------------

void kd_klu_solve(klu_symbolic *symbolic, klu_numeric *numeric, klu_common *common, const kd_klu_plan *plan, double *b)
{
    const klu_numeric   *f = numeric;
    const int            n = symbolic->n;
    double              *x = numeric->Xwork;
    const kd_klu_kernels kernel = choose_kernels();
    (void)common;
    for (int k = 0; k < n; k++) x[k] = f->Rs ? b[f->Pnum[k]] / f->Rs[k] : b[f->Pnum[k]];
    for (int number = symbolic->nblocks - 1; number >= 0; number--) {
        const int first = symbolic->R[number], end = symbolic->R[number + 1];
        if (end - first == 1) {
            x[first] /= ((const double *)f->Udiag)[first];
        } else {
            const kd_klu_block block = block_of(symbolic, f, plan, number);
            kernel.solve(&block, x + first);
        }
        // blocks above
        for (int k = first; number > 0 && k < end; k++)
            for (int p = f->Offp[k]; p < f->Offp[k + 1]; p++) x[f->Offi[p]] -= ((const double *)f->Offx)[p] * x[k];
    }
    for (int k = 0; k < n; k++) b[symbolic->Q[k]] = x[k];
}

// ---- new values -----------------------------------------------------------------------------------------------------

// What the functions below share
typedef struct refill {
    const int          *column, *row;
    const double       *values;
    const klu_symbolic *symbolic;
    klu_numeric        *f;
    const kd_klu_plan  *plan;
    kd_klu_kernels      kernel;
    double              growth; // smallest max |a| / max |u| of a column
} refill;

// Column k of the matrix in the order of pivots: its part above the block to Offx, the rest to x, by steps; largest entry of that
static double scatter(const refill *r, int k, int first, int step, double *x)
{
    const klu_numeric *f = r->f;
    const int          from = r->symbolic->Q[k];
    double            *off = (double *)f->Offx + f->Offp[k], most = 0;
    for (int p = r->column[from]; p < r->column[from + 1]; p++) {
        const int    i = f->Pinv[r->row[p]] - first;
        const double entry = f->Rs ? r->values[p] / f->Rs[r->row[p]] : r->values[p];
        if (i < 0) {
            *off++ = entry;
            continue;
        }
        x[(ptrdiff_t)i * step] = entry;
        if (fabs(entry) > most) most = fabs(entry);
    }
    return most;
}

static bool refill_block(refill *r, int number)
{
    const kd_klu_block b = block_of(r->symbolic, r->f, r->plan, number);
    const int          first = r->symbolic->R[number];
    double            *X = r->plan->work, entry[KD_KLU_LANES], largest[KD_KLU_LANES];
    if (b.n == 1) {
        b.diagonal[0] = 0;
        scatter(r, first, first, 1, b.diagonal);
        return true;
    }
    // panels of columns of one group of U, from its first one on
    for (int k = 0, count; k < b.n; k += count) {
        for (count = 1; count < KD_KLU_LANES && k + count < b.n && b.above[k + count] > count;) count++;
        for (int q = 0; q < count; q++) entry[q] = scatter(r, first + k + q, first, KD_KLU_LANES, X + q);
        if (!r->kernel.eliminate(&b, k, count, X, largest)) return false;
        for (int q = 0; q < count; q++)
            if (largest[q] * r->growth > entry[q]) r->growth = entry[q] / largest[q];
    }
    return true;
}

// Rs by the rows of the matrix: the largest entry of a row, 1 where there is none (what klu_scale does for KLU's usual scaling)
static bool scale_rows(int *column, int *row, double *values, int n, double *Rs, klu_common *common)
{
    if (common->scale != 2) return klu_scale(common->scale, n, column, row, values, Rs, NULL, common);
    memset(Rs, 0, (size_t)n * sizeof *Rs);
    for (int p = 0; p < column[n]; p++)
        if (!(fabs(values[p]) <= Rs[row[p]])) Rs[row[p]] = fabs(values[p]);
    for (int i = 0; i < n; i++)
        if (Rs[i] == 0) Rs[i] = 1;
    return true;
}

bool kd_klu_refactor(int *column, int *row, double *values, klu_symbolic *symbolic, klu_numeric *numeric,
                     klu_common *common, const kd_klu_plan *plan)
{
    const int n = symbolic->n;
    double   *x = numeric->Xwork;
    refill    r = {column, row, values, symbolic, numeric, plan, choose_kernels(), 1};
    common->status = KLU_OK;
    // rows of the matrix first, later in the order of pivots
    if (numeric->Rs && !scale_rows(column, row, values, n, numeric->Rs, common)) return false;
    memset(plan->work, 0, KD_KLU_LANES * (size_t)n * sizeof *plan->work);
    for (int number = 0; number < symbolic->nblocks; number++)
        if (!refill_block(&r, number)) {
            common->status = KLU_SINGULAR;
            return false;
        }
    common->rgrowth = r.growth;
    if (!numeric->Rs) return true;
    for (int k = 0; k < n; k++) x[k] = numeric->Rs[numeric->Pnum[k]];
    memcpy(numeric->Rs, x, (size_t)n * sizeof *x);
    return true;
}
