// newton_euler.c: the residual formalism, tau for given accelerations (recursive Newton-Euler, Fs section 5.3, with
// world axes and the point P_i of each link). docs/methods/tree.md
#include "formalism/work.h"

// F = m dv + dw x h + w x (w x h),  N = J dw + w x (J w) + h x dv,  h = m R c,  J = R I R'
static inline kd_wrench inertia_force(const kd_link *l, const kd_link_motion *m)
{
    const kd_vec3 h = kd_vec_scale(l->mass, kd_mat_vec(&m->R, l->centre));
    const kd_vec3 wb = kd_mat_tvec(&m->R, m->w), dwb = kd_mat_tvec(&m->R, m->dw);
    const kd_vec3 euler = kd_vec_add(kd_sym_vec(&l->inertia, dwb), kd_vec_cross(wb, kd_sym_vec(&l->inertia, wb)));
    const kd_vec3 central = kd_vec_add(kd_vec_cross(m->dw, h), kd_vec_cross(m->w, kd_vec_cross(m->w, h)));
    return (kd_wrench){
        .N = kd_vec_add(kd_mat_vec(&m->R, euler), kd_vec_cross(h, m->dv)),
        .F = kd_vec_axpy(central, l->mass, m->dv),
    };
}

void kd_tree_residual(const kd_tree *tree, kd_motion *m, const kd_wrench *load, double *tau)
{
    kd_wrench *f = m->reaction;
    f[0] = (kd_wrench){0};
    for (int i = 1; i < tree->nlinks; i++) {
        f[i] = inertia_force(&tree->link[i], &m->link[i]);
        if (!load) continue;
        f[i].N = kd_vec_sub(f[i].N, load[i].N);
        f[i].F = kd_vec_sub(f[i].F, load[i].F);
    }
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const kd_link *l = &tree->link[i];
        const kd_vec3  d = kd_vec_sub(m->link[i].P, m->link[l->parent].P);
        for (int k = l->dof; k < l->dof + kd_tree_joint_dofs(l->kind); k++)
            tau[k] = kd_vec_dot(m->axis[k].w, f[i].N) + kd_vec_dot(m->axis[k].u, f[i].F);
        kd_wrench *parent = &f[l->parent];
        parent->N = kd_vec_add(kd_vec_add(parent->N, f[i].N), kd_vec_cross(d, f[i].F));
        parent->F = kd_vec_add(parent->F, f[i].F);
    }
}

void kd_tree_inverse_dynamics(const kd_tree *tree, const double *x, const double *dx, const double *ddx, kd_vec3 g,
                              const kd_wrench *load, kd_motion *m, double *tau)
{
    kd_tree_place(tree, x, m);
    kd_tree_move(tree, dx, m);
    kd_tree_accelerate(tree, dx, ddx, g, m);
    kd_tree_residual(tree, m, load, tau);
}
