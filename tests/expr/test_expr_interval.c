// tests/expr/test_expr_interval.c: values of expressions always lie in their bounds, and the bounds are close where
// they can be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <stdio.h>

#include "expr/symbols.h"

enum { VARIABLES = 4 };

typedef struct bounded {
    compiled     c;
    kd_interval *work;
} bounded;

static bounded bounded_of(const char *text, symbol_set *set)
{
    bounded b = {.c = compile(text, set)};
    b.work = malloc((size_t)kd_expr_interval_size(b.c.expr) * sizeof *b.work);
    return b;
}

static void bounded_release(bounded b)
{
    release(b.c);
    free(b.work);
}

static kd_interval bounds_of(const char *text, double lower, double upper, symbol_set *set)
{
    const bounded     b = bounded_of(text, set);
    const kd_interval x[SYMBOL_SLOTS] = {{lower, upper}};
    const kd_interval y = kd_expr_bounds(b.c.expr, x, b.work);
    bounded_release(b);
    return y;
}

// ---- random expressions ---------------------------------------------------------------------------------------------

typedef struct maker {
    unsigned seed;
    char     text[60000];
    size_t   length;
} maker;

static void put(maker *m, const char *text)
{
    const size_t n = strlen(text);
    assert_true(m->length + n < sizeof m->text);
    memcpy(m->text + m->length, text, n + 1);
    m->length += n;
}

static void make(maker *m, int depth);

static void make_leaf(maker *m)
{
    static const char *const numbers[] = {"0", "1", "2", "-1", "0.5", "1e-3", "3", "7.25", "-2.75", "pi", "1e6"};
    const unsigned           which = random_next(&m->seed) % 20;
    put(m, which < 11 ? numbers[which] : symbol_variables[which % VARIABLES]);
}

static void make_call(maker *m, const char *front, int arguments, int depth)
{
    put(m, front);
    for (int i = 0; i < arguments; i++) {
        if (i) put(m, ", ");
        make(m, depth);
    }
    put(m, ")");
}

// Anything that the language has, in and out of the domains
static void make(maker *m, int depth)
{
    static const char *const infix[] = {
        " + ", " - ", " * ", " / ", " ^ ", " < ", " <= ", " > ", " >= ", " == ", " != ", " and ", " or "};
    static const char *const one[] = {"abs(",  "sign(", "floor(", "ceil(", "sqrt(", "exp(",  "log(",  "log10(",
                                      "sin(",  "cos(",  "tan(",   "asin(", "acos(", "atan(", "sinh(", "cosh(",
                                      "tanh(", "step(", "ramp(",  "-(",    "not (", "road("};
    static const char *const two[] = {"min(", "max(", "mod(", "atan2(", "hypot(", "pow("};
    static const char *const exponent[] = {" ^ 2)", " ^ 3)", " ^ 0.5)", " ^ (-1))", " ^ (-2))", " ^ 1.7)"};
    const unsigned           kind = random_next(&m->seed) % 100, which = random_next(&m->seed);
    if (depth == 0) {
        make_leaf(m);
    } else if (kind < 40) {
        put(m, "((");
        make(m, depth - 1);
        put(m, ")");
        put(m, infix[kind < 28 ? which % 4 : which % 13]);
        put(m, "(");
        make(m, depth - 1);
        put(m, "))");
    } else if (kind < 75) {
        make_call(m, one[which % 22], 1, depth - 1);
    } else if (kind < 85) {
        make_call(m, two[which % 6], 2, depth - 1);
    } else if (kind < 90) {
        put(m, "((");
        make(m, depth - 1);
        put(m, ")");
        put(m, exponent[which % 6]);
    } else if (kind < 95) {
        make_call(m, "if(", 3, depth - 1);
    } else {
        put(m, which % 2 ? "step3(" : "step5(");
        make(m, depth - 1);
        put(m, ", 0, 1, 2, 3)");
    }
}

