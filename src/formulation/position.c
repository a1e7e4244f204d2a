// position.c: plain coordinates of positions that live on a manifold (kd_position).
//
// Derivatives come along increments, D_p F = F_p Z (nv columns). For a change dp of the coordinates F_p dp = D_p F Z+
// dp as long as dp is tangent; what a function does along the normals N must be asked otherwise.
#include "formulation/position.h"
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

kd_eval kd_position_update(kd_position *self, kd_eom_data *data)
{
    if (self->identity) return KD_EVAL_OK;
    if (!self->Z && !cut_matrices(self)) return KD_EVAL_STOP;
    int     np = self->np, nv = self->nv;
    kd_eval answer = kd_eom_Z(data, self->Z);
    if (answer == KD_EVAL_OK && self->nq > 0) answer = kd_eom_q_p(data, self->q_p);
    if (answer != KD_EVAL_OK) return answer;

    // Z[:, column] = Q R,  Q' = [Q1'; N']
    memcpy(self->QR, self->Z, (size_t)np * (size_t)nv * sizeof(double));
    if (kd_qr_pivot(np, nv, self->QR, self->column, self->tau, 1e-12, self->work) < nv) return KD_EVAL_RETRY;
    memset(self->Q, 0, (size_t)np * (size_t)np * sizeof(double));
    for (int i = 0; i < np; i++) self->Q[i + i * np] = 1;
    kd_qr_apply_t(np, nv, self->QR, self->tau, self->Q, np, self->work);

    // Z+ = P R^-1 Q1', column by column of Q1'
    for (int j = 0; j < np; j++) {
        double *x = self->work;
        memcpy(x, self->Q + j * np, (size_t)nv * sizeof(double));
        kd_qr_solve_r(nv, self->QR, np, x, 1);
        for (int i = 0; i < nv; i++) self->Zplus[self->column[i] + j * nv] = x[i];
        for (int i = 0; i < self->nn; i++) self->N[j + i * np] = self->Q[nv + i + j * np];
    }
    return KD_EVAL_OK;
}

// p <- p - q_p' (q_p q_p')^-1 q
kd_eval kd_position_normalise(kd_position *self, kd_eom_data *data, const double *s, double *p)
{
    int nq = self->nq, np = self->np;
    if (nq > 0 && kd_eom_normalise(data, p)) {
        kd_eom_at_position(data, p, s);
        return KD_EVAL_OK;
    }
    double *q = self->y, *A = nq > 0 ? self->y + nq : NULL;
    kd_eom_at_position(data, p, s);
    for (int step = 0; nq > 0 && step < NORMALISE_STEPS; step++) {
        kd_eval answer = kd_eom_eval(data, KD_Q, q);
        if (answer == KD_EVAL_OK && kd_norm_max(nq, q) <= 2 * DBL_EPSILON) break;
        if (answer == KD_EVAL_OK) answer = kd_eom_q_p(data, self->q_p);
        if (answer != KD_EVAL_OK) return answer;
        for (int j = 0; j < nq; j++)
            for (int i = 0; i < nq; i++) {
                A[i + j * nq] = 0;
                for (int k = 0; k < np; k++) A[i + j * nq] += self->q_p[i + k * nq] * self->q_p[j + k * nq];
            }
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
