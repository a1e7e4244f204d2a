// newton_euler_derivatives.c: derivatives of the residual by increments of the positions and by the velocities
// (Carpentier & Mansard 2018, in the form of docs/methods/tree.md). All motions and forces are about one point O of
// each tree, in world axes; for the dof j with the velocity v and acceleration a of what carries it
//
//     Z_j = v x S_j,   A_j = a x S_j + v x Z_j,   T_j = Z_j + S_j'          (S_j' = dS_j/dt)
//     k above j:       by p: S_k'(Ic_j A_j + Bc_j Z_j + S_j x* fc_j)   by v: S_k'(Ic_j T_j + Bc_j S_j)
//     k = j or below:  by p: (Ic_k S_k)'A_j + (Bc_k'S_k)'Z_j           by v: (Ic_k S_k)'T_j + (Bc_k'S_k)'S_j
//
// Ic, fc: inertia and inertia force of the subtree; Bc S: moment and force of its Coriolis forces 2 S_w x r' dm,
// Bc = [2 (tr L - L), 0; -2 p x, 0] with L = integral r' r^T dm and the momentum p.
#include "formalism/joint.h"
#include "formalism/rows.h"

typedef struct motion6 { // motion (w, velocity at O) or force (N about O, F)
    kd_vec3 w, u;
} motion6;

static inline motion6 add6(motion6 a, motion6 b)
{
    return (motion6){kd_vec_add(a.w, b.w), kd_vec_add(a.u, b.u)};
}
static inline motion6 axpy6(motion6 a, double s, kd_axis b)
{
    return (motion6){kd_vec_axpy(a.w, s, b.w), kd_vec_axpy(a.u, s, b.u)};
}
// motion x motion
static inline motion6 cross6(motion6 a, motion6 b)
{
    return (motion6){kd_vec_cross(a.w, b.w), kd_vec_add(kd_vec_cross(a.w, b.u), kd_vec_cross(a.u, b.w))};
}
// motion x* force
static inline motion6 cross_force6(motion6 a, motion6 f)
{
    return (motion6){kd_vec_add(kd_vec_cross(a.w, f.w), kd_vec_cross(a.u, f.u)), kd_vec_cross(a.w, f.u)};
}

// ---- subtrees
// --------------------------------------------------------------------------------------------------------

// velocity about O, or the spatial acceleration: dv - w x v of the point, carried to O at -r
static inline motion6 velocity_at(const kd_link_motion *m, kd_vec3 r)
{
    return (motion6){m->w, kd_vec_add(m->v, kd_vec_cross(r, m->w))};
}
static inline motion6 acceleration_at(const kd_link_motion *m, kd_vec3 r)
{
    return (motion6){m->dw, kd_vec_add(kd_vec_sub(m->dv, kd_vec_cross(m->w, m->v)), kd_vec_cross(r, m->dw))};
}

// the link alone, about O: composite, L, p and force
static void start_link(const kd_link *l, const kd_link_motion *m, kd_vec3 r, kd_composite *c, kd_coriolis *q)
{
    const kd_vec3 h = kd_vec_scale(l->mass, kd_mat_vec(&m->R, l->centre));
    const kd_sym3 J = kd_sym_rotate(&m->R, &l->inertia);
    const double  half = 0.5 * (J.xx + J.yy + J.zz);
    // second moments: 1/2 tr J - J
    const kd_vec3 Sx = {half - J.xx, -J.xy, -J.xz}, Sy = {-J.xy, half - J.yy, -J.yz}, Sz = {-J.xz, -J.yz, half - J.zz};
    const kd_vec3 F =
        kd_vec_axpy(kd_vec_add(kd_vec_cross(m->dw, h), kd_vec_cross(m->w, kd_vec_cross(m->w, h))), l->mass, m->dv);
    const kd_vec3 N =
        kd_vec_add(kd_vec_add(kd_sym_vec(&J, m->dw), kd_vec_cross(m->w, kd_sym_vec(&J, m->w))), kd_vec_cross(h, m->dv));
    q->f = (kd_wrench){kd_vec_add(N, kd_vec_cross(r, F)), F};
    q->p = kd_vec_axpy(kd_vec_cross(m->w, h), l->mass, m->v);
    // v h' + w x (second moments) + p r'
    q->L.x = kd_vec_axpy(kd_vec_axpy(kd_vec_cross(m->w, Sx), h.x, m->v), r.x, q->p);
    q->L.y = kd_vec_axpy(kd_vec_axpy(kd_vec_cross(m->w, Sy), h.y, m->v), r.y, q->p);
    q->L.z = kd_vec_axpy(kd_vec_axpy(kd_vec_cross(m->w, Sz), h.z, m->v), r.z, q->p);
    *c = (kd_composite){0};
    kd_composite_add(&(kd_composite){l->mass, h, J}, r, c);
}

