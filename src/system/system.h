// system.h: the equations of motion of a model: constant description (kd_system) and one thread's work (kd_work).
//
// A model becomes a tree of links, pairs of frames on it, measures of the pairs, and then two lists that the equations
// are made of: rows (constraints, 0 = combination of measures) and loads (forces along measures, inner states). Joint
// and Cartesian coordinates differ in the tree only: in Cartesian coordinates every body hangs free on the ground.
#ifndef KARDAN_SYSTEM_SYSTEM_H
#define KARDAN_SYSTEM_SYSTEM_H

#include <kardan/system.h>

#include "element/rotation.h"
#include "element/touch.h"
#include "element/wheel.h"
#include "expr/expr.h"
#include "model/model.h"
#include "system/discrete.h"
#include "system/load.h"
#include "system/matrix.h"
#include "system/measured.h"
#include "system/redundancy.h"
#include "system/rows.h"
#include "system/stiff.h"
#include "system/topological.h"
#include "tree/implicit_body.h"
#include "tree/pair.h"
#include "tree/tree.h"

// Pairs, measures and variables stand in the order in which they were made: first what rows read, then what loads read
// in addition (those of modes last: their forces are found without, their derivatives and energies are not), then what blocks and
// events read, then what only sensors and counted angles read. Each stage is evaluated as far as it is needed.
typedef enum kd_extent {
    KD_FOR_ROWS,
    KD_FOR_FORCES, // all loads but those of modes
    KD_FOR_LOADS,
    KD_FOR_INSTANTS,
    KD_FOR_ALL,
    KD_EXTENT_COUNT
} kd_extent;

typedef struct kd_counts {
    int pairs, measures, slots;
} kd_counts;

// ---- the system -----------------------------------------------------------------------------------------------------
typedef struct kd_tree_edge { // how a joint of the model is used
    int  link;                // link that it carries; 0: it closes a loop
    bool reversed;            // the link is the body of `from`
    int  pair;                // pair of its frames from, to; -1: not made
    int  coordinate[6];       // measures of its coordinates; -1: not made
    int  row, nrows;          // rows of its constraint (before redundant ones are left out)

    kd_joint_table table; // of a joint by tables, in the direction of the tree
} kd_tree_edge;

typedef struct kd_pair_ends {
    const kd_anchor *from, *to;
    int              turned; // about this axis of `from`, from 1 on, by half a turn; 0: not
} kd_pair_ends;

struct kd_system {
    const kd_model       *model;
    const kd_model       *origin; // that the system was made of
    kd_model             *live;   // own copy of a model with parameters, which is `model` then; NULL
    double               *theta;  // (nparameters + nnumbers) their values, then numbers of elements in expressions
    double               *before; // (nparameters) while they change
    const double        **number; // (nnumbers) where those are
    int                   nnumbers, numbers_capacity;
    int                  *structure;           // (nforces + nconstraints) what of them must not change
    double               *expr_work;           // while they change
    double               *moved;               // (nparameters) of derivatives by them
    double               *line_at, *line_rate; // (nparameters + nnumbers) a tangent: values, their rates along it
    double               *beside;              // (3 rows of any function) the same
    int                   most_rows;
    unsigned long         generation; // of the values
    kd_state             *start;      // consistent, as it was found when the system was made; NULL: not known any more
    kd_status             start_status;
    char                 *start_news;
    bool                  takes_lengths; // free lengths or offsets come from the start position
    struct kd_start_room *start_room;    // where that is found out when parameters change; NULL: never
    kd_system_options     options;
    // Behind a system in Cartesian coordinates, or with joints that are cut because they rub, stands one in joint
    // coordinates, uncut, that only finds start values and redundant rows: positions, velocities, constraints. It has
    // no sensors, no matrices of the residual, and no paths of pairs that only forces use, which would grow with the
    // square of a chain.
    bool     for_start;
    bool     is_fixed; // nothing moves: one inner state, which stays 0, so that there is an unknown
    int      nsensors; // outputs: sensors of the model, then paths that are watched
    kd_arena arena;

    kd_tree tree;
    int     nplaced, nleft; // links that rows need, all others, with the ground in both; 0: they are placed together
    int    *placed, *left;  // (nplaced), (nleft)
    int    *body_link;      // (nbodies)
    int    *link_body;      // (tree.nlinks) -1: the ground
    int    *link_joint;     // (tree.nlinks) that carries it; -1: free joint to the ground
    int    *wide_link;      // (nbodies) of a flexible body: link that deforms, in the frame of the body; 0: rigid
    double *slowest;        // (nbodies) lowest frequency of modes without geometric stiffness [rad/s]; 0: rigid
    double           **
        deflection; // (nbodies) by slow loads at its interfaces: F, then R (kd_flexible_body_compliance); NULL: all modes are there
    int          *first_node; // (nbodies + 1) of its interfaces in node_link
    int          *amplitude;  // (tree.ndof) of modes: 1 + measure; 0: not made; NULL: none is
    int          *node_link;  // markers of the interfaces; 0: nobody stands there
    kd_vec3      *body_r;     // (nbodies) origin of the body's frame in its link
    kd_mat3      *body_R;     // (nbodies) axes
    kd_tree_edge *edge;       // (njoints)
    double       *design;     // (tree.nposition) coordinates at the design position
    kd_expr     **motion;     // (tree.ndof) prescribed dofs: function of t; NULL
    int           ndrives;    // prescribed dofs
    int          *drive;      // (ndrives) dofs of the tree
    bool          prescribed; // is there one?

