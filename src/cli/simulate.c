// simulate.c: kardan simulate: run an example, write table, report and plots, say what was found.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/text.h"
#include "io/report.h"
#include "io/verdict.h"

enum { PATH_SIZE = 4096, MESSAGE_SIZE = 1000, SETTINGS = 8 };
enum { BYTES_PER_NUMBER = 20, LARGE_TABLE = 200 /* megabytes */ };

// ---- the task -----------------------------------------------------------------------------------

typedef struct task {
    // as asked for
    const char           *name, *formulation, *integrator, *decomposition, *folder;
    double                t_end, rtol, atol; // t_end < 0: the example's; tolerances 0: see choose_tolerances
    int                   points;
    bool                  quiet, json;
    const kd_example     *example;
    kd_simulation_options options;
    // while it runs
    kd_eom        *eom;
    kd_state      *x;
    kd_inputs      inputs;
    kd_recording  *recording;
    kd_simulation *simulation;
    double        *times;
    kd_status      recorded; // first failure of the recording
    long           steps;
    bool           show_progress;
    double         shown_at; // [s] clock of the last progress line
    // what came out
    kd_status status, ended; // of all, files included; of the run alone
    kd_stats  stats;
    double    wall_seconds, reference_error;
    char      message[MESSAGE_SIZE];
    char      csv[PATH_SIZE], html[PATH_SIZE], svg[PATH_SIZE];
} task;

static const char *const DECOMPOSITIONS[] = {"lu", "qr", "svd"};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---- words to options ---------------------------------------------------------------------------

static bool choose_formulation(task *t)
{
    if (!t->formulation || kd_formulation_parse(t->formulation, &t->options.formulation)) return true;
    const char *words[KD_FORMULATION_COUNT];
    for (int i = 0; i < KD_FORMULATION_COUNT; i++) words[i] = kd_formulation_word((kd_formulation)i);
    kd_cli_unknown("formulation", t->formulation, words, KD_FORMULATION_COUNT);
    return false;
}

static bool choose_integrator(task *t)
{
    if (!t->integrator || kd_integrator_parse(t->integrator, &t->options.integrator)) return true;
    const char *words[KD_INTEGRATOR_COUNT];
    for (int i = 0; i < KD_INTEGRATOR_COUNT; i++) words[i] = kd_integrator_word((kd_integrator)i);
    kd_cli_unknown("integrator", t->integrator, words, KD_INTEGRATOR_COUNT);
    return false;
}

