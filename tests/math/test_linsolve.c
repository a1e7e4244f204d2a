// tests/math/test_linsolve.c: the three kinds of linear solver give one answer, and fail in the same way.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/failing_allocator.h"
#include "math/linsolve.h"
#include "math/matrices.h"

enum { SIZE = LARGEST * LARGEST, KINDS = 3 };

static double         A[SIZE];
static double complex Z[SIZE];

// about half of the entries, a dominant exchanged diagonal so that pivots must move
static void random_matrix(int n, uint64_t *seed)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            const double re = random_number(seed), im = random_number(seed);
            const bool   is_large = i == (j + 1) % n;
            A[i + n * j] = is_large ? 3 + re : re > 0 ? re : 0;
            Z[i + n * j] = is_large || re > 0 ? complex_number(A[i + n * j], im) : 0;
        }
}

static void check(kd_linsolve *solver, int n, uint64_t *seed)
{
    double         b[LARGEST] = {0}, x[LARGEST];
    double complex zb[LARGEST], zx[LARGEST];
    random_fill(n, b, seed);
    for (int i = 0; i < n; i++) zb[i] = zx[i] = complex_number(-b[i], i);
    memcpy(x, b, sizeof b);
    kd_linsolve_solve(solver, x);
    kd_linsolve_solve_complex(solver, zx);
    assert_true(norm_error(n, A, x, b) < 100);
    assert_true(norm_error_complex(n, Z, zx, zb) < 100);
}

// Every kind solves real and complex systems of every order; factors of both live side by side.
static void test_kinds(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int kind = 0; kind < KINDS; kind++)
        for (int o = 0; o < ORDERS; o++) {
            const int    n = orders[o];
            kd_linsolve *solver = NULL;
            random_matrix(n, &seed);
            assert_int_equal(kd_linsolve_create(n, (kd_linear_kind)kind, NULL, &solver), KD_OK);
            assert_int_equal(kd_linsolve_factor(solver, n, A), KD_OK);
            assert_int_equal(kd_linsolve_factor_complex(solver, n, Z), KD_OK);
            check(solver, n, &seed);
            kd_linsolve_destroy(solver);
        }
    kd_linsolve_destroy(NULL);
}

// Dense solvers take smaller systems than they were created for; others are refused, and a sparse one takes its own
// only.
static void test_orders(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int kind = 0; kind < KINDS; kind++) {
        kd_linsolve *solver = NULL;
        assert_int_equal(kd_linsolve_create(40, (kd_linear_kind)kind, NULL, &solver), KD_OK);
        for (int n = 0; n <= 40; n += 8) {
            random_matrix(n, &seed);
            const bool legal = kind != KD_LINEAR_SPARSE || n == 40;
            assert_int_equal(kd_linsolve_factor(solver, n, A), legal ? KD_OK : KD_ERR_ARGUMENT);
            assert_int_equal(kd_linsolve_factor_complex(solver, n, Z), legal ? KD_OK : KD_ERR_ARGUMENT);
            if (legal) check(solver, n, &seed);
        }
        assert_int_equal(kd_linsolve_factor(solver, 41, A), KD_ERR_ARGUMENT);
        assert_int_equal(kd_linsolve_factor_complex(solver, -1, Z), KD_ERR_ARGUMENT);
        kd_linsolve_destroy(solver);
    }
    kd_linsolve *solver = NULL;
    assert_int_equal(kd_linsolve_create(-1, KD_LINEAR_LU, NULL, &solver), KD_ERR_ARGUMENT);
    assert_int_equal(kd_linsolve_create(1 << 20, KD_LINEAR_LU, NULL, &solver), KD_ERR_ARGUMENT);
    assert_int_equal(kd_linsolve_create(3, (kd_linear_kind)7, NULL, &solver), KD_ERR_ARGUMENT);
    assert_null(solver);
}

