// Parameters from measurements: the truth lies in the stated ellipse as often as it should; what data cannot tell is named.
#define _POSIX_C_SOURCE 200809L
#include <kardan/study.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "math/random.h"
#include "project/command.h"

#define FOLDER KD_BINARY_DIR "/identify"

enum { ROWS = 40 };
static const double K = 120, C = 3, MASS = 2, SIGMA = 2e-3;

// x'' = -(k x + c x') / m from x = 0.1: the closed form
static double swing(double t)
{
    const double d = C / (2 * MASS), w = sqrt(K / MASS - d * d);
    return 0.1 * exp(-d * t) * (cos(w * t) + d / w * sin(w * t));
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

// The model: stiffness is a product of two parameters
static void write_model(void)
{
    write_file(FOLDER "/oscillator.yaml",
               "kardan: 1\nparameters: {k: 100, factor: 1, c: 2, m: 2}\ngravity: [0, 0, 0]\n"
               "bodies: {mass: {mass: m, inertia: [1, 1, 1]}}\n"
               "joints: {way: {type: prismatic, bodies: [ground, mass], point: [0, 0, 0], axis: [1, 0, 0], q: 0.1}}\n"
               "forces: {spring: {type: joint_spring, joint: way, stiffness: k*factor, damping: c, rest: 0}}\n"
               "sensors: {x: joint.way.q}\nrun: {t_end: 2, integrator: dop853, rtol: 1e-8}\n");
}

// Measurements with noise of the deviation SIGMA, by counted numbers
static void write_data(uint64_t seed)
{
    FILE *file = fopen(FOLDER "/data.csv", "w");
    assert_non_null(file);
    (void)fputs("time,position\n", file);
    for (int i = 0; i < ROWS; i++) {
        const double t = 2.0 * i / (ROWS - 1);
        (void)fprintf(file, "%.17g,%.17g\n", t,
                      swing(t) + SIGMA * kd_normal_quantile(kd_uniform(seed, 9, (uint64_t)i)));
    }
    (void)fclose(file);
}

static kd_study *read_study(const char *parameters, const char *fit)
{
    char      text[2000], message[2000];
    kd_study *s;
    snprintf(text, sizeof text,
             "model: oscillator.yaml\nparameters: {%s}\nidentify: {data: data.csv, time: time, fit: {x: %s}}\n",
             parameters, fit);
    if (kd_study_read_text(FOLDER "/study.yaml", text, strlen(text), &s, message, sizeof message) < 0)
        fail_msg("%s", message);
    return s;
}

static kd_identification identify(const char *parameters, const char *fit)
{
    kd_identification id;
    char              message[2000];
    kd_study         *s = read_study(parameters, fit);
    if (kd_study_identify(s, &id, message, sizeof message) < 0) fail_msg("%s", message);
    kd_study_destroy(s);
    return id;
}

// In 100 sets of data the truth lies in the 95 % ellipse 90 to 99 times, with sigma given and with sigma found.
static void ellipse_holds_the_truth(void **state)
{
    (void)state;
    static const char *const FIT[] = {"{column: position, sigma: 2e-3}", "position"};
    for (int variant = 0; variant < 2; variant++) {
        int hits = 0;
        for (uint64_t seed = 1; seed <= 100; seed++) {
            write_data(seed);
            const kd_identification id = identify("k: {range: [50, 200]}, c: {range: [0.5, 8]}", FIT[variant]);
            assert_true(id.determined[0] && id.determined[1] && id.undetermined == 0);
            assert_true(id.misfit > 0.1 && id.misfit < 2);
            const double a = (id.value[0] - K) / id.deviation[0], b = (id.value[1] - C) / id.deviation[1];
            const double rho = id.correlation[1];
            hits += (a * a - 2 * rho * a * b + b * b) / (1 - rho * rho) < 5.991464547107979; // chi^2 of 2 numbers
        }
        if (hits < 90 || hits > 99) fail_msg("variant %d: %d of 100", variant, hits);
    }
}

// Parameters that occur as a product only are named, and the third one is still known.
static void products_are_named(void **state)
{
    (void)state;
    write_data(3);
    const kd_identification id = identify("k: {range: [50, 200]}, factor: {range: [0.5, 2]}, c: {range: [0.5, 8]}",
                                          "{column: position, sigma: 2e-3}");
    assert_false(id.determined[0]);
    assert_false(id.determined[1]);
    assert_true(id.determined[2]);
    assert_int_equal(id.undetermined, 1);
    assert_string_equal(id.unknown, "k, factor");
    assert_true(isinf(id.deviation[0]));
    assert_true(fabs(id.value[0] * id.value[1] - K) < 3 && fabs(id.value[2] - C) < 5 * id.deviation[2]);
}

// A parameter without any effect is named; without noise the truth is found to many digits.
static void nothing_to_see(void **state)
{
    (void)state;
    FILE *file = fopen(FOLDER "/data.csv", "w");
    assert_non_null(file);
    (void)fputs("time,position\n", file);
    for (int i = 0; i < ROWS; i++) (void)fprintf(file, "%.17g,%.17g\n", 0.05 * i, swing(0.05 * i));
    (void)fclose(file);
    kd_identification id = identify("k: {range: [50, 200]}, c: {range: [0.5, 8]}", "{column: position, sigma: 2e-3}");
    assert_true(fabs(id.value[0] - K) < 1e-4 && fabs(id.value[1] - C) < 1e-5);
    assert_true(id.misfit < 1e-6);
}

// What is wrong is told.
static void wrong_data(void **state)
{
    (void)state;
    static const char *const WRONG[][2] = {
        {"identify: {data: none.csv, fit: {x: position}}\n", "none.csv"},
        {"identify: {data: data.csv, fit: {x: pos}}\n", "pos"},
        {"identify: {data: data.csv, fit: {xx: position}}\n", "'xx'"},
        {"identify: {data: data.csv}\n", "identify needs fit"},
        {"identify: {fit: {x: position}}\n", "identify needs data"},
        {"identify: {data: data.csv, fit: {x: position, joint.way.v: position}}\n",
         "several channels need the deviation"},
        {"identify: {data: data.csv, fit: {x: {column: position, sigma: 0}}}\n", "a deviation is above 0"},
        {"design: {grid: 2}\nidentify: {data: data.csv, fit: {x: position}}\n", "a study has one of design, identify"},
    };
    write_data(1);
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        char      text[1000], message[2000] = "";
        kd_study *s = NULL;
        snprintf(text, sizeof text, "model: oscillator.yaml\nparameters: {k: {range: [50, 200]}}\n%s", WRONG[i][0]);
        assert_true(kd_study_read_text(FOLDER "/study.yaml", text, strlen(text), &s, message, sizeof message) < 0);
        if (!strstr(message, WRONG[i][1])) fail_msg("'%s' is not in '%s'", WRONG[i][1], message);
    }
    // times that fall, a file with gaps
    write_file(FOLDER "/data.csv", "time,position\n0,0.1\n1,0\n0.5,0\n");
    kd_study         *s = read_study("k: {range: [50, 200]}", "position");
    kd_identification id;
    char              message[1000];
    assert_int_equal(kd_study_identify(s, &id, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "data.csv:4: times rise"));
    kd_study_destroy(s);
}

int main(void)
{
    if (run_command("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'").status != 0) return 1;
    write_model();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ellipse_holds_the_truth),
        cmocka_unit_test(products_are_named),
        cmocka_unit_test(nothing_to_see),
        cmocka_unit_test(wrong_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
