// tests/tree/test_articulated_body.c: accelerations of the explicit formalism against the residual formalism.
#include "tree/random_tree.h"

// out = explicit accelerations for the forces tau; prescribed ones as in s->ddx
static bool explicit(sample *s, const double *tau, const kd_wrench *load, double *out, int *bad)
{
    memset(out, 0, (size_t)s->tree.ndof * sizeof *out);
    for (int k = 0; k < s->tree.ndof; k++)
        if (s->tree.dof_v[k] < 0) out[k] = s->ddx[k];
    kd_tree_place(&s->tree, s->x, &s->m);
    kd_tree_move(&s->tree, s->dx, &s->m);
    return kd_tree_explicit(&s->tree, &s->m, s->dx, s->g, load, tau, out, bad);
}

// explicit(residual(a)) = a with loads, for all joints and shapes; dw and dv are those of the accelerations.
static void test_inverse_of_residual(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) {
        const size_t    size = (size_t)s.tree.nlinks * sizeof *s.m.link;
        kd_link_motion *motion = kd_arena_cut(&s.arena, (size_t)s.tree.nlinks, sizeof *motion);
        int             bad;
        sample_accelerate(&s);
        kd_tree_residual(&s.tree, &s.m, s.load, s.tau);
        memcpy(motion, s.m.link, size);
        memset(s.m.link + 1, 0, size - sizeof *motion);
        assert_true(explicit(&s, s.tau, s.load, s.other, &bad));
        assert_close(s.tree.ndof, s.other, s.ddx, 1e-11);
        for (int i = 0; i < s.tree.nlinks; i++) {
            assert_vec_close(s.m.link[i].dw, motion[i].dw, 1e-10);
            assert_vec_close(s.m.link[i].dv, motion[i].dv, 1e-10);
        }
    }
}

// Without forces in the joints (NULL) the residual of the accelerations is zero.
static void test_free_motion(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) {
        int bad;
        assert_true(explicit(&s, NULL, NULL, s.ddx, &bad));
        kd_tree_inverse_dynamics(&s.tree, s.x, s.dx, s.ddx, s.g, NULL, &s.m, s.tau);
        memset(s.other, 0, (size_t)s.tree.ndof * sizeof(double));
        for (int k = 0; k < s.tree.ndof; k++)
            if (s.tree.dof_v[k] < 0) s.tau[k] = 0; // what holds a prescribed dof
        assert_close(s.tree.ndof, s.tau, s.other, 3e-10);
    }
}

// A free body falls with g, turns by Euler's equations.
static void test_free_fall(void **state)
{
    (void)state;
    const kd_joint_kind joint = KD_FREE;
    uint64_t            seed = 5;
    sample              s;
    int                 bad;
    sample_create(&s, 2, SINGLE, 1, &joint, 0, &seed);
    kd_link *l = &s.tree.link[1];
    l->E = kd_mat_identity();
    l->centre = kd_vec(0, 0, 0);
    l->inertia = (kd_sym3){.xx = 1, .yy = 2, .zz = 2.5};
    assert_true(explicit(&s, NULL, NULL, s.ddx, &bad));
    const double *w = s.dx + 3;
    const double  wanted[6] = {
         s.g.x, s.g.y, s.g.z, (2 - 2.5) / 1 * w[1] * w[2], (2.5 - 1) / 2 * w[2] * w[0], (1 - 2) / 2.5 * w[0] * w[1]};
    assert_close(6, s.ddx, wanted, 1e-14);
    sample_destroy(&s);
}

// A massless tip leaves its dof without acceleration: that dof is named, whatever the kind of joint.
static void test_massless_tip(void **state)
{
    (void)state;
    for (int kind = 1; kind < ALL_JOINTS; kind++) {
        uint64_t            seed = 11;
        sample              s;
        int                 bad = -1;
        const kd_joint_kind joint = (kd_joint_kind)kind;
        sample_create(&s, 4, CHAIN, 1, &joint, 0, &seed);
        kd_link *tip = &s.tree.link[3];
        tip->mass = 0;
        tip->inertia = (kd_sym3){0};
        assert_false(explicit(&s, NULL, NULL, s.ddx, &bad));
        assert_int_equal(s.tree.dof_link[bad], 3);
        sample_destroy(&s);
    }
}

// A mass point has no inertia about axes through it: the rounding of the rotated tensor is no pivot.
static void test_mass_point(void **state)
{
    (void)state;
    const kd_joint_kind joint = KD_SPHERICAL;
    uint64_t            seed = 12;
    sample              s;
    int                 bad = -1;
    sample_create(&s, 3, CHAIN, 1, &joint, 0, &seed);
    kd_link *tip = &s.tree.link[2];
    tip->centre = kd_vec(0.3, 0.4, -0.7);
    tip->inertia = kd_sym_steiner(&(kd_sym3){0}, tip->mass, tip->centre);
    assert_false(explicit(&s, NULL, NULL, s.ddx, &bad));
    assert_int_equal(s.tree.dof_link[bad], 2);
    sample_destroy(&s);
}

// A massless link between two bodies is no obstacle.
static void test_massless_middle(void **state)
{
    (void)state;
    const kd_joint_kind joint = KD_REVOLUTE;
    uint64_t            seed = 13;
    sample              s;
    int                 bad;
    sample_create(&s, 4, CHAIN, 1, &joint, 0, &seed);
    s.tree.link[2].mass = 0;
    s.tree.link[2].inertia = (kd_sym3){0};
    kd_tree_inverse_dynamics(&s.tree, s.x, s.dx, s.ddx, s.g, s.load, &s.m, s.tau);
    assert_true(explicit(&s, s.tau, s.load, s.other, &bad));
    assert_close(3, s.other, s.ddx, 1e-12);
    sample_destroy(&s);
}

// A position that is not a number is not accepted.
static void test_not_finite(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) {
        int bad = -1;
        if (s.tree.nv == 0) continue;
        for (int k = 0; k < s.tree.nposition; k++) s.x[k] = NAN;
        const kd_joint_kind kind = s.tree.link[s.tree.dof_link[s.tree.v_dof[0]]].kind;
        if (kind == KD_PRISMATIC) continue; // its inertia does not depend on x
        assert_false(explicit(&s, NULL, NULL, s.ddx, &bad));
        assert_true(bad >= 0 && bad < s.tree.ndof);
    }
}

// A long spatial chain stays well conditioned: 512 links, error near rounding.
static void test_long_chain(void **state)
{
    (void)state;
    const kd_joint_kind joint = KD_REVOLUTE;
    uint64_t            seed = 21;
    sample              s;
    int                 bad;
    sample_create(&s, 513, CHAIN, 1, &joint, 0, &seed);
    kd_tree_inverse_dynamics(&s.tree, s.x, s.dx, s.ddx, s.g, s.load, &s.m, s.tau);
    assert_true(explicit(&s, s.tau, s.load, s.other, &bad));
    assert_close(s.tree.ndof, s.other, s.ddx, 1e-8);
    sample_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inverse_of_residual), cmocka_unit_test(test_free_motion),
        cmocka_unit_test(test_free_fall),           cmocka_unit_test(test_massless_tip),
        cmocka_unit_test(test_mass_point),          cmocka_unit_test(test_massless_middle),
        cmocka_unit_test(test_not_finite),          cmocka_unit_test(test_long_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
