// GZ, HZ, Z, oplus, M and f: every source gives the same.
#include "systems.h"

static void matrices(const kd_eom_def *def, const place *x, double *GZ, double *HZ)
{
    kd_eom      *eom = make(def);
    kd_eom_data *d = make_data(eom);
    kd_eom_at_time(d, x->t, x->u, x->du, x->ddu, x->z);
    kd_eom_at_position(d, x->p, x->s);
    if (kd_eom_constraint_matrices(d, GZ, HZ) != KD_EVAL_OK) fail_msg("%s", kd_eom_data_message(d));
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
}

static kd_eval contact_derivative_v(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *D)
{
    if (fn != KD_GI || var != KD_V) return contact_derivative(x, fn, var, part, context, D);
    for (int j = 0; j < 2; j++) { // gI is linear in v
        double   v[2] = {j == 0, j == 1}, rest[2] = {0.0, 0.0}, value;
        kd_point y = *x;
        y.v = v;
        contact_gI(&y, context, &D[j]);
        y.v = rest;
        contact_gI(&y, context, &value);
        D[j] -= value;
    }
    return KD_EVAL_OK;
}

// From g_p, g_s, c_s, c_p; from gI_v; from gI by unit velocities; from g and c by differences.
static void test_sources(void **state)
{
    (void)state;
    place      x = contact_place();
    kd_eom_def def = contact();
    double     GZ[2], other[2];
    def.gI = NULL;
    matrices(&def, &x, GZ, NULL);
    def.derivative = contact_derivative_v;
    def.given[KD_GI] = KD_BIT(KD_V);
    matrices(&def, &x, other, NULL);
    assert_close(other[0], GZ[0], 1e-14);
    assert_close(other[1], GZ[1], 1e-14);
    memset(def.given, 0, sizeof def.given);
    matrices(&def, &x, other, NULL);
    assert_close(other[0], GZ[0], 1e-11);
    assert_close(other[1], GZ[1], 1e-11);
    def.gI = contact_gI;
    matrices(&def, &x, other, NULL);
    assert_close(other[0], GZ[0], 1e-14);
    assert_close(other[1], GZ[1], 1e-14);
}

// On the manifold of rotations: G Z from g_p, from gI and from differences along increments.
static void test_body(void **state)
{
    (void)state;
    kd_eom_def def = body();
    double     GZ[18], other[18];
    matrices(&def, &body_place, GZ, NULL);
    for (int variant = 0; variant < 3; variant++) {
        memset(def.given, 0, sizeof def.given);
        if (variant == 1) def.Z = NULL;
        if (variant == 2) def.gI = NULL;
        matrices(&def, &body_place, other, NULL);
        for (int i = 0; i < 18; i++) assert_close(other[i], GZ[i], 1e-11);
    }
}

// H Z from supplied h_v and by unit velocities.
static void test_nonholonomic(void **state)
{
    (void)state;
    kd_eom_def def = skate();
    double     HZ[3], other[3];
    matrices(&def, &skate_place, NULL, HZ);
    memset(def.given, 0, sizeof def.given);
    matrices(&def, &skate_place, NULL, other);
    for (int i = 0; i < 3; i++) assert_close(other[i], HZ[i], 1e-15);
}

static kd_eval flat_c(const kd_point *x, void *context, double *c)
{
    contact_c(x, context, c);
    c[1] = 2.0 * c[0];
    return KD_EVAL_OK;
}
// Equations 0 = c that do not determine s are reported as such.
static void test_singular_c_s(void **state)
{
    (void)state;
    place      x = contact_place();
    kd_eom_def def = contact();
    def.c = flat_c;
    def.gI = NULL;
    memset(def.given, 0, sizeof def.given);
    kd_eom      *eom = make(&def);
    kd_eom_data *d = make_data(eom);
    double       GZ[2];
    go_to(d, &x);
    assert_int_equal(kd_eom_constraint_matrices(d, GZ, NULL), KD_EVAL_RETRY);
    assert_int_equal(kd_eom_data_fault(d).status, KD_ERR_SINGULAR_CS);
    assert_non_null(strstr(kd_eom_data_message(d), "c_s is singular"));
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
}

