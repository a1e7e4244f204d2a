// math/normal_matrix.h: N = A A' + nu I of a sparse A, as L D L' in an order of least degree. N itself is never formed.
#ifndef KD_MATH_NORMAL_MATRIX_H
#define KD_MATH_NORMAL_MATRIX_H

#include "core/memory.h"

typedef struct kd_normal_matrix kd_normal_matrix;

// A (n x columns) by rows: entry k of row i stands in column[k], start[i] <= k < start[i + 1]. Both are copied.
kd_status kd_normal_create(int n, int columns, const int *start, const int *column,
                           kd_normal_matrix **self) KD_NODISCARD;
void      kd_normal_destroy(kd_normal_matrix *self);       // NULL is fine
long      kd_normal_entries(const kd_normal_matrix *self); // of L
// Numbers of A in the order of the entries. false: a pivot is not positive
bool kd_normal_factor(kd_normal_matrix *self, const double *A, double nu);
void kd_normal_solve(const kd_normal_matrix *self, double *b); // (n) b <- N \ b

#endif
