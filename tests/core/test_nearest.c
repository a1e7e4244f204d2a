// The word that was probably meant.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/nearest.h"

// Each mistake counts once: a letter too many, too few, another one, two exchanged.
static void distances(void **state)
{
    (void)state;
    assert_int_equal(kd_word_distance("", ""), 0);
    assert_int_equal(kd_word_distance("mass", "mass"), 0);
    assert_int_equal(kd_word_distance("mas", "mass"), 1);
    assert_int_equal(kd_word_distance("masss", "mass"), 1);
    assert_int_equal(kd_word_distance("miss", "mass"), 1);
    assert_int_equal(kd_word_distance("msas", "mass"), 1);
    assert_int_equal(kd_word_distance("kitten", "sitting"), 3);
    assert_int_equal(kd_word_distance("abc", ""), 3);
    assert_int_equal(kd_word_distance("abcd", "dcba"), kd_word_distance("dcba", "abcd"));
}

// The nearest word wins, far ones are not offered, the beginning of a word is near.
static void nearest_words(void **state)
{
    (void)state;
    static const char *const list[] = {"revolute", "prismatic", "screw", "planar", "q"};
    assert_string_equal(kd_nearest_word("revolut", list, 5), "revolute");
    assert_string_equal(kd_nearest_word("rev", list, 5), "revolute");
    assert_string_equal(kd_nearest_word("screew", list, 5), "screw");
    assert_string_equal(kd_nearest_word("Q", list, 5), "q"); // the wrong case is always near
    assert_string_equal(kd_nearest_word("SCREW", list, 5), "screw");
    assert_null(kd_nearest_word("hexapod", list, 5));
    assert_null(kd_nearest_word("x", list, 5)); // every single letter would be one mistake
    assert_null(kd_nearest_word("", list, 5));
    char endless[1000];
    memset(endless, 'q', sizeof endless);
    endless[999] = '\0';
    assert_null(kd_nearest_word(endless, list, 5));
    assert_null(kd_nearest_word("q", (const char *const[]){endless}, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(distances), cmocka_unit_test(nearest_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
