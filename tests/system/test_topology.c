// tests/system/test_topology.c: spanning trees of joint graphs against brute force, joints that the user cuts or
// keeps, bodies without joints, and the design position.
#include "model/build_helpers.h"

#include "system/system.h"
#include "systems/random_model.h"

enum { BODIES = 9, JOINTS = 16 };

// ---- joint graphs ---------------------------------------------------------------------------------------------------
typedef struct graph {
    kd_model *model;
    kd_system system;
    int       a[JOINTS], b[JOINTS], rows[JOINTS], njoints; // nodes: bodies + 1, 0 is the ground
} graph;

static const int kind_rows[KD_JOINT_KIND_COUNT] = {6, 5, 5, 5, 4, 4, 3, 3, 0, 0, 4, 4, 0, 0, 5, 5};

static const char *node_name(int node)
{
    return node == 0 ? "ground" : (const char *[]){"b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9"}[node - 1];
}

static void graph_start(graph *g)
{
    *g = (graph){.model = new_model()};
    for (int i = 1; i <= BODIES; i++) add_ball(g->model, node_name(i));
}

static void graph_join(graph *g, int a, int b, kd_joint_kind kind, kd_cut cut)
{
    char         name[8];
    kd_joint_def j = kd_joint_def_default(kind);
    j.from = kd_at(node_name(a), 0, 0, 0);
    j.to = kd_at(node_name(b), 0, 0, 0);
    j.cut = cut;
    j.pitch = 1.0;
    (void)snprintf(name, sizeof name, "j%d", g->njoints);
    CHECK(kd_model_add_joint(g->model, name, &j));
    g->a[g->njoints] = a, g->b[g->njoints] = b, g->rows[g->njoints++] = kind_rows[kind];
}

static void graph_finish(graph *g)
{
    CHECK(kd_model_finish(g->model));
    g->system.model = g->model;
    CHECK(kd_system_topology(&g->system));
}

static void graph_release(graph *g)
{
    kd_tree_release(&g->system.tree);
    kd_arena_release(&g->system.arena);
    kd_model_destroy(g->model);
}

static void random_graph(graph *g, uint64_t *seed, bool alike)
{
    graph_start(g);
    for (int k = 0; k < JOINTS; k++) {
        int a = mechanism_below(BODIES + 1, seed), b = mechanism_below(BODIES + 1, seed);
        if (a == b) continue;
        // joints by tables are not cut if another one can be: test_table_joint.c
        kd_joint_kind kind = alike ? KD_REVOLUTE : (kd_joint_kind)mechanism_below(KD_TABLE, seed);
        graph_join(g, a, b, kind, KD_CUT_AUTO);
    }
    graph_finish(g);
}

// Rows of a maximum spanning forest (Kruskal): joints by falling rows, each that joins two parts.
static int most_rows_in_a_tree(const graph *g)
{
    int part[BODIES + 1], sum = 0;
    for (int i = 0; i <= BODIES; i++) part[i] = i;
    for (int rows = 6; rows >= 0; rows--)
        for (int k = 0; k < g->njoints; k++) {
            int from = part[g->a[k]], to = part[g->b[k]];
            if (g->rows[k] != rows || from == to) continue;
            sum += rows;
            for (int i = 0; i <= BODIES; i++)
                if (part[i] == from) part[i] = to;
        }
    return sum;
}

// The joints that are left over have as few rows as possible, over random graphs.
static void test_fewest_rows(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 200; i++) {
        graph    g;
        uint64_t seed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        int      in_tree = 0, carried[BODIES + 2] = {0};
        random_graph(&g, &seed, false);
        for (int k = 0; k < g.njoints; k++)
            if (g.system.edge[k].link > 0) {
                in_tree += g.rows[k];
                carried[g.system.edge[k].link]++;
            }
        assert_int_equal(in_tree, most_rows_in_a_tree(&g));
        for (int l = 1; l <= BODIES; l++) assert_true(carried[l] <= 1);
        graph_release(&g);
    }
}

// Shortest way from the ground by breadth-first rounds; -1: none
static void distances(const graph *g, int *distance)
{
    for (int i = 0; i <= BODIES; i++) distance[i] = i == 0 ? 0 : -1;
    for (int round = 0; round < BODIES; round++)
        for (int k = 0; k < g->njoints; k++) {
            int a = distance[g->a[k]], b = distance[g->b[k]];
            if (a == round && b < 0) distance[g->b[k]] = round + 1;
            if (b == round && a < 0) distance[g->a[k]] = round + 1;
        }
}

// With joints of one kind every body is as close to the ground as it can be.
static void test_least_depth(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 200; i++) {
        graph    g;
        uint64_t seed = (i + 7) * UINT64_C(0x9e3779b97f4a7c15);
        int      distance[BODIES + 1];
        random_graph(&g, &seed, true);
        distances(&g, distance);
        for (int body = 0; body < BODIES; body++) {
            int depth = 0;
            for (int l = g.system.body_link[body]; l > 0; l = g.system.tree.link[l].parent) depth++;
            if (distance[body + 1] > 0) assert_int_equal(depth, distance[body + 1]);
        }
        graph_release(&g);
    }
}

