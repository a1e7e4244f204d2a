// tests/expr/test_expr_table.c: tables of two arguments; splines, rings and tables against those of SciPy.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/failing_allocator.h"
#include "expr/scipy_numbers.h"
#include "expr/symbols.h"
#include "expr/table.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))
enum { NX = COUNT(GRID_X), NY = COUNT(GRID_Y), KINDS = KD_CURVE_KIND_MONOTONE + 1 };

static kd_table *table_of(kd_curve_kind kind, kd_outside outside)
{
    kd_table *t = NULL;
    char      why[200] = "";
    if (kd_table_create(kind, outside, NX, NY, GRID_X, GRID_Y, GRID_Z, &t, why, sizeof why) != KD_OK)
        fail_msg("%s", why);
    return t;
}

static kd_curve *curve_of(kd_curve_kind kind, kd_outside outside)
{
    double    y[COUNT(SPLINE_Y)];
    kd_curve *c = NULL;
    memcpy(y, SPLINE_Y, sizeof y);
    if (outside == KD_OUTSIDE_REPEAT) y[COUNT(y) - 1] = y[0];
    assert_int_equal(kd_curve_create(kind, outside, COUNT(y), SPLINE_X, y, &c, NULL, 0), KD_OK);
    return c;
}

// The spline has values and slopes of SciPy's, without a knot at its second row, and as a ring over several periods.
static void splines_are_those_of_scipy(void **state)
{
    (void)state;
    double    out[4];
    kd_curve *line = curve_of(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_ERROR);
    kd_curve *ring = curve_of(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_REPEAT);
    for (int i = 0; i < COUNT(SPLINE_AT); i++) {
        kd_curve_eval(line, SPLINE_AT[i], out);
        assert_near(out[0], SPLINE_VALUE[i], 1e-12);
        assert_near(out[1], SPLINE_SLOPE[i], 1e-12);
    }
    for (int i = 0; i < COUNT(RING_AT); i++) {
        kd_curve_eval(ring, RING_AT[i], out);
        assert_near(out[0], RING_VALUE[i], 1e-12);
        assert_near(out[1], RING_SLOPE[i], 1e-12);
    }
    kd_curve_destroy(line);
    kd_curve_destroy(ring);
}

// The table has values and both slopes of SciPy's bicubic spline.
static void tables_are_those_of_scipy(void **state)
{
    (void)state;
    double    f[4][4];
    kd_table *t = table_of(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_ERROR);
    for (int i = 0; i < COUNT(GRID_AT_X); i++) {
        kd_table_eval(t, GRID_AT_X[i], GRID_AT_Y[i], f);
        assert_near(f[0][0], GRID_VALUE[i], 1e-12);
        assert_near(f[1][0], GRID_BY_X[i], 1e-12);
        assert_near(f[0][1], GRID_BY_Y[i], 1e-12);
        assert_near(f[0][0], kd_table_value(t, GRID_AT_X[i], GRID_AT_Y[i]), 0.0);
    }
    kd_table_destroy(t);
}

// Every kind of table goes through its numbers, and each line of the grid is the curve through them.
static void lines_of_the_grid_are_curves(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        kd_table *t = table_of((kd_curve_kind)kind, KD_OUTSIDE_TANGENT);
        for (int j = 0; j < NY; j++) {
            double    column[NX], out[4], f[4][4];
            kd_curve *c = NULL;
            for (int i = 0; i < NX; i++) column[i] = GRID_Z[i * NY + j];
            assert_int_equal(kd_curve_create((kd_curve_kind)kind, KD_OUTSIDE_TANGENT, NX, GRID_X, column, &c, NULL, 0),
                             KD_OK);
            for (double x = -1.0; x < 4.0; x += 0.0371) {
                kd_curve_eval(c, x, out);
                kd_table_eval(t, x, GRID_Y[j], f);
                for (int k = 0; k < 4; k++) assert_near(f[k][0], out[k], 1e-9 * (1.0 + fabs(out[k])));
            }
            kd_curve_destroy(c);
        }
        kd_table_destroy(t);
    }
}

