// Scenes: shapes as they are, bars where there are none, joints, springs and traces.
#include <math.h>

#include "core/failing_allocator.h"
#include "drawing/film.h"

static kd_scene scene_of(test_film *f)
{
    kd_scene s;
    assert_int_equal(kd_scene_build(&f->film, &s), KD_OK);
    return s;
}

// Does a point of a body lie in the box that a shape fills?
static bool is_inside(const kd_shape *shape, kd_vec3 p)
{
    kd_mat3 R = kd_quat_matrix(kd_quat_of(shape->orientation));
    kd_vec3 q = kd_mat_tvec(&R, kd_vec_sub(p, kd_vec_of(shape->position)));
    double  hx = shape->size[0] / 2, hy = shape->size[1] / 2, hz = shape->size[2] / 2;
    if (shape->kind == KD_CYLINDER || shape->kind == KD_ROD) hx = hy = shape->size[0], hz = shape->size[1] / 2;
    if (shape->kind == KD_TUBE) hx = hy = fmax(shape->size[0], shape->size[1]), hz = shape->size[2] / 2;
    return fabs(q.x) < hx + 1e-9 && fabs(q.y) < hy + 1e-9 && fabs(q.z) < hz + 1e-9;
}

// Solids of shapes fill the room of the shapes, whichever edge is the longest.
static void shapes_are_drawn_as_they_are(void **state)
{
    (void)state;
    static const char *const shape[] = {"box: [0.3, 0.2, 0.1]",
                                        "box: [3, 0.2, 0.1]",
                                        "box: [0.2, 3, 0.1]",
                                        "box: [0.1, 0.2, 3]",
                                        "cylinder: [0.1, 0.25]",
                                        "cylinder: [0.1, 3]",
                                        "cylinder: [1, 0.1]",
                                        "sphere: 0.2",
                                        "tube: [0.5, 0.3, 0.4]",
                                        "tube: [0.1, 0.05, 3]",
                                        "rod: 0.1, from: [1, 2, 3], to: [0, 1, 1]"};
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        bool rod = i == sizeof shape / sizeof shape[0] - 1;
        char text[600];
        snprintf(text, sizeof text,
                 "kardan: 1\nbodies:\n  b: {position: [1, 2, 3], orientation: {axis: [1, 2, 3], angle: 1}, mass: 1, "
                 "inertia: "
                 "[1, 1, 1], shape: {%s%s}}\n",
                 shape[i], rod ? "" : ", position: [0.1, 0.2, 0.3], orientation: {axis: [3, 1, 1], angle: 2}");
        test_film       f = film_of(text, 1);
        kd_scene        s = scene_of(&f);
        const kd_shape *drawn = &f.model->body[0].def.shape[0];
        const double   *e = drawn->size;
        double          expected = drawn->kind == KD_BOX      ? e[0] * e[1] * e[2]
                                   : drawn->kind == KD_SPHERE ? 4 * KD_PI / 3 * pow(e[0], 3)
                                   : drawn->kind == KD_TUBE   ? KD_PI * (e[0] * e[0] - e[1] * e[1]) * e[2]
                                                              : KD_PI * e[0] * e[0] * e[1];
        if (i == 9) expected = KD_PI * e[0] * e[0] * e[2]; // nobody looks into a long tube
        assert_int_equal(s.nsolids, 1);
        assert_int_equal(s.solid[0].body, 0);
        assert_true(fabs(solid_volume(&s, &s.solid[0]) / expected - 1) < 0.04); // round ones have corners
        const kd_mesh *mesh = s.solid[0].mesh == KD_MESH_BALL ? NULL : &s.mesh[s.solid[0].mesh];
        for (int k = 0; mesh && k < mesh->nvertices; k++) {
            kd_mat3 R = kd_quat_matrix(s.solid[0].q);
            kd_vec3 v = mesh->vertex[k], e3 = s.solid[0].size, a = kd_vec(v.x * e3.x, v.y * e3.y, v.z * e3.z);
            assert_true(is_inside(drawn, kd_vec_add(s.solid[0].r, kd_mat_vec(&R, a))));
        }
        kd_scene_release(&s);
        close_film(&f);
    }
}

