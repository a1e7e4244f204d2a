// When models are not smooth in time: which expressions count, what is kept between calls.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "core/failing_allocator.h"

static const char *const frame =
    "kardan: 1\n"
    "curves: {slope: {x: [0, 1, 2], y: [0, 0, 5]}}\n"
    "bodies: {cart: {mass: 1, inertia: [1, 1, 1]}, top: {mass: 1, inertia: [1, 1, 1]}}\n"
    "joints:\n"
    "  rail: {type: prismatic, bodies: [ground, cart], point: [0, 0, 0], axis: [1, 0, 0]}\n"
    "  hinge: {type: revolute, bodies: [cart, top], point: [0, 0, 0], axis: [0, 1, 0]%s}\n"
    "%s";

typedef struct fixture {
    kd_model    *model;
    kd_system   *system;
    kd_eom_data *data;
} fixture;

static fixture make(const char *joint, const char *rest)
{
    fixture f = {0};
    char    text[4000], message[1000] = "";
    snprintf(text, sizeof text, frame, joint, rest);
    kd_status status = kd_model_read_text("test.yaml", text, strlen(text), NULL, 0, &f.model, message, sizeof message);
    if (status >= 0) status = kd_system_create(f.model, NULL, &f.system, message, sizeof message);
    if (status >= 0) status = kd_eom_data_create(kd_system_eom(f.system), &f.data);
    if (status < 0) print_error("%s\n", message);
    assert_true(status >= 0);
    return f;
}

static void unmake(fixture *f)
{
    kd_eom_data_destroy(f->data);
    kd_system_destroy(f->system);
    kd_model_destroy(f->model);
}

static double next_at(fixture *f, double t)
{
    const double zero[8] = {0};
    kd_eom_at_time(f->data, t, zero, zero, zero, NULL);
    return kd_eom_next_break(f->data);
}

// Each place of a model where time can stand has its breaks.
static void all_expressions_count(void **state)
{
    static const struct {
        const char *joint, *rest;
        double      first, second;
    } cases[] = {
        {"", "inputs: {push: \"pulse(t, 0.5, 0.25)\"}\n", 0.5, 0.75},
        {", motion: \"step5(t, 0.25, 0, 0.75, 1)\"", "", 0.25, 0.75},
        {"", "forces: {f: {type: applied, body: cart, force: [\"step(t - 0.5)*joint.rail.v\", null, null]}}\n", 0.5,
         INFINITY},
        {"", "forces: {f: {type: joint_spring, joint: hinge, law: \"if(t < 2, -q, -2*q)\"}}\n", 2.0, INFINITY},
        {"", "forces: {f: {type: tyre, body: top, radius: 0.5, stiffness: 10, road: \"abs(t - 3) + abs(x)\"}}\n", 3.0,
         INFINITY},
        {"", "states: {s: {type: lag, time_constant: 1, input: slope(t)}}\n", 1.0, INFINITY},
        {"", "constraints: {c: {type: expression, value: \"joint.rail.q - joint.hinge.q - abs(t - 4)\"}}\n", 4.0,
         INFINITY},
        {"", "sensors: {s: step(t - 1)}\n", INFINITY, INFINITY}, // reads only
        {"", "inputs: {push: sin(t)}\n", INFINITY, INFINITY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture      f = make(cases[i].joint, cases[i].rest);
        const double first = next_at(&f, 0.0), second = first < INFINITY ? next_at(&f, first) : INFINITY;
        if (first != cases[i].first || second != cases[i].second)
            fail_msg("%s%s: %.17g %.17g", cases[i].joint, cases[i].rest, first, second);
        unmake(&f);
    }
}

// Time may go back and forth; answers do not depend on what was asked before.
static void answers_depend_on_time_alone(void **state)
{
    fixture f = make("", "inputs: {a: step(sin(10*t)), b: \"pulse(t, 0.5, 0.25)\"}\n");
    (void)state;
    for (int k = 0; k < 40; k++) {
        const double t = fmod(k * 0.37, 3.0);
        fixture      g = make("", "inputs: {a: step(sin(10*t)), b: \"pulse(t, 0.5, 0.25)\"}\n");
        const double next = next_at(&f, t);
        assert_true(next > t && next <= t + 0.32);
        assert_true(next == next_at(&g, t));
        assert_true(next == next_at(&f, t));
        unmake(&g);
    }
    unmake(&f);
}

// Breaks of several expressions within rounding are one instant.
static void breaks_of_several_expressions_are_joined(void **state)
{
    fixture f = make("", "inputs: {a: step(t - 0.3), b: step(t - 0.1*3), c: step(t - 0.6)}\n");
    (void)state;
    assert_true(next_at(&f, 0.0) == 0.1 * 3.0);
    assert_true(next_at(&f, 0.1 * 3.0) == 0.6);
    unmake(&f);
}

// Asking does not allocate.
static void asking_does_not_allocate(void **state)
{
    fixture           f = make("", "inputs: {a: step(sin(10*t))}\n");
    failing_allocator counter = {0};
    double            t = 0.0;
    (void)state;
    failing_allocator_use(&counter);
    for (int k = 0; k < 20; k++) t = next_at(&f, t);
    kd_set_allocator(NULL);
    assert_true(t > 5.0 && t < 7.0);
    assert_int_equal(counter.calls, 0);
    unmake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_expressions_count),
        cmocka_unit_test(answers_depend_on_time_alone),
        cmocka_unit_test(breaks_of_several_expressions_are_joined),
        cmocka_unit_test(asking_does_not_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
