// tests/expr/test_curve.c: tables as functions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/failing_allocator.h"
#include "expr/curve.h"
#include "expr/symbols.h"

enum { KINDS = KD_CURVE_KIND_MONOTONE + 1, ROWS = 9 };

static const double X[ROWS] = {-2.0, -1.5, -0.2, 0.0, 0.7, 1.9, 2.0, 3.5, 6.0};

static kd_curve *create(kd_curve_kind kind, int n, const double *x, const double *y)
{
    kd_curve *curve = NULL;
    char      message[200] = "";
    if (kd_curve_create(kind, KD_OUTSIDE_TANGENT, n, x, y, &curve, message, sizeof message) != KD_OK)
        fail_msg("%s", message);
    return curve;
}

static kd_curve *create_random(kd_curve_kind kind, unsigned seed)
{
    double y[ROWS];
    for (int i = 0; i < ROWS; i++) y[i] = random_between(&seed, -3.0, 3.0);
    return create(kind, ROWS, X, y);
}

static double cubic(double x)
{
    return 1.0 + x * (-2.0 + x * (0.5 + x * 0.25));
}

// Every kind goes through its rows, and the value alone is the value with derivatives.
static void test_rows(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        unsigned seed = 5;
        double   y[ROWS], out[4];
        for (int i = 0; i < ROWS; i++) y[i] = random_between(&seed, -3.0, 3.0);
        kd_curve *curve = create((kd_curve_kind)kind, ROWS, X, y);
        for (int i = 0; i < ROWS; i++) {
            kd_curve_eval(curve, X[i], out);
            assert_near(out[0], y[i], 1e-14);
        }
        for (double x = -5.0; x < 9.0; x += 0.137) {
            kd_curve_eval(curve, x, out);
            assert_near(out[0], kd_curve_value(curve, x), 0.0);
        }
        kd_curve_destroy(curve);
    }
}

// The spline meets any cubic exactly, with all derivatives, inside of the rows.
static void test_spline_meets_cubics(void **state)
{
    (void)state;
    for (int n = 4; n <= ROWS; n++) {
        double y[ROWS], out[4];
        for (int i = 0; i < n; i++) y[i] = cubic(X[i]);
        kd_curve *curve = create(KD_CURVE_KIND_SPLINE, n, X, y);
        for (double x = X[0]; x < X[n - 1]; x += 0.0917) {
            kd_curve_eval(curve, x, out);
            assert_near(out[0], cubic(x), 1e-12);
            assert_near(out[1], -2.0 + x * (1.0 + x * 0.75), 1e-11);
            assert_near(out[2], 1.0 + 1.5 * x, 1e-10);
            assert_near(out[3], 1.5, 1e-9);
        }
        kd_curve_destroy(curve);
    }
}

// Three rows: the parabola (spline). Any kind: two rows are a line, and lines stay lines.
static void test_few_rows(void **state)
{
    (void)state;
    const double x[] = {-1.0, 0.5, 3.0}, y[] = {3.0, 0.0, 11.0}; // 2 x^2 - x + 0 at -1, 0.5; not at 3
    double       parabola[3], out[4];
    for (int i = 0; i < 3; i++) parabola[i] = 2.0 * x[i] * x[i] - x[i] + 4.0;
    kd_curve *curve = create(KD_CURVE_KIND_SPLINE, 3, x, parabola);
    for (double at = -1.0; at < 3.0; at += 0.1) {
        kd_curve_eval(curve, at, out);
        assert_near(out[0], 2.0 * at * at - at + 4.0, 1e-13);
        assert_near(out[2], 4.0, 1e-12);
    }
    kd_curve_destroy(curve);
    for (int kind = 0; kind < KINDS; kind++) {
        curve = create((kd_curve_kind)kind, 2, x, y);
        for (double at = -3.0; at < 5.0; at += 0.3) {
            kd_curve_eval(curve, at, out);
            assert_near(out[0], 3.0 - 2.0 * (at + 1.0), 1e-13);
            assert_near(out[1], -2.0, 1e-14);
        }
        kd_curve_destroy(curve);
        double line[ROWS];
        for (int i = 0; i < ROWS; i++) line[i] = 0.5 - 3.0 * X[i];
        curve = create((kd_curve_kind)kind, ROWS, X, line);
        for (double at = -5.0; at < 9.0; at += 0.3) {
            kd_curve_eval(curve, at, out);
            assert_near(out[0], 0.5 - 3.0 * at, 1e-12);
            assert_near(out[1], -3.0, 1e-12);
            assert_near(out[2], 0.0, 1e-10);
        }
        kd_curve_destroy(curve);
    }
}

