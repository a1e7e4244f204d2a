// tests/tree/random_tree.h: reproducible random trees with their motion, for the tests of the tree algorithms.
#ifndef KD_TEST_RANDOM_TREE_H
#define KD_TEST_RANDOM_TREE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "tree/test_table.h"
#include "tree/work.h"

#include <math.h>
#include <string.h>

typedef enum tree_shape { CHAIN, BRANCHED, SINGLE, SHAPES } tree_shape;

typedef struct sample {
    kd_tree    tree;
    kd_arena   arena;
    kd_motion  m;
    bool      *prescribed;       // (ndof)
    double    *x, *dx, *ddx;     // (nposition), (ndof)
    double    *tau, *other, *e;  // (ndof) free for the test
    double    *x2;               // (nposition)
    kd_wrench *load;             // (nlinks)
    double    *values, *values2; // in the pattern
    double    *M;                // (nv x nv)
    kd_vec3    g;
} sample;

// uniform in [-1, 1)
static inline double random_number(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

static inline int random_below(int n, uint64_t *seed)
{
    const int k = (int)(0.5 * (random_number(seed) + 1) * n);
    return k < n ? k : n - 1;
}

static inline void random_fill(int n, double *x, double size, uint64_t *seed)
{
    for (int i = 0; i < n; i++) x[i] = size * random_number(seed);
}

static inline kd_vec3 random_vec(double size, uint64_t *seed)
{
    double a[3];
    random_fill(3, a, size, seed);
    return kd_vec_of(a);
}

static inline kd_quat random_quat(uint64_t *seed)
{
    double q[4];
    random_fill(4, q, 1, seed);
    q[0] += q[0] < 0 ? -0.1 : 0.1;
    return kd_quat_normalised(kd_quat_of(q));
}

static inline kd_mat3 random_rotation(uint64_t *seed)
{
    return kd_quat_matrix(random_quat(seed));
}

enum { ALL_JOINTS = KD_TABLE }; // words; some of them become tables: some_table

// In mixed trees every other prismatic joint and screw is one by a table, in both directions.
static inline kd_joint_kind some_table(kd_joint_kind kind, double lead)
{
    return lead < 0 ? kind : kind == KD_PRISMATIC ? KD_TABLE : kind == KD_SCREW ? KD_ANGLE_TABLE : kind;
}

// a box somewhere
static inline void random_body(kd_link *l, uint64_t *seed)
{
    const kd_mat3 R = random_rotation(seed);
    const kd_vec3 s = random_vec(0.4, seed); // half edges are 0.6 + s
    const double  a = (0.6 + s.x) * (0.6 + s.x), b = (0.6 + s.y) * (0.6 + s.y), c = (0.6 + s.z) * (0.6 + s.z);
    l->mass = 1.5 + random_number(seed);
    l->centre = random_vec(0.5, seed);
    const kd_sym3 boxed = {.xx = l->mass * (b + c) / 3, .yy = l->mass * (a + c) / 3, .zz = l->mass * (a + b) / 3};
    const kd_sym3 turned = kd_sym_rotate(&R, &boxed);
    l->inertia = kd_sym_steiner(&turned, l->mass, l->centre);
}

static inline void random_link(kd_link *l, int parent, kd_joint_kind kind, uint64_t *seed)
{
    *l = (kd_link){.parent = parent, .kind = kind, .E = random_rotation(seed), .r = random_vec(1, seed)};
    l->lead = 0.3 * random_number(seed);
    l->table = shared_table(kind, l->lead > 0.15);
    random_body(l, seed);
}

// ---- links that deform ----------------------------------------------------------------------------------------------

enum { RANDOM_NODES = 7 };

static inline double *random_array(kd_arena *a, int n, double size, uint64_t *seed)
{
    double *x = kd_cut_double(a, n);
    assert_non_null(x);
    random_fill(n, x, size, seed);
    return x;
}

// out += mass a b', column by column
static inline void add_product9(double mass, const double *a, const double *b, double *out)
{
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) out[i + 3 * j] += mass * a[i] * b[j];
}

static inline void axial_of(const double *a, double *out)
{
    out[0] = a[7] - a[5];
    out[1] = a[2] - a[6];
    out[2] = a[3] - a[1];
}

