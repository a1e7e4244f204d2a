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

// The constants at the present state of the stepper: 1 + nlambda matrices of derivatives. Not for a loop against the clock.
kd_status kd_realtime_bound_see(kd_realtime_bound *bound) KD_NODISCARD;

// For such a loop: of each part of a run the state before the largest error is kept, and looked at behind it. The number of parts
// follows from that of the steps alone: looks cost less than a fiftieth of them (a matrix counted as two steps), but one is made in
// any case. NULL is fine.
kd_status kd_realtime_bound_reserve(kd_realtime_bound *bound, long steps) KD_NODISCARD; // once; from the present state
void      kd_realtime_bound_before(kd_realtime_bound *bound); // a step: copies, the same always; nothing is evaluated
void      kd_realtime_bound_after(kd_realtime_bound *bound, double error); // that step, with |g| of its end
kd_status kd_realtime_bound_look(kd_realtime_bound *bound) KD_NODISCARD;   // behind the run

typedef struct kd_realtime_limit {
    double C0, C1, C2; // largest so far: |g_n+1| <= C2 |g_n|^2 + h C1 |g_n| + h^3 C0, largest components
    double limit;      // of |g|; infinite where Eq. 13 does not hold: the step is too long
    long   states;     // that were looked at
    long   matrices;   // of derivatives that this took
} kd_realtime_limit;
kd_realtime_limit kd_realtime_bound_limit(const kd_realtime_bound *bound);

#endif
