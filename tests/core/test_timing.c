// Times in classes: quantiles against the sorted list, histograms that lose nothing.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/timing.h"

enum { MANY = 5000 };

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Random times over many powers of ten, the same at each run
static double random_time(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return pow(10, -8 + 7 * (double)(*seed >> 8) / 16777216.0);
}

// Quantiles are those of the sorted list to 2 %, and the ends are exact.
static void quantiles_are_those_of_the_list(void **state)
{
    (void)state;
    static kd_timing timing;
    static double    list[MANY];
    unsigned         seed = 7;
    double           sum = 0;
    for (int i = 0; i < MANY; i++) {
        list[i] = random_time(&seed);
        sum += list[i];
        kd_timing_add(&timing, list[i], i);
    }
    double most = 0, at = 0;
    for (int i = 0; i < MANY; i++)
        if (list[i] > most) most = list[i], at = i;
    qsort(list, MANY, sizeof *list, by_size);
    assert_int_equal(timing.count, MANY);
    assert_true(timing.least == list[0] && timing.most == list[MANY - 1] && timing.most_at == at);
    assert_true(fabs(timing.sum - sum) <= 1e-12 * sum);
    const double parts[] = {0.001, 0.1, 0.5, 0.9, 0.999};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        double exact = list[(int)ceil(parts[k] * MANY) - 1], found = kd_timing_quantile(&timing, parts[k]);
        assert_true(found >= exact && found <= 1.02 * exact);
    }
    assert_true(kd_timing_quantile(&timing, 1) == list[MANY - 1]);
    assert_true(kd_timing_quantile(&timing, 0) >= list[0] && kd_timing_quantile(&timing, 0) <= 1.02 * list[0]);
}

// A histogram of any number of classes counts each time once, in a class that holds it, and leaves no gap.
static void histograms_lose_nothing(void **state)
{
    (void)state;
    for (int size = 1; size <= 40; size++) {
        kd_timing     timing = {0};
        kd_timing_bar bar[40];
        unsigned      seed = (unsigned)size;
        for (int i = 0; i < 300; i++) kd_timing_add(&timing, random_time(&seed), 0);
        int  n = kd_timing_histogram(&timing, bar, size);
        long count = 0;
        assert_true(n >= 1 && n <= size);
        assert_true(bar[0].low <= timing.least && bar[n - 1].high >= timing.most);
        for (int i = 0; i < n; i++) {
            count += bar[i].count;
            assert_true(bar[i].low < bar[i].high);
            assert_true(i == 0 || bar[i].low == bar[i - 1].high);
        }
        assert_int_equal(count, 300);
    }
}

// One time alone, none at all, 0, and times beyond the classes.
static void strange_times_are_counted(void **state)
{
    (void)state;
    kd_timing     timing = {0};
    kd_timing_bar bar[4];
    assert_int_equal(kd_timing_histogram(&timing, bar, 4), 0);
    assert_true(kd_timing_quantile(&timing, 0.5) == 0);
    kd_timing_add(&timing, 3e-6, 1);
    assert_int_equal(kd_timing_histogram(&timing, bar, 4), 1);
    assert_true(kd_timing_quantile(&timing, 0.5) == 3e-6);
    kd_timing_add(&timing, 0, 2);
    kd_timing_add(&timing, 1e6, 3);
    assert_int_equal(timing.count, 3);
    assert_true(timing.least == 0 && timing.most == 1e6 && timing.most_at == 3);
    int n = kd_timing_histogram(&timing, bar, 4);
    assert_true(n >= 1 && n <= 4);
    assert_true(kd_timing_quantile(&timing, 1) == 1e6);
}

// Times have three digits and a unit that fits.
static void words_have_units(void **state)
{
    (void)state;
    static const struct {
        double      seconds;
        const char *words;
    } list[] = {{1.5, "1.50 s"},      {2e-3, "2.00 ms"},      {123e-6, "123 us"}, {12.34e-6, "12.3 us"},
                {0.5e-6, "0.50 us"},  {0.9996e-3, "1.00 ms"}, {999e-6, "999 us"}, {0, "0.00 us"},
                {1.234e-4, "123 us"}, {61, "61.0 s"}};
    char buffer[40];
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        assert_string_equal(kd_timing_words(list[i].seconds, buffer, sizeof buffer), list[i].words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_the_list),
        cmocka_unit_test(histograms_lose_nothing),
        cmocka_unit_test(strange_times_are_counted),
        cmocka_unit_test(words_have_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
