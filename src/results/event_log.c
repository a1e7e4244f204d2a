// event_log.c: a list of the events of a run, its summary and its table.
#include "results/event_log.h"

#include "core/memory.h"
#include "core/shortest.h"
#include "core/text.h"
#include "results/csv.h"
#include "results/file.h"

struct kd_event_log {
    const kd_eom    *eom;
    int              length, capacity;                                      // events that are kept
    kd_logged_event *event;                                                 // (capacity)
    long             count[KD_EVENT_KIND_COUNT];                            // kept or not
    double           first[KD_EVENT_KIND_COUNT], last[KD_EVENT_KIND_COUNT]; // times
};

// Rows that open, hit, stick or slide, functions that switch; samples and breaks where they count
bool kd_event_log_is_due(const kd_eom *eom, bool samples_and_breaks)
{
    const kd_dims     d = kd_eom_dims(eom);
    const kd_eom_def *def = kd_eom_definition(eom);
    bool              due = d.nswitch > 0 || (samples_and_breaks && (def->discrete || def->next_break));
    for (int i = 0; i < d.nlambda; i++) due = due || kd_eom_one_sided(eom, i);
    for (int i = 0; i < d.nmu; i++) due = due || kd_eom_is_friction(eom, i);
    return due;
}

kd_status kd_event_log_create(const kd_eom *eom, int capacity, kd_event_log **log)
{
    *log = NULL;
    if (capacity < 0) return KD_ERR_ARGUMENT;
    // room for all events before the run: hearing does not allocate
    kd_event_log    *self = kd_alloc(sizeof *self);
    kd_logged_event *event = kd_alloc((size_t)capacity * sizeof *event);
    if (!self || !event) {
        kd_free(event);
        kd_free(self);
        return KD_ERR_MEMORY;
    }
    self->eom = eom;
    self->event = event;
    self->capacity = capacity;
    *log = self;
    return KD_OK;
}

void kd_event_log_forget(kd_event_log *self)
{
    *self = (kd_event_log){.eom = self->eom, .capacity = self->capacity, .event = self->event};
}

void kd_event_log_destroy(kd_event_log *self)
{
    if (!self) return;
    kd_free(self->event);
    kd_free(self);
}

// ---- hearing --------------------------------------------------------------------------------------------------------

// What is driven: a row of lambda or mu, or a coordinate of its own
static void name_driven(const kd_eom *eom, int index, char *buffer, size_t size)
{
    const int nlambda = kd_eom_dims(eom).nlambda;
    if (index < 0)
        kd_eom_name(eom, KD_NAME_DRIVE, -1 - index, buffer, size);
    else if (index < nlambda)
        kd_eom_name(eom, KD_NAME_LAMBDA, index, buffer, size);
    else
        kd_eom_name(eom, KD_NAME_MU, index - nlambda, buffer, size);
}

static void name_of(const kd_eom *eom, const kd_event *event, char *buffer, size_t size)
{
    // the function, reaction or coordinate that made the event
    buffer[0] = '\0';
    switch (event->kind) {
    case KD_EVENT_SWITCH:
        kd_eom_name(eom, KD_NAME_SWITCH, event->index, buffer, size);
        break;
    case KD_EVENT_IMPACT:
    case KD_EVENT_REST:
    case KD_EVENT_RELEASE:
        kd_eom_name(eom, KD_NAME_LAMBDA, event->index, buffer, size);
        break;
    case KD_EVENT_STICK:
    case KD_EVENT_SLIDE:
        kd_eom_name(eom, KD_NAME_MU, event->index, buffer, size);
        break;
    case KD_EVENT_KICK:
        name_driven(eom, event->index, buffer, size);
        break;
    default:
        break;
    }
}

kd_eval kd_event_log_hear(const kd_event *event, const kd_state *before, const kd_state *after, void *log)
{
    kd_event_log *self = log;
    (void)before, (void)after;
    // all are counted, the first ones are kept
    if (self->count[event->kind]++ == 0) self->first[event->kind] = event->t;
    self->last[event->kind] = event->t;
    if (self->length == self->capacity) return KD_EVAL_OK;
    kd_logged_event *e = &self->event[self->length++];
    e->t = event->t;
    e->kind = event->kind;
    e->direction = event->direction;
    name_of(self->eom, event, e->element, sizeof e->element);
    kd_text(e->text, sizeof e->text, "%s", event->text ? event->text : "");
    return KD_EVAL_OK;
}

