// hybrid.h: the parts of the benchmark "hybrid" and what they share.
#ifndef KD_BENCH_HYBRID_H
#define KD_BENCH_HYBRID_H

#include "common_rows.h"
#include "common_run.h"

// truck5 with an actuator beside each suspension, F = -sky (velocity of the chassis there) + ground (velocity of the
// wheel), S1 section 5: written as a continuous law, or sampled and held.
typedef struct hybrid_truck hybrid_truck;
hybrid_truck               *hybrid_truck_create(double period); // 0: continuous; NULL: no memory
void                        hybrid_truck_destroy(hybrid_truck *truck);
kd_eom                     *hybrid_truck_eom(const hybrid_truck *truck);
kd_state *hybrid_truck_start(const hybrid_truck *truck); // consistent initial state, stays the truck's
kd_inputs hybrid_truck_inputs(const hybrid_truck *truck);

void hybrid_sampled(bench *b); // CPU per step, sampled against continuous
void hybrid_events(bench *b);  // cost of an event

#endif
