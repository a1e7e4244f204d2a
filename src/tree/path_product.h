// path_product.h: derivatives of the generalised forces of a load between two frames. Equations: path_product.c
#ifndef KARDAN_TREE_PATH_PRODUCT_H
#define KARDAN_TREE_PATH_PRODUCT_H

#include "tree/pair.h"

// A load on B at its origin, axes of A, and how it changes. Components in the order moment, force and turn, shift.
typedef struct kd_path_load {
    double     load[6];
    double     K[6][6];           // K[j]: change by component j of the pose of B
    double     D[6][6];           // D[j]: change by component j of (omega, d')
    int        first;             // 3: moments, turns are not involved; 0
    const int *place_p, *place_v; // (nsteps x nsteps, column by column) of the entries in the values of two matrices
} kd_path_load;

enum { KD_PATH_SHORT = 12 };

static inline int kd_path_width(int nsteps)
{
    // four more, for vectors that begin anywhere; all short paths alike
    return (nsteps < KD_PATH_SHORT ? KD_PATH_SHORT : (nsteps + 3) / 4 * 4) + 4;
}

// Numbers of scratch memory that kd_path_product needs
static inline size_t kd_path_scratch(int nsteps)
{
    const size_t width = (size_t)kd_path_width(nsteps);
    return (30 + width) * width;
}

// p -= derivative by increments, v -= derivative by rates of the forces along the steps; dx: rates of all dofs.
void kd_path_product(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                     const double *dx, const kd_path_load *load, double *scratch, double *p, double *v);

// block (nsteps x nsteps, and three numbers more) = S' K S: with alpha K + beta D for K of a load what its stiffness
// and damping make of a matrix, without the changes of directions along the path.
void kd_path_congruence(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                        const kd_path_load *load, double *scratch, double *block);

typedef struct kd_path_run { // entries of a block that stand in a row in a matrix, too
    int from, to, n;         // places in the block, in the values of the matrix
} kd_path_run;

// values -= block, run by run; m chooses the variant
void kd_path_subtract(const kd_motion *m, int nruns, const kd_path_run *run, const double *block, double *values);

// values += all four; m chooses the variant
void kd_path_add(const kd_motion *m, int n, const double *const from[4], double *values);

#define KD_DECLARE_PATH_KERNELS(variant)                                                                               \
    void kd_path_product_##variant(const kd_pair *pair, const kd_tree *tree, const kd_motion *m,                       \
                                   const kd_relative *rel, const double *dx, const kd_path_load *load,                 \
                                   double *scratch, double *p, double *v);                                             \
    void kd_path_congruence_##variant(const kd_pair *pair, const kd_tree *tree, const kd_motion *m,                    \
                                      const kd_relative *rel, const kd_path_load *load, double *scratch,               \
                                      double *block);                                                                  \
    void kd_path_subtract_##variant(int nruns, const kd_path_run *run, const double *block, double *values);           \
    void kd_path_add_##variant(int n, const double *const from[4], double *values);

KD_DECLARE_PATH_KERNELS(base)
KD_DECLARE_PATH_KERNELS(avx2)

#endif
