// test_point07_joints.c: joints without a point stand where they are documented to stand, and their reactions are those
// of statics by hand.
#include "case.h"
#include "trust/statics.h"

// A fixed joint without a point joins the bodies as drawn, at the origin of the second: force and torque of a chain of
// two loads, on a sledge and on the ground, in both coordinate sets. The torque at that point is the sum of levers
// times weights in world axes.
static void test_fixed_without_point(void **state)
{
    uint64_t seed = test_seed(7);
    (void)state;
    for (int k = 0; k < 12; k++) {
        double m[2], r[2][3], c[2][3], y[12], weight[3];
        for (int i = 0; i < 2; i++) {
            m[i] = decades(0.01, 100, &seed);
            for (int j = 0; j < 3; j++) r[i][j] = between(-5, 5, &seed), c[i][j] = between(-1, 1, &seed);
        }
        for (int j = 0; j < 3; j++) weight[j] = between(-10, 10, &seed);
        for (int on_ground = 0; on_ground < 2; on_ground++)
            for (int which = 0; which < 2; which++) {
                plant p;
                plant_open(
                    &p, BOTH[which],
                    "kardan: 1\ngravity: [%.17g, %.17g, %.17g]\n"
                    "bodies:\n"
                    "  sledge: {position: [1, 2, 3], mass: 1, inertia: [1, 1, 1]}\n"
                    "  arm: {position: [%.17g, %.17g, %.17g], mass: %.17g, centre: [%.17g, %.17g, %.17g], "
                    "inertia: [1, 1, 1]}\n"
                    "  tool: {position: [%.17g, %.17g, %.17g], mass: %.17g, centre: [%.17g, %.17g, %.17g], "
                    "inertia: [1, 1, 1]}\n"
                    "joints:\n"
                    "  rail: {type: prismatic, bodies: [ground, sledge], point: [1, 2, 3], axis: [1, 0, 0], "
                    "motion: 0}\n"
                    "  a: {type: fixed, bodies: [%s, arm]}\n"
                    "  b: {type: fixed, bodies: [arm, tool]}\n"
                    "sensors:\n"
                    "  ax: {value: joint.a.force.x}\n  ay: {value: joint.a.force.y}\n  az: {value: joint.a.force.z}\n"
                    "  atx: {value: joint.a.torque.x}\n  aty: {value: joint.a.torque.y}\n"
                    "  atz: {value: joint.a.torque.z}\n"
                    "  bx: {value: joint.b.force.x}\n  by: {value: joint.b.force.y}\n  bz: {value: joint.b.force.z}\n"
                    "  btx: {value: joint.b.torque.x}\n  bty: {value: joint.b.torque.y}\n"
                    "  btz: {value: joint.b.torque.z}\n",
                    weight[0], weight[1], weight[2], r[0][0], r[0][1], r[0][2], m[0], c[0][0], c[0][1], c[0][2],
                    r[1][0], r[1][1], r[1][2], m[1], c[1][0], c[1][1], c[1][2], on_ground ? "ground" : "sledge");
                assert_true(kd_initial_consistent(p.eom, plant_inputs(&p), NULL, p.x, p.message, sizeof p.message) >=
                            0);
                plant_outputs(&p, y);
                for (int joint = 0; joint < 2; joint++) { // reaction = -(sum of weights), about the origin of `to`
                    double torque[3] = {0}, size = 0;
                    for (int i = joint; i < 2; i++) {
                        double arm[3];
                        for (int j = 0; j < 3; j++) arm[j] = r[i][j] + c[i][j] - r[joint][j];
                        for (int j = 0; j < 3; j++)
                            torque[j] -= m[i] * (arm[(j + 1) % 3] * weight[(j + 2) % 3] -
                                                 arm[(j + 2) % 3] * weight[(j + 1) % 3]);
                        size += m[i];
                    }
                    for (int j = 0; j < 3; j++) {
                        assert_near(y[6 * joint + j], -size * weight[j], 1e-8 * (1 + 100 * size));
                        assert_near(y[6 * joint + 3 + j], torque[j], 1e-8 * (1 + 100 * size));
                    }
                }
                plant_close(&p);
            }
    }
}

// The ground as the second body: the place is the origin of the first.
static void test_fixed_to_the_ground(void **state)
{
    double y[3];
    (void)state;
    for (int which = 0; which < 2; which++) {
        plant p;
        plant_open(&p, BOTH[which],
                   "kardan: 1\ngravity: [0, 0, -9.81]\n"
                   "bodies:\n  arm: {position: [4, 5, 6], mass: 2, centre: [0.5, 0, 0], inertia: [1, 1, 1]}\n"
                   "  other: {position: [0, 0, 1], mass: 1, inertia: [1, 1, 1]}\n"
                   "joints:\n  a: {type: fixed, bodies: [arm, ground]}\n"
                   "  slide: {type: prismatic, bodies: [ground, other], point: [0, 0, 1], axis: [1, 0, 0]}\n"
                   "sensors:\n  x: {value: joint.a.torque.x}\n  y: {value: joint.a.torque.y}\n  z: {value: "
                   "joint.a.torque.z}\n");
        assert_true(kd_initial_consistent(p.eom, plant_inputs(&p), NULL, p.x, p.message, sizeof p.message) >= 0);
        plant_outputs(&p, y);
        assert_near(y[0], 0, 1e-9);
        assert_near(y[1], 2 * 0.5 * 9.81, 1e-9); // on the ground, that of the arm is its opposite
        assert_near(y[2], 0, 1e-9);
        plant_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_without_point),
        cmocka_unit_test(test_fixed_to_the_ground),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
