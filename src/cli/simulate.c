// simulate.c: kardan simulate: run a model, write results, report and plots, say what was found.
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/budget.h"
#include "cli/channels.h"
#include "cli/cross.h"
#include "cli/equilibrium.h"
#include "cli/events.h"
#include "cli/jacobian.h"
#include "cli/method.h"
#include "cli/replay.h"
#include "cli/subject.h"
#include "core/text.h"
#include "drawing/drawing.h"
#include "report/beside.h"
#include "report/report.h"
#include "report/viewer.h"
#include "results/linear_file.h"
#include "results/postmortem.h"
#include "results/recorder.h"
#include "results/run_options.h"
#include "results/running.h"
#include "results/state_file.h"

// sizes of texts and lists
enum {
    PATH_SIZE = 4096,
    MESSAGE_SIZE = 2000,
    CERTIFICATE_SIZE = 32000,
    EXPLANATION_SIZE = 16000,
    COMMAND_SIZE = 8192,
    SETTINGS = 25,
    MAX_OPTIONS = 56
};
enum { MOST_INSTANTS = 20000 };
// a number in a table takes about so many bytes
enum { BYTES_PER_NUMBER = 20, LARGE_TABLE = 200 /* megabytes */ };

static const char *const FORMATS[] = {"csv", "hdf5", "both", "mat"};

// ---- the task -------------------------------------------------------------------------------------------------------

typedef struct task {
    // as asked for
    kd_subject_request request;
    const char        *folder, *format;
    const char        *jacobian_plots;       // folder; NULL: none
    double             t_end;                // < 0: the model's
    double             max_step;             // 0: no limit
    int                intervals, max_steps; // 0: the model's; as many as it takes
    const char        *start_state;          // file; NULL: the model's start
    const char        *beside_path;          // report; NULL: none
    double             from;                 // [s] state of that file; NaN: its last one
    bool               from_equilibrium;     // start at rest
    bool               quiet, json, stats, no_drawing, plain, explain, cross_check, no_verify, must_be_clean;
    kd_verification    verification;
    int                argc; // the words themselves, for the replay
    char             **argv;
    kd_limits          limits; // NaN: the model's
    kd_method          method;
    bool               with_csv, with_hdf5, with_mat;
    const char        *write_state; // file for the last state of a good run; NULL: none
    // while it runs
    kd_subject       subject;
    kd_recorder     *recorder;  // sees all states that the simulation shows
    kd_recording    *recording; // its rows
    kd_drawing      *drawing;   // NULL: none
    kd_simulation   *simulation;
    kd_beside       *beside;       // that report's run
    kd_explainer    *explainer[2]; // of the first method and of another that the run has changed to; NULL: none
    const kd_dae    *heard;        // the form that the first one listens to
    kd_instants     *instants;     // NULL: not wanted
    kd_replay       *replay;
    kd_running      *running; // the table so far; NULL: the run has not begun
    kd_cli_events    events;
    kd_cross         cross;
    kd_progress      progress;
    kd_status        followed; // first failure of the file of rows or the cross-check
    long             steps;
    kd_plot_channels channels; // of the report
    // what came out
    kd_status      status; // of all, files included
    kd_certificate certificate;
    double         reference_error;
    kd_explanation explanation;
    char           command[COMMAND_SIZE]; // that replays the last second of a run that failed; "": none
    bool           has_postmortem;
    char           message[MESSAGE_SIZE], broken[MESSAGE_SIZE];
    kd_clean       verdict;
    const char   **warnings; // of the model
    int            nwarnings;
    char           method_value[9][40], options[2000];
    char           number[5][40], set_name[KD_CLI_LONGEST_LIST][100];
    char           csv[PATH_SIZE], hdf5[PATH_SIZE], mat[PATH_SIZE], html[PATH_SIZE], svg[PATH_SIZE], picture[PATH_SIZE];
    char           postmortem[PATH_SIZE], states[PATH_SIZE], crossed[PATH_SIZE], partial[PATH_SIZE];
} task;

static const char ABOUT[] =
    "Simulate MODEL, a file (.yaml, .urdf) or the name of an example. Writes results (DIR/NAME.csv, DIR/NAME.h5), a\n"
    "report with certificate, statistics, plots and, for model files, a moving drawing (DIR/NAME.html), and the plots "
    "and\n"
    "one picture of the motion alone (DIR/NAME.svg, DIR/NAME-motion.svg).\n\n"
    "A run that fails writes DIR/NAME.post-mortem.txt: why, where, and the command that replays its last second.\n"
    "Ctrl-C ends a run at its next step: the results so far are written, with their certificate. A run that is killed\n"
    "leaves the rows so far in DIR/NAME.partial.csv.";

