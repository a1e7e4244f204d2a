// realtime_saved.c: steppers that are written at the end of a run, and go on with the same bits.
#include "cli/realtime.h"
#include "cli/saved.h"
#include "core/text.h"

bool kd_realtime_saved_read(kd_realtime_task *t)
{
    char message[KD_REALTIME_MESSAGE] = "";
    if (!t->go_on) return true;
    kd_status status = kd_saved_read(t->go_on, &t->saved, message, sizeof message);
    if (status >= 0) status = kd_cli_saved_check(t->saved, &t->subject, &t->request, message, sizeof message);
    if (status < 0) fprintf(stderr, "kardan: --continue: %s\n", message[0] ? message : kd_status_sentence(status));
    return status >= 0;
}

kd_status kd_realtime_saved_go_on(kd_realtime_task *t)
{
    char            message[KD_REALTIME_MESSAGE - 300] = "";
    const kd_status status = t->saved ? kd_realtime_go_on(t->stepper, t->saved, message, sizeof message) : KD_OK;
    if (status < 0) kd_text(t->message, sizeof t->message, "--continue %.200s: %s", t->go_on, message);
    return status;
}

kd_status kd_realtime_saved_write(kd_realtime_task *t)
{
    char      message[KD_REALTIME_MESSAGE] = "";
    kd_saved *saved = NULL;
    if (!t->write_state) return KD_OK;
    kd_status status = kd_realtime_save(t->stepper, &saved, message, sizeof message);
    if (status >= 0) status = kd_cli_saved_mark(saved, &t->subject, &t->request);
    if (status >= 0) status = kd_saved_write(saved, t->write_state, message, sizeof message);
    if (status < 0) kd_text(t->message, sizeof t->message, "--write-state: %.1500s", message);
    kd_saved_destroy(saved);
    return status;
}
