// expr/operations.c: the operations of the expression language with their derivatives.
//
// One operand: f, f', f'', f''' at a point. Two operands: partial derivatives, and the jet from the equation that
// defines the function, differentiated in t and along the tangent. Flat operations (sign, floor, comparisons) have
// none.
#include "expr/internal.h"

#include <math.h>

void kd_expr_calm(double f[4])
{
    if (!isfinite(f[0])) return;
    for (int k = 1; k < 4; k++)
        if (isinf(f[k])) f[k] = 0.0;
}

double kd_expr_truth(double a)
{
    return isnan(a) ? a : (double)(a != 0.0);
}

static void set(double f[4], double f0, double f1, double f2, double f3)
{
    f[0] = f0, f[1] = f1, f[2] = f2, f[3] = f3;
}

// ---- one operand ----------------------------------------------------------------------------------------------------

static double value_neg(double a)
{
    return -a;
}

static void taylor_neg(double a, double f[4])
{
    set(f, -a, -1.0, 0.0, 0.0);
}

static double value_not(double a)
{
    return isnan(a) ? a : (double)(a == 0.0);
}

static void taylor_abs(double a, double f[4])
{
    set(f, fabs(a), a < 0.0 ? -1.0 : 1.0, 0.0, 0.0);
}

static double value_sign(double a)
{
    return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a == 0.0 ? 0.0 : a;
}

static void taylor_sqrt(double a, double f[4])
{
    const double root = sqrt(a), f1 = 0.5 / root, f2 = -0.5 * f1 / a;
    set(f, root, f1, f2, -1.5 * f2 / a);
}

static void taylor_exp(double a, double f[4])
{
    const double e = exp(a);
    set(f, e, e, e, e);
}

static void taylor_log(double a, double f[4])
{
    const double r = 1.0 / a;
    set(f, log(a), r, -r * r, 2.0 * r * r * r);
}

static void taylor_log10(double a, double f[4])
{
    const double scale = 0.43429448190325182765, r = scale / a; // 1/log(10)
    set(f, log10(a), r, -r / a, 2.0 * r / a / a);
}

static void taylor_sin(double a, double f[4])
{
    const double s = sin(a), c = cos(a);
    set(f, s, c, -s, -c);
}

static void taylor_cos(double a, double f[4])
{
    const double s = sin(a), c = cos(a);
    set(f, c, -s, -c, s);
}

static void taylor_tan(double a, double f[4])
{
    const double t = tan(a), f1 = 1.0 + t * t;
    set(f, t, f1, 2.0 * t * f1, 2.0 * f1 * (1.0 + 3.0 * t * t));
}

static void taylor_asin(double a, double f[4])
{
    const double r = 1.0 / ((1.0 - a) * (1.0 + a)), s = sqrt(r); // 1/(1 - a^2)
    set(f, asin(a), s, a * s * r, s * r * (1.0 + 3.0 * a * a * r));
}

static void taylor_acos(double a, double f[4])
{
    taylor_asin(a, f);
    set(f, acos(a), -f[1], -f[2], -f[3]);
}

static void taylor_atan(double a, double f[4])
{
    const double r = 1.0 / (1.0 + a * a), u = a * r;
    set(f, atan(a), r, -2.0 * u * r, (8.0 * u * u - 2.0 * r) * r);
}

static void taylor_sinh(double a, double f[4])
{
    const double s = sinh(a), c = cosh(a);
    set(f, s, c, s, c);
}

static void taylor_cosh(double a, double f[4])
{
    const double s = sinh(a), c = cosh(a);
    set(f, c, s, c, s);
}

static void taylor_tanh(double a, double f[4])
{
    const double t = tanh(a), c = cosh(a), f1 = 1.0 / c / c; // not 1 - t^2, which cancels
    set(f, t, f1, -2.0 * t * f1, f1 * (4.0 * t * t - 2.0 * f1));
}

static double value_step(double a)
{
    return isnan(a) ? a : (double)(a >= 0.0);
}

static double value_ramp(double a)
{
    return a < 0.0 ? 0.0 : a;
}

static void taylor_ramp(double a, double f[4])
{
    set(f, value_ramp(a), a < 0.0 ? 0.0 : 1.0, 0.0, 0.0);
}

// 3 a^2 - 2 a^3 between 0 and 1
static void taylor_unit3(double a, double f[4])
{
    if (a < 0.0 || a >= 1.0) {
        set(f, a < 0.0 ? 0.0 : 1.0, 0.0, 0.0, 0.0);
    } else {
        set(f, a * a * (3.0 - 2.0 * a), 6.0 * a * (1.0 - a), 6.0 - 12.0 * a, -12.0);
    }
}

static double value_unit3(double a)
{
    double f[4];
    taylor_unit3(a, f);
    return f[0];
}

