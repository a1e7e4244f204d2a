// expr/interval.c: ranges of expressions by interval arithmetic (Moore, Kearfott, Cloud: Introduction to Interval
// Analysis, ch. 5).
//
// Sums, products and quotients are rounded outward where they are not exact; functions of the C library are trusted to
// a few units in the last place. Functions that rise or fall are taken at the ends, sine and cosine at the extrema in
// between as well, powers and products at the corners. Truth is three-valued: [1, 1], [0, 0], and [0, 1] if not known.
#include "expr/interval.h"
#include "core/pi.h"
#include "expr/table.h"

static const double pi = KD_PI;
// Relative errors: of the functions of the C library (glibc manual: at most 2 units for those used), of the polynomials
static const double library = 4.0 * DBL_EPSILON, polynomial = 32.0 * DBL_EPSILON;

// Products and quotients above this size have rounding errors that are doubles: they can be seen to be exact.
static const double seen = 1e-290;

static const kd_interval truth = {0.0, 1.0};

static kd_interval widened(double lower, double upper, double relative)
{
    return (kd_interval){lower == INFINITY ? DBL_MAX : lower - relative * fabs(lower),
                         upper == -INFINITY ? -DBL_MAX : upper + relative * fabs(upper)};
}

static kd_interval clipped(kd_interval a, double least, double most)
{
    return (kd_interval){fmax(a.lower, least), fmin(a.upper, most)};
}

static kd_interval rising(double (*f)(double), kd_interval a)
{
    return widened(f(a.lower), f(a.upper), library);
}

// ---- one operand ----------------------------------------------------------------------------------------------------

static kd_interval range_neg(kd_interval a)
{
    return (kd_interval){-a.upper, -a.lower};
}

static kd_interval range_not(kd_interval a)
{
    if (!kd_interval_has(a, 0.0)) return (kd_interval){0.0, 0.0};
    return kd_interval_is(a, 0.0) ? (kd_interval){1.0, 1.0} : truth;
}

static kd_interval range_abs(kd_interval a)
{
    if (a.lower >= 0.0) return a;
    if (a.upper <= 0.0) return range_neg(a);
    return (kd_interval){0.0, fmax(-a.lower, a.upper)};
}

static kd_interval range_sign(kd_interval a)
{
    return (kd_interval){(double)(a.lower > 0.0) - (double)(a.lower < 0.0),
                         (double)(a.upper > 0.0) - (double)(a.upper < 0.0)};
}

static kd_interval range_floor(kd_interval a)
{
    return (kd_interval){floor(a.lower), floor(a.upper)};
}

static kd_interval range_ceil(kd_interval a)
{
    return (kd_interval){ceil(a.lower), ceil(a.upper)};
}

static kd_interval range_sqrt(kd_interval a)
{
    return a.lower < 0.0 ? kd_interval_all() : rising(sqrt, a);
}

// Too small for a double is 0, and more than that.
static kd_interval range_exp(kd_interval a)
{
    kd_interval f = rising(exp, a);
    f.upper = fmax(f.upper, DBL_MIN);
    return clipped(f, 0.0, INFINITY);
}

static kd_interval range_log(kd_interval a)
{
    return a.lower < 0.0 ? kd_interval_all() : rising(log, a);
}

static kd_interval range_log10(kd_interval a)
{
    return a.lower < 0.0 ? kd_interval_all() : rising(log10, a);
}

// Whole numbers m with lower <= a/pi - shift <= upper, or perhaps: the first, and how many (2: at least)
static int whole_between(kd_interval a, double shift, double *first)
{
    const double most = 1e12; // above, a/pi is no longer known well enough
    if (!(a.lower > -most && a.upper < most) || a.upper - a.lower >= 2.0 * pi) return 2;
    const double low = a.lower / pi - shift, high = a.upper / pi - shift;
    *first = ceil(low - polynomial * (1.0 + fabs(low)));
    const double last = floor(high + polynomial * (1.0 + fabs(high)));
    return last < *first ? 0 : last == *first ? 1 : 2;
}

