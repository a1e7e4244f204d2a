// math/dual.h: numbers that carry KD_DUAL_PARTS derivatives along (forward mode; Griewank and Walther: Evaluating
// Derivatives, 2nd ed., ch. 3). A file defines KD_DUAL_PARTS and includes this once; all names are its own.
#ifndef KD_MATH_DUAL_H
#define KD_MATH_DUAL_H

#include <math.h>

#ifndef KD_DUAL_PARTS
#error "define KD_DUAL_PARTS"
#endif

typedef struct dual {
    double x;
    double d[KD_DUAL_PARTS];
} dual;

#define KD_DUAL_EACH(i) for (int i = 0; i < KD_DUAL_PARTS; i++)

static inline dual d_const(double x)
{
    return (dual){.x = x};
}
// a variable of its own, part k
static inline dual d_variable(double x, int k)
{
    dual r = {.x = x};
    r.d[k] = 1.0;
    return r;
}
// f(a) with its slope
static inline dual d_chain(dual a, double f, double slope)
{
    dual r = {.x = f};
    KD_DUAL_EACH(i) r.d[i] = slope * a.d[i];
    return r;
}
static inline dual d_add(dual a, dual b)
{
    dual r = {.x = a.x + b.x};
    KD_DUAL_EACH(i) r.d[i] = a.d[i] + b.d[i];
    return r;
}
static inline dual d_sub(dual a, dual b)
{
    dual r = {.x = a.x - b.x};
    KD_DUAL_EACH(i) r.d[i] = a.d[i] - b.d[i];
    return r;
}
static inline dual d_mul(dual a, dual b)
{
    dual r = {.x = a.x * b.x};
    KD_DUAL_EACH(i) r.d[i] = b.x * a.d[i] + a.x * b.d[i];
    return r;
}
static inline dual d_div(dual a, dual b)
{
    const double inverse = 1.0 / b.x;
    dual         r = {.x = a.x * inverse};
    KD_DUAL_EACH(i) r.d[i] = inverse * (a.d[i] - r.x * b.d[i]);
    return r;
}
static inline dual d_scale(double s, dual a)
{
    return d_chain(a, s * a.x, s);
}
static inline dual d_shift(double s, dual a) // s + a
{
    a.x += s;
    return a;
}
static inline dual d_neg(dual a)
{
    return d_scale(-1.0, a);
}
static inline dual d_square(dual a)
{
    return d_chain(a, a.x * a.x, 2.0 * a.x);
}
static inline dual d_sqrt(dual a) // of positive numbers
{
    const double root = sqrt(a.x);
    return d_chain(a, root, 0.5 / root);
}
static inline dual d_sin(dual a)
{
    return d_chain(a, sin(a.x), cos(a.x));
}
static inline dual d_cos(dual a)
{
    return d_chain(a, cos(a.x), -sin(a.x));
}
static inline dual d_tan(dual a)
{
    const double t = tan(a.x);
    return d_chain(a, t, 1.0 + t * t);
}
static inline dual d_atan(dual a)
{
    return d_chain(a, atan(a.x), 1.0 / (1.0 + a.x * a.x));
}
static inline dual d_exp(dual a)
{
    const double e = exp(a.x);
    return d_chain(a, e, e);
}
static inline dual d_abs(dual a)
{
    return a.x < 0.0 ? d_neg(a) : a;
}
// c0 + c1 a + c2 a^2
static inline dual d_poly(dual a, double c0, double c1, double c2)
{
    return d_chain(a, c0 + a.x * (c1 + a.x * c2), c1 + 2.0 * c2 * a.x);
}

#endif
