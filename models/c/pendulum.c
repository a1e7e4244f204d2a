// pendulum.c: mathematical pendulum in Cartesian coordinates, mass 1, length 1.
//
//     p' = v,   v' = (0, -gravity) - 2 p lambda,   0 = |p|^2 - 1
//     gI = 2 p.v,   gII = 2 p.a + 2 |v|^2,   e = |v|^2/2 + gravity p2 - E0
//
// Source: A. Steinbrecher, GEOMS (WIAS Berlin), examples 2.8 and 4.1. The report's "gravity about 13.75, period 2"
// holds for the release at rest from (1,0) with gravity = 4 K(1/2)^2 = Gamma(1/4)^4 / (4 pi).
//
// Exact motion. theta is the angle from the downward vertical, omega = sqrt(gravity), sn, cn, dn Jacobi's functions:
//     from the bottom, k = v10 / (2 omega) < 1:  sin(theta/2) = k sn(omega t | k),   theta' = 2 k omega cn
//     from the bottom, k > 1 (revolving):        sin(theta/2) = sn(v10 t/2 | 1/k),   theta' = v10 dn
//     from rest at theta = pi/2, k^2 = 1/2:      sin(theta/2) = k sn(K + omega t | k)
#include "pendulum.h"
#include "gallery.h"
#include "support.h"
#include <math.h>

enum { GRAVITY, ENERGY, NTHETA };

// ---- equations ------------------------------------------------------------------------------------------------------

static kd_eval residual(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->a[0] + 2 * x->p[0] * x->lambda[0];
    out[1] = x->a[1] + 2 * x->p[1] * x->lambda[0] + x->theta[GRAVITY];
    return KD_EVAL_OK;
}

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[3] = 1;
    out[1] = out[2] = 0;
    return KD_EVAL_OK;
}

static kd_eval g(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1;
    return KD_EVAL_OK;
}

static kd_eval gI(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = 2 * (x->p[0] * x->v[0] + x->p[1] * x->v[1]);
    return KD_EVAL_OK;
}

static kd_eval gII(const kd_point *x, void *context, double *out)
{
    (void)context;
    const double *p = x->p, *v = x->v, *a = x->a;
    out[0] = 2 * (p[0] * a[0] + p[1] * a[1] + v[0] * v[0] + v[1] * v[1]);
    return KD_EVAL_OK;
}

static double total_energy(double gravity, const double *p, const double *v)
{
    return 0.5 * (v[0] * v[0] + v[1] * v[1]) + gravity * p[1];
}

static kd_eval e(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = total_energy(x->theta[GRAVITY], x->p, x->v) - x->theta[ENERGY];
    return KD_EVAL_OK;
}

static kd_eval energies(const kd_point *x, void *context, kd_energies *out)
{
    (void)context;
    *out = (kd_energies){.kinetic = 0.5 * (x->v[0] * x->v[0] + x->v[1] * x->v[1]),
                         .potential = x->theta[GRAVITY] * x->p[1]};
    return KD_EVAL_OK;
}

static void twice(const double *y, double *out)
{
    out[0] = 2 * y[0];
    out[1] = 2 * y[1];
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    (void)part;
    switch (fn) {
    case KD_RESIDUAL:
        if (var == KD_A) return mass(x, context, out);
        if (var == KD_LAMBDA) return twice(x->p, out), KD_EVAL_OK;
        out[0] = out[3] = 2 * x->lambda[0]; // by p
        out[1] = out[2] = 0;
        return KD_EVAL_OK;
    case KD_G:
        return twice(x->p, out), KD_EVAL_OK;
    case KD_GI:
        return twice(var == KD_V ? x->p : x->v, out), KD_EVAL_OK;
    case KD_GII:
        twice(var == KD_A ? x->p : var == KD_P ? x->a : x->v, out);
        if (var == KD_V) twice(out, out);
        return KD_EVAL_OK;
    case KD_E:
        out[0] = var == KD_V ? x->v[0] : 0;
        out[1] = var == KD_V ? x->v[1] : x->theta[GRAVITY];
        return KD_EVAL_OK;
    default:
        return KD_EVAL_STOP;
    }
}

