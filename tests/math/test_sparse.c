// tests/math/test_sparse.c: sparse LU against dense LU, choice of pivots, failures.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "core/failing_allocator.h"
#include "math/dense.h"
#include "math/linsolve.h"
#include "math/matrices.h"

enum { SIZE = LARGEST * LARGEST };

typedef struct matrix {
    int            n, column[LARGEST + 1], row[SIZE];
    double         values[SIZE], dense[SIZE];
    double complex values_complex[SIZE], dense_complex[SIZE];
} matrix;

static matrix a;

// new random values for the pattern of m
static void fill(matrix *m, uint64_t *seed)
{
    memset(m->dense, 0, sizeof m->dense);
    memset(m->dense_complex, 0, sizeof m->dense_complex);
    for (int j = 0; j < m->n; j++)
        for (int k = m->column[j]; k < m->column[j + 1]; k++) {
            const double re = random_number(seed), im = random_number(seed);
            m->dense[m->row[k] + m->n * j] = m->values[k] = re;
            m->dense_complex[m->row[k] + m->n * j] = m->values_complex[k] = complex_number(re, im);
        }
}

// a random pattern with full diagonal, rows within a column in falling order (any order is legal)
static void random_pattern(matrix *m, int n, double density, uint64_t *seed)
{
    m->n = n;
    m->column[0] = 0;
    for (int j = 0, count = 0; j < n; j++) {
        for (int i = n - 1; i >= 0; i--)
            if (i == (j + 1) % n || i == j || 0.5 * (1 + random_number(seed)) < density) m->row[count++] = i;
        m->column[j + 1] = count;
    }
    fill(m, seed);
}

// residual within bound * epsilon
static void check_solve(kd_sparse_lu *lu, const matrix *m, double bound, uint64_t *seed)
{
    enum { NRHS = 2 };
    double         b[LARGEST * NRHS], x[LARGEST * NRHS];
    double complex zb[LARGEST * NRHS], zx[LARGEST * NRHS];
    random_fill(m->n * NRHS, b, seed);
    for (int i = 0; i < m->n * NRHS; i++) zb[i] = zx[i] = complex_number(b[i], 1 - b[i]);
    memcpy(x, b, sizeof b);
    kd_sparse_lu_solve(lu, x, NRHS);
    kd_sparse_lu_solve_complex(lu, zx, NRHS);
    for (int r = 0; r < NRHS; r++) {
        assert_true(norm_error(m->n, m->dense, x + m->n * r, b + m->n * r) < bound);
        assert_true(norm_error_complex(m->n, m->dense_complex, zx + m->n * r, zb + m->n * r) < bound);
    }
}

// Real and complex systems of all orders and densities: small residual, and the solution of dense LU.
static void test_solve(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int o = 0; o < ORDERS; o++)
        for (int d = 0; d < 3; d++) {
            random_pattern(&a, orders[o], (double[]){0.02, 0.2, 1}[d], &seed);
            kd_sparse_lu *lu = NULL;
            assert_int_equal(kd_sparse_lu_create(a.n, a.column, a.row, &lu), KD_OK);
            assert_int_equal(kd_sparse_lu_factor(lu, a.values), KD_OK);
            assert_int_equal(kd_sparse_lu_factor_complex(lu, a.values_complex), KD_OK);
            assert_true(kd_sparse_lu_rcond(lu) > 0 && kd_sparse_lu_rcond(lu) <= 1);
            check_solve(lu, &a, 100, &seed);
            kd_sparse_lu_destroy(lu);
        }
    kd_sparse_lu_destroy(NULL);
}

