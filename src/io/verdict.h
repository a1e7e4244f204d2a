// io/verdict.h: the words that judge a run, the same on the command line and in the report.
#ifndef KD_IO_VERDICT_H
#define KD_IO_VERDICT_H

#include "io/recording.h"

typedef struct kd_verdict {
    const char *words;
    bool        good;
} kd_verdict;

// A failed run (status < 0) is never praised: what would be good is "run failed". Where positions or velocities
// exploded, everything relative to them means nothing: "exploded".

// The residual of a level (0 position, 1 velocity, 2 acceleration): "to rounding", "within tolerance", "drift".
kd_verdict kd_verdict_residual(const kd_certificate *certificate, int level, double atol, kd_status status);
// The energy balance: "balanced", "not balanced".
kd_verdict kd_verdict_energy(const kd_certificate *certificate, kd_status status);
// The error of the positions against a reference solution: "agrees", "differs".
kd_verdict kd_verdict_reference(const kd_certificate *certificate, double error, kd_status status);

// Largest error of the energy balance relative to the energies involved; NaN if the energies are not known
double kd_verdict_energy_error(const kd_certificate *certificate);

#endif
