// rainflow.c: load cycles of a channel and their damage.
//
// ASTM E1049-85 (2017), 5.4.4: peaks and valleys are put onto a stack. With X the last range and Y the one before it,
// while X >= Y, Y is a closed hysteresis loop: one cycle, whose two points are taken away, unless Y contains the first
// point of the history; then it is a half cycle, whose first point is taken away. Ranges that are left over at the end
// are half cycles. 5.4.5, histories that are repeated: begun at the largest peak and closed there, they have whole
// cycles only.
// Damage (Palmgren 1924, Miner 1945): D = sum n_i / N(S_i), N(S) = N0 (S / S0)^-k, with another k below the knee S0
// (Haibach 1970: 2 k - 1).
#include <kardan/rainflow.h>
#include <math.h>
#include <stdlib.h>

#include "core/memory.h"

// ---- peaks and valleys ----------------------------------------------------------------------------------------------

// The next value of a history onto the list of its reversals: a value that goes on in the same direction replaces the
// last one, an equal one is no news.
static void add_point(double *point, int *npoints, double y)
{
    const int n = *npoints;
    if (n > 0 && y == point[n - 1]) return;
    const bool goes_on = n > 1 && (y > point[n - 1]) == (point[n - 1] > point[n - 2]);
    point[goes_on ? n - 1 : n] = y;
    if (!goes_on) *npoints = n + 1;
}

// The history as it is
static int reversals(int n, const double *y, int stride, double *point)
{
    int npoints = 0;
    for (int i = 0; i < n; i++) add_point(point, &npoints, y[(size_t)i * (size_t)stride]);
    return npoints;
}

// Begun at its largest value, once around, and closed there: n + 1 values
static int reversals_of_repeated(int n, const double *y, int stride, double *point)
{
    int npoints = 0, top = 0;
    for (int i = 1; i < n; i++)
        if (y[(size_t)i * (size_t)stride] > y[(size_t)top * (size_t)stride]) top = i;
    for (int i = 0; i <= n && n > 0; i++) add_point(point, &npoints, y[(size_t)((top + i) % n) * (size_t)stride]);
    return npoints;
}

// ---- counting -------------------------------------------------------------------------------------------------------

static kd_cycle cycle_between(double a, double b, double count)
{
    return (kd_cycle){.range = fabs(b - a), .mean = 0.5 * a + 0.5 * b, .count = count};
}

// The stack takes the place of the points that were read already. A repeated history has no start that a range could
// contain, and nothing is left over of it but its largest value.
static int count_cycles(double *point, int npoints, bool repeated, kd_cycle *cycle)
{
    int ncycles = 0, top = 0;
    for (int i = 0; i < npoints; i++) {
        point[top++] = point[i];
        // X: the last range, Y: the one before
        while (top >= 3) {
            const double X = fabs(point[top - 1] - point[top - 2]), Y = fabs(point[top - 2] - point[top - 3]);
            if (X < Y) break;
            const bool holds_start = top == 3 && !repeated;
            cycle[ncycles++] = cycle_between(point[top - 3], point[top - 2], holds_start ? 0.5 : 1.0);
            // a loop loses both of its points, the first range its first point
            if (holds_start) {
                point[0] = point[1];
                point[1] = point[2];
                top = 2;
            } else {
                point[top - 3] = point[top - 1];
                top -= 2;
            }
        }
    }
    for (int i = 0; i + 1 < top; i++) cycle[ncycles++] = cycle_between(point[i], point[i + 1], 0.5);
    return ncycles;
}

kd_status kd_rainflow(int n, const double *y, int stride, kd_history history, kd_cycle *cycle, int *ncycles)
{
    if (!ncycles) return KD_ERR_ARGUMENT;
    *ncycles = 0;
    if (n < 0 || stride < 1 || (n > 0 && (!y || !cycle))) return KD_ERR_ARGUMENT;
    if (history != KD_HISTORY_ONCE && history != KD_HISTORY_REPEATED) return KD_ERR_ARGUMENT;
    // every range is at most the one from the lowest to the highest value
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < n; i++) {
        const double value = y[(size_t)i * (size_t)stride];
        if (!isfinite(value)) return KD_ERR_NOT_FINITE;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    if (n > 0 && !isfinite(high - low)) return KD_ERR_NOT_FINITE;
    double *point = kd_alloc(((size_t)n + 1) * sizeof *point);
    if (!point) return KD_ERR_MEMORY;
    const bool repeated = history == KD_HISTORY_REPEATED;
    const int  npoints = repeated ? reversals_of_repeated(n, y, stride, point) : reversals(n, y, stride, point);
    *ncycles = count_cycles(point, npoints, repeated, cycle);
    kd_free(point);
    return KD_OK;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

static int larger_first(const void *a, const void *b)
{
    const kd_cycle *x = a, *y = b;
    if (x->range != y->range) return x->range > y->range ? -1 : 1;
    return (x->mean < y->mean) - (x->mean > y->mean);
}

int kd_cycles_sort(kd_cycle *cycle, int ncycles)
{
    int rows = 0;
    if (!cycle) return 0;
    if (ncycles > 0) qsort(cycle, (size_t)ncycles, sizeof *cycle, larger_first);
    for (int i = 0; i < ncycles; i++) {
        if (rows > 0 && larger_first(&cycle[rows - 1], &cycle[i]) == 0)
            cycle[rows - 1].count += cycle[i].count;
        else
            cycle[rows++] = cycle[i];
    }
    return rows;
}

void kd_cycles_classify(const kd_cycle *cycle, int ncycles, int nclasses, kd_cycle *row)
{
    double largest = 0;
    if (!cycle || !row) return;
    for (int i = 0; i < ncycles; i++) largest = fmax(largest, cycle[i].range);
    for (int i = 0; i < nclasses; i++) row[i] = (kd_cycle){.range = largest - largest * i / nclasses};
    for (int i = 0; i < ncycles; i++) {
        // the lowest class whose upper end is not below the range
        int k = (int)((1.0 - cycle[i].range / largest) * nclasses);
        if (k > nclasses - 1) k = nclasses - 1;
        while (k > 0 && row[k].range < cycle[i].range) k--;
        while (k + 1 < nclasses && row[k + 1].range >= cycle[i].range) k++;
        row[k].mean += cycle[i].count * cycle[i].mean;
        row[k].count += cycle[i].count;
    }
    for (int i = 0; i < nclasses; i++)
        if (row[i].count > 0) row[i].mean /= row[i].count;
}

// ---- damage ---------------------------------------------------------------------------------------------------------

bool kd_woehler_is_valid(const kd_woehler *line)
{
    return line && line->slope > 0 && isfinite(line->slope) && line->cycles > 0 && isfinite(line->cycles) &&
           line->range > 0 && isfinite(line->range) && line->slope_below > 0;
}

double kd_woehler_life(const kd_woehler *line, double range)
{
    if (!line) return NAN;
    const double ratio = line->range / range;
    // pow(1, INFINITY) is 1: the knee itself is borne N0 times by both
    return line->cycles * pow(ratio, ratio > 1 ? line->slope_below : line->slope);
}

double kd_miner_sum(const kd_woehler *line, const kd_cycle *cycle, int ncycles)
{
    double sum = 0;
    if (!line || (ncycles > 0 && !cycle)) return NAN;
    for (int i = 0; i < ncycles; i++) sum += cycle[i].count / kd_woehler_life(line, cycle[i].range);
    return sum;
}
