// realtime_run.c: model files with steppers, for the parts of the benchmark of steps in real time.
#include <string.h>

#include "core/text.h"
#include "realtime.h"

static bool leave_out(kd_system *system, const char *name)
{
    for (int i = 0; i < kd_system_loads_count(system); i++)
        if (strcmp(kd_system_load_name(system, i), name) == 0) {
            kd_system_set_stiff(system, i, false);
            return true;
        }
    return false;
}

bool realtime_ride_open(realtime_ride *r, const char *name, const kd_setting *settings, int nsettings,
                        const char *explicit_load, const kd_realtime_options *opt, char *message, size_t size)
{
    char path[BENCH_PATH];
    *r = (realtime_ride){0};
    kd_text(path, sizeof path, "%s/%s.yaml", KD_MODELS_DIR, name);
    if (kd_model_read(path, settings, nsettings, &r->model, message, size) < 0) return false;
    if (kd_system_create(r->model, NULL, &r->system, message, size) < 0) return false;
    if (explicit_load && !leave_out(r->system, explicit_load)) {
        kd_text(message, size, "%s: no force element %s", name, explicit_load);
        return false;
    }
    if (kd_state_create(kd_system_eom(r->system), &r->x) < 0) return false;
    if (kd_system_start(r->system, r->x, message, size) < 0) return false;
    return kd_realtime_create(kd_system_eom(r->system), kd_system_inputs(r->system), opt, r->x, &r->stepper, message,
                              size) >= 0;
}

void realtime_ride_close(realtime_ride *r)
{
    kd_realtime_destroy(r->stepper);
    kd_state_destroy(r->x);
    kd_system_destroy(r->system);
    kd_model_destroy(r->model);
}
