// newton_euler_derivatives.c: derivatives of the residual by increments of the positions and by the velocities
// (Carpentier & Mansard 2018, in the form of docs/methods/tree.md). All motions and forces are about one point O of
// each tree, in world axes; for the dof j with the velocity v and acceleration a of what carries it
//
//     Z_j = v x S_j,   A_j = a x S_j + v x Z_j,   T_j = Z_j + S_j'          (S_j' = dS_j/dt)
//     curved joints, with D = dS/dq q':  Z += D,   A += 2 v x D + dS/dq q'' + d2S/dq2 q'^2,   T = 2 Z
//     k above j:       by p: S_k'(Ic_j A_j + Bc_j Z_j + S_j x* fc_j)   by v: S_k'(Ic_j T_j + Bc_j S_j)
//     k = j or below:  by p: (Ic_k S_k)'A_j + (Bc_k'S_k)'Z_j           by v: (Ic_k S_k)'T_j + (Bc_k'S_k)'S_j
//
// Ic, fc: inertia and inertia force of the subtree; Bc S: moment and force of its Coriolis forces 2 S_w x r' dm,
// Bc = [2 (tr L - L), 0; -2 p x, 0] with L = integral r' r^T dm and the momentum p.
#include "tree/joint.h"
#include "tree/rows.h"

#include <string.h>

// ---- six-vectors ---------------------------------------------------------------------------------------------------

static inline kd_v6 add6(kd_v6 a, kd_v6 b)
{
    return (kd_v6){kd_v3_add(a.w, b.w), kd_v3_add(a.u, b.u)};
}
static inline kd_v6 axpy6(kd_v6 a, double s, kd_v6 b)
{
    return (kd_v6){kd_v3_axpy(a.w, s, b.w), kd_v3_axpy(a.u, s, b.u)};
}
// motion x motion
static inline kd_v6 cross6(kd_v6 a, kd_v6 b)
{
    return (kd_v6){kd_v3_cross(a.w, b.w), kd_v3_add(kd_v3_cross(a.w, b.u), kd_v3_cross(a.u, b.w))};
}
// motion x* force
static inline kd_v6 cross_force6(kd_v6 a, kd_v6 f)
{
    return (kd_v6){kd_v3_add(kd_v3_cross(a.w, f.w), kd_v3_cross(a.u, f.u)), kd_v3_cross(a.w, f.u)};
}

// velocity about O, at -r from P
static inline kd_v6 velocity_at(const kd_link_motion *m, kd_v3 r)
{
    const kd_v3 w = kd_v3_load(&m->w);
    return (kd_v6){w, kd_v3_add(kd_v3_load(&m->v), kd_v3_cross(r, w))};
}

// spatial acceleration about O: dv - w x v of the point P, carried to O
static inline kd_v6 acceleration_at(const kd_link_motion *m, kd_v3 r)
{
    const kd_v3 w = kd_v3_load(&m->w), dw = kd_v3_load(&m->dw);
    const kd_v3 a = kd_v3_sub(kd_v3_load(&m->dv), kd_v3_cross(w, kd_v3_load(&m->v)));
    return (kd_v6){dw, kd_v3_add(a, kd_v3_cross(r, dw))};
}

// ---- subtrees ------------------------------------------------------------------------------------------------------

// a link with all that hangs on it, about O
typedef struct subtree {
    kd_m3  J, L;
    kd_v3  h, p;
    kd_v6  f;
    double m;
} subtree;

_Static_assert(sizeof(subtree) <= KD_GIVEN_SIZE, "work->given has the room");

