// output.c: see output.h. Between the rows of a run its channels are taken as straight lines.
#include "study/output.h"

#include <math.h>

#include "math/fourier.h"

const char *const KD_REDUCTION_WORD[KD_REDUCTION_COUNT] = {
#define KD_REDUCTION_TEXT(name, word, sentence) word,
    KD_REDUCTION_LIST(KD_REDUCTION_TEXT)
#undef KD_REDUCTION_TEXT
};

// What is looked at: rows of the part, values packed
typedef struct window {
    int           n;
    const double *t, *y; // (n)
} window;

static double value_at(const window *w, double time)
{
    int i = 0;
    while (i < w->n - 2 && w->t[i + 1] < time) i++;
    const double h = w->t[i + 1] - w->t[i];
    return h > 0 ? w->y[i] + (w->y[i + 1] - w->y[i]) * (time - w->t[i]) / h : w->y[i];
}

// Exact for straight lines: of y by the trapezoidal rule, of y^2 by Simpson's
static double integral(const window *w, bool square)
{
    double sum = 0;
    for (int i = 0; i + 1 < w->n; i++) {
        const double a = w->y[i], b = w->y[i + 1];
        sum += (w->t[i + 1] - w->t[i]) * (square ? (a * a + a * b + b * b) / 3 : 0.5 * (a + b));
    }
    return sum;
}

static double extreme(const window *w, double sign, bool size)
{
    double best = -INFINITY;
    for (int i = 0; i < w->n; i++) best = fmax(best, size ? fabs(w->y[i]) : sign * w->y[i]);
    return size ? best : sign * best;
}

static double crossing(const window *w, double level, const char **why)
{
    for (int i = 0; i + 1 < w->n; i++) {
        const double a = w->y[i] - level, b = w->y[i + 1] - level;
        if (a == 0) return w->t[i];
        if ((a < 0) != (b < 0)) return w->t[i] + (w->t[i + 1] - w->t[i]) * a / (a - b);
    }
    *why = "the channel does not pass the level";
    return NAN;
}

// From the end back to the last moment outside of the band
static double settling(const window *w, const kd_study_reduction *r, const char **why)
{
    const double level = isnan(r->level) ? w->y[w->n - 1] : r->level;
    int          i = w->n - 1;
    if (fabs(w->y[i] - level) > r->band) {
        *why = "the channel does not settle";
        return NAN;
    }
    while (i > 0 && fabs(w->y[i - 1] - level) <= r->band) i--;
    if (i == 0) return w->t[0];
    const double edge = level + (w->y[i - 1] > level ? r->band : -r->band), h = w->t[i] - w->t[i - 1];
    return w->t[i - 1] + h * (edge - w->y[i - 1]) / (w->y[i] - w->y[i - 1]);
}

static double spectrum(const window *w, bool frequency, double *work, const char **why)
{
    const int n = kd_spectrum_length(w->n);
    if (n < 1) {
        *why = "there are too few rows for a spectrum";
        return NAN;
    }
    double *f = work, *amplitude = work + n, *scratch = work + 2 * n;
    kd_spectrum(w->n, w->t, 1, w->y, 1, scratch, f, amplitude);
    int best = 0;
    for (int i = 1; i < n; i++)
        if (amplitude[i] > amplitude[best]) best = i;
    return frequency ? f[best] : amplitude[best];
}

size_t kd_study_reduction_work(int n)
{
    return 2 * (size_t)(n + 2) + 2 * (size_t)kd_spectrum_length(n + 2) + 2 * (size_t)kd_spectrum_points(n + 2);
}

// Rows of the part, its ends by interpolation
static window cut(const kd_study_reduction *r, int n, const double *t, const double *y, size_t stride, double *work)
{
    double      *T = work, *Y = work + n + 2;
    const double from = isnan(r->from) ? t[0] : fmax(r->from, t[0]),
                 to = isnan(r->to) ? t[n - 1] : fmin(r->to, t[n - 1]);
    int m = 0;
    for (int i = 0; i < n; i++) {
        const double now = y[(size_t)i * stride];
        // ends of the part that lie between two rows
        if (i > 0 && t[i - 1] < from && t[i] > from) {
            const double before = y[(size_t)(i - 1) * stride];
            T[m] = from, Y[m++] = before + (now - before) * (from - t[i - 1]) / (t[i] - t[i - 1]);
        }
        if (i > 0 && t[i - 1] < to && t[i] > to) {
            const double before = y[(size_t)(i - 1) * stride];
            T[m] = to, Y[m++] = before + (now - before) * (to - t[i - 1]) / (t[i] - t[i - 1]);
        }
        if (t[i] >= from && t[i] <= to) T[m] = t[i], Y[m++] = now;
    }
    return (window){m, T, Y};
}

double kd_study_reduce(const kd_study_reduction *r, int n, const double *t, const double *y, size_t stride,
                       double *work, const char **why)
{
    const char *none;
    if (!why) why = &none;
    *why = NULL;
    // only the window of the run that is looked at
    const window w = n > 0 ? cut(r, n, t, y, stride, work) : (window){0};
    if (w.n < 2) {
        *why = "the run does not reach the part that is looked at";
        return NAN;
    }
    // extremes, integrals, values at an instant, instants, then spectra
    const double length = w.t[w.n - 1] - w.t[0];
    switch (r->kind) {
    case KD_REDUCE_MAX:
        return extreme(&w, 1, false);
    case KD_REDUCE_MIN:
        return extreme(&w, -1, false);
    case KD_REDUCE_PEAK:
        return extreme(&w, 1, true);
    case KD_REDUCE_RANGE:
        return extreme(&w, 1, false) - extreme(&w, -1, false);
    case KD_REDUCE_MEAN:
        return integral(&w, false) / length;
    case KD_REDUCE_RMS:
        return sqrt(integral(&w, true) / length);
    case KD_REDUCE_INTEGRAL:
        return integral(&w, false);
    case KD_REDUCE_END:
        return w.y[w.n - 1];
    case KD_REDUCE_AT:
        if (r->time >= w.t[0] && r->time <= w.t[w.n - 1]) return value_at(&w, r->time);
        *why = "the run does not reach the time that is looked at";
        return NAN;
    case KD_REDUCE_CROSSING:
        return crossing(&w, r->level, why);
    case KD_REDUCE_SETTLING:
        return settling(&w, r, why);
    default:
        return spectrum(&w, r->kind == KD_REDUCE_FREQUENCY, work + 2 * (n + 2), why);
    }
}
