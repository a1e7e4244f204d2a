// recorder.c: looks at every state that a simulation shows: the certifier at all of them, the recording at those that
// are wanted. Command line and programs record with it, so that their rows are the same.
#define _POSIX_C_SOURCE 200809L // clock_gettime
#include "results/recorder.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/load.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "core/option.h"
#include "core/text.h"

enum {
    USUAL_INTERVALS = 500,
    ROWS_OF_STEPS = 10000, // unless the options say how many
    MOST_EVENTS = 20000,
    MOST_PLOTS = 16, // of a page, where all sensors are shown
    SETTINGS = 8,
    SETTING_SIZE = 40,
    LARGEST_TEXT = 1 << 26, // bytes of a model file that the page shows
    MESSAGE_SIZE = 2000
};

struct kd_recorder {
    kd_arena            arena;
    const kd_system    *system; // NULL: equations written in C
    const kd_eom       *eom;
    kd_inputs           inputs; // eval NULL: none
    kd_recorder_options opt;    // texts and lists in the arena
    int                *column; // (opt.nchannels) of the recording, as chosen
    bool                plots_of_model;
    char               *model_text;
    const char        **warnings; // of the model
    int                 nwarnings;
    kd_probe           *probe;
    kd_certifier       *certifier;
    kd_certificate_kind kind; // of the certificate
    kd_recording       *recording;
    kd_event_log       *log;
    double             *times; // equally spaced, where the caller gives none
    // of the run
    kd_simulation    *simulation;
    kd_output         output; // of the caller
    void             *context;
    kd_event_listener listener; // of the caller
    void             *listener_context;
    kd_status         seen;    // < 0: the first state that could not be recorded
    bool              stopped; // the caller's output function asked for it
    long              dropped;
    double            started; // [s]
    kd_certificate    certificate;
    kd_result_setting setting[SETTINGS];
    int               nsettings;
    char              value[SETTINGS][SETTING_SIZE];
    char              message[MESSAGE_SIZE];
};

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---- creation -------------------------------------------------------------------------------------------------------

kd_recorder_options kd_recorder_options_default(void)
{
    return (kd_recorder_options){.limits = kd_limits_none(), .cookie = KD_OPTIONS_COOKIE};
}

static const char *copy_text(kd_arena *arena, const char *text)
{
    char *copy = text ? kd_arena_cut(arena, strlen(text) + 1, 1) : NULL;
    return copy ? strcpy(copy, text) : NULL;
}

static const char *const *copy_list(kd_arena *arena, const char *const *list, int n)
{
    const char **copy = kd_arena_cut(arena, (size_t)n, sizeof *copy);
    for (int i = 0; copy && i < n; i++) copy[i] = copy_text(arena, list[i]);
    return copy;
}

// Texts and lists of the caller may be gone when the files are written
static void copy_options(kd_recorder *r, const kd_recorder_options *opt)
{
    kd_arena *a = &r->arena;
    r->opt = opt ? *opt : kd_recorder_options_default();
    r->opt.title = copy_text(a, r->opt.title);
    r->opt.about = copy_text(a, r->opt.about);
    r->opt.model_file = copy_text(a, r->opt.model_file);
    r->opt.inputs = NULL; // taken over, may be gone
    r->plots_of_model = !r->opt.plots;
    r->opt.channels = copy_list(a, r->opt.channels, r->opt.nchannels);
    r->opt.plots = copy_list(a, r->opt.plots, r->opt.nplots);
}

static void take(double *limit, double of_model)
{
    if (isnan(*limit)) *limit = of_model;
}

// What the options leave open is as the model says
static void take_from_model(kd_recorder *r)
{
    // title, times, limits, plots: the caller's come first
    const kd_model   *model = kd_system_model(r->system);
    const kd_run_def *run = kd_model_run(model);
    const int         count = kd_model_warning_count(model);
    if (!r->opt.title) r->opt.title = kd_model_title(model);
    if (r->opt.intervals == 0) r->opt.intervals = run->intervals;
    take(&r->opt.limits.position, run->limit_position);
    take(&r->opt.limits.velocity, run->limit_velocity);
    take(&r->opt.limits.acceleration, run->limit_acceleration);
    take(&r->opt.limits.energy, run->limit_energy);
    if (r->plots_of_model) r->opt.plots = run->plots, r->opt.nplots = run->nplots;
    r->warnings = kd_arena_cut(&r->arena, (size_t)(count + run->nplots), sizeof *r->warnings);
    for (int i = 0; r->warnings && i < count; i++) r->warnings[r->nwarnings++] = kd_model_warning(model, i);
}

