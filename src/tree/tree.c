// tree.c: numbering and pattern of a tree, increments and rates of its positions.
#include "tree/tree.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "joint/table.h"

// ---- numbering -----------------------------------------------------------------------------------------------------

// end of every subtree; false: not depth first, i.e. a parent is not on the way from the link before to the ground
static bool find_ends(kd_tree *tree)
{
    kd_link *link = tree->link;
    link[0].parent = 0;
    for (int i = 1; i < tree->nlinks; i++) {
        // subtrees that end where link i begins
        int j = i - 1;
        for (; j != link[i].parent; j = link[j].parent) {
            if (j == 0) return false;
            link[j].end = i;
        }
    }
    for (int j = tree->nlinks - 1; j != 0; j = link[j].parent) link[j].end = tree->nlinks;
    link[0].end = tree->nlinks;
    return true;
}

// Wide links and markers have no joint of their own; markers hang on wide links, and nothing else does.
static bool fits_wide(const kd_tree *tree)
{
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link *l = &tree->link[i];
        const kd_wide *wide = tree->link[l->parent].wide;
        if ((l->wide || l->marker) && (l->kind != KD_FIXED || (l->wide && l->marker))) return false;
        if (l->wide && (l->wide->m < 1 || l->wide->m > SHRT_MAX)) return false;
        if ((wide != NULL) != (l->marker != NULL) || (wide && wide->m != l->marker->m)) return false;
    }
    return true;
}

static bool is_massless(const kd_link *l)
{
    const kd_sym3 *J = &l->inertia;
    return l->mass == 0 && J->xx == 0 && J->yy == 0 && J->zz == 0 && J->xy == 0 && J->xz == 0 && J->yz == 0;
}

void kd_link_note_place(kd_link *l)
{
    const kd_mat3 *E = &l->E;
    const bool     still = l->kind == KD_FIXED && (!l->marker || l->marker->still);
    l->same_point = still && kd_vec_dot(l->r, l->r) == 0;
    l->straight = E->x.x == 1 && E->y.y == 1 && E->z.z == 1;
    l->goes_along = l->same_point && l->straight;
    l->stays = l->form.hinge && kd_vec_dot(l->r, l->r) == 0;
}

// first dof and first position of every link, and their number
static bool number_dofs(kd_tree *tree)
{
    tree->link[0].kind = KD_FIXED;
    tree->ndof = tree->nposition = tree->nwide = 0;
    // dofs and positions follow each other as the links do
    for (int i = 0; i < tree->nlinks; i++) {
        kd_link *l = &tree->link[i];
        if (l->kind < 0 || l->kind >= KD_JOINT_KIND_COUNT) return false;
        l->dof = tree->ndof;
        l->position = tree->nposition;
        l->form = kd_joint_form_of(l->kind);
        l->form.table = l->table;
        if (l->form.curved && !l->table) return false;
        // what kernels ask instead of the kind; a flexible body has as many dofs as modes
        kd_link_note_place(l);
        l->massless = is_massless(l);
        if (l->wide) {
            l->form.ndof = l->form.nscalars = l->form.nposition = (short)l->wide->m;
            l->state = tree->nwide++;
        }
        tree->ndof += l->form.ndof;
        tree->nposition += l->form.nposition;
    }
    // behind the axes of dofs: letters of words that fold, derivatives of curved joints, markers of flexible bodies
    tree->naxes = tree->ndof;
    for (int i = 0; i < tree->nlinks; i++) {
        kd_link *l = &tree->link[i];
        l->letter = tree->naxes;
        if (l->form.folds) tree->naxes += l->form.nletters;
        if (l->form.curved) tree->naxes += KD_TABLE_AXES - 1;
        if (l->marker) tree->naxes += KD_MARKER_AXES;
    }
    return true;
}

static void number_velocities(kd_tree *tree, const bool *prescribed)
{
    tree->nv = 0;
    for (int i = 0; i < tree->nlinks; i++) {
        const kd_link *l = &tree->link[i];
        tree->link_v[i] = tree->nv;
        for (int k = l->dof; k < l->dof + l->form.ndof; k++) {
            tree->dof_link[k] = i;
            tree->dof_v[k] = prescribed && prescribed[k] && !l->wide ? -1 : tree->nv;
            if (tree->dof_v[k] >= 0) tree->v_dof[tree->nv++] = k;
        }
    }
    tree->link_v[tree->nlinks] = tree->nv;
}

