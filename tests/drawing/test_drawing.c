// The drawing of a report: frames of a run, bounded, a section that is sound and that holds the poses.
#define _POSIX_C_SOURCE 200809L
#include <math.h>

#include "core/failing_allocator.h"
#include "drawing/drawing.h"
#include "model/part.h"
#include "modelfile/files.h"
#include "modelfile/part.h"
#include "project/command.h"
#include "results/markup.h"

#define PATH KD_BINARY_DIR "/test-drawing"

typedef struct fixture {
    kd_model   *model;
    kd_system  *system;
    kd_state   *x;
    kd_probe   *probe;
    kd_drawing *drawing;
} fixture;

static fixture make(const char *text, int noutputs)
{
    fixture f = {.model = model_of(text)};
    assert_int_equal(kd_system_create(f.model, NULL, &f.system, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(f.system), &f.x), KD_OK);
    assert_true(kd_system_start(f.system, f.x, NULL, 0) >= 0);
    assert_int_equal(kd_probe_of_system(f.system, NULL, &f.probe), KD_OK);
    assert_int_equal(kd_drawing_create(f.system, noutputs, &f.drawing), KD_OK);
    return f;
}

static void unmake(fixture *f)
{
    kd_drawing_destroy(f->drawing);
    kd_probe_destroy(f->probe);
    kd_state_destroy(f->x);
    kd_system_destroy(f->system);
    kd_model_destroy(f->model);
}

static void add(fixture *f, double t, double q, bool is_end)
{
    f->x->t = t;
    f->x->p[0] = q;
    assert_int_equal(kd_probe_set(f->probe, f->x), KD_OK);
    kd_drawing_add(f->drawing, f->probe, t, is_end);
}

// The section as text, put into a page; the caller frees it.
static char *section_of(const fixture *f, const char *title)
{
    char  fault[200];
    FILE *file = fopen(PATH ".html", "wb");
    assert_non_null(file);
    assert_int_equal(kd_drawing_write(f->drawing, title, file), KD_OK);
    assert_int_equal(fclose(file), 0);
    char *text = read_text(PATH ".html");
    assert_non_null(text);
    if (!markup_is_sound(text, fault, sizeof fault)) fail_msg("%s", fault);
    return text;
}

static const char ARM[] =
    "kardan: 1\nbodies:\n  upper: {position: [1, 0, 0], mass: 1, shape: {box: [2, 0.1, 0.1]}}\n"
    "  lower: {position: [3, 0, 0], mass: 1, shape: {cylinder: [0.1, 2], orientation: {axis: [0, 1, 0], angle: "
    "deg(90)}}}\n"
    "  ring: {position: [4, 0, 0], mass: 1, shape: {tube: [0.4, 0.3, 0.1]}}\n  ball: {position: [5, 0, 0], mass: 1, "
    "inertia: [1, 1, 1]}\n"
    "joints:\n  a: {type: revolute, bodies: [ground, upper], point: [0, 0, 0], axis: [0, 1, 0]}\n"
    "  b: {type: revolute, bodies: [upper, lower], point: [2, 0, 0], axis: [0, 1, 0]}\n"
    "  c: {type: universal, bodies: [lower, ring], point: [4, 0, 0], axis: [0, 1, 0], reference: [1, 0, 0]}\n"
    "  d: {type: spherical, bodies: [ring, ball], point: [5, 0, 0]}\n"
    "forces:\n  s: {type: tsda, from: ground, to: ball, stiffness: 1}\n"
    "constraints:\n  d: {type: distance, from: upper, to: ring}\n";

// A frame is kept every few outputs, start and end always, times that do not grow and poses that are not numbers never.
static void frames_are_few(void **state)
{
    (void)state;
    fixture f = make(ARM, 20001);
    for (int i = 0; i < 20001; i++) add(&f, 1e-3 * i, 1e-3 * i, false);
    int n = kd_drawing_length(f.drawing);
    assert_true(n > 400 && n <= KD_DRAWING_FRAMES + 1);
    add(&f, 20.0, 0, true); // was there
    assert_in_range(kd_drawing_length(f.drawing), n, n + 1);
    n = kd_drawing_length(f.drawing);
    add(&f, 20.001, 0, true);
    assert_int_equal(kd_drawing_length(f.drawing), n + 1 <= KD_DRAWING_FRAMES + 2 ? n + 1 : n);
    unmake(&f);
    f = make(ARM, 11);
    for (int i = 0; i < 11; i++) add(&f, i, i, false);
    assert_int_equal(kd_drawing_length(f.drawing), 11);
    add(&f, 11, NAN, true);
    add(&f, 5, 0, true);
    assert_int_equal(kd_drawing_length(f.drawing), 11);
    unmake(&f);
}

