// tests/tree/test_newton_euler.c: the residual formalism against sums over all bodies, energy, and invariance.
#include "tree/random_tree.h"

// ---- second formulation: forces at the centres of mass, Jourdain's principle ---------------------------------------

typedef struct body_state {
    kd_vec3 c, v, a; // centre of mass; a relative to free fall
    kd_sym3 J;       // about it, world axes
} body_state;

static body_state centre_of(const kd_link *l, const kd_link_motion *m)
{
    const kd_vec3 c = kd_mat_vec(&m->R, l->centre);
    const kd_sym3 central = kd_sym_steiner(&l->inertia, -l->mass, l->centre);
    return (body_state){
        .c = kd_vec_add(m->P, c),
        .v = kd_vec_add(m->v, kd_vec_cross(m->w, c)),
        .a = kd_vec_add(kd_vec_add(m->dv, kd_vec_cross(m->dw, c)), kd_vec_cross(m->w, kd_vec_cross(m->w, c))),
        .J = kd_sym_rotate(&m->R, &central),
    };
}

// tau_k = sum over the bodies of the subtree: (dv_c/dx_k)'(m a_c - F) + (dw/dx_k)'(J dw + w x J w - N_c)
static void sum_over_bodies(const sample *s, const kd_wrench *load, double *tau)
{
    for (int k = 0; k < s->tree.ndof; k++) {
        const int      i = s->tree.dof_link[k];
        const kd_axis *S = &s->m.axis[k];
        tau[k] = 0;
        for (int j = i; j < s->tree.link[i].end; j++) {
            const kd_link_motion *m = &s->m.link[j];
            const body_state      b = centre_of(&s->tree.link[j], m);
            const kd_vec3         u = kd_vec_add(S->u, kd_vec_cross(S->w, kd_vec_sub(b.c, s->m.link[i].P)));
            kd_vec3               F = kd_vec_scale(s->tree.link[j].mass, b.a);
            kd_vec3               N = kd_vec_add(kd_sym_vec(&b.J, m->dw), kd_vec_cross(m->w, kd_sym_vec(&b.J, m->w)));
            if (load) {
                F = kd_vec_sub(F, load[j].F);
                N = kd_vec_sub(N, kd_vec_add(load[j].N, kd_vec_cross(kd_vec_sub(m->P, b.c), load[j].F)));
            }
            tau[k] += kd_vec_dot(u, F) + kd_vec_dot(S->w, N);
        }
    }
}

// The recursion gives the sum over all bodies, with and without loads.
static void test_sum_over_bodies(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next(&n, &s); sample_destroy(&s)) {
        const kd_wrench *load = n % 3 == 0 ? NULL : s.load;
        sample_accelerate(&s);
        kd_tree_residual(&s.tree, &s.m, load, s.tau);
        sum_over_bodies(&s, load, s.other);
        assert_close(s.tree.ndof, s.tau, s.other, 1e-13);
    }
}

// All passes at once give what the single passes give.
static void test_at_once(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next(&n, &s); sample_destroy(&s)) {
        const kd_wrench *load = n % 3 == 0 ? NULL : s.load;
        sample_accelerate(&s);
        kd_tree_residual(&s.tree, &s.m, load, s.tau);
        kd_tree_inverse_dynamics(&s.tree, s.x, s.dx, s.ddx, s.g, load, &s.m, s.other);
        assert_close(s.tree.ndof, s.other, s.tau, 1e-13);
    }
}

// ---- laws ----------------------------------------------------------------------------------------------------------

static double energy(sample *s, double h)
{
    double sum = 0;
    for (int k = 0; k < s->tree.ndof; k++) {
        s->e[k] = h * s->dx[k] + 0.5 * h * h * s->ddx[k];
        s->other[k] = s->dx[k] + h * s->ddx[k];
    }
    kd_tree_oplus(&s->tree, s->x, s->e, s->x2);
    kd_tree_place(&s->tree, s->x2, &s->m);
    kd_tree_move(&s->tree, s->other, &s->m);
    for (int i = 1; i < s->tree.nlinks; i++) {
        const kd_link_motion *m = &s->m.link[i];
        const body_state      b = centre_of(&s->tree.link[i], m);
        sum += 0.5 * kd_vec_dot(m->w, kd_sym_vec(&b.J, m->w)) +
               s->tree.link[i].mass * (0.5 * kd_vec_dot(b.v, b.v) - kd_vec_dot(s->g, b.c));
    }
    return sum;
}

