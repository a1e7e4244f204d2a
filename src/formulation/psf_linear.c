// Linear algebra of the projected strangeness-free form (S3 Remark 3.3): the Newton system of 0 = F(t, x, x'),
//
//     position      G dp = -g,  q_p dp = -q,  c_s ds + c_p dp = -c
//     velocity      [GZ; HZ; e_v] dv = -[gI; h; e] - (...)_p dp
//     acceleration  [M (GZ)' (HZ)'; GZ; HZ] (da, dlambda, dmu) = -rows - (...)_p dp - (...)_v dv      (with d and w between)
//     differential  gamma S_p dp - S_p (Z dv + (Zv)_p dp) = -S_p (p' - Z v),   gamma S_v dv - S_v da = -S_v (v' - a)
//                   gamma dr - db = -(r' - b)
//
// The algebraic rows do not contain gamma: each level is solved by a particular solution that the selectors do not see
// (S_p dp = 0, S_v dv = 0) plus a null-space part N y. What remains is (gamma I - A) y = rhs of size nip + niv + nr. With
// p' = v and holonomic constraints A = [0 I; A21 A22], and the size is ndof: (gamma^2 - gamma A22 - A21) y_v = rhs.
#include <math.h>
#include <string.h>

#include "formulation/psf_internal.h"
#include "math/dense.h"

// In-step invariants need |e_v N| to dominate its change over the step: h |e_p| < INVARIANT_CHANGE |e_v N| (docs/methods/psf.md)
#define INVARIANT_CHANGE 0.3

static double *block(const kd_psf *f, kd_fn fn, kd_var var)
{
    return f->blocks.block[fn][var];
}

// ---- assembling rows ----------------------------------------------------------------------------------------------------

// Rows `from` (NULL: all) of B (rows x n, may be NULL: zero) to rows at.. of A (m x n).
static void put_rows(double *A, int m, int at, const double *B, int rows, const int *from, int count, int n)
{
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < count; i++) A[at + i + j * m] = B ? B[(from ? from[i] : i) + j * rows] : 0;
    }
}

void psf_find_active(kd_psf *f)
{
    f->nl = f->nm = 0;
    for (int i = 0; i < f->dims.nlambda; i++)
        if (f->state->active_lambda[i]) f->active_l[f->nl++] = i;
    for (int i = 0; i < f->dims.nmu; i++)
        if (f->state->active_mu[i]) f->active_m[f->nm++] = i;
    f->ma = f->nl + f->nm;
    f->mp = f->nl + f->dims.nq;
    f->nk = f->dims.nv + f->dims.nw + f->ma;
}

// ds/dp = -c_s \ c_p, and with it total derivatives F_p + F_s ds/dp of everything that contains s
static kd_status eliminate_contacts(kd_psf *f)
{
    static const kd_fn with_s[] = {KD_G, KD_GI, KD_GII, KD_H, KD_HI, KD_E, KD_RESIDUAL, KD_B, KD_D};
    int                ns = f->dims.ns, nv = f->dims.nv;
    if (ns == 0) return KD_OK;
    memcpy(f->cs_lu, block(f, KD_C, KD_S), (size_t)(ns * ns) * sizeof(double));
    if (kd_lu_factor(ns, f->cs_lu, f->cs_pivot) != 0) return psf_fail(f, KD_ERR_SINGULAR_CS, "the matrix c_s is singular");
    for (int i = 0; i < ns * nv; i++) f->X[i] = -block(f, KD_C, KD_P)[i];
    kd_lu_solve(ns, f->cs_lu, f->cs_pivot, f->X, nv);
    for (size_t k = 0; k < sizeof with_s / sizeof *with_s; k++) {
        kd_fn   fn = with_s[k];
        double *Fp = block(f, fn, KD_P), *Fs = block(f, fn, KD_S);
        int     rows = kd_eom_rows(f->eom, fn);
        if (Fp && Fs && rows > 0) kd_gemm(rows, nv, ns, 1, Fs, f->X, 1, Fp);
    }
    return KD_OK;
}

