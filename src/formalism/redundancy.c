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
#include "formalism/redundancy.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/text.h"
#include "math/dense.h"

#define RANK_TOLERANCE 1e-7 // singular values below are zero; noise of GZ: 1e-15, by differences 1e-12 to 1e-9
#define ZERO_ENTRY 1e-12    // entries of GZ below this part of the largest in their column are rounding
#define ROUNDS 10           // in which the units are found ..
#define PROBES 3            // .. with so many moves each ..
#define PROBE 1e-3          // .. of this part of the units
#define ALIKE 0.15          // part of the way to their mean that units go in a round
#define FIRST_MOVE 1e-3     // units before the first round
#define CHANGE 1e-10        // changes of GZ below this part of the largest entry in the column are rounding
#define SAMPLES 4           // positions for the rank
#define CHECKS 3            // positions reached with the kept rows alone
#define SMALLEST_MOVE 0.1   // of natural units: about the angle [rad] by which the rows turn
#define LARGEST_MOVE 0.3
#define SHORTEST 0.1           // moves of a check may become shorter as long as their reach is above
#define ATTEMPTS 7             // moves tried: other directions, and shorter ones
#define ITERATIONS 30          // of a projection
#define CONVERGED 1e-12        // |R g| that is the constraint manifold ..
#define ACCEPTED 1e-10         // .. and what is still accepted if rounding stops the iteration before
#define IMPLIED 1e-9           // |R g| of a row that the kept rows imply
#define INCONSISTENT 1e-5      // |R g| of a start position that is not assembled
#define SMALLEST_DAMPING 1e-13 // nu of the projection; the square root of it is a singular value that counts as zero
#define PREFERRED 0.1          // an earlier row is kept if it is this part as independent as the best one
#define CHOICES (2 * (SAMPLES + 1)) // of rows to keep
#define GOOD 0.1                    // kept rows are this part as independent as all rows
#define SHARED 1e-6                 // coefficient of a dependency that is not rounding

typedef struct cluster {
    int     m, n;                     // rows, coordinates
    int    *row, *column;             // (m), (n)
    double *v, *last;                 // (n) direction of the move and of the one before, in natural units
    double *moved;                    // (n) increments since the base position
    double *B;                        // (m x n) scaled matrices at the start and at the samples, one after the other
    int     rank_at[SAMPLES + 1];     // their ranks; -1: the cluster was not moved to that sample
    double  smallest_at[SAMPLES + 1]; // their last singular values that count
    int     rank;
    int     clearest;     // position with this rank, and the largest smallest singular value
    double  reach;        // part of the length of moves
    double  length;       // of the move
    double  error, first; // |R g| now and before the first iteration
    bool    idle;         // is not moved
    bool    done, failed; // projection
    bool    tested;       // its dropped rows were watched in a motion
} cluster;

typedef struct search {
    const kd_eom    *eom;
    kd_eom_data     *data;
    kd_arena         arena;
    kd_dims          n;
    const kd_inputs *inputs;
    const kd_state  *start;
    double           t;
    double          *u;                    // (3 nu) u, u', u''
    double          *p0, *p, *base, *p1;   // (np) start; now; where a move begins; last position with all rows
    double          *s0, *s, *base_s, *s1; // (ns)
    double          *c, *c_s;              // (ns), (ns x ns)
    int             *pivot;                // (ns)
    double          *e;                    // (nv) increment
    double          *g, *GZ, *GZ0;         // (nlambda), (nlambda x nv) at p; GZ at the start
    double          *W;                    // (nlambda x nv) largest |GZ| so far without rounding: the pattern
    double          *R, *D;                // (nlambda), (nv) scales: R GZ D has rows of length 1; D is a natural unit
    double          *S;                    // (nlambda x nv) change of |GZ| by a move of D
    double          *rho, *room;           // (nlambda), (nv) of adjust_units
    double          *rounding, *violation; // (nlambda) of R g
    int             *parent;               // (nlambda + nv) forest over rows and columns
    int             *member, *order;       // rows and columns of all clusters; (nlambda) rows
    int              nclusters;
    cluster         *cluster;
    const bool      *use;          // (nlambda) rows that hold; NULL: all
    double          *J, *A, *N;    // matrices of the largest cluster: (m x n) twice, (m x min(m,n))
    double          *y, *x, *work; // (m), (n), of kd_svd
    uint64_t         seed;
    bool             stopped; // a function asked to stop
} search;

// ---- small things ---------------------------------------------------------------------------------------------------

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

// Uniform in (-1, 1): xorshift64* (Vigna 2016), the same numbers in every run
static double random_number(search *f)
{
    f->seed ^= f->seed >> 12;
    f->seed ^= f->seed << 25;
    f->seed ^= f->seed >> 27;
    return (double)((f->seed * 2685821657736338717u) >> 11) * 0x1p-52 - 1.0;
}

static void copy(int n, const double *from, double *to)
{
    memcpy(to, from, (size_t)n * sizeof(double));
}

