// simulation/certificate_impl.h: what a certifier keeps, for certificate.c (looks) and certificate_save.c (saved ones).
#ifndef KD_SIMULATION_CERTIFICATE_IMPL_H
#define KD_SIMULATION_CERTIFICATE_IMPL_H

#include <kardan/certificate.h>

#include "core/memory.h"
#include "simulation/missed.h"
#include "simulation/slopes.h"

enum { MEASURES = 8 };                             // functions whose rows are looked at
enum { NODES = 5, POWERS = 2 };                    // powers: dissipated, supplied
enum { PAST = NODES - 1, KNOTS = 4 };              // ends of steps whose powers, and whose states, are kept
enum { MAX_DEPTH = 7, SEGMENTS = 1 << MAX_DEPTH }; // a step is halved at most so often

// The end of a step: [p v r] and their rates
typedef struct knot {
    double  t;
    double *x, *rate; // (np + nv + nr)
    bool    rated;    // rates are there
} knot;

// The end of a step with its powers
typedef struct moment {
    double t, power[POWERS];
} moment;

// A part of the last step with its powers
typedef struct segment {
    double t0, t1;
    double power[NODES][POWERS]; // [W] at the nodes
    double energy[NODES];        // [J] kinetic and potential there, where somebody has looked
    double more[POWERS];         // [J] of the whole of it, by a formula with more nodes, than these give
    double work[POWERS];         // [J] from the start of the run to t0
} segment;

struct kd_certifier {
    kd_arena       arena;
    const kd_eom  *eom;
    kd_dims        dims;
    kd_inputs      inputs;
    kd_probe      *probe;
    bool           owns_probe;
    kd_eom_data   *data;                          // of the probe
    kd_eom_data   *between;                       // a point for states inside steps; NULL: without energies
    kd_state      *inside;                        // a state inside a step
    kd_state      *last;                          // the state that was seen last; NULL: the equations have no instants
    double         jumps[POWERS];                 // [J] energy lost and gained at instants
    double         leap, t_leap;                  // [J] of the potential energy inside the step that is known; when
    double         energy_known;                  // [J] kinetic and potential at t_known
    double         energy_end;                    // [J] at the end of the step that was seen last
    kd_energies    end;                           // all that is known there
    int            nmeasured, measured[MEASURES]; // functions that have rows
    double        *value;                         // (largest number of rows)
    const double  *a;                             // (nv) accelerations that are judged: those of the probe
    double        *solved;                        // (nv) accelerations that the simulation gives
    double        *judged;                        // (nv) accelerations at the end of the step that was seen last
    segment        segment[SEGMENTS];
    int            nsegments;
    double         t_known;                     // powers and work are known up to here
    double         power[POWERS], work[POWERS]; // there
    bool           at_end;                      // the probe is at the end of the step that was seen last
    bool           has_drives;                  // powers depend on accelerations and multipliers
    bool           plain;                       // nothing that is judged depends on accelerations
    bool           unjudged[2];                 // the state that was seen last, the end of the last step without them
    bool           peeks;                       // the last step was looked into by knots
    knot           knot[KNOTS];                 // the last ends of steps, the latest one behind
    int            nknots;
    moment         past[PAST]; // the last ends of steps with powers, the latest one behind
    int            npast;
    moment         middle;   // of the step that is looked at; its time is the start where nobody has looked
    double         start[2]; // scale of positions and velocities at the first state
    double         terms;    // [J] largest sum of the sizes of all terms of the energy
    kd_slopes      slopes;
    double         explained;     // [J] part of what errors of one tolerance explain so far
    double         most;          // [J] that the quadrature of the work may miss along the run
    kd_missed      missed;        // [J] and what it has missed so far, as estimated
    double         t_slopes[2];   // up to here, of relative and of absolute errors
    double         energy_slopes; // [J] the largest kinetic energy where they were looked for
    double        *errors;        // (nv + 2 ne) for slopes
    double         energy_start, potential_low, potential_high;
    kd_limits      limits; // that figures must be accurate enough for
    kd_findings    findings;
    kd_certificate certificate;
};

// certificate.c
kd_status kd_certifier_fault(const kd_certifier *c); // of the probe
// Its probe at a state, with what the simulation knows of it
// Slopes at the end of a step that was just seen, if its energy is much more than where they were looked for last
kd_status kd_certifier_renew_slopes(kd_certifier *c, const kd_state *x) KD_NODISCARD;
kd_status kd_certifier_go_to_judged(kd_certifier *c, kd_simulation *simulation, const kd_state *x) KD_NODISCARD;

// certificate_work.c
// Energies and powers at a state inside a step
kd_status kd_certifier_energies_between(kd_certifier *c, const kd_state *x, kd_energies *e,
                                        double power[POWERS]) KD_NODISCARD;
// Work from here on; of the step that led to x; up to time t inside it
kd_status kd_certifier_start_work(kd_certifier *c, kd_simulation *simulation, const kd_state *x) KD_NODISCARD;
kd_status kd_certifier_follow_steps(kd_certifier *c, kd_simulation *simulation, const kd_state *x) KD_NODISCARD;
double    kd_certifier_work_at(const kd_certifier *c, double t, int which);

#endif
