// cosim/fmu_system.h: an FMU as a system of a co-simulation (fmu_system.c).
#ifndef KD_COSIM_FMU_SYSTEM_H
#define KD_COSIM_FMU_SYSTEM_H

#include "cosim/expression_system.h"

typedef struct kd_fmu_run {
    const char            *path;
    bool                   exchange, cosimulation; // asked for; neither: what it has, co-simulation first
    double                 tolerance;              // NaN: as its description says
    const kd_named_number *parameter;              // (nparameters) its parameters, and inputs that stay as they are
    int                    nparameters;
} kd_fmu_run;

// Its description is read, nothing of it runs before start. name must outlive the system.
kd_status kd_fmu_system_create(const char *name, const kd_fmu_run *run, kd_cosim_system **out, char *message,
                               size_t size) KD_NODISCARD;

#endif
