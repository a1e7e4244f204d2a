// articulated_body.c: the explicit formalism, accelerations for given loads (Fs section 7.3, with world axes and the
// point P_i of each link). docs/methods/tree.md
//
// The body of a link with all that hangs on it answers the acceleration a = (dw, dv) of P with the force f = I a + b,
// I = [J K'; K M], b = (N, F). Its joint gives way by S ddx: with U = I S, D = S'U, V = U/D
//
//     ddx = u - V'a,   u = (tau - S'b)/D,   I+ = I - U V',   b+ = b + U u
//
// The dofs of a joint are eliminated one by one, last first. Then the acceleration is that of the parent carried to P
// plus the bias c, a = X a_l + c, and the parent gets X'I+ X and X'(b+ + I+ c).
#include "tree/articulated.h"
#include "tree/fours.h"
#include "tree/joint.h"

#include <float.h>

// a pivot below this part of the largest inertia of its kind is rounding
static const double singular = 8 * DBL_EPSILON;

// ---- parts ---------------------------------------------------------------------------------------------------------

// the body alone: inertia at P, and its force at zero acceleration minus the load
static inline articulated rigid_body(const kd_link *l, const kd_link_motion *m, const kd_wrench *load)
{
    const double mass = l->mass;
    const kd_m3  R = kd_m3_load(&m->R);
    const kd_v3  w = kd_v3_load(&m->w), h = kd_v3_scale(mass, kd_m3_vec(&R, &l->centre));
    const kd_v3  ex = kd_v3_of(1, 0, 0), ey = kd_v3_of(0, 1, 0), ez = kd_v3_of(0, 0, 1);
    articulated  b;
    // I = [J K'; K M] at P
    b.J = kd_m3_rotate(&R, &m->R, &l->inertia);
    b.K = kd_m3_skew(h); // -h x
    b.M = (kd_m3){kd_v3_scale(mass, ex), kd_v3_scale(mass, ey), kd_v3_scale(mass, ez)};
    // b at zero acceleration: w x J w, w x (w x h); minus the load
    b.N = kd_v3_cross(w, kd_m3_vec(&b.J, &m->w));
    b.F = kd_v3_cross(w, kd_v3_cross(w, h));
    if (load) {
        b.N = kd_v3_sub(b.N, kd_v3_load_exactly(&load->N));
        b.F = kd_v3_sub(b.F, kd_v3_load_exactly(&load->F));
    }
    return b;
}

// a link without mass
static inline articulated no_body(const kd_wrench *load)
{
    const kd_v3 zero = kd_v3_zero();
    const kd_m3 none = {zero, zero, zero};
    articulated b = {none, none, none, zero, zero};
    if (load) {
        b.N = kd_v3_sub(zero, kd_v3_load_exactly(&load->N));
        b.F = kd_v3_sub(zero, kd_v3_load_exactly(&load->F));
    }
    return b;
}

// b + I c; c in memory, its second part also in u
static inline void add_bias(const kd_axis *c, kd_v3 u, articulated *b)
{
    b->N = kd_v3_add(kd_m3_axpy(b->N, &b->J, &c->w), kd_m3_tvec(&b->K, u));
    b->F = kd_m3_axpy(kd_m3_axpy(b->F, &b->K, &c->w), &b->M, &c->u);
}

// to the point P - d: K+ = K - M d x,  J+ = J + Y + Y' with Y = d x (K + K+)/2,  N+ = N + d x F
static inline void carry(kd_v3 d, const kd_vec3 *step, articulated *b)
{
    const kd_m3 M = b->M, K = b->K;
    b->K.x = kd_v3_axpy(kd_v3_less(K.x, step->z, M.y), step->y, M.z);
    b->K.y = kd_v3_less(kd_v3_axpy(K.y, step->z, M.x), step->x, M.z);
    b->K.z = kd_v3_axpy(kd_v3_less(K.z, step->y, M.x), step->x, M.y);
    kd_m3 Y = {kd_v3_cross(d, kd_v3_add(K.x, b->K.x)), kd_v3_cross(d, kd_v3_add(K.y, b->K.y)),
               kd_v3_cross(d, kd_v3_add(K.z, b->K.z))};
    kd_m3 T = Y;
    kd_v3_transpose(&T.x, &T.y, &T.z);
    b->J.x = kd_v3_axpy(b->J.x, 0.5, kd_v3_add(Y.x, T.x));
    b->J.y = kd_v3_axpy(b->J.y, 0.5, kd_v3_add(Y.y, T.y));
    b->J.z = kd_v3_axpy(b->J.z, 0.5, kd_v3_add(Y.z, T.z));
    b->N = kd_v3_add(b->N, kd_v3_cross(d, b->F));
}

