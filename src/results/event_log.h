// results/event_log.h: the events of a run in their order, with names and times; in words and as a table.
#ifndef KD_RESULTS_EVENT_LOG_H
#define KD_RESULTS_EVENT_LOG_H

#include <kardan/simulation.h>

typedef struct kd_logged_event {
    double        t;
    kd_event_kind kind;
    int           direction;   // of a switching function: 1 rose, -1 fell; of sliding: 1, -1
    char          element[96]; // name of the switching function, constraint or friction; "" of samples and breaks
    char          text[200];
} kd_logged_event;

typedef struct kd_event_log kd_event_log;

// Can the equations have events? samples and breaks: count these, too.
bool kd_event_log_is_due(const kd_eom *eom, bool samples_and_breaks);
// Room for capacity events; those beyond are counted. eom must outlive the log.
kd_status kd_event_log_create(const kd_eom *eom, int capacity, kd_event_log **log) KD_NODISCARD;
void      kd_event_log_destroy(kd_event_log *log); // NULL is fine
void      kd_event_log_forget(kd_event_log *log);  // all events, before another run
// Listener of a simulation (kd_event_options.listener with the log as context). Does not allocate.
kd_eval kd_event_log_hear(const kd_event *event, const kd_state *before, const kd_state *after, void *log);
// How many samples there were: a simulation does not tell them unless it is asked to.
void kd_event_log_set_samples(kd_event_log *log, long count);

int                    kd_event_log_length(const kd_event_log *log); // events that were kept
const kd_logged_event *kd_event_log_at(const kd_event_log *log, int i);
long                   kd_event_log_count(const kd_event_log *log, kd_event_kind kind); // kept or not
long                   kd_event_log_total(const kd_event_log *log);                     // without samples

// One line per kind: "13 impacts, first at t = 0.4515 s, last at t = 3.6 s"; "" without events.
const char *kd_event_log_describe(const kd_event_log *log, char *buffer, size_t size);
// Times of the events that plots mark: not those of samples and breaks. out (kd_event_log_length); answers how many.
int kd_event_log_marks(const kd_event_log *log, double *out);
// Columns t, kind, element, direction, text.
kd_status kd_event_log_save_csv(const kd_event_log *log, const char *title, const char *path, char *message,
                                size_t size) KD_NODISCARD;

#endif
