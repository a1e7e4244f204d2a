// laws.c: the expressions of a model: do they compile, do they read only what they may, are there algebraic loops.
//
// The graph of reads: sensors, PI outputs and outputs of blocks without period are nodes, an edge says that the value of one needs the value of another
// at the same instant. A cycle in it is an equation without explicit solution and is refused. Forces do not read
// forces. Equations of algebraic variables are nodes, too, but reads of algebraic variables are no edges: those are
// solved for, and src/model/algebraic.c looks whether they can be.
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "model/element.h"

// ---- what a text may read -------------------------------------------------------------------------------------------

// bits of what the names in a text may stand for
enum {
    READ_TIME = 1,
    READ_POSITIONS = 2,
    READ_MOTION = 4,        // velocities, states, inputs
    READ_ACCELERATIONS = 8, // forces, reactions, energies, sensors, too
    READ_INPUTS = 16,       // inputs, where motion may not be read
    READ_ALGEBRAIC = 32,    // algebraic variables
    READ_VELOCITIES = 64,   // velocities, where states may not be read
    READ_HOLDS = 128,       // forces of constraints, where other forces may not be read
};

typedef kd_read_edge  edge;
typedef kd_read_graph graph;

// one text after the other: what it may read, and what it has read
typedef struct reader {
    kd_model          *m;
    unsigned           may;
    const char *const *locals; // NULL at the end
    graph             *graph;
    graph             *algebraic;              // from nodes to algebraic variables
    int                node;                   // that reads; -1: none
    bool              *used[KD_SECTION_COUNT]; // (elements) read by somebody; NULL: not counted
    char               denied[300];            // a known name that must not be read here
    bool               broken;                 // a curve that is wrong itself is read
    char               why[300];               // of an unknown one
} reader;

// nodes: sensors, then states, then blocks, then equations of algebraic variables, which nobody reads
static int node_of(const kd_model *m, const kd_path *path)
{
    if (path->section == KD_SECTION_SENSOR) return path->element;
    if (path->section == KD_SECTION_STATE && path->property == KD_PROPERTY_OUT) return m->nsensors + path->element;
    if (path->section == KD_SECTION_BLOCK && kd_block_is_continuous(&m->block[path->element].def))
        return m->nsensors + m->nstates + path->element;
    return -1;
}

static int first_equation(const kd_model *m)
{
    return m->nsensors + m->nstates + m->nblocks;
}

// doubled when it is full
static void add_edge(graph *g, int from, int to)
{
    if (g->nedges == g->capacity) {
        const int capacity = g->capacity ? 2 * g->capacity : 64;
        edge     *larger = kd_alloc((size_t)capacity * sizeof *larger);
        if (!larger) {
            g->failed = true;
            return;
        }
        if (g->nedges > 0) memcpy(larger, g->edge, (size_t)g->nedges * sizeof *larger);
        kd_free(g->edge);
        g->edge = larger;
        g->capacity = capacity;
    }
    g->edge[g->nedges++] = (edge){from, to};
}

// what constraints may read, and forces may act along
static bool is_position(const kd_path *path)
{
    switch (path->property) {
    case KD_PROPERTY_POS:
    case KD_PROPERTY_COM:
    case KD_PROPERTY_R:
    case KD_PROPERTY_ANGLE:
    case KD_PROPERTY_Q:
        return true;
    default:
        return false;
    }
}

// what constraints on velocity level read besides
static bool is_velocity(const kd_path *path)
{
    return path->property == KD_PROPERTY_VEL || path->property == KD_PROPERTY_OMEGA || path->property == KD_PROPERTY_V;
}

static bool is_hold(const kd_path *path)
{
    return path->section == KD_SECTION_CONSTRAINT && path->property == KD_PROPERTY_FORCE;
}

