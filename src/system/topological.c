// topological.c: the linear system of accelerations and multipliers,
//
//     M a + (GZ)' lambda + (HZ)' mu = f,   GZ a = -gII0,   HZ a = -hI0,
//
// factored as L D L' in an order that follows the mechanism from its tips to the ground: the velocities of a body, then
// the constraints of the joint that carries it, then its parent. Pivots are definite in that order (the body's inertia,
// then minus the mobility that it leaves to the joint), so that none has to be looked for, and on trees a body couples
// to its parent only: linear in the number of bodies. In joint coordinates it is the elimination of M from tips to
// root, which creates no fill (Fs 6.5). A constraint that closes a loop comes, in joint coordinates, right
// behind the last velocity that it reads: its pivot is definite there, and it couples what its loop still hangs on, not
// all other loops (a row of N loops: N instead of N^3). In Cartesian ones it comes last: before the parents of bodies it
// could depend on the rows of their joints. The factorisation goes row by row along the elimination tree (Davis: Direct Methods for Sparse Linear Systems, ch.
// 4). Bodies that lack inertia in some direction (point masses) give no pivots in Cartesian coordinates; there all of K
// is factored by sparse LU with pivoting, linear for trees as well, at several times the cost.
#include "system/topological.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "math/linsolve.h"
#include "system/system.h"

#define SMALLEST_RCOND 1e-15 // least part of the largest pivot below which rows count as dependent
#define DEPENDENT 1e-10      // part of its mobility that earlier rows leave to a row which depends on them

// ---- order ----------------------------------------------------------------------------------------------------------
// Link after whose velocities a row of a joint of the tree stands; 0: it is none.
static int carrier_of(const kd_system *s, const kd_row *row)
{
    if (s->options.coordinates != KD_CARTESIAN || row->joint < 0) return 0;
    const kd_tree_edge *edge = &s->joints->edge[row->joint];
    const kd_joint     *joint = &s->model->joint[row->joint];
    if (edge->link == 0) return 0;
    int body = edge->reversed ? joint->from.body : joint->to.body;
    return s->body_link[body];
}

// Links from the tips to the ground: in Cartesian coordinates by the tree that the joints form.
// Modes of a flexible body come before its motion. Their number.
static int order_links(const kd_system *s, int *order)
{
    int n = s->tree.nlinks - 1, count = 0;
    // links are numbered from the ground outwards
    for (int i = 0; i < n; i++) order[i] = n - i;
    if (s->options.coordinates != KD_CARTESIAN) return n;
    for (int i = s->joints->tree.nlinks - 1; i > 0; i--) {
        const int body = s->joints->link_body[i];
        if (s->joints->body_link[body] != i) continue;
        if (s->wide_link[body] > 0) order[count++] = s->wide_link[body];
        order[count++] = s->body_link[body];
    }
    return count;
}

// Of each row the link whose velocities come last in the order among those that it reads; 0: it reads none
static void find_last_links(const kd_system *s, const int *turn, int *last)
{
    for (int i = 0; i < s->nlambda; i++) last[i] = 0;
    for (int j = 0; j < s->nv; j++) {
        const int link = s->tree.dof_link[s->tree.v_dof[j]];
        for (int k = s->G.column[j]; k < s->G.column[j + 1]; k++) {
            int *of_row = &last[s->G.row[k]];
            if (*of_row == 0 || turn[link] > turn[*of_row]) *of_row = link;
        }
    }
}

