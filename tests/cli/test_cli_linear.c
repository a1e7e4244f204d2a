// The commands kardan linearize and kardan modes, as a user runs them.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT KD_BINARY_DIR "/test-cli-linear"
#include "cli/run.h"
// Matrices with the names of joints, inputs and sensors, printed and as JSON.
static void linearize_prints(void **state)
{
    (void)state;
    command_result result = expect("linearize " MODELS "quarter-car.yaml", 0, "A (4 x 4)");
    assert_non_null(strstr(result.text, "joint.wheel-guide.q"));
    assert_non_null(strstr(result.text, "input.luggage"));
    assert_non_null(strstr(result.text, "not at rest"));
    expect("linearize " MODELS "quarter-car.yaml --json --descriptor", 0, "\"E\": [");
    result = expect("linearize " MODELS "quarter-car.yaml --json --from-equilibrium", 0, "\"from_equilibrium\": \"");
    assert_non_null(strstr(result.text, "stable equilibrium; largest move"));
    result = expect("linearize " MODELS "quarter-car.yaml --json", 0, "\"states\"");
    assert_null(strstr(result.text, "from_equilibrium"));
    expect("linearize --help", 0, "Examples:");
}

// Three files are written and named; without matio two of them, and the message says which package is missing.
static void linearize_writes(void **state)
{
    (void)state;
    assert_int_equal(run_command("rm -rf '" OUT "'").status, 0);
    expect("linearize " MODELS "four-bar-spring.yaml --coordinates cartesian --output '" OUT "'", 0,
           "four-bar-spring-linear.mat");
    assert_int_equal(run_command("test -s '" OUT "/four-bar-spring-linear.json' && grep -q 'A (2 x 2)' '" OUT
                                 "/four-bar-spring-linear.txt'")
                         .status,
                     0);
#ifdef KD_WITH_MATIO
    assert_int_equal(run_command("test -s '" OUT "/four-bar-spring-linear.mat'").status, 0);
#else
    expect("linearize " MODELS "four-bar-spring.yaml --output '" OUT "'", 0, "libmatio-dev");
#endif
}

// Octave finds the eigenvalues that kardan wrote, those of A and the finite ones of the descriptor form (E, Ad), of a
// closed loop in Cartesian coordinates.
static void octave_finds_the_same_eigenvalues(void **state)
{
    (void)state;
#ifndef KD_WITH_MATIO
    skip();
#endif
    if (run_command("command -v octave-cli").status != 0) skip();
    assert_int_equal(run_command("rm -rf '" OUT "'").status, 0);
    expect("linearize " MODELS "four-bar-spring.yaml --at 100 --coordinates cartesian --descriptor --output '" OUT "'",
           0, "four-bar-spring-linear.mat");
    command_result result =
        run_command("octave-cli --norc --quiet --eval \"load('" OUT "/four-bar-spring-linear.mat');"
                    " printf('%d %d', norm(sort(eig(A)) - sort(eigenvalues)) < 1e-10,"
                    " rank(eigenvalues(1) * E - Ad, 1e-8) < rank(1.1 * eigenvalues(1) * E - Ad, 1e-8))\"");
    if (strncmp(result.text, "1 1", 3) != 0) fail_msg("%s", result.text);
}

// Along the motion: the four-bar linkage that came to rest has its published frequency and damping in both coordinates.
static void modes_along_the_motion(void **state)
{
    (void)state;
    expect("modes " MODELS "four-bar-spring.yaml --at 100", 0, "-0.2423858       2.133955");
    expect("modes " MODELS "four-bar-spring.yaml --at 100 --coordinates cartesian", 0, "-0.2423858       2.133955");
    expect("modes " MODELS "quarter-car.yaml --json", 0, "\"damping\": [");
    expect("modes andrews", 0, "beta (crank)");
}

