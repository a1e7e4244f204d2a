// simulation/rows_of_events.h: constraints that come and go: one-sided rows g_i >= 0 and dry friction.
//
// Each has a switching function, in the order of the rows, one-sided ones first:
//     one-sided, off: g_i       falls through zero: impact, or the row holds from then on (rest)
//     one-sided, on:  -lambda_i falls through zero: release (the force on the motion is -G' lambda, g_i wants to grow)
//     friction, sticks:         limit_i - |mu_i| falls through zero: slides
//     friction, slides along d: d h_i falls through zero: sticks, or slides the other way
#ifndef KD_SIMULATION_ROWS_OF_EVENTS_H
#define KD_SIMULATION_ROWS_OF_EVENTS_H

#include <kardan/simulation.h>

typedef struct kd_event_rows kd_event_rows;

// NULL in *rows and KD_OK: the equations have none. point: an evaluation point of the caller, which is moved
kd_status kd_event_rows_create(kd_eom_data *point, const kd_inputs *inputs, const kd_event_options *opt,
                               kd_event_rows **rows) KD_NODISCARD;
void      kd_event_rows_destroy(kd_event_rows *rows);
void      kd_event_rows_archive(kd_event_rows *rows, kd_archive *a); // save or restore
int       kd_event_rows_count(const kd_event_rows *rows);            // switching functions
// Errors that the integrator admits: velocities below them have no sign. Without this call they have one. natural: atol counts in
// natural units of the model
void kd_event_rows_tolerances(kd_event_rows *rows, double rtol, double atol, bool natural);
// Size of what function i compares: forces, positions or velocities
double kd_event_rows_scale(const kd_event_rows *rows, int i);
// Values of function i up to this tell nothing while it leaves zero. 0: rounding only.
double kd_event_rows_noise(const kd_event_rows *rows, int i);
// How far the value of function i may fall in one step; infinity: any way. A sliding row comes to rest through the
// velocities in which its friction varies.
double kd_event_rows_stride(const kd_event_rows *rows, const kd_state *x, int i, double value);
// Their values at the acceleration stage of d, for the rows and directions of x.
kd_eval kd_event_rows_values(kd_event_rows *rows, kd_eom_data *d, const kd_state *x, double *out) KD_NODISCARD;
// Do they read multipliers for the rows of x? Otherwise positions and velocities are enough.
bool kd_event_rows_need_multipliers(const kd_event_rows *rows, const kd_state *x);
// At the start of a simulation: which rows hold? Changes active rows and z of x; v too where a row is met with g_i = 0
// and gI_i < 0.
kd_status kd_event_rows_start(kd_event_rows *rows, kd_state *x, char *message, size_t size) KD_NODISCARD;
// At an instant: x is the state before it, with functions crossed[i] != 0; changed in place (v, z, active rows, then a,
// lambda, mu, w of the new rows, so that no row of x contradicts its sign); tell is called for each thing that happens.
// side[i]: the sign that function i has from now on, which its value, near zero, cannot tell. Does not allocate.
typedef void (*kd_event_teller)(kd_event_kind kind, int index, int direction, const char *text, void *context);
kd_status kd_event_rows_instant(kd_event_rows *rows, kd_state *x, const signed char *crossed, signed char *side,
                                kd_event_teller tell, void *context, char *message, size_t size) KD_NODISCARD;
// The row of a function: i of lambda, nlambda + i of mu
int kd_event_rows_row(const kd_event_rows *rows, int function);
// Name of a function: "constraint 'floor'"
const char *kd_event_rows_name(const kd_event_rows *rows, int i, char *buffer, size_t size);

#endif
