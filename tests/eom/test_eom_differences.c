// Derivative blocks: supplied, known from structure and differenced ones say the same.
#include "systems.h"

enum { BLOCK = 16 * 16 };
typedef struct all_blocks {
    double    values[KD_FN_COUNT][KD_VAR_COUNT][BLOCK];
    kd_blocks blocks;
} all_blocks;

// Every block of every function.
static void want_all(all_blocks *b)
{
    for (int fn = 0; fn < KD_FN_COUNT; fn++)
        for (int var = 0; var < KD_VAR_COUNT; var++)
            b->blocks.block[fn][var] = fn == KD_MASS ? NULL : b->values[fn][var];
}

static void all_derivatives(const kd_eom_def *def, const place *x, all_blocks *b)
{
    kd_eom      *eom = make(def);
    kd_eom_data *d = make_data(eom);
    go_to(d, x);
    kd_point before = *kd_eom_point(d);
    want_all(b);
    if (kd_eom_derivatives(d, KD_PART_ALL, &b->blocks) != KD_EVAL_OK) fail_msg("%s", kd_eom_data_message(d));
    assert_memory_equal(&before, kd_eom_point(d), sizeof before);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
}

static void compare_blocks(const kd_eom_def *def, const all_blocks *a, const all_blocks *b, double tolerance)
{
    kd_eom *eom = make(def);
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        if (fn == KD_MASS) continue;
        for (int var = 0; var < KD_VAR_COUNT; var++) {
            int n = kd_eom_rows(eom, (kd_fn)fn) * kd_eom_columns(eom, (kd_var)var);
            for (int i = 0; i < n; i++) {
                double y = a->values[fn][var][i], z = b->values[fn][var][i];
                if (fabs(y - z) > tolerance * fmax(1.0, fabs(y)))
                    fail_msg("%s: function %d by variable %d, entry %d: %.12g and %.12g", def->title, fn, var, i, y, z);
            }
        }
    }
    kd_eom_destroy(eom);
}

static void compare_variants(kd_eom_def full, const place *x, double tolerance)
{
    static all_blocks with, without;
    all_derivatives(&full, x, &with);
    for (int variant = 0; variant < 4; variant++) {
        kd_eom_def def = full;
        memset(def.given, 0, sizeof def.given);
        memset(def.zero, 0, sizeof def.zero);
        if (variant & 1) def.gI = NULL, def.hI = NULL;
        if (variant & 2) def.gII = NULL;
        all_derivatives(&def, x, &without);
        compare_blocks(&def, &with, &without, tolerance);
    }
}

// Pendulum: all blocks with supplied derivatives equal those without, whatever levels are missing.
static void test_pendulum(void **state)
{
    (void)state;
    compare_variants(pendulum(), &pendulum_place, 2e-6);
}

// Residual alone, M and f alone: the same blocks.
static void test_residual_or_parts(void **state)
{
    (void)state;
    static all_blocks parts, whole;
    kd_eom_def        def = pendulum();
    all_derivatives(&def, &pendulum_place, &parts);
    def.M = def.f = NULL;
    def.residual = pendulum_residual;
    all_derivatives(&def, &pendulum_place, &whole);
    compare_blocks(&def, &parts, &whole, 2e-6);
}

// The derivative by t moves the input with its rate: residual_t = -f_t - f_u u' + (GZ)'_t lambda.
static void test_rheonomic(void **state)
{
    (void)state;
    compare_variants(rod(), &rod_place, 2e-6);
    static all_blocks b;
    kd_eom_def        def = rod();
    all_derivatives(&def, &rod_place, &b);
    double t = rod_place.t, X1 = 0.2 * cos(2.0 * t);
    assert_close(b.values[KD_RESIDUAL][KD_T][0], -3.0 * cos(t) - 2.0 * rod_place.du[0] - 2.0 * X1 * rod_place.lambda[0],
                 1e-6);
    assert_close(b.values[KD_RESIDUAL][KD_U][0], -2.0, 1e-6);
    assert_close(b.values[KD_G][KD_T][0],
                 -2.0 * (rod_place.p[0] - 0.1 * sin(2.0 * t)) * X1 - 2.0 * (1.4 + rod_place.u[0]) * rod_place.du[0],
                 1e-6);
}

// Contact coordinates: partial derivatives at fixed s, whole GZ in the multiplier columns.
static void test_contact(void **state)
{
    (void)state;
    place x = contact_place();
    compare_variants(contact(), &x, 2e-6);
}

// Quaternions: F_p Z for supplied derivatives, increments for differenced ones.
static void test_body(void **state)
{
    (void)state;
    compare_variants(body(), &body_place, 2e-6);
}

