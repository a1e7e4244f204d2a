// elimination.c: sparse LU with a fixed order of pivots, by dense fronts.
//
// Order: least degree among the unknowns that may be eliminated (Markowitz' count on a symmetric pattern). A row of C
// has a zero on the diagonal; after its neighbours are gone the pivot is minus the mobility that they leave to it.
//
// Pivots that follow each other in the elimination tree and see nearly the same unknowns share a front: a full matrix
// of w pivots and b unknowns of its border, eliminated later. Its first w columns are eliminated in place, and what is
// left of the border is added to the front above (Duff, Erisman, Reid: Direct Methods for Sparse Matrices, ch. 12).
// Rows are padded with zeros, so that the inner loop always takes whole vectors. A right-hand side is one column more.
//
// Four fronts of the same shape that do not wait for each other (the corners of a car) are eliminated side by side, one
// in each number of a vector. Unknowns that most others see (the car body) are left to the end where that makes such parts.
#include "math/elimination.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/memory.h"
#define KD_VARIANT kd_elimination_base
#include "math/elimination_kernels.h"

#define SOUND 0.05     // part of its full size that a pivot must have to be taken early
#define VANISHED 1e-10 // part of a pivot at creation below which it counts as lost

#define SMALL_FRONT 12 // fronts up to this order are joined whatever zeros that costs
#define ADDITIONS 3    // operations of the inner loop that one addition to a border is worth
#define ZEROS 0.2      // larger ones only for at most this part of zeros
#define WIDEST 24      // order up to which fronts of the same shape are eliminated side by side: 19 kB

typedef kd_front front;

struct kd_elimination {
    int                    n, nfronts, nbatches;
    int                   *unknown; // (n) in the order of elimination
    int                   *side;    // (n) by place: where its right-hand side lives in values
    front                 *fronts;  // from the leaves to the root
    kd_batch              *batches; // of fronts, from the leaves to the root
    kd_elimination_kernels kernel;
    size_t                 nvalues;
    double                *values, *inverse; // of all fronts; (n) reciprocals of the pivots
    double                *most;             // (n) a pivot whose reciprocal is not below this has vanished
    double                *x, *work;         // (n) the solution in the order of elimination; of one batch
    kd_arena               arena;
    int                    entries;
    long                   factor_operations, solve_operations;
};

static kd_elimination_kernels choose_kernels(void)
{
#ifdef KD_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kd_elimination_avx2;
#endif
    return kd_elimination_base;
}

// ---- order ----------------------------------------------------------------------------------------------------------
typedef struct planner {
    int            n;
    const int     *block;
    double        *A;         // (n x n) what is left of K, row-major
    unsigned char *linked;    // (n x n) its pattern: entries of K, or fill
    bool          *gone;      // (n)
    bool          *late;      // (n) left to the end
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
    p->late = kd_cut_bool(&p->arena, n);
    p->full = kd_cut_double(&p->arena, n);
    p->degree = kd_cut_int(&p->arena, n);
    p->waits_for = kd_cut_int(&p->arena, n);
    return !p->arena.failed;
}

static size_t at(const planner *p, int i, int j)
{
    return (size_t)i * (size_t)p->n + (size_t)j;
}

enum { ENTRY = 1, FILL = 2 };

static void link_unknowns(planner *p, int i, int j, unsigned char kind)
{
    if (i == j || p->linked[at(p, i, j)]) return;
    p->linked[at(p, i, j)] = p->linked[at(p, j, i)] = kind;
    p->degree[i]++;
    p->degree[j]++;
}

// full: of A the diagonal, of a row of C the mobility of the diagonal of A along it
static void planner_fill(planner *p, const kd_entries *e)
{
    // K and its pattern
    for (int k = 0; k < e->count; k++) {
        p->A[at(p, e->row[k], e->column[k])] += e->value[k];
        link_unknowns(p, e->row[k], e->column[k], ENTRY);
    }
    // |A_ii|; sum_j |C_ij B_ji| / |A_jj|
    for (int i = 0; i < p->n; i++)
        if (p->block[i] >= 0) p->full[i] = fabs(p->A[at(p, i, i)]);
    for (int i = 0; i < p->n; i++)
        for (int j = 0; p->block[i] < 0 && j < p->n; j++)
            if (p->block[j] >= 0 && p->full[j] > 0)
                p->full[i] += fabs(p->A[at(p, i, j)] * p->A[at(p, j, i)]) / p->full[j];
}

