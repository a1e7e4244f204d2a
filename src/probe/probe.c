// probe.c: answers about one state, each computed once, and only as far as the question needs it.
//
// The evaluation point goes through its stages as they are asked for: inputs at the time, poses and |g| at the
// position, rates, energies and |gI| at the velocity, everything else at the acceleration. There a is that of the state
// if it belongs to its forces and multipliers,
//
//     |M a - f + (GZ)' lambda + (HZ)' mu| <= STALE |f - (GZ)' lambda - (HZ)' mu|,
//
// and the solution of M a = f - (GZ)' lambda - (HZ)' mu otherwise: integrators carry multipliers along that are less
// accurate than the motion, and forms without accelerations leave them to who wants to know them.
#include "probe/probe.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "math/dense.h"
#include "model/channel.h"
#include "model/model.h"

static const double STALE = 1e-9;     // relative dynamic residual above which x->a does not belong to the state
static const double ROUNDING = 1e-13; // of the forces of the last look, which spares another one

// pose: position, quaternion; rate: velocity, angular velocity; levels of violation: position, velocity, acceleration
enum { POSE = 7, RATE = 6, LEVELS = 3 };

struct kd_probe {
    kd_arena          arena;
    const kd_eom     *eom;
    const kd_system  *system; // NULL: equations without a model
    kd_dims           dims;
    kd_inputs         inputs;
    kd_eom_data      *data;
    const kd_state   *x;     // NULL: none was set
    kd_stage          stage; // of the point, as long as its stamp is this
    unsigned long     stamp, velocity_stamp;
    unsigned          known;                     // bits of groups whose values are there
    bool              level[LEVELS];             // violations that are there
    int               first[KD_GROUP_COUNT + 1]; // first channel of each group; the last entry is their number
    double           *value;                     // (channels)
    double           *M;                         // (nv x nv); NULL: the definition has the explicit formalism
    double           *force;                     // (nv)
    double            seen;                      // largest entry of force when it was last looked at
    double           *rows;                      // (largest number of rows of a function)
    kd_energies       energies;                  // as the last find_energies left them
    kd_channel_names  names;
    kd_probe_counters counters;
    kd_status         status;
    char              message[400]; // why the last question has no answer
};

// ---- life cycle -----------------------------------------------------------------------------------------------------

int kd_group_count(const kd_eom *eom, const kd_system *system, kd_group group)
{
    // energies and powers are there where the definition tells them, violations where there are constraints, poses and
    // rates where there is a model
    const kd_dims d = kd_eom_dims(eom);
    const bool    has_energies = kd_eom_definition(eom)->energies != NULL;
    const int     nbodies = system ? kd_system_model(system)->nbodies : 0;
    const int     count[KD_GROUP_COUNT] = {
            [KD_GROUP_P] = d.np,
            [KD_GROUP_V] = d.nv,
            [KD_GROUP_R] = d.nr,
            [KD_GROUP_W] = d.nw,
            [KD_GROUP_S] = d.ns,
            [KD_GROUP_LAMBDA] = d.nlambda,
            [KD_GROUP_MU] = d.nmu,
            [KD_GROUP_A] = d.nv,
            [KD_GROUP_U] = d.nu,
            [KD_GROUP_Y] = d.ny,
            [KD_GROUP_ENERGY] = has_energies ? 3 : 0,
            [KD_GROUP_VIOLATION] = d.nlambda + d.nmu + d.ns > 0 ? LEVELS : 0,
            [KD_GROUP_POWER] = has_energies ? 2 : 0,
            [KD_GROUP_Z] = d.nz,
            [KD_GROUP_POSE] = POSE * nbodies,
            [KD_GROUP_RATE] = RATE * nbodies,
    };
    return count[group];
}

// The function with most rows decides how large the scratch memory is
static int largest_rows(const kd_eom *eom)
{
    int rows = 0;
    for (int fn = 0; fn <= KD_E; fn++)
        if (kd_eom_rows(eom, (kd_fn)fn) > rows) rows = kd_eom_rows(eom, (kd_fn)fn);
    return rows;
}

