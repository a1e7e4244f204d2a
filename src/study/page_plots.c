// page_plots.c: plots of the page of a study.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/svg.h"
#include "study/page_parts.h"

enum { MOST_PLOTS = 48, MOST_POINTS = 4000, MOST_LINES = 400, MOST_AXES = 14, SHARES = 8, STEPS = 60 };

static double output_of(const kd_study *s, int row, int output)
{
    return s->values[(size_t)row * (size_t)s->noutputs + (size_t)output];
}

// ---- outputs over parameters, with main effects ------------------------------------------------------------------------

// Points that lines do not join: a gap behind each
static int scatter(const kd_study *s, int parameter, int output, double *x, double *y)
{
    int       n = 0;
    double    value[KD_STUDY_MOST];
    const int every = 1 + s->design.nrows / MOST_POINTS;
    for (int row = 0; row < s->design.nrows; row += every) {
        if (!kd_page_is_good(s, row)) continue;
        kd_design_row(&s->design, row, value);
        x[n] = value[parameter], y[n++] = output_of(s, row, output);
        x[n] = y[n] = NAN, n++;
    }
    return n;
}

// Main effect: means of the output over equal shares of the parameter's values, from the smallest to the largest
static int main_effect(const kd_study *s, int parameter, int output, double *x, double *y)
{
    double value[KD_STUDY_MOST], low = INFINITY, high = -INFINITY, sum[SHARES] = {0}, at[SHARES] = {0};
    int    count[SHARES] = {0}, n = 0;
    // the range that the rows cover
    for (int row = 0; row < s->design.nrows; row++) {
        if (!kd_page_is_good(s, row)) continue;
        kd_design_row(&s->design, row, value);
        low = fmin(low, value[parameter]), high = fmax(high, value[parameter]);
    }
    if (!(high > low)) return 0;
    // each row belongs to the share that its value lies in
    for (int row = 0; row < s->design.nrows; row++) {
        if (!kd_page_is_good(s, row)) continue;
        kd_design_row(&s->design, row, value);
        const int share = (int)fmin(SHARES - 1, SHARES * (value[parameter] - low) / (high - low));
        sum[share] += output_of(s, row, output), at[share] += value[parameter], count[share]++;
    }
    // means; a share without rows is left out
    for (int k = 0; k < SHARES; k++)
        if (count[k] > 0) x[n] = at[k] / count[k], y[n++] = sum[k] / count[k];
    return n;
}

bool kd_page_scatter(FILE *f, const kd_study *s)
{
    const size_t room = 2 * (MOST_POINTS + 1);
    double      *memory = kd_alloc(2 * room * sizeof *memory), x[SHARES], y[SHARES];
    if (!memory) return false;
    int plots = 0;
    (void)fputs("<h2>Outputs over parameters</h2><p>Points are rows, lines their means in eighths of the range: main "
                "effects.</p>\n",
                f);
    // each output over each parameter, as many as a page holds
    for (int i = 0; i < s->noutputs; i++)
        for (int j = 0; j < s->nparameters && plots < MOST_PLOTS; j++, plots++) {
            const kd_series series[2] = {{.x = x, .y = y, .n = main_effect(s, j, i, x, y)},
                                         {.x = memory,
                                          .y = memory + room,
                                          .n = scatter(s, j, i, memory, memory + room),
                                          .markers = true,
                                          .faint = true}};
            const kd_plot   plot = {.xlabel = s->parameter[j],
                                    .ylabel = s->output[i].name,
                                    .nseries = 2,
                                    .series = series,
                                    .width = 420,
                                    .height = 260};
            kd_svg_write(f, &plot, 1, 1);
        }
    kd_free(memory);
    return true;
}

// ---- parallel coordinates -------------------------------------------------------------------------------------------

// Parameters first, then outputs
static double axis_value(const kd_study *s, int row, const double *value, int axis)
{
    return axis < s->nparameters ? value[axis] : output_of(s, row, axis - s->nparameters);
}

