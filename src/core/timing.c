// timing.c: times of steps in classes. Class 64 e + i holds times from 2^(e - 30) (1 + i/64) s on.
#include "core/timing.h"

#include <math.h>
#include <stdio.h>

enum { LOWEST = -30 }; // exponent of the first octave: 0.93 ns

// 2^(1/8) 2^(1/4) 2^(1/2) 2 4 16 256: widths of the bars of a histogram, as ratio of their ends
static const double FACTORS[] = {1.0905077326652577, 1.189207115002721, 1.4142135623730951, 2, 4, 16, 256};

static int class_of(double seconds)
{
    int    exponent;
    double lead = frexp(seconds, &exponent); // seconds = lead 2^exponent, lead in [0.5, 1)
    int    octave = exponent - 1 - LOWEST;
    if (!(seconds > 0) || octave < 0) return 0;
    if (octave >= KD_TIMING_OCTAVES) return KD_TIMING_CLASSES - 1;
    return octave * KD_TIMING_PARTS + (int)((2 * lead - 1) * KD_TIMING_PARTS);
}

// Inverse of class_of: the least time of class i [s]
static double start_of(int i)
{
    return ldexp(1 + (double)(i % KD_TIMING_PARTS) / KD_TIMING_PARTS, i / KD_TIMING_PARTS + LOWEST);
}

static double end_of(const kd_timing *t, int i)
{
    return i == KD_TIMING_CLASSES - 1 ? fmax(t->most, start_of(i + 1)) : start_of(i + 1); // the last one is open
}

void kd_timing_add(kd_timing *t, double seconds, double about)
{
    if (t->count == 0 || seconds < t->least) t->least = seconds;
    if (t->count == 0 || seconds > t->most) {
        t->most = seconds;
        t->most_at = about;
    }
    t->sum += seconds;
    t->count++;
    t->in_class[class_of(seconds)]++;
}

double kd_timing_quantile(const kd_timing *t, double part)
{
    // the rank of the quantile: so many times do not exceed it. Its class ends less than 1/64 above it
    double wanted = ceil(part * (double)t->count);
    long   seen = 0;
    if (t->count == 0) return 0;
    for (int i = 0; i < KD_TIMING_CLASSES; i++) {
        seen += t->in_class[i];
        if (seen > 0 && (double)seen >= wanted) return fmax(t->least, fmin(t->most, end_of(t, i)));
    }
    return t->most;
}

int kd_timing_histogram(const kd_timing *t, kd_timing_bar *bars, int size)
{
    if (t->count == 0 || size < 1) return 0;
    int    low = class_of(t->least), high = class_of(t->most), n = 0;
    double factor = INFINITY;
    // the finest factor that makes few enough classes; one of the fine classes may be split by an end
    for (size_t k = sizeof FACTORS / sizeof *FACTORS; k-- > 0;)
        if (start_of(low) * pow(FACTORS[k], size - 1) > start_of(high)) factor = FACTORS[k];
    // classes are joined until they span the factor; its rounding must not open a bar one class late
    for (int i = low; i <= high; i++) {
        if (n == 0 || start_of(i) >= bars[n - 1].low * factor * (1 - 1e-9)) {
            bars[n] = (kd_timing_bar){.low = start_of(i)};
            n++;
        }
        bars[n - 1].count += t->in_class[i];
        bars[n - 1].high = end_of(t, i);
    }
    return n;
}

const char *kd_timing_words(double seconds, char *buffer, size_t size)
{
    static const struct {
        double      unit;
        const char *word;
    } list[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}};
    // the largest unit of which there is at least one; 0.9995: what rounds to 1.00 ms is not told in us
    size_t k = 0;
    while (k < 2 && seconds < 0.9995 * list[k].unit) k++;
    double value = seconds / list[k].unit;
    snprintf(buffer, size, value < 9.995 ? "%.2f %s" : value < 99.95 ? "%.1f %s" : "%.0f %s", value, list[k].word);
    return buffer;
}
