// Cams that rest on a road: shapes, closed forms of a round cam over a half-round, an edge and a slope, roads at random.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

#include "element/envelope.h"

typedef struct place {
    double x; // of the middle of the cam
    int    n; // of a road at random
} place;

#define R 0.3
#define BUMP 0.1
#define EDGE 0.05

static double half_round(double s, void *context)
{
    const double x = ((place *)context)->x + s;
    return fabs(x) < BUMP ? sqrt(BUMP * BUMP - x * x) : 0.0;
}

static double edge(double s, void *context)
{
    return ((place *)context)->x + s > 0.0 ? EDGE : 0.0;
}

static double slope(double s, void *context)
{
    return 0.3 * (((place *)context)->x + s);
}

static double waves(double s, void *context)
{
    const place *p = context;
    const double x = p->x + s;
    double       z = 0.0;
    for (int k = 1; k < 6; k++) z += 0.02 / k * sin(2.0 * k * x + 1.7 * k * p->n);
    return z;
}

// The middle of a round cam keeps its distance R + r from the middle of a half-round, and R from an edge.
static void round_cam(void **state)
{
    const kd_cam cam = {R, R, 2.0};
    (void)state;
    for (double x = -0.5; x <= 0.5; x += 0.0137) {
        place             p = {x, 0};
        const double      far = sqrt((R + BUMP) * (R + BUMP) - x * x);
        const kd_cam_rest a = kd_cam_on_road(&cam, half_round, &p), b = kd_cam_on_road(&cam, edge, &p);
        const double      over = fabs(x) < R + BUMP ? fmax(far - R, 0.0) : 0.0;
        if (fabs(x) < 0.9 * R) assert_true(fabs(a.W - over) < 1e-12);
        if (fabs(x) < 0.9 * R && over > 0.0) assert_true(fabs(kd_cam_slope(&cam, a.s) + x / far) < 1e-6);
        const double up = x > 0.0 ? EDGE : fmax(EDGE - R + sqrt(fmax(R * R - x * x, 0.0)), 0.0);
        if (fabs(x) < 0.9 * R && !(fabs(b.W - up) < 1e-8)) fail_msg("at %g: %.12g instead of %.12g", x, b.W, up);
    }
}

// On a plane the cam stands higher by its support function.
static void on_a_slope(void **state)
{
    static const kd_cam cams[] = {{0.31, 0.28, 1.8}, {0.3, 0.3, 2.0}, {0.4, 0.25, 2.6}};
    (void)state;
    for (int i = 0; i < 3; i++) {
        place             p = {0.7, 0};
        double            by, up, down;
        const kd_cam_rest r = kd_cam_on_road(&cams[i], slope, &p);
        assert_true(fabs(r.W - 0.21 - kd_cam_lift(&cams[i], 0.3, &by)) < 1e-13 && fabs(by - r.s) < 1e-6 && r.inside);
        const double difference = kd_cam_lift(&cams[i], 0.3 + 1e-6, &up) - kd_cam_lift(&cams[i], 0.3 - 1e-6, &down);
        assert_true(fabs(difference / 2e-6 - by) < 1e-8);
        assert_true(fabs(kd_cam_lift(&cams[i], -0.3, &up) - kd_cam_lift(&cams[i], 0.3, &by)) < 1e-16 && up == -by);
        assert_true(kd_cam_lift(&cams[i], 0.0, &by) == 0.0 && by == 0.0);
    }
}

// No point of the road is above the cam, one touches it; W changes by the slope of the bottom there.
static void any_road(void **state)
{
    const kd_cam cam = {0.31, 0.28, 1.8};
    (void)state;
    for (int n = 0; n < 200; n++) {
        place             p = {0.37 * n, n};
        const kd_cam_rest r = kd_cam_on_road(&cam, waves, &p);
        for (double s = -0.3; s < 0.3; s += 0.0007) assert_true(waves(s, &p) - kd_cam_bottom(&cam, s) < r.W + 1e-12);
        assert_true(fabs(waves(r.s, &p) - kd_cam_bottom(&cam, r.s) - r.W) < 1e-15 && r.inside);
        place        next = {p.x + 1e-5, n}, last = {p.x - 1e-5, n};
        const double up = kd_cam_on_road(&cam, waves, &next).W, down = kd_cam_on_road(&cam, waves, &last).W;
        assert_true(fabs((up - down) / 2e-5 - kd_cam_slope(&cam, r.s)) < 1e-5 || fabs(up - 2 * r.W + down) > 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_cam), cmocka_unit_test(on_a_slope),
                                       cmocka_unit_test(any_road)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
