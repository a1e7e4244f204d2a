// tests/expr/test_expr_builder.c: folding of constants, common parts, and what the result needs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "expr/internal.h"
#include "expr/symbols.h"

// Numbers, variables and instructions of an expression are those that its result needs, each once.
static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int         numbers, variables, instructions;
    } rows[] = {
        {"3", 1, 0, 0},
        {"x", 0, 1, 0},
        {"2*3 + 4^2/8 - sin(0)", 1, 0, 0},
        {"2*rho*x", 1, 1, 1},               // 15.6*x
        {"x + y + x", 0, 2, 2},             //
        {"sin(x*y) + cos(x*y)", 0, 2, 4},   // x*y once
        {"sin(x*y) + sin(y*x)", 0, 2, 3},   // products are the same in either order
        {"sin(x + y)*sin(y + x)", 0, 2, 3}, // sums, too
        {"sin(x - y) + sin(y - x)", 0, 2, 5},
        {"x + 0", 0, 1, 0},
        {"0 + x", 0, 1, 0},
        {"x - 0", 0, 1, 0},
        {"1*x", 0, 1, 0},
        {"x*1", 0, 1, 0},
        {"x/1", 0, 1, 0},
        {"x^1", 0, 1, 0},
        {"x^2", 0, 1, 1},
        {"x^0", 1, 0, 0},
        {"-(-x)", 0, 1, 0},
        {"0*x", 1, 1, 1}, // stays: x may be NaN
        {"if(n > 2, x, y)", 0, 1, 0},
        {"if(n > 3, x, y*z)", 0, 2, 1},
        {"if(x, y, z)", 0, 3, 1},
        {"0 and x", 1, 0, 0},
        {"x and 0", 1, 0, 0},
        {"1 or x", 1, 0, 0},
        {"x or 2", 1, 0, 0},
        {"1 and x", 1, 1, 1}, // stays: the result is 0 or 1
        {"deg(180)*x", 1, 1, 1},
        {"step5(x, 0, 1, 2, 3)", 2, 1, 4}, // 1 + 2*unit(x/2)
        {"2 + x + 2", 1, 1, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const compiled c = compile(rows[i].text, NULL);
        if (c.expr->nnumbers != rows[i].numbers || c.expr->nvariables != rows[i].variables ||
            c.expr->ninstructions != rows[i].instructions)
            fail_msg("%s: %d numbers, %d variables, %d instructions", rows[i].text, c.expr->nnumbers,
                     c.expr->nvariables, c.expr->ninstructions);
        // value and two derivatives of four expressions side by side; a jet has 6
        assert_int_equal(kd_expr_work_size(c.expr), 12 * (rows[i].numbers + rows[i].variables + rows[i].instructions));
        release(c);
    }
}

// Variables are listed once, in the order of the text.
static void test_slots(void **state)
{
    (void)state;
    const compiled c = compile("z*t + x*(z - t)", NULL);
    const int      slots[] = {2, 3, 0};
    assert_int_equal(kd_expr_slot_count(c.expr), 3);
    for (int i = 0; i < 3; i++) assert_int_equal(kd_expr_slot(c.expr, i), slots[i]);
    release(c);
}

// Constants that are not finite do not matter where a condition on constants switches them off.
static void test_switched_off(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double      value;
    } rows[] = {
        {"if(zero > 0, 1/zero, 5)", 5.0},       {"if(zero == 0, 5, x/zero)", 5.0},
        {"zero != 0 and 1/zero > 2", 0.0},      {"zero == 0 or log(zero) > 2", 1.0},
        {"1/zero > 2 and zero != 0", 0.0},      {"if(zero > 0, sin(1/zero)*2 + 1, 7)", 7.0},
        {"if(n > 0, n, if(x, 1/0, 2/0))", 3.0},
    };
    const double x[SYMBOL_SLOTS] = {1.0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_near(value_at(rows[i].text, x, NULL), rows[i].value, 0.0);
}

// Zeros of both signs are different constants.
static void test_signed_zero(void **state)
{
    (void)state;
    const double x[SYMBOL_SLOTS] = {0.0};
    assert_near(value_at("atan2(0, -1) - atan2(-0, -1)", x, NULL), 6.283185307179586, 1e-15);
    assert_near(value_at("atan2(x, -1) - atan2(-x, -1)", x, NULL), 6.283185307179586, 1e-15);
}

// Many parts: the table of nodes grows, and the sum of 1*x + 2*x + .. is right; common parts are found among many.
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    char *text = malloc(20 * MANY), *end = text;
    for (int i = 1; i <= MANY; i++) end += sprintf(end, "%s%d*x", i > 1 ? "+" : "", i);
    compiled     c = compile(text, NULL);
    const double x = 2.0;
    double       dx = 0.0;
    assert_near(kd_expr_gradient(c.expr, &x, &dx, c.work), (double)MANY * (MANY + 1), 0.0);
    assert_near(dx, 0.5 * MANY * (MANY + 1), 0.0);
    release(c);
    end = text;
    for (int i = 1; i <= MANY; i++) end += sprintf(end, "%ssin(%d*x)", i > 1 ? "+" : "", i % 7);
    c = compile(text, NULL);
    assert_int_equal(c.expr->ninstructions, 6 + 7 + MANY - 1); // 2*x .. 6*x, 0*x, their sines, and sums
    release(c);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),       cmocka_unit_test(test_slots), cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_signed_zero), cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
