// kardan/model.h: a mechanism of bodies, joints, constraints and forces, built in C or read from a file.
//
// Start from a definition with defaults, change fields, add it under a name:
//
//     kd_model *m;            kd_model_create(&m);
//     kd_body_def body = kd_body_def_default();
//     body.mass = 1.0;        kd_model_add_body(m, "arm", &body);
//     kd_joint_def joint = kd_joint_def_default(KD_REVOLUTE);
//     joint.from = kd_at("ground", 0, 0, 0);
//     joint.to = kd_at("arm", 0, 0, 0);
//     kd_model_add_joint(m, "hinge", &joint);
//
// A definition that does not start from its default function is refused by name (KD_ERR_ARGUMENT).
// Definitions are copied, strings too. Elements may name others that are added later; kd_model_finish checks the whole.
// Units are SI, angles in radians, quaternions scalar first. An expression (const char *) is text in the language of
// docs/guide/expressions.md and is evaluated during the simulation; where it may be NULL, NULL means absent.
// Guide: docs/guide/models.md; a program: docs/guide/build-model.md; all fields: docs/reference/model-file.md
#ifndef KARDAN_MODEL_H
#define KARDAN_MODEL_H

#include <kardan/base.h>

KD_EXTERN_C_BEGIN

typedef struct kd_model kd_model;

// ---- places ---------------------------------------------------------------------------------------------------------
typedef enum kd_coordinates_of { KD_IN_WORLD, KD_IN_BODY } kd_coordinates_of;

// A frame fixed in a body. Its z axis is the axis of a joint; x is as close to `reference` as possible.
typedef struct kd_place {
    const char       *body;           // name of a body, or "ground"
    double            position[3];    // origin [m]
    double            axis[3];        // direction of z; (0,0,0): taken from orientation
    double            reference[3];   // direction near x (universal: the second axis); (0,0,0): x, or y, of the world
    double            orientation[4]; // unit quaternion of the frame, used when axis is (0,0,0)
    kd_coordinates_of in;             // these numbers are in the world at the design position, or in the body's frame
    int               frame;          // for readers of files: this place is a frame, its number from 1 on; 0: it is not
    const char       *node;           // interface of a flexible body: numbers count from there, in: body; NULL: none
} kd_place;

KD_API kd_place kd_at(const char *body, double x, double y, double z); // in the world, axes of the world
KD_API kd_place kd_at_axis(const char *body, const double point[3], const double axis[3]); // in the world
KD_API kd_place kd_in(const char *body, double x, double y, double z);                     // in the body's frame
KD_API kd_place kd_at_node(const char *body, const char *node); // an interface of a flexible body, axes of the body

// ---- bodies ---------------------------------------------------------------------------------------------------------
typedef enum kd_shape_kind { KD_SHAPE_NONE, KD_SPHERE, KD_BOX, KD_CYLINDER, KD_ROD, KD_TUBE, KD_MESH } kd_shape_kind;

typedef struct kd_shape { // for drawing, and for mass and inertia where those are not given
    kd_shape_kind kind;
    // sphere: radius; box: edges x y z; cylinder, rod: radius, length (z); tube: radii, length; mesh: factor of lengths
    double                      size[3];
    double                      position[3];    // of its centre in the body's frame; mesh: of the origin of its file
    double                      orientation[4]; // in the body's frame
    double                      density;        // [kg/m^3]; 0: the shape has no mass of its own
    const char                 *mesh;           // mesh: an STL or OBJ file; copied
    const struct kd_model_mesh *read;           // mesh: what the model has read of it; NULL until then
} kd_shape;

#define KD_MAX_SHAPES 8
#define KD_MAX_AMPLITUDES 12

typedef struct kd_body_def {
    double mass;           // [kg]; NaN: from the shapes
    double centre[3];      // of mass, in the body's frame [m]; NaN: from the shapes, else 0
    double inertia[6];     // xx yy zz xy xz yz about the centre of mass, axes of the body; NaN: from the shapes
    double position[3];    // of the body's frame in the world, at the design position
    double orientation[4]; // of the body's frame in the world, at the design position
    // Velocity of the frame's origin and angular velocity at the start, axes of the world: guesses that assembly
    // corrects; NaN: from the joints
    double velocity[3], angular_velocity[3];
    // A flexible body: modes on top of the motion of its frame. Mass, centre and inertia are those of the file then.
    const char                    *flexible; // file that ends with .flex or .SID_FEM; NULL: it is rigid
    int                            modes;    // the first of those in the file; 0: all
    int                            pieces;   // of a part of beams in a model file: a body for each; 0, 1: one body
    int                            piece;    // which of them this one is, from 1 on; 0: in a file, all of them
    double                         damping;  // ratio of all modes; NaN: as in the file
    double                         amplitude[KD_MAX_AMPLITUDES]; // of the first modes at the start; NaN: 0
    double                         rate[KD_MAX_AMPLITUDES];      // and their rates
    double                         image[9]; // vectors of the file are multiplied by it, row by row; NaN: by 1
    const struct kd_flexible_body *read;     // for readers of files; NULL
    int                            nshapes;
    kd_shape                       shape[KD_MAX_SHAPES];
    unsigned                       cookie; // set by kd_body_def_default
} kd_body_def;

// A named place, which expressions and sensors can read: frame.NAME.pos.z
typedef struct kd_frame_def {
    kd_place at;
    unsigned cookie; // set by kd_frame_def_default
} kd_frame_def;

