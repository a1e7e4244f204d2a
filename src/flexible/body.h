// flexible/body.h: a flexible body in its floating frame: few modes on top of large motion.
//
//     r = rho + A (x + sum phi_k(x) q_k)
// All inertia terms are moments of the mass distribution: with u = sum phi_k q_k
//     int dm, int x, int x x',   C_k = int phi_k,   A_k = int x phi_k',   B_kl = int phi_k phi_l'
// From them follow, exactly and to second order in q: centre, inertia, coupling of modes with shifts and turns, gyroscopic and
// centrifugal forces. SID (Schwertassek, Wallrapp 1999) has the same as mdCM, J, Ct, Cr, Me, Gr, Ge, Oe.
// Method: docs/methods/flexible.md
#ifndef KD_FLEXIBLE_BODY_H
#define KD_FLEXIBLE_BODY_H

#include "flexible/reduction.h"

// A place where others act: the displacement is Phi q, the small rotation Psi q
typedef struct kd_flexible_frame {
    const char *name;
    kd_vec3     at;
    double     *Phi, *Psi; // (3 x nq)
} kd_flexible_frame;

// A place of stress with a name
typedef struct kd_stress_spot {
    const char *name;
    int         place;
} kd_stress_spot;

typedef struct kd_flexible_body {
    int     nq;
    double  mass;
    double  first[3];  // int x
    double  second[9]; // int x x', column by column
    double *C;         // (3 x nq)
    double *A;         // (9 x nq) A_k column by column
    double *B;         // (9 x nq x nq) B_kl at 9 (k + nq l), column by column
    double *Cr;        // (3 x nq) int x x phi_k: the antisymmetric part of A_k where the data agree with themselves
    double *Me;        // (nq x nq) int phi_k' phi_l: the trace of B_kl where the data agree with themselves
    double *Ke, *De;   // (nq x nq)
    // Stiffness by loads, each (nq x nq), linear in the load: for accelerations of the frame (3), angular accelerations (3), products
    // of angular velocities xx yy zz xy yz xz (6), and forces at the frames (3 each). NULL: not known
    double *K0t, *K0r, *K0w, *K0F;
    // Deflection of the frames by loads at the frames (3 forces, 3 moments each) that modes of the structure which are not among the nq
    // would add, (6 nframes)^2. NULL: none was left out, or it is not known
    double            *residual;
    char               spin_axis; // K0w is known for rotation about x, y or z alone; 0: for all, where it is there
    int                nframes;
    kd_flexible_frame *frame;
    // the shape, for pictures: nodes and where they go
    int     nnodes;
    double *node;  // (3 x nnodes)
    double *shape; // (3 nnodes x nq)
    int     ntriangles, nlines;
    int    *triangle, *line; // (3 ntriangles), (2 nlines) nodes: surface of solids, beams
    // stress by the modes, xx yy zz xy yz zx in the axes of the body, where it is known (stress.h)
    int             nplaces, nspots;
    double         *place;  // (3 x nplaces)
    double         *stress; // (6 nplaces x nq)
    kd_stress_spot *spot;   // (nspots)
    // what is known of its error
    double   band, expected; // rad/s and relative error of frequencies up to there; 0: not known
    double   transfer;       // and of transfer functions between the frames
    char     reference[80];  // "tangent left", "chord left right", "mean"
    kd_arena arena;
} kd_flexible_body;

typedef enum kd_reference_kind {
    KD_REFERENCE_TANGENT, // the frame goes with one interface
    KD_REFERENCE_CHORD,   // its origin with one interface, its first axis through another one
    KD_REFERENCE_MEAN     // kinetic energy of deformation is least (Buckens): free modes
} kd_reference_kind;

typedef struct kd_reference {
    kd_reference_kind kind;
    int               from, to; // interfaces
} kd_reference;

// count: modes, the lowest first; 0: all that the shapes have. damping: ratio of each mode. KD_ERR_MODEL: message says why.
kd_status kd_flexible_body_make(const kd_reduction *r, const kd_reference *reference, int count, double damping,
                                kd_flexible_body *body, char *message, size_t size) KD_NODISCARD;
void      kd_flexible_body_release(kd_flexible_body *body);
// Natural frequencies of K_e, M_e, rad/s, (nq)
kd_status kd_flexible_body_frequencies(const kd_flexible_body *body, double *omega) KD_NODISCARD;
// Deflection of the frames by slow loads at the frames, (6 nframes)^2 each: F of all that is known, R the part that the first m modes
// leave out (compliance.c). KD_ERR_DECOMPOSITION: the stiffness is not positive.
kd_status kd_flexible_body_compliance(const kd_flexible_body *body, int m, double *F, double *R) KD_NODISCARD;
// Does nothing excite mode k, to first order: neither loads at the frames nor accelerations of the frame of the body; rotation may (idle.c)
typedef enum kd_idle { KD_IDLE_NO, KD_IDLE_BUT_ROTATION, KD_IDLE_YES } kd_idle;
kd_idle kd_flexible_body_idle(const kd_flexible_body *body, int k);
// Geometric stiffness of a body made of beams, in place: K0t, K0r, K0w, K0F (docs/methods/flexible.md)
kd_status kd_flexible_body_stiffen(const kd_reduction *r, const kd_reference *reference, const double *Z,
                                   kd_flexible_body *body) KD_NODISCARD;
// K0w of rotation about one axis and K0F of forces from matrices of another program (kd_fe_preload); U (n x nq): the modes
kd_status kd_flexible_body_preload(const kd_reduction *r, const double *U, kd_flexible_body *body, char *message,
                                   size_t size) KD_NODISCARD;
// The body with all vectors multiplied by L, orthogonal: in a mirror, or turned. KD_ERR_MODEL: geometric stiffness is known for
// rotation about one axis, which becomes none of the axes; KD_ERR_MEMORY
kd_status kd_flexible_body_image(const kd_flexible_body *body, const kd_mat3 *L, kd_flexible_body *image) KD_NODISCARD;
// Arrays for nq modes, frames and nodes, all zero; false: memory is short
bool kd_flexible_body_cut(kd_flexible_body *body, int nq, int nframes, int nnodes);

#endif
