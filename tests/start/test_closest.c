// test_closest.c: the closest point of systems that are linear, overdetermined, redundant, curved or without solution.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "start/closest.h"

#define CHECK(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))

// F = A y - b, m x n, or the sphere |y|^2 = b_0 for A = NULL
typedef struct problem {
    int           m, n;
    const double *A, *b;
} problem;

static kd_eval value(void *owner, const double *y, double *F)
{
    const problem *q = owner;
    for (int i = 0; i < q->m; i++) {
        F[i] = -q->b[i];
        for (int j = 0; j < q->n; j++) F[i] += q->A ? q->A[i + q->m * j] * y[j] : y[j] * y[j];
    }
    return KD_EVAL_OK;
}

static kd_eval jacobian(void *owner, const double *y, double *F, double *J, double *size)
{
    const problem *q = owner;
    for (int j = 0; j < q->n; j++) {
        for (int i = 0; i < q->m; i++) J[i + q->m * j] = q->A ? q->A[i + q->m * j] : 2.0 * y[j];
        size[j] = fmax(1.0, fabs(y[j]));
    }
    return value(owner, y, F);
}

static kd_closest start(problem *q, int nx, const double *weight, const double *y, kd_arena *arena)
{
    kd_closest c = {.m = q->m,
                    .n = q->n,
                    .nx = nx,
                    .residual = value,
                    .jacobian = jacobian,
                    .owner = q,
                    .tolerance = 1e-10,
                    .rank_tolerance = 1e-9,
                    .slack = 1.0,
                    .max_iterations = 50};
    kd_closest_cut(&c, arena);
    assert_false(arena->failed);
    for (int i = 0; i < nx; i++) c.W[i + nx * i] = weight[i];
    memcpy(c.y, y, (size_t)q->n * sizeof(double));
    memcpy(c.y_ref, y, (size_t)q->n * sizeof(double));
    assert_true(kd_closest_factor_weight(&c));
    return c;
}

// One plane in space: the answer is y - W^-1 a (a.y - b) / (a W^-1 a).
static void test_plane(void **unused)
{
    (void)unused;
    const double a[] = {1.0, 2.0, -1.0}, b[] = {3.0}, W[] = {1.0, 4.0, 0.5}, y[] = {1.0, 1.0, 1.0};
    problem      q = {1, 3, a, b};
    kd_arena     arena = {0};
    kd_closest   c = start(&q, 3, W, y, &arena);
    double       S = 0.0, r = -b[0];
    for (int i = 0; i < 3; i++) S += a[i] * a[i] / W[i], r += a[i] * y[i];
    assert_int_equal(kd_closest_feasible(&c), KD_CLOSEST_DONE);
    assert_int_equal(kd_closest_approach(&c), KD_CLOSEST_DONE);
    for (int i = 0; i < 3; i++) CHECK(c.y[i], y[i] - a[i] / W[i] * r / S, 1e-13);
    double N[9];
    assert_int_equal(kd_closest_null_space(&c, N), 2);
    for (int l = 0; l < 2; l++) CHECK(a[0] * N[3 * l] + a[1] * N[3 * l + 1] + a[2] * N[3 * l + 2], 0.0, 1e-14);
    kd_arena_release(&arena);
}

// Unknowns without weight follow for free: the weighted one does not move if the others can satisfy the equation.
static void test_free_unknowns(void **unused)
{
    (void)unused;
    const double a[] = {1.0, 1.0}, b[] = {5.0}, W[] = {1.0}, y[] = {1.0, 1.0};
    problem      q = {1, 2, a, b};
    kd_arena     arena = {0};
    kd_closest   c = start(&q, 1, W, y, &arena);
    assert_int_equal(kd_closest_feasible(&c), KD_CLOSEST_DONE);
    assert_int_equal(kd_closest_approach(&c), KD_CLOSEST_DONE);
    CHECK(c.y[0], 1.0, 1e-10);
    CHECK(c.y[1], 4.0, 1e-10);
    kd_arena_release(&arena);
}

// A square regular system of badly scaled rows and columns: Newton with LU and the general way agree.
static void test_square(void **unused)
{
    (void)unused;
    const double A[] = {2e6, 1.0, 0.0, 1e6, 3.0, 1e-5, 0.0, 1.0, 2e-5}, y[] = {0.0, 0.0, 0.0},
                 solution[] = {1.0, -2.0, 3.0};
    double b[3] = {0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) b[i] += A[i + 3 * j] * solution[j];
    problem    q = {3, 3, A, b};
    kd_arena   arena = {0};
    kd_closest c = start(&q, 0, NULL, y, &arena);
    assert_true(kd_closest_newton(&c));
    for (int i = 0; i < 3; i++) CHECK(c.y[i], solution[i], 1e-9);
    memcpy(c.y, y, sizeof y);
    assert_int_equal(kd_closest_feasible(&c), KD_CLOSEST_DONE);
    for (int i = 0; i < 3; i++) CHECK(c.y[i], solution[i], 1e-9);
    kd_arena_release(&arena);
}

// Two copies of one equation: rank 1, solved; with different right sides: stuck at the least-squares point, and a
// singular square matrix is none for LU.
static void test_redundant_and_contradictory(void **unused)
{
    (void)unused;
    const double A[] = {1.0, 2.0, 1.0, 2.0}, same[] = {3.0, 6.0}, other[] = {3.0, 8.0}, W[] = {1.0, 1.0},
                 y[] = {0.0, 0.0};
    problem    q = {2, 2, A, same};
    kd_arena   arena = {0};
    kd_closest c = start(&q, 2, W, y, &arena);
    assert_int_equal(kd_closest_feasible(&c), KD_CLOSEST_DONE);
    assert_int_equal(c.rank, 1);
    CHECK(c.y[0], 1.5, 1e-13);
    q.b = other;
    assert_int_equal(kd_closest_feasible(&c), KD_CLOSEST_STUCK);
    CHECK(c.y[0] + c.y[1], 0.5 * (3.0 + 4.0), 1e-9); // rows have the same weight
    assert_false(kd_closest_newton(&c));
    kd_arena_release(&arena);
}

