// tests/tree/test_tree.c: numbering, pattern, increments and rates of a tree.
#include "tree/random_tree.h"

static bool is_above(const kd_tree *t, int i, int j) // is link i on the way from j to the ground, or j?
{
    while (j > i) j = t->link[j].parent;
    return i == j;
}

// The subtree of a link is the range up to its end, for all links of random trees.
static void test_ends(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s))
        for (int i = 0; i < s.tree.nlinks; i++)
            for (int j = i; j < s.tree.nlinks; j++) assert_int_equal(is_above(&s.tree, i, j), j < s.tree.link[i].end);
}

// Dofs and positions follow each other; v holds those that are not prescribed.
static void test_numbers(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) {
        const kd_tree *t = &s.tree;
        int            dof = 0, position = 0, v = 0;
        for (int i = 0; i < t->nlinks; i++) {
            assert_int_equal(t->link[i].dof, dof);
            assert_int_equal(t->link[i].position, position);
            assert_int_equal(t->link_v[i], v);
            const kd_wide *wide = t->link[i].wide; // amplitudes are never prescribed
            for (int k = 0; k < (wide ? wide->m : kd_joint_form_of(t->link[i].kind).ndof); k++, dof++) {
                const bool prescribed = s.prescribed[dof] && !wide;
                assert_int_equal(t->dof_link[dof], i);
                assert_int_equal(t->dof_v[dof], prescribed ? -1 : v);
                if (!prescribed) assert_int_equal(t->v_dof[v++], dof);
            }
            position += wide ? wide->m : kd_joint_form_of(t->link[i].kind).nposition;
        }
        assert_int_equal(t->ndof, dof);
        assert_int_equal(t->nposition, position);
        assert_int_equal(t->nv, v);
        assert_int_equal(t->link_v[t->nlinks], v);
    }
}

// A pair of v is in the pattern if and only if one of the links is above the other or the same; rows rise.
static void test_pattern(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) {
        const kd_tree *t = &s.tree;
        for (int l = 0; l < t->nv; l++) {
            int at = t->column[l];
            for (int k = 0; k < t->nv; k++) {
                const int i = t->dof_link[t->v_dof[k]], j = t->dof_link[t->v_dof[l]];
                if (!is_above(t, i < j ? i : j, i < j ? j : i)) continue;
                assert_int_equal(t->row[at++], k);
            }
            assert_int_equal(at, t->column[l + 1]);
        }
    }
}

// A parent that is not on the way from the link before to the ground is refused, as is an unknown joint.
static void test_wrong_order(void **state)
{
    (void)state;
    kd_link link[5] = {{0}, {.parent = 0}, {.parent = 1}, {.parent = 0}, {.parent = 1}};
    kd_tree tree = {.nlinks = 5, .link = link};
    assert_int_equal(kd_tree_finish(&tree, NULL), KD_ERR_ARGUMENT);
    link[4].parent = 4;
    assert_int_equal(kd_tree_finish(&tree, NULL), KD_ERR_ARGUMENT);
    link[4].parent = -1;
    assert_int_equal(kd_tree_finish(&tree, NULL), KD_ERR_ARGUMENT);
    link[4].parent = 3;
    link[2].kind = KD_JOINT_KIND_COUNT;
    assert_int_equal(kd_tree_finish(&tree, NULL), KD_ERR_ARGUMENT);
    link[2].kind = KD_FREE;
    assert_int_equal(kd_tree_finish(&tree, NULL), KD_OK);
    kd_tree_release(&tree);
    kd_tree_release(NULL);
}

// A very long chain gets no pattern but is a tree; the ground alone is one, too.
static void test_extreme_sizes(void **state)
{
    (void)state;
    for (int nlinks = 1; nlinks < 20000; nlinks += 9999) {
        kd_tree tree = {.nlinks = nlinks};
        tree.link = kd_arena_cut(&tree.arena, (size_t)nlinks, sizeof *tree.link);
        for (int i = 1; i < nlinks; i++) tree.link[i] = (kd_link){.parent = i - 1, .kind = KD_REVOLUTE};
        assert_int_equal(kd_tree_finish(&tree, NULL), KD_OK);
        assert_int_equal(tree.nv, nlinks - 1);
        assert_int_equal(tree.row == NULL, nlinks > 8193);
        kd_tree_release(&tree);
    }
}

// Without memory, finish and create say so.
static void *allocate_nothing(size_t size, void *context)
{
    (void)size;
    (void)context;
    return NULL;
}
static void release_nothing(void *memory, void *context)
{
    (void)memory;
    (void)context;
}
static void test_no_memory(void **state)
{
    (void)state;
    sample   s;
    int      number = 20;
    kd_arena arena = {0};
    assert_true(sample_next(&number, &s));
    kd_set_allocator(&(kd_allocator){allocate_nothing, release_nothing, NULL});
    kd_tree   tree = {.nlinks = s.tree.nlinks, .link = s.tree.link};
    kd_motion m;
    assert_int_equal(kd_tree_finish(&tree, NULL), KD_ERR_MEMORY);
    assert_int_equal(kd_motion_create(&s.tree, &arena, &m), KD_ERR_MEMORY);
    kd_set_allocator(NULL);
    kd_arena_release(&arena);
    sample_destroy(&s);
}

// The rates are the derivative of the increments: (x oplus h dx - x oplus -h dx) / 2h.
static void test_rates(void **state)
{
    (void)state;
    const double h = 1e-5;
    sample       s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) {
        const kd_tree *t = &s.tree;
        double        *plus = kd_cut_double(&s.arena, t->nposition), *minus = kd_cut_double(&s.arena, t->nposition);
        for (int k = 0; k < t->ndof; k++) s.e[k] = h * s.dx[k];
        kd_tree_oplus(t, s.x, s.e, plus);
        for (int k = 0; k < t->ndof; k++) s.e[k] = -h * s.dx[k];
        kd_tree_oplus(t, s.x, s.e, minus);
        for (int k = 0; k < t->nposition; k++) plus[k] = (plus[k] - minus[k]) / (2 * h);
        kd_tree_rates(t, s.x, s.dx, s.x2);
        assert_close(t->nposition, s.x2, plus, 1e-9);
    }
}

// An increment in place gives the same bits, and its opposite leads back.
static void test_oplus_in_place(void **state)
{
    (void)state;
    sample s;
    for (int n = 0; sample_next_any(&n, &s); sample_destroy(&s)) {
        const size_t size = (size_t)s.tree.nposition * sizeof(double);
        double      *copy = kd_cut_double(&s.arena, s.tree.nposition);
        memcpy(copy, s.x, size);
        kd_tree_oplus(&s.tree, s.x, s.dx, s.x2);
        kd_tree_oplus(&s.tree, s.x, s.dx, s.x);
        assert_memory_equal(s.x, s.x2, size);
        for (int k = 0; k < s.tree.ndof; k++) s.e[k] = -s.dx[k];
        kd_tree_oplus(&s.tree, s.x, s.e, s.x);
        assert_close(s.tree.nposition, s.x, copy, 1e-15);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),        cmocka_unit_test(test_numbers),        cmocka_unit_test(test_pattern),
        cmocka_unit_test(test_wrong_order), cmocka_unit_test(test_extreme_sizes),  cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_rates),       cmocka_unit_test(test_oplus_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