static kd_interval random_range(unsigned *seed)
{
    static const double width[] = {0.0, 1e-15, 1e-9, 1e-4, 0.1, 1.0, 10.0, 1e4};
    static const double centre[] = {0.0, 1.0, -1.0, 2.0};
    const double        c = random_next(seed) % 3 ? random_between(seed, -4.0, 4.0) : centre[random_next(seed) % 4];
    const double        h = width[random_next(seed) % 8];
    return (kd_interval){c - h * random_between(seed, 0.0, 1.0), c + h * random_between(seed, 0.0, 1.0)};
}

static double random_inside(unsigned *seed, kd_interval a)
{
    const unsigned where = random_next(seed) % 8;
    const double   x = a.lower + (a.upper - a.lower) * random_between(seed, 0.0, 1.0);
    if (where < 2) return where ? a.lower : a.upper;
    if (where == 2 && a.lower <= 0.0 && a.upper >= 0.0) return 0.0;
    return fmin(fmax(x, a.lower), a.upper);
}

// Random expressions, boxes and points in them: a value that is a number lies within the bounds.
static void values_lie_within_the_bounds(void **state)
{
    symbol_set   set = symbol_set_create();
    static maker m;
    unsigned     seed = 7u;
    long         checked = 0, narrow = 0;
    (void)state;
    m.seed = 1u;
    for (int k = 0; k < 6000; k++) {
        const kd_symbols symbols = symbols_of(&set);
        bounded          b = {{NULL, NULL}, NULL};
        m.length = 0;
        make(&m, 1 + k % 4);
        if (kd_expr_compile(m.text, &symbols, &b.c.expr, NULL) != KD_OK) continue; // constants without a value
        b.c.work = malloc((size_t)kd_expr_work_size(b.c.expr) * sizeof *b.c.work);
        b.work = malloc((size_t)kd_expr_interval_size(b.c.expr) * sizeof *b.work);
        for (int box = 0; box < 8; box++) {
            kd_interval x[SYMBOL_SLOTS] = {{0.0, 0.0}};
            double      at[SYMBOL_SLOTS] = {0.0};
            for (int i = 0; i < VARIABLES; i++) x[i] = random_range(&seed);
            const kd_interval y = kd_expr_bounds(b.c.expr, x, b.work);
            assert_true(y.lower <= y.upper);
            narrow += y.lower > -INFINITY && y.upper < INFINITY;
            for (int point = 0; point < 12; point++, checked++) {
                for (int i = 0; i < VARIABLES; i++) at[i] = random_inside(&seed, x[i]);
                const double value = kd_expr_value(b.c.expr, at, b.c.work);
                if (value < y.lower || value > y.upper)
                    fail_msg("%s = %.17g at x %.17g y %.17g z %.17g t %.17g, but the bounds are %.17g, %.17g", m.text,
                             value, at[0], at[1], at[2], at[3], y.lower, y.upper);
            }
        }
        bounded_release(b);
    }
    assert_true(checked > 300000 && narrow > 15000);
    kd_curve_destroy(set.road);
}

