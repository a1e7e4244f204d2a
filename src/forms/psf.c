// Projected strangeness-free form of the equations of motion (S3 Theorem 2.4, Algorithm 2.6) as a kd_dae.
//
//     S_p (p' - Z v) = 0,  S_v (v' - a) = 0,  r' = b               differential, projected by selectors
//     0 = g,  0 = q,  0 = c                                        position level
//     0 = gI,  0 = h,  0 = e                                       velocity level
//     0 = M a - f + (GZ)' lambda + (HZ)' mu,  0 = d,  0 = gII,  0 = hI   acceleration level
//
// The acceleration a is an unknown of its own, so that inv(M) is never formed and M may be singular (S3 remark 2.3a);
// S_v here is S_v M of the paper. The selectors are constant within a step. Linear algebra: psf_linear.c.
#include "forms/psf.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "forms/archive.h"
#include "forms/psf_internal.h"
#include "math/dense.h"
#include "math/small.h"

// Particular corrections belong to components that follow the others and are solved for again at the end of the step.
// Counted fully in the Newton norm, they cost the heavy top 64 Newton rejections in 400 steps at 1e-7 and a revolving
// pendulum 71 in 190 at 1e-3; with a quarter of their weight none and 23,
// for a Newton error that is two to three times larger.
#define PART_DISCOUNT 0.75

// ---- failures -------------------------------------------------------------------------------------------------------

kd_status kd_psf_fail(kd_psf *f, kd_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)vsnprintf(f->message, sizeof f->message, format, list);
    va_end(list);
    f->status = status;
    return status;
}

kd_status kd_psf_eval_failure(kd_psf *f)
{
    kd_fault fault = kd_eom_data_fault(f->data);
    return kd_psf_fail(f, fault.status < 0 ? fault.status : KD_ERR_RETRY_FAILED, "%s", kd_eom_data_message(f->data));
}

void kd_psf_name_rows(kd_psf *f, const kd_selector *s, char *buffer, size_t size)
{
    double most = kd_norm_max(s->rows, s->left);
    char   name[96];
    kd_text(buffer, size, "%s", "");
    for (int i = 0; i < s->rows; i++) {
        if (fabs(s->left[i]) < 0.1 * most || most == 0) continue;
        kd_kind kind = i < f->nl ? KD_NAME_LAMBDA : s == &f->position ? KD_NAME_Q : i < f->ma ? KD_NAME_MU : KD_NAME_E;
        int     row = i < f->nl ? f->active_l[i] : i - f->nl;
        if (kind == KD_NAME_MU) row = f->active_m[row];
        if (kind == KD_NAME_E) row = i - f->ma;
        kd_text_append(buffer, size, "%s%s", buffer[0] ? ", " : "", kd_eom_name(f->eom, kind, row, name, sizeof name));
    }
}

