// tests/element/test_creep.c: creep and flange forces of a wheel on a rail.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "element/wheel.h"

enum { N = KD_CREEP_VARIABLES, NIN = KD_WHEEL_INPUTS };

#define SPEED 20.0
#define LOAD 54546.0

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.15g instead of %.15g, difference %.3g", a, b, a - b);
}

static kd_wheel make(kd_wheel_rail *d, kd_creep_law law, double conicity)
{
    kd_wheel w = {0};
    *d = kd_constraint_def_default(KD_WHEEL_RAIL).rail;
    d->radius = 0.46, d->spacing = 0.75, d->conicity = conicity, d->load = LOAD, d->creep = law;
    kd_wheel_create(&w, d, NULL, NULL);
    return w;
}

// A wheel in the middle that rolls forwards, with small differences of its velocities: longitudinal, lateral, yaw rate.
static void rolling(const kd_wheel *w, double vx, double vy, double wz, double *x)
{
    const double in[NIN] = {0, 0.46, 0, 1, 0};
    memset(x, 0, N * sizeof *x);
    x[2] = 0.46, x[4] = 1;
    x[6] = SPEED + vx, x[7] = vy;
    x[10] = SPEED / 0.46, x[11] = wz;
    x[N - 2] = kd_wheel_solve(w, in);
    x[N - 1] = LOAD;
}

// Small creepages: -f11 xi_x, -f22 xi_y - f23 spin, f23 xi_y - f33 spin with f = G a b C, for all laws; a flat tread
// has no spin from its angle.
static void test_small_creepages(void **state)
{
    (void)state;
    for (kd_creep_law law = KD_CREEP_LINEAR; law <= KD_CREEP_FASTSIM; law++) {
        kd_wheel_rail d;
        kd_wheel      w = make(&d, law, 0);
        double        x[N], F[6], ab = w.a * w.b, e = 1e-7;
        double        f11 = d.shear * ab * w.kalker[0], f22 = d.shear * ab * w.kalker[1];
        double        f23 = d.shear * pow(ab, 1.5) * w.kalker[2], f33 = d.shear * ab * ab * w.kalker[3];
        rolling(&w, e * SPEED, 0, 0, x);
        kd_wheel_creep(&w, x, NULL, F, NULL);
        assert_near(F[0], -f11 * e, 1e-4 * f11 * e);
        assert_near(F[4], -0.46 * F[0], 1e-3 * fabs(F[0])); // moment about the axle: brakes
        rolling(&w, 0, e * SPEED, 0, x);
        kd_wheel_creep(&w, x, NULL, F, NULL);
        assert_near(F[1], -f22 * e, 1e-4 * f22 * e);
        rolling(&w, 0, 0, 1e-3 * SPEED, x);
        x[6] += 0.75 * x[11]; // no creep along the rail
        kd_wheel_creep(&w, x, NULL, F, NULL);
        assert_near(F[1], -f23 * 1e-3, 2e-3 * f23 * 1e-3);
        // the simplified theory has a moment of its own
        if (law != KD_CREEP_FASTSIM) assert_near(F[5] + 0.75 * F[0], -f33 * 1e-3, 1e-3 * f33 * 1e-3);
        if (law == KD_CREEP_LINEAR) {
            assert_near(f11, 9.70e6, 5e4);
            assert_near(f22, 8.83e6, 5e4);
        }
    }
}

// Large creepages: friction limits the force, and the power that is lost is positive.
static void test_saturation(void **state)
{
    (void)state;
    for (kd_creep_law law = KD_CREEP_TANH; law <= KD_CREEP_FASTSIM; law++) {
        kd_wheel_rail d;
        kd_wheel      w = make(&d, law, 1.0 / 40);
        double        x[N], F[6], energy[3];
        rolling(&w, 0.8, -1.1, 0, x);
        kd_wheel_creep(&w, x, NULL, F, energy);
        double size = sqrt(F[0] * F[0] + F[1] * F[1] + F[2] * F[2]), most = d.friction * LOAD * sqrt(1 + 1.0 / 1600);
        assert_true(size < 1.0001 * most && size > 0.95 * most);
        assert_true(F[0] < 0 && F[1] > 0 && energy[0] > 0);
        x[N - 1] = -1; // lifted off
        kd_wheel_creep(&w, x, NULL, F, energy);
        assert_near(size * 0, fabs(F[0]) + fabs(F[1]), 0);
    }
}