// What else may be read, in words
static const char *allowed(unsigned may)
{
    if (may & READ_HOLDS) return "positions, velocities, states, blocks, variables, inputs and forces of constraints";
    if (may & READ_ALGEBRAIC) return "positions, velocities, states, blocks, variables and inputs";
    if (may & READ_MOTION) return "positions, velocities, states, blocks, inputs and variables of events";
    if (may & READ_VELOCITIES) return "t, inputs, positions and velocities";
    if (may & READ_POSITIONS) return "t, inputs and positions";
    return may & READ_INPUTS ? "parameters, t and inputs" : "parameters and t";
}

static void check_path(reader *r, const char *name, const kd_path *path)
{
    // the least that must be allowed for this path
    const unsigned needed = path->section == KD_SECTION_INPUT       ? READ_INPUTS | READ_MOTION
                            : path->section == KD_SECTION_ALGEBRAIC ? READ_ALGEBRAIC
                            : is_hold(path)                         ? READ_ACCELERATIONS | READ_HOLDS
                            : is_position(path)                     ? READ_POSITIONS
                            : is_velocity(path)                     ? READ_MOTION | READ_VELOCITIES
                            : kd_path_is_kinematic(path)            ? READ_MOTION
                                                                    : READ_ACCELERATIONS;
    const char    *may = r->may & needed ? NULL : allowed(r->may);
    if (may && !r->denied[0]) kd_text(r->denied, sizeof r->denied, "'%s' cannot be read here: only %s can", name, may);
    // reads of sensors and of outputs of controllers are edges of the graph
    const int node = node_of(r->m, path);
    if (node >= 0 && r->node >= 0 && !may) add_edge(r->graph, r->node, node);
    if (path->section == KD_SECTION_ALGEBRAIC && r->node >= 0 && !may) add_edge(r->algebraic, r->node, path->element);
    const bool own = path->section == KD_SECTION_ALGEBRAIC && r->node == first_equation(r->m) + path->element;
    if (r->used[path->section] && !own) r->used[path->section][path->element] = true;
}

// names that only this element has
static bool is_local(const reader *r, const char *name)
{
    for (const char *const *l = r->locals; l && *l; l++) {
        if (strcmp(*l, name) == 0) return true;
    }
    return false;
}

static bool find_symbol(const char *name, void *context, kd_symbol *out)
{
    reader *r = context;
    // t, own names of the element, parameters, curves, functions of tracks, then paths
    *out = (kd_symbol){.kind = KD_SYMBOL_VARIABLE};
    if (strcmp(name, "t") == 0) return true;
    if (is_local(r, name)) {
        // the only own name of an equation is that of its variable
        const int own = r->node - first_equation(r->m);
        if (own >= 0) add_edge(r->algebraic, r->node, own);
        return true;
    }
    name = kd_plain_name(name);
    double value;
    if (kd_model_use_parameter(r->m, name, &value)) {
        *out = (kd_symbol){.kind = KD_SYMBOL_NUMBER, .number = value};
        return true;
    }
    const int curve = kd_model_find(r->m, KD_SECTION_CURVE, name);
    if (curve >= 0) {
        *out = (kd_symbol){.kind = KD_SYMBOL_CURVE, .curve = r->m->curve[curve].curve};
        r->used[KD_SECTION_CURVE][curve] = true;
        // a curve that is wrong has been told already: no second error
        r->broken = r->broken || !r->m->curve[curve].curve;
        return !r->broken;
    }
    int             track = -1;
    const kd_curve *function = kd_model_track_function(r->m, name, &track);
    if (track >= 0) {
        *out = (kd_symbol){.kind = KD_SYMBOL_CURVE, .curve = function};
        r->used[KD_SECTION_TRACK][track] = true;
        r->broken = r->broken || !function;
        return !r->broken;
    }
    kd_path path;
    if (!strchr(name, '.') || !kd_path_parse(r->m, name, &path, NULL, 0)) return false;
    check_path(r, name, &path);
    return true;
}

