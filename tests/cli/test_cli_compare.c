// The program kardan: compare, and simulate --cross-check.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT KD_BINARY_DIR "/test-cli-compare"
#include "cli/run.h"
#define TO " --output '" OUT "' "

// A model in both coordinate sets: table, recommendation, and all three files.
static void compare_model(void **state)
{
    (void)state;
    command_result r =
        expect("compare " MODELS "pendulum.yaml --t-end 1 --tol 1e-3:1e-6 --only psf+radau,ode+dop853,ggl+bdf" TO, 0,
               "Fastest for an accuracy of");
    must_contain(r.text, "cartesian ggl + bdf");
    must_contain(r.text, "joint     psf + radau");
    must_contain(r.text, "Reference: ");
    must_contain(r.text, "pendulum-compare.html");
    command_result csv = run_command("cat '" OUT "/pendulum-compare.csv'");
    must_contain(csv.text, "coordinates,formulation,integrator,projection,tolerance,outcome");
    must_contain(csv.text, "cartesian,ggl,bdf,never,0.001,done,");
    command_result svg = run_command("cat '" OUT "/pendulum-compare.svg'");
    must_contain(svg.text, "computing time [s]");
    must_contain(svg.text, "J psf radau");
    command_result page = run_command("head -c 400 '" OUT "/pendulum-compare.html'");
    must_contain(page.text, "<!DOCTYPE html>");
    r = expect("compare " MODELS "pendulum.yaml --t-end 1 --tol 1e-4,1e-6 --only psf+radau,ode+dop853 --brief"
               " --coordinates joint" TO,
               0, "Reference: joint");
    assert_null(strstr(r.text, "Jacob."));
}

// Side by side or one after the other: the same runs, errors and counts, whatever the times are
static void compare_in_threads(void **state)
{
    (void)state;
    const command_result r = run_command(
        "rm -rf '" OUT "' && for j in 1 2 5; do " KARDAN "compare " MODELS
        "slider-crank.yaml --t-end 0.3 --tol 1e-3:1e-5 --only psf+radau,ode+dop853,ggl+bdf,ode+dopri5 --patience 1e6 "
        "--quiet"
        " --budget 1e6 --jobs $j --output '" OUT "' || exit 1; "
        "cut -d, -f1-10,12- '" OUT "/slider-crank-compare.csv' > '" OUT "'/$j.txt; cmp '" OUT "'/1.txt '" OUT
        "'/$j.txt || exit 1; grep -q done '" OUT "'/$j.txt || exit 1; done");
    if (r.status != 0) fail_msg("%s", r.text);
}

// An example written in C, as JSON: it is JSON, and the errors fall with the tolerance.
static void compare_example(void **state)
{
    (void)state;
    command_result r =
        expect("compare andrews --t-end 0.01 --tol 1e-3:1e-5 --only radau,dop853 --json" TO, 0, "\"runs\": [");
    must_be_json(r.text);
    must_contain(r.text, "\"contradiction\": false");
    must_contain(r.text, "\"formulation\": \"statespace\"");
    expect("compare andrews --t-end 0.01 --tol 1e-3 --only radau --quiet" TO, 0, "");
}

// What is not understood is told.
static void mistakes(void **state)
{
    (void)state;
    expect("compare andrews --tol 1e-8:1e-3" TO, 2, "--tol wants falling tolerances");
    expect("compare andrews --tol 1e-3,banana" TO, 2, "--tol wants falling tolerances");
    expect("compare andrews --only radau,banana" TO, 2, "no method is called 'banana'");
    expect("compare andrews --coordinates cartesian" TO, 2, "is for model files");
    expect("compare nosuch" TO, 2, "unknown example");
    expect("compare andrews --t-end 0" TO, 2, "does not lie behind the start");
    expect("compare --help", 0, "Examples:");
    expect("compare pendulum --tol 1e-3 --only radau --t-end 0.1 --output /dev/null/x", 1, "kardan: ");
}

// Ctrl-C keeps what is done: the table is told, the files are written, the exit status says it.
static void interrupted(void **state)
{
    (void)state;
    command_result r = run_command("timeout -s INT 2 " KARDAN "compare " MODELS "hmmwv.yaml --brief --budget 1000" TO
                                   " 2>&1; echo exit $?");
    must_contain(r.text, "Stopped: what was done until then is told.");
    must_contain(r.text, "hmmwv-compare.csv");
}

// A run with cross-check names its partner and the largest differences, and writes them; the motion is the same.
static void cross_check(void **state)
{
    (void)state;
    // the method that kardan chooses has partners, too
    expect("simulate " MODELS "slider-crank.yaml --t-end 0.3 --rtol 1e-6 --cross-check" TO, 0,
           "cross-check: the same motion: cartesian ");
    command_result r =
        expect("simulate " MODELS "slider-crank.yaml --t-end 0.3 --rtol 1e-6 --integrator radau --cross-check" TO, 0,
               "cross-check: the same motion: cartesian ode + esdirk differs by at most ");
    must_contain(r.text, "largest differences from cartesian ode + esdirk");
    must_contain(r.text, "slider-crank.cross-check.txt");
    r = run_command("cat '" OUT "/slider-crank.cross-check.txt'");
    must_contain(r.text, "body.piston.vel");
    r = run_command("grep cross-check '" OUT "/slider-crank.csv'");
    must_contain(r.text, "the same motion: ");
    r = expect("simulate andrews --t-end 0.01 --integrator dop853 --formulation ode --projection always --cross-check"
               " --json" TO,
               0, "\"cross_check\": {");
    must_be_json(r.text);
    must_contain(r.text, "\"partner\": \"psf + radau\"");
    // a start in the coordinates of this model only: no other coordinates
    expect("simulate " MODELS "four-bar-spring.yaml --t-end 0.5 --from-equilibrium --cross-check" TO, 0,
           "nothing moves, neither here nor by another method: joint psf + radau");
}

// Chaos: a loose run of the double pendulum over a long time is told to be good only for a while, and is no failure.
static void cross_check_of_chaos(void **state)
{
    (void)state;
    expect("simulate " MODELS "double-pendulum.yaml --t-end 25 --rtol 1e-4 --cross-check" TO, 0,
           "sensitive motion: this run is good to 1e-03 until t = ");
}

// A motion that an event ends is compared up to the event.
static void motion_that_ends_early(void **state)
{
    (void)state;
    expect("simulate " MODELS "gear-shift.yaml --set way=60 --cross-check" TO, 0, "the same motion: ");
    command_result r =
        expect("compare " MODELS "gear-shift.yaml --set way=60 --tol 1e-4,1e-6 --only psf+radau,ode+dop853"
               " --brief" TO,
               0, "an event ends the motion at t = ");
    must_contain(r.text, "Reference: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compare_model),        cmocka_unit_test(compare_in_threads),
        cmocka_unit_test(compare_example),      cmocka_unit_test(mistakes),
        cmocka_unit_test(interrupted),          cmocka_unit_test(cross_check),
        cmocka_unit_test(cross_check_of_chaos), cmocka_unit_test(motion_that_ends_early),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
