// work.h: what the tree algorithms keep between their passes; private to them.
#ifndef KARDAN_FORMALISM_WORK_H
#define KARDAN_FORMALISM_WORK_H

#include "formalism/tree.h"

// Inertia with 6 x 6 = [J H; H' M] at P_i, and the force [N; F] that belongs to it: f = I a + b.
typedef struct kd_articulated {
    kd_sym3 J, M;
    kd_mat3 H;
    kd_vec3 N, F;
} kd_articulated;

typedef struct kd_eliminated { // one dof of the articulated body method
    kd_vec3 Uw, Uu;            // U = IA S
    double  D, u;              // 1 / (S'U), tau - S'b
} kd_eliminated;

typedef struct kd_composite { // rigid body: mass, first moment and inertia about the reference point
    double  m;
    kd_vec3 h;
    kd_sym3 J;
} kd_composite;

// Derivatives: composite quantities of a subtree about the common point O.
typedef struct kd_coriolis {
    kd_mat3   L; // integral of r' (velocity) times r (position), dm
    kd_vec3   p; // momentum
    kd_wrench f; // inertia force
} kd_coriolis;

struct kd_tree_work {
    kd_axis        *bias;       // (nlinks) acceleration of link i beyond that of its parent and S ddx
    kd_articulated *body;       // (nlinks)
    kd_eliminated  *eliminated; // (ndof)
    kd_composite   *composite;  // (nlinks)
    kd_coriolis    *coriolis;   // (nlinks)
    kd_vec3        *origin;     // (nlinks) common reference point of the tree that a link belongs to
    int            *run;        // (nlinks) first link of the row of links, each the parent of the next, that ends in i
    int            *above;      // (nlinks) number of dofs in v of the links between i and the ground
    // per place in v, about the common point: six rows of length nv each; S motion, IS = Ic S, BS = Bc'S
    double *S, *IS, *BS;
};

// one column of six rows
void kd_rows_put(double *rows, int nv, int k, kd_vec3 a, kd_vec3 b);
// parent + c carried from P to P - d
void kd_composite_add(const kd_composite *c, kd_vec3 d, kd_composite *parent);

// Motions S of all dofs in v about the common point of their tree, and that point, into work; after place.
void kd_tree_common_axes(const kd_tree *tree, kd_motion *m);

// out_k = a' S_k for all k in v on the way from the ground to link i, of its own dofs those before end; the number of
// them. S: six rows of length nv.
int kd_tree_climb(const kd_tree *tree, const struct kd_tree_work *work, int i, int end, const double *S,
                  const double a[6], double *out);
// out_k = a' S_k, first <= k < end
void kd_tree_dots(int nv, const double *S, const double a[6], int first, int end, double *out);

// Velocity-dependent accelerations of all links into work->bias; after place and move.
void kd_tree_bias(const kd_tree *tree, const double *dx, kd_motion *m);

#endif
