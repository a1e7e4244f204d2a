// path_product.h: derivatives of the generalised forces of a load between two frames. Equations: path_product.c
#ifndef KARDAN_FORMALISM_PATH_PRODUCT_H
#define KARDAN_FORMALISM_PATH_PRODUCT_H

#include "formalism/pair.h"

typedef struct kd_mat6 { // [NN NF; FN FF], blocks by columns
    kd_mat3 NN, NF, FN, FF;
} kd_mat6;

// A load on B at its origin, axes of A, and how it changes
typedef struct kd_path_load {
    kd_wrench  load;
    kd_mat6    K;                 // by turn and shift of B
    kd_mat6    D;                 // by omega and d'
    double     pad;               // for vectors of four
    const int *place_p, *place_v; // (nsteps x nsteps, column by column) of the entries in the values of two matrices
} kd_path_load;

enum { KD_STEP_SIZE = 16 * sizeof(double) }; // of what is kept of a step

typedef struct kd_path_scratch {
    int     width;  // at least nsteps
    double *rows;   // (6 width)
    void   *steps;  // (width) of KD_STEP_SIZE
    double *column; // (width)
} kd_path_scratch;

// p -= derivative by increments, v -= derivative by rates of the forces along the steps; dx: rates of all dofs.
void kd_path_product(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                     const double *dx, const kd_path_load *load, kd_path_scratch *scratch, double *p, double *v);

#define KD_DECLARE_PATH_KERNELS(variant)                                                                               \
    void kd_path_product_##variant(const kd_pair *pair, const kd_tree *tree, const kd_motion *m,                       \
                                   const kd_relative *rel, const double *dx, const kd_path_load *load,                 \
                                   kd_path_scratch *scratch, double *p, double *v);

KD_DECLARE_PATH_KERNELS(base)
KD_DECLARE_PATH_KERNELS(avx2)

#endif
