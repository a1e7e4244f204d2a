// surface_contact.c: forces between two smooth surfaces (touch.h): normal force and friction in the plane of contact.
//
// With the gap g, depth = -g > 0, velocities of sliding v = (v_1, v_2), and N the normal force:
//
//     compliant    N = k depth^n (1 + dissipation depth'), k given, or by Hertz from modulus and curvatures, n = 1.5
//     rigid        row g >= 0 with restitution, N = |lambda|, an auxiliary variable
//     friction     f = -mu N v/sqrt(v^2 + slip^2), or dry (`stick`): it sticks, v = 0 with |mu| <= mu_s N, or slides,
//                  f = -mu N e(v)
//
// While it slides, z = (d_1, d_2) is a direction in which it slid lately. With v = a d + b d_across
// e = (|a| d + b d_across)/|v|: v/|v| as long as v . d > 0, and smooth where a straight motion ends. docs/methods/
// surface-contact.md
#include <math.h>

#include "core/text.h"
#include "element/force.h"
#include "element/hertz.h"
#include "element/surfaces.h"

enum { GAP, GAP_RATE, SLIP_1, SLIP_2, TRACE, DETERMINANT, VARIABLES }; // of a compliant contact
enum { RIGID_SLIP_1, RIGID_SLIP_2, RIGID_NORMAL };                     // of a rigid one

static bool is_rigid(const kd_force_def *def)
{
    return !isnan(def->surfaces.restitution);
}

static bool is_hertz(const kd_force_def *def)
{
    return !isnan(def->surfaces.modulus);
}

static bool rubs(const kd_force_def *def)
{
    return def->surfaces.friction[0] > 0.0 || def->surfaces.friction[1] > 0.0;
}

// ---- the law --------------------------------------------------------------------------------------------------------
typedef struct contact_state {
    double depth, N, elastic;
    double by[VARIABLES];    // N by the variables
    double potential, moved; // k depth^(n+1)/(n+1); what a change of k adds to it per time
    bool   known;            // is there a stiffness?
} contact_state;

static double variable(const kd_load *load, const double *x, int i)
{
    return x[load->variable[i]];
}

// First place of the velocities of sliding among the variables
static int first_slip(const kd_load *load)
{
    return is_rigid(load->def) ? RIGID_SLIP_1 : SLIP_1;
}

static contact_state rigid_at(const kd_load *load, const double *x)
{
    contact_state c = {.N = variable(load, x, RIGID_NORMAL), .known = true};
    c.by[RIGID_NORMAL] = 1.0;
    return c;
}

static contact_state contact_at(const kd_load *load, const double *x)
{
    const kd_surface_contact_def *d = &load->def->surfaces;
    if (is_rigid(load->def)) return rigid_at(load, x);
    contact_state c = {.depth = -variable(load, x, GAP), .known = true};
    const double  rate = -variable(load, x, GAP_RATE), damping = 1.0 + d->dissipation * rate;
    const bool    hertz = is_hertz(load->def);
    double        k[3] = {d->stiffness, 0.0, 0.0}, n = hertz ? 1.5 : d->exponent;
    // in the air there is no force; no stiffness at a contact that is no ellipse
    if (!(c.depth > 0.0)) {
        c.known = !isnan(c.depth);
        return c;
    }
    if (hertz) c.known = kd_hertz_stiffness(d->modulus, variable(load, x, TRACE), variable(load, x, DETERMINANT), k);
    const double power = pow(c.depth, n);
    c.elastic = k[0] * power;
    c.potential = c.elastic * c.depth / (n + 1.0);
    if (damping <= 0.0) return c; // leaving faster than the elastic force follows: no pull
    c.N = c.elastic * damping;
    c.by[GAP] = -n * c.N / c.depth;
    c.by[GAP_RATE] = -c.elastic * d->dissipation;
    if (hertz) c.by[TRACE] = k[1] * power * damping, c.by[DETERMINANT] = k[2] * power * damping;
    return c;
}

