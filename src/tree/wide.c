// wide.c: moments of a link that deforms at its position and velocity, its inertia forces, and the motions of markers on
// it. Equations: wide.h
#include "tree/wide.h"

#include "tree/fours.h"

// ---- vectors in arrays ---------------------------------------------------------------------------------------------

// column by column, as kd_mat3
static inline kd_mat3 mat_at(const double *a)
{
    return (kd_mat3){kd_vec_of(a), kd_vec_of(a + 3), kd_vec_of(a + 6)};
}
// int c x d of a matrix int c d'
static inline void axial(const double *a, double *out)
{
    out[0] = a[7] - a[5];
    out[1] = a[2] - a[6];
    out[2] = a[3] - a[1];
}
// tr A - A
static inline kd_mat3 trace_less(const kd_mat3 *A)
{
    const double t = A->x.x + A->y.y + A->z.z;
    return (kd_mat3){{t - A->x.x, -A->x.y, -A->x.z}, {-A->y.x, t - A->y.y, -A->y.z}, {-A->z.x, -A->z.y, t - A->z.z}};
}

// D_l
static kd_mat3 moment_of(const kd_wide_state *s, int l)
{
    const kd_vec3 d = kd_wide_row(s->row, KD_WIDE_ROWS, 0, l), o = kd_wide_row(s->row, KD_WIDE_ROWS, 3, l);
    return kd_wide_moment((kd_sym3){d.x, d.y, d.z, o.x, o.y, o.z}, kd_wide_b(s, l));
}

// ---- position ------------------------------------------------------------------------------------------------------

// J = J(0) + sum q_l (J_l(0) + J_l(q))/2,  h the same with C
KD_INLINE void place_wide(const int mp, const kd_wide *c, kd_wide_state *s)
{
    double now[12];
    add_slopes(mp, c->nfours, c->four_at, c->row, c->row_q, s->q, s->row);
    sum_means(9, KD_WIDE_ROWS, mp, c->row, s->row, s->q, now);
    s->J = (kd_sym3){c->J.xx + now[0], c->J.yy + now[1], c->J.zz + now[2],
                     c->J.xy + now[3], c->J.xz + now[4], c->J.yz + now[5]};
    s->h = kd_vec_add(c->first, kd_vec_of(now + 6));
}

// Shifts and turns (6) of a marker, Phi q + q' bend q/2, behind its rows, which are those of now if it bends; angles of its turns
KD_INLINE void deform_marker(const int mp, const kd_marker *marker, const double *q, double *row, double *angle)
{
    double *e = row + KD_MARKER_ROWS * mp;
    if (marker->nbends == 0) {
        sum_rows(KD_MARKER_ROWS, KD_MARKER_ROWS, mp, marker->row, q, e);
    } else {
        add_slopes(mp, marker->nbends, marker->bend_at, marker->row, marker->bend_q, q, row);
        sum_means(KD_MARKER_ROWS, KD_MARKER_ROWS, mp, marker->row, row, q, e);
    }
    angle[0] = 0.5 * e[3], angle[1] = 0.5 * e[4], angle[2] = e[5];
}

KD_INLINE void deform_link(const int mp, const kd_tree *tree, int i, kd_motion *m)
{
    const kd_link *l = &tree->link[i];
    kd_wide_state *s = &m->work->wide[l->state];
    place_wide(mp, l->wide, s);
    for (int j = i + 1; j < l->end; j = tree->link[j].end)
        if (!tree->link[j].marker->still)
            deform_marker(mp, tree->link[j].marker, s->q, m->work->row[j], m->work->angles + m->work->first_angle[j]);
}

// All links that deform, before the frames, which need sines and cosines: those of all markers are found at once
void KD_KERNEL(kd_wide_deform)(const kd_tree *tree, const double *x, kd_motion *m)
{
    for (int k = 0; k < tree->nwide; k++) {
        const int      i = tree->wide[k];
        const kd_wide *c = tree->link[i].wide;
        copy_modes(c->m, x + tree->link[i].position, m->work->wide[k].q);
        if (c->mp == 8)
            deform_link(8, tree, i, m);
        else
            deform_link(c->mp, tree, i, m);
    }
}

// ---- velocity ------------------------------------------------------------------------------------------------------

KD_INLINE void move_wide(const int mp, const kd_wide *c, kd_wide_state *s)
{
    double sum[KD_WIDE_ROWS];
    sum_rows(KD_WIDE_ROWS, KD_WIDE_ROWS, mp, s->row, s->dq, sum);
    s->dJ = (kd_sym3){sum[0], sum[1], sum[2], sum[3], sum[4], sum[5]};
    s->p = kd_vec_of(sum + 6);
    s->beta = kd_vec_of(sum + 9);
    add_slopes(mp, c->nturn_fours, c->turn_at, NULL, c->turn_q, s->dq, s->gyro);
    if (c->nturns < 9) return;
    sum_rows(6, 9, mp, s->gyro + 12, s->dq, sum);
    s->b_qq = kd_vec_of(sum);
    s->C_qq = kd_vec_of(sum + 3);
}

