// Written models keep their subsystems, or lose them: both are the model that was read.
#define _XOPEN_SOURCE 700
#include "modelfile/subject.h"

#include <sys/stat.h>
#include <unistd.h>

#include "model/build.h"
#include "modelfile/own_folder.h"

#define MODELS KD_SOURCE_DIR "/models/"

static kd_model *read_with(const char *path, const kd_setting *settings, int nsettings)
{
    static const char *const library[] = {MODELS};
    char                     message[4000];
    kd_model                *m = NULL;
    if (kd_model_read_with(path, settings, nsettings, library, 1, &m, message, sizeof message) < 0)
        fail_msg("%s", message);
    return m;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

typedef kd_status writing(const kd_model *m, const char *path, char *message, size_t size);

static char *written(const kd_model *m, writing *write, const char *path)
{
    char message[1000];
    if (write(m, path, message, sizeof message) < 0) fail_msg("%s", message);
    return file_content(path, NULL);
}

static void assert_same_written(const kd_model *a, const kd_model *b, writing *write)
{
    char *x = written(a, write, "same-a.yaml"), *y = written(b, write, "same-b.yaml");
    assert_string_equal(x, y);
    free(x);
    free(y);
}

// ---- equations ------------------------------------------------------------------------------------------------------

// Equations of motion, constraints and sensors at a random state with random accelerations
static void put_residuals(subject *s, double *f)
{
    unsigned const word = random_word;
    for (int i = 0; i < s->n.nv; i++) s->x->a[i] = random_number();
    random_word = word;
    assert_int_equal(kd_eom_at_state(s->data, kd_system_inputs(s->system), s->x, KD_STAGE_ACCELERATION), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(s->data, KD_RESIDUAL, f), KD_EVAL_OK);
    if (s->n.nlambda > 0) assert_int_equal(kd_eom_eval(s->data, KD_G, f + s->n.nv), KD_EVAL_OK);
    if (s->n.ny > 0) assert_int_equal(kd_eom_eval(s->data, KD_Y, f + s->n.nv + s->n.nlambda), KD_EVAL_OK);
}

// Both have the same coordinates and the same equations, to 1e-13 of their size; they are destroyed
static void assert_same_equations(const char *name, kd_model *first, kd_model *second)
{
    subject a = subject_of(first, KD_JOINT), b = subject_of(second, KD_JOINT);
    assert_int_equal(a.n.nv, b.n.nv);
    assert_int_equal(a.n.nlambda, b.n.nlambda);
    assert_int_equal(a.n.ny, b.n.ny);
    const int n = a.n.nv + a.n.nlambda + a.n.ny;
    double   *f = calloc(2 * (size_t)n, sizeof *f), size = 1.0;
    assert_non_null(f);
    for (int trial = 0; trial < 3; trial++) {
        if (trial > 0) set_random_state(&a, &b);
        put_residuals(&a, f);
        put_residuals(&b, f + n);
        for (int i = 0; i < n; i++) size = fmax(size, fabs(f[i]));
        for (int i = 0; i < n; i++)
            if (!(fabs(f[i] - f[n + i]) <= 1e-13 * size))
                fail_msg("%s, %d of %d: %.17g, %.17g of %g", name, i, n, f[i], f[n + i], size);
    }
    free(f);
    subject_release(&a);
    subject_release(&b);
}

// What is written with subsystems reads back as the same model, of which the same is written; without subsystems it has
// the same equations.
static void check_round_trip(const char *path, const kd_setting *settings, int nsettings)
{
    kd_model *m = read_with(path, settings, nsettings);
    free(written(m, kd_model_write, "whole.yaml"));
    kd_model *again = read_with("whole.yaml", NULL, 0);
    assert_int_equal(again->nsubsystems, m->nsubsystems);
    assert_same_written(m, again, kd_model_write);
    assert_same_written(m, again, kd_model_write_flat);
    kd_model_destroy(again);
    free(written(m, kd_model_write_flat, "flat.yaml"));
    kd_model *flat = read_with("flat.yaml", NULL, 0);
    assert_int_equal(flat->nsubsystems, 0);
    random_word = 11;
    assert_same_equations(path, m, flat);
}

// Models of the gallery and parts of the library that have subsystems
static void gallery_is_written_both_ways(void **state)
{
    static const char *const name[] = {"closed-loop-car", "passenger-car",      "hmmwv", "car-trailer",
                                       "wings",           "library/rigid-axle", NULL};
    (void)state;
    for (int i = 0; name[i]; i++) {
        char path[400];
        snprintf(path, sizeof path, "%s%s.yaml", MODELS, name[i]);
        check_round_trip(path, NULL, 0);
    }
}

// A model of the gallery as the only subsystem of another one has the equations that it has alone; so has what is written
// of it, both ways.
static void gallery_is_the_same_inside(void **state)
{
    static const char *const name[] = {"andrews", "bushing-mount",    "cardan-shaft", "delta-robot", "four-bar",
                                       "ladder",  "position-control", "slider-crank", "screw-jack",  "bicycle",
                                       NULL};
    (void)state;
    for (int i = 0; name[i]; i++) {
        char path[400], text[1000];
        snprintf(path, sizeof path, "%s%s.yaml", MODELS, name[i]);
        kd_model     *alone = read_with(path, NULL, 0);
        const double *g = alone->gravity;
        snprintf(text, sizeof text, "kardan: 1\ngravity: [%.17g, %.17g, %.17g]\nsubsystems: {it: {file: %s.yaml}}\n",
                 g[0], g[1], g[2], name[i]);
        write_text("outer.yaml", text);
        check_round_trip("outer.yaml", NULL, 0);
        random_word = 12;
        assert_same_equations(name[i], alone, read_with("outer.yaml", NULL, 0));
    }
}

// ---- what can stand in a hierarchy ----------------------------------------------------------------------------------

static const char part[] =
    "kardan: 1\n"
    "title: Part\n"
    "gravity: [0, 0, -1]\n"
    "include: numbers.yaml\n"
    "needs: {hub: {type: body, default: ground}, push: {type: signal, default: t}}\n"
    "offers: {tip: body.rod, lift: force.lift.force}\n"
    "parameters: {m: 2, k: 30, wanted: 1}\n"
    "expressions: {twice: 2*push}\n"
    "inputs: {road: %s}\n"
    "curves: {c: {x: [0, 1], y: [0, k]}, d: {file: road.csv, x: 1, y: 2}}\n"
    "bodies:\n"
    "  rod: {position: [0, 0.3, 0.1], mass: m, inertia: [1, 2, 3], shape: {mesh: block.obj}}\n"
    "joints:\n"
    "  pin: {type: screw, bodies: [hub, rod], point: [0.1, 0, 0], axis: [1, 0.2, 0], pitch: 0.2}\n"
    "forces:\n"
    "  lift: {type: joint_spring, joint: pin, law: twice + d(q) + input.road*c(q)}\n"
    "  hold: {type: tsda, from: {body: ground, point: [0, 0, 1], in: world}, to: rod, stiffness: k}\n"
    "subsystems:\n"
    "  in(i): {for: i = 1..2, of: small, connect: {a: rod}, position: [i, 0, 0], parameters: {k: i*k}}\n"
    "  out: {of: small, connect: {a: rod}, enabled: wanted, mirror: [1, 0, 1]}\n"
    "definitions:\n"
    "  small:\n"
    "    needs: {a: body}\n"
    "    parameters: {k: 5}\n"
    "    bodies: {ball: {position: [0, 0, 0.4], mass: 0.1, inertia: [1, 1, 1]}}\n"
    "    joints: {ball: {type: prismatic, bodies: [a, ball], point: [0, 0, 0.4], axis: [0, 1, 1]}}\n"
    "    forces: {ball: {type: joint_spring, joint: ball, stiffness: k, damping: \"max(k, 1)\"}}\n"
    "  empty: {}\n";

static const char whole[] =
    "kardan: 1\n"
    "parameters: {N: 2, k0: 7}\n"
    "bodies: {base: {mass: 9, inertia: [1, 2, 3]}}\n"
    "joints: {base: {type: free, bodies: [ground, base], point: [0, 0, 0]}}\n"
    "subsystems:\n"
    "  left(i): {for: i = 1..N, file: parts/part.yaml, position: [i, 1, 0], connect: {hub: base, push: sin(t)},\n"
    "            parameters: {k: k0/i, wanted: 0}}\n"
    "  right: {file: parts/part.yaml, mirror: [0, 1, 0], connect: {hub: base}, replace: {hold: null, out: {of: "
    "empty}}}\n"
    "  none: {file: parts/no-such.yaml, enabled: false}\n"
    "sensors: {lift: left(1).lift, z: body.right.rod.pos.z}\n";

// signal: what the input is
static void write_parts(const char *signal)
{
    char              text[sizeof part + 100];
    static const char block[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";
    assert_true(mkdir("parts", 0777) == 0 || access("parts", F_OK) == 0);
    snprintf(text, sizeof text, part, signal);
    write_text("parts/part.yaml", text);
    write_text("parts/numbers.yaml", "kardan: 1\nparameters: {m2: 2}\ncurves: {spare: {x: [0, 1], y: [0, 1]}}\n");
    write_text("parts/road.csv", "0,0\n1,2\n2,1\n");
    write_text("parts/block.obj", block);
    write_text("whole-of-parts.yaml", whole);
}

// Repetitions, mirrors, parts of files in a folder with files of their own, what is left out and what is replaced; values
// that are set from outside, of the model, of a subsystem, of one of a repetition, and of a part of one.
static void everything_is_kept(void **state)
{
    static const kd_setting settings[] = {
        {"N", "3"},         {"k0", "2*4"}, {"right.k", "12"}, {"left(2).k", "0.3"}, {"left(1).in(2).k", "8"},
        {"left(2).m", "3"},
    };
    (void)state;
    write_parts("sin(t)");
    check_round_trip("whole-of-parts.yaml", NULL, 0);
    for (int i = 0; i < 6; i++) check_round_trip("whole-of-parts.yaml", &settings[i], 1);
    check_round_trip("whole-of-parts.yaml", settings, 6);
}

// The text itself: files are definitions, numbers of files are in it, the path of the mesh is from its folder, what is set
// stands with its subsystem alone.
static void the_text_says_it(void **state)
{
    static const kd_setting set = {"left(2).in(1).k", "8"};
    (void)state;
    write_parts("{file: road.csv, x: 1, y: 2}");
    kd_model                *m = read_with("whole-of-parts.yaml", &set, 1);
    char                    *text = written(m, kd_model_write, "whole.yaml");
    static const char *const words[] = {
        "  left(1): {of: part, for: [i = 1..1], parameters: {k: k0/i, wanted: 0}, position: [i, 1, 0], ",
        "  left(2): {of: part_2, for: [i = 2..2], parameters: {k: k0/i, wanted: 0}, position: [i, 1, 0], ",
        "  right: {of: part_3, mirror: [0, 1, 0], connect: {hub: base}}\n",
        "  part_2:\n",
        "      in(1): {of: small, for: [i = 1..1], parameters: {k: 8}, connect: {a: rod}, position: [i, 0, 0]}\n",
        "      d: {x: [0, 1, 2], y: [0, 2, 1]}\n",
        "      road: {value: road(t)}\n",
        "shape: {mesh: parts/block.obj}}\n",
        "damping: \"max(k, 1)\"}\n",
        "  empty: {}\n",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strstr(text, words[i])) fail_msg("no %sin\n%s", words[i], text);
    assert_null(strstr(text, "none"));
    assert_null(strstr(text, "gravity"));
    assert_null(strstr(text, "file:"));
    free(text);
    random_word = 13;
    assert_same_equations("whole", m, read_with("whole.yaml", NULL, 0));
}

// A mesh in a mirror is written flat with a negative scale: inverted at its origin; it has the mass and the centre that the
// mirror gives.
static void mirrored_meshes_are_written(void **state)
{
    (void)state;
    write_parts("0");
    write_text("meshes.yaml",
               "kardan: 1\n"
               "subsystems: {a: {of: b}, i: {of: b, mirror: [1, 2, 2], through: [1, 0, 0]}}\n"
               "definitions:\n"
               "  b:\n"
               "    bodies: {b: {shape: {mesh: parts/block.obj, scale: 0.5, density: 100, position: [0.1, 0.2, 0.3],\n"
               "                 orientation: {axis: [1, 2, 3], angle: 0.7}}}}\n"
               "    joints: {b: {type: free, bodies: [ground, b], point: [0, 0, 0]}}\n");
    kd_model *m = read_with("meshes.yaml", NULL, 0);
    char     *text = written(m, kd_model_write_flat, "flat.yaml");
    assert_non_null(strstr(text, "mesh: parts/block.obj, scale: 0.5"));
    assert_non_null(strstr(text, "mesh: parts/block.obj, scale: -0.5"));
    free(text);
    kd_model *flat = read_with("flat.yaml", NULL, 0);
    for (int i = 0; i < 2; i++) {
        const kd_body *a = &m->body[i], *b = &flat->body[i];
        assert_true(fabs(a->def.mass - b->def.mass) < 1e-15 && fabs(a->def.mass - 100.0 / 48.0) < 1e-13);
        assert_true(kd_vec_norm(kd_vec_sub(a->centre, b->centre)) < 1e-15);
        assert_true(fabs(a->inertia.xy - b->inertia.xy) < 1e-15 && fabs(a->inertia.xx - b->inertia.xx) < 1e-15);
    }
    kd_model_destroy(m);
    kd_model_destroy(flat);
}

static int enter_folder(void **state)
{
    return make_folder(state) == 0 && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    return chdir("/") == 0 ? remove_folder(state) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gallery_is_written_both_ways), cmocka_unit_test(gallery_is_the_same_inside),
        cmocka_unit_test(everything_is_kept),           cmocka_unit_test(the_text_says_it),
        cmocka_unit_test(mirrored_meshes_are_written),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
