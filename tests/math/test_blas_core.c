// Kernels of the BLAS library: old ones are replaced by what the processor can, a choice of the user is left alone.
#define _POSIX_C_SOURCE 200809L
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/base.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/dense.h"

#if defined(__GNUC__) && defined(__x86_64__)
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));

static bool can_choose(void)
{
    return gotoblas_dynamic_init && gotoblas_dynamic_quit && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("fma");
}

static void use(const char *core)
{
    setenv("OPENBLAS_CORETYPE", core, 1);
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
}

// A matrix of order 40 whose LU needs the kernels: x of A x = b is known
static void solves(void)
{
    enum { N = 40 };
    double A[N * N], b[N] = {0};
    int    pivot[N];
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            A[i + N * j] = sin(1.0 + 3 * i + 7 * j * j) + (i == j ? 5 : 0);
            b[i] += A[i + N * j] * (j + 1);
        }
    assert_int_equal(kd_lu_factor(N, A, pivot), 0);
    kd_lu_solve(N, A, pivot, b, 1);
    for (int i = 0; i < N; i++) assert_true(fabs(b[i] - (i + 1)) < 1e-10);
}

static void old_kernels_are_replaced(void **state)
{
    (void)state;
    if (!can_choose()) skip();
    use("Prescott");
    assert_string_equal(kd_blas_kernels(), "Prescott");
    // the user's word
    assert_string_equal(kd_blas_choose_kernels(), "Prescott");
    solves();
    unsetenv("OPENBLAS_CORETYPE");
    const char *chosen = kd_blas_choose_kernels();
    assert_true(strcmp(chosen, "Haswell") == 0 || strcmp(chosen, "SkylakeX") == 0);
    assert_null(getenv("OPENBLAS_CORETYPE"));
    solves();
    // good ones stay
    use("Sandybridge");
    unsetenv("OPENBLAS_CORETYPE");
    assert_string_equal(kd_blas_choose_kernels(), "Sandybridge");
    solves();
}
#else
static void old_kernels_are_replaced(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(old_kernels_are_replaced)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
