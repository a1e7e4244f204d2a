// statespace_chart.c: the choice of independent coordinates of positions and velocities, and the matrices that give the others.
//
// partition: full-pivot LU of the scaled constraint matrix picks dependent columns (S2 section 2); tangent: null space
// by SVD (S2 section 1). What they are used for: statespace_dependent.c.
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "forms/statespace_impl.h"
#include "math/dense.h"

#define SPARSE_FROM 160     // order from which on sparse factors pay
#define SINGULAR 1e-13      // reciprocal condition of a matrix that is not used
#define GROWTH 1.25         // of the condition number, from which on coordinates are chosen anew (S2 section 4)
#define GROWTH_OF_REACH 1.6 // the same for a single direction
#define STIFF 0.5           // ease of motion below which forces on a coordinate are stiff
#define STIFF_COLUMN 0.1 // largest entry of such a column; with 0.2 Cartesian HMMWV coordinates are worse conditioned
#define NO_SCALE 1e-3    // part of a row that is too small to scale it
#define PROBES 3         // vectors that estimate the norm of a sparse inverse

// ---- storage --------------------------------------------------------------------------------------------------------

static void cut_level(kd_statespace *self, kd_chart_level *level, int n)
{
    kd_arena *arena = &self->arena;
    kd_dims   d = self->dims;
    int       m = d.nlambda + d.nmu, most = n > d.nv ? n : d.nv;
    bool      tangent = self->opt.parametrisation == KD_PARAMETRISATION_TANGENT;
    level->n = n;
    level->independent = kd_cut_int(arena, n);
    level->S = tangent ? kd_cut_matrix(arena, n, n) : NULL;
    level->rows = kd_cut_int(arena, m);
    level->C = kd_cut_matrix(arena, m, d.nv);
    level->row = kd_cut_double(arena, most + m);
    level->unit = kd_cut_double(arena, n);
    level->reach = kd_cut_double(arena, n);
    level->LU = kd_cut_matrix(arena, d.nv, d.nv);
    level->pivot = kd_cut_int(arena, d.nv);
}

void kd_chart_cut(kd_statespace *self, kd_chart *chart)
{
    cut_level(self, &chart->p, self->dims.np);
    if (!self->shared) cut_level(self, &chart->v, self->dims.nv);
    chart->position = kd_cut_double(&self->arena, self->dims.np);
    chart->y = kd_cut_double(&self->arena, self->dims.np);
    if (self->arena.failed) return;
    for (int i = 0; i < self->dims.np; i++) chart->p.unit[i] = kd_eom_position_unit(self->eom, i);
    for (int j = 0; j < self->dims.nv && !self->shared; j++) chart->v.unit[j] = kd_eom_unit(self->eom, j);
}

static void archive_level(kd_archive *a, const kd_statespace *self, kd_chart_level *level)
{
    const int m = self->dims.nlambda + self->dims.nmu;
    kd_archive_int(a, &level->nind, 0, level->n);
    kd_archive_int(a, &level->rank, 0, m);
    kd_archive_bool(a, &level->reduced);
    kd_archive_ints(a, level->independent, (size_t)level->n, 0, level->n - 1);
    kd_archive_ints(a, level->rows, (size_t)m, 0, m - 1);
    kd_archive_pivots(a, level->pivot, self->dims.nv);
    KD_ARCHIVE_REALS(a, &level->condition, &level->reference);
    // sparse factors are made when they are needed, of the order that they are needed in
    int order = level->sparse ? level->sparse_order : 0;
    kd_archive_int(a, &order, 0, self->dims.nv);
    if (!kd_archive_good(a) || order == 0) return;
    if (a->reads && (!level->sparse || level->sparse_order != order)) {
        kd_linsolve_destroy(level->sparse);
        level->sparse = NULL;
        level->sparse_order = order;
        if (kd_linsolve_create(order, KD_LINEAR_SPARSE, NULL, &level->sparse) < 0)
            kd_archive_fail(a, KD_ERR_MEMORY, "no memory for sparse factors");
    }
    if (level->sparse) kd_linsolve_archive(a, level->sparse);
}

void kd_chart_archive(kd_statespace *self, kd_chart *chart, kd_archive *a)
{
    kd_archive_bool(a, &chart->valid);
    kd_archive_real(a, &chart->t);
    archive_level(a, self, &chart->p);
    if (!self->shared) archive_level(a, self, &chart->v);
}

