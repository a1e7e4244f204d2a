// model_system.c: a model of kardan as a system: its inputs that others drive, its sensors and paths, and its own simulation with
// integrator, events and certificate.
//
// Outputs with other inputs than those that were held are read at a copy of the state, whose accelerations and multipliers are
// solved for with these inputs; the simulation does not see that.
#include "cosim/model_system.h"

#include <kardan/certificate.h>
#include <kardan/results.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "point/acceleration.h"

enum { MOST_OUTPUTS = 400 };

typedef struct model_system {
    kd_cosim_system base;
    kd_arena        arena;
    kd_model       *model;
    kd_system_run   run;
    kd_port         port[MOST_OUTPUTS]; // outputs
    int             channel[MOST_OUTPUTS];
    bool           *driven; // (ninputs) by others; false: as the model says
    kd_signal      *signal; // (ninputs) over the present macro step
    // made by start
    kd_system       *system;
    kd_state        *x, *at; // of the simulation; the copy that outputs are read at
    kd_simulation   *simulation;
    kd_certifier    *certifier;
    kd_probe        *probe;
    kd_acceleration *acceleration; // solves for those of the copy
    kd_eom_data     *data;         // for times of samples
    const double    *held;         // (ninputs) inputs that outputs are read with
    kd_saved        *slot[KD_COSIM_SLOTS];
    kd_signal       *slot_signal[KD_COSIM_SLOTS]; // inputs that the saved state was reached with
    double           event;                       // first one of this macro step
    kd_status        certified;                   // < 0: the certificate could not be made
} model_system;

static model_system *of(kd_cosim_system *s)
{
    return (model_system *)s;
}

static kd_status end_with(model_system *m, kd_status status, const char *why)
{
    if (why != m->base.message || !why[0])
        kd_text(m->base.message, sizeof m->base.message, "%s", why && why[0] ? why : kd_status_sentence(status));
    return status;
}

// ---- inputs ---------------------------------------------------------------------------------------------------------

// Those of the model, and over them what others tell
static kd_eval eval_signals(double t, void *context, double *u, double *du, double *ddu)
{
    const model_system *m = context;
    const kd_inputs    *own = kd_system_inputs(m->system);
    const kd_eval       answer = own && own->eval ? own->eval(t, own->context, u, du, ddu) : KD_EVAL_OK;
    for (int i = 0; i < m->base.ninputs; i++) {
        const kd_signal *s = &m->signal[i];
        if (!m->driven[i]) continue;
        u[i] = kd_signal_at(s, t);
        du[i] = s->c[1] + 2 * s->c[2] * (t - s->t0);
        ddu[i] = 2 * s->c[2];
    }
    return answer;
}

// Held values over the signals, with their slopes
static kd_eval eval_held(double t, void *context, double *u, double *du, double *ddu)
{
    const model_system *m = context;
    const kd_eval       answer = eval_signals(t, context, u, du, ddu);
    for (int i = 0; m->held && i < m->base.ninputs; i++)
        if (m->driven[i]) u[i] = m->held[i];
    return answer;
}

static void drive(kd_cosim_system *s, int i)
{
    of(s)->driven[i] = true;
}

static void set_inputs(kd_cosim_system *s, const kd_signal *u)
{
    memcpy(of(s)->signal, u, (size_t)s->ninputs * sizeof *u);
}

// ---- outputs --------------------------------------------------------------------------------------------------------

static int add_output(model_system *m, const char *name, const char *unit)
{
    if (m->base.noutputs == MOST_OUTPUTS) return -1;
    char *copy = kd_arena_cut(&m->arena, strlen(name) + 1, 1);
    if (!copy) return -1;
    m->port[m->base.noutputs] = (kd_port){.name = strcpy(copy, name), .unit = unit ? unit : ""};
    return m->base.noutputs++;
}

