// redundancy_sparse.c: rows of a large cluster by sparse elimination, where full matrices and singular values would take
// the third power of its size. A = R GZ D (m x n) of the cluster.
//
// Moves: x = A' (A A' + nu)^-1 b = (A'A + nu)^-1 A' b, whichever matrix has the sparser factor.
//
// Rows to keep: one after the other in the order of preference they are freed of those before, pivots are columns,
//
//     a_i = sum_k l_ik u_k + u_i,        u_i = 0: the row depends on earlier ones, a_i = sum_j x_ij a_j,  x L = l
//
// which gives the rows that an elimination with all digits would keep, each as soon as it is independent.
//
// What is left of the dependent rows bounds the singular values behind the rank from above; the least singular value of
// the kept rows, by inverse iteration, bounds the others from below. Where both are far from the tolerance the rank is the
// one that all singular values would give; otherwise the cluster is left to full matrices.
// Method: docs/methods/redundancy.md
#include <math.h>

#include "math/dense.h"
#include "math/normal_matrix.h"
#include "system/redundancy_search.h"

#define LEFT 1e-9        // entries of a row of length 1 that depends on others; of the kept ones the pivots are ..
#define PIVOT 1e-4       // .. at least this,
#define LEAST 1e-5       // and their least singular value
#define NOTHING 1e-14    // fill that is rounding
#define SPARE_COLUMN 0.1 // part of the largest entry that a pivot in a column with fewer entries must have
#define ITERATIONS 6     // of the inverse iteration
#define MOST_DAMPING 1e3
#define TALL 2 // A'A, which says less about the null space, only where its factor is so much sparser

typedef struct row_list { // rows one after the other, sparse
    int    *start;        // (rows + 1)
    int    *index;
    double *value;
    int     rows, capacity;
} row_list;

struct kd_sparse_rows {
    int      m, n;
    int     *start, *column, *entry; // (m + 1), by rows: column, and number in the pattern of GZ
    double  *A;                      // (start[m]) its numbers
    int     *filled;                 // (n) entries of a column
    kd_arena arena;

    // elimination
    row_list U, L;        // L of all rows in the order in which they came: steps and coefficients
    int     *step_column; // (m) pivot of a step
    int     *step_row;    // (m) row of a step
    int     *step_came;   // (m) its place in the order
    int     *column_step; // (n) -1: none
    int     *came;        // (m) rows in their order
    int      rank;
    bool    *dependent;   // (m) by row
    double  *x;           // (n) the row at work
    bool    *touched;     // (n) ..
    int     *list, count; // (n) columns that it has touched
    int     *heap, nheap; // (n) steps that are still to be taken off
    double  *left;        // (m) coefficients of a dependent row by steps

    // moves
    kd_normal_matrix *normal; // of A, or of A'
    bool              tall;   // of A'
    int              *turned; // (start[m]) number of an entry of A' in A
    double           *values; // (start[m]) numbers of A or A', rows that are not used are zero
    double           *b;      // (m)
};

// ---- creation -------------------------------------------------------------------------------------------------------

static bool list_reserve(row_list *l, int more)
{
    if (l->start[l->rows] + more <= l->capacity) return true;
    const int capacity = 2 * (l->start[l->rows] + more) + 1000, used = l->capacity;
    int      *index = kd_alloc((size_t)capacity * sizeof *index);
    double   *value = kd_alloc((size_t)capacity * sizeof *value);
    if (index && value && used > 0) {
        memcpy(index, l->index, (size_t)used * sizeof *index);
        memcpy(value, l->value, (size_t)used * sizeof *value);
    }
    // the old arrays go, or the new ones
    kd_free(index && value ? l->index : index);
    kd_free(index && value ? l->value : value);
    if (!index || !value) return false;
    l->index = index;
    l->value = value;
    l->capacity = capacity;
    return true;
}

static void list_put(row_list *l, int *at, int index, double value)
{
    l->index[*at] = index;
    l->value[(*at)++] = value;
}

// Entries of the cluster by rows
static void fill_rows(const kd_row_search *f, const kd_cluster *c, kd_sparse_rows *s, int *next)
{
    const int number = (int)(c - f->cluster);
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < c->n; j++)
            for (int e = f->column[c->column[j]]; e < f->column[c->column[j] + 1]; e++) {
                const int row = f->row[e], i = f->local[row];
                if (f->home[row] != number) continue;
                if (pass == 0) {
                    s->start[i + 1]++;
                    s->filled[j]++;
                } else {
                    s->column[next[i]] = j;
                    s->entry[next[i]++] = e;
                }
            }
        for (int i = 0; i < c->m && pass == 0; i++) s->start[i + 1] += s->start[i];
        memcpy(next, s->start, (size_t)c->m * sizeof *next);
    }
}

