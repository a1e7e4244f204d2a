// rtol = atol = 1e-15 with every integrator: the run reaches its end with steps of a sensible size, by raising the
// tolerance, in words, where rounding allows no less.
#include "eom/systems.h" // cmocka
#include <kardan/kardan.h>

#include <string.h>

static const char swing[] = "kardan: 1\n"
                            "gravity: [0, -9.81, 0]\n"
                            "bodies:\n"
                            "  bob: {mass: 1.3, inertia: [0.02, 0.03, 0.02], position: [0.7, 0, 0]}\n"
                            "joints:\n"
                            "  pin: {type: revolute, bodies: [ground, bob], point: [0, 0, 0], axis: [0, 0, 1]}\n";

static const char four_bar[] =
    "kardan: 1\n"
    "gravity: [0, -9.81, 0]\n"
    "bodies:\n"
    "  crank: {mass: 1, inertia: [0.02, 0.03, 0.02], position: [0.25, 0, 0]}\n"
    "  rocker: {mass: 1.5, inertia: [0.01, 0.01, 0.01], position: [1.1, 0.4, 0]}\n"
    "joints:\n"
    "  pin: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1], v: 2}\n"
    "  pivot: {type: revolute, bodies: [ground, rocker], point: [1.1, 0, 0], axis: [0, 0, 1]}\n"
    "constraints:\n"
    "  rod: {type: distance, from: {body: crank, point: [0.25, 0, 0]}, to: {body: rocker, point: [0, 0.1, 0]}}\n";

typedef struct outcome {
    kd_status status;
    kd_stats  stats;
    double    p;
    char      message[800];
} outcome;

static outcome run(const char *text, kd_coordinates coordinates, kd_formulation form, kd_integrator_kind integrator,
                   double tolerance)
{
    outcome           out = {0};
    kd_model         *model;
    kd_system        *system;
    kd_state         *x;
    kd_system_options so = kd_system_options_default();
    so.coordinates = coordinates;
    assert_true(kd_model_read_text("model", text, strlen(text), NULL, 0, &model, out.message, 800) >= 0);
    assert_true(kd_system_create(model, &so, &system, out.message, 800) >= 0);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_true(kd_system_start(system, x, out.message, 800) >= 0);
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = form;
    opt.integrator = integrator;
    opt.rtol = opt.atol = tolerance;
    out.status = kd_simulate(kd_system_eom(system), NULL, &opt, x, 0.3, &out.stats, out.message, 800);
    out.p = x->p[0];
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return out;
}

static void every_integrator(void **state)
{
    (void)state;
    static const struct {
        kd_formulation     form;
        kd_integrator_kind integrator;
        bool               raised;
    } list[] = {
        {KD_PSF, KD_RADAU, false},
        {KD_PSF, KD_BDF, true},
        {KD_GGL, KD_BDF, true},
        {KD_PSF, KD_SDIRK, true},
        {KD_ODE, KD_DOPRI5, false},
        {KD_ODE, KD_DOP853, false},
        {KD_ODE, KD_HALF_EXPLICIT, false},
        {KD_ODE, KD_EXTRAPOLATION, false},
        {KD_GGL, KD_IDA, true},
        {KD_ODE, KD_CVODE, false},
        {KD_ODE, KD_ARKODE, false},
    };
    const char *const models[] = {swing, four_bar};
    for (int m = 0; m < 2; m++) {
        for (int c = 0; c < 2; c++) {
            kd_coordinates coordinates = c ? KD_CARTESIAN : KD_JOINT;
            outcome        right = run(models[m], coordinates, KD_PSF, KD_RADAU, 1e-12);
            for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
                if (!kd_integrator_about(list[i].integrator, NULL)->available) continue; // built without SUNDIALS
                outcome     out = run(models[m], coordinates, list[i].form, list[i].integrator, 1e-15);
                const char *name = kd_integrator_word(list[i].integrator);
                // rounding decides whether Newton's method of IDA takes its first steps; then it says so
                if (list[i].integrator == KD_IDA && out.status == KD_ERR_NEWTON && out.message[0]) continue;
                if (out.status < 0) fail_msg("model %d, %d, %s: %s", m, c, name, out.message);
                if (out.stats.steps > 30000) fail_msg("model %d, %d, %s: %ld steps", m, c, name, out.stats.steps);
                if (fabs(out.p - right.p) > 1e-8) fail_msg("model %d, %d, %s: error %.1e", m, c, name, out.p - right.p);
                if ((strstr(out.message, "is raised to 1e-1") != NULL) != list[i].raised)
                    fail_msg("model %d, %d, %s: message '%s'", m, c, name, out.message);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_integrator)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
