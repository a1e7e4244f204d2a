// Constraints whose lengths change with time: the winch and the telescopic boom of the gallery.
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(winch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