// A sensor, or any path of the model, which becomes an output then
static int find_output(kd_cosim_system *s, const char *name)
{
    model_system *m = of(s);
    kd_path_info  info;
    for (int i = 0; i < s->noutputs; i++)
        if (strcmp(m->port[i].name, name) == 0) return i;
    if (kd_model_path_about(m->model, name, &info, s->message, sizeof s->message) < 0) return -1;
    return add_output(m, name, info.unit);
}

// y at the copy of the state, with a, w, lambda, mu that belong to inputs u
static kd_status read_copy(model_system *m, const double *u, double *y)
{
    kd_state   *x = m->at;
    const char *why = NULL;
    kd_status   status = KD_OK;
    m->held = u;
    // dependent quantities for the inputs that are held, at the state as it is
    if (kd_acceleration_solve(m->acceleration, x->t, x->p, x->s, x->v, x->r, x->a, x->w, x->lambda, x->mu) !=
        KD_EVAL_OK)
        status = kd_acceleration_fault(m->acceleration, &why);
    x->unsolved = false;
    // the probe reads every output there; one that is no number ends the run with its reason
    if (status >= 0) status = kd_probe_set(m->probe, x);
    for (int i = 0; i < m->base.noutputs && status >= 0; i++) {
        y[i] = kd_probe_value(m->probe, m->channel[i]);
        if (isnan(y[i])) status = KD_ERR_NOT_FINITE, why = kd_probe_message(m->probe);
    }
    m->held = NULL;
    return status < 0 ? end_with(m, status, why) : KD_OK;
}

static kd_status outputs(kd_cosim_system *s, const double *u, double *y)
{
    model_system   *m = of(s);
    const kd_status status = kd_state_copy(m->x, m->at);
    return status < 0 ? end_with(m, status, NULL) : read_copy(m, u, y);
}

// Outputs of the state moved by its tolerances, in all coordinates and velocities, with signs that alternate, against those of the
// state itself
static kd_status noise(kd_cosim_system *s, const double *u, double *dy)
{
    model_system       *m = of(s);
    const kd_dims       d = kd_eom_dims(kd_system_eom(m->system));
    const kd_tolerances tolerance = kd_simulation_tolerances(m->simulation);
    double   *here = kd_alloc(2 * ((size_t)s->noutputs + (size_t)d.nv + 1) * sizeof *here), *there = here + s->noutputs;
    double   *e = there + s->noutputs;
    kd_status status = here ? outputs(s, u, here) : end_with(m, KD_ERR_MEMORY, NULL);
    for (int i = 0; i < s->noutputs && status >= 0; i++) dy[i] = 0;
    // two patterns of signs, so that what cancels in one shows in the other
    for (int pattern = 0; pattern < 2 && status >= 0; pattern++) {
        for (int i = 0; i < d.nv; i++) {
            const double unit = kd_eom_unit(kd_system_eom(m->system), i), sign = (i >> pattern) & 1 ? -1 : 1;
            e[i] = sign * tolerance.atol * unit;
            m->at->v[i] = m->x->v[i] + sign * tolerance.atol * unit;
        }
        // positions along their manifold, velocities by a sum
        if (kd_eom_oplus(m->data, m->x->p, e, m->at->p) != KD_EVAL_OK) status = end_with(m, KD_ERR_NOT_FINITE, NULL);
        if (status >= 0) status = read_copy(m, u, there);
        for (int i = 0; i < s->noutputs && status >= 0; i++) dy[i] = fmax(dy[i], fabs(there[i] - here[i]));
    }
    kd_free(here);
    return status;
}

// ---- saved states ---------------------------------------------------------------------------------------------------

static kd_status save(kd_cosim_system *s, int slot)
{
    model_system *m = of(s);
    kd_saved_destroy(m->slot[slot]);
    m->slot[slot] = NULL;
    memcpy(m->slot_signal[slot], m->signal, (size_t)s->ninputs * sizeof *m->signal);
    kd_status status = kd_simulation_save(m->simulation, &m->slot[slot], s->message, sizeof s->message);
    if (status >= 0) status = kd_certifier_save(m->certifier, m->slot[slot]);
    return status < 0 ? end_with(m, status, s->message) : KD_OK;
}

