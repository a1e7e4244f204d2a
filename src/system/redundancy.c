// redundancy.c: which holonomic constraints are redundant everywhere, and which only in the start position.
//
// Rows of g are redundant if the others imply them in every position that the mechanism can reach. The rank of GZ off
// the constraint manifold says nothing (there a planar four-bar has no mobility at all), and in one position of it too
// little (flat four-bar). So the mechanism is moved: a random v in ker(GZ), a finite step, back to g = 0; the rank of
// the scaled matrix R GZ D there, largest over some positions, is the rank of the mechanism. Rows beyond it are left
// out, and a motion with the kept rows alone must leave them at zero: dependencies of first order only do not survive.
//
// All steps are made for independent clusters of rows and coordinates, the connected components of the pattern of GZ.
// Equations, limits, evidence: docs/methods/redundancy.md
#include "system/redundancy.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "math/dense.h"
#include "system/redundancy_search.h"

#define RANK_TOLERANCE 1e-7 // singular values below are zero; noise of GZ: 1e-15, by differences 1e-12 to 1e-9
#define CHECKS 3            // positions reached with the kept rows alone
#define SHORTEST 0.1        // moves of a check may become shorter as long as their reach is above
#define IMPLIED 1e-9        // |R g| of a row that the kept rows imply
#define INCONSISTENT 1e-5   // |R g| of a start position that is not assembled
#define PREFERRED 0.1       // an earlier row is kept if it is this part as independent as the best one
#define CHOICES (2 * (KD_SAMPLES + 1)) // of rows to keep
#define GOOD 0.1                       // kept rows are this part as independent as all rows
#define WIDE 100                       // columns from which on only those count where rows are not zero
#define NOTHING 1e-12                  // what rounding leaves of a row of length 1
#define SHARED 1e-6                    // coefficient of a dependency that is not rounding
#define LARGE 100                      // coordinates from which on the rows of a cluster are eliminated sparse

// ---- room for full matrices -----------------------------------------------------------------------------------------

typedef struct full_sizes { // of the largest cluster that has them
    int matrix, square, rows, columns, work;
} full_sizes;

static void note_sizes(const kd_cluster *c, full_sizes *most)
{
    most->matrix = max_int(most->matrix, c->m * c->n);
    most->square = max_int(most->square, c->m * min_int(c->m, c->n));
    most->rows = max_int(most->rows, c->m);
    most->columns = max_int(most->columns, c->n);
    most->work = max_int(most->work, kd_svd_work(c->m, c->n));
}

static bool cut_full(kd_row_search *f, const full_sizes *most)
{
    f->J = kd_cut_double(&f->arena, most->matrix);
    f->A = kd_cut_double(&f->arena, most->matrix);
    f->N = kd_cut_double(&f->arena, most->square);
    f->place = kd_cut_int(&f->arena, most->columns);
    f->extent = kd_arena_cut(&f->arena, (size_t)most->rows, sizeof *f->extent);
    f->work = kd_cut_double(&f->arena, most->work);
    return !f->arena.failed;
}

// ---- rank -----------------------------------------------------------------------------------------------------------

// R GZ D of a cluster at the start (0) or at a sample
static double *matrix_at(const kd_cluster *c, int position)
{
    return c->B + (ptrdiff_t)position * c->m * c->n;
}

// Full matrices of all positions up to this one, of a cluster that elimination is not clear about
static kd_status make_full(kd_row_search *f, kd_cluster *c, int last)
{
    kd_sparse_rows_destroy(c->sparse);
    c->sparse = NULL;
    full_sizes most = {.work = 1};
    for (int k = 0; k < f->nclusters; k++)
        if (!f->cluster[k].sparse) note_sizes(&f->cluster[k], &most);
    c->B = kd_cut_matrix(&f->arena, c->m, (KD_SAMPLES + 1) * c->n);
    if (!c->B || !cut_full(f, &most)) return KD_ERR_MEMORY;
    for (int position = 0; position <= last; position++)
        kd_search_matrix(f, (int)(c - f->cluster), f->GZ_at[position], matrix_at(c, position));
    return KD_OK;
}

// Rank and last singular value that counts, of a full matrix
static kd_status full_rank(kd_row_search *f, kd_cluster *c, int position)
{
    int rank = 0;
    // a copy, since kd_svd overwrites; singular values in x
    copy(c->m * c->n, matrix_at(c, position), f->A);
    if (kd_svd(c->m, c->n, f->A, NULL, f->x, NULL, f->work) != 0) return KD_ERR_DECOMPOSITION;
    // rows have length 1, so that the largest singular value is at least 1
    while (rank < min_int(c->m, c->n) && f->x[rank] > RANK_TOLERANCE) rank++;
    c->rank_at[position] = rank;
    c->smallest_at[position] = rank > 0 ? f->x[rank - 1] : 0;
    return KD_OK;
}