// More outputs than frames: those frames stay that the motion needs, here a short tremor in a long slow turn; all others follow from them.
static void frames_are_where_something_happens(void **state)
{
    (void)state;
    enum { N = 40001 };
    fixture f = make(ARM, N);
    for (int i = 0; i < N; i++) {
        const double t = 1e-3 * i;
        add(&f, t, 0.02 * t + (t > 20 && t < 20.2 ? 0.1 * sin(300 * t) : 0), i == N - 1);
    }
    const kd_film *film = kd_drawing_film(f.drawing);
    int            inside = 0;
    for (int i = 0; i < film->nframes; i++) inside += film->t[i] > 20 && film->t[i] < 20.2;
    // of even frames ten would be there
    assert_true(film->nframes <= KD_DRAWING_FRAMES + 2 && inside > 35);
    assert_true(film->t[0] == 0 && film->t[film->nframes - 1] == 1e-3 * (N - 1));
    for (int i = 1; i < film->nframes; i++) assert_true(film->t[i] > film->t[i - 1]);
    unmake(&f);
}

static int digit(char c)
{
    static const char DIGIT[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char       *found = strchr(DIGIT, c);
    assert_true(c != '\0' && found);
    return (int)(found - DIGIT);
}

static int byte_at(const char *base64, int i)
{
    const char *c = base64 + i / 3 * 4;
    int         bits = digit(c[0]) << 18 | digit(c[1]) << 12 | digit(c[2]) << 6 | digit(c[3]);
    return bits >> (16 - 8 * (i % 3)) & 255;
}

// The page holds the poses to 16 bits of the room that the motion takes.
static void poses_are_in_the_page(void **state)
{
    (void)state;
    fixture   f = make(ARM, 3);
    kd_poses *poses;
    double    pose[3][28], low[3], high[3];
    assert_int_equal(kd_poses_create(f.system, &poses), KD_OK);
    for (int i = 0; i < 3; i++) {
        add(&f, 0.5 * i, 1.1 * i, false);
        assert_int_equal(kd_poses_at(poses, f.x, pose[i]), KD_EVAL_OK);
    }
    char *text = section_of(&f, "t"), *c = strstr(text, "\"box\":["), *data = strstr(text, "\"pose\":\"");
    assert_non_null(c);
    assert_int_equal(
        sscanf(c, "\"box\":[[%lf,%lf,%lf],[%lf,%lf,%lf]]", &low[0], &low[1], &low[2], &high[0], &high[1], &high[2]), 6);
    assert_non_null(data);
    data += strlen("\"pose\":\"");
    for (int i = 0; i < 3 * 28; i++) {
        int    k = i % 7, bits = byte_at(data, 2 * i) | byte_at(data, 2 * i + 1) << 8;
        double x =
            k < 3 ? low[k] + bits / 65535.0 * (high[k] - low[k]) : (bits > 32767 ? bits - 65536 : bits) / 32767.0;
        assert_true(fabs(x - pose[i / 28][i % 28]) < (k < 3 ? 1e-3 : 2e-5)); // the box has five digits
    }
    assert_non_null(strstr(text, "\"t\":[0,0.5,1]"));
    free(text);
    kd_poses_destroy(poses);
    unmake(&f);
}

// The section is sound, escapes its title, names its bodies and fetches nothing.
static void section_is_self_contained(void **state)
{
    (void)state;
    fixture f = make(ARM, 50);
    for (int i = 0; i < 50; i++) add(&f, 0.1 * i, 0.1 * i, i == 49);
    char *text = section_of(&f, "</script><script>alert(1)</script>");
    assert_null(strstr(text, "alert(1)</script>"));
    assert_non_null(strstr(text, "&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert_non_null(strstr(text, "\"names\":[\"upper\",\"lower\",\"ring\",\"ball\"]"));
    for (char *c = text; (c = strstr(c, "http")); c++)
        assert_memory_equal(c, "http://www.w3.org/2000/svg", 26); // a name
    static const char *const outside[] = {"src=", "href", "import", "fetch(", "XMLHttp", "url(h", "nan", "innerHTML"};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) assert_null(strstr(text, outside[i]));
    assert_true(strlen(text) < 150000);
    free(text);
    unmake(&f);
}

