// Divided differences and coefficients of the BDF with fixed leading coefficient: classical coefficients, exactness for
// polynomials with irregular steps, error constants, double nodes, interpolation, a moved newest point.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

#include "integrator/bdf_history.h"

// irregular times, the newest first
static const double times[KD_BDF_TERMS] = {1.0, 0.9, 0.83, 0.7, 0.64, 0.5, 0.43};
static const double next = 1.12;

typedef struct fixture {
    kd_arena       arena;
    kd_bdf_history history;
    double         values[KD_BDF_TERMS];
    double        *X[KD_BDF_TERMS];
} fixture;

#define assert_near(a, b, tolerance) near((a), (b), (tolerance), __LINE__)
static void near(double a, double b, double tolerance, int line)
{
    if (fabs(a - b) <= tolerance) return;
    print_error("line %d: %.17g instead of %.17g\n", line, a, b);
    fail();
}

static double power(double t, int degree)
{
    return pow(t, degree);
}

// count values of t^degree
static void make(fixture *f, int count, int degree)
{
    *f = (fixture){0};
    kd_bdf_history_cut(&f->history, &f->arena, 1);
    assert_false(f->arena.failed);
    for (int j = 0; j < count; j++) {
        f->values[j] = power(times[j], degree);
        f->X[j] = &f->values[j];
    }
    kd_bdf_history_points(&f->history, count, times, f->X);
}

static void drop(fixture *f)
{
    kd_arena_release(&f->arena);
}

// With equal steps x' is that of the classical formulas, whose coefficients are known in closed form.
static void classical_coefficients(void **state)
{
    (void)state;
    // h x'(t) = sum a_j x(t - j h), k = 1 .. 5 (HNW III.1.22')
    const double a[5][6] = {{1, -1},
                            {3.0 / 2, -2, 1.0 / 2},
                            {11.0 / 6, -3, 3.0 / 2, -1.0 / 3},
                            {25.0 / 12, -4, 3, -4.0 / 3, 1.0 / 4},
                            {137.0 / 60, -5, 5, -10.0 / 3, 5.0 / 4, -1.0 / 5}};
    const double h = 0.125;
    for (int k = 1; k <= KD_BDF_ORDER_MAX; k++) {
        fixture             f;
        kd_bdf_coefficients c;
        double              t[KD_BDF_TERMS], x, xdot, value = 0.3, sum = a[k - 1][0] * value;
        make(&f, 1, 0);
        for (int j = 0; j <= k; j++) {
            t[j] = 2 - h * j;
            f.values[j] = sin(17.0 * j); // anything
            f.X[j] = &f.values[j];
            if (j < k) sum += a[k - 1][j + 1] * f.values[j];
        }
        kd_bdf_history_points(&f.history, k + 1, t, f.X);
        kd_bdf_history_coefficients(&f.history, 2 + h, k, &c);
        kd_bdf_history_predict(&f.history, &c, &x, &xdot);
        assert_near(h * (xdot + c.cj * (value - x)), sum, 1e-12);
        assert_near(c.cj * h, a[k - 1][0], 1e-14);
        assert_near(c.error, 1.0 / (k + 1), 1e-13);
        assert_near(c.sigma[k + 1], 1.0 / (k + 1), 1e-13);
        drop(&f);
    }
}

// Polynomials up to the order are predicted exactly, with their derivative, whatever the steps were; the next ones are
// not, and the scaled difference of x - P is h^j x^(j) / j.
static void exact_for_polynomials(void **state)
{
    (void)state;
    for (int k = 1; k <= KD_BDF_ORDER_MAX; k++) {
        for (int degree = 0; degree <= k + 1; degree++) {
            fixture             f;
            kd_bdf_coefficients c;
            double              x, xdot;
            make(&f, k + 1, degree);
            kd_bdf_history_coefficients(&f.history, next, k, &c);
            kd_bdf_history_predict(&f.history, &c, &x, &xdot);
            double e = power(next, degree) - x, h = next - times[0];
            if (degree <= k) {
                assert_true(fabs(e) < 1e-12);
                assert_near(xdot, degree == 0 ? 0 : degree * power(next, degree - 1), 1e-11);
            } else {
                double derivative = tgamma(k + 2); // of t^(k+1)
                assert_true(fabs(e) > 1e-9);
                assert_near(c.sigma[k + 1] * e / (pow(h, k + 1) * derivative / (k + 1)), 1, 1e-9);
            }
            drop(&f);
        }
    }
}

