// forms/statespace_impl.h: data of the form statespace, shared by statespace*.c. Not for others.
#ifndef KD_FORMS_STATESPACE_IMPL_H
#define KD_FORMS_STATESPACE_IMPL_H

#include <complex.h>

#include "core/archive.h"
#include "core/memory.h"
#include "forms/fault.h"
#include "math/dense.h"
#include "math/linsolve.h"
#include "point/acceleration.h"
#include "point/dense_output.h"
#include "point/position.h"

// Independent directions of one level, positions or velocities, with the matrix that gives the dependent ones:
//
//     [ S Z ] e = [ independent ]        S Z = S for velocities and where Z = I
//     [ C   ]     [ rows        ]        C = kept rows of [GZ; HZ] (GZ alone for positions)
//
// With unit rows S and S Z = S only Phi_u, the columns of C for the dependent coordinates, is factored (reduced).
typedef struct kd_chart_level {
    int          n;           // coordinates that S picks from: np or nv
    int          nind, rank;  // independent coordinates, kept rows
    bool         reduced;     // unit rows S alone
    int         *independent; // (n) partition: nind independent coordinates, then the dependent ones
    double      *S;           // (nind x n) tangent; not used by partition
    int         *rows;        // (rank) kept rows, numbers in [g; h]
    double      *C;           // (rank x nv) scaled by row
    double      *row;         // (nv) scale factors of the rows that are factored
    double      *unit;        // (n) natural units of the coordinates
    double      *LU;          // (order x order); the inverse of a Phi_u with at most KD_INVERT_MOST rows
    double      *N; // (rank x nind) -inv(Phi_u) Phi_i where that is known, LU is inv(Phi_u) in units as they come then
    int         *pivot;
    kd_linsolve *sparse; // NULL: dense
    int          sparse_order;
    double       condition, reference;
    double      *reach; // (nind) largest rate of a coordinate along each independent one, at the choice
} kd_chart_level;

// Coordinates in which the motion is described from time t on
typedef struct kd_chart {
    bool           valid;
    double         t;
    kd_chart_level p, v;
    double        *position; // (np) where the matrices were factored
    double        *y;        // (np) S position
} kd_chart;

// Everything that belongs to one (t, x): the whole state [p v r w s lambda mu | a] and x'.
typedef struct kd_statespace_point {
    bool            known;
    bool            looked_at; // between steps, not for one
    bool            inside;    // of a step, not known yet: p, s, v are those of its polynomials
    bool            rough;     // dependent positions are known up to kd_dae.slack only
    bool            unsettled; // or not even so well: the next answer at this time takes away what is left
    double          t;
    const kd_chart *chart;
    double         *x;                                   // (n)
    double         *p, *v, *r, *w, *s, *lambda, *mu, *a; // one block
    double         *pdot, *rdot;                         // (np), (nr)
    double         *z;                                   // (nz)
    unsigned char  *active;                              // (nlambda + nmu)
} kd_statespace_point;

// Accepted points of the past: all of p, v, r, w, s, whatever the coordinates were. For multistep methods, and to begin
// again from after a failure.
enum { KD_STATESPACE_PAST = 10 };
typedef struct kd_statespace_past {
    int     count, newest;
    double  t[KD_STATESPACE_PAST];
    double *point[KD_STATESPACE_PAST]; // (np + nv + nr + nw + ns)
} kd_statespace_past;

// A point of the present step: its positions and velocities, and the level of its chart with the matrix of its position
enum { KD_NEAR_POINTS = 8, KD_NEAR_ROWS = KD_INVERT_MOST, KD_NEAR_INDEPENDENT = 6 };
typedef struct kd_near_point {
    double          t;
    const kd_chart *chart;
    double         *p, *v; // (np), (nv)
    double         *left;  // (nlambda) g that was left over there
    kd_chart_level  level;
} kd_near_point;