static bool is_used(const search *f, int row)
{
    return !f->use || f->use[row];
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

static bool answered(search *f, kd_eval answer)
{
    if (answer == KD_EVAL_STOP) f->stopped = true;
    return answer == KD_EVAL_OK;
}

// Contact coordinates follow the positions: Newton on 0 = c(p,s).
static bool follow_contacts(search *f)
{
    const int ns = f->n.ns;
    for (int k = 0; k < ITERATIONS; k++) {
        kd_blocks blocks = {0};
        blocks.block[KD_C][KD_S] = f->c_s;
        kd_eom_at_position(f->data, f->p, f->s);
        if (!answered(f, kd_eom_eval(f->data, KD_C, f->c))) return false;
        if (!answered(f, kd_eom_derivatives(f->data, KD_PART_ALL, &blocks))) return false;
        if (kd_lu_factor(ns, f->c_s, f->pivot) != 0) return false;
        kd_lu_solve(ns, f->c_s, f->pivot, f->c, 1);
        kd_axpy(ns, -1.0, f->c, f->s);
        if (kd_norm_max(ns, f->c) <= 1e-14 * (1.0 + kd_norm_max(ns, f->s))) return true;
    }
    return false;
}

// g and GZ at (p, s)
static bool evaluate(search *f)
{
    if (f->n.ns > 0 && !follow_contacts(f)) return false;
    kd_eom_at_position(f->data, f->p, f->s);
    return answered(f, kd_eom_eval(f->data, KD_G, f->g)) &&
           answered(f, kd_eom_constraint_matrices(f->data, f->GZ, NULL));
}

// p = from oplus e
static bool move(search *f, const double *from)
{
    return answered(f, kd_eom_oplus(f->data, from, f->e, f->p));
}

static void go_to(search *f, const double *p, const double *s)
{
    copy(f->n.np, p, f->p);
    copy(f->n.ns, s, f->s);
}

// ---- clusters -------------------------------------------------------------------------------------------------------

// Entries that a position shows to be there. A row may vanish identically but for rounding (a planar loop closed by a
// spatial joint), a column in a special position: zero is measured against the others of the column and of the row.
static void gather_pattern(search *f)
{
    const int m = f->n.nlambda;
    double   *longest = f->rho;
    memset(longest, 0, (size_t)m * sizeof(double));
    for (int j = 0; j < f->n.nv; j++)
        for (int i = 0; i < m; i++) longest[i] = fmax(longest[i], fabs(f->GZ[(ptrdiff_t)m * j + i]));
    for (int j = 0; j < f->n.nv; j++) {
        double *W = f->W + (ptrdiff_t)m * j, largest = kd_norm_max(m, f->GZ + (ptrdiff_t)m * j);
        for (int i = 0; i < m; i++) {
            double size = fabs(f->GZ[(ptrdiff_t)m * j + i]);
            if (size > ZERO_ENTRY * fmax(largest, longest[i]) && size > W[i]) W[i] = size;
        }
    }
}

static int root_of(int *parent, int i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

static void unite(search *f)
{
    const int m = f->n.nlambda, n = f->n.nv;
    for (int i = 0; i < m + n; i++) f->parent[i] = i;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            if (f->W[(ptrdiff_t)m * j + i] == 0) continue;
            int a = root_of(f->parent, i), b = root_of(f->parent, m + j);
            // the smallest row names the cluster
            if (a < b)
                f->parent[b] = a;
            else
                f->parent[a] = b;
        }
}

// Lists of rows and columns from the pattern; clusters in the order of their first rows. A column without rows belongs
// to none.
static void find_clusters(search *f)
{
    const int m = f->n.nlambda, n = f->n.nv;
    int      *place = f->order, *member = f->member;
    unite(f);
    f->nclusters = 0;
    for (int i = 0; i < m; i++) {
        if (root_of(f->parent, i) != i) continue;
        place[i] = f->nclusters;
        f->cluster[f->nclusters++] = (cluster){.reach = 1};
    }
    for (int i = 0; i < m; i++) f->cluster[place[root_of(f->parent, i)]].m++;
    for (int j = 0; j < n; j++)
        if (root_of(f->parent, m + j) < m) f->cluster[place[root_of(f->parent, m + j)]].n++;
    for (int k = 0; k < f->nclusters; k++) {
        cluster *c = &f->cluster[k];
        c->row = member, member += c->m;
        c->column = member, member += c->n;
        c->m = c->n = 0;
    }
    for (int i = 0; i < m; i++) {
        cluster *c = &f->cluster[place[root_of(f->parent, i)]];
        c->row[c->m++] = i;
    }
    for (int j = 0; j < n; j++) {
        if (root_of(f->parent, m + j) >= m) continue;
        cluster *c = &f->cluster[place[root_of(f->parent, m + j)]];
        c->column[c->n++] = j;
    }
}

// ---- scales ---------------------------------------------------------------------------------------------------------
//
// Natural units D: a move by D changes the rows of GZ by about their own length. For angles that is a radian, for
// lengths the size of the mechanism. With S_ik the change of GZ_ik when all coordinates move by D in random directions:
//     S_ik D_k <= rho_i = |row i of GZ D|                       where something changes
//     |GZ_ik| D_k <= the same with the curved coordinates alone where nothing does (k enters linearly)

// |row i of A D|, A (nlambda x nv)
static double row_length(const search *f, const double *A, int i)
{
    double sum = 0;
    for (int j = 0; j < f->n.nv; j++) {
        double entry = A[(ptrdiff_t)f->n.nlambda * j + i] * f->D[j];
        sum += entry * entry;
    }
    return sqrt(sum);
}

// S from small random moves off the constraints, so that entries which vanish in special positions are seen. Adds to
// the pattern W. false: no position could be evaluated.
static bool find_changes(search *f)
{
    const int       m = f->n.nlambda;
    const ptrdiff_t count = (ptrdiff_t)m * f->n.nv;
    bool            good = false;
    memset(f->S, 0, (size_t)count * sizeof(double));
    for (int k = 0; k < PROBES && !f->stopped; k++) {
        for (int j = 0; j < f->n.nv; j++) f->e[j] = copysign(PROBE * f->D[j], random_number(f));
        copy(f->n.ns, f->s0, f->s);
        if (!move(f, f->p0) || !evaluate(f)) continue;
        gather_pattern(f);
        good = true;
        for (int j = 0; j < f->n.nv; j++) {
            double noise = CHANGE * kd_norm_max(m, f->GZ0 + (ptrdiff_t)m * j);
            for (ptrdiff_t i = (ptrdiff_t)m * j; i < (ptrdiff_t)m * (j + 1); i++) {
                double change = fabs(f->GZ[i] - f->GZ0[i]);
                if (change > noise) f->S[i] = fmax(f->S[i], change / PROBE);
            }
        }
    }
    return good;
}

// The largest factor by which D_k may grow so that |A_ik| D_k <= rho_i; HUGE_VAL: nothing limits it
static double room_of(const search *f, const double *A, const double *rho, int k)
{
    const double *column = A + (ptrdiff_t)f->n.nlambda * k;
    double        room = HUGE_VAL;
    for (int i = 0; i < f->n.nlambda; i++)
        if (column[i] != 0 && rho[i] > 0) room = fmin(room, rho[i] / (fabs(column[i]) * f->D[k]));
    return room;
}

// One round: D_k times the square root of its room, which is right for a coordinate that acts alone. Where nothing
// limits it, up to the size of the coordinates.
static void adjust_units(search *f)
{
    const int m = f->n.nlambda;
    double    farthest = fmax(1, kd_norm_max(f->n.np, f->p0)), *rho = f->rho, *room = f->room;
    for (int i = 0; i < m; i++) rho[i] = row_length(f, f->GZ0, i);
    for (int k = 0; k < f->n.nv; k++) room[k] = room_of(f, f->S, rho, k);
    memset(rho, 0, (size_t)m * sizeof(double));
    for (int k = 0; k < f->n.nv; k++)
        for (int i = 0; i < m && room[k] < HUGE_VAL; i++)
            rho[i] = hypot(rho[i], f->GZ0[(ptrdiff_t)m * k + i] * f->D[k]);
    double mean = 0;
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
static void scale_rows(search *f)
{
    double longest = 0;
    for (int i = 0; i < f->n.nlambda; i++) {
        f->R[i] = hypot(row_length(f, f->GZ0, i), row_length(f, f->S, i));
        longest = fmax(longest, f->R[i]);
    }
    for (int i = 0; i < f->n.nlambda; i++)
        f->R[i] = 1 / (f->R[i] > ZERO_ENTRY * longest ? f->R[i] : longest > 0 ? longest : 1);
}

static void find_scales(search *f)
{
    copy(f->n.nlambda * f->n.nv, f->GZ, f->GZ0);
    gather_pattern(f);
    for (int k = 0; k < f->n.nv; k++) f->D[k] = FIRST_MOVE;
    for (int round = 0; round < ROUNDS && !f->stopped; round++) {
        if (find_changes(f))
            adjust_units(f);
        else
            for (int k = 0; k < f->n.nv; k++) f->D[k] *= 0.1;
    }
    scale_rows(f);
}

// ---- damped least squares in one cluster ----------------------------------------------------------------------------

// J = R GZ D of the used rows (k x n), stored as J if k > n and as J' otherwise; N = the smaller one of J'J and JJ',
// plus nu, factored. Returns k.
static int factor_normal(search *f, const cluster *c, double nu)
{
    const int m = f->n.nlambda, n = c->n;
    int       k = 0;
    for (int i = 0; i < c->m; i++)
        if (is_used(f, c->row[i])) f->order[k++] = c->row[i];
    const bool tall = k > n;
    for (int i = 0; i < k; i++)
        for (int j = 0; j < n; j++) {
            double entry = f->R[f->order[i]] * f->GZ[(ptrdiff_t)m * c->column[j] + f->order[i]] * f->D[c->column[j]];
            f->J[tall ? (ptrdiff_t)k * j + i : (ptrdiff_t)n * i + j] = entry;
        }
    const int l = min_int(k, n);
    do {
        kd_gemm_tn(l, l, tall ? k : n, 1.0, f->J, f->J, 0.0, f->N);
        for (int i = 0; i < l; i++) f->N[(ptrdiff_t)(l + 1) * i] += nu;
        nu *= 100;
    } while (kd_cholesky_factor(l, f->N) != 0 && nu < 1e3);
    return k;
}

// x = J' inv(JJ' + nu) b = inv(J'J + nu) J' b,  b (k), x (n); b is overwritten
static void solve_normal(search *f, const cluster *c, int k, double *b, double *x)
{
    if (k > c->n) {
        kd_gemv_t(k, c->n, 1.0, f->J, b, 0.0, x);
        kd_cholesky_solve(c->n, f->N, x, 1);
    } else {
        kd_cholesky_solve(k, f->N, b, 1);
        kd_gemv(c->n, k, 1.0, f->J, b, 0.0, x);
    }
}

// y = J x
static void multiply(search *f, const cluster *c, int k, const double *x, double *y)
{
    if (k > c->n)
        kd_gemv(k, c->n, 1.0, f->J, x, 0.0, y);
    else
        kd_gemv_t(c->n, k, 1.0, f->J, x, 0.0, y);
}

// ---- motion ---------------------------------------------------------------------------------------------------------

// A row is evaluated to this part of its unit.
static double rounding_of(const search *f, int i)
{
    double largest = 0;
    for (int j = 0; j < f->n.nv; j++) largest = fmax(largest, fabs(f->W[(ptrdiff_t)f->n.nlambda * j + i]));
    return 16 * DBL_EPSILON * f->R[i] * largest * kd_norm_max(f->n.np, f->p);
}

// |R g| of the used rows of a cluster, rounding taken off
static double error_of(const search *f, const cluster *c)
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
static void correct(search *f, cluster *c)
{
    double nu = fmin(fmax(c->error * c->error, SMALLEST_DAMPING), 1);
    int    k = factor_normal(f, c, nu);
    for (int i = 0; i < k; i++) f->y[i] = -f->R[f->order[i]] * f->g[f->order[i]];
    solve_normal(f, c, k, f->y, f->x);
    for (int j = 0; j < c->n; j++) {
        c->moved[j] += f->x[j];
        f->e[c->column[j]] = f->D[c->column[j]] * f->x[j];
    }
}

// One look at a cluster during a projection: done, failed, or the next correction in e.
static void advance(search *f, cluster *c, bool first)
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
static void project(search *f)
{
    for (int k = 0; k < f->nclusters; k++) f->cluster[k].done = f->cluster[k].failed = false;
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        bool open = false;
        if (!evaluate(f)) break;
        memset(f->e, 0, (size_t)f->n.nv * sizeof(double));
        for (int k = 0; k < f->nclusters; k++) {
            cluster *c = &f->cluster[k];
            if (c->idle || c->done || c->failed) continue;
            advance(f, c, iteration == 0);
            open = open || !(c->done || c->failed);
        }
        if (!open) return;
        if (!move(f, f->p)) break;
    }
    for (int k = 0; k < f->nclusters; k++) f->cluster[k].failed = !f->cluster[k].done;
}

// v: random in the kernel of the used rows, largest component 1, not back to where the last move came from; false:
// there is no kernel.
static bool choose_direction(search *f, cluster *c)
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
    double largest = kd_norm_max(c->n, c->v);
    if (!(largest > 1e-4)) return false;
    double sign = kd_dot(c->n, c->v, c->last) < 0 ? -1 : 1;
    for (int j = 0; j < c->n; j++) c->v[j] *= sign / largest;
    return true;
}

