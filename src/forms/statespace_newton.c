// statespace_newton.c: Newton matrices gamma I - rhs_x of the state-space form (S2 Eq. 28 to 46).
//
// Along the constraints dp = N_p dy, dv = N_v dv_ind + V_y dy with GZ V_y = -(GZ v)_p N_p. Accelerations: with
// gII(a) = 0 differentiated, a_x = N_v (S_v a)_x - P gII_x, C P = I, S_v P = 0, and residual_x times N_v' (where
// N_v' C' = 0 removes the multipliers' derivatives)
//
//     M^ (S_v a)_x = -N_v' residual_x + N_v' M P gII_x,    M^ = N_v' M N_v
//
// M^ J1 and M^ J2 of S2 are the columns by y and v_ind; M^ is never inverted. With y' = K_y y + K_v v_ind,
// W = inv(K_v) (K_y = 0, W = I where Z = I), E = diag(M^, I) for z = (v_ind, r) the unknowns are dy and dr,
//
//     (gamma^2 E W - gamma (E W K_y + K_v W) + K_v W K_y - K_y) dy + (gamma E_r - K_r) dr = E b_z + (gamma E - K) W b_y
//
// which is gamma^2 Pi of Eq. 44; then dv = W ((gamma I - K_y) dy - b_y). Where forces depend on multipliers, or there
// are auxiliary variables, (a, lambda, mu, w)_x are solved for and E = I. Nonholonomic systems have more positions than
// velocities: the first-order form.
#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "forms/statespace_impl.h"
#include "math/dense.h"

enum { FEW = 6 };         // columns of matrices that are multiplied without calls
#define STIFF_TIME 2.5e-3 // of natural time: forces that act within this on a velocity of its own are stiff

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void want_blocks(kd_statespace *self, kd_fn fn, unsigned vars)
{
    kd_statespace_newton *newton = &self->newton;
    for (int var = 0; var < KD_VAR_COUNT && kd_eom_rows(self->eom, fn) > 0; var++) {
        if (!(vars & KD_BIT(var)) || !kd_eom_depends(self->eom, fn, (kd_var)var)) continue;
        newton->blocks.block[fn][var] =
            kd_cut_matrix(&newton->arena, kd_eom_rows(self->eom, fn), kd_eom_columns(self->eom, (kd_var)var));
    }
}

// May a function depend on one of these?
static bool depends(const kd_statespace *self, kd_fn fn, unsigned vars)
{
    for (int var = 0; var < KD_VAR_COUNT && kd_eom_rows(self->eom, fn) > 0; var++)
        if ((vars & KD_BIT(var)) && kd_eom_depends(self->eom, fn, (kd_var)var)) return true;
    return false;
}

#define OUTER (KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_R) | KD_BIT(KD_S))
#define INNER (KD_BIT(KD_A) | KD_BIT(KD_LAMBDA) | KD_BIT(KD_MU) | KD_BIT(KD_W))

static void want_all(kd_statespace *self)
{
    unsigned inner = self->newton.projected ? 0 : INNER;
    want_blocks(self, KD_RESIDUAL, OUTER | KD_BIT(KD_A) | inner);
    want_blocks(self, KD_GI, KD_BIT(KD_P) | KD_BIT(KD_S));
    want_blocks(self, KD_H, KD_BIT(KD_P) | KD_BIT(KD_S));
    want_blocks(self, KD_GII, OUTER);
    want_blocks(self, KD_HI, OUTER);
    want_blocks(self, KD_B, OUTER | inner);
    want_blocks(self, KD_D, OUTER | inner);
    want_blocks(self, KD_C, KD_BIT(KD_P) | KD_BIT(KD_S));
    if (!self->identity) want_blocks(self, KD_KINEMATICS, OUTER);
}

static void cut_newton(kd_statespace *self)
{
    kd_statespace_newton *newton = &self->newton;
    kd_arena             *arena = &newton->arena;
    kd_dims               d = self->dims;
    // the longest function decides
    int nc = d.nlambda + d.nmu, n = self->dae->n, nf = d.nv + nc + d.nw;
    int rows = d.np > d.nv ? d.np : d.nv;
    if (rows < d.nr) rows = d.nr;
    if (rows < nc) rows = nc;
    if (rows < d.nw) rows = d.nw;
    want_all(self);
    // dp, dv along the constraints, and derivatives in these directions
    newton->s_p = kd_cut_matrix(arena, d.ns, d.nv);
    newton->pivot_s = kd_cut_int(arena, d.ns);
    newton->N_p = kd_cut_matrix(arena, d.nv, n);
    newton->N_v = kd_cut_matrix(arena, d.nv, n);
    newton->V_y = kd_cut_matrix(arena, d.nv, n);
    newton->total = kd_cut_matrix(arena, rows, d.nv);
    newton->F_x = kd_cut_matrix(arena, rows, n);
    newton->C_x = kd_cut_matrix(arena, nc, n);
    newton->P_x = kd_cut_matrix(arena, d.nv, n);
    newton->MN = kd_cut_matrix(arena, d.nv, n);
    // coefficients of the reduced matrix
    double **square[] = {&newton->K,  &newton->E,  &newton->K_y, &newton->K_v, &newton->W,
                         &newton->KW, &newton->A2, &newton->A1,  &newton->A0,  &newton->A};
    for (size_t k = 0; k < sizeof square / sizeof *square; k++) *square[k] = kd_cut_matrix(arena, n, n);
    // (a, lambda, mu, w)_x where accelerations are not projected
    if (!newton->projected) {
        newton->implicit = kd_cut_matrix(arena, nf, nf);
        newton->explicit_part = kd_cut_matrix(arena, nf, n);
    }
    // pivots and right-hand sides
    newton->pivot = kd_cut_int(arena, nf);
    newton->pivot_w = kd_cut_int(arena, n);
    newton->kept = kd_cut_int(arena, nc);
    newton->rind = kd_cut_double(arena, d.np + d.nv);
    newton->rc = kd_cut_double(arena, nc);
    newton->b = kd_cut_double(arena, 2 * n);
    newton->parts = kd_cut_double(arena, n);
    newton->A_complex = kd_arena_cut(arena, (size_t)n * (size_t)n, sizeof(double complex));
    newton->b_complex = kd_arena_cut(arena, 2 * (size_t)n, sizeof(double complex));
}

