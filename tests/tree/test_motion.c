// tests/tree/test_motion.c: positions against products of rotations, velocities and accelerations against
// differences along a motion.
#include "tree/random_tree.h"

// rotation by the angle a about a coordinate axis
static kd_mat3 about(kd_vec3 axis, double a)
{
    return kd_quat_matrix(kd_quat_exp(kd_vec_scale(a, axis)));
}

// from B to A
static void turn_round(kd_mat3 *C, kd_vec3 *d)
{
    *d = kd_vec_neg(kd_mat_tvec(C, *d));
    *C = kd_mat_transpose(C);
}

// frame B of a joint in its frame A, as in the table of tree.h
static void joint_frame(const kd_link *l, const double *x, kd_mat3 *C, kd_vec3 *d)
{
    const kd_vec3 ex = {1, 0, 0}, ez = {0, 0, 1};
    *C = kd_mat_identity();
    *d = kd_vec(0, 0, 0);
    switch (l->kind) {
    case KD_FIXED:
    case KD_JOINT_KIND_COUNT:
        return;
    case KD_REVOLUTE:
        *C = about(ez, x[0]);
        return;
    case KD_PRISMATIC:
        d->z = x[0];
        return;
    case KD_SCREW:
        *C = about(ez, x[0]);
        d->z = l->lead * x[0];
        return;
    case KD_CYLINDRICAL:
        *C = about(ez, x[0]);
        d->z = x[1];
        return;
    case KD_UNIVERSAL: {
        const kd_mat3 A = about(ez, x[0]), B = about(ex, x[1]);
        *C = kd_mat_mul(&A, &B);
        return;
    }
    case KD_PLANAR:
        *C = about(ez, x[2]);
        *d = kd_vec(x[0], x[1], 0);
        return;
    case KD_SPHERICAL:
        *C = kd_quat_matrix(kd_quat_of(x));
        return;
    case KD_FREE:
        *C = kd_quat_matrix(kd_quat_of(x + 3));
        *d = kd_vec_of(x);
        return;
    case KD_CONSTANT_VELOCITY: {
        const kd_mat3 A = about(ex, 0.5 * x[0]), B = about(kd_vec(0, 1, 0), x[1]), AB = kd_mat_mul(&A, &B);
        *C = kd_mat_mul(&AB, &A);
        return;
    }
    case KD_TABLE: {
        const kd_mat3 A = about(ez, cubic_at(3, x[0])), B = about(ex, cubic_at(4, x[0])), AB = kd_mat_mul(&A, &B);
        const kd_mat3 D = about(kd_vec(0, 1, 0), cubic_at(5, x[0]));
        *C = kd_mat_mul(&AB, &D);
        *d = kd_vec(cubic_at(0, x[0]), cubic_at(1, x[0]), cubic_at(2, x[0]));
        if (l->table->back) turn_round(C, d);
        return;
    }
    case KD_ANGLE_TABLE: // in a mirror
        *C = kd_quat_matrix((kd_quat){cubic_at(6, x[0]), -cubic_at(7, x[0]), cubic_at(8, x[0]), -cubic_at(9, x[0])});
        *d = kd_vec(cubic_at(0, x[0]), -cubic_at(1, x[0]), cubic_at(2, x[0]));
        if (l->table->back) turn_round(C, d);
        return;
    case KD_LEFT_CYLINDRICAL:
        *C = about(ez, x[0]);
        d->z = -x[1];
        return;
    case KD_LEFT_FREE:
        *C = kd_quat_matrix(kd_quat_of(x + 3));
        *d = kd_vec_neg(kd_vec_of(x));
        return;
    case KD_LEFT_CARDAN:
    case KD_CARDAN: {
        const kd_mat3 A = about(ez, x[3]), B = about(ex, x[4]), D = about(kd_vec(0, 1, 0), x[5]),
                      AB = kd_mat_mul(&A, &B);
        *C = kd_mat_mul(&AB, &D);
        *d = l->kind == KD_CARDAN ? kd_vec_of(x) : kd_vec_neg(kd_vec_of(x));
        return;
    }
    }
}

static void assert_mat_close(const kd_mat3 *A, const kd_mat3 *B, double tolerance)
{
    assert_vec_close(A->x, B->x, tolerance);
    assert_vec_close(A->y, B->y, tolerance);
    assert_vec_close(A->z, B->z, tolerance);
}

static void check_place(double size, double tolerance)
{
    sample s;
    for (int n = 0; sample_next(&n, &s); sample_destroy(&s)) {
        for (int k = 0; k < s.tree.nposition; k++) s.x[k] *= size;
        for (int i = 1; i < s.tree.nlinks; i++) // tables end
            if (s.tree.link[i].table) s.x[s.tree.link[i].position] /= size;
        kd_tree_place(&s.tree, s.x, &s.m);
        for (int i = 1; i < s.tree.nlinks; i++) {
            const kd_link        *l = &s.tree.link[i];
            const kd_link_motion *parent = &s.m.link[l->parent], *own = &s.m.link[i];
            kd_mat3               C, R;
            kd_vec3               d;
            joint_frame(l, s.x + l->position, &C, &d);
            R = kd_mat_mul(&l->E, &C);
            R = kd_mat_mul(&parent->R, &R);
            assert_mat_close(&own->R, &R, tolerance);
            d = kd_mat_vec(&parent->R, kd_vec_add(l->r, kd_mat_vec(&l->E, d)));
            assert_vec_close(own->P, kd_vec_add(parent->P, d), 4 * tolerance);
        }
    }
}

