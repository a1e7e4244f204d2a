// tests/expr/test_expr_evaluate.c: random expressions against direct evaluation and differences; contracts of
// evaluation.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>

#include "core/failing_allocator.h"
#include "expr/symbols.h"

// ---- random expressions ---------------------------------------------------------------------------------------------

enum { VARIABLES = 4 };

typedef struct maker {
    unsigned      seed;
    char          text[20000];
    const double *x;
} maker;

static void put(maker *m, const char *text)
{
    strcat(m->text, text);
}

static double make(maker *m, int depth);

static double make_leaf(maker *m)
{
    char number[40];
    if (random_next(&m->seed) % 3) {
        const unsigned slot = random_next(&m->seed) % VARIABLES;
        put(m, symbol_variables[slot]);
        return m->x[slot];
    }
    snprintf(number, sizeof number, "%.3f", random_between(&m->seed, 0.1, 3.0));
    put(m, number);
    return strtod(number, NULL);
}

static double put_then_make(maker *m, const char *text, int depth)
{
    put(m, text);
    return make(m, depth);
}

// text in front, two operands, text behind
static void make_pair(maker *m, const char *front, const char *between, const char *behind, int depth, double *a,
                      double *b)
{
    *a = put_then_make(m, front, depth);
    *b = put_then_make(m, between, depth);
    put(m, behind);
}

// Write a random expression and compute its value on the way. All functions stay within their domains.
static double make(maker *m, int depth)
{
    double a, b;
    if (depth == 0) return make_leaf(m);
    depth--;
    switch (random_next(&m->seed) % 18) {
    case 0:
        make_pair(m, "(", " + ", ")", depth, &a, &b);
        return a + b;
    case 1:
        make_pair(m, "(", " - ", ")", depth, &a, &b);
        return a - b;
    case 2:
        make_pair(m, "(", ")*(", ")", depth, &a, &b);
        return a * b;
    case 3:
        make_pair(m, "(", ")/(2 + cos(", "))", depth, &a, &b);
        return a / (2.0 + cos(b));
    case 4:
        a = put_then_make(m, "sin(", depth);
        put(m, ")");
        return sin(a);
    case 5:
        a = put_then_make(m, "sqrt(1 + (", depth);
        put(m, ")^2)");
        return sqrt(1.0 + a * a);
    case 6:
        a = put_then_make(m, "log(2 + sin(", depth);
        put(m, "))");
        return log(2.0 + sin(a));
    case 7:
        a = put_then_make(m, "exp(-abs(", depth);
        put(m, "))");
        return exp(-fabs(a));
    case 8:
        a = put_then_make(m, "tanh(", depth);
        put(m, ")");
        return tanh(a);
    case 9:
        make_pair(m, "atan2(", ", 1 + (", ")^2)", depth, &a, &b);
        return atan2(a, 1.0 + b * b);
    case 10:
        make_pair(m, "hypot(1 + ", ", ", ")", depth, &a, &b);
        return hypot(1.0 + a, b);
    case 11:
        make_pair(m, "min(", ", ", ")", depth, &a, &b);
        return a < b ? a : b;
    case 12: {
        make_pair(m, "if(", " < ", ", ", depth, &a, &b);
        double c, d;
        make_pair(m, "", ", ", ")", depth, &c, &d);
        return a < b ? c : d;
    }
    case 13:
        make_pair(m, "step5(", ", 0, 1, 2, ", ")", depth, &a, &b);
        a = a <= 0.0 ? 0.0 : a >= 2.0 ? 1.0 : 0.5 * a;
        return 1.0 + (b - 1.0) * (a * a * a * (10.0 + a * (6.0 * a - 15.0)));
    case 14:
        make_pair(m, "(1.5 + sin(", "))^cos(", ")", depth, &a, &b);
        return pow(1.5 + sin(a), cos(b));
    case 15:
        a = put_then_make(m, "-(", depth);
        put(m, ")^3");
        return -a * a * a;
    case 16:
        make_pair(m, "ramp(", " - ", ")", depth, &a, &b);
        return a > b ? a - b : 0.0;
    default:
        make_pair(m, "asin(0.9*sin(", "))*cosh(tanh(", "))", depth, &a, &b);
        return asin(0.9 * sin(a)) * cosh(tanh(b));
    }
}