// All clusters by their lengths along v and back to the constraints. True: none failed or fell back to where it was.
static bool try_move(search *f)
{
    bool good = true;
    memset(f->e, 0, (size_t)f->n.nv * sizeof(double));
    for (int k = 0; k < f->nclusters; k++) {
        cluster *c = &f->cluster[k];
        for (int j = 0; j < c->n && !c->idle; j++) {
            c->moved[j] = c->length * c->v[j];
            f->e[c->column[j]] = f->D[c->column[j]] * c->moved[j];
        }
    }
    copy(f->n.ns, f->base_s, f->s);
    bool reached = move(f, f->base);
    if (reached) project(f);
    for (int k = 0; k < f->nclusters; k++) {
        cluster *c = &f->cluster[k];
        if (c->idle) continue;
        if (!reached || kd_norm_max(c->n, c->moved) < 0.3 * c->length) c->failed = true;
        good = good && !c->failed;
    }
    return good;
}

// New directions, half as long every second time, for the clusters that failed; at first all. False: no cluster is left
// that can move.
static bool choose_moves(search *f, int attempt)
{
    bool any = false;
    go_to(f, f->base, f->base_s);
    if (!evaluate(f)) return false;
    for (int k = 0; k < f->nclusters; k++) {
        cluster *c = &f->cluster[k];
        if (attempt == 0) {
            c->idle = !choose_direction(f, c);
            c->length = c->reach * (SMALLEST_MOVE + (LARGEST_MOVE - SMALLEST_MOVE) * fabs(random_number(f)));
        } else if (!c->idle && c->failed) {
            c->idle = attempt == ATTEMPTS || !choose_direction(f, c);
            if (attempt % 2 == 0) c->length *= 0.5;
        }
        any = any || !c->idle;
    }
    return any;
}

