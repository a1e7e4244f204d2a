// simulation/singular.h: did a run end near a singular position of the constraints, and which ones are it?
#ifndef KD_SIMULATION_SINGULAR_H
#define KD_SIMULATION_SINGULAR_H

#include <kardan/eom.h>

typedef struct kd_singularity {
    double before, now; // least singular value of the constraint matrix beside the largest one, at two states
    int    row[3];      // rows of [g; h] that nearly depend on each other at the second, the largest part first
    int    nrows;
} kd_singularity;

// false: not to be had (no constraints, too many of them, functions that fail, no memory)
bool kd_singularity_find(const kd_eom *eom, const kd_inputs *inputs, const kd_state *before, const kd_state *now,
                         kd_singularity *out);
// Names of its rows, with commas
void kd_singularity_names(const kd_eom *eom, const kd_singularity *found, char *text, size_t size);

// The same of d_w: row are the auxiliary variables that its equations hardly determine any more. before, now: least
// singular value beside the largest entries of the rows at either state
bool kd_singularity_of_auxiliary(const kd_eom *eom, const kd_inputs *inputs, const kd_state *before,
                                 const kd_state *now, kd_singularity *out);
void kd_singularity_variables(const kd_eom *eom, const kd_singularity *found, char *text, size_t size);

#endif