void kd_chart_release(kd_chart *chart)
{
    kd_linsolve_destroy(chart->p.sparse);
    kd_linsolve_destroy(chart->v.sparse);
    chart->p.sparse = chart->v.sparse = NULL;
}

kd_chart_level *kd_chart_velocity_level(const kd_statespace *self, kd_chart *chart)
{
    return self->shared ? &chart->p : &chart->v;
}

const kd_chart_level *kd_chart_velocity(const kd_statespace *self, const kd_chart *chart)
{
    return self->shared ? &chart->p : &chart->v;
}

void kd_chart_pick(const kd_chart_level *level, const double *from, double *to)
{
    if (!level->S) {
        for (int i = 0; i < level->nind; i++) to[i] = from[level->independent[i]];
    } else if (level->nind > 0) {
        kd_gemv(level->nind, level->n, 1, level->S, from, 0, to);
    }
}

// ---- the constraint matrices ----------------------------------------------------------------------------------------

static bool is_active(const kd_statespace *self, int i)
{
    int nlambda = self->dims.nlambda;
    return i < nlambda ? self->state->active_lambda[i] : self->state->active_mu[i - nlambda];
}

// entry (row i of [GZ; HZ], column j)
static double constraint_entry(const kd_statespace *self, int i, int j)
{
    kd_dims d = self->dims;
    return i < d.nlambda ? self->GZ[i + (ptrdiff_t)j * d.nlambda] : self->HZ[i - d.nlambda + (ptrdiff_t)j * d.nmu];
}

// GZ, HZ and, where Z is no identity, Z at (t, p, s); plain: Z+ and q_p as well
static kd_eval evaluate_matrices(kd_statespace *self, double t, const double *p, const double *s, bool plain)
{
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_dims      d = self->dims;
    kd_eval      answer = kd_acceleration_at(self->acceleration, t, p, s, self->zero, self->zero);
    if (answer != KD_EVAL_OK) return kd_statespace_note(self, answer, "");
    if (d.nlambda + d.nmu > 0)
        answer = kd_eom_constraint_matrices(data, d.nlambda > 0 ? self->GZ : NULL, d.nmu > 0 ? self->HZ : NULL);
    if (answer == KD_EVAL_OK && !self->identity)
        answer = plain ? kd_position_update(&self->position, data) : kd_eom_Z(data, self->position.Z);
    return kd_statespace_note_data(self, answer);
}

// Names of the rows that are left over behind rank
static void tell_rank(kd_statespace *self, double t, const int *rows, int rank, int count, int m)
{
    char        name[96];
    const char *comma = "";
    kd_text(self->fault.message, sizeof self->fault.message, "t = %.9g: singular position of ", t);
    for (int k = rank; k < m && k < rank + 4; k++) {
        if (self->row[k] >= count) continue; // a norm equation
        int i = rows[self->row[k]], nlambda = self->dims.nlambda;
        kd_eom_name(self->eom, i < nlambda ? KD_NAME_LAMBDA : KD_NAME_MU, i < nlambda ? i : i - nlambda, name,
                    sizeof name);
        kd_text_append(self->fault.message, sizeof self->fault.message, "%s%s", comma, name);
        comma = ", ";
    }
    self->fault.status = KD_ERR_RANK_CHANGE;
}

// ---- choice of coordinates ------------------------------------------------------------------------------------------

// Columns to natural units, then rows to largest entry 1. Columns stay then: one that is small just now must not gain
// from it. But those of coordinates that stiff forces act upon stand back behind the others: they do not count in the
// scale of a row and are brought below 1.
static void scale_for_pivots(int m, int n, double *A, const double *unit, const bool *stiff)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) A[i + (ptrdiff_t)j * m] *= unit[j];
    for (int i = 0; i < m; i++) {
        // rows by the largest entry that no stiff force stands behind
        double most = 0, all = 0;
        for (int j = 0; j < n; j++) {
            const double size = fabs(A[i + (ptrdiff_t)j * m]);
            all = fmax(all, size);
            if (!stiff[j]) most = fmax(most, size);
        }
        if (most < NO_SCALE * all) most = all;
        for (int j = 0; j < n && most > 0; j++) A[i + (ptrdiff_t)j * m] /= most;
    }
    // columns that stiff forces act upon: below the others
    for (int j = 0; j < n; j++) {
        double *column = A + (ptrdiff_t)j * m, most = stiff[j] ? kd_norm_max(m, column) : 0;
        for (int i = 0; i < m && most > STIFF_COLUMN; i++) column[i] *= STIFF_COLUMN / most;
    }
}

