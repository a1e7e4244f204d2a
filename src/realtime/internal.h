// realtime/internal.h: the parts of the stepper.
#ifndef KD_REALTIME_INTERNAL_H
#define KD_REALTIME_INTERNAL_H

#include <kardan/realtime.h>

#include "core/memory.h"
#include "math/elimination.h"

// ---- matrices of the equations (blocks.c) ---------------------------------------------------------------------------
// One matrix with a fixed pattern: as the definition gives it sparse, or full.
typedef struct kd_rt_block {
    kd_fn      fn;
    kd_var     var;
    kd_pattern pattern;
    int       *column_of; // of each entry
    double    *values;    // in the order of the pattern; full: column-major
    bool       sparse;    // the definition gives it so
    bool       used;      // stands in the matrix of a step
} kd_rt_block;

// A block that the equations do not have or the method does not want stays unused. false: out of memory.
bool kd_rt_block_cut(kd_rt_block *block, const kd_eom *eom, kd_fn fn, kd_var var, kd_arena *arena);
// The rows of a block that are marked, or all others; their values are copied from it
bool kd_rt_block_part(kd_rt_block *part, const kd_rt_block *whole, const bool *rows, bool marked, kd_arena *arena);
void kd_rt_block_take(kd_rt_block *part, const kd_rt_block *whole, const bool *rows, bool marked);
int  kd_rt_block_count(const kd_rt_block *block);                                                // 0: unused
void kd_rt_block_multiply(const kd_rt_block *block, double alpha, const double *x, double *y);   // y += alpha B x
void kd_rt_block_multiply_t(const kd_rt_block *block, double alpha, const double *x, double *y); // y += alpha B' x

// The constraint matrices of one position. Open rows, which a hook keeps, stand apart: G has nothing there.
typedef struct kd_rt_constraints {
    kd_rt_block G, H;     // GZ (nlambda x nv), HZ (nmu x nv)
    kd_rt_block open;     // rows of GZ that are open, numbered as in G
    kd_rt_block together; // as the equations give it; unused: G is that
} kd_rt_constraints;

// Derivatives of residual and b; those that are not given sparse are filled together.
enum { KD_RT_F_P, KD_RT_F_V, KD_RT_F_R, KD_RT_B_P, KD_RT_B_V, KD_RT_B_R, KD_RT_DERIVATIVES };

// ---- linear systems (system.c) --------------------------------------------------------------------------------------
enum { KD_RT_MASS = KD_RT_DERIVATIVES, KD_RT_G_T, KD_RT_H_T, KD_RT_G, KD_RT_H, KD_RT_PARTS };

// Unknowns (v, r, h lambda, h mu).
typedef struct kd_rt_matrix {
    kd_elimination *lu;
    int            *slot[KD_RT_PARTS];  // of the entries of each part, in the order of its pattern; NULL: not in it
    bool            alone[KD_RT_PARTS]; // nobody else has entries there
    int            *slot_r;             // (nr) identity
    int            *slot_epsilon;       // (nlambda + nmu)
    bool            known;              // factored
} kd_rt_matrix;

// ---- auxiliary variables (auxiliary.c) ------------------------------------------------------------------------------
typedef struct kd_rt_auxiliary {
    double *size;    // (nw) largest |w| so far
    int     side;    // sign of det d_w; 0: not known
    bool    follows; // a w of before is followed: nothing has jumped
    int     bad;     // 1 + the variable whose solution was lost; 0: none
} kd_rt_auxiliary;

struct kd_realtime {
    const kd_eom       *eom;
    kd_dims             n;
    int                 nunknowns, nrows; // nv + nr + nrows; nlambda + nmu
    kd_realtime_options opt;
    kd_inputs           inputs; // eval NULL: none
    kd_eom_data        *data;
    kd_state           *now, *next;
    kd_state           *kept;     // the start, while a first step is made on trial
    bool               *external; // (nu)
    bool               *open;     // (nlambda) rows that a hook keeps
    int                 nopen;
    bool                scleronomic; // gI = GZ v
    bool                drifts;      // p' = Z v + z(p, t), z not zero
    bool                placed;      // data stands at time, inputs and position of now
    bool                start_known; // the matrices `start` are those of now