// The script runs: frames, pointer, keys, wheel, without exception and without numbers that are none.
static void script_runs(void **state)
{
    (void)state;
    if (run_command("command -v node").status != 0) skip();
    fixture f = make(ARM, 50);
    for (int i = 0; i < 50; i++) add(&f, 0.1 * i, 0.1 * i, i == 49);
    free(section_of(&f, "t"));
    command_result result = run_command("node '" KD_SOURCE_DIR "/tests/drawing/fake_page.js' '" PATH ".html'");
    if (result.status != 0) print_error("%s\n", result.text);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.text, "frames 47 calls many\n");
    unmake(&f);
}

static const double *amplitude_of(void *context, kd_probe *probe)
{
    (void)probe;
    return context;
}

// A surface that deforms is in the page of the small drawing as it is bent, at every frame; the script draws it.
static void surfaces_deform(void **state)
{
    (void)state;
    if (run_command("command -v node").status != 0) skip();
    static const double node[] = {-1, 0, 0, 1, 0, 0, 0, 0.5, 0},
                        shape[] = {0, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0.25, 0, 0, 0, 0, 0, -0.125, 0};
    static const int  triangle[] = {0, 1, 2}, line[] = {0, 2, 2, 1};
    const kd_deformed surface = {.body = 0,
                                 .nnodes = 3,
                                 .ntriangles = 1,
                                 .nlines = 2,
                                 .nshapes = 2,
                                 .node = node,
                                 .triangle = triangle,
                                 .line = line,
                                 .shape = shape};
    double            q[2] = {0, 0};
    fixture           f = make(ARM, 50);
    assert_int_equal(kd_drawing_deform(f.drawing, &surface, 1, amplitude_of, q), KD_OK);
    for (int i = 0; i < 50; i++) {
        q[0] = 2 - 0.06 * i, q[1] = 0.04 * i;
        add(&f, 0.1 * i, 0.1 * i, i == 49);
    }
    free(section_of(&f, "t"));
    command_result result = run_command("node '" KD_SOURCE_DIR "/tests/drawing/sheet_of_page.js' '" PATH ".html'");
    // at first q = (2, 0), at last q = (-0.94, 1.96)
    assert_string_equal(result.text, "-1.000 0.000 0.000 1.000 0.000 1.000 0.000 0.500 0.000\n"
                                     "-1.000 0.490 0.000 1.000 0.000 -0.470 0.000 0.255 0.000\n"
                                     "0 1 2\n");
    result = run_command("node '" KD_SOURCE_DIR "/tests/drawing/fake_page.js' '" PATH ".html'");
    if (result.status != 0) print_error("%s\n", result.text);
    assert_int_equal(result.status, 0);
    unmake(&f);
}

// Of a part whose nodes alone are known the shortest lines between them are drawn: those of a straight beam in their order.
static void nodes_are_joined(void **state)
{
    (void)state;
    static const char TEXT[] = "points: {root: [0, 0, 0], tip: [1, 0, 0]}\nbeams: [{from: root, to: tip, elements: 7, "
                               "E: 2e11, nu: 0.3, density: "
                               "8000, section: {area: 1e-4, Iz: 1e-9, Iy: 1e-9, torsion: 1e-9}}]\ninterfaces: {root: "
                               "{nodes: root}, tip: {nodes: "
                               "tip}}\nreduction: {modes: 4}\nreference: {tangent: root}\nmodes: 3\n";
    kd_flexible_body  body = {0};
    kd_part_report    report;
    kd_body_def       def = kd_body_def_default();
    kd_joint_def      joint = kd_joint_def_default(KD_REVOLUTE);
    char              message[300] = "";
    fixture           f = {0};
    double            length = 0;
    assert_int_equal(kd_model_create(&f.model), KD_OK);
    if (kd_part_read_text("beam.yaml", TEXT, sizeof TEXT - 1, NULL, 1, 1, &body, &report, message, sizeof message) !=
        KD_OK)
        fail_msg("%s", message);
    body.nlines = 0;
    def.flexible = "beam";
    def.read = kd_model_part_enter(f.model, "beam", 1, 1, &body);
    joint.to = kd_at_node("beam", "root");
    assert_non_null(def.read);
    assert_true(kd_model_add_body(f.model, "beam", &def) >= 0 && kd_model_add_joint(f.model, "hub", &joint) >= 0);
    assert_int_equal(kd_model_finish(f.model), KD_OK);
    assert_int_equal(kd_system_create(f.model, NULL, &f.system, NULL, 0), KD_OK);
    assert_int_equal(kd_drawing_create(f.system, 5, &f.drawing), KD_OK);
    const kd_film *film = kd_drawing_film(f.drawing);
    assert_int_equal(film->ndeformed, 1);
    assert_int_equal(film->namplitudes, 3);
    const kd_deformed *d = &film->deformed[0];
    assert_int_equal(d->nlines, d->nnodes - 1);
    for (int i = 0; i < d->nlines; i++)
        length += kd_vec_norm(
            kd_vec_sub(kd_deformed_node(d, d->line[2 * i], NULL), kd_deformed_node(d, d->line[2 * i + 1], NULL)));
    assert_true(fabs(length - 1) < 1e-12);
    unmake(&f);
}