// ---- joints ---------------------------------------------------------------------------------------------------------
// `to` moves relative to `from` as the kind says; coordinates q as in the list (z: axis of the joint):
typedef enum kd_joint_kind {
    KD_FIXED,
    KD_REVOLUTE,          // q: angle about z
    KD_PRISMATIC,         // q: shift along z
    KD_SCREW,             // q: angle about z, with a shift of pitch per turn along z
    KD_CYLINDRICAL,       // q1: angle about z, q2: shift along z
    KD_UNIVERSAL,         // q1: angle about z of `from`, q2: angle about x of `to`
    KD_PLANAR,            // q1, q2: shifts along x, y of `from`, q3: angle about z
    KD_SPHERICAL,         // quaternion
    KD_FREE,              // shifts along the axes of `from`, quaternion
    KD_CARDAN,            // q1 q2 q3: shifts along the axes of `from`, q4, q5, q6: turns about z, then x, then y
    KD_CONSTANT_VELOCITY, // q1, q2: bends about x and y, without twist about z
    // These in a mirror, with their coordinates: shifts are counted against the axes
    KD_LEFT_CYLINDRICAL,
    KD_LEFT_FREE,
    KD_LEFT_CARDAN,
    // One coordinate; position and orientation of `to` by curves of it
    KD_TABLE,       // q: a length
    KD_ANGLE_TABLE, // q: an angle
    KD_JOINT_KIND_COUNT
} kd_joint_kind;

typedef enum kd_cut { KD_CUT_AUTO, KD_CUT_YES, KD_CUT_NO } kd_cut;

// What the curves of a joint by tables tell, in this order: the origin of `to` in `from`; then either turns about z, about x
// and about y, each carried by those before, or a quaternion in their place.
typedef enum kd_joint_column {
    KD_TABLE_X,
    KD_TABLE_Y,
    KD_TABLE_Z,
    KD_TABLE_TURN_Z,
    KD_TABLE_TURN_X,
    KD_TABLE_TURN_Y,
    KD_TABLE_QUATERNION_W,
    KD_TABLE_QUATERNION_X,
    KD_TABLE_QUATERNION_Y,
    KD_TABLE_QUATERNION_Z,
    KD_TABLE_COLUMNS
} kd_joint_column;

typedef struct kd_joint_def {
    kd_joint_kind kind;
    kd_place      from, to; // frames A and B of the joint; they coincide at q = 0
    double        pitch;    // screw: advance per turn [m]
    double        q[7];     // start coordinates (spherical, free: quaternion last); NaN: from the design position
    // Start velocities (spherical, free: angular velocity in the axes of `to`); NaN: 0 or from the bodies
    double      v[6];
    bool        hold;      // assembly must not change q and v where they are given
    const char *motion[6]; // coordinate i as a function of t (rheonomic); NULL: free. Not for spherical, free
    kd_cut      cut;       // close a loop here (KD_CUT_YES), never (KD_CUT_NO), or as kardan finds best
    const char *curve[KD_TABLE_COLUMNS]; // by tables: names of splines of q; NULL: 0
    bool        mirrored;                // by tables: y and the turns about z and x count the other way round
    unsigned    cookie;                  // set by kd_joint_def_default
} kd_joint_def;

// ---- constraints ----------------------------------------------------------------------------------------------------
typedef enum kd_constraint_kind {
    KD_DISTANCE,       // |to - from| = length
    KD_POINT_ON_PLANE, // origin of `to` in the plane z = 0 of `from`
    KD_POINT_ON_LINE,  // origin of `to` on the z axis of `from`
    KD_POINT_ON_CURVE, // origin of `to` in the x-z plane of `from` on the curve z = value(x); value is a named curve
    KD_COUPLING,       // 0 = sum factor_i * coordinate_i - offset (gear, rack, belt)
    KD_ORIENTATION,    // z of `from` and z of `to` at the given angle (0: parallel, two rows)
    KD_ROLLING_DISC,   // disc (centre and axle z of `to`, radius) rolls without slip on the plane z = 0 of `from`
    KD_KNIFE_EDGE,     // velocity of the origin of `to` relative to `from` has no component along y of `to`
    KD_EXPRESSION,     // 0 = value(t, positions)
    KD_VELOCITY,       // 0 = value(t, positions, velocities), linear in velocities: nonholonomic
    KD_ROPE,           // |over_1 - from| + .. + |to - over_n| = length
    KD_WHEEL_RAIL,     // a wheel of an axle along y of `to` rolls with creep on a rail along x of `from`
    KD_SURFACE_KEPT,   // surfaces on `from` and `to` stay in contact, and may roll on each other without slip
    KD_CONSTRAINT_KIND_COUNT
} kd_constraint_kind;

// A smooth surface on a place, by two surface coordinates. docs/methods/surface-contact.md
typedef enum kd_surface_kind {
    KD_SURFACE_PLANE,      // z = 0, normal z
    KD_SURFACE_SPHERE,     // radius; 0: a point
    KD_SURFACE_CYLINDER,   // about z: radius
    KD_SURFACE_CONE,       // about z, apex in the origin, opens along z: half angle
    KD_SURFACE_ELLIPSOID,  // half axes along x, y, z
    KD_SURFACE_TORUS,      // about z: radius of the ring, radius of its section
    KD_SURFACE_REVOLUTION, // about z: radius as a curve of z
    KD_SURFACE_SWEPT,      // z as a curve of x, along y; normal up
} kd_surface_kind;

typedef struct kd_surface_def {
    kd_surface_kind kind;
    double          size[3]; // as its kind says; NaN: not given
    const char     *curve;   // of revolution and swept: its name
    bool            hollow;  // touched from the other side: a bowl, a hole
} kd_surface_def;

typedef enum kd_rail_side { KD_RAIL_LEFT, KD_RAIL_RIGHT } kd_rail_side; // left: y > 0
typedef enum kd_rail_contact { KD_CONTACT_INSIDE, KD_CONTACT_UNKNOWNS } kd_rail_contact;
typedef enum kd_creep_law {
    KD_CREEP_NONE,
    KD_CREEP_LINEAR,
    KD_CREEP_TANH,
    KD_CREEP_POLACH,
    KD_CREEP_FASTSIM
} kd_creep_law;
typedef enum kd_creep_load { KD_LOAD_ACTUAL, KD_LOAD_GIVEN } kd_creep_load;