    kd_rt_block       M, M_end;   // where forces are taken, and where positions or velocities are projected
    kd_rt_constraints start, end; // where forces are taken, and where velocities have to fit
    kd_rt_block       derivative[KD_RT_DERIVATIVES];
    kd_blocks         full; // those that are not sparse
    bool              any_full;
    bool              together;  // f_p holds the sum h^2 f_p + h f_v of the stiff part, f_v is not used
    bool              with_mass; // and M holds both, f_p is not used either
    double           *d_w, *c_s; // (nw x nw), (ns x ns)
    kd_rt_auxiliary   auxiliary;
    int              *pivot; // (max(nw, ns))

    kd_rt_matrix step, mass; // linear-implicit Euler, S4 (6b); [M C'; C 0], S4 (11)
    double      *epsilon;    // (nrows)
    double       alpha, beta;

    double *f, *b;                // (nv), (nr)
    double *x, *y;                // (unknowns) right-hand side and solution; the same, kept
    double *rows, *increment;     // (nrows), (nv)
    double *gain, *impulse;       // (nv), (nlambda) of the projection of positions on velocities; zero: none
    double *small;                // (max(nw, ns))
    double *f_moved, *p_moved;    // (nv), (np) of the directional difference
    double *drift;                // (np) z
    double *zero, *u, *du, *ddu;  // (max), (nu)
    double *held, *held_rate;     // (nu) last external inputs
    double *u_placed, *du_placed; // (nu) inputs of the place where data stands
    double *held_kept;            // (nu) before the step
    bool    fed, fed_kept;        // inputs have come

    struct {                    // switching functions (events.c)
        double      *value;     // (nswitch)
        double      *last;      // (nswitch) at the end of the last step
        double      *near;      // (nswitch) values up to this are zero, but for rounding
        signed char *side;      // (nswitch) signs that they have; 0: not known
        signed char *side_kept; // (nswitch) before the step
        signed char *crossed;   // (nswitch) 1 rose, -1 fell
        signed char *alone;     // (nswitch) the same of one function
        bool         stop;      // an event asked for the end
    } events;
    kd_state *jump; // what an event or a sample writes to

    struct { // coordinates that time prescribes (drives.c)
        int     n;
        bool    known;                 // at now
        double *q[2], *dq[2], *ddq[2]; // (n) at now and at next
        double *dx, *driven, *free;    // (n), (n), (nv)
    } drives;

    double           next_sample, next_sample_kept;
    long             steps;
    double           seconds;
    bool             busy; // a step is being made: callbacks must not call it
    kd_realtime_work work;
    kd_arena         arena;
    char             message[512];
};

bool kd_rt_needs_mass(const kd_realtime_options *opt); // is there a matrix with M alone?
// Blocks at the state now must be filled. Chooses pivots and sets epsilon.
kd_status kd_rt_systems_create(kd_realtime *rt, char *message, size_t size) KD_NODISCARD;
// Fill and factor, and x <- K \ x on the way (NULL: none); false: no pivot, told in rt->message. Columns C' are those
// of the start.
bool kd_rt_factor_step(kd_realtime *rt, const kd_rt_constraints *rows, double *x) KD_NODISCARD;
bool kd_rt_factor_mass(kd_realtime *rt, const kd_rt_block *M, const kd_rt_constraints *both, double *x) KD_NODISCARD;

