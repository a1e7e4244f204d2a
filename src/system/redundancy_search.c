// redundancy_search.c: a mechanism in clusters of rows and coordinates, in natural units, moved on its constraints.
//
// Clusters are the connected components of the pattern of GZ. A move: random v in ker(R GZ D), a finite step, and back
// to g = 0 by Levenberg-Marquardt. Equations, limits, evidence: docs/methods/redundancy.md
#include "system/redundancy_search.h"

#include <float.h>
#include <math.h>

#include "math/dense.h"
#include "math/pattern.h"

#define ZERO_ENTRY 1e-12       // entries of GZ below this part of the largest in their column are rounding
#define ROUNDS 10              // in which the units are found ..
#define PROBES 3               // .. with so many moves each ..
#define PROBE 1e-3             // .. of this part of the units
#define ALIKE 0.15             // part of the way to their mean that units go in a round
#define FIRST_MOVE 1e-3        // units before the first round
#define CHANGE 1e-10           // changes of GZ below this part of the largest entry in the column are rounding
#define ITERATIONS 30          // of a projection
#define CONVERGED 1e-12        // |R g| that is the constraint manifold ..
#define ACCEPTED 1e-10         // .. and what is still accepted if rounding stops the iteration before
#define SMALLEST_DAMPING 1e-13 // nu of the projection; the square root of it is a singular value that counts as zero

// ---- small things ---------------------------------------------------------------------------------------------------

// Uniform in (-1, 1): xorshift64* (Vigna 2016), the same numbers in every run
static double random_number(kd_row_search *f)
{
    // three shifts, then the upper 53 bits of a product
    f->seed ^= f->seed >> 12;
    f->seed ^= f->seed << 25;
    f->seed ^= f->seed >> 27;
    return (double)((f->seed * 2685821657736338717u) >> 11) * 0x1p-52 - 1.0;
}

