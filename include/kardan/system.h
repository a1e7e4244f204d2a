// kardan/system.h: from a model to its equations of motion, in joint or in Cartesian coordinates.
//
// Joint coordinates: a spanning tree of the joint graph carries the coordinates, the joints left over close loops and
// become constraints. Cartesian coordinates: every body has its own six degrees of freedom (position of the centre of
// mass, Euler parameters), all joints are constraints (S2 Eq. 1 to 5).  Method: docs/methods/formalism.md
#ifndef KARDAN_SYSTEM_H
#define KARDAN_SYSTEM_H

#include <kardan/eom.h>
#include <kardan/query.h>

KD_EXTERN_C_BEGIN

typedef enum kd_coordinates { KD_JOINT, KD_CARTESIAN } kd_coordinates;

typedef struct kd_system_options {
    kd_coordinates coordinates;    // default KD_JOINT
    bool           keep_redundant; // leave redundant constraint rows in the equations        default false
    // (nwatch) paths that become outputs behind the sensors, each under its own name, where they are no state, input or
    // sensor anyway: channels of results, without a sensor in the model. Words that are no paths (without a point, or with
    // a space) are names of other channels and passed over                                  default none
    const char *const *watch;
    int                nwatch;
    // The last nplain of these are only shown: Cardan angles among them stay between -pi and pi. Others are counted over full
    // turns, which makes coordinates of them, with the singular positions that such angles have   default 0
    int nplain;
    // Blocks that are foreign code (fmu, library)
    bool     fmu_in_process; // FMUs are trusted: no process of their own                        default false
    double   fmu_timeout;    // [s] for one call of an FMU in its process, > 0                   default 10
    bool     libraries;      // shared objects may be loaded, which can do whatever their user may  default false
    unsigned cookie;         // set by kd_system_options_default
} kd_system_options;
KD_API kd_system_options kd_system_options_default(void);
// Coordinates as the model says under `run`, and its plots are watched.
KD_API kd_system_options kd_system_options_of(const kd_model *model);

// The equations of motion of a model with everything that belongs to them.
typedef struct kd_system kd_system;

// The model must be finished and outlive the system. *opt is copied, paths too; NULL: coordinates as the model says under
// `run`. message (size bytes, may be NULL): why it failed, or news; a path to be watched that is none of the model is
// KD_ERR_ARGUMENT.
KD_API kd_status        kd_system_create(const kd_model *model, const kd_system_options *opt, kd_system **system,
                                         char *message, size_t size) KD_NODISCARD;
KD_API void             kd_system_destroy(kd_system *system); // NULL is fine
KD_API const kd_eom    *kd_system_eom(const kd_system *system);
KD_API const kd_inputs *kd_system_inputs(const kd_system *system); // inputs by their expressions
KD_API const kd_model  *kd_system_model(const kd_system *system);
// The SI unit of component i of p, v, r, w, s, y, of a multiplier (KD_NAME_P ..; kd_eom_name has its name), as the joint,
// element or row that it belongs to says. "": none, or not known
KD_API const char *kd_system_unit(const kd_system *system, kd_kind kind, int i);
// Path of the output behind all sensors and i others; NULL: there are not more.
KD_API const char *kd_system_watched(const kd_system *system, int i);
// Start: joint coordinates and velocities as the model gives them, loops assembled from there with the held ones fixed
// (KD_CORRECTED), the same motion in either coordinate set.
KD_API kd_status kd_system_start(const kd_system *system, kd_state *x, char *message, size_t size) KD_NODISCARD;

// The tree that carries the bodies: the joint through which a body hangs on its parent, KD_GROUND or another body. All
// other joints close loops. joint -1: it floats. In Cartesian coordinates: the tree by which start values are found.
typedef struct kd_carrier {
    int  parent, joint;
    bool reversed; // the body is `from` of that joint
} kd_carrier;
KD_API kd_carrier kd_system_carrier(const kd_system *system, int body);

