// everything.h: one small system with all kinds of unknowns, coupled in every way that the equations allow:
//     p = (x, y, X, Y, theta): a bead (x, y) with contact coordinate s on a curve, and a skate (X, Y, theta)
//     0 = c = s - x - 0.3 sin y - 0.1 t,   0 = g = y - 0.4 sin s,   0 = h = -X' sin theta + Y' cos theta + 0.2 x'
//     M full and dependent on p; f, b, d depend on p, v, r, w, s, lambda, mu
#ifndef KD_TEST_EVERYTHING_H
#define KD_TEST_EVERYTHING_H

#include <kardan/eom.h>
#include <math.h>
#include <string.h>

enum { EVERYTHING_NV = 5 };

static inline kd_eval everything_M(const kd_point *x, void *context, double *M)
{
    (void)context;
    memset(M, 0, 25 * sizeof *M);
    const double diagonal[] = {1.5, 2, 1.2 + 0.2 * x->p[0] * x->p[0], 1.1, 0.6};
    for (int i = 0; i < 5; i++) M[6 * i] = diagonal[i];
    M[1] = M[5] = 0.2 * cos(x->p[1]);
    M[2 * 5 + 4] = M[4 * 5 + 2] = 0.1 * sin(x->p[4]);
    M[3] = M[15] = 0.05;
    return KD_EVAL_OK;
}

static inline kd_eval everything_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    const double *p = x->p, *v = x->v, r = x->r[0], w = x->w[0], s = x->s[0], l = x->lambda[0], m = x->mu[0];
    f[0] = -r - w - 0.3 * v[0] * v[0] * v[0] + 0.05 * l * tanh(v[0]);
    f[1] = -9.81 - 0.2 * v[1] + 0.1 * m * s;
    f[2] = 2 * cos(x->t) - 0.5 * p[2] + 0.1 * w * v[3];
    f[3] = -p[3] * p[3] * p[3] - 0.1 * v[3] + 0.02 * l * l / (1 + l * l);
    f[4] = -0.4 * v[4] - sin(p[4]) + 0.1 * r * s;
    return KD_EVAL_OK;
}

static inline kd_eval everything_b(const kd_point *x, void *context, double *b)
{
    (void)context;
    b[0] = 3 * x->v[0] - 2 * x->r[0] + 0.2 * x->w[0] * x->p[2] + 0.1 * sin(x->s[0]) + 0.01 * x->lambda[0] -
           0.02 * x->mu[0];
    return KD_EVAL_OK;
}

static inline kd_eval everything_d(const kd_point *x, void *context, double *d)
{
    (void)context;
    const double w = x->w[0];
    d[0] = w + 0.5 * w * w * w - 0.3 * x->v[0] * (1 + 0.2 * sin(x->s[0])) - 0.1 * x->r[0] - 0.05 * x->p[4] -
           0.02 * x->lambda[0] + 0.03 * x->mu[0];
    return KD_EVAL_OK;
}

static inline kd_eval everything_c(const kd_point *x, void *context, double *c)
{
    (void)context;
    c[0] = x->s[0] - x->p[0] - 0.3 * sin(x->p[1]) - 0.1 * x->t;
    return KD_EVAL_OK;
}

static inline kd_eval everything_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[1] - 0.4 * sin(x->s[0]);
    return KD_EVAL_OK;
}

static inline kd_eval everything_gI(const kd_point *x, void *context, double *g)
{
    (void)context;
    const double ds = x->v[0] + 0.3 * cos(x->p[1]) * x->v[1] + 0.1;
    g[0] = x->v[1] - 0.4 * cos(x->s[0]) * ds;
    return KD_EVAL_OK;
}

static inline kd_eval everything_gII(const kd_point *x, void *context, double *g)
{
    (void)context;
    const double cy = cos(x->p[1]), sy = sin(x->p[1]), ds = x->v[0] + 0.3 * cy * x->v[1] + 0.1;
    const double dds = x->a[0] + 0.3 * (cy * x->a[1] - sy * x->v[1] * x->v[1]);
    g[0] = x->a[1] - 0.4 * (cos(x->s[0]) * dds - sin(x->s[0]) * ds * ds);
    return KD_EVAL_OK;
}

static inline kd_eval everything_h(const kd_point *x, void *context, double *h)
{
    (void)context;
    h[0] = -x->v[2] * sin(x->p[4]) + x->v[3] * cos(x->p[4]) + 0.2 * x->v[0];
    return KD_EVAL_OK;
}

static inline kd_eval everything_hI(const kd_point *x, void *context, double *h)
{
    (void)context;
    const double s = sin(x->p[4]), c = cos(x->p[4]);
    h[0] = -x->a[2] * s + x->a[3] * c + 0.2 * x->a[0] - (x->v[2] * c + x->v[3] * s) * x->v[4];
    return KD_EVAL_OK;
}

static inline const char *everything_name(kd_kind kind, int i, void *context)
{
    static const char *const p[] = {"bead x", "bead y", "skate x", "skate y", "skate angle"};
    (void)context;
    switch (kind) {
    case KD_NAME_P:
        return p[i];
    case KD_NAME_R:
        return "damper force";
    case KD_NAME_W:
        return "drag";
    case KD_NAME_S:
        return "foot point";
    case KD_NAME_LAMBDA:
        return "bead on curve";
    case KD_NAME_MU:
        return "blade";
    default:
        return NULL;
    }
}

static inline kd_eom_def everything(void)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "everything";
    def.dims = (kd_dims){.np = 5, .nv = 5, .nr = 1, .nw = 1, .ns = 1, .nlambda = 1, .nmu = 1};
    def.M = everything_M;
    def.f = everything_f;
    def.b = everything_b;
    def.d = everything_d;
    def.c = everything_c;
    def.g = everything_g;
    def.gI = everything_gI;
    def.gII = everything_gII;
    def.h = everything_h;
    def.hI = everything_hI;
    def.force_of_multipliers = true;
    def.name = everything_name;
    return def;
}

// a guess that kd_initial_consistent makes consistent
static inline void everything_start(kd_state *x)
{
    const double p[] = {0.3, 0.2, 0.1, -0.2, 0.4}, v[] = {0.5, 0.1, 0.8, 0.3, 0.7};
    memcpy(x->p, p, sizeof p);
    memcpy(x->v, v, sizeof v);
    x->s[0] = 0.35;
    x->r[0] = 0.2;
}

#endif
