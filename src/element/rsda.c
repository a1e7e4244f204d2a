// rsda.c: spring, damper and actuator about an axis: the coordinate of a revolute, screw or cylindrical joint, or the
// angle s about z between two frames, counted over full turns:
//
//     torque f = -(k (s - s0) + c s' + preload) + law(s, s', ..)
#include "element/spring.h"
#include "model/fields.h"

static int angle(kd_system *s, int force)
{
    if (s->model->force[force].joint >= 0) return kd_force_coordinate(s, force);
    int pair = kd_force_pair(s, force);
    // angle about z of `from` by C_yx and C_xx, counted over turns
    return pair < 0 ? -1 : kd_system_angle(s, pair, (kd_entry){1, 0, 1}, (kd_entry){0, 0, 1}, true);
}

static bool turns_about_one_axis(kd_joint_kind kind)
{
    const kd_joint_form form = kd_joint_form_of(kind);
    return kd_joint_has_one_axis(&form, NULL) && form.nturns > 0;
}

static void finish(kd_model *m, int i)
{
    const kd_force *f = &m->force[i];
    if (!f->def.joint) {
        kd_finish_two_places(m, i);
    } else if (kd_finish_joint(m, i) && !turns_about_one_axis(m->joint[f->joint].def.kind)) {
        kd_model_error(m, KD_SECTION_FORCE, i, "joint", "joint '%s' is not revolute, screw or cylindrical",
                       m->joint[f->joint].name);
    }
}

static const char *const locals[] = {"angle", "rate", NULL};

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_FORCE_PLACES_OF(KD_IMAGE_KEEPS_XY, KD_IMAGE_KEEPS_XY),
    {"joint", KD_FIELD_NAME, O(joint), 1, ALL, 0, 0, ANY, "",
     .doc = "the joint that the torque acts in, in place of `from` and `to`", .refers = KD_SCHEMA_JOINT},
    {"angle", KD_FIELD_NUMBER, O(spring.length), 1, ALL, KD_FIELD_MAYBE, NAN, ANY, "rad",
     .doc = "angle of the relaxed spring; not given: as at the start position"},
    {"stiffness", KD_FIELD_NUMBER, O(spring.stiffness), 1, ALL, 0, 0, ANY, "N m/rad",
     .doc = "stiffness"},
    {"damping", KD_FIELD_NUMBER, O(spring.damping), 1, ALL, 0, 0, ANY, "N m s/rad",
     .doc = "damping"},
    {"preload", KD_FIELD_NUMBER, O(spring.preload), 1, ALL, 0, 0, ANY, "N m",
     .doc = "torque at the angle of the relaxed spring, which draws the angle back"},
    {"law", KD_FIELD_LAW, O(spring.law), 1, ALL, 0, 0, ANY, "N m",
     .doc = "further torque along the angle, an expression of angle, rate and of paths", .locals = locals},
    KD_FORCE_STIFF("it does, unless it is a motor without stiffness and damping"),
};
static const kd_readable readings[] = {
    {"angle", "rad", KD_PROPERTY_Q, 0, NULL}, {"rate", "rad/s", KD_PROPERTY_V, 0, NULL}, {"torque", "N m", KD_PROPERTY_FORCE, 0, NULL},
};
// clang-format on

const kd_force_class kd_force_rsda = {
    .element =
        {
            .kind =
                {"rsda",
                 "the same about the axis of a revolute, screw or cylindrical joint, or about z between two frames"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .units = KD_UNITS_OF_TURN,
            .finish = finish,
            .doubt = kd_doubt_spring,
        },
    .law = &kd_spring_along,
    .nchannels = 1,
    .stiff = true,
    .is_motor = kd_spring_is_motor,
    .measure = angle,
    .stiffness = kd_spring_stiffness,
    .make = kd_spring_make,
};
