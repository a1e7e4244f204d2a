// pi.c: a controller: x' = input; state.NAME.out = kp * input + ki * x
#include "element/state.h"
#include "model/fields.h"

static void output(const kd_state_def *def, double feed[2])
{
    feed[0] = def->kp;
    feed[1] = def->ki;
}

// clang-format off
#define O(member) offsetof(kd_state_def, member)
static const kd_field fields[] = {
    {"input", KD_FIELD_LAW, O(input), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression of paths"},
    {"kp", KD_FIELD_NUMBER, O(kp), 1, ALL, 0, 0, ANY, "",
     .doc = "proportional gain"},
    {"ki", KD_FIELD_NUMBER, O(ki), 1, ALL, 0, 0, ANY, "",
     .doc = "integral gain"},
    {"start", KD_FIELD_NUMBER, O(start), 1, ALL, 0, 0, ANY, "",
     .doc = "start value of x"},
    {"unit", KD_FIELD_TEXT, O(unit), 1, ALL, 0, 0, ANY, "",
     .doc = "unit of x, shown in results; not given: a lag of a path has the unit of that"},
};
static const kd_readable readings[] = {{"", "", KD_PROPERTY_VALUE, 0, NULL}, {"out", "", KD_PROPERTY_OUT, 0, NULL}};
// clang-format on

const kd_state_class kd_state_pi = {
    .element =
        {
            .kind = {"pi", "x' = input; state.NAME.out = kp * input + ki * x"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
        },
    .law = {.eval = kd_integrate,
            .jacobian = kd_integrate_jacobian,
            .energy = kd_no_energy,
            .start = kd_state_start,
            .effect = KD_EFFECT_RATE,
            .cost = {.operations = 3, .functions = 1}},
    .output = output,
};
