// units.c: natural sizes of the coordinates of a model: 1 rad for turns, the size of the bodies for shifts.
//
// The size is the longest lever arm: the largest distance of a joint, constraint or force from the centre of mass of
// its body, or radius of gyration. It grows with the model in the same ratio, exactly for powers of two.
#include <math.h>

#include "element/force.h"

// The longest arm of a place
static double reach(const kd_model *m, const kd_anchor *at, double longest)
{
    if (at->body < 0) return longest;
    return fmax(longest, kd_vec_norm(kd_vec_sub(at->r, m->body[at->body].centre)));
}

// sqrt(trace J / m)
static double gyration(const kd_body *b)
{
    const double inertia = b->inertia.xx + b->inertia.yy + b->inertia.zz;
    return b->def.mass > 0 && inertia > 0 ? sqrt(inertia / b->def.mass) : 0;
}

// Points without arms: as far as the bodies are from each other, or from the origin
static double spread(const kd_model *m)
{
    double longest = 0;
    for (int i = 1; i < m->nbodies; i++) longest = fmax(longest, kd_vec_norm(kd_vec_sub(m->body[i].r, m->body[0].r)));
    for (int i = 0; i < m->nbodies && longest == 0; i++) longest = kd_vec_norm(m->body[i].r);
    return longest > 0 ? longest : 1;
}

static double length_of(const kd_model *m)
{
    double longest = 0;
    // radii of gyration, then arms of joints, constraints and forces
    for (int i = 0; i < m->nbodies; i++) longest = fmax(longest, gyration(&m->body[i]));
    for (int i = 0; i < m->njoints; i++) longest = reach(m, &m->joint[i].from, reach(m, &m->joint[i].to, longest));
    for (int i = 0; i < m->nconstraints; i++)
        longest = reach(m, &m->constraint[i].from, reach(m, &m->constraint[i].to, longest));
    for (int i = 0; i < m->nforces; i++) longest = reach(m, &m->force[i].from, reach(m, &m->force[i].to, longest));
    return longest > 0 ? longest : spread(m);
}

double kd_system_length(const kd_system *s)
{
    return length_of(s->model);
}

// Is dof or position k of a joint of this kind and form a shift?
static bool is_shift(const kd_joint_form *form, kd_joint_kind kind, int k)
{
    return k < form->nscalars && !kd_joint_turns(kind, k);
}

// 1 rad, or the length
double kd_system_dof_unit(const kd_system *s, int dof, double length)
{
    const kd_link *link = &s->tree.link[s->tree.dof_link[dof]];
    if (link->wide) return kd_system_mode_unit(s, s->link_body[s->tree.dof_link[dof]], dof - link->dof, length);
    return is_shift(&link->form, link->kind, dof - link->dof) ? length : 1.0;
}

static void fill_units(const kd_system *s, double length, double *unit)
{
    for (int j = 0; unit && j < s->nv; j++) unit[j] = kd_system_dof_unit(s, s->tree.v_dof[j], length);
}

static void fill_position_units(const kd_system *s, double length, double *unit)
{
    const kd_tree *tree = &s->tree;
    // quaternions and counted angles 1
    for (int i = 0; unit && i < s->np; i++) unit[i] = 1.0;
    for (int l = 1; unit && l < tree->nlinks; l++) {
        const kd_link *link = &tree->link[l];
        for (int k = 0; k < link->form.nposition; k++) {
            const int i = s->p_of_x[link->position + k];
            if (link->wide) {
                unit[i] = kd_system_mode_unit(s, s->link_body[l], k, length);
                continue;
            }
            if (i >= 0 && is_shift(&link->form, link->kind, k)) unit[i] = length;
        }
    }
}

void kd_system_set_units(const kd_system *s, double *unit, double *position_unit)
{
    const double length = length_of(s->model);
    fill_units(s, length, unit);
    fill_position_units(s, length, position_unit);
}

double *kd_system_units(kd_system *s)
{
    double *unit = kd_cut_double(&s->arena, s->nv);
    fill_units(s, length_of(s->model), unit);
    return unit;
}

double *kd_system_position_units(kd_system *s)
{
    double *unit = kd_cut_double(&s->arena, s->np);
    fill_position_units(s, length_of(s->model), unit);
    return unit;
}

// ---- time -----------------------------------------------------------------------------------------------------------

static double largest(const double *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, isnan(x[i]) ? 0 : fabs(x[i]));
    return most;
}

// The largest speed at the start, in natural units [1/s]
static double start_rate(const kd_model *m, double length)
{
    double rate = 0;
    for (int i = 0; i < m->nbodies; i++) {
        const kd_body_def *b = &m->body[i].def;
        rate = fmax(rate, fmax(largest(b->velocity, 3) / length, largest(b->angular_velocity, 3)));
    }
    // v of joints: turns as they are, shifts over the length
    for (int i = 0; i < m->njoints; i++) {
        const kd_joint_kind kind = m->joint[i].def.kind;
        const kd_joint_form form = kd_joint_form_of(kind);
        for (int k = 0; k < form.ndof; k++)
            rate = fmax(rate, largest(&m->joint[i].def.v[k], 1) / (is_shift(&form, kind, k) ? length : 1));
    }
    return rate;
}

// 1 / mass of a body; 0: the ground, or a body without mass, which follows the others
static double lightness(const kd_model *m, const kd_anchor *at)
{
    const double mass = at->body >= 0 ? m->body[at->body].def.mass : 0;
    return mass > 0 ? 1 / mass : 0;
}

// The fastest spring alone with the two bodies that it lies between: sqrt(k (1/m1 + 1/m2)), of a turn with
// m length^2 in place of m [1/s]
static double spring_rate(const kd_model *m, double length)
{
    double square = 0;
    for (int i = 0; i < m->nforces; i++) {
        const kd_force     *f = &m->force[i];
        const kd_joint     *joint = f->joint >= 0 ? &m->joint[f->joint] : NULL;
        const kd_units      units = kd_force_element((int)f->def.kind)->units;
        const kd_joint_form form = joint ? kd_joint_form_of(joint->def.kind) : (kd_joint_form){0};
        const bool          along = joint && is_shift(&form, joint->def.kind, f->def.coordinate - 1);
        const bool          turn = units == KD_UNITS_OF_TURN || (joint && !along);
        if (!kd_forces[f->def.kind]->stiffness) continue;
        const double light = joint ? lightness(m, &joint->from) + lightness(m, &joint->to)
                                   : lightness(m, &f->from) + lightness(m, &f->to);
        const double stiffness = fabs(kd_forces[f->def.kind]->stiffness(&f->def)) / (turn ? length * length : 1);
        square = fmax(square, stiffness * light);
    }
    return sqrt(square);
}

// Natural time: of gravity over the length of the model or of the start, whichever is faster; without both, of the
// springs; without them, 1 s. It grows with the times of the model in the same ratio, exactly for powers of two.
double kd_system_time(const kd_system *s)
{
    const kd_model *m = s->model;
    const double    length = length_of(m), g = sqrt(largest(m->gravity, 3) / length);
    double          rate = fmax(g, start_rate(m, length));
    if (rate == 0) rate = spring_rate(m, length);
    return rate > 0 ? 1 / rate : 1;
}
