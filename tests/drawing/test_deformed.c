// Surfaces that deform: what is refused, how they become small, how they come into films, pictures and pages.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>

#include "core/failing_allocator.h"
#include "drawing/drawing.h"
#include "model/part.h"
#include "modelfile/files.h"
#include "report/viewer.h"
#include "results/markup.h"

enum { WIDE = 60, SHAPES = 2 };

static void assert_close(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g", a, b);
}

// A square plate in the plane of x and y, WIDE x WIDE nodes on [0, 1]^2, with the shapes z = x^2 and z = x y
typedef struct plate {
    double node[3 * WIDE * WIDE], shape[SHAPES * 3 * WIDE * WIDE];
    int    triangle[6 * (WIDE - 1) * (WIDE - 1)], line[2 * (WIDE - 1)];
} plate;

static kd_deformed make_plate(plate *p, int body)
{
    const int n = WIDE * WIDE;
    int       used = 0;
    *p = (plate){0};
    for (int i = 0; i < n; i++) {
        const double x = (double)(i % WIDE) / (WIDE - 1), y = (double)(i / WIDE) / (WIDE - 1);
        p->node[3 * i] = x;
        p->node[3 * i + 1] = y;
        p->shape[3 * i + 2] = x * x;
        p->shape[3 * (n + i) + 2] = x * y;
        if (i % WIDE == WIDE - 1 || i / WIDE == WIDE - 1) continue;
        const int corner[] = {i, i + 1, i + WIDE, i + 1, i + WIDE + 1, i + WIDE};
        for (int k = 0; k < 6; k++) p->triangle[used++] = corner[k];
    }
    for (int i = 0; i < WIDE - 1; i++) p->line[2 * i] = i, p->line[2 * i + 1] = i + 1;
    return (kd_deformed){.body = body,
                         .nnodes = n,
                         .ntriangles = used / 3,
                         .nlines = WIDE - 1,
                         .nshapes = SHAPES,
                         .node = p->node,
                         .triangle = p->triangle,
                         .line = p->line,
                         .shape = p->shape};
}

static double area_of(const kd_deformed *d)
{
    double sum = 0;
    for (int i = 0; i < d->ntriangles; i++) {
        const kd_vec3 a = kd_deformed_node(d, d->triangle[3 * i], NULL);
        const kd_vec3 b = kd_deformed_node(d, d->triangle[3 * i + 1], NULL);
        const kd_vec3 c = kd_deformed_node(d, d->triangle[3 * i + 2], NULL);
        sum += 0.5 * kd_vec_cross(kd_vec_sub(b, a), kd_vec_sub(c, a)).z; // signed: all look upwards
    }
    return sum;
}

// A node is where the sum of its shapes says.
static void nodes_move_by_shapes(void **state)
{
    (void)state;
    static plate      p;
    const kd_deformed d = make_plate(&p, 0);
    const double      q[SHAPES] = {0.5, -2.0};
    for (int i = 0; i < d.nnodes; i += 7) {
        const kd_vec3 x = kd_deformed_node(&d, i, NULL), moved = kd_deformed_node(&d, i, q);
        assert_close(moved.z, 0.5 * x.x * x.x - 2.0 * x.x * x.y, 1e-15);
        assert_true(moved.x == x.x && moved.y == x.y && x.z == 0);
    }
}

