// tests/expr/test_expr_functions.c: the table of functions, and the page of the guide that lists them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "expr/internal.h"
#include "expr/symbols.h"

// Each function is found by its name, is reserved, and takes a number of arguments that the parser can hold.
static void test_table(void **state)
{
    (void)state;
    for (int i = 0; i < kd_expr_function_count(); i++) {
        const kd_expr_function *f = kd_expr_function_find(kd_expr_function_name(i));
        assert_non_null(f);
        assert_string_equal(f->name, kd_expr_function_name(i));
        assert_true(kd_expr_is_reserved(f->name));
        assert_true(f->least >= 1 && f->least <= f->most && f->most <= KD_EXPR_MAX_ARGUMENTS);
        assert_true(f->build || f->op == KD_OP_CURVE ||
                    (f->least == f->most && f->most == kd_operations[f->op].operands));
    }
    assert_null(kd_expr_function_find("sine"));
    assert_null(kd_expr_function_find(""));
}

// Words of the language are reserved, other names are free.
static void test_reserved(void **state)
{
    (void)state;
    static const char *const reserved[] = {"pi", "and", "or", "not", "if", "sin", "step5", "table"};
    static const char *const free_names[] = {"", "e", "t", "PI", "x", "sinus", "body", "Sin"};
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) assert_true(kd_expr_is_reserved(reserved[i]));
    for (size_t i = 0; i < sizeof free_names / sizeof free_names[0]; i++)
        assert_false(kd_expr_is_reserved(free_names[i]));
}

static char *read_page(void)
{
    FILE *file = fopen(KD_SOURCE_DIR "/docs/guide/expressions.md", "r");
    assert_non_null(file);
    char  *page = calloc(1, 100000);
    size_t length = fread(page, 1, 99999, file);
    assert_true(length > 1000);
    fclose(file);
    return page;
}

// The guide has a row for every function.
static void test_guide_lists_all(void **state)
{
    (void)state;
    char *page = read_page();
    for (int i = 0; i < kd_expr_function_count(); i++) {
        char call[60];
        snprintf(call, sizeof call, "`%s(", kd_expr_function_name(i));
        if (!strstr(page, call)) fail_msg("docs/guide/expressions.md lacks %s", kd_expr_function_name(i));
    }
    free(page);
}

// Every line of the guide "    expression   # = value" is true.
static void test_guide_computes(void **state)
{
    (void)state;
    char            *page = read_page();
    int              examples = 0;
    const kd_symbols symbols = symbols_of(NULL);
    for (char *line = strtok(page, "\n"); line; line = strtok(NULL, "\n")) {
        char *answer = strstr(line, "# = ");
        if (!answer || strncmp(line, "    ", 4) != 0) continue;
        *answer = '\0';
        kd_expr_error error = {0};
        double        value = 0.0;
        if (kd_expr_constant(line, &symbols, &value, &error) != KD_OK) fail_msg("%s: %s", line, error.text);
        assert_near(value, strtod(answer + 4, NULL), 1e-4 * fabs(value));
        examples++;
    }
    assert_true(examples >= 10);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_reserved),
        cmocka_unit_test(test_guide_lists_all),
        cmocka_unit_test(test_guide_computes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
