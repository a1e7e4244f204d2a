// Roads and tyres from files. A sill of a road that is shorter than the steps of the level road: no method passes it
// over. Tyre files that contradict themselves: told in warnings.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include <kardan/kardan.h>

// Height of the hub at the end
static double hub_after(kd_formulation formulation, kd_integrator_kind integrator, double h_max)
{
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    kd_state             *x = NULL;
    kd_stats              stats;
    char                  message[500] = "";
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = formulation, opt.integrator = integrator, opt.rtol = 1e-5, opt.atol = 1e-7;
    if (h_max > 0) opt.integrator_options.h_max = h_max;
    if (kd_model_read(KD_SOURCE_DIR "/tests/vehicle/data/sill.yaml", NULL, 0, &model, message, sizeof message) < 0 ||
        kd_system_create(model, NULL, &system, message, sizeof message) < 0 ||
        kd_state_create(kd_system_eom(system), &x) < 0 || kd_system_start(system, x, message, sizeof message) < 0 ||
        kd_simulate(kd_system_eom(system), kd_system_inputs(system), &opt, x, 1.6, &stats, message, sizeof message) < 0)
        fail_msg("%s", message);
    // coordinates: car, hub, axle
    const double height = x->p[1];
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return height;
}

static void sill(void **state)
{
    static const struct {
        kd_formulation     formulation;
        kd_integrator_kind integrator;
    } way[] = {{KD_ODE, KD_DOP853}, {KD_PSF, KD_RADAU}, {KD_ODE, KD_DOPRI5}, {KD_GGL, KD_BDF}};
    (void)state;
    const double fine = hub_after(KD_PSF, KD_RADAU, 1e-3);
    for (int i = 0; i < 4; i++) {
        const double height = hub_after(way[i].formulation, way[i].integrator, 0);
        if (!(fabs(height - fine) < 2e-4)) fail_msg("way %d: %g instead of %g m", i, height, fine);
    }
}

// FITTYP 61 with numbers of 5.2, turn slip, which is not computed, sections that are not there: one sentence each.
static void doubtful_tyre(void **state)
{
    static const char *const sentence[] = {"is it a file of 5.2 (FITTYP 6)?", "USE_MODE 15 asks for turn slip",
                                           "has no numbers of [SCALING_COEFFICIENTS]: all factors are 1",
                                           "[OVERTURNING_COEFFICIENTS]: there is no overturning moment",
                                           "[ROLLING_COEFFICIENTS]: there is no rolling resistance"};
    kd_model                *model = NULL;
    char                     message[500] = "";
    (void)state;
    if (kd_model_read(KD_SOURCE_DIR "/tests/vehicle/data/doubtful.yaml", NULL, 0, &model, message, sizeof message) < 0)
        fail_msg("%s", message);
    for (size_t k = 0; k < sizeof sentence / sizeof *sentence; k++) {
        int found = 0;
        for (int i = 0; i < kd_model_warning_count(model); i++)
            found += strstr(kd_model_warning(model, i), sentence[k]) ? 1 : 0;
        if (found != 1) fail_msg("told %d times: %s", found, sentence[k]);
    }
    kd_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sill), cmocka_unit_test(doubtful_tyre)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
