// start/closest.h: a point of {y : F(y) = 0} closest to a reference in the norm |y - y_ref|_W.
//
//     minimise 1/2 (x - x_ref)' W (x - x_ref)   subject to F(y) = 0,   y = (x, z)
//
// x are the first nx unknowns; the others, z (contact coordinates, accelerations, multipliers), follow from them and
// have no weight. F may be over- or underdetermined and rank deficient. The owner supplies F and its Jacobian; the
// object knows no mechanics.  Method: docs/methods/initial.md
#ifndef KD_START_CLOSEST_H
#define KD_START_CLOSEST_H

#include "core/memory.h"

// How an iteration ended.
typedef enum kd_closest_end {
    KD_CLOSEST_DONE,    // F(y) = 0 to the tolerance
    KD_CLOSEST_STUCK,   // |F| has a minimum here that is not zero
    KD_CLOSEST_LIMIT,   // more iterations are needed than allowed
    KD_CLOSEST_REFUSED, // a function could not be evaluated where it was needed
    KD_CLOSEST_SVD,     // the singular value decomposition did not converge
} kd_closest_end;

enum { KD_CLOSEST_BLOCKS = 64 }; // numbers of blocks are smaller

typedef struct kd_closest {
    int m, n, nx; // equations, unknowns, unknowns with weight
    // F(y), and F(y) with J(y) (m x n) and the magnitudes size(y) >= 1 of the unknowns
    kd_eval (*residual)(void *owner, const double *y, double *F);
    kd_eval (*jacobian)(void *owner, const double *y, double *F, double *J, double *size);
    void *owner;

    double tolerance;      // F_i counts as zero below tolerance * (size of its terms)
    double rank_tolerance; // singular values below rank_tolerance * the largest one count as zero
    double slack;          // factor for what redundant rows may leave over
    int    max_iterations;
    // What belongs to the geometry alone, where given: blocks of J (numbers 1, 2, .. by rows and columns) whose entries
    // are rounding below a part of the largest of their block, in natural units of rows and columns
    int (*block)(const void *owner, int i, int j); // 0: the entry is none of them; NULL: none is
    const double *row_unit, *column_unit;          // (m), (n)
    // Scales to begin with, of rows and of columns without weight, from J; 1 on entry. NULL: none
    void (*prescale)(const void *owner, const double *J, double *row, double *column);
    int nmoved; // the first unknowns are increments of positions: steps that move one by far more than its size are damped
    const bool *affine; // (m) row is affine in y with a constant term that belongs to its size; NULL: none

    double *y, *y_ref;          // (n)
    double *W, *L;              // (nx x nx) weight and its Cholesky factor
    double *F, *J, *size;       // (m), (m x n), (n) at y
    double *bound;              // (m) |F_i| that counts as zero
    double  ratio;              // max |F_i| / bound_i
    double *A, *U, *sigma, *Vt; // decomposition of the scaled Jacobian R J D = U diag(sigma) Vt
    double *row, *column;       // (m) R; (n) D for the unknowns without weight
    double *work;               // of kd_svd, kd_lu_rcond
    double *projection, *over;  // (m) U' R F; part of R F outside the range
    double *dy, *y_old, *F_new; // (n), (n), (m)
    double *N, *grad, *multiplier, *reduced, *hessian, *z, *tangent; // second phase
    double *J_near, *F_near;                                         // (m x n), (m)
    int    *pivot;
    int     rank;
    double  merit;   // |R F|^2
    bool    stopped; // a function asked to stop: REFUSED is all that follows
} kd_closest;

// Cut all arrays. The owner then fills W (if nx > 0), y and y_ref. After failure the arena has `failed` set.
void kd_closest_cut(kd_closest *c, kd_arena *arena);
// L from W; false: W is not positive definite.
bool kd_closest_factor_weight(kd_closest *c);
// F, J, bounds and ratio at y.
kd_eval kd_closest_linearise(kd_closest *c);
// Scaled singular value decomposition of J: rank, null spaces. KD_CLOSEST_DONE or KD_CLOSEST_SVD.
kd_closest_end kd_closest_decompose(kd_closest *c);
// Square regular systems without weights: Newton with LU. false: not regular or no convergence, y is as before.
bool kd_closest_newton(kd_closest *c);
// Damped Gauss-Newton (Levenberg-Marquardt) from y to F(y) = 0; decomposed at the last point.
kd_closest_end kd_closest_feasible(kd_closest *c);
// From a feasible y along {F = 0} to the point closest to y_ref; stays feasible, answers DONE or what stopped it.
kd_closest_end kd_closest_approach(kd_closest *c);
// Null space of J, n x (n - rank) into N, not orthonormal; returns n - rank.
int kd_closest_null_space(kd_closest *c, double *N);

#endif