// Column of a name, with or without "sensor." in front; -1: none
static int find_channel(const kd_recording *rec, const char *name)
{
    const int column = kd_recording_find(rec, name);
    return column < 0 && strncmp(name, "sensor.", 7) == 0 ? kd_recording_find(rec, name + 7) : column;
}

static kd_status complain_of_channel(const kd_recording *rec, const char *name, char *message, size_t size)
{
    // the nearest of all names, for the message
    kd_nearest nearest = kd_nearest_start(name);
    for (int j = 0; j < kd_recording_columns(rec); j++) kd_nearest_offer(&nearest, kd_recording_name(rec, j));
    kd_text(message, size, "there is no channel '%s'", name);
    if (nearest.best) kd_text_append(message, size, "; did you mean '%s'?", nearest.best);
    return KD_ERR_ARGUMENT;
}

// A plot that the model asks for but the system does not record: a path of the model is told as a warning, because the
// system can be made with it; what is none is an error
static kd_status miss_plot(kd_recorder *r, const char *name, char *message, size_t size)
{
    char         why[400], text[700];
    kd_path_info info;
    if (kd_model_path_about(kd_system_model(r->system), name, &info, why, sizeof why) < 0) {
        if (!strchr(name, '.')) return complain_of_channel(r->recording, name, message, size);
        kd_text(message, size, "run: plots: channel '%s': %s", name, why);
        return KD_ERR_ARGUMENT;
    }
    kd_text(text, sizeof text, "run: plots: '%s' is not recorded: make the system with kd_system_options_of", name);
    const char *copy = copy_text(&r->arena, text);
    if (!copy) return KD_ERR_MEMORY;
    r->warnings[r->nwarnings++] = copy;
    return KD_OK;
}

// Is a column one of the channels that were chosen? All are, where none was
static bool is_chosen(const kd_recorder *r, int column)
{
    for (int i = 0; i < r->opt.nchannels; i++)
        if (r->column[i] == column) return true;
    return r->opt.nchannels == 0;
}

// What the page shows: as the options say; else as the model says or all its sensors, of the channels that were chosen;
// where nothing of it was, these
static kd_status choose_plots(kd_recorder *r, const char **plots, char *message, size_t size)
{
    int n = 0, first, count;
    for (int i = 0; i < r->opt.nplots; i++) {
        const int column = find_channel(r->recording, r->opt.plots[i]);
        if (column < 0 && !r->plots_of_model) return complain_of_channel(r->recording, r->opt.plots[i], message, size);
        const kd_status status = column < 0 ? miss_plot(r, r->opt.plots[i], message, size) : KD_OK;
        if (status < 0) return status;
        if (column >= 0 && (!r->plots_of_model || is_chosen(r, column)))
            plots[n++] = kd_recording_name(r->recording, column);
    }
    // all sensors of a model that does not say which
    kd_recording_group(r->recording, KD_GROUP_Y, &first, &count);
    const bool all = r->system && r->plots_of_model && r->opt.nplots == 0;
    for (int j = first; all && j < first + count && n < MOST_PLOTS; j++)
        if (is_chosen(r, j)) plots[n++] = kd_recording_name(r->recording, j);
    if (n == 0 && r->plots_of_model)
        for (; n < r->opt.nchannels && n < MOST_PLOTS; n++) plots[n] = kd_recording_name(r->recording, r->column[n]);
    for (int i = 0; i < n; i++) plots[i] = copy_text(&r->arena, plots[i]); // outlives the recording
    r->opt.plots = plots;
    r->opt.nplots = n;
    return KD_OK;
}

// Channels of the table, and those of the page by the names that the recording has for them
static kd_status find_channels(kd_recorder *r, char *message, size_t size)
{
    const char **plots =
        kd_arena_cut(&r->arena, (size_t)(r->opt.nplots > MOST_PLOTS ? r->opt.nplots : MOST_PLOTS), sizeof *plots);
    r->column = kd_cut_int(&r->arena, r->opt.nchannels);
    if (!plots || !r->column) return KD_ERR_MEMORY;
    // names of columns to numbers, once: rows are copied by them
    for (int i = 0; i < r->opt.nchannels; i++) {
        r->column[i] = find_channel(r->recording, r->opt.channels[i]);
        if (r->column[i] < 0) return complain_of_channel(r->recording, r->opt.channels[i], message, size);
    }
    return choose_plots(r, plots, message, size);
}

