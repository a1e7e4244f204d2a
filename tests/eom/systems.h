// systems.h: small systems with everything given in closed form, from which tests take parts away.
#ifndef KD_TEST_EOM_SYSTEMS_H
#define KD_TEST_EOM_SYSTEMS_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/eom.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define UNUSED __attribute__((unused))

// ---- helpers --------------------------------------------------------------------------------------------------------

#define assert_close(a, b, tolerance) close_to((a), (b), (tolerance), #a, __FILE__, __LINE__)
UNUSED static void close_to(double a, double b, double tolerance, const char *what, const char *file, int line)
{
    if (fabs(a - b) <= tolerance * fmax(1.0, fmax(fabs(a), fabs(b)))) return;
    print_message("%s: %.17g instead of %.17g, relative difference %.2g\n", what, a, b,
                  fabs(a - b) / fmax(1.0, fabs(b)));
    _fail(file, line);
}

UNUSED static kd_eom *make(const kd_eom_def *def)
{
    char    message[256];
    kd_eom *eom;
    if (kd_eom_create(def, &eom, message, sizeof message) != KD_OK) fail_msg("%s", message);
    return eom;
}

UNUSED static kd_eom_data *make_data(const kd_eom *eom)
{
    kd_eom_data *d;
    assert_int_equal(kd_eom_data_create(eom, &d), KD_OK);
    return d;
}

// A place with all arrays, large enough for every system here.
typedef struct place {
    double t, u[4], du[4], ddu[4], z[4], p[16], s[4], v[16], r[4], a[16], w[4], lambda[8], mu[4];
} place;

UNUSED static void go_to(kd_eom_data *d, const place *x)
{
    kd_eom_at_time(d, x->t, x->u, x->du, x->ddu, x->z);
    kd_eom_at_position(d, x->p, x->s);
    kd_eom_at_velocity(d, x->v, x->r);
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
}

// ---- pendulum: x, y on a circle, with a damper whose force has an inner state r and an auxiliary variable w ---------
//     m a = (-w - 0.3 vx |v|^2, -m 9.81) - (x, y) lambda,  r' = -2 r + vx y,  0 = w + w^3 - r x,  g = (x^2 + y^2 -
//     L^2)/2
enum { PENDULUM_M, PENDULUM_L, PENDULUM_THETA };
static const double pendulum_theta[PENDULUM_THETA] = {2.0, 1.5};

