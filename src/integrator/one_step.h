// integrator/one_step.h: the frame of implicit one-step methods on 0 = F(t, x, x'), for those who make the stages:
// radau.c, sdirk.c.
//
// The frame owns the point and its past, weights, the Newton matrix and when it serves, the loop of attempts, step
// control, rejections, steps taken back, restarts, reports and the words of a failure. A class solves its stages with
// an error estimate, gives the end point and interpolates.
#ifndef KD_INTEGRATOR_ONE_STEP_H
#define KD_INTEGRATOR_ONE_STEP_H

#include "integrator/integrator.h"
#include "integrator/kink.h"

static const double KD_NEWTON_SHRINK = 0.5; // step after divergence
static const double KD_LEAST_RATE = 1e-3;   // of theta: without another measurement h may grow by 32, not more
static const double KD_DIVERGED = 0.99;     // contraction factor beyond which Newton is given up
static const double KD_FORGET = 0.8;        // exponent that carries the contraction of one Newton iteration to the next
static const double KD_SURPRISE = 10;       // first increment over what the last one promised: the rate is unknown
static const double KD_HARMLESS = 0.1;      // a first increment of so few tolerances surprises nobody

typedef struct kd_one_step kd_one_step;

typedef struct kd_one_step_class {
    int    order;        // as reported, at first
    double exponent;     // of the error in the step control, 1 over the order of its estimate, at first
    bool   forgets_rate; // of Newton's method, where coordinates are chosen anew
    bool   slope_jumps;  // x' of the start of a step is that of a stage: at a kink it jumps, it is not replaced
    // Stages and error of an attempt from x with step h, err and *norm of it. KD_ERR_NEWTON with *shrink, the factor
    // for the next attempt; other failures as they come
    kd_status (*attempt)(kd_one_step *self, double *shrink, double *norm);
    void (*end_point)(kd_one_step *self);       // x_1 to X, x_1' to Xdot where it is known
    bool (*keeps)(const kd_one_step *self);     // may the Newton matrix serve the next step?
    bool (*end_slope)(const kd_one_step *self); // is x_1' to be taken from rhs?
    void (*accepted)(kd_one_step *self);        // x_old, x are the ends of a step now
    void (*forget)(kd_one_step *self);          // what is known about single stages in Newton's method; NULL: nothing
    void (*bend)(kd_one_step *self);            // the stages of the last step, by the kink; before x_old moves
    void (*interpolate)(const kd_one_step *self, double t, double *x);
} kd_one_step_class;

struct kd_one_step {
    kd_integrator            base; // first: its address is that of the whole
    const kd_one_step_class *method;
    kd_implicit_options     *rule;     // options of the method, in base.opt
    kd_dae                  *dae;      // base.dae
    int                      n;        // base.n
    int                      nd;       // leading components whose derivative is needed
    int                      nc, nn;   // components that count in the error norm, in the Newton norm
    int                      order;    // of the present attempt
    double                   exponent; // of its error in the step control

    double *x_old;           // (n) start of the last step; its end is base.x
    double *xdot, *xdot_old; // (n) derivatives there
    double *X, *Xdot;        // (n) one stage
    double *F;               // (nrows)
    double *dx;              // (n) last Newton increment
    double *err;             // (n)
    double *weight;          // (n) 1 / (atol + rtol |x|)
    double *newton_weight;   // (n) the same, with powers of h for components of higher index
    double *share;           // (n) for the observer
    kd_kink kink;            // the last one

    double h, h_next; // present step, proposal for the next one
    double h_least;   // no attempt of this step may be shorter
    double t_end;
    bool   to_end;                   // the present attempt ends at t_end
    double h_factored;               // step that the decomposition belongs to; 0: none
    double gamma;                    // leading coefficient of its real part
    double h_accepted, err_accepted; // for the predictive controller
    double h_longest;                // accepted since the start
    double growth;                   // h_new / h of the attempt that is being accepted
    double newton_stop;              // fnewt
    double theta, contraction;       // rate of the last Newton iteration; theta / (1 - theta) carried on
    double theta_seen, h_seen;       // last rate that was measured with these derivatives, and the step that it was in
    double h_newton;                 // step that contraction belongs to
    double norm;                     // of Newton's last increment
    int    iterations;               // of the last Newton iteration
    bool   first, rejected, has_past, restart;
    bool   xdot_known, old_known; // xdot, xdot_old are derivatives
    bool   retracted;             // the last step was taken back: no growth right after it
    bool   lands;                 // ends of steps are instants, one after the other
    bool   moved_on;              // a step was accepted since coordinates could be chosen anew
    bool   linearized;            // since creation
    bool   jacobian_current;      // serves the present step
    bool   jacobian_here;         // and was evaluated at its start
    bool   only_updated;          // the matrix has new F_x' but old F_x
    bool   own_dense;             // the method's polynomial of the last step is better than the formulation's
    bool   failed;                // the last step ended with a failure, whose message is complete
    long   accepted_since_start;

    kd_matrix_news news; // of the Newton matrix in the present attempt
};