kd_status kd_statespace_newton_ready(kd_statespace *self)
{
    kd_statespace_newton *newton = &self->newton;
    if (newton->ready) return KD_OK;
    newton->projected =
        self->dims.nw == 0 && !kd_eom_definition(self->eom)->force_of_multipliers && !depends(self, KD_B, INNER);
    cut_newton(self);
    kd_status status = newton->arena.failed ? KD_ERR_MEMORY : KD_OK;
    if (status >= 0)
        status = kd_linsolve_create(self->dae->n, self->opt.differential_qr ? KD_LINEAR_QR : KD_LINEAR_LU, NULL,
                                    &newton->solver);
    newton->plain = self->shared;
    newton->ready = status >= 0;
    if (newton->ready) return status;
    kd_statespace_newton_release(newton);
    return kd_statespace_fail(self, status, "the state-space form: no memory for Newton matrices");
}

void kd_statespace_newton_release(kd_statespace_newton *newton)
{
    kd_linsolve_destroy(newton->solver);
    kd_arena_release(&newton->arena);
    *newton = (kd_statespace_newton){0};
}

void kd_statespace_newton_archive(kd_statespace *self, kd_archive *a)
{
    kd_statespace_newton *newton = &self->newton;
    const kd_dims         d = self->dims;
    const int             nc = d.nlambda + d.nmu, n = self->dae->n;
    bool                  ready = newton->ready;
    // matrices that exist on both sides
    kd_archive_bool(a, &ready);
    if (!kd_archive_good(a) || !ready) return;
    if (kd_statespace_newton_ready(self) < 0) {
        kd_archive_fail(a, KD_ERR_MEMORY, "no memory for Newton matrices");
        return;
    }
    // sizes of the last linearisation
    kd_archive_arrays(a, &newton->arena, newton, sizeof *newton);
    kd_archive_bool(a, &newton->second_order);
    int *size[] = {&newton->nip, &newton->niv, &newton->nr, &newton->ncolumns};
    for (int k = 0; k < 4; k++) kd_archive_int(a, size[k], 0, n);
    if (newton->nip + newton->niv + newton->nr > n)
        kd_archive_fail(a, KD_ERR_SAVED, "coordinates are more than components");
    // factors
    kd_archive_pivots(a, newton->pivot, d.nv + nc + d.nw);
    kd_archive_pivots(a, newton->pivot_w, n);
    kd_archive_pivots(a, newton->pivot_s, d.ns);
    kd_archive_ints(a, newton->kept, (size_t)nc, 0, nc);
    kd_archive_real(a, &newton->gamma);
    kd_archive_doubles(a, (double *)&newton->gamma_complex, 2);
    kd_archive_doubles(a, (double *)newton->gamma_pair, 2 * KD_LINEAR_PAIRS);
    kd_linsolve_archive(a, newton->solver);
}

// ---- stiff forces ---------------------------------------------------------------------------------------------------

void kd_statespace_ease(kd_statespace *self, double t, const double *p, const double *s)
{
    kd_statespace_newton      *newton = &self->newton;
    const kd_statespace_point *at = &self->last;
    kd_eom_data               *data = kd_acceleration_data(self->acceleration);
    int                        nv = self->dims.nv;
    const double               within = STIFF_TIME * kd_eom_time(self->eom);
    kd_blocks                  some = {0};
    for (int i = 0; i < nv; i++) self->ease[i] = 1;
    if (!newton->ready) return; // the size of x is being found out
    double *const *of = newton->blocks.block[KD_RESIDUAL];
    const double  *M = some.block[KD_RESIDUAL][KD_A] = of[KD_A], *D = some.block[KD_RESIDUAL][KD_V] = of[KD_V];
    const double  *K = some.block[KD_RESIDUAL][KD_P] = of[KD_P];
    if (!M || kd_acceleration_at(self->acceleration, t, p, s, at->v, at->r) != KD_EVAL_OK) return;
    // M, D = residual_v, K = residual_p with the forces of the last point
    kd_eom_at_acceleration(data, at->a, at->w, at->lambda, at->mu);
    if (kd_eom_derivatives(data, self->opt.part, &some) != KD_EVAL_OK) return;
    for (int i = 0; i < nv; i++) {
        // ease_i = M_ii / (M_ii + tau (D_ii + tau K_ii)), tau = STIFF_TIME
        ptrdiff_t ii = i + (ptrdiff_t)i * nv;
        double    mass = fabs(M[ii]);
        double    stiff = within * ((D ? fabs(D[ii]) : 0) + within * (K ? fabs(K[ii]) : 0));
        if (mass > 0 && isfinite(stiff)) self->ease[i] = mass / (mass + stiff);
    }
}

