// An installed kardan, moved as a whole, can be used from a project of its own: through CMake and through pkg-config,
// shared and static.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

// Install and move the folder: no file of it may remember where it was.
static int install_afresh(void **state)
{
    (void)state;
    command_result result =
        run_command("rm -rf '" ROOT "' && mkdir -p '" ROOT "' && '" KD_CMAKE "' --install '" KD_BINARY_DIR
                    "' --prefix '" ROOT "/first' && mv '" ROOT "/first' '" ROOT "/usr'");
    if (result.status != 0) print_error("%s\n", result.text);
    return result.status;
}

static bool has_static(void)
{
    return run_command("test -n \"$(find '" ROOT "/usr' -name libkardan.a)\"").status == 0;
}

static void consumer_must_answer(const char *program)
{
    command_result result = run_command(program);
    if (result.status != 0) print_error("%s\n%s\n", program, result.text);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.text, "kardan " KD_PROJECT_VERSION "\nincomplete equations: KD_ERR_DEFINITION\n");
}

// Does the program load libkardan.so when it starts, by the name that tells its version?
static void must_load(const char *program, bool shared)
{
    char command[5000];
    snprintf(command, sizeof command, "readelf -d '%s' | grep -c 'NEEDED.*libkardan.so.%.3s]'", program,
             KD_PROJECT_VERSION);
    assert_int_equal(atoi(run_command(command).text), shared);
}

static void use_by_cmake(const char *kind, bool shared)
{
    char line[4000];
    snprintf(line, sizeof line,
             "cd '" ROOT "' && '" KD_CMAKE "' -S '" KD_SOURCE_DIR "/tests/consumer' -B cmake-%s -DKIND=%s "
             "-DCMAKE_PREFIX_PATH=\"$PWD/usr\" -DCMAKE_C_COMPILER='" KD_C_COMPILER "' -DCMAKE_C_FLAGS='" KD_EXTRA_FLAGS
             "' && '" KD_CMAKE "' --build cmake-%s",
             kind, kind, kind);
    must_run(line);
    snprintf(line, sizeof line, ROOT "/cmake-%s/consumer", kind);
    must_load(line, shared);
    consumer_must_answer(line);
}

// find_package(kardan) finds the installed library, and a program that links it runs: with the shared library, ..
static void cmake_package_works(void **state)
{
    (void)state;
    use_by_cmake("shared", true);
    use_by_cmake("", true); // the usual one
}

// .. and with the static one, whose libraries the package finds.
static void cmake_package_works_static(void **state)
{
    (void)state;
    if (!has_static()) skip();
    use_by_cmake("static", false);
}

// A part that kardan does not have is refused by name.
static void cmake_package_refuses_other_parts(void **state)
{
    (void)state;
    command_result result = run_command("cd '" ROOT "' && '" KD_CMAKE "' -S '" KD_SOURCE_DIR
                                        "/tests/consumer' -B cmake-config -DKIND=config "
                                        "-DCMAKE_PREFIX_PATH=\"$PWD/usr\" -DCMAKE_C_COMPILER='" KD_C_COMPILER "'");
    assert_int_not_equal(result.status, 0);
    assert_non_null(strstr(result.text, "no 'config' library"));
}

static void use_by_pkg_config(const char *package, bool shared)
{
    char line[4000];
    snprintf(line, sizeof line,
             "cd '" ROOT "' && PKG_CONFIG_PATH=$(dirname \"$(find \"$PWD/usr\" -name kardan.pc)\") && "
             "export PKG_CONFIG_PATH && '" KD_C_COMPILER "' -std=c17 " KD_EXTRA_FLAGS " -o with-%s '" KD_SOURCE_DIR
             "/tests/consumer/consumer.c' $(pkg-config --cflags --libs %s)",
             package, package);
    must_run(line);
    snprintf(line, sizeof line, ROOT "/with-%s", package);
    must_load(line, shared);
    snprintf(line, sizeof line,
             "LD_LIBRARY_PATH=$(dirname \"$(find '" ROOT "/usr' -name libkardan.so)\") '" ROOT "/with-%s'", package);
    consumer_must_answer(line);
}

// The flags of kardan.pc are enough to compile and link the same program, ..
static void pkg_config_file_works(void **state)
{
    (void)state;
    use_by_pkg_config("kardan", true);
}

// .. and those of kardan-static.pc make one that needs no libkardan to start.
static void pkg_config_file_works_static(void **state)
{
    (void)state;
    if (!has_static()) skip();
    use_by_pkg_config("kardan-static", false);
}