// Each derivative is the difference of the one before, between the rows and outside of them.
static void test_derivatives(void **state)
{
    (void)state;
    const double h = 1e-5;
    for (int kind = 0; kind < KINDS; kind++) {
        kd_curve *curve = create_random((kd_curve_kind)kind, 6);
        for (double x = -4.0; x < 8.0; x += 0.0713) {
            bool near_row = false;
            for (int i = 0; i < ROWS; i++) near_row = near_row || fabs(x - X[i]) < 2.0 * h;
            if (near_row) continue;
            double out[4], before[4], behind[4];
            kd_curve_eval(curve, x, out);
            kd_curve_eval(curve, x - h, before);
            kd_curve_eval(curve, x + h, behind);
            for (int k = 0; k < 3; k++) // h^2 f'''/6, and rounding of the place and of the terms
                assert_near(out[k + 1], (behind[k] - before[k]) / (2.0 * h),
                            h * h * fabs(out[3]) + 1e-15 / h * (1.0 + fabs(out[k]) + fabs(out[k + 1]) + fabs(out[3])));
        }
        kd_curve_destroy(curve);
    }
}

// At the rows: linear is continuous, cubics have a continuous slope, the spline also the second derivative; the ends go
// on along their tangents.
static void test_continuity(void **state)
{
    (void)state;
    const int    smooth[KINDS] = {0, 2, 1, 1};
    const double h = 1e-9;
    for (int kind = 0; kind < KINDS; kind++) {
        kd_curve *curve = create_random((kd_curve_kind)kind, 7);
        for (int i = 0; i < ROWS; i++) {
            const int last = smooth[kind] == 2 && (i == 0 || i == ROWS - 1) ? 1 : smooth[kind];
            double    before[4], behind[4];
            kd_curve_eval(curve, X[i] - h, before);
            kd_curve_eval(curve, X[i] + h, behind);
            for (int k = 0; k <= last; k++) assert_near(before[k], behind[k], 1e-5);
        }
        double end[4], far[4];
        kd_curve_eval(curve, X[ROWS - 1], end);
        kd_curve_eval(curve, X[ROWS - 1] + 10.0, far);
        assert_near(far[0], end[0] + 10.0 * end[1], 1e-12);
        assert_near(far[2], 0.0, 0.0);
        kd_curve_eval(curve, X[0] + 1e-13, end);
        kd_curve_eval(curve, X[0] - 10.0, far);
        assert_near(far[0], end[0] - 10.0 * end[1], 1e-9);
        kd_curve_destroy(curve);
    }
}

// The derivative at a row of a linear table is the one from the right.
static void test_right_side(void **state)
{
    (void)state;
    const double x[] = {0.0, 1.0, 2.0}, y[] = {0.0, 1.0, -1.0};
    double       out[4];
    kd_curve    *curve = create(KD_CURVE_KIND_LINEAR, 3, x, y);
    kd_curve_eval(curve, 1.0, out);
    assert_near(out[1], -2.0, 0.0);
    kd_curve_eval(curve, nextafter(1.0, 0.0), out);
    assert_near(out[1], 1.0, 0.0);
    kd_curve_eval(curve, NAN, out);
    assert_true(isnan(out[0]));
    kd_curve_destroy(curve);
}

// Monotone: no overshoot, and rows that rise give a curve that rises; the spline through the same rows does overshoot.
static void test_monotone(void **state)
{
    (void)state;
    const double x[] = {0.0, 1.0, 1.2, 3.0, 4.0, 4.1, 7.0}, y[] = {0.0, 0.0, 5.0, 5.0, 5.5, 20.0, 20.0};
    double       out[4], lowest = 0.0, highest = 0.0;
    kd_curve    *curve = create(KD_CURVE_KIND_MONOTONE, 7, x, y), *spline = create(KD_CURVE_KIND_SPLINE, 7, x, y);
    for (double at = -1.0; at < 8.0; at += 0.0037) {
        kd_curve_eval(curve, at, out);
        assert_true(out[1] >= -1e-12);
        assert_true(out[0] >= -1e-12 && out[0] <= 20.0 + 1e-12);
        kd_curve_eval(spline, at, out);
        lowest = fmin(lowest, out[0]), highest = fmax(highest, out[0]);
    }
    assert_true(lowest < -1.0 && highest > 21.0);
    kd_curve_destroy(curve);
    kd_curve_destroy(spline);
}

