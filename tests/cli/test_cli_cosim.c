// kardan cosimulate as a user runs it: what it prints, writes and refuses.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT KD_BINARY_DIR "/test-cli-cosim"
#define BEFORE "mkdir -p '" OUT "' && cd '" OUT "' && "
#include "cli/run.h"

// Certificate, table and page of a run; the same for programs.
static void a_run(void **state)
{
    (void)state;
    expect("cosimulate " MODELS "systems/two-masses.yaml --t-end 0.2 --rtol 1e-2", 0, "certificate: clean");
    assert_int_equal(run_command("head -1 '" OUT "/results/two-masses.cosim.csv' | grep -q title").status, 0);
    assert_int_equal(run_command("grep -q '<svg' '" OUT "/results/two-masses.cosim.html'").status, 0);
    const command_result r =
        expect("cosimulate " MODELS "systems/two-masses.yaml --t-end 0.1 --json --master iteration", 0, "\"clean\":");
    must_contain(r.text, "\"right.v\":");
    expect("cosimulate " MODELS "systems/rigid-link.yaml --t-end 0.02", 0, "all Delassus blocks taken");
    // models of systems find the library of kardan; others by --library
    expect("cosimulate " MODELS "systems/car-caravan.yaml --t-end 0.02", 0, "positions apart by at most");
    expect("cosimulate " MODELS "systems/car-caravan.yaml --t-end 0.01 --library " MODELS, 0, "certificate:");
}

// What is wrong is a sentence: words of the command line with status 2, files with status 1.
static void refusals(void **state)
{
    (void)state;
    expect("cosimulate " MODELS "systems/two-masses.yaml --master jakobi", 2, "did you mean 'jacobi'?");
    expect("cosimulate " MODELS "systems/two-masses.yaml --degree 3", 2, "degree");
    expect("cosimulate nowhere.yaml", 1, "nowhere.yaml");
    expect("cosimulate --help", 0, "two-masses.yaml");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_run), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
