// model.h: a model as its definitions, with names resolved to indices by kd_model_finish. What formalisms read.
#ifndef KARDAN_MODEL_MODEL_H
#define KARDAN_MODEL_MODEL_H

#include <kardan/query.h>

#include "core/memory.h"
#include "expr/expr.h"
#include "joint/table.h"
#include "math/space.h"

// Where an element was written; file NULL: built in C.
typedef struct kd_source {
    const char *file;
    int         line, column; // 1-based
    int         subsystem;    // that it is a part of, its number from 1 on; 0: none
} kd_source;

// A place after kd_model_finish: a frame in its body.
typedef struct kd_anchor {
    int     body; // index of the body; -1: ground
    kd_vec3 r;    // origin in the body's frame (ground: in the world)
    kd_mat3 R;    // axes, in the body's axes
    int     node; // interface of a flexible body that it follows, from 1 on; 0: the body's frame
} kd_anchor;

// a number with a name; values of derived ones follow from others
typedef struct kd_parameter {
    const char *name;
    double      value;
    const char *text; // as written; NULL: the number
    kd_source   source;
    bool        used;
    kd_expr    *expr; // of other parameters; NULL: independent
} kd_parameter;

typedef struct kd_body {
    const char *name;
    kd_source   source;
    kd_body_def def;     // mass, centre and inertia filled in
    kd_vec3     r;       // design position of the frame
    kd_mat3     R;       // design orientation
    kd_vec3     centre;  // of mass, body frame
    kd_sym3     inertia; // about the centre of mass, body axes
    int         nmodes;  // of a flexible body
} kd_body;

// a named place
typedef struct kd_frame {
    const char  *name;
    kd_source    source;
    kd_frame_def def;
    kd_anchor    at;
    bool         used;  // something stands on it by name
    bool         lives; // its place depends on parameters
} kd_frame;

// a joint with its frames in both bodies
typedef struct kd_joint {
    const char  *name;
    kd_source    source;
    kd_joint_def def;
    kd_anchor    from, to;
    bool         rubs; // a friction reads its reaction force: it is a constraint in all coordinates

    int            curve[KD_TABLE_COLUMNS]; // by tables; -1: none
    kd_joint_table table;                   // the same as functions, in this direction
} kd_joint;

// what follows from its kind, with its table
static inline kd_joint_form kd_model_joint_form(const kd_joint *j)
{
    kd_joint_form form = kd_joint_form_of(j->def.kind);
    if (form.curved) form.table = &j->table;
    return form;
}

// places are filled in by finish, and so are references to curves
typedef struct kd_constraint {
    const char       *name;
    kd_source         source;
    kd_constraint_def def;
    kd_anchor         from, to;
    kd_anchor         over[KD_MAX_OVER];       // rope: pulleys
    int               curve;                   // point on curve; -1
    int               wheel_curve, rail_curve; // profiles of a wheel on a rail, or of the surfaces on from, to; -1
} kd_constraint;

// a force element; a force in a joint has the frames of that
typedef struct kd_force {
    const char  *name;
    kd_source    source;
    kd_force_def def;
    kd_anchor    from, to;
    int          joint;    // -1: none
    int          curve;    // air spring: volumes; profile of the surface on `from`; -1: none
    int          to_curve; // profile of the surface on `to`; -1: none
} kd_force;

// an element written in C
typedef struct kd_user_force {
    const char       *name;
    kd_source         source;
    kd_user_force_def def;
} kd_user_force;

// an element with an inner state of its own
typedef struct kd_state_element {
    const char  *name;
    kd_source    source;
    kd_state_def def;
} kd_state_element;

// a number that an equation defines
typedef struct kd_algebraic {
    const char      *name;
    kd_source        source;
    kd_algebraic_def def;
} kd_algebraic;
const char *kd_algebraic_own_name(const kd_algebraic *a); // without the names of subsystems around it

// A block after it was added: numbers of inputs, states and outputs are filled in.
typedef struct kd_block {
    const char  *name;
    kd_source    source;
    kd_block_def def;
} kd_block;

// a number that only events change
typedef struct kd_variable {
    const char     *name;
    kd_source       source;
    kd_variable_def def;
} kd_variable;

// an event
typedef struct kd_model_event {
    const char  *name;
    kd_source    source;
    kd_event_def def;
} kd_model_event;

