// kardan/query.h: what a finished model consists of: elements by section, number or name, with kinds, bodies, units,
// definitions, and the paths by which sensors, laws and probes read them.
//
//     for (int i = 0; i < kd_model_count(model, KD_SECTION_JOINT); i++) {
//         kd_element_info joint = kd_model_about(model, KD_SECTION_JOINT, i);
//         printf("%s %s\n", joint.name, joint.kind);                                // "hinge revolute"
//     }
//
// Nothing is computed or allocated. Numbers of elements are those of the order in which they were added. Texts belong to
// the model. Ask kd_system_model(system) for the values after a change of parameters. Guide: docs/guide/queries.md
#ifndef KARDAN_QUERY_H
#define KARDAN_QUERY_H

#include <kardan/model.h>

KD_EXTERN_C_BEGIN

typedef enum kd_section {
    KD_SECTION_BODY,
    KD_SECTION_FRAME,
    KD_SECTION_JOINT,
    KD_SECTION_FORCE,
    KD_SECTION_CONSTRAINT,
    KD_SECTION_STATE,
    KD_SECTION_INPUT,
    KD_SECTION_SENSOR,
    KD_SECTION_BLOCK,
    KD_SECTION_VARIABLE,
    KD_SECTION_ALGEBRAIC,
    KD_SECTION_ENERGY,     // paths of the whole mechanism, energy.kinetic; it has no elements
    KD_SECTION_USER_FORCE, // this one and those below have no paths
    KD_SECTION_PARAMETER,
    KD_SECTION_CURVE,
    KD_SECTION_TRACK,
    KD_SECTION_EVENT,
    KD_SECTION_SUBSYSTEM,
    KD_SECTION_INVARIANT,
    KD_SECTION_CONDITION, // of the start
    KD_SECTION_COUNT
} kd_section;

KD_API const char *kd_section_word(kd_section section); // "body"; "" for a number that is none

// ---- elements -------------------------------------------------------------------------------------------------------
KD_API int         kd_model_count(const kd_model *m, kd_section section);
KD_API const char *kd_model_name(const kd_model *m, kd_section section, int i); // "" for a number that is none
KD_API int         kd_model_find(const kd_model *m, kd_section section, const char *name); // -1: unknown

enum { KD_GROUND = -1, KD_NO_BODY = -2 };

typedef struct kd_element_info {
    const char *name; // "": there is no such element
    const char *kind; // as `type` in model files: "revolute", "tsda"; of a curve its form; "": the section has none
    const char *unit; // of what its name alone reads (states, algebraic variables, sensors); "": none, or not known
    const char
        *text; // expression of a computed parameter, input, state, sensor, track; condition of an event; equation of an
               // algebraic variable; NULL: none
    double      value;    // of a parameter; at the start of an input, state, variable; NaN: it has none
    int         from, to; // bodies of a joint, constraint, force: number, KD_GROUND, KD_NO_BODY; `to` alone: of a frame
    int         joint;    // that a force acts in; -1
    const char *file;     // where it was written; NULL: made in C
    int         line, column;
} kd_element_info;
KD_API kd_element_info kd_model_about(const kd_model *m, kd_section section, int i);

// Definitions, as they were given, with what finish has filled in: masses, centres and inertias of bodies, free lengths
// of springs at the design position; all fields: kardan/model.h. NULL for a number that is none.
KD_API const kd_body_def       *kd_model_body_def(const kd_model *m, int i);
KD_API const kd_frame_def      *kd_model_frame_def(const kd_model *m, int i);
KD_API const kd_joint_def      *kd_model_joint_def(const kd_model *m, int i);
KD_API const kd_force_def      *kd_model_force_def(const kd_model *m, int i);
KD_API const kd_constraint_def *kd_model_constraint_def(const kd_model *m, int i);
KD_API const kd_state_def      *kd_model_state_def(const kd_model *m, int i);
KD_API const kd_input_def      *kd_model_input_def(const kd_model *m, int i);
KD_API const kd_sensor_def     *kd_model_sensor_def(const kd_model *m, int i);
KD_API const kd_block_def      *kd_model_block_def(const kd_model *m, int i);
KD_API const kd_variable_def   *kd_model_variable_def(const kd_model *m, int i);
KD_API const kd_algebraic_def  *kd_model_algebraic_def(const kd_model *m, int i);
KD_API const kd_user_force_def *kd_model_user_force_def(const kd_model *m, int i);
KD_API const kd_curve_def      *kd_model_curve_def(const kd_model *m, int i);
KD_API const kd_track_def      *kd_model_track_def(const kd_model *m, int i);
KD_API const kd_event_def      *kd_model_event_def(const kd_model *m, int i);
KD_API const char              *kd_shape_word(kd_shape_kind kind); // of kd_body_def.shape: "box"; "": none
KD_API void                     kd_model_gravity(const kd_model *m, double g[3]);
// Parameters: kd_model_parameters (kardan/model.h)

// ---- coordinates of joints ------------------------------------------------------------------------------------------
// Scalar ones, which have names; the quaternion of a ball (spherical, free) is not among them.
typedef struct kd_coordinate_info {
    const char *name;      // "q"; of several "q1" ..: joint.NAME.q1 is a path
    const char *rate;      // "v"
    const char *unit;      // "rad", "m"
    const char *rate_unit; // "rad/s"
    const char *motion;    // prescribed by this expression; NULL: free
    bool        angle;     //
} kd_coordinate_info;
KD_API int                kd_model_coordinates(const kd_model *m, int joint); // how many; 0 for a number that is none
KD_API bool               kd_model_has_ball(const kd_model *m, int joint);    // is there a quaternion behind them?
KD_API kd_coordinate_info kd_model_coordinate(const kd_model *m, int joint, int i); // name "": there is none

// ---- paths ----------------------------------------------------------------------------------------------------------
// Names of numbers of an element, "joint.hinge.q", "force.strut.length": sensors, laws, events, --plots and probes take
// them. Number k into text (size bytes), as snprintf: answers its length; 0: there are not more than k.
KD_API size_t kd_model_path(const kd_model *m, kd_section section, int i, int k, char *text, size_t size);

typedef struct kd_path_info {
    kd_section  section;
    int         element;   // its number; energy: 0
    const char *unit;      // "": none, or not known
    bool        kinematic; // laws may read it; not so accelerations, reactions, forces, sensors, energies
} kd_path_info;
// What a path is. KD_ERR_MODEL: none of this model; why (size bytes, may be NULL) says what it could have been.
KD_API kd_status kd_model_path_about(const kd_model *m, const char *path, kd_path_info *info, char *why,
                                     size_t size) KD_NODISCARD;

KD_EXTERN_C_END
#endif
