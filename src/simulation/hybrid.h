// simulation/hybrid.h: the instants of hybrid equations in a simulation: when they come, what happens there.
//
// Between instants the driver integrates; after each step it looks (kd_hybrid_look). At an instant x is the limit
// from the left; passing it (kd_hybrid_pass) makes x the limit from the right, from which the integrator starts
// again.
#ifndef KD_SIMULATION_HYBRID_H
#define KD_SIMULATION_HYBRID_H

#include <kardan/simulation.h>

typedef struct kd_hybrid kd_hybrid;

// The motion inside the last step: p, v, r of x at time t, and guesses of the rest; x may be the state of the
// simulation.
typedef kd_status (*kd_dense_motion)(double t, kd_state *x, void *context);

// NULL in *hybrid and KD_OK: the equations have none. point: the driver's evaluation point, which is moved; x is the
// state of the simulation, which passing changes.
kd_status kd_hybrid_create(kd_eom_data *point, const kd_inputs *inputs, const kd_simulation_options *opt, kd_state *x,
                           kd_dense_motion motion, void *context, kd_hybrid **hybrid) KD_NODISCARD;
void      kd_hybrid_destroy(kd_hybrid *self);                // NULL is fine
void      kd_hybrid_archive(kd_hybrid *self, kd_archive *a); // save or restore

// x is consistent: which rows hold, samples that are due (created only), signs of the functions. Changes x.
kd_status kd_hybrid_begin(kd_hybrid *self, bool created) KD_NODISCARD;

// Where the next step has to end, <= t_end; the present time: there is an instant at once.
double kd_hybrid_target(const kd_hybrid *self, double t_end);
// Are there functions to be watched: must x be complete after each step?
bool kd_hybrid_watch(const kd_hybrid *self);
// After a step from t0 to the time of x. solved: x has all of w .. a. A crossing inside moves x back to it.
kd_status kd_hybrid_look(kd_hybrid *self, double t0, bool solved) KD_NODISCARD;
bool      kd_hybrid_pending(const kd_hybrid *self); // x is the limit from the left of an instant
// Pass the instant. KD_OK, KD_STOPPED (passed, and the run is to end), < 0; again pending when functions changed their
// sign by what happened.
kd_status kd_hybrid_pass(kd_hybrid *self) KD_NODISCARD;

// ---- steps of somebody else (simulation/exchange.h) -----------------------------------------------------------------
// Functions that are watched, and their values at a state that is solved for. A function that has not left zero since its
// last crossing shows the side that it is on.
int       kd_hybrid_functions(const kd_hybrid *self);
kd_status kd_hybrid_values(kd_hybrid *self, const kd_state *x, double *out) KD_NODISCARD;
// x, solved for, is where a step from t0 on ended: what has crossed there and is due at its time becomes pending.
kd_status kd_hybrid_arrive(kd_hybrid *self, double t0) KD_NODISCARD;
double    kd_hybrid_next_time(const kd_hybrid *self); // of breaks and samples; infinity: none

// Did the last instant change z or inputs only, at the end of a step?
bool kd_hybrid_is_smooth(const kd_hybrid *self);

long        kd_hybrid_count(const kd_hybrid *self, kd_event_kind kind);
const char *kd_hybrid_message(const kd_hybrid *self); // why it failed or stopped

#endif
