// kardan/realtime.h: steps of fixed length and fixed work for simulation against a clock: linear-implicit Euler methods
// for constrained systems (S4).  Method: docs/methods/realtime.md, guide: docs/guide/realtime.md
//
//     p1 = p0 oplus h v0, then onto g = 0 by one Newton step; everything else at p1:
//     [M - h f_v - h^2 f_p  (GZ)'] [v1 - v0 ]   [h f(p1, v0)]
//     [GZ                   0    ] [h lambda] = [-gI(p1, v0)]
//
// (S4 takes forces and matrices at p0 and h (f + h f_p v0) instead of h f: option ahead.)
// The number of operations of a step does not depend on the state: pivots are chosen at creation, nothing iterates, and
// a step does not allocate, lock, or touch a file.
#ifndef KARDAN_REALTIME_H
#define KARDAN_REALTIME_H

#include <kardan/eom.h>
#include <kardan/saved.h>

KD_EXTERN_C_BEGIN

// Which derivatives of the force stand in the matrix (S4 section 2). Name, word, sentence.
#define KD_REALTIME_JACOBIAN_LIST(X)                                                                                   \
    X(KD_REALTIME_EXPLICIT, "explicit", "none: the explicit Euler method, for comparison")                             \
    X(KD_REALTIME_J1, "j1", "f_p and f_v, positions explicit: stable for h^2 a <= 2 h b + 4")                          \
    X(KD_REALTIME_J2, "j2", "f_p and f_v + h f_p, positions explicit: stable for all a, b >= 0, no numerical damping") \
    X(KD_REALTIME_J3, "j3", "f_p v by one directional difference, no matrix: stable for h^2 a <= 4 - 2 h b")           \
    X(KD_REALTIME_EXACT, "exact", "all derivatives, positions implicit: stable for all a, b >= 0, damps fast motion")

typedef enum kd_realtime_jacobian {
#define KD_REALTIME_JACOBIAN_ENUM(name, word, sentence) name,
    KD_REALTIME_JACOBIAN_LIST(KD_REALTIME_JACOBIAN_ENUM)
#undef KD_REALTIME_JACOBIAN_ENUM
        KD_REALTIME_JACOBIAN_COUNT
} kd_realtime_jacobian;

// How the constraints are kept (S4 section 3).
#define KD_REALTIME_STABILISATION_LIST(X)                                                                              \
    X(KD_REALTIME_NONE, "none", "only the level of the index: the positions drift")                                    \
    X(KD_REALTIME_BAUMGARTE, "baumgarte", "0 = gII + 2 alpha gI + beta g (index 1), 0 = gI + alpha g (index 2)")       \
    X(KD_REALTIME_PROJECTION, "projection", "one Newton step onto g = 0, then the velocities exactly onto gI = 0")     \
    X(KD_REALTIME_GGL, "ggl",                                                                                          \
      "one Newton step onto g = 0 before the velocities, which fit the new positions (index 2)")                       \
    X(KD_REALTIME_REGULARISATION, "regularisation",                                                                    \
      "sequential regularisation of order 1: multipliers go on from the last step; redundant rows allowed")

typedef enum kd_realtime_stabilisation {
#define KD_REALTIME_STABILISATION_ENUM(name, word, sentence) name,
    KD_REALTIME_STABILISATION_LIST(KD_REALTIME_STABILISATION_ENUM)
#undef KD_REALTIME_STABILISATION_ENUM
        KD_REALTIME_STABILISATION_COUNT
} kd_realtime_stabilisation;

// Matrix of the position projection.
#define KD_REALTIME_PROJECTOR_LIST(X)                                                                                  \
    X(KD_REALTIME_PROJECTOR_STEP, "step", "matrix of the last velocity step, factored already; leaves C h^3")          \
    X(KD_REALTIME_PROJECTOR_START, "start", "mass matrix at the start of the step (S4 Eq. 11); leaves C h^3")          \
    X(KD_REALTIME_PROJECTOR_PREDICTED, "predicted", "mass matrix at the predicted position; leaves C h^4")

