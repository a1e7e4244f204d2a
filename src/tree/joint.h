// joint.h: over a joint, from its frame A to its frame B; the table of tree.h in code.
#ifndef KARDAN_TREE_JOINT_H
#define KARDAN_TREE_JOINT_H

#include "tree/vector.h"

static inline int kd_joint_dofs(kd_tree_joint kind)
{
    static const signed char dofs[KD_TREE_JOINT_COUNT] = {0, 1, 1, 1, 2, 2, 3, 3, 6, 6};
    return dofs[kind];
}

// columns x and y turned about z: A Rz, by the cosine c and sine s of the angle
static inline void kd_joint_turn_z(kd_mat3 *A, double c, double s)
{
    const kd_vec3 x = A->x, y = A->y;
    A->x = kd_vec_axpy(kd_vec_scale(c, x), s, y);
    A->y = kd_vec_axpy(kd_vec_scale(c, y), -s, x);
}

// A Rx
static inline void kd_joint_turn_x(kd_mat3 *A, double c, double s)
{
    const kd_vec3 y = A->y, z = A->z;
    A->y = kd_vec_axpy(kd_vec_scale(c, y), s, z);
    A->z = kd_vec_axpy(kd_vec_scale(c, z), -s, y);
}

// A Ry
static inline void kd_joint_turn_y(kd_mat3 *A, double c, double s)
{
    const kd_vec3 z = A->z, x = A->x;
    A->z = kd_vec_axpy(kd_vec_scale(c, z), s, x);
    A->x = kd_vec_axpy(kd_vec_scale(c, x), -s, z);
}

static inline kd_axis kd_axis_turn(kd_vec3 w)
{
    return (kd_axis){.w = w};
}
static inline kd_axis kd_axis_shift(kd_vec3 u)
{
    return (kd_axis){.u = u};
}

static inline void kd_axis_turns(const kd_mat3 *R, kd_axis *axis)
{
    axis[0] = kd_axis_turn(R->x);
    axis[1] = kd_axis_turn(R->y);
    axis[2] = kd_axis_turn(R->z);
}

static inline void kd_axis_shifts(const kd_mat3 *R, kd_axis *axis)
{
    axis[0] = kd_axis_shift(R->x);
    axis[1] = kd_axis_shift(R->y);
    axis[2] = kd_axis_shift(R->z);
}

// R, P: frame A on entry, B on return, in the axes of an observer in which axis is written, too. c, s: cosines and
// sines of the angles of the joint.
static inline void kd_joint_place(const kd_link *l, const double *x, const double *c, const double *s, kd_axis *axis,
                                  kd_mat3 *R, kd_vec3 *P)
{
    switch (l->kind) {
    case KD_TREE_FIXED:
    case KD_TREE_JOINT_COUNT:
        break;
    case KD_TREE_REVOLUTE:
        kd_joint_turn_z(R, c[0], s[0]);
        axis[0] = kd_axis_turn(R->z);
        break;
    case KD_TREE_PRISMATIC:
        *P = kd_vec_axpy(*P, x[0], R->z);
        axis[0] = kd_axis_shift(R->z);
        break;
    case KD_TREE_SCREW:
        kd_joint_turn_z(R, c[0], s[0]);
        *P = kd_vec_axpy(*P, l->lead * x[0], R->z);
        axis[0] = (kd_axis){R->z, kd_vec_scale(l->lead, R->z)};
        break;
    case KD_TREE_CYLINDRICAL:
        kd_joint_turn_z(R, c[0], s[0]);
        *P = kd_vec_axpy(*P, x[1], R->z);
        axis[0] = kd_axis_turn(R->z);
        axis[1] = kd_axis_shift(R->z);
        break;
    case KD_TREE_UNIVERSAL:
        axis[0] = kd_axis_turn(R->z);
        kd_joint_turn_z(R, c[0], s[0]);
        kd_joint_turn_x(R, c[1], s[1]);
        axis[1] = kd_axis_turn(R->x);
        break;
    case KD_TREE_PLANAR:
        *P = kd_vec_axpy(kd_vec_axpy(*P, x[0], R->x), x[1], R->y);
        axis[0] = kd_axis_shift(R->x);
        axis[1] = kd_axis_shift(R->y);
        axis[2] = kd_axis_turn(R->z);
        kd_joint_turn_z(R, c[0], s[0]);
        break;
    case KD_TREE_SPHERICAL: {
        const kd_mat3 C = kd_quat_matrix(kd_quat_of(x));
        *R = kd_mat_mul(R, &C);
        kd_axis_turns(R, axis);
        break;
    }
    case KD_TREE_FREE: {
        const kd_mat3 C = kd_quat_matrix(kd_quat_of(x + 3));
        kd_axis_shifts(R, axis);
        *P = kd_vec_add(*P, kd_mat_vec(R, kd_vec_of(x)));
        *R = kd_mat_mul(R, &C);
        kd_axis_turns(R, axis + 3);
        break;
    }
    case KD_TREE_CARDAN:
        kd_axis_shifts(R, axis);
        *P = kd_vec_add(*P, kd_mat_vec(R, kd_vec_of(x)));
        axis[3] = kd_axis_turn(R->z);
        kd_joint_turn_z(R, c[0], s[0]);
        axis[4] = kd_axis_turn(R->x);
        kd_joint_turn_x(R, c[1], s[1]);
        axis[5] = kd_axis_turn(R->y);
        kd_joint_turn_y(R, c[2], s[2]);
        break;
    }
}

