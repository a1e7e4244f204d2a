// The scripts in tools/: what they count, what they refuse, what they install.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "project/command.h"

#define ROOT KD_BINARY_DIR "/test-tools"
#define IN_ROOT "cd '" ROOT "' && "
#define TOOLS "'" KD_SOURCE_DIR "/tools/"

static int start_afresh(void **state)
{
    (void)state;
    return run_command("rm -rf '" ROOT "' && mkdir -p '" ROOT "/tests' '" ROOT "/bin'").status;
}

// Write an executable script test_NAME whose body is given.
static void fake_test(const char *name, const char *body)
{
    char command[1000];
    snprintf(command, sizeof command, IN_ROOT "printf '#!/bin/sh\\n%s\\n' > tests/test_%s && chmod +x tests/test_%s",
             body, name, name);
    assert_int_equal(run_command(command).status, 0);
}

static void must_end_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    if (n < m || strcmp(text + n - m, end) != 0) print_error("does not end with %s: %s\n", end, text);
    assert_true(n >= m && strcmp(text + n - m, end) == 0);
}

// Passed tests of several programs and groups are added up.
static void run_tests_adds_up(void **state)
{
    (void)state;
    fake_test("a", "echo \"[  PASSED  ] 3 test(s).\"\necho \"[  PASSED  ] 4 test(s).\"");
    fake_test("b", "echo \"[  PASSED  ] 5 test(s).\"");
    command_result result = run_command(IN_ROOT TOOLS "run-tests' .");
    assert_int_equal(result.status, 0);
    must_end_with(result.text, "\n12 passed, 0 failed\n");
}

// A failed test is counted, and its output is shown.
static void run_tests_shows_failures(void **state)
{
    (void)state;
    fake_test("a", "echo \"[  PASSED  ] 3 test(s).\"");
    fake_test("b", "echo \"0x1 != 0x2\"\necho \"[  PASSED  ] 5 test(s).\"\n"
                   "echo \"[  FAILED  ] 2 test(s), listed below:\"\nexit 2");
    command_result result = run_command(IN_ROOT TOOLS "run-tests' .");
    assert_int_not_equal(result.status, 0);
    assert_non_null(strstr(result.text, "0x1 != 0x2"));
    must_end_with(result.text, "\n8 passed, 2 failed\n");
}

// A program that crashes, hangs or runs no test is a failure, also if it claims success.
static void run_tests_sees_through_silence(void **state)
{
    (void)state;
    fake_test("a", "echo \"[  PASSED  ] 3 test(s).\"\nkill -SEGV $$");
    fake_test("b", "exit 0");
    fake_test("c", "exec sleep 20");
    command_result result = run_command(IN_ROOT "TEST_TIMEOUT=1 " TOOLS "run-tests' .");
    assert_int_not_equal(result.status, 0);
    assert_non_null(strstr(result.text, "crashed with signal 11"));
    assert_non_null(strstr(result.text, "ran no test"));
    assert_non_null(strstr(result.text, "stopped after 1 s"));
    must_end_with(result.text, "\n3 passed, 3 failed\n");
}

// A build folder without tests is a failure.
static void run_tests_wants_tests(void **state)
{
    (void)state;
    command_result result = run_command(IN_ROOT "mkdir -p empty && " TOOLS "run-tests' empty");
    assert_int_not_equal(result.status, 0);
    must_end_with(result.text, "0 passed, 1 failed\n");
}

// Write an executable script fuzz/NAME whose body is given.
static void fake_target(const char *name, const char *body)
{
    char command[1000];
    snprintf(command, sizeof command,
             IN_ROOT "mkdir -p fuzz && printf '#!/bin/sh\\n%s\\n' > fuzz/%s && chmod +x fuzz/%s", body, name, name);
    assert_int_equal(run_command(command).status, 0);
}

// Targets get the time, their own folder for what they find, and their corpus to read.
static void run_fuzz_runs_targets(void **state)
{
    (void)state;
    fake_target("expr", "echo \"$@\"\necho stat::number_of_executed_units: 12");
    fake_target("other", "echo stat::number_of_executed_units: 7");
    command_result result = run_command(IN_ROOT TOOLS "run-fuzz' . 3 && cat fuzz-logs/expr.log");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.text, "12 inputs in 3 s"));
    assert_non_null(strstr(result.text, "2 passed, 0 failed\n"));
    assert_non_null(strstr(result.text, "-max_total_time=3 -seed=0 -timeout=10 "));
    const char *found = strstr(result.text, "/fuzz-found/expr "), *corpus = strstr(result.text, "/corpus_expr");
    assert_true(found && corpus && found < corpus); // libFuzzer writes into the first folder only
}