// A wheel on a rail: profiles, how the point of contact is found, tangential forces. docs/methods/wheel-rail.md
typedef struct kd_wheel_rail {
    kd_rail_side side;
    double       radius;       // of the rolling circle [m]
    double       spacing;      // lateral distance of the rolling circle from the middle [m]
    double       conicity;     // slope of the tread at the rolling circle
    double       tread_radius; // of the hollow tread [m]; infinite: a cone
    double       rail_radius;  // of the head of the rail [m]
    // Curves over the lateral distance outwards. Wheel: radius above `radius`, from the rolling circle; NULL: cone or
    // arc. Rail: height, from `spacing`; NULL: arc
    const char     *wheel_profile, *rail_profile;
    kd_rail_contact contact;        // the point of contact is found inside of the element, or is an unknown s
    kd_creep_law    creep;          // law of the tangential forces
    kd_creep_load   normal;         // they follow the normal force, or take `load` for it
    double          load;           // wheel load at which the ellipse is given or computed [N]
    double          ellipse[2];     // half axes along and across the rail [m]; NaN: by Hertz
    double          kalker[4];      // C11, C22, C23, C33; NaN: by Kalker's table
    double          shear, poisson; // modulus of shear [N/m^2], Poisson's ratio
    double          friction;       // coefficient
    bool            moment;         // spin moment about the normal
    double          clearance;      // lateral way of the foot of the wheel up to the flange [m]; infinite: no flange
    double          flange, onset;  // stiffness of the flange [N/m], way over which it sets in [m]
    double          elastic;        // quasi-elastic contact: overlap over which the load is spread [m]; 0: rigid
} kd_wheel_rail;

#define KD_MAX_TERMS 8
#define KD_MAX_OVER 6

typedef struct kd_constraint_def {
    kd_constraint_kind kind;
    kd_place           from, to;
    kd_place           over[KD_MAX_OVER]; // rope: pulleys on its way
    int                nover;
    double             length;                   // distance, rope; NaN: as at the design position
    double             angle;                    // orientation
    double             radius;                   // rolling disc
    int                nterms;                   // coupling
    const char        *coordinate[KD_MAX_TERMS]; // "joint.a.q"
    double             factor[KD_MAX_TERMS];
    double             offset; // coupling; NaN: as at the start position
    const char        *value;  // expression, or the name of a curve
    const char *motion;   // of a plane or curve along its z, of an angle, a radius, a rope: an expression; NULL: none
    const char *shift[2]; // of a line along x and y of `from`, expressions of t and inputs; NULL: none
    // expression, point on curve, distance, rope: it holds one side only, >= 0 (a distance: <= length), with impacts that
    // reverse the velocity by this factor; NaN: it always holds
    double         restitution;
    kd_wheel_rail  rail;       // wheel on rail
    kd_surface_def surface[2]; // surfaces in contact, on `from` and on `to`
    bool           rolling;    // they do not slip
    unsigned       cookie;     // set by kd_constraint_def_default
} kd_constraint_def;

// ---- forces ---------------------------------------------------------------------------------------------------------
typedef enum kd_force_kind {
    KD_TSDA,            // spring, damper, actuator between two points; tension is positive
    KD_RSDA,            // the same about the axis of a revolute, screw or cylindrical joint, or about z of two frames
    KD_BUSHING,         // six-dimensional spring-damper between two frames: forces and moments in the axes of `from`
    KD_APPLIED,         // force and torque on a body at a point, each component an expression
    KD_JOINT_SPRING,    // spring, damper, actuator along a joint coordinate
    KD_JOINT_STOP,      // one-sided spring-damper beyond the limits of a joint coordinate
    KD_JOINT_FRICTION,  // regularised Coulomb and Stribeck friction along a joint coordinate
    KD_TYRE,            // spring-damper between a wheel centre and a road profile; with friction: forces of slip, too
    KD_CONTACT,         // sphere on the plane z = 0 of `from` (Hunt-Crossley), regularised friction
    KD_MAXWELL,         // spring in series with a damper between two points, with a parallel spring; one inner state
    KD_HYDRAULIC,       // hydraulic cylinder between two points with a servo valve; pressures are inner states
    KD_AIR_SPRING,      // bellows between two points, with an auxiliary volume; amounts of air are inner states
    KD_CLUTCH,          // dry friction torque about an axis with a capacity from outside; sticks and slides by events
    KD_MAGIC_TYRE,      // tyre on a road by a tyre property file (.tir): Magic Formula 5.2 or 6.1, with relaxation
    KD_TMEASY_TYRE,     // tyre on a road by slope, maximum and sliding force (TMeasy), with relaxation
    KD_SURFACE_CONTACT, // smooth surfaces on `from` and `to`: compliant (Hertz, Hunt-Crossley) or rigid with impacts
    KD_FORCE_KIND_COUNT
} kd_force_kind;

// Is an element differentiated where only the stiff part of the Jacobian is asked for (KD_PART_STIFF)? AUTO: as usual
// for its kind: springs, dampers, bushings, stops, friction, tyres, contacts are, applied and user forces are not.
typedef enum kd_stiffness { KD_STIFFNESS_AUTO, KD_STIFFNESS_YES, KD_STIFFNESS_NO } kd_stiffness;

// What the kinds have of their own; elements and their equations: src/element/NAME.c
typedef struct kd_spring_def { // tsda, rsda, joint_spring
    double length;             // free length or angle, coordinate at rest; NaN: as at the start position
    double stiffness;          // [N/m], [N m/rad]
    double damping;            // [N s/m], [N m s/rad]
    double preload;            // force at free length: a tension, in joints one that draws the coordinate back
    // Further force by expression of length, rate (tsda), angle, rate (rsda), q, v (joint_spring) and every other path;
    // a tension (tsda), or along the coordinate
    const char *law;
} kd_spring_def;

typedef struct kd_bushing_def {
    double      matrix[2][36]; // stiffness and damping, row by row; moments and angles last
    double      preload[6];    // forces and moments on `to` at rest
    const char *force[3];      // further forces along the axes of `from`; NULL: none
} kd_bushing_def;