static void name_bodies(kd_probe *p)
{
    static const char *const pose[POSE] = {"pos.x", "pos.y", "pos.z", "quat.0", "quat.1", "quat.2", "quat.3"};
    static const char *const rate[RATE] = {"vel.x", "vel.y", "vel.z", "omega.x", "omega.y", "omega.z"};
    const kd_model          *m = kd_system_model(p->system);
    char                     name[KD_CHANNEL_NAME];
    for (int i = 0; i < POSE * m->nbodies; i++) {
        kd_text(name, sizeof name, "body.%.60s.%s", m->body[i / POSE].name, pose[i % POSE]);
        kd_channel_names_add(&p->names, "", "pose", i, name);
    }
    for (int i = 0; i < RATE * m->nbodies; i++) {
        kd_text(name, sizeof name, "body.%.60s.%s", m->body[i / RATE].name, rate[i % RATE]);
        kd_channel_names_add(&p->names, "", "rate", i, name);
    }
}

// Of a component, as the system knows it; an acceleration by its velocity, all others by their path
static const char *unit_of(const kd_probe *p, kd_group group, int i, char *text, size_t size)
{
    static const kd_kind KIND[KD_GROUP_COUNT] = {
        [KD_GROUP_P] = KD_NAME_P,           [KD_GROUP_V] = KD_NAME_V,   [KD_GROUP_R] = KD_NAME_R,
        [KD_GROUP_W] = KD_NAME_W,           [KD_GROUP_S] = KD_NAME_S,   [KD_GROUP_Y] = KD_NAME_Y,
        [KD_GROUP_LAMBDA] = KD_NAME_LAMBDA, [KD_GROUP_MU] = KD_NAME_MU,
    };
    if (group == KD_GROUP_A) {
        const char *rate = kd_system_unit(p->system, KD_NAME_V, i);
        const bool  known = kd_text_ends_with(rate, "/s");
        kd_text(text, size, "%s%s", known ? rate : "", known ? "^2" : "");
        return text;
    }
    if (group == KD_GROUP_P || KIND[group] != KD_NAME_P) return kd_system_unit(p->system, KIND[group], i);
    return kd_channel_unit(kd_system_model(p->system), p->names.name[p->first[group] + i]);
}

// In the order of the groups; units as the system knows them
static void name_channels(kd_probe *p)
{
    static const char *const power[2] = {"dissipated power", "supplied power"};
    kd_channel_names        *names = &p->names;
    char                     name[KD_CHANNEL_NAME];
    kd_channel_names_of_equations(names, p->eom);
    // energies, violations, powers: one word each, from fixed lists
    for (int i = p->first[KD_GROUP_ENERGY]; i < p->first[KD_GROUP_ENERGY + 1]; i++)
        kd_channel_names_add(names, "", "energy", i - p->first[KD_GROUP_ENERGY],
                             KD_ENERGY_WORD[i - p->first[KD_GROUP_ENERGY]]);
    for (int i = p->first[KD_GROUP_VIOLATION]; i < p->first[KD_GROUP_VIOLATION + 1]; i++)
        kd_channel_names_add(names, "", "violation", i - p->first[KD_GROUP_VIOLATION],
                             KD_VIOLATION_WORD[i - p->first[KD_GROUP_VIOLATION]]);
    for (int i = p->first[KD_GROUP_POWER]; i < p->first[KD_GROUP_POWER + 1]; i++)
        kd_channel_names_add(names, "", "power", i - p->first[KD_GROUP_POWER], power[i - p->first[KD_GROUP_POWER]]);
    // z have the names of the model, and bodies one name for each of their components
    for (int i = 0; i < p->dims.nz; i++)
        kd_channel_names_add(names, "", "z", i, kd_eom_name(p->eom, KD_NAME_Z, i, name, sizeof name));
    if (p->system) name_bodies(p);
    // units: a system knows those of its components; energies and powers have theirs in any case
    for (int group = 0; p->system && group < KD_GROUP_COUNT; group++)
        for (int i = p->first[group]; i < p->first[group + 1]; i++)
            kd_channel_names_set_unit(names, i, unit_of(p, (kd_group)group, i - p->first[group], name, sizeof name));
    for (int i = p->first[KD_GROUP_ENERGY]; i < p->first[KD_GROUP_ENERGY + 1]; i++)
        kd_channel_names_set_unit(names, i, "J");
    for (int i = p->first[KD_GROUP_POWER]; i < p->first[KD_GROUP_POWER + 1]; i++)
        kd_channel_names_set_unit(names, i, "W");
}