// Parts that hang together without the unknowns that are late, of the same size as part i; root (n), size (n): of each part
static int equal_parts(const planner *p, const int *root, const int *size, int i)
{
    int count = 0;
    for (int j = 0; j < p->n; j++) count += !p->late[j] && root[j] == j && size[j] == size[i];
    return count;
}

static int part_of(int *root, int i)
{
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
}

// Unknowns that at least half of all others see go last if the rest falls into parts of the same size, for a vector
static void find_late(planner *p, int *root, int *size)
{
    bool side_by_side = false;
    for (int i = 0; i < p->n; i++) {
        p->late[i] = 2 * p->degree[i] >= p->n;
        root[i] = i;
        size[i] = 0;
    }
    // parts and their sizes
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < i && !p->late[i]; j++)
            if (p->linked[at(p, i, j)] && !p->late[j]) root[part_of(root, i)] = part_of(root, j);
    for (int i = 0; i < p->n; i++) size[root[i] = part_of(root, i)]++;
    // as many of one size as a vector has numbers
    for (int i = 0; i < p->n; i++)
        side_by_side = side_by_side || (!p->late[i] && root[i] == i && size[i] > 1 &&
                                        equal_parts(p, root, size, i) >= KD_ELIMINATION_LANES);
    for (int i = 0; i < p->n; i++) p->late[i] = p->late[i] && side_by_side;
}

static bool is_sound(const planner *p, int i, double part)
{
    double pivot = fabs(p->A[at(p, i, i)]);
    return pivot > part * p->full[i] && pivot >= DBL_MIN && pivot <= DBL_MAX;
}

// Are all neighbours of row i in A gone, or all those of one block? Fill does not count: it came with what is gone.
static bool is_ripe(planner *p, int i)
{
    bool waiting = false;
    int  question = ++p->questions;
    for (int j = 0; j < p->n; j++) {
        if (p->linked[at(p, i, j)] != ENTRY || p->block[j] < 0 || p->gone[j]) continue;
        p->waits_for[p->block[j]] = question;
        waiting = true;
    }
    for (int j = 0; j < p->n && waiting; j++)
        if (p->linked[at(p, i, j)] == ENTRY && p->block[j] >= 0 && p->gone[j] && p->waits_for[p->block[j]] != question)
            return true;
    return !waiting;
}

static bool is_before(const planner *p, int i, int j)
{
    return p->late[i] == p->late[j] ? p->degree[i] <= p->degree[j] : p->late[j];
}

// Least degree of those that may go, the last of equals (bodies are numbered from the root of a tree to its tips); if
// none may, the soundest of all. Those that are late after all others.
static int next_pivot(planner *p)
{
    int best = -1, rescue = -1;
    for (int i = 0; i < p->n; i++) {
        if (p->gone[i]) continue;
        bool ripe = p->block[i] >= 0 || is_ripe(p, i);
        if (ripe && is_sound(p, i, SOUND) && (best < 0 || is_before(p, i, best))) best = i;
        if (is_sound(p, i, 0.0) &&
            (rescue < 0 || fabs(p->A[at(p, i, i)]) * p->full[rescue] > fabs(p->A[at(p, rescue, rescue)]) * p->full[i]))
            rescue = i;
    }
    return best >= 0 ? best : rescue;
}

// A -= A_ik A_kj / A_kk over the neighbours of k, which become neighbours of each other
static void take_away(planner *p, int k, int *neighbour)
{
    int count = 0;
    p->gone[k] = true;
    // neighbours that are left
    for (int j = 0; j < p->n; j++)
        if (p->linked[at(p, k, j)] && !p->gone[j]) {
            neighbour[count++] = j;
            p->degree[j]--;
        }
    // outer product, fill
    double r = 1.0 / p->A[at(p, k, k)];
    for (int a = 0; a < count; a++) {
        double l = p->A[at(p, neighbour[a], k)] * r;
        for (int b = 0; b < count; b++) {
            p->A[at(p, neighbour[a], neighbour[b])] -= l * p->A[at(p, k, neighbour[b])];
            if (b < a) link_unknowns(p, neighbour[a], neighbour[b], FILL);
        }
    }
}

