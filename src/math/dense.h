// math/dense.h: dense matrices, column-major with leading dimension = rows unless said otherwise. No function
// allocates; workspace is the caller's. Own kernels below KD_SMALL, LAPACK (column-major _work forms) above.
#ifndef KD_MATH_DENSE_H
#define KD_MATH_DENSE_H

#include <complex.h>
#include <stdbool.h>

#ifdef KD_RUNTIME // own kernels for all orders: there is no LAPACK
#define KD_SMALL 1000000000
#define KD_SMALL_COMPLEX KD_SMALL
#else
#define KD_SMALL 48         // order up to which own kernels measured faster than LAPACK (bench: build/bench/dense)
#define KD_SMALL_COMPLEX 28 // the same for complex matrices
#endif

// ---- products -------------------------------------------------------------------------------------------------------
// y = beta y + alpha A x,  A (m x n). beta = 0 overwrites y (also NaN).
void kd_gemv(int m, int n, double alpha, const double *A, const double *x, double beta, double *y);
// y = beta y + alpha A' x,  A (m x n)
void kd_gemv_t(int m, int n, double alpha, const double *A, const double *x, double beta, double *y);
// C = beta C + alpha A B,  A (m x k), B (k x n)
void kd_gemm(int m, int n, int k, double alpha, const double *A, const double *B, double beta, double *C);
// C = beta C + alpha A' B,  A (k x m), B (k x n)
void kd_gemm_tn(int m, int n, int k, double alpha, const double *A, const double *B, double beta, double *C);

// ---- square systems: LU with partial pivoting -----------------------------------------------------------------------
// P A = L U in place. 0, or k > 0: pivot k (1-based) is zero.
int  kd_lu_factor(int n, double *A, int *pivot);
void kd_lu_solve(int n, const double *LU, const int *pivot, double *b, int nrhs);   // A x = b, in place
void kd_lu_solve_t(int n, const double *LU, const int *pivot, double *b, int nrhs); // A' x = b
int  kd_zlu_factor(int n, double complex *A, int *pivot);
void kd_zlu_solve(int n, const double complex *LU, const int *pivot, double complex *b, int nrhs);
// 1 / condition number of A in the 1-norm, estimated; norm1 = |A|_1, work (4 n), iwork (n)
double kd_lu_rcond(int n, const double *LU, const int *pivot, double norm1, double *work, int *iwork);
// inv(A) in place, n <= KD_INVERT_MOST; false: singular, A as it was
enum { KD_INVERT_MOST = 12 };
bool kd_invert(int n, double *A);
void kd_multiply_few(int n, const double *A, double *b); // b <- A b, n as well

// ---- symmetric positive definite: Cholesky A = L L', lower triangle in place ----------------------------------------
int  kd_cholesky_factor(int n, double *A); // 0, or k > 0: leading minor k is not positive
void kd_cholesky_solve(int n, const double *L, double *b, int nrhs);

// ---- rectangular, rank revealing ------------------------------------------------------------------------------------
// LU with full pivoting of A (m x n): A[row[i], col[j]] = (L U)_ij, L unit lower (m x min), U upper (min x n), in place
// in pivoted order. Stops where the largest remaining entry is below tolerance * the first pivot. Returns the rank.
int kd_lu_full(int m, int n, double *A, int *row, int *col, double tolerance);
// The same for a large A with many zeros. most: workspace of n doubles
int kd_lu_full_sparse(int m, int n, double *A, int *row, int *col, double tolerance, double *most);
// QR with column pivoting: A[:, col] = Q R. Returns the rank by |R_ii| > tolerance |R_11|. tau (min(m,n)),
// work of kd_qr_work(m, n) doubles.
int kd_qr_pivot(int m, int n, double *A, int *col, double *tau, double tolerance, double *work);
int kd_qr_work(int m, int n);
// b = Q' b; b = Q b; work (m)
void kd_qr_apply_t(int m, int k, const double *QR, const double *tau, double *b, int nrhs, double *work);
void kd_qr_apply(int m, int k, const double *QR, const double *tau, double *b, int nrhs, double *work);
void kd_qr_solve_r(int n, const double *QR, int m, double *b, int nrhs);  // R x = b, R the upper n x n of QR (m rows)
void kd_qr_solve_rt(int n, const double *QR, int m, double *b, int nrhs); // R' x = b
int  kd_zqr_factor(int n, double complex *A, double complex *tau, double complex *work); // work n; unpivoted, square
void kd_zqr_solve(int n, const double complex *QR, const double complex *tau, double complex *b, double complex *work);
// A = U diag(sigma) V'. A (m x n) is destroyed; U (m x m), sigma (min(m,n)), Vt (n x n) or NULL both. work of
// kd_svd_work(m, n) doubles. 0, or > 0: did not converge.
int kd_svd(int m, int n, double *A, double *U, double *sigma, double *Vt, double *work);
int kd_svd_work(int m, int n);

// ---- eigenvalues ----------------------------------------------------------------------------------------------------
// A V = V diag(real + i imaginary), A (n x n) is destroyed. A pair stands together, positive imaginary part first, and
// has the columns (Re, Im) of its vector in V (n x n; NULL: not wanted). work of kd_eigen_work(n) doubles. 0, or > 0:
// did not converge.
int kd_eigen(int n, double *A, double *real, double *imaginary, double *V, double *work);
int kd_eigen_work(int n);

// ---- small vector helpers -------------------------------------------------------------------------------------------
double kd_norm_max(int n, const double *x);
// Largest power of 2 that is not above x, a scale factor that adds no rounding; 1 if x is not positive and finite
double kd_power_of_2(double x);
double kd_dot(int n, const double *x, const double *y);
void   kd_axpy(int n, double alpha, const double *x, double *y); // y += alpha x

#endif