// 1 / sqrt(1 + |X|^2), |X|^2 <= |X|_1 |X|_inf, of the last elimination; rows that depend on others are X times these. So
// much smaller than that of all rows can the least singular value of the others be at most.
static double quality_left(kd_row_search *f, const kd_cluster *c)
{
    double rows = 0, *sum = f->violation; // of |X|
    memset(sum, 0, (size_t)c->m * sizeof *sum);
    for (int k = 0; k < c->m; k++) {
        double row = 0;
        int    count = kd_sparse_rows_dependency(c, k, f->parent, f->y);
        for (int j = 0; j < count; j++) {
            row += fabs(f->y[j]);
            sum[f->parent[j]] += fabs(f->y[j]);
        }
        rows = fmax(rows, row);
    }
    return 1 / sqrt(1 + rows * kd_norm_max(c->m, sum));
}

// Rank and least singular value of a large cluster by elimination; false: not beyond doubt
static bool sparse_rank(kd_row_search *f, kd_cluster *c, int position)
{
    if (!kd_sparse_rows_eliminate(f, c, f->GZ_at[position], NULL)) return false;
    c->rank_at[position] = kd_sparse_rows_rank(c);
    c->smallest_at[position] = kd_sparse_rows_least(c);
    c->quality_at[position] = quality_left(f, c);
    for (int i = 0; i < c->m; i++) c->dependent_at[(ptrdiff_t)position * c->m + i] = kd_sparse_rows_depends(c, i);
    return c->smallest_at[position] > 0;
}

// Ranks of the scaled matrices at p, and their largest so far; position 0: start.
static kd_status note_ranks(kd_row_search *f, int position)
{
    if (f->GZ_at[position]) copy(f->column[f->n.nv], f->GZ, f->GZ_at[position]);
    for (int k = 0; k < f->nclusters; k++) {
        kd_cluster *c = &f->cluster[k];
        kd_status   status = KD_OK;
        c->rank_at[position] = -1;
        if (c->idle && position > 0) continue;
        if (!c->sparse) kd_search_matrix(f, k, f->GZ, matrix_at(c, position));
        if (c->sparse && !sparse_rank(f, c, position)) status = make_full(f, c, position);
        if (status == KD_OK && !c->sparse) status = full_rank(f, c, position);
        if (status != KD_OK) return status;
        // any other position is less special than the start
        const int  rank = c->rank_at[position];
        const bool clearer = c->clearest == 0 || c->smallest_at[position] > c->smallest_at[c->clearest];
        if (rank > c->rank || (rank == c->rank && clearer)) c->clearest = position;
        c->rank = max_int(rank, c->rank);
    }
    return KD_OK;
}

// ---- rows to keep ---------------------------------------------------------------------------------------------------

static double dot_between(kd_reach at, const double *a, const double *b)
{
    return kd_dot(at.end - at.first, a + at.first, b + at.first);
}

// a -= part q
static void subtract_between(kd_reach at, double part, const double *q, double *a)
{
    kd_axpy(at.end - at.first, -part, q + at.first, a + at.first);
}

// Places of the coordinates in the order in which rows meet them, so that those of a loop stand together; few stay as
// they are
static void place_columns(kd_row_search *f, const kd_cluster *c, const double *B)
{
    int next = 0;
    for (int j = 0; j < c->n; j++) f->place[j] = c->n < WIDE ? next++ : -1;
    for (int i = 0; i < c->m && next < c->n; i++)
        for (int j = 0; j < c->n; j++)
            if (f->place[j] < 0 && B[(ptrdiff_t)c->m * j + i] != 0) f->place[j] = next++;
    for (int j = 0; j < c->n; j++)
        if (f->place[j] < 0) f->place[j] = next++;
}

