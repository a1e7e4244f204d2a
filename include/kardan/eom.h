// kardan/eom.h: general equations of motion in descriptor form (S3 Eq. 1, S1 Eq. 30).
//
//     p' = Z(p) v                                                           kinematics
//     M(p,u,t) v' = f(p,v,r,w,s,lambda,mu,u,z,t) - (GZ)' lambda - (HZ)' mu  dynamics
//     r' = b(p,v,r,w,s,lambda,mu,u,z,t)                                     inner states of force elements
//     0  = d(p,v,r,w,s,lambda,mu,u,z,t)                                     auxiliary variables w
//     0  = c(p,s,z,t)                                                       contact-point coordinates s
//     0  = h(p,v,s,u,u',t) = H(p,s,t) Z v + h0                              nonholonomic constraints
//     0  = g(p,s,u,z,t)                                                     holonomic constraints
//     0  = q(p)                                                             norm equations (quaternions), q_p Z = 0
//     0  = e(p,v,s,t)                                                       known invariants (energy, momentum)
//     y  = y(p,v,a,r,w,s,lambda,mu,u,z,t)                                   outputs
//
// Fill a kd_eom_def with the functions that you have, create the object, hand it to kd_simulate. What is missing
// (derivatives, the constraint levels gI, gII, hI) is filled in by differences. Guide: docs/guide/own-equations.md
#ifndef KARDAN_EOM_H
#define KARDAN_EOM_H

#include <kardan/base.h>

KD_EXTERN_C_BEGIN

typedef struct kd_dims {
    int np;      // position coordinates p
    int nv;      // velocities v; positions are moved by increments of this size
    int nr;      // inner states r
    int nw;      // auxiliary variables w
    int ns;      // contact-point coordinates s
    int nlambda; // holonomic constraints g
    int nmu;     // nonholonomic constraints h
    int nq;      // norm equations q, without multiplier
    int ne;      // invariants e
    int nu;      // inputs u
    int nz;      // discrete states z
    int ntheta;  // parameters
    int ny;      // outputs
    int nswitch; // switching functions
} kd_dims;

// Functions of the equations of motion. KD_RESIDUAL is M a - f + (GZ)' lambda + (HZ)' mu for a given acceleration a;
// KD_GI, KD_GII, KD_HI are total time derivatives, with a for v'.
typedef enum kd_fn {
    KD_KINEMATICS, // (np) Z(p) v
    KD_RESIDUAL,   // (nv)
    KD_B,          // (nr)
    KD_D,          // (nw)
    KD_C,          // (ns)
    KD_G,          // (nlambda)
    KD_GI,         // (nlambda)
    KD_GII,        // (nlambda)
    KD_H,          // (nmu)
    KD_HI,         // (nmu)
    KD_Q,          // (nq)
    KD_E,          // (ne)
    KD_Y,          // (ny)
    KD_SWITCH,     // (nswitch)
    KD_FORCE,      // (nv) f
    KD_MASS,       // (nv x nv) M
    KD_FN_COUNT
} kd_fn;

// What a function can be differentiated by. KD_U is u alone, with u', u'' fixed; KD_T is total along the inputs: u
// moves with u', and u' with u''.
typedef enum kd_var { KD_P, KD_V, KD_A, KD_R, KD_W, KD_S, KD_LAMBDA, KD_MU, KD_U, KD_THETA, KD_T, KD_VAR_COUNT } kd_var;

#define KD_BIT(var) (1u << (unsigned)(var))

// Derivatives come in parts: of everything, or of the stiff elements only (S4).
typedef enum kd_part { KD_PART_ALL, KD_PART_STIFF } kd_part;

// A place where the functions are evaluated. A stamp changes whenever a quantity of its stage may have changed, so that
// an implementation can keep what it computed there.
typedef struct kd_point {
    double        t;
    const double *u, *du, *ddu; // (nu) inputs with two time derivatives
    const double *z;            // (nz)
    const double *theta;        // (ntheta)
    const double *drive_shift;  // (ndrives) to be added to the drives, for derivatives by them; NULL: nothing
    const double *p;            // (np)  position stage
    const double *s;            // (ns)
    const double *v;            // (nv)  velocity stage
    const double *r;            // (nr)
    const double *a;            // (nv)  acceleration stage
    const double *w;            // (nw)
    const double *lambda;       // (nlambda)
    const double *mu;           // (nmu)
    unsigned long time_stamp, position_stamp, velocity_stamp, acceleration_stamp;
} kd_point;

// out has the size given at kd_fn; matrices are column-major. Every entry of a vector must be set at every call: out
// holds what happens to be there, and the first call of each function is watched (KD_ERR_DEFINITION names a row that
// was not set). The matrices M and Z are zero on entry: set the entries that are not. out never overlaps the arrays of
// x. context is kd_eom_def.context, or the work object of make_work if that is given.
typedef kd_eval (*kd_function)(const kd_point *x, void *context, double *out);

