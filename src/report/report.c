// report.c: the page that a simulation leaves behind. Everything is inside the file: style sheet, plots, and for models
// the drawing that moves, which has the only script.
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/rounded.h"
#include "core/text.h"
#include "drawing/drawing.h"
#include "report/svg.h"
#include "report/viewer.h"
#include "results/file.h"

enum {
    MAX_SERIES = KD_VIEWER_SERIES, // lines in one plot: those that move most
    MAX_EVENTS = 50,               // in the table of the page
    MAX_PLOTS = 24,                // chosen channels, or all groups; violations, energies
    TEXT_LIMIT = 4000
};

static const double SMALLEST_SHOWN = 1e-17; // violations of exactly 0 on a logarithmic axis

// ---- plots ----------------------------------------------------------------------------------------------------------

// Plots of a page: data stay in the recording, words are kept here
typedef struct gallery {
    kd_arena            arena;
    const kd_recording *rec;
    kd_plot             plot[MAX_PLOTS]; // point to the series and words below
    kd_series           series[MAX_PLOTS][MAX_SERIES];
    int                 column[MAX_PLOTS][MAX_SERIES]; // of the recording, behind the series
    const char         *unit[MAX_PLOTS];
    char                title[MAX_PLOTS][100], note[MAX_PLOTS][80], ylabel[MAX_PLOTS][24];
    int                 nplots;
} gallery;

// A channel and how far it moves, to choose those that are worth a line
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

// Largest minus smallest value of a column
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

// The next plot; NULL if there is no more room. unit "": not told
static kd_plot *start_plot(gallery *g, const char *title, const char *unit)
{
    if (g->nplots == MAX_PLOTS) return NULL;
    int      i = g->nplots++;
    kd_plot *plot = &g->plot[i];
    // title and unit in rooms of their own: names of the recording are not copied
    kd_text(g->title[i], sizeof g->title[i], "%s", title);
    kd_text(g->ylabel[i], sizeof g->ylabel[i], "[%s]", unit);
    g->unit[i] = unit;
    *plot = (kd_plot){
        .title = g->title[i], .xlabel = "time [s]", .ylabel = unit[0] ? g->ylabel[i] : NULL, .series = g->series[i]};
    return plot;
}

// One more line in the plot that was started last; column: of the recording that it shows
static void add_series(gallery *g, const char *name, int column, const double *y, int stride)
{
    int last = g->nplots - 1;
    // a full plot takes no more lines
    if (g->plot[last].nseries == MAX_SERIES) return;
    g->column[last][g->plot[last].nseries] = column;
    g->series[last][g->plot[last].nseries++] = (kd_series){
        .name = name, .x = kd_recording_times(g->rec), .y = y, .ystride = stride, .n = kd_recording_length(g->rec)};
}

static void add_column(gallery *g, const char *name, int column)
{
    add_series(g, name, column, kd_recording_values(g->rec) + column, kd_recording_columns(g->rec));
}

// The unit that all columns of a range share, else ""
static const char *common_unit(const kd_recording *rec, int first, int count)
{
    for (int j = first + 1; j < first + count; j++)
        if (strcmp(kd_recording_unit(rec, j), kd_recording_unit(rec, first)) != 0) return "";
    return count > 0 ? kd_recording_unit(rec, first) : "";
}

// A plot of the channels of a group that move most
static void add_group(gallery *g, kd_group group, const char *title)
{
    int first, count;
    kd_recording_group(g->rec, group, &first, &count);
    motion *order = count > 0 ? kd_arena_cut(&g->arena, (size_t)count, sizeof *order) : NULL;
    if (!order) return;
    // those that move most, in the order of their columns
    for (int i = 0; i < count; i++) order[i] = (motion){.column = first + i, .range = range_of(g->rec, first + i)};
    int shown = count < MAX_SERIES ? count : MAX_SERIES;
    // by what they move, then those that remain by their columns again
    qsort(order, (size_t)count, sizeof *order, by_range);
    qsort(order, (size_t)shown, sizeof *order, by_column);

    kd_plot *plot = start_plot(g, title, common_unit(g->rec, first, count));
    if (!plot) return;
    for (int i = 0; i < shown; i++) {
        const char *name = kd_recording_name(g->rec, order[i].column);
        if (strncmp(name, "lambda ", 7) == 0) name += 7; // the title says it
        if (strncmp(name, "mu ", 3) == 0) name += 3;
        add_column(g, name, order[i].column);
    }
    if (shown < count) {
        char *note = g->note[g->nplots - 1];
        kd_text(note, sizeof g->note[0], "the %d of %d components that move most", shown, count);
        plot->note = note;
    }
}

