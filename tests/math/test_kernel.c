// tests/math/test_kernel.c: the own kernels against LAPACK and plain loops, for orders beyond those that they are used
// for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "math/kernel.h"
#include "math/matrices.h"

#include <lapacke.h>

enum { SIZE = LARGEST * LARGEST };

static double A[2 * SIZE], own[2 * SIZE], lapack[2 * SIZE];
static int    pivot[LARGEST], pivot_lapack[LARGEST];

// a new random matrix of count numbers in A and its copies
static void start(int count, uint64_t *seed)
{
    random_fill(count, A, seed);
    memcpy(own, A, sizeof A);
    memcpy(lapack, A, sizeof A);
}

static void check_factors(int n, int count)
{
    assert_memory_equal(pivot, pivot_lapack, (size_t)n * sizeof *pivot);
    for (int i = 0; i < count; i++) assert_true(fabs(own[i] - lapack[i]) < 1e-10 * (1 + fabs(lapack[i])));
}

// Real LU gives the pivots and factors of LAPACK; the solutions of A x = b and A' x = b have a small residual.
static void test_lu(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int n = 0; n <= LARGEST; n++) {
        start(n * n, &seed);
        assert_int_equal(kd_kernel_lu_factor(n, own, pivot), 0);
        if (n > 0) LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, lapack, n, pivot_lapack);
        check_factors(n, n * n);

        double b[LARGEST] = {0}, x[LARGEST];
        random_fill(n, b, &seed);
        memcpy(x, b, sizeof b);
        kd_kernel_lu_solve(n, own, pivot, x);
        assert_true(norm_error(n, A, x, b) < 20);
        transpose(n, n, A, lapack);
        memcpy(x, b, sizeof b);
        kd_kernel_lu_solve_t(n, own, pivot, x);
        assert_true(norm_error(n, lapack, x, b) < 20);
    }
}

// Complex LU: the same without transposed systems.
static void test_zlu(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int n = 0; n <= LARGEST; n++) {
        start(2 * n * n, &seed);
        assert_int_equal(kd_kernel_zlu_factor(n, own, pivot), 0);
        if (n > 0) LAPACKE_zgetrf_work(LAPACK_COL_MAJOR, n, n, (double complex *)lapack, n, pivot_lapack);
        check_factors(n, 2 * n * n);

        double b[2 * LARGEST] = {0}, x[2 * LARGEST];
        random_fill(2 * n, b, &seed);
        memcpy(x, b, sizeof b);
        kd_kernel_zlu_solve(n, own, pivot, x);
        assert_true(norm_error_complex(n, (double complex *)A, (double complex *)x, (double complex *)b) < 30);
    }
}

// Cholesky: the same, lower triangle only.
static void test_cholesky(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int n = 0; n <= LARGEST; n++) {
        random_fill(n * n, own, &seed);
        transpose(n, n, own, lapack);
        multiply_plain(n, n, n, own, lapack, A);
        for (int i = 0; i < n; i++) A[i + n * i] += 1;
        memcpy(own, A, sizeof A);
        memcpy(lapack, A, sizeof A);
        assert_int_equal(kd_kernel_cholesky_factor(n, own), 0);
        if (n > 0) LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, lapack, n);
        for (int i = 0; i < n * n; i++) assert_true(fabs(own[i] - lapack[i]) < 1e-11);

        double b[LARGEST] = {0}, x[LARGEST];
        random_fill(n, b, &seed);
        memcpy(x, b, sizeof b);
        kd_kernel_cholesky_solve(n, own, x);
        assert_true(norm_error(n, A, x, b) < 20);
    }
}

// Products of all small shapes agree with plain loops.
static void test_products(void **state)
{
    (void)state;
    uint64_t      seed = 4;
    static double B[SIZE], T[SIZE];
    for (int m = 0; m <= 20; m++)
        for (int n = 0; n <= 7; n++)
            for (int k = 0; k <= 20; k += 3) {
                start(m * n, &seed);
                random_fill(m * k, T, &seed);
                random_fill(k * n, B, &seed);
                kd_kernel_gemm(m, n, k, -1.5, T, B, own);
                multiply_plain(m, n, k, T, B, lapack);
                for (int i = 0; i < m * n; i++) assert_true(fabs(own[i] - (A[i] - 1.5 * lapack[i])) < 1e-13);

                memcpy(own, A, sizeof A);
                static double transposed[SIZE];
                transpose(m, k, T, transposed);
                kd_kernel_gemm_tn(m, n, k, -1.5, transposed, B, own);
                for (int i = 0; i < m * n; i++) assert_true(fabs(own[i] - (A[i] - 1.5 * lapack[i])) < 1e-13);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lu),
        cmocka_unit_test(test_zlu),
        cmocka_unit_test(test_cholesky),
        cmocka_unit_test(test_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