static kd_status load_text(kd_recorder *r, char *message, size_t size)
{
    // the text of the model goes into page and HDF5 file
    size_t length;
    if (!r->opt.model_file) return KD_OK;
    return kd_load_file(r->opt.model_file, LARGEST_TEXT, &r->model_text, &length, message, size);
}

// Rows of a run with that many wanted times: one more for the start, one for the place where it fails or is stopped
static int rows_for(const kd_recorder *r, int ntimes)
{
    return r->opt.rows > 0 ? r->opt.rows : ntimes + 2 + (r->opt.steps ? ROWS_OF_STEPS : 0);
}

static bool is_wrong(const kd_recorder_options *o)
{
    return o && (o->intervals < 0 || o->rows < 0 || o->nchannels < 0 || o->nplots < 0 ||
                 (o->nchannels > 0 && !o->channels) || (o->nplots > 0 && !o->plots));
}

static kd_status create(const kd_system *system, const kd_eom *eom, const kd_inputs *inputs,
                        const kd_recorder_options *opt, kd_recorder **recorder, char *message, size_t size)
{
    if (recorder) *recorder = NULL;
    kd_text(message, size, "%s", "");
    if (!recorder || !eom || is_wrong(opt)) {
        kd_text(message, size, "a recorder needs a system or equations, and numbers that are not negative");
        return KD_ERR_ARGUMENT;
    }
    if (!kd_options_made(opt, opt ? opt->cookie : 0, "kd_recorder_options", message, size)) return KD_ERR_ARGUMENT;
    kd_recorder *r = kd_alloc(sizeof *r);
    kd_status    status = r ? KD_OK : KD_ERR_MEMORY;
    if (!r) goto done;
    // what is missing is the model's, then the usual
    r->system = system;
    r->eom = eom;
    if (inputs) r->inputs = *inputs;
    if (opt && opt->inputs) r->inputs = *opt->inputs;
    copy_options(r, opt);
    if (system) take_from_model(r);
    if (r->opt.intervals == 0) r->opt.intervals = USUAL_INTERVALS;
    if (!r->opt.title) r->opt.title = "";
    if (r->arena.failed) status = KD_ERR_MEMORY;
    // the probe reads all states, the recording keeps what it reads
    if (status >= 0)
        status = system ? kd_probe_of_system(system, opt ? opt->inputs : NULL, &r->probe)
                        : kd_probe_create(eom, r->inputs.eval ? &r->inputs : NULL, &r->probe);
    if (status >= 0) status = kd_recording_create(r->probe, rows_for(r, r->opt.intervals), &r->recording);
    if (status >= 0) status = find_channels(r, message, size);
    if (status >= 0) status = load_text(r, message, size);
    if (status >= 0 && r->arena.failed) status = KD_ERR_MEMORY;
done:
    if (status == KD_ERR_MEMORY) kd_text(message, size, "no memory for a recorder");
    if (status < 0)
        kd_recorder_destroy(r);
    else
        *recorder = r;
    return status;
}

kd_status kd_recorder_create(const kd_system *system, const kd_recorder_options *opt, kd_recorder **recorder,
                             char *message, size_t size)
{
    const kd_eom *eom = system ? kd_system_eom(system) : NULL;
    return create(system, eom, system ? kd_system_inputs(system) : NULL, opt, recorder, message, size);
}

kd_status kd_recorder_create_for(const kd_eom *eom, const kd_inputs *inputs, const kd_recorder_options *opt,
                                 kd_recorder **recorder, char *message, size_t size)
{
    return create(NULL, eom, inputs, opt, recorder, message, size);
}

void kd_recorder_destroy(kd_recorder *r)
{
    if (!r) return;
    kd_event_log_destroy(r->log);
    kd_recording_destroy(r->recording);
    kd_certifier_destroy(r->certifier);
    kd_probe_destroy(r->probe);
    kd_free(r->times);
    kd_free(r->model_text);
    kd_arena_release(&r->arena);
    kd_free(r);
}