// Every partial derivative is the difference of the one before, inside and outside of the grid.
static void partial_derivatives(void **state)
{
    (void)state;
    const double h = 1e-6;
    unsigned     seed = 4;
    for (int outside = KD_OUTSIDE_TANGENT; outside <= KD_OUTSIDE_HOLD; outside++) {
        kd_table *t = table_of(KD_CURVE_KIND_SPLINE, (kd_outside)outside);
        for (int k = 0; k < 400; k++) {
            const double x = random_between(&seed, -1.0, 4.0), y = random_between(&seed, -2.0, 3.5);
            double       f[4][4], xa[4][4], xb[4][4], ya[4][4], yb[4][4];
            if (!kd_table_is_one_piece(t, (kd_interval){x - h, x + h}, (kd_interval){y - h, y + h})) continue;
            kd_table_eval(t, x, y, f);
            kd_table_eval(t, x - h, y, xa), kd_table_eval(t, x + h, y, xb);
            kd_table_eval(t, x, y - h, ya), kd_table_eval(t, x, y + h, yb);
            for (int i = 0; i < 4; i++)
                for (int j = 0; i + j < 4; j++) {
                    const double size = 1e-6 * (1.0 + fabs(f[i][j])) * 100.0;
                    if (i > 0) assert_near(f[i][j], (xb[i - 1][j] - xa[i - 1][j]) / (2.0 * h), size);
                    if (j > 0) assert_near(f[i][j], (yb[i][j - 1] - ya[i][j - 1]) / (2.0 * h), size);
                }
        }
        kd_table_destroy(t);
    }
}

// Across lines of the grid a spline keeps its second derivatives, and the others their first.
static void smooth_across_lines(void **state)
{
    (void)state;
    for (int kind = KD_CURVE_KIND_SPLINE; kind < KINDS; kind++) {
        kd_table *t = table_of((kd_curve_kind)kind, KD_OUTSIDE_TANGENT);
        for (int i = 0; i < NX; i++)
            for (double y = -1.9; y < 3.3; y += 0.17) {
                double left[4][4], right[4][4];
                kd_table_eval(t, GRID_X[i] - 1e-13, y, left);
                kd_table_eval(t, GRID_X[i] + 1e-13, y, right);
                const bool inner = i > 0 && i < NX - 1 && kind == KD_CURVE_KIND_SPLINE;
                for (int a = 0; a <= 1; a++)
                    for (int b = 0; b <= 1; b++) assert_near(left[a][b], right[a][b], 1e-9);
                if (inner) assert_near(left[2][0], right[2][0], 1e-8);
            }
        kd_table_destroy(t);
    }
}

// Outside: held values stay, tangents go on straight, and where there is no value there is none, but for rounding.
static void rules_outside(void **state)
{
    (void)state;
    double    out[4];
    kd_curve *hold = curve_of(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_HOLD),
             *none = curve_of(KD_CURVE_KIND_AKIMA, KD_OUTSIDE_ERROR);
    kd_curve_eval(hold, 7.5, out);
    assert_near(out[0], SPLINE_Y[8], 1e-14);
    assert_near(out[1], 0.0, 0.0);
    kd_curve_eval(hold, -3.0, out);
    assert_near(out[0], SPLINE_Y[0], 0.0);
    assert_true(isnan(kd_curve_value(none, 6.1)) && isnan(kd_curve_value(none, -2.1)));
    assert_near(kd_curve_value(none, 6.0 + 1e-14), SPLINE_Y[8], 1e-12);
    assert_true(kd_curve_is_outside(hold, 6.1) && !kd_curve_is_outside(hold, 6.0 + 1e-14) &&
                !kd_curve_is_outside(hold, 0.0));
    assert_true(isinf(kd_curve_bounds(none, (kd_interval){5.0, 6.5}).upper));
    kd_curve_destroy(hold);
    kd_curve_destroy(none);
    kd_table *t = table_of(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_HOLD);
    assert_near(kd_table_value(t, 9.0, 0.3), kd_table_value(t, 3.1, 0.3), 1e-13);
    assert_near(kd_table_value(t, 9.0, -4.0), GRID_Z[(NX - 1) * NY], 1e-13);
    assert_true(isnan(kd_table_value(t, NAN, 0.0)));
    kd_table_destroy(t);
    t = table_of(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_TANGENT);
    double f[4][4], g[4][4];
    kd_table_eval(t, 3.1, 0.3, f);
    kd_table_eval(t, 5.1, 0.3, g);
    assert_near(g[0][0], f[0][0] + 2.0 * f[1][0], 1e-12);
    assert_near(g[1][0], f[1][0], 1e-12);
    kd_table_destroy(t);
    t = table_of(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_ERROR);
    assert_true(isnan(kd_table_value(t, 3.2, 0.0)) && isnan(kd_table_value(t, 1.0, 2.6)));
    assert_true(kd_table_is_outside(t, 1.0, 2.6) && !kd_table_is_outside(t, 1.0, 2.5));
    kd_table_destroy(t);
}

