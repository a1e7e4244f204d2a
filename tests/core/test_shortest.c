// The fewest digits that bring back the same bits, beside the C library's printf and strtod.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/read_number.h"
#include "core/shortest.h"

static uint64_t seed = 5;

static uint64_t next_bits(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

// Digits of a number in text, without zeros in front and behind; how many
static int read_digits(const char *text, char *digit)
{
    int count = 0;
    for (const char *c = text; *c && *c != 'e'; c++)
        if (*c >= '0' && *c <= '9' && (*c != '0' || count > 0)) digit[count++] = *c;
    while (count > 0 && digit[count - 1] == '0') count--;
    digit[count] = '\0';
    return count;
}

// The same bits, no more digits than printf needs to bring them back; with the same number of digits, its digits
static void check_number(double x)
{
    char        text[KD_SHORTEST_SIZE], printed[40], ours[40], theirs[40];
    const char *end = kd_shortest(x, text);
    assert_ptr_equal(end, text + strlen(text));
    const double back = strtod(text, NULL);
    if (memcmp(&back, &x, sizeof x) != 0) fail_msg("%.17g became %s", x, text);
    for (int n = 1; n <= 17; n++) {
        snprintf(printed, sizeof printed, "%.*e", n - 1, x);
        if (strtod(printed, NULL) == x) break;
    }
    const int n = read_digits(text, ours), needed = read_digits(printed, theirs);
    if (n > needed) fail_msg("%s is longer than %s", text, printed);
    if (n == needed && strcmp(ours, theirs) != 0) fail_msg("%s is not %s", text, printed);
}

// Bits of all exponents, subnormal ones included
static void random_bits_come_back(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++) {
        const uint64_t bits = next_bits();
        double         x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x) && x != 0) check_number(x);
    }
    for (int i = 0; i < 20000; i++) check_number(ldexp((double)(next_bits() >> 12), -1074));
}

// Powers of two, where the interval below is half as wide, powers of ten, the ends of the range
static void edges_come_back(void **state)
{
    (void)state;
    for (int e = -1074; e < 1024; e++)
        for (int k = -1; k <= 1; k++) {
            const double x = ldexp(1, e);
            check_number(k == 0 ? x : nextafter(x, k > 0 ? INFINITY : x / 2 > 0 ? 0 : INFINITY));
        }
    for (int e = -307; e <= 308; e++) {
        char text[20];
        snprintf(text, sizeof text, "1e%d", e);
        check_number(strtod(text, NULL));
    }
    check_number(DBL_MAX);
    check_number(-DBL_MAX);
    check_number(DBL_MIN);
}

// Numbers that people write are written as they did; notation as printf's %g
static void words_are_short(void **state)
{
    static const struct {
        double      x;
        const char *text;
    } list[] = {{0.1, "0.1"},
                {-0.3, "-0.3"},
                {1, "1"},
                {100, "100"},
                {123456.75, "123456.75"},
                {0.0001, "0.0001"},
                {0.00001, "1e-05"},
                {1e16, "10000000000000000"},
                {1e17, "1e+17"},
                {5e-324, "5e-324"},
                {1.5e300, "1.5e+300"},
                {2e-44, "2e-44"},
                {9007199254740993.0, "9007199254740992"},
                {0, "0"},
                {-0.0, "-0"},
                {INFINITY, "inf"},
                {-INFINITY, "-inf"},
                {NAN, "nan"}};
    char text[KD_SHORTEST_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        kd_shortest(list[i].x, text);
        assert_string_equal(text, list[i].text);
    }
}

// A locale with a decimal comma changes neither what is written nor what is read
static void locales_do_not_matter(void **state)
{
    static const char *const comma[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "pt_BR.UTF-8"};
    char                     text[KD_SHORTEST_SIZE], *end;
    bool                     found = false;
    (void)state;
    for (size_t i = 0; i < sizeof comma / sizeof *comma && !found; i++) found = setlocale(LC_NUMERIC, comma[i]) != NULL;
    kd_shortest(1234.5, text);
    const double value = kd_read_number("1234.5e-1,", &end);
    const char   after = *end;
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(text, "1234.5");
    assert_true(value == 123.45 && after == ',');
    if (!found) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bits_come_back),
        cmocka_unit_test(edges_come_back),
        cmocka_unit_test(words_are_short),
        cmocka_unit_test(locales_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
