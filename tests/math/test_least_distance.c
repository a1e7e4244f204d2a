// Shortest vectors under equations and one-sided rows: the conditions of optimality, which determine y uniquely.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/dense.h"
#include "math/least_distance.h"

enum { MOST_N = 8, MOST_ROWS = 12 };

typedef struct problem {
    int    n, rows;
    double W[MOST_N * MOST_ROWS], c[MOST_ROWS], y[MOST_N], u[MOST_ROWS];
    bool   one_sided[MOST_ROWS];
    int    dependent, worst;
} problem;

static kd_least_answer solve(problem *p)
{
    kd_arena          arena = {0};
    kd_least_distance self = {0};
    kd_least_rows     rows = {.count = p->rows, .W = p->W, .c = p->c, .one_sided = p->one_sided, .scale = 1};
    kd_least_distance_cut(&self, &arena, p->n, p->rows);
    assert_false(arena.failed);
    kd_least_answer answer = kd_least_distance_solve(&self, &rows, p->y, p->u, &p->dependent, &p->worst);
    kd_arena_release(&arena);
    return answer;
}

static double row_value(const problem *p, int i)
{
    return kd_dot(p->n, p->W + i * p->n, p->y);
}

// y = W u, all rows satisfied, u >= 0 and complementary in one-sided rows
static void check_optimal(const problem *p, double tolerance)
{
    double left[MOST_N];
    memcpy(left, p->y, sizeof left);
    for (int i = 0; i < p->rows; i++) {
        double excess = row_value(p, i) - p->c[i];
        kd_axpy(p->n, -p->u[i], p->W + i * p->n, left);
        if (!p->one_sided[i]) {
            assert_true(fabs(excess) <= tolerance);
            continue;
        }
        assert_true(excess >= -tolerance);
        assert_true(p->u[i] >= 0);
        assert_true(fabs(p->u[i] * excess) <= tolerance);
    }
    assert_true(kd_norm_max(p->n, left) <= tolerance);
}

static double number(void)
{
    return 2.0 * rand() / RAND_MAX - 1;
}

static problem random_problem(int n, int rows, int equations)
{
    problem p = {.n = n, .rows = rows};
    for (int i = 0; i < n * rows; i++) p.W[i] = number();
    for (int i = 0; i < rows; i++) {
        p.c[i] = number();
        p.one_sided[i] = i >= equations;
    }
    return p;
}

// Random rows, fewer than unknowns: the conditions of optimality hold.
static void test_random(void **state)
{
    (void)state;
    srand(7);
    for (int k = 0; k < 2000; k++) {
        problem p = random_problem(8, 1 + k % 8, k % 3);
        assert_int_equal(solve(&p), KD_LEAST_DONE);
        check_optimal(&p, 1e-9);
    }
}

// More one-sided rows than unknowns that leave room (c < 0 or a known inner point): many must go again on the way.
static void test_many_rows(void **state)
{
    (void)state;
    srand(8);
    for (int k = 0; k < 2000; k++) {
        problem p = random_problem(4, 12, 0);
        double  inner[4];
        for (int i = 0; i < 4; i++) inner[i] = 2 * number();
        for (int i = 0; i < 12; i++) p.c[i] = kd_dot(4, p.W + i * 4, inner) - (k % 2 ? fabs(number()) : 0);
        assert_int_equal(solve(&p), KD_LEAST_DONE);
        check_optimal(&p, 1e-8);
    }
}

// The same row twice: the sharper one counts, whichever comes first; of equal equations one is left out.
static void test_dependent(void **state)
{
    (void)state;
    problem p = {.n = 2, .rows = 2, .W = {3, 4, 3, 4}, .c = {5, 10}, .one_sided = {true, true}};
    assert_int_equal(solve(&p), KD_LEAST_DONE);
    check_optimal(&p, 1e-14);
    assert_true(fabs(p.y[0] - 1.2) < 1e-14 && fabs(p.y[1] - 1.6) < 1e-14);
    p.one_sided[0] = p.one_sided[1] = false;
    p.c[1] = 5;
    assert_int_equal(solve(&p), KD_LEAST_DONE);
    assert_int_equal(p.dependent, 1);
    assert_true(fabs(p.y[0] - 0.6) < 1e-14);
}

// Rows that contradict each other are told: equations, and y >= 1 together with -y >= 0.
static void test_contradiction(void **state)
{
    (void)state;
    problem p = {.n = 2, .rows = 2, .W = {1, 0, 1, 0}, .c = {1, 2}};
    assert_int_equal(solve(&p), KD_LEAST_CONTRADICTION);
    assert_int_equal(p.worst, 1);
    problem q = {.n = 1, .rows = 2, .W = {1, -1}, .c = {1, 0}, .one_sided = {true, true}};
    assert_int_equal(solve(&q), KD_LEAST_CONTRADICTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_dependent),
        cmocka_unit_test(test_contradiction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
