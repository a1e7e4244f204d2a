// simulate_listen.c: kardan simulate --listen: at the ends of macro steps of equal length outputs go to a controller in another program, and
// inputs come back that are held over the next one. In between the integrator of the run makes its own steps.
//
// Unlike a real-time plant the run waits for every answer: its motion does not depend on how fast the two programs are.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/simulate_task.h"
#include "cli/wire_meet.h"
#include "core/text.h"

struct kd_simulate_line {
    wire      wire;
    int       read[WIRE_PORTS], write[WIRE_PORTS]; // places of the controller's ports
    double    held[WIRE_PORTS];                    // inputs that it has written
    bool      written;                             // it has, at least once
    kd_inputs own;                                 // of the model
    kd_probe *probe;
};

// Inputs of the model, and over them those that the controller holds; until its first word they are as the model says
static kd_eval inputs_at(double t, void *context, double *u, double *du, double *ddu)
{
    const struct kd_simulate_line *l = context;
    const kd_eval                  answer = l->own.eval ? l->own.eval(t, l->own.context, u, du, ddu) : KD_EVAL_OK;
    for (int k = 0; k < l->wire.ports.nwrites && l->written && answer == KD_EVAL_OK; k++) {
        u[l->write[k]] = l->held[k];
        du[l->write[k]] = ddu[l->write[k]] = 0;
    }
    return answer;
}

static kd_status refuse_listening(kd_simulate_task *t, const char *why)
{
    kd_text(t->message, sizeof t->message, "--listen: %s", why);
    return KD_ERR_CONNECTION;
}

kd_status kd_simulate_listen(kd_simulate_task *t)
{
    int port = (int)t->port;
    if (!(t->macro_step > 0)) return refuse_listening(t, "the length of the macro steps is needed: --macro-step H");
    if (t->go_on || t->cross_check || t->write_state)
        return refuse_listening(
            t, "a run with a controller outside cannot be repeated: no --continue, --cross-check, --write-state");
    struct kd_simulate_line *l = t->line = calloc(1, sizeof *l);
    if (!l) return KD_ERR_MEMORY;
    l->wire.socket = -1;
    if (t->key && !wire_read_key(t->key, &l->wire.key, l->wire.message, sizeof l->wire.message))
        return refuse_listening(t, l->wire.message);
    const bool listens = wire_listen(&l->wire, &port) == WIRE_OK;
    if (listens) fprintf(stderr, "kardan: listening on port %d\n", port);
    if (!listens || !kd_wire_meet(&l->wire, t->subject.eom, t->patience, l->read, l->write))
        return refuse_listening(t, l->wire.message);
    l->own = t->subject.inputs;
    t->subject.inputs = (kd_inputs){inputs_at, l};
    return kd_subject_probe(&t->subject, NULL, &l->probe);
}

// Outputs at the present state
static kd_status read_outputs(kd_simulate_task *t, double *out)
{
    struct kd_simulate_line *l = t->line;
    const kd_status          status = kd_probe_set(l->probe, t->subject.x);
    const double            *y = status >= 0 ? kd_probe_values(l->probe, KD_GROUP_Y) : NULL;
    if (!y && l->wire.ports.nreads > 0) return refuse_listening(t, kd_probe_message(l->probe));
    for (int k = 0; k < l->wire.ports.nreads; k++) out[k] = y[l->read[k]];
    return KD_OK;
}

// Outputs there, inputs back
static kd_status exchange(kd_simulate_task *t, uint64_t number)
{
    struct kd_simulate_line *l = t->line;
    double                   out[WIRE_PORTS], in[WIRE_PORTS];
    char                     why[400];
    const kd_status          status = read_outputs(t, out);
    if (status < 0) return status;
    const wire_status answer = wire_exchange(&l->wire, number, t->subject.x->t, out, in, t->patience);
    if (answer == WIRE_OK) {
        memcpy(l->held, in, sizeof l->held);
        l->written = true;
        return KD_OK;
    }
    kd_text(why, sizeof why, "t = %.9g s: %s", t->subject.x->t,
            answer == WIRE_HELD    ? "the controller does not answer"
            : answer == WIRE_WRONG ? "the controller answered with values that are not finite"
            : answer == WIRE_ENDED ? "the controller has gone"
                                   : l->wire.message);
    return refuse_listening(t, why);
}

kd_status kd_simulate_run_listening(kd_simulate_task *t)
{
    const double t0 = t->subject.x->t;
    double       out[WIRE_PORTS], in[WIRE_PORTS];
    uint64_t     k = 0;
    kd_status    status = KD_OK;
    for (; status >= 0 && status != KD_STOPPED && t->subject.x->t < t->t_end; k++) {
        status = exchange(t, k + 1);
        // inputs jump
        if (status >= 0) status = kd_simulation_resume(t->simulation);
        if (status >= 0)
            status = kd_simulation_run(t->simulation, fmin(t->t_end, t0 + (double)(k + 1) * t->macro_step));
    }
    // the end is told, too; nobody waits for an answer
    if (status >= 0 && read_outputs(t, out) >= 0)
        (void)wire_exchange(&t->line->wire, k + 1, t->subject.x->t, out, in, 0);
    return status;
}

void kd_simulate_hang_up(kd_simulate_task *t)
{
    if (!t->line) return;
    kd_probe_destroy(t->line->probe);
    if (t->line->wire.socket >= 0) wire_goodbye(&t->line->wire);
    wire_close(&t->line->wire);
    free(t->line);
    t->line = NULL;
}
