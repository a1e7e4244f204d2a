// Tests of small saddle-point systems with other rows below than beside M: against the LU of the whole; refusals.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "point/kkt_mixed.h"

enum { MOST = 16 };

typedef struct saddle {
    int    nv, nlambda, nmu;
    double M[MOST * MOST], GZ[2][MOST * MOST], HZ[2][MOST * MOST]; // beside and below M
} saddle;

static double scatter(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 23) - 1;
}

// M = B B' + I / 2, badly scaled; random rows, the other ones a distance away
static saddle random_saddle(int nv, int m, double distance, unsigned *seed)
{
    saddle s = {.nv = nv, .nlambda = m - m / 3, .nmu = m / 3};
    double B[MOST * MOST], scale[MOST];
    for (int i = 0; i < nv * nv; i++) B[i] = scatter(seed);
    for (int i = 0; i < nv; i++) scale[i] = pow(10, scatter(seed));
    for (int j = 0; j < nv; j++) {
        for (int i = 0; i < nv; i++) {
            double sum = i == j ? 0.5 : 0;
            for (int k = 0; k < nv; k++) sum += B[i + k * nv] * B[j + k * nv];
            s.M[i + j * nv] = scale[i] * scale[j] * sum;
        }
    }
    for (int i = 0; i < s.nlambda * nv; i++) {
        s.GZ[0][i] = scatter(seed);
        s.GZ[1][i] = s.GZ[0][i] + distance * scatter(seed);
    }
    for (int i = 0; i < s.nmu * nv; i++) {
        s.HZ[0][i] = scatter(seed);
        s.HZ[1][i] = s.HZ[0][i] + distance * scatter(seed);
    }
    return s;
}

static void whole_matrix(const saddle *s, double *K)
{
    int nv = s->nv, m = s->nlambda + s->nmu, n = nv + m;
    memset(K, 0, (size_t)(n * n) * sizeof *K);
    for (int j = 0; j < nv; j++)
        for (int i = 0; i < nv; i++) K[i + j * n] = s->M[i + j * nv];
    for (int k = 0; k < m; k++) {
        bool g = k < s->nlambda;
        int  place = g ? k : k - s->nlambda, ld = g ? s->nlambda : s->nmu;
        for (int i = 0; i < nv; i++) {
            K[i + (nv + k) * n] = (g ? s->GZ : s->HZ)[0][place + i * ld];
            K[nv + k + i * n] = (g ? s->GZ : s->HZ)[1][place + i * ld];
        }
    }
}

static bool solve(kd_kkt_mixed *kkt, const saddle *s, double *x)
{
    return kd_kkt_mixed_solve(kkt, s->M, s->nlambda, s->GZ[0], s->GZ[1], s->nmu, s->HZ[0], s->HZ[1], x);
}

// The same solution as by an LU of the whole, for all small sizes, rows close to each other or not.
static void agrees_with_lu(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int nv = 1; nv <= 12; nv++) {
        for (int m = 0; m <= nv && m <= 10; m++) {
            for (double distance = 0; distance < 0.2; distance += 0.06) {
                saddle       s = random_saddle(nv, m, distance, &seed);
                kd_arena     arena = {0};
                kd_kkt_mixed kkt;
                double       K[4 * MOST * MOST], b[2 * MOST], x[2 * MOST];
                int          pivot[2 * MOST], n = nv + m;
                whole_matrix(&s, K);
                kd_kkt_mixed_cut(&kkt, &arena, nv, m);
                assert_false(arena.failed);
                for (int i = 0; i < n; i++) b[i] = x[i] = scatter(&seed);
                if (!solve(&kkt, &s, x)) fail_msg("nv = %d, %d rows", nv, m);
                assert_int_equal(kd_lu_factor(n, K, pivot), 0);
                kd_lu_solve(n, K, pivot, b, 1);
                for (int i = 0; i < n; i++) assert_true(fabs(x[i] - b[i]) <= 1e-7 * kd_norm_max(n, b));
                kd_arena_release(&arena);
            }
        }
    }
}