static const char *name(kd_kind kind, int i, void *context)
{
    static const char *const p[] = {"bob x", "bob y"}, *const v[] = {"bob velocity x", "bob velocity y"};
    static const char *const lambda[] = {"rod length"}, *const e_name[] = {"total energy"};
    static const char *const theta[] = {"gravity", "total energy"};
    (void)context;
    switch (kind) {
    case KD_NAME_P:
        return KD_NAME_OF(p, i);
    case KD_NAME_V:
        return KD_NAME_OF(v, i);
    case KD_NAME_LAMBDA:
        return KD_NAME_OF(lambda, i);
    case KD_NAME_E:
        return KD_NAME_OF(e_name, i);
    case KD_NAME_THETA:
        return KD_NAME_OF(theta, i);
    default:
        return NULL;
    }
}

kd_status kd_pendulum_create(double gravity, const double p0[2], const double v0[2], bool energy_invariant,
                             kd_eom **eom, kd_state **x)
{
    const double theta[NTHETA] = {[GRAVITY] = gravity, [ENERGY] = total_energy(gravity, p0, v0)};
    const double lambda = 0.5 * (v0[0] * v0[0] + v0[1] * v0[1] - gravity * p0[1]); // from gII = 0, |p| = 1
    const double a[2] = {-2 * p0[0] * lambda, -2 * p0[1] * lambda - gravity};
    kd_eom_def   def = kd_eom_def_default();
    def.title = "mathematical pendulum";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1, .ne = energy_invariant ? 1 : 0, .ntheta = NTHETA};
    def.residual = residual;
    def.M = mass;
    def.g = g;
    def.gI = gI;
    def.gII = gII;
    def.e = energy_invariant ? e : NULL;
    def.energies = energies;
    def.derivative = derivative;
    def.given[KD_RESIDUAL] = KD_BIT(KD_P) | KD_BIT(KD_A) | KD_BIT(KD_LAMBDA);
    def.zero[KD_RESIDUAL] = KD_BIT(KD_V);
    def.given[KD_G] = KD_BIT(KD_P);
    def.given[KD_GI] = KD_BIT(KD_P) | KD_BIT(KD_V);
    def.given[KD_GII] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A);
    def.given[KD_E] = energy_invariant ? KD_BIT(KD_P) | KD_BIT(KD_V) : 0;
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true;
    def.theta = theta;
    def.name = name;
    return kd_gallery_create(&def, &(kd_start){.p = p0, .v = v0, .lambda = &lambda, .a = a}, eom, x);
}

// ---- exact motion ---------------------------------------------------------------------------------------------------

// Jacobi's functions of u for modulus k, 0 <= k < 1, by the arithmetic-geometric mean (descending Landen
// transformation). Long double throughout: the argument grows to thousands of periods.
static void jacobi(long double u, long double k, long double *sn, long double *cn, long double *dn)
{
    enum { LEVELS = 8 }; // quadratic convergence: c_8 / a_8 < 1e-19 for k < 1 - 1e-15
    long double a[LEVELS + 1] = {1}, c[LEVELS + 1] = {k}, b = sqrtl((1 - k) * (1 + k)), scale = 1;
    for (int n = 0; n < LEVELS; n++, scale *= 2) {
        a[n + 1] = 0.5L * (a[n] + b);
        c[n + 1] = 0.5L * (a[n] - b);
        b = sqrtl(a[n] * b);
    }
    const long double pi = 3.14159265358979323846264338327950288L;
    u = fmodl(u, 2 * pi / a[LEVELS]); // period 4 K = 2 pi / agm(1, k')
    long double phi = scale * a[LEVELS] * u;
    for (int n = LEVELS; n > 0; n--) phi = 0.5L * (phi + asinl(c[n] / a[n] * sinl(phi)));
    *sn = sinl(phi);
    *cn = cosl(phi);
    *dn = sqrtl(1 - k * k * *sn * *sn);
}

