// Each public header compiles alone, as C17 and as C++17, without a warning.
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "project/command.h"

// Compile every public header with the given compiler; returns how many there are.
static int try_headers(const char *compiler, const char *language, const char *flags)
{
    DIR *folder = opendir(KD_SOURCE_DIR "/include/kardan");
    assert_non_null(folder);
    int count = 0;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".h") != 0) continue;
        char command[2000];
        snprintf(command, sizeof command,
                 "echo '#include <kardan/%.100s>' | '%s' -x %s %s -I'%s/include' -fsyntax-only -", entry->d_name,
                 compiler, language, flags, KD_SOURCE_DIR);
        command_result result = run_command(command);
        if (result.status != 0) print_error("%s as %s:\n%s\n", entry->d_name, language, result.text);
        assert_int_equal(result.status, 0);
        count++;
    }
    closedir(folder);
    return count;
}

// Every public header is self-contained C17.
static void headers_compile_alone_as_c(void **state)
{
    (void)state;
    assert_true(try_headers(KD_C_COMPILER, "c", "-std=c17 -Wall -Wextra -Wpedantic -Wmissing-prototypes -Werror") >= 8);
}

// Every public header is self-contained C++17.
static void headers_compile_alone_as_cxx(void **state)
{
    (void)state;
    if (KD_CXX_COMPILER[0] == '\0') skip();
    assert_true(try_headers(KD_CXX_COMPILER, "c++", "-std=c++17 -Wall -Wextra -Wpedantic -Werror") >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_compile_alone_as_c),
        cmocka_unit_test(headers_compile_alone_as_cxx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
