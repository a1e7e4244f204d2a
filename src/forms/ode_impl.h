// forms/ode_impl.h: data of the form ode, shared by ode.c and ode_newton.c. Not for others.
#ifndef KD_FORMS_ODE_IMPL_H
#define KD_FORMS_ODE_IMPL_H

#include <complex.h>

#include "core/memory.h"
#include "forms/fault.h"
#include "forms/selector.h"
#include "math/linsolve.h"
#include "point/acceleration.h"
#include "point/dense_output.h"
#include "point/position.h"

// Everything that belongs to one (t, x): the whole state x = [p v r | w s lambda mu | a] and x' = [Z v, a, b].
typedef struct kd_ode_point {
    bool           known;
    double         t;
    double        *x;                       // (np + nv + nr + nw + ns + nlambda + nmu + nv)
    double        *w, *s, *lambda, *mu, *a; // in x
    double        *xdot;                    // (n)
    double        *z;                       // (nz) discrete states
    unsigned char *active;                  // (nlambda + nmu)
} kd_ode_point;

// Newton matrices gamma I - rhs_x. Those of large models are allocated when an implicit integrator linearises for the
// first time: explicit ones run on models for which they would not fit into memory.
typedef struct kd_ode_newton {
    kd_arena        arena;
    bool            ready;
    bool            along_tree; // the equations have their own elimination; of the following only vectors are there
    kd_position     position;   // with Z+ and normals
    kd_blocks       blocks;
    int             nf, nx;        // nv + nlambda + nmu + nw: (a, lambda, mu, w); 2 nv + nr: columns along increments
    double         *implicit;      // (nf x nf) derivatives of (residual, gII, hI, d) by (a, lambda, mu, w)
    double         *explicit_part; // (nf x nx) by (p, v, r), then derivatives of (a, lambda, mu, w)
    double         *row, *column;  // (nf) scales
    double         *work;          // (4 nf)
    int            *pivot, *iwork; // (nf)
    double         *s_p;           // (ns x nv) s follows p by c_s ds = -c_p dp
    int            *pivot_s;       // (ns)
    double         *along;         // (n x nx) derivatives of x' along increments of p, by v and r
    double         *J;             // (n x n) rhs_x
    double         *x, *x_moved, *base, *plus, *minus; // (n) points and values of differences
    int             eliminated;                        // np where p' = v, otherwise 0
    double         *A;                                 // (m x m), m = n - eliminated
    double complex *A_complex;
    double complex *y_complex; // (n)
    double          gamma;
    double complex  gamma_complex, gamma_pair[KD_LINEAR_PAIRS]; // of the present complex matrix; of all
    int             pair;
    kd_linsolve    *solver;
} kd_ode_newton;

// Independence of the active constraints, decided at starts
typedef struct kd_ode_rank {
    bool           watched, known;
    double        *GZ, *HZ, *C; // C: active rows
    unsigned char *active;      // (nlambda + nmu) rows that it is known for
    int           *rows;        // their numbers
    kd_selector    selector;
} kd_ode_rank;

typedef struct kd_ode {
    kd_arena               arena;
    kd_dae                *dae;
    kd_dae_class           methods; // with or without projection
    const kd_eom          *eom;
    const kd_state        *state; // discrete states and active rows
    kd_formulation_options opt;
    kd_dims                dims;
    int                    n, xv, xr; // size and parts of x = [p v r]
    int                    nwhole;    // size of [p v r w s lambda mu]
    bool                   direct;    // accelerations by the explicit formalism
    kd_acceleration       *acceleration;
    kd_dense_output       *dense;
    kd_position            position;
    kd_ode_point           last;      // solved last
    kd_ode_point           ends[2];   // of an interpolated step
    double                *guess;     // (nw + ns + nlambda + nmu) of the last point that had a solution
    double                *zero;      // (nv)
    double                *rows;      // (nlambda + nmu) workspace
    double         *normal_rows;      // (2 nlambda + nmu) of the symmetric projection, and as many of the present point
    double         *normal_increment; // (nv)
    double         *normal_Z;         // (np x nv)
    double         *stable_rows;      // (2 nlambda + nmu) violations that decay; NULL: not stabilised
    double         *stable_increment; // (2 nv + np)
    double         *whole;            // (nwhole)
    double         *next;             // (np) position at which a half-explicit stage meets its constraints
    kd_ode_rank     rank;
    kd_ode_newton   newton;
    kd_component   *component;
    int            *index;
    bool           *controlled;
    kd_dae_counters counters;
    kd_form_fault   fault;
} kd_ode;

// ode.c
// self->last at (t, x), which may be self->last.x itself
kd_eval kd_ode_solve(kd_ode *self, double t, const double *x) KD_NODISCARD;
// x' at (t, x), for differences
kd_eval   kd_ode_rhs(void *impl, double t, const double *x, double *xdot) KD_NODISCARD;
kd_eval   kd_ode_note(kd_ode *self, kd_eval answer, const char *what); // keep the fault of the acceleration object
kd_status kd_ode_fail(kd_ode *self, kd_status status, const char *what);

// ode_rank.c
void    kd_ode_cut_rank(kd_ode *self);
kd_eval kd_ode_check_rank(kd_ode *self, double t, const double *x) KD_NODISCARD; // RETRY: KD_ERR_REDUNDANT

// ode_newton.c
kd_status kd_ode_newton_ready(kd_ode *self) KD_NODISCARD; // allocate
void      kd_ode_newton_release(kd_ode_newton *newton);
void      kd_ode_newton_archive(kd_ode *self, kd_archive *a);
kd_status kd_ode_linearize(void *impl, double t, const double *x, const double *xdot, bool restart);
kd_status kd_ode_factor(void *impl, double gamma_real, double gamma_re, double gamma_im);
void      kd_ode_reduce(void *impl, const double *F, double *part, double *y);
void      kd_ode_solve_real(void *impl, double *y);
kd_status kd_ode_pair(void *impl, int k);
void      kd_ode_solve_complex(void *impl, double *y_re, double *y_im);
void      kd_ode_expand(void *impl, const double *part, const double *y, double *dx);

#endif
