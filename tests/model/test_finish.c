// kd_model_finish: every wrong reference, with its message.
#include "build_helpers.h"

static kd_constraint_def constraint(kd_constraint_kind kind)
{
    kd_constraint_def c = kd_constraint_def_default(kind);
    c.from = kd_at("ground", 0, 0, 0);
    c.to = kd_at("arm", 0, 0, 1);
    c.radius = 1.0;
    c.value = "t";
    return c;
}

static kd_model *with_constraint(const kd_constraint_def *c)
{
    kd_model *m = arm_model();
    CHECK(kd_model_add_constraint(m, "rod", c));
    return m;
}

static kd_force_def force(kd_force_kind kind)
{
    kd_force_def f = kd_force_def_default(kind);
    f.from = kd_at("ground", 0, 0, 0);
    f.to = kd_at("arm", 0, 0, 1);
    f.joint = kind == KD_RSDA ? NULL : "hinge";
    if (kind == KD_TYRE) f.tyre.stiffness = f.tyre.radius = 1.0;
    return f;
}

static kd_model *with_force(const kd_force_def *f)
{
    kd_model *m = arm_model();
    CHECK(kd_model_add_force(m, "strut", f));
    return m;
}

// A joint on a body that is not there names it and what it could have been; both ends are reported.
static void unknown_bodies(void **state)
{
    (void)state;
    kd_model *m = arm_model();
    add_joint(m, "second", KD_REVOLUTE, "amr", "grund");
    assert_wrong(m, "joint 'second': unknown body 'amr', did you mean 'arm'?\n"
                    "joint 'second': unknown body 'grund', did you mean 'ground'?");
    m = arm_model();
    kd_frame_def f = kd_frame_def_default();
    f.at = kd_at("leg", 0, 0, 0);
    CHECK(kd_model_add_frame(m, "tip", &f));
    assert_wrong(m, "frame 'tip': unknown body 'leg'");
    kd_constraint_def c = constraint(KD_POINT_ON_PLANE);
    c.to.body = "leg";
    assert_wrong(with_constraint(&c), "constraint 'rod': unknown body 'leg'");
    kd_force_def d = force(KD_TSDA);
    d.to.body = "leg";
    assert_wrong(with_force(&d), "force 'strut': unknown body 'leg'");
    d = force(KD_APPLIED);
    d.to.body = "leg";
    assert_wrong(with_force(&d), "force 'strut': unknown body 'leg'");
}

// Joints: motions of quaternions and of coordinates that do not exist, wrong start orientations.
static void wrong_joints(void **state)
{
    (void)state;
    kd_joint_def j = kd_joint_def_default(KD_SPHERICAL);
    j.to = kd_at("leg", 0, 0, 0);
    j.motion[0] = "t";
    kd_model *m = arm_model();
    add_ball(m, "leg");
    CHECK(kd_model_add_joint(m, "hip", &j));
    assert_wrong(m, "joint 'hip': the motion of a spherical joint cannot be prescribed");

    j.kind = KD_REVOLUTE;
    j.motion[1] = "t";
    m = arm_model();
    add_ball(m, "leg");
    CHECK(kd_model_add_joint(m, "hip", &j));
    assert_wrong(m, "joint 'hip': motion of coordinate 2, but there is only 1");

    j = kd_joint_def_default(KD_FREE);
    j.to = kd_at("leg", 0, 0, 0);
    for (int i = 3; i < 7; i++) j.q[i] = 0.0;
    m = arm_model();
    add_ball(m, "leg");
    CHECK(kd_model_add_joint(m, "hip", &j));
    assert_wrong(m, "joint 'hip': q: the orientation is not a unit quaternion");

    j.q[3] = 1.01; // normalised
    m = arm_model();
    add_ball(m, "leg");
    CHECK(kd_model_add_joint(m, "hip", &j));
    CHECK(kd_model_finish(m));
    assert_near(m->joint[1].def.q[3], 1.0, 1e-15);
    kd_model_destroy(m);

    j = kd_joint_def_default(KD_REVOLUTE);
    j.to = kd_at("leg", 0, 0, 0);
    j.motion[0] = "t^2";
    j.q[0] = 1.0;
    m = arm_model();
    add_ball(m, "leg");
    CHECK(kd_model_add_joint(m, "hip", &j));
    assert_warned(m, "joint 'hip': its motion is prescribed, q and v of the start are not used");
}

