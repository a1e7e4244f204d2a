// names.c: names of all components, as paths: joint.hinge.q, body.cab.com.z, state.filter; their units, by the joint, element or row
// that each belongs to.
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "foreign/continuous.h"
#include "model/channel.h"
#include "model/element.h"
#include "system/system.h"

// first + name + last, in the memory of the system
static char *joined(kd_system *s, const char *first, const char *name, const char *last)
{
    if (s->arena.failed) return NULL; // names that this one is made of may be missing
    size_t size = strlen(first) + strlen(name) + strlen(last) + 1;
    char  *text = kd_arena_cut(&s->arena, size, 1);
    if (text) kd_text(text, size, "%s%s%s", first, name, last);
    return text;
}

static bool cut(kd_system *s, kd_kind kind, int n)
{
    s->names[kind] = kd_arena_cut(&s->arena, (size_t)(n > 0 ? n : 1), sizeof *s->names[kind]);
    s->units[kind] = kd_arena_cut(&s->arena, (size_t)(n > 0 ? n : 1), sizeof *s->units[kind]);
    s->named[kind] = n;
    return s->names[kind] && s->units[kind];
}

static const char *unit_of_motion(bool turns, int level)
{
    static const char *const UNIT[2][2] = {{"m", "m/s"}, {"rad", "rad/s"}};
    return UNIT[turns][level];
}

// Suffixes of positions and velocities: of one coordinate, of several, of a ball; of a body that floats.
static const char *const scalar_q[] = {".q"}, *const scalar_v[] = {".v"};
static const char *const several_q[] = {".q1", ".q2", ".q3", ".q4", ".q5", ".q6"};
static const char *const several_v[] = {".v1", ".v2", ".v3", ".v4", ".v5", ".v6"};
static const char *const ball_q[] = {".e0", ".e1", ".e2", ".e3"}, *const ball_v[] = {".w1", ".w2", ".w3"};
static const char *const body_q[] = {".com.x", ".com.y", ".com.z"};
static const char *const body_v[] = {".com_v.x", ".com_v.y", ".com_v.z"};

// own: the free joint that a body without joint has; its shifts are those of the centre of mass
static const char *suffix_q(const kd_joint_form *f, bool own, int k)
{
    if (k >= f->nscalars) return ball_q[k - f->nscalars];
    return own && f->ball ? body_q[k] : f->ndof == 1 ? scalar_q[k] : several_q[k];
}

static const char *suffix_v(const kd_joint_form *f, bool own, int k)
{
    if (k >= f->nscalars) return ball_v[k - f->nscalars];
    return own && f->ball ? body_v[k] : f->ndof == 1 ? scalar_v[k] : several_v[k];
}

// Is coordinate k of the word an angle?
static bool turns(const kd_joint_form *f, int k)
{
    for (const kd_letter *l = f->word; l->motion; l++)
        if (l->coordinate == k) return kd_letter_turns(l);
    return f->angle;
}

static void name_link(kd_system *s, int i, const char *section, const char *name, bool reversed)
{
    const kd_link       *link = &s->tree.link[i];
    const kd_joint_form *f = &link->form;
    const bool           own = strcmp(section, "body.") == 0;
    kd_mat3              turn;
    int                  other[6] = {0, 1, 2, 3, 4, 5};
    // reversed: the tree runs from `to` to `from`, and coordinates come in another order
    if (reversed && !kd_joint_reversal(f, &turn, other))
        for (int k = 0; k < 6; k++) other[k] = k;
    // positions, then velocities; a prescribed one is a drive
    for (int k = 0; k < f->nposition; k++) {
        const int at = s->p_of_x[link->position + k], coordinate = k < f->nscalars ? other[k] : k;
        if (at < 0) continue;
        s->names[KD_NAME_P][at] = joined(s, section, name, suffix_q(f, own, coordinate));
        s->units[KD_NAME_P][at] = k < f->nscalars ? unit_of_motion(turns(f, k), 0) : ""; // a quaternion has none
    }
    for (int k = 0; k < f->ndof; k++) {
        int at = s->tree.dof_v[link->dof + k], coordinate = k < f->nscalars ? other[k] : k;
        if (at >= 0) {
            s->names[KD_NAME_V][at] = joined(s, section, name, suffix_v(f, own, coordinate));
            s->units[KD_NAME_V][at] = unit_of_motion(k >= f->nscalars || turns(f, k), 1);
        }
        for (int d = 0; d < s->ndrives; d++)
            if (s->drive[d] == link->dof + k)
                s->names[KD_NAME_DRIVE][d] = joined(s, section, name, suffix_q(f, own, coordinate));
    }
}

