// Operation counts from the structure of a model.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

// A chain of n links on hinges or balls; `forces` is further text.
static kd_system *chain(int n, const char *joint, const char *forces, kd_model **model)
{
    static char text[20000];
    char        message[500] = "";
    kd_system  *system = NULL;
    size_t      at = (size_t)snprintf(text, sizeof text, "kardan: 1\nbodies:\n");
    for (int i = 1; i <= n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "  b%d: {mass: 1, inertia: [0.1, 0.1, 0.1], position: [%d, 0, 0]}\n", i, i);
    at += (size_t)snprintf(text + at, sizeof text - at, "joints:\n");
    for (int i = 1; i <= n; i++) {
        char parent[20] = "ground";
        if (i > 1) (void)snprintf(parent, sizeof parent, "b%d", i - 1);
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "  j%d: {type: %s, bodies: [%s, b%d], point: [%d, 0, 0], axis: [0, 1, 0]}\n", i, joint,
                               parent, i, i - 1);
    }
    (void)snprintf(text + at, sizeof text - at, "%s", forces);
    kd_status status = kd_model_read_text("chain", text, strlen(text), NULL, 0, model, message, sizeof message);
    if (status >= 0) status = kd_system_create(*model, NULL, &system, message, sizeof message);
    if (status < 0) fail_msg("%s", message);
    return system;
}

static kd_operations count(int n, const char *joint, const char *forces, kd_work_item item)
{
    kd_model     *model = NULL;
    kd_system    *system = chain(n, joint, forces, &model);
    kd_operations found = kd_system_operations(system, item);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return found;
}

// One body more on a chain adds the same to positions, velocities and forces, whatever its length; the mass matrix
// grows by rows of eleven operations per entry.
static void grows_with_bodies(void **state)
{
    (void)state;
    const kd_work_item linear[] = {KD_WORK_POSITION, KD_WORK_VELOCITY, KD_WORK_RESIDUAL};
    for (size_t k = 0; k < sizeof linear / sizeof *linear; k++) {
        long a = count(3, "revolute", "", linear[k]).operations, b = count(4, "revolute", "", linear[k]).operations;
        long c = count(20, "revolute", "", linear[k]).operations;
        assert_true(b > a);
        assert_int_equal(c - b, 16 * (b - a));
    }
    long m[3];
    for (int i = 0; i < 3; i++) m[i] = count(5 + i, "revolute", "", KD_WORK_MASS).operations;
    assert_int_equal((m[2] - m[1]) - (m[1] - m[0]), 2 * 11);
}

// A ball costs a product of matrices and a division more than a hinge, and no sine.
static void depends_on_joints(void **state)
{
    (void)state;
    kd_operations hinge = count(1, "revolute", "", KD_WORK_POSITION),
                  ball = count(1, "spherical", "", KD_WORK_POSITION);
    assert_true(ball.operations > hinge.operations);
    assert_int_equal(hinge.functions, 2);
    assert_int_equal(ball.functions, 1);
    assert_string_equal(hinge.name, "position");
}

// Forces count where they are evaluated, and in the stiff part only if they belong to it; constraints where there are
// loops.
static void depends_on_elements(void **state)
{
    (void)state;
    const char *spring =
        "forces:\n  s: {type: tsda, bodies: [ground, b2], stiffness: 3, points: [[0, 0, 1], [2, 0, 1]]}\n";
    const char *soft = "forces:\n  s: {type: tsda, bodies: [ground, b2], stiffness: 3, points: [[0, 0, 1], [2, 0, 1]], "
                       "stiff: false}\n";
    const char *loop = "constraints:\n  r: {type: distance, bodies: [ground, b3], points: [[0, 0, 1], [3, 0, 0]]}\n";
    long        bare = count(3, "revolute", "", KD_WORK_RESIDUAL).operations;
    assert_true(count(3, "revolute", spring, KD_WORK_RESIDUAL).operations > bare);
    assert_int_equal(count(3, "revolute", spring, KD_WORK_RESIDUAL).operations,
                     count(3, "revolute", soft, KD_WORK_RESIDUAL).operations);
    assert_int_equal(count(3, "revolute", soft, KD_WORK_STIFF).operations, 0);
    assert_true(count(3, "revolute", spring, KD_WORK_STIFF).operations > 0);
    assert_int_equal(count(3, "revolute", "", KD_WORK_GZ).operations, 0);
    assert_int_equal(count(3, "revolute", "", KD_WORK_CONSTRAINTS).operations, 0);
    assert_true(count(3, "revolute", loop, KD_WORK_GZ).operations > 0);
    assert_int_equal(count(3, "revolute", loop, KD_WORK_CONSTRAINTS).operations, 2);
    assert_int_equal(kd_system_operations(NULL, KD_WORK_MASS).operations, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(grows_with_bodies), cmocka_unit_test(depends_on_joints),
                                       cmocka_unit_test(depends_on_elements)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