// 10 a^3 - 15 a^4 + 6 a^5 between 0 and 1
static void taylor_unit5(double a, double f[4])
{
    const double c = 1.0 - a;
    if (a < 0.0 || a >= 1.0) {
        set(f, a < 0.0 ? 0.0 : 1.0, 0.0, 0.0, 0.0);
    } else {
        set(f, a * a * a * (10.0 + a * (6.0 * a - 15.0)), 30.0 * a * a * c * c, 60.0 * a * c * (c - a),
            60.0 * (1.0 - 6.0 * a * c));
    }
}

static double value_unit5(double a)
{
    double f[4];
    taylor_unit5(a, f);
    return f[0];
}

// ---- arithmetic -----------------------------------------------------------------------------------------------------

static double value_add(double a, double b)
{
    return a + b;
}

static void partials_add(double a, double b, double f, double df[2])
{
    (void)a, (void)b, (void)f;
    df[0] = 1.0, df[1] = 1.0;
}

static double value_sub(double a, double b)
{
    return a - b;
}

static void partials_sub(double a, double b, double f, double df[2])
{
    (void)a, (void)b, (void)f;
    df[0] = 1.0, df[1] = -1.0;
}

static double value_mul(double a, double b)
{
    return a * b;
}

static void partials_mul(double a, double b, double f, double df[2])
{
    (void)f;
    df[0] = b, df[1] = a;
}

static double value_div(double a, double b)
{
    return a / b;
}

static void partials_div(double a, double b, double f, double df[2])
{
    (void)a;
    df[0] = 1.0 / b, df[1] = -f / b;
}

// ---- powers ---------------------------------------------------------------------------------------------------------

// a^n and its derivatives n (n - 1) .. a^(n - k); a factor 0 ends the series, also at a = 0
static void taylor_power(double a, double n, double f[4])
{
    double factor = 1.0;
    for (int k = 0; k < 4; k++) {
        f[k] = factor == 0.0 ? 0.0 : factor * pow(a, n - k);
        factor *= n - k;
    }
    kd_expr_calm(f);
}

static void partials_power(double a, double n, double f, double df[2])
{
    const double slope = n == 0.0 ? 0.0 : n * pow(a, n - 1.0);
    df[0] = isinf(slope) && isfinite(f) ? 0.0 : slope;
    df[1] = 0.0;
}

static kd_jet jet_power(kd_jet a, kd_jet n)
{
    double f[4];
    taylor_power(a.x, n.x, f);
    return kd_jet_chain1(a, f[0], f[1], f[2], f[3]);
}

// d(a^b)/db = a^b log(a), which goes to 0 with a for b > 0; NaN for a < 0, where a^b exists for whole b only
static void partials_pow(double a, double b, double f, double df[2])
{
    partials_power(a, b, f, df);
    df[1] = a == 0.0 && b > 0.0 ? 0.0 : f * log(a);
}

static bool is_still(kd_jet a)
{
    return a.x1 == 0.0 && a.x2 == 0.0 && a.d == 0.0 && a.d1 == 0.0 && a.d2 == 0.0;
}

static kd_jet jet_pow(kd_jet a, kd_jet b)
{
    if (is_still(b) || (a.x == 0.0 && b.x > 0.0)) return jet_power(a, b);
    const double r = 1.0 / a.x, f = pow(a.x, b.x);
    const kd_jet exponent = kd_jet_mul(b, kd_jet_chain1(a, log(a.x), r, -r * r, 2.0 * r * r * r));
    return kd_jet_chain1(exponent, f, f, f, f); // exp(b log a)
}

// ---- functions of two operands --------------------------------------------------------------------------------------

static double value_min(double a, double b)
{
    return b < a || isnan(b) ? b : a;
}

static void partials_min(double a, double b, double f, double df[2])
{
    (void)f;
    df[1] = b < a ? 1.0 : 0.0, df[0] = 1.0 - df[1];
}

static kd_jet jet_min(kd_jet a, kd_jet b)
{
    return b.x < a.x || isnan(b.x) ? b : a;
}

static double value_max(double a, double b)
{
    return b > a || isnan(b) ? b : a;
}

static void partials_max(double a, double b, double f, double df[2])
{
    (void)f;
    df[1] = b > a ? 1.0 : 0.0, df[0] = 1.0 - df[1];
}

static kd_jet jet_max(kd_jet a, kd_jet b)
{
    return b.x > a.x || isnan(b.x) ? b : a;
}

// a - b floor(a/b): has the sign of b, so that mod(t, T) is periodic for negative t, too; never b itself, also where
// the sum is rounded to it
static double value_mod(double a, double b)
{
    const double r = fmod(a, b);
    if (r == 0.0 || (r < 0.0) == (b < 0.0)) return r;
    const double sum = r + b;
    return sum == b ? nextafter(b, 0.0) : sum;
}