    int           npairs, nmeasures, nslots, nrows_g, nrows_h, nloads, nturns;
    kd_pair      *pair;
    kd_pair_ends *pair_ends; // (npairs)
    kd_measure   *measure;
    kd_slot      *slot;
    kd_row       *row_g, *row_h;
    kd_load      *load;
    int           nplain;                 // loads before those of modes, which come last
    int           nfours, nsingles;       // of these: fours that are evaluated at once, all others
    int          *four, *single;          // (4 nfours), (nsingles) numbers of loads
    int           nmodal;                 // flexible bodies
    kd_modal     *modal;                  // (nmodal) all their loads at once
    int          *force_pair;             // (nforces) from -> to; -1: not made
    int          *constraint_row;         // (nconstraints) first row
    int           none_sided;             // one-sided rows, the last ones of row_g
    bool          takes_one_sided;        // they are in the equations: start values do without them
    int          *turn_measure;           // (nturns) angles that are counted over full turns
    int          *body_pair, *frame_pair; // (nbodies), (nframes) ground -> frame; -1: not made
    int          *centre_pair;            // (nbodies) ground -> centre of mass; -1: not made
    int           capacity[9];            // of the arrays above, while building
    bool          bare_paths;             // while building: the pairs that come now are not differentiated
    kd_counts     upto[KD_EXTENT_COUNT];  // numbers of those that rows, rows and loads, all need
    struct {                              // what sensors read beyond positions and velocities (sensors.c)
        int  nslots, npairs;              // variables on acceleration level, pairs that they are measured between
        int *slot, *pair;
        bool loads;     // forces of elements, or variables that are known when these are
        bool reactions; // of the tree
        int  nlate;     // variables that are filled in last: reactions, multipliers, forces, energies
        int *late;      // (nlate) slots
    } sensed;

    int     ninvariants, nconditions;
    kd_row *row_c;       // (nconditions)
    kd_row *row_e;       // (ninvariants) of those that are expressions
    int    *invariant_z; // (ninvariants) place in z of the value at the start; -1: it is given

    int       nwheels; // wheels on rails
    kd_wheel *wheel;
    int       ntouches, nrotations; // pairs with surfaces in contact; pairs whose rotation vector is measured
    kd_touch *touch;                // (at most nconstraints + nforces)
    int      *rotation;             // (npairs) numbers of these pairs, rising
    bool      holds;                // equations of algebraic variables read multipliers
    bool      by_multipliers;       // forces depend on multipliers
    bool      lightly_damped;       // modes of a body are

    int        nalgebraic; // algebraic variables, the first of w; start values have none
    kd_load   *equation;   // (nalgebraic) their equations: laws without force; `state` is the place in w
    int        nacross;
    kd_across *across; // (nacross) of w behind the algebraic variables
    bool       late;   // loads read multipliers or auxiliary variables: they belong to the acceleration stage

    int          nexprs, nmotion; // all compiled expressions, for release; those that the motion depends on come first
    kd_expr    **expr;
    kd_expr    **input;                      // (ninputs); NULL: constant
    const char **watch;                      // (nsensors - those of the model) paths
    bool         shows;                      // while compiling: what only shows angles does not count them
    kd_expr    **sensor;                     // (nsensors)
    int          ncontrollers;               // state elements, then blocks without period: the first loads
    int         *state_order, *sensor_order; // (ncontrollers), (nsensors) each behind those whose outputs it reads
    int         *out_at;                     // (ncontrollers + 1) outputs of those before it
    int         *out_slot, *sensor_slot;     // first variable that shows an output of a controller, a sensor; -1: none
    int         *next_slot;                  // (nslots) the next one
    int         *time_slot, ntime_slots;     // variables that are t or an input
    kd_filled    filled[KD_FILLED];          // those that are measures, by level, and those that are states
    kd_measured  measured;
    int          nbreaking; // expressions that may not be smooth at some time
    kd_expr    **breaking;
    int          nlaws; // laws in which something may hide from a step
    kd_law      *law;
    bool         laws_of_motion;   // one of them reads it
    bool         laws_of_places;   // one of them reads more of it than coordinates of joints
    int          max_interval;     // ranges of workspace that any expression needs
    int         *z_slot, nz_slots; // variables that are places in z, in their order
    int         *z_slot_at;        // (nz + 1) where those of each place begin

    kd_sampler *block;      // (nblocks)
    int         nsampled;   // those that have a period
    int         nfunctions; // switching functions: of events, then of blocks without period
    kd_trigger *event;      // (nevents)
    int        *variable_z; // (nvariables) places in z
    kd_reading  at_samples, at_switches, at_events;

    int  np, nv, nr, nw, ns, nz, nlambda, nmu;
    int *kept;                           // (nlambda) rows of g that are in the equations
    int *lambda_of;                      // (nrows_g) the other way: place in lambda; -1: left out
    int *x_of_p;                         // (np - nturns) place in x
    int *p_of_x;                         // (tree.nposition) place in p; -1: prescribed
    int *quaternion, *quaternion_v;      // (nquaternions) first place in p and v of each quaternion
    int  nscalars, *scalar_p, *scalar_v; // (nscalars) places in p and v of all other coordinates
    int  nquaternions;
    int  max_path; // longest path
    int  max_jacobian;

