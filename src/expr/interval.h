// expr/interval.h: arithmetic of ranges, rounded outward.
//
// A range holds every value that the operation takes for operands anywhere in theirs, as real numbers and as doubles
// computed by evaluate.c. Results that are exact are not widened: 0 stays 0. (-inf, inf) where the operation has no
// value for some operand. Operands without a number (NaN) count as (-inf, inf).
#ifndef KD_EXPR_INTERVAL_H
#define KD_EXPR_INTERVAL_H

#include "expr/internal.h"

#include <float.h>
#include <math.h>

static inline kd_interval kd_interval_all(void)
{
    return (kd_interval){-INFINITY, INFINITY};
}

static inline bool kd_interval_has(kd_interval a, double x)
{
    return a.lower <= x && x <= a.upper;
}

static inline bool kd_interval_is(kd_interval a, double x)
{
    return a.lower == x && a.upper == x;
}

static inline kd_interval kd_interval_hull(kd_interval a, kd_interval b)
{
    return (kd_interval){fmin(a.lower, b.lower), fmax(a.upper, b.upper)};
}

// A number at or below the double before x, and at or behind the one after it (Rump, Zimmermann, Boldo, Melquiond: BIT
// 49 (2009) 419: u (1 + 2 u) |x| and the smallest number suffice)
static inline double kd_below(double x)
{
    return x == INFINITY ? DBL_MAX : x - (1.1102230246251568e-16 * fabs(x) + DBL_TRUE_MIN);
}

static inline double kd_above(double x)
{
    return x == -INFINITY ? -DBL_MAX : x + (1.1102230246251568e-16 * fabs(x) + DBL_TRUE_MIN);
}

// The range of an instruction from those of the entries before.
kd_interval kd_interval_of(const kd_instruction *i, const kd_interval *w);
// The ranges of all entries, x[slot] for the variables.
void kd_interval_fill(const kd_expr *expr, const kd_interval *x, kd_interval *w);
bool kd_op_has_branches(kd_op op); // breaks.c: is it smooth only as long as one of several branches is taken?
int  kd_expr_entries(const kd_expr *expr);

#endif