// a signal from outside, or a function of time
typedef struct kd_input {
    const char  *name;
    kd_source    source;
    kd_input_def def;
} kd_input;

// a named output
typedef struct kd_sensor {
    const char   *name;
    kd_source     source;
    kd_sensor_def def;
} kd_sensor;

typedef struct kd_invariant {
    const char      *name;
    kd_source        source;
    kd_invariant_def def;
} kd_invariant;

typedef struct kd_condition {
    const char      *name;
    kd_source        source;
    kd_condition_def def;
} kd_condition;

// a table, and the interpolation that was made of it
typedef struct kd_model_curve {
    const char  *name;
    kd_source    source;
    kd_curve_def def;
    kd_curve    *curve; // made by kd_model_finish
} kd_model_curve;

// a line by its curvature, and the functions that were made of it
typedef struct kd_model_track {
    const char  *name;
    kd_source    source;
    kd_track_def def;
    kd_track    *track;                 // made by kd_model_finish
    kd_expr     *expr;                  // its curvature
    double      *work;                  // of that
    kd_curve    *curve[KD_TRACK_PARTS]; // its functions
} kd_model_track;

// How a subsystem stands in the one around it: mirrored at the plane through `through` with the normal `mirror` (0:
// not), turned, shifted.
typedef struct kd_subsystem_def {
    double mirror[3], through[3], orientation[4], position[3];
} kd_subsystem_def;

// The same from the whole model, after kd_model_finish. What is written in the subsystem at x is at c + Q x; vectors in
// frames of its bodies are multiplied by L, a product of reflections. det Q = det L. docs/methods/subsystems.md
typedef struct kd_subsystem {
    const char      *name;
    kd_source        source; // of which it is a part itself
    kd_subsystem_def def;
    const char      *of; // file or section that it was made of
    kd_vec3          c;
    kd_mat3          Q, L;
    bool             mirrored; // det Q = -1
} kd_subsystem;

struct kd_model {
    const char *title;
    double      gravity[3];
    kd_run_def  run;
    bool        finished;
    // sections; arrays grow while building
    int nparameters, ncurves, ninputs, nbodies, nframes, njoints, nconstraints, nforces, nuser_forces, nstates,
        nsensors, ntracks, nblocks, nvariables, nalgebraic, nevents, nsubsystems, ninvariants, nconditions;
    kd_parameter     *parameter;
    kd_model_curve   *curve;
    kd_model_track   *track;
    kd_input         *input;
    kd_body          *body;
    kd_frame         *frame;
    kd_joint         *joint;
    kd_constraint    *constraint;
    kd_force         *force;
    kd_user_force    *user_force;
    kd_state_element *state;
    kd_block         *block;
    kd_variable      *variable;
    kd_algebraic     *algebraic;
    kd_model_event   *event;
    kd_sensor        *sensor;
    kd_subsystem     *subsystem; // those around others before them
    kd_invariant     *invariant;
    kd_condition     *condition;
    struct kd_model_private *private; // names, messages, texts of fields, memory: of src/model only
};