static void partials_mod(double a, double b, double f, double df[2])
{
    df[0] = 1.0, df[1] = nearbyint((f - a) / b); // - floor(a/b), as it was in f
}

static kd_jet jet_mod(kd_jet a, kd_jet b)
{
    double       df[2];
    const double f = value_mod(a.x, b.x);
    partials_mod(a.x, b.x, f, df);
    kd_jet jet = kd_jet_add(a, kd_jet_scale(df[1], b));
    jet.x = f;
    return jet;
}

static void partials_atan2(double y, double x, double f, double df[2])
{
    const double h = hypot(x, y);
    (void)f;
    df[0] = h > 0.0 ? x / h / h : 0.0;
    df[1] = h > 0.0 ? -y / h / h : 0.0;
}

static kd_jet jet_atan2(kd_jet y, kd_jet x)
{
    return x.x == 0.0 && y.x == 0.0 ? kd_jet_const(atan2(y.x, x.x)) : kd_jet_atan2(y, x);
}

static void partials_hypot(double a, double b, double h, double df[2])
{
    df[0] = h > 0.0 ? a / h : 0.0;
    df[1] = h > 0.0 ? b / h : 0.0;
}

// h h = a a + b b, differentiated
static kd_jet jet_hypot(kd_jet a, kd_jet b)
{
    kd_jet h = kd_jet_const(hypot(a.x, b.x));
    if (h.x == 0.0) return h;
    h.x1 = (a.x * a.x1 + b.x * b.x1) / h.x;
    h.x2 = (a.x1 * a.x1 + a.x * a.x2 + b.x1 * b.x1 + b.x * b.x2 - h.x1 * h.x1) / h.x;
    h.d = (a.x * a.d + b.x * b.d) / h.x;
    h.d1 = (a.d * a.x1 + a.x * a.d1 + b.d * b.x1 + b.x * b.d1 - h.d * h.x1) / h.x;
    h.d2 = (2.0 * (a.x1 * a.d1 + b.x1 * b.d1 - h.x1 * h.d1) + a.d * a.x2 + a.x * a.d2 + b.d * b.x2 + b.x * b.d2 -
            h.d * h.x2) /
           h.x;
    return h;
}

// ---- comparison and logic: three-valued, NaN is unknown -------------------------------------------------------------

static double value_less(double a, double b)
{
    return isunordered(a, b) ? NAN : (double)(a < b);
}

static double value_less_equal(double a, double b)
{
    return isunordered(a, b) ? NAN : (double)(a <= b);
}

static double value_equal(double a, double b)
{
    return isunordered(a, b) ? NAN : (double)(a == b);
}

static double value_unequal(double a, double b)
{
    return isunordered(a, b) ? NAN : (double)(a != b);
}

// false whatever the other is: x > 0 and log(x) > 1
static double value_and(double a, double b)
{
    return a == 0.0 || b == 0.0 ? 0.0 : isunordered(a, b) ? NAN : 1.0;
}

static double value_or(double a, double b)
{
    const double truth_a = kd_expr_truth(a), truth_b = kd_expr_truth(b);
    return truth_a == 1.0 || truth_b == 1.0 ? 1.0 : isunordered(a, b) ? NAN : 0.0;
}

// ---- the table ------------------------------------------------------------------------------------------------------