// unknown (n): the order; most (n); the pattern with all fill stays in p->linked. -1, or the unknown without pivot.
static int plan_order(planner *p, int *unknown, double *most, int *neighbour)
{
    for (int k = 0; k < p->n; k++) {
        int i = next_pivot(p);
        if (i < 0) {
            for (i = 0; p->gone[i]; i++) continue;
            return i;
        }
        unknown[k] = i;
        most[k] = 1.0 / (VANISHED * fabs(p->A[at(p, i, i)]));
        take_away(p, i, neighbour);
    }
    return -1;
}

// ---- fronts ---------------------------------------------------------------------------------------------------------
typedef struct tree {
    int *parent;       // (n) by place: the first of the later places that it is linked with; -1: none
    int *count;        // (n) number of these
    int *child, *next; // (n) lists of children
    int *order;        // (n) places in postorder
} tree;

static int is_linked(const planner *p, const int *unknown, int i, int j)
{
    return p->linked[at(p, unknown[i], unknown[j])];
}

// Parent: the first unknown of the border, which all others of the border are linked with from then on
static void find_parents(const planner *p, const int *unknown, tree *t)
{
    for (int k = 0; k < p->n; k++) {
        t->parent[k] = -1;
        t->count[k] = 0;
        for (int j = p->n - 1; j > k; j--)
            if (is_linked(p, unknown, k, j)) {
                t->parent[k] = j;
                t->count[k]++;
            }
    }
}

// Children before parents and next to them: the same fill, and fronts without gaps.
static void sort_postorder(const planner *p, int *unknown, double *most, tree *t, int *copy, double *values)
{
    int at_ = 0, n = p->n;
    // lists of children, in rising order
    for (int k = 0; k < n; k++) t->child[k] = -1;
    for (int k = n - 1; k >= 0; k--)
        if (t->parent[k] >= 0) {
            t->next[k] = t->child[t->parent[k]];
            t->child[t->parent[k]] = k;
        }
    // depth first
    for (int root = 0; root < n; root++) {
        if (t->parent[root] >= 0) continue;
        for (int k = root; k >= 0;) { // down the first children that are left, then take the place itself
            if (t->child[k] >= 0) {
                int child = t->child[k];
                t->child[k] = t->next[child];
                k = child;
            } else {
                t->order[at_++] = k;
                k = k == root ? -1 : t->parent[k];
            }
        }
    }
    // the new order
    memcpy(copy, unknown, (size_t)n * sizeof *copy);
    memcpy(values, most, (size_t)n * sizeof *values);
    for (int k = 0; k < n; k++) {
        unknown[k] = copy[t->order[k]];
        most[k] = values[t->order[k]];
    }
}

// Zeros that a front of w pivots stores when place k, the parent of its last one, joins it
static bool may_join(const tree *t, int first, int k)
{
    int  order = k - first + 1 + t->count[k];
    long stored = (long)order * order - (long)t->count[k] * t->count[k], needed = 0;
    if (t->parent[k - 1] != k) return false;
    // entries of L and U that are not zero by structure
    for (int i = first; i <= k; i++) needed += 2L * t->count[i] + 1;
    return order <= SMALL_FRONT || (double)(stored - needed) <= ZEROS * (double)stored;
}

// Unknowns of a front: its pivots, then the border of the last one
static void set_places(const planner *p, const int *unknown, front *f)
{
    int last = f->first + f->pivots - 1, count = 0;
    for (int j = f->first; j <= last; j++) f->place[count++] = j;
    for (int j = last + 1; j < p->n; j++)
        if (is_linked(p, unknown, last, j)) f->place[count++] = j;
}

// Does it pay to eliminate a front with the next one, which takes its border? Its rows get longer, but its border need
// not be added.
static bool pays_together(const tree *t, const front *f, const front *next)
{
    int  order = f->pivots + next->order, border = f->order - f->pivots;
    long more = 0;
    if (t->parent[f->first + f->pivots - 1] >= next->first + next->pivots || border == 0) return false;
    // operations that longer rows cost
    for (int i = 1; i <= f->pivots; i++)
        more += (long)(order - i) * (order - i) - (long)(f->order - i) * (f->order - i);
    return more <= ADDITIONS * border * border;
}

