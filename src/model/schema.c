// schema.c: the table of sections, kinds and fields of models, and what follows from it directly: defaults, checks.
#include "model/schema.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/nearest.h"
#include "core/text.h"
#include "joint/joint.h"
#include "model/element.h"
#include "model/fields.h"

// ---- the table ------------------------------------------------------------------------------------------------------

// clang-format off
static const char *const words_in[] = {"world", "body", NULL};
static const char *const words_cut[] = {"auto", "yes", "no", NULL};
static const char *const words_form[] = {"linear", "spline", "akima", "monotone", NULL};
static const char *const words_outside[] = {"extrapolate", "hold", "error", "repeat", NULL};
static const char *const words_coordinates[] = {"joint", "cartesian", NULL};
static const char *const words_crossing[] = {"both", "rising", "falling", NULL};

// Numbers of a joint, from its word; 0: this kind has no such field
static int count_q(int kind) { return kd_joint_form_of((kd_joint_kind)kind).nposition; }
static int count_v(int kind) { return kd_joint_form_of((kd_joint_kind)kind).ndof; }
static int count_hold(int kind) { return kd_joint_form_of((kd_joint_kind)kind).ndof > 0; }
static int count_pitch(int kind) { return kd_joint_form_of((kd_joint_kind)kind).lead; }
static int count_motion(int kind)
{
    const kd_joint_form form = kd_joint_form_of((kd_joint_kind)kind);
    return form.ball ? 0 : form.nscalars;
}

// ---- places
#define O(member) offsetof(kd_place, member)
static const kd_field place_fields[] = {
    {"body", KD_FIELD_NAME, O(body), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "the body that the place is fixed in, or ground", .refers = KD_SCHEMA_BODY},
    {"point", KD_FIELD_NUMBER, O(position), 3, ALL, 0, 0, ANY, "m",
     .doc = "its origin"},
    {"axis", KD_FIELD_NUMBER, O(axis), 3, ALL, KD_FIELD_DIRECTION, 0, ANY, "",
     .doc = "direction of its z axis, of any length; not given: from the orientation"},
    {"reference", KD_FIELD_NUMBER, O(reference), 3, ALL, KD_FIELD_DIRECTION, 0, ANY, "",
     .doc = "direction that its x axis is turned to as far as z allows; the second axis of a universal joint"},
    {"orientation", KD_FIELD_ORIENTATION, O(orientation), 4, ALL, 0, 0, ANY, "",
     .doc = "all its axes, in place of axis and reference"},
    {"in", KD_FIELD_WORD, O(in), 1, ALL, 0, KD_IN_BODY, ANY, "",
     .doc = "whether these numbers are in the body's frame or in the world at the design position", .words = words_in},
};
#undef O

// ---- shapes
#define O(member) offsetof(kd_shape, member)
static const kd_kind_word shape_kinds[] = {
    [KD_SHAPE_NONE] = {NULL, NULL},
    [KD_SPHERE] = {"sphere", "ball about the origin of the shape"},
    [KD_BOX] = {"box", "cuboid with edges along the axes of the shape"},
    [KD_CYLINDER] = {"cylinder", "solid cylinder about the z axis of the shape"},
    [KD_ROD] = {"rod", "slender cylinder about the z axis of the shape"},
    [KD_TUBE] = {"tube", "hollow cylinder about the z axis of the shape"},
    [KD_MESH] = {"mesh", "surface of triangles from an STL or OBJ file; closed ones have mass"},
};
static const kd_field shape_fields[] = {
    {"sphere", KD_FIELD_NUMBER, O(size), 1, K(KD_SPHERE), KD_FIELD_REQUIRED, 0, POSITIVE, "m",
     .doc = "radius"},
    {"box", KD_FIELD_NUMBER, O(size), 3, K(KD_BOX), KD_FIELD_REQUIRED, 0, POSITIVE, "m",
     .doc = "edges along x, y and z"},
    {"cylinder", KD_FIELD_NUMBER, O(size), 2, K(KD_CYLINDER), KD_FIELD_REQUIRED, 0, POSITIVE, "m",
     .doc = "radius and length"},
    {"rod", KD_FIELD_NUMBER, O(size), 2, K(KD_ROD), KD_FIELD_REQUIRED, 0, POSITIVE, "m",
     .doc = "radius and length"},
    {"tube", KD_FIELD_NUMBER, O(size), 3, K(KD_TUBE), KD_FIELD_REQUIRED, 0, POSITIVE, "m",
     .doc = "outer radius, inner radius and length"},
    {"mesh", KD_FIELD_TEXT, O(mesh), 1, K(KD_MESH), KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "file that ends with .stl (text or binary) or .obj, in the folder of the model"},
    {"scale", KD_FIELD_NUMBER, O(size), 1, K(KD_MESH), 0, 1, ANY, "",
     .image = KD_IMAGE_REVERSED, .doc = "factor of the lengths in the file: 0.001 for millimetres; negative: inverted at its origin, as in a mirror"},
    {"position", KD_FIELD_NUMBER, O(position), 3, ALL, 0, 0, ANY, "m",
     .image = KD_IMAGE_OWN_VECTOR, .doc = "its centre, in the body's frame; mesh: the origin of the file"},
    {"orientation", KD_FIELD_ORIENTATION, O(orientation), 4, ALL & ~K(KD_MESH), 0, 0, ANY, "",
     .image = KD_IMAGE_OWN_ORIENTATION, .doc = "its axes, in the body's frame"},
    {"orientation", KD_FIELD_ORIENTATION, O(orientation), 4, K(KD_MESH), 0, 0, ANY, "",
     .image = KD_IMAGE_INVERTED, .doc = "the axes of the file, in the body's frame"},
    {"density", KD_FIELD_NUMBER, O(density), 1, ALL, 0, 0, NOT_NEGATIVE, "kg/m^3",
     .doc = "gives the body mass and inertia, where those are not given; 0: only drawn"},
};
#undef O

// ---- subsystems
#define O(member) offsetof(kd_subsystem_def, member)
static const kd_field subsystem_fields[] = {
    {"mirror", KD_FIELD_NUMBER, O(mirror), 3, ALL, KD_FIELD_DIRECTION, 0, ANY, "",
     .doc = "normal of the plane at which it is mirrored; not given: it is not"},
    {"through", KD_FIELD_NUMBER, O(through), 3, ALL, 0, 0, ANY, "m",
     .doc = "a point of that plane, in the coordinates of the subsystem"},
    {"orientation", KD_FIELD_ORIENTATION, O(orientation), 4, ALL, 0, 0, ANY, "",
     .doc = "how it is turned, behind the mirror"},
    {"position", KD_FIELD_NUMBER, O(position), 3, ALL, 0, 0, ANY, "m",
     .doc = "how it is shifted, last"},
};
#undef O