static void add_link(const kd_composite *c, const kd_coriolis *q, kd_composite *cp, kd_coriolis *qp)
{
    kd_composite_add(c, kd_vec(0, 0, 0), cp);
    qp->L = (kd_mat3){kd_vec_add(qp->L.x, q->L.x), kd_vec_add(qp->L.y, q->L.y), kd_vec_add(qp->L.z, q->L.z)};
    qp->p = kd_vec_add(qp->p, q->p);
    qp->f = (kd_wrench){kd_vec_add(qp->f.N, q->f.N), kd_vec_add(qp->f.F, q->f.F)};
}

static inline motion6 inertia_times(const kd_composite *c, motion6 a)
{
    return (motion6){kd_vec_add(kd_sym_vec(&c->J, a.w), kd_vec_cross(c->h, a.u)),
                     kd_vec_axpy(kd_vec_cross(a.w, c->h), c->m, a.u)};
}

// moment and force of the Coriolis forces 2 w x r' dm
static inline motion6 coriolis_times(const kd_coriolis *q, kd_vec3 w)
{
    const double trace = q->L.x.x + q->L.y.y + q->L.z.z;
    return (motion6){kd_vec_scale(2, kd_vec_axpy(kd_vec_neg(kd_mat_vec(&q->L, w)), trace, w)),
                     kd_vec_scale(2, kd_vec_cross(w, q->p))};
}

// Bc'S; acts on the turn only
static inline kd_vec3 coriolis_transposed(const kd_coriolis *q, motion6 S)
{
    const double  trace = q->L.x.x + q->L.y.y + q->L.z.z;
    const kd_vec3 a = kd_vec_axpy(kd_vec_neg(kd_mat_tvec(&q->L, S.w)), trace, S.w);
    return kd_vec_scale(2, kd_vec_add(a, kd_vec_cross(q->p, S.u)));
}

static inline motion6 axis_at(const kd_axis *S, kd_vec3 r)
{
    return (motion6){S->w, kd_vec_add(S->u, kd_vec_cross(r, S->w))};
}

// composites of all subtrees; IS, BS of all dofs in v
static void sum_subtrees(const kd_tree *tree, kd_motion *m)
{
    struct kd_tree_work *work = m->work;
    for (int i = 1; i < tree->nlinks; i++)
        start_link(&tree->link[i], &m->link[i], kd_vec_sub(m->link[i].P, work->origin[i]), &work->composite[i],
                   &work->coriolis[i]);
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const kd_vec3 r = kd_vec_sub(m->link[i].P, work->origin[i]);
        for (int k = tree->link_v[i]; k < tree->link_v[i + 1]; k++) {
            const motion6 S = axis_at(&m->axis[tree->v_dof[k]], r);
            const motion6 F = inertia_times(&work->composite[i], S);
            const kd_vec3 B = coriolis_transposed(&work->coriolis[i], S);
            kd_rows_put(work->IS, tree->nv, k, F.w, F.u);
            double *row = work->BS + k;
            row[0] = B.x;
            row[tree->nv] = B.y;
            row[2 * tree->nv] = B.z;
        }
        const int parent = tree->link[i].parent;
        if (parent != 0)
            add_link(&work->composite[i], &work->coriolis[i], &work->composite[parent], &work->coriolis[parent]);
    }
}

// ---- columns
// ---------------------------------------------------------------------------------------------------------

