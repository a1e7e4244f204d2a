// forms/assembled_impl.h: what the files of the assembled forms share. Not for others.
//
// Unknowns x = [p v r w s lambda mu | eta]. Rows come in two stages: "raw" rows are functions of the equations of
// motion, the rows of F are combined from them (selectors of psf1, redundant and inactive constraints).
//
//     raw: kinematic (np), dynamic (nv), r' - b, d, c, phi (nlambda), h (nmu) | g (nlambda), q (nq)
//     F:   the same up to h, then g for ggl and odassl; psf1: the first np rows are [S_p kinematic; g, q]
//
// odassl has the rows of ggl without eta among the unknowns: eta is an unknown of the Newton matrix only.
#ifndef KD_FORMS_ASSEMBLED_IMPL_H
#define KD_FORMS_ASSEMBLED_IMPL_H

#include "core/memory.h"
#include "forms/assembled.h"
#include "forms/fault.h"
#include "forms/newton.h"
#include "forms/selector.h"
#include "math/linsolve.h"
#include "point/acceleration.h"
#include "point/dense_output.h"
#include "point/position.h"
#include <complex.h>

// A row that is a sum of constraint levels, for instance gII + 2 alpha gI + beta^2 g.
typedef struct kd_level_sum {
    int    count;
    kd_fn  fn[3];
    double factor[3]; // the first is 1
} kd_level_sum;

// Constraint rows with their multipliers: active rows hold, inactive ones read multiplier = 0. With SVD the m active
// rows C = U Sigma V' (scaled by D) become U1' D row = 0 and U2' D multiplier = 0: the solution of minimum norm.
typedef struct kd_row_rule {
    int         rows;
    int         count;  // active ones
    int        *active; // (rows) their numbers
    bool        svd;
    kd_selector selector; // of the active rows
} kd_row_rule;

typedef struct kd_assembled {
    kd_arena               arena;
    kd_dae                *dae;
    kd_dae_class           methods; // of the form, with or without projection
    const kd_eom          *eom;
    const kd_state        *state; // discrete states and active rows
    kd_dims                dims;
    kd_inputs              inputs;
    kd_formulation         form;
    kd_formulation_options opt;
    kd_eom_data           *data;
    kd_position            position;
    kd_acceleration       *acceleration;
    kd_dense_output       *dense;
    kd_linsolve           *solver;

    int          n, nraw, nc;                // nc = nlambda + nmu
    int          xv, xr, xw, xs, xl, xm, xe; // columns; p at 0
    int          dyn, r, d, c, phi, h, g, q; // raw rows; kinematic at 0
    bool         has_eta, has_selectors;
    bool         on_constraints;     // accepted points satisfy all levels
    bool         eta_in_x;           // ggl; odassl: has_eta alone
    bool         checks_rank;        // small enough for dense rank decisions about the constraints
    bool         without_kinematics; // differences of the other rows: leave them out
    kd_level_sum phi_rows, h_rows;
    double      *u, *du, *ddu;
    double      *u_shift;         // (nu) added to u, for derivatives by the inputs
    double      *drive_shift;     // (ndrives) the same for prescribed coordinates
    double      *M;               // (nv x nv) explicit form without explicit formalism: the mass matrix
    double      *raw;             // (nraw)
    double      *value;           // (largest number of rows)
    double      *v_eta;           // (nv) v - U^2 (GZ)' D eta
    double      *square;          // (nv) U^2: squares of the natural units of the velocities
    double      *scale_eta, *eta; // (nlambda) D, D eta

    // selectors
    bool        prepared;    // selectors belong to some point
    kd_row_rule multipliers; // rows phi, h
    kd_row_rule stabilizers; // rows g of ggl
    kd_selector kinematic;   // psf1: of [G; q_p]
    int         position_count;
    int        *position_rows; // (nlambda + nq) psf1: active rows of (g, q)
    double     *GZ, *HZ, *C;   // C: (rows x max(np, nv)) compact

    kd_newton *newton; // sparse Newton matrix; NULL where rows are combined (psf1, SVD): then the dense one below

    bool constant_mass;
    bool mass_known; // the constant M has been evaluated

    // dense Newton matrix
    kd_blocks       blocks;
    double         *raw_E, *raw_K; // (nraw x n), equal to E, K where no rows are combined
    double         *E, *K;         // (n x n) F_x', F_x
    double         *A;             // (n x n) scaled matrix
    double complex *A_complex;
    int            *column_power; // (n) of gamma
    double         *row, *column; // (n) scale factors
    double complex *y_complex;
    double         *x_moved, *raw_plus; // (n), (nraw) differences along normals
    long            normal_differences;

    kd_component   *component;
    int            *index;
    bool           *controlled;
    double         *a, *w, *lambda, *mu; // scratch for accelerations
    bool            between;             // a is that of the point (t_between, x_between) inside a step
    double          t_between, *x_between;
    double         *k_jump;    // (nv + nlambda + nmu) jumps of v', lambda, mu
    double         *a_kept[2]; // (nv) v' at the last two accepted points, at the times t_kept
    double          t_kept[2];
    kd_dae_counters counters;
    kd_form_fault   fault;
} kd_assembled;

// assembled.c
// The sparse Newton matrix of a form of this family; NULL: another form, or a dense matrix
const kd_newton *kd_assembled_newton(const kd_dae *dae);
kd_eval          kd_assembled_at(kd_assembled *self, double t, const double *x, const double *xdot) KD_NODISCARD;
// raw = raw rows at (t, x, x'), with selectors made ready
kd_eval kd_assembled_raw(kd_assembled *self, double t, const double *x, const double *xdot) KD_NODISCARD;
kd_eval kd_assembled_note(kd_assembled *self, kd_eval answer); // keep the fault of the evaluation point

void kd_assembled_archive(void *impl, kd_archive *a); // assembled_archive.c

// assembled_rows.c: selectors, and F from raw rows
void kd_assembled_cut_rows(kd_assembled *self);
// Before a residual: selectors exist and belong to the rows that are active now;
// determined at (x, current time) if not.
kd_status kd_assembled_prepare(kd_assembled *self) KD_NODISCARD;
// New selectors at the current point (velocity stage).
kd_status kd_assembled_select(kd_assembled *self, bool restart) KD_NODISCARD;
// F = combination of raw rows; x: values of the multipliers, NULL: none (a column of a derivative).
void kd_assembled_combine(const kd_assembled *self, const double *raw, const double *x, double *F);
// K += derivative of the combined rows by the multipliers that inactive and redundant rows contain
void kd_assembled_multiplier_columns(const kd_assembled *self, double *K);

// assembled_newton.c
void      kd_assembled_cut_newton(kd_assembled *self);
kd_status kd_assembled_linearize(void *impl, double t, const double *x, const double *xdot, bool restart);
kd_status kd_assembled_update(void *impl, double t, const double *x, const double *xdot); // newton only
kd_status kd_assembled_factor(void *impl, double gamma_real, double gamma_re, double gamma_im);
void      kd_assembled_reduce(void *impl, const double *F, double *part, double *y);
void      kd_assembled_solve_real(void *impl, double *y);
kd_status kd_assembled_pair(void *impl, int k);
void      kd_assembled_solve_complex(void *impl, double *y_re, double *y_im);
void      kd_assembled_expand(void *impl, const double *part, const double *y, double *dx);

#endif