// a wave with its tops at even whole numbers of a/pi - shift and its bottoms at odd ones
static kd_interval range_wave(double (*f)(double), double shift, kd_interval a)
{
    double      m = 0.0;
    const int   extrema = whole_between(a, shift, &m);
    kd_interval wave = {-1.0, 1.0};
    if (extrema > 1) return wave;
    // without an extremum the ends; with one of them 1 or -1
    const double first = f(a.lower), last = f(a.upper);
    wave = widened(fmin(first, last), fmax(first, last), library);
    if (extrema == 1 && fmod(m, 2.0) == 0.0) wave.upper = 1.0;
    if (extrema == 1 && fmod(m, 2.0) != 0.0) wave.lower = -1.0;
    return clipped(wave, -1.0, 1.0);
}

static kd_interval range_sin(kd_interval a)
{
    return range_wave(sin, 0.5, a);
}

static kd_interval range_cos(kd_interval a)
{
    return range_wave(cos, 0.0, a);
}

static kd_interval range_tan(kd_interval a)
{
    double pole;
    return whole_between(a, 0.5, &pole) > 0 ? kd_interval_all() : rising(tan, a);
}

static kd_interval range_asin(kd_interval a)
{
    return a.lower < -1.0 || a.upper > 1.0 ? kd_interval_all() : rising(asin, a);
}

static kd_interval range_acos(kd_interval a)
{
    return a.lower < -1.0 || a.upper > 1.0 ? kd_interval_all() : widened(acos(a.upper), acos(a.lower), library);
}

static kd_interval range_atan(kd_interval a)
{
    return rising(atan, a);
}

static kd_interval range_sinh(kd_interval a)
{
    return rising(sinh, a);
}

static kd_interval range_cosh(kd_interval a)
{
    const kd_interval size = range_abs(a);
    return clipped(rising(cosh, size), 1.0, INFINITY);
}

static kd_interval range_tanh(kd_interval a)
{
    return clipped(rising(tanh, a), -1.0, 1.0);
}

static kd_interval range_step(kd_interval a)
{
    return (kd_interval){a.lower >= 0.0, a.upper >= 0.0};
}

static kd_interval range_ramp(kd_interval a)
{
    return (kd_interval){fmax(a.lower, 0.0), fmax(a.upper, 0.0)};
}

// 0 before 0 and 1 from 1 on are exact.
static kd_interval range_unit(kd_op op, kd_interval a)
{
    double (*const f)(double) = kd_operations[op].value1;
    kd_interval unit = widened(f(a.lower), f(a.upper), polynomial);
    if (a.lower >= 1.0) unit.lower = 1.0;
    if (a.lower >= 1.0 && a.upper >= 1.0) unit.upper = 1.0;
    return unit;
}

static kd_interval range_unit3(kd_interval a)
{
    return range_unit(KD_OP_UNIT3, a);
}

static kd_interval range_unit5(kd_interval a)
{
    return range_unit(KD_OP_UNIT5, a);
}

// ---- arithmetic -----------------------------------------------------------------------------------------------------

// The rounding error of s = a + b (Knuth); not finite: overflow, which counts as an error
static bool is_sum(double a, double b, double s)
{
    const double part = s - a;
    return isinf(a) || isinf(b) || (a - (s - part)) + (b - part) == 0.0;
}

static kd_interval range_add(kd_interval a, kd_interval b)
{
    kd_interval sum = {a.lower + b.lower, a.upper + b.upper};
    if (!is_sum(a.lower, b.lower, sum.lower)) sum.lower = kd_below(sum.lower);
    if (!is_sum(a.upper, b.upper, sum.upper)) sum.upper = kd_above(sum.upper);
    return sum;
}

static kd_interval range_sub(kd_interval a, kd_interval b)
{
    return range_add(a, range_neg(b));
}

