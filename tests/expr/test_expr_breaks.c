// tests/expr/test_expr_breaks.c: the times at which expressions are not smooth, to the last bit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <stdio.h>

#include "expr/symbols.h"

enum { SLOT_T = 3 };

static double next_of(const char *text, double t, double t_end, symbol_set *set)
{
    const compiled c = compile(text, set);
    kd_interval   *work = malloc((size_t)kd_expr_interval_size(c.expr) * sizeof *work);
    const double   next = kd_expr_next_break(c.expr, SLOT_T, t, t_end, work, NULL);
    free(work);
    release(c);
    return next;
}

// All breaks in (t, t_end]; the number of them, which must be at most most.
static int breaks_of(const char *text, double t, double t_end, int most, double *out, symbol_set *set)
{
    const compiled c = compile(text, set);
    kd_interval   *work = malloc((size_t)kd_expr_interval_size(c.expr) * sizeof *work);
    int            n = 0;
    for (;;) {
        const double next = kd_expr_next_break(c.expr, SLOT_T, t, t_end, work, NULL);
        if (next == INFINITY) break;
        assert_true(next > t && next <= t_end);
        if (n == most) fail_msg("%s: more than %d breaks, the last at %.17g", text, most, next);
        out[n++] = t = next;
    }
    free(work);
    release(c);
    return n;
}

static double before(double t)
{
    return nextafter(t, -INFINITY);
}

// The answer is the first double at which the right side holds.
static void jumps_are_met_to_the_last_bit(void **state)
{
    static const char *const texts[] = {
        "step(t - 0.3)", "if(t >= 1/3, 1, 0)", "if(t <= 0.7, 1, 0)",        "if(0.1*t < 0.07, 1, 0)",
        "floor(3*t)",    "sign(t^2 - 0.2)",    "step(exp(t) - 2)",          "pulse(t, 0.2, 0.1)",
        "mod(t, 0.3)",   "ceil(log(1 + 5*t))", "if(sin(40*t) > 0.5, 2, 0)", "not (t < 0.9)"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double    at[100];
        const int n = breaks_of(texts[i], 0.0, 1.0, 100, at, NULL);
        assert_true(n > 0);
        for (int k = 0; k < n; k++) {
            double       x[SYMBOL_SLOTS] = {0.0};
            const double last = k > 0 ? at[k - 1] : 0.0, following = k + 1 < n ? at[k + 1] : 1.0;
            x[SLOT_T] = at[k];
            const double right = value_at(texts[i], x, NULL);
            x[SLOT_T] = before(at[k]);
            const double left = value_at(texts[i], x, NULL);
            // mod moves, the others are constant between their jumps
            const bool moves = strncmp(texts[i], "mod", 3) == 0;
            assert_true(moves ? left - right > 0.29 : left != right);
            x[SLOT_T] = 0.5 * (at[k] + following);
            if (!moves) assert_true(value_at(texts[i], x, NULL) == right);
            // a sign is 0 at one double, which belongs to neither side
            x[SLOT_T] = 0.5 * (at[k] + last);
            if (!moves && strncmp(texts[i], "sign", 4) != 0) assert_true(value_at(texts[i], x, NULL) == left);
        }
    }
}