// Direction of sliding e and its derivatives e_v[i][j] by v_j
static void direction_of(const kd_load *load, const double *x, double e[2], double e_v[2][2])
{
    const int    first = first_slip(load);
    const double v[2] = {variable(load, x, first), variable(load, x, first + 1)};
    // regularised: v/sqrt(v^2 + slip^2)
    if (!load->def->surfaces.stick) {
        const double slip = load->def->surfaces.slip, norm = sqrt(v[0] * v[0] + v[1] * v[1] + slip * slip);
        for (int i = 0; i < 2; i++) e[i] = v[i] / norm;
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++) e_v[i][j] = ((i == j) - e[i] * e[j]) / norm;
        return;
    }
    // dry: along and across the direction of lately; without one it sticks, or is open
    const double d[2] = {load->direction >= 0 ? x[load->direction] : 0.0,
                         load->direction >= 0 ? x[load->direction_across] : 0.0};
    const double a = v[0] * d[0] + v[1] * d[1], b = v[1] * d[0] - v[0] * d[1], norm = hypot(a, b);
    const double side = a < 0.0 ? -1.0 : 1.0, p = norm > 0.0 ? fabs(a) / norm : 1.0, q = norm > 0.0 ? b / norm : 0.0;
    const double across[2] = {-d[1], d[0]}, per = norm > 0.0 ? 1.0 / norm : 0.0;
    // (p, q) turns by q da, p db; da = d . dv, db = across . dv
    for (int i = 0; i < 2; i++) {
        e[i] = p * d[i] + q * across[i];
        for (int j = 0; j < 2; j++) {
            const double turn = per * (p * across[j] - side * q * d[j]); // of the angle of (p, q)
            e_v[i][j] = turn * (p * across[i] - q * d[i]);
        }
    }
}

static kd_eval eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    const contact_state c = contact_at(load, x);
    const double        mu = load->def->surfaces.friction[0];
    double              e[2], e_v[2][2];
    (void)w, (void)rate;
    if (!c.known) return KD_EVAL_RETRY;
    direction_of(load, x, e, e_v);
    force[0] = is_rigid(load->def) ? 0.0 : c.N;
    for (int i = 0; i < 2; i++) force[1 + i] = -mu * c.N * e[i];
    return KD_EVAL_OK;
}

static kd_eval jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    const contact_state c = contact_at(load, x);
    const double        mu = load->def->surfaces.friction[0];
    const int           first = first_slip(load);
    double              e[2], e_v[2][2];
    (void)w;
    if (!c.known) return KD_EVAL_RETRY;
    direction_of(load, x, e, e_v);
    // by what the normal force depends on, then by the velocities of sliding
    for (int j = 0; j < load->nvariables; j++) {
        if (!is_rigid(load->def)) kd_law_put(load, 0, j, c.by[j], J);
        for (int i = 0; i < 2; i++) kd_law_put(load, 1 + i, j, -mu * c.by[j] * e[i], J);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) kd_law_put(load, 1 + i, first + j, -mu * c.N * e_v[i][j], J);
    return KD_EVAL_OK;
}

static void energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    const contact_state c = contact_at(load, x);
    const int           first = first_slip(load);
    double              force[3] = {0.0, 0.0, 0.0};
    if (eval(load, x, w, force, NULL) != KD_EVAL_OK) return;
    sum->potential += c.potential;
    for (int i = 0; i < 2; i++) sum->dissipated -= force[1 + i] * variable(load, x, first + i);
    if (!is_rigid(load->def)) sum->dissipated -= (c.N - c.elastic) * variable(load, x, GAP_RATE);
}

// What friction can hold before it slides
static double limit(const kd_load *load, const double *x, kd_work *w)
{
    const double *mu = load->def->surfaces.friction;
    (void)w;
    return fmax(mu[0], mu[1]) * contact_at(load, x).N;
}

