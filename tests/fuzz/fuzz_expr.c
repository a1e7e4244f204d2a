// tests/fuzz/fuzz_expr.c: any bytes as an expression.
//
// Whatever is read: a refusal has a place inside of the text and a sentence; what is accepted is evaluated in all ways,
// which agree on the value.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "expr/expr.h"
#include "fuzz/fuzz.h"

enum { SLOTS = 3 };

static const kd_curve *road(void)
{
    static const double x[] = {-1.0, 0.0, 0.5, 2.0}, y[] = {0.0, 1.0, -1.0, 3.0};
    static kd_curve    *curve;
    if (!curve) demand(kd_curve_create(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_TANGENT, 4, x, y, &curve, NULL, 0) == KD_OK);
    return curve;
}

static bool find(const char *name, void *context, kd_symbol *out)
{
    static const char *const variables[SLOTS] = {"x", "t", "joint.arm(3).q"};
    (void)context;
    demand(strlen(name) <= KD_EXPR_MAX_NAME);
    for (int i = 0; i < SLOTS; i++)
        if (strcmp(name, variables[i]) == 0) *out = (kd_symbol){.kind = KD_SYMBOL_VARIABLE, .slot = i};
    if (strcmp(name, "k") == 0) *out = (kd_symbol){.kind = KD_SYMBOL_NUMBER, .number = 2.5};
    if (strcmp(name, "road") == 0) *out = (kd_symbol){.kind = KD_SYMBOL_CURVE, .curve = road()};
    return out->kind != KD_SYMBOL_UNKNOWN;
}

static const char *suggest(const char *name, void *context)
{
    (void)context;
    return name[0] == 'j' ? "joint.arm(3).q" : NULL;
}

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void evaluate(const kd_expr *expr)
{
    static const double points[][SLOTS] = {
        {0.0, 0.0, 0.0}, {0.7, 1.5, -2.0}, {-1.0, 1e10, 1e-10}, {1e300, -1e300, NAN}};
    double  dx[SLOTS];
    double *work = malloc((size_t)kd_expr_work_size(expr) * sizeof *work);
    demand(work && kd_expr_slot_count(expr) <= SLOTS);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        kd_jet x[SLOTS];
        for (int k = 0; k < SLOTS; k++) x[k] = (kd_jet){points[i][k], 1.0, -0.5, 1.0, 0.25, 2.0};
        const double value = kd_expr_value(expr, points[i], work);
        demand(is_same(value, kd_expr_gradient(expr, points[i], dx, work)));
        demand(is_same(value, kd_expr_jet(expr, x, work).x));
    }
    free(work);
}

// Values lie in their bounds; breaks come one after the other.
static void enclose(const kd_expr *expr)
{
    static const kd_interval boxes[][SLOTS] = {
        {{0.0, 1.0}, {-1.0, 1.0}, {2.0, 2.0}}, {{-3.0, 5.0}, {0.5, 0.5}, {-1e10, 1e-10}}, {{NAN, NAN}, {0.0, 1e300}}};
    kd_interval *ranges = malloc((size_t)kd_expr_interval_size(expr) * sizeof *ranges);
    double      *work = malloc((size_t)kd_expr_work_size(expr) * sizeof *work), t = -1.0;
    demand(ranges && work);
    for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
        const kd_interval y = kd_expr_bounds(expr, boxes[i], ranges);
        demand(y.lower <= y.upper);
        for (int k = 0; k < 1 << SLOTS; k++) {
            double x[SLOTS];
            for (int j = 0; j < SLOTS; j++) x[j] = k >> j & 1 ? boxes[i][j].upper : boxes[i][j].lower;
            const double value = kd_expr_value(expr, x, work);
            demand(!(value < y.lower || value > y.upper));
        }
    }
    for (int k = 0; k < 3 && t < INFINITY; k++) {
        const double next = kd_expr_next_break(expr, 1, t, 2.0, ranges, NULL);
        demand(next > t && (next <= 2.0 || next == INFINITY));
        t = next;
    }
    free(work);
    free(ranges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const kd_symbols symbols = {find, suggest, NULL};
    char            *text = text_of(data, size);
    kd_expr         *expr = NULL;
    kd_expr_error    error = {0};
    double           value = 0.0, constant = 0.0;
    const kd_status  status = kd_expr_compile(text, &symbols, &expr, &error);
    if (status == KD_OK) {
        evaluate(expr);
        enclose(expr);
    } else {
        demand(status == KD_ERR_MODEL && !expr);
        demand(error.column >= 1 && (size_t)error.column <= strlen(text) + 1);
        demand(error.text[0] && memchr(error.text, '\0', sizeof error.text));
    }
    const bool is_constant = status == KD_OK && kd_expr_is_constant(expr, &constant);
    demand((kd_expr_constant(text, &symbols, &value, &error) == KD_OK) == is_constant);
    demand(is_same(value, constant));
    kd_expr_destroy(expr);
    free(text);
    return 0;
}