UNUSED static kd_eval pendulum_M(const kd_point *x, void *context, double *M)
{
    (void)context;
    M[0] = M[3] = x->theta[PENDULUM_M];
    M[1] = M[2] = 0.0;
    return KD_EVAL_OK;
}
UNUSED static kd_eval pendulum_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    double speed2 = x->v[0] * x->v[0] + x->v[1] * x->v[1];
    f[0] = -x->w[0] - 0.3 * x->v[0] * speed2;
    f[1] = -x->theta[PENDULUM_M] * 9.81;
    return KD_EVAL_OK;
}
UNUSED static kd_eval pendulum_residual(const kd_point *x, void *context, double *out)
{
    pendulum_f(x, context, out);
    for (int i = 0; i < 2; i++) out[i] = x->theta[PENDULUM_M] * x->a[i] - out[i] + x->p[i] * x->lambda[0];
    return KD_EVAL_OK;
}
UNUSED static kd_eval pendulum_acceleration(const kd_point *x, void *context, double *a)
{
    pendulum_f(x, context, a);
    for (int i = 0; i < 2; i++) a[i] = (a[i] - x->p[i] * x->lambda[0]) / x->theta[PENDULUM_M];
    return KD_EVAL_OK;
}
UNUSED static kd_eval pendulum_b(const kd_point *x, void *context, double *b)
{
    (void)context;
    b[0] = -2.0 * x->r[0] + x->v[0] * x->p[1];
    return KD_EVAL_OK;
}
UNUSED static kd_eval pendulum_d(const kd_point *x, void *context, double *d)
{
    (void)context;
    d[0] = x->w[0] + x->w[0] * x->w[0] * x->w[0] - x->r[0] * x->p[0];
    return KD_EVAL_OK;
}
UNUSED static kd_eval pendulum_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    double L = x->theta[PENDULUM_L];
    g[0] = 0.5 * (x->p[0] * x->p[0] + x->p[1] * x->p[1] - L * L);
    return KD_EVAL_OK;
}
UNUSED static kd_eval pendulum_gI(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] * x->v[0] + x->p[1] * x->v[1];
    return KD_EVAL_OK;
}
UNUSED static kd_eval pendulum_gII(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] * x->a[0] + x->p[1] * x->a[1] + x->v[0] * x->v[0] + x->v[1] * x->v[1];
    return KD_EVAL_OK;
}
UNUSED static kd_eval pendulum_e(const kd_point *x, void *context, double *e)
{
    (void)context;
    e[0] = x->p[0] * x->v[1] - x->p[1] * x->v[0] + x->v[0] * x->v[0];
    return KD_EVAL_OK;
}
UNUSED static kd_eval pendulum_y(const kd_point *x, void *context, double *y)
{
    (void)context;
    y[0] = atan2(x->p[0], -x->p[1]);
    y[1] = x->lambda[0] * x->a[0] + x->r[0];
    return KD_EVAL_OK;
}
UNUSED static kd_eval pendulum_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context,
                                          double *D)
{
    (void)part;
    (void)context;
    const double vx = x->v[0], vy = x->v[1];
    switch ((int)fn * KD_VAR_COUNT + (int)var) {
    case KD_RESIDUAL *KD_VAR_COUNT + KD_P:
        D[0] = D[3] = x->lambda[0], D[1] = D[2] = 0.0;
        return KD_EVAL_OK;
    case KD_RESIDUAL *KD_VAR_COUNT + KD_V:
        D[0] = 0.3 * (3.0 * vx * vx + vy * vy), D[1] = 0.0, D[2] = 0.6 * vx * vy, D[3] = 0.0;
        return KD_EVAL_OK;
    case KD_RESIDUAL *KD_VAR_COUNT + KD_W:
        D[0] = 1.0, D[1] = 0.0;
        return KD_EVAL_OK;
    case KD_B *KD_VAR_COUNT + KD_P:
        D[0] = 0.0, D[1] = vx;
        return KD_EVAL_OK;
    case KD_B *KD_VAR_COUNT + KD_V:
        D[0] = x->p[1], D[1] = 0.0;
        return KD_EVAL_OK;
    case KD_B *KD_VAR_COUNT + KD_R:
        D[0] = -2.0;
        return KD_EVAL_OK;
    case KD_D *KD_VAR_COUNT + KD_W:
        D[0] = 1.0 + 3.0 * x->w[0] * x->w[0];
        return KD_EVAL_OK;
    case KD_G   *KD_VAR_COUNT + KD_P:
    case KD_GI  *KD_VAR_COUNT + KD_V:
    case KD_GII *KD_VAR_COUNT + KD_A:
        D[0] = x->p[0], D[1] = x->p[1];
        return KD_EVAL_OK;
    case KD_GI *KD_VAR_COUNT + KD_P:
        D[0] = vx, D[1] = vy;
        return KD_EVAL_OK;
    case KD_GII *KD_VAR_COUNT + KD_P:
        D[0] = x->a[0], D[1] = x->a[1];
        return KD_EVAL_OK;
    case KD_GII *KD_VAR_COUNT + KD_V:
        D[0] = 2.0 * vx, D[1] = 2.0 * vy;
        return KD_EVAL_OK;
    default:
        return KD_EVAL_STOP;
    }
}
UNUSED static const char *pendulum_name(kd_kind kind, int i, void *context)
{
    (void)context;
    if (kind == KD_NAME_P) return i == 0 ? "x" : "y";
    return kind == KD_NAME_LAMBDA ? "rod length" : NULL;
}
UNUSED static kd_eom_def pendulum(void)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "pendulum";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nr = 1, .nw = 1, .nlambda = 1, .ne = 1, .ny = 2, .ntheta = PENDULUM_THETA};
    def.theta = pendulum_theta;
    def.M = pendulum_M;
    def.f = pendulum_f;
    def.b = pendulum_b;
    def.d = pendulum_d;
    def.g = pendulum_g;
    def.gI = pendulum_gI;
    def.gII = pendulum_gII;
    def.e = pendulum_e;
    def.y = pendulum_y;
    def.autonomous = true;
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.derivative = pendulum_derivative;
    def.given[KD_RESIDUAL] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_W);
    def.zero[KD_RESIDUAL] = KD_BIT(KD_R);
    def.given[KD_B] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_R);
    def.zero[KD_B] = KD_BIT(KD_W) | KD_BIT(KD_LAMBDA);
    def.given[KD_D] = KD_BIT(KD_W);
    def.given[KD_G] = KD_BIT(KD_P);
    def.given[KD_GI] = KD_BIT(KD_P) | KD_BIT(KD_V);
    def.given[KD_GII] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A);
    def.name = pendulum_name;
    return def;
}
static const place pendulum_place = {
    .t = 0.3, .p = {0.9, -1.2}, .v = {1.2, 0.9}, .a = {-0.7, 2.1}, .r = {0.6}, .w = {0.4}, .lambda = {7.0}};