// Derivatives by all variables agree with differences, for all laws, with the flange and with a moving frame.
static void test_derivatives(void **state)
{
    (void)state;
    for (int k = 0; k < 32; k++) {
        kd_wheel_rail d;
        kd_wheel      w = make(&d, k < 24 ? (kd_creep_law)(k % 4) : KD_CREEP_FASTSIM, 1.0 / 20);
        double        x[N], F[6], J[6 * N], in[NIN];
        w.unknown = k / 4 % 2;
        d.clearance = k / 8 == 0 ? INFINITY : k / 8 == 1 ? 0.0038 : 0.001;
        rolling(&w, 0.02, -0.03, 0.05, x);
        for (int i = 0; i < 21; i++) x[i] += 0.003 * sin(1 + i);
        x[1] = 0.004;
        for (int i = 12; i < 21; i++)
            x[i] += i < 15 ? -3.0 + i / 7.0 : 0.02 * i; // the ground, seen from a moving frame
        double n = sqrt(x[3] * x[3] + x[4] * x[4] + x[5] * x[5]);
        for (int i = 3; i < 6; i++) x[i] /= n;
        for (int i = 0; i < NIN; i++) in[i] = x[1 + i];
        x[N - 2] = kd_wheel_solve(&w, in);
        kd_wheel_creep_jacobian(&w, x, NULL, F, J);
        for (int j = 0; j < N; j++) {
            double kept = x[j], h = 1e-6 * fmax(1, fabs(kept)), f[2][6];
            if (j == N - 2 && !w.unknown) continue;
            for (int s = 0; s < 2; s++) {
                x[j] = kept + (s ? h : -h);
                for (int i = 0; i < NIN; i++) in[i] = x[1 + i];
                double xi = x[N - 2];
                if (!w.unknown) x[N - 2] = kd_wheel_solve(&w, in);
                kd_wheel_creep(&w, x, NULL, f[s], NULL);
                x[N - 2] = j == N - 2 ? x[j] : xi;
            }
            x[j] = kept;
            for (int i = 0; i < 6; i++) {
                double difference = (f[1][i] - f[0][i]) / (2 * h);
                assert_near(J[i + 6 * j], difference, 1e-3 + 2e-6 * fabs(difference) + 1e-9 * 1e7);
            }
        }
        double same[6];
        kd_wheel_creep(&w, x, NULL, same, NULL);
        assert_memory_equal(same, F, sizeof F);
    }
}

// Kalker's simplified theory, pure creepage along or across: on a strip of half length l the traction A (l - X) reaches
// the bound l^2 - X^2 at X = A - l; sums over all strips.
static double simplified(double A)
{
    enum { STRIPS = 20000 };
    double sum = 0;
    for (int k = 0; k < STRIPS; k++) {
        const double Y = -1 + (k + 0.5) * 2 / STRIPS, l = sqrt(1 - Y * Y), X = A - l;
        const double sticks = X < l ? 0.5 * A * (l - X) * (l - X) : 0, end = X < l ? X : l;
        sum += (sticks + l * l * (end + l) - (end * end * end + l * l * l) / 3) * 2 / STRIPS;
    }
    return 2 / 3.14159265358979323846 * sum;
}