// one corner of a product, 0 times infinity is 0: the infinite end of a range is not one of its numbers
static kd_interval product(double a, double b)
{
    if (a == 0.0 || b == 0.0) return (kd_interval){0.0, 0.0};
    const double p = a * b;
    if (isinf(a) || isinf(b) || (fabs(p) >= seen && fma(a, b, -p) == 0.0)) return (kd_interval){p, p};
    return (kd_interval){kd_below(p), kd_above(p)};
}

static kd_interval range_mul(kd_interval a, kd_interval b)
{
    return kd_interval_hull(kd_interval_hull(product(a.lower, b.lower), product(a.lower, b.upper)),
                            kd_interval_hull(product(a.upper, b.lower), product(a.upper, b.upper)));
}

static kd_interval quotient(double a, double b)
{
    const double q = a / b;
    if (a == 0.0) return (kd_interval){0.0, 0.0};
    if (isinf(a) && isinf(b))
        return (a > 0.0) == (b > 0.0) ? (kd_interval){0.0, INFINITY} : (kd_interval){-INFINITY, 0.0};
    if (isinf(a) || (fabs(q) >= DBL_MIN && fabs(a) >= seen && !isinf(q) && fma(q, b, -a) == 0.0))
        return (kd_interval){q, q};
    return (kd_interval){kd_below(q), kd_above(q)};
}

static kd_interval range_div(kd_interval a, kd_interval b)
{
    if (kd_interval_has(b, 0.0)) return kd_interval_all();
    return kd_interval_hull(kd_interval_hull(quotient(a.lower, b.lower), quotient(a.lower, b.upper)),
                            kd_interval_hull(quotient(a.upper, b.lower), quotient(a.upper, b.upper)));
}

// ---- powers ---------------------------------------------------------------------------------------------------------

// Too small for a double is 0 or more.
static kd_interval widened_power(double lower, double upper)
{
    kd_interval f = widened(fmin(lower, upper), fmax(lower, upper), library);
    if (fabs(f.lower) < DBL_MIN && f.lower < 0.0) f.lower = -DBL_MIN;
    if (fabs(f.upper) < DBL_MIN && f.upper > 0.0) f.upper = DBL_MIN;
    return f;
}

// a^n for a >= 0
static kd_interval power_of_size(kd_interval a, double n)
{
    kd_interval  f = widened_power(pow(a.lower, n), pow(a.upper, n));
    const double largest = n > 0.0 ? a.upper : a.lower;
    if (f.upper == 0.0 && largest > 0.0) f.upper = DBL_MIN;
    return f;
}

static kd_interval range_power(kd_interval a, kd_interval exponent)
{
    const double n = exponent.lower;
    if (n == 0.0) return (kd_interval){1.0, 1.0};
    if (n < 0.0 && kd_interval_has(a, 0.0)) return kd_interval_all();
    if (a.lower >= 0.0) return power_of_size(a, n);
    if (n != floor(n)) return kd_interval_all();
    if (fmod(n, 2.0) == 0.0) return power_of_size(range_abs(a), n);
    if (a.upper <= 0.0) return range_neg(power_of_size(range_neg(a), n));
    // odd, a below and above 0, n > 0
    return kd_interval_hull(range_neg(power_of_size((kd_interval){0.0, -a.lower}, n)),
                            power_of_size((kd_interval){0.0, a.upper}, n));
}

static kd_interval range_pow(kd_interval a, kd_interval b)
{
    if (b.lower == b.upper) return range_power(a, b);
    if (a.lower < 0.0 || (a.lower == 0.0 && b.lower <= 0.0)) return kd_interval_all();
    return kd_interval_hull(power_of_size(a, b.lower), power_of_size(a, b.upper));
}

// ---- functions of two operands --------------------------------------------------------------------------------------

static kd_interval range_min(kd_interval a, kd_interval b)
{
    return (kd_interval){fmin(a.lower, b.lower), fmin(a.upper, b.upper)};
}

static kd_interval range_max(kd_interval a, kd_interval b)
{
    return (kd_interval){fmax(a.lower, b.lower), fmax(a.upper, b.upper)};
}

