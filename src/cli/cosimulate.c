// cosimulate.c: kardan cosimulate: several systems side by side by a systems file.
#define _POSIX_C_SOURCE 200809L
#include <kardan/cosim.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/cosim_line.h"
#include "cli/subject.h"
#include "core/text.h"

enum { PATH_SIZE = 4096 };

typedef struct task {
    const char      *file, *folder, *master, *control;
    double           t_end, step, rtol, timeout;
    int              jobs;
    const char      *degree;
    bool             json, quiet, in_process;
    kd_cli_list      library;
    kd_cosim        *cosim;
    kd_cosim_options options;
    kd_progress      progress;
    char             name[PATH_SIZE / 2], given[PATH_SIZE], table[PATH_SIZE], page[PATH_SIZE], message[20000];
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    kd_cli_option options[] = {
        {"--output", "DIR", "folder of the table and the page; default: results", KD_CLI_TEXT, &t->folder},
        {"--t-end", "T", "end of the run [s]", KD_CLI_POSITIVE, &t->t_end},
        {"--step", "H", "macro step [s]; controlled: the first one", KD_CLI_POSITIVE, &t->step},
        {"--degree", "K", "of the extrapolation of inputs: 0, 1, 2", KD_CLI_TEXT, &t->degree},
        {"--master", "WORD", "jacobi, gauss-seidel, iteration", KD_CLI_TEXT, &t->master},
        {"--control", "WORD", "of the macro step: fixed, extrapolation, halves", KD_CLI_TEXT, &t->control},
        {"--rtol", "R", "tolerance of the coupling", KD_CLI_POSITIVE, &t->rtol},
        {"--jobs", "N", "threads; default: one for each system and processor", KD_CLI_COUNT, &t->jobs},
        {"--in-process", NULL, "trust the FMUs, without processes of their own", KD_CLI_FLAG, &t->in_process},
        {"--fmu-timeout", "S", "for one call of an FMU [s]; default 10", KD_CLI_POSITIVE, &t->timeout},
        {"--library", "DIR", "folder of subsystems that models may use besides their own; repeatable", KD_CLI_LIST,
         &t->library},
        {"--json", NULL, "print everything for programs", KD_CLI_FLAG, &t->json},
        {"--quiet", NULL, "print nothing but errors", KD_CLI_FLAG, &t->quiet},
    };
    static const char *const operand[] = {"SYSTEMS"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan cosimulate SYSTEMS.yaml [options]",
             .about = "Simulate several systems side by side, each with its own integrator, that tell each other at "
                           "communication "
                           "points. Guide: docs/guide/cosimulation.md",
             .details = "Example:\n  kardan cosimulate models/systems/two-masses.yaml --control extrapolation --rtol 1e-5\n",
             .options = options,
             .noptions = (int)(sizeof options / sizeof options[0]),
             .operand_name = operand,
             .operand = &t->file,
             .noperands = 1};
    return kd_cli_parse(&syntax, argc, argv);
}

// What the command line says over the file
static bool set_options(task *t)
{
    kd_cosim_options *o = &t->options;
    const char       *words[8];
    *o = kd_cosim_options_of(t->cosim);
    // numbers that are given replace those of the file
    if (t->t_end > 0) o->t_end = t->t_end;
    if (t->timeout > 0) o->fmu_timeout = t->timeout;
    o->fmu_in_process = t->in_process;
    o->wire = &kd_cli_cosim_wire;
    if (t->step > 0) o->step = t->step;
    if (t->rtol > 0) o->rtol = t->rtol;
    if (t->jobs > 0) o->threads = t->jobs;
    // words are chosen among those that there are, with the nearest one for a mistake
    if (t->degree) {
        static const char *const degrees[] = {"0", "1", "2"};
        const int                i = kd_cli_choose("degree", t->degree, degrees, 3);
        if (i < 0) return false;
        o->degree = i;
    }
    for (int i = 0; i < KD_COSIM_MASTER_COUNT; i++) words[i] = kd_cosim_master_word((kd_cosim_master)i);
    if (t->master) {
        const int i = kd_cli_choose("master", t->master, words, KD_COSIM_MASTER_COUNT);
        if (i < 0) return false;
        o->master = (kd_cosim_master)i;
    }
    for (int i = 0; i < KD_COSIM_CONTROL_COUNT; i++) words[i] = kd_cosim_control_word((kd_cosim_control)i);
    if (t->control) {
        const int i = kd_cli_choose("control", t->control, words, KD_COSIM_CONTROL_COUNT);
        if (i < 0) return false;
        o->control = (kd_cosim_control)i;
    }
    return true;
}

