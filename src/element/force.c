// force.c: forces, inner states and user elements of a model as loads: which measures they act along, which variables
// they read, which law they follow.
#include "element/force.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "element/state.h"
#include "element/unit.h"
#include "element/user_force.h"
#include "element/wheel_rail.h"

enum { FIRST_CAPACITY = 16 }; // of kd_grow

// ---- what a force acts along ----------------------------------------------------------------------------------------
int kd_plain_measure(kd_system *s, int pair, kd_measure_kind kind, int i)
{
    if (pair < 0) return -1;
    return kd_system_measure(s, &(kd_measure){kind, .pair = pair, .dof = -1, .i = i, .turns = -1});
}

int kd_force_pair(kd_system *s, int force)
{
    const kd_force *f = &s->model->force[force];
    if (s->force_pair[force] < 0) s->force_pair[force] = kd_system_pair(s, &f->from, &f->to);
    return s->force_pair[force];
}

int kd_force_length(kd_system *s, int force)
{
    return kd_plain_measure(s, kd_force_pair(s, force), KD_MEASURE_LENGTH, 0);
}

int kd_force_height(kd_system *s, int force)
{
    return kd_plain_measure(s, kd_force_pair(s, force), KD_MEASURE_SHIFT, 2);
}

int kd_force_coordinate(kd_system *s, int force)
{
    const kd_force *f = &s->model->force[force];
    // coordinates count from 1 in models
    return kd_system_joint_coordinate(s, f->joint, f->def.coordinate > 0 ? f->def.coordinate - 1 : 0);
}

int kd_system_force_measure(kd_system *s, int force)
{
    return kd_forces[s->model->force[force].def.kind]->measure(s, force);
}

static int inner_states(const kd_force_def *d)
{
    const kd_force_class *class = kd_forces[d->kind];
    return class->states ? class->states(d) : 0;
}

int kd_system_force_state(const kd_system *s, int force)
{
    // states of the model first, those of blocks without period, then those of the forces before it
    int place = s->model->nstates;
    for (int i = s->model->nstates; i < s->ncontrollers; i++) place += s->load[i].nstates;
    for (int i = 0; i < force; i++) place += inner_states(&s->model->force[i].def);
    return place;
}

const kd_load *kd_system_load_of(const kd_system *s, int force)
{
    return &s->load[s->ncontrollers + force];
}

// ---- making a load --------------------------------------------------------------------------------------------------
void kd_load_add_channel(kd_load_builder *b, int measure)
{
    if (measure < 0) b->status = KD_ERR_MEMORY;
    if (b->status != KD_OK) return;
    // the rate is read for the power
    int slot = kd_system_slot(b->s, KD_SLOT_MEASURE, measure, 1);
    if (slot < 0) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    b->load->channel[b->load->nchannels] = measure;
    b->load->rate_slot[b->load->nchannels++] = slot;
}

void kd_load_add_variable(kd_load_builder *b, int slot)
{
    if (slot < 0) b->status = KD_ERR_MEMORY;
    if (b->status != KD_OK) return;
    // a variable that is there already keeps its place
    for (int i = 0; i < b->load->nvariables; i++)
        if (b->load->variable[i] == slot) return;
    int *grown = kd_grow(b->load->variable, b->load->nvariables, &b->capacity, sizeof *grown);
    if (!grown) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    b->load->variable = grown;
    b->load->variable[b->load->nvariables++] = slot;
}

void kd_load_add_measured(kd_load_builder *b, int measure, int level)
{
    kd_load_add_variable(b, measure < 0 ? -1 : kd_system_slot(b->s, KD_SLOT_MEASURE, measure, level));
}

// Variables of an expression: what it reads, and behind the output of a controller what that reads. Time and inputs are
// no unknowns.
static void add_read_variables(kd_load_builder *b, const kd_expr *e)
{
    for (int i = 0; i < kd_expr_slot_count(e); i++) {
        int     slot = kd_expr_slot(e, i);
        kd_slot at = b->s->slot[slot];
        if (at.kind == KD_SLOT_STATE || at.kind == KD_SLOT_MEASURE || at.kind == KD_SLOT_W || at.kind == KD_SLOT_HOLD)
            kd_load_add_variable(b, slot);
        if (at.kind == KD_SLOT_OUT) b->reads[at.index] = true;
    }
}

static void add_variables_of(kd_load_builder *b, const kd_expr *e)
{
    add_read_variables(b, e);
    for (int k = b->s->ncontrollers - 1; k >= 0; k--) { // controllers after those that read them
        int            i = b->s->state_order[k];
        const kd_load *of = &b->s->load[i];
        if (!b->reads[i]) continue;
        b->reads[i] = false;
        for (int j = 0; j < of->nstates; j++) kd_load_add_variable(b, of->variable[j]);
        if (of->law[0]) add_read_variables(b, of->law[0]);
        for (int j = 0; of->unit && j < of->unit->block->def.ninputs; j++) add_read_variables(b, of->unit->input[j]);
    }
}

