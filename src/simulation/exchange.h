// simulation/exchange.h: equations of motion for somebody else's integrator, as FMI calls it: model exchange.
//
// The states are y = (p, v, r), in full coordinates. The client moves them; what it asks for is answered at the closest state
// on the constraints, y + d(y), so that its errors do not add up to more than its own drift. y itself changes only at an
// instant: when something happens there, or when the drift has passed a tenth of the tolerance. Method: docs/methods/fmi.md
#ifndef KD_SIMULATION_EXCHANGE_H
#define KD_SIMULATION_EXCHANGE_H

#include <kardan/simulation.h>

typedef struct kd_exchange kd_exchange;

// x is made consistent, and is from now on the state that is answered for. The arrays of kd_simulation_create must
// outlive it, and so must eom and x; *inputs and *opt are copied.
kd_status kd_exchange_create(const kd_eom *eom, const kd_inputs *inputs, const kd_simulation_options *opt, kd_state *x,
                             kd_exchange **exchange, char *message, size_t size) KD_NODISCARD;
void      kd_exchange_destroy(kd_exchange *self); // NULL is fine

// How many indicators there will be, before anything is started.
kd_status kd_exchange_foresee(const kd_eom *eom, const kd_inputs *inputs, const kd_simulation_options *opt, kd_state *x,
                              int *indicators) KD_NODISCARD;

int  kd_exchange_count(const kd_exchange *self);      // states
int  kd_exchange_indicators(const kd_exchange *self); // functions whose sign tells an event
void kd_exchange_set_time(kd_exchange *self, double t);
void kd_exchange_set_states(kd_exchange *self, const double *y);
void kd_exchange_states(const kd_exchange *self, double *y);
void kd_exchange_touch(kd_exchange *self); // an input or a parameter has changed

// These answer at (t, y). They allocate nothing.
kd_status kd_exchange_derivatives(kd_exchange *self, double *dy) KD_NODISCARD;
kd_status kd_exchange_values(kd_exchange *self, double *indicators) KD_NODISCARD;
kd_status kd_exchange_bring(kd_exchange *self) KD_NODISCARD; // x is the state of (t, y)

// The client has made a step. *instant: y has drifted and is to be put back, at an instant.
kd_status kd_exchange_completed(kd_exchange *self, bool *instant) KD_NODISCARD;
// The instant at (t, y). *changed: y has changed, and with it x; *stop: an event asks for the end.
kd_status kd_exchange_instant(kd_exchange *self, bool *changed, bool *stop) KD_NODISCARD;
double    kd_exchange_next_time(const kd_exchange *self); // of the next instant that is known; infinity: none

void        kd_exchange_archive(kd_exchange *self, kd_archive *a);
const char *kd_exchange_message(const kd_exchange *self);

#endif
