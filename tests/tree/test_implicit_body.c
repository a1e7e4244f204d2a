// tests/tree/test_implicit_body.c: Newton steps eliminated along the tree against the full matrices.
#include "tree/implicit_body.h"
#include "tree/random_tree.h"

#include <complex.h>

// M, R_v, R_x with forces inside of the joints, dense
typedef struct full_matrices {
    double *M, *V, *X;
} full_matrices;

static full_matrices full_of(sample *s, kd_implicit_body *body)
{
    const kd_tree *t = &s->tree;
    const int      n = t->nv;
    full_matrices  f = {kd_cut_double(&s->arena, n * n), kd_cut_double(&s->arena, n * n),
                        kd_cut_double(&s->arena, n * n)};
    kd_tree_residual_derivatives(t, &s->m, s->dx, s->ddx, s->values, s->values2);
    to_dense(t, s->values, f.X);
    to_dense(t, s->values2, f.V);
    kd_tree_mass_dense(t, &s->m, f.M);
    // forces inside of the joints
    for (int i = 1; i < t->nlinks; i++) {
        const int first = t->link_v[i], m = t->link_v[i + 1] - first, at = kd_implicit_body_block(body, i);
        for (int k = 0; k < m * m; k++) {
            f.X[first + k % m + (first + k / m) * n] += kd_implicit_body_by_position(body)[at + k];
            f.V[first + k % m + (first + k / m) * n] += kd_implicit_body_by_velocity(body)[at + k];
        }
    }
    return f;
}

static kd_implicit_body *body_of(sample *s, uint64_t *seed)
{
    const kd_tree    *t = &s->tree;
    kd_implicit_body *body = kd_implicit_body_create(t);
    assert_non_null(body);
    sample_accelerate(s);
    kd_implicit_body_set(body, &s->m, s->dx, s->ddx);
    const int count =
        kd_implicit_body_block(body, t->nlinks - 1) +
        (t->link_v[t->nlinks] - t->link_v[t->nlinks - 1]) * (t->link_v[t->nlinks] - t->link_v[t->nlinks - 1]);
    random_fill(count, kd_implicit_body_by_position(body), 1, seed);
    random_fill(count, kd_implicit_body_by_velocity(body), 1, seed);
    return body;
}

// gamma d - dv = rho,  M (gamma dv - r) + V dv + X d = 0
static void check_solution(const sample *s, const full_matrices *f, double complex gamma, const double complex *rho,
                           const double complex *r, const double complex *d, const double complex *dv)
{
    const int n = s->tree.nv;
    for (int i = 0; i < n; i++) {
        double complex sum = 0, kinematic = gamma * d[i] - dv[i] - rho[i];
        double         size = 1;
        for (int j = 0; j < n; j++) {
            const int            at = i + j * n;
            const double complex a = gamma * dv[j] - r[j];
            sum += f->M[at] * a + f->V[at] * dv[j] + f->X[at] * d[j];
            size += cabs(f->M[at] * a) + cabs(f->V[at] * dv[j]) + cabs(f->X[at] * d[j]);
        }
        if (!(cabs(sum) <= 1e-11 * size)) fail_msg("row %d of %d: %g beside %g", i, n, cabs(sum), size);
        assert_true(cabs(kinematic) <= 1e-13 * (1 + cabs(gamma * d[i]) + cabs(dv[i])));
    }
}

static void check(sample *s, double complex gamma, uint64_t *seed)
{
    const int         n = s->tree.nv;
    kd_implicit_body *body = body_of(s, seed);
    full_matrices     f = full_of(s, body);
    double           *b = kd_cut_double(&s->arena, 8 * n);
    double complex   *z = kd_arena_cut(&s->arena, (size_t)(4 * n), sizeof *z);
    const bool        real = cimag(gamma) == 0;
    random_fill(4 * n, b, 1, seed);
    for (int i = 0; i < 2 * n; i++) z[i] = b[i] + (real ? 0 : b[2 * n + i] * I);
    assert_true(kd_implicit_body_factor(body, creal(gamma), cimag(gamma)));
    kd_implicit_body_solve(body, b, real ? NULL : b + 2 * n);
    for (int i = 0; i < 2 * n; i++) z[2 * n + i] = b[i] + (real ? 0 : b[2 * n + i] * I);
    check_solution(s, &f, gamma, z, z + n, z + 2 * n, z + 3 * n);
    kd_implicit_body_destroy(body);
}

// All joints whose words do not fold, trees of all shapes, with prescribed dofs: real and complex coefficients.
static void test_solutions(void **state)
{
    (void)state;
    sample   s;
    uint64_t seed = 5;
    int      count = 0;
    for (int n = 0; sample_next(&n, &s); sample_destroy(&s)) {
        if (!kd_implicit_body_fits(&s.tree)) continue;
        check(&s, 30, &seed);
        check(&s, 20 + 25 * I, &seed);
        count++;
    }
    assert_true(count > 50);
}

// Real and complex factors live side by side: the one does not disturb the other.
static void test_side_by_side(void **state)
{
    (void)state;
    const kd_joint_kind joints[] = {KD_REVOLUTE, KD_UNIVERSAL};
    sample              s;
    uint64_t            seed = 9;
    sample_create(&s, 12, BRANCHED, 2, joints, 0, &seed);
    const int         n = s.tree.nv;
    kd_implicit_body *body = body_of(&s, &seed);
    double           *b = kd_cut_double(&s.arena, 2 * n), *c = kd_cut_double(&s.arena, 4 * n);
    double           *first = kd_cut_double(&s.arena, 2 * n);
    random_fill(2 * n, b, 1, &seed);
    random_fill(4 * n, c, 1, &seed);
    memcpy(first, b, (size_t)(2 * n) * sizeof *b);
    assert_true(kd_implicit_body_factor(body, 10, 0));
    kd_implicit_body_solve(body, first, NULL);
    assert_true(kd_implicit_body_factor(body, 10, 12));
    kd_implicit_body_solve(body, c, c + 2 * n);
    kd_implicit_body_solve(body, b, NULL);
    assert_memory_equal(b, first, (size_t)(2 * n) * sizeof *b);
    kd_implicit_body_destroy(body);
    sample_destroy(&s);
}

// Bodies without mass give no pivots where the joint has no spring either: that is told.
static void test_singular(void **state)
{
    (void)state;
    const kd_joint_kind joints[] = {KD_REVOLUTE};
    sample              s;
    uint64_t            seed = 3;
    sample_create(&s, 4, CHAIN, 1, joints, 0, &seed);
    s.tree.link[3].mass = 0;
    s.tree.link[3].inertia = (kd_sym3){0};
    sample_accelerate(&s);
    kd_implicit_body *body = kd_implicit_body_create(&s.tree);
    assert_non_null(body);
    kd_implicit_body_set(body, &s.m, s.dx, s.ddx);
    assert_false(kd_implicit_body_factor(body, 10, 0));
    assert_false(kd_implicit_body_factor(body, 10, 5));
    kd_implicit_body_destroy(body);
    sample_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solutions),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_singular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
