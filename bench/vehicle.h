// vehicle.h: parts of the benchmark of vehicles at the papers' size.
#ifndef KD_BENCH_VEHICLE_H
#define KD_BENCH_VEHICLE_H

#include "common_rows.h"

// Rows table3.*: S0 table 3 on the car in rubber.
void vehicle_table(bench *b);
// Row ratio.ida: bdf beside IDA with the same Newton matrices.
void vehicle_ida(bench *b);
// Rows seconds.*: thread CPU time per simulated second.
void vehicle_seconds(bench *b);
// Rows step.*, work.variation: the tractor with semi-trailer in steps of 1 ms. The program calls itself for the work:
// arguments --steps ANGLE COUNT make only these; exit status.
void vehicle_realtime(bench *b);
int  vehicle_steps(const char *angle, const char *count);
// Rows road.*: what a measured road costs.
void vehicle_road(bench *b);
// Rows contact.*: smooth surfaces in contact beside closed forms.
void vehicle_contact(bench *b);
// Rows rail.*: measured profiles in curves.
void vehicle_rail(bench *b);

#endif