static const char DETAILS[] =
    "Exit status:\n"
    "  0    the end was reached, and all files were written; with a clean certificate the motion is right\n"
    "  1    the run failed (results so far are written), or a file could not be read or written\n"
    "  2    the command line was not understood\n"
    "  3    the end was reached, but a limit (--limit-...) is broken, --clean was given and the certificate is not,\n"
    "       or --cross-check found a gross disagreement: converged motions that differ by more than 1e-3 of their\n"
    "       size, or an error above 1e-2\n"
    "  130  interrupted by Ctrl-C or SIGTERM; results so far are written\n"
    "\nExamples:\n"
    "  kardan simulate models/slider-crank.yaml\n"
    "  kardan simulate truck.yaml --formulation psf --rtol 1e-7 --set payload=2000\n"
    "  kardan simulate truck.yaml --coordinates cartesian --plots body.cab.pos.z,joint.axle.q\n"
    "  kardan simulate andrews --rtol 1e-9 --output build/demo\n"
    "  kardan simulate pendulum --formulation ggl --integrator ida --intervals 1000\n"
    "  kardan simulate truck5 --format hdf5 --limit-energy 1e-5\n"
    "  kardan simulate models/slider-crank.yaml --cross-check\n"
    "  kardan simulate caraxis --json > outcome.json\n";

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    const kd_cli_option own[] = {
        {"--t-end", "T", "end time [s]; default: the model's", KD_CLI_NUMBER, &t->t_end},
        {"--intervals", "N", "output intervals, equally long, at most 1000000; default: the model's, 500", KD_CLI_COUNT,
         &t->intervals},
        {"--max-step", "H", "largest step [s]; default: the model's, or no limit", KD_CLI_POSITIVE, &t->max_step},
        {"--max-steps", "N", "give up after so many steps; default: never", KD_CLI_COUNT, &t->max_steps},
        {"--output", "DIR", "folder for the results; default: results", KD_CLI_TEXT, &t->folder},
        {"--format", "F", "of the results: csv (default), hdf5, both, mat", KD_CLI_TEXT, &t->format},
        {"--channels", "PATTERN", "record paths without sensors: all, or patterns like body.*.pos.?,joint.*",
         KD_CLI_TEXT, &t->request.channels},
        {"--plots", "A,B,...", "channels that the report shows; default: the model's, or all", KD_CLI_TEXT,
         &t->channels.words},
        {"--jacobian-plots", "DIR", "folder for pictures of the Newton matrix: pattern, groups, instants of evaluation",
         KD_CLI_TEXT, &t->jacobian_plots},
        {"--no-drawing", NULL, "leave the drawing out of the report", KD_CLI_FLAG, &t->no_drawing},
        {"--beside", "REPORT", "show the run of another report in this one, too: over each other or side by side",
         KD_CLI_TEXT, &t->beside_path},
        {"--plain", NULL, "a small report: plots and drawing without the 3-D viewer", KD_CLI_FLAG, &t->plain},
        {"--automatic", NULL, "a method that suits the equations, changed on the way where counts say so", KD_CLI_FLAG,
         &t->method.automatic},
        {"--no-verify", NULL, "do not check steps against the equations inside them", KD_CLI_FLAG, &t->no_verify},
        {"--limit-position", "L", "largest constraint violation on position level that is accepted", KD_CLI_NUMBER,
         &t->limits.position},
        {"--limit-velocity", "L", "the same on velocity level", KD_CLI_NUMBER, &t->limits.velocity},
        {"--limit-acceleration", "L", "the same on acceleration level", KD_CLI_NUMBER, &t->limits.acceleration},
        {"--limit-energy", "L", "largest relative error of the energy balance that is accepted", KD_CLI_NUMBER,
         &t->limits.energy},
        {"--start-state", "FILE", "start from a state that was written (DIR/NAME.state.csv)", KD_CLI_TEXT,
         &t->start_state},
        {"--write-state", "FILE", "write the last state of a good run, for --start-state", KD_CLI_TEXT,
         &t->write_state},
        {"--from", "T", "the state of that file at T [s] or before; default: its last one", KD_CLI_NUMBER, &t->from},
        {"--from-equilibrium", NULL, "start from the equilibrium next to the model's start", KD_CLI_FLAG,
         &t->from_equilibrium},
        {"--stats", NULL, "print the statistics", KD_CLI_FLAG, &t->stats},
        {"--explain", NULL, "say who limits the steps: joints, bodies and forces with their shares", KD_CLI_FLAG,
         &t->explain},
        {"--cross-check", NULL, "run independent methods, too, and say whether they find the same motion", KD_CLI_FLAG,
         &t->cross_check},
        {"--clean", NULL, "exit status 3 unless the certificate is clean and nothing was left unsearched", KD_CLI_FLAG,
         &t->must_be_clean},
        {"--quiet", NULL, "print nothing but errors", KD_CLI_FLAG, &t->quiet},
        {"--json", NULL, "print the outcome as one JSON object", KD_CLI_FLAG, &t->json},
    };
    kd_cli_option options[MAX_OPTIONS];
    int           count = kd_method_options(&t->method, options);
    memcpy(options + count, own, sizeof own);
    count += (int)(sizeof own / sizeof *own);
    count += kd_subject_options(&t->request, options + count);
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan simulate MODEL [OPTION...]",
             .about = ABOUT,
             .details = DETAILS,
             .options = options,
             .noptions = count,
             .operand_name = names,
             .operand = &t->request.word,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// ---- words to options -----------------------------------------------------------------------------------------------

// built without HDF5 a run of hours would end with nothing
static bool choose_format(task *t)
{
    int format = t->format ? kd_cli_choose("format", t->format, FORMATS, 4) : 0;
    if (format < 0) return false;
    t->with_mat = format == 3;
    if (t->with_mat && !kd_linear_has_mat()) {
        fputs("kardan: --format mat: kardan was built without matio (package libmatio-dev); csv works\n", stderr);
        return false;
    }
    t->with_csv = format != 1;
    t->with_hdf5 = format == 1 || format == 2;
    if (!t->with_hdf5 || kd_result_has_hdf5()) return true;
    fputs("kardan: --format hdf5: kardan was built without HDF5 (package libhdf5-dev); csv works\n", stderr);
    return false;
}

static bool name_files(task *t)
{
    // all files that a run may write, by the order of path[]
    static const char *const ENDING[] = {".csv",        ".h5",
                                         ".html",       ".svg",
                                         "-motion.svg", ".post-mortem.txt",
                                         ".state.csv",  ".cross-check.txt",
                                         "-events.csv", ".partial.csv",
                                         ".mat"};
    char *const              path[] = {t->csv,    t->hdf5,    t->html,        t->svg,     t->picture, t->postmortem,
                                       t->states, t->crossed, t->events.path, t->partial, t->mat};
    bool                     fits = t->folder[0] != '\0';
    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        fits = snprintf(path[i], PATH_SIZE, "%s/%s%s", t->folder, t->subject.name, ENDING[i]) < PATH_SIZE && fits;
    if (!fits) fprintf(stderr, "kardan: '%.60s' cannot be the name of a folder\n", t->folder);
    return fits;
}