static bool is_used(const kd_row_search *f, int row)
{
    return !f->use || f->use[row];
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

bool kd_search_answered(kd_row_search *f, kd_eval answer)
{
    if (answer == KD_EVAL_STOP) f->stopped = true;
    return answer == KD_EVAL_OK;
}

// Contact coordinates follow the positions: Newton on 0 = c(p,s).
static bool follow_contacts(kd_row_search *f)
{
    const int ns = f->n.ns;
    // s -= c_s \ c
    for (int k = 0; k < ITERATIONS; k++) {
        kd_blocks blocks = {0};
        blocks.block[KD_C][KD_S] = f->c_s;
        kd_eom_at_position(f->data, f->p, f->s);
        if (!kd_search_answered(f, kd_eom_eval(f->data, KD_C, f->c))) return false;
        if (!kd_search_answered(f, kd_eom_derivatives(f->data, KD_PART_ALL, &blocks))) return false;
        if (kd_lu_factor(ns, f->c_s, f->pivot) != 0) return false;
        kd_lu_solve(ns, f->c_s, f->pivot, f->c, 1);
        kd_axpy(ns, -1.0, f->c, f->s);
        if (kd_norm_max(ns, f->c) <= 1e-14 * (1.0 + kd_norm_max(ns, f->s))) return true;
    }
    return false;
}

// g and GZ at (p, s)
bool kd_search_evaluate(kd_row_search *f)
{
    if (f->n.ns > 0 && !follow_contacts(f)) return false;
    kd_eom_at_position(f->data, f->p, f->s);
    return kd_search_answered(f, kd_eom_eval(f->data, KD_G, f->g)) &&
           kd_search_answered(f, f->sparse ? kd_eom_sparse(f->data, KD_GI, KD_V, KD_PART_ALL, f->GZ)
                                           : kd_eom_constraint_matrices(f->data, f->GZ, NULL));
}

// p = from oplus e
static bool move(kd_row_search *f, const double *from)
{
    return kd_search_answered(f, kd_eom_oplus(f->data, from, f->e, f->p));
}

void kd_search_go_to(kd_row_search *f, const double *p, const double *s)
{
    copy(f->n.np, p, f->p);
    copy(f->n.ns, s, f->s);
}

// ---- clusters -------------------------------------------------------------------------------------------------------

// largest entry of column j in the values of the pattern
static double largest_in(const kd_row_search *f, const double *A, int j)
{
    return kd_norm_max(f->column[j + 1] - f->column[j], A + f->column[j]);
}

// Largest entries of all rows, into rho
static void find_longest(kd_row_search *f)
{
    memset(f->rho, 0, (size_t)f->n.nlambda * sizeof(double));
    for (int k = 0; k < f->column[f->n.nv]; k++) f->rho[f->row[k]] = fmax(f->rho[f->row[k]], fabs(f->GZ[k]));
}

// Rounding in place of zero: a row may vanish identically but for rounding (a planar loop closed by a spatial joint), a
// column in a special position: zero is measured against the others of the column and of the row (rho).
static double rounding_of(const kd_row_search *f, double largest, int k)
{
    return ZERO_ENTRY * fmax(largest, f->rho[f->row[k]]);
}

// Entries that a position shows to be there; rho has the largest ones of the rows behind it
static void gather_pattern(kd_row_search *f)
{
    find_longest(f);
    for (int j = 0; j < f->n.nv; j++) {
        double largest = largest_in(f, f->GZ, j);
        for (int k = f->column[j]; k < f->column[j + 1]; k++) {
            double size = fabs(f->GZ[k]);
            if (size > rounding_of(f, largest, k) && size > f->W[k]) f->W[k] = size;
        }
    }
}

// GZ of the start without rounding, which would limit the units of what it seems to move
static void take_start(kd_row_search *f)
{
    find_longest(f);
    for (int j = 0; j < f->n.nv; j++) {
        double largest = largest_in(f, f->GZ, j);
        for (int k = f->column[j]; k < f->column[j + 1]; k++)
            f->GZ0[k] = fabs(f->GZ[k]) > rounding_of(f, largest, k) ? f->GZ[k] : 0;
    }
}

static void unite(kd_row_search *f)
{
    const int m = f->n.nlambda, n = f->n.nv;
    // every row and column alone; an entry joins its row with its column
    for (int i = 0; i < m + n; i++) f->parent[i] = i;
    for (int j = 0; j < n; j++)
        for (int k = f->column[j]; k < f->column[j + 1]; k++) {
            if (f->W[k] == 0) continue;
            int a = kd_root_of(f->parent, f->row[k]), b = kd_root_of(f->parent, m + j);
            // the smallest row names the cluster
            if (a < b)
                f->parent[b] = a;
            else
                f->parent[a] = b;
        }
}

// Lists of rows and columns from the pattern; clusters in the order of their first rows. A column without rows belongs
// to none.
void kd_search_find_clusters(kd_row_search *f)
{
    const int m = f->n.nlambda, n = f->n.nv;
    int      *place = f->order, *member = f->member;
    unite(f);
    f->nclusters = 0;
    // a root that is a row begins a cluster; columns without rows have roots of their own
    for (int i = 0; i < m; i++) {
        if (kd_root_of(f->parent, i) != i) continue;
        place[i] = f->nclusters;
        f->cluster[f->nclusters++] = (kd_cluster){.reach = 1};
    }
    // count, cut the lists, then fill them
    for (int i = 0; i < m; i++) f->cluster[place[kd_root_of(f->parent, i)]].m++;
    for (int j = 0; j < n; j++)
        if (kd_root_of(f->parent, m + j) < m) f->cluster[place[kd_root_of(f->parent, m + j)]].n++;
    for (int k = 0; k < f->nclusters; k++) {
        kd_cluster *c = &f->cluster[k];
        c->row = member, member += c->m;
        c->column = member, member += c->n;
        c->m = c->n = 0;
    }
    for (int i = 0; i < m; i++) {
        int         home = place[kd_root_of(f->parent, i)];
        kd_cluster *c = &f->cluster[home];
        f->home[i] = home;
        f->local[i] = c->m;
        c->row[c->m++] = i;
    }
    for (int j = 0; j < n; j++) {
        if (kd_root_of(f->parent, m + j) >= m) continue;
        kd_cluster *c = &f->cluster[place[kd_root_of(f->parent, m + j)]];
        c->column[c->n++] = j;
    }
}

// ---- scales ---------------------------------------------------------------------------------------------------------
//
// Natural units D: a move by D changes the rows of GZ by about their own length. For angles that is a radian, for
// lengths the size of the mechanism. With S_ik the change of GZ_ik when all coordinates move by D in random directions:
//     S_ik D_k <= rho_i = |row i of GZ D|                       where something changes
//     |GZ_ik| D_k <= the same with the curved coordinates alone where nothing does (k enters linearly)

// |row i of A D| of all rows
static void row_lengths(const kd_row_search *f, const double *A, double *length)
{
    memset(length, 0, (size_t)f->n.nlambda * sizeof(double));
    for (int j = 0; j < f->n.nv; j++)
        for (int k = f->column[j]; k < f->column[j + 1]; k++) {
            double entry = A[k] * f->D[j];
            length[f->row[k]] += entry * entry;
        }
    for (int i = 0; i < f->n.nlambda; i++) length[i] = sqrt(length[i]);
}

// S from small random moves off the constraints, so that entries which vanish in special positions are seen. Adds to
// the pattern W. false: no position could be evaluated.
static bool find_changes(kd_row_search *f)
{
    bool good = false;
    memset(f->S, 0, (size_t)f->column[f->n.nv] * sizeof(double));
    // GZ beside the start, all coordinates moved at once in random directions
    for (int k = 0; k < PROBES && !f->stopped; k++) {
        for (int j = 0; j < f->n.nv; j++) f->e[j] = copysign(PROBE * f->D[j], random_number(f));
        copy(f->n.ns, f->s0, f->s);
        if (!move(f, f->p0) || !kd_search_evaluate(f)) continue;
        gather_pattern(f);
        good = true;
        for (int j = 0; j < f->n.nv; j++) {
            double largest = largest_in(f, f->GZ0, j);
            for (int i = f->column[j]; i < f->column[j + 1]; i++) {
                double change = fabs(f->GZ[i] - f->GZ0[i]);
                // what is nothing beside what a small move makes of it was rounding
                if (fabs(f->GZ0[i]) < ZERO_ENTRY * change) f->GZ0[i] = 0;
                if (change > fmax(CHANGE * largest, rounding_of(f, largest, i)))
                    f->S[i] = fmax(f->S[i], change / PROBE);
            }
        }
    }
    return good;
}

// The largest factor by which D_k may grow so that |A_ik| D_k <= rho_i; HUGE_VAL: nothing limits it
static double room_of(const kd_row_search *f, const double *A, const double *rho, int k)
{
    double room = HUGE_VAL;
    for (int e = f->column[k]; e < f->column[k + 1]; e++)
        if (A[e] != 0 && rho[f->row[e]] > 0) room = fmin(room, rho[f->row[e]] / (fabs(A[e]) * f->D[k]));
    return room;
}

// Size of the coordinates: of the farthest one, or natural unit
static double reach(const kd_row_search *f)
{
    double most = kd_norm_max(f->n.np, f->p0);
    for (int k = 0; k < f->n.nv; k++) most = fmax(most, kd_eom_unit(f->eom, k));
    return most;
}

// One round: D_k times the square root of its room, which is right for a coordinate that acts alone. Where nothing
// limits it, up to the size of the coordinates.
static void adjust_units(kd_row_search *f)
{
    const int m = f->n.nlambda;
    double    farthest = reach(f), *rho = f->rho, *room = f->room;
    // curved coordinates by their changes, linear ones by their entries
    row_lengths(f, f->GZ0, rho);
    for (int k = 0; k < f->n.nv; k++) room[k] = room_of(f, f->S, rho, k);
    // rho of the curved coordinates alone
    memset(rho, 0, (size_t)m * sizeof(double));
    for (int k = 0; k < f->n.nv; k++)
        for (int e = f->column[k]; e < f->column[k + 1] && room[k] < HUGE_VAL; e++)
            rho[f->row[e]] = hypot(rho[f->row[e]], f->GZ0[e] * f->D[k]);
    double mean = 0;
    // at most 1e3 in a round, and not far beyond the mechanism
    for (int k = 0; k < f->n.nv; k++) {
        if (room[k] == HUGE_VAL) room[k] = room_of(f, f->GZ0, rho, k);
        if (room[k] == HUGE_VAL) room[k] = farthest / f->D[k];
        f->D[k] = fmin(f->D[k] * sqrt(fmin(fmax(room[k], 1e-6), 1e6)), 1e3 * farthest);
        mean += log(f->D[k]) / f->n.nv;
    }
    // where only the product of two units is limited, they become alike
    for (int k = 0; k < f->n.nv; k++) f->D[k] *= pow(exp(mean) / f->D[k], ALIKE);
}

// Rows of R GZ D have length 1, those that vanish at the start after a move; rows that vanish identically get the scale
// of the longest.
static void scale_rows(kd_row_search *f)
{
    double longest = 0;
    row_lengths(f, f->GZ0, f->R);
    row_lengths(f, f->S, f->rho);
    for (int i = 0; i < f->n.nlambda; i++) {
        f->R[i] = hypot(f->R[i], f->rho[i]);
        longest = fmax(longest, f->R[i]);
    }
    for (int i = 0; i < f->n.nlambda; i++)
        f->R[i] = 1 / (f->R[i] > ZERO_ENTRY * longest ? f->R[i] : longest > 0 ? longest : 1);
}

void kd_search_find_scales(kd_row_search *f)
{
    take_start(f);
    gather_pattern(f);
    for (int k = 0; k < f->n.nv; k++) f->D[k] = FIRST_MOVE * kd_eom_unit(f->eom, k);
    // where nothing can be evaluated the moves were too large
    for (int round = 0; round < ROUNDS && !f->stopped; round++) {
        if (find_changes(f))
            adjust_units(f);
        else
            for (int k = 0; k < f->n.nv; k++) f->D[k] *= 0.1;
    }
    scale_rows(f);
}

void kd_search_matrix(const kd_row_search *f, int k, const double *GZ, double *out)
{
    const kd_cluster *c = &f->cluster[k];
    memset(out, 0, (size_t)c->m * (size_t)c->n * sizeof(double));
    for (int j = 0; j < c->n; j++)
        for (int e = f->column[c->column[j]]; e < f->column[c->column[j] + 1]; e++) {
            int row = f->row[e];
            if (f->home[row] == k) out[(ptrdiff_t)c->m * j + f->local[row]] = f->R[row] * GZ[e] * f->D[c->column[j]];
        }
}

// ---- damped least squares in one cluster ----------------------------------------------------------------------------

// J = R GZ D of the used rows (k x n), stored as J if k > n and as J' otherwise; N = the smaller one of J'J and JJ',
// plus nu, factored. Returns k.
static int factor_normal(kd_row_search *f, const kd_cluster *c, double nu)
{
    const int n = c->n, number = (int)(c - f->cluster);
    int       k = 0;
    if (c->sparse) { // all rows have a place there
        for (int i = 0; i < c->m; i++) f->order[i] = c->row[i];
        kd_sparse_rows_factor(f, c, nu);
        return c->m;
    }
    // the used rows get numbers 0 .. k - 1
    for (int i = 0; i < c->m; i++) {
        f->used_at[c->row[i]] = is_used(f, c->row[i]) ? k : -1;
        if (is_used(f, c->row[i])) f->order[k++] = c->row[i];
    }
    // whichever is smaller: J'J (tall) or JJ'
    const bool tall = k > n;
    memset(f->J, 0, (size_t)k * (size_t)n * sizeof(double));
    for (int j = 0; j < n; j++)
        for (int e = f->column[c->column[j]]; e < f->column[c->column[j] + 1]; e++) {
            int row = f->row[e], i = f->used_at[row];
            if (f->home[row] != number || i < 0) continue;
            f->J[tall ? (ptrdiff_t)k * j + i : (ptrdiff_t)n * i + j] = f->R[row] * f->GZ[e] * f->D[c->column[j]];
        }
    const int l = min_int(k, n);
    // rounding may make it indefinite: more damping until it is not
    do {
        kd_gemm_tn(l, l, tall ? k : n, 1.0, f->J, f->J, 0.0, f->N);
        for (int i = 0; i < l; i++) f->N[(ptrdiff_t)(l + 1) * i] += nu;
        nu *= 100;
    } while (kd_cholesky_factor(l, f->N) != 0 && nu < 1e3);
    return k;
}

// x = J' inv(JJ' + nu) b = inv(J'J + nu) J' b,  b (k), x (n); b is overwritten
static void solve_normal(kd_row_search *f, const kd_cluster *c, int k, double *b, double *x)
{
    if (c->sparse) {
        kd_sparse_rows_solve(c, b, x);
    } else if (k > c->n) {
        kd_gemv_t(k, c->n, 1.0, f->J, b, 0.0, x);
        kd_cholesky_solve(c->n, f->N, x, 1);
    } else {
        kd_cholesky_solve(k, f->N, b, 1);
        kd_gemv(c->n, k, 1.0, f->J, b, 0.0, x);
    }
}

// y = J x
static void multiply(kd_row_search *f, const kd_cluster *c, int k, const double *x, double *y)
{
    if (c->sparse)
        kd_sparse_rows_multiply(c, x, y);
    else if (k > c->n)
        kd_gemv(k, c->n, 1.0, f->J, x, 0.0, y);
    else
        kd_gemv_t(c->n, k, 1.0, f->J, x, 0.0, y);
}

// ---- motion ---------------------------------------------------------------------------------------------------------

void kd_search_find_rounding(kd_row_search *f)
{
    // 16 eps of the farthest coordinate, times the largest entry of the row
    double farthest = kd_norm_max(f->n.np, f->p);
    memset(f->rounding, 0, (size_t)f->n.nlambda * sizeof(double));
    for (int k = 0; k < f->column[f->n.nv]; k++) f->rounding[f->row[k]] = fmax(f->rounding[f->row[k]], fabs(f->W[k]));
    for (int i = 0; i < f->n.nlambda; i++) f->rounding[i] *= 16 * DBL_EPSILON * f->R[i] * farthest;
}

// |R g| of the used rows of a cluster, rounding taken off
static double error_of(const kd_row_search *f, const kd_cluster *c)
{
    double error = 0;
    for (int i = 0; i < c->m; i++) {
        int row = c->row[i];
        if (is_used(f, row)) error = fmax(error, f->R[row] * fabs(f->g[row]) - f->rounding[row]);
    }
    return error;
}

// Levenberg-Marquardt with nu = |R g|^2: converges quadratically also where redundant rows have singular values of the
// size of the constraint error (Yamashita, Fukushima 2001).
static void correct(kd_row_search *f, kd_cluster *c)
{
    double nu = fmin(fmax(c->error * c->error, SMALLEST_DAMPING), 1);
    int    k = factor_normal(f, c, nu);
    // x = J' inv(JJ' + nu) (-R g)
    for (int i = 0; i < k; i++) f->y[i] = -f->R[f->order[i]] * f->g[f->order[i]];
    solve_normal(f, c, k, f->y, f->x);
    for (int j = 0; j < c->n; j++) {
        c->moved[j] += f->x[j];
        f->e[c->column[j]] = f->D[c->column[j]] * f->x[j];
    }
}

// One look at a cluster during a projection: done, failed, or the next correction in e.
static void advance(kd_row_search *f, kd_cluster *c, bool first)
{
    double before = c->error;
    c->error = error_of(f, c);
    if (first) c->first = c->error;
    if (c->error <= CONVERGED || (!first && c->error <= ACCEPTED && c->error > 0.5 * before))
        c->done = true;
    else if (!(c->error <= 10 * c->first) || c->n == 0)
        c->failed = true;
    else
        correct(f, c);
}

// From p back to g = 0, every cluster for itself. Ends with done or failed for those that are not idle, and with g and
// GZ at p.
void kd_search_project(kd_row_search *f)
{
    for (int k = 0; k < f->nclusters; k++) f->cluster[k].done = f->cluster[k].failed = false;
    // all clusters move together, each stops where it is done or has failed
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        bool open = false;
        if (!kd_search_evaluate(f)) break;
        memset(f->e, 0, (size_t)f->n.nv * sizeof(double));
        for (int k = 0; k < f->nclusters; k++) {
            kd_cluster *c = &f->cluster[k];
            if (c->idle || c->done || c->failed) continue;
            advance(f, c, iteration == 0);
            open = open || !(c->done || c->failed);
        }
        if (!open) return;
        if (!move(f, f->p)) break;
    }
    // out of iterations, or a position without value
    for (int k = 0; k < f->nclusters; k++) f->cluster[k].failed = !f->cluster[k].done;
}

