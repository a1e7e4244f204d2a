// forms/psf_internal.h: data of the projected strangeness-free form, shared by psf.c, psf_linear.c, psf_newton.c.
#ifndef KD_FORMS_PSF_INTERNAL_H
#define KD_FORMS_PSF_INTERNAL_H

#include <complex.h>

#include "forms/selector.h"
#include "math/linsolve.h"
#include "point/dense_output.h"

// Offsets of the parts of x = [p v r w s lambda mu | a].
typedef struct kd_psf_parts {
    int p, v, r, w, s, lambda, mu, a, n;
} kd_psf_parts;

// Offsets of the algebraic rows in F.
typedef struct kd_psf_rows {
    int d, c, g, q, gI, h, e;
    int dyn; // (nv) M a - f + (GZ)' lambda + (HZ)' mu
    int gII, hI, n;
} kd_psf_rows;

typedef struct kd_psf {
    kd_dae                *dae; // released by kd_dae_destroy
    kd_arena               arena;
    const kd_eom          *eom;
    kd_eom_data           *data;
    kd_inputs              inputs;
    const kd_state        *state; // discrete states and active rows
    kd_formulation_options opt;
    kd_dims                dims;
    kd_psf_parts           at;
    kd_psf_rows            row;
    bool                   identity; // Z = I
    bool                   plain;    // neither w nor forces that depend on multipliers
    bool                   diagonal; // M is diagonal
    bool                   constant_mass;
    bool                   mass_known; // the constant M has been evaluated
    kd_acceleration       *at_point;   // accelerations and multipliers at interpolated points
    kd_dense_output       *dense;

    double *u, *du, *ddu; // (nu)

    // ---- active rows ------------------------------------------------------------------------------------------------
    int  nl, nm;              // active holonomic, nonholonomic rows
    int *active_l, *active_m; // their numbers
    int  ma;                  // nl + nm: rows of C_a = [GZ; HZ]
    int  mv;                  // ma, + ne when the invariants are imposed in this step
    int  mp;                  // nl + nq
    int  nk;                  // nv + nw + ma: size of (a, w, lambda, mu)
    bool with_e;              // invariants are imposed in this step

    // ---- derivatives at the linearisation point ---------------------------------------------------------------------
    kd_blocks blocks;    // as evaluated, by increments of p
    double   *Z, *Zplus; // (np x nv), (nv x np) inv(Z'Z) Z'
    double   *q_p;       // (nq x np)
    double   *X;         // (ns x nv) ds/dp = -c_s \ c_p
    double   *cs_lu;
    int      *cs_pivot;
    double   *C;       // scratch for constraint matrices
    double   *GZ;      // (nl x nv) active rows, contact coordinates eliminated
    double   *VP;      // (mv x nv) [gI; h; e] by p
    double   *VS;      // (mv x ns)
    double   *KP, *KV; // (nk x nv) [dynamics; d; gII; hI] by p, v
    double   *KR;      // (nk x nr)
    double   *KS;      // (nk x ns)
    double   *GS;      // (nl x ns)
    double   *BK;      // (nr x nk) b by (a, w, lambda, mu)

    // ---- decomposition of the algebraic part, independent of the step size ------------------------------------------
    kd_selector  position, velocity, acceleration;
    kd_selector *sel_p, *sel_v, *sel_a; // sel_a may be the position's, sel_v is sel_a unless invariants are imposed
    int          nip, niv;              // independent positions, velocities
    double      *Mhat;                  // (niv_a x niv_a) N_a' M N_a, factored
    double      *Bk;                    // general case: LU of the matrix of (a, w, lambda, mu)
    int         *pivot;
    double      *Kinv; // (nk x nk) inverse of that matrix
    double      *R;    // (rank x ma) row transformation of redundant constraints

    // ---- reduced problem gamma y - A y = rhs ------------------------------------------------------------------------
    double         *Ep;   // (nv x nip) increments of p by y_p
    double         *Vp;   // (nv x nip) velocities by y_p
    double         *Kmap; // (nk x m) (a, w, lambda, mu) by y
    double         *Xp;   // (ns x nip)
    double         *Xmap; // (n x m) all of x by y
    double         *A;    // (m x m)
    int             m;
    bool            second_order; // A = [0 I; A21 A22]: solved with systems of size ndof
    double          gamma;
    double complex  gamma_c, gamma_pair[KD_LINEAR_PAIRS]; // of the present complex matrix; of all
    int             pair;
    kd_linsolve    *linear;
    double         *matrix;
    double complex *matrix_c, *rhs_c;

    // ---- scratch ----------------------------------------------------------------------------------------------------
    double *e0, *ds0, *rp, *rv, *rk, *k0, *p, *s, *v, *tp, *ta, *tm; // one right-hand side
    double *big;                                                     // matrices of a linearisation, see cut_arrays
    double *F;                                                       // algebraic rows
    double *x;                                                       // (n)
    double *rounded; // (2 np) positions an ulp away, and the correction at the point itself

    double          moved;      // relative size of the corrections of p, s, v since the matrices were evaluated
    bool            linearized; // since creation
    bool            fresh;      // correct() has linearised at time fresh_t
    double          fresh_t;
    bool            e_leave_out; // Newton had trouble: do not impose the invariants in this step
    kd_dae_counters counters;
    kd_status       status; // of the last failure
    char            message[400];
} kd_psf;

// psf.c
kd_eval   kd_psf_set_time(kd_psf *f, double t);
void      kd_psf_set_state(kd_psf *f, const double *x);
kd_eval   kd_psf_set_point(kd_psf *f, double t, const double *x);
kd_status kd_psf_eval_failure(kd_psf *f); // status and message of a function that did not answer KD_EVAL_OK
kd_eval   kd_psf_note_at_point(kd_psf *f, kd_eval answer); // the same for what at_point did
kd_status kd_psf_fail(kd_psf *f, kd_status status, const char *format, ...) KD_PRINTF(3, 4);
void      kd_psf_name_rows(kd_psf *f, const kd_selector *s, char *buffer, size_t size);

// psf_linear.c
void      kd_psf_find_active(kd_psf *f);
kd_status kd_psf_linearize(void *impl, double t, const double *x, const double *xdot, bool restart);

// psf_newton.c
kd_status kd_psf_factor(void *impl, double gamma_real, double gamma_re, double gamma_im);
void      kd_psf_solve_real(void *impl, double *y);
kd_status kd_psf_pair(void *impl, int k);
void      kd_psf_solve_complex(void *impl, double *y_re, double *y_im);
kd_eval   kd_psf_evaluate(void *impl, double t, const double *x, const double *xdot, double *part, double *y);
kd_eval   kd_psf_evaluate_accepted(void *impl, double t, const double *x, const double *xdot, double *part, double *y);
void      kd_psf_expand(void *impl, const double *part, const double *y, double *dx);
kd_eval   kd_psf_correct(void *impl, double t, double *x, const double *xdot);
kd_eval   kd_psf_accelerations(kd_psf *f, double t, double *x); // (a, w, lambda, mu) anew, p, v, r, s as they are

#endif