// ---- parameters -----------------------------------------------------------------------------------------------------
// A system of a model with parameters has its own copy of the model's numbers (kd_system_model answers that copy), so
// that systems in several threads, also of one model, have their own values.
//
// theta (kd_model_parameters): values of the independent parameters; those of computed ones are not looked at. Numbers
// and expressions of the model follow, as if it had been read with these values, without reading or searching; nothing
// is allocated, but where lengths are those of the start position (springs without length). Refused is what would
// change counts, states or rows of the equations (KD_ERR_MODEL, message names parameter and element), as is what the
// reader would refuse; then all is as before. Rows that were left out as redundant are looked for again (which allocates).
//
// Meanwhile no other thread may use the system, its equations, or anything made of them. Evaluation points
// (kd_eom_data) see the new values from their next kd_eom_at_time on; simulations and steppers must be made or
// restarted with a consistent state (kd_system_start).  Guide: docs/guide/parameters.md
KD_API kd_status     kd_system_set_parameters(kd_system *system, const double *theta, char *message,
                                              size_t size) KD_NODISCARD;
KD_API const double *kd_system_parameters(const kd_system *system); // their values now; NULL: there are none
// The derivative of a function of the equations (not KD_MASS) by independent parameter i at the point of d, which is at
// the acceleration stage: out (rows). By changes of the parameter in a second system, which d makes at the first request
// (that one allocates) and keeps: this system is not changed. Inputs are held. about may be NULL. KD_ERR_MODEL: the
// parameter cannot be changed (a count); KD_ERR_ARGUMENT: it follows from others. All parameters together, without
// about: kd_eom_derivatives by KD_THETA, in the order of kd_model_parameters; columns of those that follow from others,
// or cannot be changed, are 0. Method: docs/methods/parameters.md
typedef struct kd_parameter_slope {
    bool exact;   // the function is a polynomial of low degree in the numbers of the model that follow from the
                  // parameter by expressions, whose derivatives are exact: error is a bound of rounding
    double error; // else an estimate, of differences with short steps; the answer is better
} kd_parameter_slope;
KD_API kd_status kd_system_by_parameter(const kd_system *system, kd_eom_data *d, kd_fn fn, int i, double *out,
                                        kd_parameter_slope *about) KD_NODISCARD;

// How far the start that the model gives is from fitting together, before assembly: the largest residual of the
// constraints that close loops [m], [rad], and its constraint. 0 and "" without loops.
KD_API kd_status kd_system_closure(const kd_system *system, double *error, char *name, size_t size) KD_NODISCARD;

// Where the bodies are. pose (7 per moving body, in the order of the model): position of the body's frame in the world
// and its unit quaternion, scalar first, >= 0. The system must outlive it; one per thread.
// kd_poses_at does not allocate.
typedef struct kd_poses kd_poses;
KD_API kd_status        kd_poses_create(const kd_system *system, kd_poses **poses) KD_NODISCARD;
KD_API kd_eval          kd_poses_at(kd_poses *poses, const kd_state *x, double *pose) KD_NODISCARD;
// How they move: velocity of the frame and angular velocity in the axes of the world, 6 per moving body.
KD_API kd_eval kd_poses_rates(kd_poses *poses, const kd_state *x, double *rate) KD_NODISCARD;
KD_API void    kd_poses_destroy(kd_poses *poses); // NULL is fine
// The same at an evaluation point of the system's equations (kd_eom_at_state) at the position stage, rates at the
// velocity stage. KD_EVAL_STOP: the point is of other equations, or not there yet.
KD_API kd_eval kd_system_poses(const kd_system *system, kd_eom_data *data, double *pose) KD_NODISCARD;
KD_API kd_eval kd_system_rates(const kd_system *system, kd_eom_data *data, double *rate) KD_NODISCARD;

