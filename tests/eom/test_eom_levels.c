// Constraint levels that are not given, against closed forms.
#include "systems.h"

static double level(const kd_eom_def *def, const place *x, kd_fn fn, double *out)
{
    kd_eom      *eom = make(def);
    kd_eom_data *d = make_data(eom);
    go_to(d, x);
    assert_int_equal(kd_eom_eval(d, fn, out), KD_EVAL_OK);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
    return out[0];
}

// All ways to leave out levels and g_p: the same numbers as with everything given.
static void compare_levels(kd_eom_def full, const place *x, double tolerance)
{
    const int nlambda = full.dims.nlambda;
    double    gI[8], gII[8], value[8];
    level(&full, x, KD_GI, gI);
    level(&full, x, KD_GII, gII);
    for (int variant = 0; variant < 8; variant++) {
        kd_eom_def def = full;
        if (variant & 1) def.gI = NULL;
        if (variant & 2) def.gII = NULL;
        if (variant & 4) memset(def.given, 0, sizeof def.given);
        level(&def, x, KD_GI, value);
        for (int i = 0; i < nlambda; i++) assert_close(value[i], gI[i], tolerance);
        level(&def, x, KD_GII, value);
        for (int i = 0; i < nlambda; i++) assert_close(value[i], gII[i], tolerance);
    }
}

// Pendulum: missing gI and gII agree with the closed form.
static void test_pendulum(void **state)
{
    (void)state;
    compare_levels(pendulum(), &pendulum_place, 1e-11);
}

// Rod whose length is an input and whose pivot moves: time and both derivatives of the input enter.
static void test_rheonomic(void **state)
{
    (void)state;
    compare_levels(rod(), &rod_place, 1e-10);
}

// Contact coordinates follow the motion through 0 = c.
static void test_contact(void **state)
{
    (void)state;
    place x = contact_place();
    compare_levels(contact(), &x, 1e-10);
}

// Quaternions: increments, not coordinates, are accelerated.
static void test_body(void **state)
{
    (void)state;
    compare_levels(body(), &body_place, 1e-10);
    kd_eom_def def = body();
    def.Z = NULL;
    compare_levels(def, &body_place, 1e-10);
}

// Nonholonomic constraint: hI from h.
static void test_skate(void **state)
{
    (void)state;
    kd_eom_def def = skate();
    double     given[1], missing[1];
    level(&def, &skate_place, KD_HI, given);
    def.hI = NULL;
    level(&def, &skate_place, KD_HI, missing);
    assert_close(missing[0], given[0], 1e-11);
}

// The step follows the length scale: a rod of a millimetre, and a motion of 1e4 rad/s, keep ten digits.
static kd_eval distance_g(const kd_point *x, void *context, double *g)
{
    g[0] = sqrt(x->p[0] * x->p[0] + x->p[1] * x->p[1]) - *(double *)context;
    return KD_EVAL_OK;
}
static void test_scales(void **state)
{
    (void)state;
    for (int fast = 0; fast < 2; fast++) {
        double     L = 1e-3, omega = fast ? 1e4 : 1.0, value[1];
        kd_eom_def def = pendulum();
        def.context = &L;
        def.g = distance_g;
        def.gI = def.gII = NULL;
        memset(def.given, 0, sizeof def.given);
        // radial motion beside the rotation: r = L, r' = 0.2 L omega, r'' = 0.3 L omega^2
        place x = {.p = {0.6 * L, -0.8 * L}};
        x.v[0] = omega * (0.8 * L + 0.2 * x.p[0]), x.v[1] = omega * (0.6 * L + 0.2 * x.p[1]);
        for (int i = 0; i < 2; i++) x.a[i] = omega * omega * (0.3 * x.p[i] - x.p[i]);
        assert_close(level(&def, &x, KD_GI, value) / (L * omega), 0.2, 1e-9);
        assert_close(level(&def, &x, KD_GII, value) / (L * omega * omega), 0.3, 1e-7);
    }
}

// At rest and without time nothing moves: levels are exactly 0, at no cost.
static void test_rest(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.gI = def.gII = NULL;
    memset(def.given, 0, sizeof def.given);
    place  x = {.p = {0.9, -1.2}};
    double value[1];
    assert_true(level(&def, &x, KD_GI, value) == 0.0);
    assert_true(level(&def, &x, KD_GII, value) == 0.0);
}

// Functions that keep what depends on time until the stamp changes, as eom.h allows: c = s - p - sin t, g = s + sin t
// / 2.
typedef struct time_cache {
    unsigned long stamp;
    double        sine;
} time_cache;
static double kept_sine(const kd_point *x, void *context)
{
    time_cache *k = context;
    if (k->stamp != x->time_stamp) *k = (time_cache){x->time_stamp, sin(x->t)};
    return k->sine;
}
static kd_eval kept_c(const kd_point *x, void *context, double *c)
{
    c[0] = x->s[0] - x->p[0] - kept_sine(x, context);
    return KD_EVAL_OK;
}
static kd_eval kept_g(const kd_point *x, void *context, double *g)
{
    g[0] = x->s[0] + 0.5 * kept_sine(x, context);
    return KD_EVAL_OK;
}
static kd_eval kept_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0;
    return KD_EVAL_OK;
}
static kd_eval kept_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1;
    return KD_EVAL_OK;
}

// While levels are differenced, every move in time has a new time stamp, also for c and Z.
static void test_time_stamps(void **state)
{
    (void)state;
    time_cache cache = {.stamp = (unsigned long)-1};
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1, .ns = 1, .nlambda = 1};
    def.context = &cache;
    def.M = kept_M;
    def.f = kept_f;
    def.c = kept_c;
    def.g = kept_g;
    kd_eom      *eom;
    kd_eom_data *data;
    const double t = 0.4, p = 0.3, s = p + sin(t), v = 0.7, a = -0.2, zero = 0;
    double       value;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_eom_data_create(eom, &data), KD_OK);
    kd_eom_at_time(data, t, NULL, NULL, NULL, NULL);
    kd_eom_at_position(data, &p, &s);
    kd_eom_at_velocity(data, &v, NULL);
    kd_eom_at_acceleration(data, &a, NULL, &zero, NULL);
    assert_int_equal(kd_eom_eval(data, KD_GI, &value), KD_EVAL_OK);
    assert_true(fabs(value - (v + 1.5 * cos(t))) < 1e-9);
    assert_int_equal(kd_eom_eval(data, KD_GII, &value), KD_EVAL_OK);
    assert_true(fabs(value - (a - 1.5 * sin(t))) < 1e-7);
    kd_eom_data_destroy(data);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pendulum), cmocka_unit_test(test_rheonomic),   cmocka_unit_test(test_contact),
        cmocka_unit_test(test_body),     cmocka_unit_test(test_skate),       cmocka_unit_test(test_scales),
        cmocka_unit_test(test_rest),     cmocka_unit_test(test_time_stamps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