// Kinks: known places of each kind of operation.
static void kinks_are_found(void **state)
{
    static const struct {
        const char *text;
        double      at[3];
    } cases[] = {
        {"ramp(t - 0.25)", {0.25, INFINITY, 0.0}},
        {"abs(t - 0.5) + 3*t", {0.5, INFINITY, 0.0}},
        {"min(t, 1 - t)", {0.5, INFINITY, 0.0}},
        {"max(t, 2*t - 0.5, 0.125)", {0.125, 0.5, INFINITY}},
        {"step3(t, 0.25, 0, 0.75, 1)", {0.25, 0.75, INFINITY}},
        {"step5(t, 0.25, 0, 0.75, 1)", {0.25, 0.75, INFINITY}},
        {"smooth(t, 0.25, 1, 0.5, 2)*sin(t)", {0.25, 0.5, INFINITY}},
        {"abs(sin(pi*t))", {INFINITY, 0.0, 0.0}}, // sin(pi) is not negative yet
        {"atan2(t - 0.5, -1)", {0.5, INFINITY, 0.0}},
        {"if(t < 0.5, abs(t - 0.75), abs(t - 0.25))", {0.5, INFINITY, 0.0}}, // kinks in the branch that is not taken
        {"pulse(t, 0.25, 0.25)*abs(t - 0.75)", {0.25, 0.5, INFINITY}},       // the same, times 0
        {"sin(t) + t^3 + exp(-t)*sqrt(t)", {INFINITY, 0.0, 0.0}},
        {"3", {INFINITY, 0.0, 0.0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double t = 0.0;
        for (int k = 0; k < 3; k++) {
            const double next = next_of(cases[i].text, t, 1.0, NULL);
            const double known = cases[i].at[k];
            if (known == INFINITY) {
                if (next != INFINITY) fail_msg("%s: %.17g", cases[i].text, next);
                break;
            }
            if (!(next >= known && next <= nextafter(known, 2.0))) fail_msg("%s: %.17g", cases[i].text, next);
            t = next;
        }
    }
}

// A square wave: each switch once, at the double where the sine has the other sign, over a long time.
static void square_waves_switch_each_time(void **state)
{
    static double at[2000];
    const double  pi = 3.14159265358979323846;
    const int     n = breaks_of("step(sin(50*t))", 0.0, 100.0, 2000, at, NULL);
    (void)state;
    assert_int_equal(n, (int)(100.0 * 50.0 / pi));
    for (int k = 0; k < n; k++) {
        assert_near(at[k], (k + 1) * pi / 50.0, 1e-13);
        assert_true((sin(50.0 * at[k]) >= 0.0) != (sin(50.0 * before(at[k])) >= 0.0));
    }
}

// Where an argument is zero for a while nothing breaks.
static void constant_parts_have_no_breaks(void **state)
{
    double at[10];
    (void)state;
    assert_int_equal(breaks_of("abs(ramp(t - 0.5))", 0.0, 1.0, 10, at, NULL), 1);
    assert_true(at[0] == 0.5);
    assert_int_equal(breaks_of("step(ramp(t - 0.5))", 0.0, 1.0, 10, at, NULL), 0);
    assert_int_equal(breaks_of("sign(ramp(t - 0.5))", 0.0, 1.0, 10, at, NULL), 1);
    assert_true(at[0] == nextafter(0.5, 1.0));
    assert_int_equal(breaks_of("min(0, pulse(t, 0.25, 0.5))", 0.0, 1.0, 10, at, NULL), 0);
    assert_int_equal(breaks_of("step(t^2)*t", -1.0, 1.0, 10, at, NULL), 0); // touches zero
    assert_int_equal(breaks_of("if(t == 0.5, 1, 0)", 0.0, 1.0, 10, at, NULL), 0);
}

// Arguments that are the same number everywhere, which ranges cannot tell, end the search all the same, and do not hide
// the breaks of others.
static void equal_arguments_end_the_search(void **state)
{
    double at[40];
    (void)state;
    assert_int_equal(breaks_of("max(t, abs(t))", 1.0, 1000.0, 0, at, NULL), 0);
    assert_int_equal(breaks_of("max(t, abs(t))*step(sin(10*t))", 1.0, 11.0, 40, at, NULL), 32);
}

// Breaks closer together than the integrators can tell are one, and it is found from one double before, too.
static void close_breaks_are_one(void **state)
{
    double at[10];
    (void)state;
    assert_int_equal(breaks_of("step(t - 0.3) + step(t - 0.1*3)", 0.0, 1.0, 10, at, NULL), 1);
    assert_true(at[0] == 0.1 * 3.0);
    assert_int_equal(breaks_of("pulse(t, 0.5, 1e-15)", 0.0, 1.0, 10, at, NULL), 1);
    assert_int_equal(breaks_of("pulse(t, 0.5, 1e-9)", 0.0, 1.0, 10, at, NULL), 2);
    assert_true(next_of("step(t - 0.3)", before(0.3), 1.0, NULL) == 0.3);
    assert_true(next_of("step(t - 0.3)", 0.3, 1.0, NULL) == INFINITY);
}

// Other variables: their parts do not count, those of time alone inside do.
static void only_parts_of_time_count(void **state)
{
    double at[10];
    (void)state;
    assert_int_equal(breaks_of("abs(x)*sin(t)", 0.0, 1.0, 10, at, NULL), 0);
    assert_int_equal(breaks_of("x*step(t - 0.5) + abs(x - t)", 0.0, 1.0, 10, at, NULL), 1);
    assert_true(at[0] == 0.5);
    assert_int_equal(breaks_of("if(t < 0.5, x, -x)", 0.0, 1.0, 10, at, NULL), 1);
    assert_true(at[0] == 0.5);
    assert_int_equal(breaks_of("if(x < 0.5, step(t - 0.25), 0)", 0.0, 1.0, 10, at, NULL), 1);
}

// Rows of a linear table are breaks where its slope changes; of a smooth one only its ends are.
static void tables_break_at_their_rows(void **state)
{
    static const double x[] = {0.5, 1.0, 1.5, 2.0, 4.0}, y[] = {0.0, 1.0, 2.0, 0.0, 0.0};
    static const double bent[] = {0.0, 1.0, 3.0, 0.0, 1.0};
    symbol_set          set = {NULL};
    double              at[10];
    (void)state;
    assert_int_equal(kd_curve_create(KD_CURVE_KIND_LINEAR, KD_OUTSIDE_TANGENT, 5, x, y, &set.road, NULL, 0), KD_OK);
    assert_int_equal(breaks_of("road(t)", 0.0, 10.0, 10, at, &set), 2);
    assert_true(at[0] == 1.5 && at[1] == 2.0);
    assert_int_equal(breaks_of("road(2*t - 1)", 0.0, 10.0, 10, at, &set), 2);
    assert_true(at[0] == 1.25 && at[1] == 1.5);
    kd_curve_destroy(set.road);
    // a smooth table with flat parts: where these end
    static const double t[] = {-1.0, 0.0, 0.5, 1.0, 5.0, 5.5, 6.0, 7.0}, valve[] = {0, 0, 0, 8e-4, 8e-4, 0, 0, 0};
    assert_int_equal(kd_curve_create(KD_CURVE_KIND_MONOTONE, KD_OUTSIDE_TANGENT, 8, t, valve, &set.road, NULL, 0),
                     KD_OK);
    assert_int_equal(breaks_of("road(t)", -2.0, 10.0, 10, at, &set), 4);
    assert_true(at[0] == 0.5 && at[1] == 1.0 && at[2] == 5.0 && at[3] == 5.5);
    kd_curve_destroy(set.road);
    for (int kind = KD_CURVE_KIND_SPLINE; kind <= KD_CURVE_KIND_MONOTONE; kind++) {
        assert_int_equal(kd_curve_create((kd_curve_kind)kind, KD_OUTSIDE_TANGENT, 5, x, bent, &set.road, NULL, 0),
                         KD_OK);
        const int n = breaks_of("road(t)", 0.0, 10.0, 10, at, &set);
        assert_int_equal(n, 2);
        assert_true(at[0] == 0.5 && at[1] == 4.0);
        kd_curve_destroy(set.road);
    }
}

// Without an end the answer comes as well; nothing further is infinity.
static void time_may_have_no_end(void **state)
{
    (void)state;
    assert_true(next_of("step(t - 12345.5)", 0.0, INFINITY, NULL) == 12345.5);
    assert_true(next_of("step(t - 12345.5)", 20000.0, INFINITY, NULL) == INFINITY);
    assert_true(next_of("step5(t, 1e-9, 0, 1, 1)", 0.0, INFINITY, NULL) <= nextafter(1e-9, 1.0));
    // cannot be told to be below 0.9 for ever: some later time
    const double far = next_of("step(sin(t)*cos(t) - 0.9)", 0.0, INFINITY, NULL);
    assert_true(far > 100.0);
    assert_true(next_of("step(t - 1)", 2.0, 1.0, NULL) == INFINITY);
    assert_true(next_of("step(log(t))", -3.0, 5.0, NULL) <= 5.0); // NaN before 0
}

// Random sums of steps: every break is found, in order, none else.
static void random_steps_are_all_found(void **state)
{
    unsigned seed = 3u;
    (void)state;
    for (int k = 0; k < 50; k++) {
        char   text[2000] = "0";
        double place[12], at[20];
        int    n = 1 + (int)(random_next(&seed) % 12);
        for (int i = 0; i < n; i++) {
            place[i] = random_between(&seed, 0.0, 10.0);
            snprintf(text + strlen(text), sizeof text - strlen(text), " + %s%.17g)*%d",
                     i % 3 == 0   ? "step(t - "
                     : i % 3 == 1 ? "ramp(t - "
                                  : "abs(t - ",
                     place[i], i + 1);
        }
        for (int i = 0; i < n; i++) // sort
            for (int j = i; j > 0 && place[j] < place[j - 1]; j--) {
                const double other = place[j];
                place[j] = place[j - 1], place[j - 1] = other;
            }
        assert_int_equal(breaks_of(text, 0.0, 10.0, 20, at, NULL), n);
        for (int i = 0; i < n; i++) assert_true(at[i] == place[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jumps_are_met_to_the_last_bit),  cmocka_unit_test(kinks_are_found),
        cmocka_unit_test(square_waves_switch_each_time),  cmocka_unit_test(constant_parts_have_no_breaks),
        cmocka_unit_test(equal_arguments_end_the_search), cmocka_unit_test(close_breaks_are_one),
        cmocka_unit_test(only_parts_of_time_count),       cmocka_unit_test(tables_break_at_their_rows),
        cmocka_unit_test(time_may_have_no_end),           cmocka_unit_test(random_steps_are_all_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
