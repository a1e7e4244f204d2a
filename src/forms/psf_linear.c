// Linear algebra of the projected strangeness-free form (S3 Remark 3.3). The Newton system of a point (x, x') is
//
//     position      G dp = -g,  q_p dp = -q,  c_s ds + c_p dp = -c
//     velocity      [GZ; HZ; e_v] dv = -[gI; h; e] - (...)_p dp
//     acceleration  [M (GZ)' (HZ)'; GZ; HZ] (da, dlambda, dmu) = -rows - (...)_p dp - (...)_v dv   (d and w between)
//     differential  gamma S_p dp - S_p (Z dv + (Zv)_p dp) = -S_p (p' - Z v)
//                   gamma S_v dv - S_v da = -S_v (v' - a)
//                   gamma dr - db = -(r' - b)
//
// The algebraic rows do not contain gamma: each level is solved by a particular solution that the selectors do not see
// (S_p dp = 0, S_v dv = 0) plus a null-space part N y. What remains is (gamma I - A) y = rhs of size nip + niv + nr.
// With p' = v and holonomic constraints A = [0 I; A21 A22], and the size is ndof:
//     (gamma^2 - gamma A22 - A21) y_v = rhs.
//
// The acceleration level is solved with an explicit inverse, which its three to ten right-hand sides per Newton
// iteration use. Where forces do not depend on multipliers (`plain`) it follows from C = [GZ; HZ], C P = I, C N = 0
// and Mhat = N' M N:
//     M da + C' dl = r1, C da = r2:   da = H r1 + (P - H M P) r2,   dl = P' (r1 - M da),   H = N inv(Mhat) N'.
#include <math.h>
#include <string.h>

#include "forms/psf_internal.h"
#include "math/dense.h"
#include "math/small.h"

// In-step invariants need |e_v N| to dominate its change over the step:
// h |e_p| < INVARIANT_CHANGE |e_v N| (docs/methods/psf.md)
#define INVARIANT_CHANGE 0.03
// and |e_v N| > DEGENERATE |e_v|: along the constraints alone velocities are known already
#define DEGENERATE 1e-6

static double *block(const kd_psf *f, kd_fn fn, kd_var var)
{
    return f->blocks.block[fn][var];
}

// ---- assembling rows ------------------------------------------------------------------------------------------------

// Rows `from` (NULL: all) of B (rows x n, may be NULL: zero) to rows at.. of A (m x n).
static void put_rows(double *A, int m, int at, const double *B, int rows, const int *from, int count, int n)
{
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < count; i++) A[at + i + j * m] = B ? B[(from ? from[i] : i) + j * rows] : 0;
    }
}

// numbers of the active ones of n rows; *changed if they are others than before
static int find_active(int n, const unsigned char *active, int before, int *list, bool *changed)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (!active[i]) continue;
        *changed = *changed || count >= before || list[count] != i;
        list[count++] = i;
    }
    *changed = *changed || count != before;
    return count;
}

void kd_psf_find_active(kd_psf *f)
{
    bool changed = false;
    f->nl = find_active(f->dims.nlambda, f->state->active_lambda, f->nl, f->active_l, &changed);
    f->nm = find_active(f->dims.nmu, f->state->active_mu, f->nm, f->active_m, &changed);
    f->ma = f->nl + f->nm;
    f->mp = f->nl + f->dims.nq;
    f->nk = f->dims.nv + f->dims.nw + f->ma;
    if (changed)
        f->position.rank = f->velocity.rank = f->acceleration.rank = -1; // other constraints may have another rank
}

