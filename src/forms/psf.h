// forms/psf.h: the projected strangeness-free form as a kd_dae (S3 Theorem 2.4).  Method: docs/methods/psf.md
#ifndef KD_FORMS_PSF_H
#define KD_FORMS_PSF_H

#include <kardan/formulation.h>

kd_status kd_psf_create(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                        const kd_formulation_options *opt, kd_dae **dae, char *message, size_t size) KD_NODISCARD;

#endif
