// loads.h: the laws of force elements.
#ifndef KARDAN_ELEMENT_LOADS_H
#define KARDAN_ELEMENT_LOADS_H

#include "system/system.h"

extern const kd_load_class kd_load_spring, kd_load_stop, kd_load_friction, kd_load_bushing, kd_load_applied,
    kd_load_tyre, kd_load_tyre_slip, kd_load_contact, kd_load_maxwell, kd_load_state, kd_load_user, kd_load_creep,
    kd_load_rigid, kd_load_hydraulic, kd_load_air_spring;

// Of expressions inside laws: the value (NULL: 0), J[row, :] += factor * gradient through the outputs of controllers,
// and J[row, variable] += value
double kd_law_value(const kd_expr *e, const double *x, kd_work *w);
void   kd_law_gradient(const kd_load *load, int row, const kd_expr *e, double factor, const double *x, kd_work *w,
                       double *J);
void   kd_law_put(const kd_load *load, int row, int variable, double value, double *J);

// Range of max(0, stiffness depth + damping speed) where depth > 0, else 0
kd_interval kd_push_bounds(double stiffness, double damping, kd_interval depth, kd_interval speed);

// Start values of the inner states, for variables x; what sensors read: pressure (1), volume (2), pressure of the
// auxiliary volume (3)
void   kd_fluid_start(const kd_load *load, const double *x, kd_work *w, double *r);
double kd_air_spring_reading(const kd_load *load, const double *x, int number);

// Longitudinal (1) or lateral (2) force of a tyre with slip, from the forces of its channels.
double kd_tyre_slip_force(const kd_load *load, const double *x, const double *force, int component);

#endif