// Sphere in five dimensions from far away and from inside: radial projection for W = I. A sphere of negative radius has
// no point; one iteration is not enough.
static void test_sphere(void **unused)
{
    (void)unused;
    const double W[] = {1.0, 1.0, 1.0, 1.0, 1.0},
                 starts[][5] = {{9.0, -3.0, 1.0, 0.0, 2.0}, {0.1, 0.2, 0.0, -0.1, 0.0}};
    double b[] = {4.0};
    for (int k = 0; k < 2; k++) {
        problem    q = {1, 5, NULL, b};
        kd_arena   arena = {0};
        kd_closest c = start(&q, 5, W, starts[k], &arena);
        double     r = 0.0;
        for (int i = 0; i < 5; i++) r += starts[k][i] * starts[k][i];
        assert_int_equal(kd_closest_feasible(&c), KD_CLOSEST_DONE);
        assert_int_equal(kd_closest_approach(&c), KD_CLOSEST_DONE);
        for (int i = 0; i < 5; i++) CHECK(c.y[i], 2.0 * starts[k][i] / sqrt(r), 1e-9);
        memcpy(c.y, starts[k], sizeof starts[k]);
        c.max_iterations = 1;
        assert_int_equal(kd_closest_feasible(&c), KD_CLOSEST_LIMIT);
        const double none[] = {-1.0};
        q.b = none;
        c.max_iterations = 200;
        assert_int_equal(kd_closest_feasible(&c), KD_CLOSEST_STUCK);
        kd_arena_release(&arena);
    }
}

// ---- ellipsoids ------------------------------------------------------------------------------------------------------

static kd_eval ellipsoid(void *owner, const double *y, double *F, double *J, double *size)
{
    const problem *q = owner; // sum a_j y_j^2 = b
    F[0] = -q->b[0];
    for (int j = 0; j < q->n; j++) {
        F[0] += q->A[j] * y[j] * y[j];
        if (J) J[j] = 2.0 * q->A[j] * y[j];
        if (J) size[j] = fmax(1.0, fabs(y[j]));
    }
    return KD_EVAL_OK;
}

static kd_eval ellipsoid_value(void *owner, const double *y, double *F)
{
    return ellipsoid(owner, y, F, NULL, NULL);
}

// The closest point of an ellipsoid from outside, by one multiplier: y_j = W_j x_j/(W_j + mu a_j), of which mu > 0 is found
// by halving.
static void closest_of_ellipsoid(const problem *q, const double *W, const double *x, double *y)
{
    double low = 0.0, high = 1.0, F;
    for (int k = 0; k < 3000; k++) {
        const double mu = k < 60 ? high : 0.5 * (low + high);
        for (int j = 0; j < q->n; j++) y[j] = W[j] * x[j] / (W[j] + mu * q->A[j]);
        (void)ellipsoid((void *)q, y, &F, NULL, NULL);
        if (k < 60) {
            if (F > 0.0) low = high, high *= 2.0;
        } else if (F > 0.0) {
            low = mu;
        } else {
            high = mu;
        }
    }
}

static double random_between(unsigned *word, double low, double high)
{
    *word = *word * 1664525u + 1013904223u;
    return low + (high - low) * (double)(*word >> 8) / (double)(1u << 24);
}

// Random ellipsoids with random weights, from near and far: the closest point to a part of the tolerance, not to the root of rounding, which is all
// that the values of a distance see.
static void test_ellipsoids(void **unused)
{
    unsigned word = 5u;
    (void)unused;
    for (int trial = 0; trial < 2000; trial++) {
        double        a[6], W[6], x[6], right[6], F;
        const double  b[] = {1.0}, far = pow(10.0, random_between(&word, -1.0, 1.0));
        const problem q = {1, 2 + trial % 5, a, b};
        for (int j = 0; j < q.n; j++) {
            a[j] = pow(10.0, random_between(&word, -0.5, 0.5));
            W[j] = pow(10.0, random_between(&word, -0.5, 0.5));
            x[j] = far * random_between(&word, -1.0, 1.0) + (j == 0 ? 1.1 / sqrt(a[0]) + far : 0.0);
        }
        (void)ellipsoid((void *)&q, x, &F, NULL, NULL);
        assert_true(F > 0.0);
        closest_of_ellipsoid(&q, W, x, right);
        problem    own = q;
        kd_arena   arena = {0};
        kd_closest c = start(&own, q.n, W, x, &arena);
        c.residual = ellipsoid_value;
        c.jacobian = ellipsoid;
        c.tolerance = 1e-9; // as starts have it
        assert_int_equal(kd_closest_feasible(&c), KD_CLOSEST_DONE);
        assert_int_equal(kd_closest_approach(&c), KD_CLOSEST_DONE);
        for (int j = 0; j < q.n; j++)
            if (!(fabs(c.y[j] - right[j]) <= 0.1 * c.tolerance))
                fail_msg("trial %d: y[%d] = %.15g, not %.15g", trial, j, c.y[j], right[j]);
        kd_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plane),  cmocka_unit_test(test_free_unknowns),
        cmocka_unit_test(test_square), cmocka_unit_test(test_redundant_and_contradictory),
        cmocka_unit_test(test_sphere), cmocka_unit_test(test_ellipsoids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
