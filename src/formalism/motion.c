// motion.c: positions, velocities and accelerations of the links, from the ground to the tips. docs/methods/tree.md
#include "formalism/work.h"

#include <math.h>

// ---- memory
// ----------------------------------------------------------------------------------------------------------

// first link of the unbranched row that ends in link i, and what is above
static void find_runs(const kd_tree *tree, struct kd_tree_work *w)
{
    for (int i = 1; i < tree->nlinks; i++) {
        const int parent = tree->link[i].parent;
        w->run[i] = parent == i - 1 && parent != 0 ? w->run[parent] : i;
        w->above[i] = w->above[parent] + tree->link_v[parent + 1] - tree->link_v[parent];
    }
}

kd_status kd_motion_create(const kd_tree *tree, kd_arena *arena, kd_motion *m)
{
    const size_t         nlinks = (size_t)tree->nlinks, ndof = (size_t)tree->ndof;
    struct kd_tree_work *w = kd_arena_cut(arena, 1, sizeof *w);
    *m = (kd_motion){
        .link = kd_arena_cut(arena, nlinks, sizeof *m->link),
        .axis = kd_arena_cut(arena, ndof, sizeof *m->axis),
        .reaction = kd_arena_cut(arena, nlinks, sizeof *m->reaction),
        .work = w,
    };
    if (!w) return KD_ERR_MEMORY;
    w->bias = kd_arena_cut(arena, nlinks, sizeof *w->bias);
    w->body = kd_arena_cut(arena, nlinks, sizeof *w->body);
    w->eliminated = kd_arena_cut(arena, ndof, sizeof *w->eliminated);
    w->composite = kd_arena_cut(arena, nlinks, sizeof *w->composite);
    w->coriolis = kd_arena_cut(arena, nlinks, sizeof *w->coriolis);
    w->origin = kd_arena_cut(arena, nlinks, sizeof *w->origin);
    w->run = kd_cut_int(arena, tree->nlinks);
    w->above = kd_cut_int(arena, tree->nlinks);
    double **rows[] = {&w->S, &w->IS, &w->BS};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) *rows[k] = kd_cut_double(arena, 6 * tree->nv);
    if (arena->failed) return KD_ERR_MEMORY;
    m->link[0].R = kd_mat_identity();
    find_runs(tree, w);
    return KD_OK;
}

// ---- position
// --------------------------------------------------------------------------------------------------------

// columns x and y turned about z by the angle a: A Rz(a)
static inline void turn_z(kd_mat3 *A, double a)
{
    const double  c = cos(a), s = sin(a);
    const kd_vec3 x = A->x, y = A->y;
    A->x = kd_vec_axpy(kd_vec_scale(c, x), s, y);
    A->y = kd_vec_axpy(kd_vec_scale(c, y), -s, x);
}

// A Rx(a)
static inline void turn_x(kd_mat3 *A, double a)
{
    const double  c = cos(a), s = sin(a);
    const kd_vec3 y = A->y, z = A->z;
    A->y = kd_vec_axpy(kd_vec_scale(c, y), s, z);
    A->z = kd_vec_axpy(kd_vec_scale(c, z), -s, y);
}

static inline kd_axis turn(kd_vec3 w)
{
    return (kd_axis){.w = w};
}
static inline kd_axis shift(kd_vec3 u)
{
    return (kd_axis){.u = u};
}

static inline void turns(const kd_mat3 *R, kd_axis *axis)
{
    axis[0] = turn(R->x);
    axis[1] = turn(R->y);
    axis[2] = turn(R->z);
}

static inline void shifts(const kd_mat3 *R, kd_axis *axis)
{
    axis[0] = shift(R->x);
    axis[1] = shift(R->y);
    axis[2] = shift(R->z);
}

// from frame A (in R, P) over the joint to frame B
static inline void place_joint(const kd_link *l, const double *x, kd_axis *axis, kd_link_motion *m)
{
    kd_mat3 *R = &m->R;
    switch (l->kind) {
    case KD_TREE_FIXED:
    case KD_TREE_JOINT_COUNT:
        break;
    case KD_TREE_REVOLUTE:
        turn_z(R, x[0]);
        axis[0] = turn(R->z);
        break;
    case KD_TREE_PRISMATIC:
        m->P = kd_vec_axpy(m->P, x[0], R->z);
        axis[0] = shift(R->z);
        break;
    case KD_TREE_SCREW:
        turn_z(R, x[0]);
        m->P = kd_vec_axpy(m->P, l->lead * x[0], R->z);
        axis[0] = (kd_axis){R->z, kd_vec_scale(l->lead, R->z)};
        break;
    case KD_TREE_CYLINDRICAL:
        turn_z(R, x[0]);
        m->P = kd_vec_axpy(m->P, x[1], R->z);
        axis[0] = turn(R->z);
        axis[1] = shift(R->z);
        break;
    case KD_TREE_UNIVERSAL:
        axis[0] = turn(R->z);
        turn_z(R, x[0]);
        turn_x(R, x[1]);
        axis[1] = turn(R->x);
        break;
    case KD_TREE_PLANAR:
        m->P = kd_vec_axpy(kd_vec_axpy(m->P, x[0], R->x), x[1], R->y);
        axis[0] = shift(R->x);
        axis[1] = shift(R->y);
        axis[2] = turn(R->z);
        turn_z(R, x[2]);
        break;
    case KD_TREE_SPHERICAL: {
        const kd_mat3 C = kd_quat_matrix(kd_quat_of(x));
        *R = kd_mat_mul(R, &C);
        turns(R, axis);
        break;
    }
    case KD_TREE_FREE: {
        const kd_mat3 C = kd_quat_matrix(kd_quat_of(x + 3));
        shifts(R, axis);
        m->P = kd_vec_add(m->P, kd_mat_vec(R, kd_vec_of(x)));
        *R = kd_mat_mul(R, &C);
        turns(R, axis + 3);
        break;
    }
    }
}

