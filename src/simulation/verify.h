// simulation/verify.h: does an accepted step stand? Judged before anybody sees it; a step that does not is taken back.
// Method: docs/methods/verify.md
#ifndef KD_SIMULATION_VERIFY_H
#define KD_SIMULATION_VERIFY_H

#include <math.h>

#include <kardan/simulation.h>

// What a check says about the last step. The driver takes the step back when h is shorter than it.
typedef struct kd_verdict {
    double      h;    // length [s] to which it is to be shortened; INFINITY: it stands
    double      size; // what was found, over what the tolerance allows
    const char *why;  // in words; must live until the next step
} kd_verdict;
static const kd_verdict KD_STANDS = {INFINITY, 0, NULL};

#endif
