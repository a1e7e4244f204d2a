// discrete.c: sampled blocks, variables and events of a model: their places in z, expressions. What blocks compute: element/block.h
#include "system/discrete.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "element/block.h"
#include "foreign/continuous.h"
#include "system/system.h"

// ---- places ---------------------------------------------------------------------------------------------------------

int kd_system_add_z(kd_system *s, int count)
{
    const int first = s->nz;
    s->nz += count;
    return first;
}

kd_status kd_system_discrete_places(kd_system *s)
{
    const kd_model *m = s->model;
    s->block = kd_arena_cut(&s->arena, (size_t)m->nblocks, sizeof *s->block);
    s->event = kd_arena_cut(&s->arena, (size_t)m->nevents, sizeof *s->event);
    s->variable_z = kd_cut_int(&s->arena, m->nvariables);
    if (s->arena.failed) return KD_ERR_MEMORY;
    // a block: outputs, states, number of its next sample, or number and time of events; then one place for each variable
    for (int i = 0; i < m->nblocks; i++) {
        const kd_block_def *def = &m->block[i].def;
        const bool          sampled = !kd_block_is_continuous(def);
        s->block[i].block = &m->block[i];
        s->block[i].z = kd_system_add_z(s, sampled ? def->noutputs + def->nstates + 1 : 2);
        s->nsampled += sampled;
    }
    for (int i = 0; i < m->nvariables; i++) s->variable_z[i] = kd_system_add_z(s, 1);
    return KD_OK;
}

// ---- numbers --------------------------------------------------------------------------------------------------------

void kd_system_set_blocks(kd_system *s)
{
    for (int i = 0; i < s->model->nblocks && !s->for_start; i++) {
        kd_sampler *b = &s->block[i];
        const kd_block_class *class = kd_blocks_by_kind[b->block->def.kind];
        if (class->set) class->set(b);
    }
}

// ---- expressions ----------------------------------------------------------------------------------------------------

// whose text is compiled, and where a failure is told
typedef struct text_of {
    const char      *name;
    const kd_source *source;
    char            *message;
    size_t           size;
} text_of;

static kd_status compile(kd_system *s, const text_of *of, const char *text, const kd_local *local, int nlocal,
                         kd_expr **expr)
{
    if (!text) return KD_OK;
    return kd_system_compile(s, text, of->name, of->source, true, local, nlocal, expr, of->message, of->size);
}

static kd_status make_block(kd_system *s, int i, char *message, size_t size)
{
    kd_sampler         *b = &s->block[i];
    const kd_block_def *def = &b->block->def;
    const text_of       of = {b->block->name, &b->block->source, message, size};
    kd_status           status = KD_OK;
    // inputs read the model; the rest is of its class
    for (int k = 0; k < def->ninputs && status == KD_OK; k++)
        status = compile(s, &of, def->input[k], NULL, 0, &b->input[k]);
    if (status != KD_OK) return status;
    const kd_block_class *class = kd_blocks_by_kind[def->kind];
    kd_block_builder builder = {.s = s, .number = i, .sampler = b, .message = message, .size = size};
    return class->make ? class->make(&builder) : KD_OK;
}

// The velocity of a joint as a component of v; -1: it is none
static int velocity_of(const kd_system *s, int joint, int i)
{
    const int dof = kd_edge_dof(s, joint, i);
    return dof < 0 ? -1 : s->tree.dof_v[dof];
}

static kd_status find_target(const kd_system *s, kd_trigger *e, int k, char *message, size_t size)
{
    const char *text = e->event->def.target[k];
    kd_path     path;
    if (!kd_path_parse(s->model, text, &path, NULL, 0)) return KD_ERR_MODEL; // looked at when the model was finished
    // what an event can set: a variable (z), an inner state (r), a velocity of the tree (v)
    e->target[k] = path.section == KD_SECTION_VARIABLE ? KD_TARGET_Z
                   : path.section == KD_SECTION_STATE  ? KD_TARGET_R
                                                       : KD_TARGET_V;
    e->place[k] = e->target[k] == KD_TARGET_Z   ? s->variable_z[path.element]
                  : e->target[k] == KD_TARGET_R ? s->load[path.element].state
                                                : velocity_of(s, path.element, path.i);
    if (e->place[k] >= 0) return KD_OK;
    kd_text(
        message, size, "event '%s': '%s' cannot be set: %s", e->event->name, text,
        s->options.coordinates == KD_CARTESIAN
            ? "velocities of joints are no coordinates of the motion in Cartesian coordinates; take joint coordinates"
            : "the joint closes a loop, and its velocity is no coordinate of the motion; take that of another joint "
              "of the loop");
    return KD_ERR_MODEL;
}

