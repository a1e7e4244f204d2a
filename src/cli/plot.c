// plot.c: kardan plot: channels of one or several tables of results over time, in one picture.
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/nearest.h"
#include "core/text.h"
#include "math/fourier.h"
#include "report/svg.h"
#include "results/table.h"

enum { MOST_TABLES = 8, MOST_CHANNELS = 24 };

// one picture
typedef struct task {
    const char *first, *output;
    char       *channels, *names; // lists, cut in place
    const char *channel_list, *name_list, *against;
    bool        spectrum;
    double     *numbers; // frequencies and amplitudes of all spectra
    kd_cli_list others;
    kd_table    table[MOST_TABLES];
    const char *name[MOST_TABLES]; // in the legend
    int         ntables;
    const char *channel[MOST_CHANNELS];
    int         nchannels;
    char        message[1000];
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    const kd_cli_option options[] = {
        {"--with", "TABLE", "a further table to compare with, as TABLE behind the first; may be given several times",
         KD_CLI_LIST, &t->others},
        {"--names", "A,B,...", "what the tables are called in the legend", KD_CLI_TEXT, &t->name_list},
        {"--channels", "A,B,...", "columns to plot, one plot each", KD_CLI_TEXT, &t->channel_list},
        {"--against", "CHANNEL", "on the horizontal axis, in place of time (phase plots)", KD_CLI_TEXT, &t->against},
        {"--spectrum", NULL, "amplitudes over frequency", KD_CLI_FLAG, &t->spectrum},
        {"--output", "FILE", "picture to write; without it plot.svg", KD_CLI_TEXT, &t->output},
    };
    static const char *const names[] = {"TABLE"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan plot TABLE [TABLE...] --channels A,B,... [OPTION...]",
             .about =
                 "Draw channels of a table of results (.csv) over its first column, and the same channels of other runs "
                      "on\ntop of them. 'kardan info MODEL --channels' lists the channels.",
             .details = "Examples:\n"
                             "  kardan plot results/quarter-car.csv --channels body,wheel\n"
                             "  kardan plot a/truck.csv b/truck.csv --names passive,active --channels comfort\n"
                             "  kardan plot results/pendulum.csv --channels joint.hinge.v --against joint.hinge.q\n"
                             "  kardan plot results/truck5.csv --channels comfort --spectrum\n",
             .options = options,
             .noptions = sizeof options / sizeof options[0],
             .operand_name = names,
             .operand = &t->first,
             .noperands = 1,
             .further = &options[0],
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// ---- lists ----------------------------------------------------------------------------------------------------------

static char *copy_of(const char *text)
{
    size_t length = strlen(text) + 1;
    char  *copy = malloc(length);
    if (copy) memcpy(copy, text, length);
    return copy;
}

// Words of a list of at most `most`; -1: too many or no memory, told
static int cut_list(const char *text, char **copy, const char **word, int most, const char *what)
{
    int   count = 0;
    char *rest = *copy = copy_of(text), *next;
    if (!rest) {
        fputs("kardan: out of memory\n", stderr);
        return -1;
    }
    while ((next = kd_cli_next_word(&rest)) != NULL) {
        if (count == most) {
            fprintf(stderr, "kardan: more than %d %s\n", most, what);
            return -1;
        }
        word[count++] = next;
    }
    return count;
}

// channels are needed, names fit the tables
static bool cut_lists(task *t)
{
    const char *names[MOST_TABLES];
    int         count = 0;
    if (!t->channel_list) {
        fputs("kardan: which channels? Give --channels A,B,...\n", stderr);
        return false;
    }
    if (t->against && t->spectrum) {
        fputs("kardan: a spectrum is over frequency: --against and --spectrum exclude each other\n", stderr);
        return false;
    }
    t->nchannels = cut_list(t->channel_list, &t->channels, t->channel, MOST_CHANNELS, "channels");
    if (t->nchannels < 0) return false;
    if (t->name_list) count = cut_list(t->name_list, &t->names, names, MOST_TABLES, "names");
    if (count < 0) return false;
    for (int i = 0; i < count; i++) t->name[i] = names[i];
    // as many names as tables, or none
    if (count == 0 || count == 1 + t->others.count) return true;
    fprintf(stderr, "kardan: --names has %d names for %d tables\n", count, 1 + t->others.count);
    return false;
}

// The picture must not take the place of what it shows
static bool check_output(task *t)
{
    if (!t->output) t->output = "plot.svg";
    for (int i = 0; i < 1 + t->others.count; i++) {
        const char *table = i == 0 ? t->first : t->others.word[i - 1];
        if (!kd_cli_is_same_file(table, t->output)) continue;
        fprintf(stderr,
                "kardan: '%s' is a table that is to be drawn; the picture would overwrite it: give --output another "
                "name\n",
                t->output);
        return false;
    }
    return true;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

// a table that was cut off by an interrupted run is still of use
static bool read_tables(task *t)
{
    if (1 + t->others.count > MOST_TABLES) {
        fprintf(stderr, "kardan: more than %d tables\n", MOST_TABLES);
        return false;
    }
    for (int i = 0; i < 1 + t->others.count; i++) {
        const char *path = i == 0 ? t->first : t->others.word[i - 1];
        if (kd_table_read(path, &t->table[i], t->message, sizeof t->message) < 0) {
            fprintf(stderr, "kardan: %s\n", t->message);
            return false;
        }
        t->ntables++;
        if (!t->name[i]) t->name[i] = path;
        if (t->table[i].is_cut)
            fprintf(stderr, "kardan: '%s': the last line is cut off and is left out; %d rows are whole\n", path,
                    t->table[i].nrows);
    }
    return true;
}

static bool find_channel(const task *t, int i, const char *channel)
{
    const kd_table *table = &t->table[i];
    if (kd_table_column(table, channel) >= 0) return true;
    const char *near = kd_nearest_word(channel, table->name, table->ncolumns);
    fprintf(stderr, "kardan: '%s' has no channel '%s'", i == 0 ? t->first : t->others.word[i - 1], channel);
    fprintf(stderr, near ? ", did you mean '%s'?\n" : "\n", near);
    return false;
}

// Every channel in every table
static bool find_channels(const task *t)
{
    for (int i = 0; i < t->ntables; i++) {
        if (t->against && !find_channel(t, i, t->against)) return false;
        for (int j = 0; j < t->nchannels; j++)
            if (!find_channel(t, i, t->channel[j])) return false;
    }
    return true;
}

// ---- spectra --------------------------------------------------------------------------------------------------------
// Spectra of all channels of all tables take the place of their values
static bool make_spectra(task *t, kd_series series[MOST_CHANNELS][MOST_TABLES])
{
    size_t room = 0, most = 0;
    // room for frequencies and amplitudes of all series
    for (int i = 0; i < t->ntables; i++) {
        const int n = kd_spectrum_length(t->table[i].nrows);
        if (n == 0) {
            fprintf(stderr, "kardan: '%s' has %d rows, too few for a spectrum\n", t->name[i], t->table[i].nrows);
            return false;
        }
        room += 2 * (size_t)n * (size_t)t->nchannels;
        most = (size_t)n > most ? (size_t)n : most;
    }
    const size_t scratch = 2 * 2 * (most + 1); // as many complex numbers as there are points
    t->numbers = malloc((room + scratch) * sizeof *t->numbers);
    if (!t->numbers) {
        fputs("kardan: out of memory\n", stderr);
        return false;
    }
    // each series gives way to its spectrum
    double *next = t->numbers + scratch;
    for (int j = 0; j < t->nchannels; j++)
        for (int i = 0; i < t->ntables; i++) {
            kd_series *s = &series[j][i];
            const int  n = kd_spectrum_length(s->n);
            kd_spectrum(s->n, s->x, s->xstride, s->y, s->ystride, t->numbers, next, next + n);
            *s = (kd_series){.name = s->name, .x = next, .y = next + n, .n = n};
            next += 2 * n;
        }
    return true;
}

// ---- the picture ----------------------------------------------------------------------------------------------------

// name with its unit
static void label_of(const kd_table *table, int column, char *text, size_t size)
{
    kd_text(text, size, table->unit[column][0] ? "%s [%s]" : "%s", table->name[column], table->unit[column]);
}

static int draw(task *t)
{
    kd_series series[MOST_CHANNELS][MOST_TABLES] = {0};
    kd_plot   plots[MOST_CHANNELS] = {0};
    char      label[MOST_CHANNELS][200], across[200];
    // over time, the first column, or over another channel
    const int first = t->against ? kd_table_column(&t->table[0], t->against) : 0;
    label_of(&t->table[0], first, across, sizeof across);
    for (int j = 0; j < t->nchannels; j++) {
        int column = kd_table_column(&t->table[0], t->channel[j]);
        // a plot per channel, a line per table
        for (int i = 0; i < t->ntables; i++) {
            const kd_table *table = &t->table[i];
            series[j][i] = (kd_series){.name = t->ntables > 1 ? t->name[i] : NULL,
                                       .x = table->value + (t->against ? kd_table_column(table, t->against) : 0),
                                       .y = table->value + kd_table_column(table, t->channel[j]),
                                       .n = table->nrows,
                                       .xstride = table->ncolumns,
                                       .ystride = table->ncolumns};
        }
        label_of(&t->table[0], column, label[j], sizeof label[j]);
        plots[j] = (kd_plot){.title = j == 0 ? t->table[0].title : NULL,
                             .xlabel = t->spectrum ? "frequency [Hz]" : across,
                             .ylog = t->spectrum,
                             .ylabel = label[j],
                             .nseries = t->ntables,
                             .series = series[j]};
    }
    // amplitudes over frequency take the place of the motion
    if (t->spectrum && !make_spectra(t, series)) return KD_EXIT_FAILED;
    kd_status status = kd_svg_save(t->output, plots, t->nchannels, 1, t->message, sizeof t->message);
    if (status < 0) {
        fprintf(stderr, "kardan: %s\n", t->message);
        return KD_EXIT_FAILED;
    }
    printf("plot:  %s\n", t->output);
    return KD_EXIT_OK;
}

int kd_cli_plot(int argc, char **argv)
{
    // small enough for the stack
    task          t = {0};
    int           status = KD_EXIT_USAGE;
    kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_HELP_SHOWN ? KD_EXIT_OK : KD_EXIT_USAGE;
    if (cut_lists(&t) && check_output(&t)) {
        status = KD_EXIT_FAILED;
        if (read_tables(&t) && find_channels(&t)) status = draw(&t);
    }
    for (int i = 0; i < t.ntables; i++) kd_table_release(&t.table[i]);
    free(t.channels);
    free(t.names);
    free(t.numbers);
    return status;
}
