// tests/core/test_text.c: bounded text buffers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "core/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

// Text that fits is written whole, a second call overwrites, append goes behind.
static void test_write(void **state)
{
    (void)state;
    char buffer[32];
    kd_text(buffer, sizeof buffer, "t = %g", 1.5);
    assert_string_equal(buffer, "t = 1.5");
    kd_text(buffer, sizeof buffer, "%s", "new");
    kd_text_append(buffer, sizeof buffer, " %d", 42);
    assert_string_equal(buffer, "new 42");
}

// What does not fit is cut off: the buffer ends with a zero and nothing is written behind it, for every size.
static void test_cut(void **state)
{
    (void)state;
    for (size_t size = 1; size < 12; size++) {
        char buffer[16];
        memset(buffer, '#', sizeof buffer);
        kd_text(buffer, size, "%s", "0123");
        kd_text_append(buffer, size, "%s", "456789");
        assert_int_equal(strlen(buffer), size <= 10 ? size - 1 : 10);
        assert_memory_equal(buffer, "0123456789", strlen(buffer));
        for (size_t i = size; i < sizeof buffer; i++) assert_int_equal(buffer[i], '#');
    }
}

// No buffer, an empty one and one without end mark are left alone.
static void test_no_buffer(void **state)
{
    (void)state;
    char buffer[4] = {'a', 'b', 'c', 'd'};
    kd_text(NULL, 10, "x");
    kd_text_append(NULL, 10, "x");
    kd_text(buffer, 0, "x");
    kd_text_append(buffer, 0, "x");
    kd_text_append(buffer, sizeof buffer, "x");
    assert_memory_equal(buffer, "abcd", 4);
}

// FNV-1a has known values; ends are ends, and a text ends with itself.
static void hash_and_ends(void **state)
{
    (void)state;
    assert_int_equal(kd_text_hash(""), 2166136261u);
    assert_int_equal(kd_text_hash("a"), 0xe40c292cu);
    assert_int_equal(kd_text_hash("foobar"), 0xbf9cf968u);
    assert_true(kd_text_ends_with("part.stl", ".stl") && kd_text_ends_with(".stl", ".stl") &&
                kd_text_ends_with("x", ""));
    assert_false(kd_text_ends_with("part.stl", ".obj") || kd_text_ends_with("stl", ".stl"));
}

// Every format says what printf says, in buffers of every size: those that are written without it, and all others.
#define SAME(...)                                                                                                      \
    for (size_t size = 1; size < 40; size++) {                                                                         \
        char expected[64], found[64], behind[64];                                                                      \
        memset(found, '#', sizeof found);                                                                              \
        (void)!snprintf(expected, size, __VA_ARGS__);                                                                  \
        kd_text(found, size, __VA_ARGS__);                                                                             \
        assert_string_equal(found, expected);                                                                          \
        assert_true(found[size] == '#');                                                                               \
        strcpy(behind, "ab");                                                                                          \
        kd_text_append(behind, size + 2, __VA_ARGS__);                                                                 \
        assert_string_equal(behind + 2, expected);                                                                     \
    }

static void formats_are_those_of_printf(void **state)
{
    (void)state;
    SAME("%s", "text");
    SAME("%s '%s%s%.100s': ", "body", "", ".", "link(3)");
    SAME("%.3s|%.0s|%.20s", "abcdef", "x", "short");
    SAME("%.*s%c%.*s", 4, "abcdef", ')', 0, "abc");
    SAME("%.*s", -1, "whole");
    SAME("%d %d %d %d", 0, -7, INT_MAX, INT_MIN);
    SAME("100 %% of %s", "all");
    SAME("%5s|%-5s|%05d|%+d", "a", "b", 42, 42);
    SAME("%s = %.9g, %ld, %zu", "x", 0.1, 123456789L, (size_t)9);
    SAME("%.2f%s", 1.25, "m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_and_ends),  cmocka_unit_test(formats_are_those_of_printf),
        cmocka_unit_test(test_write),     cmocka_unit_test(test_cut),
        cmocka_unit_test(test_no_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
