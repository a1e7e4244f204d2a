// tests/element/test_measure.c: every kind of measure: rates and accelerations against differences in time, changes
// along dofs, gradients and curvatures against differences in position.
#include "tree/random_pair.h"

#include "element/rotation.h"

static const kd_measure kinds[] = {
    {KD_MEASURE_SHIFT, .i = 0, .turns = -1},
    {KD_MEASURE_SHIFT, .i = 2, .turns = -1},
    {KD_MEASURE_COSINE, .i = 0, .j = 1, .turns = -1},
    {KD_MEASURE_COSINE, .i = 2, .j = 2, .turns = -1},
    {KD_MEASURE_LENGTH, .turns = -1},
    {KD_MEASURE_ANGLE, .sine = {1, 0, 1}, .cosine = {0, 0, 1}, .turns = -1},
    {KD_MEASURE_ANGLE, .sine = {2, 1, 1}, .cosine = {2, 2, 1}, .turns = -1},
    {KD_MEASURE_ANGLE, .sine = {0, 2, -1}, .cosine = {1, 2, 1}, .turns = -1},
    {KD_MEASURE_PITCH, .turns = -1},
    {KD_MEASURE_ROTATION, .i = 0, .turns = -1},
    {KD_MEASURE_ROTATION, .i = 1, .turns = -1},
    {KD_MEASURE_ROTATION, .i = 2, .turns = -1},
    {KD_MEASURE_TILT, .i = 0, .j = 2, .turns = -1},
    {KD_MEASURE_TILT, .i = 1, .j = 0, .turns = -1},
    {KD_MEASURE_TILT, .i = 2, .j = 1, .turns = -1},
    {KD_MEASURE_TILT, .i = 2, .j = 0, .turns = -1},
    {KD_MEASURE_BEND, .i = 0, .sine = {0, 1, 1}, .turns = -1},
    {KD_MEASURE_BEND, .i = 1, .sine = {0, 1, 1}, .turns = -1},
    {KD_MEASURE_BEND, .i = 1, .sine = {2, 1, 1}, .turns = -1},
    {KD_MEASURE_TURN, .i = 1, .turns = -1},
    {KD_MEASURE_OWN_TURN, .i = 2, .turns = -1},
    {KD_MEASURE_OWN_SHIFT, .i = 1, .turns = -1},
};
enum { KINDS = sizeof kinds / sizeof *kinds, COUPLES = 40 };

static const kd_tangent none;

static kd_jet jet_at(const kd_measure *m, const kd_relative *rel, double near)
{
    return kd_measure_jet(m, rel, &none, near);
}

// Angles and pitch have no derivatives where two entries vanish; differences are poor close to there.
static bool is_regular(const kd_measure *m, const kd_relative *rel)
{
    if (m->kind == KD_MEASURE_PITCH) return hypot(rel->C.y.z, rel->C.z.z) > 0.3;
    if (m->kind == KD_MEASURE_ROTATION) return rel->C.x.x + rel->C.y.y + rel->C.z.z > -0.9;
    if (m->kind == KD_MEASURE_BEND) return rel->C.x.x + rel->C.y.y + rel->C.z.z > -0.7;
    if (m->kind == KD_MEASURE_TILT) return (m->j == 0 ? rel->C.x.x : m->j == 1 ? rel->C.y.y : rel->C.z.z) > -0.9;
    if (m->kind != KD_MEASURE_ANGLE) return true;
    const double entry[3][3] = {{rel->C.x.x, rel->C.y.x, rel->C.z.x},
                                {rel->C.x.y, rel->C.y.y, rel->C.z.y},
                                {rel->C.x.z, rel->C.y.z, rel->C.z.z}};
    return hypot(entry[m->sine.i][m->sine.j], entry[m->cosine.i][m->cosine.j]) > 0.3;
}

static void assert_near(double a, double b, double tolerance)
{
    assert_close(1, &a, &b, tolerance);
}