static int count_entries(const kd_row_search *f, const kd_cluster *c)
{
    int count = 0;
    for (int j = 0; j < c->n; j++) count += f->column[c->column[j] + 1] - f->column[c->column[j]];
    return count;
}

// Both normal matrices; the sparser one stays
static kd_status plan_normal(kd_sparse_rows *s)
{
    const int         m = s->m, n = s->n, count = s->start[m];
    kd_arena          arena = {0};
    kd_normal_matrix *other = NULL;
    int              *start = kd_cut_int(&arena, n + 1), *row = kd_cut_int(&arena, count);
    int              *next = kd_cut_int(&arena, n);
    s->turned = kd_cut_int(&s->arena, count);
    s->values = kd_cut_double(&s->arena, count);
    kd_status status = arena.failed || s->arena.failed ? KD_ERR_MEMORY : KD_OK;
    if (status == KD_OK) {
        // A' by rows
        for (int j = 0; j < n; j++) start[j + 1] = start[j] + s->filled[j];
        memcpy(next, start, (size_t)n * sizeof *next);
        for (int i = 0; i < m; i++)
            for (int k = s->start[i]; k < s->start[i + 1]; k++) {
                const int to = next[s->column[k]]++;
                row[to] = i;
                s->turned[to] = k;
            }
        status = kd_normal_create(m, n, s->start, s->column, &s->normal);
    }
    if (status == KD_OK) status = kd_normal_create(n, m, start, row, &other);
    s->tall = status == KD_OK && TALL * kd_normal_entries(other) < kd_normal_entries(s->normal);
    kd_normal_destroy(s->tall ? s->normal : other);
    if (s->tall) s->normal = other;
    kd_arena_release(&arena);
    return status;
}

kd_status kd_sparse_rows_create(const kd_row_search *f, const kd_cluster *c, kd_sparse_rows **out)
{
    const int       m = c->m, n = c->n, count = count_entries(f, c);
    kd_sparse_rows *s = *out = kd_alloc(sizeof *s);
    if (!s) return KD_ERR_MEMORY;
    kd_arena *a = &s->arena;
    s->m = m;
    s->n = n;
    // the rows of the cluster
    s->start = kd_cut_int(a, m + 1);
    s->column = kd_cut_int(a, count);
    s->entry = kd_cut_int(a, count);
    s->A = kd_cut_double(a, count);
    // factors L and U, and the order in which they came
    s->filled = kd_cut_int(a, n);
    s->U.start = kd_cut_int(a, m + 1);
    s->L.start = kd_cut_int(a, m + 1);
    s->step_column = kd_cut_int(a, m);
    s->step_row = kd_cut_int(a, m);
    s->step_came = kd_cut_int(a, m);
    s->column_step = kd_cut_int(a, n);
    s->came = kd_cut_int(a, m);
    s->dependent = kd_cut_bool(a, m);
    // workspace of one row
    s->x = kd_cut_double(a, n);
    s->touched = kd_cut_bool(a, n);
    s->list = kd_cut_int(a, n);
    s->heap = kd_cut_int(a, n + 1);
    s->left = kd_cut_double(a, m);
    s->b = kd_cut_double(a, m);
    int *next = kd_cut_int(a, m);
    if (a->failed) return KD_ERR_MEMORY;
    fill_rows(f, c, s, next);
    return plan_normal(s);
}

void kd_sparse_rows_destroy(kd_sparse_rows *s)
{
    if (!s) return;
    kd_normal_destroy(s->normal);
    kd_free(s->U.index);
    kd_free(s->U.value);
    kd_free(s->L.index);
    kd_free(s->L.value);
    kd_arena_release(&s->arena);
    kd_free(s);
}

// A = R GZ D with these numbers of GZ
static void take_values(const kd_row_search *f, const kd_cluster *c, const double *GZ)
{
    kd_sparse_rows *s = c->sparse;
    for (int i = 0; i < s->m; i++)
        for (int k = s->start[i]; k < s->start[i + 1]; k++)
            s->A[k] = f->R[c->row[i]] * GZ[s->entry[k]] * f->D[c->column[s->column[k]]];
}

// ---- moves ----------------------------------------------------------------------------------------------------------

void kd_sparse_rows_factor(const kd_row_search *f, const kd_cluster *c, double nu)
{
    kd_sparse_rows *s = c->sparse;
    take_values(f, c, f->GZ);
    for (int i = 0; i < s->m; i++)
        for (int k = s->start[i]; k < s->start[i + 1] && f->use && !f->use[c->row[i]]; k++) s->A[k] = 0;
    for (int k = 0; k < s->start[s->m]; k++) s->values[k] = s->A[s->tall ? s->turned[k] : k];
    // rounding may make it indefinite: more damping until it is not
    while (!kd_normal_factor(s->normal, s->values, nu) && nu < MOST_DAMPING) nu *= 100;
}