// amplitudes: body.rod.q1, body.rod.v1
static void name_modes(kd_system *s, int b)
{
    const kd_link *link = &s->tree.link[s->wide_link[b]];
    char           q[16], v[16];
    for (int k = 0; k < s->model->body[b].nmodes; k++) {
        kd_text(q, sizeof q, ".q%d", k + 1);
        kd_text(v, sizeof v, ".v%d", k + 1);
        s->names[KD_NAME_P][s->p_of_x[link->position + k]] = joined(s, "body.", s->model->body[b].name, q);
        s->names[KD_NAME_V][s->tree.dof_v[link->dof + k]] = joined(s, "body.", s->model->body[b].name, v);
    }
}

static void name_links(kd_system *s)
{
    const kd_model *m = s->model;
    for (int b = 0; b < m->nbodies; b++) name_modes(s, b);
    // names of bodies first: a joint that carries the body overwrites them
    for (int b = 0; b < m->nbodies; b++) name_link(s, s->body_link[b], "body.", m->body[b].name, false);
    for (int j = 0; j < m->njoints; j++)
        if (s->edge[j].link > 0) name_link(s, s->edge[j].link, "joint.", m->joint[j].name, s->edge[j].reversed);
}

// The body or frame of roll or yaw, or the force, whose angle is the measure; NULL: none of them.
static char *name_angle(kd_system *s, const kd_measure *m)
{
    const kd_model *model = s->model;
    const char     *word = m->sine.i == 2 ? ".roll" : ".yaw";
    for (int i = 0; i < model->nbodies; i++)
        if (s->body_pair[i] == m->pair) return joined(s, "body.", model->body[i].name, word);
    for (int i = 0; i < model->nframes; i++)
        if (s->frame_pair[i] == m->pair) return joined(s, "frame.", model->frame[i].name, word);
    for (int i = 0; i < model->nforces; i++)
        if (s->force_pair[i] == m->pair) return joined(s, "force.", model->force[i].name, ".angle");
    return NULL;
}

static char *name_turn(kd_system *s, int measure)
{
    // of a joint that closes a loop, of a body or frame, of a force; otherwise just an angle
    for (int j = 0; j < s->model->njoints; j++) {
        const kd_joint *joint = &s->model->joint[j];
        for (int k = 0; k < 6; k++)
            if (s->edge[j].coordinate[k] == measure)
                return joined(s, "joint.", joint->name,
                              kd_joint_coordinates(joint->def.kind) > 1 ? several_q[k] : scalar_q[0]);
    }
    char *name = name_angle(s, &s->measure[measure]);
    return name ? name : joined(s, "angle", "", "");
}

// An output of the same name, which somebody asked for, keeps it.
static void name_turns(kd_system *s)
{
    for (int i = 0; i < s->nturns; i++) {
        char *name = name_turn(s, s->turn_measure[i]);
        for (int k = 0; name && k < s->nsensors - s->model->nsensors; k++)
            if (strcmp(name, s->watch[k]) == 0) {
                name = joined(s, "angle ", name, "");
                break;
            }
        s->names[KD_NAME_P][s->np - s->nturns + i] = name;
        s->units[KD_NAME_P][s->np - s->nturns + i] = "rad";
    }
}

static void name_norms(kd_system *s)
{
    for (int i = 0; i < s->nquaternions; i++) {
        const char *first = s->names[KD_NAME_P][s->quaternion[i]];
        s->names[KD_NAME_Q][i] = joined(s, "norm of ", first ? first : "", "");
    }
    for (int i = 0; i < s->nturns; i++)
        s->names[KD_NAME_Q][s->nquaternions + i] =
            joined(s, "turns of ", s->names[KD_NAME_P][s->np - s->nturns + i], "");
}

// As paths call them, or by their number
static const char *state_suffix(const kd_load *l, int k, char *text, size_t size)
{
    const kd_element_class *class = l->def ? kd_force_element((int)l->def->kind) : NULL;
    kd_text(text, size, "%s", "");
    if (l->unit)
        kd_text(text, size, ".%s", l->unit->continuous->class->state_name(l->unit->continuous, k));
    else if (l->nstates > 1)
        kd_text(text, size, ".%d", k + 1);
    for (int i = 0; class && i < class->nreadings; i++) {
        const kd_readable *r = &class->readings[i];
        if (r->property == KD_PROPERTY_INNER && r->i == k) kd_text(text, size, ".%s", r->word);
    }
    return text;
}

// By the reading that shows it, else as its class says
static const char *state_unit(const kd_system *s, const kd_load *l, int k)
{
    if (l->state_def) return l->nstates == 1 ? kd_state_unit(s->model, l->state_def) : "";
    if (!l->def) return ""; // a user force, a block without period
    const kd_element_class *class = kd_force_element((int)l->def->kind);
    for (int i = 0; i < class->nreadings; i++)
        if (class->readings[i].property == KD_PROPERTY_INNER && class->readings[i].i == k)
            return kd_force_unit(s->model, l->force, class->readings[i].unit);
    return class->unit ? kd_force_unit(s->model, l->force, class->unit) : "";
}

