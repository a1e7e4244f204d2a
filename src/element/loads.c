// loads.c: forces, inner states and user elements of a model as loads: which measures they act along, which variables
// they read, which law they follow.
#include "element/loads.h"

#include <math.h>
#include <string.h>

#include "core/text.h"

enum { FIRST_CAPACITY = 16 }; // of kd_grow

// ---- what a force acts along ----------------------------------------------------------------------------------------
static int plain_measure(kd_system *s, int pair, kd_measure_kind kind, int i)
{
    if (pair < 0) return -1;
    return kd_system_measure(s, &(kd_measure){kind, .pair = pair, .dof = -1, .i = i, .turns = -1});
}

static int force_pair(kd_system *s, int force)
{
    const kd_force *f = &s->model->force[force];
    if (s->force_pair[force] < 0) s->force_pair[force] = kd_system_pair(s, &f->from, &f->to);
    return s->force_pair[force];
}

int kd_system_force_measure(kd_system *s, int force)
{
    const kd_force *f = &s->model->force[force];
    switch (f->def.kind) {
    case KD_TSDA:
    case KD_MAXWELL:
    case KD_HYDRAULIC:
    case KD_AIR_SPRING:
        return plain_measure(s, force_pair(s, force), KD_MEASURE_LENGTH, 0);
    case KD_TYRE:
    case KD_CONTACT:
        return plain_measure(s, force_pair(s, force), KD_MEASURE_SHIFT, 2);
    default:
        break;
    }
    if (f->joint >= 0) {
        int i = f->def.coordinate > 0 ? f->def.coordinate - 1 : 0;
        return kd_system_joint_coordinate(s, f->joint, i);
    }
    int pair = force_pair(s, force);
    return pair < 0 ? -1 : kd_system_angle(s, pair, (kd_entry){1, 0, 1}, (kd_entry){0, 0, 1}, true);
}

static int inner_states(const kd_force_def *d)
{
    switch (d->kind) {
    case KD_MAXWELL:
        return 1;
    case KD_TYRE:
        return d->friction > 0.0 && d->relaxation > 0.0 ? 2 : 0;
    case KD_HYDRAULIC:
        return d->lag > 0.0 ? 3 : 2;
    case KD_AIR_SPRING:
        return d->volume[1] > 0.0 ? 2 : 1;
    default:
        return 0;
    }
}

int kd_system_force_state(const kd_system *s, int force)
{
    int place = s->model->nstates;
    for (int i = 0; i < force; i++) place += inner_states(&s->model->force[i].def);
    return place;
}

// ---- making a load --------------------------------------------------------------------------------------------------
typedef struct builder {
    kd_system *s;
    kd_load   *load;
    int        capacity; // of load->variable
    bool      *reads;    // (nstates) controllers whose outputs are still to be followed; all false between calls
    kd_status  status;
    char      *message;
    size_t     size;
} builder;

static void add_channel(builder *b, int measure)
{
    if (measure < 0) b->status = KD_ERR_MEMORY;
    if (b->status != KD_OK) return;
    int slot = kd_system_slot(b->s, KD_SLOT_MEASURE, measure, 1);
    if (slot < 0) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    b->load->channel[b->load->nchannels] = measure;
    b->load->rate_slot[b->load->nchannels++] = slot;
}

