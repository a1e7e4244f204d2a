// Factors of large symmetric matrices: every library solves the same equations and counts the negative eigenvalues that a closed form
// has; singular matrices are refused.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include <cmocka.h>

#include "core/pi.h"
#include "flexible/factor_class.h"

typedef kd_status (*maker)(const kd_sparse_matrix *A, kd_factor **factor);

static const struct library {
    const char *name;
    maker       make;
    bool        knows_signs;
} LIBRARIES[] = {{"MUMPS", kd_factor_by_mumps, true},
                 {"CHOLMOD", kd_factor_by_cholmod, true},
                 {"KLU", kd_factor_by_klu, false},
                 {"the choice", kd_factor_create, true}};
enum { COUNT = sizeof LIBRARIES / sizeof *LIBRARIES };

// Springs between the points of a grid of side^3 and from its outer points to the ground, less a shift: eigenvalues are
// sum 2 - 2 cos(k pi/(side + 1)) - shift
static kd_sparse_matrix grid(int side, double shift, kd_arena *arena)
{
    const int        n = side * side * side, most = 7 * n, step[3] = {1, side, side * side};
    int             *row = kd_cut_int(arena, most), *column = kd_cut_int(arena, most), count = 0;
    double          *value = kd_cut_double(arena, most);
    kd_sparse_matrix A;
    assert_true(row && column && value);
    for (int i = 0; i < n; i++) {
        row[count] = column[count] = i, value[count++] = 6 - shift;
        for (int d = 0; d < 3; d++)
            if (i / step[d] % side + 1 < side)
                for (int k = 0; k < 2; k++) {
                    row[count] = k ? i : i + step[d], column[count] = k ? i + step[d] : i;
                    value[count++] = -1;
                }
    }
    assert_int_equal(kd_sparse_of_entries(n, n, count, row, column, value, arena, &A), KD_OK);
    return A;
}

static double eigenvalue(int side, int k)
{
    return 2 - 2 * cos(k * KD_PI / (side + 1));
}

static int negative_of(int side, double shift)
{
    int count = 0;
    for (int i = 1; i <= side; i++)
        for (int j = 1; j <= side; j++)
            for (int k = 1; k <= side; k++)
                count += eigenvalue(side, i) + eigenvalue(side, j) + eigenvalue(side, k) < shift;
    return count;
}

// A X = B for three columns, known X
static void must_solve(const struct library *l, int side, double shift)
{
    kd_arena               arena = {0};
    const kd_sparse_matrix A = grid(side, shift, &arena);
    const int              n = A.rows;
    kd_factor             *factor = NULL;
    double                *X = kd_cut_matrix(&arena, n, 3), *B = kd_cut_matrix(&arena, n, 3);
    const kd_status        status = l->make(&A, &factor);
    if (status == KD_ERR_UNAVAILABLE) {
        print_message("%s is not there: not tried\n", l->name);
        kd_arena_release(&arena);
        return;
    }
    assert_int_equal(status, KD_OK);
    for (int i = 0; i < 3 * n; i++) X[i] = sin(1 + 0.7 * i);
    kd_sparse_apply(&A, 3, X, B);
    assert_int_equal(kd_factor_solve(factor, B, 3), KD_OK);
    for (int i = 0; i < 3 * n; i++)
        if (!(fabs(B[i] - X[i]) < 1e-9)) fail_msg("%s, side %d: %g instead of %g", l->name, side, B[i], X[i]);
    const int negative = kd_factor_negative(factor), exact = negative_of(side, shift);
    if (negative != exact && (l->knows_signs || negative != -1) && !(l->make == kd_factor_create && negative == -1))
        fail_msg("%s, side %d, shift %g: %d negative, not %d", l->name, side, shift, negative, exact);
    kd_factor_destroy(factor);
    kd_arena_release(&arena);
}

// Definite and indefinite grids, small ones and one beyond the size at which the choice changes.
static void all_libraries_solve_and_count(void **state)
{
    (void)state;
    static const int    side[] = {1, 2, 5, 9, 14};
    static const double shift[] = {0, 0.3, 2.01, 7.77, 13};
    for (int l = 0; l < COUNT; l++)
        for (size_t i = 0; i < sizeof side / sizeof *side; i++)
            for (size_t k = 0; k < sizeof shift / sizeof *shift; k++) must_solve(&LIBRARIES[l], side[i], shift[k]);
}

// A zero row is refused as singular, the empty matrix has nothing to solve, and nothing is destroyed without complaint.
static void singular_and_empty(void **state)
{
    (void)state;
    for (int l = 0; l < COUNT; l++) {
        kd_arena         arena = {0};
        kd_factor       *factor = NULL;
        kd_sparse_matrix A = grid(3, 0, &arena);
        for (int j = 0; j < A.columns; j++)
            for (int k = A.column[j]; k < A.column[j + 1]; k++)
                if (j == 13 || A.row[k] == 13) A.value[k] = 0;
        const kd_status status = LIBRARIES[l].make(&A, &factor);
        if (status != KD_ERR_UNAVAILABLE && status != KD_ERR_DECOMPOSITION)
            fail_msg("%s answers %d", LIBRARIES[l].name, status);
        assert_null(factor);
        kd_arena_release(&arena);
    }
    kd_factor       *factor = NULL;
    int              none[1] = {0};
    kd_sparse_matrix empty = {0, 0, none, NULL, NULL};
    assert_int_equal(kd_factor_create(&empty, &factor), KD_OK);
    assert_int_equal(kd_factor_solve(factor, NULL, 3), KD_OK);
    assert_int_equal(kd_factor_negative(factor), 0);
    kd_factor_destroy(factor);
    kd_factor_destroy(NULL);
}

static int solve_often(void *library)
{
    for (int i = 0; i < 6; i++) must_solve(library, 6 + i % 3, i % 2 ? 2.01 : 0);
    return 0;
}

// Two threads with factors of their own do not disturb each other.
static void threads_have_factors_of_their_own(void **state)
{
    (void)state;
    thrd_t thread[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(thrd_create(&thread[i], solve_often, (void *)&LIBRARIES[0]), thrd_success);
    for (int i = 0; i < 2; i++) assert_int_equal(thrd_join(thread[i], NULL), thrd_success);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_libraries_solve_and_count),
                                       cmocka_unit_test(singular_and_empty),
                                       cmocka_unit_test(threads_have_factors_of_their_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
