// normal_matrix.c: L D L' of N = A A' + nu I, A sparse.
//
// Every column of A couples its rows with each other: N is a sum of cliques. An unknown that is eliminated joins the
// cliques which it stands in to one, its neighbours, and these are the rows of its column of L. The next one is always
// an unknown with the fewest neighbours (George, Liu: The Evolution of the Minimum Degree Ordering Algorithm, 1989, with
// elements only). Numbers: column by column, each takes what earlier columns leave in it (left-looking).
#include "math/normal_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kd_normal_matrix {
    int      n, columns;
    int     *start, *column;        // A by rows
    int     *at, *row, *entry;      // A by columns: start, row, number of the entry
    int     *unknown, *place;       // (n) in the order of elimination; place of an unknown
    int    **below, *count;         // (n) by place: rows of a column of L as places, rising
    double **L, *D;                 // (n)
    double  *work;                  // (n)
    int     *next, *first, *behind; // (n) the next row of a column; columns that wait for a row, in lists
    long     entries;
    kd_arena arena;
};

// ---- order ----------------------------------------------------------------------------------------------------------

typedef struct clique {
    int *member, count; // (count) unknowns
    bool gone;          // it is part of another one
} clique;

typedef struct planner {
    clique *clique;        // (columns + n) columns of A, then one for each unknown that is eliminated
    int   **of, *nof;      // (n) cliques of an unknown; some may be gone
    int    *degree, *mark; // (n)
    int     question;
    bool   *gone; // (n)
    // unknowns of the same degree in lists
    int     *head, *after, *before; // (n + 1), (n), (n)
    kd_arena arena;
} planner;

static void enlist(planner *p, int i)
{
    const int d = p->degree[i], top = p->head[d];
    p->after[i] = top;
    p->before[i] = -1;
    if (top >= 0) p->before[top] = i;
    p->head[d] = i;
}

static void unlist(planner *p, int i)
{
    const int after = p->after[i], before = p->before[i];
    if (after >= 0) p->before[after] = before;
    if (before >= 0)
        p->after[before] = after;
    else
        p->head[p->degree[i]] = after;
}

// Neighbours of unknown i: all members of its cliques; with list they are written down
static int find_neighbours(planner *p, int i, int *list)
{
    int count = 0;
    p->mark[i] = ++p->question;
    for (int k = 0; k < p->nof[i]; k++) {
        const clique *c = &p->clique[p->of[i][k]];
        for (int l = 0; l < c->count; l++) {
            const int j = c->member[l];
            if (p->mark[j] == p->question || p->gone[j]) continue;
            p->mark[j] = p->question;
            if (list) list[count] = j;
            count++;
        }
    }
    return count;
}

// Unknown j forgets cliques that are gone, and learns of the new one: at least one of the old ones is gone
static void renew_cliques(planner *p, int j, int number)
{
    int kept = 0;
    for (int k = 0; k < p->nof[j]; k++)
        if (!p->clique[p->of[j][k]].gone) p->of[j][kept++] = p->of[j][k];
    p->of[j][kept++] = number;
    p->nof[j] = kept;
}

// Unknown i leaves: its cliques become one
static bool take_away(planner *p, kd_normal_matrix *s, int i, int k)
{
    const int number = s->columns + k;
    clique   *own = &p->clique[number];
    own->count = p->degree[i];
    own->member = kd_cut_int(&p->arena, own->count);
    s->below[k] = kd_cut_int(&s->arena, own->count);
    s->L[k] = kd_cut_double(&s->arena, own->count);
    if (p->arena.failed || s->arena.failed) return false;
    own->count = s->count[k] = find_neighbours(p, i, own->member);
    for (int l = 0; l < p->nof[i]; l++) p->clique[p->of[i][l]].gone = true;
    p->gone[i] = true;
    s->entries += own->count;
    for (int l = 0; l < own->count; l++) renew_cliques(p, own->member[l], number);
    // degrees of all that see the new clique
    for (int l = 0; l < own->count; l++) {
        const int j = own->member[l];
        unlist(p, j);
        p->degree[j] = find_neighbours(p, j, NULL);
        enlist(p, j);
    }
    return true;
}

