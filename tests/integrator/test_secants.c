// Anderson's method: nothing known changes nothing, linear problems end after n pairs, useless pairs do no harm.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "case.h"
#include "integrator/secants.h"
#include "trust/seeded.h"

enum { N = 3 };
static const double weight[N] = {1, 2, 0.5};

// z = b - A x: the fixed-point increment of a matrix whose error is I - A; solution 1, -2, 0.5
static void increment(const double *x, double *z)
{
    const double A[N][N] = {{1.3, -0.2, 0.1}, {0.15, 0.8, -0.3}, {-0.25, 0.1, 1.1}}, solution[N] = {1, -2, 0.5};
    for (int i = 0; i < N; i++) {
        z[i] = 0;
        for (int j = 0; j < N; j++) z[i] += A[i][j] * (solution[j] - x[j]);
    }
}

static double size(const double *z)
{
    return sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2]);
}

// residual after so many iterations from 0, with or without pairs
static double iterate(int iterations, bool with_pairs)
{
    kd_arena   arena = {0};
    kd_secants s = {0};
    double     x[N] = {0}, z[N], z_old[N], dx[N];
    kd_secants_cut(&s, &arena, N);
    assert_false(arena.failed);
    for (int m = 0; m < iterations; m++) {
        increment(x, z);
        if (m > 0 && with_pairs) kd_secants_add(&s, dx, z, z_old);
        kd_secants_improve(&s, weight, z, dx);
        memcpy(z_old, z, sizeof z);
        for (int i = 0; i < N; i++) x[i] += dx[i];
    }
    increment(x, z);
    kd_arena_release(&arena);
    return size(z);
}

// Without pairs the increment is z itself.
static void nothing_known(void **state)
{
    (void)state;
    kd_arena     arena = {0};
    kd_secants   s = {0};
    const double z[N] = {1, -2, 3};
    double       dx[N];
    kd_secants_cut(&s, &arena, N);
    kd_secants_improve(&s, weight, z, dx);
    assert_memory_equal(dx, z, sizeof z);
    kd_arena_release(&arena);
}

// A linear problem of size n is solved by n pairs; without them the iteration only contracts.
static void linear_problems_end(void **state)
{
    (void)state;
    assert_true(iterate(N + 1, true) < 1e-12);
    assert_true(iterate(N + 1, false) > 1e-3);
    assert_true(iterate(3, true) < 0.5 * iterate(3, false));
}

// A pair that was added twice says nothing new; one of size 0 says nothing at all.
static void useless_pairs(void **state)
{
    (void)state;
    kd_arena     arena = {0};
    kd_secants   s = {0};
    const double dx[N] = {1, 2, 3}, z_old[N] = {1, 2, 3}, zero[N] = {0};
    double       z[N] = {0.1, -0.1, 0.2}, once[N], twice[N];
    kd_secants_cut(&s, &arena, N);
    kd_secants_add(&s, dx, z, z_old);
    kd_secants_improve(&s, weight, z, once);
    kd_secants_add(&s, dx, z, z_old);
    kd_secants_improve(&s, weight, z, twice);
    assert_memory_equal(once, twice, sizeof once);
    kd_secants_add(&s, zero, z, z);
    kd_secants_improve(&s, weight, z, twice);
    assert_memory_equal(once, twice, sizeof once);
    z[0] = NAN;
    kd_secants_add(&s, dx, z, z_old);
    assert_int_equal(s.count, KD_SECANTS);
    kd_arena_release(&arena);
}

// One pair (P, Q): dx = z - g (P + Q) with the g that makes z - g Q shortest in the weighted norm.
static void weights_decide_what_is_shortest(void **state)
{
    uint64_t seed = test_seed(6);
    (void)state;
    for (int trial = 0; trial < 50; trial++) {
        kd_arena   arena = {0};
        kd_secants s = {0};
        double     w[N], P[N], Q[N], z[N], zero[N] = {0}, dx[N], along = 0, square = 0;
        for (int i = 0; i < N; i++) {
            w[i] = seeded_log(&seed, 1e-2, 1e2);
            P[i] = seeded_between(&seed, -1, 1);
            Q[i] = seeded_between(&seed, -1, 1);
            z[i] = seeded_between(&seed, -1, 1);
            along += w[i] * w[i] * Q[i] * z[i];
            square += w[i] * w[i] * Q[i] * Q[i];
        }
        kd_secants_cut(&s, &arena, N);
        assert_false(arena.failed);
        kd_secants_add(&s, P, Q, zero);
        kd_secants_improve(&s, w, z, dx);
        for (int i = 0; i < N; i++) {
            const double right = z[i] - along / square * (P[i] + Q[i]);
            assert_true(fabs(dx[i] - right) < 1e-11 * (1 + fabs(along / square)));
        }
        kd_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known),
        cmocka_unit_test(linear_problems_end),
        cmocka_unit_test(useless_pairs),
        cmocka_unit_test(weights_decide_what_is_shortest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
