// rainflow.c: kardan rainflow: load cycles of channels of a table of results, and their damage by Woehler lines.
#include <kardan/rainflow.h>
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "core/read_number.h"
#include "results/csv.h"
#include "results/table.h"

enum { MOST_LINES = 8, USUAL_ROWS = 20 };

typedef struct task {
    const char *path, *output;
    kd_cli_list channels, lines;
    bool        repeated, json;
    int         classes, most_rows;
    kd_woehler  line[MOST_LINES];
    kd_table    table;
    kd_cycle   *cycle; // of one channel: (nrows), then (classes)
    char        message[1000];
} task;

// Cycles of one channel, as they are shown
typedef struct count {
    const char     *channel, *unit;
    double          whole, half; // numbers of cycles
    const kd_cycle *row;
    int             nrows;
    double          damage[MOST_LINES];
} count;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    const kd_cli_option options[] = {
        {"--channel", "NAME", "a column of the table; may be given several times", KD_CLI_LIST, &t->channels},
        {"--woehler", "K:N0:S0[:K2]",
         "damage by N = N0 (S/S0)^-K, S: range; below S0 with K2 ('none': no damage), left out: K; several times",
         KD_CLI_LIST, &t->lines},
        {"--repeated", NULL, "the history is repeated many times: whole cycles only", KD_CLI_FLAG, &t->repeated},
        {"--classes", "N", "ranges in N equal classes", KD_CLI_COUNT, &t->classes},
        {"--rows", "N", "rows that are printed at most; without it 20", KD_CLI_COUNT, &t->most_rows},
        {"--output", "FILE", "write all rows of one channel there (.csv)", KD_CLI_TEXT, &t->output},
        {"--json", NULL, "counts as JSON on standard output", KD_CLI_FLAG, &t->json},
    };
    static const char *const names[] = {"TABLE"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan rainflow TABLE --channel NAME [OPTION...]",
             .about = "Count load cycles of channels of a table of results (.csv) by the rainflow method of ASTM E1049, and "
                           "sum\nup their damage by Miner's rule.",
             .details = "Examples:\n"
                             "  kardan rainflow results/quarter-car.csv --channel wheel-load\n"
                             "  kardan rainflow results/quarter-car.csv --channel wheel-load --classes 16 --output counts.csv\n"
                             "  kardan rainflow results/quarter-car.csv --channel wheel-load --woehler 5:2e6:20000:9\n",
             .options = options,
             .noptions = sizeof options / sizeof options[0],
             .operand_name = names,
             .operand = &t->path,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// ---- what is asked for ----------------------------------------------------------------------------------------------

// K:N0:S0[:K2]
static bool read_line(const char *text, kd_woehler *line)
{
    double      value[4] = {0, 0, 0, 0};
    int         n = 0;
    const char *rest = text;
    for (char *end; n < 4; n++) {
        // the last number may be a word
        if (n == 3 && strcmp(rest, "none") == 0) {
            value[n] = INFINITY;
            end = (char *)rest + strlen(rest);
        } else {
            value[n] = kd_read_number(rest, &end);
            if (end == rest || !isfinite(value[n])) return false;
        }
        rest = end;
        if (*rest != ':') break;
        rest++;
    }
    *line = (kd_woehler){
        .slope = value[0], .cycles = value[1], .range = value[2], .slope_below = n == 3 ? value[3] : value[0]};
    return *rest == '\0' && (n == 2 || n == 3) && kd_woehler_is_valid(line);
}

static bool read_lines(task *t)
{
    if (t->lines.count > MOST_LINES) {
        fprintf(stderr, "kardan: more than %d Woehler lines\n", MOST_LINES);
        return false;
    }
    for (int i = 0; i < t->lines.count; i++)
        if (!read_line(t->lines.word[i], &t->line[i])) {
            fprintf(stderr,
                    "kardan: --woehler '%s' is not K:N0:S0 or K:N0:S0:K2 with numbers above 0, as in 5:2e6:80e6:9\n",
                    t->lines.word[i]);
            return false;
        }
    return true;
}

static bool check_arguments(task *t)
{
    if (t->channels.count == 0) {
        fputs("kardan: which channel? Give --channel NAME\n", stderr);
        return false;
    }
    if (t->output && t->channels.count > 1) {
        fputs("kardan: --output writes the rows of one channel\n", stderr);
        return false;
    }
    if (t->output && kd_cli_is_same_file(t->path, t->output)) {
        fprintf(stderr, "kardan: '%s' is the table itself: give --output another name\n", t->output);
        return false;
    }
    return read_lines(t);
}

// ---- one channel ----------------------------------------------------------------------------------------------------

// All of them, before anything is printed
static bool find_channels(const task *t)
{
    for (int i = 0; i < t->channels.count; i++) {
        const char *channel = t->channels.word[i];
        if (kd_table_column(&t->table, channel) >= 0) continue;
        const char *near = kd_nearest_word(channel, t->table.name, t->table.ncolumns);
        fprintf(stderr, "kardan: '%s' has no channel '%s'", t->path, channel);
        fprintf(stderr, near ? ", did you mean '%s'?\n" : "\n", near);
        return false;
    }
    return true;
}

static bool count_channel(task *t, const char *channel, count *c)
{
    const kd_table  *table = &t->table;
    const kd_history history = t->repeated ? KD_HISTORY_REPEATED : KD_HISTORY_ONCE;
    int              n;
    const int        column = kd_table_column(table, channel);
    const kd_status  status = kd_rainflow(table->nrows, table->value + column, table->ncolumns, history, t->cycle, &n);
    if (status < 0) {
        fprintf(stderr, "kardan: '%s': %s\n", channel, kd_status_sentence(status));
        return false;
    }
    *c = (count){.channel = channel, .unit = table->unit[column]};
    for (int i = 0; i < n; i++) *(t->cycle[i].count == 1 ? &c->whole : &c->half) += 1;
    // damage is that of the cycles themselves, also where classes are shown
    for (int i = 0; i < t->lines.count; i++) c->damage[i] = kd_miner_sum(&t->line[i], t->cycle, n);
    c->row = t->cycle;
    c->nrows = t->classes > 0 ? t->classes : kd_cycles_sort(t->cycle, n);
    if (t->classes > 0) {
        kd_cycles_classify(t->cycle, n, t->classes, t->cycle + table->nrows);
        c->row = t->cycle + table->nrows;
    }
    return true;
}

// ---- telling --------------------------------------------------------------------------------------------------------

static void tell_words(const task *t, const count *c)
{
    const int most = t->most_rows > 0 ? t->most_rows : USUAL_ROWS;
    printf("channel     %s", c->channel);
    if (c->unit[0]) printf(" [%s]", c->unit);
    printf(", %d values\ncycles      %.0f whole", t->table.nrows, c->whole);
    printf(t->repeated ? ", of each repetition\n" : ", %.0f half\n", c->half);
    printf("%14s %14s %10s\n", t->classes > 0 ? "range up to" : "range", "mean", "count");
    for (int i = 0; i < c->nrows && i < most; i++)
        printf("%14.6g %14.6g %10.1f\n", c->row[i].range, c->row[i].mean, c->row[i].count);
    if (c->nrows > most) printf("            ... and %d rows with smaller ranges\n", c->nrows - most);
    for (int i = 0; i < t->lines.count; i++) {
        printf("damage      %.6g by %s", c->damage[i], t->lines.word[i]);
        if (c->damage[i] > 0) printf(": 1 after %.4g times this history", 1 / c->damage[i]);
        fputs("\n", stdout);
    }
}

static void tell_json(const task *t, const count *c, kd_json *json)
{
    kd_json_open(json, NULL);
    kd_json_text(json, "channel", c->channel);
    kd_json_text(json, "unit", c->unit);
    kd_json_number(json, "whole_cycles", c->whole);
    kd_json_number(json, "half_cycles", c->half);
    kd_json_list(json, "cycles");
    for (int i = 0; i < c->nrows; i++) {
        kd_json_open(json, NULL);
        kd_json_number(json, "range", c->row[i].range);
        kd_json_number(json, "mean", c->row[i].mean);
        kd_json_number(json, "count", c->row[i].count);
        kd_json_close(json);
    }
    kd_json_list_close(json);
    kd_json_numbers(json, "damage", c->damage, t->lines.count);
    kd_json_close(json);
}

static bool write_rows(task *t, const count *c)
{
    static const char *const names[] = {"range", "mean", "count"};
    const char *const        units[] = {c->unit, c->unit, ""};
    kd_csv                  *csv;
    kd_status                status = kd_csv_create(t->output, 3, &csv, t->message, sizeof t->message);
    if (status < 0) goto failed;
    kd_csv_comment(csv, "rainflow counts of", c->channel);
    kd_csv_comment(csv, "table", t->path);
    kd_csv_comment_row(csv, "units", units);
    kd_csv_header(csv, names);
    for (int i = 0; i < c->nrows && status >= 0; i++)
        status = kd_csv_row(csv, (double[]){c->row[i].range, c->row[i].mean, c->row[i].count});
    status = kd_csv_close(csv, t->message, sizeof t->message);
    if (status >= 0) return true;
failed:
    fprintf(stderr, "kardan: %s\n", t->message);
    return false;
}

static bool tell_channels(task *t)
{
    kd_json json = {.file = stdout};
    bool    good = true;
    if (t->json) {
        kd_json_open(&json, NULL);
        kd_json_list(&json, "channels");
    }
    for (int i = 0; i < t->channels.count && good; i++) {
        count c;
        good = count_channel(t, t->channels.word[i], &c);
        if (!good) break;
        if (t->json)
            tell_json(t, &c, &json);
        else
            tell_words(t, &c);
        good = !t->output || write_rows(t, &c);
    }
    if (t->json) {
        kd_json_list_close(&json);
        kd_json_close(&json);
        fputs("\n", stdout);
    }
    return good;
}

int kd_cli_rainflow(int argc, char **argv)
{
    task                t = {0};
    int                 status = KD_EXIT_FAILED;
    const kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    if (!check_arguments(&t)) return KD_EXIT_USAGE;
    if (kd_table_read(t.path, &t.table, t.message, sizeof t.message) < 0) {
        fprintf(stderr, "kardan: %s\n", t.message);
        goto done;
    }
    if (t.table.is_cut)
        fprintf(stderr, "kardan: '%s': the last line is cut off and is left out; %d rows are whole\n", t.path,
                t.table.nrows);
    t.cycle = kd_alloc(((size_t)t.table.nrows + (size_t)t.classes + 1) * sizeof *t.cycle);
    if (!t.cycle)
        fputs("kardan: out of memory\n", stderr);
    else if (find_channels(&t) && tell_channels(&t))
        status = KD_EXIT_OK;
done:
    kd_free(t.cycle);
    kd_table_release(&t.table);
    return status;
}
