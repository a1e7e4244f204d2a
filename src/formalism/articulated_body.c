// articulated_body.c: the explicit formalism, accelerations for given loads (Fs section 7.3, with world axes and the
// point P_i of each link). docs/methods/tree.md
//
// The body of a link with all that hangs on it answers the acceleration a = (dw, dv) of P with the force f = I a + b.
// Its joint gives way by S ddx: with U = I S, D = S'U, V = U/D
//
//     ddx = u - V'a,   u = (tau - S'b)/D,   I+ = I - U V',   b+ = b + U u
//
// The dofs of a joint are eliminated one by one, last first. Then the acceleration is that of the parent carried to P
// plus the bias c, a = X a_l + c, and the parent gets X'I+ X and X'(b+ + I+ c).
#include "formalism/joint.h"

#include <float.h>

// a pivot below this part of the largest inertia of its kind is rounding
static const double singular = 8 * DBL_EPSILON;

// ---- parts
// -----------------------------------------------------------------------------------------------------------

// the body alone: inertia at P, and its force at zero acceleration minus the load
static inline kd_articulated rigid_body(const kd_link *l, const kd_link_motion *m, const kd_wrench *load)
{
    const kd_vec3  h = kd_mat_vec(&m->R, kd_vec_scale(l->mass, l->centre)), w = m->w;
    kd_articulated b;
    b.J = kd_sym_rotate(&m->R, &l->inertia);
    b.M = (kd_sym3){.xx = l->mass, .yy = l->mass, .zz = l->mass};
    b.H = (kd_mat3){{0, h.z, -h.y}, {-h.z, 0, h.x}, {h.y, -h.x, 0}}; // h x
    b.N = kd_vec_cross(w, kd_sym_vec(&b.J, w));
    b.F = kd_vec_cross(w, kd_vec_cross(w, h));
    if (load) {
        b.N = kd_vec_sub(b.N, load->N);
        b.F = kd_vec_sub(b.F, load->F);
    }
    return b;
}

static inline kd_sym3 sym_add(const kd_sym3 *A, const kd_sym3 *B)
{
    return (kd_sym3){A->xx + B->xx, A->yy + B->yy, A->zz + B->zz, A->xy + B->xy, A->xz + B->xz, A->yz + B->yz};
}

static inline kd_mat3 mat_add(const kd_mat3 *A, const kd_mat3 *B)
{
    return (kd_mat3){kd_vec_add(A->x, B->x), kd_vec_add(A->y, B->y), kd_vec_add(A->z, B->z)};
}

static inline void articulated_add(kd_articulated *a, const kd_articulated *b)
{
    a->J = sym_add(&a->J, &b->J);
    a->M = sym_add(&a->M, &b->M);
    a->H = mat_add(&a->H, &b->H);
    a->N = kd_vec_add(a->N, b->N);
    a->F = kd_vec_add(a->F, b->F);
}

// A - a b', symmetric
static inline void subtract_product(kd_sym3 *A, kd_vec3 a, kd_vec3 b)
{
    A->xx -= a.x * b.x;
    A->yy -= a.y * b.y;
    A->zz -= a.z * b.z;
    A->xy -= a.x * b.y;
    A->xz -= a.x * b.z;
    A->yz -= a.y * b.z;
}

// I - U V', b + U u
static inline void give_way(kd_vec3 Uw, kd_vec3 Uu, const kd_eliminated *e, kd_articulated *b)
{
    const kd_vec3 Vw = e->Vw, Vu = e->Vu;
    subtract_product(&b->J, Uw, Vw);
    subtract_product(&b->M, Uu, Vu);
    b->H.x = kd_vec_axpy(b->H.x, -Vu.x, Uw);
    b->H.y = kd_vec_axpy(b->H.y, -Vu.y, Uw);
    b->H.z = kd_vec_axpy(b->H.z, -Vu.z, Uw);
    b->N = kd_vec_axpy(b->N, e->u, Uw);
    b->F = kd_vec_axpy(b->F, e->u, Uu);
}

// b + I c
static inline void add_bias(const kd_axis *c, kd_articulated *b)
{
    const kd_vec3 N = kd_vec_add(kd_sym_vec(&b->J, c->w), kd_mat_vec(&b->H, c->u));
    const kd_vec3 F = kd_vec_add(kd_mat_tvec(&b->H, c->w), kd_sym_vec(&b->M, c->u));
    b->N = kd_vec_add(b->N, N);
    b->F = kd_vec_add(b->F, F);
}

