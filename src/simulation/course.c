// course.c: an input along a step, as a smooth function would go from end to end.
//
//     quintic   u0 + s (h u0' + s (h^2 u0'' / 2 + s (c3 + s (c4 + s c5))))     of u, u', u'' at both ends
//     cubic     u0 + s (h u0' + s (b2 + s b3))                                 of u, u'
//
// The quintic's own error is less than what the cubic is away from it.
#include "simulation/course.h"

#include <math.h>

static const double OWN_ERROR = 0.3; // times |quintic - cubic|
static const double UNEVEN = 0.1;    // of u'' at the ends: so far from a polynomial is smooth

kd_course kd_course_of(double h, const double end0[3], const double end1[3])
{
    const double v0 = h * end0[1], v1 = h * end1[1], a0 = h * h * end0[2], a1 = h * h * end1[2];
    const double rise = end1[0] - end0[0], d = rise - v0 - 0.5 * a0, dv = v1 - v0 - a0, da = a1 - a0;
    return (kd_course){
        // c3, c4, c5 from what is left of u, u', u'' at the other end
        .c = {end0[0], v0, 0.5 * a0, 10 * d - 4 * dv + 0.5 * da, -15 * d + 7 * dv - da, 6 * d - 3 * dv + 0.5 * da},
        .b = {3 * rise - 2 * v0 - v1, v0 + v1 - 2 * rise},
        .most_u = fmax(fabs(end0[0]), fabs(end1[0])),
        .most_ddu = fmax(fabs(a0), fabs(a1)),
    };
}

double kd_course_off(const kd_course *course, double h, double s, double u, double ddu, double rtol, double atol)
{
    const double *c = course->c, b2 = course->b[0], b3 = course->b[1];
    const double  smooth = c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * (c[4] + s * c[5]))));
    const double  bend = 2 * c[2] + s * (6 * c[3] + s * (12 * c[4] + 20 * s * c[5]));
    const double  own = OWN_ERROR * fabs(smooth - (c[0] + s * (c[1] + s * (b2 + s * b3))));
    const double  own_bend = OWN_ERROR * fabs(bend - (2 * b2 + 6 * b3 * s)) + UNEVEN * course->most_ddu;
    const double  tolerance = rtol * fmax(fabs(u), course->most_u) + atol;
    const double  value = fabs(u - smooth) - own, curvature = fabs(h * h * ddu - bend) - own_bend;
    return isnan(value) || isnan(curvature) ? INFINITY : fmax(value, curvature) / tolerance;
}
