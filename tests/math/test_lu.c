// tests/math/test_lu.c: LU real and complex against residuals; full pivoting against its definition.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "math/dense.h"
#include "math/matrices.h"

enum { SIZE = LARGEST * LARGEST, NRHS = 3 };

static void zrandom_fill(int count, double complex *z, uint64_t *seed)
{
    for (int i = 0; i < count; i++) {
        const double re = random_number(seed);
        z[i] = complex_number(re, random_number(seed));
    }
}

// Random and graded systems, several right-hand sides, A and A': the residual is rounding.
static void test_solve(void **state)
{
    (void)state;
    uint64_t      seed = 1;
    static double A[SIZE], T[SIZE], LU[SIZE];
    double        b[LARGEST * NRHS], x[LARGEST * NRHS];
    int           pivot[LARGEST];
    for (int o = 0; o < ORDERS; o++)
        for (int graded = 0; graded < 2; graded++) {
            const int n = orders[o];
            random_fill(n * n, A, &seed);
            if (graded) grade(n, n, A, 5);
            transpose(n, n, A, T);
            memcpy(LU, A, sizeof A);
            random_fill(n * NRHS, b, &seed);
            assert_int_equal(kd_lu_factor(n, LU, pivot), 0);
            memcpy(x, b, sizeof b);
            kd_lu_solve(n, LU, pivot, x, NRHS);
            for (int r = 0; r < NRHS; r++) assert_true(norm_error(n, A, x + n * r, b + n * r) < 20);
            memcpy(x, b, sizeof b);
            kd_lu_solve_t(n, LU, pivot, x, NRHS);
            for (int r = 0; r < NRHS; r++) assert_true(norm_error(n, T, x + n * r, b + n * r) < 20);
        }
}

// Complex systems, several right-hand sides: the residual is rounding.
static void test_complex(void **state)
{
    (void)state;
    uint64_t              seed = 3;
    static double complex A[SIZE], LU[SIZE];
    double complex        b[LARGEST * NRHS], x[LARGEST * NRHS];
    int                   pivot[LARGEST];
    for (int o = 0; o < ORDERS; o++) {
        const int n = orders[o];
        zrandom_fill(n * n, A, &seed);
        zrandom_fill(n * NRHS, b, &seed);
        memcpy(LU, A, sizeof A);
        assert_int_equal(kd_zlu_factor(n, LU, pivot), 0);
        memcpy(x, b, sizeof b);
        kd_zlu_solve(n, LU, pivot, x, NRHS);
        for (int r = 0; r < NRHS; r++) assert_true(norm_error_complex(n, A, x + n * r, b + n * r) < 30);
    }
}

// A complex matrix with zero imaginary part gives the real solution.
static void test_complex_is_real(void **state)
{
    (void)state;
    uint64_t seed = 4;
    enum { N = 9 };
    double         A[N * N], x[N];
    double complex Z[N * N], z[N];
    int            pivot[N];
    random_fill(N * N, A, &seed);
    random_fill(N, x, &seed);
    for (int i = 0; i < N * N; i++) Z[i] = A[i];
    for (int i = 0; i < N; i++) z[i] = x[i];
    assert_int_equal(kd_lu_factor(N, A, pivot), 0);
    kd_lu_solve(N, A, pivot, x, 1);
    assert_int_equal(kd_zlu_factor(N, Z, pivot), 0);
    kd_zlu_solve(N, Z, pivot, z, 1);
    for (int i = 0; i < N; i++) assert_true(cabs(z[i] - x[i]) < 1e-12 * (1 + fabs(x[i])) && cimag(z[i]) == 0);
}

