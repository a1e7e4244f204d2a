// tests/math/test_cholesky.c: Cholesky against residuals and against LU.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "math/dense.h"
#include "math/matrices.h"

enum { SIZE = LARGEST * LARGEST, NRHS = 2 };

// A = B B' + 0.1 I, upper triangle of the result NaN if asked
static void random_definite(int n, double *A, uint64_t *seed)
{
    static double B[SIZE], T[SIZE];
    random_fill(n * n, B, seed);
    transpose(n, n, B, T);
    multiply_plain(n, n, n, B, T, A);
    for (int i = 0; i < n; i++) A[i + n * i] += 0.1;
}

// The solution is that of LU, with small residual, also for scaled matrices; the upper triangle is neither read nor
// written.
static void test_solve(void **state)
{
    (void)state;
    uint64_t      seed = 1;
    static double A[SIZE], L[SIZE], LU[SIZE];
    double        b[LARGEST * NRHS], x[LARGEST * NRHS], y[LARGEST * NRHS];
    int           pivot[LARGEST];
    for (int o = 0; o < ORDERS; o++)
        for (int scaled = 0; scaled < 2; scaled++) {
            const int n = orders[o];
            random_definite(n, A, &seed);
            for (int j = 0; scaled && j < n; j++)
                for (int i = 0; i < n; i++) A[i + n * j] *= pow(10, (7 * i % n + 7 * j % n) / (double)n * 4);
            memcpy(L, A, sizeof A);
            memcpy(LU, A, sizeof A);
            for (int j = 0; j < n; j++)
                for (int i = 0; i < j; i++) L[i + n * j] = NAN;
            random_fill(n * NRHS, b, &seed);
            memcpy(x, b, sizeof b);
            memcpy(y, b, sizeof b);
            assert_int_equal(kd_cholesky_factor(n, L), 0);
            kd_cholesky_solve(n, L, x, NRHS);
            for (int j = 0; j < n; j++)
                for (int i = 0; i < j; i++) assert_true(isnan(L[i + n * j]));
            for (int r = 0; r < NRHS; r++) assert_true(norm_error(n, A, x + n * r, b + n * r) < 10);
            if (scaled) continue;
            assert_int_equal(kd_lu_factor(n, LU, pivot), 0);
            kd_lu_solve(n, LU, pivot, y, NRHS);
            for (int i = 0; i < n * NRHS; i++) assert_true(fabs(x[i] - y[i]) < 1e-9 * (1 + entry_max(n * NRHS, y)));
        }
}

// The first leading minor that is not positive is named; NaN and infinity count as such.
static void test_not_definite(void **state)
{
    (void)state;
    uint64_t            seed = 2;
    static double       A[SIZE];
    static const double bad[] = {-100, 0, NAN, INFINITY};
    for (int o = 1; o < ORDERS; o++)
        for (int k = 0; k < 4; k++) {
            const int n = orders[o], at = n / 2;
            random_definite(n, A, &seed);
            for (int i = 0; bad[k] == 0 && i < n; i++) A[i + n * at] = A[at + n * i] = 0;
            A[at + n * at] = bad[k];
            assert_int_equal(kd_cholesky_factor(n, A), at + 1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solve),
        cmocka_unit_test(test_not_definite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
