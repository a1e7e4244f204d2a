// fmi/fmu_file.h: an FMU as it lies in a file: its archive, its description, and what is wrong with them. Files are untrusted.
#ifndef KD_FMI_FMU_FILE_H
#define KD_FMI_FMU_FILE_H

#include <kardan/base.h>

#include "core/memory.h"
#include "fmi/zip.h"

// Types of variables; FMI 2.0 has Float64 (Real), Int32 (Integer), Boolean, String and Enumeration only.
#define KD_FMI_TYPE_LIST(X)                                                                                            \
    X(FLOAT64, "Float64")                                                                                              \
    X(FLOAT32, "Float32")                                                                                              \
    X(INT8, "Int8")                                                                                                    \
    X(UINT8, "UInt8")                                                                                                  \
    X(INT16, "Int16")                                                                                                  \
    X(UINT16, "UInt16")                                                                                                \
    X(INT32, "Int32")                                                                                                  \
    X(UINT32, "UInt32")                                                                                                \
    X(INT64, "Int64")                                                                                                  \
    X(UINT64, "UInt64")                                                                                                \
    X(BOOLEAN, "Boolean")                                                                                              \
    X(STRING, "String")                                                                                                \
    X(BINARY, "Binary")                                                                                                \
    X(ENUMERATION, "Enumeration")                                                                                      \
    X(CLOCK, "Clock")
typedef enum kd_fmi_type {
#define KD_FMI_TYPE_ENUM(name, word) KD_FMI_##name,
    KD_FMI_TYPE_LIST(KD_FMI_TYPE_ENUM)
#undef KD_FMI_TYPE_ENUM
        KD_FMI_TYPE_COUNT
} kd_fmi_type;

typedef enum kd_causality {
    KD_CAUSALITY_PARAMETER,
    KD_CAUSALITY_CALCULATED,
    KD_CAUSALITY_STRUCTURAL,
    KD_CAUSALITY_INPUT,
    KD_CAUSALITY_OUTPUT,
    KD_CAUSALITY_LOCAL,
    KD_CAUSALITY_INDEPENDENT,
    KD_CAUSALITY_COUNT
} kd_causality;

typedef enum kd_variability {
    KD_VARIABILITY_CONSTANT,
    KD_VARIABILITY_FIXED,
    KD_VARIABILITY_TUNABLE,
    KD_VARIABILITY_DISCRETE,
    KD_VARIABILITY_CONTINUOUS,
    KD_VARIABILITY_COUNT
} kd_variability;

typedef enum kd_initial { KD_INITIAL_NONE, KD_INITIAL_EXACT, KD_INITIAL_APPROX, KD_INITIAL_CALCULATED } kd_initial;

typedef struct kd_fmi_variable {
    const char    *name, *unit, *start; // as written; NULL: not given
    kd_fmi_type    type;
    kd_causality   causality;
    kd_variability variability;
    kd_initial     initial; // with the standard's default filled in; NONE: it has none
    unsigned       reference;
    int            derivative; // number of the variable that it is the derivative of; -1: none
    bool           is_array;
    int            line;
} kd_fmi_variable;

typedef struct kd_fmi_interface {
    const char *identifier; // NULL: the FMU has no such interface
    bool        saves, serialises, directional, adjoint, event_mode, variable_step;
    bool        needs_completed_step;
    int         line;
} kd_fmi_interface;

typedef struct kd_fmi_description {
    int              version; // 2, 3
    const char      *name, *token, *about, *tool;
    kd_fmi_interface exchange, cosimulation;
    bool             scheduled;
    bool             has_start, has_stop, has_step, has_tolerance;
    double           t_start, t_stop, step, tolerance;
    kd_fmi_variable *variable;
    int              nvariables, nindicators, nstates;
    int *rate; // (nstates) numbers of the variables that are the derivatives of the states, in the order of these
} kd_fmi_description;

typedef struct kd_fmu_file {
    char              *bytes;
    size_t             size;
    kd_zip            *zip;
    kd_arena           arena; // of the description
    kd_fmi_description about;
    char              *text; // modelDescription.xml
} kd_fmu_file;

// What is wrong, one call each: a sentence, with the line of the description (0: none). fatal: it cannot be used.
typedef void (*kd_fmu_finding)(int line, bool fatal, const char *sentence, void *context);

// Archive and description, with all that breaks the rules of the standard told to `tell` (may be NULL). KD_OK: they could be
// read, though there may be findings; < 0: message says why not.
kd_status kd_fmu_file_open(kd_fmu_file *fmu, const char *path, kd_fmu_finding tell, void *context, char *message,
                           size_t size) KD_NODISCARD;
// The description alone, from a text
kd_status kd_fmi_description_read(const char *text, size_t length, kd_arena *arena, kd_fmi_description *about,
                                  kd_fmu_finding tell, void *context, char *message, size_t size) KD_NODISCARD;
void      kd_fmu_file_close(kd_fmu_file *fmu);
// The binary for this machine, its name in the archive; NULL: there is none. exchange: of that interface
const char *kd_fmu_file_binary(const kd_fmu_file *fmu, bool exchange, char *name, size_t size);
const char *kd_fmi_type_word(kd_fmi_type type);
const char *kd_causality_word(kd_causality causality);
const char *kd_variability_word(kd_variability variability);

#endif
