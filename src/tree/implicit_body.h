// implicit_body.h: Newton matrices of implicit methods, eliminated along a tree of links.
//
// For x'' = a(x, x') of a tree, M a + f(x, x') = 0, a Newton step of an implicit method with the leading coefficient
// gamma reads, with the derivatives R_x, R_v of the residual,
//
//     gamma d - dv = rho,   gamma dv - da = r,   M da + R_v dv + R_x d = 0,
//
// whose matrix (gamma^2 M + gamma R_v + R_x) is full for a chain. Eliminated along the tree it costs O(N), as the
// articulated bodies do for M alone. docs/methods/tree.md
#ifndef KARDAN_TREE_IMPLICIT_BODY_H
#define KARDAN_TREE_IMPLICIT_BODY_H

#include "tree/tree.h"

typedef struct kd_implicit_body kd_implicit_body;

bool kd_implicit_body_fits(const kd_tree *tree); // no word folds, no joint is curved
// NULL: out of memory
kd_implicit_body *kd_implicit_body_create(const kd_tree *tree);
void              kd_implicit_body_destroy(kd_implicit_body *self); // NULL is fine
void              kd_implicit_body_archive(kd_implicit_body *self, kd_archive *a);

// Derivatives of the inertia forces, after the three passes. The forces inside of joints are up to the caller:
void kd_implicit_body_set(kd_implicit_body *self, const kd_motion *m, const double *dx, const double *ddx);
// their derivatives by the dofs of the same joint, and by their rates: blocks of the links one after the other, each
// column by column over the places in v of the link; that of link i starts at kd_implicit_body_block. Zero at first.
double *kd_implicit_body_by_position(kd_implicit_body *self);
double *kd_implicit_body_by_velocity(kd_implicit_body *self);
int     kd_implicit_body_block(const kd_implicit_body *self, int link);

// Complex calls are about the k-th complex gamma from now on, 0 .. 2, at first 0. false: out of memory
bool kd_implicit_body_pair(kd_implicit_body *self, int k);
// Factors for a real gamma (im = 0) or a complex one, side by side. false: singular
bool kd_implicit_body_factor(kd_implicit_body *self, double re, double im);
// (rho, r) to (d, dv), (2 nv) both; im NULL: with the real factors
void kd_implicit_body_solve(kd_implicit_body *self, double *re, double *im);

#endif
