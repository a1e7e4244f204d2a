// design.c: see design.h. Values of a row depend on seed and number of the row alone.
#include "study/design.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "math/random.h"
#include "study/sobol_table.h"

enum {
    BITS = 32,
    STREAM_LATIN = 1 << 20,
    STREAM_SHIFT = 1 << 21,
    STREAM_B = 1 << 22,
    STREAM_PATH = 1 << 23,
    STREAM_LEVEL = 1 << 24
};

// ---- Sobol's sequence -----------------------------------------------------------------------------------------------

// Direction numbers of a dimension: m_k = 2 a_1 m_(k-1) ^ .. ^ 2^s m_(k-s) ^ m_(k-s), shifted to the first bit
static void sobol_directions(int dimension, uint32_t v[BITS])
{
    // the first dimension is van der Corput's sequence
    if (dimension == 0) {
        for (int k = 0; k < BITS; k++) v[k] = 1u << (BITS - 1 - k);
        return;
    }
    const unsigned polynomial = KD_SOBOL[dimension].polynomial;
    int            degree = 0;
    while (polynomial >> (degree + 1)) degree++;
    // the first numbers are given, the rest follows from the primitive polynomial
    for (int k = 0; k < BITS; k++) {
        if (k < degree) {
            v[k] = (uint32_t)KD_SOBOL[dimension].m[k] << (BITS - 1 - k);
            continue;
        }
        v[k] = v[k - degree] ^ (v[k - degree] >> degree);
        for (int j = 1; j < degree; j++)
            if (polynomial >> (degree - j) & 1u) v[k] ^= v[k - j];
    }
}

// Number i of the sequence in Gray-code order, shifted at random
static double sobol_point(uint64_t seed, int dimension, uint32_t i)
{
    uint32_t v[BITS], x = 0;
    sobol_directions(dimension, v);
    const uint32_t gray = i ^ (i >> 1);
    for (int k = 0; k < BITS; k++)
        if (gray >> k & 1u) x ^= v[k];
    // one shift of all points by the seed; without it the first point is 0, of which no quantile is asked for
    if (seed != 0) x ^= (uint32_t)(kd_uniform(seed, STREAM_SHIFT + (uint32_t)dimension, 0) * 4294967296.0);
    return ((double)x + 0.5) * 0x1p-32;
}

// ---- Latin hypercube ------------------------------------------------------------------------------------------------

// Fisher and Yates' shuffle, by counted numbers
static void shuffle(uint64_t seed, uint32_t stream, int n, uint32_t *order)
{
    for (int i = 0; i < n; i++) order[i] = (uint32_t)i;
    for (int i = n - 1; i > 0; i--) {
        const int      j = (int)(kd_uniform(seed, stream, (uint64_t)i) * (i + 1));
        const uint32_t other = order[j];
        order[j] = order[i], order[i] = other;
    }
}

// ---- Morris' paths --------------------------------------------------------------------------------------------------

// Levels of a parameter, and how many of them a step passes: half of them (Morris, Technometrics 33 (1991) 161)
static int path_levels(const kd_distribution *d, int *step)
{
    const int levels = d->kind == KD_DISCRETE ? d->n : KD_MORRIS_LEVELS;
    *step = levels > 1 ? levels / 2 : 0;
    return levels;
}

// Place of parameter i in the order of a path: a permutation by the ranks of counted numbers
static int path_place(const kd_design *d, int path, int i)
{
    const uint64_t first = (uint64_t)path * (uint64_t)d->nparameters;
    const double   mine = kd_uniform(d->seed, STREAM_PATH, first + (uint64_t)i);
    int            place = 0;
    for (int j = 0; j < d->nparameters; j++) {
        const double other = kd_uniform(d->seed, STREAM_PATH, first + (uint64_t)j);
        place += other < mine || (other == mine && j < i);
    }
    return place;
}

// Level of parameter i at the beginning of a path, and its step up or down
static int path_level(const kd_design *d, int path, int i, int *step)
{
    const int    levels = path_levels(&d->distribution[i], step);
    const double u = kd_uniform(d->seed, STREAM_LEVEL, (uint64_t)path * (uint64_t)d->nparameters + (uint64_t)i);
    const int    low = levels - *step, pick = (int)(u * 2 * low); // low levels that go up, as many that go down
    if (pick < low) return pick;
    const int from = pick - low + *step;
    *step = -*step;
    return from;
}

static void path_row(const kd_design *d, int row, double *value)
{
    const int path = row / (d->nparameters + 1), steps = row % (d->nparameters + 1);
    for (int i = 0; i < d->nparameters; i++) {
        int       step;
        const int level = path_level(d, path, i, &step);
        const int now = path_place(d, path, i) < steps ? level + step : level;
        value[i] = kd_distribution_level(&d->distribution[i], now, path_levels(&d->distribution[i], &step));
    }
}

