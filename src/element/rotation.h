// rotation.h: the rotation of frame B against frame A as a vector, with all derivatives.
//
// phi = theta n with C = exp(phi~), theta <= pi; it has the same components in A and in B. With the unit quaternion
// (q0, q) of C, q0 >= 0, and G(y) = 2 acos(y)/sqrt(1 - y^2):
//
//     phi = G(q0) q,   dq0 = -1/2 w . q,   dq = 1/2 (q0 w + w x q)     for a turn w of B (axes of A)
//
// so that the gradient of phi_i is N_i = -1/2 G' q_i q + 1/2 G (q0 e_i + q x e_i), row i of the inverse of the left
// Jacobian of the exponential map. A potential V(phi) gives the torque -sum_i V_i N_i.
//
// G is analytic at 1. From (1 - y^2) G' = y G - 2: (1 - y^2) G'' = G + 3 y G', (1 - y^2) G''' = 4 G' + 5 y G''.
#ifndef KARDAN_ELEMENT_ROTATION_H
#define KARDAN_ELEMENT_ROTATION_H

#include "element/measure.h"

// G and its derivatives up to the order (at most 3) at y in (-1, 1]; root = sqrt(1 - y^2), which a caller knows more exactly
void kd_rotation_factor(double y, double root, int order, double G[4]);

// phi and its gradients N_i at one position: values, rates and forces of all components read them
typedef struct kd_rotation_at {
    kd_vec3 phi, N[3];
} kd_rotation_at;

void    kd_rotation_find(const kd_relative *rel, kd_rotation_at *at);
double  kd_rotation_value(const kd_relative *rel, int i); // of rel->turn, where it is kept; so is the gradient
kd_jet  kd_rotation_jet(const kd_relative *rel, const kd_tangent *e, int i);
kd_vec3 kd_rotation_gradient(const kd_relative *rel, int i);
kd_vec3 kd_rotation_curvature(const kd_relative *rel, int i, kd_vec3 w);

#endif
