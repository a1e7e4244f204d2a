// flexible/factor.h: A = L D L' of a large sparse symmetric matrix, and how many eigenvalues of it are negative.
//
// Large ones by MUMPS, others by CHOLMOD (simplicial), where they are there, otherwise by KLU, which does not know the signs.
#ifndef KD_FLEXIBLE_FACTOR_H
#define KD_FLEXIBLE_FACTOR_H

#include "math/sparse_matrix.h"

typedef struct kd_factor kd_factor;

// KD_OK; KD_ERR_DECOMPOSITION: singular; KD_ERR_MEMORY. A has both triangles.
kd_status kd_factor_create(const kd_sparse_matrix *A, kd_factor **factor) KD_NODISCARD;
void      kd_factor_destroy(kd_factor *factor);
// inv(A) B in place, k columns; factor NULL: of order 0, there is nothing to do
kd_status kd_factor_solve(kd_factor *factor, double *B, int k) KD_NODISCARD;
int       kd_factor_negative(const kd_factor *factor); // negative eigenvalues of A; -1: not known

#endif
