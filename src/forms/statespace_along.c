// statespace_along.c: accelerations along the constraints (S2 Eq. 27), for points of a step with the matrix of their own position.
//
//     a = a_p + N a_ind,   [S; C] [N a_p] = [I 0; 0 -gII(a = 0)],   M^ a_ind = -N' (residual(a = 0) + M a_p),   M^ = N' M N
//
// Multipliers do not occur. While an integrator iterates nobody asks for them, and few independent coordinates cost less so than
// the matrix of a and lambda. Where a partition is badly conditioned, that one decides.
#include <math.h>
#include <string.h>

#include "forms/statespace_impl.h"
#include "math/dense.h"

#define WELL 1e4    // condition of a partition up to which its directions N are good enough
#define SAFELY 1e-8 // part of the diagonal of M^ that its pivots keep

enum { MOST = KD_NEAR_INDEPENDENT };

void kd_along_cut(kd_statespace *self)
{
    const kd_dims     d = self->dims;
    kd_arena         *arena = &self->arena;
    const kd_eom_def *def = kd_eom_definition(self->eom);
    bool              free = d.nw == 0 && !def->force_of_multipliers && def->M != NULL;
    for (int var = KD_A; free && d.nr > 0 && var < KD_VAR_COUNT; var++)
        if ((var == KD_A || var == KD_LAMBDA || var == KD_MU || var == KD_W) &&
            kd_eom_depends(self->eom, KD_B, (kd_var)var))
            free = false; // inner states that read accelerations or multipliers
    self->along.in_use = self->near.in_use && free;
    if (!self->along.in_use) return;
    self->along.M = kd_cut_matrix(arena, d.nv, d.nv);
    self->along.N = kd_cut_matrix(arena, d.nv, MOST);
    self->along.MN = kd_cut_matrix(arena, d.nv, MOST);
    self->along.residual = kd_cut_double(arena, d.nv);
    self->along.a_p = kd_cut_double(arena, d.nv);
}

static double product(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

// b <- A \ b by Cholesky's method, A = L D L' in place; false: not safely definite
static bool solve_definite(int n, double A[MOST][MOST], double *b)
{
    for (int j = 0; j < n; j++) {
        const double whole = A[j][j];
        for (int k = 0; k < j; k++) A[j][j] -= A[j][k] * A[j][k] * A[k][k];
        if (!(A[j][j] > SAFELY * whole)) return false;
        for (int i = j + 1; i < n; i++) {
            for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[j][k] * A[k][k];
            A[i][j] /= A[j][j];
        }
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) b[i] -= A[i][k] * b[k];
    for (int i = n - 1; i >= 0; i--) {
        b[i] /= A[i][i];
        for (int k = i + 1; k < n; k++) b[i] -= A[k][i] * b[k];
    }
    return true;
}

// residual, gII at a = 0, and M; a_p and N
static kd_eval find_parts(kd_statespace *self, kd_chart_level *level, const double *w)
{
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    const int    nv = self->dims.nv;
    kd_eom_at_acceleration(data, self->zero, w, self->zero, self->zero);
    kd_eval answer = kd_eom_eval(data, KD_RESIDUAL, self->along.residual);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(data, KD_GII, self->values);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(data, KD_MASS, self->along.M);
    if (answer != KD_EVAL_OK) return kd_statespace_note_data(self, answer);
    for (int i = 0; i < level->rank; i++) self->rc[i] = -self->values[level->rows[i]];
    kd_chart_solve(self, level, NULL, self->rc, self->along.a_p);
    for (int j = 0; j < level->nind; j++) {
        double *N = self->along.N + (ptrdiff_t)j * nv;
        for (int i = 0; i < level->nind; i++) N[level->independent[i]] = i == j;
        for (int i = 0; i < level->rank; i++) N[level->independent[level->nind + i]] = level->N[i + j * level->rank];
    }
    return KD_EVAL_OK;
}

kd_eval kd_along_accelerations(kd_statespace *self, kd_near_point *here, kd_statespace_point *at, bool *done)
{
    kd_chart_level *level = &here->level;
    const int       nv = self->dims.nv, n = level->nind;
    const double   *N = self->along.N, *MN = self->along.MN, *a_p = self->along.a_p;
    double          E[MOST][MOST], b[MOST];
    *done = false;
    if (!self->along.in_use || n > MOST || !(here->chart->p.condition <= WELL)) return KD_EVAL_OK;
    const kd_eval answer = find_parts(self, level, at->w);
    if (answer != KD_EVAL_OK) return answer;
    // M^ = N' M N, b = -N' (residual + M a_p), M symmetric
    if (n > 0) kd_gemm(nv, n, nv, 1, self->along.M, N, 0, self->along.MN);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) E[i][j] = product(nv, N + (ptrdiff_t)i * nv, MN + (ptrdiff_t)j * nv);
        b[i] = -product(nv, N + (ptrdiff_t)i * nv, self->along.residual) - product(nv, MN + (ptrdiff_t)i * nv, a_p);
    }
    if (!solve_definite(n, E, b)) return KD_EVAL_OK;
    // a = a_p + N a_ind
    memcpy(at->a, a_p, (size_t)nv * sizeof *a_p);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < nv; i++) at->a[i] += b[j] * N[i + (ptrdiff_t)j * nv];
    *done = isfinite(product(nv, at->a, at->a));
    return KD_EVAL_OK;
}