// QR with pivoting of B' by modified Gram-Schmidt: columns order[0 .. rank-1] of A = B' are independent. The pivot is
// the first one in order that is not much shorter than the longest (preference 1: the longest). N (rank x m) receives
// R. Returns the smallest pivot.
static double pivoted_qr(kd_row_search *f, const kd_cluster *c, const double *B, double preference)
{
    const int m = c->m, n = c->n, r = c->rank;
    double    smallest = HUGE_VAL, *A = f->A, *length = f->y;
    place_columns(f, c, B);
    // A = B': rows become columns, which are orthogonalised one after the other
    for (int i = 0; i < m; i++) {
        kd_reach *reach = &f->extent[i];
        double   *a = A + (ptrdiff_t)n * i;
        *reach = (kd_reach){n, 0};
        for (int j = 0; j < n; j++) {
            const int at = f->place[j];
            a[at] = B[(ptrdiff_t)m * j + i];
            if (a[at] == 0) continue;
            reach->first = min_int(reach->first, at);
            reach->end = max_int(reach->end, at + 1);
        }
        length[i] = sqrt(kd_dot(n, a, a));
    }
    for (int k = 0; k < r; k++) {
        double longest = 0;
        for (int i = k; i < m; i++) longest = fmax(longest, length[f->order[i]]); // of what is left of each row
        // the first that is long enough, in the order of preference
        int chosen = k;
        while (length[f->order[chosen]] < preference * longest) chosen++;
        int pivot = f->order[chosen];
        smallest = fmin(smallest, length[pivot]);
        if (smallest == 0) return 0;
        double        *q = A + (ptrdiff_t)n * pivot;
        const kd_reach own = f->extent[pivot];
        for (int j = 0; j < n; j++) q[j] /= length[pivot];
        f->N[(ptrdiff_t)r * pivot + k] = length[pivot];
        // to place k
        for (int i = chosen; i > k; i--) f->order[i] = f->order[i - 1]; // the others keep their order
        f->order[k] = pivot;
        // its part is taken off the others, R keeps it; rows of other loops have none
        for (int i = k + 1; i < m; i++) {
            const int other = f->order[i];
            kd_reach *reach = &f->extent[other];
            f->N[(ptrdiff_t)r * other + k] = 0;
            if (own.end <= reach->first || reach->end <= own.first) continue;
            if (n >= WIDE && length[other] <= NOTHING) continue; // rounding is left of it
            // short extents of large clusters; small ones as a whole
            const kd_reach both = {max_int(own.first, reach->first), min_int(own.end, reach->end)};
            const kd_reach all = {min_int(reach->first, own.first), max_int(reach->end, own.end)}, whole = {0, n};
            double        *a = A + (ptrdiff_t)n * other;
            const double   part = dot_between(n < WIDE ? whole : both, q, a);
            f->N[(ptrdiff_t)r * other + k] = part;
            if (part == 0) continue;
            *reach = all;
            subtract_between(n < WIDE ? whole : own, part, q, a);
            length[other] = sqrt(dot_between(n < WIDE ? whole : all, a, a));
        }
    }
    return smallest;
}

// Rows in the order in which they are preferred: kept ones first
static void set_order(kd_row_search *f, const kd_cluster *c, const bool *keep)
{
    int k = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < c->m; i++)
            if (keep[c->row[i]] == (pass == 0)) f->order[k++] = i;
}

// How independent the kept rows are in all positions of full rank, against all rows together: the smallest pivot
static double quality_of(kd_row_search *f, const kd_cluster *c, const bool *keep)
{
    double quality = HUGE_VAL;
    // the worst position counts
    for (int position = 0; position <= KD_SAMPLES; position++) {
        if (c->rank_at[position] != c->rank) continue;
        set_order(f, c, keep);
        double pivot = pivoted_qr(f, c, matrix_at(c, position), 0);
        quality = fmin(quality, pivot / c->smallest_at[position]);
    }
    return quality;
}

// Choice number k: rows that are independent in one of the positions, with preference for earlier rows or without
static bool choose_rows(kd_row_search *f, const kd_cluster *c, int k, bool *keep)
{
    // all positions with preference first, then all without
    const int position = k % (KD_SAMPLES + 1);
    if (c->rank_at[position] != c->rank) return false;
    for (int i = 0; i < c->m; i++) keep[c->row[i]] = false;
    set_order(f, c, keep);
    (void)pivoted_qr(f, c, matrix_at(c, position), k <= KD_SAMPLES ? PREFERRED : 1);
    for (int i = 0; i < c->rank; i++) keep[c->row[f->order[i]]] = true;
    return true;
}

// Are these the rows that the elimination in a position has kept?
static bool are_kept_at(const kd_cluster *c, int position, const bool *keep)
{
    const bool *dependent = c->dependent_at + (ptrdiff_t)position * c->m;
    for (int i = 0; i < c->m; i++)
        if (keep[c->row[i]] == dependent[i]) return false;
    return true;
}

// Of the kept rows in the worst position; 0: they depend on each other somewhere, or it is not clear
static double sparse_quality(kd_row_search *f, const kd_cluster *c, const bool *keep)
{
    double quality = 1;
    for (int position = 0; position <= KD_SAMPLES; position++) {
        if (c->rank_at[position] != c->rank) continue;
        if (are_kept_at(c, position, keep)) {
            quality = fmin(quality, c->quality_at[position]);
            continue;
        }
        set_order(f, c, keep);
        if (!kd_sparse_rows_eliminate(f, c, f->GZ_at[position], f->order)) return 0;
        for (int i = 0; i < c->m; i++)
            if (keep[c->row[i]] && kd_sparse_rows_depends(c, i)) return 0;
        quality = fmin(quality, quality_left(f, c));
    }
    return quality;
}

