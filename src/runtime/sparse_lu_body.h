// sparse_lu_body.h: factors, new values, solutions; for real and complex numbers (NUMBER, SIZE, NAME, COMPLEX).

// largest entries of rows, over which they are divided; false: a row has none, or not finite
static bool NAME(scale_rows)(klu_numeric *f, const int *column, const int *row, const NUMBER *values)
{
    const int n = f->symbolic->n;
    for (int i = 0; i < n; i++) f->scale[i] = 0;
    for (int k = 0; k < column[n]; k++) {
        const double size = SIZE(values[k]);
        if (!(size <= f->scale[row[k]])) f->scale[row[k]] = size;
    }
    for (int i = 0; i < n; i++)
        if (!(f->scale[i] > 0 && isfinite(f->scale[i]))) return false;
    return true;
}

// The pivot of step k among the rows that have none; -1: all are zero
static int NAME(choose)(const klu_numeric *f, const int *candidate, int count, int diagonal, double tol)
{
    const NUMBER *x = f->x;
    int           best = -1;
    double        most = 0;
    bool          has_diagonal = false;
    for (int e = 0; e < count; e++) {
        const double size = SIZE(x[candidate[e]]);
        if (size > most) most = size, best = candidate[e];
        has_diagonal = has_diagonal || candidate[e] == diagonal;
    }
    if (best >= 0 && has_diagonal && SIZE(x[diagonal]) >= tol * most) best = diagonal;
    return best >= 0 && isfinite(most) ? best : -1;
}

// Column k of L and U; false: singular, or no room
static bool NAME(make_column)(klu_numeric *f, int k, const int *column, const int *row, const NUMBER *values,
                              klu_common *c)
{
    const int n = f->symbolic->n, j = f->symbolic->order[k];
    int       count;
    const int top = reach(f, k, row + column[j], column[j + 1] - column[j], &count);
    const int u = f->u_start[k], l = f->l_start[k];
    if (!grow(&f->u_row, &f->u, &f->u_room, u, sizeof(NUMBER), u + n - top) ||
        !grow(&f->l_row, &f->l, &f->l_room, l, sizeof(NUMBER), l + count)) {
        c->status = KLU_OUT_OF_MEMORY;
        return false;
    }
    NUMBER *x = f->x, *L = f->l, *U = f->u;
    for (int e = top; e < n; e++) x[f->top[e]] = 0;
    for (int e = 0; e < count; e++) x[f->top[e]] = 0;
    for (int e = column[j]; e < column[j + 1]; e++) x[row[e]] = values[e] / f->scale[row[e]];
    // x = L \ a
    for (int e = top; e < n; e++) {
        const int    step = f->step[f->top[e]];
        const NUMBER pivot = x[f->top[e]];
        f->u_row[u + e - top] = step;
        U[u + e - top] = pivot;
        for (int p = f->l_start[step]; p < f->l_start[step + 1]; p++) x[f->l_row[p]] -= L[p] * pivot;
    }
    f->u_start[k + 1] = u + n - top;
    const int chosen = NAME(choose)(f, f->top, count, j, c->tol);
    c->status = chosen >= 0 ? KLU_OK : KLU_SINGULAR;
    if (chosen < 0) return false;
    ((NUMBER *)f->diagonal)[k] = x[chosen];
    f->pivot[k] = chosen;
    f->step[chosen] = k;
    int at = l;
    for (int e = 0; e < count; e++) {
        if (f->top[e] == chosen) continue;
        f->l_row[at] = f->top[e];
        L[at++] = x[f->top[e]] / x[chosen];
    }
    f->l_start[k + 1] = at;
    return true;
}

klu_numeric *NAME(factor)(int *column, int *row, double *values, klu_symbolic *s, klu_common *c)
{
    klu_numeric *f = make_numeric(s, COMPLEX, column[s->n]);
    c->status = f ? KLU_OK : KLU_OUT_OF_MEMORY;
    if (!f) return NULL;
    for (int i = 0; i < s->n; i++) f->step[i] = f->mark[i] = -1;
    f->l_start[0] = f->u_start[0] = 0;
    bool good = NAME(scale_rows)(f, column, row, (const NUMBER *)(void *)values);
    if (!good) c->status = KLU_SINGULAR;
    for (int k = 0; k < s->n && good; k++)
        good = NAME(make_column)(f, k, column, row, (const NUMBER *)(void *)values, c);
    if (!good) free_numeric(&f);
    return f;
}

