// tests/element/test_touch.c: smooth surfaces in contact: where they touch, distance, sliding and curvature against
// searches, differences and closed forms; Hertz against integrals by quadrature.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "case.h"
#include "element/hertz.h"
#include "element/kalker.h"
#include "element/touch.h"

#define PI 3.14159265358979323846

static uint64_t seed = 12345;

static double between(double a, double b)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return a + (b - a) * (double)(seed >> 11) / 9007199254740992.0;
}

static kd_vec3 any_vector(double size)
{
    return kd_vec(between(-size, size), between(-size, size), between(-size, size));
}

#define assert_near(a, b, tolerance) near_to((a), (b), (tolerance), #a, __LINE__)
static void near_to(double a, double b, double tolerance, const char *what, int line)
{
    if (fabs(a - b) <= tolerance) return;
    fail_msg("line %d: %s is %.15g instead of %.15g, difference %.3g", line, what, a, b, a - b);
}

// ---- surfaces -------------------------------------------------------------------------------------------------------
static kd_curve *barrel, *wave; // radius over z; height over x

static int make_curves(void **state)
{
    double x[21], r[21], z[21];
    (void)state;
    for (int i = 0; i <= 20; i++) {
        x[i] = -1.0 + 0.1 * i;
        r[i] = 0.5 - 0.2 * x[i] * x[i];
        z[i] = -0.2 * x[i] * x[i] + 0.02 * sin(3.0 * x[i]);
    }
    assert_int_equal(kd_curve_create(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_TANGENT, 21, x, r, &barrel, NULL, 0), KD_OK);
    assert_int_equal(kd_curve_create(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_TANGENT, 21, x, z, &wave, NULL, 0), KD_OK);
    return 0;
}

static int free_curves(void **state)
{
    (void)state;
    kd_curve_destroy(barrel);
    kd_curve_destroy(wave);
    return 0;
}

static kd_surface_def surface(kd_surface_kind kind)
{
    kd_surface_def d = {.kind = kind, .size = {between(0.4, 0.6), between(0.3, 0.5), between(0.5, 0.7)}};
    if (kind == KD_SURFACE_CONE) d.size[0] = between(0.3, 0.6);
    if (kind == KD_SURFACE_TORUS) d.size[0] = 0.8, d.size[1] = between(0.2, 0.3);
    return d;
}

static kd_smooth smooth_of(const kd_surface_def *d)
{
    return (kd_smooth){d, d->kind == KD_SURFACE_REVOLUTION ? barrel : d->kind == KD_SURFACE_SWEPT ? wave : NULL};
}

// Somewhere on a surface, away from its ends
static kd_spot any_spot(const kd_smooth *s)
{
    kd_spot out;
    double  u = between(-0.5, 0.5);
    if (s->def->kind == KD_SURFACE_CONE) u = between(1.0, 1.5);
    kd_smooth_at(s, 2, kd_jet_const(u), kd_jet_const(between(-1.0, 1.0)), true, &out);
    return out;
}

// A rotation that brings the direction a to b, then turns about it
static kd_mat3 turn_to(kd_vec3 a, kd_vec3 b, double angle)
{
    kd_vec3      axis = kd_vec_cross(a, b);
    const double c = kd_vec_dot(a, b);
    kd_quat      q = {1.0 + c, axis.x, axis.y, axis.z};
    const double n = sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    q = (kd_quat){q.w / n, q.x / n, q.y / n, q.z / n};
    const double h = 0.5 * angle;
    q = kd_quat_mul((kd_quat){cos(h), sin(h) * b.x, sin(h) * b.y, sin(h) * b.z}, q);
    return kd_quat_matrix(q);
}

// Of bodies that are pressed into each other the way out is least where they are bent outwards by radii whose sum is larger than
// they are deep
static bool is_way_out(double H[2][3], double gap)
{
    double R[3] = {gap, 0.0, gap};
    for (int k = 0; k < 2; k++) {
        const double x = H[k][0] + 1e-9, z = H[k][2] + 1e-9, det = x * z - H[k][1] * H[k][1]; // straight lines
        if (!(det > 0.0 && x > 0.0)) return false;
        R[0] += z / det, R[1] -= H[k][1] / det, R[2] += x / det;
    }
    return R[0] > 0.0 && R[0] * R[2] > R[1] * R[1];
}

