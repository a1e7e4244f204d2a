// result.c: the statistics of a run as a list, and its table.
#define _POSIX_C_SOURCE 200809L
#include "results/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/rounded.h"
#include "core/text.h"
#include "results/csv.h"
#include "results/file.h"
#include "results/running.h"

enum { CERTIFICATE_TEXT = 16000 };

kd_statistic kd_result_statistic(const kd_certificate *c, int i)
{
    const kd_stats *s = &c->stats;
    // #fc, #fcw, #Je, #updates: the columns of S0's tables
    const double       calls = (double)(s->residuals + s->for_differences);
    const kd_statistic list[KD_STATISTICS] = {
        {"steps", "attempted steps", true, false, (double)s->steps},
        {"accepted", "accepted steps", true, false, (double)s->accepted},
        {"rejected_error", "steps rejected by the error test", true, false, (double)s->rejected_error},
        {"rejected_newton", "steps rejected by Newton's method", true, false, (double)s->rejected_newton},
        {"retracted", "steps taken back after a check", true, true, (double)s->retracted},
        {"order_last", "order of the last step", true, true, (double)s->order_last},
        {"calls", "evaluations in total (#fc)", true, false, calls},
        {"residuals", "evaluations of the equations (#fcw)", true, false, (double)s->residuals},
        {"for_differences", "evaluations for differences", true, false, (double)s->for_differences},
        {"mass", "evaluations of the mass matrix", true, false, (double)s->mass},
        {"jacobians", "Jacobians (#Je)", true, false, (double)s->jacobians},
        {"updates", "cheap updates of the Newton matrix (#updates)", true, true, (double)s->updates},
        {"pattern_changes", "changes of the estimated pattern", true, true, (double)s->pattern_changes},
        {"groups", "column groups of the differences", true, true, (double)s->groups},
        {"fullest_row", "least possible number of groups", true, true, (double)s->fullest_row},
        {"selectors", "selectors", true, false, (double)s->selectors},
        {"predecompositions", "decompositions of the algebraic part", true, false, (double)s->predecompositions},
        {"decompositions", "decompositions of the Newton matrix", true, false, (double)s->decompositions},
        {"factorizations", "sparse factorisations with new pivots", true, true, (double)s->factorizations},
        {"refactorizations", "sparse factorisations with old pivots", true, true, (double)s->refactorizations},
        {"solves", "Newton and error solves", true, false, (double)s->solves},
        {"newton_updates", "new Newton matrices inside an iteration", true, false, (double)s->newton_updates},
        {"projections", "projections onto the constraints", true, true, (double)s->projections},
        {"accelerations", "accelerations solved for output", true, true, (double)s->accelerations},
        {"h_last", "last step size [s]", false, false, s->h_last},
        {"wall_seconds", "wall time [s]", false, false, c->wall_seconds},
    };
    return list[i];
}

// ---- table ----------------------------------------------------------------------------------------------------------

// A text of several lines as several comments
static void comment_lines(kd_csv *csv, const char *name, char *text)
{
    for (char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end) *end++ = '\0';
        kd_csv_comment(csv, name, line);
    }
}

// What is known before a run
static void write_origin(kd_csv *csv, const kd_result *r)
{
    kd_csv_comment(csv, "kardan", kd_version());
    kd_csv_comment(csv, "title", r->title);
    if (r->model_file) kd_csv_comment(csv, "model file", r->model_file);
    for (int i = 0; i < r->nsettings; i++) kd_csv_comment(csv, r->settings[i].name, r->settings[i].value);
}

// Everything but the rows: settings, outcome, statistics, certificate
static void write_comments(kd_csv *csv, const kd_result *r)
{
    char text[CERTIFICATE_TEXT], name[100];
    write_origin(csv, r);
    kd_csv_comment(csv, "ended", kd_status_sentence(r->certificate.status));
    if (r->message && r->message[0]) kd_csv_comment(csv, "message", r->message);
    for (int i = 0; i < r->nwarnings; i++) kd_csv_comment(csv, "warning", r->warnings[i]);
    for (int i = 0; r->facts && i < r->facts->nfacts; i++)
        kd_csv_comment(csv, r->facts->fact[i].name, r->facts->fact[i].value);
    if (r->facts) return;
    // statistics and certificate
    for (int i = 0; i < KD_STATISTICS; i++) {
        kd_statistic s = kd_result_statistic(&r->certificate, i);
        kd_text(name, sizeof name, "%s", s.label);
        kd_csv_comment(csv, name, kd_rounded_text(s.value, s.is_count ? "%.0f" : "%.6g", text, sizeof text));
    }
    kd_certificate_describe(&r->certificate, text, sizeof text);
    comment_lines(csv, "certificate", text);
}

