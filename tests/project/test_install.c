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

// The flags of kardan.pc are enough to compile and link the same program, also when the folder was moved afterwards.
static void pkg_config_file_works(void **state)
{
    (void)state;
    must_run("cd '" ROOT "' && cp -r usr moved && "
             "PKG_CONFIG_PATH=$(dirname \"$(find '" ROOT "/moved' -name kardan.pc)\") && export PKG_CONFIG_PATH && "
             "'" KD_C_COMPILER "' -std=c17 " KD_EXTRA_FLAGS " -o by-pkg-config '" KD_SOURCE_DIR
             "/tests/consumer/consumer.c' $(pkg-config --cflags --libs kardan) && "
             "pkg-config --cflags kardan | grep -q 'test-install/moved'");
    consumer_must_answer("'" ROOT "/by-pkg-config'");
}

// The lines of a page that are indented by four spaces, from the first one behind a heading to the next gap
static void copy_recipe(const char *page, const char *heading, char *recipe, size_t size)
{
    const char *line = strstr(page, heading);
    assert_non_null(line);
    line = strstr(line, "\n    ");
    recipe[0] = '\0';
    for (; line && strncmp(line, "\n    ", 5) == 0; line = strchr(line + 1, '\n')) {
        size_t used = strlen(recipe);
        int    length = (int)strcspn(line + 5, "\n");
        assert_true(used + (size_t)length + 10 < size);
        snprintf(recipe + used, size - used, "%.*s || exit 1\n", length, line + 5);
    }
}

// The recipe of docs/guide/own-equations.md, typed as it stands there, with a home folder that is not the prefix chosen
// when configuring. Only the names cmake and gcc stand for those of this build.
static void recipe_of_the_guide_works(void **state)
{
    (void)state;
    char  recipe[1000], script[4000];
    char *page = read_text(KD_SOURCE_DIR "/docs/guide/own-equations.md");
    assert_non_null(page);
    copy_recipe(page, "## Compile and run", recipe, sizeof recipe);
    free(page);
    assert_non_null(strstr(recipe, "pkg-config"));
    snprintf(script, sizeof script,
             "mkdir -p '" ROOT "/recipe/home' && cd '" ROOT "/recipe' && HOME=$PWD/home && export HOME && "
             "ln -sfn '" KD_BINARY_DIR "' build && ln -sfn '" KD_SOURCE_DIR "/docs' docs || exit 1\n"
             "cmake() { '" KD_CMAKE "' \"$@\"; }\n"
             "gcc() { '" KD_C_COMPILER "' " KD_EXTRA_FLAGS " \"$@\"; }\n%s",
             recipe);
    command_result result = run_command(script);
    if (result.status != 0) print_error("%s\n%s\n", script, result.text);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.text, "energy changed by"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cmake_package_works),
        cmocka_unit_test(pkg_config_file_works),
        cmocka_unit_test(recipe_of_the_guide_works),
    };
    return cmocka_run_group_tests(tests, install_afresh, NULL);
}