static void add_all_groups(gallery *g)
{
    static const struct {
        kd_group    group;
        const char *title;
    } list[] = {
        {KD_GROUP_Y, "Outputs"},
        {KD_GROUP_P, "Positions p"},
        {KD_GROUP_V, "Velocities v"},
        {KD_GROUP_R, "Inner states r"},
        {KD_GROUP_W, "Auxiliary variables w"},
        {KD_GROUP_S, "Contact coordinates s"},
        {KD_GROUP_LAMBDA, "Multipliers lambda"},
        {KD_GROUP_MU, "Multipliers mu"},
        {KD_GROUP_U, "Inputs u"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) add_group(g, list[i].group, list[i].title);
}

// Chosen channels: neighbours of the same unit share a plot
static void add_chosen(gallery *g, const kd_result *r)
{
    kd_plot    *plot = NULL;
    const char *last = NULL;
    for (int i = 0; i < r->nplots; i++) {
        // names of the result are those of the recording; what it does not have is passed over
        int column = kd_recording_find(g->rec, r->plots[i]);
        if (column < 0) continue;
        // joins the plot before if it has the same unit, else begins one
        const char *unit = kd_recording_unit(g->rec, column), *name = kd_recording_name(g->rec, column);
        bool        shares = plot && last[0] && strcmp(unit, last) == 0 && plot->nseries < MAX_SERIES;
        if (shares) {
            kd_text(g->title[g->nplots - 1], sizeof g->title[0], "Channels in %s", unit);
        } else {
            plot = start_plot(g, name, unit);
            if (!plot) return;
        }
        add_column(g, name, column);
        last = unit;
    }
}

static void add_violations(gallery *g)
{
    // one line for each level that there is
    static const char *const LEVEL[KD_LEVEL_COUNT] = {"position", "velocity", "acceleration"};
    int                      first, count, n = kd_recording_length(g->rec), columns = kd_recording_columns(g->rec);
    kd_recording_group(g->rec, KD_GROUP_VIOLATION, &first, &count);
    if (count == 0) return;
    kd_plot *plot = start_plot(g, "Violation of the constraints", "");
    if (!plot) return;
    // rounding and drift are decades apart
    plot->ylog = true;
    for (int level = 0; level < count; level++) {
        // 0 has no place on a logarithmic axis
        double *shown = kd_cut_double(&g->arena, n);
        if (!shown) return;
        for (int i = 0; i < n; i++)
            shown[i] = fmax(kd_recording_values(g->rec)[i * columns + first + level], SMALLEST_SHOWN);
        add_series(g, LEVEL[level], first + level, shown, 1);
    }
}

static void add_energies(gallery *g)
{
    static const char *const NAME[KD_ENERGY_CHANNELS] = {"kinetic",    "potential", "kinetic + potential",
                                                         "dissipated", "supplied",  "balance"};
    int                      first, count;
    kd_recording_group(g->rec, KD_GROUP_ENERGY, &first, &count);
    // the three sums of a state, then what the run spent and got, then the error
    if (count == 0 || !start_plot(g, "Energy", "J")) return;
    for (int i = 0; i < count; i++) {
        bool is_work = i == 3 || i == 4; // dissipated, supplied: only where there is any
        if (!kd_recording_knows(g->rec, first + i)) continue;
        if (!is_work || range_of(g->rec, first + i) > 0) add_column(g, NAME[i], first + i);
    }
}

// The plots that were added from here on are over time
static void mark_events(gallery *g, int first, const kd_event_log *log)
{
    double *t = log ? kd_cut_double(&g->arena, kd_event_log_length(log)) : NULL;
    int     n = t ? kd_event_log_marks(log, t) : 0;
    for (int i = first; i < g->nplots; i++) {
        g->plot[i].mark = t;
        g->plot[i].nmarks = n;
    }
}

// Plots that come with the result, the first ones
static int given_plots(const kd_result *r)
{
    const int n = r->facts ? r->facts->nplots : 0;
    return n < MAX_PLOTS ? n : MAX_PLOTS;
}

static void collect_plots(gallery *g, const kd_result *r)
{
    g->rec = r->recording;
    // plots that come with the result; then over time: channels, violations, energies, events
    for (int i = 0; i < given_plots(r); i++) g->plot[g->nplots++] = r->facts->plot[i];
    const int first = g->nplots;
    if (r->nplots > 0) {
        add_chosen(g, r);
    } else {
        add_all_groups(g);
    }
    add_violations(g);
    add_energies(g);
    mark_events(g, first, r->events);
}

kd_status kd_report_save_svg(const kd_result *result, const char *path, char *message, size_t size)
{
    // on the heap: the rooms of all plots are large
    gallery  *g = kd_alloc(sizeof *g);
    kd_status status = KD_ERR_MEMORY;
    if (g) {
        collect_plots(g, result);
        status = kd_svg_save(path, g->plot, g->nplots, 2, message, size);
        kd_arena_release(&g->arena);
    } else {
        kd_text(message, size, "out of memory while writing '%s'", path);
    }
    kd_free(g);
    return status;
}

// ---- page -----------------------------------------------------------------------------------------------------------

// clang-format off
static const char STYLE[] =
    "body{font:15px/1.5 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;color:#1f2933;background:#f5f6f8;"
    "margin:0}\n"
    "main{max-width:1340px;margin:0 auto;padding:24px}\n"
    "h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:28px 0 8px}\n"
    "section.card,figure{background:#fff;border:1px solid #e3e6ea;border-radius:8px}\n"
    "section.card{padding:12px 18px;overflow-x:auto}.grid>*{min-width:0}td,h1,p{overflow-wrap:anywhere}figure{margin:0;padding:8px}\n"
    "figure svg{width:100%;height:auto;display:block}\n"
    ".grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(520px,100%),1fr));gap:16px}\n"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid #eef0f3;"
    "vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}\n"
    ".drawing svg,.drawing canvas{width:100%;display:block;border-radius:6px}.drawing svg{height:auto}\n"
    ".drawing canvas{height:min(64vh,580px);cursor:grab;touch-action:none;outline-offset:-2px}\n"
    ".drawing canvas:active{cursor:grabbing}.drawing canvas:focus{outline:2px solid #cfd6de}\n"
    ".bar{display:flex;flex-wrap:wrap;gap:8px 12px;align-items:center;margin-top:10px}.bar input{flex:1 1 240px;min-width:120px;"
    "accent-color:#0072B2}\n"
    ".bar button,.bar select{font:inherit;font-size:14px;color:inherit;background:#fff;border:1px solid #cfd6de;"
    "border-radius:6px;height:34px;padding:0 10px;cursor:pointer}.bar button:first-child{width:44px;background:#0072B2;"
    "border-color:#0072B2;color:#fff}.clock{min-width:6.5em;text-align:right;font-variant-numeric:tabular-nums}\n"
    ".legend{display:flex;flex-wrap:wrap;gap:2px 16px;margin-top:8px;font-size:13px}.legend i{display:inline-block;width:10px;"
    "height:10px;border-radius:3px;margin-right:6px}.legend .hint{color:#5b6472;margin-left:auto}\n"
    ".viewer{display:grid;grid-template-columns:minmax(0,1fr) 250px;gap:12px}.viewer aside{order:2;max-height:min(66vh,620px);overflow:auto;font-size:13px}\n"
    ".stage3d{position:relative;height:min(66vh,620px);min-height:280px;border-radius:6px;overflow:hidden;background:#f4f6f8}\n"
    ".stage3d .still,.stage3d .still svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}.ground,.course{fill:none;stroke:#7c8794;"
    "vector-effect:non-scaling-stroke}.course{stroke:#b45309}\n"
    "@media (max-width:760px){.viewer{grid-template-columns:minmax(0,1fr)}.viewer aside{max-height:none}.stage3d{height:min(52vh,100vw)}}\n"
    "@media (prefers-color-scheme:dark){.stage3d{background:#15191e}.ground{stroke:#8a97a6}body{color:#d5dbe1;background:#0f1216}section.card,figure{background:#171b20;border-color:#2b323a}"
    "figure svg{background:#fff;border-radius:6px}td,th{border-color:#262c33}.bar button,.bar select{background:#171b20}"
    ".good{color:#3fb98f!important}.bad{color:#f08a5d!important}.muted,.legend .hint{color:#a3adb8!important}}\n"
    ".good{color:#00684d;font-weight:600}.bad{color:#a63c00;font-weight:600}.muted{color:#5b6472}\n";
// clang-format on

// Of the page and of comparisons: one style for all
const char *kd_report_style(void)
{
    return STYLE;
}

static void put_row(FILE *file, const char *name, const char *value)
{
    fputs("<tr><td>", file);
    kd_file_escaped(file, name, TEXT_LIMIT);
    fputs("</td><td class=\"n\">", file);
    kd_file_escaped(file, value, TEXT_LIMIT);
    fputs("</td></tr>\n", file);
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
            kd_rounded_text(value, "%.2e", number, sizeof number), verdict.good ? "good" : "bad", verdict.words);
    kd_file_escaped(file, where, TEXT_LIMIT);
    fputs("</td></tr>\n", file);
}

