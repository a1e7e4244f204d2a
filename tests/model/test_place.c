// Places: the same frame given in the world and in the body, axes and references, and what is refused.
#include "build_helpers.h"

// A model with body "arm" at a general pose.
static kd_model *posed_model(void)
{
    kd_model   *m = new_model();
    kd_body_def b = ball();
    b.position[0] = 1.0;
    b.position[1] = -2.0;
    b.position[2] = 0.5;
    kd_quat_to(kd_quat_exp(kd_vec(0.3, -0.8, 1.1)), b.orientation);
    CHECK(kd_model_add_body(m, "arm", &b));
    return m;
}

static kd_anchor world_anchor(const kd_model *m, const kd_anchor *a)
{
    if (a->body < 0) return *a;
    const kd_body *b = &m->body[a->body];
    return (kd_anchor){-1, kd_vec_add(b->r, kd_mat_vec(&b->R, a->r)), kd_mat_mul(&b->R, &a->R), 0};
}

static void assert_same_axes(const kd_mat3 *A, const kd_mat3 *B, double tolerance)
{
    assert_vec(A->x, B->x.x, B->x.y, B->x.z, tolerance);
    assert_vec(A->y, B->y.x, B->y.y, B->y.z, tolerance);
    assert_vec(A->z, B->z.x, B->z.y, B->z.z, tolerance);
}

// A place in the world comes back when its anchor is carried to the world by the body's pose.
static void world_there_and_back(void **state)
{
    (void)state;
    kd_model    *m = posed_model();
    kd_joint_def j = kd_joint_def_default(KD_REVOLUTE);
    const double axis[3] = {1, 2, -2}, point[3] = {0.1, 0.2, 0.3};
    j.from = kd_at_axis("ground", point, axis);
    j.to = kd_at_axis("arm", point, axis);
    CHECK(kd_model_add_joint(m, "hinge", &j));
    CHECK(kd_model_finish(m));
    const kd_anchor a = world_anchor(m, &m->joint[0].from), b = world_anchor(m, &m->joint[0].to);
    assert_vec(b.r, 0.1, 0.2, 0.3, 1e-15);
    assert_vec(b.R.z, 1.0 / 3, 2.0 / 3, -2.0 / 3, 1e-15);
    assert_same_axes(&a.R, &b.R, 1e-15); // so that q = 0 at the design position
    const kd_vec3 y = kd_vec_cross(b.R.z, b.R.x);
    assert_vec(b.R.y, y.x, y.y, y.z, 1e-15); // right-handed
    kd_model_destroy(m);
}

// Ends given in different coordinates, one with a reference and one without, agree where their axes do.
static void ends_agree(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        kd_model     *m = posed_model();
        kd_joint_def  j = kd_joint_def_default(KD_REVOLUTE);
        const kd_mat3 R = kd_quat_matrix(kd_quat_exp(kd_vec(0.3, -0.8, 1.1)));
        const kd_vec3 z = kd_mat_vec(&R, kd_vec(0, 1, 0)); // the world's direction of y of the body
        kd_place      world = kd_at("ground", 0, 0, 0), in = kd_in("arm", 0, 0, 0);
        kd_vec_to(z, world.axis);
        in.axis[1] = 3.0;
        if (turn) {
            in.reference[2] = 1.0;
        } else {
            world.reference[0] = 1.0;
        }
        j.from = world;
        j.to = in;
        CHECK(kd_model_add_joint(m, "hinge", &j));
        CHECK(kd_model_finish(m));
        const kd_anchor a = world_anchor(m, &m->joint[0].from), b = world_anchor(m, &m->joint[0].to);
        assert_same_axes(&a.R, &b.R, 1e-14);
        if (turn) assert_vec(m->joint[0].to.R.x, 0, 0, 1, 1e-15);
        kd_model_destroy(m);
    }
}