// ---- paths: names of quantities in expressions ----------------------------------------------------------------------
//
//     body.NAME.pos.x  .vel.x  .acc.x  .omega.x  .alpha.x     world axes; pos, vel, acc of the body's origin
//     body.NAME.com.x                                         centre of mass
//     body.NAME.R.xy                                          x component (world) of the body's y axis
//     body.NAME.q1 .. .v1 .. .a1 ..                           amplitudes of the modes of a flexible body, rates, accelerations
//     body.NAME.roll .pitch .yaw                              Cardan angles, R = Rz(yaw) Ry(pitch) Rx(roll)
//     frame.NAME.*                                            as body, of a named frame
//     joint.NAME.q .v .a  (q1 q2 q3, v1 .., a1 ..)            coordinates, rates, accelerations
//     joint.NAME.force.x .torque.x       reaction on the body of `to`, axes of `from`, at the origin of `to`
//     force.NAME.length .rate .force     tsda, maxwell, tyre (with .longitudinal .lateral)
//     force.NAME.angle .rate .torque     rsda
//     force.NAME.q .v .force             forces in joints
//     force.NAME.fx .fy .fz .tx .ty .tz  wrench on `to`, axes of `from` (bushing, contact, applied)
//     constraint.NAME.force (force1 ..)  multipliers
//     constraint.NAME.fx .. .tz          wrench on `to`, axes of `from` (wheel_rail)
//     constraint.NAME.contact            coordinate of the contact along the axle (wheel_rail)
//     state.NAME  state.NAME.out  algebraic.NAME  input.NAME  sensor.NAME  variable.NAME
//     energy.kinetic .potential .total
//     block.NAME.out (out1 out2 ..)      outputs of a sampled block; block.NAME.STATE: its states
// Names of parts of subsystems have points: joint.front_left.hinge.q
// With frames and signs: docs/guide/sensors.md
// The first word is a section (kardan/query.h).
typedef enum kd_property {
    KD_PROPERTY_POS,    // i: component
    KD_PROPERTY_COM,    // i
    KD_PROPERTY_VEL,    // i
    KD_PROPERTY_ACC,    // i
    KD_PROPERTY_OMEGA,  // i
    KD_PROPERTY_ALPHA,  // i
    KD_PROPERTY_R,      // i, j: component i of axis j
    KD_PROPERTY_ANGLE,  // i: 0 roll, 1 pitch, 2 yaw
    KD_PROPERTY_Q,      // i: coordinate (joints; joint springs); length or angle (forces)
    KD_PROPERTY_V,      // i
    KD_PROPERTY_A,      // i
    KD_PROPERTY_FORCE,  // i: component of force 0..2 and torque 3..5 (joints, wrenches); multiplier (constraints); 0:
                        // scalar force of a tsda, rsda, joint spring, tyre, maxwell
    KD_PROPERTY_WRENCH, // i: component of force 0..2 and torque 3..5 of a wheel on a rail
    KD_PROPERTY_VALUE, // state, algebraic, input, sensor, variable; energy: 0 kinetic, 1 potential, 2 total; block, i: output,
                       // then states
    KD_PROPERTY_INNER,  // i: inner state of a force
    KD_PROPERTY_OUT,    // pi
    KD_PROPERTY_STRESS, // i: named place of a flexible body, j: kd_stress_kind
} kd_property;

// a path that was understood
typedef struct kd_path {
    kd_section                section;
    int                       element;
    kd_property               property;
    int                       i, j;
    const struct kd_readable *reading; // of the class of an element (model/element.h); NULL
} kd_path;

// false: not a path of this model, why (may be NULL) says what is unknown and what it could have been.
bool kd_path_parse(const kd_model *m, const char *text, kd_path *path, char *why, size_t size);
// What can be read of an element, the text behind its name (of one that has one coordinate "q", not "q1" too); NULL:
// there are not more than k. buffer: for words that are made here.
enum { KD_SIGNAL_NAME = 16 };
const char *kd_path_word(const kd_model *m, kd_section section, int element, int k, char buffer[KD_SIGNAL_NAME]);
// What a law may read: positions and velocities; with_accelerations: accelerations and reactions too (sensors).
bool kd_path_is_kinematic(const kd_path *path);

// The function of a track: NAME_x, NAME_y, NAME_heading, NAME_curvature; NULL: none. track (may be NULL): its number.
const kd_curve *kd_model_track_function(const kd_model *m, const char *name, int *track);
// In expressions that readers have put together, parameter.NAME and curve.NAME stand for names of subsystems; the NAME.
const char *kd_plain_name(const char *name);
// The value of a parameter, NULL: unknown.
// The number from 1 on of an interface of a flexible body; 0: it has none of that name
int                 kd_body_node(const kd_body *body, const char *name);
const kd_parameter *kd_model_parameter(const kd_model *m, const char *name);

// Number of scalar coordinates q of a joint kind that have names (0 for spherical; free: 3 shifts).
int kd_joint_coordinates(kd_joint_kind kind);
// Number of equations of a constraint, as in constraint.NAME.force1 .. (rolling disc: contact first, then the two
// velocities).
int kd_constraint_rows(const kd_constraint_def *def);

// Names of inputs and states of a block; those that are not given are u, u1, u2, .. and z, z1, z2, .., written to
// buffer.
const char *kd_block_input_name(const kd_block_def *def, int i, char buffer[KD_SIGNAL_NAME]);
const char *kd_block_state_name(const kd_block_def *def, int i, char buffer[KD_SIGNAL_NAME]);

#endif
