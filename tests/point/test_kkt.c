// Tests of small saddle-point systems by Cholesky's method: against the LU of the whole; what is left to the LU.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "core/failing_allocator.h"
#include "math/dense.h"
#include "point/kkt.h"

enum { MOST = 16 };

typedef struct saddle {
    int    nv, nlambda, nmu;
    double M[MOST * MOST], GZ[MOST * MOST], HZ[MOST * MOST];
} saddle;

static double scatter(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 23) - 1;
}

// M = B B' + I / 2, badly scaled, in blocks of order block that do not meet; random rows
static void random_saddle(saddle *s, int block, unsigned *seed)
{
    double B[MOST * MOST], scale[MOST];
    int    n = s->nv;
    for (int i = 0; i < n * n; i++) B[i] = scatter(seed);
    for (int i = 0; i < n; i++) scale[i] = pow(10, scatter(seed));
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) {
            double sum = i == j ? 0.5 : 0;
            for (int k = 0; k < n; k++) sum += B[i + k * n] * B[j + k * n];
            s->M[i + j * n] = i / block == j / block ? scale[i] * scale[j] * sum : 0;
        }
    }
    for (int i = 0; i < s->nlambda * n; i++) s->GZ[i] = scatter(seed);
    for (int i = 0; i < s->nmu * n; i++) s->HZ[i] = scatter(seed);
}

static void whole_matrix(const saddle *s, double *K)
{
    int nv = s->nv, m = s->nlambda + s->nmu, n = nv + m;
    memset(K, 0, (size_t)(n * n) * sizeof *K);
    for (int j = 0; j < nv; j++)
        for (int i = 0; i < nv; i++) K[i + j * n] = s->M[i + j * nv];
    for (int k = 0; k < m; k++) {
        for (int i = 0; i < nv; i++) {
            double c = k < s->nlambda ? s->GZ[k + i * s->nlambda] : s->HZ[k - s->nlambda + i * s->nmu];
            K[nv + k + i * n] = K[i + (nv + k) * n] = c;
        }
    }
}

static void compare_with_lu(int nv, int m, int block, unsigned *seed)
{
    saddle   s = {.nv = nv, .nlambda = m - m / 3, .nmu = m / 3};
    kd_arena arena = {0};
    kd_kkt   kkt;
    double   K[4 * MOST * MOST], b[2 * MOST], x[2 * MOST];
    int      pivot[2 * MOST], n = nv + m;
    random_saddle(&s, block, seed);
    whole_matrix(&s, K);
    kd_kkt_cut(&kkt, &arena, nv, m);
    assert_false(arena.failed);
    if (!kd_kkt_factor(&kkt, s.M, s.nlambda, s.GZ, s.nmu, s.HZ)) fail_msg("nv = %d, %d rows", nv, m);
    for (int i = 0; i < n; i++) b[i] = x[i] = scatter(seed);
    assert_int_equal(kd_lu_factor(n, K, pivot), 0);
    kd_lu_solve(n, K, pivot, b, 1);
    kd_kkt_solve(&kkt, x);
    double size = kd_norm_max(n, b);
    for (int i = 0; i < n; i++)
        if (!(fabs(x[i] - b[i]) <= 1e-7 * size)) fail_msg("nv = %d, %d rows, entry %d: %g, %g", nv, m, i, x[i], b[i]);
    kd_arena_release(&arena);
}

// The same solution as by an LU of the whole, for all small sizes, with and without rows of both kinds, with few and
// with many rows, with full masses and with those of bodies that do not meet.
static void agrees_with_lu(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int block = 1; block <= MOST; block = block < 3 ? block + 1 : 2 * block)
        for (int nv = 1; nv <= 15; nv++)
            for (int m = 0; m <= nv - nv / 5 && m <= 11; m++) compare_with_lu(nv, m, block, &seed);
}

static void refuse_unsafe(saddle *s)
{
    unsigned seed = 3;
    kd_arena arena = {0};
    kd_kkt   kkt;
    random_saddle(s, MOST, &seed);
    kd_kkt_cut(&kkt, &arena, s->nv, s->nlambda + s->nmu);
    assert_true(kd_kkt_factor(&kkt, s->M, s->nlambda, s->GZ, s->nmu, s->HZ));
    for (int i = 0; i < s->nv; i++) s->HZ[i * s->nmu] = 3 * s->GZ[i * s->nlambda] - s->GZ[1 + i * s->nlambda];
    assert_false(kd_kkt_factor(&kkt, s->M, s->nlambda, s->GZ, s->nmu, s->HZ));
    random_saddle(s, MOST, &seed);
    for (int i = 0; i < s->nv; i++) s->M[2 + i * s->nv] = s->M[i + 2 * s->nv] = 0;
    assert_false(kd_kkt_factor(&kkt, s->M, s->nlambda, s->GZ, s->nmu, s->HZ));
    s->M[0] = NAN;
    assert_false(kd_kkt_factor(&kkt, s->M, s->nlambda, s->GZ, s->nmu, s->HZ));
    kd_arena_release(&arena);
}

// Masses that are not positive and rows that depend on each other are refused, with few and with many rows.
static void unsafe_systems_are_refused(void **state)
{
    (void)state;
    refuse_unsafe(&(saddle){.nv = 5, .nlambda = 2, .nmu = 1});
    refuse_unsafe(&(saddle){.nv = 12, .nlambda = 6, .nmu = 2});
}

// Without memory the arena says so.
static void no_memory(void **state)
{
    (void)state;
    failing_allocator memory = {.fail_at = 1};
    kd_arena          arena = {0};
    kd_kkt            kkt;
    failing_allocator_use(&memory);
    kd_kkt_cut(&kkt, &arena, 5, 3);
    assert_true(arena.failed);
    kd_arena_release(&arena);
    kd_set_allocator(NULL);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_lu),
        cmocka_unit_test(unsafe_systems_are_refused),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
