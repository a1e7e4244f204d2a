// tests/math/test_invert.c: inverses of small matrices.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "math/dense.h"
#include "math/matrices.h"

enum { MOST = KD_INVERT_MOST };

// |A| |inv(A)| bounds what A inv(A) and inv(A) A may differ by from I, for random and graded matrices of all orders; the
// product with a vector is that of the definition.
static void test_inverse(void **state)
{
    (void)state;
    uint64_t seed = 3;
    double   A[MOST * MOST], B[MOST * MOST], b[MOST], x[MOST];
    for (int n = 1; n <= MOST; n++)
        for (int k = 0; k < 200; k++) {
            random_fill(n * n, A, &seed);
            if (k % 2) grade(n, n, A, 4);
            memcpy(B, A, sizeof A);
            assert_true(kd_invert(n, B));
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {
                    double sum = 0, size = 0, other = 0, other_size = 0;
                    for (int l = 0; l < n; l++) {
                        sum += A[i + l * n] * B[l + j * n];
                        size += fabs(A[i + l * n] * B[l + j * n]);
                        other += B[i + l * n] * A[l + j * n];
                        other_size += fabs(B[i + l * n] * A[l + j * n]);
                    }
                    assert_true(fabs(sum - (i == j)) <= 1e-12 * fmax(1, size));
                    assert_true(fabs(other - (i == j)) <= 1e-12 * fmax(1, other_size));
                }
            random_fill(n, b, &seed);
            memcpy(x, b, sizeof b);
            kd_multiply_few(n, A, x);
            for (int i = 0; i < n; i++) {
                double sum = 0;
                for (int j = 0; j < n; j++) sum += A[i + j * n] * b[j];
                assert_true(fabs(sum - x[i]) <= 1e-14 * n * fmax(1, fabs(sum)));
            }
        }
}

// A row of zeros, two equal columns, NaN: refused, and the matrix is as it was.
static void test_singular(void **state)
{
    (void)state;
    uint64_t seed = 4;
    double   A[MOST * MOST], B[MOST * MOST];
    for (int n = 1; n <= MOST; n++)
        for (int k = 0; k < 3; k++) {
            if (n == 1 && k == 1) continue;
            random_fill(n * n, A, &seed);
            for (int i = 0; i < n; i++) {
                if (k == 0) A[n / 2 + i * n] = 0;
                if (k == 1) A[i] = i == 0 ? 1 : 0, A[i + (n - 1) * n] = i == 0 ? 2 : 0;
            }
            if (k == 2) A[n * n / 2] = NAN;
            memcpy(B, A, sizeof A);
            assert_false(kd_invert(n, B));
            assert_memory_equal(A, B, (size_t)(n * n) * sizeof *A);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_inverse), cmocka_unit_test(test_singular)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
