// wide_body.c: a link that deforms as an articulated body: its modes are eliminated together with what hangs on its markers.
//
// What hangs on a marker answers the motion S q'' that the modes give it with I S q'' + b, about the point P of the link. So unit q_k''
// needs U_k = sum I S_k + R (b_k, C_k) as moment and force, W = M + sum S'I S of the modes, and u = tau - Q - sum S'b is left for the
// modes to carry. Behind column k of W stand moment, u_k, force and a zero, two fours; all is eliminated as L D L' without roots:
//
//     I+ = I - U inv(W) U',   b+ = b + U inv(W) u,   q'' = inv(W) (u - U'a)
//
// The number of modes is rounded up to fours; those that fill up have an inertia and nothing else. docs/methods/wide_link.md
#include "tree/articulated.h"
#include "tree/fours.h"
#include "tree/joint.h"

#include <math.h>

static const double least_pivot = 1e-14; // part of the largest diagonal entry

// ---- what hangs on markers -----------------------------------------------------------------------------------------

// S = X Phi: shifts do not turn; halves of turns about x and y stand before and behind that about z
KD_INLINE void marker_motions(const int mp, const double *restrict row, const kd_axis *letter, double *restrict S)
{
    kd_vec_slot w[3], u[3];
    for (int a = 0; a < 2; a++) {
        const kd_axis *one = &letter[3 + a], *other = &letter[7 - a];
        kd_v3_store_four(&w[a].v, kd_v3_scale(0.5, kd_v3_add(kd_v3_load(&one->w), kd_v3_load(&other->w))));
        kd_v3_store_four(&u[a].v, kd_v3_scale(0.5, kd_v3_add(kd_v3_load(&one->u), kd_v3_load(&other->u))));
    }
    kd_v3_store_four(&w[2].v, kd_v3_load(&letter[5].w));
    kd_v3_store_four(&u[2].v, kd_v3_load(&letter[5].u));
    // one component of all modes at a time
    for (int r = 0; r < 3; r++) {
        const four wx = ALL((&w[0].v.x)[r]), wy = ALL((&w[1].v.x)[r]), wz = ALL((&w[2].v.x)[r]);
        const four ux = ALL((&u[0].v.x)[r]), uy = ALL((&u[1].v.x)[r]), uz = ALL((&u[2].v.x)[r]);
        const four x = ALL((&letter[0].u.x)[r]), y = ALL((&letter[1].u.x)[r]), z = ALL((&letter[2].u.x)[r]);
        for (int l = 0; l < mp; l += 4) {
            const double *phi = row + KD_MARKER_ROWS * l;
            const four    tx = AT(phi + 12), ty = AT(phi + 16), tz = AT(phi + 20);
            PUT(S + 6 * l + 4 * r) = wx * tx + wy * ty + wz * tz;
            PUT(S + 6 * l + 12 + 4 * r) = x * AT(phi) + y * AT(phi + 4) + z * AT(phi + 8) + ux * tx + uy * ty + uz * tz;
        }
    }
}

// columns of I with -b below moments: (J, -N; K) and (K', -F; M), twelve fours
KD_INLINE void put_inertia(const articulated *b, double *I)
{
    const kd_v3 zero = kd_v3_zero(), N = kd_v3_sub(zero, b->N), F = kd_v3_sub(zero, b->F);
    kd_vec_slot n, f;
    kd_m3       Kt = b->K;
    kd_v3_transpose(&Kt.x, &Kt.y, &Kt.z);
    kd_v3_store_four(&n.v, N);
    kd_v3_store_four(&f.v, F);
    PUT_WITH(I, b->J.x, n.v.x), PUT_WITH(I + 4, b->K.x, 0);
    PUT_WITH(I + 8, b->J.y, n.v.y), PUT_WITH(I + 12, b->K.y, 0);
    PUT_WITH(I + 16, b->J.z, n.v.z), PUT_WITH(I + 20, b->K.z, 0);
    PUT_WITH(I + 24, Kt.x, f.v.x), PUT_WITH(I + 28, b->M.x, 0);
    PUT_WITH(I + 32, Kt.y, f.v.y), PUT_WITH(I + 36, b->M.y, 0);
    PUT_WITH(I + 40, Kt.z, f.v.z), PUT_WITH(I + 44, b->M.z, 0);
}

