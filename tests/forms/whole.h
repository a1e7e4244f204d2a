// tests/forms/whole.h: a small system that has everything (r, w, s, lambda, mu, u), with all constraint levels in
// closed form, and helpers that the tests of the formulations share.
//
//     M = 2 I + 0.3 m m',  m = (sin p0, cos p1, p2, 1);  f depends on all variables, on lambda and mu too
//     0 = c = 2 (s - p0 p1)
//     0 = g = p3 - 0.5 p0^2 - 0.3 s - 0.1 u
//     0 = h = v0 sin p2 - v1 cos p2 + 0.1 s v3
#ifndef KD_TEST_FORMS_WHOLE_H
#define KD_TEST_FORMS_WHOLE_H

#include "eom/systems.h"
#include "point/acceleration.h"
#include <kardan/formulation.h>
#include <kardan/integrator.h>
#include <stdlib.h>

UNUSED static kd_eval whole_M(const kd_point *x, void *context, double *M)
{
    (void)context;
    double m[4] = {sin(x->p[0]), cos(x->p[1]), x->p[2], 1};
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) M[i + 4 * j] = 0.3 * m[i] * m[j] + (i == j ? 2 : 0);
    return KD_EVAL_OK;
}
UNUSED static kd_eval whole_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    const double *p = x->p, *v = x->v;
    f[0] = -p[0] - 0.3 * v[0] + x->r[0] + 0.5 * x->w[0] - 0.02 * x->lambda[0] * x->lambda[0];
    f[1] = -p[1] - 0.2 * v[1] * v[1] * v[1] + x->s[0];
    f[2] = -0.5 * sin(p[2]) - 0.1 * v[2] + x->w[0] + 0.05 * x->mu[0] * p[0];
    f[3] = -1 + 0.1 * x->u[0];
    return KD_EVAL_OK;
}
UNUSED static kd_eval whole_b(const kd_point *x, void *context, double *b)
{
    (void)context;
    b[0] = -x->r[0] + sin(x->p[0]) * x->v[1] + 0.2 * x->w[0] + 0.1 * x->s[0] + 0.05 * x->lambda[0] + 0.03 * x->mu[0];
    return KD_EVAL_OK;
}
UNUSED static kd_eval whole_d(const kd_point *x, void *context, double *d)
{
    (void)context;
    double w = x->w[0];
    d[0] = w + 0.1 * w * w * w - x->p[1] - x->v[0] * x->r[0] - 0.1 * x->s[0] + 0.02 * x->lambda[0] + 0.01 * x->mu[0];
    return KD_EVAL_OK;
}
UNUSED static kd_eval whole_c(const kd_point *x, void *context, double *c)
{
    (void)context;
    c[0] = 2 * (x->s[0] - x->p[0] * x->p[1]);
    return KD_EVAL_OK;
}
UNUSED static kd_eval whole_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[3] - 0.5 * x->p[0] * x->p[0] - 0.3 * x->s[0] - 0.1 * x->u[0];
    return KD_EVAL_OK;
}
UNUSED static kd_eval whole_gI(const kd_point *x, void *context, double *g)
{
    (void)context;
    const double *p = x->p, *v = x->v;
    g[0] = v[3] - p[0] * v[0] - 0.3 * (v[0] * p[1] + p[0] * v[1]) - 0.1 * x->du[0];
    return KD_EVAL_OK;
}
UNUSED static kd_eval whole_gII(const kd_point *x, void *context, double *g)
{
    (void)context;
    const double *p = x->p, *v = x->v, *a = x->a;
    g[0] = a[3] - v[0] * v[0] - p[0] * a[0] - 0.3 * (a[0] * p[1] + 2 * v[0] * v[1] + p[0] * a[1]) - 0.1 * x->ddu[0];
    return KD_EVAL_OK;
}
UNUSED static kd_eval whole_h(const kd_point *x, void *context, double *h)
{
    (void)context;
    const double *p = x->p, *v = x->v;
    h[0] = v[0] * sin(p[2]) - v[1] * cos(p[2]) + 0.1 * x->s[0] * v[3];
    return KD_EVAL_OK;
}
UNUSED static kd_eval whole_hI(const kd_point *x, void *context, double *h)
{
    (void)context;
    const double *p = x->p, *v = x->v, *a = x->a;
    double        si = sin(p[2]), co = cos(p[2]), s_dot = v[0] * p[1] + p[0] * v[1];
    h[0] = a[0] * si - a[1] * co + v[2] * (v[0] * co + v[1] * si) + 0.1 * (s_dot * v[3] + x->s[0] * a[3]);
    return KD_EVAL_OK;
}
UNUSED static const char *whole_name(kd_kind kind, int i, void *context)
{
    (void)context;
    static const char *const p[] = {"x", "y", "heading", "joint 'lift' height"};
    if (kind == KD_NAME_P) return p[i];
    return kind == KD_NAME_LAMBDA ? "track" : kind == KD_NAME_MU ? "rolling" : NULL;
}
UNUSED static kd_eom_def whole(void)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "system with everything";
    def.dims = (kd_dims){.np = 4, .nv = 4, .nr = 1, .nw = 1, .ns = 1, .nlambda = 1, .nmu = 1, .nu = 1};
    def.M = whole_M;
    def.f = whole_f;
    def.b = whole_b;
    def.d = whole_d;
    def.c = whole_c;
    def.g = whole_g;
    def.gI = whole_gI;
    def.gII = whole_gII;
    def.h = whole_h;
    def.hI = whole_hI;
    def.name = whole_name;
    def.force_of_multipliers = true;
    return def;
}
UNUSED static kd_eval whole_input(double t, void *context, double *u, double *du, double *ddu)
{
    (void)context;
    u[0] = sin(2 * t);
    du[0] = 2 * cos(2 * t);
    ddu[0] = -4 * sin(2 * t);
    return KD_EVAL_OK;
}
static const kd_inputs whole_inputs = {.eval = whole_input};
static const place     whole_place = {.p = {0.6, 0.4, 0.3, 0.2},
                                      .v = {0.5, 0.2, 0.7, 0.4},
                                      .r = {0.3},
                                      .w = {0.1},
                                      .s = {0.24},
                                      .lambda = {0.5},
                                      .mu = {0.2}};

