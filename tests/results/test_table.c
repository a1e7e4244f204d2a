// The table reader: what csv.c writes reads back to the last bit; broken files are refused with their line.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "results/csv.h"
#include "results/table.h"

#define PATH KD_BINARY_DIR "/test-table.csv"

static void put(const char *text)
{
    FILE *file = fopen(PATH, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

// Title, names with commas and quotes, units and odd numbers come back as they were written.
static void reads_what_was_written(void **state)
{
    (void)state;
    static const char *const names[3] = {"t", "joint 'a', angle", "the \"b\""};
    const double             rows[2][3] = {{0.1, -1.0 / 3.0, 5e-324}, {1.7976931348623157e308, -0.0, 3.0}};
    kd_csv                  *csv;
    kd_table                 table;
    assert_int_equal(kd_csv_create(PATH, 3, &csv, NULL, 0), KD_OK);
    kd_csv_comment(csv, "title", "A swing");
    kd_csv_comment_row(csv, "units", (const char *const[]){"s", NULL, "a,b"});
    kd_csv_header(csv, names);
    for (int i = 0; i < 2; i++) assert_int_equal(kd_csv_row(csv, rows[i]), KD_OK);
    assert_int_equal(kd_csv_close(csv, NULL, 0), KD_OK);
    assert_int_equal(kd_table_read(PATH, &table, NULL, 0), KD_OK);
    assert_string_equal(table.title, "A swing");
    assert_int_equal(table.ncolumns, 3);
    assert_int_equal(table.nrows, 2);
    for (int i = 0; i < 3; i++) assert_int_equal(kd_table_column(&table, names[i]), i);
    assert_int_equal(kd_table_column(&table, "x"), -1);
    assert_string_equal(table.unit[0], "s");
    assert_string_equal(table.unit[1], "");
    assert_string_equal(table.unit[2], "a,b");
    assert_memory_equal(table.value, rows, sizeof rows);
    kd_table_release(&table);
}

// Lines of other systems, and a last line without its end.
static void other_line_ends(void **state)
{
    (void)state;
    kd_table table;
    put("t,x\r\n0,1\r\n2,3");
    assert_int_equal(kd_table_read(PATH, &table, NULL, 0), KD_OK);
    assert_int_equal(table.nrows, 2);
    assert_string_equal(table.name[1], "x");
    assert_true(table.value[3] == 3);
    kd_table_release(&table);
}

// Each kind of damage is told with its line.
static void damage_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } list[] = {
        {"", "no header line"},
        {"# only: comments\n", ":1: there is no header line"},
        {"t,x\n", "no rows"},
        {"t,,y\n0,1,2\n", "has no name"},
        {"t,x\n0,1\n1\n", ":3: there are fewer"},
        {"t,x\n0,1,2\n", ":2: there are more"},
        {"t,x\n0,1\n1,abc\n", ":3: column 'x': 'abc' is no number"},
        {"t,x\n0,\n", "'' is no number"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        kd_table table;
        char     message[300] = "";
        put(list[i].text);
        kd_status status = kd_table_read(PATH, &table, message, sizeof message);
        if (status != KD_ERR_FILE || !strstr(message, list[i].part)) fail_msg("'%s': '%s'", list[i].text, message);
        assert_null(table.value);
    }
    char     message[300];
    kd_table table;
    assert_int_equal(kd_table_read(KD_BINARY_DIR "/no-such-table.csv", &table, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "no-such-table"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_was_written),
        cmocka_unit_test(other_line_ends),
        cmocka_unit_test(damage_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
