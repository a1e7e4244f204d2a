// articulated_body.c: the explicit formalism, accelerations for given loads (Fs section 7.3, with world axes and the
// point P_i of each link). The dofs of a joint are eliminated one by one, last first. docs/methods/tree.md
#include "formalism/joint.h"

#include <float.h>

// a pivot below this part of the largest inertia of its kind is rounding
static const double singular = 8 * DBL_EPSILON;

// the body alone: inertia at P, and its force at zero acceleration minus the load
static inline void start_body(const kd_link *l, const kd_link_motion *m, const kd_wrench *load, kd_articulated *b)
{
    const kd_vec3 h = kd_vec_scale(l->mass, kd_mat_vec(&m->R, l->centre));
    const kd_sym3 J = kd_sym_rotate(&m->R, &l->inertia);
    const kd_vec3 w = m->w;
    kd_vec3       N = kd_vec_cross(w, kd_sym_vec(&J, w)), F = kd_vec_cross(w, kd_vec_cross(w, h));
    if (load) {
        N = kd_vec_sub(N, load->N);
        F = kd_vec_sub(F, load->F);
    }
    b->J = J;
    b->M = (kd_sym3){.xx = l->mass, .yy = l->mass, .zz = l->mass};
    b->H = (kd_mat3){{0, h.z, -h.y}, {-h.z, 0, h.x}, {h.y, -h.x, 0}}; // h x
    b->N = N;
    b->F = F;
}

// A - a b'
static inline void subtract_product(kd_sym3 *A, kd_vec3 a, kd_vec3 b)
{
    A->xx -= a.x * b.x;
    A->yy -= a.y * b.y;
    A->zz -= a.z * b.z;
    A->xy -= a.x * b.y;
    A->xz -= a.x * b.z;
    A->yz -= a.y * b.z;
}

// I - U U'/D, b + U u/D
static inline void subtract_dof(const kd_eliminated *e, kd_articulated *b)
{
    const kd_vec3 w = e->Uw, u = e->Uu, Dw = kd_vec_scale(e->D, w), Du = kd_vec_scale(e->D, u);
    subtract_product(&b->J, w, Dw);
    subtract_product(&b->M, u, Du);
    b->H.x = kd_vec_axpy(b->H.x, -Du.x, w);
    b->H.y = kd_vec_axpy(b->H.y, -Du.y, w);
    b->H.z = kd_vec_axpy(b->H.z, -Du.z, w);
    b->N = kd_vec_axpy(b->N, e->u, Dw);
    b->F = kd_vec_axpy(b->F, e->u, Du);
}

// one turn about w
static inline bool eliminate_turn(kd_vec3 w, double tau, double J, kd_articulated *b, kd_eliminated *e)
{
    e->Uw = kd_sym_vec(&b->J, w);
    e->Uu = kd_mat_tvec(&b->H, w);
    const double D = kd_vec_dot(w, e->Uw);
    e->D = 1 / D;
    e->u = tau - kd_vec_dot(w, b->N);
    subtract_dof(e, b);
    return D > singular * J;
}

// one dof of any kind; the axes are unit vectors, but for the shift of a screw
static inline bool eliminate(const kd_axis *S, double tau, double J, double M, kd_articulated *b, kd_eliminated *e)
{
    e->Uw = kd_vec_add(kd_sym_vec(&b->J, S->w), kd_mat_vec(&b->H, S->u));
    e->Uu = kd_vec_add(kd_mat_tvec(&b->H, S->w), kd_sym_vec(&b->M, S->u));
    const double D = kd_vec_dot(S->w, e->Uw) + kd_vec_dot(S->u, e->Uu);
    e->D = 1 / D;
    e->u = tau - kd_vec_dot(S->w, b->N) - kd_vec_dot(S->u, b->F);
    subtract_dof(e, b);
    return D > singular * (J * kd_vec_dot(S->w, S->w) + M * kd_vec_dot(S->u, S->u));
}

// b + I c
static inline void add_bias(const kd_axis *c, kd_articulated *b)
{
    b->N = kd_vec_add(b->N, kd_vec_add(kd_sym_vec(&b->J, c->w), kd_mat_vec(&b->H, c->u)));
    b->F = kd_vec_add(b->F, kd_vec_add(kd_mat_tvec(&b->H, c->w), kd_sym_vec(&b->M, c->u)));
}

// Carried to the point P - d and added: H+ = H + d x M, J+ = J - H d x + d x (H+)', N+ = N + d x F
static inline void add_to_parent(const kd_articulated *b, kd_vec3 d, kd_articulated *parent)
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

