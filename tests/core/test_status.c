// tests/core/test_status.c: the list of status values, and the version.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include <kardan/base.h>
#include <stdio.h>
#include <string.h>

typedef struct entry {
    const char *name;
    int         value;
} entry;

#define ENTRY(name, value, sentence) {#name, value},
static const entry entries[] = {KD_STATUS_LIST(ENTRY)};
#define ENTRIES ((int)(sizeof entries / sizeof *entries))

// Names and values are unique, and a name is that of the enumerator.
static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < ENTRIES; i++) {
        assert_string_equal(kd_status_name((kd_status)entries[i].value), entries[i].name);
        for (int j = 0; j < i; j++) {
            assert_int_not_equal(entries[i].value, entries[j].value);
            assert_string_not_equal(entries[i].name, entries[j].name);
        }
    }
}

// The sign follows the name: failures are called KD_ERR_ and are negative, all else is not.
static void test_signs(void **state)
{
    (void)state;
    assert_int_equal(KD_OK, 0);
    for (int i = 0; i < ENTRIES; i++)
        assert_true((strncmp(entries[i].name, "KD_ERR_", 7) == 0) == (entries[i].value < 0));
}

// Every status has a sentence of its own that fits into a message line.
static void test_sentences(void **state)
{
    (void)state;
    for (int i = 0; i < ENTRIES; i++) {
        const char *sentence = kd_status_sentence((kd_status)entries[i].value);
        assert_true(strlen(sentence) >= 7 && strlen(sentence) < 120);
        for (int j = 0; j < i; j++) assert_string_not_equal(sentence, kd_status_sentence((kd_status)entries[j].value));
    }
}

// A number that is no status is named as such.
static void test_unknown(void **state)
{
    (void)state;
    assert_string_equal(kd_status_name((kd_status)12345), "unknown status");
    assert_string_equal(kd_status_sentence((kd_status)-12345), "unknown status");
}

// The version is the one that the build file declares.
static void test_version(void **state)
{
    (void)state;
    FILE *file = fopen(KD_SOURCE_DIR "/CMakeLists.txt", "r");
    assert_non_null(file);
    char expected[64], line[256];
    bool found = false;
    snprintf(expected, sizeof expected, "project(kardan VERSION %s ", kd_version());
    while (fgets(line, sizeof line, file)) found = found || strncmp(line, expected, strlen(expected)) == 0;
    fclose(file);
    assert_true(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),   cmocka_unit_test(test_signs),   cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_unknown), cmocka_unit_test(test_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
