// math/dense.c: products of dense matrices and vectors, column-major. Own loops while the matrices are small, CBLAS
// above. beta is applied here in both cases, so that beta = 0 overwrites NaN whatever the BLAS does.
#include "math/dense.h"

#include "math/blas.h"
#include "math/kernel.h"

// Numbers of multiplications up to which the own kernels measured faster than CBLAS.
#ifdef KD_RUNTIME
#define SMALL_GEMV 1e300
#define SMALL_GEMM 1e300
#define SMALL_GEMM_TN 1e300
#else
#define SMALL_GEMV (20 * 20)
#define SMALL_GEMM (10 * 10 * 10)
#define SMALL_GEMM_TN (7 * 7 * 7)
#endif

static void scale(ptrdiff_t n, double beta, double *y)
{
    if (beta == 0)
        for (ptrdiff_t i = 0; i < n; i++) y[i] = 0;
    else if (beta != 1)
        for (ptrdiff_t i = 0; i < n; i++) y[i] *= beta;
}

void kd_gemv(int m, int n, double alpha, const double *A, const double *x, double beta, double *y)
{
    scale(m, beta, y);
    if ((double)m * n <= SMALL_GEMV)
        kd_kernel_gemv(m, n, alpha, A, x, y);
    else
        KD_BLAS_DO(cblas_dgemv(CblasColMajor, CblasNoTrans, m, n, alpha, A, m, x, 1, 1, y, 1));
}

void kd_gemv_t(int m, int n, double alpha, const double *A, const double *x, double beta, double *y)
{
    scale(n, beta, y);
    if ((double)m * n <= SMALL_GEMV)
        kd_kernel_gemv_t(m, n, alpha, A, x, y);
    else
        KD_BLAS_DO(cblas_dgemv(CblasColMajor, CblasTrans, m, n, alpha, A, m, x, 1, 1, y, 1));
}

void kd_gemm(int m, int n, int k, double alpha, const double *A, const double *B, double beta, double *C)
{
    scale((ptrdiff_t)m * n, beta, C);
    if (m == 0 || n == 0 || k == 0) return;
    if ((double)m * n * k <= SMALL_GEMM)
        kd_kernel_gemm(m, n, k, alpha, A, B, C);
    else
        KD_BLAS_DO(cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, k, alpha, A, m, B, k, 1, C, m));
}

void kd_gemm_tn(int m, int n, int k, double alpha, const double *A, const double *B, double beta, double *C)
{
    scale((ptrdiff_t)m * n, beta, C);
    if (m == 0 || n == 0 || k == 0) return;
    if ((double)m * n * k <= SMALL_GEMM_TN)
        kd_kernel_gemm_tn(m, n, k, alpha, A, B, C);
    else
        KD_BLAS_DO(cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, m, n, k, alpha, A, k, B, k, 1, C, m));
}

// ---- vectors --------------------------------------------------------------------------------------------------------

// NaN in x gives NaN
double kd_norm_max(int n, const double *x)
{
    double norm = 0;
    for (int i = 0; i < n; i++) {
        const double a = fabs(x[i]);
        if (!(a <= norm)) norm = a;
        if (isnan(norm)) break;
    }
    return norm;
}

double kd_power_of_2(double x)
{
    int exponent;
    if (!(x > 0) || !isfinite(x)) return 1;
    frexp(x, &exponent);
    return ldexp(1, exponent - 1);
}

double kd_dot(int n, const double *x, const double *y)
{
    return kd_kernel_dot(n, x, y);
}

void kd_axpy(int n, double alpha, const double *x, double *y)
{
    kd_kernel_sub(n, -alpha, x, y);
}
