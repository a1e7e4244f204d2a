// Flexible bodies of the gallery: both coordinate sets, critical speed, statics; keys of a flexible body in a file.
#include "gallery_run.h"

static table result, other; // of the last runs

// The lowest and the highest imaginary part of the eigenvalues at the start
static double lowest_frequency(const char *name, const char *settings)
{
    kd_model  *model = read_gallery(name, settings);
    kd_system *s = NULL;
    kd_state  *x = NULL;
    kd_linear *linear = NULL;
    kd_modes  *modes = NULL;
    double     lowest = INFINITY;
    assert_int_equal(kd_system_create(model, NULL, &s, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(s), &x), KD_OK);
    assert_true(kd_system_start(s, x, NULL, 0) >= 0);
    assert_true(kd_linearize(kd_system_eom(s), kd_system_inputs(s), NULL, x, &linear, NULL, 0) >= 0);
    assert_int_equal(kd_modes_create(linear, &modes), KD_OK);
    for (int i = 0; i < modes->n; i++)
        if (modes->imaginary[i] > 0) lowest = fmin(lowest, modes->imaginary[i]);
    kd_modes_destroy(modes);
    kd_linear_destroy(linear);
    kd_state_destroy(x);
    kd_system_destroy(s);
    kd_model_destroy(model);
    return lowest;
}

// The same motion in joint and Cartesian coordinates.
static void slider_crank(void **state)
{
    (void)state;
    run_model("flexible-slider-crank", NULL, KD_JOINT, 0.02, 20, &result);
    run_model("flexible-slider-crank", NULL, KD_CARTESIAN, 0.02, 20, &other);
    for (int k = 0; k <= 20; k++)
        assert_close(at(&result, k, "slider_position"), at(&other, k, "slider_position"), 1e-7);
}

// Clamped at one end, supported at the other, mass m in the middle: sqrt(768 E I/(7 L^3)/(m + share of the shaft)); the shaft of
// 2.47 kg moves with about 0.4 of its mass
static void rotor(void **state)
{
    const double EI = 210e9 * PI / 4 * pow(0.01, 4), shaft = 7850 * PI * 1e-4;
    const double low = sqrt(768 * EI / 7 / (10.1 + 0.5 * shaft)), high = sqrt(768 * EI / 7 / (10.1 + 0.3 * shaft));
    (void)state;
    const double found = lowest_frequency("flexible-rotor", NULL);
    assert_true(found > low && found < high);
}

// A fibre at the chuck has F L r/I cos(angle), one in the middle half of it; von Mises has no sign. Inner damping turns the deflection by
// 2 zeta speed/omega_1 (0.001 here). Both coordinate sets read the same.
static void rotating_bending(void **state)
{
    (void)state;
    const double most = 100 * 0.2 * 0.005 / (PI / 4 * pow(0.005, 4));
    run_model("rotating-bending", NULL, KD_JOINT, 0.5, 90, &result);
    run_model("rotating-bending", NULL, KD_CARTESIAN, 0.5, 90, &other);
    for (int k = 45; k <= 90; k++) {
        const double t = 0.5 * k / 90, turned = most * cos(50 * t);
        assert_close(at(&result, k, "fibre"), turned, 5e-3 * most);
        assert_close(at(&result, k, "middle"), turned / 2, 5e-3 * most);
        assert_close(at(&result, k, "mises"), fabs(at(&result, k, "fibre")), 1e-9 * most);
        assert_close(at(&result, k, "fibre"), at(&other, k, "fibre"), 1e-4 * most);
    }
}

// It comes to rest, hanging below the line of the rigid arms.
static void robot_arm(void **state)
{
    (void)state;
    run_model("flexible-robot-arm", NULL, KD_JOINT, 2, 20, &result);
    run_model("flexible-robot-arm", "load=0.5", KD_JOINT, 2, 20, &other);
    assert_true(at(&result, -1, "height") < at(&other, -1, "height") - 1e-3);
    assert_close(at(&result, 20, "height"), at(&result, 19, "height"), 1e-3);
}

// Centrifugal force keeps the blade straight: its weight lowers the tip less than at a third of the speed, by far.
static void blade(void **state)
{
    (void)state;
    run_model("helicopter-blade", "time=1 lift=0", KD_JOINT, 6, 20, &result);
    run_model("helicopter-blade", "speed=10 time=1 lift=0", KD_JOINT, 6, 20, &other);
    double fast = 0, slow = 0;
    for (int k = 4; k <= 20; k++) fast += at(&result, k, "flap") / 17, slow += at(&other, k, "flap") / 17;
    assert_true(slow < -0.05 && fabs(fast) < 0.5 * fabs(slow));
}

// Weight of the truck with 595 kg of frame on its tyres; a hump under the left wheels twists the frame, nothing does on a level road.
static void truck(void **state)
{
    const double weight = 9.81 * (1100 + 6000 + 2 * 300 + 2 * 600 + 594.99387);
    double       most = 0, level = 0;
    (void)state;
    run_model("flexible-truck", NULL, KD_JOINT, 6, 80, &result);
    run_model("flexible-truck", "hump=0", KD_JOINT, 2.5, 20, &other);
    for (int k = 0; k <= 80; k++) most = fmax(most, fabs(at(&result, k, "twist")));
    for (int k = 0; k <= 20; k++) level = fmax(level, fabs(at(&other, k, "twist")));
    assert_true(most > 1e-3 && level < 1e-3 * most);
    assert_close(at(&result, -1, "all_loads") / weight, 1, 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slider_crank), cmocka_unit_test(rotor), cmocka_unit_test(rotating_bending),
        cmocka_unit_test(robot_arm),    cmocka_unit_test(blade), cmocka_unit_test(truck),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
