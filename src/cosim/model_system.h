// cosim/model_system.h: a model of kardan as a system of a co-simulation (model_system.c).
#ifndef KD_COSIM_MODEL_SYSTEM_H
#define KD_COSIM_MODEL_SYSTEM_H

#include <kardan/model.h>
#include <kardan/simulation.h>

#include "cosim/system.h"

// How a model is run, where that is not as the model says; NULL and NaN: as it says.
typedef struct kd_system_run {
    const char       *integrator, *formulation;
    double            rtol, atol, max_step;
    const kd_setting *option; // (noptions) by name
    int               noptions;
} kd_system_run;

// The model is the system's from now on, also where this fails. name and texts of run must outlive it.
kd_status kd_model_system_create(const char *name, kd_model *model, const kd_system_run *run, kd_cosim_system **out,
                                 char *message, size_t size) KD_NODISCARD;

#endif