// Zplus = inv(Z'Z) Z'
static kd_status invert_kinematics(kd_psf *f)
{
    int np = f->dims.np, nv = f->dims.nv;
    if (f->identity) return KD_OK;
    if (kd_eom_Z(f->data, f->Z) != KD_EVAL_OK) return psf_eval_failure(f);
    kd_gemm_tn(nv, nv, np, 1, f->Z, f->Z, 0, f->big);
    for (int i = 0; i < np; i++)
        for (int j = 0; j < nv; j++) f->Zplus[j + i * nv] = f->Z[i + j * np];
    if (kd_cholesky_factor(nv, f->big) != 0)
        return psf_fail(f, KD_ERR_DECOMPOSITION, "the kinematic matrix Z(p) has dependent columns");
    kd_cholesky_solve(nv, f->big, f->Zplus, np);
    if (f->dims.nq > 0 && kd_eom_q_p(f->data, f->q_p) != KD_EVAL_OK) return psf_eval_failure(f);
    return KD_OK;
}

static kd_eval evaluate_blocks(kd_psf *f, double t, const double *x)
{
    kd_eval answer = psf_set_point(f, t, x);
    if (answer == KD_EVAL_OK) answer = kd_eom_derivatives(f->data, f->opt.part, &f->blocks);
    f->counters.jacobians++;
    return answer;
}

static void stack_rows(kd_psf *f)
{
    kd_dims D = f->dims;
    int     nv = D.nv, ns = D.ns, mv = f->mv, nk = f->nk, nl = f->nl, nm = f->nm;
    int     atd = nv, atl = nv + D.nw, atm = atl + nl;

    put_rows(f->GS, nl, 0, block(f, KD_G, KD_S), D.nlambda, f->active_l, nl, ns);
    const struct {
        kd_var  var;
        double *V;
        int     columns;
    } velocity[] = {{KD_P, f->VP, nv}, {KD_S, f->VS, ns}};
    for (size_t k = 0; k < 2; k++) {
        double *V = velocity[k].V;
        int     n = velocity[k].columns;
        put_rows(V, mv, 0, block(f, KD_GI, velocity[k].var), D.nlambda, f->active_l, nl, n);
        put_rows(V, mv, nl, block(f, KD_H, velocity[k].var), D.nmu, f->active_m, nm, n);
        if (f->with_e) put_rows(V, mv, nl + nm, block(f, KD_E, velocity[k].var), D.ne, NULL, D.ne, n);
    }
    const struct {
        kd_var  var;
        double *K;
        int     columns;
    } level[] = {{KD_P, f->KP, nv}, {KD_V, f->KV, nv}, {KD_R, f->KR, D.nr}, {KD_S, f->KS, ns}};
    for (size_t k = 0; k < 4; k++) {
        double *K = level[k].K;
        int     n = level[k].columns;
        put_rows(K, nk, 0, block(f, KD_RESIDUAL, level[k].var), nv, NULL, nv, n);
        put_rows(K, nk, atd, block(f, KD_D, level[k].var), D.nw, NULL, D.nw, n);
        put_rows(K, nk, atl, block(f, KD_GII, level[k].var), D.nlambda, f->active_l, nl, n);
        put_rows(K, nk, atm, block(f, KD_HI, level[k].var), D.nmu, f->active_m, nm, n);
    }
    if (D.nr > 0) { // b by (a, w, lambda, mu)
        memset(f->BK, 0, (size_t)(D.nr * nk) * sizeof(double));
        if (block(f, KD_B, KD_W)) memcpy(f->BK + D.nr * atd, block(f, KD_B, KD_W), (size_t)(D.nr * D.nw) * sizeof(double));
        for (int i = 0; i < nl; i++)
            for (int j = 0; j < D.nr; j++)
                if (block(f, KD_B, KD_LAMBDA)) f->BK[j + D.nr * (atl + i)] = block(f, KD_B, KD_LAMBDA)[j + D.nr * f->active_l[i]];
        for (int i = 0; i < nm; i++)
            for (int j = 0; j < D.nr; j++)
                if (block(f, KD_B, KD_MU)) f->BK[j + D.nr * (atm + i)] = block(f, KD_B, KD_MU)[j + D.nr * f->active_m[i]];
    }
}

// ---- selectors ------------------------------------------------------------------------------------------------------------

static kd_status selector_failure(kd_psf *f, const kd_selector *s, kd_status status, const char *level)
{
    char rows[256];
    psf_name_rows(f, s, rows, sizeof rows);
    if (status == KD_ERR_REDUNDANT)
        return psf_fail(f, status, "constraints on %s level are redundant: %s; use the SVD decomposition", level, rows);
    if (status == KD_ERR_RANK_CHANGE)
        return psf_fail(f, status, "the rank of the constraints on %s level changed (%s): a singular position", level, rows);
    return psf_fail(f, status, "the constraint matrix on %s level could not be decomposed", level);
}