// Akima: beside a flat stretch the curve stays flat, whatever happens further away; a parabola is met between equal
// distances.
static void test_akima(void **state)
{
    (void)state;
    const double x[] = {0, 1, 2, 3, 4, 5, 6, 7}, flat[] = {0, 0, 0, 0, 1, 5, 2, 2};
    double       parabola[8], out[4];
    kd_curve    *curve = create(KD_CURVE_KIND_AKIMA, 8, x, flat);
    for (double at = 0.0; at <= 3.0; at += 0.01) assert_near(kd_curve_value(curve, at), 0.0, 0.0);
    kd_curve_destroy(curve);
    for (int i = 0; i < 8; i++) parabola[i] = x[i] * x[i] - 3.0 * x[i];
    curve = create(KD_CURVE_KIND_AKIMA, 8, x, parabola);
    for (double at = 0.0; at < 7.0; at += 0.01) {
        kd_curve_eval(curve, at, out);
        assert_near(out[0], at * at - 3.0 * at, 1e-12);
        assert_near(out[1], 2.0 * at - 3.0, 1e-12);
    }
    kd_curve_destroy(curve);
}

// The row is found among many, with equal and with very unequal distances.
static void test_search(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    double x[MANY], y[MANY];
    for (int uneven = 0; uneven < 2; uneven++) {
        for (int i = 0; i < MANY; i++) {
            x[i] = uneven ? exp(0.02 * i) - 30.0 : 0.1 * i - 30.0;
            y[i] = i;
        }
        kd_curve *curve = create(KD_CURVE_KIND_LINEAR, MANY, x, y);
        for (int i = 0; i < MANY - 1; i++)
            for (double part = 0.0; part < 1.0; part += 0.3)
                assert_near(kd_curve_value(curve, x[i] + part * (x[i + 1] - x[i])), i + part, 1e-6);
        kd_curve_destroy(curve);
    }
}

// Wrong rows are named.
static void test_wrong_rows(void **state)
{
    (void)state;
    static const struct {
        int         n;
        double      x[3], y[3];
        const char *message;
    } wrong[] = {
        {1, {0}, {0}, "a curve needs at least 2 rows, not 1"},
        {0, {0}, {0}, "a curve needs at least 2 rows, not 0"},
        {3, {0, 1, 1}, {0, 0, 0}, "x of the curve must increase, but row 3 has 1 behind 1"},
        {3, {0, -1, 1}, {0, 0, 0}, "x of the curve must increase, but row 2 has -1 behind 0"},
        {3, {0, 1, NAN}, {0, 0, 0}, "row 3 of the curve is not finite"},
        {3, {0, 1, 2}, {0, INFINITY, 0}, "row 2 of the curve is not finite"},
        {3, {0, 1, 1 + 1e-15}, {0, 0, 1e300}, "the curve is too steep at row 2"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kd_curve *curve = (kd_curve *)&curve;
        char      message[200] = "";
        assert_int_equal(kd_curve_create(KD_CURVE_KIND_LINEAR, KD_OUTSIDE_TANGENT, wrong[i].n, wrong[i].x, wrong[i].y,
                                         &curve, message, sizeof message),
                         KD_ERR_MODEL);
        assert_null(curve);
        assert_string_equal(message, wrong[i].message);
        assert_int_equal(kd_curve_create(KD_CURVE_KIND_LINEAR, KD_OUTSIDE_TANGENT, wrong[i].n, wrong[i].x, wrong[i].y,
                                         &curve, NULL, 0),
                         KD_ERR_MODEL);
    }
    kd_curve_destroy(NULL);
}

// Each allocation may fail: the status says so and nothing leaks.
static void test_memory(void **state)
{
    (void)state;
    const double x[] = {0.0, 1.0, 2.0, 3.0}, y[] = {0.0, 1.0, 0.0, 1.0};
    kd_status    status = KD_ERR_MEMORY;
    for (long fail_at = 1; status != KD_OK; fail_at++) {
        failing_allocator f = {.fail_at = fail_at};
        failing_allocator_use(&f);
        kd_curve *curve = NULL;
        status = kd_curve_create(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_TANGENT, 4, x, y, &curve, NULL, 0);
        assert_true(status == KD_OK ? fail_at > 2 : status == KD_ERR_MEMORY && !curve);
        kd_curve_destroy(curve);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        assert_true(fail_at < 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),       cmocka_unit_test(test_spline_meets_cubics),
        cmocka_unit_test(test_few_rows),   cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_continuity), cmocka_unit_test(test_right_side),
        cmocka_unit_test(test_monotone),   cmocka_unit_test(test_akima),
        cmocka_unit_test(test_search),     cmocka_unit_test(test_wrong_rows),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