// tail_k (+)= R (b_k, C_k) and what is left of the load of mode k: R (3 fours) its columns
KD_INLINE void add_own(const int mp, const bool first, kd_wide_state *s, const double *R)
{
    const int  ld = mp + KD_WIDE_TAIL;
    const four x = AT(R), y = AT(R + 4), z = AT(R + 8), last = {0, 0, 0, 1};
#pragma GCC unroll 8
    for (int k = 0; k < mp; k++) {
        const double *row = s->row + 4 * KD_WIDE_ROWS * (k / 4) + k % 4;
        double       *tail = s->column + k * ld + mp;
        four          moment = -ALL(s->Q[k]) * last, force = ALL(row[24]) * x;
        if (!first) moment += AT(tail), force += AT(tail + 4);
        moment += ALL(row[36]) * x;
        force += ALL(row[28]) * y;
        moment += ALL(row[40]) * y;
        force += ALL(row[32]) * z;
        moment += ALL(row[44]) * z;
        PUT(tail) = moment, PUT(tail + 4) = force;
    }
}

// without markers that move
KD_INLINE void start_columns(const int mp, const kd_wide *c, kd_wide_state *s, const double *R)
{
    const int ld = mp + KD_WIDE_TAIL;
    for (int k = 0; k < mp; k++)
        for (int l = k & ~3; l < mp; l += 4) PUT(s->column + k * ld + l) = AT(c->column + k * ld + l);
    add_own(mp, true, s, R);
}

// U = I S with -S'b, two fours of each mode, `stride` apart
KD_INLINE void marker_forces(const int mp, const int stride, const double *restrict S, const double *restrict I,
                             double *restrict U)
{
    four a[6], b[6];
#pragma GCC unroll 6
    for (int r = 0; r < 6; r++) a[r] = AT(I + 8 * r), b[r] = AT(I + 8 * r + 4);
#pragma GCC unroll 8
    for (int k = 0; k < mp; k++, U += stride) {
        const double *Sk = S + 24 * (k / 4) + k % 4;
        four          moment = ALL(Sk[0]) * a[0], force = ALL(Sk[0]) * b[0];
#pragma GCC unroll 6
        for (int r = 1; r < 6; r++) {
            const four by = ALL(Sk[4 * r]);
            moment += by * a[r];
            force += by * b[r];
        }
        PUT(U) = moment, PUT(U + 4) = force;
    }
}

// column_k = from_k + S'U_k, lower triangle, from the block of four of the diagonal on
KD_INLINE void add_products(const int mp, const int stride, const double *S, const double *U, const double *from,
                            double *column)
{
    const int ld = mp + KD_WIDE_TAIL;
#pragma GCC unroll 8
    for (int k = 0; k < mp; k++, U += stride) {
        const four a = ALL(U[0]), b = ALL(U[1]), d = ALL(U[2]), x = ALL(U[4]), y = ALL(U[5]), z = ALL(U[6]);
        for (int l = k & ~3; l < mp; l += 4) {
            const double *of = S + 6 * l;
            PUT(column + k * ld + l) = AT(from + k * ld + l) + a * AT(of) + b * AT(of + 4) + d * AT(of + 8) +
                                       x * AT(of + 12) + y * AT(of + 16) + z * AT(of + 20);
        }
    }
}

// W += S'I S, tails += I S, -S'b; the first marker starts them
KD_INLINE void add_marker(const int mp, const bool first, const kd_wide *c, kd_wide_state *s, const double *I)
{
    const int ld = mp + KD_WIDE_TAIL;
    if (first) {
        marker_forces(mp, ld, s->S, I, s->column + mp);
        add_products(mp, ld, s->S, s->column + mp, c->column, s->column);
        return;
    }
    marker_forces(mp, KD_WIDE_TAIL, s->S, I, s->IS);
    add_products(mp, KD_WIDE_TAIL, s->S, s->IS, s->column, s->column);
    for (int k = 0; k < mp; k++) {
        double *tail = s->column + k * ld + mp;
        for (int e = 0; e < KD_WIDE_TAIL; e += 4) PUT(tail + e) += AT(s->IS + KD_WIDE_TAIL * k + e);
    }
}

