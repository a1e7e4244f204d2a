// Designs: counted random numbers, quantiles, Sobol's sequence, Latin hypercubes, grids, correlations.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "math/random.h"
#include "study/design.h"

// Philox with 10 rounds gives the published answers (Random123, known-answer tests).
static void philox_as_published(void **state)
{
    (void)state;
    uint32_t out[4];
    kd_philox((const uint32_t[]){0, 0, 0, 0}, (const uint32_t[]){0, 0}, out);
    assert_memory_equal(out, ((const uint32_t[]){0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}), sizeof out);
    kd_philox((const uint32_t[]){~0u, ~0u, ~0u, ~0u}, (const uint32_t[]){~0u, ~0u}, out);
    assert_memory_equal(out, ((const uint32_t[]){0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}), sizeof out);
}

// Uniform numbers fill (0, 1) evenly, and streams have nothing to do with each other.
static void uniform_numbers(void **state)
{
    (void)state;
    enum { N = 100000 };
    double sum = 0, square = 0, product = 0;
    for (int i = 0; i < N; i++) {
        const double u = kd_uniform(7, 0, (uint64_t)i), w = kd_uniform(7, 1, (uint64_t)i);
        assert_true(u > 0 && u < 1);
        sum += u, square += u * u, product += (u - 0.5) * (w - 0.5);
    }
    assert_true(fabs(sum / N - 0.5) < 4 * sqrt(1.0 / 12 / N));
    assert_true(fabs(square / N - 1.0 / 3) < 4 * sqrt(4.0 / 45 / N));
    assert_true(fabs(product / N) < 4 / 12.0 / sqrt(N));
}

// The normal quantile has the values of scipy.stats.norm.ppf, to the last digits.
static void normal_quantiles(void **state)
{
    (void)state;
    static const double known[][2] = {{1e-300, -37.0470962993612}, {1e-12, -7.034483825301131},
                                      {0.001, -3.090232306167813}, {0.025, -1.9599639845400545},
                                      {0.3, -0.5244005127080409},  {0.7, 0.5244005127080407},
                                      {0.975, 1.959963984540054},  {0.9999, 3.719016485455709}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_true(fabs(kd_normal_quantile(known[i][0]) - known[i][1]) < 2e-13 * fabs(known[i][1]));
    assert_true(fabs(kd_normal_quantile(0.5)) < 1e-16);
    for (double x = -5; x < 5; x += 0.37) assert_true(fabs(kd_normal_quantile(kd_normal_probability(x)) - x) < 1e-9);
}

static kd_design design_of(kd_design_kind kind, int nparameters, int n, const kd_distribution *d, kd_arena *arena)
{
    kd_design design = {.kind = kind, .nparameters = nparameters, .distribution = d, .n = n, .seed = 3};
    char      why[300];
    if (kd_design_prepare(&design, arena, why, sizeof why) < 0) fail_msg("%s", why);
    return design;
}

static kd_distribution *unit_intervals(kd_arena *arena, int n)
{
    kd_distribution *d = kd_arena_cut(arena, (size_t)n, sizeof *d);
    for (int i = 0; i < n; i++) d[i] = (kd_distribution){KD_UNIFORM, 0, 1, 0, NULL};
    return d;
}

// Unshifted, Sobol's sequence has the points of scipy.stats.qmc.Sobol in up to 60 dimensions.
static void sobol_as_scipy(void **state)
{
    (void)state;
    static const struct {
        int    row, dimension;
        double value;
    } known[] = {{1, 0, 0.5},        {1, 59, 0.5},       {2, 1, 0.25},      {3, 2, 0.75},
                 {5, 3, 0.375},      {7, 12, 0.625},     {13, 20, 0.5625},  {21, 33, 0.53125},
                 {37, 47, 0.265625}, {50, 59, 0.515625}, {63, 5, 0.140625}, {63, 59, 0.703125}};
    kd_arena  arena = {0};
    kd_design d = design_of(KD_DESIGN_SOBOL, 60, 64, unit_intervals(&arena, 60), &arena);
    double    value[60];
    d.seed = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        kd_design_row(&d, known[i].row, value);
        assert_true(fabs(value[known[i].dimension] - known[i].value) < 1e-9);
    }
    // shifted, every quarter of every dimension still has a quarter of the points
    d.seed = 5;
    for (int k = 0; k < 60; k++) {
        int count[4] = {0};
        for (int row = 0; row < 64; row++) kd_design_row(&d, row, value), count[(int)(4 * value[k])]++;
        for (int q = 0; q < 4; q++) assert_int_equal(count[q], 16);
    }
    kd_arena_release(&arena);
}