// ---- directions along the constraints -------------------------------------------------------------------------------

// s_p = -c_s \ c_p
static bool contacts_follow(kd_statespace *self)
{
    kd_statespace_newton *newton = &self->newton;
    int                   ns = self->dims.ns, nv = self->dims.nv;
    double               *c_s = newton->blocks.block[KD_C][KD_S], *c_p = newton->blocks.block[KD_C][KD_P];
    if (ns == 0) return true;
    memset(newton->s_p, 0, (size_t)ns * (size_t)nv * sizeof(double));
    if (!c_s || kd_lu_factor(ns, c_s, newton->pivot_s) != 0) return false;
    if (!c_p) return true;
    for (int i = 0; i < ns * nv; i++) newton->s_p[i] = -c_p[i];
    kd_lu_solve(ns, c_s, newton->pivot_s, newton->s_p, nv);
    return true;
}

// F_p + F_s s_p (rows x nv); NULL: zero
static const double *total_by_p(kd_statespace *self, kd_fn fn)
{
    kd_statespace_newton *newton = &self->newton;
    int                   rows = kd_eom_rows(self->eom, fn), ns = self->dims.ns, nv = self->dims.nv;
    const double         *by_p = newton->blocks.block[fn][KD_P], *by_s = newton->blocks.block[fn][KD_S];
    if (!by_s || rows == 0) return by_p;
    memset(newton->total, 0, (size_t)rows * (size_t)nv * sizeof(double));
    if (by_p) memcpy(newton->total, by_p, (size_t)rows * (size_t)nv * sizeof(double));
    kd_gemm(rows, nv, ns, 1, by_s, newton->s_p, 1, newton->total);
    return newton->total;
}

// Derivative of fn by x = (y, v_ind, r) with a, lambda, mu, w fixed: (rows x ncolumns)
static void derivative_by_x(kd_statespace *self, kd_fn fn, double *out)
{
    kd_statespace_newton *newton = &self->newton;
    int                   rows = kd_eom_rows(self->eom, fn), nv = self->dims.nv, nip = newton->nip, niv = newton->niv;
    const double         *by_p = total_by_p(self, fn);
    const double         *by_v = newton->blocks.block[fn][KD_V], *by_r = newton->blocks.block[fn][KD_R];
    double               *at_v = out + (ptrdiff_t)rows * nip, *at_r = at_v + (ptrdiff_t)rows * niv;
    memset(out, 0, (size_t)rows * (size_t)newton->ncolumns * sizeof(double));
    if (rows == 0) return;
    // F_y = F_p N_p + F_v V_y,  F_v_ind = F_v N_v,  F_r
    if (by_p && nip > 0) kd_gemm(rows, nip, nv, 1, by_p, newton->N_p, 1, out);
    if (by_v && nip > 0) kd_gemm(rows, nip, nv, 1, by_v, newton->V_y, 1, out);
    if (by_v && niv > 0) kd_gemm(rows, niv, nv, 1, by_v, newton->N_v, 1, at_v);
    if (by_r) memcpy(at_r, by_r, (size_t)rows * (size_t)self->dims.nr * sizeof(double));
}

// N = null space along which one independent coordinate after the other moves
static void null_space(kd_statespace *self, kd_chart_level *level, double *N)
{
    kd_statespace_newton *newton = &self->newton;
    for (int j = 0; j < level->nind; j++) {
        memset(newton->rind, 0, (size_t)level->nind * sizeof(double));
        memset(newton->rc, 0, (size_t)level->rank * sizeof(double));
        newton->rind[j] = 1;
        kd_chart_solve(self, level, newton->rind, newton->rc, N + (ptrdiff_t)j * self->dims.nv);
    }
}

// rc = kept rows of column j of [A; B], the blocks of holonomic and nonholonomic rows (NULL: zero), times factor
static void kept_rows(kd_statespace *self, const kd_chart_level *level, const double *A, const double *B, int j,
                      double factor)
{
    kd_dims d = self->dims;
    double *rc = self->newton.rc;
    for (int k = 0; k < level->rank; k++) {
        int i = level->rows[k];
        if (i < d.nlambda)
            rc[k] = A ? factor * A[i + (ptrdiff_t)j * d.nlambda] : 0;
        else
            rc[k] = B ? factor * B[i - d.nlambda + (ptrdiff_t)j * d.nmu] : 0;
    }
}