// Rate and acceleration are time derivatives of value and rate.
static void test_in_time(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < COUPLES; i++) {
        couple c = {0};
        couple_create(&c, i);
        couple_go(&c);
        for (int k = 0; k < KINDS; k++) {
            if (!is_regular(&kinds[k], &c.rel)) continue;
            kd_jet is = jet_at(&kinds[k], &c.rel, NAN);
            double value[4], rate[4];
            for (int l = 0; l < 4; l++) {
                kd_relative rel = couple_later(&c, stencil[l]);
                kd_jet      later = jet_at(&kinds[k], &rel, is.x);
                value[l] = later.x, rate[l] = later.x1;
            }
            if (kd_measure_has_value(&kinds[k])) assert_near(slope_of(value), is.x1, 1e-5);
            assert_near(slope_of(rate), is.x2, 1e-4); // the path is exact to second order only
        }
        couple_destroy(&c);
    }
}

// Changes of value, rate and acceleration along a dof and along its rate.
static void test_along_dofs(void **state)
{
    int checked[KINDS] = {0};
    (void)state;
    for (uint64_t i = 0; i < COUPLES; i++) {
        couple c = {0};
        couple_create(&c, i);
        couple_go(&c);
        for (int k = 0; k < KINDS; k++)
            for (int l = 0; l < c.pair.nsteps && is_regular(&kinds[k], &c.rel); l++) {
                const kd_change sum = couple_along(&c, l), *along = &sum;
                kd_tangent position = {along->w, along->u, along->omega_q, along->dd_q, along->alpha_q, along->ddd_q};
                kd_tangent rate = {{0, 0, 0}, {0, 0, 0}, along->w, along->u, along->alpha_v, along->ddd_v};
                double     near = jet_at(&kinds[k], &c.rel, NAN).x;
                kd_jet     by_position = kd_measure_jet(&kinds[k], &c.rel, &position, near);
                kd_jet     by_rate = kd_measure_jet(&kinds[k], &c.rel, &rate, near), at[2][4];
                for (int n = 0; n < 4; n++)
                    for (int which = 0; which < 2; which++) {
                        kd_relative rel = couple_moved(&c, c.pair.step[l].dof, stencil[n], which == 1);
                        at[which][n] = jet_at(&kinds[k], &rel, near);
                    }
                const kd_jet *p = at[0], *v = at[1];
                assert_near(by_position.d, slope_of((double[]){p[0].x, p[1].x, p[2].x, p[3].x}), 1e-8);
                assert_near(by_position.d1, slope_of((double[]){p[0].x1, p[1].x1, p[2].x1, p[3].x1}), 1e-7);
                assert_near(by_position.d2, slope_of((double[]){p[0].x2, p[1].x2, p[2].x2, p[3].x2}), 1e-6);
                assert_near(by_rate.d, 0.0, 0.0);
                assert_near(by_rate.d1, slope_of((double[]){v[0].x1, v[1].x1, v[2].x1, v[3].x1}), 1e-9);
                assert_near(by_rate.d2, slope_of((double[]){v[0].x2, v[1].x2, v[2].x2, v[3].x2}), 1e-8);
                checked[k] += fabs(by_position.d2) > 1e-3;
            }
        couple_destroy(&c);
    }
    for (int k = 0; k < KINDS; k++) assert_true(checked[k] > 20);
}

// Gradients: rate = N . omega + F . d'; curvatures: their changes along a dof, seen from A.
static void test_gradients(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < COUPLES; i++) {
        couple c = {0};
        couple_create(&c, i);
        couple_go(&c);
        for (int k = 0; k < KINDS; k++) {
            kd_vec3 N, F, dN, dF;
            if (!is_regular(&kinds[k], &c.rel)) continue;
            kd_measure_gradient(&kinds[k], &c.rel, &N, &F);
            assert_near(kd_vec_dot(N, c.rel.omega) + kd_vec_dot(F, c.rel.dd), jet_at(&kinds[k], &c.rel, NAN).x1, 1e-12);
            for (int l = 0; l < c.pair.nsteps; l++) {
                double          value[6][4];
                const kd_change along = couple_along(&c, l);
                kd_measure_curvature(&kinds[k], &c.rel, along.w, along.u, &dN, &dF);
                for (int n = 0; n < 4; n++) {
                    kd_relative rel = couple_moved(&c, c.pair.step[l].dof, stencil[n], false);
                    kd_measure_gradient(&kinds[k], &rel, &N, &F);
                    const double all[6] = {N.x, N.y, N.z, F.x, F.y, F.z};
                    for (int j = 0; j < 6; j++) value[j][n] = all[j];
                }
                assert_vec_close(dN, kd_vec(slope_of(value[0]), slope_of(value[1]), slope_of(value[2])), 1e-7);
                assert_vec_close(dF, kd_vec(slope_of(value[3]), slope_of(value[4]), slope_of(value[5])), 1e-7);
            }
        }
        couple_destroy(&c);
    }
}