// A ring of every kind has the same value a period later, no jump at its end, and its bounds hold what sampling finds.
static void rings(void **state)
{
    (void)state;
    unsigned seed = 9;
    for (int kind = 0; kind < KINDS; kind++) {
        kd_curve *c = curve_of((kd_curve_kind)kind, KD_OUTSIDE_REPEAT);
        double    a[4], b[4];
        for (double x = -2.0; x < 6.0; x += 0.0137) {
            kd_curve_eval(c, x, a);
            kd_curve_eval(c, x + 16.0, b);
            for (int k = 0; k < 2; k++) assert_near(a[k], b[k], 1e-11);
        }
        kd_curve_eval(c, 6.0 - 1e-13, a);
        kd_curve_eval(c, 6.0 + 1e-13, b);
        assert_near(a[0], b[0], 1e-11);
        if (kind != KD_CURVE_KIND_LINEAR) assert_near(a[1], b[1], 1e-9);
        if (kind == KD_CURVE_KIND_SPLINE) assert_near(a[2], b[2], 1e-9);
        for (int k = 0; k < 200; k++) {
            const double from = random_between(&seed, -30.0, 30.0),
                         to = from + random_between(&seed, 0.0, k % 3 ? 2.0 : 12.0);
            const kd_interval range = kd_curve_bounds(c, (kd_interval){from, to});
            double            least = INFINITY, most = -INFINITY;
            for (int i = 0; i <= 2000; i++) {
                const double f = kd_curve_value(c, fmin(from + (to - from) * i / 2000.0, to));
                least = fmin(least, f), most = fmax(most, f);
            }
            assert_true(range.lower <= least && range.upper >= most);
            assert_near(range.lower, least, 0.05);
            assert_near(range.upper, most, 0.05);
        }
        // corners of straight lines: all eight rows of a period
        if (kind == KD_CURVE_KIND_LINEAR)
            assert_near(kd_curve_breaks_before(c, 7.0 + 8.0) - kd_curve_breaks_before(c, 7.0), 8.0, 0.0);
        kd_curve_destroy(c);
    }
}

// Bounds of a table hold what sampling finds, in one cell, in many, outside; in a small range they are narrow.
static void bounds_hold(void **state)
{
    (void)state;
    unsigned seed = 12;
    for (int kind = 0; kind < KINDS; kind++)
        for (int outside = KD_OUTSIDE_TANGENT; outside <= KD_OUTSIDE_HOLD; outside++) {
            kd_table *t = table_of((kd_curve_kind)kind, (kd_outside)outside);
            for (int k = 0; k < 150; k++) {
                const double      size = k % 3 == 0 ? 3.0 : k % 3 == 1 ? 0.3 : 1e-3;
                const double      x = random_between(&seed, -0.5, 3.3), y = random_between(&seed, -1.5, 2.7);
                const kd_interval rx = {x, x + random_between(&seed, 0.0, size)},
                                  ry = {y, y + random_between(&seed, 0.0, size)};
                const kd_interval range = kd_table_bounds(t, rx, ry);
                double            least = INFINITY, most = -INFINITY;
                for (int i = 0; i <= 40; i++)
                    for (int j = 0; j <= 40; j++) {
                        const double f = kd_table_value(t, fmin(rx.lower + (rx.upper - rx.lower) * i / 40.0, rx.upper),
                                                        fmin(ry.lower + (ry.upper - ry.lower) * j / 40.0, ry.upper));
                        least = fmin(least, f), most = fmax(most, f);
                    }
                assert_true(range.lower <= least && range.upper >= most);
                if (size == 1e-3) assert_true(range.upper - range.lower <= 1.1 * (most - least) + 1e-6);
            }
            kd_table_destroy(t);
        }
}

