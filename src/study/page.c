// page.c: a study as one HTML page: figures with intervals, outputs over parameters, rows that failed by their cause, best and worst rows.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/file.h"
#include "study/page_parts.h"

enum { MOST_CAUSES = 20 };

static const char HEAD[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
    "content=\"width=device-width\">"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"><style>"
    ":root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 "
    "1em}"
    "table{border-collapse:collapse;margin:.6em 0}th,td{padding:.2em .8em;text-align:right;border-bottom:1px solid "
    "#8886}"
    "th:first-child,td:first-child{text-align:left}svg{max-width:100%;height:auto;background:#fff}td.text{text-align:"
    "left}"
    "</style>\n";

void kd_page_text(FILE *f, const char *text)
{
    kd_file_escaped(f, text, 200);
}

void kd_page_number(FILE *f, double value)
{
    if (isnan(value))
        (void)fputs("<td>-</td>", f);
    else
        (void)fprintf(f, "<td>%.6g</td>", value);
}

// An end of an interval; "-": it is not known
static void put_end(FILE *f, double value)
{
    if (isnan(value))
        (void)fputs("-", f);
    else
        (void)fprintf(f, "%.4g", value);
}

void kd_page_estimate(FILE *f, kd_estimate e)
{
    kd_page_number(f, e.value);
    (void)fputs("<td>", f);
    if (!isnan(e.low) || !isnan(e.high)) {
        put_end(f, e.low);
        (void)fputs(" .. ", f);
        put_end(f, e.high);
    }
    (void)fputs("</td>", f);
}

bool kd_page_has_report(const kd_study *s, int row)
{
    int       list[KD_STUDY_MOST];
    const int n = kd_study_reports(s, list, KD_STUDY_MOST);
    bool      found = false;
    for (int i = 0; i < n && i < KD_STUDY_MOST; i++) found = found || list[i] == row;
    return found;
}

bool kd_page_is_good(const kd_study *s, int row)
{
    return s->cell[row].done && s->cell[row].status >= 0;
}

// ---- figures --------------------------------------------------------------------------------------------------------

static void put_counts(FILE *f, const kd_study *s)
{
    int done = 0, failed = 0, unclean = 0;
    for (int i = 0; i < s->design.nrows; i++) {
        const kd_study_cell *c = &s->cell[i];
        done += c->done, failed += c->done && c->status < 0, unclean += c->done && c->status >= 0 && !c->clean;
    }
    (void)fprintf(f, "<p>%d rows, %d done, %d failed, %d with a certificate that is not clean.</p>\n", s->design.nrows,
                  done, failed, unclean);
}

static void put_summary(FILE *f, const kd_study *s)
{
    (void)fputs("<h2>Outputs</h2><table><tr><th>output</th><th>mean</th><th>95 %</th><th>deviation</th><th>95 "
                "%</th><th>5 %</th>"
                "<th>95 %</th><th>median</th><th>95 %</th><th>95 % quantile</th><th>95 %</th></tr>\n",
                f);
    for (int i = 0; i < s->noutputs; i++) {
        (void)fputs("<tr><td>", f);
        kd_page_text(f, s->output[i].name);
        (void)fputs("</td>", f);
        kd_page_estimate(f, kd_study_mean(s, i));
        kd_page_estimate(f, kd_study_deviation(s, i));
        kd_page_estimate(f, kd_study_quantile(s, i, 0.05));
        kd_page_estimate(f, kd_study_quantile(s, i, 0.5));
        kd_page_estimate(f, kd_study_quantile(s, i, 0.95));
        (void)fputs("</tr>\n", f);
    }
    (void)fputs("</table>\n", f);
}

// Does an output know 0 and 1 only, in an expression?
static bool is_condition(const kd_study *s, int output)
{
    bool any = false;
    for (int row = 0; row < s->design.nrows; row++) {
        const kd_study_row r = kd_study_row_of(s, row);
        if (!r.done || r.status < 0) continue;
        if (r.output[output] != 0 && r.output[output] != 1) return false;
        any = true;
    }
    return any && !s->output[output].channel;
}

static void put_probabilities(FILE *f, const kd_study *s)
{
    bool any = false;
    for (int i = 0; i < s->noutputs; i++) {
        if (!is_condition(s, i)) continue;
        if (!any)
            (void)fputs("<h2>Shares</h2><table><tr><th>condition</th><th>share of rows</th><th>95 %</th></tr>\n", f);
        any = true;
        (void)fputs("<tr><td>", f);
        kd_page_text(f, s->output[i].name);
        (void)fputs(": ", f);
        kd_page_text(f, s->output[i].text);
        (void)fputs("</td>", f);
        kd_page_estimate(f, kd_study_probability(s, i));
        (void)fputs("</tr>\n", f);
    }
    if (any) (void)fputs("</table>\n", f);
}

static void put_effects(FILE *f, const kd_study *s)
{
    (void)fputs("<h2>Elementary effects</h2><table><tr><th>output</th><th>parameter</th><th>mean size</th><th>95 "
                "%</th><th>deviation</th></tr>\n",
                f);
    for (int i = 0; i < s->noutputs; i++)
        for (int j = 0; j < s->nparameters; j++) {
            (void)fputs("<tr><td>", f);
            kd_page_text(f, s->output[i].name);
            (void)fputs("</td><td class=\"text\">", f);
            kd_page_text(f, s->parameter[j]);
            (void)fputs("</td>", f);
            kd_page_estimate(f, kd_study_effect(s, i, j));
            kd_page_number(f, kd_study_effect_deviation(s, i, j).value);
            (void)fputs("</tr>\n", f);
        }
    (void)fputs("</table>\n", f);
}

static void put_indices(FILE *f, const kd_study *s)
{
    // screening has its own table, indices need the design of Saltelli
    if (s->design.kind == KD_DESIGN_MORRIS) put_effects(f, s);
    if (s->design.kind != KD_DESIGN_SENSITIVITY) return;
    (void)fputs("<h2>Sensitivity indices</h2><table><tr><th>output</th><th>parameter</th><th>first order</th><th>95 "
                "%</th><th>total</th>"
                "<th>95 %</th></tr>\n",
                f);
    // each pair of output and parameter, both orders with their bounds
    for (int i = 0; i < s->noutputs; i++)
        for (int j = 0; j < s->nparameters; j++) {
            (void)fputs("<tr><td>", f);
            kd_page_text(f, s->output[i].name);
            (void)fputs("</td><td class=\"text\">", f);
            kd_page_text(f, s->parameter[j]);
            (void)fputs("</td>", f);
            kd_page_estimate(f, kd_study_index(s, i, j, false));
            kd_page_estimate(f, kd_study_index(s, i, j, true));
            (void)fputs("</tr>\n", f);
        }
    (void)fputs("</table>\n", f);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static void put_row(FILE *f, const kd_study *s, int row, int output, const char *what)
{
    double value[KD_STUDY_MOST];
    kd_design_row(&s->design, row, value);
    (void)fprintf(f, "<tr><td>%s of ", what);
    kd_page_text(f, s->output[output].name);
    if (kd_page_has_report(s, row))
        (void)fprintf(f, "</td><td><a href=\"row-%d.html\">%d</a></td>", row, row);
    else
        (void)fprintf(f, "</td><td>%d</td>", row);
    for (int i = 0; i < s->nparameters && i < 8; i++) kd_page_number(f, value[i]);
    for (int i = 0; i < s->noutputs && i < 8; i++)
        kd_page_number(f, s->values[(size_t)row * (size_t)s->noutputs + (size_t)i]);
    (void)fputs("</tr>\n", f);
}

static void put_extremes(FILE *f, const kd_study *s)
{
    (void)fputs("<h2>Smallest and largest</h2><table><tr><th></th><th>row</th>", f);
    for (int i = 0; i < s->nparameters && i < 8; i++)
        (void)fputs("<th>", f), kd_page_text(f, s->parameter[i]), (void)fputs("</th>", f);
    for (int i = 0; i < s->noutputs && i < 8; i++)
        (void)fputs("<th>", f), kd_page_text(f, s->output[i].name), (void)fputs("</th>", f);
    (void)fputs("</tr>\n", f);
    // of each output the row with the smallest and the one with the largest value
    for (int i = 0; i < s->noutputs && i < 8; i++) {
        int best[2] = {-1, -1};
        for (int row = 0; row < s->design.nrows; row++) {
            const kd_study_row r = kd_study_row_of(s, row);
            if (!r.done || r.status < 0) continue;
            if (best[0] < 0 || r.output[i] < s->values[(size_t)best[0] * (size_t)s->noutputs + (size_t)i])
                best[0] = row;
            if (best[1] < 0 || r.output[i] > s->values[(size_t)best[1] * (size_t)s->noutputs + (size_t)i])
                best[1] = row;
        }
        for (int k = 0; k < 2 && best[0] >= 0; k++) put_row(f, s, best[k], i, k == 0 ? "smallest" : "largest");
    }
    (void)fputs("</table><p><code>kardan study FILE --row N</code> makes a row again, with its own page.</p>\n", f);
}

// All rows that have pages, where the study file chose them
static void put_reports(FILE *f, const kd_study *s)
{
    int       list[KD_STUDY_MOST];
    const int n = s->nreports > 0 ? kd_study_reports(s, list, KD_STUDY_MOST) : 0;
    if (n == 0) return;
    (void)fputs("<h2>Pages of runs</h2><p>row", f);
    for (int i = 0; i < n && i < KD_STUDY_MOST; i++)
        (void)fprintf(f, " <a href=\"row-%d.html\">%d</a>", list[i], list[i]);
    (void)fputs("</p>\n", f);
}

static void put_failures(FILE *f, const kd_study *s)
{
    const char *cause[MOST_CAUSES];
    int         count[MOST_CAUSES] = {0}, n = 0;
    // rows that failed by cause, each with its first row as an example
    for (int row = 0; row < s->design.nrows; row++) {
        const kd_study_row r = kd_study_row_of(s, row);
        int                i = 0;
        if (!r.done || r.status >= 0) continue;
        const char *name = kd_status_name(r.status);
        while (i < n && strcmp(cause[i], name) != 0) i++;
        if (i == MOST_CAUSES) continue;
        if (i == n) cause[n++] = name;
        count[i]++;
    }
    // causes as a table, with the first row of each, so that it can be repeated
    if (n == 0) return;
    (void)fputs("<h2>Rows that failed</h2><table><tr><th>cause</th><th>rows</th><th>the first of them</th></tr>\n", f);
    for (int i = 0; i < n; i++) {
        int row = 0;
        while (!s->cell[row].done || s->cell[row].status >= 0 ||
               strcmp(kd_status_name(s->cell[row].status), cause[i]) != 0)
            row++;
        (void)fprintf(f, "<tr><td>%s</td><td>%d</td><td class=\"text\">row %d: ", cause[i], count[i], row);
        kd_page_text(f, kd_study_row_of(s, row).reason);
        (void)fputs("</td></tr>\n", f);
    }
    (void)fputs("</table>\n", f);
}

kd_status kd_study_save_page(const kd_study *s, const char *path, char *message, size_t size)
{
    FILE     *f;
    kd_status status = s && path ? kd_file_open(path, &f, message, size) : KD_ERR_ARGUMENT;
    if (status < 0) return status;
    (void)fputs(HEAD, f);
    (void)fputs("<title>", f), kd_page_text(f, s->title[0] ? s->title : "study"),
        (void)fputs("</title></head><body><h1>", f);
    kd_page_text(f, s->title[0] ? s->title : "study");
    (void)fputs("</h1>\n", f);
    put_counts(f, s);
    // of a search rows are no sample: no means, no shares
    if (s->search.nobjectives == 0) put_summary(f, s), put_probabilities(f, s);
    put_indices(f, s);
    bool drawn = kd_page_index_plots(f, s) && kd_page_searches(f, s);
    if (s->search.nobjectives == 0) put_extremes(f, s);
    put_reports(f, s);
    put_failures(f, s);
    drawn =
        drawn && kd_page_channels(f, s) && kd_page_convergence(f, s) && kd_page_parallel(f, s) && kd_page_scatter(f, s);
    (void)fprintf(f, "<p>kardan %s, hash of study and model %016lx</p></body></html>\n", kd_version(), s->hash);
    if (!drawn) {
        kd_file_abandon(f, path);
        return KD_ERR_MEMORY;
    }
    return kd_file_close(f, path, message, size);
}