// The next position: random moves of all clusters from base, none where the projection always fails. p, g, GZ are
// there, base too. False: nothing moves.
static bool next_position(search *f)
{
    bool good = false;
    for (int attempt = 0; attempt <= ATTEMPTS && !good; attempt++) {
        if (!choose_moves(f, attempt) || f->stopped) return false;
        good = try_move(f);
    }
    if (!good || f->stopped) return false;
    for (int k = 0; k < f->nclusters; k++)
        if (!f->cluster[k].idle) copy(f->cluster[k].n, f->cluster[k].moved, f->cluster[k].last);
    copy(f->n.np, f->p, f->base);
    copy(f->n.ns, f->s, f->base_s);
    return true;
}

// Moves begin at p and use these rows.
static void restart(search *f, const double *p, const double *contact, const bool *use)
{
    f->use = use;
    copy(f->n.np, p, f->base);
    copy(f->n.ns, contact, f->base_s);
    for (int k = 0; k < f->nclusters; k++)
        for (int j = 0; j < f->cluster[k].n; j++) f->cluster[k].last[j] = 0;
}

// ---- rank -----------------------------------------------------------------------------------------------------------

static double *matrix_at(const cluster *c, int position)
{
    return c->B + (ptrdiff_t)position * c->m * c->n;
}

