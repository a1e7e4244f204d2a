// First changes of sign: roots to the tolerance, in order, none twice, double ones by bounds and by search, touching is
// none.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/crossing.h"

typedef struct functions {
    int n;
    double (*f[3])(double t);
    void (*bounds[3])(double t0, double t1, double *lower, double *upper);
    int evaluations;
} functions;

static kd_status values(double t, void *context, double *out)
{
    functions *f = context;
    f->evaluations++;
    for (int i = 0; i < f->n; i++) out[i] = f->f[i](t);
    return KD_OK;
}

static kd_status bounds(double t0, double t1, void *context, double *lower, double *upper)
{
    functions *f = context;
    for (int i = 0; i < f->n; i++) f->bounds[i](t0, t1, &lower[i], &upper[i]);
    return KD_OK;
}

// All crossings between 0 and t1 as a driver would find them, step by step
typedef struct found {
    int    n;
    double t[50];
    int    crossed[50][3];
} found;

static found find_all(functions *f, int samples, bool has_bounds, double t1, double h, double tolerance)
{
    kd_arena          arena = {0};
    kd_crossing       c;
    kd_step_functions of = {values, has_bounds ? bounds : NULL, f};
    found             all = {0};
    double            t = 0;
    kd_crossing_cut(&c, &arena, f->n, samples);
    assert_false(arena.failed);
    values(0, f, c.start);
    for (int i = 0; i < f->n; i++) {
        c.side[i] = (signed char)((c.start[i] > 0) - (c.start[i] < 0));
        c.band[i] = c.side[i] == 0 ? 1e-14 : 0;
        c.rate[i] = HUGE_VAL;
    }
    while (t < t1) {
        double end = fmin(t + h, t1), at;
        bool   is_found;
        values(end, f, c.end);
        assert_int_equal(kd_crossing_find(&c, &of, t, end, tolerance, &is_found, &at), KD_OK);
        if (is_found) {
            assert_true(all.n < 50 && at > t && at <= end);
            all.t[all.n] = at;
            for (int i = 0; i < f->n; i++) {
                all.crossed[all.n][i] = c.crossed[i];
                if (!c.crossed[i]) continue;
                c.side[i] = c.crossed[i];
                assert_true(c.side[i] * c.end[i] > 0); // behind the root
            }
            all.n++;
            for (int i = 0; i < f->n; i++) c.rate[i] = HUGE_VAL;
        }
        t = is_found ? at : end;
        memcpy(c.start, c.end, (size_t)f->n * sizeof *c.start);
    }
    kd_arena_release(&arena);
    return all;
}

static const double pi = 3.14159265358979324;

static double sine(double t)
{
    return sin(5 * t);
}
static double shifted(double t)
{
    return sin(5 * t + 1e-3);
}
static double cube(double t)
{
    return pow(t - 0.5, 3);
}

// Three functions over steps that hold one root, none, or several: all roots in order, each once, from the right side.
static void roots_in_order(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        const double h[] = {0.05, 0.3, 0.57};
        functions    f = {3, {sine, shifted, cube}, {NULL}, 0};
        found        all = find_all(&f, 7, false, 3, h[k], 1e-13);
        assert_int_equal(all.n, 9);
        // pi j / 5 - 2e-4 of the second, pi j / 5 of the first, 0.5 of the third
        int at = 0;
        for (int j = 1; j <= 4; j++) {
            if (j == 1) assert_true(fabs(all.t[at++] - 0.5) < 1e-4); // a flat root is as exact as its values
            assert_true(fabs(all.t[at] - (pi * j / 5 - 2e-4)) < 2e-13 && all.crossed[at][1] == (j % 2 ? -1 : 1));
            assert_true(fabs(all.t[at + 1] - pi * j / 5) < 2e-13 && all.crossed[at + 1][0] == (j % 2 ? -1 : 1));
            assert_true(all.crossed[at][0] == 0 && all.crossed[at + 1][1] == 0);
            at += 2;
        }
    }
}

static double fast(double t)
{
    return sin(50 * t);
}

static void fast_bounds(double t0, double t1, double *lower, double *upper)
{
    const double middle = fast(0.5 * (t0 + t1)), most = 25 * (t1 - t0); // |s'| <= 50
    *lower = middle - most;
    *upper = middle + most;
}

