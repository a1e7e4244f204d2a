// simulation/slopes.h: what small errors of positions and velocities make of energies and invariants.
#ifndef KD_SIMULATION_SLOPES_H
#define KD_SIMULATION_SLOPES_H

#include <kardan/eom.h>

enum { KD_SLOPE_VELOCITY, KD_SLOPE_POSITION, KD_SLOPES };

typedef struct kd_slopes {
    double energy_by_rtol[KD_SLOPES]; // [J] per relative error of each component
    double energy_by_atol[KD_SLOPES]; // [J] per absolute error of each component
    double invariant_by_rtol, invariant_by_atol;
    double work_by_rtol, work_by_atol; // [J] of the powers, summed up over time
} kd_slopes;

// Relative or absolute errors of all components at once, with signs that seed draws
typedef struct kd_slope_kind {
    bool          relative;
    double        passed; // [s] for which powers count that change
    unsigned      seed;
    const double *a; // (nv) accelerations, with which the energies of x were found; NULL: those of x
} kd_slope_kind;

// Change of kinetic + potential energy and of the invariants by such errors: of the size of |gradient| |error|, with the
// norm of Euclid. here: the energies of x, NULL: not known. data is at the time of x and is left at another state; y, e (nv)
// and invariant (2 ne) are workspace. Largest values so far stay in *slopes. false: not to be had here
bool kd_slopes_widen(kd_eom_data *data, const kd_eom *eom, const kd_state *x, const kd_energies *here,
                     kd_slope_kind kind, kd_state *y, double *e, double *invariant, kd_slopes *slopes);

#endif