static void test_fastsim(void **state)
{
    kd_wheel_rail d;
    kd_wheel      w = make(&d, KD_CREEP_FASTSIM, 0);
    double        x[N], F[6], most = d.friction * LOAD;
    (void)state;
    for (int k = 1; k < 40; k++) {
        const double e = 2e-4 * k, f[2] = {d.shear * w.a * w.b * w.kalker[0], d.shear * w.a * w.b * w.kalker[1]};
        const double A[2] = {3 * 3.14159265358979323846 / 16 * f[0] * e / most,
                             3 * 3.14159265358979323846 / 16 * f[1] * e / most};
        // creepage e of the mean speed
        rolling(&w, e * SPEED / (1 - 0.5 * e), 0, 0, x);
        kd_wheel_creep(&w, x, NULL, F, NULL);
        assert_near(F[0] / most, -simplified(A[0]), 1e-3);
        rolling(&w, 0, e * SPEED, 0, x);
        kd_wheel_creep(&w, x, NULL, F, NULL);
        assert_near(F[1] / most, -simplified(A[1]), 1e-3);
    }
    // small creepages, of the force itself: slip begins within the last element
    for (double e = 1e-7; e < 1e-2; e *= 1.7) {
        const double f = d.shear * w.a * w.b * w.kalker[1], A = 3 * 3.14159265358979323846 / 16 * f * e / most;
        rolling(&w, 0, e * SPEED, 0, x);
        kd_wheel_creep(&w, x, NULL, F, NULL);
        assert_near(F[1] / most / simplified(A), -1, 2e-3);
    }
    rolling(&w, 5, 0, 0, x);
    kd_wheel_creep(&w, x, NULL, F, NULL);
    assert_near(F[0] / most, -1, 1e-3);
}

// Quasi-elastic contact: derivatives by all variables agree with differences; forces are those of the rigid contact
// where one place carries
static void test_elastic(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        kd_wheel_rail   d;
        kd_wheel        w = make(&d, k % 2 ? KD_CREEP_POLACH : KD_CREEP_TANH, 1.0 / 20), rigid;
        kd_wheel_spread spread;
        double          x[N], F[6], G[6], J[6 * N], in[NIN];
        rigid = w;
        d.elastic = k < 2 ? 1e-7 : 1e-5;
        kd_wheel_create(&w, &d, NULL, NULL);
        rolling(&w, 0.02, -0.03, 0.05, x);
        x[1] = 0.001 * k, x[3] = 0.001, x[4] = sqrt(1 - 1e-6);
        for (int i = 0; i < NIN; i++) in[i] = x[1 + i];
        x[N - 2] = kd_wheel_solve(&rigid, in);
        kd_wheel_spread_at(&w, in, &spread);
        kd_wheel_creep_jacobian(&w, x, &spread, F, J);
        kd_wheel_creep(&rigid, x, NULL, G, NULL);
        for (int i = 0; i < 6; i++) assert_near(F[i], G[i], 2e-3 * LOAD * 0.3);
        for (int j = 0; j < N; j++) {
            double kept = x[j], h = 1e-7 * fmax(1, fabs(kept)), f[2][6];
            if (j == N - 2) continue;
            for (int s = 0; s < 2; s++) {
                x[j] = kept + (s ? h : -h);
                for (int i = 0; i < NIN; i++) in[i] = x[1 + i];
                kd_wheel_spread_at(&w, in, &spread);
                kd_wheel_creep(&w, x, &spread, f[s], NULL);
            }
            x[j] = kept;
            for (int i = 0; i < 6; i++) {
                double difference = (f[1][i] - f[0][i]) / (2 * h);
                assert_near(J[i + 6 * j], difference, 1 + 1e-4 * fabs(difference));
            }
        }
    }
}

// The flange pushes to the middle from its clearance on; force and slope are continuous, the energy is the work.
static void test_flange(void **state)
{
    kd_wheel_rail d;
    kd_wheel      w = make(&d, KD_CREEP_NONE, 0);
    double        x[N], F[6], energy[3], work = 0;
    (void)state;
    d.clearance = 0.008;
    rolling(&w, 0, 0, 0, x);
    for (int k = 0; k <= 2000; k++) {
        x[1] = 0.007 + 1e-6 * k;
        kd_wheel_creep(&w, x, NULL, F, energy);
        if (x[1] <= 0.008) assert_near(F[1], 0, 0);
        if (x[1] > 0.0086) assert_near(F[1], -d.flange * (x[1] - 0.008 - 0.5 * d.onset), 1e-6 * d.flange * 1e-3);
        work -= (k == 0 || k == 2000 ? 0.5 : 1) * F[1] * 1e-6;
        if (k == 2000) assert_near(energy[1], work, 1e-5 * work);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_creepages), cmocka_unit_test(test_saturation), cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_fastsim),         cmocka_unit_test(test_elastic),    cmocka_unit_test(test_flange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