// Derivative of fn by var: column-major, rows as kd_fn says. Columns of KD_P: np for F_p; nv when
// kd_eom_def.p_increments is set and the derivative along increments is given. out is zero on entry: set the entries
// that are not.
typedef kd_eval (*kd_derivative)(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out);

// Where a matrix can be other than zero, by compressed columns, rows rising; fixed for the life of the equations.
typedef struct kd_pattern {
    int        rows, columns;
    const int *column; // (columns + 1) start of each column
    const int *row;    // (column[columns])
} kd_pattern;

typedef enum kd_mass_structure { // MASSTRCT of S3
    KD_MASS_FULL,
    KD_MASS_DIAGONAL,
    KD_MASS_FULL_CONSTANT,
    KD_MASS_DIAGONAL_CONSTANT,
} kd_mass_structure;

typedef struct kd_energies {
    double kinetic, potential;   // [J]
    double dissipated, supplied; // [W] power lost in dampers, power of actuators and inputs
    double size;                 // [J] sum of the sizes of all terms, which rounding is relative to; 0: not known
} kd_energies;

// What kd_eom_name can name.
typedef enum kd_kind {
    KD_NAME_P,
    KD_NAME_V,
    KD_NAME_R,
    KD_NAME_W,
    KD_NAME_S,
    KD_NAME_LAMBDA, // a holonomic constraint and its multiplier
    KD_NAME_MU,     // a nonholonomic constraint and its multiplier
    KD_NAME_Q,
    KD_NAME_E,
    KD_NAME_U,
    KD_NAME_Z,
    KD_NAME_THETA,
    KD_NAME_Y,
    KD_NAME_SWITCH,
    KD_NAME_DRIVE, // a coordinate that is prescribed and stands in none of p (kd_eom_def.drives)
    KD_NAME_KIND_COUNT
} kd_kind;

// A step as its method saw it, and what was found in it that it did not see: kd_eom_def.unseen (nnodes 0: only its ends)
typedef struct kd_step_seen {
    double        rtol, atol; // of velocities, inner states and prescribed positions
    int           nnodes;
    const double *node;    // parts of the step, 0 <= . < 1, at which the method evaluates, apart from its end
    bool          follows; // from the last step that was looked at to this one the motion is smooth
    double        land;    // what one step may lose by a kink or a jump inside, in tolerances
    const double *unit;    // (np + nv + nr) sizes of p, v, r that atol counts in; NULL: 1, in SI
} kd_step_seen;
typedef struct kd_hidden {
    double      part;      // of the step, at which it should end; infinity: nothing was found
    double      size;      // effect, over what the tolerance allows
    const char *name;      // of the element
    const char *undecided; // an element of which bounds do not tell; NULL: none
    double      clear;     // so long behind the step nothing can hide, as the motion goes on now [s]
    double      lost;      // by kinks and jumps inside of the step, at most, in tolerances
} kd_hidden;

// ---- instants (S1 Eq. 31) -------------------------------------------------------------------------------------------
// Between instants z and the active rows are fixed and all functions are smooth. At an instant, in this order: events
// of switching functions that changed their sign (kd_eom_def.event for one after the other, in their order; each sees
// the consistent state that those before it left), one-sided rows and dry friction (found by the driver itself),
// samples (kd_eom_def.discrete, which sees the state behind the events); then the state is made consistent with the
// active rows and the integrator starts again. See docs/guide/events.md
//
// What an event changes: on entry the values from the left, on return those from the right.
typedef struct kd_jump {
    double        *p, *v, *r, *z;
    unsigned char *active_lambda, *active_mu;
    bool           moved;     // set it when p, v, r or an active row has changed; z alone keeps consistency
    bool           stop;      // set it to end the run there (KD_STOPPED)
    char           text[160]; // what happened, for the log; "": the name of the switching function
} kd_jump;

