// tests/tree/test_wide.c: links that deform: inertia against sums over points of mass, energy, markers, rigid limit, refusals.
#include "tree/random_tree.h"

// ---- a body of few points of mass ------------------------------------------------------------------------------------

enum { NODES = 6, MODES = 4 };

typedef struct points {
    double   mass[NODES], x[NODES][3], phi[NODES][3 * MODES];
    kd_wide  moments;
    kd_arena arena;
    double   C[3 * MODES], D[9 * MODES], D_q[9 * MODES * MODES], T[3 * MODES * MODES], M[MODES * MODES];
} points;

static void fill_points(points *b, uint64_t *seed)
{
    *b = (points){.moments = {.m = MODES}};
    kd_wide *c = &b->moments;
    c->C = b->C, c->D = b->D, c->D_q = b->D_q, c->T = b->T, c->M = b->M;
    for (int i = 0; i < NODES; i++) {
        b->mass[i] = 1 + 0.5 * random_number(seed);
        random_fill(3, b->x[i], 1, seed);
        random_fill(3 * MODES, b->phi[i], 0.5, seed);
        c->mass += b->mass[i];
        c->first = kd_vec_axpy(c->first, b->mass[i], kd_vec_of(b->x[i]));
        add_product9(b->mass[i], b->x[i], b->x[i], &c->second.x.x);
        for (int l = 0; l < MODES; l++) {
            const double *phi = b->phi[i] + 3 * l;
            for (int d = 0; d < 3; d++) b->C[3 * l + d] += b->mass[i] * phi[d];
            add_product9(b->mass[i], b->x[i], phi, b->D + 9 * l);
            for (int k = 0; k < MODES; k++) {
                add_product9(b->mass[i], b->phi[i] + 3 * k, phi, b->D_q + 9 * (k + MODES * l));
                b->M[k + MODES * l] += b->mass[i] * kd_vec_dot(kd_vec_of(b->phi[i] + 3 * k), kd_vec_of(phi));
            }
        }
    }
    for (int i = 0; i < MODES * MODES; i++) axial_of(b->D_q + 9 * i, b->T + 3 * i);
    assert_true(kd_wide_finish(c, &b->arena));
}

// a free body that deforms: link 1 floats, link 2 is the wide one
static void create_points(sample *s, const points *b, uint64_t *seed)
{
    *s = (sample){0};
    s->tree.nlinks = 3;
    s->tree.link = kd_arena_cut(&s->tree.arena, 3, sizeof *s->tree.link);
    s->tree.link[1] = (kd_link){.kind = KD_FREE, .E = kd_mat_identity()};
    s->tree.link[2] = (kd_link){.parent = 1, .E = random_rotation(seed), .r = random_vec(1, seed), .wide = &b->moments};
    assert_int_equal(kd_tree_finish(&s->tree, NULL), KD_OK);
    sample_fill(s, seed);
}

static kd_vec3 sum_of(const double *phi, const double *q)
{
    kd_vec3 sum = {0, 0, 0};
    for (int l = 0; l < MODES; l++) sum = kd_vec_axpy(sum, q[l], kd_vec_of(phi + 3 * l));
    return sum;
}

// Inertia forces are sums over the points, each with its own acceleration: no moments are needed there.
static void test_sums_over_points(void **state)
{
    (void)state;
    points b;
    sample s;
    for (uint64_t seed = 1; seed < 40; seed++, sample_destroy(&s), kd_arena_release(&b.arena)) {
        fill_points(&b, &seed);
        create_points(&s, &b, &seed);
        sample_accelerate(&s);
        kd_tree_residual(&s.tree, &s.m, NULL, s.tau);
        const kd_link        *l = &s.tree.link[2];
        const kd_link_motion *m = &s.m.link[2];
        double                expected[6 + MODES] = {0};
        for (int i = 0; i < NODES; i++) {
            const double *q = s.x + l->position, *dq = s.dx + l->dof, *ddq = s.ddx + l->dof;
            const kd_vec3 c = kd_mat_vec(&m->R, kd_vec_add(kd_vec_of(b.x[i]), sum_of(b.phi[i], q)));
            const kd_vec3 u1 = kd_mat_vec(&m->R, sum_of(b.phi[i], dq)), u2 = kd_mat_vec(&m->R, sum_of(b.phi[i], ddq));
            kd_vec3       a = kd_vec_add(kd_vec_add(m->dv, kd_vec_cross(m->dw, c)), u2);
            a = kd_vec_add(a, kd_vec_cross(m->w, kd_vec_axpy(kd_vec_cross(m->w, c), 2, u1)));
            const kd_vec3 f = kd_vec_scale(b.mass[i], a);
            for (int k = 0; k < 6; k++) { // dofs of the free joint, about its point
                const kd_axis *S = &s.m.axis[k];
                const kd_vec3  arm = kd_vec_sub(kd_vec_add(m->P, c), s.m.link[1].P);
                expected[k] += kd_vec_dot(f, kd_vec_add(S->u, kd_vec_cross(S->w, arm)));
            }
            for (int k = 0; k < MODES; k++)
                expected[6 + k] += kd_vec_dot(f, kd_mat_vec(&m->R, kd_vec_of(b.phi[i] + 3 * k)));
        }
        assert_close(6 + MODES, s.tau, expected, 1e-13);
    }
}

