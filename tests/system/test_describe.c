// What the assembly says: a drawing whose joints are open, and names of angles that are counted over turns.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

typedef struct fixture {
    kd_model  *model;
    kd_system *system;
    char       words[2000];
} fixture;

static fixture open_text(const char *text, kd_coordinates coordinates)
{
    fixture           f = {0};
    char              message[1000] = "";
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    kd_status status = kd_model_read_text("test.yaml", text, strlen(text), NULL, 0, &f.model, message, sizeof message);
    if (status >= 0) status = kd_system_create(f.model, &opt, &f.system, message, sizeof message);
    if (status < 0) print_error("%s\n", message);
    assert_true(status >= 0);
    kd_system_describe(f.system, f.words, sizeof f.words);
    return f;
}

static void close_text(fixture *f)
{
    kd_system_destroy(f->system);
    kd_model_destroy(f->model);
}

// A body that is drawn beside its joint is named with the gap, by length or by angle; a joint along its freedom is not.
static void open_drawing(void **state)
{
    (void)state;
    static const char *const joint[][2] = {
        {"{type: revolute, from: ground, to: arm}", "joint 'j' by 0.5 m"},
        {"{type: revolute, from: {body: ground, point: [0.5, 0, 0], axis: [0, 1, 0]}, to: arm}",
         "joint 'j' by 1.57 rad"},
        {"{type: cylindrical, from: {body: ground, axis: [0, 0, 1]}, to: arm}", "joint 'j' by 0.5 m"},
        {"{type: prismatic, from: {body: ground, axis: [1, 0, 0]}, to: {body: arm, axis: [1, 0, 0]}}", NULL},
        {"{type: planar, from: ground, to: arm}", NULL},
        {"{type: free, from: ground, to: arm}", NULL},
        {"{type: universal, from: {body: ground, point: [0.5, 0, 0]}, to: arm}", NULL},
    };
    for (size_t i = 0; i < sizeof joint / sizeof joint[0]; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "kardan: 1\nbodies:\n  arm: {position: [0.5, 0, 0], mass: 1, inertia: [1, 1, 1]}\njoints:\n  j: %s\n",
                 joint[i][0]);
        fixture     f = open_text(text, KD_JOINT);
        const char *found = strstr(f.words, "the drawing is open");
        if ((found != NULL) != (joint[i][1] != NULL) || (found && !strstr(found, joint[i][1])))
            print_error("%s: %s\n", joint[i][0], f.words);
        assert_true((found != NULL) == (joint[i][1] != NULL));
        if (found) assert_non_null(strstr(found, joint[i][1]));
        close_text(&f);
    }
}

// Angles that sensors and forces read are coordinates with the names of their paths.
static void counted_angles(void **state)
{
    (void)state;
    static const char text[] =
        "kardan: 1\nbodies:\n  top: {mass: 1, inertia: [1, 1, 1]}\n  fan: {mass: 1, inertia: [1, 1, 1]}\n"
        "frames:\n  tip: {body: fan, point: [1, 0, 0]}\n"
        "joints:\n  a: {type: free, from: ground, to: top}\n  b: {type: revolute, from: top, to: fan}\n"
        "forces:\n  s: {type: rsda, from: ground, to: top, stiffness: 1, angle: 0}\n"
        "sensors:\n  q: joint.b.q\n  w: frame.tip.yaw\n  r: body.fan.roll\n";
    static const char *const wanted[] = {"joint.b.q", "frame.tip.yaw", "body.fan.roll", "force.s.angle"};
    fixture                  f = open_text(text, KD_CARTESIAN);
    const kd_eom            *eom = kd_system_eom(f.system);
    int                      found = 0;
    for (int i = 0; i < kd_eom_dims(eom).np; i++) {
        char        name[100];
        const char *word = kd_eom_name(eom, KD_NAME_P, i, name, sizeof name);
        for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) found += strcmp(word, wanted[k]) == 0;
    }
    assert_int_equal(found, 4);
    close_text(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(open_drawing), cmocka_unit_test(counted_angles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
