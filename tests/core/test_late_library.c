// Shared libraries that are loaded when they are first used.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

#include "core/late_library.h"

// Found by its name where the path of the build is gone; its functions are those that are linked.
static void found_by_name(void **state)
{
    (void)state;
    double (*root)(double) = NULL;
    const kd_late_symbol symbol[] = {{"sqrt", (void *)&root}};
    char                 why[200] = "";
    if (!kd_library_load("/nowhere/libm.so", "libm.so.6", symbol, 1, why, sizeof why)) fail_msg("%s", why);
    assert_true(root && root(9.0) == 3.0);
}

// What is missing is named: the library, or the function.
static void missing_is_named(void **state)
{
    (void)state;
    void                *place = NULL;
    const kd_late_symbol symbol[] = {{"kd_there_is_none", (void *)&place}};
    char                 why[300] = "";
    assert_false(kd_library_load("/nowhere/libnone.so", "libnone_of_these.so.7", symbol, 1, why, sizeof why));
    assert_non_null(strstr(why, "libnone_of_these.so.7 cannot be loaded"));
    assert_false(kd_library_load("/nowhere/libm.so", "libm.so.6", symbol, 1, why, sizeof why));
    assert_non_null(strstr(why, "libm.so.6 has no 'kd_there_is_none'"));
    assert_null(place);
}

// Good or bad, the first answer stays.
static void tried_once(void **state)
{
    (void)state;
    double (*root)(double) = NULL;
    const kd_late_symbol symbol[] = {{"sqrt", (void *)&root}};
    kd_late_library      good = {.path = "/nowhere/libm.so", .name = "libm.so.6", .symbol = symbol, .count = 1};
    kd_late_library bad = {.path = "/nowhere/libm.so", .name = "libnone_of_these.so.7", .symbol = symbol, .count = 1};
    char            why[300] = "";
    if (!kd_library_load_once(&good, why, sizeof why)) fail_msg("%s", why);
    assert_true(root && root(9.0) == 3.0);
    root = NULL;
    assert_true(kd_library_load_once(&good, why, sizeof why));
    assert_null(root); // not looked for again
    for (int i = 0; i < 2; i++) {
        why[0] = '\0';
        assert_false(kd_library_load_once(&bad, why, sizeof why));
        assert_non_null(strstr(why, "libnone_of_these.so.7 cannot be loaded"));
        bad.name = "libm.so.6"; // too late
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(found_by_name), cmocka_unit_test(missing_is_named),
                                       cmocka_unit_test(tried_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
