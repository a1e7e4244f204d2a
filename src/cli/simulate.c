// simulate.c: kardan simulate: run a model, write results, report and plots, say what was found.
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/budget.h"
#include "cli/equilibrium.h"
#include "cli/saved.h"
#include "cli/simulate_task.h"
#include "core/text.h"
#include "report/viewer.h"
#include "results/linear_file.h"
#include "results/run_options.h"
#include "results/state_file.h"

enum { MAX_OPTIONS = 80 };
enum { MOST_INSTANTS = 20000 };
// a number in a table takes about so many bytes
enum { BYTES_PER_NUMBER = 20, LARGE_TABLE = 200 /* megabytes */ };

static const char *const FORMATS[] = {"csv", "hdf5", "both", "mat"};

// ---- the task -------------------------------------------------------------------------------------------------------

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
    "  kardan simulate caraxis --json > outcome.json\n"
    "  kardan simulate crane.yaml --write-state crane.run --write-every 1     then, after a power cut:\n"
    "  kardan simulate crane.yaml --continue crane.run\n";

static kd_cli_parsed read_arguments(kd_simulate_task *t, int argc, char **argv)
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
        {"--automatic", NULL, "choose the method, although the model file names one", KD_CLI_FLAG,
         &t->method.automatic},
        {"--no-verify", NULL, "do not check steps against the equations inside them", KD_CLI_FLAG, &t->no_verify},
        {"--certificate", "KIND",
         "full (default), light: without the energy balance, none; only a full one can be clean", KD_CLI_TEXT,
         &t->certificate_kind},
        {"--limit-position", "L", "largest constraint violation on position level that is accepted", KD_CLI_NUMBER,
         &t->limits.position},
        {"--limit-velocity", "L", "the same on velocity level", KD_CLI_NUMBER, &t->limits.velocity},
        {"--limit-acceleration", "L", "the same on acceleration level", KD_CLI_NUMBER, &t->limits.acceleration},
        {"--limit-energy", "L", "largest relative error of the energy balance that is accepted", KD_CLI_NUMBER,
         &t->limits.energy},
        {"--start-state", "FILE", "start from a state that was written (DIR/NAME.state.csv)", KD_CLI_TEXT,
         &t->start_state},
        {"--write-state", "FILE",
         "write the last state of a good run (.csv, for --start-state), or all of it (--continue)", KD_CLI_TEXT,
         &t->write_state},
        {"--write-every", "T", "write that file every T s of the motion, too, without changing it", KD_CLI_POSITIVE,
         &t->write_every},
        {"--continue", "FILE", "go on with a run that was written, with the same bits as if it had not been stopped",
         KD_CLI_TEXT, &t->go_on},
        {"--listen", "PORT", "inputs from and outputs to a controller on this machine (UDP); 0: any free port",
         KD_CLI_NUMBER, &t->port},
        {"--macro-step", "H", "with --listen: time between two exchanges [s]", KD_CLI_POSITIVE, &t->macro_step},
        {"--patience", "S", "with --listen: for the controller to come, and for each answer [s]; default 20",
         KD_CLI_POSITIVE, &t->patience},
        {"--key", "FILE", "with --listen: a key that both sides share", KD_CLI_TEXT, &t->key},
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

// a controller outside: its port, and what goes with it
static bool check_line(const kd_simulate_task *t)
{
    if (!isnan(t->port) && (t->port != floor(t->port) || t->port < 0 || t->port > 65535)) {
        fputs("kardan: --listen wants a port from 0 to 65535\n", stderr);
        return false;
    }
    if (isnan(t->port) && (t->key || t->macro_step > 0)) {
        fputs("kardan: --key and --macro-step are for --listen\n", stderr);
        return false;
    }
    return true;
}

// built without HDF5 a run of hours would end with nothing
static bool choose_format(kd_simulate_task *t)
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

