// kardan/linearize.h: linear equations around a state (S1 Eq. 5), in minimal coordinates and as descriptor system;
// eigenvalues, mode shapes and frequency response.  Method: docs/methods/linearize.md
//
// All variations are small differences to the motion through the state: positions by increments (p oplus e, size nv),
// inputs with u', u'' kept, discrete states and the set of active constraints kept. Matrices are column-major.
#ifndef KARDAN_LINEARIZE_H
#define KARDAN_LINEARIZE_H

#include <kardan/eom.h>

KD_EXTERN_C_BEGIN

typedef struct kd_linearize_options {
    double   rank_tolerance; // a pivot of the constraint matrix below this times the largest is zero    default 1e-9
    bool     descriptor;     // also the descriptor form                                                default true
    unsigned cookie;         // set by kd_linearize_options_default
} kd_linearize_options;
KD_API kd_linearize_options kd_linearize_options_default(void);

typedef struct kd_linear {
    double t;
    // Minimal coordinates: x' = A x + B u, y = C x + D u. The states are independent increments of the position,
    // independent velocities, inner states r; contact coordinates, auxiliary variables and multipliers are eliminated.
    int                nx, nu, ny;
    int                nposition, nvelocity, ninner; // nx = nposition + nvelocity + ninner
    const double      *A, *B, *C, *D;
    const int         *position, *velocity; // (nposition), (nvelocity) which of the nv increments and velocities
    const char *const *state_name, *const *input_name, *const *output_name;
    // moves (nu): the input acts by its rates as well, such as a prescribed motion: its columns of B, D hold while it
    // changes slowly, those of B1, B2 (nx x nu), D1, D2 (ny x nu) are to be added:
    // x' = A x + B u + B1 u' + B2 u'', y = C x + D u + D1 u' + D2 u''
    const bool   *moves;
    const double *B1, *B2, *D1, *D2;
    // All increments and velocities from the states: e = T x, dv = S x (nv x nx).
    const double      *T, *S;
    const char *const *increment_name; // (nv)
    // Second order with multipliers: M e'' + R_v e' + R_p e + J' (lambda, mu) = F u, J e' = 0; S1 Eq. 5 with D = R_v,
    // K = R_p, which holds the constraint forces of the state as well.
    int           nv, nconstraints; // nconstraints = nlambda + nmu
    const double *M, *R_v, *R_p, *F, *J;
    // Descriptor form E x' = A x + B u, y = C x + D u with x = (e, dv, r, a, w, s, lambda, mu); NULL if not wanted.
    int                nd;
    const double      *E, *A_d, *B_d, *C_d, *D_d;
    const char *const *descriptor_name; // (nd)
    int                nredundant;      // constraints that depend on others
    double             speed, force;    // max |v|, max |a| of the state: both 0 at an equilibrium
    // Derivatives by inputs and of outputs that come from differences: the worst of their estimated errors, relative to
    // the largest change of the same function by a unit of any variable, and whose it is. Beyond 1e-6 message says so:
    // a kink, or a function that no step resolves.
    double      difference_error;
    const char *difference_name;
    void       *memory; // of all arrays
} kd_linear;

#define KD_LINEAR_ERROR 1e-6 // of difference_error; a larger one is told

// Linear equations at x. What is not consistent in x is corrected in a copy (kd_initial_consistent; KD_CORRECTED).
// inputs NULL: all inputs are 0; opt NULL: defaults. message (may be NULL) says why it failed, or what is news.
KD_API kd_status kd_linearize(const kd_eom *eom, const kd_inputs *inputs, const kd_linearize_options *opt,
                              const kd_state *x, kd_linear **linear, char *message, size_t size) KD_NODISCARD;
KD_API void      kd_linear_destroy(kd_linear *linear); // NULL is fine

// Eigenvalues of A, rising by their magnitude, a pair with the positive imaginary part first, and mode shapes.
typedef struct kd_modes {
    int                n;                   // nx
    int                nv;                  // rows of the shapes
    const double      *real, *imaginary;    // (n) [1/s]
    const double      *frequency;           // (n) [Hz] |x| / (2 pi)
    const double      *damping;             // (n) ratio -real / |x|; 0 for x = 0
    const double      *state_re, *state_im; // (n x n) eigenvectors, in columns; NULL: kd_modes_near
    const double      *shape_re, *shape_im; // (nv x n) increments e; the largest is 1 unless the mode moves nothing
    const char *const *increment_name;      // (nv)
    void              *memory;
} kd_modes;
KD_API kd_status kd_modes_create(const kd_linear *linear, kd_modes **modes) KD_NODISCARD;

// Few modes of large equations, by ARPACK on the sparse descriptor form: those count eigenvalues (of pairs one half)
// that are nearest to i 2 pi frequency [Hz]; 0: the slowest ones. Fewer may be found. KD_ERR_UNAVAILABLE: built without
// ARPACK; KD_ERR_UNSUPPORTED: in motion with quaternions, or redundant constraints; the message says so.
KD_API kd_status kd_modes_near(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, int count,
                               double frequency, kd_modes **modes, char *message, size_t size) KD_NODISCARD;
KD_API void      kd_modes_destroy(kd_modes *modes); // NULL is fine

// Frequency response C inv(i omega I - A) B + D at n frequencies [rad/s], B and D with B1, B2, D1, D2 for u' = i omega
// u: re, im (ny x nu x n). A frequency that is an eigenvalue gives NaN.
KD_API kd_status kd_linear_response(const kd_linear *linear, int n, const double *omega, double *re,
                                    double *im) KD_NODISCARD;

KD_EXTERN_C_END
#endif
