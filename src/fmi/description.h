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
char *kd_description_write(const kd_plant *plant, const kd_description_def *def);

#endif