typedef struct kd_applied_def {
    const char       *force[3], *torque[3]; // components; NULL: 0
    kd_coordinates_of in;                   // along the world's or the body's axes
} kd_applied_def;

typedef struct kd_joint_stop_def {
    double lower, upper;       // limits of the coordinate; -inf, inf: none
    double stiffness, damping; // beyond them [N/m], [N s/m], [N m/rad], [N m s/rad]
    double restitution;        // impacts instead of a compliant force, 0 .. 1; NaN: compliant
} kd_joint_stop_def;

typedef struct kd_joint_friction_def {
    double coulomb;   // force or torque at sliding
    double breakaway; // force or torque before sliding; 0: as coulomb
    double stribeck;  // velocity at which the breakaway surplus has fallen to 1/e
    double viscous;   // force per velocity
    double slip;      // velocity below which friction is regularised
    bool   stick;     // dry friction that sticks and slides by events, not regularised
    // Coefficients of the force across the joint, sliding and breakaway, in addition to coulomb and breakaway; through
    // an auxiliary variable w (S1 Eq. 29)
    double normal[2];
    double lever; // friction of a turn: radius at which that force rubs [m]
} kd_joint_friction_def;

typedef struct kd_tyre_def {
    double      radius;             // of the relaxed tyre [m]
    double      stiffness, damping; // [N/m], [N s/m]
    double      preload;            // force at depth 0 [N]
    const char *road;               // height of the road as an expression of x (and t); NULL: 0
    bool        lifts_off;          // no tension
    double      friction;           // coefficient; 0: vertical force only
    double      load;               // with friction: nominal load [N]
    double      longitudinal[2];    // force per slip at the nominal load and at twice that [N]
    double      lateral[2];         // force per tangent of the slip angle, likewise [N]
    double      camber;             // camber thrust, as slip per sine of the camber
    double      relaxation;         // relaxation length of the slips [m]; 0: none
    double      rolling_resistance; // coefficient
    double      slip;               // velocity below which slips are regularised [m/s]
} kd_tyre_def;

typedef struct kd_contact_def {
    double radius;      // of the sphere [m]
    double stiffness;   // force = stiffness * depth^exponent (1 + dissipation * rate)
    double exponent;    // of the depth
    double dissipation; // Hunt-Crossley [s/m]
    double friction;    // coefficient
    double slip;        // velocity below which friction is regularised [m/s]
    double restitution; // impacts instead of a compliant force, 0 .. 1; NaN: compliant
} kd_contact_def;

typedef struct kd_surface_contact_def {
    kd_surface_def surface[2];  // on `from` and on `to`
    double         modulus;     // E* of both materials [N/m^2]: stiffness by Hertz; NaN: `stiffness` is given
    double         stiffness;   // force = stiffness * depth^exponent (1 + dissipation * rate)
    double         exponent;    // of the depth
    double         dissipation; // Hunt-Crossley [s/m]
    double         friction[2]; // coefficients while sliding and before sliding
    double         slip;        // velocity below which friction is regularised [m/s]
    bool           stick;       // dry friction that sticks and slides by events
    double         restitution; // impacts instead of a compliant force, 0 .. 1; NaN: compliant
} kd_surface_contact_def;

typedef struct kd_maxwell_def {
    double      length;    // free length [m]; NaN: as at the start position
    double      stiffness; // of the parallel spring [N/m]
    double      damping;   // of the damper in series [N s/m]
    double      series;    // stiffness of the spring in series with the damper [N/m]
    double      preload;   // tension at free length [N]
    const char *law;       // further tension by expression of length, rate and every other path
} kd_maxwell_def;

typedef struct kd_hydraulic_def {
    double      length;      // with the piston at the beginning of its stroke [m]; NaN: as at the start position
    double      area[2];     // of the piston in chambers A and B [m^2]
    double      volume[2];   // of A and B beyond the stroke [m^3]
    double      stroke;      // way of the piston, from the smallest volume of A to that of B [m]
    double      bulk;        // bulk modulus of the oil [Pa]
    double      leakage;     // flow from A to B per pressure [m^3/(s Pa)]
    double      viscous;     // friction of the piston per velocity [N s/m]
    double      vapour;      // pressure below which its oil boils; told [Pa]
    double      ends;        // stiffness of the ends of the stroke [N/m]; 0: none
    const char *valve;       // opening, -1 .. 1, positive extends; an expression; NULL: closed
    double      lag;         // time constant of the spool, an inner state [s]; 0: none
    double      supply[2];   // pressures of pump and tank [Pa]
    double      flow;        // of an edge of the open valve [m^3/s] ..
    double      drop;        // .. at this difference of pressure [Pa]
    double      smooth;      // difference of pressure below which flows are regularised [Pa]
    double      pressure[2]; // of A and B at the start [Pa]; NaN: of the tank
} kd_hydraulic_def;

typedef struct kd_air_spring_def {
    double      length;             // at which the volume is `volume` [m]; NaN: as at the start position
    double      area;               // effective area [m^2]
    double      volume;             // at `length` [m^3]
    const char *volumes;            // name of a curve, volume over length, in place of area and volume
    double      auxiliary;          // volume behind the throttle [m^3]; 0: none
    double      flow, drop, smooth; // of the throttle [m^3/s], at this difference of pressure [Pa]; regularised below
    double      exponent;           // polytropic
    double      pressure;           // at the start, absolute [Pa]
    double      ambient;            // pressure outside, absolute [Pa]
    const char *inflow;             // flow of air into it, as volume at ambient pressure; an expression
} kd_air_spring_def;

typedef struct kd_clutch_def {
    const char *capacity;  // largest torque while sliding [N m], an expression; below 0: open
    double      breakaway; // largest torque while it sticks, in capacities, at least 1
    double      stribeck;  // velocity at which the surplus of breakaway has fallen to 1/e [rad/s]; 0: at once
} kd_clutch_def;