static const char BARE[] =
    "kardan: 1\n"
    "bodies:\n"
    "  weight: {position: [0, 0, -1], mass: 1, inertia: [1, 1, 1]}\n"
    "  link: {position: [2, 0, 0], mass: 1, inertia: [1, 1, 1]}\n"
    "  tri: {position: [4, 1, 0], mass: 1, inertia: [1, 1, 1]}\n"
    "  star: {position: [6, 1, 0], mass: 1, inertia: [1, 1, 1]}\n"
    "  flyer: {position: [0, 3, 0], mass: 1, inertia: [1, 1, 1]}\n"
    "joints:\n"
    "  a: {type: revolute, bodies: [ground, weight], point: [0, 0, 0], axis: [0, 1, 0]}\n"
    "  b: {type: revolute, bodies: [ground, link], point: [1, 0, 0], axis: [0, 1, 0]}\n"
    "  c: {type: spherical, bodies: [link, tri], point: [3, 0, 0]}\n"
    "  d: {type: universal, bodies: [tri, star], point: [5, 0, 0], axis: [0, 1, 0], reference: [1, 0, 0]}\n"
    "  e: {type: spherical, bodies: [tri, ground], point: [4, 2, 0]}\n"
    "  g: {type: spherical, bodies: [star, ground], point: [6, 3, 0]}\n"
    "  h: {type: spherical, bodies: [star, ground], point: [7, 0, 0]}\n"
    "  i: {type: spherical, bodies: [star, ground], point: [6, 0, 2]}\n";

// Bodies without shapes are a weight on a bar, a bar from joint to joint, a triangle, a star, a ball.
static void bare_bodies_are_sticks(void **state)
{
    (void)state;
    test_film f = film_of(BARE, 1);
    kd_scene  s = scene_of(&f);
    assert_int_equal(count_solids(&s, 0, KD_MESH_BALL), 1);
    assert_int_equal(count_solids(&s, 0, KD_MESH_LONG), 1);
    int bars[4] = {0};
    for (int i = 0; i < s.nsolids; i++) {
        const kd_solid *solid = &s.solid[i];
        if (solid->mesh != KD_MESH_LONG || solid->body < 0 || solid->paint >= KD_PAINT_BODIES) continue;
        assert_true(solid->body < 4);
        bars[solid->body]++;
        if (solid->body == 0) assert_near(solid->size.z, 1);
        if (solid->body == 1) assert_near(solid->size.z, 2);
    }
    assert_int_equal(bars[1], 1);
    assert_int_equal(bars[2], 3);
    assert_int_equal(bars[3], 4);
    assert_int_equal(count_solids(&s, 4, -2), 1);
    assert_int_equal(count_solids(&s, 4, KD_MESH_BALL), 1);
    assert_int_equal(count_solids(&s, -1, KD_MESH_PYRAMID), 6); // one for each joint on the ground
    kd_scene_release(&s);
    close_film(&f);
}

// A joint away from the shape of its body is tied to it; one that touches it is not.
static void distant_joints_are_tied(void **state)
{
    (void)state;
    for (int far = 0; far < 2; far++) {
        test_film f =
            film_of(far ? "kardan: 1\nbodies:\n  bob: {position: [1, 0, 0], mass: 1, shape: {sphere: 0.1}}\n"
                          "joints:\n  h: {type: revolute, bodies: [ground, bob], point: [0, 0, 0], axis: [0, 1, 0]}\n"
                        : "kardan: 1\nbodies:\n  bob: {position: [1, 0, 0], mass: 1, shape: {box: [2, 0.1, 0.1]}}\n"
                          "joints:\n  h: {type: revolute, bodies: [ground, bob], point: [0, 0, 0], axis: [0, 1, 0]}\n",
                    1);
        kd_scene s = scene_of(&f);
        assert_int_equal(count_solids(&s, 0, -2), far ? 2 : 1);
        kd_scene_release(&s);
        close_film(&f);
    }
}

