// schema.c: the table of sections, kinds and fields of models, and what follows from it directly: defaults, checks.
#include "model/schema.h"

#include <kardan/option.h>

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
static int count_curves(int kind) { return kd_joint_form_of((kd_joint_kind)kind).curved; }
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
    {"node", KD_FIELD_TEXT, O(node), 1, ALL, 0, 0, ANY, "",
     .doc = "interface of a flexible body that the place follows; point counts from there, in the body's axes"},
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
    {"scale", KD_FIELD_NUMBER, O(size), 1, K(KD_MESH), 0, 1, ANY, "m",
     .image = KD_IMAGE_REVERSED, .doc = "what one unit of the file is: 0.001 or `1 mm` for millimetres; negative: inverted at its origin, as in a mirror"},
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

// ---- materials
#define O(member) offsetof(kd_material, member)
static const kd_field material_fields[] = {
    {"density", KD_FIELD_NUMBER, O(density), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "kg/m^3",
     .doc = "that of shapes"},
    {"E", KD_FIELD_NUMBER, O(E), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "N/m^2",
     .doc = "Young's modulus; with nu it gives the modulus of shear, E/(2 (1 + nu))"},
    {"nu", KD_FIELD_NUMBER, O(nu), 1, ALL, KD_FIELD_MAYBE, NAN, BETWEEN(0, 0.5), "",
     .doc = "Poisson's ratio"},
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

#define O(member) offsetof(kd_curve_road, member)
static const char *const words_road[] = {"A", "B", "C", "D", "E", "F", "G", "H", NULL};
static const kd_field curve_road_fields[] = {
    {"iso8608", KD_FIELD_WORD, O(class), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "class of the road, from A (smooth) to H", .words = words_road},
    {"seed", KD_FIELD_INTEGER, O(seed), 1, ALL, 0, 1, NOT_NEGATIVE, "", .doc = "another seed is another road of the same class"},
    {"length", KD_FIELD_NUMBER, O(length), 1, ALL, 0, 250, POSITIVE, "m", .doc = "length after which it begins again; a multiple of `step`"},
    {"step", KD_FIELD_NUMBER, O(step), 1, ALL, 0, 0.05, POSITIVE, "m", .doc = "distance of its points; at most a quarter of the shortest wave"},
    {"width", KD_FIELD_NUMBER, O(width), 1, ALL, 0, 0, NOT_NEGATIVE, "m",
     .doc = "of a road with several tracks beside each other, from -width/2 to width/2: a curve of x and y; 0: one track, a curve of x"},
    {"tracks", KD_FIELD_INTEGER, O(tracks), 1, ALL, 0, 2, BETWEEN(2, 16), "", .doc = "how many, with a `width`"},
    {"roughness", KD_FIELD_NUMBER, O(roughness), 1, ALL, KD_FIELD_MAYBE, NAN, NOT_NEGATIVE, "m^3",
     .doc = "spectral density at 0.1 cycles/m; not given: the geometric mean of the class, 16e-6 for A, four times as much for each further one"},
    {"waviness", KD_FIELD_NUMBER, O(waviness), 1, ALL, 0, 2, POSITIVE, "", .doc = "the density falls with this power of the wave number"},
    {"from", KD_FIELD_NUMBER, O(least), 1, ALL, 0, 0.011, POSITIVE, "1/m", .doc = "smallest wave number, cycles per metre"},
    {"to", KD_FIELD_NUMBER, O(most), 1, ALL, 0, 2.83, POSITIVE, "1/m", .doc = "largest wave number"},
    {"form", KD_FIELD_WORD, O(form), 1, ALL, 0, KD_CURVE_SPLINE, ANY, "", .doc = "as above", .words = words_form},
    {"outside", KD_FIELD_WORD, O(outside), 1, ALL, 0, KD_CURVE_REPEAT, ANY, "", .doc = "as above; with a `width` only hold or extrapolate", .words = words_outside},
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
    {"flexible", KD_FIELD_TEXT, O(flexible), 1, ALL, 0, 0, ANY, "",
     .doc = "file of a flexible body that ends with .flex or .SID_FEM, or a part (.yaml), in the folder of the model; mass, centre and inertia are in it"},
    {"modes", KD_FIELD_INTEGER, O(modes), 1, ALL, 0, 0, NOT_NEGATIVE, "",
     .doc = "of a flexible body: so many of the modes in the file, the lowest first; 0: all"},
    {"pieces", KD_FIELD_INTEGER, O(pieces), 1, ALL, 0, 0, NOT_NEGATIVE, "",
     .doc = "of a part of beams that follow each other: so many bodies in a row, for large deflection; their names are body, body(2), body(3) and so on"},
    {"piece", KD_FIELD_INTEGER, O(piece), 1, ALL, 0, 0, NOT_NEGATIVE, "",
     .doc = "this body is that one of the pieces, and the others are not made; as written models have it"},
    {"damping", KD_FIELD_NUMBER, O(damping), 1, ALL, KD_FIELD_MAYBE, NAN, NOT_NEGATIVE, "",
     .doc = "of a flexible body: ratio of damping of all modes; not given: as in the file"},
    {"amplitude", KD_FIELD_NUMBER, O(amplitude), KD_MAX_AMPLITUDES, ALL, KD_FIELD_MAYBE | KD_FIELD_FEWER, NAN, ANY, "",
     .doc = "of a flexible body: amplitudes of the modes at the start, a guess that assembly corrects; not given: 0"},
    {"rate", KD_FIELD_NUMBER, O(rate), KD_MAX_AMPLITUDES, ALL, KD_FIELD_MAYBE | KD_FIELD_FEWER, NAN, ANY, "",
     .doc = "of a flexible body: rates of the amplitudes at the start"},
    {"image", KD_FIELD_NUMBER, O(image), 9, ALL, KD_FIELD_MAYBE, NAN, ANY, "",
     .doc = "of a flexible body: orthogonal matrix, row by row, by which the vectors of its file are multiplied, as written models of mirrored subsystems have it"},
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
#define CURVE(key, column, text) \
    {key, KD_FIELD_NAME, O(curve) + sizeof(const char *) * (column), 1, ALL, 0, 0, ANY, "", \
     .doc = text, .refers = KD_SCHEMA_CURVE, .counts = count_curves}
    CURVE("x", KD_TABLE_X, "name of a spline of q: x of `to` in `from`; not given: 0, here and below"),
    CURVE("y", KD_TABLE_Y, "spline of q: y of `to`"),
    CURVE("z", KD_TABLE_Z, "spline of q: z of `to`"),
    CURVE("turn_z", KD_TABLE_TURN_Z, "spline of q: turn of `to` about z [rad]"),
    CURVE("turn_x", KD_TABLE_TURN_X, "spline of q: turn about x, carried by that about z"),
    CURVE("turn_y", KD_TABLE_TURN_Y, "spline of q: turn about y, carried by both"),
    CURVE("quaternion_w", KD_TABLE_QUATERNION_W, "spline of q, in place of the turns: scalar part of a unit quaternion"),
    CURVE("quaternion_x", KD_TABLE_QUATERNION_X, "spline of q: its x part"),
    CURVE("quaternion_y", KD_TABLE_QUATERNION_Y, "spline of q: its y part"),
    CURVE("quaternion_z", KD_TABLE_QUATERNION_Z, "spline of q: its z part"),
#undef CURVE
    {"mirrored", KD_FIELD_BOOLEAN, O(mirrored), 1, ALL, 0, 0, ANY, "",
     .doc = "y and the turns about z and x count the other way round: the table of the other side of a vehicle", .counts = count_curves},
};
#undef O

// Constraints, forces, states and blocks: src/element

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

// ---- variables, events
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
static const kd_kind_word invariant_kinds[] = {
    [KD_INVARIANT_ENERGY] = {"energy", "kinetic and potential energy of the whole mechanism"},
    [KD_INVARIANT_MOMENTUM] = {"momentum", "momentum of all bodies along `axis`"},
    [KD_INVARIANT_ANGULAR_MOMENTUM] = {"angular_momentum", "angular momentum of all bodies about `point`, along `axis`"},
    [KD_INVARIANT_EXPRESSION] = {"expression", "an expression of coordinates, velocities and t"},
};
static const kd_field invariant_fields[] = {
    {"value", KD_FIELD_LAW, O(value), 1, K(KD_INVARIANT_EXPRESSION), KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression of coordinates, velocities and t"},
    {"axis", KD_FIELD_NUMBER, O(axis), 3, K(KD_INVARIANT_MOMENTUM), KD_FIELD_REQUIRED | KD_FIELD_DIRECTION, 0, ANY, "",
     .image = KD_IMAGE_VECTOR, .doc = "direction in the world"},
    {"axis", KD_FIELD_NUMBER, O(axis), 3, K(KD_INVARIANT_ANGULAR_MOMENTUM), KD_FIELD_REQUIRED | KD_FIELD_DIRECTION, 0, ANY, "",
     .image = KD_IMAGE_AXIAL, .doc = "direction in the world, about which momenta turn right"},
    {"point", KD_FIELD_NUMBER, O(point), 3, K(KD_INVARIANT_ANGULAR_MOMENTUM), 0, 0, ANY, "m",
     .image = KD_IMAGE_POINT, .doc = "point in the world"},
    {"equals", KD_FIELD_NUMBER, O(equals), 1, ALL, KD_FIELD_MAYBE, NAN, ANY, "",
     .doc = "its value in SI units, to which the start is corrected; not given: as at the start, and behind every event that changes the motion"},
};
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
#define MADE(type) .cookie = offsetof(type, cookie)
static const kd_schema schemas[KD_SCHEMA_COUNT] = {
    [KD_SCHEMA_CURVE] = {"curves", "curve",
        "Tables y(x); in expressions a curve is a function of its name",
        sizeof(kd_curve_def), KINDLESS, NULL, FIELDS(curve_fields), NULL, MADE(kd_curve_def)},
    [KD_SCHEMA_TRACK] = {"tracks", "track",
        "Level lines by their curvature; in expressions a track gives functions of the arc length: NAME_x, NAME_y, NAME_heading, NAME_curvature",
        sizeof(kd_track_def), KINDLESS, "curvature", FIELDS(track_fields), NULL, MADE(kd_track_def)},
    [KD_SCHEMA_INPUT] = {"inputs", "input",
        "Signals u(t), read as input.NAME",
        sizeof(kd_input_def), KINDLESS, "value", FIELDS(input_fields), NULL, MADE(kd_input_def)},
    [KD_SCHEMA_BODY] = {"bodies", "body",
        "Rigid bodies; `ground` is there without being written",
        sizeof(kd_body_def), KINDLESS, NULL, FIELDS(body_fields), NULL, MADE(kd_body_def)},
    [KD_SCHEMA_FRAME] = {"frames", "frame",
        "Named places, which joints, forces and expressions can refer to",
        sizeof(kd_frame_def), KINDLESS, NULL, FIELDS(frame_fields), NULL, MADE(kd_frame_def)},
    [KD_SCHEMA_JOINT] = {"joints", "joint",
        "Joints between two bodies; z is the axis of the joint",
        sizeof(kd_joint_def), kd_joint_words, KD_JOINT_KIND_COUNT, offsetof(kd_joint_def, kind), false, NULL, FIELDS(joint_fields), NULL, MADE(kd_joint_def)},
    [KD_SCHEMA_CONSTRAINT] = {"constraints", "constraint",
        "Constraints that are no joints",
        sizeof(kd_constraint_def), CLASSES(KD_CONSTRAINT_KIND_COUNT, kd_constraint_def), .class = kd_constraint_element, MADE(kd_constraint_def)},
    [KD_SCHEMA_FORCE] = {"forces", "force",
        "Force elements",
        sizeof(kd_force_def), CLASSES(KD_FORCE_KIND_COUNT, kd_force_def), .class = kd_force_element, MADE(kd_force_def)},
    [KD_SCHEMA_STATE] = {"states", "state",
        "Inner states, read as state.NAME",
        sizeof(kd_state_def), CLASSES(KD_STATE_KIND_COUNT, kd_state_def), .class = kd_state_element_class, MADE(kd_state_def)},
    [KD_SCHEMA_ALGEBRAIC] = {"algebraic", "algebraic variable",
        "Variables that equations define, read as algebraic.NAME; solved together with the equations of motion",
        sizeof(kd_algebraic_def), KINDLESS, "equation", FIELDS(algebraic_fields), NULL, MADE(kd_algebraic_def)},
    [KD_SCHEMA_BLOCK] = {"blocks", "block",
        "Sampled controllers, computed at offset + k * period; outputs in between are held: block.NAME.out, or out1, out2, .., and states block.NAME.STATE",
        sizeof(kd_block_def), CLASSES(KD_BLOCK_KIND_COUNT, kd_block_def), .class = kd_block_element_class, MADE(kd_block_def)},
    [KD_SCHEMA_VARIABLE] = {"variables", "variable",
        "Numbers that only events change, read as variable.NAME",
        sizeof(kd_variable_def), KINDLESS, "start", FIELDS(variable_fields), NULL, MADE(kd_variable_def)},
    [KD_SCHEMA_EVENT] = {"events", "event",
        "What happens where an expression passes through 0",
        sizeof(kd_event_def), KINDLESS, NULL, FIELDS(event_fields), NULL, MADE(kd_event_def)},
    [KD_SCHEMA_SENSOR] = {"sensors", "sensor",
        "Named outputs",
        sizeof(kd_sensor_def), KINDLESS, "value", FIELDS(sensor_fields), NULL, MADE(kd_sensor_def)},
    [KD_SCHEMA_INVARIANT] = {"invariants", "invariant",
        "What the motion does not change and the formulation keeps exactly (psf, psf1)",
        sizeof(kd_invariant_def), KINDS(invariant_kinds, kd_invariant_def, false), NULL, FIELDS(invariant_fields), NULL, MADE(kd_invariant_def)},
    [KD_SCHEMA_CONDITION] = {"conditions", "condition",
        "What the start fulfils together with the constraints, written inside of `start`: `start: {conditions: {NAME: ...}}`",
        sizeof(kd_condition_def), KINDLESS, "value", FIELDS(condition_fields), NULL, MADE(kd_condition_def)},
    [KD_SCHEMA_RUN] = {"run", "run",
        "How to simulate; the command line overrides",
        sizeof(kd_run_def), KINDLESS, NULL, FIELDS(run_fields), NULL, MADE(kd_run_def)},
    [KD_SCHEMA_PLACE] = {"places", "place",
        "A frame fixed in a body",
        sizeof(kd_place), KINDLESS, NULL, FIELDS(place_fields), .class = NULL},
    [KD_SCHEMA_SHAPE] = {"shapes", "shape",
        "A solid, drawn and perhaps giving mass",
        sizeof(kd_shape), KINDS(shape_kinds, kd_shape, true), NULL, FIELDS(shape_fields), .class = NULL},
    [KD_SCHEMA_SUBSYSTEM] = {"subsystems", "subsystem",
        "How a subsystem stands in the model around it",
        sizeof(kd_subsystem_def), KINDLESS, NULL, FIELDS(subsystem_fields), .class = NULL},
    [KD_SCHEMA_CURVE_FILE] = {"curves from files", "curve",
        "A curve whose numbers stand in a file beside the model",
        sizeof(kd_curve_file), KINDLESS, NULL, FIELDS(curve_file_fields), .class = NULL},
    [KD_SCHEMA_CURVE_ROAD] = {"random roads", "curve",
        "A curve whose numbers are those of a random road by ISO 8608",
        sizeof(kd_curve_road), KINDLESS, NULL, FIELDS(curve_road_fields), .class = NULL},
    [KD_SCHEMA_MATERIAL] = {"materials", "material",
        "Numbers of a stuff under one name, which shapes, bodies and contacts of wheel and rail take over by `material: NAME`",
        sizeof(kd_material), KINDLESS, "density", FIELDS(material_fields), .class = NULL},
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
    const int count = kd_schema_field_count(schema, kind);
    for (int i = 0; i < count; i++) {
        const kd_field *field = kd_schema_field_at(schema, kind, i);
        if (strcmp(field->key, key) == 0 && kd_field_has(field, kind)) return field;
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
    // what other programs call it
    static const struct {
        kd_schema_id id;
        const char  *other, *word;
    } synonym[] = {
        {KD_SCHEMA_JOINT, "hinge", "revolute"},
        {KD_SCHEMA_JOINT, "pin", "revolute"},
        {KD_SCHEMA_JOINT, "rotational", "revolute"},
        {KD_SCHEMA_JOINT, "continuous", "revolute"},
        {KD_SCHEMA_JOINT, "slider", "prismatic"},
        {KD_SCHEMA_JOINT, "translational", "prismatic"},
        {KD_SCHEMA_JOINT, "ball", "spherical"},
        {KD_SCHEMA_JOINT, "weld", "fixed"},
        {KD_SCHEMA_JOINT, "rigid", "fixed"},
        {KD_SCHEMA_JOINT, "floating", "free"},
        {KD_SCHEMA_JOINT, "hooke", "universal"},
        {KD_SCHEMA_JOINT, "helical", "screw"},
        {KD_SCHEMA_CONSTRAINT, "gear", "coupling"},
        {KD_SCHEMA_CONSTRAINT, "rod", "distance"},
        {KD_SCHEMA_CONSTRAINT, "cable", "rope"},
        {KD_SCHEMA_CONSTRAINT, "pulley", "rope"},
        {KD_SCHEMA_CONSTRAINT, "cam", "point_on_curve"},
        {KD_SCHEMA_FORCE, "spring", "tsda"},
        {KD_SCHEMA_FORCE, "damper", "tsda"},
        {KD_SCHEMA_FORCE, "spring_damper", "tsda"},
        {KD_SCHEMA_FORCE, "torsion_spring", "rsda"},
        {KD_SCHEMA_FORCE, "motor", "joint_spring"},
        {KD_SCHEMA_FORCE, "friction", "joint_friction"},
        {KD_SCHEMA_FORCE, "stop", "joint_stop"},
        {KD_SCHEMA_FORCE, "force", "applied"},
        {KD_SCHEMA_FORCE, "torque", "applied"},
    };
    // a synonym, else the word that is nearest
    for (size_t i = 0; i < sizeof synonym / sizeof *synonym; i++)
        if (schema == kd_schema_of(synonym[i].id) && strcmp(synonym[i].other, word) == 0) return synonym[i].word;
    kd_nearest nearest = kd_nearest_start(word);
    for (int i = 0; kd_schema_has_kinds(schema) && i < schema->nkinds; i++)
        kd_nearest_offer(&nearest, kd_schema_word(schema, i)->word);
    return nearest.best;
}

// Is it a name that laws of some element have for themselves, as `length` of a spring?
bool kd_schema_is_local(const char *name)
{
    for (int id = 0; id < KD_SCHEMA_SECTION_COUNT; id++) {
        const kd_schema *schema = kd_schema_of((kd_schema_id)id);
        for (int kind = 0; kind < schema->nkinds; kind++)
            for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
                const char *const *local = kd_schema_field_at(schema, kind, i)->locals;
                for (; local && *local; local++)
                    if (strcmp(*local, name) == 0) return true;
            }
    }
    return false;
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
    if (schema->cookie) memcpy((char *)def + schema->cookie, &(unsigned){KD_OPTIONS_COOKIE}, sizeof(unsigned));
    if (kd_schema_has_kinds(schema)) memcpy((char *)def + schema->kind, &kind, sizeof kind);
    for (int i = 0; i < schema->nfields; i++) default_field(&schema->fields[i], def);
    // keys that share their place: that of the kind wins; a number that is no kind has none
    if (kind >= schema->nkinds) return;
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
    return (kd_user_force_def){.cookie = KD_OPTIONS_COOKIE};
}
