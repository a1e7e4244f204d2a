// geoms.h: the parts of the benchmark "geoms" and what they share. S3 is the GEOMS report of A. Steinbrecher.
#ifndef KD_BENCH_GEOMS_H
#define KD_BENCH_GEOMS_H

#include "common_rows.h"
#include "common_run.h"

// The solvers of S3's figures, as kardan has them: psf and psf1 for GEOMS, radau on other forms for RADAU5, and methods
// of the kind of ODASSL, MEXAX and HEDOP5 (BDF on the overdetermined form, extrapolation, half-explicit); SUNDIALS IDA
// on the GGL form for DASSL.
enum {
    GEOMS_PSF,
    GEOMS_PSF_ORDERS, // radau of variable order up to 13
    GEOMS_PSF_INVARIANT,
    GEOMS_PSF1,
    GEOMS_STATESPACE,
    GEOMS_RADAU_GGL,
    GEOMS_RADAU_INDEX3,
    GEOMS_RADAU_INDEX2,
    GEOMS_RADAU_INDEX1,
    GEOMS_ODASSL_BDF,
    GEOMS_EXTRAPOLATION,
    GEOMS_HALF_EXPLICIT,
    GEOMS_IDA_GGL,     // its own differences; algebraic variables suppressed in the error test
    GEOMS_IDA_GGL_ALL, // or not
    GEOMS_IDA_SAME,    // the same two with kardan's analytic Newton matrices and their factors
    GEOMS_IDA_SAME_ALL,
    GEOMS_METHODS
};
extern const bench_method geoms_methods[GEOMS_METHODS];

// The pendulum from the bottom with velocity v10, or at rest from (1, 0) for v10 = 0; its reference is exact and
// written to reference (5). The energy is a known invariant, imposed by the methods that want it.
bool geoms_pendulum_open(bench_problem *problem, double gravity, double v10, double t_end, double reference[5],
                         char *message, size_t size);
// Exact [p v lambda] at a time
void geoms_pendulum_exact(double gravity, double v10, double t, double exact[5]);

void geoms_counters(bench *b); // S3 tables 3 and 4
void geoms_pendulum(bench *b); // constraints, energy, error of long runs; figures 1, 4, 5
void geoms_accuracy(bench *b); // success, error over tolerance, digits on the gallery
void geoms_ratio(bench *b);    // time at a given error, work-precision figures 2, 3, 8

#endif
