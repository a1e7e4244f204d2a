// Numbers with a given number of digits are those of printf, byte for byte.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/rounded.h"

static long left; // to printf

static void compare(double value)
{
    char own[KD_ROUNDED_SIZE], theirs[400];
    for (int digits = 0; digits <= KD_ROUNDED_DIGITS; digits++) {
        if (digits > 0) {
            snprintf(theirs, sizeof theirs, "%.*g", digits, value);
            if (!kd_rounded(value, digits, 'g', own))
                left++;
            else if (strcmp(own, theirs) != 0)
                fail_msg("%%.%dg of %a: %s, printf %s", digits, value, own, theirs);
        }
        snprintf(theirs, sizeof theirs, "%.*f", digits, value);
        if (!kd_rounded(value, digits, 'f', own))
            left++;
        else if (strcmp(own, theirs) != 0)
            fail_msg("%%.%df of %a: %s, printf %s", digits, value, own, theirs);
    }
}

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

// Zero, halves, powers of ten and their neighbours, ends of the ranges.
static void special_numbers(void **state)
{
    (void)state;
    const double some[] = {0.0,        -0.0,     0.5,  1.5,         2.5,          0.125,        0.375,
                           1e15 + 0.5, 999999.5, 9.5,  99.5,        0.095,        1e-5,         1e-4,
                           9.9e-5,     1e22,     1e23, 5e-324,      1.7e308,      0.1,          0.3,
                           1.0 / 3,    2.0 / 3,  4e15, 1e-22,       1e-23,        123456,       1234567,
                           0.001234,   45.5,     1e9,  999999999.5, 9.9999999995, 0.99999999995};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        compare(some[i]);
        compare(-some[i]);
    }
    for (int k = -30; k <= 30; k++) {
        const double power = pow(10, k);
        compare(power), compare(nextafter(power, 0)), compare(nextafter(power, INFINITY));
        for (int j = 1; j < 64; j++) compare(ldexp(j, k)), compare(j * power), compare((j + 0.5) * power);
    }
}

// Random numbers: any bits, and sizes that results have; most are not left to printf there.
static void random_numbers(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 5000; i++) {
        const uint64_t bits = next(&seed);
        double         value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) compare(value);
    }
    left = 0;
    const int n = 10000;
    for (int i = 0; i < n; i++) {
        const double unit = (double)(next(&seed) >> 11) * 0x1p-53;
        compare((unit - 0.5) * pow(10, (int)(next(&seed) % 16) - 8));
    }
    assert_true(left < 31L * n / 4); // of many decimals
    char out[KD_ROUNDED_SIZE];
    for (int i = 0; i < n; i++) {
        const double unit = (double)(next(&seed) >> 11) * 0x1p-53;
        assert_true(kd_rounded((unit + 1e-9) * pow(10, (int)(next(&seed) % 16) - 4), 9, 'g', out));
    }
}

// What is refused: other styles, too many digits, what is not finite.
static void left_to_printf(void **state)
{
    (void)state;
    char out[KD_ROUNDED_SIZE] = "as before";
    assert_false(kd_rounded(1, 3, 'e', out));
    assert_false(kd_rounded(1, 16, 'g', out));
    assert_false(kd_rounded(1, 0, 'g', out));
    assert_false(kd_rounded(1, -1, 'f', out));
    assert_false(kd_rounded(NAN, 3, 'g', out));
    assert_false(kd_rounded(-INFINITY, 3, 'f', out));
    assert_false(kd_rounded(1e300, 3, 'f', out));
    assert_string_equal(out, "as before");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(special_numbers), cmocka_unit_test(random_numbers),
                                       cmocka_unit_test(left_to_printf)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
