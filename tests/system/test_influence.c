// How fast forces answer: frequency and rate in closed form, for joints, points, bodies.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

static const char TEXT[] =
    "kardan: 1\n"
    "bodies:\n  a: {mass: 2, inertia: [1, 1, 1]}\n  b: {mass: 4, inertia: [1, 1, 1], position: [3, 0, 0]}\n"
    "joints:\n"
    "  slide: {type: prismatic, from: {body: ground, axis: [1, 0, 0]}, to: {body: a, axis: [1, 0, 0]}}\n"
    "  free: {type: free, from: {body: ground, point: [3, 0, 0]}, to: b}\n"
    "forces:\n"
    "  slack: {type: applied, body: a, force: [1, 0, 0]}\n"
    "  spring: {type: joint_spring, joint: slide, stiffness: 50, damping: 3, rest: 0}\n"
    "  link: {type: tsda, from: a, to: b, stiffness: 800, damping: 0, length: 3}\n"
    "  slanted: {type: tsda, from: {body: ground, point: [0, 1, 0]}, to: {body: a, point: [1, 0, 0]}, stiffness: "
    "100}\n";

typedef struct fixture {
    kd_model  *model;
    kd_system *system;
    kd_state  *x;
} fixture;

static fixture make(kd_coordinates coordinates)
{
    fixture           f = {0};
    char              message[1000] = "";
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    kd_status status = kd_model_read_text("test.yaml", TEXT, strlen(TEXT), NULL, 0, &f.model, message, sizeof message);
    if (status >= 0) status = kd_system_create(f.model, &opt, &f.system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(f.system), &f.x);
    if (status >= 0) status = kd_system_start(f.system, f.x, message, sizeof message);
    if (status < 0) print_error("%s\n", message);
    assert_true(status >= 0);
    return f;
}

static void unmake(fixture *f)
{
    kd_state_destroy(f->x);
    kd_system_destroy(f->system);
    kd_model_destroy(f->model);
}

static int velocity_named(const fixture *f, const char *wanted)
{
    char name[100];
    for (int i = 0; i < kd_eom_dims(kd_system_eom(f->system)).nv; i++)
        if (strcmp(kd_eom_name(kd_system_eom(f->system), KD_NAME_V, i, name, sizeof name), wanted) == 0) return i;
    fail_msg("no velocity %s", wanted);
    return -1;
}

static void must_be(const kd_influence *found, const char *name, const char *kind, double frequency, double rate)
{
    assert_string_equal(found->name, name);
    assert_string_equal(found->kind, kind);
    if (fabs(found->frequency - frequency) > 1e-9 || fabs(found->rate - rate) > 1e-9)
        print_error("%s: %g %g\n", name, found->frequency, found->rate);
    assert_true(fabs(found->frequency - frequency) < 1e-9 && fabs(found->rate - rate) < 1e-9);
}

// All forces on the slide, fastest first: sqrt(k / m) along the axis, cos^2 of the slanted one; one without stiffness.
static void along_a_joint(void **state)
{
    (void)state;
    fixture      f = make(KD_JOINT);
    kd_influence list[6];
    const int    v = velocity_named(&f, "joint.slide.v");
    assert_int_equal(kd_system_influences(f.system, f.x, v, list, 6), 4);
    must_be(&list[0], "link", "tsda", sqrt(800 / 2.0), 0);
    must_be(&list[1], "spring", "joint_spring", 5, 1.5);
    must_be(&list[2], "slanted", "tsda", sqrt(0.5 * 100 / 2), 0);
    must_be(&list[3], "slack", "applied", 0, 0);
    assert_int_equal(kd_system_influences(f.system, f.x, v, list, 2), 2);
    assert_string_equal(list[1].name, "spring");
    unmake(&f);
}

// A free body in either coordinate set: along x the link acts, across it a force that is not stretched does nothing.
static void on_a_body(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        fixture      f = make(k == 0 ? KD_JOINT : KD_CARTESIAN);
        kd_influence list[6];
        const char  *along = k == 0 ? "joint.free.v1" : "body.b.com_v.x";
        assert_int_equal(kd_system_influences(f.system, f.x, velocity_named(&f, along), list, 6), 1);
        must_be(&list[0], "link", "tsda", sqrt(800 / 4.0), 0);
        unmake(&f);
    }
}

// Arguments without meaning find nothing.
static void nothing_to_ask(void **state)
{
    (void)state;
    fixture      f = make(KD_JOINT);
    kd_influence list[2];
    assert_int_equal(kd_system_influences(NULL, f.x, 0, list, 2), 0);
    assert_int_equal(kd_system_influences(f.system, f.x, -1, list, 2), 0);
    assert_int_equal(kd_system_influences(f.system, f.x, 100, list, 2), 0);
    assert_int_equal(kd_system_influences(f.system, f.x, 0, list, 0), 0);
    unmake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(along_a_joint),
        cmocka_unit_test(on_a_body),
        cmocka_unit_test(nothing_to_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
