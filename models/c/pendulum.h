// pendulum.h: the mathematical pendulum with free data, and its exact motion.
#ifndef KARDAN_GALLERY_PENDULUM_H
#define KARDAN_GALLERY_PENDULUM_H

#include <kardan/eom.h>

// Mass 1, length 1. energy_invariant: ne = 1, 0 = |v|^2/2 + gravity p2 - E(p0, v0). On failure both results are NULL.
// Parameters theta: gravity, E(p0, v0).
kd_status kd_pendulum_create(double gravity, const double p0[2], const double v0[2], bool energy_invariant,
                             kd_eom **eom, kd_state **x) KD_NODISCARD;

// Exact motion: from (1,0) at rest (then v10 is not used), or from (0,-1) with velocity (v10, 0). Any pointer may be
// NULL. Absolute error below 1e-14 up to t = 1000 where long double has 64 bits of mantissa.
void kd_pendulum_exact(double gravity, bool from_rest_horizontal, double v10, double t, double p[2], double v[2],
                       double *lambda);

// Gravity for which the pendulum released at rest from (1,0) has period 2: Gamma(1/4)^4 / (4 pi)
#define KD_PENDULUM_GRAVITY_PERIOD_2 13.750371636040745655

#endif
