// estimates.c: what the rows of a study say, with 95 % intervals.
//
// Sobol's indices by pick-freeze pairs (Janon, Klein, Lagnoux, Nodet, Prieur, ESAIM: P&S 18 (2014) 342): with Y = f(X) and Y' = f(X'),
// where X' has x_i of X and everything else anew,
//
//     S_i = cov(Y, Y') / V,    mean and V of both together,
//
// is normal in the limit of many pairs, with the variance of  U = [(Y - m)(Y' - m) - S/2 ((Y - m)^2 + (Y' - m)^2)] / V  over their number. The total index is
// 1 - S of all parameters but i. Rows of a design: A, B and A with i of B: (B, A_i) share x_i, (A, A_i) all others.
#include <math.h>
#include <stdlib.h>

#include "math/random.h"
#include "study/study.h"

static const double      WIDTH = 1.959963984540054; // of 95 %, in standard errors
static const kd_estimate NOTHING = {NAN, NAN, NAN};

static bool is_good(const kd_study *s, int row, int output)
{
    const kd_study_cell *c = &s->cell[row];
    return c->done && c->status >= 0 && isfinite(s->values[(size_t)row * (size_t)s->noutputs + (size_t)output]);
}

static double output_of(const kd_study *s, int row, int output)
{
    return s->values[(size_t)row * (size_t)s->noutputs + (size_t)output];
}

// Rows that are a sample of the distributions: of a design for indices those of A
static bool is_sampled(const kd_study *s, int row)
{
    return s->design.kind != KD_DESIGN_SENSITIVITY || row % (s->nparameters + 2) == 0;
}

static bool is_sample(const kd_study *s)
{
    return s->design.kind == KD_DESIGN_LATIN || s->design.kind == KD_DESIGN_SOBOL ||
           s->design.kind == KD_DESIGN_MONTE_CARLO || s->design.kind == KD_DESIGN_SENSITIVITY;
}

static bool is_wrong(const kd_study *s, int output)
{
    return !s || output < 0 || output >= s->noutputs;
}

// Number of good rows, mean, second and fourth moment about it
static int moments(const kd_study *s, int output, double *mean, double *second, double *fourth)
{
    int    n = 0;
    double sum = 0;
    for (int row = 0; row < s->design.nrows; row++)
        if (is_sampled(s, row) && is_good(s, row, output)) sum += output_of(s, row, output), n++;
    *mean = n > 0 ? sum / n : NAN;
    *second = *fourth = 0;
    for (int row = 0; row < s->design.nrows; row++) {
        if (!is_sampled(s, row) || !is_good(s, row, output)) continue;
        const double d = output_of(s, row, output) - *mean;
        *second += d * d, *fourth += d * d * d * d;
    }
    *second /= n, *fourth /= n;
    return n;
}

static kd_estimate with_error(const kd_study *s, double value, double error)
{
    return is_sample(s) ? (kd_estimate){value, value - WIDTH * error, value + WIDTH * error}
                        : (kd_estimate){value, NAN, NAN};
}

kd_estimate kd_study_mean(const kd_study *s, int output)
{
    double mean, second, fourth;
    if (is_wrong(s, output)) return NOTHING;
    const int n = moments(s, output, &mean, &second, &fourth);
    return n > 1 ? with_error(s, mean, sqrt(second / (n - 1))) : NOTHING;
}

