// newton_euler.c: the residual formalism, tau for given accelerations (recursive Newton-Euler, Fs section 5.3): in
// world axes with the point P_i of each link, after the passes of motion.c; and all at once in the axes of the links,
// where inertias and distances are constant. docs/methods/tree.md
#include "formalism/joint.h"

// ---- world axes
// ------------------------------------------------------------------------------------------------------

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

void KD_KERNEL(kd_residual)(const kd_tree *tree, kd_motion *m, const kd_wrench *load, double *tau)
{
    kd_wrench *f = m->reaction;
    f[0] = (kd_wrench){0};
    for (int i = 1; i < tree->nlinks; i++) {
        kd_wrench own = inertia_force(&tree->link[i], &m->link[i]);
        if (load) own = (kd_wrench){kd_vec_sub(own.N, load[i].N), kd_vec_sub(own.F, load[i].F)};
        f[i] = own;
    }
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const kd_link  *l = &tree->link[i];
        const kd_wrench own = f[i];
        const kd_vec3   d = kd_vec_sub(m->link[i].P, m->link[l->parent].P);
        kd_wrench      *parent = &f[l->parent];
        parent->N = kd_vec_add(parent->N, kd_vec_add(own.N, kd_vec_cross(d, own.F)));
        parent->F = kd_vec_add(parent->F, own.F);
        if (l->kind == KD_TREE_REVOLUTE) {
            tau[l->dof] = kd_vec_dot(m->link[i].R.z, own.N);
            continue;
        }
        for (int k = l->dof; k < l->dof + kd_joint_dofs(l->kind); k++)
            tau[k] = kd_vec_dot(m->axis[k].w, own.N) + kd_vec_dot(m->axis[k].u, own.F);
    }
}

// ---- axes of the links
// -----------------------------------------------------------------------------------------------

// dw x + (w x)(w x)
static inline kd_mat3 acceleration_matrix(kd_vec3 w, kd_vec3 dw)
{
    return (kd_mat3){{-(w.y * w.y + w.z * w.z), w.x * w.y + dw.z, w.x * w.z - dw.y},
                     {w.x * w.y - dw.z, -(w.x * w.x + w.z * w.z), w.y * w.z + dw.x},
                     {w.x * w.z + dw.y, w.y * w.z - dw.x, -(w.x * w.x + w.y * w.y)}};
}

// Q, d and what the parent's motion is at A, in the axes of the link: any joint
static inline void local_joint(const kd_link *l, const double *x, const double *c, const double *s, const double *dx,
                               const double *ddx, kd_axis *axis, const kd_local *parent, kd_local *own)
{
    own->Q = l->E;
    own->d = l->r;
    kd_joint_place(l, x, c, s, axis, &own->Q, &own->d);
    const kd_vec3 w = kd_mat_tvec(&own->Q, parent->w);
    kd_vec3       w_rel = {0, 0, 0}, v_rel = {0, 0, 0};
    kd_vec3       dw = kd_mat_tvec(&own->Q, parent->dw);
    kd_vec3       dv = kd_mat_tvec(&own->Q, kd_vec_add(parent->dv, kd_mat_vec(&parent->A, own->d)));
    for (int k = 0; k < kd_joint_dofs(l->kind); k++) {
        axis[k] = (kd_axis){kd_mat_tvec(&own->Q, axis[k].w), kd_mat_tvec(&own->Q, axis[k].u)};
        w_rel = kd_vec_axpy(w_rel, dx[k], axis[k].w);
        v_rel = kd_vec_axpy(v_rel, dx[k], axis[k].u);
        dw = kd_vec_axpy(dw, ddx[k], axis[k].w);
        dv = kd_vec_axpy(dv, ddx[k], axis[k].u);
    }
    if (l->kind == KD_TREE_UNIVERSAL) dw = kd_vec_axpy(dw, dx[0] * dx[1], kd_vec_cross(axis[0].w, axis[1].w));
    own->w = kd_vec_add(w, w_rel);
    own->dw = kd_vec_add(dw, kd_vec_cross(w, w_rel));
    own->dv = kd_vec_axpy(dv, 2, kd_vec_cross(w, v_rel));
}