static bool choose_decomposition(task *t)
{
    if (!t->decomposition) return true;
    for (int i = 0; i < 3; i++) {
        if (strcmp(t->decomposition, DECOMPOSITIONS[i]) != 0) continue;
        t->options.formulation_options.constraints = (kd_decomposition)i;
        return true;
    }
    kd_cli_unknown("decomposition", t->decomposition, DECOMPOSITIONS, 3);
    return false;
}

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    kd_cli_option options[] = {
        {"--t-end", "T", "end time [s]; default: the example's", KD_CLI_NUMBER, &t->t_end},
        {"--rtol", "R", "relative tolerance, without --atol the absolute one as well; default 1e-6", KD_CLI_POSITIVE,
         &t->rtol},
        {"--atol", "A", "absolute tolerance; default 1e-6", KD_CLI_POSITIVE, &t->atol},
        {"--formulation", "F", "psf (default), psf1, ggl, index3, index2, index1, baumgarte2, baumgarte1", KD_CLI_TEXT,
         &t->formulation},
        {"--integrator", "I", "radau (default), ida", KD_CLI_TEXT, &t->integrator},
        {"--decomposition", "D", "of the constraints: lu (default), qr, svd (redundant constraints)", KD_CLI_TEXT,
         &t->decomposition},
        {"--output", "DIR", "folder for the results; default: results", KD_CLI_TEXT, &t->folder},
        {"--points", "N", "output points, equally spaced, at most 1000000; default 500", KD_CLI_COUNT, &t->points},
        {"--quiet", NULL, "print nothing but errors", KD_CLI_FLAG, &t->quiet},
        {"--json", NULL, "print the outcome as one JSON object", KD_CLI_FLAG, &t->json},
    };
    kd_cli_syntax syntax = {
        .usage = "kardan simulate EXAMPLE [OPTION...]",
        .about = "Simulate an example and write DIR/EXAMPLE.csv (table), DIR/EXAMPLE.html (report with certificate,\n"
                 "statistics and plots) and DIR/EXAMPLE.svg (plots). The exit status is 0 only if the end was reached.",
        .details = "Examples:\n"
                   "  kardan simulate andrews\n"
                   "  kardan simulate andrews --rtol 1e-9 --output build/demo\n"
                   "  kardan simulate pendulum --formulation ggl --integrator ida --points 1000\n"
                   "  kardan simulate caraxis --json > outcome.json\n",
        .options = options,
        .noptions = sizeof options / sizeof options[0],
        .operand_name = "EXAMPLE",
        .operand = &t->name,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// Tolerances as given, --rtol alone for both, or the integrator's
static void choose_tolerances(task *t)
{
    const kd_simulation_options *o = &t->options;
    bool                         is_ida = o->integrator == KD_IDA;
    if (t->atol <= 0) t->atol = t->rtol > 0 ? t->rtol : is_ida ? o->ida.atol : o->radau.atol;
    if (t->rtol <= 0) t->rtol = is_ida ? o->ida.rtol : o->radau.rtol;
}

// ---- running ------------------------------------------------------------------------------------

// Create a folder and those above it, as far as they are missing; it must be one that can be written to
static kd_status make_folder(const char *folder, char *message, size_t size)
{
    char        path[PATH_SIZE];
    struct stat found;
    snprintf(path, sizeof path, "%s", folder);
    for (char *c = path + 1;; c++) {
        if (*c != '/' && *c != '\0') continue;
        char end = *c;
        *c = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            kd_text(message, size, "cannot create the folder '%s': %s", path, strerror(errno));
            return KD_ERR_FILE;
        }
        if (end == '\0') break;
        *c = end;
    }
    int reason = stat(path, &found) != 0 ? errno : !S_ISDIR(found.st_mode) ? ENOTDIR : 0;
    if (reason == 0 && access(path, W_OK | X_OK) != 0) reason = errno;
    if (reason == 0) return KD_OK;
    kd_text(message, size, "cannot write to the folder '%s': %s", path, strerror(reason));
    return KD_ERR_FILE;
}

static void show_progress(task *t, double time)
{
    double now = seconds();
    if (!t->show_progress || now - t->shown_at < 0.1) return;
    t->shown_at = now;
    double part = t->t_end > 0 ? time / t->t_end : 1;
    fprintf(stderr, "\r  t = %-10.4g of %.4g s  %3.0f %%  %ld steps ", time, t->t_end, 100 * part, t->steps);
    fflush(stderr);
}

static void end_progress(const task *t)
{
    if (t->show_progress && t->shown_at > 0) fputs("\r\x1b[K", stderr);
}

// Called by the simulation after each step and at each output time
static kd_eval take_output(const kd_state *x, bool at_time, void *context)
{
    task *t = context;
    if (!at_time && kd_recording_length(t->recording) > 0) t->steps++; // the first call shows the start
    show_progress(t, x->t);
    bool wanted = at_time || kd_recording_length(t->recording) == 0;
    t->recorded = wanted ? kd_recording_add(t->recording, x) : kd_recording_sample(t->recording, x);
    return t->recorded < 0 ? KD_EVAL_STOP : KD_EVAL_OK;
}

// Large tables are slow in every program that reads them
static void warn_of_size(const task *t)
{
    double columns = 1.0 + t->x->n + kd_eom_dims(t->eom).nv, megabytes = 1e-6 * BYTES_PER_NUMBER * columns * t->points;
    if (!t->quiet && megabytes > LARGE_TABLE)
        fprintf(stderr, "kardan: the table will have about %.0f megabytes; --points makes it smaller\n", megabytes);
}

