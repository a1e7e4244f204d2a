// expr/bends.c: how much may an expression bend while its variables stay in their ranges?
//
// The answer is a degree: that of a polynomial which is as bent. Variables have 1, sums the larger one, products the
// sum. A function has a length of its own (sin: a radian, sqrt: half of its operand); along a range that is shorter it
// is a parabola, well enough, and doubles the degree. Where a branch is taken for the whole range it alone counts, and
// what is constant has degree 0. Infinity: branches change, or a function is passed along more than its length.
//
// Who goes through the ranges in steps that are a share of them wide asks for branches in all of the range, but for the
// bend along a step: the way of an operand in it is that share of its range, times its degree where it is steepest.
#include "expr/interval.h"

#include "expr/table.h"

static const double LENGTH = 1.0; // of sin, cos, exp and theirs
static const double HALF = 0.5;   // of those that saturate or have poles
static const double RATIO = 2.0;  // of the ends of a range, where functions scale
static const double INNER = 0.9;  // part of the range of asin, acos without its ends
static const double ONCE = 1.001; // the width of what mod has not wrapped
static const double any = INFINITY;

static double width(kd_interval a)
{
    return a.upper - a.lower;
}

// Longest way of an operand in a step
static double way(kd_interval a, double degree, double share)
{
    return width(a) * fmin(share * fmax(degree, 1.0), 1.0);
}

// Is the range on one side of 0, and are the ends of a step of one size?
static bool is_alike(kd_interval a, double power, double degree, double share)
{
    const double least = fmin(fabs(a.lower), fabs(a.upper));
    return (a.lower > 0.0 || a.upper < 0.0) && pow(1.0 + way(a, degree, share) / least, fabs(power)) <= RATIO;
}

// Degree of a function of an operand with this range and degree
static double bend_of_one(const kd_instruction *o, kd_interval a, double degree, double share)
{
    const double passed = way(a, degree, share);
    switch (o->op) {
    case KD_OP_NEG:
        return degree;
    // kinks and ends of pieces: one side only has a degree
    case KD_OP_ABS:
        return a.lower >= 0.0 || a.upper <= 0.0 ? degree : any;
    case KD_OP_RAMP:
        return a.lower >= 0.0 ? degree : any;
    case KD_OP_UNIT3:
        return a.lower >= 0.0 && a.upper <= 1.0 ? 3.0 * degree : any;
    case KD_OP_UNIT5:
        return a.lower >= 0.0 && a.upper <= 1.0 ? 5.0 * degree : any;
    // smooth, but as a parabola only where the operand keeps its size, or passes little of a period
    case KD_OP_SQRT:
    case KD_OP_LOG:
    case KD_OP_LOG10:
        return is_alike(a, 1.0, degree, share) ? 2.0 * degree : any;
    case KD_OP_SIN:
    case KD_OP_COS:
    case KD_OP_EXP:
    case KD_OP_SINH:
    case KD_OP_COSH:
        return passed <= LENGTH ? 2.0 * degree : any;
    case KD_OP_ATAN:
    case KD_OP_TANH:
        return passed <= HALF ? 2.0 * degree : any;
    case KD_OP_TAN:
        return width(a) <= HALF && cos(a.lower) * cos(a.upper) > 0.25 ? 2.0 * degree : any;
    case KD_OP_ASIN:
    case KD_OP_ACOS:
        return a.lower >= -INNER && a.upper <= INNER ? 2.0 * degree : any;
    case KD_OP_CURVE:
        return kd_curve_is_one_piece(o->curve, a) ? 3.0 * degree : any;
    default:
        return any;
    }
}

static double bend_of_power(kd_interval a, double exponent, double degree, double share)
{
    if (exponent >= 0.0 && exponent == floor(exponent)) return exponent * degree;
    return is_alike(a, exponent, degree, share) ? 2.0 * degree : any;
}

static double bend_of_two(const kd_instruction *o, const kd_interval *w, kd_interval f, const double *degree,
                          double share)
{
    const kd_interval a = w[o->a], b = w[o->b];
    const double      da = degree[o->a], db = degree[o->b];
    switch (o->op) {
    case KD_OP_ADD:
    case KD_OP_SUB:
        return fmax(da, db);
    case KD_OP_MUL:
        return da + db;
    case KD_OP_DIV:
        // 1/b is a parabola where b keeps its size
        return db == 0.0 ? da : is_alike(b, 1.0, db, share) ? da + 2.0 * db : any;
    case KD_OP_POW:
    case KD_OP_POWER:
        return db == 0.0 ? bend_of_power(a, b.lower, da, share) : any;
    // the smaller or larger one must be known all along
    case KD_OP_MIN:
        return a.upper <= b.lower ? da : b.upper <= a.lower ? db : any;
    case KD_OP_MAX:
        return a.lower >= b.upper ? da : b.lower >= a.upper ? db : any;
    case KD_OP_MOD:
        return db == 0.0 && floor(a.lower / b.lower) == floor(a.upper / b.lower) && width(f) <= ONCE * width(a) ? da
                                                                                                                : any;
    case KD_OP_ATAN2:
        return width(f) <= HALF ? 2.0 * fmax(da, db) : any;
    case KD_OP_HYPOT:
        return is_alike(f, 1.0, 1.0, 1.0) ? 2.0 * fmax(da, db) : any;
    case KD_OP_TABLE:
        return kd_table_is_one_piece(kd_curve_table(o->curve), a, b) ? 3.0 * (da + db) : any;
    default:
        return any;
    }
}

static double bend_of(const kd_instruction *o, const kd_interval *w, kd_interval f, const double *degree, double share)
{
    if (f.lower == f.upper) return 0.0;
    if (o->op == KD_OP_IF) {
        const kd_interval c = w[o->a];
        return kd_interval_is(c, 0.0) ? degree[o->c] : kd_interval_has(c, 0.0) ? any : degree[o->b];
    }
    return kd_operations[o->op].operands == 1 ? bend_of_one(o, w[o->a], degree[o->a], share)
                                              : bend_of_two(o, w, f, degree, share);
}

const double *kd_expr_bends(const kd_expr *e, const kd_interval *x, double share, kd_interval *work)
{
    const int first = e->nnumbers + e->nvariables, n = first + e->ninstructions;
    double   *degree = &work[n].lower;
    // ranges first, then degrees from the operands to the result
    kd_interval_fill(e, x, work);
    for (int i = 0; i < first; i++) degree[i] = i < e->nnumbers || width(work[i]) == 0.0 ? 0.0 : 1.0;
    for (int i = first; i < n; i++) degree[i] = bend_of(&e->instruction[i - first], work, work[i], degree, share);
    return degree;
}
