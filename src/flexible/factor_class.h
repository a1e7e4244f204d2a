// flexible/factor_class.h: what stands behind a factor: one file for each library.
#ifndef KD_FLEXIBLE_FACTOR_CLASS_H
#define KD_FLEXIBLE_FACTOR_CLASS_H

#include "flexible/factor.h"

typedef struct kd_factor_class {
    kd_status (*solve)(kd_factor *factor, double *B, int k);
    int (*negative)(const kd_factor *factor);
    void (*destroy)(kd_factor *factor);
} kd_factor_class;

// Objects begin with it
struct kd_factor {
    const kd_factor_class *class;
    int n;
};

// As kd_factor_create, of at least one row; KD_ERR_UNAVAILABLE: the library is not there
kd_status kd_factor_by_mumps(const kd_sparse_matrix *A, kd_factor **factor) KD_NODISCARD;
kd_status kd_factor_by_cholmod(const kd_sparse_matrix *A, kd_factor **factor) KD_NODISCARD;
kd_status kd_factor_by_klu(const kd_sparse_matrix *A, kd_factor **factor) KD_NODISCARD;

#endif