static bool planner_open(planner *p, kd_normal_matrix *s)
{
    const int n = s->n;
    p->clique = kd_arena_cut(&p->arena, (size_t)s->columns + (size_t)n, sizeof *p->clique);
    p->of = kd_arena_cut(&p->arena, (size_t)n, sizeof *p->of);
    p->nof = kd_cut_int(&p->arena, n);
    p->degree = kd_cut_int(&p->arena, n);
    p->mark = kd_cut_int(&p->arena, n);
    p->gone = kd_cut_bool(&p->arena, n);
    p->head = kd_cut_int(&p->arena, n + 1);
    p->after = kd_cut_int(&p->arena, n);
    p->before = kd_cut_int(&p->arena, n);
    if (p->arena.failed) return false;
    for (int j = 0; j < s->columns; j++)
        p->clique[j] = (clique){.member = s->row + s->at[j], .count = s->at[j + 1] - s->at[j]};
    for (int d = 0; d <= n; d++) p->head[d] = -1;
    for (int i = 0; i < n; i++) {
        // a new clique takes the place of one that is gone: there are never more
        p->nof[i] = s->start[i + 1] - s->start[i];
        p->of[i] = kd_cut_int(&p->arena, p->nof[i]);
        if (p->arena.failed) return false;
        if (p->nof[i] > 0) memcpy(p->of[i], s->column + s->start[i], (size_t)p->nof[i] * sizeof **p->of);
    }
    for (int i = n - 1; i >= 0; i--) {
        p->degree[i] = find_neighbours(p, i, NULL);
        enlist(p, i);
    }
    return true;
}