// A zero column, a zero row and a row of NaN or infinity are reported, real and complex, small and large.
static void test_singular(void **state)
{
    (void)state;
    uint64_t              seed = 5;
    static double         A[SIZE];
    static double complex Z[SIZE];
    int                   pivot[LARGEST];
    static const double   bad[] = {0, NAN, INFINITY};
    for (int o = 1; o < ORDERS; o++)
        for (int kind = 0; kind < 6; kind++) {
            const int    n = orders[o], at = n / 2;
            const double value = bad[kind % 3];
            random_fill(n * n, A, &seed);
            for (int k = 0; k < n; k++) A[kind < 3 ? k + n * at : at + n * k] = value;
            for (int i = 0; i < n * n; i++) Z[i] = complex_number(A[i], 0);
            const int real = kd_lu_factor(n, A, pivot), cplx = kd_zlu_factor(n, Z, pivot);
            assert_true(real > 0 && real <= n);
            assert_true(cplx > 0 && cplx <= n);
            if (kind == 0) assert_int_equal(real, at + 1);
            if (kind == 0) assert_int_equal(cplx, at + 1);
        }
}

// One NaN anywhere does not pass as a regular matrix.
static void test_single_nan(void **state)
{
    (void)state;
    uint64_t seed = 6;
    enum { N = 7 };
    double         A[N * N];
    double complex Z[N * N];
    int            pivot[N];
    for (int at = 0; at < N * N; at++) {
        random_fill(N * N, A, &seed);
        A[at] = NAN;
        for (int i = 0; i < N * N; i++) Z[i] = complex_number(fabs(A[i]), A[i]);
        assert_true(kd_lu_factor(N, A, pivot) > 0);
        assert_true(kd_zlu_factor(N, Z, pivot) > 0);
    }
}

// Pivots near both ends of the range are used: diag(1e-300, 1e300) is regular.
static void test_range(void **state)
{
    (void)state;
    double         A[4] = {1e-300, 0, 0, 1e300}, x[2] = {1e-300, 1e300};
    double complex Z[4] = {complex_number(0, 1e-300), 0, 0, complex_number(1e300, 1e300)},
                   z[2] = {complex_number(0, 1e-300), complex_number(1e300, 1e300)};
    int pivot[2];
    assert_int_equal(kd_lu_factor(2, A, pivot), 0);
    kd_lu_solve(2, A, pivot, x, 1);
    assert_true(fabs(x[0] - 1) < 1e-15 && fabs(x[1] - 1) < 1e-15);
    assert_int_equal(kd_zlu_factor(2, Z, pivot), 0);
    kd_zlu_solve(2, Z, pivot, z, 1);
    assert_true(cabs(z[0] - 1) < 1e-15 && cabs(z[1] - 1) < 1e-15);
}

// The condition estimate lies between the true value and a small multiple of it; singular factors give 0.
static void test_rcond(void **state)
{
    (void)state;
    uint64_t      seed = 7;
    static double A[SIZE], LU[SIZE], inverse[SIZE];
    double        work[4 * LARGEST];
    int           pivot[LARGEST], iwork[LARGEST];
    for (int o = 1; o < ORDERS; o++) {
        const int n = orders[o];
        random_fill(n * n, A, &seed);
        memcpy(LU, A, sizeof A);
        assert_int_equal(kd_lu_factor(n, LU, pivot), 0);
        memset(inverse, 0, sizeof inverse);
        for (int i = 0; i < n; i++) inverse[i + n * i] = 1;
        kd_lu_solve(n, LU, pivot, inverse, n);
        double norm = 0, norm_inverse = 0;
        for (int j = 0; j < n; j++) {
            double sum = 0, sum_inverse = 0;
            for (int i = 0; i < n; i++) {
                sum += fabs(A[i + n * j]);
                sum_inverse += fabs(inverse[i + n * j]);
            }
            norm = fmax(norm, sum);
            norm_inverse = fmax(norm_inverse, sum_inverse);
        }
        const double exact = 1 / (norm * norm_inverse), estimate = kd_lu_rcond(n, LU, pivot, norm, work, iwork);
        assert_true(estimate >= exact * (1 - 1e-8) && estimate <= 10 * exact);
    }
    assert_true(kd_lu_rcond(0, A, pivot, 0, work, iwork) == 1);
    assert_true(kd_lu_rcond(1, (double[]){0}, pivot, 0, work, iwork) == 0);
}

