// motion.c: positions, velocities and accelerations of the links, from the ground to the tips. The motion
// of the link before stays at hand, since it is the parent most of the time. docs/methods/tree.md
#include "joint/table.h"
#include "tree/joint.h"
#include "tree/vector.h"

#include <string.h>

// ---- position ------------------------------------------------------------------------------------------------------

// R_A to the world: a motion that the table tells in the axes of A
static kd_axis turned(const kd_mat3 *RA, const kd_axis *a)
{
    return (kd_axis){kd_mat_vec(RA, a->w), kd_mat_vec(RA, a->u)};
}

// a curved joint: S stands with the dofs, S' and S'' behind them
static void place_curved(const kd_link *l, double q, const kd_mat3 *RA, kd_vec3 rA, kd_axis *all, kd_link_motion *own)
{
    kd_axis S[KD_TABLE_AXES];
    kd_mat3 C;
    kd_vec3 d;
    kd_joint_table_pose(l->table, q, &C, &d, S);
    own->R = kd_mat_mul(RA, &C);
    own->P = kd_vec_add(rA, kd_mat_vec(RA, d));
    all[l->dof] = turned(RA, &S[0]);
    all[l->letter] = turned(RA, &S[1]);
    all[l->letter + 1] = turned(RA, &S[2]);
}

// A = R_l E and P_l + R_l r: the frame of the joint on the link before
static inline kd_m3 joint_frame(const kd_link *l, const kd_m3 *R, kd_v3 *P)
{
    *P = kd_m3_axpy(*P, R, &l->r);
    return (kd_m3){kd_m3_vec(R, &l->E.x), kd_m3_vec(R, &l->E.y), kd_m3_vec(R, &l->E.z)};
}

static inline void store_frame(const kd_m3 *R, kd_v3 P, kd_link_motion *own)
{
    kd_v3_store_four(&own->R.x, R->x);
    kd_v3_store_four(&own->R.y, R->y);
    kd_v3_store_four(&own->R.z, R->z);
    kd_v3_store(&own->P, P);
}

// any joint; all: the motions of the tree
__attribute__((always_inline)) static inline void place_link(const kd_link *l, const double *x, const double *c,
                                                             const double *s, const kd_link_motion *parent,
                                                             kd_axis *all, kd_link_motion *own)
{
    const kd_m3 R = kd_m3_load(&parent->R);
    kd_v3       P = kd_v3_load(&parent->P);
    const kd_m3 A = joint_frame(l, &R, &P);
    store_frame(&A, P, own);
    if (l->form.curved) {
        const kd_mat3 RA = own->R;
        place_curved(l, x[0], &RA, own->P, all, own);
    } else {
        kd_joint_place(&l->form, l->lead, x, c, s, all + l->dof, all + l->letter, &own->R, &own->P);
    }
}

// a ball joint: R = R_l E C(q), P = P_l + R_l r; its motions are turns about the axes of the link
static inline void place_ball(const kd_link *l, const double *q, const kd_link_motion *parent, kd_axis *axis,
                              kd_link_motion *own)
{
    const kd_m3   R = kd_m3_load(&parent->R);
    const kd_m3   A = {kd_m3_vec(&R, &l->E.x), kd_m3_vec(&R, &l->E.y), kd_m3_vec(&R, &l->E.z)};
    const kd_mat3 C = kd_quat_matrix(kd_quat_of(q));
    const kd_v3   column[3] = {kd_m3_vec(&A, &C.x), kd_m3_vec(&A, &C.y), kd_m3_vec(&A, &C.z)};
    kd_v3_store_four(&own->R.x, column[0]);
    kd_v3_store_four(&own->R.y, column[1]);
    kd_v3_store_four(&own->R.z, column[2]);
    kd_v3_store(&own->P, kd_m3_axpy(kd_v3_load(&parent->P), &R, &l->r));
    for (int k = 0; k < 3; k++) {
        kd_v3_store_four(&axis[k].w, column[k]);
        kd_v3_store(&axis[k].u, kd_v3_zero());
    }
}

// a turn about one axis of R: the other two
static inline void turn_about(kd_v3 *a, kd_v3 *b, double c, double s)
{
    const kd_v3 old = *a;
    *a = kd_v3_axpy(kd_v3_scale(c, old), s, *b);
    *b = kd_v3_less(kd_v3_scale(c, *b), s, old);
}