typedef struct kd_statespace_newton {
    kd_arena        arena;
    bool            ready;
    bool            projected;    // accelerations by N' residual = 0, M-hat never inverted (S2 Eq. 44)
    bool            second_order; // dy is the unknown, dv follows; otherwise the first-order form
    bool            plain;        // y' = v_ind
    kd_blocks       blocks;
    int             nip, niv, nr; // parts of x at the last linearisation
    int             ncolumns;     // nip + niv + nr
    double         *s_p;          // (ns x nv)
    int            *pivot_s;
    double         *N_p, *N_v, *V_y; // (nv x nip), (nv x niv), (nv x nip): dp, dv = N_v dv_ind + V_y dy
    double         *total;           // (most rows x nv)
    double         *F_x;             // (most rows x ncolumns)
    double         *C_x;             // (nlambda + nmu x ncolumns)
    double         *P_x;             // (nv x ncolumns)
    double         *MN;              // (nv x niv)
    double         *K;               // (niv + nr x ncolumns) E z' by x
    double         *E;               // (niv x niv) M-hat
    double         *K_y, *K_v;       // y' by y and v_ind
    double         *W;               // inv(K_v)
    double         *KW, *A2, *A1, *A0;
    double         *implicit, *explicit_part; // general case
    int            *pivot, *pivot_w, *kept;
    double         *rind, *rc, *b, *parts;
    double         *A;
    double complex *A_complex, *b_complex;
    double          gamma;
    double complex  gamma_complex, gamma_pair[KD_LINEAR_PAIRS]; // of the present complex matrix; of all
    int             pair;
    kd_linsolve    *solver;
} kd_statespace_newton;

typedef struct kd_statespace {
    kd_arena               arena;
    kd_dae                *dae;
    kd_dae_class           methods;
    const kd_eom          *eom;
    const kd_state        *state; // discrete states and active rows
    kd_formulation_options opt;
    kd_dims                dims;
    bool                   identity; // Z = I
    bool                   shared;   // positions and velocities have the same independent coordinates and matrix
    bool                   direct;   // accelerations by the explicit formalism
    int                    nwhole;   // size of [p v r w s lambda mu]
    int                    nx_max;
    kd_acceleration       *acceleration;
    kd_dense_output       *dense;
    kd_position            position;
    kd_chart               charts[2];
    kd_chart              *chart, *previous;
    int                    rank_p, rank_v; // of the present active rows; -1: not yet determined
    kd_statespace_point    last;           // solved last
    kd_statespace_point    kept;           // the end of a step, while times inside of it are looked at
    kd_statespace_point    ends[2];        // of an interpolated step
    struct {
        kd_statespace_point point;    // where the last step ended and the next one starts: t, x, chart, z, rows
        double             *xdot, *F; // (n) there; (n)
        int                 count;  // of these two that belong to the present motion, whether or not x' is still known
        kd_statespace_point before; // the accepted point before that, of the same motion
    } accepted;
    kd_statespace_past past;
    int                inner;         // where inner states begin in x
    double            *unit_v;        // (nv) natural units of velocities
    double            *per_p, *per_v; // (np), (nv) reciprocal ones of positions and velocities
    struct {
        bool          in_use; // a small system of which positions and velocities have the same matrix
        int           count, newest;
        kd_near_point point[KD_NEAR_POINTS];
        double       *GZ;
    } near;
    struct {
        bool    in_use;         // accelerations of these points along the constraints
        double *M, *N, *MN;     // (nv x nv), (nv x nind), (nv x nind)
        double *residual, *a_p; // (nv) at a = 0; (nv) what the constraints want
    } along;
    bool                 there;          // the data are at the position that was found last
    bool                 looking;        // between steps: the points of steps stay as they are
    double               scale;          // of the positions at the start in natural units, not below 1
    double               guess_t;        // time of the position in last
    double               reached;        // latest time of a solution since the last accepted point
    double              *guess;          // (nw + ns + nlambda + nmu) of the last point that had a solution
    double              *whole;          // (nwhole)
    double              *zero;           // (nv)
    double              *GZ, *HZ, *full; // full: rectangular workspace of pivoting
    double              *U, *Vt, *sigma, *svd_work;
    int                 *row, *column;
    bool                *stiff; // (np or nv) coordinates that stiff forces act upon
    double              *ease;  // (nv) of moving a velocity against them, 1 where there are none
    double              *most;  // (np)
    double              *rind, *rc, *e, *moved, *aim, *before, *path, *values, *work;
    int                 *iwork;
    kd_statespace_newton newton;
    kd_component        *component;
    int                 *index;
    bool                *controlled;
    kd_dae_counters      counters;
    kd_form_fault        fault;
} kd_statespace;

