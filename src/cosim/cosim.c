// cosim.c: a co-simulation from its start to its end: options, memory, order of the systems, the loop over macro steps.
#define _POSIX_C_SOURCE 200809L
#include "cosim/cosim.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/load.h"
#include "core/option.h"
#include "core/text.h"

static const char *const MASTER[] = {
#define KD_COSIM_MASTER_WORD(name, word, sentence) word,
    KD_COSIM_MASTER_LIST(KD_COSIM_MASTER_WORD)
#undef KD_COSIM_MASTER_WORD
};
static const char *const CONTROL[] = {
#define KD_COSIM_CONTROL_WORD(name, word, sentence) word,
    KD_COSIM_CONTROL_LIST(KD_COSIM_CONTROL_WORD)
#undef KD_COSIM_CONTROL_WORD
};

const char *kd_cosim_master_word(kd_cosim_master master)
{
    return (int)master >= 0 && master < KD_COSIM_MASTER_COUNT ? MASTER[master] : "";
}

const char *kd_cosim_control_word(kd_cosim_control control)
{
    return (int)control >= 0 && control < KD_COSIM_CONTROL_COUNT ? CONTROL[control] : "";
}

double kd_cosim_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---- reading --------------------------------------------------------------------------------------------------------

enum { MOST_BYTES = 1 << 24 };

kd_status kd_cosim_read_text(const char *path, const char *text, size_t length, kd_cosim **cosim, char *message,
                             size_t size)
{
    kd_text(message, size, "%s", "");
    if (cosim) *cosim = NULL;
    if (!path || !text || !cosim) return KD_ERR_ARGUMENT;
    return kd_cosim_of_text(path, text, length, (kd_cosim_folders){0}, cosim, message, size);
}

kd_status kd_cosim_read_with(const char *path, const char *const *libraries, int nlibraries, kd_cosim **cosim,
                             char *message, size_t size)
{
    char  *text = NULL;
    size_t length;
    kd_text(message, size, "%s", "");
    if (cosim) *cosim = NULL;
    if (!path || !cosim || nlibraries < 0 || (nlibraries > 0 && !libraries)) return KD_ERR_ARGUMENT;
    kd_status status = kd_load_file(path, MOST_BYTES, &text, &length, message, size);
    if (status >= 0)
        status = kd_cosim_of_text(path, text, length, (kd_cosim_folders){libraries, nlibraries}, cosim, message, size);
    kd_free(text);
    return status;
}

kd_status kd_cosim_read(const char *path, kd_cosim **cosim, char *message, size_t size)
{
    return kd_cosim_read_with(path, NULL, 0, cosim, message, size);
}

// ---- options --------------------------------------------------------------------------------------------------------

kd_cosim_options kd_cosim_options_default(void)
{
    return (kd_cosim_options){.t_end = 10,
                              .degree = 1,
                              .step = 1e-3,
                              .rtol = 1e-4,
                              .atol = 1e-12,
                              .min_step = 1e-9,
                              .max_step = INFINITY,
                              .max_iterations = 20,
                              .convergence = 1e-6,
                              .intervals = 1000,
                              .fmu_timeout = 10,
                              .cookie = KD_OPTIONS_COOKIE};
}

kd_cosim_options kd_cosim_options_of(const kd_cosim *c)
{
    return c ? c->opt : kd_cosim_options_default();
}

// The first that is wrong, in words; NULL: none
static const char *what_is_wrong(const kd_cosim_options *o)
{
    // kinds and numbers of the run
    if (o->cookie != KD_OPTIONS_COOKIE) return "options begin with kd_cosim_options_default";
    if (!(o->t_end > 0 && isfinite(o->t_end))) return "t_end is above 0";
    if ((int)o->master < 0 || o->master >= KD_COSIM_MASTER_COUNT) return "there is no such master";
    if ((int)o->control < 0 || o->control >= KD_COSIM_CONTROL_COUNT)
        return "there is no such control of the macro step";
    if (o->degree < 0 || o->degree > 2) return "the degree is 0, 1 or 2";
    // steps and tolerances
    if (!(o->step > 0 && isfinite(o->step))) return "the macro step is above 0";
    if (!(o->rtol > 0 && isfinite(o->rtol)) || !(o->atol > 0 && isfinite(o->atol))) return "tolerances are above 0";
    if (!(o->min_step > 0) || !(o->max_step >= o->min_step)) return "0 < min_step <= max_step";
    // iterations, other processes, threads
    if (o->max_iterations < 1 || !(o->convergence > 0)) return "max_iterations and convergence are above 0";
    if (!(o->fmu_timeout > 0)) return "the time for calls of FMUs is above 0";
    if (o->threads < 0 || o->intervals < 0) return "threads and intervals are at least 0";
    // combinations
    if (o->t_end / o->step > 1e12) return "the macro step is too short for the run";
    if (o->control == KD_COSIM_HALVES && o->held) return "halves need outputs with fresh inputs (outputs: fresh)";
    return NULL;
}

