// integrator/sundials.h: what the adapters to IDA, CVODE and ARKODE share: context, vectors, messages, the
// formulation's own linear algebra, projection, reports of attempts. Every object has its own SUNContext; nothing is
// printed.
#ifndef KD_INTEGRATOR_SUNDIALS_H
#define KD_INTEGRATOR_SUNDIALS_H

#include "core/memory.h"
#include "integrator/kink.h"
#include <kardan/radau.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_linearsolver.h>

typedef struct kd_sundials kd_sundials;

// Since the last start
typedef struct kd_sundials_counts {
    long error_failures, solve_failures, iterations;
    int  order; // of the last step
} kd_sundials_counts;

// What the solvers do under different names. memory is IDA's, CVODE's or ARKODE's.
typedef struct kd_sundials_class {
    const char *name;
    void (*count)(const kd_sundials *self, kd_sundials_counts *out);
    int (*local_errors)(void *memory, N_Vector error);
    int (*weights)(void *memory, N_Vector weight);
} kd_sundials_class;

struct kd_sundials {
    const kd_sundials_class *methods;
    kd_dae                  *dae;
    kd_arena                 arena;
    SUNContext               context;
    void                    *memory;           // the solver's
    N_Vector                 x, error, weight; // (n)
    SUNMatrix                matrix;
    SUNLinearSolver          solver;
    double                   solution_factor; // own linear algebra: factor of solutions
    bool                    *measured;        // (n) takes part in the error test
    double                   t, t_old;
    double                  *accepted;          // (n) at t
    double                  *previous;          // (n) at t_old
    double                  *slope_old, *slope; // (n) x' there and at t, for kd_sundials_ends
    double                  *F, *part, *y;      // own linear algebra
    double                  *share;             // (n) of a report
    kd_kink                  kink;              // the last one
    double                   h_begun;           // first step of the last start
    double                   h_again;           // the next one should try it; 0: unknown
    long                     steps;             // since the start
    long                     max_steps;
    kd_stats                 before; // statistics of earlier starts
    bool                     started;
    kd_sundials_counts       told;        // counts that have been reported
    double                   t_tried;     // latest time of the present attempt
    kd_matrix_news           news;        // what happened to the Newton matrix in it
    kd_status                fault;       // of the last function that did not answer OK
    char                     reason[256]; // in the solver's words
    char                     message[600];
};

// Options that all have. what is the solver's name.
kd_status kd_sundials_check(const char *what, double rtol, double atol, double h_first, double h_max, long max_steps,
                            char *message, size_t size);
// The same for the ordinary differential equations of CVODE and ARKODE: only forms with rhs.
kd_status kd_sundials_check_ode(const char *what, const kd_dae *dae, char *message, size_t size);

// Arrays, context and vectors; then the caller creates memory and, for Newton's method, the linear solver.
kd_status kd_sundials_open(kd_sundials *self, const kd_sundials_class *methods, kd_dae *dae,
                           long max_steps) KD_NODISCARD;
bool      kd_sundials_vector(kd_sundials *self, N_Vector *vector) KD_NODISCARD; // of zeros
// matrix and solver: own: of the formulation, otherwise SUNDIALS' dense LU
bool kd_sundials_linear_solver(kd_sundials *self, bool own) KD_NODISCARD;
void kd_sundials_close(kd_sundials *self); // all but memory, which goes first

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

// ---- steps ----------------------------------------------------------------------------------------------------------
void kd_sundials_clear(kd_sundials *self); // fault and message of before
// State for a start at (t, x); xdot (may be NULL) from the formulation.
kd_status kd_sundials_begin(kd_sundials *self, double t, const double *x, double *xdot) KD_NODISCARD;
// The same for a restart; xdot (may be NULL) as the solver left it.
kd_status kd_sundials_begin_again(kd_sundials *self, double t, const double *x, kd_restart mode,
                                  double *xdot) KD_NODISCARD;
kd_status kd_sundials_no_start(kd_sundials *self); // memory refused
// May a step to t_end be tried? KD_OK with *go, or the answer of the step.
kd_status kd_sundials_may_step(kd_sundials *self, double t_end, bool *go) KD_NODISCARD;
// Limit of the step from t: h_max or a little less, so that the last of several steps to t_end is not a sliver, which
// the solvers do not avoid.
double kd_sundials_limit(const kd_sundials *self, double t_end, double h_max);
// State-space forms may change their coordinates between two steps; *changed: the solver must start again at (t, x).
kd_status kd_sundials_relabel(kd_sundials *self, bool *changed) KD_NODISCARD;
// May the last step be taken back? And, when the solver has started again at t_old, previous: count it.
bool kd_sundials_may_retract(const kd_sundials *self, double h);
void kd_sundials_retracted(kd_sundials *self, long steps);
// The solver answered flag, self->x at t: the answer of the step.
kd_status kd_sundials_stepped(kd_sundials *self, int flag, double t, double t_end) KD_NODISCARD;
// Dense output: what get_dky, e.g. CVodeGetDky, has at t, corrected
kd_status kd_sundials_dense(kd_sundials *self, int (*get_dky)(void *, double, int, N_Vector), double t,
                            double *x) KD_NODISCARD;
bool      kd_sundials_ends(kd_sundials *self, int (*get_dky)(void *, double, int, N_Vector), kd_step_ends *ends);
kd_status kd_sundials_fail(kd_sundials *self, kd_status status);

// What the formulation counted since its creation: projections and, if its linear algebra is used, what that costs.
void kd_sundials_formulation_stats(const kd_sundials *self, bool own, kd_stats *stats);

#endif
