// page_channels.c: channels that a study kept, over time: the median of all rows, and the bands between their 5 and 95 % quantiles.
#include <math.h>
#include <stdlib.h>

#include "report/svg.h"
#include "study/page_parts.h"

enum { MOST_ROWS = 1000, MOST_CHANNELS = 24, MOST_TIMES = 400 };

// Values of all rows at the same places of their tables, time by time
typedef struct bundle {
    int     times, rows; // places, rows at the most
    double *t, *value;   // (times), (times rows); NaN: a row has none there
    double *low, *middle, *high, *sorted;
} bundle;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int n, double q)
{
    const double place = q * (n - 1);
    const int    k = (int)place;
    return k + 1 < n ? sorted[k] + (place - k) * (sorted[k + 1] - sorted[k]) : sorted[n - 1];
}

static void find_bands(bundle *b)
{
    for (int k = 0; k < b->times; k++) {
        int n = 0;
        for (int i = 0; i < b->rows; i++)
            if (!isnan(b->value[(size_t)k * (size_t)b->rows + (size_t)i]))
                b->sorted[n++] = b->value[(size_t)k * (size_t)b->rows + (size_t)i];
        qsort(b->sorted, (size_t)n, sizeof *b->sorted, by_value);
        b->low[k] = n > 0 ? quantile(b->sorted, n, 0.05) : NAN;
        b->middle[k] = n > 0 ? quantile(b->sorted, n, 0.5) : NAN;
        b->high[k] = n > 0 ? quantile(b->sorted, n, 0.95) : NAN;
    }
}

// Column i of the bundle: a row of the study, thinned to the places that a plot shows. false: it cannot be read
static bool take_row(const kd_study *s, int row, int channel, int every, int i, bundle *b, double *t, double *y,
                     int room)
{
    int n;
    if (kd_study_channel_of(s, row, channel, t, y, room, &n, NULL, 0) < 0) return false;
    for (int k = 0; k < b->times; k++) {
        const bool there = k * every < n && k * every < room;
        b->value[(size_t)k * (size_t)b->rows + (size_t)i] = there ? y[k * every] : NAN;
        if (there && isnan(b->t[k])) b->t[k] = t[k * every];
    }
    return true;
}

static void draw(FILE *f, const kd_study *s, int channel, const bundle *b)
{
    const kd_series series[3] = {{.name = "median", .x = b->t, .y = b->middle, .n = b->times},
                                 {.name = "5 %", .x = b->t, .y = b->low, .n = b->times, .dashed = true},
                                 {.name = "95 %", .x = b->t, .y = b->high, .n = b->times, .dashed = true}};
    const kd_plot   plot = {
          .xlabel = "time [s]", .ylabel = s->kept[channel], .nseries = 3, .series = series, .width = 520, .height = 280};
    kd_svg_write(f, &plot, 1, 1);
}

// Longest table of the rows, and how many rows are good
static int longest(const kd_study *s, int *good)
{
    int most = 0, n;
    *good = 0;
    for (int row = 0; row < s->design.nrows; row++) {
        if (!kd_page_is_good(s, row) || (*good)++ % 100 != 0) continue;
        if (kd_study_channel_of(s, row, 0, NULL, NULL, 0, &n, NULL, 0) >= 0 && n > most) most = n;
    }
    return most;
}

static bool put_channel(FILE *f, const kd_study *s, int channel, int room, int every_row, bundle *b)
{
    const int every = 1 + (room - 1) / MOST_TIMES;
    double   *work = kd_alloc(2 * (size_t)room * sizeof *work);
    int       good = 0, i = 0;
    if (!work) return false;
    for (int k = 0; k < b->times; k++) b->t[k] = NAN;
    for (size_t k = 0; k < (size_t)b->times * (size_t)b->rows; k++) b->value[k] = NAN;
    for (int row = 0; row < s->design.nrows && i < b->rows; row++)
        if (kd_page_is_good(s, row) && good++ % every_row == 0)
            (void)take_row(s, row, channel, every, i++, b, work, work + room, room);
    find_bands(b);
    draw(f, s, channel, b);
    kd_free(work);
    return true;
}

bool kd_page_channels(FILE *f, const kd_study *s)
{
    int       good;
    const int room = s->nkept > 0 && s->folder[0] ? longest(s, &good) : 0;
    if (room == 0) return true;
    // some of very many rows, evenly
    const int every_row = 1 + (good - 1) / MOST_ROWS, every = 1 + (room - 1) / MOST_TIMES;
    bundle    b = {.times = 1 + (room - 1) / every, .rows = 1 + (good - 1) / every_row};
    double   *memory = kd_alloc(((size_t)b.times * ((size_t)b.rows + 4) + (size_t)b.rows) * sizeof *memory);
    if (!memory) return false;
    b.value = memory, b.t = b.value + (size_t)b.times * (size_t)b.rows;
    b.low = b.t + b.times, b.middle = b.low + b.times, b.high = b.middle + b.times, b.sorted = b.high + b.times;
    (void)fprintf(f, "<h2>Channels over time</h2><p>Median of %d rows, and where nine of ten lie.</p>\n", b.rows);
    bool drawn = true;
    for (int i = 0; i < s->nkept && i < MOST_CHANNELS && drawn; i++) drawn = put_channel(f, s, i, room, every_row, &b);
    kd_free(memory);
    return drawn;
}
