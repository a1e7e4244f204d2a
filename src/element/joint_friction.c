// joint_friction.c: friction along a joint coordinate, and the force across the joint that it may depend on (S1 Eq.
// 29).
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

#include "element/force.h"
#include "model/fields.h"

static const double LEAST = 1e-6;   // smallest force across, as part of the weight of all bodies
static const double SHARPER = 1e-4; // of that, at a contact: its force does not change its sign

// ---- the force across -----------------------------------------------------------------------------------------------
static double least_force(const kd_model *m)
{
    // weight of all bodies; 1 kg, 1 m/s^2 where there is none
    double mass = 0.0, g = kd_vec_norm(kd_vec_of(m->gravity));
    for (int i = 0; i < m->nbodies; i++) mass += m->body[i].def.mass;
    return LEAST * (mass > 0.0 ? mass : 1.0) * (g > 0.0 ? g : 1.0);
}

void kd_across_set(kd_system *s)
{
    for (int i = 0; i < s->nacross; i++) {
        kd_across *a = &s->across[i];
        a->least = least_force(s->model) * (a->nrows == 1 ? SHARPER : 1.0);
        // moments rub at the lever: a couple of forces moment / lever
        if (a->nrows == 4) a->factor[2] = a->factor[3] = 1.0 / s->model->force[a->force].def.friction.lever;
    }
}

// Rows of a joint come in the order of rows.c: shifts along x and y are the first two. Sliding joints: turns about y
// and x follow, behind the turn about z of a prismatic one.
static int across(kd_system *s, int force)
{
    const kd_force *f = &s->model->force[force];
    kd_joint_kind   kind = s->model->joint[f->joint].def.kind;
    kd_across      *a = &s->across[s->nacross++];
    int             first = s->edge[f->joint].row;
    bool            moments = f->def.friction.lever > 0.0 && !kd_joint_turns(kind, f->def.coordinate - 1);
    *a = (kd_across){.nrows = 2, .row = {first, first + 1}, .factor = {1, 1}, .force = force, .name = f->name};
    if (moments) {
        a->nrows = 4;
        // turns about y and x: rows behind the shifts of this joint (rows.c)
        a->row[2] = first + (kd_joint_form_of(kind).nturns == 0 ? 3 : 2);
        a->row[3] = a->row[2] + 1;
    }
    s->nw++;
    kd_across_set(s);
    return s->nw - 1;
}

// The normal force of a rigid contact, from the multiplier of its row
int kd_across_contact(kd_system *s, int force)
{
    kd_across *a = &s->across[s->nacross++];
    *a = (kd_across){.nrows = 1, .factor = {1}, .force = force, .name = s->model->force[force].name};
    for (int i = s->nrows_g - s->none_sided; i < s->nrows_g; i++)
        if (s->row_g[i].force == force) a->row[0] = i;
    s->nw++;
    kd_across_set(s);
    return s->nw - 1;
}

static double part_of(const kd_across *a, const kd_system *s, const double *lambda, int k)
{
    // a row that was left out carries nothing
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
    const kd_joint_friction_def *d = &load->def->friction;
    // w where friction depends on the force across, arm 1 for shifts
    double         w = load->nvariables > 2 ? x[load->variable[2]] : 0.0, arm = load->constant[1];
    double         v = x[load->variable[1]], fall = 0.0, fall_v = 0.0;
    friction_state f = {.sliding_w = d->normal[0] * arm, .before_w = d->normal[1] * arm};
    // exp(-(v/stribeck)^2) and its slope
    if (d->stribeck > 0.0) {
        fall = exp(-v * v / (d->stribeck * d->stribeck));
        fall_v = -2.0 * v / (d->stribeck * d->stribeck) * fall;
    }
    // one coefficient stands for both
    if (d->normal[1] == 0.0) f.before_w = f.sliding_w;
    f.sliding = d->coulomb + f.sliding_w * w;
    f.before = (d->breakaway > 0.0 ? d->breakaway : d->coulomb) + f.before_w * w;
    // breaking away is never easier than sliding
    if (f.before < f.sliding) f.before = f.sliding, f.before_w = f.sliding_w;
    // level between both, its derivatives by v and w
    f.level = f.sliding + (f.before - f.sliding) * fall;
    f.level_v = (f.before - f.sliding) * fall_v;
    f.level_w = f.sliding_w + (f.before_w - f.sliding_w) * fall;
    return f;
}

static double friction_limit(const kd_load *load, const double *x, kd_work *w)
{
    (void)w;
    return friction_at(load, x).before;
}