// Derivatives along increments are handed through when the definition says so.
static kd_eval increments_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *D)
{
    double F_p[21], Z[42];
    if (fn == KD_Q) return body_derivative(x, fn, var, part, context, D);
    kd_eval answer = body_derivative(x, fn, var, part, context, F_p);
    body_Z(x, context, Z);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 6; j++) {
            D[j * 3 + i] = 0.0;
            for (int k = 0; k < 7; k++) D[j * 3 + i] += F_p[k * 3 + i] * Z[j * 7 + k];
        }
    return answer;
}
static void test_increments(void **state)
{
    (void)state;
    static all_blocks a, b;
    kd_eom_def        def = body();
    all_derivatives(&def, &body_place, &a);
    def.p_increments = true;
    def.derivative = increments_derivative;
    all_derivatives(&def, &body_place, &b);
    compare_blocks(&def, &a, &b, 2e-6);
}

// Nonholonomic constraint: h_v = hI_a = HZ, residual_mu = (HZ)'.
static void test_skate(void **state)
{
    (void)state;
    compare_variants(skate(), &skate_place, 2e-6);
    static all_blocks b;
    kd_eom_def        def = skate();
    memset(def.given, 0, sizeof def.given);
    all_derivatives(&def, &skate_place, &b);
    double HZ[3] = {-sin(0.8), cos(0.8), 0.0};
    for (int j = 0; j < 3; j++) {
        assert_close(b.values[KD_H][KD_V][j], HZ[j], 1e-14);
        assert_close(b.values[KD_HI][KD_A][j], HZ[j], 1e-14);
        assert_close(b.values[KD_RESIDUAL][KD_MU][j], HZ[j], 1e-14);
    }
}

// Friction: f depends on lambda, and residual_lambda = (GZ)' - f_lambda, supplied or not.
static kd_eval friction_f(const kd_point *x, void *context, double *f)
{
    pendulum_f(x, context, f);
    f[0] -= 0.3 * x->lambda[0] * x->lambda[0] * x->v[0];
    return KD_EVAL_OK;
}
static kd_eval friction_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *D)
{
    if (fn != KD_FORCE || var != KD_LAMBDA) return pendulum_derivative(x, fn, var, part, context, D);
    D[0] = -0.6 * x->lambda[0] * x->v[0], D[1] = 0.0;
    return KD_EVAL_OK;
}
static void test_friction(void **state)
{
    (void)state;
    static all_blocks b;
    for (int supplied = 0; supplied < 2; supplied++) {
        kd_eom_def def = pendulum();
        def.f = friction_f;
        def.force_of_multipliers = true;
        def.derivative = friction_derivative;
        def.given[KD_RESIDUAL] = 0;
        def.given[KD_FORCE] = supplied ? KD_BIT(KD_LAMBDA) : 0;
        all_derivatives(&def, &pendulum_place, &b);
        const place *x = &pendulum_place;
        assert_close(b.values[KD_RESIDUAL][KD_LAMBDA][0], x->p[0] + 0.6 * x->lambda[0] * x->v[0], 1e-6);
        assert_close(b.values[KD_RESIDUAL][KD_LAMBDA][1], x->p[1], 1e-6);
        assert_close(b.values[KD_FORCE][KD_LAMBDA][0], -0.6 * x->lambda[0] * x->v[0], 1e-6);
    }
}

// Without constraints and with constant M, supplied f_p serves the residual: no evaluations for differences.
static kd_eval free_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *D)
{
    (void)fn, (void)part, (void)context;
    memset(D, 0, 9 * sizeof(double));
    if (var == KD_P)
        D[6] = -2.0 * sin(x->p[2]), D[8] = -0.1;
    else
        D[4] = -x->v[2], D[7] = -x->v[1];
    return KD_EVAL_OK;
}
static void test_force_blocks(void **state)
{
    (void)state;
    kd_eom_def def = skate();
    def.dims.nmu = 0;
    def.h = def.hI = NULL;
    def.given[KD_H] = 0;
    double supplied[2][9], differenced[2][9];
    for (int given = 1; given >= 0; given--) {
        def.derivative = given ? free_derivative : NULL;
        def.given[KD_FORCE] = given ? KD_BIT(KD_P) | KD_BIT(KD_V) : 0;
        kd_eom      *eom = make(&def);
        kd_eom_data *d = make_data(eom);
        kd_blocks    blocks = {0};
        blocks.block[KD_RESIDUAL][KD_P] = given ? supplied[0] : differenced[0];
        blocks.block[KD_RESIDUAL][KD_V] = given ? supplied[1] : differenced[1];
        go_to(d, &skate_place);
        assert_int_equal(kd_eom_derivatives(d, KD_PART_ALL, &blocks), KD_EVAL_OK);
        assert_int_equal(kd_eom_data_counters(d).for_differences, given ? 0 : 6);
        kd_eom_data_destroy(d);
        kd_eom_destroy(eom);
    }
    for (int i = 0; i < 9; i++) {
        assert_close(supplied[0][i], differenced[0][i], 2e-7);
        assert_close(supplied[1][i], differenced[1][i], 2e-7);
    }
}

