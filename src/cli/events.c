// events.c: what happened in a run, for simulate.
#include "cli/events.h"

#include <string.h>

enum { WORDS = 800 };

// equations that can have events get a file even if none happen
void kd_cli_events_take(kd_cli_events *events, const kd_eom *eom, kd_event_log *log)
{
    events->log = log;
    events->has_file = log && kd_event_log_is_due(eom, false);
}

// what happened without being announced is written, too
void kd_cli_events_end(kd_cli_events *events)
{
    if (events->log) events->has_file = events->has_file || kd_event_log_length(events->log) > 0;
}

kd_status kd_cli_events_save(kd_cli_events *events, const char *title, char *message, size_t size)
{
    if (!events->has_file) return KD_OK;
    return kd_event_log_save_csv(events->log, title, events->path, message, size);
}

// the words have lines: the first behind the title, others below it
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
