// Steppers that are saved between two steps and gone on with by another one: the same bits, for all Jacobians and
// stabilisations, with events, samples, drives and held inputs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

typedef struct bench {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_realtime *rt;
} bench;

static void shut(bench *b)
{
    kd_realtime_destroy(b->rt);
    kd_state_destroy(b->x);
    kd_system_destroy(b->system);
    kd_model_destroy(b->model);
}

static bool open(const char *name, const kd_realtime_options *o, bench *b)
{
    char path[1000], message[1000] = "";
    *b = (bench){0};
    snprintf(path, sizeof path, "%s/models/%s.yaml", KD_SOURCE_DIR, name);
    assert_true(kd_model_read(path, NULL, 0, &b->model, message, sizeof message) >= 0);
    assert_true(kd_system_create(b->model, NULL, &b->system, message, sizeof message) >= 0);
    assert_int_equal(kd_state_create(kd_system_eom(b->system), &b->x), KD_OK);
    assert_true(kd_system_start(b->system, b->x, message, sizeof message) >= 0);
    kd_realtime_options own = *o;
    static const bool   none[100];
    own.external = none;
    if (kd_realtime_create(kd_system_eom(b->system), kd_system_inputs(b->system), &own, b->x, &b->rt, message,
                           sizeof message) >= 0)
        return true;
    shut(b);
    return false;
}

static bool step(bench *b, int n)
{
    for (int i = 0; i < n; i++)
        if (kd_realtime_step(b->rt, NULL, NULL) < 0) return false;
    return true;
}

// n steps, saved, and m further ones by another stepper: equal to those of the first one
static bool goes_on(const char *name, const kd_realtime_options *o, int n, int m)
{
    bench     first, second;
    kd_saved *saved = NULL;
    char      message[1000] = "";
    if (!open(name, o, &first)) return false;
    if (!step(&first, n)) return shut(&first), false;
    assert_int_equal(kd_realtime_save(first.rt, &saved, message, sizeof message), KD_OK);
    assert_true(open(name, o, &second));
    if (kd_realtime_go_on(second.rt, saved, message, sizeof message) < 0) fail_msg("%s: %s", name, message);
    kd_saved_destroy(saved);
    for (int i = 0; i < m; i++) {
        const bool good = step(&first, 1);
        assert_int_equal(step(&second, 1), good);
        const kd_state *a = kd_realtime_state(first.rt), *b = kd_realtime_state(second.rt);
        if (a->t != b->t || memcmp(a->p, b->p, a->size * sizeof *a->p) != 0)
            fail_msg("%s, jacobian %d, stabilisation %d, refresh %d: step %d behind %d differs", name, (int)o->jacobian,
                     (int)o->stabilisation, o->refresh, i, n);
        if (!good) break;
    }
    assert_int_equal(kd_realtime_steps(first.rt), kd_realtime_steps(second.rt));
    shut(&first);
    shut(&second);
    return true;
}

// Saved between any two steps, a stepper goes on bit by bit.
static void steppers_go_on_bit_by_bit(void **state)
{
    (void)state;
    static const char *const models[] = {"pendulum",      "slider-crank",    "four-bar", "quarter-car",
                                         "sampled-speed", "closed-loop-car", "hmmwv",    "gear-pendulum",
                                         "stewart",       "measured-road"};
    int                      done = 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        for (int jacobian = 0; jacobian < KD_REALTIME_JACOBIAN_COUNT; jacobian++) {
            for (int stabilisation = 0; stabilisation < KD_REALTIME_STABILISATION_COUNT; stabilisation++) {
                kd_realtime_options o = kd_realtime_options_default();
                o.jacobian = (kd_realtime_jacobian)jacobian;
                o.stabilisation = (kd_realtime_stabilisation)stabilisation;
                done += goes_on(models[i], &o, 1 + 7 * jacobian + 3 * stabilisation, 40);
                o.refresh = 4;
                done += goes_on(models[i], &o, 11, 20);
            }
        }
    }
    assert_true(done > 150);
}

// Bytes of another model, of other options and of simulations are refused with a reason.
static void others_are_refused(void **state)
{
    (void)state;
    kd_realtime_options o = kd_realtime_options_default();
    bench               first, second;
    kd_saved           *saved = NULL;
    char                message[1000] = "";
    assert_true(open("pendulum", &o, &first));
    assert_int_equal(kd_realtime_save(first.rt, &saved, message, sizeof message), KD_OK);
    assert_true(kd_saved_has(saved, "realtime") && !kd_saved_has(saved, "simulation"));
    assert_true(open("four-bar", &o, &second));
    assert_int_equal(kd_realtime_go_on(second.rt, saved, message, sizeof message), KD_ERR_SAVED);
    assert_non_null(strstr(message, "the equations are others"));
    shut(&second);
    o.h = 2e-3;
    assert_true(open("pendulum", &o, &second));
    assert_int_equal(kd_realtime_go_on(second.rt, saved, message, sizeof message), KD_ERR_SAVED);
    assert_non_null(strstr(message, "steps are 0.001 s there, 0.002 s here"));
    shut(&second);
    shut(&first);
    kd_saved_destroy(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steppers_go_on_bit_by_bit),
        cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