// both; the bias is kept
static inline void hand_on(kd_v6 bias, kd_v3 d, kd_axis *kept, articulated *b)
{
    kd_vec_slot step;
    kd_v3_store_four(&step.v, d);
    kd_v3_store_four(&kept->w, bias.w);
    kd_v3_store(&kept->u, bias.u);
    add_bias(kept, bias.u, b);
    carry(d, &step.v, b);
}

// ---- from the tips to the ground -----------------------------------------------------------------------------------

typedef struct climb_context {
    const kd_tree       *tree;
    kd_motion           *m;
    struct kd_tree_work *work;
    const double        *dx, *tau, *ddx;
    const kd_wrench     *load;
} climb_context;

// one dof of any kind at its own point P; the axes are unit vectors, but for the shift of a screw
static bool eliminate(const kd_axis *S, double tau, double J, double M, articulated *b, kd_eliminated *e)
{
    // U = I S, D = S'U
    const kd_v3  Sw = kd_v3_load(&S->w), Su = kd_v3_load(&S->u);
    const kd_v3  Uw = kd_v3_add(kd_m3_vec(&b->J, &S->w), kd_m3_tvec(&b->K, Su));
    const kd_v3  Uu = kd_m3_axpy(kd_m3_vec(&b->K, &S->w), &b->M, &S->u);
    const double D = kd_v3_dot(Sw, Uw) + kd_v3_dot(Su, Uu), inverse = 1 / D;
    // V = U / D, u = (tau - S'b) / D, then I - U V', b + U u
    kd_v3_store(&e->Vw, kd_v3_scale(inverse, Uw));
    kd_v3_store(&e->Vu, kd_v3_scale(inverse, Uu));
    e->u = inverse * (tau - kd_v3_dot(Sw, b->N) - kd_v3_dot(Su, b->F));
    give_way(Uw, Uu, e, b);
    return D > singular * (J * kd_v3_dot(Sw, Sw) + M * kd_v3_dot(Su, Su));
}

// any joint; the dof without pivot, or -1
static int climb_link(const climb_context *c, int i, articulated *b)
{
    const kd_tree *tree = c->tree;
    const kd_link *l = &tree->link[i];
    const kd_axis *axis = c->m->axis;
    if (l->same_point) return -1;
    const kd_joint_state own = kd_joint_state_of(&c->m->link[i]), parent = kd_joint_state_of(&c->m->link[l->parent]);
    // bias c of the joint
    kd_v6        bias = kd_joint_bias(l, &parent, &own, axis, c->dx + l->dof);
    const double J = kd_v3_trace(b->J.x, b->J.y, b->J.z), M = kd_v3_trace(b->M.x, b->M.y, b->M.z);
    // dofs one by one, last first; prescribed ones add S ddx to c
    for (int k = l->wide ? -1 : l->dof + l->form.ndof - 1; k >= l->dof; k--) {
        if (tree->dof_v[k] < 0) { // known: part of the bias
            bias.w = kd_v3_axpy(bias.w, c->ddx[k], kd_v3_load(&axis[k].w));
            bias.u = kd_v3_axpy(bias.u, c->ddx[k], kd_v3_load(&axis[k].u));
        } else if (!eliminate(&axis[k], c->tau ? c->tau[k] : 0, J, M, b, &c->work->eliminated[k])) {
            return k;
        }
    }
    // b + I c, to the point of the parent
    hand_on(bias, kd_v3_sub(own.P, parent.P), &c->work->bias[i], b);
    return -1;
}

