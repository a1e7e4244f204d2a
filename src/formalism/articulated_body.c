// articulated_body.c: the explicit formalism, accelerations for given loads (Fs section 7.3, with world axes and the
// point P_i of each link). The dofs of a joint are eliminated one by one, last first. docs/methods/tree.md
#include "formalism/work.h"

#include <float.h>

// a pivot below this part of the largest inertia of its kind is rounding
static const double singular = 8 * DBL_EPSILON;

// the body alone: inertia at P, and its force at zero acceleration minus the load
static void start_body(const kd_link *l, const kd_link_motion *m, const kd_wrench *load, kd_articulated *b)
{
    const kd_vec3 h = kd_vec_scale(l->mass, kd_mat_vec(&m->R, l->centre));
    b->J = kd_sym_rotate(&m->R, &l->inertia);
    b->M = (kd_sym3){.xx = l->mass, .yy = l->mass, .zz = l->mass};
    b->H = (kd_mat3){{0, h.z, -h.y}, {-h.z, 0, h.x}, {h.y, -h.x, 0}}; // h x
    b->N = kd_vec_cross(m->w, kd_sym_vec(&b->J, m->w));
    b->F = kd_vec_cross(m->w, kd_vec_cross(m->w, h));
    if (!load) return;
    b->N = kd_vec_sub(b->N, load->N);
    b->F = kd_vec_sub(b->F, load->F);
}

// A - s a a'
static inline void subtract_square(kd_sym3 *A, double s, kd_vec3 a)
{
    const kd_vec3 b = kd_vec_scale(s, a);
    A->xx -= a.x * b.x;
    A->yy -= a.y * b.y;
    A->zz -= a.z * b.z;
    A->xy -= a.x * b.y;
    A->xz -= a.x * b.z;
    A->yz -= a.y * b.z;
}

// one dof: I - U U'/D, b + U u/D; false: no pivot
static bool eliminate(const kd_axis *S, double tau, double J, double M, kd_articulated *b, kd_eliminated *e)
{
    e->Uw = kd_vec_add(kd_sym_vec(&b->J, S->w), kd_mat_vec(&b->H, S->u));
    e->Uu = kd_vec_add(kd_mat_tvec(&b->H, S->w), kd_sym_vec(&b->M, S->u));
    const double D = kd_vec_dot(S->w, e->Uw) + kd_vec_dot(S->u, e->Uu);
    if (!(D > singular * (J * kd_vec_dot(S->w, S->w) + M * kd_vec_dot(S->u, S->u)))) return false;
    e->D = 1 / D;
    e->u = tau - kd_vec_dot(S->w, b->N) - kd_vec_dot(S->u, b->F);
    subtract_square(&b->J, e->D, e->Uw);
    subtract_square(&b->M, e->D, e->Uu);
    const kd_vec3 Uu = kd_vec_scale(e->D, e->Uu);
    b->H.x = kd_vec_axpy(b->H.x, -Uu.x, e->Uw);
    b->H.y = kd_vec_axpy(b->H.y, -Uu.y, e->Uw);
    b->H.z = kd_vec_axpy(b->H.z, -Uu.z, e->Uw);
    b->N = kd_vec_axpy(b->N, e->D * e->u, e->Uw);
    b->F = kd_vec_axpy(b->F, e->D * e->u, e->Uu);
    return true;
}

// b + I c
static void add_bias(const kd_axis *c, kd_articulated *b)
{
    b->N = kd_vec_add(b->N, kd_vec_add(kd_sym_vec(&b->J, c->w), kd_mat_vec(&b->H, c->u)));
    b->F = kd_vec_add(b->F, kd_vec_add(kd_mat_tvec(&b->H, c->w), kd_sym_vec(&b->M, c->u)));
}