static bool choose_certificate(kd_simulate_task *t)
{
    const char *words[KD_CERTIFICATE_KIND_COUNT];
    if (!t->certificate_kind) return true;
    for (int i = 0; i < KD_CERTIFICATE_KIND_COUNT; i++) words[i] = kd_certificate_kind_word((kd_certificate_kind)i);
    const int kind = kd_cli_choose("certificate", t->certificate_kind, words, KD_CERTIFICATE_KIND_COUNT);
    t->kind = (kd_certificate_kind)(kind < 0 ? 0 : kind);
    return kind >= 0;
}

static bool name_files(kd_simulate_task *t)
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
        fits = snprintf(path[i], KD_SIMULATE_PATH_SIZE, "%s/%s%s", t->folder, t->subject.name, ENDING[i]) <
                   KD_SIMULATE_PATH_SIZE &&
               fits;
    if (!fits) fprintf(stderr, "kardan: '%.60s' cannot be the name of a folder\n", t->folder);
    return fits;
}

// What the command line leaves open is as the model says
static void take_defaults(kd_simulate_task *t)
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
static bool read_beside(kd_simulate_task *t)
{
    char message[KD_SIMULATE_MESSAGE_SIZE] = "";
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
static bool take_start(kd_simulate_task *t)
{
    char                  message[KD_SIMULATE_MESSAGE_SIZE] = "";
    kd_equilibrium_result result;
    if (t->go_on && (t->from_equilibrium || t->start_state)) {
        fputs("kardan: --continue has a start of its own: neither --start-state nor --from-equilibrium\n", stderr);
        return false;
    }
    if (t->write_every > 0 && (!t->write_state || kd_cli_is_state_table(t->write_state))) {
        fputs("kardan: --write-every needs --write-state FILE with a name that does not end in .csv\n", stderr);
        return false;
    }
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
    if (kd_state_file_load(t->start_state, t->from, t->subject.eom, kd_subject_inputs(&t->subject), t->subject.x,
                           message, sizeof message) >= 0) {
        t->subject.news[0] = '\0'; // of a start that is not taken
        return true;
    }
    fprintf(stderr, "kardan: --start-state: %s\n", message);
    return false;
}

// ---- running --------------------------------------------------------------------------------------------------------

// Called by the simulation after each step and at each output time
static kd_eval take_output(const kd_state *x, bool at_time, void *context)
{
    kd_simulate_task *t = context;
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
    // a run that is written on the way stands still behind a step
    if (t->followed >= 0 && !at_time && x->t >= t->next_write) return t->pausing = true, KD_EVAL_STOP;
    if (t->followed >= 0 && !kd_cli_is_interrupted()) return KD_EVAL_OK;
    kd_recorder_stop(t->recorder);
    return KD_EVAL_STOP;
}

// Large tables are slow in every program that reads them
static void warn_of_size(const kd_simulate_task *t)
{
    double megabytes = 1e-6 * BYTES_PER_NUMBER * (1.0 + kd_recording_columns(t->recording)) * (1.0 + t->intervals);
    if (!t->quiet && t->with_csv && megabytes > LARGE_TABLE)
        fprintf(stderr, "kardan: the table will have about %.0f megabytes; --intervals makes it smaller\n", megabytes);
}

static kd_status set_options(kd_simulate_task *t)
{
    double                 start = t->subject.x->t;
    kd_simulation_options *o = &t->method.options;
    // every step and every output comes to take_output
    o->output = take_output;
    o->context = t;
    kd_integrator_options *steps = &o->integrator_options;
    // asked for; without freedom nothing else limits the steps
    if (t->max_step > 0) steps->h_max = t->max_step;
    if (t->certificate_kind) o->certificate = t->kind;
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
    kd_simulate_task *t = context;
    kd_dae           *dae = kd_simulation_dae(t->simulation);
    const bool        other = dae != t->heard;
    // the first attempt of another method
    if (other && !t->explainer[1] && kd_explainer_create(dae, t->subject.eom, &t->explainer[1]) < 0) return;
    kd_explainer_see(report, t->explainer[other]);
    if (t->instants) kd_instants_see(t->instants, report);
}

// From now on the explainer hears of every attempt of a step. start: news that the simulation began with
static kd_status listen(kd_simulate_task *t, kd_status start)
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
static void explain_steps(kd_simulate_task *t)
{
    const kd_suspects suspects = t->subject.system ? find_suspects : NULL;
    if (!t->explainer[0] || (!t->explain && t->status >= 0)) return;
    if (t->status >= 0) kd_simulation_advice(t->simulation, t->advice, sizeof t->advice);
    kd_explainer_result(t->explainer[0], suspects, &t->subject, &t->explanation);
    if (!t->explainer[1]) return;
    static kd_explanation other; // large
    kd_explainer_result(t->explainer[1], suspects, &t->subject, &other);
    if (other.attempts > t->explanation.attempts) t->explanation = other;
}

// Everything that is needed to make the run again; texts live in the task
static int list_settings(kd_simulate_task *t, kd_result_setting *list)
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
    if (t->go_on) list[n++] = (kd_result_setting){"continued from", t->go_on};
    if (t->subject.rest[0]) list[n++] = (kd_result_setting){"start from equilibrium", t->subject.rest};
    if (t->cross.done) list[n++] = (kd_result_setting){"cross-check", t->cross.result.sentence};
    for (int i = 0; i < t->request.settings.count; i++) {
        const char *value = kd_subject_setting(&t->request, i, "parameter ", t->set_name[i], sizeof t->set_name[i]);
        list[n++] = (kd_result_setting){t->set_name[i], value};
    }
    return n;
}

