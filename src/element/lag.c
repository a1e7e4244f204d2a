// lag.c: a state that follows its input: T x' = input - x
#include "element/state.h"
#include "model/fields.h"

static kd_eval eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    double input = kd_law_value(load->law[0], x, w);
    (void)force;
    rate[0] = (input - x[load->variable[0]]) / load->state_def->time_constant;
    return KD_EVAL_OK;
}

static kd_eval jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    double T = load->state_def->time_constant;
    kd_law_put(load, 0, 0, -1.0 / T, J);
    kd_law_gradient(load, 0, load->law[0], 1.0 / T, x, w, J);
    return KD_EVAL_OK;
}

static double factor(const kd_load *load)
{
    return 1.0 / load->state_def->time_constant;
}

// clang-format off
#define O(member) offsetof(kd_state_def, member)
static const kd_field fields[] = {
    {"input", KD_FIELD_LAW, O(input), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression of paths"},
    {"time_constant", KD_FIELD_NUMBER, O(time_constant), 1, ALL, KD_FIELD_REQUIRED, 1, POSITIVE, "s",
     .doc = "time constant"},
    {"start", KD_FIELD_NUMBER, O(start), 1, ALL, 0, 0, ANY, "",
     .doc = "start value of x"},
    {"unit", KD_FIELD_TEXT, O(unit), 1, ALL, 0, 0, ANY, "",
     .doc = "unit of x, shown in results; not given: a lag of a path has the unit of that"},
};
static const kd_readable readings[] = {{"", "", KD_PROPERTY_VALUE, 0, NULL}};
// clang-format on

const kd_state_class kd_state_lag = {
    .element =
        {
            .kind = {"lag", "time_constant * x' = input - x"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .follows_input = true,
        },
    .law = {.eval = eval,
            .jacobian = jacobian,
            .energy = kd_no_energy,
            .start = kd_state_start,
            .effect = KD_EFFECT_RATE,
            .factor = factor,
            .cost = {.operations = 3, .functions = 1}},
};
