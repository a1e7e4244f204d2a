// row.c: one run of a study, and the numbers that it is reduced to.
//
// A thread keeps one system and changes its parameters from row to row (kd_system_set_parameters gives what reading the model with these
// values gives, bit for bit). Values that change counts or rows of the equations need another system: the model is read again for them.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/nearest.h"
#include "core/text.h"
#include "study/study.h"

enum { MESSAGE = 2000 };

struct kd_row_maker {
    const kd_study      *study;
    double               limit, started;
    const volatile bool *stop;
    bool                 late, stopped;
    // of the model as it was read, or read again for the present row
    kd_model    *own; // NULL: that of the study
    kd_system   *system;
    kd_recorder *recorder;
    double      *theta; // (parameters of the model)
    int          column[KD_STUDY_MOST];
    double      *work;
    int          rows; // that work is made for
    double       x[2 * KD_STUDY_MOST];
    double      *expr_work;
    char         message[MESSAGE];
};

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---- the system of a thread -----------------------------------------------------------------------------------------

static void release_system(kd_row_maker *m)
{
    kd_recorder_destroy(m->recorder);
    kd_system_destroy(m->system);
    kd_model_destroy(m->own);
    m->recorder = NULL, m->system = NULL, m->own = NULL;
}

// "what: there is no channel 'comfrt'; did you mean 'comfort'?"
static kd_status say_unknown(const kd_row_maker *m, const char *what, const char *channel, char *message, size_t size)
{
    enum { MOST = 400 };
    const char *names[MOST];
    int         n = 0;
    while (n < MOST && kd_recorder_name(m->recorder, n)[0]) names[n] = kd_recorder_name(m->recorder, n), n++;
    const char *meant = kd_nearest_word(channel, names, n);
    kd_text(message, size, "%s: there is no channel '%s'%s%s%s", what, channel, meant ? "; did you mean '" : "",
            meant ? meant : "", meant ? "'?" : "");
    return KD_ERR_ARGUMENT;
}

// Channels of outputs become paths that the system watches, besides the plots of the model
static kd_status create_system(kd_row_maker *m, const kd_model *model, char *message, size_t size)
{
    const kd_study     *s = m->study;
    kd_system_options   opt = kd_system_options_of(model);
    kd_recorder_options recording = kd_recorder_options_default();
    const char         *watch[2 * KD_STUDY_MOST + KD_IDENTIFY_CHANNELS + 16];
    int                 n = 0;
    // paths of the model's own plots, then those that outputs, fits and kept channels read
    for (int i = 0; i < opt.nwatch && n < 16; i++) watch[n++] = opt.watch[i];
    for (int i = 0; i < s->noutputs; i++)
        if (s->output[i].channel) watch[n++] = s->output[i].channel;
    for (int i = 0; i < s->nfits; i++) watch[n++] = s->fit[i].channel;
    for (int i = 0; i < s->nkept; i++) watch[n++] = s->kept[i];
    opt.watch = watch, opt.nwatch = n;
    // equations and a recorder that all runs of this maker share
    kd_status status = kd_system_create(model, &opt, &m->system, message, size);
    recording.intervals = s->intervals;
    if (s->model_path) recording.model_file = s->model_path;
    if (status >= 0) status = kd_recorder_create(m->system, &recording, &m->recorder, message, size);
    // columns by name, once: rows read them by number
    for (int i = 0; i < s->noutputs && status >= 0; i++) {
        if (!s->output[i].channel) continue;
        m->column[i] = kd_recorder_find(m->recorder, s->output[i].channel);
        char what[300];
        kd_text(what, sizeof what, "output '%s'", s->output[i].name);
        if (m->column[i] < 0) status = say_unknown(m, what, s->output[i].channel, message, size);
    }
    for (int i = 0; i < s->nfits && status >= 0; i++)
        if (kd_recorder_find(m->recorder, s->fit[i].channel) < 0)
            status = say_unknown(m, "identify", s->fit[i].channel, message, size);
    for (int i = 0; i < s->nkept && status >= 0; i++)
        if (kd_recorder_find(m->recorder, s->kept[i]) < 0) status = say_unknown(m, "keep", s->kept[i], message, size);
    return status;
}