// A pose at which both surfaces are apart by a gap at known places; false: they would not be convex to each other
static bool pose_of(const kd_smooth *a, const kd_smooth *b, double gap, kd_relative *rel)
{
    const kd_spot x = any_spot(a), y = any_spot(b);
    const kd_vec3 n = kd_jet3_value(x.n), m = kd_jet3_value(y.n);
    *rel = (kd_relative){.C = turn_to(m, kd_vec_neg(n), between(0.0, 6.0))};
    rel->d = kd_vec_sub(kd_vec_axpy(kd_jet3_value(x.r), gap, n), kd_mat_vec(&rel->C, kd_jet3_value(y.r)));
    // both curvatures, whose sum is far from a line
    kd_vec3       e = fabs(n.z) < 0.8 ? kd_vec_cross(n, kd_vec(0, 0, 1)) : kd_vec_cross(n, kd_vec(1, 0, 0));
    double        F[2][3], H[3];
    const kd_vec3 e0 = kd_vec_scale(1.0 / kd_vec_norm(e), e), dir[2] = {e0, kd_vec_cross(n, e0)};
    for (int i = 0; i < 3; i++) {
        const kd_vec3 p = dir[i == 2], q = dir[i > 0], pb = kd_mat_tvec(&rel->C, p), qb = kd_mat_tvec(&rel->C, q);
        F[0][i] = kd_smooth_form(a, &x, kd_jet3_const(p.x, p.y, p.z), kd_jet3_const(q.x, q.y, q.z)).x;
        F[1][i] = kd_smooth_form(b, &y, kd_jet3_const(pb.x, pb.y, pb.z), kd_jet3_const(qb.x, qb.y, qb.z)).x;
        H[i] = F[0][i] + F[1][i];
    }
    if (gap < -0.003 && !is_way_out(F, gap)) return false;
    return H[0] + H[2] > 0.5 && H[0] * H[2] - H[1] * H[1] > 0.3;
}

static const kd_measure MEASURES[] = {{.kind = KD_MEASURE_GAP},          {.kind = KD_MEASURE_SLIP},
                                      {.kind = KD_MEASURE_SLIP, .i = 1}, {.kind = KD_MEASURE_SPIN},
                                      {.kind = KD_MEASURE_CURVED},       {.kind = KD_MEASURE_CURVED, .i = 1}};

static bool has_value(const kd_measure *m)
{
    return m->kind == KD_MEASURE_GAP || m->kind == KD_MEASURE_CURVED;
}

// The frame B at the time t of a motion with constant angular acceleration at t = 0, and the touch there
static kd_relative moved(const kd_relative *at, const kd_touch *touch, double t, kd_touch_at *where)
{
    kd_relative r = *at;
    // C(t) to third order: a rotation by the vector omega t + alpha t^2/2 + (omega x alpha) t^3/12 of the left
    const kd_vec3 w = kd_vec_axpy(kd_vec_scale(t, at->omega), 0.5 * t * t, at->alpha);
    const double  angle = kd_vec_norm(w);
    if (angle > 0.0) {
        const kd_vec3 k = kd_vec_scale(sin(0.5 * angle) / angle, w);
        const kd_mat3 Q = kd_quat_matrix((kd_quat){cos(0.5 * angle), k.x, k.y, k.z});
        r.C = kd_mat_mul(&Q, &at->C);
    }
    r.d = kd_vec_axpy(kd_vec_axpy(at->d, t, at->dd), 0.5 * t * t, at->ddd);
    r.omega = kd_vec_axpy(at->omega, t, at->alpha);
    r.dd = kd_vec_axpy(at->dd, t, at->ddd);
    kd_touch_find(touch, &r, where);
    r.touch = where;
    return r;
}

