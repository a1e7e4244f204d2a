// io/recording.h: what a run leaves behind: states at the output times, constraint residuals, energies, certificate.
#ifndef KD_IO_RECORDING_H
#define KD_IO_RECORDING_H

#include <kardan/eom.h>
#include <kardan/initial.h>

// Groups of columns of a recorded state, in the order of kd_state.
typedef enum kd_group {
    KD_GROUP_P,
    KD_GROUP_V,
    KD_GROUP_R,
    KD_GROUP_W,
    KD_GROUP_S,
    KD_GROUP_LAMBDA,
    KD_GROUP_MU,
    KD_GROUP_COUNT
} kd_group;

typedef struct kd_recording kd_recording;

// Room for capacity states. eom must outlive the recording; inputs (may be NULL) are copied. On failure *recording is
// NULL.
kd_status kd_recording_create(const kd_eom *eom, const kd_inputs *inputs, int capacity,
                              kd_recording **recording) KD_NODISCARD;
void      kd_recording_destroy(kd_recording *recording); // NULL is fine

// Append a state with its residuals and energies. Does not allocate by itself. A time that is not later than the last
// one, or a full recording, is passed over with KD_OK. KD_ERR_NOT_FINITE: the state has NaN or infinity and is not
// kept.
kd_status kd_recording_add(kd_recording *recording, const kd_state *x) KD_NODISCARD;

// Use a state between recorded ones (the end of a step) for the work of drives and dampers only: the more, the better
// the energy balance. Times must increase.
kd_status kd_recording_sample(kd_recording *recording, const kd_state *x) KD_NODISCARD;

const kd_eom *kd_recording_eom(const kd_recording *recording);
int           kd_recording_length(const kd_recording *recording);
int           kd_recording_columns(const kd_recording *recording); // of a state: kd_state.n
void          kd_recording_group(const kd_recording *recording, kd_group group, int *first, int *count); // its columns
const char   *kd_recording_name(const kd_recording *recording, int column); // all different
const double *kd_recording_times(const kd_recording *recording);            // (length)
const double *kd_recording_values(const kd_recording *recording);           // (length x columns) row-major
// Largest residuals of the position, velocity and acceleration level (level 0, 1, 2), at least 1e-17 for a logarithmic
// axis; (length)
const double *kd_recording_residuals(const kd_recording *recording, int level);

// Energies; NULL if the equations do not tell them. balance = E(t) - E(0) - integral of (supplied - dissipated) dt.
typedef enum kd_energy {
    KD_ENERGY_KINETIC,
    KD_ENERGY_POTENTIAL,
    KD_ENERGY_TOTAL,
    KD_ENERGY_BALANCE,
    KD_ENERGY_COUNT
} kd_energy;
const double *kd_recording_energy(kd_recording *recording, kd_energy which); // (length)

// What was checked over all recorded states.
typedef struct kd_certificate {
    double residual[3];     // largest residual of each level
    double scale[3];        // largest component of p, v, a, at least 1
    double time[3];         // where it occurred
    char   equation[3][80]; // name of the worst equation of each level
    bool   exploded;        // a position or velocity grew beyond 1e8 times the largest at the start (or beyond 1e8)
    bool   has_energy;
    double energy_error; // largest |balance|
    double energy_scale; // largest kinetic energy plus range of the potential energy
} kd_certificate;
kd_certificate kd_recording_certificate(kd_recording *recording);

// Accelerations: those of the states or, where they do not belong to the state, those that the forces give; (length x
// nv)
const double *kd_recording_accelerations(const kd_recording *recording);
const char   *kd_recording_acceleration_name(const kd_recording *recording, int i); // "acc NAME", NAME that of v

// Write all states as a table: time, components, accelerations, energies if known.
kd_status kd_recording_save_csv(kd_recording *recording, const char *path, char *message, size_t size) KD_NODISCARD;

#endif