kd_status kd_cosim_set_options(kd_cosim *c, const kd_cosim_options *opt, char *message, size_t size)
{
    const char *wrong = !c || !opt ? "an argument is missing" : c->started ? "the run has begun" : what_is_wrong(opt);
    kd_text(message, size, "%s", wrong ? wrong : "");
    if (wrong) return KD_ERR_ARGUMENT;
    c->opt = *opt;
    return KD_OK;
}

// ---- order of Gauss-Seidel ------------------------------------------------------------------------------------------

// Systems that wait for nobody come first; in a loop the one that waits for the fewest inputs, then the first of the file
static void find_order(kd_cosim *c)
{
    bool done[KD_COSIM_MOST_SYSTEMS] = {false};
    if (c->order_given) return;
    for (int i = 0; i < c->nsystems; i++) {
        int best = -1, least = 0;
        for (int s = 0; s < c->nsystems; s++) {
            int waits = 0;
            for (int k = 0; k < c->nconnections; k++)
                waits += c->connection[k].to == s && !done[c->connection[k].from] && c->connection[k].from != s;
            if (!done[s] && (best < 0 || waits < least)) best = s, least = waits;
        }
        c->order[i] = best, done[best] = true;
    }
}

// A system that is told something by one of the present wave begins the next one
static void find_waves(kd_cosim *c)
{
    c->nwaves = 1;
    for (int i = 0; i < c->nsystems; i++) {
        const int s = c->order[i];
        c->wave[s] = c->nwaves - 1;
        for (int k = 0; k < c->nconnections; k++) {
            const kd_connection *l = &c->connection[k];
            for (int j = 0; j < i; j++)
                if (l->to == s && l->from == c->order[j] && c->wave[l->from] == c->nwaves - 1) c->wave[s] = c->nwaves;
        }
        if (c->wave[s] == c->nwaves) c->nwaves++;
    }
    for (int k = 0; k < c->nconnections; k++) c->heard[c->connection[k].from] = true;
    for (int i = 0; i < c->nrows_joined; i++) c->heard[c->row[i].system[0]] = c->heard[c->row[i].system[1]] = true;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

static kd_status reserve(kd_cosim *c)
{
    const int n = c->nconnections;
    kd_arena *a = &c->arena;
    // signals of connections: past values for extrapolation, present, predicted and those of the half step
    for (int i = 0; i < KD_COSIM_PAST; i++) c->w_past[i] = kd_cut_double(a, n + 1);
    c->w = kd_cut_double(a, n + 1);
    c->predicted = kd_cut_double(a, n + 1);
    c->half = kd_cut_double(a, n + 1);
    c->before = kd_cut_matrix(a, KD_COSIM_PAST, n + 1);
    c->past_before = kd_cut_int(a, n + 1);
    c->course = kd_arena_cut(a, (size_t)n + 1, sizeof *c->course);
    // joints between systems: multipliers, residuals, mobilities of both sides and their sum
    const int rows = c->nrows_joined;
    c->lambda = kd_cut_double(a, rows + 1);
    c->row_residual = kd_cut_double(a, rows + 1);
    c->row_work = kd_cut_matrix(a, 2 * rows + 1, rows + 1);
    for (int side = 0; side < 2; side++) c->delassus[side] = kd_cut_matrix(a, rows, rows + 1);
    c->P = kd_cut_matrix(a, rows, rows + 1);
    // Jacobians of the iteration over connections and of algebraic loops
    kd_iteration *both[2] = {&c->iteration, &c->loop};
    for (int i = 0; i < 2; i++)
        *both[i] = (kd_iteration){kd_cut_matrix(a, n + 1, n + 1), kd_cut_int(a, n + 1), kd_cut_double(a, n + 1),
                                  kd_cut_double(a, n + 1), 0};
    // what each system hears and tells
    for (int s = 0; s < c->nsystems; s++) {
        const kd_cosim_system *system = c->system[s];
        c->u[s] = kd_cut_double(a, system->ninputs + 1);
        c->u_seen[s] = kd_cut_double(a, system->ninputs + 1);
        c->y[s] = kd_cut_double(a, system->noutputs + 1);
        c->y_other[s] = kd_cut_double(a, system->noutputs + 1);
        c->signal[s] = kd_arena_cut(a, (size_t)system->ninputs + 1, sizeof *c->signal[s]);
    }
    return a->failed ? KD_ERR_MEMORY : KD_OK;
}

// "system.port"
static const char *join(kd_cosim *c, const char *system, const char *port)
{
    const size_t size = strlen(system) + strlen(port) + 2;
    char        *text = kd_arena_cut(&c->arena, size, 1);
    kd_text(text, size, "%s.%s", system, port);
    return text ? text : "";
}

static kd_status name_channels(kd_cosim *c)
{
    c->nchannels = kd_cosim_channels(c);
    c->channel_name = kd_arena_cut(&c->arena, (size_t)c->nchannels + 1, sizeof *c->channel_name);
    int n = 0;
    for (int s = 0; s < c->nsystems && c->channel_name; s++)
        for (int i = 0; i < c->system[s]->noutputs; i++)
            c->channel_name[n++] = join(c, c->system[s]->name, c->system[s]->output[i].name);
    for (int k = 0; k < c->nconnections && c->channel_name; k++) {
        const kd_cosim_system *to = c->system[c->connection[k].to];
        c->channel_name[n++] = join(c, to->name, to->input[c->connection[k].input].name);
    }
    return c->arena.failed ? KD_ERR_MEMORY : KD_OK;
}

// ---- start ----------------------------------------------------------------------------------------------------------

// What the master asks of the systems
static kd_status check_abilities(kd_cosim *c)
{
    const char *needs = c->nrows_joined > 0 && c->joint_index == 2 ? "a rigid joint of index 2"
                        : c->opt.master == KD_COSIM_ITERATION      ? "the iteration"
                        : c->opt.control == KD_COSIM_HALVES        ? "a comparison with half steps"
                                                                   : NULL;
    for (int s = 0; needs && s < c->nsystems; s++)
        if (!kd_cosim_restores(c->system[s])) {
            kd_text(c->why, sizeof c->why, "system '%s' cannot go back to a saved state, which %s needs",
                    c->system[s]->name, needs);
            return KD_ERR_UNSUPPORTED;
        }
    return KD_OK;
}

static kd_status start_threads(kd_cosim *c)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int        threads = c->opt.threads > 0 ? c->opt.threads : processors > 0 ? (int)processors : 1;
    int        busy = 0;
    for (int s = 0; s < c->nsystems; s++) busy += !c->system[s]->algebraic;
    if (threads > busy) threads = busy;
    if (threads < 2 || c->opt.master == KD_COSIM_GAUSS_SEIDEL) return KD_OK;
    return kd_workers_create(c, threads, &c->workers);
}