static kd_status prepare(task *t)
{
    kd_status status = make_folder(t->folder, t->message, sizeof t->message); // before hours of computing
    if (status < 0) return status;
    status = t->example->create(&t->eom, &t->x, &t->inputs);
    if (status < 0) {
        snprintf(t->message, sizeof t->message, "the example could not be created: %s", kd_status_sentence(status));
        return status;
    }
    warn_of_size(t);
    double start = t->x->t;
    t->times = malloc((size_t)t->points * sizeof *t->times);
    if (!t->times) return KD_ERR_MEMORY;
    // equally spaced behind the start, the last one exactly at the end
    int n = t->t_end > start ? t->points - 1 : 0;
    for (int i = 0; i < n; i++) t->times[i] = start + (t->t_end - start) * (i + 1) / n;
    if (n > 0) t->times[n - 1] = t->t_end;
    t->options.times = t->times;
    t->options.ntimes = n;
    t->options.output = take_output;
    t->options.context = t;
    t->options.rtol = t->rtol;
    t->options.atol = t->atol;
    // one more for the place where a run fails
    return kd_recording_create(t->eom, t->inputs.eval ? &t->inputs : NULL, t->points + 1, &t->recording);
}

// max |p - ref| / max(1e-3, |ref|) at the example's end; NaN if there is nothing to compare with
static double error_of(const task *t)
{
    if (!t->example->reference || t->x->t != t->example->t_end) return NAN;
    double worst = NAN;
    for (int i = 0; i < kd_eom_dims(t->eom).np; i++) {
        double reference = t->example->reference[i];
        if (isnan(reference)) continue;
        worst = fmax(worst, fabs(t->x->p[i] - reference) / fmax(1e-3, fabs(reference)));
    }
    return worst;
}

static void run(task *t)
{
    double started = seconds();
    t->status = prepare(t);
    if (t->status >= 0) {
        t->status = kd_simulation_create(t->eom, t->inputs.eval ? &t->inputs : NULL, &t->options, t->x, &t->simulation,
                                         t->message, sizeof t->message);
    }
    kd_status start = t->status;
    if (start >= 0) {
        t->status = kd_simulation_run(t->simulation, t->t_end);
        if (t->status == KD_OK) t->status = start; // news of the start: corrected values, redundant constraints
        t->stats = kd_simulation_stats(t->simulation);
        snprintf(t->message, sizeof t->message, "%s", kd_simulation_message(t->simulation));
        if (t->recorded < 0) { // the recording asked to stop
            t->status = t->recorded;
            snprintf(t->message, sizeof t->message, "output at t = %.9g s failed", t->x->t);
        }
        // the place where it ended, also after a failure
        kd_status last = kd_recording_add(t->recording, t->x);
        if (t->status >= 0 && last < 0) t->status = last;
        t->reference_error = error_of(t);
    }
    t->ended = t->status;
    t->wall_seconds = seconds() - started;
    end_progress(t);
}

// ---- files --------------------------------------------------------------------------------------

static kd_status write_files(task *t, char *message, size_t size)
{
    char tolerance[2][32], end[32], points[32];
    snprintf(tolerance[0], sizeof tolerance[0], "%g", t->rtol);
    snprintf(tolerance[1], sizeof tolerance[1], "%g", t->atol);
    snprintf(end, sizeof end, "%.9g s", t->t_end);
    snprintf(points, sizeof points, "%d", t->points);
    kd_report_setting settings[SETTINGS] = {
        {"example", t->example->name},
        {"end time", end},
        {"formulation", kd_formulation_word(t->options.formulation)},
        {"integrator", kd_integrator_word(t->options.integrator)},
        {"decomposition of the constraints", DECOMPOSITIONS[t->options.formulation_options.constraints]},
        {"relative tolerance", tolerance[0]},
        {"absolute tolerance", tolerance[1]},
        {"output points", points},
    };
    kd_report report = {
        .title = t->example->title,
        .about = t->example->about,
        .recording = t->recording,
        .settings = settings,
        .nsettings = SETTINGS,
        .atol = t->atol,
        .stats = t->stats,
        .wall_seconds = t->wall_seconds,
        .status = t->status,
        .message = t->message,
        .reference_error = t->reference_error,
    };
    kd_status status = kd_recording_save_csv(t->recording, t->csv, message, size);
    if (status >= 0) status = kd_report_save(&report, t->html, message, size);
    if (status >= 0) status = kd_report_save_svg(&report, t->svg, message, size);
    return status;
}

