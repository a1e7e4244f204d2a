// elimination.c: sparse LU with a fixed order of pivots. Rows of the factors are kept together, L left of the diagonal,
// U from it on, and row i is finished by
//
//     for k in L of row i, rising:  l_ik = a_ik / u_kk,  a_ij -= l_ik u_kj  for all j > k in row k
//
// (Davis: Direct Methods for Sparse Linear Systems, ch. 6, without pivoting). The pattern contains all fill, so that
// neighbouring columns of row k are neighbours in row i as well: the inner loop runs over stretches of memory that are
// known at creation.
//
// Order: least degree among the unknowns that may be eliminated (Markowitz' count on a symmetric pattern). A row of C
// has a zero on the diagonal; after its neighbours are gone the pivot is minus the mobility that they leave to it.
#include "math/elimination.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/memory.h"
#include "math/kernel.h"

#define SOUND 0.05     // part of its full size that a pivot must have to be taken early
#define VANISHED 1e-10 // part of a pivot at creation below which it counts as lost

typedef struct stretch { // values[to ..] -= l * values[from ..], length
    int from, to, length;
} stretch;

struct kd_elimination {
    int      n;
    int     *unknown; // (n) in the order of elimination
    int     *row;     // (n + 1) start of a row in column and values
    int     *column;  // places in the order, rising
    int     *diagonal;
    int     *first; // per entry of L: its stretches are first[e] .. first[e + 1] - 1, counted over all entries of L
    stretch *stretches;
    double  *values, *inverse; // inverse (n): reciprocals of the pivots
    double  *least;            // (n) below this a pivot has vanished
    double  *x;                // (n) the solution in the order of elimination
    kd_arena arena;
    int      entries;
    long     factor_operations;
};

// ---- order ----------------------------------------------------------------------------------------------------------
typedef struct planner {
    int            n;
    const int     *block;
    double        *A;         // (n x n) what is left of K, row-major
    unsigned char *linked;    // (n x n) its pattern
    bool          *gone;      // (n)
    double        *full;      // (n) size of a pivot at its best
    int           *degree;    // (n)
    int           *waits_for; // (n) by block: the last question whose row was found to wait for it
    int            questions;
    kd_arena       arena;
} planner;

static bool planner_cut(planner *p, int n, const int *block)
{
    p->n = n;
    p->block = block;
    p->A = kd_cut_matrix(&p->arena, n, n);
    p->linked = kd_arena_cut(&p->arena, (size_t)n * (size_t)n, 1);
    p->gone = kd_cut_bool(&p->arena, n);
    p->full = kd_cut_double(&p->arena, n);
    p->degree = kd_cut_int(&p->arena, n);
    p->waits_for = kd_cut_int(&p->arena, n);
    return !p->arena.failed;
}

static size_t at(const planner *p, int i, int j)
{
    return (size_t)i * (size_t)p->n + (size_t)j;
}

static void link(planner *p, int i, int j)
{
    if (i == j || p->linked[at(p, i, j)]) return;
    p->linked[at(p, i, j)] = p->linked[at(p, j, i)] = 1;
    p->degree[i]++;
    p->degree[j]++;
}

// full: of A the diagonal, of a row of C the mobility of the diagonal of A along it
static void planner_fill(planner *p, const kd_entries *e)
{
    for (int k = 0; k < e->count; k++) {
        p->A[at(p, e->row[k], e->column[k])] += e->value[k];
        link(p, e->row[k], e->column[k]);
    }
    for (int i = 0; i < p->n; i++)
        if (p->block[i] >= 0) p->full[i] = fabs(p->A[at(p, i, i)]);
    for (int i = 0; i < p->n; i++)
        for (int j = 0; p->block[i] < 0 && j < p->n; j++)
            if (p->block[j] >= 0 && p->full[j] > 0)
                p->full[i] += fabs(p->A[at(p, i, j)] * p->A[at(p, j, i)]) / p->full[j];
}

static bool is_sound(const planner *p, int i, double part)
{
    double pivot = fabs(p->A[at(p, i, i)]);
    return pivot > part * p->full[i] && pivot >= DBL_MIN && pivot <= DBL_MAX;
}

// Are all neighbours of row i in A gone, or all those of one block?
static bool is_ripe(planner *p, int i)
{
    bool waiting = false;
    int  question = ++p->questions;
    for (int j = 0; j < p->n; j++) {
        if (!p->linked[at(p, i, j)] || p->block[j] < 0 || p->gone[j]) continue;
        p->waits_for[p->block[j]] = question;
        waiting = true;
    }
    for (int j = 0; j < p->n && waiting; j++)
        if (p->linked[at(p, i, j)] && p->block[j] >= 0 && p->gone[j] && p->waits_for[p->block[j]] != question)
            return true;
    return !waiting;
}

