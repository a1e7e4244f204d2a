// live.c: a model that runs along with a clock: pieces of a simulation, changes from outside between them.
#define _POSIX_C_SOURCE 200809L
#include "cli/live.h"

#include <kardan/certificate.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/live_run.h"
#include "cli/method.h"
#include "cli/pull.h"
#include "core/text.h"
#include "drawing/drawing.h"
#include "drawing/scene.h"
#include "model/build.h"
#include "report/viewer.h"
#include "results/file.h"
#include "results/state_file.h"

enum {
    MOST_CHANNELS = 400, // that pages see
    MOST_PLOTS = 4,
    FRONT = 4, // numbers before the poses of a frame
    NOTE = 4000
};
static const double SLOWEST = 1e-3, FASTEST = 1e3; // speed
static const double PICTURE = 1.0 / 60;            // [s] of the clock: a single step
static const double PATIENCE = 5;                  // [s] of computing for it
static const double LONGEST = 0.1;                 // [s] of the clock in one piece: beyond it time is dropped
static const double NATURAL = 12;                  // [rad/s] of the pulled body on its spring
static const double DAMPED = 0.4;                  // its damping ratio
static const double REACH = 0.25;                  // sizes of the mechanism over which the spring lifts all of it
static const double FORGETTING = 0.9;              // of the pace, from piece to piece

// one model that runs: what it is, what drives it, what pages see of it
struct kd_live {
    kd_subject_request  request;
    kd_subject          subject;
    kd_method           method;
    kd_inputs           inputs; // those of the model, but for the ones that are held
    kd_live_run         run;
    double              step; // of the stepper [s]; 0: as kardan simulate
    kd_certifier       *certifier;
    kd_certificate_kind kind; // of its certificate
    kd_probe           *probe;
    kd_drawing         *drawing; // knows the surfaces that deform
    char                folder[1000];
    // parameters and inputs
    int                nparameters, nu;
    kd_parameter_info *parameter; // (nparameters) as the file says
    double            *theta;     // (nparameters) now
    bool              *held;      // (nu)
    double            *value;     // (nu) where held
    kd_pull            pull;
    // the clock
    bool   running, changed, out_of_time;
    double speed, pace, deadline;
    // what pages see
    int     nchannels, channel[MOST_CHANNELS];
    double *frame;
    char    reason[300]; // how it runs
    bool    is_fault;
    char    note[NOTE], told[NOTE];
};

// ---- news -----------------------------------------------------------------------------------------------------------

// the newest news take the place of older ones
static void say(kd_live *l, bool is_fault, const char *text)
{
    kd_text(l->note, sizeof l->note, "%s", text);
    l->is_fault = is_fault;
}

// Something went wrong: it stands still until somebody does something
static void stand_still(kd_live *l, kd_status status, const char *message)
{
    char text[NOTE];
    l->running = false;
    kd_text(text, sizeof text, "%s: %s", kd_status_sentence(status), message);
    say(l, true, message[0] ? text : kd_status_sentence(status));
}

// told once: kept apart, because saying it may bring others
const char *kd_live_note(kd_live *l, bool *is_fault)
{
    *is_fault = l->is_fault;
    memcpy(l->told, l->note, sizeof l->told);
    l->note[0] = '\0';
    return l->told;
}

bool kd_live_is_changed(kd_live *l)
{
    const bool changed = l->changed;
    l->changed = false;
    return changed;
}

// ---- pulling --------------------------------------------------------------------------------------------------------
// Diagonal of the box around the bodies now
static double size_now(kd_live *l)
{
    const double *pose = kd_probe_values(l->probe, KD_GROUP_POSE);
    // boxes of origins: shapes do not count
    double    low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, sum = 0;
    const int n = kd_system_model(l->subject.system)->nbodies;
    for (int b = 0; pose && b < n; b++)
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], pose[7 * b + i]);
            high[i] = fmax(high[i], pose[7 * b + i]);
        }
    for (int i = 0; i < 3; i++) sum += high[i] > low[i] ? (high[i] - low[i]) * (high[i] - low[i]) : 0;
    return fmax(sqrt(sum), 0.1);
}