// The joint of link i, which gives b to its parent. The dof without pivot, or -1.
static int climb_link(const kd_tree *tree, const kd_motion *m, int i, const double *tau, const double *ddx)
{
    struct kd_tree_work *work = m->work;
    const kd_link       *l = &tree->link[i];
    kd_axis             *c = &work->bias[i];
    kd_articulated      *b = &work->body[i];
    const double         J = b->J.xx + b->J.yy + b->J.zz, M = b->M.xx + b->M.yy + b->M.zz;
    for (int k = l->dof + kd_joint_dofs(l->kind) - 1; k >= l->dof; k--) {
        const kd_axis *S = &m->axis[k];
        if (tree->dof_v[k] < 0) { // known: part of the bias
            c->w = kd_vec_axpy(c->w, ddx[k], S->w);
            c->u = kd_vec_axpy(c->u, ddx[k], S->u);
        } else if (!eliminate(S, tau ? tau[k] : 0, J, M, b, &work->eliminated[k])) {
            return k;
        }
    }
    if (l->parent == 0) return -1;
    add_bias(c, b);
    add_to_parent(b, kd_vec_sub(m->link[i].P, m->link[l->parent].P), &work->body[l->parent]);
    return -1;
}

// the same for a turn
static inline bool climb_revolute(const kd_motion *m, int i, const kd_link *l, double tau)
{
    struct kd_tree_work  *work = m->work;
    const kd_articulated *from = &work->body[i];
    kd_articulated        b = {from->J, from->M, from->H, from->N, from->F};
    const double          J = b.J.xx + b.J.yy + b.J.zz;
    if (!eliminate_turn(m->link[i].R.z, tau, J, &b, &work->eliminated[l->dof])) return false;
    if (l->parent == 0) return true;
    add_bias(&work->bias[i], &b);
    add_to_parent(&b, kd_vec_sub(m->link[i].P, m->link[l->parent].P), &work->body[l->parent]);
    return true;
}

// from the tips to the ground; the dof without pivot, or -1
static int climb(const kd_tree *tree, kd_motion *m, const double *tau, const double *ddx)
{
    int bad = -1;
    for (int i = tree->nlinks - 1; i > 0 && bad < 0; i--) {
        const kd_link *l = &tree->link[i];
        if (l->kind != KD_TREE_REVOLUTE || tree->dof_v[l->dof] < 0)
            bad = climb_link(tree, m, i, tau, ddx);
        else if (!climb_revolute(m, i, l, tau ? tau[l->dof] : 0))
            bad = l->dof;
    }
    return bad;
}

// ddx = (u - U'a)/D, a + S ddx
static inline double descend_dof(const kd_eliminated *e, const kd_axis *S, kd_vec3 *dw, kd_vec3 *dv)
{
    const double a = e->D * (e->u - (kd_vec_dot(e->Uw, *dw) + kd_vec_dot(e->Uu, *dv)));
    *dw = kd_vec_axpy(*dw, a, S->w);
    *dv = kd_vec_axpy(*dv, a, S->u);
    return a;
}

// from the ground to the tips: a = a_l + c, then dof by dof
static void descend(const kd_tree *tree, kd_motion *m, double *ddx)
{
    const struct kd_tree_work *work = m->work;
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link        *l = &tree->link[i];
        const kd_link_motion *parent = &m->link[l->parent];
        kd_link_motion       *own = &m->link[i];
        const kd_axis        *c = &work->bias[i];
        const kd_vec3         d = kd_vec_sub(own->P, parent->P);
        kd_vec3               dw = kd_vec_add(parent->dw, c->w);
        kd_vec3               dv = kd_vec_add(kd_vec_add(parent->dv, c->u), kd_vec_cross(parent->dw, d));
        if (l->kind == KD_TREE_REVOLUTE && tree->dof_v[l->dof] >= 0) {
            const kd_axis S = {.w = own->R.z};
            ddx[l->dof] = descend_dof(&work->eliminated[l->dof], &S, &dw, &dv);
        } else {
            for (int k = l->dof; k < l->dof + kd_joint_dofs(l->kind); k++)
                if (tree->dof_v[k] >= 0) ddx[k] = descend_dof(&work->eliminated[k], &m->axis[k], &dw, &dv);
        }
        own->dw = dw;
        own->dv = dv;
    }
}

// bias and rigid body of all links
static void prepare(const kd_tree *tree, kd_motion *m, const double *dx, const kd_wrench *load)
{
    struct kd_tree_work *work = m->work;
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link        *l = &tree->link[i];
        const kd_link_motion *own = &m->link[i];
        work->bias[i] = kd_joint_bias(l, &m->link[l->parent], own, m->axis + l->dof, dx + l->dof);
        start_body(l, own, load ? &load[i] : NULL, &work->body[i]);
    }
}

bool KD_KERNEL(kd_explicit)(const kd_tree *tree, kd_motion *m, const double *dx, kd_vec3 g, const kd_wrench *load,
                            const double *tau, double *ddx, int *bad)
{
    m->link[0].dv = kd_vec_neg(g);
    prepare(tree, m, dx, load);
    *bad = climb(tree, m, tau, ddx);
    if (*bad >= 0) return false;
    descend(tree, m, ddx);
    return true;
}