// a rigid body alone, first about P, then about O
static inline subtree subtree_rigid(double mass, kd_m3 J, kd_v3 h, const kd_link_motion *m, kd_v3 r)
{
    const kd_v3  w = kd_v3_load(&m->w), v = kd_v3_load(&m->v), dw = kd_v3_load(&m->dw), dv = kd_v3_load(&m->dv);
    const kd_v3  wh = kd_v3_cross(w, h), e = kd_v3_axpy(h, 0.5 * mass, r);
    const kd_v3  F = kd_v3_axpy(kd_v3_add(kd_v3_cross(dw, h), kd_v3_cross(w, wh)), mass, dv);
    const kd_v3  N = kd_v3_add(kd_v3_cross(w, kd_m3_vec(&J, &m->w)), kd_v3_cross(h, dv));
    const double half = 0.5 * kd_v3_trace(J.x, J.y, J.z);
    kd_vec_slot  rs, hs, es;
    // first moment, momentum and force about O
    subtree s; // filled field by field: an initialiser of lanes clears memory first
    s.J = J;
    s.h = kd_v3_axpy(h, mass, r);
    s.p = kd_v3_axpy(wh, mass, v);
    s.m = mass;
    kd_v3_store_four(&rs.v, r);
    kd_v3_store_four(&hs.v, h);
    kd_v3_store_four(&es.v, e);
    s.f = (kd_v6){kd_v3_add(kd_m3_axpy(N, &J, &m->dw), kd_v3_cross(r, F)), F};
    // J - (r x)(e x) - (e x)(r x),  e = h + m/2 r
    kd_m3_add_unit(&s.J, 2 * kd_v3_dot(r, e));
    kd_m3_add_product(&s.J, -1, r, &es.v);
    kd_m3_add_product(&s.J, -1, e, &rs.v);
    // v h' + w x (1/2 tr J - J) + p r'
    s.L = (kd_m3){kd_v3_cross(J.x, w), kd_v3_cross(J.y, w), kd_v3_cross(J.z, w)};
    const kd_m3 skew = kd_m3_skew(w); // -w x
    s.L = (kd_m3){kd_v3_less(s.L.x, half, skew.x), kd_v3_less(s.L.y, half, skew.y), kd_v3_less(s.L.z, half, skew.z)};
    kd_m3_add_product(&s.L, 1, v, &hs.v);
    kd_m3_add_product(&s.L, 1, s.p, &rs.v);
    return s;
}

static inline subtree subtree_link(const kd_link *l, const kd_link_motion *m, kd_v3 r)
{
    const kd_m3 R = kd_m3_load(&m->R);
    return subtree_rigid(l->mass, kd_m3_rotate(&R, &m->R, &l->inertia), kd_v3_scale(l->mass, kd_m3_vec(&R, &l->centre)),
                         m, r);
}

// a link that deforms: rigid as it is now, with the momentum and forces of its deformation
static inline subtree subtree_wide(const kd_link *l, kd_wide_state *state, const kd_link_motion *m, kd_v3 r)
{
    const kd_m3 R = kd_m3_load(&m->R);
    subtree     s = subtree_rigid(l->wide->mass, kd_m3_rotate(&R, &m->R, &state->J), kd_m3_vec(&R, &state->h), m, r);
    const kd_v3 p = kd_m3_vec(&R, &state->p);
    kd_vec_slot rs;
    kd_wrench   own;
    KD_KERNEL(kd_wide_force)(l->wide, state, m, state->ddq, &own, state->Q);
    const kd_v3 N = kd_v3_load_exactly(&own.N), F = kd_v3_load_exactly(&own.F);
    kd_v3_store_four(&rs.v, r);
    s.f = (kd_v6){kd_v3_add(N, kd_v3_cross(r, F)), F};
    s.p = kd_v3_add(s.p, p);
    // L += R E' R' + p r'
    const kd_mat3 sum = kd_wide_moment(state->dJ, state->beta), Et = kd_mat_transpose(&sum),
                  RE = kd_mat_mul(&m->R, &Et), Rt = kd_mat_transpose(&m->R);
    const kd_mat3 turned = kd_mat_mul(&RE, &Rt);
    const kd_m3   E = {kd_v3_load_exactly(&turned.x), kd_v3_load_exactly(&turned.y), kd_v3_load_exactly(&turned.z)};
    s.L = kd_m3_add(&s.L, &E);
    kd_m3_add_product(&s.L, 1, p, &rs.v);
    return s;
}

static inline void subtree_add(subtree *a, const subtree *b)
{
    a->J = kd_m3_add(&a->J, &b->J);
    a->L = kd_m3_add(&a->L, &b->L);
    a->h = kd_v3_add(a->h, b->h);
    a->p = kd_v3_add(a->p, b->p);
    a->f = add6(a->f, b->f);
    a->m += b->m;
}

// Ic a; a also in memory
static inline kd_v6 inertia_times(const subtree *s, kd_v6 a, const kd_six *b)
{
    return (kd_v6){kd_v3_add(kd_m3_vec(&s->J, &b->w.v), kd_v3_cross(s->h, a.u)),
                   kd_v3_axpy(kd_v3_cross(a.w, s->h), s->m, a.u)};
}

