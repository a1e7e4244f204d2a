// svg.c: line plots as SVG text. Everything is placed by hand: margins from estimated label widths, ticks at 1, 2 or 5
// times a power of ten, colours from the palette of Okabe and Ito, which colour-blind readers can tell apart.
#include "report/svg.h"

#include <math.h>
#include <string.h>

#include "core/rounded.h"
#include "core/text.h"
#include "results/file.h"

enum {
    DEFAULT_WIDTH = 640,
    DEFAULT_HEIGHT = 340,
    MAX_LEGEND = 14,     // lines of a legend; the rest is counted
    MAX_NAME = 24,       // characters of a name in the legend
    MAX_X_TICKS = 8,     // ticks wanted at most
    MAX_Y_TICKS = 7,     // the same
    MAX_MARKS = 100,     // vertical lines; more would hide the plot
    POINTS_PER_LINE = 8, // of a path, to keep lines of the file short
    MOST_POINTS = 4000,  // of a line that is drawn as it is
    MOST_BLOCKS = 4000   // of a longer one whose x goes back and forth
};

static const double COLUMN = 0.5; // [px] of a longer one; screens with fine pixels show half of one

static const double CHARACTER = 7.4;   // [px] mean width of a character of 12 px
static const double MARK_DISTANCE = 3; // [px] marks that are closer are drawn once
static const double LARGEST = 1e300;   // values beyond are treated as missing, so that differences stay finite

