// The command kardan plot, as a user runs it.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT KD_BINARY_DIR "/test-cli-plot"
#include "cli/run.h"
#define SOFT "'" OUT "/soft/quarter-car.csv' "
#define HARD "'" OUT "/hard/quarter-car.csv' "

static int two_runs(void **state)
{
    (void)state;
    const char *model = "'" KD_SOURCE_DIR "'/models/quarter-car.yaml --t-end 1 --output ";
    char        line[3000];
    snprintf(line, sizeof line,
             "rm -rf '" OUT "' && " KARDAN "simulate %s '" OUT "/soft' && " KARDAN "simulate %s '" OUT
             "/hard' --set cs=5000",
             model, model);
    return run_command(line).status;
}

// Two runs on top of each other: a line and an entry of the legend for each.
static void two_runs_in_one_picture(void **state)
{
    (void)state;
    expect("plot " SOFT "--with " HARD
           "--names 'soft springs,hard springs' --channels joint.wheel-guide.q --output '" OUT "/both.svg'",
           0, "both.svg");
    assert_int_equal(
        run_command("grep -q 'soft springs' '" OUT "/both.svg' && grep -q 'hard springs' '" OUT "/both.svg'").status,
        0);
}

// Tables one behind the other are the same picture.
static void several_tables(void **state)
{
    (void)state;
    expect("plot " SOFT HARD "--names soft,hard --channels joint.wheel-guide.q --output '" OUT "/several.svg'", 0,
           "several.svg");
    expect("plot " SOFT "--with " HARD "--names soft,hard --channels joint.wheel-guide.q --output '" OUT "/with.svg'",
           0, "with.svg");
    assert_int_equal(run_command("cmp '" OUT "/several.svg' '" OUT "/with.svg'").status, 0);
    expect("plot " SOFT "nothing.csv --channels joint.wheel-guide.q", 1, "nothing.csv");
}

// One channel over another: a phase plot has the label of that channel; a spectrum is over frequency.
static void phase_plots_and_spectra(void **state)
{
    (void)state;
    expect("plot " SOFT "--channels joint.wheel-guide.v --against joint.wheel-guide.q --output '" OUT "/phase.svg'", 0,
           "phase.svg");
    assert_int_equal(run_command("grep -q 'joint.wheel-guide.q \\[m\\]' '" OUT "/phase.svg'").status, 0);
    expect("plot " SOFT "--with " HARD "--channels joint.wheel-guide.q --spectrum --output '" OUT "/spectrum.svg'", 0,
           "spectrum.svg");
    assert_int_equal(run_command("grep -q 'frequency \\[Hz\\]' '" OUT "/spectrum.svg'").status, 0);
    expect("plot " SOFT "--channels t --against joint.wheel-guid.q", 1, "did you mean 'joint.wheel-guide.q'?");
    expect("plot " SOFT "--channels t --against t --spectrum", 2, "exclude each other");
    run_command("printf 't,x\\n0,1\\n1,2\\n' > '" OUT "/short.csv'");
    expect("plot '" OUT "/short.csv' --channels x --spectrum", 1, "2 rows, too few for a spectrum");
}

// What is missing or wrong is told.
static void mistakes_are_told(void **state)
{
    (void)state;
    expect("plot " SOFT, 2, "which channels?");
    expect("plot " SOFT "--channels joint.wheel-guid.q", 1, "did you mean 'joint.wheel-guide.q'?");
    expect("plot nowhere.csv --channels x", 1, "'nowhere.csv' cannot be read");
    expect("plot " SOFT "--channels t --names a,b", 2, "2 names for 1 tables");
    expect("plot --help", 0, "Examples:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_runs_in_one_picture),
        cmocka_unit_test(several_tables),
        cmocka_unit_test(phase_plots_and_spectra),
        cmocka_unit_test(mistakes_are_told),
    };
    return cmocka_run_group_tests(tests, two_runs, NULL);
}