typedef enum kd_tyre_side { KD_TYRE_LEFT, KD_TYRE_RIGHT } kd_tyre_side;

// A tyre on a road z = road(x, y) in the frame of `from`
typedef struct kd_road_def {
    const char *height;   // an expression of x, y (and t); NULL: 0
    const char *friction; // factor of the friction, an expression of x and y; NULL: 1
    double      patch[2]; // half length and half width of the area whose plane is taken [m]; 0: the plane at one point
    double      cam[3]; // of enveloping cams at its corners: half length and half height in radii, exponent; 0: points
    const char *crg;    // OpenCRG file whose elevation is added to the height; NULL: none
    const char *path;   // where that is, if `crg` says it from another folder; NULL: as `crg` says
    const struct kd_model_road *read; // what the model has read of it; NULL until then
} kd_road_def;

typedef struct kd_magic_tyre_def {
    const char                 *tir;  // file
    const char                 *path; // where that is, if `tir` says it from another folder; NULL: as `tir` says
    const struct kd_model_tyre *read; // what the model has read of it; NULL until then
    kd_tyre_side                side; // of the vehicle; a file of the other side is mirrored
    kd_road_def                 road;
    double                      relaxation[2]; // lengths along and across [m]; NaN: of the file
    double                      slip;          // velocity below which rolling fades out [m/s]
    double                      settling;      // time constant of the damping at standstill [s]
    double                      radius;        // of the file [m]; filled in with `read`
} kd_magic_tyre_def;

// Each number at the nominal load and at twice that
typedef struct kd_tmeasy_branch {
    double slope[2];                    // force per slip at zero slip [N]
    double maximum[2], maximum_slip[2]; // [N]
    double sliding[2], sliding_slip[2]; // [N]
} kd_tmeasy_branch;

typedef struct kd_tmeasy_def {
    double           radius;             // of the relaxed tyre [m]
    double           stiffness, damping; // vertical [N/m], [N s/m]
    double           load;               // nominal load [N]
    kd_tmeasy_branch longitudinal, lateral;
    double           relaxation[2];      // lengths along and across [m]
    double           give;               // share of the deflection by which the radius of rolling falls
    double           rolling_resistance; // coefficient
    kd_road_def      road;
    double           slip;     // velocity below which rolling fades out [m/s]
    double           settling; // time constant of the damping at standstill [s]
} kd_tmeasy_def;

typedef struct kd_force_def {
    kd_force_kind kind;
    kd_place      from, to;   // tsda, rsda, bushing, contact, maxwell, tyre (`from`: its road); applied: `to` alone
    const char   *joint;      // joint spring, stop, friction; rsda on a joint
    int           coordinate; // 1, 2, 3: which coordinate of the joint
    kd_stiffness  stiff;      // belongs to the stiff part of the Jacobian
    union {                   // that of the kind
        kd_spring_def         spring;
        kd_bushing_def        bushing;
        kd_applied_def        applied;
        kd_joint_stop_def     stop;
        kd_joint_friction_def friction;
        kd_tyre_def           tyre;
        kd_contact_def        contact;
        kd_maxwell_def        maxwell;
        kd_hydraulic_def      hydraulic;
        kd_air_spring_def     air_spring;
        kd_clutch_def         clutch;
        kd_magic_tyre_def     magic;
        kd_tmeasy_def         tmeasy;

        kd_surface_contact_def surfaces;
    };
    unsigned cookie; // set by kd_force_def_default
} kd_force_def;

// Inner states r' = b: signals that forces and sensors read as state.NAME.
typedef enum kd_state_kind {
    KD_STATE_LAG, // T x' = input - x
    KD_STATE_PI,  // x' = input; state.NAME.out = kp * input + ki * x
    KD_STATE_ODE, // x' = input
    KD_STATE_KIND_COUNT
} kd_state_kind;

typedef struct kd_state_def {
    kd_state_kind kind;
    const char   *input;
    double        time_constant;
    double        kp, ki;
    double        start;
    const char   *unit;   // of x, shown in results; NULL: that of the input, if it is a lag of a path
    unsigned      cookie; // set by kd_state_def_default
} kd_state_def;

// Algebraic variables w, 0 = d (S1 Eq. 29): numbers that an equation defines, which forces, states and sensors read as
// algebraic.NAME. All equations together determine all variables; they are solved with the equations of motion.
// Guide: docs/guide/algebraic.md
typedef struct kd_algebraic_def {
    const char *equation; // an expression that stays 0; reads what laws of forces can and, by its name alone, itself
    double      start;    // where the search for the first solution begins
    const char *unit;     // shown in results; NULL: none
    unsigned    cookie;   // set by kd_algebraic_def_default
} kd_algebraic_def;

// An input u(t): an expression of t, or driven from outside (value NULL; then it is constant at start).
typedef struct kd_input_def {
    const char *value;
    double      start;
    unsigned    cookie; // set by kd_input_def_default
} kd_input_def;

// ---- discrete parts: sampled controllers, variables, events ---------------------------------------------------------
// A block that is computed at the times offset + k period and holds its outputs in between (block.NAME.out, out1, ..;
// its states block.NAME.STATE). At a sample outputs come first, from inputs now and states of before, then the new
// states. Blocks that are due at the same time are computed in the order of the model, and read the newest values.
// Inputs may read whatever sensors can. Guide: docs/guide/controllers.md
typedef enum kd_block_kind {
    KD_BLOCK_EXPRESSION,  // outputs and next states by expressions of inputs, states (by their names) and paths
    KD_BLOCK_PID,         // kp e + ki z + kd e' of the input e; z' = e summed up, e' filtered over `filter` seconds
    KD_BLOCK_STATE_SPACE, // z_next = A z + B u, y = C z + D u
    KD_BLOCK_TRANSFER,    // numerator / denominator, highest power first; of z, or of s where `continuous` is set
    KD_BLOCK_FMU,         // a Functional Mock-up Unit, FMI 2.0 or 3.0, that goes on from sample to sample
    KD_BLOCK_LIBRARY,     // a controller in a shared object (kardan/controller.h)
    KD_BLOCK_USER,        // a C function
    KD_BLOCK_KIND_COUNT
} kd_block_kind;

