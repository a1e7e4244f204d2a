// test_point06_linearize.c: B, C, D of linear equations: static gains of contacts of any stiffness, response of the
// nonlinear model to small inputs, and a told error.
#include "case.h"
#include "trust/statics.h"

static kd_linear *linear_of(plant *p)
{
    kd_linear      *linear = NULL;
    const kd_status status = kd_linearize(p->eom, plant_inputs(p), NULL, p->x, &linear, p->message, sizeof p->message);
    if (status < 0) print_error("%s\n", p->message);
    assert_true(status >= 0);
    return linear;
}

// A ball on a plate that an input lifts: static gain 1 whatever the contact, and its force does not change.
static void test_ball_on_plate(void **state)
{
    uint64_t seed = test_seed(81);
    (void)state;
    for (int k = 0; k < 24; k++) {
        const double stiffness = decades(1e4, 1e12, &seed), m = decades(0.01, 100, &seed), n = between(1, 2, &seed);
        plant        p;
        plant_open(
            &p, KD_JOINT,
            "kardan: 1\ngravity: [0, 0, -9.81]\ninputs: {u: {value: \"0\"}}\n"
            "bodies:\n  plate: {mass: 1, inertia: [1, 1, 1]}\n  ball: {position: [0, 0, 0.1], mass: %.17g, inertia: "
            "[1, 1, 1]}\n"
            "joints:\n  j: {type: prismatic, bodies: [ground, ball], point: [0, 0, 0.1], axis: [0, 0, 1]}\n"
            "  drive: {type: prismatic, bodies: [ground, plate], point: [0, 0, 0], axis: [0, 0, 1], motion: input.u}\n"
            "forces:\n  c: {type: contact, from: plate, to: ball, radius: 0.1, stiffness: %.17g, exponent: %.17g}\n"
            "sensors:\n  z: {value: body.ball.pos.z}\n  f: {value: force.c.fz}\n",
            m, stiffness, n);
        (void)plant_rest(&p, false);
        kd_linear *l = linear_of(&p);
        assert_int_equal(l->nx, 2);
        // x = -A \ B u, y = C x + D u; A = [0 1; -s 0]
        const double s = -l->A[1], x = l->B[1] / s, depth = pow(m * 9.81 / stiffness, 1 / n);
        const double slope = n * m * 9.81 / depth;
        // what differences lose at a depth of nanometres is told; below one, positions of 0.1 m are too coarse for them
        const double near = 1e-6 + l->difference_error;
        assert_near(s * m / slope, 1, 1e-4);
        if (depth > 1e-9) {
            assert_near(l->C[0] * x + l->D[0], 1, near);
            assert_near((l->C[1] * x + l->D[1]) / slope, 0, near);
            assert_near(l->D[1] / slope, 1, near);
            assert_true(l->difference_error < (depth > 1e-7 ? 1e-4 : 1e-2));
        }
        kd_linear_destroy(l);
        plant_close(&p);
    }
}

// An output with a kink at the point is told, by its name; a smooth one beside it stays exact.
static void test_kink(void **state)
{
    plant p;
    (void)state;
    plant_open(&p, KD_JOINT,
               "kardan: 1\ngravity: [0, 0, 0]\n"
               "bodies:\n  b: {mass: 1, inertia: [1, 1, 1]}\n"
               "joints:\n  j: {type: prismatic, bodies: [ground, b], point: [0, 0, 0], axis: [0, 0, 1]}\n"
               "forces:\n  s: {type: joint_spring, joint: j, rest: 0, stiffness: 3}\n"
               "sensors:\n  smooth: {value: exp(joint.j.q)}\n  kink: {value: 2*abs(joint.j.q)}\n");
    kd_linear *l = linear_of(&p);
    assert_near(l->C[0], 1, 1e-9);
    assert_true(l->difference_error > 0.5);
    assert_non_null(strstr(l->difference_name, "kink"));
    assert_non_null(strstr(p.message, "kink"));
    kd_linear_destroy(l);
    plant_close(&p);
}

// Small steps of an input: static gains of the nonlinear model (equilibria) and of the linear equations.
static void test_static_gains(void **state)
{
    uint64_t seed = test_seed(82);
    (void)state;
    for (int k = 0; k < 10; k++) {
        const double stiffness = decades(10, 1000, &seed), m = decades(0.5, 5, &seed), gain = decades(0.1, 10, &seed);
        const double h = 1e-3;
        double       y[2][2];
        for (int i = 1; i >= 0; i--) {
            plant p;
            for (int side = 0; side < 2; side++) {
                plant_open(
                    &p, BOTH[k % 2],
                    "kardan: 1\ngravity: [0, 0, -9.81]\ninputs: {u: {value: \"%.17g\"}}\n"
                    "bodies:\n  b: {mass: %.17g, inertia: [1, 1, 1]}\n"
                    "joints:\n  j: {type: prismatic, bodies: [ground, b], point: [0, 0, 0], axis: [0, 0, 1]}\n"
                    "forces:\n  s: {type: joint_spring, joint: j, rest: 0, stiffness: %.17g, damping: 1, law: "
                    "\"-5*q^3\"}\n"
                    "  f: {type: applied, body: b, force: [0, 0, \"%.17g*(input.u + input.u^2)\"]}\n"
                    "sensors:\n  q: {value: joint.j.q + 0.3*input.u}\n  e: {value: \"exp(joint.j.q)*cos(input.u)\"}\n",
                    i == 0      ? 0
                    : side == 0 ? h
                                : -h,
                    m, stiffness, gain);
                (void)plant_rest(&p, false);
                if (i == 0) break;
                plant_outputs(&p, y[side]);
                plant_close(&p);
            }
            if (i > 0) continue;
            kd_linear *l = linear_of(&p);
            assert_near(l->B[1], gain / m, 1e-6 * gain / m);
            const double x = -l->B[1] / l->A[1];
            for (int j = 0; j < 2; j++) {
                const double is = l->C[j] * x + l->D[j], expected = (y[0][j] - y[1][j]) / (2 * h);
                assert_near(is, expected, 1e-4 * (fabs(expected) + 1e-3));
            }
            assert_true(l->difference_error < KD_LINEAR_ERROR);
            kd_linear_destroy(l);
            plant_close(&p);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ball_on_plate),
        cmocka_unit_test(test_kink),
        cmocka_unit_test(test_static_gains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