// N_p, N_v and V_y
static void find_directions(kd_statespace *self, kd_chart *chart)
{
    kd_statespace_newton *newton = &self->newton;
    kd_dims               d = self->dims;
    kd_chart_level       *v = self->shared ? &chart->p : &chart->v;
    // N_p, N_v
    null_space(self, &chart->p, newton->N_p);
    if (self->shared)
        memcpy(newton->N_v, newton->N_p, (size_t)d.nv * (size_t)newton->niv * sizeof(double));
    else
        null_space(self, v, newton->N_v);
    // gI_p N_p, h_p N_p
    const double *gI_y = NULL, *h_y = NULL;
    const double *gI_p = d.nlambda > 0 ? total_by_p(self, KD_GI) : NULL;
    if (gI_p && newton->nip > 0) {
        kd_gemm(d.nlambda, newton->nip, d.nv, 1, gI_p, newton->N_p, 0, newton->F_x);
        gI_y = newton->F_x;
    }
    const double *h_p = d.nmu > 0 ? total_by_p(self, KD_H) : NULL;
    if (h_p && newton->nip > 0) {
        kd_gemm(d.nmu, newton->nip, d.nv, 1, h_p, newton->N_p, 0, newton->C_x);
        h_y = newton->C_x;
    }
    // C V_y = -(gI, h)_p N_p, S_v V_y = 0
    for (int j = 0; j < newton->nip; j++) {
        kept_rows(self, v, gI_y, h_y, j, -1);
        kd_chart_solve(self, v, NULL, newton->rc, newton->V_y + (ptrdiff_t)j * d.nv);
    }
}

// ---- accelerations --------------------------------------------------------------------------------------------------

// First niv rows of K and E = M^ (S2 Eq. 34, 40)
static void projected_rows(kd_statespace *self, kd_chart_level *v)
{
    kd_statespace_newton *newton = &self->newton;
    kd_dims               d = self->dims;
    int                   niv = newton->niv, nx = newton->ncolumns, nz = niv + d.nr;
    const double         *M = newton->blocks.block[KD_RESIDUAL][KD_A];
    if (niv == 0) return;
    // P gII_x, P hI_x
    if (d.nlambda > 0) derivative_by_x(self, KD_GII, newton->C_x);
    double *HI_x = newton->C_x + (ptrdiff_t)d.nlambda * nx;
    if (d.nmu > 0) derivative_by_x(self, KD_HI, HI_x);
    for (int j = 0; j < nx; j++) {
        kept_rows(self, v, newton->C_x, HI_x, j, 1);
        kd_chart_solve(self, v, NULL, newton->rc, newton->P_x + (ptrdiff_t)j * d.nv);
    }
    // E = M^ = N_v' (M N_v)
    kd_gemm(d.nv, niv, d.nv, 1, M, newton->N_v, 0, newton->MN);
    kd_gemm_tn(niv, niv, d.nv, 1, newton->N_v, newton->MN, 0, newton->E);
    // K = -N_v' residual_x + (M N_v)' P gII_x
    derivative_by_x(self, KD_RESIDUAL, newton->F_x);
    for (int j = 0; j < nx; j++) {
        double *K = newton->K + (ptrdiff_t)j * nz;
        kd_gemv_t(d.nv, niv, -1, newton->N_v, newton->F_x + (ptrdiff_t)j * d.nv, 0, K);
        kd_gemv_t(d.nv, niv, 1, newton->MN, newton->P_x + (ptrdiff_t)j * d.nv, 1, K);
    }
}

// rows of fn by (a, kept multipliers, w) to the implicit matrix, from row first on; by x to the explicit part
static void implicit_rows(kd_statespace *self, const kd_chart_level *v, kd_fn fn, int first, int nf)
{
    kd_statespace_newton *newton = &self->newton;
    kd_dims               d = self->dims;
    int                   rows = kd_eom_rows(self->eom, fn);
    // right-hand side -F_x
    derivative_by_x(self, fn, newton->F_x);
    for (int j = 0; j < newton->ncolumns; j++)
        for (int i = 0; i < rows; i++)
            newton->explicit_part[first + i + (ptrdiff_t)j * nf] = -newton->F_x[i + (ptrdiff_t)j * rows];
    // F by (a, lambda, mu, w)
    for (int j = 0; j < nf; j++) {
        int           k = j - d.nv, row = k >= 0 && k < v->rank ? v->rows[k] : -1;
        kd_var        var = j < d.nv ? KD_A : row < 0 ? KD_W : row < d.nlambda ? KD_LAMBDA : KD_MU;
        int           column = j < d.nv ? j : row < 0 ? k - v->rank : row < d.nlambda ? row : row - d.nlambda;
        const double *block = newton->blocks.block[fn][var];
        for (int i = 0; i < rows; i++)
            newton->implicit[first + i + (ptrdiff_t)j * nf] = block ? block[i + (ptrdiff_t)column * rows] : 0;
    }
}

// Kept rows of gII and hI
static void implicit_constraints(kd_statespace *self, const kd_chart_level *v, int first, int nf)
{
    kd_statespace_newton *newton = &self->newton;
    kd_dims               d = self->dims;
    double               *HI_x = newton->C_x + (ptrdiff_t)d.nlambda * newton->ncolumns;
    // right-hand side -(gII, hI)_x
    if (d.nlambda > 0) derivative_by_x(self, KD_GII, newton->C_x);
    if (d.nmu > 0) derivative_by_x(self, KD_HI, HI_x);
    for (int j = 0; j < newton->ncolumns; j++) {
        kept_rows(self, v, newton->C_x, HI_x, j, -1);
        memcpy(newton->explicit_part + first + (ptrdiff_t)j * nf, newton->rc, (size_t)v->rank * sizeof(double));
    }
    // [GZ; HZ] by a, nothing by the multipliers and w
    for (int j = 0; j < nf; j++) {
        if (j < d.nv)
            kept_rows(self, v, self->GZ, self->HZ, j, 1);
        else
            memset(newton->rc, 0, (size_t)v->rank * sizeof(double));
        memcpy(newton->implicit + first + (ptrdiff_t)j * nf, newton->rc, (size_t)v->rank * sizeof(double));
    }
}

