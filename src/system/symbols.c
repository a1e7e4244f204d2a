// symbols.c: what names in the expressions of a model stand for: parameters, t, curves, own names of the element, and
// paths to the motion of other elements.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "flexible/stress.h"
#include "model/element.h"
#include "system/system.h"

typedef struct finder {
    kd_system      *system;
    bool            sensor; // accelerations, reactions and other sensors may be read
    const kd_local *local;
    int             nlocal;
    bool            memory; // ran out of it
    char            why[160];
} finder;

// ---- paths ----------------------------------------------------------------------------------------------------------

// a measure of the pair as a variable; -1: out of memory
static int measure_slot(kd_system *s, int pair, kd_measure_kind kind, int i, int j, int level)
{
    if (pair < 0) return -1;
    int m = kd_system_measure(s, &(kd_measure){kind, .pair = pair, .dof = -1, .i = i, .j = j, .turns = -1});
    return m < 0 ? -1 : kd_system_slot(s, KD_SLOT_MEASURE, m, level);
}

// roll and yaw by two entries of C each, counted over turns where more than a picture depends on them; pitch by its sine
static int angle_slot(kd_system *s, int pair, int which)
{
    if (pair < 0) return -1;
    if (which == 1) return measure_slot(s, pair, KD_MEASURE_PITCH, 0, 0, 0);
    kd_entry sine = which == 0 ? (kd_entry){2, 1, 1} : (kd_entry){1, 0, 1};
    kd_entry cosine = which == 0 ? (kd_entry){2, 2, 1} : (kd_entry){0, 0, 1};
    int      m = kd_system_angle(s, pair, sine, cosine, !s->shows);
    return m < 0 ? -1 : kd_system_slot(s, KD_SLOT_MEASURE, m, 0);
}

// position, velocity and acceleration of the origin, turns, entries of R, angles, centre of mass
static int frame_slot(kd_system *s, const kd_path *path)
{
    bool body = path->section == KD_SECTION_BODY;
    int  pair = body ? kd_system_body_pair(s, path->element) : kd_system_frame_pair(s, path->element);
    switch (path->property) {
    case KD_PROPERTY_POS:
        return measure_slot(s, pair, KD_MEASURE_SHIFT, path->i, 0, 0);
    case KD_PROPERTY_VEL:
        return measure_slot(s, pair, KD_MEASURE_SHIFT, path->i, 0, 1);
    case KD_PROPERTY_ACC:
        return measure_slot(s, pair, KD_MEASURE_SHIFT, path->i, 0, 2);
    case KD_PROPERTY_OMEGA:
        return measure_slot(s, pair, KD_MEASURE_TURN, path->i, 0, 1);
    case KD_PROPERTY_ALPHA:
        return measure_slot(s, pair, KD_MEASURE_TURN, path->i, 0, 2);
    case KD_PROPERTY_R:
        return measure_slot(s, pair, KD_MEASURE_COSINE, path->i, path->j, 0);
    case KD_PROPERTY_ANGLE:
        return angle_slot(s, pair, path->i);
    case KD_PROPERTY_COM:
        return measure_slot(s, kd_system_centre_pair(s, path->element), KD_MEASURE_SHIFT, path->i, 0, 0);
    default:
        return -1;
    }
}

static int level_of(kd_property property)
{
    return property == KD_PROPERTY_Q ? 0 : property == KD_PROPERTY_V ? 1 : 2;
}

