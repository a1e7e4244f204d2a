// fmi/description.h: the modelDescription.xml of an exported model.
#ifndef KD_FMI_DESCRIPTION_H
#define KD_FMI_DESCRIPTION_H

#include <kardan/fmi.h>

#include "fmi/plant.h"

typedef struct kd_description_def {
    int         version; // 2 or 3
    kd_fmu_kind kind;
    const char *identifier, *token, *title;
    double      t_end, step, tolerance;
    const bool *tunable; // (parameters) of the plant, in its order
} kd_description_def;

// The text, kd_alloc'd; NULL: out of memory.
// terminalsAndIcons.xml of FMI 3.0: inputs and outputs of one structured name (wheel.F, wheel.x) are a terminal. *text NULL: there are none.
// Released by kd_free
kd_status kd_terminals_write(const kd_plant *plant, char **text) KD_NODISCARD;
char     *kd_description_write(const kd_plant *plant, const kd_description_def *def);

#endif
