// fmu_unit.c: an FMU as a unit: co-simulation by its own steps, model exchange by ours (guest_motion.c).
#include "fmi/fmu_unit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/nearest.h"
#include "core/text.h"
#include "fmi/guest_motion.h"

enum { PARTS = 200, MORE_OUTPUTS = 200 };
static const double TOLERANCE = 1e-6; // where nobody says another

struct kd_fmu_unit {
    kd_foreign              unit;
    kd_fmu_file             fmu;
    kd_guest               *guest;  // NULL: it has not started
    kd_guest_motion        *motion; // of model exchange
    kd_guest_options        opt;
    const kd_fmi_variable **input, **output, **parameter;
    double                 *value; // (nparameters)
    int                     nparameters, room;
    double                  tolerance, step;
    double                 *given; // (ninputs) that the FMU has now
    double                 *fed;   // (ninputs) scratch
    kd_fmu_inputs           inputs;
    bool                    jumped; // inputs were changed since the last step
    double                  saved_t[KD_GUEST_SLOTS];
};

static kd_fmu_unit *of(kd_foreign *unit)
{
    return (kd_fmu_unit *)unit;
}

kd_foreign *kd_fmu_unit_base(kd_fmu_unit *f)
{
    return &f->unit;
}

const kd_fmi_description *kd_fmu_unit_about(const kd_fmu_unit *f)
{
    return &f->fmu.about;
}

kd_guest *kd_fmu_unit_guest(kd_fmu_unit *f)
{
    return f->guest;
}

static kd_status told(kd_fmu_unit *f, kd_status status)
{
    return status < 0 ? kd_foreign_refuse(&f->unit, status, "%s", f->guest ? kd_guest_message(f->guest) : "") : KD_OK;
}

// ---- inputs ---------------------------------------------------------------------------------------------------------

// Those that differ from what it has
static kd_status set_inputs(kd_fmu_unit *f, const double *u, bool all)
{
    kd_status status = KD_OK;
    for (int i = 0; i < f->unit.ninputs && status >= 0; i++) {
        if (!all && u[i] == f->given[i]) continue;
        status = kd_guest_set(f->guest, f->input[i], u[i]);
        f->given[i] = u[i];
        f->jumped = true;
    }
    return told(f, status);
}

// Of model exchange, before every evaluation
static kd_status feed(double t, kd_guest *guest, void *context)
{
    kd_fmu_unit *f = context;
    (void)guest;
    if (!f->inputs.eval) return KD_OK;
    f->inputs.eval(t, f->inputs.context, f->fed);
    return set_inputs(f, f->fed, false);
}

// ---- life -----------------------------------------------------------------------------------------------------------

static void stop(kd_fmu_unit *f)
{
    kd_guest_motion_destroy(f->motion);
    kd_guest_close(f->guest);
    f->motion = NULL;
    f->guest = NULL;
}

static void destroy(kd_foreign *unit)
{
    stop(of(unit));
    kd_fmu_file_close(&of(unit)->fmu);
}

kd_status kd_fmu_unit_start(kd_fmu_unit *f, double t, const double *u)
{
    char why[KD_FOREIGN_MESSAGE] = "";
    // a unit starts anew: a fresh instance, for the old one cannot be told to forget
    stop(f);
    kd_status status = kd_guest_open(&f->fmu, &f->opt, &f->guest, why, sizeof why);
    if (status < 0) return kd_foreign_refuse(&f->unit, status, "%s", why);
    // parameters before initialisation, inputs in it
    for (int i = 0; i < f->nparameters && status >= 0; i++)
        status = told(f, kd_guest_set(f->guest, f->parameter[i], f->value[i]));
    if (status >= 0) status = told(f, kd_guest_begin(f->guest, t, HUGE_VAL, f->tolerance));
    if (status >= 0) status = set_inputs(f, u, true);
    if (status >= 0) status = told(f, kd_guest_finish(f->guest));
    f->unit.t = t;
    f->jumped = false;
    // exchange needs a method that integrates it
    f->inputs = (kd_fmu_inputs){0};
    if (status < 0 || !f->opt.exchange) return status;
    const kd_guest_motion_options options = {
        .rtol = f->tolerance > 0 ? f->tolerance : TOLERANCE, .step = f->step, .feed = feed, .context = f};
    return told(f, kd_guest_motion_create(f->guest, &options, t, &f->motion));
}

// ---- steps ----------------------------------------------------------------------------------------------------------

static kd_status refuse_end(kd_fmu_unit *f, double t)
{
    return kd_foreign_refuse(&f->unit, KD_ERR_CALLBACK_STOP, "the FMU asks for the end of the run at t = %g", t);
}