// Velocity and position of a link, at hand.
typedef struct kd_joint_state {
    kd_v3 w, v, P;
} kd_joint_state;

static inline kd_joint_state kd_joint_state_of(const kd_link_motion *m)
{
    return (kd_joint_state){kd_v3_load(&m->w), kd_v3_load(&m->v), kd_v3_load(&m->P)};
}

// Acceleration of a link beyond that of its parent and S ddx, with d = P - P_l and the motion in the joint,
// w_rel = w - w_l, v_rel = v - v_l - w_l x d:
//
//     bias_w = w_l x w_rel    + w_0 x w_1 of a universal joint, likewise the three turns of a cardan joint
//     bias_u = w_l x (w_l x d + 2 v_rel)
static inline kd_v6 kd_joint_bias(const kd_link *l, const kd_joint_state *parent, const kd_joint_state *own,
                                  const kd_axis *axis, const double *dx)
{
    const kd_v3 v = kd_v3_sub(own->v, parent->v);
    kd_v3       w = kd_v3_cross(parent->w, own->w), u = v;
    if (l->kind != KD_TREE_REVOLUTE) { // otherwise v_rel = 0
        u = kd_v3_sub(kd_v3_add(v, v), kd_v3_cross(parent->w, kd_v3_sub(own->P, parent->P)));
        if (l->kind == KD_TREE_UNIVERSAL)
            w = kd_v3_axpy(w, dx[0] * dx[1], kd_v3_cross(kd_v3_load(&axis[0].w), kd_v3_load(&axis[1].w)));
        if (l->kind == KD_TREE_CARDAN) {
            const kd_v3 z = kd_v3_scale(dx[3], kd_v3_load(&axis[3].w)), x = kd_v3_scale(dx[4], kd_v3_load(&axis[4].w));
            w = kd_v3_add(w, kd_v3_add(kd_v3_cross(z, x),
                                       kd_v3_scale(dx[5], kd_v3_cross(kd_v3_add(z, x), kd_v3_load(&axis[5].w)))));
        }
    }
    return (kd_v6){w, kd_v3_cross(parent->w, u)};
}

// cosine and sine of all angles in x into work
static inline void kd_joint_angles(const double *x, struct kd_tree_work *w)
{
    for (int k = 0; k < w->nangles; k++) w->angles[k] = x[w->angle[k]];
    KD_KERNEL(kd_sine_cosine)(w->nangles, w->angles, w->sine, w->cosine);
}

#endif