static void sort_numbers(int n, int *x)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && x[j] < x[j - 1]; j--) {
            int other = x[j];
            x[j] = x[j - 1];
            x[j - 1] = other;
        }
}

// S = rows of V' that belong to zero singular values of A (m x n), rank known
static bool null_space(kd_statespace *self, kd_chart_level *level, int m, double *A, int rank)
{
    int n = level->n;
    if (m > 0) {
        if (kd_svd(m, n, A, self->U, self->sigma, self->Vt, self->svd_work) != 0) return false;
    } else {
        memset(self->Vt, 0, (size_t)n * (size_t)n * sizeof(double));
        for (int i = 0; i < n; i++) self->Vt[i + (ptrdiff_t)i * n] = 1;
    }
    // S = V2'
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n - rank; i++)
            level->S[i + (ptrdiff_t)j * (n - rank)] = self->Vt[rank + i + (ptrdiff_t)j * n];
    return true;
}

// Full pivoting of the count rows (numbers in rows) and nq norm equations in self->full.
// rows: the kept ones come first.
static kd_eval pivot_rows(kd_statespace *self, kd_chart_level *level, double t, int count, int nq, int *rank_known)
{
    int     m = count + nq, n = level->n, *rows = level->rows, kept = 0;
    bool    tangent = level->S;
    double *copy = tangent ? self->full + (ptrdiff_t)m * n : NULL;
    if (tangent) memcpy(copy, self->full, (size_t)m * (size_t)n * sizeof(double));
    // P A Q = L U; the rank must be that of the start
    scale_for_pivots(m, n, self->full, level->unit, self->stiff);
    int rank =
        m > 0 ? kd_lu_full_sparse(m, n, self->full, self->row, self->column, self->opt.rank_tolerance, self->most) : 0;
    if (m == 0)
        for (int j = 0; j < n; j++) self->column[j] = j;
    if (*rank_known >= 0 && rank != *rank_known) {
        tell_rank(self, t, rows, rank, count, m);
        return KD_EVAL_RETRY;
    }
    *rank_known = rank;
    // columns: independent ones in rising order, then the dependent ones
    level->nind = n - rank;
    for (int j = 0; j < n; j++) level->independent[j] = self->column[(rank + j) % n];
    sort_numbers(n - rank, level->independent);
    sort_numbers(rank, level->independent + n - rank);
    // rows: self->row[0..rank) are kept; norm equations have numbers from count on
    sort_numbers(rank, self->row);
    for (int k = 0; k < rank; k++)
        if (self->row[k] < count) rows[kept++] = rows[self->row[k]];
    level->rank = kept;
    level->reduced = !tangent && (self->identity || nq == 0);
    if (!tangent || null_space(self, level, m, copy, rank)) return KD_EVAL_OK;
    kd_statespace_fail(self, KD_ERR_DECOMPOSITION, "the singular values of the constraint matrix did not converge");
    return KD_EVAL_RETRY;
}

// Coordinates that stiff forces act upon should be independent: the stiff part of the equations is then nearly linear
// in x. Those of plain positions are found through the velocities that move them.
static void find_stiff(kd_statespace *self, bool plain)
{
    kd_dims d = self->dims;
    // velocities, and positions with p' = v: ease of the motion itself
    if (!plain || self->identity) {
        for (int j = 0; j < d.nv; j++) self->stiff[j] = self->ease[j] < STIFF;
        return;
    }
    for (int i = 0; i < d.np; i++) {
        // position i: mean ease of the velocities that move it, weights Z_ij^2
        double sum = 0, norm = 0;
        for (int j = 0; j < d.nv; j++) {
            const double Z = self->position.Z[i + (ptrdiff_t)j * d.np];
            sum += Z * Z * self->ease[j];
            norm += Z * Z;
        }
        self->stiff[i] = sum < STIFF * norm;
    }
}

// Active rows first..last of [g; h] to the list
static int list_active(const kd_statespace *self, int first, int last, int *rows)
{
    int count = 0;
    for (int i = first; i < last; i++)
        if (is_active(self, i)) rows[count++] = i;
    return count;
}