// ---- rod of moving length, moved pivot: x, y; g = (x - X)^2 + y^2 - rho^2,  X = 0.1 sin(2 t),  rho = 1.4 + u --------
typedef struct rod_motion {
    double X, X1, X2, rho, rho1, rho2;
} rod_motion;
UNUSED static rod_motion rod_at(const kd_point *x)
{
    return (rod_motion){
        0.1 * sin(2.0 * x->t), 0.2 * cos(2.0 * x->t), -0.4 * sin(2.0 * x->t), 1.4 + x->u[0], x->du[0], x->ddu[0]};
}
UNUSED static kd_eval rod_M(const kd_point *x, void *context, double *M)
{
    (void)context;
    M[0] = 1.0 + 0.5 * x->p[0] * x->p[0];
    M[1] = M[2] = 0.2 * x->p[1];
    M[3] = 2.0;
    return KD_EVAL_OK;
}
UNUSED static kd_eval rod_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = -x->p[0] * x->v[1] + 3.0 * sin(x->t) + 2.0 * x->u[0];
    f[1] = -9.81 + 0.1 * x->p[1] * x->p[1];
    return KD_EVAL_OK;
}
UNUSED static kd_eval rod_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    rod_motion m = rod_at(x);
    g[0] = (x->p[0] - m.X) * (x->p[0] - m.X) + x->p[1] * x->p[1] - m.rho * m.rho;
    return KD_EVAL_OK;
}
UNUSED static kd_eval rod_gI(const kd_point *x, void *context, double *g)
{
    (void)context;
    rod_motion m = rod_at(x);
    g[0] = 2.0 * ((x->p[0] - m.X) * (x->v[0] - m.X1) + x->p[1] * x->v[1] - m.rho * m.rho1);
    return KD_EVAL_OK;
}
UNUSED static kd_eval rod_gII(const kd_point *x, void *context, double *g)
{
    (void)context;
    rod_motion m = rod_at(x);
    double     dx = x->p[0] - m.X, dx1 = x->v[0] - m.X1, dx2 = x->a[0] - m.X2;
    g[0] = 2.0 * (dx1 * dx1 + dx * dx2 + x->v[1] * x->v[1] + x->p[1] * x->a[1] - m.rho1 * m.rho1 - m.rho * m.rho2);
    return KD_EVAL_OK;
}
UNUSED static kd_eval rod_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *D)
{
    (void)part;
    (void)context;
    if (fn != KD_G || var != KD_P) return KD_EVAL_STOP;
    D[0] = 2.0 * (x->p[0] - rod_at(x).X);
    D[1] = 2.0 * x->p[1];
    return KD_EVAL_OK;
}
UNUSED static kd_eom_def rod(void)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "rod of moving length";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1, .nu = 1};
    def.M = rod_M;
    def.f = rod_f;
    def.g = rod_g;
    def.gI = rod_gI;
    def.gII = rod_gII;
    def.derivative = rod_derivative;
    def.given[KD_G] = KD_BIT(KD_P);
    return def;
}
static const place rod_place = {.t = 0.7,
                                .u = {0.2},
                                .du = {0.5},
                                .ddu = {-1.1},
                                .p = {1.1, -1.0},
                                .v = {0.8, 1.3},
                                .a = {2.0, -3.0},
                                .lambda = {2.5}};