// Files that tell others how to link hold no folder of this machine.
static void no_folder_is_remembered(void **state)
{
    (void)state;
    if (!has_static()) skip(); // a build for tools/mutate is not for others
    command_result result = run_command("cd '" ROOT "/usr' && find . -name '*.pc' -o -name '*.cmake' | sort | "
                                        "xargs grep -nE '^[^#]*(=|-[LI]|[\" ;])/[a-z]' | grep -v _IMPORT_PREFIX");
    if (result.text[0]) print_error("%s", result.text);
    assert_string_equal(result.text, "");
    result = run_command("cd '" ROOT "/usr' && find . -name kardan.pc | xargs grep -E '^(Requires|Libs).private:'");
    assert_non_null(strstr(result.text, "lapacke"));
    assert_non_null(strstr(result.text, "-lklu"));
}

// The shared library shows exactly the functions that public headers declare with KD_API; those of a controller are its author's.
// blas_memory_alloc stands before that of OpenBLAS (math/dense.c).
static void interface_is_what_headers_say(void **state)
{
    (void)state;
    if (!has_static()) skip(); // a build for tools/mutate shows all symbols
    must_run("cd '" ROOT "' && for header in '" KD_SOURCE_DIR
             "'/include/kardan/*.h; do echo \"#include <kardan/$(basename \"$header\")>\"; done | '" KD_C_COMPILER
             "' -E -P -I'" KD_SOURCE_DIR "/include' -x c - | tr '\\n' ' ' | tr ';' '\\n' | "
             "sed -n 's/.*visibility(\"default\")))//p' | sed 's/(.*//; s/.*[^a-z0-9_A-Z]//' | grep -v "
             "'^kardan_controller_' | sort -u > declared && "
             "nm -D --defined-only '" KD_LIBRARY_FILE
             "' | awk '{ print $3 }' | sed 's/@.*//' | grep -v '^blas_memory_alloc$' | sort -u > exported");
    if (KD_EXTRA_FLAGS[0] != '\0') // sanitizers and gcov add their own
        must_run("cd '" ROOT "' && grep -v '^_' exported > ours; mv ours exported");
    command_result result = run_command("cd '" ROOT "' && diff declared exported");
    if (result.status != 0) print_error("< declared, > exported\n%s", result.text);
    assert_int_equal(result.status, 0);
    assert_true(atoi(run_command("wc -l < '" ROOT "/declared'").text) > 100);
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

// A recipe, typed as it stands on its page, with a home folder that is not the prefix chosen when configuring. Only the
// names cmake and gcc stand for those of this build, make installs without building, and the list of what is installed goes to a file.
static void recipe_must_say(const char *path, const char *heading, const char *answer)
{
    char  recipe[1000], script[4000];
    char *page = read_text(path);
    assert_non_null(page);
    copy_recipe(page, heading, recipe, sizeof recipe);
    free(page);
    assert_non_null(strstr(recipe, "pkg-config"));
    snprintf(script, sizeof script,
             "rm -rf '" ROOT "/recipe' && mkdir -p '" ROOT "/recipe/home' && cd '" ROOT "/recipe' && HOME=$PWD/home && "
             "export HOME && ln -sfn '" KD_BINARY_DIR "' build && for folder in docs examples models; do "
             "ln -sfn '" KD_SOURCE_DIR "'/$folder $folder; done || exit 1\n"
             "cmake() { '" KD_CMAKE "' \"$@\" > installed.txt; }\n"
             "make() { test \"$1\" = install && cmake --install build --prefix \"${2#PREFIX=}\"; }\n"
             "gcc() { '" KD_C_COMPILER "' " KD_EXTRA_FLAGS " \"$@\"; }\n%s",
             recipe);
    command_result result = run_command(script);
    if (result.status != 0) print_error("%s\n%s\n", script, result.text);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.text, answer));
}

// The recipes of docs/guide/own-equations.md and of README.md work.
static void recipe_of_the_guide_works(void **state)
{
    (void)state;
    if (!has_static()) skip();
    recipe_must_say(KD_SOURCE_DIR "/docs/guide/own-equations.md", "## Compile and run", "energy changed by");
}

static void recipe_of_readme_works(void **state)
{
    (void)state;
    if (!has_static()) skip();
    recipe_must_say(KD_SOURCE_DIR "/README.md", "## Use the library", "\n  2.000000  ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cmake_package_works),
        cmocka_unit_test(cmake_package_works_static),
        cmocka_unit_test(cmake_package_refuses_other_parts),
        cmocka_unit_test(pkg_config_file_works),
        cmocka_unit_test(pkg_config_file_works_static),
        cmocka_unit_test(no_folder_is_remembered),
        cmocka_unit_test(interface_is_what_headers_say),
        cmocka_unit_test(recipe_of_the_guide_works),
        cmocka_unit_test(recipe_of_readme_works),
    };
    return cmocka_run_group_tests(tests, install_afresh, NULL);
}