#define KD_MAX_SIGNALS 32

typedef enum kd_foreign_kind {
    KD_FOREIGN_ANY,
    KD_FOREIGN_COSIMULATION,
    KD_FOREIGN_EXCHANGE
} kd_foreign_kind; // ANY: the first that it has

typedef struct kd_block_def {
    kd_block_kind kind;
    double        period, offset; // [s]; period NaN: an FMU whose states are states of the model
    int           ninputs, nstates, noutputs;
    const char   *input[KD_MAX_SIGNALS];        // expressions
    const char   *input_name[KD_MAX_SIGNALS];   // in expressions of this block; NULL: u, or u1, u2, ..
    const char   *state_name[KD_MAX_SIGNALS];   // NULL: z, or z1, z2, ..
    double        start[KD_MAX_SIGNALS];        // of the states
    const char   *next[KD_MAX_SIGNALS];         // expression: states behind the sample; NULL: unchanged
    const char   *output[KD_MAX_SIGNALS];       // expression: outputs
    double        start_output[KD_MAX_SIGNALS]; // until the first sample
    double        kp, ki, kd, filter;           // pid; filter 0: none
    double        lower, upper;                 // pid: limits of the output, where the sum stops (-inf, inf: none)
    const double *A, *B, *C, *D;                // state space: row by row; copied; D NULL: 0
    int           nnumerator, ndenominator;     // transfer function
    const double *numerator, *denominator;      // copied
    bool          continuous;                   // transfer function of s, sampled by the trapezoidal rule (Tustin)
    // fmu, library: foreign code, which keeps its states to itself. input_name: inputs of the FMU
    const char     *file, *path;                 // as named, and as a reader has opened it; path NULL: as named
    const char     *output_name[KD_MAX_SIGNALS]; // fmu: its outputs, as out1, out2, ..
    int             nparameters;                 // fmu: values of parameters and of other inputs from the start on
    const char     *parameter_name[KD_MAX_SIGNALS];
    double          parameter[KD_MAX_SIGNALS];
    kd_foreign_kind foreign_kind;
    double          tolerance; // of model exchange, and told to the FMU; NaN: as its description says
    const char     *arguments; // library: a text that it gets
    // user: outputs from inputs and states, then states become the next ones
    kd_eval (*sample)(double t, const double *input, double *state, void *context, double *output);
    void    *context;
    unsigned cookie; // set by kd_block_def_default
} kd_block_def;

// A number that only events change, variable.NAME in expressions.
typedef struct kd_variable_def {
    double   start;
    unsigned cookie; // set by kd_variable_def_default
} kd_variable_def;

typedef enum kd_crossing_kind { KD_CROSSING_BOTH, KD_CROSSING_RISING, KD_CROSSING_FALLING } kd_crossing_kind;

#define KD_MAX_SETTINGS 16

// When the expression passes through zero, targets (variable.NAME, state.NAME, joint.NAME.v of joint coordinates that
// are coordinates of the motion) get new values, which all see the state of before.
typedef struct kd_event_def {
    const char      *when; // reads what sensors can
    kd_crossing_kind crossing;
    int              nsettings;
    const char      *target[KD_MAX_SETTINGS];
    const char      *value[KD_MAX_SETTINGS]; // expressions, as `when`
    bool             stop;                   // the run ends
    const char      *message;                // for the log; NULL: its name
    unsigned         cookie;                 // set by kd_event_def_default
} kd_event_def;

// A named output: any expression of paths, accelerations and reactions included.
typedef struct kd_sensor_def {
    const char *value;
    const char *unit;
    unsigned    cookie; // set by kd_sensor_def_default
} kd_sensor_def;

typedef enum kd_curve_form { KD_CURVE_LINEAR, KD_CURVE_SPLINE, KD_CURVE_AKIMA, KD_CURVE_MONOTONE } kd_curve_form;

typedef enum kd_curve_outside {
    KD_CURVE_EXTRAPOLATE, // along the tangent at the end
    KD_CURVE_HOLD,        // the value at the end
    KD_CURVE_ERROR,       // no value: a run that comes there fails and says so
    KD_CURVE_REPEAT,      // periodic; the last y must be the first one
} kd_curve_outside;

// A table y(x) or z(x, y); in expressions a function of its name.
typedef struct kd_curve_def {
    kd_curve_form    form;
    int              n;
    const double    *x, *y;   // copied
    kd_curve_outside outside; // before the first and behind the last row
    int              ny;      // numbers of y; 0: n
    const double    *z;       // (n ny) row by row, of a table with two arguments: z[i ny + j] at x[i], y[j]; NULL
    unsigned         cookie;  // set by kd_curve_def_default
} kd_curve_def;

// A level line along which something runs, by its curvature as an expression of the arc length s (positive: to the
// left). In expressions it gives the functions NAME_x, NAME_y, NAME_heading and NAME_curvature of the arc length, all
// but the last 0 at the start. Guide: docs/guide/rail.md
typedef struct kd_track_def {
    const char *curvature;
    double      start, end; // range of s; outside of it the line is straight
    double      step;       // length of the pieces that are integrated; corners of the curvature belong on their ends
    unsigned    cookie;     // set by kd_track_def_default
} kd_track_def;