// ---- energy ----------------------------------------------------------------------------------------------------------

static double kinetic_energy(sample *s, const double *x, const double *dx)
{
    double T = 0;
    kd_tree_place(&s->tree, x, &s->m);
    kd_tree_mass_dense(&s->tree, &s->m, s->M);
    for (int l = 0; l < s->tree.nv; l++)
        for (int k = 0; k < s->tree.nv; k++) T += 0.5 * dx[k] * s->M[k + l * s->tree.nv] * dx[l];
    return T;
}

// Without loads and gravity the kinetic energy stays: its rate along the motion is zero, with geometric stiffness too.
static void test_energy_stays(void **state)
{
    (void)state;
    const double h = 1e-4;
    sample       s;
    for (int n = FIRST_WIDE; sample_next_any(&n, &s); sample_destroy(&s)) {
        int    bad;
        double T[2];
        if (s.tree.nv < s.tree.ndof) continue; // drives do work
        kd_tree_place(&s.tree, s.x, &s.m);
        kd_tree_move(&s.tree, s.dx, &s.m);
        assert_true(kd_tree_explicit(&s.tree, &s.m, s.dx, kd_vec(0, 0, 0), NULL, NULL, s.ddx, &bad));
        for (int side = 0; side < 2; side++) {
            const double t = side ? h : -h;
            for (int k = 0; k < s.tree.ndof; k++) s.e[k] = t * s.dx[k] + 0.5 * t * t * s.ddx[k];
            for (int k = 0; k < s.tree.ndof; k++) s.other[k] = s.dx[k] + t * s.ddx[k];
            kd_tree_oplus(&s.tree, s.x, s.e, s.x2);
            T[side] = kinetic_energy(&s, s.x2, s.other);
        }
        const double scale = kinetic_energy(&s, s.x, s.ddx) + kinetic_energy(&s, s.x, s.dx); // acceleration, too
        assert_true(fabs(T[1] - T[0]) / (2 * h) < 1e-5 * scale);
    }
}

// The power of arbitrary forces in the joints is the rate of the kinetic energy.
static void test_power(void **state)
{
    (void)state;
    const double h = 1e-4;
    sample       s;
    for (int n = FIRST_WIDE; sample_next_any(&n, &s); sample_destroy(&s)) {
        double power = 0, T[2];
        if (s.tree.nv < s.tree.ndof) continue;
        kd_tree_inverse_dynamics(&s.tree, s.x, s.dx, s.ddx, kd_vec(0, 0, 0), NULL, &s.m, s.tau);
        for (int k = 0; k < s.tree.ndof; k++) power += s.tau[k] * s.dx[k];
        for (int side = 0; side < 2; side++) {
            const double t = side ? h : -h;
            for (int k = 0; k < s.tree.ndof; k++) s.e[k] = t * s.dx[k] + 0.5 * t * t * s.ddx[k];
            for (int k = 0; k < s.tree.ndof; k++) s.other[k] = s.dx[k] + t * s.ddx[k];
            kd_tree_oplus(&s.tree, s.x, s.e, s.x2);
            T[side] = kinetic_energy(&s, s.x2, s.other);
        }
        const double scale = 1 + kinetic_energy(&s, s.x, s.dx) + kinetic_energy(&s, s.x, s.ddx);
        assert_true(fabs((T[1] - T[0]) / (2 * h) - power) < 1e-6 * scale);
    }
}

// ---- limits and refusals ---------------------------------------------------------------------------------------------