static void name_states(kd_system *s)
{
    // an element with several states: by the words of its paths, or numbered
    for (int i = 0; i < s->nloads; i++)
        for (int k = 0; k < s->load[i].nstates; k++) {
            const kd_load *l = &s->load[i];
            char           suffix[100];
            s->names[KD_NAME_R][l->state + k] = joined(s,
                                                       l->state_def ? "state."
                                                       : l->unit    ? "block."
                                                                    : "force.",
                                                       l->name, state_suffix(l, k, suffix, sizeof suffix));
            s->units[KD_NAME_R][l->state + k] = state_unit(s, l, k);
        }
    if (s->is_fixed) s->names[KD_NAME_R][0] = joined(s, "rest", "", "");
}

// Outputs, states and number of the next sample of blocks; variables
static void name_discrete(kd_system *s)
{
    const kd_model *m = s->model;
    // blocks: events of continuous ones; outputs, states and number of the next sample of others
    for (int i = 0; i < m->nblocks; i++) {
        const kd_block_def *def = &m->block[i].def;
        if (kd_block_is_continuous(def)) {
            s->names[KD_NAME_Z][s->block[i].z] = joined(s, "block.", m->block[i].name, ".events");
            s->names[KD_NAME_Z][s->block[i].z + 1] = joined(s, "block.", m->block[i].name, ".last_event");
            continue;
        }
        for (int k = 0; k <= def->noutputs + def->nstates; k++) {
            char        buffer[KD_SIGNAL_NAME], last[80];
            const char *word = k < def->noutputs                  ? "out"
                               : k < def->noutputs + def->nstates ? kd_block_state_name(def, k - def->noutputs, buffer)
                                                                  : "sample";
            if (k < def->noutputs && def->noutputs > 1)
                kd_text(last, sizeof last, ".out%d", k + 1);
            else
                kd_text(last, sizeof last, ".%s", word);
            s->names[KD_NAME_Z][s->block[i].z + k] = joined(s, "block.", m->block[i].name, last);
        }
    }
    // variables
    for (int i = 0; i < m->nvariables; i++)
        s->names[KD_NAME_Z][s->variable_z[i]] = joined(s, "variable.", m->variable[i].name, "");
}

// Of blocks without period: indicators, time, end of a step
static void name_functions(kd_system *s)
{
    for (int i = s->model->nstates; i < s->ncontrollers; i++) {
        const kd_sampler *unit = s->load[i].unit;
        const int         n = unit->continuous->nindicators;
        for (int k = 0; k < n + 2; k++) {
            char what[60];
            kd_text(what, sizeof what, "': %s", k == n ? "time of its next event" : "end of a step");
            if (k < n) kd_text(what, sizeof what, "': indicator %d", k + 1);
            s->names[KD_NAME_SWITCH][unit->functions + k] = joined(s, "block '", unit->block->name, what);
        }
    }
}

// ---- multipliers ----------------------------------------------------------------------------------------------------

// Does a measure count an angle or a turn? *known: it has one unit
static bool measures_turns(const kd_system *s, const kd_measure *m, bool *known)
{
    *known = true;
    switch (m->kind) {
    case KD_MEASURE_DOF: {
        const kd_link *link = &s->tree.link[s->tree.dof_link[m->dof]];
        const int      k = m->dof - link->dof;
        return k >= link->form.nscalars || turns(&link->form, k);
    }
    case KD_MEASURE_SHIFT:
    case KD_MEASURE_LENGTH:
    case KD_MEASURE_GAP:
    case KD_MEASURE_OWN_SHIFT:
    case KD_MEASURE_SLIP:
        return false;
    case KD_MEASURE_CURVED:
        *known = false;
        return false;
    default: // angles, cosines (of which small ones are angles), angular velocities
        return true;
    }
}

// A multiplier times its row is work or power: N where the row counts lengths, N m where it counts angles. Constraints tell theirs.
static const char *unit_of_multiplier(const kd_system *s, const kd_row *row)
{
    if (row->constraint >= 0) return kd_constraint_element((int)s->model->constraint[row->constraint].def.kind)->unit;
    if (row->nterms == 0 || !row->slot || s->slot[row->slot[0]].kind != KD_SLOT_MEASURE) return "";
    bool       known;
    const bool torque = measures_turns(s, &s->measure[s->slot[row->slot[0]].index], &known);
    return !known ? "" : torque ? "N m" : "N";
}