typedef struct kd_eom_def {
    const char *title; // one line, for reports
    kd_dims     dims;
    void       *context;

    // kinematics; all NULL: Z = I, np == nv
    // Z(p) v; with Z given it may have more: Z(p) v + z(p,t), coordinates that move by themselves
    kd_function kinematics;
    kd_function Z; // (np x nv)
    // p oplus e, of second order at least
    kd_eval (*oplus)(const double *p, const double *e, void *context, double *p_moved);
    kd_function q;
    void (*normalise)(double *p, void *context);                                       // back to 0 = q(p); optional
    void (*velocities)(const double *p, const double *rate, void *context, double *v); // Z(p) v = rate; optional

    // dynamics: residual alone, or M and f (then the library adds the constraint forces)
    kd_function residual;
    kd_function acceleration; // (nv) explicit formalism: a for given lambda, mu, w; optional; M singular: RETRY
    // a, lambda and mu together from dynamics, gII = 0 and hI = 0 at the velocity stage (w as set); optional
    kd_eval (*accelerations)(const kd_point *x, void *context, double *a, double *lambda, double *mu);
    // K = [M (GZ)' (HZ)'; GZ 0 0; HZ 0 0], factored at the position of x (RETRY: singular), then y = K \ y for the last
    // factored K, y in the order (v, lambda, mu); for projections of large models. Optional, both or none.
    kd_eval (*kkt_factor)(const kd_point *x, void *context);
    void (*kkt_solve)(void *context, double *y);
    // Newton matrices of implicit methods for large trees, where they need not be formed: equations with Z = I and
    // without r, w, s and constraints only. reserve makes room (false: out of memory); set takes the derivatives R_p, R_v
    // of the residual at the acceleration stage; factor, for a real gamma (im = 0) or a complex one beside it, answers
    // whether gamma^2 M + gamma R_v + R_p is regular; solve brings (rho, r) to (dp, dv), (2 nv) both, im NULL: with the
    // real gamma:  gamma dp - dv = rho,  gamma dv - da = r,  M da + R_v dv + R_p dp = 0. Optional, all or none.
    bool (*implicit_reserve)(void *context);
    kd_eval (*implicit_set)(const kd_point *x, void *context);
    bool (*implicit_factor)(void *context, double re, double im);
    // Complex calls are about the k-th complex gamma from now on, 0, 1 or 2; the first call with a k makes room (false:
    // out of memory). Optional: there is one only.
    bool (*implicit_pair)(void *context, int k);
    void (*implicit_solve)(void *context, double *re, double *im);
    kd_function M;
    kd_function f;
    kd_function b, d, c;

    // constraints; missing levels are filled in by differences along the motion
    kd_function g, gI, gII;
    kd_function h, hI;
    kd_function e;
    // (ne) >= 0: 0 = e_i is "as at the start", and this is the place in z that has the value, which is subtracted:
    // kd_initial_consistent takes it from the state that it has found. -1: e_i has its own. NULL: all do. Copied
    const int *e_at_start;

    // outputs, energies
    kd_function y;
    // zero on entry; at the velocity stage, with drives at the acceleration stage
    kd_eval (*energies)(const kd_point *x, void *context, kd_energies *out);
    // energies and powers read t, p, v, r and s alone: no accelerations, auxiliary variables or multipliers, as those of
    // drives do. false: not known
    bool energies_of_motion;

    // hybrid part, see kd_jump; all optional
    kd_function switching; // smooth between instants; a change of sign is an event
    // Bounds of the switching functions along the motion between two points of one step, which are at the acceleration
    // stage: with them no double crossing is missed, without them extrema are searched. -inf, inf: not known
    kd_eval (*switch_bounds)(const kd_point *x0, const kd_point *x1, void *context, double *lower, double *upper);
    // Did laws take values between two points of one step, at the velocity stage, that the step has not seen? From
    // bounds of the laws; without it nothing is searched.
    // unsearched names what it does not know, i = 0, 1, ..., then NULL. Equations that have nothing to be searched (no
    // law with a time or a length of its own: gravity, inertia, joints) say so by answering NULL at once, without
    // unseen: in long steps only inputs are looked at.
    kd_eval (*unseen)(const kd_point *x0, const kd_point *x1, const kd_step_seen *seen, void *context, kd_hidden *out);
    const char *(*unsearched)(int i, void *context);
    kd_eval (*event)(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump);
    // A step of a run has been taken, and x is its end: crossed[i] = -1 (on entry 0) asks for the event of function i there, as if it
    // had fallen through zero. NULL: nobody wants to know
    kd_eval (*completed)(const kd_point *x, void *context, signed char *crossed);
    // (nswitch) 1: function i matters where it rises, -1: where it falls, 0: both. A crossing the other way is shown to
    // event, but not logged. NULL: both. Copied
    const signed char *crossing;
    // Next time > x->t at which a function of time is not smooth; infinity: none. Time stage
    double (*next_break)(const kd_point *x, void *context);
    double (*next_sample)(const kd_point *x, void *context);              // time of the next sample, > x->t
    kd_eval (*discrete)(const kd_point *x, void *context, double *z_new); // z after the samples that are due at x->t
    // discrete looks at t, p, v, r, u and z only: a, w, s, lambda, mu of x may be old, which makes samples cheaper.
    // Default false
    bool discrete_of_motion;
    // z tells which samples were made: discrete called again at the same time changes nothing. Default false
    bool discrete_counts;
    // (nlambda) 0 .. 1: row i is one-sided, g_i >= 0, impacts reverse gI_i by this factor; < 0: it always holds. NULL:
    // all do. Copied
    const double *restitution;
    // (nmu) >= 0: row i is dry friction, and this is the place in z that has its direction, 0: it sticks (the row
    // holds), 1, -1: it slides with h_i > 0, < 0 (mu_i = 0, the force of sliding is part of f). -1: the row always
    // holds. NULL: all do. Copied
    const int *friction;
    // (nmu) |h_i| over which the force of sliding varies at rest, as Stribeck's velocity: steps do not jump over it on
    // the way to rest. 0, NULL: it hardly does. Copied
    const double *friction_scale;
    // (nmu) the other row of a plane of friction: rows i and j = friction_across[i], i < j, are two directions that stick
    // and slide together, with one limit (breakaway of i) for |(mu_i, mu_j)|; z has the direction (d_i, d_j), of unit
    // length, in which it slid when it was told last, (0, 0): it sticks or is open. -1: row i is a line. NULL: all are. Copied
    const int *friction_across;
    // (nmu) row of g, one-sided, that friction belongs to: while that is off, it is open: neither sticks nor slides.
    // -1: none. NULL: all are. Copied
    const int  *friction_normal;
    kd_function breakaway; // (nmu) largest |mu_i| while row i sticks; with friction. Acceleration stage

    // Drives: coordinates x that are functions of t and u alone, stand in none of p and v, and carry masses along, as
    // the base of a mechanism in coordinates relative to it. Where x' jumps (next_break), v jumps, too: with M_vx the
    // block of the whole mass matrix that couples v and x', M (v+ - v) + M_vx (x'+ - x') + (GZ)' Lambda + (HZ)' Pi = 0.
    // Rows of g and h that depend on t need nothing of this. All or none; ndrives 0: none
    int ndrives;
    // Coordinates with two derivatives, (ndrives) each. Time stage. All functions read them moved by x->drive_shift
    kd_eval (*drives)(const kd_point *x, void *context, double *q, double *dq, double *ddq);
    // Generalised impulses for jumps dv of v and dx of x' with the impulses of the rows, by the whole mass matrix:
    // free (nv) = M dv + M_vx dx + (GZ)' Lambda + (HZ)' Pi, driven (ndrives) the same for the drives. Velocity stage
    kd_eval (*impulses)(const kd_point *x, const double *dv, const double *dx, const double *Lambda, const double *Pi,
                        void *context, double *free, double *driven);
    // (nlambda) 1: g_i depends on t or u of itself, not by drives alone; for messages about jumps of drives. NULL: all
    // may. Copied
    const unsigned char *timed;

    // derivatives: derivative() answers the blocks whose bit is set in given[fn]; blocks in zero[fn] vanish
    // identically; all others are differenced
    kd_derivative derivative;
    unsigned      given[KD_FN_COUNT];
    unsigned      zero[KD_FN_COUNT];
    // The same blocks sparse; optional, both or none. pattern gets kd_eom_def.context and answers false for blocks that
    // it does not know; sparse writes the values of a known one in the order of its pattern. KD_P: along increments.
    // Worth giving for large systems: M, Z, GZ, HZ and the blocks of all equations; residual by lambda, mu only beyond
    // (GZ)', (HZ)' (force_of_multipliers).
    bool (*pattern)(kd_fn fn, kd_var var, void *context, kd_pattern *out);
    kd_eval (*sparse)(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *values);
    // by_p residual_p + by_v residual_v of the stiff part, sparse in the pattern of residual by p, for linear-implicit
    // steps: terms that do not make it stiff may be missing, and only the elements of one part (0 .. parts - 1) need be
    // renewed, the others may be those of earlier calls. Optional.
    kd_eval (*stiffness)(const kd_point *x, double by_p, double by_v, int part, int parts, void *context,
                         double *values);
    // The same and M as one sum in the pattern of M, where all of it fits in (fits_mass, which gets the context of the
    // other functions). Optional, both or none.
    bool (*fits_mass)(void *context);
    kd_eval (*mass_and_stiffness)(const kd_point *x, double by_p, double by_v, int part, int parts, void *context,
                                  double *values);
    bool p_increments; // derivatives by p are along increments (nv columns)
    // The last of p are angles that are counted over full turns: they follow from the other coordinates, and all that
    // functions beside q take from them is the number of turns. Rows of Z above theirs have full column rank. 0: none
    int  ncounted;
    bool force_of_multipliers; // f depends on lambda or mu (friction); default false
    bool
        lightly_damped; // modes of bodies swing with little damping, where multistep methods are unstable; default false

    kd_mass_structure mass_structure;
    bool              autonomous; // no function depends on t
    const double     *theta;      // (ntheta) default parameters, copied
    // The parameters are those of the context, which alone changes them (kd_eom_change_values): points know no others, and
    // derivatives by them are those that are given
    bool theta_held;
    // (nv) natural size of an increment of each coordinate, > 0, copied: 1 for an angle [rad], the size of the
    // mechanism for a length. Ranks, starts and tolerances of rounding are judged in these units. NULL: 1
    const double *unit;
    const double *position_unit; // (np) the same of the coordinates themselves, copied. NULL: 1
    double        time;          // [s] natural time, in which the motion changes by such sizes; 0: 1 s
    // Names for messages; NULL or a NULL answer: "p[3]". The string must live as long as the context.
    const char *(*name)(kd_kind kind, int i, void *context);
    // Why a function refused (KD_EVAL_RETRY) or answered no number at x, in words for the message; text is "" before.
    // Velocity stage. Optional
    void (*reason)(const kd_point *x, void *context, char *text, size_t size);
    // Who is to blame when a run gets nowhere, in words for its message; text is "" before. Velocity stage. Optional.
    // The element whose force or rate changes most between two points next to each other, with its law
    void (*jumps)(const kd_point *x0, const kd_point *x1, void *context, char *text, size_t size);
    // The element that feeds most energy at x; its power [W], 0: none does
    double (*feeds)(const kd_point *x, void *context, char *text, size_t size);

    // Amounts behind the inner states (the oil behind a pressure), which stay as long as nothing flows in or out, and
    // their slopes by r: (nr) both, zero on entry; amount NAN: none is known. Velocity stage. Optional
    kd_eval (*content)(const kd_point *x, void *context, double *amount, double *slope);

    // Whether a law is used at x where it no longer holds (oil below its vapour pressure), in words; text is "" before
    // and stays so if all is well. Velocity stage; loads that need accelerations behind it. Optional
    void (*caution)(const kd_point *x, void *context, char *text, size_t size);
    // The same of what is worth a word without being wrong: a table that is read outside of its rows. Velocity stage.
    // Optional
    void (*notice)(const kd_point *x, void *context, char *text, size_t size);

    // One thread's workspace; NULL: context itself is passed, and must then not be changed by the functions.
    void *(*make_work)(void *context);
    void (*free_work)(void *work);
    // What a work object has to remember for a motion to go on with the same bits, where the answers of its functions
    // depend on earlier calls. NULL: they do not
    void (*archive_work)(void *work, kd_archive *archive);

    unsigned cookie; // set by kd_eom_def_default
} kd_eom_def;