// Bodies of a family share their colour, others differ from their neighbours.
static void families_share_a_colour(void **state)
{
    (void)state;
    test_film f = film_of("kardan: 1\nbodies:\n  a: {mass: 1, inertia: [1, 1, 1]}\n"
                          "  leg(i): {for: i = 1..3, mass: 1, inertia: [1, 1, 1], position: [i, 0, 0]}\n"
                          "  legs: {mass: 1, inertia: [1, 1, 1]}\n",
                          1);
    kd_scene  s = scene_of(&f);
    assert_int_equal(s.paint[1], s.paint[2]);
    assert_int_equal(s.paint[1], s.paint[3]);
    assert_true(s.paint[0] != s.paint[1] && s.paint[4] != s.paint[3] && s.paint[4] != s.paint[0]);
    assert_int_equal(kd_family_length("leg(12)"), 3);
    assert_int_equal(kd_family_length("leg"), 3);
    kd_scene_release(&s);
    close_film(&f);
}

#define SLIDE                                                                                                          \
    "kardan: 1\nbodies:\n  cart: {position: [0, 0, 1], mass: 1, inertia: [1, 1, 1]}\n"                                 \
    "  bob: {position: [0, 0, 0.5], mass: 1, inertia: [1, 1, 1]}\n"                                                    \
    "joints:\n  slide: {type: prismatic, bodies: [ground, cart], point: [0, 0, 1], axis: [1, 0, 0]}\n"                 \
    "  hinge: {type: revolute, bodies: [cart, bob], point: [0, 0, 1], axis: [0, 1, 0]}\n"

// The rail of a slide is as long as its way, and a little longer.
static void rails_hold_the_motion(void **state)
{
    (void)state;
    test_film f = film_of(SLIDE, 3);
    pose_of(&f, 1, 0)[0] = 0.7;
    pose_of(&f, 2, 0)[0] = -0.4;
    kd_scene s = scene_of(&f);
    int      rails = 0;
    for (int i = 0; i < s.nsolids; i++)
        if (s.solid[i].body < 0 && s.solid[i].mesh == KD_MESH_LONG) {
            rails++;
            assert_true(s.solid[i].size.z > 1.1 && s.solid[i].size.z < 1.3);
            assert_true(fabs(s.solid[i].r.x - 0.15) < 1e-12 && fabs(s.solid[i].r.z - 1) < 1e-12);
        }
    assert_int_equal(rails, 1);
    kd_scene_release(&s);
    close_film(&f);
}

// Springs and rods run between their points.
static void springs_are_coils(void **state)
{
    (void)state;
    test_film f =
        film_of(SLIDE "forces:\n  k: {type: tsda, from: {body: ground, point: [1, 2, 3]}, to: bob, stiffness: 1}\n"
                      "  m: {type: maxwell, from: cart, to: bob, stiffness: 1, damping: 1, series: 1}\n"
                      "constraints:\n  d: {type: distance, from: cart, to: ground}\n",
                1);
    kd_scene s = scene_of(&f);
    assert_int_equal(s.ncoils, 4);
    assert_int_equal(s.coil[0].from.body, -1);
    assert_near(s.coil[0].from.r.y, 2);
    assert_int_equal(s.coil[0].to.body, 1);
    static const kd_scene_link LOOK[] = {KD_LINK_COIL, KD_LINK_DAMPER, KD_LINK_COIL, KD_LINK_ROD};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(s.coil[i].look, LOOK[i]);
        assert_true((s.coil[i].radius > 0) == (LOOK[i] == KD_LINK_COIL) && s.coil[i].thick > 0);
    }
    assert_string_equal(s.coil[2].name, "m");
    kd_scene_release(&s);
    close_film(&f);
}