// Numbers in the body's frame are taken as they are, and an orientation serves where there is no axis.
static void in_the_body(void **state)
{
    (void)state;
    kd_model     *m = posed_model();
    kd_frame_def  f = kd_frame_def_default();
    const kd_quat q = kd_quat_exp(kd_vec(0.1, 0.2, -0.3));
    f.at = kd_in("arm", 1, 2, 3);
    kd_quat_to(q, f.at.orientation);
    CHECK(kd_model_add_frame(m, "tip", &f));
    CHECK(kd_model_finish(m));
    const kd_mat3 R = kd_quat_matrix(q);
    assert_int_equal(m->frame[0].at.body, 0);
    assert_vec(m->frame[0].at.r, 1, 2, 3, 0);
    assert_same_axes(&m->frame[0].at.R, &R, 1e-15);
    kd_model_destroy(m);
}

// The second axis of a universal joint is x of `to`, exactly; z of `from` is the first.
static void universal_axes(void **state)
{
    (void)state;
    kd_model    *m = posed_model();
    kd_joint_def j = kd_joint_def_default(KD_UNIVERSAL);
    j.from = kd_at_axis("ground", (double[]){0, 0, 0}, (double[]){0, 0.6, 0.8});
    j.from.reference[0] = 1.0;
    j.from.reference[1] = 1e-4; // not quite perpendicular
    j.to = j.from;
    j.to.body = "arm";
    CHECK(kd_model_add_joint(m, "cross", &j));
    CHECK(kd_model_finish(m));
    const kd_anchor a = world_anchor(m, &m->joint[0].from), b = world_anchor(m, &m->joint[0].to);
    assert_vec(a.R.z, 0, 0.6, 0.8, 1e-15);
    assert_near(b.R.x.y / b.R.x.x, 1e-4, 1e-15);
    kd_model_destroy(m);

    m = posed_model();
    j.from.reference[2] = 1.0;
    CHECK(kd_model_add_joint(m, "cross", &j));
    assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
    assert_has(kd_model_message(m), "joint 'cross': from: the two axes of a universal joint are perpendicular");
    kd_model_destroy(m);
}

// Every axis gives a right-handed frame of unit vectors with z along it.
static void any_axis(void **state)
{
    (void)state;
    for (int k = 0; k < 27; k++) {
        const double axis[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
        if (k == 13) continue; // no direction
        kd_model    *m = posed_model();
        kd_frame_def f = kd_frame_def_default();
        f.at = kd_at_axis("arm", (double[]){0, 0, 0}, axis);
        CHECK(kd_model_add_frame(m, "tip", &f));
        CHECK(kd_model_finish(m));
        const kd_mat3 R = world_anchor(m, &m->frame[0].at).R, one = kd_mat_tmul(&R, &R), I = kd_mat_identity();
        assert_same_axes(&one, &I, 1e-15);
        const double n = kd_vec_norm(kd_vec_of(axis));
        assert_vec(R.z, axis[0] / n, axis[1] / n, axis[2] / n, 1e-15);
        assert_near(kd_vec_dot(kd_vec_cross(R.x, R.y), R.z), 1.0, 1e-15);
        kd_model_destroy(m);
    }
}

// Wrong places are refused with the end that is meant.
static void wrong_places(void **state)
{
    (void)state;
    kd_model    *m = posed_model();
    kd_joint_def j = kd_joint_def_default(KD_REVOLUTE);
    j.from = kd_at_axis("ground", (double[]){0, 0, 0}, (double[]){0, 0, 1});
    j.to = kd_at_axis("arm", (double[]){0, 0, 0}, (double[]){0, 0, 1});
    j.to.reference[2] = 2.0;
    CHECK(kd_model_add_joint(m, "hinge", &j));
    assert_wrong(m, "joint 'hinge': to: axis and reference are parallel");

    m = posed_model();
    add_joint(m, "hinge", KD_REVOLUTE, "arm", "arm");
    assert_wrong(m, "joint 'hinge': both ends are on body 'arm'");

    m = posed_model();
    add_joint(m, "hinge", KD_REVOLUTE, "ground", "ground");
    assert_wrong(m, "joint 'hinge': both ends are on the ground");

    m = posed_model();
    j.to = kd_at("arm", NAN, 0, 0);
    assert_int_equal(kd_model_add_joint(m, "hinge", &j), KD_ERR_MODEL);
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(world_there_and_back), cmocka_unit_test(ends_agree), cmocka_unit_test(in_the_body),
        cmocka_unit_test(universal_axes),       cmocka_unit_test(any_axis),   cmocka_unit_test(wrong_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