// C_a = [GZ; HZ] (ma x nv), rows of the active constraints, to f->C
static void constraint_rows(kd_psf *f, int m)
{
    put_rows(f->C, m, 0, f->GZ, f->nl, NULL, f->nl, f->dims.nv);
    put_rows(f->C, m, f->nl, block(f, KD_H, KD_V), f->dims.nmu, f->active_m, f->nm, f->dims.nv);
}

// Are the invariants well determined by velocities during the whole step?
static bool invariants_usable(kd_psf *f)
{
    kd_dims D = f->dims;
    int     free_v = D.nv - f->sel_a->rank;
    if (D.ne == 0 || !f->opt.invariants || f->e_leave_out || free_v < D.ne) return false;
    for (int i = 0; i < D.ne; i++) {
        double by_v = 0, by_p = 0, size_v = 0;
        for (int k = 0; k < free_v; k++) {
            double sum = 0;
            for (int j = 0; j < D.nv; j++) sum += block(f, KD_E, KD_V)[i + j * D.ne] * f->sel_a->N[j + k * D.nv];
            by_v = fmax(by_v, fabs(sum));
        }
        for (int j = 0; j < D.nv; j++) {
            by_p = fmax(by_p, block(f, KD_E, KD_P) ? fabs(block(f, KD_E, KD_P)[i + j * D.ne]) : 0);
            size_v = fmax(size_v, fabs(block(f, KD_E, KD_V)[i + j * D.ne]));
        }
        if (by_v <= 1e-6 * size_v || by_v <= 0 || f->dae->h * by_p > INVARIANT_CHANGE * by_v) return false;
    }
    return true;
}

static kd_status select_position(kd_psf *f, bool reset, bool *changed)
{
    int nv = f->dims.nv, np = f->dims.np, mp = f->mp;
    put_rows(f->GZ, f->nl, 0, block(f, KD_G, KD_P), f->dims.nlambda, f->active_l, f->nl, nv);
    if (f->identity) return kd_selector_update(&f->position, mp, f->GZ, reset, changed);
    kd_gemm(f->nl, np, nv, 1, f->GZ, f->Zplus, 0, f->big); // G = GZ Z^+: the functions do not see the norms
    put_rows(f->C, mp, 0, f->big, f->nl, NULL, f->nl, np);
    put_rows(f->C, mp, f->nl, f->q_p, f->dims.nq, NULL, f->dims.nq, np);
    return kd_selector_update(&f->position, mp, f->C, reset, changed);
}

static kd_status select_acceleration(kd_psf *f, bool reset, bool *changed)
{
    if (f->identity && f->nm == 0) {
        f->sel_a = &f->position;
        return KD_OK;
    }
    f->sel_a = &f->acceleration;
    constraint_rows(f, f->ma);
    return kd_selector_update(&f->acceleration, f->ma, f->C, reset, changed);
}

static kd_status select_velocity(kd_psf *f, bool reset, bool *changed)
{
    f->with_e = invariants_usable(f);
    f->mv = f->ma + (f->with_e ? f->dims.ne : 0);
    f->sel_v = f->sel_a;
    if (!f->with_e) return KD_OK;
    constraint_rows(f, f->mv);
    put_rows(f->C, f->mv, f->ma, block(f, KD_E, KD_V), f->dims.ne, NULL, f->dims.ne, f->dims.nv);
    kd_status status = kd_selector_update(&f->velocity, f->mv, f->C, reset, changed);
    if (status < 0) { // the invariants are no further conditions here: go without them
        f->with_e = false;
        f->mv = f->ma;
        f->velocity.rank = -1;
        return KD_OK;
    }
    f->sel_v = &f->velocity;
    return status;
}

static kd_status select_directions(kd_psf *f, bool reset)
{
    bool      changed_p = false, changed_a = false, changed_v = false;
    kd_status sp = select_position(f, reset, &changed_p);
    if (sp < 0) return selector_failure(f, &f->position, sp, "position");
    kd_status sa = select_acceleration(f, reset, &changed_a);
    if (sa < 0) return selector_failure(f, &f->acceleration, sa, "velocity");
    kd_status sv = select_velocity(f, reset, &changed_v);
    if (sv < 0) return selector_failure(f, &f->velocity, sv, "velocity");
    f->sel_p = &f->position;
    f->nip = f->dims.np - f->sel_p->rank;
    f->niv = f->dims.nv - f->sel_v->rank;
    f->m = f->nip + f->niv + f->dims.nr;
    f->second_order = f->identity && f->sel_v == f->sel_p && f->dims.nr == 0;
    f->dae->nreduced = f->m;
    f->counters.predecompositions++;
    if (changed_p || changed_a || changed_v) f->counters.selectors++;
    return sp > 0 ? sp : KD_OK;
}

