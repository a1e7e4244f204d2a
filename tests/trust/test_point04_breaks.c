// Point 4, breaks: the search for the times at which laws of time jump or bend always ends, finds every jump, and runs
// take the side that follows, from the first instant on.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "case.h"
#include "expr/symbols.h"

enum { SLOT_T = 3, MOST = 60 };

static const double t_end = 3.0;

// ---- random expressions of t ----------------------------------------------------------------------------------------

static const char *const of_one[] = {"-",    "abs",  "sign", "floor", "ceil",  "sqrt", "exp",  "log",
                                     "sin",  "cos",  "tan",  "asin",  "acos",  "atan", "sinh", "cosh",
                                     "tanh", "step", "ramp", "not ",  "log10", "deg"};
static const char *const of_two[] = {"min", "max", "mod", "pow", "hypot", "atan2"};
static const char *const infix[] = {"+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", " and ", " or "};

static unsigned below(unsigned n, unsigned *seed)
{
    return (random_next(seed) >> 8) % n;
}

static int add(char *text, int at, int size, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(text + at, (size_t)(size - at), format, list);
    va_end(list);
    return at + n < size ? at + n : size - 1;
}

// Any function of the language, nested
static int any(char *text, int at, int size, int depth, unsigned *seed)
{
    const unsigned kind = depth > 0 ? below(9, seed) : below(2, seed);
    if (kind == 0) return add(text, at, size, "t");
    if (kind == 1) return add(text, at, size, "%.2f", random_between(seed, -3.0, 3.0));
    if (kind <= 3) {
        at = add(text, at, size, "%s(", of_one[below(sizeof of_one / sizeof *of_one, seed)]);
    } else if (kind <= 6) {
        const char *op = infix[below(sizeof infix / sizeof *infix, seed)];
        at = any(text, add(text, at, size, "("), size, depth - 1, seed);
        at = add(text, at, size, "%s", op);
    } else if (kind == 7) {
        at = add(text, at, size, "%s(", of_two[below(sizeof of_two / sizeof *of_two, seed)]);
        at = any(text, at, size, depth - 1, seed);
        at = add(text, at, size, ", ");
    } else {
        at = any(text, add(text, at, size, "if("), size, depth - 1, seed);
        at = any(text, add(text, at, size, ", "), size, depth - 1, seed);
        at = add(text, at, size, ", ");
    }
    return add(text, any(text, at, size, depth - 1, seed), size, ")");
}

// A law as people write it: a polynomial or a wave that is compared, stepped or counted
static void law(char *text, int size, unsigned *seed)
{
    char         a[100];
    const double c0 = random_between(seed, -1.5, 1.5), c1 = random_between(seed, -1.5, 1.5);
    const double c2 = random_between(seed, -1.5, 1.5), c3 = random_between(seed, 1.0, 9.0);
    switch (below(4, seed)) {
    case 0:
        snprintf(a, sizeof a, "t^3 - %.2f*t - %.2f", fabs(c0), c1);
        break;
    case 1:
        snprintf(a, sizeof a, "%.2f + %.2f*t - %.2f*t^2", c0, c1, c2);
        break;
    case 2:
        snprintf(a, sizeof a, "%.2f*sin(%.2f*t + %.2f) + %.2f*t", c0, c3, c1, c2);
        break;
    default:
        snprintf(a, sizeof a, "%.2f*exp(-t) - %.2f*cos(%.2f*t)", c0, c1, c3);
        break;
    }
    static const char *const shape[] = {"if(%s > 0, 2, -1)",
                                        "step(%s)",
                                        "ceil(%s)",
                                        "floor(2*(%s))",
                                        "sign(%s)",
                                        "abs(%s)",
                                        "max(%s, 0.3)",
                                        "mod(%s, 0.7)",
                                        "ramp(%s)*step(t)",
                                        "if(%s <= 0, t, 1)",
                                        "min(%s, t) + ceil(t)"};
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif
    snprintf(text, (size_t)size, shape[below(sizeof shape / sizeof *shape, seed)], a);
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
}

// ---- jumps by sampling ----------------------------------------------------------------------------------------------

static double at_time(const compiled *c, double t)
{
    double x[SYMBOL_SLOTS] = {0.0};
    x[SLOT_T] = t;
    return kd_expr_value(c->expr, x, c->work);
}

static bool is_jump(double a, double b)
{
    return isfinite(a) && isfinite(b) && fabs(a) + fabs(b) < 1e5 && fabs(a - b) > 1e-4 * (1.0 + fabs(a) + fabs(b));
}

