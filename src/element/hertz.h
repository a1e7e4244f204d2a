// hertz.h: stiffness of two elastic bodies that touch in an ellipse.
#ifndef KARDAN_ELEMENT_HERTZ_H
#define KARDAN_ELEMENT_HERTZ_H

#include <stdbool.h>

// k of the force k depth^1.5 from E* and from trace and determinant of the relative curvature in the plane of contact:
// k, and its derivatives by trace and determinant. false: the contact is no ellipse, but a line, or conforms
bool kd_hertz_stiffness(double modulus, double trace, double determinant, double k[3]);

#endif
