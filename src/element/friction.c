// friction.c: friction along a joint coordinate, and the force across the joint that it may depend on (S1 Eq. 29).
//
// With the force w across the joint, an auxiliary variable, and the lever r (1 for shifts):
//
//     sliding Fc = coulomb + normal_1 r w,  before sliding Fs = breakaway + normal_2 r w, not below Fc
//     level F(v) = Fc + (Fs - Fc) exp(-(v/stribeck)^2)
//     regularised:     f = -F(v) tanh(v/slip) - viscous v
//     dry (`stick`):   f = -z F(v) - viscous v, z = 1, -1 the direction of sliding; z = 0: it sticks, the row v = 0
//                      holds with |mu| <= Fs
//     0 = d = w - sqrt(least^2 + lambda_x^2 + lambda_y^2 [+ (moment/lever)^2])
#include <math.h>

#include "element/loads.h"

static const double LEAST = 1e-6; // smallest force across, as part of the weight of all bodies

// ---- the force across -----------------------------------------------------------------------------------------------
static double least_force(const kd_model *m)
{
    double mass = 0.0, g = kd_vec_norm(kd_vec_of(m->gravity));
    for (int i = 0; i < m->nbodies; i++) mass += m->body[i].def.mass;
    return LEAST * (mass > 0.0 ? mass : 1.0) * (g > 0.0 ? g : 1.0);
}

// Rows of a joint come in the order of rows.c: shifts along x and y are the first two. Sliding joints: turns about y
// and x follow, behind the turn about z of a prismatic one.
int kd_system_across(kd_system *s, int force)
{
    const kd_force *f = &s->model->force[force];
    kd_joint_kind   kind = s->model->joint[f->joint].def.kind;
    bool            slides = !kd_joint_turns(kind, f->def.coordinate - 1);
    kd_across      *a = &s->across[s->nw];
    int             first = s->edge[f->joint].row;
    bool            moments = f->def.lever > 0.0 && slides;
    *a = (kd_across){.nrows = 2, .row = {first, first + 1}, .factor = {1, 1}, .name = f->name};
    a->least = least_force(s->model);
    if (moments) {
        a->nrows = 4;
        a->row[2] = first + (kd_joint_form_of(kind).nturns == 0 ? 3 : 2);
        a->row[3] = a->row[2] + 1;
        a->factor[2] = a->factor[3] = 1.0 / f->def.lever;
    }
    return s->nw++;
}

static double part_of(const kd_across *a, const kd_system *s, const double *lambda, int k)
{
    int place = s->lambda_of[a->row[k]];
    return place >= 0 ? a->factor[k] * lambda[place] : 0.0;
}

double kd_across_value(const kd_across *a, const kd_system *s, const double *lambda)
{
    double sum = a->least * a->least;
    for (int k = 0; k < a->nrows; k++) {
        double part = part_of(a, s, lambda, k);
        sum += part * part;
    }
    return sqrt(sum);
}

// Derivatives of the value by the multipliers of its rows
void kd_across_gradient(const kd_across *a, const kd_system *s, const double *lambda, double *out)
{
    double value = kd_across_value(a, s, lambda);
    for (int k = 0; k < a->nrows; k++) out[k] = a->factor[k] * part_of(a, s, lambda, k) / value;
}

// ---- the law --------------------------------------------------------------------------------------------------------
typedef struct friction_state {
    double sliding, sliding_w; // Fc and its derivative by w
    double before, before_w;   // Fs
    double level, level_v, level_w;
} friction_state;

static friction_state friction_at(const kd_load *load, const double *x)
{
    const kd_force_def *d = load->def;
    double              w = load->nvariables > 2 ? x[load->variable[2]] : 0.0, arm = load->constant[1];
    double              v = x[load->variable[1]], fall = 0.0, fall_v = 0.0;
    friction_state      f = {.sliding_w = d->normal[0] * arm, .before_w = d->normal[1] * arm};
    if (d->stribeck > 0.0) {
        fall = exp(-v * v / (d->stribeck * d->stribeck));
        fall_v = -2.0 * v / (d->stribeck * d->stribeck) * fall;
    }
    if (d->normal[1] == 0.0) f.before_w = f.sliding_w;
    f.sliding = d->coulomb + f.sliding_w * w;
    f.before = (d->breakaway > 0.0 ? d->breakaway : d->coulomb) + f.before_w * w;
    if (f.before < f.sliding) f.before = f.sliding, f.before_w = f.sliding_w;
    f.level = f.sliding + (f.before - f.sliding) * fall;
    f.level_v = (f.before - f.sliding) * fall_v;
    f.level_w = f.sliding_w + (f.before_w - f.sliding_w) * fall;
    return f;
}

double kd_friction_limit(const kd_load *load, const double *x)
{
    return friction_at(load, x).before;
}

// Direction of the friction, 1 against a positive velocity, and its derivative by the velocity
static double side(const kd_load *load, const double *x, double *slope)
{
    if (load->direction >= 0) {
        *slope = 0.0;
        return x[load->direction];
    }
    double t = tanh(x[load->variable[1]] / load->def->slip);
    *slope = (1.0 - t * t) / load->def->slip;
    return t;
}

static kd_eval friction_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)w, (void)rate;
    double slope;
    force[0] = -friction_at(load, x).level * side(load, x, &slope) - load->def->viscous * x[load->variable[1]];
    return KD_EVAL_OK;
}

static kd_eval friction_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    (void)w;
    friction_state f = friction_at(load, x);
    double         slope, sign = side(load, x, &slope);
    J[1] = -f.level_v * sign - f.level * slope - load->def->viscous;
    if (load->nvariables > 2) J[2] = -f.level_w * sign;
    return KD_EVAL_OK;
}

static void friction_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    double force;
    (void)friction_eval(load, x, w, &force, NULL);
    sum->dissipated -= force * x[load->variable[1]];
}

// Of the regularised force of sliding; where it sticks by events, or the force across the joint is not known in
// between: smooth
static kd_interval friction_bounds(const kd_load *load, const kd_interval *x, kd_work *w)
{
    const kd_force_def *d = load->def;
    const kd_interval   v = x[load->variable[1]];
    (void)w;
    if (load->direction >= 0 || load->nvariables > 2) return (kd_interval){0.0, 0.0};
    const double most = fmax(fabs(v.lower), fabs(v.upper)), least = v.lower > 0.0   ? v.lower
                                                                    : v.upper < 0.0 ? -v.upper
                                                                                    : 0.0;
    const double rise = fmax(d->breakaway - d->coulomb, 0.0), s = d->stribeck;
    const double low = d->coulomb + (s > 0.0 ? rise * exp(-most * most / (s * s)) : 0.0);
    const double high = d->coulomb + (s > 0.0 ? rise * exp(-least * least / (s * s)) : 0.0);
    const double t0 = tanh(v.lower / d->slip), t1 = tanh(v.upper / d->slip);
    return (kd_interval){-t1 * (t1 > 0.0 ? high : low), -t0 * (t0 < 0.0 ? high : low)};
}

const kd_load_class kd_load_friction = {
    .eval = friction_eval, .jacobian = friction_jacobian, .energy = friction_energy, .bounds = friction_bounds};