void kd_tree_place(const kd_tree *tree, const double *x, kd_motion *m)
{
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link        *l = &tree->link[i];
        const kd_link_motion *parent = &m->link[l->parent];
        kd_link_motion       *own = &m->link[i];
        own->R = kd_mat_mul(&parent->R, &l->E);
        own->P = kd_vec_add(parent->P, kd_mat_vec(&parent->R, l->r));
        place_joint(l, x + l->position, m->axis + l->dof, own);
    }
}

// ---- velocity
// --------------------------------------------------------------------------------------------------------

// w = w_l + sum S_w dx,  v = v_l + w_l x d + sum S_u dx,  d = P - P_l
void kd_tree_move(const kd_tree *tree, const double *dx, kd_motion *m)
{
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link        *l = &tree->link[i];
        const kd_link_motion *parent = &m->link[l->parent];
        kd_link_motion       *own = &m->link[i];
        kd_vec3 w = parent->w, v = kd_vec_add(parent->v, kd_vec_cross(parent->w, kd_vec_sub(own->P, parent->P)));
        for (int k = l->dof; k < l->dof + kd_tree_joint_dofs(l->kind); k++) {
            w = kd_vec_axpy(w, dx[k], m->axis[k].w);
            v = kd_vec_axpy(v, dx[k], m->axis[k].u);
        }
        own->w = w;
        own->v = v;
    }
}

// ---- acceleration
// ----------------------------------------------------------------------------------------------------

// bias_w = w_l x w_rel (+ w_0 x w_1 of a universal joint),  bias_u = w_l x (w_l x d + 2 v_rel)
// with w_rel = w - w_l and v_rel = v - v_l - w_l x d, the motion in the joint
void kd_tree_bias(const kd_tree *tree, const double *dx, kd_motion *m)
{
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link        *l = &tree->link[i];
        const kd_link_motion *parent = &m->link[l->parent], *own = &m->link[i];
        const kd_vec3         carried = kd_vec_cross(parent->w, kd_vec_sub(own->P, parent->P));
        const kd_vec3         dv = kd_vec_sub(own->v, parent->v);
        kd_axis              *bias = &m->work->bias[i];
        bias->w = kd_vec_cross(parent->w, own->w);
        bias->u = kd_vec_cross(parent->w, kd_vec_sub(kd_vec_scale(2, dv), carried));
        if (l->kind == KD_TREE_UNIVERSAL) {
            const kd_vec3 c = kd_vec_cross(m->axis[l->dof].w, m->axis[l->dof + 1].w);
            bias->w = kd_vec_axpy(bias->w, dx[l->dof] * dx[l->dof + 1], c);
        }
    }
}

// dw = dw_l + bias_w + sum S_w ddx,  dv = dv_l + dw_l x d + bias_u + sum S_u ddx
void kd_tree_accelerate(const kd_tree *tree, const double *dx, const double *ddx, kd_vec3 g, kd_motion *m)
{
    kd_tree_bias(tree, dx, m);
    m->link[0].dv = kd_vec_neg(g);
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link        *l = &tree->link[i];
        const kd_link_motion *parent = &m->link[l->parent];
        kd_link_motion       *own = &m->link[i];
        const kd_axis        *bias = &m->work->bias[i];
        kd_vec3               dw = kd_vec_add(parent->dw, bias->w);
        kd_vec3               dv =
            kd_vec_add(kd_vec_add(parent->dv, bias->u), kd_vec_cross(parent->dw, kd_vec_sub(own->P, parent->P)));
        for (int k = l->dof; k < l->dof + kd_tree_joint_dofs(l->kind); k++) {
            dw = kd_vec_axpy(dw, ddx[k], m->axis[k].w);
            dv = kd_vec_axpy(dv, ddx[k], m->axis[k].u);
        }
        own->dw = dw;
        own->dv = dv;
    }
}