// ---- for the class --------------------------------------------------------------------------------------------------
// Arrays and counts. rule: the method's options in base.opt
void kd_one_step_init(kd_one_step *self, const kd_one_step_class *method, kd_implicit_options *rule);
// Ranges that the options of all methods have, as rows: prefix of names, first default of theta, fac_upper
#define KD_ONE_STEP_OPTIONS(prefix, field, theta_standard, theta_sentence, upper)                                      \
    {KD_WHOLE(prefix ".max_newton", kd_integrator_options, field.max_newton, 10, 2, INFINITY,                          \
              "Newton iterations of an attempt, at most"),                                                             \
     .paper = "NIT"},                                                                                                  \
        {KD_SWITCH(prefix ".start_zero", kd_integrator_options, field.start_zero, 0,                                   \
                   "zero instead of extrapolated starting values of Newton's method"),                                 \
         .paper = "STARTN"},                                                                                           \
        {KD_SWITCH(prefix ".classical", kd_integrator_options, field.classical, 0,                                     \
                   "classical instead of predictive step control"),                                                    \
         .paper = "PRED"},                                                                                             \
        {KD_REAL(prefix ".uround", kd_integrator_options, field.uround, 1e-16, 0, 1e-3, "unit of rounding"),           \
         .above = true, .below = true, .paper = "UROUND"},                                                             \
        {KD_REAL(prefix ".safety", kd_integrator_options, field.safety, 0.9, 1e-3, 1, "factor of the proposed step"),  \
         .above = true, .below = true, .paper = "SAFE"},                                                               \
        {KD_REAL(prefix ".theta", kd_integrator_options, field.theta, theta_standard, -INFINITY, 1, theta_sentence),   \
         .below = true, .paper = "THET"},                                                                              \
        {KD_REAL(prefix ".newton_stop", kd_integrator_options, field.newton_stop, 0, 0, INFINITY,                      \
                 "Newton error relative to the tolerance that ends the iteration; 0: chosen by rtol"),                 \
         .paper = "FNEWT"},                                                                                            \
        {KD_REAL(prefix ".quot1", kd_integrator_options, field.quot1, 1, -INFINITY, 1,                                 \
                 "the step is kept if quot1 <= h_new / h <= quot2"),                                                   \
         .paper = "QUOT1"},                                                                                            \
        {KD_REAL(prefix ".quot2", kd_integrator_options, field.quot2, 1.2, 1, INFINITY,                                \
                 "the step is kept if quot1 <= h_new / h <= quot2"),                                                   \
         .paper = "QUOT2"},                                                                                            \
        {KD_REAL(prefix ".fac_upper", kd_integrator_options, field.fac_upper, upper, 1, INFINITY,                      \
                 "growth of a step, at most"),                                                                         \
         .above = true, .paper = "FACL"},                                                                              \
    {                                                                                                                  \
        KD_REAL(prefix ".fac_lower", kd_integrator_options, field.fac_lower, 0.2, 0, 1, "growth of a step, at least"), \
            .above = true, .below = true, .paper = "FACR"                                                              \
    }
// Smallest relative tolerance: a few times rule->uround
double kd_one_step_least_rtol(const kd_implicit_options *rule);

// Note why a function refused: KD_ERR_CALLBACK_STOP or KD_ERR_RETRY_FAILED.
kd_status kd_one_step_eval_cause(kd_one_step *self, kd_eval answer);
// Weighted norm of an error estimate, at least 1e-10; NaN stays NaN.
double kd_one_step_error_norm(const kd_one_step *self, const double *err);
// Nothing is known about the rate of Newton's method.
void kd_one_step_forget(kd_one_step *self);
// The rate is (matrix) \ (error of F_x): it grows with h^2 where F_x has a wrong stiffness. One that was measured in a
// short step, of length h, says nothing about a long one.
double kd_one_step_growth_of_rate(const kd_one_step *self, double h);
// Right-hand side of the Newton system at (t, x, Xdot)
kd_status kd_one_step_evaluate(kd_one_step *self, double t, const double *x, double *part, double *y);

// Derivatives at a point; here: it is the start of the step. gamma: leading coefficient for differences; 0: not told
kd_status kd_one_step_linearize(kd_one_step *self, double t, const double *x, const double *xdot, double gamma,
                                bool here);
// Those of the last linearisation, moved along cheaply to the start of the step (S0 section 3.2) while they serve
// Newton well
kd_status kd_one_step_update(kd_one_step *self, double gamma);
bool      kd_one_step_update_serves(const kd_one_step *self);
// For the present step, unless it is there
kd_status kd_one_step_factor(kd_one_step *self, double gamma_real, double gamma_re, double gamma_im);
// A further complex matrix right after it (kd_dae_class.pair)
kd_status kd_one_step_factor_further(kd_one_step *self, int k, double gamma_re, double gamma_im);
// Cubic Hermite polynomial through the ends of the last step at time t; components without derivative linearly.
void kd_one_step_hermite(const kd_one_step *self, double t, double *x);

// ---- of the integrator's class --------------------------------------------------------------------------------------
kd_status kd_one_step_restart(kd_integrator *self, double t, const double *x, kd_restart mode);
kd_status kd_one_step_step(kd_integrator *self, double t_end);
kd_status kd_one_step_retract(kd_integrator *self, double h);
bool      kd_one_step_ends(kd_integrator *self, kd_step_ends *ends);
void      kd_one_step_refresh(kd_integrator *self);
double    kd_one_step_gamma(const kd_integrator *self);
kd_status kd_one_step_dense(kd_integrator *self, double t, double *x);
kd_stats  kd_one_step_stats(const kd_integrator *self);
void      kd_one_step_archive(kd_integrator *self, kd_archive *a); // for the archive of the method
#define KD_ONE_STEP_CALLS                                                                                              \
    .restart = kd_one_step_restart, .step = kd_one_step_step, .retract = kd_one_step_retract,                          \
    .ends = kd_one_step_ends, .refresh = kd_one_step_refresh, .gamma = kd_one_step_gamma, .dense = kd_one_step_dense,  \
    .stats = kd_one_step_stats

#endif
