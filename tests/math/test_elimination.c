// Elimination with pivots chosen once: against dense LU with pivoting, on saddle-point matrices of any pattern.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "math/elimination.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/failing_allocator.h"
#include "math/dense.h"
#include "math/matrices.h"

enum { MOST = 60, MOST_ENTRIES = MOST * MOST * 2 };

// A chain of bodies of six velocities with joints of five rows between neighbours, as in Cartesian coordinates; the
// ends hang on the ground by three rows each.
typedef struct saddle {
    int    n, count;
    int    block[MOST], row[MOST_ENTRIES], column[MOST_ENTRIES];
    double value[MOST_ENTRIES];
} saddle;

static void put(saddle *s, int row, int column, double value)
{
    s->row[s->count] = row;
    s->column[s->count] = column;
    s->value[s->count++] = value;
}

static void put_rows(saddle *s, int first, int rows, int body, double asymmetry, uint64_t *seed)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < 6; j++) {
            double g = random_number(seed);
            put(s, first + i, 6 * body + j, g);
            put(s, 6 * body + j, first + i, g + asymmetry * random_number(seed));
        }
}

static void make_chain(saddle *s, int bodies, double asymmetry, uint64_t seed)
{
    int row = 6 * bodies;
    *s = (saddle){0};
    for (int b = 0; b < bodies; b++)
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                put(s, 6 * b + i, 6 * b + j, (i == j ? 6.0 : 0.0) + 0.5 * random_number(&seed)); // definite
    for (int b = 0; b + 1 < bodies; b++, row += 5) {
        put_rows(s, row, 5, b, asymmetry, &seed);
        put_rows(s, row, 5, b + 1, asymmetry, &seed);
    }
    put_rows(s, row, 3, 0, asymmetry, &seed);
    s->n = row + 3;
    for (int i = 0; i < s->n; i++) s->block[i] = i < 6 * bodies ? i / 6 : -1;
}

static void dense_of(const saddle *s, double *A)
{
    memset(A, 0, (size_t)(s->n * s->n) * sizeof *A);
    for (int k = 0; k < s->count; k++) A[s->column[k] * s->n + s->row[k]] += s->value[k];
}

static kd_elimination *start(const saddle *s, int *slot)
{
    kd_elimination *lu;
    int             bad;
    assert_int_equal(
        kd_elimination_create(s->n, s->block, &(kd_entries){s->count, s->row, s->column, s->value}, slot, &lu, &bad),
        KD_OK);
    assert_int_equal(bad, -1);
    return lu;
}

static int fill_and_factor(kd_elimination *lu, const saddle *s, const int *slot)
{
    double *values = kd_elimination_clear(lu);
    for (int k = 0; k < s->count; k++) values[slot[k]] += s->value[k];
    return kd_elimination_factor(lu, NULL);
}

static double difference_to_dense(kd_elimination *lu, const saddle *s, uint64_t *seed)
{
    double *A = malloc((size_t)(s->n * s->n) * sizeof *A), b[MOST], x[MOST], most = 0.0, size = 0.0;
    int     pivot[MOST];
    random_fill(s->n, b, seed);
    memcpy(x, b, sizeof x);
    kd_elimination_solve(lu, x);
    dense_of(s, A);
    assert_int_equal(kd_lu_factor(s->n, A, pivot), 0);
    kd_lu_solve(s->n, A, pivot, b, 1);
    for (int i = 0; i < s->n; i++) {
        most = fmax(most, fabs(b[i] - x[i]));
        size = fmax(size, fabs(b[i]));
    }
    free(A);
    return most / size;
}

// A right-hand side that is eliminated on the way: the solution with the kept factors
static void on_the_way(kd_elimination *lu, const saddle *s, const int *slot, uint64_t *seed)
{
    double b[MOST], x[MOST];
    random_fill(s->n, b, seed);
    memcpy(x, b, sizeof x);
    kd_elimination_solve(lu, x);
    double *values = kd_elimination_clear(lu);
    for (int e = 0; e < s->count; e++) values[slot[e]] += s->value[e];
    assert_int_equal(kd_elimination_factor(lu, b), -1);
    for (int i = 0; i < s->n; i++) assert_true(fabs(b[i] - x[i]) < 1e-10 * (1 + fabs(x[i])));
}

// Right-hand sides that are zero beside some unknowns: bit for bit the solution that looks at all of them, whichever these are
static void for_marked(kd_elimination *lu, const saddle *s, uint64_t *seed)
{
    for (int first = 0; first < s->n; first++) {
        bool   marked[MOST];
        double b[MOST], x[MOST];
        random_fill(s->n, b, seed);
        for (int i = 0; i < s->n; i++) {
            marked[i] = i == first || i == first + 7;
            b[i] = marked[i] ? b[i] : 0.0;
        }
        memcpy(x, b, sizeof x);
        kd_elimination_mark(lu, marked);
        kd_elimination_solve(lu, x);
        kd_elimination_solve_marked(lu, b);
        for (int i = 0; i < s->n; i++) assert_true(b[i] == x[i]);
    }
}

