// work.h: what the tree algorithms keep between their passes, and how they are compiled; private to them.
//
// motion.c, newton_euler.c, articulated_body.c, composite_body.c and newton_euler_derivatives.c are compiled twice on
// x86-64: as they are (variant base) and, included by avx2.c, for processors with AVX2 and FMA. dispatch.c holds the
// functions of tree.h and chooses; the choice is made once per kd_motion, so that results are reproducible.
#ifndef KARDAN_TREE_WORK_H
#define KARDAN_TREE_WORK_H

#include "tree/tree.h"

#ifndef KD_VARIANT
#define KD_VARIANT base
#define KD_LANES 2 // doubles that the processor treats at once
#endif
#define KD_JOIN(name, variant) name##_##variant
#define KD_EXPAND(name, variant) KD_JOIN(name, variant)
#define KD_KERNEL(name) KD_EXPAND(name, KD_VARIANT)

typedef struct kd_eliminated { // one dof of the articulated body method: ddx = u - V'a
    kd_vec3 Vw, Vu;
    double  u;
} kd_eliminated;

enum { KD_ROWS_STRIDE = 64 }; // of rows in trees of up to so many places: known to the compiler, in their mass matrices
enum { KD_GIVEN_SIZE = 12 * 4 * sizeof(double) }; // of the largest struct that is summed up in given

// Links that hang on each other without branches: their dofs in v, first <= k < own, and all behind them, k < end, stand in a row
// in v and in the columns of the pattern of each of them
typedef struct kd_chain {
    int first, own, end;
    int place; // of row k in column l of both: column[l] + place + k
} kd_chain;

struct kd_tree_work {
    bool           avx2;
    int            nangles;
    int           *angle;       // (nangles) places in x of the angles that need sine and cosine
    int           *first_angle; // (nlinks)
    int            nhalves;
    int           *half;                   // (nhalves) those of which half the coordinate counts
    int            nturns;                 // those of joints, up to fours, then four for each marker that moves
    double        *angles, *sine, *cosine; // (nturns)
    kd_axis       *bias;                   // (nlinks) acceleration of link i beyond that of its parent and S ddx
    void          *given;      // (nlinks) sum of what the children of a link give to it, see articulated_body.c
    kd_eliminated *eliminated; // (ndof)
    int           *root;       // (nlinks) first link of the tree that a link belongs to; its P is the common point
    // (nlinks) links above i and it itself whose dofs stand in a row in v, each the parent of the next: the first place, and
    // the parent of the first of them
    int      *run_v, *run_parent;
    int      *above; // (nlinks) number of dofs in v of the links between i and the ground
    int       nchains;
    kd_chain *chain;    // (nchains) those with dofs, from the ground to the tips
    int      *chain_of; // (nlinks) of links with dofs: theirs
    // per place in v, about the common point: rows, stride apart; S motion (6), IS = Ic S (6), BS = Bc'S (3)
    int     stride;
    double *S, *IS, *BS;
    // (nlinks) columns of J = R I R', then h = m R c, each with a number more, where the residual was computed at this position
    double (*turned)[16];
    bool           turned_known;
    kd_wide_state *wide; // (tree->nwide)
    double *
        *row; // (nlinks) shifts and turns of a marker by its modes, as they are now, then (8) its own; NULL: no marker
};

// the variants of the functions of tree.h
#define KD_DECLARE_KERNELS(variant)                                                                                    \
    void kd_place_##variant(const kd_tree *tree, const double *x, kd_motion *m);                                       \
    void kd_place_some_##variant(const kd_tree *tree, const double *x, int n, const int *list, bool first,             \
                                 kd_motion *m);                                                                        \
    void kd_move_##variant(const kd_tree *tree, const double *dx, kd_motion *m);                                       \
    void kd_accelerate_##variant(const kd_tree *tree, const double *dx, const double *ddx, kd_vec3 g, kd_motion *m);   \
    void kd_residual_##variant(const kd_tree *tree, kd_motion *m, const kd_wrench *load, double *tau);                 \
    bool kd_explicit_##variant(const kd_tree *tree, kd_motion *m, const double *dx, kd_vec3 g, const kd_wrench *load,  \
                               const double *tau, double *ddx, int *bad);                                              \
    void kd_mass_##variant(const kd_tree *tree, kd_motion *m, double *values);                                         \
    void kd_mass_dense_##variant(const kd_tree *tree, kd_motion *m, double *M);                                        \
    void kd_residual_derivatives_##variant(const kd_tree *tree, kd_motion *m, const double *dx, const double *ddx,     \
                                           double *by_position, double *by_velocity);                                  \
    void kd_wide_deform_##variant(const kd_tree *tree, const double *x, kd_motion *m);                                 \
    void kd_wide_rate_##variant(const kd_tree *tree, const double *dx, kd_motion *m);                                  \
    void kd_wide_force_##variant(const kd_wide *c, const kd_wide_state *s, const kd_link_motion *m, const double *ddq, \
                                 kd_wrench *force, double *Q);                                                         \
    void kd_wide_derivatives_##variant(const kd_wide *c, kd_wide_state *s, const kd_link_motion *m, kd_vec3 r);        \
    void kd_wide_velocity_force_##variant(const kd_wide *c, const kd_wide_state *s, const kd_link_motion *m,           \
                                          kd_wrench *force, double *Q);                                                \
    int  kd_wide_articulate_##variant(const kd_tree *tree, kd_motion *m, int i, const kd_wrench *load,                 \
                                      const double *tau, const void *given, void *b);                                  \
    void kd_wide_follow_##variant(const kd_wide *c, kd_wide_state *s, const double a[8], double *ddq);                 \
    void kd_marker_rates_##variant(const kd_marker *marker, const double *row, const double *rate, double e[8]);       \
    void kd_sine_cosine_##variant(int n, const double *x, double *restrict sine, double *restrict cosine);

// in a function that has a kd_motion m: the variant that was chosen for it
#ifdef KD_AVX2
#define KD_CALL(name, ...) (m->work->avx2 ? name##_avx2(__VA_ARGS__) : name##_base(__VA_ARGS__))
#else
#define KD_CALL(name, ...) name##_base(__VA_ARGS__)
#endif

KD_DECLARE_KERNELS(base)
KD_DECLARE_KERNELS(avx2)

#endif
