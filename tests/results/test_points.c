// Evaluation points of a whole run, as the command line makes it: system, start, recorder with its certificate, simulation. They
// are counted by the linker (--wrap), so that none is forgotten.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <kardan/kardan.h>
#include <kardan/results.h>

kd_status __real_kd_eom_data_create(const kd_eom *eom, kd_eom_data **data);
kd_status __wrap_kd_eom_data_create(const kd_eom *eom, kd_eom_data **data);

static int made;

kd_status __wrap_kd_eom_data_create(const kd_eom *eom, kd_eom_data **data)
{
    made++;
    return __real_kd_eom_data_create(eom, data);
}

typedef struct counts {
    int start, run; // until the start is known; behind that
} counts;

static counts count_points(const char *path, kd_coordinates coordinates)
{
    char                  message[2000] = "";
    kd_model             *model;
    kd_system            *system;
    kd_state             *x;
    kd_recorder          *recorder;
    kd_system_options     how = kd_system_options_default();
    kd_simulation_options opt = kd_simulation_options_default();
    counts                n;
    how.coordinates = coordinates;
    made = 0;
    if (kd_model_read(path, NULL, 0, &model, message, sizeof message) < 0) fail_msg("%s", message);
    if (kd_system_create(model, &how, &system, message, sizeof message) < 0) fail_msg("%s", message);
    assert_true(kd_state_create(kd_system_eom(system), &x) >= 0);
    if (kd_system_start(system, x, message, sizeof message) < 0) fail_msg("%s", message);
    n.start = made;
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    opt.initial.known = true;
    if (kd_recorder_create(system, NULL, &recorder, message, sizeof message) < 0) fail_msg("%s", message);
    assert_true(kd_recorder_simulate(recorder, &opt, x, 0.01) >= 0);
    n.run = made - n.start;
    kd_recorder_destroy(recorder);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return n;
}

// The start: one point; where rows are left out as redundant one more, as the equations are others then; in Cartesian coordinates
// one of each coordinate set. The run: the reader of rows, the certificate's between rows, the driver's, the form's.
static void points_of_runs(void **state)
{
    static const struct {
        const char    *model;
        kd_coordinates coordinates;
        int            start;
    } run[] = {{"chain", KD_JOINT, 1},           {"stewart", KD_JOINT, 1},   {"slider-crank", KD_JOINT, 2},
               {"hmmwv", KD_JOINT, 2},           {"chain", KD_CARTESIAN, 2}, {"stewart", KD_CARTESIAN, 2},
               {"slider-crank", KD_CARTESIAN, 2}};
    (void)state;
    if (!KD_COUNTED) skip();
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        char path[400];
        snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s.yaml", run[i].model);
        const counts n = count_points(path, run[i].coordinates);
        print_message("%s in %s coordinates: %d and %d\n", run[i].model,
                      run[i].coordinates == KD_JOINT ? "joint" : "Cartesian", n.start, n.run);
        assert_int_equal(n.start, run[i].start);
        assert_int_equal(n.run, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(points_of_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