// Constraints without a place are links between what they speak of; a winch is a rope; what only looks like a name is none.
static void couplings_link_what_they_couple(void **state)
{
    (void)state;
    test_film f = film_of(SLIDE "constraints:\n  e: {type: expression, value: body.cart.pos.x - 2*body.bob.pos.x}\n"
                                "  w: {type: distance, from: cart, to: bob, motion: 0.1*t}\n",
                          1);
    kd_scene  s = scene_of(&f);
    assert_int_equal(s.ncoils, 2);
    assert_int_equal(s.coil[0].look, KD_LINK_COUPLING);
    assert_int_equal(s.coil[0].from.body + s.coil[0].to.body, 1); // both, once
    assert_string_equal(s.coil[0].name, "e");
    assert_int_equal(s.coil[1].look, KD_LINK_ROPE);
    kd_scene_release(&s);
    close_film(&f);
}

// The road under a tyre: its height where the wheel is, by hand; one that an input moves, and a level one, have no line.
static void roads_are_lines(void **state)
{
    (void)state;
    test_film f = film_of(SLIDE "parameters: {a: 0.1}\ninputs: {u: 0}\nforces:\n"
                                "  r: {type: tyre, body: bob, radius: 0.3, stiffness: 1, road: 'a*sin(x)'}\n"
                                "  i: {type: tyre, body: bob, radius: 0.3, stiffness: 1, road: input.u}\n"
                                "  l: {type: tyre, body: bob, radius: 0.3, stiffness: 1}\n",
                          3);
    kd_scene  s = scene_of(&f);
    assert_int_equal(s.nlines, 1);
    assert_string_equal(s.line[0].name, "r");
    assert_true(s.line[0].count > 100 && s.line[0].body == -1);
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < s.line[0].count; i++) {
        const kd_vec3 a = s.line[0].point[i];
        assert_near(a.z, 0.1 * sin(a.x));
        low = fmin(low, a.x), high = fmax(high, a.x);
    }
    for (int i = 0; i < 3; i++) {
        const kd_vec3 at = kd_film_point(&s.film, i, &(kd_point_of){1, {0, 0, 0}});
        assert_true(low < at.x && at.x < high);
    }
    kd_scene_release(&s);
    close_film(&f);
}

// How far a point lies beside each surface of the next test, by its equation
static double beside_surface(int k, kd_vec3 a)
{
    const double r = hypot(a.x, a.y);
    switch (k) {
    case 0:
        return a.x * a.x / 0.25 + a.y * a.y / 0.16 + a.z * a.z / 0.09 - 1;
    case 1:
        return hypot(r - 0.5, a.z) - 0.2;
    case 2:
        return r - 0.3;
    case 3:
        return r - a.z * tan(0.4);
    case 4:
        return r - (0.4 - a.z * a.z);
    case 5:
        return a.z - (0.4 - a.x * a.x);
    default:
        return kd_vec_norm(a) - 0.7;
    }
}