// Chains of one to five bodies, values symmetric or not: the solutions of LU with pivoting.
static void as_dense(void **state)
{
    (void)state;
    saddle  *s = malloc(sizeof *s);
    int     *slot = malloc(MOST_ENTRIES * sizeof *slot);
    uint64_t seed = 7;
    for (int bodies = 1; bodies <= 5; bodies++)
        for (int k = 0; k < 6; k++) {
            make_chain(s, bodies, k % 2 ? 0.1 : 0.0, (uint64_t)(100 * bodies + k));
            kd_elimination *lu = start(s, slot);
            assert_int_equal(fill_and_factor(lu, s, slot), -1);
            assert_true(difference_to_dense(lu, s, &seed) < 1e-9);
            for_marked(lu, s, &seed);
            on_the_way(lu, s, slot, &seed);
            assert_true(difference_to_dense(lu, s, &seed) < 1e-9);
            for_marked(lu, s, &seed);
            kd_elimination_destroy(lu);
        }
    free(slot);
    free(s);
}

// The order of one matrix serves others of the same pattern, and the work does not change.
static void order_serves_other_numbers(void **state)
{
    (void)state;
    saddle  *s = malloc(sizeof *s);
    int     *slot = malloc(MOST_ENTRIES * sizeof *slot);
    uint64_t seed = 3;
    make_chain(s, 4, 0.0, 1);
    kd_elimination     *lu = start(s, slot);
    kd_elimination_size size = kd_elimination_size_of(lu);
    for (int k = 2; k < 12; k++) {
        make_chain(s, 4, 0.05, (uint64_t)k);
        assert_int_equal(fill_and_factor(lu, s, slot), -1);
        assert_true(difference_to_dense(lu, s, &seed) < 1e-8);
        assert_int_equal(kd_elimination_size_of(lu).factor, size.factor);
    }
    kd_elimination_destroy(lu);
    free(slot);
    free(s);
}

// A joint is eliminated after one of its bodies: work grows linearly with the length of a chain.
static void chains_are_linear(void **state)
{
    (void)state;
    saddle *s = malloc(sizeof *s);
    int    *slot = malloc(MOST_ENTRIES * sizeof *slot);
    long    work[6];
    for (int bodies = 1; bodies <= 5; bodies++) {
        make_chain(s, bodies, 0.0, 5);
        kd_elimination *lu = start(s, slot);
        work[bodies] = kd_elimination_size_of(lu).factor;
        kd_elimination_destroy(lu);
    }
    assert_true(work[5] - work[4] < 1.3 * (double)(work[3] - work[2]));
    free(slot);
    free(s);
}

// A trunk of six velocities and branches of five with two rows each; branch b is seen by all of the trunk, or (apart) by all
// but its velocity b.
static void make_star(saddle *s, int branches, bool apart, double asymmetry, uint64_t seed)
{
    const int trunk = 6, own = 5, rows = 2;
    *s = (saddle){.n = trunk + branches * (own + rows)};
    for (int i = 0; i < s->n; i++)
        s->block[i] = i < trunk ? 0 : (i - trunk) / own < branches ? 1 + (i - trunk) / own : -1;
    for (int i = 0; i < trunk; i++)
        for (int j = 0; j < trunk; j++) put(s, i, j, (i == j ? 9.0 : 0.0) + 0.5 * random_number(&seed));
    for (int b = 0, first = trunk, row = trunk + own * branches; b < branches; b++, first += own, row += rows) {
        for (int i = 0; i < own; i++)
            for (int j = 0; j < own; j++)
                put(s, first + i, first + j, (i == j ? 6.0 : 0.0) + 0.5 * random_number(&seed));
        for (int i = 0; i < own; i++)
            for (int j = 0; j < trunk; j++) {
                if (apart && j == b) continue;
                put(s, first + i, j, 0.3 * random_number(&seed));
                put(s, j, first + i, 0.3 * random_number(&seed));
            }
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < own; j++) {
                double g = random_number(&seed);
                put(s, row + i, first + j, g);
                put(s, first + j, row + i, g + asymmetry * random_number(&seed));
            }
    }
}

