// kardan/fmi.h: models as Functional Mock-up Units (FMI 2.0 and 3.0) for other tools, and what FMUs contain.
// Guide: docs/guide/fmi.md
#ifndef KARDAN_FMI_H
#define KARDAN_FMI_H

#include <kardan/model.h>

KD_EXTERN_C_BEGIN

typedef enum kd_fmu_kind { KD_FMU_EXCHANGE = 1, KD_FMU_COSIMULATION = 2, KD_FMU_BOTH = 3 } kd_fmu_kind;

typedef struct kd_fmu_export_options {
    int         version; // of FMI: 2 or 3                                                        default 3
    kd_fmu_kind kind;    // model exchange, co-simulation, or both                                default both
    // (ninputs) inputs of the model with laws of their own that shall come from outside; those without always do
    const char *const *inputs;
    int                ninputs;
    const char *identifier; // of the model in the FMU, of letters, digits and '_'; NULL: from the name of the file
    const char *binary;     // the shared object of the FMU; NULL: libkardan-fmu.so beside the program or library
    bool sources; // the sources of the binary as well, with a description of how to build it (FMI 3.0)  default false
    unsigned cookie; // set by kd_fmu_export_options_default
} kd_fmu_export_options;
KD_API kd_fmu_export_options kd_fmu_export_options_default(void);

// Write the model of a file (with the files that it refers to) as the FMU of path. The FMU needs libc and libm only. message
// (may be NULL) says why not, or what is worth knowing.
KD_API kd_status kd_fmu_export(const kd_model *model, const char *model_path, const char *path,
                               const kd_fmu_export_options *opt, char *message, size_t size) KD_NODISCARD;

KD_EXTERN_C_END
#endif