// The viewer replaces the plots over time and the small drawing
static bool has_viewer(const kd_result *report)
{
    return kd_viewer_is_built() && !report->plain;
}

static void put_head(FILE *file, const kd_result *report)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>",
          file);
    kd_file_escaped(file, report->title, TEXT_LIMIT);
    fputs("</title>\n", file);
    // the page loads nothing, and the only script is the one that is built in
    if (has_viewer(report))
        fprintf(file,
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src %s; style-src "
                "'unsafe-inline'; img-src data: blob:\">\n",
                kd_viewer_policy());
    fprintf(file, "<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>", STYLE);
    kd_file_escaped(file, report->title, TEXT_LIMIT);
    fputs("</h1>\n", file);
    if (report->about) put_paragraph(file, "about", report->about);

    // how large the equations are, in a line
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

static void put_end_of_run(FILE *file, const kd_result *report)
{
    char      text[600];
    int       n = kd_recording_length(report->recording);
    kd_status status = report->certificate.status;
    // how it ended is the first thing that a reader wants to know
    kd_text(text, sizeof text, "%s: %s",
            status < 0             ? "Failed"
            : status == KD_STOPPED ? "Stopped"
                                   : "Finished",
            kd_status_sentence(status));
    if (n > 0) kd_text_append(text, sizeof text, "; time reached %.9g s", kd_recording_times(report->recording)[n - 1]);
    if (status == KD_OK) { // and whether it may be believed; what is behind the word stands with the certificate
        kd_clean v;
        kd_certificate_verdict(&report->certificate, &v);
        kd_text_append(text, sizeof text, "; verdict: %s", v.sentence);
    }
    // good or bad at a glance, then the reason, then what is broken
    put_paragraph(file, status < 0 || status == KD_STOPPED ? "bad" : "good", text);
    if (report->message && *report->message) put_paragraph(file, "message", report->message);
    if (kd_certificate_broken(&report->certificate, text, sizeof text) > 0) put_paragraph(file, "bad", text);
    for (int i = 0; i < report->nwarnings; i++) {
        kd_text(text, sizeof text, "Warning: %s", report->warnings[i]);
        put_paragraph(file, "message", text);
    }
}