// What the command line leaves open is as the model says
static void take_defaults(task *t)
{
    const kd_run_def *run = &t->subject.run;
    kd_method        *m = &t->method;
    kd_method_take_run(m, &t->subject);
    // end, steps, outputs, limits: the command line goes first
    if (t->t_end < 0) t->t_end = run->t_end;
    if (t->max_step <= 0 && run->max_step > 0 && !kd_method_asks(m, "steps.h_max")) t->max_step = run->max_step;
    if (t->intervals == 0) t->intervals = run->intervals > 0 ? run->intervals : 500;
    if (isnan(t->limits.position)) t->limits.position = run->limit_position;
    if (isnan(t->limits.velocity)) t->limits.velocity = run->limit_velocity;
    if (isnan(t->limits.acceleration)) t->limits.acceleration = run->limit_acceleration;
    if (isnan(t->limits.energy)) t->limits.energy = run->limit_energy;
}

// The other run that the page is to show
static bool read_beside(task *t)
{
    char message[MESSAGE_SIZE] = "";
    if (!t->beside_path) return true;
    if (t->plain || !kd_viewer_is_built()) {
        fputs("kardan: --beside is shown by the 3-D viewer, which --plain leaves out, or which is not built (make "
              "viewer)\n",
              stderr);
        return false;
    }
    if (kd_beside_read(t->beside_path, &t->beside, message, sizeof message) >= 0) return true;
    fprintf(stderr, "kardan: --beside: %s\n", message);
    return false;
}

// A start that was written by another run takes the place of the model's; it is taken as it is, to the last bit. So
// does the equilibrium
static bool take_start(task *t)
{
    char                  message[MESSAGE_SIZE] = "";
    kd_equilibrium_result result;
    if (t->from_equilibrium && t->start_state) {
        fputs("kardan: --start-state and --from-equilibrium are two starts; choose one\n", stderr);
        return false;
    }
    // the equilibrium, from the start of the model on
    if (t->from_equilibrium && kd_cli_rest(&t->subject, false, true, &result, message, sizeof message) < 0) {
        fprintf(stderr, "kardan: --from-equilibrium: %s\n", message);
        return false;
    }
    if (t->from_equilibrium) kd_text(t->subject.rest, sizeof t->subject.rest, "%s", message);
    if (!t->start_state) return true;
    if (kd_state_file_load(t->start_state, t->from, t->subject.eom, t->subject.x, message, sizeof message) >= 0)
        return true;
    fprintf(stderr, "kardan: --start-state: %s\n", message);
    return false;
}

// ---- running --------------------------------------------------------------------------------------------------------

// Called by the simulation after each step and at each output time
static kd_eval take_output(const kd_state *x, bool at_time, void *context)
{
    task *t = context;
    // the first row is the start
    bool is_start = kd_recording_length(t->recording) == 0;
    if (!at_time && !is_start) t->steps++;
    if (!at_time) kd_replay_see(t->replay, x);
    kd_progress_show(&t->progress, x->t, t->steps);
    // every step is looked at by the certificate, output times go to the results
    if (kd_recorder_see(x, at_time, t->recorder) != KD_EVAL_OK) return KD_EVAL_STOP;
    if (at_time || is_start) {
        // the row goes to the disk as well: nobody knows how long the run will be let
        t->followed = kd_running_follow(t->running, kd_cli_seconds());
        if (t->followed >= 0 && at_time && t->cross.check) t->followed = kd_cross_check_see(t->cross.check, x);
    }
    if (t->followed >= 0 && !kd_cli_is_interrupted()) return KD_EVAL_OK;
    kd_recorder_stop(t->recorder);
    return KD_EVAL_STOP;
}

// Large tables are slow in every program that reads them
static void warn_of_size(const task *t)
{
    double megabytes = 1e-6 * BYTES_PER_NUMBER * (1.0 + kd_recording_columns(t->recording)) * (1.0 + t->intervals);
    if (!t->quiet && t->with_csv && megabytes > LARGE_TABLE)
        fprintf(stderr, "kardan: the table will have about %.0f megabytes; --intervals makes it smaller\n", megabytes);
}

static kd_status set_options(task *t)
{
    double                 start = t->subject.x->t;
    kd_simulation_options *o = &t->method.options;
    // every step and every output comes to take_output
    o->output = take_output;
    o->context = t;
    kd_integrator_options *steps = &o->integrator_options;
    // asked for; without freedom nothing else limits the steps
    if (t->max_step > 0) steps->h_max = t->max_step;
    if (steps->h_max == 0 && t->subject.system) steps->h_max = kd_driven_step(&t->subject.info, t->t_end - start);
    if (t->max_steps > 0)
        steps->max_steps = t->max_steps;
    else if (!kd_method_sets(&t->method, "steps.max_steps"))
        steps->max_steps = LONG_MAX / 2; // the user waits as long as he likes
    // output times go into the options
    return kd_recorder_prepare(t->recorder, o, start, t->t_end);
}

// every attempt of a step, accepted or not
static void hear(const kd_attempt_report *report, void *context)
{
    task      *t = context;
    kd_dae    *dae = kd_simulation_dae(t->simulation);
    const bool other = dae != t->heard;
    // the first attempt of another method
    if (other && !t->explainer[1] && kd_explainer_create(dae, t->subject.eom, &t->explainer[1]) < 0) return;
    kd_explainer_see(report, t->explainer[other]);
    if (t->instants) kd_instants_see(t->instants, report);
}

// From now on the explainer hears of every attempt of a step. start: news that the simulation began with
static kd_status listen(task *t, kd_status start)
{
    kd_dae   *dae = kd_simulation_dae(t->simulation);
    kd_status status = kd_explainer_create(dae, t->subject.eom, &t->explainer[0]);
    t->heard = dae;
    if (status >= 0 && t->jacobian_plots) status = kd_instants_create(MOST_INSTANTS, &t->instants);
    if (status < 0) return status;
    dae->observe = hear;
    dae->observer = t;
    return start;
}

