// block_pid.c: a sampled PID controller of the error e, with the sum z and limits at which it stops:
//
//     y = kp e + ki z + kd d,   z+ = z + T e,   d: the input `rate`, or (e - e_before)/T through the lag filter d' + d = e'
//
// by the implicit Euler rule. States z and, where the rate is that of e itself, e_before, d, and whether there was one.
#include <math.h>

#include "element/block.h"
#include "model/fields.h"

static double rate_of(const kd_block_def *def, const double *u, const double *z, double *z_new)
{
    // with an input for the rate nothing is filtered; z = (sum, last error, filtered rate, one was seen)
    if (def->nstates == 1) return def->ninputs > 1 ? u[1] : 0.0;
    const double d = z[3] > 0.0 ? (def->filter * z[2] + u[0] - z[1]) / (def->filter + def->period) : 0.0;
    z_new[1] = u[0], z_new[2] = d, z_new[3] = 1.0;
    return d;
}

// At a limit the sum goes on only where that leads away from it.
static kd_eval sample(const kd_sampler *b, kd_work *w, double t, const double *u, const double *z, double *y,
                      double *z_new)
{
    const kd_block_def *def = &b->block->def;
    (void)w, (void)t;
    // output by the sum of before, then the sum with this error
    const double free = def->kp * u[0] + def->ki * z[0] + def->kd * rate_of(def, u, z, z_new);
    const double step = def->ki * u[0];
    const bool   wound = (free > def->upper && step > 0.0) || (free < def->lower && step < 0.0);
    y[0] = fmin(def->upper, fmax(def->lower, free));
    z_new[0] = wound ? z[0] : z[0] + def->period * u[0];
    return KD_EVAL_OK;
}

static bool check(kd_model *m, const char *name, const kd_block_def *def)
{
    if (def->lower <= def->upper) return true;
    kd_model_refuse(m, KD_SECTION_BLOCK, name, "upper", "'upper' must not be below 'lower'");
    return false;
}

static void count(kd_block_def *def)
{
    def->ninputs = def->input[1] ? 2 : 1;
    def->nstates = def->input[1] || def->kd == 0.0 ? 1 : 4; // by the difference: error, rate, begun
    def->noutputs = 1;
}

static const char *const states[] = {"z", "error", "rate", "begun"}, *const inputs[] = {"input", "rate", NULL};

// clang-format off
#define O(member) offsetof(kd_block_def, member)
static const kd_field fields[] = {
    KD_BLOCK_TIMES,
    {"input", KD_FIELD_LAW, O(input), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "the error e, an expression of any paths, as in sensors"},
    {"rate", KD_FIELD_LAW, O(input) + sizeof(const char *), 1, ALL, 0, 0, ANY, "",
     .doc = "expression for e'; not given: by the difference from the sample before"},
    {"kp", KD_FIELD_NUMBER, O(kp), 1, ALL, 0, 0, ANY, "",
     .doc = "proportional gain"},
    {"ki", KD_FIELD_NUMBER, O(ki), 1, ALL, 0, 0, ANY, "",
     .doc = "integral gain"},
    {"kd", KD_FIELD_NUMBER, O(kd), 1, ALL, 0, 0, ANY, "",
     .doc = "gain of the rate"},
    {"filter", KD_FIELD_NUMBER, O(filter), 1, ALL, 0, 0, NOT_NEGATIVE, "s",
     .doc = "time constant of a lag in e'; 0: none"},
    {"lower", KD_FIELD_NUMBER, O(lower), 1, ALL, KD_FIELD_INFINITE, -INFINITY, ANY, "",
     .doc = "lower limit of the output, where the sum stops; not given: none"},
    {"upper", KD_FIELD_NUMBER, O(upper), 1, ALL, KD_FIELD_INFINITE, INFINITY, ANY, "",
     .doc = "upper limit of the output, where the sum stops; not given: none"},
    {"start", KD_FIELD_NUMBER, O(start), 1, ALL, 0, 0, ANY, "",
     .doc = "start value of the sum z"},
    KD_BLOCK_START_OUTPUT,
};
// clang-format on

const kd_block_class kd_block_pid = {
    .element =
        {
            .element =
                {
                    .kind = {"pid", "out = kp e + ki z + kd e' of the input e; then z grows by period * e"},
                    .fields = fields,
                    .nfields = COUNT(fields),
                },
            .check = check,
            .count = count,
            .states = states,
            .inputs = inputs,
        },
    .sample = sample,
};
