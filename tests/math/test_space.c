// Rotations: the exponential of a rotation vector, by series and by sine and cosine.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "math/space.h"

// Of any length, from nothing to several turns, on both sides of where the series ends: (cos(n/2), e sin(n/2)/n)
static void exponential(void **unused)
{
    (void)unused;
    for (int k = -70; k < 20; k++) {
        const double  n = pow(1.3, k);
        const kd_vec3 e = kd_vec_scale(n, kd_vec(2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0));
        const kd_quat q = kd_quat_exp(e);
        assert_true(fabs(q.w - cos(0.5 * n)) <= 4e-16 * fmax(n, 1.0));
        assert_true(fabs(q.x - sin(0.5 * n) * 2.0 / 7.0) <= 4e-16 * n);
        assert_true(fabs(q.y + sin(0.5 * n) * 3.0 / 7.0) <= 4e-16 * n);
        assert_true(fabs(q.z - sin(0.5 * n) * 6.0 / 7.0) <= 4e-16 * n);
    }
    const kd_quat still = kd_quat_exp(kd_vec(0, 0, 0));
    assert_true(still.w == 1.0 && still.x == 0.0 && still.y == 0.0 && still.z == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exponential)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