static double value_at(const kd_measure *m, const kd_relative *rel)
{
    return has_value(m) ? kd_measure_value(m, rel, NAN) : kd_measure_rate(m, rel);
}

// One pair of surfaces at random poses: the place is found, rates and accelerations are those of differences
static int check_pair(kd_surface_kind a, kd_surface_kind b)
{
    int checked = 0;
    for (int trial = 0; trial < 12; trial++) {
        kd_surface_def def[2] = {surface(a), surface(b)};
        const kd_touch touch = {.a = smooth_of(&def[0]), .b = smooth_of(&def[1])};
        const double   gap = between(-0.002, 0.05);
        kd_relative    rel;
        kd_touch_at    at, before, behind;
        const double   h = 1e-4;
        if (!pose_of(&touch.a, &touch.b, gap, &rel)) continue;
        kd_touch_find(&touch, &rel, &at);
        // where several places face each other another one may be nearer
        if (!at.found || fabs(at.gap - gap) > 1e-9) continue;
        checked++;
        rel.touch = &at;
        rel.omega = any_vector(0.5), rel.dd = any_vector(0.5), rel.alpha = any_vector(0.5), rel.ddd = any_vector(0.5);
        const kd_relative r0 = moved(&rel, &touch, -h, &before), r1 = moved(&rel, &touch, h, &behind);
        for (int k = 0; k < 6; k++) {
            static const kd_tangent none;
            const kd_measure       *m = &MEASURES[k];
            const kd_jet            jet = kd_measure_jet(m, &rel, &none, NAN);
            const double x0 = value_at(m, &r0), x = value_at(m, &rel), x1 = value_at(m, &r1), size = 1.0 + fabs(x);
            const double rate = (x1 - x0) / (2.0 * h), second = (x1 - 2.0 * x + x0) / (h * h);
            if (has_value(m)) {
                assert_near(jet.x, x, 1e-11 * size);
                assert_near(jet.x1, rate, 2e-5 * (size + fabs(rate)));
                assert_near(kd_measure_rate(m, &rel), jet.x1, 1e-9 * (size + fabs(rate)));
            } else {
                assert_near(jet.x1, x, 1e-11 * size);
                assert_near(jet.x2, rate, 2e-5 * (size + fabs(rate)));
            }
            if (m->kind == KD_MEASURE_GAP) assert_near(jet.x2, second, 1e-4 * (1.0 + fabs(second)));
        }
    }
    return checked;
}

// For all pairs of kinds that can touch at a point
static void test_rates(void **state)
{
    int pairs = 0, checked = 0;
    (void)state;
    for (int a = KD_SURFACE_PLANE; a <= KD_SURFACE_SWEPT; a++)
        for (int b = KD_SURFACE_PLANE; b <= KD_SURFACE_SWEPT; b++) {
            const int n = check_pair((kd_surface_kind)a, (kd_surface_kind)b);
            pairs += n > 0, checked += n;
        }
    // planes, cylinders and cones alone touch along lines
    assert_true(pairs >= 50);
    assert_true(checked >= 300);
}