// ---- the level of (a, w, lambda, mu) --------------------------------------------------------------------------------------

// Y = alpha M A + beta Y for `count` columns
static void mass_times(const kd_psf *f, double alpha, const double *A, int count, double beta, double *Y)
{
    int           nv = f->dims.nv;
    const double *M = block(f, KD_RESIDUAL, KD_A);
    if (!f->diagonal) {
        if (count == 1) kd_gemv(nv, nv, alpha, M, A, beta, Y);
        else kd_gemm(nv, count, nv, alpha, M, A, beta, Y);
        return;
    }
    for (int k = 0; k < count; k++)
        for (int i = 0; i < nv; i++)
            Y[i + k * nv] = alpha * M[i + i * nv] * A[i + k * nv] + (beta == 0 ? 0 : beta * Y[i + k * nv]);
}

// Mhat = N' M N, by Cholesky; by LU if it is not positive definite
static kd_status factor_plain(kd_psf *f)
{
    int nv = f->dims.nv, free_v = nv - f->sel_a->rank;
    mass_times(f, 1, f->sel_a->N, free_v, 0, f->big);
    kd_gemm_tn(free_v, free_v, nv, 1, f->sel_a->N, f->big, 0, f->Mhat);
    f->Mhat_spd = kd_cholesky_factor(free_v, f->Mhat) == 0;
    if (f->Mhat_spd) return KD_OK;
    kd_gemm_tn(free_v, free_v, nv, 1, f->sel_a->N, f->big, 0, f->Mhat);
    if (kd_lu_factor(free_v, f->Mhat, f->Mhat_pivot) == 0) return KD_OK;
    return psf_fail(f, KD_ERR_SINGULAR_MASS, "a motion that the constraints allow has no mass");
}

// R (rank x ma): independent combinations of the constraint rows, R = U1' diag(scale); identity at full rank
static void row_combinations(kd_psf *f)
{
    const kd_selector *s = f->sel_a;
    int                ma = f->ma, rank = s->rank;
    for (int i = 0; i < ma; i++)
        for (int k = 0; k < rank; k++) f->R[k + i * rank] = rank < ma ? s->U[i + k * ma] * s->scale[i] : (i == k);
}

// [M  res_w  res_lambda R'; 0  d_w  d_lambda R'; R C_a  0  0], LU
static kd_status factor_general(kd_psf *f)
{
    kd_dims D = f->dims;
    int     nv = D.nv, nw = D.nw, rank = f->sel_a->rank, n = nv + nw + rank, ma = f->ma;
    double *B = f->Bk, *C = f->C, *L = f->big; // L (nv + nw) x ma: [residual; d] by lambda, mu

    if (nw > 0) {
        memcpy(B, block(f, KD_D, KD_W), (size_t)(nw * nw) * sizeof(double));
        if (kd_lu_factor(nw, B, f->Bk_pivot) != 0) return psf_fail(f, KD_ERR_SINGULAR_DW, "the matrix d_w is singular");
    }
    row_combinations(f);
    constraint_rows(f, ma);
    put_rows(L, nv + nw, 0, NULL, 0, NULL, nv + nw, ma);
    for (int i = 0; i < ma; i++) {
        bool          holonomic = i < f->nl;
        int           from = holonomic ? f->active_l[i] : f->active_m[i - f->nl];
        kd_var        var = holonomic ? KD_LAMBDA : KD_MU;
        const double *res = block(f, KD_RESIDUAL, var), *d = block(f, KD_D, var);
        for (int j = 0; j < nv; j++) L[j + i * (nv + nw)] = res[j + from * nv];
        for (int j = 0; j < nw && d; j++) L[nv + j + i * (nv + nw)] = d[j + from * nw];
    }
    memset(B, 0, (size_t)(n * n) * sizeof(double));
    put_rows(B, n, 0, block(f, KD_RESIDUAL, KD_A), nv, NULL, nv, nv);
    put_rows(B + n * nv, n, 0, block(f, KD_RESIDUAL, KD_W), nv, NULL, nv, nw);
    put_rows(B + n * nv, n, nv, block(f, KD_D, KD_W), nw, NULL, nw, nw);
    for (int k = 0; k < rank; k++) {
        for (int i = 0; i < ma; i++) {
            double w = f->R[k + i * rank];
            if (w == 0) continue;
            for (int j = 0; j < nv + nw; j++) B[j + n * (nv + nw + k)] += w * L[j + i * (nv + nw)];
            for (int j = 0; j < nv; j++) B[nv + nw + k + n * j] += w * C[i + j * ma];
        }
    }
    f->bk = n;
    if (kd_lu_factor(n, B, f->Bk_pivot) == 0) return KD_OK;
    return psf_fail(f, KD_ERR_SINGULAR_MASS, "mass matrix, constraints and forces do not determine accelerations and multipliers");
}

