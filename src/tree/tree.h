// tree.h: a tree of rigid links, its motion, and the recursive algorithms on it, all linear in the number of links.
//
// Link 0 is the ground. Link i hangs on link parent[i] < i by one joint; links are numbered depth first, so that the
// subtree of i is the range i <= j < end. The frame of a link is the moving frame B of its joint: origin P, axes R (to
// the world). Frame A of the joint is fixed in the parent, at r with axes E there:
//
//     R_i = R_l E C(x),   P_i = P_l + R_l (r + E d(x)),   l = parent
//
// Each joint is a word of elementary motions (joint/joint.h), and its coordinates are scalar motions ("dofs"), later
// ones carried by earlier ones; a ball behind them has a quaternion and three dofs, the angular velocity in the axes of
// B. x has 7 numbers for 6 dofs in a free joint (4 for 3 in a spherical one). A position is moved by an increment of the
// dofs: x + e for scalars, x * exp(e) for quaternions. A dof may be prescribed by a function of time: the kernels treat
// it like the others, only its acceleration is known (articulated body) and it has no row in v (composite body).
//
// A word that folds has a dof that is the sum of two motions with others between them. Its axis is that sum; derivatives
// along the coordinates go letter by letter, over the motions of the letters, which stand behind those of the dofs.
// A curved joint has a dof whose motion S depends on its coordinate: S' and S'' (joint/table.h) stand there.
//
// Links may deform: then their dofs are amplitudes of modes, which move the markers on them, each in its own way (wide.h).
//
// All results are in world axes; vectors of link i refer to its point P_i. Accelerations are those of the points, with
// gravity as the acceleration -g of the ground: in kd_motion.link[0].dv. Notation and method: docs/methods/tree.md
#ifndef KARDAN_TREE_TREE_H
#define KARDAN_TREE_TREE_H

#include <kardan/base.h>

#include "core/memory.h"
#include "joint/joint.h"
#include "math/space.h"
#include "tree/wide.h"

typedef struct kd_link {
    int           parent; // 0: ground
    int           end;    // one past the last link of the subtree; filled by kd_tree_finish
    kd_joint_kind kind;
    kd_joint_form form;          // of the kind; filled by kd_tree_finish
    int           dof, position; // first dof, first entry of x; filled by kd_tree_finish
    int           letter; // first of its letters in kd_motion.axis, of words that fold; S' of a curved joint, behind it
                          // S''; filled by kd_tree_finish
    kd_mat3 E;            // axes of frame A in the parent's axes
    kd_vec3 r;            // origin of A in the parent's frame
    double  lead;         // [m/rad], of words with a lead only

    const kd_joint_table *table; // of a curved joint
    double                mass;
    kd_vec3               centre;  // centre of mass in the link's frame
    kd_sym3               inertia; // about P, in the link's axes
    // A link that deforms (kind KD_FIXED, mass 0): its dofs are the amplitudes of its modes, its children are markers; or a
    // marker on one. NULL: neither. wide.h
    const kd_wide   *wide;
    const kd_marker *marker;
    bool             massless;   // filled by kd_tree_finish
    bool             goes_along; // fixed to its parent, with the same axes and point; filled by kd_tree_finish
    bool             same_point; // fixed to its parent, with the same point; filled by kd_tree_finish
    bool             straight;   // E is the unit matrix; filled by kd_tree_finish
    bool             stays;      // turns about z, at the point of its parent; filled by kd_tree_finish
    int              state;      // of a wide link: its place in the work memory; filled by kd_tree_finish
} kd_link;

// Entries of a mass matrix beyond which no matrices are assembled: a chain of 2048 links.
enum { KD_TREE_PATTERN_MAX = 1 << 22 };

// Constant description.
typedef struct kd_tree {
    int      nlinks;    // with the ground: link[0 .. nlinks-1]
    int      ndof;      // scalar motions of all joints
    int      nposition; // numbers in x
    int      naxes;     // motions: of the dofs, then of the letters of words that fold, and S', S'' of curved joints
    int      nv;        // dofs that are not prescribed
    int      nwide;     // links that deform
    int     *wide;      // (nwide) these, rising: link[wide[k]].state = k
    kd_link *link;      // (nlinks)
    bool     bare;      // no pattern is wanted
    int     *dof_link;  // (ndof) link of a dof
    int     *dof_v;     // (ndof) place in v; -1: prescribed
    int     *v_dof;     // (nv)
    int     *link_v;    // (nlinks + 1) first place in v of the dofs of a link; its subtree: link_v[i] to link_v[end]
    // Pattern of the derivatives of the residual and of M: column l of v holds the rows of all ancestors and of the
    // subtree of its link, rising. For a chain it is full, for single bodies block-diagonal. Above
    // KD_TREE_PATTERN_MAX entries both are NULL; what works in the pattern must not be called then.
    int     *column; // (nv + 1) start of a column
    int     *row;    // (column[nv])
    kd_arena arena;
} kd_tree;