// Bc'S; acts on the turn only
static inline kd_v3 coriolis_transposed(const subtree *s, double trace, kd_v6 S)
{
    const kd_v3 a = kd_v3_sub(kd_v3_scale(trace, S.w), kd_m3_tvec(&s->L, S.w));
    const kd_v3 b = kd_v3_add(a, kd_v3_cross(s->p, S.u));
    return kd_v3_add(b, b);
}

// ---- columns -------------------------------------------------------------------------------------------------------

typedef struct output {
    const kd_tree *tree;
    kd_motion     *m;
    const double  *dx, *ddx;
    double        *by_position, *by_velocity;
} output;

// what the dot products of one column need
typedef struct column {
    kd_six S, Z, A, T;
    kd_six above_p, above_v; // Ic A + Bc Z + S x* fc,  Ic T + Bc S
} column;

// Bc of the turn w, also in memory
static inline kd_v6 coriolis_times(const subtree *s, double trace, kd_v3 w, const kd_vec3 *b)
{
    const kd_v3 N = kd_v3_sub(kd_v3_scale(trace, w), kd_m3_vec(&s->L, b)), F = kd_v3_cross(w, s->p);
    return (kd_v6){kd_v3_add(N, N), kd_v3_add(F, F)};
}

static inline void fill_column(const subtree *s, double trace, kd_v6 S, kd_v6 Z, kd_v6 A, kd_v6 T, column *c)
{
    kd_six_put(&c->S, S);
    kd_six_put(&c->Z, Z);
    kd_six_put(&c->A, A);
    kd_six_put(&c->T, T);
    const kd_v6 a = add6(inertia_times(s, A, &c->A), coriolis_times(s, trace, Z.w, &c->Z.w.v));
    kd_six_put(&c->above_p, add6(a, cross_force6(S, s->f)));
    kd_six_put(&c->above_v, add6(inertia_times(s, T, &c->T), coriolis_times(s, trace, S.w, &c->S.w.v)));
}

// Column l of link i. Rows from split on are carried along by it.
static void write_column(const output *o, const column *c, int i, int l, int split)
{
    const kd_tree             *tree = o->tree;
    const struct kd_tree_work *work = o->m->work;
    const int                  end = tree->link_v[tree->link[i].end];
    double                    *p = o->by_position + tree->column[l], *v = o->by_velocity + tree->column[l];
    // k above j: S_k' (Ic A + Bc Z + S x* fc), S_k' (Ic T + Bc S)
    const int rows = kd_rows_dot_above(tree, work, i, split, work->S, &c->above_p, p);
    kd_rows_dot_above(tree, work, i, split, work->S, &c->above_v, v);
    // k = j or below: (Ic S_k)' A + (Bc' S_k)' Z, (Ic S_k)' T + (Bc' S_k)' S
    kd_rows_dot9(work->stride, work->IS, &c->A, work->BS, &c->Z.w.v, split, end, p + rows);
    kd_rows_dot9(work->stride, work->IS, &c->T, work->BS, &c->S.w.v, split, end, v + rows);
}

// ---- words that fold -----------------------------------------------------------------------------------------------
// A coordinate moves several letters: its column is the sum of theirs. Among the dofs of the joint itself, letters that
// stand before a letter do not see it move, it and those behind it are carried along.

static inline kd_v6 six_get(const kd_six *a)
{
    return (kd_v6){kd_v3_load(&a->w.v), kd_v3_load(&a->u.v)};
}
static inline double dot6(kd_v6 a, kd_v6 b)
{
    return kd_v3_dot2(a.w, b.w, a.u, b.u);
}

// column of a letter, and Ic S, Bc'S of its row
typedef struct letter_column {
    column c;
    kd_v6  IS;
    kd_v3  BS;
} letter_column;

static inline void fill_letters(const output *o, const subtree *s, double trace, int i, kd_v3 r, kd_v3 r_l,
                                letter_column *letter)
{
    const kd_link *l = &o->tree->link[i];
    kd_v6          v = velocity_at(&o->m->link[l->parent], r_l), a = acceleration_at(&o->m->link[l->parent], r_l);
    for (int k = 0; k < l->form.nletters; k++) {
        const int   dof = l->dof + l->form.word[k].coordinate;
        const kd_v6 S = kd_rows_motion(&o->m->axis[l->letter + k], r), Z = cross6(v, S);
        fill_column(s, trace, S, Z, add6(cross6(a, S), cross6(v, Z)), add6(Z, Z), &letter[k].c);
        letter[k].IS = inertia_times(s, S, &letter[k].c.S);
        letter[k].BS = coriolis_transposed(s, trace, S);
        v = axpy6(v, o->dx[dof], S);
        a = axpy6(axpy6(a, o->ddx[dof], S), o->dx[dof], Z);
    }
}