// A force element written in C. It reads measures by path ("force.strut.length", "joint.a.q", "body.b.pos.z"), their
// rates, t and its own states, and answers one generalised force along each measure: on the bodies acts the force whose
// virtual work is sum force[i] * delta measure[i].
typedef struct kd_user_force_def {
    int                nmeasures;
    const char *const *measure; // (nmeasures)
    int                nstates;
    const double      *start; // (nstates); NULL: 0
    // force (nmeasures), state_rate (nstates)
    kd_eval (*eval)(double t, const double *value, const double *rate, const double *state, void *context,
                    double *force, double *state_rate);
    // Derivatives, column-major, rows (nmeasures + nstates), columns (value, rate, state); NULL: by differences.
    kd_eval (*derivative)(double t, const double *value, const double *rate, const double *state, void *context,
                          double *out);
    void        *context;
    kd_stiffness stiff;  // AUTO: not stiff
    unsigned     cookie; // set by kd_user_force_def_default
} kd_user_force_def;

// ---- invariants -----------------------------------------------------------------------------------------------------
// Quantities that the motion does not change, which psf and psf1 keep exactly. Guide: docs/guide/invariants.md
typedef enum kd_invariant_kind {
    KD_INVARIANT_ENERGY,           // of the whole mechanism
    KD_INVARIANT_MOMENTUM,         // its component along axis
    KD_INVARIANT_ANGULAR_MOMENTUM, // the same about point
    KD_INVARIANT_EXPRESSION,       // value, of coordinates, velocities and t
    KD_INVARIANT_KIND_COUNT
} kd_invariant_kind;

typedef struct kd_invariant_def {
    kd_invariant_kind kind;
    const char       *value;
    double            axis[3];  // direction in the world
    double            point[3]; // in the world, default the origin
    double            equals;   // NaN: what it is at the start
    unsigned          cookie;   // set by kd_invariant_def_default
} kd_invariant_def;

// A condition that the start fulfils together with the constraints (S3 IVCOND): value = equals. Written in files as
// start: {conditions: {name: ..}}. Guide: docs/guide/models.md
typedef struct kd_condition_def {
    const char *value;  // expression of coordinates, velocities and t
    double      equals; // default 0
    unsigned    cookie; // set by kd_condition_def_default
} kd_condition_def;

// ---- how to run -----------------------------------------------------------------------------------------------------
// An option of the simulation by its name in the one table (docs/guide/options.md); run: {radau: {max_newton: 7}}
typedef struct kd_run_option {
    const char *name;  // "radau.max_newton"
    const char *word;  // its value, if that is no number; NULL: value
    double      value; // of numbers
} kd_run_option;
#define KD_RUN_OPTIONS_MAX 64

typedef struct kd_run_def { // what the file says under `run`; the command line overrides
    double      t_end;      // default 10
    double      rtol, atol;
    double      max_step;                               // largest step [s]; NaN: no limit
    int         intervals;                              // output intervals, default 500
    const char *coordinates, *formulation, *integrator; // NULL: chosen
    const char *plots[16];                              // channels of the report
    int         nplots;
    double      limit_position, limit_velocity, limit_acceleration; // certificate; NaN: no limit
    double      limit_energy;                                       // relative to the energies involved
    // further options; what is unknown or not allowed is refused where they are used (kd_run_set_options)
    kd_run_option option[KD_RUN_OPTIONS_MAX];
    int           noptions;
    unsigned      cookie; // set by kd_run_def_default
} kd_run_def;

KD_API kd_place          kd_place_default(void); // ground, origin, axes of the world
KD_API kd_body_def       kd_body_def_default(void);
KD_API kd_frame_def      kd_frame_def_default(void);
KD_API kd_joint_def      kd_joint_def_default(kd_joint_kind kind);
KD_API kd_constraint_def kd_constraint_def_default(kd_constraint_kind kind);
KD_API kd_force_def      kd_force_def_default(kd_force_kind kind);
KD_API kd_state_def      kd_state_def_default(kd_state_kind kind);
KD_API kd_algebraic_def  kd_algebraic_def_default(void);
KD_API kd_input_def      kd_input_def_default(void);
KD_API kd_block_def      kd_block_def_default(kd_block_kind kind);
KD_API kd_variable_def   kd_variable_def_default(void);
KD_API kd_event_def      kd_event_def_default(void);
KD_API kd_sensor_def     kd_sensor_def_default(void);
KD_API kd_curve_def      kd_curve_def_default(void);
KD_API kd_track_def      kd_track_def_default(void);
KD_API kd_user_force_def kd_user_force_def_default(void);
KD_API kd_invariant_def  kd_invariant_def_default(kd_invariant_kind kind);
KD_API kd_condition_def  kd_condition_def_default(void);
KD_API kd_run_def        kd_run_def_default(void);

// ---- building -------------------------------------------------------------------------------------------------------
KD_API kd_status kd_model_create(kd_model **model) KD_NODISCARD;
KD_API void      kd_model_destroy(kd_model *model); // NULL is fine