    // derivatives: patterns and how the assembly fills them
    kd_matrix_plan residual_p, residual_v, residual_r, G, H, gI_p, gII_p, gII_v, h_p, hI_p, hI_v, b_p, b_v, b_r, b_w;
    kd_matrix_plan g_p, g_s, c_p, c_s, gI_s, gII_s, residual_s, residual_lambda; // contact coordinates, multipliers
    kd_matrix_plan residual_w, d_p, d_v, d_r, d_lambda, d_w;                     // auxiliary variables
    kd_matrix_plan Z, Z_p;                                                       // Z, and (Z v)_p along increments
    kd_matrix_plan joint_p, joint_v; // residual of the loads alone, where all of them act inside of joints
    bool           inside_joints;    // they do, and nothing else hinders an elimination along the tree
    bool           planned;
    bool           dense_tree; // the pattern of the tree is small enough for matrices
    kd_topological topological;

    char         **names[KD_NAME_KIND_COUNT];
    const char   **units[KD_NAME_KIND_COUNT]; // of the same; NULL: not known
    int            named[KD_NAME_KIND_COUNT]; // how many there are
    kd_eom        *eom;
    kd_inputs      inputs;
    kd_system     *joints; // the same model in uncut joint coordinates, for start values and redundant rows; NULL
    kd_system_info info;
    kd_redundancy  redundancy;
    bool          *keep;       // (nrows_g) rows that are independent; NULL: all
    bool           unexamined; // the equations have all rows, and it is not known yet which of them are redundant
    bool           time_dependent, driven, reads_energy;
};

// The road under a tyre where it was looked at last
typedef struct kd_road {
    unsigned long stamp; // of the velocity, or of the position where velocities do not count
    double        x, rate;
    kd_jet        jet;
    double        told[10]; // what sensors read of a tyre on a road (element/road_tyre.h)
} kd_road;

// The ends of the step that was looked at last
typedef struct kd_unseen_end {
    double  t;
    double *state;        // (np + nv + nr) that was given
    double *value, *rate; // (nmeasures)
    double *way;          // (6 nplaces) d, d' of the lengths among the places, unseen_length.c
    double *u;            // (2 nu) u, u'
} kd_unseen_end;

// A kink or jump of a law that a step has passed: end of the step, branches before and behind
typedef struct kd_crossed {
    double             t;
    unsigned long long from, to;
} kd_crossed;

// unseen_touch.c: how two surfaces move past each other, at one end of a step; axes of the world
typedef struct kd_touch_pass {
    kd_vec3 way, rate; // from the origin of one to that of the other
    double  gap;       // NaN: not known
    double  turn[2];   // [rad/s] of either, as far as it moves its surface
    double  reach[2];  // from the origin to where it is touched; spheres: 0
} kd_touch_pass;

typedef struct kd_unseen_work {
    kd_unseen_end end[2];
    bool          known;        // end[1] is
    double       *mobility;     // (nlaws) effect per law and time, in tolerances
    int          *pause;        // (nlaws) steps in which a law is left alone
    double       *speed;        // (nlaws) of the velocity that is changed, in tolerances
    double       *mass;         // (pattern of the tree)
    int           age;          // looks since mobilities were found
    double        length, time; // natural ones, where absolute tolerances count in them
    const char   *foreign;      // an input that does not follow its expression; NULL
    kd_interval  *term;         // (2 KD_LAW_TERMS) of one law; over the whole step
    kd_crossed   *crossed; // (2 nlaws) the last one; that of the step that was looked at last, which may be taken back
    // boxes in which nothing can hide, unseen_box.c
    kd_interval *box;       // of the variables of all laws
    double      *box_limit; // (nlaws) largest h times mobility; < 0: there is none
    double      *box_share; // (nlaws) part of it that a step may pass
    double      *box_step;  // (nlaws) length of the step that it was made around
    double      *until;     // (nlaws) time up to which the motion will stay in it, as it goes on now
    double      *reach;     // (nlaws) of the next box, in widths of the step, of laws of time in seconds; 0: not known
    double       drive_until, drive_reach; // the same of all prescribed motions together
    int          drive_wait, drive_waited;
    kd_jet      *drive_jet; // (KD_DRIVE_NODES, dofs and rows) in a step
    int         *wait;      // (nlaws) steps until the next try
    int         *waited;    // (nlaws) after the last one
    // the path of a step in which joints turn far, unseen_turn.c
    int    *place; // (nmeasures) number of a measure that laws read and that is no coordinate of a joint; -1
    int     nplaces;
    int    *turning; // (nturning) pairs of these
    int     nturning;
    int     pieces;       // of the path; 1: what laws read moves along cubics between the ends
    double *piece_value;  // (nplaces x pieces + 1) at the ends of the pieces
    double *piece_rate;   // the same
    double *piece_way;    // (6 nplaces x pieces + 1) d, d' there
    double *turn_x[2];    // (nposition) coordinates of the tree at both ends
    double *turn_rate[2]; // (nposition) their rates
    double *inside;       // (np + nv + 3 nu) a point inside
} kd_unseen_work;
enum { KD_LAW_TERMS = 32, KD_DRIVE_NODES = 5, KD_PIECES = 32 };