static kd_status create(const kd_eom *eom, const kd_inputs *inputs, const kd_system *system, bool named,
                        kd_probe **probe)
{
    if (probe) *probe = NULL;
    if (!eom || !probe) return KD_ERR_ARGUMENT;
    kd_probe *p = kd_alloc(sizeof *p);
    if (!p) return KD_ERR_MEMORY;
    p->eom = eom;
    p->system = system;
    p->dims = kd_eom_dims(eom);
    if (inputs) p->inputs = *inputs;
    // channels are numbered group by group: first[group] .. first[group + 1] - 1
    for (int group = 0; group < KD_GROUP_COUNT; group++)
        p->first[group + 1] = p->first[group] + kd_group_count(eom, system, (kd_group)group);
    const int n = p->first[KD_GROUP_COUNT];
    p->value = kd_cut_double(&p->arena, n);
    p->force = kd_cut_double(&p->arena, p->dims.nv);
    p->rows = kd_cut_double(&p->arena, largest_rows(eom));
    // M only where the definition has no explicit formalism: then a = M \ force by Cholesky
    if (!kd_eom_definition(eom)->acceleration) p->M = kd_cut_matrix(&p->arena, p->dims.nv, p->dims.nv);
    if (named) (void)kd_channel_names_cut(&p->names, &p->arena, n);
    kd_status status = p->arena.failed ? KD_ERR_MEMORY : kd_eom_data_create(eom, &p->data);
    if (status < 0) {
        kd_probe_destroy(p);
        return status;
    }
    if (named) name_channels(p);
    *probe = p;
    return KD_OK;
}

kd_status kd_probe_create(const kd_eom *eom, const kd_inputs *inputs, kd_probe **probe)
{
    return create(eom, inputs, NULL, true, probe);
}

kd_status kd_probe_create_nameless(const kd_eom *eom, const kd_inputs *inputs, kd_probe **probe)
{
    return create(eom, inputs, NULL, false, probe);
}

kd_status kd_probe_of_system(const kd_system *system, const kd_inputs *inputs, kd_probe **probe)
{
    return create(kd_system_eom(system), inputs ? inputs : kd_system_inputs(system), system, true, probe);
}

void kd_probe_destroy(kd_probe *p)
{
    if (!p) return;
    kd_eom_data_destroy(p->data);
    kd_arena_release(&p->arena);
    kd_free(p);
}

// ---- the state ------------------------------------------------------------------------------------------------------

// All answers about the state before are forgotten; the point moves with the next question, not here
kd_status kd_probe_set(kd_probe *p, const kd_state *x)
{
    if (!p) return KD_ERR_ARGUMENT;
    const bool fits = kd_state_fits(p->eom, x);
    p->x = fits ? x : NULL;
    p->known = 0;
    p->stage = KD_STAGE_NONE;
    memset(p->level, 0, sizeof p->level);
    p->counters.states += fits;
    return fits ? KD_OK : KD_ERR_ARGUMENT;
}