// Many roots of one function in one step: the first one is found, not the one that a search between the ends meets.
static void many_roots_in_a_step(void **state)
{
    (void)state;
    const double h[] = {3, 0.3, 0.2, 0.1};
    for (int k = 0; k < 4; k++) {
        for (int has_bounds = k < 2; has_bounds < 2; has_bounds++) { // samples see so many roots in short steps only
            functions f = {1, {fast}, {fast_bounds}, 0};
            found     all = find_all(&f, 7, has_bounds, 3, h[k], 1e-13);
            assert_int_equal(all.n, 47);
            for (int j = 1; j <= 47; j++)
                assert_true(fabs(all.t[j - 1] - pi * j / 50) < 2e-13 && all.crossed[j - 1][0] == (j % 2 ? -1 : 1));
        }
    }
}

// Roots that are closer than the tolerance are one crossing of both functions.
static void simultaneous_roots(void **state)
{
    (void)state;
    functions f = {2, {sine, shifted}, {NULL}, 0};
    found     all = find_all(&f, 5, false, 0.7, 0.1, 1e-3);
    assert_int_equal(all.n, 1);
    assert_true(all.crossed[0][0] == -1 && all.crossed[0][1] == -1);
}

static double dip_depth; // of the parabola below zero

static double dip(double t)
{
    return (t - 0.37) * (t - 0.37) - dip_depth;
}
static void dip_bounds(double t0, double t1, double *lower, double *upper)
{
    bool inside = t0 < 0.37 && t1 > 0.37;
    *lower = inside ? -dip_depth - 0.1 * (t1 - t0) : fmin(dip(t0), dip(t1)) - 0.1 * (t1 - t0); // not sharp
    *upper = fmax(dip(t0), dip(t1)) + 0.1 * (t1 - t0);
}
static double wave(double t)
{
    return 1.0001 - cos(20 * (t - 0.3)) - 2 * dip_depth;
}

// A dip below zero inside one step is found down to a depth of 1e-12, with bounds and by search; one that stays above
// is none.
static void dips(void **state)
{
    (void)state;
    for (int has_bounds = 0; has_bounds < 2; has_bounds++) {
        for (int k = 1; k <= 12; k++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                dip_depth = sign * pow(10, -k);
                functions f = {1, {dip}, {dip_bounds}, 0};
                found     all = find_all(&f, 4, has_bounds, 1, 1, 1e-13);
                if (all.n != (sign > 0 ? 2 : 0)) print_error("depth %g, bounds %d: %d\n", dip_depth, has_bounds, all.n);
                assert_int_equal(all.n, sign > 0 ? 2 : 0);
                for (int i = 0; i < all.n; i++)
                    assert_true(fabs(fabs(all.t[i] - 0.37) - sqrt(dip_depth)) < 1e-13 + 1e-16 / sqrt(dip_depth));
            }
        }
    }
    dip_depth = 1e-3; // several waves in one step
    functions f = {1, {wave}, {NULL}, 0};
    assert_int_equal(find_all(&f, 9, false, 1, 1, 1e-13).n, 6);
}

// Far from zero nothing is evaluated but the ends of the steps.
static double far_away(double t)
{
    return 10 + sin(t);
}

static void far_from_zero(void **state)
{
    (void)state;
    functions f = {1, {far_away}, {NULL}, 0};
    assert_int_equal(find_all(&f, 5, false, 10, 0.5, 1e-13).n, 0);
    assert_true(f.evaluations <= 21 + 5); // the first step has no step before it
}

// A function that starts at zero has the sign that it gets; coming back is a crossing.
static double from_zero(double t)
{
    return t * (0.4 - t);
}

static void start_at_zero(void **state)
{
    (void)state;
    functions f = {1, {from_zero}, {NULL}, 0};
    found     all = find_all(&f, 5, false, 1, 1, 1e-13);
    assert_true(all.n == 1 && fabs(all.t[0] - 0.4) < 2e-13 && all.crossed[0][0] == -1);
}

static double triple[3]; // roots