// Strong enough for the body alone, and to lift the whole mechanism when it is drawn far
static void choose_spring(kd_live *l, double strength)
{
    const kd_model *m = kd_system_model(l->subject.system);
    kd_pull        *p = &l->pull;
    double          all = 0,
           g = sqrt(m->gravity[0] * m->gravity[0] + m->gravity[1] * m->gravity[1] + m->gravity[2] * m->gravity[2]);
    // k for the natural frequency of the body, or to lift all at REACH; c for the damping ratio
    for (int i = 0; i < m->nbodies; i++) all += m->body[i].def.mass;
    const double mass = fmax(m->body[p->body].def.mass, 1e-6 * all);
    p->strength = strength;
    p->k = strength * fmax(mass * NATURAL * NATURAL, all * g / (REACH * size_now(l)));
    p->c = 2.0 * DAMPED * sqrt(p->k * mass);
}

// ---- the simulation -------------------------------------------------------------------------------------------------

// the model's inputs, but for those that are held: these have no rates
static kd_eval eval_inputs(double t, void *context, double *u, double *du, double *ddu)
{
    const kd_live *l = context;
    for (int i = 0; i < l->nu; i++) u[i] = du[i] = ddu[i] = 0;
    if (l->subject.inputs.eval) {
        kd_eval answer = l->subject.inputs.eval(t, l->subject.inputs.context, u, du, ddu);
        if (answer != KD_EVAL_OK) return answer;
    }
    for (int i = 0; i < l->nu; i++)
        if (l->held[i]) u[i] = l->value[i], du[i] = ddu[i] = 0;
    return KD_EVAL_OK;
}

// After each step: the certificate looks at it; the piece ends when its time is over
static kd_eval take_output(const kd_state *x, bool at_time, void *context)
{
    kd_live *l = context;
    if (!at_time && l->certifier && kd_certifier_see(l->certifier, l->run.simulation, x) < 0) return KD_EVAL_STOP;
    l->out_of_time = l->run.simulation && kd_cli_seconds() > l->deadline;
    return l->out_of_time ? KD_EVAL_STOP : KD_EVAL_OK;
}

// all that belongs to equations that are about to change
static void drop_simulation(kd_live *l)
{
    kd_live_run_drop(&l->run);
    kd_certifier_destroy(l->certifier);
    kd_probe_destroy(l->probe);
    kd_drawing_destroy(l->drawing);
    l->certifier = NULL;
    l->probe = NULL;
    l->drawing = NULL;
}

// Of the equations as they are now, from the state as it is now
static kd_status make_simulation(kd_live *l, char *message, size_t size)
{
    kd_simulation_options opt = kd_method_for_run(&l->method);
    opt.output = take_output;
    opt.context = l;
    // steps without end; without freedom nothing limits their length but the picture
    opt.integrator_options.max_steps = LONG_MAX / 2;
    if (l->subject.info.dof == 0 && opt.integrator_options.h_max == 0) opt.integrator_options.h_max = PICTURE;
    drop_simulation(l);
    // no deadline while it is made consistent
    l->deadline = INFINITY;
    kd_status status = kd_certifier_create(l->subject.eom, &l->inputs, &l->certifier);
    kd_certifier_ask(l->certifier, l->kind = opt.certificate, NULL);
    if (status >= 0) status = kd_subject_probe(&l->subject, &l->inputs, &l->probe);
    if (status >= 0) status = kd_drawing_create(l->subject.system, 1, &l->drawing);
    if (status >= 0)
        status = kd_live_run_make(&l->run, l->subject.eom, &l->inputs, &opt, l->step, l->subject.x, message, size);
    if (status >= 0) status = kd_probe_set(l->probe, l->subject.x);
    if (status < 0 && !message[0]) kd_text(message, size, "%s", kd_status_sentence(status));
    return status;
}