// Fewer nodes: those that remain are nodes of before with their own shapes, triangles cover the same square, nothing is degenerate.
static void thin_surfaces_have_the_same_form(void **state)
{
    (void)state;
    static plate      p;
    const kd_deformed d = make_plate(&p, 0);
    const double      q[SHAPES] = {1.0, 3.0};
    for (int most = d.nnodes; most >= 1; most = most * 2 / 5) {
        kd_arena    arena = {0};
        kd_deformed t;
        assert_int_equal(kd_deformed_thin(&d, most, &arena, &t), KD_OK);
        assert_true(t.nnodes <= most && t.nnodes >= 1 && t.nshapes == SHAPES);
        assert_true(kd_deformed_is_sound(&t, 1));
        if (most == d.nnodes) assert_ptr_equal(t.node, d.node);
        for (int i = 0; i < t.nnodes; i++) {
            const kd_vec3 x = kd_deformed_node(&t, i, NULL);
            assert_close(kd_deformed_node(&t, i, q).z, x.x * x.x + 3.0 * x.x * x.y, 1e-14);
        }
        for (int i = 0; i < t.ntriangles; i++) {
            const int *c = t.triangle + 3 * i;
            assert_true(c[0] != c[1] && c[1] != c[2] && c[2] != c[0]);
        }
        // the rim stays
        if (most > 60) assert_close(area_of(&t), 1, 0.5 / sqrt((double)most));
        kd_arena_release(&arena);
    }
}

// Nodes of the plate have the stress xx = x^2, yz = y of shape 0 and zx = x y of shape 1; three places more are nowhere at its nodes.
static kd_flexible_body make_part(const plate *p, double *place, double *stress)
{
    const int n = WIDE * WIDE, all = n + 3;
    for (int k = 0; k < all; k++) {
        const int    i = k - 3; // the others come first
        const double x = i >= 0 ? p->node[3 * i] : 0.5 / WIDE, y = i >= 0 ? p->node[3 * i + 1] : 0.3 / WIDE;
        place[3 * k] = x, place[3 * k + 1] = y, place[3 * k + 2] = i < 0;
        stress[6 * k] = x * x, stress[6 * k + 4] = y;
        stress[6 * (all + k) + 5] = x * y;
    }
    return (kd_flexible_body){.nq = SHAPES, .nplaces = all, .place = place, .stress = stress};
}

// Stress stands at the nodes whose places are the same, and goes with those that remain when a surface becomes small. Without a surface, as
// beams, all places are drawn at their nearest node, at most so many.
static void stress_goes_with_the_nodes(void **state)
{
    (void)state;
    static plate           p;
    static double          place[3 * (WIDE * WIDE + 3)], stress[6 * SHAPES * (WIDE * WIDE + 3)];
    kd_deformed            d = make_plate(&p, 0);
    const kd_flexible_body part = make_part(&p, place, stress);
    kd_arena               own = {0};
    assert_int_equal(kd_deformed_take_stress(&part, &own, &d), KD_OK);
    assert_int_equal(d.nplaces, WIDE * WIDE);
    for (int most = d.nnodes; most >= 1; most = most * 2 / 5) {
        kd_arena    arena = {0};
        kd_deformed t;
        assert_int_equal(kd_deformed_thin(&d, most, &arena, &t), KD_OK);
        assert_true(kd_deformed_is_sound(&t, 1));
        assert_int_equal(t.nplaces, t.nnodes);
        for (int k = 0; k < t.nplaces; k++) {
            const kd_vec3 x = kd_deformed_node(&t, t.place_node[k], NULL);
            const double *S = t.stress + 6 * k, *other = t.stress + 6 * (t.nplaces + k);
            assert_true(S[0] == x.x * x.x && S[4] == x.y && S[1] == 0 && S[5] == 0);
            assert_true(other[5] == x.x * x.y && other[0] == 0);
        }
        kd_arena_release(&arena);
    }
    // beams
    kd_deformed beam = make_plate(&p, 0), few;
    beam.ntriangles = 0;
    beam.nnodes = 2; // at x = 0 and at the next node
    beam.nlines = 1;
    assert_int_equal(kd_deformed_take_stress(&part, &own, &beam), KD_OK);
    assert_int_equal(beam.nplaces, part.nplaces);
    for (int k = 0; k < beam.nplaces; k++) {
        const double x = place[3 * k], there = p.node[3];
        if (fabs(x - there / 2) > 1e-9) assert_int_equal(beam.place_node[k], x > there / 2);
    }
    assert_int_equal(kd_deformed_thin(&beam, 100, &own, &few), KD_OK);
    assert_true(few.nplaces <= 200 && few.nplaces > 150 && few.nnodes == 2);
    for (int k = 0; k < few.nplaces; k++) assert_true(few.place_node[k] == 0 || few.place_node[k] == 1);
    kd_deformed wrong = few;
    wrong.nnodes = 1, wrong.nlines = 0;
    assert_false(kd_deformed_is_sound(&wrong, 1));
    kd_arena_release(&own);
}