// x += A' b
static void add_transposed(const kd_sparse_rows *s, const double *b, double *x)
{
    for (int i = 0; i < s->m; i++)
        for (int k = s->start[i]; k < s->start[i + 1]; k++) x[s->column[k]] += s->A[k] * b[i];
}

void kd_sparse_rows_solve(const kd_cluster *c, const double *b, double *x)
{
    kd_sparse_rows *s = c->sparse;
    memcpy(s->b, b, (size_t)s->m * sizeof *s->b);
    memset(x, 0, (size_t)s->n * sizeof *x);
    if (!s->tall) kd_normal_solve(s->normal, s->b);
    add_transposed(s, s->b, x);
    if (s->tall) kd_normal_solve(s->normal, x);
}

void kd_sparse_rows_multiply(const kd_cluster *c, const double *x, double *y)
{
    const kd_sparse_rows *s = c->sparse;
    for (int i = 0; i < s->m; i++) {
        y[i] = 0;
        for (int k = s->start[i]; k < s->start[i + 1]; k++) y[i] += s->A[k] * x[s->column[k]];
    }
}

// ---- elimination ----------------------------------------------------------------------------------------------------

// Steps in a heap, the first one on top
static void push(kd_sparse_rows *s, int step)
{
    int at = s->nheap++;
    for (; at > 0 && s->heap[(at - 1) / 2] > step; at = (at - 1) / 2) s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = step;
}