static kd_status psf_fault(void *impl, const char **message)
{
    kd_psf *f = impl;
    *message = f->message;
    return f->status;
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

kd_eval kd_psf_set_time(kd_psf *f, double t)
{
    if (f->inputs.eval) {
        kd_eval answer = f->inputs.eval(t, f->inputs.context, f->u, f->du, f->ddu);
        if (answer != KD_EVAL_OK) {
            kd_psf_fail(f, answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED,
                        "the input function stopped at t = %g", t);
            return answer;
        }
    }
    kd_eom_at_time(f->data, t, f->u, f->du, f->ddu, f->state->z);
    return KD_EVAL_OK;
}

void kd_psf_set_state(kd_psf *f, const double *x)
{
    kd_eom_at_position(f->data, x + f->at.p, x + f->at.s);
    kd_eom_at_velocity(f->data, x + f->at.v, x + f->at.r);
    kd_eom_at_acceleration(f->data, x + f->at.a, x + f->at.w, x + f->at.lambda, x + f->at.mu);
}

kd_eval kd_psf_set_point(kd_psf *f, double t, const double *x)
{
    kd_eval answer = kd_psf_set_time(f, t);
    if (answer == KD_EVAL_OK) kd_psf_set_state(f, x);
    return answer;
}

// x' = (Z v, a, b), 0 for the algebraic components
static kd_eval psf_start(void *impl, double t, const double *x, double *xdot)
{
    kd_psf *f = impl;
    kd_dims D = f->dims;
    kd_eval answer = kd_psf_set_point(f, t, x);
    if (answer != KD_EVAL_OK) return answer;
    memset(xdot, 0, (size_t)f->at.n * sizeof *xdot);
    if (f->identity)
        memcpy(xdot + f->at.p, x + f->at.v, (size_t)D.nv * sizeof *xdot);
    else
        answer = kd_eom_eval(f->data, KD_KINEMATICS, xdot + f->at.p);
    memcpy(xdot + f->at.v, x + f->at.a, (size_t)D.nv * sizeof *xdot);
    if (answer == KD_EVAL_OK && D.nr > 0) answer = kd_eom_eval(f->data, KD_B, xdot + f->at.r);
    if (answer != KD_EVAL_OK) kd_psf_eval_failure(f);
    return answer;
}

static void psf_forget(void *impl)
{
    kd_dense_output_forget(((kd_psf *)impl)->dense);
}

// Accelerations jump, and so do v' and, along Z, p''
static kd_eval psf_resolve(void *impl, double t, double *x, double *xdot, double *jump, double *bend)
{
    kd_psf *f = impl;
    kd_dims D = f->dims;
    memset(jump, 0, (size_t)f->at.n * sizeof *jump);
    memset(bend, 0, (size_t)f->at.n * sizeof *bend);
    // v', r' from the left, negative
    for (int i = 0; i < D.nv; i++) jump[f->at.v + i] = -x[f->at.a + i];
    for (int i = 0; i < D.nr; i++) jump[f->at.r + i] = -xdot[f->at.r + i];
    // a, w, lambda, mu, then x' from the right
    kd_eval answer = kd_psf_accelerations(f, t, x);
    if (answer == KD_EVAL_OK) answer = psf_start(f, t, x, xdot);
    if (answer != KD_EVAL_OK) return answer;
    // jumps of v' = a and r' = b; p'' jumps by Z times that of a
    for (int i = 0; i < D.nv; i++) jump[f->at.v + i] += x[f->at.a + i];
    for (int i = 0; i < D.nr; i++) jump[f->at.r + i] += xdot[f->at.r + i];
    if (f->identity)
        memcpy(bend + f->at.p, jump + f->at.v, (size_t)D.nv * sizeof *bend);
    else if (f->linearized)
        kd_mul(D.np, D.nv, f->Z, jump + f->at.v, bend + f->at.p);
    return KD_EVAL_OK;
}

kd_eval kd_psf_note_at_point(kd_psf *f, kd_eval answer)
{
    const char *text = "";
    if (answer == KD_EVAL_OK) return answer;
    kd_status status = kd_acceleration_fault(f->at_point, &text);
    kd_psf_fail(f, status, "%s", text);
    return answer;
}

static kd_eval psf_interpolate(void *impl, double t0, const double *x0, double t1, const double *x1, double t,
                               double *x)
{
    kd_psf *f = impl;
    return kd_psf_note_at_point(f, kd_dense_output_eval(f->dense, t0, x0, t1, x1, t, x, x + f->at.a));
}

static kd_eval psf_between(void *impl, double t, double *x)
{
    kd_psf *f = impl;
    return kd_psf_note_at_point(f, kd_dense_output_settle(f->dense, t, x, x + f->at.a));
}

// p: the quintic Hermite polynomial of (p, v, a) at both ends, v its derivative; only for p' = v
static void psf_extrapolate(void *impl, double t0, const double *x0, double t1, const double *x1, double t, double *x)
{
    kd_psf *f = impl;
    double  h = t1 - t0, s = (t - t0) / h, s2 = s * s, s3 = s2 * s, s4 = s3 * s;
    if (!f->identity) return;
    // coefficients of p1 - p0, h v0, h v1, h^2 a0, h^2 a1 in p(s) - p0, and of the derivative by t
    double b[] = {s3 * (10 - 15 * s + 6 * s2), h * (s - s3 * (6 - 8 * s + 3 * s2)), h * s3 * (-4 + 7 * s - 3 * s2),
                  h * h * (s2 / 2 - s3 * (1.5 - 1.5 * s + 0.5 * s2)), h * h * s3 * (0.5 - s + 0.5 * s2)};
    double d[] = {30 * (s2 - 2 * s3 + s4) / h, 1 - 18 * s2 + 32 * s3 - 15 * s4, -12 * s2 + 28 * s3 - 15 * s4,
                  h * (s - 4.5 * s2 + 6 * s3 - 2.5 * s4), h * (1.5 * s2 - 4 * s3 + 2.5 * s4)};
    for (int i = 0; i < f->dims.nv; i++) {
        double p0 = x0[f->at.p + i], dp = x1[f->at.p + i] - p0, v0 = x0[f->at.v + i], v1 = x1[f->at.v + i];
        double a0 = x0[f->at.a + i], a1 = x1[f->at.a + i];
        x[f->at.p + i] = p0 + b[0] * dp + b[1] * v0 + b[2] * v1 + b[3] * a0 + b[4] * a1;
        x[f->at.v + i] = d[0] * dp + d[1] * v0 + d[2] * v1 + d[3] * a0 + d[4] * a1;
    }
}

// ---- names, counters ------------------------------------------------------------------------------------------------

static const char *psf_component_name(void *impl, int i, char *buffer, size_t size)
{
    kd_psf *f = impl;
    kd_dims D = f->dims;
    const struct {
        int         at, n;
        kd_kind     kind;
        const char *what;
    } part[] = {
        {f->at.p, D.np, KD_NAME_P, "position"},           {f->at.v, D.nv, KD_NAME_V, "velocity"},
        {f->at.r, D.nr, KD_NAME_R, "inner state"},        {f->at.w, D.nw, KD_NAME_W, "auxiliary variable"},
        {f->at.s, D.ns, KD_NAME_S, "contact coordinate"}, {f->at.lambda, D.nlambda, KD_NAME_LAMBDA, "multiplier of"},
        {f->at.mu, D.nmu, KD_NAME_MU, "multiplier of"},   {f->at.a, D.nv, KD_NAME_V, "acceleration to"},
    };
    char name[128];
    kd_text(buffer, size, "component %d", i);
    for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
        if (i < part[k].at || i >= part[k].at + part[k].n) continue;
        kd_text(buffer, size, "%s %s", part[k].what,
                kd_eom_name(f->eom, part[k].kind, i - part[k].at, name, sizeof name));
    }
    return buffer;
}

