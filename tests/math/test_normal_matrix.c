// test_normal_matrix.c: sparse factors of A A' + nu I against full ones, and their size on matrices whose fill is known.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "core/failing_allocator.h"
#include "math/dense.h"
#include "math/normal_matrix.h"

enum { MOST = 40, ENTRIES = 400 };

static uint64_t seed = 7;

static double number(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) * 0x1p-52 - 1.0;
}

typedef struct matrix {
    int    n, columns, start[MOST + 1], column[ENTRIES];
    double value[ENTRIES];
} matrix;

static matrix random_matrix(int n, int columns, int per_row)
{
    matrix A = {.n = n, .columns = columns};
    for (int i = 0; i < n; i++) {
        bool used[MOST] = {false};
        A.start[i + 1] = A.start[i];
        for (int k = 0; k < per_row; k++) {
            const int j = (int)(fabs(number()) * columns) % columns;
            if (used[j]) continue;
            used[j] = true;
            A.column[A.start[i + 1]] = j;
            A.value[A.start[i + 1]++] = number();
        }
    }
    return A;
}

// N = A A' + nu I, column by column
static void fill_full(const matrix *A, double nu, double *N)
{
    for (int i = 0; i < A->n; i++)
        for (int j = 0; j < A->n; j++) {
            double sum = i == j ? nu : 0;
            for (int k = A->start[i]; k < A->start[i + 1]; k++)
                for (int l = A->start[j]; l < A->start[j + 1]; l++)
                    if (A->column[k] == A->column[l]) sum += A->value[k] * A->value[l];
            N[i + A->n * j] = sum;
        }
}

// Random matrices, wide and tall, with empty rows and columns: the solutions of full matrices; twice, as nothing of the
// first factor may be left
static void test_solutions(void **state)
{
    (void)state;
    for (int k = 0; k < 300; k++) {
        const int         n = 1 + k % MOST, columns = 1 + (7 * k) % MOST;
        matrix            A = random_matrix(n, columns, k % 6);
        kd_normal_matrix *N = NULL;
        double            full[MOST * MOST], b[MOST], x[MOST];
        assert_int_equal(kd_normal_create(n, columns, A.start, A.column, &N), KD_OK);
        for (int pass = 0; pass < 2; pass++) {
            const double nu = 0.1 + pass;
            for (int e = 0; e < A.start[n]; e++) A.value[e] = number();
            for (int i = 0; i < n; i++) b[i] = x[i] = number();
            fill_full(&A, nu, full);
            assert_int_equal(kd_cholesky_factor(n, full), 0);
            kd_cholesky_solve(n, full, x, 1);
            assert_true(kd_normal_factor(N, A.value, nu));
            kd_normal_solve(N, b);
            for (int i = 0; i < n; i++) assert_true(fabs(b[i] - x[i]) < 1e-11);
        }
        kd_normal_destroy(N);
    }
}

// Rows that each share a column with the next: no fill, n - 1 entries, in whatever order they are numbered. A column that
// all rows share: all entries.
static void test_fill(void **state)
{
    (void)state;
    enum { N = 30 };
    int start[N + 1] = {0}, column[2 * N], one[N], of[N];
    for (int i = 0; i < N; i++) of[i] = (7 * i) % N; // a permutation
    for (int i = 0; i < N; i++) {
        start[i + 1] = 2 * (i + 1);
        column[2 * i] = of[i];
        column[2 * i + 1] = of[i] + 1;
    }
    kd_normal_matrix *chain = NULL, *full = NULL;
    assert_int_equal(kd_normal_create(N, N + 1, start, column, &chain), KD_OK);
    assert_int_equal(kd_normal_entries(chain), N - 1);
    for (int i = 0; i < N; i++) start[i + 1] = i + 1, one[i] = 0;
    assert_int_equal(kd_normal_create(N, 1, start, one, &full), KD_OK);
    assert_int_equal(kd_normal_entries(full), N * (N - 1) / 2);
    kd_normal_destroy(chain);
    kd_normal_destroy(full);
}

// Without damping an empty row has no pivot; NaN has none
static void test_singular(void **state)
{
    (void)state;
    const int         start[] = {0, 1, 1, 2}, column[] = {0, 0};
    double            A[] = {1, NAN}, b[] = {1, 2, 3};
    kd_normal_matrix *N = NULL;
    assert_int_equal(kd_normal_create(3, 1, start, column, &N), KD_OK);
    assert_false(kd_normal_factor(N, A, 0));
    A[1] = 2;
    assert_false(kd_normal_factor(N, A, 0));
    // [1 0 2; 0 0 0; 2 0 4] + I
    assert_true(kd_normal_factor(N, A, 1));
    kd_normal_solve(N, b);
    assert_true(fabs(b[1] - 2) < 1e-15);
    assert_true(fabs(2 * b[0] + 2 * b[2] - 1) < 1e-14 && fabs(2 * b[0] + 5 * b[2] - 3) < 1e-14);
    kd_normal_destroy(N);
}

static void test_memory(void **state)
{
    (void)state;
    const matrix      A = random_matrix(10, 12, 3);
    kd_normal_matrix *N = NULL;
    failing_allocator memory = {0};
    kd_status         status = KD_ERR_MEMORY;
    failing_allocator_use(&memory);
    for (memory.fail_at = 1; status != KD_OK && memory.fail_at < 1000; memory.fail_at++) {
        memory.calls = 0;
        status = kd_normal_create(10, 12, A.start, A.column, &N);
        if (status != KD_OK && (status != KD_ERR_MEMORY || N || memory.live != 0)) break;
    }
    kd_normal_destroy(N);
    kd_set_allocator(NULL);
    assert_int_equal(status, KD_OK);
    assert_int_equal(memory.live, 0);
    assert_true(memory.fail_at > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solutions),
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_singular),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