// Direction of the friction, 1 against a positive velocity, and its derivative by the velocity
static double side(const kd_load *load, const double *x, double *slope)
{
    // dry: the direction is a discrete state, without slope
    if (load->direction >= 0) {
        *slope = 0.0;
        return x[load->direction];
    }
    double t = tanh(x[load->variable[1]] / load->def->friction.slip);
    *slope = (1.0 - t * t) / load->def->friction.slip;
    return t;
}

static kd_eval friction_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)w, (void)rate;
    double slope;
    force[0] = -friction_at(load, x).level * side(load, x, &slope) - load->def->friction.viscous * x[load->variable[1]];
    return KD_EVAL_OK;
}

static kd_eval friction_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    (void)w;
    friction_state f = friction_at(load, x);
    double         slope, sign = side(load, x, &slope);
    J[1] = -f.level_v * sign - f.level * slope - load->def->friction.viscous;
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
    const kd_joint_friction_def *d = &load->def->friction;
    const kd_interval            v = x[load->variable[1]];
    (void)w;
    if (load->direction >= 0 || load->nvariables > 2) return (kd_interval){0.0, 0.0};
    // the level falls with |v|: largest at the smallest speed of the range
    const double most = fmax(fabs(v.lower), fabs(v.upper)), least = v.lower > 0.0   ? v.lower
                                                                    : v.upper < 0.0 ? -v.upper
                                                                                    : 0.0;
    const double rise = fmax(d->breakaway - d->coulomb, 0.0), s = d->stribeck;
    const double low = d->coulomb + (s > 0.0 ? rise * exp(-most * most / (s * s)) : 0.0);
    const double high = d->coulomb + (s > 0.0 ? rise * exp(-least * least / (s * s)) : 0.0);
    // force -level tanh(v/slip): signs decide which level bounds
    const double t0 = tanh(v.lower / d->slip), t1 = tanh(v.upper / d->slip);
    return (kd_interval){-t1 * (t1 > 0.0 ? high : low), -t0 * (t0 < 0.0 ? high : low)};
}

// tanh and exp along half of their length, or where they no longer change
static bool friction_is_even(const kd_load *load, const kd_interval *x, double share)
{
    static const double          HALF = 0.5, FLAT_TANH = 20.0, FLAT_EXP = 6.0;
    const kd_joint_friction_def *d = &load->def->friction;
    const kd_interval            v = x[load->variable[1]];
    const double passed = share * (v.upper - v.lower), least = fmax(v.lower, -v.upper); // < 0: 0 is inside
    return (passed <= HALF * d->slip || least >= FLAT_TANH * d->slip) &&
           (!(d->stribeck > 0.0) || passed <= HALF * d->stribeck || least >= FLAT_EXP * d->stribeck);
}

static const kd_load_class law = {.eval = friction_eval,
                                  .jacobian = friction_jacobian,
                                  .energy = friction_energy,
                                  .bounds = friction_bounds,
                                  .is_even = friction_is_even,
                                  .reading = kd_read_sticking,
                                  .limit = friction_limit,
                                  .cost = {.operations = 10, .functions = 4, .slopes = 18, .slope_functions = 6}};

// ---- in models ------------------------------------------------------------------------------------------------------
static bool rubs(const kd_joint_friction_def *d)
{
    return d->normal[0] > 0.0 || d->normal[1] > 0.0;
}

static int structure(const kd_force_def *def)
{
    return rubs(&def->friction) + 2 * (def->friction.lever > 0.0);
}

// Variables s, v, then the force across the joint where friction depends on it
static void make(kd_load_builder *b, int force)
{
    const kd_force *f = &b->s->model->force[force];
    const kd_joint *j = &b->s->model->joint[f->joint];
    kd_load_make_scalar(b, force, NULL);
    if (b->status != KD_OK) return;
    b->load->constant[1] = 1.0;
    if (kd_joint_turns(j->def.kind, f->def.coordinate - 1)) b->load->arm_of = &f->def.friction.lever;
    kd_load_set(b->load);
    // the force across as an auxiliary variable; start values have no multipliers
    if (j->rubs && !b->s->for_start && rubs(&f->def.friction))
        kd_load_add_variable(b, kd_system_slot(b->s, KD_SLOT_W, across(b->s, force), 0));
    kd_load_find_direction(b, force);
}

// Dry friction holds the rate of the joint coordinate while it sticks
static void add_sticking(kd_row_builder *b, int force)
{
    const kd_joint_friction_def *d = &b->s->model->force[force].def.friction;
    if (d->stick) kd_row_sticking(b, force, kd_force_coordinate(b->s, force), &d->stribeck);
}