// Few rows below that stand in another order than those beside M, or with the other sign, want pivots that are searched
// for: the same solution as by the LU of the whole.
static void other_orders_of_rows_are_solved(void **state)
{
    (void)state;
    unsigned seed = 11;
    for (int m = 1; m <= 6; m++) {
        saddle       s = random_saddle(7, m, 0, &seed), other;
        kd_arena     arena = {0};
        kd_kkt_mixed kkt;
        double       K[4 * MOST * MOST], b[2 * MOST], x[2 * MOST];
        int          pivot[2 * MOST], n = 7 + m;
        other = s;
        for (int i = 0; i < 7; i++)
            for (int k = 0; k < s.nlambda; k++)
                s.GZ[1][k + i * s.nlambda] = -other.GZ[1][(k + 1) % s.nlambda + i * s.nlambda];
        whole_matrix(&s, K);
        kd_kkt_mixed_cut(&kkt, &arena, 7, m);
        for (int i = 0; i < n; i++) b[i] = x[i] = scatter(&seed);
        if (!solve(&kkt, &s, x)) fail_msg("%d rows", m);
        assert_int_equal(kd_lu_factor(n, K, pivot), 0);
        kd_lu_solve(n, K, pivot, b, 1);
        for (int i = 0; i < n; i++) assert_true(fabs(x[i] - b[i]) <= 1e-9 * kd_norm_max(n, b));
        kd_arena_release(&arena);
    }
}

// Without search for pivots, rows that turned by nearly a right angle would lose ten digits.
static void rows_at_right_angles_keep_their_digits(void **state)
{
    (void)state;
    kd_arena     arena = {0};
    kd_kkt_mixed kkt;
    // N inv(M) C' = [1e-10 1; -1 1]
    saddle s = {.nv = 2, .nlambda = 2, .M = {1, 0, 0, 1}, .GZ = {{1, 0, 0, 1}, {1e-10, -1, 1, 1}}};
    double x[4] = {0, 0, 1, 2};
    kd_kkt_mixed_cut(&kkt, &arena, 2, 2);
    assert_true(solve(&kkt, &s, x));
    assert_true(fabs(1e-10 * x[0] + x[1] - 1) < 1e-15 && fabs(x[1] - x[0] - 2) < 1e-15);
    kd_arena_release(&arena);
}

// Masses that are not positive and rows that vanish or depend on each other, above or below, are refused.
static void unsafe_systems_are_refused(void **state)
{
    (void)state;
    unsigned     seed = 3;
    kd_arena     arena = {0};
    kd_kkt_mixed kkt;
    kd_kkt_mixed_cut(&kkt, &arena, 5, 3);
    for (int kind = 0; kind < 5; kind++) {
        saddle s = random_saddle(5, 3, 0.01, &seed);
        double before[8], x[8];
        for (int i = 0; i < 8; i++) before[i] = x[i] = scatter(&seed);
        assert_true(solve(&kkt, &s, x));
        for (int i = 0; i < 5; i++) {
            if (kind == 0) s.M[2 + 5 * i] = s.M[i + 5 * 2] = 0;
            if (kind == 1) s.HZ[0][i] = 0;
            if (kind == 2) s.HZ[1][i] = 0;
            if (kind == 3) s.GZ[0][2 * i] = -2 * s.GZ[0][1 + 2 * i];
            if (kind == 4) s.GZ[1][2 * i] = -2 * s.GZ[1][1 + 2 * i];
        }
        memcpy(x, before, sizeof x);
        assert_false(solve(&kkt, &s, x));
        assert_memory_equal(x, before, sizeof x);
    }
    kd_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_lu),
        cmocka_unit_test(other_orders_of_rows_are_solved),
        cmocka_unit_test(rows_at_right_angles_keep_their_digits),
        cmocka_unit_test(unsafe_systems_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