// A root locus has a row for each value and a plot; a range that is none is refused, as is an unknown parameter.
static void root_locus(void **state)
{
    (void)state;
    assert_int_equal(run_command("rm -rf '" OUT "'").status, 0);
    expect("modes " MODELS "quarter-car.yaml --vary cs=0:5000:6 --output '" OUT "'", 0, "quarter-car-locus.svg");
    assert_int_equal(run_command("grep -c '<circle' '" OUT "/quarter-car-locus.svg' | grep -qx 24").status, 0);
    expect("modes " MODELS "quarter-car.yaml --vary cs=0:5000:3 --json", 0, "\"value\": 2500");
    expect("modes " MODELS "quarter-car.yaml --vary cs=0", 2, "write NAME=A:B:N");
    expect("modes " MODELS "quarter-car.yaml --vary cs=0:1:1", 2, "write NAME=A:B:N");
    assert_int_not_equal(run_command(KARDAN "modes " MODELS "quarter-car.yaml --vary sc=0:1:2").status, 0);
}

// Any number of threads tells the same bits: table, numbers, page; what fails is told once
static void root_locus_in_threads(void **state)
{
    static const char *const model[] = {
        "quarter-car.yaml --vary cs=0:5000:11", "bicycle.yaml --set push=0 --vary v=0.5:10:7",
        "hunting-wheelset.yaml --set y0=0 --set x0=0 --set yaw0=0 --vary V=40:10:4 --at 0.01",
        "four-bar-spring.yaml --vary c=1:3:5 --from-equilibrium --coordinates cartesian"};
    char line[2000];
    (void)state;
    for (size_t i = 0; i < sizeof model / sizeof *model; i++) {
        snprintf(line, sizeof line,
                 "rm -rf '" OUT "' && mkdir '" OUT "' && cd '" OUT "' && for j in 1 2 3 8; do " KARDAN "modes " MODELS
                 "%s --jobs $j --output out --json > $j.txt || exit 1; cat out/* >> $j.txt; cmp 1.txt $j.txt || exit "
                 "1; done",
                 model[i]);
        const command_result r = run_command(line);
        if (r.status != 0) fail_msg("%s: %s", model[i], r.text);
    }
    const command_result wrong = run_command(
        KARDAN "modes " MODELS "quarter-car.yaml --vary sc=0:1:20 --jobs 8 2>&1 | grep -c 'unknown parameter'");
    assert_string_equal(wrong.text, "1\n");
}

// Where stability changes the critical value is told with its mode: both speeds of the benchmark bicycle to all digits
// shown, none for a car that is always damped; the hunting wheelset grows above.
static void critical_values(void **state)
{
    (void)state;
    command_result result =
        expect("modes " MODELS "bicycle.yaml --set push=0 --vary v=0.5:10:8", 0, "critical v = 4.29238254: below");
    assert_non_null(strstr(result.text, "critical v = 6.02426202: above"));
    result = expect("modes " MODELS "bicycle.yaml --set push=0 --vary v=10:3:9 --json", 0, "\"critical\": {");
    assert_non_null(strstr(result.text, "\"value\": 4.292382536"));
    assert_non_null(strstr(result.text, "\"grows\": \"below\""));
    result = expect("modes " MODELS "hunting-wheelset.yaml --set y0=0 --set x0=0 --set yaw0=0 --vary V=10:40:4", 0,
                    "critical V = 25.05984");
    assert_non_null(strstr(result.text, "above it a mode of 5.28595 Hz grows; joint.wheelset.q4 1.00"));
    result = expect("modes " MODELS "quarter-car.yaml --vary cs=100:5000:5", 0, "largest real part");
    assert_null(strstr(result.text, "critical"));
}

// Few modes: of a small model the nearest ones are shown, of a large one they alone are found; the frequency is that of
// the hanging chain.
static void few_modes(void **state)
{
    (void)state;
    command_result result = expect("modes truck7 --count 2 --near 5", 0, "31.06");
    assert_null(strstr(result.text, "large model"));
    assert_non_null(strstr(result.text, "27.96"));
    assert_null(strstr(result.text, "55.08"));
    result = expect("modes truck7 --count 2 --near 5 --json", 0, "31.06");
    assert_non_null(strstr(result.text, "27.96"));
    assert_null(strstr(result.text, "55.08"));
#ifdef KD_WITH_ARPACK
    expect("modes " MODELS "chain.yaml --set N=100 --set w=0 --coordinates cartesian --count 2", 0, "large model");
    expect("modes " MODELS "chain.yaml --set N=100 --set w=0 --coordinates cartesian --count 2", 0, "0.3756702");
    expect("modes " MODELS "chain.yaml --set N=100 --set w=0 --coordinates cartesian --count 2 --json", 0,
           "\"frequency\": [");
#endif
}

