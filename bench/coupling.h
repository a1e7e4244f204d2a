// coupling.h: parts of the benchmark of co-simulation.
#ifndef KD_BENCH_COUPLING_H
#define KD_BENCH_COUPLING_H

#include <kardan/cosim.h>

#include "common_rows.h"

// Two masses, coupled by force and displacement
kd_cosim *coupling_two_masses(const kd_cosim_options *opt);

void coupling_limits(bench *b); // of stability
void coupling_orders(bench *b); // slopes of the error over the macro step and over the tolerance
void coupling_truck(bench *b);  // split in two
void coupling_threads(bench *b);
void coupling_rigid(bench *b);       // rigid joint between systems, mass ratio 10
void coupling_semi_active(bench *b); // controllers apart, at 200 Hz

#endif
