// wide.c: moments of a link that deforms at its position and velocity, its inertia forces, and the motions of markers on
// it. Equations: wide.h
#include "tree/wide.h"

#include <string.h>

#include "joint/place.h"
#include "tree/work.h"

// ---- vectors in arrays ---------------------------------------------------------------------------------------------

// column by column, as kd_mat3
static inline kd_mat3 mat_at(const double *a)
{
    return (kd_mat3){kd_vec_of(a), kd_vec_of(a + 3), kd_vec_of(a + 6)};
}
static inline double trace9(const double *a)
{
    return a[0] + a[4] + a[8];
}
// int c x d of a matrix int c d'
static inline void axial(const double *a, double *out)
{
    out[0] = a[7] - a[5];
    out[1] = a[2] - a[6];
    out[2] = a[3] - a[1];
}
// out (n) = a (n) + sum_k x_k slope_k, slopes of length n side by side
static inline void add_slopes(int n, int m, const double *a, const double *slope, const double *x, double *out)
{
    for (int i = 0; i < n; i++) out[i] = a[i];
    for (int k = 0; k < m; k++)
        for (int i = 0; i < n; i++) out[i] += x[k] * slope[n * k + i];
}
// tr A - A
static inline kd_mat3 trace_less(const kd_mat3 *A)
{
    const double t = A->x.x + A->y.y + A->z.z;
    return (kd_mat3){{t - A->x.x, -A->x.y, -A->x.z}, {-A->y.x, t - A->y.y, -A->y.z}, {-A->z.x, -A->z.y, t - A->z.z}};
}

// ---- position ------------------------------------------------------------------------------------------------------

// h = int x + sum q_l (C_l(0) + C_l(q))/2,  S the same with D + D'
static void sum_moments(const kd_wide *c, const double *q, kd_wide_state *s)
{
    kd_vec3 h = c->first;
    kd_mat3 S = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    double *out = &S.x.x;
    for (int l = 0; l < c->m; l++) {
        const double half = 0.5 * q[l];
        h = kd_vec_axpy(h, half, kd_vec_add(kd_vec_of(c->C + 3 * l), kd_vec_of(s->C + 3 * l)));
        for (int i = 0; i < 9; i++) out[i] += half * (c->D[9 * l + i] + s->D[9 * l + i]);
    }
    const kd_mat3 T = kd_mat_transpose(&S);
    S = (kd_mat3){kd_vec_add(c->second.x, kd_vec_add(S.x, T.x)), kd_vec_add(c->second.y, kd_vec_add(S.y, T.y)),
                  kd_vec_add(c->second.z, kd_vec_add(S.z, T.z))};
    s->h = h;
    s->J = trace_less(&S);
}

void KD_KERNEL(kd_wide_place)(const kd_wide *c, const double *q, kd_wide_state *s)
{
    const int m = c->m;
    for (int l = 0; l < m; l++) {
        add_slopes(9, m, c->D + 9 * l, c->D_q + 9 * m * l, q, s->D + 9 * l);
        axial(s->D + 9 * l, s->b + 3 * l);
    }
    for (int l = 0; c->C_q && l < m; l++) add_slopes(3, m, c->C + 3 * l, c->C_q + 3 * m * l, q, s->C + 3 * l);
    if (!c->C_q) memcpy(s->C, c->C, (size_t)(3 * m) * sizeof *s->C);
    sum_moments(c, q, s);
}