// Values that change little keep their pivots: one full factorisation, no allocation after it.
static void test_refactor(void **state)
{
    (void)state;
    uint64_t          seed = 2;
    failing_allocator f = {0};
    random_pattern(&a, 30, 0.1, &seed);
    failing_allocator_use(&f);
    kd_sparse_lu *lu = NULL;
    assert_int_equal(kd_sparse_lu_create(a.n, a.column, a.row, &lu), KD_OK);
    assert_int_equal(kd_sparse_lu_factor(lu, a.values), KD_OK);
    assert_int_equal(kd_sparse_lu_factor_complex(lu, a.values_complex), KD_OK);
    const long calls = f.calls;
    assert_true(calls > 5); // KLU's own are among them
    for (int step = 0; step < 20; step++) {
        for (int j = 0; j < a.n; j++)
            for (int k = a.column[j]; k < a.column[j + 1]; k++) {
                const double factor = 1 + 0.01 * random_number(&seed);
                a.dense[a.row[k] + a.n * j] = a.values[k] *= factor;
                a.dense_complex[a.row[k] + a.n * j] = a.values_complex[k] *= factor;
            }
        assert_int_equal(kd_sparse_lu_factor(lu, a.values), KD_OK);
        assert_int_equal(kd_sparse_lu_factor_complex(lu, a.values_complex), KD_OK);
        check_solve(lu, &a, 100, &seed);
    }
    assert_int_equal(kd_sparse_lu_full_factorizations(lu), 2);
    assert_int_equal(f.calls, calls);
    kd_sparse_lu_destroy(lu);
    assert_int_equal(f.live, 0);
    kd_set_allocator(NULL);
}

// Bodies of one to seven unknowns that touch some others, and so many rows of a constraint: blocks in the pattern, as Newton
// matrices have them; one way only where upper is asked for, so that the block triangular form has several parts.
static void block_pattern(matrix *m, int n, bool upper, uint64_t *seed)
{
    int  body[LARGEST];
    bool touches[LARGEST][LARGEST] = {{false}};
    for (int i = 0, number = 0; i < n; number++)
        for (int size = 1 + (int)(3.49 * (1 + random_number(seed))); size > 0 && i < n; size--) body[i++] = number;
    for (int k = 0; k < n; k++)
        for (int l = 0; l < n; l++) touches[k][l] = k == l || (random_number(seed) > 0.6 && (!upper || k < l));
    m->n = n;
    m->column[0] = 0;
    for (int j = 0, count = 0; j < n; j++) {
        for (int i = 0; i < n; i++)
            if (touches[body[i]][body[j]] || (!upper && i == (j + 1) % n)) m->row[count++] = i;
        m->column[j + 1] = count;
    }
    fill(m, seed);
    // diagonals that stay pivots
    for (int j = 0; j < n; j++)
        for (int k = m->column[j]; k < m->column[j + 1]; k++)
            if (m->row[k] == j) m->dense[j + n * j] = m->values[k] += m->values[k] < 0 ? -3 : 3;
}

// Columns of the same rows are solved, and get new values, together: all sizes of groups, several diagonal blocks.
static void test_groups(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int trial = 0; trial < 400; trial++) {
        block_pattern(&a, 1 + trial % LARGEST, trial % 3 == 0, &seed);
        kd_sparse_lu *lu = NULL;
        assert_int_equal(kd_sparse_lu_create(a.n, a.column, a.row, &lu), KD_OK);
        assert_int_equal(kd_sparse_lu_factor(lu, a.values), KD_OK);
        for (int step = 0; step < 3; step++) {
            // new values by the second factors, with the pivots of the first
            for (int j = 0; j < a.n && step > 0; j++)
                for (int k = a.column[j]; k < a.column[j + 1]; k++)
                    a.dense[a.row[k] + a.n * j] = a.values[k] *= 1 + 0.3 * random_number(&seed);
            assert_int_equal(kd_sparse_lu_factor(lu, a.values), KD_OK);
            double b[LARGEST], x[LARGEST];
            random_fill(a.n, b, &seed);
            memcpy(x, b, sizeof b);
            kd_sparse_lu_solve(lu, x, 1);
            assert_true(norm_error(a.n, a.dense, x, b) < 100);
        }
        assert_int_equal(kd_sparse_lu_full_factorizations(lu), 1);
        kd_sparse_lu_destroy(lu);
    }
}