// statespace.c
kd_status kd_statespace_fail(kd_statespace *self, kd_status status, const char *what);
kd_eval   kd_statespace_note(kd_statespace *self, kd_eval answer, const char *what); // of the acceleration object
kd_eval   kd_statespace_note_data(kd_statespace *self, kd_eval answer);

// statespace_point.c
// Coordinates at time t: before the last choice those before it
kd_chart *kd_statespace_chart_at(const kd_statespace *self, double t);
bool kd_statespace_same_point(const kd_statespace *self, const kd_statespace_point *point, double t, const double *x);
void kd_statespace_set_point(const kd_statespace *self, kd_statespace_point *point, double t, const double *x);
void kd_statespace_remember(kd_statespace *self, const kd_statespace_point *at); // belongs to the past from now on
// x of a whole state [p v r ..] in the coordinates of a chart
void kd_statespace_encode(const kd_statespace *self, const kd_chart *chart, const double *p, const double *v,
                          const double *r, double *x);
// Keep the end of a step while times inside of it are looked at
void    kd_statespace_step_aside(kd_statespace *self);
bool    kd_statespace_recall(void *impl, double t, double *x);
kd_eval kd_statespace_look_at(kd_statespace *self, double t, const double *x) KD_NODISCARD; // self->last between steps
// self->last at (t, x)
kd_eval kd_statespace_solve(kd_statespace *self, double t, const double *x) KD_NODISCARD;

// statespace_chart.c
void kd_chart_cut(kd_statespace *self, kd_chart *chart);
void kd_chart_release(kd_chart *chart);
void kd_chart_archive(kd_statespace *self, kd_chart *chart, kd_archive *a); // save or restore
// Choose independent coordinates at the position (t, p, s). RETRY: the rank is not what it was.
kd_eval kd_chart_choose(kd_statespace *self, kd_chart *chart, double t, const double *p, const double *s) KD_NODISCARD;
// Factor the matrices of the chart there; false in *regular: they are singular.
kd_eval kd_chart_factor(kd_statespace *self, kd_chart *chart, double t, const double *p, const double *s,
                        bool *regular) KD_NODISCARD;
// Is the choice still a good one at the point of the factors? reset: take it as the new reference
bool kd_chart_serves(kd_statespace *self, kd_chart *chart, bool reset);
bool kd_chart_same(const kd_statespace *self, const kd_chart *a, const kd_chart *b);
void kd_chart_pick(const kd_chart_level *level, const double *from, double *to);
// e from independent parts and rows of constraints; rind NULL: zero. rc is overwritten.
void kd_chart_solve(kd_statespace *self, kd_chart_level *level, const double *rind, double *rc, double *e);
const kd_chart_level *kd_chart_velocity(const kd_statespace *self, const kd_chart *chart);
kd_chart_level       *kd_chart_velocity_level(const kd_statespace *self, kd_chart *chart); // the same, to be renewed
int kd_chart_order(const kd_statespace *self, const kd_chart_level *level); // of the matrix that is factored

