// plant.c: a model of a folder that another tool drives: life, start, values.
#include "fmi/plant_impl.h"

#include <kardan/results.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/load.h"
#include "core/text.h"

enum { LIST_BYTES = 1 << 16, NUMBER = 40 };

kd_status kd_plant_refuse(kd_plant *p, kd_status status, const char *format, ...)
{
    if (status >= 0) return status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->message, sizeof p->message, format, arguments);
    va_end(arguments);
    return status;
}

const char *kd_plant_message(const kd_plant *p)
{
    return p->message;
}

const kd_system *kd_plant_system(const kd_plant *p)
{
    return p->system;
}

double kd_plant_time(const kd_plant *p)
{
    return p->x->t;
}

// ---- inputs ---------------------------------------------------------------------------------------------------------

// Laws of the model, and from outside the last values with their rates
static kd_eval inputs_at(double t, void *context, double *u, double *du, double *ddu)
{
    kd_plant        *p = context;
    const kd_inputs *own = kd_system_inputs(p->system);
    const kd_eval    answer = own && own->eval ? own->eval(t, own->context, u, du, ddu) : KD_EVAL_OK;
    for (int i = 0; i < p->dims.nu && answer == KD_EVAL_OK; i++) {
        if (!p->outside[i]) continue;
        u[i] = p->u[i] + (p->du[i] != 0 ? p->du[i] * (t - p->t_u[i]) : 0);
        du[i] = p->du[i];
        ddu[i] = 0;
    }
    return answer;
}

kd_inputs kd_plant_inputs(kd_plant *p)
{
    return (kd_inputs){inputs_at, p};
}

// A line "input NAME" of the list
static bool is_listed(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *line = list; line && *line;) {
        const char *end = strchr(line, '\n');
        if (strncmp(line, "input ", 6) == 0 && strncmp(line + 6, name, n) == 0 && (line[6 + n] == '\n' || !line[6 + n]))
            return true;
        line = end ? end + 1 : NULL;
    }
    return false;
}

bool kd_plant_reads_outside(const kd_plant *p, int input, const char *list)
{
    const kd_input_def *def = kd_model_input_def(p->model, input);
    return !def || !def->value || (list && is_listed(list, kd_model_name(p->model, KD_SECTION_INPUT, input)));
}

// ---- life -----------------------------------------------------------------------------------------------------------

bool kd_plant_drop(kd_plant *p)
{
    kd_simulation_destroy(p->simulation);
    kd_exchange_destroy(p->exchange);
    p->simulation = NULL;
    p->exchange = NULL;
    p->started = false;
    return false;
}

// What depends on the system
static void drop_system(kd_plant *p)
{
    kd_plant_drop(p);
    kd_probe_destroy(p->probe);
    kd_eom_data_destroy(p->data);
    kd_state_destroy(p->x);
    kd_state_destroy(p->moved);
    kd_system_destroy(p->system);
    kd_model_destroy(p->model);
    p->probe = NULL;
    p->data = NULL;
    p->x = p->moved = NULL;
    p->system = NULL;
    p->model = NULL;
}

void kd_plant_close(kd_plant *p)
{
    if (!p) return;
    drop_system(p);
    kd_arena_release(&p->arena);
    kd_free(p);
}

// The model with its parameters as settings (NULL: as written), and everything that is made of it
static kd_status make_system(kd_plant *p, const kd_setting *settings, int nsettings)
{
    // the model as it lies in the folder, with other values of parameters
    char path[KD_PLANT_PATH + 20];
    kd_text(path, sizeof path, "%s/model.yaml", p->folder);
    kd_status status = kd_model_read(path, settings, nsettings, &p->model, p->message, sizeof p->message);
    if (status < 0) return status;
    // channels are those of the FMU, not those that reports watch
    kd_system_options options = kd_system_options_of(p->model);
    options.nwatch = 0; // channels of reports
    status = kd_system_create(p->model, &options, &p->system, p->message, sizeof p->message);
    if (status < 0) return status;
    const kd_eom   *eom = kd_system_eom(p->system);
    const kd_inputs inputs = kd_plant_inputs(p);
    // states, a point for evaluations, and a reader of it
    p->dims = kd_eom_dims(eom);
    status = kd_state_create(eom, &p->x);
    if (status >= 0) status = kd_state_create(eom, &p->moved);
    if (status >= 0) status = kd_eom_data_create(eom, &p->data);
    if (status >= 0) status = kd_probe_of_system(p->system, &inputs, &p->probe);
    return kd_plant_refuse(p, status, "%s", kd_status_sentence(status));
}