// An element of this name is read by its path: 'algebraic.w' for 'w'
static void say_path(const reader *r, const char *name, char *why, size_t size)
{
    static const kd_section readable[] = {KD_SECTION_INPUT, KD_SECTION_ALGEBRAIC, KD_SECTION_STATE, KD_SECTION_VARIABLE,
                                          KD_SECTION_SENSOR};
    for (size_t k = 0; k < sizeof readable / sizeof readable[0]; k++) {
        if (kd_model_find(r->m, readable[k], name) < 0) continue;
        kd_text(why, size, "unknown name '%.60s', did you mean '%s.%.60s'?", name, kd_section_word(readable[k]), name);
        return;
    }
}

// near own names, parameters and curves; of a path say which part is wrong
static const char *suggest_symbol(const char *name, void *context)
{
    reader *r = context;
    kd_path path;
    if (strchr(name, '.')) { // say what part of the path is wrong
        kd_path_parse(r->m, name, &path, r->why, sizeof r->why);
        return NULL;
    }
    kd_nearest nearest = kd_nearest_start(name);
    for (const char *const *l = r->locals; l && *l; l++) kd_nearest_offer(&nearest, *l);
    kd_nearest_offer(&nearest, kd_model_nearest(r->m, KD_SECTION_PARAMETER, name));
    kd_nearest_offer(&nearest, kd_model_nearest(r->m, KD_SECTION_CURVE, name));
    say_path(r, name, r->why, sizeof r->why);
    return nearest.best;
}

// Compile one text for the sake of its errors.
static kd_status check_text(reader *r, kd_section section, int element, const char *field, const char *text,
                            unsigned may, const char *const *locals)
{
    if (!text || kd_model_error_count(r->m) > KD_MODEL_MAX_ERRORS) return KD_OK;
    // what the last text left
    r->may = may;
    r->locals = locals;
    r->denied[0] = r->why[0] = '\0';
    r->broken = false;
    const kd_symbols symbols = {find_symbol, suggest_symbol, r};
    kd_expr         *expr = NULL;
    kd_expr_error    error = {0};
    // compiled only to see its names and its errors; systems compile again
    const kd_status status = kd_expr_compile(text, &symbols, &expr, &error);
    kd_expr_destroy(expr);
    if (status == KD_ERR_MEMORY || r->broken) return status == KD_ERR_MEMORY ? status : KD_OK;
    if (status < 0) {
        // the finder knows better than the compiler what is wrong with a path
        const char *why = r->why[0] ? r->why : error.text;
        char        where[60] = "";
        kd_source   source;
        // at the column inside of the expression, where the file has it as it is
        if (error.column > 0 && kd_model_source_in(r->m, section, element, field, error.column, &source)) {
            kd_model_error_at(r->m, &source, "%s '%s': %s: %s", kd_section_word(section),
                              kd_element_name(r->m, section, element), field, why);
            return KD_OK;
        }
        if (error.column > 0) {
            kd_text(where, sizeof where, " (column %d of '%.20s%s')", error.column, text,
                    strlen(text) > 20 ? ".." : "");
        }
        kd_model_error(r->m, section, element, field, "%s: %s%s", field, why, where);
    } else if (r->denied[0]) {
        kd_model_error(r->m, section, element, field, "%s: %s", field, r->denied);
    }
    return KD_OK;
}

// ---- elements -------------------------------------------------------------------------------------------------------

// what fields of elements may read
static const unsigned may_read[] = {[KD_READS_MOTION] = READ_TIME | READ_POSITIONS | READ_MOTION | READ_ALGEBRAIC,
                                    [KD_READS_POSITIONS] = READ_TIME | READ_INPUTS | READ_POSITIONS,
                                    [KD_READS_VELOCITIES] = READ_TIME | READ_INPUTS | READ_POSITIONS | READ_VELOCITIES,
                                    [KD_READS_TIME] = READ_TIME | READ_INPUTS};