// Fill in what follows from nlinks, link and prescribed (ndof flags, NULL: none); arrays come from the arena, link may
// come from it, too. KD_ERR_ARGUMENT: the links are not in depth-first order, a kind is unknown, a curved joint has no table.
kd_status kd_tree_finish(kd_tree *tree, const bool *prescribed) KD_NODISCARD;
void      kd_tree_release(kd_tree *tree);
// E and r of a link are others now: goes_along, same_point
void kd_link_note_place(kd_link *link);

typedef struct kd_link_motion {
    kd_mat3 R; // position
    kd_vec3 P;
    kd_vec3 w, v;   // velocity: of the frame, of the point P
    kd_vec3 dw, dv; // acceleration: of the frame, of the point P, relative to free fall
} kd_link_motion;

typedef struct kd_wrench { // moment about P_i, force
    kd_vec3 N, F;
} kd_wrench;

// One thread's motion of a tree.
typedef struct kd_motion {
    kd_link_motion      *link;     // (nlinks)
    kd_axis             *axis;     // (naxes) what each does to its link at unit rate: turn w, velocity u of P_i
    kd_wrench           *reaction; // (nlinks) on the link by its joint; filled by kd_tree_residual
    struct kd_tree_work *work;     // private to the algorithms
} kd_motion;

// what a link that deforms has at the motion, and what a marker has: rows of shifts and turns by the modes (kd_marker_slope)
const kd_wide_state *kd_motion_wide(const kd_motion *m, const kd_link *link);
const double        *kd_motion_marker(const kd_motion *m, int link);

kd_status kd_motion_create(const kd_tree *tree, kd_arena *arena, kd_motion *motion) KD_NODISCARD;

// Passes from root to tips. kd_tree_accelerate needs the other two; gravity g in world axes.
void kd_tree_place(const kd_tree *tree, const double *x, kd_motion *m); // R, P, axis
void kd_tree_move(const kd_tree *tree, const double *dx, kd_motion *m); // w, v
// Place in two calls: links list[1 .. n - 1], rising and with all their ancestors, then, first = false, all others at the same x
void kd_tree_place_some(const kd_tree *tree, const double *x, int n, const int *list, bool first, kd_motion *m);
void kd_tree_accelerate(const kd_tree *tree, const double *dx, const double *ddx, kd_vec3 g, kd_motion *m); // dw, dv

// Residual formalism (recursive Newton-Euler), after the three passes: tau (ndof) = generalised inertia forces, minus
// those of the loads on the links (nlinks; at P_i in world axes; NULL: none).
void kd_tree_residual(const kd_tree *tree, kd_motion *m, const kd_wrench *load, double *tau);
// All four passes at once, for those who need tau only.
void kd_tree_inverse_dynamics(const kd_tree *tree, const double *x, const double *dx, const double *ddx, kd_vec3 g,
                              const kd_wrench *load, kd_motion *m, double *tau);

// Explicit formalism (articulated body), after place and move: accelerations ddx (ndof) under loads on the links and
// forces tau (ndof; NULL: none) in the joints. Prescribed dofs: ddx is read instead. Leaves dw, dv in m.
// false: an articulated inertia is singular, *bad is the dof.
bool kd_tree_explicit(const kd_tree *tree, kd_motion *m, const double *dx, kd_vec3 g, const kd_wrench *load,
                      const double *tau, double *ddx, int *bad);

// Mass matrix (composite body), after place: values in the pattern of the tree, both triangles.
void kd_tree_mass(const kd_tree *tree, kd_motion *m, double *values);
// The same, dense (nv x nv, leading dimension nv), zero outside the pattern.
void kd_tree_mass_dense(const kd_tree *tree, kd_motion *m, double *M);

// Derivatives of the residual without loads by increments of x and by dx at fixed dx, ddx, after the three passes; in
// the pattern of the tree.
void kd_tree_residual_derivatives(const kd_tree *tree, kd_motion *m, const double *dx, const double *ddx,
                                  double *by_position, double *by_velocity);

// x oplus e: positions moved by an increment of the dofs (e: ndof). out may be x.
void kd_tree_oplus(const kd_tree *tree, const double *x, const double *e, double *out);
// x' = Z dx
void kd_tree_rates(const kd_tree *tree, const double *x, const double *dx, double *out);

#endif