// ds/dp = -c_s \ c_p, and with it total derivatives F_p + F_s ds/dp of everything that contains s;
// that of g is total already
static kd_status eliminate_contacts(kd_psf *f)
{
    static const kd_fn with_s[] = {KD_GI, KD_GII, KD_H, KD_HI, KD_E, KD_RESIDUAL, KD_B, KD_D};
    int                ns = f->dims.ns, nv = f->dims.nv;
    if (ns == 0) return KD_OK;
    // X = -c_s \ c_p
    memcpy(f->cs_lu, block(f, KD_C, KD_S), (size_t)(ns * ns) * sizeof(double));
    if (kd_lu_factor(ns, f->cs_lu, f->cs_pivot) != 0)
        return kd_psf_fail(f, KD_ERR_SINGULAR_CS, "the equations 0 = c do not determine s: c_s is singular");
    for (int i = 0; i < ns * nv; i++) f->X[i] = -block(f, KD_C, KD_P)[i];
    kd_lu_solve(ns, f->cs_lu, f->cs_pivot, f->X, nv);
    // F_p += F_s X
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
    if (kd_eom_Z(f->data, f->Z) != KD_EVAL_OK) return kd_psf_eval_failure(f);
    // (Z'Z) Zplus = Z'
    kd_gemm_tn(nv, nv, np, 1, f->Z, f->Z, 0, f->big);
    for (int i = 0; i < np; i++)
        for (int j = 0; j < nv; j++) f->Zplus[j + i * nv] = f->Z[i + j * np];
    if (kd_cholesky_factor(nv, f->big) != 0)
        return kd_psf_fail(f, KD_ERR_DECOMPOSITION, "the kinematic matrix Z(p) has dependent columns");
    kd_cholesky_solve(nv, f->big, f->Zplus, np);
    if (f->dims.nq > 0 && kd_eom_q_p(f->data, f->q_p) != KD_EVAL_OK) return kd_psf_eval_failure(f);
    return KD_OK;
}

// GZ comes from where the forces (GZ)' lambda have it: one-sided differences of g would hide which rows are redundant
static kd_eval evaluate_blocks(kd_psf *f, double t, const double *x)
{
    kd_blocks wanted = f->blocks;
    kd_eval   answer = kd_psf_set_point(f, t, x);
    wanted.block[KD_G][KD_P] = NULL;
    if (answer == KD_EVAL_OK) answer = kd_eom_constraint_matrices(f->data, block(f, KD_G, KD_P), NULL);
    // all other derivatives; a constant M only once
    if (f->mass_known)
        wanted.block[KD_RESIDUAL][KD_A] = NULL;
    else
        f->counters.mass++;
    if (answer == KD_EVAL_OK) answer = kd_eom_derivatives(f->data, f->opt.part, &wanted);
    f->mass_known = f->constant_mass && answer == KD_EVAL_OK;
    f->counters.jacobians++;
    return answer;
}

// [gI; h; e] by p (total) and by s
static void stack_velocity_rows(kd_psf *f)
{
    const kd_var var[] = {KD_P, KD_S};
    double      *V[] = {f->VP, f->VS};
    const int    n[] = {f->dims.nv, f->dims.ns};
    put_rows(f->GS, f->nl, 0, block(f, KD_G, KD_S), f->dims.nlambda, f->active_l, f->nl, f->dims.ns);
    for (int k = 0; k < 2; k++) {
        put_rows(V[k], f->mv, 0, block(f, KD_GI, var[k]), f->dims.nlambda, f->active_l, f->nl, n[k]);
        put_rows(V[k], f->mv, f->nl, block(f, KD_H, var[k]), f->dims.nmu, f->active_m, f->nm, n[k]);
        if (f->with_e) put_rows(V[k], f->mv, f->ma, block(f, KD_E, var[k]), f->dims.ne, NULL, f->dims.ne, n[k]);
    }
}

// [dynamics; d; gII; hI] by p (total), v, r, s
static void stack_acceleration_rows(kd_psf *f)
{
    const kd_var var[] = {KD_P, KD_V, KD_R, KD_S};
    double      *K[] = {f->KP, f->KV, f->KR, f->KS};
    const int    n[] = {f->dims.nv, f->dims.nv, f->dims.nr, f->dims.ns};
    int          nv = f->dims.nv, nw = f->dims.nw, nk = f->nk;
    for (int k = 0; k < 4; k++) {
        put_rows(K[k], nk, 0, block(f, KD_RESIDUAL, var[k]), nv, NULL, nv, n[k]);
        put_rows(K[k], nk, nv, block(f, KD_D, var[k]), nw, NULL, nw, n[k]);
        put_rows(K[k], nk, nv + nw, block(f, KD_GII, var[k]), f->dims.nlambda, f->active_l, f->nl, n[k]);
        put_rows(K[k], nk, nv + nw + f->nl, block(f, KD_HI, var[k]), f->dims.nmu, f->active_m, f->nm, n[k]);
    }
}

