// Newton's method on the projected strangeness-free form: evaluation level by level with particular solutions, systems
// with gamma, and the correction at the end of a step. The matrices come from psf_linear.c.
#include <float.h>
#include <math.h>
#include <string.h>

#include "forms/psf_internal.h"
#include "math/dense.h"
#include "math/small.h"

// A correction of this relative size at a freshly linearised point leaves an error of its square: rounding.
#define FRESH_ENOUGH 1e-8
// With kept matrices convergence is linear: stop at this relative size.
#define KEPT_ENOUGH 1e-13
// A product of relative changes that counts as rounding.
#define ROUNDING 1e-14
// Accelerations and multipliers, which nothing integrates.
#define ACCELERATION_ENOUGH 1e-13
#define JUMP_ENOUGH 1e-9 // behind a jump of z: the step that follows corrects it once more
#define MAX_CORRECTIONS 10
// Corrections of positions that no longer fall, up to this many times those that the rounding of the positions makes, are
// what a residual of positions far from the origin cannot know better (433 m beside levers of 0.2 m: 5e-13 against
// KEPT_ENOUGH).
#define STALLED 20.0
// What moves by less than the last digit of a far place does not move the residual at all, so that this cannot be tried out:
// corrections up to this size that do not fall although matrices are fresh, which would make them fall to their square.
#define QUANTISED 1e-9
#define HARDLY 0.1        // relative motion since matrices were evaluated, by which they are still fresh
#define MOST_ROUNDED 1e-6 // relative size of corrections that are a failure, whatever makes them

// ---- systems with gamma ---------------------------------------------------------------------------------------------

kd_status kd_psf_factor(void *impl, double gamma_real, double gamma_re, double gamma_im)
{
    kd_psf       *f = impl;
    int           m = f->m, n = f->second_order ? f->niv : m, nip = f->nip;
    const double *A = f->A;
    if (gamma_real != 0) f->gamma = gamma_real;
    f->gamma_c = f->gamma_pair[f->pair] = gamma_re + gamma_im * I;
    f->counters.decompositions += gamma_real != 0;
    double complex g2 = f->gamma_c * f->gamma_c;
    // gamma I - A, or its Schur complement of second order
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
    // real and complex factors
    kd_status status = gamma_real != 0 ? kd_linsolve_factor(f->linear, n, f->matrix) : KD_OK;
    if (status == KD_OK && gamma_im != 0) status = kd_linsolve_factor_complex(f->linear, n, f->matrix_c);
    if (status < 0) return kd_psf_fail(f, status, "the reduced Newton matrix is singular");
    return KD_OK;
}

kd_status kd_psf_pair(void *impl, int k)
{
    kd_psf *f = impl;
    f->pair = k;
    f->gamma_c = f->gamma_pair[k];
    return kd_linsolve_pair(f->linear, k);
}

void kd_psf_solve_real(void *impl, double *y)
{
    kd_psf *f = impl;
    int     m = f->m, nip = f->nip, niv = f->niv;
    if (!f->second_order) {
        kd_linsolve_solve(f->linear, y);
        return;
    }
    double *rhs = f->tm; // gamma r2 + A21 r1
    for (int i = 0; i < niv; i++) {
        rhs[i] = f->gamma * y[nip + i];
        for (int j = 0; j < nip; j++) rhs[i] += f->A[nip + i + j * m] * y[j];
    }
    // y_v, then y_p = (r1 + y_v) / gamma
    kd_linsolve_solve(f->linear, rhs);
    for (int i = 0; i < niv; i++) {
        y[i] = (y[i] + rhs[i]) / f->gamma;
        y[nip + i] = rhs[i];
    }
}

