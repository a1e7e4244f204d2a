// Eigenvalues of general matrices.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math/dense.h"

// A matrix with the eigenvalues 3 and 1 +- 2 i: values, and vectors in the packed form of pairs.
static void pair_and_real(void **state)
{
    (void)state;
    const double A[9] = {1, -2, 0, 2, 1, 0, 5, 7, 3};
    double       copy[9], real[3], imaginary[3], V[9], work[400];
    assert_true(kd_eigen_work(3) <= 400);
    for (int i = 0; i < 9; i++) copy[i] = A[i];
    assert_int_equal(kd_eigen(3, copy, real, imaginary, V, work), 0);
    for (int k = 0; k < 3; k++) {
        bool          pair = imaginary[k] != 0;
        const double *re = V + 3 * k, *im = V + 3 * (k + 1);
        assert_true(fabs(real[k] - (pair ? 1 : 3)) < 1e-12);
        if (pair) assert_true(fabs(imaginary[k] - 2) < 1e-12 && fabs(imaginary[k + 1] + 2) < 1e-12);
        for (int i = 0; i < 3; i++) {
            double r = -real[k] * re[i] + (pair ? imaginary[k] * im[i] : 0);
            for (int j = 0; j < 3; j++) r += A[i + 3 * j] * re[j];
            assert_true(fabs(r) < 1e-12);
        }
        if (pair) k++;
    }
}

// Nothing to do is fine; NaN is refused.
static void edges(void **state)
{
    (void)state;
    double A[1] = {NAN}, x[1], y[1], work[100];
    assert_int_equal(kd_eigen(0, NULL, NULL, NULL, NULL, NULL), 0);
    assert_int_not_equal(kd_eigen(1, A, x, y, NULL, work), 0);
    A[0] = 4;
    assert_int_equal(kd_eigen(1, A, x, y, NULL, work), 0);
    assert_true(x[0] == 4 && y[0] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pair_and_real),
        cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
