// tests/element/test_wheel.c: where a wheel touches its rail, and how far they are apart.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "element/wheel.h"

enum { NIN = KD_WHEEL_INPUTS };

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.15g instead of %.15g, difference %.3g", a, b, a - b);
}

static kd_wheel_rail definition(kd_rail_side side, double tread)
{
    kd_wheel_rail d = kd_constraint_def_default(KD_WHEEL_RAIL).rail;
    d.side = side, d.radius = 0.46, d.spacing = 0.75, d.conicity = 1.0 / 40, d.tread_radius = tread, d.load = 54546;
    return d;
}

// Inputs of a pose: lateral and vertical place, yaw and roll.
static void pose(double y, double z, double yaw, double roll, double *in)
{
    in[0] = y, in[1] = z;
    in[2] = -sin(yaw) * cos(roll), in[3] = cos(yaw) * cos(roll), in[4] = sin(roll);
}

// The greatest overlap of all points of the tread, by search over xi and the angle about the axle.
static double greatest_overlap(const kd_wheel *w, const double *in)
{
    // axle n, directions e, f across it
    double n[3] = {in[2], in[3], in[4]}, q = hypot(n[0], n[1]), e[3] = {n[1] / q, -n[0] / q, 0};
    double f[3] = {n[1] * e[2] - n[2] * e[1], n[2] * e[0] - n[0] * e[2], n[0] * e[1] - n[1] * e[0]};
    double xi = kd_wheel_nominal(w), turn = 0, best = -1, step[2] = {0.02, 0.3};
    double down = f[2] < 0 ? 1 : -1;
    for (int round = 0; round < 60; round++, step[0] *= 0.6, step[1] *= 0.6) {
        double at[2] = {xi, turn};
        for (int i = -6; i <= 6; i++)
            for (int k = -6; k <= 6; k++) {
                double R[5], S[5], x = at[0] + i * step[0] / 4, a = at[1] + k * step[1] / 4;
                kd_wheel_tread(w, x, R);
                double u[3];
                for (int c = 0; c < 3; c++) u[c] = down * cos(a) * f[c] + sin(a) * e[c];
                kd_wheel_head(w, in[0] + x * n[1] + R[0] * u[1], S);
                double g = S[0] - (in[1] + x * n[2] + R[0] * u[2]);
                if (g > best) best = g, xi = x, turn = a;
            }
    }
    return best;
}

// The gap at the point of contact is the greatest overlap of the two bodies.
static void test_gap_is_the_greatest_overlap(void **state)
{
    static const double poses[][4] = {{0, 0.46, 0, 0}, {0.004, 0.4605, 0.01, 0.002}, {-0.006, 0.459, -0.03, -0.004}};
    (void)state;
    for (int k = 0; k < 12; k++) {
        kd_wheel_rail  d = definition(k % 2 ? KD_RAIL_RIGHT : KD_RAIL_LEFT, k / 2 % 2 ? 0.5 : INFINITY);
        kd_wheel       w = {0};
        kd_wheel_point at;
        double         in[NIN];
        const double  *p = poses[k / 4];
        kd_wheel_create(&w, &d, NULL, NULL);
        pose(p[0], p[1], p[2], p[3], in);
        double xi = kd_wheel_solve(&w, in);
        kd_wheel_at(&w, in, xi, &at);
        assert_near(at.c, 0, 1e-14);
        assert_near(at.g_x[NIN], 0, 1e-13); // tangency: the gap is greatest
        assert_near(at.g, greatest_overlap(&w, in), 1e-12);
    }
}

