// Load cycles: the worked examples of ASTM E1049-85, another algorithm in Python, laws that every count obeys, damage in closed form.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <kardan/rainflow.h>

#include "core/memory.h"
#include "project/command.h"

#define SIGNALS KD_BINARY_DIR "/test-rainflow.txt"
#define PYTHON "/usr/bin/python3"

enum { MOST = 400 };

static uint64_t seed = 20;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}

// A history of random length; every second one of few whole numbers, so that values and ranges are often equal
static int random_history(int k, double *y)
{
    const int n = 1 + (int)(uniform() * (MOST - 1));
    for (int i = 0; i < n; i++) {
        y[i] = k % 2 ? floor(9 * uniform()) : 20 * uniform() - 10;
        if (k % 4 < 2 && i > 0) y[i] += y[i - 1]; // a walk
    }
    return n;
}

static int count_of(int n, const double *y, kd_history history, kd_cycle *cycle)
{
    int ncycles;
    assert_int_equal(kd_rainflow(n, y, 1, history, cycle, &ncycles), KD_OK);
    assert_true(ncycles < n || ncycles == 0);
    return ncycles;
}

// Sorted rows of a history
static int rows_of(int n, const double *y, kd_history history, kd_cycle *row)
{
    return kd_cycles_sort(row, count_of(n, y, history, row));
}

static double count_with_range(const kd_cycle *row, int n, double range)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += row[i].range == range ? row[i].count : 0;
    return sum;
}

// Fig. 6 of the standard: 3: 0.5, 4: 1.5, 6: 0.5, 8: 1, 9: 0.5; the one whole cycle is -1 to 3.
static void example_of_the_standard(void **state)
{
    (void)state;
    const double y[] = {-2, 1, -3, 5, -1, 3, -4, 4, -2};
    const double expected[10] = {[3] = 0.5, [4] = 1.5, [6] = 0.5, [8] = 1, [9] = 0.5};
    kd_cycle     row[9];
    const int    n = rows_of(9, y, KD_HISTORY_ONCE, row);
    for (int range = 0; range < 10; range++) assert_true(count_with_range(row, n, range) == expected[range]);
    assert_true(row[0].range == 9 && row[0].mean == 0.5);
    for (int i = 0; i < n; i++) assert_true(row[i].range != 4 || row[i].mean == (row[i].count == 1 ? 1 : -1));
}

// Fig. 7, the same history repeated: 3, 4, 7 and 9 once each, wherever it begins.
static void example_of_repeated_histories(void **state)
{
    (void)state;
    const double y[] = {-2, 1, -3, 5, -1, 3, -4, 4}; // its last point, -2 again, is the first of the next one
    const double expected[10] = {[3] = 1, [4] = 1, [7] = 1, [9] = 1};
    for (int begin = 0; begin < 8; begin++) {
        double   turned[8];
        kd_cycle row[8];
        for (int i = 0; i < 8; i++) turned[i] = y[(begin + i) % 8];
        const int n = rows_of(8, turned, KD_HISTORY_REPEATED, row);
        assert_int_equal(n, 4);
        for (int range = 0; range < 10; range++) assert_true(count_with_range(row, n, range) == expected[range]);
    }
}

static void put_histories(int count)
{
    double y[MOST];
    FILE  *file = fopen(SIGNALS, "w");
    assert_non_null(file);
    for (int k = 0; k < count; k++) {
        const int n = random_history(k, y);
        for (int i = 0; i < n; i++) fprintf(file, "%.17g%c", y[i], i + 1 < n ? ' ' : '\n');
    }
    assert_int_equal(fclose(file), 0);
}

// The next history of Python against the library: the same rows, to rounding of means
static void compare_next(FILE *python, int n, const double *y, kd_history history)
{
    kd_cycle  row[MOST];
    char      line[200];
    const int rows = rows_of(n, y, history, row);
    for (int i = 0; i < rows; i++) {
        double range, mean, count;
        assert_non_null(fgets(line, sizeof line, python));
        assert_int_equal(sscanf(line, "%lf %lf %lf", &range, &mean, &count), 3);
        assert_true(range == row[i].range && mean == row[i].mean && count == row[i].count);
    }
    assert_non_null(fgets(line, sizeof line, python));
    assert_string_equal(line, "\n");
}