// Model exchange: inputs jump to their new laws first
static kd_status move(kd_fmu_unit *f, double t_end, double *event)
{
    const long before = kd_guest_motion_about(f->motion).events;
    kd_status  status = f->jumped || f->inputs.eval ? kd_guest_motion_jump(f->motion) : KD_OK;
    f->jumped = false;
    if (status >= 0) status = kd_guest_motion_to(f->motion, t_end);
    const kd_guest_motion_news news = kd_guest_motion_about(f->motion);
    f->unit.t = news.t;
    if (news.events > before) *event = news.t;
    if (status < 0) return told(f, status);
    return news.stopped && news.t < t_end ? refuse_end(f, news.t) : KD_OK;
}

// Co-simulation: steps that end early are gone on with
static kd_status step(kd_fmu_unit *f, double t_end)
{
    double    t = f->unit.t, reached = t;
    bool      ends = false;
    kd_status status = KD_OK;
    // held inputs are those of the middle of the step
    if (f->inputs.eval) {
        f->inputs.eval(t + (t_end - t) / 2, f->inputs.context, f->fed);
        status = set_inputs(f, f->fed, false);
    }
    // until the end, or until it gets no further
    for (int part = 0; part < PARTS && status >= 0 && t < t_end && !ends; part++) {
        status = told(f, kd_guest_step(f->guest, t, t_end - t, &reached, &ends));
        if (status >= 0 && !(reached > t)) break;
        if (status >= 0) t = reached >= t_end - 16 * DBL_EPSILON * fabs(t_end) ? t_end : reached;
    }
    f->unit.t = t;
    if (status < 0 || t >= t_end) return status;
    return ends ? refuse_end(f, t)
                : kd_foreign_refuse(&f->unit, KD_ERR_STEP_TOO_SMALL, "the FMU does not get beyond t = %.9g", t);
}

kd_status kd_fmu_unit_go(kd_fmu_unit *f, double t_end, const kd_fmu_inputs *inputs, double *event)
{
    f->inputs = inputs ? *inputs : (kd_fmu_inputs){0};
    if (!(t_end > f->unit.t)) return KD_OK;
    const kd_status status = f->opt.exchange ? move(f, t_end, event) : step(f, t_end);
    f->inputs = (kd_fmu_inputs){0};
    return status;
}

kd_status kd_fmu_unit_outputs(kd_fmu_unit *f, const double *u, double *y)
{
    kd_status status = set_inputs(f, u, false);
    for (int i = 0; i < f->unit.noutputs && status >= 0; i++) {
        status = told(f, kd_guest_get(f->guest, f->output[i], y + i));
        if (status >= 0 && !isfinite(y[i]))
            status = kd_foreign_refuse(&f->unit, KD_ERR_NOT_FINITE, "the FMU: output '%s' is no finite number",
                                       f->output[i]->name);
    }
    return status;
}

double kd_fmu_unit_next(const kd_fmu_unit *f)
{
    return f->motion ? kd_guest_motion_about(f->motion).next : HUGE_VAL;
}

bool kd_fmu_unit_jumps(const kd_fmu_unit *f)
{
    return f->opt.exchange && f->fmu.about.nindicators > 0;
}

void kd_fmu_unit_trust(kd_fmu_unit *f, bool in_process, double timeout)
{
    f->opt.in_process = in_process;
    if (timeout > 0) f->opt.timeout = timeout;
}

bool kd_fmu_unit_saves(const kd_fmu_unit *f)
{
    return f->guest && kd_guest_saves(f->guest);
}

kd_status kd_fmu_unit_save(kd_fmu_unit *f, int slot)
{
    f->saved_t[slot] = f->unit.t;
    return told(f, f->motion ? kd_guest_motion_save(f->motion, slot) : kd_guest_save(f->guest, slot));
}

kd_status kd_fmu_unit_restore(kd_fmu_unit *f, int slot)
{
    f->unit.t = f->saved_t[slot];
    kd_status status = told(f, f->motion ? kd_guest_motion_restore(f->motion, slot) : kd_guest_restore(f->guest, slot));
    // its inputs are those of then
    for (int i = 0; i < f->unit.ninputs; i++) f->given[i] = NAN;
    return status;
}

// ---- as a block -----------------------------------------------------------------------------------------------------

static kd_status start_block(kd_foreign *unit, double t, const double *u)
{
    return kd_fmu_unit_start(of(unit), t, u);
}

static kd_status advance(kd_foreign *unit, double t)
{
    double event;
    return kd_fmu_unit_go(of(unit), t, NULL, &event);
}

