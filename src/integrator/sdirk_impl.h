// integrator/sdirk_impl.h: what sdirk.c (steps, their size) and sdirk_stages.c (stages, Newton, errors) share.
#ifndef KD_INTEGRATOR_SDIRK_IMPL_H
#define KD_INTEGRATOR_SDIRK_IMPL_H

#include <kardan/sdirk.h>

#include "core/memory.h"
#include "integrator/kink.h"

#define KD_SDIRK_STAGES 7 // the largest number of all methods

static const double KD_SDIRK_SHRINK = 0.5;      // step after divergence
static const double KD_SDIRK_LEAST_RATE = 1e-3; // of theta: without another measurement h may grow by 32, not more

// X_i = x_0 + h sum_j<=i A_ij X_j', A_ii = gamma; the last stage is x_1
typedef struct kd_sdirk_table {
    int           stages, width; // columns of A as stored
    int           first;         // implicit stage; 1: X_1 = x_0
    double        gamma;
    const double *c, *A, *b3;
    double        error; // factor of the difference to the embedded formula
} kd_sdirk_table;

struct kd_sdirk {
    kd_dae          *dae;
    kd_sdirk_table   table; // not of RODAS
    kd_sdirk_options opt;
    kd_arena         arena;
    int              n;
    int              nd;     // leading components whose derivative is needed
    int              nc, nn; // components that count in the error norm, in the Newton norm

    double  t, t_old;
    double *x, *x_old;       // (n) accepted point and the one before
    double *xdot, *xdot_old; // (n) derivatives there
    // SDIRK: Z stage increments X_i - x_0, K stage derivatives. Rosenbrock: Z = U, K[0] = f_t
    double *Z[KD_SDIRK_STAGES], *K[KD_SDIRK_STAGES]; // (n)
    double *deviation;                               // (n) of the first stage from the smooth motion, in the last step
    double *base;                                    // (n) h sum_j<i A_ij X_j'
    double *X, *Xdot;                                // (n) one stage
    double *F;                                       // (nrows)
    double *part;                                    // (n) zero where the formulation eliminates nothing
    double *dx;                                      // (n)
    double *y;                                       // (nreduced_max)
    double *err;                                     // (n)
    double *rtol, *atol;                             // (n)
    double *weight;                                  // (n) 1 / (atol + rtol |x|)
    double *newton_weight;                           // (n) the same, with powers of h for components of higher index
    double *share;                                   // (n) for the observer
    kd_kink kink;                                    // the last one

    double h, h_next; // present step, proposal for the next one
    double h_least;   // no attempt of this step may be shorter
    double t_end;
    bool   to_end;                   // the present attempt ends at t_end
    double h_factored;               // step that the decomposition belongs to; 0: none
    double h_accepted, err_accepted; // for the predictive controller
    double newton_stop;              // fnewt
    double theta, contraction;       // slowest rate of the stages; theta / (1 - theta) carried on
    double theta_seen, h_seen;       // last rate that was measured with these derivatives, and the step that it was in
    double h_newton;                 // step that contraction and norm_first belong to
    double norm_first[KD_SDIRK_STAGES]; // first increment of each stage in it
    double norm;                        // of Newton's last increment
    int    iterations;                  // of the stage that needed most
    bool   first, rejected, has_past, restart;
    bool   xdot_known, old_known; // xdot, xdot_old are derivatives
    bool   retracted;             // the last step was taken back: no growth right after it
    bool   lands;                 // ends of steps are instants, one after the other
    bool   kinked;                // since the last step: x_old is a past that nobody has seen
    bool   linearized;            // since creation
    bool   moved_on;              // a step was accepted since coordinates could be chosen anew
    bool   jacobian_current;      // serves the present step
    bool   jacobian_here;         // and was evaluated at its start
    long   accepted_since_start;

    kd_matrix_news news; // of the Newton matrix in the present attempt
    kd_stats       stats;
    kd_status      cause; // why the last attempt failed
    int            worst; // component that made it fail, -1: unknown
    char           message[600];
};

// Nothing is known about the rate of Newton's method.
void kd_sdirk_forget_contraction(kd_sdirk *s);
// Note why a function refused: KD_ERR_CALLBACK_STOP or KD_ERR_RETRY_FAILED.
kd_status kd_sdirk_eval_cause(kd_sdirk *s, kd_eval answer);
// Weighted norm of an error estimate, at least 1e-10; NaN stays NaN.
double kd_sdirk_error_norm(const kd_sdirk *s, const double *err);
// Cubic Hermite polynomial through the accepted points (t_old, x_old) and (t, x) at time t; components without
// derivative linearly.
void kd_sdirk_hermite(const kd_sdirk *s, double t, double *x);

// The five stages of SDIRK 4/15 from s->x with step s->h: Z, K. KD_OK; KD_ERR_NEWTON with *shrink, the factor for the
// next attempt; other failures as they come.
kd_status kd_sdirk_stages(kd_sdirk *s, double *shrink);
// Error estimate of these stages to err and its norm.
kd_status kd_sdirk_estimate(kd_sdirk *s, double *norm);
// The accepted step has become the past: deviation of its first stage.
void kd_sdirk_remember(kd_sdirk *s);
// The six stages of RODAS: Z, err and the norm of err.
kd_status kd_sdirk_rosenbrock(kd_sdirk *s, double *norm);
// x_1 to X, x_1' to Xdot where it is known.
void kd_sdirk_end_point(kd_sdirk *s);

#endif
