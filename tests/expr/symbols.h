// tests/expr/symbols.h: names that the tests of expressions use, and short ways to compile and evaluate.
#ifndef KD_TEST_EXPR_SYMBOLS_H
#define KD_TEST_EXPR_SYMBOLS_H

#include "core/nearest.h"
#include "expr/expr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// |a - b| <= tolerance; NaN is near to nothing
#define assert_near(a, b, tolerance) assert_near_at(a, b, tolerance, __FILE__, __LINE__)
static inline void assert_near_at(double a, double b, double tolerance, const char *file, int line)
{
    if (!(fabs(a - b) <= tolerance)) {
        print_error("%.17g and %.17g differ by %.3g, allowed are %.3g\n", a, b, fabs(a - b), tolerance);
        _fail(file, line);
    }
}

enum { SYMBOL_SLOTS = 8 };

// variables, by slot
static const char *const symbol_variables[SYMBOL_SLOTS] = {
    "x", "y", "z", "t", "joint.hinge.q", "joint.arm(3).q", "input.pedal", "body.front-left.pos.z"};

static const struct {
    const char *name;
    double      value;
} symbol_numbers[] = {{"stiffness", 2.5}, {"rho", 7.8}, {"n", 3.0}, {"zero", 0.0}, {"broken", NAN}};

typedef struct symbol_set {
    kd_curve *road; // a cubic through (0, 1) (1, 2) (2, 5) (3, 4) (5, 0)
} symbol_set;

static inline bool symbol_find(const char *name, void *context, kd_symbol *out)
{
    const symbol_set *set = context;
    for (int i = 0; i < SYMBOL_SLOTS; i++)
        if (strcmp(name, symbol_variables[i]) == 0) {
            *out = (kd_symbol){.kind = KD_SYMBOL_VARIABLE, .slot = i};
            return true;
        }
    for (size_t i = 0; i < sizeof symbol_numbers / sizeof symbol_numbers[0]; i++)
        if (strcmp(name, symbol_numbers[i].name) == 0) {
            *out = (kd_symbol){.kind = KD_SYMBOL_NUMBER, .number = symbol_numbers[i].value};
            return true;
        }
    if (strcmp(name, "road") == 0 && set && set->road) {
        *out = (kd_symbol){.kind = KD_SYMBOL_CURVE, .curve = set->road};
        return true;
    }
    return false;
}

static inline const char *symbol_suggest(const char *name, void *context)
{
    kd_nearest search = kd_nearest_start(name);
    (void)context;
    for (int i = 0; i < SYMBOL_SLOTS; i++) kd_nearest_offer(&search, symbol_variables[i]);
    for (size_t i = 0; i < sizeof symbol_numbers / sizeof symbol_numbers[0]; i++)
        kd_nearest_offer(&search, symbol_numbers[i].name);
    kd_nearest_offer(&search, "road");
    return search.best;
}

static inline kd_symbols symbols_of(symbol_set *set)
{
    return (kd_symbols){symbol_find, symbol_suggest, set};
}

static inline symbol_set symbol_set_create(void)
{
    static const double x[] = {0.0, 1.0, 2.0, 3.0, 5.0}, y[] = {1.0, 2.0, 5.0, 4.0, 0.0};
    symbol_set          set = {NULL};
    if (kd_curve_create(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_TANGENT, 5, x, y, &set.road, NULL, 0) != KD_OK) abort();
    return set;
}

// Compile what must be right; memory for evaluations comes along.
typedef struct compiled {
    kd_expr *expr;
    double  *work;
} compiled;

static inline compiled compile(const char *text, symbol_set *set)
{
    const kd_symbols symbols = symbols_of(set);
    kd_expr_error    error = {0};
    compiled         c = {NULL, NULL};
    if (kd_expr_compile(text, &symbols, &c.expr, &error) != KD_OK)
        fail_msg("%s\n%*s%s", text, error.column, "^ ", error.text);
    c.work = malloc((size_t)kd_expr_work_size(c.expr) * sizeof *c.work);
    return c;
}

static inline void release(compiled c)
{
    kd_expr_destroy(c.expr);
    free(c.work);
}

static inline double value_at(const char *text, const double *x, symbol_set *set)
{
    const compiled c = compile(text, set);
    const double   value = kd_expr_value(c.expr, x, c.work);
    release(c);
    return value;
}

// Random numbers that are the same everywhere (xorshift).
static inline unsigned random_next(unsigned *state)
{
    unsigned s = *state;
    s ^= s << 13, s ^= s >> 17, s ^= s << 5;
    return *state = s;
}

static inline double random_between(unsigned *state, double low, double high)
{
    return low + (high - low) * (random_next(state) / 4294967296.0);
}

#endif