// Within one period it rises with a.
static kd_interval range_mod(kd_interval a, kd_interval b)
{
    double (*const f)(double, double) = kd_operations[KD_OP_MOD].value2;
    if (kd_interval_has(b, 0.0)) return kd_interval_all();
    const kd_interval period = {fmin(b.lower, 0.0), fmax(b.upper, 0.0)};
    if (b.lower != b.upper || isinf(b.lower) || !(a.upper - a.lower < fabs(b.lower))) return period;
    const double first = f(a.lower, b.lower), last = f(a.upper, b.lower);
    if (!(first <= last)) return period;
    return clipped(widened(first, last, library), period.lower, period.upper);
}

// The angle turns one way along each side of a box that does not hold the cut x <= 0, y = 0.
static kd_interval range_atan2(kd_interval y, kd_interval x)
{
    if (!(x.lower > 0.0 || y.lower > 0.0 || y.upper < 0.0)) return widened(-pi, pi, library);
    const double c[4] = {atan2(y.lower, x.lower), atan2(y.lower, x.upper), atan2(y.upper, x.lower),
                         atan2(y.upper, x.upper)};
    return widened(fmin(fmin(c[0], c[1]), fmin(c[2], c[3])), fmax(fmax(c[0], c[1]), fmax(c[2], c[3])), library);
}

static kd_interval range_hypot(kd_interval a, kd_interval b)
{
    const kd_interval x = range_abs(a), y = range_abs(b);
    return widened(hypot(x.lower, y.lower), hypot(x.upper, y.upper), library);
}

// ---- comparison and logic -------------------------------------------------------------------------------------------

static kd_interval range_less(kd_interval a, kd_interval b)
{
    return (kd_interval){a.upper < b.lower, a.lower < b.upper};
}

static kd_interval range_less_equal(kd_interval a, kd_interval b)
{
    return (kd_interval){a.upper <= b.lower, a.lower <= b.upper};
}

static kd_interval range_equal(kd_interval a, kd_interval b)
{
    return (kd_interval){a.lower == a.upper && kd_interval_is(b, a.lower), a.lower <= b.upper && b.lower <= a.upper};
}

static kd_interval range_unequal(kd_interval a, kd_interval b)
{
    return range_not(range_equal(a, b));
}

static kd_interval range_and(kd_interval a, kd_interval b)
{
    return (kd_interval){!kd_interval_has(a, 0.0) && !kd_interval_has(b, 0.0),
                         !kd_interval_is(a, 0.0) && !kd_interval_is(b, 0.0)};
}

static kd_interval range_or(kd_interval a, kd_interval b)
{
    return (kd_interval){!kd_interval_has(a, 0.0) || !kd_interval_has(b, 0.0),
                         !kd_interval_is(a, 0.0) || !kd_interval_is(b, 0.0)};
}

static kd_interval range_if(kd_interval condition, kd_interval yes, kd_interval no)
{
    if (!kd_interval_has(condition, 0.0)) return yes;
    return kd_interval_is(condition, 0.0) ? no : kd_interval_hull(yes, no);
}

// ---- the table ------------------------------------------------------------------------------------------------------

typedef struct range_operation {
    kd_interval (*one)(kd_interval a);
    kd_interval (*two)(kd_interval a, kd_interval b);
} range_operation;