// (a, w, lambda, mu) for `count` right-hand sides in the columns of K (nk x count), in place. scratch: 2 nk per column.
static void solve_level(kd_psf *f, double *K, int count, double *scratch)
{
    int nv = f->dims.nv, nw = f->dims.nw, ma = f->ma, nk = f->nk, rank = f->sel_a->rank, free_v = nv - rank;
    for (int c = 0; c < count; c++) {
        double *k = K + (size_t)c * (size_t)nk;
        if (f->plain) {
            double *t = scratch, *y = scratch + nv;
            memcpy(t, k, (size_t)nv * sizeof *t);
            double *a = y + free_v;
            kd_gemv(nv, ma, 1, f->sel_a->P, k + nv, 0, a); // a = P r2
            mass_times(f, -1, a, 1, 1, t);                 // t = r1 - M a
            kd_gemv_t(nv, free_v, 1, f->sel_a->N, t, 0, y);
            if (f->Mhat_spd) kd_cholesky_solve(free_v, f->Mhat, y, 1);
            else kd_lu_solve(free_v, f->Mhat, f->Mhat_pivot, y, 1);
            kd_gemv(nv, free_v, 1, f->sel_a->N, y, 1, a); // a += N y
            memcpy(t, k, (size_t)nv * sizeof *t);
            mass_times(f, -1, a, 1, 1, t);
            memcpy(k, a, (size_t)nv * sizeof *k);
            kd_gemv_t(nv, ma, 1, f->sel_a->P, t, 0, k + nv); // multipliers = P' (r1 - M a)
        } else {
            double *b = scratch;
            memcpy(b, k, (size_t)(nv + nw) * sizeof *b);
            kd_gemv(rank, ma, 1, f->R, k + nv + nw, 0, b + nv + nw);
            kd_lu_solve(f->bk, f->Bk, f->Bk_pivot, b, 1);
            memcpy(k, b, (size_t)(nv + nw) * sizeof *b);
            kd_gemv_t(rank, ma, 1, f->R, b + nv + nw, 0, k + nv + nw);
        }
    }
}

// ---- the reduced matrix A -------------------------------------------------------------------------------------------------

static void reduced_maps(kd_psf *f)
{
    kd_dims D = f->dims;
    int     nv = D.nv, np = D.np, nip = f->nip, niv = f->niv, nk = f->nk, mv = f->mv;
    double *T = f->big;

    if (f->identity) memcpy(f->Ep, f->sel_p->N, (size_t)(nv * nip) * sizeof(double));
    else kd_gemm(nv, nip, np, 1, f->Zplus, f->sel_p->N, 0, f->Ep);
    kd_gemm(mv, nip, nv, 1, f->VP, f->Ep, 0, T);
    kd_gemm(nv, nip, mv, -1, f->sel_v->P, T, 0, f->Vp); // dv = -P_v (velocity rows)_p dp
    if (D.ns > 0) kd_gemm(D.ns, nip, nv, 1, f->X, f->Ep, 0, f->Xp);

    kd_gemm(nk, nip, nv, -1, f->KP, f->Ep, 0, f->Kmap);
    kd_gemm(nk, nip, nv, -1, f->KV, f->Vp, 1, f->Kmap);
    kd_gemm(nk, niv, nv, -1, f->KV, f->sel_v->N, 0, f->Kmap + nk * nip);
    for (int i = 0; i < nk * D.nr; i++) f->Kmap[nk * (nip + niv) + i] = -f->KR[i];
    solve_level(f, f->Kmap, f->m, T);
}