// Clean or not, and what is behind it
static void put_verdict(FILE *file, const kd_certificate *c)
{
    // the sentence, then every check that is not good
    kd_clean v;
    char     text[1000];
    kd_certificate_verdict(c, &v);
    kd_text(text, sizeof text, "Verdict: %s.", v.sentence);
    put_paragraph(file, v.clean ? "good" : "bad", text);
    for (int i = 0; i < v.nchecks; i++) {
        if (v.check[i].verdict == KD_CHECK_GOOD) continue;
        kd_text(text, sizeof text, "%s, %s: %s", v.check[i].name, kd_check_word(v.check[i].verdict),
                v.check[i].sentence);
        put_paragraph(file, "message", text);
    }
}

static const char HOW_TO_READ[] =
    "How to read this. The certificate is what was checked at all steps and output points, independently of the "
    "integrator. Clean: all checks are good; what could not be looked at is named. Violations say how well the "
    "constraints hold, relative to the largest position or velocity, those of accelerations by what they do to "
    "velocities in a step: \"to rounding\" as well as the machine can, \"within tolerance\" below ten times the "
    "absolute tolerance, \"drift\" more; then take another formulation or a smaller tolerance. The energy balance is "
    "kinetic + potential + dissipated - supplied energy against its value at the start; it is judged by the error that "
    "errors of the tolerance explain; it measures accuracy, as nothing forces it to hold unless the energy is imposed "
    "as an invariant. \"run failed\" and \"exploded\" take the place of praise where there is none to give. Violations "
    "are in the units of their constraints; all numbers are in the results beside this page.";

