// redundancy.h: which holonomic constraints are redundant everywhere, and which only in the start position.
// Method: docs/methods/redundancy.md
#ifndef KARDAN_SYSTEM_REDUNDANCY_H
#define KARDAN_SYSTEM_REDUNDANCY_H

#include <kardan/eom.h>

#include "core/memory.h"

typedef struct kd_redundancy {
    int   rank;        // rank of all rows on the constraint manifold; the number of rows to keep
    int   start_rank;  // rank in the start position; below rank: a singular position
    int   nsamples;    // other positions of the mechanism that were reached
    bool *keep;        // (nlambda) false: the row may be left out
    bool *shares;      // (nlambda) the force of this row is not unique: it takes part in a dependency of the rows
    bool  certain;     // the rows left out stayed at rounding in finite motions with the kept rows alone
    int   neliminated; // clusters whose rows were eliminated sparse, without full matrices
} kd_redundancy;

// eom: equations with all rows; point: an evaluation point of them to work at, NULL: one for the call. inputs may be NULL. start: assembled, g(p,s,t) = 0; only t, p, s, z, theta are read.
// keep and shares are cut from the caller's arena. message (may be NULL, size bytes): the result in words, or the
// reason of a failure.
// KD_OK, whatever the result; KD_ERR_MEMORY, KD_ERR_ARGUMENT; KD_ERR_INCONSISTENT: start violates the constraints;
// KD_ERR_DECOMPOSITION; the fault of a function that cannot be evaluated at the start or asks to stop.
kd_status kd_redundancy_find(const kd_eom *eom, kd_eom_data *point, const kd_inputs *inputs, const kd_state *start,
                             kd_arena *arena, kd_redundancy *out, char *message, size_t size) KD_NODISCARD;
// The same with sparse elimination in clusters of so many coordinates and more
kd_status kd_redundancy_find_by(const kd_eom *eom, kd_eom_data *point, const kd_inputs *inputs, const kd_state *start,
                                int large, kd_arena *arena, kd_redundancy *out, char *message,
                                size_t size) KD_NODISCARD;

#endif