static kd_status cut_arrays(kd_plant *p)
{
    const int nu = p->dims.nu, n = p->dims.np + p->dims.nv + p->dims.nr;
    p->ntheta = kd_model_parameters(p->model, NULL, 0);
    p->outside = kd_cut_bool(&p->arena, nu);
    p->u = kd_cut_double(&p->arena, nu);
    p->du = kd_cut_double(&p->arena, nu);
    p->t_u = kd_cut_double(&p->arena, nu);
    p->own = kd_cut_double(&p->arena, 3 * nu);
    p->theta = kd_cut_double(&p->arena, p->ntheta);
    p->default_theta = kd_cut_double(&p->arena, p->ntheta);
    p->work = kd_cut_double(&p->arena, 6 * n + 1);
    if (p->arena.failed) return KD_ERR_MEMORY;
    const double *theta = kd_system_parameters(p->system);
    if (p->ntheta > 0 && theta) memcpy(p->default_theta, theta, (size_t)p->ntheta * sizeof *theta);
    return KD_OK;
}

// Values as the model gives them
static kd_status set_defaults(kd_plant *p)
{
    const int        nu = p->dims.nu;
    const kd_inputs *own = kd_system_inputs(p->system);
    if (p->ntheta > 0) memcpy(p->theta, p->default_theta, (size_t)p->ntheta * sizeof *p->theta);
    for (int i = 0; i < nu; i++) p->u[i] = p->du[i] = p->t_u[i] = 0;
    if (nu == 0 || !own || !own->eval) return KD_OK;
    if (own->eval(0, own->context, p->own, p->own + nu, p->own + 2 * nu) != KD_EVAL_OK)
        return kd_plant_refuse(p, KD_ERR_MODEL, "an input cannot be evaluated at t = 0");
    memcpy(p->u, p->own, (size_t)nu * sizeof *p->u);
    return KD_OK;
}

// Which inputs come from outside: plant.txt may name some that have laws in the model
static kd_status read_list(kd_plant *p)
{
    char   path[KD_PLANT_PATH + 20], why[300];
    char  *text = NULL;
    size_t length = 0;
    kd_text(path, sizeof path, "%s/plant.txt", p->folder);
    const kd_status status = kd_load_file(path, LIST_BYTES, &text, &length, why, sizeof why);
    if (status == KD_ERR_MEMORY) return status;
    for (int i = 0; i < p->dims.nu; i++) p->outside[i] = kd_plant_reads_outside(p, i, status < 0 ? NULL : text);
    kd_free(text);
    return KD_OK;
}

kd_status kd_plant_open(const char *folder, kd_plant **plant, char *message, size_t size)
{
    *plant = NULL;
    kd_plant *p = kd_alloc(sizeof *p);
    if (!p) return KD_ERR_MEMORY;
    kd_status status = KD_OK;
    if (strlen(folder) >= sizeof p->folder)
        status = kd_plant_refuse(p, KD_ERR_FILE, "the path of the folder is too long");
    // from the model to variables: each step needs the one before
    kd_text(p->folder, sizeof p->folder, "%s", folder);
    if (status >= 0) status = make_system(p, NULL, 0);
    if (status >= 0) status = cut_arrays(p);
    if (status >= 0) status = read_list(p);
    if (status >= 0) status = set_defaults(p);
    if (status >= 0) status = kd_plant_list(p);
    if (status < 0) {
        kd_text(message, size, "%s", p->message[0] ? p->message : kd_status_sentence(status));
        kd_plant_close(p);
        return status;
    }
    *plant = p;
    return KD_OK;
}

// ---- start ----------------------------------------------------------------------------------------------------------

void kd_plant_setup(kd_plant *p, kd_plant_mode mode, double t_start, double tolerance)
{
    kd_plant_drop(p);
    p->mode = mode;
    p->t_start = t_start;
    p->tolerance = tolerance;
}

void kd_plant_reset(kd_plant *p)
{
    kd_plant_drop(p);
    p->t_start = p->tolerance = 0;
    p->new_theta = p->new_inputs = false;
    p->new_theta = p->ntheta > 0 && memcmp(p->theta, p->default_theta, (size_t)p->ntheta * sizeof *p->theta) != 0;
    (void)set_defaults(p);
}

