// wide.c: moments of a link that deforms at its position and velocity, its inertia forces, and the motions of markers on
// it. Equations: wide.h
#include "tree/wide.h"

#include <string.h>

#include "joint/place.h"
#include "tree/vector.h"

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

// ---- blocks of four modes ------------------------------------------------------------------------------------------

// macros, because functions that return vectors have another calling convention on every processor
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
#define AT(x) (*(const four *)(x))
#define PUT(x) (*(four *)(x))
#define ALL(x) ((four){x, x, x, x})
#define SUM(a) ((a)[0] + (a)[1] + ((a)[2] + (a)[3]))

// n fours of out = a + sum_k x_k slope_k, slopes at a distance; a NULL: 0
static inline void add_fours(int n, int m, int distance, const double *restrict a, const double *restrict slope,
                             const double *restrict x, double *restrict out)
{
    four sum[6];
    for (int i = 0; i < n; i++) sum[i] = a ? AT(a + 4 * i) : ALL(0);
    for (int k = 0; k < m; k++, slope += distance)
        for (int i = 0; i < n; i++) sum[i] += ALL(x[k]) * AT(slope + 4 * i);
    for (int i = 0; i < n; i++) PUT(out + 4 * i) = sum[i];
}

// out (n) = a (n) + sum_k x_k slope_k, slopes side by side; n: a multiple of 12
static inline void add_slopes(int n, int m, const double *a, const double *slope, const double *x, double *out)
{
    int i = 0;
    for (; i + 24 <= n; i += 24) add_fours(6, m, n, a ? a + i : NULL, slope + i, x, out + i);
    if (i < n) add_fours(3, m, n, a ? a + i : NULL, slope + i, x, out + i);
}

// out = sum_l x_l row_l, of so many rows out of nrows of each block
static inline void sum_rows(int rows, int nrows, int mp, const double *restrict row, const double *restrict x,
                            double *restrict out)
{
    four sum[KD_WIDE_ROWS];
    for (int r = 0; r < rows; r++) sum[r] = AT(row + 4 * r) * AT(x);
    for (int l = 4; l < mp; l += 4) {
        const four    by = AT(x + l);
        const double *block = row + nrows * l;
        for (int r = 0; r < rows; r++) sum[r] += AT(block + 4 * r) * by;
    }
    for (int r = 0; r < rows; r++) out[r] = SUM(sum[r]);
}

// D_l
static kd_mat3 moment_of(const kd_wide_state *s, int l)
{
    const kd_vec3 d = kd_wide_row(s->row, KD_WIDE_ROWS, 0, l), o = kd_wide_row(s->row, KD_WIDE_ROWS, 3, l);
    return kd_wide_moment((kd_sym3){d.x, d.y, d.z, o.x, o.y, o.z}, kd_wide_b(s, l));
}

// ---- position ------------------------------------------------------------------------------------------------------

// J = J(0) + sum q_l (J_l(0) + J_l(q))/2,  h the same with C
void KD_KERNEL(kd_wide_place)(const kd_wide *c, const double *q, kd_wide_state *s)
{
    const int mp = c->mp;
    double    first[KD_WIDE_ROWS], now[KD_WIDE_ROWS];
    for (int k = 0; k < c->m; k++) s->q[k] = q[k];
    add_slopes(KD_WIDE_ROWS * mp, c->m, c->row, c->row_q, s->q, s->row);
    sum_rows(KD_WIDE_ROWS, KD_WIDE_ROWS, mp, c->row, s->q, first);
    sum_rows(KD_WIDE_ROWS, KD_WIDE_ROWS, mp, s->row, s->q, now);
    for (int r = 0; r < KD_WIDE_ROWS; r++) now[r] = 0.5 * (now[r] + first[r]);
    s->J = (kd_sym3){c->J.xx + now[0], c->J.yy + now[1], c->J.zz + now[2],
                     c->J.xy + now[3], c->J.xz + now[4], c->J.yz + now[5]};
    s->h = kd_vec_add(c->first, kd_vec_of(now + 9));
}

