// tests/tree/test_newton_euler_derivatives.c: analytic derivatives of the residual against central differences.
#include "tree/random_tree.h"

#include <float.h>

static void residual(sample *s, const double *x, const double *dx, double *tau)
{
    kd_tree_place(&s->tree, x, &s->m);
    kd_tree_move(&s->tree, dx, &s->m);
    kd_tree_accelerate(&s->tree, dx, s->ddx, s->g, &s->m);
    kd_tree_residual(&s->tree, &s->m, NULL, tau);
}

// tau at the point moved by h along dof k, in position or velocity
static void moved(sample *s, bool position, int k, double h, double *tau)
{
    if (position) {
        memset(s->e, 0, (size_t)s->tree.ndof * sizeof *s->e);
        s->e[k] = h;
        kd_tree_oplus(&s->tree, s->x, s->e, s->x2);
        residual(s, s->x2, s->dx, tau);
    } else {
        const double old = s->dx[k];
        s->dx[k] = old + h;
        residual(s, s->x, s->dx, tau);
        s->dx[k] = old;
    }
}

// dense matrix (nv x nv) of central differences
static void differences(sample *s, bool position, double h, double *D)
{
    const kd_tree *t = &s->tree;
    for (int l = 0; l < t->nv; l++) {
        moved(s, position, t->v_dof[l], h, s->tau);
        moved(s, position, t->v_dof[l], -h, s->other);
        for (int k = 0; k < t->nv; k++) D[k + l * t->nv] = (s->tau[t->v_dof[k]] - s->other[t->v_dof[k]]) / (2 * h);
    }
}

static void check(sample *s, bool position)
{
    const kd_tree *t = &s->tree;
    const double   h = cbrt(DBL_EPSILON);
    double        *D = kd_cut_double(&s->arena, t->nv * t->nv);
    differences(s, position, h, s->M);
    sample_accelerate(s);
    kd_tree_residual_derivatives(t, &s->m, s->dx, s->ddx, s->values, s->values2);
    to_dense(t, position ? s->values : s->values2, D);
    assert_close(t->nv * t->nv, D, s->M, 30 * h * h);
}

// By increments of the positions, all joints, trees of all shapes.
static void test_by_position(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) check(&s, true);
}

// By the velocities.
static void test_by_velocity(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) check(&s, false);
}

// Neither the residual nor the motion are changed by asking for derivatives, and asking again gives the same bits.
static void test_no_side_effects(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) {
        const size_t size = (size_t)s.tree.column[s.tree.nv] * sizeof(double);
        double      *p = kd_cut_double(&s.arena, s.tree.column[s.tree.nv]);
        double      *v = kd_cut_double(&s.arena, s.tree.column[s.tree.nv]);
        sample_accelerate(&s);
        kd_tree_residual(&s.tree, &s.m, s.load, s.tau);
        kd_tree_residual_derivatives(&s.tree, &s.m, s.dx, s.ddx, s.values, s.values2);
        kd_tree_residual(&s.tree, &s.m, s.load, s.other);
        assert_memory_equal(s.tau, s.other, (size_t)s.tree.ndof * sizeof(double));
        kd_tree_residual_derivatives(&s.tree, &s.m, s.dx, s.ddx, p, v);
        assert_memory_equal(p, s.values, size);
        assert_memory_equal(v, s.values2, size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_position),
        cmocka_unit_test(test_by_velocity),
        cmocka_unit_test(test_no_side_effects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
