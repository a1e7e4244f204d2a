// formalism_systems.c: chains, binary trees and a robot; their evaluations with kardan.
#include "formalism.h"
#include <stdint.h>

// uniform in [-1, 1)
static double random_number(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

static kd_vec3 random_vec(double size, uint64_t *seed)
{
    const double x = random_number(seed), y = random_number(seed), z = random_number(seed);
    return kd_vec(size * x, size * y, size * z);
}

// A body of about 0.3 m; its joint is turned by a right angle against the one before, and a little more.
static void fill_link(kd_link *l, int i, kd_mat3 *axes, kd_vec3 *moments, uint64_t *seed)
{
    const double  right = i % 2 == 0 ? 1.57 : -1.57;
    const kd_quat tilt = kd_quat_exp(random_vec(0.3, seed)), Q = kd_quat_exp(random_vec(1, seed));
    const kd_vec3 d = random_vec(0.003, seed);
    l->E = kd_quat_matrix(kd_quat_mul(kd_quat_exp(kd_vec(right, 0, 0)), tilt));
    l->r = kd_vec_add(kd_vec(0, 0, 0.3), random_vec(0.05, seed));
    l->mass = 1 + 0.3 * random_number(seed);
    l->centre = kd_vec_add(kd_vec(0, 0, 0.15), random_vec(0.05, seed));
    *axes = kd_quat_matrix(Q);
    *moments = kd_vec_add(kd_vec(0.012, 0.012, 0.014), d);
    const kd_sym3 central = {.xx = moments->x, .yy = moments->y, .zz = moments->z};
    const kd_sym3 turned = kd_sym_rotate(axes, &central);
    l->inertia = kd_sym_steiner(&turned, l->mass, l->centre);
}

static void add_chain(kd_tree *t, int parent, int count)
{
    for (int k = 0; k < count; k++) {
        t->link[t->nlinks] = (kd_link){.parent = k == 0 ? parent : t->nlinks - 1, .kind = KD_REVOLUTE};
        t->nlinks++;
    }
}

static void add_tree(kd_tree *t, int parent, int count)
{
    if (count == 0) return;
    const int own = t->nlinks;
    add_chain(t, parent, 1);
    add_tree(t, own, (count - 1) / 2);
    add_tree(t, own, count - 1 - (count - 1) / 2);
}

static void add_robot(kd_tree *t)
{
    add_chain(t, 0, 1);
    t->link[1].kind = KD_FREE;
    add_chain(t, 1, 6); // legs
    add_chain(t, 1, 6);
    add_chain(t, 1, 2); // waist
    const int chest = t->nlinks - 1;
    add_chain(t, chest, 2); // head
    add_chain(t, chest, 7); // arms
    add_chain(t, chest, 7);
}

static bool fill_states(formalism_system *s, bool with_matrices, uint64_t *seed)
{
    const kd_tree *t = &s->tree;
    kd_arena      *arena = &s->arena;
    s->tau = kd_cut_double(arena, t->ndof);
    s->a = kd_cut_double(arena, t->ndof);
    if (with_matrices && t->column) {
        s->M = kd_cut_double(arena, t->column[t->nv]);
        s->by_p = kd_cut_double(arena, t->column[t->nv]);
        s->by_v = kd_cut_double(arena, t->column[t->nv]);
    }
    for (int k = 0; k < FORMALISM_STATES; k++) {
        s->x[k] = kd_cut_double(arena, t->nposition);
        s->dx[k] = kd_cut_double(arena, t->ndof);
        s->ddx[k] = kd_cut_double(arena, t->ndof);
        if (arena->failed) return false;
        for (int i = 0; i < t->nposition; i++) s->x[k][i] = random_number(seed);
        for (int i = 0; i < t->ndof; i++) s->dx[k][i] = 0.5 * random_number(seed);
        for (int i = 0; i < t->ndof; i++) s->ddx[k][i] = 2 * random_number(seed);
        if (t->link[1].kind == KD_FREE) kd_quat_to(kd_quat_normalised(kd_quat_of(s->x[k] + 3)), s->x[k] + 3);
    }
    return true;
}

bool formalism_open(formalism_system *s, formalism_shape shape, int nbodies, bool with_matrices)
{
    uint64_t seed = 1;
    *s = (formalism_system){.nbodies = nbodies, .g = {0, 0, -9.81}};
    kd_tree *t = &s->tree;
    t->link = kd_arena_cut(&t->arena, (size_t)nbodies + 1, sizeof *t->link);
    s->axes = kd_arena_cut(&s->arena, (size_t)nbodies + 1, sizeof *s->axes);
    s->central = kd_arena_cut(&s->arena, (size_t)nbodies + 1, sizeof *s->central);
    if (!t->link || s->arena.failed) return false;
    t->nlinks = 1;
    if (shape == FORMALISM_CHAIN) add_chain(t, 0, nbodies);
    if (shape == FORMALISM_TREE) add_tree(t, 0, nbodies);
    if (shape == FORMALISM_ROBOT) add_robot(t);
    for (int i = 1; i < t->nlinks; i++) fill_link(&t->link[i], i, &s->axes[i], &s->central[i], &seed);
    if (shape == FORMALISM_ROBOT) { // free in the world, as the peer wants it
        t->link[1].E = kd_mat_identity();
        t->link[1].r = kd_vec(0, 0, 0);
    }
    return kd_tree_finish(t, NULL) == KD_OK && kd_motion_create(t, &s->arena, &s->m) == KD_OK &&
           fill_states(s, with_matrices, &seed);
}

void formalism_close(formalism_system *s)
{
    kd_arena_release(&s->arena);
    kd_tree_release(&s->tree);
}

// ---- evaluations: all with the position pass -----------------------------------------------------------------------

static void forward(formalism_system *s, int k)
{
    int bad;
    kd_tree_place(&s->tree, s->x[k], &s->m);
    kd_tree_move(&s->tree, s->dx[k], &s->m);
    (void)kd_tree_explicit(&s->tree, &s->m, s->dx[k], s->g, NULL, NULL, s->a, &bad);
}

// residual by position, velocity and acceleration
static void jacobian(formalism_system *s, int k)
{
    kd_tree_place(&s->tree, s->x[k], &s->m);
    kd_tree_move(&s->tree, s->dx[k], &s->m);
    kd_tree_accelerate(&s->tree, s->dx[k], s->ddx[k], s->g, &s->m);
    kd_tree_residual_derivatives(&s->tree, &s->m, s->dx[k], s->ddx[k], s->by_p, s->by_v);
    kd_tree_mass(&s->tree, &s->m, s->M);
}

void formalism_run(formalism_system *s, formalism_task task, int k)
{
    switch (task) {
    case FORWARD:
        forward(s, k);
        return;
    case INVERSE:
        kd_tree_inverse_dynamics(&s->tree, s->x[k], s->dx[k], s->ddx[k], s->g, NULL, &s->m, s->tau);
        return;
    case MASS:
        kd_tree_place(&s->tree, s->x[k], &s->m);
        kd_tree_mass(&s->tree, &s->m, s->M);
        return;
    case JACOBIAN:
        jacobian(s, k);
        return;
    case FORMALISM_TASKS:
        return;
    }
}