// Range of the normal force: none without depth
static kd_interval bounds(const kd_load *load, const kd_interval *x, kd_work *w)
{
    const kd_surface_contact_def *d = &load->def->surfaces;
    const bool                    hertz = is_hertz(load->def);
    const double                  n = hertz ? 1.5 : d->exponent;
    (void)w;
    if (is_rigid(load->def)) return (kd_interval){0.0, 0.0}; // its impacts are events
    const kd_interval g = x[load->variable[GAP]], v = x[load->variable[GAP_RATE]];
    double            least = d->stiffness, most = d->stiffness;
    // the stiffness at the ends of the ranges of both invariants
    for (int i = 0; hertz && i < 4; i++) {
        const kd_interval T = x[load->variable[TRACE]], D = x[load->variable[DETERMINANT]];
        double            k[3];
        if (!kd_hertz_stiffness(d->modulus, i & 1 ? T.upper : T.lower, i & 2 ? D.upper : D.lower, k)) continue;
        least = i == 0 ? k[0] : fmin(least, k[0]), most = i == 0 ? k[0] : fmax(most, k[0]);
    }
    const double slow = fmax(1.0 - d->dissipation * v.upper, 0.0), fast = fmax(1.0 - d->dissipation * v.lower, 0.0);
    return (kd_interval){least * pow(fmax(-g.upper, 0.0), n) * slow, most * pow(fmax(-g.lower, 0.0), n) * fast};
}

static void reason(const kd_load *load, const double *x, char *text, size_t size)
{
    if (isnan(variable(load, x, GAP)))
        kd_text_append(text, size, "no place was found where the surfaces face each other, or they touch along a line");
    else
        kd_text_append(
            text, size,
            "the surfaces do not touch in an ellipse, but along a line or by an area: Hertz has no stiffness "
            "for it; give 'stiffness' and 'exponent' in place of 'modulus'");
}

// ---- readings -------------------------------------------------------------------------------------------------------
enum { FX, FY, FZ, TX, TY, TZ, NORMAL, FRICTION_1, FRICTION_2, SLIDES };

// Normal force, and friction by sliding and by sticking
static void forces_of(const kd_load *load, const kd_work *w, const kd_point *x, double f[3])
{
    const kd_system *s = w->system;
    const double    *own = kd_load_forces(w, load);
    int              next = 1;
    f[0] = f[1] = f[2] = 0.0;
    for (int k = 0; k < load->nchannels; k++) f[k] = own[k];
    for (int i = s->nrows_g - s->none_sided; i < s->nrows_g; i++)
        if (s->row_g[i].force == load->force && s->lambda_of[i] >= 0) f[0] -= x->lambda[s->lambda_of[i]];
    for (int i = 0; i < s->nmu; i++)
        if (s->row_h[i].force == load->force) f[next++] -= x->mu[i];
}

static double reading(const kd_load *load, const kd_work *w, const kd_point *x, int number)
{
    const int          pair = w->system->force_pair[load->force];
    const kd_touch_at *at = kd_work_touch(w, pair);
    double             f[3];
    if (number >= KD_TOUCH_FIRST) return kd_touch_reading(w, pair, number);
    forces_of(load, w, x, f);
    if (number >= NORMAL) return number < SLIDES ? f[number - NORMAL] : 0.0;
    // the wrench on `to`, axes of `from`
    const kd_vec3 F = kd_vec_axpy(kd_vec_axpy(kd_vec_scale(f[0], at->n), f[1], at->e[0]), f[2], at->e[1]);
    const kd_vec3 N = kd_vec_cross(at->rho, F);
    const double  component[] = {F.x, F.y, F.z, N.x, N.y, N.z};
    return component[number];
}

static const kd_load_class law = {.eval = eval,
                                  .jacobian = jacobian,
                                  .energy = energy,
                                  .bounds = bounds,
                                  .reason = reason,
                                  .reading = reading,
                                  .limit = limit,
                                  .cost = {.operations = 60, .functions = 8, .slopes = 120, .slope_functions = 10}};