// rates of shifts and turns by those of the amplitudes; row: as they are now
void KD_KERNEL(kd_marker_rates)(const kd_marker *marker, const double *row, const double *rate, double e[8])
{
    if (marker->mp == 8)
        sum_rows(KD_MARKER_ROWS, KD_MARKER_ROWS, 8, row, rate, e);
    else
        sum_rows(KD_MARKER_ROWS, KD_MARKER_ROWS, marker->mp, row, rate, e);
}

// q' bend q' of the shifts
KD_INLINE void bend_marker(const int mp, const kd_marker *marker, const double *dq, kd_vec3 *out)
{
    const double *slope = marker->bend_q;
    double        all[4] = {0};
    for (int i = 0; i < marker->nbends; i++, slope += 4 * mp) {
        four sum = ALL(dq[0]) * AT(slope), other = ALL(dq[1]) * AT(slope + 4);
#pragma GCC unroll 8
        for (int k = 2; k < mp; k += 2) {
            sum += ALL(dq[k]) * AT(slope + 4 * k);
            other += ALL(dq[k + 1]) * AT(slope + 4 * k + 4);
        }
        sum = (sum + other) * AT(dq + 4 * marker->bend_block[i]);
        all[marker->bend_along[i]] += SUM(sum);
    }
    *out = kd_vec_of(all);
}

KD_INLINE void rate_link(const int mp, const kd_tree *tree, int i, kd_motion *m)
{
    const kd_link *l = &tree->link[i];
    kd_wide_state *s = &m->work->wide[l->state];
    move_wide(mp, l->wide, s);
    for (int j = i + 1; j < l->end; j = tree->link[j].end) {
        const kd_link *marker = &tree->link[j];
        kd_axis       *letter = m->axis + marker->letter;
        if (marker->marker->still) continue;
        double e[8];
        sum_rows(KD_MARKER_ROWS, KD_MARKER_ROWS, mp, m->work->row[j], s->dq, e);
        letter[KD_MARKER_RATES] = (kd_axis){.w = kd_vec_of(e + 3), .u = kd_vec_of(e)};
        if (marker->marker->nbends > 0) bend_marker(mp, marker->marker, s->dq, &letter[KD_MARKER_BEND].u);
    }
}

// All links that deform: moments, rates of the markers
void KD_KERNEL(kd_wide_rate)(const kd_tree *tree, const double *dx, kd_motion *m)
{
    for (int k = 0; k < tree->nwide; k++) {
        const int      i = tree->wide[k];
        const kd_wide *c = tree->link[i].wide;
        copy_modes(c->m, dx + tree->link[i].dof, m->work->wide[k].dq);
        if (c->mp == 8)
            rate_link(8, tree, i, m);
        else
            rate_link(c->mp, tree, i, m);
    }
}

// ---- inertia forces ------------------------------------------------------------------------------------------------

// F, N about P and Q (mp) of velocities alone, all in the axes of the link:
// 2 (tr E - E') w = J' w + w x beta, Q_l = -w' J_l w/2 + 2 w sum T_kl q_k'
KD_INLINE void velocity_forces(const int mp, const kd_wide *c, const kd_wide_state *s, kd_vec3 w, kd_wrench *f,
                               double *Q)
{
    const kd_vec3 two = kd_vec_add(w, w);
    const double  by[] = {-0.5 * w.x * w.x, -0.5 * w.y * w.y, -0.5 * w.z * w.z, -w.x * w.y, -w.x * w.z, -w.y * w.z};
    const kd_vec3 F = kd_vec_cross(w, kd_vec_axpy(kd_vec_cross(w, s->h), 2, s->p));
    const kd_vec3 N = kd_vec_cross(w, kd_vec_add(kd_sym_vec(&s->J, w), s->beta));
    f->F = kd_vec_add(F, s->C_qq);
    f->N = kd_vec_add(N, kd_vec_add(kd_sym_vec(&s->dJ, w), s->b_qq));
    for (int l = 0; l < mp; l += 4) {
        const double *row = s->row + KD_WIDE_ROWS * l, *gyro = s->gyro + c->nturns * l;
        four          sum = ALL(two.x) * AT(gyro) + ALL(two.y) * AT(gyro + 4) + ALL(two.z) * AT(gyro + 8);
        for (int r = 0; r < 6; r++) sum += ALL(by[r]) * AT(row + 4 * r);
        PUT(Q + l) = sum;
    }
}