// Start from this: all sizes 0, all functions NULL.
KD_API kd_eom_def kd_eom_def_default(void);

// ---------------------------------------------------------------------------------------------------------------------
// The object: constant after creation, may be shared by threads.
typedef struct kd_eom kd_eom;

// Checks that the definition is complete. message (may be NULL, size bytes) receives the reason of a failure.
KD_API kd_status         kd_eom_create(const kd_eom_def *def, kd_eom **eom, char *message, size_t size) KD_NODISCARD;
KD_API void              kd_eom_destroy(kd_eom *eom); // NULL is fine
KD_API kd_dims           kd_eom_dims(const kd_eom *eom);
KD_API int               kd_eom_rows(const kd_eom *eom, kd_fn fn);       // rows of a function
KD_API int               kd_eom_columns(const kd_eom *eom, kd_var var);  // columns of a derivative; nv for KD_P
KD_API double            kd_eom_unit(const kd_eom *eom, int j);          // kd_eom_def.unit[j], or 1
KD_API double            kd_eom_position_unit(const kd_eom *eom, int i); // kd_eom_def.position_unit[i], or 1
KD_API double            kd_eom_time(const kd_eom *eom);                 // kd_eom_def.time, or 1
KD_API const char       *kd_eom_title(const kd_eom *eom);
KD_API const kd_eom_def *kd_eom_definition(const kd_eom *eom);
// Numbers of the definition that its owner may write when parameters of the context change (kd_system_set_parameters);
// no other thread may use the equations meanwhile. Evaluation points take everything as new from their next
// kd_eom_at_time on. NULL: not part of the definition.
typedef struct kd_eom_values {
    double *theta;                // (ntheta)
    double *unit, *position_unit; // (nv), (np)
    double *time;
    double *restitution;    // (nlambda)
    double *friction_scale; // (nmu)
} kd_eom_values;
KD_API kd_eom_values kd_eom_change_values(kd_eom *eom);
// "joint 'hinge' angle" or, without a name, "p[3]", written to buffer, which is returned. A velocity without name whose
// coordinate has one (Z = I): "rate of 'slider x'".
KD_API const char *kd_eom_name(const kd_eom *eom, kd_kind kind, int i, char *buffer, size_t size);
// May fn depend on var (by its definition above and by zero[])?
KD_API bool kd_eom_depends(const kd_eom *eom, kd_fn fn, kd_var var);