static int pop(kd_sparse_rows *s)
{
    const int top = s->heap[0], last = s->heap[--s->nheap];
    int       at = 0;
    for (int child = 1; child < s->nheap; child = 2 * at + 1) {
        if (child + 1 < s->nheap && s->heap[child + 1] < s->heap[child]) child++;
        if (s->heap[child] >= last) break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
    return top;
}

static void touch(kd_sparse_rows *s, int j)
{
    if (s->touched[j]) return;
    s->touched[j] = true;
    s->list[s->count++] = j;
    if (s->column_step[j] >= 0) push(s, s->column_step[j]);
}

// x = row i without its parts along earlier rows; the coefficients go to L. false: no memory
static bool free_row(kd_sparse_rows *s, int i)
{
    s->count = s->nheap = 0;
    for (int k = s->start[i]; k < s->start[i + 1]; k++) {
        s->x[s->column[k]] = s->A[k];
        touch(s, s->column[k]);
    }
    int end = s->L.start[s->L.rows];
    while (s->nheap > 0) {
        const int    step = pop(s), pivot = s->step_column[step], first = s->U.start[step];
        const double part = s->x[pivot] / s->U.value[first];
        s->x[pivot] = 0;
        if (fabs(part) <= NOTHING) continue;
        // u_step begins with its pivot
        for (int k = first + 1; k < s->U.start[step + 1]; k++) {
            const int j = s->U.index[k];
            touch(s, j);
            s->x[j] -= part * s->U.value[k];
        }
        if (end == s->L.capacity && !list_reserve(&s->L, end - s->L.start[s->L.rows] + 1)) return false;
        list_put(&s->L, &end, step, part);
    }
    s->L.start[++s->L.rows] = end;
    return true;
}

// The column of a pivot: of the large entries that in the column with the fewest; -1: the row depends on others
static int choose_pivot(const kd_sparse_rows *s, double *largest)
{
    int best = -1;
    *largest = 0;
    for (int k = 0; k < s->count; k++) *largest = fmax(*largest, fabs(s->x[s->list[k]]));
    if (*largest <= LEFT) return -1;
    for (int k = 0; k < s->count; k++) {
        const int j = s->list[k];
        if (fabs(s->x[j]) >= SPARE_COLUMN * *largest && (best < 0 || s->filled[j] < s->filled[best])) best = j;
    }
    return best;
}

// u of the next step, its pivot first
static bool keep_row(kd_sparse_rows *s, int i, int pivot)
{
    const int step = s->rank++;
    int       end = s->U.start[step];
    s->U.rows = step;
    if (!list_reserve(&s->U, s->count)) return false;
    list_put(&s->U, &end, pivot, s->x[pivot]);
    for (int k = 0; k < s->count; k++) {
        const int j = s->list[k];
        if (j != pivot && fabs(s->x[j]) > NOTHING) list_put(&s->U, &end, j, s->x[j]);
    }
    s->U.start[step + 1] = end;
    s->step_row[step] = i;
    s->step_came[step] = s->L.rows - 1;
    s->step_column[step] = pivot;
    s->column_step[pivot] = step;
    return true;
}

bool kd_sparse_rows_eliminate(const kd_row_search *f, const kd_cluster *c, const double *GZ, const int *order)
{
    kd_sparse_rows *s = c->sparse;
    double          rest = 0;
    bool            clear = true;
    take_values(f, c, GZ);
    for (int j = 0; j < s->n; j++) s->column_step[j] = -1;
    s->rank = s->L.rows = 0;
    for (int k = 0; k < s->m && clear; k++) {
        const int i = s->came[k] = order ? order[k] : k;
        double    largest;
        if (!free_row(s, i)) return false;
        // independent beyond doubt, or dependent
        const int pivot = choose_pivot(s, &largest);
        s->dependent[i] = pivot < 0;
        clear = pivot < 0 || largest >= PIVOT;
        if (pivot >= 0 && !keep_row(s, i, pivot)) return false;
        for (int l = 0; l < s->count; l++) {
            const int j = s->list[l];
            if (pivot < 0) rest += s->x[j] * s->x[j];
            s->x[j] = 0;
            s->touched[j] = false;
        }
    }
    return clear && sqrt(rest) <= 10 * LEFT;
}

int kd_sparse_rows_rank(const kd_cluster *c)
{
    return c->sparse->rank;
}

bool kd_sparse_rows_depends(const kd_cluster *c, int i)
{
    return c->sparse->dependent[i];
}

// w <- (P P')^-1 w, P = L U the pivot columns of the independent rows: P z = w, P' w = z
static void solve_twice(const kd_sparse_rows *s, double *w)
{
    const row_list *L = &s->L, *U = &s->U;
    // L, U
    for (int k = 0; k < s->rank; k++)
        for (int e = L->start[s->step_came[k]]; e < L->start[s->step_came[k] + 1]; e++)
            w[k] -= L->value[e] * w[L->index[e]];
    for (int k = s->rank - 1; k >= 0; k--) {
        for (int e = U->start[k] + 1; e < U->start[k + 1]; e++) {
            const int step = s->column_step[U->index[e]];
            if (step >= 0) w[k] -= U->value[e] * w[step];
        }
        w[k] /= U->value[U->start[k]];
    }
    // U', L'
    for (int k = 0; k < s->rank; k++) {
        w[k] /= U->value[U->start[k]];
        for (int e = U->start[k] + 1; e < U->start[k + 1]; e++) {
            const int step = s->column_step[U->index[e]];
            if (step >= 0) w[step] -= U->value[e] * w[k];
        }
    }
    for (int k = s->rank - 1; k >= 0; k--)
        for (int e = L->start[s->step_came[k]]; e < L->start[s->step_came[k] + 1]; e++)
            w[L->index[e]] -= L->value[e] * w[k];
}

// The pivot columns alone have no larger one than all columns
double kd_sparse_rows_least(const kd_cluster *c)
{
    kd_sparse_rows *s = c->sparse;
    double          length = 0, *w = s->b;
    for (int k = 0; k < s->rank; k++) w[k] = 1 + fmod(0.6180339887 * k, 1);
    for (int iteration = 0; iteration < ITERATIONS && s->rank > 0; iteration++) {
        const double before = sqrt(kd_dot(s->rank, w, w));
        for (int k = 0; k < s->rank; k++) w[k] /= before;
        solve_twice(s, w);
        length = sqrt(kd_dot(s->rank, w, w));
        if (!isfinite(length)) return 0;
    }
    const double least = length > 0 ? 1 / sqrt(length) : 0;
    return least > LEAST ? least : 0;
}

int kd_sparse_rows_dependency(const kd_cluster *c, int k, int *row, double *x)
{
    kd_sparse_rows *s = c->sparse;
    const row_list *L = &s->L;
    int             count = 0, last = -1;
    if (!s->dependent[s->came[k]]) return 0;
    // x L = l from the last step to the first; s->left is zero again behind
    for (int e = L->start[k]; e < L->start[k + 1]; e++) {
        s->left[L->index[e]] = L->value[e];
        last = L->index[e] > last ? L->index[e] : last;
    }
    for (int step = last; step >= 0; step--) {
        const double part = s->left[step];
        const int    came = s->step_came[step];
        s->left[step] = 0;
        if (fabs(part) <= NOTHING) continue;
        row[count] = s->step_row[step];
        x[count++] = part;
        for (int e = L->start[came]; e < L->start[came + 1]; e++) s->left[L->index[e]] -= part * L->value[e];
    }
    return count;
}
