// wide.h: links that deform: small deformation by few modes on top of the motion of a link.
//
// A wide link has no joint of its own: it stands still in its parent, and its dofs are the amplitudes q of m modes. Its
// points are at c(q) = x + sum phi_l q_l (+ quadratic terms where geometric stiffness is known). All that inertia needs are
// moments of c and of its slopes, in the axes of the link, polynomials of q:
//
//     h = int c,   C_l = int c_l,   D_l = int c c_l',   J = tr S - S with S = int c c',   b_l = int c x c_l   (c_l = dc/dq_l)
//
// and constant ones: the mass, M_kl = int phi_k' phi_l and T_kl = int phi_k x phi_l. With the angular velocity w, its rate dw and the
// acceleration a of the origin, E = sum q_l' D_l and p = sum q_l' C_l, Lagrange's equations of that kinetic energy are
//
//     F   = m a + dw x h + w x (w x h) + 2 w x p + sum C_l q_l'' + sum C_kl q_k' q_l'
//     N   = h x a + J dw + w x J w + 2 (tr E - E') w + sum b_l q_l'' + sum b_kl q_k' q_l'
//     Q_l = C_l a + b_l dw + w' D_l w - w w tr D_l + 2 w sum T_kl q_k' + sum M_lk q_k''
//
// C_kl, b_kl: symmetric slopes of C and b by q, from geometric stiffness. Others hang on markers: links without inertia and dofs
// that follow the modes of their parent by a word of eight letters, each of which moves by a combination Phi q of the amplitudes:
// shifts along x, y, z, then half the turns about x and y, the turn about z, the other halves about y and x. That is the rotation by the
// vector of the three turns up to terms of third order, as no order of three whole turns is. Shifts may move along with the deformation
// to second order, Phi q + q' bend q/2: forces there stiffen or soften the body then. docs/methods/wide_link.md
#ifndef KARDAN_TREE_WIDE_H
#define KARDAN_TREE_WIDE_H

#include "core/memory.h"
#include "joint/joint.h"
#include "math/space.h"

typedef struct kd_wide {
    int           m;
    double        mass;
    kd_vec3       first;  // int x
    kd_mat3       second; // int x x'
    const double *C;      // (3 x m) at q = 0
    const double *C_q;    // (3 x m x m) C_kl at 3 (k + m l); NULL: 0
    const double *D;      // (9 x m) at q = 0, column by column
    const double *D_q;    // (9 x m x m) slope of D_l by q_k at 9 (k + m l)
    const double *T;      // (3 x m x m) T_kl at 3 (k + m l)
    const double *b_q;    // (3 x m x m) b_kl; NULL: 0
    const double *M;      // (m x m)
    // The same in blocks of four modes, filled up with zeros, as the processor likes them: a block has its rows one behind the other,
    // four numbers each. By kd_wide_finish. Rows: J_l = 2 tr D_l - D_l - D_l' (xx yy zz xy xz yz), C_l (3), b_l (3)
    int           mp;     // m, rounded up to fours
    int           nturns; // rows of gyro: 3 (T), 9 (b_kl and C_kl, too)
    kd_sym3       J;      // at q = 0
    const double *row;    // (12 x mp) at q = 0
    // what q_k gives to rows, and q_k' to T_kl q_k', b_kl q_k', C_kl q_k': only those fours of a block that one of the modes gives to
    int           nfours, nturn_fours;
    const int    *four_at, *turn_at; // (nfours), (nturn_fours) where they stand in row, in kd_wide_state.gyro
    const double *row_q;             // (4 x mp x nfours) slopes by q_k, those of a four side by side
    const double *turn_q;            // (4 x mp x nturn_fours)
    const double *column;            // ((mp + 8) x mp) M, zeros below
} kd_wide;

enum { KD_WIDE_ROWS = 12, KD_WIDE_TAIL = 8 };
enum { KD_MARKER_LETTERS = 8, KD_MARKER_RATES = 8, KD_MARKER_BEND = 9, KD_MARKER_AXES = 10, KD_MARKER_ROWS = 6 };

// of the three shifts and three turns that a letter moves along, and which part of it
static const int    kd_marker_along[KD_MARKER_LETTERS] = {0, 1, 2, 3, 4, 5, 4, 3};
static const double kd_marker_part[KD_MARKER_LETTERS] = {1, 1, 1, 0.5, 0.5, 1, 0.5, 0.5};

// The motions of a marker stand at kd_link.letter of kd_motion.axis, about the point P of its parent: eight letters, then the rates
// of shifts (u) and turns (w), and what shifts add to their acceleration, q' bend q' (u). Steps of paths over it are one letter times
// one mode each, as far as Phi or bend is not 0.
typedef struct kd_marker {
    int           m;
    const double *Phi;  // (6 x m) shifts, turns per amplitude
    const double *bend; // (3 x m x m) slope of shifts of mode k by q_l at 3 (k + m l), symmetric; NULL: 0
    // filled by kd_marker_finish
    bool          still; // no mode moves it
    int           mp;
    const double *row; // (6 x mp) Phi in blocks of four modes
    // slopes of row by q_l: the fours that are not 0 for all modes, and where they stand
    int           nbends;
    const int    *bend_at, *bend_block, *bend_along; // (nbends) in row; block of four modes, shift
    const double *bend_q;                            // (4 x mp x nbends)
    int           nsteps;
    const int    *letter, *mode; // (nsteps) rising letters
} kd_marker;

