// math/klu_solve.c: solutions with KLU's real factors, columns of the same pattern together. Method: klu_solve.h
//
// The blocks of the block triangular form from the last to the first, in the order of pivots; in each
//
//     x = R \ P b,   L x = x,   U x = x,   x of earlier blocks -= F x,   b = Q x
//
// with unit diagonals of L; klu.h says where the numbers are. Indices of a column are stored before its values, in units
// of a double.
#include "math/klu_solve.h"

#include <string.h>

enum { MOST = 3 }; // columns of a group

// Column k of a block: its rows and values
typedef struct column {
    int           count;
    const int    *row;
    const double *value;
} column;

static column column_of(const double *block, const int *start, const int *length, int k)
{
    const double *at = block + start[k];
    const size_t  units = ((size_t)length[k] * sizeof(int) + sizeof(double) - 1) / sizeof(double);
    return (column){length[k], (const int *)(const void *)at, at + units};
}

// ---- groups ---------------------------------------------------------------------------------------------------------

// Rows of L below the diagonal: those of column k are k + 1 and those of column k + 1
static bool continues_below(column a, column b, int k)
{
    return a.count == b.count + 1 && a.row[0] == k + 1 &&
           memcmp(a.row + 1, b.row, (size_t)b.count * sizeof *b.row) == 0;
}

// Rows of U above the diagonal: those of column k are those of column k - 1 and k - 1
static bool continues_above(column a, column b, int k)
{
    return a.count == b.count + 1 && a.row[b.count] == k - 1 &&
           memcmp(a.row, b.row, (size_t)b.count * sizeof *b.row) == 0;
}

static void find_groups(const klu_numeric *f, const double *block, int first, int n, int *below, int *above)
{
    const int *ls = f->Lip + first, *ll = f->Llen + first, *us = f->Uip + first, *ul = f->Ulen + first;
    for (int k = 0; k < n; k += below[k]) {
        int m = 1;
        while (m < MOST && k + m < n &&
               continues_below(column_of(block, ls, ll, k + m - 1), column_of(block, ls, ll, k + m), k + m - 1))
            m++;
        below[k] = m;
    }
    for (int k = n - 1; k >= 0; k -= above[k]) {
        int m = 1;
        while (m < MOST && k - m >= 0 &&
               continues_above(column_of(block, us, ul, k - m + 1), column_of(block, us, ul, k - m), k - m + 1))
            m++;
        above[k] = m;
    }
}

bool kd_klu_prepare(klu_symbolic *symbolic, klu_numeric *numeric, klu_common *common, int *together)
{
    if (!klu_sort(symbolic, numeric, common)) return false;
    for (int b = 0; b < symbolic->nblocks; b++) {
        const int first = symbolic->R[b], n = symbolic->R[b + 1] - first;
        if (n > 1) find_groups(numeric, numeric->LUbx[b], first, n, together + first, together + symbolic->n + first);
    }
    return true;
}

// ---- substitution ---------------------------------------------------------------------------------------------------

// x_i -= a_i y over the rows of one, two or three columns that have the last one's rows; skip: entries of their triangle
static void take_away(int m, const column *a, const int *skip, const double *y, double *x)
{
    const column  last = a[m - 1];
    const double *v0 = a[0].value + skip[0], *v1 = m > 1 ? a[1].value + skip[1] : NULL,
                 *v2 = m > 2 ? a[2].value + skip[2] : NULL;
    if (m == 3)
        for (int e = 0; e < last.count; e++) x[last.row[e]] -= v0[e] * y[0] + v1[e] * y[1] + v2[e] * y[2];
    else if (m == 2)
        for (int e = 0; e < last.count; e++) x[last.row[e]] -= v0[e] * y[0] + v1[e] * y[1];
    else
        for (int e = 0; e < last.count; e++) x[last.row[e]] -= v0[e] * y[0];
}

// L x = x
static void forward(const klu_numeric *f, const double *block, int first, int n, const int *below, double *x)
{
    static const int skips[MOST][MOST] = {{0}, {1, 0}, {2, 1, 0}};
    for (int k = 0; k < n; k += below[k]) {
        const int m = below[k];
        column    a[MOST];
        for (int i = 0; i < m; i++) a[i] = column_of(block, f->Lip + first, f->Llen + first, k + i);
        // the triangle: rows k + 1 .. are the first of each column
        for (int i = 0; i < m; i++)
            for (int r = i + 1; r < m; r++) x[k + r] -= a[i].value[r - i - 1] * x[k + i];
        take_away(m, a, skips[m - 1], x + k, x);
    }
}

// U x = x
static void backward(const klu_numeric *f, const double *block, int first, int n, const int *above, double *x)
{
    static const int none[MOST] = {0};
    const double    *diagonal = (const double *)f->Udiag + first;
    for (int k = n - 1; k >= 0; k -= above[k]) {
        const int m = above[k];
        column    a[MOST];
        double    y[MOST];
        for (int i = 0; i < m; i++) a[i] = column_of(block, f->Uip + first, f->Ulen + first, k - i);
        // the triangle: rows .. k - 1 are the last of each column
        for (int i = 0; i < m; i++) {
            y[i] = x[k - i] /= diagonal[k - i];
            for (int r = i + 1; r < m; r++) x[k - r] -= a[i].value[a[i].count - (r - i)] * y[i];
        }
        take_away(m, a, none, y, x);
    }
}

void kd_klu_solve(klu_symbolic *symbolic, klu_numeric *numeric, klu_common *common, const int *together, double *b)
{
    const klu_numeric *f = numeric;
    const int          n = symbolic->n;
    double            *x = numeric->Xwork;
    (void)common;
    for (int k = 0; k < n; k++) x[k] = f->Rs ? b[f->Pnum[k]] / f->Rs[k] : b[f->Pnum[k]];
    for (int block = symbolic->nblocks - 1; block >= 0; block--) {
        const int first = symbolic->R[block], end = symbolic->R[block + 1], size = end - first;
        if (size == 1) {
            x[first] /= ((const double *)f->Udiag)[first];
        } else {
            forward(f, f->LUbx[block], first, size, together + first, x + first);
            backward(f, f->LUbx[block], first, size, together + n + first, x + first);
        }
        // blocks above
        for (int k = first; block > 0 && k < end; k++)
            for (int p = f->Offp[k]; p < f->Offp[k + 1]; p++) x[f->Offi[p]] -= ((const double *)f->Offx)[p] * x[k];
    }
    for (int k = 0; k < n; k++) b[symbolic->Q[k]] = x[k];
}