// Force elements that act on a velocity, for the explainer
static int find_suspects(int velocity, kd_suspect *list, int size, void *context)
{
    const kd_subject *s = context;
    kd_influence      found[8];
    // those that act on the velocity at the state where it ended
    int n = kd_system_influences(s->system, s->x, velocity, found, size < 8 ? size : 8);
    for (int i = 0; i < n; i++) list[i] = (kd_suspect){found[i].name, found[i].kind, found[i].frequency, found[i].rate};
    return n;
}

// asked for, or for the message of a run that failed; of two methods the one that made more steps
static void explain_steps(task *t)
{
    const kd_suspects suspects = t->subject.system ? find_suspects : NULL;
    if (!t->explainer[0] || (!t->explain && t->status >= 0)) return;
    kd_explainer_result(t->explainer[0], suspects, &t->subject, &t->explanation);
    if (!t->explainer[1]) return;
    static kd_explanation other; // large
    kd_explainer_result(t->explainer[1], suspects, &t->subject, &other);
    if (other.attempts > t->explanation.attempts) t->explanation = other;
}

// Everything that is needed to make the run again; texts live in the task
static int list_settings(task *t, kd_result_setting *list)
{
    const kd_method *m = &t->method;
    int              n = 0;
    // numbers as texts that outlive the list
    snprintf(t->number[0], sizeof t->number[0], "%.9g s", t->t_end);
    snprintf(t->number[1], sizeof t->number[1], "%g", m->rtol);
    snprintf(t->number[2], sizeof t->number[2], "%g", m->atol);
    snprintf(t->number[3], sizeof t->number[3], "%d", t->intervals);
    snprintf(t->number[4], sizeof t->number[4], "%.9g s", t->max_step);
    list[n++] = (kd_result_setting){"model", t->request.word};
    if (t->subject.model) list[n++] = (kd_result_setting){"coordinates", kd_method_coordinates(&t->subject)};
    list[n++] = (kd_result_setting){"end time", t->number[0]};
    list[n++] = (kd_result_setting){"formulation", kd_formulation_word(m->options.formulation)};
    list[n++] = (kd_result_setting){"integrator", kd_integrator_word(m->options.integrator)};
    list[n++] = (kd_result_setting){"decomposition of the constraints", kd_method_decomposition(m)};
    list[n++] = (kd_result_setting){"relative tolerance", t->number[1]};
    list[n++] = (kd_result_setting){"absolute tolerance", t->number[2]};
    list[n++] = (kd_result_setting){"output intervals", t->number[3]};
    if (t->max_step > 0) list[n++] = (kd_result_setting){"largest step", t->number[4]};
    // what differs from the usual method, then options by name
    kd_method_setting setting;
    for (int i = 0; kd_method_setting_of(m, i, &setting, t->method_value[i], sizeof t->method_value[i]); i++)
        list[n++] = (kd_result_setting){setting.name, setting.value};
    if (kd_method_options_set(m, t->options, sizeof t->options)[0])
        list[n++] = (kd_result_setting){"options", t->options};
    list[n++] = (kd_result_setting){"method", m->reason};
    if (t->subject.rest[0]) list[n++] = (kd_result_setting){"start from equilibrium", t->subject.rest};
    if (t->cross.done) list[n++] = (kd_result_setting){"cross-check", t->cross.result.sentence};
    for (int i = 0; i < t->request.settings.count; i++) {
        const char *value = kd_subject_setting(&t->request, i, "parameter ", t->set_name[i], sizeof t->set_name[i]);
        list[n++] = (kd_result_setting){t->set_name[i], value};
    }
    return n;
}

// All that is known of the run; settings: room for them
static kd_result result_of(task *t, kd_result_setting *settings)
{
    return (kd_result){
        .title = t->subject.title,
        .about = t->subject.about,
        .model_file = t->subject.path,
        .model_text = t->subject.text,
        .recording = t->recording,
        .settings = settings,
        .nsettings = list_settings(t, settings),
        .certificate = t->certificate,
        .warnings = t->warnings,
        .nwarnings = t->nwarnings,
        .message = t->message,
        .reference_error = t->reference_error,
        .plots = t->channels.plot,
        .nplots = t->channels.nplots,
        .drawing = t->drawing,
        .plain = t->plain,
        .beside = t->beside,
        .explanation = t->explain ? &t->explanation : NULL,
        .events = t->events.log,
        .running = t->running,
    };
}

// The table that a run leaves even if it is killed; one that nobody asked for begins after a second
static kd_status open_running(task *t)
{
    kd_result_setting settings[SETTINGS + KD_CLI_LONGEST_LIST];
    const kd_result   result = result_of(t, settings);
    return kd_running_create(&result, t->partial, !t->with_csv, kd_cli_seconds(), &t->running, t->message,
                             sizeof t->message);
}

// all that can fail cheaply fails before the run
static kd_status prepare_run(task *t)
{
    const kd_subject *s = &t->subject;
    kd_status status = kd_cli_make_folder(t->folder, t->message, sizeof t->message); // before hours of computing
    if (status >= 0 && t->jacobian_plots) status = kd_cli_make_folder(t->jacobian_plots, t->message, sizeof t->message);
    // what looks at the run: recorder, replay, cross-check, events
    if (status >= 0) status = set_options(t);
    if (status >= 0) status = kd_replay_create(s->eom, &t->replay);
    if (status >= 0 && t->cross_check)
        status = kd_cross_open(&t->cross, s, &t->method, t->start_state || t->from_equilibrium, t->message,
                               sizeof t->message);
    if (status >= 0) {
        t->recording = kd_recorder_recording(t->recorder);
        kd_cli_events_take(&t->events, s->eom, kd_recorder_events(t->recorder));
        warn_of_size(t);
        t->method.options.verify = !t->no_verify;
        status = kd_simulation_create(s->eom, kd_subject_inputs(s), &t->method.options, s->x, &t->simulation,
                                      t->message, sizeof t->message);
    }
    // the explainer hears of attempts, rows go to the disk
    const kd_status start = status < 0 ? status : listen(t, status);
    status = start < 0 ? start : open_running(t);
    return status < 0 ? status : start;
}