// full = rows of GZ in plain coordinates, G = GZ Z+, then q_p
static int position_rows(kd_statespace *self, int *rows)
{
    kd_dims d = self->dims;
    int     count = list_active(self, 0, d.nlambda, rows), nq = self->identity ? 0 : d.nq, m = count + nq;
    for (int j = 0; j < d.np; j++) {
        // G = GZ Z+ column by column
        double *column = self->full + (ptrdiff_t)j * m;
        memset(column, 0, (size_t)count * sizeof *column);
        for (int l = self->identity ? j : 0; l < (self->identity ? j + 1 : d.nv); l++) {
            double z = self->identity ? 1 : self->position.Zplus[l + (ptrdiff_t)j * d.nv];
            for (int k = 0; k < count && z != 0; k++) column[k] += z * constraint_entry(self, rows[k], l);
        }
    }
    // q_p below
    for (int k = 0; k < nq; k++)
        for (int j = 0; j < d.np; j++) self->full[count + k + (ptrdiff_t)j * m] = self->position.q_p[k + j * nq];
    return count;
}

// The rows kept for positions, and HZ
static int velocity_rows(kd_statespace *self, const kd_chart_level *p, int *rows)
{
    kd_dims d = self->dims;
    memcpy(rows, p->rows, (size_t)p->rank * sizeof *rows);
    int count = p->rank + list_active(self, d.nlambda, d.nlambda + d.nmu, rows + p->rank);
    for (int k = 0; k < count; k++)
        for (int j = 0; j < d.nv; j++) self->full[k + (ptrdiff_t)j * count] = constraint_entry(self, rows[k], j);
    return count;
}

kd_eval kd_chart_choose(kd_statespace *self, kd_chart *chart, double t, const double *p, const double *s)
{
    kd_dims d = self->dims;
    // GZ, HZ, Z at the position; what stiff forces act upon
    kd_statespace_ease(self, t, p, s);
    kd_eval answer = evaluate_matrices(self, t, p, s, true);
    if (answer != KD_EVAL_OK) return answer;
    self->counters.selectors++;
    find_stiff(self, true);
    // independent positions from [G; q_p]
    int count = position_rows(self, chart->p.rows);
    answer = pivot_rows(self, &chart->p, t, count, self->identity ? 0 : d.nq, &self->rank_p);
    if (answer != KD_EVAL_OK || self->shared) return answer;
    // independent velocities from [GZ; HZ]
    find_stiff(self, false);
    count = velocity_rows(self, &chart->p, chart->v.rows);
    return pivot_rows(self, &chart->v, t, count, 0, &self->rank_v);
}

static bool same_level(const kd_chart_level *a, const kd_chart_level *b)
{
    return !a->S && a->nind == b->nind && a->rank == b->rank &&
           memcmp(a->independent, b->independent, (size_t)a->n * sizeof(int)) == 0;
}

bool kd_chart_same(const kd_statespace *self, const kd_chart *a, const kd_chart *b)
{
    return same_level(&a->p, &b->p) && (self->shared || same_level(&a->v, &b->v));
}

// ---- factors --------------------------------------------------------------------------------------------------------

int kd_chart_order(const kd_statespace *self, const kd_chart_level *level)
{
    return level->reduced ? level->rank : self->dims.nv;
}

