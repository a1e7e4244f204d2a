// wide.c: moments of a link that deforms at its position and velocity, its inertia forces, and the motions of markers on
// it. Equations: wide.h
#include "tree/wide.h"

#include <math.h>
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
#define BEFORE(first, x) ((first) ? (four){0, 0, 0, 0} : *(four *)(x)) // what was added up there
#define SUM(a) ((a)[0] + (a)[1] + ((a)[2] + (a)[3]))

// sums of four vectors in one; the four vectors as columns: lanes of one become a vector
#if KD_LANES == 4
#define SUMS(a, b, c, d, out)                                                                                          \
    do {                                                                                                               \
        const __m256d ab_ = _mm256_hadd_pd((__m256d)(a), (__m256d)(b)),                                                \
                      cd_ = _mm256_hadd_pd((__m256d)(c), (__m256d)(d));                                                \
        (out) = (four)(_mm256_permute2f128_pd(ab_, cd_, 0x20) + _mm256_permute2f128_pd(ab_, cd_, 0x31));               \
    } while (0)
#define TRANSPOSE(a, b, c, d)                                                                                          \
    do {                                                                                                               \
        const __m256d l0_ = _mm256_unpacklo_pd((__m256d)(a), (__m256d)(b)),                                            \
                      h0_ = _mm256_unpackhi_pd((__m256d)(a), (__m256d)(b));                                            \
        const __m256d l1_ = _mm256_unpacklo_pd((__m256d)(c), (__m256d)(d)),                                            \
                      h1_ = _mm256_unpackhi_pd((__m256d)(c), (__m256d)(d));                                            \
        (a) = (four)_mm256_permute2f128_pd(l0_, l1_, 0x20), (b) = (four)_mm256_permute2f128_pd(h0_, h1_, 0x20);        \
        (c) = (four)_mm256_permute2f128_pd(l0_, l1_, 0x31), (d) = (four)_mm256_permute2f128_pd(h0_, h1_, 0x31);        \
    } while (0)
#else
#define SUMS(a, b, c, d, out) ((out) = (four){SUM(a), SUM(b), SUM(c), SUM(d)})
#define TRANSPOSE(a, b, c, d)                                                                                          \
    do {                                                                                                               \
        const four a_ = (a), b_ = (b), c_ = (c), d_ = (d);                                                             \
        (a) = (four){a_[0], b_[0], c_[0], d_[0]}, (b) = (four){a_[1], b_[1], c_[1], d_[1]};                            \
        (c) = (four){a_[2], b_[2], c_[2], d_[2]}, (d) = (four){a_[3], b_[3], c_[3], d_[3]};                            \
    } while (0)
#endif

// m numbers, four at a time
static inline void copy_modes(int m, const double *restrict from, double *restrict to)
{
    int k = 0;
    for (; k + 4 <= m; k += 4) PUT(to + k) = AT(from + k);
    for (; k < m; k++) to[k] = from[k];
}

static inline void subtract_modes(int m, const double *restrict a, double *restrict from)
{
    int k = 0;
    for (; k + 4 <= m; k += 4) PUT(from + k) = AT(from + k) - AT(a + k);
    for (; k < m; k++) from[k] -= a[k];
}

// n fours of out = a + sum_k x_k slope_k, which stand at these places; slopes at a distance; a NULL: 0
static inline void add_fours(int n, int m, int distance, const int *at, const double *restrict a,
                             const double *restrict slope, const double *restrict x, double *restrict out)
{
    four sum[6];
    for (int i = 0; i < n; i++)
        if (a)
            sum[i] = AT(a + at[i]);
        else
            sum[i] = ALL(0);
    for (int k = 0; k < m; k++, slope += distance)
        for (int i = 0; i < n; i++) sum[i] += ALL(x[k]) * AT(slope + 4 * i);
    for (int i = 0; i < n; i++) PUT(out + at[i]) = sum[i];
}

