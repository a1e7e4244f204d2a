// oscillator.h: a damped oscillator with known motion, and a rod that is easily bent, for tests of results.
//
//   m a = -k p - c v,  m = 1, k = 1 + c^2 / 4:  p = exp(-c t / 2) cos t
#ifndef KD_TESTS_OSCILLATOR_H
#define KD_TESTS_OSCILLATOR_H

#include <kardan/kardan.h>
#include <math.h>

static const double oscillator_damping = 0.4;

static inline kd_eval oscillator_mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1;
    return KD_EVAL_OK;
}

static inline kd_eval oscillator_force(const kd_point *x, void *context, double *f)
{
    (void)context;
    double c = oscillator_damping;
    f[0] = -(1 + c * c / 4) * x->p[0] - c * x->v[0];
    return KD_EVAL_OK;
}

static inline kd_eval oscillator_energies(const kd_point *x, void *context, kd_energies *out)
{
    (void)context;
    double c = oscillator_damping;
    *out = (kd_energies){.kinetic = 0.5 * x->v[0] * x->v[0],
                         .potential = 0.5 * (1 + c * c / 4) * x->p[0] * x->p[0],
                         .dissipated = c * x->v[0] * x->v[0]};
    return KD_EVAL_OK;
}

static inline void oscillator_state(double t, kd_state *x)
{
    double c = oscillator_damping, e = exp(-c * t / 2);
    x->t = t;
    x->p[0] = e * cos(t);
    x->v[0] = -c / 2 * x->p[0] - e * sin(t);
    x->a[0] = -(1 + c * c / 4) * x->p[0] - c * x->v[0];
}

static inline const char *oscillator_name(kd_kind kind, int i, void *context)
{
    (void)i, (void)context;
    return kind == KD_NAME_P || kind == KD_NAME_V ? "mass <1>" : NULL; // the same name twice
}

static inline kd_eom_def oscillator(void)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "damped oscillator";
    def.dims = (kd_dims){.np = 1, .nv = 1};
    def.M = oscillator_mass;
    def.f = oscillator_force;
    def.energies = oscillator_energies;
    def.name = oscillator_name;
    def.autonomous = true;
    return def;
}

// A point on a rod of length 1: p in the plane, 0 = g = p'p - 1
static inline kd_eval rod_mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[3] = 1, M[1] = M[2] = 0;
    return KD_EVAL_OK;
}

static inline kd_eval rod_force(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0, f[1] = -1;
    return KD_EVAL_OK;
}

static inline kd_eval rod_length(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1;
    return KD_EVAL_OK;
}

static inline kd_eom_def rod(void)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "rod";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1};
    def.M = rod_mass;
    def.f = rod_force;
    def.g = rod_length;
    def.autonomous = true;
    return def;
}

#endif