// ---- before a run ---------------------------------------------------------------------------------------------------

// Equally spaced behind the start, the last one exactly at the end
static kd_status make_times(kd_recorder *r, kd_simulation_options *o, double t_start, double t_end)
{
    // a run of no length has its start only
    const int n = t_end > t_start ? r->opt.intervals : 0;
    kd_free(r->times);
    r->times = kd_alloc((size_t)n * sizeof *r->times);
    if (!r->times) return KD_ERR_MEMORY;
    for (int i = 0; i < n; i++) r->times[i] = t_start + (t_end - t_start) * (i + 1) / n;
    if (n > 0) r->times[n - 1] = t_end;
    o->times = r->times;
    o->ntimes = n;
    return KD_OK;
}

// Fresh ones: nothing of an earlier run is left
static kd_status make_room(kd_recorder *r, int ntimes)
{
    // the certifier is made anew for each run, the recording only if its room does not suffice; the log, which is large, stays
    const int  rows = rows_for(r, ntimes);
    const bool fits =
        r->recording && kd_recording_length(r->recording) == 0 && kd_recording_capacity(r->recording) >= rows;
    kd_status status = KD_OK;
    kd_certifier_destroy(r->certifier);
    r->certifier = NULL;
    if (r->log) kd_event_log_forget(r->log);
    if (!fits) {
        kd_recording_destroy(r->recording);
        status = kd_recording_create(r->probe, rows, &r->recording); // NULL after a failure
    }
    if (status >= 0) status = kd_certifier_create_by(r->probe, &r->certifier);
    kd_certifier_ask(r->certifier, r->kind, &r->opt.limits);
    if (status >= 0) kd_recording_set_balanced(r->recording, r->kind == KD_CERTIFICATE_FULL);
    if (status >= 0 && !r->log && kd_event_log_is_due(r->eom, true))
        status = kd_event_log_create(r->eom, MOST_EVENTS, &r->log);
    return status;
}

static kd_eval hear(const kd_event *event, const kd_state *before, const kd_state *after, void *context)
{
    // the log first, then the caller, who may stop the run
    kd_recorder  *r = context;
    const kd_eval answer = r->log ? kd_event_log_hear(event, before, after, r->log) : KD_EVAL_OK;
    if (answer != KD_EVAL_OK || !r->listener) return answer;
    const kd_eval of_caller = r->listener(event, before, after, r->listener_context);
    r->stopped = r->stopped || of_caller == KD_EVAL_STOP;
    return of_caller;
}

static void add_setting(kd_recorder *r, const char *name, const char *format, ...) KD_PRINTF(3, 4);
static void add_setting(kd_recorder *r, const char *name, const char *format, ...)
{
    va_list arguments;
    char   *value = r->value[r->nsettings];
    va_start(arguments, format);
    (void)vsnprintf(value, SETTING_SIZE, format, arguments);
    va_end(arguments);
    r->setting[r->nsettings++] = (kd_result_setting){name, value};
}

// What is needed to make the run again
static void note_settings(kd_recorder *r, const kd_simulation_options *o, double t_end)
{
    static const char *const DECOMPOSITION[] = {"lu", "qr", "svd"};
    r->nsettings = 0;
    add_setting(r, "end time", "%.9g s", t_end);
    add_setting(r, "formulation", "%s",
                o->formulation == KD_FORMULATION_CHOSEN ? "chosen" : kd_formulation_word(o->formulation));
    add_setting(r, "integrator", "%s", kd_integrator_word(o->integrator));
    add_setting(r, "decomposition of the constraints", "%s", DECOMPOSITION[o->formulation_options.constraints]);
    add_setting(r, "output times", "%d", o->ntimes);
    add_setting(r, "certificate", "%s", kd_certificate_kind_word(o->certificate));
}