static bool order_unknowns(const kd_system *s, kd_topological *t)
{
    kd_arena scratch = {0};
    int      n = s->tree.nlinks, at = 0;
    int *order = kd_cut_int(&scratch, n), *first = kd_cut_int(&scratch, n), *next = kd_cut_int(&scratch, s->nlambda);
    int *turn = kd_cut_int(&scratch, n), *last = kd_cut_int(&scratch, s->nlambda);
    if (scratch.failed) {
        kd_arena_release(&scratch);
        return false;
    }
    const int count = order_links(s, order);
    for (int k = 0; k < count; k++) turn[order[k]] = k;
    find_last_links(s, turn, last);
    // rows of each link as lists, in their order
    for (int i = 0; i < n; i++) first[i] = -1;
    for (int i = s->nlambda - 1; i >= 0; i--) {
        int link = carrier_of(s, &s->row_g[s->kept[i]]);
        if (link == 0 && s->options.coordinates != KD_CARTESIAN) link = last[i];
        next[i] = first[link];
        first[link] = i;
    }
    // tips first: velocities of a link, then rows of the joint that carries it
    for (int k = 0; k < count; k++) {
        int link = order[k], dof = s->tree.link[link].dof;
        for (int d = s->tree.link[link].form.ndof - 1; d >= 0; d--) // the last dof carries the body
            if (s->tree.dof_v[dof + d] >= 0) t->place[s->tree.dof_v[dof + d]] = at++;
        for (int i = first[link]; i >= 0; i = next[i]) t->place[s->nv + i] = at++;
    }
    // what reads no velocity, then rows of h
    for (int i = first[0]; i >= 0; i = next[i]) t->place[s->nv + i] = at++;
    for (int i = 0; i < s->nmu; i++) t->place[s->nv + s->nlambda + i] = at++;
    kd_arena_release(&scratch);
    return true;
}

enum { MOST_OF_FREE_TREE = 1 << 18 }; // entries of M of a tree without constraints beyond which K is not planned

// ---- pattern --------------------------------------------------------------------------------------------------------
typedef struct entries { // places of K while they are collected
    const kd_topological *t;
    int                  *count; // per column
    int                  *row, *source;
} entries;

// upper triangle in the new order; without row it only counts
static void put_entry(entries *e, int i, int j, int source)
{
    int a = e->t->place[i], b = e->t->place[j], column = a > b ? a : b, row = a > b ? b : a;
    if (e->row) {
        int at = e->count[column]++;
        e->row[at] = row;
        e->source[at] = source;
    } else {
        e->count[column + 1]++;
    }
}

// M, G and H once, each with where its number comes from
static void put_all(const kd_system *s, entries *e)
{
    for (int j = 0; j < s->nv; j++) {
        for (int k = s->tree.column[j]; k < s->tree.column[j + 1]; k++)
            if (s->tree.row[k] <= j) put_entry(e, s->tree.row[k], j, k);
        for (int k = s->G.column[j]; k < s->G.column[j + 1]; k++) put_entry(e, s->nv + s->G.row[k], j, -1 - k);
        int behind = s->G.column[s->nv];
        for (int k = s->H.column[j]; k < s->H.column[j + 1]; k++)
            put_entry(e, s->nv + s->nlambda + s->H.row[k], j, -1 - behind - k);
    }
}

// Elimination tree and column counts of L: the nonzero columns of row k are reached from the entries of column k of K.
static void count_factor(kd_topological *t, int *mark, int *count)
{
    for (int k = 0; k < t->n; k++) {
        t->parent[k] = -1;
        mark[k] = k;
        count[k] = 0;
        for (int e = t->K_column[k]; e < t->K_column[k + 1]; e++)
            for (int i = t->K_row[e]; mark[i] != k; i = t->parent[i]) {
                if (t->parent[i] < 0) t->parent[i] = k;
                count[i]++;
                mark[i] = k;
            }
    }
}

// ---- pivoting -------------------------------------------------------------------------------------------------------
// Is the inertia about the centre of mass, where the Cartesian coordinates are, definite? By the pivots of its Cholesky
// factor.
static bool has_full_inertia(const kd_link *link)
{
    const kd_sym3 *J = &link->inertia;
    double         size = J->xx + J->yy + J->zz, least = 1e-12 * size;
    double         y = J->xx > 0.0 ? J->yy - J->xy * J->xy / J->xx : 0.0;
    double         yz = J->xx > 0.0 ? J->yz - J->xy * J->xz / J->xx : 0.0;
    double         z = J->xx > 0.0 && y > 0.0 ? J->zz - J->xz * J->xz / J->xx - yz * yz / y : 0.0;
    return link->mass > 0.0 && size > 0.0 && J->xx > least && y > least && z > least;
}

