// instants.c: samples and events of a model as they happen: when blocks are due, what they compute, what events change.
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "element/block.h"
#include "foreign/continuous.h"
#include "system/system.h"

// ---- sampling times -------------------------------------------------------------------------------------------------
// offset + k period with a whole number k: no error grows. k of the next sample is kept in z.

#define CLOSE (8.0 * DBL_EPSILON) // times that differ by this part are the same
#define AHEAD 2e-6                // part of a period by which steps of fixed size may come before a sample

// time of sample k
static double time_of(const kd_block_def *def, double k)
{
    return def->offset + k * def->period;
}

// The first sample behind t
static double number_behind(const kd_block_def *def, double t)
{
    double k = fmax(0.0, floor((t - def->offset) / def->period));
    for (int i = 0; i < 3 && time_of(def, k) <= t; i++) k += 1.0;
    return k;
}

// times within rounding count as one: t itself is due
static double after(double t)
{
    return t + CLOSE * fabs(t);
}

// where the number of the next sample stands in z
static int counter_of(const kd_sampler *b)
{
    return b->z + b->block->def.noutputs + b->block->def.nstates;
}

void kd_system_start_z(const kd_system *s, double t, double *z)
{
    const kd_model *m = s->model;
    for (int i = 0; i < m->nblocks; i++) {
        const kd_block_def *def = &m->block[i].def;
        double             *of = z + s->block[i].z;
        if (kd_block_is_continuous(def)) {
            of[0] = of[1] = 0.0; // no event so far
            continue;
        }
        memcpy(of, def->start_output, (size_t)def->noutputs * sizeof *of);
        memcpy(of + def->noutputs, def->start, (size_t)def->nstates * sizeof *of);
        // a sample at t itself is still to come
        z[counter_of(&s->block[i])] = number_behind(def, t - CLOSE * fabs(t) - DBL_MIN);
    }
    for (int i = 0; i < m->nvariables; i++) z[s->variable_z[i]] = m->variable[i].def.start;
}

double kd_work_next_sample(const kd_point *x, void *context)
{
    const kd_system *s = ((const kd_work *)context)->system;
    double           next = HUGE_VAL;
    for (int i = 0; i < s->model->nblocks; i++) {
        const kd_block_def *def = &s->model->block[i].def;
        if (s->block[i].continuous) continue;
        double t = time_of(def, x->z[counter_of(&s->block[i])]);
        // one that is past: the next one behind t
        if (t <= x->t) t = time_of(def, number_behind(def, x->t));
        next = fmin(next, t);
    }
    return next > x->t ? next : nextafter(x->t, HUGE_VAL);
}

// Up to which time blocks are due now: t, or a little later where none is and the next one is almost there.
static double due_until(const kd_system *s, const kd_point *x)
{
    double earliest = HUGE_VAL, period = 0.0;
    for (int i = 0; i < s->model->nblocks; i++) {
        const kd_block_def *def = &s->model->block[i].def;
        if (s->block[i].continuous) continue;
        const double t = time_of(def, x->z[counter_of(&s->block[i])]);
        if (t < earliest) earliest = t, period = def->period;
    }
    return earliest > after(x->t) && earliest <= x->t + AHEAD * period ? after(earliest) : after(x->t);
}

// ---- what expressions read ------------------------------------------------------------------------------------------

// as far as these expressions read (kd_system_discrete_readings)
static kd_eval bring(kd_work *w, const kd_point *x, const kd_reading *r)
{
    if (r->forces) {
        const kd_eval answer = kd_work_forces(w, x);
        if (answer != KD_EVAL_OK) return answer;
    } else {
        kd_work_velocity(w, x, r->fast ? KD_FOR_INSTANTS : KD_FOR_ALL);
    }
    if (r->sensors) kd_work_sensors(w, w->sensor);
    return KD_EVAL_OK;
}

static double value_of(const kd_expr *e, kd_work *w)
{
    return kd_expr_value(e, w->slot, w->expr_work);
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

// Outputs from inputs now and states of before, then the next states.
static kd_eval sample(const kd_sampler *b, kd_work *w, double t, double *z)
{
    const kd_block_def *def = &b->block->def;
    double              u[KD_MAX_SIGNALS], before[KD_MAX_SIGNALS], y[KD_MAX_SIGNALS];
    double             *state = z + b->z + def->noutputs;
    // inputs at this instant; outputs and states in z are overwritten behind them
    for (int i = 0; i < def->ninputs; i++) u[i] = value_of(b->input[i], w);
    memcpy(before, state, (size_t)def->nstates * sizeof *before);
    memcpy(y, z + b->z, (size_t)def->noutputs * sizeof *y);
    const kd_eval answer = kd_blocks_by_kind[def->kind]->sample(b, w, t, u, before, y, state);
    memcpy(z + b->z, y, (size_t)def->noutputs * sizeof *y);
    return answer;
}

// The blocks behind see the new values of this one, through controllers and sensors, too.
static void show(const kd_sampler *b, kd_work *w, const kd_point *x, const double *z)
{
    const bool seen = kd_work_show(w, x, z, b->z, counter_of(b) + 1);
    if (seen && w->system->at_samples.sensors) kd_work_sensors(w, w->sensor);
}

kd_eval kd_work_discrete(const kd_point *x, void *context, double *z_new)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    const double     until = due_until(s, x);
    kd_eval          answer = bring(w, x, &s->at_samples);
    // in the order of the model; z_new counts what was sampled, so that a second call changes nothing
    for (int i = 0; i < s->model->nblocks && answer == KD_EVAL_OK; i++) {
        const kd_block_def *def = &s->model->block[i].def;
        if (s->block[i].continuous) continue;
        double *k = &z_new[counter_of(&s->block[i])];
        if (time_of(def, *k) > until) continue;
        answer = sample(&s->block[i], w, x->t, z_new);
        *k = fmax(*k + 1.0, number_behind(def, until));
        show(&s->block[i], w, x, z_new);
    }
    // variables show new z: nothing is up to date for x
    kd_work_forget(w);
    return answer;
}