kd_status kd_probe_set_with(kd_probe *p, const kd_state *x, const double *a)
{
    kd_status status = kd_probe_set(p, x);
    if (status < 0) return status;
    memcpy(p->value + p->first[KD_GROUP_A], a, (size_t)p->dims.nv * sizeof *a);
    p->known |= 1u << KD_GROUP_A;
    return KD_OK;
}

const kd_eom *kd_probe_eom(const kd_probe *p)
{
    return p->eom;
}

const kd_inputs *kd_probe_inputs(const kd_probe *p)
{
    return &p->inputs;
}

const kd_system *kd_probe_system(const kd_probe *p)
{
    return p->system;
}

kd_eom_data *kd_probe_data(kd_probe *p)
{
    return p->data;
}

const double *kd_probe_accelerations(const kd_probe *p)
{
    return p->value + p->first[KD_GROUP_A];
}

// ---- stages ---------------------------------------------------------------------------------------------------------

// The evaluation point did not answer
static kd_status answer_by_point(kd_probe *p)
{
    p->status = kd_eom_data_fault(p->data).status;
    kd_text(p->message, sizeof p->message, "%s", kd_eom_data_message(p->data));
    return p->status;
}

static kd_status answer_nothing(kd_probe *p, kd_status status, const char *why)
{
    p->status = status;
    kd_text(p->message, sizeof p->message, "%s", why);
    return status;
}

static kd_status evaluate_function(kd_probe *p, kd_fn fn, double *out)
{
    p->counters.evaluations++;
    return kd_eom_eval(p->data, fn, out) == KD_EVAL_OK ? KD_OK : answer_by_point(p);
}

// force = f - (GZ)' lambda - (HZ)' mu = -residual at a = 0
static kd_status evaluate_force(kd_probe *p)
{
    const kd_state *x = p->x;
    kd_eom_at_acceleration(p->data, NULL, x->w, x->lambda, x->mu);
    kd_status status = evaluate_function(p, KD_RESIDUAL, p->force);
    for (int i = 0; status >= 0 && i < p->dims.nv; i++) p->force[i] = -p->force[i];
    return status;
}

// a = M \ force, by the explicit formalism where there is one; the point is at the acceleration stage.
// false: not to be had, as where M is singular
static bool accelerate(kd_probe *p, double *a)
{
    const int nv = p->dims.nv;
    p->counters.accelerations++;
    p->counters.evaluations++;
    if (!p->M) {
        if (kd_eom_acceleration(p->data, p->force) != KD_EVAL_OK) return false;
    } else {
        if (kd_eom_eval(p->data, KD_MASS, p->M) != KD_EVAL_OK || kd_cholesky_factor(nv, p->M) != 0) return false;
        kd_cholesky_solve(nv, p->M, p->force, 1);
    }
    memcpy(a, p->force, (size_t)nv * sizeof *a);
    return true;
}

// Nobody has solved for a
static kd_status solve_acceleration(kd_probe *p, double *a)
{
    const kd_state *x = p->x;
    kd_eom_at_acceleration(p->data, NULL, x->w, x->lambda, x->mu);
    if (p->M && evaluate_force(p) < 0) return p->status;
    return accelerate(p, a) ? KD_OK
                            : answer_nothing(p, KD_ERR_SINGULAR_MASS,
                                             "the mass matrix does not determine the accelerations at this state");
}

// a of the state if it belongs to its forces and multipliers, else the one that those give. *there: the point is at it
static kd_status choose_acceleration(kd_probe *p, double *a, bool *there)
{
    const int       nv = p->dims.nv;
    const kd_state *x = p->x;
    if (x->unsolved) return solve_acceleration(p, a);
    // residual of the dynamic equations with the a of the state
    kd_eom_at_acceleration(p->data, x->a, x->w, x->lambda, x->mu);
    kd_status    status = evaluate_function(p, KD_RESIDUAL, p->rows);
    const double residual = status < 0 ? 0 : kd_norm_max(nv, p->rows);
    bool         replaced = false;
    // The measure is the size of the forces, at a = 0. Rounding beside those of an earlier state needs no look, unless
    // they have fallen to ROUNDING / STALE of what they were.
    if (status >= 0 && residual > ROUNDING * p->seen) {
        status = evaluate_force(p);
        p->seen = status >= 0 ? kd_norm_max(nv, p->force) : 0;
        replaced = status >= 0 && residual > STALE * p->seen && accelerate(p, a);
    } else {
        *there = status >= 0;
    }
    // it belongs to the state, or M does not determine another one
    if (status >= 0 && !replaced) memcpy(a, x->a, (size_t)nv * sizeof *a);
    return status;
}

