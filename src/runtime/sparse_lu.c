// runtime/sparse_lu.c: sparse LU of a fixed pattern, in place of KLU where an FMU must not carry it.
//
// Columns are ordered by minimum degree of A + A'; rows are scaled by their largest entry. Factors column by column
// (Gilbert, Peierls 1988): the pattern of L \ a is what a search from the entries of a in the graph of L reaches, then the
// pivot is the diagonal if that is at least tol of the largest candidate, else the largest. New values with old pivots
// need no search (sparse_lu_body.h has both, for real and complex numbers). Room of factors that are freed is kept, so
// that steps allocate only where new pivots bring more entries than ever before.
#include <complex.h>
#include <klu.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/memory.h"
#include "math/klu_solve.h"

enum { WORD = 64, LARGEST_ORDERED = 20000 };

struct kd_rt_symbolic {
    kd_arena     arena;
    int          n;
    int         *order;    // (n) column of the matrix that is k-th
    klu_numeric *spare[2]; // factors that were freed, real and complex
};

// L (unit lower) and U by columns. Rows of L by their number in the matrix, of U by the step of their pivot, in an order
// in which they can be eliminated.
struct kd_rt_numeric {
    klu_symbolic *symbolic;
    kd_arena      arena;
    int          *l_start, *u_start; // (n + 1)
    int          *l_row, *u_row;     // (room)
    int           l_room, u_room;
    void         *l, *u;            // (room) numbers
    void         *diagonal;         // (n) of U
    void         *x;                // (n) a column
    double       *scale;            // (n) of rows
    int          *pivot;            // (n) row of step k
    int          *step;             // (n) of a row; -1: not yet
    int          *mark;             // (n) column in which the row was reached
    int          *stack, *at, *top; // (n) each, of the search
    bool          is_complex;
};

void kd_rt_defaults(klu_common *c)
{
    *c = (klu_common){.tol = 1e-3};
}

// ---- order of columns -----------------------------------------------------------------------------------------------

typedef struct graph {
    int       n, words;
    uint64_t *row; // (n x words) neighbours as bits
    int      *degree;
} graph;

static void join(graph *g, int i, int j)
{
    g->row[(size_t)i * (size_t)g->words + (size_t)j / WORD] |= (uint64_t)1 << (j % WORD);
}

static int count_bits(const graph *g, int i)
{
    int count = 0;
    for (int w = 0; w < g->words; w++) count += __builtin_popcountll(g->row[(size_t)i * (size_t)g->words + (size_t)w]);
    return count;
}

// Eliminated: its neighbours become neighbours of each other
static void eliminate(graph *g, int k)
{
    const uint64_t *own = g->row + (size_t)k * (size_t)g->words;
    for (int w = 0; w < g->words; w++)
        for (uint64_t bits = own[w]; bits; bits &= bits - 1) {
            const int i = w * WORD + __builtin_ctzll(bits);
            if (i == k) continue;
            uint64_t *other = g->row + (size_t)i * (size_t)g->words;
            for (int v = 0; v < g->words; v++) other[v] |= own[v];
            other[k / WORD] &= ~((uint64_t)1 << (k % WORD));
            g->degree[i] = count_bits(g, i);
        }
}

static bool find_order(klu_symbolic *s, const int *column, const int *row)
{
    const int n = s->n;
    for (int k = 0; k < n; k++) s->order[k] = k;
    if (n > LARGEST_ORDERED) return true;
    kd_arena scratch = {0};
    graph    g = {.n = n, .words = (n + WORD - 1) / WORD};
    g.row = kd_arena_cut(&scratch, (size_t)n * (size_t)g.words, sizeof *g.row);
    g.degree = kd_cut_int(&scratch, n);
    if (!scratch.failed) {
        for (int j = 0; j < n; j++) {
            join(&g, j, j);
            for (int k = column[j]; k < column[j + 1]; k++) join(&g, row[k], j), join(&g, j, row[k]);
        }
        for (int i = 0; i < n; i++) g.degree[i] = count_bits(&g, i);
        for (int k = 0; k < n; k++) {
            int best = k;
            for (int i = k + 1; i < n; i++)
                if (g.degree[s->order[i]] < g.degree[s->order[best]]) best = i;
            const int chosen = s->order[best];
            s->order[best] = s->order[k];
            s->order[k] = chosen;
            eliminate(&g, chosen);
        }
    }
    const bool good = !scratch.failed;
    kd_arena_release(&scratch);
    return good;
}

klu_symbolic *kd_rt_analyze(int n, const int *column, const int *row, klu_common *c)
{
    klu_symbolic *s = kd_alloc(sizeof *s);
    if (s) s->n = n;
    if (s) s->order = kd_cut_int(&s->arena, n);
    c->status = s && s->order && find_order(s, column, row) ? KLU_OK : KLU_OUT_OF_MEMORY;
    if (c->status != KLU_OK) kd_rt_free_symbolic(&s, c);
    return s;
}

static void release_numeric(klu_numeric *f)
{
    if (!f) return;
    kd_free(f->l_row);
    kd_free(f->u_row);
    kd_free(f->l);
    kd_free(f->u);
    kd_arena_release(&f->arena);
    kd_free(f);
}

void kd_rt_free_symbolic(klu_symbolic **s, klu_common *c)
{
    (void)c;
    if (!*s) return;
    release_numeric((*s)->spare[0]);
    release_numeric((*s)->spare[1]);
    kd_arena_release(&(*s)->arena);
    kd_free(*s);
    *s = NULL;
}

