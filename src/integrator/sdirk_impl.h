// integrator/sdirk_impl.h: what sdirk.c (steps, their size) and sdirk_stages.c (stages, Newton, errors) share.
#ifndef KD_INTEGRATOR_SDIRK_IMPL_H
#define KD_INTEGRATOR_SDIRK_IMPL_H

#include "integrator/one_step.h"

#define KD_SDIRK_STAGES 7 // the largest number of all methods

// X_i = x_0 + h sum_j<=i A_ij X_j', A_ii = gamma; the last stage is x_1
typedef struct kd_sdirk_table {
    int           stages, width; // columns of A as stored
    int           first;         // implicit stage; 1: X_1 = x_0
    double        gamma;
    const double *c, *A, *b3;
    double        error; // factor of the difference to the embedded formula
} kd_sdirk_table;

typedef struct kd_sdirk {
    kd_one_step    s;     // first: its address is that of the whole
    kd_sdirk_table table; // not of RODAS
    // SDIRK: Z stage increments X_i - x_0, K stage derivatives. Rosenbrock: Z = U, K[0] = f_t
    double *Z[KD_SDIRK_STAGES], *K[KD_SDIRK_STAGES]; // (n)
    double *deviation;                               // (n) of the first stage from the smooth motion, in the last step
    double *base;                                    // (n) h sum_j<i A_ij X_j'
    double *part;                                    // (n) zero where the formulation eliminates nothing
    double *y;                                       // (nreduced_max)
    double *shift;                                   // (n) moves all stages; NULL: nothing does
    bool    goes_on;                                 // with the stages that are there, after shift has changed
    double  norm_first[KD_SDIRK_STAGES];             // first increment of each stage in the last Newton iterations
} kd_sdirk;

// Arrays of so many stages.
void kd_sdirk_cut(kd_sdirk *s, int stages);
// Nothing is known about the rates of the stages.
void kd_sdirk_forget(kd_one_step *self);
// Matrix and stages; where Newton fails with derivatives of an earlier point: once more with new ones.
kd_status kd_sdirk_solve(kd_sdirk *s, double *shrink);
// The stages of the table (SDIRK 4/15, ESDIRK, midpoint) from x with step h: Z, K. KD_OK; KD_ERR_NEWTON with *shrink,
// the factor for the next attempt; other failures as they come.
kd_status kd_sdirk_stages(kd_sdirk *s, double *shrink);
// Error estimate of these stages to err and its norm.
kd_status kd_sdirk_estimate(kd_sdirk *s, double *norm);
// The accepted step has become the past: deviation of its first stage.
void kd_sdirk_remember(kd_sdirk *s);
// The six stages of RODAS: Z, err and the norm of err.
kd_status kd_sdirk_rosenbrock(kd_sdirk *s, double *norm);
// Save or restore.
void kd_sdirk_archive(kd_integrator *base, kd_archive *a);
// x_1 to X, x_1' to Xdot where it is known.
void kd_sdirk_end_point(kd_sdirk *s);

#endif