static bool name_files(task *t)
{
    int a = snprintf(t->csv, PATH_SIZE, "%s/%s.csv", t->folder, t->example->name);
    int b = snprintf(t->html, PATH_SIZE, "%s/%s.html", t->folder, t->example->name);
    int c = snprintf(t->svg, PATH_SIZE, "%s/%s.svg", t->folder, t->example->name);
    if (t->folder[0] && a < PATH_SIZE && b < PATH_SIZE && c < PATH_SIZE) return true;
    fprintf(stderr, "kardan: '%.60s' cannot be the name of a folder\n", t->folder);
    return false;
}

// ---- telling ------------------------------------------------------------------------------------

static void tell_in_words(const task *t, bool written)
{
    const kd_stats *s = &t->stats;
    printf("%s: %s\n", t->example->name, t->example->title);
    printf("  %s with %s, %ld steps and %ld rejected ones to t = %.9g s, %.3g s of computing\n",
           kd_formulation_word(t->options.formulation), kd_integrator_word(t->options.integrator), s->accepted,
           s->rejected_error + s->rejected_newton, t->x->t, t->wall_seconds);
    if (t->status > 0 && t->message[0]) printf("  note: %s\n", t->message);
    kd_certificate c = kd_recording_certificate(t->recording);
    kd_dims        dims = kd_eom_dims(t->eom);
    if (dims.nlambda + dims.nmu > 0) {
        static const char *const LEVEL[3] = {"position", "velocity", "acceleration"};
        printf("  constraint residuals:");
        for (int i = 0; i < 3; i++)
            printf("%s %s %.1e (%s)", i ? "," : "", LEVEL[i], c.residual[i],
                   kd_verdict_residual(&c, i, t->atol, t->ended).words);
        printf("\n");
    }
    if (c.has_energy)
        printf("  energy balance: error %.1e of %.3g J (%s)\n", kd_verdict_energy_error(&c), c.energy_scale,
               kd_verdict_energy(&c, t->ended).words);
    if (!isnan(t->reference_error))
        printf("  reference solution: error of the positions %.1e (%s)\n", t->reference_error,
               kd_verdict_reference(&c, t->reference_error, t->ended).words);
    if (written) printf("table:  %s\nplots:  %s\nreport: %s  (open it in a browser)\n", t->csv, t->svg, t->html);
}

static void tell_statistics(const task *t, kd_json *json)
{
    const kd_stats *s = &t->stats;
    kd_json_open(json, "statistics");
    kd_json_count(json, "steps", s->steps);
    kd_json_count(json, "accepted", s->accepted);
    kd_json_count(json, "rejected_error", s->rejected_error);
    kd_json_count(json, "rejected_newton", s->rejected_newton);
    kd_json_count(json, "residuals", s->residuals);
    kd_json_count(json, "for_differences", s->for_differences);
    kd_json_count(json, "mass", s->mass);
    kd_json_count(json, "jacobians", s->jacobians);
    kd_json_count(json, "selectors", s->selectors);
    kd_json_count(json, "predecompositions", s->predecompositions);
    kd_json_count(json, "decompositions", s->decompositions);
    kd_json_count(json, "solves", s->solves);
    kd_json_count(json, "newton_updates", s->newton_updates);
    kd_json_number(json, "h_last", s->h_last);
    kd_json_number(json, "wall_seconds", t->wall_seconds);
    kd_json_close(json);
}