// A Latin hypercube meets each share of each parameter once.
static void latin_hypercubes(void **state)
{
    (void)state;
    enum { N = 37 };
    kd_arena  arena = {0};
    kd_design d = design_of(KD_DESIGN_LATIN, 5, N, unit_intervals(&arena, 5), &arena);
    double    value[5];
    for (int k = 0; k < 5; k++) {
        bool met[N] = {false};
        bool moved = false;
        for (int row = 0; row < N; row++) {
            kd_design_row(&d, row, value);
            const int share = (int)(N * value[k]);
            assert_false(met[share]);
            met[share] = true, moved = moved || share != row;
        }
        assert_true(moved);
    }
    kd_arena_release(&arena);
}

// All combinations, the last parameter fastest; ends of ranges belong to the grid.
static void grids(void **state)
{
    (void)state;
    static const double          three[] = {5, 6, 9};
    static const int             levels[] = {2, 3};
    static const double          wanted[6][2] = {{1, 5}, {1, 6}, {1, 9}, {4, 5}, {4, 6}, {4, 9}};
    static const kd_distribution list[] = {{KD_UNIFORM, 1, 4, 0, NULL}, {KD_DISCRETE, 0, 0, 3, three}};
    kd_arena                     arena = {0};
    kd_design                    d = {.kind = KD_DESIGN_GRID, .nparameters = 2, .distribution = list, .levels = levels};
    char                         why[200];
    double                       value[2];
    assert_int_equal(kd_design_prepare(&d, &arena, why, sizeof why), KD_OK);
    assert_int_equal(d.nrows, 6);
    for (int i = 0; i < 6; i++) {
        kd_design_row(&d, i, value);
        assert_true(value[0] == wanted[i][0] && value[1] == wanted[i][1]);
    }
    kd_arena_release(&arena);
}

// Rows of a design for indices: A, B, and A with one parameter of B.
static void pairs_for_indices(void **state)
{
    (void)state;
    kd_arena  arena = {0};
    kd_design d = design_of(KD_DESIGN_SENSITIVITY, 3, 10, unit_intervals(&arena, 3), &arena);
    double    a[3], b[3], x[3];
    assert_int_equal(d.nrows, 50);
    for (int pair = 0; pair < 10; pair++) {
        kd_design_row(&d, 5 * pair, a);
        kd_design_row(&d, 5 * pair + 1, b);
        for (int i = 0; i < 3; i++) {
            kd_design_row(&d, 5 * pair + 2 + i, x);
            for (int j = 0; j < 3; j++) assert_true(x[j] == (i == j ? b[j] : a[j]) && a[j] != b[j]);
        }
    }
    kd_arena_release(&arena);
}

// Correlated normal parameters have the correlation, means and deviations that were asked for.
static void correlated_parameters(void **state)
{
    (void)state;
    enum { N = 50000 };
    static const kd_distribution list[] = {{KD_NORMAL, 10, 2, 0, NULL}, {KD_LOGNORMAL, 3, 0.2, 0, NULL}};
    kd_arena                     arena = {0};
    double                       R[4] = {1, -0.6, -0.6, 1}, sum[5] = {0}, value[2];
    assert_true(kd_correlation_factor(2, R));
    kd_design d = {
        .kind = KD_DESIGN_MONTE_CARLO, .nparameters = 2, .distribution = list, .n = N, .seed = 1, .correlation = R};
    char why[200];
    assert_int_equal(kd_design_prepare(&d, &arena, why, sizeof why), KD_OK);
    for (int i = 0; i < N; i++) {
        kd_design_row(&d, i, value);
        const double x = (value[0] - 10) / 2, y = log(value[1] / 3) / 0.2;
        sum[0] += x, sum[1] += y, sum[2] += x * x, sum[3] += y * y, sum[4] += x * y;
    }
    const double e = 5 / sqrt(N);
    assert_true(fabs(sum[0] / N) < e && fabs(sum[1] / N) < e && fabs(sum[2] / N - 1) < 2 * e &&
                fabs(sum[3] / N - 1) < 2 * e);
    assert_true(fabs(sum[4] / N + 0.6) < e);
    double impossible[9] = {1, 0.9, 0.9, 0.9, 1, -0.9, 0.9, -0.9, 1};
    assert_false(kd_correlation_factor(3, impossible));
    kd_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_as_published), cmocka_unit_test(uniform_numbers),
        cmocka_unit_test(normal_quantiles),    cmocka_unit_test(sobol_as_scipy),
        cmocka_unit_test(latin_hypercubes),    cmocka_unit_test(grids),
        cmocka_unit_test(pairs_for_indices),   cmocka_unit_test(correlated_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
