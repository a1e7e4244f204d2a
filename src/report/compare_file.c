// compare_file.c: what a comparison of methods leaves behind: table, work-precision plot, page.
//
// The plot has the error over the computing time, both logarithmic, a line for each method through its tolerances: what
// lies further to the left is faster to the same accuracy.
#include "report/compare_file.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/rounded.h"
#include "core/text.h"
#include "report/report.h"
#include "report/svg.h"
#include "results/file.h"

// the usual method and the best ones; more lines cannot be told apart
enum { SHOWN = 7 }; // methods in colours
// accuracies from 1e-2 to 1e-9 at which methods are compared
enum { FIRST_DECADE = 2, LAST_DECADE = 9 };

// ---- plot -----------------------------------------------------------------------------------------------------------

typedef struct picture {
    kd_arena   arena;
    kd_series *series;
    int        nseries;
    kd_plot    plot;
    char       note[200]; // below the title; plot points to it
} picture;

// "C ode + dop853": short enough for a legend
static void name_series(const kd_comparison *c, int side, int method, char *name, size_t size)
{
    char        words[60];
    const char *from = kd_compare_method_words(&c->method[method], words, sizeof words);
    char       *plus = strstr(words, " + ");
    if (plus) memmove(plus + 1, plus + 3, strlen(plus + 3) + 1); // "ode dop853"
    // coordinates by their first letter, where there are two kinds
    kd_text(name, size, "%.1s%s%s", c->nsides > 1 ? c->side[side] : "", c->nsides > 1 ? " " : "", from);
    if (c->nsides > 1 && name[0] >= 'a' && name[0] <= 'z') name[0] = (char)(name[0] - 'a' + 'A');
}

// How good a method is: accuracies at which it is the fastest count 100, as the second 1, as the third 1/100
static double merit(const kd_comparison *c, int side, int method)
{
    double sum = 0;
    for (int decade = FIRST_DECADE; decade <= LAST_DECADE; decade++) {
        // how many are faster to this accuracy?
        double accuracy = pow(10, -decade), own = kd_comparison_time_to(c, side, method, accuracy);
        int    faster = 0;
        for (int i = 0; i < c->nsides * c->nmethods; i++)
            faster += kd_comparison_time_to(c, i / c->nmethods, i % c->nmethods, accuracy) < own;
        if (isfinite(own) && faster < 3) sum += pow(100, 1 - faster);
    }
    // the usual one is shown in any case
    return side == c->usual_side && method == c->usual_method ? INFINITY : sum;
}

// Error over computing time of one method, a point per tolerance
static void add_series(picture *p, const kd_comparison *c, int index, bool faint)
{
    int        side = index / c->nmethods, method = index % c->nmethods, points = 0;
    double    *x = kd_cut_double(&p->arena, c->tolerances), *y = kd_cut_double(&p->arena, c->tolerances);
    char      *name = kd_arena_cut(&p->arena, 1, 64);
    const bool usual = side == c->usual_side && method == c->usual_method;
    if (p->arena.failed) return;
    // runs that failed or hit the reference exactly have no place on logarithmic axes
    for (int k = 0; k < c->tolerances; k++) {
        const kd_compare_run *r = &c->run[index * c->tolerances + k];
        if (r->outcome != KD_COMPARE_DONE || !(r->error > 0)) continue;
        x[points] = r->seconds;
        y[points++] = r->error;
    }
    if (points == 0) return;
    name_series(c, side, method, name, 64);
    p->series[p->nseries++] = (kd_series){
        .name = faint ? NULL : name, .x = x, .y = y, .n = points, .markers = !faint, .faint = faint, .dashed = usual};
}