// A front has unknowns that are late, or others
static bool is_border_of_late(const planner *p, const int *unknown, int k)
{
    return p->late[unknown[k]] != p->late[unknown[k - 1]];
}

// Along the order: pivots that may join, then fronts that are eliminated together
static void find_fronts(kd_elimination *s, const planner *p, const tree *t)
{
    for (int k = 0; k < s->n;) {
        front *f = &s->fronts[s->nfronts++];
        f->first = k++;
        while (k < s->n && !is_border_of_late(p, s->unknown, k) && may_join(t, f->first, k)) k++;
        f->pivots = k - f->first;
        f->order = f->pivots + t->count[k - 1];
        for (; s->nfronts > 1 && !is_border_of_late(p, s->unknown, f->first) && pays_together(t, f - 1, f);
             f--, s->nfronts--) {
            f[-1].pivots += f->pivots;
            f[-1].order = f[-1].pivots + f->order - f->pivots;
        }
    }
}

static bool cut_fronts(kd_elimination *s, const planner *p, const tree *t)
{
    s->fronts = kd_arena_cut(&s->arena, (size_t)s->n, sizeof *s->fronts);
    if (s->arena.failed) return false;
    find_fronts(s, p, t);
    for (front *f = s->fronts; f < s->fronts + s->nfronts; f++) {
        int border = f->order - f->pivots;
        f->place = kd_cut_int(&s->arena, f->order);
        f->target = kd_arena_cut(&s->arena, (size_t)border * (size_t)(border + 1), sizeof *f->target);
        f->run = kd_arena_cut(&s->arena, (size_t)border + 1, sizeof *f->run);
        f->row = kd_cut_int(&s->arena, border);
        if (s->arena.failed) return false;
        set_places(p, s->unknown, f);
        // operations of one pivot: a division, the row, an outer product
        for (int i = 0; i < f->pivots; i++) {
            long rest = f->order - 1 - i;
            s->factor_operations += 2 * rest * rest + rest + 1;
            s->solve_operations += 4 * rest + 1;
        }
        s->factor_operations += (long)border * border;
    }
    return true;
}

// Each border goes to the first front above that eliminates one of its unknowns; height: fronts below, at most
static void find_above(kd_elimination *s, int *height)
{
    for (int k = 0; k < s->nfronts; k++) height[k] = 0;
    for (int k = 0; k < s->nfronts; k++) {
        front *f = &s->fronts[k];
        f->above = -1;
        if (f->order == f->pivots) continue;
        for (f->above = k; f->place[f->pivots] >= s->fronts[f->above].first + s->fronts[f->above].pivots;) f->above++;
        if (height[f->above] <= height[k]) height[f->above] = height[k] + 1;
    }
}

// ---- batches --------------------------------------------------------------------------------------------------------
// Fronts of one height do not wait for each other: front k and those of its shape behind it, -1 in height when taken
static void gather_batch(kd_elimination *s, int k, int *height)
{
    kd_batch *b = &s->batches[s->nbatches++];
    int       found[KD_ELIMINATION_LANES] = {k}, count = 1;
    for (int i = k + 1; i < s->nfronts && count < KD_ELIMINATION_LANES; i++)
        if (height[i] == height[k] && s->fronts[i].pivots == s->fronts[k].pivots &&
            s->fronts[i].order == s->fronts[k].order && s->fronts[k].order <= WIDEST)
            found[count++] = i;
    if (count < KD_ELIMINATION_LANES) count = 1;
    for (int i = 0; i < count; i++) {
        b->front[i] = &s->fronts[found[i]];
        height[found[i]] = -1;
    }
}

// Where the numbers of a batch live: one front with rows padded to whole vectors, or vectors
static void place_batch(kd_elimination *s, const kd_batch *b)
{
    const bool   one = !b->front[1];
    const int    order = b->front[0]->order, padding = one ? 2 * (KD_ELIMINATION_LANES - 1) : 0;
    const int    ld = one ? (order + 1 + padding) / KD_ELIMINATION_LANES * KD_ELIMINATION_LANES : order + 1;
    const size_t size = (size_t)order * (size_t)ld;
    for (int i = 0; i < KD_ELIMINATION_LANES && b->front[i]; i++) {
        front *f = &s->fronts[b->front[i] - s->fronts];
        f->ld = ld;
        f->stride = one ? 1 : KD_ELIMINATION_LANES;
        f->start = (int)s->nvalues + i;
    }
    s->nvalues += one ? size : KD_ELIMINATION_LANES * size;
}

