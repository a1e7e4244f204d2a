// Expressions of a model: names, what may be read where, cycles, unused names.
#include "build_helpers.h"

// A model with something of everything that laws can name.
static kd_model *law_model(void)
{
    kd_model *m = arm_model();
    CHECK(kd_model_add_parameter(m, "stiff", 2.0));
    kd_curve_def k = kd_curve_def_default();
    k.n = 2;
    k.x = k.y = (double[]){0, 1};
    CHECK(kd_model_add_curve(m, "profile", &k));
    return m;
}

static void add_spring(kd_model *m, const char *name, kd_force_kind kind, const char *law)
{
    kd_force_def f = kd_force_def_default(kind);
    f.from = kd_at("ground", 0, 0, 0);
    f.to = kd_at("arm", 0, 0, 1);
    f.joint = kind == KD_JOINT_SPRING ? "hinge" : NULL;
    if (kind == KD_TYRE) {
        f.tyre.radius = f.tyre.stiffness = 1.0;
        f.tyre.road = law;
    } else if (kind == KD_APPLIED) {
        f.applied.force[1] = law;
    } else if (kind == KD_MAXWELL) {
        f.maxwell.damping = f.maxwell.series = 1.0;
        f.maxwell.law = law;
    } else {
        f.spring.law = law;
    }
    CHECK(kd_model_add_force(m, name, &f));
}

static void add_sensor(kd_model *m, const char *name, const char *value)
{
    kd_sensor_def s = kd_sensor_def_default();
    s.value = value;
    CHECK(kd_model_add_sensor(m, name, &s));
}

static void add_state(kd_model *m, const char *name, kd_state_kind kind, const char *input)
{
    kd_state_def s = kd_state_def_default(kind);
    s.input = input;
    CHECK(kd_model_add_state(m, name, &s));
}

// Each field knows parameters, curves, t, its own names and the paths that it may read.
static void right_laws(void **state)
{
    (void)state;
    kd_model *m = law_model();
    add_spring(m, "a", KD_TSDA, "-stiff*length^2 + profile(rate) + sin(t) + joint.hinge.v");
    add_spring(m, "b", KD_RSDA, "angle - rate + force.a.length");
    add_spring(m, "c", KD_JOINT_SPRING, "q - v - state.lag + body.arm.omega.z");
    add_spring(m, "d", KD_MAXWELL, "length + rate");
    add_spring(m, "e", KD_TYRE, "0.1*sin(x - t) + profile(x)");
    add_spring(m, "f", KD_APPLIED, "frame.tip.pos.x - state.control.out");
    kd_frame_def f = kd_frame_def_default();
    f.at = kd_at("arm", 0, 0, 1);
    CHECK(kd_model_add_frame(m, "tip", &f));
    add_state(m, "lag", KD_STATE_LAG, "joint.hinge.q - state.lag + input.u");
    add_state(m, "control", KD_STATE_PI, "state.control - joint.hinge.v");
    kd_input_def u = kd_input_def_default();
    u.value = "profile(t)";
    CHECK(kd_model_add_input(m, "u", &u));
    add_sensor(m, "all", "force.a.force + joint.hinge.torque.z + joint.hinge.a + energy.total + sensor.more");
    add_sensor(m, "more", "body.arm.acc.x + constraint.closed.force");
    kd_constraint_def c = kd_constraint_def_default(KD_EXPRESSION);
    c.value = "body.arm.pos.x - stiff*t + joint.hinge.q";
    CHECK(kd_model_add_constraint(m, "closed", &c));
    kd_joint_def j = kd_joint_def_default(KD_PRISMATIC);
    add_ball(m, "slider");
    j.to = kd_at("slider", 0, 0, 0);
    j.motion[0] = "stiff*sin(t)";
    CHECK(kd_model_add_joint(m, "drive", &j));
    CHECK(kd_model_finish(m));
    assert_int_equal(kd_model_warning_count(m), 0);
    assert_true(m->parameter[0].used);
    kd_model_destroy(m);
}

