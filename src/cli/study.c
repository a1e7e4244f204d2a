// study.c: kardan study: many runs of a model by a study file; goes on where it was ended.
#define _POSIX_C_SOURCE 200809L
#include <kardan/study.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/text.h"

enum { PATH_SIZE = 4096, MOST = 200 };

typedef struct task {
    const char          *file, *folder, *row;
    bool                 json, quiet, mpi;
    int                  jobs;
    kd_study_run_options options;
    kd_study            *study;
    bool                 shows; // progress on a terminal
    char                 name[PATH_SIZE / 2], given[PATH_SIZE], message[20000];
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    kd_cli_option options[] = {
        {"--output", "DIR", "folder of the rows, the table and the page; default: results/NAME", KD_CLI_TEXT,
         &t->folder},
        {"--jobs", "N", "threads; default: one for each processor", KD_CLI_COUNT, &t->jobs},
        {"--mpi", NULL,
         "share the rows by MPI; default when mpirun has started several processes and kardan was built with it",
         KD_CLI_FLAG, &t->mpi},
        {"--row", "N", "make this row alone, and its own page", KD_CLI_TEXT, &t->row},
        {"--limit", "T", "a run that takes longer fails [s]", KD_CLI_POSITIVE, &t->options.limit},
        {"--retry", NULL, "make rows that failed again", KD_CLI_FLAG, &t->options.retry},
        {"--fresh", NULL, "remove rows of another study that the folder holds", KD_CLI_FLAG, &t->options.fresh},
        {"--json", NULL, "print what came out as one JSON object", KD_CLI_FLAG, &t->json},
        {"--quiet", NULL, "print nothing but errors", KD_CLI_FLAG, &t->quiet},
    };
    static const char *const names[] = {"STUDY"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan study STUDY.yaml [OPTION...]",
             .about = "Run a model many times: parameters by lists, grids, Latin hypercubes, Sobol's sequence or at random; "
                           "outputs with\n"
                           "means, quantiles, shares and sensitivity indices, each with its 95 % interval. Called again it makes "
                           "only the\n"
                           "rows that are missing. Or find the best parameters (optimise), and those that fit measurements "
                           "(identify). "
                           "Started by\n"
                           "mpirun (or srun), the processes share the rows of a common folder.",
             .details = "Examples:\n"
                             "  kardan study models/studies/quarter-car.yaml\n"
                             "  kardan study models/studies/quarter-car.yaml --row 17\n"
                             "  kardan study models/studies/truck-gains.yaml\n"
                             "  mpirun -n 8 kardan study truck.yaml --output /scratch/truck\n"
                             "\n"
                             "A study file:\n"
                             "  study: comfort of a quarter car\n"
                             "  model: quarter-car.yaml\n"
                             "  run: {t_end: 5}\n"
                             "  parameters:\n"
                             "    k: {range: [1e4, 3e4]}\n"
                             "    c: {normal: [1500, 100]}\n"
                             "  design: {latin: 100, seed: 1}\n"
                             "  outputs:\n"
                             "    comfort: {rms: acceleration, from: 1}\n"
                             "    hard: comfort > 2\n",
             .options = options,
             .noptions = sizeof options / sizeof options[0],
             .operand_name = names,
             .operand = &t->file,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// results/NAME, of the name of the study file
static bool choose_folder(task *t)
{
    const char *slash = strrchr(t->file, '/'), *name = slash ? slash + 1 : t->file, *point = strrchr(name, '.');
    snprintf(t->name, sizeof t->name, "%.*s", point && point > name ? (int)(point - name) : (int)strlen(name), name);
    if (t->folder) return true;
    if (snprintf(t->given, sizeof t->given, "results/%s", t->name) >= (int)sizeof t->given) return false;
    t->folder = t->given;
    return true;
}

static bool show(const kd_study_progress *p, void *context)
{
    const task *t = context;
    if (t->shows) {
        const double left = p->rate > 0 ? (p->rows - p->done) / p->rate : NAN;
        const bool   searches = kd_study_objectives(t->study) > 0; // which end when they have found something
        fprintf(stderr, "\r%d of %s%d rows, %d failed, %.3g per second", p->done, searches ? "at most " : "", p->rows,
                p->failed, p->rate);
        if (isfinite(left) && !searches) fprintf(stderr, ", %.0f s left   ", left);
        fflush(stderr);
    }
    return !kd_cli_is_interrupted();
}

// ---- telling --------------------------------------------------------------------------------------------------------

static void tell_estimate(kd_json *json, const char *name, kd_estimate e)
{
    const double list[] = {e.value, e.low, e.high};
    kd_json_numbers(json, name, list, 3);
}

// A row of a search: parameters, then outputs
static void tell_row_json(const task *t, kd_json *json, const char *name, int row)
{
    double             value[MOST];
    const kd_study_row r = kd_study_row_of(t->study, row);
    if (kd_study_point(t->study, row, value) < 0 || !r.done) return;
    kd_json_open(json, name);
    kd_json_count(json, "row", row);
    for (int i = 0; i < kd_study_parameters(t->study); i++)
        kd_json_number(json, kd_study_parameter(t->study, i), value[i]);
    for (int i = 0; i < kd_study_outputs(t->study); i++)
        kd_json_number(json, kd_study_output(t->study, i), r.output[i]);
    kd_json_close(json);
}

static void tell_searches_json(const task *t, kd_json *json)
{
    const kd_study *s = t->study;
    char            name[300];
    int             converged = 0, row[MOST];
    for (int i = 0; i < kd_study_searches(s); i++) converged += strcmp(kd_study_search_of(s, i).end, "converged") == 0;
    kd_json_count(json, "searches", kd_study_searches(s));
    kd_json_count(json, "converged", converged);
    for (int i = 0; i < kd_study_objectives(s); i++) {
        snprintf(name, sizeof name, "best %s", kd_study_output(s, kd_study_objective(s, i, NULL)));
        tell_row_json(t, json, name, kd_study_best(s, i));
    }
    if (kd_study_objectives(s) < 2) return;
    const int n = kd_study_front(s, row, MOST);
    kd_json_count(json, "front", n);
    for (int i = 0; i < n && i < MOST; i++) {
        snprintf(name, sizeof name, "front %d", i + 1);
        tell_row_json(t, json, name, row[i]);
    }
}

static void tell_json(const task *t)
{
    const kd_study *s = t->study;
    kd_json         json = {.file = stdout};
    int             done = 0, failed = 0;
    // rows that were run
    for (int i = 0; i < kd_study_rows(s); i++) {
        const kd_study_row r = kd_study_row_of(s, i);
        done += r.done, failed += r.done && r.status < 0;
    }
    // counts, then what searches found
    kd_json_open(&json, NULL);
    kd_json_text(&json, "study", kd_study_title(s));
    kd_json_count(&json, "rows", kd_study_rows(s));
    kd_json_count(&json, "done", done);
    kd_json_count(&json, "failed", failed);
    if (kd_study_objectives(s) > 0) tell_searches_json(t, &json);
    // or statistics of each output
    for (int i = 0; i < kd_study_outputs(s) && kd_study_objectives(s) == 0; i++) {
        kd_json_open(&json, kd_study_output(s, i));
        tell_estimate(&json, "mean", kd_study_mean(s, i));
        tell_estimate(&json, "deviation", kd_study_deviation(s, i));
        tell_estimate(&json, "median", kd_study_quantile(s, i, 0.5));
        tell_estimate(&json, "share", kd_study_probability(s, i));
        // effects and indices of each parameter
        for (int j = 0; j < kd_study_parameters(s); j++) {
            char              name[300];
            const kd_estimate first = kd_study_index(s, i, j, false), effect = kd_study_effect(s, i, j);
            if (!isnan(effect.value)) {
                snprintf(name, sizeof name, "effect %s", kd_study_parameter(s, j));
                tell_estimate(&json, name, effect);
                snprintf(name, sizeof name, "effect deviation %s", kd_study_parameter(s, j));
                tell_estimate(&json, name, kd_study_effect_deviation(s, i, j));
            }
            if (isnan(first.value)) continue;
            snprintf(name, sizeof name, "first %s", kd_study_parameter(s, j));
            tell_estimate(&json, name, first);
            snprintf(name, sizeof name, "total %s", kd_study_parameter(s, j));
            tell_estimate(&json, name, kd_study_index(s, i, j, true));
        }
        kd_json_close(&json);
    }
    kd_json_close(&json);
    fputs("\n", stdout);
}

// An end of an interval; "-": it is not known
static const char *end_of(double value, char text[32])
{
    snprintf(text, 32, isnan(value) ? "-" : "%.4g", value);
    return text;
}

static void print_estimate(const char *what, kd_estimate e)
{
    char low[32], high[32];
    if (isnan(e.value)) return;
    printf("  %-24s %12.6g", what, e.value);
    if (!isnan(e.low) || !isnan(e.high)) printf("   95 %%: %s .. %s", end_of(e.low, low), end_of(e.high, high));
    puts("");
}

// ---- the best parameters --------------------------------------------------------------------------------------------

static void print_row(const task *t, int row)
{
    double             value[MOST];
    const kd_study_row r = kd_study_row_of(t->study, row);
    if (kd_study_point(t->study, row, value) < 0 || !r.done) return;
    for (int i = 0; i < kd_study_parameters(t->study); i++)
        printf("  %-24s %14.8g\n", kd_study_parameter(t->study, i), value[i]);
    for (int i = 0; i < kd_study_outputs(t->study); i++)
        printf("  %-24s %14.8g\n", kd_study_output(t->study, i), r.output[i]);
}

static void tell_search(const task *t, int i)
{
    const kd_study       *s = t->study;
    const kd_study_search q = kd_study_search_of(s, i);
    const int             output = kd_study_objective(s, q.objective, NULL);
    printf("  search %-3d %5d runs", i, q.runs);
    if (q.objective >= 0 && q.best >= 0)
        printf("   %s %.8g", kd_study_output(s, output), kd_study_row_of(s, q.best).output[output]);
    if (q.objective < 0) printf("   front");
    printf("   %s%s", q.end, q.best < 0 ? ", no run keeps the constraints" : "");
    if (q.gradient_error > 0.01)
        printf("; derivatives uncertain by %.1g: tighter tolerances (run: {rtol: ..}) help", q.gradient_error);
    puts("");
}

static void tell_front(const task *t)
{
    const kd_study *s = t->study;
    int             row[MOST];
    const int       n = kd_study_front(s, row, MOST), shown = n < MOST ? n : MOST;
    printf("front: %d rows that no other beats in everything%s\n  %8s", n, n > 20 ? ", some of them" : "", "row");
    for (int j = 0; j < kd_study_objectives(s); j++)
        printf(" %16s", kd_study_output(s, kd_study_objective(s, j, NULL)));
    puts("");
    for (int i = 0; i < shown; i += 1 + (shown - 1) / 20) {
        printf("  %8d", row[i]);
        for (int j = 0; j < kd_study_objectives(s); j++)
            printf(" %16.8g", kd_study_row_of(s, row[i]).output[kd_study_objective(s, j, NULL)]);
        puts("");
    }
}

static void tell_searches(const task *t)
{
    const kd_study *s = t->study;
    for (int i = 0; i < kd_study_searches(s); i++) tell_search(t, i);
    for (int i = 0; i < kd_study_objectives(s); i++) {
        bool        largest;
        const int   output = kd_study_objective(s, i, &largest), row = kd_study_best(s, i);
        const char *name = kd_study_output(s, output);
        if (row < 0) {
            printf("%s: no run keeps all constraints\n", name);
            continue;
        }
        printf("%s %s, row %d\n", largest ? "largest" : "smallest", name, row);
        print_row(t, row);
    }
    if (kd_study_objectives(s) > 1) tell_front(t);
}

static void tell_words(const task *t)
{
    const kd_study *s = t->study;
    if (kd_study_objectives(s) > 0) {
        tell_searches(t);
        return;
    }
    for (int i = 0; i < kd_study_outputs(s); i++) {
        printf("%s\n", kd_study_output(s, i));
        print_estimate("mean", kd_study_mean(s, i));
        print_estimate("deviation", kd_study_deviation(s, i));
        print_estimate("5 %", kd_study_quantile(s, i, 0.05));
        print_estimate("median", kd_study_quantile(s, i, 0.5));
        print_estimate("95 %", kd_study_quantile(s, i, 0.95));
        for (int j = 0; j < kd_study_parameters(s); j++) {
            char name[300];
            snprintf(name, sizeof name, "effect of %s", kd_study_parameter(s, j));
            print_estimate(name, kd_study_effect(s, i, j));
            snprintf(name, sizeof name, "  its deviation");
            print_estimate(name, kd_study_effect_deviation(s, i, j));
            snprintf(name, sizeof name, "%s alone", kd_study_parameter(s, j));
            print_estimate(name, kd_study_index(s, i, j, false));
            snprintf(name, sizeof name, "%s in all", kd_study_parameter(s, j));
            print_estimate(name, kd_study_index(s, i, j, true));
        }
    }
}

// ---- parameters from measurements -----------------------------------------------------------------------------------

static void tell_identification(const task *t, const kd_identification *id)
{
    const int n = id->nparameters;
    printf("%d numbers, %d iterations, %d runs; misfit %.3g\n", id->ndata, id->iterations, id->runs, id->misfit);
    for (int i = 0; i < n; i++) {
        printf("  %-24s %14.8g", kd_study_parameter(t->study, i), id->value[i]);
        if (id->determined[i])
            printf("   95 %%: %.6g .. %.6g%s\n", id->low[i], id->high[i],
                   id->at_bound[i] ? "   at the end of its range" : "");
        else
            printf("   not determined by the data\n");
    }
    if (id->undetermined > 0) printf("  of %s the data tell combinations only\n", id->unknown);
    // pairs that are hardly told apart
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (fabs(id->correlation[i * n + j]) > 0.95)
                printf("  %s and %s are correlated by %.3f\n", kd_study_parameter(t->study, j),
                       kd_study_parameter(t->study, i), id->correlation[i * n + j]);
    if (id->gradient_error > 0.01)
        printf("  derivatives are uncertain by %.1g: tighter tolerances (run: {rtol: ..}) help\n", id->gradient_error);
}

static void tell_identification_json(const task *t, const kd_identification *id)
{
    kd_json json = {.file = stdout};
    kd_json_open(&json, NULL);
    kd_json_text(&json, "study", kd_study_title(t->study));
    kd_json_count(&json, "data", id->ndata);
    kd_json_number(&json, "misfit", id->misfit);
    kd_json_text(&json, "undetermined", id->unknown);
    for (int i = 0; i < id->nparameters; i++) {
        kd_json_open(&json, kd_study_parameter(t->study, i));
        kd_json_number(&json, "value", id->value[i]);
        kd_json_number(&json, "deviation", id->deviation[i]);
        kd_json_bool(&json, "determined", id->determined[i]);
        kd_json_numbers(&json, "correlation", id->correlation + i * id->nparameters, id->nparameters);
        kd_json_close(&json);
    }
    kd_json_close(&json);
    fputs("\n", stdout);
}

// ---- command --------------------------------------------------------------------------------------------------------

static int fail(const task *t)
{
    fprintf(stderr, "kardan: %s\n", t->message);
    return KD_EXIT_FAILED;
}

static int identify(task *t)
{
    static kd_identification id; // large
    if (kd_study_identify(t->study, &id, t->message, sizeof t->message) < 0) return fail(t);
    if (t->json)
        tell_identification_json(t, &id);
    else if (!t->quiet)
        tell_identification(t, &id);
    return KD_EXIT_OK;
}

static int repeat_row(task *t)
{
    char         page[PATH_SIZE], *end;
    kd_study_row row;
    double       value[MOST];
    const long   number = strtol(t->row, &end, 10);
    if (*end || end == t->row || number < 0 || number >= kd_study_rows(t->study)) {
        fprintf(stderr, "kardan: --row %s: the study has rows 0 to %d\n", t->row, kd_study_rows(t->study) - 1);
        return KD_EXIT_USAGE;
    }
    if (kd_cli_make_folder(t->folder, t->message, sizeof t->message) < 0) return fail(t);
    // points of a search are what its rows tell
    if (kd_study_objectives(t->study) > 0 && kd_study_load(t->study, t->folder, t->message, sizeof t->message) < 0)
        return fail(t);
    snprintf(page, sizeof page, "%.3900s/row-%ld.html", t->folder, number);
    if (kd_study_repeat(t->study, (int)number, page, &row, t->message, sizeof t->message) < 0) return fail(t);
    if (kd_study_point(t->study, (int)number, value) < 0) return KD_EXIT_FAILED;
    for (int i = 0; i < kd_study_parameters(t->study); i++)
        printf("  %-24s %.17g\n", kd_study_parameter(t->study, i), value[i]);
    for (int i = 0; i < kd_study_outputs(t->study); i++)
        printf("  %-24s %.17g\n", kd_study_output(t->study, i), row.output[i]);
    printf("  %s%s%s\n", kd_status_name(row.status),
           row.reason[0] ? ": "
           : row.clean   ? ", clean"
                         : ", not clean",
           row.reason);
    if (access(page, F_OK) == 0) printf("page:   %s\n", page);
    return row.status < 0 ? KD_EXIT_FAILED : KD_EXIT_OK;
}

// Only the first of several processes writes
static bool is_first(void)
{
    static const char *const RANK[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (int i = 0; i < 3; i++)
        if (getenv(RANK[i]) && atoi(getenv(RANK[i])) > 0) return false;
    return true;
}

// Has OpenMPI's mpirun started several processes?
static bool is_of_mpirun(void)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    return size && atoi(size) > 1;
}

// Pages of the runs that the study file asks for, or that the page of the study refers to
static bool write_row_pages(task *t)
{
    int       row[MOST];
    const int n = kd_study_reports(t->study, row, MOST);
    for (int i = 0; i < n && i < MOST; i++) {
        char         page[PATH_SIZE];
        kd_study_row again;
        snprintf(page, sizeof page, "%.3900s/row-%d.html", t->folder, row[i]);
        if (access(page, F_OK) != 0 &&
            kd_study_repeat(t->study, row[i], page, &again, t->message, sizeof t->message) < 0)
            return false;
    }
    if (n > MOST) fprintf(stderr, "kardan: pages of the first %d of %d rows were written\n", MOST, n);
    return true;
}

static int write_files(task *t)
{
    char table[PATH_SIZE], page[PATH_SIZE], hdf5[PATH_SIZE];
    snprintf(table, sizeof table, "%.3900s/table.csv", t->folder);
    snprintf(page, sizeof page, "%.3900s/study.html", t->folder);
    snprintf(hdf5, sizeof hdf5, "%.3900s/table.h5", t->folder);
    if (kd_study_save_csv(t->study, table, t->message, sizeof t->message) < 0 || !write_row_pages(t) ||
        kd_study_save_page(t->study, page, t->message, sizeof t->message) < 0)
        return fail(t);
    // beside it in HDF5, where that is built in
    const kd_status status = kd_study_save_hdf5(t->study, hdf5, t->message, sizeof t->message);
    if (status < 0 && status != KD_ERR_UNAVAILABLE) return fail(t);
    if (t->json)
        tell_json(t);
    else if (!t->quiet)
        tell_words(t), printf("table:  %s%s%s\nreport: %s  (open it in a browser)\n", table, status >= 0 ? ", " : "",
                              status >= 0 ? hdf5 : "", page);
    return KD_EXIT_OK;
}

static int run(task *t)
{
    if (kd_cli_make_folder(t->folder, t->message, sizeof t->message) < 0) return fail(t);
    t->options.folder = t->folder;
    t->options.threads = t->jobs;
    t->options.go_on = show, t->options.context = t;
    t->shows = !t->quiet && !t->json && isatty(STDERR_FILENO) && is_first();
    t->options.mpi = t->mpi || is_of_mpirun();
    kd_cli_watch_signals();
    kd_status status = kd_study_run(t->study, &t->options, t->message, sizeof t->message);
    if (status == KD_ERR_UNAVAILABLE && t->options.mpi && !t->mpi && !kd_study_has_mpi(NULL, 0)) {
        // what mpirun started can share the folder without MPI, and says so
        if (is_first()) fprintf(stderr, "kardan: %s; the processes share the rows through the folder\n", t->message);
        t->options.mpi = false;
        status = kd_study_run(t->study, &t->options, t->message, sizeof t->message);
    }
    if (t->shows) fputs("\n", stderr);
    if (status < 0) return fail(t);
    if (!is_first()) return KD_EXIT_OK;
    if (status == KD_STOPPED) {
        fprintf(stderr, "kardan: the study was interrupted; called again it goes on\n");
        return KD_EXIT_INTERRUPTED;
    }
    return write_files(t);
}

int kd_cli_study(int argc, char **argv)
{
    static task t; // of this one command; large
    t = (task){.options = kd_study_run_options_default()};
    const kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    if (!choose_folder(&t)) return KD_EXIT_FAILED;
    if (kd_study_read(t.file, &t.study, t.message, sizeof t.message) < 0) {
        fprintf(stderr, "%s\n", t.message);
        return KD_EXIT_FAILED;
    }
    const int status = t.row ? repeat_row(&t) : kd_study_identifies(t.study) ? identify(&t) : run(&t);
    kd_study_destroy(t.study);
    return status;
}
