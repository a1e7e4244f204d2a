// loads.h: the laws of force elements.
#ifndef KARDAN_FORMALISM_LOADS_H
#define KARDAN_FORMALISM_LOADS_H

#include "formalism/system.h"

extern const kd_load_class kd_load_spring, kd_load_stop, kd_load_friction, kd_load_bushing, kd_load_applied,
    kd_load_tyre, kd_load_tyre_slip, kd_load_contact, kd_load_maxwell, kd_load_state, kd_load_user, kd_load_creep,
    kd_load_rigid;

// Longitudinal (1) or lateral (2) force of a tyre with slip, from the forces of its channels.
double kd_tyre_slip_force(const kd_load *load, const double *x, const double *force, int component);

#endif