// The expressions of an element, by its fields
static kd_status check_laws(reader *r, kd_section section, int element, const kd_element_class *class, const void *def)
{
    kd_status status = KD_OK;
    // fields that are laws, each with its own names
    for (int i = 0; i < class->nfields; i++) {
        const kd_field    *f = &class->fields[i];
        const char *const *text = (const char *const *)(const void *)((const char *)def + f->offset);
        for (int k = 0; f->type == KD_FIELD_LAW && k < f->count && status >= 0; k++) {
            char name[40];
            kd_text(name, sizeof name, f->count > 1 ? "%s[%d]" : "%s", f->key, k);
            status = check_text(r, section, element, name, text[k], may_read[f->reads], f->locals);
        }
    }
    return status;
}

static kd_status check_force(reader *r, int i)
{
    const kd_force *f = &r->m->force[i];
    if (f->curve >= 0) r->used[KD_SECTION_CURVE][f->curve] = true;
    if (f->to_curve >= 0) r->used[KD_SECTION_CURVE][f->to_curve] = true;
    return check_laws(r, KD_SECTION_FORCE, i, kd_force_element((int)f->def.kind), &f->def);
}

// ---- discrete parts -------------------------------------------------------------------------------------------------

// blocks and events may read everything, as sensors do
static const unsigned signal = READ_TIME | READ_POSITIONS | READ_MOTION | READ_ALGEBRAIC | READ_ACCELERATIONS;
// what is kept or asked of the start are functions of the motion alone
static const unsigned motion = READ_TIME | READ_POSITIONS | READ_MOTION;

// names of inputs and states, for the expressions of one block
typedef struct signal_locals {
    char        text[2 * KD_MAX_SIGNALS][KD_SIGNAL_NAME];
    const char *name[2 * KD_MAX_SIGNALS + 1]; // inputs, states, NULL
} signal_locals;

static void list_signals(const kd_block_def *def, signal_locals *l)
{
    int n = 0;
    for (int i = 0; i < def->ninputs; i++, n++) l->name[n] = kd_block_input_name(def, i, l->text[n]);
    for (int i = 0; i < def->nstates; i++, n++) l->name[n] = kd_block_state_name(def, i, l->text[n]);
    l->name[n] = NULL;
}

static kd_status check_signals(reader *r, kd_section section, int element, const char *key, int n,
                               const char *const *text, const char *const *name, const char *const *locals,
                               unsigned may)
{
    kd_status status = KD_OK;
    for (int i = 0; i < n && status >= 0; i++) {
        char field[KD_EXPR_MAX_NAME + 20];
        kd_signal_field(key, i, n, name ? name[i] : NULL, field, sizeof field);
        status = check_text(r, section, element, field, text[i], may, locals);
    }
    return status;
}

static kd_status check_block(reader *r, int i)
{
    const kd_block_def *def = &r->m->block[i].def;
    signal_locals       l;
    const kd_block_element *class = kd_block_element_of(def);
    kd_status status = KD_OK;
    // inputs with keys of their own, or a list
    for (int k = 0; class->inputs && class->inputs[k] && status >= 0; k++)
        status = check_text(r, KD_SECTION_BLOCK, i, class->inputs[k], def->input[k], signal, NULL);
    if (class->inputs) return status;
    status = check_signals(r, KD_SECTION_BLOCK, i, "input", def->ninputs, def->input, def->input_name, NULL,
                           kd_block_is_continuous(def) ? may_read[KD_READS_MOTION] : signal);
    if (status < 0 || !class->expressions) return status;
    // outputs and next states see inputs and states by name
    list_signals(def, &l);
    status = check_signals(r, KD_SECTION_BLOCK, i, "output", def->noutputs, def->output, NULL, l.name, signal);
    if (status < 0) return status;
    return check_signals(r, KD_SECTION_BLOCK, i, "next", def->nstates, def->next, l.name + def->ninputs, l.name,
                         signal);
}