// Moments of a few points of mass with random modes; stiffened: with quadratic terms, symmetric in both modes
static inline const kd_wide *random_wide(kd_arena *arena, int m, bool stiffened, uint64_t *seed)
{
    kd_wide *c = kd_arena_cut(arena, 1, sizeof *c);
    double  *C = kd_cut_double(arena, 3 * m), *D = kd_cut_double(arena, 9 * m), *M = kd_cut_double(arena, m * m);
    double  *D_q = kd_cut_double(arena, 9 * m * m), *T = kd_cut_double(arena, 3 * m * m);
    double  *C_q = kd_cut_double(arena, 3 * m * m), *b_q = kd_cut_double(arena, 3 * m * m);
    *c = (kd_wide){.m = m, .C = C, .D = D, .D_q = D_q, .T = T, .M = M};
    for (int i = 0; i < RANDOM_NODES; i++) {
        const double  mass = 0.3 + 0.2 * random_number(seed);
        double        x[3];
        const double *phi = random_array(arena, 3 * m, 0.4, seed);
        random_fill(3, x, 1, seed);
        c->mass += mass;
        c->first = kd_vec_axpy(c->first, mass, kd_vec_of(x));
        add_product9(mass, x, x, &c->second.x.x);
        for (int l = 0; l < m; l++) {
            for (int d = 0; d < 3; d++) C[3 * l + d] += mass * phi[3 * l + d];
            add_product9(mass, x, phi + 3 * l, D + 9 * l);
            for (int k = 0; k < m; k++) {
                add_product9(mass, phi + 3 * k, phi + 3 * l, D_q + 9 * (k + m * l));
                M[k + m * l] += mass * kd_vec_dot(kd_vec_of(phi + 3 * k), kd_vec_of(phi + 3 * l));
            }
        }
    }
    for (int i = 0; i < m * m; i++) axial_of(D_q + 9 * i, T + 3 * i);
    for (int l = 0; l < m; l++) M[l + m * l] += 0.5;
    for (int l = 0; stiffened && l < m; l++)
        for (int k = 0; k <= l; k++) {
            double P[9], c_kl[3], b[3];
            random_fill(9, P, 0.3 / (2 + m), seed); // few enough for a mass matrix that stays positive
            random_fill(3, c_kl, 0.3 / (2 + m), seed);
            axial_of(P, b);
            for (int side = 0; side < (k == l ? 1 : 2); side++) {
                const int at = side ? l + m * k : k + m * l;
                for (int i = 0; i < 9; i++) D_q[9 * at + i] += P[i];
                for (int i = 0; i < 3; i++) C_q[3 * at + i] = c_kl[i], b_q[3 * at + i] = b[i];
            }
        }
    if (stiffened) c->C_q = C_q, c->b_q = b_q;
    assert_true(kd_wide_finish(c, arena));
    return c;
}

// Slopes of shifts, symmetric in both modes; some shifts have none
static inline const double *random_bends(kd_arena *arena, int m, uint64_t *seed)
{
    double *bend = random_array(arena, 3 * m * m, 0.3, seed);
    for (int a = 0; a < 3; a++) {
        const bool none = random_below(3, seed) == 0;
        for (int l = 0; l < m; l++)
            for (int k = 0; k <= l; k++)
                bend[a + 3 * (k + m * l)] = bend[a + 3 * (l + m * k)] = none ? 0 : bend[a + 3 * (k + m * l)];
    }
    return bend;
}

static inline const kd_marker *random_marker(kd_arena *arena, int m, uint64_t *seed)
{
    kd_marker *c = kd_arena_cut(arena, 1, sizeof *c);
    double    *Phi = random_array(arena, 6 * m, 0.4, seed);
    for (int i = 0; i < 6 * m; i++)
        if (random_below(4, seed) == 0) Phi[i] = 0;
    if (random_below(8, seed) == 0) memset(Phi, 0, 6 * (size_t)m * sizeof *Phi); // one that no mode moves
    *c = (kd_marker){.m = m, .Phi = Phi};
    if (random_below(3, seed) > 0) c->bend = random_bends(arena, m, seed);
    assert_true(kd_marker_finish(c, arena));
    return c;
}

