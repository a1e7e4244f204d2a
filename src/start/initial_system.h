// start/initial_system.h: the equations of one level of the initial-value problem, as the system F(y) = 0 of closest.h.
//
// The unknowns y are any of: the increment e of the positions, p = p_base oplus e; s, v, r, a, w, lambda, mu. The rows
// are any of c, g, gI, h, e, residual, d, gII, hI and user conditions. Held components and the multipliers of inactive
// rows are no unknowns; inactive rows are left out.  Method: docs/methods/initial.md
#ifndef KD_START_INITIAL_SYSTEM_H
#define KD_START_INITIAL_SYSTEM_H

#include <kardan/initial.h>

#include "core/memory.h"
#include "start/closest.h"

enum { KD_IV_CONDITION = KD_FN_COUNT }; // row of a user condition, where a kd_fn stands otherwise

// Levels that a user condition depends on.
enum { KD_IV_POSITION = 1, KD_IV_VELOCITY = 2, KD_IV_ACCELERATION = 4 };

// One computation of initial values.
typedef struct kd_iv {
    const kd_eom             *eom;
    const kd_eom_def         *def;
    kd_dims                   n;
    const kd_initial_options *opt;
    const kd_inputs          *inputs;
    kd_eom_data              *data;
    kd_state                 *now; // the values so far; the caller's state is written at the end only
    double                   *u, *du, *ddu;
    bool                      flat; // Z = I: increments are coordinates
    double                   *base; // (np) p = base oplus e
    double                   *e;    // (nv)
    double                   *p_right, *p_left;
    double                   *T, *Z, *ZZ;     // chart: (nv x nv), (np x nv), (nv x nv)
    double                   *M;              // (nv x nv)
    double                   *q, *q_p, *q_q;  // norm equations: (nq), (nq x np), (nq x nq)
    double                   *value;          // (nconditions)
    double                   *value_near;     // (nconditions)
    unsigned char            *levels;         // (nconditions) levels that each condition depends on
    kd_status                 fault;          // why the last evaluation was refused
    bool                      stopped;        // a function asked to stop
    int                       redundant;      // constraints minus their rank
    bool                      by_invariants;  // velocities were moved to satisfy them
    char                      dependent[200]; // names of invariants that depend on others
    char                      spare[200];     // names of conditions that follow from constraints and other conditions
    char                     *message;
    size_t                    size;
    kd_arena                  arena;
} kd_iv;

typedef struct kd_iv_system {
    kd_iv     *iv;
    kd_closest c;
    unsigned   unknown;         // bits of kd_var
    unsigned   equation;        // bits of kd_fn
    int       *var, *var_index; // (n) column j is component var_index[j] of var[j]
    int       *fn, *fn_index;   // (m) row i is row fn_index[i] of fn[i], or a condition
    bool      *affine;          // (m)
    bool       has_conditions;
    double    *value[KD_FN_COUNT];
    kd_blocks  blocks;                 // of all rows and unknowns
    kd_blocks  ordered;                // those of kd_eom_derivatives: all but g and c
    double    *product;                // (rows x nv) block by p, times T
    double    *row_unit, *column_unit; // (m), (n) natural units
    double    *y_near;                 // (n)
    double    *near_plus, *near_minus; // (nconditions)
    kd_arena   arena;
} kd_iv_system;

// ---- the point ------------------------------------------------------------------------------------------------------
void    kd_iv_set_point(kd_iv *iv); // all stages of iv->data at iv->now
kd_eval kd_iv_evaluate(kd_iv *iv, kd_fn fn, double *out);
kd_eval kd_iv_conditions(kd_iv *iv, double *out); // at the point
// Bring p onto q(p) = 0 by Gauss-Newton, closest step in coordinates. KD_EVAL_RETRY with fault NO_CONVERGENCE.
kd_eval kd_iv_normalise(kd_iv *iv, double *p);
// M regularised to a positive definite weight of the increments.
kd_eval kd_iv_weight(kd_iv *iv, double *W);

// ---- large systems (initial_large.c) --------------------------------------------------------------------------------
// Position and velocity level by the definition's kkt_factor; found: done, iv->now holds them.
// Otherwise nothing is changed.
kd_status kd_iv_large(kd_iv *iv, bool *found, bool *moved) KD_NODISCARD;

// ---- conditions (initial_conditions.c) ------------------------------------------------------------------------------
// Numbers in (-1, 1), the same in every run
double kd_iv_random(unsigned *seed);
// levels: which of them each condition depends on, seen at points beside x, the guess. Where nothing can be evaluated
// there conditions count as depending on everything.
kd_status kd_iv_find_levels(kd_iv *iv, const kd_state *x);

// ---- invariants (initial_invariants.c) ------------------------------------------------------------------------------
// Do the invariants hold at iv->now, each to the tolerance relative to its own terms?
kd_status kd_iv_invariants_hold(kd_iv *iv, bool *hold) KD_NODISCARD;
// Which of them follow from constraints and other invariants: names to iv->dependent.
kd_status kd_iv_invariants_rank(kd_iv *iv) KD_NODISCARD;
// Do they stay, with the accelerations that were found? KD_ERR_IV_CONTRADICTORY: message names one that does not
kd_status kd_iv_invariants_stay(kd_iv *iv) KD_NODISCARD;

// ---- the system -----------------------------------------------------------------------------------------------------
// conditions (nconditions) says which user conditions take part; NULL: none. Unknowns start at iv->now.
kd_status kd_iv_system_create(kd_iv *iv, unsigned unknown, unsigned equation, const bool *conditions,
                              kd_iv_system **system) KD_NODISCARD;
void      kd_iv_system_destroy(kd_iv_system *system);
// iv->now from y.
kd_eval kd_iv_system_put(kd_iv_system *system, const double *y);

#endif
