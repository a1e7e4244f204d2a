// analysis/carried.h: what a flexible body carries at the state of a simulation.
#ifndef KD_ANALYSIS_CARRIED_H
#define KD_ANALYSIS_CARRIED_H

#include <kardan/simulation.h>
#include <kardan/system.h>

struct kd_carried_loads;

// of system/flexible_loads.c: at an evaluation point with accelerations
kd_eval   kd_system_flexible_loads(const kd_system *system, kd_eom_data *data, int body, struct kd_carried_loads *out);
kd_status kd_carried_now(kd_simulation *simulation, const kd_system *system, int body,
                         struct kd_carried_loads *loads) KD_NODISCARD;

#endif