// ---- contact coordinates: s_1 = sigma = x + 0.3 sin y + 0.1 t, s_2 = s_1 x by implicit equations --------------------
//     g = y - 0.3 sin(s_1) - 0.4 s_2^2
UNUSED static double contact_sigma(const kd_point *x)
{
    return x->p[0] + 0.3 * sin(x->p[1]) + 0.1 * x->t;
}
UNUSED static kd_eval contact_M(const kd_point *x, void *context, double *M)
{
    (void)x;
    (void)context;
    M[0] = 1.5, M[3] = 2.5, M[1] = M[2] = 0.25;
    return KD_EVAL_OK;
}
UNUSED static kd_eval contact_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = -x->s[0] * x->v[0];
    f[1] = -9.81 * 2.5;
    return KD_EVAL_OK;
}
UNUSED static kd_eval contact_c(const kd_point *x, void *context, double *c)
{
    (void)context;
    c[0] = exp(0.3 * (x->s[0] - contact_sigma(x))) - 1.0;
    c[1] = (x->s[1] - x->s[0] * x->p[0]) * (1.0 + 0.2 * x->s[0] * x->s[0]);
    return KD_EVAL_OK;
}
UNUSED static kd_eval contact_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[1] - 0.3 * sin(x->s[0]) - 0.4 * x->s[1] * x->s[1];
    return KD_EVAL_OK;
}
// s_1 = s and s_2 = q with time derivatives, also off 0 = c, which then keeps its value:
// s' = sigma',  q = s x + D with D k(s) constant, k = 1 + 0.2 s^2
typedef struct contact_motion {
    double s, s1, s2, q, q1, q2;
} contact_motion;
UNUSED static contact_motion contact_at(const kd_point *x)
{
    double         sy = sin(x->p[1]), cy = cos(x->p[1]), vx = x->v[0], vy = x->v[1];
    contact_motion m;
    m.s = x->s[0];
    m.s1 = vx + 0.3 * cy * vy + 0.1;
    m.s2 = x->a[0] + 0.3 * (cy * x->a[1] - sy * vy * vy);
    double k = 1.0 + 0.2 * m.s * m.s, k1 = 0.4 * m.s * m.s1, k2 = 0.4 * (m.s1 * m.s1 + m.s * m.s2);
    double D = x->s[1] - m.s * x->p[0], D1 = -D * k1 / k, D2 = D * (2.0 * k1 * k1 / (k * k) - k2 / k);
    m.q = x->s[1];
    m.q1 = m.s1 * x->p[0] + m.s * vx + D1;
    m.q2 = m.s2 * x->p[0] + 2.0 * m.s1 * vx + m.s * x->a[0] + D2;
    return m;
}
UNUSED static kd_eval contact_gI(const kd_point *x, void *context, double *g)
{
    (void)context;
    kd_point            y = *x;
    static const double no_acceleration[2];
    y.a = no_acceleration;
    contact_motion m = contact_at(&y);
    g[0] = x->v[1] - 0.3 * cos(m.s) * m.s1 - 0.8 * m.q * m.q1;
    return KD_EVAL_OK;
}
UNUSED static kd_eval contact_gII(const kd_point *x, void *context, double *g)
{
    (void)context;
    contact_motion m = contact_at(x);
    g[0] = x->a[1] - 0.3 * (cos(m.s) * m.s2 - sin(m.s) * m.s1 * m.s1) - 0.8 * (m.q1 * m.q1 + m.q * m.q2);
    return KD_EVAL_OK;
}
UNUSED static kd_eval contact_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context,
                                         double *D)
{
    (void)part;
    (void)context;
    double s1 = x->s[0], E = 0.3 * exp(0.3 * (s1 - contact_sigma(x))), k = 1.0 + 0.2 * s1 * s1;
    if (fn == KD_G && var == KD_P) {
        D[0] = 0.0, D[1] = 1.0;
    } else if (fn == KD_G && var == KD_S) {
        D[0] = -0.3 * cos(s1), D[1] = -0.8 * x->s[1];
    } else if (fn == KD_C && var == KD_P) {
        D[0] = -E, D[1] = -s1 * k;
        D[2] = -0.3 * cos(x->p[1]) * E, D[3] = 0.0;
    } else if (fn == KD_C && var == KD_S) {
        D[0] = E, D[1] = -x->p[0] * k + (x->s[1] - s1 * x->p[0]) * 0.4 * s1;
        D[2] = 0.0, D[3] = k;
    } else {
        return KD_EVAL_STOP;
    }
    return KD_EVAL_OK;
}
UNUSED static kd_eom_def contact(void)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "contact coordinates";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1, .ns = 2};
    def.M = contact_M;
    def.f = contact_f;
    def.c = contact_c;
    def.g = contact_g;
    def.gI = contact_gI;
    def.gII = contact_gII;
    def.mass_structure = KD_MASS_FULL_CONSTANT;
    def.derivative = contact_derivative;
    def.given[KD_G] = def.given[KD_C] = KD_BIT(KD_P) | KD_BIT(KD_S);
    return def;
}
UNUSED static place contact_place(void)
{
    place    x = {.t = 0.4, .p = {0.8, 0.5}, .v = {0.7, -0.6}, .a = {1.3, 0.9}, .lambda = {3.0}};
    kd_point y = {.t = x.t, .p = x.p};
    x.s[0] = contact_sigma(&y) + 0.01; // near, not on 0 = c, as iterates are
    x.s[1] = x.s[0] * x.p[0] - 0.02;
    return x;
}