// Constraints: lengths, coordinates of couplings, curves.
static void wrong_constraints(void **state)
{
    (void)state;
    kd_constraint_def c = constraint(KD_DISTANCE);
    kd_model         *m = with_constraint(&c);
    CHECK(kd_model_finish(m));
    assert_near(m->constraint[0].def.length, 1.0, 1e-15); // as at the design position
    kd_model_destroy(m);
    c.to = kd_at("arm", 0, 0, 0);
    assert_wrong(with_constraint(&c), "constraint 'rod': the distance is 0, and so has no direction; a spherical joint "
                                      "holds two points together");
    c.to = kd_at("ground", 0, 0, 1);
    assert_wrong(with_constraint(&c), "constraint 'rod': both ends are on the ground");

    c = constraint(KD_COUPLING);
    c.nterms = 2;
    c.coordinate[0] = "joint.hinge.q";
    c.factor[0] = c.factor[1] = 1.0;
    c.coordinate[1] = "joint.hing.q";
    assert_wrong(with_constraint(&c), "constraint 'rod': unknown joint 'hing', did you mean 'hinge'?");
    c.coordinate[1] = "body.arm.pos.x";
    assert_wrong(with_constraint(&c), "constraint 'rod': 'body.arm.pos.x' cannot be coupled: it is no coordinate of a "
                                      "joint, as joint.NAME.q is");
    c.coordinate[1] = "joint.hinge.v";
    assert_wrong(with_constraint(&c), "constraint 'rod': 'joint.hinge.v' cannot be coupled: it is no coordinate of a "
                                      "joint, as joint.NAME.q is; speeds are coupled by 'type: velocity'");
    c.coordinate[1] = NULL;
    assert_wrong(with_constraint(&c), "constraint 'rod': coordinate 2 is missing");
    c.nterms = 1;
    c.factor[0] = 0.0;
    assert_wrong(with_constraint(&c), "constraint 'rod': the factor of 'joint.hinge.q' is 0");

    c = constraint(KD_POINT_ON_CURVE);
    c.value = "slot";
    assert_wrong(with_constraint(&c), "constraint 'rod': unknown curve 'slot'");
    m = arm_model();
    kd_curve_def k = kd_curve_def_default();
    k.n = 3;
    k.x = k.y = (double[]){0, 1, 2};
    CHECK(kd_model_add_curve(m, "slot", &k));
    CHECK(kd_model_add_constraint(m, "rod", &c));
    CHECK(kd_model_finish(m));
    assert_int_equal(m->constraint[0].curve, 0);
    kd_model_destroy(m);
}

// Curves: x must rise.
static void wrong_curve(void **state)
{
    (void)state;
    kd_model    *m = arm_model();
    kd_curve_def k = kd_curve_def_default();
    k.n = 3;
    k.x = (double[]){0, 2, 1};
    k.y = (double[]){0, 1, 2};
    CHECK(kd_model_add_curve(m, "slot", &k));
    assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
    assert_has(kd_model_message(m), "curve 'slot': ");
    kd_model_destroy(m);
}

// Forces: joints and coordinates that are not there, ends on one body.
static void wrong_forces(void **state)
{
    (void)state;
    kd_force_def f = force(KD_TSDA);
    f.to = f.from;
    assert_wrong(with_force(&f), "force 'strut': both ends are on the ground");
    f = force(KD_TYRE);
    f.to.body = "ground";
    assert_wrong(with_force(&f), "force 'strut': it acts on the ground, which does not move");
    f = force(KD_JOINT_SPRING);
    f.joint = "hing";
    assert_wrong(with_force(&f), "force 'strut': unknown joint 'hing', did you mean 'hinge'?");
    f.joint = "hinge";
    f.coordinate = 2;
    assert_wrong(with_force(&f), "force 'strut': coordinate 2 of joint 'hinge', which has 1");
    f = force(KD_RSDA);
    f.joint = "slide";
    kd_model *m = with_force(&f);
    add_ball(m, "leg");
    add_joint(m, "slide", KD_PRISMATIC, "arm", "leg");
    assert_wrong(m, "force 'strut': joint 'slide' is not revolute, screw or cylindrical");
}

