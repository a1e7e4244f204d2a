// flexible/reduction_parts.h: the steps of kd_reduce, each in a file of its own.
#ifndef KD_FLEXIBLE_REDUCTION_PARTS_H
#define KD_FLEXIBLE_REDUCTION_PARTS_H

#include "flexible/reduction.h"

// interfaces.c
kd_status kd_reduction_check_interfaces(const kd_reduction *r, char *message, size_t size) KD_NODISCARD;
kd_status kd_reduction_join_interfaces(kd_reduction *r, char *message, size_t size) KD_NODISCARD; // T, K, M
kd_status kd_reduction_split(kd_reduction *r, char *message, size_t size) KD_NODISCARD; // K_ii ..., its factor
// The rows and columns of a matrix of z that are kept
kd_status kd_reduction_part(const kd_reduction *r, const kd_sparse_matrix *A, const bool *keep_row,
                            const bool *keep_column, kd_arena *arena, kd_sparse_matrix *out) KD_NODISCARD;

// shapes.c: V for so many normal modes, and K_r, M_r. Can be called again with another number.
kd_status kd_reduction_shapes(kd_reduction *r, const kd_reduction_options *options, int modes, char *message,
                              size_t size) KD_NODISCARD;

// natural_modes.c: kd_natural_modes with a factor of K that is there already; NULL: none
kd_status kd_natural_modes_by(const kd_sparse_matrix *K, const kd_sparse_matrix *M, kd_factor *factor,
                              const double *rigid, int nrigid, int count, double *omega, double *Phi, char *message,
                              size_t size) KD_NODISCARD;
// How many natural frequencies lie below omega (Sylvester's law); -1: not known
int kd_natural_modes_below(const kd_sparse_matrix *K, const kd_sparse_matrix *M, double omega);

// reduced_modes.c: modes (columns of X, n x n) of values that are equal up to rounding are any basis of their space, and eigenvalue
// solvers differ: turned to the one basis that follows from the space, so that a choice among them does not depend on the solver
void kd_settle_modes(int n, const double *value, double *X);
// A x = nu B x of dense symmetric matrices of order n, both destroyed; vectors in A, x' B x = 1, nu rising
kd_status kd_symmetric_pencil(int n, double *A, double *B, double *nu) KD_NODISCARD;
// Columns orthonormal in M, in place (MX: M times them); those that bring nothing new are left out. Answers how many there are.
int kd_reduction_orthonormalise(const kd_reduction *r, int count, double *X, double *MX);
// X' A Y with sparse A (nz x nz), X (nz x m), Y (nz x k); work (nz x k)
void kd_reduction_project(const kd_sparse_matrix *A, int m, const double *X, int k, const double *Y, double *work,
                          double *out);

#endif