// all markers of wide link i: what the first one hands on is b, of the others `given` has it
KD_INLINE void gather_markers(const int mp, const kd_tree *tree, const kd_motion *m, int i, const articulated *given,
                              const articulated *b)
{
    const kd_link *l = &tree->link[i];
    const kd_wide *c = l->wide;
    kd_wide_state *s = &m->work->wide[l->state];
    const kd_mat3 *own = &m->link[i].R;
    double         R[12], I[48];
    bool           first = true;
    PUT_WITH(R, kd_v3_load(&own->x), 0), PUT_WITH(R + 4, kd_v3_load(&own->y), 0);
    PUT_WITH(R + 8, kd_v3_load(&own->z), 0);
    for (int j = i + 1; j < l->end; j = tree->link[j].end) {
        const kd_link *marker = &tree->link[j];
        if (marker->marker->still) continue;
        put_inertia(j == i + 1 ? b : &given[j], I);
        marker_motions(mp, m->work->row[j], m->axis + marker->letter, s->S);
        if (first)
            add_marker(mp, true, c, s, I);
        else
            add_marker(mp, false, c, s, I);
        first = false;
    }
    if (first)
        start_columns(mp, c, s, R);
    else
        add_own(mp, false, s, R);
}

// ---- elimination ---------------------------------------------------------------------------------------------------

// n fours of a column minus factor times the columns before
KD_INLINE void eliminate_fours(const int n, int j, int mp, int ld, const double *restrict before,
                               const double *restrict factor, double *restrict column)
{
    four sum[4];
    for (int i = 0; i < n; i++) sum[i] = AT(column + 4 * i);
#pragma GCC unroll 8
    for (int k = 0; k < j; k++, before += ld, factor += mp) {
        const four by = ALL(*factor);
        for (int i = 0; i < n; i++) sum[i] -= by * AT(before + 4 * i);
    }
    for (int i = 0; i < n; i++) PUT(column + 4 * i) = sum[i];
}

// Column j minus those before it, in runs of 16, 12, 8, 4 rows that stay in registers; then d_j, and the column of L that later ones
// are eliminated with. false: no pivot
KD_INLINE bool eliminate_column(int j, int mp, double least, double *restrict all, double *restrict L,
                                double *restrict pivot)
{
    const int ld = mp + KD_WIDE_TAIL;
    double   *column = all + j * ld;
    int       i = j & ~3;
    for (; i + 16 <= ld; i += 16) eliminate_fours(4, j, mp, ld, all + i, L + j, column + i);
    if (i + 12 <= ld) eliminate_fours(3, j, mp, ld, all + i, L + j, column + i), i += 12;
    if (i + 8 <= ld) eliminate_fours(2, j, mp, ld, all + i, L + j, column + i), i += 8;
    if (i < ld) eliminate_fours(1, j, mp, ld, all + i, L + j, column + i);
    if (!(column[j] > least)) return false;
    pivot[j] = 1 / column[j];
    for (int l = j & ~3; l < mp; l += 4) PUT(L + j * mp + l) = ALL(pivot[j]) * AT(column + l);
    return true;
}

// largest entry of the diagonal
KD_INLINE double largest_pivot(const int mp, const double *column)
{
    double largest = 0;
    for (int j = 0; j < mp; j++, column += mp + KD_WIDE_TAIL + 1) largest = *column > largest ? *column : largest;
    return largest;
}

// column j = d_j times that of L, its tail U, u of the mode. The mode without pivot, or -1
KD_INLINE int eliminate_many(const int mp, kd_wide_state *s)
{
    const double least = least_pivot * largest_pivot(mp, s->column);
    for (int j = 0; j < mp; j++)
        if (!eliminate_column(j, mp, least, s->column, s->factor, s->pivot)) return j;
    return -1;
}

// one of four lanes in all of them
#define LANE(a, i) ((four){(a)[i], (a)[i], (a)[i], (a)[i]})

