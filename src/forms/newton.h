// forms/newton.h: the sparse Newton matrix gamma F_x' + F_x of the forms whose rows are functions of the
// equations of motion as they are (all but psf1 and SVD), with the kinematic rows eliminated.
//
// Unknowns (delta, dv, dr, dw, ds, dlambda, dmu, deta), delta the increments of the positions, dp = Z delta. The
// kinematic rows  gamma delta - S delta - dv + U^2 (GZ)' D deta = rho  give delta = T (rho + dv - U^2 (GZ)' D deta)
// with T = (gamma I - S)^-1: S is the turning of frames, zero where Z = I, otherwise of small blocks. The other m rows
// leave, with K_p their derivatives along increments,
//
//     A = gamma E + K + K_p T B,     B = [I, -U^2 (GZ)' D] for (dv, deta).
//
// Derivatives: analytic ones of the equations of motion, or differences of F (S0 Eq. 16, 20); updates S0 Eq. 23 to 26.
// Method: docs/methods/newton.md
#ifndef KD_FORMS_NEWTON_H
#define KD_FORMS_NEWTON_H

#include "core/memory.h"
#include "forms/increments.h"
#include "math/colouring.h"
#include "math/linsolve.h"
#include "math/pattern.h"
#include <complex.h>
#include <kardan/formulation.h>

struct kd_assembled;

// Values of one derivative block of the equations of motion.
typedef struct kd_block_source {
    kd_fn      fn;
    kd_var     var;
    kd_pattern pattern;
    bool       sparse; // given sparse by the definition; otherwise all entries
    double    *value;
} kd_block_source;

// A block of F_x or F_x': factor times a source, perhaps transposed, at (row, column) of the pattern F.
typedef struct kd_piece {
    int    source;
    int    row, column;
    double factor;
    bool   transposed;
    bool   by_derivative; // part of F_x'
    bool   multiplier; // column of a multiplier: known from the constraint matrix also when the others are differenced
    int   *place;      // of each value in K or E
} kd_piece;

enum { KD_NEWTON_SOURCES = 64, KD_NEWTON_PIECES = 96 };

typedef struct kd_newton {
    struct kd_assembled   *form;
    const kd_eom          *eom;
    kd_formulation_options opt;
    kd_arena               arena;   // for life
    kd_arena               pattern; // for the present pattern
    int                    np, nv, m, nlambda, nmu;
    int                    dyn, r, phi, h, g;    // rows of F without the kinematic ones
    int                    xl, xm, xe;           // columns of multipliers among those without positions
    bool                   has_eta, differenced; // differenced: derivatives are differences of F
    bool                   force_of_multipliers; // f depends on them
    bool                   lambda_differenced;   // so does f, b or d: their columns are not the constraint matrix alone
    kd_increments          increments;

    int             nsources, npieces, gz, hz, mass; // gz, hz, mass: numbers of sources, -1: none
    kd_block_source source[KD_NEWTON_SOURCES];
    kd_piece        piece[KD_NEWTON_PIECES];
    kd_blocks       wanted; // of sources that are not sparse
    bool            wants;

    kd_columns F;                         // (m x (nv + m)) pattern; columns delta, then the others
    double    *K, *E;                     // values of F_x and F_x'
    int       *alike;                     // (nv) 3 where three columns of delta begin that have the same rows, or 1
    int       *to_A;                      // place of each entry in A; of delta_j: that of dv_j
    int       *diagonal_row, *g_diagonal; // entries (phi_i, lambda_i) and (h_i, mu_i); (g_i, eta_i)
    int       *row_start, *row_column, *row_value; // GZ by rows: start (nlambda + 1), columns, number in its values
    double    *GZ;                                 // values of the source gz that belong to the matrix
    int       *product, *factor;                   // products K_p (GZ)': their places in A, and entries of K_p
    int       *product_start;         // (entries of GZ + 1) those with each entry of GZ, in the order of its rows
    kd_columns A;                     // (m x m)
    double    *A_E, *A_K, *W, *W_im;  // A = gamma A_E + A_K + W; where Z = I, W / gamma
    double    *T_real;                // blocks of T for the real gamma
    double    *T, *T_im, *KT, *KT_im; // of T and K_p T for the gamma of the last elimination
    double    *T_pair[KD_LINEAR_PAIRS], *T_im_pair[KD_LINEAR_PAIRS]; // T, T_im of each complex gamma
    double    *K_normal;                                             // F_n N' D_p(Z v), see normals
    double    *value;
    double complex *value_complex;

    bool            dense; // dense LU or QR instead of sparse LU
    kd_sparse_lu   *lu;
    kd_linsolve    *solver;
    double         *full_A;
    double complex *full_complex;
    int            *power;        // (m) of gamma, of the columns
    double         *row, *column; // (m) scale factors
    double          gamma;
    double complex  gamma_complex, gamma_pair[KD_LINEAR_PAIRS]; // of the present complex matrix; of all
    int             pair, npairs;                               // present one, those that have been asked for
    long            earlier_factorizations;                     // of solvers of earlier patterns
    long            refactorizations;

    // differences
    kd_colouring *colouring;
    bool         *differenced_column; // (nv + m)
    bool         *found;              // (m (nv + m)) estimated pattern
    int          *joint;              // (nv) first velocity of the same joint; NULL: M is not sparse
    bool         *meets;              // (m 2 nv) what joints touch by their positions and velocities
    bool          grown;              // something was found that the pattern lacks
    double       *full;               // (m (nv + m)) difference matrix from which it was estimated
    bool          full_known;         // of the point that is linearised
    double       *increment;          // (nv + m)
    double       *x_moved, *F0;       // (np + m), (m) moved unknowns; rows at those that did not move
    double       *M, *solution;       // explicit form: factors of the mass matrix, a column
    long          evaluations, updates, pattern_changes;

    // extended update: by what moves F_x with time, the inputs and then the prescribed coordinates
    int     nu, ndrives, nmoving;
    bool    has_second;
    double *second;           // (entries of F x nmoving)
    double *K_kept, *GZ_kept; // while they are shifted
    double *moving, *old;     // (nmoving) now, and those that belong to K
    double *drive;            // (3 ndrives) prescribed coordinates while inputs are shifted, rates
    bool   *by_inputs;        // (ndrives) moved by inputs: then they count with these

    // derivatives of the rows along the normals of the manifold, by differences: equations that come with patterns are
    // those of models, where rotations normalise their quaternions and nothing depends on the norm
    int     normals;
    double *F_normal, *off; // ((np + m) x normals), (normals + 3 np)

    double         *rho, *normal, *delta, *turn; // scratch, real and imaginary parts: (2 nv), (2 np), (2 nv), (2 nv)
    double complex *z;                           // (m)
    double         *rows;                        // (nv) dynamic rows before they are multiplied by M
} kd_newton;

