// pair.h: motion of one frame relative to another, and how it depends on the coordinates between them.
//
// Frame A is fixed in link a, frame B in link b. Seen from A, in the axes of A:
//
//     d = R_A' (r_B - r_A),  C = R_A' R_B,   d', d'', omega, alpha their time derivatives (C' = omega~ C)
//
// Joints, constraints and forces between two bodies depend on nothing else. Of the coordinates only those on the path
// from a to b in the tree matter: common ancestors move A and B together. An increment of dof l on the path turns B by
// w_l and shifts its origin by u_l; with S_l = (w_l, u_l) as spatial vectors at the origin of B, A held fixed,
//
//     V = sum S_l v_l,   A = sum S_l a_l + sum_(m < l) (S_m x S_l) v_m v_l
//     dS_k/dq_l = S_l x S_k   if l stands before k on the path, 0 otherwise
//
// A curved joint (joint/table.h) adds S_l' v_l^2 to A and S_l' to dS_l/dq_l; on the way from its B to its A, where S_l is
// minus its motion, B is held and S'' - S x S' takes the place of S''. A letter L of a marker that bends (wide.h) adds L q' bend q' to A
// and L bend_kl to dS_k/dq_l.
//
// ("before": nearer to A). The three dofs of a spherical joint turn with B when the path runs through the joint from
// parent to child, and then stand before each other; the other way round they are fixed in the side of A, and none
// stands before another. Derivation: docs/methods/formalism.md
#ifndef KARDAN_TREE_PAIR_H
#define KARDAN_TREE_PAIR_H

#include "tree/tree.h"

// One dof on the way from a to b, or one letter of a word that folds: then several steps have the same dof.
typedef struct kd_step {
    int dof;
    int axis; // its motion in kd_motion.axis
    int bend; // S' there, S'' behind it, of a curved joint; 0: none
    int v;    // its place in v; -1: prescribed
    double
        rate; // of its motion: +1 between the common ancestor and b, -1 between a and it; times the part that a mode has
    int  block;   // number of the block: dofs of one spherical joint share it, all others have their own; rising
    bool carried; // the dofs of the block turn with B: they stand before each other
    int  marker;  // link of a marker whose letter bends: the part of the mode changes, rate is the sign; 0: none
} kd_step;

typedef struct kd_pair {
    int      a, b;   // links
    kd_vec3  ra, rb; // origins of A and B in their links
    kd_mat3  Ra, Rb; // axes of A and B in their links
    int      nsteps;
    kd_step *step;             // (nsteps) from a to b
    int      measure;          // for build.c: 1 + its latest measure; 0: none
    bool     shifts_only;      // nobody reads C
    bool     no_length;        // nobody reads length and n
    bool     straight;         // A stands on the ground along the axes of the world
    bool     along_a, along_b; // A, B has the axes of its link
} kd_pair;

struct kd_touch_at;
struct kd_rotation_at;

// Relative motion, axes of A.
typedef struct kd_relative {
    kd_mat3                      RA;     // axes of A in the world
    kd_vec3                      rA, rB; // origins in the world
    kd_mat3                      C;
    kd_vec3                      d;
    double                       length;     // |d|
    kd_vec3                      n;          // d/|d|
    kd_vec3                      omega, dd;  // velocity stage
    kd_vec3                      alpha, ddd; // acceleration stage
    const struct kd_touch_at    *touch;      // surfaces on the frames, where they touch (element/touch.h); NULL: none
    const struct kd_rotation_at *turn;       // C as a vector, with its gradients (element/rotation.h); NULL: not kept
} kd_relative;

// What an increment of one dof of the path does, axes of A.
typedef struct kd_change {
    kd_vec3 w, u;           // turn of B, shift of its origin; also change of omega, d' by the rate of the dof
    kd_vec3 omega_q, dd_q;  // change of omega, d'
    kd_vec3 alpha_q, ddd_q; // change of alpha, d''
    kd_vec3 alpha_v, ddd_v; // change of alpha, d'' by the rate of the dof
} kd_change;

// Cut the path of pair->a, pair->b out of the tree. false: out of memory.
bool kd_pair_path(const kd_tree *tree, kd_pair *pair, kd_arena *arena);

void kd_pair_place(const kd_pair *pair, const kd_motion *m, kd_relative *rel);      // RA .. d
void kd_pair_move(const kd_pair *pair, const kd_motion *m, kd_relative *rel);       // omega, dd
void kd_pair_accelerate(const kd_pair *pair, const kd_motion *m, kd_relative *rel); // alpha, ddd

// Columns of the path: w, u only.
void kd_pair_axes(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel, kd_change *out);
// omega_q, dd_q, after kd_pair_axes: dx are the rates of all dofs of the tree.
void kd_pair_rates(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                   const double *dx, kd_change *out);
// The rest too, after kd_pair_axes: dx, ddx are the rates and accelerations of all dofs of the tree.
void kd_pair_changes(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                     const double *dx, const double *ddx, kd_change *out);
// What the motion of step l changes by it besides those before it, at the origin of B, axes of A, signs of the path:
//     curved joints: bend[0] = S' v, bend[1] = S' a + S'' v^2;   markers that bend: L bend_l v, L bend_l a of all modes
// dx, ddx (NULL: 0) are those of all dofs of the tree. false: nothing
bool kd_pair_bend(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel, int l,
                  const double *dx, const double *ddx, kd_axis bend[2]);
// S_k changes by q_l in this way, too; false: not
bool kd_pair_bend_by(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel, int k, int l,
                     kd_axis *bend);

// A load on B at its origin, axes of A, and the opposite one on A at the same point: added to the loads on the links
// (world axes, at their points P; that of the ground is left alone).
void kd_pair_load(const kd_pair *pair, const kd_motion *m, const kd_relative *rel, const kd_wrench *between,
                  kd_wrench *load);

// Variants (work.h)
#define KD_DECLARE_PAIR_KERNELS(variant)                                                                               \
    void kd_pair_place_##variant(const kd_pair *pair, const kd_motion *m, kd_relative *rel);                           \
    void kd_pair_move_##variant(const kd_pair *pair, const kd_motion *m, kd_relative *rel);                            \
    void kd_pair_axes_##variant(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,  \
                                kd_change *out);                                                                       \
    void kd_pair_load_##variant(const kd_pair *pair, const kd_motion *m, const kd_relative *rel,                       \
                                const kd_wrench *between, kd_wrench *load);

KD_DECLARE_PAIR_KERNELS(base)
KD_DECLARE_PAIR_KERNELS(avx2)

#endif