// With what is known of its inputs
static void start_one(kd_cosim *c, int s)
{
    kd_cosim_system *system = c->system[s];
    for (int j = 0; j < system->ninputs; j++) c->u[s][j] = system->input[j].start;
    for (int k = 0; k < c->nconnections; k++) {
        const kd_connection *l = &c->connection[k];
        if (l->to == s && c->y_known[l->from]) c->u[s][l->input] = c->w[k];
    }
    c->status[s] = system->class->start(system, 0, c->u[s]);
    if (c->status[s] >= 0) c->status[s] = kd_cosim_read_one(c, s);
}

// Processes and lines to other programs are made one after the other
static bool is_foreign(const kd_cosim_system *system)
{
    return system->class->trust || system->class->lay_line;
}

static void start_task(kd_cosim *c, int s, double t)
{
    (void)t;
    c->status[s] = KD_OK;
    if (c->wave[s] == c->present_wave && !is_foreign(c->system[s])) start_one(c, s);
}

// Systems start wave after wave; then all is told around
static kd_status start_systems(kd_cosim *c)
{
    for (c->present_wave = 0; c->present_wave < c->nwaves; c->present_wave++) {
        kd_cosim_each(c, start_task, 0);
        // systems of others one after the other: their processes and sockets want no company at the start
        for (int s = 0; s < c->nsystems; s++) {
            kd_cosim_system *system = c->system[s];
            if (c->wave[s] != c->present_wave || !is_foreign(system)) continue;
            if (system->class->trust) system->class->trust(system, c->opt.fmu_in_process, c->opt.fmu_timeout);
            if (system->class->lay_line) system->class->lay_line(system, c->opt.wire);
            start_one(c, s);
            if (c->status[s] < 0) break;
        }
        const kd_status status = kd_cosim_look(c);
        if (status < 0) return status;
        // the next wave begins with what this one tells
        for (int s = 0; s < c->nsystems; s++)
            if (c->wave[s] == c->present_wave) (void)kd_cosim_take_outputs(c, s);
    }
    return kd_cosim_communicate(c);
}