static kd_dae_counters psf_counters(void *impl)
{
    kd_psf         *f = impl;
    kd_dae_counters c = f->counters;
    kd_eom_counters e = kd_eom_data_counters(f->data);
    c.for_differences = e.for_differences;
    return c;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void lay_out(kd_psf *f)
{
    kd_dims D = f->dims;
    int     n = 0;
    // x = [p v r w s lambda mu | a]
    f->at.p = n;
    f->at.v = n += D.np;
    f->at.r = n += D.nv;
    f->at.w = n += D.nr;
    f->at.s = n += D.nw;
    f->at.lambda = n += D.ns;
    f->at.mu = n += D.nlambda;
    f->at.a = n += D.nmu;
    f->at.n = n + D.nv;
    // algebraic rows: d, c, then by level g, q | gI, h, e | dynamics, gII, hI
    n = 0;
    f->row.d = n;
    f->row.c = n += D.nw;
    f->row.g = n += D.ns;
    f->row.q = n += D.nlambda;
    f->row.gI = n += D.nq;
    f->row.h = n += D.nlambda;
    f->row.e = n += D.nmu;
    f->row.dyn = n += D.ne;
    f->row.gII = n += D.nv;
    f->row.hI = n += D.nlambda;
    f->row.n = n + D.nmu;
}

// Which derivatives are needed; the others keep NULL
static void cut_blocks(kd_psf *f)
{
    static const unsigned all =
        KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_R) | KD_BIT(KD_W) | KD_BIT(KD_S) | KD_BIT(KD_LAMBDA) | KD_BIT(KD_MU);
    // functions and what they are differentiated by
    const struct {
        kd_fn    fn;
        unsigned vars;
    } want[] = {
        {KD_KINEMATICS, f->identity ? 0 : KD_BIT(KD_P)},
        {KD_RESIDUAL,
         f->plain ? KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A) | KD_BIT(KD_R) | KD_BIT(KD_S) : all | KD_BIT(KD_A)},
        {KD_B, all},
        {KD_D, all},
        {KD_C, KD_BIT(KD_P) | KD_BIT(KD_S)},
        {KD_G, KD_BIT(KD_P) | KD_BIT(KD_S)},
        {KD_GI, KD_BIT(KD_P) | KD_BIT(KD_S)},
        {KD_H, KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_S)},
        {KD_GII, KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_S)},
        {KD_HI, KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_S)},
        {KD_E, f->opt.invariants ? KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_S) : 0},
    };
    // a block for each pair that is not known to vanish
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        int rows = kd_eom_rows(f->eom, want[k].fn);
        for (kd_var var = KD_P; var < KD_VAR_COUNT; var++) {
            int  columns = kd_eom_columns(f->eom, var);
            bool needed = (want[k].vars & KD_BIT(var)) && rows > 0 && columns > 0;
            // blocks that enter decompositions must exist even where they are known to vanish
            bool must = (want[k].fn == KD_G && var == KD_P) || (want[k].fn == KD_H && var == KD_V) ||
                        (want[k].fn == KD_C && var != KD_V) || (want[k].fn == KD_D && var == KD_W) ||
                        (want[k].fn == KD_E && var == KD_V) || (want[k].fn == KD_RESIDUAL && var == KD_A) ||
                        (want[k].fn == KD_RESIDUAL && (var == KD_LAMBDA || var == KD_MU));
            // what depends on s depends on p through it
            bool through_s = var == KD_P && f->dims.ns > 0 && kd_eom_depends(f->eom, want[k].fn, KD_S);
            if (needed && (must || through_s || kd_eom_depends(f->eom, want[k].fn, var)))
                f->blocks.block[want[k].fn][var] = kd_cut_matrix(&f->arena, rows, columns);
        }
    }
}