typedef struct expression {
    maker    maker;
    double   x[VARIABLES], value;
    compiled c;
} expression;

static void random_expression(expression *e, unsigned seed)
{
    *e = (expression){.maker = {.seed = 2654435761u * (seed + 1)}};
    for (int i = 0; i < VARIABLES; i++) e->x[i] = random_between(&e->maker.seed, -2.0, 2.0);
    e->maker.x = e->x;
    e->value = make(&e->maker, 2 + (int)(seed % 4));
    e->c = compile(e->maker.text, NULL);
}

enum { EXPRESSIONS = 400 };

// The value is the one that was computed while the text was written.
static void test_random_values(void **state)
{
    (void)state;
    static expression e;
    for (unsigned seed = 0; seed < EXPRESSIONS; seed++) {
        random_expression(&e, seed);
        const double value = kd_expr_value(e.c.expr, e.x, e.c.work);
        if (!(fabs(value - e.value) <= 1e-11 * (1.0 + fabs(e.value))))
            fail_msg("%s: %.17g instead of %.17g", e.maker.text, value, e.value);
        release(e.c);
    }
}

// The difference quotient of f by t at 0, and whether two increments agree on it (no kink, no overflow nearby).
typedef double (*line)(const expression *e, double t);

static bool difference(line f, const expression *e, double h, double *quotient)
{
    const double fine = (f(e, h) - f(e, -h)) / (2.0 * h), coarse = (f(e, 2.0 * h) - f(e, -2.0 * h)) / (4.0 * h);
    *quotient = fine + (fine - coarse) / 3.0; // error h^4
    return fabs(fine - coarse) <= 1e-6 * (1.0 + fabs(fine));
}

static const double DIRECTION[VARIABLES] = {0.7, -0.4, 1.1, 0.3};

static double along_direction(const expression *e, double t)
{
    double x[VARIABLES];
    for (int i = 0; i < VARIABLES; i++) x[i] = e->x[i] + t * DIRECTION[i];
    return kd_expr_value(e->c.expr, x, e->c.work);
}

// Gradient, tangent of the jet and difference agree along a direction.
static void test_random_gradients(void **state)
{
    (void)state;
    static expression e;
    int               compared = 0;
    for (unsigned seed = 0; seed < EXPRESSIONS; seed++) {
        random_expression(&e, seed);
        double dx[VARIABLES], sum = 0.0, size = 0.0, quotient;
        kd_jet x[VARIABLES];
        kd_expr_gradient(e.c.expr, e.x, dx, e.c.work);
        for (int i = 0; i < kd_expr_slot_count(e.c.expr); i++) {
            sum += dx[i] * DIRECTION[kd_expr_slot(e.c.expr, i)];
            size += fabs(dx[i]);
        }
        for (int i = 0; i < VARIABLES; i++) x[i] = (kd_jet){.x = e.x[i], .d = DIRECTION[i]};
        const kd_jet jet = kd_expr_jet(e.c.expr, x, e.c.work);
        if (!(fabs(jet.d - sum) <= 1e-12 * (1.0 + size))) fail_msg("%s: %.17g, %.17g", e.maker.text, sum, jet.d);
        if (difference(along_direction, &e, 1e-4, &quotient)) {
            compared++;
            if (!(fabs(sum - quotient) <= 1e-8 * (1.0 + fabs(e.value) + size)))
                fail_msg("%s: %.12g, by differences %.12g", e.maker.text, sum, quotient);
        }
        release(e.c);
    }
    assert_true(compared > EXPRESSIONS * 8 / 10);
}

// ---- random motions -------------------------------------------------------------------------------------------------

static const kd_jet MOTION[VARIABLES] = {
    {0, 0.8, -0.5, 0.7, -0.3, 0.9}, {0, -0.6, 0.4, 0.5, 1.1, -0.2}, {0, 1.2, 0.3, -0.9, 0.4, 0.6}, {0, 1, 0, 0, 0, 0}};

