// tests/joint/test_joint.c: what follows from the words of joints, for every kind of the table: poses, motions,
// coordinates, loads, gaps and the use from B to A, each against another way.
#include "tree/random_tree.h"

#include "joint/joint.h"

enum { TRIES = 20 };

typedef struct pose {
    kd_joint_form f;
    double        lead, x[7];
    kd_mat3       C;
    kd_vec3       d;
    kd_axis       axis[6];
} pose;

static void pose_place(pose *p)
{
    kd_joint_pose(&p->f, p->lead, p->x, &p->C, &p->d, p->axis);
}

static pose random_pose(int kind, uint64_t *seed)
{
    pose p = {.f = kd_joint_form_of((kd_joint_kind)kind), .lead = 0.3};
    p.f.table = shared_table((kd_joint_kind)kind, false);
    random_fill(6, p.x, 1.2, seed);
    if (p.f.ball) kd_quat_to(random_quat(seed), p.x + p.f.nscalars);
    if (p.f.ball && p.x[p.f.nscalars] < 0) // as it comes back from a matrix
        for (int i = 0; i < 4; i++) p.x[p.f.nscalars + i] *= -1;
    pose_place(&p);
    return p;
}

#define FOR_ALL_POSES(p, seed)                                                                                         \
    for (int kind = 0; kind < KD_JOINT_KIND_COUNT; kind++)                                                             \
        for (int n = 0; n < TRIES; n++)                                                                                \
            for (pose p = random_pose(kind, &(seed)), *once = &p; once; once = NULL)

