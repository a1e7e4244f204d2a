// Joints by tables in models: exact derivatives in both coordinate sets, energy, loops, the ends of a table, and what is
// refused. Poses and passes: tests/joint, tests/tree; random mechanisms and the gallery have them, too.
#include "text_subject.h"

// cubics, which splines meet exactly; e: a quaternion that is a unit one at its rows
#define CURVES                                                                                                         \
    "curves:\n"                                                                                                        \
    "  same: {x: [-2, -1, 0, 1, 2], y: [-2, -1, 0, 1, 2], form: spline}\n"                                             \
    "  bow: {x: [-2, -1, 0, 1, 2], y: [0.4, 0.1, 0, 0.1, 0.4], form: spline}\n"                                        \
    "  wave: {x: [-2, -1, 0, 1, 2], y: [0.26, 0.22, 0.1, 0.08, 0.34], form: spline}\n"                                 \
    "  e_w: {x: [-2, 0, 2], y: [0.8, 1, 0.8], form: spline}\n"                                                         \
    "  e_x: {x: [-2, 0, 2], y: [-0.36, 0, 0.36], form: spline}\n"                                                      \
    "  e_y: {x: [-2, 0, 2], y: [0.48, 0, -0.48], form: spline}\n"                                                      \
    "  e_z: {x: [-2, 0, 2], y: [0, 0, 0], form: spline}\n"

#define BODIES                                                                                                         \
    "bodies:\n"                                                                                                        \
    "  one: {mass: 2, centre: [0.1, 0.2, 0], inertia: [0.3, 0.4, 0.5]}\n"                                              \
    "  two: {mass: 1, centre: [0, 0.1, -0.3], position: [0.5, 0, 0], inertia: [0.2, 0.1, 0.15]}\n"                     \
    "  three: {mass: 1.5, centre: [0.2, 0, 0.1], position: [1, 0, 0], inertia: [0.2, 0.2, 0.3]}\n"

// by turns; by a quaternion, in a mirror and used from `to` to `from`; by turns about the angle itself
#define CHAIN                                                                                                          \
    "kardan: 1\n" CURVES BODIES "joints:\n"                                                                            \
    "  a: {type: table, bodies: [ground, one], x: bow, y: wave, z: same, turn_z: wave, turn_x: bow, q: 0.3, v: 0.8}\n" \
    "  b: {type: table, bodies: [two, one], point: [0.5, 0, 0], x: same, y: bow, quaternion_w: e_w, quaternion_x: "    \
    "e_x, quaternion_y: e_y, quaternion_z: e_z, mirrored: true, q: -0.4, v: 0.5}\n"                                    \
    "  c: {type: angle_table, bodies: [two, three], point: [0.5, 0, 0], x: wave, turn_y: same, turn_z: bow, q: 0.2, "  \
    "v: -0.7}\n"

static const char *const CHAIN_WITH_FORCES =
    CHAIN "forces:\n"
          "  pull: {type: tsda, bodies: [ground, three], points: [[1, 1, 1], [1, 0.2, 0]], stiffness: 20, damping: 2}\n"
          "  wrap: {type: bushing, bodies: [one, three], point: [0.7, 0, 0.1], stiffness: [5, 6, 7, 3, 2, 1], "
          "damping: [1, 2, 3, 0.1, 0.2, 0.3]}\n"
          "  turn: {type: joint_spring, joint: c, stiffness: 4, damping: 0.3}\n"
          "  slide: {type: joint_spring, joint: a, stiffness: 30, damping: 0.1}\n"
          "sensors: {qa: joint.a.q, va: joint.a.v, qb: joint.b.q, vb: joint.b.v, qc: joint.c.q, vc: joint.c.v}\n";

// All blocks of derivatives are those of differences.
static void derivatives_are_exact(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        subject s = started(CHAIN_WITH_FORCES, BOTH[k]);
        char    report[2000] = "";
        if (kd_eom_check(kd_system_eom(s.system), kd_system_inputs(s.system), s.x, NULL, report, sizeof report) !=
            KD_OK)
            fail_msg("%s", report);
        assert_true(fabs(read_name(&s, "sensor.qa") - 0.3) < 1e-9 && fabs(read_name(&s, "sensor.va") - 0.8) < 1e-9);
        assert_true(fabs(read_name(&s, "sensor.qb") + 0.4) < 1e-9 && fabs(read_name(&s, "sensor.vb") - 0.5) < 1e-9);
        assert_true(fabs(read_name(&s, "sensor.qc") - 0.2) < 1e-9 && fabs(read_name(&s, "sensor.vc") + 0.7) < 1e-9);
        close_subject(&s);
    }
}