// max |p - ref| / max(1e-3, |ref|) at the example's end; NaN if there is nothing to compare with
static double error_of(const task *t)
{
    const kd_example *example = t->subject.example;
    const kd_state   *x = t->subject.x;
    // examples with a published solution at their end
    if (!example || !example->reference || x->t != example->t_end) return NAN;
    double worst = NAN;
    for (int i = 0; i < kd_eom_dims(t->subject.eom).np; i++) {
        double reference = example->reference[i];
        if (isnan(reference)) continue;
        worst = fmax(worst, fabs(x->p[i] - reference) / fmax(1e-3, fabs(reference)));
    }
    return worst;
}

// The recorder has the place where a run ended, also after a failure or a stop
static void end_run(task *t)
{
    // a failure of the recorder is one of the run
    t->status = kd_recorder_end(t->recorder, t->status);
    kd_text(t->message, sizeof t->message, "%s", kd_recorder_message(t->recorder));
    kd_cli_events_end(&t->events);
    // rows that could not be written are the first cause
    if (t->followed < 0) {
        const char *why = kd_running_message(t->running);
        t->status = t->followed;
        kd_text(t->message, sizeof t->message, "output at t = %.9g s failed%s%s", t->subject.x->t, why[0] ? ": " : "",
                why);
    } else if (t->status == KD_STOPPED) {
        kd_text(t->message, sizeof t->message, "interrupted at t = %.9g s of %.9g s; the results so far are kept",
                t->subject.x->t, t->t_end);
    }
}

static void run_simulation(task *t)
{
    double started = kd_cli_seconds();
    t->status = prepare_run(t);
    kd_status start = t->status;
    kd_stats  stats = {0};
    if (start >= 0) {
        // the run itself, then all that is to be had from it while it is there
        kd_progress_start(&t->progress, !t->quiet && !t->json, t->subject.x->t, t->t_end);
        kd_cli_watch_signals();
        t->status = kd_recorder_begin(t->recorder, t->simulation);
        if (t->status >= 0) t->status = kd_simulation_run(t->simulation, t->t_end);
        if (t->status == KD_OK) t->status = start; // news of the start: corrected values, redundant constraints
        stats = kd_simulation_stats(t->simulation);
        t->verification = kd_simulation_verification(t->simulation);
        end_run(t);
        t->reference_error = error_of(t);
        kd_progress_end(&t->progress);
    }
    // the certificate, with the numbers of the run
    explain_steps(t);
    t->certificate = *kd_recorder_certificate(t->recorder);
    t->certificate.status = t->status;
    t->certificate.rtol = t->method.rtol;
    t->certificate.atol = t->method.atol;
    t->certificate.limits = t->limits;
    t->certificate.stats = stats;
    t->certificate.wall_seconds = kd_cli_seconds() - started;
    if (t->certificate.states > 0) (void)kd_certificate_broken(&t->certificate, t->broken, sizeof t->broken);
}

// After a run that went well; an interruption of it leaves the run as it is
static void cross_check(task *t)
{
    if (!t->cross_check || t->status < 0 || t->status == KD_STOPPED) return;
    kd_status status = kd_cross_run(&t->cross, &t->method, t->certificate.wall_seconds);
    if (status >= 0) return;
    t->status = status;
    kd_text(t->message, sizeof t->message, "the cross-check failed");
}

// ---- files ----------------------------------------------------------------------------------------------------------

// a run that failed at once has no poses
static bool has_picture(const task *t)
{
    return t->drawing && kd_drawing_length(t->drawing) > 0;
}

// in this order: data before pictures
static kd_status write_files(task *t, char *message, size_t size)
{
    kd_result_setting settings[SETTINGS + KD_CLI_LONGEST_LIST];
    const kd_result   result = result_of(t, settings);
    kd_status         status = KD_OK;
    // table, HDF5, events, report, plots, picture, cross-check, pictures of the Jacobian
    if (t->with_csv) status = kd_result_save_csv(&result, t->csv, message, size);
    if (status >= 0 && t->with_hdf5) status = kd_result_save_hdf5(&result, t->hdf5, message, size);
    if (status >= 0 && t->with_mat) status = kd_result_save_mat(&result, t->mat, message, size);
    if (status >= 0) status = kd_cli_events_save(&t->events, t->subject.title, message, size);
    if (status >= 0) status = kd_report_save(&result, t->html, message, size);
    if (status >= 0) status = kd_report_save_svg(&result, t->svg, message, size);
    if (status >= 0 && has_picture(t))
        status = kd_drawing_save_svg(t->drawing, t->subject.title, t->picture, message, size);
    if (status >= 0 && t->cross.done) status = kd_cross_save(&t->cross, t->subject.title, t->crossed, message, size);
    if (status >= 0 && t->instants) {
        const kd_jacobian jacobian = {kd_simulation_dae(t->simulation),
                                      t->subject.title,
                                      t->jacobian_plots,
                                      t->subject.name,
                                      t->instants,
                                      t->recording};
        status = kd_jacobian_save(&jacobian, message, size);
    }
    return status;
}

// Write what was computed, also by a run that failed. A failure to write is the status of a run that went well, and one
// more sentence of one that did not.
static bool write_results(task *t)
{
    char      problem[MESSAGE_SIZE] = "";
    kd_status status = write_files(t, problem, sizeof problem);
    // the partial table stays where the whole one could not be written
    const bool stays = status < 0 && t->running && kd_running_path(t->running)[0];
    if (stays) kd_text_append(problem, sizeof problem, "; rows so far: %s", kd_running_path(t->running));
    kd_running_destroy(t->running, stays);
    t->running = NULL;
    if (status >= 0) return true;
    // the first failure is the one that matters
    if (t->status < 0) {
        kd_text_append(t->message, sizeof t->message, "%s%s", t->message[0] ? "; " : "", problem);
    } else {
        t->status = status;
        kd_text(t->message, sizeof t->message, "%s", problem);
    }
    return false;
}

