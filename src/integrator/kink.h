// integrator/kink.h: a kink of the motion: z or an input jumps, p, v and r do not, but x' and algebraic components do.
//
//     q(t) = x + (t - t_1) x' + (t - t_1)^2 / 2 x''     jumps of x, x', x'' at t_1, from the left to the right
//
// x_past(t) + q(t) is a past that belongs to the motion behind the kink up to terms of third order: multistep methods
// and predictors go on with it as if nothing had happened. Method: docs/methods/restart.md
#ifndef KD_INTEGRATOR_KINK_H
#define KD_INTEGRATOR_KINK_H

#include "core/memory.h"
#include <kardan/dae.h>

typedef struct kd_kink {
    int     n;
    double *x, *xdot, *xddot; // (n) jumps
} kd_kink;

void kd_kink_cut(kd_kink *kink, kd_arena *arena, int n);
// At (t, x) with x' from the left: algebraic components of x and x' from the right, and the jumps. What the formulation
// does not tell about x' counts as no jump.
kd_eval kd_kink_solve(kd_kink *kink, const kd_dae *dae, double t, double *x, double *xdot) KD_NODISCARD;
// y += q(t_1 + tau)
void kd_kink_add(const kd_kink *kink, double tau, double *y);
// y += q'(t_1 + tau)
void kd_kink_add_slope(const kd_kink *kink, double tau, double *y);

#endif
