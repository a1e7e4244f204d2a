// tests/system/test_implicit.c: Newton steps of models along the tree (kd_eom_def.implicit_*) against the full matrices
// of the same equations, and against runs with a dense decomposition.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include <kardan/kardan.h>

// A chain of revolute, universal, cylindrical and prismatic joints on a moving base, with springs in joints and a
// bushing between neighbours; %s: further forces
#define CHAIN(more)                                                                                                    \
    "kardan: 1\n"                                                                                                      \
    "gravity: [0.3, -9.81, 0.2]\n"                                                                                     \
    "bodies:\n"                                                                                                        \
    "  base: {position: [0, 0, 0], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"                                               \
    "  a(i): {for: i = 1..6, position: [0.3*i, -(i - 1), 0], mass: 1, centre: [0, -0.5, 0.1], inertia: [0.2, 0.1, "    \
    "0.3]}\n"                                                                                                          \
    "  b(i): {for: i = 1..6, position: [0, -(i - 1), 0.4*i], mass: 2, centre: [0.2, -0.5, 0], inertia: [0.2, 0.2, "    \
    "0.1]}\n"                                                                                                          \
    "joints:\n"                                                                                                        \
    "  move: {type: prismatic, bodies: [ground, base], point: [0, 0, 0], axis: [1, 0, 0], motion: 0.1*sin(3*t)}\n"     \
    "  r(1): {type: revolute, bodies: [base, a(1)], point: [0, 0, 0], axis: [0, 1, 1], v: 0.4}\n"                      \
    "  r(i): {for: i = 2..6, type: revolute, bodies: [a(i-1), a(i)], point: [0.3*i, -(i - 1), 0], axis: [0, 0, 1], "   \
    "v: 0.3*i}\n"                                                                                                      \
    "  u(1): {type: universal, bodies: [a(2), b(1)], point: [0, 0, 0], axis: [1, 0, 0], reference: [0, 1, 0], v: "     \
    "[0.3, -0.2]}\n"                                                                                                   \
    "  u(i): {for: i = 2..3, type: universal, bodies: [b(i-1), b(i)], point: [0, -(i - 1), 0], axis: [1, 0, 0], "      \
    "reference: [0, 1, 0], v: [0.5, 0.1]}\n"                                                                           \
    "  c(i): {for: i = 4..6, type: cylindrical, bodies: [b(i-1), b(i)], point: [0, -(i - 1), 0], axis: [0, 1, 0], "    \
    "v: [0.1, 0.6]}\n"                                                                                                 \
    "forces:\n"                                                                                                        \
    "  k(i): {for: i = 1..6, type: joint_spring, joint: r(i), stiffness: 50, damping: 2}\n"                            \
    "  e(i): {for: i = 4..6, type: bushing, bodies: [b(i-1), b(i)], point: [0.1, -(i - 1), 0.2], "                     \
    "stiffness: [100, 200, 300, 10, 20, 30], damping: [1, 2, 3, 0.1, 0.2, 0.3]}\n"                                     \
    "  t(i): {for: i = 2..3, type: tsda, from: {body: b(i-1), point: [0.2, 0, 0]}, to: {body: b(i), point: [0.3, "     \
    "-0.4, 0.1]}, stiffness: 80, damping: 3, length: 0.5}\n" more

typedef struct subject {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_eom_data *data;
} subject;

static subject subject_of(const char *text)
{
    subject   s = {0};
    char      message[400] = "";
    kd_status status = kd_model_read_text("test", text, strlen(text), NULL, 0, &s.model, message, sizeof message);
    if (status >= 0) status = kd_system_create(s.model, NULL, &s.system, message, sizeof message);
    if (status < 0) fail_msg("%s", message);
    assert_true(kd_state_create(kd_system_eom(s.system), &s.x) >= 0);
    status = kd_system_start(s.system, s.x, message, sizeof message);
    if (status < 0) fail_msg("%s", message);
    assert_true(kd_eom_data_create(kd_system_eom(s.system), &s.data) >= 0);
    return s;
}

static void release(subject *s)
{
    kd_eom_data_destroy(s->data);
    kd_state_destroy(s->x);
    kd_system_destroy(s->system);
    kd_model_destroy(s->model);
}