kd_estimate kd_study_deviation(const kd_study *s, int output)
{
    double mean, second, fourth;
    if (is_wrong(s, output)) return NOTHING;
    const int n = moments(s, output, &mean, &second, &fourth);
    if (n < 2) return NOTHING;
    // the error of a variance is sqrt((m4 - m2^2) / n), that of its root half of it over the root
    const double deviation = sqrt(second * n / (n - 1));
    const double error = second > 0 ? sqrt(fmax(0, fourth - second * second) / n) / (2 * sqrt(second)) : 0;
    return with_error(s, deviation, error);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

kd_estimate kd_study_quantile(const kd_study *s, int output, double q)
{
    if (is_wrong(s, output) || !(q >= 0 && q <= 1)) return NOTHING;
    double *sorted = kd_alloc((size_t)s->design.nrows * sizeof *sorted);
    int     n = 0;
    if (!sorted) return NOTHING;
    for (int row = 0; row < s->design.nrows; row++)
        if (is_sampled(s, row) && is_good(s, row, output)) sorted[n++] = output_of(s, row, output);
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    kd_estimate e = NOTHING;
    if (n > 0) {
        // between the two rows next to it; the interval by the ranks that a binomial count reaches
        const double place = q * (n - 1), spread = WIDTH * sqrt(n * q * (1 - q));
        const int    i = (int)place < n - 1 ? (int)place : n - 1, j = i < n - 1 ? i + 1 : i;
        const int    low = (int)floor(n * q - spread) - 1, high = (int)ceil(n * q + spread);
        e.value = sorted[i] + (place - i) * (sorted[j] - sorted[i]);
        if (is_sample(s) && low >= 0) e.low = sorted[low];
        if (is_sample(s) && high < n) e.high = sorted[high];
    }
    kd_free(sorted);
    return e;
}

kd_estimate kd_study_probability(const kd_study *s, int output)
{
    int n = 0, hits = 0;
    if (is_wrong(s, output)) return NOTHING;
    for (int row = 0; row < s->design.nrows; row++)
        if (is_sampled(s, row) && is_good(s, row, output)) n++, hits += output_of(s, row, output) != 0;
    if (n == 0) return NOTHING;
    // Wilson's interval, which stays within 0 and 1
    const double p = (double)hits / n, z = WIDTH * WIDTH;
    const double middle = (p + z / (2 * n)) / (1 + z / n),
                 half = WIDTH / (1 + z / n) * sqrt(p * (1 - p) / n + z / (4.0 * n * n));
    return is_sample(s) ? (kd_estimate){p, fmax(0, middle - half), fmin(1, middle + half)} : (kd_estimate){p, NAN, NAN};
}

bool kd_study_knows_enough(const kd_study *s, int rows)
{
    for (int k = 0; k < s->nuntil; k++) {
        double    sum = 0, square = 0;
        int       n = 0;
        const int output = s->until[k].output;
        for (int row = 0; row < rows; row++)
            if (is_good(s, row, output)) sum += output_of(s, row, output), n++;
        for (int row = 0; row < rows && n > 0; row++)
            if (is_good(s, row, output)) square += pow(output_of(s, row, output) - sum / n, 2);
        if (n < 2 || !(WIDTH * sqrt(square / n / (n - 1)) <= s->until[k].width)) return false;
    }
    return true;
}

// ---- elementary effects ---------------------------------------------------------------------------------------------

// Number of effects of a parameter, sums of their sizes, of themselves and of squares
static int effects(const kd_study *s, int output, int parameter, double *sizes, double *sum, double *squares)
{
    int n = 0;
    *sizes = *sum = *squares = 0;
    for (int row = 0; row < s->design.nrows; row++) {
        double share;
        if (!is_good(s, row, output) || kd_design_step(&s->design, row, &share) != parameter) continue;
        if (!is_good(s, row - 1, output)) continue;
        const double effect = (output_of(s, row, output) - output_of(s, row - 1, output)) / share;
        *sizes += fabs(effect), *sum += effect, *squares += effect * effect, n++;
    }
    return n;
}

static bool has_effects(const kd_study *s, int output, int parameter)
{
    return !is_wrong(s, output) && parameter >= 0 && parameter < s->nparameters && s->design.kind == KD_DESIGN_MORRIS;
}

kd_estimate kd_study_effect(const kd_study *s, int output, int parameter)
{
    double sizes, sum, squares;
    if (!has_effects(s, output, parameter)) return NOTHING;
    const int n = effects(s, output, parameter, &sizes, &sum, &squares);
    if (n < 2) return NOTHING;
    const double mean = sizes / n, error = sqrt(fmax(0, squares / n - mean * mean) / (n - 1));
    return (kd_estimate){mean, mean - WIDTH * error, mean + WIDTH * error};
}

kd_estimate kd_study_effect_deviation(const kd_study *s, int output, int parameter)
{
    double sizes, sum, squares;
    if (!has_effects(s, output, parameter)) return NOTHING;
    const int n = effects(s, output, parameter, &sizes, &sum, &squares);
    return n < 2 ? NOTHING : (kd_estimate){sqrt(fmax(0, squares - sum * sum / n) / (n - 1)), NAN, NAN};
}

// ---- indices --------------------------------------------------------------------------------------------------------

// Sums over pairs of rows: first and second of the design's group of each pair
typedef struct pairs {
    const kd_study *study;
    int             output, first, second;
} pairs;

static bool get_pair(const pairs *p, int pair, double *a, double *b)
{
    const int base = pair * (p->study->nparameters + 2);
    if (!is_good(p->study, base + p->first, p->output) || !is_good(p->study, base + p->second, p->output)) return false;
    *a = output_of(p->study, base + p->first, p->output);
    *b = output_of(p->study, base + p->second, p->output);
    return true;
}

static kd_estimate pick_freeze(const pairs *p)
{
    const int n = p->study->design.n;
    double    a, b, mean = 0, variance = 0, covariance = 0, spread = 0;
    int       count = 0;
    // mean of both samples, as both have the distribution of the output
    for (int i = 0; i < n; i++)
        if (get_pair(p, i, &a, &b)) mean += 0.5 * (a + b), count++;
    if (count < 2) return NOTHING;
    mean /= count;
    // S = covariance / variance of pairs that share the parameter
    for (int i = 0; i < n; i++)
        if (get_pair(p, i, &a, &b)) {
            variance += 0.5 * ((a - mean) * (a - mean) + (b - mean) * (b - mean));
            covariance += (a - mean) * (b - mean);
        }
    if (!(variance > 0)) return NOTHING; // the output does not vary
    const double S = covariance / variance;
    // the delta method: spread of the linear terms of S
    for (int i = 0; i < n; i++)
        if (get_pair(p, i, &a, &b)) {
            const double u = (a - mean) * (b - mean) - 0.5 * S * ((a - mean) * (a - mean) + (b - mean) * (b - mean));
            spread += u * u;
        }
    const double error = sqrt(spread) / variance;
    return (kd_estimate){S, S - WIDTH * error, S + WIDTH * error};
}

kd_estimate kd_study_index(const kd_study *s, int output, int parameter, bool total)
{
    if (is_wrong(s, output) || parameter < 0 || parameter >= s->nparameters || s->design.kind != KD_DESIGN_SENSITIVITY)
        return NOTHING;
    const pairs       p = {s, output, total ? 0 : 1, parameter + 2};
    const kd_estimate e = pick_freeze(&p);
    return total ? (kd_estimate){1 - e.value, 1 - e.high, 1 - e.low} : e;
}
