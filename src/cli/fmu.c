// fmu.c: kardan fmu: what is in an FMU, what is wrong with it, and a run of it.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/budget.h"
#include "cli/cli.h"
#include "core/load.h"
#include "core/memory.h"
#include "core/shortest.h"
#include "core/text.h"
#include "fmi/guest_run.h"

enum { COLUMNS = 400, TABLE_BYTES = 1 << 26, CELL = 3000 };

typedef struct task {
    const char *operand[2];
    const char *kind, *output, *input;
    kd_cli_list settings;
    double      stop, step, tolerance, timeout;
    bool        in_process;
    kd_fmu_file fmu;
    int         findings;
    // of a run
    FILE                  *file;
    const kd_fmi_variable *column[COLUMNS]; // that are written
    int                    ncolumns;
    const kd_fmi_variable *lost; // the first that is no number; NULL: none
    double                 lost_time;
    char                  *table; // of inputs
    char                 **row;   // (nrows) lines behind the first
    int                    nrows;
    const kd_fmi_variable *fed[COLUMNS];
    int                    nfed;
    char                   message[2000];
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    kd_cli_option options[] = {
        {"--kind", "K", "simulate: cs (co-simulation) or me (model exchange); default: what it has, cs first",
         KD_CLI_TEXT, &t->kind},
        {"--stop", "T", "simulate: end [s]; default: as its description says, or 1", KD_CLI_POSITIVE, &t->stop},
        {"--step", "H", "simulate: communication step, rows of the table [s]; default: as its description says",
         KD_CLI_POSITIVE, &t->step},
        {"--tolerance", "R", "simulate: of model exchange, told to the FMU; default: as its description says",
         KD_CLI_POSITIVE, &t->tolerance},
        {"--set", "NAME=VALUE", "simulate: start value of a parameter or input; repeatable", KD_CLI_LIST, &t->settings},
        {"--input", "FILE", "simulate: inputs as comma-separated values with the time first, held until the next row",
         KD_CLI_TEXT, &t->input},
        {"--output", "FILE", "simulate: outputs as comma-separated values; default: standard output", KD_CLI_TEXT,
         &t->output},
        {"--timeout", "S", "simulate, check: for one call of the FMU [s]; default 10", KD_CLI_POSITIVE, &t->timeout},
        {"--in-process", NULL, "simulate, check: trust it, without a process of its own", KD_CLI_FLAG, &t->in_process},
    };
    static const char *const names[] = {"ACTION", "FILE"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan fmu info|check|simulate FILE [OPTION...]",
             .about = "info: what is in the FMU of FILE. check: what breaks the rules of FMI 2.0 or 3.0, in words, and "
                           "whether it can be\n"
                           "instantiated and initialised. simulate: run it from its start and write its outputs. The FMU is "
                           "loaded in a process\n"
                           "of its own, so that a crash or a hang of it is a message.",
             .details = "Exit status of check: 0 nothing is wrong, 1 something is.\n\n"
                             "Examples:\n"
                             "  kardan fmu info BouncingBall.fmu\n"
                             "  kardan fmu check BouncingBall.fmu\n"
                             "  kardan fmu simulate BouncingBall.fmu --kind me --tolerance 1e-10 --output ball.csv\n"
                             "  kardan fmu simulate controller.fmu --set gain=2 --input signals.csv\n",
             .options = options,
             .noptions = sizeof options / sizeof options[0],
             .operand_name = names,
             .operand = t->operand,
             .noperands = 2,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

static int fail(const char *text)
{
    fprintf(stderr, "kardan: %s\n", text);
    return KD_EXIT_FAILED;
}

static void tell_finding(int line, bool fatal, const char *sentence, void *context)
{
    task *t = context;
    t->findings++;
    (void)fatal;
    if (strcmp(t->operand[0], "check") != 0) return;
    if (line > 0)
        printf("modelDescription.xml:%d: %s\n", line, sentence);
    else
        printf("%s\n", sentence);
}

// ---- info -----------------------------------------------------------------------------------------------------------

static void list_variables(const kd_fmi_description *d, kd_causality causality)
{
    for (int i = 0; i < d->nvariables; i++) {
        const kd_fmi_variable *v = d->variable + i;
        if (v->causality != causality) continue;
        printf("  %-12s %-40s %s%s%s%s%s%s\n", kd_causality_word(causality), v->name, kd_fmi_type_word(v->type),
               v->is_array ? " array" : "", v->unit ? " " : "", v->unit ? v->unit : "", v->start ? " = " : "",
               v->start ? v->start : "");
    }
}

static int print_info(const task *t)
{
    const kd_fmi_description *d = &t->fmu.about;
    int                       locals = 0;
    char                      name[600];
    printf("%s%s%s\n", d->name ? d->name : "", d->about ? ": " : "", d->about ? d->about : "");
    printf("  FMI %d.0%s%s%s\n", d->version, d->exchange.identifier ? ", model exchange" : "",
           d->cosimulation.identifier ? ", co-simulation" : "", d->scheduled ? ", scheduled execution" : "");
    // what the description tells of its run
    if (d->tool) printf("  made by %s\n", d->tool);
    if (d->has_stop) printf("  from %g to %g s", d->t_start, d->t_stop);
    if (d->has_stop) printf(d->has_step ? ", step %g s\n" : "\n", d->step);
    printf("  %d states, %d event indicators\n", d->nstates, d->nindicators);
    // abilities, of the interface that a run would use
    const kd_fmi_interface *any = d->cosimulation.identifier ? &d->cosimulation : &d->exchange;
    printf("  states can %sbe saved%s; directional derivatives: %s\n", any->saves ? "" : "not ",
           any->serialises ? " and serialised" : "", any->directional ? "yes" : "no");
    const bool here =
        kd_fmu_file_binary(&t->fmu, true, name, sizeof name) || kd_fmu_file_binary(&t->fmu, false, name, sizeof name);
    printf("  %s\n", here ? "runs on this machine" : "has no binary for this machine");
    // variables that others see; the rest is counted
    for (int c = 0; c < KD_CAUSALITY_COUNT; c++)
        if (c != KD_CAUSALITY_LOCAL && c != KD_CAUSALITY_INDEPENDENT) list_variables(d, (kd_causality)c);
    for (int i = 0; i < d->nvariables; i++) locals += d->variable[i].causality == KD_CAUSALITY_LOCAL;
    printf("  %d local variables\n", locals);
    if (t->findings > 0) printf("  %d rules of the standard are broken: kardan fmu check\n", t->findings);
    return KD_EXIT_OK;
}

// ---- a run ----------------------------------------------------------------------------------------------------------

static const kd_fmi_variable *find_variable(const task *t, const char *name)
{
    for (int i = 0; i < t->fmu.about.nvariables; i++)
        if (strcmp(t->fmu.about.variable[i].name, name) == 0) return t->fmu.about.variable + i;
    return NULL;
}

static void put_cell(FILE *file, const char *text)
{
    if (!strpbrk(text, ",\"\n")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++) fprintf(file, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', file);
}

// A real number that is none
static bool is_lost(const kd_fmi_variable *v, const char *cell)
{
    return (v->type == KD_FMI_FLOAT32 || v->type == KD_FMI_FLOAT64) && !v->is_array && !isfinite(strtod(cell, NULL));
}

static kd_status show(double time, kd_guest *guest, void *context)
{
    task     *t = context;
    char      cell[CELL];
    kd_status status = KD_OK;
    fputs(kd_shortest_text(time, cell), t->file);
    for (int i = 0; i < t->ncolumns && status >= 0; i++) {
        status = kd_guest_get_text(guest, t->column[i], cell, sizeof cell);
        fputc(',', t->file);
        if (status >= 0) put_cell(t->file, cell);
        if (status >= 0 && !t->lost && is_lost(t->column[i], cell)) {
            t->lost = t->column[i];
            t->lost_time = time;
        }
    }
    fputc('\n', t->file);
    return status;
}

// The row of the table that holds at t, once
static kd_status feed(double time, kd_guest *guest, void *context)
{
    task       *t = context;
    const char *line = NULL;
    for (int i = 0; i < t->nrows; i++)
        if (strtod(t->row[i], NULL) <= time + 1e-12 * fabs(time)) line = t->row[i];
    for (int i = 0; i < t->nfed && line; i++) {
        char cell[CELL];
        line = strchr(line, ',');
        if (!line) break;
        line++;
        kd_text(cell, sizeof cell, "%.*s", (int)strcspn(line, ",\r\n"), line);
        const kd_status status = kd_guest_set_text(guest, t->fed[i], cell);
        if (status < 0) return status;
    }
    return KD_OK;
}

// Columns by names of inputs; unknown ones are refused, so that nothing is half applied
static bool read_table(task *t)
{
    size_t length;
    if (kd_load_file(t->input, TABLE_BYTES, &t->table, &length, t->message, sizeof t->message) < 0) return false;
    // lines are cut in place: one piece of memory for all of them
    int lines = 0;
    for (const char *c = t->table; *c; c++) lines += *c == '\n';
    t->row = kd_alloc(((size_t)lines + 2) * sizeof *t->row);
    char *save = NULL, *head = strtok_r(t->table, "\n", &save), *words = NULL;
    if (!t->row || !head) return false;
    for (char *line = strtok_r(NULL, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) t->row[t->nrows++] = line;
    head[strcspn(head, "\r")] = '\0';
    // names of columns; the first one is time, names in quotes lose these
    int column = 0;
    for (char *word = strtok_r(head, ",", &words); word; word = strtok_r(NULL, ",", &words), column++) {
        if (column == 0) continue;
        const size_t n = strlen(word);
        if (n > 1 && word[0] == '"' && word[n - 1] == '"') word[n - 1] = '\0', word++;
        const kd_fmi_variable *v = find_variable(t, word);
        if (!v || v->causality != KD_CAUSALITY_INPUT || t->nfed == COLUMNS) {
            kd_text(t->message, sizeof t->message, "%s: '%.100s' is no input of the FMU", t->input, word);
            return false;
        }
        t->fed[t->nfed++] = v;
    }
    return true;
}

static kd_status set_values(task *t, kd_guest *guest)
{
    for (int i = 0; i < t->settings.count; i++) {
        char        name[400];
        const char *equals = strrchr(t->settings.word[i], '=');
        kd_text(name, sizeof name, "%.*s", equals ? (int)(equals - t->settings.word[i]) : 0, t->settings.word[i]);
        const kd_fmi_variable *v = equals ? find_variable(t, name) : NULL;
        if (!v) {
            kd_text(t->message, sizeof t->message, "--set %s: there is no such variable", t->settings.word[i]);
            return KD_ERR_ARGUMENT;
        }
        const kd_status status = kd_guest_set_text(guest, v, equals + 1);
        if (status < 0) return status;
    }
    return KD_OK;
}

static bool is_exchange(const task *t)
{
    return t->kind ? strcmp(t->kind, "me") == 0 : !t->fmu.about.cosimulation.identifier;
}

static kd_status open_guest(task *t, bool exchange, kd_guest **guest)
{
    kd_guest_options options = kd_guest_options_default();
    options.exchange = exchange;
    options.in_process = t->in_process;
    if (t->timeout > 0) options.timeout = t->timeout;
    options.memory = kd_budget_left();
    return kd_guest_open(&t->fmu, &options, guest, t->message, sizeof t->message);
}

static void choose_columns(task *t)
{
    const kd_fmi_description *d = &t->fmu.about;
    fputs("time", t->file);
    for (int i = 0; i < d->nvariables && t->ncolumns < COLUMNS; i++) {
        const kd_fmi_variable *v = d->variable + i;
        if (v->causality != KD_CAUSALITY_OUTPUT || v->is_array || v->type == KD_FMI_CLOCK) continue;
        t->column[t->ncolumns++] = v;
        fputc(',', t->file);
        put_cell(t->file, v->name);
    }
    fputc('\n', t->file);
}

static int simulate(task *t)
{
    const kd_fmi_description *d = &t->fmu.about;
    kd_guest                 *guest = NULL;
    const bool                exchange = is_exchange(t);
    kd_guest_run              run = {.t_start = d->has_start ? d->t_start : 0, .show = show, .context = t};
    // times and tolerance: of the command line, of the description, or usual ones
    run.t_stop = t->stop > 0 ? t->stop : d->has_stop ? d->t_stop : run.t_start + 1;
    run.step = t->step > 0 ? t->step : d->has_step ? d->step : (run.t_stop - run.t_start) / 500;
    run.tolerance = t->tolerance > 0 ? t->tolerance : d->has_tolerance ? d->tolerance : 0;
    if (!(run.t_stop > run.t_start) || (run.t_stop - run.t_start) / run.step > 1e8)
        return fail("the end is not behind the start, or the steps are too many");
    if (t->input && !read_table(t)) return fail(t->message);
    if (t->input) run.feed = feed;
    // rows are written while it runs
    t->file = t->output ? fopen(t->output, "w") : stdout;
    if (!t->file) return fail("the table cannot be written");
    kd_status status = open_guest(t, exchange, &guest);
    if (status >= 0) {
        status = set_values(t, guest);
        choose_columns(t);
        if (status >= 0) status = kd_guest_run_all(guest, exchange, &run);
        if (status < 0 && !t->message[0]) kd_text(t->message, sizeof t->message, "%s", kd_guest_message(guest));
        if (status < 0 && !t->message[0]) kd_text(t->message, sizeof t->message, "%s", kd_status_sentence(status));
    }
    kd_guest_close(guest);
    if (t->output && fclose(t->file) != 0) status = KD_ERR_FILE;
    // a table with values that are no numbers is no result
    if (status >= 0 && t->lost) {
        kd_text(t->message, sizeof t->message, "the FMU: %.200s is no finite number from t = %.9g s on", t->lost->name,
                t->lost_time);
        return fail(t->message);
    }
    return status < 0 ? fail(t->message) : KD_EXIT_OK;
}

// ---- check ----------------------------------------------------------------------------------------------------------

// Can it be instantiated and initialised, in all that it has?
static void try_it(task *t)
{
    for (int exchange = 0; exchange < 2; exchange++) {
        kd_guest *guest = NULL;
        char      name[600];
        if (!kd_fmu_file_binary(&t->fmu, exchange, name, sizeof name)) continue;
        t->message[0] = '\0';
        kd_status status = open_guest(t, exchange, &guest);
        if (status >= 0) status = kd_guest_begin(guest, t->fmu.about.t_start, HUGE_VAL, 0);
        if (status >= 0) status = kd_guest_finish(guest);
        if (status < 0) {
            t->findings++;
            printf("%s: %s\n", exchange ? "model exchange" : "co-simulation",
                   t->message[0] ? t->message : kd_guest_message(guest));
        }
        kd_guest_close(guest);
    }
}

int kd_cli_fmu(int argc, char **argv)
{
    static const char *const ACTIONS[] = {"info", "check", "simulate"};
    static task              t;
    t = (task){0};
    const kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    const int action = kd_cli_choose("action", t.operand[0], ACTIONS, 3);
    if (action < 0) return KD_EXIT_USAGE;
    if (t.kind && strcmp(t.kind, "me") != 0 && strcmp(t.kind, "cs") != 0) {
        fprintf(stderr, "kardan: --kind wants cs or me, not '%s'\n", t.kind);
        return KD_EXIT_USAGE;
    }
    // the archive is open before any action
    if (kd_fmu_file_open(&t.fmu, t.operand[1], tell_finding, &t, t.message, sizeof t.message) < 0)
        return fail(t.message);
    int answer = KD_EXIT_OK;
    if (action == 0) answer = print_info(&t);
    if (action == 1) {
        try_it(&t);
        printf(t.findings == 0 ? "%s: nothing is wrong\n" : "%s: see above\n", t.operand[1]);
        answer = t.findings > 0 ? KD_EXIT_FAILED : KD_EXIT_OK;
    }
    if (action == 2) answer = simulate(&t);
    kd_free(t.table);
    kd_free(t.row);
    kd_fmu_file_close(&t.fmu);
    return answer;
}
