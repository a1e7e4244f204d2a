// joint.h: what the passes over a tree need of a joint: its angles, and the acceleration that its motion brings.
#ifndef KARDAN_TREE_JOINT_H
#define KARDAN_TREE_JOINT_H

#include "joint/place.h"
#include "tree/vector.h"

// position and velocity of a link, at hand
typedef struct kd_joint_state {
    kd_v3 w, v, P;
} kd_joint_state;

static inline kd_joint_state kd_joint_state_of(const kd_link_motion *m)
{
    return (kd_joint_state){kd_v3_load(&m->w), kd_v3_load(&m->v), kd_v3_load(&m->P)};
}

// sum of w_a x w_b over all pairs of turns, a before b: the turns of a word, of which each carries those behind it
static inline kd_v3 kd_joint_turning(const kd_link *l, const kd_axis *all, const double *dx)
{
    kd_v3 sum = kd_v3_zero(), before = sum;
    for (int k = 0; k < l->form.nletters; k++) {
        const kd_letter *letter = &l->form.word[k];
        if (!kd_letter_turns(letter)) continue;
        const kd_axis *axis = &all[l->form.folds ? l->letter + k : l->dof + letter->coordinate];
        const kd_v3    w = kd_v3_load(&axis->w);
        sum = kd_v3_axpy(sum, dx[letter->coordinate], kd_v3_cross(before, w));
        before = kd_v3_axpy(before, dx[letter->coordinate], w);
    }
    return sum;
}

// sum of the letters at the rates u of shifts and w of turns, velocity of the marker: turns leave it where it is
static inline kd_v6 kd_marker_motion(const kd_axis *letter, const double *u, const double *w)
{
    const kd_v3 x = kd_v3_add(kd_v3_load(&letter[3].w), kd_v3_load(&letter[7].w)),
                y = kd_v3_add(kd_v3_load(&letter[4].w), kd_v3_load(&letter[6].w));
    const kd_v3 turn = kd_v3_axpy(kd_v3_scale(0.5 * w[0], x), 0.5 * w[1], y);
    const kd_v3 shift = kd_v3_axpy(kd_v3_scale(u[0], kd_v3_load(&letter[0].u)), u[1], kd_v3_load(&letter[1].u));
    return (kd_v6){kd_v3_axpy(turn, w[2], kd_v3_load(&letter[5].w)), kd_v3_axpy(shift, u[2], kd_v3_load(&letter[2].u))};
}

// the same as kd_joint_turning for the turns of a marker
static inline kd_v3 kd_marker_turning(const kd_axis *letter)
{
    const kd_vec3 *rate = &letter[KD_MARKER_RATES].w;
    const double   by[] = {0.5 * rate->x, 0.5 * rate->y, rate->z, 0.5 * rate->y, 0.5 * rate->x};
    kd_v3          before = kd_v3_scale(by[0], kd_v3_load(&letter[3].w)), sum = kd_v3_zero();
    for (int a = 1; a < 5; a++) {
        const kd_v3 w = kd_v3_scale(by[a], kd_v3_load(&letter[3 + a].w));
        sum = kd_v3_add(sum, kd_v3_cross(before, w));
        before = kd_v3_add(before, w);
    }
    return sum;
}

// Acceleration of a link beyond that of its parent and S ddx:
//     bias_w = w_l x w_rel + turns of the word about each other,  bias_u = w_l x (w_l x d + 2 v_rel)
// with w_rel = w - w_l and v_rel = v - v_l - w_l x d, the motion in the joint; a curved joint adds (w', d'') dx^2. axis: of
// all dofs of the tree, dx: of those of the joint.
static inline kd_v6 kd_joint_bias(const kd_link *l, const kd_joint_state *parent, const kd_joint_state *own,
                                  const kd_axis *axis, const double *dx)
{
    const kd_v3 v = kd_v3_sub(own->v, parent->v);
    kd_v3       w = kd_v3_cross(parent->w, own->w);
    if (l->form.hinge) return (kd_v6){w, kd_v3_cross(parent->w, v)}; // v_rel = 0
    kd_v3 u = kd_v3_sub(kd_v3_add(v, v), kd_v3_cross(parent->w, kd_v3_sub(own->P, parent->P)));
    if (l->form.nturns > 1) w = kd_v3_add(w, kd_joint_turning(l, axis, dx));
    if (l->marker && !l->marker->still) w = kd_v3_add(w, kd_marker_turning(axis + l->letter));
    u = kd_v3_cross(parent->w, u);
    if (l->marker && l->marker->nbends > 0) { // q' bend q' of the shifts
        const kd_axis *letter = axis + l->letter;
        const kd_vec3 *bend = &letter[KD_MARKER_BEND].u;
        u = kd_v3_axpy(u, bend->x, kd_v3_load(&letter[0].u));
        u = kd_v3_axpy(u, bend->y, kd_v3_load(&letter[1].u));
        u = kd_v3_axpy(u, bend->z, kd_v3_load(&letter[2].u));
    }
    if (l->form.curved) { // d'' = S'_u + w x d'
        const kd_axis *S = &axis[l->dof], *bend = &axis[l->letter];
        const kd_v3    turn = kd_v3_cross(kd_v3_load(&S->w), kd_v3_load(&S->u));
        w = kd_v3_axpy(w, dx[0] * dx[0], kd_v3_load(&bend->w));
        u = kd_v3_axpy(u, dx[0] * dx[0], kd_v3_add(kd_v3_load(&bend->u), turn));
    }
    return (kd_v6){w, u};
}

// cosine and sine of all angles in x, and of those of markers, into work
static inline void kd_joint_angles(const double *x, struct kd_tree_work *w)
{
    for (int k = 0; k < w->nangles; k++) w->angles[k] = x[w->angle[k]];
    for (int k = 0; k < w->nhalves; k++) w->angles[w->half[k]] *= 0.5;
    KD_KERNEL(kd_sine_cosine)(w->nturns, w->angles, w->sine, w->cosine);
}

#endif
