// Tests of the order of painting: at every place the patch that is painted last is the nearest one.
#include "drawing/order.h"

#include <math.h>

#include "core/failing_allocator.h"
#include "core/pi.h"
#include "drawing/camera.h"
#include "drawing/film.h"
#include "drawing/overlap.h"

enum { ROOM = 6000, WIDE = 400 };

typedef struct painting {
    int        npatches, ncorners;
    kd_patch  *patch;
    kd_corner *corner;
    int       *order, *body;
} painting;

static painting new_painting(void)
{
    return (painting){.patch = calloc(ROOM, sizeof(kd_patch)),
                      .corner = calloc((size_t)ROOM * KD_MESH_MOST_CORNERS, sizeof(kd_corner)),
                      .order = calloc(ROOM, sizeof(int)),
                      .body = calloc(ROOM, sizeof(int))};
}

static void free_painting(painting *p)
{
    free(p->patch);
    free(p->corner);
    free(p->order);
    free(p->body);
}

// Nearness of a patch at a place, by barycentric coordinates of a fan of triangles: NaN outside
static double near_at(const painting *p, int i, double x, double y)
{
    const kd_corner *c = p->corner + p->patch[i].first;
    for (int k = 2; k < p->patch[i].count; k++) {
        const kd_corner a = c[0], b = c[k - 1], d = c[k];
        const double    area = (b.x - a.x) * (d.y - a.y) - (b.y - a.y) * (d.x - a.x);
        const double    u = ((x - a.x) * (d.y - a.y) - (y - a.y) * (d.x - a.x)) / area;
        const double    v = ((b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x)) / area;
        if (u >= 0 && v >= 0 && u + v <= 1) return a.near + u * (b.near - a.near) + v * (d.near - a.near);
    }
    return NAN;
}

// Places where what is painted last is not the nearest; *bodies: of those that are painted last
static int wrong_places(const painting *p, double width, double height, int *seen, bool *bodies)
{
    int wrong = 0;
    for (int k = 0; k < WIDE * WIDE; k++) {
        const double x = width * (k % WIDE + 0.5) / WIDE, y = height * ((double)(k / WIDE) + 0.5) / WIDE;
        double       nearest = 0, last = NAN;
        int          body = -2;
        for (int i = 0; i < p->npatches; i++) {
            const double near = near_at(p, p->order[i], x, y);
            if (isnan(near)) continue;
            nearest = fmax(nearest, near);
            last = near;
            body = p->body[p->order[i]];
        }
        if (body == -2) continue;
        ++*seen;
        if (bodies && body >= 0) bodies[body] = true;
        if (last < nearest * (1 - 2e-3)) wrong++;
    }
    return wrong;
}

// Faces of a scene that look at the eye, seen from a direction; picture of 1000 x 1000
static void take_faces(painting *p, const kd_scene *s, double azimuth)
{
    kd_camera  camera = s->camera;
    kd_vec3    u, v, w;
    kd_placed *placed = calloc((size_t)s->nsolids, sizeof *placed);
    camera.azimuth = azimuth;
    kd_camera_axes(&camera, &u, &v, &w);
    kd_placed_at(s, 0, placed);
    p->npatches = p->ncorners = 0;
    const kd_vec3 eye = kd_vec_axpy(camera.centre, camera.distance, w);
    for (int i = 0; i < s->nsolids; i++) {
        if (s->solid[i].mesh == KD_MESH_BALL) continue;
        for (int f = 0; f < s->mesh[s->solid[i].mesh].nfaces && p->npatches < ROOM; f++) {
            kd_vec3   corner[KD_MESH_MOST_CORNERS];
            const int n = kd_visible_face(s, placed, i, f, corner);
            if (n < 3) continue;
            const kd_vec3 normal = kd_vec_cross(kd_vec_sub(corner[1], corner[0]), kd_vec_sub(corner[2], corner[0]));
            if (kd_vec_dot(normal, kd_vec_sub(eye, corner[0])) <= 0) continue;
            for (int k = 0; k < n; k++) {
                const kd_vec3 q = kd_vec_sub(corner[k], camera.centre);
                const double  far = camera.distance - kd_vec_dot(q, w), scale = 420 * camera.distance / far / s->radius;
                p->corner[p->ncorners + k] =
                    (kd_corner){500 + scale * kd_vec_dot(q, u), 500 - scale * kd_vec_dot(q, v), 1 / far};
            }
            p->patch[p->npatches] = (kd_patch){p->ncorners, n};
            p->body[p->npatches++] = s->solid[i].body;
            p->ncorners += n;
        }
    }
    free(placed);
}