// Column i of the table, t not counted, in the recording
static int recorded(const kd_result *r, int i)
{
    return r->ncolumns > 0 ? r->column[i] : i;
}

bool kd_result_has_column(const kd_result *r, int column)
{
    bool found = r->ncolumns == 0;
    for (int i = 0; i < r->ncolumns; i++) found = found || r->column[i] == column;
    return found;
}

static kd_status write_rows(kd_csv *csv, const kd_result *r, int ncolumns, double *row)
{
    const kd_recording *rec = r->recording;
    kd_status           status = KD_OK;
    // time in front, then the columns that were chosen
    for (int i = 0; status >= 0 && i < kd_recording_length(rec); i++) {
        const double *values = kd_recording_values(rec) + (size_t)i * (size_t)kd_recording_columns(rec);
        row[0] = kd_recording_times(rec)[i];
        for (int j = 1; j < ncolumns; j++) row[j] = values[recorded(r, j - 1)];
        status = kd_csv_row(csv, row);
    }
    return status;
}

// Names and units of the columns, t in front
typedef struct columns {
    kd_arena     arena;
    int          n;
    const char **name, **unit;
    double      *row;
} columns;

// t, then all channels that are wanted
static bool list_columns(const kd_result *r, columns *c)
{
    const kd_recording *rec = r->recording;
    *c = (columns){.n = 1 + (r->ncolumns > 0 ? r->ncolumns : kd_recording_columns(rec))};
    c->name = kd_arena_cut(&c->arena, (size_t)c->n, sizeof(char *));
    c->unit = kd_arena_cut(&c->arena, (size_t)c->n, sizeof(char *));
    c->row = kd_cut_double(&c->arena, c->n);
    if (c->arena.failed) return false;
    c->name[0] = "t";
    c->unit[0] = "s";
    for (int j = 1; j < c->n; j++) {
        c->name[j] = kd_recording_name(rec, recorded(r, j - 1));
        c->unit[j] = kd_recording_unit(rec, recorded(r, j - 1));
    }
    return true;
}

char *kd_result_head(const kd_result *r, size_t *length, size_t *header_at)
{
    // the head is written as the final table would be, but to memory
    columns c;
    kd_csv *csv = NULL;
    char   *text = NULL, *head = NULL;
    size_t  size = 0;
    bool    good = false;
    FILE   *file = open_memstream(&text, &size);
    if (!file || !list_columns(r, &c)) goto done;
    if (kd_csv_wrap(file, c.n, &csv) < 0) goto done;
    // the comments of a run that may be killed at any time
    write_origin(csv, r);
    kd_csv_comment(csv, "ended", "no: this is as far as the run had come");
    kd_csv_comment_row(csv, "units", c.unit);
    good = fflush(file) == 0;
    // where the header line begins: rows of a finished run are copied from here on
    *header_at = size;
    kd_csv_header(csv, c.name);
done:
    kd_csv_unwrap(csv);
    // the stream's memory is malloc's: the head goes to ours
    if (file && fclose(file) == 0 && good) head = kd_alloc(size + 1);
    if (head) memcpy(head, text, size);
    *length = size;
    free(text);
    if (file) kd_arena_release(&c.arena);
    return head;
}

// The rows, from the file that has them already, or from memory. false: the message of that file says why; errors of
// rows from memory are told by closing
static bool put_rows(kd_csv *csv, const kd_result *r, const columns *c, const char *path)
{
    // rows that were written while the run went on are not formatted once more
    if (r->running && !kd_running_message(r->running)[0])
        return kd_running_copy(r->running, kd_csv_file(csv), path) >= 0;
    kd_csv_header(csv, c->name);
    (void)write_rows(csv, r, c->n, c->row);
    return true;
}

kd_status kd_result_save_csv(const kd_result *r, const char *path, char *message, size_t size)
{
    columns   c;
    kd_csv   *csv = NULL;
    kd_status status = KD_ERR_MEMORY;
    if (!list_columns(r, &c)) {
        kd_text(message, size, "out of memory while writing '%s'", path);
        goto done;
    }
    status = kd_csv_create(path, c.n, &csv, message, size);
    if (status < 0) goto done;
    // comments, units, header, rows
    write_comments(csv, r);
    kd_csv_comment_row(csv, "units", c.unit);
    if (!put_rows(csv, r, &c, path)) {
        kd_text(message, size, "%s", kd_running_message(r->running));
        kd_csv_abandon(csv);
        status = KD_ERR_FILE;
        goto done;
    }
    status = kd_csv_close(csv, message, size);
done:
    kd_arena_release(&c.arena);
    return status;
}