// letter a as a row, letter b as a column
static inline void add_letters(const letter_column *a, const letter_column *b, bool before, double *p, double *v)
{
    const kd_v6 S = six_get(&a->c.S);
    *p += before ? dot6(S, six_get(&b->c.above_p))
                 : dot6(a->IS, six_get(&b->c.A)) + kd_v3_dot(a->BS, kd_v3_load(&b->c.Z.w.v));
    *v += before ? dot6(S, six_get(&b->c.above_v))
                 : dot6(a->IS, six_get(&b->c.T)) + kd_v3_dot(a->BS, kd_v3_load(&b->c.S.w.v));
}

static void write_folded(const output *o, const subtree *s, double trace, int i, kd_v3 r, kd_v3 r_l)
{
    const kd_tree   *tree = o->tree;
    const kd_link   *l = &tree->link[i];
    const kd_letter *word = l->form.word;
    const int        n = l->form.nletters, own = tree->link_v[i], end = tree->link_v[i + 1];
    letter_column    letter[KD_MAX_LETTERS];
    fill_letters(o, s, trace, i, r, r_l, letter);
    for (int place = own; place < end; place++) {
        const int coordinate = tree->v_dof[place] - l->dof;
        kd_v6     S = {kd_v3_zero(), kd_v3_zero()}, Z = S, A = S, T = S;
        column    c;
        for (int k = 0; k < n; k++) {
            if (word[k].coordinate != coordinate) continue;
            S = add6(S, six_get(&letter[k].c.S));
            Z = add6(Z, six_get(&letter[k].c.Z));
            A = add6(A, six_get(&letter[k].c.A));
            T = add6(T, six_get(&letter[k].c.T));
        }
        fill_column(s, trace, S, Z, A, T, &c);
        write_column(o, &c, i, place, end);
        // the rows of the joint itself once more, letter by letter
        for (int row = own; row < end; row++) {
            const int at = tree->column[place] + o->m->work->above[i] + row - own;
            o->by_position[at] = o->by_velocity[at] = 0.0;
            for (int k = 0; k < n; k++)
                for (int b = 0; b < n; b++)
                    if (l->dof + word[k].coordinate == tree->v_dof[row] && word[b].coordinate == coordinate)
                        add_letters(&letter[k], &letter[b], k < b, &o->by_position[at], &o->by_velocity[at]);
        }
    }
}

// ---- modes ---------------------------------------------------------------------------------------------------------
// The letters of a marker move by combinations of the amplitudes: columns and rows of a mode are sums over the letters, and over
// the markers of its link; the link itself adds its own.

static void start_mode_columns(const kd_tree *tree, kd_motion *m)
{
    for (int i = 1; tree->nwide > 0 && i < tree->nlinks; i++) {
        if (!tree->link[i].wide) continue;
        kd_wide_state *s = &m->work->wide[tree->link[i].state];
        const size_t   n = (size_t)tree->link[i].wide->m;
        memset(s->by_p, 0, 6 * n * sizeof *s->by_p);
        memset(s->by_v, 0, 6 * n * sizeof *s->by_v);
        memset(s->U, 0, 6 * n * sizeof *s->U);
        memset(s->B, 0, 3 * n * sizeof *s->B);
        memset(s->block_p, 0, n * n * sizeof *s->block_p);
        memset(s->block_v, 0, n * n * sizeof *s->block_v);
    }
}

// Markers that hang on their modes between link i, the last one behind them, and the ground: rows S as they see them
static void enter_markers(const kd_tree *tree, kd_motion *m, int i)
{
    for (int a = i; a != 0 && tree->link[a].end == i + 1; a = tree->link[a].parent)
        if (tree->link[a].marker) kd_rows_marker(tree, m, a);
}

