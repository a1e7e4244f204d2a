// process_system.c: another program as a system: a plant on the wire of `kardan simulate --listen`, whose controller is the master.
//
// At each communication point it tells its outputs; inputs go back, which it holds over its next macro step. They are those of the middle
// of that step, right up to second order. Its steps must be those of the master. It cannot go back.
#include "cosim/process_system.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "cosim/cosim.h"

typedef struct process_system {
    kd_cosim_system      base;
    kd_arena             arena;
    kd_process_run       run;
    const kd_cosim_wire *wire;
    void                *line;   // NULL: not connected
    uint64_t             number; // of the last outputs that came
    kd_signal           *signal; // (ninputs)
    double              *u, *y;  // (ninputs), (noutputs)
    const char         **read, **write;
} process_system;

static const double SAME_TIME = 1e-9; // of a macro step, [s] beside 1 s

static process_system *of(kd_cosim_system *s)
{
    return (process_system *)s;
}

static kd_status refuse_process(kd_cosim_system *s, const char *why)
{
    kd_text(s->message, sizeof s->message, "port %d: %s", of(s)->run.port, why);
    return KD_ERR_CONNECTION;
}

static void lay_line(kd_cosim_system *s, const kd_cosim_wire *wire)
{
    of(s)->wire = wire;
}

// The outputs that it tells next, at the time t
static kd_status receive(kd_cosim_system *s, double t)
{
    process_system *p = of(s);
    char            why[300] = "";
    double          there = NAN;
    // the numbers of the other side, or why there are none
    if (!p->wire->receive(p->line, &p->number, &there, p->y, p->run.patience, why, sizeof why))
        return refuse_process(s, why);
    // nothing but finite numbers enters the run
    for (int i = 0; i < s->noutputs; i++)
        if (!isfinite(p->y[i])) {
            kd_text(why, sizeof why, "output '%s' is no finite number", s->output[i].name);
            return refuse_process(s, why);
        }
    // both must be at the same instant: the other one counts its own steps
    s->t = t;
    if (fabs(there - t) <= SAME_TIME * fmax(1, fabs(t))) return KD_OK;
    kd_text(why, sizeof why, "it is at t = %.9g s, the others at %.9g s: give both the same macro step and start",
            there, t);
    return refuse_process(s, why);
}

static kd_status start(kd_cosim_system *s, double t, const double *u)
{
    process_system *p = of(s);
    char            why[300] = "";
    if (!p->wire)
        return refuse_process(
            s, "systems of other programs need a line to them (kd_cosim_options.wire), which kardan cosimulate has");
    for (int i = 0; i < s->ninputs; i++) p->signal[i] = (kd_signal){t, {u[i], 0, 0}};
    if (p->line) p->wire->close(p->line);
    const kd_cosim_ports ports = {s->noutputs, s->ninputs, p->read, p->write};
    p->line = p->wire->connect(p->run.port, p->run.key, &ports, p->run.patience, why, sizeof why);
    return p->line ? receive(s, t) : refuse_process(s, why);
}

static void set_inputs(kd_cosim_system *s, const kd_signal *u)
{
    if (s->ninputs > 0) memcpy(of(s)->signal, u, (size_t)s->ninputs * sizeof *u);
}

static kd_status step(kd_cosim_system *s, double t_end, double *event)
{
    process_system *p = of(s);
    char            why[300] = "";
    const double    middle = s->t + (t_end - s->t) / 2;
    *event = INFINITY;
    for (int i = 0; i < s->ninputs; i++) p->u[i] = kd_signal_at(&p->signal[i], middle);
    if (!p->wire->answer(p->line, p->number, s->t, p->u, why, sizeof why)) return refuse_process(s, why);
    return receive(s, t_end);
}

static kd_status outputs(kd_cosim_system *s, const double *u, double *y)
{
    (void)u;
    if (s->noutputs > 0) memcpy(y, of(s)->y, (size_t)s->noutputs * sizeof *y);
    return KD_OK;
}

static void destroy(kd_cosim_system *s)
{
    process_system *p = of(s);
    if (!p) return;
    if (p->line) p->wire->close(p->line);
    kd_arena_release(&p->arena);
    kd_free(p);
}

static const kd_cosim_class CLASS = {.word = "process",
                                     .start = start,
                                     .set_inputs = set_inputs,
                                     .step = step,
                                     .outputs = outputs,
                                     .lay_line = lay_line,
                                     .destroy = destroy};

kd_status kd_process_system_create(const char *name, const kd_process_run *run, kd_cosim_system **out)
{
    *out = NULL;
    process_system *p = kd_alloc(sizeof *p);
    if (!p) return KD_ERR_MEMORY;
    kd_cosim_system *s = &p->base;
    // ports as the file of the run tells them
    *s = (kd_cosim_system){.class = &CLASS, .name = name, .ninputs = run->ninputs, .noutputs = run->noutputs};
    p->run = *run;
    // buffers of a message, one number for each port
    s->input = kd_arena_cut(&p->arena, (size_t)s->ninputs + 1, sizeof *s->input);
    s->output = kd_arena_cut(&p->arena, (size_t)s->noutputs + 1, sizeof *s->output);
    p->read = kd_arena_cut(&p->arena, (size_t)s->noutputs + 1, sizeof *p->read);
    p->write = kd_arena_cut(&p->arena, (size_t)s->ninputs + 1, sizeof *p->write);
    p->signal = kd_arena_cut(&p->arena, (size_t)s->ninputs + 1, sizeof *p->signal);
    p->u = kd_cut_double(&p->arena, s->ninputs + 1);
    p->y = kd_cut_double(&p->arena, s->noutputs + 1);
    if (p->arena.failed) {
        destroy(s);
        return KD_ERR_MEMORY;
    }
    // names that go over the wire, in the order of the ports
    for (int i = 0; i < s->ninputs; i++) s->input[i] = run->input[i], p->write[i] = run->input[i].name;
    for (int i = 0; i < s->noutputs; i++) s->output[i] = run->output[i], p->read[i] = run->output[i].name;
    *out = s;
    return KD_OK;
}