// Nothing is lost: the energy stays, and both coordinate sets come to the same place, with the same reaction.
static void energy_stays(void **state)
{
    static const char *const text = CHAIN "forces:\n  hold: {type: joint_spring, joint: a, stiffness: 60}\n"
                                          "  turn: {type: joint_spring, joint: b, stiffness: 40}\n"
                                          "  back: {type: joint_spring, joint: c, stiffness: 20}\n"
                                          "sensors: {energy: energy.total, push: joint.b.force.y}\n";
    double                   place[2][3], push[2];
    (void)state;
    for (int k = 0; k < 2; k++) {
        subject      s = started(text, BOTH[k]);
        const double energy = read_name(&s, "sensor.energy");
        assert_true(run_to(&s, 1.0) >= 0);
        assert_true(fabs(read_name(&s, "sensor.energy") - energy) < 1e-6);
        place[k][0] = read_name(&s, "body.three.pos.x");
        place[k][1] = read_name(&s, "body.three.pos.y");
        place[k][2] = read_name(&s, "body.three.pos.z");
        push[k] = read_name(&s, "sensor.push");
        close_subject(&s);
    }
    for (int i = 0; i < 3; i++) assert_true(fabs(place[0][i] - place[1][i]) < 1e-6);
    assert_true(fabs(push[0] - push[1]) < 1e-5 && fabs(push[0]) > 0.1);
}

// A run that leaves the rows ends with the joint and its coordinate, or goes on along the tangent.
static void the_table_ends(void **state)
{
    static const char *const free_fall =
        "kardan: 1\ngravity: [0, 0, -10]\ncurves: {lift: {x: [-1, 0, 1], y: [-1, 0, 1], form: spline, outside: %s}}\n"
        "bodies: {one: {mass: 2, inertia: [1, 1, 1]}}\n"
        "joints: {a: {type: table, bodies: [ground, one], z: lift, q: 0}}\n";
    char text[500];
    (void)state;
    (void)snprintf(text, sizeof text, free_fall, "error");
    subject s = started(text, KD_JOINT);
    assert_true(run_to(&s, 1.0) < 0);
    if (!strstr(s.message, "joint 'a': curve 'lift' is read at x = -1") || !strstr(s.message, "outside: error"))
        fail_msg("%s", s.message);
    assert_true(s.x->p[0] < -0.9);
    close_subject(&s);
    (void)snprintf(text, sizeof text, free_fall, "extrapolate");
    s = started(text, KD_JOINT);
    assert_true(run_to(&s, 1.0) >= 0);
    assert_true(fabs(s.x->p[0] + 5.0) < 1e-8);
    close_subject(&s);
}

static kd_status create(const char *text, kd_coordinates coordinates, char *message, size_t size)
{
    kd_model         *m = NULL;
    kd_system        *s = NULL;
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    assert_true(kd_model_read_text("file", text, strlen(text), NULL, 0, &m, message, size) >= 0);
    const kd_status status = kd_system_create(m, &opt, &s, message, size);
    kd_system_destroy(s);
    kd_model_destroy(m);
    return status;
}

// As a constraint the coordinate must be one of the columns; in loops tables are not cut if another joint can be.
static void constraints_need_the_coordinate(void **state)
{
    static const char *const blind =
        "kardan: 1\n" CURVES BODIES "joints:\n  a: {type: table, bodies: [ground, one], x: wave, turn_z: wave}\n";
    static const char *const loop =
        "kardan: 1\n" CURVES BODIES
        "joints:\n  a: {type: table, bodies: [ground, one], x: bow, turn_z: wave, cut: %s}\n"
        "  b: {type: spherical, bodies: [one, two], point: [0.1, 0, 0]}\n"
        "  c: {type: spherical, bodies: [ground, two], point: [0.5, 0.3, 0]}\n";
    char message[600], text[2000];
    (void)state;
    assert_int_equal(create(blind, KD_JOINT, message, sizeof message), KD_OK);
    assert_int_equal(create(blind, KD_CARTESIAN, message, sizeof message), KD_ERR_MODEL);
    assert_non_null(strstr(message, "joint 'a': as a constraint"));
    assert_non_null(strstr(message, "y = x in all rows"));
    // in a loop: another joint is cut, unless the model says so
    (void)snprintf(text, sizeof text, loop, "auto");
    assert_true(create(text, KD_JOINT, message, sizeof message) >= 0);
    (void)snprintf(text, sizeof text, loop, "yes");
    assert_int_equal(create(text, KD_JOINT, message, sizeof message), KD_ERR_MODEL);
    assert_non_null(strstr(message, "where it closes a loop"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_are_exact),
        cmocka_unit_test(energy_stays),
        cmocka_unit_test(the_table_ends),
        cmocka_unit_test(constraints_need_the_coordinate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
