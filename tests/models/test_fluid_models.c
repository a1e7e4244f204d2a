// The hydraulic cylinder and the air suspension of the gallery against closed solutions; slips of a tyre that build up.
#include "gallery_run.h"

static table result; // of the last run

// The largest imaginary part of the eigenvalues at the start
static double highest_frequency(const char *name, const char *settings)
{
    kd_model  *model = read_gallery(name, settings);
    kd_system *s = NULL;
    kd_state  *x = NULL;
    kd_linear *linear = NULL;
    kd_modes  *modes = NULL;
    double     highest = 0.0;
    assert_int_equal(kd_system_create(model, NULL, &s, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(s), &x), KD_OK);
    assert_true(kd_system_start(s, x, NULL, 0) >= 0);
    assert_true(kd_linearize(kd_system_eom(s), kd_system_inputs(s), NULL, x, &linear, NULL, 0) >= 0);
    assert_int_equal(kd_modes_create(linear, &modes), KD_OK);
    for (int i = 0; i < modes->n; i++) highest = fmax(highest, modes->imaginary[i]);
    kd_modes_destroy(modes);
    kd_linear_destroy(linear);
    kd_state_destroy(x);
    kd_system_destroy(s);
    kd_model_destroy(model);
    return highest;
}

// While the valve is open: the speed at which flows and forces balance. Closed: it swings on the oil, whose frequency
// is counted by the turns of the speed.
static void hydraulic_cylinder(void **state)
{
    const double aa = 0.005, ab = 0.003, m = 2000, ps = 150e5, pt = 5e5, flow = 1e-3, E = 1.4e9, dead = 5e-4;
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("hydraulic-cylinder", "viscous=0", BOTH[c], 0.96, 96, &result);
        // A ps - B pt - m g = v^2 (A^3 + B^3)/(y K)^2, averaged over the ripple of the load
        const double yK = 0.4 * flow / sqrt(1e6);
        const double v = yK * sqrt((aa * ps - ab * pt - m * GRAVITY) / (aa * aa * aa + ab * ab * ab));
        double       way = at(&result, 96, "height") - at(&result, 60, "height");
        assert_close(way / (result.t[96] - result.t[60]), v, 3e-3 * v);
    }
    // the valve is closed at the start, and the pressure is that of the load: it stays, and would swing on the oil
    run_model("hydraulic-cylinder", "leak=0", KD_JOINT, 0.19, 10, &result);
    assert_close(at(&result, -1, "height"), 0, 1e-6);
    const double VA = dead + aa * 0.3, VB = dead + ab * 0.7, w = sqrt(E * (aa * aa / VA + ab * ab / VB) / m);
    assert_close(highest_frequency("hydraulic-cylinder", "viscous=0 leak=0"), w, 1e-5 * w);
}

// After the load has come on, the valve lets air in until the height is back in the dead band; the pressure carries
// both.
static void air_suspension(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("air-suspension", NULL, BOTH[c], 40, 80, &result);
        const double sunk = at(&result, 2, "height"), wanted = 0.25;
        double       lowest = 1;
        for (int k = 0; k <= 80; k++) lowest = fmin(lowest, at(&result, k, "height"));
        assert_true(sunk < wanted && lowest < wanted - 0.01);
        assert_close(at(&result, -1, "height"), wanted - 2e-3, 1e-4);
        assert_close(at(&result, -1, "pressure"), 101325 + (400 * GRAVITY + 1500) / 0.01, 20);
        assert_close(at(&result, -1, "auxiliary"), at(&result, -1, "pressure"), 20);
        assert_true(at(&result, -1, "air") > at(&result, 0, "air") * 1.1);
    }
    // without levelling: at rest with both volumes at one pressure, p (V + V_2)^n as before
    run_model("air-suspension", "valve=0", KD_JOINT, 40, 40, &result);
    const double p0 = 101325 + 400 * GRAVITY / 0.01, p1 = p0 + 1500 / 0.01;
    const double V1 = (2.5e-3 + 4e-3) * pow(p0 / p1, 1 / 1.4) - 4e-3;
    assert_close(at(&result, -1, "pressure"), p1, 1);
    assert_true(at(&result, -1, "volume") > V1); // the throttle heats a little
    assert_close(at(&result, -1, "volume"), V1, 1e-5);
    // small motions: the bellows alone, then both volumes
    const double k1 = 1.4 * p0 * 1e-4 / 2.5e-3, k2 = 1.4 * p0 * 1e-4 / 6.5e-3;
    assert_close(highest_frequency("air-suspension", "valve=0 flow=1e-9 damping=0"), sqrt(k1 / 400), 1e-5);
    assert_close(highest_frequency("air-suspension", "valve=0 flow=10 damping=0"), sqrt(k2 / 400), 1e-2);
}

// A wheel that is drawn aslant over the road: its slip builds up over the relaxation length, r = -v_y/V (1 - e^(-V
// t/L)).
static void relaxation(void **state)
{
    static const char text[] = "kardan: 1\n"
                               "bodies: {wheel: {position: [0, 0, 0.29], mass: 10, inertia: [1, 1, 1]}}\n"
                               "joints:\n"
                               "  way: {type: cardan, from: {body: ground, point: [0, 0, 0.29]}, to: wheel,\n"
                               "        motion: [20*t, 0.6*t, 0, 0, 0, 0]}\n"
                               "forces:\n"
                               "  tyre: {type: tyre, to: {body: wheel, axis: [0, 1, 0]}, radius: 0.3, stiffness: 2e5, "
                               "friction: 1, load: 2000,\n"
                               "         longitudinal: [4e4, 6e4], lateral: [3e4, 5e4], relaxation: 0.5, slip: 1e-6}\n"
                               "sensors: {lateral: force.tyre.lateral}\n";
    char              message[1000] = "";
    kd_model         *model = NULL;
    kd_system        *s = NULL;
    kd_state         *x = NULL;
    (void)state;
    assert_int_equal(kd_model_read_text("tyre", text, strlen(text), NULL, 0, &model, message, sizeof message), KD_OK);
    assert_int_equal(kd_system_create(model, NULL, &s, message, sizeof message), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(s), &x), KD_OK);
    assert_true(kd_system_start(s, x, message, sizeof message) >= 0);
    kd_simulation_options opt = kd_simulation_options_default();
    opt.rtol = opt.atol = 1e-10;
    for (int k = 1; k <= 5; k++) {
        assert_true(kd_simulate(kd_system_eom(s), NULL, &opt, x, 0.01 * k, NULL, message, sizeof message) >= 0);
        const double V = 20.0; // along the heading of the wheel
        assert_close(x->r[1], -0.6 / V * (1.0 - exp(-V * 0.01 * k / 0.5)), 1e-7);
    }
    kd_state_destroy(x);
    kd_system_destroy(s);
    kd_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hydraulic_cylinder),
        cmocka_unit_test(air_suspension),
        cmocka_unit_test(relaxation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
