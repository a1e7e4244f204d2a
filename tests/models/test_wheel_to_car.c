// The ten steps of docs/guide/subsystems.md, from one wheel to a car: every file runs and does what the guide says.
#define _POSIX_C_SOURCE 200809L
#include "gallery_run.h"

static table result;

static void run_step(const char *file, const char *settings, double t_end)
{
    char path[100];
    snprintf(path, sizeof path, "../docs/guide/wheel-to-car/%s.yaml", file);
    run_model(path, settings, KD_JOINT, t_end, 10, &result);
}

// Parts alone: what they need has defaults.
static void parts_run_alone(void **state)
{
    (void)state;
    run_step("01-wheel", NULL, 1);
    assert_int_equal(result.info.dof, 6);
    run_step("wheel", "v=3", 1);
    assert_int_equal(result.info.dof, 1);
    run_step("corner", NULL, 1);
    assert_int_equal(result.info.dof, 2);
}

// At rest tyres carry what is above them; with a harder spring the arm turns less; left is right.
static void loads_are_carried(void **state)
{
    (void)state;
    run_step("03-load", NULL, 20);
    assert_close(at(&result, -1, "load"), (300 + 20) * GRAVITY, 0.1);
    run_step("05-corner", "hard=1", 5);
    const double soft = at(&result, -1, "travel");
    run_step("05-corner", NULL, 5);
    assert_close(at(&result, -1, "load"), (300 + 12 + 20) * GRAVITY, 60); // the arm pulls the tyre sideways
    assert_true(fabs(at(&result, -1, "travel")) < fabs(soft));
    run_step("06-axle", NULL, 5);
    for (int k = 0; k <= 10; k++) assert_close(at(&result, k, "left"), at(&result, k, "right"), 1e-6);
}

// Four corners carry the car by the lever rule; it speeds up as the torque says; a box on the roof weighs.
static void cars_drive(void **state)
{
    const double corners = 4 * (12 + 20);
    (void)state;
    run_step("07-four", NULL, 10);
    assert_close(at(&result, -1, "front") + at(&result, -1, "rear"), (1200 + corners) * GRAVITY, 1);
    assert_true(at(&result, -1, "front") > at(&result, -1, "rear")); // its centre is in front of the middle
    run_step("08-drive", NULL, 3);
    // the radius of a loaded tyre is the lever of its force
    const double R = 0.3 - 3257 / 200e3, gained = 2 * 150 / R / (1200 + corners + 4 * 1 / (R * R)) * (3 - 0.4);
    assert_close(at(&result, -1, "speed"), 5 + gained, 0.05);
    run_step("09-other-spring", NULL, 10);
    assert_close(at(&result, -1, "load"), (1240 + corners) * GRAVITY, 1);
    run_step("09-other-spring", "box=0", 10);
    assert_close(at(&result, -1, "load"), (1200 + corners) * GRAVITY, 1);
    run_step("10-car", "left(1).k=60e3 right(1).k=60e3", 4);
    assert_true(at(&result, -1, "speed") > 6);
    assert_int_equal(result.info.dof, 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_run_alone),
        cmocka_unit_test(loads_are_carried),
        cmocka_unit_test(cars_drive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