// Of convex bodies, one flat and the other sharp or both, far from each other or pressed into each other, the only place is found,
// whichever of both stands first
static void test_found(void **state)
{
    static const kd_surface_kind first[] = {KD_SURFACE_PLANE, KD_SURFACE_SPHERE,    KD_SURFACE_CYLINDER,
                                            KD_SURFACE_CONE,  KD_SURFACE_ELLIPSOID, KD_SURFACE_REVOLUTION},
                                 second[] = {KD_SURFACE_SPHERE, KD_SURFACE_ELLIPSOID, KD_SURFACE_REVOLUTION,
                                             KD_SURFACE_TORUS};
    int checked = 0;
    (void)state;
    for (int trial = 0; trial < 4800; trial++) {
        kd_surface_def def[2] = {surface(first[trial % 6]), surface(second[trial / 6 % 4])};
        const double   gap = trial % 2 ? between(-0.003, 0.003) : between(0.0, 0.6);
        kd_relative    rel;
        kd_touch_at    at;
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < 3 && def[k].kind != KD_SURFACE_CONE && def[k].kind != KD_SURFACE_TORUS; i++)
                def[k].size[i] = between(0.1, 0.5);
        if (def[1].kind == KD_SURFACE_TORUS) def[1].size[0] = between(0.4, 0.6), def[1].size[1] = between(0.05, 0.2);
        kd_touch touch = {.a = smooth_of(&def[0]), .b = smooth_of(&def[1])};
        if (!pose_of(&touch.a, &touch.b, gap, &rel)) continue;
        if (trial / 24 % 2) { // the other one is A
            const kd_smooth swap = touch.a;
            touch.a = touch.b, touch.b = swap;
            const kd_mat3 C = rel.C;
            rel.d = kd_vec_neg(kd_mat_tvec(&C, rel.d));
            rel.C = (kd_mat3){kd_vec(C.x.x, C.y.x, C.z.x), kd_vec(C.x.y, C.y.y, C.z.y), kd_vec(C.x.z, C.y.z, C.z.z)};
        }
        kd_touch_find(&touch, &rel, &at);
        if (!at.found) fail_msg("trial %d: surfaces %d and %d, no place", trial, (int)def[0].kind, (int)def[1].kind);
        // a ring may be touched elsewhere as well
        if (def[1].kind != KD_SURFACE_TORUS) assert_near(at.gap, gap, 1e-9);
        checked++;
    }
    assert_true(checked > 3000);
}

// A body of a given size and any shape; its smallest radius
static double any_body(kd_surface_def *d, double size)
{
    double least = HUGE_VAL;
    if (d->kind == KD_SURFACE_CONE || d->kind == KD_SURFACE_REVOLUTION) return 0.3;
    for (int i = 0; i < 3; i++) {
        d->size[i] = 0.5 * size * pow(20.0, between(-0.5, 0.5));
        least = fmin(least, d->size[i]);
    }
    if (d->kind == KD_SURFACE_TORUS) d->size[0] = size, d->size[1] = size * between(0.1, 0.4), least = d->size[1];
    return least;
}

// Long, flat and ring-shaped bodies, one up to twenty times as large as the other, far from each other or pressed into each other by
// nearly the smallest radius: the distance is that as constructed. Where there can be others, because a ring has many sides and
// deep bodies several ways out, it is no longer one than that, and no further way out.
static void test_extreme_shapes(void **state)
{
    static const kd_surface_kind kinds[] = {KD_SURFACE_ELLIPSOID, KD_SURFACE_REVOLUTION, KD_SURFACE_CYLINDER,
                                            KD_SURFACE_CONE, KD_SURFACE_TORUS};
    const int                    trials = test_often(200000, 40000);
    int                          checked = 0;
    (void)state;
    for (int trial = 0; trial < trials; trial++) {
        kd_surface_def def[2] = {surface(kinds[trial % 5]), surface(kinds[trial / 5 % 5])};
        const bool     deep = trial / 25 % 2, ring = trial % 5 == 4 || trial / 5 % 5 == 4;
        const double   ratio = pow(20.0, between(-1.0, 1.0));
        const double   first = any_body(&def[0], 1.0), second = any_body(&def[1], ratio), least = fmin(first, second);
        const double   gap = deep ? -least * between(0.01, 0.9) : pow(10.0, between(-4.0, 1.0));
        const kd_touch touch = {.a = smooth_of(&def[0]), .b = smooth_of(&def[1])};
        kd_relative    rel;
        kd_touch_at    at;
        if (!pose_of(&touch.a, &touch.b, gap, &rel)) continue;
        kd_touch_find(&touch, &rel, &at);
        const bool right = deep   ? ring || at.gap > gap - 1e-9
                           : ring ? at.gap < gap + 1e-9
                                  : fabs(at.gap - gap) < 1e-9 * (1.0 + gap);
        if (!at.found || !right)
            fail_msg("trial %d: surfaces %d and %d, %.12g instead of %.12g", trial, (int)def[0].kind, (int)def[1].kind,
                     at.gap, gap);
        checked++;
    }
    assert_true(checked > trials / 2);
}

