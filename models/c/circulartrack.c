// circulartrack.c: a mass on a circular track whose speed is held by a PI controller, index 3, with exact motion.
//
//     q = (x1, x2), u = q', inner state zeta;   n = q / |q|, e = (-x2, x1) / |q|
//     m u' = [kp (vref - e.u) + ki zeta] e + fR n - 2 q lambda
//     zeta' = vref - e.u
//     0 = x1^2 + x2^2 - 1
//
// B. Burgermeister, M. Arnold, B. Esterl, DAE time integration for real-time applications in multi-body dynamics, ZAMM
// 86 (2006) 759, section 4.1, give the structure. Data (our choice): m = vref = fR = 1, kp = 4, ki = 3, start at rest
// in (1, 0). With the speed v = e.u the error vref - v = -exp(-t)/2 + 3 exp(-3t)/2, so that
//     zeta = (exp(-t) - exp(-3t)) / 2,  angle = t + (exp(-3t) - exp(-t)) / 2,  lambda = (v^2 + fR) / 2
#include "circulartrack.h"
#include "gallery.h"
#include "support.h"
#include <math.h>

#define SPEED 1.0
#define PROPORTIONAL 4.0
#define INTEGRAL 3.0
#define RADIAL 1.0

enum { NP = 2 };

// Directions and what acts along them
typedef struct track {
    double radius, n[2], e[2];
    double along, radial; // velocity along e and n
    double drive;         // force of the controller
} track;

static track track_at(const kd_point *x)
{
    const double *q = x->p, *u = x->v, radius = hypot(q[0], q[1]);
    track         k = {.radius = radius, .n = {q[0] / radius, q[1] / radius}, .e = {-q[1] / radius, q[0] / radius}};
    k.along = k.e[0] * u[0] + k.e[1] * u[1];
    k.radial = k.n[0] * u[0] + k.n[1] * u[1];
    k.drive = PROPORTIONAL * (SPEED - k.along) + INTEGRAL * x->r[0];
    return k;
}

// ---- equations ------------------------------------------------------------------------------------------------------

static kd_eval residual(const kd_point *x, void *context, double *out)
{
    const track k = track_at(x);
    (void)context;
    for (int i = 0; i < NP; i++) out[i] = x->a[i] - k.drive * k.e[i] - RADIAL * k.n[i] + 2 * x->p[i] * x->lambda[0];
    return KD_EVAL_OK;
}

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[3] = 1;
    return KD_EVAL_OK;
}

static kd_eval b(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = SPEED - track_at(x).along;
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
    const double *p = x->p, *v = x->v, *a = x->a;
    (void)context;
    out[0] = 2 * (p[0] * a[0] + p[1] * a[1] + v[0] * v[0] + v[1] * v[1]);
    return KD_EVAL_OK;
}

