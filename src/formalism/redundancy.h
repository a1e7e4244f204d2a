// redundancy.h: rows of the constraints that follow from the others.  Method: docs/methods/redundancy.md
#ifndef KARDAN_FORMALISM_REDUNDANCY_H
#define KARDAN_FORMALISM_REDUNDANCY_H

#include <kardan/eom.h>

#include "core/memory.h"

typedef struct kd_redundancy {
    int   rank;       // generic rank of all rows
    int   start_rank; // rank at the start position; below rank: singular pose
    int   nsamples;   // samples that could be projected
    bool *keep;       // (nlambda), cut from the caller's arena
    bool  certain;    // dropped rows stayed at rounding on the samples projected with the kept rows alone
    bool *shares;     // (nlambda) the row takes part in a dependency: its reaction is not unique
} kd_redundancy;

kd_status kd_redundancy_find(const kd_eom *eom, const kd_inputs *inputs, const kd_state *start, kd_arena *arena,
                             kd_redundancy *out, char *message, size_t size) KD_NODISCARD;

#endif