// Can an event change what the path says?
static bool is_target(const kd_path *path)
{
    return path->section == KD_SECTION_VARIABLE ||
           (path->section == KD_SECTION_STATE && path->property == KD_PROPERTY_VALUE) ||
           (path->section == KD_SECTION_JOINT && path->property == KD_PROPERTY_V);
}

static void check_target(reader *r, int event, int k)
{
    const kd_event_def *def = &r->m->event[event].def;
    kd_path             path;
    char                why[300] = "", field[KD_EXPR_MAX_NAME + 20];
    // a path, of something that is a state or variable, and that nobody prescribes
    kd_signal_field("set", k, def->nsettings, def->target[k], field, sizeof field);
    if (!kd_path_parse(r->m, def->target[k], &path, why, sizeof why)) {
        kd_model_error(r->m, KD_SECTION_EVENT, event, field, "set: %s", why);
    } else if (!is_target(&path)) {
        kd_model_error(r->m, KD_SECTION_EVENT, event, field,
                       "set: '%s' cannot be set: an event changes variable.NAME, state.NAME and joint.NAME.v",
                       def->target[k]);
    } else if (path.section == KD_SECTION_JOINT && r->m->joint[path.element].def.motion[path.i]) {
        kd_model_error(r->m, KD_SECTION_EVENT, event, field, "set: '%s' cannot be set: its motion is prescribed",
                       def->target[k]);
    }
}

static kd_status check_event(reader *r, int i)
{
    const kd_event_def *def = &r->m->event[i].def;
    kd_status           status = check_text(r, KD_SECTION_EVENT, i, "when", def->when, signal, NULL);
    for (int k = 0; k < def->nsettings; k++) check_target(r, i, k);
    if (status < 0) return status;
    return check_signals(r, KD_SECTION_EVENT, i, "set", def->nsettings, def->value, def->target, NULL, signal);
}

static kd_status check_discrete(reader *r)
{
    kd_status status = KD_OK;
    // samples are no part of the graph: they read what was before
    r->node = -1;
    for (int i = 0; i < r->m->nblocks && status >= 0; i++) {
        r->node = kd_block_is_continuous(&r->m->block[i].def) ? r->m->nsensors + r->m->nstates + i : -1;
        status = check_block(r, i);
    }
    r->node = -1;
    for (int i = 0; i < r->m->nevents && status >= 0; i++) status = check_event(r, i);
    return status;
}

// ---- all ------------------------------------------------------------------------------------------------------------

