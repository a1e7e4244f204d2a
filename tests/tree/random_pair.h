// tests/tree/random_pair.h: frames on two links of a random tree, and their relative motion at moved states.
#ifndef KD_TEST_RANDOM_PAIR_H
#define KD_TEST_RANDOM_PAIR_H

#include "tree/random_tree.h"

#include "tree/pair.h"

typedef struct couple {
    sample      s;
    kd_pair     pair;
    kd_relative rel;
    kd_change  *change;       // (nsteps)
    double     *x, *dx, *ddx; // of the moved state
} couple;

// A branched tree of all kinds of joints, and two of its links.
static inline void couple_create(couple *c, uint64_t number)
{
    uint64_t      seed = (number + 1) * UINT64_C(0x9e3779b97f4a7c15); // far apart
    kd_joint_kind list[ALL_JOINTS];
    if (number % 4 == 3) // with links that deform
        sample_create_wide(&c->s, 1, number % 8 == 3 ? 0 : 5, &seed);
    else
        sample_create(&c->s, 9, number % 3 == 0 ? CHAIN : BRANCHED, ALL_JOINTS, all_joints(0, list),
                      number % 2 == 0 ? 0 : 5, &seed);
    c->pair.a = random_below(c->s.tree.nlinks, &seed);
    do c->pair.b = random_below(c->s.tree.nlinks, &seed);
    while (c->pair.b == c->pair.a);
    c->pair.ra = random_vec(0.7, &seed), c->pair.rb = random_vec(0.7, &seed);
    c->pair.Ra = random_rotation(&seed), c->pair.Rb = random_rotation(&seed);
    assert_true(kd_pair_path(&c->s.tree, &c->pair, &c->s.arena));
    c->change = kd_arena_cut(&c->s.arena, (size_t)c->pair.nsteps, sizeof *c->change);
    c->x = kd_cut_double(&c->s.arena, c->s.tree.nposition);
    c->dx = kd_cut_double(&c->s.arena, c->s.tree.ndof);
    c->ddx = kd_cut_double(&c->s.arena, c->s.tree.ndof);
}

static inline void couple_destroy(couple *c)
{
    sample_destroy(&c->s);
}

// Relative motion at x, dx, ddx; gravity must not matter.
static inline kd_relative couple_at(couple *c, const double *x, const double *dx, const double *ddx)
{
    kd_relative rel = {0};
    kd_tree_place(&c->s.tree, x, &c->s.m);
    kd_tree_move(&c->s.tree, dx, &c->s.m);
    kd_tree_accelerate(&c->s.tree, dx, ddx, c->s.g, &c->s.m);
    kd_pair_place(&c->pair, &c->s.m, &rel);
    kd_pair_move(&c->pair, &c->s.m, &rel);
    kd_pair_accelerate(&c->pair, &c->s.m, &rel);
    return rel;
}

// At the state itself, with the changes along all dofs of the path.
static inline void couple_go(couple *c)
{
    c->rel = couple_at(c, c->s.x, c->s.dx, c->s.ddx);
    kd_pair_axes(&c->pair, &c->s.tree, &c->s.m, &c->rel, c->change);
    kd_pair_changes(&c->pair, &c->s.tree, &c->s.m, &c->rel, c->s.dx, c->s.ddx, c->change);
}

// Changes along the dof of step l: those of all steps that have it, the letters of a word that folds.
static inline kd_change couple_along(const couple *c, int l)
{
    enum { NUMBERS = sizeof(kd_change) / sizeof(double) };
    kd_change sum = {.w = {0, 0, 0}};
    for (int k = 0; k < c->pair.nsteps; k++)
        for (int i = 0; i < NUMBERS && c->pair.step[k].dof == c->pair.step[l].dof; i++)
            ((double *)&sum)[i] += ((const double *)&c->change[k])[i];
    return sum;
}

// After the time h: x oplus (h dx + h^2/2 ddx), dx + h ddx
static inline kd_relative couple_later(couple *c, double h)
{
    for (int k = 0; k < c->s.tree.ndof; k++) {
        c->s.e[k] = h * c->s.dx[k] + 0.5 * h * h * c->s.ddx[k];
        c->dx[k] = c->s.dx[k] + h * c->s.ddx[k];
    }
    kd_tree_oplus(&c->s.tree, c->s.x, c->s.e, c->x);
    return couple_at(c, c->x, c->dx, c->s.ddx);
}

// Moved by h along a dof (position), or with its rate changed by h.
static inline kd_relative couple_moved(couple *c, int dof, double h, bool rate)
{
    memset(c->s.e, 0, (size_t)c->s.tree.ndof * sizeof(double));
    memcpy(c->dx, c->s.dx, (size_t)c->s.tree.ndof * sizeof(double));
    if (rate)
        c->dx[dof] += h;
    else
        c->s.e[dof] = h;
    kd_tree_oplus(&c->s.tree, c->s.x, c->s.e, c->x);
    return couple_at(c, c->x, c->dx, c->s.ddx);
}

static const double small_step = 1e-3;

// central difference of order 4 from the values at h, -h, 2 h, -2 h
static inline double slope_of(const double f[4])
{
    return (8 * (f[0] - f[1]) - (f[2] - f[3])) / (12 * small_step);
}

static const double stencil[4] = {1e-3, -1e-3, 2e-3, -2e-3};

#endif