// to the point P - d: H+ = H + d x M, J+ = J - H d x + d x (H+)', N+ = N + d x F
static inline void carry(kd_vec3 d, kd_articulated *b)
{
    const kd_vec3 Mx = {b->M.xx, b->M.xy, b->M.xz}, My = {b->M.xy, b->M.yy, b->M.yz}, Mz = {b->M.xz, b->M.yz, b->M.zz};
    const kd_mat3 H = {kd_vec_add(b->H.x, kd_vec_cross(d, Mx)), kd_vec_add(b->H.y, kd_vec_cross(d, My)),
                       kd_vec_add(b->H.z, kd_vec_cross(d, Mz))};
    const kd_mat3 A = kd_mat_transpose(&b->H), B = kd_mat_transpose(&H);
    // columns of d x (H+)' and rows of -H d x, which are d x (rows of H)
    const kd_vec3 x = kd_vec_cross(d, B.x), y = kd_vec_cross(d, B.y), z = kd_vec_cross(d, B.z);
    const kd_vec3 p = kd_vec_cross(d, A.x), q = kd_vec_cross(d, A.y), r = kd_vec_cross(d, A.z);
    b->J.xx += p.x + x.x;
    b->J.yy += q.y + y.y;
    b->J.zz += r.z + z.z;
    b->J.xy += p.y + y.x;
    b->J.xz += p.z + z.x;
    b->J.yz += q.z + z.y;
    b->H = H;
    b->N = kd_vec_add(b->N, kd_vec_cross(d, b->F));
}

// ---- from the tips to the ground
// ---------------------------------------------------------------------------------------

typedef struct climb_context {
    const kd_tree       *tree;
    kd_motion           *m;
    struct kd_tree_work *work;
    const double        *dx, *tau, *ddx;
    const kd_wrench     *load;
} climb_context;

// body of link i with what its children gave
static inline kd_articulated body_of(const climb_context *c, int i, const kd_link *l)
{
    kd_articulated b = rigid_body(l, &c->m->link[i], c->load ? &c->load[i] : NULL);
    if (l->end > i + 1) articulated_add(&b, &c->work->given[i]);
    return b;
}

// The last child comes first on the way down and starts the sum.
static inline void give(const climb_context *c, const kd_link *l, const kd_articulated *b)
{
    kd_articulated *sum = &c->work->given[l->parent];
    if (l->end == c->tree->link[l->parent].end) {
        sum->J = b->J;
        sum->M = b->M;
        sum->H = b->H;
        sum->N = b->N;
        sum->F = b->F;
    } else {
        articulated_add(sum, b);
    }
}

// one dof of any kind at its own point P; the axes are unit vectors, but for the shift of a screw
static bool eliminate(const kd_axis *S, double tau, double J, double M, kd_articulated *b, kd_eliminated *e)
{
    const kd_vec3 Uw = kd_vec_add(kd_sym_vec(&b->J, S->w), kd_mat_vec(&b->H, S->u));
    const kd_vec3 Uu = kd_vec_add(kd_mat_tvec(&b->H, S->w), kd_sym_vec(&b->M, S->u));
    const double  D = kd_vec_dot(S->w, Uw) + kd_vec_dot(S->u, Uu), inverse = 1 / D;
    e->Vw = kd_vec_scale(inverse, Uw);
    e->Vu = kd_vec_scale(inverse, Uu);
    e->u = inverse * (tau - kd_vec_dot(S->w, b->N) - kd_vec_dot(S->u, b->F));
    give_way(Uw, Uu, e, b);
    return D > singular * (J * kd_vec_dot(S->w, S->w) + M * kd_vec_dot(S->u, S->u));
}

// any joint; the dof without pivot, or -1
static int climb_link(const climb_context *c, int i)
{
    const kd_tree *tree = c->tree;
    const kd_link *l = &tree->link[i];
    const kd_axis *axis = c->m->axis;
    kd_articulated b = body_of(c, i, l);
    kd_axis        bias = kd_joint_bias(l, &c->m->link[l->parent], &c->m->link[i], axis + l->dof, c->dx + l->dof);
    const double   J = b.J.xx + b.J.yy + b.J.zz, M = b.M.xx + b.M.yy + b.M.zz;
    for (int k = l->dof + kd_joint_dofs(l->kind) - 1; k >= l->dof; k--) {
        if (tree->dof_v[k] < 0) { // known: part of the bias
            bias.w = kd_vec_axpy(bias.w, c->ddx[k], axis[k].w);
            bias.u = kd_vec_axpy(bias.u, c->ddx[k], axis[k].u);
        } else if (!eliminate(&axis[k], c->tau ? c->tau[k] : 0, J, M, &b, &c->work->eliminated[k])) {
            return k;
        }
    }
    c->work->bias[i] = bias;
    add_bias(&bias, &b);
    carry(kd_vec_sub(c->m->link[i].P, c->m->link[l->parent].P), &b);
    give(c, l, &b);
    return -1;
}