// Least degree of those that may go; if none may, the soundest of all.
static int next_pivot(planner *p)
{
    int best = -1, rescue = -1;
    for (int i = 0; i < p->n; i++) {
        if (p->gone[i]) continue;
        bool ripe = p->block[i] >= 0 || is_ripe(p, i);
        if (ripe && is_sound(p, i, SOUND) && (best < 0 || p->degree[i] < p->degree[best])) best = i;
        if (is_sound(p, i, 0.0) &&
            (rescue < 0 || fabs(p->A[at(p, i, i)]) * p->full[rescue] > fabs(p->A[at(p, rescue, rescue)]) * p->full[i]))
            rescue = i;
    }
    return best >= 0 ? best : rescue;
}

static void eliminate(planner *p, int k, int *neighbour)
{
    int count = 0;
    p->gone[k] = true;
    for (int j = 0; j < p->n; j++)
        if (p->linked[at(p, k, j)] && !p->gone[j]) {
            neighbour[count++] = j;
            p->degree[j]--;
        }
    double r = 1.0 / p->A[at(p, k, k)];
    for (int a = 0; a < count; a++) {
        double l = p->A[at(p, neighbour[a], k)] * r;
        for (int b = 0; b < count; b++) {
            p->A[at(p, neighbour[a], neighbour[b])] -= l * p->A[at(p, k, neighbour[b])];
            if (b < a) link(p, neighbour[a], neighbour[b]);
        }
    }
}

// unknown (n): the order; least (n); the pattern with all fill stays in p->linked. -1, or the unknown without pivot.
static int plan_order(planner *p, int *unknown, double *least, int *neighbour)
{
    for (int k = 0; k < p->n; k++) {
        int i = next_pivot(p);
        if (i < 0) {
            for (i = 0; p->gone[i]; i++) continue;
            return i;
        }
        unknown[k] = i;
        least[k] = VANISHED * fabs(p->A[at(p, i, i)]);
        eliminate(p, i, neighbour);
    }
    return -1;
}

// ---- pattern of the factors -----------------------------------------------------------------------------------------
// Entry (i, k) of the order, i > k: the stretches of row k right of the diagonal as they lie in row i. out NULL: count.
static int find_stretches(const kd_elimination *s, int i, int k, stretch *out)
{
    int count = 0, to = s->row[i];
    for (int from = s->diagonal[k] + 1; from < s->row[k + 1];) {
        while (s->column[to] != s->column[from]) to++;
        int length = 1;
        while (from + length < s->row[k + 1] && s->column[to + length] == s->column[from + length]) length++;
        if (out) out[count] = (stretch){from, to, length};
        count++;
        from += length;
    }
    return count;
}

static bool cut_pattern(kd_elimination *s, const planner *p)
{
    int n = s->n, count = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) count += i == j || p->linked[at(p, i, j)];
    s->column = kd_cut_int(&s->arena, count);
    s->values = kd_cut_double(&s->arena, count);
    if (s->arena.failed) return false;
    count = 0;
    for (int i = 0; i < n; i++) {
        s->row[i] = count;
        for (int j = 0; j < n; j++) {
            if (i == j) s->diagonal[i] = count;
            if (i == j || p->linked[at(p, s->unknown[i], s->unknown[j])]) s->column[count++] = j;
        }
    }
    s->row[n] = count;
    return true;
}

static bool cut_stretches(kd_elimination *s)
{
    int lower = 0, count = 0;
    for (int i = 0; i < s->n; i++) lower += s->diagonal[i] - s->row[i];
    s->first = kd_cut_int(&s->arena, lower + 1);
    if (s->arena.failed) return false;
    for (int pass = 0; pass < 2; pass++) {
        lower = count = 0;
        for (int i = 0; i < s->n; i++)
            for (int e = s->row[i]; e < s->diagonal[i]; e++, lower++) {
                s->first[lower] = count;
                count += find_stretches(s, i, s->column[e], pass == 0 ? NULL : s->stretches + count);
            }
        s->first[lower] = count;
        if (pass == 0) s->stretches = kd_arena_cut(&s->arena, (size_t)count, sizeof *s->stretches);
        if (s->arena.failed) return false;
    }
    for (int k = 0; k < count; k++) s->factor_operations += 2L * s->stretches[k].length;
    s->factor_operations += lower + s->n;
    return true;
}