// Work-precision diagram: the best methods in colour, the others faint
static kd_status make_picture(const kd_comparison *c, const char *title, picture *p)
{
    // which methods are worth a colour?
    int     n = c->nsides * c->nmethods, shown = 0;
    double *worth;
    *p = (picture){0};
    worth = kd_cut_double(&p->arena, n);
    p->series = kd_arena_cut(&p->arena, (size_t)n, sizeof *p->series);
    if (p->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < n; i++) worth[i] = merit(c, i / c->nmethods, i % c->nmethods);
    // the best ones in colour, with names
    while (shown < SHOWN && shown < n) {
        int best = 0;
        for (int i = 1; i < n; i++)
            if (worth[i] > worth[best]) best = i;
        if (!(worth[best] > 0)) break;
        worth[best] = -1;
        shown++;
        add_series(p, c, best, false);
    }
    // the others below them, without names
    for (int i = 0; i < n; i++)
        if (worth[i] >= 0) add_series(p, c, i, true);
    // what dashes and letters mean
    kd_text(p->note, sizeof p->note, "%s%s", c->nsides > 1 ? "J: joint, C: Cartesian coordinates; " : "",
            isfinite(c->uncertainty) ? "" : "no independent method confirms the errors");
    if (isfinite(c->uncertainty))
        kd_text_append(p->note, sizeof p->note, "dashed: the usual choice; errors below %.0e are not resolved",
                       c->uncertainty);
    p->plot = (kd_plot){.title = title,
                        .note = p->note,
                        .xlabel = "computing time [s]",
                        .ylabel = "error",
                        .xlog = true,
                        .ylog = true,
                        .width = 860,
                        .height = 460,
                        .nseries = p->nseries,
                        .series = p->series};
    return p->arena.failed ? KD_ERR_MEMORY : KD_OK;
}

kd_status kd_compare_save_svg(const kd_comparison *c, const char *title, const char *path, char *message, size_t size)
{
    picture   p;
    kd_status status = make_picture(c, title, &p);
    if (status < 0)
        kd_text(message, size, "out of memory while writing '%s'", path);
    else
        status = kd_svg_save(path, &p.plot, 1, 1, message, size);
    kd_arena_release(&p.arena);
    return status;
}

// ---- table ----------------------------------------------------------------------------------------------------------

static void put_number(FILE *file, double value)
{
    char number[40];
    fputc(',', file);
    if (isfinite(value)) fputs(kd_rounded_text(value, "%.9g", number, sizeof number), file);
}

static void put_quoted(FILE *file, const char *text)
{
    fputs(",\"", file);
    for (; *text; text++) {
        if (*text == '"') fputc('"', file);
        fputc(*text == '\n' ? ' ' : *text, file);
    }
    fputc('"', file);
}

kd_status kd_compare_save_csv(const kd_comparison *c, const char *title, const char *path, char *message, size_t size)
{
    FILE     *file;
    kd_status status = kd_file_open(path, &file, message, size);
    if (status < 0) return status;
    // comments, header, one line for each run
    fprintf(file, "# kardan: %s\n# title: %s\n", kd_version(), title);
    char number[40];
    fprintf(file, "# uncertainty of the reference: %s\n",
            kd_rounded_text(c->uncertainty, "%.3g", number, sizeof number));
    fputs(
        "coordinates,formulation,integrator,projection,tolerance,outcome,steps,rejected,evaluations,jacobians,seconds,"
        "error,output_error,t_good,position_level,velocity_level,reference,message\n",
        file);
    for (int i = 0; i < c->nruns; i++) {
        // the words are "formulation + integrator, ..": what is between + and comma
        const kd_compare_run    *r = &c->run[i];
        const kd_compare_method *m = &c->method[r->method];
        const kd_stats          *s = &r->stats;
        char                     words[60];
        const char              *plus = strstr(kd_compare_method_words(m, words, sizeof words), " + ");
        fprintf(file, "%s,%s,%.*s,%s,%s,%s,%ld,%ld,%ld,%ld", c->side[r->side], kd_formulation_word(m->formulation),
                (int)strcspn(plus + 3, ","), plus + 3, m->projected ? "always" : "never",
                kd_rounded_text(r->tolerance, "%.3g", number, sizeof number), kd_compare_outcome_word(r->outcome),
                s->accepted, s->rejected_error + s->rejected_newton, s->residuals + s->for_differences, s->jacobians);
        // empty where it is not known
        put_number(file, r->seconds > 0 ? r->seconds : NAN);
        put_number(file, r->error);
        put_number(file, r->output_error);
        put_number(file, r->t_good);
        put_number(file, r->position_level);
        put_number(file, r->velocity_level);
        fprintf(file, ",%d", r->is_reference);
        put_quoted(file, r->message);
        fputc('\n', file);
    }
    return kd_file_close(file, path, message, size);
}

// ---- page -----------------------------------------------------------------------------------------------------------

static void put_cell(FILE *file, const char *style, const char *text)
{
    fprintf(file, "<td%s>", style);
    kd_file_escaped(file, text, 300);
    fputs("</td>", file);
}

