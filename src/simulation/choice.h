// simulation/choice.h: which method suits the equations, at the start and along the motion. Method: docs/methods/choice.md
#ifndef KD_SIMULATION_CHOICE_H
#define KD_SIMULATION_CHOICE_H

#include <kardan/simulation.h>

// A formulation with an integrator
typedef struct kd_method_pair {
    kd_formulation     formulation;
    kd_integrator_kind integrator;
} kd_method_pair;

typedef struct kd_choice kd_choice;

// What fits the equations at x with the options: one method for motions that are not stiff, one for stiff ones. inputs are
// copied.
kd_status      kd_choice_create(kd_eom_data *point, const kd_inputs *inputs, const kd_state *x,
                                const kd_simulation_options *opt, kd_choice **choice) KD_NODISCARD;
void           kd_choice_destroy(kd_choice *self);                // NULL is fine
void           kd_choice_archive(kd_choice *self, kd_archive *a); // save or restore
kd_method_pair kd_choice_method(const kd_choice *self, bool stiff);
bool           kd_choice_starts_stiff(const kd_choice *self); // the first method is that for stiff motions
bool           kd_choice_may_change(const kd_choice *self);   // both methods fit
// The reason of the first choice, in words
const char *kd_choice_reason(const kd_choice *self);

// The method for stiff or not stiff motions begins.
void kd_choice_begin(kd_choice *self, bool stiff);
// After an accepted step of length h to x, or advised: the integrator says that the equations are stiff. true: the other
// method is better from here. Counts and evaluations decide, never clocks. Does not allocate.
bool kd_choice_look(kd_choice *self, const kd_state *x, double h, bool advised);
// Largest |eigenvalue| of the linearised equations at the last look [1/s]
double kd_choice_radius(const kd_choice *self);
double kd_choice_stable_step(const kd_choice *self); // [s] that stability allows an explicit method at that radius
double kd_choice_cost(const kd_choice *self);        // R: of an implicit step over that of an explicit one
// Where bdf on psf gets no further, as at tolerances near the rounding of its history, radau takes its place for good.
bool kd_choice_may_retreat(const kd_choice *self);
bool kd_choice_has_retreated(const kd_choice *self);
void kd_choice_retreat(kd_choice *self);

#endif