// the word of eight letters; their motions about the point of the parent, sums over the letters, steps
void KD_KERNEL(kd_marker_place)(const kd_marker *marker, const double *q, const kd_link *l,
                                const kd_link_motion *parent, kd_axis *axis, kd_link_motion *own)
{
    const int m = marker->m;
    double    e[6] = {0};
    for (int k = 0; k < m; k++)
        for (int a = 0; a < 6; a++) e[a] += marker->Phi[6 * k + a] * q[k];
    // shifts in the axes of the frame A, then turns x/2 y/2 z y/2 x/2
    const double  cx = cos(0.5 * e[3]), sx = sin(0.5 * e[3]), cy = cos(0.5 * e[4]), sy = sin(0.5 * e[4]);
    kd_mat3       R = kd_mat_mul(&parent->R, &l->E);
    const kd_mat3 A = R;
    const kd_vec3 P = kd_vec_add(parent->P, kd_vec_add(kd_mat_vec(&parent->R, l->r), kd_mat_vec(&R, kd_vec_of(e))));
    axis[0] = (kd_axis){.u = A.x};
    axis[1] = (kd_axis){.u = A.y};
    axis[2] = (kd_axis){.u = A.z};
    axis[3].w = A.x;
    kd_turn_x(&R, cx, sx);
    axis[4].w = R.y;
    kd_turn_y(&R, cy, sy);
    axis[5].w = R.z;
    kd_turn_z(&R, cos(e[5]), sin(e[5]));
    axis[6].w = R.y;
    kd_turn_y(&R, cy, sy);
    axis[7].w = R.x;
    kd_turn_x(&R, cx, sx);
    // a turn leaves P where it is
    const kd_vec3 back = kd_vec_sub(parent->P, P);
    for (int a = 3; a < KD_MARKER_LETTERS; a++) axis[a].u = kd_vec_cross(axis[a].w, back);
    own->R = R;
    own->P = P;
    kd_axis      *sum = axis + KD_MARKER_SUMS, *step = sum + m;
    const kd_vec3 turn[2] = {kd_vec_scale(0.5, kd_vec_add(axis[3].w, axis[7].w)),
                             kd_vec_scale(0.5, kd_vec_add(axis[4].w, axis[6].w))};
    for (int k = 0; k < m; k++) {
        const double *phi = marker->Phi + 6 * k;
        sum[k].w = kd_vec_axpy(kd_vec_axpy(kd_vec_scale(phi[3], turn[0]), phi[4], turn[1]), phi[5], axis[5].w);
        sum[k].u = kd_vec_add(kd_mat_vec(&A, kd_vec_of(phi)), kd_vec_cross(sum[k].w, back));
    }
    for (int i = 0; i < marker->nsteps; i++) {
        const int      letter = marker->letter[i];
        const kd_axis *a = &axis[letter];
        const double   phi = kd_marker_part[letter] * marker->Phi[6 * marker->mode[i] + kd_marker_along[letter]];
        step[i] = (kd_axis){kd_vec_scale(phi, a->w), kd_vec_scale(phi, a->u)};
    }
}

// ---- velocity ------------------------------------------------------------------------------------------------------

// sum of slopes (3 x m x m) times dq dq
static kd_vec3 quadratic(int m, const double *slope, const double *dq)
{
    kd_vec3 sum = {0, 0, 0};
    if (!slope) return sum;
    for (int l = 0; l < m; l++) {
        kd_vec3 part = {0, 0, 0};
        for (int k = 0; k < m; k++) part = kd_vec_axpy(part, dq[k], kd_vec_of(slope + 3 * (k + m * l)));
        sum = kd_vec_axpy(sum, dq[l], part);
    }
    return sum;
}

void KD_KERNEL(kd_wide_move)(const kd_wide *c, const double *dq, kd_wide_state *s)
{
    static const double zero[3];
    const int           m = c->m;
    double              E[9] = {0};
    s->p = kd_vec(0, 0, 0);
    for (int l = 0; l < m; l++) {
        for (int i = 0; i < 9; i++) E[i] += dq[l] * s->D[9 * l + i];
        s->p = kd_vec_axpy(s->p, dq[l], kd_vec_of(s->C + 3 * l));
        add_slopes(3, m, zero, c->T + 3 * m * l, dq, s->gyro + 3 * l);
    }
    s->E = mat_at(E);
    s->C_qq = quadratic(m, c->C_q, dq);
    s->b_qq = quadratic(m, c->b_q, dq);
    memcpy(s->dq, dq, (size_t)m * sizeof *dq);
}

// ---- inertia forces ------------------------------------------------------------------------------------------------