// Functions that rise or fall have the values at the ends as bounds, up to rounding.
static void monotone_functions_have_close_bounds(void **state)
{
    static const struct {
        const char *text;
        double      lower, upper;
    } cases[] = {{"exp(x)", -1.0, 2.0},
                 {"sqrt(x)", 0.25, 9.0},
                 {"log(x)", 0.5, 3.0},
                 {"atan(x)", -2.0, 5.0},
                 {"x^3", -2.0, 3.0},
                 {"sinh(x)", -1.0, 1.0},
                 {"tanh(x)", -1.0, 2.0},
                 {"asin(x)", -1.0, 1.0},
                 {"3*x - 7", -1.0, 1.0},
                 {"tan(x)", -1.5, 1.5},
                 {"sin(x)", -1.5, 1.5},
                 {"ramp(x) + floor(x)", -1.5, 2.5},
                 {"2 + 5/(x + 3)", 5.0, -2.0},
                 {"cos(x)", 3.1, 0.1},
                 {"acos(x)", 0.9, -0.9},
                 {"-x^1.5", 4.0, 0.0},
                 {"step5(x, 0, 0, 1, 2)", -1.0, 0.7}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) { // lower, upper: where the function is lowest, highest
        const double      a = cases[i].lower, b = cases[i].upper;
        const kd_interval y = bounds_of(cases[i].text, fmin(a, b), fmax(a, b), NULL);
        const double      first = value_at(cases[i].text, &a, NULL), last = value_at(cases[i].text, &b, NULL);
        assert_true(y.lower <= first && y.upper >= last);
        assert_near(y.lower, first, 1e-14 * (1.0 + fabs(first)));
        assert_near(y.upper, last, 1e-14 * (1.0 + fabs(last)));
    }
}

// Extrema inside: sine, cosine, even powers, absolute values, hypot.
static void extrema_inside_are_found(void **state)
{
    (void)state;
    kd_interval y = bounds_of("sin(x)", 1.0, 2.0, NULL);
    assert_true(y.upper == 1.0);
    assert_near(y.lower, sin(1.0), 1e-15);
    y = bounds_of("cos(x)", 3.0, 4.0, NULL);
    assert_true(y.lower == -1.0);
    assert_near(y.upper, cos(4.0), 1e-15);
    y = bounds_of("sin(x)", 1000.0, 1007.0, NULL);
    assert_true(y.lower == -1.0 && y.upper == 1.0);
    y = bounds_of("x^2", -1.0, 3.0, NULL);
    assert_true(y.lower == 0.0);
    assert_near(y.upper, 9.0, 1e-14);
    y = bounds_of("abs(x) + hypot(x, 3)", -4.0, 1.0, NULL);
    assert_near(y.lower, 3.0, 1e-14);
    assert_near(y.upper, 9.0, 1e-14);
    y = bounds_of("mod(x, 1)", 3.25, 3.75, NULL);
    assert_near(y.lower, 0.25, 1e-14);
    assert_near(y.upper, 0.75, 1e-14);
    y = bounds_of("mod(x, 1)", 3.25, 4.75, NULL);
    assert_true(y.lower == 0.0 && y.upper == 1.0);
}

// A spline between its rows overshoots them, and the bounds meet its extremum; beyond, it is its tangent.
static void curves_are_bounded_between_their_rows(void **state)
{
    symbol_set set = symbol_set_create();
    double     highest = 0.0, lowest = 0.0;
    (void)state;
    for (int i = 0; i <= 50000; i++) {
        const double f = kd_curve_value(set.road, 1e-4 * i);
        highest = fmax(highest, f), lowest = fmin(lowest, f);
    }
    assert_true(highest > 5.01 && lowest < -0.1);
    kd_interval y = bounds_of("road(x)", 0.0, 5.0, &set);
    assert_near(y.upper, highest, 1e-7);
    assert_true(y.upper >= highest);
    assert_near(y.lower, lowest, 1e-7);
    assert_true(y.lower <= lowest);
    y = bounds_of("road(x)", 2.1, 2.9, &set);
    assert_near(y.upper, highest, 1e-7);
    assert_true(y.lower > 4.0);
    y = bounds_of("road(x)", 6.0, INFINITY, &set);
    assert_true(y.lower > 0.0 && y.upper == INFINITY);
    kd_curve_destroy(set.road);
}