// Random histories, with many equal values too, by the four-point rule: the same rows.
static void another_algorithm(void **state)
{
    (void)state;
    enum { HISTORIES = 60 };
    if (access(PYTHON, X_OK) != 0) skip();
    for (int repeated = 0; repeated < 2; repeated++) {
        const uint64_t begin = seed;
        put_histories(HISTORIES);
        char command[2000];
        snprintf(command, sizeof command, PYTHON " '%s/tests/results/rainflow.py' '" SIGNALS "' %s", KD_SOURCE_DIR,
                 repeated ? "repeated" : "once");
        FILE *python = popen(command, "r");
        assert_non_null(python);
        seed = begin;
        for (int k = 0; k < HISTORIES; k++) {
            double    y[MOST];
            const int n = random_history(k, y);
            compare_next(python, n, y, repeated ? KD_HISTORY_REPEATED : KD_HISTORY_ONCE);
        }
        assert_int_equal(pclose(python), 0);
    }
}

// Every half cycle is passed once: twice the sum of counts times ranges is the way that the signal goes; the largest range is from
// the lowest to the highest value.
static void the_way_is_kept(void **state)
{
    (void)state;
    for (int k = 0; k < 200; k++) {
        double    y[MOST], way = 0, low = INFINITY, high = -INFINITY;
        const int n = random_history(k, y);
        for (int i = 0; i < n; i++) {
            if (i > 0) way += fabs(y[i] - y[i - 1]);
            low = fmin(low, y[i]);
            high = fmax(high, y[i]);
        }
        for (int repeated = 0; repeated < 2; repeated++) {
            kd_cycle  cycle[MOST];
            double    sum = 0, largest = 0;
            const int ncycles = count_of(n, y, repeated ? KD_HISTORY_REPEATED : KD_HISTORY_ONCE, cycle);
            for (int i = 0; i < ncycles; i++) {
                assert_true(cycle[i].range > 0 && (cycle[i].count == 1 || (cycle[i].count == 0.5 && !repeated)));
                sum += 2 * cycle[i].count * cycle[i].range;
                largest = fmax(largest, cycle[i].range);
            }
            assert_true(fabs(sum - way - (repeated ? fabs(y[n - 1] - y[0]) : 0)) < 1e-12 * (1 + way) * MOST);
            assert_true(largest == high - low);
        }
    }
}

// Values between the reversals change nothing, a mirrored signal has mirrored means, a larger one larger ranges (powers of two: exactly).
static void invariances(void **state)
{
    (void)state;
    for (int k = 0; k < 100; k++) {
        double    y[MOST], finer[4 * MOST], mirrored[MOST];
        kd_cycle  a[MOST], b[4 * MOST], c[MOST];
        const int n = random_history(k, y);
        int       m = 0;
        for (int i = 0; i < n; i++) {
            finer[m++] = y[i];
            if (i + 1 < n && uniform() < 0.7) finer[m++] = 0.5 * y[i] + 0.5 * y[i + 1];
            if (uniform() < 0.3) finer[m++] = i + 1 < n ? y[i + 1] : y[i];
            mirrored[i] = -4 * y[i];
        }
        const int rows = count_of(n, y, KD_HISTORY_ONCE, a);
        assert_int_equal(count_of(m, finer, KD_HISTORY_ONCE, b), rows);
        assert_int_equal(count_of(n, mirrored, KD_HISTORY_ONCE, c), rows);
        for (int i = 0; i < rows; i++) {
            assert_memory_equal(&a[i], &b[i], sizeof a[i]);
            assert_true(c[i].range == 4 * a[i].range && c[i].mean == -4 * a[i].mean && c[i].count == a[i].count);
        }
    }
}

// Classes keep the number of cycles and their mean; every cycle is in the class whose ends enclose its range.
static void classes(void **state)
{
    (void)state;
    for (int k = 0; k < 100; k++) {
        double    y[MOST];
        kd_cycle  cycle[MOST], row[20];
        const int n = random_history(k, y), ncycles = count_of(n, y, KD_HISTORY_ONCE, cycle),
                  nclasses = 1 + (int)(20 * uniform());
        kd_cycles_classify(cycle, ncycles, nclasses, row);
        for (int i = 0; i < nclasses; i++) {
            double       sum = 0, mean = 0;
            const double lower = i + 1 < nclasses ? row[i + 1].range : 0;
            for (int j = 0; j < ncycles; j++) {
                if (cycle[j].range > row[i].range || cycle[j].range <= lower) continue;
                sum += cycle[j].count;
                mean += cycle[j].count * cycle[j].mean;
            }
            assert_true(sum == row[i].count);
            assert_true(fabs(mean - sum * row[i].mean) < 1e-12 * (1 + fabs(mean)) * MOST);
        }
        assert_true(ncycles == 0 || row[0].count > 0);
    }
}