static kd_status restore(kd_cosim_system *s, int slot)
{
    model_system *m = of(s);
    memcpy(m->signal, m->slot_signal[slot], (size_t)s->ninputs * sizeof *m->signal);
    kd_status status = kd_simulation_restore(m->simulation, m->slot[slot], s->message, sizeof s->message);
    if (status >= 0) status = kd_certifier_restore(m->certifier, m->slot[slot], s->message, sizeof s->message);
    s->t = m->x->t;
    return status < 0 ? end_with(m, status, s->message) : KD_OK;
}

// ---- start ----------------------------------------------------------------------------------------------------------

// The worse of two
static kd_status least(kd_status a, kd_status b)
{
    return b < 0 && a >= 0 ? b : a;
}

static kd_eval see(const kd_state *x, bool at_time, void *context)
{
    model_system *m = context;
    (void)at_time;
    if (!m->certifier || !m->simulation) return KD_EVAL_OK;
    m->certified = least(m->certified, kd_certifier_see(m->certifier, m->simulation, x));
    return KD_EVAL_OK;
}

static kd_eval note(const kd_event *event, const kd_state *before, const kd_state *after, void *context)
{
    model_system *m = context;
    (void)before, (void)after;
    if (event->kind != KD_EVENT_SAMPLE && event->kind != KD_EVENT_BREAK) m->event = fmin(m->event, event->t);
    return KD_EVAL_OK;
}

// As the model says, then what the file of the systems says
static kd_status choose_options(model_system *m, kd_simulation_options *o)
{
    const kd_system_run *r = &m->run;
    char                *message = m->base.message;
    const size_t         size = sizeof m->base.message;
    kd_status            status = kd_system_run_options(m->system, o, message, size);
    if (status < 0) return status;
    // a named integrator brings the formulation that fits it
    if (r->integrator) {
        if (!kd_integrator_parse(r->integrator, &o->integrator))
            return end_with(m, KD_ERR_ARGUMENT, "no such integrator");
        o->formulation = kd_method_formulation(o);
    }
    if (r->formulation && !kd_formulation_parse(r->formulation, &o->formulation))
        return end_with(m, KD_ERR_ARGUMENT, "no such formulation");
    // tolerances: one number stands for both
    if (r->rtol > 0) o->rtol = o->atol = r->rtol;
    if (r->atol > 0) o->atol = r->atol;
    if (r->max_step > 0) o->integrator_options.h_max = r->max_step;
    for (int i = 0; i < r->noptions && status >= 0; i++)
        status = kd_option_set(o, r->option[i].name, r->option[i].value, message, size);
    *o = kd_method_named(o); // nothing changes between macro steps
    o->output = see, o->context = m;
    o->events.listener = note, o->events.context = m;
    return status;
}

static kd_status create_system(model_system *m)
{
    kd_system_options opt = kd_system_options_of(m->model);
    const char       *watch[MOST_OUTPUTS];
    for (int i = 0; i < m->base.noutputs; i++) watch[i] = m->port[i].name;
    opt.watch = watch, opt.nwatch = m->base.noutputs;
    const kd_status status = kd_system_create(m->model, &opt, &m->system, m->base.message, sizeof m->base.message);
    if (status >= 0 && kd_eom_dims(kd_system_eom(m->system)).nu != m->base.ninputs)
        return end_with(m, KD_ERR_DEFINITION, "the equations have other inputs than the model");
    return status;
}