// The certificate begins anew: energies and constraints are those of another system from now on
static void certify_afresh(kd_live *l)
{
    kd_certifier *fresh;
    if (kd_certifier_create(l->subject.eom, &l->inputs, &fresh) < 0) return;
    kd_certifier_ask(fresh, l->kind, NULL);
    kd_certifier_destroy(l->certifier);
    l->certifier = fresh;
}

// Equations with or without the pull, from the present state
static void renew(kd_live *l)
{
    char      message[NOTE] = "";
    kd_state *x = NULL;
    if (!l->subject.x) return; // the start failed; a reset tries again
    kd_status status = kd_state_create(l->subject.eom, &x);
    if (status >= 0) status = kd_state_copy(l->subject.x, x);
    // the state outlives its system: copied, the system made again with or without the spring, copied back
    drop_simulation(l);
    if (status >= 0 && !kd_subject_attach(&l->subject, "pull", l->pull.on ? &l->pull.def : NULL)) {
        kd_text(message, sizeof message, "%s", l->subject.message);
        status = KD_ERR_MODEL;
    }
    if (status >= 0 && l->nparameters > 0)
        status = kd_system_set_parameters(l->subject.system, l->theta, message, sizeof message);
    if (status >= 0) status = kd_state_copy(x, l->subject.x);
    if (status >= 0) status = make_simulation(l, message, sizeof message);
    kd_state_destroy(x);
    if (status < 0) stand_still(l, status, message);
}

static bool is_alive(const kd_live *l)
{
    return kd_live_run_is_made(&l->run);
}

// ---- what pages ask for ---------------------------------------------------------------------------------------------
static void start_afresh(kd_live *l)
{
    char message[NOTE] = "";
    drop_simulation(l);
    if (!l->subject.system) { // the last attempt to make them failed
        l->pull.on = false;
        if (!kd_subject_attach(&l->subject, "pull", NULL)) {
            stand_still(l, KD_ERR_MODEL, l->subject.message);
            return;
        }
    }
    kd_status status =
        // the start depends on parameters: they are set before
        l->nparameters > 0 ? kd_system_set_parameters(l->subject.system, l->theta, message, sizeof message) : KD_OK;
    // a state that knows nothing of what happened
    kd_state_destroy(l->subject.x);
    l->subject.x = NULL;
    if (status >= 0) status = kd_state_create(l->subject.eom, &l->subject.x);
    if (status >= 0) status = kd_system_start(l->subject.system, l->subject.x, message, sizeof message);
    if (status >= 0) status = make_simulation(l, message, sizeof message);
    if (status < 0) stand_still(l, status, message);
}

// Another value: the motion goes on from where it is, as far as the constraints allow
static void set_parameter(kd_live *l, int i, double value)
{
    char         message[NOTE] = "";
    const double before = i < l->nparameters ? l->theta[i] : 0;
    if (i >= l->nparameters || !l->parameter[i].independent || !is_alive(l)) return;
    l->theta[i] = value;
    // in place; the certificate of before would compare different systems
    kd_status status = kd_system_set_parameters(l->subject.system, l->theta, message, sizeof message);
    if (status >= 0) {
        certify_afresh(l);
        l->deadline = INFINITY;
        status = kd_live_run_restart(&l->run);
        if (status < 0) kd_text(message, sizeof message, "%s", kd_live_run_message(&l->run));
    }
    if (status < 0) {
        // as it was; what was refused is said
        l->theta[i] = before;
        say(l, true, message);
        if (kd_system_set_parameters(l->subject.system, l->theta, message, sizeof message) < 0 ||
            kd_live_run_restart(&l->run) < 0)
            stand_still(l, status, message);
    }
    if (is_alive(l) && kd_probe_set(l->probe, l->subject.x) < 0) stand_still(l, KD_ERR_ARGUMENT, "");
    l->changed = true;
}