static inline int random_parent(const kd_link *link, int i, tree_shape shape, uint64_t *seed)
{
    if (shape == SINGLE || i == 1) return 0;
    int parent = i - 1;
    if (shape == BRANCHED)
        while (parent != 0 && random_below(3, seed) == 0) parent = link[parent].parent;
    return parent;
}

// state, loads and arrays for the finished tree
static inline void sample_fill(sample *s, uint64_t *seed)
{
    const kd_tree *t = &s->tree;
    kd_arena      *a = &s->arena;
    assert_int_equal(kd_motion_create(t, a, &s->m), KD_OK);
    s->x = kd_cut_double(a, t->nposition);
    s->x2 = kd_cut_double(a, t->nposition);
    double **dof_arrays[] = {&s->dx, &s->ddx, &s->tau, &s->other, &s->e};
    for (size_t k = 0; k < sizeof dof_arrays / sizeof *dof_arrays; k++) *dof_arrays[k] = kd_cut_double(a, t->ndof);
    s->load = kd_arena_cut(a, (size_t)t->nlinks, sizeof *s->load);
    s->values = kd_cut_double(a, t->column[t->nv]);
    s->values2 = kd_cut_double(a, t->column[t->nv]);
    s->M = kd_cut_double(a, t->nv * t->nv);
    random_fill(t->nposition, s->x, 1.5, seed);
    random_fill(t->ndof, s->dx, 1, seed);
    random_fill(t->ndof, s->ddx, 1, seed);
    for (int i = 1; i < t->nlinks; i++) {
        const kd_joint_form *form = &t->link[i].form;
        if (form->ball) kd_quat_to(random_quat(seed), s->x + t->link[i].position + form->nscalars);
        s->load[i] = (kd_wrench){random_vec(1, seed), random_vec(1, seed)};
    }
    s->g = random_vec(9, seed);
}

// joints: kinds to choose from; one in "prescribe" dofs is prescribed, 0: none
static inline void sample_create(sample *s, int nlinks, tree_shape shape, int njoints, const kd_joint_kind *joints,
                                 int prescribe, uint64_t *seed)
{
    *s = (sample){0};
    s->tree.nlinks = nlinks;
    s->tree.link = kd_arena_cut(&s->tree.arena, (size_t)nlinks, sizeof *s->tree.link);
    s->prescribed = kd_cut_bool(&s->arena, 6 * nlinks);
    for (int i = 1; i < nlinks; i++) {
        kd_link *l = &s->tree.link[i];
        random_link(l, random_parent(s->tree.link, i, shape, seed), joints[random_below(njoints, seed)], seed);
        if (njoints == ALL_JOINTS)
            l->kind = some_table(l->kind, l->lead), l->table = shared_table(l->kind, l->lead > 0.15);
    }
    if (prescribe > 0)
        for (int k = 0; k < 6 * nlinks; k++) s->prescribed[k] = random_below(prescribe, seed) == 0;
    assert_int_equal(kd_tree_finish(&s->tree, s->prescribed), KD_OK);
    sample_fill(s, seed);
}

// A body on a parent, and others on it: rigid ones on its link, others on its markers. The number of links.
static inline int random_branch(sample *s, int n, int parent, int depth, uint64_t *seed)
{
    kd_link  *link = s->tree.link;
    const int own = n++;
    random_link(&link[own], parent, (kd_joint_kind)random_below(ALL_JOINTS, seed), seed);
    if (depth > 0 && random_below(3, seed) == 0) n = random_branch(s, n, own, depth - 1, seed);
    if (depth > 0 && random_below(4, seed) == 0) return n; // a rigid one
    const int wide = n++, m = 1 + random_below(9, seed), markers = random_below(4, seed);
    link[wide] = (kd_link){.parent = own, .E = random_rotation(seed), .r = random_vec(1, seed)};
    link[wide].wide = random_wide(&s->arena, m, random_below(2, seed) == 0, seed);
    for (int j = 0; j < markers; j++) {
        const int marker = n++;
        link[marker] = (kd_link){.parent = wide, .E = random_rotation(seed), .r = random_vec(1, seed)};
        link[marker].marker = random_marker(&s->arena, m, seed);
        if (depth > 0) n = random_branch(s, n, marker, depth - 1, seed);
    }
    return n;
}