static void where_of(const kd_largest *largest, char *text, size_t size)
{
    kd_text(text, size, "at t = %.6g s", largest->t);
    bool quoted = strchr(largest->name, '\'') != NULL; // joint 'hinge' shift along x
    if (largest->name[0]) kd_text_append(text, size, quoted ? ", %s" : ", '%s'", largest->name);
}

static void put_energy(FILE *file, const kd_certificate *c)
{
    char where[300];
    // in Joule and when, relative to what was in motion
    kd_text(where, sizeof where, "%.3g J at t = %.6g s, relative to %.4g J", c->energy.value, c->energy.t,
            c->energy_scale);
    put_check(file, "largest error of the energy balance", kd_certificate_energy_error(c), where,
              kd_certificate_energy(c));
}

static void put_certificate(FILE *file, const kd_result *report)
{
    // one row for each check: value, verdict, place
    static const char *const WHAT[KD_LEVEL_COUNT] = {"largest constraint violation, position level",
                                                     "largest constraint violation, velocity level",
                                                     "largest constraint violation, acceleration level"};
    const kd_certificate    *c = &report->certificate;
    char                     where[200];
    if (c->kind == KD_CERTIFICATE_NONE) {
        // without a certificate nothing was checked, which the verdict says
        fputs("<h2>Certificate</h2>\n", file);
        put_verdict(file, c);
        return;
    }
    fprintf(file,
            "<h2>Certificate</h2>\n<section class=\"card\"><table>\n"
            "<tr><th>check at %ld steps and output points</th><th></th><th></th><th></th></tr>\n",
            c->states);
    // constraints on each level, quaternions, energy, reference
    for (int level = 0; c->has_constraints && level < KD_LEVEL_COUNT; level++) {
        where_of(&c->level[level], where, sizeof where);
        put_check(file, WHAT[level], c->level[level].value, where, kd_certificate_level(c, (kd_level)level));
    }
    if (c->has_norms) {
        where_of(&c->norm, where, sizeof where);
        put_check(file, "largest error of a quaternion norm", c->norm.value, where, kd_certificate_norm(c));
    }
    if (c->has_energy) put_energy(file, c);
    // what a certificate of another kind does not look at is told as such
    if (c->kind == KD_CERTIFICATE_LIGHT)
        fputs("<tr><td>energy balance</td><td></td><td>not searched</td><td>light certificate</td></tr>\n", file);
    // the reference solution, where the gallery has one
    if (!isnan(report->reference_error)) {
        put_check(file, "error of the positions at the end", report->reference_error,
                  "against the reference solution, max |p - ref| / max(1e-3, |ref|)",
                  kd_certificate_reference(c, report->reference_error));
    }
    fputs("</table></section>\n", file);
    put_verdict(file, c);
    put_paragraph(file, "muted", HOW_TO_READ);
}

static void put_share(FILE *file, double part)
{
    if (part >= 0.005)
        fprintf(file, "<td class=\"n\">%.0f %%</td>", 100 * part);
    else
        fputs("<td class=\"n\">-</td>", file);
}

static void put_limiter(FILE *file, const kd_limiter *l)
{
    // its share of all, and in each kind of trouble; when and why
    char text[700];
    put_share(file, l->share);
    put_share(file, l->small);
    put_share(file, l->error);
    put_share(file, l->newton);
    fputs("<td>", file);
    kd_file_escaped(file, l->name, TEXT_LIMIT);
    kd_text(text, sizeof text, "%s; mostly from %.4g s to %.4g s. %s.", l->component, l->from, l->to, l->advice);
    fputs("</td><td class=\"muted\">", file);
    kd_file_escaped(file, text, (int)sizeof text);
    fputs("</td></tr>\n", file);
}

