// integrator/explicit_impl.h: the frame of explicit one-step methods on x' = f(t, x), for those who make the steps:
// explicit.c (Runge-Kutta) and extrapolation.c.
//
// The frame owns time, state, step size, projection, restarts, failures and their words; a class computes x_1 from x_0
// with an error, proposes step sizes and interpolates.
#ifndef KD_INTEGRATOR_EXPLICIT_IMPL_H
#define KD_INTEGRATOR_EXPLICIT_IMPL_H

#include <kardan/explicit.h>

#include "core/memory.h"
#include "integrator/explicit_tableau.h"

typedef struct kd_explicit_class {
    // From x, k_start and h: x_new, *err against 1, its weighted terms in err. May set k_end = f(t + h, x_new), then
    // end_known.
    kd_status (*solve)(kd_explicit *self, double *err);
    double (*proposal)(kd_explicit *self, double err); // size of the next step after an accepted one
    double (*shrink)(kd_explicit *self, double err);   // factor of the step after an error that was too large
    // *radius = h |f_x| over the border of stability; KD_ERR_RETRY_FAILED: not known
    kd_status (*radius)(kd_explicit *self, double *radius);
    kd_status (*prepare_dense)(kd_explicit *self);                     // after an accepted step, at the first call only
    void (*interpolate)(const kd_explicit *self, double s, double *x); // x(t_old + s h), 0 <= s < 1
} kd_explicit_class;

struct kd_explicit {
    kd_arena                     arena;
    kd_dae                      *dae;
    kd_explicit_options          opt;
    const kd_explicit_class     *how;
    const char                  *name;    // of the method
    const kd_explicit_tableau   *tableau; // Runge-Kutta only
    const kd_constrained_points *points;  // of the half-explicit method; NULL: explicit
    double                       safety, beta;
    int                          n;
    int                          order; // of the present step
    double                       t, t_old, t_end, h, h_next, h_least, h_dense;
    double                      *x, *x_old, *x_new, *X; // (n) X: last stage
    double                      *k[KD_EXPLICIT_STAGES]; // (n)
    double                      *k_start, *k_end;       // (n) f at both ends of the step, before projection
    double                      *k_next;                // (n) f at the end of the last step, x_new after projection
    double                      *k_other;               // (n) at the same points with other multipliers; half-explicit
    double                      *r[KD_EXPLICIT_DENSE];  // (n) of the dense output
    double                      *err;                   // (n) weighted errors
    double                      *share;                 // (n) of a report
    double                       error_last;            // of the last accepted step
    bool                         has_past, to_end, rejected, started, dense_known, end_known, stiff, told;
    bool                         retracted;   // the last step was taken back: no growth right after it
    long                         since_start; // accepted steps
    int                          hits, misses;
    int                          worst;
    kd_status                    cause;
    kd_stats                     stats;
    char                         message[600];
};

// Options and right-hand side, which equations have: KD_OK, or < 0 with the reason in message
kd_status kd_explicit_check(const kd_dae *dae, const kd_explicit_options *opt, const char *name, const char *equations,
                            char *message, size_t size);
// Common fields and arrays of a zeroed object but k_start, k_end; arena.failed tells
void      kd_explicit_init(kd_explicit *self, kd_dae *dae, const kd_explicit_options *opt, const kd_explicit_class *how,
                           const char *name);
kd_status kd_explicit_rhs(kd_explicit *self, double t, const double *x, double *xdot);
kd_status kd_explicit_evaluate_end(kd_explicit *self);       // k_end = f(t + h, x_new)
double    kd_explicit_scale(const kd_explicit *self, int i); // of errors: atol + rtol max(|x|, |x_new|)

#endif