// Ranks of the scaled matrices at p, and their largest so far; position 0: start.
static kd_status note_ranks(search *f, int position)
{
    for (int k = 0; k < f->nclusters; k++) {
        cluster *c = &f->cluster[k];
        double  *B = matrix_at(c, position);
        int      rank = 0;
        c->rank_at[position] = -1;
        if (c->idle && position > 0) continue;
        for (int j = 0; j < c->n; j++)
            for (int i = 0; i < c->m; i++)
                B[(ptrdiff_t)c->m * j + i] =
                    f->R[c->row[i]] * f->GZ[(ptrdiff_t)f->n.nlambda * c->column[j] + c->row[i]] * f->D[c->column[j]];
        copy(c->m * c->n, B, f->A);
        if (kd_svd(c->m, c->n, f->A, NULL, f->x, NULL, f->work) != 0) return KD_ERR_DECOMPOSITION;
        // rows have length 1, so that the largest singular value is at least 1
        while (rank < min_int(c->m, c->n) && f->x[rank] > RANK_TOLERANCE) rank++;
        c->rank_at[position] = rank;
        c->smallest_at[position] = rank > 0 ? f->x[rank - 1] : 0;
        if (rank > c->rank || (rank == c->rank && c->smallest_at[position] > c->smallest_at[c->clearest]))
            c->clearest = position;
        c->rank = max_int(rank, c->rank);
    }
    return KD_OK;
}

// ---- rows to keep ---------------------------------------------------------------------------------------------------

// QR with pivoting of B' by modified Gram-Schmidt: columns order[0 .. rank-1] of A = B' are independent. The pivot is
// the first one in order that is not much shorter than the longest (preference 1: the longest). N (rank x m) receives
// R. Returns the smallest pivot.
static double pivoted_qr(search *f, const cluster *c, const double *B, double preference)
{
    const int m = c->m, n = c->n, r = c->rank;
    double    smallest = HUGE_VAL, *A = f->A, *length = f->y;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) A[(ptrdiff_t)n * i + j] = B[(ptrdiff_t)m * j + i];
    for (int k = 0; k < r; k++) {
        double longest = 0;
        for (int i = k; i < m; i++) {
            const double *a = A + (ptrdiff_t)n * f->order[i];
            length[i] = sqrt(kd_dot(n, a, a));
            longest = fmax(longest, length[i]);
        }
        int chosen = k;
        while (length[chosen] < preference * longest) chosen++;
        int pivot = f->order[chosen];
        smallest = fmin(smallest, length[chosen]);
        if (smallest == 0) return 0;
        double *q = A + (ptrdiff_t)n * pivot;
        for (int j = 0; j < n; j++) q[j] /= length[chosen];
        f->N[(ptrdiff_t)r * pivot + k] = length[chosen];
        for (int i = chosen; i > k; i--) f->order[i] = f->order[i - 1]; // the others keep their order
        f->order[k] = pivot;
        for (int i = k + 1; i < m; i++) {
            double *a = A + (ptrdiff_t)n * f->order[i], part = kd_dot(n, q, a);
            f->N[(ptrdiff_t)r * f->order[i] + k] = part;
            kd_axpy(n, -part, q, a);
        }
    }
    return smallest;
}

// Rows in the order in which they are preferred: kept ones first
static void set_order(search *f, const cluster *c, const bool *keep)
{
    int k = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < c->m; i++)
            if (keep[c->row[i]] == (pass == 0)) f->order[k++] = i;
}

