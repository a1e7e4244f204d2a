// test_point06_trim.c: trim does not depend on units, sizes or a good first guess; steady turns to the left and right.
#include "case.h"
#include "trust/statics.h"

// One input holds any mass, one parameter of six decades, from any first guess: closed form m g.
static void test_hold(void **state)
{
    uint64_t seed = test_seed(71);
    (void)state;
    for (int k = 0; k < 40; k++) {
        const double m = decades(1e-3, 1e6, &seed), gain = decades(1e-3, 1e3, &seed);
        const double guess = k % 3 == 0 ? 0 : between(-1, 1, &seed) * decades(1e-3, 1e6, &seed);
        for (int which = 0; which < 2; which++) {
            plant p;
            plant_open(&p, BOTH[which],
                       "kardan: 1\ngravity: [0, 0, -9.81]\ninputs: {u: {value: \"0\"}}\n"
                       "bodies:\n  b: {mass: %.17g, inertia: [1, 1, 1]}\n"
                       "joints:\n  j: {type: prismatic, bodies: [ground, b], point: [0, 0, 0], axis: [0, 0, 1]}\n"
                       "forces:\n  f: {type: applied, body: b, force: [0, 0, %.17g*input.u]}\n",
                       m, gain);
            memset(p.x->a, 0, (size_t)kd_eom_dims(p.eom).nv * sizeof(double)); // held, not falling
            kd_adjustable         adjust = {KD_U, 0, guess};
            kd_equilibrium_result found;
            const kd_status       status =
                kd_trim(p.eom, plant_inputs(&p), NULL, p.x, &adjust, 1, &found, p.message, sizeof p.message);
            if (status < 0) print_error("m = %g, gain %g, from %g: %s\n", m, gain, guess, p.message);
            assert_true(status >= 0);
            assert_near(adjust.value, m * 9.81 / gain, 1e-7 * m * 9.81 / gain);
            plant_close(&p);
        }
    }
}

// A cubic law with poor starts: u (1 + u^2/s^2) = m g.
static void test_nonlinear(void **state)
{
    uint64_t seed = test_seed(72);
    (void)state;
    for (int k = 0; k < 300; k++) {
        const double m = decades(1e-2, 1e5, &seed), s = m * 9.81 * decades(0.1, 10, &seed);
        plant        p;
        plant_open(&p, KD_JOINT,
                   "kardan: 1\ngravity: [0, 0, -9.81]\ninputs: {u: {value: \"0\"}}\n"
                   "bodies:\n  b: {mass: %.17g, inertia: [1, 1, 1]}\n"
                   "joints:\n  j: {type: prismatic, bodies: [ground, b], point: [0, 0, 0], axis: [0, 0, 1]}\n"
                   "forces:\n  f: {type: applied, body: b, force: [0, 0, \"input.u*(1 + input.u^2/%.17g)\"]}\n",
                   m, s * s);
        memset(p.x->a, 0, sizeof(double));
        kd_adjustable   adjust = {KD_U, 0, between(-20, 20, &seed) * s};
        const double    from = adjust.value;
        const kd_status status =
            kd_trim(p.eom, plant_inputs(&p), NULL, p.x, &adjust, 1, NULL, p.message, sizeof p.message);
        if (status < 0) print_error("m = %.17g, s = %.17g, from %.17g: %s\n", m, s, from, p.message);
        assert_true(status >= 0);
        assert_near(adjust.value * (1 + adjust.value * adjust.value / (s * s)), m * 9.81, 1e-6 * m * 9.81);
        plant_close(&p);
    }
}

#define ALONG "(joint.base.v1*cos(body.car.yaw) + joint.base.v2*sin(body.car.yaw))"
#define ACROSS "(joint.base.v2*cos(body.car.yaw) - joint.base.v1*sin(body.car.yaw))"

// A single-track car on a circle, moving in a plane: steering angle, force of the drive and sideslip against the two
// balances of forces across and of moments in closed form, left and right, from a straight start.
static void test_single_track(void **state)
{
    uint64_t seed = test_seed(73);
    (void)state;
    for (int k = 0; k < 16; k++) {
        const double m = between(600, 3000, &seed), a = between(0.8, 1.5, &seed), b = between(0.8, 1.8, &seed);
        const double Cf = 60 * m * between(0.8, 1.5, &seed), Cr = 70 * m * between(0.8, 1.5, &seed);
        const double speed = between(5, 30, &seed), rate = (k % 2 ? -1 : 1) * between(0.02, 5 / speed, &seed);
        plant        p;
        plant_open(&p, KD_JOINT,
                   "kardan: 1\ninputs: {steer: {value: \"0\"}, drive: {value: \"0\"}}\n"
                   "bodies:\n  car: {mass: %.17g, inertia: [400, 1500, %.17g], velocity: [%.17g, 0, 0]}\n"
                   "joints:\n  base: {type: planar, bodies: [ground, car], point: [0, 0, 0], axis: [0, 0, 1]}\n"
                   "sensors:\n  along: {value: " ALONG "}\n"
                   "  across: {value: " ACROSS "}\n"
                   "forces:\n"
                   "  front: {type: applied, axes: body, to: {body: car, point: [%.17g, 0, 0]}, force: [input.drive, "
                   "\"%.17g*(input.steer - atan2(" ACROSS " + %.17g*joint.base.v3, " ALONG "))\", 0]}\n"
                   "  rear: {type: applied, axes: body, to: {body: car, point: [-%.17g, 0, 0]}, force: [0, "
                   "\"-%.17g*atan2(" ACROSS " - %.17g*joint.base.v3, " ALONG ")\", 0]}\n",
                   m, 1.5 * m, speed, a, Cf, a, b, Cr, b);
        const bool      free_p[3] = {false, false, true};
        const kd_turn   turn = {.v = 0, .p = 0, .rate = rate, .planar = true};
        kd_trim_options opt = kd_trim_options_default();
        kd_adjustable   adjust[2] = {{KD_U, 0, 0}, {KD_U, 1, 0}};
        double          y[2];
        opt.free_p = free_p;
        opt.turn = &turn;
        const kd_status status =
            kd_trim(p.eom, plant_inputs(&p), &opt, p.x, adjust, 2, NULL, p.message, sizeof p.message);
        if (status < 0) print_error("%g m/s, %g rad/s: %s\n", speed, rate, p.message);
        assert_true(status >= 0);
        plant_outputs(&p, y);
        // balance in the axes of the car: m (v_along rate) = F_f + F_r, a F_f = b F_r, drive = -m v_across rate
        const double Ff = m * y[0] * rate * b / (a + b), Fr = m * y[0] * rate * a / (a + b);
        const double front = adjust[0].value - atan2(y[1] + a * rate, y[0]), rear = -atan2(y[1] - b * rate, y[0]);
        assert_near(Cf * front, Ff, 1e-6 * fabs(Ff));
        assert_near(Cr * rear, Fr, 1e-6 * fabs(Fr));
        assert_near(adjust[1].value, -m * y[1] * rate, 1e-6 * m);
        assert_near(hypot(y[0], y[1]), speed, 1e-9 * speed);
        plant_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_nonlinear),
        cmocka_unit_test(test_single_track),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
