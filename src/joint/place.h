// place.h: over a joint, from its frame A to its frame B, letter by letter. Equations: joint.h
#ifndef KARDAN_JOINT_PLACE_H
#define KARDAN_JOINT_PLACE_H

#include "joint/joint.h"

// columns x and y turned about z: A Rz, by the cosine c and sine s of the angle
static inline void kd_turn_z(kd_mat3 *A, double c, double s)
{
    const kd_vec3 x = A->x, y = A->y;
    A->x = kd_vec_axpy(kd_vec_scale(c, x), s, y);
    A->y = kd_vec_axpy(kd_vec_scale(c, y), -s, x);
}

// A Rx
static inline void kd_turn_x(kd_mat3 *A, double c, double s)
{
    const kd_vec3 y = A->y, z = A->z;
    A->y = kd_vec_axpy(kd_vec_scale(c, y), s, z);
    A->z = kd_vec_axpy(kd_vec_scale(c, z), -s, y);
}

// A Ry
static inline void kd_turn_y(kd_mat3 *A, double c, double s)
{
    const kd_vec3 z = A->z, x = A->x;
    A->z = kd_vec_axpy(kd_vec_scale(c, z), s, x);
    A->x = kd_vec_axpy(kd_vec_scale(c, x), -s, z);
}

// the turn of a letter; its axis on return, which the turn leaves as it is
static inline kd_vec3 kd_letter_turn(const kd_letter *l, kd_mat3 *R, double c, double s)
{
    switch (l->motion) {
    case KD_TURN_X:
        kd_turn_x(R, c, s);
        return R->x;
    case KD_TURN_Y:
        kd_turn_y(R, c, s);
        return R->y;
    default:
        kd_turn_z(R, c, s);
        return R->z;
    }
}

static inline kd_vec3 kd_column(const kd_mat3 *R, int i)
{
    return i == 0 ? R->x : i == 1 ? R->y : R->z;
}

// A letter that moves by a part of its coordinate: its motion is added to that of the letters before it.
static inline void kd_axis_join(const kd_letter *word, const kd_letter *l, double factor, kd_axis a, kd_axis *axis)
{
    bool again = false;
    for (const kd_letter *k = word; k < l; k++) again = again || k->coordinate == l->coordinate;
    if (!again) *axis = (kd_axis){{0, 0, 0}, {0, 0, 0}};
    axis->w = kd_vec_axpy(axis->w, factor, a.w);
    axis->u = kd_vec_axpy(axis->u, factor, a.u);
}

// R, P: frame A on entry, B on return, in the axes of an observer in which the motions are written, too. c, s: cosines
// and sines of the turns, one of each letter that turns. letter (nletters; read by joints that fold only, may be NULL
// otherwise): the motions of the single letters.
static inline void kd_joint_place(const kd_joint_form *f, double lead, const double *x, const double *c,
                                  const double *s, kd_axis *axis, kd_axis *letter, kd_mat3 *R, kd_vec3 *P)
{
    const kd_letter *l = f->word;
    if (f->floats && l->scale == KD_WHOLE) { // three shifts at once
        axis[0] = (kd_axis){.u = R->x};
        axis[1] = (kd_axis){.u = R->y};
        axis[2] = (kd_axis){.u = R->z};
        *P = kd_vec_add(*P, kd_mat_vec(R, kd_vec_of(x)));
        l += 3;
    }
    for (; l->motion && l->scale == KD_WHOLE && !f->folds; l++) { // most words have no other letters
        kd_axis *a = &axis[l->coordinate];
        if (kd_letter_turns(l)) {
            a->w = kd_letter_turn(l, R, *c++, *s++);
            a->u = kd_vec(0, 0, 0);
        } else {
            a->w = kd_vec(0, 0, 0);
            a->u = kd_column(R, l->motion - KD_SHIFT_X);
            *P = kd_vec_axpy(*P, x[l->coordinate], a->u);
        }
    }
    for (; l->motion; l++) {
        const double factor = kd_letter_factor(l, lead);
        kd_axis      a = {{0, 0, 0}, {0, 0, 0}};
        if (kd_letter_turns(l)) {
            a.w = kd_letter_turn(l, R, *c++, *s++);
        } else {
            a.u = kd_column(R, kd_letter_axis(l));
            *P = kd_vec_axpy(*P, factor * x[l->coordinate], a.u);
        }
        if (l->scale == KD_WHOLE)
            axis[l->coordinate] = a;
        else
            kd_axis_join(f->word, l, factor, a, &axis[l->coordinate]);
        if (f->folds) letter[l - f->word] = (kd_axis){kd_vec_scale(factor, a.w), kd_vec_scale(factor, a.u)};
    }
    if (f->ball) {
        const kd_mat3 C = kd_quat_matrix(kd_quat_of(x + f->nscalars));
        *R = kd_mat_mul(R, &C);
        axis[f->nscalars] = (kd_axis){.w = R->x};
        axis[f->nscalars + 1] = (kd_axis){.w = R->y};
        axis[f->nscalars + 2] = (kd_axis){.w = R->z};
    }
}

#endif