// The next breaks of expressions, breaks.c
typedef struct kd_breaks {
    double       all_from, all_next; // of all together: found at the time from, it holds until next
    double      *from, *next;        // (nbreaking)
    double      *unsearched;         // (nbreaking) time that the search could not decide
    kd_interval *work;               // (max_interval)
} kd_breaks;

// Ranges of variables along the motion between two points, enclosure.c
typedef struct kd_sample {
    double *value, *rate, *acceleration; // (nmeasures)
    double *b;                           // (nr)
    double *way;                         // (9 nlengths) d, d', d'' of distances
} kd_sample;

typedef struct kd_enclosure {
    kd_sample      end[2];
    int           *length; // (nmeasures) place of a distance that a variable reads in `way`; -1: none
    int            nlengths;
    kd_touch_pass *pass;  // (2 ntouches) surfaces, at both ends
    kd_interval   *state; // (nr)
    kd_interval   *slot;  // (nslots)
    unsigned long  stamp; // of the last point
} kd_enclosure;

// One thread's evaluation.
typedef struct kd_work {
    const kd_system *system;
    kd_arena         arena;
    unsigned long    generation; // of the parameters that was used last
    kd_motion        motion;
    bool             left;         // links that rows do not need have not been placed yet
    double          *x, *dx, *ddx; // (nposition), (ndof), (ndof) of all dofs, prescribed ones included
    double          *tau;          // (ndof)
    double          *increment;    // (ndof)
    kd_motion        rest;         // at the same place, not moving: gradients of invariants
    double          *at_rest;      // (ndof) zero
    double          *e_p, *e_v;    // (ninvariants x nv) gradients at the velocity of the stamp
    unsigned long    e_stamp;
    double          *x_moved, *rates;             // (nposition)
    kd_motion        moved;                       // scratch of oplus, where angles are counted
    double          *turn;                        // (2 nturns) the same
    double          *sensor;                      // (nsensors)
    double          *z_start;                     // (nz)
    double          *setting;                     // (KD_MAX_SETTINGS nevents) new values of an event
    kd_wrench       *load;                        // (nlinks)
    double          *joint_force;                 // (ndof) forces along dofs
    kd_relative     *rel;                         // (npairs)
    double          *value, *rate, *acceleration; // (nmeasures)
    double          *slot;                        // (nslots)
    kd_road         *road;                        // (nloads)
    double           t;
    double          *expr_work;
    double          *gradient;   // of an expression
    double          *out_weight; // (outputs of controllers) derivatives by them, while laws are differentiated
    double          *unit_x;     // (most states of a block without period)
    double          *user;       // arguments and answers of elements written in C
    kd_jet          *jet;        // (nslots)
    double          *force;      // (channels of all loads)
    int             *force_at;   // (nloads) first channel
    double          *xi;         // (nwheels) coordinates of contacts
    kd_wheel_spread *spread;     // (nwheels) what carries, where contact is quasi-elastic
    kd_touch_at     *touch;      // (ntouches) where surfaces touch
    kd_rotation_at  *rotation;   // (nrotations)
    kd_touch_places *touched;    // (2 ntouches) at the end of the step that was looked at last ..
    kd_touch_pass   *passing;    // (2 ntouches) how surfaces move at the ends of a step, unseen_touch.c
    double           t_touched, t_passing; // .. its time; end of the step that passing belongs to
    int              leapt;                // 1 + the one whose place leapt in this step; 0: none
    double          *b;                    // (nr)
    // derivative stage
    kd_change        *change;     // columns of all pairs
    int              *change_at;  // (npairs)
    int               ngradients; // 0: G is not listed
    kd_gradient      *gradients;  // (ngradients) G as a list, where all rows are linear
    double           *small;      // (max_jacobian)
    kd_wrench        *pair_load;  // (npairs) sum of loads along measures at frozen force
    kd_matrix_values  residual_p, residual_v, residual_r, G, H, gI_p, gII_p, gII_v, h_p, hI_p, hI_v, b_p, b_v, b_r, b_w;
    kd_matrix_values  g_p, g_s, c_p, c_s, gI_s, gII_s, residual_s, residual_lambda;
    kd_matrix_values  residual_w, d_p, d_v, d_r, d_lambda, d_w;
    kd_matrix_values  Z, Z_p;
    bool              recording;                // a run that finds the patterns
    kd_part           part;                     // that the matrices hold
    kd_vec3          *frozen_N, *frozen_F;      // changes of the loads of pairs at frozen forces, by columns
    kd_jet           *kept_jet;                 // (nslots)
    double           *slope;                    // ds/dq of all measures, along the steps of their paths
    int              *slope_at;                 // (nmeasures + 1)
    double           *tree_p, *tree_v, *tree_M; // in the pattern of the tree
    kd_matrix_values  joint_p, joint_v;         // implicit.c
    kd_implicit_body *implicit;                 // NULL: not reserved
    kd_stiff_part     stiff;
    kd_stiff_states   stiff_states;
    kd_breaks         breaks;
    kd_enclosure      enclosure;
    kd_unseen_work    unseen;
    // factor of the accelerations' system
    double              *kkt_L, *kkt_D, *kkt_y, *kkt_b, *kkt_zero;
    int                 *kkt_row, *kkt_mark, *kkt_pattern, *kkt_filled;
    double              *kkt_values; // with pivoting: of all of K
    struct kd_sparse_lu *kkt_lu;
    struct kd_twin      *twin; // parameters.c: where functions are differentiated by parameters; NULL: not yet
    // stamps of what is current
    kd_counts     placed, moved_to, accelerated, turned; // up to where the stages and the columns of the paths are
    unsigned long time_stamp, position_stamp, velocity_stamp, acceleration_stamp, link_acceleration_stamp, load_stamp,
        tau_stamp, derivative_stamp, second_stamp, axes_stamp, G_stamp, Z_stamp, Z_p_stamp;
} kd_work;

