// test_blas.c: several threads in the BLAS at once
#define _GNU_SOURCE // dladdr
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>

#include "math/blas.h"
#include "math/products.h"
#include "project/command.h"

// In a program that begins with kardan, products of threads are those of one thread.
static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(wrong_products(), 0);
    assert_int_not_equal(kd_blas_guard_now(), KD_BLAS_ALONE); // threads go side by side
}

// Where the BLAS was loaded and bound before, its work space cannot be guarded: each call is made alone, and the products are right.
static void test_threads_behind_another(void **state)
{
    (void)state;
    int     guard = -1;
    long    wrong = -1;
    Dl_info blas;
    char    command[2000];
    if (kd_blas_guard_now() == KD_BLAS_SAFE) skip(); // this BLAS locks by itself
    assert_true(dladdr((const void *)(intptr_t)&cblas_dgemm, &blas) != 0);
    snprintf(command, sizeof command,
             "'" KD_BINARY_DIR "/tests/blas_client' '%s' '" KD_BINARY_DIR "/tests/late_blas.so'", blas.dli_fname);
    const command_result result = run_command(command);
    if (result.status != 0) print_message("%s", result.text);
    assert_int_equal(result.status, 0);
    assert_int_equal(sscanf(result.text, "guard %d wrong %ld", &guard, &wrong), 2);
    assert_int_equal(guard, KD_BLAS_ALONE);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_threads_behind_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