kd_status kd_recorder_prepare(kd_recorder *r, kd_simulation_options *o, double t_start, double t_end)
{
    if (!r || !o) return KD_ERR_ARGUMENT;
    // nothing of the run before is left
    r->started = seconds();
    r->simulation = NULL;
    r->seen = KD_OK;
    r->stopped = false;
    r->dropped = 0;
    r->certificate = (kd_certificate){0};
    r->message[0] = '\0';
    r->kind = o->certificate;
    // times of the caller, or equally spaced ones
    kd_status status = o->times ? KD_OK : make_times(r, o, t_start, t_end);
    if (status >= 0) status = make_room(r, o->ntimes);
    if (status < 0) {
        kd_text(r->message, sizeof r->message, "no memory for the results");
        return status;
    }
    note_settings(r, o, t_end);
    // the recorder stands between the simulation and the caller's listener
    if (r->log) { // without log the caller's listener stays
        r->listener = o->events.listener;
        r->listener_context = o->events.context;
        o->events.listener = hear;
        o->events.context = r;
    }
    o->accelerations = false; // the probe finds those that are read
    return KD_OK;
}

kd_status kd_recorder_attach(kd_recorder *r, kd_simulation_options *o, double t_start, double t_end)
{
    kd_status status = kd_recorder_prepare(r, o, t_start, t_end);
    if (status < 0) return status;
    // and between it and the caller's output function
    r->output = o->output;
    r->context = o->context;
    o->output = kd_recorder_see;
    o->context = r;
    return KD_OK;
}

kd_status kd_recorder_begin(kd_recorder *r, kd_simulation *simulation)
{
    if (!r || !simulation || !r->certifier) return KD_ERR_ARGUMENT;
    r->simulation = simulation;
    // tolerances are known when the simulation has chosen them
    kd_tolerances tolerances = kd_simulation_tolerances(simulation);
    if (r->nsettings + 2 > SETTINGS) return KD_OK; // begun before
    add_setting(r, "relative tolerance", "%g", tolerances.rtol);
    add_setting(r, "absolute tolerance", "%g", tolerances.atol);
    return KD_OK;
}

kd_status kd_recorder_save(kd_recorder *r, kd_saved *saved)
{
    if (!r || !saved || !r->certifier) return KD_ERR_ARGUMENT;
    return kd_certifier_save(r->certifier, saved);
}

kd_status kd_recorder_restore(kd_recorder *r, const kd_saved *saved, char *message, size_t size)
{
    if (!r || !saved || !r->certifier) return KD_ERR_ARGUMENT;
    return kd_certifier_restore(r->certifier, saved, message, size);
}

// ---- during a run ---------------------------------------------------------------------------------------------------

static kd_status add_row(kd_recorder *r, const kd_state *x)
{
    const int         n = kd_recording_length(r->recording);
    const kd_findings findings = kd_certifier_findings(r->certifier);
    const kd_status   status = kd_recording_add(r->recording, x, &findings);
    if (status < 0) kd_text(r->message, sizeof r->message, "%s", kd_recording_message(r->recording));
    // the table is full, and this state is a new one: it is only counted
    if (status >= 0 && n == kd_recording_capacity(r->recording) && x->t > kd_recording_times(r->recording)[n - 1])
        r->dropped++;
    return status;
}

static kd_status look(kd_recorder *r, const kd_state *x, bool wanted)
{
    if (!r->simulation) {
        kd_text(r->message, sizeof r->message, "kd_recorder_begin was not called");
        return KD_ERR_ARGUMENT;
    }
    // every state is certified, the wanted ones are kept; those alone are looked at where no certificate is wanted
    if (r->kind == KD_CERTIFICATE_NONE && !wanted) return KD_OK;
    const kd_status status = kd_certifier_see(r->certifier, r->simulation, x);
    if (status == KD_ERR_RANK_CHANGE) // only a state between two steps has no solution
        kd_text(r->message, sizeof r->message, "%s", kd_simulation_message(r->simulation));
    return status >= 0 && wanted ? add_row(r, x) : status;
}

kd_eval kd_recorder_see(const kd_state *x, bool at_time, void *recorder)
{
    kd_recorder *r = recorder;
    if (!r || !x || !r->certifier) return KD_EVAL_STOP;
    // wanted: its time, or all steps, or the start
    r->seen = look(r, x, at_time || r->opt.steps || kd_recording_length(r->recording) == 0);
    if (r->seen < 0) return KD_EVAL_STOP;
    const kd_eval answer = r->output ? r->output(x, at_time, r->context) : KD_EVAL_OK;
    r->stopped = r->stopped || answer == KD_EVAL_STOP;
    return answer;
}

void kd_recorder_stop(kd_recorder *r)
{
    r->stopped = true;
}