static kd_status check_elements(reader *r)
{
    static const char *const motion_field[] = {"motion[0]", "motion[1]", "motion[2]",
                                               "motion[3]", "motion[4]", "motion[5]"};
    kd_model                *m = r->m;
    kd_status                status = KD_OK;
    // forces are no nodes: nobody reads them in laws
    r->node = -1;
    for (int i = 0; i < m->nforces && status >= 0; i++) status = check_force(r, i);
    // states and sensors are, and add edges
    for (int i = 0; i < m->nstates && status >= 0; i++) {
        r->node = m->nsensors + i;
        status =
            check_laws(r, KD_SECTION_STATE, i, kd_state_element_class((int)m->state[i].def.kind), &m->state[i].def);
    }
    // equations read more: what holds constraints
    for (int i = 0; i < m->nalgebraic && status >= 0; i++) {
        const char *const own[] = {kd_algebraic_own_name(&m->algebraic[i]), NULL};
        r->node = first_equation(m) + i;
        status = check_text(r, KD_SECTION_ALGEBRAIC, i, "equation", m->algebraic[i].def.equation,
                            may_read[KD_READS_MOTION] | READ_HOLDS, own);
    }
    // so do sensors: accelerations
    for (int i = 0; i < m->nsensors && status >= 0; i++) {
        r->node = i;
        status = check_text(r, KD_SECTION_SENSOR, i, "value", m->sensor[i].def.value,
                            may_read[KD_READS_MOTION] | READ_ACCELERATIONS, NULL);
    }
    // motions and inputs read time (and inputs) only, constraints what their fields say
    r->node = -1;
    for (int i = 0; i < m->njoints && status >= 0; i++) {
        for (int k = 0; k < 6 && status >= 0; k++) {
            status = check_text(r, KD_SECTION_JOINT, i, motion_field[k], m->joint[i].def.motion[k],
                                READ_TIME | READ_INPUTS, NULL);
        }
    }
    // invariants and conditions of the start read the motion
    for (int i = 0; i < m->ninvariants && status >= 0; i++) {
        status = check_text(r, KD_SECTION_INVARIANT, i, "value", m->invariant[i].def.value, motion, NULL);
    }
    for (int i = 0; i < m->nconditions && status >= 0; i++) {
        status = check_text(r, KD_SECTION_CONDITION, i, "value", m->condition[i].def.value, motion, NULL);
    }
    for (int i = 0; i < m->ninputs && status >= 0; i++) {
        status = check_text(r, KD_SECTION_INPUT, i, "value", m->input[i].def.value, READ_TIME, NULL);
    }
    // curves that joints and constraints use
    for (int i = 0; i < m->njoints; i++)
        for (int k = 0; k < KD_TABLE_COLUMNS; k++)
            if (m->joint[i].curve[k] >= 0) r->used[KD_SECTION_CURVE][m->joint[i].curve[k]] = true;
    for (int i = 0; i < m->nconstraints && status >= 0; i++) {
        const kd_constraint *c = &m->constraint[i];
        if (c->curve >= 0) r->used[KD_SECTION_CURVE][c->curve] = true;
        if (c->wheel_curve >= 0) r->used[KD_SECTION_CURVE][c->wheel_curve] = true;
        if (c->rail_curve >= 0) r->used[KD_SECTION_CURVE][c->rail_curve] = true;
        status = check_laws(r, KD_SECTION_CONSTRAINT, i, kd_constraint_element((int)c->def.kind), &c->def);
    }
    return status < 0 ? status : check_discrete(r);
}

// Measures of user forces: lengths and angles, whose rates are known.
static void check_measures(reader *r)
{
    kd_model *m = r->m;
    for (int i = 0; i < m->nuser_forces; i++) {
        const kd_user_force_def *def = &m->user_force[i].def;
        for (int k = 0; k < def->nmeasures; k++) {
            kd_path path;
            char    why[300] = "";
            if (!def->measure[k]) {
                kd_model_error(m, KD_SECTION_USER_FORCE, i, "measure", "measure %d is missing", k + 1);
            } else if (!kd_path_parse(m, def->measure[k], &path, why, sizeof why)) {
                kd_model_error(m, KD_SECTION_USER_FORCE, i, "measure", "measure %d: %s", k + 1, why);
                // a force acts along what has a rate
            } else if (!is_position(&path)) {
                kd_model_error(m, KD_SECTION_USER_FORCE, i, "measure",
                               "measure %d: '%s' is no position: measures are lengths, angles and coordinates", k + 1,
                               def->measure[k]);
            } else if (r->used[path.section]) {
                r->used[path.section][path.element] = true;
            }
        }
    }
}

// ---- cycles ---------------------------------------------------------------------------------------------------------

// as paths write it
static void say_node(const kd_model *m, int node, char *text, size_t size)
{
    if (node < m->nsensors) {
        kd_text_append(text, size, "sensor.%s", m->sensor[node].name);
    } else if (node < m->nsensors + m->nstates) {
        kd_text_append(text, size, "state.%s.out", m->state[node - m->nsensors].name);
    } else {
        kd_text_append(text, size, "block.%s", m->block[node - m->nsensors - m->nstates].name);
    }
}

