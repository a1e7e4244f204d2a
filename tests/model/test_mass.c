// Masses: what must be given, what is implausible, what cannot move.
#include "build_helpers.h"

static kd_body_def body(double mass, double xx, double yy, double zz)
{
    kd_body_def b = ball();
    b.mass = mass;
    b.inertia[0] = xx;
    b.inertia[1] = yy;
    b.inertia[2] = zz;
    return b;
}

// The body "arm" on a joint of the given kind at the given point.
static kd_model *on_joint(const kd_body_def *b, kd_joint_kind kind, double x)
{
    kd_model *m = new_model();
    CHECK(kd_model_add_body(m, "arm", b));
    kd_joint_def j = kd_joint_def_default(kind);
    j.from = kd_at("ground", x, 0, 0);
    j.to = kd_at("arm", x, 0, 0);
    j.pitch = 1.0;
    CHECK(kd_model_add_joint(m, "hinge", &j));
    return m;
}

// Mass and inertia must be given whole, or come from shapes.
static void missing_mass(void **state)
{
    (void)state;
    kd_body_def b = kd_body_def_default();
    assert_wrong(on_joint(&b, KD_REVOLUTE, 1), "body 'arm': the mass is missing: give it, or a shape with a density "
                                               "(0: a body without mass)");
    b = ball();
    b.inertia[4] = NAN;
    assert_wrong(on_joint(&b, KD_REVOLUTE, 1), "body 'arm': inertia: give all 6 numbers or none");
    b = ball();
    b.centre[0] = 1.0;
    b.centre[1] = b.centre[2] = NAN;
    assert_wrong(on_joint(&b, KD_REVOLUTE, 1), "body 'arm': centre: give all 3 numbers or none");
    b = ball();
    b.nshapes = 1;
    b.shape[0] = (kd_shape){.kind = KD_TUBE, .size = {1, 2, 1}, .orientation = {1, 0, 0, 0}, .density = 1.0};
    assert_wrong(on_joint(&b, KD_REVOLUTE, 1),
                 "body 'arm': the inner radius 2 of a tube is not smaller than the outer 1");
}

// A shape without density is only drawn: where mass and inertia are given, it does not move the centre of mass.
static void drawn_only(void **state)
{
    (void)state;
    kd_body_def b = body(1, 1, 1, 1);
    b.nshapes = 1;
    b.shape[0] = (kd_shape){.kind = KD_SPHERE, .size = {1}, .position = {2, 0, 0}, .orientation = {1, 0, 0, 0}};
    for (int i = 0; i < 3; i++) b.centre[i] = NAN;
    for (int dense = 0; dense < 2; dense++) {
        b.shape[0].density = dense;
        kd_model *m = on_joint(&b, KD_REVOLUTE, 1);
        CHECK(kd_model_finish(m));
        assert_true(m->body[0].centre.x == (dense ? 2.0 : 0.0));
        kd_model_destroy(m);
    }
}

// Warnings: triangle inequality, negative moments, units, no mass.
static void implausible(void **state)
{
    (void)state;
    kd_body_def b = body(1, 1, 1, 3);
    assert_warned(on_joint(&b, KD_REVOLUTE, 1), "body 'arm': no body has such inertia: principal moments 1 + 1 < 3");
    b = body(1, 1, 1, 1);
    b.inertia[3] = 2.0;
    assert_warned(on_joint(&b, KD_REVOLUTE, 1), "the inertia is not positive definite: principal moments -1, 1, 3");
    b = body(5e7, 1e7, 1e7, 1e7);
    assert_warned(on_joint(&b, KD_REVOLUTE, 1), "the mass of 5e+07 kg is unusually large");
    b = body(1, 3e5, 3e5, 3e5);
    assert_warned(on_joint(&b, KD_REVOLUTE, 1), "belong to a body of more than 1 km");
    b = body(1000, 1e-8, 1e-8, 1e-8);
    assert_warned(on_joint(&b, KD_REVOLUTE, 1), "belong to a body of less than 0.1 mm");
    kd_model *m = on_joint(&b, KD_REVOLUTE, 1);
    b = body(0, 0, 0, 0);
    CHECK(kd_model_add_body(m, "marker", &b));
    add_joint(m, "glue", KD_FIXED, "arm", "marker");
    assert_warned(m, "body 'marker': the body has no mass");
    b = body(2, 0.1, 0.2, 0.3);
    m = on_joint(&b, KD_REVOLUTE, 1);
    CHECK(kd_model_finish(m));
    assert_int_equal(kd_model_warning_count(m), 0);
    kd_model_destroy(m);
}

// A body that one joint holds needs inertia along what the joint lets it do, and no more.
static void moves_alone(void **state)
{
    (void)state;
    static const struct {
        kd_joint_kind kind;
        double        x; // of the joint, from the point mass
        bool          right;
    } cases[] = {
        {KD_REVOLUTE, 1, true},    {KD_REVOLUTE, 0, false},  {KD_PRISMATIC, 0, true}, {KD_SCREW, 0, true},
        {KD_CYLINDRICAL, 1, true}, {KD_UNIVERSAL, 1, false}, {KD_PLANAR, 1, false},   {KD_SPHERICAL, 1, false},
        {KD_FREE, 0, false},       {KD_FIXED, 0, true},
    };
    const kd_body_def point = body(1, 0, 0, 0), solid = body(1, 1, 1, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kd_model       *m = on_joint(&point, cases[i].kind, cases[i].x);
        const kd_status status = kd_model_finish(m);
        if (status != (cases[i].right ? KD_OK : KD_ERR_MODEL)) fail_msg("joint kind %d", (int)cases[i].kind);
        if (status < 0)
            assert_has(kd_model_message(m), "body 'arm': only joint 'hinge' holds it, but the mass of 1 kg");
        kd_model_destroy(m);
        assert_right(on_joint(&solid, cases[i].kind, cases[i].x));
    }
}

// Without a joint it must have mass and inertia, and is said to move freely.
static void moves_freely(void **state)
{
    (void)state;
    kd_model   *m = new_model();
    kd_body_def b = body(1, 1, 1, 0);
    CHECK(kd_model_add_body(m, "stone", &b));
    assert_wrong(m, "body 'stone': it moves freely and needs mass and positive definite inertia, but has 1 kg and "
                    "principal moments 0, 1, 1 kg m^2");
    m = new_model();
    add_ball(m, "stone");
    assert_warned(m, "body 'stone': no joint, constraint or force acts on it: it moves freely");
}

// Bodies joined by fixed joints count as one: mass of one and inertia of the other suffice.
static void joined_rigidly(void **state)
{
    (void)state;
    const kd_body_def none = body(0, 0, 0, 0), solid = body(1, 1, 1, 1);
    kd_model         *m = on_joint(&none, KD_SPHERICAL, 0);
    CHECK(kd_model_add_body(m, "load", &solid));
    add_joint(m, "glue", KD_FIXED, "load", "arm");
    assert_right(m);
    m = on_joint(&none, KD_SPHERICAL, 0);
    CHECK(kd_model_add_body(m, "load", &none));
    add_joint(m, "glue", KD_FIXED, "load", "arm");
    assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
    kd_model_destroy(m);
    m = new_model(); // fixed to the ground: no inertia is needed
    CHECK(kd_model_add_body(m, "base", &none));
    add_joint(m, "glue", KD_FIXED, "base", "ground");
    assert_right(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_mass), cmocka_unit_test(drawn_only),   cmocka_unit_test(implausible),
        cmocka_unit_test(moves_alone),  cmocka_unit_test(moves_freely), cmocka_unit_test(joined_rigidly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
