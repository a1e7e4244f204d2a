// tests/element/test_kalker.c: ellipse of contact and coefficients of rolling contact against known numbers.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "element/kalker.h"

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.12g instead of %.12g", a, b);
}

// Two equal spheres touch in a circle, a^3 = 3 N R/(4 E*) with R the relative radius.
static void test_sphere(void **state)
{
    const double R = 0.4, N = 5e4, G = 8.2e10, nu = 0.28;
    double       a, b;
    (void)state;
    kd_hertz_ellipse(1 / (2 * R), 1 / (2 * R), N, G, nu, &a, &b);
    assert_near(a, cbrt(3 * N * R * (1 - nu) / (4 * G)), 1e-9);
    assert_near(b, a, 1e-9);
}

// Wheels of radius 0.46 m on rails of 0.3 m under 54546 N: half axes in mm, with a cone and with a hollow tread of 0.5
// m; turned by a right angle the axes change places.
static void test_wheels(void **state)
{
    const double G = 2.1e11 / (2 * 1.28), cone = 1 / 0.6, hollow = 0.5 * (1 / 0.3 - 1 / 0.5), wheel = 1 / 0.92;
    double       a, b, c, d;
    (void)state;
    kd_hertz_ellipse(wheel, cone, 54546, G, 0.28, &a, &b);
    assert_near(1e3 * a, 5.876, 1e-3);
    assert_near(1e3 * b, 4.420, 1e-3);
    kd_hertz_ellipse(cone, wheel, 54546, G, 0.28, &c, &d);
    assert_near(c, b, 1e-12);
    assert_near(d, a, 1e-12);
    kd_hertz_ellipse(wheel, hollow, 54546, G, 0.28, &a, &b);
    assert_near(1e3 * a, 5.042, 1e-3);
    assert_near(1e3 * b, 6.982, 1e-3);
}

// Rows of the table come back, the two scales meet at a = b, and values between are those used for the carriage.
static void test_coefficients(void **state)
{
    double C[4], D[4];
    (void)state;
    kd_kalker_coefficients(1.0, 0.25, C);
    assert_near(C[0], 4.12, 1e-12);
    assert_near(C[3], 1.19, 1e-12);
    kd_kalker_coefficients(1.0 + 1e-12, 0.25, D);
    for (int k = 0; k < 4; k++) assert_near(C[k], D[k], 1e-9);
    kd_kalker_coefficients(0.1, 0.0, C);
    assert_near(C[2], 0.334, 1e-12);
    kd_kalker_coefficients(1e3, 0.5, C); // beyond the table: its end
    assert_near(C[1], 16.0, 1e-12);
    kd_kalker_coefficients(5.876 / 4.420, 0.28, C);
    assert_near(C[0], 4.55, 5e-3);
    assert_near(C[1], 4.14, 5e-3);
    assert_near(C[2], 1.87, 5e-3);
    assert_near(C[3], 0.99, 5e-3);
    kd_kalker_coefficients(5.042 / 6.982, 0.28, C);
    assert_near(C[0], 3.95, 6e-3);
    assert_near(C[1], 3.33, 6e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sphere),
        cmocka_unit_test(test_wheels),
        cmocka_unit_test(test_coefficients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