// Derivatives at the linearisation point
static void cut_derivatives(kd_psf *f)
{
    kd_dims   D = f->dims;
    kd_arena *a = &f->arena;
    const int ma = D.nlambda + D.nmu, mv = ma + D.ne, nk = D.nv + D.nw + ma;
    cut_blocks(f);
    f->Z = kd_cut_matrix(a, D.np, D.nv);
    f->Zplus = kd_cut_matrix(a, D.np, D.nv);
    f->q_p = kd_cut_matrix(a, D.nq, D.np);
    f->X = kd_cut_matrix(a, D.ns, D.nv);
    f->cs_lu = kd_cut_matrix(a, D.ns, D.ns);
    f->cs_pivot = kd_cut_int(a, D.ns);
    f->GZ = kd_cut_matrix(a, D.nlambda, D.nv);
    f->VP = kd_cut_matrix(a, mv, D.nv);
    f->VS = kd_cut_matrix(a, mv, D.ns);
    f->KP = kd_cut_matrix(a, nk, D.nv);
    f->KV = kd_cut_matrix(a, nk, D.nv);
    f->KR = kd_cut_matrix(a, nk, D.nr);
    f->KS = kd_cut_matrix(a, nk, D.ns);
    f->GS = kd_cut_matrix(a, D.nlambda, D.ns);
    f->BK = kd_cut_matrix(a, D.nr, nk);
}