static void add_variable(builder *b, int slot)
{
    if (slot < 0) b->status = KD_ERR_MEMORY;
    if (b->status != KD_OK) return;
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

static void add_measured(builder *b, int measure, int level)
{
    add_variable(b, measure < 0 ? -1 : kd_system_slot(b->s, KD_SLOT_MEASURE, measure, level));
}

// Variables of an expression: what it reads, and behind the output of a controller what that reads. Time and inputs are
// no unknowns.
static void add_read_variables(builder *b, const kd_expr *e)
{
    for (int i = 0; i < kd_expr_slot_count(e); i++) {
        int     slot = kd_expr_slot(e, i);
        kd_slot at = b->s->slot[slot];
        if (at.kind == KD_SLOT_STATE || at.kind == KD_SLOT_MEASURE) add_variable(b, slot);
        if (at.kind == KD_SLOT_OUT) b->reads[at.index] = true;
    }
}

static void add_variables_of(builder *b, const kd_expr *e)
{
    add_read_variables(b, e);
    for (int k = b->s->model->nstates - 1; k >= 0; k--) { // controllers after those that read them
        int i = b->s->state_order[k];
        if (!b->reads[i]) continue;
        b->reads[i] = false;
        add_variable(b, b->s->load[i].variable[0]);
        add_read_variables(b, b->s->load[i].law[0]);
    }
}

static void compile_law(builder *b, int i, const char *text, const kd_source *source, const kd_local *local, int nlocal)
{
    if (text && b->status == KD_OK)
        b->status = kd_system_compile(b->s, text, b->load->name, source, false, local, nlocal, &b->load->law[i],
                                      b->message, b->size);
}

static void add_law(builder *b, int i, const char *text, const kd_source *source, const kd_local *local, int nlocal)
{
    compile_law(b, i, text, source, local, nlocal);
    if (text && b->status == KD_OK) add_variables_of(b, b->load->law[i]);
}

// Arrays for up to n channels.
static bool start_load(builder *b, const kd_load_class *class, const char *name, int n)
{
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

static void add_states(builder *b, int n)
{
    b->load->state = b->s->nr;
    b->load->nstates = n;
    for (int i = 0; i < n; i++) add_variable(b, kd_system_slot(b->s, KD_SLOT_STATE, b->s->nr + i, 0));
    b->s->nr += n;
}

// ---- forces ---------------------------------------------------------------------------------------------------------
// along one
// measure s: variables s, v, then those of the law
static void make_scalar(builder *b, int force)
{
    const kd_force *f = &b->s->model->force[force];
    int             measure = kd_system_force_measure(b->s, force);
    bool            joint = f->def.kind >= KD_JOINT_SPRING && f->def.kind <= KD_JOINT_FRICTION;
    add_channel(b, measure);
    add_measured(b, measure, 0);
    add_measured(b, measure, 1);
    if (inner_states(&f->def) > 0) add_states(b, inner_states(&f->def));
    if (b->status != KD_OK) return;
    const char    *word = joint ? "q" : f->def.kind == KD_RSDA ? "angle" : "length";
    const kd_local local[] = {{word, b->load->variable[0]}, {joint ? "v" : "rate", b->load->variable[1]}};
    b->load->constant[0] = f->def.length;
    if (f->curve >= 0) b->load->curve = b->s->model->curve[f->curve].curve;
    const char *text = f->def.kind == KD_HYDRAULIC    ? f->def.valve
                       : f->def.kind == KD_AIR_SPRING ? f->def.inflow
                                                      : f->def.law;
    add_law(b, 0, text, &f->source, local, 2);
}

// Variables s, v, then the force across the joint where friction depends on it
static void make_friction(builder *b, int force)
{
    const kd_force *f = &b->s->model->force[force];
    make_scalar(b, force);
    if (b->status != KD_OK) return;
    b->load->constant[1] =
        kd_joint_turns(b->s->model->joint[f->joint].def.kind, f->def.coordinate - 1) ? f->def.lever : 1.0;
    if (b->s->model->joint[f->joint].rubs && !b->s->for_start && (f->def.normal[0] > 0.0 || f->def.normal[1] > 0.0))
        add_variable(b, kd_system_slot(b->s, KD_SLOT_W, kd_system_across(b->s, force), 0));
    for (int i = 0; i < b->s->nrows_h; i++) {
        if (b->s->row_h[i].force != force) continue;
        b->load->direction = kd_system_slot(b->s, KD_SLOT_DISCRETE, b->s->row_h[i].direction, 0);
        if (b->load->direction < 0) b->status = KD_ERR_MEMORY;
    }
}

// Does a bushing act about its axes? If not, its angles are no measures: a wheel may turn in it.
static bool bushing_turns(const kd_force_def *def)
{
    bool turns = false;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            turns =
                turns || ((i > 2 || j > 2) && (def->matrix[0][6 * i + j] != 0.0 || def->matrix[1][6 * i + j] != 0.0));
    for (int i = 3; i < 6; i++) turns = turns || def->preload6[i] != 0.0;
    return turns;
}

// About which axes do stiffness or preload act?
static int turning_axes(const kd_force_def *def, bool acts[3])
{
    for (int i = 0; i < 3; i++) {
        acts[i] = def->preload6[3 + i] != 0.0;
        for (int j = 0; j < 6; j++)
            acts[i] = acts[i] || def->matrix[0][6 * (3 + i) + j] != 0.0 || def->matrix[0][6 * j + 3 + i] != 0.0;
    }
    return acts[0] + acts[1] + acts[2];
}

// The measure of the turn about axis i: a component of the rotation vector; where one axis is free, the tilt of this
// axis; where only dampers act, the angular velocity. Those of free axes have a rate, but no value.
static int bushing_turn(kd_system *s, int pair, const kd_force_def *def, int i)
{
    bool      acts[3];
    const int count = turning_axes(def, acts), free = !acts[0] ? 0 : !acts[1] ? 1 : 2;
    if (count == 0) return plain_measure(s, pair, KD_MEASURE_TURN, i);
    if (count != 2) return plain_measure(s, pair, KD_MEASURE_ROTATION, i);
    if (free == i) return plain_measure(s, pair, KD_MEASURE_OWN_TURN, i);
    return kd_system_measure(s,
                             &(kd_measure){KD_MEASURE_TILT, .pair = pair, .dof = -1, .i = i, .j = free, .turns = -1});
}

static void make_bushing(builder *b, int force)
{
    const kd_force *f = &b->s->model->force[force];
    int             pair = force_pair(b->s, force), measure[6], n = bushing_turns(&f->def) ? 6 : 3;
    if (pair < 0) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    for (int i = 0; i < 3; i++) measure[i] = plain_measure(b->s, pair, KD_MEASURE_SHIFT, i);
    for (int i = 3; i < n; i++) measure[i] = bushing_turn(b->s, pair, &f->def, i - 3);
    for (int i = 0; i < n; i++) add_channel(b, measure[i]);
    for (int level = 0; level < 2; level++)
        for (int i = 0; i < n; i++) add_measured(b, measure[i], level);
    if (b->status != KD_OK) return;
    const int     *v = b->load->variable;
    const kd_local local[] = {{"x", v[0]}, {"y", v[1]}, {"z", v[2]}, {"vx", v[n]}, {"vy", v[n + 1]}, {"vz", v[n + 2]}};
    for (int i = 0; i < 3; i++) add_law(b, i, f->def.force[i], &f->source, local, 6);
}

static void make_applied(builder *b, int force)
{
    const kd_force *f = &b->s->model->force[force];
    bool            own = f->def.in == KD_IN_BODY;
    int             pair = force_pair(b->s, force);
    for (int i = 0; i < 6; i++) {
        const char *text = i < 3 ? f->def.force[i] : f->def.torque[i - 3];
        if (!text) continue;
        kd_measure_kind kind =
            i < 3 ? (own ? KD_MEASURE_OWN_SHIFT : KD_MEASURE_SHIFT) : (own ? KD_MEASURE_OWN_TURN : KD_MEASURE_TURN);
        int n = b->load->nchannels;
        add_channel(b, plain_measure(b->s, pair, kind, i % 3));
        add_law(b, n, text, &f->source, NULL, 0);
    }
}

static void check_road(builder *b, const kd_force *f, int own)
{
    if (b->status != KD_OK || b->load->nvariables <= own) return;
    kd_text(b->message, b->size, "force '%s': the road can depend on x, t and inputs only", f->name);
    b->status = KD_ERR_MODEL;
}

static void make_tyre(builder *b, int force)
{
    const kd_force *f = &b->s->model->force[force];
    int             pair = force_pair(b->s, force);
    int x = plain_measure(b->s, pair, KD_MEASURE_SHIFT, 0), z = plain_measure(b->s, pair, KD_MEASURE_SHIFT, 2);
    add_channel(b, z);
    add_measured(b, x, 0);
    add_measured(b, z, 0);
    add_measured(b, x, 1);
    add_measured(b, z, 1);
    if (b->status != KD_OK) return;
    const kd_local local[] = {{"x", b->load->variable[0]}};
    add_law(b, 0, f->def.road, &f->source, local, 1);
    check_road(b, f, 4);
}

// variables in the order of tyre.c
static void make_tyre_slip(builder *b, int force)
{
    const kd_force *f = &b->s->model->force[force];
    int             pair = force_pair(b->s, force), shift[3], turn[3];
    for (int i = 0; i < 3; i++) shift[i] = plain_measure(b->s, pair, KD_MEASURE_SHIFT, i);
    for (int i = 0; i < 3; i++) turn[i] = plain_measure(b->s, pair, KD_MEASURE_TURN, i);
    const int channel[] = {shift[2], shift[0], shift[1], turn[0], turn[1], turn[2]};
    for (int i = 0; i < 6; i++) add_channel(b, channel[i]);
    add_measured(b, shift[0], 0);
    add_measured(b, shift[2], 0);
    for (int i = 0; i < 3; i++) add_measured(b, shift[i], 1);
    for (int i = 0; i < 3 && b->status == KD_OK; i++) {
        kd_measure axle = {KD_MEASURE_COSINE, .pair = pair, .dof = -1, .i = i, .j = 2, .turns = -1};
        add_measured(b, kd_system_measure(b->s, &axle), 0);
    }
    for (int i = 0; i < 3; i++) add_measured(b, turn[i], 1);
    if (inner_states(&f->def) > 0) add_states(b, inner_states(&f->def));
    if (b->status != KD_OK) return;
    int            own = b->load->nvariables;
    const kd_local local[] = {{"x", b->load->variable[0]}};
    add_law(b, 0, f->def.road, &f->source, local, 1);
    check_road(b, f, own);
}

static void make_contact(builder *b, int force)
{
    int       pair = force_pair(b->s, force);
    int       z = plain_measure(b->s, pair, KD_MEASURE_SHIFT, 2), x = plain_measure(b->s, pair, KD_MEASURE_SHIFT, 0);
    int       y = plain_measure(b->s, pair, KD_MEASURE_SHIFT, 1);
    int       wx = plain_measure(b->s, pair, KD_MEASURE_TURN, 0), wy = plain_measure(b->s, pair, KD_MEASURE_TURN, 1);
    const int channel[] = {z, x, y, wx, wy};
    for (int i = 0; i < 5; i++) add_channel(b, channel[i]);
    add_measured(b, z, 0);
    add_measured(b, z, 1);
    add_measured(b, x, 1);
    add_measured(b, y, 1);
    add_measured(b, wx, 1);
    add_measured(b, wy, 1);
}

// What is stiff unless the model says otherwise: whatever pushes back. A force that is applied from outside does not.
static const struct {
    const kd_load_class *class;
    void (*make)(builder *b, int force);
    int  nchannels;
    bool stiff;
} force_kind[KD_FORCE_KIND_COUNT] = {
    [KD_TSDA] = {&kd_load_spring, make_scalar, 1, true},
    [KD_RSDA] = {&kd_load_spring, make_scalar, 1, true},
    [KD_BUSHING] = {&kd_load_bushing, make_bushing, 6, true},
    [KD_APPLIED] = {&kd_load_applied, make_applied, 6, false},
    [KD_JOINT_SPRING] = {&kd_load_spring, make_scalar, 1, true},
    [KD_JOINT_STOP] = {&kd_load_stop, make_scalar, 1, true},
    [KD_JOINT_FRICTION] = {&kd_load_friction, make_friction, 1, true},
    [KD_TYRE] = {&kd_load_tyre, make_tyre, 1, true},
    [KD_CONTACT] = {&kd_load_contact, make_contact, 5, true},
    [KD_MAXWELL] = {&kd_load_maxwell, make_scalar, 1, true},
    [KD_HYDRAULIC] = {&kd_load_hydraulic, make_scalar, 1, true},
    [KD_AIR_SPRING] = {&kd_load_air_spring, make_scalar, 1, true},
};

static bool is_stiff(kd_stiffness given, bool usual)
{
    return given == KD_STIFFNESS_AUTO ? usual : given == KD_STIFFNESS_YES;
}

// A spring in a joint without stiffness and damping is a motor that follows its law.
static bool is_motor(const kd_force_def *d)
{
    return (d->kind == KD_RSDA || d->kind == KD_JOINT_SPRING) && d->stiffness == 0.0 && d->damping == 0.0;
}

static void make_force(builder *b, int force)
{
    const kd_force *f = &b->s->model->force[force];
    if (kd_force_is_rigid(&f->def)) {
        if (start_load(b, &kd_load_rigid, f->name, 0)) b->load->def = &f->def;
        return;
    }
    bool slips = f->def.kind == KD_TYRE && f->def.friction > 0.0;
    if (!start_load(b, slips ? &kd_load_tyre_slip : force_kind[f->def.kind].class, f->name,
                    slips ? 6 : force_kind[f->def.kind].nchannels))
        return;
    b->load->def = &f->def;
    b->load->stiff = is_stiff(f->def.stiff, force_kind[f->def.kind].stiff && !is_motor(&f->def));
    if (slips)
        make_tyre_slip(b, force);
    else
        force_kind[f->def.kind].make(b, force);
}

// ---- states and user elements ---------------------------------------------------------------------------------------
static void make_state(builder *b, int state)
{
    const kd_state_element *e = &b->s->model->state[state];
    if (!start_load(b, &kd_load_state, e->name, 0)) return;
    b->load->state_def = &e->def;
    b->load->stiff = true; // cheap, and a lag can be fast
    add_states(b, 1);
}

static void make_user_force(builder *b, int user)
{
    const kd_user_force *e = &b->s->model->user_force[user];
    int                  n = e->def.nmeasures;
    if (!start_load(b, &kd_load_user, e->name, n)) return;
    b->load->user = &e->def;
    b->load->stiff = is_stiff(e->def.stiff, false);
    for (int i = 0; i < n && b->status == KD_OK; i++) {
        kd_expr *expr = NULL;
        b->status =
            kd_system_compile(b->s, e->def.measure[i], e->name, &e->source, false, NULL, 0, &expr, b->message, b->size);
        if (b->status != KD_OK) return;
        kd_slot slot =
            kd_expr_slot_count(expr) == 1 ? b->s->slot[kd_expr_slot(expr, 0)] : (kd_slot){KD_SLOT_TIME, 0, 0};
        if (slot.kind != KD_SLOT_MEASURE || slot.level != 0) {
            kd_text(b->message, b->size, "force '%s': '%s' is not a position that a force can act along", e->name,
                    e->def.measure[i]);
            b->status = KD_ERR_MODEL;
            return;
        }
        add_channel(b, slot.index);
        add_measured(b, slot.index, 0);
    }
    for (int i = 0; i < b->load->nchannels; i++) add_measured(b, b->load->channel[i], 1);
    add_states(b, e->def.nstates);
    if (b->status == KD_OK && b->load->nvariables != 2 * n + e->def.nstates) {
        kd_text(b->message, b->size, "force '%s' names a measure twice", e->name);
        b->status = KD_ERR_MODEL;
    }
}

// Creep forces of a wheel: channels and variables as in wheel.h. The ground as seen from a frame that runs along the
// rail moves, and what slips is measured relative to it.
static void make_creep(builder *b, int number)
{
    static const kd_anchor ground = {.body = -1, .R = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    const kd_wheel        *wheel = &b->s->wheel[number];
    const kd_constraint   *c = &b->s->model->constraint[b->s->row_g[wheel->row].constraint];
    kd_measure             axle = {KD_MEASURE_COSINE, .dof = -1, .j = 1, .turns = -1};
    if ((c->def.rail.creep == KD_CREEP_NONE && isinf(c->def.rail.clearance)) ||
        !start_load(b, &kd_load_creep, c->name, 6))
        return;
    b->load->wheel = wheel;
    b->load->stiff = true; // slow wheels are damped by the inverse of their speed
    int pair = axle.pair = kd_system_pair(b->s, &c->from, &c->to), from = pair;
    if (c->from.body >= 0) from = kd_system_pair(b->s, &c->from, &ground);
    if (pair < 0 || from < 0) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    for (int i = 0; i < 3; i++) add_channel(b, plain_measure(b->s, pair, KD_MEASURE_SHIFT, i));
    for (int i = 0; i < 3; i++) add_channel(b, plain_measure(b->s, pair, KD_MEASURE_TURN, i));
    for (int i = 0; i < 3; i++) add_measured(b, plain_measure(b->s, pair, KD_MEASURE_SHIFT, i), 0);
    for (axle.i = 0; axle.i < 3; axle.i++) add_measured(b, kd_system_measure(b->s, &axle), 0);
    for (int i = 0; i < 3; i++) add_measured(b, plain_measure(b->s, pair, KD_MEASURE_SHIFT, i), 1);
    for (int i = 0; i < 3; i++) add_measured(b, plain_measure(b->s, pair, KD_MEASURE_TURN, i), 1);
    if (from != pair) {
        for (int i = 0; i < 3; i++) add_measured(b, plain_measure(b->s, from, KD_MEASURE_SHIFT, i), 0);
        for (int i = 0; i < 3; i++) add_measured(b, plain_measure(b->s, from, KD_MEASURE_SHIFT, i), 1);
        for (int i = 0; i < 3; i++) add_measured(b, plain_measure(b->s, from, KD_MEASURE_TURN, i), 1);
    }
    if (wheel->unknown) add_variable(b, kd_system_slot(b->s, KD_SLOT_CONTACT, number, 0));
    if (wheel->by_load) add_variable(b, kd_system_slot(b->s, KD_SLOT_LAMBDA, number, 0));
}

// States come first, so that the place of a state element in r is its number. Their inputs are compiled when all of
// them exist.
kd_status kd_system_loads(kd_system *s, char *message, size_t size)
{
    const kd_model *m = s->model;
    builder         b = {.s = s, .message = message, .size = size};
    s->across = kd_arena_cut(&s->arena, (size_t)m->nforces, sizeof *s->across);
    b.reads = kd_cut_bool(&s->arena, m->nstates);
    if (s->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < m->nstates && b.status == KD_OK; i++) make_state(&b, i);
    for (int i = 0; i < m->nstates && b.status == KD_OK; i++) {
        b.load = &s->load[i];
        compile_law(&b, 0, m->state[i].def.input, &m->state[i].source, NULL, 0);
    }
    if (b.status == KD_OK) b.status = kd_system_order_controllers(s);
    for (int i = 0; i < m->nstates && b.status == KD_OK; i++) {
        b.load = &s->load[i];
        b.capacity = FIRST_CAPACITY; // of the array that add_states made
        add_variables_of(&b, s->load[i].law[0]);
    }
    for (int i = 0; i < m->nforces && b.status == KD_OK; i++) make_force(&b, i);
    for (int i = 0; i < m->nuser_forces && b.status == KD_OK; i++) make_user_force(&b, i);
    for (int i = 0; i < s->nwheels && b.status == KD_OK; i++) make_creep(&b, i);
    s->late = s->by_multipliers || s->nw > 0;
    return b.status;
}
