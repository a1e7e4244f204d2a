// joint_spring.c: spring, damper and actuator along a coordinate q of a joint, or a motor that follows its law:
//
//     f = -(k (q - q0) + c v + preload) + law(q, v, ..)
#include "element/spring.h"
#include "model/fields.h"

static void finish(kd_model *m, int i)
{
    (void)kd_finish_joint(m, i);
}

static const char *const locals[] = {"q", "v", NULL};

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_FORCE_JOINT,
    {"rest", KD_FIELD_NUMBER, O(spring.length), 1, ALL, KD_FIELD_MAYBE, NAN, ANY, "m|rad",
     .doc = "coordinate of the relaxed spring; not given: as at the start position"},
    {"stiffness", KD_FIELD_NUMBER, O(spring.stiffness), 1, ALL, 0, 0, ANY, "N/m|N m/rad",
     .doc = "stiffness"},
    {"damping", KD_FIELD_NUMBER, O(spring.damping), 1, ALL, 0, 0, ANY, "N s/m|N m s/rad",
     .doc = "damping"},
    {"preload", KD_FIELD_NUMBER, O(spring.preload), 1, ALL, 0, 0, ANY, "N|N m",
     .doc = "force at rest, which draws the coordinate back"},
    {"law", KD_FIELD_LAW, O(spring.law), 1, ALL, 0, 0, ANY, "N|N m",
     .doc = "further force along the coordinate, an expression of q, v and of paths", .locals = locals},
    KD_FORCE_STIFF("it does, unless it is a motor without stiffness and damping"),
};
static const kd_readable readings[] = {
    {"q", "m|rad", KD_PROPERTY_Q, 0, NULL}, {"v", "m/s|rad/s", KD_PROPERTY_V, 0, NULL}, {"force", "N|N m", KD_PROPERTY_FORCE, 0, NULL},
};
// clang-format on

const kd_force_class kd_force_joint_spring = {
    .element =
        {
            .kind = {"joint_spring", "spring, damper and actuator along a joint coordinate"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .units = KD_UNITS_OF_JOINT,
            .finish = finish,
            .doubt = kd_doubt_spring,
        },
    .law = &kd_spring_along,
    .nchannels = 1,
    .stiff = true,
    .is_motor = kd_spring_is_motor,
    .measure = kd_force_coordinate,
    .stiffness = kd_spring_stiffness,
    .make = kd_spring_make,
};