// Kept pivots that became bad are replaced: [e 1; 1 e] after [1 e; e 1] is solved accurately, and so is e = 0.
static void test_new_pivots(void **state)
{
    (void)state;
    const int     column[] = {0, 2, 4}, row[] = {0, 1, 0, 1};
    const double  tiny[] = {1e-14, 0};
    kd_sparse_lu *lu = NULL;
    assert_int_equal(kd_sparse_lu_create(2, column, row, &lu), KD_OK);
    for (int k = 0; k < 2; k++) {
        const double         e = tiny[k], first[] = {1, e, e, 1}, second[] = {e, 1, 1, e};
        const double complex zfirst[] = {1, e, e, 1}, zsecond[] = {e, I, I, e};
        double               x[] = {1, 2};
        double complex       z[] = {1, 2};
        assert_int_equal(kd_sparse_lu_factor(lu, first), KD_OK);
        assert_int_equal(kd_sparse_lu_factor_complex(lu, zfirst), KD_OK);
        const long full = kd_sparse_lu_full_factorizations(lu);
        assert_int_equal(kd_sparse_lu_factor(lu, second), KD_OK);
        assert_int_equal(kd_sparse_lu_factor_complex(lu, zsecond), KD_OK);
        assert_int_equal(kd_sparse_lu_full_factorizations(lu), full + 2);
        kd_sparse_lu_solve(lu, x, 1);
        kd_sparse_lu_solve_complex(lu, z, 1);
        assert_true(fabs(x[0] - 2) < 1e-12 && fabs(x[1] - 1) < 1e-12);
        assert_true(cabs(z[0] + 2 * I) < 1e-12 && cabs(z[1] + I) < 1e-12);
    }
    kd_sparse_lu_destroy(lu);
}

// Whatever matrix follows whatever other one, entries over five decades: the residual stays small.
static void test_unrelated_matrices(void **state)
{
    (void)state;
    uint64_t      seed = 5;
    kd_sparse_lu *lu = NULL;
    random_pattern(&a, 5, 1, &seed);
    assert_int_equal(kd_sparse_lu_create(a.n, a.column, a.row, &lu), KD_OK);
    enum { TRIALS = 2000 };
    for (int trial = 0; trial < TRIALS; trial++) {
        fill(&a, &seed);
        for (int j = 0; j < a.n; j++)
            for (int k = a.column[j]; k < a.column[j + 1]; k++) {
                const double factor = pow(10, -2.5 * (1 + random_number(&seed)));
                a.dense[a.row[k] + a.n * j] = a.values[k] *= factor;
                a.dense_complex[a.row[k] + a.n * j] = a.values_complex[k] *= factor;
            }
        assert_int_equal(kd_sparse_lu_factor(lu, a.values), KD_OK);
        assert_int_equal(kd_sparse_lu_factor_complex(lu, a.values_complex), KD_OK);
        // pivots that are kept cost digits: of 80,000 solutions the median is 0.02, 99.9 % are below 360, the largest is 9700 (9200
        // with KLU's own new factors)
        check_solve(lu, &a, 20000, &seed);
    }
    assert_true(kd_sparse_lu_full_factorizations(lu) < 2 * TRIALS);
    kd_sparse_lu_destroy(lu);
}

