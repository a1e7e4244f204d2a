// circulartrack.h: the exact motion of the mass on a circular track (circulartrack.c).
#ifndef KARDAN_GALLERY_CIRCULARTRACK_H
#define KARDAN_GALLERY_CIRCULARTRACK_H

// Position, velocity, inner state of the controller and multiplier at a time t >= 0.
void kd_circulartrack_exact(double t, double p[2], double v[2], double *zeta, double *lambda);

#endif
