// Constraints that change with time or motion: winches, the telescopic boom, a gear of variable ratio, friction of the force
// of a constraint; wings, one the image of the other.
#include "gallery_run.h"

static table result; // of the last run

// h (10 u^3 - 15 u^4 + 6 u^5), u = (t - t0)/(t1 - t0), with two derivatives
static void step5(double t, double t0, double t1, double h, double out[3])
{
    const double d = t1 - t0, u = fmin(fmax((t - t0) / d, 0.0), 1.0);
    out[0] = h * u * u * u * (10 + u * (6 * u - 15));
    out[1] = h * 30 * u * u * (1 - u) * (1 - u) / d;
    out[2] = h * 60 * u * (1 - u) * (1 - 2 * u) / d / d;
}

static void rope(double t, double l[3])
{
    step5(t, 1, 6, -5, l);
    l[0] += 8;
}

static void swing(double t, const double *y, void *context, double *dy)
{
    double l[3];
    (void)context;
    rope(t, l);
    dy[0] = y[1];
    dy[1] = -(2 * l[1] * y[1] + GRAVITY * sin(y[0])) / l[0];
}

// The load on its rope is a pendulum of varying length, its tension that of the rope; the stages of the boom share the reach.
static void winch(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("winch", NULL, BOTH[c], 8.0, 80, &result);
        double y[2] = {0.4, 0.0}, l[3], reach[3];
        for (int row = 1; row <= 80; row++) {
            runge_kutta(swing, NULL, 2, 0.1 * (row - 1), 0.1 * row, 200, y);
            rope(0.1 * row, l);
            step5(0.1 * row, 0.5, 4, 3, reach);
            assert_close(at(&result, row, "x"), l[0] * sin(y[0]), 2e-6);
            assert_close(at(&result, row, "z"), -l[0] * cos(y[0]), 2e-6);
            assert_close(at(&result, row, "tension"), 200 * (l[0] * y[1] * y[1] + GRAVITY * cos(y[0]) - l[2]), 2e-2);
            assert_close(at(&result, row, "stage"), 0.5 * reach[0], 1e-12);
            assert_close(at(&result, row, "speed"), 0.5 * reach[1], 1e-11);
        }
    }
}

// The load of the crane and its drum against Lagrange's equations of both, with the pivot where the stages have it: SciPy,
// DOP853 with rtol 1e-12.
static void telescopic_boom(void **state)
{
    static const struct {
        int    row;
        double drum, x, z, tension, extension;
    } known[] = {{2, 3.4865145904988735, 4.8598516585015386, 0.26080821760970263, 9489.479099069757, 0.15527343750},
                 {5, 10.157084584661012, 5.628900667873751, 5.415271535154384, 7437.738984611447, 1.5},
                 {8, 16.867892264578305, 5.104498554430791, 4.417455720794123, 8080.769206831954, 1.5}};
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("telescopic-boom", NULL, BOTH[c], 8.0, 8, &result);
        for (int k = 0; k < 3; k++) {
            const int row = known[k].row;
            assert_close(at(&result, row, "drum"), known[k].drum, 1e-7);
            assert_close(at(&result, row, "x"), known[k].x, 1e-6);
            assert_close(at(&result, row, "z"), known[k].z, 1e-6);
            assert_close(at(&result, row, "tension"), known[k].tension, 2e-3);
            assert_close(at(&result, row, "extension"), known[k].extension, 1e-9);
        }
    }
}

// The gear does no work: speeds from the energy. Its torque is what changes the momentum of the first flywheel.
static void variable_gear(void **state)
{
    const double J1 = 0.5, J2 = 3, twice = (J1 + J2 / (0.8 * 0.8)) * 900;
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("variable-gear", NULL, BOTH[c], 5.0, 50, &result);
        for (int row = 0; row <= 50; row++) {
            double n[3];
            step5(0.1 * row, 1, 4, 2, n);
            n[0] += 0.8;
            const double all = J1 * n[0] * n[0] + J2, slow = sqrt(twice / all);
            const double slowing = -slow * J1 * n[0] * n[1] / all; // d slow/dt
            assert_close(at(&result, row, "slow"), slow, 1e-5);
            assert_close(at(&result, row, "fast"), n[0] * slow, 3e-5);
            assert_close(at(&result, row, "torque"), -J1 * (n[0] * slowing + n[1] * slow), 2e-4);
        }
    }
}

// Friction of the force that holds the bead: v' = -mu v^2/R.
static void hoop(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("hoop", NULL, BOTH[c], 3.0, 30, &result);
        for (int row = 0; row <= 30; row++) {
            const double slower = 1 + 0.3 * 4 * 0.1 * row / 0.5, v = 4 / slower, angle = log(slower) / 0.3;
            assert_close(at(&result, row, "speed"), v, 2e-7);
            assert_close(at(&result, row, "x"), 0.5 * cos(angle), 2e-6);
            assert_close(at(&result, row, "y"), 0.5 * sin(angle), 2e-6);
            assert_close(at(&result, row, "press"), 0.1 * v * v / 0.5, 1e-6);
        }
    }
}

// The wings by symmetry: height z of the trunk, angle q of both wings; a blade's centre is s sin q above its root.
//     M z'' + 2 m (s cos q q'' - s sin q q'^2) = -M g + 50 (0.1 - z) - z'
//     m s cos q z'' + (m s^2 + J) q'' = -m g s cos q - k q - d q' + moment
static void flap(double t, const double *y, void *context, double *dy)
{
    const double m = 0.05, M = 0.5 + 2 * m, s = 0.15 / sqrt(1.01), J = (0.0004 + 0.01 * 0.0001) / 1.01;
    const double z = y[0], q = y[1], dz = y[2], dq = y[3], c = m * s * cos(q);
    (void)context;
    const double up = -M * GRAVITY + 50 * (0.1 - z) - dz + 2 * m * s * sin(q) * dq * dq;
    const double about = -c * GRAVITY - 1.5 * q - 0.02 * dq + 0.3 * sin(4 * PI * t);
    const double a = m * s * s + J, det = M * a - 2 * c * c;
    dy[0] = dz, dy[1] = dq;
    dy[2] = (a * up - 2 * c * about) / det;
    dy[3] = (M * about - c * up) / det;
}

// Both wings have the same coordinates, and move as the equations of one of them with the trunk say.
static void wings(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        run_model("wings", NULL, BOTH[k], 2.0, 40, &result);
        double y[4] = {0};
        for (int row = 1; row <= 40; row++) {
            runge_kutta(flap, NULL, 4, 0.05 * (row - 1), 0.05 * row, 100, y);
            assert_close(at(&result, row, "left"), y[1], 2e-6);
            assert_close(at(&result, row, "right"), at(&result, row, "left"), 1e-11);
            assert_close(at(&result, row, "height"), 1 + y[0], 2e-6);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(winch), cmocka_unit_test(telescopic_boom),
                                       cmocka_unit_test(variable_gear), cmocka_unit_test(hoop),
                                       cmocka_unit_test(wings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