static void report_cycle(kd_model *m, const int *stack, int first, int last)
{
    char text[300] = "";
    // at most eight of a long cycle
    for (int k = first; k <= last && k < first + 8; k++) {
        say_node(m, stack[k], text, sizeof text);
        kd_text_append(text, sizeof text, " -> ");
    }
    if (last >= first + 8) kd_text_append(text, sizeof text, ".. -> ");
    say_node(m, stack[first], text, sizeof text);
    const int n = stack[first];
    // what stands in the cycle decides about the advice
    if (n < m->nsensors) {
        kd_model_error(m, KD_SECTION_SENSOR, n, "value", "it reads itself: %s", text);
    } else if (n >= m->nsensors + m->nstates) {
        kd_model_error(m, KD_SECTION_BLOCK, n - m->nsensors - m->nstates, "input",
                       "it needs its own output (algebraic loop): %s", text);
    } else {
        kd_model_error(m, KD_SECTION_STATE, n - m->nsensors, "input",
                       "it needs its own value (algebraic loop): %s; read the state itself instead of its output",
                       text);
    }
}

// Depth-first search without recursion: next[] walks the edges of each node on the stack.
static kd_status find_cycles(kd_model *m, const graph *g)
{
    kd_arena arena = {0};
    int     *start = kd_cut_int(&arena, g->nnodes + 1), *target = kd_cut_int(&arena, g->nedges);
    int     *next = kd_cut_int(&arena, g->nnodes), *stack = kd_cut_int(&arena, g->nnodes);
    int     *place = kd_cut_int(&arena, g->nnodes); // 0: new, > 0: on the stack at place - 1, -1: done
    // edges sorted by the node that reads (counting)
    if (!arena.failed) {
        for (int e = 0; e < g->nedges; e++) start[g->edge[e].from + 1]++;
        for (int n = 0; n < g->nnodes; n++) {
            start[n + 1] += start[n];
            next[n] = start[n];
        }
        for (int e = 0; e < g->nedges; e++) target[next[g->edge[e].from]++] = g->edge[e].to;
        for (int n = 0; n < g->nnodes; n++) next[n] = start[n];
        // an edge back to the stack closes a cycle; what is done leads to none
        for (int root = 0; root < g->nnodes; root++) {
            if (place[root] != 0) continue;
            int depth = 0;
            stack[0] = root;
            place[root] = 1;
            while (depth >= 0) {
                const int n = stack[depth];
                if (next[n] == start[n + 1]) {
                    place[n] = -1;
                    depth--;
                    continue;
                }
                const int to = target[next[n]++];
                if (place[to] > 0) report_cycle(m, stack, place[to] - 1, depth);
                if (place[to] == 0) {
                    stack[++depth] = to;
                    place[to] = depth + 1;
                }
            }
        }
    }
    const kd_status status = arena.failed ? KD_ERR_MEMORY : KD_OK;
    kd_arena_release(&arena);
    return status;
}

// ---- unused names ---------------------------------------------------------------------------------------------------

// Places of files whose elements are used in one of the subsystems or repetitions that they belong to, or were told
typedef struct told {
    kd_model *m;
    kd_names  known;
    char      text[4200]; // one place
} told;

// "line:column file", one text for all that stands there; "": it stands in no file
static const char *place_of(told *u, kd_section section, int i)
{
    const kd_source source = kd_model_source_of(u->m, section, i, NULL);
    kd_text(u->text, sizeof u->text, "%s", "");
    if (source.file) kd_text(u->text, sizeof u->text, "%d:%d %s", source.line, source.column, source.file);
    return u->text;
}

static bool is_told(told *u, kd_section section, int i)
{
    return kd_names_find(&u->known, section, place_of(u, section, i)) >= 0;
}

static kd_status tell_once(told *u, kd_section section, int i)
{
    if (is_told(u, section, i) || !u->text[0]) return KD_OK;
    const char *place = kd_model_text(u->m, u->text);
    return place ? kd_names_add(&u->known, section, place, i) : KD_ERR_MEMORY;
}

static bool counts(const kd_model *m, kd_section section, int i)
{
    // a part need not use the frames that it offers, nor anybody all that a shared file has
    if (section == KD_SECTION_FRAME && kd_subsystem_of(m, section, i)) return false;
    return !kd_model_is_shared(m, kd_model_source_of(m, section, i, NULL).file);
}