// How independent the kept rows are in all positions of full rank, against all rows together: the smallest pivot
static double quality_of(search *f, const cluster *c, const bool *keep)
{
    double quality = HUGE_VAL;
    for (int position = 0; position <= SAMPLES; position++) {
        if (c->rank_at[position] != c->rank) continue;
        set_order(f, c, keep);
        double pivot = pivoted_qr(f, c, matrix_at(c, position), 0);
        quality = fmin(quality, pivot / c->smallest_at[position]);
    }
    return quality;
}

// Choice number k: rows that are independent in one of the positions, with preference for earlier rows or without
static bool choose_rows(search *f, const cluster *c, int k, bool *keep)
{
    const int position = k % (SAMPLES + 1);
    if (c->rank_at[position] != c->rank) return false;
    for (int i = 0; i < c->m; i++) keep[c->row[i]] = false;
    set_order(f, c, keep);
    (void)pivoted_qr(f, c, matrix_at(c, position), k <= SAMPLES ? PREFERRED : 1);
    for (int i = 0; i < c->rank; i++) keep[c->row[f->order[i]]] = true;
    return true;
}

// As many rows as the rank says, by the first choice that is good in all positions, otherwise by the best. The start
// comes first, so that equal loops keep equal rows.
static void keep_rows(search *f, const cluster *c, bool *keep)
{
    double best = -1;
    int    choice = 0;
    for (int i = 0; i < c->m; i++) keep[c->row[i]] = true;
    for (int k = 0; k < CHOICES && c->rank < c->m && best < GOOD; k++) {
        if (!choose_rows(f, c, k, keep)) continue;
        double quality = quality_of(f, c, keep);
        if (quality > best) best = quality, choice = k;
    }
    if (c->rank < c->m) (void)choose_rows(f, c, choice, keep);
}

