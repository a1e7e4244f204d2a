// page_search.c: searches on the page of a study: what they found, how, and the front.
#include <math.h>
#include <string.h>

#include "report/svg.h"
#include "study/page_parts.h"

enum { MOST_ROWS = 60, MOST_SERIES = 12, MOST_POINTS = 4000 };

static void put_row(FILE *f, const kd_study *s, int row)
{
    double value[KD_STUDY_MOST];
    kd_design_row(&s->design, row, value);
    for (int i = 0; i < s->nparameters && i < 8; i++) kd_page_number(f, value[i]);
    for (int i = 0; i < s->noutputs && i < 8; i++)
        kd_page_number(f, s->values[(size_t)row * (size_t)s->noutputs + (size_t)i]);
}

static void put_heads(FILE *f, const kd_study *s)
{
    for (int i = 0; i < s->nparameters && i < 8; i++)
        (void)fputs("<th>", f), kd_page_text(f, s->parameter[i]), (void)fputs("</th>", f);
    for (int i = 0; i < s->noutputs && i < 8; i++)
        (void)fputs("<th>", f), kd_page_text(f, s->output[i].name), (void)fputs("</th>", f);
    (void)fputs("</tr>\n", f);
}

static const char *objective_name(const kd_study *s, int i)
{
    return s->output[s->search.objective[i].output].name;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

static void put_best(FILE *f, const kd_study *s)
{
    (void)fputs("<h2>The best</h2><table><tr><th>objective</th><th>row</th>", f);
    put_heads(f, s);
    // a row for each objective, with its parameters and outputs
    for (int i = 0; i < s->search.nobjectives; i++) {
        const int row = kd_study_best(s, i);
        (void)fputs("<tr><td>", f);
        kd_page_text(f, objective_name(s, i));
        (void)fputs(s->search.objective[i].sign < 0 ? ", largest</td>" : ", smallest</td>", f);
        if (row < 0) {
            (void)fputs("<td class=\"text\">no run keeps all constraints</td></tr>\n", f);
            continue;
        }
        // pages of rows exist where there is a model to draw
        if (s->model)
            (void)fprintf(f, "<td><a href=\"row-%d.html\">%d</a></td>", row, row);
        else
            (void)fprintf(f, "<td>%d</td>", row);
        put_row(f, s, row);
        (void)fputs("</tr>\n", f);
    }
    (void)fputs("</table>\n", f);
    // the constraints that it keeps
    for (int i = 0; i < s->search.nconstraints; i++) {
        (void)fputs(i == 0 ? "<p>Constraints: <code>" : ", <code>", f);
        kd_page_text(f, s->search.constraint[i].text);
        (void)fputs("</code>", f);
    }
    if (s->search.nconstraints > 0) (void)fputs("</p>\n", f);
}

static void put_searches(FILE *f, const kd_study *s)
{
    (void)fputs("<h2>Searches</h2><table><tr><th>search</th><th>for</th><th>runs</th><th>end</th><th>best row</th>", f);
    put_heads(f, s);
    for (int i = 0; i < s->search.nsearches && i < MOST_ROWS; i++) {
        const kd_study_search q = kd_study_search_of(s, i);
        (void)fprintf(f, "<tr><td>%d</td><td class=\"text\">", i);
        kd_page_text(f, q.objective >= 0 ? objective_name(s, q.objective) : "the front");
        (void)fprintf(f, "</td><td>%d</td><td class=\"text\">%s</td>", q.runs, q.done ? q.end : "not done");
        if (q.best < 0) {
            (void)fputs("<td>-</td></tr>\n", f);
            continue;
        }
        (void)fprintf(f, "<td>%d</td>", q.best);
        put_row(f, s, q.best);
        (void)fputs("</tr>\n", f);
    }
    (void)fputs("</table>\n", f);
}

// ---- plots ----------------------------------------------------------------------------------------------------------

// The best feasible value so far over the runs of a search
static int best_so_far(const kd_study *s, const kd_study_search *q, double *x, double *y)
{
    int    n = 0;
    double best = NAN;
    for (int i = 0; i < q->runs && n < MOST_POINTS; i++) {
        if (kd_study_feasible(s, q->first + i)) {
            const double value = kd_search_objective(s, q->first + i, q->objective);
            if (!(best <= value)) best = value;
        }
        x[n] = i + 1, y[n++] = best * s->search.objective[q->objective].sign;
    }
    return n;
}

static bool put_convergence(FILE *f, const kd_study *s)
{
    double   *memory = kd_alloc((size_t)2 * MOST_SERIES * MOST_POINTS * sizeof *memory);
    kd_series series[MOST_SERIES];
    char      name[MOST_SERIES][40];
    if (!memory) return false;
    (void)fputs(
        "<h2>Convergence</h2><p>Best value so far that keeps all constraints, over the runs of each search.</p>\n", f);
    // a plot for each objective, a line for each start
    for (int i = 0; i < s->search.nobjectives; i++) {
        int n = 0;
        for (int k = 0; k < s->search.starts && n < MOST_SERIES; k++) {
            const kd_study_search q = kd_study_search_of(s, i * s->search.starts + k);
            double               *x = memory + (size_t)2 * MOST_POINTS * (size_t)n, *y = x + MOST_POINTS;
            (void)snprintf(name[n], sizeof name[n], "start %d", k + 1);
            series[n] = (kd_series){
                .name = s->search.starts > 1 ? name[n] : NULL, .x = x, .y = y, .n = best_so_far(s, &q, x, y)};
            n++;
        }
        const kd_plot plot = {.xlabel = "runs",
                              .ylabel = objective_name(s, i),
                              .nseries = n,
                              .series = series,
                              .width = 520,
                              .height = 300};
        kd_svg_write(f, &plot, 1, 1);
    }
    kd_free(memory);
    return true;
}

// The front of two objectives before all feasible rows
static bool put_front_plot(FILE *f, const kd_study *s, int a, int b)
{
    const int rows = s->design.nrows, n = kd_study_front(s, NULL, 0);
    int      *row = kd_alloc((size_t)(n + 1) * sizeof *row);
    double   *memory = kd_alloc(((size_t)4 * (size_t)rows + (size_t)2 * (size_t)n + 8) * sizeof *memory);
    // signs: what is largest is kept as the smallest of its negative
    if (row && memory) {
        double *x = memory, *y = x + 2 * rows, *u = y + 2 * rows, *v = u + n;
        int     points = 0;
        (void)kd_study_front(s, row, n);
        for (int i = 0; i < n; i++) {
            u[i] = kd_search_objective(s, row[i], a) * s->search.objective[a].sign;
            v[i] = kd_search_objective(s, row[i], b) * s->search.objective[b].sign;
        }
        // rows that keep all constraints, each a point of its own
        for (int i = 0; i < rows; i++) {
            if (!kd_study_feasible(s, i)) continue;
            x[points] = kd_search_objective(s, i, a) * s->search.objective[a].sign;
            y[points++] = kd_search_objective(s, i, b) * s->search.objective[b].sign;
            x[points] = y[points] = NAN, points++;
        }
        const kd_series series[2] = {{.name = "front", .x = u, .y = v, .n = n, .markers = true},
                                     {.name = "rows", .x = x, .y = y, .n = points, .markers = true, .faint = true}};
        const kd_plot   plot = {.xlabel = objective_name(s, a),
                                .ylabel = objective_name(s, b),
                                .nseries = 2,
                                .series = series,
                                .width = 640,
                                .height = 400};
        kd_svg_write(f, &plot, 1, 1);
    }
    const bool good = row && memory;
    kd_free(row);
    kd_free(memory);
    return good;
}

static bool put_front(FILE *f, const kd_study *s)
{
    bool good = true;
    if (s->search.nobjectives < 2) return true;
    (void)fputs("<h2>Front</h2><p>Rows that no other beats in everything.</p>\n", f);
    for (int a = 0; a < s->search.nobjectives; a++)
        for (int b = a + 1; b < s->search.nobjectives; b++) good = good && put_front_plot(f, s, a, b);
    // some of them, evenly
    const int n = kd_study_front(s, NULL, 0);
    int      *row = kd_alloc((size_t)(n + 1) * sizeof *row);
    if (!row) return false;
    (void)kd_study_front(s, row, n);
    (void)fputs("<table><tr><th>row</th>", f);
    put_heads(f, s);
    for (int i = 0; i < n; i += 1 + (n - 1) / MOST_ROWS) {
        (void)fprintf(f, "<tr><td>%d</td>", row[i]);
        put_row(f, s, row[i]);
        (void)fputs("</tr>\n", f);
    }
    (void)fputs("</table>\n", f);
    kd_free(row);
    return good;
}

bool kd_page_searches(FILE *f, const kd_study *s)
{
    if (s->search.nobjectives == 0) return true;
    put_best(f, s);
    const bool good = put_front(f, s) && put_convergence(f, s);
    put_searches(f, s);
    return good;
}