// ---- after a run ----------------------------------------------------------------------------------------------------

// The place where a run ended, also after a failure or a stop
static kd_status add_end(kd_recorder *r, const kd_state *x, kd_status answer)
{
    char why[MESSAGE_SIZE];
    // the last state is recorded wherever the run ended
    if (r->seen >= 0) {
        const kd_status status = look(r, x, true);
        return answer >= 0 && status < 0 ? status : answer;
    }
    // output itself failed: its reason, with time
    kd_text(why, sizeof why, "%s", r->message);
    kd_text(r->message, sizeof r->message, "output at t = %.9g s failed%s%.1900s", x->t, why[0] ? ": " : "", why);
    return r->seen;
}

kd_status kd_recorder_end(kd_recorder *r, kd_status answer)
{
    if (!r || !r->simulation) return KD_ERR_ARGUMENT;
    kd_status status = add_end(r, kd_simulation_state(r->simulation), answer);
    // the end that the run was meant to have
    if (status == KD_STOPPED && !r->stopped) status = KD_OK; // an event of the model: as it should be
    if (r->seen >= 0 && !r->message[0])
        kd_text(r->message, sizeof r->message, "%s", kd_simulation_message(r->simulation));
    if (r->log) kd_event_log_set_samples(r->log, kd_simulation_events(r->simulation, KD_EVENT_SAMPLE));
    // the certificate gets what the simulation knows, and what was allowed
    r->certificate = kd_certifier_certificate(r->certifier);
    kd_certificate_take(&r->certificate, r->simulation);
    r->certificate.status = status;
    r->certificate.limits = r->opt.limits;
    r->certificate.wall_seconds = seconds() - r->started;
    r->simulation = NULL;
    return status;
}

kd_status kd_recorder_simulate(kd_recorder *r, const kd_simulation_options *options, kd_state *x, double t_end)
{
    kd_simulation_options opt = options ? *options : kd_simulation_options_default();
    kd_simulation        *simulation = NULL;
    if (!r || !x) return KD_ERR_ARGUMENT;
    kd_status status = KD_OK;
    // without options as the model's file says
    if (!options && r->system) status = kd_system_run_options(r->system, &opt, r->message, sizeof r->message);
    if (status >= 0) status = kd_recorder_attach(r, &opt, x->t, t_end);
    if (status < 0) return status;
    status = kd_simulation_create(r->eom, r->inputs.eval ? &r->inputs : NULL, &opt, x, &simulation, r->message,
                                  sizeof r->message);
    if (status < 0) return status;
    // those of the start count as the outcome of a run that went well
    const kd_status start = status; // news: corrected values, redundant constraints
    r->message[0] = '\0';
    status = kd_recorder_begin(r, simulation);
    if (status >= 0) status = kd_simulation_run(simulation, t_end);
    status = kd_recorder_end(r, status == KD_OK ? start : status);
    kd_simulation_destroy(simulation);
    return status;
}

// ---- queries --------------------------------------------------------------------------------------------------------

// Number of a column in the recording; -1: none
static int recorded(const kd_recorder *r, int column)
{
    // chosen channels, or all of them
    if (!r || column < 0 || column >= kd_recorder_columns(r)) return -1;
    return r->opt.nchannels > 0 ? r->column[column] : column;
}

int kd_recorder_columns(const kd_recorder *r)
{
    if (!r || !r->recording) return 0;
    return r->opt.nchannels > 0 ? r->opt.nchannels : kd_recording_columns(r->recording);
}
const char *kd_recorder_name(const kd_recorder *r, int column)
{
    const int j = recorded(r, column);
    return j < 0 ? "" : kd_recording_name(r->recording, j);
}
const char *kd_recorder_unit(const kd_recorder *r, int column)
{
    const int j = recorded(r, column);
    return j < 0 ? "" : kd_recording_unit(r->recording, j);
}

int kd_recorder_find(const kd_recorder *r, const char *name)
{
    if (!r || !r->recording || !name) return -1;
    const int j = find_channel(r->recording, name);
    // the place among the chosen ones
    if (j < 0 || r->opt.nchannels == 0) return j;
    for (int i = 0; i < r->opt.nchannels; i++)
        if (r->column[i] == j) return i;
    return -1;
}

