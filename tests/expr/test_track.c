// tests/expr/test_track.c: lines by their curvature against closed forms and differences.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/failing_allocator.h"
#include "expr/curve.h"
#include "expr/track.h"

#define PI 3.14159265358979323846

typedef struct change { // of line: kappa0 (sin u - share sin 2u), u = 2 pi s/L
    double kappa0, L, share;
} change;

static double curvature(double s, void *context)
{
    const change *c = context;
    double        u = 2 * PI * s / c->L;
    return c->kappa0 * (sin(u) - c->share * sin(2 * u));
}

static double constant(double s, void *context)
{
    (void)s;
    return *(double *)context;
}

static kd_track *create(double start, double end, int pieces, double (*law)(double, void *), void *context)
{
    kd_track *t = NULL;
    assert_int_equal(kd_track_create(start, end, pieces, law, context, &t), KD_OK);
    return t;
}

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.16g instead of %.16g", a, b);
}

// Changes of line end where quadrature of high order says (12 digits), straight, with the heading of closed form.
static void test_changes_of_line(void **state)
{
    static const struct {
        change c;
        double x, y;
    } cases[] = {{{7.068583470577e-4, 200, 0}, 199.924071843352, 4.499050856932},
                 {{9.424777960769e-4, 200, 0.5}, 199.901583707018, 4.498376009585},
                 {{1.745329251994e-3, 120, 0}, 119.900027002872, 3.998148472193},
                 {{2.327105669326e-3, 120, 0.5}, 119.870431656847, 3.996832253333}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        change    c = cases[i].c;
        kd_track *t = create(0, c.L, (int)c.L, curvature, &c);
        double    x[4], y[4], h[4];
        for (int k = 0; k <= 10; k++) {
            double s = c.L * k / 10, u = 2 * PI * s / c.L;
            kd_track_eval(t, KD_TRACK_HEADING, s, h);
            assert_near(h[0], c.kappa0 * c.L / (2 * PI) * (1 - cos(u) - c.share / 2 * (1 - cos(2 * u))), 1e-15);
        }
        kd_track_eval(t, KD_TRACK_X, c.L, x);
        kd_track_eval(t, KD_TRACK_Y, c.L, y);
        assert_near(x[0], cases[i].x, 2e-11);
        assert_near(y[0], cases[i].y, 2e-11);
        kd_track_eval(t, KD_TRACK_Y, c.L + 30, y); // straight on
        assert_near(y[0], cases[i].y, 2e-11);
        kd_track_eval(t, KD_TRACK_X, -7, x);
        assert_near(x[0], -7, 0);
        kd_track_destroy(t);
    }
}

// A circle: position on the circle, one turn closes.
static void test_circle(void **state)
{
    double    kappa = 0.01, out[4];
    kd_track *t = create(-5, 400 * PI / 2 - 5, 200, constant, &kappa);
    (void)state;
    for (int k = 0; k <= 20; k++) {
        double s = k * 10 * PI, x, y;
        kd_track_eval(t, KD_TRACK_X, s - 5, out);
        x = out[0];
        kd_track_eval(t, KD_TRACK_Y, s - 5, out);
        y = out[0];
        assert_near(x, sin(kappa * s) / kappa, 1e-11);
        assert_near(y, (1 - cos(kappa * s)) / kappa, 1e-11);
    }
    kd_track_destroy(t);
}

// All derivatives agree with differences of those below; a curve of a track is its function.
static void test_derivatives(void **state)
{
    change    c = {2e-2, 120, 0.5};
    kd_track *t = create(0, 120, 60, curvature, &c);
    (void)state;
    for (int part = 0; part < KD_TRACK_PARTS; part++) {
        kd_curve *curve = kd_curve_of_track(t, (kd_track_part)part);
        assert_non_null(curve);
        for (int k = 0; k < 17; k++) {
            const double s = 3.1 + 7.1 * k, h = 1e-3;
            double       at[4], before[4], behind[4], value[4];
            kd_track_eval(t, (kd_track_part)part, s, at);
            kd_track_eval(t, (kd_track_part)part, s - h, before);
            kd_track_eval(t, (kd_track_part)part, s + h, behind);
            for (int i = 0; i < (part == KD_TRACK_CURVATURE ? 2 : 3); i++)
                assert_near(at[i + 1], (behind[i] - before[i]) / (2 * h), 1e-8);
            kd_curve_eval(curve, s, value);
            assert_memory_equal(value, at, sizeof at);
            assert_near(kd_curve_value(curve, s), at[0], 0);
        }
        kd_curve_destroy(curve);
    }
    kd_track_destroy(t);
}

// What cannot be is refused, and nothing is left behind.
static void test_refused(void **state)
{
    double    nothing = NAN;
    kd_track *t = NULL;
    (void)state;
    assert_int_equal(kd_track_create(0, 1, 1, constant, &nothing, &t), KD_ERR_MODEL);
    assert_null(t);
    assert_int_equal(kd_track_create(1, 1, 1, constant, &nothing, &t), KD_ERR_ARGUMENT);
    kd_track_destroy(NULL);
}

// Memory that runs out at any allocation is said, and nothing is lost.
static void test_out_of_memory(void **state)
{
    double kappa = 0.01;
    (void)state;
    for (long fail_at = 1;; fail_at++) {
        failing_allocator f = {.fail_at = fail_at};
        kd_track         *t = NULL;
        failing_allocator_use(&f);
        kd_status status = kd_track_create(0, 10, 10, constant, &kappa, &t);
        kd_curve *curve = status == KD_OK ? kd_curve_of_track(t, KD_TRACK_X) : NULL;
        kd_curve_destroy(curve);
        kd_track_destroy(t);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        if (status == KD_OK && curve) break;
        if (status != KD_OK) assert_int_equal(status, KD_ERR_MEMORY);
        assert_true(fail_at < 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_of_line), cmocka_unit_test(test_circle),
        cmocka_unit_test(test_derivatives),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
