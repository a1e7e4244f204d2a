// kardan/equilibrium.h: static equilibrium (S1 Eq. 3), nominal forces and trim (S1 Eq. 4).
// Method: docs/methods/equilibrium.md   Guide: docs/guide/equilibrium.md
#ifndef KARDAN_EQUILIBRIUM_H
#define KARDAN_EQUILIBRIUM_H

#include <kardan/eom.h>

KD_EXTERN_C_BEGIN

typedef enum kd_stability {
    KD_STABILITY_UNKNOWN,
    KD_STABLE,      // forces drive it back from every small displacement that the constraints allow
    KD_INDIFFERENT, // from some displacements nothing drives it back, and nothing away
    KD_UNSTABLE,
} kd_stability;

// What became of the velocities of the start
typedef enum kd_start_motion {
    KD_MOTION_NONE,     // it was at rest
    KD_MOTION_DROPPED,  // set to 0
    KD_MOTION_STEADY,   // what no force opposes goes on (the rest is set to 0), and forces balance in this motion
    KD_MOTION_UNSTEADY, // the same, but forces do not balance in this motion: positions are those of rest
    KD_MOTION_WHOLE,    // there is no rest; forces balance at the velocities of the start
} kd_start_motion;

typedef struct kd_equilibrium_options {
    double   tolerance;      // largest force that may remain, as a share of the force scale          default 1e-9
    int      max_iterations; // of each attempt                                                       default 200
    int      starts;         // further attempts, from positions around the start                     default 4
    double   spread;         // size of these moves: sizes of the bodies, [rad]                       default 0.2
    bool     no_dynamics;    // Newton's method only, without damped dynamics                         default false
    bool     stable;         // an unstable equilibrium will not do                                   default false
    bool     keep_motion; // of a start that moves, see kd_start_motion                                  default false
    unsigned cookie;      // set by kd_equilibrium_options_default
} kd_equilibrium_options;
KD_API kd_equilibrium_options kd_equilibrium_options_default(void);

typedef struct kd_equilibrium_result {
    kd_stability stability;
    int          free_directions; // displacements that the constraints allow and no force opposes
    double       force_scale;     // [N], [N m] of residual_row: forces are compared with it, by their work
    double       residual;        // largest force that remains, without the constraint forces [N], [N m]
    int          residual_row;    // its velocity
    double       constraint;      // largest violation of g that remains
    int          constraint_row;
    kd_fn  worst; // the equation that is missed most, relative to its scale: KD_RESIDUAL, KD_B, KD_D, KD_C, KD_G, ...
    int    worst_row;
    double worst_value;
    double moved; // largest increment from the start [m], [rad]
    int    moved_row;
    int    iterations, attempts;
    bool   by_dynamics;      // Newton's method alone did not find it
    int    kept;             // combinations of inner states that keep what they hold at the start (oil, air, integrals)
    char   kept_states[400]; // their names, "a, b + c"
    kd_start_motion motion;
    double          speed; // largest velocity that goes on, in size
    int             speed_row;
    double          dropped; // largest change of a velocity
    int             dropped_row;
} kd_equilibrium_result;

// Static equilibrium at the time x->t: v = 0, a = 0, inputs held; p, r, w, s, lambda, mu are sought, the position from
// that of x on. What nothing determines at rest, but closed elements keep on every way there (the oil of a cylinder,
// the air of a bellows, states whose rate vanishes at rest), is that of x. Constraints that are redundant and
// directions in which nothing acts are allowed: then the smallest forces and moves are taken. KD_ERR_NO_EQUILIBRIUM:
// none found; x is unchanged, message names the force that remains, result (may be NULL) describes the best attempt.
// KD_ERR_UNSUPPORTED: too large for full matrices. With keep_motion the part of the start's velocities that no force
// opposes (rigid motions, spinning wheels: the projection of v by the mass matrix on the free directions) goes on, in
// the balance of forces of this motion.
KD_API kd_status kd_equilibrium(const kd_eom *eom, const kd_inputs *inputs, const kd_equilibrium_options *opt,
                                kd_state *x, kd_equilibrium_result *result, char *message, size_t size) KD_NODISCARD;

// One quantity that trim may change.
typedef struct kd_adjustable {
    kd_var kind;  // KD_U, KD_THETA, or KD_VAR_COUNT: a parameter of the family
    int    index; // of the input or parameter
    double value; // first guess, then the result
} kd_adjustable;

// Equations as a function of n parameters that only their maker knows, such as those of a model file. make answers the
// equations for other values, with the same sizes, and their inputs; the last ones that it made may go then, the ones
// that trim was called with stay.
typedef struct kd_family {
    int n;
    kd_status (*make)(const double *value, void *context, const kd_eom **eom, const kd_inputs **inputs);
    void *context;
} kd_family;

// A steady turn about the vertical axis z: velocities v .. v + 2 of a point along fixed axes, v + 3 .. v + 5 angular
// velocity in the axes of a body whose attitude is the unit quaternion p + 3 .. p + 6 (the joint "free"). They follow
// from the rate: angular velocity rate z, accelerations rate z x v; all others are given as for a straight motion.
// planar: velocities v, v + 1 along fixed axes and v + 2 about the axis of the joint "planar", coordinates p .. p + 2.
typedef struct kd_turn {
    int    v, p;
    double rate; // [rad/s], to the left; negative: to the right
    bool   planar;
} kd_turn;

// The turn of the first body that moves freely, or else in a plane (a model in joint coordinates); false: there is none.
KD_API bool kd_turn_find(const kd_eom *eom, double rate, kd_turn *turn);
// What is free in it: all coordinates but the place, and the velocities that are not zero in x, outside of the body's own. (nv) each.
KD_API void kd_turn_release(const kd_eom *eom, const kd_turn *turn, const kd_state *x, bool *free_p, bool *free_v);

typedef struct kd_trim_options {
    double           tolerance;      // as for the equilibrium                                      default 1e-9
    int              max_iterations; //                                                             default 200
    const bool      *free_p;         // (nv) increments that may change                             default none
    const bool      *free_v;         // (nv) velocities that may change, to meet 0 = gI and 0 = h   default none
    const kd_turn   *turn;           // NULL: a motion without turn
    const kd_family *family;         // NULL: no parameters of kind KD_VAR_COUNT
    unsigned         cookie;         // set by kd_trim_options_default
} kd_trim_options;
KD_API kd_trim_options kd_trim_options_default(void);

// Nominal forces and trim: p, v and a of x are held, but for the free ones, and inputs or parameters are adjusted until
// all forces balance: v = 0, a = 0 at rest; v, a = 0 in a steady motion; 0 = b. If they are not determined, the
// smallest change of the adjusted quantities, relative to their size (at least 1), is taken. On failure
// (KD_ERR_NO_EQUILIBRIUM) x and adjust are unchanged. Inputs that are not adjusted are those of the time x->t, with
// zero rates.
KD_API kd_status kd_trim(const kd_eom *eom, const kd_inputs *inputs, const kd_trim_options *opt, kd_state *x,
                         kd_adjustable *adjust, int nadjust, kd_equilibrium_result *result, char *message,
                         size_t size) KD_NODISCARD;

KD_EXTERN_C_END
#endif