static void marker_letters(const output *o, const subtree *s, double trace, int i, kd_v3 r_l, letter_column *letter)
{
    const kd_link *l = &o->tree->link[i];
    const kd_axis *axis = o->m->axis + l->letter;
    const double  *ddq = o->m->work->wide[o->tree->link[l->parent].state].ddq;
    // rates of shift and turn by all modes, with the second order of those that bend
    const kd_axis *first = axis + KD_MARKER_RATES;
    double         e[8];
    KD_KERNEL(kd_marker_rates)(l->marker, o->m->work->row[i], ddq, e);
    const kd_axis second = {.w = kd_vec_of(e + 3), .u = kd_vec_of(e)};
    const double  dx[6] = {first->u.x, first->u.y, first->u.z, first->w.x, first->w.y, first->w.z};
    const kd_vec3 bend = l->marker->nbends > 0 ? axis[KD_MARKER_BEND].u : kd_vec(0, 0, 0);
    const kd_vec3 shift = kd_vec_add(second.u, bend);
    const double  ddx[6] = {shift.x, shift.y, shift.z, second.w.x, second.w.y, second.w.z};
    kd_v6         v = velocity_at(&o->m->link[l->parent], r_l), a = acceleration_at(&o->m->link[l->parent], r_l);
    // letters one after the other, each carried by those before it
    for (int k = 0; k < KD_MARKER_LETTERS; k++) {
        const kd_v6 S = kd_rows_motion(&axis[k], r_l), Z = cross6(v, S);
        fill_column(s, trace, S, Z, add6(cross6(a, S), cross6(v, Z)), add6(Z, Z), &letter[k].c);
        letter[k].IS = inertia_times(s, S, &letter[k].c.S);
        letter[k].BS = coriolis_transposed(s, trace, S);
        const double part = kd_marker_part[k], rate = part * dx[kd_marker_along[k]];
        v = axpy6(v, rate, S);
        a = axpy6(axpy6(a, part * ddx[kd_marker_along[k]], S), rate, Z);
    }
}

static inline void add_to(double *out, kd_v6 a)
{
    kd_six b;
    kd_six_put(&b, a);
    out[0] += b.w.v.x, out[1] += b.w.v.y, out[2] += b.w.v.z, out[3] += b.u.v.x, out[4] += b.u.v.y, out[5] += b.u.v.z;
}

// mode k: sums over the letters, rows behind the marker
static void marker_mode(const output *o, int i, const letter_column *letter, int k)
{
    const kd_tree       *tree = o->tree;
    struct kd_tree_work *work = o->m->work;
    const kd_link       *l = &tree->link[i];
    const double        *row = work->row[i];
    const int            place = tree->dof_v[tree->link[l->parent].dof + k], wide = l->parent;
    kd_wide_state       *state = &work->wide[tree->link[wide].state];
    kd_v6                S = {kd_v3_zero(), kd_v3_zero()}, Z = S, A = S, T = S, p = S, v = S, IS = S;
    kd_v3                BS = kd_v3_zero();
    for (int a = 0; a < KD_MARKER_LETTERS; a++) {
        const letter_column *x = &letter[a];
        const double         by = kd_marker_part[a] * kd_marker_slope(row, kd_marker_along[a], k);
        S = axpy6(S, by, six_get(&x->c.S));
        Z = axpy6(Z, by, six_get(&x->c.Z));
        A = axpy6(A, by, six_get(&x->c.A));
        T = axpy6(T, by, six_get(&x->c.T));
        p = axpy6(p, by, six_get(&x->c.above_p));
        v = axpy6(v, by, six_get(&x->c.above_v));
        IS = axpy6(IS, by, x->IS);
        BS = kd_v3_axpy(BS, by, x->BS);
        if (!kd_marker_bends(l->marker, a)) continue;
        // its rate and acceleration change with q_k, its acceleration with q_k'
        const double rate = kd_marker_bend_rate(l->marker, a, k, state->dq),
                     second = kd_marker_bend_rate(l->marker, a, k, state->ddq);
        A = axpy6(axpy6(A, rate, six_get(&x->c.T)), second, six_get(&x->c.S));
        T = axpy6(T, 2 * rate, six_get(&x->c.S));
        p = axpy6(axpy6(p, rate, six_get(&x->c.above_v)), second, x->IS);
        v = axpy6(v, 2 * rate, x->IS);
    }
    add_to(state->by_p + 6 * k, p);
    add_to(state->by_v + 6 * k, v);
    add_to(state->U + 6 * k, IS);
    kd_vec_slot B;
    kd_v3_store_four(&B.v, BS);
    state->B[3 * k] += B.v.x, state->B[3 * k + 1] += B.v.y, state->B[3 * k + 2] += B.v.z;
    // rows behind the marker
    const int first = tree->link_v[i], end = tree->link_v[l->end];
    const int at = tree->column[place] + work->above[wide] + first - tree->link_v[wide];
    kd_six    S6, Z6, A6, T6;
    kd_six_put(&S6, S);
    kd_six_put(&Z6, Z);
    kd_six_put(&A6, A);
    kd_six_put(&T6, T);
    kd_rows_dot9(work->stride, work->IS, &A6, work->BS, &Z6.w.v, first, end, o->by_position + at);
    kd_rows_dot9(work->stride, work->IS, &T6, work->BS, &S6.w.v, first, end, o->by_velocity + at);
}

