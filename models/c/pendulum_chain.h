// pendulum_chain.h: the chain of pendulums with any number of rods.
#ifndef KARDAN_GALLERY_PENDULUM_CHAIN_H
#define KARDAN_GALLERY_PENDULUM_CHAIN_H

#include <kardan/eom.h>

// n rods that hang at rest; inputs are the coordinates of the suspension. On failure both results are NULL.
kd_status kd_pendulum_chain_create(int n, kd_eom **eom, kd_state **x) KD_NODISCARD;

// The suspension 2 + 0.3 sin(w t), 0.2 sin(w t); *w stays the caller's.
kd_inputs kd_pendulum_chain_inputs(const double *w);

#endif
