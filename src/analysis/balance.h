// analysis/balance.h: the equations 0 = residual, b, d, c, g (and gI, h in motion) for chosen unknowns among increments
// of p, v, r, w, s, lambda, mu and adjusted inputs and parameters; steps of Levenberg and Marquardt and of damped
// dynamics.
#ifndef KD_ANALYSIS_BALANCE_H
#define KD_ANALYSIS_BALANCE_H

#include <kardan/equilibrium.h>

#include "core/memory.h"

enum { KD_BALANCE_ROWS = 7, KD_BALANCE_VARS = 9 };

typedef struct kd_balance_column {
    kd_var var;
    int    index;
} kd_balance_column;

// What closed elements keep (balance_kept.c): rows 0 = n'(c - c_start - drift) behind the others
typedef struct kd_kept {
    int     nr, count, first;    // inner states, rows in use, the first of them
    double *N, *N_new;           // (nr x nr) combinations n in columns; new ones
    int    *row;                 // (count) row of b that each stands for
    bool   *replaced;            // (nr) those rows
    bool   *own;                 // (nr) its element knows the amount
    double *c, *c_start, *W;     // (nr) amounts, at the start, slopes by r
    double *drift, *drift_trial; // (nr) integral of b_v dp, and after a step
    double *length;              // (nr) of the rows W b_x; 0: the row vanishes
    double *A, *tau, *work, *b_v, *r, *p, *e, *slope[4];
    int    *pivot;
} kd_kept;

typedef struct kd_balance {
    const kd_eom      *eom, *base; // now, and those that it was created with
    kd_eom_data       *data;
    kd_dims            n;
    kd_state          *x, *trial;             // now, and after a step
    double            *u, *du, *theta;        // held inputs, zero rates, parameters
    double            *u_trial, *theta_trial; // after a step
    const kd_family   *family;                // NULL: none
    const kd_turn     *turn;                  // NULL: none
    double            *outer, *outer_trial;   // parameters of the family
    double            *outer_made;            // those of eom and data
    double            *u_made, *u_used;       // inputs of these equations, and with the adjusted ones in their places
    bool              *u_adjusted;
    double             t;                      // at which inputs are held
    double            *start, *moved;          // (columns) first values of adjusted quantities, and their changes
    double            *F_lower;                // for differences
    int                rows, columns;          // of the Jacobian
    int                first[KD_BALANCE_ROWS]; // first row of each function; -1: not there
    kd_balance_column *column;                 // (columns)
    double            *unit;                   // (nv) natural sizes of the increments (kd_eom_unit)
    double             time;                   // in which the largest force moves the heaviest mass by a unit
    double            *row_scale, *column_scale;
    double            *size_scale;          // (columns) sizes of the unknowns: changes are compared by them
    double            *effect;              // (columns) largest effect of an unknown on the scaled equations so far
    double            *F, *F_trial, *J, *M; // unscaled
    double            *block[KD_BALANCE_ROWS][KD_BALANCE_VARS];
    double            *A, *rhs, *tau, *work, *step, *raw;
    int               *pivot;
    kd_kept            kept;
    double             work_scale; // work of the largest force on a unit of motion: all forces are compared by work
    double             size;       // |F| scaled, at x
    int                iterations;
    kd_arena           arena;
} kd_balance;

typedef struct kd_balance_request {
    const bool          *free_p, *free_v; // (nv) NULL: all of p, none of v
    bool                 hold_p;          // none of p, if free_p is NULL
    bool                 moving;          // gI and h are equations, too
    const kd_adjustable *adjust;
    int                  nadjust;
    const kd_turn       *turn;
    const kd_family     *family;
} kd_balance_request;

// balance_held.c: what is neither unknown nor given: the equations of a family, velocities and accelerations of a turn.
// The equations for these parameters; false: there are none.
bool kd_balance_use(kd_balance *b, const double *outer);
// The inputs of these equations, the adjusted ones from u.
const double *kd_balance_inputs(kd_balance *b, const double *u);
void          kd_balance_turn(const kd_balance *b, kd_state *x);
void          kd_balance_turn_columns(kd_balance *b);                     // what follows from the unknowns, added to J
int           kd_balance_rows(const kd_balance *b, int k);                // of function k
double       *kd_balance_adjusted(kd_balance *b, const kd_adjustable *a); // its value now

// balance_kept.c: what closed elements keep. At b->x, which is that of the data: its amounts are those to be kept; the
// combinations, from block and J (true: there are new ones).
void    kd_kept_cut(kd_kept *k, kd_arena *arena, const kd_dims *n, int columns);
kd_eval kd_kept_start(kd_balance *b) KD_NODISCARD;
bool    kd_kept_find(kd_balance *b);
// Their equations at x, which is that of the data, and derivatives at b->x, added to J
kd_eval kd_kept_evaluate(kd_balance *b, const kd_state *x, double *F) KD_NODISCARD;
kd_eval kd_kept_differentiate(kd_balance *b) KD_NODISCARD;
// drift_trial after a move from x by e
kd_eval kd_kept_drift(kd_balance *b, const kd_state *x, const double *e) KD_NODISCARD;

// x is copied. The balance is released with kd_balance_release, also after a failure.
kd_status kd_balance_create(kd_balance *b, const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                            const kd_balance_request *request) KD_NODISCARD;
void      kd_balance_release(kd_balance *b);
// Start anew from a position, moved by e (nv, may be NULL); multipliers as in from.
kd_eval kd_balance_restart(kd_balance *b, const kd_state *from, const double *e) KD_NODISCARD;
// Iterations until the largest scaled residual is at most tolerance, and further as long as that makes it smaller;
// false: did not come there.
bool kd_balance_newton(kd_balance *b, double tolerance, int max_iterations);
// From a solution to the one with the smallest change of the adjusted quantities, where they are not determined; false:
// this one is none.
bool kd_balance_least_change(kd_balance *b, double tolerance);
// Damped dynamics M p' = f, r' = b by the linear-implicit Euler method, steps growing as forces fall. True: close
// enough for Newton's method.
bool kd_balance_relax(kd_balance *b, int max_iterations);
// The derivatives at x: block, J and M.
kd_eval kd_balance_differentiate(kd_balance *b) KD_NODISCARD;
// Largest of |F|, scaled, at x.
double kd_balance_largest(const kd_balance *b);
void   kd_balance_report(const kd_balance *b, kd_equilibrium_result *result);
// Static stability at x, by the stiffness in the directions that constraints allow.
kd_stability kd_balance_stability(kd_balance *b, int *free_directions);
// The part of the velocities v that no force opposes at x: their projection on the free directions by the mass matrix.
// False: there is none.
bool kd_balance_free_motion(kd_balance *b, const double *v, double *kept);

#endif
