// math/linsolve.h: one interface for the square systems of Newton's method: dense LU, dense QR or sparse LU (KLU), real
// and complex. create = symbolic (sizes, workspace), factor = numeric. Matrices are handed over dense, column-major;
// the sparse solver keeps the pattern of the entries that were ever non-zero
// and analyses again (counted) when it grows.
#ifndef KD_MATH_LINSOLVE_H
#define KD_MATH_LINSOLVE_H

#include <complex.h>
#include <kardan/base.h>

typedef enum kd_linear_kind { KD_LINEAR_LU, KD_LINEAR_QR, KD_LINEAR_SPARSE } kd_linear_kind;

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
long      kd_linsolve_analyses(const kd_linsolve *solver); // symbolic analyses and full factorisations so far (sparse)

// Sparse matrices on their own: compressed columns, symbolic/numeric split.
typedef struct kd_sparse_lu kd_sparse_lu;

// The pattern is copied. Factors keep the pivots of before (klu_refactor) where these are good enough.
kd_status kd_sparse_lu_create(int n, const int *column, const int *row, kd_sparse_lu **lu) KD_NODISCARD;
kd_status kd_sparse_lu_factor(kd_sparse_lu *lu, const double *values) KD_NODISCARD;
kd_status kd_sparse_lu_factor_complex(kd_sparse_lu *lu, const double complex *values) KD_NODISCARD;
void      kd_sparse_lu_solve(kd_sparse_lu *lu, double *b, int nrhs);
void      kd_sparse_lu_solve_complex(kd_sparse_lu *lu, double complex *b, int nrhs);
double    kd_sparse_lu_rcond(kd_sparse_lu *lu);                     // cheap estimate
long      kd_sparse_lu_full_factorizations(const kd_sparse_lu *lu); // klu_factor calls, which allocate
void      kd_sparse_lu_destroy(kd_sparse_lu *lu);

#endif