typedef enum kd_realtime_projector {
#define KD_REALTIME_PROJECTOR_ENUM(name, word, sentence) name,
    KD_REALTIME_PROJECTOR_LIST(KD_REALTIME_PROJECTOR_ENUM)
#undef KD_REALTIME_PROJECTOR_ENUM
        KD_REALTIME_PROJECTOR_COUNT
} kd_realtime_projector;

typedef struct kd_realtime_options {
    double                    h;                // length of a step [s]                                    default 1e-3
    kd_realtime_jacobian      jacobian;         //                                                         default j2
    int                       index;            // 1, 2: constraints at acceleration or velocity level     default 2
    kd_realtime_stabilisation stabilisation;    //                                                         default ggl
    kd_realtime_projector     projector;        // of projection and ggl                                   default step
    bool                      velocities_first; // v1, then p1 = p0 oplus h v1 (veDYNA, S4 4.3)            default false
    bool                      ahead;            // j1, j2, positions first: forces, matrices at p1         default true
    kd_part                   part;             // derivatives of stiff elements or all; exact: all        default stiff
    int                       refresh;          // stiff derivatives renewed in so many parts, one a step  default 1
    double                    alpha, beta;      // Baumgarte; < 0: alpha = 0.1/h, beta = alpha^2           default -1
    double                    epsilon;          // regularisation; < 0: from the matrices at the start     default -1
    double                    deadline;         // longer steps [s] answer KD_LATE; 0: none                default 0
    const bool               *external;         // (nu) inputs that come with each step; NULL: all         default NULL
    bool                      open;             // rows that are switched off at the start: a hook's       default false
    unsigned                  cookie;           // set by kd_realtime_options_default
} kd_realtime_options;
KD_API kd_realtime_options kd_realtime_options_default(void);

typedef struct kd_realtime kd_realtime;

// Starts at x, which is made consistent first and copied; all memory is taken here. eom and *inputs must outlive the
// stepper; inputs (may be NULL) gives those that are not external. Pivots are chosen from the matrices at x. KD_OK, > 0
// with news in message (KD_CORRECTED), or < 0 with the reason.
KD_API kd_status kd_realtime_create(const kd_eom *eom, const kd_inputs *inputs, const kd_realtime_options *opt,
                                    const kd_state *x, kd_realtime **self, char *message, size_t size) KD_NODISCARD;
KD_API void      kd_realtime_destroy(kd_realtime *self); // NULL is fine

// One step. inputs (nu): held over the step, with the rate from the last ones to these where constraints move with
// them; entries that are not external are not read; NULL: the last ones (at first 0, or those of the model). outputs
// (ny, may be NULL): the outputs of the equations at the end of the step. KD_OK; KD_LATE: done, but not within the
// deadline; KD_STOPPED: done, and an event at its end asks to end the run, kd_realtime_message says which; < 0: not
// done (a value is not finite, a pivot vanished, a function refused): the state is still that of the last good step,
// kd_realtime_message says what happened.
KD_API kd_status kd_realtime_step(kd_realtime *self, const double *inputs, double *outputs) KD_NODISCARD;

// The state after the last good step, with accelerations and multipliers of that step; valid until the next step.
KD_API const kd_state *kd_realtime_state(const kd_realtime *self);
KD_API long            kd_realtime_steps(const kd_realtime *self);   // good ones since creation or restore
KD_API const char     *kd_realtime_message(const kd_realtime *self); // why the last step failed; ""
KD_API double          kd_realtime_seconds(const kd_realtime *self); // wall time of the last step; 0 without deadline
// Go on from a state of the past (a copy of kd_realtime_state). The same inputs then give the same steps every time,
// bit by bit; the first of them computes its matrix anew, so that they are those of the past up to the error of the
// method. Inputs hold until others come. Does not allocate.
KD_API kd_status kd_realtime_restore(kd_realtime *self, const kd_state *x) KD_NODISCARD;

// All that the next steps depend on, with matrices and held inputs, and back: steps then are those of the past bit by bit.
// The stepper that goes on must have been created for the same equations and options at the same start. KD_ERR_SAVED: it
// does not fit, message (may be NULL) says why; the stepper then is of no use any more. Both allocate.
KD_API kd_status kd_realtime_save(kd_realtime *self, kd_saved **saved, char *message, size_t size) KD_NODISCARD;
KD_API kd_status kd_realtime_go_on(kd_realtime *self, const kd_saved *saved, char *message, size_t size) KD_NODISCARD;