static bool cut_batches(kd_elimination *s, int *height)
{
    int highest = 0;
    s->batches = kd_arena_cut(&s->arena, (size_t)s->nfronts, sizeof *s->batches);
    if (s->arena.failed) return false;
    // from the leaves to the root
    for (int k = 0; k < s->nfronts; k++) highest = height[k] > highest ? height[k] : highest;
    for (int h = 0; h <= highest; h++)
        for (int k = 0; k < s->nfronts; k++)
            if (height[k] == h) gather_batch(s, k, height);
    for (int k = 0; k < s->nbatches; k++) place_batch(s, &s->batches[k]);
    s->values = kd_cut_numbers(&s->arena, s->nvalues);
    return !s->arena.failed;
}

static int entry_of(const front *f, int i, int j)
{
    return f->start + (i * f->ld + j) * f->stride;
}

// Position of a place in a front; it is there.
static int find_place(const front *f, int place)
{
    int i = 0;
    while (f->place[i] != place) i++;
    return i;
}

// Columns of the border that stand in a row in the front above, of fronts whose rows are numbers in a row
static void find_runs(front *f, const front *g)
{
    if (f->stride != 1 || g->stride != 1) return;
    for (int i = f->pivots; i < f->order; i++) f->row[i - f->pivots] = entry_of(g, find_place(g, f->place[i]), 0);
    for (int j = f->pivots; j <= f->order; j++) {
        const int            to = j < f->order ? find_place(g, f->place[j]) : g->order;
        struct kd_front_run *last = &f->run[f->nruns - 1];
        if (f->nruns > 0 && last->to + last->n == to)
            last->n++;
        else
            f->run[f->nruns++] = (struct kd_front_run){j, to, 1};
    }
}

// Where each number of the border is added in the front above
static void link_fronts(kd_elimination *s)
{
    for (front *f = s->fronts; f < s->fronts + s->nfronts; f++) {
        const front *g = f->above < 0 ? NULL : &s->fronts[f->above];
        int         *target = f->target;
        for (int i = f->pivots; i < f->order && g; i++) {
            int row = find_place(g, f->place[i]);
            for (int j = f->pivots; j < f->order; j++) *target++ = entry_of(g, row, find_place(g, f->place[j]));
            *target++ = entry_of(g, row, g->order); // right-hand side
        }
        if (g) find_runs(f, g);
    }
}

// Do the borders of all fronts of a batch go to the same places?
static bool share_targets(const kd_batch *b)
{
    const int border = b->front[0]->order - b->front[0]->pivots;
    for (int i = 1; i < KD_ELIMINATION_LANES; i++)
        if (!b->front[i] || memcmp(b->front[i]->target, b->front[0]->target,
                                   (size_t)border * (size_t)(border + 1) * sizeof *b->front[0]->target) != 0)
            return false;
    return true;
}

// An entry of K lives in the front that eliminates the first of its two unknowns
static bool set_slots(kd_elimination *s, const kd_entries *e, int *slot)
{
    kd_arena scratch = {0};
    int     *place = kd_cut_int(&scratch, s->n), *home = kd_cut_int(&scratch, s->n);
    bool    *seen = kd_arena_cut(&scratch, s->nvalues, sizeof *seen);
    bool     ok = !scratch.failed;
    // places of unknowns in the order of elimination, and the front of each place
    for (int k = 0; ok && k < s->n; k++) place[s->unknown[k]] = k;
    for (int k = 0; ok && k < s->nfronts; k++)
        for (int i = 0; i < s->fronts[k].pivots; i++) home[s->fronts[k].first + i] = k;
    // several entries of K may fall on one slot: counted once
    for (int k = 0; ok && k < e->count; k++) {
        int          i = place[e->row[k]], j = place[e->column[k]];
        const front *f = &s->fronts[home[i < j ? i : j]];
        slot[k] = entry_of(f, find_place(f, i), find_place(f, j));
        s->entries += !seen[slot[k]];
        seen[slot[k]] = true;
    }
    kd_arena_release(&scratch);
    return ok;
}