static const char *const PALETTE[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#404040"};
enum { COLOURS = sizeof PALETTE / sizeof PALETTE[0] };
static const char *const DASHES[] = {"", "7 3", "2 3", "9 3 2 3"}; // when the colours are used up

static const char MARK[] = "class=\"mark\" stroke=\"#cdb7de\" stroke-width=\"0.7\"";

// ---- axes -----------------------------------------------------------------------------------------------------------

// Smallest of 1, 2, 5 times a power of ten that is >= x
static double nice_step(double x)
{
    // x = lead 10^k, 1 <= lead < 10; the slack is for powers of ten that rounding has missed
    double power = pow(10.0, floor(log10(x)));
    double lead = x / power;
    return power * (lead <= 1.0 + 1e-9 ? 1.0 : lead <= 2.0 + 1e-9 ? 2.0 : lead <= 5.0 + 1e-9 ? 5.0 : 10.0);
}

// Whole decades
static kd_plot_axis log_axis(double low, double high, int max_ticks)
{
    // ends at whole decades, at least one apart; every decade has a tick as long as there is room
    kd_plot_axis axis = {.log = true};
    axis.low = floor(log10(low) + 1e-9);
    axis.high = ceil(log10(high) - 1e-9);
    if (axis.high <= axis.low) axis.high = axis.low + 1.0;
    axis.step = ceil((axis.high - axis.low) / max_ticks);
    axis.first = axis.low;
    axis.nticks = (int)floor((axis.high - axis.low) / axis.step) + 1;
    return axis;
}

kd_plot_axis kd_svg_axis(double low, double high, bool log, int max_ticks)
{
    // without data any decades will do
    if (log) return low > high ? log_axis(0.1, 10.0, max_ticks) : log_axis(low, high, max_ticks);

    kd_plot_axis axis = {0};
    if (low > high) low = 0.0, high = 1.0;
    // range, with room where it is none
    double size = fmax(fabs(low), fabs(high));
    if (high - low <= 1e-12 * size || size < 1e-290) { // constant up to rounding: room above and below
        double room = size < 1e-290 ? 1.0 : 0.1 * size;
        double middle = 0.5 * low + 0.5 * high;
        low = middle - room;
        high = middle + room;
        size = fmax(fabs(low), fabs(high));
    }
    // ticks at whole multiples of the step inside the range
    axis.step = nice_step((high - low) / max_ticks);
    axis.first = ceil(low / axis.step - 1e-6) * axis.step;
    axis.nticks = (int)floor((high - axis.first) / axis.step + 1e-6) + 1;
    axis.low = low;
    axis.high = high;
    // labels between 0.001 and 99999 are written plainly, others with a common power of ten
    int magnitude = (int)floor(log10(size) + 1e-9);
    if (magnitude >= 5 || magnitude <= -3) axis.exponent = magnitude;
    int last_digit = (int)floor(log10(axis.step) + 1e-9) - axis.exponent;
    axis.decimals = last_digit < 0 ? (last_digit < -12 ? 12 : -last_digit) : 0;
    return axis;
}

static double tick_at(const kd_plot_axis *axis, int i)
{
    // the sum of rounding errors at zero would be labelled -0.00
    double value = axis->first + i * axis->step;
    return fabs(value) < 1e-9 * axis->step ? 0.0 : value; // 0, not -1e-17
}

static const char *tick_label(const kd_plot_axis *axis, int i, char *buffer, size_t size)
{
    char format[16];
    kd_text(format, sizeof format, "%%.%df", axis->decimals);
    kd_rounded_text(tick_at(axis, i) / pow(10.0, axis->exponent), format, buffer, size);
    return buffer;
}

// ---- data -----------------------------------------------------------------------------------------------------------

static double value_at(const double *values, int stride, int i)
{
    return values[(size_t)i * (size_t)(stride > 0 ? stride : 1)];
}

static bool is_usable(double value, bool log)
{
    return fabs(value) <= LARGEST && (!log || value >= 1 / LARGEST);
}

// Point i of a series on this plot, in the coordinates of the axes; false: missing
static bool point_of(const kd_plot *plot, const kd_series *series, int i, double *x, double *y)
{
    // in the coordinates of the data; place() makes pixels of them
    *x = value_at(series->x, series->xstride, i);
    *y = value_at(series->y, series->ystride, i);
    return is_usable(*x, plot->xlog) && is_usable(*y, plot->ylog);
}

static void extend(double value, double *low, double *high)
{
    if (value < *low) *low = value;
    if (value > *high) *high = value;
}

// ---- drawing --------------------------------------------------------------------------------------------------------

// A plot while it is drawn: axes and the rectangle inside them [px]
typedef struct frame {
    FILE          *file;
    const kd_plot *plot;
    kd_plot_axis   xaxis, yaxis;
    double         left, top, right, bottom; // of that rectangle
    double         width, height;            // of the whole plot
    int            nlisted;                  // entries of the legend
    bool           has_data;                 // at least one point can be shown
} frame;

static double place(const kd_plot_axis *axis, double value, double from, double to)
{
    // log axes are linear in the exponent
    double position = axis->log ? log10(value) : value;
    return from + (to - from) * ((position - axis->low) / (axis->high - axis->low));
}

// All numbers of the picture go through here: two decimals, point in every locale
static void put_number(FILE *file, const char *before, double value)
{
    char number[40];
    fputs(before, file);
    fputs(kd_rounded_text(value, "%.2f", number, sizeof number), file);
}

static void put_line(frame *f, double x1, double y1, double x2, double y2, const char *style)
{
    put_number(f->file, "<path d=\"M", x1);
    put_number(f->file, " ", y1);
    put_number(f->file, "L", x2);
    put_number(f->file, " ", y2);
    fprintf(f->file, "\" %s/>\n", style);
}

static void put_text(frame *f, double x, double y, const char *style, const char *text)
{
    put_number(f->file, "<text x=\"", x);
    put_number(f->file, "\" y=\"", y);
    fprintf(f->file, "\" %s>", style);
    kd_file_escaped(f->file, text, 200);
    fputs("</text>\n", f->file);
}

// 10 with an exponent, "x 10^-5" above a linear axis if product
static void put_power(frame *f, double x, double y, const char *style, bool product, int exponent)
{
    put_number(f->file, "<text x=\"", x);
    put_number(f->file, "\" y=\"", y);
    fprintf(f->file, "\" %s>%s10<tspan dy=\"-5\" font-size=\"9\">%d</tspan></text>\n", style, product ? "\xC3\x97" : "",
            exponent);
}

// Axes that hold all points
static void find_axes(frame *f)
{
    double xlow = INFINITY, xhigh = -INFINITY, ylow = INFINITY, yhigh = -INFINITY;
    // smallest and largest values of all points that can be shown
    for (int k = 0; k < f->plot->nseries; k++) {
        const kd_series *series = &f->plot->series[k];
        for (int i = 0; i < series->n; i++) {
            double x, y;
            if (!point_of(f->plot, series, i, &x, &y)) continue;
            extend(x, &xlow, &xhigh);
            extend(y, &ylow, &yhigh);
        }
        if (series->name) f->nlisted++;
    }
    // an empty plot has axes, too
    f->has_data = xlow <= xhigh;
    if (!f->plot->ylog && ylow < yhigh) { // some air above and below
        double air = 0.04 * (yhigh - ylow);
        ylow -= air;
        yhigh += air;
    }
    // ticks at round numbers, or at powers of ten
    f->xaxis = kd_svg_axis(xlow, xhigh, f->plot->xlog, MAX_X_TICKS);
    f->yaxis = kd_svg_axis(ylow, yhigh, f->plot->ylog, MAX_Y_TICKS);
}

// Margins from the text that they must hold
static void find_frame(frame *f)
{
    // longest label of the y axis, longest name of the legend
    double widest = f->yaxis.log ? 4 : 0;
    for (int i = 0; !f->yaxis.log && i < f->yaxis.nticks; i++) {
        char label[40];
        widest = fmax(widest, (double)strlen(tick_label(&f->yaxis, i, label, sizeof label)));
    }
    double legend = 0;
    for (int k = 0; f->nlisted > 1 && k < f->plot->nseries; k++) {
        const char *name = f->plot->series[k].name;
        if (name) legend = fmax(legend, fmin((double)strlen(name), MAX_NAME));
    }
    // label of the axis, tick labels, legend: what is not there takes no room
    f->left = 16 + CHARACTER * widest + (f->plot->ylabel ? 18 : 0);
    f->right = f->width - 16 - (legend > 0 ? CHARACTER * legend + 36 : 0);
    f->top = 14 + (f->plot->title ? 22 : 0) + (f->plot->note ? 16 : 0) + (f->yaxis.exponent ? 10 : 0);
    f->bottom = f->height - 30 - (f->plot->xlabel ? 18 : 0);
}

static void draw_x_axis(frame *f)
{
    // a grid line with its label, for each tick; a power of ten common to all stands at the end
    for (int i = 0; i < f->xaxis.nticks; i++) {
        double tick = tick_at(&f->xaxis, i);
        double x = place(&f->xaxis, f->xaxis.log ? pow(10.0, tick) : tick, f->left, f->right);
        put_line(f, x, f->top, x, f->bottom, "stroke=\"#e3e6ea\"");
        if (f->xaxis.log) {
            put_power(f, x, f->bottom + 18, "text-anchor=\"middle\"", false, (int)lround(tick));
        } else {
            char label[40];
            put_text(f, x, f->bottom + 18, "text-anchor=\"middle\"", tick_label(&f->xaxis, i, label, sizeof label));
        }
    }
    if (f->xaxis.exponent) put_power(f, f->right, f->bottom + 34, "text-anchor=\"end\"", true, f->xaxis.exponent);
    if (f->plot->xlabel) {
        put_text(f, 0.5 * (f->left + f->right), f->bottom + 37, "text-anchor=\"middle\"", f->plot->xlabel);
    }
}

static void draw_y_axis(frame *f)
{
    // a line across for each tick, its number at the left
    for (int i = 0; i < f->yaxis.nticks; i++) {
        double tick = tick_at(&f->yaxis, i);
        double y = place(&f->yaxis, f->yaxis.log ? pow(10.0, tick) : tick, f->bottom, f->top);
        put_line(f, f->left, y, f->right, y, "stroke=\"#e3e6ea\"");
        if (f->yaxis.log) {
            put_power(f, f->left - 8, y + 4, "text-anchor=\"end\"", false, (int)lround(tick));
        } else {
            char label[40];
            put_text(f, f->left - 8, y + 4, "text-anchor=\"end\"", tick_label(&f->yaxis, i, label, sizeof label));
        }
    }
    // what all numbers are multiplied by stands once, above the axis
    if (f->yaxis.exponent) put_power(f, f->left, f->top - 6, "", true, f->yaxis.exponent);
    // the quantity, upright beside the axis
    if (f->plot->ylabel) {
        put_number(f->file, "<g transform=\"translate(14 ", 0.5 * (f->top + f->bottom));
        fputs(") rotate(-90)\">", f->file);
        put_text(f, 0, 0, "text-anchor=\"middle\"", f->plot->ylabel);
        fputs("</g>\n", f->file);
    }
}

// Place of mark i; false: outside, or as good as the one before, which was at last
static bool mark_at(const frame *f, int i, double last, double *x)
{
    if (!is_usable(f->plot->mark[i], f->xaxis.log)) return false;
    *x = place(&f->xaxis, f->plot->mark[i], f->left, f->right);
    return *x >= f->left && *x <= f->right && !(*x < last + MARK_DISTANCE);
}

static void draw_marks(frame *f)
{
    // the same rule counts and draws: marks that are too close are one
    double x, last = -HUGE_VAL;
    int    count = 0;
    if (!f->has_data) return;
    // count first: too many would hide the plot
    for (int i = 0; i < f->plot->nmarks; i++)
        if (mark_at(f, i, last, &x)) last = x, count++;
    if (count > MAX_MARKS) return;
    last = -HUGE_VAL;
    for (int i = 0; i < f->plot->nmarks; i++)
        if (mark_at(f, i, last, &x)) put_line(f, x, f->top, x, f->bottom, MARK), last = x;
}

// Colours first, then dashes
static void put_stroke(frame *f, const kd_series *series, int k)
{
    // what the caller asks for comes first, then the dashes of the second round of colours
    const char *dash = series->dotted   ? "1 3"
                       : series->dashed ? "6 4"
                       : series->faint  ? ""
                                        : DASHES[(k / COLOURS) % (int)(sizeof DASHES / sizeof DASHES[0])];
    if (series->faint)
        fputs("stroke=\"#cfd4da\" stroke-width=\"1\"", f->file);
    else
        fprintf(f->file, "stroke=\"%s\" stroke-width=\"1.6\"", PALETTE[k % COLOURS]);
    if (*dash) fprintf(f->file, " stroke-dasharray=\"%s\"", dash);
}

// ---- lines ----------------------------------------------------------------------------------------------------------

typedef struct point {
    double x, y; // [px]
    int    i;
} point;

// A line while it is drawn. Long ones are thinned to what a screen shows: of the points that follow each other in one
// column of COLUMN pixels only the first, the lowest, the highest and the last are drawn, in their order; the picture
// is the same, peaks of a single point included. Where x goes back and forth, blocks of points take the place of
// columns.
typedef struct line {
    frame *f;
    bool   thins, pen_down;
    int    block;              // points of a block; 0: columns
    int    drawn;              // points
    double last_x, last_y;     // of the last one drawn
    int    held;               // points of this column behind its first
    double column;             // its number
    point  extreme[5], latest; // lowest and highest y, x, and the latest
} line;

// Points that fall on the same tenth of a pixel as the last one are left out
static void put_point(line *l, double x, double y)
{
    // a path has thousands of points: what nobody sees is left out
    if (l->pen_down && fabs(x - l->last_x) < 0.1 && fabs(y - l->last_y) < 0.1) return;
    if (l->drawn > 0 && l->drawn % POINTS_PER_LINE == 0) fputc('\n', l->f->file);
    put_number(l->f->file, l->pen_down ? "L" : "M", x);
    put_number(l->f->file, " ", y);
    if (!l->pen_down) fputs("h0", l->f->file); // a single point shows as a dot
    l->pen_down = true;
    l->last_x = x;
    l->last_y = y;
    l->drawn++;
}

// What is held of a column, in the order of the points
static void end_column(line *l)
{
    if (l->held == 0) return;
    // extremes belong to points of the line: drawn in the order of their numbers
    int last = -1;
    l->extreme[4] = l->latest;
    for (int n = 0; n < 5; n++) {
        // of the extremes the next one in the order of the line
        int next = -1;
        // columns need lowest and highest y, blocks also those of x
        for (int k = l->block > 0 ? 0 : 2; k < 5; k++)
            if (l->extreme[k].i > last && (next < 0 || l->extreme[k].i < l->extreme[next].i)) next = k;
        if (next < 0) break;
        last = l->extreme[next].i;
        put_point(l, l->extreme[next].x, l->extreme[next].y);
    }
    l->held = 0;
}

// Extremes of a column so far
static void hold(line *l, point p)
{
    if (l->held == 0)
        for (int k = 0; k < 4; k++) l->extreme[k] = p;
    if (p.x < l->extreme[0].x) l->extreme[0] = p;
    if (p.x > l->extreme[1].x) l->extreme[1] = p;
    if (p.y < l->extreme[2].y) l->extreme[2] = p;
    if (p.y > l->extreme[3].y) l->extreme[3] = p;
    l->latest = p;
    l->held++;
}

// The first point of a column is drawn, the others are held
static void add_point(line *l, point p)
{
    const double column = l->block > 0 ? p.i / l->block : floor(p.x / COLUMN);
    if (!l->thins) {
        put_point(l, p.x, p.y);
    } else if (l->pen_down && column == l->column) {
        hold(l, p);
    } else {
        end_column(l);
        put_point(l, p.x, p.y);
        l->column = column;
    }
}

static bool is_monotone(const frame *f, const kd_series *series)
{
    // missing points do not turn it
    double last = NAN;
    int    direction = 0;
    for (int i = 0; i < series->n; i++) {
        double x, y;
        if (!point_of(f->plot, series, i, &x, &y)) continue;
        // the direction may not change
        const int turn = (x > last) - (x < last);
        if (turn * direction < 0) return false;
        if (turn != 0) direction = turn;
        last = x;
    }
    return true;
}

static void draw_line(frame *f, const kd_series *series)
{
    line l = {.f = f, .thins = series->n > MOST_POINTS, .last_x = NAN, .last_y = NAN};
    // columns of pixels where x goes one way, else blocks of points
    if (l.thins && !is_monotone(f, series)) l.block = series->n / MOST_BLOCKS + 1;
    for (int i = 0; i < series->n; i++) {
        double x, y;
        // a missing point lifts the pen
        if (point_of(f->plot, series, i, &x, &y)) {
            add_point(&l, (point){place(&f->xaxis, x, f->left, f->right), place(&f->yaxis, y, f->bottom, f->top), i});
        } else {
            end_column(&l);
            l.pen_down = false;
        }
    }
    end_column(&l);
}

static void draw_series(frame *f, const kd_series *series, int k)
{
    fputs("<path d=\"", f->file);
    draw_line(f, series);
    fputs("\" fill=\"none\" stroke-linejoin=\"round\" stroke-linecap=\"round\" ", f->file);
    put_stroke(f, series, k);
    fputs("/>\n", f->file);
    for (int i = 0; series->markers && i < series->n && i < MOST_POINTS; i++) {
        double x, y;
        if (!point_of(f->plot, series, i, &x, &y)) continue;
        put_number(f->file, "<circle cx=\"", place(&f->xaxis, x, f->left, f->right));
        put_number(f->file, "\" cy=\"", place(&f->yaxis, y, f->bottom, f->top));
        fprintf(f->file, "\" r=\"3\" fill=\"%s\"/>\n", series->faint ? "#cfd4da" : PALETTE[k % COLOURS]);
    }
}

// Names of lines, as many as fit
static void draw_legend(frame *f)
{
    if (f->nlisted < 2) return;
    double x = f->right + 12, y = f->top + 8;
    int    shown = 0;
    // colour, dash and name, one below the other
    for (int k = 0; k < f->plot->nseries && shown < MAX_LEGEND; k++) {
        const kd_series *series = &f->plot->series[k];
        if (!series->name) continue;
        // a short piece of the line, then its name
        put_number(f->file, "<path d=\"M", x);
        put_number(f->file, " ", y - 4);
        fputs("h18\" ", f->file);
        put_stroke(f, series, k);
        fputs("/>\n", f->file);
        put_number(f->file, "<text x=\"", x + 24);
        put_number(f->file, "\" y=\"", y);
        fputs("\">", f->file);
        kd_file_escaped(f->file, series->name, MAX_NAME);
        fputs("</text>\n", f->file);
        y += 17;
        shown++;
    }
    // how many have no place
    if (f->nlisted > shown) {
        char rest[40];
        kd_text(rest, sizeof rest, "and %d more", f->nlisted - shown);
        put_text(f, x + 24, y, "fill=\"#6b7280\"", rest);
    }
}

static double width_of(const kd_plot *plot)
{
    return plot->width > 0 ? plot->width : DEFAULT_WIDTH;
}
static double height_of(const kd_plot *plot)
{
    return plot->height > 0 ? plot->height : DEFAULT_HEIGHT;
}

static void draw_plot(FILE *file, const kd_plot *plot)
{
    // from behind to the front: grid, marks, axes, faint lines, lines, legend
    frame f = {.file = file, .plot = plot, .width = width_of(plot), .height = height_of(plot)};
    find_axes(&f);
    find_frame(&f);
    if (plot->title) put_text(&f, f.left, 22, "font-size=\"14\" font-weight=\"600\"", plot->title);
    if (plot->note) put_text(&f, f.left, 39, "font-size=\"11\" fill=\"#6b7280\"", plot->note);
    draw_x_axis(&f);
    draw_y_axis(&f);
    draw_marks(&f);
    put_line(&f, f.left, f.bottom, f.right, f.bottom, "stroke=\"#9aa1ab\"");
    put_line(&f, f.left, f.top, f.left, f.bottom, "stroke=\"#9aa1ab\"");
    // faint lines below the others
    for (int k = 0; k < plot->nseries; k++)
        if (plot->series[k].faint) draw_series(&f, &plot->series[k], k);
    for (int k = 0; k < plot->nseries; k++)
        if (!plot->series[k].faint) draw_series(&f, &plot->series[k], k);
    if (!f.has_data) {
        put_text(&f, 0.5 * (f.left + f.right), 0.5 * (f.top + f.bottom), "text-anchor=\"middle\" fill=\"#6b7280\"",
                 "no data");
    }
    draw_legend(&f);
}

// ---- exported -------------------------------------------------------------------------------------------------------

void kd_svg_write(FILE *file, const kd_plot *plots, int nplots, int columns)
{
    if (columns < 1) columns = 1;
    if (columns > nplots && nplots > 0) columns = nplots;
    // cells as large as the largest plot
    double cell_width = 0, cell_height = 0;
    for (int i = 0; i < nplots; i++) {
        cell_width = fmax(cell_width, width_of(&plots[i]));
        cell_height = fmax(cell_height, height_of(&plots[i]));
    }
    int    rows = (nplots + columns - 1) / columns;
    double width = fmax(columns * cell_width, 1), height = fmax(rows * cell_height, 1);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
            "font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" font-size=\"12\" "
            "fill=\"#1f2933\">\n<rect width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n",
            width, height, width, height, width, height);
    // row by row, each plot in its own coordinates
    for (int i = 0; i < nplots; i++) {
        fprintf(file, "<g transform=\"translate(%.0f %.0f)\">\n", (i % columns) * cell_width,
                (i / columns) * cell_height);
        draw_plot(file, &plots[i]);
        fputs("</g>\n", file);
    }
    fputs("</svg>\n", file);
}

kd_status kd_svg_save(const char *path, const kd_plot *plots, int nplots, int columns, char *message, size_t size)
{
    FILE     *file;
    kd_status status = kd_file_open(path, &file, message, size);
    if (status < 0) return status;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", file);
    kd_svg_write(file, plots, nplots, columns);
    return kd_file_close(file, path, message, size);
}
