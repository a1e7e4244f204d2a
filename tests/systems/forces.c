// forces.c: systems with inner states r, auxiliary variables w and a contact coordinate s.
#include <math.h>
#include <string.h>

#include "systems/systems.h"

static const double gravity = 9.81;

// ---- bead on a curve ------------------------------------------------------------------------------------------------
//
//     p = (x, y), foot point (s, F(s)) of the bead on the curve y = F(x), with e1 = x - s, e2 = y - F(s)
//     0 = c = e1 + e2 F'(s)    (e is normal to the curve)        0 = g = e2 - e1 F'(s)    (e has no normal part)
//     m x'' = -r - w - ..,  m y'' = -m gravity - ..,   G = g_p - g_s inv(c_s) c_p
//     r' = k x' - r / T        (Maxwell element along x)         0 = d = w + kappa w^3 - D (1 + 0.2 sin s) x'
//
// Second description: s = x, y = F(x), and  m (1 + F'^2) x'' + m F' F'' x'^2 = -m gravity F' - r - w.

static const double bead_m = 1.2, bead_k = 8, bead_T = 0.4, bead_kappa = 0.6, bead_D = 0.5;

// F, F', F'', F''' of the curve
static void curve(double s, double F[4])
{
    F[0] = 0.25 * s * s + 0.1 * sin(2 * s);
    F[1] = 0.5 * s + 0.2 * cos(2 * s);
    F[2] = 0.5 - 0.4 * sin(2 * s);
    F[3] = -0.8 * cos(2 * s);
}

static kd_eval bead_mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[3] = bead_m;
    out[1] = out[2] = 0;
    return KD_EVAL_OK;
}

static kd_eval bead_f(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = -x->r[0] - x->w[0];
    out[1] = -bead_m * gravity;
    return KD_EVAL_OK;
}

static kd_eval bead_b(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = bead_k * x->v[0] - x->r[0] / bead_T;
    return KD_EVAL_OK;
}

static kd_eval bead_d(const kd_point *x, void *context, double *out)
{
    const double w = x->w[0];
    (void)context;
    out[0] = w + bead_kappa * w * w * w - bead_D * (1 + 0.2 * sin(x->s[0])) * x->v[0];
    return KD_EVAL_OK;
}

static kd_eval bead_c(const kd_point *x, void *context, double *out)
{
    double F[4];
    (void)context;
    curve(x->s[0], F);
    out[0] = x->p[0] - x->s[0] + (x->p[1] - F[0]) * F[1];
    return KD_EVAL_OK;
}

static kd_eval bead_g(const kd_point *x, void *context, double *out)
{
    double F[4];
    (void)context;
    curve(x->s[0], F);
    out[0] = x->p[1] - F[0] - (x->p[0] - x->s[0]) * F[1];
    return KD_EVAL_OK;
}

// c' = 0 gives s' = (x' + F' y') / (1 + F'^2 - e2 F'');  then g' = y' - F' x' - e1 F'' s'
static kd_eval bead_gI(const kd_point *x, void *context, double *out)
{
    double F[4];
    (void)context;
    curve(x->s[0], F);
    const double e1 = x->p[0] - x->s[0], e2 = x->p[1] - F[0];
    const double ds = (x->v[0] + F[1] * x->v[1]) / (1 + F[1] * F[1] - e2 * F[2]);
    out[0] = x->v[1] - F[1] * x->v[0] - e1 * F[2] * ds;
    return KD_EVAL_OK;
}

// s' = N / D, s'' = (N' - s' D') / D
static kd_eval bead_gII(const kd_point *x, void *context, double *out)
{
    double        F[4];
    const double *v = x->v, *a = x->a;
    (void)context;
    curve(x->s[0], F);
    const double e1 = x->p[0] - x->s[0], e2 = x->p[1] - F[0], D = 1 + F[1] * F[1] - e2 * F[2];
    const double ds = (v[0] + F[1] * v[1]) / D, de1 = v[0] - ds, de2 = v[1] - F[1] * ds;
    const double dN = a[0] + F[1] * a[1] + F[2] * ds * v[1];
    const double dD = 2 * F[1] * F[2] * ds - de2 * F[2] - e2 * F[3] * ds;
    const double dds = (dN - ds * dD) / D;
    out[0] = a[1] - F[1] * a[0] - F[2] * ds * v[0] - de1 * F[2] * ds - e1 * (F[3] * ds * ds + F[2] * dds);
    return KD_EVAL_OK;
}

