// cli/method.h: formulation, integrator and decomposition: as asked for, else chosen, with the reason.
#ifndef KD_CLI_METHOD_H
#define KD_CLI_METHOD_H

#include "cli/subject.h"

typedef struct kd_method {
    // as asked for on the command line or in the model file; NULL: to be chosen
    const char *formulation, *integrator, *decomposition;
    double      rtol, atol; // 0: rtol alone sets both; neither: the integrator's
    // what is taken
    kd_simulation_options options;
    char                  reason[300]; // "psf with radau: keeps the constraints on all levels to rounding"
} kd_method;

// Words for the help pages and for the settings of a run.
const char *kd_method_decomposition(const kd_method *method);
const char *kd_method_coordinates(const kd_subject *subject); // of a model file

// Translate the words. false: a word is unknown, which has been told on standard error.
bool kd_method_read(kd_method *method);
// Choose what was not asked for, by size and constraints of the subject; sets reason.
void kd_method_choose(kd_method *method, const kd_subject *subject);

#endif
