// Tests of the collection of places: sorted columns without repetitions, search, lost memory.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "math/pattern.h"

#include <stdlib.h>

// Places in any order, some twice, come out by columns with rising rows, each once.
static void places_are_sorted(void **state)
{
    (void)state;
    enum { ROWS = 7, COLUMNS = 5, COUNT = 400 };
    bool      there[ROWS][COLUMNS] = {{0}};
    kd_places places = {.rows = ROWS, .columns = COLUMNS};
    unsigned  seed = 1;
    int       distinct = 0;
    for (int k = 0; k < COUNT; k++) {
        seed = seed * 1664525u + 1013904223u;
        int row = (int)(seed >> 16) % ROWS, column = (int)(seed >> 8) % COLUMNS;
        if (column == 2 || (row + column) % 3 == 0) continue; // an empty column
        distinct += !there[row][column];
        there[row][column] = true;
        kd_places_add(&places, row, column);
    }
    kd_arena   arena = {0};
    kd_columns sorted;
    assert_int_equal(kd_places_sort(&places, &sorted, &arena), KD_OK);
    assert_int_equal(kd_columns_count(&sorted), distinct);
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < ROWS; i++) {
            int e = kd_columns_find(&sorted, i, j);
            assert_int_equal(e >= 0, there[i][j]);
            if (e >= 0) assert_int_equal(sorted.row[e], i);
            if (e > sorted.column[j]) assert_true(sorted.row[e - 1] < i);
        }
    kd_places_release(&places);
    kd_arena_release(&arena);
}

// No place at all is a pattern, too.
static void nothing_is_a_pattern(void **state)
{
    (void)state;
    kd_arena   arena = {0};
    kd_places  places = {.rows = 3, .columns = 2};
    kd_columns sorted;
    assert_int_equal(kd_places_sort(&places, &sorted, &arena), KD_OK);
    assert_int_equal(kd_columns_count(&sorted), 0);
    assert_int_equal(kd_columns_find(&sorted, 1, 1), -1);
    kd_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_sorted),
        cmocka_unit_test(nothing_is_a_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
