// forms/ode.h: the underlying ordinary differential equation as a kd_dae.  Method: docs/methods/projection.md
#ifndef KD_FORMS_ODE_H
#define KD_FORMS_ODE_H

#include <kardan/formulation.h>

kd_status kd_ode_create(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                        const kd_formulation_options *opt, kd_dae **dae, char *message, size_t size) KD_NODISCARD;

#endif
