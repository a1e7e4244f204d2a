// Random roads by ISO 8608: their spectrum, seeds, tracks beside each other, and how model files ask for them.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "vehicle/random_road.h"

#define PI 3.14159265358979323846

static kd_random_road road_of(int class, uint64_t seed)
{
    return (kd_random_road){.roughness = kd_road_roughness(class),
                            .waviness = 2,
                            .least = 0.02,
                            .most = 2.5,
                            .length = 100,
                            .step = 0.1,
                            .tracks = 1,
                            .seed = seed};
}

// Fourier sum of a track at k cycles per length, both parts
static void wave_of(const kd_random_road *r, const double *z, int track, int k, double part[2])
{
    const int n = kd_random_road_points(r) - 1;
    part[0] = part[1] = 0;
    for (int i = 0; i < n; i++) {
        part[0] += 2.0 / n * z[i * r->tracks + track] * cos(2 * PI * k * i / n);
        part[1] += 2.0 / n * z[i * r->tracks + track] * sin(2 * PI * k * i / n);
    }
}

// The spectral density, (amplitude^2/2) L, is that of the class at every wave number between the ends and 0 outside, for all
// classes and seeds; the road closes.
static void spectrum_is_that_of_the_class(void **state)
{
    (void)state;
    for (int class = 0; class < KD_ROAD_CLASSES; class ++) {
        const kd_random_road r = road_of(class, 5 + (uint64_t) class);
        const int            n = kd_random_road_points(&r);
        double              *z = calloc((size_t)n, sizeof *z), part[2];
        assert_int_equal(n, 1001);
        assert_int_equal(kd_random_road_make(&r, z), KD_OK);
        for (int k = 1; k < 400; k += 7) {
            wave_of(&r, z, 0, k, part);
            const double density = 0.5 * (part[0] * part[0] + part[1] * part[1]) * r.length;
            const double wanted = k >= 2 && k <= 250 ? 16e-6 * pow(4, class) * pow(k / 100.0 / 0.1, -2) : 0;
            if (!(fabs(density - wanted) <= 1e-9 * wanted + 1e-16))
                fail_msg("class %d, %d waves: %.9g instead of %.9g", class, k, density, wanted);
        }
        assert_true(z[n - 1] == z[0]);
        free(z);
    }
}

// The same seed gives the same bits, another one another road
static void seeds(void **state)
{
    (void)state;
    double         z[3][1001], most = 0;
    const uint64_t seed[3] = {7, 7, 8};
    for (int k = 0; k < 3; k++) {
        const kd_random_road r = road_of(2, seed[k]);
        assert_int_equal(kd_random_road_make(&r, z[k]), KD_OK);
    }
    assert_memory_equal(z[0], z[1], sizeof z[0]);
    for (int i = 0; i < 1001; i++) most = fmax(most, fabs(z[0][i] - z[2][i]));
    assert_true(most > 1e-3);
}

// x K_1(x) at tabulated values (Abramowitz and Stegun, table 9.8)
static void coherence_is_that_of_bessel(void **state)
{
    static const double x[] = {0.1, 1, 2, 5},
                        K1[] = {9.853844780870606, 0.6019072301972346, 0.13986588181652243, 0.004044613445452164};
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_true(fabs(kd_road_coherence(x[i] / (2 * PI), 1) - x[i] * K1[i]) < 1e-14 * x[i] * K1[i] + 1e-15);
    assert_true(kd_road_coherence(0.5, 0) == 1 && fabs(kd_road_coherence(1e-6, 1) - 1) < 1e-9);
}

// Over many seeds tracks share as much of each wave as their distance says, and every one has the spectrum of the class.
static void tracks_are_correlated(void **state)
{
    enum { SEEDS = 400, TRACKS = 3, WAVES = 3 };
    static const int k[WAVES] = {4, 12, 40}; // cycles in 100 m
    double           product[WAVES][TRACKS] = {{0}}, power[WAVES][TRACKS] = {{0}};
    double          *z = calloc(1001 * TRACKS, sizeof *z);
    (void)state;
    for (int s = 0; s < SEEDS; s++) {
        kd_random_road r = road_of(2, (uint64_t)s);
        r.tracks = TRACKS, r.width = 2, r.most = 0.5;
        assert_int_equal(kd_random_road_make(&r, z), KD_OK);
        for (int w = 0; w < WAVES; w++) {
            double part[TRACKS][2];
            for (int j = 0; j < TRACKS; j++) wave_of(&r, z, j, k[w], part[j]);
            for (int j = 0; j < TRACKS; j++) {
                product[w][j] += part[0][0] * part[j][0] + part[0][1] * part[j][1];
                power[w][j] += part[j][0] * part[j][0] + part[j][1] * part[j][1];
            }
        }
    }
    for (int w = 0; w < WAVES; w++)
        for (int j = 1; j < TRACKS; j++) {
            const double is = product[w][j] / sqrt(power[w][0] * power[w][j]), n = k[w] / 100.0;
            if (!(fabs(is - kd_road_coherence(n, j)) < 0.12)) fail_msg("%d waves, track %d: %g", k[w], j, is);
            assert_true(fabs(power[w][j] / power[w][0] - 1) < 0.15);
        }
    free(z);
}

// What a file asks for: a curve of x, or of x and y; what does not fit is told in a sentence
static void in_model_files(void **state)
{
    static const struct {
        const char *curve, *says;
    } list[] = {{"{iso8608: C, seed: 3, length: 50}", NULL},
                {"{iso8608: C, seed: 3, length: 50, width: 2, tracks: 3}", NULL},
                {"{iso8608: X}", "possible are A, B"},
                {"{iso8608: C, length: 50.02}", "is no multiple of 'step'"},
                {"{iso8608: C, step: 0.2}", "too long for waves"},
                {"{iso8608: C, from: 3, to: 1}", "must be larger than 'from'"},
                {"{iso8608: C, length: 0.5, from: 0.3, to: 1.5}", "no wave between"},
                {"{iso8608: C, length: 1e7}", "too many or too few"},
                {"{iso8608: C, width: 2, outside: repeat}", "does not repeat"},
                {"{iso8608: C, file: a.csv}", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char      text[600], message[1000] = "";
        kd_model *m = NULL;
        snprintf(text, sizeof text, "kardan: 1\ncurves: {road: %s}\nsensors: {z: {value: \"road(t%s)\", unit: m}}\n",
                 list[i].curve, strstr(list[i].curve, "width") ? ", 0.5" : "");
        const kd_status status = kd_model_read_text("t.yaml", text, strlen(text), NULL, 0, &m, message, sizeof message);
        if ((status >= 0) != (list[i].says == NULL)) fail_msg("%s: %s", list[i].curve, message);
        if (list[i].says && !strstr(message, list[i].says)) fail_msg("%s: %s", list[i].curve, message);
        kd_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spectrum_is_that_of_the_class),
        cmocka_unit_test(seeds),
        cmocka_unit_test(coherence_is_that_of_bessel),
        cmocka_unit_test(tracks_are_correlated),
        cmocka_unit_test(in_model_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