// Blue for small, red for large values of the last axis
static void put_line(FILE *f, int axes, const double *share)
{
    const double last = share[axes - 1];
    (void)fprintf(f, "<polyline fill=\"none\" stroke=\"rgb(%.0f,80,%.0f)\" stroke-opacity=\"0.45\" points=\"",
                  40 + 200 * last, 240 - 200 * last);
    for (int k = 0; k < axes; k++) (void)fprintf(f, "%.1f,%.1f ", 60 + 940.0 * k / (axes - 1), 250 - 220 * share[k]);
    (void)fputs("\"/>", f);
}

static void put_axis(FILE *f, const kd_study *s, int k, int axes, double low, double high)
{
    const double x = 60 + 940.0 * k / (axes - 1);
    (void)fprintf(f,
                  "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"30\" y2=\"250\" stroke=\"#333\"/><g font-size=\"11\" "
                  "text-anchor=\"middle\" fill=\"#222\">",
                  x, x);
    (void)fprintf(f,
                  "<text x=\"%.1f\" y=\"22\">%.4g</text><text x=\"%.1f\" y=\"264\">%.4g</text><text x=\"%.1f\" "
                  "y=\"282\" font-weight=\"bold\">",
                  x, high, x, low, x);
    kd_page_text(f, k < s->nparameters ? s->parameter[k] : s->output[k - s->nparameters].name);
    (void)fputs("</text></g>", f);
}

bool kd_page_parallel(FILE *f, const kd_study *s)
{
    double    low[MOST_AXES], high[MOST_AXES], value[KD_STUDY_MOST], share[MOST_AXES];
    const int all = s->nparameters + s->noutputs, axes = all < MOST_AXES ? all : MOST_AXES;
    int       good = 0, drawn = 0;
    // ranges of all axes
    for (int k = 0; k < axes; k++) low[k] = INFINITY, high[k] = -INFINITY;
    for (int row = 0; row < s->design.nrows; row++) {
        if (!kd_page_is_good(s, row)) continue;
        good++;
        kd_design_row(&s->design, row, value);
        for (int k = 0; k < axes; k++) {
            const double y = axis_value(s, row, value, k);
            low[k] = fmin(low[k], y), high[k] = fmax(high[k], y);
        }
    }
    if (good < 2 || axes < 2) return true;
    (void)fputs("<h2>Parallel coordinates</h2><p>A line is a row; its colour is its place on the last axis, from blue "
                "(small) to red (large).</p>\n"
                "<svg viewBox=\"0 0 1060 292\" width=\"1060\" height=\"292\" font-family=\"sans-serif\">",
                f);
    // some of very many rows, evenly
    const int every = 1 + (good - 1) / MOST_LINES;
    for (int row = 0; row < s->design.nrows; row++) {
        if (!kd_page_is_good(s, row) || drawn++ % every != 0) continue;
        kd_design_row(&s->design, row, value);
        for (int k = 0; k < axes; k++)
            share[k] = high[k] > low[k] ? (axis_value(s, row, value, k) - low[k]) / (high[k] - low[k]) : 0.5;
        put_line(f, axes, share);
    }
    // axes over the lines
    for (int k = 0; k < axes; k++) put_axis(f, s, k, axes, low[k], high[k]);
    (void)fputs("</svg>\n", f);
    return true;
}

// ---- convergence ----------------------------------------------------------------------------------------------------

// Mean and the ends of its interval by the first n rows that are good, at some n
static int running_means(const kd_study *s, int output, double *n, double *mean, double *low, double *high)
{
    int    count = 0, points = 0, rows = 0;
    double sum = 0, square = 0;
    for (int row = 0; row < s->design.nrows; row++) rows += kd_page_is_good(s, row);
    const int every = 1 + rows / STEPS;
    for (int row = 0; row < s->design.nrows; row++) {
        if (!kd_page_is_good(s, row)) continue;
        // Welford's sums
        const double y = output_of(s, row, output), d = y - sum;
        sum += d / ++count, square += d * (y - sum);
        if (count < 2 || (count % every != 0 && count != rows)) continue;
        const double error = 1.959963984540054 * sqrt(square / (count - 1) / count);
        n[points] = count, mean[points] = sum, low[points] = sum - error, high[points++] = sum + error;
    }
    return points;
}