// A growing pattern is analysed again and counted, a shrinking one is not; the other arithmetic keeps its factors.
static void test_pattern_growth(void **state)
{
    (void)state;
    enum { N = 10 };
    kd_linsolve *solver = NULL;
    assert_int_equal(kd_linsolve_create(N, KD_LINEAR_SPARSE, NULL, &solver), KD_OK);
    assert_int_equal(kd_linsolve_analyses(solver), 0);
    memset(A, 0, sizeof A);
    memset(Z, 0, sizeof Z);
    for (int i = 0; i < N; i++) {
        A[i + N * i] = 2;
        Z[i + N * i] = complex_number(0, 2);
    }
    assert_int_equal(kd_linsolve_factor(solver, N, A), KD_OK);
    assert_int_equal(kd_linsolve_factor_complex(solver, N, Z), KD_OK);
    const long first = kd_linsolve_analyses(solver);
    assert_int_equal(first, 4); // an analysis and a choice of pivots each
    assert_int_equal(kd_linsolve_factor(solver, N, A), KD_OK);
    assert_int_equal(kd_linsolve_analyses(solver), first);

    A[N * 3] = 5; // x_0 depends on x_3 now
    assert_int_equal(kd_linsolve_factor(solver, N, A), KD_OK);
    assert_int_equal(kd_linsolve_analyses(solver), first + 2);
    double complex z[N] = {2};
    kd_linsolve_solve_complex(solver, z); // still the old factors
    assert_true(cabs(z[0] - complex_number(0, -1)) < 1e-15);
    double x[N] = {1, 0, 0, 2};
    kd_linsolve_solve(solver, x);
    assert_true(fabs(x[0] + 2) < 1e-15 && fabs(x[3] - 1) < 1e-15);

    Z[3] = complex_number(0, 7);
    assert_int_equal(kd_linsolve_factor_complex(solver, N, Z), KD_OK);
    assert_int_equal(kd_linsolve_analyses(solver), first + 4);
    A[N * 3] = 0;
    assert_int_equal(kd_linsolve_factor(solver, N, A), KD_OK); // follows the growth by Z, once
    const long grown = kd_linsolve_analyses(solver);
    assert_int_equal(grown, first + 6);
    Z[3] = 0;
    assert_int_equal(kd_linsolve_factor(solver, N, A), KD_OK);
    assert_int_equal(kd_linsolve_factor_complex(solver, N, Z), KD_OK);
    assert_int_equal(kd_linsolve_analyses(solver), grown);
    uint64_t seed = 3;
    check(solver, N, &seed);
    kd_linsolve_destroy(solver);
}

// Bodies with as many columns of the same rows as they have coordinates (up to BODY), in a chain: what is solved in groups
// of columns is right for all sizes of groups, several right-hand sides, and with values that change under the same pivots.
enum { BODY = 7, CHAIN = 5 };

static int bodies_pattern(int size, int *column, int *row)
{
    const int n = size * CHAIN;
    int       count = 0;
    for (int j = 0; j < n; j++) {
        column[j] = count;
        for (int i = 0; i < n; i++)
            if (abs(i / size - j / size) <= 1 || i == j + 2 * size) row[count++] = i;
    }
    column[n] = count;
    return n;
}

static void test_bodies(void **state)
{
    uint64_t seed = 21;
    (void)state;
    for (int size = 1; size <= BODY; size++) {
        int           column[BODY * CHAIN + 1], row[BODY * CHAIN * BODY * CHAIN];
        const int     n = bodies_pattern(size, column, row);
        kd_sparse_lu *lu = NULL;
        assert_int_equal(kd_sparse_lu_create(n, column, row, &lu), KD_OK);
        for (int again = 0; again < 3; again++) {
            double value[BODY * CHAIN * BODY * CHAIN], b[2 * BODY * CHAIN] = {0}, x[2 * BODY * CHAIN];
            memset(A, 0, sizeof A);
            for (int j = 0; j < n; j++)
                for (int e = column[j]; e < column[j + 1]; e++)
                    A[row[e] + n * j] = value[e] = random_number(&seed) + (row[e] == j ? 8 : 0);
            random_fill(2 * n, b, &seed);
            memcpy(x, b, sizeof b);
            assert_int_equal(kd_sparse_lu_factor(lu, value), KD_OK);
            kd_sparse_lu_solve(lu, x, 2);
            assert_true(norm_error(n, A, x, b) < 10);
            assert_true(norm_error(n, A, x + n, b + n) < 10);
        }
        kd_sparse_lu_destroy(lu);
    }
}

// With the pattern given, factor calls only choose pivots; later ones do not allocate at all. Dense kinds never do.
static void test_no_allocation(void **state)
{
    (void)state;
    uint64_t seed = 4;
    enum { N = 37 };
    bool pattern[N * N];
    random_matrix(N, &seed);
    for (int i = 0; i < N * N; i++) pattern[i] = A[i] != 0;
    for (int kind = 0; kind < KINDS; kind++) {
        failing_allocator f = {0};
        failing_allocator_use(&f);
        kd_linsolve *solver = NULL;
        assert_int_equal(kd_linsolve_create(N, (kd_linear_kind)kind, pattern, &solver), KD_OK);
        const long after_create = f.calls, analyses = kd_linsolve_analyses(solver);
        assert_int_equal(analyses, kind == KD_LINEAR_SPARSE ? 2 : 0);
        assert_int_equal(kd_linsolve_factor(solver, N, A), KD_OK);
        assert_int_equal(kd_linsolve_factor_complex(solver, N, Z), KD_OK);
        const long after_first = f.calls;
        assert_true(kind == KD_LINEAR_SPARSE || after_first == after_create);
        for (int step = 0; step < 5; step++) {
            for (int i = 0; i < N * N; i++) A[i] *= 1.01;
            for (int i = 0; i < N * N; i++) Z[i] *= 0.99;
            assert_int_equal(kd_linsolve_factor(solver, N, A), KD_OK);
            assert_int_equal(kd_linsolve_factor_complex(solver, N, Z), KD_OK);
            check(solver, N, &seed);
        }
        assert_int_equal(f.calls, after_first);
        assert_int_equal(kd_linsolve_analyses(solver), kind == KD_LINEAR_SPARSE ? 4 : 0);
        kd_linsolve_destroy(solver);
        assert_int_equal(f.live, 0);
        kd_set_allocator(NULL);
    }
}

