// Models of the gallery that read numbers from files.
#include "gallery_run.h"

#include <kardan/query.h>

static table result; // of the last run

// Both travels against DOP853 of SciPy with rtol 1e-12, with its splines through the same files.
static void measured_road(void **state)
{
    static const double expected[][3] = {
        {0.5, 0.00128718687309, 0.00644040888704},    {1.0, 0.00163285754231, 0.00253343902483},
        {1.5, -0.00358137736257, 0.00315786648998},   {2.0, -0.000180563379323, 0.00616731616678},
        {2.5, -0.000666541561414, -0.00577933737045}, {2.95, 0.00297713794762, -0.00451921572182}};
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("measured-road", NULL, BOTH[c], 2.95, 59, &result);
        for (int i = 0; i < 6; i++) {
            const int row = (int)(expected[i][0] / 0.05 + 0.5);
            assert_close(result.t[row], expected[i][0], 1e-12);
            assert_close(at(&result, row, "tyre"), expected[i][1], 3e-7);
            assert_close(at(&result, row, "strut"), expected[i][2], 3e-7);
        }
        assert_false(result.certificate.noticed);
    }
}

// The damper is left beyond 2 m/s at a rough speed: that is told; the road ends: that is the end of the run, with its reason.
static void ends_of_tables_are_told(void **state)
{
    char message[3000] = "";
    (void)state;
    kd_model             *model = read_gallery("measured-road", "speed=30");
    kd_system            *s = NULL;
    kd_state             *x = NULL;
    kd_simulation        *sim = NULL;
    kd_simulation_options opt = kd_simulation_options_default();
    assert_int_equal(kd_system_create(model, NULL, &s, message, sizeof message), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(s), &x), KD_OK);
    assert_true(kd_system_start(s, x, message, sizeof message) >= 0);
    assert_true(kd_simulation_create(kd_system_eom(s), kd_system_inputs(s), &opt, x, &sim, message, sizeof message) >=
                0);
    assert_true(kd_simulation_run(sim, 3.0) < 0);
    assert_true(fabs(x->t - 2.0) < 1e-6);
    if (!strstr(kd_simulation_message(sim), "curve 'road' is read at x = 60") ||
        !strstr(kd_simulation_message(sim), "but its rows go from 0 to 60, and it says 'outside: error'"))
        fail_msg("%s", kd_simulation_message(sim));
    kd_simulation_destroy(sim);
    kd_state_destroy(x);
    kd_system_destroy(s);
    kd_model_destroy(model);
    // the signal of the current ends after 3 s and is held
    run_model("measured-road", "speed=15", KD_JOINT, 3.2, 64, &result);
    assert_true(result.certificate.noticed);
    assert_true(result.certificate.notice_time > 3.0 && result.certificate.notice_time <= 3.0125);
    assert_int_equal(strncmp(result.certificate.notice, "curve 'current' is read at x = 3.0", 34), 0);
    assert_non_null(strstr(result.certificate.notice, ", but its rows go from 0 to 3"));
}

static const double WHEEL_MASS = 1.310388502582355,
                    WHEEL_INERTIA = 0.0021188162802436416; // of its polygons, about its axis

static double inertia(double q)
{
    (void)q;
    return WHEEL_INERTIA + WHEEL_MASS * 0.015 * 0.015;
}

static double potential(double q)
{
    return -WHEEL_MASS * GRAVITY * 0.015 * cos(q);
}

// The wheel from the file has mass and inertia of the prism over its polygons, and swings as they say.
static void gear_pendulum(void **state)
{
    (void)state;
    kd_model          *model = read_gallery("gear-pendulum", NULL);
    const kd_body_def *wheel = kd_model_body_def(model, 0);
    assert_close(wheel->mass, WHEEL_MASS, 1e-7 * WHEEL_MASS);
    assert_close(wheel->inertia[2], WHEEL_INERTIA, 1e-7 * WHEEL_INERTIA);
    assert_close(kd_model_body_def(model, 1)->mass, 0.5, 0.0);
    kd_model_destroy(model);
    one_dof pendulum = {inertia, potential, NULL};
    for (int c = 0; c < 2; c++) {
        double y[2] = {2.0, 0.0};
        run_model("gear-pendulum", NULL, BOTH[c], 5.0, 50, &result);
        runge_kutta(one_dof_rate, &pendulum, 2, 0.0, 5.0, 20000, y);
        assert_close(at(&result, -1, "angle"), y[0], 2e-5);
        assert_close(at(&result, 0, "height"), -0.015 * cos(2.0), 1e-9);
    }
}

static void turn(double t, const double *y, void *context, double *dy)
{
    (void)t, (void)context;
    dy[0] = y[1];
    dy[1] = -GRAVITY * sin(y[0]);
}

// The bead on the closed wire makes five turns as the pendulum that it is; the spline of the wire bends a little otherwise.
static void bead(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        double y[2] = {0.0, 8.0};
        run_model("bead", NULL, BOTH[c], 5.0, 50, &result);
        runge_kutta(turn, NULL, 2, 0.0, 5.0, 20000, y);
        assert_close(at(&result, -1, "x"), 0.3 + sin(y[0]), 1e-4);
        assert_close(at(&result, -1, "z"), -cos(y[0]), 1e-4);
        assert_true(y[0] > 10 * 3.14);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(measured_road), cmocka_unit_test(ends_of_tables_are_told),
                                       cmocka_unit_test(gear_pendulum), cmocka_unit_test(bead)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