// A function at the edge of its domain is differenced to the other side.
static kd_eval edge_f(const kd_point *x, void *context, double *f)
{
    if (x->p[0] > 0.9) return KD_EVAL_RETRY;
    pendulum_f(x, context, f);
    f[1] += 5.0 * x->p[0];
    return KD_EVAL_OK;
}
static void test_edge(void **state)
{
    (void)state;
    static all_blocks b;
    kd_eom_def        def = pendulum();
    def.f = edge_f;
    memset(def.given, 0, sizeof def.given);
    all_derivatives(&def, &pendulum_place, &b);
    assert_close(b.values[KD_FORCE][KD_P][1], 5.0, 1e-6);
}

// Parameters: also M, which is kept as constant, follows them.
static void test_parameters(void **state)
{
    (void)state;
    static all_blocks b;
    kd_eom_def        def = pendulum();
    kd_eom           *eom = make(&def);
    kd_eom_data      *d = make_data(eom);
    go_to(d, &pendulum_place);
    double    residual_m[2 * PENDULUM_THETA], M_m[4 * PENDULUM_THETA];
    kd_blocks blocks = {0};
    blocks.block[KD_RESIDUAL][KD_THETA] = residual_m;
    blocks.block[KD_MASS][KD_THETA] = M_m;
    assert_int_equal(kd_eom_derivatives(d, KD_PART_ALL, &blocks), KD_EVAL_OK);
    assert_close(residual_m[0], pendulum_place.a[0], 1e-6);
    assert_close(residual_m[1], pendulum_place.a[1] + 9.81, 1e-6);
    assert_close(M_m[0], 1.0, 1e-6);
    assert_close(M_m[1], 0.0, 1e-6);
    double M[4];
    assert_int_equal(kd_eom_eval(d, KD_MASS, M), KD_EVAL_OK);
    assert_true(M[0] == 2.0);
    (void)b;
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
}

// One moved column serves all functions; what is supplied or known costs no evaluations for differences.
static void test_cost(void **state)
{
    (void)state;
    static all_blocks b;
    kd_eom_def        def = pendulum();
    kd_eom           *eom = make(&def);
    kd_eom_data      *d = make_data(eom);
    kd_blocks         blocks = {0};
    blocks.block[KD_RESIDUAL][KD_P] = b.values[KD_RESIDUAL][KD_P];
    blocks.block[KD_RESIDUAL][KD_A] = b.values[KD_RESIDUAL][KD_A];
    blocks.block[KD_RESIDUAL][KD_LAMBDA] = b.values[KD_RESIDUAL][KD_LAMBDA];
    blocks.block[KD_GII][KD_A] = b.values[KD_GII][KD_A];
    go_to(d, &pendulum_place);
    assert_int_equal(kd_eom_derivatives(d, KD_PART_ALL, &blocks), KD_EVAL_OK);
    kd_eom_counters counters = kd_eom_data_counters(d);
    assert_int_equal(counters.for_differences, 0);
    assert_int_equal(counters.fn[KD_MASS], 1);
    assert_int_equal(counters.derivative, 3); // residual_p, gII_a, and g_p for GZ
    blocks.block[KD_Y][KD_P] = b.values[KD_Y][KD_P];
    blocks.block[KD_D][KD_P] = b.values[KD_D][KD_P];
    assert_int_equal(kd_eom_derivatives(d, KD_PART_ALL, &blocks), KD_EVAL_OK);
    counters = kd_eom_data_counters(d);
    assert_int_equal(counters.fn[KD_Y], 3); // at the point and for two columns
    assert_int_equal(counters.fn[KD_D], 3);
    assert_int_equal(counters.for_differences, 4);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pendulum),     cmocka_unit_test(test_residual_or_parts),
        cmocka_unit_test(test_rheonomic),    cmocka_unit_test(test_contact),
        cmocka_unit_test(test_body),         cmocka_unit_test(test_increments),
        cmocka_unit_test(test_skate),        cmocka_unit_test(test_friction),
        cmocka_unit_test(test_force_blocks), cmocka_unit_test(test_edge),
        cmocka_unit_test(test_parameters),   cmocka_unit_test(test_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
