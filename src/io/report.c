// report.c: the page that a simulation leaves behind. Everything is inside the file: style sheet and plots; no scripts.
#include "io/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "io/file.h"
#include "io/svg.h"
#include "io/verdict.h"

enum {
    MAX_SERIES = 10, // lines in one plot: those that move most
    MAX_PLOTS = 9,   // seven groups, residuals, energies
    TEXT_LIMIT = 4000
};

// ---- plots --------------------------------------------------------------------------------------

typedef struct gallery {
    kd_arena  arena;
    kd_plot   plot[MAX_PLOTS];
    kd_series series[MAX_PLOTS][MAX_SERIES];
    char      note[MAX_PLOTS][80];
    int       nplots;
} gallery;

typedef struct motion {
    int    column;
    double range; // largest minus smallest value
} motion;

static int by_range(const void *a, const void *b)
{
    const motion *ma = a, *mb = b;
    if (ma->range != mb->range) return ma->range < mb->range ? 1 : -1;
    return ma->column - mb->column;
}

static int by_column(const void *a, const void *b)
{
    return ((const motion *)a)->column - ((const motion *)b)->column;
}

static double range_of(const kd_recording *rec, int column)
{
    const double *values = kd_recording_values(rec);
    int           columns = kd_recording_columns(rec);
    double        low = INFINITY, high = -INFINITY;
    for (int i = 0; i < kd_recording_length(rec); i++) {
        low = fmin(low, values[i * columns + column]);
        high = fmax(high, values[i * columns + column]);
    }
    return high >= low ? high - low : 0.0;
}

static kd_plot *start_plot(gallery *g, const char *title)
{
    kd_plot *plot = &g->plot[g->nplots];
    *plot = (kd_plot){.title = title, .xlabel = "time [s]", .series = g->series[g->nplots]};
    g->nplots++;
    return plot;
}

// One more line in the plot that was started last
static void add_series(gallery *g, const kd_recording *rec, const char *name, const double *y, int stride)
{
    int last = g->nplots - 1;
    g->series[last][g->plot[last].nseries++] = (kd_series){
        .name = name, .x = kd_recording_times(rec), .y = y, .ystride = stride, .n = kd_recording_length(rec)};
}

static void add_group(gallery *g, const kd_recording *rec, kd_group group, const char *title)
{
    int first, count;
    kd_recording_group(rec, group, &first, &count);
    motion *order = count > 0 ? kd_arena_cut(&g->arena, (size_t)count, sizeof *order) : NULL;
    if (!order) return;
    for (int i = 0; i < count; i++) order[i] = (motion){.column = first + i, .range = range_of(rec, first + i)};
    int shown = count < MAX_SERIES ? count : MAX_SERIES;
    qsort(order, (size_t)count, sizeof *order, by_range);
    qsort(order, (size_t)shown, sizeof *order, by_column);

    char    *note = g->note[g->nplots];
    kd_plot *plot = start_plot(g, title);
    for (int i = 0; i < shown; i++) {
        const char *name = kd_recording_name(rec, order[i].column);
        if (strncmp(name, "lambda ", 7) == 0) name += 7; // the title says it
        if (strncmp(name, "mu ", 3) == 0) name += 3;
        add_series(g, rec, name, kd_recording_values(rec) + order[i].column, kd_recording_columns(rec));
    }
    if (shown < count) {
        kd_text(note, sizeof g->note[0], "the %d of %d components that move most", shown, count);
        plot->note = note;
    }
}

static void collect_plots(gallery *g, kd_recording *rec)
{
    static const char *const TITLE[KD_GROUP_COUNT] = {
        "Positions p",           "Velocities v",       "Inner states r", "Auxiliary variables w",
        "Contact coordinates s", "Multipliers lambda", "Multipliers mu"};
    kd_dims dims = kd_eom_dims(kd_recording_eom(rec));
    for (int group = 0; group < KD_GROUP_COUNT; group++) add_group(g, rec, (kd_group)group, TITLE[group]);
    if (dims.nlambda + dims.nmu + dims.ns + dims.nq > 0) {
        static const char *const LEVEL[3] = {"position", "velocity", "acceleration"};
        kd_plot                 *plot = start_plot(g, "Constraint residuals");
        plot->ylog = true;
        for (int level = 0; level < 3; level++) add_series(g, rec, LEVEL[level], kd_recording_residuals(rec, level), 1);
    }
    if (kd_recording_energy(rec, KD_ENERGY_TOTAL)) {
        static const char *const NAME[KD_ENERGY_COUNT] = {"kinetic", "potential", "total", "balance"};
        start_plot(g, "Energy")->ylabel = "[J]";
        for (int k = 0; k < KD_ENERGY_COUNT; k++)
            add_series(g, rec, NAME[k], kd_recording_energy(rec, (kd_energy)k), 1);
    }
}

