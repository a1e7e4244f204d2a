// unit.c: a block without period: a unit of model exchange as a part of the equations of motion.
//
//     r' = f(t, r, u),  block.NAME.out = g(t, r, u),  inputs u by expressions of the motion
//
// Its events are those of the model: indicators that change their sign, times that it tells, ends of steps at which it asks for one.
// Variables of its load are its states, then what its inputs read.
#include "element/unit.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "foreign/continuous.h"

static kd_eval answer_of(kd_status status)
{
    return status >= 0 ? KD_EVAL_OK : KD_EVAL_RETRY; // with a reason
}

// Where it is evaluated: epoch, time, inputs and states from the values of all variables
static kd_unit_point point_of(const kd_load *load, const double *x, kd_work *w, double u[KD_MAX_SIGNALS])
{
    const kd_sampler *b = load->unit;
    for (int i = 0; i < b->block->def.ninputs; i++) u[i] = kd_law_value(b->input[i], x, w);
    for (int i = 0; i < load->nstates; i++) w->unit_x[i] = x[load->variable[i]];
    return (kd_unit_point){{x[b->epoch[0]], x[b->epoch[1]]}, w->t, u, w->unit_x};
}

// Systems that look for the start have no units that run
static bool rests(const kd_load *load, const kd_work *w)
{
    return w->system->for_start || !(load->unit->continuous->has_started || load->unit->continuous->is_broken);
}

// ---- the law --------------------------------------------------------------------------------------------------------

static kd_eval eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    kd_continuous *unit = load->unit->continuous;
    kd_unit_values values;
    double         u[KD_MAX_SIGNALS];
    (void)force;
    for (int i = 0; i < load->nstates; i++) rate[i] = 0;
    if (rests(load, w)) return KD_EVAL_OK;
    const kd_unit_point at = point_of(load, x, w, u);
    const kd_eval       answer = answer_of(unit->class->values(unit, &at, &values));
    for (int i = 0; i < load->nstates && answer == KD_EVAL_OK; i++) rate[i] = values.dx[i];
    return answer;
}

kd_eval kd_unit_outputs(const kd_load *load, const double *x, kd_work *w, const double **y)
{
    static const double none[KD_MAX_SIGNALS];
    kd_continuous      *unit = load->unit->continuous;
    kd_unit_values      values;
    double              u[KD_MAX_SIGNALS];
    *y = none;
    if (rests(load, w)) return KD_EVAL_OK;
    const kd_unit_point at = point_of(load, x, w, u);
    const kd_eval       answer = answer_of(unit->class->values(unit, &at, &values));
    if (answer == KD_EVAL_OK) *y = values.y;
    return answer;
}

kd_eval kd_unit_slopes(const kd_load *load, const double *x, kd_work *w, const double **J)
{
    kd_continuous *unit = load->unit->continuous;
    double         u[KD_MAX_SIGNALS];
    *J = NULL;
    if (rests(load, w)) return KD_EVAL_OK;
    const kd_unit_point at = point_of(load, x, w, u);
    return answer_of(unit->class->slopes(unit, &at, J));
}

// f by x where the states are variables, f by u times the derivatives of the inputs
static kd_eval jacobian(const kd_load *load, const double *x, kd_work *w, double *out)
{
    const kd_sampler *b = load->unit;
    const int         n = load->nstates, rows = n + b->block->def.noutputs;
    const double     *J;
    const kd_eval     answer = kd_unit_slopes(load, x, w, &J);
    if (answer != KD_EVAL_OK || !J) return answer;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) kd_law_put(load, i, j, J[i + j * rows], out);
        for (int k = 0; k < b->block->def.ninputs; k++)
            kd_law_gradient(load, i, b->input[k], J[i + (n + k) * rows], x, w, out);
    }
    return KD_EVAL_OK;
}

static bool notice(const kd_load *load, const double *x, kd_work *w, char *text, size_t size)
{
    (void)x, (void)w;
    if (load->unit->continuous->has_slopes) return false;
    kd_text(text, size, "the FMU has no directional derivatives; its Jacobian is taken by differences");
    return true;
}