// ---- room -----------------------------------------------------------------------------------------------------------

static bool grow(int **rows, void **numbers, int *room, int used, size_t size, int wanted)
{
    if (wanted <= *room) return true;
    const int larger = wanted > *room + *room / 2 ? wanted : *room + *room / 2;
    int      *r = kd_alloc((size_t)larger * sizeof *r);
    void     *x = kd_alloc((size_t)larger * size);
    if (!r || !x) {
        kd_free(r);
        kd_free(x);
        return false;
    }
    if (used > 0) memcpy(r, *rows, (size_t)used * sizeof *r);
    if (used > 0) memcpy(x, *numbers, (size_t)used * size);
    kd_free(*rows);
    kd_free(*numbers);
    *rows = r;
    *numbers = x;
    *room = larger;
    return true;
}

static klu_numeric *make_numeric(klu_symbolic *s, bool is_complex, int entries)
{
    const int    n = s->n;
    const size_t size = is_complex ? 2 * sizeof(double) : sizeof(double);
    klu_numeric *f = s->spare[is_complex];
    s->spare[is_complex] = NULL;
    if (f) return f;
    f = kd_alloc(sizeof *f);
    if (!f) return NULL;
    f->symbolic = s;
    f->is_complex = is_complex;
    f->l_start = kd_cut_int(&f->arena, n + 1);
    f->u_start = kd_cut_int(&f->arena, n + 1);
    f->diagonal = kd_arena_cut(&f->arena, (size_t)n, size);
    f->x = kd_arena_cut(&f->arena, (size_t)n, size);
    f->scale = kd_cut_double(&f->arena, n);
    f->pivot = kd_cut_int(&f->arena, n);
    f->step = kd_cut_int(&f->arena, n);
    f->mark = kd_cut_int(&f->arena, n);
    f->stack = kd_cut_int(&f->arena, n);
    f->at = kd_cut_int(&f->arena, n);
    f->top = kd_cut_int(&f->arena, n);
    // a first guess that small matrices never outgrow
    const int  guess = n <= 64 ? n * n : 4 * entries + n;
    const bool good = !f->arena.failed && grow(&f->l_row, &f->l, &f->l_room, 0, size, guess) &&
                      grow(&f->u_row, &f->u, &f->u_room, 0, size, guess);
    if (good) return f;
    release_numeric(f);
    return NULL;
}

static int free_numeric(klu_numeric **f)
{
    klu_symbolic *s = *f ? (*f)->symbolic : NULL;
    if (s && !s->spare[(*f)->is_complex])
        s->spare[(*f)->is_complex] = *f;
    else
        release_numeric(*f);
    *f = NULL;
    return 1;
}

// What the present column reaches in the graph of L, in the order of elimination: top .. n - 1 of f->top are rows with a
// pivot. *count rows without one are put to the front of it.
static int reach(klu_numeric *f, int k, const int *row, int entries, int *count)
{
    const int n = f->symbolic->n;
    int       top = n;
    *count = 0;
    for (int e = 0; e < entries; e++) {
        int depth = 0;
        if (f->mark[row[e]] == k) continue;
        f->stack[0] = row[e];
        f->mark[row[e]] = k;
        f->at[0] = f->step[row[e]] >= 0 ? f->l_start[f->step[row[e]]] : 0;
        while (depth >= 0) {
            // into the next row of this column of L that was not seen
            const int i = f->stack[depth], step = f->step[i];
            int       next = -1;
            while (step >= 0 && f->at[depth] < f->l_start[step + 1] && next < 0) {
                const int candidate = f->l_row[f->at[depth]++];
                if (f->mark[candidate] != k) next = candidate;
            }
            if (next >= 0) {
                f->mark[next] = k;
                f->stack[++depth] = next;
                f->at[depth] = f->step[next] >= 0 ? f->l_start[f->step[next]] : 0;
                continue;
            }
            if (step >= 0)
                f->top[--top] = i;
            else
                f->top[(*count)++] = i;
            depth--;
        }
    }
    return top;
}

#define NUMBER double
#define SIZE(x) fabs(x)
#define NAME(x) kd_rt_##x
#define COMPLEX false
#include "runtime/sparse_lu_body.h"
#undef NUMBER
#undef SIZE
#undef NAME
#undef COMPLEX

#define NUMBER double complex
#define SIZE(x) (fabs(creal(x)) + fabs(cimag(x)))
#define NAME(x) kd_rt_z_##x
#define COMPLEX true
#include "runtime/sparse_lu_body.h"

// Of klu_solve.h: factors of this LU are not grouped
void kd_klu_cut_plan(kd_klu_plan *plan, kd_arena *arena, int n)
{
    (void)plan, (void)arena, (void)n;
}

bool kd_klu_prepare(klu_symbolic *symbolic, klu_numeric *numeric, klu_common *common, kd_klu_plan *plan)
{
    (void)symbolic, (void)numeric, (void)common, (void)plan;
    return true;
}

bool kd_klu_refactor(int *column, int *row, double *values, klu_symbolic *symbolic, klu_numeric *numeric,
                     klu_common *common, const kd_klu_plan *plan)
{
    (void)plan;
    return kd_rt_refactor(column, row, values, symbolic, numeric, common) &&
           kd_rt_rgrowth(column, row, values, symbolic, numeric, common);
}

void kd_klu_solve(klu_symbolic *symbolic, klu_numeric *numeric, klu_common *common, const kd_klu_plan *plan, double *b)
{
    (void)plan;
    (void)kd_rt_solve(symbolic, numeric, symbolic->n, 1, b, common);
}
