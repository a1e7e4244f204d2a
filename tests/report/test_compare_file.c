// Files of a comparison: the table has a line per run, picture and page are sound and name the best methods, also with
// names and messages from outside, without reference, and on a full disk.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "project/command.h"
#include "report/compare_file.h"
#include "results/markup.h"

#define OUT KD_BINARY_DIR "/test-compare-file"

enum { METHODS = 2, TOLERANCES = 3, RUNS = METHODS * TOLERANCES };

static kd_compare_method  methods[METHODS];
static kd_compare_run     runs[RUNS];
static kd_compare_channel channel;

// Two methods at three tolerances; the second one fails at the last
static kd_comparison make(void)
{
    methods[0] = (kd_compare_method){.formulation = KD_PSF, .integrator = KD_RADAU};
    methods[1] = (kd_compare_method){.formulation = KD_ODE, .integrator = KD_DOP853, .projected = true};
    channel = (kd_compare_channel){.name = "x", .spread = 1e-9};
    for (int i = 0; i < RUNS; i++) {
        runs[i] = (kd_compare_run){.method = i / TOLERANCES, .tolerance = pow(10, -3 - 2 * (i % TOLERANCES))};
        runs[i].stats.accepted = runs[i].stats.steps = 10 + i;
        runs[i].seconds = (i < TOLERANCES ? 2e-3 : 1e-3) * (1 + i % TOLERANCES);
        runs[i].error = 3 * runs[i].tolerance;
        runs[i].output_error = NAN;
        runs[i].t = runs[i].t_good = 1;
    }
    runs[RUNS - 1].outcome = KD_COMPARE_FAILED;
    runs[RUNS - 1].error = NAN;
    snprintf(runs[RUNS - 1].message, sizeof runs->message, "joint \"a\" <b> & more");
    runs[2].is_reference = true;
    return (kd_comparison){.nsides = 1,
                           .nmethods = METHODS,
                           .nruns = RUNS,
                           .nchannels = 1,
                           .method = methods,
                           .run = runs,
                           .channel = &channel,
                           .tolerances = TOLERANCES,
                           .t_end = 1,
                           .reference = 2,
                           .companion = 4,
                           .uncertainty = 1e-8,
                           .t_part = INFINITY,
                           .parting = 1e-3};
}

static char *sound_file(const char *path)
{
    char *text = read_text(path), fault[200];
    assert_non_null(text);
    if (!markup_is_sound(text, fault, sizeof fault)) fail_msg("%s: %s", path, fault);
    return text;
}

static void all_files(void **state)
{
    (void)state;
    kd_comparison c = make();
    char          message[300] = "";
    assert_int_equal(kd_compare_save_csv(&c, "title", OUT "/a.csv", message, sizeof message), KD_OK);
    assert_int_equal(kd_compare_save_svg(&c, "<title>", OUT "/a.svg", message, sizeof message), KD_OK);
    assert_int_equal(kd_compare_save_html(&c, "<title>", OUT "/a.html", message, sizeof message), KD_OK);
    char *csv = read_text(OUT "/a.csv"), *svg = sound_file(OUT "/a.svg"), *page = sound_file(OUT "/a.html");
    int   lines = 0;
    for (const char *line = csv; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        lines += *line != '#';
    assert_int_equal(lines, 1 + RUNS);
    assert_non_null(strstr(csv, ",ode,dop853,always,1e-07,failed,"));
    assert_non_null(strstr(csv, "\"joint \"\"a\"\" <b> & more\""));
    assert_non_null(strstr(svg, "psf radau") && strstr(svg, "ode dop853") ? svg : NULL);
    assert_non_null(strstr(page, "reference"));
    assert_non_null(strstr(page, "&lt;b&gt; &amp; more"));
    assert_non_null(strstr(page, "Fastest for an accuracy of"));
    free(csv), free(svg), free(page);
}

// Without any good run there is a page all the same.
static void nothing_to_show(void **state)
{
    (void)state;
    kd_comparison c = make();
    char          message[300] = "";
    for (int i = 0; i < RUNS; i++) runs[i].outcome = KD_COMPARE_FAILED, runs[i].error = NAN;
    c.reference = c.companion = -1;
    c.uncertainty = NAN;
    assert_int_equal(kd_compare_save_csv(&c, "title", OUT "/b.csv", message, sizeof message), KD_OK);
    assert_int_equal(kd_compare_save_svg(&c, "title", OUT "/b.svg", message, sizeof message), KD_OK);
    assert_int_equal(kd_compare_save_html(&c, "title", OUT "/b.html", message, sizeof message), KD_OK);
    char *svg = sound_file(OUT "/b.svg"), *page = sound_file(OUT "/b.html");
    assert_non_null(strstr(svg, "no data"));
    assert_non_null(strstr(page, "nothing to compare"));
    free(svg), free(page);
    assert_int_equal(kd_compare_save_html(&c, "title", OUT "/none/b.html", message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "none/b.html"));
}

static int start_afresh(void **state)
{
    (void)state;
    return run_command("rm -rf '" OUT "' && mkdir '" OUT "'").status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_files), cmocka_unit_test(nothing_to_show)};
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