// In the middle the wheels touch at the rolling circles, at the angle of the tread.
static void test_middle(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        kd_wheel_rail d = definition(k % 2 ? KD_RAIL_RIGHT : KD_RAIL_LEFT, k / 2 ? 0.5 : INFINITY);
        kd_wheel      w = {0};
        double        in[NIN], S[5];
        kd_wheel_create(&w, &d, NULL, NULL);
        pose(0, 0.46, 0, 0, in);
        assert_near(kd_wheel_solve(&w, in), kd_wheel_nominal(&w), 1e-15);
        kd_wheel_head(&w, kd_wheel_nominal(&w), S);
        assert_near(S[0], 0, 1e-15);
        assert_near(S[1], (k % 2 ? -1 : 1) / 40.0, 1e-15);
        if (k == 0) assert_near(1e3 * w.a, 5.876, 2e-3);
        if (k == 2) assert_near(1e3 * w.b, 6.98, 2e-2);
    }
}

// A hollow tread: half the difference of the rolling radii over the shift is slope * Rw/(Rw - Rr).
static void test_equivalent_conicity(void **state)
{
    kd_wheel wheel[2] = {{0}, {0}};
    double   R[2][5], in[NIN];
    (void)state;
    pose(1e-4, 0.46, 0, 0, in);
    for (int k = 0; k < 2; k++) {
        kd_wheel_rail d = definition(k ? KD_RAIL_RIGHT : KD_RAIL_LEFT, 0.5);
        kd_wheel_create(&wheel[k], &d, NULL, NULL);
        kd_wheel_tread(&wheel[k], kd_wheel_solve(&wheel[k], in), R[k]);
    }
    assert_near((R[0][0] - R[1][0]) / 2e-4, 0.0625, 2e-4);
}

// The pose (0.003, 0.461, 0.02, 0.01), moving in time, changed by e along a tangent.
static void moving_pose(double e, kd_jet *in)
{
    kd_jet yaw = {0.02 + 0.5 * e, 0.3 - 0.2 * e, 0.1 + 0.4 * e, 0.5, -0.2, 0.4};
    kd_jet roll = {0.01 - 0.3 * e, 0.2 + 0.1 * e, -0.2 + 0.3 * e, -0.3, 0.1, 0.3};
    kd_jet c = kd_jet_cos(roll);
    in[0] = (kd_jet){0.003 + 0.7 * e, 0.4 + 0.2 * e, 0.6 - 0.1 * e, 0.7, 0.2, -0.1};
    in[1] = (kd_jet){0.461 - 0.1 * e, 0.1 + 0.3 * e, 0.2 + 0.5 * e, -0.1, 0.3, 0.5};
    in[2] = kd_jet_neg(kd_jet_mul(kd_jet_sin(yaw), c));
    in[3] = kd_jet_mul(kd_jet_cos(yaw), c);
    in[4] = kd_jet_sin(roll);
}

// First derivatives of g and c, and the jets of the gap, agree with differences.
static void test_derivatives(void **state)
{
    const double h = 1e-6;
    (void)state;
    for (int k = 0; k < 8; k++) {
        kd_wheel_rail  d = definition(k % 2 ? KD_RAIL_RIGHT : KD_RAIL_LEFT, k / 2 % 2 ? 0.5 : INFINITY);
        kd_wheel       w = {0};
        kd_wheel_point at, before, behind;
        double         in[NIN], x[NIN + 1];
        d.contact = k / 4 ? KD_CONTACT_UNKNOWNS : KD_CONTACT_INSIDE;
        kd_wheel_create(&w, &d, NULL, NULL);
        pose(0.003, 0.461, 0.02, 0.01, in);
        double xi = kd_wheel_solve(&w, in) + (w.unknown ? 1e-3 : 0); // unknown: anywhere
        kd_wheel_at(&w, in, xi, &at);
        for (int i = 0; i <= NIN; i++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                for (int j = 0; j <= NIN; j++) x[j] = (j < NIN ? in[j] : xi) + (j == i ? sign * h : 0);
                kd_wheel_at(&w, x, x[NIN], sign < 0 ? &before : &behind);
            }
            assert_near(at.g_x[i], (behind.g - before.g) / (2 * h), 1e-8);
            assert_near(at.c_x[i], (behind.c - before.c) / (2 * h), 1e-8);
        }
        // along a motion of the pose in time and a change of it: first derivatives by hand, the others by differences
        kd_jet jet[NIN], side[2];
        double along = 0, share = at.g_x[NIN] / at.c_x[NIN];
        moving_pose(0, jet);
        for (int i = 0; i < NIN; i++) along += (at.g_x[i] - share * at.c_x[i]) * jet[i].x1;
        kd_jet g = kd_wheel_gap(&w, jet, xi, 0);
        for (int s = 0; s < 2; s++) {
            moving_pose(s ? h : -h, jet);
            for (int i = 0; i < NIN; i++) x[i] = jet[i].x;
            side[s] = kd_wheel_gap(&w, jet, w.unknown ? xi : kd_wheel_solve(&w, x), 0);
        }
        assert_near(g.x, at.g, 1e-15);
        assert_near(g.x1, along, 1e-13);
        assert_near(g.d, (side[1].x - side[0].x) / (2 * h), 1e-8);
        assert_near(g.d1, (side[1].x1 - side[0].x1) / (2 * h), 1e-8);
        assert_near(g.d2, (side[1].x2 - side[0].x2) / (2 * h), 1e-7);
    }
}

