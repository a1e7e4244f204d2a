// discrete.c: sampled blocks, variables and events of a model: their places in z, expressions, matrices.
//
// A transfer function b(z)/a(z) of order n, a monic, is realised in controllable form: with the states x_1 .. x_n
//     x_1+ = u - a_1 x_1 - .. - a_n x_n,   x_(i+1)+ = x_i,   y = b_0 u + sum (b_i - a_i b_0) x_i.
// One of s becomes one of z by the trapezoidal rule, s = 2/T (z - 1)/(z + 1).
#include "system/discrete.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
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
    // a block: outputs, states, number of its next sample; then one place for each variable
    for (int i = 0; i < m->nblocks; i++) {
        const kd_block_def *def = &m->block[i].def;
        s->block[i].block = &m->block[i];
        s->block[i].z = kd_system_add_z(s, def->noutputs + def->nstates + 1);
    }
    for (int i = 0; i < m->nvariables; i++) s->variable_z[i] = kd_system_add_z(s, 1);
    return KD_OK;
}

// ---- transfer functions ---------------------------------------------------------------------------------------------

enum { COEFFICIENTS = KD_MAX_SIGNALS + 1 };

// out += factor (z - 1)^minus (z + 1)^(n - minus), highest power first
static void add_power(int n, int minus, double factor, double *out)
{
    // polynomial multiplication by (z - 1) or (z + 1), one factor after the other
    double power[COEFFICIENTS] = {factor};
    for (int k = 0; k < n; k++) {
        const double c = k < minus ? -1.0 : 1.0;
        for (int i = k + 1; i > 0; i--) power[i] += c * power[i - 1];
    }
    for (int i = 0; i <= n; i++) out[i] += power[i];
}

// Coefficients of a polynomial as those of z^n .. 1; of s: times ((z + 1) T/2)^n
static void in_z(const kd_block_def *def, const double *given, int count, int n, double *out)
{
    memset(out, 0, COEFFICIENTS * sizeof *out);
    const int power = count - 1; // of given[0]
    // z already: shifted to the power n
    if (!def->continuous) {
        memcpy(out + n - power, given, (size_t)count * sizeof *out);
        return;
    }
    for (int i = 0; i < count; i++) add_power(n, power - i, given[i] * pow(0.5 * def->period, n - power + i), out);
}

// Row 0 of A, then C and D, from the coefficients; the rest of A and B does not depend on them.
static void realise(const kd_block_def *def, double *A, double *C, double *D)
{
    const int n = def->nstates;
    double    num[COEFFICIENTS], den[COEFFICIENTS];
    in_z(def, def->numerator, def->nnumerator, n, num);
    in_z(def, def->denominator, def->ndenominator, n, den);
    // y = D u + C x with D = b_0 / a_0; both polynomials are divided by a_0
    *D = num[0] / den[0];
    for (int i = 0; i < n; i++) {
        A[i] = -den[i + 1] / den[0];
        C[i] = (num[i + 1] - den[i + 1] * *D) / den[0];
    }
}

void kd_system_set_blocks(kd_system *s)
{
    for (int i = 0; i < s->model->nblocks && !s->for_start; i++) {
        kd_sampler *b = &s->block[i];
        if (b->made[0]) realise(&b->block->def, b->made[0], b->made[1], b->made[2]);
    }
}