// ---------------------------------------------------------------------------------------------------------------------
// One thread's evaluation point. Stages: time < position < velocity < acceleration; setting one invalidates the later
// ones. The arrays stay the caller's and must stay valid and unchanged while the point is used.
typedef struct kd_eom_data kd_eom_data;

// Stages of an evaluation point, in the order in which they are set.
typedef enum kd_stage {
    KD_STAGE_NONE,
    KD_STAGE_TIME,
    KD_STAGE_POSITION,
    KD_STAGE_VELOCITY,
    KD_STAGE_ACCELERATION
} kd_stage;

// Memory: vectors, and full matrices while they are small. Of a large system that gives its blocks sparse (pattern),
// full matrices are made by kd_eom_data_reserve, or where that was not called at the first request for one (kd_eom_Z,
// KD_MASS, kd_eom_derivatives, kd_eom_constraint_matrices); no call allocates again later. kd_eom_eval of the supplied
// functions, kd_eom_sparse, kd_eom_accelerations and kd_eom_kkt_factor never need them.
KD_API kd_status kd_eom_data_create(const kd_eom *eom, kd_eom_data **data) KD_NODISCARD;
KD_API kd_status kd_eom_data_reserve(kd_eom_data *d) KD_NODISCARD;
KD_API void      kd_eom_data_destroy(kd_eom_data *data);
// NULL: the definition's. Other values than those where theta_held is set (models): the point has no stage then
KD_API void            kd_eom_at_parameters(kd_eom_data *d, const double *theta);
KD_API void            kd_eom_at_time(kd_eom_data *d, double t, const double *u, const double *du, const double *ddu,
                                      const double *z);