// The motion x0 + MOTION, seen at time t, moved by a share of its tangent; its tangent is that of the shift.
static kd_jet jet_at(const expression *e, double t, double shift)
{
    kd_jet x[VARIABLES];
    for (int i = 0; i < VARIABLES; i++) {
        const kd_jet *m = &MOTION[i];
        const double  x1 = m->x1 + shift * m->d1, x2 = m->x2 + shift * m->d2;
        x[i] = (kd_jet){e->x[i] + shift * m->d + t * (x1 + 0.5 * t * x2),
                        x1 + t * x2,
                        x2,
                        m->d + t * (m->d1 + 0.5 * t * m->d2),
                        m->d1 + t * m->d2,
                        m->d2};
    }
    return kd_expr_jet(e->c.expr, x, e->c.work);
}

// clang-format off
static double x_of_time(const expression *e, double t)   { return jet_at(e, t, 0.0).x; }
static double x1_of_time(const expression *e, double t)  { return jet_at(e, t, 0.0).x1; }
static double d_of_time(const expression *e, double t)   { return jet_at(e, t, 0.0).d; }
static double d1_of_time(const expression *e, double t)  { return jet_at(e, t, 0.0).d1; }
static double x_of_shift(const expression *e, double t)  { return jet_at(e, 0.0, t).x; }
static double x1_of_shift(const expression *e, double t) { return jet_at(e, 0.0, t).x1; }
static double x2_of_shift(const expression *e, double t) { return jet_at(e, 0.0, t).x2; }
// clang-format on

// Each part of a jet is the difference of the part before: x -> x1 -> x2 and d -> d1 -> d2 in time, x -> d and so on
// along the tangent.
static void test_random_jets(void **state)
{
    (void)state;
    static expression e;
    int               compared = 0;
    for (unsigned seed = 0; seed < EXPRESSIONS; seed++) {
        random_expression(&e, seed);
        const kd_jet jet = jet_at(&e, 0.0, 0.0);
        const struct {
            line   f;
            double derivative;
        } rows[] = {{x_of_time, jet.x1}, {x1_of_time, jet.x2},  {d_of_time, jet.d1},  {d1_of_time, jet.d2},
                    {x_of_shift, jet.d}, {x1_of_shift, jet.d1}, {x2_of_shift, jet.d2}};
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            double quotient;
            if (!difference(rows[i].f, &e, 1e-4, &quotient)) continue;
            compared++;
            if (!(fabs(rows[i].derivative - quotient) <= 1e-7 * (1.0 + fabs(quotient) + fabs(rows[i].f(&e, 0.0)))))
                fail_msg("%s: part %zu is %.12g, by differences %.12g", e.maker.text, i, rows[i].derivative, quotient);
        }
        release(e.c);
    }
    assert_true(compared > EXPRESSIONS * 7 * 6 / 10);
}

// Along one variable: the jet in which that one moves at unit rate and the others stand still, bit by bit: inputs of time
// are evaluated this way.
static void test_random_bends(void **state)
{
    (void)state;
    static expression e;
    int               compared = 0;
    for (unsigned seed = 0; seed < EXPRESSIONS; seed++) {
        random_expression(&e, seed);
        double *work = calloc((size_t)kd_expr_work_size(e.c.expr) + 1, sizeof *work);
        for (int slot = 0; slot < VARIABLES; slot++) {
            kd_jet x[VARIABLES];
            double f[3];
            for (int i = 0; i < VARIABLES; i++) x[i] = (kd_jet){.x = e.x[i], .x1 = i == slot ? 1.0 : 0.0};
            const kd_jet jet = kd_expr_jet(e.c.expr, x, work);
            kd_expr_along(e.c.expr, e.x, slot, work, f);
            const double wanted[3] = {jet.x, jet.x1, jet.x2};
            for (int k = 0; k < 3; k++) {
                compared += isfinite(wanted[k]) && wanted[k] != 0.0;
                if (!(f[k] == wanted[k] || (isnan(f[k]) && isnan(wanted[k]))))
                    fail_msg("%s: derivative %d by %d is %.17g, by jets %.17g", e.maker.text, k, slot, f[k], wanted[k]);
            }
        }
        free(work);
        release(e.c);
    }
    assert_true(compared > 3 * EXPRESSIONS);
}

