// record.c: rows of a co-simulation at communication points; table and page.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "cosim/cosim.h"
#include "report/svg.h"
#include "results/csv.h"
#include "results/file.h"

enum { MOST_ROWS = 2000000, MOST_PLOTS = 60 };

// ---- channels -------------------------------------------------------------------------------------------------------

// A channel is an output of a system (connection -1) or an input that is connected
typedef struct channel {
    int system, port, connection;
} channel;

static channel channel_of(const kd_cosim *c, int i)
{
    for (int s = 0; i >= 0 && s < c->nsystems; s++) {
        if (i < c->system[s]->noutputs) return (channel){s, i, -1};
        i -= c->system[s]->noutputs;
    }
    if (i < 0 || i >= c->nconnections) return (channel){-1, -1, -1};
    return (channel){c->connection[i].to, c->connection[i].input, i};
}

int kd_cosim_channels(const kd_cosim *c)
{
    int n = c ? c->nconnections : 0;
    for (int s = 0; c && s < c->nsystems; s++) n += c->system[s]->noutputs;
    return n;
}

const char *kd_cosim_channel(const kd_cosim *c, int i)
{
    return c && i >= 0 && i < c->nchannels ? c->channel_name[i] : "";
}

const char *kd_cosim_unit(const kd_cosim *c, int i)
{
    const channel l = c ? channel_of(c, i) : (channel){-1, -1, -1};
    if (l.system < 0) return "";
    return l.connection < 0 ? c->system[l.system]->output[l.port].unit : c->system[l.system]->input[l.port].unit;
}

int kd_cosim_find(const kd_cosim *c, const char *name)
{
    for (int i = 0; c && name && i < c->nchannels; i++)
        if (strcmp(c->channel_name[i], name) == 0) return i;
    return -1;
}

double kd_cosim_value(const kd_cosim *c, int i)
{
    const channel l = c && c->started ? channel_of(c, i) : (channel){-1, -1, -1};
    if (l.system < 0) return NAN;
    return l.connection < 0 ? c->y[l.system][l.port] : c->w[l.connection];
}