// What can be said about a run that failed, in a file of its own
static void write_postmortem(task *t)
{
    static char     words[EXPLANATION_SIZE]; // large
    char            problem[MESSAGE_SIZE] = "";
    double          from;
    const kd_stats *stats = &t->certificate.stats;
    // a file that cannot be written needs no post-mortem of the motion
    if (t->status >= 0 || t->status == KD_ERR_FILE || !t->replay) return;
    kd_explanation_describe(&t->explanation, words, sizeof words);
    // states of the last second, and the command that starts from them
    if (t->simulation &&
        kd_replay_save(t->replay, t->subject.x, t->subject.title, t->states, &from, problem, sizeof problem) >= 0)
        kd_replay_command(
            &(kd_replay_words){"simulate", "--t-end", t->argc, t->argv, t->folder, t->states, from, t->t_end},
            t->command, sizeof t->command);
    const kd_postmortem facts = {
        .title = t->subject.title,
        .eom = t->subject.eom,
        .inputs = kd_subject_inputs(&t->subject),
        .x = kd_replay_good(t->replay, t->subject.x),
        .before = kd_replay_oldest(t->replay),
        // a step that shrank to nothing says little: at least a tenth of the usual one
        .h = fmax(stats->h_last, 0.1 * t->explanation.h_typical),
        .status = t->status,
        .message = t->message,
        .explanation = t->explanation.attempts > 0 ? words : NULL,
        .replay = t->command[0] ? t->command : NULL,
    };
    t->has_postmortem = kd_postmortem_save(&facts, t->postmortem, problem, sizeof problem) >= 0;
    if (problem[0]) kd_text_append(t->message, sizeof t->message, "%s%s", t->message[0] ? "; " : "", problem);
}

// The end of a good run, to go on from
static bool write_last_state(const task *t)
{
    const kd_state *states[] = {t->subject.x};
    char            message[MESSAGE_SIZE] = "";
    if (!t->write_state || t->status != KD_OK) return true;
    if (kd_state_file_save(t->write_state, t->subject.title, t->subject.eom, states, 1, message, sizeof message) >= 0)
        return true;
    fprintf(stderr, "kardan: --write-state: %s\n", message);
    return false;
}

// ---- telling --------------------------------------------------------------------------------------------------------

// what verification has found, in numbers
static void print_verification(const kd_verification *v)
{
    if (!v->searched) {
        printf("  steps were not checked inside: %s\n", v->why_not);
        return;
    }
    printf("  %-46s %12ld\n  %-46s %12ld\n  %-46s %12ld\n  %-46s %12.3g\n", "steps checked inside", v->checked,
           "steps that did not stand, made again", v->redone, "steps that could not be verified", v->unverified,
           "largest defect that was kept [tolerances]", v->worst);
}

// from the method to the files, in the order of interest
static void tell_in_words(const task *t, bool written)
{
    const kd_stats *s = &t->certificate.stats;
    static char     text[CERTIFICATE_SIZE]; // large
    printf("%s: %s\n", t->subject.name, t->subject.title);
    printf("  method: %s\n", t->method.reason);
    printf("  %ld steps and %ld rejected to t = %.9g s, %.3g s of computing\n", s->accepted,
           s->rejected_error + s->rejected_newton, t->subject.x->t, t->certificate.wall_seconds);
    if (t->subject.news[0]) printf("  start: %s\n", t->subject.news);
    if (t->subject.rest[0]) printf("  from equilibrium: %s\n", t->subject.rest);
    for (int i = 0; i < t->nwarnings; i++) printf("  warning: %s\n", t->warnings[i]);
    if (t->status >= 0 && t->message[0]) printf("  note: %s\n", t->message);
    kd_cli_events_print(&t->events);
    kd_certificate_describe(&t->certificate, text, sizeof text);
    kd_cli_print_lines(text);
    if (!isnan(t->reference_error))
        printf("  reference solution: error of the positions %.1e (%s)\n", t->reference_error,
               kd_certificate_reference(&t->certificate, t->reference_error).words);
    // rows that only some methods have are left out while they are 0
    for (int i = 0; t->stats && i < KD_STATISTICS; i++) {
        kd_statistic statistic = kd_result_statistic(&t->certificate, i);
        if (statistic.special && statistic.value == 0) continue;
        printf("  %-46s %12.6g\n", statistic.label, statistic.value);
    }
    if (t->stats) print_verification(&t->verification);
    if (t->explain) {
        static char words[EXPLANATION_SIZE]; // large
        kd_explanation_describe(&t->explanation, words, sizeof words);
        kd_cli_print_lines(words);
    }
    kd_cross_tell(&t->cross);
    if (!written) return;
    if (t->with_csv) printf("table:  %s\n", t->csv);
    if (t->with_hdf5) printf("data:   %s\n", t->hdf5);
    if (t->with_mat) printf("data:   %s\n", t->mat);
    if (t->events.has_file) printf("events: %s\n", t->events.path);
    printf("plots:  %s\n", t->svg);
    if (has_picture(t)) printf("motion: %s\n", t->picture);
    printf("report: %s  (open it in a browser)\n", t->html);
    if (t->cross.done) printf("cross-check: %s\n", t->crossed);
    if (t->instants)
        printf("matrix: %s/%s-pattern.svg, -groups, -compressed, -instants\n", t->jacobian_plots, t->subject.name);
}

static void tell_verification(const kd_verification *v, kd_json *json)
{
    kd_json_open(json, "verification");
    kd_json_bool(json, "searched", v->searched);
    kd_json_text(json, "why_not", v->why_not ? v->why_not : "");
    kd_json_count(json, "steps", v->steps);
    kd_json_count(json, "checked", v->checked);
    kd_json_count(json, "points", v->points);
    kd_json_count(json, "redone", v->redone);
    kd_json_count(json, "unverified", v->unverified);
    kd_json_number(json, "worst", v->worst);
    kd_json_number(json, "t_worst", v->t_worst);
    kd_json_close(json);
}