// What the assembly found.
typedef struct kd_system_info {
    int  nbodies, njoints, nloops; // moving bodies; joints; loops closed by cut joints or constraints
    int  dof;                      // degrees of freedom at the generic position
    int  nconstraints;             // rows kept
    int  nredundant;               // rows left out, or to be left out, because they follow from the others everywhere
    int  nsingular;                // further rows that are dependent at the start position only (singular pose)
    bool assembled;                // the loops could be closed at the start position
} kd_system_info;
KD_API kd_system_info kd_system_info_of(const kd_system *system);
// In words, one line each: tree, cut joints, degrees of freedom, redundant rows by joint and direction, reactions that
// are not unique. Returns the number of characters that the whole text has.
KD_API size_t kd_system_describe(const kd_system *system, char *text, size_t size);

// How fast a force alone would make a velocity answer, by its stiffness and damping at a state.
typedef struct kd_influence {
    const char *name;      // of the force element
    const char *kind;      // its type in model files: "tsda"; "user force"
    double      frequency; // [rad/s] sqrt(stiffness / mass)
    double      rate;      // [1/s] damping / mass
} kd_influence;
// The force elements that act on velocity i, fastest first, at most size of them; returns their number. Allocates; 0
// for models with too many bodies for matrices.
KD_API int kd_system_influences(const kd_system *system, const kd_state *x, int velocity, kd_influence *list, int size);

// What belongs to the stiff part of the Jacobian (KD_PART_STIFF, S4 section 1): force elements, user forces, creep
// forces of wheels on rails and inner states, in this order: states, forces, user forces, wheels. At first as the model
// says: key `stiff`, or what is usual for the kind (docs/guide/models.md). Set before evaluation points and steppers
// are made.
KD_API int         kd_system_loads_count(const kd_system *system);
KD_API const char *kd_system_load_name(const kd_system *system, int i);
KD_API const char *kd_system_load_kind(const kd_system *system, int i); // "tsda", "state", "user force", "wheel_rail"
KD_API bool        kd_system_stiff(const kd_system *system, int i);
KD_API void        kd_system_set_stiff(kd_system *system, int i, bool stiff);
// How fast a load makes the unconstrained bodies move at a state: with its stiffness k and damping d along its measures
// and the mass m = 1 / (s inv(M) s') that they feel, bounds of sqrt(k/m) and d/m (sums over its measures); an inner
// state has the rate |db/dr|. List of kd_system_loads_count. KD_ERR_UNSUPPORTED: too many bodies for matrices;
// KD_ERR_SINGULAR_MASS. Allocates.
KD_API kd_status kd_system_speeds(const kd_system *system, const kd_state *x, kd_influence *list) KD_NODISCARD;
// Stiff is what is faster than steps of length h resolve: h frequency > bound or h rate > bound. The explicit Euler
// method is stable for h rate <= 2, and lets the swings of an undamped spring grow by exp(pi h frequency) in each
// period. bound <= 0: 0.1.
KD_API kd_status kd_system_choose_stiff(kd_system *system, const kd_state *x, double h, double bound) KD_NODISCARD;

// How much work evaluations are, from the structure of the model alone: links by the kind of their joints, pairs of
// frames, force elements by kind, entries of the matrices; a bound for any state. Functions written in C count 0, a
// node of an expression counts as one operation and one function.
typedef enum kd_work_item {
    KD_WORK_POSITION,    // of all bodies, and of what constraints read
    KD_WORK_VELOCITY,    // the same
    KD_WORK_RESIDUAL,    // forces and inertia forces, beyond the two above
    KD_WORK_MASS,        // M
    KD_WORK_CONSTRAINTS, // g or gI
    KD_WORK_GZ,          // GZ
    KD_WORK_STIFF,       // derivatives of the stiff forces by position and velocity
    KD_WORK_ITEM_COUNT
} kd_work_item;
typedef struct kd_operations {
    const char *name;       // "mass matrix"
    long        operations; // multiplications and additions
    long        functions;  // divisions, roots, sines and the like
} kd_operations;
KD_API kd_operations kd_system_operations(const kd_system *system, kd_work_item item);

KD_EXTERN_C_END
#endif