enum { MOST_LOCALS = 6 };

static void compile_law(kd_load_builder *b, int k, const char *text, const kd_source *source, const kd_local *local,
                        int nlocal)
{
    if (!text || b->status != KD_OK) return;
    b->load->law_text[k] = text;
    b->status = kd_system_compile(b->s, text, b->load->name, source, false, local, nlocal, &b->load->law[k], b->message,
                                  b->size);
}

void kd_load_add_law(kd_load_builder *b, int k, int force, const char *key, int i, const int *slots)
{
    const kd_force *f = &b->s->model->force[force];
    // text of the field, names that only this element knows
    const kd_field    *field = kd_element_field(&kd_forces[f->def.kind]->element, key);
    const char *const *text = (const char *const *)(const void *)((const char *)&f->def + field->offset);
    kd_local           local[MOST_LOCALS];
    int                n = 0;
    for (; field->locals && field->locals[n] && n < MOST_LOCALS; n++) local[n] = (kd_local){field->locals[n], slots[n]};
    compile_law(b, k, text[i], &f->source, local, n);
    if (text[i] && b->status == KD_OK) add_variables_of(b, b->load->law[k]);
}

bool kd_load_start(kd_load_builder *b, const kd_load_class *class, const char *name, int n)
{
    // kd_grow starts anew: the array belongs to this load
    b->capacity = 0;
    b->load = kd_system_new_load(b->s);
    if (!b->load) {
        b->status = KD_ERR_MEMORY;
        return false;
    }
    b->load->class = class;
    b->load->name = name;
    b->load->channel = kd_cut_int(&b->s->arena, n);
    b->load->rate_slot = kd_cut_int(&b->s->arena, n);
    if (b->s->arena.failed) b->status = KD_ERR_MEMORY;
    return b->status == KD_OK;
}

void kd_load_add_states(kd_load_builder *b, int n)
{
    b->load->state = b->s->nr;
    b->load->nstates = n;
    for (int i = 0; i < n; i++) kd_load_add_variable(b, kd_system_slot(b->s, KD_SLOT_STATE, b->s->nr + i, 0));
    b->s->nr += n;
}

// The numbers of a load that come from the model, when it is made and when parameters change
void kd_load_set(kd_load *load)
{
    const kd_state_def *state = load->state_def;
    if (load->length_of) load->constant[0] = *load->length_of;
    if (load->arm_of) load->constant[1] = *load->arm_of;
    if (state && kd_states[state->kind]->output) kd_states[state->kind]->output(state, load->feed);
}

// Which measures, variables and states a force has
int kd_force_structure(const kd_force_def *def)
{
    const kd_force_class *class = kd_forces[def->kind];
    const int other = class->choose && class->choose(def) != class->law;
    const int motor = class->is_motor && class->is_motor(def); // it is not stiff
    return inner_states(def) + 8 * other + 16 * motor + 32 * (class->structure ? class->structure(def) : 0);
}

void kd_load_make_scalar(kd_load_builder *b, int force, const double *length)
{
    const kd_force_def *d = &b->s->model->force[force].def;
    const int           measure = kd_system_force_measure(b->s, force), n = inner_states(d);
    // variables s, v, then the states: laws count on this order
    kd_load_add_channel(b, measure);
    kd_load_add_measured(b, measure, 0);
    kd_load_add_measured(b, measure, 1);
    if (n > 0) kd_load_add_states(b, n);
    b->load->length_of = length;
    b->load->relaxes = length && isnan(*length);
    kd_load_set(b->load);
}

void kd_load_find_direction(kd_load_builder *b, int force)
{
    int *next = &b->load->direction;
    for (int i = 0; i < b->s->nrows_h; i++) {
        // the row of h that holds it knows the place of its direction in z
        if (b->s->row_h[i].force != force) continue;
        *next = kd_system_slot(b->s, KD_SLOT_DISCRETE, b->s->row_h[i].direction, 0);
        if (*next < 0) b->status = KD_ERR_MEMORY;
        next = &b->load->direction_across;
    }
}

bool kd_load_is_stiff(kd_stiffness given, bool usual)
{
    return given == KD_STIFFNESS_AUTO ? usual : given == KD_STIFFNESS_YES;
}

static void make_force(kd_load_builder *b, int force)
{
    const kd_force *f = &b->s->model->force[force];
    const kd_force_class *class = kd_forces[f->def.kind];
    // a motor follows its law and does not push back
    const bool motor = class->is_motor && class->is_motor(&f->def);
    if (!kd_load_start(b, class->choose ? class->choose(&f->def) : class->law, f->name, class->nchannels)) return;
    b->load->def = &f->def;
    b->load->force = force;
    b->load->stiff = kd_load_is_stiff(f->def.stiff, class->stiff && !motor);
    class->make(b, force);
}