// Joints that the user cuts close loops, those that must not be cut carry bodies, against the number of rows.
static void test_cuts_of_the_user(void **state)
{
    graph g;
    (void)state;
    graph_start(&g);
    graph_join(&g, 0, 1, KD_SPHERICAL, KD_CUT_NO);
    graph_join(&g, 1, 2, KD_REVOLUTE, KD_CUT_YES);
    graph_join(&g, 2, 0, KD_SPHERICAL, KD_CUT_AUTO);
    graph_join(&g, 3, 0, KD_FIXED, KD_CUT_YES); // nothing else holds it: free, and the joint is a constraint
    graph_join(&g, 0, 4, KD_PLANAR, KD_CUT_NO);
    graph_join(&g, 4, 0, KD_REVOLUTE, KD_CUT_AUTO);
    graph_finish(&g);
    const kd_tree_edge *edge = g.system.edge;
    assert_int_equal(edge[0].link, g.system.body_link[0]);
    assert_int_equal(edge[1].link, 0);
    assert_int_equal(edge[2].link, g.system.body_link[1]);
    assert_true(edge[2].reversed);
    assert_int_equal(edge[3].link, 0);
    assert_int_equal(g.system.tree.link[g.system.body_link[2]].kind, KD_FREE);
    assert_int_equal(edge[4].link, g.system.body_link[3]);
    assert_int_equal(edge[5].link, 0);
    graph_release(&g);
}

// What hangs on nothing floats: one free joint for each part, from its first body on.
static void test_floating_parts(void **state)
{
    graph g;
    (void)state;
    graph_start(&g);
    graph_join(&g, 2, 3, KD_REVOLUTE, KD_CUT_AUTO);
    graph_join(&g, 4, 3, KD_UNIVERSAL, KD_CUT_AUTO);
    graph_finish(&g);
    const kd_tree *tree = &g.system.tree;
    int            nfree = 0;
    for (int l = 1; l < tree->nlinks; l++) nfree += tree->link[l].kind == KD_FREE;
    assert_int_equal(nfree, BODIES - 2);
    int two = g.system.body_link[1], three = g.system.body_link[2], four = g.system.body_link[3];
    assert_int_equal(tree->link[two].kind, KD_FREE);
    assert_int_equal(tree->link[three].parent, two);
    assert_int_equal(tree->link[four].parent, three);
    assert_true(g.system.edge[1].reversed);
    assert_int_equal(tree->ndof, 6 * (BODIES - 2) + 1 + 2);
    graph_release(&g);
}

// ---- the design position --------------------------------------------------------------------------------------------
static void check_design(const kd_model *model, kd_coordinates coordinates)
{
    kd_system s = {.model = model, .options = {.coordinates = coordinates}};
    kd_motion motion;
    CHECK(kd_system_topology(&s));
    CHECK(kd_motion_create(&s.tree, &s.arena, &motion));
    kd_tree_place(&s.tree, s.design, &motion);
    for (int b = 0; b < model->nbodies; b++) {
        const kd_link_motion *l = &motion.link[s.body_link[b]];
        const kd_link        *link = &s.tree.link[s.body_link[b]];
        kd_mat3               R = kd_mat_mul(&l->R, &s.body_R[b]);
        kd_vec3               r = kd_vec_add(l->P, kd_mat_vec(&l->R, s.body_r[b]));
        kd_vec3 centre = kd_vec_add(model->body[b].r, kd_mat_vec(&model->body[b].R, model->body[b].centre));
        assert_true(kd_vec_norm(kd_vec_sub(r, model->body[b].r)) < 1e-13);
        assert_true(kd_vec_norm(kd_vec_sub(R.x, model->body[b].R.x)) < 1e-13);
        assert_true(kd_vec_norm(kd_vec_sub(R.y, model->body[b].R.y)) < 1e-13);
        assert_true(kd_vec_norm(kd_vec_sub(kd_vec_add(l->P, kd_mat_vec(&l->R, link->centre)), centre)) < 1e-13);
    }
    kd_tree_release(&s.tree);
    kd_arena_release(&s.arena);
}

// At the coordinates of the design position all bodies are where the model puts them, with every kind of joint used
// forwards and backwards.
static void test_design_position(void **state)
{
    static mechanism m;
    (void)state;
    for (int i = 0; i < 60; i++) {
        mechanism_options opt = {.bodies = 6, .loops = i % 3, .floating = i % 5 == 4};
        mechanism_make(&m, 40 + (uint64_t)i, &opt);
        kd_model *model = mechanism_build(&m, &(mechanism_variant){.reorder = i % 2 == 1});
        assert_non_null(model);
        check_design(model, KD_JOINT);
        check_design(model, KD_CARTESIAN);
        kd_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fewest_rows),      cmocka_unit_test(test_least_depth),
        cmocka_unit_test(test_cuts_of_the_user), cmocka_unit_test(test_floating_parts),
        cmocka_unit_test(test_design_position),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