// the word of eight letters; their motions about the point of the parent
void KD_KERNEL(kd_marker_place)(const kd_marker *marker, const double *q, const kd_link *l,
                                const kd_link_motion *parent, kd_axis *axis, kd_link_motion *own)
{
    double e[6] = {0}, angle[4], c[4], s[4];
    for (int k = 0; k < marker->m; k++)
        for (int a = 0; a < 6; a++) e[a] += marker->Phi[6 * k + a] * q[k];
    // shifts in the axes of the frame A, then turns x/2 y/2 z y/2 x/2
    angle[0] = 0.5 * e[3], angle[1] = 0.5 * e[4], angle[2] = e[5], angle[3] = 0;
    KD_KERNEL(kd_sine_cosine)(3, angle, s, c);
    kd_mat3       R = kd_mat_mul(&parent->R, &l->E);
    const kd_mat3 A = R;
    const kd_vec3 P = kd_vec_add(parent->P, kd_vec_add(kd_mat_vec(&parent->R, l->r), kd_mat_vec(&R, kd_vec_of(e))));
    axis[0].u = A.x;
    axis[1].u = A.y;
    axis[2].u = A.z;
    axis[3].w = A.x;
    kd_turn_x(&R, c[0], s[0]);
    axis[4].w = R.y;
    kd_turn_y(&R, c[1], s[1]);
    axis[5].w = R.z;
    kd_turn_z(&R, c[2], s[2]);
    axis[6].w = R.y;
    kd_turn_y(&R, c[1], s[1]);
    axis[7].w = R.x;
    kd_turn_x(&R, c[0], s[0]);
    // a turn leaves P where it is
    const kd_vec3 back = kd_vec_sub(parent->P, P);
    for (int a = 3; a < KD_MARKER_LETTERS; a++) axis[a].u = kd_vec_cross(axis[a].w, back);
    own->R = R;
    own->P = P;
}

// ---- velocity ------------------------------------------------------------------------------------------------------

void KD_KERNEL(kd_wide_move)(const kd_wide *c, const double *dq, kd_wide_state *s)
{
    const int mp = c->mp;
    double    sum[KD_WIDE_ROWS];
    for (int k = 0; k < c->m; k++) s->dq[k] = dq[k];
    sum_rows(KD_WIDE_ROWS, KD_WIDE_ROWS, mp, s->row, s->dq, sum);
    s->dJ = (kd_sym3){sum[0], sum[1], sum[2], sum[3], sum[4], sum[5]};
    s->beta = kd_vec_of(sum + 6);
    s->p = kd_vec_of(sum + 9);
    add_slopes(c->nturns * mp, c->m, NULL, c->turn_q, s->dq, s->gyro);
    if (c->nturns < 9) return;
    sum_rows(6, 9, mp, s->gyro + 12, s->dq, sum);
    s->b_qq = kd_vec_of(sum);
    s->C_qq = kd_vec_of(sum + 3);
}

// ---- inertia forces ------------------------------------------------------------------------------------------------

// Q_l = -w' J_l w/2 + 2 w sum T_kl q_k' + C_l a + b_l dw
static inline void load_modes_by(const kd_wide *c, const kd_wide_state *s, kd_vec3 w, kd_vec3 a, kd_vec3 dw, double *Q)
{
    const double by[] = {-0.5 * w.x * w.x,
                         -0.5 * w.y * w.y,
                         -0.5 * w.z * w.z,
                         -w.x * w.y,
                         -w.x * w.z,
                         -w.y * w.z,
                         dw.x,
                         dw.y,
                         dw.z,
                         a.x,
                         a.y,
                         a.z};
    for (int l = 0; l < c->mp; l += 4) {
        const double *row = s->row + KD_WIDE_ROWS * l, *gyro = s->gyro + c->nturns * l;
        four          sum = ALL(2 * w.x) * AT(gyro) + ALL(2 * w.y) * AT(gyro + 4) + ALL(2 * w.z) * AT(gyro + 8);
        for (int r = 0; r < KD_WIDE_ROWS; r++) sum += ALL(by[r]) * AT(row + 4 * r);
        PUT(Q + l) = sum;
    }
}

