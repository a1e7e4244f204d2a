// The camera of drawings: where it looks from, and that all of a motion is in the picture.
#include <math.h>

#include "drawing/camera.h"
#include "drawing/film.h"

#define ARM(gravity, axis)                                                                                             \
    "kardan: 1\ngravity: " gravity                                                                                     \
    "\nbodies:\n  arm: {position: [1, 0, 0], mass: 1, inertia: [1, 1, 1], shape: {box: [2, 0.1, 0.1]}}\n"              \
    "joints:\n  h: {type: revolute, bodies: [ground, arm], point: [0, 0, 0], axis: " axis "}\n"

static kd_scene scene_of(test_film *f)
{
    kd_scene s;
    assert_int_equal(kd_scene_build(&f->film, &s), KD_OK);
    return s;
}

// The axes are orthonormal and right-handed; up is against gravity; a planar mechanism is seen from its front or above.
static void planar_mechanisms_are_seen_from_the_front(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        kd_vec3     up, normal;
    } list[] = {
        {ARM("[0, -9.81, 0]", "[0, 0, 1]"), {0, 1, 0}, {0, 0, 1}},
        {ARM("[0, 0, -9.81]", "[0, -1, 0]"), {0, 0, 1}, {0, -1, 0}},
        {ARM("[0, 0, -9.81]", "[0, 1, 0]"), {0, 0, 1}, {0, -1, 0}},
        {ARM("[0, 0, -9.81]", "[0, 0, 1]"), {0, 0, 1}, {0, 0, 1}},
        {ARM("[0, 0, 0]", "[0, 0, 1]"), {0, 1, 0}, {0, 0, 1}},
        {ARM("[-3, 0, 0]", "[0, 0, 1]"), {1, 0, 0}, {0, 0, 1}},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        test_film        f = film_of(list[i].text, 2);
        kd_scene         s = scene_of(&f);
        const kd_camera *c = &s.camera;
        kd_vec3          u, v, w, cross = kd_vec_cross(c->up, c->front);
        kd_camera_axes(c, &u, &v, &w);
        assert_true(kd_vec_norm(kd_vec_sub(c->up, list[i].up)) < 1e-12);
        assert_true(kd_vec_norm(kd_vec_sub(cross, c->right)) < 1e-12);
        assert_true(fabs(kd_vec_norm(c->right) - 1) < 1e-12 && fabs(kd_vec_norm(c->front) - 1) < 1e-12);
        assert_true(kd_vec_norm(kd_vec_sub(kd_vec_cross(u, v), w)) < 1e-12);
        assert_true(kd_vec_dot(v, c->up) > 0.5); // up is up in the picture
        assert_true(fabs(kd_vec_dot(w, list[i].normal)) > 0.8);
        kd_scene_release(&s);
        close_film(&f);
    }
}

// A motion that leaves the plane of the axes is seen from the front right above.
static void spatial_mechanisms_are_seen_from_above(void **state)
{
    (void)state;
    test_film f = film_of(ARM("[0, 0, -9.81]", "[0, 1, 0]"), 2);
    pose_of(&f, 1, 0)[1] = 0.5; // along the axis
    kd_scene s = scene_of(&f);
    kd_vec3  u, v, w;
    kd_camera_axes(&s.camera, &u, &v, &w);
    assert_true(w.x > 0.3 && w.y < -0.3 && w.z > 0.3);
    kd_scene_release(&s);
    close_film(&f);
}

// Every corner of every solid in every frame lies in the rectangle, and some corner is near each of its edges.
static void motion_fits_into_the_picture(void **state)
{
    (void)state;
    test_film f = film_of(ARM("[0, 0, -9.81]", "[0, 1, 0]"), 30);
    for (int i = 0; i < 30; i++) {
        double  angle = 0.2 * i;
        kd_quat q = kd_quat_exp(kd_vec(0, angle, 0));
        kd_quat_to(q, pose_of(&f, i, 0) + 3);
        pose_of(&f, i, 0)[0] = cos(angle);
        pose_of(&f, i, 0)[2] = -sin(angle);
    }
    kd_scene         s = scene_of(&f);
    const kd_camera *c = &s.camera;
    kd_vec3          u, v, w;
    double           top = -INFINITY;
    kd_camera_axes(c, &u, &v, &w);
    assert_true(s.nsolids > 1 && !s.follows && !s.falls);
    for (int i = 0; i < 30; i++)
        for (int k = 0; k < s.nsolids; k++) {
            const kd_solid *solid = &s.solid[k];
            const kd_mesh  *mesh = &s.mesh[solid->mesh];
            kd_mat3         R = kd_quat_matrix(solid->q);
            for (int j = 0; j < mesh->nvertices; j++) {
                kd_vec3 e = mesh->vertex[j], a = kd_vec(e.x * solid->size.x, e.y * solid->size.y, e.z * solid->size.z);
                kd_point_of at = {solid->body, kd_vec_add(solid->r, kd_mat_vec(&R, a))};
                kd_vec3     p = kd_vec_sub(kd_film_point(&f.film, i, &at), c->centre);
                double      scale = c->distance / (c->distance - kd_vec_dot(p, w));
                double      x = scale * kd_vec_dot(p, u), y = scale * kd_vec_dot(p, v);
                assert_true(x > c->low[0] - 1e-9 && x < c->high[0] + 1e-9);
                assert_true(y > c->low[1] - 1e-9 && y < c->high[1] + 1e-9);
                assert_true(kd_vec_norm(p) < s.radius + 1e-9);
                assert_true(kd_vec_dot(p, c->up) > s.floor - 1e-9);
                top = fmax(top, y);
            }
        }
    assert_true(top > c->high[1] - 0.1);
    kd_scene_release(&s);
    close_film(&f);
}

