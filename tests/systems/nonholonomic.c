// nonholonomic.c: two classical systems with nonholonomic constraints and closed-form motion.
#include <math.h>
#include <string.h>

#include "systems/systems.h"

static void set(double *A, int rows, int i, int j, double value)
{
    A[j * rows + i] = value;
}

static kd_eval diagonal(const double *entries, int n, double *out)
{
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    for (int i = 0; i < n; i++) set(out, n, i, i, entries[i]);
    return KD_EVAL_OK;
}

// ---- skate ----------------------------------------------------------------------------------------------------------
//
//     p = (x, y, theta), x downhill
//     m x'' = m gamma + sin(theta) mu,  m y'' = -cos(theta) mu,  J theta'' = 0
//     0 = h = -x' sin(theta) + y' cos(theta)
//
// From rest at the origin with theta = 0 and theta' = omega: speed along the blade gamma/omega sin(omega t), so that
//     x = gamma/(2 omega^2) sin^2(omega t),  y = gamma/(2 omega) (t - sin(2 omega t)/(2 omega))
//     mu = -2 m gamma sin(omega t)

static const double skate_M[3] = {1.5, 1.5, 0.2}, skate_gamma = 2.5, skate_omega = 1.3;

static kd_eval skate_residual(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = skate_M[0] * (x->a[0] - skate_gamma) - sin(x->p[2]) * x->mu[0];
    out[1] = skate_M[1] * x->a[1] + cos(x->p[2]) * x->mu[0];
    out[2] = skate_M[2] * x->a[2];
    return KD_EVAL_OK;
}

static kd_eval skate_mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    return diagonal(skate_M, 3, out);
}

static kd_eval skate_h(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = -x->v[0] * sin(x->p[2]) + x->v[1] * cos(x->p[2]);
    return KD_EVAL_OK;
}

static kd_eval skate_hI(const kd_point *x, void *context, double *out)
{
    const double s = sin(x->p[2]), c = cos(x->p[2]);
    (void)context;
    out[0] = -x->a[0] * s + x->a[1] * c - (x->v[0] * c + x->v[1] * s) * x->v[2];
    return KD_EVAL_OK;
}

static kd_eval skate_energies(const kd_point *x, void *context, kd_energies *out)
{
    (void)context;
    *out = (kd_energies){.potential = -skate_M[0] * skate_gamma * x->p[0]};
    for (int i = 0; i < 3; i++) out->kinetic += 0.5 * skate_M[i] * x->v[i] * x->v[i];
    return KD_EVAL_OK;
}

static kd_eval skate_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    const double s = sin(x->p[2]), c = cos(x->p[2]), *v = x->v, *a = x->a;
    (void)part;
    if (fn == KD_RESIDUAL && var == KD_A) return skate_mass(x, context, out);
    memset(out, 0, (fn == KD_RESIDUAL && var == KD_P ? 9 : 3) * sizeof *out);
    if (fn == KD_RESIDUAL && var == KD_P) set(out, 3, 0, 2, -c * x->mu[0]), set(out, 3, 1, 2, -s * x->mu[0]);
    if ((fn == KD_RESIDUAL && var == KD_MU) || (fn == KD_H && var == KD_V) || (fn == KD_HI && var == KD_A))
        out[0] = -s, out[1] = c;
    if (fn == KD_H && var == KD_P) out[2] = -v[0] * c - v[1] * s;
    if (fn == KD_HI && var == KD_P) out[2] = -a[0] * c - a[1] * s + (v[0] * s - v[1] * c) * v[2];
    if (fn == KD_HI && var == KD_V) out[0] = -c * v[2], out[1] = -s * v[2], out[2] = -v[0] * c - v[1] * s;
    return KD_EVAL_OK;
}

void kd_test_skate_solution(double t, kd_state *x)
{
    const double w = skate_omega, g = skate_gamma, s = sin(w * t), c = cos(w * t);
    x->t = t;
    x->p[0] = 0.5 * g / (w * w) * s * s;
    x->p[1] = 0.5 * g / w * (t - s * c / w);
    x->p[2] = w * t;
    x->v[0] = g / w * s * c;
    x->v[1] = g / w * s * s;
    x->v[2] = w;
    x->mu[0] = -2 * skate_M[0] * g * s;
}

kd_status kd_test_skate_create(kd_eom **eom, kd_state **x)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "skate on an inclined plane";
    def.dims = (kd_dims){.np = 3, .nv = 3, .nmu = 1};
    def.residual = skate_residual;
    def.M = skate_mass;
    def.h = skate_h;
    def.hI = skate_hI;
    def.energies = skate_energies;
    def.derivative = skate_derivative;
    def.given[KD_RESIDUAL] = KD_BIT(KD_P) | KD_BIT(KD_A) | KD_BIT(KD_MU);
    def.zero[KD_RESIDUAL] = KD_BIT(KD_V);
    def.given[KD_H] = KD_BIT(KD_P) | KD_BIT(KD_V);
    def.given[KD_HI] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A);
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true;
    return kd_test_create(&def, kd_test_skate_solution, eom, x);
}

// ---- rolling disc ---------------------------------------------------------------------------------------------------
//
//     p = (x, y, phi heading, psi roll)
//     m x'' = -mu1,  m y'' = -mu2,  J phi'' = 0,  I psi'' = tau + R (mu1 cos phi + mu2 sin phi)
//     0 = x' - R psi' cos phi,  0 = y' - R psi' sin phi
//
// Closed form with phi = omega t, psi' = Omega + beta t, beta = tau / (I + m R^2), by integration of x' and y'.