// b by (a, w, lambda, mu)
static void stack_inner_rows(kd_psf *f)
{
    int           nr = f->dims.nr, at = f->dims.nv;
    const double *bw = block(f, KD_B, KD_W), *bl = block(f, KD_B, KD_LAMBDA), *bm = block(f, KD_B, KD_MU);
    if (nr == 0) return;
    memset(f->BK, 0, (size_t)(nr * f->nk) * sizeof(double));
    if (bw) memcpy(f->BK + nr * at, bw, (size_t)(nr * f->dims.nw) * sizeof(double));
    at += f->dims.nw;
    for (int i = 0; i < f->nl && bl; i++)
        memcpy(f->BK + nr * (at + i), bl + nr * f->active_l[i], (size_t)nr * sizeof(double));
    at += f->nl;
    for (int i = 0; i < f->nm && bm; i++)
        memcpy(f->BK + nr * (at + i), bm + nr * f->active_m[i], (size_t)nr * sizeof(double));
}

// ---- selectors ------------------------------------------------------------------------------------------------------

static kd_status selector_failure(kd_psf *f, const kd_selector *s, kd_status status, const char *level)
{
    char rows[256];
    kd_psf_name_rows(f, s, rows, sizeof rows);
    if (status == KD_ERR_REDUNDANT)
        return kd_psf_fail(f, status, "constraints on %s level are redundant: %s; use the SVD decomposition", level,
                           rows);
    if (status == KD_ERR_RANK_CHANGE)
        return kd_psf_fail(f, status, "the rank of the constraints on %s level changed (%s): a singular position",
                           level, rows);
    return kd_psf_fail(f, status, "the constraint matrix on %s level could not be decomposed", level);
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
        // |e_v N| along the free directions
        for (int k = 0; k < free_v; k++) {
            double sum = 0;
            for (int j = 0; j < D.nv; j++) sum += block(f, KD_E, KD_V)[i + j * D.ne] * f->sel_a->N[j + k * D.nv];
            by_v = fmax(by_v, fabs(sum));
        }
        // |e_p|, |e_v|
        for (int j = 0; j < D.nv; j++) {
            by_p = fmax(by_p, block(f, KD_E, KD_P) ? fabs(block(f, KD_E, KD_P)[i + j * D.ne]) : 0);
            size_v = fmax(size_v, fabs(block(f, KD_E, KD_V)[i + j * D.ne]));
        }
        if (by_v <= DEGENERATE * size_v || f->dae->h * by_p > INVARIANT_CHANGE * by_v) return false;
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
    bool changed_p = false, changed_a = false, changed_v = false;
    // S, N, P of [G; q_p], of [GZ; HZ], of [GZ; HZ; e_v]
    kd_status sp = select_position(f, reset, &changed_p);
    if (sp < 0) return selector_failure(f, &f->position, sp, "position");
    kd_status sa = select_acceleration(f, reset, &changed_a);
    if (sa < 0) return selector_failure(f, &f->acceleration, sa, "velocity");
    kd_status sv = select_velocity(f, reset, &changed_v);
    if (sv < 0) return selector_failure(f, &f->velocity, sv, "velocity");
    // independent directions, and the size of the reduced system
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

// ---- the level of (a, w, lambda, mu) --------------------------------------------------------------------------------

// Y = M A for `count` columns
static void mass_times(const kd_psf *f, const double *A, int count, double *Y)
{
    int           nv = f->dims.nv;
    const double *M = block(f, KD_RESIDUAL, KD_A);
    if (!f->diagonal) {
        kd_gemm(nv, count, nv, 1, M, A, 0, Y);
        return;
    }
    for (int k = 0; k < count; k++)
        for (int i = 0; i < nv; i++) Y[i + k * nv] = M[i + i * nv] * A[i + k * nv];
}

// Mhat \ N' to T (free_v x nv), Mhat = N' M N by Cholesky, by LU if it is not positive definite
static kd_status null_space_inverse(kd_psf *f, double *T)
{
    int           nv = f->dims.nv, free_v = nv - f->sel_a->rank;
    const double *N = f->sel_a->N;
    // Mhat = N' (M N)
    mass_times(f, N, free_v, f->big);
    kd_gemm_tn(free_v, free_v, nv, 1, N, f->big, 0, f->Mhat);
    // T = Mhat \ N'
    for (int j = 0; j < nv; j++)
        for (int i = 0; i < free_v; i++) T[i + j * free_v] = N[j + i * nv];
    if (kd_cholesky_factor(free_v, f->Mhat) == 0) {
        kd_cholesky_solve(free_v, f->Mhat, T, nv);
        return KD_OK;
    }
    kd_gemm_tn(free_v, free_v, nv, 1, N, f->big, 0, f->Mhat);
    if (kd_lu_factor(free_v, f->Mhat, f->pivot) != 0)
        return kd_psf_fail(f, KD_ERR_SINGULAR_MASS, "a motion that the constraints allow has no mass");
    kd_lu_solve(free_v, f->Mhat, f->pivot, T, nv);
    return KD_OK;
}

// Kinv = [H  K12; K12'  K22] with H = N inv(Mhat) N', K12 = P - H M P, K22 = -(M P)' K12
static kd_status invert_plain(kd_psf *f)
{
    int     nv = f->dims.nv, ma = f->ma, nk = f->nk, free_v = nv - f->sel_a->rank;
    double *T = f->big + nv * nv, *H = T + nv * nv, *MP = H + nv * nv, *K12 = MP + nv * ma, *K22 = K12 + nv * ma;

    // H = N (Mhat \ N')
    kd_status status = null_space_inverse(f, T);
    if (status < 0) return status;
    kd_gemm(nv, nv, free_v, 1, f->sel_a->N, T, 0, H);
    // K12 = P - H (M P), K22 = -(M P)' K12
    mass_times(f, f->sel_a->P, ma, MP);
    memcpy(K12, f->sel_a->P, (size_t)(nv * ma) * sizeof *K12);
    kd_gemm(nv, ma, nv, -1, H, MP, 1, K12);
    kd_gemm_tn(ma, ma, nv, -1, MP, K12, 0, K22);
    // Kinv from its blocks
    for (int j = 0; j < nv; j++) {
        memcpy(f->Kinv + j * nk, H + j * nv, (size_t)nv * sizeof(double));
        for (int i = 0; i < ma; i++) f->Kinv[nv + i + j * nk] = K12[j + i * nv];
    }
    for (int j = 0; j < ma; j++) {
        memcpy(f->Kinv + (nv + j) * nk, K12 + j * nv, (size_t)nv * sizeof(double));
        memcpy(f->Kinv + (nv + j) * nk + nv, K22 + j * ma, (size_t)ma * sizeof(double));
    }
    return KD_OK;
}

// R (rank x ma): independent combinations of the constraint rows, R = U1' diag(scale); identity at full rank
static void row_combinations(kd_psf *f)
{
    const kd_selector *s = f->sel_a;
    int                ma = f->ma, rank = s->rank;
    for (int i = 0; i < ma; i++)
        for (int k = 0; k < rank; k++) f->R[k + i * rank] = rank < ma ? s->U[i + k * ma] * s->scale[i] : (i == k);
}

// B = [M  res_w  res_lambda R'; 0  d_w  d_lambda R'; R C_a  0  0]
static kd_status factor_general(kd_psf *f)
{
    kd_dims D = f->dims;
    int     nv = D.nv, nw = D.nw, rank = f->sel_a->rank, n = nv + nw + rank, ma = f->ma;
    double *B = f->Bk, *C = f->C, *L = f->big; // L (nv + nw) x ma: [residual; d] by lambda, mu

    // w must follow from 0 = d
    if (nw > 0) {
        memcpy(B, block(f, KD_D, KD_W), (size_t)(nw * nw) * sizeof(double));
        if (kd_lu_factor(nw, B, f->pivot) != 0)
            return kd_psf_fail(f, KD_ERR_SINGULAR_DW, "the equations 0 = d do not determine w: d_w is singular");
    }
    // L: columns of the active multipliers
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
    // [M res_w; 0 d_w]
    memset(B, 0, (size_t)(n * n) * sizeof(double));
    put_rows(B, n, 0, block(f, KD_RESIDUAL, KD_A), nv, NULL, nv, nv);
    put_rows(B + n * nv, n, 0, block(f, KD_RESIDUAL, KD_W), nv, NULL, nv, nw);
    put_rows(B + n * nv, n, nv, block(f, KD_D, KD_W), nw, NULL, nw, nw);
    // L R' to the right, R C_a below
    for (int k = 0; k < rank; k++) {
        for (int i = 0; i < ma; i++) {
            double w = f->R[k + i * rank];
            if (w == 0) continue;
            for (int j = 0; j < nv + nw; j++) B[j + n * (nv + nw + k)] += w * L[j + i * (nv + nw)];
            for (int j = 0; j < nv; j++) B[nv + nw + k + n * j] += w * C[i + j * ma];
        }
    }
    if (kd_lu_factor(n, B, f->pivot) == 0) return KD_OK;
    return kd_psf_fail(f, KD_ERR_SINGULAR_MASS,
                       "mass matrix, constraints and forces do not determine accelerations and multipliers");
}

// Kinv = diag(I, R') inv(B) diag(I, R)
static kd_status invert_general(kd_psf *f)
{
    int       n = f->dims.nv + f->dims.nw, nk = f->nk, rank = f->sel_a->rank;
    kd_status status = factor_general(f);
    if (status < 0) return status;
    for (int j = 0; j < nk; j++) {
        double *b = f->big, *k = f->Kinv + j * nk;
        // column j: right-hand side e_j, or R e_i for a constraint row
        memset(b, 0, (size_t)(n + rank) * sizeof *b);
        if (j < n)
            b[j] = 1;
        else
            memcpy(b + n, f->R + (j - n) * rank, (size_t)rank * sizeof *b);
        // b = inv(B) rhs, then R' back to all multipliers
        kd_lu_solve(n + rank, f->Bk, f->pivot, b, 1);
        memcpy(k, b, (size_t)n * sizeof *k);
        kd_gemv_t(rank, f->ma, 1, f->R, b + n, 0, k + n);
    }
    return KD_OK;
}

// ---- the reduced matrix A -------------------------------------------------------------------------------------------

// Positions and velocities by y: dp = N_p y_p (increments E_p y_p), dv = V_p y_p + N_v y_v, ds = X_p y_p
static void motion_maps(kd_psf *f)
{
    int nv = f->dims.nv, nip = f->nip;
    // E_p = Z+ N_p
    if (f->identity)
        memcpy(f->Ep, f->sel_p->N, (size_t)(nv * nip) * sizeof(double));
    else
        kd_gemm(nv, nip, f->dims.np, 1, f->Zplus, f->sel_p->N, 0, f->Ep);
    // V_p = -P_v (velocity rows)_p E_p
    kd_gemm(f->mv, nip, nv, 1, f->VP, f->Ep, 0, f->big);
    kd_gemm(nv, nip, f->mv, -1, f->sel_v->P, f->big, 0, f->Vp); // dv = -P_v (velocity rows)_p dp
    if (f->dims.ns > 0) kd_gemm(f->dims.ns, nip, nv, 1, f->X, f->Ep, 0, f->Xp);
}

// (a, w, lambda, mu) by y, and with it the y_v rows of A
static void acceleration_rows(kd_psf *f)
{
    int     nv = f->dims.nv, nip = f->nip, niv = f->niv, nk = f->nk, m = f->m;
    double *T = f->big; // rows by y
    stack_acceleration_rows(f);
    // [dynamics; d; gII; hI] by y_p, y_v, y_r
    kd_gemm(nk, nip, nv, 1, f->KP, f->Ep, 0, T);
    kd_gemm(nk, nip, nv, 1, f->KV, f->Vp, 1, T);
    kd_gemm(nk, niv, nv, 1, f->KV, f->sel_v->N, 0, T + nk * nip);
    memcpy(T + nk * (nip + niv), f->KR, (size_t)(nk * f->dims.nr) * sizeof *T);
    // (a, w, lambda, mu)_y = -Kinv T, rows S_v a_y of A
    kd_gemm(nk, m, nk, -1, f->Kinv, T, 0, f->Kmap);
    for (int k = 0; k < m; k++) kd_selector_pick(f->sel_v, f->Kmap + k * nk, f->A + nip + k * m);
}

// dx by y in the order of x: N_p, [V_p N_v], identity for r, K for (a, w, lambda, mu), X_p for s
static void whole_map(kd_psf *f)
{
    kd_dims D = f->dims;
    int     nip = f->nip, niv = f->niv, n = f->at.n;
    memset(f->Xmap, 0, (size_t)(n * f->m) * sizeof(double));
    for (int k = 0; k < f->m; k++) {
        double       *x = f->Xmap + k * n;
        const double *K = f->Kmap + k * f->nk, *l = K + D.nv + D.nw;
        // column k of dp, ds, dv or dr
        if (k < nip) {
            memcpy(x + f->at.p, f->sel_p->N + k * D.np, (size_t)D.np * sizeof *x);
            memcpy(x + f->at.v, f->Vp + k * D.nv, (size_t)D.nv * sizeof *x);
            memcpy(x + f->at.s, f->Xp + k * D.ns, (size_t)D.ns * sizeof *x);
        } else if (k < nip + niv) {
            memcpy(x + f->at.v, f->sel_v->N + (k - nip) * D.nv, (size_t)D.nv * sizeof *x);
        } else {
            x[f->at.r + k - nip - niv] = 1;
        }
        // and what follows from it: da, dw, dlambda, dmu
        memcpy(x + f->at.a, K, (size_t)D.nv * sizeof *x);
        memcpy(x + f->at.w, K + D.nv, (size_t)D.nw * sizeof *x);
        for (int i = 0; i < f->nl; i++) x[f->at.lambda + f->active_l[i]] = l[i];
        for (int i = 0; i < f->nm; i++) x[f->at.mu + f->active_m[i]] = l[f->nl + i];
    }
}

// y_p rows of A: S_p (Z dv + (Zv)_p dp) for one unit of y
static void kinematic_rows(kd_psf *f)
{
    int           nv = f->dims.nv, np = f->dims.np, nip = f->nip, m = f->m;
    const double *Zv_p = block(f, KD_KINEMATICS, KD_P);
    for (int k = 0; k < m; k++) memset(f->A + k * m, 0, (size_t)nip * sizeof(double));
    for (int k = 0; k < nip + f->niv; k++) {
        const double *dv = k < nip ? f->Vp + k * nv : f->sel_v->N + (k - nip) * nv;
        if (!f->identity) {
            kd_gemv(np, nv, 1, f->Z, dv, 0, f->tp);
            if (k < nip && Zv_p) kd_gemv(np, nv, 1, Zv_p, f->Ep + k * nv, 1, f->tp);
        }
        kd_selector_pick(f->sel_p, f->identity ? dv : f->tp, f->A + k * m);
    }
}

// y_r rows of A: b by everything, along one unit of y
static void inner_rows(kd_psf *f)
{
    int           nv = f->dims.nv, nip = f->nip, niv = f->niv, nr = f->dims.nr, m = f->m;
    const double *bp = block(f, KD_B, KD_P), *bv = block(f, KD_B, KD_V), *br = block(f, KD_B, KD_R);
    stack_inner_rows(f);
    for (int k = 0; k < m && nr > 0; k++) {
        double *b = f->A + nip + niv + k * m;
        bool    is_p = k < nip, is_v = !is_p && k < nip + niv;
        // b_k K_y + b_p E_p + b_v (V_p, N_v) + b_r
        kd_gemv(nr, f->nk, 1, f->BK, f->Kmap + k * f->nk, 0, b);
        if (is_p && bp) kd_gemv(nr, nv, 1, bp, f->Ep + k * nv, 1, b);
        if ((is_p || is_v) && bv) kd_gemv(nr, nv, 1, bv, is_p ? f->Vp + k * nv : f->sel_v->N + (k - nip) * nv, 1, b);
        if (!is_p && !is_v && br) kd_axpy(nr, 1, br + (k - nip - niv) * nr, b);
    }
}

kd_status kd_psf_linearize(void *impl, double t, const double *x, const double *xdot, bool restart)
{
    kd_psf *f = impl;
    (void)xdot; // F_x does not contain x': the selectors are constant in a step
    // the correction of the last step has linearised here
    if (f->fresh && t == f->fresh_t && !restart) {
        f->fresh = false;
        return KD_OK;
    }
    // derivatives at (t, x)
    f->fresh = f->linearized = false;
    f->e_leave_out = restart;
    if (restart) kd_psf_find_active(f);
    if (evaluate_blocks(f, t, x) != KD_EVAL_OK) return kd_psf_eval_failure(f);

    // ds/dp and Z+, then the independent directions
    kd_status status = eliminate_contacts(f);
    if (status < 0) return status;
    status = invert_kinematics(f);
    if (status < 0) return status;
    kd_status news = select_directions(f, restart || f->opt.selectors_each_step);
    if (news < 0) return news;
    // particular solutions of the velocity and acceleration levels
    stack_velocity_rows(f);
    status = f->plain ? invert_plain(f) : invert_general(f);
    if (status < 0) return status;
    // null-space part: x by y, and the reduced matrix A
    motion_maps(f);
    acceleration_rows(f);
    if (!f->second_order) kinematic_rows(f);
    inner_rows(f);
    whole_map(f);
    f->linearized = true;
    return news;
}
