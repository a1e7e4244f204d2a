// lapacke.h of the runtime: what the sources call of LAPACK and no own kernel does, from src/runtime/dense.c.
//
// dense.h sends all orders to own kernels here (KD_SMALL), so that the other calls are never reached.
#ifndef KD_RUNTIME_LAPACKE_H
#define KD_RUNTIME_LAPACKE_H

typedef int lapack_int;
enum { LAPACK_COL_MAJOR = 102 };

// 1 / (|A|_1 |inv(A)|_1) of a factored matrix, estimated from below (Higham 1988)
int kd_rt_dgecon(int n, const double *LU, double norm1, double *rcond, double *work);
// Eigenvalues, rising, and vectors of a symmetric A, of the pencil A x = nu B x; n (n + 2) doubles of work
int kd_rt_dsyev(int n, double *A, double *nu);
int kd_rt_dsygv(int n, double *A, double *B, double *nu);

#define LAPACKE_dgecon_work(order, norm, n, LU, ld, norm1, rcond, work, iwork)                                         \
    ((void)(iwork), kd_rt_dgecon(n, LU, norm1, rcond, work))
#define LAPACKE_dsyev_work(order, job, side, n, A, ld, nu, work, size) ((void)(work), kd_rt_dsyev(n, A, nu))
#define LAPACKE_dsygv_work(order, type, job, side, n, A, lda, B, ldb, nu, work, size)                                  \
    ((void)(work), kd_rt_dsygv(n, A, B, nu))

// orders above those of own kernels: there are none
#define LAPACKE_dgetrf_work(...) (1)
#define LAPACKE_dgetrs_work(...) ((void)0)
#define LAPACKE_zgetrf_work(...) (1)
#define LAPACKE_zgetrs_work(...) ((void)0)
#define LAPACKE_dgeqp3_work(...) ((void)0)
#define LAPACKE_zgeqrf_work(...) ((void)work)
#define LAPACKE_dpotrf_work(...) (1)
#define LAPACKE_dpotrs_work(...) ((void)0)

#endif