// All that is known of the run; settings: room for them
kd_result kd_simulate_result(kd_simulate_task *t, kd_result_setting *settings)
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
        .stress = t->hot_spots.n > 0 ? &t->hot_spots.facts : NULL,
        .spots = t->hot_spots.spot,
        .nspots = t->hot_spots.n,
        .plain = t->plain,
        .beside = t->beside,
        .explanation = t->explain ? &t->explanation : NULL,
        .events = t->events.log,
        .running = t->running,
    };
}

// The table that a run leaves even if it is killed; one that nobody asked for begins after a second
static kd_status open_running(kd_simulate_task *t)
{
    kd_result_setting settings[KD_SIMULATE_SETTINGS + KD_CLI_LONGEST_LIST];
    const kd_result   result = kd_simulate_result(t, settings);
    return kd_running_create(&result, t->partial, !t->with_csv, kd_cli_seconds(), &t->running, t->message,
                             sizeof t->message);
}

// The run of before in place of the model's start
static kd_status restore_run(kd_simulate_task *t)
{
    char      why[KD_SIMULATE_MESSAGE_SIZE] = "";
    kd_saved *saved = NULL;
    kd_status status = kd_saved_read(t->go_on, &saved, why, sizeof why);
    if (status >= 0) status = kd_cli_saved_check(saved, &t->subject, &t->request, why, sizeof why);
    if (status >= 0) status = kd_simulation_restore(t->simulation, saved, why, sizeof why);
    if (status >= 0 && kd_saved_has(saved, "certificate"))
        status = kd_recorder_restore(t->recorder, saved, why, sizeof why);
    if (status < 0) kd_text(t->message, sizeof t->message, "--continue %.200s: %s", t->go_on, why);
    kd_saved_destroy(saved);
    return status;
}

// all that can fail cheaply fails before the run
static kd_status prepare_run(kd_simulate_task *t)
{
    const kd_subject *s = &t->subject;
    kd_status status = kd_cli_make_folder(t->folder, t->message, sizeof t->message); // before hours of computing
    if (status >= 0 && t->jacobian_plots) status = kd_cli_make_folder(t->jacobian_plots, t->message, sizeof t->message);
    if (status >= 0 && !isnan(t->port)) status = kd_simulate_listen(t);
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
        if (t->no_verify) t->method.options.verify = false;
        const kd_simulation_options options = kd_method_for_run(&t->method);
        status = kd_simulation_create(s->eom, kd_subject_inputs(s), &options, s->x, &t->simulation, t->message,
                                      sizeof t->message);
        kd_method_tell(&t->method, s, t->simulation);
    }
    // the recorder knows the simulation; a run of before takes the place of the start
    const kd_status begun = status < 0 ? status : kd_recorder_begin(t->recorder, t->simulation);
    if (begun < 0) status = begun;
    if (status >= 0 && t->go_on) {
        const kd_status restored = restore_run(t);
        if (restored < 0) status = restored;
    }
    // the explainer hears of attempts, rows go to the disk
    const kd_status start = status < 0 ? status : listen(t, status);
    status = start < 0 ? start : open_running(t);
    return status < 0 ? status : start;
}