// Rigid without friction: the multiplier is all
static kd_eval no_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)load, (void)x, (void)w, (void)force, (void)rate;
    return KD_EVAL_OK;
}

static kd_eval no_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    (void)load, (void)x, (void)w, (void)J;
    return KD_EVAL_OK;
}

static const kd_load_class smooth_law = {
    .eval = no_eval, .jacobian = no_jacobian, .energy = kd_no_energy, .reading = reading};

// ---- in models ------------------------------------------------------------------------------------------------------
static const kd_load_class *choose(const kd_force_def *def)
{
    return is_rigid(def) && !rubs(def) ? &smooth_law : &law;
}

static int structure(const kd_force_def *def)
{
    return rubs(def) + 2 * is_rigid(def) + 4 * is_hertz(def) + 8 * def->surfaces.stick;
}

// The pair with its surfaces
static int touching_pair(kd_system *s, int force)
{
    const kd_force *f = &s->model->force[force];
    const int       pair = kd_force_pair(s, force);
    if (pair >= 0) kd_system_touch(s, pair, f->name, f->def.surfaces.surface, f->curve, f->to_curve);
    return pair;
}

static int gap(kd_system *s, int force)
{
    return kd_plain_measure(s, touching_pair(s, force), KD_MEASURE_GAP, 0);
}

static int slip(kd_system *s, int force, int i)
{
    return kd_plain_measure(s, touching_pair(s, force), KD_MEASURE_SLIP, i);
}

static void make(kd_load_builder *b, int force)
{
    kd_system          *s = b->s;
    const kd_force_def *def = &s->model->force[force].def;
    const int           distance = gap(s, force);
    if (b->load->class == &smooth_law) return;
    kd_load_add_channel(b, distance);
    for (int i = 0; i < 2; i++) kd_load_add_channel(b, slip(s, force, i));
    // variables in the order of the head
    for (int level = 0; level < 2 && !is_rigid(def); level++) kd_load_add_measured(b, distance, level);
    for (int i = 0; i < 2; i++) kd_load_add_measured(b, slip(s, force, i), 1);
    if (is_rigid(def) && !s->for_start)
        kd_load_add_variable(b, kd_system_slot(s, KD_SLOT_W, kd_across_contact(s, force), 0));
    else if (is_rigid(def))
        b->load->class = &smooth_law; // start values have no multipliers
    for (int i = 0; i < 2 && is_hertz(def); i++)
        kd_load_add_measured(b, kd_plain_measure(s, touching_pair(s, force), KD_MEASURE_CURVED, i), 0);
    if (def->surfaces.stick) kd_load_find_direction(b, force);
}

static void add_rows(kd_row_builder *b, int force)
{
    const kd_force *f = &b->s->model->force[force];
    b->kind = "contact", b->element = f->name;
    if (is_rigid(&f->def)) kd_row_one_sided(b, force, gap(b->s, force), 1.0, NULL, &f->def.surfaces.restitution, "gap");
    // while it sticks nothing slides in the plane of contact
    for (int i = 0; i < 2 && f->def.surfaces.stick && rubs(&f->def); i++)
        kd_row_sticking(b, force, slip(b->s, force, i), NULL);
}