// block_kl += sum_a phi_ak y_a
static void add_mode_rows(int m, const double *row, int l, const double y[6], double *block)
{
    for (int k = 0; k < m; k++)
        for (int a = 0; a < 6; a++) block[k + m * l] += kd_marker_slope(row, a, k) * y[a];
}

// block += Phi' X Phi
static void add_letter_block(int m, const double *row, double X[6][6], double *block)
{
    for (int l = 0; l < m; l++) {
        double y[6] = {0};
        for (int b = 0; b < 6; b++)
            for (int a = 0; a < 6; a++) y[a] += X[b][a] * kd_marker_slope(row, b, l);
        add_mode_rows(m, row, l, y, block);
    }
}

// Shifts that bend: with q_l their rates, accelerations and their own rows change, with q_l' their accelerations. v, I: rows of shifts
// and turns by rates and accelerations of the shifts, force: along the shifts
static void add_bend_block(const kd_marker *c, const double *row, double v[6][6], double I[3][6], const double force[3],
                           kd_wide_state *s)
{
    const int m = c->m;
    for (int l = 0; l < m; l++) {
        double p[6] = {0}, q[6] = {0};
        for (int b = 0; b < 3; b++) {
            const double rate = kd_marker_bend_rate(c, b, l, s->dq), second = kd_marker_bend_rate(c, b, l, s->ddq);
            for (int a = 0; a < 6; a++) p[a] += rate * v[b][a] + second * I[b][a], q[a] += 2 * rate * I[b][a];
            for (int k = 0; k < m; k++) s->block_p[k + m * l] += c->bend[b + 3 * (k + m * l)] * force[b];
        }
        add_mode_rows(m, row, l, p, s->block_p);
        add_mode_rows(m, row, l, q, s->block_v);
    }
}

static void write_marker(const output *o, const subtree *s, double trace, int i, kd_v3 r_l)
{
    const kd_link *l = &o->tree->link[i];
    kd_wide_state *state = &o->m->work->wide[o->tree->link[l->parent].state];
    letter_column  letter[KD_MARKER_LETTERS];
    const double  *row = o->m->work->row[i];
    double         p[6][6] = {{0}}, v[6][6] = {{0}}, I[3][6] = {{0}}, force[3]; // column by column
    marker_letters(o, s, trace, i, r_l, letter);
    for (int k = 0; k < l->marker->m; k++) marker_mode(o, i, letter, k);
    // 6 x 6 by shifts and turns first: modes are combinations of them
    for (int b = 0; b < KD_MARKER_LETTERS; b++)
        for (int a = 0; a < KD_MARKER_LETTERS; a++) {
            const double part = kd_marker_part[a] * kd_marker_part[b];
            double       by_p = 0, by_v = 0;
            add_letters(&letter[a], &letter[b], a < b, &by_p, &by_v);
            p[kd_marker_along[b]][kd_marker_along[a]] += part * by_p;
            v[kd_marker_along[b]][kd_marker_along[a]] += part * by_v;
            if (b < 3) I[b][kd_marker_along[a]] += part * dot6(six_get(&letter[a].c.S), letter[b].IS);
        }
    add_letter_block(l->marker->m, row, p, state->block_p);
    add_letter_block(l->marker->m, row, v, state->block_v);
    // second-order shifts: forces do work along them, too
    if (l->marker->nbends == 0) return;
    for (int b = 0; b < 3; b++) force[b] = dot6(six_get(&letter[b].c.S), s->f);
    add_bend_block(l->marker, row, v, I, force, state);
}

