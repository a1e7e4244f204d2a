// cosim/process_system.h: another program as a system of a co-simulation (process_system.c).
#ifndef KD_COSIM_PROCESS_SYSTEM_H
#define KD_COSIM_PROCESS_SYSTEM_H

#include "cosim/system.h"

typedef struct kd_process_run {
    int         port;     // on this machine, at which it listens
    const char *key;      // file of a shared key; NULL: none
    double      patience; // [s] for its answers
    kd_port    *input, *output;
    int         ninputs, noutputs;
} kd_process_run;

// Nobody is called before start. name, key and texts of the ports must outlive the system.
kd_status kd_process_system_create(const char *name, const kd_process_run *run, kd_cosim_system **out) KD_NODISCARD;

#endif
