// Point 2: a slider-crank whose rods are equal up to 1e-3: where the piston passes the shaft, forces act on a short way. Reference: the
// reduced equation J(q) q'' + J'(q) q'^2 / 2 = Q, integrated by an extrapolation of order 10 without kardan.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <math.h>
#include <string.h>

static const char model[] =
    "kardan: 1\n"
    "gravity: [0, -0, 0]\n"
    "bodies:\n"
    "  crank: {position: [0.58987990476401697, -0.58527740698940489, 0], orientation: {axis: [0, 0, 1], "
    "angle: -0.78148168838910026}, mass: 1.2544688343939876, inertia: [0.0028874023237517869, "
    "0.28874023237517871, 0.28874023237517871]}\n"
    "  rod: {position: [1.7700925829194682, -0.58527740698940489, 0], orientation: {axis: [0, 0, 1], angle: "
    "0.78109798351993309}, mass: 1.815337248714161, inertia: [0.0041815835240563912, 0.41815835240563914, "
    "0.41815835240563914]}\n"
    "  piston: {position: [2.3604253563109023, 0, 0], mass: 2.4404863116206843, inertia: "
    "[0.67407007530757346, 0.67407007530757346, 0.67407007530757346]}\n"
    "joints:\n"
    "  a: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1], v: "
    "3.4824428158550886, hold: true}\n"
    "  b: {type: revolute, bodies: [crank, rod], point: [1.1797598095280339, -1.1705548139788098, 0], axis: "
    "[0, 0, 1]}\n"
    "  c: {type: revolute, bodies: [rod, piston], point: [2.3604253563109023, 0, 0], axis: [0, 0, 1]}\n"
    "  slide: {type: prismatic, bodies: [ground, piston], point: [0, 0, 0], axis: [1, 0, 0]}\n";

#define T_END 3.0267481349155894
static const double right[2] = {-0.72092041373572335, 0.41325742853064457}; // middle of the crank
#define SIZE 3.32                                                           // of the mechanism

// The distance from the reference in tolerances
static double error_of(kd_integrator_kind integrator, double tol)
{
    char                  message[400] = "";
    kd_model             *m;
    kd_system            *system;
    kd_state             *x;
    kd_poses             *poses;
    double                pose[7 * 3];
    kd_simulation_options o = kd_simulation_options_default();
    assert_true(kd_model_read_text("near", model, strlen(model), NULL, 0, &m, message, sizeof message) >= 0);
    assert_true(kd_system_create(m, NULL, &system, message, sizeof message) >= 0);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    o.formulation = KD_STATESPACE;
    o.integrator = integrator;
    o.rtol = o.atol = tol;
    if (kd_simulate(kd_system_eom(system), kd_system_inputs(system), &o, x, T_END, NULL, message, sizeof message) < 0)
        fail_msg("%s", message);
    assert_int_equal(kd_poses_create(system, &poses), KD_OK);
    assert_int_equal(kd_poses_at(poses, x, pose), KD_EVAL_OK);
    const double off = hypot(pose[0] - right[0], pose[1] - right[1]);
    kd_poses_destroy(poses);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(m);
    return off / (tol * (1 + SIZE));
}

// Errors of all steps together stay well below 1000 tolerances; cvode had 776 to 2491.
static void errors_stay_small(void **state)
{
    (void)state;
    const kd_integrator_kind kinds[] = {KD_CVODE, KD_BDF, KD_RADAU, KD_SDIRK};
    for (int k = 0; k < 4; k++) {
        if (!kd_integrator_about(kinds[k], NULL)->available) continue;
        for (double tol = 1e-6; tol > 0.5e-9; tol *= 0.1) {
            const double error = error_of(kinds[k], tol);
            print_message("%s %g: %.0f tolerances\n", kd_integrator_word(kinds[k]), tol, error);
            assert_true(error < 700);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors_stay_small)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
