// IDA on stiff Cartesian models: what Newton's method leaves behind must not decide about order and error. Flyball
// governors of several stiffnesses and speeds, beside the tree in joint coordinates at a tight tolerance.
#include "case.h"
#include "trust/certified_run.h"

enum { SENSORS = 3, TRIALS = 3 }; // height, speed, lift

static kd_status run(const kd_setting *setting, kd_coordinates coordinates, kd_simulation_options opt, double *y,
                     kd_stats *stats)
{
    char              message[800] = "", path[400];
    kd_system_options so = kd_system_options_default();
    kd_model         *model;
    kd_system        *system;
    kd_state         *x;
    kd_eom_data      *data;
    double            all[16];
    snprintf(path, sizeof path, "%s/models/governor.yaml", KD_SOURCE_DIR);
    assert_true(kd_model_read(path, setting, 2, &model, message, sizeof message) >= 0);
    so.coordinates = coordinates;
    assert_true(kd_system_create(model, &so, &system, message, sizeof message) >= 0);
    const kd_eom *eom = kd_system_eom(system);
    assert_true(kd_state_create(eom, &x) >= 0);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    kd_status status = kd_simulate(eom, kd_system_inputs(system), &opt, x, 2, stats, message, sizeof message);
    if (status < 0) print_error("%s\n", message);
    assert_true(kd_eom_dims(eom).ny <= 16);
    assert_int_equal(kd_eom_data_create(eom, &data), KD_OK);
    assert_int_equal(kd_eom_at_state(data, kd_system_inputs(system), x, KD_STAGE_ACCELERATION), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(data, KD_Y, all), KD_EVAL_OK);
    memcpy(y, all, SENSORS * sizeof *y);
    kd_eom_data_destroy(data);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status;
}

// Errors of less than 30 tolerances (before: up to 350) in less than 350 steps (before: up to 465)
static void cartesian_governor_with_ggl(void **state)
{
    (void)state;
    if (!kd_integrator_about(KD_IDA, NULL)->available) skip();
    srand(test_seed(14));
    for (int k = 0; k < TRIALS; k++) {
        char             stiffness[40], speed[40];
        const kd_setting setting[2] = {{"K", stiffness}, {"speed", speed}};
        double           y[SENSORS], right[SENSORS];
        kd_stats         stats;
        snprintf(stiffness, sizeof stiffness, "%.17g", of_order(1e5, 8e5));
        snprintf(speed, sizeof speed, "%.17g", between(4, 8));
        assert_true(run(setting, KD_JOINT, with_method(KD_RADAU, 1e-10), right, &stats) >= 0);
        kd_simulation_options opt = with_method(KD_IDA, 1e-6);
        opt.formulation = KD_GGL;
        assert_true(run(setting, KD_CARTESIAN, opt, y, &stats) >= 0);
        for (int i = 0; i < SENSORS; i++)
            if (!(fabs(y[i] - right[i]) <= 3e-5 * (1 + fabs(right[i]))))
                fail_msg("K = %s, speed = %s, sensor %d: %.9g, not %.9g", stiffness, speed, i, y[i], right[i]);
        assert_true(stats.accepted < 350);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cartesian_governor_with_ggl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