// What is said to be one number of the relative motion, or one component of a load, is that
static void test_places(void **state)
{
    (void)state;
    int plain = 0;
    for (uint64_t i = 0; i < COUPLES; i++) {
        couple c = {0};
        couple_create(&c, i);
        couple_go(&c);
        const double *number = (const double *)&c.rel;
        for (int k = 0; k < KINDS; k++) {
            kd_vec3   N, F;
            const int value = kd_measure_place(&kinds[k], 0), rate = kd_measure_place(&kinds[k], 1);
            const int along = kd_measure_component(&kinds[k]);
            if (value >= 0) assert_true(number[value] == kd_measure_value(&kinds[k], &c.rel, NAN));
            if (rate >= 0) assert_true(number[rate] == kd_measure_rate(&kinds[k], &c.rel));
            plain += (value >= 0) + (rate >= 0) + (along >= 0);
            if (!is_regular(&kinds[k], &c.rel)) continue;
            kd_measure_gradient(&kinds[k], &c.rel, &N, &F);
            const double all[6] = {N.x, N.y, N.z, F.x, F.y, F.z};
            for (int j = 0; along >= 0 && j < 6; j++) assert_true(all[j] == (j == along));
            assert_near(kd_measure_rate(&kinds[k], &c.rel), jet_at(&kinds[k], &c.rel, NAN).x1, 1e-12);
        }
        couple_destroy(&c);
    }
    assert_int_equal(plain, COUPLES * 11); // 5 values, 3 rates, 3 components
}

// A rotation vector that is kept for a position is the one that is found each time: value, rate, gradient.
static void test_kept_rotation(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < COUPLES; i++) {
        couple         c = {0};
        kd_rotation_at at;
        couple_create(&c, i);
        couple_go(&c);
        kd_relative kept = c.rel;
        kd_rotation_find(&c.rel, &at);
        kept.turn = &at;
        for (int k = 0; k < KINDS; k++) {
            kd_vec3 N, F, N_kept, F_kept;
            if (kinds[k].kind != KD_MEASURE_ROTATION) continue;
            kd_measure_gradient(&kinds[k], &c.rel, &N, &F);
            kd_measure_gradient(&kinds[k], &kept, &N_kept, &F_kept);
            assert_vec_close(N_kept, N, 1e-15);
            assert_near(kd_measure_value(&kinds[k], &kept, NAN), jet_at(&kinds[k], &c.rel, NAN).x, 1e-15);
            assert_near(kd_measure_rate(&kinds[k], &kept), kd_measure_rate(&kinds[k], &c.rel), 1e-14);
        }
        couple_destroy(&c);
    }
}

// An angle is continued on the turn closest to the one that is given.
static void test_turns(void **state)
{
    const kd_measure angle = {KD_MEASURE_ANGLE, .sine = {1, 0, 1}, .cosine = {0, 0, 1}, .turns = 0};
    (void)state;
    for (double a = -20.0; a < 20.0; a += 0.7) {
        kd_relative rel = {.C = kd_quat_matrix((kd_quat){cos(0.5 * a), 0, 0, sin(0.5 * a)})};
        assert_near(jet_at(&angle, &rel, a + 3.0).x, a, 1e-14);
        assert_near(jet_at(&angle, &rel, a - 3.0).x, a, 1e-14);
        assert_true(fabs(jet_at(&angle, &rel, NAN).x) <= KD_PI);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_time), cmocka_unit_test(test_along_dofs),    cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_places),  cmocka_unit_test(test_kept_rotation), cmocka_unit_test(test_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
