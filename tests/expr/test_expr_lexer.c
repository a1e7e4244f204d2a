// tests/expr/test_expr_lexer.c: tokens.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdio.h>

#include "expr/internal.h"
#include "expr/symbols.h"

// A text falls into its tokens, at their places and with their lengths.
static void test_tokens(void **state)
{
    (void)state;
    static const char *text = " x1+ 2.5e-1*joint.a.q<=>===!=&&||! and_ or not,^/-()";
    static const struct {
        kd_token_kind kind;
        int           start, length;
    } rows[] = {
        {KD_TOKEN_NAME, 1, 2},           {KD_TOKEN_PLUS, 3, 1},   {KD_TOKEN_NUMBER, 5, 6},
        {KD_TOKEN_TIMES, 11, 1},         {KD_TOKEN_NAME, 12, 9},  {KD_TOKEN_LESS_EQUAL, 21, 2},
        {KD_TOKEN_GREATER_EQUAL, 23, 2}, {KD_TOKEN_EQUAL, 25, 2}, {KD_TOKEN_UNEQUAL, 27, 2},
        {KD_TOKEN_AND, 29, 2},           {KD_TOKEN_OR, 31, 2},    {KD_TOKEN_NOT, 33, 1},
        {KD_TOKEN_NAME, 35, 4},          {KD_TOKEN_OR, 40, 2},    {KD_TOKEN_NOT, 43, 3},
        {KD_TOKEN_COMMA, 46, 1},         {KD_TOKEN_POWER, 47, 1}, {KD_TOKEN_OVER, 48, 1},
        {KD_TOKEN_MINUS, 49, 1},         {KD_TOKEN_OPEN, 50, 1},  {KD_TOKEN_CLOSE, 51, 1},
        {KD_TOKEN_END, 52, 0},
    };
    int place = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        kd_expr_error  error;
        const kd_token token = kd_expr_token(text, place, &error);
        assert_int_equal(token.kind, rows[i].kind);
        assert_int_equal(token.start, rows[i].start);
        assert_int_equal(token.length, rows[i].length);
        place = token.start + token.length;
    }
}

static const char *const NUMBERS[] = {
    "0",
    "1",
    "007",
    "12345678901234567890",
    "0.1",
    ".5",
    "5.",
    "3.14159265358979323846",
    "1e3",
    "1E3",
    "1e+3",
    "1e-3",
    "2.5e-1",
    ".5e1",
    "5.e1",
    "1.7976931348623157e308",
    "5e-324",
    "1e-400",
    "0e999",
    "0.000000000000000000000000000001e30",
    "123456789.123456789e-9",
    "9007199254740993",
};

// Numbers are the doubles that strtod gives, to the last bit.
static void test_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++) {
        kd_expr_error  error;
        const kd_token token = kd_expr_token(NUMBERS[i], 0, &error);
        const double   expected = strtod(NUMBERS[i], NULL);
        assert_int_equal(token.kind, KD_TOKEN_NUMBER);
        assert_int_equal(token.length, (int)strlen(NUMBERS[i]));
        if (memcmp(&token.number, &expected, sizeof expected) != 0)
            fail_msg("%s: %.17g instead of %.17g", NUMBERS[i], token.number, expected);
    }
}

// Every double comes back from its text.
static void test_round_trip(void **state)
{
    (void)state;
    unsigned seed = 8;
    for (int i = 0; i < 2000; i++) {
        const double  number = random_between(&seed, 0.0, 1.0) * pow(10.0, floor(random_between(&seed, -300.0, 300.0)));
        char          text[40];
        kd_expr_error error;
        snprintf(text, sizeof text, "%.17g", number);
        const kd_token token = kd_expr_token(text, 0, &error);
        assert_int_equal(token.kind, KD_TOKEN_NUMBER);
        assert_memory_equal(&token.number, &number, sizeof number);
    }
}

// Numbers of few digits around the limits of the short way: those of strtod, to the last bit.
static void test_short_numbers(void **state)
{
    (void)state;
    unsigned seed = 21;
    for (int i = 0; i < 20000; i++) {
        char          text[60];
        const int     digits = 1 + i % 18, exponent = (int)floor(random_between(&seed, -26.0, 26.0));
        const double  point = floor(random_between(&seed, 0.0, digits));
        kd_expr_error error;
        int           n = 0;
        for (int k = 0; k < digits; k++) {
            if (k == (int)point && i % 3 == 0) text[n++] = '.';
            text[n++] = (char)('0' + (int)random_between(&seed, 0.0, 10.0));
        }
        snprintf(text + n, sizeof text - (size_t)n, i % 2 ? "e%d" : "E%+d", exponent);
        const kd_token token = kd_expr_token(text, 0, &error);
        const double   expected = strtod(text, NULL);
        assert_int_equal(token.kind, KD_TOKEN_NUMBER);
        if (memcmp(&token.number, &expected, sizeof expected) != 0)
            fail_msg("%s: %.17g instead of %.17g", text, token.number, expected);
    }
}

// A locale with a decimal comma changes nothing, where there is one.
static void test_locale(void **state)
{
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    bool                     found = false;
    for (size_t i = 0; i < sizeof locales / sizeof locales[0] && !found; i++)
        found = setlocale(LC_NUMERIC, locales[i]) != NULL;
    kd_expr_error  error;
    const kd_token token = kd_expr_token("1.25e1", 0, &error);
    setlocale(LC_NUMERIC, "C");
    assert_near(token.number, 12.5, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),        cmocka_unit_test(test_numbers), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_short_numbers), cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