void kd_work_archive(void *work, kd_archive *a); // archive.c: what the next answers depend on

// topology.c: tree, links, design coordinates
kd_status kd_system_topology(kd_system *s) KD_NODISCARD;
void      kd_system_place_links(kd_system *s);               // joints, inertias, design position
int       kd_edge_dof(const kd_system *s, int joint, int i); // dof of coordinate i of a joint of the tree; -1: none
void      kd_anchor_in_link(const kd_system *s, const kd_anchor *a, kd_vec3 *r, kd_mat3 *R); // its frame in its link

// parameters.c
kd_status kd_system_prepare_parameters(kd_system *s) KD_NODISCARD; // when all is made
void      kd_work_renew(kd_work *w); // what was found for other values of the parameters is forgotten
kd_eval   kd_work_by_parameters(kd_work *w, const kd_point *x, kd_fn fn, double *out); // (rows x ntheta)
void      kd_twin_destroy(struct kd_twin *twin);                                       // NULL is fine

// build.c: pairs, measures, slots
int  kd_system_pair(kd_system *s, const kd_anchor *from, const kd_anchor *to); // < 0: out of memory
int  kd_system_measure(kd_system *s, const kd_measure *measure);
int  kd_system_slot(kd_system *s, kd_slot_kind kind, int index, int level);
int  kd_system_joint_pair(kd_system *s, int joint);
int  kd_system_joint_coordinate(kd_system *s, int joint, int i); // measure of coordinate i
int  kd_system_force_measure(kd_system *s, int force);           // length, angle or coordinate that a force acts along
int  kd_system_force_state(const kd_system *s, int force);       // first place in r of its inner states
int  kd_system_body_pair(kd_system *s, int body);
int  kd_system_centre_pair(kd_system *s, int body);
void kd_system_place_pair(kd_system *s, int i);            // its frames in their links
int  kd_system_number(kd_system *s, const double *number); // parameters.c: a number of an element as kd_local.slot
int  kd_system_frame_pair(kd_system *s, int frame);
int  kd_system_angle(kd_system *s, int pair, kd_entry sine, kd_entry cosine, bool counted);
// angle a of the turns of a word between the frames of a pair
int kd_system_turn_of_pair(kd_system *s, int pair, const kd_joint_form *f, int a);
// the coordinate of a joint by tables that is no branch of the tree (table_rows.c); -1: not known from its frames
int      kd_system_table_coordinate(kd_system *s, int joint, int pair);
int      kd_system_keep(kd_system *s, kd_expr *expr); // the system releases it; < 0: out of memory
kd_row  *kd_system_new_row(kd_system *s, bool nonholonomic);
kd_load *kd_system_new_load(kd_system *s);
void    *kd_grow(void *array, int count, int *capacity,
                 size_t size); // room for one more; NULL: out of memory, array stays

// symbols.c: names in expressions
enum { KD_FIRST_NUMBER = -2 }; // of kd_system_number, and down
// In front of names of elements that stand beside texts of users: nothing of theirs begins so
#define KD_OWN "pi."
typedef struct kd_local { // a name that only one element knows
    const char *name;
    int         slot; // or kd_system_number; -1: out of memory
} kd_local;
// Compile text of an element; locals may be NULL. On failure message says where and why.
kd_status kd_system_compile(kd_system *s, const char *text, const char *element, const kd_source *source, bool sensor,
                            const kd_local *local, int nlocal, kd_expr **expr, char *message, size_t size) KD_NODISCARD;

// flexible.c: links beyond those of the bodies, -1: out of memory; one of them: node 0: the link that deforms itself
int       kd_system_count_wide(kd_system *s);
bool      kd_system_leave_node(kd_system       *s,
                               const kd_anchor *a); // one stands there no more; answers whether nobody does now
kd_status kd_system_make_wide(kd_system *s, int link, int body, int node) KD_NODISCARD;
bool      kd_link_is_body(const kd_system *s, int link);              // topology.c
bool      kd_anchor_moves(const kd_model *model, const kd_anchor *a); // by the modes of its body
int       kd_system_amplitude(kd_system *s, int body, int mode);      // its measure; < 0: out of memory
double    kd_flexible_slowest(const struct kd_flexible_body *f, kd_arena *scratch);
kd_status kd_flexible_deflection(kd_system *s, int body) KD_NODISCARD;
double    kd_system_mode_unit(const kd_system *s, int body, int mode, double length); // natural size of an amplitude

