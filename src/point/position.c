// position.c: plain coordinates of positions that live on a manifold (kd_position).
//
// Derivatives come along increments, D_p F = F_p Z (nv columns). For a change dp of the coordinates F_p dp = D_p F Z+
// dp as long as dp is tangent; what a function does along the normals N must be asked otherwise.
#include "point/position.h"
#include "core/archive.h"
#include "math/dense.h"
#include <float.h>
#include <math.h>
#include <string.h>

// Newton steps towards 0 = q: quadratic convergence, three are enough from any point of an integration
#define NORMALISE_STEPS 3
#define CUT_AT_ONCE ((size_t)1 << 18) // entries of Z

void kd_position_cut_norms(kd_position *self, kd_arena *arena, const kd_eom *eom)
{
    kd_dims           dims = kd_eom_dims(eom);
    const kd_eom_def *def = kd_eom_definition(eom);
    int               np = dims.np, nv = dims.nv, nq = dims.nq;

    *self = (kd_position){.np = np, .nv = nv, .nq = nq, .nn = np > nv ? np - nv : 0};
    self->arena = arena;
    self->identity = !def->kinematics && !def->Z;
    if (self->identity || def->normalise) return; // the definition goes back to 0 = q itself
    self->q_p = kd_cut_matrix(arena, nq, np);
    self->y = kd_cut_matrix(arena, nq, nq + 1);
    self->pivot = kd_cut_int(arena, nq);
}

// Full matrices, at once or at the first update; false: out of memory.
static bool cut_matrices(kd_position *self)
{
    kd_arena *arena = self->arena;
    int       np = self->np, nv = self->nv, work = kd_qr_work(np, nv);
    if (!self->q_p) self->q_p = kd_cut_matrix(arena, self->nq, np);
    self->Zplus = kd_cut_matrix(arena, nv, np);
    self->N = kd_cut_matrix(arena, np, self->nn);
    self->QR = kd_cut_matrix(arena, np, nv);
    self->tau = kd_cut_double(arena, np + nv);
    self->Q = kd_cut_matrix(arena, np, np);
    self->work = kd_cut_double(arena, work > np ? work : np);
    self->column = kd_cut_int(arena, nv);
    self->next = kd_cut_int(arena, np + nv);
    self->start = kd_cut_int(arena, np + nv + 1);
    self->member = kd_cut_int(arena, np + nv);
    self->Z = kd_cut_matrix(arena, np, nv);
    return !arena->failed;
}

void kd_position_cut(kd_position *self, kd_arena *arena, const kd_eom *eom)
{
    kd_pattern pattern;
    kd_position_cut_norms(self, arena, eom);
    if (self->identity) return;
    bool large =
        (size_t)self->np * (size_t)self->nv > CUT_AT_ONCE && kd_eom_pattern(eom, KD_KINEMATICS, KD_V, &pattern);
    if (!large) (void)cut_matrices(self);
}

void kd_position_archive(kd_position *self, kd_archive *a)
{
    bool made = self->Z != NULL;
    kd_archive_bool(a, &made);
    if (kd_archive_good(a) && made && !self->Z && (self->identity || !cut_matrices(self)))
        kd_archive_fail(a, KD_ERR_SAVED, "there are no full matrices of the positions");
}

// ---- parts of Z -----------------------------------------------------------------------------------------------------

// Coordinates and increments that Z connects, directly or through others, form a part: a body's quaternion, a single
// shift. next links each of the np + nv to another one of its part; the root links to itself.
static int root(int *next, int i)
{
    while (next[i] != i) {
        next[i] = next[next[i]];
        i = next[i];
    }
    return i;
}

static void find_parts(kd_position *self)
{
    int np = self->np, nv = self->nv, *next = self->next;
    for (int i = 0; i < np + nv; i++) next[i] = i;
    for (int j = 0; j < nv; j++) {
        const double *column = self->Z + (ptrdiff_t)j * np;
        for (int i = 0; i < np; i++)
            if (column[i] != 0) next[root(next, i)] = root(next, np + j);
    }
}

// Coordinates and increments in the order of their parts: first those of the part whose root is 0, ...
static void sort_by_part(kd_position *self)
{
    int n = self->np + self->nv, *start = self->start;
    memset(start, 0, (size_t)(n + 1) * sizeof *start);
    for (int i = 0; i < n; i++) start[root(self->next, i) + 1]++;
    for (int i = 0; i < n; i++) start[i + 1] += start[i];
    for (int i = 0; i < n; i++) self->member[start[root(self->next, i)]++] = i; // ascending inside of a part
    for (int i = n; i > 0; i--) start[i] = start[i - 1];
    start[0] = 0;
}

// Coordinates are the first members of a part; their number
static int coordinates_in(const kd_position *self, int part)
{
    const int *member = self->member + self->start[part];
    int        count = self->start[part + 1] - self->start[part], m = 0;
    while (m < count && member[m] < self->np) m++;
    return m;
}

// Has every part at least as many coordinates as increments? Then all of them together have np - nv normals.
static bool has_coordinates(const kd_position *self)
{
    for (int k = 0; k < self->np + self->nv; k++)
        if (2 * coordinates_in(self, k) < self->start[k + 1] - self->start[k]) return false;
    return true;
}