// What is not sound is refused before anything is drawn.
static void unsound_surfaces_are_refused(void **state)
{
    (void)state;
    static plate      p;
    const kd_deformed good = make_plate(&p, 0);
    assert_true(kd_deformed_is_sound(&good, 1));
    kd_deformed d = good;
    d.body = 1;
    assert_false(kd_deformed_is_sound(&d, 1));
    d.body = -1;
    assert_false(kd_deformed_is_sound(&d, 1));
    d = good, d.nnodes = 0;
    assert_false(kd_deformed_is_sound(&d, 1));
    d = good, d.shape = NULL;
    assert_false(kd_deformed_is_sound(&d, 1));
    d = good, d.nnodes--; // the last triangle has a corner that is not there
    assert_false(kd_deformed_is_sound(&d, 1));
    p.shape[100] = NAN;
    assert_false(kd_deformed_is_sound(&good, 1));
    p.shape[100] = 0;
    p.line[3] = -1;
    assert_false(kd_deformed_is_sound(&good, 1));
}

// ---- in a drawing ---------------------------------------------------------------------------------------------------
static const char SLIDE[] =
    "kardan: 1\nbodies:\n  cart: {mass: 1, inertia: [1, 1, 1]}\n  stone: {mass: 1, inertia: "
    "[1, 1, 1], position: [0, 0, 3]}\n"
    "joints:\n  s: {type: prismatic, bodies: [ground, cart], point: [0, 0, 0], axis: [1, 0, 0]}\n";

typedef struct fixture {
    kd_model   *model;
    kd_system  *system;
    kd_state   *x;
    kd_probe   *probe;
    kd_drawing *drawing;
    plate       plate;
    kd_deformed surface;
    double      q[SHAPES];
    bool        unknown;
} fixture;

static const double *tell(void *context, kd_probe *probe)
{
    fixture *f = context;
    assert_ptr_equal(probe, f->probe);
    return f->unknown ? NULL : f->q;
}

static fixture *make(void)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->model = model_of(SLIDE);
    assert_int_equal(kd_system_create(f->model, NULL, &f->system, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(f->system), &f->x), KD_OK);
    assert_true(kd_system_start(f->system, f->x, NULL, 0) >= 0);
    assert_int_equal(kd_probe_of_system(f->system, NULL, &f->probe), KD_OK);
    assert_int_equal(kd_drawing_create(f->system, 20, &f->drawing), KD_OK);
    f->surface = make_plate(&f->plate, 0);
    return f;
}

static void unmake(fixture *f)
{
    kd_drawing_destroy(f->drawing);
    kd_probe_destroy(f->probe);
    kd_state_destroy(f->x);
    kd_system_destroy(f->system);
    kd_model_destroy(f->model);
    free(f);
}

static void add(fixture *f, double t)
{
    f->x->t = t;
    f->x->p[0] = 2 * t; // of the cart
    f->q[0] = sin(t);
    f->q[1] = t;
    assert_int_equal(kd_probe_set(f->probe, f->x), KD_OK);
    kd_drawing_add(f->drawing, f->probe, t, false);
}