static bool go_on(const kd_cosim_progress *progress, void *context)
{
    task *t = context;
    kd_progress_show(&t->progress, progress->t, progress->steps);
    return !kd_cli_is_interrupted();
}

// ---- what came out --------------------------------------------------------------------------------------------------

static void tell_words(const task *t, const kd_cosim_certificate *z)
{
    printf("%s\n", kd_cosim_title(t->cosim));
    printf("%d systems, %s, degree %d, %s: %ld macro steps to t = %.9g s (%.3g to %.3g s), %ld rejected\n",
           kd_cosim_systems(t->cosim), kd_cosim_master_word(t->options.master), t->options.degree,
           kd_cosim_control_word(t->options.control), z->steps, z->t_end, z->shortest, z->longest, z->rejected);
    if (z->iterations > 0)
        printf("%ld passes of the iteration, %ld interface Jacobians\n", z->iterations, z->jacobians);
    if (z->events > 0) printf("%ld events inside of macro steps were met\n", z->events);
    for (int i = 0; i < z->nchecks; i++)
        printf("%-24s %-13s %s\n", z->check[i].name, kd_check_word(z->check[i].verdict), z->check[i].sentence);
    printf("certificate: %s", z->clean ? "clean" : "not clean");
    for (int i = 0, n = 0; i < z->nchecks; i++)
        if (z->check[i].verdict == KD_CHECK_NOT_SEARCHED)
            printf("%s%s", n++ == 0 ? ", but not searched: " : ", ", z->check[i].name);
    puts("");
}

static void tell_json(const task *t, const kd_cosim_certificate *z)
{
    kd_json json = {.file = stdout};
    kd_json_open(&json, NULL);
    kd_json_text(&json, "title", kd_cosim_title(t->cosim));
    kd_json_text(&json, "file", t->file);
    kd_json_text(&json, "status", kd_status_name(z->status));
    // how it ended, and by which methods
    kd_json_text(&json, "message", t->message);
    kd_json_text(&json, "master", kd_cosim_master_word(t->options.master));
    kd_json_text(&json, "control", kd_cosim_control_word(t->options.control));
    kd_json_count(&json, "degree", t->options.degree);
    kd_json_number(&json, "t_end", z->t_end);
    // the work: macro steps, iterations of loops, events inside of steps
    kd_json_count(&json, "steps", z->steps);
    kd_json_count(&json, "rejected", z->rejected);
    kd_json_count(&json, "iterations", z->iterations);
    kd_json_count(&json, "jacobians", z->jacobians);
    kd_json_count(&json, "loops", z->loops);
    kd_json_count(&json, "events", z->events);
    kd_json_number(&json, "shortest", z->shortest);
    kd_json_number(&json, "longest", z->longest);
    // what the coupling cost: errors of inputs, energy that it made or lost
    kd_json_number(&json, "coupling_error", z->error);
    kd_json_text(&json, "coupling_error_input", z->error_name);
    kd_json_number(&json, "energy_created", z->has_energy ? z->energy : NAN);
    kd_json_number(&json, "energy_lost", z->has_energy ? z->energy_lost : NAN);
    kd_json_number(&json, "energy_passed", z->has_energy ? z->energy_scale : NAN);
    kd_json_bool(&json, "clean", z->clean);
    // each check with its verdict
    kd_json_list(&json, "checks");
    for (int i = 0; i < z->nchecks; i++) {
        kd_json_open(&json, NULL);
        kd_json_text(&json, "name", z->check[i].name);
        kd_json_text(&json, "verdict", kd_check_word(z->check[i].verdict));
        kd_json_number(&json, "figure", z->check[i].figure);
        kd_json_text(&json, "sentence", z->check[i].sentence);
        kd_json_close(&json);
    }
    kd_json_list_close(&json);
    // all channels at the end
    kd_json_open(&json, "end");
    for (int i = 0; i < kd_cosim_channels(t->cosim); i++)
        kd_json_number(&json, kd_cosim_channel(t->cosim, i), kd_cosim_value(t->cosim, i));
    kd_json_close(&json);
    kd_json_number(&json, "wall_seconds", z->wall_seconds);
    kd_json_text(&json, "table", t->table);
    kd_json_text(&json, "report", t->page);
    kd_json_close(&json);
    fputs("\n", stdout);
}

