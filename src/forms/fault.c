// fault.c: what went wrong and what components are called, the same in all forms.
#include "forms/fault.h"
#include "core/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

kd_status kd_form_fail(kd_form_fault *fault, kd_status status, const char *format, ...)
{
    va_list arguments;
    fault->status = status;
    va_start(arguments, format);
    (void)vsnprintf(fault->message, sizeof fault->message, format, arguments);
    va_end(arguments);
    return status;
}

void kd_form_keep(kd_form_fault *fault, const kd_acceleration *acceleration, const char *what)
{
    const char *message;
    kd_status   status = kd_acceleration_fault(acceleration, &message);
    kd_form_fail(fault, status, "%s%s", what, message);
}

void kd_form_keep_data(kd_form_fault *fault, const kd_eom_data *data, kd_eval answer)
{
    kd_status status = kd_eom_data_fault(data).status;
    if (status >= 0) status = answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
    kd_form_fail(fault, status, "%s", kd_eom_data_message(data));
}

const char *kd_form_component(const kd_eom *eom, const char *word, kd_kind kind, int i, char *buffer, size_t size)
{
    char name[128];
    kd_eom_name(eom, kind, i, name, sizeof name);
    const char *quote = strchr(name, '\'') ? "" : "'"; // names of joints bring their own
    kd_text(buffer, size, "%s %s%s%s", word, quote, name, quote);
    return buffer;
}