// Singular values, singular patterns, NaN: reported; the same object works again with a regular matrix.
static void test_singular(void **state)
{
    (void)state;
    uint64_t seed = 3;
    random_pattern(&a, 12, 0.3, &seed);
    kd_sparse_lu *lu = NULL;
    assert_int_equal(kd_sparse_lu_create(a.n, a.column, a.row, &lu), KD_OK);
    static const double bad[] = {0, NAN, INFINITY};
    for (int k = 0; k < 6; k++) {
        double         values[SIZE];
        double complex values_complex[SIZE];
        for (int step = 0; step < 2;
             step++) { // first call chooses pivots, second one starts from the pivots of a good one
            memcpy(values, a.values, sizeof values);
            memcpy(values_complex, a.values_complex, sizeof values_complex);
            for (int i = a.column[5]; i < (k < 3 ? a.column[6] : a.column[5] + 1); i++)
                values_complex[i] = values[i] = bad[k % 3];
            if (k == 3) break; // one explicit zero is legal
            assert_int_equal(kd_sparse_lu_factor(lu, values), KD_ERR_DECOMPOSITION);
            assert_true(kd_sparse_lu_rcond(lu) == 0);
            assert_int_equal(kd_sparse_lu_factor_complex(lu, values_complex), KD_ERR_DECOMPOSITION);
            assert_int_equal(kd_sparse_lu_factor(lu, a.values), KD_OK);
            assert_int_equal(kd_sparse_lu_factor_complex(lu, a.values_complex), KD_OK);
            check_solve(lu, &a, 100, &seed);
        }
    }
    kd_sparse_lu_destroy(lu);

    const int    column[] = {0, 1, 2, 2}, row[] = {0, 1}; // column 2 is empty
    const double values[] = {1, 1};
    assert_int_equal(kd_sparse_lu_create(3, column, row, &lu), KD_OK);
    assert_int_equal(kd_sparse_lu_factor(lu, values), KD_ERR_DECOMPOSITION);
    kd_sparse_lu_destroy(lu);
}

// Patterns that are none are refused: rows out of range or twice, columns out of order, missing arrays.
static void test_bad_pattern(void **state)
{
    (void)state;
    static const int column[][3] = {{0, 1, 2}, {0, 1, 2}, {0, 2, 2}, {1, 1, 2}, {0, 2, 1}};
    static const int row[][2] = {{0, 2}, {-1, 1}, {1, 1}, {0, 1}, {0, 1}};
    kd_sparse_lu    *lu = NULL;
    for (int k = 0; k < 5; k++) {
        assert_int_equal(kd_sparse_lu_create(2, column[k], row[k], &lu), KD_ERR_ARGUMENT);
        assert_null(lu);
    }
    assert_int_equal(kd_sparse_lu_create(2, NULL, NULL, &lu), KD_ERR_ARGUMENT);
    assert_int_equal(kd_sparse_lu_create(-1, column[0], row[0], &lu), KD_ERR_ARGUMENT);
    assert_int_equal(kd_sparse_lu_create(0, NULL, NULL, &lu), KD_OK);
    assert_int_equal(kd_sparse_lu_factor(lu, NULL), KD_OK);
    kd_sparse_lu_solve(lu, NULL, 1);
    kd_sparse_lu_destroy(lu);
}

// Each allocation failing once: KD_ERR_MEMORY, nothing leaks, and the next factor call succeeds.
static void test_allocation_failure(void **state)
{
    (void)state;
    uint64_t seed = 4;
    random_pattern(&a, 20, 0.15, &seed);
    bool failed = true;
    for (long fail_at = 1; failed; fail_at++) {
        failing_allocator f = {.fail_at = fail_at};
        failing_allocator_use(&f);
        kd_sparse_lu *lu = NULL;
        kd_status     status = kd_sparse_lu_create(a.n, a.column, a.row, &lu);
        assert_true((status == KD_OK) == (lu != NULL));
        if (status == KD_OK) {
            status = kd_sparse_lu_factor(lu, a.values);
            if (status == KD_OK) status = kd_sparse_lu_factor_complex(lu, a.values_complex);
            assert_int_equal(kd_sparse_lu_factor(lu, a.values), KD_OK);
            assert_int_equal(kd_sparse_lu_factor_complex(lu, a.values_complex), KD_OK);
            check_solve(lu, &a, 100, &seed);
        }
        kd_sparse_lu_destroy(lu);
        assert_int_equal(f.live, 0);
        failed = f.calls >= fail_at;
        assert_int_equal(status, failed ? KD_ERR_MEMORY : KD_OK);
        kd_set_allocator(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solve),       cmocka_unit_test(test_refactor),           cmocka_unit_test(test_groups),
        cmocka_unit_test(test_new_pivots),  cmocka_unit_test(test_unrelated_matrices), cmocka_unit_test(test_singular),
        cmocka_unit_test(test_bad_pattern), cmocka_unit_test(test_allocation_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