kd_status kd_probe_reach(kd_probe *p, kd_stage stage)
{
    const kd_state *x = p->x;
    if (!x) return answer_nothing(p, KD_ERR_STAGE, "no state has been set");
    // somebody else may have moved the point, or its accelerations only
    const kd_point *point = kd_eom_point(p->data);
    kd_stage        now = p->stage;
    if (point->acceleration_stamp != p->stamp)
        now =
            now >= KD_STAGE_VELOCITY && point->velocity_stamp == p->velocity_stamp ? KD_STAGE_VELOCITY : KD_STAGE_NONE;
    if (now >= stage) return KD_OK;
    kd_status status = KD_OK;
    // inputs and time, and in one go position and velocity as far as they are asked for
    if (now < KD_STAGE_TIME) {
        now = stage < KD_STAGE_VELOCITY ? stage : KD_STAGE_VELOCITY;
        if (kd_eom_at_state(p->data, &p->inputs, x, now) != KD_EVAL_OK) return answer_by_point(p);
    }
    // the point was left at an earlier stage of this state: only what is missing
    if (now < KD_STAGE_POSITION && stage >= KD_STAGE_POSITION) kd_eom_at_position(p->data, x->p, x->s);
    if (now < KD_STAGE_VELOCITY && stage >= KD_STAGE_VELOCITY) kd_eom_at_velocity(p->data, x->v, x->r);
    // the last stage needs accelerations; those that are known already (kd_probe_set_with) are taken as they are
    if (stage == KD_STAGE_ACCELERATION) {
        double *a = p->value + p->first[KD_GROUP_A];
        bool    there = false;
        if (!(p->known & (1u << KD_GROUP_A))) status = choose_acceleration(p, a, &there);
        if (status >= 0 && !there) kd_eom_at_acceleration(p->data, a, x->w, x->lambda, x->mu);
    }
    // how far the point is, and its stamp: another stamp will tell that somebody has moved it
    if (status >= 0) p->known |= stage == KD_STAGE_ACCELERATION ? 1u << KD_GROUP_A : 0u;
    p->stage = status >= 0 ? stage : KD_STAGE_NONE;
    p->stamp = point->acceleration_stamp;
    p->velocity_stamp = point->velocity_stamp;
    return status;
}

// ---- answers --------------------------------------------------------------------------------------------------------

// Energies at the velocity, powers at the acceleration; whoever comes second finds them
static kd_status find_energies(kd_probe *p, kd_stage stage)
{
    kd_status status = kd_probe_reach(p, stage);
    if (status < 0) return status;
    p->counters.evaluations++;
    if (kd_eom_energies(p->data, &p->energies) != KD_EVAL_OK) return answer_by_point(p);
    const kd_energies *e = &p->energies;
    double            *energy = p->value + p->first[KD_GROUP_ENERGY], *power = p->value + p->first[KD_GROUP_POWER];
    energy[0] = e->kinetic;
    energy[1] = e->potential;
    energy[2] = e->kinetic + e->potential;
    p->known |= 1u << KD_GROUP_ENERGY;
    if (p->stage < KD_STAGE_ACCELERATION) return KD_OK;
    power[0] = e->dissipated;
    power[1] = e->supplied;
    p->known |= 1u << KD_GROUP_POWER;
    return KD_OK;
}

