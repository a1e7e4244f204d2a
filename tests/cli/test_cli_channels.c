// Channels without sensors, results as MAT file, and states to go on from, as a user asks for them.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT KD_BINARY_DIR "/test-cli-channels"
#define BEFORE "cd '" OUT "' && "
#include "cli/run.h"

static int count_columns(const char *file, const char *pattern)
{
    char line[1000];
    snprintf(line, sizeof line, "grep -v '^#' '" OUT "/%s' | head -1 | tr ',' '\\n' | grep -cE '%s'", file, pattern);
    return atoi(run_command(line).text);
}

// All: poses and velocities of bodies, driven joints, reactions; a pattern: what it fits. The motion stays.
static void channels_by_pattern(void **state)
{
    (void)state;
    expect("simulate " MODELS "four-bar.yaml --t-end 0.2 --channels all --output all", 0, "verdict");
    assert_int_equal(count_columns("all/four-bar.csv", "^body\\.[a-z-]+\\.pos\\.[xyz]$"), 9);
    assert_int_equal(count_columns("all/four-bar.csv", "^body\\.[a-z-]+\\.omega\\.[xyz]$"), 9);
    assert_true(count_columns("all/four-bar.csv", "^joint\\.[a-z-]+\\.force\\.[xyz]$") >= 12);
    expect("simulate " MODELS "four-bar.yaml --t-end 0.2 --channels 'body.*.pos.z,joint.*.torque.?' --output some", 0,
           "verdict");
    assert_int_equal(count_columns("some/four-bar.csv", "^body\\."), 3);
    expect("simulate " MODELS "four-bar.yaml --t-end 0.2 --output none", 0, "verdict");
    assert_int_equal(count_columns("none/four-bar.csv", "^body\\."), 0);
    // the motion stays, to the tolerance: angles that are counted over turns are states, too
    const command_result last =
        run_command("cd '" OUT "' && tail -qn1 all/four-bar.csv none/four-bar.csv | cut -d, -f1-3 | tr ',' ' '");
    double a[3], b[3];
    assert_int_equal(sscanf(last.text, "%lf %lf %lf %lf %lf %lf", &a[0], &a[1], &a[2], &b[0], &b[1], &b[2]), 6);
    for (int i = 0; i < 3; i++) assert_true(a[i] - b[i] < 1e-9 && b[i] - a[i] < 1e-9);
    expect("simulate " MODELS "four-bar.yaml --channels 'bodies.*'", 2, "nothing fits 'bodies.*'");
}

// A MAT file has times, values, names, units, settings and events, and is complete.
static void mat_files(void **state)
{
    (void)state;
    const command_result r = run_command("cd '" OUT "' && " KARDAN "simulate " MODELS
                                         "impact-ball.yaml --t-end 1 --format mat --output mat");
    if (r.status == 2 && strstr(r.text, "built without matio")) skip();
    assert_int_equal(r.status, 0);
    must_contain(r.text, "impact-ball.mat");
    assert_int_equal(run_command("head -c 46 '" OUT
                                 "/mat/impact-ball.mat' | grep -q 'MATLAB 5.0 MAT-file, results written by kardan'")
                         .status,
                     0);
    static const char *const parts[] = {"values",  "unit",       "setting_name", "setting_value",
                                        "event_t", "event_kind", "event_text",   "impact"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char line[300];
        snprintf(line, sizeof line, "grep -aq '%s' '" OUT "/mat/impact-ball.mat'", parts[i]);
        if (run_command(line).status != 0) fail_msg("%s is not in the file", parts[i]);
    }
    expect("simulate " MODELS "impact-ball.yaml --format mad", 2, "did you mean 'mat'?");
}

// A run in two parts ends where the whole one does, to ten tolerances; a state that cannot be written is told.
static void states_to_go_on_from(void **state)
{
    (void)state;
    expect("simulate " MODELS "double-pendulum.yaml --t-end 0.5 --write-state half.csv --output half", 0, "verdict");
    expect("simulate " MODELS "double-pendulum.yaml --start-state half.csv --t-end 1 --output rest", 0, "verdict");
    expect("simulate " MODELS "double-pendulum.yaml --t-end 1 --output whole", 0, "verdict");
    const command_result last = run_command(
        "cd '" OUT "' && tail -qn1 rest/double-pendulum.csv whole/double-pendulum.csv | cut -d, -f1-3 | tr ',' ' '");
    double a[3], b[3];
    assert_int_equal(sscanf(last.text, "%lf %lf %lf %lf %lf %lf", &a[0], &a[1], &a[2], &b[0], &b[1], &b[2]), 6);
    for (int i = 0; i < 3; i++) assert_true(a[i] - b[i] < 1e-5 && b[i] - a[i] < 1e-5);
    expect("simulate " MODELS "double-pendulum.yaml --t-end 0.1 --write-state nowhere/half.csv", 1, "--write-state: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_by_pattern),
        cmocka_unit_test(mat_files),
        cmocka_unit_test(states_to_go_on_from),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