// ---- curves
#define O(member) offsetof(kd_curve_def, member)
static const kd_field curve_fields[] = {
    {"form", KD_FIELD_WORD, O(form), 1, ALL, 0, KD_CURVE_LINEAR, ANY, "",
     .doc = "straight lines, a cubic spline, Akima's spline (calm beside jumps), or one without overshoot", .words = words_form},
    {"x", KD_FIELD_SAMPLES, O(x), 0, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "arguments, rising", .length = O(n)},
    {"y", KD_FIELD_SAMPLES, O(y), 0, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "values, as many as arguments; beside `z` the second arguments, rising", .length = O(ny)},
    {"z", KD_FIELD_ROWS, O(z), 0, ALL, 0, 0, ANY, "",
     .doc = "values of a table with two arguments: a row for each x, a number for each y", .length = O(n), .second = O(ny)},
    {"outside", KD_FIELD_WORD, O(outside), 1, ALL, 0, KD_CURVE_EXTRAPOLATE, ANY, "",
     .doc = "before the first and behind the last row: along the tangent, the last value, none (a run that comes there fails), or from the start again",
     .words = words_outside},
};
#undef O
#define O(member) offsetof(kd_curve_file, member)
static const kd_field curve_file_fields[] = {
    {"file", KD_FIELD_TEXT, O(file), 1, ALL, 0, 0, ANY, "",
     .doc = "a file of comma-separated values with a column of arguments and one of values"},
    {"grid", KD_FIELD_TEXT, O(grid), 1, ALL, 0, 0, ANY, "",
     .doc = "instead: a file of a table with two arguments; its first column are x, its first row y"},
    {"x", KD_FIELD_TEXT, O(x), 1, ALL, 0, 0, ANY, "", .doc = "column of arguments, by name or number; not given: 1"},
    {"y", KD_FIELD_TEXT, O(y), 1, ALL, 0, 0, ANY, "", .doc = "column of values, by name or number; not given: 2"},
    {"x_unit", KD_FIELD_TEXT, O(unit[0]), 1, ALL, 0, 0, ANY, "", .doc = "unit of x in the file, as `mm`"},
    {"y_unit", KD_FIELD_TEXT, O(unit[1]), 1, ALL, 0, 0, ANY, "", .doc = "unit of y in the file"},
    {"z_unit", KD_FIELD_TEXT, O(unit[2]), 1, ALL, 0, 0, ANY, "", .doc = "unit of the values of a `grid`"},
    {"form", KD_FIELD_WORD, O(form), 1, ALL, 0, KD_CURVE_LINEAR, ANY, "", .doc = "as above", .words = words_form},
    {"outside", KD_FIELD_WORD, O(outside), 1, ALL, 0, KD_CURVE_EXTRAPOLATE, ANY, "", .doc = "as above",
     .words = words_outside},
};
#undef O

// ---- tracks
static const kd_field track_fields[] = {
    {"curvature", KD_FIELD_LAW, offsetof(kd_track_def, curvature), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "1/m",
     .doc = "expression of the arc length s; positive: a curve to the left"},
    {"start", KD_FIELD_NUMBER, offsetof(kd_track_def, start), 1, ALL, 0, 0, ANY, "m",
     .doc = "arc length at the origin; before it the track is straight"},
    {"end", KD_FIELD_NUMBER, offsetof(kd_track_def, end), 1, ALL, KD_FIELD_REQUIRED, 1, ANY, "m",
     .doc = "arc length up to which the curvature is used; behind it the track is straight"},
    {"step", KD_FIELD_NUMBER, offsetof(kd_track_def, step), 1, ALL, 0, 1, POSITIVE, "m",
     .doc = "length of the pieces that are integrated; corners of the curvature belong on their ends"},
};

