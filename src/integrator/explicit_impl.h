// integrator/explicit_impl.h: the frame of explicit methods on x' = f(t, x), for those who make the steps:
// explicit.c (Runge-Kutta), extrapolation.c and adams.c, which has a past beside.
//
// The frame owns time, state, step size, projection, restarts, failures and their words; a class computes x_1 from x_0
// with an error, proposes step sizes and interpolates.
#ifndef KD_INTEGRATOR_EXPLICIT_IMPL_H
#define KD_INTEGRATOR_EXPLICIT_IMPL_H

#include "integrator/explicit_tableau.h"
#include "integrator/integrator.h"

typedef struct kd_explicit kd_explicit;

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
    void (*forget)(kd_explicit *self); // the coordinates have changed; NULL: a one-step method, without a past
} kd_explicit_class;

// Two estimates of the error of an accepted step, whose ratio goes with a power of h while steps resolve the motion
typedef struct kd_estimates {
    double h, low, ratio; // low: that of the lower order, in tolerances; ratio: of the other one over it
} kd_estimates;

struct kd_explicit {
    kd_integrator                base; // first: its address is that of the whole
    const kd_explicit_class     *method;
    const kd_explicit_tableau   *tableau; // Runge-Kutta only
    const kd_constrained_points *points;  // of the half-explicit method; NULL: explicit
    kd_dae                      *dae;     // base.dae
    int                          n;       // base.n
    double                       safety, beta;
    int                          stiff_steps; // stiffness is looked for every so many steps; 0: never
    int                          order;       // of the present step
    double                       t_end, h, h_next, h_least, h_dense; // [s] attempt, proposal, least; last step
    double                      *x_old, *x_new, *X;                  // (n) X: last stage
    double                      *k[KD_EXPLICIT_STAGES];              // (n)
    double                      *k_start, *k_end;      // (n) f at both ends of the step, before projection
    double                      *k_next;               // (n) f at the end of the last step, x_new after projection
    double                      *k_other;              // (n) at the same points with other multipliers; half-explicit
    double                      *r[KD_EXPLICIT_DENSE]; // (n) of the dense output
    double                      *err;                  // (n) weighted errors
    double                      *share;                // (n) of a report
    double                       error_last;           // of the last accepted step
    kd_estimates                 now, last, before;    // of the attempt, of the last two accepted steps; h 0: none
    bool                         has_past, to_end, rejected, started, dense_known, end_known, stiff, told;
    bool                         retracted;    // the last step was taken back: no growth right after it
    long                         since_start;  // accepted steps
    int                          hits, misses; // of the test of stiffness, in a row
};

extern const kd_explicit_class kd_explicit_stages; // Runge-Kutta methods: stages of a tableau (explicit.c)

// Common fields and arrays but k_start, k_end
void kd_explicit_init(kd_explicit *self, const kd_explicit_class *method);
// Does the form have a right-hand side? equations: what the method integrates
kd_status kd_explicit_check(const kd_dae *dae, const char *name, const char *equations, char *message, size_t size);
kd_status kd_explicit_rhs(kd_explicit *self, double t, const double *x, double *xdot);
kd_status kd_explicit_evaluate_end(kd_explicit *self); // k_end = f(t + h, x_new)
// h |f(x_new) - f| / |x_new - x|, f = f(x), at t + h: h times the largest eigenvalue where x - x_new is mostly stiff. Norms over
// the scales of errors: metres and radians, metres and metres per second have none in common
double kd_explicit_radius(const kd_explicit *self, const double *f, const double *x);
double kd_explicit_scale(const kd_explicit *self, int i); // of errors: atol + rtol max(|x|, |x_new|)

// ---- of the integrator's class --------------------------------------------------------------------------------------
kd_status kd_explicit_restart(kd_integrator *self, double t, const double *x, kd_restart mode);
kd_status kd_explicit_step(kd_integrator *self, double t_end);
kd_status kd_explicit_retract(kd_integrator *self, double h);
bool      kd_explicit_ends(kd_integrator *self, kd_step_ends *ends);
kd_status kd_explicit_dense(kd_integrator *self, double t, double *x);
kd_stats  kd_explicit_stats(const kd_integrator *self);
void      kd_explicit_archive(kd_integrator *self, kd_archive *a);
#define KD_EXPLICIT_CALLS                                                                                              \
    .step = kd_explicit_step, .retract = kd_explicit_retract, .ends = kd_explicit_ends, .dense = kd_explicit_dense,    \
    .stats = kd_explicit_stats

#endif