// Four branches of one shape share vectors, further ones are eliminated alone: the solutions of LU with pivoting, be their borders
// the same or not; factors that were put away and back are the same.
static void branches_side_by_side(void **state)
{
    (void)state;
    saddle  *s = malloc(sizeof *s);
    int     *slot = malloc(MOST_ENTRIES * sizeof *slot);
    uint64_t seed = 11;
    for (int branches = 3; branches <= 5; branches++)
        for (int k = 0; k < 8; k++) {
            make_star(s, branches, k % 4 > 1, k % 2 ? 0.1 : 0.0, (uint64_t)(10 * branches + k));
            kd_elimination *lu = start(s, slot);
            assert_int_equal(kd_elimination_size_of(lu).side_by_side, branches < 4 ? 0 : 4);
            assert_int_equal(fill_and_factor(lu, s, slot), -1);
            assert_true(difference_to_dense(lu, s, &seed) < 1e-9);
            for_marked(lu, s, &seed);
            on_the_way(lu, s, slot, &seed);
            // away, others, and back
            double *kept = malloc(kd_elimination_numbers(lu) * sizeof *kept);
            kd_elimination_keep(lu, kept);
            saddle *other = malloc(sizeof *other);
            make_star(other, branches, k % 4 > 1, 0.05, 99);
            assert_int_equal(fill_and_factor(lu, other, slot), -1);
            assert_true(difference_to_dense(lu, other, &seed) < 1e-8);
            kd_elimination_put_back(lu, kept);
            assert_true(difference_to_dense(lu, s, &seed) < 1e-9);
            for_marked(lu, s, &seed);
            free(other);
            free(kept);
            kd_elimination_destroy(lu);
        }
    free(slot);
    free(s);
}

// A vanished pivot of a branch that shares vectors is named
static void lost_pivots_side_by_side(void **state)
{
    (void)state;
    saddle *s = malloc(sizeof *s);
    int    *slot = malloc(MOST_ENTRIES * sizeof *slot);
    make_star(s, 4, false, 0.0, 5);
    kd_elimination *lu = start(s, slot);
    for (int b = 0; b < 4; b++) {
        const int row = 6 + 5 * 4 + 2 * b; // its first row of C becomes its second one
        double   *values = kd_elimination_clear(lu);
        for (int k = 0; k < s->count; k++) {
            double value = s->value[k];
            for (int e = 0; e < s->count; e++) {
                if (s->row[k] == row && s->row[e] == row + 1 && s->column[e] == s->column[k]) value = s->value[e];
                if (s->column[k] == row && s->column[e] == row + 1 && s->row[e] == s->row[k]) value = s->value[e];
            }
            values[slot[k]] += value;
        }
        const int bad = kd_elimination_factor(lu, NULL);
        assert_true(bad == row || bad == row + 1);
    }
    kd_elimination_destroy(lu);
    free(slot);
    free(s);
}

// Dependent rows are found at creation, and named; a pivot that vanishes later is named by the factorisation.
static void lost_pivots_are_named(void **state)
{
    (void)state;
    // M = I of order 2, two rows along the same direction
    const int       row[] = {0, 1, 2, 0, 3, 0, 2, 3}, column[] = {0, 1, 0, 2, 0, 3, 2, 3}, block[] = {0, 1, -1, -1};
    const double    value[] = {1, 1, 1, 1, 2, 2, 0, 0};
    int             slot[8], bad;
    kd_elimination *lu;
    assert_int_equal(kd_elimination_create(4, block, &(kd_entries){8, row, column, value}, slot, &lu, &bad),
                     KD_ERR_DECOMPOSITION);
    assert_true(bad == 2 || bad == 3);
    assert_null(lu);

    assert_int_equal(kd_elimination_create(3, block, &(kd_entries){4, row, column, value}, slot, &lu, &bad), KD_OK);
    const double sound[] = {1, 1, 3, 3}, lost[] = {1, 1, 1e-8, 1e-8}, nan_[] = {NAN, 1, 1, 1};
    const struct {
        const double *value;
        int           bad;
    } cases[] = {{sound, -1}, {lost, 2}, {sound, -1}, {nan_, 0}, {sound, -1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double *values = kd_elimination_clear(lu);
        for (int k = 0; k < 4; k++) values[slot[k]] += cases[c].value[k];
        assert_int_equal(kd_elimination_factor(lu, NULL), cases[c].bad);
    }
    kd_elimination_destroy(lu);
}

// Every allocation may fail.
static void memory_may_end(void **state)
{
    (void)state;
    saddle *s = malloc(sizeof *s);
    int    *slot = malloc(MOST_ENTRIES * sizeof *slot);
    make_star(s, 4, false, 0.0, 5);
    for (long fail_at = 1;; fail_at++) {
        failing_allocator f = {.fail_at = fail_at};
        kd_elimination   *lu;
        int               bad;
        failing_allocator_use(&f);
        kd_status status = kd_elimination_create(s->n, s->block, &(kd_entries){s->count, s->row, s->column, s->value},
                                                 slot, &lu, &bad);
        kd_elimination_destroy(lu);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        if (f.calls < fail_at) {
            assert_int_equal(status, KD_OK);
            break;
        }
        assert_int_equal(status, KD_ERR_MEMORY);
    }
    free(slot);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_dense),
        cmocka_unit_test(order_serves_other_numbers),
        cmocka_unit_test(chains_are_linear),
        cmocka_unit_test(lost_pivots_are_named),
        cmocka_unit_test(memory_may_end),
        cmocka_unit_test(branches_side_by_side),
        cmocka_unit_test(lost_pivots_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
