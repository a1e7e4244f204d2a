// tests/start/initial_cases.h: what tests of consistent initial values share: equations, states, checks, a pendulum.
#ifndef KD_TEST_INITIAL_CASES_H
#define KD_TEST_INITIAL_CASES_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/initial.h>

#define GRAVITY 9.81
#define CHECK(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))

// ---- helpers --------------------------------------------------------------------------------------------------------

static char message[640];

static inline kd_eom *make(const kd_eom_def *def)
{
    kd_eom *eom = NULL;
    char    why[256];
    if (kd_eom_create(def, &eom, why, sizeof why) != KD_OK) fail_msg("%s", why);
    return eom;
}

static inline kd_state *state_of(const kd_eom *eom)
{
    kd_state *x = NULL;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    return x;
}

static inline kd_status solve(const kd_eom *eom, const kd_initial_options *opt, kd_state *x)
{
    return kd_initial_consistent(eom, NULL, opt, x, message, sizeof message);
}

// All equations hold at x to the tolerance.
static inline void check_consistent(const kd_eom *eom, const kd_state *x, double tolerance)
{
    kd_consistency c;
    assert_int_equal(kd_initial_residuals(eom, NULL, x, &c), KD_OK);
    CHECK(c.position, 0.0, tolerance);
    CHECK(c.velocity, 0.0, tolerance);
    CHECK(c.acceleration, 0.0, 100.0 * tolerance);
    CHECK(c.dynamics, 0.0, 100.0 * tolerance);
    CHECK(c.auxiliary, 0.0, 100.0 * tolerance);
}

// A call that must fail: status, words in the message, state unchanged to the last bit.
static inline void check_failure(const kd_eom *eom, const kd_initial_options *opt, kd_state *x, kd_status expected,
                                 const char *word1, const char *word2)
{
    kd_state *before = state_of(eom);
    kd_state_copy(x, before);
    kd_status st = solve(eom, opt, x);
    if (st != expected) fail_msg("%s instead of %s: %s", kd_status_name(st), kd_status_name(expected), message);
    if (word1 && !strstr(message, word1)) fail_msg("no '%s' in: %s", word1, message);
    if (word2 && !strstr(message, word2)) fail_msg("no '%s' in: %s", word2, message);
    assert_memory_equal(before->p, x->p, x->size * sizeof(double));
    kd_state_destroy(before);
}

static inline void finish(kd_eom *eom, kd_state *x)
{
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Minimum of a function of one variable near a and b, by golden sections.
static inline double minimise(double (*f)(double, const void *), const void *context, double a, double b)
{
    const double ratio = 0.5 * (sqrt(5.0) - 1.0);
    for (int k = 0; k < 120; k++) {
        double left = b - ratio * (b - a), right = a + ratio * (b - a);
        if (f(left, context) < f(right, context))
            b = right;
        else
            a = left;
    }
    return 0.5 * (a + b);
}

// ---- pendulum: S3 Examples 2.8 and 3.1 ------------------------------------------------------------------------------

typedef struct pendulum {
    double L, rate; // length L + rate t
    double m[2];
    int    stop_after; // g asks to stop at this call, 0: never
    int    calls;
    bool   nan;
    bool   refuse_far; // no value further than 3 L from the origin
} pendulum;

static inline kd_eval pendulum_M(const kd_point *x, void *context, double *M)
{
    (void)x;
    const pendulum *c = context;
    M[0] = c->m[0], M[1] = M[2] = 0.0, M[3] = c->m[1];
    return KD_EVAL_OK;
}

static inline kd_eval pendulum_f(const kd_point *x, void *context, double *f)
{
    (void)x;
    const pendulum *c = context;
    f[0] = 0.0, f[1] = -c->m[1] * GRAVITY;
    return KD_EVAL_OK;
}

static inline kd_eval pendulum_g(const kd_point *x, void *context, double *g)
{
    pendulum *c = context;
    double    L = c->L + c->rate * x->t;
    if (c->stop_after && ++c->calls >= c->stop_after) return KD_EVAL_STOP;
    if (c->refuse_far && hypot(x->p[0], x->p[1]) > 3.0 * c->L) return KD_EVAL_RETRY;
    g[0] = c->nan ? NAN : x->p[0] * x->p[0] + x->p[1] * x->p[1] - L * L;
    return KD_EVAL_OK;
}

static inline const char *pendulum_name(kd_kind kind, int i, void *context)
{
    (void)context;
    static const char *const p[] = {"x", "y"}, *const v[] = {"vx", "vy"};
    if (kind == KD_NAME_P) return p[i];
    if (kind == KD_NAME_V) return v[i];
    return kind == KD_NAME_LAMBDA ? "rod length" : NULL;
}

static inline kd_eom_def pendulum_def(pendulum *c)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1};
    def.context = c;
    def.M = pendulum_M;
    def.f = pendulum_f;
    def.g = pendulum_g;
    def.name = pendulum_name;
    return def;
}

static inline kd_eom *pendulum_eom(pendulum *c)
{
    kd_eom_def def = pendulum_def(c);
    return make(&def);
}

static inline pendulum unit_pendulum(void)
{
    return (pendulum){.L = 2.0, .m = {1.5, 1.5}};
}

#endif