// Carried to the point P - d and added: H+ = H + d x M, J+ = J - H d x + d x (H+)', N+ = N + d x F
static void add_to_parent(const kd_articulated *b, kd_vec3 d, kd_articulated *parent)
{
    const kd_vec3 Mx = {b->M.xx, b->M.xy, b->M.xz}, My = {b->M.xy, b->M.yy, b->M.yz}, Mz = {b->M.xz, b->M.yz, b->M.zz};
    const kd_mat3 H = {kd_vec_add(b->H.x, kd_vec_cross(d, Mx)), kd_vec_add(b->H.y, kd_vec_cross(d, My)),
                       kd_vec_add(b->H.z, kd_vec_cross(d, Mz))};
    const kd_mat3 A = kd_mat_transpose(&b->H), B = kd_mat_transpose(&H);
    // columns of d x (H+)' and rows of -H d x, which are d x (rows of H)
    const kd_vec3 x = kd_vec_cross(d, B.x), y = kd_vec_cross(d, B.y), z = kd_vec_cross(d, B.z);
    const kd_vec3 p = kd_vec_cross(d, A.x), q = kd_vec_cross(d, A.y), r = kd_vec_cross(d, A.z);
    parent->J.xx += b->J.xx + p.x + x.x;
    parent->J.yy += b->J.yy + q.y + y.y;
    parent->J.zz += b->J.zz + r.z + z.z;
    parent->J.xy += b->J.xy + p.y + y.x;
    parent->J.xz += b->J.xz + p.z + z.x;
    parent->J.yz += b->J.yz + q.z + z.y;
    parent->H = (kd_mat3){kd_vec_add(parent->H.x, H.x), kd_vec_add(parent->H.y, H.y), kd_vec_add(parent->H.z, H.z)};
    parent->M.xx += b->M.xx;
    parent->M.yy += b->M.yy;
    parent->M.zz += b->M.zz;
    parent->M.xy += b->M.xy;
    parent->M.xz += b->M.xz;
    parent->M.yz += b->M.yz;
    parent->N = kd_vec_add(parent->N, kd_vec_add(b->N, kd_vec_cross(d, b->F)));
    parent->F = kd_vec_add(parent->F, b->F);
}

// from the tips to the ground; the dof without pivot, or -1
static int climb(const kd_tree *tree, kd_motion *m, const double *tau, const double *ddx)
{
    struct kd_tree_work *work = m->work;
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const kd_link  *l = &tree->link[i];
        kd_articulated *b = &work->body[i];
        kd_axis        *c = &work->bias[i];
        const double    J = b->J.xx + b->J.yy + b->J.zz, M = b->M.xx + b->M.yy + b->M.zz;
        for (int k = l->dof + kd_tree_joint_dofs(l->kind) - 1; k >= l->dof; k--) {
            const kd_axis *S = &m->axis[k];
            if (tree->dof_v[k] < 0) { // known: part of the bias
                c->w = kd_vec_axpy(c->w, ddx[k], S->w);
                c->u = kd_vec_axpy(c->u, ddx[k], S->u);
            }
        }
        for (int k = l->dof + kd_tree_joint_dofs(l->kind) - 1; k >= l->dof; k--)
            if (tree->dof_v[k] >= 0 && !eliminate(&m->axis[k], tau ? tau[k] : 0, J, M, b, &work->eliminated[k]))
                return k;
        if (l->parent == 0) continue;
        add_bias(c, b);
        add_to_parent(b, kd_vec_sub(m->link[i].P, m->link[l->parent].P), &work->body[l->parent]);
    }
    return -1;
}

// from the ground to the tips: a = a_l + c, then dof by dof ddx = (u - U'a)/D, a + S ddx
static void descend(const kd_tree *tree, kd_motion *m, double *ddx)
{
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link        *l = &tree->link[i];
        const kd_link_motion *parent = &m->link[l->parent];
        kd_link_motion       *own = &m->link[i];
        const kd_axis        *c = &m->work->bias[i];
        kd_vec3               dw = kd_vec_add(parent->dw, c->w);
        kd_vec3 dv = kd_vec_add(kd_vec_add(parent->dv, c->u), kd_vec_cross(parent->dw, kd_vec_sub(own->P, parent->P)));
        for (int k = l->dof; k < l->dof + kd_tree_joint_dofs(l->kind); k++) {
            const kd_eliminated *e = &m->work->eliminated[k];
            if (tree->dof_v[k] < 0) continue;
            ddx[k] = e->D * (e->u - kd_vec_dot(e->Uw, dw) - kd_vec_dot(e->Uu, dv));
            dw = kd_vec_axpy(dw, ddx[k], m->axis[k].w);
            dv = kd_vec_axpy(dv, ddx[k], m->axis[k].u);
        }
        own->dw = dw;
        own->dv = dv;
    }
}

bool kd_tree_explicit(const kd_tree *tree, kd_motion *m, const double *dx, kd_vec3 g, const kd_wrench *load,
                      const double *tau, double *ddx, int *bad)
{
    m->link[0].dv = kd_vec_neg(g);
    kd_tree_bias(tree, dx, m);
    for (int i = 1; i < tree->nlinks; i++)
        start_body(&tree->link[i], &m->link[i], load ? &load[i] : NULL, &m->work->body[i]);
    *bad = climb(tree, m, tau, ddx);
    if (*bad >= 0) return false;
    descend(tree, m, ddx);
    return true;
}
