// Which loads are stiff: by their kind, as the model says, and by how fast they are.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

static const char TEXT[] =
    "kardan: 1\n"
    "bodies:\n  a: {mass: 2, inertia: [1, 1, 1]}\n  b: {mass: 4, inertia: [1, 1, 1], position: [3, 0, 0]}\n"
    "joints:\n"
    "  slide: {type: prismatic, from: {body: ground, axis: [1, 0, 0]}, to: {body: a, axis: [1, 0, 0]}}\n"
    "  free: {type: free, from: {body: ground, point: [3, 0, 0]}, to: b}\n"
    "states:\n"
    "  filter: {type: lag, input: joint.slide.q, time_constant: 0.01}\n"
    "forces:\n"
    "  push: {type: applied, body: a, force: [1 - 7*joint.slide.v, 0, 0]}\n"
    "  spring: {type: joint_spring, joint: slide, stiffness: 50, damping: 3, rest: 0}\n"
    "  soft: {type: joint_spring, joint: slide, stiffness: 50, damping: 3, rest: 0, stiff: false}\n"
    "  motor: {type: joint_spring, joint: slide, law: 3*sin(t), rest: 0}\n"
    "  hard: {type: applied, body: a, force: [1, 0, 0], stiff: yes}\n"
    "  link: {type: tsda, from: a, to: b, stiffness: 800, damping: 0, length: 3}\n"
    "  mount: {type: bushing, from: {body: ground, point: [3, 0, 0]}, to: b, stiffness: [16, 36, 64, 0, 0, 0]}\n";

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

static int load_named(const kd_system *s, const char *name)
{
    for (int i = 0; i < kd_system_loads_count(s); i++)
        if (strcmp(kd_system_load_name(s, i), name) == 0) return i;
    fail_msg("no load %s", name);
    return -1;
}

static bool is_stiff(const fixture *f, const char *name)
{
    return kd_system_stiff(f->system, load_named(f->system, name));
}

// Springs are stiff, applied forces are not, unless the model says otherwise; the flag can be set by hand.
static void by_kind_and_by_key(void **state)
{
    (void)state;
    fixture f = make(KD_JOINT);
    assert_int_equal(kd_system_loads_count(f.system), 8);
    assert_true(is_stiff(&f, "spring") && is_stiff(&f, "link") && is_stiff(&f, "mount") && is_stiff(&f, "filter"));
    assert_false(is_stiff(&f, "push") || is_stiff(&f, "soft") || is_stiff(&f, "motor"));
    assert_true(is_stiff(&f, "hard"));
    assert_string_equal(kd_system_load_kind(f.system, load_named(f.system, "link")), "tsda");
    assert_string_equal(kd_system_load_kind(f.system, load_named(f.system, "filter")), "state");
    kd_system_set_stiff(f.system, load_named(f.system, "push"), true);
    assert_true(is_stiff(&f, "push"));
    unmake(&f);
}

// The definitions of the C interface choose by kind unless told otherwise.
static void defaults_of_definitions(void **state)
{
    (void)state;
    for (int k = 0; k < KD_FORCE_KIND_COUNT; k++)
        assert_int_equal(kd_force_def_default((kd_force_kind)k).stiff, KD_STIFFNESS_AUTO);
    assert_int_equal(kd_user_force_def_default().stiff, KD_STIFFNESS_AUTO);
}

static void speed_is(const fixture *f, const kd_influence *list, const char *name, double frequency, double rate)
{
    const kd_influence *found = &list[load_named(f->system, name)];
    if (fabs(found->frequency - frequency) > 1e-9 * frequency || fabs(found->rate - rate) > 1e-9 * rate)
        fail_msg("%s: %.12g %.12g", name, found->frequency, found->rate);
    assert_string_equal(found->name, name);
}

// Speeds in closed form: sqrt(k/m), d/m, two masses in series, the sum over three directions, 1/T; in joint
// coordinates. In Cartesian ones, where the slide does not hold the body, the same, since these forces do not turn it.
static void speeds(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        fixture      f = make(k == 0 ? KD_JOINT : KD_CARTESIAN);
        kd_influence list[8];
        assert_int_equal(kd_system_speeds(f.system, f.x, list), KD_OK);
        speed_is(&f, list, "push", 0.0, 3.5);
        speed_is(&f, list, "spring", 5.0, 1.5);
        speed_is(&f, list, "hard", 0.0, 0.0);
        speed_is(&f, list, "link", sqrt(800.0 * (1.0 / 2.0 + 1.0 / 4.0)), 0.0);
        speed_is(&f, list, "mount", sqrt(4.0 + 9.0 + 16.0), 0.0);
        speed_is(&f, list, "filter", 0.0, 100.0);
        unmake(&f);
    }
}

// The step decides: what swings or decays fast against it is stiff, whatever the model says.
static void by_criterion(void **state)
{
    (void)state;
    fixture f = make(KD_JOINT);
    assert_int_equal(kd_system_choose_stiff(f.system, f.x, 1e-2, 0.0), KD_OK); // limit 10 rad/s
    assert_true(is_stiff(&f, "link") && is_stiff(&f, "filter"));
    assert_false(is_stiff(&f, "spring") || is_stiff(&f, "soft") || is_stiff(&f, "mount") || is_stiff(&f, "hard"));
    assert_int_equal(kd_system_choose_stiff(f.system, f.x, 1e-2, 0.03), KD_OK); // limit 3
    assert_true(is_stiff(&f, "spring") && is_stiff(&f, "soft") && is_stiff(&f, "mount") && is_stiff(&f, "push"));
    assert_false(is_stiff(&f, "hard"));
    assert_int_equal(kd_system_choose_stiff(f.system, f.x, 1e-5, 0.0), KD_OK); // limit 1e4
    for (int i = 0; i < kd_system_loads_count(f.system); i++) assert_false(kd_system_stiff(f.system, i));
    assert_int_equal(kd_system_choose_stiff(f.system, f.x, 0.0, 0.0), KD_ERR_ARGUMENT);
    unmake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_kind_and_by_key), cmocka_unit_test(defaults_of_definitions),
                                       cmocka_unit_test(speeds), cmocka_unit_test(by_criterion)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
