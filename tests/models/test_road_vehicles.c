// Vehicles on tyres from files and on roads: standing on a slope, braking on split friction.
#include "models/gallery_run.h"

static table result[2];

// Brakes stop the car on a slope of 20 %, and then it stands there: loads and forces are those of statics, and in 1000 s it moves by
// less than 1e-9 m.
static void hill_hold(void **state)
{
    const double tilt = atan(0.2), weight = (1400 + 4 * 49) * GRAVITY;
    double       low = INFINITY, high = -INFINITY;
    (void)state;
    run_model("hill-hold", NULL, KD_JOINT, 1040, 52, &result[0]);
    for (int k = 2; k <= 52; k++) low = fmin(low, at(&result[0], k, "x")), high = fmax(high, at(&result[0], k, "x"));
    if (!(high - low < 1e-9)) fail_msg("the car creeps by %g m", high - low);
    assert_close(at(&result[0], -1, "push"), weight * sin(tilt), 1e-3);
    assert_close(2 * (at(&result[0], -1, "load(1)") + at(&result[0], -1, "load(2)")), weight * cos(tilt), 1e-3);
    assert_close(at(&result[0], -1, "y"), 0, 1e-9);
    assert_true(at(&result[0], -1, "x") > 10 && at(&result[0], -1, "x") < 15);
    // without enough friction it slides down
    run_model("hill-hold", "grip=0.15 brake=0", KD_JOINT, 5, 5, &result[0]);
    assert_true(at(&result[0], -1, "speed") < -0.5);
}

// Locked wheels on ice push back with the sliding force of TMeasy, the others with more; the car turns to the side of the grip, in
// both coordinate sets alike.
static void split_grip(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) run_model("split-grip", NULL, BOTH[c], 1.2, 12, &result[c]);
    const double Fz = at(&result[0], 12, "load(2)"), q = Fz / 4000;
    const double sliding = 0.15 * q * (2 * 3400 - 3200 - (3400 - 3200) * q);
    assert_close(at(&result[0], 12, "spin(2)"), 0, 1e-9);
    assert_close(at(&result[0], 12, "push(2)"), -sliding, 0.02 * sliding);
    assert_true(at(&result[0], 12, "push(1)") < -2.5e3 && at(&result[0], 12, "yaw") > 0.1);
    assert_close(at(&result[0], 4, "yaw"), 0, 1e-4); // before braking it goes straight
    for (int k = 0; k <= 12; k++) {
        assert_close(at(&result[0], k, "x"), at(&result[1], k, "x"), 1e-4);
        assert_close(at(&result[0], k, "y"), at(&result[1], k, "y"), 1e-4);
    }
}

// A wheel that rolls slowly follows the road of its file, banked and rising; the tyre carries the weight.
static void rough_curve(void **state)
{
    const double weight = 390 * GRAVITY;
    (void)state;
    run_model("rough-curve", "speed=0.5", KD_JOINT, 40, 40, &result[0]);
    // at x = 2, 10.5 and 20: before the sill, on it, behind it
    const double level = at(&result[0], 10, "wheel"), raised = at(&result[0], 17, "wheel");
    assert_close(at(&result[0], 17, "x"), 10.5, 1e-9);
    assert_close(raised - level, 0.03, 2e-3);
    assert_close(at(&result[0], 30, "wheel"), level, 1e-3);
    assert_close(at(&result[0], 10, "load"), weight, 0.01 * weight);
    for (int c = 0; c < 2; c++) run_model("rough-curve", NULL, BOTH[c], 2, 10, &result[c]);
    for (int k = 0; k <= 10; k++) assert_close(at(&result[0], k, "cab"), at(&result[1], k, "cab"), 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hill_hold), cmocka_unit_test(split_grip),
                                       cmocka_unit_test(rough_curve)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