// The first position whose independent rows are good in all of them; false: there is none
static bool keep_sparse_rows(kd_row_search *f, const kd_cluster *c, bool *keep)
{
    for (int i = 0; i < c->m; i++) keep[c->row[i]] = true;
    if (c->rank == c->m) return true;
    for (int position = 0; position <= KD_SAMPLES; position++) {
        if (c->rank_at[position] != c->rank) continue;
        for (int i = 0; i < c->m; i++) keep[c->row[i]] = !c->dependent_at[(ptrdiff_t)position * c->m + i];
        if (sparse_quality(f, c, keep) >= GOOD) return true;
    }
    return false;
}

// As many rows as the rank says, by the first choice that is good in all positions, otherwise by the best. The start
// comes first, so that equal loops keep equal rows.
static void keep_rows(kd_row_search *f, const kd_cluster *c, bool *keep)
{
    double best = -1;
    int    choice = 0;
    for (int i = 0; i < c->m; i++) keep[c->row[i]] = true;
    // the first choice that is good enough, otherwise the best, which is made again below
    for (int k = 0; k < CHOICES && c->rank < c->m && best < GOOD; k++) {
        if (!choose_rows(f, c, k, keep)) continue;
        double quality = quality_of(f, c, keep);
        if (quality > best) best = quality, choice = k;
    }
    if (c->rank < c->m) (void)choose_rows(f, c, choice, keep);
}

// The same of a large cluster
static bool find_sparse_shares(kd_row_search *f, const kd_cluster *c, const bool *keep, bool *shares)
{
    set_order(f, c, keep);
    if (!kd_sparse_rows_eliminate(f, c, f->GZ_at[c->clearest], f->order)) return false;
    for (int k = 0; k < c->m; k++) {
        const int i = f->order[k];
        if (keep[c->row[i]] || !kd_sparse_rows_depends(c, i)) continue;
        const int count = kd_sparse_rows_dependency(c, k, f->parent, f->y); // the forest has done its work
        shares[c->row[i]] = true;
        for (int j = 0; j < count; j++)
            if (fabs(f->y[j]) > SHARED) shares[c->row[f->parent[j]]] = true;
    }
    return true;
}

// Rows whose forces can be exchanged: those with a coefficient in R11 x = R12, for the rows left out.
static void find_shares(kd_row_search *f, const kd_cluster *c, const bool *keep, bool *shares)
{
    const int r = c->rank;
    if (r == c->m) return;
    set_order(f, c, keep);
    (void)pivoted_qr(f, c, matrix_at(c, c->clearest), PREFERRED);
    for (int i = r; i < c->m; i++) {
        double *x = f->N + (ptrdiff_t)r * f->order[i];
        if (keep[c->row[f->order[i]]]) continue;
        shares[c->row[f->order[i]]] = true;
        // R11 x = R12 from below: coefficients of the row that was left out
        for (int k = r - 1; k >= 0; k--) {
            const double *R = f->N + (ptrdiff_t)r * f->order[k];
            x[k] /= R[k];
            kd_axpy(k, -x[k], R, x);
            if (fabs(x[k]) > SHARED) shares[c->row[f->order[k]]] = true;
        }
    }
}

// Rows that are left out and violated. A long move may lead off the mechanism where the kept rows become dependent
// before all rows do; what the others do not imply is violated by short moves as well. So the moves become shorter, and
// then the worst row is kept after all. Returns in how many clusters.
static int revise_rows(kd_row_search *f, bool *keep)
{
    int count = 0;
    for (int k = 0; k < f->nclusters; k++) {
        kd_cluster *c = &f->cluster[k];
        int         worst = -1;
        for (int i = 0; i < c->m; i++) {
            int row = c->row[i];
            if (keep[row] || f->violation[row] <= IMPLIED) continue;
            if (worst < 0 || f->violation[row] > f->violation[worst]) worst = row;
        }
        // shorter moves first, one more row only when they do not help
        if (worst < 0) continue;
        count++;
        if (c->reach > SHORTEST) {
            c->reach *= 0.25;
        } else {
            keep[worst] = true;
            c->reach = 1;
        }
    }
    return count;
}

