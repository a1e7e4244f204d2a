// fmu_system.c: an FMU as a system: all its inputs and outputs are ports, other variables become outputs where they are asked for.
//
// Model exchange is integrated with inputs as polynomials of the time; co-simulation holds inputs over a step, at the value of its
// middle, which is right up to second order.
#include "cosim/fmu_system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "expr/quantity.h"
#include "fmi/fmu_unit.h"

enum { MOST_PARAMETERS = 200, MORE_PORTS = 200 };

typedef struct fmu_system {
    kd_cosim_system base;
    kd_arena        arena;
    kd_fmu_unit    *fmu;
    kd_signal      *signal; // (ninputs)
    kd_signal      *slot_signal[KD_COSIM_SLOTS];
} fmu_system;

static fmu_system *of(kd_cosim_system *s)
{
    return (fmu_system *)s;
}

static kd_status told(fmu_system *f, kd_status status)
{
    if (status < 0)
        kd_text(f->base.message, sizeof f->base.message, "%.*s", KD_COSIM_MESSAGE - 1,
                kd_foreign_message(kd_fmu_unit_base(f->fmu)));
    return status < 0 ? status : KD_OK;
}

// ---- ports ----------------------------------------------------------------------------------------------------------

// Units are names of the FMU's own; those that kardan does not know cannot be checked
static kd_port port_of(const kd_fmi_variable *v)
{
    kd_unit    unit;
    char       why[300];
    int        column;
    const bool known = v->unit && kd_unit_parse(v->unit, NULL, &unit, &column, why, sizeof why);
    return (kd_port){v->name, known ? v->unit : "", v->start ? strtod(v->start, NULL) : 0};
}

static int find_output(kd_cosim_system *s, const char *name)
{
    fmu_system *f = of(s);
    const int   i = kd_fmu_unit_find(f->fmu, name);
    if (i < s->noutputs) return i;
    s->output[i] = port_of(kd_fmu_unit_output(f->fmu, i));
    s->noutputs = i + 1;
    return i;
}

// ---- the run --------------------------------------------------------------------------------------------------------

static void eval(double t, void *context, double *u)
{
    const fmu_system *f = context;
    for (int i = 0; i < f->base.ninputs; i++) u[i] = kd_signal_at(&f->signal[i], t);
}

static kd_status start(kd_cosim_system *s, double t, const double *u)
{
    fmu_system *f = of(s);
    for (int i = 0; i < s->ninputs; i++) f->signal[i] = (kd_signal){t, {u[i], 0, 0}};
    s->t = t;
    const kd_status status = told(f, kd_fmu_unit_start(f->fmu, t, u));
    s->forgets = status >= 0 && !kd_fmu_unit_saves(f->fmu);
    return status;
}

static void set_inputs(kd_cosim_system *s, const kd_signal *u)
{
    fmu_system *f = of(s);
    if (s->ninputs > 0) memcpy(f->signal, u, (size_t)s->ninputs * sizeof *u);
}

static kd_status step(kd_cosim_system *s, double t_end, double *event)
{
    fmu_system         *f = of(s);
    const kd_fmu_inputs inputs = {eval, f};
    *event = INFINITY;
    const kd_status status = told(f, kd_fmu_unit_go(f->fmu, t_end, &inputs, event));
    s->t = kd_fmu_unit_base(f->fmu)->t;
    return status;
}

static kd_status outputs(kd_cosim_system *s, const double *u, double *y)
{
    return told(of(s), kd_fmu_unit_outputs(of(s)->fmu, u, y));
}

static kd_status save(kd_cosim_system *s, int slot)
{
    fmu_system *f = of(s);
    if (s->ninputs > 0) memcpy(f->slot_signal[slot], f->signal, (size_t)s->ninputs * sizeof *f->signal);
    return told(f, kd_fmu_unit_save(f->fmu, slot));
}