// Unknown names are corrected by what the field knows, and wrong texts have a column.
static void unknown_names(void **state)
{
    (void)state;
    static const struct {
        kd_force_kind kind;
        const char   *law, *message;
    } cases[] = {
        {KD_TSDA, "lenght", "force 'a': law: unknown name 'lenght', did you mean 'length'?"},
        {KD_TSDA, "1 + stif", "did you mean 'stiff'?"},
        {KD_TSDA, "profil(t)", "did you mean 'profile'?"},
        {KD_TSDA, "q", "force 'a': law: unknown name 'q'"},
        {KD_JOINT_SPRING, "length", "force 'a': law: unknown name 'length'"},
        {KD_APPLIED, "rate", "force 'a': force[1]: unknown name 'rate'"},
        {KD_TSDA, "2*(t", "force 'a': law: "},
        {KD_TSDA, "t + + * 2", "(column "},
        {KD_TSDA, "2*joint.hing.q", "law: unknown joint 'hing', did you mean 'hinge'? (column 3 of '2*joint.hing.q')"},
        {KD_TSDA, "joint.hinge.w", "law: joint 'hinge' (revolute) has no 'w'"},
        {KD_TYRE, "y", "force 'a': road: unknown name 'y'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kd_model *m = law_model();
        add_spring(m, "a", cases[i].kind, cases[i].law);
        assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
        assert_has(kd_model_message(m), cases[i].message);
        kd_model_destroy(m);
    }
}

// What must not be read in a field is said, with what can.
static void forbidden_reads(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"joint.hinge.a",
         "'joint.hinge.a' cannot be read here: only positions, velocities, states, blocks, variables and inputs can"},
        {"body.arm.acc.x", "'body.arm.acc.x' cannot be read here"},
        {"joint.hinge.force.x", "'joint.hinge.force.x' cannot be read here"},
        {"sensor.s", "'sensor.s' cannot be read here"},
        {"energy.kinetic", "'energy.kinetic' cannot be read here"},
        {"force.b.force", "'force.b.force' cannot be read here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kd_model *m = law_model();
        add_sensor(m, "s", "t");
        add_spring(m, "a", KD_TSDA, cases[i][0]);
        add_spring(m, "b", KD_TSDA, NULL);
        assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
        assert_has(kd_model_message(m), "force 'a': law: ");
        assert_has(kd_model_message(m), cases[i][1]);
        kd_model_destroy(m);
    }
    kd_model         *m = law_model();
    kd_constraint_def c = kd_constraint_def_default(KD_EXPRESSION);
    c.value = "body.arm.vel.x";
    CHECK(kd_model_add_constraint(m, "closed", &c));
    assert_wrong(m,
                 "constraint 'closed': value: 'body.arm.vel.x' cannot be read here: only t, inputs and positions can");
    m = law_model();
    kd_input_def u = kd_input_def_default();
    u.value = "joint.hinge.q";
    CHECK(kd_model_add_input(m, "u", &u));
    assert_wrong(m, "input 'u': value: 'joint.hinge.q' cannot be read here: only parameters and t can");
    m = arm_model();
    kd_joint_def j = kd_joint_def_default(KD_PRISMATIC);
    add_ball(m, "slider");
    j.to = kd_at("slider", 0, 0, 0);
    j.motion[0] = "joint.hinge.q";
    CHECK(kd_model_add_joint(m, "drive", &j));
    assert_wrong(m, "joint 'drive': motion[0]: 'joint.hinge.q' cannot be read here: only parameters, t and inputs can");
}

// A sensor that reads itself, directly or through others, is refused with the way around.
static void cycles(void **state)
{
    (void)state;
    kd_model *m = arm_model();
    add_sensor(m, "a", "2*sensor.a");
    assert_wrong(m, "sensor 'a': it reads itself: sensor.a -> sensor.a");
    m = arm_model();
    add_sensor(m, "a", "sensor.b");
    add_sensor(m, "b", "1 + sensor.c");
    add_sensor(m, "c", "sensor.d + sensor.b");
    add_sensor(m, "d", "t");
    assert_wrong(m, "sensor 'b': it reads itself: sensor.b -> sensor.c -> sensor.b");
    m = arm_model();
    add_state(m, "control", KD_STATE_PI, "joint.hinge.q - state.control.out");
    assert_wrong(m, "state 'control': it needs its own value (algebraic loop): state.control.out -> state.control.out; "
                    "read the state itself instead of its output");
    m = arm_model(); // a lag in between opens the loop
    add_state(m, "control", KD_STATE_PI, "joint.hinge.q - state.slow");
    add_state(m, "slow", KD_STATE_LAG, "state.control.out");
    assert_right(m);
}

// A long row of sensors is followed without running out of stack.
static void long_row(void **state)
{
    (void)state;
    enum { N = 20000 };
    kd_model *m = arm_model();
    char      name[30], value[40];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "s(%d)", i);
        snprintf(value, sizeof value, "sensor.s(%d)", (i + 1) % N);
        add_sensor(m, name, value);
    }
    assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
    assert_has(kd_model_message(m), "sensor 's(0)': it reads itself: sensor.s(0) -> sensor.s(1) -> ");
    assert_has(kd_model_message(m), ".. -> sensor.s(0)");
    kd_model_destroy(m);
}

// What nothing reads is warned about.
static void unused(void **state)
{
    (void)state;
    kd_model    *m = law_model();
    kd_frame_def f = kd_frame_def_default();
    f.at = kd_at("arm", 0, 0, 1);
    CHECK(kd_model_add_frame(m, "tip", &f));
    const kd_input_def u = kd_input_def_default();
    CHECK(kd_model_add_input(m, "u", &u));
    add_state(m, "lag", KD_STATE_LAG, "t");
    CHECK(kd_model_finish(m));
    assert_true(has_warning(m, "parameter 'stiff': it is never used"));
    assert_true(has_warning(m, "curve 'profile': it is never used"));
    assert_true(has_warning(m, "frame 'tip': it is never used"));
    assert_true(has_warning(m, "input 'u': it is never used"));
    assert_true(has_warning(m, "state 'lag': it is never used"));
    assert_int_equal(kd_model_warning_count(m), 5);
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_laws), cmocka_unit_test(unknown_names), cmocka_unit_test(forbidden_reads),
        cmocka_unit_test(cycles),     cmocka_unit_test(long_row),      cmocka_unit_test(unused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
