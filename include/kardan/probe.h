// kardan/probe.h: the reader of states: what is to be known about a state, by name or by number, each with its unit.
// Guide: docs/guide/reading-results.md
//
//     kd_probe *probe;                                   kd_probe_of_system(system, NULL, &probe);
//     kd_probe_set(probe, kd_simulation_state(simulation));
//     double angle = kd_probe_read(probe, "joint.hinge.q");
//     double load = kd_probe_read(probe, "load");        // a sensor of the model
//
// Nothing is computed before it is asked for, and nothing twice for one state: positions need no velocities, energies
// no accelerations. Accelerations are those of the state where they belong to its forces and multipliers, and are
// solved for otherwise. Nothing is allocated after creation; one probe per thread.
#ifndef KARDAN_PROBE_H
#define KARDAN_PROBE_H

#include <kardan/eom.h>
#include <kardan/system.h>

KD_EXTERN_C_BEGIN

// Groups of channels, in their order; the first seven as in kd_state.
typedef enum kd_group {
    KD_GROUP_P,
    KD_GROUP_V,
    KD_GROUP_R,
    KD_GROUP_W,
    KD_GROUP_S,
    KD_GROUP_LAMBDA,
    KD_GROUP_MU,
    KD_GROUP_A,         // accelerations, "acc NAME", joint.hinge.a
    KD_GROUP_U,         // inputs
    KD_GROUP_Y,         // outputs: sensors
    KD_GROUP_ENERGY,    // kinetic, potential, total; none if the equations do not tell
    KD_GROUP_VIOLATION, // of the constraints: largest |g|, |c|; |gI|, |h|; |gII|, |hI| of active rows; none without
    KD_GROUP_POWER,     // dissipated, supplied; as energies
    KD_GROUP_Z,         // discrete states
    KD_GROUP_POSE,      // 7 per body of a model: body.NAME.pos.x .y .z, unit quaternion body.NAME.quat.0 .. 3
    KD_GROUP_RATE,      // 6 per body: body.NAME.vel.x .., body.NAME.omega.x ..; axes of the world
    KD_GROUP_COUNT
} kd_group;

typedef struct kd_probe kd_probe;

// eom must outlive the probe; *inputs (may be NULL: all 0) is copied. On failure *probe is NULL.
KD_API kd_status kd_probe_create(const kd_eom *eom, const kd_inputs *inputs, kd_probe **probe) KD_NODISCARD;
// Of a model, with units and poses of bodies; the system must outlive it. inputs NULL: those of the model.
KD_API kd_status kd_probe_of_system(const kd_system *system, const kd_inputs *inputs, kd_probe **probe) KD_NODISCARD;
KD_API void      kd_probe_destroy(kd_probe *probe); // NULL is fine

// From now on questions are about x, which must stay valid and unchanged until the next call of this kind.
// KD_ERR_ARGUMENT: one is NULL, or x belongs to other equations; the probe then has no state.
KD_API kd_status kd_probe_set(kd_probe *probe, const kd_state *x) KD_NODISCARD;

// ---- questions ------------------------------------------------------------------------------------------------------
// A channel by its name: as listed by kd_probe_name, sensors with or without "sensor." in front, energy.kinetic. -1:
// there is none of that name.
KD_API int         kd_probe_find(const kd_probe *probe, const char *name);
KD_API int         kd_probe_count(const kd_probe *probe);             // channels
KD_API const char *kd_probe_name(const kd_probe *probe, int channel); // all different; "" for a number that is none
KD_API const char *kd_probe_unit(const kd_probe *probe, int channel); // "" if it is not known
// The channels first .. first + count - 1 are those of a group.
KD_API void kd_probe_group(const kd_probe *probe, kd_group group, int *first, int *count);

// NaN: it could not be evaluated, or there is no such channel; kd_probe_message says why.
KD_API double kd_probe_value(kd_probe *probe, int channel);
KD_API double kd_probe_read(kd_probe *probe, const char *name);
// All values of a group, valid until the next state is set; NULL: they could not be evaluated, or there are none.
KD_API const double *kd_probe_values(kd_probe *probe, kd_group group);
// Kinetic and potential energy, powers, size of the terms. KD_ERR_UNSUPPORTED where the equations do not tell.
KD_API kd_status kd_probe_energies(kd_probe *probe, kd_energies *out) KD_NODISCARD;

// How the last question ended, in words if it failed; "".
KD_API kd_status   kd_probe_status(const kd_probe *probe);
KD_API const char *kd_probe_message(const kd_probe *probe);

// What was computed since creation.
typedef struct kd_probe_counters {
    long states;        // that were set
    long accelerations; // solved for, because those of the state did not belong to it
    long evaluations;   // of functions of the equations
} kd_probe_counters;
KD_API kd_probe_counters kd_probe_counters_of(const kd_probe *probe);

KD_EXTERN_C_END
#endif