static bool make_matrices(kd_system *s, kd_sampler *b)
{
    const kd_block_def *def = &b->block->def;
    const int           n = def->nstates;
    double             *A = kd_cut_double(&s->arena, n * n), *B = kd_cut_double(&s->arena, n);
    double             *C = kd_cut_double(&s->arena, n), *D = kd_cut_double(&s->arena, 1);
    if (s->arena.failed) return false;
    // x_(i+1)+ = x_i: ones below the diagonal, the input enters x_1
    for (int i = 1; i < n; i++) A[n * i + i - 1] = 1.0;
    if (n > 0) B[0] = 1.0;
    b->A = b->made[0] = A, b->B = B, b->C = b->made[1] = C, b->D = b->made[2] = D;
    realise(def, A, C, D);
    return true;
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

// Names of inputs and states in the expressions of a block
typedef struct names {
    char     text[2 * KD_MAX_SIGNALS][KD_SIGNAL_NAME];
    kd_local local[2 * KD_MAX_SIGNALS];
    int      n;
} names;

static bool list_names(kd_system *s, int block, names *of)
{
    kd_sampler         *b = &s->block[block];
    const kd_block_def *def = &b->block->def;
    bool                made = true;
    of->n = 0;
    // inputs by variables that are set while the block is sampled, states by their places in z
    for (int i = 0; i < def->ninputs; i++, of->n++) {
        b->input_slot[i] = kd_system_slot(s, KD_SLOT_SIGNAL, block * KD_MAX_SIGNALS + i, 0);
        of->local[of->n] = (kd_local){kd_block_input_name(def, i, of->text[of->n]), b->input_slot[i]};
        made = made && b->input_slot[i] >= 0;
    }
    for (int i = 0; i < def->nstates; i++, of->n++) {
        const int slot = kd_system_slot(s, KD_SLOT_DISCRETE, b->z + def->noutputs + i, 0);
        of->local[of->n] = (kd_local){kd_block_state_name(def, i, of->text[of->n]), slot};
        made = made && slot >= 0;
    }
    return made;
}

static kd_status make_block(kd_system *s, int i, char *message, size_t size)
{
    kd_sampler         *b = &s->block[i];
    const kd_block_def *def = &b->block->def;
    const text_of       of = {b->block->name, &b->block->source, message, size};
    kd_status           status = KD_OK;
    names               local;
    // inputs read the model; outputs and next states read inputs and states of the block by name
    for (int k = 0; k < def->ninputs && status == KD_OK; k++)
        status = compile(s, &of, def->input[k], NULL, 0, &b->input[k]);
    if (status != KD_OK) return status;
    b->A = def->A, b->B = def->B, b->C = def->C, b->D = def->D;
    if (def->kind == KD_BLOCK_TRANSFER) return make_matrices(s, b) ? KD_OK : KD_ERR_MEMORY;
    if (def->kind != KD_BLOCK_EXPRESSION) return KD_OK;
    if (!list_names(s, i, &local)) return KD_ERR_MEMORY;
    for (int k = 0; k < def->noutputs && status == KD_OK; k++)
        status = compile(s, &of, def->output[k], local.local, local.n, &b->output[k]);
    for (int k = 0; k < def->nstates && status == KD_OK; k++)
        status = compile(s, &of, def->next[k], local.local, local.n, &b->next[k]);
    return status;
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
    for (int i = 0; i < s->model->nblocks && status == KD_OK; i++) status = make_block(s, i, message, size);
    for (int i = 0; i < s->model->nevents && status == KD_OK; i++) status = make_event(s, i, message, size);
    return status;
}

const signed char *kd_system_crossings(kd_system *s)
{
    static const signed char direction[] = {
        [KD_CROSSING_BOTH] = 0, [KD_CROSSING_RISING] = 1, [KD_CROSSING_FALLING] = -1};
    signed char *out = kd_arena_cut(&s->arena, (size_t)s->model->nevents, sizeof *out);
    for (int i = 0; out && i < s->model->nevents; i++) out[i] = direction[s->model->event[i].def.crossing];
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
        case KD_SLOT_REACTION:
        case KD_SLOT_MULTIPLIER:
        case KD_SLOT_WHEEL:
        case KD_SLOT_CHANNEL:
        case KD_SLOT_ENERGY:
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
        for (int k = 0; k < KD_MAX_SIGNALS; k++) {
            add_reading(s, s->block[i].input[k], &s->at_samples);
            add_reading(s, s->block[i].output[k], &s->at_samples);
            add_reading(s, s->block[i].next[k], &s->at_samples);
        }
    for (int i = 0; i < m->nevents; i++) {
        add_reading(s, s->event[i].when, &s->at_switches);
        for (int k = 0; k < KD_MAX_SETTINGS; k++) add_reading(s, s->event[i].value[k], &s->at_events);
    }
    close_reading(s, &s->at_samples);
    close_reading(s, &s->at_switches);
    close_reading(s, &s->at_events);
}