kd_status kd_row_maker_create(const kd_study *s, double limit, const volatile bool *stop, kd_row_maker **maker,
                              char *message, size_t size)
{
    *maker = NULL;
    kd_row_maker *m = kd_alloc(sizeof *m);
    // expressions of outputs share one piece of memory, as large as the largest asks for
    int most = 1;
    for (int i = 0; i < s->noutputs; i++)
        if (s->output[i].expr && kd_expr_work_size(s->output[i].expr) > most)
            most = kd_expr_work_size(s->output[i].expr);
    kd_status status = m && (m->expr_work = kd_alloc((size_t)most * sizeof(double))) ? KD_OK : KD_ERR_MEMORY;
    // values of parameters are changed in place
    if (status >= 0) {
        m->study = s, m->limit = limit, m->stop = stop;
        const int n = s->model ? kd_model_parameters(s->model, NULL, 0) : 0;
        m->theta = kd_alloc((size_t)(n + 1) * sizeof(double));
        if (!m->theta) status = KD_ERR_MEMORY;
    }
    // without a model the rows are computed by expressions alone
    if (status >= 0 && s->model) status = create_system(m, s->model, message, size);
    if (status == KD_ERR_MEMORY) kd_text(message, size, "no memory for a run");
    if (status < 0) {
        kd_row_maker_destroy(m);
        return status;
    }
    *maker = m;
    return KD_OK;
}

void kd_row_maker_destroy(kd_row_maker *m)
{
    if (!m) return;
    release_system(m);
    kd_free(m->theta);
    kd_free(m->work);
    kd_free(m->expr_work);
    kd_free(m);
}

kd_recorder *kd_row_recorder(kd_row_maker *m)
{
    return m->recorder;
}

// ---- parameters -----------------------------------------------------------------------------------------------------

// The model again with the values of the row, because they change more than numbers
static kd_status read_again(kd_row_maker *m, const double *value)
{
    const kd_study *s = m->study;
    kd_setting      setting[2 * KD_STUDY_MOST];
    char            number[KD_STUDY_MOST][40];
    int             n = 0;
    for (int i = 0; i < s->nset; i++) setting[n++] = (kd_setting){s->set[i].name, s->set[i].value};
    for (int i = 0; i < s->nparameters; i++) {
        kd_text(number[i], sizeof number[i], "%.17g", value[i]);
        setting[n++] = (kd_setting){s->parameter[i], number[i]};
    }
    kd_model *model = NULL;
    kd_status status = kd_model_read(s->model_path, setting, n, &model, m->message, sizeof m->message);
    if (status < 0) return status;
    release_system(m);
    m->own = model;
    return create_system(m, model, m->message, sizeof m->message);
}

static kd_status set_parameters(kd_row_maker *m, const double *value)
{
    const kd_study *s = m->study;
    // a system that was made for one row alone gives way
    if (m->own || !m->system) {
        release_system(m);
        const kd_status status = create_system(m, s->model, m->message, sizeof m->message);
        if (status < 0) return status;
    }
    const int     n = kd_model_parameters(s->model, NULL, 0);
    const double *now = kd_system_parameters(m->system);
    if (n == 0 || !now) return KD_OK;
    memcpy(m->theta, now, (size_t)n * sizeof *now);
    for (int i = 0; i < s->nparameters; i++) m->theta[kd_model_parameter_index(s->model, s->parameter[i])] = value[i];
    const kd_status status = kd_system_set_parameters(m->system, m->theta, m->message, sizeof m->message);
    return status == KD_ERR_MODEL ? read_again(m, value) : status;
}

// ---- the run --------------------------------------------------------------------------------------------------------

// Called at every step: has it been too long, or does the study end?
static kd_eval look(const kd_state *x, bool at_time, void *context)
{
    kd_row_maker *m = context;
    (void)x, (void)at_time;
    m->stopped = m->stop && *m->stop;
    m->late = m->limit > 0 && seconds() - m->started > m->limit;
    return m->stopped || m->late ? KD_EVAL_STOP : KD_EVAL_OK;
}

static kd_status set_method(kd_row_maker *m, kd_simulation_options *o)
{
    const kd_study *s = m->study;
    kd_status       status = kd_system_run_options(m->system, o, m->message, sizeof m->message);
    for (int i = 0; i < s->noptions && status >= 0; i++)
        status = kd_option_set(o, s->option[i].name, s->option[i].value, m->message, sizeof m->message);
    if (status < 0) return status;
    if (s->integrator) (void)kd_integrator_parse(s->integrator, &o->integrator); // the file was checked
    if (s->formulation)
        (void)kd_formulation_parse(s->formulation, &o->formulation);
    else if (s->integrator)
        o->formulation = kd_method_formulation(o);
    if (!isnan(s->rtol)) o->rtol = o->atol = s->rtol;
    if (!isnan(s->atol)) o->atol = s->atol;
    if (!isnan(s->max_step)) o->integrator_options.h_max = s->max_step;
    // one method for all rows: differences between rows are those of their parameters
    *o = kd_method_named(o);
    o->output = look, o->context = m;
    return KD_OK;
}

