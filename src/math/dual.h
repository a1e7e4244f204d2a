// dual.h: numbers with a tangent, for exact derivatives of laws that are written once: x + d e with e^2 = 0 (Griewank
// and Walther: Evaluating Derivatives, 2nd ed., ch. 3).
#ifndef KARDAN_MATH_DUAL_H
#define KARDAN_MATH_DUAL_H

#include <math.h>

typedef struct kd_dual {
    double x; // value
    double d; // its change along the tangent
} kd_dual;

static inline kd_dual kd_dual_const(double x)
{
    return (kd_dual){x, 0.0};
}
static inline kd_dual kd_dual_add(kd_dual a, kd_dual b)
{
    return (kd_dual){a.x + b.x, a.d + b.d};
}
static inline kd_dual kd_dual_sub(kd_dual a, kd_dual b)
{
    return (kd_dual){a.x - b.x, a.d - b.d};
}
static inline kd_dual kd_dual_neg(kd_dual a)
{
    return (kd_dual){-a.x, -a.d};
}
// s a with a constant s
static inline kd_dual kd_dual_scale(double s, kd_dual a)
{
    return (kd_dual){s * a.x, s * a.d};
}
static inline kd_dual kd_dual_mul(kd_dual a, kd_dual b)
{
    return (kd_dual){a.x * b.x, a.d * b.x + a.x * b.d};
}
static inline kd_dual kd_dual_div(kd_dual a, kd_dual b)
{
    double q = a.x / b.x;
    return (kd_dual){q, (a.d - q * b.d) / b.x};
}
static inline kd_dual kd_dual_sqrt(kd_dual a)
{
    double s = sqrt(a.x);
    return (kd_dual){s, 0.5 * a.d / s};
}
static inline kd_dual kd_dual_tanh(kd_dual a)
{
    double t = tanh(a.x);
    return (kd_dual){t, (1.0 - t * t) * a.d};
}

// ---- vectors --------------------------------------------------------------------------------------------------------
typedef struct kd_dual3 {
    kd_dual x, y, z;
} kd_dual3;

static inline kd_dual3 kd_dual3_add(kd_dual3 a, kd_dual3 b)
{
    return (kd_dual3){kd_dual_add(a.x, b.x), kd_dual_add(a.y, b.y), kd_dual_add(a.z, b.z)};
}
static inline kd_dual3 kd_dual3_scale(kd_dual s, kd_dual3 a)
{
    return (kd_dual3){kd_dual_mul(s, a.x), kd_dual_mul(s, a.y), kd_dual_mul(s, a.z)};
}
static inline kd_dual kd_dual3_dot(kd_dual3 a, kd_dual3 b)
{
    return kd_dual_add(kd_dual_add(kd_dual_mul(a.x, b.x), kd_dual_mul(a.y, b.y)), kd_dual_mul(a.z, b.z));
}
static inline kd_dual3 kd_dual3_cross(kd_dual3 a, kd_dual3 b)
{
    return (kd_dual3){
        kd_dual_sub(kd_dual_mul(a.y, b.z), kd_dual_mul(a.z, b.y)),
        kd_dual_sub(kd_dual_mul(a.z, b.x), kd_dual_mul(a.x, b.z)),
        kd_dual_sub(kd_dual_mul(a.x, b.y), kd_dual_mul(a.y, b.x)),
    };
}

#endif
