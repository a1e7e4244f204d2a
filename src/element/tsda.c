// tsda.c: spring, damper and actuator between two points, along their distance s:
//
//     tension T = k (s - s0) + c s' + preload + law(s, s', ..),   f = -T
#include "element/spring.h"
#include "model/fields.h"

static kd_eval eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)rate;
    return kd_spring_eval(load, -1.0, x, w, force);
}

static kd_eval jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    return kd_spring_jacobian(load, -1.0, x, w, J);
}

static void energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    kd_spring_energy(load, -1.0, x, w, sum);
}

static const kd_load_class law = {
    .eval = eval, .jacobian = jacobian, .energy = energy, .reading = kd_read_tension, .cost = KD_SPRING_COST};

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_FORCE_PLACES,
    {"length", KD_FIELD_NUMBER, O(spring.length), 1, ALL, KD_FIELD_MAYBE, NAN, NOT_NEGATIVE, "m",
     .doc = "free length of the spring; not given: as at the start position"},
    {"stiffness", KD_FIELD_NUMBER, O(spring.stiffness), 1, ALL, 0, 0, ANY, "N/m",
     .doc = "stiffness"},
    {"damping", KD_FIELD_NUMBER, O(spring.damping), 1, ALL, 0, 0, ANY, "N s/m",
     .doc = "damping"},
    {"preload", KD_FIELD_NUMBER, O(spring.preload), 1, ALL, 0, 0, ANY, "N",
     .doc = "tension at free length"},
    {"law", KD_FIELD_LAW, O(spring.law), 1, ALL, 0, 0, ANY, "N",
     .doc = "further tension, an expression of length, rate and of paths", .locals = kd_length_locals},
    KD_FORCE_STIFF("it does"),
};
static const kd_readable readings[] = {
    {"length", "m", KD_PROPERTY_Q, 0, NULL}, {"rate", "m/s", KD_PROPERTY_V, 0, NULL}, {"force", "N", KD_PROPERTY_FORCE, 0, NULL},
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
    .law = &law,
    .nchannels = 1,
    .stiff = true,
    .measure = kd_force_length,
    .stiffness = kd_spring_stiffness,
    .make = kd_spring_make,
};