// Amplitudes belong to their frames, nodes go with the body, the camera sees the deformed surface, and no stick stands for the body any more.
static void films_have_amplitudes(void **state)
{
    (void)state;
    fixture  *f = make();
    const int places = f->model->nbodies;
    f->surface.body = places;
    assert_int_equal(kd_drawing_deform(f->drawing, &f->surface, 1, tell, f), KD_ERR_ARGUMENT);
    f->surface.body = 0;
    assert_int_equal(kd_drawing_deform(f->drawing, &f->surface, 1, tell, f), KD_OK);
    for (int i = 0; i < 10; i++) {
        f->unknown = i == 4;
        add(f, 0.1 * i);
    }
    assert_int_equal(kd_drawing_deform(f->drawing, &f->surface, 1, tell, f), KD_ERR_ARGUMENT); // too late
    const kd_film *film = kd_drawing_film(f->drawing);
    assert_int_equal(film->nframes, 9);
    kd_scene s;
    assert_int_equal(kd_scene_build(film, &s), KD_OK);
    for (int i = 0; i < film->nframes; i++) {
        const double t = film->t[i];
        assert_close(film->amplitude[2 * i], sin(t), 0);
        assert_close(film->amplitude[2 * i + 1], t, 0);
        for (int k = 0; k < s.deformed[0].nnodes; k += 31) {
            const kd_vec3 x = kd_deformed_node(&s.deformed[0], k, NULL),
                          at = kd_film_node(film, i, &s.deformed[0], 0, k);
            assert_close(at.x, 2 * t + x.x, 1e-12);
            assert_close(at.z, sin(t) * x.x * x.x + t * x.x * x.y, 1e-12);
        }
    }
    kd_scene stiff;
    kd_film  alone = *film;
    alone.ndeformed = 0;
    assert_int_equal(kd_scene_build(&alone, &stiff), KD_OK);
    assert_true(s.nsolids < stiff.nsolids);
    kd_scene_release(&stiff);
    // the far corner of the plate in the last frame is inside of the ball that the camera shows
    const kd_vec3 far = kd_vec(2 * 0.9 + 1, 1, sin(0.9) + 0.9);
    assert_true(kd_vec_norm(kd_vec_sub(far, s.camera.centre)) < 1.02 * s.radius);
    kd_scene_release(&s);
    unmake(f);
}

static int digit(char c)
{
    const char *all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", *at = strchr(all, c);
    return at && c ? (int)(at - all) : 0;
}

// Number i of 16 bits in base64
static unsigned word_at(const char *text, int i)
{
    unsigned char byte[2];
    for (int k = 0; k < 2; k++) {
        const int      at = 2 * i + k, bits = at % 3;
        const char    *c = text + at / 3 * 4;
        const unsigned all = (unsigned)(digit(c[0]) << 18 | digit(c[1]) << 12 | digit(c[2]) << 6 | digit(c[3]));
        byte[k] = (unsigned char)(all >> (16 - 8 * bits) & 255u);
    }
    return byte[0] | (unsigned)byte[1] << 8;
}

// The page has nodes and shapes in 16 bits of their box and size, and a block of amplitudes; the still picture has its triangles.
static void pages_have_nodes_and_shapes(void **state)
{
    (void)state;
    fixture *f = make();
    assert_int_equal(kd_drawing_deform(f->drawing, &f->surface, 1, tell, f), KD_OK);
    for (int i = 0; i < 10; i++) add(f, 0.1 * i);
    char    *text = NULL;
    size_t   size;
    kd_scene s;
    assert_int_equal(kd_scene_build(kd_drawing_film(f->drawing), &s), KD_OK);
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    kd_json json = {.file = file, .layout = KD_JSON_DENSE, .digits = "%.9g", .in_page = true};
    kd_json_open(&json, NULL);
    kd_viewer_put_mechanism(&json, &s);
    kd_json_close(&json);
    fclose(file);
    const char *list = strstr(text, "\"deformed\":[");
    assert_non_null(list);
    const char *sheet = strstr(list, "{\"body\":0"), *nodes = strstr(text, "\"nodes\":\""),
               *shape = strstr(text, "\"at\":\"");
    assert_true(sheet && nodes && shape && strstr(sheet, "\"low\":[0,0,0],\"high\":[1,1,0]"));
    const kd_deformed *d = &s.deformed[0];
    for (int i = 0; i < d->nnodes; i += 13) {
        const kd_vec3 x = kd_deformed_node(d, i, NULL);
        assert_close(word_at(nodes + 9, 3 * i) / 65535.0, x.x, 1e-5);
        assert_close(word_at(nodes + 9, 3 * i + 1) / 65535.0, x.y, 1e-5);
        assert_close(word_at(shape + 6, 3 * i + 2) / 32767.0, x.x * x.x, 2e-5);
    }
    free(text);
    kd_scene_release(&s);
    if (kd_viewer_is_built()) {
        file = open_memstream(&text, &size);
        assert_int_equal(kd_viewer_put_film(file, "mode-1-", "t", kd_drawing_film(f->drawing)), KD_OK);
        fclose(file);
        assert_non_null(strstr(text, "data-kardan=\"mode-1-amplitudes\">eJ"));
        free(text);
    }
    // as a picture
    char fault[200];
    file = open_memstream(&text, &size);
    assert_int_equal(kd_drawing_write_still(f->drawing, "plate", file), KD_OK);
    fclose(file);
    if (!markup_is_sound(text, fault, sizeof fault)) fail_msg("%s", fault);
    int paths = 0;
    for (const char *at = text; (at = strstr(at, "<path color=")) != NULL; at++) paths++;
    assert_true(paths > 200);
    free(text);
    unmake(f);
}