// A target that crashes or runs nothing is a failure, and so is a build without targets or a wrong time.
static void run_fuzz_sees_failures(void **state)
{
    (void)state;
    assert_int_not_equal(run_command(IN_ROOT TOOLS "run-fuzz' . 3").status, 0);
    fake_target("crash", "echo heap-buffer-overflow\necho stat::number_of_executed_units: 5\nexit 77");
    fake_target("idle", "exit 0");
    fake_target("good", "echo stat::number_of_executed_units: 7");
    command_result result = run_command(IN_ROOT TOOLS "run-fuzz' . 3");
    assert_int_not_equal(result.status, 0);
    assert_non_null(strstr(result.text, "exit status 77"));
    assert_non_null(strstr(result.text, "heap-buffer-overflow"));
    assert_non_null(strstr(result.text, "ran nothing"));
    must_end_with(result.text, "\n1 passed, 2 failed\n");
    must_end_with(run_command(IN_ROOT TOOLS "run-fuzz' . long").text, "\n0 passed, 1 failed\n");
}

// Includes against the arrows are named with file and line; others pass.
static void check_includes_knows_the_layers(void **state)
{
    (void)state;
    const char *tree =
        IN_ROOT "mkdir -p src/math src/integrator src/cli && "
                "echo '#include \"core/memory.h\"' > src/math/good.c && "
                "printf '#include <kardan/dae.h>\\n#include \"math/dense.h\"\\n' > src/integrator/good.c";
    assert_int_equal(run_command(tree).status, 0);
    assert_int_equal(run_command(TOOLS "check-includes' '" ROOT "'").status, 0);

    assert_int_equal(run_command(IN_ROOT "printf '\\n#include \"eom/eom.h\"\\n' > src/math/upward.c").status, 0);
    assert_int_equal(run_command(IN_ROOT "echo '#include <kardan/eom.h>' > src/integrator/sideways.c").status, 0);
    assert_int_equal(run_command(IN_ROOT "echo '#include \"../math/dense.h\"' > src/cli/path.c").status, 0);
    command_result result = run_command(TOOLS "check-includes' '" ROOT "'");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.text, "src/math/upward.c:2: layer math must not include \"eom/eom.h\""));
    assert_non_null(
        strstr(result.text, "src/integrator/sideways.c:1: layer integrator must not include <kardan/eom.h>"));
    assert_non_null(strstr(result.text, "src/cli/path.c:1: write \"layer/file.h\""));
    assert_null(strstr(result.text, "good.c"));
}

// A type that two headers define is named with both.
static void check_includes_knows_types_of_two_meanings(void **state)
{
    (void)state;
    const char *tree = IN_ROOT "mkdir -p src/math src/cli && echo 'typedef struct kd_link {' > src/math/a.h && "
                               "echo 'typedef struct kd_other {' > src/cli/b.h && touch src/math/a.c";
    assert_int_equal(run_command(tree).status, 0);
    assert_int_equal(run_command(TOOLS "check-includes' '" ROOT "'").status, 0);
    assert_int_equal(run_command(IN_ROOT "echo 'typedef enum kd_other {' >> src/math/a.h").status, 0);
    command_result result = run_command(TOOLS "check-includes' '" ROOT "'");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.text, "src/math/a.h:2: kd_other is a type of src/cli/b.h already"));
}

// The value of a "name value" line of tools/anatomy --plain; -1: not there
static double figure(const char *text, const char *name)
{
    char   line[100];
    double value;
    snprintf(line, sizeof line, "\n%s ", name);
    const char *found = strstr(text, line);
    return found && sscanf(found + strlen(line), "%lf", &value) == 1 ? value : -1;
}

// Kinds come from enumerations and from list macros; constants in comments do not count. Functions are measured in
// lines of code, and the calls that bring equations to a state are found in their order only.
static void anatomy_counts(void **state)
{
    (void)state;
    const char *tree = IN_ROOT
        "mkdir -p include/kardan src/a src/b && "
        "printf 'typedef enum kd_joint_kind {\\n    KD_FIXED,\\n    KD_TURN, // KD_OLD\\n    KD_JOINT_KIND_COUNT\\n} "
        "kd_joint_kind;\\nKD_API int kd_one(void);\\n' > include/kardan/model.h && "
        "printf '#define KD_INTEGRATOR_LIST(X) \\\\\\n    X(KD_EULER, \"euler\") \\\\\\n    X(KD_HEUN, \"heun\")\\n"
        "typedef enum kd_integrator {\\n#define E(name, word) name,\\n    KD_INTEGRATOR_LIST(E)\\n} kd_integrator;\\n"
        "KD_API int kd_two(void);\\n' > include/kardan/sim.h && "
        "printf '// KD_TURN\\nint f(int k)\\n{\\n    // a comment\\n    if (k == KD_TURN) return KD_TURN; // "
        "KD_FIXED\\n"
        "    return KD_HEUN;\\n}\\n' > src/a/f.c && "
        "printf 'void g(void)\\n{\\n    kd_eom_at_position(p);\\n    kd_eom_at_time(t);\\n}\\n\\nvoid h(void)\\n{\\n"
        "    kd_eom_at_time(KD_TURN);\\n    kd_eom_at_position(p);\\n    kd_eom_at_velocity(v);\\n"
        "    kd_eom_at_acceleration(a);\\n}\\n' > src/b/g.c";
    assert_int_equal(run_command(tree).status, 0);
    command_result result = run_command(IN_ROOT TOOLS "anatomy' --plain '" ROOT "'");
    assert_int_equal(result.status, 0);
    const struct {
        const char *name;
        double      value;
    } wanted[] = {
        {"files:KD_TURN", 2},  {"uses:KD_TURN", 3},     {"files:KD_FIXED", 0}, {"files:KD_HEUN", 1},
        {"files:KD_EULER", 0}, {"files:KD_OLD", -1},    {"files:joint", 2},    {"uses:joint", 3},
        {"public", 2},         {"functions", 3},        {"idiom", 1},          {"idiom-velocity", 1},
        {"idiom-time", 2},     {"median", 2},           {"longest", 4},        {"files-above-800", 0},
        {"code:src/a", 5},     {"comments:src/a", 0.4},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        double value = figure(result.text, wanted[i].name);
        if (value != wanted[i].value) print_error("%s: %g\n%s", wanted[i].name, value, result.text);
        assert_true(value == wanted[i].value);
    }
}