// A marker that moves: the word of eight letters, their motions about the point of the parent. e: its shifts; c, s: of its three angles;
// R, P: of the parent, then its own
static inline void place_marker(const kd_link *l, const double *e, const double *c, const double *s, kd_axis *axis,
                                kd_m3 *R, kd_v3 *P)
{
    // shifts in the axes of the frame A, then turns x/2 y/2 z y/2 x/2
    const kd_v3 up = *P;
    *P = kd_m3_axpy(up, R, &l->r);
    if (!l->straight) *R = (kd_m3){kd_m3_vec(R, &l->E.x), kd_m3_vec(R, &l->E.y), kd_m3_vec(R, &l->E.z)};
    *P = kd_m3_axpy(*P, R, (const kd_vec3 *)e);
    kd_v3 w[5];
    kd_v3_store(&axis[0].u, R->x);
    kd_v3_store(&axis[1].u, R->y);
    kd_v3_store(&axis[2].u, R->z);
    w[0] = R->x;
    turn_about(&R->y, &R->z, c[0], s[0]);
    w[1] = R->y;
    turn_about(&R->z, &R->x, c[1], s[1]);
    w[2] = R->z;
    turn_about(&R->x, &R->y, c[2], s[2]);
    w[3] = R->y;
    turn_about(&R->z, &R->x, c[1], s[1]);
    w[4] = R->x;
    turn_about(&R->y, &R->z, c[0], s[0]);
    // a turn leaves P where it is
    const kd_v3 back = kd_v3_sub(up, *P);
    for (int a = 0; a < 5; a++) {
        kd_v3_store_four(&axis[3 + a].w, w[a]);
        kd_v3_store(&axis[3 + a].u, kd_v3_cross(w[a], back));
    }
}

// Links of a list, each behind its parent; NULL: all. Known to the compiler, as `deforms` in composite_body.c
__attribute__((always_inline)) static inline void place_links(const kd_tree *tree, const double *x, int n,
                                                              const int *list, kd_motion *m)
{
    struct kd_tree_work *work = m->work;
    kd_m3                R = kd_m3_load(&m->link[0].R);
    kd_v3                P = kd_v3_load(&m->link[0].P);
    for (int k = 1, i = 0, before = 0; k < n; k++, before = i) {
        i = list ? list[k] : k;
        const kd_link  *l = &tree->link[i];
        kd_link_motion *own = &m->link[i];
        const double   *c = work->cosine + work->first_angle[i], *s = work->sine + work->first_angle[i];
        if (l->parent != before) {
            R = kd_m3_load(&m->link[l->parent].R);
            P = kd_v3_load(&m->link[l->parent].P);
        }
        // R = R_l E C(x), P = P_l + R_l (r + E d(x)); a turn about z at once
        if (!l->form.hinge) {
            if (l->goes_along) {
                store_frame(&R, P, own);
            } else if (l->marker && !l->marker->still) {
                place_marker(l, work->row[i] + KD_MARKER_ROWS * l->marker->mp, c, s, m->axis + l->letter, &R, &P);
                store_frame(&R, P, own);
            } else {
                if (l->form.ball && l->form.nscalars == 0)
                    place_ball(l, x + l->position, &m->link[l->parent], m->axis + l->dof, own);
                else
                    place_link(l, x + l->position, c, s, &m->link[l->parent], m->axis, own);
                R = kd_m3_load(&own->R);
                P = kd_v3_load(&own->P);
            }
            continue;
        }
        // R = A Rz(x)
        const kd_m3 A = joint_frame(l, &R, &P);
        R.x = kd_v3_axpy(kd_v3_scale(*c, A.x), *s, A.y);
        R.y = kd_v3_less(kd_v3_scale(*c, A.y), *s, A.x);
        R.z = A.z;
        store_frame(&R, P, own);
        kd_v3_store_four(&m->axis[l->dof].w, R.z);
        kd_v3_store(&m->axis[l->dof].u, kd_v3_zero());
    }
}

void KD_KERNEL(kd_place)(const kd_tree *tree, const double *x, kd_motion *m)
{
    m->work->turned_known = false;
    if (tree->nwide > 0) KD_KERNEL(kd_wide_deform)(tree, x, m);
    kd_joint_angles(x, m->work);
    place_links(tree, x, tree->nlinks, NULL, m);
}

void KD_KERNEL(kd_place_some)(const kd_tree *tree, const double *x, int n, const int *list, bool first, kd_motion *m)
{
    m->work->turned_known = false;
    if (first) kd_joint_angles(x, m->work);
    place_links(tree, x, n, list, m);
}

// ---- velocity ------------------------------------------------------------------------------------------------------