// What cannot be changed in the system needs another one, which must have the same variables
static kd_status read_again(kd_plant *p)
{
    kd_parameter_info *list = kd_alloc((size_t)p->ntheta * sizeof *list);
    kd_setting        *setting = kd_alloc((size_t)p->ntheta * sizeof *setting);
    char(*number)[NUMBER] = kd_alloc((size_t)p->ntheta * NUMBER);
    const kd_dims before = p->dims;
    const int     channels = kd_probe_count(p->probe);
    int           n = 0;
    kd_status     status = list && setting && number ? KD_OK : KD_ERR_MEMORY;
    // parameters that differ from those in the file are settings of a new reading
    if (status >= 0) {
        kd_model_parameters(p->model, list, p->ntheta);
        for (int i = 0; i < p->ntheta; i++) {
            if (!list[i].independent || p->theta[i] == p->default_theta[i]) continue;
            const kd_plant_variable *v = p->variable + p->first[KD_PLANT_PARAMETER];
            while (v->index != i) v++;
            kd_text(number[n], NUMBER, "%.17g", p->theta[i]);
            setting[n] = (kd_setting){v->own, number[n]};
            n++;
        }
        // the old system goes first: both at once may be large
        drop_system(p);
        status = make_system(p, setting, n);
    }
    // references of the importer stay valid only if nothing was added or lost
    if (status >= 0 && (memcmp(&before, &p->dims, sizeof before) != 0 || kd_probe_count(p->probe) != channels))
        status = kd_plant_refuse(p, KD_ERR_MODEL, "the parameters would change the number of variables");
    kd_free(list);
    kd_free(setting);
    kd_free(number);
    return status;
}

kd_status kd_plant_apply(kd_plant *p)
{
    if (!p->new_theta) return KD_OK;
    kd_status status = kd_system_set_parameters(p->system, p->theta, p->message, sizeof p->message);
    if (status < 0 && !p->started) status = read_again(p);
    p->new_theta = status < 0;
    return status;
}

bool kd_plant_is_tunable(kd_plant *p, unsigned reference)
{
    const kd_plant_variable *v = reference < (unsigned)p->count ? p->variable + reference : NULL;
    if (!v || v->kind != KD_PLANT_PARAMETER) return false;
    const double value = p->theta[v->index];
    p->theta[v->index] += 1e-3 * (value != 0 ? value : 1);
    const bool tunable = kd_system_set_parameters(p->system, p->theta, p->message, sizeof p->message) >= 0;
    p->theta[v->index] = value;
    return kd_system_set_parameters(p->system, p->theta, p->message, sizeof p->message) >= 0 && tunable;
}

// Something happened in a step; a client that wants to know it stops there
static kd_eval hear_event(const kd_event *event, const kd_state *before, const kd_state *after, void *context)
{
    (void)event, (void)before, (void)after;
    kd_plant *p = context;
    p->event = true;
    return p->to_event ? KD_EVAL_STOP : KD_EVAL_OK;
}

// The end of a step
static kd_eval hear_step(const kd_state *x, bool at_time, void *context)
{
    kd_plant *p = context;
    (void)at_time;
    if (!(x->t > p->from)) return KD_EVAL_OK; // the start of a run is shown, too
    p->probed = false;
    p->asked = !p->watcher(x->t, p->watcher_context);
    p->probed = false;
    return p->asked ? KD_EVAL_STOP : KD_EVAL_OK;
}

void kd_plant_watch(kd_plant *p, kd_plant_watcher watcher, void *context)
{
    p->watcher = watcher;
    p->watcher_context = context;
}

static kd_status choose_options(kd_plant *p, kd_simulation_options *o)
{
    kd_status status = kd_system_run_options(p->system, o, p->message, sizeof p->message);
    if (status < 0) return status;
    *o = kd_method_named(o); // nothing changes between communication points
    o->events.listener = hear_event;
    o->events.context = p;
    if (p->watcher) {
        o->output = hear_step;
        o->context = p;
    }
    if (p->tolerance > 0 && p->tolerance != o->rtol) {
        o->atol *= p->tolerance / o->rtol;
        o->rtol = p->tolerance;
    }
    return KD_OK;
}

