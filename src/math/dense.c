// math/dense.c: products of dense matrices and vectors, column-major. Own loops while the matrices are small, CBLAS
// above. beta is applied here in both cases, so that beta = 0 overwrites NaN whatever the BLAS does.
#include "math/dense.h"

#include "math/kernel.h"

#include <cblas.h>
#include <string.h>

static void scale(ptrdiff_t n, double beta, double *y)
{
    if (beta == 0)
        for (ptrdiff_t i = 0; i < n; i++) y[i] = 0;
    else if (beta != 1)
        for (ptrdiff_t i = 0; i < n; i++) y[i] *= beta;
}

// y += A x, two columns per sweep
static void add_product(int m, int n, double alpha, const double *restrict A, const double *restrict x,
                        double *restrict y)
{
    int j = 0;
    for (; j + 2 <= n; j += 2) {
        const double *restrict a = kd_column_const(A, m, j);
        const double *restrict b = a + m;
        const double s = alpha * x[j], t = alpha * x[j + 1];
        for (int i = 0; i < m; i++) y[i] += s * a[i] + t * b[i];
    }
    if (j < n) kd_kernel_sub(m, -alpha * x[j], kd_column_const(A, m, j), y);
}

static bool is_small(int m, int n)
{
    return (ptrdiff_t)m * n <= (ptrdiff_t)KD_SMALL * KD_SMALL;
}

void kd_gemv(int m, int n, double alpha, const double *A, const double *x, double beta, double *y)
{
    scale(m, beta, y);
    if (is_small(m, n))
        add_product(m, n, alpha, A, x, y);
    else
        cblas_dgemv(CblasColMajor, CblasNoTrans, m, n, alpha, A, m, x, 1, 1, y, 1);
}

void kd_gemv_t(int m, int n, double alpha, const double *A, const double *x, double beta, double *y)
{
    scale(n, beta, y);
    if (is_small(m, n))
        for (int j = 0; j < n; j++) y[j] += alpha * kd_kernel_dot(m, kd_column_const(A, m, j), x);
    else
        cblas_dgemv(CblasColMajor, CblasTrans, m, n, alpha, A, m, x, 1, 1, y, 1);
}

void kd_gemm(int m, int n, int k, double alpha, const double *A, const double *B, double beta, double *C)
{
    scale((ptrdiff_t)m * n, beta, C);
    if (m == 0 || n == 0 || k == 0) return;
    if (is_small(m, n) && is_small(m, k) && is_small(k, n))
        for (int j = 0; j < n; j++) add_product(m, k, alpha, A, kd_column_const(B, k, j), kd_column(C, m, j));
    else
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, k, alpha, A, m, B, k, 1, C, m);
}

void kd_gemm_tn(int m, int n, int k, double alpha, const double *A, const double *B, double beta, double *C)
{
    scale((ptrdiff_t)m * n, beta, C);
    if (m == 0 || n == 0 || k == 0) return;
    if (is_small(m, n) && is_small(m, k) && is_small(k, n)) {
        for (int j = 0; j < n; j++) {
            const double *b = kd_column_const(B, k, j);
            double       *c = kd_column(C, m, j);
            for (int i = 0; i < m; i++) c[i] += alpha * kd_kernel_dot(k, kd_column_const(A, k, i), b);
        }
    } else {
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, m, n, k, alpha, A, k, B, k, 1, C, m);
    }
}

// ---- vectors
// -----------------------------------------------------------------------------------------------------------

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

double kd_dot(int n, const double *x, const double *y)
{
    return kd_kernel_dot(n, x, y);
}

void kd_axpy(int n, double alpha, const double *x, double *y)
{
    kd_kernel_sub(n, -alpha, x, y);
}