// A force in a joint has the places of the joint.
static void force_in_joint(void **state)
{
    (void)state;
    kd_force_def f = force(KD_RSDA);
    f.joint = "hinge";
    kd_model *m = with_force(&f);
    CHECK(kd_model_finish(m));
    assert_int_equal(m->force[0].joint, 0);
    assert_int_equal(m->force[0].to.body, m->joint[0].to.body);
    kd_model_destroy(m);
}

static kd_eval no_force(double t, const double *value, const double *rate, const double *inner, void *context,
                        double *out, double *inner_rate)
{
    (void)t, (void)value, (void)rate, (void)inner, (void)context, (void)inner_rate;
    out[0] = 0.0;
    return KD_EVAL_OK;
}

// User forces: measures are paths of positions.
static void user_forces(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"joint.hing.q", "user force 'mine': measure 1: unknown joint 'hing', did you mean 'hinge'?"},
        {"joint.hinge.v", "user force 'mine': measure 1: 'joint.hinge.v' is no position: measures are lengths, angles "
                          "and coordinates"},
        {NULL, "user force 'mine': measure 1 is missing"},
    };
    kd_user_force_def d = kd_user_force_def_default();
    d.nmeasures = 1;
    d.eval = no_force;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        d.measure = cases[i];
        kd_model *m = arm_model();
        CHECK(kd_model_add_user_force(m, "mine", &d));
        assert_wrong(m, cases[i][1]);
    }
    kd_model   *m = arm_model();
    const char *good[] = {"body.arm.pos.z"};
    d.measure = good;
    CHECK(kd_model_add_user_force(m, "mine", &d));
    d.eval = NULL;
    assert_int_equal(kd_model_add_user_force(m, "other", &d), KD_ERR_ARGUMENT);
    assert_right(m);
}

// A force along the axes of its body follows the body's frame, wherever its point is; axes that the place has are kept.
static void force_along_the_body(void **state)
{
    (void)state;
    kd_model   *m = new_model();
    kd_body_def body = ball();
    body.orientation[0] = body.orientation[3] = sqrt(0.5); // a quarter turn about z
    CHECK(kd_model_add_body(m, "arm", &body));
    kd_force_def force = kd_force_def_default(KD_APPLIED);
    force.applied.force[0] = "1", force.applied.in = KD_IN_BODY;
    force.to = kd_at("arm", 1, 2, 3);
    CHECK(kd_model_add_force(m, "thrust", &force));
    force.applied.in = KD_IN_WORLD;
    CHECK(kd_model_add_force(m, "wind", &force));
    force.applied.in = KD_IN_BODY;
    force.to = kd_at_axis("arm", (const double[]){1, 2, 3}, (const double[]){0, 0, 1});
    CHECK(kd_model_add_force(m, "jet", &force));
    CHECK(kd_model_finish(m));
    assert_true(fabs(m->force[0].to.R.x.x - 1) < 1e-15);
    assert_true(fabs(m->force[1].to.R.x.x) < 1e-15);
    assert_true(fabs(m->force[2].to.R.x.x) < 1e-15);
    assert_true(fabs(m->force[0].to.r.x - 2) < 1e-15 && fabs(m->force[0].to.r.y + 1) < 1e-15);
    kd_model_destroy(m);
}

// A model that was found wrong stays wrong.
static void stays_wrong(void **state)
{
    (void)state;
    kd_model *m = arm_model();
    add_joint(m, "second", KD_REVOLUTE, "arm", "leg");
    assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
    assert_wrong(m, "joint 'second': unknown body 'leg'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_bodies), cmocka_unit_test(wrong_joints),         cmocka_unit_test(wrong_constraints),
        cmocka_unit_test(wrong_curve),    cmocka_unit_test(wrong_forces),         cmocka_unit_test(force_in_joint),
        cmocka_unit_test(user_forces),    cmocka_unit_test(force_along_the_body), cmocka_unit_test(stays_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