static void set_sides(kd_elimination *s)
{
    for (const front *f = s->fronts; f < s->fronts + s->nfronts; f++)
        for (int i = 0; i < f->pivots; i++) s->side[f->first + i] = entry_of(f, i, f->order);
}

static bool build_fronts(kd_elimination *s, planner *p, int *copy)
{
    int  n = s->n;
    tree t = {.parent = kd_cut_int(&p->arena, n),
              .count = kd_cut_int(&p->arena, n),
              .child = kd_cut_int(&p->arena, n),
              .next = kd_cut_int(&p->arena, n),
              .order = kd_cut_int(&p->arena, n)};
    if (p->arena.failed) return false;
    // elimination tree, in postorder
    find_parents(p, s->unknown, &t);
    sort_postorder(p, s->unknown, s->most, &t, copy, s->x);
    find_parents(p, s->unknown, &t);
    // fronts along it
    if (!cut_fronts(s, p, &t)) return false;
    find_above(s, t.order);
    if (!cut_batches(s, t.order)) return false;
    link_fronts(s);
    for (int k = 0; k < s->nbatches; k++) s->batches[k].together = share_targets(&s->batches[k]);
    set_sides(s);
    return true;
}

static kd_status plan_elimination(kd_elimination *s, const int *block, const kd_entries *entries, int *slot, int *bad)
{
    planner   p = {0};
    kd_status status = KD_ERR_MEMORY;
    int      *neighbour = kd_cut_int(&p.arena, s->n);
    if (!planner_cut(&p, s->n, block)) goto done;
    // order of the pivots from the numbers, then the fronts
    planner_fill(&p, entries);
    find_late(&p, s->unknown, neighbour);
    *bad = plan_order(&p, s->unknown, s->most, neighbour);
    if (*bad >= 0)
        status = KD_ERR_DECOMPOSITION;
    else if (build_fronts(s, &p, neighbour) && set_slots(s, entries, slot))
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
    s->kernel = choose_kernels();
    s->side = kd_cut_int(&s->arena, n);
    s->inverse = kd_cut_double(&s->arena, n);
    s->most = kd_cut_double(&s->arena, n);
    s->x = kd_cut_double(&s->arena, n);
    s->work = kd_cut_double(&s->arena, (n + WIDEST) * KD_ELIMINATION_LANES);
    if (!s->arena.failed) status = plan_elimination(s, block, entries, slot, bad);
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
    memset(self->values, 0, self->nvalues * sizeof *self->values);
    return self->values;
}

// Fronts side by side whose borders go to the same places: their sum
static void give_together(const front *f, double *values)
{
    const int *target = f->target;
    for (int i = f->pivots; i < f->order; i++)
        for (int j = f->pivots; j <= f->order; j++) {
            const double *x = values + entry_of(f, i, j);
            values[*target++] += (x[0] + x[1]) + (x[2] + x[3]);
        }
}

// What is left of the border, with its right-hand side, is added to the front above
static void give_border(const front *f, double *values)
{
    const int *target = f->target;
    for (int i = f->pivots; i < f->order; i++) {
        const double *row = values + entry_of(f, i, 0);
        for (int j = f->pivots; j <= f->order; j++) values[*target++] += row[j * f->stride];
    }
}

static void solve_upper(const kd_elimination *s, double *b)
{
    for (const kd_batch *batch = s->batches + s->nbatches; batch-- > s->batches;)
        s->kernel.upper(batch, s->values, s->inverse, s->x, s->work);
    for (int i = 0; i < s->n; i++) b[s->unknown[i]] = s->x[i];
}

static int lost_pivot(const kd_elimination *s)
{
    const double *inverse = s->inverse, *most = s->most;
    int           sound = 0, bad = 0;
    for (int i = 0; i < s->n; i++) sound += fabs(inverse[i]) < most[i];
    if (sound == s->n) return -1;
    while (fabs(inverse[bad]) < most[bad]) bad++;
    return s->unknown[bad];
}