void KD_KERNEL(kd_wide_velocity_force)(const kd_wide *c, const kd_wide_state *s, const kd_link_motion *motion,
                                       kd_wrench *force, double *Q)
{
    const kd_vec3 w = kd_mat_tvec(&motion->R, motion->w);
    if (c->mp == 8)
        velocity_forces(8, c, s, w, force, Q);
    else
        velocity_forces(c->mp, c, s, w, force, Q);
}

// the same of all accelerations, too, F and N in world axes; ddq (mp)
void KD_KERNEL(kd_wide_force)(const kd_wide *c, const kd_wide_state *s, const kd_link_motion *motion, const double *ddq,
                              kd_wrench *force, double *Q)
{
    const int     mp = c->mp;
    const kd_vec3 w = kd_mat_tvec(&motion->R, motion->w);
    const kd_vec3 a = kd_mat_tvec(&motion->R, motion->dv), dw = kd_mat_tvec(&motion->R, motion->dw);
    double        sum[8];
    velocity_forces(mp, c, s, w, force, Q);
    // of the frame, and of the modes
    kd_vec3 F = kd_vec_add(kd_vec_axpy(force->F, c->mass, a), kd_vec_cross(dw, s->h));
    kd_vec3 N = kd_vec_add(force->N, kd_vec_add(kd_vec_cross(s->h, a), kd_sym_vec(&s->J, dw)));
    sum_rows(6, KD_WIDE_ROWS, mp, s->row + 4 * 6, ddq, sum);
    F = kd_vec_add(F, kd_vec_of(sum));
    N = kd_vec_add(N, kd_vec_of(sum + 3));
    // Q_l += C_l a + b_l dw + M q''
    for (int l = 0; l < mp; l += 4) {
        const double *row = s->row + KD_WIDE_ROWS * l + 4 * 6;
        PUT(Q + l) += ALL(a.x) * AT(row) + ALL(a.y) * AT(row + 4) + ALL(a.z) * AT(row + 8) + ALL(dw.x) * AT(row + 12) +
                      ALL(dw.y) * AT(row + 16) + ALL(dw.z) * AT(row + 20);
    }
    for (int k = 0; k < c->m; k++) {
        const double *M = c->column + k * (mp + KD_WIDE_TAIL);
        for (int l = 0; l < mp; l += 4) PUT(Q + l) += ALL(ddq[k]) * AT(M + l);
    }
    *force = (kd_wrench){kd_mat_vec(&motion->R, N), kd_mat_vec(&motion->R, F)};
}

// ---- derivatives ---------------------------------------------------------------------------------------------------

// motion in the axes of the link
typedef struct inner_motion {
    kd_vec3 w, v, dw, a;
    double  ww;
} inner_motion;

// a moment and a force in the axes of the link about P, added about the common point at -r
static inline void add_wrench6(const kd_mat3 *R, kd_vec3 r, kd_vec3 N, kd_vec3 F, double *out)
{
    const kd_vec3 f = kd_mat_vec(R, F), n = kd_vec_add(kd_mat_vec(R, N), kd_vec_cross(r, f));
    out[0] += n.x, out[1] += n.y, out[2] += n.z, out[3] += f.x, out[4] += f.y, out[5] += f.z;
}

// d(N, F) by q_l: sums over all modes of what q_k', q_k'' do
static void force_by_position(const kd_wide *c, const kd_wide_state *s, const inner_motion *x, int l, kd_vec3 *N,
                              kd_vec3 *F)
{
    const int m = c->m;
    double    E[9] = {0}, D[9] = {0}, b[3];
    kd_vec3   C = kd_wide_C(s, l), dC = {0, 0, 0}, ddC = {0, 0, 0};
    for (int k = 0; k < m; k++) { // D_k by q_l times q_k', q_k''
        const double *slope = c->D_q + 9 * (l + m * k);
        for (int i = 0; i < 9; i++) E[i] += s->dq[k] * slope[i], D[i] += s->ddq[k] * slope[i];
        if (!c->C_q) continue;
        dC = kd_vec_axpy(dC, s->dq[k], kd_vec_of(c->C_q + 3 * (k + m * l)));
        ddC = kd_vec_axpy(ddC, s->ddq[k], kd_vec_of(c->C_q + 3 * (k + m * l)));
    }
    // J_l = 2 tr D_l - D_l - D_l'
    const kd_mat3 Dl = moment_of(s, l), Dt = kd_mat_transpose(&Dl), one = trace_less(&Dl), two = trace_less(&Dt);
    const kd_mat3 J = {kd_vec_add(one.x, two.x), kd_vec_add(one.y, two.y), kd_vec_add(one.z, two.z)};
    const kd_mat3 El = mat_at(E), Et = kd_mat_transpose(&El), gyro = trace_less(&Et);
    // F_l = w' x C_l + w x (w x C_l + 2 C_l') + C_l''
    axial(D, b);
    *F = kd_vec_add(kd_vec_cross(x->dw, C), kd_vec_cross(x->w, kd_vec_axpy(kd_vec_cross(x->w, C), 2, dC)));
    *F = kd_vec_add(*F, ddC);
    // N_l = C_l x a + J_l w' + w x J_l w + 2 (tr E' - E') w + b(D)
    *N = kd_vec_add(kd_vec_cross(C, x->a), kd_mat_vec(&J, x->dw));
    *N = kd_vec_add(*N, kd_vec_cross(x->w, kd_mat_vec(&J, x->w)));
    *N = kd_vec_add(*N, kd_vec_axpy(kd_vec_of(b), 2, kd_mat_vec(&gyro, x->w)));
}