// Largest |row| of active rows (active NULL: all)
static kd_status widen_violation(kd_probe *p, kd_fn fn, const unsigned char *active, double *largest)
{
    const int rows = kd_eom_rows(p->eom, fn);
    kd_status status = rows > 0 ? evaluate_function(p, fn, p->rows) : KD_OK;
    // an inactive row is no condition at present: its value is no violation
    for (int i = 0; status >= 0 && i < rows; i++)
        if (!active || active[i]) *largest = fmax(*largest, fabs(p->rows[i]));
    return status;
}

static kd_status find_violation(kd_probe *p, int level)
{
    // what should be zero: g, c of positions; gI, h of velocities; gII, hI of accelerations
    static const struct {
        kd_stage stage;
        kd_fn    of_lambda, other;
        bool     by_mu; // the other rows may be inactive
    } list[LEVELS] = {
        {KD_STAGE_POSITION, KD_G, KD_C, false},
        {KD_STAGE_VELOCITY, KD_GI, KD_H, true},
        {KD_STAGE_ACCELERATION, KD_GII, KD_HI, true},
    };
    if (p->level[level]) return KD_OK;
    // each level is found alone: the position level needs no velocities
    double   *largest = p->value + p->first[KD_GROUP_VIOLATION] + level;
    kd_status status = kd_probe_reach(p, list[level].stage);
    *largest = 0;
    if (status >= 0) status = widen_violation(p, list[level].of_lambda, p->x->active_lambda, largest);
    if (status >= 0)
        status = widen_violation(p, list[level].other, list[level].by_mu ? p->x->active_mu : NULL, largest);
    p->level[level] = status >= 0;
    return status;
}

static kd_status find_bodies(kd_probe *p, kd_group group, double *value)
{
    const bool poses = group == KD_GROUP_POSE;
    kd_status  status = kd_probe_reach(p, poses ? KD_STAGE_POSITION : KD_STAGE_VELOCITY);
    if (status < 0) return status;
    p->counters.evaluations++;
    const kd_eval answer =
        poses ? kd_system_poses(p->system, p->data, value) : kd_system_rates(p->system, p->data, value);
    return answer == KD_EVAL_OK ? KD_OK : answer_nothing(p, KD_ERR_STAGE, "the bodies have no places at this state");
}

// All values of a group
static kd_status find_group(kd_probe *p, kd_group group)
{
    const kd_state *x = p->x;
    double         *value = p->value + p->first[group];
    const size_t    size = (size_t)(p->first[group + 1] - p->first[group]) * sizeof *value;
    kd_status       status = KD_OK;
    if (!x) return answer_nothing(p, KD_ERR_STAGE, "no state has been set");
    if ((p->known & (1u << group)) || size == 0) return KD_OK;
    // cases that return leave it to reach and find_energies to note what is known: they answer several groups
    switch (group) {
    case KD_GROUP_A:
        return kd_probe_reach(p, KD_STAGE_ACCELERATION);
    case KD_GROUP_U:
        status = kd_probe_reach(p, KD_STAGE_TIME);
        if (status >= 0) memcpy(value, kd_eom_point(p->data)->u, size);
        break;
    case KD_GROUP_Y:
        status = kd_probe_reach(p, KD_STAGE_ACCELERATION);
        if (status >= 0) status = evaluate_function(p, KD_Y, value);
        break;
    case KD_GROUP_ENERGY:
        return find_energies(p, KD_STAGE_VELOCITY);
    case KD_GROUP_POWER:
        return find_energies(p, KD_STAGE_ACCELERATION);
    case KD_GROUP_VIOLATION:
        for (int level = 0; level < LEVELS && status >= 0; level++) status = find_violation(p, level);
        break;
    case KD_GROUP_POSE:
    case KD_GROUP_RATE:
        status = find_bodies(p, group, value);
        break;
    case KD_GROUP_Z:
        memcpy(value, x->z, size);
        break;
    default: // [p v r w s lambda mu] are one block
        memcpy(value, x->p + p->first[group], size);
        break;
    }
    if (status >= 0) p->known |= 1u << group;
    return status;
}