void kd_unit_start(const kd_load *load, kd_work *w, double *r)
{
    kd_continuous *unit = load->unit->continuous;
    double         u[KD_MAX_SIGNALS];
    (void)point_of(load, w->slot, w, u);
    // a start that fails is told by the first evaluation
    if (unit->class->start(unit, w->t, u, r) < 0)
        for (int i = 0; i < load->nstates; i++) r[i] = 0;
}

static const kd_load_class law = {.eval = eval,
                                  .jacobian = jacobian,
                                  .energy = kd_no_energy,
                                  .notice = notice,
                                  .effect = KD_EFFECT_RATE,
                                  .cost = {.operations = 1000, .functions = 10}};

// ---- events ---------------------------------------------------------------------------------------------------------

// Indicators, t - (time of the next event), and one that never changes, whose event ends of steps ask for
kd_eval kd_unit_switching(const kd_load *load, kd_work *w, double *out)
{
    kd_continuous *unit = load->unit->continuous;
    const int      n = unit->nindicators;
    kd_unit_values values;
    double         u[KD_MAX_SIGNALS], next = HUGE_VAL;
    for (int i = 0; i < n + 2; i++) out[i] = 1;
    if (rests(load, w)) return KD_EVAL_OK;
    const kd_unit_point at = point_of(load, w->slot, w, u);
    kd_eval             answer = answer_of(unit->class->values(unit, &at, &values));
    // 0 belongs to the side below, as the standard says: it is there already
    for (int i = 0; i < n && answer == KD_EVAL_OK; i++) out[i] = values.z[i];
    if (answer == KD_EVAL_OK) answer = answer_of(unit->class->next(unit, at.epoch, &next));
    out[n] = isfinite(next) ? w->t - next : -1;
    return answer;
}

kd_eval kd_unit_event(const kd_load *load, kd_work *w, kd_jump *jump)
{
    kd_continuous      *unit = load->unit->continuous;
    double              u[KD_MAX_SIGNALS];
    kd_epoch            epoch;
    bool                stop = false;
    const kd_unit_point at = point_of(load, w->slot, w, u);
    const kd_eval       answer = answer_of(unit->class->event(unit, &at, &epoch, jump->r + load->state, &stop));
    if (answer != KD_EVAL_OK) return answer;
    jump->z[load->unit->z] = epoch.count;
    jump->z[load->unit->z + 1] = epoch.t;
    jump->moved = true;
    jump->stop = jump->stop || stop;
    return KD_EVAL_OK;
}

kd_eval kd_unit_completed(const kd_load *load, kd_work *w, bool *event)
{
    kd_continuous *unit = load->unit->continuous;
    double         u[KD_MAX_SIGNALS];
    *event = false;
    if (rests(load, w)) return KD_EVAL_OK;
    const kd_unit_point at = point_of(load, w->slot, w, u);
    return answer_of(unit->class->completed(unit, &at, event));
}

// ---- making it ------------------------------------------------------------------------------------------------------

void kd_load_make_unit(kd_load_builder *b, int block)
{
    kd_system       *s = b->s;
    kd_sampler      *sampler = &s->block[block];
    kd_block_builder builder = {.s = s, .number = block, .sampler = sampler, .message = b->message, .size = b->size};
    b->status = kd_block_open_continuous(&builder);
    if (b->status != KD_OK || !kd_load_start(b, &law, sampler->block->name, 0)) return;
    // how fast foreign code is nobody knows: always among the stiff ones
    b->load->unit = sampler;
    b->load->stiff = true;
    sampler->load = s->nloads - 1;
    kd_load_add_states(b, sampler->continuous->nstates);
    // count and time of its events, and its indicators as switching functions
    for (int i = 0; i < 2; i++) {
        sampler->epoch[i] = kd_system_slot(s, KD_SLOT_DISCRETE, sampler->z + i, 0);
        if (sampler->epoch[i] < 0) b->status = KD_ERR_MEMORY;
    }
    sampler->functions = s->nfunctions;
    s->nfunctions += sampler->continuous->nindicators + 2;
}
