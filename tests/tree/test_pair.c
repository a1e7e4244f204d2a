// tests/tree/test_pair.c: relative motion of two frames, its time derivatives and its changes along all dofs of
// the path against differences; loads against power.
#include "tree/random_pair.h"

enum { COUPLES = 90 };

// the 18 numbers d, C (by columns), omega, d'
static void numbers_of(const kd_relative *r, double *out)
{
    kd_vec_to(r->d, out);
    kd_vec_to(r->C.x, out + 3);
    kd_vec_to(r->C.y, out + 6);
    kd_vec_to(r->C.z, out + 9);
    kd_vec_to(r->omega, out + 12);
    kd_vec_to(r->dd, out + 15);
}

// d', C' = omega x C, alpha and d'' are the time derivatives of d, C, omega and d'.
static void test_time_derivatives(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < COUPLES; i++) {
        couple c = {0};
        double value[4][18], slope[18];
        couple_create(&c, i);
        couple_go(&c);
        for (int k = 0; k < 4; k++) {
            kd_relative later = couple_later(&c, stencil[k]);
            numbers_of(&later, value[k]);
        }
        for (int k = 0; k < 18; k++)
            slope[k] = slope_of((double[]){value[0][k], value[1][k], value[2][k], value[3][k]});
        // the path is exact to second order in time: 1e-6 of third derivatives remains
        assert_vec_close(kd_vec_of(slope), c.rel.dd, 1e-5);
        assert_vec_close(kd_vec_of(slope + 3), kd_vec_cross(c.rel.omega, c.rel.C.x), 1e-5);
        assert_vec_close(kd_vec_of(slope + 6), kd_vec_cross(c.rel.omega, c.rel.C.y), 1e-5);
        assert_vec_close(kd_vec_of(slope + 9), kd_vec_cross(c.rel.omega, c.rel.C.z), 1e-5);
        assert_vec_close(kd_vec_of(slope + 12), c.rel.alpha, 1e-5);
        assert_vec_close(kd_vec_of(slope + 15), c.rel.ddd, 1e-5);
        couple_destroy(&c);
    }
}

static kd_vec3 difference(const kd_relative r[4], size_t offset)
{
    double out[3];
    for (int i = 0; i < 3; i++) {
        double f[4];
        for (int k = 0; k < 4; k++)
            memcpy(&f[k], (const char *)&r[k] + offset + (size_t)i * sizeof(double), sizeof(double));
        out[i] = slope_of(f);
    }
    return kd_vec_of(out);
}

// What an increment of a dof, or of its rate, changes: turn and shift of B, velocities and accelerations.
static void test_changes(void **state)
{
    int carried = 0, fixed = 0, folded = 0, curved = 0; // rotations of spherical and free joints in both directions
    (void)state;
    for (uint64_t i = 0; i < COUPLES; i++) {
        couple c = {0};
        couple_create(&c, i);
        couple_go(&c);
        for (int l = 0; l < c.pair.nsteps; l++) {
            const kd_step  *step = &c.pair.step[l];
            const kd_change along = couple_along(&c, l), *is = &along;
            kd_relative     moved[4], faster[4];
            for (int k = 0; k < 4; k++) {
                moved[k] = couple_moved(&c, step->dof, stencil[k], false);
                faster[k] = couple_moved(&c, step->dof, stencil[k], true);
            }
            assert_vec_close(difference(moved, offsetof(kd_relative, d)), is->u, 1e-9);
            assert_vec_close(difference(moved, offsetof(kd_relative, C.x)), kd_vec_cross(is->w, c.rel.C.x), 1e-9);
            assert_vec_close(difference(moved, offsetof(kd_relative, C.y)), kd_vec_cross(is->w, c.rel.C.y), 1e-9);
            assert_vec_close(difference(moved, offsetof(kd_relative, omega)), is->omega_q, 1e-9);
            assert_vec_close(difference(moved, offsetof(kd_relative, dd)), is->dd_q, 1e-9);
            assert_vec_close(difference(moved, offsetof(kd_relative, alpha)), is->alpha_q, 1e-8);
            assert_vec_close(difference(moved, offsetof(kd_relative, ddd)), is->ddd_q, 1e-8);
            assert_vec_close(difference(faster, offsetof(kd_relative, omega)), is->w, 1e-9);
            assert_vec_close(difference(faster, offsetof(kd_relative, dd)), is->u, 1e-9);
            assert_vec_close(difference(faster, offsetof(kd_relative, alpha)), is->alpha_v, 1e-9);
            assert_vec_close(difference(faster, offsetof(kd_relative, ddd)), is->ddd_v, 1e-9);
            const kd_joint_form *form = &c.s.tree.link[c.s.tree.dof_link[step->dof]].form;
            if (form->ball && form->nscalars == 0) carried += step->carried, fixed += !step->carried;
            folded += form->folds;
            curved += form->curved;
        }
        couple_destroy(&c);
    }
    assert_true(carried > 10 && fixed > 10 && folded > 10 && curved > 10);
}