// ---- tabulated profiles ---------------------------------------------------------------------------------------------

// Tread S1002 over the distance s outwards from the rolling circle, both in mm: what the radius exceeds its nominal by.
static double s1002(double s)
{
    if (s > 32.15796) return 1.364323640 - 0.066666667 * s;
    if (s > -26) {
        static const double c[] = {0,
                                   -3.358537058e-2,
                                   1.565681624e-3,
                                   -2.810427944e-5,
                                   5.844240864e-8,
                                   -1.562379023e-8,
                                   5.309217349e-15,
                                   -5.957839843e-12,
                                   2.646656573e-13};
        double              f = 0;
        for (int k = 8; k >= 0; k--) f = f * s + c[k];
        return f;
    }
    static const double c[] = {-4.320221063e3,  -1.038384026e3,  -1.065501873e2,  -6.051367875,
                               -2.054332446e-1, -4.169739389e-3, -4.687195829e-5, -2.252755540e-7};
    double              f = 0;
    for (int k = 7; k >= 0; k--) f = f * s + c[k];
    return f;
}

// Table of a profile from -30 to 30 mm, in metres.
static kd_curve *table(double (*f)(double), int n)
{
    double    x[400], y[400];
    kd_curve *curve = NULL;
    for (int i = 0; i < n; i++) {
        double mm = -30 + 60.0 * i / (n - 1);
        x[i] = 1e-3 * mm, y[i] = 1e-3 * f(mm);
    }
    assert_int_equal(kd_curve_create(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_TANGENT, n, x, y, &curve, NULL, 0), KD_OK);
    return curve;
}

static double circle(double s) // head of the rail as the built-in arc: radius 300 mm, slope 1/40 in the middle
{
    double c = 300 / sqrt(1 + 1 / 1600.0) / 40;
    return sqrt(9e4 - (s - c) * (s - c)) - sqrt(9e4 - c * c);
}

static double cone(double s)
{
    return -s / 40;
}

// Tables of a cone and an arc give the contact of the cone and the arc.
static void test_tables_are_profiles(void **state)
{
    kd_curve      *tread = table(cone, 61), *head = table(circle, 121);
    kd_wheel_rail  d = definition(KD_RAIL_LEFT, INFINITY);
    kd_wheel       exact = {0}, w = {0};
    kd_wheel_point a, b;
    (void)state;
    kd_wheel_create(&exact, &d, NULL, NULL);
    kd_wheel_create(&w, &d, tread, head);
    for (int k = -4; k <= 4; k++) {
        double in[NIN];
        pose(1e-3 * k, 0.46, 2e-3 * k, 1e-4 * k, in);
        kd_wheel_at(&exact, in, kd_wheel_solve(&exact, in), &a);
        kd_wheel_at(&w, in, kd_wheel_solve(&w, in), &b);
        assert_near(a.g, b.g, 1e-11);
        for (int i = 0; i < NIN; i++) assert_near(a.g_x[i], b.g_x[i], 1e-7);
    }
    assert_near(w.a, exact.a, 1e-6);
    kd_curve_destroy(tread);
    kd_curve_destroy(head);
}