int kd_recorder_rows(const kd_recorder *r)
{
    return r && r->recording ? kd_recording_length(r->recording) : 0;
}
long kd_recorder_dropped(const kd_recorder *r)
{
    return r ? r->dropped : 0;
}
const double *kd_recorder_times(const kd_recorder *r)
{
    return r ? kd_recording_times(r->recording) : NULL;
}

double kd_recorder_value(const kd_recorder *r, int row, int column)
{
    const int j = recorded(r, column);
    if (j < 0 || row < 0 || row >= kd_recorder_rows(r)) return NAN;
    return kd_recording_values(r->recording)[(size_t)row * (size_t)kd_recording_columns(r->recording) + (size_t)j];
}

const double *kd_recorder_table(const kd_recorder *r, size_t *stride)
{
    if (stride) *stride = r && r->recording ? (size_t)kd_recording_columns(r->recording) : 0;
    return kd_recorder_rows(r) > 0 ? kd_recording_values(r->recording) : NULL;
}
int kd_recorder_place(const kd_recorder *r, int column)
{
    return recorded(r, column);
}

kd_status kd_recorder_column(const kd_recorder *r, int column, double *values)
{
    if (recorded(r, column) < 0 || !values) return KD_ERR_ARGUMENT;
    for (int i = 0; i < kd_recorder_rows(r); i++) values[i] = kd_recorder_value(r, i, column);
    return KD_OK;
}

int kd_recorder_events_count(const kd_recorder *r)
{
    return r && r->log ? kd_event_log_length(r->log) : 0;
}
kd_recorded_event kd_recorder_event(const kd_recorder *r, int i)
{
    if (i < 0 || i >= kd_recorder_events_count(r)) return (kd_recorded_event){.t = NAN, .element = "", .text = ""};
    const kd_logged_event *e = kd_event_log_at(r->log, i);
    return (kd_recorded_event){e->t, e->kind, e->direction, e->element, e->text};
}

const kd_certificate *kd_recorder_certificate(const kd_recorder *r)
{
    return r ? &r->certificate : NULL;
}
const char *kd_recorder_message(const kd_recorder *r)
{
    return r ? r->message : "";
}

const kd_system *kd_recorder_system(const kd_recorder *r)
{
    return r->system;
}
kd_probe *kd_recorder_probe(const kd_recorder *r)
{
    return r->probe;
}
kd_recording *kd_recorder_recording(const kd_recorder *r)
{
    return r->recording;
}
kd_event_log *kd_recorder_events(const kd_recorder *r)
{
    return r->log;
}
bool kd_recorder_draws(const kd_recorder *r)
{
    return r->system && !r->opt.no_drawing;
}

// ---- files ----------------------------------------------------------------------------------------------------------

kd_result kd_recorder_result(const kd_recorder *r)
{
    return (kd_result){
        .title = r->opt.title,
        .about = r->opt.about,
        .model_file = r->opt.model_file,
        .model_text = r->model_text,
        .recording = r->recording,
        .column = r->column,
        .ncolumns = r->opt.nchannels,
        .settings = r->setting,
        .nsettings = r->nsettings,
        .certificate = r->certificate,
        .warnings = r->warnings,
        .nwarnings = r->nwarnings,
        .message = r->message,
        .reference_error = NAN,
        .plots = r->opt.plots,
        .nplots = r->opt.nplots,
        .events = r->log,
        .plain = r->opt.plain,
    };
}

bool kd_recorder_has_rows(const kd_recorder *r, const char *path, char *message, size_t size)
{
    if (r && path && kd_recorder_rows(r) > 0) return true;
    kd_text(message, size, "nothing was recorded that could be written");
    return false;
}

kd_status kd_recorder_save_csv(const kd_recorder *r, const char *path, char *message, size_t size)
{
    if (!kd_recorder_has_rows(r, path, message, size)) return KD_ERR_ARGUMENT;
    const kd_result result = kd_recorder_result(r);
    return kd_result_save_csv(&result, path, message, size);
}

kd_status kd_recorder_save_hdf5(const kd_recorder *r, const char *path, char *message, size_t size)
{
    if (!kd_recorder_has_rows(r, path, message, size)) return KD_ERR_ARGUMENT;
    const kd_result result = kd_recorder_result(r);
    return kd_result_save_hdf5(&result, path, message, size);
}