// F, N (world axes, about P) and Q (m); ddq NULL: without accelerations of any kind
void KD_KERNEL(kd_wide_force)(const kd_wide *c, const kd_wide_state *s, const kd_link_motion *motion, const double *ddq,
                              kd_wrench *force, double *Q)
{
    const int     m = c->m;
    const kd_vec3 w = kd_mat_tvec(&motion->R, motion->w), none = {0, 0, 0};
    const kd_vec3 a = ddq ? kd_mat_tvec(&motion->R, motion->dv) : none;
    const kd_vec3 dw = ddq ? kd_mat_tvec(&motion->R, motion->dw) : none;
    const kd_mat3 Et = kd_mat_transpose(&s->E), gyro = trace_less(&Et);
    const double  ww = kd_vec_dot(w, w);
    // velocities
    kd_vec3 F = kd_vec_add(kd_vec_cross(w, kd_vec_axpy(kd_vec_cross(w, s->h), 2, s->p)), s->C_qq);
    kd_vec3 N = kd_vec_axpy(kd_vec_cross(w, kd_mat_vec(&s->J, w)), 2, kd_mat_vec(&gyro, w));
    N = kd_vec_add(N, s->b_qq);
    // accelerations
    F = kd_vec_add(kd_vec_axpy(F, c->mass, a), kd_vec_cross(dw, s->h));
    N = kd_vec_add(N, kd_vec_add(kd_vec_cross(s->h, a), kd_mat_vec(&s->J, dw)));
    for (int l = 0; l < m; l++) {
        const double *D = s->D + 9 * l;
        const kd_vec3 C = kd_vec_of(s->C + 3 * l), b = kd_vec_of(s->b + 3 * l);
        const kd_mat3 Dl = mat_at(D);
        double        sum = kd_vec_dot(w, kd_mat_vec(&Dl, w)) - ww * trace9(D);
        sum += 2 * kd_vec_dot(w, kd_vec_of(s->gyro + 3 * l));
        Q[l] = sum + kd_vec_dot(C, a) + kd_vec_dot(b, dw);
        if (!ddq) continue;
        F = kd_vec_axpy(F, ddq[l], C);
        N = kd_vec_axpy(N, ddq[l], b);
        for (int k = 0; k < m; k++) Q[l] += c->M[k + m * l] * ddq[k];
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
    kd_vec3   C = kd_vec_of(s->C + 3 * l), dC = {0, 0, 0}, ddC = {0, 0, 0};
    for (int k = 0; k < m; k++) { // D_k by q_l times q_k', q_k''
        const double *slope = c->D_q + 9 * (l + m * k);
        for (int i = 0; i < 9; i++) E[i] += s->dq[k] * slope[i], D[i] += s->ddq[k] * slope[i];
        if (!c->C_q) continue;
        dC = kd_vec_axpy(dC, s->dq[k], kd_vec_of(c->C_q + 3 * (k + m * l)));
        ddC = kd_vec_axpy(ddC, s->ddq[k], kd_vec_of(c->C_q + 3 * (k + m * l)));
    }
    // J_l = 2 tr D_l - D_l - D_l'
    const kd_mat3 Dl = mat_at(s->D + 9 * l), Dt = kd_mat_transpose(&Dl), one = trace_less(&Dl), two = trace_less(&Dt);
    const kd_mat3 J = {kd_vec_add(one.x, two.x), kd_vec_add(one.y, two.y), kd_vec_add(one.z, two.z)};
    const kd_mat3 El = mat_at(E), Et = kd_mat_transpose(&El), gyro = trace_less(&Et);
    axial(D, b);
    *F = kd_vec_add(kd_vec_cross(x->dw, C), kd_vec_cross(x->w, kd_vec_axpy(kd_vec_cross(x->w, C), 2, dC)));
    *F = kd_vec_add(*F, ddC);
    *N = kd_vec_add(kd_vec_cross(C, x->a), kd_mat_vec(&J, x->dw));
    *N = kd_vec_add(*N, kd_vec_cross(x->w, kd_mat_vec(&J, x->w)));
    *N = kd_vec_add(*N, kd_vec_axpy(kd_vec_of(b), 2, kd_mat_vec(&gyro, x->w)));
}

// by q_l'
static void force_by_velocity(const kd_wide *c, const kd_wide_state *s, const inner_motion *x, int l, kd_vec3 *N,
                              kd_vec3 *F)
{
    const kd_mat3 Dl = mat_at(s->D + 9 * l), Dt = kd_mat_transpose(&Dl), gyro = trace_less(&Dt);
    *F = kd_vec_scale(2, kd_vec_cross(x->w, kd_vec_of(s->C + 3 * l)));
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
            const double *D = c->D_q + 9 * (l + m * k);
            const kd_mat3 Dl = mat_at(D);
            double        b[3], sum = kd_vec_dot(x->w, kd_mat_vec(&Dl, x->w)) - x->ww * trace9(D);
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
        force_by_position(c, s, &x, l, &N, &F);
        add_wrench6(R, r, N, F, s->by_p + 6 * l);
        force_by_velocity(c, s, &x, l, &N, &F);
        add_wrench6(R, r, N, F, s->by_v + 6 * l);
        add_wrench6(R, r, kd_vec_of(s->b + 3 * l), kd_vec_of(s->C + 3 * l), s->U + 6 * l);
        // int (v + w x c + u') x c_l
        const kd_mat3 D = mat_at(s->D + 9 * l);
        kd_vec3       B = kd_vec_add(kd_vec_cross(x.v, kd_vec_of(s->C + 3 * l)), kd_vec_of(s->gyro + 3 * l));
        B = kd_vec_axpy(kd_vec_add(B, kd_mat_vec(&D, x.w)), -trace9(s->D + 9 * l), x.w);
        B = kd_mat_vec(R, kd_vec_scale(2, B));
        s->B[3 * l] += B.x, s->B[3 * l + 1] += B.y, s->B[3 * l + 2] += B.z;
    }
    modes_by_modes(c, s, &x);
}

// ---- elimination of the modes --------------------------------------------------------------------------------------