// statespace_dependent.c
// Largest position, largest increment or velocity, in natural units
double kd_statespace_reach(const kd_statespace *self, const double *p);
double kd_statespace_move(const kd_statespace *self, const double *e);
// p and s with S p = y, g = 0, c = 0; p, s come as guess, which the first increment may move by `near` in natural
// units. Then, with the data at time t, v with S v = v_ind, gI = 0, h = 0; the data are left at (t, p, s, v, r). here: the
// data are at p already, its point; NULL: they are not.
kd_eval kd_chart_positions(kd_statespace *self, kd_chart *chart, double t, const double *y, double near, double *p,
                           double *s) KD_NODISCARD;
// p <- p oplus self->e; the data are at p
kd_eval kd_chart_move(kd_statespace *self, double *p) KD_NODISCARD;
// The same from a solution p, s at t_from, along a path on which t and y change evenly: in parts that are short enough
// to stay on its branch, between least and most of the whole.
kd_eval kd_chart_follow(kd_statespace *self, kd_chart *chart, double t_from, double t, const double *y, double *p,
                        double *s, double least, double most) KD_NODISCARD;
kd_eval kd_chart_velocities(kd_statespace *self, kd_chart *chart, double t, const double *v_ind, const double *p,
                            const double *s, const double *r, double *v, kd_near_point *here) KD_NODISCARD;

// statespace_near.c
void kd_near_cut(kd_statespace *self);
void kd_near_forget(kd_statespace *self);
void kd_near_forget_attempt(kd_statespace *self); // all but accepted points
void kd_near_part(
    kd_statespace *self); // from the arrays that levels share with charts; kd_near_archive joins them again
void kd_near_archive(kd_statespace *self, kd_archive *a);
// The point of the same time, NULL: none; the level with the matrix that is nearest in time
kd_near_point  *kd_near_find(kd_statespace *self, const kd_chart *chart, double t);
kd_chart_level *kd_near_level(kd_statespace *self, kd_chart *chart, double t);
// The data are at the position p: its point with factors, which takes v when that is known. NULL: none
kd_eval kd_near_place(kd_statespace *self, kd_chart *chart, double t, const double *p,
                      kd_near_point **point) KD_NODISCARD;
// g at a position that is one of these points, by rows; NULL: not known
const double *kd_near_left(kd_statespace *self, const kd_chart *chart, double t, const double *p);
// p of x up to kd_dae.slack, from the guess in at->p, with the data there; *here: its point. NULL: it is not to be had so,
// at->p is the guess as before
kd_eval kd_near_positions(kd_statespace *self, kd_chart *chart, kd_statespace_point *at,
                          kd_near_point **here) KD_NODISCARD;

// statespace_along.c
void kd_along_cut(kd_statespace *self);
// a of a point with the matrix of its position, the data at its velocity; *done false: not to be had so
kd_eval kd_along_accelerations(kd_statespace *self, kd_near_point *here, kd_statespace_point *at,
                               bool *done) KD_NODISCARD;

// statespace_newton.c
kd_status kd_statespace_newton_ready(kd_statespace *self) KD_NODISCARD;
// How easily velocity i moves during a short step: (M / (M + tau D + tau^2 K))_ii at (t, p, s) to self->ease
void      kd_statespace_ease(kd_statespace *self, double t, const double *p, const double *s);
void      kd_statespace_newton_release(kd_statespace_newton *newton);
void      kd_statespace_newton_archive(kd_statespace *self, kd_archive *a);
kd_status kd_statespace_linearize(void *impl, double t, const double *x, const double *xdot, bool restart);
kd_status kd_statespace_factor(void *impl, double gamma_real, double gamma_re, double gamma_im);
void      kd_statespace_reduce(void *impl, const double *F, double *part, double *y);
void      kd_statespace_solve_real(void *impl, double *y);
kd_status kd_statespace_pair(void *impl, int k);
void      kd_statespace_solve_complex(void *impl, double *y_re, double *y_im);
void      kd_statespace_expand(void *impl, const double *part, const double *y, double *dx);

#endif