kd_status      kd_system_rows(kd_system *s, char *message, size_t size) KD_NODISCARD; // rows.c
void           kd_load_set(kd_load *load);                                            // element/force.c: the same
int            kd_force_structure(const kd_force_def *def);      // element/force.c: must not change
void           kd_across_set(kd_system *s);                      // element/joint_friction.c: numbers
void           kd_system_set_blocks(kd_system *s);               // discrete.c: the same
void           kd_system_set_laws(kd_system *s);                 // unseen_laws.c: the same
kd_status      kd_system_set_lengths(kd_system *s) KD_NODISCARD; // system.c: of the start position
kd_status      kd_system_loads(kd_system *s, char *message, size_t size) KD_NODISCARD; // element/force.c
kd_status      kd_system_list_fours(kd_system *s) KD_NODISCARD;                        // fours.c: loads that are alike
kd_status      kd_system_modes(kd_system *s) KD_NODISCARD; // element/modes.c: loads of the modes of flexible bodies
void           kd_modal_forces(const kd_modal *modal, const double *x, const double *dx, double *force);
const kd_load *kd_system_load_of(const kd_system *s, int force); // element/force.c: of a force element
// element/unit.c: outputs of a block without period, 0 before its start
kd_eval   kd_unit_outputs(const kd_load *load, const double *x, kd_work *w, const double **y);
kd_eval   kd_unit_slopes(const kd_load *load, const double *x, kd_work *w, const double **J); // (x', y) by (x, u)
kd_eval   kd_unit_switching(const kd_load *load, kd_work *w, double *out);
kd_eval   kd_unit_event(const kd_load *load, kd_work *w, kd_jump *jump);
kd_eval   kd_unit_completed(const kd_load *load, kd_work *w, bool *event);
void      kd_unit_start(const kd_load *load, kd_work *w, double *r); // states at the start
void      kd_across_gradient(const kd_across *a, const kd_system *s, const double *lambda, double *out);
double    kd_across_value(const kd_across *a, const kd_system *s, const double *lambda);
kd_status kd_system_order_controllers(kd_system *s) KD_NODISCARD;                     // order.c: after their laws
kd_status kd_system_order_signals(kd_system *s) KD_NODISCARD;                         // order.c: after the sensors
kd_status kd_system_names(kd_system *s) KD_NODISCARD;                                 // names.c
kd_status kd_system_plan(kd_system *s) KD_NODISCARD;                                  // derivatives.c: patterns
kd_status kd_system_equations(kd_system *s, char *message, size_t size) KD_NODISCARD; // equations.c
void      kd_system_define_kinematics(const kd_system *s, kd_eom_def *def);           // coordinates.c
void      kd_system_define_derivatives(const kd_system *s, kd_eom_def *def);          // derivative_blocks.c
kd_status kd_system_fill_lengths(kd_system *s) KD_NODISCARD;                          // start.c
kd_status kd_system_relax(kd_system *s, const kd_state *x) KD_NODISCARD;              // start.c
// system.c: the system in joint coordinates that finds start values and redundant rows
kd_status kd_system_create_for_start(const kd_model *model, kd_system **system, char *message,
                                     size_t size) KD_NODISCARD;
void      kd_system_forget_start(kd_system *s);
kd_status kd_system_keep_room(kd_system *s) KD_NODISCARD; // so that changes of parameters need no memory
void      kd_start_room_destroy(struct kd_start_room *room);
kd_eval   kd_system_input_values(double t, void *context, double *u, double *du, double *ddu);
enum { KD_INPUT_WORK = 4096 }; // doubles of workspace of an input

// evaluate.c: evaluation by stages; each brings everything up to its stage
kd_work *kd_work_create(const kd_system *s);
void     kd_work_destroy(kd_work *w);
void     kd_work_position(kd_work *w, const kd_point *x, kd_extent extent);
void     kd_work_position_of_rows(kd_work *w, const kd_point *x); // the same for values of rows alone
void     kd_work_time(kd_work *w, const kd_point *x);             // prescribed dofs, what depends on t and u alone
void     kd_work_velocity(kd_work *w, const kd_point *x, kd_extent extent);
void     kd_work_acceleration(kd_work *w, const kd_point *x, kd_extent extent);
void     kd_work_accelerate_links(kd_work *w, const kd_point *x);
double   kd_work_acceleration_of(const kd_work *w, int measure); // where its pair has one
void     kd_work_dofs(kd_work *w, const kd_point *x);  // values and rates of coordinates of joints, without the rest
kd_eval  kd_work_loads(kd_work *w, const kd_point *x); // forces of all loads, rates of all states
kd_eval  kd_work_eval_loads(kd_work *w); // fours.c: the same of all but modes, at variables that are filled in
kd_eval  kd_work_energies(const kd_point *x, void *context, kd_energies *out); // energies.c
kd_eval  kd_work_content(const kd_point *x, void *context, double *amount, double *slope);
kd_eval  kd_work_outputs(const kd_point *x, void *context, double *out); // sensors.c
kd_eval  kd_work_mass(const kd_point *x, void *context, double *out);
void     kd_work_norms_by_position(kd_work *w, const kd_point *x, double *out); // coordinates.c
// (nv) derivatives of an expression along increments and by velocities, as rows of (rows x nv)
void kd_work_row_gradient(kd_work *w, const kd_point *x, const kd_row *row, int rows, double *by_p, double *by_v);