// After a move with the kept rows alone: how far are the others off? Rows without coordinates are watched whatever
// moves.
static void watch_rows(kd_row_search *f)
{
    for (int i = 0; i < f->n.nlambda; i++)
        f->violation[i] = fmax(f->violation[i], f->R[i] * fabs(f->g[i]) - f->rounding[i]);
    for (int k = 0; k < f->nclusters; k++)
        f->cluster[k].tested = f->cluster[k].tested || !f->cluster[k].idle || f->cluster[k].n == 0;
}

// Motions with the kept rows alone, from the last position with all rows: do the others stay at rounding?
static void check_rows(kd_row_search *f, bool *keep)
{
    // until no row that was left out is violated; each round shortens a move or keeps a row
    do {
        memset(f->violation, 0, (size_t)f->n.nlambda * sizeof(double));
        for (int k = 0; k < f->nclusters; k++) f->cluster[k].tested = false;
        for (int check = 0; check < CHECKS; check++) {
            kd_search_restart(f, f->p1, f->s1, keep);
            if (kd_search_next_position(f)) watch_rows(f);
        }
    } while (!f->stopped && revise_rows(f, keep) > 0);
}

// ---- driven mechanisms ----------------------------------------------------------------------------------------------
//
// Where prescribed motions leave no freedom, nothing moves at the start time; then time moves it.

static bool set_time(kd_row_search *f, double t)
{
    // inputs with two derivatives at t
    double *u = f->u, *du = u + f->n.nu, *ddu = du + f->n.nu;
    f->t = t;
    if (f->n.nu > 0 && f->inputs && f->inputs->eval &&
        !kd_search_answered(f, f->inputs->eval(t, f->inputs->context, u, du, ddu)))
        return false;
    kd_eom_at_time(f->data, t, u, du, ddu, f->start->z);
    return true;
}

// Time in which the constraints move by as much as in a sample; 0: they stand still
static double time_scale(kd_row_search *f)
{
    double rate = 0;
    kd_search_go_to(f, f->p0, f->s0);
    kd_eom_at_position(f->data, f->p, f->s);
    kd_eom_at_velocity(f->data, NULL, NULL);
    if (!kd_search_answered(f, kd_eom_eval(f->data, KD_GI, f->g))) return 0; // gI = g_t at v = 0
    for (int i = 0; i < f->n.nlambda; i++) rate = fmax(rate, f->R[i] * fabs(f->g[i]));
    return rate > 0 ? KD_LARGEST_MOVE / rate : 0;
}

// From base at time t to t + tau with the kept rows. False: not all clusters could follow.
static bool follow_time(kd_row_search *f, double tau)
{
    bool good = set_time(f, f->t + tau);
    kd_search_go_to(f, f->base, f->base_s);
    // no random moves: every cluster follows its constraints from where it was
    for (int k = 0; k < f->nclusters; k++) {
        kd_cluster *c = &f->cluster[k];
        c->idle = c->n == 0;
        for (int j = 0; j < c->n; j++) c->moved[j] = 0;
    }
    if (good) kd_search_project(f);
    // a cluster that did not move has not been tested
    for (int k = 0; k < f->nclusters; k++) {
        kd_cluster *c = &f->cluster[k];
        if (c->idle) continue;
        good = good && c->done;
        c->idle = kd_norm_max(c->n, c->moved) < 0.01 * KD_SMALLEST_MOVE;
    }
    if (!good) return false;
    copy(f->n.np, f->p, f->base);
    copy(f->n.ns, f->s, f->base_s);
    return true;
}

// The same check as above, by time.
static void check_driven(kd_row_search *f, bool *keep)
{
    const double start = f->t, scale = time_scale(f);
    // from the start again after each revision
    for (bool again = scale > 0; again && !f->stopped; again = revise_rows(f, keep) > 0) {
        double tau = scale;
        int    checks = 0;
        for (int k = 0; k < f->nclusters; k++) tau = fmin(tau, scale * f->cluster[k].reach);
        memset(f->violation, 0, (size_t)f->n.nlambda * sizeof(double));
        kd_search_restart(f, f->p0, f->s0, keep);
        f->t = start;
        for (int attempt = 0; attempt < KD_ATTEMPTS + CHECKS && checks < CHECKS && !f->stopped; attempt++) {
            double before = f->t;
            // a step that cannot be followed: half of it, from the same time
            if (follow_time(f, tau)) {
                watch_rows(f);
                checks++;
            } else {
                f->t = before;
                tau *= 0.5;
            }
        }
    }
}

// ---- the search -----------------------------------------------------------------------------------------------------

static bool is_large(const kd_row_search *f, const kd_cluster *c)
{
    return f->sparse && c->n >= f->large && c->m > 0;
}

