// Threads that take units: every unit once, turns in their order, an early end, never more threads than work.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/crew.h"

enum { UNITS = 1000, MOST = 16 };

typedef struct log {
    kd_crew_turn turn;
    int          times[UNITS]; // each unit was taken, by its worker alone
    int          order[UNITS]; // as they passed
    int          passed, stop; // stop: the unit that wants no more
    int          by[MOST];     // units of a worker
    volatile int sink;         // uneven work
} log;

static bool take(int worker, int unit, void *context)
{
    log *l = context;
    for (int i = 0; i < unit * 7919 % 997; i++) l->sink = i;
    l->times[unit]++;
    kd_crew_turn_begin(&l->turn, unit);
    // one at a time: no lock is needed here
    l->order[l->passed++] = unit;
    l->by[worker]++;
    kd_crew_turn_end(&l->turn);
    return unit != l->stop;
}

static void all_units_in_order(void **state)
{
    (void)state;
    for (int threads = 1; threads <= MOST; threads += 3)
        for (int units = 0; units <= UNITS; units = 3 * units + 1) {
            log l = {.turn = KD_CREW_TURN_START, .stop = -1};
            int sum = 0;
            kd_crew_run(threads, units, take, &l);
            assert_int_equal(l.passed, units);
            for (int i = 0; i < units; i++) assert_true(l.times[i] == 1 && l.order[i] == i);
            for (int i = 0; i < MOST; i++) sum += l.by[i];
            assert_int_equal(sum, units);
            for (int i = threads; i < MOST; i++) assert_int_equal(l.by[i], 0);
        }
}

// Those that were taken before are finished, no others are taken
static void ends_early(void **state)
{
    (void)state;
    for (int threads = 1; threads <= MOST; threads += 5) {
        log l = {.turn = KD_CREW_TURN_START, .stop = 100};
        kd_crew_run(threads, UNITS, take, &l);
        assert_true(l.passed > 100 && l.passed <= 101 + threads);
        for (int i = 0; i < UNITS; i++) assert_int_equal(l.times[i], i < l.passed);
    }
}

static void sizes(void **state)
{
    (void)state;
    assert_int_equal(kd_crew_size(3, 100), 3);
    assert_int_equal(kd_crew_size(30, 4), 4);
    assert_int_equal(kd_crew_size(1000000, 1000000), 256);
    assert_int_equal(kd_crew_size(5, 0), 1);
    assert_true(kd_crew_size(0, 1000) >= 1);
    assert_int_equal(kd_crew_size(-1, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_units_in_order),
        cmocka_unit_test(ends_early),
        cmocka_unit_test(sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