// Z+ and N of one part with the given coordinates (m) and increments (n <= m); *normals: columns of N so far. false: its
// columns have no full rank.
static bool update_part(kd_position *self, int m, const int *coordinate, int n, const int *increment, int *normals)
{
    int np = self->np, nv = self->nv;
    if (m == 1 && n == 1) { // the entry that connects the two is not zero
        self->Zplus[increment[0] - np + (ptrdiff_t)coordinate[0] * nv] =
            1 / self->Z[coordinate[0] + (ptrdiff_t)(increment[0] - np) * np];
        return true;
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) self->QR[i + j * m] = self->Z[coordinate[i] + (ptrdiff_t)(increment[j] - np) * np];
    // Z[:, column] = Q R,  Q' = [Q1'; N']
    if (n > 0 && kd_qr_pivot(m, n, self->QR, self->column, self->tau, 1e-12, self->work) < n) return false;
    memset(self->Q, 0, (size_t)m * (size_t)m * sizeof(double));
    for (int i = 0; i < m; i++) self->Q[i + i * m] = 1;
    if (n > 0) kd_qr_apply_t(m, n, self->QR, self->tau, self->Q, m, self->work);
    // Z+ = P R^-1 Q1', column by column of Q1'
    for (int j = 0; j < m; j++) {
        double   *x = self->work;
        ptrdiff_t column = coordinate[j];
        memcpy(x, self->Q + j * m, (size_t)n * sizeof(double));
        if (n > 0) kd_qr_solve_r(n, self->QR, m, x, 1);
        for (int i = 0; i < n; i++) self->Zplus[increment[self->column[i]] - np + column * nv] = x[i];
        for (int i = n; i < m; i++) self->N[column + (ptrdiff_t)(*normals + i - n) * np] = self->Q[i + j * m];
    }
    *normals += m - n;
    return true;
}

kd_eval kd_position_update(kd_position *self, kd_eom_data *data)
{
    if (self->identity) return KD_EVAL_OK;
    if (!self->Z && !cut_matrices(self)) return KD_EVAL_STOP;
    int np = self->np, nv = self->nv, normals = 0;
    // Z and the gradients of the norms at this position
    kd_eval answer = kd_eom_Z(data, self->Z);
    if (answer == KD_EVAL_OK && self->nq > 0) answer = kd_eom_q_p(data, self->q_p);
    if (answer != KD_EVAL_OK) return answer;
    // parts that share no coordinate, mostly one for each body
    find_parts(self);
    sort_by_part(self);
    if (!has_coordinates(self)) return KD_EVAL_RETRY;
    memset(self->Zplus, 0, (size_t)nv * (size_t)np * sizeof(double));
    if (self->nn > 0) memset(self->N, 0, (size_t)np * (size_t)self->nn * sizeof(double));
    // a pseudo-inverse and the normals of each part
    for (int k = 0; k < np + nv; k++) {
        const int *member = self->member + self->start[k];
        int        count = self->start[k + 1] - self->start[k], m = coordinates_in(self, k);
        if (count > 0 && !update_part(self, m, member, count - m, member + m, &normals)) return KD_EVAL_RETRY;
    }
    return KD_EVAL_OK;
}

// p <- p - q_p' (q_p q_p')^-1 q
kd_eval kd_position_normalise(kd_position *self, kd_eom_data *data, const double *s, double *p)
{
    int nq = self->nq, np = self->np;
    // by the definition, if it knows how
    if (nq > 0 && kd_eom_normalise(data, p)) {
        kd_eom_at_position(data, p, s);
        return KD_EVAL_OK;
    }
    double *q = self->y, *A = nq > 0 ? self->y + nq : NULL;
    kd_eom_at_position(data, p, s);
    // q = 0 by Newton's method, along the normals
    for (int step = 0; nq > 0 && step < NORMALISE_STEPS; step++) {
        kd_eval answer = kd_eom_eval(data, KD_Q, q);
        if (answer == KD_EVAL_OK && kd_norm_max(nq, q) <= 2 * DBL_EPSILON) break;
        if (answer == KD_EVAL_OK) answer = kd_eom_q_p(data, self->q_p);
        if (answer != KD_EVAL_OK) return answer;
        // q_p q_p'
        for (int j = 0; j < nq; j++)
            for (int i = 0; i < nq; i++) {
                A[i + j * nq] = 0;
                for (int k = 0; k < np; k++) A[i + j * nq] += self->q_p[i + k * nq] * self->q_p[j + k * nq];
            }
        // p <- p - q_p' (q_p q_p') \ q
        if (kd_lu_factor(nq, A, self->pivot) != 0) return KD_EVAL_RETRY;
        kd_lu_solve(nq, A, self->pivot, q, 1);
        kd_gemv_t(nq, np, -1, self->q_p, q, 1, p);
        kd_eom_at_position(data, p, s);
    }
    return KD_EVAL_OK;
}

void kd_position_plain(const kd_position *self, int rows, double factor, const double *D, double *out, int ld)
{
    for (int j = 0; j < self->np; j++) {
        double *column = out + (size_t)j * (size_t)ld;
        for (int k = 0; k < self->nv; k++) {
            double z = self->identity ? (j == k ? factor : 0) : factor * self->Zplus[k + j * self->nv];
            if (z == 0) continue;
            for (int i = 0; i < rows; i++) column[i] += z * D[i + k * rows];
        }
    }
}