// Without modes in motion a wide link is a rigid one with its mass, centre and inertia as they are.
static void test_rigid_limit(void **state)
{
    (void)state;
    points b;
    sample s, r;
    for (uint64_t seed = 3; seed < 20; seed++) {
        fill_points(&b, &seed);
        create_points(&s, &b, &seed);
        const kd_link *l = &s.tree.link[2];
        memset(s.x + l->position, 0, MODES * sizeof *s.x);
        memset(s.dx + l->dof, 0, MODES * sizeof *s.dx);
        memset(s.ddx + l->dof, 0, MODES * sizeof *s.ddx);
        sample_accelerate(&s);
        kd_tree_residual(&s.tree, &s.m, NULL, s.tau);
        // the same as rigid
        r = (sample){.tree = {.nlinks = 3}};
        r.tree.link = kd_arena_cut(&r.tree.arena, 3, sizeof *r.tree.link);
        memcpy(r.tree.link, s.tree.link, 3 * sizeof *r.tree.link);
        const kd_mat3 *S = &b.moments.second;
        const double   trace = S->x.x + S->y.y + S->z.z;
        r.tree.link[2].wide = NULL;
        r.tree.link[2].mass = b.moments.mass;
        r.tree.link[2].centre = kd_vec_scale(1 / b.moments.mass, b.moments.first);
        r.tree.link[2].inertia = (kd_sym3){trace - S->x.x, trace - S->y.y, trace - S->z.z, -S->x.y, -S->x.z, -S->y.z};
        assert_int_equal(kd_tree_finish(&r.tree, NULL), KD_OK);
        uint64_t other = 1;
        sample_fill(&r, &other);
        memcpy(r.x, s.x, 7 * sizeof *r.x);
        memcpy(r.dx, s.dx, 6 * sizeof *r.dx);
        memcpy(r.ddx, s.ddx, 6 * sizeof *r.ddx);
        r.g = s.g;
        sample_accelerate(&r);
        kd_tree_residual(&r.tree, &r.m, NULL, r.tau);
        assert_close(6, s.tau, r.tau, 1e-13);
        sample_destroy(&s);
        sample_destroy(&r);
        kd_arena_release(&b.arena);
    }
}

// A marker is at r + Phi q, turned about x, y and z one after the other.
static void test_marker_by_hand(void **state)
{
    (void)state;
    uint64_t     seed = 5;
    kd_arena     arena = {0};
    const double Phi[12] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, -0.6, 0.5, -0.4, 0.3, -0.2, 0.1};
    kd_marker    marker = {.m = 2, .Phi = Phi};
    kd_link      link[4] = {{0}};
    assert_true(kd_marker_finish(&marker, &arena));
    link[1] = (kd_link){.kind = KD_FREE, .E = kd_mat_identity()};
    link[2] = (kd_link){.parent = 1, .E = kd_mat_identity(), .wide = random_wide(&arena, 2, false, &seed)};
    link[3] = (kd_link){.parent = 2, .E = kd_mat_identity(), .r = {1, 2, 3}, .marker = &marker};
    kd_tree   tree = {.nlinks = 4, .link = link};
    kd_motion m;
    assert_int_equal(kd_tree_finish(&tree, NULL), KD_OK);
    assert_int_equal(kd_motion_create(&tree, &arena, &m), KD_OK);
    const double x[9] = {0, 0, 0, 1, 0, 0, 0, 2, -1};
    kd_tree_place(&tree, x, &m);
    double e[6];
    for (int a = 0; a < 6; a++) e[a] = 2 * Phi[a] - Phi[6 + a];
    assert_vec_close(m.link[3].P, kd_vec(1 + e[0], 2 + e[1], 3 + e[2]), 1e-15);
    const kd_quat x_half = kd_quat_exp(kd_vec(0.5 * e[3], 0, 0)), y_half = kd_quat_exp(kd_vec(0, 0.5 * e[4], 0));
    const kd_quat q = kd_quat_mul(kd_quat_mul(kd_quat_mul(x_half, y_half), kd_quat_exp(kd_vec(0, 0, e[5]))),
                                  kd_quat_mul(y_half, x_half));
    const kd_mat3 R = kd_quat_matrix(q);
    assert_vec_close(m.link[3].R.x, R.x, 1e-15);
    assert_vec_close(m.link[3].R.z, R.z, 1e-15);
    kd_tree_release(&tree);
    kd_arena_release(&arena);
}

// Joints on a wide link, modes without markers' fit, children that are no markers: refused.
static void test_refusals(void **state)
{
    (void)state;
    uint64_t         seed = 8;
    kd_arena         arena = {0};
    const kd_wide   *wide = random_wide(&arena, 2, false, &seed);
    const kd_marker *fits = random_marker(&arena, 2, &seed), *other = random_marker(&arena, 3, &seed);
    for (int wrong = 0; wrong < 5; wrong++) {
        kd_link link[4] = {{0}};
        link[1] = (kd_link){.kind = KD_FREE, .E = kd_mat_identity()};
        link[2] =
            (kd_link){.parent = 1, .kind = wrong == 0 ? KD_REVOLUTE : KD_FIXED, .E = kd_mat_identity(), .wide = wide};
        link[3] = (kd_link){.parent = wrong == 3 ? 1 : 2, .E = kd_mat_identity(), .marker = wrong == 1 ? other : fits};
        if (wrong == 2) link[3].marker = NULL;
        kd_tree tree = {.nlinks = 4, .link = link};
        assert_int_equal(kd_tree_finish(&tree, NULL), wrong < 4 ? KD_ERR_ARGUMENT : KD_OK);
        kd_tree_release(&tree);
    }
    kd_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_over_points), cmocka_unit_test(test_energy_stays),   cmocka_unit_test(test_power),
        cmocka_unit_test(test_rigid_limit),      cmocka_unit_test(test_marker_by_hand), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