// In expressions: value, gradient and jet of a table are those of its derivatives; a wrong number of arguments is told.
static void tables_in_expressions(void **state)
{
    (void)state;
    symbol_set     set = {kd_curve_of_table(table_of(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_TANGENT))};
    const double   h = 1e-5, v[2] = {0.7, -0.4}, a[2] = {0.3, 0.9}, e[2] = {0.2, -0.6};
    const compiled c = compile("road(sin(x) + 1, y*y - x)", &set);
    const double   x0[SYMBOL_SLOTS] = {0.4, 1.1};
    double         dx[2], f[5];
    const double   value = kd_expr_gradient(c.expr, x0, dx, c.work);
    assert_near(value, kd_table_value(kd_curve_table(set.road), sin(0.4) + 1.0, 1.21 - 0.4), 1e-14);
    for (int k = 0; k < 2; k++) {
        double low[SYMBOL_SLOTS] = {x0[0], x0[1]}, high[SYMBOL_SLOTS] = {x0[0], x0[1]};
        low[k] -= h, high[k] += h;
        const double slope = (kd_expr_value(c.expr, high, c.work) - kd_expr_value(c.expr, low, c.work)) / (2.0 * h);
        for (int i = 0; i < 2; i++)
            if (kd_expr_slot(c.expr, i) == k) assert_near(dx[i], slope, 1e-7);
    }
    // along x(t) = x0 + v t + a t^2/2
    kd_jet       motion[SYMBOL_SLOTS] = {{x0[0], v[0], a[0], e[0], e[1], 0.1}, {x0[1], v[1], a[1], e[1], e[0], -0.2}};
    const kd_jet jet = kd_expr_jet(c.expr, motion, c.work);
    for (int k = 0; k < 5; k++) {
        const double s = (k - 2) * 1e-3;
        const double at[SYMBOL_SLOTS] = {x0[0] + s * (v[0] + 0.5 * s * a[0]), x0[1] + s * (v[1] + 0.5 * s * a[1])};
        f[k] = kd_expr_value(c.expr, at, c.work);
    }
    assert_near(jet.x1, (f[0] - 8.0 * f[1] + 8.0 * f[3] - f[4]) / 12e-3, 1e-7);
    assert_near(jet.x2, (-f[0] + 16.0 * f[1] - 30.0 * f[2] + 16.0 * f[3] - f[4]) / 12e-6, 1e-5);
    kd_jet end[2];
    for (int k = 0; k < 2; k++) {
        kd_jet moved[SYMBOL_SLOTS];
        for (int m = 0; m < 2; m++) {
            const double s = k == 0 ? -h : h;
            moved[m] = (kd_jet){motion[m].x + s * motion[m].d,
                                motion[m].x1 + s * motion[m].d1,
                                motion[m].x2 + s * motion[m].d2,
                                0,
                                0,
                                0};
        }
        end[k] = kd_expr_jet(c.expr, moved, c.work);
    }
    assert_near(jet.d, (end[1].x - end[0].x) / (2.0 * h), 1e-7);
    assert_near(jet.d1, (end[1].x1 - end[0].x1) / (2.0 * h), 1e-6);
    assert_near(jet.d2, (end[1].x2 - end[0].x2) / (2.0 * h), 1e-6);
    release(c);
    const kd_symbols symbols = symbols_of(&set);
    kd_expr_error    error = {0};
    kd_expr         *none = NULL;
    assert_int_equal(kd_expr_compile("road(x)", &symbols, &none, &error), KD_ERR_MODEL);
    assert_string_equal(error.text, "function 'road' takes 2 arguments, not 1");
    assert_int_equal(kd_expr_compile("road + 1", &symbols, &none, &error), KD_ERR_MODEL);
    assert_string_equal(error.text, "'road' is a curve, write road(x, y)");
    assert_near(value_at("table(road, 1, 0.5)", x0, &set), GRID_Z[2 * NY + 2], 1e-14);
    kd_curve_destroy(set.road);
}

