// kardan/dae.h: what an integrator sees: 0 = F(t, x, x') with the linear algebra of its Newton matrices.
//
// A formulation makes a kd_dae from equations of motion; an integrator uses nothing else. The Newton matrix is
// gamma F_x' + F_x. Elimination that does not depend on gamma is done once per linearisation, on single right-hand
// sides:  reduce: F -> (part, y);  solve: y <- (reduced matrix)(gamma) \ y;  expand: dx = part + N y. A formulation
// whose algebraic equations form levels may evaluate and reduce level by level in one call instead (evaluate).
#ifndef KARDAN_DAE_H
#define KARDAN_DAE_H

#include <kardan/base.h>

KD_EXTERN_C_BEGIN

typedef enum kd_component {
    KD_COMPONENT_POSITION,
    KD_COMPONENT_VELOCITY,
    KD_COMPONENT_INNER,      // r
    KD_COMPONENT_AUXILIARY,  // w
    KD_COMPONENT_CONTACT,    // s
    KD_COMPONENT_MULTIPLIER, // lambda, mu
    KD_COMPONENT_INTERNAL,   // a, eta: not part of the state that a user sees
} kd_component;

typedef struct kd_dae_counters {
    long residuals;         // NEOM, #fcw: evaluations of F (those for differences not included)
    long jacobians;         // NJAC, #Je: evaluations of all derivatives
    long updates;           // #updates: cheap updates (24), (25), (26) of S0
    long pattern_changes;   // an estimated pattern grew
    long groups;            // column groups of the present pattern (S0 section 3.1); 0: not differenced by groups
    long fullest_row;       // entries of its fullest row, the lower bound of groups
    long mass;              // NMAS
    long selectors;         // NSEL: determinations of selectors
    long predecompositions; // NPDEC: decompositions of the algebraic part
    long decompositions;    // NEDEC: pairs of real and complex decompositions
    long solves;            // NBSUB: Newton solves, all stages together
    long for_differences;   // #fc - #fcw: evaluations made for differences
    long factorizations;    // sparse: with new pivoting (the first, and after growth of rounding errors)
    long refactorizations;  // sparse: with the old pivoting
    long projections;       // states moved back onto the constraints (S1 Eq. 36)
} kd_dae_counters;

// What an integrator may keep when it starts again at a time that it has reached. Method: docs/methods/restart.md
typedef enum kd_restart {
    KD_RESTART_FRESH,     // nothing: the equations are others (active rows), or this is the first start
    KD_RESTART_SAME_ROWS, // x jumped: matrices and step size are good guesses, the past is none
    KD_RESTART_BEHIND,    // as SAME_ROWS behind a jump that a step has passed: such starts follow each other, and what
                          // they lose adds up
    KD_RESTART_SMOOTH,    // only x' jumped, because z or an input did: x of before goes on with its past; algebraic
                          // components are solved for again. The x that is passed is not looked at, it may be NULL
} kd_restart;

// ---------------------------------------------------------------------------------------------------------------------
// What an integrator tells about every attempt of a step, for those who want to know who limits it.
typedef enum kd_attempt {
    KD_ATTEMPT_ACCEPTED,
    KD_ATTEMPT_ERROR,    // error test failed
    KD_ATTEMPT_NEWTON,   // corrector iteration failed or was too slow
    KD_ATTEMPT_EVALUATE, // a function asked for a smaller step
    KD_ATTEMPT_RETRACTED // it had been accepted, but did not stand up to a check; told by the driver
} kd_attempt;
typedef enum kd_matrix_news {
    KD_MATRIX_KEPT,
    KD_MATRIX_FACTORED,
    KD_MATRIX_UPDATED,
    KD_MATRIX_EVALUATED
} kd_matrix_news;

typedef struct kd_attempt_report {
    double         t, h;       // start of the step, its size (0: not known)
    int            order;      // of the method
    int            iterations; // of Newton
    kd_attempt     outcome;
    kd_matrix_news matrix; // the most expensive thing that was done to the Newton matrix in this attempt
    double         error;  // norm of the estimated error; NEWTON: of the last increment
    const char    *why;    // RETRACTED: in words; otherwise NULL
    const double  *share;  // (n) part of each component in the square of that norm, sum 1, during the call; or NULL
} kd_attempt_report;

// Both ends of an accepted step; arrays (n), valid until the next call that changes the integrator.
typedef struct kd_step_ends {
    double        t0, t1;
    const double *x0, *d0; // x and x' at t0; only the leading nderivative components of x' mean something
    const double *x1, *d1; // at t1
    bool doubtful; // estimates of the error do not go on as those of the step before: one may be small by accident
} kd_step_ends;

typedef struct kd_dae kd_dae;