// Head of the rail UIC60 (arcs of 300, 80 and 13 mm), inclined 1:40, over the distance outwards from 750 mm; the
// rail stands so that the angle of contact in the middle is that of the table. Found on the inclined arcs by bisection.
static double uic60(double s)
{
    static const double R[] = {300, 80, 13}, end[] = {10.228, 26.0265, 35.9};
    const double        tilt = atan(1.0 / 40), shift = 754.8 - 750;
    double              low = -35.9, high = 35.9, z = 0, y = 0;
    for (int k = 0; k < 60; k++) {
        y = 0.5 * (low + high);
        double at = fabs(y), centre = 0, top = -300, begin = 0; // of the arc that at lies on
        for (int i = 0; i < 3; i++) {
            if (i > 0) { // tangent at the joint: centres on one line with it
                double sine = (begin - centre) / R[i - 1], cosine = sqrt(1 - sine * sine);
                centre += (R[i - 1] - R[i]) * sine;
                top += (R[i - 1] - R[i]) * cosine;
            }
            z = top + sqrt(R[i] * R[i] - (at - centre) * (at - centre));
            if (at <= end[i]) break;
            begin = end[i];
        }
        if (y * cos(tilt) - z * sin(tilt) + shift > s)
            high = y;
        else
            low = y;
    }
    return y * sin(tilt) + z * cos(tilt);
}

// S1002 on UIC60 1:40, r = 0.425 m: angles of contact of a published contact table (program DYTSI) over the shift
// towards the flange [mm].
static void test_worn_profile(void **state)
{
    static const double known[][2] = {{-6, 0.009635}, {-4, 0.009048}, {-2, 0.010411}, {0, 0.014223},
                                      {2, 0.026689},  {4, 0.059082},  {6, 0.098473}};
    kd_curve           *tread = table(s1002, 301), *head = table(uic60, 301);
    (void)state;
    for (int side = 0; side < 2; side++) {
        kd_wheel_rail d = definition(side ? KD_RAIL_RIGHT : KD_RAIL_LEFT, INFINITY);
        kd_wheel      w = {0};
        double        in[NIN], R[5], S[5];
        d.radius = 0.425;
        kd_wheel_create(&w, &d, tread, head);
        for (int k = 0; k < 7; k++) {
            pose(1e-3 * (side ? -1 : 1) * known[k][0], 0.425, 0, 0, in);
            double xi = kd_wheel_solve(&w, in);
            kd_wheel_tread(&w, xi, R);
            kd_wheel_head(&w, in[0] + xi, S);
            assert_near(-R[1], S[1], 1e-12);
            if (known[k][0] != 4) // there the contact jumps, which the table smoothes
                assert_near((side ? -1 : 1) * atan(S[1]), known[k][1], 0.08 * known[k][1]);
        }
    }
    kd_curve_destroy(tread);
    kd_curve_destroy(head);
}