static kd_status find_channels(model_system *m)
{
    for (int i = 0; i < m->base.noutputs; i++) {
        m->channel[i] = kd_probe_find(m->probe, m->port[i].name);
        if (m->channel[i] >= 0) continue;
        kd_text(m->base.message, sizeof m->base.message, "'%s' cannot be read", m->port[i].name);
        return KD_ERR_ARGUMENT;
    }
    return KD_OK;
}

// Can something happen at a time that depends on the motion?
static bool has_instants(const kd_eom *eom)
{
    const kd_dims d = kd_eom_dims(eom);
    bool          any = d.nswitch > 0;
    for (int i = 0; i < d.nlambda; i++) any = any || kd_eom_one_sided(eom, i);
    for (int i = 0; i < d.nmu; i++) any = any || kd_eom_is_friction(eom, i);
    return any;
}

static kd_status start(kd_cosim_system *s, double t, const double *u)
{
    model_system         *m = of(s);
    kd_simulation_options options;
    const kd_inputs       signals = {eval_signals, m}, held = {eval_held, m};
    // inputs begin as constants
    for (int i = 0; i < s->ninputs; i++) m->signal[i] = (kd_signal){t, {u[i], 0, 0}};
    s->message[0] = '\0';
    kd_status status = create_system(m);
    if (status < 0) return end_with(m, status, s->message);
    // equations, states and their start, as any run of the model has them
    const kd_eom *eom = kd_system_eom(m->system);
    if (status >= 0) status = choose_options(m, &options);
    if (status >= 0) status = kd_state_create(eom, &m->x);
    if (status >= 0) status = kd_state_create(eom, &m->at);
    if (status >= 0) status = kd_system_start(m->system, m->x, s->message, sizeof s->message);
    if (status >= 0) {
        m->x->t = t;
        status = kd_simulation_create(eom, &signals, &options, m->x, &m->simulation, s->message, sizeof s->message);
    }
    // reader, certificate and solver of accelerations share the equations
    if (status >= 0) status = kd_probe_of_system(m->system, &held, &m->probe);
    if (status >= 0) status = kd_certifier_create(eom, &signals, &m->certifier);
    kd_certifier_ask(m->certifier, options.certificate, NULL);
    if (status >= 0) status = kd_acceleration_create(eom, &held, m->at, &options.formulation_options, &m->acceleration);
    if (status >= 0) status = kd_eom_data_create(eom, &m->data);
    if (status >= 0) status = find_channels(m);
    s->jumps = status >= 0 && has_instants(eom);
    // SUNDIALS keeps its past to itself
    s->forgets = status >= 0 && save(s, 0) == KD_ERR_UNSUPPORTED;
    // the attempt to save has left words that concern nobody
    s->message[0] = status >= 0 ? '\0' : s->message[0];
    s->t = t;
    return status < 0 ? end_with(m, status, s->message) : KD_OK;
}

// ---- steps ----------------------------------------------------------------------------------------------------------

static kd_status step(kd_cosim_system *s, double t_end, double *event)
{
    model_system *m = of(s);
    m->event = INFINITY;
    kd_status status = kd_simulation_resume(m->simulation); // inputs have jumped, and with them what they supply
    if (status >= 0) m->certified = least(m->certified, kd_certifier_see(m->certifier, NULL, m->x));
    if (status >= 0) status = kd_simulation_run(m->simulation, t_end);
    s->t = m->x->t;
    *event = m->event;
    if (status < 0 || status == KD_STOPPED) return end_with(m, status, kd_simulation_message(m->simulation));
    return KD_OK;
}

static double next_event(kd_cosim_system *s)
{
    model_system   *m = of(s);
    const kd_inputs signals = {eval_signals, m};
    if (kd_eom_at_instant(m->data, &signals, m->x->t, m->x) != KD_EVAL_OK) return INFINITY;
    return fmin(kd_eom_next_sample(m->data), kd_eom_next_break(m->data));
}

// ---- the end --------------------------------------------------------------------------------------------------------

