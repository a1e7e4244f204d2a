// tests/system/test_matrix.c: sparse assembly by recorded places against a dense sum.
#include "tree/random_tree.h"

#include "core/failing_allocator.h"
#include "system/matrix.h"

enum { ROWS = 7, COLUMNS = 9, MOST = 200 };

typedef struct addition {
    int    row, column;
    double value;
} addition;

static void assemble(kd_matrix_values *m, int n, const addition *a)
{
    kd_matrix_start(m);
    for (int k = 0; k < n; k++) kd_matrix_add(m, a[k].row, a[k].column, a[k].value);
}

// Whatever is added in whatever order, places met twice among them: the sum is that of a dense matrix, twice.
static void test_sum(void **state)
{
    uint64_t seed = 3;
    (void)state;
    for (int n = 0; n < MOST; n += 7) {
        static addition  a[MOST];
        double           dense[ROWS * COLUMNS] = {0}, sparse[ROWS * COLUMNS];
        kd_arena         arena = {0};
        kd_matrix_plan   plan = {.rows = ROWS, .columns = COLUMNS};
        kd_matrix_values m = {.plan = &plan, .recording = true};
        for (int k = 0; k < n; k++)
            a[k] = (addition){random_below(ROWS, &seed), random_below(COLUMNS, &seed), random_number(&seed)};
        assemble(&m, n, a);
        assert_int_equal(kd_matrix_plan_make(&plan, &m, &arena), KD_OK);
        assert_int_equal(plan.nplaces, n);
        for (int j = 0; j < COLUMNS; j++)
            for (int k = plan.column[j] + 1; k < plan.column[j + 1]; k++) assert_true(plan.row[k] > plan.row[k - 1]);
        m = (kd_matrix_values){.plan = &plan, .value = kd_cut_double(&arena, plan.column[COLUMNS])};
        for (int round = 1; round <= 2; round++) {
            memset(dense, 0, sizeof dense);
            memset(sparse, 0, sizeof sparse);
            for (int k = 0; k < n; k++) a[k].value *= round, dense[a[k].row + a[k].column * ROWS] += a[k].value;
            assemble(&m, n, a);
            kd_matrix_add_dense(&m, sparse);
            assert_close(ROWS * COLUMNS, sparse, dense, 1e-15);
        }
        kd_arena_release(&arena);
    }
}

// Within a larger pattern, here a full one: the same sum; a place outside of it is refused.
static void test_within(void **state)
{
    uint64_t        seed = 8;
    static addition a[MOST];
    double          dense[ROWS * COLUMNS] = {0}, sparse[ROWS * COLUMNS] = {0}, value[ROWS * COLUMNS];
    int             column[COLUMNS + 1], row[ROWS * COLUMNS];
    kd_arena        arena = {0};
    (void)state;
    for (int k = 0; k < ROWS * COLUMNS; k++) row[k] = k % ROWS;
    for (int j = 0; j <= COLUMNS; j++) column[j] = j * ROWS;
    for (int k = 0; k < MOST; k++) {
        a[k] = (addition){random_below(ROWS, &seed), random_below(COLUMNS, &seed), random_number(&seed)};
        dense[a[k].row + a[k].column * ROWS] += a[k].value;
    }
    kd_matrix_plan   plan = {.rows = ROWS, .columns = COLUMNS};
    kd_matrix_values m = {.plan = &plan, .recording = true};
    assemble(&m, MOST, a);
    assert_int_equal(kd_matrix_plan_within(&plan, &m, column, row, &arena), KD_OK);
    m = (kd_matrix_values){.plan = &plan, .value = value};
    assemble(&m, MOST, a);
    kd_matrix_add_dense(&m, sparse);
    assert_close(ROWS * COLUMNS, sparse, dense, 1e-15);
    // the last row of every column is missing
    for (int k = 0; k < ROWS * COLUMNS; k++) row[k] = k % (ROWS - 1);
    for (int j = 0; j <= COLUMNS; j++) column[j] = j * (ROWS - 1);
    m = (kd_matrix_values){.plan = &plan, .recording = true};
    assemble(&m, MOST, a);
    assert_int_equal(kd_matrix_plan_within(&plan, &m, column, row, &arena), KD_ERR_ARGUMENT);
    kd_arena_release(&arena);
}

// Without memory no plan is made, and nothing is left behind.
static void test_memory(void **state)
{
    kd_status status = KD_ERR_MEMORY;
    (void)state;
    for (long n = 1; status != KD_OK; n++) {
        failing_allocator f = {.fail_at = n};
        kd_arena          arena = {0};
        kd_matrix_plan    plan = {.rows = ROWS, .columns = COLUMNS};
        kd_matrix_values  m = {.plan = &plan, .recording = true};
        failing_allocator_use(&f);
        for (int k = 0; k < 150; k++) kd_matrix_add(&m, k % ROWS, k % COLUMNS, 1.0);
        status = kd_matrix_plan_make(&plan, &m, &arena);
        kd_arena_release(&arena);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        assert_true(status == KD_ERR_MEMORY || f.calls < n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_within),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