// Counts of the kinds: dofs, numbers in x, letters that turn; a word has a name and a sentence.
static void test_counts(void **state)
{
    static const struct {
        kd_joint_kind kind;
        int           ndof, nposition, nturns;
    } known[] = {{KD_FIXED, 0, 0, 0},      {KD_REVOLUTE, 1, 1, 1},          {KD_PRISMATIC, 1, 1, 0},
                 {KD_SCREW, 1, 1, 1},      {KD_CYLINDRICAL, 2, 2, 1},       {KD_UNIVERSAL, 2, 2, 2},
                 {KD_PLANAR, 3, 3, 1},     {KD_SPHERICAL, 3, 4, 0},         {KD_FREE, 6, 7, 0},
                 {KD_CARDAN, 6, 6, 3},     {KD_CONSTANT_VELOCITY, 2, 2, 3}, {KD_TABLE, 1, 1, 0},
                 {KD_ANGLE_TABLE, 1, 1, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const kd_joint_form f = kd_joint_form_of(known[i].kind);
        assert_int_equal(f.ndof, known[i].ndof);
        assert_int_equal(f.nposition, known[i].nposition);
        assert_int_equal(f.nturns, known[i].nturns);
        assert_int_equal(f.hinge, known[i].kind == KD_REVOLUTE);
        assert_int_equal(f.folds, known[i].kind == KD_CONSTANT_VELOCITY);
    }
    for (int kind = 0; kind < KD_JOINT_KIND_COUNT; kind++)
        assert_true(kd_joint_words[kind].word && kd_joint_words[kind].doc);
}

// Words keep to what joint.h says: coordinates in order, shifts before turns or parallel to them, angles side by side.
static void test_words(void **state)
{
    (void)state;
    for (int kind = 0; kind < KD_JOINT_KIND_COUNT; kind++) {
        const kd_joint_form f = kd_joint_form_of((kd_joint_kind)kind);
        int                 next = 0;
        assert_true(f.nletters <= KD_MAX_LETTERS && f.ndof <= 6);
        for (const kd_letter *l = f.word; l->motion; l++) {
            assert_true(l->coordinate <= next);
            if (l->coordinate == next) next++;
            for (const kd_letter *k = f.word; k < l && !kd_letter_turns(l); k++)
                assert_true(!kd_letter_turns(k) || kd_letter_axis(k) == kd_letter_axis(l));
        }
    }
}

// The motions of the coordinates are the derivatives of the pose.
static void test_motions(void **state)
{
    uint64_t seed = 3;
    (void)state;
    FOR_ALL_POSES(p, seed)
    {
        for (int k = 0; k < p.f.nscalars; k++) {
            pose         a = p, b = p;
            const double h = 1e-5;
            a.x[k] += h, b.x[k] -= h;
            pose_place(&a), pose_place(&b);
            const kd_vec3 slope = kd_vec_scale(0.5 / h, kd_vec_sub(a.C.x, b.C.x));
            const kd_vec3 other = kd_vec_scale(0.5 / h, kd_vec_sub(a.C.z, b.C.z));
            assert_vec_close(slope, kd_vec_cross(p.axis[k].w, p.C.x), 1e-8);
            assert_vec_close(other, kd_vec_cross(p.axis[k].w, p.C.z), 1e-8);
            assert_vec_close(kd_vec_scale(0.5 / h, kd_vec_sub(a.d, b.d)), p.axis[k].u, 1e-8);
        }
    }
}

// Coordinates come back from the pose, velocities from the motion, and a pose that can be reached has no gap.
static void test_backwards(void **state)
{
    uint64_t seed = 4;
    (void)state;
    FOR_ALL_POSES(p, seed)
    {
        double  x[7], v[6], rate[6] = {0}, shift, turn;
        kd_vec3 dd = {0, 0, 0}, omega = {0, 0, 0};
        kd_joint_coordinates_of_pose(&p.f, &p.C, p.d, x);
        assert_close(p.f.nposition, x, p.x, 1e-12);
        random_fill(6, v, 1, &seed);
        for (int k = 0; k < p.f.ndof; k++) {
            omega = kd_vec_axpy(omega, v[k], p.axis[k].w);
            dd = kd_vec_axpy(dd, v[k], p.axis[k].u);
        }
        kd_joint_rates_of_motion(&p.f, &p.C, p.d, dd, kd_mat_tvec(&p.C, omega), rate);
        assert_close(p.f.ndof, rate, v, 1e-12);
        kd_joint_gap(&p.f, &p.C, p.d, &shift, &turn);
        assert_true(shift < 1e-13 && turn < 1e-7); // the angle of a small rotation comes from its cosine
    }
}

// Moved off along and about each axis, the gap is as large as the move, or the coordinates follow.
static void test_gaps(void **state)
{
    uint64_t seed = 5;
    (void)state;
    FOR_ALL_POSES(p, seed)
    {
        for (int i = 0; i < 3; i++) {
            const kd_vec3 e = kd_vec(i == 0, i == 1, i == 2);
            double        shift, turn;
            kd_joint_gap(&p.f, &p.C, kd_vec_axpy(p.d, 0.01, e), &shift, &turn);
            if (p.f.curved) { // it follows as far as its curve lets it
                assert_true(shift > 0.0 && shift < 0.0101);
                continue;
            }
            assert_true(fabs(shift - (p.f.shifts >> i & 1 ? 0.0 : 0.01)) < 1e-12);
        }
        if (p.f.ball || p.f.nturns > 1 || p.f.curved) continue;
        const int     axis = p.f.nturns > 0 ? (p.f.turn[0] + 1) % 3 : 0; // one that it does not turn about
        const kd_mat3 D = kd_quat_matrix(kd_quat_exp(kd_vec_scale(0.01, kd_vec(axis == 0, axis == 1, axis == 2))));
        const kd_mat3 C = kd_mat_mul(&p.C, &D);
        double        shift, turn;
        kd_joint_gap(&p.f, &C, p.d, &shift, &turn);
        assert_true(fabs(turn - 0.01) < 1e-8);
    }
}

// A force along a coordinate works along that one only.
static void test_loads(void **state)
{
    uint64_t seed = 6;
    (void)state;
    FOR_ALL_POSES(p, seed)
    {
        for (int i = 0; i < p.f.nscalars; i++) {
            kd_vec3 N, F;
            kd_joint_load(&p.f, &p.C, p.d, i, &N, &F);
            for (int k = 0; k < p.f.nscalars; k++) {
                const double work = kd_vec_dot(N, p.axis[k].w) + kd_vec_dot(F, p.axis[k].u), wanted = i == k;
                assert_close(1, &work, &wanted, 1e-12);
            }
        }
    }
}

// From B to A with turned frames: the same word, coordinates in their other places, the inverse pose.
static void test_reversal(void **state)
{
    uint64_t seed = 7;
    int      found = 0;
    (void)state;
    FOR_ALL_POSES(p, seed)
    {
        kd_mat3 turn;
        int     other[6];
        pose    q = p;
        if (!kd_joint_reversal(&p.f, &turn, other)) continue;
        found += p.f.nscalars > 0;
        q.f.table = shared_table((kd_joint_kind)kind, true);
        for (int i = 0; i < p.f.nscalars; i++) q.x[other[i]] = p.x[i];
        if (p.f.ball) kd_quat_to(kd_quat_conjugate(kd_quat_of(p.x)), q.x);
        pose_place(&q);
        // A -> turned A, back over the joint: turn' C' turn, -turn' C' d
        const kd_mat3 back = kd_mat_transpose(&p.C), left = kd_mat_tmul(&turn, &back), C = kd_mat_mul(&left, &turn);
        assert_vec_close(q.C.x, C.x, 1e-12);
        assert_vec_close(q.C.y, C.y, 1e-12);
        assert_vec_close(q.d, kd_vec_neg(kd_mat_vec(&left, p.d)), 1e-12);
    }
    assert_int_equal(
        found, 9 * TRIES); // revolute, prismatic, screw, two cylindrical, universal, constant velocity, two tables
}

// In a mirror, with frames that have the signs of the image: the same coordinates give the reflected pose, C' = M C M,
// d' = M d; the image of the image is the joint itself.
static void test_image(void **state)
{
    uint64_t seed = 9;
    (void)state;
    FOR_ALL_POSES(p, seed)
    {
        double              sign[3], again[3];
        const kd_joint_kind image = kd_joint_image((kd_joint_kind)kind, sign);
        pose                q = p;
        assert_int_equal(kd_joint_image(image, again), kind);
        assert_memory_equal(sign, again, sizeof sign);
        assert_true(sign[0] * sign[1] * sign[2] == -1.0);
        q.f = kd_joint_form_of(image);
        q.lead = -p.lead;
        kd_joint_table table = test_table((kd_joint_kind)kind, false);
        table.mirrored = !table.mirrored;
        q.f.table = &table;
        pose_place(&q);
        const kd_mat3 M = {{sign[0], 0, 0}, {0, sign[1], 0}, {0, 0, sign[2]}}, MC = kd_mat_mul(&M, &p.C),
                      C = kd_mat_mul(&MC, &M);
        assert_vec_close(q.C.x, C.x, 1e-14);
        assert_vec_close(q.C.y, C.y, 1e-14);
        assert_vec_close(q.C.z, C.z, 1e-14);
        assert_vec_close(q.d, kd_mat_vec(&M, p.d), 1e-14);
    }
}

// The constant velocity joint: the third component of its quaternion is 0, and its motion has no part along the sum of
// the axes z of both sides, which is why both turn equally fast about them.
static void test_constant_velocity(void **state)
{
    uint64_t seed = 8;
    (void)state;
    for (int n = 0; n < TRIES; n++) {
        const pose    p = random_pose(KD_CONSTANT_VELOCITY, &seed);
        const kd_quat q = kd_quat_of_matrix(&p.C);
        const kd_vec3 sum = kd_vec_add(kd_vec(0, 0, 1), p.C.z);
        const double  bend = acos(p.C.z.z);
        assert_true(fabs(q.z) < 1e-15);
        assert_true(fabs(kd_vec_dot(p.axis[0].w, sum)) < 1e-14 && fabs(kd_vec_dot(p.axis[1].w, sum)) < 1e-14);
        assert_true(fabs(cos(0.5 * p.x[0]) * cos(0.5 * p.x[1]) - cos(0.5 * bend)) < 1e-14);
    }
}

// S' and S'' of a curved joint are the derivatives of its motion S at a fixed point, S = (w, d' - w x d) there: from A to
// B and back, in a mirror and not, turns and quaternions.
static void test_bends(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (int n = 0; n < 8 * TRIES; n++) {
        kd_joint_table t = test_table(n % 2 ? KD_TABLE : KD_ANGLE_TABLE, n / 2 % 2 == 0);
        const double   h = 1e-3, q = 1.5 * random_number(&seed);
        kd_axis        S[5][KD_TABLE_AXES], moved[5][KD_TABLE_AXES];
        kd_vec3        d[5];
        t.mirrored = n / 4 % 2;
        for (int k = 0; k < 5; k++) { // q - 2 h .. q + 2 h, all at the place of the middle one
            kd_mat3 C;
            kd_joint_table_pose(&t, q + (k - 2) * h, &C, &d[k], S[k]);
        }
        for (int k = 0; k < 5; k++)
            for (int i = 0; i < KD_TABLE_AXES; i++)
                moved[k][i] =
                    (kd_axis){S[k][i].w, kd_vec_add(S[k][i].u, kd_vec_cross(S[k][i].w, kd_vec_sub(d[2], d[k])))};
        for (int i = 0; i + 1 < KD_TABLE_AXES; i++) {
            const double *f[5], *slope = &S[2][i + 1].w.x;
            for (int k = 0; k < 5; k++) f[k] = &moved[k][i].w.x;
            for (int a = 0; a < 6; a++) {
                const double by = (8 * (f[3][a] - f[1][a]) - (f[4][a] - f[0][a])) / (12 * h);
                assert_true(fabs(by - slope[a]) < 1e-8);
            }
        }
    }
}

// A table of a circle is a revolute joint with an arm: rows of an angle, a spline of its sine and cosine.
static void test_circle(void **state)
{
    enum { ROWS = 201 };
    double    q[ROWS], cosine[ROWS], sine[ROWS];
    kd_curve *curve[3] = {NULL, NULL, NULL};
    uint64_t  seed = 12;
    (void)state;
    for (int i = 0; i < ROWS; i++) q[i] = -2.0 + 0.02 * i, cosine[i] = 0.7 * cos(q[i]), sine[i] = 0.7 * sin(q[i]);
    const double *const y[3] = {cosine, sine, q};
    for (int k = 0; k < 3; k++)
        assert_int_equal(kd_curve_create(KD_CURVE_KIND_SPLINE, KD_OUTSIDE_ERROR, ROWS, q, y[k], &curve[k], NULL, 0),
                         KD_OK);
    const kd_joint_table t = {.shift = {curve[0], curve[1]}, .turn = {curve[2]}};
    for (int n = 0; n < TRIES; n++) {
        const double  at = 1.9 * random_number(&seed);
        const kd_vec3 arm = kd_vec(0.7 * cos(at), 0.7 * sin(at), 0.0), ez = {0, 0, 1};
        kd_mat3       C;
        kd_vec3       d;
        kd_axis       S[KD_TABLE_AXES];
        kd_joint_table_pose(&t, at, &C, &d, S);
        assert_vec_close(d, arm, 1e-9); // error of the spline: h^4
        assert_vec_close(C.x, kd_vec(cos(at), sin(at), 0), 1e-15);
        assert_vec_close(S->w, ez, 1e-14);
        assert_vec_close(S->u, kd_vec_cross(ez, arm), 1e-6);
        // about the fixed centre the motion does not change: S' = S'' = 0
        assert_vec_close(S[1].w, kd_vec(0, 0, 0), 1e-12);
        assert_vec_close(S[1].u, kd_vec(0, 0, 0), 1e-4); // h^2
    }
    kd_mat3 C;
    kd_vec3 d;
    kd_joint_table_pose(&t, 2.5, &C, &d, NULL);
    assert_true(isnan(d.x) && kd_joint_table_outside(&t, 2.5) == curve[0] && !kd_joint_table_outside(&t, 1.5));
    for (int k = 0; k < 3; k++) kd_curve_destroy(curve[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),   cmocka_unit_test(test_words),
        cmocka_unit_test(test_motions),  cmocka_unit_test(test_backwards),
        cmocka_unit_test(test_gaps),     cmocka_unit_test(test_loads),
        cmocka_unit_test(test_reversal), cmocka_unit_test(test_constant_velocity),
        cmocka_unit_test(test_image),    cmocka_unit_test(test_bends),
        cmocka_unit_test(test_circle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