// Rows to largest entry 1; then explicit_part <- implicit \ explicit_part
static bool solve_implicit(kd_statespace_newton *newton, int nf)
{
    for (int i = 0; i < nf; i++) {
        double most = 0;
        for (int j = 0; j < nf; j++) most = fmax(most, fabs(newton->implicit[i + (ptrdiff_t)j * nf]));
        if (!(most > 0)) return false;
        for (int j = 0; j < nf; j++) newton->implicit[i + (ptrdiff_t)j * nf] /= most;
        for (int j = 0; j < newton->ncolumns; j++) newton->explicit_part[i + (ptrdiff_t)j * nf] /= most;
    }
    if (kd_lu_factor(nf, newton->implicit, newton->pivot) != 0) return false;
    kd_lu_solve(nf, newton->implicit, newton->pivot, newton->explicit_part, newton->ncolumns);
    return true;
}

// First niv rows of K with E = I; explicit_part holds (a, lambda, mu, w)_x
static bool general_rows(kd_statespace *self, const kd_chart_level *v)
{
    kd_statespace_newton *newton = &self->newton;
    kd_dims               d = self->dims;
    int                   niv = newton->niv, nf = d.nv + v->rank + d.nw, nz = niv + d.nr;
    // Phi_y (a, lambda, mu, w)_x = -Phi_x
    implicit_rows(self, v, KD_RESIDUAL, 0, nf);
    implicit_constraints(self, v, d.nv, nf);
    if (d.nw > 0) implicit_rows(self, v, KD_D, d.nv + v->rank, nf);
    if (!solve_implicit(newton, nf)) return false;
    // K = S_v a_x, E = I
    for (int j = 0; j < newton->ncolumns; j++)
        kd_chart_pick(v, newton->explicit_part + (ptrdiff_t)j * nf, newton->K + (ptrdiff_t)j * nz);
    memset(newton->E, 0, (size_t)niv * (size_t)niv * sizeof(double));
    for (int i = 0; i < niv; i++) newton->E[i + (ptrdiff_t)i * niv] = 1;
    return true;
}

// Rows of r' behind the niv first ones of K
static void inner_state_rows(kd_statespace *self, const kd_chart_level *v)
{
    kd_statespace_newton *newton = &self->newton;
    kd_dims               d = self->dims;
    int                   nf = d.nv + v->rank + d.nw, nz = newton->niv + d.nr;
    if (d.nr == 0) return;
    derivative_by_x(self, KD_B, newton->F_x);
    for (int j = 0; j < newton->ncolumns; j++) {
        double *rows = newton->K + newton->niv + (ptrdiff_t)j * nz;
        // b_x + b_(a, lambda, mu, w) (a, lambda, mu, w)_x
        memcpy(rows, newton->F_x + (ptrdiff_t)j * d.nr, (size_t)d.nr * sizeof(double));
        for (int l = 0; l < nf && !newton->projected; l++) {
            int           k = l - d.nv, row = k >= 0 && k < v->rank ? v->rows[k] : -1;
            kd_var        var = l < d.nv ? KD_A : row < 0 ? KD_W : row < d.nlambda ? KD_LAMBDA : KD_MU;
            int           column = l < d.nv ? l : row < 0 ? k - v->rank : row < d.nlambda ? row : row - d.nlambda;
            const double *block = newton->blocks.block[KD_B][var];
            if (block)
                kd_axpy(d.nr, newton->explicit_part[l + (ptrdiff_t)j * nf], block + (ptrdiff_t)column * d.nr, rows);
        }
    }
}

// y' = K_y y + K_v v_ind
static void kinematic_blocks(kd_statespace *self, const kd_chart *chart)
{
    kd_statespace_newton *newton = &self->newton;
    kd_dims               d = self->dims;
    int                   nip = newton->nip, niv = newton->niv;
    // y' = v_ind
    if (self->shared) {
        memset(newton->K_y, 0, (size_t)nip * (size_t)nip * sizeof(double));
        memset(newton->K_v, 0, (size_t)nip * (size_t)niv * sizeof(double));
        for (int i = 0; i < nip; i++) newton->K_v[i + (ptrdiff_t)i * nip] = 1;
        return;
    }
    // S_p (Z v)_x
    if (!self->identity) derivative_by_x(self, KD_KINEMATICS, newton->F_x);
    for (int j = 0; j < nip + niv; j++) {
        const double *column = !self->identity ? newton->F_x + (ptrdiff_t)j * d.np
                               : j < nip       ? newton->V_y + (ptrdiff_t)j * d.nv
                                               : newton->N_v + (ptrdiff_t)(j - nip) * d.nv;
        kd_chart_pick(&chart->p, column,
                      j < nip ? newton->K_y + (ptrdiff_t)j * nip : newton->K_v + (ptrdiff_t)(j - nip) * nip);
    }
}