static void put_figure(FILE *file, const char *format, double value)
{
    char number[40] = "";
    if (isfinite(value)) kd_rounded_text(value, format, number, sizeof number);
    put_cell(file, " class=\"n\"", number);
}

static void put_run(FILE *file, const kd_comparison *c, const kd_compare_run *r)
{
    // a run that was refused has no figures
    const kd_stats *s = &r->stats;
    char            words[60], status[320];
    // figures of a run that began; the first error of one that did not is its status
    const bool began = s->steps > 0 || s->accepted > 0;
    kd_text(status, sizeof status, "%s%s%s", r->is_reference ? "reference" : kd_compare_outcome_word(r->outcome),
            r->message[0] ? ": " : "", r->message);
    fputs("<tr>", file);
    // which run it is
    put_cell(file, "", c->side[r->side]);
    put_cell(file, "", kd_compare_method_words(&c->method[r->method], words, sizeof words));
    put_figure(file, "%.0e", r->tolerance);
    // what it cost
    put_figure(file, "%.0f", began ? (double)s->accepted : NAN);
    put_figure(file, "%.0f", began ? (double)(s->rejected_error + s->rejected_newton) : NAN);
    put_figure(file, "%.0f", began ? (double)(s->residuals + s->for_differences) : NAN);
    put_figure(file, "%.0f", began ? (double)s->jacobians : NAN);
    put_figure(file, "%.3f", began ? 1e3 * r->seconds : NAN);
    // what came out
    put_figure(file, "%.1e", r->error);
    put_figure(file, "%.1e", r->output_error);
    put_figure(file, "%.0e", began ? fmax(r->position_level, r->velocity_level) : NAN);
    put_cell(file, r->outcome == KD_COMPARE_DONE ? "" : " class=\"muted\"", status);
    fputs("</tr>\n", file);
}

// Lines of the advice; what is indented belongs to the line before
static kd_status put_advice(FILE *file, const kd_comparison *c)
{
    // its length first: the advice may be long
    size_t size = kd_comparison_advice(c, NULL, 0) + 1;
    char  *text = kd_alloc(size);
    if (!text) return KD_ERR_MEMORY;
    kd_comparison_advice(c, text, size);
    fputs("<pre style=\"white-space:pre-wrap;font:inherit\">", file);
    kd_file_escaped_lines(file, text);
    fputs("</pre>\n", file);
    kd_free(text);
    return KD_OK;
}

kd_status kd_compare_save_html(const kd_comparison *c, const char *title, const char *path, char *message, size_t size)
{
    // the plot first: without memory for it no file is begun
    FILE     *file = NULL;
    picture   p;
    kd_status status = make_picture(c, title, &p);
    if (status >= 0) status = kd_file_open(path, &file, message, size);
    if (status < 0) goto done;
    // head and diagram
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>",
          file);
    kd_file_escaped(file, title, 300);
    fprintf(file, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>", kd_report_style());
    kd_file_escaped(file, title, 300);
    fprintf(file, "</h1>\n<p class=\"muted\">Methods compared from t = %g s to %g s, kardan %s</p>\n<figure>\n",
            c->t_start, c->t_end, kd_version());
    kd_svg_write(file, &p.plot, 1, 1);
    fputs("</figure>\n<h2>Recommendation</h2>\n<section class=\"card\">\n", file);
    // recommendation, then all runs that were made
    status = put_advice(file, c);
    fputs("</section>\n<h2>Runs</h2>\n<section class=\"card\"><table>\n<tr><th>coordinates</th><th>formulation + "
          "integrator</th><th>tolerance</th><th>steps</th><th>rejected</th><th>evaluations</th><th>Jacobians</th>"
          "<th>CPU [ms]</th><th>error</th><th>of outputs</th><th>constraints</th><th>status</th></tr>\n",
          file);
    for (int i = 0; i < c->nruns; i++)
        if (c->run[i].outcome != KD_COMPARE_LEFT_OUT) put_run(file, c, &c->run[i]);
    fputs("</table></section>\n</main>\n</body>\n</html>\n", file);
    // a page without its advice is none
    if (status < 0) {
        kd_file_abandon(file, path);
        goto done;
    }
    status = kd_file_close(file, path, message, size);
done:
    if (status == KD_ERR_MEMORY) kd_text(message, size, "out of memory while writing '%s'", path);
    kd_arena_release(&p.arena);
    return status;
}