// LU = matrix of the level in natural units (of velocities; of positions that are independent), with rows of
// constraints scaled to largest entry 1
static void assemble_level(kd_statespace *self, kd_chart *chart, kd_chart_level *level)
{
    int     nv = self->dims.nv, rank = level->rank, n = kd_chart_order(self, level), first = n - rank;
    bool    kinematic = level == &chart->p && !self->identity;
    double *A = level->LU;
    double *row = level->row + first;
    // C = kept rows of [GZ; HZ], scaled to largest entry 1
    memset(row, 0, (size_t)rank * sizeof *row);
    for (int j = 0; j < nv; j++) {
        double *C = level->C + (ptrdiff_t)j * rank;
        for (int i = 0; i < rank; i++) {
            C[i] = constraint_entry(self, level->rows[i], j);
            row[i] = fmax(row[i], fabs(C[i]) * kd_eom_unit(self->eom, j));
        }
    }
    for (int i = 0; i < rank; i++) row[i] = row[i] > 0 ? 1 / row[i] : 1;
    for (int j = 0; j < nv; j++)
        for (int i = 0; i < rank; i++) level->C[i + (ptrdiff_t)j * rank] *= row[i];
    // Phi_u: columns of C for the dependent coordinates
    if (level->reduced) {
        for (int j = 0; j < rank; j++) {
            const int     dependent = level->independent[level->nind + j];
            const double *C = level->C + (ptrdiff_t)dependent * rank;
            const double  unit = kd_eom_unit(self->eom, dependent);
            for (int i = 0; i < rank; i++) A[i + (ptrdiff_t)j * rank] = C[i] * unit;
        }
        return;
    }
    // [S Z; C], or [S; C]
    for (int j = 0; j < nv; j++) {
        double       *column = A + (ptrdiff_t)j * n;
        const double *Z = kinematic ? self->position.Z + (ptrdiff_t)j * self->dims.np : NULL;
        for (int i = 0; i < first; i++) column[i] = 0;
        if (kinematic)
            kd_chart_pick(level, Z, column);
        else if (level->S)
            memcpy(column, level->S + (ptrdiff_t)j * first, (size_t)first * sizeof *column);
        memcpy(column + first, level->C + (ptrdiff_t)j * rank, (size_t)rank * sizeof *column);
    }
    for (int i = 0; i < first && !level->S && !kinematic; i++) A[i + (ptrdiff_t)level->independent[i] * n] = 1;
    // not by their entries: a row of S Z that vanishes must show, a quaternion's component has reached its extremum
    for (int i = 0; i < first; i++) level->row[i] = level->S ? 1 : 1 / level->unit[level->independent[i]];
    for (int j = 0; j < nv; j++) {
        const double unit = kd_eom_unit(self->eom, j);
        for (int i = 0; i < n; i++) A[i + (ptrdiff_t)j * n] *= i < first ? unit * level->row[i] : unit;
    }
}

// eom: its velocities are the columns, which count in natural units; NULL: as they are
static double norm_1(int m, int n, const double *A, const kd_eom *eom)
{
    double most = 0;
    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < m; i++) sum += fabs(A[i + (ptrdiff_t)j * m]);
        most = fmax(most, eom ? sum * kd_eom_unit(eom, j) : sum);
    }
    return most;
}

// lower bound of |inv(A)|_1 from a few vectors of signs
static double inverse_norm(kd_statespace *self, kd_chart_level *level, int n)
{
    double most = 0;
    for (int k = 0; k < PROBES; k++) {
        double sum = 0;
        // |inv(A) x|_1 with |x|_1 = 1
        for (int i = 0; i < n; i++) self->work[i] = k == 0 || ((i >> (k - 1)) & 1) == 0 ? 1.0 / n : -1.0 / n;
        kd_linsolve_solve(level->sparse, self->work);
        for (int i = 0; i < n; i++) sum += fabs(self->work[i]);
        most = fmax(most, sum);
    }
    return most;
}

static kd_status factor_sparse(kd_statespace *self, kd_chart_level *level, int n, double norm)
{
    kd_status status = KD_OK;
    if (level->sparse && level->sparse_order != n) {
        kd_linsolve_destroy(level->sparse);
        level->sparse = NULL;
    }
    if (!level->sparse) status = kd_linsolve_create(n, KD_LINEAR_SPARSE, NULL, &level->sparse);
    if (status < 0) return status;
    level->sparse_order = n;
    status = kd_linsolve_factor(level->sparse, n, level->LU);
    if (status >= 0) level->condition = norm * inverse_norm(self, level, n);
    return status;
}

// Few rows of constraints, which several right-hand sides meet in every step: LU is the inverse
static bool is_inverted(const kd_chart_level *level)
{
    return level->reduced && level->rank <= KD_INVERT_MOST;
}

// Factor the assembled matrix; false: singular
static bool factor_level(kd_statespace *self, kd_chart_level *level)
{
    int n = kd_chart_order(self, level);
    // |C| |inv(Phi_u)| with all columns of C: the condition number of Phi_u itself is 1 for a single constraint,
    // however small its entry has become
    double norm = level->reduced ? norm_1(n, self->dims.nv, level->C, self->eom) : norm_1(n, n, level->LU, NULL);
    self->counters.predecompositions++;
    level->condition = 1;
    if (n == 0) return true;
    if (n >= SPARSE_FROM) return factor_sparse(self, level, n, norm) >= 0 && level->condition < 1 / SINGULAR;
    if (is_inverted(level)) { // few rows: the inverse itself, with its norm
        const bool regular = kd_invert(n, level->LU);
        level->condition = regular ? norm * norm_1(n, n, level->LU, NULL) : INFINITY;
        return level->condition < 1 / SINGULAR;
    }
    if (kd_lu_factor(n, level->LU, level->pivot) != 0) return false;
    double rcond = kd_lu_rcond(n, level->LU, level->pivot, norm, self->work, self->iwork);
    level->condition = rcond > 0 ? 1 / rcond : INFINITY;
    return rcond > SINGULAR;
}