// A ball beside a ring touches its near side, from wherever it comes
static void test_ball_and_ring(void **state)
{
    (void)state;
    for (int trial = 0; trial < 400; trial++) {
        kd_surface_def ring = surface(KD_SURFACE_TORUS), ball = surface(KD_SURFACE_SPHERE);
        const kd_touch touch = {.a = smooth_of(&ball), .b = smooth_of(&ring)};
        const kd_vec3  centre = any_vector(1.5); // of the ball in the axes of the ring
        const double   rho = hypot(centre.x, centre.y) - ring.size[0];
        const double   apart = hypot(rho, centre.z) - ring.size[1];
        kd_touch_at    at;
        kd_relative    rel = {.C = turn_to(kd_vec(0, 0, 1), kd_vec_scale(1 / kd_vec_norm(centre), centre), trial)};
        ball.size[0] = 0.3;
        if (apart < 0.05 || hypot(centre.x, centre.y) < 0.1) continue;
        rel.d = kd_vec_neg(kd_mat_vec(&rel.C, centre));
        kd_touch_find(&touch, &rel, &at);
        assert_true(at.found);
        assert_near(at.gap, apart - ball.size[0], 1e-9);
    }
}

// Changes of all levels along a tangent are those of differences of jets; changes of gradients the same
static void test_tangents(void **state)
{
    static const kd_surface_kind kinds[][2] = {{KD_SURFACE_PLANE, KD_SURFACE_ELLIPSOID},
                                               {KD_SURFACE_TORUS, KD_SURFACE_SPHERE},
                                               {KD_SURFACE_REVOLUTION, KD_SURFACE_ELLIPSOID},
                                               {KD_SURFACE_SWEPT, KD_SURFACE_TORUS},
                                               {KD_SURFACE_ELLIPSOID, KD_SURFACE_PLANE}};
    (void)state;
    for (int trial = 0; trial < 40; trial++) {
        const kd_surface_kind *kind = kinds[trial % 5];
        kd_surface_def         def[2] = {surface(kind[0]), surface(kind[1])};
        const kd_touch         touch = {.a = smooth_of(&def[0]), .b = smooth_of(&def[1])};
        kd_relative            rel, side[2];
        kd_touch_at            at, where[2];
        const double           h = 1e-5;
        if (!pose_of(&touch.a, &touch.b, 0.01, &rel)) continue;
        kd_touch_find(&touch, &rel, &at);
        if (!at.found || fabs(at.gap - 0.01) > 1e-9) continue;
        rel.touch = &at;
        rel.omega = any_vector(0.5), rel.dd = any_vector(0.5), rel.alpha = any_vector(0.5), rel.ddd = any_vector(0.5);
        const kd_tangent e = {any_vector(1), any_vector(1), any_vector(1), any_vector(1), any_vector(1), any_vector(1)};
        // the pose moved along the tangent: C' = w x C, and the changes of velocities and accelerations
        for (int k = 0; k < 2; k++) {
            const double      s = k == 0 ? -h : h;
            const kd_relative along = {.C = rel.C, .d = rel.d, .omega = e.w, .dd = e.u};
            const kd_relative r = moved(&along, &touch, s, &where[k]);
            side[k] = (kd_relative){.C = r.C, .d = r.d, .touch = &where[k]};
            side[k].omega = kd_vec_axpy(rel.omega, s, e.omega), side[k].dd = kd_vec_axpy(rel.dd, s, e.dd);
            side[k].alpha = kd_vec_axpy(rel.alpha, s, e.alpha), side[k].ddd = kd_vec_axpy(rel.ddd, s, e.ddd);
        }
        for (int k = 0; k < 6; k++) {
            static const kd_tangent none;
            const kd_measure       *m = &MEASURES[k];
            const kd_jet            j = kd_measure_jet(m, &rel, &e, NAN), j0 = kd_measure_jet(m, &side[0], &none, NAN),
                         j1 = kd_measure_jet(m, &side[1], &none, NAN);
            const double size = 1.0 + fabs(j.x2) + fabs(j.d2);
            assert_near(j.d, (j1.x - j0.x) / (2.0 * h), 1e-6 * size);
            assert_near(j.d1, (j1.x1 - j0.x1) / (2.0 * h), 1e-5 * size);
            if (m->kind != KD_MEASURE_CURVED) assert_near(j.d2, (j1.x2 - j0.x2) / (2.0 * h), 1e-4 * size);
            if (m->kind == KD_MEASURE_CURVED) continue;
            kd_vec3 N0, F0, N1, F1, dN, dF;
            kd_measure_gradient(m, &side[0], &N0, &F0);
            kd_measure_gradient(m, &side[1], &N1, &F1);
            kd_measure_curvature(m, &rel, e.w, e.u, &dN, &dF);
            assert_near(dN.x, (N1.x - N0.x) / (2.0 * h), 1e-6 * size);
            assert_near(dN.z, (N1.z - N0.z) / (2.0 * h), 1e-6 * size);
            assert_near(dF.y, (F1.y - F0.y) / (2.0 * h), 1e-6 * size);
        }
    }
}

