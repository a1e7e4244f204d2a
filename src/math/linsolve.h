// math/linsolve.h: one interface for the square systems of Newton's method: dense LU, dense QR or sparse LU (KLU), real
// and complex. create = symbolic (sizes, workspace), factor = numeric. Matrices are handed over dense, column-major;
// the sparse solver keeps the pattern of the entries that were ever non-zero
// and analyses again (counted) when it grows.
#ifndef KD_MATH_LINSOLVE_H
#define KD_MATH_LINSOLVE_H

#include <complex.h>

#include "core/archive.h"

typedef enum kd_linear_kind { KD_LINEAR_LU, KD_LINEAR_QR, KD_LINEAR_SPARSE } kd_linear_kind;

enum { KD_LINEAR_PAIRS = 3 }; // complex matrices side by side, at most

typedef struct kd_linsolve kd_linsolve;

// n: largest order. pattern (n x n) or NULL: entries that may be non-zero, for the first analysis of the sparse kind.
kd_status kd_linsolve_create(int n, kd_linear_kind kind, const bool *pattern, kd_linsolve **solver) KD_NODISCARD;
void      kd_linsolve_destroy(kd_linsolve *solver);
// Factor an n x n matrix, n <= the order of create (sparse: equal).
// KD_OK or KD_ERR_DECOMPOSITION (singular), KD_ERR_MEMORY.
kd_status kd_linsolve_factor(kd_linsolve *solver, int n, const double *A) KD_NODISCARD;
void      kd_linsolve_solve(kd_linsolve *solver, double *b);
kd_status kd_linsolve_factor_complex(kd_linsolve *solver, int n, const double complex *A) KD_NODISCARD;
void      kd_linsolve_solve_complex(kd_linsolve *solver, double complex *b);
// Complex calls are about the k-th complex matrix from now on, 0 .. KD_LINEAR_PAIRS - 1; at first 0. The first call with
// a k allocates its factors: KD_OK or KD_ERR_MEMORY.
kd_status kd_linsolve_pair(kd_linsolve *solver, int k) KD_NODISCARD;
long      kd_linsolve_analyses(const kd_linsolve *solver); // symbolic analyses and full factorisations so far (sparse)
void      kd_linsolve_archive(kd_archive *a, kd_linsolve *solver); // factors, real and complex

// Sparse matrices on their own: compressed columns, symbolic/numeric split.
typedef struct kd_sparse_lu kd_sparse_lu;

// The pattern is copied. Factors keep the pivots of before (klu_refactor) where these are good enough.
kd_status kd_sparse_lu_create(int n, const int *column, const int *row, kd_sparse_lu **lu) KD_NODISCARD;
kd_status kd_sparse_lu_factor(kd_sparse_lu *lu, const double *values) KD_NODISCARD;
kd_status kd_sparse_lu_factor_complex(kd_sparse_lu *lu, const double complex *values) KD_NODISCARD;
void      kd_sparse_lu_solve(kd_sparse_lu *lu, double *b, int nrhs);
void      kd_sparse_lu_solve_complex(kd_sparse_lu *lu, double complex *b, int nrhs);
// As kd_linsolve_pair
kd_status kd_sparse_lu_pair(kd_sparse_lu *lu, int k) KD_NODISCARD;
double    kd_sparse_lu_rcond(kd_sparse_lu *lu);                     // cheap estimate
long      kd_sparse_lu_full_factorizations(const kd_sparse_lu *lu); // klu_factor calls, which allocate
void      kd_sparse_lu_destroy(kd_sparse_lu *lu);
// Pattern, pivots and factors of order n. Read with another pattern it becomes another object, which is an error where it
// is fixed. *lu may be NULL: there is none
void kd_sparse_lu_archive(kd_archive *a, int n, bool fixed, kd_sparse_lu **lu);

#endif