// times NULL: as the study says
static kd_status simulate(kd_row_maker *m, const double *value, const double *times, int ntimes)
{
    kd_simulation_options options;
    kd_state             *x = NULL;
    const kd_study       *s = m->study;
    kd_status             status = set_parameters(m, value);
    // start and method, for these values of parameters
    if (status >= 0) status = kd_state_create(kd_system_eom(m->system), &x);
    if (status >= 0) status = kd_system_start(m->system, x, m->message, sizeof m->message);
    if (status >= 0) status = set_method(m, &options);
    double t_end = isnan(s->t_end) ? kd_model_run(s->model)->t_end : s->t_end;
    // samples at wanted times, or at those of the study
    if (status >= 0) {
        if (times) options.times = times, options.ntimes = ntimes, t_end = times[ntimes - 1];
        m->message[0] = '\0';
        status = kd_recorder_simulate(m->recorder, &options, x, t_end);
        if (status < 0) kd_text(m->message, sizeof m->message, "%s", kd_recorder_message(m->recorder));
    }
    kd_state_destroy(x);
    // the time limit was noticed by the watch of the run
    if (m->late) {
        kd_text(m->message, sizeof m->message, "the run took longer than %g s", m->limit);
        return KD_ERR_TOO_MANY_STEPS;
    }
    return status;
}

// ---- outputs --------------------------------------------------------------------------------------------------------

static double reduce(kd_row_maker *m, int i, const char **why)
{
    const int n = kd_recorder_rows(m->recorder);
    if (n > m->rows) {
        kd_free(m->work);
        m->work = kd_alloc(kd_study_reduction_work(n) * sizeof(double));
        m->rows = m->work ? n : 0;
    }
    if (!m->work) {
        *why = "no memory";
        return NAN;
    }
    size_t        stride;
    const double *table = kd_recorder_table(m->recorder, &stride);
    return kd_study_reduce(&m->study->output[i].reduction, n, kd_recorder_times(m->recorder),
                           table + kd_recorder_place(m->recorder, m->column[i]), stride, m->work, why);
}

// In their order; expressions read parameters and what stands before them
static kd_status find_outputs(kd_row_maker *m, const double *value, double *out)
{
    const kd_study *s = m->study;
    memcpy(m->x, value, (size_t)s->nparameters * sizeof *value);
    kd_status status = KD_OK;
    for (int i = 0; i < s->noutputs; i++) {
        const char *why = NULL;
        out[i] = s->output[i].channel ? reduce(m, i, &why) : kd_expr_value(s->output[i].expr, m->x, m->expr_work);
        m->x[s->nparameters + i] = out[i];
        if (isfinite(out[i]) || status < 0) continue;
        kd_text(m->message, sizeof m->message, "output '%s': %s", s->output[i].name, why ? why : "it is not finite");
        status = KD_ERR_NOT_FINITE;
    }
    return status;
}

kd_status kd_row_run(kd_row_maker *m, const double *value, const double *times, int ntimes, char *message, size_t size)
{
    m->message[0] = '\0';
    m->late = m->stopped = false;
    m->started = seconds();
    const kd_status status = simulate(m, value, times, ntimes);
    if (status < 0) kd_text(message, size, "%s", m->message[0] ? m->message : kd_status_sentence(status));
    return status;
}

bool kd_row_make(kd_row_maker *m, int row, kd_study_cell *cell, double *out)
{
    double    value[KD_STUDY_MOST];
    kd_clean  verdict = {.clean = true};
    kd_status status = KD_OK;
    // the run
    m->message[0] = '\0';
    m->late = m->stopped = false;
    m->started = seconds();
    for (int i = 0; i < m->study->noutputs; i++) out[i] = NAN;
    kd_design_row(&m->study->design, row, value);
    if (m->study->model) status = simulate(m, value, NULL, 0);
    if (m->stopped) return false;
    // its numbers, its certificate
    if (status >= 0) status = find_outputs(m, value, out);
    if (m->recorder && status >= 0) kd_certificate_verdict(kd_recorder_certificate(m->recorder), &verdict);
    char *reason = cell->reason;
    *cell = (kd_study_cell){.done = true,
                            .clean = status >= 0 && verdict.clean,
                            .status = status < 0 ? status : KD_OK,
                            .seconds = seconds() - m->started,
                            .reason = reason};
    kd_text(reason, KD_STUDY_REASON, "%s", status < 0 ? (m->message[0] ? m->message : kd_status_sentence(status)) : "");
    for (char *c = reason; *c; c++)
        if (*c == '\t' || *c == '\n' || *c == '\r') *c = ' ';
    return true;
}