// ---- helpers --------------------------------------------------------------------------------------------------------

// State with the numbers of a place (t = 0 unless said), all rows active.
UNUSED static kd_state *state_at(const kd_eom *eom, const place *x)
{
    kd_dims   d = kd_eom_dims(eom);
    kd_state *state;
    assert_int_equal(kd_state_create(eom, &state), KD_OK);
    memcpy(state->p, x->p, (size_t)d.np * sizeof(double));
    memcpy(state->v, x->v, (size_t)d.nv * sizeof(double));
    memcpy(state->r, x->r, (size_t)d.nr * sizeof(double));
    memcpy(state->w, x->w, (size_t)d.nw * sizeof(double));
    memcpy(state->s, x->s, (size_t)d.ns * sizeof(double));
    memcpy(state->lambda, x->lambda, (size_t)d.nlambda * sizeof(double));
    memcpy(state->mu, x->mu, (size_t)d.nmu * sizeof(double));
    return state;
}

// Make the state consistent: a few projections, then accelerations and multipliers.
UNUSED static void make_consistent(const kd_eom *eom, const kd_inputs *inputs, kd_state *x)
{
    kd_formulation_options opt = kd_formulation_options_default();
    kd_acceleration       *acceleration;
    assert_int_equal(kd_acceleration_create(eom, inputs, x, &opt, &acceleration), KD_OK);
    for (int k = 0; k < 10; k++)
        assert_int_equal(kd_acceleration_project(acceleration, x->t, x->p, x->s, x->v, x->r, false), KD_EVAL_OK);
    assert_int_equal(kd_acceleration_solve(acceleration, x->t, x->p, x->s, x->v, x->r, x->a, x->w, x->lambda, x->mu),
                     KD_EVAL_OK);
    kd_acceleration_destroy(acceleration);
}

UNUSED static kd_dae *make_dae(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, kd_formulation form,
                               const kd_formulation_options *opt)
{
    char    message[256] = "";
    kd_dae *dae;
    if (kd_formulation_create(eom, inputs, x, form, opt, &dae, message, sizeof message) < 0) fail_msg("%s", message);
    return dae;
}

// Integrate x to t_end by Radau. Statistics and the lengths of the last two steps may be NULL.
UNUSED static void integrate_all(kd_dae *dae, double tolerance, double t_end, kd_state *x, kd_stats *stats, double *h)
{
    char                  message[256];
    kd_integrator        *radau;
    kd_integrator_options opt = kd_integrator_options_default();
    double               *vector = calloc((size_t)dae->n, sizeof *vector), last[2] = {0};
    opt.rtol = opt.atol = tolerance;
    kd_formulation_pack(dae, x, vector);
    assert_int_equal(kd_integrator_create(dae, KD_RADAU, &opt, &radau, message, sizeof message), KD_OK);
    kd_status status = kd_integrator_start(radau, x->t, vector);
    while (status >= 0 && kd_integrator_time(radau) < t_end) {
        status = kd_integrator_step(radau, t_end);
        last[0] = last[1];
        last[1] = kd_integrator_time(radau) - kd_integrator_time_old(radau);
    }
    if (status < 0) fail_msg("%s: %s", dae->methods->name, kd_integrator_message(radau));
    kd_formulation_unpack(dae, t_end, kd_integrator_x(radau), x);
    if (stats) *stats = kd_integrator_stats(radau);
    if (h) memcpy(h, last, sizeof last);
    kd_integrator_destroy(radau);
    free(vector);
}

UNUSED static void integrate(kd_dae *dae, double tolerance, double t_end, kd_state *x, kd_stats *stats)
{
    integrate_all(dae, tolerance, t_end, x, stats, NULL);
}

// Deterministic numbers in [-1, 1].
UNUSED static double scatter(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (double)(1u << 23) - 1;
}

UNUSED static void silence_unused_whole(void)
{
    (void)whole_inputs, (void)whole_place;
    silence_unused_places();
}

#endif
