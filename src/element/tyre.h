// tyre.h: numbers that the law of a tyre with slip depends on. Equations: tyre.c
#ifndef KARDAN_ELEMENT_TYRE_H
#define KARDAN_ELEMENT_TYRE_H

#include <kardan/model.h>

#include "tree/tree.h"

// Height above the road, velocity, axle, angular velocity of the wheel, slips with relaxation
enum { KD_TYRE_H, KD_TYRE_V, KD_TYRE_N = 4, KD_TYRE_OMEGA = 7, KD_TYRE_SLIP = 10, KD_TYRE_INPUTS = 12 };
enum { KD_TYRE_OUTPUTS = 8 }; // forces of the channels, rates of the slips

// Derivatives (KD_TYRE_OUTPUTS x KD_TYRE_INPUTS, row by row). false: the axle stands upright.
bool kd_tyre_slopes(const kd_motion *m, const kd_tyre_def *d, const double a[KD_TYRE_INPUTS], double road_rate,
                    double *out);

bool kd_tyre_slopes_base(const kd_tyre_def *d, const double *a, double road_rate, double *out);
bool kd_tyre_slopes_avx2(const kd_tyre_def *d, const double *a, double road_rate, double *out);

// Forces of the channels and rates of the slips of four tyres, all with relaxation or none. false: an axle stands upright.
bool kd_tyre_four(const kd_motion *m, const kd_tyre_def *const d[4], const double a[4][KD_TYRE_INPUTS],
                  const double road_rate[4], double out[4][KD_TYRE_OUTPUTS]);

bool kd_tyre_four_base(const kd_tyre_def *const d[4], const double a[4][KD_TYRE_INPUTS], const double road_rate[4],
                       double out[4][KD_TYRE_OUTPUTS]);
bool kd_tyre_four_avx2(const kd_tyre_def *const d[4], const double a[4][KD_TYRE_INPUTS], const double road_rate[4],
                       double out[4][KD_TYRE_OUTPUTS]);

#endif
