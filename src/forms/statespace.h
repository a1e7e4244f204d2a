// forms/statespace.h: state-space form by independent coordinates (S2). Method: docs/methods/statespace.md
#ifndef KD_FORMS_STATESPACE_H
#define KD_FORMS_STATESPACE_H

#include <kardan/formulation.h>

kd_status kd_statespace_create(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                               const kd_formulation_options *opt, kd_dae **dae, char *message, size_t size);

#endif