// A turn. The order is another one: bias and the step to the parent come first, so that they need not wait for the
// division; V belongs to the parent's point then. false: no pivot
static inline bool climb_revolute(const climb_context *c, int i, const kd_link *l)
{
    const kd_link_motion *own = &c->m->link[i], *parent = &c->m->link[l->parent];
    const kd_vec3         w = own->R.z, d = kd_vec_sub(own->P, parent->P);
    kd_eliminated        *e = &c->work->eliminated[l->dof];
    kd_articulated        b = body_of(c, i, l);
    const kd_axis         bias = kd_joint_bias(l, parent, own, NULL, NULL);
    const kd_vec3         Uw = kd_sym_vec(&b.J, w), Uu = kd_mat_tvec(&b.H, w);
    const double          D = kd_vec_dot(w, Uw), J = b.J.xx + b.J.yy + b.J.zz, inverse = 1 / D;
    add_bias(&bias, &b);
    const double tau = (c->tau ? c->tau[l->dof] : 0) - kd_vec_dot(w, b.N);
    carry(d, &b);
    const kd_vec3 Xw = kd_vec_add(Uw, kd_vec_cross(d, Uu)); // U carried
    e->Vw = kd_vec_scale(inverse, Xw);
    e->Vu = kd_vec_scale(inverse, Uu);
    e->u = inverse * tau;
    give_way(Xw, Uu, e, &b);
    c->work->bias[i] = bias;
    give(c, l, &b);
    return D > singular * J;
}

// the dof without pivot, or -1
static int climb(const climb_context *c)
{
    const kd_tree *tree = c->tree;
    int            bad = -1;
    for (int i = tree->nlinks - 1; i > 0 && bad < 0; i--) {
        const kd_link *l = &tree->link[i];
        if (l->kind != KD_TREE_REVOLUTE || tree->dof_v[l->dof] < 0)
            bad = climb_link(c, i);
        else if (!climb_revolute(c, i, l))
            bad = l->dof;
    }
    return bad;
}

// ---- from the ground to the tips
// ---------------------------------------------------------------------------------------

// a = X a_l + c, then dof by dof ddx = u - V'a, a + S ddx; a turn has V at the parent's point and takes V'a_l
static void descend(const climb_context *c, double *ddx)
{
    const kd_tree *tree = c->tree;
    kd_motion     *m = c->m;
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link        *l = &tree->link[i];
        const kd_link_motion *parent = &m->link[l->parent];
        kd_link_motion       *own = &m->link[i];
        const kd_axis        *bias = &c->work->bias[i];
        const kd_eliminated  *e = &c->work->eliminated[l->dof];
        const kd_vec3         d = kd_vec_sub(own->P, parent->P);
        kd_vec3               dw = kd_vec_add(parent->dw, bias->w);
        kd_vec3               dv = kd_vec_add(kd_vec_add(parent->dv, bias->u), kd_vec_cross(parent->dw, d));
        if (l->kind == KD_TREE_REVOLUTE && tree->dof_v[l->dof] >= 0) {
            const double a = (e->u - kd_vec_dot(e->Vw, parent->dw)) - kd_vec_dot(e->Vu, parent->dv);
            dw = kd_vec_axpy(dw, a, own->R.z);
            ddx[l->dof] = a;
        } else {
            for (int k = l->dof; k < l->dof + kd_joint_dofs(l->kind); k++, e++) {
                if (tree->dof_v[k] < 0) continue;
                ddx[k] = (e->u - kd_vec_dot(e->Vw, dw)) - kd_vec_dot(e->Vu, dv);
                dw = kd_vec_axpy(dw, ddx[k], m->axis[k].w);
                dv = kd_vec_axpy(dv, ddx[k], m->axis[k].u);
            }
        }
        own->dw = dw;
        own->dv = dv;
    }
}

bool KD_KERNEL(kd_explicit)(const kd_tree *tree, kd_motion *m, const double *dx, kd_vec3 g, const kd_wrench *load,
                            const double *tau, double *ddx, int *bad)
{
    const climb_context c = {tree, m, m->work, dx, tau, ddx, load};
    m->link[0].dv = kd_vec_neg(g);
    *bad = climb(&c);
    if (*bad >= 0) return false;
    descend(&c, ddx);
    return true;
}