// ---- body on a spherical joint: p = (x, unit quaternion), v = (x', omega in the body) -------------------------------
//     g = x + R(q) r,  R(q) b = b (q0^2 - n.n) + 2 n (n.b) + 2 q0 n x b with n = (q1, q2, q3)
static const double body_arm[3] = {0.3, -0.5, 0.8};
UNUSED static void  cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}
UNUSED static void body_rotate(const double *q, const double *b, double *out)
{
    double n_b[3], nn = q[1] * q[1] + q[2] * q[2] + q[3] * q[3], nb = q[1] * b[0] + q[2] * b[1] + q[3] * b[2];
    cross(q + 1, b, n_b);
    for (int i = 0; i < 3; i++) out[i] = b[i] * (q[0] * q[0] - nn) + 2.0 * q[1 + i] * nb + 2.0 * q[0] * n_b[i];
}
UNUSED static kd_eval body_Z(const kd_point *x, void *context, double *Z)
{
    (void)context;
    const double *q = x->p + 3;
    memset(Z, 0, 7 * 6 * sizeof(double));
    for (int i = 0; i < 3; i++) Z[i * 7 + i] = 1.0;
    // q' = q o (0, omega) / 2
    const double E[3][4] = {{-q[1], q[0], q[3], -q[2]}, {-q[2], -q[3], q[0], q[1]}, {-q[3], q[2], -q[1], q[0]}};
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 4; i++) Z[(3 + j) * 7 + 3 + i] = 0.5 * E[j][i];
    return KD_EVAL_OK;
}
UNUSED static kd_eval body_kinematics(const kd_point *x, void *context, double *out)
{
    double Z[42];
    body_Z(x, context, Z);
    for (int i = 0; i < 7; i++) {
        out[i] = 0.0;
        for (int j = 0; j < 6; j++) out[i] += Z[j * 7 + i] * x->v[j];
    }
    return KD_EVAL_OK;
}
// exact: the quaternion exponential
UNUSED static kd_eval body_oplus(const double *p, const double *e, void *context, double *out)
{
    (void)context;
    double angle = sqrt(e[3] * e[3] + e[4] * e[4] + e[5] * e[5]);
    double k = angle > 0.0 ? sin(0.5 * angle) / angle : 0.5;
    double r[4] = {cos(0.5 * angle), k * e[3], k * e[4], k * e[5]}, n[3];
    double q[4] = {p[3], p[4], p[5], p[6]};
    cross(q + 1, r + 1, n);
    for (int i = 0; i < 3; i++) out[i] = p[i] + e[i];
    out[3] = q[0] * r[0] - q[1] * r[1] - q[2] * r[2] - q[3] * r[3];
    for (int i = 0; i < 3; i++) out[4 + i] = q[0] * r[1 + i] + r[0] * q[1 + i] + n[i];
    return KD_EVAL_OK;
}
UNUSED static kd_eval body_q(const kd_point *x, void *context, double *out)
{
    (void)context;
    const double *q = x->p + 3;
    out[0] = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0;
    return KD_EVAL_OK;
}
UNUSED static kd_eval body_M(const kd_point *x, void *context, double *M)
{
    static const double J[9] = {0.4, 0.02, -0.01, 0.02, 0.5, 0.03, -0.01, 0.03, 0.3};
    (void)x;
    (void)context;
    memset(M, 0, 36 * sizeof(double));
    for (int i = 0; i < 3; i++) M[i * 6 + i] = 2.0;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) M[(3 + j) * 6 + 3 + i] = J[j * 3 + i];
    return KD_EVAL_OK;
}
UNUSED static kd_eval body_f(const kd_point *x, void *context, double *f)
{
    double        M[36], Jw[3];
    const double *w = x->v + 3;
    body_M(x, context, M);
    for (int i = 0; i < 3; i++) Jw[i] = M[21 + i] * w[0] + M[27 + i] * w[1] + M[33 + i] * w[2];
    f[0] = 0.0, f[1] = 0.3 * x->p[4], f[2] = -19.62;
    cross(Jw, w, f + 3); // -omega x J omega
    return KD_EVAL_OK;
}
UNUSED static kd_eval body_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    body_rotate(x->p + 3, body_arm, g);
    for (int i = 0; i < 3; i++) g[i] += x->p[i];
    return KD_EVAL_OK;
}
UNUSED static kd_eval body_gI(const kd_point *x, void *context, double *g)
{
    (void)context;
    double c[3];
    cross(x->v + 3, body_arm, c);
    body_rotate(x->p + 3, c, g);
    for (int i = 0; i < 3; i++) g[i] += x->v[i];
    return KD_EVAL_OK;
}
UNUSED static kd_eval body_gII(const kd_point *x, void *context, double *g)
{
    (void)context;
    double c[3], cc[3], b[3];
    cross(x->v + 3, body_arm, c);
    cross(x->v + 3, c, cc);
    cross(x->a + 3, body_arm, b);
    for (int i = 0; i < 3; i++) b[i] += cc[i];
    body_rotate(x->p + 3, b, g);
    for (int i = 0; i < 3; i++) g[i] += x->a[i];
    return KD_EVAL_OK;
}
UNUSED static kd_eval body_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *D)
{
    (void)part;
    (void)context;
    const double *q = x->p + 3, *b = body_arm;
    if (fn == KD_Q && var == KD_P) {
        for (int i = 0; i < 7; i++) D[i] = i < 3 ? 0.0 : 2.0 * q[i - 3];
        return KD_EVAL_OK;
    }
    if (fn != KD_G || var != KD_P) return KD_EVAL_STOP;
    double n_b[3], nb = q[1] * b[0] + q[2] * b[1] + q[3] * b[2];
    cross(q + 1, b, n_b);
    memset(D, 0, 21 * sizeof(double));
    for (int i = 0; i < 3; i++) {
        D[i * 3 + i] = 1.0;
        D[3 * 3 + i] = 2.0 * q[0] * b[i] + 2.0 * n_b[i];
    }
    for (int j = 0; j < 3; j++) {
        double unit[3] = {j == 0, j == 1, j == 2}, u_b[3];
        cross(unit, b, u_b);
        for (int i = 0; i < 3; i++)
            D[(4 + j) * 3 + i] =
                -2.0 * q[1 + j] * b[i] + 2.0 * q[1 + i] * b[j] + (i == j ? 2.0 * nb : 0.0) + 2.0 * q[0] * u_b[i];
    }
    return KD_EVAL_OK;
}
UNUSED static kd_eom_def body(void)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "body on a spherical joint";
    def.dims = (kd_dims){.np = 7, .nv = 6, .nlambda = 3, .nq = 1};
    def.kinematics = body_kinematics;
    def.Z = body_Z;
    def.oplus = body_oplus;
    def.q = body_q;
    def.M = body_M;
    def.f = body_f;
    def.g = body_g;
    def.gI = body_gI;
    def.gII = body_gII;
    def.autonomous = true;
    def.mass_structure = KD_MASS_FULL_CONSTANT;
    def.derivative = body_derivative;
    def.given[KD_G] = def.given[KD_Q] = KD_BIT(KD_P);
    return def;
}
static const place body_place = {.p = {0.4, -0.2, 0.7, 0.5, 0.5, -0.5, 0.5},
                                 .v = {0.3, -0.4, 0.9, 1.1, -0.7, 0.6},
                                 .a = {1.0, 2.0, -3.0, 0.4, 0.9, -1.4},
                                 .lambda = {5.0, -2.0, 9.0}};