static const double disc_M[4] = {2, 2, 0.3, 0.5}, disc_R = 0.6, disc_tau = 0.7, disc_omega = 1.1, disc_Omega = 2;

static kd_eval disc_residual(const kd_point *x, void *context, double *out)
{
    const double *a = x->a, *mu = x->mu;
    (void)context;
    out[0] = disc_M[0] * a[0] + mu[0];
    out[1] = disc_M[1] * a[1] + mu[1];
    out[2] = disc_M[2] * a[2];
    out[3] = disc_M[3] * a[3] - disc_tau - disc_R * (cos(x->p[2]) * mu[0] + sin(x->p[2]) * mu[1]);
    return KD_EVAL_OK;
}

static kd_eval disc_mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    return diagonal(disc_M, 4, out);
}

static kd_eval disc_h(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->v[0] - disc_R * x->v[3] * cos(x->p[2]);
    out[1] = x->v[1] - disc_R * x->v[3] * sin(x->p[2]);
    return KD_EVAL_OK;
}

static kd_eval disc_hI(const kd_point *x, void *context, double *out)
{
    const double s = sin(x->p[2]), c = cos(x->p[2]), turn = x->v[3] * x->v[2];
    (void)context;
    out[0] = x->a[0] - disc_R * (x->a[3] * c - turn * s);
    out[1] = x->a[1] - disc_R * (x->a[3] * s + turn * c);
    return KD_EVAL_OK;
}

static kd_eval disc_energies(const kd_point *x, void *context, kd_energies *out)
{
    (void)context;
    *out = (kd_energies){.supplied = disc_tau * x->v[3]};
    for (int i = 0; i < 4; i++) out->kinetic += 0.5 * disc_M[i] * x->v[i] * x->v[i];
    return KD_EVAL_OK;
}

static kd_eval disc_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    const double s = disc_R * sin(x->p[2]), c = disc_R * cos(x->p[2]), *v = x->v, *a = x->a;
    (void)part;
    if (fn == KD_RESIDUAL && var == KD_A) return disc_mass(x, context, out);
    memset(out, 0, (fn == KD_RESIDUAL && var == KD_P ? 16 : 8) * sizeof *out);
    if (fn == KD_RESIDUAL && var == KD_P) set(out, 4, 3, 2, s * x->mu[0] - c * x->mu[1]);
    if (fn == KD_RESIDUAL && var == KD_MU) out[0] = out[5] = 1, out[3] = -c, out[7] = -s;
    if ((fn == KD_H && var == KD_V) || (fn == KD_HI && var == KD_A)) {
        set(out, 2, 0, 0, 1), set(out, 2, 1, 1, 1);
        set(out, 2, 0, 3, -c), set(out, 2, 1, 3, -s);
    }
    if (fn == KD_H && var == KD_P) set(out, 2, 0, 2, s * v[3]), set(out, 2, 1, 2, -c * v[3]);
    if (fn == KD_HI && var == KD_P) {
        set(out, 2, 0, 2, s * a[3] + c * v[2] * v[3]);
        set(out, 2, 1, 2, -c * a[3] + s * v[2] * v[3]);
    }
    if (fn == KD_HI && var == KD_V) {
        set(out, 2, 0, 2, s * v[3]), set(out, 2, 1, 2, -c * v[3]);
        set(out, 2, 0, 3, s * v[2]), set(out, 2, 1, 3, -c * v[2]);
    }
    return KD_EVAL_OK;
}

void kd_test_disc_solution(double t, kd_state *x)
{
    const double w = disc_omega, R = disc_R, m = disc_M[0], beta = disc_tau / (disc_M[3] + m * R * R);
    const double s = sin(w * t), c = cos(w * t), rate = disc_Omega + beta * t;
    x->t = t;
    x->p[0] = R * (rate * s / w + beta * (c - 1) / (w * w));
    x->p[1] = R * ((disc_Omega - rate * c) / w + beta * s / (w * w));
    x->p[2] = w * t;
    x->p[3] = (disc_Omega + 0.5 * beta * t) * t;
    x->v[0] = R * rate * c;
    x->v[1] = R * rate * s;
    x->v[2] = w;
    x->v[3] = rate;
    x->mu[0] = -m * R * (beta * c - rate * w * s);
    x->mu[1] = -m * R * (beta * s + rate * w * c);
}

kd_status kd_test_disc_create(kd_eom **eom, kd_state **x)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "vertical rolling disc";
    def.dims = (kd_dims){.np = 4, .nv = 4, .nmu = 2};
    def.residual = disc_residual;
    def.M = disc_mass;
    def.h = disc_h;
    def.hI = disc_hI;
    def.energies = disc_energies;
    def.derivative = disc_derivative;
    def.given[KD_RESIDUAL] = KD_BIT(KD_P) | KD_BIT(KD_A) | KD_BIT(KD_MU);
    def.zero[KD_RESIDUAL] = KD_BIT(KD_V);
    def.given[KD_H] = KD_BIT(KD_P) | KD_BIT(KD_V);
    def.given[KD_HI] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A);
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true;
    return kd_test_create(&def, kd_test_disc_solution, eom, x);
}