// of all clusters: scaled matrices at all positions, and three vectors
static int sum_products(const kd_row_search *f)
{
    int sum = 0;
    for (int k = 0; k < f->nclusters; k++) {
        const kd_cluster *c = &f->cluster[k];
        sum += ((is_large(f, c) ? 0 : (KD_SAMPLES + 1) * c->m) + 3) * c->n;
    }
    return sum;
}

// The pattern of GZ that the equations know, or a full one.
static void choose_pattern(kd_row_search *f)
{
    const int  m = f->n.nlambda, n = f->n.nv;
    kd_pattern pattern;
    // contact coordinates are eliminated in GZ, which fills the pattern
    f->sparse = f->n.ns == 0 && kd_eom_pattern(f->eom, KD_GI, KD_V, &pattern);
    if (f->sparse) {
        f->column = pattern.column;
        f->row = pattern.row;
        return;
    }
    // full: column j has all rows
    int *column = kd_cut_int(&f->arena, n + 1), *row = kd_arena_cut(&f->arena, (size_t)m * (size_t)n, sizeof *row);
    if (!column || !row) return;
    for (int j = 0; j <= n; j++) column[j] = m * j;
    for (int k = 0; k < column[n]; k++) row[k] = k % m;
    f->column = column;
    f->row = row;
}

static bool cut_first(kd_row_search *f)
{
    const int m = f->n.nlambda, n = f->n.nv;
    choose_pattern(f);
    if (!f->column) return false;
    const int entries = f->column[n];
    // positions that are looked at, and their contact coordinates
    f->u = kd_cut_double(&f->arena, 3 * f->n.nu);
    f->p0 = kd_cut_double(&f->arena, f->n.np);
    f->p = kd_cut_double(&f->arena, f->n.np);
    f->base = kd_cut_double(&f->arena, f->n.np);
    f->p1 = kd_cut_double(&f->arena, f->n.np);
    f->s0 = kd_cut_double(&f->arena, f->n.ns);
    f->s = kd_cut_double(&f->arena, f->n.ns);
    f->base_s = kd_cut_double(&f->arena, f->n.ns);
    f->s1 = kd_cut_double(&f->arena, f->n.ns);
    f->c = kd_cut_double(&f->arena, f->n.ns);
    f->c_s = kd_cut_matrix(&f->arena, f->n.ns, f->n.ns);
    f->pivot = kd_cut_int(&f->arena, f->n.ns);
    // increments and constraints
    f->e = kd_cut_double(&f->arena, n);
    f->g = kd_cut_double(&f->arena, m);
    f->rounding = kd_cut_double(&f->arena, m);
    f->violation = kd_cut_double(&f->arena, m);
    // matrices, as they are and scaled
    f->GZ = kd_cut_double(&f->arena, entries);
    f->GZ0 = kd_cut_double(&f->arena, entries);
    f->W = kd_cut_double(&f->arena, entries);
    f->R = kd_cut_double(&f->arena, m);
    f->D = kd_cut_double(&f->arena, n);
    f->S = kd_cut_double(&f->arena, entries);
    f->rho = kd_cut_double(&f->arena, m);
    f->room = kd_cut_double(&f->arena, n);
    // clusters of rows that share coordinates
    f->parent = kd_cut_int(&f->arena, m + n);
    f->member = kd_cut_int(&f->arena, m + n);
    f->order = kd_cut_int(&f->arena, m);
    f->home = kd_cut_int(&f->arena, m);
    f->local = kd_cut_int(&f->arena, m);
    f->used_at = kd_cut_int(&f->arena, m);
    f->cluster = kd_arena_cut(&f->arena, (size_t)m, sizeof *f->cluster);
    return !f->arena.failed;
}

// Arrays whose sizes the clusters decide
static kd_status cut_second(kd_row_search *f)
{
    int        rows = 0, columns = 0;
    bool       any = false;
    full_sizes most = {.work = 1};
    double    *number = kd_cut_double(&f->arena, sum_products(f));
    if (!number) return KD_ERR_MEMORY;
    for (int k = 0; k < f->nclusters; k++) {
        // cut one long array
        kd_cluster *c = &f->cluster[k];
        c->v = number, number += c->n;
        c->last = number, number += c->n;
        c->moved = number, number += c->n;
        rows = max_int(rows, c->m);
        columns = max_int(columns, c->n);
        if (is_large(f, c)) {
            const kd_status status = kd_sparse_rows_create(f, c, &c->sparse);
            c->dependent_at = kd_cut_bool(&f->arena, (KD_SAMPLES + 1) * c->m);
            if (status != KD_OK || !c->dependent_at) return KD_ERR_MEMORY;
            any = true;
            continue;
        }
        c->B = number, number += (KD_SAMPLES + 1) * c->m * c->n;
        note_sizes(c, &most);
    }
    // shared by all clusters: sizes of the largest
    f->y = kd_cut_double(&f->arena, rows);
    f->x = kd_cut_double(&f->arena, columns);
    for (int position = 0; position <= KD_SAMPLES && any; position++)
        f->GZ_at[position] = kd_cut_double(&f->arena, f->column[f->n.nv]);
    return cut_full(f, &most) ? KD_OK : KD_ERR_MEMORY;
}