KD_API void            kd_eom_at_position(kd_eom_data *d, const double *p, const double *s);
KD_API void            kd_eom_at_velocity(kd_eom_data *d, const double *v, const double *r);
KD_API void            kd_eom_at_acceleration(kd_eom_data *d, const double *a, const double *w, const double *lambda,
                                              const double *mu);
KD_API const kd_point *kd_eom_point(const kd_eom_data *d);
// Save or restore what the point has to remember; it stands nowhere then (KD_STAGE_NONE).
KD_API void kd_eom_data_archive(kd_eom_data *d, kd_archive *archive);
// Where the functions get their context from: that of kd_eom_def, or this point's work object of make_work.
KD_API void         *kd_eom_data_context(const kd_eom_data *d);
KD_API const kd_eom *kd_eom_data_eom(const kd_eom_data *d);
KD_API kd_stage      kd_eom_data_stage(const kd_eom_data *d); // that is reached

// Value of a function. Every answer is checked for NaN and infinity (then KD_EVAL_RETRY); see kd_eom_data_fault. out
// must not overlap the arrays of the point.
KD_API kd_eval kd_eom_eval(kd_eom_data *d, kd_fn fn, double *out) KD_NODISCARD;
KD_API kd_eval kd_eom_Z(kd_eom_data *d, double *Z) KD_NODISCARD;     // (np x nv)
KD_API kd_eval kd_eom_q_p(kd_eom_data *d, double *q_p) KD_NODISCARD; // (nq x np) in plain coordinates, not increments
KD_API kd_eval kd_eom_oplus(kd_eom_data *d, const double *p, const double *e, double *p_moved) KD_NODISCARD;
KD_API kd_eval kd_eom_energies(kd_eom_data *d, kd_energies *out) KD_NODISCARD;
// Is a law used where it no longer holds? text says which and why; "" and false: no, or not known.
KD_API bool kd_eom_caution(kd_eom_data *d, char *text, size_t size);
// Is there something worth a word? As kd_eom_caution.
KD_API bool kd_eom_notice(kd_eom_data *d, char *text, size_t size);
// Amounts behind the inner states and their slopes by r; NAN where none is known.
KD_API kd_eval kd_eom_content(kd_eom_data *d, double *amount, double *slope) KD_NODISCARD;
// kd_eom_def.jumps between two points (kd_eom_point) of this data, kd_eom_def.feeds at the velocity stage; "" and 0 for
// equations that do not tell.
KD_API void   kd_eom_jumps(kd_eom_data *d, const kd_point *x0, const kd_point *x1, char *text, size_t size);
KD_API double kd_eom_feeds(kd_eom_data *d, char *text, size_t size);
// The explicit formalism, if the definition has it.
KD_API kd_eval kd_eom_acceleration(kd_eom_data *d, double *a) KD_NODISCARD;
// a, lambda and mu together at the velocity stage, if the definition has it.
KD_API kd_eval kd_eom_accelerations(kd_eom_data *d, double *a, double *lambda, double *mu) KD_NODISCARD;
// K at the position stage, and its solutions (kd_eom_def.kkt_factor); the definition must have them.
KD_API kd_eval kd_eom_kkt_factor(kd_eom_data *d) KD_NODISCARD;
KD_API void    kd_eom_kkt_solve(kd_eom_data *d, double *y);
// Newton matrices of implicit methods (kd_eom_def.implicit_set). false, KD_EVAL_STOP: the definition has none.
KD_API bool      kd_eom_implicit_reserve(kd_eom_data *d) KD_NODISCARD; // also false: out of memory
KD_API kd_eval   kd_eom_implicit_set(kd_eom_data *d) KD_NODISCARD;
KD_API kd_status kd_eom_implicit_pair(kd_eom_data *d, int k) KD_NODISCARD; // KD_ERR_MEMORY, KD_ERR_UNSUPPORTED
KD_API bool      kd_eom_implicit_factor(kd_eom_data *d, double re, double im) KD_NODISCARD;
KD_API void      kd_eom_implicit_solve(kd_eom_data *d, double *re, double *im);
// Back to 0 = q(p), and v from p' = Z v, by the definition's own functions; false: it has none.
KD_API bool kd_eom_normalise(kd_eom_data *d, double *p);
KD_API bool kd_eom_velocities(kd_eom_data *d, const double *p, const double *rate, double *v);

