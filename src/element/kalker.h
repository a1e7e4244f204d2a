// kalker.h: the ellipse of contact by Hertz, and Kalker's coefficients of the linear theory of rolling contact.
#ifndef KARDAN_ELEMENT_KALKER_H
#define KARDAN_ELEMENT_KALKER_H

// Half axes a (along x) and b (along y) of the area in which two bodies of the same material touch that are apart by
// along * x^2 + across * y^2 without load (both positive), under the force N.
void kd_hertz_ellipse(double along, double across, double N, double shear, double poisson, double *a, double *b);

// Complete elliptic integrals of both kinds at the square of the modulus, 0 <= e2 < 1
void kd_elliptic(double e2, double *K, double *E);

// C11, C22, C23, C33 at the ratio a/b.
void kd_kalker_coefficients(double ratio, double poisson, double out[4]);

#endif
