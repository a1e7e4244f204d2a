// The stiff part of the residual's derivatives: what the loads marked stiff give, and nothing else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include <kardan/kardan.h>

static const char text[] =
    "kardan: 1\n"
    "bodies:\n"
    "  a: {mass: 1, inertia: [0.1, 0.2, 0.2], position: [0.5, 0, 0]}\n"
    "  b: {mass: 2, inertia: [0.1, 0.2, 0.2], position: [1.5, 0, 0]}\n"
    "joints:\n"
    "  one: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 1, 0], q: 0.3, v: 1}\n"
    "  two: {type: revolute, bodies: [a, b], point: [1, 0, 0], axis: [0, 1, 0], q: 0.2, v: -2}\n"
    "forces:\n"
    "  soft: {type: joint_spring, joint: one, stiffness: 3, damping: 0.5, stiff: false}\n"
    "  hard: {type: joint_spring, joint: two, stiffness: 700, damping: 11}\n";

// With KD_PART_STIFF only the spring that is marked stiff is differentiated; with KD_PART_ALL, asked before and after,
// all is.
static void stiff_loads_only(void **unused)
{
    char       message[400];
    kd_model  *model;
    kd_system *system;
    (void)unused;
    assert_int_equal(kd_model_read_text("text", text, strlen(text), NULL, 0, &model, message, sizeof message), KD_OK);
    assert_int_equal(kd_system_create(model, NULL, &system, message, sizeof message), KD_OK);
    const kd_eom *eom = kd_system_eom(system);
    kd_state     *x;
    kd_eom_data  *data;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    assert_int_equal(kd_eom_data_create(eom, &data), KD_OK);
    kd_eom_at_time(data, 0.0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(data, x->p, NULL);
    kd_eom_at_velocity(data, x->v, NULL);
    kd_eom_at_acceleration(data, x->a, NULL, NULL, NULL);
    double    K[4], D[4], all[4], again[4];
    kd_blocks wanted = {0}, whole = {0};
    wanted.block[KD_RESIDUAL][KD_P] = K;
    wanted.block[KD_RESIDUAL][KD_V] = D;
    whole.block[KD_RESIDUAL][KD_P] = all;
    assert_int_equal(kd_eom_derivatives(data, KD_PART_ALL, &whole), KD_EVAL_OK);
    assert_int_equal(kd_eom_derivatives(data, KD_PART_STIFF, &wanted), KD_EVAL_OK);
    const double stiffness[4] = {0, 0, 0, 700}, damping[4] = {0, 0, 0, 11};
    for (int i = 0; i < 4; i++) {
        assert_true(fabs(K[i] - stiffness[i]) <= 1e-12 * (1 + fabs(stiffness[i])));
        assert_true(fabs(D[i] - damping[i]) <= 1e-12 * (1 + fabs(damping[i])));
    }
    whole.block[KD_RESIDUAL][KD_P] = again;
    assert_int_equal(kd_eom_derivatives(data, KD_PART_ALL, &whole), KD_EVAL_OK);
    assert_memory_equal(all, again, sizeof all);
    assert_true(fabs(all[0]) > 1.0); // gravity and the soft spring are in it
    kd_eom_data_destroy(data);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stiff_loads_only)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