// The double at which the value jumps between two times; NaN: it is continuous
static double jump_between(const compiled *c, double a, double b)
{
    double fa = at_time(c, a), fb = at_time(c, b);
    while (is_jump(fa, fb)) {
        const double m = a + 0.5 * (b - a);
        if (!(m > a && m < b)) return b;
        const double fm = at_time(c, m);
        if (fabs(fm - fa) >= fabs(fb - fm)) {
            b = m, fb = fm;
        } else {
            a = m, fa = fm;
        }
    }
    return NAN;
}

// One double alone has another value
static bool is_there_and_back(const compiled *c, double t)
{
    return !is_jump(at_time(c, t - 0x1p-42 * t), at_time(c, t + 0x1p-42 * t));
}

// All breaks up to t_end; the walk must go on, not stay
static int walk(const compiled *c, const char *text, double *at)
{
    kd_interval *work = malloc((size_t)kd_expr_interval_size(c->expr) * sizeof *work);
    int          n = 0;
    for (double t = 0.0; n < MOST; n++) {
        t = at[n] = kd_expr_next_break(c->expr, SLOT_T, t, INFINITY, work, NULL);
        if (!(n == 0 ? t > 0.0 : t > at[n - 1])) fail_msg("%s: %.17g behind %.17g", text, t, at[n - 1]);
        if (t > t_end) break;
    }
    free(work);
    return n;
}

static bool is_listed(const double *at, int n, double t)
{
    for (int i = 0; i < n; i++)
        if (fabs(at[i] - t) <= 0x1p-43 * t) return true;
    return false;
}

// Thousands of expressions with all functions of the language: no search without end, no jump left out.
static void every_jump_of_random_expressions_is_found(void **state)
{
    static double at[MOST + 1];
    unsigned      seed = test_seed(14);
    int           jumps = 0, compiled_ones = 0;
    (void)state;
    for (int k = 0; k < 3000; k++) {
        char text[600];
        if (k % 2 == 0) {
            any(text, 0, sizeof text, 2 + k % 3, &seed);
        } else {
            law(text, sizeof text, &seed);
        }
        const kd_symbols symbols = {symbol_find, symbol_suggest, NULL};
        compiled         c = {0};
        if (kd_expr_compile(text, &symbols, &c.expr, NULL) < 0) continue; // a constant without value
        c.work = malloc((size_t)kd_expr_work_size(c.expr) * sizeof *c.work);
        const int n = walk(&c, text, at);
        compiled_ones++;
        for (int i = 0; i < 1000 && n < MOST; i++) {
            const double t = jump_between(&c, i * t_end / 1000.0, (i + 1) * t_end / 1000.0);
            if (isnan(t) || t == t_end || t < 1e-9 || is_there_and_back(&c, t)) continue;
            jumps++;
            if (!is_listed(at, n, t)) fail_msg("%s jumps at %.17g", text, t);
        }
        release(c);
    }
    assert_true(jumps > 1000 && compiled_ones > 2500);
}

// ---- runs -----------------------------------------------------------------------------------------------------------

// 1 kg on a rail under a force; its velocity at t_end
static double velocity_of(const char *force, double start, kd_formulation formulation, kd_integrator_kind integrator)
{
    char text[1200], message[1000] = "";
    snprintf(text, sizeof text,
             "kardan: 1\n"
             "bodies: {cart: {mass: 1, inertia: [1, 1, 1]}}\n"
             "joints: {rail: {type: prismatic, bodies: [ground, cart], point: [0, 0, 0], axis: [1, 0, 0]}}\n"
             "forces: {f: {type: applied, body: cart, force: [\"%s\", null, null]}}\n",
             force);
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    kd_state             *x = NULL;
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = formulation;
    opt.integrator = integrator;
    opt.rtol = 1e-7, opt.atol = 1e-7;
    kd_status status = kd_model_read_text("test.yaml", text, strlen(text), NULL, 0, &model, message, sizeof message);
    if (status >= 0) status = kd_system_create(model, NULL, &system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, sizeof message);
    if (status >= 0) {
        x->t = start;
        status =
            kd_simulate(kd_system_eom(system), kd_system_inputs(system), &opt, x, t_end, NULL, message, sizeof message);
    }
    if (status < 0) fail_msg("%s with %s: %s", force, kd_integrator_word(integrator), message);
    const double v = x->v[0];
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return v;
}

static const struct {
    kd_formulation     formulation;
    kd_integrator_kind integrator;
} methods[] = {
    {KD_PSF, KD_RADAU}, {KD_GGL, KD_BDF}, {KD_STATESPACE, KD_SDIRK}, {KD_ODE, KD_DOPRI5}, {KD_ODE, KD_DOP853}};

