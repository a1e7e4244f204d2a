// results/recording.h: what a run leaves behind: channels over the output times, each with name and unit.
#ifndef KD_RESULTS_RECORDING_H
#define KD_RESULTS_RECORDING_H

#include <kardan/certificate.h>
#include <kardan/eom.h>
#include <kardan/probe.h>

// Groups of channels in the order of the columns: KD_GROUP_P to KD_GROUP_VIOLATION of a probe. Energies have three more
// channels here: what was dissipated and supplied since the start, and the error of the balance.
enum { KD_ENERGY_CHANNELS = 6, KD_RECORDED_GROUPS = KD_GROUP_VIOLATION + 1 };

typedef struct kd_recording kd_recording;

// Room for capacity states, which are read by the probe; it must outlive the recording. On failure *recording is NULL.
kd_status kd_recording_create(kd_probe *probe, int capacity, kd_recording **recording) KD_NODISCARD;
// false: the certificate does not know those three of the run, they are NaN. Before the first state
void   kd_recording_set_balanced(kd_recording *recording, bool balanced);
bool   kd_recording_knows(const kd_recording *recording, int column); // false: this one is NaN
double kd_recording_bytes(const kd_eom *eom, int capacity);           // that it would take, roughly
double kd_run_bytes(int velocities);                  // the same of equations, matrices and history of a run
void   kd_recording_destroy(kd_recording *recording); // NULL is fine

// Append a state and what a certifier found there. Does not allocate. A time that is not later than the last one, or a
// full recording, is passed over with KD_OK. KD_ERR_NOT_FINITE: NaN or infinity, not kept; < 0: an output could not be
// evaluated, kd_recording_message says which.
kd_status   kd_recording_add(kd_recording *recording, const kd_state *x, const kd_findings *findings) KD_NODISCARD;
const char *kd_recording_message(const kd_recording *recording);

const kd_eom *kd_recording_eom(const kd_recording *recording);
int           kd_recording_length(const kd_recording *recording);
int           kd_recording_capacity(const kd_recording *recording);
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
