// fmi/guest_run.h: an FMU from start to end: fixed steps of co-simulation, or model exchange with an own explicit method.
#ifndef KD_FMI_GUEST_RUN_H
#define KD_FMI_GUEST_RUN_H

#include "fmi/guest.h"

typedef struct kd_guest_run {
    double t_start, t_stop, step; // step: between points that are shown
    double tolerance;             // of model exchange, and told to the FMU; 0: 1e-6, not told
    // At the start, at each multiple of the step, and on both sides of events (model exchange). KD_OK to go on.
    kd_status (*show)(double t, kd_guest *guest, void *context);
    // Inputs of the time t are to be set; may be NULL.
    kd_status (*feed)(double t, kd_guest *guest, void *context);
    void *context;
    long  steps, events; // counted
    bool  stopped;       // the FMU has asked for the end
} kd_guest_run;

// From initialisation to the end. kd_guest_message says why not.
kd_status kd_guest_run_all(kd_guest *guest, bool exchange, kd_guest_run *run) KD_NODISCARD;

#endif
