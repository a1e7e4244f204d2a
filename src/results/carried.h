// results/carried.h: what a flexible body carries at the state of a simulation.
#ifndef KD_RESULTS_CARRIED_H
#define KD_RESULTS_CARRIED_H

#include <kardan/simulation.h>
#include <kardan/system.h>

#include "flexible/load_case.h"

kd_status kd_carried_now(kd_simulation *simulation, const kd_system *system, int body,
                         kd_carried_loads *loads) KD_NODISCARD;

#endif