int NAME(refactor)(int *column, int *row, double *values, klu_symbolic *s, klu_numeric *f, klu_common *c)
{
    NUMBER       *x = f->x, *L = f->l, *U = f->u, *diagonal = f->diagonal;
    const NUMBER *A = (const NUMBER *)(void *)values;
    c->status = KLU_SINGULAR;
    if (!NAME(scale_rows)(f, column, row, A)) return 0;
    for (int k = 0; k < s->n; k++) {
        const int j = s->order[k];
        for (int p = f->u_start[k]; p < f->u_start[k + 1]; p++) x[f->pivot[f->u_row[p]]] = 0;
        for (int p = f->l_start[k]; p < f->l_start[k + 1]; p++) x[f->l_row[p]] = 0;
        x[f->pivot[k]] = 0;
        for (int e = column[j]; e < column[j + 1]; e++) x[row[e]] = A[e] / f->scale[row[e]];
        for (int p = f->u_start[k]; p < f->u_start[k + 1]; p++) {
            const int    step = f->u_row[p];
            const NUMBER pivot = x[f->pivot[step]];
            U[p] = pivot;
            for (int q = f->l_start[step]; q < f->l_start[step + 1]; q++) x[f->l_row[q]] -= L[q] * pivot;
        }
        diagonal[k] = x[f->pivot[k]];
        if (!(SIZE(diagonal[k]) > 0)) return 0;
        for (int p = f->l_start[k]; p < f->l_start[k + 1]; p++) L[p] = x[f->l_row[p]] / diagonal[k];
    }
    c->status = KLU_OK;
    return 1;
}

// Smallest over largest pivot
int NAME(rcond)(klu_symbolic *s, klu_numeric *f, klu_common *c)
{
    const NUMBER *diagonal = f->diagonal;
    double        least = INFINITY, most = 0;
    for (int k = 0; k < s->n; k++) {
        const double size = SIZE(diagonal[k]);
        if (!(size >= 0)) least = NAN;
        if (size < least) least = size;
        if (size > most) most = size;
    }
    c->rcond = least / most;
    c->status = KLU_OK;
    return 1;
}

// Least over columns: largest scaled entry of A over that of U
int NAME(rgrowth)(int *column, int *row, double *values, klu_symbolic *s, klu_numeric *f, klu_common *c)
{
    const NUMBER *A = (const NUMBER *)(void *)values, *U = f->u, *diagonal = f->diagonal;
    c->rgrowth = 1;
    for (int k = 0; k < s->n; k++) {
        const int j = s->order[k];
        double    a = 0, u = SIZE(diagonal[k]);
        for (int e = column[j]; e < column[j + 1]; e++) a = fmax(a, SIZE(A[e]) / f->scale[row[e]]);
        for (int p = f->u_start[k]; p < f->u_start[k + 1]; p++) u = fmax(u, SIZE(U[p]));
        if (u > 0 && a / u < c->rgrowth) c->rgrowth = a / u;
        if (!isfinite(u)) c->rgrowth = NAN;
    }
    c->status = KLU_OK;
    return 1;
}

int NAME(solve)(klu_symbolic *s, klu_numeric *f, int ld, int nrhs, double *b, klu_common *c)
{
    const int     n = s->n;
    const NUMBER *L = f->l, *U = f->u, *diagonal = f->diagonal;
    NUMBER       *y = f->x;
    c->status = KLU_OK;
    for (int r = 0; r < nrhs; r++) {
        NUMBER *x = (NUMBER *)(void *)b + (ptrdiff_t)ld * r;
        for (int i = 0; i < n; i++) x[i] /= f->scale[i];
        // L y = b in the order of pivots
        for (int k = 0; k < n; k++) {
            y[k] = x[f->pivot[k]];
            for (int p = f->l_start[k]; p < f->l_start[k + 1]; p++) x[f->l_row[p]] -= L[p] * y[k];
        }
        for (int k = n - 1; k >= 0; k--) {
            y[k] /= diagonal[k];
            for (int p = f->u_start[k]; p < f->u_start[k + 1]; p++) y[f->u_row[p]] -= U[p] * y[k];
        }
        for (int k = 0; k < n; k++) x[s->order[k]] = y[k];
    }
    return 1;
}

int NAME(free_numeric)(klu_numeric **f, klu_common *c)
{
    c->status = KLU_OK;
    return free_numeric(f);
}
