// A kink: jumps of x, x', x'' and the past that they make; steps that end at instants.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "integrator/attempt.h"
#include "integrator/bdf_history.h"
#include "integrator/kink.h"
#include "integrator/toy_ode.h"

static void make_kink(kd_kink *kink, kd_arena *arena, double x, double xdot, double xddot)
{
    kd_kink_cut(kink, arena, 1);
    assert_false(arena->failed);
    kink->x[0] = x;
    kink->xdot[0] = xdot;
    kink->xddot[0] = xddot;
}

// q(t) and q'(t) are the polynomial of the jumps and its derivative.
static void polynomial_of_a_kink(void **state)
{
    (void)state;
    kd_arena arena = {0};
    kd_kink  kink = {0};
    make_kink(&kink, &arena, 2, -3, 8);
    for (double tau = -1; tau <= 0; tau += 0.25) {
        double y[1] = {10}, slope[1] = {20};
        kd_kink_add(&kink, tau, y);
        kd_kink_add_slope(&kink, tau, slope);
        assert_true(fabs(y[0] - (12 - 3 * tau + 4 * tau * tau)) < 1e-15);
        assert_true(fabs(slope[0] - (17 + 8 * tau)) < 1e-15);
    }
    kd_arena_release(&arena);
}

// An equation x' = f(t, x) whose f jumps: the jump is what it answers less what it answered before; x stays.
static void jump_of_a_right_hand_side(void **state)
{
    (void)state;
    kd_arena arena = {0};
    kd_kink  kink = {0};
    toy      equation;
    toy_init(&equation, 5);
    make_kink(&kink, &arena, 7, 7, 7);
    double x[1] = {3}, xdot[1] = {0.25};
    assert_int_equal(kd_kink_solve(&kink, &equation.dae, 0.5, x, xdot), KD_EVAL_OK);
    const double right = -5 * (3 - cos(0.5)) - sin(0.5);
    assert_true(x[0] == 3 && kink.x[0] == 0 && kink.xddot[0] == 0);
    assert_true(fabs(xdot[0] - right) < 1e-14 && fabs(kink.xdot[0] - (right - 0.25)) < 1e-14);
    equation.beyond = 0;
    assert_int_equal(kd_kink_solve(&kink, &equation.dae, 0.5, x, xdot), KD_EVAL_RETRY);
    kd_arena_release(&arena);
}

// Cubics that differ by q(t) have histories that differ by what the jumps make of one of them.
static void bent_history(void **state)
{
    (void)state;
    enum { POINTS = 5 };
    const double   t[POINTS] = {2, 1.7, 1.1, 0.4, 0.1}, jump = 1.5, slope = -0.7, bend = 3;
    kd_arena       arena = {0};
    kd_kink        kink = {0};
    kd_bdf_history left = {0}, right = {0};
    double         from[POINTS], to[POINTS], *X[POINTS], *Y[POINTS];
    make_kink(&kink, &arena, jump, slope, bend);
    kd_bdf_history_cut(&left, &arena, 1);
    kd_bdf_history_cut(&right, &arena, 1);
    for (int i = 0; i < POINTS; i++) {
        const double tau = t[i] - t[0];
        from[i] = to[i] = 1 - t[i] + 0.3 * t[i] * t[i] * t[i];
        kd_kink_add(&kink, tau, &to[i]);
        X[i] = &from[i];
        Y[i] = &to[i];
    }
    kd_bdf_history_points(&left, POINTS, t, X);
    kd_bdf_history_points(&right, POINTS, t, Y);
    kd_bdf_history_bend(&left, kink.x, kink.xdot, kink.xddot);
    for (int i = 0; i < POINTS; i++) assert_true(fabs(left.D[i][0] - right.D[i][0]) < 1e-13);
    kd_arena_release(&arena);
}

// Steps to an instant: one that ends there, or equal ones; not longer than planned by more than the part that is
// allowed, and the last step once more where only the rounding of the times is between them.
static void landing(void **state)
{
    (void)state;
    assert_true(kd_attempt_landing(0, 1, 2, 0, 0) == 1);
    assert_true(kd_attempt_landing(0, 1, 0.98, 0, 0) == 0.5);
    assert_true(kd_attempt_landing(0, 1, 0.98, 0.05, 0) == 1);
    assert_true(kd_attempt_landing(0, 1, 0.9, 0.05, 0) == 0.5);
    assert_true(fabs(kd_attempt_landing(0, 1, 0.4, 0.05, 0) - 1.0 / 3) < 1e-15);
    assert_true(kd_attempt_landing(0, 1, 0.03, 0.05, 0) == 0.03);
    for (int k = 1; k < 1000; k++) { // 0.001 k is not what 0.001 is added to
        assert_true(kd_attempt_landing(1e-3 * k, 1e-3 * (k + 1), 1, 0, 1e-3) == 1e-3);
        assert_true(kd_attempt_landing(1e-3 * k, 1e-3 * (k + 1), 1, 0, 1.0001e-3) != 1.0001e-3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polynomial_of_a_kink),
        cmocka_unit_test(jump_of_a_right_hand_side),
        cmocka_unit_test(bent_history),
        cmocka_unit_test(landing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
