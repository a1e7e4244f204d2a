// spy.c: pictures of sparse matrices. An entry is a square; runs of entries in a column are one rectangle. Colours of
// groups are spread over the circle of hues by the golden angle, so that neighbours in number differ.
//
// Names of blocks of rows stand left of the matrix (LEFT), title, note, legend and names of columns above it (TOP); its
// longer side has SIDE pixels unless entries would become too large or too small.
#include "report/spy.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/rounded.h"
#include "core/text.h"
#include "report/svg.h"
#include "results/file.h"

enum { SIDE = 640, LEFT = 110, TOP = 76, MARGIN = 16, MOST_NUMBERS = 160, INSTANT_POINTS = 3 };

// Okabe and Ito, as in svg.c
static const char *const PALETTE[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#404040"};
enum { COLOURS = sizeof PALETTE / sizeof *PALETTE };

typedef struct picture {
    const kd_spy *spy;
    kd_spy_kind   kind;
    FILE         *file;
    int           groups, columns; // columns that are drawn
    double        cell;            // [px]
} picture;

// ---- places ---------------------------------------------------------------------------------------------------------

static int count_groups(const kd_spy *spy)
{
    int most = -1;
    for (int j = 0; spy->group && j < spy->pattern.columns; j++)
        if (spy->group[j] > most) most = spy->group[j];
    return most + 1;
}

// Drawn column of column j; -1: not drawn
// in the third picture all columns of a group stand at one place
static int place_of(const picture *p, int j)
{
    return p->kind == KD_SPY_COMPRESSED ? p->spy->group[j] : j;
}

static int block_of(const kd_spy *spy, int j)
{
    // blocks follow each other: the one that j falls into
    int k = 0;
    while (k < spy->ncolumn_blocks - 1 && j >= spy->column_blocks[k].n) j -= spy->column_blocks[k++].n;
    return k;
}

// One colour; by block of columns; by group
static void colour_of(const picture *p, int j, char *text, size_t size)
{
    if (p->kind == KD_SPY_PATTERN)
        kd_text(text, size, "#24425c");
    else if (p->kind == KD_SPY_COMPRESSED)
        kd_text(text, size, "%s", PALETTE[block_of(p->spy, j) % COLOURS]);
    else if (p->spy->group[j] < 0)
        kd_text(text, size, "#b5bcc5");
    else
        kd_text(text, size, "hsl(%d,70%%,42%%)", (int)(137.508 * p->spy->group[j]) % 360);
}

// ---- parts ----------------------------------------------------------------------------------------------------------

static void put_head(const picture *p)
{
    // room for a title even over a narrow matrix
    const double width = LEFT + p->columns * p->cell + MARGIN, height = TOP + p->spy->pattern.rows * p->cell + MARGIN;
    fprintf(p->file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
            "font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" font-size=\"12\" "
            "fill=\"#1f2933\">\n<rect width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n",
            fmax(width, 420), height, fmax(width, 420), height, fmax(width, 420), height);
    fputs("<text x=\"16\" y=\"22\" font-size=\"14\" font-weight=\"600\">", p->file);
    kd_file_escaped(p->file, p->spy->title, 200);
    fputs("</text>\n", p->file);
}

static void put_note(const picture *p)
{
    // the last entry of column is their number
    const kd_pattern *m = &p->spy->pattern;
    const int         entries = m->column[m->columns];
    char              text[200];
    kd_text(text, sizeof text, "%d x %d, %d entries (%.1f %%)", m->rows, m->columns, entries,
            m->rows > 0 && m->columns > 0 ? 100.0 * entries / ((double)m->rows * m->columns) : 0.0);
    if (p->kind != KD_SPY_PATTERN) kd_text_append(text, sizeof text, "; %d groups", p->groups);
    if (p->kind != KD_SPY_PATTERN && p->spy->fullest_row > 0)
        kd_text_append(text, sizeof text, ", fullest row %d", p->spy->fullest_row);
    fprintf(p->file, "<text x=\"16\" y=\"39\" font-size=\"11\" fill=\"#6b7280\">%s</text>\n", text);
}

// A place in the picture, with a decimal point in every locale; the text lives as long as the call that reads it
#define PLACE(value) kd_rounded_text(value, "%.2f", (char[32]){0}, 32)

// Names and borders of the blocks of rows
static void put_row_blocks(const picture *p)
{
    // the border above a block, its name at its middle
    int row = 0;
    for (int k = 0; k < p->spy->nrow_blocks; k++) {
        const kd_spy_block *b = &p->spy->row_blocks[k];
        if (b->n == 0) continue;
        const double y = TOP + row * p->cell;
        fprintf(p->file, "<path d=\"M%d %sH%s\" stroke=\"#cfd6de\"/>\n", LEFT, PLACE(y),
                PLACE(LEFT + p->columns * p->cell));
        fprintf(p->file, "<text x=\"%d\" y=\"%s\" font-size=\"11\" text-anchor=\"end\">", LEFT - 8,
                PLACE(y + fmax(8, 0.5 * b->n * p->cell + 4)));
        kd_file_escaped(p->file, b->name, 40);
        fputs("</text>\n", p->file);
        row += b->n;
    }
}

static void put_column_blocks(const picture *p)
{
    // groups pushed together have no blocks
    int column = 0;
    for (int k = 0; p->kind != KD_SPY_COMPRESSED && k < p->spy->ncolumn_blocks; k++) {
        const kd_spy_block *b = &p->spy->column_blocks[k];
        if (b->n == 0) continue;
        const double x = LEFT + column * p->cell;
        fprintf(p->file, "<path d=\"M%s %dV%s\" stroke=\"#cfd6de\"/>\n", PLACE(x), TOP,
                PLACE(TOP + p->spy->pattern.rows * p->cell));
        fprintf(p->file, "<text x=\"%s\" y=\"%d\" font-size=\"11\" text-anchor=\"middle\">",
                PLACE(x + 0.5 * b->n * p->cell), TOP - 18);
        kd_file_escaped(p->file, b->name, 20);
        fputs("</text>\n", p->file);
        column += b->n;
    }
}

static bool has_groups(const kd_spy *spy, int first, int end)
{
    while (first < end && spy->group[first] < 0) first++;
    return first < end;
}

// What the colours of the compressed picture mean
static void put_legend(const picture *p)
{
    // colours of blocks that have columns in the picture
    double x = 16;
    int    column = 0;
    for (int k = 0; p->kind == KD_SPY_COMPRESSED && k < p->spy->ncolumn_blocks; k++) {
        const kd_spy_block *b = &p->spy->column_blocks[k];
        const int           first = column;
        column += b->n;
        if (!has_groups(p->spy, first, column)) continue;
        fprintf(p->file, "<rect x=\"%.0f\" y=\"48\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x,
                PALETTE[k % COLOURS]);
        fprintf(p->file, "<text x=\"%.0f\" y=\"57\" font-size=\"11\">", x + 14);
        kd_file_escaped(p->file, b->name, 20);
        fputs("</text>\n", p->file);
        x += 30 + 7.0 * (double)strlen(b->name);
    }
}

// Numbers of the groups, from 1, above the columns where there is room
static void put_numbers(const picture *p)
{
    if (p->kind == KD_SPY_PATTERN || p->columns > MOST_NUMBERS) return;
    // as large as the columns are wide
    const double font = fmin(9, fmax(3, 0.9 * p->cell));
    for (int j = 0; j < p->columns; j++) {
        const int number = p->kind == KD_SPY_COMPRESSED ? j : p->spy->group[j];
        if (number < 0) continue;
        const double x = LEFT + (j + 0.5) * p->cell + 0.35 * font;
        fprintf(p->file,
                "<text x=\"%.1f\" y=\"%d\" font-size=\"%.1f\" fill=\"#6b7280\" transform=\"rotate(-90 %.1f "
                "%d)\">%d</text>\n",
                x, TOP - 3, font, x, TOP - 3, number + 1);
    }
}

// One path per column; runs of rows are one rectangle
static void put_entries(const picture *p)
{
    const kd_pattern *m = &p->spy->pattern;
    for (int j = 0; j < m->columns; j++) {
        const int at = place_of(p, j);
        char      colour[40];
        if (at < 0 || m->column[j] == m->column[j + 1]) continue;
        colour_of(p, j, colour, sizeof colour);
        fprintf(p->file, "<path fill=\"%s\" d=\"", colour);
        for (int k = m->column[j], next; k < m->column[j + 1]; k = next) {
            // rows k .. next - 1 follow each other
            for (next = k + 1; next < m->column[j + 1] && m->row[next] == m->row[next - 1] + 1;) next++;
            const double gap = p->cell >= 4 ? 0.5 : 0, height = (next - k) * p->cell - gap;
            fprintf(p->file, "M%s %sh%sv%sh-%sz", PLACE(LEFT + at * p->cell), PLACE(TOP + m->row[k] * p->cell),
                    PLACE(p->cell - gap), PLACE(height), PLACE(p->cell - gap));
        }
        fputs("\"/>\n", p->file);
    }
}

static void put_frame(const picture *p)
{
    fprintf(p->file,
            "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"#9aa1ab\"/>\n</svg>\n", LEFT,
            TOP, p->columns * p->cell, p->spy->pattern.rows * p->cell);
}

kd_status kd_spy_save(const kd_spy *spy, kd_spy_kind kind, const char *path, char *message, size_t size)
{
    // entries as large as fit into SIDE, from half a pixel to 16
    picture p = {.spy = spy, .kind = kind, .groups = count_groups(spy)};
    if (kind != KD_SPY_PATTERN && !spy->group) {
        kd_text(message, size, "'%s': the columns are not in groups", path);
        return KD_ERR_ARGUMENT;
    }
    p.columns = kind == KD_SPY_COMPRESSED ? p.groups : spy->pattern.columns;
    const int most = spy->pattern.rows > p.columns ? spy->pattern.rows : p.columns;
    p.cell = fmax(0.5, fmin(16, (double)SIDE / (most > 0 ? most : 1)));
    kd_status status = kd_file_open(path, &p.file, message, size);
    // from behind to the front: blocks, numbers, entries, frame
    if (status < 0) return status;
    put_head(&p);
    put_note(&p);
    put_row_blocks(&p);
    put_column_blocks(&p);
    put_legend(&p);
    put_numbers(&p);
    put_entries(&p);
    put_frame(&p);
    return kd_file_close(p.file, path, message, size);
}

// ---- instants -------------------------------------------------------------------------------------------------------

struct kd_instants {
    kd_arena arena;
    int      capacity;
    double  *time[2]; // (capacity) of evaluations, of updates
    long     count[2];
};

kd_status kd_instants_create(int capacity, kd_instants **result)
{
    *result = NULL;
    kd_instants *s = kd_alloc(sizeof *s);
    if (!s) return KD_ERR_MEMORY;
    s->capacity = capacity;
    for (int k = 0; k < 2; k++) s->time[k] = kd_cut_double(&s->arena, capacity);
    if (s->arena.failed) {
        kd_instants_destroy(s);
        return KD_ERR_MEMORY;
    }
    *result = s;
    return KD_OK;
}

void kd_instants_destroy(kd_instants *s)
{
    if (!s) return;
    kd_arena_release(&s->arena);
    kd_free(s);
}

void kd_instants_see(kd_instants *s, const kd_attempt_report *report)
{
    // matrices that were kept or only factored are no instants
    if (report->matrix != KD_MATRIX_EVALUATED && report->matrix != KD_MATRIX_UPDATED) return;
    const int kind = report->matrix == KD_MATRIX_UPDATED;
    // all are counted, the first ones are kept
    if (s->count[kind] < s->capacity) s->time[kind][s->count[kind]] = report->t;
    s->count[kind]++;
}

long kd_instants_evaluations(const kd_instants *s)
{
    return s->count[0];
}

long kd_instants_updates(const kd_instants *s)
{
    return s->count[1];
}

// Vertical lines between low and high, separated by NaN
static kd_series lines(const kd_instants *s, int kind, const char *name, double low, double high, double *x, double *y)
{
    // up, then a gap that lifts the pen
    const int n = (int)(s->count[kind] < s->capacity ? s->count[kind] : s->capacity);
    for (int i = 0; i < n; i++) {
        const double point[INSTANT_POINTS] = {low, high, NAN};
        for (int k = 0; k < INSTANT_POINTS; k++) {
            x[INSTANT_POINTS * i + k] = s->time[kind][i];
            y[INSTANT_POINTS * i + k] = point[k];
        }
    }
    return (kd_series){.name = name, .x = x, .y = y, .n = INSTANT_POINTS * n, .dotted = kind == 0, .dashed = kind == 1};
}

kd_status kd_instants_save(const kd_instants *s, const char *title, const char *name, const double *t, const double *y,
                           int n, int ystride, const char *path, char *message, size_t size)
{
    kd_arena  arena = {0};
    double   *x[2], *z[2], low = INFINITY, high = -INFINITY;
    char      label[2][60], note[120];
    kd_series series[3];
    kd_status status = KD_ERR_MEMORY;
    for (int k = 0; k < 2; k++) {
        x[k] = kd_cut_double(&arena, INSTANT_POINTS * s->capacity);
        z[k] = kd_cut_double(&arena, INSTANT_POINTS * s->capacity);
    }
    if (arena.failed) {
        kd_text(message, size, "out of memory while writing '%s'", path);
        goto done;
    }
    // lines over the whole height of the channel
    for (int i = 0; i < n; i++) {
        low = fmin(low, y[(size_t)i * (size_t)ystride]);
        high = fmax(high, y[(size_t)i * (size_t)ystride]);
    }
    if (!(low < high)) low = (n > 0 ? low : 0) - 1, high = low + 2;
    // the channel, evaluations dotted, updates dashed
    series[0] = (kd_series){.name = name, .x = t, .y = y, .n = n, .ystride = ystride};
    for (int k = 0; k < 2; k++) {
        kd_text(label[k], sizeof label[k], "%ld %s", s->count[k], k == 0 ? "evaluations" : "updates");
        series[1 + k] = lines(s, k, label[k], low, high, x[k], z[k]);
    }
    kd_text(note, sizeof note, "%ld evaluations of the Jacobian (dotted), %ld updates of the Newton matrix (dashed)",
            s->count[0], s->count[1]);
    const kd_plot plot = {
        .title = title, .note = note, .xlabel = "t [s]", .width = 900, .nseries = 3, .series = series};
    status = kd_svg_save(path, &plot, 1, 1, message, size);
done:
    kd_arena_release(&arena);
    return status;
}
