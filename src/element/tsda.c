// tsda.c: spring, damper and actuator between two points, along their distance s:
//
//     tension T = k (s - s0) + c s' + preload + law(s, s', ..),   f = -T
#include "element/spring.h"
#include "model/fields.h"

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_FORCE_PLACES,
    KD_FREE_LENGTH(spring),
    {"stiffness", KD_FIELD_NUMBER, O(spring.stiffness), 1, ALL, 0, 0, ANY, "N/m",
     .doc = "stiffness"},
    {"damping", KD_FIELD_NUMBER, O(spring.damping), 1, ALL, 0, 0, ANY, "N s/m",
     .doc = "damping"},
    KD_FREE_TENSION(spring),
    KD_FORCE_STIFF("it does"),
};
static const kd_readable readings[] = {
    KD_LENGTH_READINGS,
};
// clang-format on

const kd_force_class kd_force_tsda = {
    .element =
        {
            .kind = {"tsda", "spring, damper and actuator between two points; tension is positive"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .finish = kd_finish_two_places,
            .doubt = kd_doubt_spring,
            .look = {.between = KD_LOOK_COIL},
        },
    .law = &kd_spring_tension,
    .nchannels = 1,
    .stiff = true,
    .measure = kd_force_length,
    .stiffness = kd_spring_stiffness,
    .make = kd_spring_make,
};