// where a path leads: a variable that the stages fill
static int path_slot(kd_system *s, const kd_path *path)
{
    int m;
    switch (path->section) {
    case KD_SECTION_BODY:
        // amplitudes of modes; all else is read at the frame of the body
        if (path->property == KD_PROPERTY_Q || path->property == KD_PROPERTY_V || path->property == KD_PROPERTY_A) {
            m = kd_system_amplitude(s, path->element, path->i);
            return m < 0 ? -1 : kd_system_slot(s, KD_SLOT_MEASURE, m, level_of(path->property));
        }
        if (path->property == KD_PROPERTY_STRESS)
            return kd_system_slot(s, KD_SLOT_STRESS, path->element, KD_STRESS_KINDS * path->i + path->j);
        return frame_slot(s, path);
    case KD_SECTION_FRAME:
        return frame_slot(s, path);
    case KD_SECTION_JOINT:
        // what the joint carries, or its coordinate with rate and acceleration
        if (path->property == KD_PROPERTY_FORCE) return kd_system_slot(s, KD_SLOT_REACTION, path->element, path->i);
        m = kd_system_joint_coordinate(s, path->element, path->i);
        return m < 0 ? -1 : kd_system_slot(s, KD_SLOT_MEASURE, m, level_of(path->property));
    case KD_SECTION_FORCE:
        // its force, its inner states, or what it measures
        if (path->property == KD_PROPERTY_FORCE) return kd_system_slot(s, KD_SLOT_CHANNEL, path->element, path->i);
        if (path->property == KD_PROPERTY_INNER)
            return kd_system_slot(s, KD_SLOT_STATE, kd_system_force_state(s, path->element) + path->i, 0);
        m = kd_system_force_measure(s, path->element);
        return m < 0 ? -1 : kd_system_slot(s, KD_SLOT_MEASURE, m, level_of(path->property));
    case KD_SECTION_CONSTRAINT:
        return kd_system_slot(s, path->property == KD_PROPERTY_WRENCH ? KD_SLOT_WHEEL : KD_SLOT_MULTIPLIER,
                              path->element, path->i);
    case KD_SECTION_STATE:
        return kd_system_slot(s, path->property == KD_PROPERTY_OUT ? KD_SLOT_OUT : KD_SLOT_STATE, path->element, 0);
    case KD_SECTION_INPUT:
        return kd_system_slot(s, KD_SLOT_INPUT, path->element, 0);
    case KD_SECTION_SENSOR:
        return kd_system_slot(s, KD_SLOT_SENSOR, path->element, 0);
    case KD_SECTION_BLOCK:
        // outputs of continuous blocks are those of a state element, sampled ones stand in z
        if (kd_block_is_continuous(&s->model->block[path->element].def))
            return kd_system_slot(s, KD_SLOT_OUT, s->block[path->element].load, path->i);
        return kd_system_slot(s, KD_SLOT_DISCRETE, s->block[path->element].z + path->i, 0);
    case KD_SECTION_VARIABLE:
        return kd_system_slot(s, KD_SLOT_DISCRETE, s->variable_z[path->element], 0);
    case KD_SECTION_ALGEBRAIC:
        return kd_system_slot(s, KD_SLOT_W, path->element, 0);
    case KD_SECTION_ENERGY:
        return kd_system_slot(s, KD_SLOT_ENERGY, 0, path->i);
    case KD_SECTION_USER_FORCE:
        return kd_system_slot(s, KD_SLOT_CHANNEL, s->model->nforces + path->element, path->i);
    case KD_SECTION_PARAMETER:
    case KD_SECTION_CURVE:
    case KD_SECTION_TRACK:
    case KD_SECTION_EVENT:
    case KD_SECTION_SUBSYSTEM:
    case KD_SECTION_INVARIANT:
    case KD_SECTION_CONDITION:
    case KD_SECTION_COUNT:
        break;
    }
    return -1;
}

// ---- the finder -----------------------------------------------------------------------------------------------------

// out of memory is told behind the compilation, by f->memory
static bool find_variable(finder *f, int slot, kd_symbol *out)
{
    f->memory = f->memory || slot < 0;
    *out = (kd_symbol){.kind = KD_SYMBOL_VARIABLE, .slot = slot < 0 ? 0 : slot};
    return true;
}

// A number of an element that parameters may change: it stands behind them
static bool find_number(const finder *f, int slot, kd_symbol *out)
{
    const int place = KD_FIRST_NUMBER - slot;
    *out = (kd_symbol){.kind = KD_SYMBOL_PARAMETER, .number = *f->system->number[place]};
    out->slot = f->system->model->nparameters + place;
    return true;
}

