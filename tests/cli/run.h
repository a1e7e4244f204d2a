// run.h: the program kardan as a user runs it. Include after cmocka.h; OUT, the folder of the test, is defined before. Where
// commands are to run in that folder, BEFORE is "cd '" OUT "' && ".
#ifndef KD_TESTS_CLI_RUN_H
#define KD_TESTS_CLI_RUN_H

#include "cli/json.h"
#include "project/command.h"

#define KARDAN "'" KD_BINARY_DIR "/kardan' "
#define MODELS "'" KD_SOURCE_DIR "'/models/"
#ifndef BEFORE
#define BEFORE ""
#endif

// Run kardan with these arguments; exit status and part of the output must be as expected.
static inline command_result expect(const char *arguments, int status, const char *part)
{
    char line[5000];
    snprintf(line, sizeof line, BEFORE KARDAN "%s", arguments);
    command_result result = run_command(line);
    if (result.status != status) print_error("kardan %s\n%s\n", arguments, result.text);
    assert_int_equal(result.status, status);
    must_contain(result.text, part);
    return result;
}

// Group set-up: the folder of the test, empty
static inline int start_afresh(void **state)
{
    (void)state;
    return run_command("rm -rf '" OUT "' && mkdir '" OUT "'").status;
}

#endif