// Simpson's rule over a .. b with the values at both ends and in the middle; halved until both halves agree with the
// whole. Around a jump that ends at a width of 1e-12, over which no law here has an impulse that counts.
static double simpson(const compiled *c, double a, double fa, double fm, double b, double fb)
{
    const double m = a + 0.5 * (b - a), whole = (b - a) / 6.0 * (fa + 4.0 * fm + fb);
    const double fl = at_time(c, 0.5 * (a + m)), fr = at_time(c, 0.5 * (m + b));
    const double halves = (b - a) / 12.0 * (fa + 4.0 * fl + 2.0 * fm + 4.0 * fr + fb);
    if (fabs(halves - whole) <= 1e-9 * (b - a) || b - a <= 1e-12) return halves;
    return simpson(c, a, fa, fl, m, fm) + simpson(c, m, fm, fr, b, fb);
}

static double quadrature(const compiled *c, double a, double b)
{
    return b > a ? simpson(c, a, at_time(c, a), at_time(c, a + 0.5 * (b - a)), b, at_time(c, b)) : 0.0;
}

// Parts of equal length, and divided once more at the breaks: two jumps that lie between nodes of the rule (a wave whose crest
// just passes a step of `ceil`) are not seen by halving. A break too many does no harm.
static double integral_of(const compiled *c, const char *text, double start)
{
    static double at[MOST + 1];
    const int     n = 3000, breaks = walk(c, text, at);
    double        sum = 0.0, a = start;
    for (int i = 0, k = 0; i < n; i++) {
        const double b = start + (t_end - start) * (i + 1) / n;
        for (; k < breaks && at[k] < b; k++)
            if (at[k] > a) sum += quadrature(c, a, at[k]), a = at[k];
        sum += quadrature(c, a, b);
        a = b;
    }
    return sum;
}

// Random laws of time: all integrators end with the impulse that quadrature gives.
static void impulses_of_random_laws_are_met(void **state)
{
    unsigned seed = test_seed(41);
    (void)state;
    for (int k = 0; k < 60; k++) {
        char text[300];
        law(text, sizeof text, &seed);
        const compiled c = compile(text, NULL);
        const double   impulse = integral_of(&c, text, 0.0);
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            const double v = velocity_of(text, 0.0, methods[m].formulation, methods[m].integrator);
            if (!(fabs(v - impulse) <= 1e-4 * (1.0 + fabs(impulse))))
                fail_msg("%s with %s: %.9g instead of %.9g", text, kd_integrator_word(methods[m].integrator), v,
                         impulse);
        }
        release(c);
    }
}

// A law that jumps at the very start of a run has the value that follows, wherever the run starts.
static void a_jump_at_the_start_is_taken_from_the_right(void **state)
{
    static const char *const laws[] = {"if(t > %g, 1, 5)", "ceil(t - %g)",           "if(t <= %g, 100, 2)",
                                       "sign(t - %g)",     "sign(sin(pi*(t - %g)))", "if(t == %g, 9, 3)"};
    static const double      starts[] = {0.0, 0.1, 1.7, -2.3};
    (void)state;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) {
            char text[100];
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif
            snprintf(text, sizeof text, laws[i], starts[k]);
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
            const compiled c = compile(text, NULL);
            const double   impulse = integral_of(&c, text, starts[k]);
            for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
                const double v = velocity_of(text, starts[k], methods[m].formulation, methods[m].integrator);
                if (!(fabs(v - impulse) <= 1e-5 * (1.0 + fabs(impulse))))
                    fail_msg("%s with %s: %.9g instead of %.9g", text, kd_integrator_word(methods[m].integrator), v,
                             impulse);
            }
            release(c);
        }
}

// Point 15: the remainder of a small negative number stays below the divisor.
static void remainders_stay_below_the_divisor(void **state)
{
    unsigned seed = test_seed(15);
    (void)state;
    for (int k = 0; k < 200; k++) {
        char         text[100];
        const double b = random_between(&seed, -5.0, 5.0),
                     a = -copysign(pow(10.0, random_between(&seed, -300, -15)), b);
        const double x[SYMBOL_SLOTS] = {0.0};
        snprintf(text, sizeof text, "mod(%.17g, %.17g)", a, b);
        const double r = value_at(text, x, NULL);
        if (!(fabs(r) < fabs(b) && (r < 0.0) == (b < 0.0))) fail_msg("%s = %.17g", text, r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_jump_of_random_expressions_is_found),
        cmocka_unit_test(impulses_of_random_laws_are_met),
        cmocka_unit_test(a_jump_at_the_start_is_taken_from_the_right),
        cmocka_unit_test(remainders_stay_below_the_divisor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