static kd_status restore(kd_cosim_system *s, int slot)
{
    fmu_system *f = of(s);
    if (s->ninputs > 0) memcpy(f->signal, f->slot_signal[slot], (size_t)s->ninputs * sizeof *f->signal);
    const kd_status status = told(f, kd_fmu_unit_restore(f->fmu, slot));
    s->t = kd_fmu_unit_base(f->fmu)->t;
    return status;
}

static double next_event(kd_cosim_system *s)
{
    return kd_fmu_unit_next(of(s)->fmu);
}

static void trust(kd_cosim_system *s, bool in_process, double timeout)
{
    kd_fmu_unit_trust(of(s)->fmu, in_process, timeout);
}

static void destroy(kd_cosim_system *s)
{
    fmu_system *f = of(s);
    if (!f) return;
    if (f->fmu) kd_foreign_close(kd_fmu_unit_base(f->fmu));
    kd_arena_release(&f->arena);
    kd_free(f);
}

static const kd_cosim_class CLASS = {.word = "fmu",
                                     .find_output = find_output,
                                     .start = start,
                                     .set_inputs = set_inputs,
                                     .step = step,
                                     .outputs = outputs,
                                     .save = save,
                                     .restore = restore,
                                     .next_event = next_event,
                                     .trust = trust,
                                     .destroy = destroy};

// ---- creation -------------------------------------------------------------------------------------------------------

static kd_status make_ports(fmu_system *f)
{
    kd_cosim_system  *s = &f->base;
    const kd_foreign *unit = kd_fmu_unit_base(f->fmu);
    s->ninputs = unit->ninputs;
    s->noutputs = unit->noutputs;
    s->input = kd_arena_cut(&f->arena, (size_t)s->ninputs + 1, sizeof *s->input);
    s->output = kd_arena_cut(&f->arena, (size_t)s->noutputs + MORE_PORTS + 1, sizeof *s->output);
    f->signal = kd_arena_cut(&f->arena, (size_t)s->ninputs + 1, sizeof *f->signal);
    for (int i = 0; i < KD_COSIM_SLOTS; i++)
        f->slot_signal[i] = kd_arena_cut(&f->arena, (size_t)s->ninputs + 1, sizeof *f->signal);
    if (f->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < s->ninputs; i++) s->input[i] = port_of(kd_fmu_unit_input(f->fmu, i));
    for (int i = 0; i < s->noutputs; i++) s->output[i] = port_of(kd_fmu_unit_output(f->fmu, i));
    s->jumps = kd_fmu_unit_jumps(f->fmu);
    return KD_OK;
}

kd_status kd_fmu_system_create(const char *name, const kd_fmu_run *run, kd_cosim_system **out, char *message,
                               size_t size)
{
    *out = NULL;
    const char *names[MOST_PARAMETERS];
    double      values[MOST_PARAMETERS];
    fmu_system *f = run->nparameters <= MOST_PARAMETERS ? kd_alloc(sizeof *f) : NULL;
    if (!f) return KD_ERR_MEMORY;
    f->base = (kd_cosim_system){.class = &CLASS, .name = name};
    // parameters by name, as the run gives them
    for (int i = 0; i < run->nparameters; i++) {
        names[i] = run->parameter[i].name;
        values[i] = run->parameter[i].value;
    }
    // its own ports: the description tells them, nothing is asked for
    const kd_foreign_setup setup = {.block = name,
                                    .path = run->path,
                                    .ninputs = -1,
                                    .nparameters = run->nparameters,
                                    .parameter_name = names,
                                    .parameter = values,
                                    .exchange = run->exchange,
                                    .cosimulation = run->cosimulation,
                                    .tolerance = run->tolerance};
    kd_status              status = kd_fmu_unit_open(&setup, &f->fmu, message, size);
    if (status >= 0) status = make_ports(f);
    // half-made units close their FMU
    if (status < 0)
        destroy(&f->base);
    else
        *out = &f->base;
    return status;
}
