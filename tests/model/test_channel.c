// Channels: units of paths, and paths that are recorded besides.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/channel.h"

static kd_model *make(void)
{
    kd_model *m;
    assert_int_equal(kd_model_create(&m), KD_OK);
    kd_body_def body = kd_body_def_default();
    body.mass = 1;
    for (int i = 0; i < 3; i++) body.inertia[i] = 1;
    for (int i = 3; i < 6; i++) body.inertia[i] = 0;
    assert_int_equal(kd_model_add_body(m, "arm", &body), KD_OK);
    assert_int_equal(kd_model_add_body(m, "slide", &body), KD_OK);
    kd_joint_def joint = kd_joint_def_default(KD_REVOLUTE);
    joint.from = kd_at("ground", 0, 0, 0);
    joint.to = kd_at("arm", 0, 0, 0);
    assert_int_equal(kd_model_add_joint(m, "hinge", &joint), KD_OK);
    joint = kd_joint_def_default(KD_CYLINDRICAL);
    joint.from = kd_at("arm", 0, 0, 0);
    joint.to = kd_at("slide", 0, 0, 0);
    assert_int_equal(kd_model_add_joint(m, "tube", &joint), KD_OK);
    kd_force_def force = kd_force_def_default(KD_TSDA);
    force.from = kd_at("ground", 0, 0, 1);
    force.to = kd_at("slide", 1, 0, 0);
    force.spring.stiffness = 1;
    assert_int_equal(kd_model_add_force(m, "spring", &force), KD_OK);
    force = kd_force_def_default(KD_JOINT_SPRING);
    force.joint = "tube";
    force.coordinate = 1;
    force.spring.stiffness = 1;
    assert_int_equal(kd_model_add_force(m, "twist", &force), KD_OK);
    kd_sensor_def sensor = kd_sensor_def_default();
    sensor.value = "joint.tube.v2";
    assert_int_equal(kd_model_add_sensor(m, "shift", &sensor), KD_OK);
    sensor.value = "2*joint.hinge.q";
    sensor.unit = "furlong";
    assert_int_equal(kd_model_add_sensor(m, "twice", &sensor), KD_OK);
    if (kd_model_finish(m) < 0) print_error("%s\n", kd_model_message(m));
    assert_true(m->finished);
    return m;
}

// Every path has the unit of its quantity: angles and shifts differ by joint and coordinate, forces and torques too.
static void units_follow_the_quantity(void **state)
{
    (void)state;
    static const char *const list[][2] = {
        {"joint.hinge.q", "rad"},
        {"joint.hinge.v", "rad/s"},
        {"joint.tube.q1", "rad"},
        {"joint.tube.q2", "m"},
        {"joint.tube.a2", "m/s^2"},
        {"joint.hinge.force.x", "N"},
        {"joint.hinge.torque.y", "N m"},
        {"body.arm.pos.x", "m"},
        {"body.arm.vel.z", "m/s"},
        {"body.arm.omega.z", "rad/s"},
        {"body.arm.alpha.x", "rad/s^2"},
        {"body.arm.yaw", "rad"},
        {"body.arm.R.xx", ""},
        {"force.spring.length", "m"},
        {"force.spring.force", "N"},
        {"force.spring.rate", "m/s"},
        {"force.twist.q", "rad"},
        {"force.twist.force", "N m"},
        {"energy.total", "J"},
        {"sensor.twice", "furlong"},
        {"twice", "furlong"},
        {"shift", "m/s"},
        {"sensor.shift", "m/s"},
        {"joint.hinge.a", "rad/s^2"},
        {"body.arm.w1", ""},
        {"lambda joint 'a' shift along x", ""},
        {"body.arm.e0", ""},
        {"no.such.path", ""},
        {"kinetic energy", ""},
    };
    kd_model *m = make();
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        const char *unit = kd_channel_unit(m, list[i][0]);
        if (strcmp(unit, list[i][1]) != 0) print_error("%s: '%s'\n", list[i][0], unit);
        assert_string_equal(unit, list[i][1]);
    }
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_follow_the_quantity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
