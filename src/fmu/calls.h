// fmu/calls.h: the calls that FMI 2.0 and 3.0 have in common, under the name that the standard gives them (`call`, for messages).
#ifndef KD_FMU_CALLS_H
#define KD_FMU_CALLS_H

#include "fmu/fmu.h"

// With the numbers of fmi2Status and fmi3Status
typedef enum kd_fmu_answer {
    KD_FMU_OK = 0,
    KD_FMU_DISCARD = 2,
    KD_FMU_ERROR = 3,
} kd_fmu_answer;

// Modes in which a call may be made
enum {
    KD_FMU_BEFORE = KD_FMU_INSTANTIATED | KD_FMU_INITIALISING,
    KD_FMU_RUNNING = KD_FMU_EVENT | KD_FMU_CONTINUOUS | KD_FMU_STEP,
    KD_FMU_READABLE = KD_FMU_INITIALISING | KD_FMU_RUNNING | KD_FMU_STOPPED | KD_FMU_FAILED | KD_FMU_INSIDE,
};

// ---- life -----------------------------------------------------------------------------------------------------------
// What an instance is made of; log may be NULL: it stays silent
typedef struct kd_fmu_def {
    const char   *call, *name, *token, *resources;
    kd_plant_mode kind;
    bool          logging;
    void (*log)(kd_fmu *fmu, int level, const char *category, const char *message);
    void *logger, *environment; // of log
} kd_fmu_def;
kd_fmu       *kd_fmu_instantiate(const kd_fmu_def *def); // NULL: log has been told
kd_fmu_answer kd_fmu_set_logging(kd_fmu *fmu, const char *call, bool on, size_t n, const char *const *categories);
kd_fmu_answer kd_fmu_setup(kd_fmu *fmu, const char *call, const double *tolerance, double start, const double *stop);
kd_fmu_answer kd_fmu_initialise(kd_fmu *fmu, const char *call);
kd_fmu_answer kd_fmu_start(kd_fmu *fmu, const char *call); // the end of initialisation
kd_fmu_answer kd_fmu_terminate(kd_fmu *fmu, const char *call);
kd_fmu_answer kd_fmu_reset(kd_fmu *fmu, const char *call);
// From one of these modes to another
kd_fmu_answer kd_fmu_change(kd_fmu *fmu, const char *call, int from, kd_fmu_mode to);
// The run is over: values can still be read
kd_fmu_answer kd_fmu_fail(kd_fmu *fmu);

// ---- values ---------------------------------------------------------------------------------------------------------
kd_fmu_answer kd_fmu_get_reals(kd_fmu *fmu, const char *call, const uint32_t *reference, size_t n, double *value);
kd_fmu_answer kd_fmu_set_reals(kd_fmu *fmu, const char *call, const uint32_t *reference, size_t n, const double *value);
kd_fmu_answer kd_fmu_none(kd_fmu *fmu, const char *call, size_t n); // of a type that no variable has
kd_fmu_answer kd_fmu_directional(kd_fmu *fmu, const char *call, const uint32_t *unknown, size_t nunknowns,
                                 const uint32_t *known, size_t nknowns, const double *seed, double *sensitivity);
// Has the client counted as the description says?
bool kd_fmu_has_count(kd_fmu *fmu, const char *call, size_t n, size_t own);

// ---- saved states ---------------------------------------------------------------------------------------------------
kd_fmu_answer kd_fmu_get_state(kd_fmu *fmu, const char *call, void **state);
kd_fmu_answer kd_fmu_set_state(kd_fmu *fmu, const char *call, void *state);
kd_fmu_answer kd_fmu_state_size(kd_fmu *fmu, void *state, size_t *size);
kd_fmu_answer kd_fmu_serialise(kd_fmu *fmu, void *state, void *out, size_t size);
kd_fmu_answer kd_fmu_deserialise(kd_fmu *fmu, const void *bytes, size_t size, void **state);

// ---- model exchange -------------------------------------------------------------------------------------------------
kd_fmu_answer kd_fmu_set_time(kd_fmu *fmu, const char *call, double t);
kd_fmu_answer kd_fmu_set_states(kd_fmu *fmu, const char *call, const double *x, size_t n);
kd_fmu_answer kd_fmu_states(kd_fmu *fmu, const char *call, double *x, size_t n);
kd_fmu_answer kd_fmu_derivatives(kd_fmu *fmu, const char *call, double *dx, size_t n);
kd_fmu_answer kd_fmu_indicators(kd_fmu *fmu, const char *call, double *z, size_t n);
kd_fmu_answer kd_fmu_nominals(kd_fmu *fmu, const char *call, double *nominal, size_t n);
// The events of this instant; *next: time of the next one that is known, infinity: none
kd_fmu_answer kd_fmu_pass_events(kd_fmu *fmu, const char *call, bool *changed, bool *stop, double *next);
kd_fmu_answer kd_fmu_completed(kd_fmu *fmu, const char *call, bool *instant);

#endif