static kd_status make_event(kd_system *s, int i, char *message, size_t size)
{
    kd_trigger         *e = &s->event[i];
    const kd_event_def *def = &s->model->event[i].def;
    e->event = &s->model->event[i];
    const text_of of = {e->event->name, &e->event->source, message, size};
    // the condition, then each setting with its target
    kd_status status = compile(s, &of, def->when, NULL, 0, &e->when);
    for (int k = 0; k < def->nsettings && status == KD_OK; k++) {
        status = find_target(s, e, k, message, size);
        if (status == KD_OK) status = compile(s, &of, def->value[k], NULL, 0, &e->value[k]);
    }
    return status;
}

kd_status kd_system_discrete(kd_system *s, char *message, size_t size)
{
    kd_status status = KD_OK;
    if (s->for_start) return KD_OK; // start values have no samples and events
    for (int i = 0; i < s->model->nblocks && status == KD_OK; i++)
        if (!s->block[i].continuous) status = make_block(s, i, message, size);
    for (int i = 0; i < s->model->nevents && status == KD_OK; i++) status = make_event(s, i, message, size);
    return status;
}

void kd_system_close_units(kd_system *s)
{
    for (int i = 0; s->block && i < s->model->nblocks; i++) {
        kd_foreign_close(s->block[i].unit);
        if (s->block[i].continuous) s->block[i].continuous->class->destroy(s->block[i].continuous);
    }
}

const signed char *kd_system_crossings(kd_system *s)
{
    static const signed char direction[] = {
        [KD_CROSSING_BOTH] = 0, [KD_CROSSING_RISING] = 1, [KD_CROSSING_FALLING] = -1};
    signed char *out = kd_arena_cut(&s->arena, (size_t)s->nfunctions, sizeof *out);
    for (int i = 0; out && i < s->model->nevents; i++) out[i] = direction[s->model->event[i].def.crossing];
    // times of blocks without period come once: their functions rise there
    for (int i = s->model->nstates; out && i < s->ncontrollers; i++)
        out[s->load[i].unit->functions + s->load[i].unit->continuous->nindicators] = 1;
    return out;
}

// ---- what expressions read ------------------------------------------------------------------------------------------

// which stage an expression needs: accelerations and forces, sensors, or motion alone
static void add_reading(const kd_system *s, const kd_expr *e, kd_reading *out)
{
    for (int i = 0; e && i < kd_expr_slot_count(e); i++) {
        const kd_slot at = s->slot[kd_expr_slot(e, i)];
        switch (at.kind) {
        case KD_SLOT_MEASURE:
            out->forces = out->forces || at.level > 1;
            break;
        case KD_SLOT_OUT: // controllers may read algebraic variables
            out->forces = out->forces || s->nalgebraic > 0;
            break;
        case KD_SLOT_W:
        case KD_SLOT_HOLD:
        case KD_SLOT_REACTION:
        case KD_SLOT_MULTIPLIER:
        case KD_SLOT_WHEEL:
        case KD_SLOT_CHANNEL:
        case KD_SLOT_ENERGY:
        case KD_SLOT_STRESS:
            out->forces = true;
            break;
        case KD_SLOT_SENSOR:
            out->sensors = true;
            break;
        default:
            break;
        }
    }
}

static void close_reading(const kd_system *s, kd_reading *r)
{
    kd_reading of_sensors = {0};
    // a sensor may read forces: what reads sensors needs what they need
    for (int i = 0; i < s->nsensors; i++) add_reading(s, s->sensor[i], &of_sensors);
    r->forces = r->forces || (r->sensors && of_sensors.forces);
    r->fast = !r->forces && !r->sensors;
}

void kd_system_discrete_readings(kd_system *s)
{
    const kd_model *m = s->model;
    s->at_samples = s->at_switches = s->at_events = (kd_reading){0};
    // samples, conditions and settings apart: each is evaluated no further than it needs
    for (int i = 0; i < m->nblocks; i++)
        for (int k = 0; k < KD_MAX_SIGNALS && !s->block[i].continuous; k++) {
            add_reading(s, s->block[i].input[k], &s->at_samples);
            add_reading(s, s->block[i].output[k], &s->at_samples);
            add_reading(s, s->block[i].next[k], &s->at_samples);
        }
    for (int i = 0; i < m->nevents; i++) {
        add_reading(s, s->event[i].when, &s->at_switches);
        for (int k = 0; k < KD_MAX_SETTINGS; k++) add_reading(s, s->event[i].value[k], &s->at_events);
    }
    // inputs of blocks without period may read algebraic variables
    if (s->nsampled < m->nblocks) s->at_switches.forces = s->at_switches.forces || s->nalgebraic > 0;
    if (s->nsampled < m->nblocks) s->at_events.forces = s->at_events.forces || s->nalgebraic > 0;
    close_reading(s, &s->at_samples);
    close_reading(s, &s->at_switches);
    close_reading(s, &s->at_events);
}
