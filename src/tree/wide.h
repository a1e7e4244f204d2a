// wide.h: links that deform: small deformation by few modes on top of the motion of a link.
//
// A wide link has no joint of its own: it stands still in its parent, and its dofs are the amplitudes q of m modes. Its
// points are at c(q) = x + sum phi_l q_l (+ quadratic terms where geometric stiffness is known). All that inertia needs are
// moments of c and of its slopes, in the axes of the link, polynomials of q:
//
//     h = int c,   C_l = int c_l,   D_l = int c c_l',   J = tr S - S with S = int c c',   b_l = int c x c_l   (c_l = dc/dq_l)
//
// and constant ones: the mass, M_kl = int phi_k' phi_l and T_kl = int phi_k x phi_l. With the angular velocity w, its rate dw and the
// acceleration a of the origin, E = sum q_l' D_l and p = sum q_l' C_l, Lagrange's equations of that kinetic energy are
//
//     F   = m a + dw x h + w x (w x h) + 2 w x p + sum C_l q_l'' + sum C_kl q_k' q_l'
//     N   = h x a + J dw + w x J w + 2 (tr E - E') w + sum b_l q_l'' + sum b_kl q_k' q_l'
//     Q_l = C_l a + b_l dw + w' D_l w - w w tr D_l + 2 w sum T_kl q_k' + sum M_lk q_k''
//
// C_kl, b_kl: symmetric slopes of C and b by q, from geometric stiffness. Others hang on markers: links without inertia and dofs
// that follow the modes of their parent by a word of eight letters, each of which moves by a combination Phi q of the amplitudes:
// shifts along x, y, z, then half the turns about x and y, the turn about z, the other halves about y and x. That is the rotation by the
// vector of the three turns up to terms of third order, as no order of three whole turns is. docs/methods/wide_link.md
#ifndef KARDAN_TREE_WIDE_H
#define KARDAN_TREE_WIDE_H

#include "core/memory.h"
#include "joint/joint.h"
#include "math/space.h"

typedef struct kd_wide {
    int           m;
    double        mass;
    kd_vec3       first;  // int x
    kd_mat3       second; // int x x'
    const double *C;      // (3 x m) at q = 0
    const double *C_q;    // (3 x m x m) C_kl at 3 (k + m l); NULL: 0
    const double *D;      // (9 x m) at q = 0, column by column
    const double *D_q;    // (9 x m x m) slope of D_l by q_k at 9 (k + m l)
    const double *T;      // (3 x m x m) T_kl at 3 (k + m l)
    const double *b_q;    // (3 x m x m) b_kl; NULL: 0
    const double *M;      // (m x m)
} kd_wide;

enum { KD_MARKER_LETTERS = 8, KD_MARKER_RATES = 8, KD_MARKER_SUMS = 9 };

// of the three shifts and three turns that a letter moves along, and which part of it
static const int    kd_marker_along[KD_MARKER_LETTERS] = {0, 1, 2, 3, 4, 5, 4, 3};
static const double kd_marker_part[KD_MARKER_LETTERS] = {1, 1, 1, 0.5, 0.5, 1, 0.5, 0.5};

// The motions of a marker stand at kd_link.letter of kd_motion.axis, about the point P of its parent: eight letters; the rates of
// shifts (u) and turns (w); m sums, what the modes do; then those of the steps of paths, one letter times
// one mode each, as far as Phi is not 0.
typedef struct kd_marker {
    int           m;
    const double *Phi; // (6 x m) shifts, turns per amplitude
    int           nsteps;
    const int    *letter, *mode; // (nsteps) rising letters
} kd_marker;

// One thread's numbers of a wide link, its axes.
typedef struct kd_wide_state {
    // position
    kd_vec3 h;
    kd_mat3 J;
    double *C, *D, *b; // (3 x m), (9 x m), (3 x m)
    // velocity
    kd_mat3 E;
    kd_vec3 p, C_qq, b_qq; // sum C_kl q_k' q_l', sum b_kl q_k' q_l'
    double *dq, *ddq;      // (m)
    double *gyro;          // (3 x m) sum_k T_kl q_k'
    // what algorithms sum up over the markers, world axes
    double *U, *V;             // (6 x m) moment, force of unit q'' about P; the same after elimination
    double *W;                 // (m x m) modes by modes
    double *u;                 // (m)
    double *by_p, *by_v;       // (6 x m) changes of moment and force about the common point
    double *B;                 // (3 x m) Coriolis rows
    double *block_p, *block_v; // (m x m)
} kd_wide_state;

bool kd_wide_cut(const kd_wide *c, kd_arena *arena, kd_wide_state *s);

// Kinetic energy and momentum (of the body: force; about its origin: moment) for w, v of the origin, in the axes of the link
double  kd_wide_energy(const kd_wide *c, const kd_wide_state *s, kd_vec3 w, kd_vec3 v);
kd_vec3 kd_wide_momentum(const kd_wide *c, const kd_wide_state *s, kd_vec3 w, kd_vec3 v);
kd_vec3 kd_wide_spin(const kd_wide_state *s, kd_vec3 w, kd_vec3 v);

#endif