// ---- invariants.c ---------------------------------------------------------------------------------------------------
kd_status kd_system_invariants(kd_system *s, kd_row_builder *b) KD_NODISCARD;
// Is the energy of the model kept by its elements? KD_ERR_MODEL: message names one that does not
kd_status   kd_system_check_invariants(const kd_system *s, char *message, size_t size) KD_NODISCARD;
kd_eval     kd_work_conditions(const kd_point *x, void *context, double *out); // of the start
const char *kd_work_condition_name(int i, void *context);
kd_eval     kd_work_invariants(const kd_point *x, void *context, double *out);
kd_eval     kd_work_invariants_by(kd_work *w, const kd_point *x, kd_var var, double *out);
bool        kd_work_cut_invariants(kd_work *w);

// Other z in the variables of places first to end - 1, until forgotten. false: nobody reads them
bool kd_work_show(kd_work *w, const kd_point *x, const double *z, int first, int end);
void kd_work_forget(kd_work *w); // nothing is up to date
// sensors.c: variables of accelerations, forces, reactions, energies, as far as somebody reads them; then sensors into
// out and their variables
kd_status kd_system_list_sensed(kd_system *s) KD_NODISCARD;
kd_eval   kd_work_forces(kd_work *w, const kd_point *x);
void      kd_work_reason(const kd_point *x, void *context, char *text, size_t size); // reason.c, for kd_eom_def.reason
struct kd_carried_loads;
// What a flexible body carries, at an evaluation point with accelerations: flexible_loads.c
kd_eval kd_system_flexible_loads(const kd_system *s, kd_eom_data *data, int body, struct kd_carried_loads *out);
bool    kd_flexible_caution(kd_work *w, const kd_point *x, char *text,
                            size_t size); // of flexible bodies, flexible_caution.c
void    kd_work_caution(const kd_point *x, void *context, char *text, size_t size); // the same, for kd_eom_def.caution
void    kd_work_notice(const kd_point *x, void *context, char *text, size_t size);  // the same, for kd_eom_def.notice
// blame.c, for kd_eom_def.jumps and kd_eom_def.feeds
void   kd_work_jumps(const kd_point *x0, const kd_point *x1, void *context, char *text, size_t size);
double kd_work_feeds(const kd_point *x, void *context, char *text, size_t size);
void   kd_work_sensors(kd_work *w, double *out);
// forces on links and dofs: clear, sum up by pair, spread to the links
void      kd_work_clear_forces(kd_work *w);
void      kd_work_apply_loads(kd_work *w);
kd_wrench kd_load_wrench(const kd_work *w, const kd_load *load); // of all channels, on B of their pair
void      kd_work_apply_rows(kd_work *w, const double *lambda, const double *mu);
void      kd_work_spread_forces(kd_work *w);
kd_eval   kd_work_residual(kd_work *w, const kd_point *x);           // w->tau, all dofs
bool      kd_work_explicit(kd_work *w, const kd_point *x, int *bad); // w->ddx, after kd_work_loads

// breaks.c
kd_status kd_system_list_breaks(kd_system *s) KD_NODISCARD;
bool      kd_breaks_create(const kd_system *s, kd_arena *arena, kd_breaks *breaks);
double    kd_work_next_break(kd_work *w, double t); // the next time > t at which an expression is not smooth

// enclosure.c: ranges of all variables into w->enclosure.slot, for kd_expr_bounds with w->breaks.work; the points are
// at the acceleration stage, their stamps do not matter, and the work object forgets what it knew of its own
bool    kd_enclosure_create(const kd_system *s, kd_arena *arena, kd_enclosure *e);
kd_eval kd_work_enclose(kd_work *w, const kd_point *x0, const kd_point *x1, kd_extent extent);
kd_eval kd_work_switch_bounds(const kd_point *x0, const kd_point *x1, void *context, double *lower, double *upper);

void kd_range_outputs(kd_work *w, kd_interval *range); // of controllers, from w->enclosure.state and what they read
void kd_range_output(kd_work *w, int load, kd_interval *range); // of one of them

// unseen.c and the files beside it
kd_status kd_system_list_laws(kd_system *s) KD_NODISCARD;
bool      kd_unseen_cut(const kd_system *s, kd_arena *arena, kd_unseen_work *u);
kd_eval kd_work_unseen(const kd_point *x0, const kd_point *x1, const kd_step_seen *seen, void *context, kd_hidden *out);
const char *kd_system_unsearched(int i, void *context);
kd_interval kd_law_bounds(const kd_law *law, const kd_interval *x, kd_work *w); // of a law without expression
// Range of a variable between the parts a and b of the step
kd_interval kd_unseen_range(kd_work *w, const kd_point *x1, int slot, double a, double b);
// How fast joints turn on the way from one body of a pair to the other, in sum [rad/s]; v0, v1: velocities of which the faster
// ones count. The work object is at a place near by
double kd_turning(const kd_work *w, int pair, const double *v0, const double *v1);
// Has a term with this range no effect that matters, in a step that is longer by a factor?
bool kd_unseen_is_small(const kd_work *w, int law, int term, const kd_step_seen *seen, kd_interval range,
                        double longer);