// A turn. The order is another one: bias and the step to the parent come first, so that they need not wait for the
// division; V belongs to the parent's point then. false: no pivot
static inline bool climb_revolute(const climb_context *c, int i, const kd_link *l, articulated *b)
{
    const kd_joint_state own = kd_joint_state_of(&c->m->link[i]), parent = kd_joint_state_of(&c->m->link[l->parent]);
    const kd_v6          bias = kd_joint_bias(l, &parent, &own, NULL, NULL);
    const kd_vec3       *axis = &c->m->link[i].R.z;
    kd_eliminated       *e = &c->work->eliminated[l->dof];
    const kd_v3          w = kd_v3_load(axis), d = kd_v3_sub(own.P, parent.P);
    const kd_v3          Uw = kd_m3_vec(&b->J, axis), Uu = kd_m3_vec(&b->K, axis);
    const double         D = kd_v3_dot(w, Uw), inverse = 1 / D, J = kd_v3_trace(b->J.x, b->J.y, b->J.z);
    const kd_v3          Xw = kd_v3_add(Uw, kd_v3_cross(d, Uu)); // U carried
    // S'(b + I c) = S'b + U'c
    const double tau = (c->tau ? c->tau[l->dof] : 0) - kd_v3_dot3(w, b->N, Uw, bias.w, Uu, bias.u);
    hand_on(bias, d, &c->work->bias[i], b);
    kd_v3_store_four(&e->Vw, kd_v3_scale(inverse, Xw));
    kd_v3_store_four(&e->Vu, kd_v3_scale(inverse, Uu));
    e->u = inverse * tau;
    give_way(Xw, Uu, e, b);
    return D > singular * J;
}

// A turn at the point of the parent: nothing is to be carried
static inline bool climb_in_place(const climb_context *c, int i, const kd_link *l, articulated *b)
{
    const kd_link_motion *own = &c->m->link[i], *parent = &c->m->link[l->parent];
    const kd_v3           bias = kd_v3_cross(kd_v3_load(&parent->w), kd_v3_load(&own->w)), w = kd_v3_load(&own->R.z);
    const kd_v3           Uw = kd_m3_vec(&b->J, &own->R.z), Uu = kd_m3_vec(&b->K, &own->R.z);
    const double          D = kd_v3_dot(w, Uw), inverse = 1 / D, J = kd_v3_trace(b->J.x, b->J.y, b->J.z);
    const double          tau = (c->tau ? c->tau[l->dof] : 0) - kd_v3_dot2(w, b->N, Uw, bias);
    kd_axis              *kept = &c->work->bias[i];
    kd_eliminated        *e = &c->work->eliminated[l->dof];
    kd_v3_store_four(&kept->w, bias);
    b->N = kd_m3_axpy(b->N, &b->J, &kept->w);
    b->F = kd_m3_axpy(b->F, &b->K, &kept->w);
    kd_v3_store_four(&e->Vw, kd_v3_scale(inverse, Uw));
    kd_v3_store_four(&e->Vu, kd_v3_scale(inverse, Uu));
    e->u = inverse * tau;
    give_way(Uw, Uu, e, b);
    return D > singular * J;
}

// A marker that moves: the modes that move it give way with the wide link
static inline void climb_marker(const climb_context *c, int i, const kd_link *l, articulated *b)
{
    const kd_joint_state own = kd_joint_state_of(&c->m->link[i]), parent = kd_joint_state_of(&c->m->link[l->parent]);
    const kd_v6          bias = kd_joint_bias(l, &parent, &own, c->m->axis, NULL);
    hand_on(bias, kd_v3_sub(own.P, parent.P), &c->work->bias[i], b);
}

static inline void take_load(const kd_wrench *load, articulated *b)
{
    b->N = kd_v3_sub(b->N, kd_v3_load_exactly(&load->N));
    b->F = kd_v3_sub(b->F, kd_v3_load_exactly(&load->F));
}