int kd_elimination_factor(kd_elimination *self, double *b)
{
    // b as one column more
    for (int i = 0; b && i < self->n; i++) self->values[self->side[i]] = b[self->unknown[i]];
    // from the leaves to the root: L U of each front, its border to the one above
    for (const kd_batch *batch = self->batches; batch < self->batches + self->nbatches; batch++) {
        self->kernel.eliminate(batch, self->values, self->inverse);
        if (batch->together) give_together(batch->front[0], self->values);
        if (batch->front[0]->nruns > 0) {
            self->kernel.give(batch->front[0], self->values);
            continue;
        }
        for (int i = 0; !batch->together && i < KD_ELIMINATION_LANES && batch->front[i]; i++)
            give_border(batch->front[i], self->values);
    }
    // x = U \ (L \ b)
    if (b) {
        for (int i = 0; i < self->n; i++) self->x[i] = self->values[self->side[i]];
        solve_upper(self, b);
    }
    return lost_pivot(self);
}

static bool has_marked(const kd_elimination *s, const front *f, const bool *marked)
{
    for (int i = 0; i < f->pivots; i++)
        if (marked[s->unknown[f->first + i]]) return true;
    return false;
}

void kd_elimination_mark(kd_elimination *self, const bool *marked)
{
    // fronts come before those that take their borders
    for (front *f = self->fronts; f < self->fronts + self->nfronts; f++) f->sees_marked = false;
    for (front *f = self->fronts; f < self->fronts + self->nfronts; f++) {
        f->sees_marked = f->sees_marked || has_marked(self, f, marked);
        if (f->sees_marked && f->above >= 0) self->fronts[f->above].sees_marked = true;
    }
    for (kd_batch *b = self->batches; b < self->batches + self->nbatches; b++) {
        b->sees_marked = false;
        for (int i = 0; i < KD_ELIMINATION_LANES && b->front[i]; i++)
            b->sees_marked = b->sees_marked || b->front[i]->sees_marked;
    }
}

// x = U \ (L \ b) with the kept factors
static void solve_with(const kd_elimination *s, bool marked, double *b)
{
    for (int i = 0; i < s->n; i++) s->x[i] = b[s->unknown[i]];
    for (const kd_batch *batch = s->batches; batch < s->batches + s->nbatches; batch++)
        if (!marked || batch->sees_marked) s->kernel.lower(batch, s->values, s->x, s->work);
    solve_upper(s, b);
}

void kd_elimination_solve(const kd_elimination *self, double *b)
{
    solve_with(self, false, b);
}

void kd_elimination_solve_marked(const kd_elimination *self, double *b)
{
    solve_with(self, true, b);
}

size_t kd_elimination_numbers(const kd_elimination *self)
{
    return self->nvalues + (size_t)self->n;
}

// In pieces of some hundred numbers, which go through vector registers; all at once would take the processor's string moves
static void copy_factors(const kd_elimination *s, const double *from, double *to)
{
    enum { PIECE = 224 };
    for (size_t k = 0; k < s->nvalues; k += PIECE)
        memcpy(to + k, from + k, (s->nvalues - k < PIECE ? s->nvalues - k : PIECE) * sizeof *to);
}

void kd_elimination_keep(const kd_elimination *self, double *factors)
{
    copy_factors(self, self->values, factors);
    memcpy(factors + self->nvalues, self->inverse, (size_t)self->n * sizeof *factors);
}

void kd_elimination_put_back(kd_elimination *self, const double *factors)
{
    copy_factors(self, factors, self->values);
    memcpy(self->inverse, factors + self->nvalues, (size_t)self->n * sizeof *factors);
}

kd_elimination_size kd_elimination_size_of(const kd_elimination *self)
{
    int places = 0, side_by_side = 0;
    for (int k = 0; k < self->nfronts; k++) {
        const front *f = &self->fronts[k];
        side_by_side += f->stride > 1;
        places += f->order * f->order - (f->order - f->pivots) * (f->order - f->pivots);
    }
    return (kd_elimination_size){.entries = self->entries,
                                 .fill = places - self->entries,
                                 .factor = self->factor_operations,
                                 .solve = self->solve_operations,
                                 .side_by_side = side_by_side};
}

void kd_elimination_archive(kd_elimination *self, kd_archive *a)
{
    long order = 0;
    for (int i = 0; i < self->n; i++) order = (31 * order + self->unknown[i]) % 1000003;
    kd_archive_same(a, order, "order of elimination");
    kd_archive_same(a, (long)self->nvalues, "entries of the factors");
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
}