// tail of column j minus those before it
KD_INLINE void eliminate_tail(const int j, const int mp, double *restrict column, const double *restrict L)
{
    const int ld = mp + KD_WIDE_TAIL;
    double   *tail = column + j * ld + mp;
    four      moment = AT(tail), force = AT(tail + 4);
#pragma GCC unroll 8
    for (int k = 0; k < j; k++) {
        const four by = ALL(L[j + k * mp]);
        moment -= by * AT(column + k * ld + mp);
        force -= by * AT(column + k * ld + mp + 4);
    }
    PUT(tail) = moment, PUT(tail + 4) = force;
}

// The same for up to eight modes: the triangle stays in registers, each column goes off all later ones as soon as it is known, because
// one pivot waits for the other; tails follow behind
KD_INLINE int eliminate_few(const int mp, kd_wide_state *s)
{
    const int    ld = mp + KD_WIDE_TAIL, blocks = mp / 4;
    const double least = least_pivot * largest_pivot(mp, s->column);
    double *restrict column = s->column;
    double *restrict L = s->factor;
    four   a[8][2];
    double low = INFINITY; // smallest pivot
#pragma GCC unroll 8
    for (int j = 0; j < mp; j++)
#pragma GCC unroll 2
        for (int b = j / 4; b < blocks; b++) a[j][b] = AT(column + j * ld + 4 * b);
    four d = LANE(a[0][0], 0);
#pragma GCC unroll 8
    for (int j = 0; j < mp; j++) {
        const four by = ALL(1) / d;
        const int  next = j + 1 < mp ? j + 1 : j;
        four       l[2];
        low = d[0] < low ? d[0] : low;
        s->pivot[j] = by[0];
        // the next pivot at once: the others wait for it
        const four below = LANE(a[j][next / 4], next % 4);
        d = LANE(a[next][next / 4], next % 4) - below * below * by;
#pragma GCC unroll 2
        for (int b = j / 4; b < blocks; b++) {
            l[b] = by * a[j][b];
            PUT(column + j * ld + 4 * b) = a[j][b];
            PUT(L + j * mp + 4 * b) = l[b];
        }
#pragma GCC unroll 8
        for (int k = j + 1; k < mp; k++) {
            const four f = LANE(l[k / 4], k % 4);
#pragma GCC unroll 2
            for (int b = k / 4; b < blocks; b++) a[k][b] -= f * a[j][b];
        }
        eliminate_tail(j, mp, column, L);
    }
    // what is no number stays so up to the last one
    if (low > least && a[mp - 1][blocks - 1][3] > least) return -1;
    for (int j = 0; j < mp; j++)
        if (!(column[j * (ld + 1)] > least)) return j;
    return mp - 1;
}

// the modes give way: I - U inv(D) U', b + U inv(D) u
KD_INLINE void give_way_all(const int mp, const kd_wide_state *s, articulated *b)
{
    articulated sum = *b;
    for (int k = 0; k < mp; k++) {
        const double *tail = s->column + k * (mp + KD_WIDE_TAIL) + mp, by = s->pivot[k];
        const kd_v3   Uw = kd_v3_load((const kd_vec3 *)tail), Uu = kd_v3_load((const kd_vec3 *)(tail + 4));
        kd_vec_slot   Vw, Vu;
        kd_v3_store_four(&Vw.v, kd_v3_scale(by, Uw));
        kd_v3_store_four(&Vu.v, kd_v3_scale(by, Uu));
        const double u = by * tail[3];
        subtract_product(&sum.J, Uw, &Vw.v);
        subtract_product(&sum.K, Uu, &Vw.v);
        subtract_product(&sum.M, Uu, &Vu.v);
        sum.N = kd_v3_axpy(sum.N, u, Uw);
        sum.F = kd_v3_axpy(sum.F, u, Uu);
    }
    *b = sum;
}

