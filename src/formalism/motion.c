// motion.c: positions, velocities and accelerations of the links, from the ground to the tips. docs/methods/tree.md
#include "formalism/joint.h"

// ---- position
// --------------------------------------------------------------------------------------------------------

// any joint
static void place_link(const kd_link *l, const double *x, const double *c, const double *s,
                       const kd_link_motion *parent, kd_axis *axis, kd_link_motion *own)
{
    own->R = kd_mat_mul(&parent->R, &l->E);
    own->P = kd_vec_add(parent->P, kd_mat_vec(&parent->R, l->r));
    kd_joint_place(l, x, c, s, axis, &own->R, &own->P);
}

// R_l (E Rz): the product with E is off the chain of products
static inline void place_revolute(const kd_link *l, double c, double s, const kd_link_motion *parent, kd_axis *axis,
                                  kd_link_motion *own)
{
    const kd_vec3 x = kd_vec_axpy(kd_vec_scale(c, l->E.x), s, l->E.y);
    const kd_vec3 y = kd_vec_axpy(kd_vec_scale(c, l->E.y), -s, l->E.x);
    const kd_vec3 z = kd_mat_vec(&parent->R, l->E.z);
    own->R.x = kd_mat_vec(&parent->R, x);
    own->R.y = kd_mat_vec(&parent->R, y);
    own->R.z = z;
    own->P = kd_vec_add(parent->P, kd_mat_vec(&parent->R, l->r));
    axis->w = z;
    axis->u = kd_vec(0, 0, 0);
}

void KD_KERNEL(kd_place)(const kd_tree *tree, const double *x, kd_motion *m)
{
    struct kd_tree_work *work = m->work;
    kd_joint_angles(x, work);
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link        *l = &tree->link[i];
        const kd_link_motion *parent = &m->link[l->parent];
        const double         *c = work->cosine + work->first_angle[i], *s = work->sine + work->first_angle[i];
        if (l->kind == KD_TREE_REVOLUTE)
            place_revolute(l, *c, *s, parent, &m->axis[l->dof], &m->link[i]);
        else
            place_link(l, x + l->position, c, s, parent, m->axis + l->dof, &m->link[i]);
    }
}

// ---- velocity
// --------------------------------------------------------------------------------------------------------

// w = w_l + sum S_w dx,  v = v_l + w_l x d + sum S_u dx,  d = P - P_l
void KD_KERNEL(kd_move)(const kd_tree *tree, const double *dx, kd_motion *m)
{
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link        *l = &tree->link[i];
        const kd_link_motion *parent = &m->link[l->parent];
        kd_link_motion       *own = &m->link[i];
        kd_vec3 w = parent->w, v = kd_vec_add(parent->v, kd_vec_cross(parent->w, kd_vec_sub(own->P, parent->P)));
        if (l->kind == KD_TREE_REVOLUTE) {
            w = kd_vec_axpy(w, dx[l->dof], own->R.z);
        } else {
            for (int k = l->dof; k < l->dof + kd_joint_dofs(l->kind); k++) {
                w = kd_vec_axpy(w, dx[k], m->axis[k].w);
                v = kd_vec_axpy(v, dx[k], m->axis[k].u);
            }
        }
        own->w = w;
        own->v = v;
    }
}

// ---- acceleration
// ----------------------------------------------------------------------------------------------------

// dw = dw_l + bias_w + sum S_w ddx,  dv = dv_l + dw_l x d + bias_u + sum S_u ddx
void KD_KERNEL(kd_accelerate)(const kd_tree *tree, const double *dx, const double *ddx, kd_vec3 g, kd_motion *m)
{
    m->link[0].dv = kd_vec_neg(g);
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link        *l = &tree->link[i];
        const kd_link_motion *parent = &m->link[l->parent];
        kd_link_motion       *own = &m->link[i];
        const kd_axis         bias = kd_joint_bias(l, parent, own, m->axis + l->dof, dx + l->dof);
        const kd_vec3         d = kd_vec_sub(own->P, parent->P);
        kd_vec3               dw = kd_vec_add(parent->dw, bias.w);
        kd_vec3               dv = kd_vec_add(kd_vec_add(parent->dv, bias.u), kd_vec_cross(parent->dw, d));
        if (l->kind == KD_TREE_REVOLUTE) {
            dw = kd_vec_axpy(dw, ddx[l->dof], own->R.z);
        } else {
            for (int k = l->dof; k < l->dof + kd_joint_dofs(l->kind); k++) {
                dw = kd_vec_axpy(dw, ddx[k], m->axis[k].w);
                dv = kd_vec_axpy(dv, ddx[k], m->axis[k].u);
            }
        }
        own->dw = dw;
        own->dv = dv;
    }
}
