// statespace_planar.c: the double pendulum of S2 section 5.1 as the paper has it: planar Cartesian coordinates p = (x1,
// y1, theta1, x2, y2, theta2), four constraints, both springs linear in the angles.
//
//     g = (x1 - L1 c1, y1 - L1 s1, x2 - x1 - L1 c1 - L2 c2, y2 - y1 - L1 s1 - L2 s2)
//     torques T1 = -400 (theta1 - 3 pi/2) - 15 theta1',   T2 = -3e5 (theta2 - theta1) - 5e4 (theta2' - theta1')
#include "statespace.h"
#include <math.h>

#define PI 3.14159265358979323846
static const double m1 = 3, m2 = 0.3, L1 = 1, L2 = 1.5, gravity = 9.81;

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    const double diagonal[6] = {m1, m1, m1 * L1 * L1 / 3, m2, m2, m2 * L2 * L2 / 3}; // uniform rods
    (void)x;
    (void)context;
    for (int i = 0; i < 6; i++) out[7 * i] = diagonal[i];
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    const double T1 = -400 * (x->p[2] - 1.5 * PI) - 15 * x->v[2];
    const double T2 = -3e5 * (x->p[5] - x->p[2]) - 5e4 * (x->v[5] - x->v[2]);
    (void)context;
    out[0] = out[3] = 0;
    out[1] = -m1 * gravity;
    out[2] = T1 - T2;
    out[4] = -m2 * gravity;
    out[5] = T2;
    return KD_EVAL_OK;
}

static kd_eval position(const kd_point *x, void *context, double *out)
{
    const double *p = x->p, c1 = cos(p[2]), s1 = sin(p[2]), c2 = cos(p[5]), s2 = sin(p[5]);
    (void)context;
    out[0] = p[0] - L1 * c1;
    out[1] = p[1] - L1 * s1;
    out[2] = p[3] - p[0] - L1 * c1 - L2 * c2;
    out[3] = p[4] - p[1] - L1 * s1 - L2 * s2;
    return KD_EVAL_OK;
}

// G applied to a velocity or an acceleration
static void apply(const double *p, const double *v, double out[4])
{
    const double c1 = cos(p[2]), s1 = sin(p[2]), c2 = cos(p[5]), s2 = sin(p[5]);
    out[0] = v[0] + L1 * s1 * v[2];
    out[1] = v[1] - L1 * c1 * v[2];
    out[2] = v[3] - v[0] + L1 * s1 * v[2] + L2 * s2 * v[5];
    out[3] = v[4] - v[1] - L1 * c1 * v[2] - L2 * c2 * v[5];
}

static kd_eval velocity(const kd_point *x, void *context, double *out)
{
    (void)context;
    apply(x->p, x->v, out);
    return KD_EVAL_OK;
}

static kd_eval acceleration(const kd_point *x, void *context, double *out)
{
    const double *p = x->p, *v = x->v, c1 = cos(p[2]), s1 = sin(p[2]), c2 = cos(p[5]), s2 = sin(p[5]);
    const double  w1 = L1 * v[2] * v[2], w2 = L2 * v[5] * v[5];
    (void)context;
    apply(p, x->a, out);
    out[0] += c1 * w1;
    out[1] += s1 * w1;
    out[2] += c1 * w1 + c2 * w2;
    out[3] += s1 * w1 + s2 * w2;
    return KD_EVAL_OK;
}

static kd_eval outputs(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->p[2];
    out[1] = x->p[5];
    out[2] = x->v[2];
    out[3] = x->v[5];
    out[4] = 0;
    return KD_EVAL_OK;
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    const double c1 = cos(x->p[2]), s1 = sin(x->p[2]), c2 = cos(x->p[5]), s2 = sin(x->p[5]);
    (void)part;
    (void)context;
    if (fn == KD_G && var == KD_P) { // columns of 4 rows
        const double G[24] = {1, 0, -1, 0, 0, 1, 0, -1, L1 * s1, -L1 * c1, L1 * s1, -L1 * c1,
                              0, 0, 1,  0, 0, 0, 0, 1,  0,       0,        L2 * s2, -L2 * c2};
        for (int i = 0; i < 24; i++) out[i] = G[i];
        return KD_EVAL_OK;
    }
    const double a = var == KD_P ? 3e5 : 5e4, b = var == KD_P ? 400 : 15; // KD_FORCE
    out[2 + 6 * 2] = -b - a;
    out[2 + 6 * 5] = a;
    out[5 + 6 * 2] = a;
    out[5 + 6 * 5] = -a;
    return KD_EVAL_OK;
}

kd_status statespace_planar(kd_eom **eom, kd_state **x, char *message, size_t size)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "double pendulum in planar Cartesian coordinates";
    def.dims = (kd_dims){.np = 6, .nv = 6, .nlambda = 4, .ny = 5};
    def.M = mass;
    def.f = force;
    def.g = position;
    def.gI = velocity;
    def.gII = acceleration;
    def.y = outputs;
    def.derivative = derivative;
    def.given[KD_G] = KD_BIT(KD_P);
    def.given[KD_FORCE] = KD_BIT(KD_P) | KD_BIT(KD_V);
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    const double theta2 = 23 * PI / 12, rate = 10;
    kd_status    status = kd_eom_create(&def, eom, message, size);
    if (status >= 0) status = kd_state_create(*eom, x);
    if (status < 0) return status;
    const double p[6] = {L1, 0, 2 * PI, 2 * L1 + L2 * cos(theta2), L2 * sin(theta2), theta2};
    const double v[6] = {0, 0, 0, -L2 * sin(theta2) * rate, L2 * cos(theta2) * rate, rate};
    for (int i = 0; i < 6; i++) (*x)->p[i] = p[i], (*x)->v[i] = v[i];
    return KD_OK;
}
