// events.c: the log of what happened at instants of a run.
#include "cli/events.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/text.h"
#include "io/file.h"
#include "model/model.h"

// Samples and breaks of functions of time are part of every step of such models: they are not logged.
static bool is_logged(kd_event_kind kind)
{
    return kind != KD_EVENT_SAMPLE && kind != KD_EVENT_BREAK;
}

// Is it a crossing in the direction that an event of the model is not for?
static bool is_other_way(const kd_model *m, const kd_event *event)
{
    if (!m || event->kind != KD_EVENT_SWITCH || event->index < 0 || event->index >= m->nevents) return false;
    const kd_crossing crossing = m->event[event->index].def.crossing;
    return crossing == (event->direction > 0 ? KD_CROSSING_FALLING : KD_CROSSING_RISING);
}

static kd_eval hear(const kd_event *event, const kd_state *before, const kd_state *after, void *context)
{
    kd_event_log *log = context;
    (void)before, (void)after;
    if (!is_logged(event->kind) || is_other_way(log->model, event)) return KD_EVAL_OK;
    if (log->n < KD_EVENTS_KEPT) {
        kd_logged_event *to = &log->list[log->n];
        to->t = event->t;
        to->kind = event->kind;
        kd_text(to->text, sizeof to->text, "%s", event->text);
    }
    log->n++;
    log->count[event->kind]++;
    return KD_EVAL_OK;
}

kd_status kd_event_log_open(kd_event_log *log, const kd_model *model, kd_event_options *options)
{
    *log = (kd_event_log){.model = model, .list = malloc(KD_EVENTS_KEPT * sizeof *log->list)};
    if (!log->list) return KD_ERR_MEMORY;
    options->listener = hear;
    options->context = log;
    return KD_OK;
}

void kd_event_log_close(kd_event_log *log)
{
    free(log->list);
    *log = (kd_event_log){0};
}

void kd_event_log_tell(const kd_event_log *log)
{
    if (log->n == 0) return;
    printf("  events:");
    for (int k = 0, told = 0; k < KD_EVENT_KIND_COUNT; k++) {
        if (log->count[k] == 0) continue;
        printf("%s %ld %s", told++ > 0 ? "," : "", log->count[k], kd_event_word((kd_event_kind)k));
    }
    const kd_logged_event *last = &log->list[(log->n < KD_EVENTS_KEPT ? log->n : KD_EVENTS_KEPT) - 1];
    printf("; %s: t = %.9g s, %s\n", log->n <= KD_EVENTS_KEPT ? "the last one" : "the last one that was kept", last->t,
           last->text);
}

void kd_event_log_tell_json(const kd_event_log *log, kd_json *json)
{
    kd_json_open(json, "events");
    for (int k = 0; k < KD_EVENT_KIND_COUNT; k++)
        if (is_logged((kd_event_kind)k)) kd_json_count(json, kd_event_word((kd_event_kind)k), log->count[k]);
    kd_json_close(json);
}

// A text in quotes, as tables have it: quotes inside are doubled, line breaks become blanks
static void put_quoted(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"') fputc('"', file);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
    }
    fputc('"', file);
}

kd_status kd_event_log_save(const kd_event_log *log, const char *title, const char *path, char *message, size_t size)
{
    FILE     *file;
    char      number[40];
    kd_status status = kd_file_open(path, &file, message, size);
    if (status < 0) return status;
    fprintf(file, "# kardan: %s\n# events of: %s\n", kd_version(), title);
    if (log->n > KD_EVENTS_KEPT) fprintf(file, "# the first %d of %ld\n", (int)KD_EVENTS_KEPT, log->n);
    fprintf(file, "t,kind,what\n");
    for (long i = 0; i < log->n && i < KD_EVENTS_KEPT; i++) {
        fprintf(file, "%s,%s,", kd_file_number(log->list[i].t, "%.17g", number, sizeof number),
                kd_event_word(log->list[i].kind));
        put_quoted(file, log->list[i].text);
        fputc('\n', file);
    }
    return kd_file_close(file, path, message, size);
}