// The hybrid part. Without function: no more instants (infinity), z unchanged, no bounds (-inf, inf).
KD_API double  kd_eom_next_sample(kd_eom_data *d);
KD_API double  kd_eom_next_break(kd_eom_data *d);
KD_API kd_eval kd_eom_discrete(kd_eom_data *d, double *z_new) KD_NODISCARD; // acceleration stage
KD_API kd_eval kd_eom_event(kd_eom_data *d, const signed char *crossed, kd_jump *jump) KD_NODISCARD; // the same
// A step has ended here; (nswitch) functions whose events it asks for, in 0, 0, .. on entry; acceleration stage
KD_API kd_eval kd_eom_completed(kd_eom_data *d, signed char *crossed) KD_NODISCARD;
KD_API kd_eval kd_eom_switch_bounds(kd_eom_data *d, const kd_point *x0, const kd_point *x1, double *lower,
                                    double *upper) KD_NODISCARD;
KD_API kd_eval kd_eom_breakaway(kd_eom_data *d, double *limit) KD_NODISCARD; // (nmu) infinity: the row always holds
// Drives moved by shift (ndrives, NULL: not) from the next kd_eom_at_time on: derivatives by prescribed coordinates are
// differences of functions at moved ones. The array must stay.
KD_API void kd_eom_shift_drives(kd_eom_data *d, const double *shift);
// Drives at the time stage; impulses at the velocity stage, as kd_eom_def says. free, driven, Lambda, Pi may be NULL.
KD_API kd_eval kd_eom_drives(kd_eom_data *d, double *q, double *dq, double *ddq) KD_NODISCARD;
KD_API kd_eval kd_eom_impulses(kd_eom_data *d, const double *dv, const double *dx, const double *Lambda,
                               const double *Pi, double *free, double *driven) KD_NODISCARD;
KD_API bool    kd_eom_one_sided(const kd_eom *eom, int lambda); // g_i >= 0
KD_API bool    kd_eom_is_friction(const kd_eom *eom, int mu);
// Without function: out says that nothing was found. Velocity stage
KD_API kd_eval kd_eom_unseen(kd_eom_data *d, const kd_point *x0, const kd_point *x1, const kd_step_seen *seen,
                             kd_hidden *out) KD_NODISCARD;
// What is not searched, by its name; NULL: no more
KD_API const char *kd_eom_unsearched(const kd_eom *eom, int i);
// Impact at the position stage: M (v+ - v) = -(GZ)' Lambda - (HZ)' Pi over the active rows, for which gI = 0 and h = 0
// afterwards, and the rows that are hit (hit[i] != 0, which need not be active), where gI_i+ = -restitution_i gI_i;
// impulses of rows that would pull are left out. v holds v on entry, v+ on return; impulse (nlambda + nmu) may be NULL.
// KD_OK, KD_REDUNDANT (dependent rows were left out), < 0
KD_API kd_status kd_eom_impact(kd_eom_data *d, const unsigned char *active_lambda, const unsigned char *active_mu,
                               const unsigned char *hit, double *v, double *impulse) KD_NODISCARD;

// Wanted derivative blocks: block[fn][var] points to rows x columns (column-major,
// leading dimension = rows), or is NULL.
typedef struct kd_blocks {
    double *block[KD_FN_COUNT][KD_VAR_COUNT];
} kd_blocks;

// Fill all wanted blocks: supplied ones by the derivative function (times Z for KD_P), known ones from structure
// (RESIDUAL by A = M, GII by A = GZ, ...), the others by differences, all functions of one perturbed column together.
// KD_P: along increments, nv columns. Needs the acceleration stage if a block does.
KD_API kd_eval kd_eom_derivatives(kd_eom_data *d, kd_part part, const kd_blocks *blocks) KD_NODISCARD;

// Pattern and values of a derivative that the definition gives sparse; false: it does not. KD_MASS with KD_A: M;
// KD_KINEMATICS with KD_V: Z (not given where Z = I); KD_GI with KD_V: GZ; KD_H with KD_V: HZ. These four need the
// position stage, other blocks that of their function.
KD_API bool    kd_eom_pattern(const kd_eom *eom, kd_fn fn, kd_var var, kd_pattern *out);
KD_API kd_eval kd_eom_sparse(kd_eom_data *d, kd_fn fn, kd_var var, kd_part part, double *values) KD_NODISCARD;

// by_p residual_p + by_v residual_v of the stiff part at the acceleration stage, if the definition has it.
KD_API kd_eval kd_eom_stiffness(kd_eom_data *d, double by_p, double by_v, int part, int parts,
                                double *values) KD_NODISCARD;
