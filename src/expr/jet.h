// expr/jet.h: numbers that move, for exact time derivatives and their tangents.
//
// A jet holds x(t), x'(t), x''(t) of a quantity, and how these three change along one tangent direction e of the state:
//     d = dx/de,  d1 = dx'/de,  d2 = dx''/de
// The time derivatives and the tangent are treated as independent directions that commute, so that sums, products and
// compositions follow from the chain rule alone (truncated Taylor arithmetic of order 2 in t and 1 in e; Griewank and
// Walther: Evaluating Derivatives, 2nd ed., ch. 13).
#ifndef KD_EXPR_JET_H
#define KD_EXPR_JET_H

#include <math.h>

typedef struct kd_jet {
    double x, x1, x2; // value, first and second time derivative
    double d, d1, d2; // their changes along the tangent direction
} kd_jet;

// A number that neither moves nor changes.
static inline kd_jet kd_jet_const(double x)
{
    return (kd_jet){x, 0.0, 0.0, 0.0, 0.0, 0.0};
}

static inline kd_jet kd_jet_add(kd_jet a, kd_jet b)
{
    return (kd_jet){a.x + b.x, a.x1 + b.x1, a.x2 + b.x2, a.d + b.d, a.d1 + b.d1, a.d2 + b.d2};
}

static inline kd_jet kd_jet_sub(kd_jet a, kd_jet b)
{
    return (kd_jet){a.x - b.x, a.x1 - b.x1, a.x2 - b.x2, a.d - b.d, a.d1 - b.d1, a.d2 - b.d2};
}

static inline kd_jet kd_jet_neg(kd_jet a)
{
    return (kd_jet){-a.x, -a.x1, -a.x2, -a.d, -a.d1, -a.d2};
}

// s a with a constant s
static inline kd_jet kd_jet_scale(double s, kd_jet a)
{
    return (kd_jet){s * a.x, s * a.x1, s * a.x2, s * a.d, s * a.d1, s * a.d2};
}

// Leibniz: (ab)' = a'b + ab',  (ab)'' = a''b + 2a'b' + ab'', and the tangents of the three
static inline kd_jet kd_jet_mul(kd_jet a, kd_jet b)
{
    return (kd_jet){
        a.x * b.x,
        a.x1 * b.x + a.x * b.x1,
        a.x2 * b.x + 2.0 * a.x1 * b.x1 + a.x * b.x2,
        a.d * b.x + a.x * b.d,
        a.d1 * b.x + a.x1 * b.d + a.d * b.x1 + a.x * b.d1,
        a.d2 * b.x + a.x2 * b.d + 2.0 * (a.d1 * b.x1 + a.x1 * b.d1) + a.d * b.x2 + a.x * b.d2,
    };
}

// f(a, b) from its partial derivatives f[i][j] = d^(i+j) f/da^i db^j, i + j <= 3, at (a.x, b.x)
static inline kd_jet kd_jet_chain2(kd_jet a, kd_jet b, double f[4][4])
{
    // changes of the first and second derivatives along the tangent
    const double fa = f[1][0], fb = f[0][1], faa = f[2][0], fab = f[1][1], fbb = f[0][2];
    const double fa_d = faa * a.d + fab * b.d, fb_d = fab * a.d + fbb * b.d;
    const double faa_d = f[3][0] * a.d + f[2][1] * b.d, fab_d = f[2][1] * a.d + f[1][2] * b.d,
                 fbb_d = f[1][2] * a.d + f[0][3] * b.d;
    return (kd_jet){
        f[0][0],
        fa * a.x1 + fb * b.x1,
        fa * a.x2 + fb * b.x2 + faa * a.x1 * a.x1 + 2.0 * fab * a.x1 * b.x1 + fbb * b.x1 * b.x1,
        fa * a.d + fb * b.d,
        fa * a.d1 + fb * b.d1 + fa_d * a.x1 + fb_d * b.x1,
        fa * a.d2 + fb * b.d2 + fa_d * a.x2 + fb_d * b.x2 +
            2.0 * (faa * a.x1 * a.d1 + fab * (a.d1 * b.x1 + a.x1 * b.d1) + fbb * b.x1 * b.d1) + faa_d * a.x1 * a.x1 +
            2.0 * fab_d * a.x1 * b.x1 + fbb_d * b.x1 * b.x1,
    };
}