// max |p - ref| / max(1e-3, |ref|) at the example's end; NaN if there is nothing to compare with
static double error_of(const kd_simulate_task *t)
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
static void end_run(kd_simulate_task *t)
{
    // a failure of the recorder is one of the run
    t->status = kd_recorder_end(t->recorder, t->status);
    // a controller that is lost has been told
    if (t->status != KD_ERR_CONNECTION) kd_text(t->message, sizeof t->message, "%s", kd_recorder_message(t->recorder));
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

// The run as it is now, to go on from. A failure is told, the run does not suffer from it
static void write_run(kd_simulate_task *t)
{
    char      message[KD_SIMULATE_MESSAGE_SIZE] = "";
    kd_saved *saved = NULL;
    kd_status status = kd_simulation_save(t->simulation, &saved, message, sizeof message);
    if (status >= 0) status = kd_recorder_save(t->recorder, saved);
    if (status >= 0) status = kd_cli_saved_mark(saved, &t->subject, &t->request);
    if (status >= 0) status = kd_saved_write(saved, t->write_state, message, sizeof message);
    if (status < 0) {
        fprintf(stderr, "kardan: --write-state: %s\n", message[0] ? message : kd_status_sentence(status));
        t->unwritten = true;
    }
    kd_saved_destroy(saved);
}

// With pauses in which it is written; they do not change it
static kd_status run_on(kd_simulate_task *t)
{
    const bool whole = t->write_state && !kd_cli_is_state_table(t->write_state);
    t->next_write = whole && t->write_every > 0 ? t->subject.x->t + t->write_every : INFINITY;
    kd_status status = t->line ? kd_simulate_run_listening(t) : kd_simulation_run(t->simulation, t->t_end);
    while (status == KD_STOPPED && t->pausing) {
        t->pausing = false;
        write_run(t);
        while (t->next_write <= t->subject.x->t) t->next_write += t->write_every;
        // each part of the run may have so many steps, and all of them together not more
        const bool used_up = t->max_steps > 0 && kd_simulation_stats(t->simulation).steps >= t->max_steps;
        status = used_up ? KD_ERR_TOO_MANY_STEPS : kd_simulation_run(t->simulation, t->t_end);
    }
    // its end, also after an interruption
    if (whole && (status >= 0 || status == KD_ERR_TOO_MANY_STEPS)) write_run(t);
    return status;
}

static void run_simulation(kd_simulate_task *t)
{
    double started = kd_cli_seconds();
    t->status = prepare_run(t);
    if (!t->method.reason[0]) kd_method_tell(&t->method, &t->subject, NULL); // there is no simulation to ask
    kd_status start = t->status;
    kd_stats  stats = {0};
    if (start >= 0) {
        // the run itself, then all that is to be had from it while it is there
        kd_progress_start(&t->progress, !t->quiet && !t->json, t->subject.x->t, t->t_end);
        kd_cli_watch_signals();
        t->status = run_on(t);
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
static void cross_check(kd_simulate_task *t)
{
    if (!t->cross_check || t->status < 0 || t->status == KD_STOPPED) return;
    kd_status status = kd_cross_run(&t->cross, &t->method, t->certificate.wall_seconds);
    if (status >= 0) return;
    t->status = status;
    kd_text(t->message, sizeof t->message, "the cross-check failed");
}

// ---- command --------------------------------------------------------------------------------------------------------

static void release(kd_simulate_task *t)
{
    kd_simulation_destroy(t->simulation);
    kd_simulate_hang_up(t);
    kd_recorder_destroy(t->recorder);
    kd_drawing_destroy(t->drawing);
    kd_cli_hot_spots_release(&t->hot_spots);
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
static void take_warnings(kd_simulate_task *t)
{
    const int count = kd_model_warning_count(t->subject.model);
    t->warnings = count > 0 ? malloc((size_t)count * sizeof *t->warnings) : NULL;
    for (int i = 0; i < count && t->warnings; i++) t->warnings[t->nwarnings++] = kd_model_warning(t->subject.model, i);
}

// With all that is known: other solutions have their checks, too
static void judge_run(kd_simulate_task *t)
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
static void draw(kd_simulate_task *t)
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
static int simulate(kd_simulate_task *t)
{
    take_warnings(t);
    run_simulation(t);
    cross_check(t);
    judge_run(t);
    // files, also of a run that failed; then words or JSON
    bool has_result = kd_recording_length(t->recording) > 0;
    if (has_result) draw(t);
    if (has_result && kd_cli_hot_spots_find(t->subject.model, t->recording, &t->hot_spots) < 0 && t->status >= 0)
        t->status = KD_ERR_MEMORY;
    bool written = has_result && kd_simulate_write_results(t);
    kd_simulate_write_postmortem(t);
    written = kd_simulate_write_last_state(t) && written;
    if (t->json) {
        kd_simulate_tell_json(t, written);
    } else if (!t->quiet && has_result) {
        kd_simulate_tell_words(t, written);
    }
    if (t->status < 0) {
        fprintf(stderr, "kardan: %s: %s\n", t->subject.name, kd_status_sentence(t->status));
        if (t->message[0]) fprintf(stderr, "  %s\n", t->message);
        if (t->has_postmortem) fprintf(stderr, "  post-mortem: %s\n", t->postmortem);
    }
    // exit status: failed, interrupted, limit broken, good
    if (t->status < 0 || !written || t->unwritten) return KD_EXIT_FAILED;
    if (t->status == KD_STOPPED) {
        fprintf(stderr, "kardan: %s: %s\n", t->subject.name, t->message);
        return KD_EXIT_INTERRUPTED;
    }
    if (t->broken[0]) fprintf(stderr, "kardan: %s: %s\n", t->subject.name, t->broken);
    if (t->cross.result.gross) fprintf(stderr, "kardan: %s: %s\n", t->subject.name, t->cross.result.sentence);
    if (kd_simulate_is_unclean(t)) fprintf(stderr, "kardan: %s: %s\n", t->subject.name, t->verdict.sentence);
    return t->broken[0] || t->cross.result.gross || kd_simulate_is_unclean(t) ? KD_EXIT_LIMIT : KD_EXIT_OK;
}

// of a system with its poses, of equations in C without
static kd_status create_recorder(kd_simulate_task *t)
{
    const kd_subject   *s = &t->subject;
    kd_recorder_options opt = kd_recorder_options_default();
    opt.intervals = t->intervals;
    opt.limits = t->limits;
    opt.plots = t->channels.plot; // none yet: they are chosen when the channels are known
    const kd_status status = s->system
                                 ? kd_recorder_create(s->system, &opt, &t->recorder, NULL, 0)
                                 : kd_recorder_create_for(s->eom, kd_subject_inputs(s), &opt, &t->recorder, NULL, 0);
    t->recording = status < 0 ? NULL : kd_recorder_recording(t->recorder);
    return status;
}

int kd_cli_simulate(int argc, char **argv)
{
    static kd_simulate_task t; // of this one command; large
    t = (kd_simulate_task){.folder = "results",
                           .t_end = -1,
                           .from = NAN,
                           .port = NAN,
                           .patience = 20,
                           .limits = kd_limits_none(),
                           .reference_error = NAN,
                           .argc = argc,
                           .argv = argv};
    kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    int status = KD_EXIT_USAGE;
    if (!choose_format(&t) || !choose_certificate(&t) || !check_line(&t) ||
        !kd_plot_channels_split(&t.channels, &t.request.watch) || !kd_method_read(&t.method))
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
    kd_method_decide(&t.method, &t.subject);
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