// Names: letters, digits, '_', '-', and an index in parentheses; unique within their section. KD_OK, KD_ERR_ARGUMENT or
// KD_ERR_MODEL (kd_model_message says why), KD_ERR_MEMORY.
KD_API kd_status kd_model_set_title(kd_model *m, const char *title) KD_NODISCARD;
KD_API kd_status kd_model_set_gravity(kd_model *m, const double g[3]) KD_NODISCARD; // default (0, 0, -9.81)
KD_API kd_status kd_model_set_run(kd_model *m, const kd_run_def *run) KD_NODISCARD;
KD_API kd_status kd_model_add_parameter(kd_model *m, const char *name, double value) KD_NODISCARD;
KD_API kd_status kd_model_add_curve(kd_model *m, const char *name, const kd_curve_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_track(kd_model *m, const char *name, const kd_track_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_input(kd_model *m, const char *name, const kd_input_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_body(kd_model *m, const char *name, const kd_body_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_frame(kd_model *m, const char *name, const kd_frame_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_joint(kd_model *m, const char *name, const kd_joint_def *def) KD_NODISCARD;
// A frame of the model as the end of a joint between modules (kd_hook of kardan/realtime.h): a spherical joint to the ground, at the
// origin, which is to be left open.
KD_API kd_status kd_model_add_end(kd_model *m, const char *name, const char *frame) KD_NODISCARD;
KD_API kd_status kd_model_add_constraint(kd_model *m, const char *name, const kd_constraint_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_force(kd_model *m, const char *name, const kd_force_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_user_force(kd_model *m, const char *name, const kd_user_force_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_state(kd_model *m, const char *name, const kd_state_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_algebraic(kd_model *m, const char *name, const kd_algebraic_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_block(kd_model *m, const char *name, const kd_block_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_variable(kd_model *m, const char *name, const kd_variable_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_event(kd_model *m, const char *name, const kd_event_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_sensor(kd_model *m, const char *name, const kd_sensor_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_invariant(kd_model *m, const char *name, const kd_invariant_def *def) KD_NODISCARD;
KD_API kd_status kd_model_add_condition(kd_model *m, const char *name, const kd_condition_def *def) KD_NODISCARD;

// Check names, references, numbers and expressions, and fill in what follows (masses of shapes, places in body frames).
// Afterwards the model is constant. KD_ERR_MODEL: kd_model_message lists what is wrong, one line each, with file, line
// and column where the model came from a file. Warnings (implausible inertia, unused parts) do not fail.
KD_API kd_status         kd_model_finish(kd_model *m) KD_NODISCARD;
KD_API const char       *kd_model_message(const kd_model *m);
KD_API int               kd_model_warning_count(const kd_model *m);
KD_API const char       *kd_model_warning(const kd_model *m, int i);
KD_API const char       *kd_model_title(const kd_model *m);
KD_API const kd_run_def *kd_model_run(const kd_model *m);

// ---- parameters -----------------------------------------------------------------------------------------------------
// Named numbers of a model. Independent ones can be changed in a system (kd_system_set_parameters), and numbers and
// expressions of the model follow; others are computed from them. Guide: docs/guide/parameters.md
typedef struct kd_parameter_info {
    const char *name;
    double      value;
    const char *text;        // as written; NULL: the number
    bool        independent; // false: computed from other parameters
} kd_parameter_info;
// The first `size` of them into list (may be NULL), in the order of the model; answers how many there are.
KD_API int kd_model_parameters(const kd_model *m, kd_parameter_info *list, int size);
KD_API int kd_model_parameter_index(const kd_model *m, const char *name); // -1: unknown

// ---- files ----------------------------------------------------------------------------------------------------------
typedef struct kd_setting { // --set name=value
    const char *name;
    const char *value; // an expression of numbers
} kd_setting;

// Read a model file (YAML). message (size bytes, may be NULL) lists what is wrong, "file:line:column: element: cause".
// The model is finished. settings override parameters.
KD_API kd_status kd_model_read(const char *path, const kd_setting *settings, int nsettings, kd_model **model,
                               char *message, size_t size) KD_NODISCARD;
// The same with further folders of subsystems and other files that a model may refer to, besides its own folder.
// Guide: docs/guide/subsystems.md
KD_API kd_status kd_model_read_with(const char *path, const kd_setting *settings, int nsettings,
                                    const char *const *library, int nlibraries, kd_model **model, char *message,
                                    size_t size) KD_NODISCARD;
// The same, with all that a reader takes. complete is called when everything has been read, before the model is finished: it
// adds what no file can hold (kd_model_add_user_force); if it fails, the model is not made.
typedef struct kd_model_source {
    const char        *path; // NULL: from the text, which can refer to no files
    const char        *text; // (length)
    size_t             length;
    const char        *name;     // of the text, in messages; NULL: "model"
    const kd_setting  *settings; // (nsettings)
    int                nsettings;
    const char *const *libraries; // (nlibraries) folders
    int                nlibraries;
    kd_status (*complete)(kd_model *model, void *context); // may be NULL
    void    *context;
    unsigned cookie; // set by kd_model_source_default
} kd_model_source;
KD_API kd_model_source kd_model_source_default(void);
KD_API kd_status       kd_model_read_by(const kd_model_source *source, kd_model **model, char *message,
                                        size_t size) KD_NODISCARD;
// From a text; it can refer to no files.
KD_API kd_status kd_model_read_text(const char *name, const char *text, size_t length, const kd_setting *settings,
                                    int nsettings, kd_model **model, char *message, size_t size) KD_NODISCARD;
// Write a model as YAML; read back it is the same model. Subsystems stay subsystems, all in this one file.
KD_API kd_status kd_model_write(const kd_model *m, const char *path, char *message, size_t size) KD_NODISCARD;
// The same without subsystems: their parts are elements of the model, where they are, with their full names.
KD_API kd_status kd_model_write_flat(const kd_model *m, const char *path, char *message, size_t size) KD_NODISCARD;

// Import a robot description (URDF). report (may be NULL) receives one line per element: taken, converted or refused.
// opt may be NULL: defaults. Without libxml2: KD_ERR_UNAVAILABLE.  Guide: docs/guide/urdf.md
typedef struct kd_urdf_options {
    bool   free_base;       // the root link floats instead of being fixed to the ground     default false
    double gravity[3];      // default (0, 0, -9.81)
    double limit_stiffness; // joint limits become stops of this stiffness; 0: not taken     default 0
    // folders in which package://NAME/file is looked for, besides that of the description     default none
    const char *const *package; // (npackages)
    int                npackages;
    unsigned           cookie; // set by kd_urdf_options_default
} kd_urdf_options;
KD_API kd_urdf_options kd_urdf_options_default(void);
KD_API kd_status       kd_model_read_urdf(const char *path, const kd_urdf_options *opt, kd_model **model, char *report,
                                          size_t report_size, char *message, size_t size) KD_NODISCARD;
// The same from a text; name stands for the file in messages.
KD_API kd_status kd_model_read_urdf_text(const char *name, const char *text, size_t length, const kd_urdf_options *opt,
                                         kd_model **model, char *report, size_t report_size, char *message,
                                         size_t size) KD_NODISCARD;

KD_EXTERN_C_END
#endif