// Outputs with inputs moved by their noise, against those of now: into c->y_other
static kd_status pass_on(kd_cosim *c, int s)
{
    kd_cosim_system *system = c->system[s];
    for (int k = 0; k < c->nconnections; k++)
        if (c->connection[k].to == s) c->u[s][c->connection[k].input] = c->w[k] + c->connection[k].noise;
    const kd_status status = system->class->outputs(system, c->u[s], c->y_other[s]);
    kd_cosim_take_inputs(c, s);
    for (int i = 0; i < system->noutputs; i++) c->y_other[s][i] = fabs(c->y_other[s][i] - c->y[s][i]);
    return status;
}

static void noise_task(kd_cosim *c, int s, double t)
{
    kd_cosim_system *system = c->system[s];
    (void)t;
    c->status[s] = system->class->noise ? system->class->noise(system, c->u[s], c->y_other[s]) : KD_OK;
}

// How well inputs can be known at all: by the tolerances of the system that tells them, and of those that tell it
static kd_status find_noise(kd_cosim *c)
{
    kd_cosim_each(c, noise_task, 0);
    for (int round = 0; round < 2; round++)
        for (int s = 0; s < c->nsystems; s++) {
            if (round == 0 && !c->system[s]->class->noise) continue;
            const kd_status status = round == 0 ? c->status[s] : pass_on(c, s);
            if (status < 0) return kd_cosim_fail(c, s, status);
            for (int k = 0; k < c->nconnections; k++) {
                kd_connection *l = &c->connection[k];
                if (l->from == s) l->noise += fabs(l->factor) * c->y_other[s][l->output];
            }
        }
    return KD_OK;
}

// The first connection from the same system in the same unit; without unit each is alone
static int leader_of(const kd_cosim *c, int k)
{
    const kd_connection *l = &c->connection[k];
    const char          *unit = c->system[l->to]->input[l->input].unit;
    for (int i = 0; unit[0] && i < k; i++) {
        const kd_connection *other = &c->connection[i];
        if (other->from == l->from && strcmp(c->system[other->to]->input[other->input].unit, unit) == 0) return i;
    }
    return k;
}

static void begin_past(kd_cosim *c)
{
    c->T = 0, c->H = fmin(c->opt.step, c->opt.max_step), c->n = 0, c->starting = true;
    c->t_past[0] = 0;
    memcpy(c->w_past[0], c->w, (size_t)c->nconnections * sizeof *c->w);
    for (int k = 0; k < c->nconnections; k++) {
        kd_connection *l = &c->connection[k];
        l->past = 1, l->leader = leader_of(c, k);
        kd_cosim_note_size(c, k, c->w[k]);
        c->course[k] = (kd_signal){0, {c->w[k], 0, 0}};
    }
    // inputs that nobody tells stay at their start
    for (int s = 0; s < c->nsystems; s++)
        for (int j = 0; j < c->system[s]->ninputs; j++) c->signal[s][j] = (kd_signal){0, {c->u[s][j], 0, 0}};
}

