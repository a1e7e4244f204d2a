// An installed kardan can be used from a project of its own, through CMake and through pkg-config.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "project/command.h"

#define ROOT KD_BINARY_DIR "/test-install"

static void must_run(const char *command)
{
    command_result result = run_command(command);
    if (result.status != 0) print_error("%s\n%s\n", command, result.text);
    assert_int_equal(result.status, 0);
}

static int install_afresh(void **state)
{
    (void)state;
    command_result result = run_command("rm -rf '" ROOT "' && mkdir -p '" ROOT "' && '" KD_CMAKE
                                        "' --install '" KD_BINARY_DIR "' --prefix '" ROOT "/usr'");
    if (result.status != 0) print_error("%s\n", result.text);
    return result.status;
}

static void consumer_must_answer(const char *program)
{
    command_result result = run_command(program);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.text, "kardan " KD_PROJECT_VERSION "\nincomplete equations: KD_ERR_DEFINITION\n");
}

// find_package(kardan) finds the installed library, and a program that links it runs.
static void cmake_package_works(void **state)
{
    (void)state;
    must_run("'" KD_CMAKE "' -S '" KD_SOURCE_DIR "/tests/consumer' -B '" ROOT "/consumer' -DCMAKE_PREFIX_PATH='" ROOT
             "/usr' -DCMAKE_C_COMPILER='" KD_C_COMPILER "' -DCMAKE_C_FLAGS='" KD_EXTRA_FLAGS "'");
    must_run("'" KD_CMAKE "' --build '" ROOT "/consumer'");
    consumer_must_answer("'" ROOT "/consumer/consumer'");
}

// The flags of kardan.pc are enough to compile and link the same program. The file holds the prefix chosen when
// configuring, which this test replaces.
static void pkg_config_file_works(void **state)
{
    (void)state;
    must_run("cd '" ROOT "' && PKG_CONFIG_PATH=$(dirname \"$(find usr -name kardan.pc)\") && export PKG_CONFIG_PATH &&"
             "'" KD_C_COMPILER "' -std=c17 " KD_EXTRA_FLAGS " -o by-pkg-config '" KD_SOURCE_DIR
             "/tests/consumer/consumer.c' "
             "$(pkg-config --define-variable=prefix='" ROOT "/usr' --cflags --libs kardan)");
    consumer_must_answer("'" ROOT "/by-pkg-config'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cmake_package_works),
        cmocka_unit_test(pkg_config_file_works),
    };
    return cmocka_run_group_tests(tests, install_afresh, NULL);
}