// The columns of a link that deforms: rows above and own ones; those behind its markers are there. Then its rows.
static void write_wide(const output *o, int i, kd_v3 r)
{
    const kd_tree       *tree = o->tree;
    struct kd_tree_work *work = o->m->work;
    const kd_link       *l = &tree->link[i];
    kd_wide_state       *s = &work->wide[l->state];
    const int            m = l->wide->m, own = tree->link_v[i];
    kd_vec_slot          rs;
    kd_v3_store_four(&rs.v, r);
    KD_KERNEL(kd_wide_derivatives)(l->wide, s, &o->m->link[i], rs.v);
    // a column for each mode: rows above by products with S, own ones from the block
    for (int k = 0; k < m; k++) {
        const double *p = s->by_p + 6 * k, *v = s->by_v + 6 * k, *U = s->U + 6 * k, *B = s->B + 3 * k;
        const kd_six  by_p = {{.v = kd_vec_of(p)}, {.v = kd_vec_of(p + 3)}};
        const kd_six  by_v = {{.v = kd_vec_of(v)}, {.v = kd_vec_of(v + 3)}};
        double       *out_p = o->by_position + tree->column[own + k], *out_v = o->by_velocity + tree->column[own + k];
        const int     rows = kd_rows_dot_above(tree, work, i, own, work->S, &by_p, out_p);
        kd_rows_dot_above(tree, work, i, own, work->S, &by_v, out_v);
        memcpy(out_p + rows, s->block_p + m * k, (size_t)m * sizeof *out_p);
        memcpy(out_v + rows, s->block_v + m * k, (size_t)m * sizeof *out_v);
        // what rows of links above will see of it
        for (int a = 0; a < 6; a++) work->IS[own + k + a * work->stride] = U[a];
        for (int a = 0; a < 3; a++) work->BS[own + k + a * work->stride] = B[a];
    }
}

// ---- links ---------------------------------------------------------------------------------------------------------

// dofs of the quaternion (the last ones of the joint) that are not prescribed
static int count_turns_in_v(const kd_tree *tree, const kd_link *l)
{
    int count = 0;
    for (int k = l->form.nscalars; k < l->form.ndof; k++) count += tree->dof_v[l->dof + k] >= 0;
    return count;
}

// the columns of link i, any joint
static void write_link(const output *o, const subtree *s, double trace, int i, kd_v3 r, kd_v3 r_l)
{
    const kd_tree *tree = o->tree;
    const kd_link *l = &tree->link[i];
    const int      turns = count_turns_in_v(tree, l);
    const kd_v6    own = velocity_at(&o->m->link[i], r);
    kd_v6          v = velocity_at(&o->m->link[l->parent], r_l), a = acceleration_at(&o->m->link[l->parent], r_l);
    for (int k = 0; k < l->form.ndof; k++) {
        // S, Z = v x S, A = a x S + v x Z of what carries the dof
        const int   dof = l->dof + k, place = tree->dof_v[dof];
        const kd_v6 S = kd_rows_motion(&o->m->axis[dof], r), Z = cross6(v, S), A = add6(cross6(a, S), cross6(v, Z));
        const bool  quaternion = k >= l->form.nscalars;
        const int   split = quaternion ? tree->link_v[i + 1] - turns : place + 1;
        if (place >= 0) {
            column c;
            fill_column(s, trace, S, Z, A, add6(Z, quaternion ? cross6(own, S) : Z), &c);
            write_column(o, &c, i, place, split);
        }
        if (quaternion) continue; // carried by the link itself: the same v and a for all three
        // the next dof is carried by this one: v += S dx, a += S ddx + Z dx
        v = axpy6(v, o->dx[dof], S);
        a = axpy6(axpy6(a, o->ddx[dof], S), o->dx[dof], Z);
    }
}