static void put_explanation(FILE *file, const kd_explanation *e)
{
    char text[400];
    if (!e) return;
    fputs("<h2>Who limits the steps</h2>\n<section class=\"card\">\n", file);
    // all attempts in a sentence, then a row for each limiter, then the smallest steps
    kd_text(
        text, sizeof text,
        "%ld attempts, of these rejected by the error test %ld, by Newton's method %ld, by a function %ld. Steps of "
        "%.3g s on the whole, smallest %.3g s; not limited by accuracy: %ld of %ld.",
        e->attempts, e->rejected_error, e->rejected_newton, e->refused, e->h_typical, e->h_least, e->unlimited,
        e->accepted);
    put_paragraph(file, "muted", e->attempts > 0 ? text : "The integrator tells nothing about its steps.");
    // a head only above rows
    if (e->nlimiters > 0)
        fputs("<table>\n<tr><th>share</th><th>small steps</th><th>error test</th><th>Newton</th><th>who</th>"
              "<th>when and why</th></tr>\n",
              file);
    for (int i = 0; i < e->nlimiters; i++) {
        fputs("<tr>", file);
        put_limiter(file, &e->limiter[i]);
    }
    if (e->nlimiters > 0) fputs("</table>\n", file);
    // the three smallest steps, where they were and who made them
    text[0] = '\0';
    for (int i = 0; i < e->nsteps && i < 3; i++)
        kd_text_append(text, sizeof text, "%s%.3g s at t = %.6g s (%s)", i == 0 ? "Smallest steps: " : ", ",
                       e->step[i].h, e->step[i].t, e->step[i].name);
    if (text[0]) put_paragraph(file, "muted", text);
    fputs("</section>\n", file);
}

static void put_events(FILE *file, const kd_event_log *log)
{
    char text[800], number[40];
    if (!log || !kd_event_log_describe(log, text, sizeof text)[0]) return;
    // all kinds in numbers, the first events one by one
    const int n = kd_event_log_length(log), shown = n < MAX_EVENTS ? n : MAX_EVENTS;
    fputs("<h2>Events</h2>\n<section class=\"card\">\n<p>", file);
    // counts of each kind, a line each
    for (char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end) *end++ = '\0';
        kd_file_escaped(file, line, TEXT_LIMIT);
        if (*end) fputs("<br>\n", file);
    }
    fputs("</p>\n", file);
    // the first ones one by one
    if (shown > 0) fputs("<table>\n<tr><th>t [s]</th><th>event</th><th>element</th><th></th></tr>\n", file);
    for (int i = 0; i < shown; i++) {
        const kd_logged_event *e = kd_event_log_at(log, i);
        fprintf(file, "<tr><td class=\"n\">%s</td><td>%s</td><td>",
                kd_rounded_text(e->t, "%.12g", number, sizeof number), kd_event_word(e->kind));
        kd_file_escaped(file, e->element, TEXT_LIMIT);
        fputs("</td><td class=\"muted\">", file);
        kd_file_escaped(file, e->text, TEXT_LIMIT);
        fputs("</td></tr>\n", file);
    }
    if (shown > 0) fputs("</table>\n", file);
    put_paragraph(file, "muted", "Thin vertical lines in the plots mark events, unless they are too many.");
    if (kd_event_log_total(log) > shown) {
        kd_text(text, sizeof text, "The first %d of %ld; the table of events beside this page has %s.", shown,
                kd_event_log_total(log), n < kd_event_log_total(log) ? "more of them" : "all of them");
        put_paragraph(file, "muted", text);
    }
    fputs("</section>\n", file);
}

static void put_settings(FILE *file, const kd_result *report)
{
    fputs("<div><h2>Settings</h2>\n<section class=\"card\"><table>\n", file);
    for (int i = 0; i < report->nsettings; i++) put_row(file, report->settings[i].name, report->settings[i].value);
    fputs("</table></section></div>\n", file);
}

static void put_statistics(FILE *file, const kd_result *report)
{
    char number[40];
    fputs("<div><h2>Statistics</h2>\n<section class=\"card\"><table>\n", file);
    for (int i = 0; i < KD_STATISTICS; i++) {
        kd_statistic s = kd_result_statistic(&report->certificate, i);
        // what 0 says nothing about is left out
        if (s.special && s.value == 0) continue;
        put_row(file, s.label, kd_rounded_text(s.value, s.is_count ? "%.0f" : "%.4g", number, sizeof number));
    }
    fputs("</table></section></div>\n", file);
}

