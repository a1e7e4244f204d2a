// fmi/plant.h: a model as another tool sees it: numbers with references, steps or states, saved and restored.
//
// One object serves FMI 2.0 and 3.0, co-simulation and model exchange; src/fmu has the entry points. The folder has
// model.yaml (written by `kardan export fmu`, flat), the files that it refers to, and plant.txt: which inputs come from
// outside. The list of variables follows from the model alone, so that the writer of the description and the FMU agree.
#ifndef KD_FMI_PLANT_H
#define KD_FMI_PLANT_H

#include <kardan/base.h>

typedef enum kd_plant_kind {
    KD_PLANT_TIME,
    KD_PLANT_INPUT,      // index: of u
    KD_PLANT_PARAMETER,  // index: in kd_model_parameters
    KD_PLANT_OUTPUT,     // index: channel of the probe, as of LOCAL
    KD_PLANT_STATE,      // index: in (p, v, r)
    KD_PLANT_DERIVATIVE, // index: the same
    KD_PLANT_INDICATOR,  // index: of the functions whose sign tells an event
    KD_PLANT_LOCAL,
} kd_plant_kind;

typedef struct kd_plant_variable { // its reference is its place in the list
    kd_plant_kind kind;
    int           index;
    const char   *name;  // structured, as FMI wants it: joint.'left-arm'.q, der(x), wheel[2].v
    const char   *own;   // as kardan says it
    const char   *unit;  // ""
    double        start; // of inputs and parameters
} kd_plant_variable;

typedef struct kd_plant kd_plant;

// The model of a folder, read and built; nothing moves yet.
kd_status kd_plant_open(const char *folder, kd_plant **plant, char *message, size_t size) KD_NODISCARD;
void      kd_plant_close(kd_plant *plant); // NULL is fine

const kd_plant_variable *kd_plant_variables(const kd_plant *plant, int *count);
int kd_plant_first(const kd_plant *plant, kd_plant_kind kind, int *count); // reference of the first
// Can this parameter be changed while the model runs? Tried with a value close by, and back.
bool                    kd_plant_is_tunable(kd_plant *plant, unsigned reference);
const struct kd_system *kd_plant_system(const kd_plant *plant);
const char             *kd_plant_message(const kd_plant *plant); // why the last call failed

// ---- start ----------------------------------------------------------------------------------------------------------
typedef enum kd_plant_mode { KD_PLANT_COSIMULATION, KD_PLANT_EXCHANGE } kd_plant_mode;
// How and when it starts; tolerance 0: the model's.
void      kd_plant_setup(kd_plant *plant, kd_plant_mode mode, double t_start, double tolerance);
kd_status kd_plant_start(kd_plant *plant) KD_NODISCARD; // with the values that are set
void      kd_plant_reset(kd_plant *plant);              // as it was opened
double    kd_plant_time(const kd_plant *plant);

// ---- values ---------------------------------------------------------------------------------------------------------
// Inputs and parameters at any time: while it runs, they hold from the next step or instant on.
kd_status kd_plant_set(kd_plant *plant, unsigned reference, double value) KD_NODISCARD;
kd_status kd_plant_slope(kd_plant *plant, unsigned reference, double rate) KD_NODISCARD; // of an input, from now on
kd_status kd_plant_get(kd_plant *plant, unsigned reference, double *value) KD_NODISCARD; // starts it where it must
// Derivative of the unknowns along dknown, by differences of fourth order: knowns are inputs, states, time.
kd_status kd_plant_directional(kd_plant *plant, const unsigned *unknown, size_t nunknowns, const unsigned *known,
                               size_t nknowns, const double *dknown, double *dunknown) KD_NODISCARD;

// ---- co-simulation --------------------------------------------------------------------------------------------------
typedef struct kd_plant_outcome {
    double t;       // that was reached
    bool   event;   // it stopped there because something happened
    bool   stopped; // the model asks for the end
    bool   asked;   // who watches steps has asked for an early return
} kd_plant_outcome;
// Who is told of every step of the integrator, at its end, where values can be read; false: the step of co-simulation ends there.
// Before the start
typedef bool (*kd_plant_watcher)(double t, void *context);
void kd_plant_watch(kd_plant *plant, kd_plant_watcher watcher, void *context);
// From t on by h; to_event: not beyond the next instant at which something happens.
kd_status kd_plant_step(kd_plant *plant, double t, double h, bool to_event, kd_plant_outcome *out) KD_NODISCARD;

// ---- model exchange -------------------------------------------------------------------------------------------------
int       kd_plant_states(const kd_plant *plant);     // how many
int       kd_plant_indicators(const kd_plant *plant); // likewise
void      kd_plant_set_time(kd_plant *plant, double t);
kd_status kd_plant_set_states(kd_plant *plant, const double *y) KD_NODISCARD;
kd_status kd_plant_get_states(kd_plant *plant, double *y) KD_NODISCARD;
kd_status kd_plant_derivatives(kd_plant *plant, double *dy) KD_NODISCARD;
kd_status kd_plant_events(kd_plant *plant, double *indicators) KD_NODISCARD;
void      kd_plant_nominals(const kd_plant *plant, double *nominal);
kd_status kd_plant_completed(kd_plant *plant, bool *instant) KD_NODISCARD;
kd_status kd_plant_instant(kd_plant *plant, bool *changed, bool *stop) KD_NODISCARD;
double    kd_plant_next_time(const kd_plant *plant); // infinity: none

// ---- saved ----------------------------------------------------------------------------------------------------------
typedef struct kd_saved kd_saved;
kd_status               kd_plant_save(kd_plant *plant, kd_saved **saved) KD_NODISCARD;
kd_status               kd_plant_restore(kd_plant *plant, const kd_saved *saved) KD_NODISCARD;

#endif
