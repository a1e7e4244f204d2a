// forms/fault.h: what went wrong and what components are called, the same in all forms.
#ifndef KD_FORMS_FAULT_H
#define KD_FORMS_FAULT_H

#include "point/acceleration.h"
#include <kardan/eom.h>

typedef struct kd_form_fault {
    kd_status status;
    char      message[512];
} kd_form_fault;

kd_status kd_form_fail(kd_form_fault *fault, kd_status status, const char *format, ...) KD_PRINTF(3, 4);
// Keep what the acceleration object, the evaluation point refused
void kd_form_keep(kd_form_fault *fault, const kd_acceleration *acceleration, const char *what);
void kd_form_keep_data(kd_form_fault *fault, const kd_eom_data *data, kd_eval answer);
// The same where something was refused; the answer itself. Asked after every evaluation
static inline kd_eval kd_form_note(kd_form_fault *fault, const kd_acceleration *acceleration, kd_eval answer,
                                   const char *what)
{
    if (answer != KD_EVAL_OK) kd_form_keep(fault, acceleration, what);
    return answer;
}
static inline kd_eval kd_form_note_data(kd_form_fault *fault, const kd_eom_data *data, kd_eval answer)
{
    if (answer != KD_EVAL_OK) kd_form_keep_data(fault, data, answer);
    return answer;
}
// "position 'x'": component i of a kind
const char *kd_form_component(const kd_eom *eom, const char *word, kd_kind kind, int i, char *buffer, size_t size);

#endif