// nfours of out = a + sum_k x_k slope_k, slopes side by side
static inline void add_slopes(int nfours, int m, const int *at, const double *a, const double *slope, const double *x,
                              double *out)
{
    const int distance = 4 * nfours;
    int       i = 0;
    for (; i + 6 <= nfours; i += 6) add_fours(6, m, distance, at + i, a, slope + 4 * i, x, out);
    if (i + 3 <= nfours) add_fours(3, m, distance, at + i, a, slope + 4 * i, x, out), i += 3;
    if (i + 2 == nfours) add_fours(2, m, distance, at + i, a, slope + 4 * i, x, out), i += 2;
    if (i < nfours) add_fours(1, m, distance, at + i, a, slope + 4 * i, x, out);
}

// out (rows, up to fours) = sum_l x_l row_l, of so many rows out of nrows of each block
static inline void sum_rows(int rows, int nrows, int mp, const double *restrict row, const double *restrict x,
                            double *restrict out)
{
    four sum[KD_WIDE_ROWS];
    for (int r = 0; r < rows; r++) sum[r] = AT(row + 4 * r) * AT(x);
    for (int r = rows; r % 4 > 0; r++) sum[r] = ALL(0);
    for (int l = 4; l < mp; l += 4) {
        const four    by = AT(x + l);
        const double *block = row + nrows * l;
        for (int r = 0; r < rows; r++) sum[r] += AT(block + 4 * r) * by;
    }
    for (int r = 0; r < rows; r += 4) SUMS(sum[r], sum[r + 1], sum[r + 2], sum[r + 3], PUT(out + r));
}

// out = sum_l x_l (a_l + b_l)/2
static inline void sum_means(int mp, const double *restrict a, const double *restrict b, const double *restrict x,
                             double *restrict out)
{
    four sum[KD_WIDE_ROWS];
    for (int r = 0; r < KD_WIDE_ROWS; r++) sum[r] = ALL(0);
    for (int l = 0; l < mp; l += 4, a += 4 * KD_WIDE_ROWS, b += 4 * KD_WIDE_ROWS) {
        const four by = ALL(0.5) * AT(x + l);
        for (int r = 0; r < KD_WIDE_ROWS; r++) sum[r] += (AT(a + 4 * r) + AT(b + 4 * r)) * by;
    }
    for (int r = 0; r < KD_WIDE_ROWS; r += 4) SUMS(sum[r], sum[r + 1], sum[r + 2], sum[r + 3], PUT(out + r));
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
    double    now[KD_WIDE_ROWS];
    copy_modes(c->m, q, s->q);
    add_slopes(c->nfours, c->m, c->four_at, c->row, c->row_q, s->q, s->row);
    sum_means(mp, c->row, s->row, s->q, now);
    s->J = (kd_sym3){c->J.xx + now[0], c->J.yy + now[1], c->J.zz + now[2],
                     c->J.xy + now[3], c->J.xz + now[4], c->J.yz + now[5]};
    s->h = kd_vec_add(c->first, kd_vec_of(now + 9));
}

// q' bend q of the shifts, two fours at a time; row (NULL: not wanted) = that of the marker + bend q
static inline void bend_rows(const kd_marker *marker, const double *restrict q, double *restrict row,
                             double           sum[KD_MARKER_ROWS])
{
    const int  n = marker->nbends, m = marker->m;
    const int *at = marker->bend_at, *block = marker->bend_block, *along = marker->bend_along;
    for (int a = 0; a < KD_MARKER_ROWS; a++) sum[a] = 0;
    for (int i = 0; i < n; i += 2) {
        const int     other = i + 1 < n ? i + 1 : i;
        const double *slope = marker->bend_q + 4 * i;
        const int     step = 4 * (other - i);
        four          a = ALL(0), b = ALL(0);
        for (int k = 0; k < m; k++, slope += 4 * n) a += ALL(q[k]) * AT(slope), b += ALL(q[k]) * AT(slope + step);
        if (row) PUT(row + at[i]) = AT(marker->row + at[i]) + a, PUT(row + at[other]) = AT(marker->row + at[other]) + b;
        a *= AT(q + 4 * block[i]), b *= AT(q + 4 * block[other]);
        sum[along[i]] += SUM(a);
        if (other > i) sum[along[other]] += SUM(b);
    }
}