static bool needs_pivoting(const kd_system *s)
{
    if (s->options.coordinates != KD_CARTESIAN) return false;
    for (int i = 1; i < s->tree.nlinks; i++) {
        kd_link link = s->tree.link[i];
        if (!kd_link_is_body(s, i)) continue;
        if (s->model->body[s->link_body[i]].nmodes > 0) { // with its modes
            link.mass = s->model->body[s->link_body[i]].def.mass;
            link.inertia = s->model->body[s->link_body[i]].inertia;
        }
        if (!has_full_inertia(&link)) return true;
    }
    return false;
}

// Both triangles of K, from the upper one.
static bool plan_full(kd_topological *t, kd_arena *arena)
{
    int count = 2 * t->K_column[t->n], *next = kd_cut_int(arena, t->n + 1);
    t->full_column = kd_cut_int(arena, t->n + 1);
    t->full_row = kd_cut_int(arena, count);
    t->full_source = kd_cut_int(arena, count);
    if (arena->failed) return false;
    // first pass counts, second fills
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < t->n; k++)
            for (int e = t->K_column[k]; e < t->K_column[k + 1]; e++)
                for (int mirror = 0; mirror < (t->K_row[e] < k ? 2 : 1); mirror++) {
                    int column = mirror ? t->K_row[e] : k, row = mirror ? k : t->K_row[e];
                    if (pass == 0) {
                        t->full_column[column + 1]++;
                    } else {
                        t->full_row[next[column]] = row;
                        t->full_source[next[column]++] = t->source[e];
                    }
                }
        if (pass == 1) break;
        for (int k = 0; k < t->n; k++) t->full_column[k + 1] += t->full_column[k];
        memcpy(next, t->full_column, (size_t)t->n * sizeof *next);
    }
    return true;
}

kd_status kd_topological_plan(kd_system *s)
{
    kd_topological *t = &s->topological;
    kd_arena        scratch = {0};
    int             n = s->nv + s->nlambda + s->nmu;
    *t = (kd_topological){.n = n};
    // too large for the pattern of M; without rows the articulated bodies serve, K is for the start of small models
    const bool free_tree = s->nlambda + s->nmu == 0;
    if (!s->dense_tree || (free_tree && s->tree.column[s->nv] > MOST_OF_FREE_TREE)) return KD_OK;
    t->place = kd_cut_int(&s->arena, n);
    t->parent = kd_cut_int(&s->arena, n);
    t->L_column = kd_cut_int(&s->arena, n + 1);
    t->K_column = kd_cut_int(&s->arena, n + 1);
    int *count = kd_cut_int(&scratch, n + 1), *mark = kd_cut_int(&scratch, n + 1);
    bool made = !s->arena.failed && !scratch.failed && order_unknowns(s, t);
    // K twice: sizes of its columns, then rows and sources
    if (made) {
        entries e = {.t = t, .count = t->K_column};
        put_all(s, &e);
        for (int k = 0; k < n; k++) t->K_column[k + 1] += t->K_column[k];
        memcpy(count, t->K_column, (size_t)n * sizeof *count);
        t->K_row = kd_cut_int(&s->arena, t->K_column[n]);
        t->source = kd_cut_int(&s->arena, t->K_column[n]);
        made = !s->arena.failed;
        e = (entries){.t = t, .count = count, .row = t->K_row, .source = t->source};
        if (made) put_all(s, &e);
    }
    // L D L' by its counts, or all of K for sparse LU
    t->pivoting = needs_pivoting(s);
    if (made && t->pivoting) {
        made = plan_full(t, &s->arena);
    } else if (made) {
        count_factor(t, mark, count);
        for (int k = 0; k < n; k++) t->L_column[k + 1] = t->L_column[k] + count[k];
    }
    kd_arena_release(&scratch);
    return made ? KD_OK : KD_ERR_MEMORY;
}

