// forms/assembled.h: the forms whose Newton matrix gamma F_x' + F_x is assembled: index3, index2, index1,
// baumgarte1, baumgarte2, ggl, psf1.  Method: docs/methods/assembled.md
#ifndef KD_FORMS_ASSEMBLED_H
#define KD_FORMS_ASSEMBLED_H

#include <kardan/formulation.h>

kd_status kd_assembled_create(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, kd_formulation form,
                              const kd_formulation_options *opt, kd_dae **dae, char *message, size_t size) KD_NODISCARD;

#endif