// The power of the joint forces is the rate of kinetic and potential energy.
static void test_power(void **state)
{
    (void)state;
    const double h = 1e-5;
    sample       s;
    for (int n = 0; sample_next(&n, &s); sample_destroy(&s)) {
        double       power = 0;
        const double rate = (energy(&s, h) - energy(&s, -h)) / (2 * h);
        kd_tree_inverse_dynamics(&s.tree, s.x, s.dx, s.ddx, s.g, NULL, &s.m, s.tau);
        for (int k = 0; k < s.tree.ndof; k++) power += s.dx[k] * s.tau[k];
        assert_close(1, &rate, &power, 1e-7);
    }
}

// The force at the ground is the mass times the acceleration of the centre of mass, minus all weights and loads.
static void test_momentum(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next(&n, &s); sample_destroy(&s)) {
        kd_vec3 F = {0, 0, 0}, N = {0, 0, 0};
        sample_accelerate(&s);
        kd_tree_residual(&s.tree, &s.m, s.load, s.tau);
        for (int i = 1; i < s.tree.nlinks; i++) {
            const kd_link_motion *m = &s.m.link[i];
            const body_state      b = centre_of(&s.tree.link[i], m);
            const kd_vec3         f = kd_vec_scale(s.tree.link[i].mass, b.a);
            F = kd_vec_add(F, kd_vec_sub(f, s.load[i].F));
            N = kd_vec_add(N, kd_vec_add(kd_sym_vec(&b.J, m->dw), kd_vec_cross(m->w, kd_sym_vec(&b.J, m->w))));
            N = kd_vec_add(N, kd_vec_cross(b.c, f));
            N = kd_vec_sub(N, kd_vec_add(s.load[i].N, kd_vec_cross(m->P, s.load[i].F)));
        }
        assert_vec_close(s.m.reaction[0].F, F, 1e-13);
        assert_vec_close(s.m.reaction[0].N, N, 1e-13);
    }
}

// The reaction of a free joint is what the loads lack, and tau is its part along the axes.
static void test_reaction(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next(&n, &s); sample_destroy(&s)) {
        sample_accelerate(&s);
        kd_tree_residual(&s.tree, &s.m, s.load, s.tau);
        for (int k = 0; k < s.tree.ndof; k++) {
            const kd_wrench *f = &s.m.reaction[s.tree.dof_link[k]];
            s.other[k] = kd_vec_dot(s.m.axis[k].w, f->N) + kd_vec_dot(s.m.axis[k].u, f->F);
        }
        assert_close(s.tree.ndof, s.tau, s.other, 1e-14);
    }
}

// ---- invariance ----------------------------------------------------------------------------------------------------

// The whole system turned and shifted in space, with gravity: the same forces.
static void test_shift_in_space(void **state)
{
    (void)state;
    uint64_t seed = 3;
    sample   s;
    for (int n = 0; sample_next(&n, &s); sample_destroy(&s)) {
        const kd_mat3 Q = random_rotation(&seed);
        const kd_vec3 r = random_vec(3, &seed);
        int           bad;
        kd_tree_inverse_dynamics(&s.tree, s.x, s.dx, s.ddx, s.g, NULL, &s.m, s.tau);
        for (int i = 1; i < s.tree.nlinks; i++) {
            kd_link *l = &s.tree.link[i];
            if (l->parent != 0) continue;
            l->E = kd_mat_mul(&Q, &l->E);
            l->r = kd_vec_add(kd_mat_vec(&Q, l->r), r);
        }
        s.g = kd_mat_vec(&Q, s.g);
        kd_tree_inverse_dynamics(&s.tree, s.x, s.dx, s.ddx, s.g, NULL, &s.m, s.other);
        assert_close(s.tree.ndof, s.other, s.tau, 1e-13);
        memcpy(s.e, s.ddx, (size_t)s.tree.ndof * sizeof(double));
        kd_tree_place(&s.tree, s.x, &s.m);
        kd_tree_move(&s.tree, s.dx, &s.m);
        assert_true(kd_tree_explicit(&s.tree, &s.m, s.dx, s.g, NULL, s.tau, s.e, &bad));
        assert_close(s.tree.ndof, s.e, s.ddx, 1e-11);
    }
}

