// kardan/controller.h: what a controller in a shared object exports, for blocks of type library.
//
// The object is trusted code: it runs in the process of kardan. It needs nothing of kardan but this header, and keeps its
// states to itself: several blocks of one model may be made of one object. Guide: docs/guide/foreign.md
#ifndef KARDAN_CONTROLLER_H
#define KARDAN_CONTROLLER_H

#include <stddef.h>

#define KD_CONTROLLER_VERSION 1

#if defined(__GNUC__)
#define KD_CONTROLLER __attribute__((visibility("default")))
#else
#define KD_CONTROLLER
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kd_controller_setup {
    int         version;           // KD_CONTROLLER_VERSION of who calls
    int         ninputs, noutputs; // as the block has them
    double      t, period;         // [s] time of the first sample, time between two
    const char *name;              // of the block
    const char *arguments;         // as the block gives them; ""
} kd_controller_setup;

// A controller at its start. NULL: it cannot serve this block; message (size bytes) says why.
KD_CONTROLLER void *kardan_controller_init(const kd_controller_setup *setup, char *message, size_t size);
// One sample: outputs from inputs at the time t; its states become the next ones. 0: good; otherwise the run ends, and message
// (size bytes) says why. Called once for each sample, in their order.
KD_CONTROLLER int kardan_controller_step(void *controller, double t, const double *input, double *output, char *message,
                                         size_t size);
// The end of a run, also of one that failed.
KD_CONTROLLER void kardan_controller_terminate(void *controller);

#ifdef __cplusplus
}
#endif

#endif