// v: random in the kernel of the used rows, largest component 1, not back to where the last move came from; false:
// there is no kernel.
static bool choose_direction(kd_row_search *f, kd_cluster *c)
{
    if (c->n == 0) return false;
    int k = factor_normal(f, c, SMALLEST_DAMPING);
    for (int j = 0; j < c->n; j++) c->v[j] = random_number(f);
    // v - J' inv(JJ') J v; twice, because the damping leaves something over
    for (int pass = 0; pass < 2; pass++) {
        multiply(f, c, k, c->v, f->y);
        solve_normal(f, c, k, f->y, f->x);
        kd_axpy(c->n, -1.0, f->x, c->v);
    }
    // nothing is left: there is no kernel
    double largest = kd_norm_max(c->n, c->v);
    if (!(largest > 1e-4)) return false;
    // forward, seen from the last move
    double sign = kd_dot(c->n, c->v, c->last) < 0 ? -1 : 1;
    for (int j = 0; j < c->n; j++) c->v[j] *= sign / largest;
    return true;
}

// All clusters by their lengths along v and back to the constraints. True: none failed or fell back to where it was.
static bool try_move(kd_row_search *f)
{
    bool good = true;
    // lengths along the directions, all clusters at once
    memset(f->e, 0, (size_t)f->n.nv * sizeof(double));
    for (int k = 0; k < f->nclusters; k++) {
        kd_cluster *c = &f->cluster[k];
        for (int j = 0; j < c->n && !c->idle; j++) {
            c->moved[j] = c->length * c->v[j];
            f->e[c->column[j]] = f->D[c->column[j]] * c->moved[j];
        }
    }
    copy(f->n.ns, f->base_s, f->s);
    bool reached = move(f, f->base);
    if (reached) kd_search_project(f);
    // a cluster that was pushed back to where it was has not moved
    for (int k = 0; k < f->nclusters; k++) {
        kd_cluster *c = &f->cluster[k];
        if (c->idle) continue;
        if (!reached || kd_norm_max(c->n, c->moved) < 0.3 * c->length) c->failed = true;
        good = good && !c->failed;
    }
    return good;
}