static double thrice(double t)
{
    return -(t - triple[0]) * (t - triple[1]) * (t - triple[2]);
}

// the value in the middle, and half of the width times the largest slope
static void thrice_bounds(double t0, double t1, double *lower, double *upper)
{
    double far[3];
    for (int i = 0; i < 3; i++) far[i] = fmax(fabs(t0 - triple[i]), fabs(t1 - triple[i]));
    const double slope = far[0] * far[1] + far[1] * far[2] + far[2] * far[0];
    const double middle = thrice(0.5 * (t0 + t1)), most = 0.5 * (t1 - t0) * slope;
    *lower = middle - most;
    *upper = middle + most;
}

// Two crossings hide shortly in front of the one that the ends show: they come first, from 1.1e-3 of its distance on.
static void hidden_crossings_next_to_the_last(void **state)
{
    (void)state;
    for (int k = 0; k < 200; k++) {
        const double last = 0.05 + 0.9 * fmod(0.6180339887 * k, 1), away = 1.1e-3 * pow(500, fmod(0.7548776662 * k, 1));
        triple[0] = last * (1 - away);
        triple[1] = last * (1 - away * (0.85 + 0.1 * fmod(0.5698402910 * k, 1)));
        triple[2] = last;
        functions f = {1, {thrice}, {thrice_bounds}, 0};
        found     all = find_all(&f, 4, true, 1, 1, 1e-13);
        if (all.n != 3 || fabs(all.t[0] - triple[0]) > 1e-7)
            fail_msg("%.17g, %.17g before %g: %d found, %.17g", last - triple[0], last - triple[1], last, all.n,
                     all.t[0]);
    }
}

// One crossing of a function with exact bounds: they exclude others in front of it, but for what is next to it, where every
// bound has a zero inside. That is not searched down to the tolerance.
static double single_root;
static double straight(double t)
{
    return single_root - t;
}
static void straight_bounds(double t0, double t1, double *lower, double *upper)
{
    *lower = straight(t1), *upper = straight(t0);
}

static void what_is_next_to_a_crossing_is_left(void **state)
{
    (void)state;
    for (int k = 0; k < 50; k++) {
        single_root = 0.05 + 0.9 * fmod(0.6180339887 * k, 1);
        functions f = {1, {straight}, {straight_bounds}, 0};
        found     all = find_all(&f, 4, true, 1, 1, 1e-13);
        assert_true(all.n == 1 && fabs(all.t[0] - single_root) < 1e-13);
        if (f.evaluations > 30) fail_msg("%d evaluations for the crossing at %g", f.evaluations, single_root);
    }
}

// What flies past at `passed`, `beside` away at least, and is counted within `within`
static double passed, beside, within;
static double distance(double t)
{
    return hypot(t - passed, beside) - within;
}

// A distance to what flies past in the middle of a step has a corner, wherever it is: both crossings are found without bounds.
static void corners_of_distances(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int k = 0; k < 2000; k++) {
        double part[3];
        for (int j = 0; j < 3; j++) part[j] = (double)((seed = seed * 1664525u + 1013904223u) >> 8) / 16777216.0;
        passed = 0.01 + 0.98 * part[0];
        beside = pow(10, -1 - 3 * part[1]);
        within = beside * (1.02 + 2 * part[2]);
        const double half = sqrt(within * within - beside * beside);
        if (passed < half || passed > 1 - half) continue;
        functions f = {1, {distance}, {NULL}, 0};
        found     all = find_all(&f, 7, false, 1, 1, 1e-13);
        if (all.n != 2) fail_msg("passed at %g, %g beside, within %g: %d crossings", passed, beside, within, all.n);
        assert_true(fabs(all.t[0] - (passed - half)) < 1e-9 && fabs(all.t[1] - (passed + half)) < 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots_in_order),
        cmocka_unit_test(simultaneous_roots),
        cmocka_unit_test(dips),
        cmocka_unit_test(far_from_zero),
        cmocka_unit_test(start_at_zero),
        cmocka_unit_test(many_roots_in_a_step),
        cmocka_unit_test(hidden_crossings_next_to_the_last),
        cmocka_unit_test(what_is_next_to_a_crossing_is_left),
        cmocka_unit_test(corners_of_distances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