// Quasi-elastic contact, S1002 on UIC60: away from the jumps of the rigid place radius and angle are those of the rigid
// contact; where that jumps they change continuously; gap and its derivatives agree with differences
static void test_elastic(void **state)
{
    kd_curve       *tread = table(s1002, 301), *head = table(uic60, 301);
    kd_wheel_rail   d = definition(KD_RAIL_LEFT, INFINITY), soft = d;
    kd_wheel        rigid = {0}, w = {0};
    kd_wheel_spread s;
    double          in[NIN], R[5], S[5], before = NAN, largest = 0;
    int             compared = 0;
    (void)state;
    soft.elastic = 1e-6;
    kd_wheel_create(&rigid, &d, tread, head);
    kd_wheel_create(&w, &soft, tread, head);
    for (int k = -60; k <= 60; k++) {
        double xi[3];
        for (int j = 0; j < 3; j++) {
            pose(1e-4 * k + 3e-4 * (j - 1), 0.46, 0, 0, in);
            xi[j] = kd_wheel_solve(&rigid, in);
        }
        pose(1e-4 * k, 0.46, 0, 0, in);
        kd_wheel_spread_at(&w, in, &s);
        double radius = 0, slope = 0;
        for (int i = 0; i < s.n; i++) {
            kd_wheel_tread(&w, w.node[s.node[i]], R);
            kd_wheel_head(&w, in[0] + w.node[s.node[i]], S);
            radius += s.weight[i] * R[0], slope += s.weight[i] * S[1];
        }
        // the place moves by more than 3 mm per 0.6 mm of shift: a jump
        if (fabs(xi[2] - xi[0]) < 3e-3) {
            kd_wheel_tread(&w, xi[1], R);
            kd_wheel_head(&w, in[0] + xi[1], S);
            assert_near(radius, R[0], 2e-5);
            assert_near(slope, S[1], 4e-3);
            compared++;
        }
    }
    assert_true(compared > 80);
    // the rigid place jumps by some millimetres between 2 and 5 mm
    for (int k = 0; k <= 3000; k++) {
        pose(2e-3 + 1e-6 * k, 0.46, 0, 0, in);
        kd_wheel_spread_at(&w, in, &s);
        if (k > 0) largest = fmax(largest, fabs(s.mean - before));
        before = s.mean;
    }
    assert_true(largest < 5e-4);
    // derivatives
    for (int k = 0; k < 20; k++) {
        kd_wheel_point at;
        kd_jet         jet[NIN];
        pose(-6e-3 + 6e-4 * k, 0.46, 2e-3, 3e-4, in);
        kd_wheel_spread_at(&w, in, &s);
        kd_wheel_soft_at(&w, in, &s, &at);
        for (int i = 0; i < NIN; i++)
            jet[i] = (kd_jet){.x = in[i], .x1 = 1e-3 * sin(i + 1.0), .d = 1e-3 * cos(i + 1.0)};
        const kd_jet g = kd_wheel_soft_gap(&w, jet, &s);
        double       x1 = 0, side[3][NIN], value[3], rate[3], h = 1e-4;
        for (int i = 0; i < NIN; i++) x1 += at.g_x[i] * jet[i].x1;
        assert_near(g.x1, x1, 1e-12);
        for (int j = 0; j < 3; j += 2) {
            kd_jet moved[NIN];
            for (int i = 0; i < NIN; i++) {
                side[j][i] = in[i] + h * (j - 1) * jet[i].x1;
                moved[i] = (kd_jet){.x = side[j][i], .x1 = jet[i].x1, .d = jet[i].d};
            }
            kd_wheel_spread_at(&w, side[j], &s);
            value[j] = s.g, rate[j] = kd_wheel_soft_gap(&w, moved, &s).d;
        }
        assert_near(g.x1, (value[2] - value[0]) / (2 * h), 1e-9);
        assert_near(g.d1, (rate[2] - rate[0]) / (2 * h), 1e-6 * (1 + fabs(g.d1)));
    }
    kd_curve_destroy(tread);
    kd_curve_destroy(head);
}

// Where there is no contact the answer is NaN, not a number that looks like one.
static void test_no_contact(void **state)
{
    kd_wheel_rail d = definition(KD_RAIL_LEFT, INFINITY);
    kd_wheel      w = {0};
    double        in[NIN];
    (void)state;
    kd_wheel_create(&w, &d, NULL, NULL);
    pose(3.0, 0.46, 0, 0, in);
    assert_true(isnan(kd_wheel_solve(&w, in)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gap_is_the_greatest_overlap),
        cmocka_unit_test(test_middle),
        cmocka_unit_test(test_equivalent_conicity),
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_tables_are_profiles),
        cmocka_unit_test(test_worn_profile),
        cmocka_unit_test(test_elastic),
        cmocka_unit_test(test_no_contact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