static void cut_arrays(kd_psf *f)
{
    kd_dims   D = f->dims;
    kd_arena *a = &f->arena;
    int ma = D.nlambda + D.nmu, mv = ma + D.ne, mp = D.nlambda + D.nq, nk = D.nv + D.nw + ma, m = D.np + D.nv + D.nr;
    int most = (mv > mp ? mv : mp) * (D.np > D.nv ? D.np : D.nv);
    // inputs, active rows
    f->u = kd_cut_double(a, D.nu);
    f->du = kd_cut_double(a, D.nu);
    f->ddu = kd_cut_double(a, D.nu);
    f->active_l = kd_cut_int(a, D.nlambda);
    f->active_m = kd_cut_int(a, D.nmu);
    cut_derivatives(f);
    f->C = kd_cut_double(a, most);
    // selectors and inverse of the acceleration level
    kd_selector_init(&f->position, mp, D.np, f->opt.constraints, f->opt.rank_tolerance, a);
    kd_selector_init(&f->velocity, mv, D.nv, f->opt.constraints, f->opt.rank_tolerance, a);
    kd_selector_init(&f->acceleration, ma, D.nv, f->opt.constraints, f->opt.rank_tolerance, a);
    f->position.size = kd_eom_definition(f->eom)->position_unit;
    f->velocity.size = f->acceleration.size = kd_eom_definition(f->eom)->unit;
    f->Mhat = kd_cut_matrix(a, D.nv, D.nv);
    f->Bk = kd_cut_matrix(a, f->plain ? 0 : nk, nk);
    f->pivot = kd_cut_int(a, nk + D.ne);
    f->Kinv = kd_cut_matrix(a, nk, nk);
    f->R = kd_cut_matrix(a, ma, ma);
    // maps of the reduced unknowns, A and the matrices with gamma
    f->Ep = kd_cut_matrix(a, D.nv, D.np);
    f->Vp = kd_cut_matrix(a, D.nv, D.np);
    f->Kmap = kd_cut_matrix(a, nk, m);
    f->Xp = kd_cut_matrix(a, D.ns, D.np);
    f->Xmap = kd_cut_matrix(a, f->at.n, m);
    f->A = kd_cut_matrix(a, m, m);
    f->matrix = kd_cut_matrix(a, m, m);
    f->matrix_c = kd_arena_cut(a, (size_t)m * (size_t)m, sizeof *f->matrix_c);
    f->rhs_c = kd_arena_cut(a, (size_t)m, sizeof *f->rhs_c);
    // vectors of one right-hand side
    f->e0 = kd_cut_double(a, D.nv);
    f->ds0 = kd_cut_double(a, D.ns);
    f->rp = kd_cut_double(a, mp);
    f->rv = kd_cut_double(a, mv);
    f->rk = kd_cut_double(a, nk);
    f->k0 = kd_cut_double(a, nk);
    f->p = kd_cut_double(a, D.np);
    f->rounded = kd_cut_double(a, 2 * D.np);
    f->s = kd_cut_double(a, D.ns);
    f->v = kd_cut_double(a, D.nv);
    f->tp = kd_cut_double(a, D.np > D.nv ? D.np : D.nv);
    f->ta = kd_cut_double(a, D.nv);
    f->tm = kd_cut_double(a, m);
    f->big = kd_cut_matrix(a, (nk + D.np + D.ne + 3) + 5 * nk, (m > nk ? m : nk) + D.np + D.ne + 3);
    f->F = kd_cut_double(a, f->row.n);
    f->x = kd_cut_double(a, f->at.n);
}