void kd_psf_solve_complex(void *impl, double *y_re, double *y_im)
{
    kd_psf         *f = impl;
    int             m = f->m, nip = f->nip, niv = f->niv;
    double complex *rhs = f->rhs_c;
    f->counters.solves += f->pair == 0;
    // first order: (gamma I - A) y = rhs
    if (!f->second_order) {
        for (int i = 0; i < m; i++) rhs[i] = y_re[i] + y_im[i] * I;
        kd_linsolve_solve_complex(f->linear, rhs);
        for (int i = 0; i < m; i++) {
            y_re[i] = creal(rhs[i]);
            y_im[i] = cimag(rhs[i]);
        }
        return;
    }
    // second order: gamma r2 + A21 r1
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

// ---- evaluation -----------------------------------------------------------------------------------------------------

// One function to its rows of F; does nothing after a failure
static inline void put_function(kd_psf *f, kd_eval *answer, kd_fn fn, int size, double *out)
{
    if (*answer != KD_EVAL_OK || size == 0) return;
    *answer = kd_eom_eval(f->data, fn, out);
    if (*answer != KD_EVAL_OK) kd_psf_eval_failure(f);
}

static kd_eval put_position(kd_psf *f)
{
    kd_eval answer = KD_EVAL_OK;
    put_function(f, &answer, KD_C, f->dims.ns, f->F + f->row.c);
    put_function(f, &answer, KD_G, f->dims.nlambda, f->F + f->row.g);
    put_function(f, &answer, KD_Q, f->dims.nq, f->F + f->row.q);
    return answer;
}

static kd_eval put_velocity(kd_psf *f)
{
    kd_eval answer = KD_EVAL_OK;
    put_function(f, &answer, KD_GI, f->dims.nlambda, f->F + f->row.gI);
    put_function(f, &answer, KD_H, f->dims.nmu, f->F + f->row.h);
    if (f->with_e) put_function(f, &answer, KD_E, f->dims.ne, f->F + f->row.e);
    return answer;
}

static kd_eval put_acceleration(kd_psf *f)
{
    kd_eval answer = KD_EVAL_OK;
    put_function(f, &answer, KD_RESIDUAL, f->dims.nv, f->F + f->row.dyn);
    put_function(f, &answer, KD_D, f->dims.nw, f->F + f->row.d);
    put_function(f, &answer, KD_GII, f->dims.nlambda, f->F + f->row.gII);
    put_function(f, &answer, KD_HI, f->dims.nmu, f->F + f->row.hI);
    return answer;
}

// ---- particular solutions, level by level ---------------------------------------------------------------------------

// dp, ds with S_p dp = 0; leaves the increment of p in e0 and the part of ds that c alone causes in ds0
static void solve_position(kd_psf *f, double *dp, double *ds)
{
    kd_dims       D = f->dims;
    const double *F = f->F;
    // -g, -q; with s eliminated -g + g_s (c_s \ c)
    for (int i = 0; i < f->nl; i++) f->rp[i] = -F[f->row.g + f->active_l[i]];
    for (int i = 0; i < D.nq; i++) f->rp[f->nl + i] = -F[f->row.q + i];
    if (D.ns > 0) {
        for (int i = 0; i < D.ns; i++) f->ds0[i] = -F[f->row.c + i];
        kd_lu_solve(D.ns, f->cs_lu, f->cs_pivot, f->ds0, 1);
        kd_mul_sub(f->nl, D.ns, f->GS, f->ds0, f->rp);
    }
    // dp = P_p rhs, increment e0 = Z+ dp, ds = -c_s \ c + (ds/dp) e0
    kd_mul(D.np, f->mp, f->sel_p->P, f->rp, dp);
    if (f->identity)
        memcpy(f->e0, dp, (size_t)D.nv * sizeof(double));
    else
        kd_mul(D.nv, D.np, f->Zplus, dp, f->e0);
    if (D.ns > 0) {
        memcpy(ds, f->ds0, (size_t)D.ns * sizeof(double));
        kd_mul_add(D.ns, D.nv, f->X, f->e0, ds);
    }
}

// dv with S_v dv = 0, for the velocity rows at p moved by e0
static void solve_velocity(kd_psf *f, bool p_moved, double *dv)
{
    const double *F = f->F;
    // -[gI; h; e] - (...)_p e0 - (...)_s ds0
    for (int i = 0; i < f->nl; i++) f->rv[i] = -F[f->row.gI + f->active_l[i]];
    for (int i = 0; i < f->nm; i++) f->rv[f->nl + i] = -F[f->row.h + f->active_m[i]];
    for (int i = f->ma; i < f->mv; i++) f->rv[i] = -F[f->row.e + i - f->ma];
    if (p_moved) {
        if (f->dims.ns > 0) kd_mul_sub(f->mv, f->dims.ns, f->VS, f->ds0, f->rv);
        kd_mul_sub(f->mv, f->dims.nv, f->VP, f->e0, f->rv);
    }
    // dv = P_v rhs
    kd_mul(f->dims.nv, f->mv, f->sel_v->P, f->rv, dv);
}

// increments of k = (a, w, active lambda, active mu), for the acceleration rows at p moved by e0
static void solve_acceleration(kd_psf *f, bool p_moved, double *dk)
{
    kd_dims       D = f->dims;
    const double *F = f->F;
    double       *k = f->rk;
    int           nv = D.nv;
    // -[dynamics; d; gII; hI] - (...)_p e0 - (...)_s ds0
    for (int i = 0; i < nv; i++) k[i] = -F[f->row.dyn + i];
    for (int i = 0; i < D.nw; i++) k[nv + i] = -F[f->row.d + i];
    for (int i = 0; i < f->nl; i++) k[nv + D.nw + i] = -F[f->row.gII + f->active_l[i]];
    for (int i = 0; i < f->nm; i++) k[nv + D.nw + f->nl + i] = -F[f->row.hI + f->active_m[i]];
    if (p_moved) {
        if (D.ns > 0) kd_mul_sub(f->nk, D.ns, f->KS, f->ds0, k);
        kd_mul_sub(f->nk, nv, f->KP, f->e0, k);
    }
    // (da, dw, dlambda, dmu) = inv(K) rhs
    kd_mul(f->nk, f->nk, f->Kinv, k, dk);
}

// k to the places of x; inactive multipliers do not move
static void scatter(const kd_psf *f, const double *k, double *x)
{
    kd_dims       D = f->dims;
    const double *l = k + D.nv + D.nw;
    memcpy(x + f->at.a, k, (size_t)D.nv * sizeof *x);
    memcpy(x + f->at.w, k + D.nv, (size_t)D.nw * sizeof *x);
    for (int i = 0; i < D.nlambda + D.nmu; i++) x[f->at.lambda + i] = 0;
    for (int i = 0; i < f->nl; i++) x[f->at.lambda + f->active_l[i]] = l[i];
    for (int i = 0; i < f->nm; i++) x[f->at.mu + f->active_m[i]] = l[f->nl + i];
}

// y_p = S_p (Z v + (Zv)_p e0 - p'),  y_v = S_v (a + da - v'),  y_r = b - r' at v and at the acceleration stage as set
static kd_eval differential_rows(kd_psf *f, const double *v, const double *a, const double *da, const double *xdot,
                                 double *y)
{
    kd_dims D = f->dims;
    kd_eval answer = KD_EVAL_OK;
    // Z v + (Zv)_p e0 - p'
    if (f->identity) {
        for (int i = 0; i < D.nv; i++) f->tp[i] = v[i] - xdot[f->at.p + i];
    } else {
        put_function(f, &answer, KD_KINEMATICS, D.np, f->tp);
        if (f->blocks.block[KD_KINEMATICS][KD_P])
            kd_mul_add(D.np, D.nv, f->blocks.block[KD_KINEMATICS][KD_P], f->e0, f->tp);
        for (int i = 0; i < D.np; i++) f->tp[i] -= xdot[f->at.p + i];
    }
    kd_selector_pick(f->sel_p, f->tp, y);
    // a + da - v'
    for (int i = 0; i < D.nv; i++) f->ta[i] = a[i] + da[i] - xdot[f->at.v + i];
    kd_selector_pick(f->sel_v, f->ta, y + f->nip);
    if (D.nr == 0) return answer;
    // b - r'
    double *yr = y + f->nip + f->niv;
    put_function(f, &answer, KD_B, D.nr, yr);
    for (int i = 0; i < D.nr; i++) yr[i] -= xdot[f->at.r + i];
    return answer;
}

// Positions on a manifold: functions may change off q = 0, and their derivatives across it are not known. So the norms
// are corrected before g is evaluated, and the other levels are evaluated at the corrected position.
static kd_eval correct_on_manifold(kd_psf *f, const double *p, const double *s, double *dp, double *ds)
{
    kd_dims D = f->dims;
    kd_eval answer = KD_EVAL_OK;
    // q = 0 first: p + P (0, -q)
    put_function(f, &answer, KD_Q, D.nq, f->F + f->row.q);
    for (int i = 0; i < f->nl; i++) f->rp[i] = 0;
    for (int i = 0; i < D.nq; i++) f->rp[f->nl + i] = -f->F[f->row.q + i];
    kd_mul(D.np, f->mp, f->sel_p->P, f->rp, f->tp);
    for (int i = 0; i < D.np; i++) f->p[i] = p[i] + f->tp[i];
    kd_eom_at_position(f->data, f->p, s);
    // g and c there, and the rest of dp, ds
    put_function(f, &answer, KD_C, D.ns, f->F + f->row.c);
    put_function(f, &answer, KD_G, D.nlambda, f->F + f->row.g);
    if (answer != KD_EVAL_OK) return answer;
    memset(f->F + f->row.q, 0, (size_t)D.nq * sizeof(double));
    solve_position(f, dp, ds);
    // data at the corrected position: nothing is left to extrapolate by e0
    for (int i = 0; i < D.np; i++) {
        f->p[i] += dp[i];
        dp[i] += f->tp[i];
    }
    for (int i = 0; i < D.ns; i++) f->s[i] = s[i] + ds[i];
    kd_eom_at_position(f->data, f->p, f->s);
    memset(f->e0, 0, (size_t)D.nv * sizeof(double));
    memset(f->ds0, 0, (size_t)D.ns * sizeof(double));
    return KD_EVAL_OK;
}

// Level by level: p, s from their constraints; v at the given p; (a, w, lambda, mu) at the corrected v.
kd_eval kd_psf_evaluate(void *impl, double t, const double *x, const double *xdot, double *part, double *y)
{
    kd_psf *f = impl;
    kd_dims D = f->dims;
    bool    p_moved = f->mp > 0 || D.ns > 0;
    double *k = f->k0;
    f->counters.residuals++;

    kd_eval answer = kd_psf_set_time(f, t);
    if (answer != KD_EVAL_OK) return answer;
    // positions: e0, ds0 onto g = 0, c = 0, q = 0; with quaternions by a move on the manifold, to rounding
    kd_eom_at_position(f->data, x + f->at.p, x + f->at.s);
    if (!f->identity) {
        answer = correct_on_manifold(f, x + f->at.p, x + f->at.s, part + f->at.p, part + f->at.s);
        if (answer != KD_EVAL_OK) return answer;
        p_moved = false;
    } else {
        if (p_moved) answer = put_position(f);
        if (answer != KD_EVAL_OK) return answer;
        solve_position(f, part + f->at.p, part + f->at.s);
    }

    // velocities: dv onto gI = 0, h = 0 (and e = 0) at the corrected positions; later rows see v + dv
    kd_eom_at_velocity(f->data, x + f->at.v, x + f->at.r);
    const double *v = x + f->at.v;
    double       *dv = part + f->at.v;
    if (f->mv > 0) {
        answer = put_velocity(f);
        if (answer != KD_EVAL_OK) return answer;
        solve_velocity(f, p_moved, dv);
        for (int i = 0; i < D.nv; i++) f->v[i] = v[i] + dv[i];
        v = f->v;
        kd_eom_at_velocity(f->data, v, x + f->at.r);
    } else {
        memset(dv, 0, (size_t)D.nv * sizeof *dv);
    }

    // a, w, lambda, mu: k0 from the residual, gII, hI and d, linear in what was moved above
    kd_eom_at_acceleration(f->data, x + f->at.a, x + f->at.w, x + f->at.lambda, x + f->at.mu);
    answer = put_acceleration(f);
    if (answer != KD_EVAL_OK) return answer;
    solve_acceleration(f, p_moved, k);
    scatter(f, k, part);
    memset(part + f->at.r, 0, (size_t)D.nr * sizeof *part);

    // what is left for the integrator: y = S (p' - Z v), S (v' - a), r' - b
    answer = differential_rows(f, v, x + f->at.a, k, xdot, y);
    if (D.nr == 0 || answer != KD_EVAL_OK) return answer;
    double *yr = y + f->nip + f->niv; // b at the corrected p, s, w, lambda, mu
    kd_mul_add(D.nr, f->nk, f->BK, k, yr);
    if (D.ns > 0 && f->blocks.block[KD_B][KD_S]) kd_mul_add(D.nr, D.ns, f->blocks.block[KD_B][KD_S], f->ds0, yr);
    if (f->blocks.block[KD_B][KD_P]) kd_mul_add(D.nr, D.nv, f->blocks.block[KD_B][KD_P], f->e0, yr);
    return KD_EVAL_OK;
}

// At an accepted point all algebraic rows hold: nothing but x' differs.
kd_eval kd_psf_evaluate_accepted(void *impl, double t, const double *x, const double *xdot, double *part, double *y)
{
    kd_psf *f = impl;
    memset(part, 0, (size_t)f->at.n * sizeof *part);
    memset(f->e0, 0, (size_t)f->dims.nv * sizeof(double));
    memset(f->k0, 0, (size_t)f->dims.nv * sizeof(double));
    if (!f->identity || f->dims.nr > 0) {
        f->counters.residuals++;
        kd_eval answer = kd_psf_set_point(f, t, x);
        if (answer != KD_EVAL_OK) return answer;
    }
    return differential_rows(f, x + f->at.v, x + f->at.a, f->k0, xdot, y);
}

void kd_psf_expand(void *impl, const double *part, const double *y, double *dx)
{
    kd_psf *f = impl;
    if (dx != part) memcpy(dx, part, (size_t)f->at.n * sizeof *dx);
    kd_mul_add(f->at.n, f->m, f->Xmap, y, dx);
}

// ---- correction at the end of a step --------------------------------------------------------------------------------

// x += dx; returns max |dx| / (least + |x|), least: unit (n; NULL: 1) per time
static double move_and_measure(int n, const double *dx, double *x, const double *unit, double time)
{
    double size = 0;
    for (int i = 0; i < n; i++) {
        double part = fabs(dx[i]) / ((unit ? unit[i] : 1) / time + fabs(x[i]));
        if (!(part <= size)) size = part; // also NaN
        x[i] += dx[i];
    }
    return size;
}

// the larger of two sizes; NaN if one of them is
static double larger(double a, double b)
{
    return a <= b || isnan(b) ? b : a;
}

// May the corrections end with one of this size? With kept matrices convergence is linear: size^2 / before is left.
static bool settled(double size, double enough, double *before)
{
    bool done = size <= enough || (*before > 0 && 10 * size * size <= enough * *before);
    *before = size;
    return done;
}

// The correction at p
static kd_eval correction_at(kd_psf *f, const double *p, const double *s, double *dp)
{
    kd_eom_at_position(f->data, p, s);
    kd_eval answer = put_position(f);
    if (answer == KD_EVAL_OK) solve_position(f, dp, f->x + f->at.s);
    return answer;
}

// Relative size of the corrections that rounding makes: what changes when all positions move by an ulp or so. Signs in
// two patterns that are no motion of the mechanism.
static kd_eval rounding_of_corrections(kd_psf *f, const double *x, double *size)
{
    const double *p = x + f->at.p, *s = x + f->at.s, *unit = kd_eom_definition(f->eom)->position_unit;
    const int     np = f->dims.np;
    double       *other = f->rounded, *here = f->rounded + np, *dp = f->x + f->at.p;
    kd_eval       answer = correction_at(f, p, s, here);
    *size = 0;
    for (int pattern = 0; pattern < 2 && answer == KD_EVAL_OK; pattern++) {
        for (int i = 0; i < np; i++) {
            const double ulp = DBL_EPSILON * ((unit ? unit[i] : 1) + fabs(p[i]));
            other[i] = p[i] + ((i * (5 + 2 * pattern)) % 3 == pattern ? ulp : -ulp);
        }
        answer = correction_at(f, other, s, dp);
        for (int i = 0; i < np; i++) *size = larger(*size, fabs(dp[i] - here[i]) / ((unit ? unit[i] : 1) + fabs(p[i])));
    }
    return answer;
}

// Has rounding of positions and rows stopped the corrections, of which this one is no smaller than those before?
static bool stalled(kd_psf *f, const double *x, double size, double before)
{
    double rounding;
    if (!(size >= 0.3 * before && size <= MOST_ROUNDED)) return false;
    if (!f->dae->keep && size <= QUANTISED && f->moved <= HARDLY) return true;
    return rounding_of_corrections(f, x, &rounding) == KD_EVAL_OK && size <= STALLED * rounding;
}

static kd_eval correct_position(kd_psf *f, double *x, double enough)
{
    double *dp = f->x + f->at.p, *ds = f->x + f->at.s, before = 0;
    if (f->mp == 0 && f->dims.ns == 0) return KD_EVAL_OK;
    if (f->dims.nq > 0) enough = KEPT_ENOUGH; // how g changes across q = 0 is not known: no quadratic convergence
    for (int k = 0; k < MAX_CORRECTIONS; k++) {
        // dp = -P g at the iterate
        kd_eom_at_position(f->data, x + f->at.p, x + f->at.s);
        kd_eval answer = put_position(f);
        if (answer != KD_EVAL_OK) return answer;
        solve_position(f, dp, ds);
        // p += dp until dp is rounding, or will be after this one
        double size = larger(move_and_measure(f->dims.np, dp, x + f->at.p, kd_eom_definition(f->eom)->position_unit, 1),
                             move_and_measure(f->dims.ns, ds, x + f->at.s, NULL, 1));
        f->moved = larger(f->moved, size);
        const double last = before;
        if (settled(size, k == 0 ? enough : KEPT_ENOUGH, &before)) return KD_EVAL_OK;
        if (k > 1 && stalled(f, x, size, last)) return KD_EVAL_OK;
    }
    kd_psf_fail(f, KD_ERR_NEWTON, "the position constraints could not be met at the end of a step");
    return KD_EVAL_RETRY;
}

// Fresh matrices: what remains is the size times the change of the matrices since they were evaluated, and times itself
// where the rows are not linear. Is that rounding?
static bool stands(const kd_psf *f, double size, bool nonlinear)
{
    return !f->dae->keep && size * fmax(f->moved, nonlinear ? size : 0) <= ROUNDING;
}

static kd_eval correct_velocity(kd_psf *f, double *x)
{
    double *dv = f->x + f->at.v, before = 0;
    kd_eom_at_position(f->data, x + f->at.p, x + f->at.s);
    if (f->mv == 0) return KD_EVAL_OK;
    for (int k = 0; k < MAX_CORRECTIONS; k++) {
        // dv = -P (gI, h, e) at the iterate
        kd_eom_at_velocity(f->data, x + f->at.v, x + f->at.r);
        kd_eval answer = put_velocity(f);
        if (answer != KD_EVAL_OK) return answer;
        solve_velocity(f, false, dv);
        // v += dv
        double size =
            move_and_measure(f->dims.nv, dv, x + f->at.v, kd_eom_definition(f->eom)->unit, kd_eom_time(f->eom));
        bool solved = stands(f, size, f->with_e) || settled(size, KEPT_ENOUGH, &before);
        f->moved = larger(f->moved, size);
        if (solved) return KD_EVAL_OK;
    }
    kd_psf_fail(f, KD_ERR_NEWTON, "the velocity constraints could not be met at the end of a step");
    return KD_EVAL_RETRY;
}

static kd_eval correct_acceleration(kd_psf *f, double *x, double enough)
{
    double       *k0 = f->k0, before = 0, T = kd_eom_time(f->eom);
    int           nv = f->dims.nv, nw = f->dims.nw;
    const double *unit = f->dae->unit;
    for (int k = 0; k < MAX_CORRECTIONS; k++) {
        // (da, dw, dlambda, dmu) = -inv(K) [dynamics; d; gII; hI]
        kd_eom_at_velocity(f->data, x + f->at.v, x + f->at.r);
        kd_eom_at_acceleration(f->data, x + f->at.a, x + f->at.w, x + f->at.lambda, x + f->at.mu);
        kd_eval answer = put_acceleration(f);
        if (answer != KD_EVAL_OK) return answer;
        solve_acceleration(f, false, k0);
        // a, w, then the active multipliers
        double size = larger(move_and_measure(nv, k0, x + f->at.a, kd_eom_definition(f->eom)->unit, T * T),
                             move_and_measure(nw, k0 + nv, x + f->at.w, NULL, 1));
        for (int i = 0; i < f->nl; i++)
            size = larger(size, move_and_measure(1, k0 + nv + nw + i, x + f->at.lambda + f->active_l[i],
                                                 unit ? unit + f->at.lambda + f->active_l[i] : NULL, 1));
        for (int i = 0; i < f->nm; i++)
            size = larger(size, move_and_measure(1, k0 + nv + nw + f->nl + i, x + f->at.mu + f->active_m[i],
                                                 unit ? unit + f->at.mu + f->active_m[i] : NULL, 1));
        if (stands(f, size, !f->plain) || settled(size, enough, &before)) return KD_EVAL_OK;
    }
    kd_psf_fail(f, KD_ERR_NEWTON, "accelerations and multipliers could not be determined at the end of a step");
    return KD_EVAL_RETRY;
}

// Do the matrices belong to the rows that are active now?
static bool same_rows(const kd_psf *f)
{
    int nl = 0, nm = 0;
    for (int i = 0; i < f->dims.nlambda; i++)
        if (f->state->active_lambda[i] && (nl >= f->nl || f->active_l[nl++] != i)) return false;
    for (int i = 0; i < f->dims.nmu; i++)
        if (f->state->active_mu[i] && (nm >= f->nm || f->active_m[nm++] != i)) return false;
    return nl == f->nl && nm == f->nm;
}

kd_eval kd_psf_accelerations(kd_psf *f, double t, double *x)
{
    kd_eval answer = kd_psf_set_time(f, t);
    if (answer != KD_EVAL_OK) return answer;
    if (f->linearized && same_rows(f)) { // with the matrices of before
        bool keep = f->dae->keep;
        f->dae->keep = true;
        kd_eom_at_position(f->data, x + f->at.p, x + f->at.s);
        answer = correct_acceleration(f, x, JUMP_ENOUGH);
        f->dae->keep = keep;
        if (answer != KD_EVAL_RETRY) return answer;
    }
    // from scratch, at this point alone
    return kd_psf_note_at_point(f, kd_acceleration_solve(f->at_point, t, x + f->at.p, x + f->at.s, x + f->at.v,
                                                         x + f->at.r, x + f->at.a, x + f->at.w, x + f->at.lambda,
                                                         x + f->at.mu));
}

// Invariants that were left out of the step because e_v degenerates (kd_acceleration_project)
static kd_eval project_invariants(kd_psf *f, double t, double *x)
{
    kd_eval answer = kd_acceleration_project(f->at_point, t, x + f->at.p, x + f->at.s, x + f->at.v, x + f->at.r, true);
    kd_eom_at_position(f->data, x + f->at.p, x + f->at.s);
    f->moved = 1; // the matrices are those of another point
    return kd_psf_note_at_point(f, answer);
}

kd_eval kd_psf_correct(void *impl, double t, double *x, const double *xdot)
{
    kd_psf *f = impl;
    if (f->opt.selectors_each_step) f->dae->keep = false;
    bool   keep = f->dae->keep;
    double enough = keep ? KEPT_ENOUGH : FRESH_ENOUGH;
    f->moved = 0;
    // matrices of the new point, unless the integrator keeps its own
    if (!keep) {
        kd_status status = kd_psf_linearize(f, t, x, xdot, false);
        if (status < 0) return status == KD_ERR_CALLBACK_STOP ? KD_EVAL_STOP : KD_EVAL_RETRY;
        f->fresh = true;
        f->fresh_t = t;
    } else {
        kd_eval answer = kd_psf_set_time(f, t);
        if (answer != KD_EVAL_OK) return answer;
    }
    // level by level: g, q, c | gI, h, e | dynamics, d, gII, hI
    kd_eval answer = correct_position(f, x, enough);
    if (answer == KD_EVAL_OK) answer = correct_velocity(f, x);
    if (answer == KD_EVAL_OK && f->dims.ne > 0 && f->opt.invariants && !f->with_e) answer = project_invariants(f, t, x);
    if (answer == KD_EVAL_OK) answer = correct_acceleration(f, x, ACCELERATION_ENOUGH);
    if (answer == KD_EVAL_RETRY && keep) { // the kept matrices are too old; the integrator sees that they are gone
        f->dae->keep = false;
        answer = kd_psf_correct(f, t, x, xdot);
    }
    return answer;
}
