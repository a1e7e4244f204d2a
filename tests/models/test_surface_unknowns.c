// Contact with surface coordinates s as unknowns of the equations, 0 = c(p, s), beside contact that solves for them inside
// of the element: the same motion (S1 Eq. 24 to 28). Each model has both, for bodies that are alike.
#include "system/text_subject.h"

// At `times` instants the sensors NAME-inside and NAME-outside agree, and they did move.
static void moves_alike(const char *file, kd_coordinates coordinates, double end, double tolerance)
{
    static const char *const names[] = {"height", "tilt", "normal"};
    static const double      moves[] = {1e-3, 1e-2, 5.0}; // at least [m, 1, N]
    subject                  s = {0};
    kd_system_options        opt = kd_system_options_default();
    char                     path[400];
    double                   first[3] = {0}, most[3] = {0};
    opt.coordinates = coordinates;
    (void)snprintf(path, sizeof path, KD_SOURCE_DIR "/tests/models/%s.yaml", file);
    if (kd_model_read(path, NULL, 0, &s.model, s.message, sizeof s.message) < 0 ||
        kd_system_create(s.model, &opt, &s.system, s.message, sizeof s.message) < 0)
        fail_msg("%s", s.message);
    assert_int_equal(kd_state_create(kd_system_eom(s.system), &s.x), KD_OK);
    if (kd_system_start(s.system, s.x, s.message, sizeof s.message) < 0) fail_msg("%s", s.message);
    enum { TIMES = 12 };
    for (int i = 0; i <= TIMES; i++) {
        if (i > 0 && run_to(&s, end * i / TIMES) < 0) fail_msg("%s", s.message);
        for (int k = 0; k < 3; k++) {
            char name[2][60];
            (void)snprintf(name[0], sizeof name[0], "sensor.%s-inside", names[k]);
            (void)snprintf(name[1], sizeof name[1], "sensor.%s-outside", names[k]);
            const double a = read_name(&s, name[0]), b = read_name(&s, name[1]);
            // a depth of 1e-3 m presses with 1e4 N/m and more
            if (!(fabs(a - b) <= tolerance * (k == 2 ? 1e5 : 1.0)))
                fail_msg("%s, %s at t = %g: %.12g inside, %.12g as unknowns", file, names[k], s.x->t, a, b);
            if (i == 0) first[k] = a;
            most[k] = fmax(most[k], fabs(a - first[k]));
        }
    }
    for (int k = 0; k < 3; k++) assert_true(most[k] > moves[k]);
    close_subject(&s);
}

// An ellipsoid that dances on an elastic plane, with flights between.
static void ellipsoid_on_a_plane(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) moves_alike("unknown-on-plane", BOTH[k], 0.4, 2e-8);
}

// Two moving ellipsoids: four surface coordinates.
static void two_ellipsoids(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) moves_alike("unknown-pair", BOTH[k], 0.3, 2e-8);
}

// The solution as unknowns has exact derivatives, too.
static void derivatives_are_exact(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        subject           s = {0};
        kd_system_options opt = kd_system_options_default();
        char              report[2000] = "";
        opt.coordinates = BOTH[k];
        assert_true(kd_model_read(KD_SOURCE_DIR "/tests/models/unknown-pair.yaml", NULL, 0, &s.model, s.message,
                                  sizeof s.message) >= 0);
        assert_true(kd_system_create(s.model, &opt, &s.system, s.message, sizeof s.message) >= 0);
        assert_int_equal(kd_state_create(kd_system_eom(s.system), &s.x), KD_OK);
        assert_true(kd_system_start(s.system, s.x, s.message, sizeof s.message) >= 0);
        assert_true(run_to(&s, 0.05) >= 0);
        if (kd_eom_check(kd_system_eom(s.system), kd_system_inputs(s.system), s.x, NULL, report, sizeof report) !=
            KD_OK)
            fail_msg("%s", report);
        close_subject(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ellipsoid_on_a_plane),
        cmocka_unit_test(two_ellipsoids),
        cmocka_unit_test(derivatives_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
