// The command kardan rainflow, as a user runs it.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT KD_BINARY_DIR "/test-cli-rainflow"
#include "cli/run.h"
#define TABLE "'" OUT "/standard.csv' "

// The history of ASTM E1049, Fig. 6, with its unit
static int standard_history(void **state)
{
    if (start_afresh(state) != 0) return 1;
    return run_command("printf '# title: standard\\n# units: s,MPa,\\nt,load,other\\n"
                       "0,-2,0\\n1,1,1\\n2,-3,0\\n3,5,1\\n4,-1,0\\n5,3,1\\n6,-4,0\\n7,4,1\\n8,-2,0\\n' > " TABLE)
        .status;
}

// Counts in words, as a table and as JSON; damage of several lines: N = 1000 (S/8)^-2 gives sum n S^2 / 64000.
static void counts_and_damage(void **state)
{
    (void)state;
    command_result all = expect(
        "rainflow " TABLE "--channel load --woehler 2:1000:8 --woehler 2:1000:8:none --output '" OUT "/counts.csv'", 0,
        "load [MPa], 9 values");
    must_contain(all.text, "1 whole, 6 half");
    // (0.5 * 81 + 64 + 0.5 * 36 + 1.5 * 16 + 0.5 * 9) / 64000
    must_contain(all.text, "0.00235938 by 2:1000:8: 1 after 423.8 times");
    must_contain(all.text, "0.00163281 by 2:1000:8:none");
    must_contain(run_command("cat '" OUT "/counts.csv'").text, "range,mean,count\n9,0.5,0.5\n");
    all = expect("rainflow " TABLE "--channel load --channel other --woehler 1:1:1 --json", 0, "\"whole_cycles\": 1");
    must_contain(all.text, "\"channel\": \"other\"");
    expect("rainflow " TABLE "--channel load --repeated", 0, "4 whole, of each repetition");
    must_contain(expect("rainflow " TABLE "--channel load --classes 3", 0, "range up to").text,
                 "6            0.5        2.0\n");
    expect("rainflow " TABLE "--channel load --rows 2", 0, "and 5 rows with smaller ranges");
}

// What is missing or wrong is told.
static void mistakes_are_told(void **state)
{
    (void)state;
    expect("rainflow " TABLE, 2, "which channel?");
    expect("rainflow " TABLE "--channel lod", 1, "did you mean 'load'?");
    expect("rainflow nowhere.csv --channel x", 1, "'nowhere.csv' cannot be read");
    const char *const wrong[] = {"5",         "5:1e6",       "5:1e6:",  "5:1e6:-3", "0:1e6:3",
                                 "5:1e6:3:x", "5:1e6:3:9:1", "5:nan:3", "none:1:1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char line[200];
        snprintf(line, sizeof line, "rainflow " TABLE "--channel load --woehler %s", wrong[i]);
        expect(line, 2, "is not K:N0:S0");
    }
    expect("rainflow " TABLE "--channel load --channel other --output x.csv", 2, "one channel");
    expect("rainflow " TABLE "--channel load --output " TABLE, 2, "is the table itself");
    expect("rainflow " TABLE "--channel load --output '" OUT "/no/where.csv'", 1, "where.csv");
    expect("rainflow --help", 0, "Examples:");
}

// A run of the gallery from its table to its damage.
static void a_run(void **state)
{
    (void)state;
    expect("simulate " MODELS "quarter-car.yaml --t-end 1 --output '" OUT "/run'", 0, "");
    expect("rainflow '" OUT "/run/quarter-car.csv' --channel joint.wheel-guide.q --woehler 3:1e6:0.01", 0, "damage");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_damage),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(a_run),
    };
    return cmocka_run_group_tests(tests, standard_history, NULL);
}