// forces change, positions do not: the integrator goes on from a fresh start
static void resume(kd_live *l)
{
    if (!is_alive(l)) return;
    l->deadline = INFINITY;
    const kd_status status = kd_live_run_resume(&l->run);
    if (status < 0) stand_still(l, status, kd_live_run_message(&l->run));
}

// An input may move constraints: the state is made consistent
static void hold_input(kd_live *l, int i, bool held, double value)
{
    if (i >= l->nu || !is_alive(l)) return;
    l->held[i] = held;
    l->value[i] = value;
    l->deadline = INFINITY;
    certify_afresh(l);
    const kd_status status = kd_live_run_restart(&l->run);
    if (status < 0) stand_still(l, status, kd_live_run_message(&l->run));
}

// the spring is part of the model while it is held: equations are made again
static void take_body(kd_live *l, const kd_live_message *m)
{
    kd_pull *p = &l->pull;
    if (!is_alive(l) || m->index >= kd_system_model(l->subject.system)->nbodies) return;
    p->on = true;
    p->body = m->index;
    memcpy(p->s, m->number, sizeof p->s);
    memcpy(p->a, m->number + 3, sizeof p->a);
    choose_spring(l, p->strength);
    kd_pull_take(p, kd_system_model(l->subject.system)->body[m->index].name);
    renew(l);
}

static void move_place(kd_live *l, const double *a)
{
    if (!l->pull.on) return;
    memcpy(l->pull.a, a, sizeof l->pull.a);
    resume(l);
}

static void let_go(kd_live *l)
{
    if (!l->pull.on) return;
    l->pull.on = false;
    renew(l);
}

// with what somebody needs to go on from there
static void save_state(kd_live *l)
{
    char            path[1300], message[NOTE] = "", text[NOTE];
    const kd_state *states[] = {l->subject.x};
    kd_status       status = l->subject.x ? kd_cli_make_folder(l->folder, message, sizeof message) : KD_ERR_MODEL;
    snprintf(path, sizeof path, "%s/%s.state.csv", l->folder, l->subject.name);
    if (status >= 0)
        status = kd_state_file_save(path, l->subject.title, l->subject.eom, states, 1, message, sizeof message);
    kd_text(text, sizeof text, "the state is in %s: kardan simulate %s --start-state %s", path, l->subject.path, path);
    // values that differ from those of the file belong to it
    for (int i = 0; i < l->nparameters; i++)
        if (l->parameter[i].independent && l->theta[i] != l->parameter[i].value)
            kd_text_append(text, sizeof text, " --set %s=%.17g", l->parameter[i].name, l->theta[i]);
    say(l, status < 0, status < 0 ? message : text);
}

// words that make no sense now are passed over
void kd_live_obey(kd_live *l, const kd_live_message *m)
{
    switch (m->word) {
    case KD_LIVE_RUN:
        l->running = is_alive(l);
        break;
    case KD_LIVE_PAUSE:
        l->running = false;
        break;
    // one picture, with more patience than a running model has
    case KD_LIVE_STEP:
        l->running = is_alive(l);
        (void)kd_live_advance(l, PICTURE, PATIENCE);
        l->running = false;
        break;
    case KD_LIVE_RESET:
        start_afresh(l);
        break;
    case KD_LIVE_SAVE:
        save_state(l);
        break;
    case KD_LIVE_SPEED:
        l->speed = fmin(fmax(m->number[0], SLOWEST), FASTEST);
        break;
    case KD_LIVE_PARAMETER:
        set_parameter(l, m->index, m->number[0]);
        break;
    case KD_LIVE_INPUT:
        hold_input(l, m->index, true, m->number[0]);
        break;
    case KD_LIVE_FREE:
        hold_input(l, m->index, false, 0);
        break;
    case KD_LIVE_PULL:
        take_body(l, m);
        break;
    case KD_LIVE_MOVE:
        move_place(l, m->number);
        break;
    case KD_LIVE_RELEASE:
        let_go(l);
        break;
    case KD_LIVE_STRENGTH:
        l->pull.strength = fmin(fmax(m->number[0], 1e-3), 1e3);
        if (l->pull.on && is_alive(l)) choose_spring(l, l->pull.strength);
        break;
    case KD_LIVE_WORD_COUNT:
        break;
    }
}

