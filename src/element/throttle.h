// throttle.h: flow through an edge or throttle: the square root of the difference of pressure d, smooth at 0:
//
//     q(d) = K d / (d^2 + smooth^2)^(1/4),   K = flow / sqrt(drop)
//
// and its slope K (d^2/2 + smooth^2) / (d^2 + smooth^2)^(5/4). Method: docs/methods/fluid.md
#ifndef KARDAN_ELEMENT_THROTTLE_H
#define KARDAN_ELEMENT_THROTTLE_H

#include <math.h>

static inline double kd_throttle(double flow, double drop, double smooth, double d, double *slope)
{
    const double K = flow / sqrt(drop), n2 = d * d + smooth * smooth, root = sqrt(sqrt(n2));
    *slope = K * (0.5 * d * d + smooth * smooth) / (n2 * root);
    return K * d / root;
}

#endif