// ---- numbers --------------------------------------------------------------------------------------------------------
static double entry_of(const kd_work *w, int source)
{
    int behind = w->system->G.column[w->system->nv];
    if (source >= 0) return w->tree_M[source];
    int k = -1 - source;
    return k < behind ? w->G.value[k] : w->H.value[k - behind];
}

// The pivot of a constraint is minus its mobility c M^-1 c' without what earlier rows take of it. While it is not known
// which rows are redundant, one of which nothing is left goes without a multiplier: D = infinity.
static double constraint_pivot(const kd_work *w, double D, double mobility)
{
    return w->system->unexamined && fabs(D) <= DEPENDENT * mobility ? INFINITY : D;
}

// Row k of L: scatter column k of K into y, walk its columns from tips to root, y -= L y, and divide by the pivots.
static bool factor(kd_work *w)
{
    const kd_topological *t = &w->system->topological;
    int                  *top_row = w->kkt_pattern, *mark = w->kkt_mark, *filled = w->kkt_filled;
    double               *y = w->kkt_y, *D = w->kkt_D;
    for (int k = 0; k < t->n; k++) {
        int    top = t->n;
        double largest = 0.0, mobility = 0.0;
        bool   is_velocity = false; // only these have an entry on the diagonal
        mark[k] = k;
        filled[k] = 0;
        // entries of column k; the columns of L that they reach, each path from tip to root
        for (int e = t->K_column[k]; e < t->K_column[k + 1]; e++) {
            int    i = t->K_row[e], length = 0;
            double value = entry_of(w, t->source[e]);
            y[i] += value;
            largest = fmax(largest, fabs(value));
            is_velocity = is_velocity || i == k;
            for (; mark[i] != k; i = t->parent[i]) {
                top_row[length++] = i;
                mark[i] = k;
            }
            while (length > 0) top_row[--top] = top_row[--length];
        }
        D[k] = y[k];
        y[k] = 0.0;
        // triangular solution with the rows above: l = y / D, D_k -= l y
        for (; top < t->n; top++) {
            int    i = top_row[top], end = t->L_column[i] + filled[i];
            double yi = y[i], l = yi / D[i];
            y[i] = 0.0;
            for (int p = t->L_column[i]; p < end; p++) y[w->kkt_row[p]] -= w->kkt_L[p] * yi;
            D[k] -= l * yi;
            if (D[i] > 0.0) mobility += l * yi;
            w->kkt_row[end] = k;
            w->kkt_L[end] = l;
            filled[i]++;
        }
        // against the entries of its own column: a row that depends on earlier ones
        if (!is_velocity) D[k] = constraint_pivot(w, D[k], mobility);
        if (!(fabs(D[k]) > 1e-13 * largest)) return false;
    }
    return true;
}

static bool factor_full(kd_work *w)
{
    const kd_topological *t = &w->system->topological;
    for (int e = 0; e < t->full_column[t->n]; e++) w->kkt_values[e] = entry_of(w, t->full_source[e]);
    return kd_sparse_lu_factor(w->kkt_lu, w->kkt_values) == KD_OK && kd_sparse_lu_rcond(w->kkt_lu) > SMALLEST_RCOND;
}

static void solve(const kd_work *w, double *b)
{
    const kd_topological *t = &w->system->topological;
    if (t->pivoting) {
        kd_sparse_lu_solve(w->kkt_lu, b, 1);
        return;
    }
    // L, D, L'
    for (int j = 0; j < t->n; j++)
        for (int p = t->L_column[j]; p < t->L_column[j + 1]; p++) b[w->kkt_row[p]] -= w->kkt_L[p] * b[j];
    for (int j = 0; j < t->n; j++) b[j] /= w->kkt_D[j];
    for (int j = t->n - 1; j >= 0; j--)
        for (int p = t->L_column[j]; p < t->L_column[j + 1]; p++) b[j] -= w->kkt_L[p] * b[w->kkt_row[p]];
}