// Surfaces in contact are grids of lines on them, fixed in their bodies, up to where the motion went; level ground and balls that are
// shapes are there already.
static void surfaces_are_grids(void **state)
{
    static const char *const surface[] = {"ellipsoid, to_size: [0.5, 0.4, 0.3]",
                                          "torus, to_size: [0.5, 0.2]",
                                          "cylinder, to_size: [0.3]",
                                          "cone, to_size: [0.4]",
                                          "revolution, to_curve: c",
                                          "swept, to_curve: c",
                                          "sphere, to_size: [0.7]"};
    (void)state;
    for (int k = 0; k < 7; k++)
        for (int kept = 0; kept < 2; kept++) {
            char text[1200];
            snprintf(text, sizeof text,
                     SLIDE
                     "curves: {c: {x: [-0.5, -0.4, -0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3, 0.4, 0.5], y: [0.15, 0.24, "
                     "0.31, 0.36, 0.39, 0.4, 0.39, 0.36, 0.31, 0.24, 0.15], form: spline}}\n"
                     "%s:\n  s: {type: surface_contact, from: ground, to: {body: bob, point: [0.1, 0.2, 0.3]}, %s"
                     "to_surface: %s}\n",
                     kept ? "constraints" : "forces", kept ? "" : "stiffness: 1, ", surface[k]);
            test_film f = film_of(text, 3);
            kd_scene  s = scene_of(&f);
            assert_true(s.nlines > 8);
            for (int i = 0; i < s.nlines; i++) {
                assert_string_equal(s.line[i].name, "s");
                assert_true(s.line[i].grid && s.line[i].body == 1 && s.line[i].count > 8);
                for (int j = 0; j < s.line[i].count; j++) {
                    const kd_vec3 a = kd_vec_sub(s.line[i].point[j], kd_vec(0.1, 0.2, 0.3));
                    if (!(fabs(beside_surface(k, a)) < 1e-3)) // splines between their rows
                        fail_msg("surface %d: (%g, %g, %g) is not on it", k, a.x, a.y, a.z);
                }
            }
            kd_scene_release(&s);
            close_film(&f);
        }
    // a ball that is a shape, on the ground: nothing more
    test_film f =
        film_of("kardan: 1\nbodies:\n  b: {position: [0, 0, 0.1], mass: 1, inertia: [1, 1, 1], shape: {sphere: "
                "0.1}}\nforces:\n  s: {type: surface_contact, from: ground, to: b, to_surface: sphere, to_size: "
                "[0.1], stiffness: 1}\n",
                2);
    kd_scene s = scene_of(&f);
    assert_int_equal(s.nlines, 0);
    kd_scene_release(&s);
    close_film(&f);
}

// Traces: points that sensors read, else named frames, else the centre that goes farthest.
static void traces_follow_what_is_watched(void **state)
{
    (void)state;
    static const char *const more[] = {
        "frames:\n  tip: {body: bob, point: [0, 0, -0.5]}\n  fixed: {body: ground, point: [0, 0, 0]}\n"
        "sensors:\n  a: {value: body.cart.pos.x}\n  b: {value: body.cart.pos.y}\n  c: {value: 2*body.bob.pos.x}\n"
        "  d: {value: body.bob.vel.x}\n  e: {value: frame.tip.pos.x}\n",
        "frames:\n  tip: {body: bob, point: [0, 0, -0.5]}\n  fixed: {body: ground, point: [0, 0, 0]}\n", ""};
    for (int k = 0; k < 3; k++) {
        char text[2000];
        snprintf(text, sizeof text, SLIDE "%s", more[k]);
        test_film f = film_of(text, 2);
        pose_of(&f, 1, 0)[0] = 0.2;
        pose_of(&f, 1, 1)[0] = 0.5;
        kd_scene s = scene_of(&f);
        assert_int_equal(s.ntraces, k == 0 ? 2 : 1);
        assert_int_equal(s.trace[0].at.body, k == 0 ? 0 : 1);
        if (k < 2) assert_near(s.trace[s.ntraces - 1].at.r.z, -0.5);
        kd_scene_release(&s);
        close_film(&f);
    }
}

// A failing allocation is reported, and nothing is leaked.
static void failing_memory_is_reported(void **state)
{
    (void)state;
    test_film f = film_of(BARE, 2);
    for (long fail_at = 1;; fail_at++) {
        kd_scene          s;
        failing_allocator a = {.fail_at = fail_at};
        failing_allocator_use(&a);
        kd_status status = kd_scene_build(&f.film, &s);
        if (status == KD_OK) kd_scene_release(&s);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
    }
    close_film(&f);
}

