// realtime_listen.c: kardan realtime --listen: inputs and outputs by name to a controller in another program, with the
// wire of examples/realtime. Answers belong to the time between steps: what does not come in time is held and counted.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/realtime.h"
#include "cli/wire.h"
#include "core/text.h"

typedef kd_realtime_task task;

static const double SLICE = 0.1; // [s] of waiting between two looks at Ctrl-C

// the line to the controller
struct kd_realtime_line {
    wire   wire;
    int    read[WIRE_PORTS], write[WIRE_PORTS]; // places of the controller's ports
    long   missing, wrong;                      // answers in a row
    double out[WIRE_PORTS], in[WIRE_PORTS];
};

// An input or output by its name, inputs also without "input." in front; -1: there is none
static int find(const kd_eom *eom, kd_kind kind, int n, const char *name)
{
    // names of paths or without their first word
    char own[200], whole[60];
    kd_text(whole, sizeof whole, "input.%s", name);
    for (int i = 0; i < n; i++) {
        kd_eom_name(eom, kind, i, own, sizeof own);
        if (strcmp(own, name) == 0 || (kind == KD_NAME_U && strcmp(own, whole) == 0)) return i;
    }
    return -1;
}

// The ports of the controller; false: there is no such port, said in refusal
static bool find_ports(task *t, char *refusal, size_t size)
{
    struct kd_realtime_line *l = t->line;
    const kd_dims            d = kd_eom_dims(t->subject.eom);
    // all are looked for, so that the last one that is missing is told
    for (int k = 0; k < l->wire.ports.nreads; k++) {
        l->read[k] = find(t->subject.eom, KD_NAME_Y, d.ny, l->wire.ports.read[k]);
        if (l->read[k] < 0) kd_text(refusal, size, "the model has no output '%s'", l->wire.ports.read[k]);
    }
    for (int k = 0; k < l->wire.ports.nwrites; k++) {
        l->write[k] = find(t->subject.eom, KD_NAME_U, d.nu, l->wire.ports.write[k]);
        if (l->write[k] < 0) kd_text(refusal, size, "the model has no input '%s'", l->wire.ports.write[k]);
    }
    // only inputs that it writes are external
    for (int k = 0; refusal[0] == '\0' && k < l->wire.ports.nwrites; k++) t->external[l->write[k]] = true;
    return refusal[0] == '\0';
}

// Nobody came; what came instead is told.
static void say_nobody(const task *t, const char *refusal)
{
    wire *w = &t->line->wire;
    kd_text(w->message, sizeof w->message,
            kd_cli_is_interrupted() ? "interrupted before a controller came" : "no controller within %g s",
            t->patience);
    if (w->refused > 0)
        kd_text_append(w->message, sizeof w->message, "; %ld refused, the last one because %s", w->refused, refusal);
    if (w->forged > 0) kd_text_append(w->message, sizeof w->message, "; %ld words without the key", w->forged);
    if (w->strange > 0) kd_text_append(w->message, sizeof w->message, "; %ld strange words", w->strange);
}

// A controller that fits. Those that do not are refused, and the next one may come.
static bool wait_for_controller(task *t)
{
    wire  *w = &t->line->wire;
    char   refusal[200] = "";
    double until = kd_cli_seconds() + t->patience;
    // in slices, so that Ctrl-C is heard
    while (kd_cli_seconds() < until && !kd_cli_is_interrupted()) {
        wire_status status = wire_accept(w, fmin(SLICE, t->patience));
        if (status == WIRE_HELD) continue;
        if (status != WIRE_OK) return false;
        // all its ports must be there
        refusal[0] = '\0';
        bool fits = find_ports(t, refusal, sizeof refusal);
        (void)wire_welcome(w, fits ? NULL : refusal);
        if (fits) return true;
        fprintf(stderr, "kardan: a controller was refused: %s\n", refusal);
    }
    say_nobody(t, refusal);
    return false;
}

kd_status kd_realtime_listen(task *t)
{
    int port = (int)t->port;
    t->line = calloc(1, sizeof *t->line);
    if (!t->line) return KD_ERR_MEMORY;
    wire *w = &t->line->wire;
    // closed until it listens: hang_up may come before
    w->socket = -1;
    // a key that was asked for must be there
    if (t->key && !wire_read_key(t->key, &w->key, t->message, sizeof t->message)) return KD_ERR_CONNECTION;
    bool listens = wire_listen(w, &port) == WIRE_OK;
    if (listens) fprintf(stderr, "kardan: listening on port %d\n", port);
    if (listens && wait_for_controller(t)) return KD_OK;
    kd_text(t->message, sizeof t->message, "%s", w->message);
    return KD_ERR_CONNECTION;
}

kd_status kd_realtime_exchange(task *t, long n, double seconds)
{
    struct kd_realtime_line *l = t->line;
    const double             time = kd_realtime_state(t->stepper)->t;
    // outputs there, inputs back; without an answer the last ones are held
    for (int k = 0; k < l->wire.ports.nreads; k++) l->out[k] = t->outputs[l->read[k]];
    wire_status status = wire_exchange(&l->wire, (uint64_t)n, time, l->out, l->in, fmax(0, fmin(seconds, t->timeout)));
    for (int k = 0; status == WIRE_OK && k < l->wire.ports.nwrites; k++) t->inputs[l->write[k]] = l->in[k];
    // how long nothing, or nothing good, has come
    if (status == WIRE_OK || status == WIRE_WRONG) l->missing = 0;
    l->missing += status == WIRE_HELD;
    l->wrong = status == WIRE_WRONG ? l->wrong + 1 : status == WIRE_OK ? 0 : l->wrong;
    if (l->wrong >= t->max_wrong) {
        kd_text(t->message, sizeof t->message,
                "the controller answered %ld times in a row with values that are not finite, the last time at t = %.9g "
                "s; its last good values were held",
                l->wrong, time);
        return KD_ERR_CONNECTION;
    }
    // a missing answer is no failure until there are too many in a row
    if (status != WIRE_FAILED && status != WIRE_ENDED && l->missing < t->give_up) return KD_OK;
    kd_text(t->message, sizeof t->message, "the controller is lost at t = %.9g s%s%s", time,
            l->wire.message[0] ? ": " : "", l->wire.message);
    return KD_ERR_CONNECTION;
}

kd_realtime_answers kd_realtime_answers_of(const task *t)
{
    const wire *w = &t->line->wire;
    return (kd_realtime_answers){w->fresh, w->held, w->stale, w->wrong, w->strange, w->forged, w->refused};
}

void kd_realtime_hang_up(task *t)
{
    if (!t->line) return;
    // the controller is told, if there is one
    if (t->line->wire.socket >= 0) wire_goodbye(&t->line->wire);
    wire_close(&t->line->wire);
    free(t->line);
    t->line = NULL;
}