// Ports: inputs and outputs by the names of the model; -1: no such port.
KD_API int kd_realtime_input(const kd_realtime *self, const char *name);
KD_API int kd_realtime_output(const kd_realtime *self, const char *name);

// Largest residuals of the constraints at the state: for logs, not part of a step; does not allocate.
typedef struct kd_realtime_defect {
    double position, velocity; // max |g|, max |gI|, |h|
    double auxiliary;          // largest |d_w \ d| beside the largest |w| so far: what w is late by; 0 without w
} kd_realtime_defect;
KD_API kd_status kd_realtime_defects(kd_realtime *self, kd_realtime_defect *out) KD_NODISCARD;
// Energies at the state, likewise. KD_ERR_UNSUPPORTED where the equations do not know theirs.
KD_API kd_status kd_realtime_energies(kd_realtime *self, kd_energies *out) KD_NODISCARD;

// What a step consists of, from the structure of the equations alone.
typedef struct kd_realtime_work {
    int  unknowns;           // order of the matrix: velocities, inner states, multipliers
    int  entries, fill;      // its entries, and those of its factors beyond them
    int  factorisations;     // per step
    int  solves;             // per step
    long factor_operations;  // multiplications and additions of one factorisation
    long solve_operations;   // of one solution
    int  calls[KD_FN_COUNT]; // evaluations of functions per step, without those for differences
    int  derivatives;        // evaluations of derivatives per step
    int  difference_calls;   // evaluations of functions for differences per step
} kd_realtime_work;
KD_API kd_realtime_work kd_realtime_work_of(const kd_realtime *self);

// ---- modules --------------------------------------------------------------------------------------------------------
// Several steppers, each with equations and a matrix of its own, held together by rigid joints (S4 4.3: vehicle, trailer and hook).
// Each module is evaluated once per step and factors its own matrix K_i, which no other one needs to know; with its solution x_i
// that knows nothing of the joints, and X_i = K_i \ C_i', the hook finds the impulses of the joints from
//
//     (sum of C_i X_i) Lambda = sum of C_i x_i + h (gII + 2 alpha gI + beta g),     x_i - X_i Lambda is the step:
//
// that of the assembled system. Index 1, with Baumgarte's stabilisation or none, the same h, alpha, beta in all modules.
//
// An end of a joint is a constraint of a module to the ground, a point that would stand at the origin: kd_model_add_end adds it to a model
// (kd_model_source.complete), kd_state_open switches it off in a state, kd_realtime_options.open leaves it to the hook. Its
// multipliers are those of the joint: sensors of modules read joint.NAME.force.
typedef struct kd_hook kd_hook;

// The rows of the joint NAME are off in x; how many they are, 0: there is no such joint
KD_API int kd_state_open(const kd_eom *eom, const char *name, kd_state *x);

// One joint: an end of module first meets an end of module second. Names are those of kd_model_add_end.
typedef struct kd_hook_joint {
    int         first, second; // numbers of modules
    const char *first_end, *second_end;
} kd_hook_joint;

// The steppers must outlive the hook; they are stepped by it only. Every open row must belong to one joint. < 0: message says why.
KD_API kd_status kd_hook_create(kd_realtime *const *modules, int nmodules, const kd_hook_joint *joints, int njoints,
                                kd_hook **self, char *message, size_t size) KD_NODISCARD;
KD_API void      kd_hook_destroy(kd_hook *self); // NULL is fine
// One step of all modules; inputs, outputs (nmodules, may be NULL, as their entries): those of kd_realtime_step. Nothing is allocated. < 0: no
// module has moved, kd_hook_message says why. KD_STOPPED: an event of a module asks for the end. Deadlines of modules are not looked at.
KD_API kd_status   kd_hook_step(kd_hook *self, const double *const *inputs, double *const *outputs) KD_NODISCARD;
KD_API const char *kd_hook_message(const kd_hook *self);
// Largest distances between the ends, by position and velocity, at the present states: for logs, not part of a step.
KD_API kd_status kd_hook_defects(kd_hook *self, kd_realtime_defect *out) KD_NODISCARD;

KD_EXTERN_C_END
#endif
