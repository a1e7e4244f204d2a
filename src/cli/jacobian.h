// cli/jacobian.h: pictures of the Newton matrix of a run: pattern, column groups, instants of evaluation.
#ifndef KD_CLI_JACOBIAN_H
#define KD_CLI_JACOBIAN_H

#include <kardan/formulation.h>

#include "report/spy.h"
#include "results/recording.h"

typedef struct kd_jacobian {
    const kd_dae       *dae;
    const char         *title, *folder, *name;
    const kd_instants  *instants;
    const kd_recording *recording; // has the curve behind the instants: an input, or the first channel
} kd_jacobian;

// folder/NAME-pattern.svg, -groups.svg, -compressed.svg, -instants.svg (S0 figures 3, 4, 5 and 7). The folder must
// exist.
kd_status kd_jacobian_save(const kd_jacobian *jacobian, char *message, size_t size) KD_NODISCARD;

#endif