// The radial force has the potential -fR |q|.
static kd_eval energies(const kd_point *x, void *context, kd_energies *out)
{
    const track k = track_at(x);
    (void)context;
    out->kinetic = 0.5 * (x->v[0] * x->v[0] + x->v[1] * x->v[1]);
    out->potential = -RADIAL * k.radius;
    out->supplied = k.drive * k.along;
    return KD_EVAL_OK;
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

// n_q = e e' / |q|, e_q = -n e' / |q|, (e.u)_q = -(n.u) e' / |q|
static void residual_by_p(const kd_point *x, double *out)
{
    const track k = track_at(x);
    for (int j = 0; j < NP; j++)
        for (int i = 0; i < NP; i++) {
            const double force = (PROPORTIONAL * k.radial + RADIAL) * k.e[i] - k.drive * k.n[i];
            *kd_entry(out, NP, i, j) = -force * k.e[j] / k.radius + (i == j ? 2 * x->lambda[0] : 0);
        }
}

static void residual_by_v(const kd_point *x, double *out)
{
    const track k = track_at(x);
    for (int j = 0; j < NP; j++)
        for (int i = 0; i < NP; i++) *kd_entry(out, NP, i, j) = PROPORTIONAL * k.e[i] * k.e[j];
}

static void residual_by(const kd_point *x, kd_var var, double *out)
{
    const track k = track_at(x);
    if (var == KD_P) residual_by_p(x, out);
    if (var == KD_V) residual_by_v(x, out);
    if (var == KD_A) (void)mass(x, NULL, out);
    for (int i = 0; i < NP; i++) {
        if (var == KD_R) out[i] = -INTEGRAL * k.e[i];
        if (var == KD_LAMBDA) out[i] = 2 * x->p[i];
    }
}

static void b_by(const kd_point *x, kd_var var, double *out)
{
    const track k = track_at(x);
    for (int i = 0; i < NP; i++) out[i] = var == KD_P ? k.radial * k.e[i] / k.radius : -k.e[i];
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    (void)part, (void)context;
    if (fn == KD_RESIDUAL) residual_by(x, var, out);
    if (fn == KD_B) b_by(x, var, out);
    for (int i = 0; i < NP; i++) {
        if (fn == KD_G || (fn == KD_GI && var == KD_V) || (fn == KD_GII && var == KD_A)) out[i] = 2 * x->p[i];
        if (fn == KD_GI && var == KD_P) out[i] = 2 * x->v[i];
        if (fn == KD_GII && var == KD_P) out[i] = 2 * x->a[i];
        if (fn == KD_GII && var == KD_V) out[i] = 4 * x->v[i];
    }
    return KD_EVAL_OK;
}

static const char *name(kd_kind kind, int i, void *context)
{
    static const char *const p[] = {"x", "y"}, *const v[] = {"velocity x", "velocity y"};
    static const char *const r[] = {"integral of the speed error"}, *const lambda[] = {"track"};
    (void)context;
    switch (kind) {
    case KD_NAME_P:
        return KD_NAME_OF(p, i);
    case KD_NAME_V:
        return KD_NAME_OF(v, i);
    case KD_NAME_R:
        return KD_NAME_OF(r, i);
    case KD_NAME_LAMBDA:
        return KD_NAME_OF(lambda, i);
    default:
        return NULL;
    }
}

// ---- example --------------------------------------------------------------------------------------------------------

void kd_circulartrack_exact(double t, double p[2], double v[2], double *zeta, double *lambda)
{
    const double slow = exp(-t), fast = exp(-3 * t);
    const double angle = t + 0.5 * (fast - slow), speed = SPEED + 0.5 * slow - 1.5 * fast;
    p[0] = cos(angle);
    p[1] = sin(angle);
    v[0] = -speed * p[1];
    v[1] = speed * p[0];
    *zeta = 0.5 * (slow - fast);
    *lambda = 0.5 * (speed * speed + RADIAL);
}

static kd_status create(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    static const double p[NP] = {1, 0}, a[NP] = {0, PROPORTIONAL * SPEED}, lambda[1] = {0.5 * RADIAL};
    const unsigned      pv = KD_BIT(KD_P) | KD_BIT(KD_V);
    kd_eom_def          def = kd_eom_def_default();
    def.title = "circular track with speed controller";
    def.dims = (kd_dims){.np = NP, .nv = NP, .nr = 1, .nlambda = 1};
    def.residual = residual;
    def.M = mass;
    def.b = b;
    def.g = g;
    def.gI = gI;
    def.gII = gII;
    def.energies = energies;
    def.derivative = derivative;
    def.given[KD_RESIDUAL] = pv | KD_BIT(KD_A) | KD_BIT(KD_R) | KD_BIT(KD_LAMBDA);
    def.given[KD_B] = pv;
    def.zero[KD_B] = KD_BIT(KD_R) | KD_BIT(KD_LAMBDA);
    def.given[KD_G] = KD_BIT(KD_P);
    def.given[KD_GI] = pv;
    def.given[KD_GII] = pv | KD_BIT(KD_A);
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true;
    def.name = name;
    if (inputs) *inputs = (kd_inputs){0};
    return kd_gallery_create(&def, &(kd_start){.p = p, .a = a, .lambda = lambda}, eom, x);
}

// [p v r lambda] at t = 1000, where the controller is at rest: cos and sin of 1000
static const double reference[2 * NP + 2] = {
    0.5623790762907030, 0.8268795405320026, -0.8268795405320026, 0.5623790762907030, 0, 1};

const kd_example kd_example_circulartrack = {
    .name = "circulartrack",
    .title = "mass on a circular track with a speed controller",
    .about =
        "Exact motion known; shows how constraints drift in long runs of the index-2 and index-1 forms (S1 Eq. 35). "
        "Structure from Burgermeister, Arnold and Esterl (2006), data our own.",
    .t_end = 1000,
    .create = create,
    .reference = reference,
    .digits = 15,
};
