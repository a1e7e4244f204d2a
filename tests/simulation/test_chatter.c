// Chattering: what is too much, what is not, and how far a step may go behind events.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "simulation/chatter.h"

static kd_chatter begin(long most)
{
    kd_chatter       c;
    kd_event_options opt = kd_event_options_default();
    opt.max_chatter = most;
    kd_chatter_begin(&c, &opt);
    return c;
}

// Events at one time are counted up to their bound; a step of some length begins anew.
static void events_at_one_time(void **state)
{
    (void)state;
    kd_chatter c = begin(5);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i <= 5; i++) assert_true(kd_chatter_add(&c, 1 + 0.1 * round, i));
    assert_false(kd_chatter_add(&c, 1.2, 0));
    assert_true(kd_chatter_time(&c) >= 1e-9 && kd_chatter_time(&c) < 1e-8);
}

// A function that comes back a few ulp later is stopped soon; two functions that do so in turn are not the same.
static void crossings_that_cannot_be_told_apart(void **state)
{
    (void)state;
    kd_chatter c = begin(1000);
    double     t = 1;
    int        n = 0;
    for (; n < 100 && kd_chatter_add(&c, t, 2); n++) t += 10 * DBL_EPSILON;
    assert_in_range(n, 2, 6);
    c = begin(1000);
    t = 1;
    for (n = 0; n < 100 && kd_chatter_add(&c, t, n % 2); n++) t += 10 * DBL_EPSILON;
    assert_int_equal(n, 100);
    c = begin(1000);
    for (n = 0, t = 1; n < 100 && kd_chatter_add(&c, t, 2); n++) t += 1e-6; // far apart
    assert_int_equal(n, 100);
}

// Behind events that follow each other a step is at most twice as long as the time between them; elsewhere it is free.
static void steps_are_short_behind_events(void **state)
{
    (void)state;
    kd_chatter c = begin(1000);
    assert_true(kd_chatter_target(&c, 0, 5) == 5);
    assert_true(kd_chatter_add(&c, 1, 0));
    assert_true(kd_chatter_add(&c, 1.25, 0));
    assert_true(kd_chatter_target(&c, 1.25, 5) == 1.75);
    assert_true(kd_chatter_target(&c, 1.25, 1.5) == 1.5);
    assert_true(kd_chatter_target(&c, 1.5, 5) == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_at_one_time),
        cmocka_unit_test(crossings_that_cannot_be_told_apart),
        cmocka_unit_test(steps_are_short_behind_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