// F, N (world axes, about P) and Q (mp); ddq (mp) NULL: without accelerations of any kind
void KD_KERNEL(kd_wide_force)(const kd_wide *c, const kd_wide_state *s, const kd_link_motion *motion, const double *ddq,
                              kd_wrench *force, double *Q)
{
    const int     mp = c->mp;
    const kd_vec3 w = kd_mat_tvec(&motion->R, motion->w), none = {0, 0, 0};
    const kd_vec3 a = ddq ? kd_mat_tvec(&motion->R, motion->dv) : none;
    const kd_vec3 dw = ddq ? kd_mat_tvec(&motion->R, motion->dw) : none;
    // velocities; 2 (tr E - E') w = J' w + w x beta
    kd_vec3 F = kd_vec_add(kd_vec_cross(w, kd_vec_axpy(kd_vec_cross(w, s->h), 2, s->p)), s->C_qq);
    kd_vec3 N = kd_vec_cross(w, kd_vec_add(kd_sym_vec(&s->J, w), s->beta));
    N = kd_vec_add(kd_vec_add(N, kd_sym_vec(&s->dJ, w)), s->b_qq);
    load_modes_by(c, s, w, a, dw, Q);
    // accelerations
    if (ddq) {
        F = kd_vec_add(kd_vec_axpy(F, c->mass, a), kd_vec_cross(dw, s->h));
        N = kd_vec_add(N, kd_vec_add(kd_vec_cross(s->h, a), kd_sym_vec(&s->J, dw)));
        double sum[6];
        sum_rows(6, KD_WIDE_ROWS, mp, s->row + 4 * 6, ddq, sum);
        N = kd_vec_add(N, kd_vec_of(sum));
        F = kd_vec_add(F, kd_vec_of(sum + 3));
        for (int k = 0; k < c->m; k++) {
            const double *M = c->column + k * (mp + KD_WIDE_TAIL);
            for (int l = 0; l < mp; l += 4) PUT(Q + l) += ALL(ddq[k]) * AT(M + l);
        }
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

// ---- what hangs on a marker ----------------------------------------------------------------------------------------

// shifts and turns of a marker, each a motion of six: the halves of turns about x and y stand before and behind that about z
static inline void marker_matrix(const kd_axis *letter, double X[6][6])
{
    for (int a = 0; a < 3; a++) kd_vec_to(letter[a].u, X[a] + 3);
    for (int a = 3; a < 5; a++) {
        const kd_axis *other = &letter[10 - a];
        kd_vec_to(kd_vec_scale(0.5, kd_vec_add(letter[a].w, other->w)), X[a]);
        kd_vec_to(kd_vec_scale(0.5, kd_vec_add(letter[a].u, other->u)), X[a] + 3);
    }
    kd_vec_to(letter[5].w, X[5]);
    kd_vec_to(letter[5].u, X[5] + 3);
}

// S = X Phi of four modes; shifts do not turn
static inline void marker_motions(const double *restrict phi, double X[6][6], double *restrict S)
{
    const four x = AT(phi), y = AT(phi + 4), z = AT(phi + 8), tx = AT(phi + 12), ty = AT(phi + 16), tz = AT(phi + 20);
    for (int r = 0; r < 3; r++) {
        const int u = r + 3;
        PUT(S + 4 * r) = ALL(X[3][r]) * tx + ALL(X[4][r]) * ty + ALL(X[5][r]) * tz;
        PUT(S + 4 * u) = ALL(X[0][u]) * x + ALL(X[1][u]) * y + ALL(X[2][u]) * z + ALL(X[3][u]) * tx +
                         ALL(X[4][u]) * ty + ALL(X[5][u]) * tz;
    }
}

// I (6 x 6, column by column) and b (6) of what hangs there, about the point of the wide link:
// give += (I S)', -S'b;  columns, lower triangle: += S' I S
void KD_KERNEL(kd_wide_add_marker)(const kd_wide *c, kd_wide_state *s, const kd_marker *marker, const kd_axis *letter,
                                   double I[6][6], const double b[6])
{
    const int mp = c->mp, ld = mp + KD_WIDE_TAIL, m = c->m;
    double *restrict column = s->column, *restrict all = s->S, *restrict forces = s->IS;
    double X[6][6];
    // four modes at a time: S = X Phi, then I S; they are given on to the parent with -S'b
    marker_matrix(letter, X);
    for (int l = 0; l < mp; l += 4) {
        double *S = all + 6 * l, *IS = forces + 6 * l, *give = s->give + 8 * l;
        marker_motions(marker->row + 6 * l, X, S);
        const four x = AT(S), y = AT(S + 4), z = AT(S + 8), u = AT(S + 12), v = AT(S + 16), w = AT(S + 20);
        for (int r = 0; r < 6; r++) {
            const four U = ALL(I[0][r]) * x + ALL(I[1][r]) * y + ALL(I[2][r]) * z + ALL(I[3][r]) * u +
                           ALL(I[4][r]) * v + ALL(I[5][r]) * w;
            PUT(IS + 4 * r) = U;
            PUT(give + 4 * r) += U;
        }
        PUT(give + 24) -= ALL(b[0]) * x + ALL(b[1]) * y + ALL(b[2]) * z + ALL(b[3]) * u + ALL(b[4]) * v + ALL(b[5]) * w;
    }
    // S' I S, lower triangle from the block of four that the diagonal lies in
    for (int k = 0; k < m; k++, column += ld) {
        const double *U = forces + 24 * (k / 4) + k % 4;
        const four    a = ALL(U[0]), b1 = ALL(U[4]), c1 = ALL(U[8]), d = ALL(U[12]), e = ALL(U[16]), f = ALL(U[20]);
        for (int l = k & ~3; l < mp; l += 4) {
            const double *S = all + 6 * l;
            PUT(column + l) +=
                a * AT(S) + b1 * AT(S + 4) + c1 * AT(S + 8) + d * AT(S + 12) + e * AT(S + 16) + f * AT(S + 20);
        }
    }
}

// give = 0, columns of the modes as without markers
void KD_KERNEL(kd_wide_start)(const kd_wide *c, kd_wide_state *s)
{
    memcpy(s->column, c->column, (size_t)((c->mp + KD_WIDE_TAIL) * c->m) * sizeof *s->column);
    memset(s->give, 0, (size_t)(8 * c->mp) * sizeof *s->give);
}

// give += what the link itself needs for unit q'', and tau - Q (tau (m) NULL: 0)
void KD_KERNEL(kd_wide_give)(const kd_wide *c, kd_wide_state *s, const kd_link_motion *motion, const double *tau)
{
    const double *R = &motion->R.x.x;
    // forces of the modes without what drives them
    for (int k = 0; tau && k < c->m; k++) s->Q[k] -= tau[k];
    for (int l = 0; l < c->mp; l += 4) {
        const double *row = s->row + KD_WIDE_ROWS * l;
        double       *give = s->give + 8 * l;
        const four    b = AT(row + 24), b1 = AT(row + 28), b2 = AT(row + 32), C = AT(row + 36), C1 = AT(row + 40),
                   C2 = AT(row + 44);
        // R b_l, R C_l: moment and force that unit q_l'' needs, in world axes
        for (int r = 0; r < 3; r++) {
            const four x = ALL(R[r]), y = ALL(R[3 + r]), z = ALL(R[6 + r]);
            PUT(give + 4 * r) += x * b + y * b1 + z * b2;
            PUT(give + 12 + 4 * r) += x * C + y * C1 + z * C2;
        }
        PUT(give + 24) -= AT(s->Q + l);
    }
}

// ---- elimination of the modes --------------------------------------------------------------------------------------

static const double least_pivot = 1e-14; // part of the largest diagonal entry

// n fours of a column minus factor times the columns before
static inline void eliminate_fours(int n, int j, int mp, int ld, const double *restrict before,
                                   const double *restrict factor, double *restrict column)
{
    four sum[4];
    for (int i = 0; i < n; i++) sum[i] = AT(column + 4 * i);
    for (int k = 0; k < j; k++, before += ld, factor += mp) {
        const four by = ALL(*factor);
        for (int i = 0; i < n; i++) sum[i] -= by * AT(before + 4 * i);
    }
    for (int i = 0; i < n; i++) PUT(column + 4 * i) = sum[i];
}

// give goes behind the columns of the modes, then all is eliminated: column j = d_j times that of L in L D L', the part behind it
// U, u of the mode. Answers the mode without pivot, or -1.
int KD_KERNEL(kd_wide_eliminate)(const kd_wide *c, kd_wide_state *s)
{
    const int m = c->m, mp = c->mp, ld = mp + KD_WIDE_TAIL;
    double *restrict all = s->column, *restrict L = s->factor, *restrict pivot = s->pivot;
    double largest = 0;
    // moment, force and own load of each mode behind its column
    for (int j = 0; j < m; j++) {
        double *column = all + j * ld, *tail = column + mp;
        if (column[j] > largest) largest = column[j];
        const double *give = s->give + 32 * (j / 4) + j % 4;
        tail[0] = give[0], tail[1] = give[4], tail[2] = give[8], tail[3] = give[12];
        tail[4] = give[16], tail[5] = give[20], tail[6] = give[24];
    }
    for (int j = 0; j < m; j++) {
        double *column = all + j * ld;
        // column j minus those before it, in runs of 16, 12, 8, 4 rows that stay in registers
        int i = j & ~3;
        for (; i + 16 <= ld; i += 16) eliminate_fours(4, j, mp, ld, all + i, L + j, column + i);
        if (i + 12 <= ld) eliminate_fours(3, j, mp, ld, all + i, L + j, column + i), i += 12;
        if (i + 8 <= ld) eliminate_fours(2, j, mp, ld, all + i, L + j, column + i), i += 8;
        if (i < ld) eliminate_fours(1, j, mp, ld, all + i, L + j, column + i);
        // d_j, and the column of L that later ones are eliminated with
        if (!(column[j] > least_pivot * largest)) return j;
        pivot[j] = 1 / column[j];
        for (int l = j & ~3; l < mp; l += 4) PUT(L + j * mp + l) = ALL(pivot[j]) * AT(column + l);
    }
    return -1;
}

// q'' = inv(L') (inv(D) u - V a): each column times (what is known of q'', a, -1)
void KD_KERNEL(kd_wide_give_way)(const kd_wide *c, kd_wide_state *s, const double a[6], double *ddq)
{
    const int m = c->m, mp = c->mp, ld = mp + KD_WIDE_TAIL;
    double *restrict x = s->answer;
    // (q'', a, -1): the modes are found from the last one on
    for (int i = 0; i < mp; i += 4) PUT(x + i) = ALL(0);
    for (int i = 0; i < 6; i++) x[mp + i] = a[i];
    x[mp + 6] = -1, x[mp + 7] = 0;
    for (int j = m - 1; j >= 0; j--) {
        const double *column = s->column + j * ld;
        const int     next = (j & ~3) + 4;
        four          sum = AT(column + mp) * AT(x + mp) + AT(column + mp + 4) * AT(x + mp + 4);
        for (int i = next; i < mp; i += 4) sum += AT(column + i) * AT(x + i);
        // those of its own block have just been written, one by one
        double own = SUM(sum);
        for (int i = j + 1; i < next; i++) own += column[i] * x[i];
        x[j] = -s->pivot[j] * own;
    }
    for (int j = 0; j < m; j++) ddq[j] = s->ddq[j] = x[j];
}

#ifndef KD_AVX2_VARIANT

// ---- memory and energies -------------------------------------------------------------------------------------------

// What mode l gives to its rows: J_l, b_l of D, and C
static void put_rows(const double *D, const double *C, double *row)
{
    const double two = 2 * (D[0] + D[4] + D[8]);
    double       b[3];
    axial(D, b);
    const double all[9] = {two - 2 * D[0], two - 2 * D[4], two - 2 * D[8], -D[1] - D[3], -D[2] - D[6],
                           -D[5] - D[7],   b[0],           b[1],           b[2]};
    for (int r = 0; r < 9; r++) row[4 * r] = all[r];
    for (int r = 0; C && r < 3; r++) row[4 * (9 + r)] = C[r];
}

// where the rows of mode l start
static double *rows_of(double *row, int nrows, int l)
{
    return row + 4 * nrows * (l / 4) + l % 4;
}

bool kd_wide_finish(kd_wide *c, kd_arena *arena)
{
    const int m = c->m, mp = (m + 3) / 4 * 4, ld = mp + KD_WIDE_TAIL;
    c->mp = mp;
    c->nturns = c->C_q || c->b_q ? 9 : 3;
    double *row = kd_cut_matrix(arena, mp, KD_WIDE_ROWS), *row_q = kd_cut_matrix(arena, mp * KD_WIDE_ROWS, m);
    double *turn_q = kd_cut_matrix(arena, mp * c->nturns, m), *column = kd_cut_matrix(arena, ld, m);
    if (arena->failed) return false;
    for (int l = 0; l < m; l++) {
        put_rows(c->D + 9 * l, c->C + 3 * l, rows_of(row, KD_WIDE_ROWS, l));
        for (int k = 0; k < m; k++) {
            const int at = k + m * l;
            double   *turn = rows_of(turn_q + k * mp * c->nturns, c->nturns, l);
            put_rows(c->D_q + 9 * at, c->C_q ? c->C_q + 3 * at : NULL,
                     rows_of(row_q + k * mp * KD_WIDE_ROWS, KD_WIDE_ROWS, l));
            for (int r = 0; r < 3; r++) {
                turn[4 * r] = c->T[3 * at + r];
                if (c->b_q) turn[4 * (3 + r)] = c->b_q[3 * at + r];
                if (c->C_q) turn[4 * (6 + r)] = c->C_q[3 * at + r];
            }
            column[k + ld * l] = c->M[at];
        }
    }
    const kd_mat3 J = trace_less(&c->second);
    c->J = (kd_sym3){J.x.x, J.y.y, J.z.z, J.x.y, J.x.z, J.y.z};
    c->row = row, c->row_q = row_q, c->turn_q = turn_q, c->column = column;
    return true;
}

bool kd_marker_finish(kd_marker *c, kd_arena *arena)
{
    const int m = c->m, mp = (m + 3) / 4 * 4, most = KD_MARKER_LETTERS * m;
    double   *row = kd_cut_matrix(arena, mp, 6);
    int      *letter = kd_cut_int(arena, most), *mode = kd_cut_int(arena, most), n = 0;
    if (arena->failed) return false;
    for (int k = 0; k < m; k++)
        for (int a = 0; a < 6; a++) rows_of(row, 6, k)[4 * a] = c->Phi[6 * k + a];
    // steps of paths letter by letter
    for (int a = 0; a < KD_MARKER_LETTERS; a++)
        for (int k = 0; k < m; k++)
            if (c->Phi[kd_marker_along[a] + 6 * k] != 0) letter[n] = a, mode[n++] = k;
    c->mp = mp, c->row = row, c->letter = letter, c->mode = mode, c->nsteps = n;
    c->still = n == 0;
    return true;
}

bool kd_wide_cut(const kd_wide *c, kd_arena *arena, kd_wide_state *s)
{
    const int m = c->m, mp = c->mp, ld = mp + KD_WIDE_TAIL;
    double  **six[] = {&s->U, &s->S, &s->IS, &s->by_p, &s->by_v}, **one[] = {&s->q, &s->dq, &s->ddq, &s->Q, &s->pivot};
    double  **square[] = {&s->W, &s->block_p, &s->block_v};
    for (int i = 0; i < 5; i++) *six[i] = kd_cut_double(arena, 6 * mp);
    for (int i = 0; i < 5; i++) *one[i] = kd_cut_double(arena, mp);
    for (int i = 0; i < 3; i++) *square[i] = kd_cut_matrix(arena, m, m);
    s->row = kd_cut_matrix(arena, mp, KD_WIDE_ROWS);
    s->gyro = kd_cut_matrix(arena, mp, c->nturns);
    s->give = kd_cut_matrix(arena, mp, 8);
    s->column = kd_cut_matrix(arena, ld, m);
    s->factor = kd_cut_matrix(arena, mp, m);
    s->answer = kd_cut_double(arena, ld);
    s->B = kd_cut_double(arena, 3 * m);
    return !arena->failed;
}

// T = m v v/2 + v (w x h) + w J w/2 + v p + w b + q' M q'/2
double kd_wide_energy(const kd_wide *c, const kd_wide_state *s, kd_vec3 w, kd_vec3 v)
{
    double T = 0.5 * c->mass * kd_vec_dot(v, v) + kd_vec_dot(v, kd_vec_add(kd_vec_cross(w, s->h), s->p));
    T += 0.5 * kd_vec_dot(w, kd_sym_vec(&s->J, w));
    for (int l = 0; l < c->m; l++) {
        double Mq = 0;
        for (int k = 0; k < c->m; k++) Mq += c->M[k + c->m * l] * s->dq[k];
        T += s->dq[l] * (kd_vec_dot(w, kd_wide_b(s, l)) + 0.5 * Mq);
    }
    return T;
}

kd_vec3 kd_wide_momentum(const kd_wide *c, const kd_wide_state *s, kd_vec3 w, kd_vec3 v)
{
    return kd_vec_axpy(kd_vec_add(kd_vec_cross(w, s->h), s->p), c->mass, v);
}

kd_vec3 kd_wide_spin(const kd_wide_state *s, kd_vec3 w, kd_vec3 v)
{
    return kd_vec_add(kd_vec_add(kd_vec_cross(s->h, v), kd_sym_vec(&s->J, w)), s->beta);
}

#endif