// clang-format off
static const range_operation operations[KD_OP_COUNT] = {
    [KD_OP_NEG]   = {range_neg,   NULL}, [KD_OP_NOT]   = {range_not,   NULL}, [KD_OP_ABS]   = {range_abs,   NULL},
    [KD_OP_SIGN]  = {range_sign,  NULL}, [KD_OP_FLOOR] = {range_floor, NULL}, [KD_OP_CEIL]  = {range_ceil,  NULL},
    [KD_OP_SQRT]  = {range_sqrt,  NULL}, [KD_OP_EXP]   = {range_exp,   NULL}, [KD_OP_LOG]   = {range_log,   NULL},
    [KD_OP_LOG10] = {range_log10, NULL}, [KD_OP_SIN]   = {range_sin,   NULL}, [KD_OP_COS]   = {range_cos,   NULL},
    [KD_OP_TAN]   = {range_tan,   NULL}, [KD_OP_ASIN]  = {range_asin,  NULL}, [KD_OP_ACOS]  = {range_acos,  NULL},
    [KD_OP_ATAN]  = {range_atan,  NULL}, [KD_OP_SINH]  = {range_sinh,  NULL}, [KD_OP_COSH]  = {range_cosh,  NULL},
    [KD_OP_TANH]  = {range_tanh,  NULL}, [KD_OP_STEP]  = {range_step,  NULL}, [KD_OP_RAMP]  = {range_ramp,  NULL},
    [KD_OP_UNIT3] = {range_unit3, NULL}, [KD_OP_UNIT5] = {range_unit5, NULL},

    [KD_OP_ADD]        = {NULL, range_add},        [KD_OP_SUB]     = {NULL, range_sub},
    [KD_OP_MUL]        = {NULL, range_mul},        [KD_OP_DIV]     = {NULL, range_div},
    [KD_OP_POW]        = {NULL, range_pow},        [KD_OP_POWER]   = {NULL, range_power},
    [KD_OP_MIN]        = {NULL, range_min},        [KD_OP_MAX]     = {NULL, range_max},
    [KD_OP_MOD]        = {NULL, range_mod},        [KD_OP_ATAN2]   = {NULL, range_atan2},
    [KD_OP_HYPOT]      = {NULL, range_hypot},      [KD_OP_LESS]    = {NULL, range_less},
    [KD_OP_LESS_EQUAL] = {NULL, range_less_equal}, [KD_OP_EQUAL]   = {NULL, range_equal},
    [KD_OP_UNEQUAL]    = {NULL, range_unequal},    [KD_OP_AND]     = {NULL, range_and},
    [KD_OP_OR]         = {NULL, range_or},
};
// clang-format on

// ---- expressions ----------------------------------------------------------------------------------------------------

// Ends that are no numbers, or in the wrong order, say nothing.
static kd_interval checked(kd_interval a)
{
    return a.lower <= a.upper ? a : kd_interval_all();
}

kd_interval kd_interval_of(const kd_instruction *i, const kd_interval *w)
{
    const range_operation *o = &operations[i->op];
    if (i->op == KD_OP_IF) return range_if(w[i->a], w[i->b], w[i->c]);
    if (i->op == KD_OP_MUL && i->a == i->b) { // a square
        const kd_interval size = range_abs(w[i->a]);
        return checked(range_mul(size, size));
    }
    if (i->op == KD_OP_CURVE) return checked(kd_curve_bounds(i->curve, w[i->a]));
    if (i->op == KD_OP_TABLE) return checked(kd_table_bounds(kd_curve_table(i->curve), w[i->a], w[i->b]));
    return checked(o->one ? o->one(w[i->a]) : o->two(w[i->a], w[i->b]));
}

int kd_expr_entries(const kd_expr *expr)
{
    return expr->nnumbers + expr->nvariables + expr->ninstructions;
}

int kd_expr_interval_size(const kd_expr *expr)
{
    return 3 * kd_expr_entries(expr); // ranges; the search of breaks: values at two times and marks as well
}

void kd_interval_fill(const kd_expr *expr, const kd_interval *x, kd_interval *w)
{
    int n = 0;
    for (int i = 0; i < expr->nnumbers; i++, n++) w[n] = (kd_interval){expr->number[i], expr->number[i]};
    for (int i = 0; i < expr->nvariables; i++, n++) w[n] = checked(x[expr->slot[i]]);
    for (int i = 0; i < expr->ninstructions; i++, n++) w[n] = kd_interval_of(&expr->instruction[i], w);
}

kd_interval kd_expr_bounds(const kd_expr *expr, const kd_interval *x, kd_interval *work)
{
    kd_interval_fill(expr, x, work);
    return work[kd_expr_entries(expr) - 1];
}