// With irregular steps the error constant is no less than what the formula misses h x' of t^(k+1) by, over the error of
// the prediction, and no less than the error of interpolation, h / psi_k.
static void error_constant_of_irregular_steps(void **state)
{
    (void)state;
    const double later[] = {1.02, 1.12, 1.3, 1.9};
    int          by_formula = 0;
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        for (int k = 1; k <= KD_BDF_ORDER_MAX; k++) {
            fixture             f;
            kd_bdf_coefficients c;
            double              x, xdot;
            make(&f, k + 1, k + 1);
            kd_bdf_history_coefficients(&f.history, later[i], k, &c);
            kd_bdf_history_predict(&f.history, &c, &x, &xdot);
            const double e = power(later[i], k + 1) - x, h = later[i] - times[0];
            const double missed = (k + 1) * power(later[i], k) - (xdot + c.cj * e);
            const double formula = fabs(h * missed / e), interpolation = h / (later[i] - times[k]);
            assert_near(c.error / fmax(formula, interpolation), 1, 1e-6);
            by_formula += formula > 1.1 * interpolation;
            drop(&f);
        }
    assert_true(by_formula > 0);
}

// A step that is taken back leaves the differences, times and number of terms of before.
static void taking_back_undoes_accepting(void **state)
{
    (void)state;
    for (int k = 1; k <= KD_BDF_ORDER_MAX; k++) {
        fixture             f, before;
        kd_bdf_coefficients c;
        double              x, xdot;
        make(&before, k + 1, 7);
        make(&f, k + 1, 7);
        kd_bdf_history_coefficients(&f.history, next, k, &c);
        kd_bdf_history_predict(&f.history, &c, &x, &xdot);
        const double e = power(next, 7) - x;
        kd_bdf_history_accept(&f.history, &c, &e);
        kd_bdf_history_retract(&f.history, &c, &f.values[0]);
        assert_int_equal(f.history.terms, before.history.terms);
        for (int j = 0; j <= k; j++) {
            assert_true(f.history.t[j] == before.history.t[j]);
            assert_near(f.history.D[j][0], before.history.D[j][0], 1e-10 * (1 + fabs(before.history.D[j][0])));
        }
        drop(&f);
        drop(&before);
    }
}

// Accepting points one after the other gives the same differences as all of them at once.
static void accepting_is_like_starting_anew(void **state)
{
    (void)state;
    for (int k = 1; k <= KD_BDF_ORDER_MAX; k++) {
        fixture             f, all;
        kd_bdf_coefficients c;
        double              x, xdot, t[KD_BDF_TERMS];
        make(&f, k + 1, 7);
        kd_bdf_history_coefficients(&f.history, next, k, &c);
        kd_bdf_history_predict(&f.history, &c, &x, &xdot);
        double e = power(next, 7) - x;
        kd_bdf_history_accept(&f.history, &c, &e);
        assert_int_equal(f.history.terms, k + 2);
        make(&all, 1, 0);
        for (int j = 0; j < k + 2; j++) {
            t[j] = j == 0 ? next : times[j - 1];
            all.values[j] = power(t[j], 7);
            all.X[j] = &all.values[j];
        }
        kd_bdf_history_points(&all.history, k + 2, t, all.X);
        for (int j = 0; j < k + 2; j++) {
            assert_true(f.history.t[j] == t[j]);
            assert_near(f.history.D[j][0], all.history.D[j][0], 1e-9 * (1 + fabs(all.history.D[j][0])));
        }
        drop(&f);
        drop(&all);
    }
}

