// realtime/bound.h: what one projection per step leaves of the position constraints, told beforehand (S4 Eq. 13).
// Method: docs/methods/realtime.md
#ifndef KD_REALTIME_BOUND_H
#define KD_REALTIME_BOUND_H

#include <kardan/realtime.h>

typedef struct kd_realtime_bound kd_realtime_bound;

// For a stepper that outlives it. KD_ERR_UNSUPPORTED: without position constraints, or where the estimate does not
// apply: it takes positions first, then one projection with a matrix of the old position (ggl with projector step,
// projection with projector start).
kd_status kd_realtime_bound_create(kd_realtime *stepper, kd_realtime_bound **bound) KD_NODISCARD;
void      kd_realtime_bound_destroy(kd_realtime_bound *bound); // NULL is fine

// The constants at the present state of the stepper: derivatives along all multipliers. Not part of a step.
kd_status kd_realtime_bound_see(kd_realtime_bound *bound) KD_NODISCARD;

typedef struct kd_realtime_limit {
    double C0, C1, C2; // largest so far: |g_n+1| <= C2 |g_n|^2 + h C1 |g_n| + h^3 C0, largest components
    double limit;      // of |g|; infinite where Eq. 13 does not hold: the step is too long
    long   states;     // that were looked at
} kd_realtime_limit;
kd_realtime_limit kd_realtime_bound_limit(const kd_realtime_bound *bound);

#endif