static void describe_components(kd_psf *f)
{
    kd_component *component = kd_arena_cut(&f->arena, (size_t)f->at.n, sizeof *component);
    int          *index = kd_cut_int(&f->arena, f->at.n);
    bool         *controlled = kd_cut_bool(&f->arena, f->at.n);
    if (f->arena.failed) return;
    const struct {
        int          from;
        kd_component kind;
    } part[] = {{f->at.p, KD_COMPONENT_POSITION}, {f->at.v, KD_COMPONENT_VELOCITY},
                {f->at.r, KD_COMPONENT_INNER},    {f->at.w, KD_COMPONENT_AUXILIARY},
                {f->at.s, KD_COMPONENT_CONTACT},  {f->at.lambda, KD_COMPONENT_MULTIPLIER},
                {f->at.a, KD_COMPONENT_INTERNAL}, {f->at.n, KD_COMPONENT_INTERNAL}};
    for (size_t k = 0; k + 1 < sizeof part / sizeof *part; k++) {
        for (int i = part[k].from; i < part[k + 1].from; i++) {
            kd_component kind = component[i] = part[k].kind;
            bool         force =
                kind == KD_COMPONENT_AUXILIARY || kind == KD_COMPONENT_MULTIPLIER || kind == KD_COMPONENT_INTERNAL;
            // forces and accelerations follow from p, v, r; where their errors are controlled, they act on v through h
            index[i] = !force ? 1 : f->opt.control_multipliers ? 2 : 0;
            controlled[i] = !force || (f->opt.control_multipliers && kind != KD_COMPONENT_INTERNAL);
        }
    }
    f->dae->component = component;
    f->dae->index = index;
    f->dae->controlled = controlled;
}

// Sizes that depend on active rows and ranks; each has its own bound, and no array is shorter
static void archive_sizes(kd_psf *f, kd_archive *a)
{
    const kd_dims D = f->dims;
    kd_archive_int(a, &f->nl, 0, D.nlambda);
    kd_archive_int(a, &f->nm, 0, D.nmu);
    kd_archive_ints(a, f->active_l, (size_t)D.nlambda, 0, D.nlambda - 1);
    kd_archive_ints(a, f->active_m, (size_t)D.nmu, 0, D.nmu - 1);
    kd_archive_int(a, &f->nip, 0, D.np);
    kd_archive_int(a, &f->niv, 0, D.nv);
    kd_archive_int(a, &f->m, 0, f->dae->nreduced_max);
    kd_archive_bool(a, &f->with_e);
    if (!a->reads) return;
    f->ma = f->nl + f->nm;
    f->mv = f->ma + (f->with_e ? D.ne : 0);
    f->mp = f->nl + D.nq;
    f->nk = D.nv + D.nw + f->ma;
}

// Which selector serves which level
static void archive_choice(kd_psf *f, kd_archive *a)
{
    kd_selector **level[] = {&f->sel_p, &f->sel_v, &f->sel_a},
                *all[] = {NULL, &f->position, &f->velocity, &f->acceleration};
    for (int k = 0; k < 3; k++) {
        int which = 0;
        for (int i = 1; i < 4; i++)
            if (*level[k] == all[i]) which = i;
        kd_archive_int(a, &which, 0, 3);
        if (a->reads) *level[k] = all[which];
    }
}

static void psf_archive(void *impl, kd_archive *a)
{
    kd_psf *f = impl;
    kd_eom_data_archive(f->data, a);
    kd_acceleration_archive(f->at_point, a);
    kd_dense_output_archive(f->dense, a);
    kd_linsolve_archive(a, f->linear);
    kd_archive_arrays(a, &f->arena, f, sizeof *f);
    archive_sizes(f, a);
    kd_selector *selector[] = {&f->position, &f->velocity, &f->acceleration};
    for (int k = 0; k < 3; k++) kd_selector_archive(selector[k], a);
    archive_choice(f, a);
    const bool chosen = f->sel_p && f->sel_v && f->sel_a;
    kd_archive_pivots(a, f->cs_pivot, f->dims.ns);
    kd_archive_pivots(a, f->pivot, f->dims.nv + f->dims.nw + f->dims.nlambda + f->dims.nmu + f->dims.ne);
    KD_ARCHIVE_BOOLS(a, &f->mass_known, &f->second_order, &f->linearized, &f->fresh, &f->e_leave_out);
    KD_ARCHIVE_REALS(a, &f->gamma, &f->moved, &f->fresh_t);
    kd_archive_doubles(a, (double *)&f->gamma_c, 2);
    kd_archive_doubles(a, (double *)f->gamma_pair, 2 * KD_LINEAR_PAIRS);
    kd_counters_archive(&f->counters, a);
    if (f->linearized && !chosen) kd_archive_fail(a, KD_ERR_SAVED, "a linearised form has no selectors");
}

