// integrator/sundials.h: what the adapters to IDA, CVODE and ARKODE share: context, vectors, messages, the
// formulation's own linear algebra, projection, reports of attempts. Every object has its own SUNContext; nothing is
// printed.
#ifndef KD_INTEGRATOR_SUNDIALS_H
#define KD_INTEGRATOR_SUNDIALS_H

#include "integrator/integrator.h"
#include "integrator/kink.h"

#ifdef KD_WITH_SUNDIALS
#define KD_SUNDIALS_AVAILABLE true

#include "integrator/sundials_late.h"

typedef struct kd_sundials kd_sundials;

// Since the last start
typedef struct kd_sundials_counts {
    long   steps, evaluations, error_failures, solve_failures, iterations, setups, jacobians, differences;
    int    order;  // of the last step
    double h_last; // its size
} kd_sundials_counts;

// What the solvers do under different names. memory is IDA's, CVODE's or ARKODE's; calls answer 0 or its flags.
typedef struct kd_sundials_calls {
    bool steps_go_on; // a start at the same place is told to nobody: the first step is the solver's own choice
    bool (*count)(const kd_sundials *self, kd_sundials_counts *out);
    int (*local_errors)(void *memory, N_Vector error);
    int (*weights)(void *memory, N_Vector weight);
    int (*derivative)(void *memory, double t, int order, N_Vector x); // dense output
    int (*set_first)(void *memory, double h);
    int (*set_longest)(void *memory, double h);                 // NULL: once, at creation
    double (*first_step)(const kd_sundials *self, double span); // of a start; NULL: the solver's own
    double (*step_in_use)(const kd_sundials *self);             // goes on behind a restart; NULL: order 1 begins again
    int (*start)(kd_sundials *self);                            // at t, x
    int (*evolve)(kd_sundials *self, double t_end, double *t);  // one step to self->x
    void (*release)(kd_sundials *self);                         // memory and what else is the solver's
} kd_sundials_calls;

struct kd_sundials {
    kd_integrator              base;  // first: its address is that of the whole; its x is the accepted point
    kd_sundials_calls          calls; // of the solver
    const kd_sundials_options *rule;  // options of the solver, in base.opt
    kd_dae                    *dae;   // base.dae
    SUNContext                 context;
    void                      *memory;           // the solver's
    N_Vector                   x, error, weight; // (n)
    N_Vector                   xdot;             // (n) of IDA; NULL: not needed
    SUNMatrix                  matrix;
    SUNLinearSolver            solver;
    double                     solution_factor;   // own linear algebra: factor of solutions
    bool                      *measured;          // (n) takes part in the error test
    double                    *previous;          // (n) at t_old
    double                    *slope_old, *slope; // (n) x' there and at t, for its ends
    double                    *F, *part, *y;      // own linear algebra
    double                    *share;             // (n) of a report
    double                     sharper;           // factor of the weights of the error test; 0: 1
    kd_kink                    kink;              // the last one
    double                     h_begun;           // first step of the last start
    double                     h_again;           // the next one should try it; 0: unknown
    long                       steps;             // since the start
    int                        order_before;      // of the last restart, until it is reached again; 0: it is
    double                     lost, lost_last;   // errors of steps of lower order since then, that of the last step
    kd_stats                   before;            // statistics of earlier starts
    bool                       started;
    kd_sundials_counts         told;        // counts that have been reported
    double                     t_tried;     // latest time of the present attempt
    kd_matrix_news             news;        // what happened to the Newton matrix in it
    kd_status                  fault;       // of the last function that did not answer OK
    char                       reason[256]; // in the solver's words
};

// SUNDIALS is there, which is loaded now; KD_ERR_UNAVAILABLE: message says what is missing
kd_status kd_sundials_check(const char *what, char *message, size_t size);
// The same, and the form has a right-hand side: for CVODE and ARKODE
kd_status kd_sundials_check_ode(const char *what, const kd_dae *dae, char *message, size_t size);

// Arrays, context and vectors; then the caller creates memory and, for Newton's method, the linear solver.
kd_status kd_sundials_open(kd_sundials *self, const kd_sundials_calls *calls,
                           const kd_sundials_options *rule) KD_NODISCARD;
bool      kd_sundials_vector(kd_sundials *self, N_Vector *vector) KD_NODISCARD; // of zeros
// matrix and solver: of the formulation where the options say so, otherwise SUNDIALS' dense LU
bool kd_sundials_linear_solver(kd_sundials *self) KD_NODISCARD;

// ---- callbacks; user_data is the kd_sundials -----------------------------------------------------------------------
// Error handler of all three solvers: keeps the first message.
void kd_sundials_keep_message(int code, const char *module, const char *function, char *text, void *user_data);
// x' = rhs(t, x)
int kd_sundials_rhs(double t, N_Vector x, N_Vector xdot, void *user_data);
// Own linear algebra of I - gamma rhs_x
int kd_sundials_linear_system(kd_sundials *self, double t, N_Vector x, N_Vector xdot, bool keep, int *renewed,
                              double gamma);
// Quaternion norms and projection of a point. 0, > 0 recoverable, < 0 not.
int  kd_sundials_correct(kd_sundials *self, double t, double *x);
bool kd_sundials_corrects(const kd_dae *dae);
// An evaluation at time t begins: an attempt that failed before is reported.
void kd_sundials_at(kd_sundials *self, double t);
// Keep the reason of an answer; 0, > 0 recoverable (a smaller step), < 0 not.
int kd_sundials_note(kd_sundials *self, kd_eval answer);
int kd_sundials_note_linear(kd_sundials *self, kd_status status);
// Every row finite? Otherwise keep the reason and answer 1.
int kd_sundials_finite(kd_sundials *self, const double *F, const char *what);

// 1 / (rtol |x| + atol), with the tolerances of all components
int kd_sundials_weights(N_Vector x, N_Vector weight, void *user_data);

// A new start at the same place, with steps and reason of before: for solvers that give up where a shorter step helps
kd_status kd_sundials_start_again(kd_sundials *self) KD_NODISCARD;

// ---- of the integrator's class --------------------------------------------------------------------------------------
kd_status kd_sundials_restart(kd_integrator *self, double t, const double *x, kd_restart mode);
kd_status kd_sundials_step(kd_integrator *self, double t_end);
kd_status kd_sundials_retract(kd_integrator *self, double h);
bool      kd_sundials_ends(kd_integrator *self, kd_step_ends *ends);
kd_status kd_sundials_dense(kd_integrator *self, double t, double *x);
kd_stats  kd_sundials_stats(const kd_integrator *self);
void      kd_sundials_release(kd_integrator *self);
double    kd_sundials_lost(const kd_integrator *self);
#define KD_SUNDIALS_CALLS                                                                                              \
    .restart = kd_sundials_restart, .step = kd_sundials_step, .retract = kd_sundials_retract,                          \
    .ends = kd_sundials_ends, .dense = kd_sundials_dense, .stats = kd_sundials_stats, .release = kd_sundials_release,  \
    .lost = kd_sundials_lost

#else
#define KD_SUNDIALS_AVAILABLE false
#endif

#endif