// Trees with links that deform, all joints mixed
static inline void sample_create_wide(sample *s, int bodies, int prescribe, uint64_t *seed)
{
    enum { MOST = 1000 };
    *s = (sample){0};
    s->tree.link = kd_arena_cut(&s->tree.arena, MOST, sizeof *s->tree.link);
    s->prescribed = kd_cut_bool(&s->arena, 6 * MOST);
    int n = 1;
    for (int i = 0; i < bodies; i++) n = random_branch(s, n, 0, 2, seed);
    assert_true(n < MOST);
    s->tree.nlinks = n;
    if (prescribe > 0)
        for (int k = 0; k < 6 * MOST; k++) s->prescribed[k] = random_below(prescribe, seed) == 0;
    assert_int_equal(kd_tree_finish(&s->tree, s->prescribed), KD_OK);
    sample_fill(s, seed);
}

static inline void sample_destroy(sample *s)
{
    kd_arena_release(&s->arena);
    kd_tree_release(&s->tree);
}

// all kinds of the table, one of them first
static inline const kd_joint_kind *all_joints(int first, kd_joint_kind list[ALL_JOINTS])
{
    for (int k = 0; k < ALL_JOINTS; k++) list[k] = (kd_joint_kind)((first + k) % ALL_JOINTS);
    return list;
}

// One sample after the other: each kind of joint alone and all mixed, as chain, branched and single, with and without
// prescribed dofs, in the variants of the algorithms. false: no more.
static inline bool sample_next(int *number, sample *s)
{
    enum { PER_SHAPE = 4 * (ALL_JOINTS + 4) };
    const int n = (*number)++, shape = n / PER_SHAPE, k = n % PER_SHAPE / 4;
    uint64_t  seed = 77u * (uint64_t)(n + 1);
    if (shape >= SHAPES) return false;
    const bool    alone = k < ALL_JOINTS;
    kd_joint_kind list[ALL_JOINTS];
    sample_create(s, alone ? 6 : 10 + 2 * (k - ALL_JOINTS), (tree_shape)shape, alone ? 1 : ALL_JOINTS,
                  all_joints(alone ? k : 0, list), n % 2 == 0 ? 0 : 4, &seed);
    s->m.work->avx2 = s->m.work->avx2 && n % 4 < 2; // the other half: without
    return true;
}

// The same, and from FIRST_WIDE on trees with links that deform
enum { FIRST_WIDE = 10000 };
static inline bool sample_next_any(int *number, sample *s)
{
    enum { WIDE = 48 };
    if (*number < FIRST_WIDE) {
        if (sample_next(number, s)) return true;
        *number = FIRST_WIDE;
    }
    const int n = (*number)++ - FIRST_WIDE;
    uint64_t  seed = 91u * (uint64_t)(n + 1);
    if (n >= WIDE) return false;
    sample_create_wide(s, 1 + n % 3, n % 2 == 0 ? 0 : 4, &seed);
    s->m.work->avx2 = s->m.work->avx2 && n % 4 < 2;
    return true;
}

static inline void sample_accelerate(sample *s)
{
    kd_tree_place(&s->tree, s->x, &s->m);
    kd_tree_move(&s->tree, s->dx, &s->m);
    kd_tree_accelerate(&s->tree, s->dx, s->ddx, s->g, &s->m);
}

// all |a - b| <= tolerance * (1 + largest |b|)
static inline void assert_close(int n, const double *a, const double *b, double tolerance)
{
    double scale = 1;
    for (int i = 0; i < n; i++) scale = fmax(scale, fabs(b[i]));
    for (int i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= tolerance * scale))
            fail_msg("entry %d of %d: %.17g instead of %.17g, scale %g", i, n, a[i], b[i], scale);
}

static inline void assert_vec_close(kd_vec3 a, kd_vec3 b, double tolerance)
{
    assert_close(3, (double[]){a.x, a.y, a.z}, (double[]){b.x, b.y, b.z}, tolerance);
}

// the row and column of a dense matrix for every value in the pattern: out(row, column) = values
static inline void to_dense(const kd_tree *t, const double *values, double *out)
{
    memset(out, 0, (size_t)t->nv * (size_t)t->nv * sizeof *out);
    for (int l = 0; l < t->nv; l++)
        for (int k = t->column[l]; k < t->column[l + 1]; k++) out[t->row[k] + l * t->nv] = values[k];
}

#endif