// NAME of DIR/NAME.yaml
static void find_name(task *t)
{
    const char *slash = strrchr(t->file, '/');
    kd_text(t->name, sizeof t->name, "%.2000s", slash ? slash + 1 : t->file);
    char *point = strrchr(t->name, '.');
    if (point && point != t->name) *point = '\0';
}

static bool write_files(task *t)
{
    if (kd_cosim_rows(t->cosim) == 0) return true;
    find_name(t);
    if (!t->folder) t->folder = "results";
    if (kd_cli_make_folder(t->folder, t->given, sizeof t->given) >= 0) {
        kd_text(t->table, sizeof t->table, "%.2000s/%.2000s.cosim.csv", t->folder, t->name);
        kd_text(t->page, sizeof t->page, "%.2000s/%.2000s.cosim.html", t->folder, t->name);
        if (kd_cosim_save_csv(t->cosim, t->table, t->given, sizeof t->given) >= 0 &&
            kd_cosim_save_page(t->cosim, t->page, t->given, sizeof t->given) >= 0)
            return true;
    }
    fprintf(stderr, "kardan: %s\n", t->given);
    return false;
}

static int run(task *t)
{
    static kd_cosim_certificate z; // large
    // the bar follows the end of the last macro step
    kd_progress_start(&t->progress, !t->quiet && !t->json, 0, t->options.t_end);
    t->options.go_on = go_on, t->options.context = t;
    if (kd_cosim_set_options(t->cosim, &t->options, t->message, sizeof t->message) < 0) {
        fprintf(stderr, "kardan: %s\n", t->message);
        return KD_EXIT_USAGE;
    }
    // an interrupted run keeps its rows
    kd_cli_watch_signals();
    const kd_status status = kd_cosim_run(t->cosim, t->message, sizeof t->message);
    kd_progress_end(&t->progress);
    kd_cosim_certify(t->cosim, &z);
    const bool written = write_files(t);
    // words for readers, or one object for programs
    if (status != KD_OK) fprintf(stderr, "kardan: %s\n", t->message);
    if (t->json)
        tell_json(t, &z);
    else if (!t->quiet)
        tell_words(t, &z);
    if (written && !t->json && !t->quiet && t->table[0])
        printf("table:  %s\nreport: %s  (open it in a browser)\n", t->table, t->page);
    if (kd_cli_is_interrupted()) return KD_EXIT_INTERRUPTED;
    return status < 0 || !written ? KD_EXIT_FAILED : KD_EXIT_OK;
}

int kd_cli_cosimulate(int argc, char **argv)
{
    static task t; // of this one command; large
    t = (task){0};
    const kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    char        installed[KD_SUBJECT_PATH];
    const char *library[KD_CLI_LONGEST_LIST + 1];
    const int   n = kd_subject_libraries(&t.library, library, installed);
    if (kd_cosim_read_with(t.file, library, n, &t.cosim, t.message, sizeof t.message) < 0) {
        fprintf(stderr, "%s\n", t.message);
        return KD_EXIT_FAILED;
    }
    const int status = set_options(&t) ? run(&t) : KD_EXIT_USAGE;
    kd_cosim_destroy(t.cosim);
    return status;
}