// Residuals and energy; null where nothing was computed or nothing is known
static void tell_certificate(const task *t, kd_json *json)
{
    static const char *const KEY[3] = {"position_residual", "velocity_residual", "acceleration_residual"};
    bool                     has_result = t->recording && kd_recording_length(t->recording) > 0;
    kd_certificate           c = {.has_energy = false};
    if (has_result) c = kd_recording_certificate(t->recording);
    kd_json_open(json, "certificate");
    for (int i = 0; i < 3; i++) kd_json_number(json, KEY[i], has_result ? c.residual[i] : NAN);
    kd_json_number(json, "energy_error", kd_verdict_energy_error(&c));
    kd_json_number(json, "reference_error", t->reference_error);
    kd_json_close(json);
}

// Everything that is needed to make the run again, then what came out
static void tell_as_json(const task *t, bool written)
{
    kd_json json = {.file = stdout};
    kd_json_open(&json, NULL);
    kd_json_text(&json, "version", kd_version());
    kd_json_text(&json, "example", t->example->name);
    kd_json_number(&json, "t_end", t->t_end);
    kd_json_text(&json, "formulation", kd_formulation_word(t->options.formulation));
    kd_json_text(&json, "integrator", kd_integrator_word(t->options.integrator));
    kd_json_text(&json, "decomposition", DECOMPOSITIONS[t->options.formulation_options.constraints]);
    kd_json_number(&json, "rtol", t->rtol);
    kd_json_number(&json, "atol", t->atol);
    kd_json_count(&json, "points", t->points);
    kd_json_bool(&json, "ok", t->status >= 0 && written);
    kd_json_text(&json, "status", kd_status_name(t->status));
    kd_json_text(&json, "sentence", kd_status_sentence(t->status));
    kd_json_text(&json, "message", t->message);
    kd_json_number(&json, "t", t->x ? t->x->t : NAN);
    tell_statistics(t, &json);
    tell_certificate(t, &json);
    if (written) {
        kd_json_open(&json, "files");
        kd_json_text(&json, "table", t->csv);
        kd_json_text(&json, "plots", t->svg);
        kd_json_text(&json, "report", t->html);
        kd_json_close(&json);
    }
    kd_json_close(&json);
    printf("\n");
}

// ---- command ------------------------------------------------------------------------------------

static void release(task *t)
{
    kd_simulation_destroy(t->simulation);
    kd_recording_destroy(t->recording);
    free(t->times);
    kd_state_destroy(t->x);
    kd_eom_destroy(t->eom);
}

// Write what was computed, also by a run that failed. A failure to write is the status of a run that went well, and one
// more sentence of one that did not.
static bool write_results(task *t)
{
    char      problem[MESSAGE_SIZE] = "";
    kd_status status = write_files(t, problem, sizeof problem);
    if (status >= 0) return true;
    if (t->status < 0) {
        kd_text_append(t->message, sizeof t->message, "%s%s", t->message[0] ? "; " : "", problem);
    } else {
        t->status = status;
        kd_text(t->message, sizeof t->message, "%s", problem);
    }
    return false;
}

static int simulate(task *t)
{
    t->show_progress = !t->quiet && !t->json && isatty(fileno(stderr));
    run(t);
    bool has_result = t->recording && kd_recording_length(t->recording) > 0;
    bool written = has_result && write_results(t);
    if (t->json) {
        tell_as_json(t, written);
    } else if (!t->quiet && has_result) {
        tell_in_words(t, written);
    }
    if (t->status < 0) {
        fprintf(stderr, "kardan: %s: %s\n", t->example->name, kd_status_sentence(t->status));
        if (t->message[0]) fprintf(stderr, "  %s\n", t->message);
    }
    return t->status >= 0 && written ? KD_EXIT_OK : KD_EXIT_FAILED;
}

int kd_cli_simulate(int argc, char **argv)
{
    task t = {.folder = "results", .t_end = -1, .points = 500, .reference_error = NAN};
    t.options = kd_simulation_options_default();
    kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    t.example = kd_cli_find_example(t.name);
    if (!t.example || !choose_formulation(&t) || !choose_integrator(&t) || !choose_decomposition(&t) || !name_files(&t))
        return KD_EXIT_USAGE;
    choose_tolerances(&t);
    if (t.t_end < 0) t.t_end = t.example->t_end;
    int status = simulate(&t);
    release(&t);
    return status;
}