// shifts and turns (6) of the amplitudes, Phi q + q' bend q/2; row: as they are now, of a marker that bends
static inline void marker_amounts(const kd_marker *marker, const double *q, double *row, double e[8])
{
    double more[KD_MARKER_ROWS];
    sum_rows(KD_MARKER_ROWS, KD_MARKER_ROWS, marker->mp, marker->row, q, e);
    if (marker->nbends == 0) return;
    bend_rows(marker, q, row, more);
    for (int a = 0; a < 3; a++) e[a] += 0.5 * more[a];
}

// rates of shifts and turns by those of the amplitudes; row: as they are now
kd_axis KD_KERNEL(kd_marker_rates)(const kd_marker *marker, const double *row, const double *rate)
{
    double e[8];
    sum_rows(KD_MARKER_ROWS, KD_MARKER_ROWS, marker->mp, row, rate, e);
    return (kd_axis){.w = kd_vec_of(e + 3), .u = kd_vec_of(e)};
}

// q' bend q' of the shifts
kd_axis KD_KERNEL(kd_marker_bend)(const kd_marker *marker, const double *dq)
{
    double sum[KD_MARKER_ROWS];
    bend_rows(marker, dq, NULL, sum);
    return (kd_axis){.u = kd_vec_of(sum)};
}

// a turn about one axis of R: the other two
static inline void turn(kd_v3 *a, kd_v3 *b, double c, double s)
{
    const kd_v3 old = *a;
    *a = kd_v3_axpy(kd_v3_scale(c, old), s, *b);
    *b = kd_v3_axpy(kd_v3_scale(c, *b), -s, old);
}

// the word of eight letters; their motions about the point of the parent
void KD_KERNEL(kd_marker_place)(const kd_marker *marker, const double *q, const kd_link *l,
                                const kd_link_motion *parent, double *row, kd_axis *axis, kd_link_motion *own)
{
    double e[8], angle[4], c[4], s[4];
    marker_amounts(marker, q, row, e);
    // shifts in the axes of the frame A, then turns x/2 y/2 z y/2 x/2
    angle[0] = 0.5 * e[3], angle[1] = 0.5 * e[4], angle[2] = e[5], angle[3] = 0;
    KD_KERNEL(kd_sine_cosine)(3, angle, s, c);
    const kd_m3 B = kd_m3_load(&parent->R);
    kd_m3       R = {kd_m3_vec(&B, &l->E.x), kd_m3_vec(&B, &l->E.y), kd_m3_vec(&B, &l->E.z)};
    const kd_v3 up = kd_v3_load(&parent->P);
    const kd_v3 P = kd_m3_axpy(kd_m3_axpy(up, &B, &l->r), &R, (const kd_vec3 *)e);
    kd_v3       w[5];
    kd_v3_store(&axis[0].u, R.x);
    kd_v3_store(&axis[1].u, R.y);
    kd_v3_store(&axis[2].u, R.z);
    w[0] = R.x;
    turn(&R.y, &R.z, c[0], s[0]);
    w[1] = R.y;
    turn(&R.z, &R.x, c[1], s[1]);
    w[2] = R.z;
    turn(&R.x, &R.y, c[2], s[2]);
    w[3] = R.y;
    turn(&R.z, &R.x, c[1], s[1]);
    w[4] = R.x;
    turn(&R.y, &R.z, c[0], s[0]);
    // a turn leaves P where it is
    const kd_v3 back = kd_v3_sub(up, P);
    for (int a = 0; a < 5; a++) {
        kd_v3_store_four(&axis[3 + a].w, w[a]);
        kd_v3_store(&axis[3 + a].u, kd_v3_cross(w[a], back));
    }
    kd_v3_store_four(&own->R.x, R.x);
    kd_v3_store_four(&own->R.y, R.y);
    kd_v3_store_four(&own->R.z, R.z);
    kd_v3_store(&own->P, P);
}