kd_eval kd_chart_factor(kd_statespace *self, kd_chart *chart, double t, const double *p, const double *s, bool *regular)
{
    kd_eval answer = evaluate_matrices(self, t, p, s, false);
    *regular = false;
    if (answer != KD_EVAL_OK) return answer;
    // [S Z; C] at the position, for positions and velocities
    assemble_level(self, chart, &chart->p);
    *regular = factor_level(self, &chart->p);
    if (*regular && !self->shared) {
        assemble_level(self, chart, &chart->v);
        *regular = factor_level(self, &chart->v);
    }
    // the point of the factors, where Newton's method may start
    if (p != chart->position) memcpy(chart->position, p, (size_t)self->dims.np * sizeof *p);
    kd_chart_pick(&chart->p, p, chart->y);
    return KD_EVAL_OK;
}

static void back_substitute(kd_chart_level *level, int n, double *b)
{
    if (n == 0) return;
    if (is_inverted(level))
        kd_multiply_few(n, level->LU, b);
    else if (n >= SPARSE_FROM)
        kd_linsolve_solve(level->sparse, b);
    else
        kd_lu_solve(n, level->LU, level->pivot, b, 1);
}

void kd_chart_solve(kd_statespace *self, kd_chart_level *level, const double *rind, double *rc, double *e)
{
    int nv = self->dims.nv, rank = level->rank, nind = nv - rank;
    // [S Z; C] e = (rind, rc)
    if (!level->reduced) {
        for (int i = 0; i < nind; i++) e[i] = rind ? level->row[i] * rind[i] : 0;
        for (int i = 0; i < rank; i++) e[nind + i] = level->row[nind + i] * rc[i];
        back_substitute(level, nv, e);
        for (int j = 0; j < nv; j++) e[j] *= kd_eom_unit(self->eom, j);
        return;
    }
    // e_i = rind, e_d = inv(Phi_u) rc + N e_i
    if (level->N) {
        const int *dependent = level->independent + nind;
        kd_multiply_few(rank, level->LU, rc);
        for (int j = 0; j < nind; j++) {
            const double known = rind ? rind[j] : 0, *N = level->N + (ptrdiff_t)j * rank;
            e[level->independent[j]] = known;
            for (int i = 0; i < rank && known != 0; i++) rc[i] += known * N[i];
        }
        for (int i = 0; i < rank; i++) e[dependent[i]] = rc[i];
        return;
    }
    // e_i = rind, Phi_u e_d = rc - Phi_i e_i
    for (int i = 0; i < rank; i++) rc[i] *= level->row[i];
    for (int j = 0; j < nind; j++) {
        const double known = rind ? rind[j] : 0, *C = level->C + (ptrdiff_t)level->independent[j] * rank;
        e[level->independent[j]] = known;
        for (int i = 0; i < rank && known != 0; i++) rc[i] -= known * C[i];
    }
    back_substitute(level, rank, rc);
    for (int j = 0; j < rank; j++) {
        const int dependent = level->independent[nind + j];
        e[dependent] = rc[j] * self->unit_v[dependent];
    }
}

// Condition number and, as other parts of a large mechanism may hide it there, the rates of all coordinates along each
// independent one
static bool level_serves(kd_statespace *self, kd_chart_level *level, bool reset)
{
    bool good = reset || level->condition <= GROWTH * level->reference;
    if (reset) level->reference = level->condition;
    // e = N e_j: how far does the rest move along independent coordinate j?
    for (int j = 0; j < level->nind && good; j++) {
        memset(self->rind, 0, (size_t)level->nind * sizeof(double));
        memset(self->rc, 0, (size_t)level->rank * sizeof(double));
        self->rind[j] = level->S ? 1 : level->unit[level->independent[j]];
        kd_chart_solve(self, level, self->rind, self->rc, self->e);
        double reach = kd_statespace_move(self, self->e);
        if (reset) level->reach[j] = reach;
        good = reach <= GROWTH_OF_REACH * level->reach[j];
    }
    return good;
}

bool kd_chart_serves(kd_statespace *self, kd_chart *chart, bool reset)
{
    bool good = level_serves(self, &chart->p, reset);
    return self->shared ? good : level_serves(self, &chart->v, reset) && good;
}