// Coefficients of the quadratic matrix polynomial in gamma; false: y' does not determine v_ind
static bool quadratic_coefficients(kd_statespace *self)
{
    kd_statespace_newton *newton = &self->newton;
    int                   nv = newton->niv, nz = nv + newton->nr;
    const double         *Kzy = newton->K, *Kzv = newton->K + (ptrdiff_t)nz * nv;
    // W = inv(K_v)
    memset(newton->W, 0, (size_t)nv * (size_t)nv * sizeof(double));
    for (int i = 0; i < nv; i++) newton->W[i + (ptrdiff_t)i * nv] = 1;
    if (!self->shared) {
        if (kd_lu_factor(nv, newton->K_v, newton->pivot_w) != 0) return false;
        kd_lu_solve(nv, newton->K_v, newton->pivot_w, newton->W, nv);
    }
    // A2 = E W, A1 = -Kzv W, A0 = -Kzy
    kd_gemm(nz, nv, nv, 1, Kzv, newton->W, 0, newton->KW);
    memset(newton->A2, 0, (size_t)nz * (size_t)nv * sizeof(double));
    for (int j = 0; j < nv; j++)
        kd_gemv(nv, nv, 1, newton->E, newton->W + (ptrdiff_t)j * nv, 0, newton->A2 + (ptrdiff_t)j * nz);
    for (int i = 0; i < nz * nv; i++) newton->A1[i] = -newton->KW[i];
    for (int i = 0; i < nz * nv; i++) newton->A0[i] = -Kzy[i];
    if (self->shared) return true;
    // where y' = K_y y + ..: A1 -= A2 K_y, A0 += Kzv W K_y
    kd_gemm(nz, nv, nv, -1, newton->A2, newton->K_y, 1, newton->A1);
    kd_gemm(nz, nv, nv, 1, newton->KW, newton->K_y, 1, newton->A0);
    return true;
}

// ---- linearisation --------------------------------------------------------------------------------------------------

static kd_eval evaluate_blocks(kd_statespace *self)
{
    kd_statespace_point *at = &self->last;
    kd_eom_data         *data = kd_acceleration_data(self->acceleration);
    kd_eval              answer = kd_acceleration_at(self->acceleration, at->t, at->p, at->s, at->v, at->r);
    if (answer != KD_EVAL_OK) return kd_statespace_note(self, answer, "");
    kd_eom_at_acceleration(data, at->a, at->w, at->lambda, at->mu);
    return kd_statespace_note_data(self, kd_eom_derivatives(data, self->opt.part, &self->newton.blocks));
}

static kd_status refuse(kd_statespace *self, double t)
{
    kd_form_fail(&self->fault, KD_ERR_DECOMPOSITION,
                 "t = %.9g: the derivatives of the state-space form are not determined: singular position", t);
    return self->fault.status;
}

kd_status kd_statespace_linearize(void *impl, double t, const double *x, const double *xdot, bool restart)
{
    kd_statespace        *self = impl;
    kd_statespace_newton *newton = &self->newton;
    kd_status             status = kd_statespace_newton_ready(self);
    bool                  regular = true;
    (void)xdot, (void)restart;
    if (status < 0) return status;
    self->counters.jacobians++;
    self->counters.mass++;
    // the point with all its components, factors of [S Z; C], derivatives there
    kd_eval   answer = kd_statespace_solve(self, t, x);
    kd_chart *chart = self->last.chart == self->previous ? self->previous : self->chart;
    if (answer == KD_EVAL_OK) answer = kd_chart_factor(self, chart, t, self->last.p, self->last.s, &regular);
    if (answer == KD_EVAL_OK && regular) answer = evaluate_blocks(self);
    if (answer != KD_EVAL_OK) return self->fault.status < 0 ? self->fault.status : KD_ERR_RETRY_FAILED;
    if (!regular || !contacts_follow(self)) return refuse(self, t);
    // sizes of (y, v_ind, r)
    kd_chart_level *v = self->shared ? &chart->p : &chart->v;
    newton->nip = chart->p.nind;
    newton->niv = v->nind;
    newton->nr = self->dims.nr;
    newton->ncolumns = newton->nip + newton->niv + newton->nr;
    newton->second_order = newton->nip == newton->niv;
    // x' by x: accelerations, inner states, kinematics
    find_directions(self, chart);
    if (newton->projected)
        projected_rows(self, v);
    else
        regular = general_rows(self, v);
    if (!regular) return refuse(self, t);
    inner_state_rows(self, v);
    kinematic_blocks(self, chart);
    if (newton->second_order) newton->second_order = quadratic_coefficients(self);
    return KD_OK;
}

// ---- factors --------------------------------------------------------------------------------------------------------

static bool is_unit(int i, int j)
{
    return i == j;
}