// Inputs, time and position of the start; g and GZ there
static bool set_start(kd_row_search *f)
{
    // parameters of the start, then time, position, g and GZ
    kd_eom_at_parameters(f->data, f->start->theta);
    if (!set_time(f, f->start->t)) return false;
    copy(f->n.np, f->start->p, f->p0);
    copy(f->n.ns, f->start->s, f->s0);
    kd_search_go_to(f, f->p0, f->s0);
    return kd_search_evaluate(f);
}

// From the tolerance of the assembly to rounding, where that is possible
static kd_status polish_start(kd_row_search *f, char *message, size_t size)
{
    int  worst = 0;
    bool good = true;
    char name[96];
    kd_search_go_to(f, f->p0, f->s0);
    if (!kd_search_evaluate(f)) return KD_ERR_RETRY_FAILED;
    // the row that is violated most names what is not assembled
    for (int i = 0; i < f->n.nlambda; i++)
        if (f->R[i] * fabs(f->g[i]) > f->R[worst] * fabs(f->g[worst])) worst = i;
    if (f->R[worst] * fabs(f->g[worst]) > INCONSISTENT) {
        kd_text(message, size, "the start position violates '%s' by %.3g: assemble first",
                kd_eom_name(f->eom, KD_NAME_LAMBDA, worst, name, sizeof name), f->g[worst]);
        return KD_ERR_INCONSISTENT;
    }
    // to g = 0; where the projection does not get there the start stays as it was given
    kd_search_project(f);
    for (int k = 0; k < f->nclusters; k++) good = good && (f->cluster[k].done || f->cluster[k].n == 0);
    if (!good) {
        kd_search_go_to(f, f->p0, f->s0);
        return kd_search_evaluate(f) ? KD_OK : KD_ERR_RETRY_FAILED;
    }
    copy(f->n.np, f->p, f->p0);
    copy(f->n.ns, f->s, f->s0);
    return KD_OK;
}

// Rows that are left out were watched in a motion, or there are none
static bool all_settled(const kd_row_search *f, const bool *keep)
{
    bool settled = true;
    for (int k = 0; k < f->nclusters; k++) {
        const kd_cluster *c = &f->cluster[k];
        for (int i = 0; i < c->m; i++) settled = settled && (keep[c->row[i]] || c->tested);
    }
    return settled;
}

static kd_status examine(kd_row_search *f, kd_redundancy *out, char *message, size_t size)
{
    // units and rows of length 1, clusters, what rounding is
    kd_search_find_scales(f);
    if (f->stopped) return KD_ERR_CALLBACK_STOP;
    kd_search_find_clusters(f);
    kd_status status = cut_second(f);
    if (status != KD_OK) return status;
    kd_search_find_rounding(f);
    status = polish_start(f, message, size);
    // the rank of the mechanism: largest over the start and other positions
    if (status == KD_OK) status = note_ranks(f, 0);
    kd_search_restart(f, f->p0, f->s0, NULL);
    while (status == KD_OK && out->nsamples < KD_SAMPLES && kd_search_next_position(f)) {
        out->nsamples++;
        status = note_ranks(f, out->nsamples);
    }
    // positions that were not reached
    for (int position = out->nsamples + 1; position <= KD_SAMPLES; position++)
        for (int k = 0; k < f->nclusters; k++) f->cluster[k].rank_at[position] = -1;
    if (status != KD_OK) return status;
    // rows to keep; checked from the last position on, by moves, and by time where nothing moves
    copy(f->n.np, f->base, f->p1);
    copy(f->n.ns, f->base_s, f->s1);
    for (int k = 0; k < f->nclusters; k++) {
        kd_cluster *c = &f->cluster[k];
        if (c->sparse && keep_sparse_rows(f, c, out->keep)) continue;
        if (c->sparse) status = make_full(f, c, out->nsamples);
        if (status != KD_OK) return status;
        keep_rows(f, c, out->keep);
    }
    if (!all_settled(f, out->keep)) check_rows(f, out->keep);
    if (!all_settled(f, out->keep)) check_driven(f, out->keep);
    out->certain = all_settled(f, out->keep);
    return KD_OK;
}