// ---- evaluation (evaluate.c) ----------------------------------------------------------------------------------------
bool    kd_rt_blocks_cut(kd_realtime *rt);
kd_eval kd_rt_inputs(kd_realtime *rt, double t) KD_NODISCARD;              // rt->u, du, ddu at a time
kd_eval kd_rt_time(kd_realtime *rt, double t) KD_NODISCARD;                // data at a time
kd_eval kd_rt_replace(kd_realtime *rt, double *p, double *s) KD_NODISCARD; // the same at the time where data stands
kd_eval kd_rt_place(kd_realtime *rt, double t, double *p, double *s) KD_NODISCARD; // data there; s by Newton's method
kd_eval kd_rt_evaluate(kd_realtime *rt) KD_NODISCARD; // where data stands, with v, r of now: w, f, b, M, C, derivatives
kd_eval kd_rt_stand(kd_realtime *rt) KD_NODISCARD;    // data at now, with the inputs of the caller; drift
kd_eval kd_rt_start(kd_realtime *rt) KD_NODISCARD;    // both
kd_eval kd_rt_constraints_at(kd_realtime *rt, kd_rt_constraints *out) KD_NODISCARD; // where data stands
kd_eval kd_rt_mass_at(kd_realtime *rt, kd_rt_block *M) KD_NODISCARD;
// rows = gI, h with velocity v, where data stands with the matrices C
kd_eval kd_rt_velocity_rows(kd_realtime *rt, const kd_rt_constraints *C, const double *v) KD_NODISCARD;
// y += h f_p v by a directional difference at now (J3)
kd_eval kd_rt_add_directional(kd_realtime *rt, double *y) KD_NODISCARD;

#define KD_RT_ALMOST 1e-6 // part of a step by which a sample may lie ahead

// ---- instants (events.c) --------------------------------------------------------------------------------------------
bool    kd_rt_events_cut(kd_realtime *rt);
kd_eval kd_rt_look(kd_realtime *rt) KD_NODISCARD;         // data at now, acceleration stage
kd_eval kd_rt_events_begin(kd_realtime *rt) KD_NODISCARD; // signs of the functions at now
void    kd_rt_events_keep(kd_realtime *rt, bool back);    // put the signs aside, or take them back
// Events at now, in their order, as long as there are some. KD_OK, KD_STOPPED (told in rt->message); < 0: a function
// failed (its fault is that of data), KD_ERR_UNSUPPORTED, KD_ERR_CHATTER (told in rt->message)
kd_status kd_rt_events_make(kd_realtime *rt) KD_NODISCARD;
kd_eval   kd_rt_sample(kd_realtime *rt) KD_NODISCARD; // at now; then the next time
void      kd_rt_next_sample(kd_realtime *rt);         // behind now

// ---- prescribed coordinates (drives.c) -----------------------------------------------------------------------------
bool    kd_rt_drives_cut(kd_realtime *rt);
kd_eval kd_rt_drives_begin(kd_realtime *rt) KD_NODISCARD; // of a step: both ends; data stands nowhere afterwards
bool    kd_rt_drives_leap(kd_realtime *rt);               // does a position jump? Told in rt->message
// y (nv) -= impulses of jumps, where data stands with forces
kd_eval kd_rt_drives_kick(kd_realtime *rt, double *y) KD_NODISCARD;
void    kd_rt_drives_accept(kd_realtime *rt); // next becomes now

// ---- the step (step.c) ----------------------------------------------------------------------------------------------
kd_status kd_rt_make_step(kd_realtime *rt, const double *inputs, double *outputs) KD_NODISCARD;
// The same in halves, for hooks. Behind the first the matrix is factored and rt->x has the solution without forces of open rows, whose
// entries are their right-hand sides; the second goes on with what stands in rt->x. A half that failed has taken the step back;
// kd_rt_undo takes back a first half, or a whole step.
kd_status kd_rt_begin_step(kd_realtime *rt, const double *inputs) KD_NODISCARD;
kd_status kd_rt_end_step(kd_realtime *rt, double *outputs) KD_NODISCARD;
void      kd_rt_undo(kd_realtime *rt, bool whole);

// realtime.c: KD_G or KD_GI at now, all rows; < 0: told in rt->message
kd_status kd_rt_rows_now(kd_realtime *rt, kd_fn fn, double *rows) KD_NODISCARD;

// auxiliary.c: next->w; RETRY: the solution is lost. A new start; what is told of a loss; |d_w \ d| beside |w| at now
kd_eval kd_rt_find_auxiliary(kd_realtime *rt);
void    kd_rt_auxiliary_begin(kd_realtime *rt);
bool    kd_rt_auxiliary_lost(const kd_realtime *rt, char *words, size_t size);
kd_eval kd_rt_auxiliary_defect(kd_realtime *rt, double *part);

#endif