// The sources of kardan are read, with the figures of version 0.1 beside those of today.
static void anatomy_of_kardan(void **state)
{
    (void)state;
    command_result result = run_command(TOOLS "anatomy'");
    assert_int_equal(result.status, 0);
    double before, now;
    char  *row = strstr(result.text, "public functions");
    assert_non_null(row);
    assert_int_equal(sscanf(row + 16, "%lf %lf", &before, &now), 2);
    assert_true(before == 370 && now > 100);
    assert_non_null(strstr(result.text, "joints, all together"));
    assert_non_null(strstr(result.text, "integrators, all together"));
}

// Pretend that the packages in the file "installed" are there, that the user has the given number, and note every
// call of apt-get.
#define PRETEND(uid)                                                                                                   \
    IN_ROOT "printf '#!/bin/sh\\nfor word; do name=$word; done\\n"                                                     \
            "grep -qx -- \"$name\" installed && printf installed\\n' > bin/dpkg-query && "                             \
            "printf '#!/bin/sh\\necho \"$@\" >> calls\\n' > bin/apt-get && "                                           \
            "printf '#!/bin/sh\\necho " uid "\\n' > bin/id && chmod +x bin/* && "

// Nothing is missing: setup is silent and does not touch the network.
static void setup_does_nothing_when_all_is_there(void **state)
{
    (void)state;
    command_result result = run_command(PRETEND("0") "printf 'clang-format\\n' > installed && "
                                                     "PATH=$PWD/bin:$PATH " TOOLS "setup' format && test ! -e calls");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.text, "");
}

// Root: exactly the missing packages are installed, after one update.
static void setup_installs_what_is_missing(void **state)
{
    (void)state;
    command_result result = run_command(PRETEND("0") "printf 'g++\\nlibsundials-dev\\ncalculix-ccx\\n' > installed && "
                                                     "PATH=$PWD/bin:$PATH " TOOLS "setup' test && cat calls");
    assert_int_equal(result.status, 0);
    must_end_with(result.text, "\nupdate\ninstall -y --no-install-recommends libcmocka-dev\n");
}

// Another user gets the command to type, and a non-zero status if a required package is missing.
static void setup_says_what_to_type(void **state)
{
    (void)state;
    command_result result =
        run_command(PRETEND("1000") "printf 'g++\\nlibsundials-dev\\ncalculix-ccx\\n' > installed && "
                                    "PATH=$PWD/bin:$PATH " TOOLS "setup' test");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.text, "apt-get install -y --no-install-recommends libcmocka-dev\n"));
    // SUNDIALS alone is optional
    result = run_command(PRETEND("1000") "printf 'g++\\nlibcmocka-dev\\ncalculix-ccx\\n' > installed && "
                                         "PATH=$PWD/bin:$PATH " TOOLS "setup' test");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.text, "going on without libsundials-dev (optional)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(run_tests_adds_up, start_afresh),
        cmocka_unit_test_setup(run_tests_shows_failures, start_afresh),
        cmocka_unit_test_setup(run_tests_sees_through_silence, start_afresh),
        cmocka_unit_test_setup(run_tests_wants_tests, start_afresh),
        cmocka_unit_test_setup(run_fuzz_runs_targets, start_afresh),
        cmocka_unit_test_setup(run_fuzz_sees_failures, start_afresh),
        cmocka_unit_test_setup(check_includes_knows_the_layers, start_afresh),
        cmocka_unit_test_setup(check_includes_knows_types_of_two_meanings, start_afresh),
        cmocka_unit_test_setup(anatomy_counts, start_afresh),
        cmocka_unit_test_setup(anatomy_of_kardan, start_afresh),
        cmocka_unit_test_setup(setup_does_nothing_when_all_is_there, start_afresh),
        cmocka_unit_test_setup(setup_installs_what_is_missing, start_afresh),
        cmocka_unit_test_setup(setup_says_what_to_type, start_afresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