// A whole number of equal swings does 1/N(S) each; the line is continuous at its knee, steeper above 2 k - 1 below it, and a line that
// ends there has no damage below.
static void damage_of_equal_swings(void **state)
{
    (void)state;
    for (int k = 0; k < 50; k++) {
        double           y[2 * 40];
        kd_cycle         cycle[2 * 40];
        const int        swings = 1 + (int)(39 * uniform());
        const double     slope = 1 + 9 * uniform(), range = 10 + 80 * uniform(), N0 = 1e6 * (1 + uniform());
        const kd_woehler whole = {slope, N0, 50, slope}, bent = {slope, N0, 50, 2 * slope - 1},
                         ends = {slope, N0, 50, INFINITY};
        for (int i = 0; i < 2 * swings; i++) y[i] = i % 2 ? 3 + range : 3;
        const int    n = count_of(2 * swings, y, KD_HISTORY_REPEATED, cycle);
        const double expected = swings * pow(range / 50, slope) / N0,
                     below = range < 50 ? pow(range / 50, slope - 1) : 1;
        assert_true(fabs(kd_miner_sum(&whole, cycle, n) / expected - 1) < 1e-12);
        assert_true(fabs(kd_miner_sum(&bent, cycle, n) / (expected * below) - 1) < 1e-12);
        assert_true(range < 50 ? kd_miner_sum(&ends, cycle, n) == 0
                               : fabs(kd_miner_sum(&ends, cycle, n) / expected - 1) < 1e-12);
        assert_true(kd_woehler_life(&whole, 50) == N0 && kd_woehler_life(&bent, 50) == N0 &&
                    kd_woehler_life(&ends, 50) == N0);
        assert_true(kd_woehler_is_valid(&bent) && kd_woehler_is_valid(&ends));
    }
    for (int i = 0; i < 4; i++) {
        double       number[4] = {5, 1e6, 50, 9};
        const double bad[] = {0, -1, NAN};
        for (int j = 0; j < 3; j++) {
            number[i] = bad[j];
            const kd_woehler line = {number[0], number[1], number[2], number[3]};
            assert_false(kd_woehler_is_valid(&line));
        }
    }
}

// Columns of a table are read with their stride and stay as they are; nothing, one value and equal values have no cycles; what is wrong
// is refused.
static void arguments(void **state)
{
    (void)state;
    double   table[3 * 9], copy[3 * 9];
    kd_cycle cycle[9];
    int      n = 7;
    for (int i = 0; i < 9; i++) {
        table[3 * i] = i;
        table[3 * i + 1] = (const double[]){-2, 1, -3, 5, -1, 3, -4, 4, -2}[i];
        table[3 * i + 2] = 6;
    }
    memcpy(copy, table, sizeof table);
    assert_int_equal(kd_rainflow(9, table + 1, 3, KD_HISTORY_ONCE, cycle, &n), KD_OK);
    assert_int_equal(n, 7);
    assert_memory_equal(copy, table, sizeof table);
    for (int repeated = 0; repeated < 2; repeated++) {
        const kd_history history = repeated ? KD_HISTORY_REPEATED : KD_HISTORY_ONCE;
        assert_int_equal(kd_rainflow(9, table + 2, 3, history, cycle, &n), KD_OK);
        assert_int_equal(n, 0);
        assert_int_equal(kd_rainflow(1, table, 1, history, cycle, &n), KD_OK);
        assert_int_equal(n, 0);
        assert_int_equal(kd_rainflow(0, NULL, 1, history, NULL, &n), KD_OK);
        assert_int_equal(n, 0);
    }
    assert_int_equal(kd_rainflow(-1, table, 1, KD_HISTORY_ONCE, cycle, &n), KD_ERR_ARGUMENT);
    assert_int_equal(kd_rainflow(9, table, 0, KD_HISTORY_ONCE, cycle, &n), KD_ERR_ARGUMENT);
    assert_int_equal(kd_rainflow(9, NULL, 1, KD_HISTORY_ONCE, cycle, &n), KD_ERR_ARGUMENT);
    assert_int_equal(kd_rainflow(9, table, 1, KD_HISTORY_ONCE, cycle, NULL), KD_ERR_ARGUMENT);
    table[4] = NAN;
    assert_int_equal(kd_rainflow(9, table, 1, KD_HISTORY_ONCE, cycle, &n), KD_ERR_NOT_FINITE);
    const double far[] = {-1.7e308, 1.7e308};
    assert_int_equal(kd_rainflow(2, far, 1, KD_HISTORY_ONCE, cycle, &n), KD_ERR_NOT_FINITE);
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example_of_the_standard),
        cmocka_unit_test(example_of_repeated_histories),
        cmocka_unit_test(another_algorithm),
        cmocka_unit_test(the_way_is_kept),
        cmocka_unit_test(invariances),
        cmocka_unit_test(classes),
        cmocka_unit_test(damage_of_equal_swings),
        cmocka_unit_test(arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