// unseen_box.c
bool kd_box_holds(kd_work *w, int law, const kd_point *x1, double h); // does the motion between both ends stay in it?
// Around the motion between both ends, wider by a number of steps of length h; false: there is none
bool   kd_box_make(kd_work *w, int law, const kd_point *x1, double h, const kd_step_seen *seen);
bool   kd_box_rests(const kd_work *w, int law, double h); // is the end of the step in it, and was that foreseen?
double kd_box_until(const kd_work *w, int law, double h); // up to here the motion will stay in it; -infinity: not sure
// Up to here, at most, n functions of times and inputs (NULL: none) are no more bent than those; *reach: length of the
// next trial, 0: h
double kd_box_smooth(kd_work *w, int n, const kd_expr *(*motion)(const kd_system *s, int i), double h, double *reach);

void kd_work_apply(kd_work *w, int measure, double force); // rows.c: a force along a measure, summed up by pair

// implicit.c: Newton matrices along the tree, for kd_eom_def.implicit_*
bool    kd_system_acts_inside_joints(const kd_system *s);
bool    kd_work_implicit_reserve(void *context);
kd_eval kd_work_implicit_set(const kd_point *x, void *context);
bool    kd_work_implicit_pair(void *context, int k);
bool    kd_work_implicit_factor(void *context, double re, double im);
void    kd_work_implicit_solve(void *context, double *re, double *im);

// derivatives.c
// residual_p and residual_v of the loads alone into joint_p, joint_v
kd_eval kd_work_joint_derivatives(kd_work *w, const kd_point *x);
bool    kd_work_matrices(kd_work *w); // room for the values; false: out of memory
// All matrices but those of gII and hI at the acceleration stage; KD_PART_STIFF: those of the residual by the stiff
// loads only.
kd_eval                 kd_work_derivatives(kd_work *w, const kd_point *x, kd_part part);
void                    kd_work_second_derivatives(kd_work *w, const kd_point *x); // those of gII and hI
const kd_matrix_values *kd_work_matrix(kd_work *w, const kd_matrix_plan *plan);
kd_eval                 kd_work_multipliers(kd_work *w, const kd_point *x); // residual_lambda alone
kd_eval                 kd_work_auxiliary(kd_work *w, const kd_point *x);   // by w, and d by lambda, alone
void kd_work_axes(kd_work *w, const kd_point *x, kd_extent extent);         // columns of pairs, slopes of measures
void kd_work_slope(kd_work *w, int measure);                                // of one, from the columns of its pair
void kd_work_G(kd_work *w, const kd_point *x); // G and H only, position (H: velocity) stage

// stiff_part.c: at the velocity stage (forces of multipliers: acceleration stage) into w->stiff.p, w->stiff.v
kd_eval kd_work_stiff(kd_work *w, const kd_point *x);
// by_p residual_p + by_v residual_v of them in the pattern of residual_p, without changes of directions along paths;
// paths part, part + parts, ... are renewed, the others as they were when they were
kd_eval kd_work_stiff_sum(kd_work *w, const kd_point *x, double by_p, double by_v, int part, int parts, double *values);
kd_eval kd_work_mass_and_stiff(kd_work *w, const kd_point *x, double by_p, double by_v, int part, int parts,
                               double *values); // the same with M, in its pattern

// stiff_states.c: at the same stage into w->stiff_states
kd_eval kd_work_stiff_states(kd_work *w, const kd_point *x);

// leaps.c: does the place of a kept contact leap in a step? Told by w->leapt
bool kd_work_leaps(kd_work *w, const kd_point *x0, const kd_point *x1, bool follows); // follows: the last look
bool kd_system_keeps_surfaces(const kd_system *s);

// unseen_touch.c
bool kd_system_has_passing(const kd_system *s); // surfaces that are not kept in contact
// Surfaces that may have met between the ends, apart at both: the step should be shorter. How long behind it nothing can meet
double kd_unseen_touches(kd_work *w, const kd_point *x0, const kd_point *x1, const kd_step_seen *seen, kd_hidden *out);

// influence.c
const char *kd_load_kind(const kd_load *load); // its type in model files
// A state as a point of its own, with u (3 nu): inputs and their derivatives.
kd_point kd_point_of(const kd_state *x, const double *u, int nu);

// units.c: natural sizes of increments (nv), of positions (np); NULL: no memory. Natural time [s]
double *kd_system_units(kd_system *s);
double *kd_system_position_units(kd_system *s);
void    kd_system_set_units(const kd_system *s, double *unit, double *position_unit);
double  kd_system_time(const kd_system *s);
double  kd_system_length(const kd_system *s); // [m] of shifts
double  kd_system_dof_unit(const kd_system *s, int dof, double length);

// kinematic_matrices.c
kd_quat kd_quaternion_rate(kd_quat q, kd_quat omega);         // q omega / 2
kd_quat kd_unit_quaternion(int k);                            // e_k
void    kd_work_Z(kd_work *w, const kd_point *x);             // position stage
void    kd_work_Z_p(kd_work *w, const kd_point *x);           // velocity stage
void    kd_work_add_kinematics(kd_work *w, bool by_position); // the additions to Z or Z_p

#endif
