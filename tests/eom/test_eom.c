// The constant object: definitions are checked with words, sizes and names answered, dependencies known.
#include "systems.h"

static void refused(const kd_eom_def *def, const char *expected)
{
    char    message[256];
    kd_eom *eom = (kd_eom *)(void *)message;
    assert_int_equal(kd_eom_create(def, &eom, message, sizeof message), KD_ERR_DEFINITION);
    assert_null(eom);
    if (!strstr(message, expected)) fail_msg("expected '%s' in '%s'", expected, message);
}

// Every function that a size demands is missed by name.
static void test_missing_functions(void **state)
{
    (void)state;
    kd_eom_def def;
#define MISSING(system, member, expected)                                                                              \
    def = system();                                                                                                    \
    def.member = NULL;                                                                                                 \
    refused(&def, expected)
    MISSING(pendulum, b, "b is missing: dims.nr = 1");
    MISSING(pendulum, d, "d is missing: dims.nw = 1");
    MISSING(pendulum, g, "g is missing: dims.nlambda = 1");
    MISSING(pendulum, e, "e is missing: dims.ne = 1");
    MISSING(pendulum, y, "y is missing: dims.ny = 2");
    MISSING(pendulum, f, "f is missing: give residual, or M and f");
    MISSING(pendulum, M, "M is missing: give residual, or M and f");
    MISSING(pendulum, theta, "theta is missing: dims.ntheta = 2");
    MISSING(pendulum, derivative, "derivative is missing");
    MISSING(contact, c, "c is missing: dims.ns = 2");
    MISSING(skate, h, "h is missing: dims.nmu = 1");
    MISSING(body, q, "q is missing: dims.nq = 1");
#undef MISSING
    def = body();
    def.Z = def.kinematics = NULL;
    refused(&def, "kinematics or Z is missing: np = 7 and nv = 6 differ");
    def = pendulum(); // np = nv: Z = I would be taken, but then q_p Z = 0 cannot hold
    def.dims.nq = 1;
    def.q = pendulum_e;
    refused(&def, "kinematics or Z is missing: norm equations q (nq = 1)");
    def = pendulum();
    def.dims.nswitch = 1;
    refused(&def, "switching is missing: dims.nswitch = 1");
}

// Functions without a size, sizes that contradict each other, promises that contradict each other.
static void test_contradictions(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.dims.ne = 0;
    refused(&def, "e is given, but dims.ne = 0");
    def = skate();
    def.gII = rod_gII;
    refused(&def, "gII is given, but dims.nlambda = 0");
    def = pendulum();
    def.dims.nr = -1;
    refused(&def, "dims.nr = -1");
    def = pendulum();
    def.dims.np = 1;
    refused(&def, "np = 1 is smaller than nv = 2");
    for (int count = -1; count <= 1; count += 2) {
        def = pendulum();
        def.ncounted = count;
        refused(&def, "is not between 0 and np - nv = 0");
    }
    def = pendulum();
    def.zero[KD_G] = KD_BIT(KD_P);
    refused(&def, "both in given[] and in zero[]");
    def = pendulum();
    def.given[KD_G] |= KD_BIT(KD_V);
    refused(&def, "constraint g by v, on which it must not depend");
    def = pendulum();
    def.given[KD_FORCE] = KD_BIT(KD_LAMBDA);
    refused(&def, "unless force_of_multipliers is set");
    def = pendulum();
    def.mass_structure = (kd_mass_structure)9;
    refused(&def, "mass_structure = 9");
    def = pendulum();
    def.cookie = 0;
    refused(&def, "kd_eom_def_default");
    def = kd_eom_def_default();
    refused(&def, "the definition is empty");
}