// As new: multipliers of an earlier run would be the first guess of the next one, which then has other last digits
static kd_status forget_state(kd_plant *p)
{
    kd_state *fresh = NULL;
    kd_status status = kd_state_create(kd_system_eom(p->system), &fresh);
    if (status >= 0) status = kd_state_copy(fresh, p->x);
    kd_state_destroy(fresh);
    return status;
}

kd_status kd_plant_start(kd_plant *p)
{
    kd_simulation_options options;
    kd_plant_drop(p);
    kd_status status = kd_plant_apply(p);
    if (status < 0 || !p->system) return status < 0 ? status : KD_ERR_MODEL;
    // the model's start, with these inputs
    for (int i = 0; i < p->dims.nu; i++) p->t_u[i] = p->t_start;
    if ((status = forget_state(p)) < 0) return status;
    p->x->t = p->t_start;
    status = kd_system_start(p->system, p->x, p->message, sizeof p->message);
    if (status >= 0) status = choose_options(p, &options);
    if (status < 0) return status;
    const kd_inputs inputs = kd_plant_inputs(p);
    const kd_eom   *eom = kd_system_eom(p->system);
    p->x->t = p->t_start;
    status = p->mode == KD_PLANT_EXCHANGE
                 ? kd_exchange_create(eom, &inputs, &options, p->x, &p->exchange, p->message, sizeof p->message)
                 : kd_simulation_create(eom, &inputs, &options, p->x, &p->simulation, p->message, sizeof p->message);
    p->started = status >= 0;
    p->probed = p->new_inputs = false;
    return status < 0 ? status : KD_OK;
}

// ---- values ---------------------------------------------------------------------------------------------------------

static const kd_plant_variable *find_variable(kd_plant *p, unsigned reference)
{
    return reference < (unsigned)p->count ? p->variable + reference : NULL;
}

static kd_status refuse_reference(kd_plant *p, unsigned reference)
{
    return kd_plant_refuse(p, KD_ERR_ARGUMENT, "there is no variable %u: references are 0 to %d", reference,
                           p->count - 1);
}

// Numbers that a start depends on: one that was made for a question during initialisation is made again
static void note_change(kd_plant *p)
{
    p->probed = false;
    if (p->exchange) kd_exchange_touch(p->exchange);
}

kd_status kd_plant_set(kd_plant *p, unsigned reference, double value)
{
    const kd_plant_variable *v = find_variable(p, reference);
    if (!v) return refuse_reference(p, reference);
    if (!isfinite(value)) return kd_plant_refuse(p, KD_ERR_NOT_FINITE, "%s: %g is not a finite number", v->name, value);
    // an input: held from now on
    if (v->kind == KD_PLANT_INPUT) {
        if (p->u[v->index] == value && p->du[v->index] == 0) return KD_OK;
        p->u[v->index] = value;
        p->du[v->index] = 0;
        p->t_u[v->index] = p->x->t;
        p->new_inputs = true;
        // a parameter takes effect before the next step
    } else if (v->kind == KD_PLANT_PARAMETER) {
        if (p->theta[v->index] == value) return KD_OK;
        p->theta[v->index] = value;
        p->new_theta = true;
    } else {
        return kd_plant_refuse(p, KD_ERR_ARGUMENT, "%s is computed and cannot be set", v->name);
    }
    // derived values are computed again when they are asked for
    note_change(p);
    return KD_OK;
}

kd_status kd_plant_slope(kd_plant *p, unsigned reference, double rate)
{
    const kd_plant_variable *v = find_variable(p, reference);
    if (!v || v->kind != KD_PLANT_INPUT)
        return kd_plant_refuse(p, KD_ERR_ARGUMENT, "variable %u is no input", reference);
    if (!isfinite(rate)) return kd_plant_refuse(p, KD_ERR_NOT_FINITE, "%s: its rate is not finite", v->name);
    if (rate == p->du[v->index]) return KD_OK;
    p->u[v->index] += p->du[v->index] * (p->x->t - p->t_u[v->index]);
    p->du[v->index] = rate;
    p->t_u[v->index] = p->x->t;
    p->new_inputs = true;
    note_change(p);
    return KD_OK;
}

// The state is complete, and the probe looks at it
static kd_status look(kd_plant *p)
{
    if (p->probed) return KD_OK;
    kd_status status = p->exchange ? kd_exchange_bring(p->exchange) : KD_OK;
    if (status < 0) return kd_plant_refuse(p, status, "%s", kd_exchange_message(p->exchange));
    status = kd_probe_set(p->probe, p->x);
    p->probed = status >= 0;
    return kd_plant_refuse(p, status, "%s", kd_status_sentence(status));
}

