// simulation/collapse.h: runs that get nowhere: steps that gain no time at a jump of a force, motion that blows up.
#ifndef KD_SIMULATION_COLLAPSE_H
#define KD_SIMULATION_COLLAPSE_H

#include <kardan/simulation.h>

typedef struct kd_collapse kd_collapse;

// Steps so far
typedef struct kd_effort {
    long attempts;
    long retracted;  // of them were accepted at first, and taken back after a check
    long unverified; // steps that did not stand the check, but could not be made shorter
    long failed;     // attempts in which Newton's method found no solution
} kd_effort;

// data is moved by each look, and must outlive it; *inputs is copied.
kd_status kd_collapse_create(kd_eom_data *data, const kd_inputs *inputs, kd_tolerances tolerances,
                             kd_collapse **collapse) KD_NODISCARD;
void      kd_collapse_destroy(kd_collapse *self);                                    // NULL is fine
void      kd_collapse_archive(kd_collapse *self, kd_archive *a);                     // save or restore
void      kd_collapse_begin(kd_collapse *self, const kd_state *x, kd_effort effort); // a new start
// After an accepted step, x its end: KD_OK; KD_ERR_STAGNATION, KD_ERR_BLOW_UP: go no further, message says why. Does
// not allocate
kd_status kd_collapse_see(kd_collapse *self, const kd_state *x, kd_effort effort, double t_end, char *message,
                          size_t size) KD_NODISCARD;
// After a failure, in words: does a force jump where x is? "": not as far as can be seen
void kd_collapse_cause(kd_collapse *self, const kd_state *x, char *text, size_t size);

#endif
