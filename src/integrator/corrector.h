// integrator/corrector.h: the corrector iteration of implicit multistep methods: simplified Newton for F(t, x, x') = 0
// with x' = xdot_start + cj (x - x_start), and the rules of when its matrix is evaluated, updated or kept.
// Method: docs/methods/bdf.md
#ifndef KD_INTEGRATOR_CORRECTOR_H
#define KD_INTEGRATOR_CORRECTOR_H

#include "core/memory.h"
#include "integrator/secants.h"
#include <kardan/dae.h>

typedef struct kd_corrector_options {
    int    max_newton;
    double stop;               // kappa
    double cj_lower, cj_upper; // the matrix is kept while cj / cj_factored lies between
    bool   dassl_rules;
} kd_corrector_options;

// ---- when to evaluate, update or keep -------------------------------------------------------------------------------

typedef enum kd_matrix_action {
    KD_MATRIX_KEEP,
    KD_MATRIX_FACTOR,   // for the present cj
    KD_MATRIX_UPDATE,   // F_x' anew, F_x kept (S0 Eq. 24 to 26), factor
    KD_MATRIX_EVALUATE, // all derivatives anew, factor
    KD_MATRIX_GIVE_UP,  // nothing better is to be had at this step size
} kd_matrix_action;

typedef struct kd_matrix_state {
    bool   exists;     // some derivatives are there
    bool   fresh;      // they were evaluated in this attempt
    bool   renewed;    // they were factored, updated or evaluated in this attempt
    bool   failed;     // the iteration with the present matrix failed or was slow
    bool   has_update; // the formulation offers cheap updates
    bool   scales;     // differential rows are known: a change of cj is met by the factor c (S0 Eq. 18)
    int    shrunk;     // factored or updated for a larger cj so often in a row, without new derivatives
    bool   outgrown;   // the derivatives are those of much shorter steps: what is wrong in them counts by h^2
    int    spent;      // iterations beyond the first of a step, with these factors and a cj that stays; 0: cj is new
    double ratio;      // cj / cj of the factors; 0: there are no factors
} kd_matrix_state;

kd_matrix_action kd_corrector_decide(const kd_corrector_options *opt, const kd_matrix_state *state);

// ---- the iteration --------------------------------------------------------------------------------------------------

typedef struct kd_corrector {
    kd_dae              *dae;
    kd_corrector_options opt;
    double              *F, *part, *y;         // (nrows), (n), (nreduced_max)
    double              *z, *z_old;            // (n) -J \ F at the present and the last iterate
    double              *dx;                   // (n) last increment
    double              *x_start, *xdot_start; // (n)
    double               slack;                // kd_dae.slack while it iterates. The owner's
    const double        *weight;               // (n) of the convergence norm; 0: takes no part. The owner's
    int                  counted;              // components that take part
    kd_secants           secants;

    bool           exists, fresh, renewed; // see kd_matrix_state
    int            shrunk;                 // see kd_matrix_state
    bool           evaluate_next;          // whatever the rules say
    bool           restart;                // tell the next linearize to forget
    double         cj_factored;            // 0: no factors
    double         cj_evaluated;           // at which the derivatives were evaluated
    double         cj_last;                // of the last attempt
    double         same;                   // relative difference of two cj that counts as none. The owner's
    bool           settled;                // cj is that of the last attempt
    int            spent;                  // see kd_matrix_state
    double         rate;                   // of convergence, carried on from step to step; 1: unknown
    int            iterations;             // of the last attempt, all matrices together
    kd_matrix_news news;                   // the most expensive thing that the last attempt did
    double         norm;                   // of the last increment
} kd_corrector;

void kd_corrector_cut(kd_corrector *c, kd_arena *arena, kd_dae *dae, const kd_corrector_options *opt);
// Before the first step. keep: derivatives of before are still good.
void kd_corrector_start(kd_corrector *c, bool keep);
// Save or restore; arrays of numbers belong to the arena of the owner.
void kd_corrector_archive(kd_corrector *c, kd_archive *a);
// Solve for x near the starting values x, xdot (both overwritten). KD_OK; KD_ERR_NEWTON: not converged with a fresh
// matrix; KD_ERR_RETRY_FAILED, KD_ERR_CALLBACK_STOP: F answered so; otherwise what the linear algebra answered.
kd_status kd_corrector_solve(kd_corrector *c, double t, double h, double cj, double *x, double *xdot) KD_NODISCARD;

#endif