// gamma dp - dv = rho,  M (gamma dv - r) + R_v dv + R_p dp = 0, with the blocks of kd_eom_derivatives
static void check_newton_step(subject *s, double gamma)
{
    const kd_eom *eom = kd_system_eom(s->system);
    const int     n = kd_eom_dims(eom).nv;
    double       *block[3], *y = malloc(4 * (size_t)n * sizeof *y), *rhs = y + 2 * n;
    kd_blocks     wanted = {0};
    for (int k = 0; k < 3; k++) block[k] = calloc((size_t)n * (size_t)n, sizeof(double));
    wanted.block[KD_RESIDUAL][KD_P] = block[0];
    wanted.block[KD_RESIDUAL][KD_V] = block[1];
    wanted.block[KD_RESIDUAL][KD_A] = block[2];
    const kd_inputs *inputs = kd_system_inputs(s->system);
    for (int i = 0; i < n; i++) s->x->a[i] = sin(7.0 * i);
    for (int i = 0; i < 2 * n; i++) y[i] = rhs[i] = cos(3.0 * i);
    assert_int_equal(kd_eom_at_state(s->data, inputs, s->x, KD_STAGE_ACCELERATION), KD_EVAL_OK);
    assert_true(kd_eom_implicit_reserve(s->data));
    assert_int_equal(kd_eom_implicit_set(s->data), KD_EVAL_OK);
    assert_true(kd_eom_implicit_factor(s->data, gamma, 0));
    kd_eom_implicit_solve(s->data, y, NULL);
    // derivatives afterwards: the elimination has its own copy, and leaves the others right
    assert_int_equal(kd_eom_derivatives(s->data, KD_PART_ALL, &wanted), KD_EVAL_OK);
    for (int i = 0; i < n; i++) {
        double sum = 0, size = 1;
        for (int j = 0; j < n; j++) {
            const double term[3] = {block[0][i + j * n] * y[j], block[1][i + j * n] * y[n + j],
                                    block[2][i + j * n] * (gamma * y[n + j] - rhs[n + j])};
            for (int k = 0; k < 3; k++) sum += term[k], size += fabs(term[k]);
        }
        if (!(fabs(sum) <= 1e-12 * size)) fail_msg("row %d: %g beside %g", i, sum, size);
        assert_true(fabs(gamma * y[i] - y[n + i] - rhs[i]) <= 1e-13 * (1 + fabs(gamma * y[i])));
    }
    for (int k = 0; k < 3; k++) free(block[k]);
    free(y);
}

// The elimination along the tree solves the system of the full matrices: all kinds of scalar joints, forces in joints
// and between neighbours, a prescribed base.
static void test_newton_step(void **state)
{
    (void)state;
    subject s = subject_of(CHAIN(""));
    check_newton_step(&s, 3);
    check_newton_step(&s, 400);
    release(&s);
}

// A force across several joints is not inside of one: such models have no elimination along the tree.
static void test_across_joints(void **state)
{
    (void)state;
    subject s = subject_of(CHAIN("  far: {type: tsda, from: base, to: b(6), stiffness: 5, length: 1}\n"));
    assert_null(kd_eom_definition(kd_system_eom(s.system))->implicit_set);
    assert_false(kd_eom_implicit_reserve(s.data));
    release(&s);
}

// largest distance of positions at the end of a run
static double run(const char *text, kd_integrator_kind integrator, bool qr, double *p, long *solves)
{
    subject               s = subject_of(text);
    char                  message[400] = "";
    kd_stats              stats = {0};
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_ODE;
    opt.integrator = integrator;
    opt.formulation_options.differential_qr = qr;
    opt.rtol = opt.atol = 1e-7;
    kd_status status = kd_simulate(kd_system_eom(s.system), kd_system_inputs(s.system), &opt, s.x, 0.3, &stats, message,
                                   sizeof message);
    if (status < 0) fail_msg("%s", message);
    double     most = 0;
    const int  np = kd_eom_dims(kd_system_eom(s.system)).np;
    const bool first = isnan(p[0]);
    for (int i = 0; i < np; i++) {
        if (!first) most = fmax(most, fabs(s.x->p[i] - p[i]));
        p[i] = s.x->p[i];
    }
    *solves = stats.solves;
    release(&s);
    return most;
}

// Runs along the tree (24 velocities and more) are those with a dense decomposition: same work, same motion.
static void test_runs(void **state)
{
    (void)state;
    static const char rope[] =
        "kardan: 1\ngravity: [0, 0, -9.81]\nbodies:\n"
        "  link(i): {for: i = 1..30, position: [0.1*(i - 1/2), 0, 0], mass: 0.05, inertia: [1e-6, 4e-5, "
        "4e-5]}\njoints:\n"
        "  hinge(1): {type: revolute, bodies: [ground, link(1)], point: [0, 0, 0], axis: [0, 1, 0]}\n"
        "  hinge(i): {for: i = 2..30, type: revolute, bodies: [link(i-1), link(i)], point: [0.1*(i - 1), 0, 0], "
        "axis: [0, 1, 0]}\nforces:\n"
        "  bend(i): {for: i = 1..30, type: joint_spring, joint: hinge(i), stiffness: 10, damping: 0.1}\n";
    const kd_integrator_kind method[] = {KD_RADAU, KD_BDF, KD_SDIRK};
    for (size_t k = 0; k < sizeof method / sizeof *method; k++) {
        double p[30] = {NAN};
        long   tree, dense;
        (void)run(rope, method[k], false, p, &tree);
        assert_true(run(rope, method[k], true, p, &dense) < 1e-7);
        assert_true(labs(tree - dense) <= 2 + tree / 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newton_step),
        cmocka_unit_test(test_across_joints),
        cmocka_unit_test(test_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