// the column of a curved joint: S moves by itself, too, and so does its own row S'fc
static void write_curved(const output *o, const subtree *s, double trace, int i, kd_v3 r, kd_v3 r_l)
{
    const kd_link *l = &o->tree->link[i];
    const int      place = o->tree->dof_v[l->dof];
    const kd_axis *axis = o->m->axis;
    const kd_v6    v = velocity_at(&o->m->link[l->parent], r_l), a = acceleration_at(&o->m->link[l->parent], r_l);
    const kd_v6    S = kd_rows_motion(&axis[l->dof], r), S1 = kd_rows_motion(&axis[l->letter], r),
                S2 = kd_rows_motion(&axis[l->letter + 1], r);
    const double dx = o->dx[l->dof], ddx = o->ddx[l->dof];
    column       c;
    if (place < 0) return;
    // dS/dt and d2S/dt2, the carrier's motion included
    const kd_v6 carried = cross6(v, S), bent = cross6(v, S1), Z = axpy6(carried, dx, S1);
    kd_v6       A = axpy6(add6(cross6(a, S), cross6(v, carried)), 2.0 * dx, bent);
    A = axpy6(axpy6(A, ddx, S1), dx * dx, S2);
    fill_column(s, trace, S, Z, A, add6(Z, Z), &c);
    write_column(o, &c, i, place, place + 1);
    o->by_position[o->tree->column[place] + o->m->work->above[i]] += dot6(S1, s->f);
}

// the column of a single dof
static inline void write_single(const output *o, const subtree *s, double trace, int i, kd_v3 r, kd_v3 r_l)
{
    const kd_link *l = &o->tree->link[i];
    const int      place = o->tree->dof_v[l->dof];
    const kd_v6    v = velocity_at(&o->m->link[l->parent], r_l), a = acceleration_at(&o->m->link[l->parent], r_l);
    const kd_v6    S = kd_rows_motion(&o->m->axis[l->dof], r), Z = cross6(v, S);
    column         c;
    if (place < 0) return;
    fill_column(s, trace, S, Z, add6(cross6(a, S), cross6(v, Z)), add6(Z, Z), &c);
    write_column(o, &c, i, place, place + 1);
}

// From the tips to the ground: what the rows below need is there when a column is written. Sums as in
// articulated_body.c.
void KD_KERNEL(kd_residual_derivatives)(const kd_tree *tree, kd_motion *m, const double *dx, const double *ddx,
                                        double *by_position, double *by_velocity)
{
    struct kd_tree_work *work = m->work;
    const output         o = {tree, m, dx, ddx, by_position, by_velocity};
    subtree             *sum = work->given;
    subtree              given = {0};
    kd_rows_motions(tree, m, work->stride);
    start_mode_columns(tree, m);
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const kd_link *l = &tree->link[i];
        const kd_v3    r = kd_rows_place(m, i), O = kd_v3_load(&m->link[work->root[i]].P);
        const kd_v3    r_l = kd_v3_sub(kd_v3_load(&m->link[l->parent].P), O);
        if (tree->nwide > 0) enter_markers(tree, m, i);
        // Ic, fc, L, p of the subtree about O
        subtree s = l->wide ? subtree_wide(l, &work->wide[l->state], &m->link[i], r) : subtree_link(l, &m->link[i], r);
        if (l->end > i + 1) {
            subtree_add(&s, &given);
            if (l[1].end < l->end) subtree_add(&s, &sum[i]);
        }
        // Ic S_k, Bc' S_k of the link's dofs, for columns further up
        const double trace = kd_v3_trace(s.L.x, s.L.y, s.L.z);
        for (int k = tree->link_v[i]; !l->wide && k < tree->link_v[i + 1]; k++) {
            const kd_v6 S = kd_rows_motion(&m->axis[tree->v_dof[k]], r);
            kd_six      S6;
            kd_six_put(&S6, S);
            kd_rows_put(work->IS, work->stride, k, inertia_times(&s, S, &S6));
            kd_v3_scatter(work->BS + k, work->stride, coriolis_transposed(&s, trace, S));
        }
        // its own columns
        if (l->wide) {
            write_wide(&o, i, r);
        } else if (l->form.curved) {
            const subtree copy = s; // as below
            write_curved(&o, &copy, trace, i, r, r_l);
        } else if (l->form.ndof == 1) {
            write_single(&o, &s, trace, i, r, r_l);
        } else {
            const subtree copy = s; // s itself stays at hand
            if (l->marker)
                write_marker(&o, &copy, trace, i, r_l);
            else if (l->form.folds)
                write_folded(&o, &copy, trace, i, r, r_l);
            else
                write_link(&o, &copy, trace, i, r, r_l);
        }
        // to the parent
        if (l->parent == i - 1)
            given = s;
        else if (l->end == tree->link[l->parent].end)
            sum[l->parent] = s;
        else
            subtree_add(&sum[l->parent], &s);
    }
}
