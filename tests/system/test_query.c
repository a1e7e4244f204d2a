// Queries of a model: the same questions for every section; what is answered belongs together, for every gallery model.
#include <kardan/kardan.h>

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static kd_model *read_model(const char *path)
{
    kd_model *m = NULL;
    char      message[2000] = "";
    if (kd_model_read(path, NULL, 0, &m, message, sizeof message) < 0) print_error("%s\n", message);
    assert_non_null(m);
    return m;
}

static kd_system *system_of(const kd_model *m, kd_coordinates coordinates)
{
    char              message[500];
    kd_system        *s = NULL;
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    assert_true(kd_system_create(m, &opt, &s, message, sizeof message) >= 0);
    return s;
}

// ---- all sections of all models -------------------------------------------------------------------------------------

static int npaths;

// Every path that is listed is one of this element, is listed once, and a probe of the system can be asked for sensors.
static void check_paths(const kd_model *m, kd_section section, int i)
{
    static char seen[100][300];
    int         n = 0;
    char        path[300], why[300];
    for (; kd_model_path(m, section, i, n, path, sizeof path) > 0; n++) {
        kd_path_info info;
        if (kd_model_path_about(m, path, &info, why, sizeof why) < 0) print_error("%s: %s\n", path, why);
        assert_int_equal(kd_model_path_about(m, path, &info, why, sizeof why), KD_OK);
        assert_int_equal(info.section, section);
        assert_int_equal(info.element, i);
        assert_non_null(info.unit);
        assert_true(n < 100);
        for (int k = 0; k < n; k++) assert_string_not_equal(seen[k], path);
        memcpy(seen[n], path, sizeof path);
        assert_int_equal(kd_model_path(m, section, i, n, NULL, 0), strlen(path)); // as snprintf
    }
    npaths += n;
}

static bool is_body(const kd_model *m, int body)
{
    return body == KD_GROUND || (body >= 0 && body < kd_model_count(m, KD_SECTION_BODY));
}

static void check_element(const kd_model *m, kd_section section, int i)
{
    const kd_element_info e = kd_model_about(m, section, i);
    assert_string_equal(e.name, kd_model_name(m, section, i));
    assert_int_equal(kd_model_find(m, section, e.name), i);
    assert_true(e.file && e.line > 0);
    const bool between = section == KD_SECTION_JOINT || section == KD_SECTION_FORCE || section == KD_SECTION_CONSTRAINT;
    if (between) assert_true(e.kind[0] != '\0');
    assert_true(e.from == KD_NO_BODY || (between && is_body(m, e.from)));
    assert_true(e.to == KD_NO_BODY || is_body(m, e.to));
    if (section == KD_SECTION_JOINT) assert_true(is_body(m, e.from) && is_body(m, e.to) && e.from != e.to);
    if (section == KD_SECTION_PARAMETER) assert_true(isfinite(e.value));
    if (section == KD_SECTION_SENSOR || section == KD_SECTION_EVENT) assert_non_null(e.text);
    check_paths(m, section, i);
}

// Bodies hang on each other by joints that connect them, and at last on the ground.
static void check_tree(const kd_model *m, kd_coordinates coordinates)
{
    kd_system *s = system_of(m, coordinates);
    const int  n = kd_model_count(m, KD_SECTION_BODY);
    for (int i = 0; i < n; i++) {
        const kd_carrier c = kd_system_carrier(s, i);
        if (c.joint >= 0) {
            const kd_element_info joint = kd_model_about(m, KD_SECTION_JOINT, c.joint);
            assert_int_equal(c.reversed ? joint.from : joint.to, i);
            assert_int_equal(c.reversed ? joint.to : joint.from, c.parent);
        } else {
            assert_int_equal(c.parent, KD_GROUND);
        }
        int depth = 0;
        for (int b = i; b != KD_GROUND; b = kd_system_carrier(s, b).parent) assert_true(depth++ <= n);
    }
    kd_system_destroy(s);
}

static void check_model(const char *path)
{
    kd_model *m = read_model(path);
    for (int s = 0; s < KD_SECTION_COUNT; s++) {
        const int n = kd_model_count(m, (kd_section)s);
        for (int i = 0; i < n; i++) check_element(m, (kd_section)s, i);
    }
    check_paths(m, KD_SECTION_ENERGY, 0);
    check_tree(m, KD_JOINT);
    check_tree(m, KD_CARTESIAN);
    kd_model_destroy(m);
}