int kd_design_step(const kd_design *d, int row, double *share)
{
    const int path = row / (d->nparameters + 1), steps = row % (d->nparameters + 1);
    *share = 0;
    for (int i = 0; i < d->nparameters && steps > 0; i++) {
        int step, size;
        if (path_place(d, path, i) != steps - 1) continue;
        (void)path_level(d, path, i, &step);
        *share = (double)step / (path_levels(&d->distribution[i], &size) - 1);
        return i;
    }
    return -1;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static kd_status count_rows(kd_design *d, char *why, size_t size)
{
    double rows = d->n;
    if (d->kind == KD_DESIGN_GRID) {
        rows = 1;
        for (int i = 0; i < d->nparameters; i++) rows *= d->levels[i];
    }
    if (d->kind == KD_DESIGN_SENSITIVITY) rows *= d->nparameters + 2;
    if (d->kind == KD_DESIGN_MORRIS) rows *= d->nparameters + 1;
    if (rows < 1) kd_text(why, size, "the design has no rows");
    if (rows > KD_DESIGN_MOST_ROWS)
        kd_text(why, size, "the design has %.0f rows; at most %d are possible", rows, KD_DESIGN_MOST_ROWS);
    d->nrows = (int)rows;
    return rows < 1 || rows > KD_DESIGN_MOST_ROWS ? KD_ERR_ARGUMENT : KD_OK;
}

kd_status kd_design_prepare(kd_design *d, kd_arena *arena, char *why, size_t size)
{
    if (d->kind == KD_DESIGN_SOBOL && d->nparameters > KD_SOBOL_DIMENSIONS) {
        kd_text(why, size, "Sobol's sequence is there for %d parameters at most; a Latin hypercube takes any number",
                KD_SOBOL_DIMENSIONS);
        return KD_ERR_ARGUMENT;
    }
    static const char *const INDEPENDENT[KD_DESIGN_COUNT + 1] = {[KD_DESIGN_GRID] = "grid",
                                                                 [KD_DESIGN_SENSITIVITY] =
                                                                     "design for sensitivity indices",
                                                                 [KD_DESIGN_MORRIS] = "Morris screening",
                                                                 [KD_DESIGN_SEARCH] = "search"};
    if (d->correlation && INDEPENDENT[d->kind]) {
        kd_text(why, size, "a %s takes independent parameters", INDEPENDENT[d->kind]);
        return KD_ERR_ARGUMENT;
    }
    // a step along a parameter needs a second value
    for (int i = 0; i < d->nparameters && d->kind == KD_DESIGN_MORRIS; i++)
        if (d->distribution[i].kind == KD_DISCRETE && d->distribution[i].n < 2) {
            kd_text(why, size, "Morris screening needs two values of every parameter, at least");
            return KD_ERR_ARGUMENT;
        }
    // Latin: one shuffled order of the strata for each parameter
    const kd_status status = count_rows(d, why, size);
    if (status < 0 || d->kind != KD_DESIGN_LATIN) return status;
    d->order = kd_arena_cut(arena, (size_t)d->nparameters * (size_t)d->n, sizeof *d->order);
    if (!d->order) return KD_ERR_MEMORY;
    for (int i = 0; i < d->nparameters; i++)
        shuffle(d->seed, STREAM_LATIN + (uint32_t)i, d->n, d->order + (size_t)i * (size_t)d->n);
    return KD_OK;
}

// Place in (0, 1) of parameter i
static double unit_point(const kd_design *d, int row, int i)
{
    const uint32_t stream = (uint32_t)i;
    if (d->kind == KD_DESIGN_SOBOL) return sobol_point(d->seed, i, (uint32_t)row);
    if (d->kind == KD_DESIGN_LATIN)
        return (d->order[(size_t)i * (size_t)d->n + (size_t)row] + kd_uniform(d->seed, stream, (uint64_t)row)) / d->n;
    if (d->kind != KD_DESIGN_SENSITIVITY) return kd_uniform(d->seed, stream, (uint64_t)row);
    // A, B, then A with one parameter of B
    const int  pair = row / (d->nparameters + 2), which = row % (d->nparameters + 2);
    const bool of_b = which == 1 || which == i + 2;
    return kd_uniform(d->seed, (of_b ? STREAM_B : 0) + stream, (uint64_t)pair);
}

static void grid_row(const kd_design *d, int row, double *value)
{
    for (int i = d->nparameters - 1; i >= 0; i--) {
        value[i] = kd_distribution_level(&d->distribution[i], row % d->levels[i], d->levels[i]);
        row /= d->levels[i];
    }
}

// Normal scores mixed by the factor of their correlation, and back to shares (a Gaussian copula)
static void correlate(const kd_design *d, double *u)
{
    const int n = d->nparameters;
    for (int i = 0; i < n; i++) u[i] = kd_normal_quantile(u[i]);
    for (int i = n - 1; i >= 0; i--) {
        double sum = 0;
        for (int j = 0; j <= i; j++) sum += d->correlation[i * n + j] * u[j];
        u[i] = sum;
    }
    for (int i = 0; i < n; i++) u[i] = kd_normal_probability(u[i]);
}

void kd_design_row(const kd_design *d, int row, double *value)
{
    const int n = d->nparameters;
    if (d->kind == KD_DESIGN_LIST || d->kind == KD_DESIGN_SEARCH) {
        memcpy(value, d->list + (size_t)row * (size_t)n, (size_t)n * sizeof *value);
        return;
    }
    if (d->kind == KD_DESIGN_GRID) {
        grid_row(d, row, value);
        return;
    }
    if (d->kind == KD_DESIGN_MORRIS) {
        path_row(d, row, value);
        return;
    }
    // points in the unit cube, correlated there, then by the inverse distribution functions
    for (int i = 0; i < n; i++) value[i] = unit_point(d, row, i);
    if (d->correlation) correlate(d, value);
    for (int i = 0; i < n; i++) value[i] = kd_distribution_quantile(&d->distribution[i], value[i]);
}

bool kd_correlation_factor(int n, double *R)
{
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double sum = R[i * n + j];
            for (int k = 0; k < j; k++) sum -= R[i * n + k] * R[j * n + k];
            if (i == j && !(sum > 1e-12)) return false;
            R[i * n + j] = i == j ? sqrt(sum) : sum / R[j * n + j];
        }
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) R[i * n + j] = 0;
    return true;
}
