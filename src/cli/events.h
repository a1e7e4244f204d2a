// cli/events.h: the log of what happened at instants of a run: events of the model, impacts, stick and slip.
#ifndef KD_CLI_EVENTS_H
#define KD_CLI_EVENTS_H

#include <kardan/model.h>
#include <kardan/simulation.h>

#include "cli/cli.h"

enum { KD_EVENTS_KEPT = 20000, KD_EVENT_TEXT = 160 };

typedef struct kd_logged_event {
    double        t;
    kd_event_kind kind;
    char          text[KD_EVENT_TEXT];
} kd_logged_event;

typedef struct kd_event_log {
    const kd_model  *model; // NULL: equations in C
    kd_logged_event *list;  // (KD_EVENTS_KEPT) the first ones
    long             n;     // all of them
    long             count[KD_EVENT_KIND_COUNT];
} kd_event_log;

// The options will tell events to the log, which must live as long as the simulation. model: NULL for equations in C.
// KD_ERR_MEMORY
kd_status kd_event_log_open(kd_event_log *log, const kd_model *model, kd_event_options *options) KD_NODISCARD;
void      kd_event_log_close(kd_event_log *log);
// "events: 3 impacts, 1 rest"; nothing where nothing happened
void kd_event_log_tell(const kd_event_log *log);
void kd_event_log_tell_json(const kd_event_log *log, kd_json *json);
// A table: t, kind, what
kd_status kd_event_log_save(const kd_event_log *log, const char *title, const char *path, char *message,
                            size_t size) KD_NODISCARD;

#endif
