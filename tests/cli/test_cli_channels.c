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
    // every channel has a name of its own, without a number in front
    assert_int_equal(count_columns("all/four-bar.csv", "^[a-z]+\\[[0-9]+\\]"), 0);
    assert_int_equal(count_columns("all/four-bar.csv", "^body\\.crank\\.yaw$"), 1);
    // Cardan angles of a wheel are singular twice a turn: they are shown, and the run goes on as if they were not
    expect("simulate " MODELS "passenger-car.yaml --t-end 0.1 --channels all --output some", 0, "verdict: clean");
    assert_int_equal(count_columns("some/passenger-car.csv", "^body\\.front\\(1\\)\\.wheel\\.yaw$"), 1);
    // outputs of blocks and variables are paths, too
    expect("simulate " MODELS "gear-shift.yaml --t-end 0.1 --channels 'variable.*' --output some", 0, "verdict");
    assert_true(count_columns("some/gear-shift.csv", "^variable\\.") > 0);
    expect("simulate " MODELS "sampled-speed.yaml --t-end 0.1 --channels all --output some", 0, "verdict");
    assert_true(count_columns("some/sampled-speed.csv", "^block\\.speed\\.out") > 0);
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
    static const char *const parts[] = {"values",          "unit",       "setting_name",    "setting_value", "event_t",
                                        "event_kind",      "event_text", "event_direction", "impact",        "verdict",
                                        "statistic_value", "model_file", "status"};
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
    // a run with advice is a good one, too
    expect("simulate " MODELS
           "bouncing-ball.yaml --formulation ode --integrator adams --t-end 0.6 --write-state advice.csv --output half",
           0, "the equations are stiff");
    expect("simulate " MODELS "bouncing-ball.yaml --start-state advice.csv --t-end 0.61 --output half", 0, "verdict");
    // angles that only the first run counted are left out; those that it did not count follow from the rest
    expect("simulate " MODELS "four-bar.yaml --t-end 0.3 --channels all --write-state all.csv --output half", 0,
           "verdict");
    expect("simulate " MODELS "four-bar.yaml --start-state all.csv --t-end 0.6 --output rest", 0, "verdict: clean");
    expect("simulate " MODELS "four-bar.yaml --t-end 0.6 --output whole", 0, "verdict");
    const command_result ends =
        run_command("cd '" OUT "' && tail -qn1 rest/four-bar.csv whole/four-bar.csv | cut -d, -f1-3 | tr ',' ' '");
    assert_int_equal(sscanf(ends.text, "%lf %lf %lf %lf %lf %lf", &a[0], &a[1], &a[2], &b[0], &b[1], &b[2]), 6);
    for (int i = 0; i < 3; i++) assert_true(a[i] - b[i] < 1e-5 && b[i] - a[i] < 1e-5);
    for (int k = 0; k < 2; k++) {
        static const char *const model[] = {"four-bar", "slider-crank"};
        char                     line[300];
        snprintf(line, sizeof line, "simulate " MODELS "%s.yaml --t-end 0.9 --write-state plain.csv", model[k]);
        expect(line, 0, "start: initial velocity");
        snprintf(line, sizeof line, "simulate " MODELS "%s.yaml --start-state plain.csv --channels all --t-end 1.5",
                 model[k]);
        assert_null(strstr(expect(line, 0, "verdict: clean").text, "start: initial"));
    }
    expect("simulate " MODELS "four-bar.yaml --t-end 0.3 --write-state whole.run --output half", 0, "verdict");
    expect("simulate " MODELS "four-bar.yaml --start-state whole.run", 1, "'--continue whole.run' goes on with it");
}

// A run that is written on the way, cut off and continued ends in the same rows, bit for bit, with the certificate of the
// whole; another model, changed parameters, other options and damaged files are refused with the reason.
static void runs_that_go_on(void **state)
{
    (void)state;
    const command_result uncut = expect("simulate " MODELS "slider-crank.yaml --output uncut", 0, "checked at ");
    char                 checked[80]; // how many states the certificate of the whole saw
    assert_int_equal(sscanf(strstr(uncut.text, "checked at "), "%79[^\n]", checked), 1);
    must_contain(checked, "states from t = 0 s to t = 2 s");
    expect("simulate " MODELS "slider-crank.yaml --output cut --write-state a.run --max-steps 40", 1,
           "more steps are needed");
    expect("simulate " MODELS "slider-crank.yaml --output cut --continue a.run", 0, checked);
    const char *same =
        "cd '" OUT "' && tail -n300 uncut/slider-crank.csv > u && tail -n300 cut/slider-crank.csv | cmp - u";
    assert_int_equal(run_command(same).status, 0);
    // pauses in which it is written do not change the motion; all parts together keep to --max-steps
    expect("simulate " MODELS "slider-crank.yaml --output paused --write-state b.run --write-every 0.1", 0,
           "verdict: clean");
    assert_int_equal(run_command("cd '" OUT "' && tail -n300 paused/slider-crank.csv | cmp - u").status, 0);
    expect("simulate " MODELS "slider-crank.yaml --output paused --write-state b.run --write-every 0.1 --max-steps 90",
           1, "more steps are needed");
    // what does not fit
    expect("simulate " MODELS "four-bar.yaml --output cut --continue a.run", 1, "the model file is another one");
    expect("simulate " MODELS "slider-crank.yaml --output cut --continue a.run --rtol 1e-3", 1,
           "tolerances are others");
    expect("simulate " MODELS "slider-crank.yaml --output cut --continue a.run --option radau.safety=0.8", 1,
           "radau.safety=0.9 there, radau.safety=0.8 here");
    expect("simulate " MODELS "slider-crank.yaml --output cut --continue uncut/slider-crank.csv", 1,
           "these are no saved simulations");
    run_command("cd '" OUT "' && head -c 5000 a.run > short.run");
    expect("simulate " MODELS "slider-crank.yaml --output cut --continue short.run", 1, "it is not complete");
    expect("simulate " MODELS "slider-crank.yaml --write-every 1", 1, "--write-every needs --write-state");
    expect("simulate " MODELS "slider-crank.yaml --continue a.run --from-equilibrium", 1, "has a start of its own");
    expect("simulate " MODELS "slider-crank.yaml --t-end 0.1 --write-state nowhere/a.run --output cut", 1,
           "--write-state: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_by_pattern),
        cmocka_unit_test(mat_files),
        cmocka_unit_test(states_to_go_on_from),
        cmocka_unit_test(runs_that_go_on),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
