// ode.c: a state whose rate is its input: x' = input
#include "element/state.h"
#include "model/fields.h"

kd_eval kd_integrate(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)force;
    rate[0] = kd_law_value(load->law[0], x, w);
    return KD_EVAL_OK;
}

kd_eval kd_integrate_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    kd_law_gradient(load, 0, load->law[0], 1.0, x, w, J);
    return KD_EVAL_OK;
}

void kd_state_start(const kd_load *load, const double *x, kd_work *w, double *r)
{
    (void)x, (void)w;
    r[0] = load->state_def->start;
}

// clang-format off
#define O(member) offsetof(kd_state_def, member)
static const kd_field fields[] = {
    {"input", KD_FIELD_LAW, O(input), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression of paths"},
    {"start", KD_FIELD_NUMBER, O(start), 1, ALL, 0, 0, ANY, "",
     .doc = "start value of x"},
    {"unit", KD_FIELD_TEXT, O(unit), 1, ALL, 0, 0, ANY, "",
     .doc = "unit of x, shown in results; not given: a lag of a path has the unit of that"},
};
static const kd_readable readings[] = {{"", "", KD_PROPERTY_VALUE, 0, NULL}};
// clang-format on

const kd_state_class kd_state_ode = {
    .element =
        {
            .kind = {"ode", "x' = input"},
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
};