// Every element of every gallery model answers, and its answers belong together.
static void gallery_answers(void **state)
{
    (void)state;
    DIR           *folder = opendir(KD_SOURCE_DIR "/models");
    struct dirent *entry;
    int            models = 0;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        const char *ending = strrchr(entry->d_name, '.');
        char        path[600];
        if (!ending || strcmp(ending, ".yaml") != 0) continue;
        snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s", entry->d_name);
        check_model(path);
        models++;
    }
    closedir(folder);
    assert_true(models > 50);
    assert_true(npaths > 10000);
}

// ---- one model, by hand ---------------------------------------------------------------------------------------------

static const char TEXT[] = //
    "kardan: 1\n"
    "parameters: {l: 2, half: l/2}\n"
    "inputs: {pull: 3*t}\n"
    "bodies:\n"
    "  arm: {mass: 3, centre: [half, 0, 0], inertia: [1, 2, 2.5], shape: {box: [l, 0.1, 0.2]}}\n"
    "  slide: {mass: 1, inertia: [1, 1, 1], position: [l, 0, 0]}\n"
    "joints:\n"
    "  hinge: {type: revolute, from: {body: ground}, to: {body: arm}}\n"
    "  tube: {type: cylindrical, from: {body: slide, point: [l, 0, 0]}, to: {body: arm, point: [l, 0, 0]}, "
    "motion: [null, 't']}\n"
    "  ball: {type: spherical, from: {body: slide}, to: {body: ground}, cut: yes}\n"
    "forces:\n"
    "  strut: {type: tsda, from: {body: ground}, to: {body: slide, point: [l, 0, 0]}, stiffness: 5}\n"
    "  twist: {type: joint_spring, joint: tube, coordinate: 1, stiffness: 1}\n"
    "  push: {type: applied, to: {body: arm}, force: ['input.pull', 0, 0]}\n"
    "states:\n"
    "  filter: {type: lag, input: force.strut.rate, time_constant: 0.1, start: 4}\n"
    "curves:\n"
    "  road: {form: akima, x: [0, 1, 2], y: [0, 1, 0]}\n"
    "sensors:\n"
    "  turn: joint.tube.v1\n"
    "  height: {value: 2*body.arm.pos.z, unit: ell}\n";

// What stands in the file is what is answered: masses, bodies, kinds, coordinates with units, expressions, values, lines.
static void answers_are_those_of_the_file(void **state)
{
    (void)state;
    kd_model *m = NULL;
    char      message[1000] = "";
    if (kd_model_read_text("text.yaml", TEXT, sizeof TEXT - 1, NULL, 0, &m, message, sizeof message) < 0)
        print_error("%s\n", message);
    assert_non_null(m);
    assert_int_equal(kd_model_count(m, KD_SECTION_BODY), 2);
    const kd_body_def *arm = kd_model_body_def(m, kd_model_find(m, KD_SECTION_BODY, "arm"));
    assert_true(arm->mass == 3 && arm->centre[0] == 1 && arm->inertia[2] == 2.5 && arm->inertia[3] == 0);
    assert_int_equal(arm->nshapes, 1);
    assert_string_equal(kd_shape_word(arm->shape[0].kind), "box");
    assert_true(arm->shape[0].size[0] == 2);

    // a joint whose `from` is the body that it carries
    const int tube = kd_model_find(m, KD_SECTION_JOINT, "tube"), slide = kd_model_find(m, KD_SECTION_BODY, "slide");
    kd_element_info e = kd_model_about(m, KD_SECTION_JOINT, tube);
    assert_string_equal(e.kind, "cylindrical");
    assert_int_equal(e.from, slide);
    assert_int_equal(e.line, 9);
    assert_string_equal(e.file, "text.yaml");
    assert_int_equal(kd_model_coordinates(m, tube), 2);
    kd_coordinate_info q1 = kd_model_coordinate(m, tube, 0), q2 = kd_model_coordinate(m, tube, 1);
    assert_true(q1.angle && !q2.angle && !q1.motion);
    assert_string_equal(q1.name, "q1");
    assert_string_equal(q1.unit, "rad");
    assert_string_equal(q2.rate, "v2");
    assert_string_equal(q2.rate_unit, "m/s");
    assert_string_equal(q2.motion, "t");
    assert_string_equal(kd_model_coordinate(m, 0, 0).name, "q");
    assert_true(kd_model_coordinates(m, 2) == 0 && kd_model_has_ball(m, 2) && !kd_model_has_ball(m, tube));
    kd_system       *system = system_of(m, KD_JOINT);
    const kd_carrier c = kd_system_carrier(system, slide);
    assert_true(c.reversed && c.joint == tube && c.parent == 0);
    kd_system_destroy(system);

    // forces: between two places, in a joint, on one body
    e = kd_model_about(m, KD_SECTION_FORCE, 0);
    assert_true(e.from == KD_GROUND && e.to == slide && e.joint == -1);
    e = kd_model_about(m, KD_SECTION_FORCE, 1);
    assert_true(e.joint == tube && e.from == slide);
    e = kd_model_about(m, KD_SECTION_FORCE, 2);
    assert_true(e.from == KD_NO_BODY && e.to == 0);

    // values and expressions
    e = kd_model_about(m, KD_SECTION_PARAMETER, 1);
    assert_true(e.value == 1);
    assert_string_equal(e.text, "l/2");
    assert_null(kd_model_about(m, KD_SECTION_PARAMETER, 0).text);
    e = kd_model_about(m, KD_SECTION_STATE, 0);
    assert_true(e.value == 4);
    assert_string_equal(e.unit, "m/s");
    assert_string_equal(kd_model_about(m, KD_SECTION_INPUT, 0).text, "3*t");
    assert_string_equal(kd_model_about(m, KD_SECTION_CURVE, 0).kind, "akima");
    assert_int_equal(kd_model_curve_def(m, 0)->n, 3);
    assert_string_equal(kd_model_about(m, KD_SECTION_SENSOR, 0).unit, "rad/s");
    assert_string_equal(kd_model_about(m, KD_SECTION_SENSOR, 1).unit, "ell");
    kd_model_destroy(m);
}

