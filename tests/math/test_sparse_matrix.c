// Sparse matrices with values: every operation against dense arrays, on random matrices.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "math/sparse_matrix.h"

enum { MOST = 12 };

static uint64_t seed = 7;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}

// A random matrix with entries at the same place, and the same as a dense one
static void random_matrix(int rows, int columns, kd_arena *arena, kd_sparse_matrix *A, double dense[MOST][MOST])
{
    int    row[3 * MOST], column[3 * MOST], n = 0;
    double value[3 * MOST];
    memset(dense, 0, MOST * sizeof *dense);
    for (; n < 3 * MOST && uniform() < 0.95; n++) {
        row[n] = (int)(uniform() * rows);
        column[n] = (int)(uniform() * columns);
        value[n] = uniform() - 0.5;
        dense[row[n]][column[n]] += value[n];
    }
    assert_int_equal(kd_sparse_of_entries(rows, columns, n, row, column, value, arena, A), KD_OK);
}

static void assert_equal(const kd_sparse_matrix *A, int rows, int columns, double dense[MOST][MOST])
{
    double there[MOST][MOST] = {{0}};
    assert_int_equal(A->rows, rows);
    assert_int_equal(A->columns, columns);
    for (int j = 0; j < columns; j++)
        for (int k = A->column[j]; k < A->column[j + 1]; k++) {
            assert_true(k == A->column[j] || A->row[k] > A->row[k - 1]);
            there[A->row[k]][j] = A->value[k];
        }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) assert_true(fabs(there[i][j] - dense[i][j]) < 1e-14);
}

// Sums, products, transposition, congruence, parts and products with vectors agree with dense arithmetic.
static void all_agree_with_dense_arithmetic(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        kd_arena         arena = {0};
        kd_sparse_matrix A, B, T, out;
        double           a[MOST][MOST], b[MOST][MOST], t[MOST][MOST], c[MOST][MOST] = {{0}}, d[MOST][MOST] = {{0}};
        const int        m = 1 + (int)(uniform() * (MOST - 1)), n = 1 + (int)(uniform() * (MOST - 1)),
                  p = 1 + (int)(uniform() * (MOST - 1));
        random_matrix(m, n, &arena, &A, a);
        assert_equal(&A, m, n, a);
        random_matrix(n, p, &arena, &B, b);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < p; j++)
                for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j];
        assert_int_equal(kd_sparse_product(&A, &B, &arena, &out), KD_OK);
        assert_equal(&out, m, p, c);
        assert_int_equal(kd_sparse_transpose(&A, &arena, &out), KD_OK);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) d[j][i] = a[i][j];
        assert_equal(&out, n, m, d);
        random_matrix(m, n, &arena, &B, b);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) c[i][j] = 2 * a[i][j] - 3 * b[i][j];
        assert_int_equal(kd_sparse_sum(2, &A, -3, &B, &arena, &out), KD_OK);
        assert_equal(&out, m, n, c);
        // T' A T
        random_matrix(n, n, &arena, &B, b);
        random_matrix(n, p, &arena, &T, t);
        memset(c, 0, sizeof c);
        for (int i = 0; i < p; i++)
            for (int j = 0; j < p; j++)
                for (int k = 0; k < n; k++)
                    for (int l = 0; l < n; l++) c[i][j] += t[k][i] * b[k][l] * t[l][j];
        assert_int_equal(kd_sparse_congruence(&B, &T, &arena, &out), KD_OK);
        assert_equal(&out, p, p, c);
        // every second row, all columns but the first
        int rows[MOST], columns[MOST];
        for (int i = 0; i < m; i++) rows[i] = i % 2 ? -1 : i / 2;
        for (int j = 0; j < n; j++) columns[j] = j - 1;
        memset(c, 0, sizeof c);
        for (int i = 0; i < m; i += 2)
            for (int j = 1; j < n; j++) c[i / 2][j - 1] = a[i][j];
        assert_int_equal(kd_sparse_part(&A, rows, (m + 1) / 2, columns, n - 1, &arena, &out), KD_OK);
        assert_equal(&out, (m + 1) / 2, n - 1, c);
        double x[2 * MOST], y[2 * MOST], largest = 0;
        for (int i = 0; i < 2 * MOST; i++) x[i] = uniform();
        kd_sparse_apply(&A, 2, x, y);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < m; i++) {
                double sum = 0;
                for (int j = 0; j < n; j++) sum += a[i][j] * x[j + k * n];
                assert_true(fabs(sum - y[i + k * m]) < 1e-14);
            }
        kd_sparse_apply_t(&A, 1, x, y);
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int i = 0; i < m; i++) sum += a[i][j] * x[i];
            assert_true(fabs(sum - y[j]) < 1e-14);
        }
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) largest = fmax(largest, fabs(a[i][j]));
        assert_true(fabs(kd_sparse_largest(&A) - largest) < 1e-15);
        kd_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_agree_with_dense_arithmetic)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
