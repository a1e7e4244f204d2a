// tests/math/test_dual.c: numbers with a tangent against complex numbers with a tiny imaginary part.
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math/dual.h"

static const double tiny = 1e-100;

static double complex other(kd_dual a)
{
    return a.x + I * tiny * a.d;
}

static void same(kd_dual a, double complex b)
{
    assert_true(fabs(a.x - creal(b)) <= 1e-15 * (1 + fabs(a.x)));
    assert_true(fabs(a.d - cimag(b) / tiny) <= 1e-14 * (1 + fabs(a.d)));
}

// Sums, products, quotients, roots and the hyperbolic tangent carry their derivatives.
static void test_scalars(void **state)
{
    const kd_dual a = {1.3, -0.7}, b = {-0.4, 2.1};
    (void)state;
    same(kd_dual_add(a, b), other(a) + other(b));
    same(kd_dual_sub(a, b), other(a) - other(b));
    same(kd_dual_neg(a), -other(a));
    same(kd_dual_scale(3.5, a), 3.5 * other(a));
    same(kd_dual_mul(a, b), other(a) * other(b));
    same(kd_dual_div(a, b), other(a) / other(b));
    same(kd_dual_sqrt(a), csqrt(other(a)));
    same(kd_dual_tanh(b), ctanh(other(b)));
    same(kd_dual_const(2), 2);
}

// a x b is perpendicular to both, along every tangent; |a x b|^2 + (a.b)^2 = |a|^2 |b|^2.
static void test_vectors(void **state)
{
    const kd_dual3 a = {{1.3, -0.7}, {0.2, 0.4}, {-2.0, 0.3}}, b = {{-0.4, 2.1}, {0.9, 0.1}, {0.5, -1.0}};
    const kd_dual3 c = kd_dual3_cross(a, b);
    (void)state;
    same(kd_dual3_dot(a, c), 0);
    same(kd_dual3_dot(b, c), 0);
    kd_dual ab = kd_dual3_dot(a, b), right = kd_dual_mul(kd_dual3_dot(a, a), kd_dual3_dot(b, b));
    kd_dual left = kd_dual_add(kd_dual3_dot(c, c), kd_dual_mul(ab, ab));
    assert_true(fabs(left.x - right.x) < 1e-13 && fabs(left.d - right.d) < 1e-13);
    kd_dual3 sum = kd_dual3_add(a, kd_dual3_scale((kd_dual){2, 1}, b));
    same(sum.z, other(a.z) + (2 + I * tiny) * other(b.z));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scalars), cmocka_unit_test(test_vectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