// counts as whole numbers
static void tell_statistics(const task *t, kd_json *json)
{
    kd_json_open(json, "statistics");
    for (int i = 0; i < KD_STATISTICS; i++) {
        kd_statistic s = kd_result_statistic(&t->certificate, i);
        if (s.is_count)
            kd_json_count(json, s.key, (long)s.value);
        else
            kd_json_number(json, s.key, s.value);
    }
    kd_json_close(json);
    tell_verification(&t->verification, json);
}

// only files that were written
static void tell_files(const task *t, kd_json *json)
{
    kd_json_open(json, "files");
    if (t->with_csv) kd_json_text(json, "table", t->csv);
    if (t->with_hdf5) kd_json_text(json, "data", t->hdf5);
    if (t->with_mat) kd_json_text(json, "data", t->mat);
    if (t->events.has_file) kd_json_text(json, "events", t->events.path);
    kd_json_text(json, "plots", t->svg);
    if (has_picture(t)) kd_json_text(json, "motion", t->picture);
    kd_json_text(json, "report", t->html);
    if (t->instants) kd_json_text(json, "jacobian_plots", t->jacobian_plots);
    if (t->cross.done) kd_json_text(json, "cross_check", t->crossed);
    kd_json_close(json);
}

// something that was not searched is not clean either
static bool is_unclean(const task *t)
{
    return t->must_be_clean && (!t->verdict.clean || t->verdict.nnot_searched > 0);
}

// Everything that is needed to make the run again, then what came out
static void tell_as_json(const task *t, bool written)
{
    kd_json     json = {.file = stdout};
    static char text[CERTIFICATE_SIZE]; // large
    kd_json_open(&json, NULL);
    kd_json_text(&json, "version", kd_version());
    kd_json_text(&json, "model", t->request.word);
    if (t->subject.model) kd_json_text(&json, "coordinates", kd_method_coordinates(&t->subject));
    kd_subject_tell_settings(&t->request, &json);
    kd_json_number(&json, "t_end", t->t_end);
    kd_json_text(&json, "formulation", kd_formulation_word(t->method.options.formulation));
    kd_json_text(&json, "integrator", kd_integrator_word(t->method.options.integrator));
    kd_json_text(&json, "decomposition", kd_method_decomposition(&t->method));
    kd_method_setting setting;
    for (int i = 0; kd_method_setting_of(&t->method, i, &setting, text, sizeof text); i++)
        kd_json_text(&json, setting.key, setting.value);
    if (kd_method_options_set(&t->method, text, sizeof text)[0]) kd_json_text(&json, "options", text);
    kd_json_text(&json, "method", t->method.reason);
    kd_json_number(&json, "rtol", t->method.rtol);
    kd_json_number(&json, "atol", t->method.atol);
    if (t->max_step > 0) kd_json_number(&json, "max_step", t->max_step);
    kd_json_count(&json, "intervals", t->intervals);
    // ok is what exit status 0 says
    kd_json_bool(&json, "ok",
                 t->status >= 0 && t->status != KD_STOPPED && written && !t->broken[0] && !t->cross.result.gross &&
                     !is_unclean(t));
    kd_json_text(&json, "status", kd_status_name(t->status));
    kd_json_text(&json, "sentence", kd_status_sentence(t->status));
    kd_json_text(&json, "message", t->message);
    if (t->subject.rest[0]) kd_json_text(&json, "from_equilibrium", t->subject.rest);
    kd_json_bool(&json, "clean", t->verdict.clean);
    kd_json_text(&json, "verdict", t->verdict.sentence);
    kd_json_texts(&json, "warnings", t->warnings, t->nwarnings);
    kd_json_number(&json, "t", t->subject.x->t);
    tell_statistics(t, &json);
    kd_cli_events_tell(&t->events, &json);
    kd_certificate_json(&t->certificate, text, sizeof text);
    kd_json_raw(&json, "certificate", text);
    kd_json_number(&json, "reference_error", t->reference_error);
    if (t->explain) {
        static char words[EXPLANATION_SIZE]; // large
        kd_explanation_json(&t->explanation, words, sizeof words);
        kd_json_raw(&json, "explanation", words);
    }
    if (t->has_postmortem) {
        kd_json_text(&json, "post_mortem", t->postmortem);
        if (t->command[0]) kd_json_text(&json, "replay", t->command);
    }
    kd_cross_tell_json(&t->cross, &json);
    if (written) tell_files(t, &json);
    kd_json_close(&json);
    printf("\n");
}

// ---- command --------------------------------------------------------------------------------------------------------

static void release(task *t)
{
    kd_simulation_destroy(t->simulation);
    kd_recorder_destroy(t->recorder);
    kd_drawing_destroy(t->drawing);
    for (int i = 0; i < 2; i++) kd_explainer_destroy(t->explainer[i]);
    kd_beside_destroy(t->beside);
    kd_instants_destroy(t->instants);
    kd_replay_destroy(t->replay);
    kd_running_destroy(t->running, false);
    kd_cross_close(&t->cross);
    free(t->warnings);
    kd_subject_close(&t->subject);
}

// What check would warn of
static void take_warnings(task *t)
{
    const int count = kd_model_warning_count(t->subject.model);
    t->warnings = count > 0 ? malloc((size_t)count * sizeof *t->warnings) : NULL;
    for (int i = 0; i < count && t->warnings; i++) t->warnings[t->nwarnings++] = kd_model_warning(t->subject.model, i);
}

