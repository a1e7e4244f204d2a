// tests/math/test_svd.c: singular values and vectors, wide and tall, against their definition and against QR.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "math/dense.h"
#include "math/matrices.h"

enum { SIZE = LARGEST * LARGEST, WORK = 200 * LARGEST };

static const int shapes[][3] = {{0, 0, 0},    {3, 0, 0},    {0, 4, 0},  {1, 1, 1}, {1, 6, 1}, {6, 1, 1},
                                {2, 5, 2},    {5, 2, 2},    {4, 4, 4},  {6, 9, 4}, {9, 6, 4}, {40, 20, 7},
                                {20, 40, 20}, {50, 50, 49}, {5, 60, 5}, {60, 5, 5}};
#define SHAPES ((int)(sizeof shapes / sizeof *shapes))

static double work[WORK];

static void check_orthogonal(int n, const double *Q)
{
    static double product[SIZE];
    kd_gemm_tn(n, n, n, 1, Q, Q, 0, product);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) assert_true(fabs(product[i + n * j] - (i == j)) < 1e-13 * (1 + n));
}

// A = U diag(sigma) V', both orthogonal and full, values falling, rank visible in them; no vectors give the same
// values.
static void test_decomposition(void **state)
{
    (void)state;
    uint64_t      seed = 1;
    static double A[SIZE], B[SIZE], U[SIZE], Vt[SIZE];
    double        sigma[LARGEST], again[LARGEST];
    for (int s = 0; s < SHAPES; s++) {
        const int m = shapes[s][0], n = shapes[s][1], rank = shapes[s][2], count = m < n ? m : n;
        random_of_rank(m, n, rank, A, &seed);
        memcpy(B, A, sizeof A);
        assert_true(kd_svd_work(m, n) <= WORK);
        assert_int_equal(kd_svd(m, n, B, U, sigma, Vt, work), 0);
        check_orthogonal(m, U);
        check_orthogonal(n, Vt);
        for (int k = 0; k < count; k++) {
            assert_true(sigma[k] >= 0 && (k == 0 || sigma[k] <= sigma[k - 1]));
            assert_true((sigma[k] > 1e-10 * sigma[0]) == (k < rank));
        }
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                double sum = 0;
                for (int k = 0; k < count; k++) sum += U[i + m * k] * sigma[k] * Vt[k + n * j];
                assert_true(fabs(sum - A[i + m * j]) < 1e-13 * (1 + sigma[0]));
            }
        memcpy(B, A, sizeof A);
        assert_int_equal(kd_svd(m, n, B, NULL, again, NULL, work), 0);
        for (int k = 0; k < count; k++) assert_true(fabs(again[k] - sigma[k]) < 1e-13 * (1 + sigma[0]));
    }
}

// The product of the singular values is |det A|, here from QR.
static void test_determinant(void **state)
{
    (void)state;
    uint64_t seed = 2;
    enum { N = 6 };
    double A[N * N], QR[N * N], sigma[N], tau[N], det = 1, product = 1;
    int    col[N];
    random_fill(N * N, A, &seed);
    memcpy(QR, A, sizeof A);
    assert_int_equal(kd_qr_pivot(N, N, QR, col, tau, 1e-12, work), N);
    assert_int_equal(kd_svd(N, N, A, NULL, sigma, NULL, work), 0);
    for (int k = 0; k < N; k++) {
        det *= fabs(QR[k + N * k]);
        product *= sigma[k];
    }
    assert_true(fabs(det - product) < 1e-13 * product);
}

// NaN and infinity end with an answer, not with a loop.
static void test_not_finite(void **state)
{
    (void)state;
    double A[4] = {1, 2, NAN, 4}, B[4] = {1, INFINITY, 3, 4}, U[4], Vt[4], sigma[2];
    assert_true(kd_svd(2, 2, A, U, sigma, Vt, work) > 0);
    assert_true(kd_svd(2, 2, B, NULL, sigma, NULL, work) > 0);
}

// The same for sizes at which vectors come by divide and conquer.
static void test_large(void **state)
{
    (void)state;
    static const int large[][3] = {{130, 110, 90}, {104, 125, 104}, {120, 120, 119}};
    uint64_t         seed = 4;
    for (int s = 0; s < 3; s++) {
        const int    m = large[s][0], n = large[s][1], rank = large[s][2], count = m < n ? m : n;
        const size_t size = (size_t)m * (size_t)n;
        double      *A = test_malloc(size * sizeof *A), *B = test_malloc(size * sizeof *B);
        double      *U = test_malloc((size_t)m * (size_t)m * sizeof *U);
        double      *Vt = test_malloc((size_t)n * (size_t)n * sizeof *Vt);
        double *sigma = test_malloc((size_t)count * sizeof *sigma), *again = test_malloc((size_t)count * sizeof *A);
        double *room = test_malloc((size_t)kd_svd_work(m, n) * sizeof *room);
        // A of its rank: the product of random matrices, which U and Vt have room for
        random_fill(m * rank, U, &seed);
        random_fill(rank * n, Vt, &seed);
        multiply_plain(m, n, rank, U, Vt, A);
        memcpy(B, A, size * sizeof *A);
        assert_int_equal(kd_svd(m, n, B, U, sigma, Vt, room), 0);
        for (int k = 0; k < count; k++) assert_true((sigma[k] > 1e-10 * sigma[0]) == (k < rank));
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                double sum = 0;
                for (int k = 0; k < count; k++) sum += U[i + m * k] * sigma[k] * Vt[k + n * j];
                assert_true(fabs(sum - A[i + m * j]) < 1e-12 * (1 + sigma[0]));
            }
        // without vectors: the same values
        memcpy(B, A, size * sizeof *A);
        assert_int_equal(kd_svd(m, n, B, NULL, again, NULL, room), 0);
        for (int k = 0; k < count; k++) assert_true(fabs(again[k] - sigma[k]) < 1e-12 * (1 + sigma[0]));
        // the columns behind the rank are orthogonal to the others
        assert_true(fabs(kd_dot(m, U, U + (size_t)m * (size_t)(m - 1))) < 1e-12);
        double *all[] = {A, B, U, Vt, sigma, again, room};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) test_free(all[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decomposition),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_determinant),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