// copy the subtrees of link i in the reverse order of branches; old[new] is the number in the source
static int copy_reversed(const kd_tree *from, int i, int parent, kd_tree *to, int *old, int next)
{
    const int own = next++;
    to->link[own] = from->link[i];
    to->link[own].parent = parent;
    old[own] = i;
    for (int j = from->link[i].end - 1; j > i; j--)
        if (from->link[j].parent == i) next = copy_reversed(from, j, own, to, old, next);
    return next;
}

// Branches in another order: the same forces, accelerations and loads at other places.
static void test_order_of_branches(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next(&n, &s); sample_destroy(&s)) {
        int     old[64], bad;
        sample  r = s;
        kd_tree t = {.nlinks = s.tree.nlinks};
        t.link = kd_arena_cut(&t.arena, (size_t)t.nlinks, sizeof *t.link);
        assert_int_equal(copy_reversed(&s.tree, 0, 0, &t, old, 0), t.nlinks);
        assert_int_equal(kd_tree_finish(&t, NULL), KD_OK);
        r.tree = t;
        r.arena = (kd_arena){0};
        uint64_t seed = 1;
        sample_fill(&r, &seed);
        for (int i = 1; i < t.nlinks; i++) {
            const kd_link *a = &s.tree.link[old[i]], *b = &t.link[i];
            const size_t   size = (size_t)kd_joint_form_of(b->kind).ndof * sizeof(double);
            memcpy(r.x + b->position, s.x + a->position, (size_t)kd_joint_form_of(b->kind).nposition * sizeof(double));
            memcpy(r.dx + b->dof, s.dx + a->dof, size);
            memcpy(r.ddx + b->dof, s.ddx + a->dof, size);
            r.load[i] = s.load[old[i]];
        }
        kd_tree_inverse_dynamics(&s.tree, s.x, s.dx, s.ddx, s.g, s.load, &s.m, s.tau);
        kd_tree_inverse_dynamics(&t, r.x, r.dx, r.ddx, s.g, r.load, &r.m, r.tau);
        kd_tree_place(&t, r.x, &r.m);
        kd_tree_move(&t, r.dx, &r.m);
        assert_true(kd_tree_explicit(&t, &r.m, r.dx, s.g, r.load, r.tau, r.other, &bad));
        assert_close(t.ndof, r.other, r.ddx, 3e-11); // rounding in the worst conditioned of these trees
        for (int i = 1; i < t.nlinks; i++)
            assert_close(kd_joint_form_of(t.link[i].kind).ndof, r.tau + t.link[i].dof, s.tau + s.tree.link[old[i]].dof,
                         1e-12);
        sample_destroy(&r);
    }
}

// ---- memory --------------------------------------------------------------------------------------------------------

static void *allocate_nothing(size_t size, void *context)
{
    ++*(int *)context;
    (void)size;
    return NULL;
}
static void release_nothing(void *memory, void *context)
{
    ++*(int *)context;
    (void)memory;
}

// No algorithm allocates.
static void test_no_allocation(void **state)
{
    (void)state;
    sample s;
    int    number = 20, calls = 0, bad;
    assert_true(sample_next(&number, &s));
    kd_set_allocator(&(kd_allocator){allocate_nothing, release_nothing, &calls});
    sample_accelerate(&s);
    kd_tree_residual(&s.tree, &s.m, s.load, s.tau);
    kd_tree_inverse_dynamics(&s.tree, s.x, s.dx, s.ddx, s.g, s.load, &s.m, s.tau);
    assert_true(kd_tree_explicit(&s.tree, &s.m, s.dx, s.g, s.load, s.tau, s.ddx, &bad));
    kd_tree_mass(&s.tree, &s.m, s.values);
    kd_tree_mass_dense(&s.tree, &s.m, s.M);
    kd_tree_residual_derivatives(&s.tree, &s.m, s.dx, s.ddx, s.values, s.values2);
    kd_tree_oplus(&s.tree, s.x, s.dx, s.x2);
    kd_tree_rates(&s.tree, s.x, s.dx, s.x2);
    kd_set_allocator(NULL);
    assert_int_equal(calls, 0);
    sample_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum_over_bodies),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_reaction),
        cmocka_unit_test(test_shift_in_space),
        cmocka_unit_test(test_order_of_branches),
        cmocka_unit_test(test_no_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