// ---- velocity ------------------------------------------------------------------------------------------------------

void KD_KERNEL(kd_wide_move)(const kd_wide *c, const double *dq, kd_wide_state *s)
{
    const int mp = c->mp;
    double    sum[KD_WIDE_ROWS];
    copy_modes(c->m, dq, s->dq);
    sum_rows(KD_WIDE_ROWS, KD_WIDE_ROWS, mp, s->row, s->dq, sum);
    s->dJ = (kd_sym3){sum[0], sum[1], sum[2], sum[3], sum[4], sum[5]};
    s->beta = kd_vec_of(sum + 6);
    s->p = kd_vec_of(sum + 9);
    add_slopes(c->nturn_fours, c->m, c->turn_at, NULL, c->turn_q, s->dq, s->gyro);
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
        double sum[8];
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
__attribute__((always_inline)) static inline void add_hanging(const bool first, int m, int mp, const double *own,
                                                              kd_wide_state *s, const double *row,
                                                              const kd_axis *letter, double I[6][6], const double b[6])
{
    const int ld = mp + KD_WIDE_TAIL;
    double *restrict column = s->column, *restrict all = s->S, *restrict forces = s->IS;
    double X[6][6];
    // four modes at a time: S = X Phi, then I S; they are given on to the parent with -S'b
    marker_matrix(letter, X);
    for (int l = 0; l < mp; l += 4) {
        double *S = all + 6 * l, *IS = forces + 6 * l, *give = s->give + 8 * l;
        marker_motions(row + 6 * l, X, S);
        const four x = AT(S), y = AT(S + 4), z = AT(S + 8), u = AT(S + 12), v = AT(S + 16), w = AT(S + 20);
        for (int r = 0; r < 6; r++) {
            const four U = ALL(I[0][r]) * x + ALL(I[1][r]) * y + ALL(I[2][r]) * z + ALL(I[3][r]) * u +
                           ALL(I[4][r]) * v + ALL(I[5][r]) * w;
            PUT(IS + 4 * r) = U;
            PUT(give + 4 * r) = BEFORE(first, give + 4 * r) + U;
        }
        PUT(give + 24) = BEFORE(first, give + 24) - ALL(b[0]) * x - ALL(b[1]) * y - ALL(b[2]) * z - ALL(b[3]) * u -
                         ALL(b[4]) * v - ALL(b[5]) * w;
    }
    // S' I S, lower triangle from the block of four that the diagonal lies in
    for (int k = 0; k < m; k++, column += ld, own += ld) {
        const double *U = forces + 24 * (k / 4) + k % 4;
        const four    a = ALL(U[0]), b1 = ALL(U[4]), c1 = ALL(U[8]), d = ALL(U[12]), e = ALL(U[16]), f = ALL(U[20]);
        for (int l = k & ~3; l < mp; l += 4) {
            const double *S = all + 6 * l;
            PUT(column + l) = AT((first ? own : column) + l) + a * AT(S) + b1 * AT(S + 4) + c1 * AT(S + 8) +
                              d * AT(S + 12) + e * AT(S + 16) + f * AT(S + 20);
        }
    }
}

void KD_KERNEL(kd_wide_add_marker)(const kd_wide *c, kd_wide_state *s, const double *row, const kd_axis *letter,
                                   double I[6][6], const double b[6])
{
    const bool first = !s->begun;
    s->begun = true;
    if (c->m == 8 && first)
        add_hanging(true, 8, 8, c->column, s, row, letter, I, b);
    else if (first)
        add_hanging(true, c->m, c->mp, c->column, s, row, letter, I, b);
    else
        add_hanging(false, c->m, c->mp, c->column, s, row, letter, I, b);
}

// give = 0, columns of the modes as without markers: where none came before
static void start_columns(const kd_wide *c, kd_wide_state *s)
{
    const int n = (c->mp + KD_WIDE_TAIL) * c->m;
    for (int i = 0; i < n; i += 4) PUT(s->column + i) = AT(c->column + i);
    for (int i = 0; i < 8 * c->mp; i += 4) PUT(s->give + i) = ALL(0);
}

// give += what the link itself needs for unit q'', and tau - Q (tau (m) NULL: 0)
void KD_KERNEL(kd_wide_give)(const kd_wide *c, kd_wide_state *s, const kd_link_motion *motion, const double *tau)
{
    const double *R = &motion->R.x.x;
    // forces of the modes without what drives them
    if (!s->begun) start_columns(c, s);
    if (tau) subtract_modes(c->m, tau, s->Q);
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

// moment, force and own load of each mode behind its column: give, turned over in blocks of four by four
static inline void put_tails(int m, int mp, const double *restrict give, double *restrict all)
{
    const int ld = mp + KD_WIDE_TAIL;
    for (int l = 0; l < mp; l += 4, give += 32) {
        four    a = AT(give), b = AT(give + 4), c = AT(give + 8), d = AT(give + 12);
        four    e = AT(give + 16), f = AT(give + 20), g = AT(give + 24), h = AT(give + 28);
        double *tail = all + l * ld + mp;
        TRANSPOSE(a, b, c, d);
        TRANSPOSE(e, f, g, h);
        PUT(tail) = a, PUT(tail + 4) = e;
        if (l + 1 < m) PUT(tail + ld) = b, PUT(tail + ld + 4) = f;
        if (l + 2 < m) PUT(tail + 2 * ld) = c, PUT(tail + 2 * ld + 4) = g;
        if (l + 3 < m) PUT(tail + 3 * ld) = d, PUT(tail + 3 * ld + 4) = h;
    }
}

// Column j minus those before it, in runs of 16, 12, 8, 4 rows that stay in registers; then d_j, and the column of L that later ones
// are eliminated with. false: no pivot
static inline bool eliminate_column(int j, int mp, double least, double *restrict all, double *restrict L,
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
static inline double largest_pivot(int m, int mp, const double *all)
{
    double largest = 0;
    for (int j = 0; j < m; j++, all += mp + KD_WIDE_TAIL + 1)
        if (*all > largest) largest = *all;
    return largest;
}

// The same for up to eight modes, of which the compiler knows everything
static inline int eliminate_few(int m, int mp, kd_wide_state *s)
{
    put_tails(m, mp, s->give, s->column);
    const double least = least_pivot * largest_pivot(m, mp, s->column);
#pragma GCC unroll 8
    for (int j = 0; j < mp; j++) {
        if (j == m) break;
        if (!eliminate_column(j, mp, least, s->column, s->factor, s->pivot)) return j;
    }
    return -1;
}

// give goes behind the columns of the modes, then all is eliminated: column j = d_j times that of L in L D L', the part behind it
// U, u of the mode. Answers the mode without pivot, or -1.
int KD_KERNEL(kd_wide_eliminate)(const kd_wide *c, kd_wide_state *s)
{
    const int m = c->m, mp = c->mp;
    if (mp == 4) return eliminate_few(m, 4, s);
    if (mp == 8) return eliminate_few(m, 8, s);
    put_tails(m, mp, s->give, s->column);
    const double least = least_pivot * largest_pivot(m, mp, s->column);
    for (int j = 0; j < m; j++)
        if (!eliminate_column(j, mp, least, s->column, s->factor, s->pivot)) return j;
    return -1;
}

// q'' of the modes into answer, four of them at a time, the last ones first
static inline void give_way_modes(int m, int mp, kd_wide_state *s, const double a[6])
{
    const int ld = mp + KD_WIDE_TAIL;
    double *restrict x = s->answer;
    const double *restrict all = s->column;
    const four motion = AT(a), rest = {a[4], a[5], -1, 0};
    for (int l = mp - 4; l >= 0; l -= 4) {
        four sum[4], own;
        // tails times (a, -1), columns of the modes behind this block times their q''
        for (int e = 0; e < 4; e++) {
            const double *column = all + (l + e) * ld;
            sum[e] = ALL(0);
            if (l + e >= m) continue;
            sum[e] = AT(column + mp) * motion + AT(column + mp + 4) * rest;
            for (int i = l + 4; i < mp; i += 4) sum[e] += AT(column + i) * AT(x + i);
        }
        SUMS(sum[0], sum[1], sum[2], sum[3], own);
        // inside of the block one by one, the last one first
        const double *c0 = all + l * ld + l, *c1 = c0 + ld, *c2 = c1 + ld;
        const double *by = s->pivot + l;
        const double  x3 = l + 3 < m ? -by[3] * own[3] : 0;
        const double  x2 = l + 2 < m ? -by[2] * (own[2] + c2[3] * x3) : 0;
        const double  x1 = l + 1 < m ? -by[1] * (own[1] + c1[2] * x2 + c1[3] * x3) : 0;
        const double  x0 = -by[0] * (own[0] + c0[1] * x1 + c0[2] * x2 + c0[3] * x3);
        PUT(x + l) = (four){x0, x1, x2, x3};
    }
}

// q'' = inv(L') (inv(D) u - V a): each column times (what is known of q'', a, -1)
void KD_KERNEL(kd_wide_give_way)(const kd_wide *c, kd_wide_state *s, const double a[6], double *ddq)
{
    if (c->mp == 8)
        give_way_modes(c->m, 8, s, a);
    else
        give_way_modes(c->m, c->mp, s, a);
    for (int l = 0; l < c->mp; l += 4) PUT(s->ddq + l) = AT(s->answer + l);
    copy_modes(c->m, s->answer, ddq);
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

static const double rounding = 1e-14; // part of the largest slope of its kind that is none

// largest entry of four i of n, for all k
static double largest_four(int i, int n, int m, const double *all)
{
    double largest = 0;
    for (int k = 0; k < m; k++)
        for (int e = 0; e < 4; e++) largest = fmax(largest, fabs(all[4 * (i + n * k) + e]));
    return largest;
}

// The fours of (4 n x m) that are not 0 for every k: how many, where they stand, and the slopes of these alone. Of nrows rows of a
// block moments come first; slopes of C are of another kind.
static int keep_fours(int nrows, int moments, int n, int m, const double *all, kd_arena *arena, const int **at,
                      const double **kept)
{
    int    *place = kd_cut_int(arena, n), nkept = 0;
    double *out = kd_cut_matrix(arena, 4 * n, m), largest[2] = {0, 0};
    for (int i = 0; i < n; i++) {
        double *kind = &largest[i % nrows >= moments];
        *kind = fmax(*kind, largest_four(i, n, m, all));
    }
    for (int i = 0; i < n && !arena->failed; i++)
        if (largest_four(i, n, m, all) > rounding * largest[i % nrows >= moments]) place[nkept++] = 4 * i;
    for (int k = 0; k < m && !arena->failed; k++)
        for (int i = 0; i < nkept; i++) memcpy(out + 4 * (i + nkept * k), all + place[i] + 4 * n * k, 4 * sizeof *out);
    *at = place;
    *kept = out;
    return nkept;
}

bool kd_wide_finish(kd_wide *c, kd_arena *arena)
{
    const int m = c->m, mp = (m + 3) / 4 * 4, ld = mp + KD_WIDE_TAIL;
    kd_arena  scratch = {0};
    c->mp = mp;
    c->nturns = c->C_q || c->b_q ? 9 : 3;
    double *row = kd_cut_matrix(arena, mp, KD_WIDE_ROWS), *row_q = kd_cut_matrix(&scratch, mp * KD_WIDE_ROWS, m);
    double *turn_q = kd_cut_matrix(&scratch, mp * c->nturns, m), *column = kd_cut_matrix(arena, ld, m);
    for (int l = 0; l < m && !arena->failed && !scratch.failed; l++) {
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
    c->row = row, c->column = column;
    if (!arena->failed && !scratch.failed) {
        c->nfours = keep_fours(KD_WIDE_ROWS, 9, mp / 4 * KD_WIDE_ROWS, m, row_q, arena, &c->four_at, &c->row_q);
        c->nturn_fours = keep_fours(c->nturns, 6, mp / 4 * c->nturns, m, turn_q, arena, &c->turn_at, &c->turn_q);
    }
    const bool failed = arena->failed || scratch.failed;
    kd_arena_release(&scratch);
    return !failed;
}

// slopes of the shifts in blocks of four modes, as far as they are not 0
static bool keep_bends(kd_marker *c, kd_arena *arena)
{
    const int m = c->m, n = c->mp / 4 * KD_MARKER_ROWS;
    kd_arena  scratch = {0};
    double   *all = kd_cut_matrix(&scratch, 4 * n, m);
    for (int l = 0; l < m && !scratch.failed; l++)
        for (int k = 0; k < m; k++)
            for (int a = 0; a < 3; a++)
                rows_of(all + 4 * n * l, KD_MARKER_ROWS, k)[4 * a] = c->bend[a + 3 * (k + m * l)];
    if (!scratch.failed) c->nbends = keep_fours(KD_MARKER_ROWS, 3, n, m, all, arena, &c->bend_at, &c->bend_q);
    int *block = kd_cut_int(arena, c->nbends), *along = kd_cut_int(arena, c->nbends);
    for (int i = 0; i < c->nbends && !arena->failed; i++) {
        block[i] = c->bend_at[i] / 4 / KD_MARKER_ROWS;
        along[i] = c->bend_at[i] / 4 % KD_MARKER_ROWS;
    }
    c->bend_block = block, c->bend_along = along;
    const bool failed = arena->failed || scratch.failed;
    kd_arena_release(&scratch);
    return !failed;
}

// Does mode k move the letter, now or once others have moved?
static bool is_moved(const kd_marker *c, int letter, int k)
{
    const int along = kd_marker_along[letter];
    if (c->Phi[along + 6 * k] != 0) return true;
    for (int l = 0; kd_marker_bends(c, letter) && l < c->m; l++)
        if (c->bend[along + 3 * (k + c->m * l)] != 0) return true;
    return false;
}

bool kd_marker_finish(kd_marker *c, kd_arena *arena)
{
    const int m = c->m, mp = (m + 3) / 4 * 4, most = KD_MARKER_LETTERS * m;
    double   *row = kd_cut_matrix(arena, mp, KD_MARKER_ROWS);
    int      *letter = kd_cut_int(arena, most), *mode = kd_cut_int(arena, most), n = 0;
    if (arena->failed) return false;
    c->mp = mp;
    if (c->bend && !keep_bends(c, arena)) return false;
    for (int k = 0; k < m; k++)
        for (int a = 0; a < 6; a++) rows_of(row, KD_MARKER_ROWS, k)[4 * a] = c->Phi[6 * k + a];
    // steps of paths letter by letter
    for (int a = 0; a < KD_MARKER_LETTERS; a++)
        for (int k = 0; k < m; k++)
            if (is_moved(c, a, k)) letter[n] = a, mode[n++] = k;
    c->row = row, c->letter = letter, c->mode = mode, c->nsteps = n;
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
    if (!arena->failed) memcpy(s->row, c->row, (size_t)(KD_WIDE_ROWS * mp) * sizeof *s->row);
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
