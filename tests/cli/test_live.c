// What kardan view is told by pages, and the spring that they pull bodies with.
// clang-format off
#include "../../src/cli/live_message.c" // first: its static functions
#include "../../src/cli/pull.c"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <stdio.h>

#include "model/build.h"

static bool reads(const char *text, kd_live_message *m)
{
    return kd_live_message_read(text, strlen(text), m);
}

// every word is understood with its numbers
static void test_words(void **state)
{
    kd_live_message m;
    (void)state;
    assert_true(reads("run", &m) && m.word == KD_LIVE_RUN);
    assert_true(reads("parameter 3 -1.5e-3", &m) && m.word == KD_LIVE_PARAMETER);
    assert_int_equal(m.index, 3);
    assert_float_equal(m.number[0], -1.5e-3, 0);
    assert_true(reads("pull 12 1 2 3 4 5 6", &m) && m.word == KD_LIVE_PULL && m.index == 12);
    for (int i = 0; i < 6; i++) assert_float_equal(m.number[i], i + 1, 0);
}

// what is no word, has too few or too many numbers, or numbers that are none, is refused and changes nothing
static void test_refused(void **state)
{
    static const char *const WRONG[] = {
        "",
        " ",
        "runs",
        "run ",
        " run",
        "run 1",
        "speed",
        "speed  1",
        "speed 1 ",
        "speed nan",
        "speed inf",
        "speed 0x10",
        "speed 1e13",
        "speed 1e999",
        "speed 1,5",
        "parameter 1",
        "parameter -1 2",
        "parameter 1.0 2",
        "parameter 9999999 1",
        "parameter 99999999999999999999 1",
        "move 1 2",
        "move 1 2 3 4",
        "pull 0 0 0 0 0 0",
        "input 1 --2",
        "input 1 e",
        "input 1 +",
        "step\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        kd_live_message m = {.word = KD_LIVE_SAVE, .index = 77};
        if (reads(WRONG[i], &m)) print_error("'%s' was taken\n", WRONG[i]);
        assert_false(reads(WRONG[i], &m));
        assert_int_equal(m.index, 77);
    }
    char            large[KD_LIVE_LONGEST + 10];
    kd_live_message m;
    memset(large, '1', sizeof large);
    memcpy(large, "speed 0.", 8);
    assert_true(kd_live_message_read(large, KD_LIVE_LONGEST, &m));
    assert_false(kd_live_message_read(large, KD_LIVE_LONGEST + 1, &m));
    assert_false(kd_live_message_read("run\0x", 5, &m));
}

static const char MODEL[] = "kardan: 1\n"
                            "parameters: {m: 2}\n"
                            "bodies:\n"
                            "  arm: {position: [0.3, 0.1, 0], mass: m, inertia: [0.1, 0.2, 0.3]}\n"
                            "  hand: {position: [0.7, 0.2, 0.1], mass: 1, inertia: [0.02, 0.01, 0.03]}\n"
                            "joints:\n"
                            "  shoulder: {type: spherical, bodies: [ground, arm], point: [0, 0, 0]}\n"
                            "  wrist: {type: universal, bodies: [arm, hand], point: [0.5, 0.1, 0], axis: [0, 0, 1]}\n";

static kd_model *model_with(const char *more)
{
    char      text[2000], message[2000];
    kd_model *m;
    snprintf(text, sizeof text, "%s%s", MODEL, more);
    if (kd_model_read_text("arm.yaml", text, strlen(text), NULL, 0, &m, message, sizeof message) < 0) {
        print_error("%s\n", message);
        fail();
    }
    return m;
}

// M a - f of a model at a state with some motion; derivatives are compared with differences.
static void force_of(const kd_model *m, double *f)
{
    kd_system   *system;
    char         message[4000] = "";
    kd_state    *x;
    kd_eom_data *d;
    assert_int_equal(kd_system_create(m, NULL, &system, message, sizeof message), KD_OK);
    const kd_eom *eom = kd_system_eom(system);
    const kd_dims dims = kd_eom_dims(eom);
    assert_int_equal(dims.nv, 5);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    for (int i = 0; i < dims.nv; i++) x->v[i] = 0.3 * (i + 1) - 0.7, x->a[i] = 0;
    if (kd_eom_check(eom, NULL, x, NULL, message, sizeof message) < 0) {
        print_error("%s\n", message);
        fail();
    }
    assert_int_equal(kd_eom_data_create(eom, &d), KD_OK);
    assert_int_equal(kd_eom_at_state(d, NULL, x, KD_STAGE_ACCELERATION), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(d, KD_RESIDUAL, f), KD_EVAL_OK);
    kd_eom_data_destroy(d);
    kd_state_destroy(x);
    kd_system_destroy(system);
}

// a pulled body feels what a bushing between that point and that place would do, and nothing when it is let go
static void test_pull(void **state)
{
    kd_model *plain = model_with("");
    kd_model *bushing = model_with(
        "forces:\n"
        "  b: {type: bushing, from: {body: ground, point: [1, 0.5, 0.25]}, to: {body: hand, point: [0.2, -0.1, 0.2]},\n"
        "      stiffness: [40, 40, 40, 0, 0, 0], damping: [3, 3, 3, 0, 0, 0]}\n");
    kd_pull pull = {.s = {0.2, -0.1, 0.2}, .a = {1, 0.5, 0.25}, .k = 40, .c = 3};
    double  before[5], expected[5], got[5], behind[5];
    (void)state;
    force_of(plain, before);
    force_of(bushing, expected);
    kd_pull_take(&pull, "hand");
    assert_int_equal(kd_model_attach(plain, "pull", &pull.def), KD_OK);
    force_of(plain, got);
    assert_int_equal(kd_model_attach(plain, "pull", NULL), KD_OK);
    force_of(plain, behind);
    for (int i = 0; i < 5; i++) {
        assert_float_equal(got[i], expected[i], 1e-12);
        assert_float_equal(behind[i], before[i], 0);
    }
    // it is not the force without
    assert_true(fabs(got[0] - before[0]) + fabs(got[3] - before[3]) > 1);
    kd_model_destroy(plain);
    kd_model_destroy(bushing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_pull),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
