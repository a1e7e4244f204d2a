// steps.h: the motion of one step of a path; private to the algorithms on pairs.
#ifndef KARDAN_TREE_STEPS_H
#define KARDAN_TREE_STEPS_H

#include "tree/pair.h"
#include "tree/vector.h"

// The part that a mode has in a letter that bends, as it is now
static inline double kd_step_part(const kd_step *step, const kd_tree *tree, const kd_motion *m)
{
    const kd_link *l = &tree->link[step->marker];
    return kd_marker_slope(m->work->row[step->marker], step->axis - l->letter, step->dof - tree->link[l->parent].dof);
}

// S_l = (w, u) of a step, axes of the world, about the origin of B at rB
static inline kd_v6 kd_step_in_world(const kd_step *step, const kd_tree *tree, const kd_motion *m, kd_v3 rB)
{
    const kd_axis *axis = &m->axis[step->axis];
    const kd_v3    w = kd_v3_load(&axis->w), arm = kd_v3_sub(rB, kd_v3_load(&m->link[tree->dof_link[step->dof]].P));
    const kd_v3    u = kd_v3_add(kd_v3_load(&axis->u), kd_v3_cross(w, arm));
    const double   rate = step->marker > 0 ? step->rate * kd_step_part(step, tree, m) : step->rate;
    return (kd_v6){kd_v3_scale(rate, w), kd_v3_scale(rate, u)};
}

// The same in the axes of A; to_A: R_A'
static inline kd_v6 kd_step_motion(const kd_step *step, const kd_tree *tree, const kd_motion *m, const kd_m3 *to_A,
                                   kd_v3 rB)
{
    const kd_v6 S = kd_step_in_world(step, tree, m, rB);
    return (kd_v6){kd_m3_times(to_A, S.w), kd_m3_times(to_A, S.u)};
}

#endif
