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

// clang-format off
// Rows of fields of an element with a throttle: what is the member of its own definition
#define KD_THROTTLE_FIELDS(what)                                                                                       \
    {"drop", KD_FIELD_NUMBER, offsetof(kd_force_def, what.drop), 1, ALL, 0, 1e6, POSITIVE, "Pa",                       \
     .doc = "difference of pressure at which the flow is `flow`; it goes with the square root"},                       \
    {"smooth", KD_FIELD_NUMBER, offsetof(kd_force_def, what.smooth), 1, ALL, 0, 2e4, POSITIVE, "Pa",                   \
     .doc = "difference of pressure below which the square root is regularised"}
// clang-format on

#endif