// Many bodies have fewer frames; too many are not drawn, and the page says so.
static void size_is_bounded(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        fixture f = make(
            k == 0
                ? "kardan: 1\nbodies:\n  b(i): {for: i = 1..500, position: [i, 0, 0], mass: 1, shape: {cylinder: [0.2, "
                  "3]}}\n"
                : "kardan: 1\nbodies:\n  b(i): {for: i = 1..501, position: [i, 0, 0], mass: 1, shape: {sphere: 0.2}}\n",
            1001);
        for (int i = 0; i < 1001; i++) add(&f, i, 0.1 * i, i == 1000);
        char *text = section_of(&f, "t");
        if (k == 0) {
            int         frames = 1;
            const char *end = strstr(strstr(text, "\n\"t\":["), "]");
            for (const char *c = strstr(text, "\n\"t\":["); c < end; c++) frames += *c == ',';
            assert_in_range(frames, 30, 42);
            assert_int_equal(kd_drawing_length(f.drawing), 1001); // for the viewer
            assert_true(strlen(text) < 1000000);
        } else {
            assert_non_null(strstr(text, "501 bodies are not drawn"));
            assert_null(strstr(text, "<script"));
        }
        free(text);
        unmake(&f);
    }
}

// A picture on a full disk, in a missing folder or without memory is an error; without frames the section is empty.
static void failures_are_reported(void **state)
{
    (void)state;
    char    message[300];
    fixture f = make(ARM, 3);
    char   *text = section_of(&f, "t");
    assert_string_equal(text, "");
    free(text);
    add(&f, 0, 0, false);
    assert_int_equal(kd_drawing_save_svg(f.drawing, "t", "/dev/full", message, sizeof message), KD_ERR_FILE);
    assert_int_equal(kd_drawing_save_svg(f.drawing, "t", "/no/such/folder/a", message, sizeof message), KD_ERR_FILE);
    assert_int_equal(kd_drawing_save_svg(f.drawing, "t", PATH ".svg", message, sizeof message), KD_OK);
    text = read_text(PATH ".svg");
    assert_memory_equal(text, "<?xml", 5);
    free(text);
    for (long fail_at = 1;; fail_at++) {
        failing_allocator a = {.fail_at = fail_at};
        failing_allocator_use(&a);
        kd_status status = kd_drawing_save_svg(f.drawing, "t", PATH "-failed.svg", message, sizeof message);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
        assert_non_null(strstr(message, "out of memory"));
        assert_int_equal(run_command("test -e " PATH "-failed.svg").status, 1);
    }
    assert_int_equal(run_command("rm " PATH "-failed.svg").status, 0);
    for (long fail_at = 1;; fail_at++) {
        kd_drawing       *d;
        failing_allocator a = {.fail_at = fail_at};
        failing_allocator_use(&a);
        kd_status status = kd_drawing_create(f.system, 100, &d);
        kd_drawing_destroy(d);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
        assert_null(d);
    }
    unmake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_few),        cmocka_unit_test(frames_are_where_something_happens),
        cmocka_unit_test(poses_are_in_the_page), cmocka_unit_test(section_is_self_contained),
        cmocka_unit_test(script_runs),           cmocka_unit_test(size_is_bounded),
        cmocka_unit_test(failures_are_reported), cmocka_unit_test(surfaces_deform),
        cmocka_unit_test(nodes_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