// Friction of the force across a joint needs that force as multipliers: the joint is a constraint in all coordinates.
static void finish(kd_model *m, int i)
{
    if (!kd_finish_joint(m, i)) return;
    const kd_force_def          *def = &m->force[i].def;
    const kd_joint_friction_def *d = &def->friction;
    kd_joint                    *j = &m->joint[m->force[i].joint];
    if (d->stick && j->def.motion[def->coordinate - 1])
        kd_model_error(m, KD_SECTION_FORCE, i, "stick", "the motion of joint '%s' is prescribed: it cannot stick",
                       j->name);
    if (!rubs(d)) return;
    const kd_joint_form form = kd_joint_form_of(j->def.kind);
    // one axis across which a single force rubs; multipliers need a constraint
    if (!kd_joint_has_one_axis(&form, NULL) || form.lead)
        kd_model_error(
            m, KD_SECTION_FORCE, i, "normal",
            "joint '%s' is not revolute, prismatic or cylindrical: there is no one force across it that rubs", j->name);
    else if (kd_joint_turns(j->def.kind, def->coordinate - 1) && !(d->lever > 0.0))
        kd_model_error(m, KD_SECTION_FORCE, i, "normal",
                       "it rubs against a turn: give the radius at which it does so as 'lever'");
    else if (j->def.cut == KD_CUT_NO)
        kd_model_error(m, KD_SECTION_FORCE, i, "normal",
                       "it needs the reaction of joint '%s' as a constraint, but that says 'cut: no'", j->name);
    j->rubs = true;
}

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_FORCE_JOINT,
    {"coulomb", KD_FIELD_NUMBER, O(friction.coulomb), 1, ALL, 0, 0, NOT_NEGATIVE, "N|N m",
     .doc = "friction while sliding"},
    {"breakaway", KD_FIELD_NUMBER, O(friction.breakaway), 1, ALL, 0, 0, NOT_NEGATIVE, "N|N m",
     .doc = "friction before sliding; 0: as `coulomb`"},
    {"stribeck", KD_FIELD_NUMBER, O(friction.stribeck), 1, ALL, 0, 0.01, NOT_NEGATIVE, "m/s|rad/s",
     .doc = "velocity at which the surplus of `breakaway` has fallen to 1/e; 0: there is none while it slides"},
    {"viscous", KD_FIELD_NUMBER, O(friction.viscous), 1, ALL, 0, 0, NOT_NEGATIVE, "N s/m|N m s/rad",
     .doc = "friction per velocity"},
    {"normal", KD_FIELD_NUMBER, O(friction.normal), 2, ALL, KD_FIELD_EQUAL, 0, NOT_NEGATIVE, "",
     .doc = "coefficients of the force across the joint, sliding and before sliding (one number: both), whose friction is added to `coulomb` and `breakaway`; for revolute, prismatic and cylindrical joints, which are constraints then"},
    {"lever", KD_FIELD_NUMBER, O(friction.lever), 1, ALL, 0, 0, NOT_NEGATIVE, "m",
     .doc = "with `normal`: radius at which the force across a turning joint rubs; half the length of the guide that carries moments across a sliding one, 0: moments do not rub"},
    {"stick", KD_FIELD_BOOLEAN, O(friction.stick), 1, ALL, 0, 0, ANY, "",
     .doc = "dry friction that sticks and slides by events; `slip` has no meaning then"},
    {"slip", KD_FIELD_NUMBER, O(friction.slip), 1, ALL, 0, 0.001, POSITIVE, "m/s|rad/s",
     .doc = "velocity below which friction is regularised"},
    KD_FORCE_STIFF("it does"),
};
static const kd_readable readings[] = {
    {"q", "m|rad", KD_PROPERTY_Q, 0, NULL}, {"v", "m/s|rad/s", KD_PROPERTY_V, 0, NULL}, {"force", "N|N m", KD_PROPERTY_FORCE, 0, NULL},
};
// clang-format on

const kd_force_class kd_force_joint_friction = {
    .element =
        {
            .kind = {"joint_friction",
                     "Coulomb and Stribeck friction along a joint coordinate, regularised or by events (`stick`)"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .units = KD_UNITS_OF_JOINT,
            .finish = finish,
        },
    .law = &law,
    .nchannels = 1,
    .stiff = true,
    .measure = kd_force_coordinate,
    .make = make,
    .structure = structure,
    .rows = add_sticking,
};