static kd_status conclude(kd_row_search *f, kd_redundancy *out)
{
    kd_status status = KD_OK;
    // rows that are kept, rank at the start, rows that share a force
    for (int i = 0; i < f->n.nlambda; i++) out->rank += out->keep[i];
    for (int k = 0; k < f->nclusters && status == KD_OK; k++) {
        kd_cluster *c = &f->cluster[k];
        out->start_rank += c->rank_at[0];
        out->neliminated += c->sparse != NULL;
        if (c->rank == c->m || (c->sparse && find_sparse_shares(f, c, out->keep, out->shares))) continue;
        if (c->sparse) status = make_full(f, c, out->nsamples);
        if (status == KD_OK) find_shares(f, c, out->keep, out->shares);
    }
    return status;
}

// ---- the result in words --------------------------------------------------------------------------------------------

// One sentence: how many, the first six by name, and what is special about the start position
static void describe(const kd_row_search *f, const kd_redundancy *out, char *message, size_t size)
{
    const int m = f->n.nlambda, redundant = m - out->rank;
    int       named = 0;
    char      name[96];
    if (redundant == 0) {
        kd_text(message, size, "none of the %d constraints is redundant", m);
    } else {
        kd_text(message, size, "%d of %d constraints %s redundant:", redundant, m, redundant == 1 ? "is" : "are");
        for (int i = 0; i < m && named < 6; i++) {
            if (out->keep[i]) continue;
            kd_text_append(message, size, "%s '%s'", named ? "," : "",
                           kd_eom_name(f->eom, KD_NAME_LAMBDA, i, name, sizeof name));
            named++;
        }
        if (redundant > named) kd_text_append(message, size, " and %d more", redundant - named);
        if (!out->certain)
            kd_text_append(message, size, "; judged in the start position alone, because nothing can move");
    }
    if (out->start_rank < out->rank)
        kd_text_append(message, size, "; the start position is singular: rank %d there, %d in general", out->start_rank,
                       out->rank);
}

// Why the equations could not be evaluated
static kd_status fault_of(const kd_row_search *f, char *message, size_t size)
{
    kd_fault fault = kd_eom_data_fault(f->data);
    if (fault.status < 0)
        kd_text(message, size, "%s", kd_eom_data_message(f->data));
    else
        kd_text(message, size, "the inputs have no value at t = %g", f->t);
    if (f->stopped) return KD_ERR_CALLBACK_STOP;
    return fault.status < 0 ? fault.status : KD_ERR_RETRY_FAILED;
}

kd_status kd_redundancy_find_by(const kd_eom *eom, kd_eom_data *point, const kd_inputs *inputs, const kd_state *start,
                                int large, kd_arena *arena, kd_redundancy *out, char *message, size_t size)
{
    if (!eom || !start || !arena || !out) return KD_ERR_ARGUMENT;
    kd_row_search f = {.eom = eom,
                       .data = point,
                       .inputs = inputs,
                       .start = start,
                       .n = kd_eom_dims(eom),
                       .large = large,
                       .seed = 88172645463325252u};
    *out = (kd_redundancy){.keep = kd_cut_bool(arena, f.n.nlambda), .shares = kd_cut_bool(arena, f.n.nlambda)};
    out->certain = true;
    kd_status status = KD_ERR_MEMORY;
    if (!out->keep || !out->shares) goto done;
    // nothing to search
    if (f.n.nlambda == 0) {
        kd_text(message, size, "there are no holonomic constraints");
        return KD_OK;
    }
    if (cut_first(&f)) status = point ? KD_OK : kd_eom_data_create(eom, &f.data);
    if (status == KD_OK && !set_start(&f)) status = fault_of(&f, message, size);
    if (status == KD_OK) {
        status = examine(&f, out, message, size);
        if (f.stopped || status == KD_ERR_RETRY_FAILED) status = fault_of(&f, message, size);
    }
    if (status == KD_OK) status = conclude(&f, out);
    if (status == KD_OK) describe(&f, out, message, size);
done:
    if (status == KD_ERR_MEMORY || status == KD_ERR_DECOMPOSITION)
        kd_text(message, size, "%s", kd_status_sentence(status));
    for (int k = 0; k < f.nclusters; k++) kd_sparse_rows_destroy(f.cluster[k].sparse);
    if (!point) kd_eom_data_destroy(f.data);
    kd_arena_release(&f.arena);
    return status;
}

kd_status kd_redundancy_find(const kd_eom *eom, kd_eom_data *point, const kd_inputs *inputs, const kd_state *start,
                             kd_arena *arena, kd_redundancy *out, char *message, size_t size)
{
    return kd_redundancy_find_by(eom, point, inputs, start, LARGE, arena, out, message, size);
}