static kd_status rate_of(kd_plant *p, int i, double *value)
{
    const kd_dims *d = &p->dims;
    if (i >= d->np && i < d->np + d->nv) {
        const double *a = kd_probe_values(p->probe, KD_GROUP_A);
        *value = a ? a[i - d->np] : NAN;
        return a ? KD_OK : kd_plant_refuse(p, KD_ERR_RETRY_FAILED, "%s", kd_probe_message(p->probe));
    }
    const kd_inputs inputs = kd_plant_inputs(p);
    const bool      position = i < d->np;
    kd_eval answer = kd_eom_at_state(p->data, &inputs, p->x, position ? KD_STAGE_VELOCITY : KD_STAGE_ACCELERATION);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(p->data, position ? KD_KINEMATICS : KD_B, p->work);
    *value = answer == KD_EVAL_OK ? p->work[position ? i : i - d->np - d->nv] : NAN;
    return answer == KD_EVAL_OK ? KD_OK : kd_plant_refuse(p, KD_ERR_RETRY_FAILED, "%s", kd_eom_data_message(p->data));
}

// Co-simulation has no use for indicators, but a client that reads all variables reads them, too: at a copy of the state
static kd_status events_of_copy(kd_plant *p, double *values)
{
    kd_simulation_options options;
    kd_state             *x = NULL;
    kd_exchange          *exchange = NULL;
    const kd_eom         *eom = kd_system_eom(p->system);
    const kd_inputs       inputs = kd_plant_inputs(p);
    kd_status             status = choose_options(p, &options);
    options.events.listener = NULL, options.output = NULL;
    if (status >= 0) status = kd_state_create(eom, &x);
    if (status >= 0) status = kd_state_copy(p->x, x);
    if (status >= 0) status = kd_exchange_create(eom, &inputs, &options, x, &exchange, p->message, sizeof p->message);
    if (status >= 0 && (status = kd_exchange_values(exchange, values)) < 0)
        (void)kd_plant_refuse(p, status, "%s", kd_exchange_message(exchange));
    kd_exchange_destroy(exchange);
    kd_state_destroy(x);
    return status < 0 ? status : KD_OK;
}

static kd_status indicator_of(kd_plant *p, int i, double *value)
{
    const int n = kd_plant_indicators(p);
    double   *values = kd_alloc((size_t)n * sizeof *values);
    if (!values) return KD_ERR_MEMORY;
    const kd_status status = p->exchange ? kd_plant_events(p, values) : events_of_copy(p, values);
    *value = values[i];
    kd_free(values);
    return status;
}

kd_status kd_plant_get(kd_plant *p, unsigned reference, double *value)
{
    const kd_plant_variable *v = find_variable(p, reference);
    kd_status                status = KD_OK;
    if (!v) return refuse_reference(p, reference);
    if (v->kind == KD_PLANT_TIME) *value = p->started ? kd_plant_time(p) : p->t_start;
    if (v->kind == KD_PLANT_INPUT) *value = p->u[v->index] + p->du[v->index] * (p->x->t - p->t_u[v->index]);
    if (v->kind == KD_PLANT_PARAMETER) *value = p->theta[v->index];
    if (v->kind < KD_PLANT_OUTPUT) return KD_OK;
    // before it runs: what the start would be
    if (!p->started) status = kd_plant_start(p);
    if (status >= 0 && v->kind == KD_PLANT_INDICATOR) return indicator_of(p, v->index, value);
    if (status >= 0) status = look(p);
    if (status < 0) return status;
    if (v->kind == KD_PLANT_STATE) {
        // in exchange the client's own numbers
        if (p->exchange) kd_exchange_states(p->exchange, p->work);
        const kd_dims *d = &p->dims;
        const int      i = v->index;
        *value = p->exchange         ? p->work[i]
                 : i < d->np         ? p->x->p[i]
                 : i < d->np + d->nv ? p->x->v[i - d->np]
                                     : p->x->r[i - d->np - d->nv];
        return KD_OK;
    }
    if (v->kind == KD_PLANT_DERIVATIVE) return rate_of(p, v->index, value);
    *value = kd_probe_value(p->probe, v->index);
    return kd_plant_refuse(p, kd_probe_status(p->probe), "%s: %s", v->name, kd_probe_message(p->probe));
}