// Rows whose forces can be exchanged: those with a coefficient in R11 x = R12, for the rows left out.
static void find_shares(search *f, const cluster *c, const bool *keep, bool *shares)
{
    const int r = c->rank;
    if (r == c->m) return;
    set_order(f, c, keep);
    (void)pivoted_qr(f, c, matrix_at(c, c->clearest), PREFERRED);
    for (int i = r; i < c->m; i++) {
        double *x = f->N + (ptrdiff_t)r * f->order[i];
        if (keep[c->row[f->order[i]]]) continue;
        shares[c->row[f->order[i]]] = true;
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
static int revise_rows(search *f, bool *keep)
{
    int count = 0;
    for (int k = 0; k < f->nclusters; k++) {
        cluster *c = &f->cluster[k];
        int      worst = -1;
        for (int i = 0; i < c->m; i++) {
            int row = c->row[i];
            if (keep[row] || f->violation[row] <= IMPLIED) continue;
            if (worst < 0 || f->violation[row] > f->violation[worst]) worst = row;
        }
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
static void watch_rows(search *f)
{
    for (int i = 0; i < f->n.nlambda; i++)
        f->violation[i] = fmax(f->violation[i], f->R[i] * fabs(f->g[i]) - f->rounding[i]);
    for (int k = 0; k < f->nclusters; k++)
        f->cluster[k].tested = f->cluster[k].tested || !f->cluster[k].idle || f->cluster[k].n == 0;
}

// Motions with the kept rows alone, from the last position with all rows: do the others stay at rounding?
static void check_rows(search *f, bool *keep)
{
    do {
        memset(f->violation, 0, (size_t)f->n.nlambda * sizeof(double));
        for (int k = 0; k < f->nclusters; k++) f->cluster[k].tested = false;
        for (int check = 0; check < CHECKS; check++) {
            restart(f, f->p1, f->s1, keep);
            if (next_position(f)) watch_rows(f);
        }
    } while (!f->stopped && revise_rows(f, keep) > 0);
}

// ---- driven mechanisms ----------------------------------------------------------------------------------------------
//
// Where prescribed motions leave no freedom, nothing moves at the start time; then time moves it.

static bool set_time(search *f, double t)
{
    double *u = f->u, *du = u + f->n.nu, *ddu = du + f->n.nu;
    f->t = t;
    if (f->n.nu > 0 && f->inputs && f->inputs->eval && !answered(f, f->inputs->eval(t, f->inputs->context, u, du, ddu)))
        return false;
    kd_eom_at_time(f->data, t, u, du, ddu, f->start->z);
    return true;
}

// Time in which the constraints move by as much as in a sample; 0: they stand still
static double time_scale(search *f)
{
    double rate = 0;
    go_to(f, f->p0, f->s0);
    kd_eom_at_position(f->data, f->p, f->s);
    kd_eom_at_velocity(f->data, NULL, NULL);
    if (!answered(f, kd_eom_eval(f->data, KD_GI, f->g))) return 0; // gI = g_t at v = 0
    for (int i = 0; i < f->n.nlambda; i++) rate = fmax(rate, f->R[i] * fabs(f->g[i]));
    return rate > 0 ? LARGEST_MOVE / rate : 0;
}

// From base at time t to t + tau with the kept rows. False: not all clusters could follow.
static bool follow_time(search *f, double tau)
{
    bool good = set_time(f, f->t + tau);
    go_to(f, f->base, f->base_s);
    for (int k = 0; k < f->nclusters; k++) {
        cluster *c = &f->cluster[k];
        c->idle = c->n == 0;
        for (int j = 0; j < c->n; j++) c->moved[j] = 0;
    }
    if (good) project(f);
    for (int k = 0; k < f->nclusters; k++) {
        cluster *c = &f->cluster[k];
        if (c->idle) continue;
        good = good && c->done;
        c->idle = kd_norm_max(c->n, c->moved) < 0.01 * SMALLEST_MOVE;
    }
    if (!good) return false;
    copy(f->n.np, f->p, f->base);
    copy(f->n.ns, f->s, f->base_s);
    return true;
}

// The same check as above, by time.
static void check_driven(search *f, bool *keep)
{
    const double start = f->t, scale = time_scale(f);
    for (bool again = scale > 0; again && !f->stopped; again = revise_rows(f, keep) > 0) {
        double tau = scale;
        int    checks = 0;
        for (int k = 0; k < f->nclusters; k++) tau = fmin(tau, scale * f->cluster[k].reach);
        memset(f->violation, 0, (size_t)f->n.nlambda * sizeof(double));
        restart(f, f->p0, f->s0, keep);
        f->t = start;
        for (int attempt = 0; attempt < ATTEMPTS + CHECKS && checks < CHECKS && !f->stopped; attempt++) {
            double before = f->t;
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

static int sum_products(const search *f)
{
    int sum = 0;
    for (int k = 0; k < f->nclusters; k++) sum += ((SAMPLES + 1) * f->cluster[k].m + 3) * f->cluster[k].n;
    return sum;
}

static bool cut_first(search *f)
{
    const int m = f->n.nlambda, n = f->n.nv;
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
    f->c_s = kd_cut_double(&f->arena, f->n.ns * f->n.ns);
    f->pivot = kd_cut_int(&f->arena, f->n.ns);
    f->e = kd_cut_double(&f->arena, n);
    f->g = kd_cut_double(&f->arena, m);
    f->rounding = kd_cut_double(&f->arena, m);
    f->violation = kd_cut_double(&f->arena, m);
    f->GZ = kd_cut_double(&f->arena, m * n);
    f->GZ0 = kd_cut_double(&f->arena, m * n);
    f->W = kd_cut_double(&f->arena, m * n);
    f->R = kd_cut_double(&f->arena, m);
    f->D = kd_cut_double(&f->arena, n);
    f->S = kd_cut_double(&f->arena, m * n);
    f->rho = kd_cut_double(&f->arena, m);
    f->room = kd_cut_double(&f->arena, n);
    f->parent = kd_cut_int(&f->arena, m + n);
    f->member = kd_cut_int(&f->arena, m + n);
    f->order = kd_cut_int(&f->arena, m);
    f->cluster = kd_arena_cut(&f->arena, (size_t)m, sizeof *f->cluster);
    return !f->arena.failed;
}

// Arrays whose sizes the clusters decide
static bool cut_second(search *f)
{
    int     matrix = 0, square = 0, rows = 0, columns = 0, work = 1;
    double *number = kd_cut_double(&f->arena, sum_products(f));
    if (!number) return false;
    for (int k = 0; k < f->nclusters; k++) {
        cluster *c = &f->cluster[k];
        c->v = number, number += c->n;
        c->last = number, number += c->n;
        c->moved = number, number += c->n;
        c->B = number, number += (SAMPLES + 1) * c->m * c->n;
        matrix = max_int(matrix, c->m * c->n);
        square = max_int(square, c->m * min_int(c->m, c->n));
        rows = max_int(rows, c->m);
        columns = max_int(columns, c->n);
        work = max_int(work, kd_svd_work(c->m, c->n));
    }
    f->J = kd_cut_double(&f->arena, matrix);
    f->A = kd_cut_double(&f->arena, matrix);
    f->N = kd_cut_double(&f->arena, square);
    f->y = kd_cut_double(&f->arena, rows);
    f->x = kd_cut_double(&f->arena, columns);
    f->work = kd_cut_double(&f->arena, work);
    return !f->arena.failed;
}

// Inputs, time and position of the start; g and GZ there
static bool set_start(search *f)
{
    kd_eom_at_parameters(f->data, f->start->theta);
    if (!set_time(f, f->start->t)) return false;
    copy(f->n.np, f->start->p, f->p0);
    copy(f->n.ns, f->start->s, f->s0);
    go_to(f, f->p0, f->s0);
    return evaluate(f);
}

// From the tolerance of the assembly to rounding, where that is possible
static kd_status polish_start(search *f, char *message, size_t size)
{
    int  worst = 0;
    bool good = true;
    char name[96];
    go_to(f, f->p0, f->s0);
    if (!evaluate(f)) return KD_ERR_RETRY_FAILED;
    for (int i = 0; i < f->n.nlambda; i++)
        if (f->R[i] * fabs(f->g[i]) > f->R[worst] * fabs(f->g[worst])) worst = i;
    if (f->R[worst] * fabs(f->g[worst]) > INCONSISTENT) {
        kd_text(message, size, "the start position violates '%s' by %.3g: assemble first",
                kd_eom_name(f->eom, KD_NAME_LAMBDA, worst, name, sizeof name), f->g[worst]);
        return KD_ERR_INCONSISTENT;
    }
    project(f);
    for (int k = 0; k < f->nclusters; k++) good = good && (f->cluster[k].done || f->cluster[k].n == 0);
    if (!good) {
        go_to(f, f->p0, f->s0);
        return evaluate(f) ? KD_OK : KD_ERR_RETRY_FAILED;
    }
    copy(f->n.np, f->p, f->p0);
    copy(f->n.ns, f->s, f->s0);
    return KD_OK;
}

// Rows that are left out were watched in a motion, or there are none
static bool all_settled(const search *f, const bool *keep)
{
    bool settled = true;
    for (int k = 0; k < f->nclusters; k++) {
        const cluster *c = &f->cluster[k];
        for (int i = 0; i < c->m; i++) settled = settled && (keep[c->row[i]] || c->tested);
    }
    return settled;
}

static kd_status examine(search *f, kd_redundancy *out, char *message, size_t size)
{
    find_scales(f);
    if (f->stopped) return KD_ERR_CALLBACK_STOP;
    find_clusters(f);
    if (!cut_second(f)) return KD_ERR_MEMORY;
    for (int i = 0; i < f->n.nlambda; i++) f->rounding[i] = rounding_of(f, i);
    kd_status status = polish_start(f, message, size);
    if (status == KD_OK) status = note_ranks(f, 0);
    restart(f, f->p0, f->s0, NULL);
    while (status == KD_OK && out->nsamples < SAMPLES && next_position(f)) {
        out->nsamples++;
        status = note_ranks(f, out->nsamples);
    }
    for (int position = out->nsamples + 1; position <= SAMPLES; position++)
        for (int k = 0; k < f->nclusters; k++) f->cluster[k].rank_at[position] = -1;
    if (status != KD_OK) return status;
    copy(f->n.np, f->base, f->p1);
    copy(f->n.ns, f->base_s, f->s1);
    for (int k = 0; k < f->nclusters; k++) keep_rows(f, &f->cluster[k], out->keep);
    if (!all_settled(f, out->keep)) check_rows(f, out->keep);
    if (!all_settled(f, out->keep)) check_driven(f, out->keep);
    out->certain = all_settled(f, out->keep);
    return KD_OK;
}

static void conclude(search *f, kd_redundancy *out)
{
    for (int i = 0; i < f->n.nlambda; i++) out->rank += out->keep[i];
    for (int k = 0; k < f->nclusters; k++) {
        out->start_rank += f->cluster[k].rank_at[0];
        find_shares(f, &f->cluster[k], out->keep, out->shares);
    }
}

// ---- the result in words --------------------------------------------------------------------------------------------

static void describe(const search *f, const kd_redundancy *out, char *message, size_t size)
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
static kd_status fault_of(const search *f, char *message, size_t size)
{
    kd_fault fault = kd_eom_data_fault(f->data);
    if (fault.status < 0)
        kd_text(message, size, "%s", kd_eom_data_message(f->data));
    else
        kd_text(message, size, "the inputs have no value at t = %g", f->t);
    if (f->stopped) return KD_ERR_CALLBACK_STOP;
    return fault.status < 0 ? fault.status : KD_ERR_RETRY_FAILED;
}

kd_status kd_redundancy_find(const kd_eom *eom, const kd_inputs *inputs, const kd_state *start, kd_arena *arena,
                             kd_redundancy *out, char *message, size_t size)
{
    if (!eom || !start || !arena || !out) return KD_ERR_ARGUMENT;
    search f = {.eom = eom, .inputs = inputs, .start = start, .n = kd_eom_dims(eom), .seed = 88172645463325252u};
    *out = (kd_redundancy){.keep = kd_cut_bool(arena, f.n.nlambda), .shares = kd_cut_bool(arena, f.n.nlambda)};
    out->certain = true;
    kd_status status = KD_ERR_MEMORY;
    if (!out->keep || !out->shares) goto done;
    if (f.n.nlambda == 0) {
        kd_text(message, size, "there are no holonomic constraints");
        return KD_OK;
    }
    if (cut_first(&f)) status = kd_eom_data_create(eom, &f.data);
    if (status == KD_OK && !set_start(&f)) status = fault_of(&f, message, size);
    if (status == KD_OK) {
        status = examine(&f, out, message, size);
        if (f.stopped || status == KD_ERR_RETRY_FAILED) status = fault_of(&f, message, size);
    }
    if (status == KD_OK) {
        conclude(&f, out);
        describe(&f, out, message, size);
    }
done:
    if (status == KD_ERR_MEMORY || status == KD_ERR_DECOMPOSITION)
        kd_text(message, size, "%s", kd_status_sentence(status));
    kd_eom_data_destroy(f.data);
    kd_arena_release(&f.arena);
    return status;
}