// A large wall behind a small box that reaches farther back in its middle: by middles the wall would cover it.
static void a_small_one_before_a_large_one(void **state)
{
    (void)state;
    painting p = new_painting();
    // the wall leans towards the eye at its left end; the small patch stands before its right end
    const kd_corner corner[] = {{0, 0, 5},   {100, 0, 1}, {100, 100, 1}, {0, 100, 5},
                                {80, 40, 2}, {95, 40, 2}, {95, 60, 2},   {80, 60, 2}};
    memcpy(p.corner, corner, sizeof corner);
    p.patch[0] = (kd_patch){0, 4}, p.patch[1] = (kd_patch){4, 4};
    p.npatches = 2;
    assert_int_equal(kd_order_patches(p.corner, p.patch, 2, p.order), KD_OK);
    assert_int_equal(p.order[0], 0);
    assert_int_equal(p.order[1], 1);
    free_painting(&p);
}

// The car on closed loops, from all sides: wheels before the chassis, chassis before wheels.
static void the_car_from_all_sides(void **state)
{
    (void)state;
    kd_model *model;
    char      message[2000];
    if (kd_model_read(KD_SOURCE_DIR "/models/closed-loop-car.yaml", NULL, 0, &model, message, sizeof message) < 0)
        fail_msg("%s", message);
    test_film f = {.model = model};
    const int n = model->nbodies;
    f.t = calloc(1, sizeof *f.t);
    f.pose = calloc((size_t)(7 * n), sizeof *f.pose);
    for (int b = 0; b < n; b++) {
        kd_vec_to(model->body[b].r, f.pose + 7 * b);
        kd_quat_to(kd_quat_of_matrix(&model->body[b].R), f.pose + 7 * b + 3);
    }
    f.film = (kd_film){.model = model, .nframes = 1, .t = f.t, .pose = f.pose};
    kd_scene s;
    assert_int_equal(kd_scene_build(&f.film, &s), KD_OK);
    painting p = new_painting();
    bool    *bodies = calloc((size_t)n, sizeof *bodies);
    int      seen = 0, wrong = 0;
    for (int k = 0; k < 4; k++) {
        take_faces(&p, &s, 0.3 + 0.5 * KD_PI * k);
        assert_true(p.npatches > 50 && p.npatches < ROOM);
        assert_int_equal(kd_order_patches(p.corner, p.patch, p.npatches, p.order), KD_OK);
        wrong += wrong_places(&p, 1000, 1000, &seen, bodies);
    }
    int shown = 0;
    for (int b = 0; b < n; b++) shown += bodies[b];
    assert_true(seen > 1000 && shown > 5);
    if (wrong > seen / 200) fail_msg("%d of %d places show a face that is behind", wrong, seen);
    free(bodies);
    free_painting(&p);
    kd_scene_release(&s);
    close_film(&f);
}

// Two rings through each other: parts of each are before the other one.
static void interlocking_rings(void **state)
{
    (void)state;
    test_film f = film_of("kardan: 1\nbodies:\n"
                          "  one: {position: [0, 0, 0], mass: 1, inertia: [1, 1, 1], shape: {tube: [1, 0.8, 0.2]}}\n"
                          "  two: {position: [1, 0, 0], mass: 1, inertia: [1, 1, 1], shape: {tube: [1, 0.8, 0.2], "
                          "orientation: {axis: [1, 0, 0], angle: pi/2}}}\n",
                          1);
    kd_scene  s;
    assert_int_equal(kd_scene_build(&f.film, &s), KD_OK);
    painting p = new_painting();
    int      seen = 0, wrong = 0;
    for (int k = 0; k < 6; k++) {
        take_faces(&p, &s, KD_PI * (k + 0.4) / 3);
        assert_int_equal(kd_order_patches(p.corner, p.patch, p.npatches, p.order), KD_OK);
        wrong += wrong_places(&p, 1000, 1000, &seen, NULL);
    }
    assert_true(seen > 1000);
    if (wrong > seen / 200) fail_msg("%d of %d places show a face that is behind", wrong, seen);
    free_painting(&p);
    kd_scene_release(&s);
    close_film(&f);
}

// Without memory it says so and leaves nothing behind.
static void failing_memory_is_reported(void **state)
{
    (void)state;
    const kd_corner corner[] = {{0, 0, 1}, {1, 0, 1}, {0, 1, 1}};
    const kd_patch  patch = {0, 3};
    for (long fail_at = 1; fail_at <= 3; fail_at++) {
        int               order;
        failing_allocator a = {.fail_at = fail_at};
        failing_allocator_use(&a);
        const kd_status status = kd_order_patches(corner, &patch, 1, &order);
        kd_set_allocator(NULL);
        assert_int_equal(status, KD_ERR_MEMORY);
        assert_int_equal(a.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_one_before_a_large_one),
        cmocka_unit_test(the_car_from_all_sides),
        cmocka_unit_test(interlocking_rings),
        cmocka_unit_test(failing_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