// Full pivoting: A[row, col] = L U, |L| <= 1, pivots fall not faster than they may, for all shapes; rank of a product.
static void test_full(void **state)
{
    (void)state;
    uint64_t         seed = 8;
    static double    A[SIZE], LU[SIZE];
    int              row[LARGEST], col[LARGEST];
    static const int shapes[][3] = {{0, 0, 0},   {3, 0, 0},    {0, 4, 0}, {1, 1, 1}, {2, 5, 2},
                                    {5, 2, 2},   {4, 4, 4},    {6, 9, 4}, {9, 6, 4}, {9, 9, 5},
                                    {40, 20, 7}, {20, 40, 20}, {7, 7, 1}, {7, 7, 0}, {50, 50, 49}};
    for (int s = 0; s < (int)(sizeof shapes / sizeof *shapes); s++) {
        const int m = shapes[s][0], n = shapes[s][1], rank = shapes[s][2];
        random_of_rank(m, n, rank, A, &seed);
        memcpy(LU, A, sizeof A);
        assert_int_equal(kd_lu_full(m, n, LU, row, col, 1e-10), rank);
        bool row_seen[LARGEST] = {false}, col_seen[LARGEST] = {false};
        for (int i = 0; i < m; i++) row_seen[row[i]] = true;
        for (int j = 0; j < n; j++) col_seen[col[j]] = true;
        for (int i = 0; i < m; i++) assert_true(row_seen[i]);
        for (int j = 0; j < n; j++) assert_true(col_seen[j]);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++) {
                double sum = 0;
                for (int k = 0; k < rank && k <= j && k <= i; k++) sum += (k == i ? 1 : LU[i + m * k]) * LU[k + m * j];
                assert_true(fabs(A[row[i] + m * col[j]] - sum) < 1e-12 * (1 + rank));
                if (i > j && j < rank) assert_true(fabs(LU[i + m * j]) <= 1 + 4 * DBL_EPSILON);
            }
    }
}

// With many zeros the same pivots are found, one after the other, and the same factors.
static void test_full_sparse(void **state)
{
    (void)state;
    uint64_t      seed = 21;
    static double A[SIZE], B[SIZE];
    double        most[LARGEST];
    int           row[2][LARGEST], col[2][LARGEST];
    for (int trial = 0; trial < 40; trial++) {
        const int m = 1 + trial % 23, n = 1 + (5 * trial) % 31;
        random_of_rank(m, n, m < n ? m : n, A, &seed);
        for (int i = 0; i < m * n; i++)
            if ((i * 7 + trial) % 5 != 0) A[i] = 0;
        memcpy(B, A, sizeof A);
        const int rank = kd_lu_full(m, n, A, row[0], col[0], 1e-10);
        assert_int_equal(kd_lu_full_sparse(m, n, B, row[1], col[1], 1e-10, most), rank);
        for (int k = 0; k < rank; k++) {
            assert_int_equal(row[0][k], row[1][k]);
            assert_int_equal(col[0][k], col[1][k]);
            for (int i = 0; i < m; i++) assert_true(A[i + m * k] == B[i + m * k]);
        }
    }
}

// The tolerance decides the rank relative to the first pivot; NaN ends the elimination.
static void test_full_tolerance(void **state)
{
    (void)state;
    static const double tolerance[] = {1, 1e-3, 1e-5, 0};
    static const int    expected[] = {1, 1, 2, 3};
    int                 row[3], col[3];
    for (int k = 0; k < 4; k++) {
        double A[9] = {1e-6, 0, 0, 0, 1e2, 0, 0, 0, 1e-2};
        assert_int_equal(kd_lu_full(3, 3, A, row, col, tolerance[k]), expected[k]);
        assert_int_equal(col[0], 1);
    }
    double B[4] = {NAN, 1, 1, 1};
    assert_true(kd_lu_full(2, 2, B, row, col, 1e-10) < 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solve),           cmocka_unit_test(test_complex),
        cmocka_unit_test(test_complex_is_real), cmocka_unit_test(test_singular),
        cmocka_unit_test(test_single_nan),      cmocka_unit_test(test_range),
        cmocka_unit_test(test_rcond),           cmocka_unit_test(test_full),
        cmocka_unit_test(test_full_sparse),     cmocka_unit_test(test_full_tolerance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