// clang-format off
const kd_operation kd_operations[KD_OP_COUNT] = {
    [KD_OP_NUMBER]     = {"", false, 0, NULL, NULL, NULL, NULL, NULL},
    [KD_OP_PARAMETER]  = {"", false, 0, NULL, NULL, NULL, NULL, NULL},
    [KD_OP_VARIABLE]   = {"", false, 0, NULL, NULL, NULL, NULL, NULL},
    [KD_OP_NOT_FINITE] = {"", false, 0, NULL, NULL, NULL, NULL, NULL},

    [KD_OP_NEG]   = {"-",     false, 1, value_neg,   NULL, taylor_neg,   NULL, NULL},
    [KD_OP_NOT]   = {"not",   false, 1, value_not,   NULL, NULL,         NULL, NULL},
    [KD_OP_ABS]   = {"abs",   false, 1, fabs,        NULL, taylor_abs,   NULL, NULL},
    [KD_OP_SIGN]  = {"sign",  false, 1, value_sign,  NULL, NULL,         NULL, NULL},
    [KD_OP_FLOOR] = {"floor", false, 1, floor,       NULL, NULL,         NULL, NULL},
    [KD_OP_CEIL]  = {"ceil",  false, 1, ceil,        NULL, NULL,         NULL, NULL},
    [KD_OP_SQRT]  = {"sqrt",  false, 1, sqrt,        NULL, taylor_sqrt,  NULL, NULL},
    [KD_OP_EXP]   = {"exp",   false, 1, exp,         NULL, taylor_exp,   NULL, NULL},
    [KD_OP_LOG]   = {"log",   false, 1, log,         NULL, taylor_log,   NULL, NULL},
    [KD_OP_LOG10] = {"log10", false, 1, log10,       NULL, taylor_log10, NULL, NULL},
    [KD_OP_SIN]   = {"sin",   false, 1, sin,         NULL, taylor_sin,   NULL, NULL},
    [KD_OP_COS]   = {"cos",   false, 1, cos,         NULL, taylor_cos,   NULL, NULL},
    [KD_OP_TAN]   = {"tan",   false, 1, tan,         NULL, taylor_tan,   NULL, NULL},
    [KD_OP_ASIN]  = {"asin",  false, 1, asin,        NULL, taylor_asin,  NULL, NULL},
    [KD_OP_ACOS]  = {"acos",  false, 1, acos,        NULL, taylor_acos,  NULL, NULL},
    [KD_OP_ATAN]  = {"atan",  false, 1, atan,        NULL, taylor_atan,  NULL, NULL},
    [KD_OP_SINH]  = {"sinh",  false, 1, sinh,        NULL, taylor_sinh,  NULL, NULL},
    [KD_OP_COSH]  = {"cosh",  false, 1, cosh,        NULL, taylor_cosh,  NULL, NULL},
    [KD_OP_TANH]  = {"tanh",  false, 1, tanh,        NULL, taylor_tanh,  NULL, NULL},
    [KD_OP_STEP]  = {"step",  false, 1, value_step,  NULL, NULL,         NULL, NULL},
    [KD_OP_RAMP]  = {"ramp",  false, 1, value_ramp,  NULL, taylor_ramp,  NULL, NULL},
    [KD_OP_UNIT3] = {"step3", false, 1, value_unit3, NULL, taylor_unit3, NULL, NULL},
    [KD_OP_UNIT5] = {"step5", false, 1, value_unit5, NULL, taylor_unit5, NULL, NULL},
    [KD_OP_CURVE] = {"curve", false, 1, NULL,        NULL, NULL,         NULL, NULL},

    [KD_OP_ADD]        = {"+",     true,  2, NULL, value_add,        NULL, partials_add,   kd_jet_add},
    [KD_OP_SUB]        = {"-",     true,  2, NULL, value_sub,        NULL, partials_sub,   kd_jet_sub},
    [KD_OP_MUL]        = {"*",     true,  2, NULL, value_mul,        NULL, partials_mul,   kd_jet_mul},
    [KD_OP_DIV]        = {"/",     true,  2, NULL, value_div,        NULL, partials_div,   kd_jet_div},
    [KD_OP_POW]        = {"^",     true,  2, NULL, pow,              NULL, partials_pow,   jet_pow},
    [KD_OP_POWER]      = {"^",     true,  2, NULL, pow,              NULL, partials_power, jet_power},
    [KD_OP_MIN]        = {"min",   false, 2, NULL, value_min,        NULL, partials_min,   jet_min},
    [KD_OP_MAX]        = {"max",   false, 2, NULL, value_max,        NULL, partials_max,   jet_max},
    [KD_OP_MOD]        = {"mod",   false, 2, NULL, value_mod,        NULL, partials_mod,   jet_mod},
    [KD_OP_ATAN2]      = {"atan2", false, 2, NULL, atan2,            NULL, partials_atan2, jet_atan2},
    [KD_OP_HYPOT]      = {"hypot", false, 2, NULL, hypot,            NULL, partials_hypot, jet_hypot},
    [KD_OP_TABLE]      = {"table", false, 2, NULL, NULL,             NULL, NULL,           NULL},
    [KD_OP_LESS]       = {"<",     true,  2, NULL, value_less,       NULL, NULL,           NULL},
    [KD_OP_LESS_EQUAL] = {"<=",    true,  2, NULL, value_less_equal, NULL, NULL,           NULL},
    [KD_OP_EQUAL]      = {"==",    true,  2, NULL, value_equal,      NULL, NULL,           NULL},
    [KD_OP_UNEQUAL]    = {"!=",    true,  2, NULL, value_unequal,    NULL, NULL,           NULL},
    [KD_OP_AND]        = {"and",   true,  2, NULL, value_and,        NULL, NULL,           NULL},
    [KD_OP_OR]         = {"or",    true,  2, NULL, value_or,         NULL, NULL,           NULL},

    [KD_OP_IF] = {"if", false, 3, NULL, NULL, NULL, NULL, NULL},
};
// clang-format on
