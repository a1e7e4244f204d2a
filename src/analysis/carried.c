// carried.c: loads of a flexible body at the state of a simulation, by its probe.
#include "analysis/carried.h"

#include "probe/probe.h"

kd_status kd_carried_now(kd_simulation *simulation, const kd_system *system, int body, struct kd_carried_loads *loads)
{
    kd_probe *probe = kd_simulation_probe(simulation);
    kd_status status = kd_probe_set(probe, kd_simulation_state(simulation));
    if (status >= 0) status = kd_probe_reach(probe, KD_STAGE_ACCELERATION);
    if (status >= 0 && kd_system_flexible_loads(system, kd_probe_data(probe), body, loads) != KD_EVAL_OK)
        status = KD_ERR_ARGUMENT;
    return status;
}