void kd_event_log_set_samples(kd_event_log *self, long count)
{
    self->count[KD_EVENT_SAMPLE] = count;
}

// ---- queries --------------------------------------------------------------------------------------------------------

int kd_event_log_length(const kd_event_log *self)
{
    return self->length;
}

const kd_logged_event *kd_event_log_at(const kd_event_log *self, int i)
{
    return &self->event[i];
}

long kd_event_log_count(const kd_event_log *self, kd_event_kind kind)
{
    return self->count[kind];
}

long kd_event_log_total(const kd_event_log *self)
{
    long total = 0;
    // samples come by the thousand and say nothing about the motion
    for (int kind = 0; kind < KD_EVENT_KIND_COUNT; kind++)
        if (kind != KD_EVENT_SAMPLE) total += self->count[kind];
    return total;
}

int kd_event_log_marks(const kd_event_log *self, double *out)
{
    // samples and breaks would cover a plot with lines
    int n = 0;
    for (int i = 0; i < self->length; i++)
        if (self->event[i].kind != KD_EVENT_SAMPLE && self->event[i].kind != KD_EVENT_BREAK)
            out[n++] = self->event[i].t;
    return n;
}

// ---- words and table ------------------------------------------------------------------------------------------------

static const char *const words[KD_EVENT_KIND_COUNT][2] = {
    [KD_EVENT_SWITCH] = {"change of sign", "changes of sign"},
    [KD_EVENT_IMPACT] = {"impact", "impacts"},
    [KD_EVENT_REST] = {"rest", "rests"},
    [KD_EVENT_RELEASE] = {"release", "releases"},
    [KD_EVENT_STICK] = {"start of sticking", "starts of sticking"},
    [KD_EVENT_SLIDE] = {"start of sliding", "starts of sliding"},
    [KD_EVENT_SAMPLE] = {"sample", "samples"},
    [KD_EVENT_BREAK] = {"break of a function of time", "breaks of functions of time"},
    [KD_EVENT_KICK] = {"jump of a prescribed velocity", "jumps of prescribed velocities"},
};

const char *kd_event_log_describe(const kd_event_log *self, char *buffer, size_t size)
{
    kd_text(buffer, size, "%s", "");
    for (int kind = 0; kind < KD_EVENT_KIND_COUNT; kind++) {
        const long n = self->count[kind];
        if (n == 0) continue;
        kd_text_append(buffer, size, "%s%ld %s", buffer[0] ? "\n" : "", n, words[kind][n > 1]);
        if (kind == KD_EVENT_SAMPLE) continue; // their times are not told
        kd_text_append(buffer, size, ", %sat t = %.9g s", n > 1 ? "first " : "", self->first[kind]);
        if (n > 1) kd_text_append(buffer, size, ", last at t = %.9g s", self->last[kind]);
    }
    return buffer;
}

kd_status kd_event_log_save_csv(const kd_event_log *self, const char *title, const char *path, char *message,
                                size_t size)
{
    FILE     *file;
    char      number[40];
    kd_status status = kd_file_open(path, &file, message, size);
    if (status < 0) return status;
    // the same comment lines as tables of results have, title in one line
    fprintf(file, "# kardan: %s\n# title: ", kd_version());
    for (const char *c = title; *c; c++) fputc(*c == '\n' || *c == '\r' ? ' ' : *c, file);
    fputc('\n', file);
    // a full log: events behind the last one are only counted
    if (self->length == self->capacity) fprintf(file, "# the first %d events\n", self->length);
    fputs("t,kind,element,direction,text\n", file);
    // names and texts may hold commas and quotes
    for (int i = 0; i < self->length; i++) {
        const kd_logged_event *e = &self->event[i];
        fprintf(file, "%s,%s,", kd_shortest_text(e->t, number), kd_event_word(e->kind));
        kd_csv_put_text(file, e->element);
        fprintf(file, ",%d,", e->direction);
        kd_csv_put_text(file, e->text);
        fputc('\n', file);
    }
    return kd_file_close(file, path, message, size);
}