static void begin_question(kd_probe *p)
{
    p->status = KD_OK;
    p->message[0] = '\0';
}

const double *kd_probe_values(kd_probe *p, kd_group group)
{
    if (!p || group < 0 || group >= KD_GROUP_COUNT) return NULL;
    begin_question(p);
    return find_group(p, group) >= 0 && p->first[group] < p->first[group + 1] ? p->value + p->first[group] : NULL;
}

double kd_probe_value(kd_probe *p, int channel)
{
    if (!p) return NAN;
    begin_question(p);
    if (channel < 0 || channel >= p->first[KD_GROUP_COUNT]) {
        answer_nothing(p, KD_ERR_ARGUMENT, "there is no channel of this number");
        return NAN;
    }
    int group = 0;
    while (channel >= p->first[group + 1]) group++;
    const kd_status status =
        group == KD_GROUP_VIOLATION ? find_violation(p, channel - p->first[group]) : find_group(p, (kd_group)group);
    return status < 0 ? NAN : p->value[channel];
}

double kd_probe_read(kd_probe *p, const char *name)
{
    const int channel = kd_probe_find(p, name);
    if (channel >= 0) return kd_probe_value(p, channel);
    if (!p) return NAN;
    p->status = KD_ERR_ARGUMENT;
    kd_text(p->message, sizeof p->message, "there is no channel '%.80s'", name ? name : "");
    return NAN;
}

kd_status kd_probe_energies(kd_probe *p, kd_energies *out)
{
    if (!p || !out) return KD_ERR_ARGUMENT;
    begin_question(p);
    *out = (kd_energies){0};
    if (!kd_eom_definition(p->eom)->energies)
        return answer_nothing(p, KD_ERR_UNSUPPORTED, "the equations do not tell their energies");
    kd_status status = find_group(p, KD_GROUP_POWER);
    if (status >= 0) *out = p->energies;
    return status;
}

// ---- channels -------------------------------------------------------------------------------------------------------

int kd_probe_find(const kd_probe *p, const char *name)
{
    static const char *const energy[] = {"energy.kinetic", "energy.potential", "energy.total"};
    if (!p || !name) return -1;
    int found = kd_channel_names_find(&p->names, name);
    if (found < 0 && strncmp(name, "sensor.", 7) == 0) found = kd_channel_names_find(&p->names, name + 7);
    for (int i = 0; found < 0 && i < 3 && p->first[KD_GROUP_ENERGY] + i < p->first[KD_GROUP_ENERGY + 1]; i++)
        if (strcmp(name, energy[i]) == 0) found = p->first[KD_GROUP_ENERGY] + i;
    return found;
}

int kd_probe_count(const kd_probe *p)
{
    return p ? p->first[KD_GROUP_COUNT] : 0;
}

const char *kd_probe_name(const kd_probe *p, int channel)
{
    return p && channel >= 0 && channel < p->names.n ? p->names.name[channel] : "";
}

const char *kd_probe_unit(const kd_probe *p, int channel)
{
    return p && channel >= 0 && channel < p->names.n ? p->names.unit[channel] : "";
}

void kd_probe_group(const kd_probe *p, kd_group group, int *first, int *count)
{
    const bool known = p && group >= 0 && group < KD_GROUP_COUNT;
    if (first) *first = known ? p->first[group] : 0;
    if (count) *count = known ? p->first[group + 1] - p->first[group] : 0;
}

kd_status kd_probe_status(const kd_probe *p)
{
    return p ? p->status : KD_ERR_ARGUMENT;
}

const char *kd_probe_message(const kd_probe *p)
{
    return p ? p->message : "";
}

kd_probe_counters kd_probe_counters_of(const kd_probe *p)
{
    return p ? p->counters : (kd_probe_counters){0};
}