// Column of A for y_p (k < nip), y_v or y_r: what the differential right-hand sides say about one unit of y
static void reduced_column(kd_psf *f, int k, double *column)
{
    kd_dims       D = f->dims;
    int           nv = D.nv, np = D.np, nip = f->nip, niv = f->niv, nr = D.nr;
    const double *K = f->Kmap + k * f->nk;
    const double *dv = k < nip ? f->Vp + k * nv : f->sel_v->N + (k - nip) * nv; // only for k < nip + niv
    bool          is_p = k < nip, is_v = !is_p && k < nip + niv;

    memset(column, 0, (size_t)nip * sizeof *column);
    if (is_p || is_v) {
        if (f->identity) {
            memcpy(f->tp, dv, (size_t)nv * sizeof(double));
        } else {
            kd_gemv(np, nv, 1, f->Z, dv, 0, f->tp);
            if (is_p && block(f, KD_KINEMATICS, KD_P))
                kd_gemv(np, nv, 1, block(f, KD_KINEMATICS, KD_P), f->Ep + k * nv, 1, f->tp);
        }
        kd_selector_pick(f->sel_p, f->tp, column);
    }
    kd_selector_pick(f->sel_v, K, column + nip);
    if (nr == 0) return;
    double *b = column + nip + niv;
    kd_gemv(nr, f->nk, 1, f->BK, K, 0, b);
    if (is_p && block(f, KD_B, KD_P)) kd_gemv(nr, nv, 1, block(f, KD_B, KD_P), f->Ep + k * nv, 1, b);
    if ((is_p || is_v) && block(f, KD_B, KD_V)) kd_gemv(nr, nv, 1, block(f, KD_B, KD_V), dv, 1, b);
    if (!is_p && !is_v && block(f, KD_B, KD_R)) kd_axpy(nr, 1, block(f, KD_B, KD_R) + (k - nip - niv) * nr, b);
}

kd_status psf_linearize(void *impl, double t, const double *x, const double *xdot, bool restart)
{
    kd_psf *f = impl;
    (void)xdot; // F_x does not contain x': the selectors are constant in a step
    if (f->fresh && t == f->fresh_t && !restart) {
        f->fresh = false;
        return KD_OK;
    }
    f->fresh = false;
    f->e_leave_out = restart;
    if (restart) psf_find_active(f);
    if (evaluate_blocks(f, t, x) != KD_EVAL_OK) return psf_eval_failure(f);

    kd_status status = eliminate_contacts(f);
    if (status < 0) return status;
    status = invert_kinematics(f);
    if (status < 0) return status;
    kd_status news = select_directions(f, restart || f->opt.selectors_each_step);
    if (news < 0) return news;
    stack_rows(f);
    status = f->plain ? factor_plain(f) : factor_general(f);
    if (status < 0) return status;
    reduced_maps(f);
    for (int k = 0; k < f->m; k++) reduced_column(f, k, f->A + (size_t)k * (size_t)f->m);
    return news;
}

// ---- systems with gamma -----------------------------------------------------------------------------------------------------

kd_status psf_factor(void *impl, double gamma_real, double gamma_re, double gamma_im)
{
    kd_psf       *f = impl;
    int           m = f->m, n = f->second_order ? f->niv : m, nip = f->nip;
    const double *A = f->A;
    f->gamma = gamma_real;
    f->gamma_c = gamma_re + gamma_im * I;
    f->counters.decompositions++;
    double complex g2 = f->gamma_c * f->gamma_c;
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) {
            double *M = f->matrix + i + j * n;
            if (f->second_order) { // gamma^2 - gamma A22 - A21
                double a21 = A[nip + i + j * m], a22 = A[nip + i + (nip + j) * m];
                *M = (i == j ? gamma_real * gamma_real : 0) - gamma_real * a22 - a21;
                f->matrix_c[i + j * n] = (i == j ? g2 : 0) - f->gamma_c * a22 - a21;
            } else {
                *M = (i == j ? gamma_real : 0) - A[i + j * m];
                f->matrix_c[i + j * n] = (i == j ? f->gamma_c : 0) - A[i + j * m];
            }
        }
    }
    kd_status status = kd_linsolve_factor(f->linear, n, f->matrix);
    if (status == KD_OK && gamma_im != 0) status = kd_linsolve_factor_complex(f->linear, n, f->matrix_c);
    if (status < 0) return psf_fail(f, status, "the reduced Newton matrix is singular");
    return KD_OK;
}

void psf_solve_real(void *impl, double *y)
{
    kd_psf *f = impl;
    int     m = f->m, nip = f->nip, niv = f->niv;
    f->counters.solves++;
    if (!f->second_order) {
        kd_linsolve_solve(f->linear, y);
        return;
    }
    double *rhs = f->tm; // gamma r2 + A21 r1
    for (int i = 0; i < niv; i++) {
        rhs[i] = f->gamma * y[nip + i];
        for (int j = 0; j < nip; j++) rhs[i] += f->A[nip + i + j * m] * y[j];
    }
    kd_linsolve_solve(f->linear, rhs);
    for (int i = 0; i < niv; i++) {
        y[i] = (y[i] + rhs[i]) / f->gamma;
        y[nip + i] = rhs[i];
    }
}