// The same text with other variables, x for y and so on, and other last digits of numbers
static void alter(const char *text, int by, char *out)
{
    for (const char *c = text; *c; c++) {
        const bool word = (c > text && (isalnum((unsigned char)c[-1]) || c[-1] == '.')) || isalnum((unsigned char)c[1]);
        const bool last = isdigit((unsigned char)*c) && c - text > 3 && c[-3] == '.' && !isdigit((unsigned char)c[1]);
        const char *letter = strchr("xyzt", *c);
        *out++ = (char)(letter && !word ? "xyzt"[(letter - "xyzt" + by) % 4] : last ? '1' + (*c - '0' + by) % 9 : *c);
    }
    *out = '\0';
}

// Four expressions that are alike give the bits that each of them gives alone, values and derivatives
static void test_side_by_side(void **state)
{
    (void)state;
    static expression e;
    static char       text[sizeof e.maker.text];
    int               compared = 0;
    for (unsigned seed = 0; seed < EXPRESSIONS; seed++) {
        compiled       c[KD_EXPR_SIDE];
        const kd_expr *expr[KD_EXPR_SIDE];
        const int      slot[KD_EXPR_SIDE] = {0, 1, 2, 3};
        double         value[KD_EXPR_SIDE], f[KD_EXPR_SIDE][3], one[3];
        bool           alike = true;
        random_expression(&e, seed);
        for (int k = 0; k < KD_EXPR_SIDE; k++) {
            alter(e.maker.text, k, text);
            c[k] = compile(text, NULL);
            expr[k] = c[k].expr;
            alike = alike && kd_expr_is_like(expr[0], expr[k]);
        }
        double *work = calloc((size_t)kd_expr_work_size(expr[0]) + 1, sizeof *work);
        if (alike) {
            kd_expr_values(expr, e.x, work, value);
            kd_expr_bends_along(expr, e.x, slot, work, f);
        }
        for (int k = 0; k < KD_EXPR_SIDE && alike; k++, compared++) {
            const double alone = kd_expr_value(expr[k], e.x, c[k].work);
            kd_expr_along(expr[k], e.x, slot[k], c[k].work, one);
            if (memcmp(&alone, &value[k], sizeof alone) != 0 && !(isnan(alone) && isnan(value[k])))
                fail_msg("%s: %.17g, alone %.17g", e.maker.text, value[k], alone);
            for (int i = 0; i < 3; i++)
                if (f[k][i] != one[i] && !(isnan(f[k][i]) && isnan(one[i])))
                    fail_msg("%s: derivative %d is %.17g, alone %.17g", e.maker.text, i, f[k][i], one[i]);
        }
        free(work);
        for (int k = 0; k < KD_EXPR_SIDE; k++) release(c[k]);
        release(e.c);
    }
    assert_true(compared > EXPRESSIONS);
    // other operations, other numbers of variables
    compiled a = compile("x + y", NULL), b = compile("x - y", NULL), d = compile("x + x*y", NULL);
    assert_true(kd_expr_is_like(a.expr, a.expr) && !kd_expr_is_like(a.expr, b.expr) &&
                !kd_expr_is_like(a.expr, d.expr));
    release(a), release(b), release(d);
}

// Jets of polynomials in t are their Taylor coefficients, exactly.
static void test_taylor(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double      t, x, x1, x2;
    } rows[] = {
        {"t^3 - 2*t^2 + 5", 2.0, 5.0, 4.0, 8.0},
        {"(t - 1)^2*(t + 1)", 3.0, 16.0, 20.0, 16.0},
        {"1/t", 2.0, 0.5, -0.25, 0.25},
        {"t*abs(t)", -3.0, -9.0, 6.0, -2.0},
        {"if(t < 1, t^2, 2*t - 1)", 0.5, 0.25, 1.0, 2.0},
        {"if(t < 1, t^2, 2*t - 1)", 1.0, 1.0, 2.0, 0.0},
        {"step5(t, 0, 0, 2, 1)", 1.0, 0.5, 0.9375, 0.0},
        {"step3(t, 0, 0, 2, 1)", 1.0, 0.5, 0.75, 0.0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const compiled c = compile(rows[i].text, NULL);
        const kd_jet   x[SYMBOL_SLOTS] = {[3] = {rows[i].t, 1.0, 0.0, 1.0, 0.0, 0.0}};
        const kd_jet   jet = kd_expr_jet(c.expr, x, c.work);
        assert_near(jet.x, rows[i].x, 1e-14);
        assert_near(jet.x1, rows[i].x1, 1e-14);
        assert_near(jet.x2, rows[i].x2, 1e-14);
        assert_near(jet.d, rows[i].x1, 1e-14); // the tangent is the time direction
        assert_near(jet.d1, rows[i].x2, 1e-14);
        release(c);
    }
}

