// Pictures of sparse matrices: every entry is drawn once at its place, groups share a colour, instants are lines.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/failing_allocator.h"
#include "project/command.h"
#include "report/spy.h"
#include "results/markup.h"

#define PATH KD_BINARY_DIR "/test-spy.svg"

// the matrix (19) of S0 and its groups
static const int column[] = {0, 4, 7, 10, 12, 14, 15};
static const int row[] = {0, 1, 2, 5, 1, 4, 5, 1, 2, 4, 0, 3, 3, 4, 2};
static const int group[] = {0, 1, 2, 1, 0, 1};

static const kd_spy_block rows[] = {{"p' <1>", 2}, {"nothing", 0}, {"v'", 4}}, columns[] = {{"p", 3}, {"v & w", 3}};

static kd_spy example(void)
{
    return (kd_spy){.title = "example <19>",
                    .pattern = {6, 6, column, row},
                    .row_blocks = rows,
                    .nrow_blocks = 3,
                    .column_blocks = columns,
                    .ncolumn_blocks = 2,
                    .group = group};
}

static char *draw(kd_spy spy, kd_spy_kind kind)
{
    char message[300] = "";
    assert_int_equal(kd_spy_save(&spy, kind, PATH, message, sizeof message), KD_OK);
    char *text = read_text(PATH);
    assert_non_null(text);
    must_be_a_picture(text);
    return text;
}

// The area of all rectangles, in cells: as many as there are entries, wherever they run together
static double area(const char *text, double cell)
{
    double sum = 0;
    for (const char *c = strstr(text, "<path fill="); c; c = strstr(c + 1, "<path fill=")) {
        const char *end = strstr(c, "/>");
        for (const char *m = strchr(c, 'M'); m && m < end; m = strchr(m + 1, 'M')) {
            double x, y, width, height;
            assert_int_equal(sscanf(m, "M%lf %lfh%lfv%lf", &x, &y, &width, &height), 4);
            sum += (width + 0.5) * (height + 0.5);
        }
    }
    return sum / (cell * cell);
}

// All entries, each once; blocks with names, those without rows passed over.
static void pattern(void **state)
{
    (void)state;
    char *text = draw(example(), KD_SPY_PATTERN);
    assert_true(fabs(area(text, 16) - 15) < 1e-6);
    assert_int_equal(count_words(text, "<path fill="), 6);
    assert_non_null(strstr(text, "6 x 6, 15 entries (41.7 %)"));
    assert_non_null(strstr(text, "&lt;1&gt;"));
    assert_null(strstr(text, "nothing"));
    free(text);
}

// Columns of a group have its colour, others have other colours; columns in no group are grey.
static void groups(void **state)
{
    (void)state;
    int    left_out[6];
    kd_spy spy = example();
    char  *text = draw(spy, KD_SPY_GROUPS);
    assert_int_equal(count_words(text, "fill=\"hsl(0,"), 2);
    assert_int_equal(count_words(text, "fill=\"hsl(137,"), 3);
    assert_int_equal(count_words(text, "fill=\"hsl(275,"), 1);
    assert_non_null(strstr(text, "3 groups"));
    free(text);
    memcpy(left_out, group, sizeof group);
    left_out[5] = -1;
    spy.group = left_out;
    text = draw(spy, KD_SPY_GROUPS);
    assert_int_equal(count_words(text, "<path fill=\"#b5bcc5\""), 1);
    free(text);
    text = draw(spy, KD_SPY_COMPRESSED); // and not drawn there
    assert_true(fabs(area(text, 16) - 14) < 1e-6);
    free(text);
}

// Pushed together: no two entries of a row and group on one place, nothing lost.
static void compressed(void **state)
{
    (void)state;
    char *text = draw(example(), KD_SPY_COMPRESSED);
    bool  taken[6][3] = {{false}};
    for (int j = 0; j < 6; j++)
        for (int k = column[j]; k < column[j + 1]; k++) {
            assert_false(taken[row[k]][group[j]]);
            taken[row[k]][group[j]] = true;
        }
    assert_true(fabs(area(text, 16) - 15) < 1e-6);
    free(text);
}

// An empty matrix is drawn; groups that are not there and folders that are not there are refused.
static void limits(void **state)
{
    (void)state;
    static const int none[] = {0};
    kd_spy           spy = {.title = "", .pattern = {0, 0, none, none}};
    char             message[300] = "";
    free(draw(spy, KD_SPY_PATTERN));
    assert_int_equal(kd_spy_save(&spy, KD_SPY_GROUPS, PATH, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_spy_save(&spy, KD_SPY_PATTERN, "/no/such/folder/a", message, sizeof message), KD_ERR_FILE);
}

// Evaluations and updates are noted, others are not; the picture has a dotted and a dashed line for each.
static void instants(void **state)
{
    (void)state;
    static const kd_matrix_news news[] = {KD_MATRIX_EVALUATED, KD_MATRIX_KEPT, KD_MATRIX_UPDATED, KD_MATRIX_FACTORED,
                                          KD_MATRIX_UPDATED};
    const double                t[] = {0, 1, 2, 3, 4}, y[] = {0, 9, 1, 9, 0, 9, -1, 9, 0, 9};
    kd_instants                *s;
    char                        message[300] = "";
    assert_int_equal(kd_instants_create(2, &s), KD_OK);
    for (int i = 0; i < 5; i++) kd_instants_see(s, &(kd_attempt_report){.t = i, .h = 1, .matrix = news[i]});
    assert_int_equal(kd_instants_evaluations(s), 1);
    assert_int_equal(kd_instants_updates(s), 2);
    assert_int_equal(kd_instants_save(s, "chain", "input", t, y, 5, 2, PATH, message, sizeof message), KD_OK);
    char *text = read_text(PATH);
    must_be_a_picture(text);
    assert_non_null(strstr(text, "1 evaluations of the Jacobian (dotted), 2 updates"));
    assert_true(count_words(text, "stroke-dasharray=\"1 3\"") >= 1 &&
                count_words(text, "stroke-dasharray=\"6 4\"") >= 1);
    free(text);
    for (int i = 0; i < 5; i++) kd_instants_see(s, &(kd_attempt_report){.t = i, .h = 1, .matrix = KD_MATRIX_UPDATED});
    assert_int_equal(kd_instants_updates(s), 7); // counted beyond the room
    assert_int_equal(kd_instants_save(s, "chain", NULL, NULL, NULL, 0, 1, PATH, message, sizeof message), KD_OK);
    kd_instants_destroy(s);
    kd_instants_destroy(NULL);

    failing_allocator hooks = {.fail_at = 1};
    kd_status         status;
    failing_allocator_use(&hooks);
    while ((status = kd_instants_create(9, &s)) == KD_ERR_MEMORY) {
        assert_int_equal(hooks.live, 0);
        hooks.calls = 0;
        hooks.fail_at++;
    }
    assert_int_equal(status, KD_OK);
    kd_instants_destroy(s);
    kd_set_allocator(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pattern), cmocka_unit_test(groups),   cmocka_unit_test(compressed),
        cmocka_unit_test(limits),  cmocka_unit_test(instants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
