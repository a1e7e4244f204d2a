// tests/math/test_dense.c: products and vector helpers against plain loops.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "math/dense.h"
#include "math/matrices.h"

enum { SIZE = LARGEST * LARGEST };

static const int shapes[][3] = {{0, 0, 0},   {0, 3, 2},   {3, 0, 2},   {3, 2, 0},    {1, 1, 1},   {2, 3, 4},
                                {5, 4, 3},   {7, 9, 6},   {12, 5, 8},  {31, 33, 32}, {40, 3, 40}, {33, 33, 33},
                                {64, 2, 70}, {1, 70, 50}, {70, 1, 70}, {50, 50, 1},  {72, 72, 72}};
#define SHAPES ((int)(sizeof shapes / sizeof *shapes))
static const double factors[][2] = {{1, 0}, {1, 1}, {-0.7, 0}, {2, -0.5}, {0, 3}, {0, 0}};
#define FACTORS ((int)(sizeof factors / sizeof *factors))

// expected = beta old + alpha product; old is NaN throughout for beta = 0
static void check(int count, const double *actual, double alpha, const double *product, double beta, const double *old)
{
    for (int i = 0; i < count; i++) {
        const double expected = alpha * product[i] + (beta == 0 ? 0 : beta * old[i]);
        assert_true(fabs(actual[i] - expected) <= 1e-13 * (1 + fabs(expected)));
    }
}

static void start(int count, double *target, double *old, double beta, uint64_t *seed)
{
    for (int i = 0; i < count; i++) target[i] = old[i] = beta == 0 ? NAN : random_number(seed);
}

// y = beta y + alpha A x and its transposed agree with plain loops; beta = 0 overwrites NaN.
static void test_gemv(void **state)
{
    (void)state;
    uint64_t      seed = 1;
    static double A[SIZE], T[SIZE];
    double        x[LARGEST], y[LARGEST], old[LARGEST], product[LARGEST];
    for (int s = 0; s < SHAPES; s++)
        for (int f = 0; f < FACTORS; f++) {
            const int    m = shapes[s][0], n = shapes[s][1];
            const double alpha = factors[f][0], beta = factors[f][1];
            random_fill(m * n, A, &seed);
            random_fill(LARGEST, x, &seed);
            start(m, y, old, beta, &seed);
            multiply_plain(m, 1, n, A, x, product);
            kd_gemv(m, n, alpha, A, x, beta, y);
            check(m, y, alpha, product, beta, old);

            start(n, y, old, beta, &seed);
            transpose(m, n, A, T);
            multiply_plain(n, 1, m, T, x, product);
            kd_gemv_t(m, n, alpha, A, x, beta, y);
            check(n, y, alpha, product, beta, old);
        }
}

// C = beta C + alpha A B and alpha A' B agree with plain loops; beta = 0 overwrites NaN.
static void test_gemm(void **state)
{
    (void)state;
    uint64_t      seed = 2;
    static double A[SIZE], T[SIZE], B[SIZE], C[SIZE], old[SIZE], product[SIZE];
    for (int s = 0; s < SHAPES; s++)
        for (int f = 0; f < FACTORS; f++) {
            const int    m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
            const double alpha = factors[f][0], beta = factors[f][1];
            random_fill(m * k, A, &seed);
            random_fill(k * n, B, &seed);
            start(m * n, C, old, beta, &seed);
            multiply_plain(m, n, k, A, B, product);
            kd_gemm(m, n, k, alpha, A, B, beta, C);
            check(m * n, C, alpha, product, beta, old);

            start(m * n, C, old, beta, &seed);
            transpose(m, k, A, T);
            kd_gemm_tn(m, n, k, alpha, T, B, beta, C);
            check(m * n, C, alpha, product, beta, old);
        }
}

// Products do not write outside their result.
static void test_bounds(void **state)
{
    (void)state;
    uint64_t seed = 3;
    double   A[16], B[16], C[18];
    random_fill(16, A, &seed);
    random_fill(16, B, &seed);
    for (int n = 0; n <= 4; n++) {
        C[0] = C[n * n + 1] = 42;
        kd_gemm(n, n, n, 1, A, B, 0, C + 1);
        kd_gemm_tn(n, n, n, 1, A, B, 1, C + 1);
        assert_true(C[0] == 42 && C[n * n + 1] == 42);
    }
}

// The maximum norm sees NaN and infinity, dot and axpy agree with plain sums.
static void test_vectors(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (int n = 0; n < 40; n++) {
        double x[40] = {0}, y[40] = {0}, z[40], sum = 0, largest = 0;
        random_fill(n, x, &seed);
        random_fill(n, y, &seed);
        memcpy(z, y, sizeof z);
        for (int i = 0; i < n; i++) {
            sum += x[i] * y[i];
            largest = fmax(largest, fabs(x[i]));
        }
        assert_true(fabs(kd_dot(n, x, y) - sum) < 1e-14);
        assert_true(kd_norm_max(n, x) == largest);
        kd_axpy(n, -1.5, x, y);
        for (int i = 0; i < n; i++) assert_true(fabs(y[i] - (z[i] - 1.5 * x[i])) < 1e-15);
        if (n > 0) {
            x[n / 2] = INFINITY;
            assert_true(isinf(kd_norm_max(n, x)));
            x[n / 3] = NAN;
            assert_true(isnan(kd_norm_max(n, x)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemv),
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