// New inputs are a jump for model exchange, which must be settled before outputs are read
static kd_status answer(kd_foreign *unit, const double *u, double *y)
{
    kd_fmu_unit *f = of(unit);
    kd_status    status = KD_OK;
    if (f->opt.exchange && memcmp(u, f->given, (size_t)unit->ninputs * sizeof *u) != 0) {
        status = told(f, kd_guest_enter(f->guest));
        if (status >= 0) status = set_inputs(f, u, false);
        if (status >= 0) status = told(f, kd_guest_motion_settle(f->motion));
        f->jumped = false;
    }
    return status < 0 ? status : kd_fmu_unit_outputs(f, u, y);
}

static void change(kd_foreign *unit, double period, const double *parameter)
{
    kd_fmu_unit *f = of(unit);
    f->step = period;
    if (f->nparameters > 0) memcpy(f->value, parameter, (size_t)f->nparameters * sizeof *parameter);
}

static const kd_foreign_class CLASS = {start_block, advance, answer, change, destroy};

// ---- names ----------------------------------------------------------------------------------------------------------

static bool is_number(const kd_fmi_variable *v)
{
    return !v->is_array && v->type != KD_FMI_STRING && v->type != KD_FMI_BINARY && v->type != KD_FMI_CLOCK;
}

static const kd_fmi_variable *find_variable(const kd_fmi_description *d, const char *name)
{
    for (int i = 0; i < d->nvariables; i++)
        if (strcmp(d->variable[i].name, name) == 0) return d->variable + i;
    return NULL;
}

// what: "input"; one sentence, with the name that may be meant
static kd_status refuse_name(const kd_fmi_description *d, const char *what, const char *name, const kd_fmi_variable *v,
                             char *message, size_t size)
{
    if (v && !is_number(v))
        kd_text(message, size, "'%s' is %s, and signals are single numbers", name,
                v->is_array ? "an array" : "no number");
    else if (v)
        kd_text(message, size, "'%s' is no %s of the FMU, but its causality is %s", name, what,
                kd_causality_word(v->causality));
    else {
        kd_nearest near = kd_nearest_start(name);
        for (int i = 0; i < d->nvariables; i++) kd_nearest_offer(&near, d->variable[i].name);
        kd_text(message, size, "the FMU has no variable '%s'", name);
        if (near.best) kd_text_append(message, size, ", did you mean '%s'?", near.best);
    }
    return KD_ERR_MODEL;
}

static kd_status find_all(kd_fmu_unit *f, const kd_foreign_setup *setup, char *message, size_t size)
{
    const kd_fmi_description *d = &f->fmu.about;
    // inputs are inputs there
    for (int i = 0; i < setup->ninputs; i++) {
        const kd_fmi_variable *v = f->input[i] = find_variable(d, setup->input_name[i]);
        if (!v || !is_number(v) || v->causality != KD_CAUSALITY_INPUT)
            return refuse_name(d, "input", setup->input_name[i], v, message, size);
    }
    // outputs: any number that can be read
    for (int i = 0; i < setup->noutputs; i++) {
        const kd_fmi_variable *v = f->output[i] = find_variable(d, setup->output_name[i]);
        if (!v || !is_number(v)) return refuse_name(d, "output", setup->output_name[i], v, message, size);
    }
    // parameters may also be inputs that nobody drives
    for (int i = 0; i < setup->nparameters; i++) {
        const kd_fmi_variable *v = f->parameter[i] = find_variable(d, setup->parameter_name[i]);
        f->value[i] = setup->parameter[i];
        if (!v || !is_number(v) || (v->causality != KD_CAUSALITY_PARAMETER && v->causality != KD_CAUSALITY_INPUT))
            return refuse_name(d, "parameter or input", setup->parameter_name[i], v, message, size);
    }
    return KD_OK;
}

// Everything that it has and that is a number
static void take_all(kd_fmu_unit *f, const kd_fmi_variable **list, kd_causality causality)
{
    int n = 0;
    for (int i = 0; i < f->fmu.about.nvariables; i++) {
        const kd_fmi_variable *v = f->fmu.about.variable + i;
        if (v->causality == causality && is_number(v)) list[n++] = v;
    }
}

static int count_all(const kd_fmi_description *d, kd_causality causality)
{
    int n = 0;
    for (int i = 0; i < d->nvariables; i++) n += d->variable[i].causality == causality && is_number(d->variable + i);
    return n;
}

const kd_fmi_variable *kd_fmu_unit_input(const kd_fmu_unit *f, int i)
{
    return f->input[i];
}

const kd_fmi_variable *kd_fmu_unit_output(const kd_fmu_unit *f, int i)
{
    return f->output[i];
}