// ---- time -----------------------------------------------------------------------------------------------------------
bool kd_live_advance(kd_live *l, double seconds, double budget)
{
    if (!l->running || !is_alive(l) || !(seconds > 0)) return false;
    const double piece = fmin(seconds, LONGEST), before = l->subject.x->t;
    l->deadline = kd_cli_seconds() + budget;
    l->out_of_time = false;
    const kd_status status = kd_live_run_by(&l->run, l->speed * piece, l->deadline);
    // what could not be computed in time is not made up for: it goes slower than the clock
    l->pace = FORGETTING * l->pace + (1 - FORGETTING) * (l->subject.x->t - before) / seconds;
    if (status < 0) {
        stand_still(l, status, kd_live_run_message(&l->run));
    } else if (status == KD_STOPPED && !l->out_of_time) {
        l->running = false;
        say(l, false, kd_live_run_message(&l->run));
    }
    if (kd_probe_set(l->probe, l->subject.x) < 0) stand_still(l, KD_ERR_ARGUMENT, "");
    return true;
}

int kd_live_files(const kd_live *l, const char **file, int room)
{
    const kd_model *m = l->subject.model;
    int             count = 0;
    for (int section = 0; section < KD_SECTION_COUNT; section++)
        for (int i = 0; i < kd_model_count(m, (kd_section)section) && count < room; i++) {
            const char *from = kd_model_source_of(m, (kd_section)section, i, NULL).file;
            bool        known = !from || strcmp(from, l->request.word) == 0;
            for (int k = 0; k < count && !known; k++) known = strcmp(from, file[k]) == 0;
            if (!known) file[count++] = from;
        }
    return count;
}

void kd_live_go_on_as(kd_live *l, const kd_live *other)
{
    l->running = other->running;
    l->speed = other->speed;
    l->pull.strength = other->pull.strength;
}

// ---- what pages are told --------------------------------------------------------------------------------------------

// sensors first: they are what somebody wanted to see; the rest as far as there is room
static void choose_channels(kd_live *l)
{
    static const kd_group GROUPS[] = {KD_GROUP_Y, KD_GROUP_P,      KD_GROUP_V,        KD_GROUP_U,
                                      KD_GROUP_R, KD_GROUP_ENERGY, KD_GROUP_VIOLATION};
    for (size_t k = 0; k < sizeof GROUPS / sizeof *GROUPS; k++) {
        int first, count;
        kd_probe_group(l->probe, GROUPS[k], &first, &count);
        for (int i = 0; i < count && l->nchannels < MOST_CHANNELS; i++) l->channel[l->nchannels++] = first + i;
    }
}

static void put_channels(kd_json *json, const kd_live *l)
{
    kd_json_list(json, "channels");
    for (int i = 0; i < l->nchannels; i++) {
        kd_json_open(json, NULL);
        kd_json_text(json, "name", kd_probe_name(l->probe, l->channel[i]));
        kd_json_text(json, "unit", kd_probe_unit(l->probe, l->channel[i]));
        kd_json_count(json, "bytes", 8);
        kd_json_close(json);
    }
    kd_json_list_close(json);
    // what the file wants to see, else the first channels
    int count = 0;
    kd_json_list(json, "plots");
    for (int k = 0; k < l->subject.run.nplots && count < MOST_PLOTS; k++)
        for (int i = 0, found = kd_probe_find(l->probe, l->subject.run.plots[k]); i < l->nchannels; i++)
            if (found >= 0 && l->channel[i] == found) {
                kd_json_count(json, NULL, i);
                count++;
            }
    for (int i = 0; count == 0 && i < l->nchannels && i < MOST_PLOTS; i++) kd_json_count(json, NULL, i);
    kd_json_list_close(json);
}