void psf_solve_complex(void *impl, double *y_re, double *y_im)
{
    kd_psf         *f = impl;
    int             m = f->m, nip = f->nip, niv = f->niv;
    double complex *rhs = f->rhs_c;
    if (!f->second_order) {
        for (int i = 0; i < m; i++) rhs[i] = y_re[i] + y_im[i] * I;
        kd_linsolve_solve_complex(f->linear, rhs);
        for (int i = 0; i < m; i++) {
            y_re[i] = creal(rhs[i]);
            y_im[i] = cimag(rhs[i]);
        }
        return;
    }
    double a = creal(f->gamma_c), b = cimag(f->gamma_c), scale = 1 / (a * a + b * b);
    for (int i = 0; i < niv; i++) {
        double re = a * y_re[nip + i] - b * y_im[nip + i], im = a * y_im[nip + i] + b * y_re[nip + i];
        for (int j = 0; j < nip; j++) {
            re += f->A[nip + i + j * m] * y_re[j];
            im += f->A[nip + i + j * m] * y_im[j];
        }
        rhs[i] = re + im * I;
    }
    kd_linsolve_solve_complex(f->linear, rhs);
    for (int i = 0; i < niv; i++) {
        double re = y_re[i] + creal(rhs[i]), im = y_im[i] + cimag(rhs[i]);
        y_re[i] = (re * a + im * b) * scale; // (r1 + y_v) / gamma
        y_im[i] = (im * a - re * b) * scale;
        y_re[nip + i] = creal(rhs[i]);
        y_im[nip + i] = cimag(rhs[i]);
    }
}

// ---- right-hand sides ---------------------------------------------------------------------------------------------------------

void psf_solve_position(kd_psf *f, const double *F, double *dp, double *ds)
{
    kd_dims D = f->dims;
    for (int i = 0; i < f->nl; i++) f->rp[i] = -F[f->row.g + f->active_l[i]];
    for (int i = 0; i < D.nq; i++) f->rp[f->nl + i] = -F[f->row.q + i];
    if (D.ns > 0) {
        for (int i = 0; i < D.ns; i++) f->ds0[i] = -F[f->row.c + i];
        kd_lu_solve(D.ns, f->cs_lu, f->cs_pivot, f->ds0, 1);
        kd_gemv(f->nl, D.ns, -1, f->GS, f->ds0, 1, f->rp);
    }
    kd_gemv(D.np, f->mp, 1, f->sel_p->P, f->rp, 0, dp);
    if (f->identity) memcpy(f->e0, dp, (size_t)D.nv * sizeof(double));
    else kd_gemv(D.nv, D.np, 1, f->Zplus, dp, 0, f->e0);
    if (D.ns > 0) {
        memcpy(ds, f->ds0, (size_t)D.ns * sizeof(double));
        kd_gemv(D.ns, D.nv, 1, f->X, f->e0, 1, ds);
    }
}

void psf_solve_velocity(kd_psf *f, const double *F, double *dv)
{
    for (int i = 0; i < f->nl; i++) f->rv[i] = -F[f->row.gI + f->active_l[i]];
    for (int i = 0; i < f->nm; i++) f->rv[f->nl + i] = -F[f->row.h + f->active_m[i]];
    for (int i = f->ma; i < f->mv; i++) f->rv[i] = -F[f->row.e + i - f->ma];
    if (f->dims.ns > 0) kd_gemv(f->mv, f->dims.ns, -1, f->VS, f->ds0, 1, f->rv);
    kd_gemv(f->mv, f->dims.nv, -1, f->VP, f->e0, 1, f->rv);
    kd_gemv(f->dims.nv, f->mv, 1, f->sel_v->P, f->rv, 0, dv);
}

void psf_solve_k(kd_psf *f, const double *F, const double *dv, double *k)
{
    kd_dims D = f->dims;
    int     nv = D.nv, nk = f->nk;
    for (int i = 0; i < nv; i++) k[i] = -F[f->row.dyn + i];
    for (int i = 0; i < D.nw; i++) k[nv + i] = -F[f->row.d + i];
    for (int i = 0; i < f->nl; i++) k[nv + D.nw + i] = -F[f->row.gII + f->active_l[i]];
    for (int i = 0; i < f->nm; i++) k[nv + D.nw + f->nl + i] = -F[f->row.hI + f->active_m[i]];
    if (D.ns > 0) kd_gemv(nk, D.ns, -1, f->KS, f->ds0, 1, k);
    kd_gemv(nk, nv, -1, f->KP, f->e0, 1, k);
    kd_gemv(nk, nv, -1, f->KV, dv, 1, k);
    solve_level(f, k, 1, f->rk);
}

