// tests/tree/test_composite_body.c: the mass matrix against the residual, the kinetic energy and itself.
#include "tree/random_tree.h"

// tau for the accelerations in s->other, without velocities, loads and gravity
static void inertia_forces(sample *s, double *tau)
{
    memset(s->e, 0, (size_t)s->tree.ndof * sizeof *s->e);
    kd_tree_move(&s->tree, s->e, &s->m);
    kd_tree_accelerate(&s->tree, s->e, s->other, kd_vec(0, 0, 0), &s->m);
    kd_tree_residual(&s->tree, &s->m, NULL, tau);
}

// Column l is the residual of a unit acceleration; M is symmetric; the dense form has the same entries.
static void test_columns(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) {
        const kd_tree *t = &s.tree;
        double        *M = kd_cut_double(&s.arena, t->nv * t->nv), *column = kd_cut_double(&s.arena, t->nv);
        kd_tree_place(t, s.x, &s.m);
        kd_tree_mass(t, &s.m, s.values);
        kd_tree_mass_dense(t, &s.m, s.M);
        to_dense(t, s.values, M);
        assert_close(t->nv * t->nv, s.M, M, 1e-15);
        for (int l = 0; l < t->nv; l++) {
            memset(s.other, 0, (size_t)t->ndof * sizeof *s.other);
            s.other[t->v_dof[l]] = 1;
            inertia_forces(&s, s.tau);
            for (int k = 0; k < t->nv; k++) column[k] = s.tau[t->v_dof[k]];
            assert_close(t->nv, M + l * t->nv, column, 1e-13);
            for (int k = 0; k < l; k++) assert_close(1, &M[k + l * t->nv], &M[l + k * t->nv], 1e-13);
        }
    }
}

// Kinetic energy: 1/2 v'M v is the sum over all bodies.
static void test_kinetic_energy(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) {
        const kd_tree *t = &s.tree;
        double         T = 0, sum = 0;
        for (int k = 0; k < t->ndof; k++)
            if (t->dof_v[k] < 0) s.dx[k] = 0;
        kd_tree_place(t, s.x, &s.m);
        kd_tree_move(t, s.dx, &s.m);
        kd_tree_mass_dense(t, &s.m, s.M);
        for (int l = 0; l < t->nv; l++)
            for (int k = 0; k < t->nv; k++) T += 0.5 * s.dx[t->v_dof[k]] * s.M[k + l * t->nv] * s.dx[t->v_dof[l]];
        for (int i = 1; i < t->nlinks; i++) {
            const kd_link        *l = &t->link[i];
            const kd_link_motion *m = &s.m.link[i];
            const kd_vec3         c = kd_mat_vec(&m->R, l->centre), w = kd_mat_tvec(&m->R, m->w);
            if (l->wide) sum += kd_wide_energy(l->wide, &s.m.work->wide[l->state], w, kd_mat_tvec(&m->R, m->v));
            sum += 0.5 * l->mass * kd_vec_dot(m->v, m->v) + 0.5 * kd_vec_dot(w, kd_sym_vec(&l->inertia, w)) +
                   l->mass * kd_vec_dot(m->v, kd_vec_cross(m->w, c));
        }
        assert_close(1, &T, &sum, 1e-13);
    }
}

// M (a - b) is the difference of two residuals at the same motion: d(residual)/da = M.
static void test_derivative_by_acceleration(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) {
        const kd_tree *t = &s.tree;
        double        *difference = kd_cut_double(&s.arena, t->nv), *product = kd_cut_double(&s.arena, t->nv);
        kd_tree_inverse_dynamics(t, s.x, s.dx, s.ddx, s.g, s.load, &s.m, s.tau);
        for (int l = 0; l < t->nv; l++) s.ddx[t->v_dof[l]] += s.dx[t->v_dof[l]];
        kd_tree_inverse_dynamics(t, s.x, s.dx, s.ddx, s.g, s.load, &s.m, s.other);
        kd_tree_place(t, s.x, &s.m);
        kd_tree_mass(t, &s.m, s.values);
        for (int l = 0; l < t->nv; l++) {
            difference[l] = s.other[t->v_dof[l]] - s.tau[t->v_dof[l]];
            for (int k = t->column[l]; k < t->column[l + 1]; k++) product[t->row[k]] += s.values[k] * s.dx[t->v_dof[l]];
        }
        assert_close(t->nv, product, difference, 1e-12);
    }
}

// The first tips of a long chain keep their digits although the ground is far away.
static void test_long_chain(void **state)
{
    (void)state;
    const kd_joint_kind joint = KD_REVOLUTE;
    uint64_t            seed = 9;
    sample              s;
    sample_create(&s, 513, CHAIN, 1, &joint, 0, &seed);
    const int nv = s.tree.nv;
    for (int i = 1; i < s.tree.nlinks; i++) { // straight: as long as possible
        s.tree.link[i].E = kd_mat_identity();
        s.tree.link[i].r = kd_vec(1, 0, 0);
        s.x[i - 1] = 0;
    }
    kd_tree_place(&s.tree, s.x, &s.m);
    kd_tree_mass_dense(&s.tree, &s.m, s.M);
    const double wanted = s.tree.link[nv].inertia.zz;
    assert_close(1, &s.M[nv * nv - 1], &wanted, 1e-12);
    sample_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_kinetic_energy),
        cmocka_unit_test(test_derivative_by_acceleration),
        cmocka_unit_test(test_long_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