static int find_slot(const kd_elimination *s, int i, int j)
{
    int low = s->row[i], high = s->row[i + 1] - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (s->column[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool set_slots(kd_elimination *s, const kd_entries *e, int *slot)
{
    kd_arena scratch = {0};
    int     *place = kd_cut_int(&scratch, s->n);
    bool    *seen = kd_cut_bool(&scratch, s->row[s->n]);
    bool     ok = !scratch.failed;
    for (int k = 0; ok && k < s->n; k++) place[s->unknown[k]] = k;
    for (int k = 0; ok && k < e->count; k++) {
        slot[k] = find_slot(s, place[e->row[k]], place[e->column[k]]);
        s->entries += !seen[slot[k]];
        seen[slot[k]] = true;
    }
    kd_arena_release(&scratch);
    return ok;
}

static kd_status plan(kd_elimination *s, const int *block, const kd_entries *entries, int *slot, int *bad)
{
    planner   p = {0};
    kd_status status = KD_ERR_MEMORY;
    int      *neighbour = kd_cut_int(&p.arena, s->n);
    if (!planner_cut(&p, s->n, block)) goto done;
    planner_fill(&p, entries);
    *bad = plan_order(&p, s->unknown, s->least, neighbour);
    if (*bad >= 0)
        status = KD_ERR_DECOMPOSITION;
    else if (cut_pattern(s, &p) && cut_stretches(s) && set_slots(s, entries, slot))
        status = KD_OK;
done:
    kd_arena_release(&p.arena);
    return status;
}

kd_status kd_elimination_create(int n, const int *block, const kd_entries *entries, int *slot, kd_elimination **self,
                                int *bad)
{
    kd_elimination *s = kd_alloc(sizeof *s);
    kd_status       status = KD_ERR_MEMORY;
    *self = NULL;
    *bad = -1;
    if (!s) return status;
    s->n = n;
    s->unknown = kd_cut_int(&s->arena, n);
    s->row = kd_cut_int(&s->arena, n + 1);
    s->diagonal = kd_cut_int(&s->arena, n);
    s->inverse = kd_cut_double(&s->arena, n);
    s->least = kd_cut_double(&s->arena, n);
    s->x = kd_cut_double(&s->arena, n);
    if (!s->arena.failed) status = plan(s, block, entries, slot, bad);
    if (status == KD_OK)
        *self = s;
    else
        kd_elimination_destroy(s);
    return status;
}

void kd_elimination_destroy(kd_elimination *self)
{
    if (!self) return;
    kd_arena_release(&self->arena);
    kd_free(self);
}

// ---- numbers --------------------------------------------------------------------------------------------------------
double *kd_elimination_clear(kd_elimination *self)
{
    memset(self->values, 0, (size_t)self->row[self->n] * sizeof *self->values);
    return self->values;
}

int kd_elimination_factor(kd_elimination *self)
{
    double    *values = self->values, *inverse = self->inverse;
    const int *first = self->first;
    int        bad = self->n;
    for (int i = 0; i < self->n; i++) {
        for (int e = self->row[i]; e < self->diagonal[i]; e++, first++) {
            const double l = values[e] *= inverse[self->column[e]];
            for (const stretch *s = self->stretches + first[0]; s < self->stretches + first[1]; s++)
                kd_kernel_sub(s->length, l, values + s->from, values + s->to);
        }
        const double pivot = values[self->diagonal[i]];
        const bool   sound = fabs(pivot) > self->least[i] && fabs(pivot) <= DBL_MAX;
        bad = !sound && i < bad ? i : bad;
        inverse[i] = 1.0 / pivot;
    }
    return bad < self->n ? self->unknown[bad] : -1;
}

void kd_elimination_solve(const kd_elimination *self, double *b)
{
    double *x = self->x;
    for (int i = 0; i < self->n; i++) { // L x = b
        double sum = b[self->unknown[i]];
        for (int e = self->row[i]; e < self->diagonal[i]; e++) sum -= self->values[e] * x[self->column[e]];
        x[i] = sum;
    }
    for (int i = self->n - 1; i >= 0; i--) { // U x = x
        double sum = x[i];
        for (int e = self->diagonal[i] + 1; e < self->row[i + 1]; e++) sum -= self->values[e] * x[self->column[e]];
        b[self->unknown[i]] = x[i] = sum * self->inverse[i];
    }
}

kd_elimination_size kd_elimination_size_of(const kd_elimination *self)
{
    int places = self->row[self->n];
    return (kd_elimination_size){.entries = self->entries,
                                 .fill = places - self->entries,
                                 .factor = self->factor_operations,
                                 .solve = 2L * (places - self->n) + self->n};
}