static bool verdict(kd_cosim_system *s, char *sentence, size_t size)
{
    model_system *m = of(s);
    if (!m->simulation || m->certified < 0) {
        kd_text(sentence, size, "%s", m->simulation ? kd_status_sentence(m->certified) : "it has not run");
        return false;
    }
    kd_certificate c = kd_certifier_certificate(m->certifier);
    kd_clean      *clean = kd_alloc(sizeof *clean);
    if (!clean) return false;
    kd_certificate_take(&c, m->simulation);
    kd_certificate_verdict(&c, clean);
    kd_text(sentence, size, "%s", clean->sentence);
    const bool good = clean->clean;
    kd_free(clean);
    return good;
}

static void destroy(kd_cosim_system *s)
{
    model_system *m = of(s);
    if (!m) return;
    for (int i = 0; i < KD_COSIM_SLOTS; i++) kd_saved_destroy(m->slot[i]);
    kd_eom_data_destroy(m->data);
    kd_acceleration_destroy(m->acceleration);
    kd_probe_destroy(m->probe);
    kd_certifier_destroy(m->certifier);
    kd_simulation_destroy(m->simulation);
    kd_state_destroy(m->x);
    kd_state_destroy(m->at);
    kd_system_destroy(m->system);
    kd_model_destroy(m->model);
    kd_arena_release(&m->arena);
    kd_free(m);
}

static const kd_cosim_class CLASS = {.word = "model",
                                     .find_output = find_output,
                                     .drive = drive,
                                     .start = start,
                                     .set_inputs = set_inputs,
                                     .step = step,
                                     .outputs = outputs,
                                     .save = save,
                                     .restore = restore,
                                     .next_event = next_event,
                                     .noise = noise,
                                     .verdict = verdict,
                                     .destroy = destroy};

kd_status kd_model_system_create(const char *name, kd_model *model, const kd_system_run *run, kd_cosim_system **out,
                                 char *message, size_t size)
{
    model_system *m = kd_alloc(sizeof *m);
    *out = NULL;
    if (!m) {
        kd_model_destroy(model);
        kd_text(message, size, "out of memory");
        return KD_ERR_MEMORY;
    }
    // inputs and sensors of the model are the ports
    const int nu = kd_model_count(model, KD_SECTION_INPUT), ny = kd_model_count(model, KD_SECTION_SENSOR);
    // the base of all systems: names, counts, places for signals, also for those of saved states
    m->model = model, m->run = *run;
    m->base = (kd_cosim_system){.class = &CLASS, .name = name, .ninputs = nu, .output = m->port};
    m->base.input = kd_arena_cut(&m->arena, (size_t)nu + 1, sizeof(kd_port));
    m->driven = kd_cut_bool(&m->arena, nu + 1);
    m->signal = kd_arena_cut(&m->arena, (size_t)nu + 1, sizeof *m->signal);
    for (int i = 0; i < KD_COSIM_SLOTS; i++)
        m->slot_signal[i] = kd_arena_cut(&m->arena, (size_t)nu + 1, sizeof *m->signal);
    // an input without a start value begins at 0
    for (int i = 0; i < nu && !m->arena.failed; i++) {
        const kd_element_info info = kd_model_about(model, KD_SECTION_INPUT, i);
        m->base.input[i] = (kd_port){.name = info.name, .unit = "", .start = isnan(info.value) ? 0 : info.value};
    }
    // every sensor of the model is an output from the beginning; other readings join when a connection asks for them
    for (int i = 0; i < ny && i < MOST_OUTPUTS && !m->arena.failed; i++) {
        const kd_element_info info = kd_model_about(model, KD_SECTION_SENSOR, i);
        (void)add_output(m, info.name, info.unit);
    }
    if (m->arena.failed) {
        destroy(&m->base);
        kd_text(message, size, "out of memory");
        return KD_ERR_MEMORY;
    }
    *out = &m->base;
    return KD_OK;
}