// What a link gives to its parent stays at hand if the parent comes next, and is added up in memory otherwise: the last
// child of a parent comes first and starts the sum.
static int climb(const climb_context *c)
{
    const kd_tree *tree = c->tree;
    articulated   *sum = c->work->given;
    articulated    given = {0};
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const kd_link   *l = &tree->link[i];
        const kd_wrench *load = c->load ? &c->load[i] : NULL;
        // I and b of the link, with what its children gave
        articulated b = l->massless ? no_body(load) : rigid_body(l, &c->m->link[i], load);
        if (l->end > i + 1) {
            articulated_add(&b, &given);
            if (l[1].end < l->end) articulated_add(&b, &sum[i]);
        }
        // its joint gives way
        if (!l->form.hinge || tree->dof_v[l->dof] < 0) {
            articulated copy = b;
            const int   bad = climb_link(c, i, &copy);
            if (bad >= 0) return bad;
            b = copy;
        } else if (!climb_revolute(c, i, l, &b)) {
            return l->dof;
        }
        // to the parent
        if (l->parent == i - 1)
            given = b;
        else if (l->end == tree->link[l->parent].end)
            sum[l->parent] = b;
        else
            articulated_add(&sum[l->parent], &b);
    }
    return -1;
}

// The joint of link i gives way, and its modes before, which stand behind it; the dof without pivot, or -1
static inline int climb_any(const climb_context *c, int i, const kd_link *l, articulated *b)
{
    if (l->wide) {
        const int bad = KD_KERNEL(kd_wide_articulate)(c->tree, c->m, i, c->load, c->tau, c->work->given, b);
        if (bad >= 0) return l->dof + bad;
        if (l->same_point) return -1;
    }
    if (l->form.hinge && c->tree->dof_v[l->dof] >= 0)
        return (l->stays ? climb_in_place(c, i, l, b) : climb_revolute(c, i, l, b)) ? -1 : l->dof;
    if (!l->marker || l->marker->still) return climb_link(c, i, b);
    climb_marker(c, i, l, b);
    return -1;
}

// The same for trees with links that deform. What the first child gives is at hand where its parent comes next: nothing is copied then.
static int climb_deforming(const climb_context *c)
{
    const kd_tree *tree = c->tree;
    articulated   *sum = c->work->given;
    articulated    b = {0};
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const kd_link   *l = &tree->link[i];
        const kd_wrench *load = c->load && !l->wide ? &c->load[i] : NULL;
        // I and b of the link, with what its children gave; a wide link gathers them itself, marker by marker
        if (l->end == i + 1) {
            b = l->massless ? no_body(load) : rigid_body(l, &c->m->link[i], load);
        } else if (!l->massless) {
            const articulated own = rigid_body(l, &c->m->link[i], load);
            articulated_add(&b, &own);
        } else if (load) {
            take_load(load, &b);
        }
        if (l->end > i + 1 && l[1].end < l->end && !l->wide) articulated_add(&b, &sum[i]);
        const int bad = climb_any(c, i, l, &b);
        if (bad >= 0) return bad;
        // to the parent; markers that do not come next to it are kept one by one, too
        if (l->parent == i - 1) continue;
        if (l->marker && !l->marker->still) sum[i] = b;
        if (l->end == tree->link[l->parent].end)
            sum[l->parent] = b;
        else
            articulated_add(&sum[l->parent], &b);
    }
    return -1;
}

// ---- from the ground to the tips -----------------------------------------------------------------------------------

// (dw, -1, dv, 0): what the tails of the modes are multiplied with
static inline void descend_wide(const climb_context *c, const kd_link *l, kd_v3 dw, kd_v3 dv, double *ddq)
{
    double motion[8];
    PUT_WITH(motion, dw, -1);
    PUT_WITH(motion + 4, dv, 0);
    KD_KERNEL(kd_wide_follow)(l->wide, &c->work->wide[l->state], motion, ddq);
}

