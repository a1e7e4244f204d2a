// cli/method.h: formulation, integrator, decomposition, derivatives and the like: as asked for, else chosen, with the
// reason.
#ifndef KD_CLI_METHOD_H
#define KD_CLI_METHOD_H

#include "cli/subject.h"

typedef struct kd_method {
    // as asked for on the command line or in the model file; NULL: to be chosen
    const char       *formulation, *integrator, *decomposition;
    const char       *derivatives, *pattern, *update, *form, *projection, *parametrisation; // NULL: the formulation's
    const char       *family;           // of cvode or arkode; NULL: the integrator's
    double            projection_bound; // 0: the formulation's
    int               order_max;        // 0: the integrator's
    kd_cli_list       settings;         // --option NAME=VALUE
    const kd_run_def *run;              // of the model, with its options; NULL: none
    bool              shows_matrix;     // pictures of the Newton matrix are wanted
    bool              automatic;        // chosen for the equations, whatever the model file names
    bool              fixed;            // psf with radau where no method is named: nothing changes on the way
    char              formulation_place[400], integrator_place[400]; // "file.yaml:4:7: run: " if the file says so
    double            rtol, atol; // 0: rtol alone sets both; neither: the integrator's
    // what is taken
    kd_simulation_options options;     // with the method that a run begins with
    bool                  chosen;      // by kardan, and changed on the way
    bool                  suited;      // the formulation is the one that suits integrator and pictures
    bool                  redundant;   // constraints depend on each other at the start: svd
    char                  reason[600]; // "psf with radau: keeps the constraints on all levels to rounding"
} kd_method;

// Words for the help pages and for the settings of a run.
const char *kd_method_decomposition(const kd_method *method);
const char *kd_method_coordinates(const kd_subject *subject); // of a model file

// Options that set the words, at most KD_METHOD_OPTIONS; returns their number.
enum { KD_METHOD_OPTIONS = 15 };
int kd_method_options(kd_method *method, kd_cli_option *options);

// What of it differs from the usual, as (name, value) for the settings of a run and (key, value) for JSON; i counts
// from 0, false: no more. buffer holds a value that is a number.
typedef struct kd_method_setting {
    const char *key, *name, *value;
} kd_method_setting;
bool kd_method_setting_of(const kd_method *method, int i, kd_method_setting *setting, char *buffer, size_t size);

// Is the option "radau.max_newton" given: by --option; by that or in the model file?
bool kd_method_asks(const kd_method *method, const char *name);
bool kd_method_sets(const kd_method *method, const char *name);
// Options that --option or the model file set, with what is taken: "radau.max_newton=7, ..."; returns text.
const char *kd_method_options_set(const kd_method *method, char *text, size_t size);
// What the command line leaves open is as the model file says under `run`; the subject must stay in its place.
void kd_method_take_run(kd_method *method, const kd_subject *subject);
// Translate the words. false: a word is unknown, which has been told on standard error.
bool kd_method_read(kd_method *method);
// Options for a simulation: its method is left open where it is kardan's choice.
kd_simulation_options kd_method_for_run(const kd_method *method);
// Choose what was not asked for, by size and constraints of the subject; sets reason.
void kd_method_choose(kd_method *method, const kd_subject *subject);
// The same in two parts, for who makes a simulation: what is left to its choice, and what it has chosen (NULL: as
// kd_method_choose).
void kd_method_decide(kd_method *method, const kd_subject *subject);
void kd_method_tell(kd_method *method, const kd_subject *subject, const kd_simulation *simulation);
// Are constraints dependent at the start, so that only svd works?
bool kd_method_is_redundant(const kd_subject *subject);
// Do the parts fit together? false: standard error has been told why not, and what works.
bool kd_method_check(const kd_method *method);

#endif