double kd_cosim_read_value(const kd_cosim *c, const char *name)
{
    return kd_cosim_value(c, kd_cosim_find(c, name));
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static kd_status make_room(kd_cosim *c)
{
    if (c->nrows < c->row_room) return KD_OK;
    const int    room = c->row_room > 0 ? 2 * c->row_room : 1024;
    const size_t width = (size_t)c->nchannels + 1;
    double      *rows = room <= MOST_ROWS ? kd_alloc((size_t)room * width * sizeof *rows) : NULL;
    if (!rows) return KD_ERR_MEMORY;
    if (c->nrows > 0) memcpy(rows, c->rows, (size_t)c->nrows * width * sizeof *rows);
    kd_free(c->rows);
    c->rows = rows, c->row_room = room;
    return KD_OK;
}

kd_status kd_cosim_record(kd_cosim *c, bool last)
{
    const double every = c->opt.intervals > 0 ? c->opt.t_end / c->opt.intervals : 0;
    if (!last && c->T < c->next_row * (1 - 1e-12)) return KD_OK;
    if (c->nrows > 0 && c->rows[(size_t)(c->nrows - 1) * ((size_t)c->nchannels + 1)] == c->T) return KD_OK;
    kd_status status = kd_cosim_read_rest(c);
    if (status < 0) return status;
    if ((status = make_room(c)) < 0) {
        kd_text(c->why, sizeof c->why, "no memory for more rows of results; intervals: N keeps fewer");
        return status;
    }
    double *row = c->rows + (size_t)c->nrows++ * ((size_t)c->nchannels + 1);
    row[0] = c->T;
    for (int i = 0; i < c->nchannels; i++) row[1 + i] = kd_cosim_value(c, i);
    while (every > 0 && c->next_row <= c->T * (1 + 1e-12)) c->next_row += every;
    return KD_OK;
}

int kd_cosim_rows(const kd_cosim *c)
{
    return c ? c->nrows : 0;
}

double kd_cosim_row_time(const kd_cosim *c, int row)
{
    return c && row >= 0 && row < c->nrows ? c->rows[(size_t)row * ((size_t)c->nchannels + 1)] : NAN;
}

double kd_cosim_row_value(const kd_cosim *c, int row, int i)
{
    if (!c || row < 0 || row >= c->nrows || i < 0 || i >= c->nchannels) return NAN;
    return c->rows[(size_t)row * ((size_t)c->nchannels + 1) + 1 + (size_t)i];
}

// ---- table ----------------------------------------------------------------------------------------------------------

kd_status kd_cosim_save_csv(kd_cosim *c, const char *path, char *message, size_t size)
{
    kd_csv              *csv;
    kd_cosim_certificate z;
    if (!c || !path) return KD_ERR_ARGUMENT;
    const size_t n = (size_t)c->nchannels + 1;
    const char **names = kd_alloc(2 * n * sizeof *names), **units = names + n;
    kd_status    status = names ? kd_csv_create(path, (int)n, &csv, message, size) : KD_ERR_MEMORY;
    if (status < 0) {
        kd_free(names);
        return status;
    }
    // time first, then the channels
    names[0] = "t", units[0] = "s";
    for (int i = 0; i < c->nchannels; i++) names[1 + i] = kd_cosim_channel(c, i), units[1 + i] = kd_cosim_unit(c, i);
    // the verdict stands in the head of the file
    kd_cosim_certify(c, &z);
    kd_csv_comment(csv, "title", c->title);
    for (int i = 0; i < z.nchecks; i++) kd_csv_comment(csv, z.check[i].name, z.check[i].sentence);
    kd_csv_comment_row(csv, "units", units);
    kd_csv_header(csv, names);
    for (int i = 0; i < c->nrows && status >= 0; i++) status = kd_csv_row(csv, c->rows + (size_t)i * n);
    kd_free(names);
    if (status >= 0) return kd_csv_close(csv, message, size);
    kd_csv_abandon(csv);
    kd_text(message, size, "%s: a value is not a number, or the file cannot be written", path);
    return status;
}

// ---- page -----------------------------------------------------------------------------------------------------------

static const char HEAD[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
    "content=\"width=device-width\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src "
    "'unsafe-inline'\"><style>:root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;max-width:1100px;"
    "margin:2em auto;padding:0 1em}td{padding:.2em .8em;border-bottom:1px solid #8886}table{border-collapse:collapse}"
    "svg{max-width:100%;height:auto;background:#fff}.bad{color:#c00}</style>\n";

static void put_escaped(FILE *f, const char *text)
{
    kd_file_escaped(f, text, 400);
}

static void put_certificate(FILE *f, kd_cosim *c)
{
    kd_cosim_certificate z;
    kd_cosim_certify(c, &z);
    // verdict and statistics in one sentence
    (void)fprintf(
        f,
        "<p>%s: %ld macro steps to t = %.9g s (%.3g to %.3g s), %s, degree %d, %s; %ld rejected, %ld iterations, "
        "%ld events inside of steps.</p>\n<table>",
        z.clean ? "clean" : "<b class=\"bad\">not clean</b>", z.steps, z.t_end, z.shortest, z.longest,
        kd_cosim_master_word(c->opt.master), c->opt.degree, kd_cosim_control_word(c->opt.control), z.rejected,
        z.iterations, z.events);
    // one row for each check
    for (int i = 0; i < z.nchecks; i++) {
        (void)fputs("<tr><td>", f), put_escaped(f, z.check[i].name);
        (void)fprintf(f, "</td><td%s>%s</td><td>", z.check[i].verdict == KD_CHECK_BAD ? " class=\"bad\"" : "",
                      kd_check_word(z.check[i].verdict));
        put_escaped(f, z.check[i].sentence), (void)fputs("</td></tr>\n", f);
    }
    (void)fputs("</table>\n", f);
}

static void put_plots(FILE *f, const kd_cosim *c)
{
    const int stride = c->nchannels + 1;
    for (int i = 0; i < c->nchannels && i < MOST_PLOTS; i++) {
        const kd_series series = {
            .x = c->rows, .y = c->rows + 1 + i, .n = c->nrows, .xstride = stride, .ystride = stride};
        const kd_plot plot = {.title = kd_cosim_channel(c, i),
                              .xlabel = "t [s]",
                              .ylabel = kd_cosim_unit(c, i),
                              .nseries = 1,
                              .series = &series,
                              .width = 520,
                              .height = 260};
        kd_svg_write(f, &plot, 1, 1);
    }
}

kd_status kd_cosim_save_page(kd_cosim *c, const char *path, char *message, size_t size)
{
    FILE     *f;
    kd_status status = c && path ? kd_file_open(path, &f, message, size) : KD_ERR_ARGUMENT;
    if (status < 0) return status;
    (void)fputs(HEAD, f);
    (void)fputs("<title>", f), put_escaped(f, c->title), (void)fputs("</title></head><body><h1>", f),
        put_escaped(f, c->title);
    (void)fputs("</h1>\n", f);
    put_certificate(f, c);
    // who tells whom, with factors other than 1
    (void)fputs("<h2>Connections</h2><table>\n", f);
    for (int k = 0; k < c->nconnections; k++) {
        const kd_connection *l = &c->connection[k];
        char                 text[600];
        kd_text(text, sizeof text, "%.100s.%.100s", c->system[l->from]->name,
                c->system[l->from]->output[l->output].name);
        (void)fputs("<tr><td>", f), put_escaped(f, text), (void)fputs("</td><td>to</td><td>", f);
        kd_text(text, sizeof text, "%.100s.%.100s", c->system[l->to]->name, c->system[l->to]->input[l->input].name);
        put_escaped(f, text);
        (void)fprintf(f, "</td><td>%s%.9g</td></tr>\n", l->factor == 1 ? "" : "times ", l->factor);
    }
    (void)fputs("</table><h2>Channels</h2>\n", f);
    put_plots(f, c);
    (void)fprintf(f, "<p>kardan %s</p></body></html>\n", kd_version());
    return kd_file_close(f, path, message, size);
}
