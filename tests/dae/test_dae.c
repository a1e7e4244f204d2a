// Tests of kd_dae_destroy.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "core/memory.h"
#include <kardan/dae.h>

static void count_call(void *impl)
{
    ++*(int *)impl;
}

// Destroying a DAE destroys its implementation once; NULL is fine.
static void destroy_reaches_the_implementation(void **state)
{
    (void)state;
    static const kd_dae_class methods = {.name = "test", .destroy = count_call};
    int                       calls = 0;
    kd_dae                   *dae = kd_alloc(sizeof *dae);
    assert_non_null(dae);
    dae->methods = &methods;
    dae->impl = &calls;
    kd_dae_destroy(dae);
    assert_int_equal(calls, 1);
    kd_dae_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(destroy_reaches_the_implementation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
