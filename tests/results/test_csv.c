// The table writer: what is written reads back exactly; a failing disk is reported.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/memory.h"
#include "results/csv.h"

#define PATH KD_BINARY_DIR "/test.csv"

static const char *const NAMES[3] = {"t", "joint 'a', angle", "the \"b\""};

// Every double, however small, large or odd, reads back to the same bits.
static void numbers_read_back_exactly(void **state)
{
    (void)state;
    const double rows[2][3] = {{0.1, -1.0 / 3.0, 5e-324}, {1.7976931348623157e308, -0.0, 3.0000000000000004}};
    kd_csv      *csv;
    assert_int_equal(kd_csv_create(PATH, 3, &csv, NULL, 0), KD_OK);
    kd_csv_header(csv, NAMES);
    for (int i = 0; i < 2; i++) assert_int_equal(kd_csv_row(csv, rows[i]), KD_OK);
    assert_int_equal(kd_csv_close(csv, NULL, 0), KD_OK);

    char  line[300];
    FILE *file = fopen(PATH, "r");
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(line, "t,\"joint 'a', angle\",\"the \"\"b\"\"\"\n");
    for (int i = 0; i < 2; i++) {
        assert_non_null(fgets(line, sizeof line, file));
        char *rest = line;
        for (int j = 0; j < 3; j++) {
            double value = strtod(rest, &rest);
            assert_memory_equal(&value, &rows[i][j], sizeof value);
            assert_int_equal(*rest++, j < 2 ? ',' : '\n');
        }
    }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
}

// Comments stand in front, one line each whatever they hold; words without value are empty.
static void comments_stand_in_front(void **state)
{
    (void)state;
    kd_csv *csv;
    assert_int_equal(kd_csv_create(PATH, 3, &csv, NULL, 0), KD_OK);
    kd_csv_comment(csv, "title", "two\nlines");
    kd_csv_comment_row(csv, "units", (const char *const[]){"s", NULL, "a,b"});
    kd_csv_header(csv, NAMES);
    assert_int_equal(kd_csv_close(csv, NULL, 0), KD_OK);
    FILE *file = fopen(PATH, "r");
    char  text[300];
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, "# title: two lines\n# units: s,,\"a,b\"\nt,\"joint 'a', angle\",\"the \"\"b\"\"\"\n");
}

// A table that is given up leaves no file, and the one that was there before stays.
static void abandoned_table_leaves_nothing(void **state)
{
    (void)state;
    kd_csv *csv;
    (void)remove(PATH);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(kd_csv_create(PATH, 3, &csv, NULL, 0), KD_OK);
        kd_csv_header(csv, NAMES);
        kd_csv_abandon(csv);
        FILE *file = fopen(PATH, "r");
        assert_int_equal(file != NULL, k == 1);
        if (file) fclose(file);
        file = fopen(PATH, "w"); // for the second time
        fputs("before", file);
        fclose(file);
    }
    char  text[20] = "";
    FILE *file = fopen(PATH, "r");
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "before");
    kd_csv_abandon(NULL);
}

// NaN and infinity are refused and leave no trace in the file.
static void no_nan_in_a_file(void **state)
{
    (void)state;
    kd_csv *csv;
    assert_int_equal(kd_csv_create(PATH, 3, &csv, NULL, 0), KD_OK);
    kd_csv_header(csv, NAMES);
    assert_int_equal(kd_csv_row(csv, (double[]){1, NAN, 2}), KD_ERR_NOT_FINITE);
    assert_int_equal(kd_csv_row(csv, (double[]){1, 2, -INFINITY}), KD_ERR_NOT_FINITE);
    assert_int_equal(kd_csv_close(csv, NULL, 0), KD_OK);
    FILE *file = fopen(PATH, "r");
    char  text[300];
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(strchr(text, '\n'), "\n"); // the header line only
}

// A full disk and a missing folder give KD_ERR_FILE and the path in words.
static void failing_disk_is_reported(void **state)
{
    (void)state;
    char    message[300] = "";
    kd_csv *csv;
    assert_int_equal(kd_csv_create("/dev/full", 3, &csv, message, sizeof message), KD_OK);
    kd_status status = KD_OK;
    for (int i = 0; i < 1000 && status == KD_OK; i++) status = kd_csv_row(csv, (double[]){1, 2, 3});
    assert_int_equal(status, KD_ERR_FILE);
    assert_int_equal(kd_csv_close(csv, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "cannot write '/dev/full'"));

    // so little text that only the end notices
    assert_int_equal(kd_csv_create("/dev/full", 3, &csv, message, sizeof message), KD_OK);
    kd_csv_header(csv, NAMES);
    assert_int_equal(kd_csv_close(csv, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "No space left"));

    assert_int_equal(kd_csv_create("/no/such/folder/a.csv", 3, &csv, message, sizeof message), KD_ERR_FILE);
    assert_null(csv);
    assert_non_null(strstr(message, "/no/such/folder/a.csv"));
}

// Allocation that fails at the n-th call; counts what is not given back
typedef struct failing {
    int calls, fail_at, open;
} failing;

static void *allocate(size_t size, void *context)
{
    failing *f = context;
    if (f->calls++ == f->fail_at) return NULL;
    f->open++;
    return malloc(size);
}

static void release(void *memory, void *context)
{
    ((failing *)context)->open--;
    free(memory);
}

// Each failing allocation ends in KD_ERR_MEMORY without a leak.
static void failing_memory_is_reported(void **state)
{
    (void)state;
    for (int n = 0;; n++) {
        failing      f = {.fail_at = n};
        kd_allocator allocator = {.allocate = allocate, .release = release, .context = &f};
        char         message[300] = "";
        kd_csv      *csv;
        kd_set_allocator(&allocator);
        kd_status status = kd_csv_create(PATH, 3, &csv, message, sizeof message);
        if (status == KD_OK) assert_int_equal(kd_csv_close(csv, NULL, 0), KD_OK);
        kd_set_allocator(NULL);
        assert_int_equal(f.open, 0);
        if (status == KD_OK) {
            assert_true(n > 0);
            break;
        }
        assert_int_equal(status, KD_ERR_MEMORY);
        assert_non_null(strstr(message, "out of memory"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_back_exactly),      cmocka_unit_test(comments_stand_in_front),
        cmocka_unit_test(abandoned_table_leaves_nothing), cmocka_unit_test(no_nan_in_a_file),
        cmocka_unit_test(failing_disk_is_reported),       cmocka_unit_test(failing_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