// A vehicle is followed along the ground, a falling thing downwards; both stay large in the picture.
static void travellers_are_followed(void **state)
{
    (void)state;
    for (int axis = 0; axis < 3; axis += 2) {
        test_film f = film_of("kardan: 1\nbodies:\n  a: {position: [0, 0, 1], mass: 1, shape: {box: [1, 1, 1]}}\n"
                              "  b: {position: [2, 0, 1], mass: 1, shape: {box: [1, 1, 1]}}\n",
                              10);
        for (int i = 0; i < 10; i++)
            for (int b = 0; b < 2; b++) pose_of(&f, i, b)[axis] += axis == 0 ? 10 * i : -10 * i;
        kd_scene s = scene_of(&f);
        assert_int_equal(s.follows, axis == 0);
        assert_int_equal(s.falls, axis == 2);
        assert_true(s.radius < 3);
        kd_vec3 travel = kd_camera_travel(&s, 9);
        assert_near(axis == 0 ? travel.x : travel.z, axis == 0 ? 90 : -90);
        assert_near(travel.y, 0);
        kd_scene_release(&s);
        // a way of four sizes is far enough: the mechanism would be a fifth of the picture
        for (int i = 0; i < 10; i++)
            for (int b = 0; b < 2; b++) pose_of(&f, i, b)[axis] = (axis == 0 ? 2.0 * b : 1.0) + 4.0 / 9.0 * i * s.size;
        s = scene_of(&f);
        assert_int_equal(s.follows, axis == 0);
        assert_int_equal(s.falls, axis == 2);
        kd_scene_release(&s);
        close_film(&f);
    }
}

// The floor is what something rolls or bounces on, else the ground of the world, if it is near, else below everything.
static void floor_is_where_one_stands(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double      height; // in the world; NaN: below the body, but not at 0
    } list[] = {
        {"kardan: 1\nbodies:\n  b: {position: [0, 0, 5], mass: 1, shape: {sphere: 0.5}}\n"
         "forces:\n  c: {type: contact, from: {body: ground, point: [0, 0, 2]}, to: b, radius: 0.5, stiffness: 1}\n",
         2},
        {"kardan: 1\nbodies:\n  b: {position: [0, 0, 0.5], mass: 1, shape: {box: [1, 1, 1]}}\n", 0},
        {"kardan: 1\nbodies:\n  b: {position: [0, 0, 0.6], mass: 1, shape: {box: [1, 1, 1]}}\n", 0},
        {"kardan: 1\nbodies:\n  b: {position: [0, 0, -3], mass: 1, shape: {box: [1, 1, 1]}}\n", NAN},
        {"kardan: 1\nbodies:\n  b: {position: [0, 0, 30], mass: 1, shape: {box: [1, 1, 1]}}\n", NAN},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        test_film f = film_of(list[i].text, 1);
        kd_scene  s = scene_of(&f);
        double    height = s.camera.centre.z + s.floor, lowest = f.model->body[0].r.z - 0.5;
        if (isnan(list[i].height))
            assert_true(height < lowest && height > lowest - 0.1);
        else
            assert_true(fabs(height - list[i].height) < 1e-12);
        assert_true(s.grid > 0.1 * s.radius && s.grid < s.radius);
        kd_scene_release(&s);
        close_film(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planar_mechanisms_are_seen_from_the_front),
        cmocka_unit_test(spatial_mechanisms_are_seen_from_above),
        cmocka_unit_test(motion_fits_into_the_picture),
        cmocka_unit_test(travellers_are_followed),
        cmocka_unit_test(floor_is_where_one_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