// The blocks of one level; those of gI and gII by p and s are left to the library.
static kd_eval bead_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    double F[4];
    (void)part, (void)context;
    curve(x->s[0], F);
    const double e1 = x->p[0] - x->s[0], e2 = x->p[1] - F[0], w = x->w[0];
    if (fn == KD_C && var == KD_P) out[0] = 1, out[1] = F[1];
    if (fn == KD_C && var == KD_S) out[0] = -1 - F[1] * F[1] + e2 * F[2];
    if (fn == KD_G && var == KD_P) out[0] = -F[1], out[1] = 1;
    if (fn == KD_G && var == KD_S) out[0] = -e1 * F[2];
    if (fn == KD_B && var == KD_V) out[0] = bead_k, out[1] = 0;
    if (fn == KD_B && var == KD_R) out[0] = -1 / bead_T;
    if (fn == KD_D && var == KD_V) out[0] = -bead_D * (1 + 0.2 * sin(x->s[0])), out[1] = 0;
    if (fn == KD_D && var == KD_W) out[0] = 1 + 3 * bead_kappa * w * w;
    if (fn == KD_D && var == KD_S) out[0] = -0.2 * bead_D * cos(x->s[0]) * x->v[0];
    return KD_EVAL_OK;
}

// The real root of w + kappa w^3 = load, by Cardano
static double drag(double load)
{
    const double q = 0.5 * load / bead_kappa, p = 1 / (3 * bead_kappa), root = sqrt(q * q + p * p * p);
    const double big = cbrt(fabs(q) + root); // no cancellation
    return copysign(big - p / big, load);
}

static double bead_drag(double x, double v)
{
    return drag(bead_D * (1 + 0.2 * sin(x)) * v);
}

static void bead_rhs(double t, const double *y, double *dy) // y = (x, x', r)
{
    double F[4];
    (void)t;
    curve(y[0], F);
    dy[0] = y[1];
    dy[1] = (-bead_m * (gravity * F[1] + F[1] * F[2] * y[1] * y[1]) - y[2] - bead_drag(y[0], y[1])) /
            (bead_m * (1 + F[1] * F[1]));
    dy[2] = bead_k * y[1] - y[2] / bead_T;
}

void kd_test_bead_solution(double t, kd_state *x)
{
    double y[3] = {1.1, 0.4, 0.3}, dy[3], F[4];
    kd_test_integrate(bead_rhs, 3, t, 0.05, y);
    bead_rhs(t, y, dy);
    curve(y[0], F);
    x->t = t;
    x->p[0] = x->s[0] = y[0];
    x->p[1] = F[0];
    x->v[0] = y[1];
    x->v[1] = F[1] * y[1];
    x->r[0] = y[2];
    x->w[0] = bead_drag(y[0], y[1]);
    x->lambda[0] = -bead_m * (gravity + F[1] * dy[1] + F[2] * y[1] * y[1]); // m y'' = -m gravity - lambda, G = (-F', 1)
}

kd_status kd_test_bead_create(kd_eom **eom, kd_state **x)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "bead on a curve";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nr = 1, .nw = 1, .ns = 1, .nlambda = 1};
    def.M = bead_mass;
    def.f = bead_f;
    def.b = bead_b;
    def.d = bead_d;
    def.c = bead_c;
    def.g = bead_g;
    def.gI = bead_gI;
    def.gII = bead_gII;
    def.derivative = bead_derivative;
    def.given[KD_C] = def.given[KD_G] = KD_BIT(KD_P) | KD_BIT(KD_S);
    def.given[KD_B] = KD_BIT(KD_V) | KD_BIT(KD_R);
    def.zero[KD_B] = KD_BIT(KD_P) | KD_BIT(KD_S) | KD_BIT(KD_W) | KD_BIT(KD_LAMBDA);
    def.given[KD_D] = KD_BIT(KD_V) | KD_BIT(KD_W) | KD_BIT(KD_S);
    def.zero[KD_D] = KD_BIT(KD_P) | KD_BIT(KD_R) | KD_BIT(KD_LAMBDA);
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true;
    return kd_test_create(&def, kd_test_bead_solution, eom, x);
}

// ---- pendulum with friction in the hinge ----------------------------------------------------------------------------
//
//     p = (x, y), g = (x^2 + y^2 - L^2)/2, force in the rod N = lambda L
//     the hinge of radius R brakes with the force w at the bob:
//     0 = d = w - nu R/L sqrt(N^2 + N0^2) tanh(v_t / v0),   v_t = (x y' - y x') / L
//     m v' = (0, -m gravity) - w (-y, x)/L - p lambda
//
// Second description: x = L sin phi, y = -L cos phi, N = m (L phi'^2 + gravity cos phi),
//     m L phi'' = -m gravity sin phi - w

static const double friction_m = 0.8, friction_L = 1.3, friction_nu_R = 0.25, friction_N0 = 0.5, friction_v0 = 0.2;

static double brake(double N, double vt)
{
    return friction_nu_R / friction_L * sqrt(N * N + friction_N0 * friction_N0) * tanh(vt / friction_v0);
}

static double tangential(const kd_point *x)
{
    return (x->p[0] * x->v[1] - x->p[1] * x->v[0]) / friction_L;
}

