// fmu/fmu.h: an instance of the FMU of a model: where it stands in the sequence of calls, whom it tells, its plant.
//
// One shared object serves every model, FMI 2.0 (fmu2.c) and FMI 3.0 (fmu3.c); what differs is in its resources.
#ifndef KD_FMU_FMU_H
#define KD_FMU_FMU_H

#include <stdint.h>

#include "fmi/plant.h"

// Where an instance stands; one call may be allowed in several.
typedef enum kd_fmu_mode {
    KD_FMU_INSTANTIATED = 1,
    KD_FMU_INITIALISING = 2,
    KD_FMU_EVENT = 4,
    KD_FMU_CONTINUOUS = 8,
    KD_FMU_STEP = 16,
    KD_FMU_STOPPED = 32, // terminated, or the model has asked for the end
    KD_FMU_FAILED = 64,  // by an error: values can still be read
    KD_FMU_INSIDE = 128, // intermediate update: inside of a step, values can be read
    KD_FMU_ANY = 255,
} kd_fmu_mode;

typedef struct kd_fmu {
    kd_plant     *plant;
    kd_plant_mode kind;
    kd_fmu_mode   mode;
    bool          logs_events;
    bool          event_mode, early_return; // FMI 3.0, co-simulation
    double        return_time;              // that the client has asked for in an intermediate update; infinity
    void (*update)(void);                   // fmi3IntermediateUpdateCallback; NULL
    double tolerance, t_start, t_stop;
    double t;                   // that was reached
    bool   stopped, terminated; // by the model; by the client
    char   name[200];
    // message (level 0: event, 1: warning, 3: error as the numbers of the standard) with its category
    void (*log)(struct kd_fmu *fmu, int level, const char *category, const char *message);
    void *environment, *logger; // of log
} kd_fmu;

// A saved instance; handles of clients stay when they are filled again.
typedef struct kd_fmu_state {
    kd_saved *saved;
} kd_fmu_state;

// The model of a folder, if token and kind (fmu->kind) are those that are written there. false: log has been told.
bool kd_fmu_open(kd_fmu *fmu, const char *folder, const char *token, const char *call);
void kd_fmu_close(kd_fmu *fmu);
// The folder of a URI: file:///a%20b, file:/a, /a
bool kd_fmu_folder(const char *uri, char *folder, size_t size);

// May `call` be made now? Tells and answers false if not.
bool kd_fmu_may(kd_fmu *fmu, const char *call, int modes);
// Has the client brought the n places that the call reads or writes? Tells and answers false if not. n = 0: none are needed
bool kd_fmu_given(kd_fmu *fmu, const char *call, size_t n, const void *first, const void *second);
// Failed: tells, and the instance is of no more use.
bool kd_fmu_good(kd_fmu *fmu, const char *call, kd_status status);
void kd_fmu_tell(kd_fmu *fmu, int level, const char *category, const char *format, ...) KD_PRINTF(4, 5);

bool kd_fmu_get(kd_fmu *fmu, const char *call, const uint32_t *reference, size_t n, double *value);
bool kd_fmu_set(kd_fmu *fmu, const char *call, const uint32_t *reference, size_t n, const double *value);
bool kd_fmu_save(kd_fmu *fmu, void **state);
bool kd_fmu_restore(kd_fmu *fmu, void *state);
void kd_fmu_free_state(void **state);
bool kd_fmu_state_bytes(kd_fmu *fmu, void *state, const void **bytes, size_t *size);
bool kd_fmu_state_of_bytes(kd_fmu *fmu, const void *bytes, size_t size, void **state);

#endif