// f, -gII0, -hI0: residual and acceleration level at a = 0, lambda = mu = 0
static kd_eval right_side(kd_work *w, const kd_point *x, double *b)
{
    const kd_system *s = w->system;
    kd_point         rest = *x;
    // at a = 0, with a stamp of its own that is taken back below
    rest.a = rest.lambda = rest.mu = w->kkt_zero;
    rest.acceleration_stamp = ULONG_MAX;
    kd_eval answer = kd_work_residual(w, &rest);
    if (answer == KD_EVAL_OK) kd_work_acceleration(w, &rest, KD_FOR_ROWS); // for the rows
    w->acceleration_stamp = w->link_acceleration_stamp = 0;
    if (answer != KD_EVAL_OK) return answer;
    const int *place = s->topological.place;
    for (int i = 0; i < s->nv; i++) b[place[i]] = -w->tau[s->tree.v_dof[i]];
    for (int i = 0; i < s->nlambda; i++) b[place[s->nv + i]] = -kd_row_jet(&s->row_g[s->kept[i]], w).x2;
    for (int i = 0; i < s->nmu; i++) b[place[s->nv + s->nlambda + i]] = -kd_row_jet(&s->row_h[i], w).x1;
    return KD_EVAL_OK;
}

// Without constraints the articulated bodies are the better elimination: linear for chains, too.
static kd_eval solve_tree(kd_work *w, const kd_point *x, double *a)
{
    int     bad;
    kd_eval answer = kd_work_loads(w, x);
    if (answer != KD_EVAL_OK) return answer;
    if (!kd_work_explicit(w, x, &bad)) return KD_EVAL_RETRY;
    const kd_system *s = w->system;
    if (!s->prescribed)
        memcpy(a, w->ddx, (size_t)s->nv * sizeof *a);
    else
        for (int i = 0; i < s->nv; i++) a[i] = w->ddx[s->tree.v_dof[i]];
    return KD_EVAL_OK;
}

kd_eval kd_topological_factor(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    // G at the position, M in the pattern of the tree
    kd_work_G(w, x);
    kd_tree_mass(&s->tree, &w->motion, w->tree_M);
    if (s->topological.pivoting ? factor_full(w) : factor(w)) return KD_EVAL_OK;
    // y may be left half filled: factor relies on zeros
    memset(w->kkt_y, 0, (size_t)s->topological.n * sizeof *w->kkt_y);
    return KD_EVAL_RETRY;
}

void kd_topological_backsolve(kd_work *w, double *y)
{
    const kd_topological *t = &w->system->topological;
    // into the order of elimination and back
    for (int i = 0; i < t->n; i++) w->kkt_b[t->place[i]] = y[i];
    solve(w, w->kkt_b);
    for (int i = 0; i < t->n; i++) y[i] = w->kkt_b[t->place[i]];
}

kd_eval kd_topological_solve(kd_work *w, const kd_point *x, double *a, double *lambda, double *mu)
{
    const kd_system *s = w->system;
    const int       *place = s->topological.place;
    // a tree without loops has no multipliers
    if (s->nlambda + s->nmu == 0) return solve_tree(w, x, a);
    kd_eval answer = kd_topological_factor(w, x);
    if (answer == KD_EVAL_OK) answer = right_side(w, x, w->kkt_b);
    if (answer != KD_EVAL_OK) return answer;
    solve(w, w->kkt_b);
    // from the order of elimination to that of the unknowns: a, lambda, mu
    for (int i = 0; i < s->nv; i++) a[i] = w->kkt_b[place[i]];
    for (int i = 0; i < s->nlambda; i++) lambda[i] = w->kkt_b[place[s->nv + i]];
    for (int i = 0; i < s->nmu; i++) mu[i] = w->kkt_b[place[s->nv + s->nlambda + i]];
    return KD_EVAL_OK;
}