static void make_state(kd_load_builder *b, int state)
{
    const kd_state_element *e = &b->s->model->state[state];
    const kd_state_class *class = kd_states[e->def.kind];
    if (!kd_load_start(b, &class->law, e->name, 0)) return;
    b->load->state_def = &e->def;
    b->load->stiff = true; // cheap, and a lag can be fast
    kd_load_set(b->load);
    kd_load_add_states(b, 1);
}

// The equations of algebraic variables are laws like inputs of states, but the value itself is to be 0. Start values do
// without them: positions and velocities do not depend on them.
static void make_equation(kd_load_builder *b, int i)
{
    const kd_algebraic *a = &b->s->model->algebraic[i];
    const kd_local      own = {kd_algebraic_own_name(a), kd_system_slot(b->s, KD_SLOT_W, i, 0)};
    *b->load = (kd_load){.name = a->name, .nstates = 1, .state = i, .direction = -1};
    b->capacity = 0;
    if (own.slot < 0) b->status = KD_ERR_MEMORY;
    compile_law(b, 0, a->def.equation, &a->source, &own, 1);
    if (b->status == KD_OK) add_variables_of(b, b->load->law[0]);
}

static void make_equations(kd_load_builder *b)
{
    kd_system *s = b->s;
    if (s->for_start) return;
    s->equation = kd_arena_cut(&s->arena, (size_t)s->model->nalgebraic, sizeof *s->equation);
    if (!s->equation) b->status = KD_ERR_MEMORY;
    if (b->status == KD_OK) s->nw = s->nalgebraic = s->model->nalgebraic;
    for (int i = 0; i < s->nalgebraic && b->status == KD_OK; i++) {
        b->load = &s->equation[i];
        make_equation(b, i);
    }
}

// Blocks without period, behind the states: inputs are expressions as those of states are
static void compile_units(kd_load_builder *b)
{
    for (int i = b->s->model->nstates; i < b->s->ncontrollers && b->status == KD_OK; i++) {
        kd_sampler         *unit = &b->s->block[b->s->load[i].unit - b->s->block];
        const kd_block_def *def = &unit->block->def;
        for (int k = 0; k < def->ninputs && b->status == KD_OK; k++)
            b->status = kd_system_compile(b->s, def->input[k], unit->block->name, &unit->block->source, false, NULL, 0,
                                          &unit->input[k], b->message, b->size);
    }
}

static void make_units(kd_load_builder *b)
{
    const kd_model *m = b->s->model;
    for (int i = 0; i < m->nblocks && b->status == KD_OK; i++)
        if (kd_block_is_continuous(&m->block[i].def)) kd_load_make_unit(b, i);
    b->s->ncontrollers = b->s->nloads;
}

// States come first, so that the place of a state element in r is its number. Their inputs are compiled when all of
// them exist.
kd_status kd_system_loads(kd_system *s, char *message, size_t size)
{
    const kd_model *m = s->model;
    kd_load_builder b = {.s = s, .message = message, .size = size};
    s->across = kd_arena_cut(&s->arena, (size_t)m->nforces, sizeof *s->across);
    b.reads = kd_cut_bool(&s->arena, m->nstates + m->nblocks);
    s->nfunctions = m->nevents;
    if (s->arena.failed) return KD_ERR_MEMORY;
    // state elements, their inputs, then the order in which controllers read each other
    for (int i = 0; i < m->nstates && b.status == KD_OK; i++) make_state(&b, i);
    if (b.status == KD_OK) make_units(&b);
    for (int i = 0; i < m->nstates && b.status == KD_OK; i++) {
        b.load = &s->load[i];
        compile_law(&b, 0, m->state[i].def.input, &m->state[i].source, NULL, 0);
    }
    compile_units(&b);
    if (b.status == KD_OK) b.status = kd_system_order_controllers(s);
    // now what they read through other controllers can be followed
    for (int i = 0; i < m->nstates && b.status == KD_OK; i++) {
        b.load = &s->load[i];
        b.capacity = FIRST_CAPACITY; // of the array that add_states made
        add_variables_of(&b, s->load[i].law[0]);
    }
    for (int i = m->nstates; i < s->ncontrollers && b.status == KD_OK; i++) {
        const kd_sampler *unit = s->load[i].unit;
        b.load = &s->load[i];
        b.capacity = b.load->nvariables; // as many as add_states made, or more
        for (int k = 0; k < unit->block->def.ninputs && b.status == KD_OK; k++) add_variables_of(&b, unit->input[k]);
    }
    // equations of algebraic variables, then forces, elements in C, creep forces of wheels
    if (b.status == KD_OK) make_equations(&b);
    for (int i = 0; i < m->nforces && b.status == KD_OK; i++) make_force(&b, i);
    for (int i = 0; i < m->nuser_forces && b.status == KD_OK; i++) kd_load_make_user(&b, i);
    for (int i = 0; i < s->nwheels && b.status == KD_OK; i++) kd_load_make_creep(&b, i);
    s->late = s->by_multipliers || s->nw > 0;
    return b.status;
}