kd_status kd_system_names(kd_system *s)
{
    const kd_model *m = s->model;
    bool            made = cut(s, KD_NAME_P, s->np) && cut(s, KD_NAME_V, s->nv) && cut(s, KD_NAME_R, s->nr) &&
                cut(s, KD_NAME_S, s->ns) && cut(s, KD_NAME_LAMBDA, s->nlambda) && cut(s, KD_NAME_MU, s->nmu) &&
                cut(s, KD_NAME_Q, s->nquaternions + s->nturns) && cut(s, KD_NAME_U, m->ninputs) &&
                cut(s, KD_NAME_Y, s->nsensors) && cut(s, KD_NAME_THETA, m->nparameters) && cut(s, KD_NAME_W, s->nw) &&
                cut(s, KD_NAME_Z, s->nz) && cut(s, KD_NAME_SWITCH, s->nfunctions) &&
                cut(s, KD_NAME_E, s->ninvariants) && cut(s, KD_NAME_DRIVE, s->ndrives);
    if (!made) return KD_ERR_MEMORY;
    // turns and norms are made of names of coordinates: behind them
    name_links(s);
    name_turns(s);
    name_norms(s);
    name_states(s);
    name_discrete(s);
    // switching functions
    for (int i = 0; i < m->nevents; i++) s->names[KD_NAME_SWITCH][i] = joined(s, "event '", m->event[i].name, "'");
    name_functions(s);
    // invariants, and where their values of the start are kept
    for (int i = 0; i < s->ninvariants; i++) {
        s->names[KD_NAME_E][i] = (char *)m->invariant[i].name;
        if (s->invariant_z[i] >= 0)
            s->names[KD_NAME_Z][s->invariant_z[i]] = joined(s, "invariant.", m->invariant[i].name, "");
    }
    // contacts of wheels
    for (int i = 0; i < s->nwheels; i++)
        if (s->wheel[i].unknown) {
            s->names[KD_NAME_S][s->wheel[i].contact] =
                joined(s, "constraint.", m->constraint[s->row_g[s->wheel[i].row].constraint].name, ".contact");
            s->units[KD_NAME_S][s->wheel[i].contact] = "m"; // along the profile of the rail
        }
    // multipliers of both kinds of rows
    for (int i = 0; i < s->nlambda; i++) {
        s->names[KD_NAME_LAMBDA][i] = (char *)s->row_g[s->kept[i]].name;
        s->units[KD_NAME_LAMBDA][i] = unit_of_multiplier(s, &s->row_g[s->kept[i]]);
    }
    for (int i = 0; i < s->nmu; i++) {
        s->names[KD_NAME_MU][i] = (char *)s->row_h[i].name;
        s->units[KD_NAME_MU][i] = unit_of_multiplier(s, &s->row_h[i]);
    }
    // auxiliary variables: of the model, then normal forces of friction
    for (int i = 0; i < s->nalgebraic; i++) {
        s->names[KD_NAME_W][i] = joined(s, "algebraic.", m->algebraic[i].name, "");
        s->units[KD_NAME_W][i] = m->algebraic[i].def.unit;
    }
    for (int i = 0; i < s->nacross; i++) {
        s->names[KD_NAME_W][s->nalgebraic + i] = joined(s, "force '", s->across[i].name, "' normal force");
        s->units[KD_NAME_W][s->nalgebraic + i] = "N";
    }
    // directions of dry friction
    for (int i = 0; i < s->nmu; i++)
        if (s->row_h[i].direction >= 0)
            s->names[KD_NAME_Z][s->row_h[i].direction] =
                joined(s, "force.", m->force[s->row_h[i].force].name, ".direction");
    // what comes from outside, and what goes there
    for (int i = 0; i < m->nparameters; i++) s->names[KD_NAME_THETA][i] = (char *)m->parameter[i].name;
    for (int i = 0; i < m->ninputs; i++) s->names[KD_NAME_U][i] = joined(s, "input.", m->input[i].name, "");
    for (int i = 0; i < s->nsensors; i++)
        s->names[KD_NAME_Y][i] = (char *)(i < m->nsensors ? m->sensor[i].name : s->watch[i - m->nsensors]);
    for (int i = 0; i < s->nsensors; i++) s->units[KD_NAME_Y][i] = kd_channel_unit(m, s->names[KD_NAME_Y][i]);
    return s->arena.failed ? KD_ERR_MEMORY : KD_OK;
}

const char *kd_system_unit(const kd_system *s, kd_kind kind, int i)
{
    if (!s || (int)kind < 0 || kind >= KD_NAME_KIND_COUNT || i < 0 || i >= s->named[kind]) return "";
    const char *unit = s->units[kind][i];
    return unit ? unit : "";
}