static void memory_may_be_short(void **state)
{
    (void)state;
    fixture *f = make();
    assert_int_equal(kd_drawing_deform(f->drawing, &f->surface, 1, tell, f), KD_OK);
    add(f, 0);
    for (long fail_at = 1;; fail_at++) {
        failing_allocator a = {.fail_at = fail_at};
        kd_scene          s;
        failing_allocator_use(&a);
        const kd_status status = kd_scene_build(kd_drawing_film(f->drawing), &s);
        if (status == KD_OK) kd_scene_release(&s);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
    }
    unmake(f);
}

// Flexible bodies of a model are drawn by their nodes, with the amplitudes that a state has, in both coordinate sets.
static void flexible_bodies_are_drawn(void **state)
{
    (void)state;
    static const char *const path = KD_SOURCE_DIR "/models/flexible-slider-crank.yaml";
    for (int k = 0; k < 2; k++) {
        fixture          *f = calloc(1, sizeof *f);
        char              message[1000];
        kd_system_options settings = kd_system_options_default();
        settings.coordinates = k ? KD_CARTESIAN : KD_JOINT;
        assert_non_null(f);
        if (kd_model_read(path, NULL, 0, &f->model, message, sizeof message) != KD_OK) fail_msg("%s", message);
        assert_int_equal(kd_system_create(f->model, &settings, &f->system, NULL, 0), KD_OK);
        assert_int_equal(kd_state_create(kd_system_eom(f->system), &f->x), KD_OK);
        assert_true(kd_system_start(f->system, f->x, NULL, 0) >= 0);
        assert_int_equal(kd_probe_of_system(f->system, NULL, &f->probe), KD_OK);
        assert_int_equal(kd_drawing_create(f->system, 20, &f->drawing), KD_OK);
        const int q1 = kd_probe_find(f->probe, "body.rod.q1");
        assert_true(q1 >= 0);
        for (int i = 0; i < 5; i++) {
            f->x->p[q1] = 0.001 * i; // positions are the first channels
            f->x->t = i;
            assert_int_equal(kd_probe_set(f->probe, f->x), KD_OK);
            kd_drawing_add(f->drawing, f->probe, i, i == 4);
        }
        const kd_film *film = kd_drawing_film(f->drawing);
        assert_int_equal(film->ndeformed, 1);
        assert_true(film->deformed[0].nlines > 3 && film->deformed[0].ntriangles == 0);
        assert_int_equal(film->nframes, 5);
        for (int i = 0; i < 5; i++) assert_close(film->amplitude[i * film->namplitudes], 0.001 * i, 0);
        unmake(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_move_by_shapes),       cmocka_unit_test(thin_surfaces_have_the_same_form),
        cmocka_unit_test(stress_goes_with_the_nodes), cmocka_unit_test(unsound_surfaces_are_refused),
        cmocka_unit_test(films_have_amplitudes),      cmocka_unit_test(pages_have_nodes_and_shapes),
        cmocka_unit_test(memory_may_be_short),        cmocka_unit_test(flexible_bodies_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
