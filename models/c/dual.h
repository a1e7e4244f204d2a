// dual.h: numbers with one derivative, for examples whose derivatives are long.
//
// A kd_dual is a complex number a + i b whose imaginary part is so small (KD_DUAL_STEP) that b^2 is nothing beside a:
// sums, products and quotients of complex arithmetic then carry the derivative along exactly, and functions do it by
// f(a + i b) = f(a) + i b f'(a). (Squire & Trapp, SIAM Review 40 (1998) 110: complex steps have no cancellation.)
#ifndef KARDAN_GALLERY_DUAL_H
#define KARDAN_GALLERY_DUAL_H

#include <complex.h>
#include <math.h>

typedef double complex kd_dual;

#define KD_DUAL_STEP 1e-100

// a + i b (CMPLX is missing from some compilers)
static inline kd_dual kd_dual_of(double a, double b)
{
    const union {
        double  part[2];
        kd_dual z;
    } number = {{a, b}};
    return number.z;
}

// f(z) with f(a) and f'(a) known
static inline kd_dual kd_dual_lift(kd_dual z, double value, double slope)
{
    return kd_dual_of(value, slope * cimag(z));
}

static inline kd_dual kd_dual_sin(kd_dual z)
{
    return kd_dual_lift(z, sin(creal(z)), cos(creal(z)));
}

static inline kd_dual kd_dual_cos(kd_dual z)
{
    return kd_dual_lift(z, cos(creal(z)), -sin(creal(z)));
}

static inline kd_dual kd_dual_sqrt(kd_dual z)
{
    const double root = sqrt(creal(z));
    return kd_dual_lift(z, root, 0.5 / root);
}

static inline kd_dual kd_dual_cbrt(kd_dual z)
{
    const double root = cbrt(creal(z));
    return kd_dual_lift(z, root, 1 / (3 * root * root));
}

static inline kd_dual kd_dual_tanh(kd_dual z)
{
    const double value = tanh(creal(z));
    return kd_dual_lift(z, value, (1 - value) * (1 + value));
}

static inline kd_dual kd_dual_abs(kd_dual z)
{
    return creal(z) < 0 ? -z : z;
}

#endif
