// Inputs along a step: polynomials are met, what a smooth function does is not odd, pulses are.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "simulation/course.h"

#define RTOL 1e-6
#define ATOL 1e-9

// A polynomial of degree n in t with its derivatives
static void polynomial(int n, const double *a, double t, double out[3])
{
    out[0] = out[1] = out[2] = 0;
    for (int k = n; k >= 0; k--) {
        out[2] = 2 * out[1] + t * out[2];
        out[1] = out[0] + t * out[1];
        out[0] = a[k] + t * out[0];
    }
}

// A quintic is its own course, value and second derivative, in steps of all lengths; what differs counts in tolerances.
static void quintics_are_met(void **state)
{
    (void)state;
    const double a[] = {0.7, -1.3, 2.1, -0.9, 0.4, -0.2};
    for (double h = 1e-3; h < 2; h *= 3.7) {
        double       u0[3], u1[3], u[3];
        const double t0 = 0.3;
        polynomial(5, a, t0, u0);
        polynomial(5, a, t0 + h, u1);
        const kd_course course = kd_course_of(h, u0, u1);
        for (double s = 0.1; s < 1; s += 0.17) {
            polynomial(5, a, t0 + s * h, u);
            // its own error is not zero: an offset is seen beyond 0.3 times the distance of the cubic
            const double offset = 1e3 * (RTOL * 3 + ATOL) + h * h * h * h;
            assert_true(kd_course_off(&course, h, s, u[0], u[2], RTOL, ATOL) <= 1e-3);
            assert_true(kd_course_off(&course, h, s, u[0] + offset, u[2], RTOL, ATOL) > 100);
            assert_true(kd_course_off(&course, h, s, u[0], u[2] + 100 * (1 + fabs(u[2])), RTOL, ATOL) >
                        0.1 * h * h / (RTOL * 3 + ATOL));
        }
    }
}

// A wave of which a step sees a tenth is smooth, one that goes to and fro inside is not.
static void waves(void **state)
{
    (void)state;
    const double h = 0.1;
    for (double omega = 1; omega < 2000; omega *= 1.9) {
        const double    u0[] = {0, omega, 0};
        const double    u1[] = {sin(omega * h), omega * cos(omega * h), -omega * omega * sin(omega * h)};
        const kd_course course = kd_course_of(h, u0, u1);
        double          most = 0;
        for (double s = 0.05; s < 1; s += 0.09)
            most = fmax(most, kd_course_off(&course, h, s, sin(omega * s * h), -omega * omega * sin(omega * s * h),
                                            RTOL, ATOL));
        if (omega * h < 0.7) assert_true(most < 1);
        if (omega * h > 8) assert_true(most > 1000);
    }
}

// A function at rest with a pulse inside: seen where it is, by its value or its bend; what is no number is far.
static void pulses(void **state)
{
    (void)state;
    const double    rest[] = {0.2, 0, 0};
    const kd_course course = kd_course_of(0.5, rest, rest);
    assert_true(kd_course_off(&course, 0.5, 0.4, 0.2, 0, RTOL, ATOL) == 0);
    assert_true(kd_course_off(&course, 0.5, 0.4, 0.2 + 1e-5, 0, RTOL, ATOL) > 10);
    assert_true(kd_course_off(&course, 0.5, 0.4, 0.2 - 1e-5, 0, RTOL, ATOL) > 10);
    assert_true(kd_course_off(&course, 0.5, 0.4, 0.2, 1e-3, RTOL, ATOL) > 100);
    assert_true(kd_course_off(&course, 0.5, 0.4, NAN, 0, RTOL, ATOL) == INFINITY);
    assert_true(kd_course_off(&course, 0.5, 0.4, 0.2, NAN, RTOL, ATOL) == INFINITY);
}

// Along a parabola both polynomials are exact: a second derivative may be off by a tenth of what it is at the ends, and
// what is beyond counts in tolerances.
static void second_derivatives_may_be_uneven(void **state)
{
    (void)state;
    for (int k = 0; k < 40; k++) {
        const double bend = 0.5 + 0.3 * k, h = pow(10, -2 + 0.05 * k), off = 0.02 * (k + 1),
                     a[] = {0.7, -1.3, 0.5 * bend};
        double u0[3], u1[3], u[3];
        polynomial(2, a, 0.3, u0);
        polynomial(2, a, 0.3 + h, u1);
        polynomial(2, a, 0.3 + 0.4 * h, u);
        const kd_course course = kd_course_of(h, u0, u1);
        const double    tolerance = RTOL * fmax(fabs(u0[0]), fmax(fabs(u1[0]), fabs(u[0]))) + ATOL;
        const double    found = kd_course_off(&course, h, 0.4, u[0], bend * (1 - off), RTOL, ATOL);
        const double    right = (off - 0.1) * bend * h * h / tolerance;
        if (off < 0.1 - 1e-9) assert_true(found < 1e-3);
        if (off > 0.1 + 1e-9) assert_true(fabs(found - right) < 1e-6 * right + 1e-3);
    }
}

// Along a quartic the quintic is exact and the cubic is off by a h^4 s^2 (1 - s)^2: 0.3 of that, and of its second derivative, is
// the own error, and what is beyond counts in tolerances.
static void own_errors_are_excused(void **state)
{
    (void)state;
    for (int k = 0; k < 60; k++) {
        const double q = (k % 2 ? -1 : 1) * (1 + 0.2 * k), h = pow(10, -1 + 0.03 * k), s = (k % 20 + 0.5) / 20,
                     r = 1 - s;
        const double a[] = {0.7, -1.3, 0.4, -0.2, q};
        double       u0[3], u1[3], u[3];
        polynomial(4, a, 0.3, u0);
        polynomial(4, a, 0.3 + h, u1);
        polynomial(4, a, 0.3 + s * h, u);
        const kd_course course = kd_course_of(h, u0, u1);
        const double    known = fabs(q) * pow(h, 4) * s * s * r * r, most = h * h * fmax(fabs(u0[2]), fabs(u1[2]));
        const double    known_bend = fabs(q) * pow(h, 4) * fabs(2 * s * s - 8 * s * r + 2 * r * r);
        const double    excused = 0.3 * known_bend + 0.1 * most, larger = fmax(fabs(u0[0]), fabs(u1[0]));
        for (int part = 1; part < 4; part++) {
            // an offset of 0.3, 0.6 and 0.9 of what the cubic does not know
            const double off = 0.3 * part * known, tolerance = RTOL * fmax(fabs(u[0] + off), larger) + ATOL;
            const double found = kd_course_off(&course, h, s, u[0] + off, u[2], RTOL, ATOL);
            assert_true(fabs(found * tolerance - (off - 0.3 * known)) < 1e-9 * (1 + known + larger));
            // and a second derivative that is off by as much
            const double bent = part * excused, bent_tolerance = RTOL * fmax(fabs(u[0]), larger) + ATOL;
            const double found_bent = kd_course_off(&course, h, s, u[0], u[2] + bent / (h * h), RTOL, ATOL);
            assert_true(fabs(found_bent * bent_tolerance - (bent - excused)) < 1e-9 * (1 + excused + larger));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quintics_are_met),
        cmocka_unit_test(waves),
        cmocka_unit_test(pulses),
        cmocka_unit_test(second_derivatives_may_be_uneven),
        cmocka_unit_test(own_errors_are_excused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