// The functions of a formulation. impl is kd_dae.impl.
typedef struct kd_dae_class {
    const char *name;
    // F(t, x, x'), rows in the formulation's own order. NULL if evaluate is given.
    kd_eval (*residual)(void *impl, double t, const double *x, const double *xdot, double *F);
    // Evaluate the derivatives at (t, x, x') and factor what does not depend on gamma. restart: forget what was kept
    // from earlier points (after Newton trouble or an event). KD_OK, > 0 with news, < 0 failed.
    kd_status (*linearize)(void *impl, double t, const double *x, const double *xdot, bool restart);
    // Bring the matrix up to date without evaluating all derivatives: F_x' new, F_x kept (S0 Eq. 24, 25) and, if the
    // formulation was created so, moved with the inputs (Eq. 26). linearize must have succeeded before. NULL: there is
    // no cheaper way than linearize.
    kd_status (*update)(void *impl, double t, const double *x, const double *xdot);
    // Factor the reduced matrices for gamma_real and, if wanted, gamma_re + i gamma_im (gamma_im = 0: real one only;
    // gamma_real = 0: complex one only, after the real one).
    kd_status (*factor)(void *impl, double gamma_real, double gamma_re, double gamma_im);
    // factor and solve_complex are about the k-th complex matrix from now on, 0, 1 or 2; at first 0. The first call with
    // a k makes room for it: KD_OK, KD_ERR_MEMORY, KD_ERR_UNSUPPORTED. NULL: there is one only.
    kd_status (*pair)(void *impl, int k);
    void (*reduce)(void *impl, const double *F, double *part, double *y); // right-hand side is -F
    // residual and reduce in one; NULL: residual, then reduce
    kd_eval (*evaluate)(void *impl, double t, const double *x, const double *xdot, double *part, double *y);
    // the same at the last accepted point, where the algebraic equations hold (error estimates); NULL: evaluate
    kd_eval (*evaluate_accepted)(void *impl, double t, const double *x, const double *xdot, double *part, double *y);
    void (*solve_real)(void *impl, double *y);
    void (*solve_complex)(void *impl, double *y_re, double *y_im);
    void (*expand)(void *impl, const double *part, const double *y, double *dx);
    // End of an accepted step: correct x so that all algebraic equations hold to rounding (one solve with the matrix of
    // the new point, where it linearises unless kd_dae.keep is set; a linearize at the same time may then cost
    // nothing). xdot is what linearize would be called with. NULL: nothing to do.
    kd_eval (*correct)(void *impl, double t, double *x, const double *xdot);
    // Move x onto the position and velocity constraints (S1 Eq. 36) if they are violated by more than the bound of the
    // formulation's options; *moved tells. NULL: nothing to project, or not wanted. The error estimate is taken before.
    kd_eval (*project)(void *impl, double t, double *x, bool *moved);
    // Symmetric projection of midpoint methods: dx, an increment of positions and velocities along the constraint forces
    // at (t, x), such that x_1 + 2 dx satisfies the constraints there to first order, if x_1 was found with the dx of the
    // last call. NULL: there are no constraints to be kept.
    kd_eval (*normal)(void *impl, double t, const double *x, double t1, const double *x1, double *dx);
    // State-space forms: after an accepted step the coordinates may be chosen anew; x is then rewritten in the new ones
    // and *changed set: derivatives and past stages are void. x' of the new coordinates comes from rhs. Best called
    // before the next step, when dense output of the last one is no longer wanted; times before t keep the coordinates
    // of before. NULL: never.
    kd_eval (*relabel)(void *impl, double t, double *x, bool *changed);
    // After relabel has changed the coordinates: x of an earlier point in the new ones, for the history of multistep
    // methods. t is a time at which relabel or pack was called; about the last ten are known. false: this one is not.
    // NULL: none is.
    bool (*recall)(void *impl, double t, double *x);
    // Dense output between two accepted points: x(t) for t0 <= t <= t1, algebraic components re-solved. NULL: the
    // integrator's own.
    kd_eval (*interpolate)(void *impl, double t0, const double *x0, double t1, const double *x1, double t, double *x);
    // A point between two accepted ones that comes from an integrator's own polynomial: move it onto the constraints
    // that accepted points satisfy, and solve for the algebraic components. NULL: nothing to do.
    kd_eval (*between)(void *impl, double t, double *x);
    // Smooth continuation of the motion through the accepted points x0, x1: overwrite those of the leading nderivative
    // components of x, a first guess at time t, that are known better (p and v from positions, velocities and
    // accelerations at both ends). NULL: none.
    void (*extrapolate)(void *impl, double t0, const double *x0, double t1, const double *x1, double t, double *x);
    // x' = rhs(t, x), for integrators of ordinary differential equations; residual is then x' - rhs. NULL: it is none.
    kd_eval (*rhs)(void *impl, double t, const double *x, double *xdot);
    // Half-explicit methods: x' at (t, x) with those multipliers for which base + factor x' satisfies the constraints
    // on velocity level at t_next. NULL: the form has no such stages.
    kd_eval (*stage)(void *impl, double t, const double *x, double t_next, const double *base, double factor,
                     double *xdot);
    // ... and x - dx, close to a point (t, x) whose x' was asked for last: dx to where it satisfies the constraints on
    // velocity level, along constraint forces at x. NULL: there are none.
    kd_eval (*neighbour)(void *impl, double t, const double *x, double *dx);
    // x of the whole state [p v r w s lambda mu | a] at a start, where coordinates are chosen anew; a failure is told
    // by start, too. NULL: x begins with the state.
    kd_eval (*pack)(void *impl, double t, const double *whole, double *x);
    // What a state has behind the leading nstate components, [w s lambda mu | a] for the form ode, at (t, x); comes as
    // guess, which is left after a failure. NULL: x has all of [p v r w s lambda mu].
    kd_eval (*complete)(void *impl, double t, const double *x, double *rest);
    // Starting derivative x' for given consistent x (0 where undetermined). NULL: zero.
    kd_eval (*start)(void *impl, double t, const double *x, double *xdot);
    // v' alone, for those who look at a state (t, x); known already where interpolate or between has made the point.
    // NULL: as start.
    kd_eval (*acceleration)(void *impl, double t, const double *x, double *a);
    // z or an input has jumped at time t, where p, v, r of x and their constraints go on: solve for the algebraic
    // components of x again. xdot: x' from the left on entry, from the right on return; jump, bend: how much x' and,
    // as far as that is known, x'' change (0 elsewhere). Matrices of before may serve.
    // NULL: x has no algebraic components.
    kd_eval (*resolve)(void *impl, double t, double *x, double *xdot, double *jump, double *bend);
    // An input has jumped that nobody could know of: what was computed at points, or kept for them, is no longer true. NULL: nothing is kept.
    void (*forget)(void *impl);
    const char *(*component_name)(void *impl, int i, char *buffer, size_t size);
    kd_status (*fault)(void *impl, const char **message); // why the last call failed
    kd_dae_counters (*counters)(void *impl);
    // Save or restore all that later calls depend on (kd_simulation_save). NULL: that is not possible
    void (*archive)(void *impl, kd_archive *archive);
    void (*destroy)(void *impl);
} kd_dae_class;

