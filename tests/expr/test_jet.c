// tests/expr/test_jet.c: arithmetic of numbers with two time derivatives and tangents.
//
// A jet is the polynomial  sum c[k][j] t^k/k! e^j  without powers above t^2 and e^1. The tests do the same arithmetic
// on such polynomials, where products are convolutions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "expr/jet.h"
#include "expr/symbols.h"

typedef struct polynomial {
    double c[3][2]; // coefficients of t^k e^j
} polynomial;

static polynomial polynomial_of(kd_jet a)
{
    return (polynomial){{{a.x, a.d}, {a.x1, a.d1}, {0.5 * a.x2, 0.5 * a.d2}}};
}

static polynomial multiply(polynomial a, polynomial b)
{
    polynomial r = {0};
    for (int k = 0; k < 3; k++)
        for (int l = 0; k + l < 3; l++) {
            r.c[k + l][0] += a.c[k][0] * b.c[l][0];
            r.c[k + l][1] += a.c[k][1] * b.c[l][0] + a.c[k][0] * b.c[l][1];
        }
    return r;
}

static polynomial add(polynomial a, polynomial b, double factor)
{
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 2; j++) a.c[k][j] += factor * b.c[k][j];
    return a;
}

// f(a) = sum f_k/k! (a - a0)^k: the part a - a0 has no constant term, so that the series ends with the third power
static polynomial compose(polynomial a, const double f[4])
{
    polynomial rest = a, power = {{{1.0, 0.0}}}, r = {0};
    rest.c[0][0] = 0.0;
    const double factorial[] = {1.0, 1.0, 2.0, 6.0};
    for (int k = 0; k < 4; k++) {
        r = add(r, power, f[k] / factorial[k]);
        power = multiply(power, rest);
    }
    return r;
}

static void assert_same(kd_jet jet, polynomial expected)
{
    const polynomial p = polynomial_of(jet);
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 2; j++)
            if (!(fabs(p.c[k][j] - expected.c[k][j]) <= 1e-12 * (1.0 + fabs(expected.c[k][j]))))
                fail_msg("coefficient of t^%d e^%d: %.17g instead of %.17g", k, j, p.c[k][j], expected.c[k][j]);
}

static kd_jet random_jet(unsigned *seed)
{
    kd_jet  a;
    double *c[] = {&a.x, &a.x1, &a.x2, &a.d, &a.d1, &a.d2};
    for (int i = 0; i < 6; i++) *c[i] = random_between(seed, -2.0, 2.0);
    return a;
}

enum { ROUNDS = 100 };

// Sums, products and multiples are those of polynomials.
static void test_ring(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (int i = 0; i < ROUNDS; i++) {
        const kd_jet     a = random_jet(&seed), b = random_jet(&seed);
        const polynomial p = polynomial_of(a), q = polynomial_of(b);
        assert_same(kd_jet_add(a, b), add(p, q, 1.0));
        assert_same(kd_jet_sub(a, b), add(p, q, -1.0));
        assert_same(kd_jet_neg(a), add((polynomial){0}, p, -1.0));
        assert_same(kd_jet_scale(3.5, a), add((polynomial){0}, p, 3.5));
        assert_same(kd_jet_mul(a, b), multiply(p, q));
        assert_same(kd_jet_const(a.x), (polynomial){{{a.x}}});
    }
}

// A quotient times its denominator is the numerator.
static void test_quotient(void **state)
{
    (void)state;
    unsigned seed = 2;
    for (int i = 0; i < ROUNDS; i++) {
        const kd_jet a = random_jet(&seed);
        kd_jet       b = random_jet(&seed);
        b.x += b.x < 0.0 ? -1.0 : 1.0;
        assert_same(kd_jet_mul(kd_jet_div(a, b), b), polynomial_of(a));
    }
}

// Composition is the Taylor series with the jet inserted; sin, cos, sqrt are compositions.
static void test_composition(void **state)
{
    (void)state;
    unsigned seed = 3;
    for (int i = 0; i < ROUNDS; i++) {
        kd_jet           a = random_jet(&seed);
        const polynomial p = polynomial_of(a);
        const double     s = sin(a.x), c = cos(a.x), e = exp(a.x);
        assert_same(kd_jet_chain1(a, e, e, e, e), compose(p, (double[]){e, e, e, e}));
        assert_same(kd_jet_sin(a), compose(p, (double[]){s, c, -s, -c}));
        assert_same(kd_jet_cos(a), compose(p, (double[]){c, -s, -c, s}));
        assert_same(kd_jet_chain1(a, a.x * a.x * a.x, 3.0 * a.x * a.x, 6.0 * a.x, 6.0), multiply(p, multiply(p, p)));
        a.x = fabs(a.x) + 0.5;
        const kd_jet root = kd_jet_sqrt(a);
        assert_same(kd_jet_mul(root, root), polynomial_of(a));
    }
}

// The angle of a point: sin and cos of it times the distance are the point again, in all four quadrants.
static void test_angle(void **state)
{
    (void)state;
    unsigned seed = 4;
    int      quadrants = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const kd_jet x = random_jet(&seed), y = random_jet(&seed), w = kd_jet_atan2(y, x);
        if (hypot(x.x, y.x) < 0.3) continue;
        quadrants |= 1 << (2 * (x.x < 0.0) + (y.x < 0.0));
        const kd_jet r = kd_jet_sqrt(kd_jet_add(kd_jet_mul(x, x), kd_jet_mul(y, y)));
        assert_near(w.x, atan2(y.x, x.x), 0.0);
        const polynomial px = polynomial_of(kd_jet_mul(r, kd_jet_cos(w))), qx = polynomial_of(x);
        const polynomial py = polynomial_of(kd_jet_mul(r, kd_jet_sin(w))), qy = polynomial_of(y);
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 2; j++) { // near the origin the terms are larger than their sum
                assert_true(fabs(px.c[k][j] - qx.c[k][j]) < 1e-10);
                assert_true(fabs(py.c[k][j] - qy.c[k][j]) < 1e-10);
            }
    }
    assert_int_equal(quadrants, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_quotient),
        cmocka_unit_test(test_composition),
        cmocka_unit_test(test_angle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