// rows below: (IS)'a + (BS)'b
static void rows_below(const kd_tree *tree, const struct kd_tree_work *work, int first, int end, motion6 a, kd_vec3 b,
                       double *out)
{
    const double a6[6] = {a.w.x, a.w.y, a.w.z, a.u.x, a.u.y, a.u.z}, b3[3] = {b.x, b.y, b.z};
    kd_rows_dot9(tree->nv, work->IS, a6, work->BS, b3, first, end, out);
}

typedef struct output {
    const kd_tree *tree;
    kd_motion     *m;
    double        *by_position, *by_velocity;
} output;

// rows above: S'a
static int rows_above(const output *o, int i, int end, motion6 a, double *out)
{
    const double array[6] = {a.w.x, a.w.y, a.w.z, a.u.x, a.u.y, a.u.z};
    return kd_rows_dot_above(o->tree, o->m->work, i, end, o->m->work->S, array, out);
}

// Column l of link i: S and what Z, A, T are for it. Rows from split on are carried along by it.
static void write_column(const output *o, int i, int l, int split, motion6 S, motion6 Z, motion6 A, motion6 T)
{
    const kd_tree             *tree = o->tree;
    const struct kd_tree_work *work = o->m->work;
    const kd_composite        *c = &work->composite[i];
    const kd_coriolis         *q = &work->coriolis[i];
    const int                  end = tree->link_v[tree->link[i].end];
    double                    *p = o->by_position + tree->column[l], *v = o->by_velocity + tree->column[l];
    motion6   a = add6(add6(inertia_times(c, A), coriolis_times(q, Z.w)), cross_force6(S, (motion6){q->f.N, q->f.F}));
    const int rows = rows_above(o, i, split, a, p);
    a = add6(inertia_times(c, T), coriolis_times(q, S.w));
    rows_above(o, i, split, a, v);
    rows_below(tree, work, split, end, A, Z.w, p + rows);
    rows_below(tree, work, split, end, T, S.w, v + rows);
}

static bool is_turn_of_quaternion(kd_tree_joint kind, int k)
{
    return kind == KD_TREE_SPHERICAL || (kind == KD_TREE_FREE && k >= 3);
}

// dofs of the quaternion (the last ones of the joint) that are not prescribed
static int count_turns_in_v(const kd_tree *tree, const kd_link *l)
{
    int count = 0;
    for (int k = 0; k < kd_joint_dofs(l->kind); k++)
        count += is_turn_of_quaternion(l->kind, k) && tree->dof_v[l->dof + k] >= 0;
    return count;
}

void KD_KERNEL(kd_residual_derivatives)(const kd_tree *tree, kd_motion *m, const double *dx, const double *ddx,
                                        double *by_position, double *by_velocity)
{
    const struct kd_tree_work *work = m->work;
    const output               o = {tree, m, by_position, by_velocity};
    kd_rows_motions(tree, m);
    sum_subtrees(tree, m);
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link *l = &tree->link[i];
        const kd_vec3  O = work->origin[i], r = kd_vec_sub(m->link[i].P, O);
        const kd_vec3  above = kd_vec_sub(m->link[l->parent].P, O);
        motion6        v = velocity_at(&m->link[l->parent], above), a = acceleration_at(&m->link[l->parent], above);
        const motion6  own = velocity_at(&m->link[i], r);
        const int      turns_in_v = count_turns_in_v(tree, l);
        for (int k = 0; k < kd_joint_dofs(l->kind); k++) {
            const int     dof = l->dof + k, place = tree->dof_v[dof];
            const motion6 S = axis_at(&m->axis[dof], r), Z = cross6(v, S), A = add6(cross6(a, S), cross6(v, Z));
            const bool    quaternion = is_turn_of_quaternion(l->kind, k);
            const int     split = quaternion ? tree->link_v[i + 1] - turns_in_v : place + 1;
            if (place >= 0) write_column(&o, i, place, split, S, Z, A, add6(Z, quaternion ? cross6(own, S) : Z));
            if (quaternion) continue; // carried by the link itself: the same v and a for all three
            v = axpy6(v, dx[dof], (kd_axis){S.w, S.u});
            a = axpy6(axpy6(a, ddx[dof], (kd_axis){S.w, S.u}), dx[dof], (kd_axis){Z.w, Z.u});
        }
    }
}