static void put_facts(FILE *file, const kd_result_facts *facts)
{
    fputs("<h2>", file);
    kd_file_escaped(file, facts->title, TEXT_LIMIT);
    fputs("</h2>\n<section class=\"card\"><table>\n", file);
    for (int i = 0; i < facts->nfacts; i++) put_row(file, facts->fact[i].name, facts->fact[i].value);
    fputs("</table></section>\n", file);
    if (facts->reading) put_paragraph(file, "muted", facts->reading);
}

static void put_model(FILE *file, const kd_result *report)
{
    // equations written in C have no text
    if (!report->model_text) return;
    fputs("<h2>Model</h2>\n<section class=\"card\"><details><summary>", file);
    kd_file_escaped(file, report->model_file ? report->model_file : "model file", TEXT_LIMIT);
    fputs("</summary><pre>", file);
    kd_file_escaped_lines(file, report->model_text);
    fputs("</pre></details></section>\n", file);
}

// What moves: the viewer where it is built in, with all plots over time; else the drawing
static kd_status put_motion(FILE *file, const kd_result *report, const gallery *g)
{
    if (!has_viewer(report)) return report->drawing ? kd_drawing_write(report->drawing, report->title, file) : KD_OK;
    // titles and columns only: the viewer has the numbers in its own blocks
    kd_viewer_plot plot[MAX_PLOTS];
    int            n = 0;
    for (int i = given_plots(report); i < g->nplots; i++) {
        plot[n] = (kd_viewer_plot){.title = g->title[i],
                                   .unit = g->unit[i],
                                   .note = g->plot[i].note,
                                   .ylog = g->plot[i].ylog,
                                   .n = g->plot[i].nseries};
        memcpy(plot[n++].column, g->column[i], sizeof g->column[i]);
    }
    return kd_viewer_write(file, report, plot, n);
}

// Plots that stand still: all of them, or with the viewer those that are not over time
static void put_still_plots(FILE *file, const kd_result *report, const gallery *g)
{
    const int n = has_viewer(report) ? given_plots(report) : g->nplots;
    if (n == 0) return;
    fputs("<h2>Plots</h2>\n<div class=\"grid\">\n", file);
    for (int i = 0; i < n; i++) {
        fputs("<figure>\n", file);
        kd_svg_write(file, &g->plot[i], 1, 1);
        fputs("</figure>\n", file);
    }
    fputs("</div>\n", file);
}

kd_status kd_report_save(const kd_result *report, const char *path, char *message, size_t size)
{
    // plots refer to the recording, which lives as long as the result
    FILE     *file = NULL;
    gallery  *g = kd_alloc(sizeof *g);
    kd_status status = KD_ERR_MEMORY;
    if (!g) {
        kd_text(message, size, "out of memory while writing '%s'", path);
        goto done;
    }
    status = kd_file_open(path, &file, message, size);
    if (status < 0) goto done;
    collect_plots(g, report);

    // from what everybody wants to know to what few do: outcome, motion, certificate, events, steps, plots, settings
    put_head(file, report);
    put_end_of_run(file, report);
    status = put_motion(file, report, g);
    // what other commands report about stands in place of the certificate
    if (status < 0) goto abandon;
    if (report->facts)
        put_facts(file, report->facts);
    else
        put_certificate(file, report);
    if (report->stress) put_facts(file, report->stress);
    put_events(file, report->events);
    put_explanation(file, report->explanation);
    put_still_plots(file, report, g);
    fputs("<div class=\"grid\">\n", file);
    put_settings(file, report);
    if (!report->facts) put_statistics(file, report);
    fputs("</div>\n", file);
    put_model(file, report);
    fprintf(file, "<p class=\"muted\">kardan %s</p>\n</main>\n</body>\n</html>\n", kd_version());
    status = kd_file_close(file, path, message, size);
    goto done;
abandon:
    // a page without its motion would look complete: rather none
    kd_text(message, size, "out of memory while writing '%s'", path);
    kd_file_abandon(file, path);
done:
    if (g) kd_arena_release(&g->arena);
    kd_free(g);
    return status;
}
