// results/recording.h: what a run leaves behind: channels over the output times, each with name and unit.
#ifndef KD_RESULTS_RECORDING_H
#define KD_RESULTS_RECORDING_H

#include <kardan/certificate.h>
#include <kardan/eom.h>

// Groups of channels, in the order of the columns; the first seven as in kd_state.
typedef enum kd_group {
    KD_GROUP_P,
    KD_GROUP_V,
    KD_GROUP_R,
    KD_GROUP_W,
    KD_GROUP_S,
    KD_GROUP_LAMBDA,
    KD_GROUP_MU,
    KD_GROUP_A,         // accelerations, "acc NAME"
    KD_GROUP_U,         // inputs
    KD_GROUP_Y,         // outputs: sensors
    KD_GROUP_ENERGY,    // kinetic, potential, total, dissipated, supplied, balance; none if the equations do not tell
    KD_GROUP_VIOLATION, // of the constraints: position, velocity, acceleration; none without constraints
    KD_GROUP_COUNT
} kd_group;

enum { KD_ENERGY_CHANNELS = 6, KD_CHANNEL_NAME = 96 };

typedef struct kd_recording kd_recording;

// Room for capacity states. eom must outlive the recording; inputs (may be NULL) are copied. On failure *recording is
// NULL.
kd_status kd_recording_create(const kd_eom *eom, const kd_inputs *inputs, int capacity,
                              kd_recording **recording) KD_NODISCARD;
double    kd_recording_bytes(const kd_eom *eom, int capacity); // that it would take, roughly
void      kd_recording_destroy(kd_recording *recording);       // NULL is fine

// Append a state and what a certifier found there. Does not allocate. A time that is not later than the last one, or a
// full recording, is passed over with KD_OK. KD_ERR_NOT_FINITE: NaN or infinity, not kept; < 0: an output could not be
// evaluated, kd_recording_message says which.
kd_status   kd_recording_add(kd_recording *recording, const kd_state *x, const kd_findings *findings) KD_NODISCARD;
const char *kd_recording_message(const kd_recording *recording);

const kd_eom *kd_recording_eom(const kd_recording *recording);
int           kd_recording_length(const kd_recording *recording);
int           kd_recording_columns(const kd_recording *recording);                                       // channels
void          kd_recording_group(const kd_recording *recording, kd_group group, int *first, int *count); // its columns
const char   *kd_recording_name(const kd_recording *recording, int column);       // all different
const char   *kd_recording_unit(const kd_recording *recording, int column);       // "" if it is not known
int           kd_recording_find(const kd_recording *recording, const char *name); // column; -1: no such channel
// unit is copied; 16 characters are kept
void          kd_recording_set_unit(kd_recording *recording, int column, const char *unit);
const double *kd_recording_times(const kd_recording *recording);  // (length)
const double *kd_recording_values(const kd_recording *recording); // (length x columns) row-major

#endif
