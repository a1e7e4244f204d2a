// events.c: what happened in a run, for simulate.
#include "cli/events.h"

#include <string.h>

enum { MOST_EVENTS = 20000, WORDS = 800 };

kd_status kd_cli_events_listen(kd_cli_events *events, const kd_eom *eom, kd_event_options *options)
{
    if (!kd_event_log_is_due(eom, true)) return KD_OK;
    kd_status status = kd_event_log_create(eom, MOST_EVENTS, &events->log);
    if (status < 0) return status;
    options->listener = kd_event_log_hear;
    options->context = events->log;
    events->has_file = kd_event_log_is_due(eom, false);
    return KD_OK;
}

void kd_cli_events_end(kd_cli_events *events, const kd_simulation *simulation)
{
    if (!events->log) return;
    kd_event_log_set_samples(events->log, kd_simulation_events(simulation, KD_EVENT_SAMPLE));
    events->has_file = events->has_file || kd_event_log_length(events->log) > 0;
}

kd_status kd_cli_events_save(kd_cli_events *events, const char *title, char *message, size_t size)
{
    if (!events->has_file) return KD_OK;
    return kd_event_log_save_csv(events->log, title, events->path, message, size);
}

void kd_cli_events_print(const kd_cli_events *events)
{
    char text[WORDS];
    if (!events->log) return;
    kd_event_log_describe(events->log, text, sizeof text);
    const char *head = "  events: ";
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        printf("%s%.*s\n", head, (int)length, line);
        line += length + (line[length] != '\0');
        head = "          ";
    }
}

void kd_cli_events_tell(const kd_cli_events *events, kd_json *json)
{
    if (!events->log) return;
    kd_json_open(json, "events");
    for (int kind = 0; kind < KD_EVENT_KIND_COUNT; kind++)
        kd_json_count(json, kd_event_word((kd_event_kind)kind), kd_event_log_count(events->log, (kd_event_kind)kind));
    kd_json_close(json);
}

void kd_cli_events_release(kd_cli_events *events)
{
    kd_event_log_destroy(events->log);
    events->log = NULL;
}