// With all that is known: other solutions have their checks, too
static void judge_run(task *t)
{
    const kd_cross_result *cross = &t->cross.result;
    if (!isnan(t->reference_error)) {
        const kd_verdict v = kd_certificate_reference(&t->certificate, t->reference_error);
        kd_certificate_add(&t->certificate, "reference solution", v.good ? KD_CHECK_GOOD : KD_CHECK_BAD,
                           t->reference_error, "error of the positions %.1e: %s", t->reference_error, v.words);
    }
    if (t->cross.done)
        kd_certificate_add(&t->certificate, "cross-check",
                           cross->verdict == KD_CROSS_UNDECIDED ? KD_CHECK_NOT_SEARCHED
                           : kd_cross_is_good(cross)            ? KD_CHECK_GOOD
                                                                : KD_CHECK_BAD,
                           cross->difference, "%.310s", cross->sentence);
    kd_certificate_verdict(&t->certificate, &t->verdict);
}

// The motion that was recorded; a run without memory for it has no drawing, which is told
static void draw(task *t)
{
    if (!t->subject.system || t->no_drawing) return;
    kd_status status =
        kd_drawing_of_recording(t->subject.system, kd_recorder_probe(t->recorder), t->recording, &t->drawing);
    if (status >= 0 && !t->plain && kd_viewer_is_built())
        status =
            kd_drawing_read_loads(t->drawing, t->subject.coordinates, kd_subject_inputs(&t->subject), t->recording);
    if (status >= 0 || t->status < 0) return;
    t->status = status;
    kd_text(t->message, sizeof t->message, "the motion could not be drawn");
}

// run, cross-check, verdict; files; words; exit status
static int simulate(task *t)
{
    take_warnings(t);
    run_simulation(t);
    cross_check(t);
    judge_run(t);
    // files, also of a run that failed; then words or JSON
    bool has_result = kd_recording_length(t->recording) > 0;
    if (has_result) draw(t);
    bool written = has_result && write_results(t);
    write_postmortem(t);
    written = write_last_state(t) && written;
    if (t->json) {
        tell_as_json(t, written);
    } else if (!t->quiet && has_result) {
        tell_in_words(t, written);
    }
    if (t->status < 0) {
        fprintf(stderr, "kardan: %s: %s\n", t->subject.name, kd_status_sentence(t->status));
        if (t->message[0]) fprintf(stderr, "  %s\n", t->message);
        if (t->has_postmortem) fprintf(stderr, "  post-mortem: %s\n", t->postmortem);
    }
    // exit status: failed, interrupted, limit broken, good
    if (t->status < 0 || !written) return KD_EXIT_FAILED;
    if (t->status == KD_STOPPED) {
        fprintf(stderr, "kardan: %s: %s\n", t->subject.name, t->message);
        return KD_EXIT_INTERRUPTED;
    }
    if (t->broken[0]) fprintf(stderr, "kardan: %s: %s\n", t->subject.name, t->broken);
    if (t->cross.result.gross) fprintf(stderr, "kardan: %s: %s\n", t->subject.name, t->cross.result.sentence);
    if (is_unclean(t)) fprintf(stderr, "kardan: %s: %s\n", t->subject.name, t->verdict.sentence);
    return t->broken[0] || t->cross.result.gross || is_unclean(t) ? KD_EXIT_LIMIT : KD_EXIT_OK;
}

// of a system with its poses, of equations in C without
static kd_status create_recorder(task *t)
{
    const kd_subject   *s = &t->subject;
    kd_recorder_options opt = kd_recorder_options_default();
    opt.intervals = t->intervals;
    opt.plots = t->channels.plot; // none yet: they are chosen when the channels are known
    const kd_status status = s->system
                                 ? kd_recorder_create(s->system, &opt, &t->recorder, NULL, 0)
                                 : kd_recorder_create_for(s->eom, kd_subject_inputs(s), &opt, &t->recorder, NULL, 0);
    t->recording = status < 0 ? NULL : kd_recorder_recording(t->recorder);
    return status;
}

int kd_cli_simulate(int argc, char **argv)
{
    static task t; // of this one command; large
    t = (task){.folder = "results",
               .t_end = -1,
               .from = NAN,
               .limits = kd_limits_none(),
               .reference_error = NAN,
               .argc = argc,
               .argv = argv};
    kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    int status = KD_EXIT_USAGE;
    if (!choose_format(&t) || !kd_plot_channels_split(&t.channels, &t.request.watch) || !kd_method_read(&t.method))
        goto done; // before the file is read
    if (!kd_subject_open(&t.subject, &t.request, &status) || !take_start(&t)) goto done;
    status = KD_EXIT_USAGE;
    if (!read_beside(&t)) goto done;
    take_defaults(&t);
    if (!name_files(&t) || !kd_method_read(&t.method)) goto done; // with the words of the file
    // what was asked for, then what fits to model and method
    t.method.shows_matrix = t.jacobian_plots != NULL;
    // a state that was written is taken to the last bit
    t.method.options.initial.assume = t.start_state != NULL;
    // assembled already; where constraints depend on each other at the start the simulation says so
    t.method.options.initial.known =
        t.subject.system && t.subject.info.nsingular == 0 && !t.start_state && !t.from_equilibrium;
    // a largest step is known before the choice, which looks at it
    if (t.max_step > 0) t.method.options.integrator_options.h_max = t.max_step;
    kd_method_choose(&t.method, &t.subject);
    if (!kd_method_check(&t.method)) goto done;
    // what surely does not fit is refused before it takes hours
    status = KD_EXIT_FAILED;
    if (!kd_budget_fits(t.subject.name, kd_eom_dims(t.subject.eom).nv,
                        kd_recording_bytes(t.subject.eom, t.intervals + 2)))
        goto done;
    status = KD_EXIT_USAGE;
    if (create_recorder(&t) < 0) {
        fputs("kardan: no memory for the results; --intervals makes them smaller\n", stderr);
        status = KD_EXIT_FAILED;
        goto done;
    }
    if (kd_plot_channels_choose(&t.channels, t.recording, &t.subject)) status = simulate(&t);
done:
    release(&t);
    return status;
}
