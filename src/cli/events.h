// cli/events.h: the events of a run on the command line: listened to, in words, as JSON, in a file.
#ifndef KD_CLI_EVENTS_H
#define KD_CLI_EVENTS_H

#include "cli/cli.h"
#include "results/event_log.h"

typedef struct kd_cli_events {
    kd_event_log *log;      // NULL: the equations have none
    bool          has_file; // switching functions, one-sided constraints, friction: the file is written, even if empty
    char          path[4096]; // of the file
} kd_cli_events;

// The log of a recorder (NULL: none), which keeps it. path was set before.
void      kd_cli_events_take(kd_cli_events *events, const kd_eom *eom, kd_event_log *log);
void      kd_cli_events_end(kd_cli_events *events); // after the run
kd_status kd_cli_events_save(kd_cli_events *events, const char *title, char *message, size_t size) KD_NODISCARD;
void      kd_cli_events_print(const kd_cli_events *events);               // lines of the summary
void      kd_cli_events_tell(const kd_cli_events *events, kd_json *json); // counts

#endif