// what can be turned: independent parameters with their standard, inputs with whether they are held
static void put_handles(kd_json *json, kd_live *l)
{
    const double *u = kd_probe_values(l->probe, KD_GROUP_U);
    // parameters with the values of the file beside those of now
    kd_json_list(json, "parameters");
    for (int i = 0; i < l->nparameters; i++) {
        if (!l->parameter[i].independent) continue;
        kd_json_open(json, NULL);
        kd_json_count(json, "index", i);
        kd_json_text(json, "name", l->parameter[i].name);
        kd_json_number(json, "value", l->theta[i]);
        kd_json_number(json, "standard", l->parameter[i].value);
        kd_json_close(json);
    }
    kd_json_list_close(json);
    // inputs with their laws, or the value at which they are held
    kd_json_list(json, "inputs");
    for (int i = 0; i < l->nu; i++) {
        char name[300];
        kd_json_open(json, NULL);
        kd_json_count(json, "index", i);
        kd_json_text(json, "name", kd_eom_name(l->subject.eom, KD_NAME_U, i, name, sizeof name));
        kd_json_number(json, "value", u ? u[i] : 0);
        kd_json_bool(json, "held", l->held[i]);
        kd_json_close(json);
    }
    kd_json_list_close(json);
}

// Where the mechanism is now: pages that come later know by it how far it has gone
static void put_home(kd_json *json, const kd_film *film)
{
    double sum[3] = {0, 0, 0};
    for (int i = 0; i < 3 * film->model->nbodies; i++)
        sum[i % 3] += film->pose[7 * (i / 3) + i % 3] / film->model->nbodies;
    kd_json_numbers(json, "home", sum, 3);
}

// A message to the page: an object with its kind
static kd_json begin_message(FILE *file, const char *kind)
{
    kd_json json = {.file = file, .layout = KD_JSON_DENSE, .none = "0", .in_page = true};
    kd_json_open(&json, NULL);
    kd_json_text(&json, "kind", kind);
    return json;
}

char *kd_live_scene(kd_live *l, unsigned generation, size_t *length)
{
    char    *text = NULL;
    FILE    *file = is_alive(l) ? open_memstream(&text, length) : NULL;
    kd_scene scene;
    if (!file) return NULL;
    // a film of one picture: the scene is sized by it
    const double  *pose = kd_probe_values(l->probe, KD_GROUP_POSE);
    const kd_film *flexible = kd_drawing_film(l->drawing);
    const double  *q = kd_drawing_amplitudes(l->drawing, l->probe);
    const kd_film  film = {.model = kd_system_model(l->subject.system),
                           .nframes = 1,
                           .t = &l->subject.x->t,
                           .pose = pose,
                           .system = l->subject.system,
                           .ndeformed = flexible->ndeformed,
                           .namplitudes = flexible->namplitudes,
                           .deformed = flexible->deformed,
                           .amplitude = q};
    // what the page shows first
    kd_json json = begin_message(file, "scene");
    kd_json_count(&json, "generation", (long)generation);
    kd_json_text(&json, "title", l->subject.title);
    kd_json_text(&json, "method", l->reason);
    kd_json_count(&json, "frames", 0);
    kd_json_count(&json, "rows", 0);
    kd_json_raw(&json, "events", "[]");
    // the mechanism; numbers of a scene need nine digits
    const bool known = pose && (q || film.namplitudes == 0);
    const bool draws = known && film.model->nbodies > 0 && kd_scene_build(&film, &scene) == KD_OK;
    if (draws) {
        json.digits = "%.9g";
        kd_viewer_put_mechanism(&json, &scene);
        put_home(&json, &scene.film);
        json.digits = NULL;
        kd_scene_release(&scene);
    }
    // channels and handles
    put_channels(&json, l);
    put_handles(&json, l);
    kd_json_close(&json);
    const bool written = fclose(file) == 0;
    if (draws && written) return text;
    free(text);
    return NULL;
}