// a = X a_l + c, then dof by dof ddx = u - V'a, a + S ddx; a turn has V at the parent's point and takes V'a_l
static void descend(const climb_context *c, double *ddx)
{
    const kd_tree *tree = c->tree;
    kd_motion     *m = c->m;
    kd_v3          dw = kd_v3_load(&m->link[0].dw), dv = kd_v3_load(&m->link[0].dv);
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link        *l = &tree->link[i];
        const kd_link_motion *parent = &m->link[l->parent];
        kd_link_motion       *own = &m->link[i];
        const kd_axis        *bias = &c->work->bias[i];
        const kd_eliminated  *e = &c->work->eliminated[l->dof];
        // a_l
        if (l->parent != i - 1) {
            dw = kd_v3_load(&parent->dw);
            dv = kd_v3_load(&parent->dv);
        }
        // at the same point the modes alone move
        if (l->same_point) {
            if (l->wide) descend_wide(c, l, dw, dv, ddx + l->dof);
            kd_v3_store_four(&own->dw, dw);
            kd_v3_store(&own->dv, dv);
            continue;
        }
        // a turn at the point of the parent
        if (l->stays && tree->dof_v[l->dof] >= 0) {
            const double a = e->u - kd_v3_dot2(kd_v3_load(&e->Vw), dw, kd_v3_load(&e->Vu), dv);
            dw = kd_v3_axpy(kd_v3_add(dw, kd_v3_load(&bias->w)), a, kd_v3_load(&own->R.z));
            ddx[l->dof] = a;
            kd_v3_store_four(&own->dw, dw);
            kd_v3_store(&own->dv, dv);
            continue;
        }
        // a = X a_l + c
        const kd_v3 d = kd_v3_sub(kd_v3_load(&own->P), kd_v3_load(&parent->P)), dw_l = dw, dv_l = dv;
        dv = kd_v3_add(kd_v3_add(dv_l, kd_v3_load(&bias->u)), kd_v3_cross(dw_l, d));
        dw = kd_v3_add(dw_l, kd_v3_load(&bias->w));
        // ddx = u - V'a, a += S ddx
        if (l->form.hinge && tree->dof_v[l->dof] >= 0) {
            const double a = e->u - kd_v3_dot2(kd_v3_load(&e->Vw), dw_l, kd_v3_load(&e->Vu), dv_l);
            dw = kd_v3_axpy(dw, a, kd_v3_load(&own->R.z));
            ddx[l->dof] = a;
        } else if (l->wide) {
            descend_wide(c, l, dw, dv, ddx + l->dof);
        } else if (l->marker && !l->marker->still) {
            const double *ddq = c->work->wide[tree->link[l->parent].state].ddq;
            double        rate[8];
            KD_KERNEL(kd_marker_rates)(l->marker, c->work->row[i], ddq, rate);
            const kd_v6 S = kd_marker_motion(m->axis + l->letter, rate, rate + 3);
            dw = kd_v3_add(dw, S.w);
            dv = kd_v3_add(dv, S.u);
        } else {
            for (int k = l->dof; k < l->dof + l->form.ndof; k++, e++) {
                if (tree->dof_v[k] < 0) continue;
                ddx[k] = e->u - kd_v3_dot2(kd_v3_load(&e->Vw), dw, kd_v3_load(&e->Vu), dv);
                dw = kd_v3_axpy(dw, ddx[k], kd_v3_load(&m->axis[k].w));
                dv = kd_v3_axpy(dv, ddx[k], kd_v3_load(&m->axis[k].u));
            }
        }
        kd_v3_store_four(&own->dw, dw);
        kd_v3_store(&own->dv, dv);
    }
}

bool KD_KERNEL(kd_explicit)(const kd_tree *tree, kd_motion *m, const double *dx, kd_vec3 g, const kd_wrench *load,
                            const double *tau, double *ddx, int *bad)
{
    const climb_context c = {tree, m, m->work, dx, tau, ddx, load};
    m->link[0].dv = kd_vec_neg(g);
    // pass 1, tips to ground: I, b, V, u; pass 2, ground to tips: a, ddx
    *bad = tree->nwide > 0 ? climb_deforming(&c) : climb(&c);
    if (*bad >= 0) return false;
    descend(&c, ddx);
    return true;
}