// M and that in the pattern of M, where the definition has it and it fits in.
KD_API bool    kd_eom_fits_mass(const kd_eom_data *d);
KD_API kd_eval kd_eom_mass_and_stiffness(kd_eom_data *d, double by_p, double by_v, int part, int parts,
                                         double *values) KD_NODISCARD;

// Constraint matrices with contact coordinates eliminated, G = g_p - g_s inv(c_s) c_p:
// GZ (nlambda x nv), HZ (nmu x nv). Either pointer may be NULL.
KD_API kd_eval kd_eom_constraint_matrices(kd_eom_data *d, double *GZ, double *HZ) KD_NODISCARD;

// What went wrong in the last call that did not answer KD_EVAL_OK.
typedef struct kd_fault {
    // KD_ERR_STAGE, KD_ERR_NOT_FINITE, KD_ERR_CALLBACK_STOP, KD_ERR_RETRY_FAILED, KD_ERR_SINGULAR_CS,
    // KD_ERR_DEFINITION (a row was not set)
    kd_status status;
    kd_fn     fn;
    int       row; // offending row, -1: none
    double    t;
} kd_fault;
KD_API kd_fault    kd_eom_data_fault(const kd_eom_data *d);
KD_API const char *kd_eom_data_message(const kd_eom_data *d); // the fault in words, with names

// Function calls so far, by kind; derivative calls and those made for differences apart.
typedef struct kd_eom_counters {
    long fn[KD_FN_COUNT]; // evaluations, those for differences included
    long for_differences; // evaluations made for differences
    long derivative;      // calls of the derivative function
} kd_eom_counters;
KD_API kd_eom_counters kd_eom_data_counters(const kd_eom_data *d);

// ---------------------------------------------------------------------------------------------------------------------
// A whole state, in one block of memory: [p v r w s lambda mu | a | z]. Copying the block saves it exactly.
typedef struct kd_state {
    double         t;
    double        *p, *v, *r, *w, *s, *lambda, *mu, *a, *z;
    const double  *theta; // (ntheta) parameters, the caller's, fixed during a simulation; NULL: the definition's
    unsigned char *active_lambda, *active_mu; // 1: the row holds; 0: it reads lambda_i = 0
    bool           unsolved;                  // a is not that of the state: nobody has solved for it. Default false
    int            n;                         // np + nv + nr + nw + ns + nlambda + nmu, the part p .. mu
    size_t         size;                      // doubles in the block that starts at p
} kd_state;

// All zero; rows are active but for one-sided ones and dry friction, which simulations switch on
KD_API kd_status kd_state_create(const kd_eom *eom, kd_state **x) KD_NODISCARD;
// KD_ERR_ARGUMENT: one is NULL, or the sizes are others (other equations): nothing is copied
KD_API kd_status kd_state_copy(const kd_state *from, kd_state *to);
KD_API bool      kd_state_fits(const kd_eom *eom, const kd_state *x); // does x have the sizes of these equations?
KD_API void      kd_state_destroy(kd_state *x);
KD_API void      kd_state_archive(kd_state *x, kd_archive *archive); // save or restore; theta stays the caller's

// ---------------------------------------------------------------------------------------------------------------------
// Inputs as functions of time, (nu) each with two time derivatives, which must all be set. No function of the equations
// looks up u(t) itself.
typedef struct kd_inputs {
    kd_eval (*eval)(double t, void *context, double *u, double *du, double *ddu);
    void *context;
} kd_inputs;

// The evaluation point at a state, up to a stage: parameters, inputs of its time (kept in the point; NULL: all 0), then
// positions, velocities, accelerations of x, which must stay unchanged while the point is used. Not KD_EVAL_OK: the
// inputs could not be evaluated, kd_eom_data_fault says why, and no stage is reached. Or at the time stage of another
// time, with parameters and discrete states of x.
KD_API kd_eval kd_eom_at_state(kd_eom_data *d, const kd_inputs *inputs, const kd_state *x, kd_stage stage) KD_NODISCARD;
KD_API kd_eval kd_eom_at_instant(kd_eom_data *d, const kd_inputs *inputs, double t, const kd_state *x) KD_NODISCARD;

// Checker: compares every supplied derivative and constraint level with differences of the level below, at x and at
// points around it, and names the entry that disagrees. report (may be NULL) gets one line per disagreement.
typedef struct kd_check_options {
    double   tolerance; // relative disagreement that counts                       default 1e-5
    int      samples;   // points around x                                         default 3
    double   spread;    // relative size of the moves                              default 0.1
    unsigned cookie;    // set by kd_check_options_default
} kd_check_options;
KD_API kd_check_options kd_check_options_default(void);
KD_API kd_status        kd_eom_check(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                                     const kd_check_options *opt, char *report, size_t size) KD_NODISCARD;

KD_EXTERN_C_END
#endif