// Steps of fixed length know nothing of their error: what can be measured is told, and that it is no certificate
static void put_stepper(FILE *file, kd_live *l)
{
    kd_realtime_defect d = {0};
    char               sentence[300];
    if (kd_realtime_defects(l->run.stepper, &d) < 0) d.position = d.velocity = NAN;
    kd_text(sentence, sizeof sentence,
            "none: steps of %g s without control of their error; constraints are violated by %.2g, their velocities by "
            "%.2g",
            l->step, d.position, d.velocity);
    kd_json json = begin_message(file, "certificate");
    kd_json_bool(&json, "clean", false);
    kd_json_text(&json, "sentence", sentence);
    kd_json_number(&json, "from", l->subject.x->t);
    kd_json_number(&json, "to", l->subject.x->t);
    kd_json_raw(&json, "checks", "[]");
    kd_json_close(&json);
}

char *kd_live_certificate(kd_live *l, size_t *length)
{
    static kd_clean verdict; // large
    char           *text = NULL;
    FILE           *file = is_alive(l) ? open_memstream(&text, length) : NULL;
    if (!file) return NULL;
    // a stepper has no certificate: what it counts
    if (l->run.stepper) {
        put_stepper(file, l);
        if (fclose(file) == 0) return text;
        free(text);
        return NULL;
    }
    // what holds for the run so far
    kd_certificate c = kd_certifier_certificate(l->certifier);
    kd_certificate_take(&c, l->run.simulation);
    kd_certificate_verdict(&c, &verdict);
    // the verdict, then each check
    kd_json json = begin_message(file, "certificate");
    kd_json_bool(&json, "clean", verdict.clean);
    kd_json_text(&json, "sentence", verdict.sentence);
    kd_json_number(&json, "from", c.t_start);
    kd_json_number(&json, "to", c.t_end);
    kd_json_list(&json, "checks");
    for (int i = 0; i < verdict.nchecks; i++) {
        kd_json_open(&json, NULL);
        kd_json_text(&json, "name", verdict.check[i].name);
        kd_json_text(&json, "verdict", kd_check_word(verdict.check[i].verdict));
        kd_json_text(&json, "sentence", verdict.check[i].sentence);
        kd_json_close(&json);
    }
    kd_json_list_close(&json);
    kd_json_close(&json);
    if (fclose(file) == 0) return text;
    free(text);
    return NULL;
}

// an object with two texts
char *kd_live_words(const char *kind, const char *words, size_t *length)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, length);
    if (!file) return NULL;
    kd_json json = begin_message(file, kind);
    kd_json_text(&json, "text", words);
    kd_json_close(&json);
    if (fclose(file) == 0) return text;
    free(text);
    return NULL;
}

// in one array, as the page reads it
const double *kd_live_frame(kd_live *l, unsigned generation, size_t *count)
{
    if (!is_alive(l)) return NULL;
    const int     n = 7 * kd_system_model(l->subject.system)->nbodies;
    const double *pose = kd_probe_values(l->probe, KD_GROUP_POSE);
    double       *out = l->frame;
    if (!pose) return NULL;
    *out++ = generation;
    *out++ = l->subject.x->t;
    *out++ = l->pace;
    *out++ = l->running;
    memcpy(out, pose, (size_t)n * sizeof *out);
    out += n;
    // amplitudes of surfaces that deform, as the scene has them
    const double *q = kd_drawing_amplitudes(l->drawing, l->probe);
    const int     nq = kd_drawing_film(l->drawing)->namplitudes;
    if (nq > 0 && !q) return NULL;
    for (int i = 0; i < nq; i++) *out++ = q[i];
    for (int i = 0; i < l->nchannels; i++) *out++ = kd_probe_value(l->probe, l->channel[i]);
    *count = (size_t)(out - l->frame);
    return l->frame;
}

// ---- opening --------------------------------------------------------------------------------------------------------