bool kd_page_convergence(FILE *f, const kd_study *s)
{
    const kd_design_kind kind = s->design.kind;
    double               x[4][STEPS + 3];
    if (kind != KD_DESIGN_LATIN && kind != KD_DESIGN_SOBOL && kind != KD_DESIGN_MONTE_CARLO) return true;
    (void)fputs("<h2>Convergence</h2><p>Means over the number of rows, with their 95 % intervals.</p>\n", f);
    for (int i = 0; i < s->noutputs && i < MOST_PLOTS / 4; i++) {
        const int       n = running_means(s, i, x[0], x[1], x[2], x[3]);
        const kd_series series[3] = {{.x = x[0], .y = x[1], .n = n},
                                     {.x = x[0], .y = x[2], .n = n, .dashed = true, .faint = true},
                                     {.x = x[0], .y = x[3], .n = n, .dashed = true, .faint = true}};
        const kd_plot   plot = {
              .xlabel = "rows", .ylabel = s->output[i].name, .nseries = 3, .series = series, .width = 420, .height = 260};
        if (n > 1) kd_svg_write(f, &plot, 1, 1);
    }
    return true;
}

// ---- indices and effects ----------------------------------------------------------------------------------------------

// A bar with its interval
static void put_bar(FILE *f, double y, double scale, kd_estimate e, const char *colour)
{
    if (isnan(e.value)) return;
    const double low = fmax(0, isnan(e.low) ? e.value : e.low), high = isnan(e.high) ? e.value : e.high;
    (void)fprintf(f, "<rect x=\"150\" y=\"%.1f\" width=\"%.1f\" height=\"7\" fill=\"%s\"/>", y,
                  fmax(0, e.value) * scale, colour);
    (void)fprintf(f, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#222\"/>", 150 + low * scale,
                  150 + high * scale, y + 3.5, y + 3.5);
}

static void put_bars(FILE *f, const kd_study *s, int output, bool morris)
{
    // one scale for all bars: indices end at 1, effects at the largest of them
    double most = morris ? 0 : 1;
    for (int j = 0; j < s->nparameters && morris; j++) most = fmax(most, kd_study_effect(s, output, j).high);
    const double scale = most > 0 ? 250 / most : 0;
    const int    height = 30 + 22 * s->nparameters;
    (void)fprintf(f,
                  "<svg viewBox=\"0 0 430 %d\" width=\"430\" height=\"%d\" font-family=\"sans-serif\" "
                  "font-size=\"12\"><text x=\"4\" y=\"14\" font-weight=\"bold\">",
                  height, height);
    kd_page_text(f, s->output[output].name);
    (void)fputs("</text>", f);
    // a bar for the first order or mean, one below it for the total or deviation
    for (int j = 0; j < s->nparameters; j++) {
        const double y = 24 + 22 * j;
        (void)fprintf(f, "<text x=\"144\" y=\"%.1f\" text-anchor=\"end\">", y + 11);
        kd_page_text(f, s->parameter[j]);
        (void)fputs("</text>", f);
        put_bar(f, y, scale, morris ? kd_study_effect(s, output, j) : kd_study_index(s, output, j, false), "#2563eb");
        put_bar(f, y + 9, scale, morris ? kd_study_effect_deviation(s, output, j) : kd_study_index(s, output, j, true),
                "#f59e0b");
    }
    (void)fputs("</svg>\n", f);
}

bool kd_page_index_plots(FILE *f, const kd_study *s)
{
    const bool morris = s->design.kind == KD_DESIGN_MORRIS;
    if (!morris && s->design.kind != KD_DESIGN_SENSITIVITY) return true;
    (void)fprintf(f, "<p>Blue: %s; amber: %s. Lines are 95 %% intervals.</p>\n",
                  morris ? "mean size of the effects" : "first order", morris ? "their deviation" : "total");
    for (int i = 0; i < s->noutputs && i < MOST_PLOTS / 4; i++) put_bars(f, s, i, morris);
    return true;
}