// sin(theta/2), cos(theta/2), theta' of a start at the bottom
static void from_bottom(long double omega, long double v10, long double t, long double half[2], long double *rate)
{
    long double       sn, cn, dn;
    const long double k = fabsl(v10) / (2 * omega), sign = v10 < 0 ? -1 : 1;
    if (k < 1) {
        jacobi(omega * t, k, &sn, &cn, &dn);
        half[0] = sign * k * sn;
        half[1] = dn;
        *rate = sign * 2 * k * omega * cn;
    } else if (k > 1) {
        jacobi(0.5L * fabsl(v10) * t, 1 / k, &sn, &cn, &dn);
        half[0] = sign * sn;
        half[1] = cn;
        *rate = v10 * dn;
    } else { // creeps to the top
        half[0] = sign * tanhl(omega * t);
        half[1] = 1 / coshl(omega * t);
        *rate = v10 * half[1];
    }
}

// The same for the release from theta = pi/2: sn(K + u) = cn/dn, cn(K + u) = -k' sn/dn, dn(K + u) = k'/dn, k = k' =
// sqrt(1/2)
static void from_rest(long double omega, long double t, long double half[2], long double *rate)
{
    long double       sn, cn, dn;
    const long double k = sqrtl(0.5L);
    jacobi(omega * t, k, &sn, &cn, &dn);
    half[0] = k * cn / dn;
    half[1] = k / dn;
    *rate = -2 * k * omega * k * sn / dn;
}

void kd_pendulum_exact(double gravity, bool from_rest_horizontal, double v10, double t, double p[2], double v[2],
                       double *lambda)
{
    long double half[2], rate;
    if (from_rest_horizontal)
        from_rest(sqrtl((long double)gravity), (long double)t, half, &rate);
    else
        from_bottom(sqrtl((long double)gravity), (long double)v10, (long double)t, half, &rate);
    const long double sine = 2 * half[0] * half[1], cosine = (half[1] - half[0]) * (half[1] + half[0]);
    if (p) p[0] = (double)sine, p[1] = (double)-cosine;
    if (v) v[0] = (double)(rate * cosine), v[1] = (double)(rate * sine);
    if (lambda) *lambda = (double)(0.5L * (rate * rate + gravity * cosine));
}

// ---- examples -------------------------------------------------------------------------------------------------------

static kd_status create_swing(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    if (inputs) *inputs = (kd_inputs){0};
    return kd_pendulum_create(13.75, (double[]){0, -1}, (double[]){2.8, 0}, false, eom, x);
}

static kd_status create_release(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    if (inputs) *inputs = (kd_inputs){0};
    return kd_pendulum_create(KD_PENDULUM_GRAVITY_PERIOD_2, (double[]){1, 0}, (double[]){0, 0}, false, eom, x);
}

// clang-format off
// exact motion at t = 5 (Jacobi functions, 17 digits)
static const double swing_reference[5] = {-0.60893726314883797, -0.79321838704659568,
                                           1.1640343059827251,  -0.89360493411613202, 6.5301292328360358};
// exact motion at t = 20: ten whole periods
static const double release_reference[5] = {1, 0, 0, 0, 0};
// clang-format on

const kd_example kd_example_pendulum = {
    .name = "pendulum",
    .title = "mathematical pendulum swinging from the bottom",
    .about = "Smallest holonomic problem: one selector is enough, because the swing stays below 45 degrees. "
             "Gravity 13.75, initial velocity 2.8. Source: GEOMS report, examples 2.8 and 4.1, table 3.",
    .t_end = 5,
    .create = create_swing,
    .reference = swing_reference,
    .digits = 15,
};

const kd_example kd_example_pendulum_release = {
    .name = "pendulum-release",
    .title = "mathematical pendulum released from the horizontal position, period 2",
    .about = "The selector changes four times per period. Gravity is Gamma(1/4)^4 / (4 pi), so that the period is 2. "
             "Source: GEOMS report, example 4.1, figures 1 to 5.",
    .t_end = 20,
    .create = create_release,
    .reference = release_reference,
    .digits = 14,
};
