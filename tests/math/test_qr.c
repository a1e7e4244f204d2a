// tests/math/test_qr.c: QR with column pivoting and complex QR, all shapes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "math/dense.h"
#include "math/matrices.h"

enum { SIZE = LARGEST * LARGEST, NRHS = 2 };

static const int shapes[][3] = {{0, 0, 0},    {3, 0, 0},    {0, 4, 0},    {1, 1, 1},   {2, 5, 2},
                                {5, 2, 2},    {4, 4, 4},    {6, 9, 4},    {9, 6, 4},   {9, 9, 5},
                                {40, 20, 7},  {20, 40, 20}, {7, 7, 1},    {7, 7, 0},   {32, 32, 32},
                                {32, 33, 32}, {50, 50, 49}, {60, 10, 10}, {10, 60, 9}, {72, 72, 72}};
#define SHAPES ((int)(sizeof shapes / sizeof *shapes))

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

typedef struct factors {
    double QR[SIZE], tau[LARGEST], work[40 * LARGEST];
    int    col[LARGEST];
} factors;

static factors f;

static int factor(int m, int n, const double *A, double tolerance)
{
    memcpy(f.QR, A, (size_t)(m * n) * sizeof *A);
    assert_true(kd_qr_work(m, n) <= 40 * LARGEST);
    return kd_qr_pivot(m, n, f.QR, f.col, f.tau, tolerance, f.work);
}

// Q R is the matrix with its columns exchanged, the rank is found, |R_ii| does not increase.
static void test_reconstruct(void **state)
{
    (void)state;
    uint64_t      seed = 1;
    static double A[SIZE], R[SIZE];
    double        work[LARGEST];
    for (int s = 0; s < SHAPES; s++) {
        const int m = shapes[s][0], n = shapes[s][1], rank = shapes[s][2], count = smaller(m, n);
        random_of_rank(m, n, rank, A, &seed);
        assert_int_equal(factor(m, n, A, 1e-10), rank);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) R[i + m * j] = i <= j ? f.QR[i + m * j] : 0;
        kd_qr_apply(m, count, f.QR, f.tau, R, n, work);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) assert_true(fabs(R[i + m * j] - A[i + m * f.col[j]]) < 1e-13 * (1 + rank));
        for (int k = 1; k < count; k++)
            assert_true(fabs(f.QR[k + m * k]) <= fabs(f.QR[k - 1 + m * (k - 1)]) * (1 + 1e-12) + 1e-13);
    }
}

// Columns that are nearly parallel lose their digits in the first step; the pivots after it are still chosen by size.
static void test_cancellation(void **state)
{
    (void)state;
    uint64_t seed = 7;
    enum { N = 10 };
    double A[N * N], v[N];
    for (int trial = 0; trial < 20; trial++) {
        random_fill(N, v, &seed);
        for (int j = 0; j < N; j++) {
            const double size = pow(10, -7 - 3 * j % 5);
            for (int i = 0; i < N; i++) A[i + N * j] = v[i] + size * random_number(&seed);
        }
        assert_int_equal(factor(N, N, A, 0), N);
        for (int k = 2; k < N; k++) // |R_kk| is the largest of the norms that were left, |R_ik| for i >= k
            for (int j = k; j < N; j++) {
                double norm = 0;
                for (int i = k - 1; i <= j; i++) norm = hypot(norm, f.QR[i + N * j]);
                assert_true(norm <= fabs(f.QR[k - 1 + N * (k - 1)]) * (1 + 1e-6));
            }
    }
}

// Q' Q = I and Q Q' = I: apply and apply_t undo each other and keep lengths, for few and for many right-hand sides.
static void test_orthogonal(void **state)
{
    (void)state;
    uint64_t      seed = 2;
    static double A[SIZE], b[SIZE * 2], x[SIZE * 2];
    double        work[LARGEST];
    for (int s = 0; s < SHAPES; s++) {
        const int m = shapes[s][0], n = shapes[s][1], count = smaller(m, n);
        const int sides[] = {1, 3, 2 * LARGEST - 5};
        random_fill(m * n, A, &seed);
        factor(m, n, A, 0);
        for (int k = 0; k < 3; k++) {
            random_fill(m * sides[k], b, &seed);
            memcpy(x, b, sizeof b);
            kd_qr_apply_t(m, count, f.QR, f.tau, x, sides[k], work);
            for (int r = 0; r < sides[k]; r++)
                assert_true(fabs(kd_dot(m, x + m * r, x + m * r) - kd_dot(m, b + m * r, b + m * r)) < 1e-12 * (1 + m));
            kd_qr_apply(m, count, f.QR, f.tau, x, sides[k], work);
            for (int i = 0; i < m * sides[k]; i++) assert_true(fabs(x[i] - b[i]) < 1e-13);
        }
    }
}