// Bounds of all kinds of curves hold what dense sampling finds, over any part of the rows, and not much more.
static void curves_of_every_kind_are_bounded(void **state)
{
    enum { ROWS = 33 };
    unsigned seed = 5u;
    double   x[ROWS], y[ROWS];
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        x[i] = i + random_between(&seed, -0.4, 0.4);
        y[i] = i % 7 == 3 ? 0.0 : random_between(&seed, -1.0, 1.0);
    }
    for (int kind = KD_CURVE_KIND_LINEAR; kind <= KD_CURVE_KIND_MONOTONE; kind++) {
        kd_curve *curve;
        assert_int_equal(kd_curve_create((kd_curve_kind)kind, KD_OUTSIDE_TANGENT, ROWS, x, y, &curve, NULL, 0), KD_OK);
        for (int k = 0; k < 300; k++) {
            const double a = random_between(&seed, -3.0, 35.0), b = a + random_between(&seed, 0.0, k % 2 ? 30.0 : 1.0);
            const kd_interval range = kd_curve_bounds(curve, (kd_interval){a, b});
            double            least = INFINITY, most = -INFINITY;
            for (int i = 0; i <= 3000; i++) {
                const double f = kd_curve_value(curve, fmin(a + (b - a) * i / 3000.0, b));
                least = fmin(least, f), most = fmax(most, f);
            }
            assert_true(range.lower <= least && range.upper >= most);
            assert_near(range.lower, least, 0.05);
            assert_near(range.upper, most, 0.05);
        }
        kd_curve_destroy(curve);
    }
}

static double bend(double s, void *context)
{
    (void)context;
    return s < 2.0 ? 0.0 : 0.3 * sin(s);
}

// Bounds of the functions of a track hold what sampling finds.
static void tracks_are_bounded(void **state)
{
    kd_track *track;
    unsigned  seed = 11u;
    (void)state;
    assert_int_equal(kd_track_create(0.0, 10.0, 20, bend, NULL, &track), KD_OK);
    for (int part = 0; part < KD_TRACK_PARTS; part++)
        for (int k = 0; k < 200; k++) {
            const double a = random_between(&seed, -2.0, 11.0), b = a + random_between(&seed, 0.0, k % 2 ? 5.0 : 0.1);
            const kd_interval range = kd_track_bounds(track, (kd_track_part)part, (kd_interval){a, b});
            double            out[4], least = INFINITY, most = -INFINITY;
            for (int i = 0; i <= 200; i++) {
                kd_track_eval(track, (kd_track_part)part, fmin(a + (b - a) * i / 200.0, b), out);
                least = fmin(least, out[0]), most = fmax(most, out[0]);
            }
            assert_true(range.lower <= least && range.upper >= most);
            assert_true(range.upper - range.lower < most - least + 1.0);
        }
    kd_track_destroy(track);
}

// Outside of the domain, over a pole and for variables without a number nothing is known.
static void nothing_is_known_outside_of_the_domain(void **state)
{
    static const char *const texts[] = {"sqrt(x)",   "log(x)",   "asin(x - 1)", "1/x",       "tan(x + 1)",
                                        "x^(-1)",    "x^0.5",    "pow(x, x)",   "mod(3, x)", "1/(x*x - x)",
                                        "acos(2*x)", "log10(x)", "2 + sqrt(x)"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const kd_interval y = bounds_of(texts[i], -1.0, 2.0, NULL);
        assert_true(y.lower == -INFINITY && y.upper == INFINITY);
    }
    const kd_interval y = bounds_of("x + 1", NAN, NAN, NULL);
    assert_true(y.lower == -INFINITY && y.upper == INFINITY);
}

// Conditions that are decided for the whole range choose one branch; those that are not, both.
static void conditions_are_three_valued(void **state)
{
    (void)state;
    kd_interval y = bounds_of("if(x > 1, 5, 7)", 2.0, 3.0, NULL);
    assert_true(y.lower == 5.0 && y.upper == 5.0);
    y = bounds_of("if(x > 1 and x < 0.5, 5, 7)", -3.0, 0.7, NULL);
    assert_true(y.lower == 7.0 && y.upper == 7.0);
    y = bounds_of("if(x > 1, 5, 7)", 0.0, 3.0, NULL);
    assert_true(y.lower == 5.0 && y.upper == 7.0);
    y = bounds_of("not (x == 2)", 2.0, 2.0, NULL);
    assert_true(y.lower == 0.0 && y.upper == 0.0);
    y = bounds_of("x == 2 or x < 5", 2.0, 4.0, NULL);
    assert_true(y.lower == 1.0 && y.upper == 1.0);
}