// NULL arguments are refused; no message buffer is fine.
static void test_arguments(void **state)
{
    (void)state;
    kd_eom    *eom;
    kd_eom_def def = pendulum();
    assert_int_equal(kd_eom_create(NULL, &eom, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_eom_create(&def, NULL, NULL, 0), KD_ERR_ARGUMENT);
    def.b = NULL;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_ERR_DEFINITION);
    kd_eom_destroy(NULL);
    kd_eom_data_destroy(NULL);
    kd_state_destroy(NULL);
}

// Title and parameters are copies: the definition may go away.
static void test_copies(void **state)
{
    (void)state;
    char       title[] = "a title";
    double     theta[2] = {2.0, 1.5};
    kd_eom_def def = pendulum();
    def.title = title;
    def.theta = theta;
    kd_eom *eom = make(&def);
    title[0] = 'X';
    theta[0] = 99.0;
    assert_string_equal(kd_eom_title(eom), "a title");
    assert_true(kd_eom_definition(eom)->theta[0] == 2.0);
    kd_eom_destroy(eom);
}

// Sizes of functions and of derivatives: increments for p.
static void test_sizes(void **state)
{
    (void)state;
    kd_eom_def def = body();
    kd_eom    *eom = make(&def);
    assert_int_equal(kd_eom_dims(eom).np, 7);
    assert_int_equal(kd_eom_rows(eom, KD_KINEMATICS), 7);
    assert_int_equal(kd_eom_rows(eom, KD_RESIDUAL), 6);
    assert_int_equal(kd_eom_rows(eom, KD_MASS), 36);
    assert_int_equal(kd_eom_rows(eom, KD_GII), 3);
    assert_int_equal(kd_eom_columns(eom, KD_P), 6);
    assert_int_equal(kd_eom_columns(eom, KD_T), 1);
    assert_int_equal(kd_eom_columns(eom, KD_R), 0);
    kd_eom_destroy(eom);
}

// Names come from the definition, or are made from kind and number.
static void test_names(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    kd_eom    *eom = make(&def);
    char       buffer[32];
    assert_string_equal(kd_eom_name(eom, KD_NAME_P, 1, buffer, sizeof buffer), "y");
    assert_string_equal(kd_eom_name(eom, KD_NAME_LAMBDA, 0, buffer, sizeof buffer), "rod length");
    assert_string_equal(kd_eom_name(eom, KD_NAME_V, 1, buffer, sizeof buffer), "rate of 'y'");
    assert_string_equal(kd_eom_name(eom, KD_NAME_SWITCH, 3, buffer, sizeof buffer), "switch[3]");
    assert_string_equal(kd_eom_name(eom, KD_NAME_LAMBDA, 0, buffer, 4), "rod");
    kd_eom_destroy(eom);
}

// Dependencies follow from the equations, from sizes and from what the definition promises.
static void test_dependencies(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    kd_eom    *eom = make(&def);
    assert_true(kd_eom_depends(eom, KD_RESIDUAL, KD_A));
    assert_true(kd_eom_depends(eom, KD_RESIDUAL, KD_LAMBDA));
    assert_false(kd_eom_depends(eom, KD_FORCE, KD_LAMBDA)); // no force_of_multipliers
    assert_false(kd_eom_depends(eom, KD_RESIDUAL, KD_R));   // zero[]
    assert_false(kd_eom_depends(eom, KD_RESIDUAL, KD_T));   // autonomous
    assert_false(kd_eom_depends(eom, KD_RESIDUAL, KD_S));   // ns = 0
    assert_false(kd_eom_depends(eom, KD_G, KD_V));          // position level
    assert_false(kd_eom_depends(eom, KD_MASS, KD_P));       // constant
    assert_true(kd_eom_depends(eom, KD_MASS, KD_THETA));
    assert_false(kd_eom_depends(eom, KD_C, KD_P)); // no rows
    kd_eom_destroy(eom);
    def = rod();
    def.autonomous = true; // inputs still move with time
    eom = make(&def);
    assert_true(kd_eom_depends(eom, KD_G, KD_T));
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_functions),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_dependencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