// Square systems A x = b, and A' y = b through R' and Q, random and graded.
static void test_solve(void **state)
{
    (void)state;
    uint64_t      seed = 3;
    static double A[SIZE], T[SIZE];
    double        b[LARGEST * NRHS], x[LARGEST * NRHS], y[LARGEST * NRHS], work[LARGEST];
    for (int o = 0; o < ORDERS; o++)
        for (int graded = 0; graded < 2; graded++) {
            const int n = orders[o];
            random_fill(n * n, A, &seed);
            if (graded) grade(n, n, A, 5);
            transpose(n, n, A, T);
            random_fill(n * NRHS, b, &seed);
            assert_int_equal(factor(n, n, A, 0), n);
            memcpy(y, b, sizeof b);
            kd_qr_apply_t(n, n, f.QR, f.tau, y, NRHS, work);
            kd_qr_solve_r(n, f.QR, n, y, NRHS);
            for (int r = 0; r < NRHS; r++)
                for (int j = 0; j < n; j++) x[f.col[j] + n * r] = y[j + n * r];
            for (int r = 0; r < NRHS; r++) assert_true(norm_error(n, A, x + n * r, b + n * r) < 20);

            for (int r = 0; r < NRHS; r++)
                for (int j = 0; j < n; j++) x[j + n * r] = b[f.col[j] + n * r];
            kd_qr_solve_rt(n, f.QR, n, x, NRHS);
            kd_qr_apply(n, n, f.QR, f.tau, x, NRHS, work);
            for (int r = 0; r < NRHS; r++) assert_true(norm_error(n, T, x + n * r, b + n * r) < 20);
        }
}

// R of a tall matrix has m rows: least squares by R x = Q' b leaves a residual orthogonal to the columns.
static void test_least_squares(void **state)
{
    (void)state;
    uint64_t seed = 4;
    enum { M = 12, N = 5 };
    double A[M * N], b[M], x[M], y[N], r[M], work[M], normal[N];
    random_fill(M * N, A, &seed);
    random_fill(M, b, &seed);
    assert_int_equal(factor(M, N, A, 1e-12), N);
    memcpy(x, b, sizeof b);
    kd_qr_apply_t(M, N, f.QR, f.tau, x, 1, work);
    kd_qr_solve_r(N, f.QR, M, x, 1);
    for (int j = 0; j < N; j++) y[f.col[j]] = x[j];
    memcpy(r, b, sizeof b);
    kd_gemv(M, N, -1, A, y, 1, r);
    kd_gemv_t(M, N, 1, A, r, 0, normal);
    assert_true(kd_norm_max(N, normal) < 1e-14);
    assert_true(kd_norm_max(M, r) > 1e-3);
}

// Entries near both ends of the range neither overflow nor vanish in the column norms.
static void test_range(void **state)
{
    (void)state;
    static const double scale[] = {1e-200, 1e200};
    for (int k = 0; k < 2; k++) {
        const double s = scale[k], A[4] = {3 * s, 4 * s, 1 * s, 2 * s};
        assert_int_equal(factor(2, 2, A, 1e-10), 2);
        assert_true(fabs(fabs(f.QR[0]) / s - 5) < 1e-14);
        assert_true(fabs(fabs(f.QR[3]) / s - 0.4) < 1e-14);
    }
}

// NaN and infinity reduce the rank instead of passing as a regular matrix, small and large.
static void test_not_finite(void **state)
{
    (void)state;
    uint64_t            seed = 5;
    static const double bad[] = {NAN, INFINITY};
    static const int    sizes[] = {4, 40};
    static double       A[SIZE];
    for (int k = 0; k < 4; k++) {
        const int n = sizes[k / 2];
        random_fill(n * n, A, &seed);
        A[n + 2] = bad[k % 2];
        assert_true(factor(n, n, A, 1e-12) < n);
    }
}

// Complex systems: small residual; a matrix with a zero column is reported.
static void test_complex(void **state)
{
    (void)state;
    uint64_t              seed = 6;
    static double complex A[SIZE], QR[SIZE];
    double complex        tau[LARGEST], work[LARGEST], b[LARGEST], x[LARGEST];
    for (int o = 0; o < ORDERS; o++) {
        const int n = orders[o];
        for (int i = 0; i < n * n; i++) {
            const double re = random_number(&seed);
            A[i] = complex_number(re, random_number(&seed));
        }
        for (int i = 0; i < n; i++) b[i] = x[i] = complex_number(random_number(&seed), i);
        memcpy(QR, A, sizeof A);
        assert_int_equal(kd_zqr_factor(n, QR, tau, work), 0);
        kd_zqr_solve(n, QR, tau, x, work);
        assert_true(norm_error_complex(n, A, x, b) < 30);

        const int at = n / 2;
        memcpy(QR, A, sizeof A);
        for (int i = 0; i < n; i++) QR[i + n * at] = 0;
        assert_int_equal(kd_zqr_factor(n, QR, tau, work), n > 0 ? at + 1 : 0);
        if (n > 0) A[n * n - 1] = NAN;
        assert_true(n == 0 || kd_zqr_factor(n, A, tau, work) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reconstruct), cmocka_unit_test(test_cancellation),  cmocka_unit_test(test_orthogonal),
        cmocka_unit_test(test_solve),       cmocka_unit_test(test_least_squares), cmocka_unit_test(test_range),
        cmocka_unit_test(test_not_finite),  cmocka_unit_test(test_complex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