// R = R_l E C and P = P_l + R_l (r + E d) for all joints.
static void test_place(void **state)
{
    (void)state;
    check_place(1, 1e-15);
}

// The same for many turns: below and above the limit of the own sine and cosine.
static void test_place_after_many_turns(void **state)
{
    (void)state;
    check_place(1e4, 1e-15);
    check_place(1e9, 1e-15);
}

// The axis of a dof is the difference quotient of its link's position along an increment.
static void test_axes(void **state)
{
    (void)state;
    const double h = 1e-5;
    sample       s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) {
        kd_axis        *axis = kd_arena_cut(&s.arena, (size_t)s.tree.ndof, sizeof *axis);
        kd_link_motion *link = kd_arena_cut(&s.arena, (size_t)s.tree.nlinks, sizeof *link);
        kd_tree_place(&s.tree, s.x, &s.m);
        memcpy(axis, s.m.axis, (size_t)s.tree.ndof * sizeof *axis);
        memcpy(link, s.m.link, (size_t)s.tree.nlinks * sizeof *link);
        for (int k = 0; k < s.tree.ndof; k++) {
            const int i = s.tree.dof_link[k];
            memset(s.e, 0, (size_t)s.tree.ndof * sizeof *s.e);
            s.e[k] = h;
            kd_tree_oplus(&s.tree, s.x, s.e, s.x2);
            kd_tree_place(&s.tree, s.x2, &s.m);
            const kd_vec3 P = s.m.link[i].P;
            const kd_mat3 R = s.m.link[i].R;
            s.e[k] = -h;
            kd_tree_oplus(&s.tree, s.x, s.e, s.x2);
            kd_tree_place(&s.tree, s.x2, &s.m);
            assert_vec_close(kd_vec_scale(0.5 / h, kd_vec_sub(P, s.m.link[i].P)), axis[k].u, 1e-9);
            // R(+) - R(-) = 2h w x R
            const kd_mat3 D = {kd_vec_cross(axis[k].w, link[i].R.x), kd_vec_cross(axis[k].w, link[i].R.y),
                               kd_vec_cross(axis[k].w, link[i].R.z)};
            assert_vec_close(kd_vec_scale(0.5 / h, kd_vec_sub(R.x, s.m.link[i].R.x)), D.x, 1e-9);
            assert_vec_close(kd_vec_scale(0.5 / h, kd_vec_sub(R.y, s.m.link[i].R.y)), D.y, 1e-9);
            assert_vec_close(kd_vec_scale(0.5 / h, kd_vec_sub(R.z, s.m.link[i].R.z)), D.z, 1e-9);
        }
    }
}

// place and move at time h of the motion with the accelerations ddx
static void travel(sample *s, double h)
{
    const kd_tree *t = &s->tree;
    for (int k = 0; k < t->ndof; k++) {
        s->e[k] = h * s->dx[k] + 0.5 * h * h * s->ddx[k];
        s->other[k] = s->dx[k] + h * s->ddx[k];
    }
    kd_tree_oplus(t, s->x, s->e, s->x2);
    kd_tree_place(t, s->x2, &s->m);
    kd_tree_move(t, s->other, &s->m);
}

// Velocities and accelerations of all links are difference quotients along a motion; gravity is an acceleration
// upwards.
static void test_move_and_accelerate(void **state)
{
    (void)state;
    const double h = 1e-5;
    sample       s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) {
        const size_t    size = (size_t)s.tree.nlinks * sizeof *s.m.link;
        kd_link_motion *late = kd_arena_cut(&s.arena, (size_t)s.tree.nlinks, sizeof *late);
        kd_link_motion *early = kd_arena_cut(&s.arena, (size_t)s.tree.nlinks, sizeof *early);
        travel(&s, h);
        memcpy(late, s.m.link, size);
        travel(&s, -h);
        memcpy(early, s.m.link, size);
        sample_accelerate(&s);
        for (int i = 0; i < s.tree.nlinks; i++) {
            const kd_link_motion *m = &s.m.link[i], *a = &early[i], *b = &late[i];
            assert_vec_close(kd_vec_scale(0.5 / h, kd_vec_sub(b->P, a->P)), m->v, 3e-9);
            assert_vec_close(kd_vec_scale(0.5 / h, kd_vec_sub(b->R.x, a->R.x)), kd_vec_cross(m->w, m->R.x), 3e-9);
            assert_vec_close(kd_vec_scale(0.5 / h, kd_vec_sub(b->R.y, a->R.y)), kd_vec_cross(m->w, m->R.y), 3e-9);
            assert_vec_close(kd_vec_scale(0.5 / h, kd_vec_sub(b->w, a->w)), m->dw, 3e-9);
            assert_vec_close(kd_vec_sub(kd_vec_scale(0.5 / h, kd_vec_sub(b->v, a->v)), s.g), m->dv, 3e-9);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place),
        cmocka_unit_test(test_place_after_many_turns),
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_move_and_accelerate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