static kd_status tell_failure(kd_cosim *c, kd_status status, char *message, size_t size)
{
    if (status != KD_OK && !c->why[0])
        kd_text(c->why, sizeof c->why, "%s", status == KD_ERR_MEMORY ? "out of memory" : kd_status_sentence(status));
    kd_text(message, size, "%s", status == KD_OK ? "" : c->why);
    c->certificate.status = status;
    c->certificate.wall_seconds = kd_cosim_seconds() - c->started_at;
    return status;
}

kd_status kd_cosim_start(kd_cosim *c, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    if (!c) return KD_ERR_ARGUMENT;
    if (c->started) {
        kd_text(message, size, "the run has begun");
        return KD_ERR_ARGUMENT;
    }
    c->started = true, c->started_at = kd_cosim_seconds();
    c->certificate = (kd_cosim_certificate){.error_name = ""};
    // who depends on whom through direct feedthrough decides the order; room for all that follows
    find_order(c);
    find_waves(c);
    kd_status status = reserve(c);
    if (status >= 0) status = name_channels(c);
    // from here on systems exist: threads, starts, what each is able to do, first values
    if (status >= 0) status = start_threads(c);
    if (status >= 0) status = start_systems(c);
    if (status >= 0) status = check_abilities(c);
    if (status >= 0) begin_past(c);
    if (status >= 0) status = find_noise(c);
    if (status >= 0) status = kd_cosim_record(c, false);
    c->ended = status < 0;
    return tell_failure(c, status, message, size);
}

// ---- the loop -------------------------------------------------------------------------------------------------------

kd_status kd_cosim_advance(kd_cosim *c, double t, char *message, size_t size)
{
    if (!c || !c->started || c->ended || !(t <= c->opt.t_end)) {
        kd_text(message, size, "%s",
                !c || !c->started ? "the run has not begun"
                : c->ended        ? "the run has ended"
                                  : "the time lies behind the end of the run");
        return KD_ERR_ARGUMENT;
    }
    kd_status status = KD_OK;
    // macro steps as the control of their size wants them; rows at the wanted times
    while (c->T < t && status == KD_OK) {
        status = kd_cosim_macro_step(c, t);
        if (status == KD_OK) status = kd_cosim_record(c, c->T >= c->opt.t_end);
        if (status == KD_STOPPED && kd_cosim_record(c, true) < 0) status = KD_ERR_MEMORY;
        const kd_cosim_progress progress = {c->T, c->opt.t_end, c->certificate.steps};
        if (status == KD_OK && c->opt.go_on && !c->opt.go_on(&progress, c->opt.context)) {
            kd_text(c->why, sizeof c->why, "stopped at t = %.9g s", c->T);
            status = KD_STOPPED;
        }
    }
    // outputs that only rows need are read at the end
    if (status >= 0 && kd_cosim_read_rest(c) < 0) status = KD_ERR_NOT_FINITE;
    c->ended = status != KD_OK;
    return tell_failure(c, status, message, size);
}

kd_status kd_cosim_run(kd_cosim *c, char *message, size_t size)
{
    const kd_status status = kd_cosim_start(c, message, size);
    return status < 0 ? status : kd_cosim_advance(c, c->opt.t_end, message, size);
}

double kd_cosim_time(const kd_cosim *c)
{
    return c ? c->T : NAN;
}

const char *kd_cosim_title(const kd_cosim *c)
{
    return c ? c->title : "";
}

int kd_cosim_systems(const kd_cosim *c)
{
    return c ? c->nsystems : 0;
}

const char *kd_cosim_system_name(const kd_cosim *c, int i)
{
    return c && i >= 0 && i < c->nsystems ? c->system[i]->name : "";
}

void kd_cosim_destroy(kd_cosim *c)
{
    if (!c) return;
    kd_workers_destroy(c->workers);
    for (int s = 0; s < c->nsystems; s++) c->system[s]->class->destroy(c->system[s]);
    kd_free(c->rows);
    kd_arena_release(&c->arena);
    kd_free(c);
}