// ---- inputs, sensors
static const kd_field input_fields[] = {
    {"value", KD_FIELD_LAW, offsetof(kd_input_def, value), 1, ALL, 0, 0, ANY, "",
     .doc = "expression of t; not given: the input is driven from outside"},
    {"start", KD_FIELD_NUMBER, offsetof(kd_input_def, start), 1, ALL, 0, 0, ANY, "",
     .doc = "value until something drives the input"},
};
static const kd_field sensor_fields[] = {
    {"value", KD_FIELD_LAW, offsetof(kd_sensor_def, value), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression of any paths, accelerations and reactions included"},
    {"unit", KD_FIELD_TEXT, offsetof(kd_sensor_def, unit), 1, ALL, 0, 0, ANY, "",
     .doc = "unit, shown in results"},
};

// ---- bodies, frames
#define O(member) offsetof(kd_body_def, member)
static const kd_field body_fields[] = {
    {"mass", KD_FIELD_NUMBER, O(mass), 1, ALL, KD_FIELD_MAYBE, NAN, NOT_NEGATIVE, "kg",
     .doc = "mass; not given: from the shapes"},
    {"centre", KD_FIELD_NUMBER, O(centre), 3, ALL, KD_FIELD_MAYBE, NAN, ANY, "m",
     .image = KD_IMAGE_OWN_VECTOR, .doc = "centre of mass, in the body's frame; not given: from shapes that have mass, else the origin"},
    {"inertia", KD_FIELD_INERTIA, O(inertia), 6, ALL, KD_FIELD_MAYBE, NAN, ANY, "kg m^2",
     .image = KD_IMAGE_TENSOR, .doc = "inertia about the centre of mass along the body's axes; not given: from the shapes"},
    {"position", KD_FIELD_NUMBER, O(position), 3, ALL, 0, 0, ANY, "m",
     .image = KD_IMAGE_POINT, .doc = "origin of the body's frame in the world, at the design position"},
    {"orientation", KD_FIELD_ORIENTATION, O(orientation), 4, ALL, 0, 0, ANY, "",
     .image = KD_IMAGE_ORIENTATION, .doc = "axes of the body's frame in the world, at the design position"},
    {"velocity", KD_FIELD_NUMBER, O(velocity), 3, ALL, KD_FIELD_MAYBE, NAN, ANY, "m/s",
     .image = KD_IMAGE_VECTOR, .doc = "start velocity of the frame's origin (world), a guess that assembly corrects; not given: from the joints"},
    {"angular_velocity", KD_FIELD_NUMBER, O(angular_velocity), 3, ALL, KD_FIELD_MAYBE, NAN, ANY, "rad/s",
     .image = KD_IMAGE_AXIAL, .doc = "start angular velocity (world), a guess as well"},
    {"shape", KD_FIELD_SHAPES, O(shape), KD_MAX_SHAPES, ALL, 0, 0, ANY, "",
     .doc = "a shape or a list of shapes, for drawing and for mass and inertia", .length = O(nshapes)},
};
#undef O
static const kd_field frame_fields[] = {
    {"at", KD_FIELD_PLACE, offsetof(kd_frame_def, at), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .image = KD_IMAGE_FRAME, .doc = "the place; its keys are written in the frame itself"},
};

// ---- joints
#define O(member) offsetof(kd_joint_def, member)
static const kd_field joint_fields[] = {
    {"from", KD_FIELD_PLACE, O(from), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .image = KD_IMAGE_OF_JOINT, .doc = "the frame that motion is measured in; coincides with `to` where the coordinates are 0"},
    {"to", KD_FIELD_PLACE, O(to), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .image = KD_IMAGE_OF_JOINT, .doc = "the frame that moves"},
    {"pitch", KD_FIELD_NUMBER, O(pitch), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "m",
     .image = KD_IMAGE_REVERSED, .doc = "advance per turn", .counts = count_pitch},
    {"q", KD_FIELD_NUMBER, O(q), 7, ALL, KD_FIELD_MAYBE, NAN, ANY, "m|rad",
     .doc = "start coordinates; not given: from the design position", .counts = count_q},
    {"v", KD_FIELD_NUMBER, O(v), 6, ALL, KD_FIELD_MAYBE, NAN, ANY, "m/s|rad/s",
     .doc = "start velocities (spherical, free: angular velocity in the axes of `to` last); not given: 0 or "
            "from the bodies",
     .counts = count_v},
    {"hold", KD_FIELD_BOOLEAN, O(hold), 1, ALL, 0, 0, ANY, "",
     .doc = "assembly must not change q and v where they are given", .counts = count_hold},
    {"motion", KD_FIELD_LAW, O(motion), 6, ALL, 0, 0, ANY, "m|rad",
     .doc = "coordinates as functions of t and inputs; null: free", .counts = count_motion},
    {"cut", KD_FIELD_WORD, O(cut), 1, ALL, 0, KD_CUT_AUTO, ANY, "",
     .doc = "close a loop here, never, or as kardan finds best", .words = words_cut},
};
#undef O

// Constraints, forces and states: src/element

// ---- algebraic variables
static const char *const own_name[] = {"", NULL};

#define O(member) offsetof(kd_algebraic_def, member)
static const kd_field algebraic_fields[] = {
    {"equation", KD_FIELD_LAW, O(equation), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression that stays 0, of paths and, by its name alone, of the variable itself: `w^3 + w - joint.hinge.q` for `w`",
     .locals = own_name},
    {"start", KD_FIELD_NUMBER, O(start), 1, ALL, 0, 0, ANY, "",
     .doc = "where the search for the solution at the start begins; of several solutions it chooses one"},
    {"unit", KD_FIELD_TEXT, O(unit), 1, ALL, 0, 0, ANY, "",
     .doc = "shown in results"},
};
#undef O

// ---- blocks, variables, events
#define O(member) offsetof(kd_block_def, member)
#define SISO (K(KD_BLOCK_PID) | K(KD_BLOCK_TRANSFER))
static const kd_kind_word block_kinds[] = {
    [KD_BLOCK_EXPRESSION] = {"expression", "outputs and next states by expressions of inputs, states and paths"},
    [KD_BLOCK_PID] = {"pid", "out = kp e + ki z + kd e' of the input e; then z grows by period * e"},
    [KD_BLOCK_STATE_SPACE] = {"state_space", "outputs C z + D u of states z and inputs u; then z becomes A z + B u"},
    [KD_BLOCK_TRANSFER] = {"transfer", "numerator / denominator, polynomials of z, or of s where `continuous` is set"},
    [KD_BLOCK_USER] = {NULL, NULL},
};
static const kd_field block_fields[] = {
    {"period", KD_FIELD_NUMBER, O(period), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "s",
     .doc = "time between two samples"},
    {"offset", KD_FIELD_NUMBER, O(offset), 1, ALL, 0, 0, ANY, "s",
     .doc = "time of the first sample"},
    {"input", KD_FIELD_LAW, O(input), 1, SISO, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression of any paths, as in sensors; pid: the error e"},
    {"input", KD_FIELD_SIGNALS, O(input), KD_MAX_SIGNALS, K(KD_BLOCK_STATE_SPACE), KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expressions of any paths, as in sensors", .length = O(ninputs), .second = O(input_name)},
    {"input", KD_FIELD_SIGNALS, O(input), KD_MAX_SIGNALS, K(KD_BLOCK_EXPRESSION), 0, 0, ANY, "",
     .doc = "the same; without names they are called u, or u1, u2 and so on", .length = O(ninputs), .second = O(input_name)},
    {"rate", KD_FIELD_LAW, O(input) + sizeof(const char *), 1, K(KD_BLOCK_PID), 0, 0, ANY, "",
     .doc = "expression for e'; not given: by the difference from the sample before"},
    {"kp", KD_FIELD_NUMBER, O(kp), 1, K(KD_BLOCK_PID), 0, 0, ANY, "",
     .doc = "proportional gain"},
    {"ki", KD_FIELD_NUMBER, O(ki), 1, K(KD_BLOCK_PID), 0, 0, ANY, "",
     .doc = "integral gain"},
    {"kd", KD_FIELD_NUMBER, O(kd), 1, K(KD_BLOCK_PID), 0, 0, ANY, "",
     .doc = "gain of the rate"},
    {"filter", KD_FIELD_NUMBER, O(filter), 1, K(KD_BLOCK_PID), 0, 0, NOT_NEGATIVE, "s",
     .doc = "time constant of a lag in e'; 0: none"},
    {"lower", KD_FIELD_NUMBER, O(lower), 1, K(KD_BLOCK_PID), KD_FIELD_INFINITE, -INFINITY, ANY, "",
     .doc = "lower limit of the output, where the sum stops; not given: none"},
    {"upper", KD_FIELD_NUMBER, O(upper), 1, K(KD_BLOCK_PID), KD_FIELD_INFINITE, INFINITY, ANY, "",
     .doc = "upper limit of the output, where the sum stops; not given: none"},
    {"numerator", KD_FIELD_SAMPLES, O(numerator), 0, K(KD_BLOCK_TRANSFER), KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "coefficients, highest power first", .length = O(nnumerator)},
    {"denominator", KD_FIELD_SAMPLES, O(denominator), 0, K(KD_BLOCK_TRANSFER), KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "coefficients, highest power first; of no lower power than the numerator", .length = O(ndenominator)},
    {"continuous", KD_FIELD_BOOLEAN, O(continuous), 1, K(KD_BLOCK_TRANSFER), 0, 0, ANY, "",
     .doc = "the polynomials are of s, and are sampled by the trapezoidal rule (Tustin)"},
    {"A", KD_FIELD_ROWS, O(A), 0, K(KD_BLOCK_STATE_SPACE), KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "matrix, states by states", .length = O(nstates), .second = O(nstates)},
    {"B", KD_FIELD_ROWS, O(B), 0, K(KD_BLOCK_STATE_SPACE), KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "matrix, states by inputs", .length = O(nstates), .second = O(ninputs)},
    {"C", KD_FIELD_ROWS, O(C), 0, K(KD_BLOCK_STATE_SPACE), KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "matrix, outputs by states", .length = O(noutputs), .second = O(nstates)},
    {"D", KD_FIELD_ROWS, O(D), 0, K(KD_BLOCK_STATE_SPACE), 0, 0, ANY, "",
     .doc = "matrix, outputs by inputs; not given: 0", .length = O(noutputs), .second = O(ninputs)},
    {"states", KD_FIELD_TERMS, O(state_name), KD_MAX_SIGNALS, K(KD_BLOCK_EXPRESSION), KD_FIELD_OWN, 0, ANY, "",
     .doc = "names of states with their start values: `{z: 0}`", .length = O(nstates), .second = O(start)},
    {"next", KD_FIELD_NEXT, O(next), KD_MAX_SIGNALS, K(KD_BLOCK_EXPRESSION), 0, 0, ANY, "",
     .doc = "states behind the sample: `{z: z + 0.1*u}`; those not given keep their values", .length = O(nstates),
     .second = O(state_name)},
    {"output", KD_FIELD_SIGNALS, O(output), KD_MAX_SIGNALS, K(KD_BLOCK_EXPRESSION), 0, 0, ANY, "",
     .doc = "expressions of inputs, states before the sample and paths", .length = O(noutputs)},
    {"start", KD_FIELD_NUMBER, O(start), 1, K(KD_BLOCK_PID), 0, 0, ANY, "",
     .doc = "start value of the sum z"},
    {"start", KD_FIELD_STARTS, O(start), KD_MAX_SIGNALS, K(KD_BLOCK_STATE_SPACE), 0, 0, ANY, "",
     .doc = "start values of the states", .length = O(nstates)},
    {"start_output", KD_FIELD_NUMBER, O(start_output), 1, SISO, 0, 0, ANY, "",
     .doc = "output until the first sample"},
    {"start_output", KD_FIELD_STARTS, O(start_output), KD_MAX_SIGNALS, ALL & ~SISO, 0, 0, ANY, "",
     .doc = "outputs until the first sample", .length = O(noutputs)},
};
#undef O
#undef SISO

static const kd_field variable_fields[] = {
    {"start", KD_FIELD_NUMBER, offsetof(kd_variable_def, start), 1, ALL, 0, 0, ANY, "",
     .doc = "value until an event changes it"},
};

#define O(member) offsetof(kd_event_def, member)
static const kd_field event_fields[] = {
    {"when", KD_FIELD_LAW, O(when), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression of any paths, as in sensors: the event is where it passes through 0"},
    {"crossing", KD_FIELD_WORD, O(crossing), 1, ALL, 0, KD_CROSSING_BOTH, ANY, "",
     .doc = "in which direction", .words = words_crossing},
    {"set", KD_FIELD_SIGNALS, O(value), KD_MAX_SETTINGS, ALL, KD_FIELD_NAMED, 0, ANY, "",
     .doc = "new values, expressions that all see the state of before: `{variable.gear: 2, state.heat: 0}`; targets are "
            "variable.NAME, state.NAME and joint.NAME.v of joint coordinates",
     .length = O(nsettings), .second = O(target)},
    {"stop", KD_FIELD_BOOLEAN, O(stop), 1, ALL, 0, 0, ANY, "",
     .doc = "the run ends there"},
    {"message", KD_FIELD_TEXT, O(message), 1, ALL, 0, 0, ANY, "",
     .doc = "what the log of events says; not given: the name of the event"},
};
#undef O

// ---- invariants
#define O(member) offsetof(kd_invariant_def, member)
#define ALONG (K(KD_INVARIANT_MOMENTUM) | K(KD_INVARIANT_ANGULAR_MOMENTUM))
static const kd_kind_word invariant_kinds[] = {
    [KD_INVARIANT_ENERGY] = {"energy", "kinetic and potential energy of the whole mechanism"},
    [KD_INVARIANT_MOMENTUM] = {"momentum", "momentum of all bodies along `axis`"},
    [KD_INVARIANT_ANGULAR_MOMENTUM] = {"angular_momentum", "angular momentum of all bodies about `point`, along `axis`"},
    [KD_INVARIANT_EXPRESSION] = {"expression", "an expression of coordinates, velocities and t"},
};
static const kd_field invariant_fields[] = {
    {"value", KD_FIELD_LAW, O(value), 1, K(KD_INVARIANT_EXPRESSION), KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression of coordinates, velocities and t"},
    {"axis", KD_FIELD_NUMBER, O(axis), 3, ALONG, KD_FIELD_REQUIRED | KD_FIELD_DIRECTION, 0, ANY, "",
     .doc = "direction in the world"},
    {"point", KD_FIELD_NUMBER, O(point), 3, K(KD_INVARIANT_ANGULAR_MOMENTUM), 0, 0, ANY, "m",
     .doc = "point in the world"},
    {"equals", KD_FIELD_NUMBER, O(equals), 1, ALL, KD_FIELD_MAYBE, NAN, ANY, "",
     .doc = "its value in SI units, to which the start is corrected; not given: as at the start, and behind every event that changes the motion"},
};
#undef ALONG
#undef O

// ---- conditions of the start
#define O(member) offsetof(kd_condition_def, member)
static const kd_field condition_fields[] = {
    {"value", KD_FIELD_LAW, O(value), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression of coordinates, velocities and t"},
    {"equals", KD_FIELD_NUMBER, O(equals), 1, ALL, 0, 0, ANY, "",
     .doc = "its value at the start, in SI units"},
};
#undef O

// ---- run
#define O(member) offsetof(kd_run_def, member)
static const kd_field run_fields[] = {
    {"t_end", KD_FIELD_NUMBER, O(t_end), 1, ALL, 0, 10, POSITIVE, "s",
     .doc = "end time"},
    {"rtol", KD_FIELD_NUMBER, O(rtol), 1, ALL, 0, 1e-6, POSITIVE, "",
     .doc = "relative tolerance; without `atol` the absolute one as well, as --rtol"},
    {"atol", KD_FIELD_NUMBER, O(atol), 1, ALL, 0, 1e-8, POSITIVE, "",
     .doc = "absolute tolerance; if `rtol` is given and this is not, as `rtol`"},
    {"max_step", KD_FIELD_NUMBER, O(max_step), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "s",
     .doc = "largest step, for roads and inputs that a long step would miss; not given: no limit"},
    {"intervals", KD_FIELD_INTEGER, O(intervals), 1, ALL, 0, 500, BETWEEN(1, 1e8), "",
     .doc = "output intervals"},
    {"coordinates", KD_FIELD_TEXT, O(coordinates), 1, ALL, 0, 0, ANY, "",
     .doc = "coordinate set; not given: chosen", .words = words_coordinates},
    {"formulation", KD_FIELD_TEXT, O(formulation), 1, ALL, 0, 0, ANY, "",
     .doc = "formulation (docs/guide/formulations.md); not given: chosen"},
    {"integrator", KD_FIELD_TEXT, O(integrator), 1, ALL, 0, 0, ANY, "",
     .doc = "integrator; not given: chosen"},
    {"plots", KD_FIELD_PATHS, O(plots), 16, ALL, 0, 0, ANY, "",
     .doc = "channels that the report draws: sensors or paths", .length = O(nplots)},
    {"limit_position", KD_FIELD_NUMBER, O(limit_position), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "",
     .doc = "the certificate fails beyond this violation of constraints; not given: no limit"},
    {"limit_velocity", KD_FIELD_NUMBER, O(limit_velocity), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "",
     .doc = "the same on velocity level"},
    {"limit_acceleration", KD_FIELD_NUMBER, O(limit_acceleration), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "",
     .doc = "the same on acceleration level"},
    {"limit_energy", KD_FIELD_NUMBER, O(limit_energy), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "",
     .doc = "the same for the error of the energy balance, relative to the energies involved"},
};
#undef O

#define KINDLESS NULL, 1, 0, false
#define KINDS(table, type, by_key) table, COUNT(table), offsetof(type, kind), by_key
#define CLASSES(count, type) NULL, count, offsetof(type, kind)
#define FIELDS(table) table, COUNT(table)
static const kd_schema schemas[KD_SCHEMA_COUNT] = {
    [KD_SCHEMA_CURVE] = {"curves", "curve",
        "Tables y(x); in expressions a curve is a function of its name",
        sizeof(kd_curve_def), KINDLESS, NULL, FIELDS(curve_fields), NULL},
    [KD_SCHEMA_TRACK] = {"tracks", "track",
        "Level lines by their curvature; in expressions a track gives functions of the arc length: NAME_x, NAME_y, NAME_heading, NAME_curvature",
        sizeof(kd_track_def), KINDLESS, "curvature", FIELDS(track_fields), NULL},
    [KD_SCHEMA_INPUT] = {"inputs", "input",
        "Signals u(t), read as input.NAME",
        sizeof(kd_input_def), KINDLESS, "value", FIELDS(input_fields), NULL},
    [KD_SCHEMA_BODY] = {"bodies", "body",
        "Rigid bodies; `ground` is there without being written",
        sizeof(kd_body_def), KINDLESS, NULL, FIELDS(body_fields), NULL},
    [KD_SCHEMA_FRAME] = {"frames", "frame",
        "Named places, which joints, forces and expressions can refer to",
        sizeof(kd_frame_def), KINDLESS, NULL, FIELDS(frame_fields), NULL},
    [KD_SCHEMA_JOINT] = {"joints", "joint",
        "Joints between two bodies; z is the axis of the joint",
        sizeof(kd_joint_def), kd_joint_words, KD_JOINT_KIND_COUNT, offsetof(kd_joint_def, kind), false, NULL, FIELDS(joint_fields), NULL},
    [KD_SCHEMA_CONSTRAINT] = {"constraints", "constraint",
        "Constraints that are no joints",
        sizeof(kd_constraint_def), CLASSES(KD_CONSTRAINT_KIND_COUNT, kd_constraint_def), .class = kd_constraint_element},
    [KD_SCHEMA_FORCE] = {"forces", "force",
        "Force elements",
        sizeof(kd_force_def), CLASSES(KD_FORCE_KIND_COUNT, kd_force_def), .class = kd_force_element},
    [KD_SCHEMA_STATE] = {"states", "state",
        "Inner states, read as state.NAME",
        sizeof(kd_state_def), CLASSES(KD_STATE_KIND_COUNT, kd_state_def), .class = kd_state_element_class},
    [KD_SCHEMA_ALGEBRAIC] = {"algebraic", "algebraic variable",
        "Variables that equations define, read as algebraic.NAME; solved together with the equations of motion",
        sizeof(kd_algebraic_def), KINDLESS, "equation", FIELDS(algebraic_fields), NULL},
    [KD_SCHEMA_BLOCK] = {"blocks", "block",
        "Sampled controllers, computed at offset + k * period; outputs in between are held: block.NAME.out, or out1, out2, .., and states block.NAME.STATE",
        sizeof(kd_block_def), KINDS(block_kinds, kd_block_def, false), NULL, FIELDS(block_fields), NULL},
    [KD_SCHEMA_VARIABLE] = {"variables", "variable",
        "Numbers that only events change, read as variable.NAME",
        sizeof(kd_variable_def), KINDLESS, "start", FIELDS(variable_fields), NULL},
    [KD_SCHEMA_EVENT] = {"events", "event",
        "What happens where an expression passes through 0",
        sizeof(kd_event_def), KINDLESS, NULL, FIELDS(event_fields), NULL},
    [KD_SCHEMA_SENSOR] = {"sensors", "sensor",
        "Named outputs",
        sizeof(kd_sensor_def), KINDLESS, "value", FIELDS(sensor_fields), NULL},
    [KD_SCHEMA_INVARIANT] = {"invariants", "invariant",
        "What the motion does not change and the formulation keeps exactly (psf, psf1)",
        sizeof(kd_invariant_def), KINDS(invariant_kinds, kd_invariant_def, false), NULL, FIELDS(invariant_fields), NULL},
    [KD_SCHEMA_CONDITION] = {"conditions", "condition",
        "What the start fulfils together with the constraints, written inside of `start`: `start: {conditions: {NAME: ...}}`",
        sizeof(kd_condition_def), KINDLESS, "value", FIELDS(condition_fields), NULL},
    [KD_SCHEMA_RUN] = {"run", "run",
        "How to simulate; the command line overrides",
        sizeof(kd_run_def), KINDLESS, NULL, FIELDS(run_fields), NULL},
    [KD_SCHEMA_PLACE] = {"places", "place",
        "A frame fixed in a body",
        sizeof(kd_place), KINDLESS, NULL, FIELDS(place_fields), NULL},
    [KD_SCHEMA_SHAPE] = {"shapes", "shape",
        "A solid, drawn and perhaps giving mass",
        sizeof(kd_shape), KINDS(shape_kinds, kd_shape, true), NULL, FIELDS(shape_fields), NULL},
    [KD_SCHEMA_SUBSYSTEM] = {"subsystems", "subsystem",
        "How a subsystem stands in the model around it",
        sizeof(kd_subsystem_def), KINDLESS, NULL, FIELDS(subsystem_fields), NULL},
    [KD_SCHEMA_CURVE_FILE] = {"curves from files", "curve",
        "A curve whose numbers stand in a file beside the model",
        sizeof(kd_curve_file), KINDLESS, NULL, FIELDS(curve_file_fields), NULL},
};
// clang-format on

// ---- looking up -----------------------------------------------------------------------------------------------------

const kd_schema *kd_schema_of(kd_schema_id id)
{
    return &schemas[id];
}

// kind -1: any kind
bool kd_field_has(const kd_field *field, int kind)
{
    return kind < 0 || (((field->kinds >> kind) & 1u) != 0 && (!field->counts || field->counts(kind) > 0));
}

// by kind where the schema says so
int kd_field_count(const kd_field *field, int kind)
{
    return field->counts && kind >= 0 ? field->counts(kind) : field->count;
}

bool kd_schema_has_kinds(const kd_schema *schema)
{
    return schema->kinds || schema->class;
}

const kd_kind_word *kd_schema_word(const kd_schema *schema, int kind)
{
    return schema->class ? &schema->class(kind)->kind : &schema->kinds[kind];
}

int kd_schema_field_count(const kd_schema *schema, int kind)
{
    // one table with bits, or the tables of all classes one after the other
    if (!schema->class) return schema->nfields;
    if (kind >= 0) return schema->class(kind)->nfields;
    int n = 0;
    for (int k = 0; k < schema->nkinds; k++) n += schema->class(k)->nfields;
    return n;
}

// row i of the table of a kind
const kd_field *kd_schema_field_at(const kd_schema *schema, int kind, int i)
{
    if (!schema->class) return &schema->fields[i];
    if (kind >= 0) return &schema->class(kind)->fields[i];
    // kind -1: count through the classes
    for (kind = 0; i >= schema->class(kind)->nfields; kind++) i -= schema->class(kind)->nfields;
    return &schema->class(kind)->fields[i];
}

const kd_field *kd_schema_field(const kd_schema *schema, int kind, const char *key)
{
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *field = kd_schema_field_at(schema, kind, i);
        if (kd_field_has(field, kind) && strcmp(field->key, key) == 0) return field;
    }
    return NULL;
}

const kd_field *kd_element_field(const kd_element_class *class, const char *key)
{
    for (int i = 0; i < class->nfields; i++)
        if (strcmp(class->fields[i].key, key) == 0) return &class->fields[i];
    return NULL;
}

double kd_element_number(const kd_element_class *class, const void *def, const char *key)
{
    // a key that the class does not have counts as 0
    const kd_field *field = kd_element_field(class, key);
    double          value = 0.0;
    if (field && field->type == KD_FIELD_NUMBER) memcpy(&value, (const char *)def + field->offset, sizeof value);
    return value;
}

// the kind of a word in a file; kinds without word cannot be written
int kd_schema_kind(const kd_schema *schema, const char *word)
{
    for (int i = 0; kd_schema_has_kinds(schema) && i < schema->nkinds; i++) {
        const char *known = kd_schema_word(schema, i)->word;
        if (known && strcmp(known, word) == 0) return i;
    }
    return -1;
}

int kd_schema_kind_of(const kd_schema *schema, const void *def)
// kinds are enums: ints in the definition
{
    int kind = 0;
    if (kd_schema_has_kinds(schema)) memcpy(&kind, (const char *)def + schema->kind, sizeof kind);
    return kind;
}

// only keys that this kind has
const char *kd_schema_suggest_field(const kd_schema *schema, int kind, const char *key)
{
    kd_nearest nearest = kd_nearest_start(key);
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *field = kd_schema_field_at(schema, kind, i);
        if (kd_field_has(field, kind)) kd_nearest_offer(&nearest, field->key);
    }
    return nearest.best;
}

const char *kd_schema_suggest_kind(const kd_schema *schema, const char *word)
{
    kd_nearest nearest = kd_nearest_start(word);
    for (int i = 0; kd_schema_has_kinds(schema) && i < schema->nkinds; i++)
        kd_nearest_offer(&nearest, kd_schema_word(schema, i)->word);
    return nearest.best;
}

// ---- defaults -------------------------------------------------------------------------------------------------------

static void fill(double *a, int n, double value)
{
    for (int i = 0; i < n; i++) a[i] = value;
}

// by its type; texts and arrays that have a length start empty
static void default_field(const kd_field *field, char *def)
{
    void *at = def + field->offset;
    switch (field->type) {
    case KD_FIELD_NUMBER:
    case KD_FIELD_INERTIA:
    case KD_FIELD_MATRIX:
    case KD_FIELD_STARTS:
        fill(at, field->count, field->value);
        break;
    case KD_FIELD_INTEGER:
    case KD_FIELD_WORD:
        memcpy(at, &(int){(int)field->value}, sizeof(int));
        break;
    case KD_FIELD_BOOLEAN:
        memcpy(at, &(bool){field->value != 0}, sizeof(bool));
        break;
    case KD_FIELD_ORIENTATION:
        memcpy(at, (const double[4]){1, 0, 0, 0}, 4 * sizeof(double));
        break;
    case KD_FIELD_PLACE:
        *(kd_place *)at = kd_place_default();
        break;
    default: // texts, and arrays with a length: empty
        break;
    }
}

void kd_schema_default(const kd_schema *schema, int kind, void *def)
{
    // all fields of the table, then those of the kind
    memset(def, 0, schema->size);
    if (kd_schema_has_kinds(schema)) memcpy((char *)def + schema->kind, &kind, sizeof kind);
    for (int i = 0; i < schema->nfields; i++) default_field(&schema->fields[i], def);
    // keys that share their place: that of the kind wins
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *field = kd_schema_field_at(schema, kind, i);
        if (kd_field_has(field, kind)) default_field(field, def);
    }
}

kd_place kd_place_default(void)
{
    kd_place place;
    kd_schema_default(&schemas[KD_SCHEMA_PLACE], 0, &place);
    // in C a place is in the world unless it says otherwise; in files it is in its body
    place.body = "ground";
    place.in = KD_IN_WORLD;
    return place;
}

#define DEFAULT(type, name, id)                                                                                        \
    type name(void)                                                                                                    \
    {                                                                                                                  \
        type def;                                                                                                      \
        kd_schema_default(&schemas[id], 0, &def);                                                                      \
        return def;                                                                                                    \
    }
#define DEFAULT_OF_KIND(type, name, kind_type, id)                                                                     \
    type name(kind_type kind)                                                                                          \
    {                                                                                                                  \
        type def;                                                                                                      \
        kd_schema_default(&schemas[id], (int)kind, &def);                                                              \
        return def;                                                                                                    \
    }
DEFAULT(kd_body_def, kd_body_def_default, KD_SCHEMA_BODY)
DEFAULT(kd_frame_def, kd_frame_def_default, KD_SCHEMA_FRAME)
DEFAULT(kd_input_def, kd_input_def_default, KD_SCHEMA_INPUT)
DEFAULT(kd_sensor_def, kd_sensor_def_default, KD_SCHEMA_SENSOR)
DEFAULT(kd_curve_def, kd_curve_def_default, KD_SCHEMA_CURVE)
DEFAULT(kd_track_def, kd_track_def_default, KD_SCHEMA_TRACK)
DEFAULT(kd_run_def, kd_run_def_default, KD_SCHEMA_RUN)
DEFAULT_OF_KIND(kd_joint_def, kd_joint_def_default, kd_joint_kind, KD_SCHEMA_JOINT)
DEFAULT_OF_KIND(kd_constraint_def, kd_constraint_def_default, kd_constraint_kind, KD_SCHEMA_CONSTRAINT)
DEFAULT_OF_KIND(kd_force_def, kd_force_def_default, kd_force_kind, KD_SCHEMA_FORCE)
DEFAULT_OF_KIND(kd_state_def, kd_state_def_default, kd_state_kind, KD_SCHEMA_STATE)
DEFAULT_OF_KIND(kd_invariant_def, kd_invariant_def_default, kd_invariant_kind, KD_SCHEMA_INVARIANT)
DEFAULT(kd_condition_def, kd_condition_def_default, KD_SCHEMA_CONDITION)
DEFAULT_OF_KIND(kd_block_def, kd_block_def_default, kd_block_kind, KD_SCHEMA_BLOCK)
DEFAULT(kd_variable_def, kd_variable_def_default, KD_SCHEMA_VARIABLE)
DEFAULT(kd_algebraic_def, kd_algebraic_def_default, KD_SCHEMA_ALGEBRAIC)
DEFAULT(kd_event_def, kd_event_def_default, KD_SCHEMA_EVENT)

kd_user_force_def kd_user_force_def_default(void)
{
    return (kd_user_force_def){0};
}

// ---- checks ---------------------------------------------------------------------------------------------------------

// "'mass' must be positive, but is 0"
static bool complain_range(const kd_field *field, int i, int n, double value, char *message, size_t size)
{
    // "between", "positive", "greater than", "at least": by the ends of the range
    kd_range r = field->range;
    kd_text(message, size, "'%s' ", field->key);
    if (n > 1) kd_text_append(message, size, "number %d ", i + 1);
    if (!isinf(r.min) && !isinf(r.max)) {
        kd_text_append(message, size, "must be between %g and %g", r.min, r.max);
    } else if (r.open) {
        kd_text_append(message, size, r.min == 0 ? "must be positive" : "must be greater than %g", r.min);
    } else {
        kd_text_append(message, size, "must be at least %g", r.min);
    }
    kd_text_append(message, size, ", but is %g", value);
    return false;
}

static bool check_numbers(const kd_field *field, int n, const double *a, char *message, size_t size)
{
    for (int i = 0; i < n; i++) {
        // not given is allowed where NaN means that
        if (isnan(a[i]) && (field->flags & KD_FIELD_MAYBE)) continue;
        if (isnan(a[i]) || (isinf(a[i]) && !(field->flags & KD_FIELD_INFINITE))) {
            kd_text(message, size, "'%s' is not finite", field->key);
            return false;
        }
        bool low = field->range.open ? a[i] <= field->range.min : a[i] < field->range.min;
        if (low || a[i] > field->range.max) return complain_range(field, i, n, a[i], message, size);
    }
    return true;
}

static bool check_text(const kd_field *field, const char *text, char *message, size_t size)
{
    if (!text && !(field->flags & KD_FIELD_REQUIRED)) return true;
    if (!text) {
        kd_text(message, size, "'%s' is missing", field->key);
        return false;
    }
    if (!field->words) return true;
    // one of the words, or what was probably meant, or all of them
    int count = 0;
    for (; field->words[count]; count++) {
        if (strcmp(field->words[count], text) == 0) return true;
    }
    const char *nearest = kd_nearest_word(text, field->words, count);
    kd_text(message, size, "'%s' cannot be '%.40s'", field->key, text);
    if (nearest) {
        kd_text_append(message, size, ", did you mean '%s'?", nearest);
        return false;
    }
    kd_text_append(message, size, "; possible are");
    for (int i = 0; i < count; i++) kd_text_append(message, size, "%s %s", i > 0 ? "," : "", field->words[i]);
    return false;
}

// 0 is allowed where the field is not required
static bool check_length(const kd_field *field, int n, char *message, size_t size)
{
    if (n >= 0 && n <= field->count && (n > 0 || !(field->flags & KD_FIELD_REQUIRED))) return true;
    if (n == 0)
        kd_text(message, size, "'%s' is missing", field->key);
    else
        kd_text(message, size, "'%s' has %d entries, at most %d are possible", field->key, n, field->count);
    return false;
}

// Expressions that are there, with names where they need them
static bool check_signals(const kd_field *field, int n, const char *const *law, const char *const *name, char *message,
                          size_t size)
{
    if (!check_length(field, n, message, size)) return false;
    for (int i = 0; i < n; i++) {
        // a text must be there, and a name where the field is always named
        const bool unnamed = (field->flags & KD_FIELD_NAMED) && !name[i];
        if (law[i] && !unnamed) continue;
        kd_text(message, size, "'%s' number %d %s", field->key, i + 1, law[i] ? "has no name" : "is missing");
        return false;
    }
    return true;
}

// "'from': ..." in front of a complaint about a part
static bool check_part(const kd_field *field, kd_schema_id id, const void *part, char *message, size_t size)
{
    char why[300] = "";
    if (!kd_schema_check(&schemas[id], part, why, sizeof why)) return true;
    kd_text(message, size, "'%s': %s", field->key, why);
    return false;
}

// norm 1 up to the digits of a file
static bool check_orientation(const kd_field *field, const double *q, char *message, size_t size)
{
    if (!check_numbers(field, 4, q, message, size)) return false;
    double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (fabs(n - 1.0) <= 1e-3) return true; // as far as numbers in a file are rounded; used after normalisation
    kd_text(message, size, "'%s' is no unit quaternion: its norm is %g", field->key, n);
    return false;
}

bool kd_field_check(const kd_field *field, int kind, const void *def, char *message, size_t size)
{
    // where the field is in the definition, and how many entries it has
    const char *at = (const char *)def + field->offset;
    int         length = 0;
    if (field->length) memcpy(&length, (const char *)def + field->length, sizeof length);
    switch (field->type) {
    case KD_FIELD_NUMBER:
    case KD_FIELD_INERTIA:
    case KD_FIELD_MATRIX:
        return check_numbers(field, kd_field_count(field, kind), (const double *)(const void *)at, message, size);
    case KD_FIELD_INTEGER: {
        int value;
        memcpy(&value, at, sizeof value);
        return check_numbers(field, 1, &(double){value}, message, size);
    }
    case KD_FIELD_WORD: {
        int value, count = 0;
        memcpy(&value, at, sizeof value);
        while (field->words[count]) count++;
        if (value >= 0 && value < count) return true;
        kd_text(message, size, "'%s' is %d, which has no meaning", field->key, value);
        return false;
    }
    case KD_FIELD_TEXT:
    case KD_FIELD_NAME:
    case KD_FIELD_LAW:
        return check_text(field, *(const char *const *)(const void *)at, message, size);
    case KD_FIELD_ORIENTATION:
        return check_orientation(field, (const double *)(const void *)at, message, size);
    case KD_FIELD_PLACE:
        return check_part(field, KD_SCHEMA_PLACE, at, message, size);
    case KD_FIELD_SHAPES:
        if (!check_length(field, length, message, size)) return false;
        for (int i = 0; i < length; i++) {
            if (!check_part(field, KD_SCHEMA_SHAPE, at + (size_t)i * sizeof(kd_shape), message, size)) return false;
        }
        return true;
    case KD_FIELD_PATHS:
        return check_length(field, length, message, size);
    case KD_FIELD_TERMS: {
        const double *factor = (const double *)(const void *)((const char *)def + field->second);
        return check_length(field, length, message, size) && check_numbers(field, length, factor, message, size);
    }
    case KD_FIELD_SAMPLES: {
        const double *samples = *(const double *const *)(const void *)at;
        if (length > 0 && samples) return check_numbers(field, length, samples, message, size);
        kd_text(message, size, "'%s' is missing", field->key);
        return false;
    }
    case KD_FIELD_SIGNALS:
        return check_signals(field, length, (const char *const *)(const void *)at,
                             (const char *const *)(const void *)((const char *)def + field->second), message, size);
    case KD_FIELD_STARTS:
        if (length < 0 || length > field->count) return check_length(field, length, message, size);
        return check_numbers(field, length, (const double *)(const void *)at, message, size);
    case KD_FIELD_ROWS: {
        const double *matrix = *(const double *const *)(const void *)at;
        int           columns;
        memcpy(&columns, (const char *)def + field->second, sizeof columns);
        if (matrix) return check_numbers(field, length * columns, matrix, message, size);
        kd_text(message, size, "'%s' is missing", field->key);
        return !(field->flags & KD_FIELD_REQUIRED);
    }
    case KD_FIELD_NEXT: // may be missing, all of them
    case KD_FIELD_BOOLEAN:
    case KD_FIELD_TYPE_COUNT:
        break;
    }
    return true;
}

const kd_field *kd_schema_check(const kd_schema *schema, const void *def, char *message, size_t size)
{
    // the kind first: fields depend on it
    const int  kind = kd_schema_kind_of(schema, def);
    const bool known = kind >= 0 && kind < schema->nkinds;
    if (!known || (kd_schema_has_kinds(schema) && !kd_schema_word(schema, kind)->word)) {
        kd_text(message, size, "kind %d of a %s has no meaning", kind, schema->singular);
        return kd_schema_field_at(schema, 0, 0);
    }
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *field = kd_schema_field_at(schema, kind, i);
        if (kd_field_has(field, kind) && !kd_field_check(field, kind, def, message, size)) return field;
    }
    return NULL;
}

// ---- names ----------------------------------------------------------------------------------------------------------

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool kd_name_check(const char *name, char *message, size_t size)
{
    const char *c = name;
    // length, first letter, the rest
    if (strlen(name) > 100) {
        kd_text(message, size, "the name '%.20s...' is longer than 100 characters", name);
        return false;
    }
    if (!is_letter(*c)) {
        kd_text(message, size, "the name '%s' must start with a letter", name);
        return false;
    }
    while (is_letter(*c) || is_digit(*c) || *c == '-') c++;
    // an index: "wheel(2,1)"
    if (*c == '(') {
        do {
            c++;
            if (!is_digit(*c)) c = ""; // nothing between the commas
            while (is_digit(*c)) c++;
        } while (*c == ',');
        if (c[0] == ')' && c[1] == '\0') return true;
        kd_text(message, size, "the index in the name '%s' must be whole numbers in parentheses, from 0 on", name);
        return false;
    }
    if (*c == '\0') return true;
    kd_text(message, size, "the name '%s' must consist of letters, digits, '_' and '-'", name);
    return false;
}

bool kd_name_check_parts(const char *name, char *message, size_t size)
{
    char part[KD_MAX_NAME + 1];
    if (!strchr(name, '.')) return kd_name_check(name, message, size);
    if (strlen(name) > KD_MAX_NAME) {
        kd_text(message, size, "the name '%.20s...' is longer than %d characters", name, KD_MAX_NAME);
        return false;
    }
    for (const char *c = name;; c++) {
        const size_t n = strcspn(c, ".");
        kd_text(part, sizeof part, "%.*s", (int)n, c);
        if (!kd_name_check(part, message, size)) return false;
        c += n;
        if (*c == '\0') return true;
    }
}