// f(a) from f and its first three derivatives at a.x
static inline kd_jet kd_jet_chain1(kd_jet a, double f, double f1, double f2, double f3)
{
    return (kd_jet){
        f,
        f1 * a.x1,
        f2 * a.x1 * a.x1 + f1 * a.x2,
        f1 * a.d,
        f2 * a.d * a.x1 + f1 * a.d1,
        f3 * a.d * a.x1 * a.x1 + 2.0 * f2 * a.x1 * a.d1 + f2 * a.d * a.x2 + f1 * a.d2,
    };
}

// c = a/b from a = c b, each line solved for its component of c: no cubes of 1/b, so that nothing overflows early
static inline kd_jet kd_jet_div(kd_jet a, kd_jet b)
{
    kd_jet c;
    c.x = a.x / b.x;
    c.x1 = (a.x1 - c.x * b.x1) / b.x;
    c.x2 = (a.x2 - 2.0 * c.x1 * b.x1 - c.x * b.x2) / b.x;
    c.d = (a.d - c.x * b.d) / b.x;
    c.d1 = (a.d1 - c.x1 * b.d - c.d * b.x1 - c.x * b.d1) / b.x;
    c.d2 = (a.d2 - c.x2 * b.d - 2.0 * (c.d1 * b.x1 + c.x1 * b.d1) - c.d * b.x2 - c.x * b.d2) / b.x;
    return c;
}

// not differentiable at 0, where the derivatives come out infinite or NaN
static inline kd_jet kd_jet_sqrt(kd_jet a)
{
    const double f = sqrt(a.x), f1 = 0.5 / f, f2 = -0.5 * f1 / a.x, f3 = -1.5 * f2 / a.x;
    return kd_jet_chain1(a, f, f1, f2, f3);
}

static inline kd_jet kd_jet_sin(kd_jet a)
{
    const double s = sin(a.x), c = cos(a.x);
    return kd_jet_chain1(a, s, c, -s, -c);
}

static inline kd_jet kd_jet_cos(kd_jet a)
{
    const double s = sin(a.x), c = cos(a.x);
    return kd_jet_chain1(a, c, -s, -c, s);
}

// w = atan2(y, x) from r w' = x y' - y x' with r = x^2 + y^2, and this equation differentiated; not differentiable at
// the origin, where the derivatives come out NaN
static inline kd_jet kd_jet_atan2(kd_jet y, kd_jet x)
{
    const double r = x.x * x.x + y.x * y.x;
    const double r1 = 2.0 * (x.x * x.x1 + y.x * y.x1);
    const double rd = 2.0 * (x.x * x.d + y.x * y.d);
    const double r1d = 2.0 * (x.d * x.x1 + x.x * x.d1 + y.d * y.x1 + y.x * y.d1);
    const double n = x.x * y.x1 - y.x * x.x1;
    const double n1 = x.x * y.x2 - y.x * x.x2; // the terms x'y' cancel
    const double nd = x.d * y.x1 + x.x * y.d1 - y.d * x.x1 - y.x * x.d1;
    const double n1d = x.d * y.x2 + x.x * y.d2 - y.d * x.x2 - y.x * x.d2;
    kd_jet       w;
    w.x = atan2(y.x, x.x);
    w.x1 = n / r;
    w.x2 = (n1 - r1 * w.x1) / r;
    w.d = (x.x * y.d - y.x * x.d) / r;
    w.d1 = (nd - rd * w.x1) / r;
    w.d2 = (n1d - r1d * w.x1 - r1 * w.d1 - rd * w.x2) / r;
    return w;
}

#endif