int kd_fmu_unit_find(kd_fmu_unit *f, const char *name)
{
    for (int i = 0; i < f->unit.noutputs; i++)
        if (strcmp(f->output[i]->name, name) == 0) return i;
    const kd_fmi_variable *v = find_variable(&f->fmu.about, name);
    if (!v || !is_number(v) || f->unit.noutputs == f->room) return -1;
    f->output[f->unit.noutputs] = v;
    return f->unit.noutputs++;
}

// ---- opening --------------------------------------------------------------------------------------------------------

// Which of its kinds; it must have it for this machine
static kd_status choose_kind(kd_fmu_unit *f, const kd_foreign_setup *setup, char *message, size_t size)
{
    char        name[600];
    const bool  has[2] = {f->fmu.about.cosimulation.identifier, f->fmu.about.exchange.identifier};
    const char *words[2] = {"co-simulation", "model exchange"};
    f->opt = kd_guest_options_default();
    f->opt.exchange = setup->exchange || (!setup->cosimulation && !has[0]);
    f->opt.in_process = setup->in_process;
    if (setup->timeout > 0) f->opt.timeout = setup->timeout;
    if (!has[f->opt.exchange]) {
        kd_text(message, size, "the FMU has no %s", words[f->opt.exchange]);
        return KD_ERR_UNSUPPORTED;
    }
    if (kd_fmu_file_binary(&f->fmu, f->opt.exchange, name, sizeof name)) return KD_OK;
    kd_text(message, size, "the FMU has no binary for this machine");
    return KD_ERR_UNSUPPORTED;
}

static kd_status cut_arrays(kd_fmu_unit *f, const kd_foreign_setup *setup)
{
    kd_arena *a = &f->unit.arena;
    f->room = setup->noutputs + MORE_OUTPUTS;
    f->nparameters = setup->nparameters;
    f->input = kd_arena_cut(a, (size_t)setup->ninputs + 1, sizeof *f->input);
    f->output = kd_arena_cut(a, (size_t)f->room + 1, sizeof *f->output);
    f->parameter = kd_arena_cut(a, (size_t)setup->nparameters + 1, sizeof *f->parameter);
    f->value = kd_cut_double(a, setup->nparameters);
    f->given = kd_cut_double(a, setup->ninputs);
    f->fed = kd_cut_double(a, setup->ninputs);
    return a->failed ? KD_ERR_MEMORY : KD_OK;
}

static kd_status prepare_unit(kd_fmu_unit *f, kd_foreign_setup setup, char *message, size_t size)
{
    const kd_fmi_description *d = &f->fmu.about;
    const bool                all = setup.ninputs < 0;
    // the archive, and which of its kinds is taken
    kd_status status = kd_fmu_file_open(&f->fmu, setup.path, NULL, NULL, message, size);
    if (status >= 0) status = choose_kind(f, &setup, message, size);
    if (status < 0) return status;
    // without a list: all ports that the description tells
    if (all) {
        setup.ninputs = count_all(d, KD_CAUSALITY_INPUT);
        setup.noutputs = count_all(d, KD_CAUSALITY_OUTPUT);
    }
    // the tolerance and step of the file, or those that the FMU would have
    f->tolerance = setup.tolerance > 0 ? setup.tolerance : d->has_tolerance ? d->tolerance : 0;
    f->step = setup.period > 0 ? setup.period : d->has_step ? d->step : 1e-2;
    // references of all names
    status = kd_foreign_init(&f->unit, &CLASS, &setup);
    if (status >= 0) status = cut_arrays(f, &setup);
    if (status < 0) return status;
    if (all) {
        take_all(f, f->input, KD_CAUSALITY_INPUT);
        take_all(f, f->output, KD_CAUSALITY_OUTPUT);
        setup.ninputs = setup.noutputs = 0;
    }
    return find_all(f, &setup, message, size);
}

kd_status kd_fmu_unit_open(const kd_foreign_setup *setup, kd_fmu_unit **unit, char *message, size_t size)
{
    *unit = NULL;
    kd_fmu_unit *f = kd_alloc(sizeof *f);
    if (!f) return KD_ERR_MEMORY;
    f->unit.class = &CLASS;
    const kd_status status = prepare_unit(f, *setup, message, size);
    if (status < 0)
        kd_foreign_close(&f->unit);
    else
        *unit = f;
    return status < 0 ? status : KD_OK;
}

kd_status kd_foreign_open_fmu(const kd_foreign_setup *setup, kd_foreign **unit, char *message, size_t size)
{
    kd_fmu_unit    *f;
    const kd_status status = kd_fmu_unit_open(setup, &f, message, size);
    *unit = f ? &f->unit : NULL;
    return status;
}