// Of convex bodies apart no two points are nearer to each other than those of the contact
static void test_nearest(void **state)
{
    (void)state;
    for (int trial = 0; trial < 20; trial++) {
        kd_surface_def def[2] = {surface(KD_SURFACE_ELLIPSOID), surface(KD_SURFACE_ELLIPSOID)};
        const kd_touch touch = {.a = smooth_of(&def[0]), .b = smooth_of(&def[1])};
        kd_relative    rel = {.C = turn_to(kd_vec(0, 0, 1), kd_vec(0.6, 0, 0.8), between(0, 6))};
        kd_touch_at    at;
        const kd_vec3  away = any_vector(1);
        rel.d = kd_vec_scale(1.6 / kd_vec_norm(away), away);
        kd_touch_find(&touch, &rel, &at);
        assert_true(at.found);
        double nearest = HUGE_VAL;
        for (int k = 0; k < 20000; k++) {
            kd_spot x, y;
            kd_smooth_at(&touch.a, 2,
                         kd_jet_const(at.a.pole == 2 && k % 2 ? at.a.u + between(-0.1, 0.1) : between(-1.5, 1.5)),
                         kd_jet_const(between(-3.2, 3.2)), false, &x);
            kd_smooth_at(&touch.b, at.b.pole, kd_jet_const(at.b.u), kd_jet_const(at.b.v), false, &y);
            const kd_vec3 p = kd_vec_add(rel.d, kd_mat_vec(&rel.C, kd_jet3_value(y.r)));
            nearest = fmin(nearest, kd_vec_norm(kd_vec_sub(p, kd_jet3_value(x.r))));
        }
        assert_true(nearest >= at.gap - 1e-12);
        assert_true(nearest <= at.gap + 0.02);
    }
}

// Closed forms: a sphere on a plane, in a bowl, on a torus; a point above a cylinder
static void test_closed_forms(void **state)
{
    kd_touch_at at;
    (void)state;
    kd_surface_def plane = {.kind = KD_SURFACE_PLANE}, ball = {.kind = KD_SURFACE_SPHERE, .size = {0.3}};
    kd_surface_def bowl = {.kind = KD_SURFACE_SPHERE, .size = {2.0}, .hollow = true},
                   point = {.kind = KD_SURFACE_SPHERE};
    kd_surface_def pipe = {.kind = KD_SURFACE_CYLINDER, .size = {0.5}};
    kd_relative    rel = {.C = turn_to(kd_vec(0, 0, 1), kd_vec(0.6, 0, 0.8), 1.0), .d = {0.7, -0.4, 0.9}};
    kd_touch_find(&(kd_touch){.a = {&plane, NULL}, .b = {&ball, NULL}}, &rel, &at);
    assert_near(at.gap, 0.9 - 0.3, 1e-14);
    kd_touch_find(&(kd_touch){.a = {&bowl, NULL}, .b = {&ball, NULL}}, &rel, &at);
    assert_near(at.gap, 2.0 - 0.3 - kd_vec_norm(rel.d), 1e-13);
    kd_touch_find(&(kd_touch){.a = {&ball, NULL}, .b = {&bowl, NULL}}, &rel, &at);
    assert_near(at.gap, 2.0 - 0.3 - kd_vec_norm(rel.d), 1e-13);
    kd_touch_find(&(kd_touch){.a = {&pipe, NULL}, .b = {&point, NULL}}, &rel, &at);
    assert_near(at.gap, hypot(0.7, 0.4) - 0.5, 1e-13);
}