kd_status kd_newton_create(struct kd_assembled *form, kd_newton **newton) KD_NODISCARD;
void      kd_newton_destroy(kd_newton *self); // NULL is fine

// v -= U^2 (GZ)' eta, GZ at the position stage (fresh) or as it is in the matrix
kd_eval kd_newton_stabilize(kd_newton *self, bool fresh, const double *eta, double *v) KD_NODISCARD;
// |row i of GZ U| at the present position
kd_eval kd_newton_row_norms(kd_newton *self, double *norm) KD_NODISCARD;

// The point of form->data must be at (t, x, x').
kd_status kd_newton_linearize(kd_newton *self, double t, const double *x, const double *xdot) KD_NODISCARD;
kd_status kd_newton_update(kd_newton *self) KD_NODISCARD;
kd_status kd_newton_factor(kd_newton *self, double gamma_real, double gamma_re, double gamma_im) KD_NODISCARD;
// y (np + m) in: right-hand side, out: dx with eta
void kd_newton_solve(kd_newton *self, double *y);
// As kd_dae_class.pair
kd_status       kd_newton_pair(kd_newton *self, int k) KD_NODISCARD;
void            kd_newton_solve_complex(kd_newton *self, double *y_re, double *y_im);
kd_dae_counters kd_newton_counters(const kd_newton *self, kd_dae_counters counters);

void kd_newton_eliminate(const kd_newton *self, const double *K_p, double *W); // W = K_p B

// newton_pattern.c
kd_status kd_newton_describe(kd_newton *self) KD_NODISCARD;    // sources and pieces
kd_status kd_newton_set_pattern(kd_newton *self) KD_NODISCARD; // everything that depends on the pattern
void      kd_newton_release_pattern(kd_newton *self);

// newton_differences.c
kd_status kd_newton_cut_differences(kd_newton *self) KD_NODISCARD;
kd_eval   kd_newton_normals(kd_newton *self, double t, const double *x, const double *xdot) KD_NODISCARD;
kd_eval   kd_newton_difference(kd_newton *self, double t, const double *x, const double *xdot) KD_NODISCARD;
kd_status kd_newton_estimate(kd_newton *self, double t, const double *x, const double *xdot) KD_NODISCARD;

// newton_values.c
kd_eval kd_newton_fetch(kd_newton *self) KD_NODISCARD; // all sources
kd_eval kd_newton_fetch_one(kd_newton *self, int source) KD_NODISCARD;
void    kd_newton_scatter(kd_newton *self, bool by_derivative, bool multipliers_only);

// Visit the products K_p (GZ)' in a fixed order: (entry of F, row of GZ)
#define KD_EACH_PRODUCT(self, k, l, e)                                                                                 \
    for (int k = 0; k < (self)->nlambda && (self)->has_eta; k++)                                                       \
        for (int l = (self)->row_start[k]; l < (self)->row_start[k + 1]; l++)                                          \
            for (int e = (self)->F.column[(self)->row_column[l]]; e < (self)->F.column[(self)->row_column[l] + 1]; e++)

#endif