// w = w_l + sum S_w dx,  v = v_l + w_l x d + sum S_u dx,  d = P - P_l. deforms: as in composite_body.c
__attribute__((always_inline)) static inline void move_of(const kd_tree *tree, const double *dx, const bool deforms,
                                                          kd_motion *m)
{
    kd_v3 w = kd_v3_zero(), v = w, P = w;
    if (deforms) KD_KERNEL(kd_wide_rate)(tree, dx, m);
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link  *l = &tree->link[i];
        kd_link_motion *own = &m->link[i];
        if (l->parent != i - 1) {
            const kd_link_motion *parent = &m->link[l->parent];
            w = kd_v3_load(&parent->w);
            v = kd_v3_load(&parent->v);
            P = kd_v3_load(&parent->P);
        }
        const kd_v3 P_l = P;
        P = kd_v3_load(&own->P);
        // v_l + w_l x d, then the joint
        v = kd_v3_add(v, kd_v3_cross(w, kd_v3_sub(P, P_l)));
        if (l->form.hinge) {
            w = kd_v3_axpy(w, dx[l->dof], kd_v3_load(&own->R.z));
        } else if (deforms && l->marker && !l->marker->still) {
            const kd_axis *letter = m->axis + l->letter;
            const kd_axis *rate = &letter[KD_MARKER_RATES];
            const kd_v6    S = kd_marker_motion(letter, &rate->u.x, &rate->w.x);
            w = kd_v3_add(w, S.w);
            v = kd_v3_add(v, S.u);
        } else if (!deforms || !l->wide) {
            for (int k = l->dof; k < l->dof + l->form.ndof; k++) {
                w = kd_v3_axpy(w, dx[k], kd_v3_load(&m->axis[k].w));
                v = kd_v3_axpy(v, dx[k], kd_v3_load(&m->axis[k].u));
            }
        }
        kd_v3_store_four(&own->w, w);
        kd_v3_store(&own->v, v);
    }
}

void KD_KERNEL(kd_move)(const kd_tree *tree, const double *dx, kd_motion *m)
{
    if (tree->nwide > 0)
        move_of(tree, dx, true, m);
    else
        move_of(tree, dx, false, m);
}

// ---- acceleration --------------------------------------------------------------------------------------------------

// dw = dw_l + bias_w + sum S_w ddx,  dv = dv_l + dw_l x d + bias_u + sum S_u ddx
__attribute__((always_inline)) static inline void
accelerate_of(const kd_tree *tree, const double *dx, const double *ddx, kd_vec3 g, const bool deforms, kd_motion *m)
{
    kd_joint_state own = kd_joint_state_of(&m->link[0]);
    kd_v3          dw = kd_v3_zero(), dv = kd_v3_of(-g.x, -g.y, -g.z);
    m->link[0].dv = kd_vec_neg(g);
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link  *l = &tree->link[i];
        kd_link_motion *link = &m->link[i];
        kd_joint_state  parent = own;
        if (l->parent != i - 1) {
            parent = kd_joint_state_of(&m->link[l->parent]);
            dw = kd_v3_load(&m->link[l->parent].dw);
            dv = kd_v3_load(&m->link[l->parent].dv);
        }
        own = kd_joint_state_of(link);
        // the parent's acceleration at P with the bias, then S ddx
        const kd_v6 bias = kd_joint_bias(l, &parent, &own, m->axis, dx + l->dof);
        dv = kd_v3_add(kd_v3_add(dv, bias.u), kd_v3_cross(dw, kd_v3_sub(own.P, parent.P)));
        dw = kd_v3_add(dw, bias.w);
        if (l->form.hinge) {
            dw = kd_v3_axpy(dw, ddx[l->dof], kd_v3_load(&link->R.z));
        } else if (deforms && l->wide) {
            memcpy(m->work->wide[l->state].ddq, ddx + l->dof, (size_t)l->wide->m * sizeof *ddx);
        } else if (deforms && l->marker && !l->marker->still) {
            const double *ddq = m->work->wide[tree->link[l->parent].state].ddq;
            double        e[8];
            KD_KERNEL(kd_marker_rates)(l->marker, m->work->row[i], ddq, e);
            const kd_v6 S = kd_marker_motion(m->axis + l->letter, e, e + 3);
            dw = kd_v3_add(dw, S.w);
            dv = kd_v3_add(dv, S.u);
        } else {
            for (int k = l->dof; k < l->dof + l->form.ndof; k++) {
                dw = kd_v3_axpy(dw, ddx[k], kd_v3_load(&m->axis[k].w));
                dv = kd_v3_axpy(dv, ddx[k], kd_v3_load(&m->axis[k].u));
            }
        }
        kd_v3_store_four(&link->dw, dw);
        kd_v3_store(&link->dv, dv);
    }
}

void KD_KERNEL(kd_accelerate)(const kd_tree *tree, const double *dx, const double *ddx, kd_vec3 g, kd_motion *m)
{
    if (tree->nwide > 0)
        accelerate_of(tree, dx, ddx, g, true, m);
    else
        accelerate_of(tree, dx, ddx, g, false, m);
}
