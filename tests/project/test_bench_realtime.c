// The benchmark of steps in real time: rows that do not depend on the machine keep their goals, figures are written.
#define _POSIX_C_SOURCE 200809L // popen, access
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <unistd.h>

#include "project/command.h"

#define PROGRAM KD_BINARY_DIR "/bench/realtime"
#define PLOTS KD_BINARY_DIR "/tests/bench-realtime"

// Runs the rows that a word chooses; without the program, or in a build without benchmarks, the test is skipped.
static command_result quick_run(const char *only)
{
    char command[2000];
    if (access(PROGRAM, X_OK) != 0) skip();
    snprintf(command, sizeof command, "'%s' --quick --json --plots '%s' --only %s", PROGRAM, PLOTS, only);
    return run_command(command);
}

static void assert_row_met(const command_result *run, const char *name)
{
    char        wanted[200];
    const char *end;
    snprintf(wanted, sizeof wanted, "\"name\": \"%s\"", name);
    const char *row = strstr(run->text, wanted);
    if (!row) fail_msg("no row %s in: %s", name, run->text);
    end = strchr(row, '}');
    const char *met = strstr(row, "\"met\": true");
    if (!end || !met || met > end) fail_msg("%s: %.*s", name, end ? (int)(end - row) : 200, row);
}

static void assert_figure(const char *name)
{
    static const char *const endings[] = {"svg", "csv"};
    for (int i = 0; i < 2; i++) {
        char path[1000];
        snprintf(path, sizeof path, "%s/%s.%s", PLOTS, name, endings[i]);
        if (access(path, R_OK) != 0) fail_msg("%s is missing", path);
    }
}

// S4 figures 6 to 8: the drift on the car axis falls with the powers of h that the theory gives.
static void slopes_on_the_car_axis(void **state)
{
    (void)state;
    static const char *const rows[] = {"slope.none",         "slope.baumgarte", "slope.baumgarte_index1",
                                       "slope.projection",   "slope.ggl",       "slope.projection_predicted",
                                       "slope.ggl_predicted"};
    const command_result     run = quick_run("slope");
    assert_int_equal(run.status, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_row_met(&run, rows[i]);
    assert_figure("realtime-axis-largest");
    assert_figure("realtime-axis-error");
    assert_figure("realtime-axis-methods");
}

// S4 figure 3: index 1 leaves the circular track faster than index 2, projection does not.
static void drift_on_the_track(void **state)
{
    (void)state;
    const command_result run = quick_run("track");
    assert_int_equal(run.status, 0);
    assert_row_met(&run, "track.ratio");
    assert_row_met(&run, "track.largest.projection");
    assert_row_met(&run, "track.growth.projection");
    assert_figure("realtime-track");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_on_the_car_axis),
        cmocka_unit_test(drift_on_the_track),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
