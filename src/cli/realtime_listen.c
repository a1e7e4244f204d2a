// realtime_listen.c: kardan realtime --listen: inputs and outputs by name to a controller in another program, with the
// wire of examples/realtime. Answers belong to the time between steps: what does not come in time is held and counted.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/realtime.h"
#include "cli/wire_meet.h"
#include "core/text.h"

typedef kd_realtime_task task;

// the line to the controller
struct kd_realtime_line {
    wire   wire;
    int    read[WIRE_PORTS], write[WIRE_PORTS]; // places of the controller's ports
    long   missing, wrong;                      // answers in a row
    double out[WIRE_PORTS], in[WIRE_PORTS];
};

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
    if (listens && kd_wire_meet(w, t->subject.eom, t->patience, t->line->read, t->line->write)) {
        // only inputs that it writes are external
        for (int k = 0; k < w->ports.nwrites; k++) t->external[t->line->write[k]] = true;
        return KD_OK;
    }
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