// k = (a, w, active lambda, active mu) to the places of x; inactive multipliers do not move
static void scatter_k(const kd_psf *f, const double *k, double *x)
{
    kd_dims D = f->dims;
    memcpy(x + f->at.a, k, (size_t)D.nv * sizeof *x);
    memcpy(x + f->at.w, k + D.nv, (size_t)D.nw * sizeof *x);
    const double *l = k + D.nv + D.nw;
    for (int i = 0; i < D.nlambda; i++) x[f->at.lambda + i] = 0;
    for (int i = 0; i < D.nmu; i++) x[f->at.mu + i] = 0;
    for (int i = 0; i < f->nl; i++) x[f->at.lambda + f->active_l[i]] = l[i];
    for (int i = 0; i < f->nm; i++) x[f->at.mu + f->active_m[i]] = l[f->nl + i];
}

void psf_reduce(void *impl, const double *F, double *part, double *y)
{
    kd_psf *f = impl;
    kd_dims D = f->dims;
    int     nv = D.nv, np = D.np;
    double *dp = part + f->at.p, *dv = part + f->at.v, *k = f->k0;

    psf_solve_position(f, F, dp, part + f->at.s);
    psf_solve_velocity(f, F, dv);
    psf_solve_k(f, F, dv, k);
    scatter_k(f, k, part);
    memset(part + f->at.r, 0, (size_t)D.nr * sizeof *part);

    for (int i = 0; i < np; i++) f->tp[i] = -F[f->row.kin + i];
    if (f->identity) {
        kd_axpy(nv, 1, dv, f->tp);
    } else {
        kd_gemv(np, nv, 1, f->Z, dv, 1, f->tp);
        if (block(f, KD_KINEMATICS, KD_P)) kd_gemv(np, nv, 1, block(f, KD_KINEMATICS, KD_P), f->e0, 1, f->tp);
    }
    kd_selector_pick(f->sel_p, f->tp, y);
    for (int i = 0; i < nv; i++) f->ta[i] = k[i] - F[f->row.acc + i];
    kd_selector_pick(f->sel_v, f->ta, y + f->nip);
    if (D.nr == 0) return;
    double *yr = y + f->nip + f->niv;
    for (int i = 0; i < D.nr; i++) yr[i] = -F[f->row.r + i];
    kd_gemv(D.nr, f->nk, 1, f->BK, k, 1, yr);
    if (D.ns > 0 && block(f, KD_B, KD_S)) kd_gemv(D.nr, D.ns, 1, block(f, KD_B, KD_S), f->ds0, 1, yr);
    if (block(f, KD_B, KD_P)) kd_gemv(D.nr, nv, 1, block(f, KD_B, KD_P), f->e0, 1, yr);
    if (block(f, KD_B, KD_V)) kd_gemv(D.nr, nv, 1, block(f, KD_B, KD_V), dv, 1, yr);
}

void psf_expand(void *impl, const double *part, const double *y, double *dx)
{
    kd_psf *f = impl;
    kd_dims D = f->dims;
    int     nip = f->nip, niv = f->niv;
    if (dx != part) memcpy(dx, part, (size_t)f->at.n * sizeof *dx);
    kd_gemv(D.np, nip, 1, f->sel_p->N, y, 1, dx + f->at.p);
    kd_gemv(D.nv, nip, 1, f->Vp, y, 1, dx + f->at.v);
    kd_gemv(D.nv, niv, 1, f->sel_v->N, y + nip, 1, dx + f->at.v);
    if (D.ns > 0) kd_gemv(D.ns, nip, 1, f->Xp, y, 1, dx + f->at.s);
    memcpy(dx + f->at.r, y + nip + niv, (size_t)D.nr * sizeof *dx);

    kd_gemv(f->nk, f->m, 1, f->Kmap, y, 0, f->k0);
    kd_axpy(D.nv, 1, f->k0, dx + f->at.a);
    kd_axpy(D.nw, 1, f->k0 + D.nv, dx + f->at.w);
    const double *l = f->k0 + D.nv + D.nw;
    for (int i = 0; i < f->nl; i++) dx[f->at.lambda + f->active_l[i]] += l[i];
    for (int i = 0; i < f->nm; i++) dx[f->at.mu + f->active_m[i]] += l[f->nl + i];
}
