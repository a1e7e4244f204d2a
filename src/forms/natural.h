// natural.h: natural sizes of the components of a DAE, which absolute tolerances may refer to (kd_dae.unit).
#ifndef KARDAN_FORMS_NATURAL_H
#define KARDAN_FORMS_NATURAL_H

#include <kardan/dae.h>
#include <kardan/eom.h>
#include <kardan/formulation.h>

// Allocates and fills dae->unit from the start x: positions and velocities by kd_eom_position_unit, kd_eom_unit and
// kd_eom_time, multipliers by the work that they do on a unit of motion, beside the energy of the heaviest one.
kd_status kd_natural_units(const kd_eom *eom, kd_formulation form, const kd_inputs *inputs, const kd_state *x,
                           kd_dae *dae) KD_NODISCARD;

#endif