// Numbers and names that are none are answered by nothing, and an unknown path says what it could have been.
static void nothing_is_answered_by_nothing(void **state)
{
    (void)state;
    kd_model    *m = read_model(KD_SOURCE_DIR "/models/pendulum.yaml");
    kd_path_info info;
    char         why[300], path[5];
    assert_int_equal(kd_model_count(NULL, KD_SECTION_BODY), 0);
    assert_int_equal(kd_model_count(m, KD_SECTION_COUNT), 0);
    assert_int_equal(kd_model_count(m, KD_SECTION_ENERGY), 0);
    assert_string_equal(kd_section_word(KD_SECTION_COUNT), "");
    assert_string_equal(kd_model_name(m, KD_SECTION_BODY, 99), "");
    assert_string_equal(kd_model_about(m, KD_SECTION_BODY, -1).name, "");
    assert_int_equal(kd_model_find(m, KD_SECTION_BODY, "nobody"), -1);
    assert_int_equal(kd_model_find(m, KD_SECTION_BODY, NULL), -1);
    assert_null(kd_model_body_def(m, 99));
    assert_null(kd_model_force_def(NULL, 0));
    assert_string_equal(kd_model_coordinate(m, 0, 1).name, "");
    assert_int_equal(kd_model_path(m, KD_SECTION_BODY, 99, 0, why, sizeof why), 0);
    assert_int_equal(kd_model_path(m, KD_SECTION_PARAMETER, 0, 0, why, sizeof why), 0);
    assert_true(kd_model_path(m, KD_SECTION_BODY, 0, 0, path, sizeof path) > sizeof path);
    assert_int_equal(strlen(path), sizeof path - 1);
    char *first = why;
    snprintf(first, sizeof why, "joint.%s.forc.x", kd_model_name(m, KD_SECTION_JOINT, 0));
    char wrong[300];
    memcpy(wrong, first, sizeof wrong);
    assert_int_equal(kd_model_path_about(m, wrong, &info, why, sizeof why), KD_ERR_MODEL);
    assert_non_null(strstr(why, "did you mean 'force.x'"));
    assert_int_equal(kd_model_path_about(NULL, "t", &info, NULL, 0), KD_ERR_ARGUMENT);
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gallery_answers),
        cmocka_unit_test(answers_are_those_of_the_file),
        cmocka_unit_test(nothing_is_answered_by_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