// The equilibrium or a written state takes the place of the start; both together are refused.
static void other_starts(void **state)
{
    (void)state;
    expect("modes " MODELS "four-bar-spring.yaml --from-equilibrium", 0, "-0.2423858       2.133955");
    expect("equilibrium " MODELS "four-bar-spring.yaml --output '" OUT "'", 0, "stable");
    expect("modes " MODELS "four-bar-spring.yaml --start-state '" OUT "/four-bar-spring.equilibrium.state.csv'", 0,
           "-0.2423858       2.133955");
    expect("modes " MODELS "four-bar-spring.yaml --from-equilibrium --start-state x.csv", 1, "choose one");
    expect("modes " MODELS "four-bar-spring.yaml --start-state none.csv", 1, "none.csv");
}

// Modes that swing are drawn, one picture each; examples in C have no bodies to draw.
static void mode_pictures(void **state)
{
    (void)state;
    assert_int_equal(run_command("rm -rf '" OUT "'").status, 0);
    expect("modes " MODELS "bushing-mount.yaml --count 3 --scale 0.1 --output '" OUT "'", 0,
           "bushing-mount-mode-3.svg");
    assert_int_equal(run_command("ls '" OUT "' | grep -c svg | grep -qx 3").status, 0);
    assert_int_equal(run_command("grep -q 'mode 1: ' '" OUT "/bushing-mount-mode-1.svg'").status, 0);
    assert_int_equal(run_command("cmp -s '" OUT "/bushing-mount-mode-1.svg' '" OUT "/bushing-mount-mode-2.svg'").status,
                     1);
    expect("modes truck7 --output '" OUT "'", 1, "model files");
}

// The gain at the mode of the frequency response, as table, plot and JSON; names that are none are refused.
static void frequency_response(void **state)
{
    (void)state;
    assert_int_equal(run_command("rm -rf '" OUT "'").status, 0);
    command_result result =
        expect("frequency " MODELS "quarter-car.yaml --input luggage --sensor cab --range 0.01:10 --points 50"
               " --output '" OUT "'",
               0, "quarter-car-frequency.svg");
    assert_non_null(strstr(result.text, "cab by input.luggage"));
    assert_non_null(strstr(result.text, "largest"));
    assert_int_equal(run_command("grep -c '^[0-9]' '" OUT "/quarter-car-frequency.csv' | grep -qx 51").status, 0);
    assert_int_equal(run_command("grep -q 'phase \\[deg\\]' '" OUT "/quarter-car-frequency.svg'").status, 0);
    expect("frequency " MODELS "quarter-car.yaml --json --points 5", 0, "\"cab by input.luggage\": {");
    expect("frequency " MODELS "quarter-car.yaml --input lugage", 2, "it has input.luggage");
    expect("frequency " MODELS "quarter-car.yaml --range 3:1", 2, "write A:B");
    expect("frequency truck7", 2, "no sensors");
    expect("frequency " MODELS "truck7.yaml", 2, "choose");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linearize_prints),
        cmocka_unit_test(linearize_writes),
        cmocka_unit_test(octave_finds_the_same_eigenvalues),
        cmocka_unit_test(modes_along_the_motion),
        cmocka_unit_test(root_locus),
        cmocka_unit_test(root_locus_in_threads),
        cmocka_unit_test(critical_values),
        cmocka_unit_test(few_modes),
        cmocka_unit_test(other_starts),
        cmocka_unit_test(frequency_response),
        cmocka_unit_test(mode_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