// Surfaces that touch along a line have no one place of contact: that is told
static void test_singular(void **state)
{
    kd_touch_at    at;
    kd_surface_def plane = {.kind = KD_SURFACE_PLANE}, roller = {.kind = KD_SURFACE_CYLINDER, .size = {0.3}};
    kd_relative    rel = {.C = turn_to(kd_vec(0, 0, 1), kd_vec(1, 0, 0), 0.4), .d = {0.1, 0.2, 0.31}};
    (void)state;
    kd_touch_find(&(kd_touch){.a = {&plane, NULL}, .b = {&roller, NULL}}, &rel, &at);
    assert_false(at.found);
    assert_true(at.singular);
    assert_non_null(kd_touch_reason(&at));
    assert_true(isnan(at.gap));
}

// ---- Hertz ----------------------------------------------------------------------------------------------------------
// Complete elliptic integrals by the trapezoidal rule, which converges exponentially
static void integrals(double e2, double *K, double *E)
{
    enum { N = 20000 };
    *K = *E = 0.0;
    for (int i = 0; i < N; i++) {
        const double s = sin((i + 0.5) * 0.5 * PI / N), root = sqrt(1.0 - e2 * s * s);
        *K += 0.5 * PI / N / root, *E += 0.5 * PI / N * root;
    }
}

// From a chosen ellipse to its curvatures and its stiffness, and back by kd_hertz_stiffness; a sphere
static void test_hertz(void **state)
{
    double k[3];
    (void)state;
    assert_true(kd_hertz_stiffness(2.1e11, 2.0 / 0.25, 1.0 / (0.25 * 0.25), k));
    assert_near(k[0] / (4.0 / 3.0 * 2.1e11 * sqrt(0.25)), 1.0, 1e-14);
    for (double r = 0.01; r < 0.9999; r += r < 0.9 ? 0.03 : 0.004) {
        double K, E;
        integrals(1.0 - r * r, &K, &E);
        const double ratio = (E / (r * r) - K) / (K - E), A = 3.0, B = ratio * A;
        const double expected = 2.0 * PI / 3.0 * sqrt(E / (K * K * K * r * r * (A + B)));
        assert_true(kd_hertz_stiffness(1.0, 2.0 * (A + B), 4.0 * A * B, k));
        assert_near(k[0] / expected, 1.0, 1e-9);
        // derivatives by differences
        const double T = 2.0 * (A + B), D = 4.0 * A * B, h = 1e-6;
        double       up[3], down[3];
        assert_true(kd_hertz_stiffness(1.0, T * (1 + h), D, up) && kd_hertz_stiffness(1.0, T * (1 - h), D, down));
        assert_near(k[1] * T, (up[0] - down[0]) / (2 * h), 2e-7 * k[0] * (1 + T * T / D));
        assert_true(kd_hertz_stiffness(1.0, T, D * (1 + h), up) && kd_hertz_stiffness(1.0, T, D * (1 - h), down));
        assert_near(k[2] * D, (up[0] - down[0]) / (2 * h), 2e-7 * k[0]);
    }
    assert_false(kd_hertz_stiffness(1.0, 2.0, 0.0, k));
    assert_false(kd_hertz_stiffness(1.0, -2.0, 1.0, k));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),         cmocka_unit_test(test_found),    cmocka_unit_test(test_extreme_shapes),
        cmocka_unit_test(test_ball_and_ring), cmocka_unit_test(test_tangents), cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_closed_forms),  cmocka_unit_test(test_singular), cmocka_unit_test(test_hertz),
    };
    return cmocka_run_group_tests(tests, make_curves, free_curves);
}
