// tests/math/test_kernel.c: the own kernels, scalar and vector code, against each other and against LAPACK, for orders
// beyond those that they are used for.
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

static double A[2 * SIZE], scalar[2 * SIZE], vector[2 * SIZE], lapack[2 * SIZE];
static int    pivot[LARGEST], pivot_vector[LARGEST], pivot_lapack[LARGEST];

// a new random matrix of count numbers in A and its copies
static void   start(int count, uint64_t *seed)
{
    random_fill(count, A, seed);
    memcpy(scalar, A, sizeof A);
    memcpy(vector, A, sizeof A);
    memcpy(lapack, A, sizeof A);
}

static void check_factors(int n, int count)
{
    assert_memory_equal(pivot, pivot_vector, (size_t)n * sizeof *pivot);
    assert_memory_equal(pivot, pivot_lapack, (size_t)n * sizeof *pivot);
    assert_memory_equal(scalar, vector, (size_t)count * sizeof *scalar);
    for (int i = 0; i < count; i++) assert_true(fabs(scalar[i] - lapack[i]) < 1e-10 * (1 + fabs(lapack[i])));
}

// Real LU: scalar and vector code agree to the last bit, LAPACK gives the same pivots and factors; so do solutions.
static void test_lu(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int n = 0; n <= LARGEST; n++) {
        start(n * n, &seed);
        assert_int_equal(kd_scalar_lu_factor(n, scalar, pivot), 0);
        assert_int_equal(kd_vector_lu_factor(n, vector, pivot_vector), 0);
        if (n > 0) LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, lapack, n, pivot_lapack);
        check_factors(n, n * n);

        double b[LARGEST] = {0}, x[LARGEST], y[LARGEST];
        random_fill(n, b, &seed);
        memcpy(x, b, sizeof b);
        memcpy(y, b, sizeof b);
        kd_scalar_lu_solve(n, scalar, pivot, x);
        kd_vector_lu_solve(n, scalar, pivot, y);
        assert_memory_equal(x, y, (size_t)n * sizeof *x);
        assert_true(norm_error(n, A, x, b) < 20);
        transpose(n, n, A, lapack);
        memcpy(x, b, sizeof b);
        memcpy(y, b, sizeof b);
        kd_scalar_lu_solve_t(n, scalar, pivot, x);
        kd_vector_lu_solve_t(n, scalar, pivot, y);
        assert_memory_equal(x, y, (size_t)n * sizeof *x);
        assert_true(norm_error(n, lapack, x, b) < 20);
    }
}

// Complex LU: the same.
static void test_zlu(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int n = 0; n <= LARGEST; n++) {
        start(2 * n * n, &seed);
        assert_int_equal(kd_scalar_zlu_factor(n, scalar, pivot), 0);
        assert_int_equal(kd_vector_zlu_factor(n, vector, pivot_vector), 0);
        if (n > 0) LAPACKE_zgetrf_work(LAPACK_COL_MAJOR, n, n, (double complex *)lapack, n, pivot_lapack);
        check_factors(n, 2 * n * n);

        double b[2 * LARGEST] = {0}, x[2 * LARGEST], y[2 * LARGEST];
        random_fill(2 * n, b, &seed);
        memcpy(x, b, sizeof b);
        memcpy(y, b, sizeof b);
        kd_scalar_zlu_solve(n, scalar, pivot, x);
        kd_vector_zlu_solve(n, scalar, pivot, y);
        assert_memory_equal(x, y, 2 * (size_t)n * sizeof *x);
        assert_true(norm_error_complex(n, (double complex *)A, (double complex *)x, (double complex *)b) < 30);
    }
}

// Cholesky: the same, lower triangle only.
static void test_cholesky(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int n = 0; n <= LARGEST; n++) {
        start(n * n, &seed);
        transpose(n, n, scalar, vector);
        multiply_plain(n, n, n, scalar, vector, A);
        for (int i = 0; i < n; i++) A[i + n * i] += 1;
        memcpy(scalar, A, sizeof A);
        memcpy(vector, A, sizeof A);
        memcpy(lapack, A, sizeof A);
        assert_int_equal(kd_scalar_cholesky_factor(n, scalar), 0);
        assert_int_equal(kd_vector_cholesky_factor(n, vector), 0);
        if (n > 0) LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, lapack, n);
        assert_memory_equal(scalar, vector, (size_t)(n * n) * sizeof *scalar);
        for (int i = 0; i < n * n; i++) assert_true(fabs(scalar[i] - lapack[i]) < 1e-11);

        double b[LARGEST] = {0}, x[LARGEST], y[LARGEST];
        random_fill(n, b, &seed);
        memcpy(x, b, sizeof b);
        memcpy(y, b, sizeof b);
        kd_scalar_cholesky_solve(n, scalar, x);
        kd_vector_cholesky_solve(n, scalar, y);
        assert_memory_equal(x, y, (size_t)n * sizeof *x);
        assert_true(norm_error(n, A, x, b) < 20);
    }
}

// Products: scalar and vector code agree to the last bit and with plain loops.
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
                kd_scalar_gemm(m, n, k, -1.5, T, B, scalar);
                kd_vector_gemm(m, n, k, -1.5, T, B, vector);
                assert_memory_equal(scalar, vector, (size_t)(m * n) * sizeof *scalar);
                multiply_plain(m, n, k, T, B, lapack);
                for (int i = 0; i < m * n; i++) assert_true(fabs(scalar[i] - (A[i] - 1.5 * lapack[i])) < 1e-13);

                memcpy(scalar, A, sizeof A);
                memcpy(vector, A, sizeof A);
                static double transposed[SIZE];
                transpose(m, k, T, transposed);
                kd_scalar_gemm_tn(m, n, k, -1.5, transposed, B, scalar);
                kd_vector_gemm_tn(m, n, k, -1.5, transposed, B, vector);
                assert_memory_equal(scalar, vector, (size_t)(m * n) * sizeof *scalar);
                for (int i = 0; i < m * n; i++) assert_true(fabs(scalar[i] - (A[i] - 1.5 * lapack[i])) < 1e-13);
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