// ---- pattern -------------------------------------------------------------------------------------------------------

// entries: sum over the dofs in v of those on the way to the ground and those in the subtree
static int64_t count_entries(const kd_tree *tree, int *above)
{
    int64_t sum = 0;
    above[0] = 0;
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link *l = &tree->link[i];
        const int      own = tree->link_v[i + 1] - tree->link_v[i];
        above[i] = above[l->parent] + tree->link_v[l->parent + 1] - tree->link_v[l->parent];
        sum += (int64_t)own * (above[i] + tree->link_v[l->end] - tree->link_v[i]);
    }
    return sum;
}

static void fill_pattern(kd_tree *tree, const int *above)
{
    const int *link_v = tree->link_v;
    int        next = 0;
    for (int l = 0; l < tree->nv; l++) {
        const int i = tree->dof_link[tree->v_dof[l]];
        tree->column[l] = next;
        // rows above, from the parent up, filled backwards
        int k = next + above[i];
        for (int j = tree->link[i].parent; j != 0; j = tree->link[j].parent)
            for (int row = link_v[j + 1]; row-- > link_v[j];) tree->row[--k] = row;
        // own rows and those below
        next += above[i];
        for (int row = link_v[i]; row < link_v[tree->link[i].end]; row++) tree->row[next++] = row;
    }
    tree->column[tree->nv] = next;
}

static kd_status make_pattern(kd_tree *tree)
{
    tree->column = tree->row = NULL;
    if (tree->bare) return KD_OK;
    int *above = kd_cut_int(&tree->arena, tree->nlinks);
    if (!above) return KD_ERR_MEMORY;
    const int64_t entries = count_entries(tree, above);
    if (entries > KD_TREE_PATTERN_MAX) return KD_OK;
    tree->column = kd_cut_int(&tree->arena, tree->nv + 1);
    tree->row = kd_cut_int(&tree->arena, (int)entries);
    if (!tree->column || !tree->row) return KD_ERR_MEMORY;
    fill_pattern(tree, above);
    return KD_OK;
}

kd_status kd_tree_finish(kd_tree *tree, const bool *prescribed)
{
    if (tree->nlinks < 1 || !tree->link || !find_ends(tree) || !fits_wide(tree) || !number_dofs(tree))
        return KD_ERR_ARGUMENT;
    tree->dof_link = kd_cut_int(&tree->arena, tree->ndof);
    tree->dof_v = kd_cut_int(&tree->arena, tree->ndof);
    tree->v_dof = kd_cut_int(&tree->arena, tree->ndof);
    tree->link_v = kd_cut_int(&tree->arena, tree->nlinks + 1);
    tree->wide = kd_cut_int(&tree->arena, tree->nwide);
    if (tree->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < tree->nlinks; i++)
        if (tree->link[i].wide) tree->wide[tree->link[i].state] = i;
    // dofs in v, then the pattern of M
    number_velocities(tree, prescribed);
    return make_pattern(tree);
}

void kd_tree_release(kd_tree *tree)
{
    if (!tree) return;
    kd_arena_release(&tree->arena);
    *tree = (kd_tree){0};
}

// ---- positions -----------------------------------------------------------------------------------------------------

void kd_tree_oplus(const kd_tree *tree, const double *x, const double *e, double *out)
{
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link *l = &tree->link[i];
        const double  *xi = x + l->position, *ei = e + l->dof;
        double        *oi = out + l->position;
        const int      q = l->form.nscalars;
        for (int k = 0; k < q; k++) oi[k] = xi[k] + ei[k];
        if (l->form.ball) kd_quat_to(kd_quat_mul(kd_quat_of(xi + q), kd_quat_exp(kd_vec_of(ei + q))), oi + q);
    }
}

// quaternions: q' = 1/2 q (0, w), w in the axes of the link
void kd_tree_rates(const kd_tree *tree, const double *x, const double *dx, double *out)
{
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link *l = &tree->link[i];
        const double  *di = dx + l->dof;
        double        *oi = out + l->position;
        const int      q = l->form.nscalars;
        for (int k = 0; k < q; k++) oi[k] = di[k];
        if (l->form.ball) {
            const kd_quat half = {0, 0.5 * di[q], 0.5 * di[q + 1], 0.5 * di[q + 2]};
            kd_quat_to(kd_quat_mul(kd_quat_of(x + l->position + q), half), oi + q);
        }
    }
}
