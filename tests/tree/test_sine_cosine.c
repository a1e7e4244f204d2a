// tests/tree/test_sine_cosine.c: sine and cosine in lanes against the library in extended precision.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "tree/work.h"

#include <float.h>
#include <math.h>

enum { COUNT = 1000, VARIANTS = 2 };

static double x[COUNT], sine[COUNT], cosine[COUNT];

// x -> sine, cosine with all variants that this processor has; false: no more
static bool compute(int variant)
{
    if (variant == 0) kd_sine_cosine_base(COUNT, x, sine, cosine);
#if defined(__x86_64__) && defined(__GNUC__)
    if (variant == 1) {
        if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return false;
        kd_sine_cosine_avx2(COUNT, x, sine, cosine);
    }
#endif
    return variant < VARIANTS;
}

// distance in units of the last place of the exact value
static double ulps(double value, long double exact)
{
    const double size = fmax(fabs((double)exact), DBL_MIN);
    return (double)fabsl(value - exact) / (nextafter(size, INFINITY) - size);
}

static void check(double limit)
{
    for (int variant = 0; variant < VARIANTS && compute(variant); variant++)
        for (int k = 0; k < COUNT; k++) {
            assert_true(ulps(sine[k], sinl(x[k])) <= limit);
            assert_true(ulps(cosine[k], cosl(x[k])) <= limit);
        }
}

// Over several turns and over many, the error is one unit in the last place at most, but for a hair.
static void test_ordinary_angles(void **state)
{
    (void)state;
    static const double ranges[] = {1e-8, 1e-3, 1, 10, 1e3, 9.9e5};
    uint64_t            seed = 1;
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
        for (int k = 0; k < COUNT; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            x[k] = ranges[r] * ((double)(seed >> 11) / (double)(UINT64_C(1) << 52) - 1);
        }
        check(1.01);
    }
}

// Multiples of a quarter turn and their neighbours keep their digits, although the result is tiny there.
static void test_quarter_turns(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT; k++) {
        const double quarter = 1.5707963267948966 * (k / 3 - 150);
        x[k] = k % 3 == 0 ? quarter : nextafter(quarter, k % 3 == 1 ? INFINITY : -INFINITY);
    }
    check(1.01);
    for (int k = 0; k < COUNT; k++) x[k] = 1.5707963267948966 * (k * 600 + 1);
    check(1.01);
}

// Zero gives zero and one exactly; huge angles are those of the library; what is not finite gives no number.
static void test_special_values(void **state)
{
    (void)state;
    static const double special[] = {0.0, -0.0, 1e6, -1e7, 1e22, DBL_MAX, INFINITY, -INFINITY, NAN, 0.5};
    enum { SPECIAL = sizeof special / sizeof *special };
    for (int k = 0; k < COUNT; k++) x[k] = special[k % SPECIAL];
    for (int variant = 0; variant < VARIANTS && compute(variant); variant++)
        for (int k = 0; k < COUNT; k++) {
            if (!isfinite(x[k])) {
                assert_true(isnan(sine[k]) && isnan(cosine[k]));
                continue;
            }
            if (x[k] == 0) assert_true(sine[k] == 0 && cosine[k] == 1);
            if (fabs(x[k]) >= 1e6) assert_true(sine[k] == sin(x[k]) && cosine[k] == cos(x[k]));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinary_angles),
        cmocka_unit_test(test_quarter_turns),
        cmocka_unit_test(test_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