// Z from its function, from kinematics, and I.
static void test_Z(void **state)
{
    (void)state;
    kd_eom_def def = body();
    double     Z[42], other[42], moved[7];
    for (int variant = 0; variant < 3; variant++) {
        if (variant == 1) def.kinematics = NULL;
        if (variant == 2) def.kinematics = body_kinematics, def.Z = NULL;
        kd_eom      *eom = make(&def);
        kd_eom_data *d = make_data(eom);
        go_to(d, &body_place);
        assert_int_equal(kd_eom_Z(d, variant == 0 ? Z : other), KD_EVAL_OK);
        assert_int_equal(kd_eom_eval(d, KD_KINEMATICS, moved), KD_EVAL_OK);
        for (int i = 0; i < 7; i++) {
            double sum = 0.0;
            for (int j = 0; j < 6; j++) sum += Z[j * 7 + i] * body_place.v[j];
            assert_close(moved[i], sum, 1e-15);
        }
        for (int i = 0; i < 42 && variant > 0; i++) assert_close(other[i], Z[i], 1e-15);
        kd_eom_data_destroy(d);
        kd_eom_destroy(eom);
    }
}

// oplus of the library against the quaternion exponential: third-order error, unit norm to rounding, point untouched.
static void test_oplus(void **state)
{
    (void)state;
    for (int supplied = 0; supplied < 2; supplied++) {
        kd_eom_def def = body();
        def.oplus = NULL;
        if (!supplied) memset(def.given, 0, sizeof def.given);
        kd_eom      *eom = make(&def);
        kd_eom_data *d = make_data(eom);
        go_to(d, &body_place);
        kd_point before = *kd_eom_point(d);
        double   error[2], exact[7], moved[7];
        for (int k = 0; k < 2; k++) {
            double e[6];
            for (int i = 0; i < 6; i++) e[i] = body_place.v[i] * (k == 0 ? 0.02 : 0.01);
            body_oplus(body_place.p, e, NULL, exact);
            assert_int_equal(kd_eom_oplus(d, body_place.p, e, moved), KD_EVAL_OK);
            error[k] = 0.0;
            for (int i = 0; i < 7; i++) error[k] = fmax(error[k], fabs(moved[i] - exact[i]));
            double norm = moved[3] * moved[3] + moved[4] * moved[4] + moved[5] * moved[5] + moved[6] * moved[6];
            assert_close(norm, 1.0, 1e-15);
        }
        assert_true(error[0] > 0.0 && error[0] < 1e-5);
        assert_close(log2(error[0] / error[1]), 3.0, 0.05);
        assert_memory_equal(&before, kd_eom_point(d), sizeof before);
        // in place, and from a point that is not normalised
        memcpy(moved, body_place.p, sizeof moved);
        moved[3] *= 1.1;
        assert_int_equal(kd_eom_oplus(d, moved, body_place.v, moved), KD_EVAL_OK);
        assert_close(moved[3] * moved[3] + moved[4] * moved[4] + moved[5] * moved[5] + moved[6] * moved[6], 1.0, 1e-14);
        kd_eom_data_destroy(d);
        kd_eom_destroy(eom);
    }
    // Z = I: the sum
    kd_eom_def   def = pendulum();
    kd_eom      *eom = make(&def);
    kd_eom_data *d = make_data(eom);
    double       moved[2];
    assert_int_equal(kd_eom_oplus(d, pendulum_place.p, pendulum_place.v, moved), KD_EVAL_OK);
    assert_true(moved[0] == 0.9 + 1.2 && moved[1] == -1.2 + 0.9);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
}