// Inertia of the link as it is deformed, and the forces of its velocities less the load
KD_INLINE void add_wide(const kd_wide *c, const kd_wide_state *s, const kd_link_motion *m, const kd_wrench *load,
                        const kd_wrench *force, articulated *b)
{
    const kd_m3 R = kd_m3_load(&m->R), J = kd_m3_rotate(&R, &m->R, &s->J), K = kd_m3_skew(kd_m3_vec(&R, &s->h));
    b->J = kd_m3_add(&b->J, &J);
    b->K = kd_m3_add(&b->K, &K);
    kd_m3_add_unit(&b->M, c->mass);
    b->N = kd_m3_axpy(b->N, &R, &force->N);
    b->F = kd_m3_axpy(b->F, &R, &force->F);
    if (!load) return;
    b->N = kd_v3_sub(b->N, kd_v3_load_exactly(&load->N));
    b->F = kd_v3_sub(b->F, kd_v3_load_exactly(&load->F));
}

KD_INLINE int articulate(const int mp, const bool few, const kd_tree *tree, kd_motion *m, int i, const kd_wrench *load,
                         const double *tau, const articulated *given, articulated *b)
{
    const kd_link *l = &tree->link[i];
    kd_wide_state *s = &m->work->wide[l->state];
    kd_wrench      force;
    // Q less tau is what the modes do not carry
    KD_KERNEL(kd_wide_velocity_force)(l->wide, s, &m->link[i], &force, s->Q);
    if (tau) subtract_modes(l->wide->m, tau + l->dof, s->Q);
    gather_markers(mp, tree, m, i, given, b);
    const int bad = few ? eliminate_few(mp, s) : eliminate_many(mp, s);
    if (bad >= 0) return bad;
    if (l->end > i + 1 && l[1].end < l->end) articulated_add(b, &given[i]);
    add_wide(l->wide, s, &m->link[i], load ? &load[i] : NULL, &force, b);
    give_way_all(mp, s, b);
    return -1;
}

// b: what the first child of wide link i gives, of the others `given` has it; then of the link, its modes given way. load, tau: of the
// tree; NULL: 0. The mode without pivot, or -1
int KD_KERNEL(kd_wide_articulate)(const kd_tree *tree, kd_motion *m, int i, const kd_wrench *load, const double *tau,
                                  const void *given, void *b)
{
    const int mp = tree->link[i].wide->mp;
    if (mp == 8) return articulate(8, true, tree, m, i, load, tau, given, b);
    if (mp == 4) return articulate(4, true, tree, m, i, load, tau, given, b);
    return articulate(mp, false, tree, m, i, load, tau, given, b);
}

// ---- the way back --------------------------------------------------------------------------------------------------

// q'' of the modes, four of them at a time, the last ones first
KD_INLINE void follow_modes(const int mp, kd_wide_state *s, const double *a)
{
    const int ld = mp + KD_WIDE_TAIL;
    double *restrict x = s->ddq;
    const double *restrict all = s->column;
    const four w = AT(a), u = AT(a + 4);
    for (int l = mp - 4; l >= 0; l -= 4) {
        four sum[4], own;
        // tails times (a, -1), columns of the modes behind this block times their q'', by the pivots
        for (int e = 0; e < 4; e++) {
            const double *column = all + (l + e) * ld;
            sum[e] = AT(column + mp) * w + AT(column + mp + 4) * u;
            for (int i = l + 4; i < mp; i += 4) sum[e] += AT(column + i) * AT(x + i);
        }
        SUMS(sum[0], sum[1], sum[2], sum[3], own);
        own *= -AT(s->pivot + l);
        // inside of the block one by one, the last one first
        const double *L0 = s->factor + l * mp + l, *L1 = L0 + mp, *L2 = L1 + mp;
        const double  x3 = own[3], x2 = own[2] - L2[3] * x3;
        const double  x1 = own[1] - L1[3] * x3 - L1[2] * x2;
        const double  x0 = own[0] - L0[3] * x3 - L0[2] * x2 - L0[1] * x1;
        PUT(x + l) = (four){x0, x1, x2, x3};
    }
}

// q'' = inv(L') (inv(D) u - V a): each column times (what is known of q'', a, -1); a: (dw, -1, dv, 0)
void KD_KERNEL(kd_wide_follow)(const kd_wide *c, kd_wide_state *s, const double a[8], double *ddq)
{
    if (c->mp == 8)
        follow_modes(8, s, a);
    else
        follow_modes(c->mp, s, a);
    copy_modes(c->m, s->ddq, ddq);
}