// by q_l'
static void force_by_velocity(const kd_wide *c, const kd_wide_state *s, const inner_motion *x, int l, kd_vec3 *N,
                              kd_vec3 *F)
{
    // Coriolis: 2 w x C_l and 2 (tr D_l' - D_l') w; what the modes do to C and b themselves
    const kd_mat3 Dl = moment_of(s, l), Dt = kd_mat_transpose(&Dl), gyro = trace_less(&Dt);
    *F = kd_vec_scale(2, kd_vec_cross(x->w, kd_wide_C(s, l)));
    *N = kd_vec_scale(2, kd_mat_vec(&gyro, x->w));
    for (int k = 0; k < c->m && c->C_q; k++) *F = kd_vec_axpy(*F, 2 * s->dq[k], kd_vec_of(c->C_q + 3 * (k + c->m * l)));
    for (int k = 0; k < c->m && c->b_q; k++) *N = kd_vec_axpy(*N, 2 * s->dq[k], kd_vec_of(c->b_q + 3 * (k + c->m * l)));
}

// Q_k by q_l and q_l'
static void modes_by_modes(const kd_wide *c, kd_wide_state *s, const inner_motion *x)
{
    const int m = c->m;
    for (int l = 0; l < m; l++)
        for (int k = 0; k < m; k++) {
            // centrifugal and Euler terms w'D w - w'w tr D + b(D)'w', gravity along C_kl; gyroscopic by q_l'
            const double *D = c->D_q + 9 * (l + m * k);
            const kd_mat3 Dl = mat_at(D);
            double        b[3], sum = kd_vec_dot(x->w, kd_mat_vec(&Dl, x->w)) - x->ww * (D[0] + D[4] + D[8]);
            axial(D, b);
            sum += kd_vec_dot(kd_vec_of(b), x->dw);
            if (c->C_q) sum += kd_vec_dot(kd_vec_of(c->C_q + 3 * (k + m * l)), x->a);
            s->block_p[k + m * l] += sum;
            s->block_v[k + m * l] += 2 * kd_vec_dot(x->w, kd_vec_of(c->T + 3 * (l + m * k)));
        }
}

// Adds to by_p, by_v, U (about the common point at -r), B = 2 int r' x c_l, block_p, block_v; world axes
void KD_KERNEL(kd_wide_derivatives)(const kd_wide *c, kd_wide_state *s, const kd_link_motion *m, kd_vec3 r)
{
    const kd_mat3 *R = &m->R;
    inner_motion   x = {kd_mat_tvec(R, m->w), kd_mat_tvec(R, m->v), kd_mat_tvec(R, m->dw), kd_mat_tvec(R, m->dv), 0};
    x.ww = kd_vec_dot(x.w, x.w);
    for (int l = 0; l < c->m; l++) {
        kd_vec3 N, F;
        // columns of mode l: force by q_l, by q_l', and of unit q_l''
        force_by_position(c, s, &x, l, &N, &F);
        add_wrench6(R, r, N, F, s->by_p + 6 * l);
        force_by_velocity(c, s, &x, l, &N, &F);
        add_wrench6(R, r, N, F, s->by_v + 6 * l);
        add_wrench6(R, r, kd_wide_b(s, l), kd_wide_C(s, l), s->U + 6 * l);
        // int (v + w x c + u') x c_l
        const kd_mat3 D = moment_of(s, l);
        kd_vec3       B = kd_vec_add(kd_vec_cross(x.v, kd_wide_C(s, l)), kd_wide_row(s->gyro, c->nturns, 0, l));
        B = kd_vec_axpy(kd_vec_add(B, kd_mat_vec(&D, x.w)), -(D.x.x + D.y.y + D.z.z), x.w);
        B = kd_mat_vec(R, kd_vec_scale(2, B));
        s->B[3 * l] += B.x, s->B[3 * l + 1] += B.y, s->B[3 * l + 2] += B.z;
    }
    modes_by_modes(c, s, &x);
}