// A start with x and x' is a double node: quadratics follow exactly from the second step on.
static void start_is_a_double_node(void **state)
{
    (void)state;
    fixture             f;
    kd_bdf_coefficients c;
    double              x = 2, xdot = 3, e, value;
    make(&f, 1, 0);
    kd_bdf_history_start(&f.history, 0, &x, &xdot); // x = 2 + 3 t + 5 t^2
    kd_bdf_history_coefficients(&f.history, 0.5, 1, &c);
    kd_bdf_history_predict(&f.history, &c, &x, &xdot);
    assert_near(x, 3.5, 1e-15);
    assert_near(xdot, 3, 1e-15);
    e = 2 + 1.5 + 1.25 - x;
    kd_bdf_history_accept(&f.history, &c, &e);
    kd_bdf_history_coefficients(&f.history, 0.9, 2, &c);
    kd_bdf_history_predict(&f.history, &c, &x, &xdot);
    assert_near(x, 2 + 2.7 + 5 * 0.81, 1e-14);
    assert_near(xdot, 3 + 9, 1e-13);
    kd_bdf_history_interpolate(&f.history, 2, 0.2, &value);
    assert_near(value, 2 + 0.6 + 0.2, 1e-14);
    drop(&f);
}

// Values that replace the differences in place give those of other functions; equal nodes of a start are told apart.
static void rebuilt_in_place(void **state)
{
    (void)state;
    fixture             f, other;
    kd_bdf_coefficients c;
    double              x = 2, xdot = 3, e = 0;
    make(&f, KD_BDF_TERMS, 4);
    make(&other, 5, 6);
    assert_int_equal(kd_bdf_history_distinct(&f.history), KD_BDF_TERMS);
    for (int j = 0; j < 5; j++) f.history.D[j][0] = power(times[j], 6);
    kd_bdf_history_rebuild(&f.history, 5);
    assert_int_equal(f.history.terms, 5);
    for (int j = 0; j < 5; j++) assert_true(f.history.D[j][0] == other.history.D[j][0]);
    kd_bdf_history_start(&f.history, 0, &x, &xdot);
    assert_int_equal(kd_bdf_history_distinct(&f.history), 1);
    kd_bdf_history_coefficients(&f.history, 0.5, 1, &c);
    kd_bdf_history_accept(&f.history, &c, &e);
    assert_int_equal(f.history.terms, 3);
    assert_int_equal(kd_bdf_history_distinct(&f.history), 2);
    drop(&f);
    drop(&other);
}

// The interpolant passes through its points.
static void interpolation_meets_the_points(void **state)
{
    (void)state;
    fixture f;
    make(&f, KD_BDF_TERMS, 9);
    for (int j = 0; j < KD_BDF_TERMS; j++) {
        double x;
        kd_bdf_history_interpolate(&f.history, KD_BDF_TERMS - 1, times[j], &x);
        assert_near(x, power(times[j], 9), 1e-12);
    }
    drop(&f);
}

// Moving the newest point by delta is accepting x + delta: differences of the moved values, older values untouched.
static void moved_point(void **state)
{
    (void)state;
    const double        delta = 1e-3;
    fixture             f;
    kd_bdf_coefficients c;
    double              x, xdot, value;
    make(&f, 4, 6);
    kd_bdf_history_coefficients(&f.history, next, 3, &c);
    kd_bdf_history_predict(&f.history, &c, &x, &xdot);
    double e = power(next, 6) - x + delta;
    kd_bdf_history_accept(&f.history, &c, &e);
    kd_bdf_history_interpolate(&f.history, 4, next, &value);
    assert_near(value, power(next, 6) + delta, 1e-14);
    for (int j = 0; j < 4; j++) {
        kd_bdf_history_interpolate(&f.history, 4, times[j], &value);
        assert_near(value, power(times[j], 6), 1e-12);
    }
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classical_coefficients),
        cmocka_unit_test(exact_for_polynomials),
        cmocka_unit_test(error_constant_of_irregular_steps),
        cmocka_unit_test(taking_back_undoes_accepting),
        cmocka_unit_test(accepting_is_like_starting_anew),
        cmocka_unit_test(start_is_a_double_node),
        cmocka_unit_test(rebuilt_in_place),
        cmocka_unit_test(interpolation_meets_the_points),
        cmocka_unit_test(moved_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