// ---- contracts ------------------------------------------------------------------------------------------------------

// Evaluation allocates nothing, writes no further than the workspace and dx, leaves x alone and repeats itself.
static void test_contracts(void **state)
{
    (void)state;
    static expression e;
    for (unsigned seed = 0; seed < 50; seed++) {
        random_expression(&e, seed);
        const int size = kd_expr_work_size(e.c.expr), slots = kd_expr_slot_count(e.c.expr);
        double   *work = malloc((size_t)(size + 1) * sizeof *work), *dx = malloc((size_t)(slots + 1) * sizeof *dx);
        kd_jet    x[VARIABLES];
        for (int i = 0; i < VARIABLES; i++) x[i] = (kd_jet){.x = e.x[i], .x1 = 1.0, .d = 1.0};
        work[size] = 1234.5, dx[slots] = 1234.5;
        const double before[] = {e.x[0], e.x[1], e.x[2], e.x[3]};

        failing_allocator f = {0};
        failing_allocator_use(&f);
        const double value = kd_expr_value(e.c.expr, e.x, work);
        const double again = kd_expr_gradient(e.c.expr, e.x, dx, work);
        const kd_jet jet = kd_expr_jet(e.c.expr, x, work);
        kd_set_allocator(NULL);

        assert_int_equal(f.calls, 0);
        assert_memory_equal(&value, &again, sizeof value);
        assert_memory_equal(&value, &jet.x, sizeof value);
        const double last = kd_expr_value(e.c.expr, e.x, work);
        assert_memory_equal(&value, &last, sizeof value);
        assert_memory_equal(e.x, before, sizeof before);
        assert_true(work[size] == 1234.5 && dx[slots] == 1234.5);
        free(work);
        free(dx);
        release(e.c);
    }
}

// Expressions that are a number or a variable alone.
static void test_leaves(void **state)
{
    (void)state;
    double       dx = 0.0, value = 0.0;
    const double x[] = {5.0, 6.0};
    const kd_jet jets[] = {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}};
    compiled     c = compile("y", NULL);
    assert_false(kd_expr_is_constant(c.expr, &value));
    assert_int_equal(kd_expr_slot_count(c.expr), 1);
    assert_int_equal(kd_expr_slot(c.expr, 0), 1);
    assert_near(kd_expr_gradient(c.expr, x, &dx, c.work), 6.0, 0.0);
    assert_near(dx, 1.0, 0.0);
    const kd_jet jet = kd_expr_jet(c.expr, jets, c.work);
    assert_memory_equal(&jet, &jets[1], sizeof jet);
    release(c);

    c = compile("4.5", NULL);
    assert_true(kd_expr_is_constant(c.expr, &value));
    assert_true(kd_expr_is_constant(c.expr, NULL));
    assert_near(value, 4.5, 0.0);
    assert_int_equal(kd_expr_slot_count(c.expr), 0);
    assert_near(kd_expr_gradient(c.expr, x, &dx, c.work), 4.5, 0.0);
    assert_near(kd_expr_jet(c.expr, jets, c.work).x1, 0.0, 0.0);
    release(c);
    kd_expr_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_values), cmocka_unit_test(test_random_gradients),
        cmocka_unit_test(test_random_jets),   cmocka_unit_test(test_random_bends),
        cmocka_unit_test(test_taylor),        cmocka_unit_test(test_contracts),
        cmocka_unit_test(test_leaves),        cmocka_unit_test(test_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