// Second-order form (unknowns dy, dr) or first-order form (dy, dv, dr), entry (i, j) for gamma
static double complex newton_entry(const kd_statespace_newton *newton, int i, int j, double complex gamma)
{
    int nip = newton->nip, niv = newton->niv, nz = niv + newton->nr;
    // gamma^2 A2 + gamma A1 + A0 for dy, gamma E_r - K_r for dr
    if (newton->second_order) {
        ptrdiff_t k = i + (ptrdiff_t)j * nz;
        if (j < niv) return (gamma * newton->A2[k] + newton->A1[k]) * gamma + newton->A0[k];
        return (is_unit(i, j) ? gamma : 0) - newton->K[i + (ptrdiff_t)(j + niv) * nz];
    }
    // rows of y': gamma I - [K_y K_v 0]
    if (i < nip) {
        double J = j < nip         ? newton->K_y[i + (ptrdiff_t)j * nip]
                   : j < nip + niv ? newton->K_v[i + (ptrdiff_t)(j - nip) * nip]
                                   : 0;
        return (is_unit(i, j) ? gamma : 0) - J;
    }
    // rows of (v_ind', r'): gamma E - K
    double E = 0;
    int    k = i - nip, l = j - nip;
    if (k < niv && l >= 0 && l < niv) E = newton->E[k + (ptrdiff_t)l * niv];
    if (k >= niv && is_unit(k, l)) E = 1;
    return gamma * E - newton->K[k + (ptrdiff_t)j * nz];
}

static int reduced_order(const kd_statespace_newton *newton)
{
    return newton->second_order ? newton->niv + newton->nr : newton->ncolumns;
}

kd_status kd_statespace_factor(void *impl, double gamma_real, double gamma_re, double gamma_im)
{
    kd_statespace        *self = impl;
    kd_statespace_newton *newton = &self->newton;
    int                   m = reduced_order(newton);
    kd_status             status = KD_OK;
    kd_near_forget_attempt(self); // another attempt of a step
    if (gamma_real != 0) newton->gamma = gamma_real;
    newton->gamma_complex = newton->gamma_pair[newton->pair] = gamma_re + gamma_im * I;
    self->counters.decompositions += gamma_real != 0;
    for (int j = 0; j < m && gamma_real != 0; j++)
        for (int i = 0; i < m; i++) newton->A[i + (ptrdiff_t)j * m] = creal(newton_entry(newton, i, j, gamma_real));
    if (m > 0 && gamma_real != 0) status = kd_linsolve_factor(newton->solver, m, newton->A);
    if (status >= 0 && gamma_im != 0 && m > 0) {
        for (int j = 0; j < m; j++)
            for (int i = 0; i < m; i++)
                newton->A_complex[i + (ptrdiff_t)j * m] = newton_entry(newton, i, j, newton->gamma_complex);
        status = kd_linsolve_factor_complex(newton->solver, m, newton->A_complex);
    }
    return status < 0 ? kd_statespace_fail(self, status, "the Newton matrix of the state-space form is singular")
                      : status;
}

kd_status kd_statespace_pair(void *impl, int k)
{
    kd_statespace_newton *newton = &((kd_statespace *)impl)->newton;
    newton->pair = k;
    newton->gamma_complex = newton->gamma_pair[k];
    return kd_linsolve_pair(newton->solver, k);
}

void kd_statespace_reduce(void *impl, const double *F, double *part, double *y)
{
    (void)part;
    for (int i = 0; i < ((kd_statespace *)impl)->dae->n; i++) y[i] = -F[i];
}

void kd_statespace_expand(void *impl, const double *part, const double *y, double *dx)
{
    (void)part;
    memcpy(dx, y, (size_t)((kd_statespace *)impl)->dae->n * sizeof *dx);
}

// c = E b_z + gamma A2 b_y - K W b_y (second order) or (b_y, E b_z)
// y = alpha A x for small matrices, without calls
static inline void multiply(int m, int n, double alpha, const double *A, const double *x, double *y)
{
    if (n > FEW) {
        kd_gemv(m, n, alpha, A, x, 0, y);
        return;
    }
    for (int i = 0; i < m; i++) y[i] = 0;
    for (int j = 0; j < n; j++) {
        const double factor = alpha * x[j], *column = A + (ptrdiff_t)j * m;
        for (int i = 0; i < m; i++) y[i] += factor * column[i];
    }
}

static void right_side(const kd_statespace_newton *newton, const double *y, double complex gamma, double complex *c,
                       double complex unit)
{
    int     nip = newton->nip, niv = newton->niv, nr = newton->nr, nz = niv + nr;
    int     first = newton->second_order ? 0 : nip;
    double *b = newton->b;
    for (int i = 0; i < first; i++) c[i] += unit * y[i];
    if (niv > 0) multiply(niv, niv, 1, newton->E, y + nip, b);
    for (int i = 0; i < nr; i++) b[niv + i] = y[nip + niv + i];
    for (int i = 0; i < nz; i++) c[first + i] += unit * b[i];
    if (!newton->second_order || niv == 0) return;
    multiply(nz, niv, 1, newton->A2, y, b);
    for (int i = 0; i < nz; i++) c[i] += unit * gamma * b[i];
    multiply(nz, niv, -1, newton->KW, y, b);
    for (int i = 0; i < nz; i++) c[i] += unit * b[i];
}

// The same where y' = v_ind: c = (E u, b_r) - K W b_y with u = b_v + gamma b_y, one part of it
static void plain_side(const kd_statespace_newton *newton, const double *u, const double *y, double *c)
{
    const int niv = newton->niv, nz = niv + newton->nr;
    double   *b = newton->b;
    multiply(nz, niv, -1, newton->KW, y, c);
    multiply(niv, niv, 1, newton->E, u, b);
    for (int i = 0; i < niv; i++) c[i] += b[i];
    for (int i = niv; i < nz; i++) c[i] += y[niv + i];
}