// Residual from M and f; M and f from the residual, also before velocities are set.
static void test_dynamics(void **state)
{
    (void)state;
    kd_eom_def def[2] = {pendulum(), pendulum()};
    double     M[2][4], f[2][2], residual[2][2];
    def[1].M = def[1].f = NULL;
    def[1].residual = pendulum_residual;
    for (int i = 0; i < 2; i++) {
        kd_eom      *eom = make(&def[i]);
        kd_eom_data *d = make_data(eom);
        kd_eom_at_time(d, 0.3, NULL, NULL, NULL, NULL);
        kd_eom_at_position(d, pendulum_place.p, NULL);
        assert_int_equal(kd_eom_eval(d, KD_MASS, M[i]), KD_EVAL_OK);
        go_to(d, &pendulum_place);
        assert_int_equal(kd_eom_eval(d, KD_FORCE, f[i]), KD_EVAL_OK);
        assert_int_equal(kd_eom_eval(d, KD_RESIDUAL, residual[i]), KD_EVAL_OK);
        kd_eom_data_destroy(d);
        kd_eom_destroy(eom);
    }
    for (int i = 0; i < 4; i++) assert_close(M[1][i], M[0][i], 1e-15);
    for (int i = 0; i < 2; i++) {
        assert_close(f[1][i], f[0][i], 1e-15);
        assert_close(residual[1][i], residual[0][i], 1e-14);
    }
}

// A full, varying M and a nonholonomic constraint enter the residual as written.
static void test_residual_terms(void **state)
{
    (void)state;
    kd_eom_def   def = rod();
    kd_eom      *eom = make(&def);
    kd_eom_data *d = make_data(eom);
    double       out[3], M[4], f[2];
    kd_point     x = {.t = rod_place.t, .u = rod_place.u, .p = rod_place.p, .v = rod_place.v};
    go_to(d, &rod_place);
    assert_int_equal(kd_eom_eval(d, KD_RESIDUAL, out), KD_EVAL_OK);
    rod_M(&x, NULL, M);
    rod_f(&x, NULL, f);
    double G[2] = {2.0 * (1.1 - 0.1 * sin(1.4)), -2.0};
    for (int i = 0; i < 2; i++)
        assert_close(out[i], M[i] * rod_place.a[0] + M[2 + i] * rod_place.a[1] - f[i] + G[i] * 2.5, 1e-14);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);

    def = skate();
    eom = make(&def);
    d = make_data(eom);
    go_to(d, &skate_place);
    assert_int_equal(kd_eom_eval(d, KD_RESIDUAL, out), KD_EVAL_OK);
    assert_close(out[0], 3.0 * 0.5 - 2.0 * cos(0.8) - 4.0 * sin(0.8), 1e-14);
    assert_close(out[2], 0.7 * -2.0 + 0.08, 1e-14);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
}

// A diagonal M: only the diagonal counts, other entries need not even be written.
static kd_eval only_diagonal(const kd_point *x, void *context, double *M)
{
    (void)x;
    (void)context;
    M[0] = 2.0, M[3] = 3.0, M[1] = 77.0;
    return KD_EVAL_OK;
}
static void test_diagonal(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.M = only_diagonal;
    def.mass_structure = KD_MASS_DIAGONAL;
    kd_eom      *eom = make(&def);
    kd_eom_data *d = make_data(eom);
    double       M[4] = {NAN, NAN, NAN, NAN};
    go_to(d, &pendulum_place);
    assert_int_equal(kd_eom_eval(d, KD_MASS, M), KD_EVAL_OK);
    assert_true(M[0] == 2.0 && M[1] == 0.0 && M[2] == 0.0 && M[3] == 3.0);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_body),
        cmocka_unit_test(test_nonholonomic),
        cmocka_unit_test(test_singular_c_s),
        cmocka_unit_test(test_Z),
        cmocka_unit_test(test_oplus),
        cmocka_unit_test(test_dynamics),
        cmocka_unit_test(test_residual_terms),
        cmocka_unit_test(test_diagonal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