// Singular matrices and NaN are reported by every kind, and the solver serves the next matrix.
static void test_singular(void **state)
{
    (void)state;
    uint64_t seed = 5;
    enum { N = 8 };
    static const double bad[] = {0, NAN};
    for (int kind = 0; kind < KINDS; kind++) {
        kd_linsolve *solver = NULL;
        assert_int_equal(kd_linsolve_create(N, (kd_linear_kind)kind, NULL, &solver), KD_OK);
        for (int k = 0; k < 2; k++) {
            random_matrix(N, &seed);
            for (int i = 0; i < N; i++) {
                A[2 + N * i] = bad[k];
                Z[2 + N * i] = bad[k];
            }
            assert_int_equal(kd_linsolve_factor(solver, N, A), KD_ERR_DECOMPOSITION);
            assert_int_equal(kd_linsolve_factor_complex(solver, N, Z), KD_ERR_DECOMPOSITION);
            random_matrix(N, &seed);
            assert_int_equal(kd_linsolve_factor(solver, N, A), KD_OK);
            assert_int_equal(kd_linsolve_factor_complex(solver, N, Z), KD_OK);
            check(solver, N, &seed);
        }
        kd_linsolve_destroy(solver);
    }
}

// QR sees a numerically singular matrix (a column that is the sum of two others) and is not misled by small columns.
static void test_qr_rank(void **state)
{
    (void)state;
    uint64_t seed = 6;
    enum { N = 12 };
    kd_linsolve *solver = NULL;
    assert_int_equal(kd_linsolve_create(N, KD_LINEAR_QR, NULL, &solver), KD_OK);
    for (int scaled = 0; scaled < 2; scaled++) {
        random_matrix(N, &seed);
        for (int i = 0; i < N; i++) { // column 4 is small but independent
            A[i + N * 4] *= scaled ? 1e-30 : 1;
            Z[i + N * 4] *= scaled ? 1e-30 : 1;
        }
        assert_int_equal(kd_linsolve_factor(solver, N, A), KD_OK);
        assert_int_equal(kd_linsolve_factor_complex(solver, N, Z), KD_OK);
        for (int i = 0; i < N; i++) {
            A[i + N * 7] = A[i + N * 2] + A[i + N * 5];
            Z[i + N * 7] = Z[i + N * 2] + Z[i + N * 5];
        }
        assert_int_equal(kd_linsolve_factor(solver, N, A), KD_ERR_DECOMPOSITION);
        assert_int_equal(kd_linsolve_factor_complex(solver, N, Z), KD_ERR_DECOMPOSITION);
    }
    kd_linsolve_destroy(solver);
}

// Each allocation failing once, in every kind: KD_ERR_MEMORY, nothing leaks, the next factor call succeeds.
static void test_allocation_failure(void **state)
{
    (void)state;
    uint64_t seed = 7;
    enum { N = 15 };
    bool pattern[N * N];
    random_matrix(N, &seed);
    for (int i = 0; i < N * N; i++) pattern[i] = A[i] != 0;
    for (int kind = 0; kind < KINDS * 2; kind++) {
        bool failed = true;
        for (long fail_at = 1; failed; fail_at++) {
            failing_allocator f = {.fail_at = fail_at};
            failing_allocator_use(&f);
            kd_linsolve *solver = NULL;
            kd_status    status = kd_linsolve_create(N, (kd_linear_kind)(kind / 2), kind % 2 ? pattern : NULL, &solver);
            assert_true((status == KD_OK) == (solver != NULL));
            if (status == KD_OK) {
                status = kd_linsolve_factor(solver, N, A);
                if (status == KD_OK) status = kd_linsolve_factor_complex(solver, N, Z);
                assert_int_equal(kd_linsolve_factor(solver, N, A), KD_OK);
                assert_int_equal(kd_linsolve_factor_complex(solver, N, Z), KD_OK);
                check(solver, N, &seed);
            }
            kd_linsolve_destroy(solver);
            assert_int_equal(f.live, 0);
            failed = f.calls >= fail_at;
            assert_int_equal(status, failed ? KD_ERR_MEMORY : KD_OK);
            kd_set_allocator(NULL);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),          cmocka_unit_test(test_orders),
        cmocka_unit_test(test_pattern_growth), cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_no_allocation),  cmocka_unit_test(test_singular),
        cmocka_unit_test(test_qr_rank),        cmocka_unit_test(test_allocation_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