// the same for a turn about z
static inline void local_revolute(const kd_link *l, double c, double s, double dx, double ddx, const kd_local *parent,
                                  kd_local *own)
{
    kd_mat3 Q = l->E;
    kd_joint_turn_z(&Q, c, s);
    const kd_vec3 w = kd_mat_tvec(&Q, parent->w), dw = kd_mat_tvec(&Q, parent->dw);
    own->dv = kd_mat_tvec(&Q, kd_vec_add(parent->dv, kd_mat_vec(&parent->A, l->r)));
    own->w = kd_vec(w.x, w.y, w.z + dx);
    own->dw = kd_vec(dw.x + w.y * dx, dw.y - w.x * dx, dw.z + ddx);
    own->Q = Q;
    own->d = l->r;
}

// F = m dv + A h,  N = I dw + w x (I w) + h x dv,  h = m c
static inline void local_force(const kd_link *l, kd_local *own)
{
    const kd_vec3 h = kd_vec_scale(l->mass, l->centre), w = own->w, dw = own->dw, dv = own->dv;
    const kd_mat3 A = acceleration_matrix(w, dw);
    const kd_vec3 euler = kd_vec_add(kd_sym_vec(&l->inertia, dw), kd_vec_cross(w, kd_sym_vec(&l->inertia, w)));
    own->A = A;
    own->N = kd_vec_add(euler, kd_vec_cross(h, dv));
    own->F = kd_vec_axpy(kd_mat_vec(&A, h), l->mass, dv);
}

static void local_forward(const kd_tree *tree, const double *x, const double *dx, const double *ddx, kd_motion *m)
{
    struct kd_tree_work *work = m->work;
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link  *l = &tree->link[i];
        const kd_local *parent = &work->local[l->parent];
        kd_local       *own = &work->local[i];
        const double   *c = work->cosine + work->first_angle[i], *s = work->sine + work->first_angle[i];
        if (l->kind == KD_TREE_REVOLUTE)
            local_revolute(l, *c, *s, dx[l->dof], ddx[l->dof], parent, own);
        else
            local_joint(l, x + l->position, c, s, dx + l->dof, ddx + l->dof, work->local_axis + l->dof, parent, own);
        local_force(l, own);
    }
}

static void local_backward(const kd_tree *tree, kd_motion *m, double *tau)
{
    const struct kd_tree_work *work = m->work;
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const kd_link  *l = &tree->link[i];
        const kd_local *own = &work->local[i];
        kd_local       *parent = &work->local[l->parent];
        const kd_vec3   N = own->N, F = own->F;
        if (l->kind == KD_TREE_REVOLUTE)
            tau[l->dof] = N.z;
        else
            for (int k = l->dof; k < l->dof + kd_joint_dofs(l->kind); k++)
                tau[k] = kd_vec_dot(work->local_axis[k].w, N) + kd_vec_dot(work->local_axis[k].u, F);
        if (l->parent == 0) continue;
        const kd_vec3 f = kd_mat_vec(&own->Q, F), n = kd_mat_vec(&own->Q, N);
        parent->N = kd_vec_add(parent->N, kd_vec_add(n, kd_vec_cross(own->d, f)));
        parent->F = kd_vec_add(parent->F, f);
    }
}

void KD_KERNEL(kd_inverse_dynamics)(const kd_tree *tree, const double *x, const double *dx, const double *ddx,
                                    kd_vec3 g, kd_motion *m, double *tau)
{
    kd_joint_angles(x, m->work);
    m->work->local[0] = (kd_local){.dv = kd_vec_neg(g)};
    local_forward(tree, x, dx, ddx, m);
    local_backward(tree, m, tau);
}