static int compare_places(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

// Least degree first; then rows of L as places
static bool plan_order(kd_normal_matrix *s)
{
    planner p = {0};
    bool    good = planner_open(&p, s);
    for (int k = 0, d = 0; k < s->n && good; k++) {
        while (p.head[d] < 0) d++;
        const int i = p.head[d];
        unlist(&p, i);
        s->unknown[k] = i;
        s->place[i] = k;
        good = take_away(&p, s, i, k);
        // neighbours lose a degree at most
        d = d > 0 ? d - 1 : 0;
        if (s->count[k] > 0)
            memcpy(s->below[k], p.clique[s->columns + k].member, (size_t)s->count[k] * sizeof **s->below);
    }
    for (int k = 0; k < s->n && good; k++) {
        if (s->count[k] == 0) continue;
        for (int l = 0; l < s->count[k]; l++) s->below[k][l] = s->place[s->below[k][l]];
        qsort(s->below[k], (size_t)s->count[k], sizeof **s->below, compare_places);
    }
    kd_arena_release(&p.arena);
    return good;
}

// ---- creation -------------------------------------------------------------------------------------------------------

// A by columns
static void turn_round(kd_normal_matrix *s)
{
    int *next = s->next;
    for (int k = 0; k < s->start[s->n]; k++) s->at[s->column[k] + 1]++;
    for (int j = 0; j < s->columns; j++) s->at[j + 1] += s->at[j];
    memcpy(next, s->at, (size_t)s->columns * sizeof *next);
    for (int i = 0; i < s->n; i++)
        for (int k = s->start[i]; k < s->start[i + 1]; k++) {
            const int to = next[s->column[k]]++;
            s->row[to] = i;
            s->entry[to] = k;
        }
}

kd_status kd_normal_create(int n, int columns, const int *start, const int *column, kd_normal_matrix **self)
{
    kd_normal_matrix *s = *self = kd_alloc(sizeof *s);
    if (!s) return KD_ERR_MEMORY;
    kd_arena *a = &s->arena;
    const int count = start[n];
    s->n = n;
    s->columns = columns;
    // rows, and the same by columns
    s->start = kd_cut_int(a, n + 1);
    s->column = kd_cut_int(a, count);
    s->at = kd_cut_int(a, columns + 1);
    s->row = kd_cut_int(a, count);
    s->entry = kd_cut_int(a, count);
    // order of elimination, factors L and D
    s->unknown = kd_cut_int(a, n);
    s->place = kd_cut_int(a, n);
    s->below = kd_arena_cut(a, (size_t)n, sizeof *s->below);
    s->count = kd_cut_int(a, n);
    s->L = kd_arena_cut(a, (size_t)n, sizeof *s->L);
    s->D = kd_cut_double(a, n);
    s->work = kd_cut_double(a, n);
    // workspace of the elimination
    s->next = kd_cut_int(a, n > columns ? n : columns);
    s->first = kd_cut_int(a, n);
    s->behind = kd_cut_int(a, n);
    // pattern by columns, then an order with little fill-in
    if (!a->failed) {
        memcpy(s->start, start, (size_t)(n + 1) * sizeof *start);
        if (count > 0) memcpy(s->column, column, (size_t)count * sizeof *column);
        turn_round(s);
        if (plan_order(s)) return KD_OK;
    }
    kd_normal_destroy(s);
    *self = NULL;
    return KD_ERR_MEMORY;
}

void kd_normal_destroy(kd_normal_matrix *s)
{
    if (!s) return;
    kd_arena_release(&s->arena);
    kd_free(s);
}

long kd_normal_entries(const kd_normal_matrix *s)
{
    return s->entries;
}

// ---- numbers --------------------------------------------------------------------------------------------------------

// work = column k of A A' + nu I, rows from k on
static void fill_column(kd_normal_matrix *s, int k, const double *A, double nu)
{
    const int i = s->unknown[k];
    s->work[k] = nu;
    for (int e = s->start[i]; e < s->start[i + 1]; e++)
        for (int c = s->at[s->column[e]]; c < s->at[s->column[e] + 1]; c++) {
            const int place = s->place[s->row[c]];
            if (place >= k) s->work[place] += A[e] * A[s->entry[c]];
        }
}

// Column j waits for its next row
static void wait(kd_normal_matrix *s, int j)
{
    if (s->next[j] == s->count[j]) return;
    const int row = s->below[j][s->next[j]];
    s->behind[j] = s->first[row];
    s->first[row] = j;
}

bool kd_normal_factor(kd_normal_matrix *s, const double *A, double nu)
{
    bool good = true;
    for (int k = 0; k < s->n; k++) s->first[k] = -1;
    for (int k = 0; k < s->n && good; k++) {
        fill_column(s, k, A, nu);
        // earlier columns j with L_kj: work -= L_j D_j L_kj, rows from k on
        for (int j = s->first[k], behind; j >= 0; j = behind) {
            const double part = s->L[j][s->next[j]] * s->D[j];
            behind = s->behind[j];
            for (int l = s->next[j]; l < s->count[j]; l++) s->work[s->below[j][l]] -= s->L[j][l] * part;
            s->next[j]++;
            wait(s, j);
        }
        // the pivot, and the column
        good = s->work[k] > 0 && isfinite(s->work[k]);
        s->D[k] = s->work[k];
        for (int l = 0; l < s->count[k]; l++) {
            s->L[k][l] = s->work[s->below[k][l]] / s->D[k];
            s->work[s->below[k][l]] = 0;
        }
        s->next[k] = 0;
        wait(s, k);
    }
    return good;
}

void kd_normal_solve(const kd_normal_matrix *s, double *b)
{
    double *x = s->work;
    for (int k = 0; k < s->n; k++) x[k] = b[s->unknown[k]];
    for (int k = 0; k < s->n; k++)
        for (int l = 0; l < s->count[k]; l++) x[s->below[k][l]] -= s->L[k][l] * x[k];
    for (int k = 0; k < s->n; k++) x[k] /= s->D[k];
    for (int k = s->n - 1; k >= 0; k--)
        for (int l = 0; l < s->count[k]; l++) x[k] -= s->L[k][l] * x[s->below[k][l]];
    for (int k = 0; k < s->n; k++) b[s->unknown[k]] = x[k];
    memset(x, 0, (size_t)s->n * sizeof *x);
}