// New directions, half as long every second time, for the clusters that failed; at first all. False: no cluster is left
// that can move.
static bool choose_moves(kd_row_search *f, int attempt)
{
    bool any = false;
    kd_search_go_to(f, f->base, f->base_s);
    if (!kd_search_evaluate(f)) return false;
    for (int k = 0; k < f->nclusters; k++) {
        kd_cluster *c = &f->cluster[k];
        if (attempt == 0) {
            c->idle = !choose_direction(f, c);
            c->length = c->reach * (KD_SMALLEST_MOVE + (KD_LARGEST_MOVE - KD_SMALLEST_MOVE) * fabs(random_number(f)));
        } else if (!c->idle && c->failed) {
            c->idle = attempt == KD_ATTEMPTS || !choose_direction(f, c);
            if (attempt % 2 == 0) c->length *= 0.5;
        }
        any = any || !c->idle;
    }
    return any;
}

// The next position: random moves of all clusters from base, none where the projection always fails. p, g, GZ are
// there, base too. False: nothing moves.
bool kd_search_next_position(kd_row_search *f)
{
    bool good = false;
    for (int attempt = 0; attempt <= KD_ATTEMPTS && !good; attempt++) {
        if (!choose_moves(f, attempt) || f->stopped) return false;
        good = try_move(f);
    }
    if (!good || f->stopped) return false;
    // the direction is remembered: the next move goes on
    for (int k = 0; k < f->nclusters; k++)
        if (!f->cluster[k].idle) copy(f->cluster[k].n, f->cluster[k].moved, f->cluster[k].last);
    copy(f->n.np, f->p, f->base);
    copy(f->n.ns, f->s, f->base_s);
    return true;
}

// Moves begin at p and use these rows.
void kd_search_restart(kd_row_search *f, const double *p, const double *contact, const bool *use)
{
    f->use = use;
    copy(f->n.np, p, f->base);
    copy(f->n.ns, contact, f->base_s);
    for (int k = 0; k < f->nclusters; k++)
        for (int j = 0; j < f->cluster[k].n; j++) f->cluster[k].last[j] = 0;
}
