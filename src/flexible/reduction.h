// flexible/reduction.h: a structure with interfaces, reduced to few shapes, and how wrong that is.
//
// The nodes of an interface follow a frame (RBE2): u = d + theta x (x - p), or the frame follows them in the mean (RBE3). With the coordinates b of all frames and those of the
// other nodes i, z = (b, i):
//     shapes V = [ I    0   ]   Psi = -inv(K_ii) K_ib: an interface moves slowly, nothing else is loaded (Craig and Bampton)
//                [ Psi  X_i ]   X_i: normal modes with fixed interfaces, and more of them (reduction_options)
// Reduced: K_r = V' K V, M_r = V' M V. Method: docs/methods/flexible.md
#ifndef KD_FLEXIBLE_REDUCTION_H
#define KD_FLEXIBLE_REDUCTION_H

#include "flexible/factor.h"
#include "flexible/structure.h"

typedef struct kd_interface {
    const char *name;
    int         n;
    const int  *node; // places in the list of nodes
    kd_vec3     point;
    bool        averages; // the frame follows its nodes in the mean (RBE3); false: they follow the frame (RBE2)
} kd_interface;

typedef enum kd_reduction_kind {
    KD_REDUCE_FIXED, // shapes of interfaces and modes with fixed interfaces (Craig, Bampton 1968)
    KD_REDUCE_FREE   // free modes and attachment modes of loads at interfaces with inertia relief (Rubin 1975)
} kd_reduction_kind;

typedef struct kd_reduction_options {
    kd_reduction_kind kind;
    double            band; // rad/s: kardan chooses shapes until frequencies up to there are right; 0: as told below
    double            tolerance; // relative error of frequencies in the band; 0: 1e-4
    int               modes;     // normal modes
    bool              dynamic;   // the next term of interface motion over frequency: inv(K_ii) (M_ii Psi + M_ib)
    bool              relief;    // fixed: deformation by accelerations of the body as a whole, which dynamic has, too
    int               others;    // normal modes of the other kind beside those: free ones of fixed, fixed ones of free
    int               nresponses;
    const double     *response; // rad/s: shapes of interface motion at these frequencies
    double            damping;  // ratio of the modes, for the error of transfer functions in the band; 0: 0.01
} kd_reduction_options;

typedef struct kd_reduction {
    const kd_fe_structure *structure;
    int                    ninterfaces, nb; // nb = 6 ninterfaces coordinates of frames, first in z
    kd_interface          *interface;
    int                    nz, ni;
    kd_sparse_matrix       T;    // u = T z
    int                   *row;  // (ni) of the structure that each coordinate behind those of the frames is
    kd_sparse_matrix       K, M; // of z
    kd_sparse_matrix       Kii, Mii, Kib, Mib;
    kd_factor             *inner; // of K_ii
    double                *rigid; // (nz x 6) rigid motions about the centre
    kd_vec3                centre;
    // shapes
    kd_reduction_kind kind;
    int               n;
    int               nmodes; // normal modes among them
    double           *V;      // (nz x n)
    double           *Kr, *Mr;
    double           *fixed; // (nmodes) rad/s of the normal modes
    // what is expected, with a band: the worst frequency of the free structure, and with each interface held
    double   band, expected;
    double   transfer; // and of transfer functions between interfaces, all of them at the worst of many frequencies
    int      judged;   // frequencies in the band
    kd_arena arena, shapes;
} kd_reduction;

// KD_OK; KD_ERR_MODEL: message says why; KD_ERR_MEMORY, KD_ERR_UNAVAILABLE. The structure must outlive it.
kd_status kd_reduce(const kd_fe_structure *s, const kd_interface *interfaces, int ninterfaces,
                    const kd_reduction_options *options, kd_reduction *r, char *message, size_t size) KD_NODISCARD;
void      kd_reduction_release(kd_reduction *r);

// Natural modes of the reduced structure with some interfaces held (ninterfaces; NULL: free, rigid motions are left out): omega
// (room for n) in rad/s rising, q (n x n) or NULL: combinations of shapes, q' M_r q = 1. count: how many there are.
kd_status kd_reduction_modes(const kd_reduction *r, const bool *held, double *omega, double *q,
                             int *count) KD_NODISCARD;
// The same with the expected relative error of the first `wanted` frequencies: what shapes enriched by the inertia forces that the
// present ones leave out would lower them to. Needs no mode of the full structure.
kd_status kd_reduction_expect(const kd_reduction *r, const bool *held, int wanted, double *omega,
                              double *error) KD_NODISCARD;
// Expected relative error of the transfer functions between interfaces (largest difference over the largest entry, turns as shifts at
// the distance of the interfaces; free, with a loss factor) at frequencies W > 0, rad/s. Needs no mode of the full structure.
kd_status kd_reduction_transfer(const kd_reduction *r, double loss, int count, const double *W,
                                double *error) KD_NODISCARD;
// The true one, without damping: the whole structure is factored for every frequency
kd_status kd_reduction_transfer_exact(const kd_reduction *r, int count, const double *W, double *error) KD_NODISCARD;
// Frequencies of the structure with rigid interfaces, not reduced
kd_status kd_reduction_exact(const kd_reduction *r, const bool *held, int count, double *omega, char *message,
                             size_t size) KD_NODISCARD;

#endif