// arrays by numbers of the model, which stay the same while parameters change
static kd_status make_handles(kd_live *l)
{
    const kd_subject *s = &l->subject;
    const int         n = kd_model_parameters(s->model, NULL, 0);
    l->nu = kd_eom_dims(s->eom).nu;
    l->parameter = calloc((size_t)n + 1, sizeof *l->parameter);
    l->theta = calloc((size_t)n + 1, sizeof *l->theta);
    l->held = calloc((size_t)l->nu + 1, sizeof *l->held);
    l->value = calloc((size_t)l->nu + 1, sizeof *l->value);
    size_t room = FRONT + 7 * (size_t)s->model->nbodies + MOST_CHANNELS;
    for (int i = 0; i < s->model->nbodies; i++) room += (size_t)s->model->body[i].nmodes;
    l->frame = calloc(room, sizeof *l->frame);
    if (!l->parameter || !l->theta || !l->held || !l->value || !l->frame) return KD_ERR_MEMORY;
    kd_model_parameters(s->model, l->parameter, n);
    l->nparameters = kd_system_parameters(s->system) ? n : 0;
    if (l->nparameters > 0) memcpy(l->theta, kd_system_parameters(s->system), (size_t)n * sizeof *l->theta);
    l->inputs = (kd_inputs){eval_inputs, l};
    return KD_OK;
}

// as kardan simulate would choose, by the model file
static bool choose_method(kd_live *l)
{
    const kd_run_def *run = &l->subject.run;
    kd_method        *m = &l->method;
    kd_method_take_run(m, &l->subject);
    if (!kd_method_read(m)) return false;
    kd_method_choose(m, &l->subject);
    if (run->max_step > 0 && !kd_method_asks(m, "steps.h_max")) m->options.integrator_options.h_max = run->max_step;
    return kd_method_check(m);
}

kd_status kd_live_open(const kd_subject_request *request, const char *folder, double step, kd_live **live,
                       char *message, size_t size)
{
    int      exit_status;
    kd_live *l = calloc(1, sizeof *l);
    *live = NULL;
    kd_text(message, size, "%s", "");
    if (!l) return KD_ERR_MEMORY;
    // what was asked for
    l->request = *request;
    l->step = step;
    l->speed = l->pace = l->pull.strength = 1;
    kd_text(l->folder, sizeof l->folder, "%s", folder);
    kd_status status = KD_OK;
    bool      told = false;
    // each failure with its own words; those that standard error has been told are not repeated
    if (!kd_subject_open(&l->subject, request, &exit_status)) {
        told = true;
        kd_text(message, size, "%s", l->subject.message[0] ? l->subject.message : "the model cannot be read");
        status = KD_ERR_MODEL;
    } else if (!l->subject.system || l->subject.model->nbodies == 0) {
        kd_text(message, size, "there is nothing to see: only model files have bodies");
        status = KD_ERR_MODEL;
    } else if (!choose_method(l)) {
        told = true;
        kd_text(message, size, "the method of the model file cannot be taken");
        status = KD_ERR_MODEL;
    }
    // how steps are made, in words
    if (step > 0)
        kd_text(l->reason, sizeof l->reason, "real-time stepper (kardan realtime), steps of %g s", step);
    else
        kd_text(l->reason, sizeof l->reason, "%s", l->method.reason);
    // handles, then the run
    if (status >= 0) status = make_handles(l);
    if (status >= 0) status = make_simulation(l, message, size);
    if (status >= 0) {
        choose_channels(l);
        *live = l;
        return status;
    }
    // what went wrong
    if (!message[0]) kd_text(message, size, "%s", kd_status_sentence(status));
    if (!told) fprintf(stderr, "kardan: %s\n", message);
    kd_live_close(l);
    return status;
}

void kd_live_close(kd_live *l)
{
    if (!l) return;
    drop_simulation(l);
    kd_subject_close(&l->subject);
    free(l->parameter);
    free(l->theta);
    free(l->held);
    free(l->value);
    free(l->frame);
    free(l);
}