// Dofs that are not on the path change nothing; those on it lead from a to b, each once.
static void test_path(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < COUPLES; i++) {
        couple c = {0};
        couple_create(&c, i);
        couple_go(&c);
        for (int dof = 0; dof < c.s.tree.ndof; dof++) {
            int on_path = 0;
            for (int l = 0; l < c.pair.nsteps; l++) on_path += c.pair.step[l].dof == dof;
            const kd_link *own = &c.s.tree.link[c.s.tree.dof_link[dof]];
            assert_true(on_path <= (own->wide         ? 24
                                    : own->form.folds ? 2
                                                      : 1)); // letters of markers: six, of two bodies
            if (on_path) continue;
            kd_relative moved = couple_moved(&c, dof, 0.3, false);
            assert_vec_close(moved.d, c.rel.d, 1e-13);
            assert_vec_close(moved.C.x, c.rel.C.x, 1e-13);
            assert_vec_close(moved.alpha, c.rel.alpha, 1e-12);
            assert_vec_close(moved.ddd, c.rel.ddd, 1e-12);
        }
        for (int l = 1; l < c.pair.nsteps; l++) assert_true(c.pair.step[l].block >= c.pair.step[l - 1].block);
        couple_destroy(&c);
    }
}

// The power of a load on the links is N . omega + F . d', whatever the links do otherwise.
static void test_load(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < COUPLES; i++) {
        couple   c = {0};
        uint64_t seed = i + 5;
        couple_create(&c, i);
        couple_go(&c);
        c.rel = couple_at(&c, c.s.x, c.s.dx, c.s.ddx);
        kd_vec3 N = random_vec(1, &seed), F = random_vec(1, &seed);
        memset(c.s.load, 0, (size_t)c.s.tree.nlinks * sizeof *c.s.load);
        kd_pair_load(&c.pair, &c.s.m, &c.rel, &(kd_wrench){N, F}, c.s.load);
        double power = 0.0;
        for (int k = 1; k < c.s.tree.nlinks; k++)
            power += kd_vec_dot(c.s.load[k].F, c.s.m.link[k].v) + kd_vec_dot(c.s.load[k].N, c.s.m.link[k].w);
        double wanted = kd_vec_dot(N, c.rel.omega) + kd_vec_dot(F, c.rel.dd);
        assert_close(1, &power, &wanted, 1e-12);
        couple_destroy(&c);
    }
}

// The first-order changes alone are those that come with the second-order ones.
static void test_rates(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < COUPLES; i++) {
        couple c = {0};
        couple_create(&c, i);
        couple_go(&c);
        for (int l = 0; l < c.pair.nsteps; l++) {
            kd_vec3 omega_q = c.change[l].omega_q, dd_q = c.change[l].dd_q;
            c.change[l].omega_q = c.change[l].dd_q = kd_vec(NAN, NAN, NAN);
            kd_pair_rates(&c.pair, &c.s.tree, &c.s.m, &c.rel, c.s.dx, c.change);
            assert_vec_close(c.change[l].omega_q, omega_q, 1e-13);
            assert_vec_close(c.change[l].dd_q, dd_q, 1e-13);
        }
        couple_destroy(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_derivatives),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
