// simulation/crossing.h: the first time in a step at which one of several functions changes its sign.
//
// Method: docs/methods/events.md. Knows functions of time only; what they belong to is the caller's.
#ifndef KD_SIMULATION_CROSSING_H
#define KD_SIMULATION_CROSSING_H

#include "core/memory.h"

// Functions of the time inside one step.
typedef struct kd_step_functions {
    kd_status (*values)(double t, void *context, double *out); // (n)
    // Bounds between two times of the step; -inf, inf: not known. NULL: of none
    kd_status (*bounds)(double t0, double t1, void *context, double *lower, double *upper);
    void *context;
} kd_step_functions;

typedef struct kd_crossing {
    int          n;
    int          samples; // times inside a step at which extrema are searched
    signed char *side;    // (n) the sign that a function has; 0: not known yet
    double      *band;    // (n) > 0: it sits at zero, and values up to this do not tell its sign
    double      *start;   // (n) values at the start of the step
    double      *end;     // (n) values at its end; of a crossing: there
    double      *rate;    // (n) change per time in the step before; infinity: there was none
    signed char *crossed; // (n) of a crossing: 1 rose, -1 fell, 0 did neither
    double      *low, *high, *middle, *lower, *upper; // (n)
    double      *sample_t, *sample;                   // (samples + 2), (n x (samples + 2))
} kd_crossing;

void kd_crossing_cut(kd_crossing *self, kd_arena *arena, int n, int samples);

// The first crossing in t0 .. t1, with start and end set. *found: it is at *t, exact to tolerance and behind the root;
// start, end, crossed belong to it, crossed has all functions that cross within the tolerance. Sides that were not
// known are. Touching zero is no crossing.
kd_status kd_crossing_find(kd_crossing *self, const kd_step_functions *f, double t0, double t1, double tolerance,
                           bool *found, double *t) KD_NODISCARD;

#endif