// One part (real or imaginary) of the increment: dv = W (gamma dy - K_y dy - b_y); rate = gamma dy - b_y comes in y
static void velocity_increments(const kd_statespace_newton *newton, const double *dy, double *y)
{
    int     n = newton->niv;
    double *rate = newton->b;
    if (n == 0) return;
    if (newton->plain) {
        memcpy(y + n, y, (size_t)n * sizeof *y);
        return;
    }
    memcpy(rate, y, (size_t)n * sizeof *y);
    kd_gemv(n, n, -1, newton->K_y, dy, 1, rate);
    kd_gemv(n, n, 1, newton->W, rate, 0, y + n);
}

void kd_statespace_solve_real(void *impl, double *y)
{
    kd_statespace        *self = impl;
    kd_statespace_newton *newton = &self->newton;
    int                   m = reduced_order(newton), n = self->dae->n, nip = newton->nip;
    double complex       *c = newton->b_complex;
    double               *z = newton->b + n;
    self->counters.solves++;
    // dy and dr, or dy, dv and dr
    if (newton->plain && newton->second_order && nip > 0) {
        double *u = newton->rind;
        for (int i = 0; i < nip; i++) u[i] = y[nip + i] + newton->gamma * y[i];
        plain_side(newton, u, y, z);
    } else {
        memset(c, 0, (size_t)m * sizeof *c);
        right_side(newton, y, newton->gamma, c, 1);
        for (int i = 0; i < m; i++) z[i] = creal(c[i]);
    }
    if (m > 0) kd_linsolve_solve(newton->solver, z);
    // components that stand for nothing: gamma dx = rhs
    for (int i = newton->ncolumns; i < n; i++) y[i] /= newton->gamma;
    if (!newton->second_order) {
        memcpy(y, z, (size_t)m * sizeof *y);
        return;
    }
    // dv = W ((gamma I - K_y) dy - b_y)
    for (int i = 0; i < nip; i++) y[i] = newton->gamma * z[i] - y[i];
    velocity_increments(newton, z, y);
    memcpy(y, z, (size_t)nip * sizeof *y);
    memcpy(y + 2 * nip, z + nip, (size_t)newton->nr * sizeof *y);
}

// Both parts where y' = v_ind
static void plain_complex_side(const kd_statespace_newton *newton, const double *y_re, const double *y_im,
                               double complex gamma, double complex *c)
{
    const int    n = newton->niv, nz = n + newton->nr;
    const double g_re = creal(gamma), g_im = cimag(gamma);
    double      *u_re = newton->rind, *u_im = u_re + n, *re = newton->b + nz, *im = newton->parts;
    for (int i = 0; i < n; i++) {
        u_re[i] = y_re[n + i] + (g_re * y_re[i] - g_im * y_im[i]);
        u_im[i] = y_im[n + i] + (g_re * y_im[i] + g_im * y_re[i]);
    }
    plain_side(newton, u_re, y_re, re);
    plain_side(newton, u_im, y_im, im);
    for (int i = 0; i < nz; i++) c[i] = re[i] + im[i] * I;
}

void kd_statespace_solve_complex(void *impl, double *y_re, double *y_im)
{
    kd_statespace        *self = impl;
    kd_statespace_newton *newton = &self->newton;
    int                   m = reduced_order(newton), n = self->dae->n, nip = newton->nip;
    double complex       *c = newton->b_complex, gamma = newton->gamma_complex;
    double               *part = newton->b + n;
    // the same with complex gamma
    if (newton->plain && newton->second_order && nip > 0)
        plain_complex_side(newton, y_re, y_im, gamma, c);
    else {
        memset(c, 0, (size_t)m * sizeof *c);
        right_side(newton, y_re, gamma, c, 1);
        right_side(newton, y_im, gamma, c, I);
    }
    if (m > 0) kd_linsolve_solve_complex(newton->solver, c);
    // components that nothing moves
    for (int i = newton->ncolumns; i < n; i++) {
        double complex q = (y_re[i] + I * y_im[i]) / gamma;
        y_re[i] = creal(q);
        y_im[i] = cimag(q);
    }
    // first-order form: the unknowns themselves
    if (!newton->second_order) {
        for (int i = 0; i < m; i++) {
            y_re[i] = creal(c[i]);
            y_im[i] = cimag(c[i]);
        }
        return;
    }
    // second-order form: dv from dy, for both parts
    for (int i = 0; i < nip; i++) {
        const double g_re = creal(gamma), g_im = cimag(gamma), re = creal(c[i]), im = cimag(c[i]);
        y_re[i] = g_re * re - g_im * im - y_re[i];
        y_im[i] = g_re * im + g_im * re - y_im[i];
    }
    for (int i = 0; i < nip; i++) part[i] = creal(c[i]);
    velocity_increments(newton, part, y_re);
    memcpy(y_re, part, (size_t)nip * sizeof *part);
    for (int i = 0; i < nip; i++) part[i] = cimag(c[i]);
    velocity_increments(newton, part, y_im);
    memcpy(y_im, part, (size_t)nip * sizeof *part);
    for (int i = 0; i < newton->nr; i++) {
        y_re[2 * nip + i] = creal(c[nip + i]);
        y_im[2 * nip + i] = cimag(c[nip + i]);
    }
}