kd_status kd_report_save_svg(const kd_report *report, const char *path, char *message, size_t size)
{
    gallery  *g = kd_alloc(sizeof *g);
    kd_status status = KD_ERR_MEMORY;
    if (g) {
        collect_plots(g, report->recording);
        status = kd_svg_save(path, g->plot, g->nplots, 2, message, size);
        kd_arena_release(&g->arena);
    } else {
        kd_text(message, size, "out of memory while writing '%s'", path);
    }
    kd_free(g);
    return status;
}

// ---- page ---------------------------------------------------------------------------------------

// clang-format off
static const char STYLE[] =
    "body{font:15px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;color:#1f2933;background:#f5f6f8;"
    "margin:0}\n"
    "main{max-width:1340px;margin:0 auto;padding:24px}\n"
    "h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:28px 0 8px}\n"
    "section.card,figure{background:#fff;border:1px solid #e3e6ea;border-radius:8px}\n"
    "section.card{padding:12px 18px}figure{margin:0;padding:8px}\n"
    "figure svg{width:100%;height:auto;display:block}\n"
    ".grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(520px,100%),1fr));gap:16px}\n"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid #eef0f3;"
    "vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}\n"
    ".good{color:#00684d;font-weight:600}.bad{color:#a63c00;font-weight:600}.muted{color:#6b7280}\n";
// clang-format on

static void put_row(FILE *file, const char *name, const char *value)
{
    fputs("<tr><td>", file);
    kd_file_escaped(file, name, TEXT_LIMIT);
    fputs("</td><td class=\"n\">", file);
    kd_file_escaped(file, value, TEXT_LIMIT);
    fputs("</td></tr>\n", file);
}

static void put_count(FILE *file, const char *name, long value)
{
    char number[32];
    kd_text(number, sizeof number, "%ld", value);
    put_row(file, name, number);
}

static void put_paragraph(FILE *file, const char *style, const char *text)
{
    fprintf(file, "<p class=\"%s\">", style);
    kd_file_escaped(file, text, TEXT_LIMIT);
    fputs("</p>\n", file);
}

static void put_check(FILE *file, const char *what, double value, const char *where, kd_verdict verdict)
{
    char number[40];
    fputs("<tr><td>", file);
    kd_file_escaped(file, what, TEXT_LIMIT);
    fprintf(file, "</td><td class=\"n\">%s</td><td class=\"%s\">%s</td><td class=\"muted\">",
            kd_file_number(value, "%.2e", number, sizeof number), verdict.good ? "good" : "bad", verdict.words);
    kd_file_escaped(file, where, TEXT_LIMIT);
    fputs("</td></tr>\n", file);
}

static void put_head(FILE *file, const kd_report *report)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>",
          file);
    kd_file_escaped(file, report->title, TEXT_LIMIT);
    fprintf(file, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>", STYLE);
    kd_file_escaped(file, report->title, TEXT_LIMIT);
    fputs("</h1>\n", file);
    if (report->about) put_paragraph(file, "about", report->about);

    char    text[300];
    kd_dims dims = kd_eom_dims(kd_recording_eom(report->recording));
    kd_text(text, sizeof text, "%d positions, %d velocities, %d holonomic and %d nonholonomic constraints", dims.np,
            dims.nv, dims.nlambda, dims.nmu);
    if (dims.nr) kd_text_append(text, sizeof text, ", %d inner states", dims.nr);
    if (dims.nw) kd_text_append(text, sizeof text, ", %d auxiliary variables", dims.nw);
    if (dims.ns) kd_text_append(text, sizeof text, ", %d contact coordinates", dims.ns);
    if (dims.nu) kd_text_append(text, sizeof text, ", %d inputs", dims.nu);
    put_paragraph(file, "muted", text);
}

static void put_end_of_run(FILE *file, const kd_report *report)
{
    char text[600];
    int  n = kd_recording_length(report->recording);
    kd_text(text, sizeof text, "%s: %s", report->status < 0 ? "Failed" : "Finished",
            kd_status_sentence(report->status));
    if (n > 0) kd_text_append(text, sizeof text, "; time reached %.9g s", kd_recording_times(report->recording)[n - 1]);
    put_paragraph(file, report->status < 0 ? "bad" : "good", text);
    if (report->message && *report->message) put_paragraph(file, "message", report->message);
}

