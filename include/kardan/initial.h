// kardan/initial.h: consistent initial values (S3 pages 12 to 14, S1 Eq. 22).  Method: docs/methods/initial.md
#ifndef KARDAN_INITIAL_H
#define KARDAN_INITIAL_H

#include <kardan/eom.h>
#include <kardan/option.h>

KD_EXTERN_C_BEGIN

typedef struct kd_initial_options {
    bool assume;              // IVCNSST = 1: p, v are taken as they are, not corrected      default false
    bool compute_multipliers; // compute a, lambda, mu, w (also with assume)                default true
    // x is what kd_system_start or kd_initial_consistent has just answered for these equations and inputs: it is taken
    // as it is, and nothing is computed                                                      default false
    bool   known;
    double tolerance;      // residual that counts as consistent, relative to scale       default 1e-9
    int    max_iterations; // Gauss-Newton iterations of the position level               default 50
    bool   euclidean;      // closest point in the Euclidean norm instead of the M-norm   default false
    // Components that must not change. NULL: none held.
    const bool *hold_p; // (nv) by increment; for Z = I by coordinate
    const bool *hold_v; // (nv)
    // User conditions (IVCOND): 0 = conditions(x), over p, v, r, w, s, lambda, mu at once. They dominate the guess.
    int         nconditions;
    kd_function conditions;
    void       *context;
    const char *(*condition_name)(int i, void *context); // may be NULL
    bool require_unique;    // with conditions: fail with KD_ERR_IV_UNDETERMINED if p, v, r are not determined uniquely
                            // (S3); otherwise the closest point is taken                                default true
    bool expects_redundant; // constraints that depend on each other are no news                        default false
    kd_eom_data *point;     // an evaluation point of the caller to work at, which is moved; NULL: one for the call
    unsigned     cookie;    // set by kd_initial_options_default
} kd_initial_options;

// The defaults given above.
KD_API kd_initial_options kd_initial_options_default(void);

// Make x consistent: p, s, then v, then (a, lambda, mu, w); together if a user condition mixes levels. A consistent
// guess keeps its p, v, r, s to the last bit. Without user conditions: the closest consistent point.
// KD_OK: was consistent; KD_CORRECTED: p, v, r or s were changed; KD_REDUNDANT: none was, but constraints depend on
// each other there, so that the multipliers are not unique; < 0: x is unchanged. message (may be NULL) says in words,
// with the names of the equations, what is wrong and what to try; with > 0, what moved by how much and how many
// constraints are redundant.
KD_API kd_status kd_initial_consistent(const kd_eom *eom, const kd_inputs *inputs, const kd_initial_options *opt,
                                       kd_state *x, char *message, size_t size) KD_NODISCARD;

// Largest residuals of the three levels at x (a included for the last one).
typedef struct kd_consistency {
    double position, velocity, acceleration; // max |g|, |c|, |q|; max |gI|, |h|, |e|; max |gII|, |hI|
    double dynamics, auxiliary;              // max |M a - f + ...|, max |d|
    int    worst_position, worst_velocity;   // row of the largest |g| and |gI| (or of h behind it: nlambda + i)
    int    worst_acceleration;               // row of the largest |gII| (or of hI behind it)
} kd_consistency;
// x need not be consistent and is not changed.
KD_API kd_status kd_initial_residuals(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                                      kd_consistency *out) KD_NODISCARD;
// The same at an evaluation point of the caller, which is moved; NULL: one for the call.
KD_API kd_status kd_initial_residuals_at(const kd_eom *eom, kd_eom_data *point, const kd_inputs *inputs,
                                         const kd_state *x, kd_consistency *out) KD_NODISCARD;

// Forces that depend on multipliers (friction), directly or through w, must not be so large that accelerations and
// multipliers are no longer determined: generalised Gruebler condition, S1 Eq. 23.  Method: docs/methods/friction.md
typedef struct kd_solvability {
    int    rows, rank;      // constraints that hold and are independent; rank of the matrix of the condition
    double limit, reversed; // these forces can be that many times as large before the condition fails, at the
                            // multipliers as they are, and with those of one or all auxiliary variables reversed;
                            // infinity: without end. Between limit and here solutions are not unique, or there are none
    int  name[3], nnames;   // auxiliary variables (without: multipliers) that take part most where it fails first
    bool without;           // multipliers were found without such forces, because x has none
} kd_solvability;
// At the state x, with its a, lambda, mu, w; where lambda and mu are all zero, with those that there were without such
// forces. KD_OK: the condition holds; KD_ERR_SINGULAR_MASS: it does not; KD_ERR_UNSUPPORTED: no forces depend on
// multipliers, nothing is constrained, or the system is too large. message (may be NULL) says what is wrong where a
// limit is below 1, otherwise "".
KD_API kd_status kd_initial_solvable(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, kd_solvability *out,
                                     char *message, size_t size) KD_NODISCARD;

KD_EXTERN_C_END
#endif