// ---- skate on a turning table: x, y, phi;  h = -vx sin phi + vy cos phi + 0.2 t x -----------------------------------
UNUSED static kd_eval skate_M(const kd_point *x, void *context, double *M)
{
    (void)x;
    (void)context;
    memset(M, 0, 9 * sizeof(double));
    M[0] = M[4] = 3.0, M[8] = 0.7;
    return KD_EVAL_OK;
}
UNUSED static kd_eval skate_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = 2.0 * cos(x->p[2]), f[1] = -x->v[1] * x->v[2], f[2] = -0.1 * x->p[2];
    return KD_EVAL_OK;
}
UNUSED static kd_eval skate_h(const kd_point *x, void *context, double *h)
{
    (void)context;
    h[0] = -x->v[0] * sin(x->p[2]) + x->v[1] * cos(x->p[2]) + 0.2 * x->t * x->p[0];
    return KD_EVAL_OK;
}
UNUSED static kd_eval skate_hI(const kd_point *x, void *context, double *h)
{
    (void)context;
    double s = sin(x->p[2]), c = cos(x->p[2]);
    h[0] = -x->a[0] * s + x->a[1] * c - x->v[2] * (x->v[0] * c + x->v[1] * s) + 0.2 * (x->p[0] + x->t * x->v[0]);
    return KD_EVAL_OK;
}
UNUSED static kd_eval skate_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *D)
{
    (void)part;
    (void)context;
    double s = sin(x->p[2]), c = cos(x->p[2]);
    if (fn == KD_H && var == KD_V)
        D[0] = -s, D[1] = c, D[2] = 0.0;
    else if (fn == KD_H && var == KD_P)
        D[0] = 0.2 * x->t, D[1] = 0.0, D[2] = -x->v[0] * c - x->v[1] * s;
    else
        return KD_EVAL_STOP;
    return KD_EVAL_OK;
}
UNUSED static kd_eom_def skate(void)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "skate";
    def.dims = (kd_dims){.np = 3, .nv = 3, .nmu = 1};
    def.M = skate_M;
    def.f = skate_f;
    def.h = skate_h;
    def.hI = skate_hI;
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.derivative = skate_derivative;
    def.given[KD_H] = KD_BIT(KD_P) | KD_BIT(KD_V);
    return def;
}
static const place skate_place = {
    .t = 1.1, .p = {0.4, -0.3, 0.8}, .v = {1.0, 0.6, -0.9}, .a = {0.5, 1.5, -2.0}, .mu = {4.0}};

UNUSED static void silence_unused_places(void)
{
    (void)pendulum_place, (void)rod_place, (void)body_place, (void)skate_place;
}

#endif