// The corner of a solid, in the world
static kd_vec3 corner_of(const test_film *f, const kd_scene *s, const kd_solid *solid, int k)
{
    const kd_body *b = &f->model->body[solid->body];
    const kd_vec3  v = s->mesh[solid->mesh].vertex[k];
    const kd_vec3  a = kd_vec(v.x * solid->size.x, v.y * solid->size.y, v.z * solid->size.z);
    const kd_mat3  R = kd_quat_matrix(solid->q);
    const kd_vec3  p = kd_vec_add(solid->r, kd_mat_vec(&R, a));
    return kd_vec_add(b->r, kd_mat_vec(&b->R, p));
}

// A surface of a file in a mirror: corners are images of the corners, and all faces look outwards.
static void meshes_have_images(void **state)
{
    static const char *const library[] = {KD_SOURCE_DIR "/models"};
    char                     message[1000];
    kd_model                *m = NULL;
    (void)state;
    FILE *file = fopen(KD_BINARY_DIR "/scene-mirror.yaml", "wb");
    assert_non_null(file);
    fputs("kardan: 1\n"
          "subsystems: {a: {of: b}, i: {of: b, mirror: [0, 1, 0], through: [0, 3, 0]}}\n"
          "definitions:\n"
          "  b:\n"
          "    bodies: {b: {position: [1, 2, 3], orientation: {yaw: 0.4, roll: 1}, mass: 1, centre: [0, 0, 0], "
          "inertia: [1, 1, 1],\n"
          "                 shape: {mesh: data/bracket.obj, scale: 2, position: [0.1, 0.2, 0.3], orientation: {pitch: "
          "0.7}}}}\n"
          "    joints: {b: {type: free, bodies: [ground, b], point: [1, 2, 3]}}\n",
          file);
    fclose(file);
    if (kd_model_read_with(KD_BINARY_DIR "/scene-mirror.yaml", NULL, 0, library, 1, &m, message, sizeof message) < 0)
        fail_msg("%s", message);
    test_film f = film_of_model(m, 1);
    kd_scene  s = scene_of(&f);
    assert_int_equal(s.nmeshes, KD_MESHES + 2);
    const kd_solid *solid[2] = {NULL, NULL};
    for (int i = 0; i < s.nsolids; i++)
        if (s.solid[i].body >= 0 && s.solid[i].mesh >= KD_MESHES) solid[s.solid[i].body] = &s.solid[i];
    assert_true(solid[0] && solid[1] && solid[0]->mesh != solid[1]->mesh);
    assert_true(mesh_volume(&s.mesh[solid[0]->mesh]) > 0 && mesh_volume(&s.mesh[solid[1]->mesh]) > 0);
    assert_true(solid[1]->size.x > 0 && solid[1]->size.y > 0 && solid[1]->size.z > 0);
    for (int k = 0; k < s.mesh[solid[0]->mesh].nvertices; k++) {
        const kd_vec3 a = corner_of(&f, &s, solid[0], k), b = corner_of(&f, &s, solid[1], k);
        assert_true(kd_vec_norm(kd_vec_sub(kd_vec(a.x, 6 - a.y, a.z), b)) < 1e-13);
    }
    kd_scene_release(&s);
    close_film(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_drawn_as_they_are),
        cmocka_unit_test(bare_bodies_are_sticks),
        cmocka_unit_test(distant_joints_are_tied),
        cmocka_unit_test(families_share_a_colour),
        cmocka_unit_test(rails_hold_the_motion),
        cmocka_unit_test(springs_are_coils),
        cmocka_unit_test(couplings_link_what_they_couple),
        cmocka_unit_test(roads_are_lines),
        cmocka_unit_test(surfaces_are_grids),
        cmocka_unit_test(traces_follow_what_is_watched),
        cmocka_unit_test(failing_memory_is_reported),
        cmocka_unit_test(meshes_have_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