// The multiplier of a row of g, for equations of algebraic variables: models allow it to no others
static bool find_hold(finder *f, const char *name, const kd_path *path, kd_symbol *out)
{
    const int row = kd_system_row_of(f->system, path->element, path->i);
    if (row >= 0) {
        f->system->holds = true;
        return find_variable(f, kd_system_slot(f->system, KD_SLOT_HOLD, row, 0), out);
    }
    kd_text(f->why, sizeof f->why, "'%s' holds a velocity: only forces of constraints that hold positions can be read",
            name);
    return false;
}

static bool find_symbol(const char *name, void *context, kd_symbol *out)
{
    finder         *f = context;
    const kd_model *m = f->system->model;
    // own names of the element hide t, parameters and curves
    for (int i = 0; i < f->nlocal; i++)
        if (strcmp(name, f->local[i].name) == 0)
            return f->local[i].slot < -1 ? find_number(f, f->local[i].slot, out)
                                         : find_variable(f, f->local[i].slot, out);
    if (strcmp(name, "t") == 0) return find_variable(f, kd_system_slot(f->system, KD_SLOT_TIME, 0, 0), out);
    name = kd_plain_name(name);
    const kd_parameter *parameter = kd_model_parameter(m, name);
    if (parameter) {
        const int slot = (int)(parameter - m->parameter);
        *out = (kd_symbol){.kind = KD_SYMBOL_PARAMETER, .number = parameter->value, .slot = slot};
        return true;
    }
    const int curve = kd_model_find(m, KD_SECTION_CURVE, name);
    if (curve >= 0) {
        *out = (kd_symbol){.kind = KD_SYMBOL_CURVE, .curve = m->curve[curve].curve};
        return true;
    }
    const kd_curve *function = kd_model_track_function(m, name, NULL);
    if (function) {
        *out = (kd_symbol){.kind = KD_SYMBOL_CURVE, .curve = function};
        return true;
    }
    // a path; accelerations and forces only for those who come behind them
    kd_path path;
    if (!strchr(name, '.') || !kd_path_parse(m, name, &path, NULL, 0)) return false;
    if (!f->sensor && path.section == KD_SECTION_CONSTRAINT && path.property == KD_PROPERTY_FORCE)
        return find_hold(f, name, &path, out);
    if (!f->sensor && !kd_path_is_kinematic(&path)) {
        kd_text(f->why, sizeof f->why, "'%s' can be read by sensors only", name);
        return false;
    }
    return find_variable(f, path_slot(f->system, &path), out);
}

// Which part of a path is wrong; only asked for in the end, as beginnings of names are looked for, too
static const char *say_wrong_part(const char *name, void *context)
{
    finder *f = context;
    kd_path path;
    if (strchr(name, '.')) (void)kd_path_parse(f->system->model, name, &path, f->why, sizeof f->why);
    return NULL;
}

kd_status kd_system_compile(kd_system *s, const char *text, const char *element, const kd_source *source, bool sensor,
                            const kd_local *local, int nlocal, kd_expr **expr, char *message, size_t size)
{
    finder        f = {.system = s, .sensor = sensor, .local = local, .nlocal = nlocal};
    kd_symbols    symbols = {.find = find_symbol, .suggest = say_wrong_part, .context = &f};
    kd_expr_error error = {0};
    // the symbol finder knows better why a name is not found than the compiler
    kd_status status = kd_expr_compile(text, &symbols, expr, &error);
    if (status == KD_ERR_MODEL) {
        char where[80] = "";
        if (source && source->file) kd_text(where, sizeof where, "%.60s:%d: ", source->file, source->line);
        kd_text(message, size, "%s%s: '%s', column %d: %s", where, element, text, error.column,
                f.why[0] ? f.why : error.text);
    }
    if (status == KD_OK && (f.memory || kd_system_keep(s, *expr) < 0)) {
        kd_expr_destroy(*expr);
        status = KD_ERR_MEMORY;
    }
    if (status != KD_OK) *expr = NULL;
    return status;
}
