// dispatch.c: the functions of tree.h that exist in variants for several processors, and the memory of a motion.
#include "tree/path_product.h"
#include "tree/work.h"

#include <stdint.h>
#include <string.h>

static bool has_avx2(void)
{
#ifdef KD_AVX2
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

// ---- memory --------------------------------------------------------------------------------------------------------

// first link of the tree, the unbranched row that ends in link i, and what is above
static void find_runs(const kd_tree *tree, struct kd_tree_work *w)
{
    for (int i = 1; i < tree->nlinks; i++) {
        const int parent = tree->link[i].parent;
        w->root[i] = parent == 0 ? i : w->root[parent];
        const bool goes_on = parent != 0 && tree->link_v[parent + 1] == tree->link_v[i];
        w->run_v[i] = goes_on ? w->run_v[parent] : tree->link_v[i];
        w->run_parent[i] = goes_on ? w->run_parent[parent] : parent;
        w->above[i] = w->above[parent] + tree->link_v[parent + 1] - tree->link_v[parent];
    }
}

// Link i hangs alone on its parent, as far as there are dofs
static bool goes_on_alone(const kd_tree *tree, int i)
{
    const int parent = tree->link[i].parent, *v = tree->link_v;
    return parent != 0 && v[parent + 1] == v[i] && v[tree->link[parent].end] == v[tree->link[i].end];
}

// after find_runs
static void find_chains(const kd_tree *tree, struct kd_tree_work *w)
{
    int *belongs = w->chain_of;
    for (int i = 1; i < tree->nlinks; i++) {
        const int first = tree->link_v[i], own = tree->link_v[i + 1];
        belongs[i] = goes_on_alone(tree, i) ? belongs[tree->link[i].parent] : w->nchains;
        kd_chain *chain = &w->chain[belongs[i]];
        // chains without dofs are written over
        if (belongs[i] == w->nchains)
            *chain = (kd_chain){first, first, tree->link_v[tree->link[i].end], w->above[i] - first};
        chain->own = own;
        if (belongs[i] == w->nchains && own > first) w->nchains++;
    }
}

// angles in x, one for each letter that turns; w->angle NULL: only count them
static void find_angles(const kd_tree *tree, struct kd_tree_work *w)
{
    w->nangles = w->nhalves = 0;
    for (int i = 0; i < tree->nlinks; i++) {
        const kd_link *l = &tree->link[i];
        if (w->angle) w->first_angle[i] = w->nangles;
        for (const kd_letter *letter = l->form.word; letter->motion; letter++) {
            if (!kd_letter_turns(letter)) continue;
            if (w->angle) w->angle[w->nangles] = l->position + letter->coordinate;
            if (letter->scale == KD_HALF) {
                if (w->angle) w->half[w->nhalves] = w->nangles;
                w->nhalves++;
            }
            w->nangles++;
        }
    }
    w->nturns = (w->nangles + 3) / 4 * 4;
    for (int i = 0; i < tree->nlinks; i++) {
        if (!tree->link[i].marker || tree->link[i].marker->still) continue;
        if (w->angle) w->first_angle[i] = w->nturns;
        w->nturns += 4;
    }
}

// at a multiple of 32 bytes, for lanes
static void *cut_aligned(kd_arena *arena, size_t count, size_t size)
{
    char *memory = kd_arena_cut(arena, count * size + 32, 1);
    return memory ? memory + (32 - (uintptr_t)memory % 32) : NULL;
}

// rows of markers, which those that bend write over
static void cut_markers(const kd_tree *tree, kd_arena *arena, struct kd_tree_work *w)
{
    if (tree->nwide == 0) return;
    w->row = kd_arena_cut(arena, (size_t)tree->nlinks, sizeof *w->row);
    for (int i = 1; i < tree->nlinks && !arena->failed; i++) {
        const kd_marker *marker = tree->link[i].marker;
        if (!marker) continue;
        const size_t n = (size_t)(KD_MARKER_ROWS * marker->mp);
        w->row[i] = kd_cut_fours(arena, (int)n + 8, 1);
        if (w->row[i]) memcpy(w->row[i], marker->row, n * sizeof *marker->row);
    }
}

static void cut_work(const kd_tree *tree, kd_arena *arena, struct kd_tree_work *w)
{
    const size_t nlinks = (size_t)tree->nlinks, ndof = (size_t)tree->ndof;
    find_angles(tree, w);
    w->angles = kd_cut_double(arena, w->nturns);
    w->sine = kd_cut_double(arena, w->nturns);
    w->cosine = kd_cut_double(arena, w->nturns);
    w->angle = kd_cut_int(arena, w->nangles);
    w->first_angle = kd_cut_int(arena, tree->nlinks);
    w->half = kd_cut_int(arena, w->nhalves);
    w->bias = kd_arena_cut(arena, nlinks + 1, sizeof *w->bias);
    w->given = cut_aligned(arena, nlinks, KD_GIVEN_SIZE);
    w->eliminated = kd_arena_cut(arena, ndof + 1, sizeof *w->eliminated);
    w->root = kd_cut_int(arena, tree->nlinks);
    w->run_v = kd_cut_int(arena, tree->nlinks);
    w->run_parent = kd_cut_int(arena, tree->nlinks);
    w->above = kd_cut_int(arena, tree->nlinks);
    w->stride = tree->nv > KD_ROWS_STRIDE ? tree->nv : KD_ROWS_STRIDE;
    w->chain = kd_arena_cut(arena, nlinks, sizeof *w->chain);
    w->chain_of = kd_cut_int(arena, tree->nlinks);
    w->S = kd_cut_double(arena, 6 * w->stride);
    w->IS = kd_cut_double(arena, 6 * w->stride + 3); // four are read where one is left
    w->BS = kd_cut_double(arena, 3 * w->stride);
    w->turned = kd_arena_cut(arena, nlinks, sizeof *w->turned);
    w->wide = kd_arena_cut(arena, (size_t)tree->nwide, sizeof *w->wide);
    for (int i = 1; i < tree->nlinks && !arena->failed; i++)
        if (tree->link[i].wide) (void)kd_wide_cut(tree->link[i].wide, arena, &w->wide[tree->link[i].state]);
    cut_markers(tree, arena, w);
}

const kd_wide_state *kd_motion_wide(const kd_motion *m, const kd_link *link)
{
    return &m->work->wide[link->state];
}

const double *kd_motion_marker(const kd_motion *m, int link)
{
    return m->work->row[link];
}

kd_status kd_motion_create(const kd_tree *tree, kd_arena *arena, kd_motion *m)
{
    const size_t         nlinks = (size_t)tree->nlinks, naxes = (size_t)tree->naxes;
    struct kd_tree_work *w = kd_arena_cut(arena, 1, sizeof *w);
    *m = (kd_motion){
        .link = kd_arena_cut(arena, nlinks + 1, sizeof *m->link), // one more: see vector.h
        .axis = kd_arena_cut(arena, naxes + 1, sizeof *m->axis),
        .reaction = kd_arena_cut(arena, nlinks + 1, sizeof *m->reaction),
        .work = w,
    };
    if (!w) return KD_ERR_MEMORY;
    cut_work(tree, arena, w);
    if (arena->failed) return KD_ERR_MEMORY;
    w->avx2 = has_avx2();
    m->link[0].R = kd_mat_identity();
    find_angles(tree, w);
    find_runs(tree, w);
    find_chains(tree, w);
    return KD_OK;
}

// ---- variants ------------------------------------------------------------------------------------------------------

void kd_tree_place(const kd_tree *tree, const double *x, kd_motion *m)
{
    KD_CALL(kd_place, tree, x, m);
}

void kd_tree_place_some(const kd_tree *tree, const double *x, int n, const int *list, bool first, kd_motion *m)
{
    KD_CALL(kd_place_some, tree, x, n, list, first, m);
}

void kd_tree_move(const kd_tree *tree, const double *dx, kd_motion *m)
{
    KD_CALL(kd_move, tree, dx, m);
}

void kd_tree_accelerate(const kd_tree *tree, const double *dx, const double *ddx, kd_vec3 g, kd_motion *m)
{
    KD_CALL(kd_accelerate, tree, dx, ddx, g, m);
}

void kd_tree_residual(const kd_tree *tree, kd_motion *m, const kd_wrench *load, double *tau)
{
    KD_CALL(kd_residual, tree, m, load, tau);
}

void kd_tree_inverse_dynamics(const kd_tree *tree, const double *x, const double *dx, const double *ddx, kd_vec3 g,
                              const kd_wrench *load, kd_motion *m, double *tau)
{
    kd_tree_place(tree, x, m);
    kd_tree_move(tree, dx, m);
    kd_tree_accelerate(tree, dx, ddx, g, m);
    kd_tree_residual(tree, m, load, tau);
}

bool kd_tree_explicit(const kd_tree *tree, kd_motion *m, const double *dx, kd_vec3 g, const kd_wrench *load,
                      const double *tau, double *ddx, int *bad)
{
    return KD_CALL(kd_explicit, tree, m, dx, g, load, tau, ddx, bad);
}

void kd_tree_mass(const kd_tree *tree, kd_motion *m, double *values)
{
    KD_CALL(kd_mass, tree, m, values);
}

void kd_tree_mass_dense(const kd_tree *tree, kd_motion *m, double *M)
{
    KD_CALL(kd_mass_dense, tree, m, M);
}

void kd_tree_residual_derivatives(const kd_tree *tree, kd_motion *m, const double *dx, const double *ddx,
                                  double *by_position, double *by_velocity)
{
    KD_CALL(kd_residual_derivatives, tree, m, dx, ddx, by_position, by_velocity);
}

void kd_pair_place(const kd_pair *pair, const kd_motion *m, kd_relative *rel)
{
    KD_CALL(kd_pair_place, pair, m, rel);
}

void kd_pair_move(const kd_pair *pair, const kd_motion *m, kd_relative *rel)
{
    KD_CALL(kd_pair_move, pair, m, rel);
}

void kd_pair_axes(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel, kd_change *out)
{
    KD_CALL(kd_pair_axes, pair, tree, m, rel, out);
}

void kd_pair_load(const kd_pair *pair, const kd_motion *m, const kd_relative *rel, const kd_wrench *between,
                  kd_wrench *load)
{
    KD_CALL(kd_pair_load, pair, m, rel, between, load);
}

void kd_path_product(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                     const double *dx, const kd_path_load *load, double *scratch, double *p, double *v)
{
    KD_CALL(kd_path_product, pair, tree, m, rel, dx, load, scratch, p, v);
}

void kd_path_congruence(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                        const kd_path_load *load, double *scratch, double *block)
{
    KD_CALL(kd_path_congruence, pair, tree, m, rel, load, scratch, block);
}

void kd_path_subtract(const kd_motion *m, int nruns, const kd_path_run *run, const double *block, double *values)
{
    KD_CALL(kd_path_subtract, nruns, run, block, values);
}

void kd_path_add(const kd_motion *m, int n, const double *const from[4], double *values)
{
    KD_CALL(kd_path_add, n, from, values);
}