static void psf_destroy(void *impl)
{
    kd_psf *f = impl;
    if (!f) return;
    kd_dense_output_destroy(f->dense);
    kd_acceleration_destroy(f->at_point);
    kd_eom_data_destroy(f->data);
    kd_linsolve_destroy(f->linear);
    kd_arena_release(&f->arena);
    kd_free(f);
}

static const kd_dae_class psf_class = {
    .name = "psf",
    .linearize = kd_psf_linearize,
    .factor = kd_psf_factor,
    .evaluate = kd_psf_evaluate,
    .evaluate_accepted = kd_psf_evaluate_accepted,
    .solve_real = kd_psf_solve_real,
    .pair = kd_psf_pair,
    .solve_complex = kd_psf_solve_complex,
    .expand = kd_psf_expand,
    .correct = kd_psf_correct,
    .interpolate = psf_interpolate,
    .between = psf_between,
    .extrapolate = psf_extrapolate,
    .start = psf_start,
    .resolve = psf_resolve,
    .forget = psf_forget,
    .component_name = psf_component_name,
    .fault = psf_fault,
    .counters = psf_counters,
    .archive = psf_archive,
    .destroy = psf_destroy,
};

kd_status kd_psf_create(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                        const kd_formulation_options *opt, kd_dae **dae, char *message, size_t size)
{
    const kd_eom_def *def = kd_eom_definition(eom);
    kd_status         status = KD_ERR_MEMORY;
    kd_psf           *f = kd_alloc(sizeof *f);
    *dae = NULL;
    if (!f) goto failed;
    f->dae = kd_alloc(sizeof *f->dae);
    if (!f->dae) goto failed;
    f->eom = eom;
    f->opt = *opt;
    f->state = x;
    f->dims = kd_eom_dims(eom);
    if (inputs) f->inputs = *inputs;
    // what the structure of the equations makes simpler: p' = v, forces without multipliers, M diagonal or constant
    f->identity = !def->Z && !def->kinematics;
    f->plain = f->dims.nw == 0 && !def->force_of_multipliers;
    f->diagonal = def->mass_structure == KD_MASS_DIAGONAL || def->mass_structure == KD_MASS_DIAGONAL_CONSTANT;
    f->constant_mass = def->mass_structure == KD_MASS_FULL_CONSTANT || def->mass_structure == KD_MASS_DIAGONAL_CONSTANT;
    // components, rows, memory
    lay_out(f);
    cut_arrays(f);
    describe_components(f);
    if (f->arena.failed) goto failed;
    kd_psf_find_active(f);
    f->mv = f->ma;
    // where the equations are evaluated
    status = kd_eom_data_create(eom, &f->data);
    if (status >= 0) status = kd_eom_data_reserve(f->data);
    if (status < 0) goto failed;
    kd_eom_at_parameters(f->data, x->theta);
    // accelerations and dense output at single points, the solver of the reduced systems
    int m = f->dims.np + f->dims.nv + f->dims.nr;
    status = kd_acceleration_create(eom, inputs, x, opt, &f->at_point);
    if (status < 0) goto failed;
    kd_acceleration_least_change(f->at_point); // steps move multipliers by increments: dense output continues them
    status = kd_dense_output_create(f->at_point, true, &f->dense);
    if (status < 0) goto failed;
    status = kd_linsolve_create(m, opt->differential_qr ? KD_LINEAR_QR : KD_LINEAR_LU, NULL, &f->linear);
    if (status < 0) goto failed;
    // what the integrator sees
    f->dae->methods = &psf_class;
    f->dae->impl = f;
    f->dae->n = f->at.n;
    f->dae->nreduced_max = m;
    f->dae->nstate = f->at.a;
    f->dae->nderivative = f->at.w; // p, v, r
    f->dae->part_discount = PART_DISCOUNT;
    *dae = f->dae;
    return KD_OK;
failed:
    kd_text(message, size, "%s", kd_status_sentence(status));
    if (f) kd_free(f->dae);
    psf_destroy(f);
    return status;
}