static void warn_unused(kd_model *m, kd_section section, int i)
{
    const char *full = kd_element_name(m, section, i), *point = strrchr(full, '.'), *name = point ? point + 1 : full;
    if (section == KD_SECTION_PARAMETER && kd_schema_is_local(name))
        kd_model_warn(m, section, i, NULL,
                      "it is never used; where laws of elements have a quantity '%s' of their own, that is meant",
                      name);
    else
        kd_model_warn(m, section, i, NULL, "it is never used");
}

// Only where all texts were right, see kd_finish_laws
static kd_status warn_section(kd_model *m, kd_section section, const bool *used)
{
    const int n = kd_section_count(m, section);
    int       unused = 0;
    for (int i = 0; i < n; i++) unused += !used[i] && counts(m, section, i);
    if (unused == 0) return KD_OK;
    told *u = kd_alloc(sizeof *u);
    if (!u) return KD_ERR_MEMORY;
    // what one subsystem uses is used; what none does is told of the first one
    kd_status status = KD_OK;
    memset(u, 0, sizeof *u);
    u->m = m;
    for (int i = 0; i < n && status >= 0; i++)
        if (used[i]) status = tell_once(u, section, i);
    for (int i = 0; i < n && status >= 0; i++) {
        if (used[i] || !counts(m, section, i) || is_told(u, section, i)) continue;
        warn_unused(m, section, i);
        status = tell_once(u, section, i);
    }
    kd_names_release(&u->known);
    kd_free(u);
    return status;
}

kd_status kd_finish_laws(kd_model *m)
{
    static const kd_section counted[] = {KD_SECTION_CURVE, KD_SECTION_INPUT, KD_SECTION_FRAME,    KD_SECTION_STATE,
                                         KD_SECTION_TRACK, KD_SECTION_BLOCK, KD_SECTION_VARIABLE, KD_SECTION_ALGEBRAIC};
    const int               ncounted = (int)(sizeof counted / sizeof counted[0]);
    kd_arena                arena = {0};
    graph                   g = {.nnodes = m->nsensors + m->nstates + m->nblocks + m->nalgebraic}, algebraic = g;
    reader                 *r = kd_arena_cut(&arena, 1, sizeof *r);
    kd_status               status = KD_ERR_MEMORY;
    if (!r) goto done;
    // reads of these sections are counted, for warnings
    r->m = m;
    r->graph = &g;
    r->algebraic = &algebraic;
    for (int k = 0; k < ncounted; k++) r->used[counted[k]] = kd_cut_bool(&arena, kd_section_count(m, counted[k]));
    r->used[KD_SECTION_PARAMETER] = kd_cut_bool(&arena, m->nparameters);
    if (arena.failed) goto done;
    // frames that elements stand on are used, too
    for (int i = 0; i < m->nframes; i++) r->used[KD_SECTION_FRAME][i] = m->frame[i].used;
    status = check_elements(r);
    check_measures(r);
    if (status >= 0 && (g.failed || algebraic.failed)) status = KD_ERR_MEMORY;
    if (status >= 0) status = find_cycles(m, &g);
    if (status < 0 || kd_model_error_count(m) > 0) goto done; // what a wrong text reads is not known
    status = kd_finish_algebraic(m, &g, &algebraic);
    if (status < 0 || kd_model_error_count(m) > 0) goto done;
    for (int k = 0; k < ncounted && status >= 0; k++) status = warn_section(m, counted[k], r->used[counted[k]]);
    for (int i = 0; i < m->nparameters; i++) r->used[KD_SECTION_PARAMETER][i] = m->parameter[i].used;
    if (status >= 0) status = warn_section(m, KD_SECTION_PARAMETER, r->used[KD_SECTION_PARAMETER]);

done:
    kd_free(algebraic.edge);
    kd_free(g.edge);
    kd_arena_release(&arena);
    return status;
}
