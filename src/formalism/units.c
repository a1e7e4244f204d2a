// units.c: natural sizes of the coordinates of a model: 1 rad for turns, the size of the bodies for shifts.
//
// The size is the longest lever arm: the largest distance of a joint, constraint or force from the centre of mass of
// its body, or radius of gyration. It grows with the model in the same ratio, exactly for powers of two.
#include "formalism/system.h"

#include <math.h>

// The longest arm of a place
static double reach(const kd_model *m, const kd_anchor *at, double longest)
{
    if (at->body < 0) return longest;
    return fmax(longest, kd_vec_norm(kd_vec_sub(at->r, m->body[at->body].centre)));
}

static double gyration(const kd_body *b)
{
    const double inertia = b->inertia.xx + b->inertia.yy + b->inertia.zz;
    return b->def.mass > 0 && inertia > 0 ? sqrt(inertia / b->def.mass) : 0;
}

// Points without arms: as far as the bodies are from each other, or from the origin
static double spread(const kd_model *m)
{
    double longest = 0;
    for (int i = 1; i < m->nbodies; i++) longest = fmax(longest, kd_vec_norm(kd_vec_sub(m->body[i].r, m->body[0].r)));
    for (int i = 0; i < m->nbodies && longest == 0; i++) longest = kd_vec_norm(m->body[i].r);
    return longest > 0 ? longest : 1;
}

static double length_of(const kd_model *m)
{
    double longest = 0;
    for (int i = 0; i < m->nbodies; i++) longest = fmax(longest, gyration(&m->body[i]));
    for (int i = 0; i < m->njoints; i++) longest = reach(m, &m->joint[i].from, reach(m, &m->joint[i].to, longest));
    for (int i = 0; i < m->nconstraints; i++)
        longest = reach(m, &m->constraint[i].from, reach(m, &m->constraint[i].to, longest));
    for (int i = 0; i < m->nforces; i++) longest = reach(m, &m->force[i].from, reach(m, &m->force[i].to, longest));
    return longest > 0 ? longest : spread(m);
}

// Is dof k of a joint a shift? (the table of tree.h)
static bool is_shift(kd_tree_joint kind, int k)
{
    switch (kind) {
    case KD_TREE_PRISMATIC:
        return true;
    case KD_TREE_CYLINDRICAL:
        return k == 1;
    case KD_TREE_PLANAR:
        return k < 2;
    case KD_TREE_FREE:
    case KD_TREE_CARDAN:
        return k < 3;
    default:
        return false;
    }
}

double *kd_system_units(kd_system *s)
{
    const kd_tree *tree = &s->tree;
    const double   length = length_of(s->model);
    double        *unit = kd_cut_double(&s->arena, s->nv);
    for (int j = 0; unit && j < s->nv; j++) {
        const int      dof = tree->v_dof[j];
        const kd_link *link = &tree->link[tree->dof_link[dof]];
        unit[j] = is_shift(link->kind, dof - link->dof) ? length : 1.0;
    }
    return unit;
}