struct kd_dae {
    const kd_dae_class *methods;
    void               *impl;
    int                 n;        // components of x
    int                 nrows;    // rows of F: n; 0 if the formulation gives no residual (psf)
    int                 nreduced; // current size of y, <= nreduced_max; may change in linearize
    int                 nreduced_max;
    const kd_component *component; // (n)
    // (n) 1, 2, 3: differentiation index of the component; 0: it follows from the others and takes no part in
    // convergence tests
    const int  *index;
    double     *unit;       // (n) sizes that absolute tolerances refer to, of kd_alloc; NULL: 1
    double      time;       // [s] that steps are long or short beside; 0: 1 s
    const bool *controlled; // (n) counts in the error norm
    // Leading rows of F that contain derivatives; 0: unknown. The corrector scaling of S0 Eq. 18 is for these only.
    int ndifferential;
    int nderivative; // leading components whose derivative occurs in F; 0: all
    // The first nstate components are those of kd_state: [p v r w s lambda mu] or, where the rest is solved for
    // (complete), [p v r]; none (pack).
    int    nstate;
    bool   selectors;          // change between steps, which multistep methods of others cannot see
    bool   keeps_acceleration; // components behind nstate are accelerations
    double part_discount;      // how much less than 1 the particular part counts in the Newton norm; 0: fully
    bool   keep;  // the integrator keeps its Jacobian: correct() need not linearise; it clears keep if it does
    double h;     // step size that the integrator is about to try, a hint for linearize; 0: unknown
    double gamma; // leading coefficient of that step (x' = gamma x + ...), for differences; 0: unknown
    // Set before linearize when Newton was slow with a fresh matrix: an estimated pattern may be too small. linearize
    // clears it.
    bool widen;
    // Set while an iteration asks for residuals, whose result is solved for again when a step ends: error of what the
    // formulation finds out for x alone, beside the size of that, which does not matter. 0: to rounding
    double slack;
    // With slack, set by an integrator that goes on iterating where it must: the formulation may answer with what leaves more than
    // the slack, but little enough for the next answer, if it says so by unsettled. An iteration does not end there.
    bool patient, unsettled;
    // Called by the integrators after every attempt of a step; NULL: nobody listens.
    bool jumped; // set by the driver: a restart behind a kink is one behind a jump, which weighs
    void (*observe)(const kd_attempt_report *report, void *context);
    void *observer;
};

// methods->destroy(impl), then the kd_dae itself, which is a block of kd_alloc of its own. NULL is fine.
KD_API void kd_dae_destroy(kd_dae *dae);
// Save or restore; a form without archive makes it fail.
KD_API void kd_dae_archive(kd_dae *dae, kd_archive *archive);

KD_EXTERN_C_END
#endif
