// The state: one block, exact copies, active rows.
#include "systems.h"

// The arrays lie side by side in the order of the header; n and size count them.
static void test_layout(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.dims.nz = 3;
    kd_eom   *eom = make(&def);
    kd_state *x;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_int_equal(x->n, 2 + 2 + 1 + 1 + 0 + 1 + 0);
    assert_int_equal(x->size, 7 + 2 + 3);
    assert_ptr_equal(x->v, x->p + 2);
    assert_ptr_equal(x->r, x->v + 2);
    assert_ptr_equal(x->w, x->r + 1);
    assert_ptr_equal(x->s, x->w + 1);
    assert_ptr_equal(x->lambda, x->s);
    assert_ptr_equal(x->mu, x->lambda + 1);
    assert_ptr_equal(x->a, x->mu);
    assert_ptr_equal(x->z, x->a + 2);
    for (size_t i = 0; i < x->size; i++) assert_true(x->p[i] == 0.0);
    assert_int_equal(x->active_lambda[0], 1);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A copy is exact, NaN and flags included, and independent; copying the block restores a state.
static void test_copy(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.dims.nz = 2;
    kd_eom   *eom = make(&def);
    kd_state *x, *y;
    double    saved[32];
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_int_equal(kd_state_create(eom, &y), KD_OK);
    for (size_t i = 0; i < x->size; i++) x->p[i] = 1.0 / (double)(i + 3);
    x->z[1] = NAN;
    x->t = 0.1;
    x->active_lambda[0] = 0;
    kd_state_copy(x, y);
    assert_memory_equal(x->p, y->p, x->size * sizeof(double));
    assert_true(y->t == 0.1);
    assert_int_equal(y->active_lambda[0], 0);
    memcpy(saved, x->p, x->size * sizeof(double));
    x->lambda[0] = 5.0;
    assert_true(y->lambda[0] != 5.0);
    memcpy(x->p, saved, x->size * sizeof(double));
    assert_memory_equal(x->p, y->p, x->size * sizeof(double));
    kd_state_copy(x, x);
    kd_state_destroy(x);
    kd_state_destroy(y);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layout), cmocka_unit_test(test_copy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
