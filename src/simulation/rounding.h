// simulation/rounding.h: what the rounding of the time costs where drives are very fast.
#ifndef KD_SIMULATION_ROUNDING_H
#define KD_SIMULATION_ROUNDING_H

#include <kardan/eom.h>
#include <kardan/integrator.h>

typedef struct kd_rounding kd_rounding;

// atol: of velocities. *rounding is NULL where it is not needed: no drives, or a method that evaluates at the ends of steps
// alone, whose times are exact
kd_status kd_rounding_create(const kd_eom *eom, const kd_inputs *inputs, const kd_integrator_info *method, double rtol,
                             double atol, kd_rounding **rounding) KD_NODISCARD;
void      kd_rounding_destroy(kd_rounding *self);                // NULL is fine
void      kd_rounding_archive(kd_rounding *self, kd_archive *a); // save or restore
// An accepted step. One that begins before the end of the last has taken that one's place
void kd_rounding_see(kd_rounding *self, kd_eom_data *data, double t0, double t1, const kd_state *x);
// Errors of velocities that rounding has left, in tolerances; *by: name of the drive with most of it
double kd_rounding_error(kd_rounding *self, const char **by);

#endif
