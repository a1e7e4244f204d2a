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
    for (kd_creep_law law = KD_CREEP_LINEAR; law <= KD_CREEP_POLACH; law++) {
        kd_wheel_rail d;
        kd_wheel      w = make(&d, law, 0);
        double        x[N], F[6], ab = w.a * w.b, e = 1e-7;
        double        f11 = d.shear * ab * w.kalker[0], f22 = d.shear * ab * w.kalker[1];
        double        f23 = d.shear * pow(ab, 1.5) * w.kalker[2], f33 = d.shear * ab * ab * w.kalker[3];
        rolling(&w, e * SPEED, 0, 0, x);
        kd_wheel_creep(&w, x, F, NULL);
        assert_near(F[0], -f11 * e, 1e-4 * f11 * e);
        assert_near(F[4], -0.46 * F[0], 1e-3 * fabs(F[0])); // moment about the axle: brakes
        rolling(&w, 0, e * SPEED, 0, x);
        kd_wheel_creep(&w, x, F, NULL);
        assert_near(F[1], -f22 * e, 1e-4 * f22 * e);
        rolling(&w, 0, 0, 1e-3 * SPEED, x);
        x[6] += 0.75 * x[11]; // no creep along the rail
        kd_wheel_creep(&w, x, F, NULL);
        assert_near(F[1], -f23 * 1e-3, 2e-3 * f23 * 1e-3);
        assert_near(F[5] + 0.75 * F[0], -f33 * 1e-3, 1e-3 * f33 * 1e-3);
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
    for (kd_creep_law law = KD_CREEP_TANH; law <= KD_CREEP_POLACH; law++) {
        kd_wheel_rail d;
        kd_wheel      w = make(&d, law, 1.0 / 40);
        double        x[N], F[6], energy[3];
        rolling(&w, 0.8, -1.1, 0, x);
        kd_wheel_creep(&w, x, F, energy);
        double size = sqrt(F[0] * F[0] + F[1] * F[1] + F[2] * F[2]), most = d.friction * LOAD * sqrt(1 + 1.0 / 1600);
        assert_true(size < 1.0001 * most && size > 0.95 * most);
        assert_true(F[0] < 0 && F[1] > 0 && energy[0] > 0);
        x[N - 1] = -1; // lifted off
        kd_wheel_creep(&w, x, F, energy);
        assert_near(size * 0, fabs(F[0]) + fabs(F[1]), 0);
    }
}

// Derivatives by all variables agree with differences, for all laws, with the flange and with a moving frame.
static void test_derivatives(void **state)
{
    (void)state;
    for (int k = 0; k < 24; k++) {
        kd_wheel_rail d;
        kd_wheel      w = make(&d, (kd_creep_law)(k % 4), 1.0 / 20);
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
        kd_wheel_creep_jacobian(&w, x, F, J);
        for (int j = 0; j < N; j++) {
            double kept = x[j], h = 1e-6 * fmax(1, fabs(kept)), f[2][6];
            if (j == N - 2 && !w.unknown) continue;
            for (int s = 0; s < 2; s++) {
                x[j] = kept + (s ? h : -h);
                for (int i = 0; i < NIN; i++) in[i] = x[1 + i];
                double xi = x[N - 2];
                if (!w.unknown) x[N - 2] = kd_wheel_solve(&w, in);
                kd_wheel_creep(&w, x, f[s], NULL);
                x[N - 2] = j == N - 2 ? x[j] : xi;
            }
            x[j] = kept;
            for (int i = 0; i < 6; i++) {
                double difference = (f[1][i] - f[0][i]) / (2 * h);
                assert_near(J[i + 6 * j], difference, 1e-3 + 2e-6 * fabs(difference) + 1e-9 * 1e7);
            }
        }
        double same[6];
        kd_wheel_creep(&w, x, same, NULL);
        assert_memory_equal(same, F, sizeof F);
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
        kd_wheel_creep(&w, x, F, energy);
        if (x[1] <= 0.008) assert_near(F[1], 0, 0);
        if (x[1] > 0.0086) assert_near(F[1], -d.flange * (x[1] - 0.008 - 0.5 * d.onset), 1e-6 * d.flange * 1e-3);
        work -= (k == 0 || k == 2000 ? 0.5 : 1) * F[1] * 1e-6;
        if (k == 2000) assert_near(energy[1], work, 1e-5 * work);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_creepages),
        cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_flange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