// ---- events ---------------------------------------------------------------------------------------------------------

kd_eval kd_work_switching(const kd_point *x, void *context, double *out)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_eval          answer = bring(w, x, &s->at_switches);
    for (int i = 0; i < s->model->nevents && answer == KD_EVAL_OK; i++) out[i] = value_of(s->event[i].when, w);
    for (int i = s->model->nstates; i < s->ncontrollers && answer == KD_EVAL_OK; i++)
        answer = kd_unit_switching(&s->load[i], w, out + s->load[i].unit->functions);
    return answer;
}

static bool happens(const kd_event_def *def, signed char crossed)
{
    return (crossed > 0 && def->crossing != KD_CROSSING_FALLING) ||
           (crossed < 0 && def->crossing != KD_CROSSING_RISING);
}

// into z, r or v; only z leaves the state consistent
static void set(const kd_trigger *e, const double *value, kd_jump *jump)
{
    for (int k = 0; k < e->event->def.nsettings; k++) {
        double *of = e->target[k] == KD_TARGET_Z ? jump->z : e->target[k] == KD_TARGET_R ? jump->r : jump->v;
        of[e->place[k]] = value[k];
        jump->moved = jump->moved || e->target[k] != KD_TARGET_Z;
    }
}

// All that happen say so: by their messages, or by their names.
static void say(const kd_system *s, const signed char *crossed, kd_jump *jump)
{
    jump->text[0] = '\0';
    for (int i = 0; i < s->model->nevents; i++) {
        const kd_model_event *e = &s->model->event[i];
        if (!happens(&e->def, crossed[i])) continue;
        kd_text_append(jump->text, sizeof jump->text, "%s%s", jump->text[0] ? "; " : "",
                       e->def.message ? e->def.message : e->name);
    }
}

// Blocks without period pass one event each for all of their functions
static kd_eval pass_units(kd_work *w, const signed char *crossed, kd_jump *jump)
{
    const kd_system *s = w->system;
    kd_eval          answer = KD_EVAL_OK;
    for (int i = s->model->nstates; i < s->ncontrollers && answer == KD_EVAL_OK; i++) {
        const kd_load *unit = &s->load[i];
        bool           passes = false;
        for (int k = 0; k < unit->unit->continuous->nindicators + 2; k++)
            passes = passes || crossed[unit->unit->functions + k];
        if (!passes) continue;
        answer = kd_unit_event(unit, w, jump);
        kd_text_append(jump->text, sizeof jump->text, "%sevent of block '%s'", jump->text[0] ? "; " : "", unit->name);
    }
    return answer;
}

// The end of a step is told to all of them
kd_eval kd_work_completed(const kd_point *x, void *context, signed char *crossed)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_eval          answer = bring(w, x, &s->at_switches);
    for (int i = s->model->nstates; i < s->ncontrollers && answer == KD_EVAL_OK; i++) {
        const kd_sampler *unit = s->load[i].unit;
        bool              event;
        answer = kd_unit_completed(&s->load[i], w, &event);
        if (event) crossed[unit->functions + unit->continuous->nindicators + 1] = -1;
    }
    return answer;
}

kd_eval kd_work_event(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    const kd_eval    answer = bring(w, x, &s->at_events);
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < s->model->nevents; i++) // simulations bring them one by one; all of one see the state of before
        for (int k = 0; k < s->model->event[i].def.nsettings; k++)
            if (happens(&s->model->event[i].def, crossed[i]))
                w->setting[KD_MAX_SETTINGS * i + k] = value_of(s->event[i].value[k], w);
    // all values are known: now they may be set
    for (int i = 0; i < s->model->nevents; i++) {
        const kd_event_def *def = &s->model->event[i].def;
        if (!happens(def, crossed[i])) continue;
        set(&s->event[i], w->setting + KD_MAX_SETTINGS * i, jump);
        jump->stop = jump->stop || def->stop;
    }
    say(s, crossed, jump);
    return pass_units(w, crossed, jump);
}