static const char HOW_TO_READ[] =
    "How to read this. The certificate is what was checked at all output points, after the run and independently of "
    "the "
    "integrator. Residuals say how well the constraints hold, relative to the largest position, velocity or "
    "acceleration: "
    "\"to rounding\" as well as the machine can, \"within tolerance\" below ten times the absolute tolerance, "
    "\"drift\" "
    "more; then take another formulation or a smaller tolerance. The energy balance compares the change of energy with "
    "the work of drives and dampers; it measures accuracy, as nothing forces it to hold unless the energy is imposed "
    "as "
    "an invariant. \"run failed\" and \"exploded\" take the place of praise where there is none to give. Positions, "
    "velocities "
    "and multipliers are plotted in the units of the model, residuals in the units of their constraints; all numbers "
    "are in the table (CSV) beside this page.";

static void put_certificate(FILE *file, const kd_report *report)
{
    static const char *const WHAT[3] = {"largest constraint residual, position level",
                                        "largest constraint residual, velocity level",
                                        "largest constraint residual, acceleration level"};
    kd_certificate           c = kd_recording_certificate(report->recording);
    kd_dims                  dims = kd_eom_dims(kd_recording_eom(report->recording));
    fputs("<h2>Certificate</h2>\n<section class=\"card\"><table>\n"
          "<tr><th>check at all output points</th><th></th><th></th><th></th></tr>\n",
          file);
    char where[200];
    for (int level = 0; dims.nlambda + dims.nmu > 0 && level < 3; level++) {
        kd_text(where, sizeof where, "at t = %.6g s", c.time[level]);
        if (c.equation[level][0]) kd_text_append(where, sizeof where, ", '%s'", c.equation[level]);
        put_check(file, WHAT[level], c.residual[level], where,
                  kd_verdict_residual(&c, level, report->atol, report->status));
    }
    if (c.has_energy) {
        kd_text(where, sizeof where, "relative to %.4g J; power integrated over steps and output points",
                c.energy_scale);
        put_check(file, "largest error of the energy balance", kd_verdict_energy_error(&c), where,
                  kd_verdict_energy(&c, report->status));
    }
    if (!isnan(report->reference_error)) {
        put_check(file, "error of the positions at the end", report->reference_error,
                  "against the reference solution, max |p - ref| / max(1e-3, |ref|)",
                  kd_verdict_reference(&c, report->reference_error, report->status));
    }
    fputs("</table></section>\n", file);
    put_paragraph(file, "muted", HOW_TO_READ);
}

static void put_settings(FILE *file, const kd_report *report)
{
    fputs("<div><h2>Settings</h2>\n<section class=\"card\"><table>\n", file);
    for (int i = 0; i < report->nsettings; i++) put_row(file, report->settings[i].name, report->settings[i].value);
    fputs("</table></section></div>\n", file);
}

static void put_statistics(FILE *file, const kd_report *report)
{
    const kd_stats *s = &report->stats;
    char            number[40];
    fputs("<div><h2>Statistics</h2>\n<section class=\"card\"><table>\n", file);
    put_count(file, "accepted steps", s->accepted);
    put_count(file, "steps rejected by the error test", s->rejected_error);
    put_count(file, "steps rejected by Newton's method", s->rejected_newton);
    put_count(file, "evaluations of the equations", s->residuals);
    put_count(file, "evaluations for differences", s->for_differences);
    put_count(file, "Jacobians", s->jacobians);
    put_count(file, "selectors", s->selectors);
    put_count(file, "decompositions of the algebraic part", s->predecompositions);
    put_count(file, "decompositions of the Newton matrix", s->decompositions);
    put_count(file, "Newton and error solves", s->solves);
    put_row(file, "last step size [s]", kd_file_number(s->h_last, "%.3e", number, sizeof number));
    put_row(file, "wall time [s]", kd_file_number(report->wall_seconds, "%.4f", number, sizeof number));
    fputs("</table></section></div>\n", file);
}

kd_status kd_report_save(const kd_report *report, const char *path, char *message, size_t size)
{
    FILE     *file = NULL;
    gallery  *g = kd_alloc(sizeof *g);
    kd_status status = KD_ERR_MEMORY;
    if (!g) {
        kd_text(message, size, "out of memory while writing '%s'", path);
        goto done;
    }
    status = kd_file_open(path, &file, message, size);
    if (status < 0) goto done;
    collect_plots(g, report->recording);

    put_head(file, report);
    put_end_of_run(file, report);
    put_certificate(file, report);
    fputs("<h2>Plots</h2>\n<div class=\"grid\">\n", file);
    for (int i = 0; i < g->nplots; i++) {
        fputs("<figure>\n", file);
        kd_svg_write(file, &g->plot[i], 1, 1);
        fputs("</figure>\n", file);
    }
    fputs("</div>\n<div class=\"grid\">\n", file);
    put_settings(file, report);
    put_statistics(file, report);
    fprintf(file, "</div>\n<p class=\"muted\">kardan %s</p>\n</main>\n</body>\n</html>\n", kd_version());
    status = kd_file_close(file, path, message, size);
done:
    if (g) kd_arena_release(&g->arena);
    kd_free(g);
    return status;
}