// Which curve is outside of its rows: only one that the value depends on.
static void the_curve_that_is_left(void **state)
{
    (void)state;
    symbol_set   set = symbol_set_create();
    const double far[SYMBOL_SLOTS] = {7.0, 1.0}, near[SYMBOL_SLOTS] = {2.0, 1.0};
    double       at[2];
    compiled     c = compile("if(y > 0, road(x), 3) + road(y)", &set);
    assert_ptr_equal(kd_expr_outside(c.expr, far, c.work, at), set.road);
    assert_near(at[0], 7.0, 0.0);
    assert_null(kd_expr_outside(c.expr, near, c.work, at));
    assert_true(kd_expr_has_curves(c.expr));
    release(c);
    c = compile("if(y < 0, road(x), 3) + road(y)", &set);
    assert_null(kd_expr_outside(c.expr, far, c.work, at));
    release(c);
    kd_curve_destroy(set.road);
}

// What is wrong is named, and memory that runs out is told.
static void wrong_tables(void **state)
{
    (void)state;
    char         why[200];
    kd_table    *t = NULL;
    const double x[] = {0.0, 1.0, 1.0}, y[] = {0.0, 1.0}, z[] = {0.0, 0.0, 0.0, INFINITY, 0.0, 0.0};
    assert_int_equal(kd_table_create(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_HOLD, 3, 2, x, y, z, &t, why, sizeof why),
                     KD_ERR_MODEL);
    assert_string_equal(why, "'x' of the table must increase, but number 3 is 1 behind 1");
    assert_int_equal(kd_table_create(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_HOLD, 2, 2, x, y, z, &t, why, sizeof why),
                     KD_ERR_MODEL);
    assert_string_equal(why, "number 2 in row 2 of 'z' of the table is not finite");
    assert_int_equal(kd_table_create(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_REPEAT, 2, 2, x, y, z, &t, why, sizeof why),
                     KD_ERR_MODEL);
    assert_string_equal(why, "a table of two arguments cannot repeat; write mod(x, period) as its argument");
    kd_curve *c = NULL;
    assert_int_equal(kd_curve_create(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_REPEAT, 2, x, y, &c, why, sizeof why),
                     KD_ERR_MODEL);
    assert_string_equal(why, "a curve that repeats must end as it begins, but its first y is 0 and its last 1");
    kd_status status = KD_ERR_MEMORY;
    for (long fail_at = 1; status != KD_OK; fail_at++) {
        failing_allocator f = {.fail_at = fail_at};
        failing_allocator_use(&f);
        status = kd_table_create(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_HOLD, NX, NY, GRID_X, GRID_Y, GRID_Z, &t, NULL, 0);
        assert_true(status == KD_OK || (status == KD_ERR_MEMORY && !t));
        c = status == KD_OK ? kd_curve_of_table(t) : NULL;
        kd_curve_destroy(c);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        assert_true(fail_at < 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splines_are_those_of_scipy),
        cmocka_unit_test(tables_are_those_of_scipy),
        cmocka_unit_test(lines_of_the_grid_are_curves),
        cmocka_unit_test(partial_derivatives),
        cmocka_unit_test(smooth_across_lines),
        cmocka_unit_test(rules_outside),
        cmocka_unit_test(rings),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(tables_in_expressions),
        cmocka_unit_test(the_curve_that_is_left),
        cmocka_unit_test(wrong_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