static kd_eval friction_mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[3] = friction_m;
    out[1] = out[2] = 0;
    return KD_EVAL_OK;
}

static kd_eval friction_residual(const kd_point *x, void *context, double *out)
{
    const double *p = x->p, w = x->w[0] / friction_L;
    (void)context;
    out[0] = friction_m * x->a[0] - w * p[1] + p[0] * x->lambda[0];
    out[1] = friction_m * (x->a[1] + gravity) + w * p[0] + p[1] * x->lambda[0];
    return KD_EVAL_OK;
}

static kd_eval friction_d(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->w[0] - brake(x->lambda[0] * friction_L, tangential(x));
    return KD_EVAL_OK;
}

static kd_eval friction_g(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = 0.5 * (x->p[0] * x->p[0] + x->p[1] * x->p[1] - friction_L * friction_L);
    return KD_EVAL_OK;
}

static kd_eval friction_gI(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->p[0] * x->v[0] + x->p[1] * x->v[1];
    return KD_EVAL_OK;
}

static kd_eval friction_gII(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->p[0] * x->a[0] + x->p[1] * x->a[1] + x->v[0] * x->v[0] + x->v[1] * x->v[1];
    return KD_EVAL_OK;
}

static kd_eval friction_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    const double *p = x->p, *v = x->v, L = friction_L, w = x->w[0] / L, N = x->lambda[0] * L;
    (void)part;
    if (fn == KD_RESIDUAL) {
        if (var == KD_A) return friction_mass(x, context, out);
        if (var == KD_P) out[0] = out[3] = x->lambda[0], out[1] = w, out[2] = -w;
        if (var == KD_W) out[0] = -p[1] / L, out[1] = p[0] / L;
        if (var == KD_LAMBDA) out[0] = p[0], out[1] = p[1];
    } else if (fn == KD_D) {
        const double size = sqrt(N * N + friction_N0 * friction_N0), th = tanh(tangential(x) / friction_v0);
        const double by_vt = friction_nu_R / L * size * (1 - th * th) / friction_v0;
        if (var == KD_P) out[0] = -by_vt * v[1] / L, out[1] = by_vt * v[0] / L;
        if (var == KD_V) out[0] = by_vt * p[1] / L, out[1] = -by_vt * p[0] / L;
        if (var == KD_W) out[0] = 1;
        if (var == KD_LAMBDA) out[0] = -friction_nu_R / L * N / size * L * th;
    } else {
        const double *row = p;
        if (fn == KD_GI && var == KD_P) row = v;
        if (fn == KD_GII && var == KD_P) row = x->a;
        if (fn == KD_GII && var == KD_V) row = v;
        const double factor = fn == KD_GII && var == KD_V ? 2 : 1;
        out[0] = factor * row[0], out[1] = factor * row[1];
    }
    return KD_EVAL_OK;
}

static void friction_rhs(double t, const double *y, double *dy) // y = (phi, phi')
{
    const double L = friction_L, N = friction_m * (L * y[1] * y[1] + gravity * cos(y[0]));
    (void)t;
    dy[0] = y[1];
    dy[1] = -(gravity * sin(y[0]) + brake(N, L * y[1]) / friction_m) / L;
}

void kd_test_friction_solution(double t, kd_state *x)
{
    double       y[2] = {1.0, 0.5};
    const double L = friction_L;
    kd_test_integrate(friction_rhs, 2, t, 0.01, y);
    const double s = sin(y[0]), c = cos(y[0]), N = friction_m * (L * y[1] * y[1] + gravity * c);
    x->t = t;
    x->p[0] = L * s;
    x->p[1] = -L * c;
    x->v[0] = L * y[1] * c;
    x->v[1] = L * y[1] * s;
    x->lambda[0] = N / L;
    x->w[0] = brake(N, L * y[1]);
}

kd_status kd_test_friction_create(kd_eom **eom, kd_state **x)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "pendulum with friction in the hinge";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nw = 1, .nlambda = 1};
    def.M = friction_mass;
    def.residual = friction_residual;
    def.d = friction_d;
    def.g = friction_g;
    def.gI = friction_gI;
    def.gII = friction_gII;
    def.derivative = friction_derivative;
    def.given[KD_RESIDUAL] = KD_BIT(KD_P) | KD_BIT(KD_A) | KD_BIT(KD_W) | KD_BIT(KD_LAMBDA);
    def.zero[KD_RESIDUAL] = KD_BIT(KD_V);
    def.given[KD_D] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_W) | KD_BIT(KD_LAMBDA);
    def.given[KD_G] = KD_BIT(KD_P);
    def.given[KD_GI] = KD_BIT(KD_P) | KD_BIT(KD_V);
    def.given[KD_GII] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A);
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true;
    return kd_test_create(&def, kd_test_friction_solution, eom, x);
}
