// foreign/foreign.h: foreign code inside of a model: a Functional Mock-up Unit, a controller in a shared object.
//
// A unit keeps its states to itself and goes forward only. Its blocks count their samples in z; with that count a unit knows
// a new run (0), the next sample, and the last one once more, and refuses everything else in words: a state in between
// that it does not have.
#ifndef KD_FOREIGN_FOREIGN_H
#define KD_FOREIGN_FOREIGN_H

#include <kardan/base.h>

#include "core/memory.h"

enum { KD_FOREIGN_MESSAGE = 1000 };

typedef struct kd_foreign kd_foreign;

typedef struct kd_foreign_setup {
    const char        *block; // name of the block
    const char        *path;  // of the file
    int                ninputs, noutputs, nparameters;
    const char *const *input_name, *const *output_name, *const *parameter_name; // of an FMU
    const double *parameter;
    bool          exchange, cosimulation; // asked for; neither: what it has, co-simulation first
    bool          in_process;             // it is trusted
    double        timeout;                // [s] for one call in its own process
    double        tolerance;              // NaN: as its description says
    double        period;
    const char   *arguments;
} kd_foreign_setup;

typedef struct kd_foreign_class {
    // New, at t with these inputs; also in the middle of a run of before
    kd_status (*start)(kd_foreign *unit, double t, const double *u);
    // From unit->t on, with the inputs that it has
    kd_status (*advance)(kd_foreign *unit, double t);
    // Outputs with the inputs u at unit->t
    kd_status (*answer)(kd_foreign *unit, const double *u, double *y);
    // Other numbers, from the next start on; NULL: it has none
    void (*change)(kd_foreign *unit, double period, const double *parameter);
    void (*destroy)(kd_foreign *unit);
} kd_foreign_class;

// The object of a class begins with this
struct kd_foreign {
    const kd_foreign_class *class;
    kd_arena arena;
    int      ninputs, noutputs;
    double   t;                           // where it is
    double   count;                       // samples so far
    double  *u, *y;                       // (ninputs), (noutputs) of the last sample
    bool     broken;                      // the last call failed: message says why
    char     message[KD_FOREIGN_MESSAGE]; // why the last call failed
};

// Files are read and names are found; nothing of the unit runs yet. fmi/fmu_unit.c, foreign/library.c; the runtime refuses both
kd_status kd_foreign_open_fmu(const kd_foreign_setup *setup, kd_foreign **unit, char *message,
                              size_t size) KD_NODISCARD;
kd_status kd_foreign_open_library(const kd_foreign_setup *setup, kd_foreign **unit, char *message,
                                  size_t size) KD_NODISCARD;
// Arrays of a new unit; its arena is released by kd_foreign_close
kd_status kd_foreign_init(kd_foreign *unit, const kd_foreign_class *class, const kd_foreign_setup *setup) KD_NODISCARD;
void      kd_foreign_close(kd_foreign *unit); // NULL is fine

// Sample number `count` of a run, at t: outputs from inputs.
kd_status kd_foreign_sample(kd_foreign *unit, double count, double t, const double *u, double *y) KD_NODISCARD;
// The numbers of the block have changed with parameters of the model; NULL is fine
void        kd_foreign_change(kd_foreign *unit, double period, const double *parameter);
const char *kd_foreign_message(const kd_foreign *unit);
kd_status   kd_foreign_refuse(kd_foreign *unit, kd_status status, const char *format, ...) KD_PRINTF(3, 4);

#endif