static const double least_pivot = 1e-14; // part of the largest diagonal entry

// W = L L' in place (lower triangle), V = inv(L) U', u = inv(L) u; the mode without pivot, or -1
int KD_KERNEL(kd_wide_eliminate)(const kd_wide *c, kd_wide_state *s)
{
    const int m = c->m;
    double    largest = 0;
    for (int j = 0; j < m; j++) largest = fmax(largest, s->W[j + m * j]);
    for (int j = 0; j < m; j++) {
        double *column = s->W + m * j;
        for (int k = 0; k < j; k++) {
            const double *other = s->W + m * k, factor = other[j];
            for (int i = j; i < m; i++) column[i] -= factor * other[i];
        }
        if (!(column[j] > least_pivot * largest)) return j;
        const double inverse = 1 / sqrt(column[j]);
        for (int i = j; i < m; i++) column[i] *= inverse;
        // row j of the right sides
        double *v = s->V + 6 * j;
        for (int a = 0; a < 6; a++) v[a] = s->U[6 * j + a];
        for (int k = 0; k < j; k++) {
            const double factor = s->W[j + m * k];
            for (int a = 0; a < 6; a++) v[a] -= factor * s->V[6 * k + a];
            s->u[j] -= factor * s->u[k];
        }
        const double pivot = 1 / column[j];
        for (int a = 0; a < 6; a++) v[a] *= pivot;
        s->u[j] *= pivot;
    }
    return -1;
}

// q'' = inv(L') (u - V a)
void KD_KERNEL(kd_wide_give_way)(const kd_wide *c, const kd_wide_state *s, const double a[6], double *ddq)
{
    const int m = c->m;
    for (int j = 0; j < m; j++) {
        const double *v = s->V + 6 * j;
        ddq[j] = s->u[j] - (v[0] * a[0] + v[1] * a[1] + v[2] * a[2] + v[3] * a[3] + v[4] * a[4] + v[5] * a[5]);
    }
    for (int j = m - 1; j >= 0; j--) {
        const double *column = s->W + m * j;
        for (int i = j + 1; i < m; i++) ddq[j] -= column[i] * ddq[i];
        ddq[j] /= column[j];
    }
}

#ifndef KD_AVX2_VARIANT

// ---- memory and energies -------------------------------------------------------------------------------------------

bool kd_wide_cut(const kd_wide *c, kd_arena *arena, kd_wide_state *s)
{
    const int m = c->m;
    double  **three[] = {&s->C, &s->b, &s->gyro, &s->B}, **six[] = {&s->U, &s->V, &s->by_p, &s->by_v};
    double  **one[] = {&s->dq, &s->ddq, &s->u}, **square[] = {&s->W, &s->block_p, &s->block_v};
    for (int i = 0; i < 4; i++) *three[i] = kd_cut_double(arena, 3 * m);
    for (int i = 0; i < 4; i++) *six[i] = kd_cut_double(arena, 6 * m);
    for (int i = 0; i < 3; i++) *one[i] = kd_cut_double(arena, m);
    for (int i = 0; i < 3; i++) *square[i] = kd_cut_matrix(arena, m, m);
    s->D = kd_cut_double(arena, 9 * m);
    return !arena->failed;
}

// T = m v v/2 + v (w x h) + w J w/2 + v p + w b + q' M q'/2
double kd_wide_energy(const kd_wide *c, const kd_wide_state *s, kd_vec3 w, kd_vec3 v)
{
    double T = 0.5 * c->mass * kd_vec_dot(v, v) + kd_vec_dot(v, kd_vec_add(kd_vec_cross(w, s->h), s->p));
    T += 0.5 * kd_vec_dot(w, kd_mat_vec(&s->J, w));
    for (int l = 0; l < c->m; l++) {
        double Mq = 0;
        for (int k = 0; k < c->m; k++) Mq += c->M[k + c->m * l] * s->dq[k];
        T += s->dq[l] * (kd_vec_dot(w, kd_vec_of(s->b + 3 * l)) + 0.5 * Mq);
    }
    return T;
}

kd_vec3 kd_wide_momentum(const kd_wide *c, const kd_wide_state *s, kd_vec3 w, kd_vec3 v)
{
    return kd_vec_axpy(kd_vec_add(kd_vec_cross(w, s->h), s->p), c->mass, v);
}

kd_vec3 kd_wide_spin(const kd_wide_state *s, kd_vec3 w, kd_vec3 v)
{
    double        b[3];
    const kd_vec3 sum = kd_vec_add(kd_vec_cross(s->h, v), kd_mat_vec(&s->J, w));
    axial(&s->E.x.x, b);
    return kd_vec_add(sum, kd_vec_of(b));
}

#endif