// What is exactly 0 stays so through sums, products and functions: the answer of a comparison depends on it.
static void exact_values_stay_exact(void **state)
{
    static const char *const zeros[] = {"ramp(x)",           "sin(ramp(x))*3", "pulse(x, 1, 2)*exp(x)",
                                        "0.1*ramp(x)/7",     "sqrt(ramp(x))",  "step5(x, 0, 0, 1, 1)",
                                        "hypot(ramp(x), 0)", "ramp(x)^2",      "0.5*x - x/2 + 0*x"};
    (void)state;
    for (size_t i = 0; i + 1 < sizeof zeros / sizeof zeros[0]; i++) {
        const kd_interval y = bounds_of(zeros[i], -2.0, -0.125, NULL);
        assert_true(y.lower == 0.0 && y.upper == 0.0);
    }
    const kd_interval sum = bounds_of("x + 0.25", 0.5, 0.75, NULL);
    assert_true(sum.lower == 0.75 && sum.upper == 1.0);
}

// Bends of steps that pass a share of a range: a wave may have many of its lengths in the range, but not in a step;
// branches must not change anywhere in it, and what is steep at one end needs smaller shares.
static void bends_count_along_a_share(void **state)
{
    static const struct {
        const char *text;
        double      lower, upper, share;
        bool        smooth;
    } cases[] = {
        {"sin(x)", 0, 20, 1, false},      {"sin(x)", 0, 20, 0.05, true},     {"sin(x)", 0, 20, 0.06, false},
        {"abs(x)", -1, 9, 0.01, false},   {"abs(x)", 1, 9, 0.01, true},      {"sqrt(x)", 1, 101, 0.009, true},
        {"sqrt(x)", 1, 101, 0.1, false},  {"sqrt(x)", 0, 1, 1e-3, false},    {"1/x", 0.1, 10, 0.009, true},
        {"1/x", -0.1, 10, 1e-3, false},   {"sin(x^2)", 0, 10, 0.006, false}, {"sin(x^2)", 0, 10, 0.004, true},
        {"mod(x, 3)", 1, 8, 1e-3, false}, {"mod(x, 3)", 3.5, 5, 1, true},    {"atan2(x, x - 5)", 0, 9, 1e-3, false},
    };
    symbol_set set = symbol_set_create();
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const bounded     b = bounded_of(cases[k].text, &set);
        const kd_interval x[SYMBOL_SLOTS] = {{cases[k].lower, cases[k].upper}};
        const double     *degree = kd_expr_bends(b.c.expr, x, cases[k].share, b.work);
        const bool        smooth = isfinite(degree[kd_expr_interval_size(b.c.expr) / 3 - 1]);
        if (smooth != cases[k].smooth) fail_msg("%s in %g .. %g", cases[k].text, cases[k].lower, cases[k].upper);
        bounded_release(b);
    }
    kd_curve_destroy(set.road);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_lie_within_the_bounds),
        cmocka_unit_test(monotone_functions_have_close_bounds),
        cmocka_unit_test(extrema_inside_are_found),
        cmocka_unit_test(curves_are_bounded_between_their_rows),
        cmocka_unit_test(curves_of_every_kind_are_bounded),
        cmocka_unit_test(tracks_are_bounded),
        cmocka_unit_test(nothing_is_known_outside_of_the_domain),
        cmocka_unit_test(conditions_are_three_valued),
        cmocka_unit_test(exact_values_stay_exact),
        cmocka_unit_test(bends_count_along_a_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