// One thread's numbers of a wide link, its axes.
typedef struct kd_wide_state {
    // position
    kd_vec3 h;
    kd_sym3 J, dJ; // and its rate
    double *q;     // (mp)
    double *row;   // (12 x mp) as kd_wide.row; fours that no mode gives to stay
    // velocity
    kd_vec3 p, beta;      // sum C_l q_l', sum b_l q_l'
    kd_vec3 C_qq, b_qq;   // sum C_kl q_k' q_l', sum b_kl q_k' q_l'
    double *dq, *ddq, *Q; // (mp)
    double *gyro;         // (mp x nturns) sum_k T_kl q_k', b_kl q_k', C_kl q_k'
    // articulated body, world axes: what unit q'' needs as moment and force about P, and what is left for the modes to carry
    double *S;  // (6 x mp) motions of one marker
    double *IS; // (8 x mp) what it needs for them
    double
        *column; // ((mp + 8) x mp) of modes by modes, behind them moment, what is left, force, 0; eliminated in place
    double *factor; // (mp x mp) L of that
    double *pivot;  // (mp) inverse ones
    // what other algorithms sum up over the markers, world axes
    double *U;                 // (6 x m) moment, force of unit q'' about P
    double *W;                 // (m x m) modes by modes
    double *by_p, *by_v;       // (6 x m) changes of moment and force about the common point
    double *B;                 // (3 x m) Coriolis rows
    double *block_p, *block_v; // (m x m)
} kd_wide_state;

// An array that starts a line of the cache
double *kd_cut_fours(kd_arena *arena, int rows, int columns);
// Fill in what follows from the moments, from Phi; false: memory is short
bool kd_wide_finish(kd_wide *c, kd_arena *arena);
bool kd_marker_finish(kd_marker *c, kd_arena *arena);
bool kd_wide_cut(const kd_wide *c, kd_arena *arena, kd_wide_state *s);

// Three rows of mode l, from the first on
static inline kd_vec3 kd_wide_row(const double *row, int nrows, int first, int l)
{
    const double *at = row + 4 * (nrows * (l / 4) + first) + l % 4;
    return kd_vec(at[0], at[4], at[8]);
}
static inline kd_vec3 kd_wide_b(const kd_wide_state *s, int l)
{
    return kd_wide_row(s->row, KD_WIDE_ROWS, 9, l);
}
static inline kd_vec3 kd_wide_C(const kd_wide_state *s, int l)
{
    return kd_wide_row(s->row, KD_WIDE_ROWS, 6, l);
}

// D of J = 2 tr D - D - D' and b = int c x d: together they have all of it
static inline kd_mat3 kd_wide_moment(kd_sym3 J, kd_vec3 b)
{
    const double  t = 0.25 * (J.xx + J.yy + J.zz);
    const kd_vec3 d = kd_vec_scale(0.5, b), o = kd_vec(-0.5 * J.yz, -0.5 * J.xz, -0.5 * J.xy);
    return (kd_mat3){{t - 0.5 * J.xx, o.z - d.z, o.y + d.y},
                     {o.z + d.z, t - 0.5 * J.yy, o.x - d.x},
                     {o.y - d.y, o.x + d.x, t - 0.5 * J.zz}};
}

// Shift or turn `along` of a marker by mode k, of rows in blocks of four modes: as it is now (kd_motion_marker)
static inline double kd_marker_slope(const double *row, int along, int k)
{
    return row[4 * (KD_MARKER_ROWS * (k / 4) + along) + k % 4];
}

// Does a letter move along with the deformation to second order?
static inline bool kd_marker_bends(const kd_marker *marker, int letter)
{
    return marker->nbends > 0 && letter < 3;
}

// sum_k bend_kl rate_k of one shift
static inline double kd_marker_bend_rate(const kd_marker *marker, int along, int l, const double *rate)
{
    const double *bend = marker->bend + along + 3 * marker->m * l;
    double        sum = 0;
    for (int k = 0; k < marker->m; k++) sum += bend[3 * k] * rate[k];
    return sum;
}

// What mode k does, about the point of the wide link: the letters by the rows of the marker as they are now
static inline kd_axis kd_marker_sum(const double *row, const kd_axis *letter, int k)
{
    kd_axis sum = {{0, 0, 0}, {0, 0, 0}};
    for (int a = 0; a < KD_MARKER_LETTERS; a++) {
        const double by = kd_marker_part[a] * kd_marker_slope(row, kd_marker_along[a], k);
        sum = (kd_axis){kd_vec_axpy(sum.w, by, letter[a].w), kd_vec_axpy(sum.u, by, letter[a].u)};
    }
    return sum;
}

// Kinetic energy and momentum (of the body: force; about its origin: moment) for w, v of the origin, in the axes of the link
double  kd_wide_energy(const kd_wide *c, const kd_wide_state *s, kd_vec3 w, kd_vec3 v);
kd_vec3 kd_wide_momentum(const kd_wide *c, const kd_wide_state *s, kd_vec3 w, kd_vec3 v);
kd_vec3 kd_wide_spin(const kd_wide_state *s, kd_vec3 w, kd_vec3 v);

#endif