static void finish(kd_model *m, int i)
{
    kd_force                     *f = &m->force[i];
    const kd_surface_contact_def *d = &f->def.surfaces;
    const bool                    soft = !isnan(d->stiffness), rigid = is_rigid(&f->def), hertz = is_hertz(&f->def);
    kd_finish_two_places(m, i);
    f->curve = kd_finish_surface(m, KD_SECTION_FORCE, i, "from", &d->surface[0]);
    f->to_curve = kd_finish_surface(m, KD_SECTION_FORCE, i, "to", &d->surface[1]);
    if (soft + rigid + hertz != 1)
        kd_model_error(m, KD_SECTION_FORCE, i, "stiffness",
                       "give one of 'modulus' (Hertz), 'stiffness' and 'restitution' (rigid, with impacts)");
    else if (rigid && d->dissipation != 0.0)
        kd_model_error(m, KD_SECTION_FORCE, i, "dissipation",
                       "'dissipation' has no meaning beside 'restitution', which makes it rigid");
    if (d->stick && !rubs(&f->def))
        kd_model_error(m, KD_SECTION_FORCE, i, "stick", "without 'friction' nothing can stick");
}

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_FORCE_PLACES,
    KD_SURFACE_FIELDS("from", O(surfaces.surface)),
    KD_SURFACE_FIELDS("to", O(surfaces.surface) + sizeof(kd_surface_def)),
    {"modulus", KD_FIELD_NUMBER, O(surfaces.modulus), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "N/m^2",
     .doc = "compliant by Hertz: 1/modulus = (1 - nu^2)/E of the one material plus that of the other; the stiffness follows from the curvatures"},
    {"stiffness", KD_FIELD_NUMBER, O(surfaces.stiffness), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "N/m",
     .doc = "compliant: force = stiffness * depth^exponent * (1 + dissipation * rate)"},
    {"restitution", KD_FIELD_NUMBER, O(surfaces.restitution), 1, ALL, KD_FIELD_MAYBE, NAN, BETWEEN(0, 1), "",
     .doc = "rigid, with impacts that reverse the velocity by this factor"},
    {"exponent", KD_FIELD_NUMBER, O(surfaces.exponent), 1, ALL, 0, 1.5, BETWEEN(1, 10), "",
     .doc = "exponent of the depth beside `stiffness`"},
    {"dissipation", KD_FIELD_NUMBER, O(surfaces.dissipation), 1, ALL, 0, 0, NOT_NEGATIVE, "s/m",
     .doc = "Hunt-Crossley dissipation"},
    {"friction", KD_FIELD_NUMBER, O(surfaces.friction), 2, ALL, KD_FIELD_EQUAL, 0, NOT_NEGATIVE, "",
     .doc = "coefficients of friction while sliding and before sliding (one number: both)"},
    {"stick", KD_FIELD_BOOLEAN, O(surfaces.stick), 1, ALL, 0, 0, ANY, "",
     .doc = "dry friction that sticks and slides by events in the plane of contact; `slip` has no meaning then"},
    {"slip", KD_FIELD_NUMBER, O(surfaces.slip), 1, ALL, 0, 0.001, POSITIVE, "m/s",
     .doc = "velocity below which friction is regularised"},
    KD_FORCE_STIFF("it does"),
};
static const kd_readable readings[] = {
    {"fx", "N", KD_PROPERTY_FORCE, FX, NULL},   {"fy", "N", KD_PROPERTY_FORCE, FY, NULL},   {"fz", "N", KD_PROPERTY_FORCE, FZ, NULL},
    {"tx", "N m", KD_PROPERTY_FORCE, TX, NULL}, {"ty", "N m", KD_PROPERTY_FORCE, TY, NULL}, {"tz", "N m", KD_PROPERTY_FORCE, TZ, NULL},
    {"normal", "N", KD_PROPERTY_FORCE, NORMAL, NULL}, {"friction1", "N", KD_PROPERTY_FORCE, FRICTION_1, NULL},
    {"friction2", "N", KD_PROPERTY_FORCE, FRICTION_2, NULL},
    KD_TOUCH_READINGS(KD_PROPERTY_FORCE),
};
// clang-format on

const kd_force_class kd_force_surface_contact = {
    .element =
        {
            .kind = {"surface_contact", "forces between smooth surfaces on `from` and `to`: compliant (Hertz, "
                                        "Hunt-Crossley) or rigid with impacts, with friction"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .finish = finish,
            .look = {.between = KD_LOOK_POINTS},
        },
    .law = &law,
    .choose = choose,
    .nchannels = 3,
    .stiff = true,
    .measure = gap,
    .make = make,
    .structure = structure,
    .rows = add_rows,
};
