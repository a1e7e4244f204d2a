// contact.c: sphere about `to` on the plane z = 0 of `from`, compliant (Hunt-Crossley) or rigid.
//
//     f = k depth^n (1 + d depth'),   friction -mu f v/sqrt(v^2 + slip^2)
//
// Channels z, x, y, omega_x, omega_y; variables z, z', x', y', omega_x, omega_y. The sphere touches below its
// centre: slip velocity (x' - R omega_y, y' + R omega_x).
// With restitution it is no force: a row z - R >= 0 with impacts.
#include <math.h>

#include "element/force.h"
#include "model/fields.h"

typedef struct contact_state {
    double depth, normal, by_depth, by_rate; // normal force and its derivatives by depth and depth'
    double vx, vy, norm;
} contact_state;

static contact_state contact_at(const kd_load *load, const double *x)
{
    const kd_contact_def *d = &load->def->contact;
    const int            *v = load->variable;
    contact_state         c = {.depth = d->radius - x[v[0]]};
    double                rate = -x[v[1]], damping = 1.0 + d->dissipation * rate;
    c.vx = x[v[2]] - d->radius * x[v[5]];
    c.vy = x[v[3]] + d->radius * x[v[4]];
    c.norm = sqrt(c.vx * c.vx + c.vy * c.vy + d->slip * d->slip);
    // in the air, or leaving faster than the elastic force follows: no pull
    if (c.depth <= 0.0 || damping <= 0.0) {
        c.depth = c.depth > 0.0 ? c.depth : 0.0;
        return c;
    }
    // Hunt-Crossley: k depth^n (1 + d depth')
    double elastic = d->stiffness * pow(c.depth, d->exponent);
    c.normal = elastic * damping;
    c.by_depth = d->exponent * elastic / c.depth * damping;
    c.by_rate = elastic * d->dissipation;
    return c;
}

static kd_eval contact_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)w, (void)rate;
    contact_state c = contact_at(load, x);
    // friction against the slip, at the lowest point: moments -R e_z x F
    double R = load->def->contact.radius, mu = c.norm > 0.0 ? load->def->contact.friction * c.normal / c.norm : 0.0;
    force[0] = c.normal;
    force[1] = -mu * c.vx;
    force[2] = -mu * c.vy;
    force[3] = R * force[2];
    force[4] = -R * force[1];
    return KD_EVAL_OK;
}

static kd_eval contact_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    (void)w;
    contact_state c = contact_at(load, x);
    // in the air nothing changes; the kink at depth 0 has no slope
    if (c.normal == 0.0) return KD_EVAL_OK;
    double R = load->def->contact.radius, mu = c.norm > 0.0 ? load->def->contact.friction / c.norm : 0.0,
           n2 = c.norm * c.norm;
    // by the normal force, then by the slip velocity: d(v/norm) = (1 - v v'/norm^2)/norm
    double fx_n = -mu * c.vx, fy_n = -mu * c.vy; // friction per normal force
    double xx = -mu * c.normal * (1.0 - c.vx * c.vx / n2), xy = mu * c.normal * c.vx * c.vy / n2;
    double yy = -mu * c.normal * (1.0 - c.vy * c.vy / n2);
    double normal[6] = {-c.by_depth, -c.by_rate, 0, 0, 0, 0};
    double slip_x[6] = {0, 0, 1, 0, 0, -R}, slip_y[6] = {0, 0, 0, 1, R, 0};
    // chain rule by the six variables
    for (int j = 0; j < 6; j++) {
        double fx = fx_n * normal[j] + xx * slip_x[j] + xy * slip_y[j];
        double fy = fy_n * normal[j] + xy * slip_x[j] + yy * slip_y[j];
        kd_law_put(load, 0, j, normal[j], J);
        kd_law_put(load, 1, j, fx, J);
        kd_law_put(load, 2, j, fy, J);
        kd_law_put(load, 3, j, R * fy, J);
        kd_law_put(load, 4, j, -R * fx, J);
    }
    return KD_EVAL_OK;
}

static void contact_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    (void)w;
    const kd_contact_def *d = &load->def->contact;
    contact_state         c = contact_at(load, x);
    double                elastic = c.depth > 0.0 ? d->stiffness * pow(c.depth, d->exponent) : 0.0;
    double                rate = -x[load->variable[1]];
    // k depth^(n + 1)/(n + 1); what damping adds to the elastic force is lost
    sum->potential += elastic * c.depth / (d->exponent + 1.0);
    sum->dissipated += (c.normal - elastic) * rate;
    if (c.norm > 0.0) sum->dissipated += d->friction * c.normal * (c.vx * c.vx + c.vy * c.vy) / c.norm;
}

// The normal force: none without depth
static kd_interval contact_bounds(const kd_load *load, const kd_interval *x, kd_work *w)
{
    const kd_contact_def *d = &load->def->contact;
    const kd_interval     z = x[load->variable[0]], v = x[load->variable[1]];
    (void)w;
    // least depth with slow approach, most with fast: monotone in both
    const double least = fmax(d->radius - z.upper, 0.0), most = fmax(d->radius - z.lower, 0.0);
    const double slow = fmax(1.0 - d->dissipation * v.upper, 0.0), fast = fmax(1.0 - d->dissipation * v.lower, 0.0);
    return (kd_interval){d->stiffness * pow(least, d->exponent) * slow, d->stiffness * pow(most, d->exponent) * fast};
}

static const kd_load_class law = {.eval = contact_eval,
                                  .jacobian = contact_jacobian,
                                  .energy = contact_energy,
                                  .bounds = contact_bounds,
                                  .reading = kd_read_wrench,
                                  .cost = {.operations = 25, .functions = 5, .slopes = 120, .slope_functions = 9}};

static bool is_rigid(const kd_force_def *def)
{
    return !isnan(def->contact.restitution);
}

static const kd_load_class *choose(const kd_force_def *def)
{
    return is_rigid(def) ? &kd_load_rigid : &law;
}

static void make(kd_load_builder *b, int force)
{
    if (b->load->class != &law) return;
    int pair = kd_force_pair(b->s, force);
    // channels and variables in the order of the head
    int z = kd_plain_measure(b->s, pair, KD_MEASURE_SHIFT, 2), x = kd_plain_measure(b->s, pair, KD_MEASURE_SHIFT, 0);
    int y = kd_plain_measure(b->s, pair, KD_MEASURE_SHIFT, 1);
    int wx = kd_plain_measure(b->s, pair, KD_MEASURE_TURN, 0), wy = kd_plain_measure(b->s, pair, KD_MEASURE_TURN, 1);
    const int channel[] = {z, x, y, wx, wy};
    for (int i = 0; i < 5; i++) kd_load_add_channel(b, channel[i]);
    kd_load_add_measured(b, z, 0);
    kd_load_add_measured(b, z, 1);
    kd_load_add_measured(b, x, 1);
    kd_load_add_measured(b, y, 1);
    kd_load_add_measured(b, wx, 1);
    kd_load_add_measured(b, wy, 1);
}

static void add_distance(kd_row_builder *b, int force)
{
    const kd_force *f = &b->s->model->force[force];
    if (!is_rigid(&f->def)) return;
    // the row is named after the element itself
    b->kind = "contact", b->element = f->name;
    kd_row_one_sided(b, force, kd_force_height(b->s, force), 1.0, &f->def.contact.radius, &f->def.contact.restitution,
                     "distance");
}

static void finish(kd_model *m, int i)
{
    static const char *const others[] = {"dissipation", "friction", NULL};
    kd_finish_restitution(m, i, others);
    kd_finish_two_places(m, i);
}

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_FORCE_PLACES,
    {"stiffness", KD_FIELD_NUMBER, O(contact.stiffness), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "N/m",
     .doc = "stiffness; this or `restitution` must be given"},
    {"restitution", KD_FIELD_NUMBER, O(contact.restitution), 1, ALL, KD_FIELD_MAYBE, NAN, BETWEEN(0, 1), "",
     .doc = "rigid, with impacts that reverse the velocity by this factor, in place of `stiffness`, damping and friction"},
    {"slip", KD_FIELD_NUMBER, O(contact.slip), 1, ALL, 0, 0.001, POSITIVE, "m/s",
     .doc = "velocity below which friction is regularised"},
    {"radius", KD_FIELD_NUMBER, O(contact.radius), 1, ALL, KD_FIELD_REQUIRED, 0, NOT_NEGATIVE, "m",
     .doc = "radius of the sphere"},
    {"exponent", KD_FIELD_NUMBER, O(contact.exponent), 1, ALL, 0, 1.5, BETWEEN(1, 10), "",
     .doc = "force = stiffness * depth^exponent * (1 + dissipation * rate)"},
    {"dissipation", KD_FIELD_NUMBER, O(contact.dissipation), 1, ALL, 0, 0, NOT_NEGATIVE, "s/m",
     .doc = "Hunt-Crossley dissipation"},
    {"friction", KD_FIELD_NUMBER, O(contact.friction), 1, ALL, 0, 0, NOT_NEGATIVE, "",
     .doc = "coefficient of friction"},
    KD_FORCE_STIFF("it does"),
};
static const kd_readable readings[] = {
    {"fx", "N", KD_PROPERTY_FORCE, 0, NULL},   {"fy", "N", KD_PROPERTY_FORCE, 1, NULL},   {"fz", "N", KD_PROPERTY_FORCE, 2, NULL},
    {"tx", "N m", KD_PROPERTY_FORCE, 3, NULL}, {"ty", "N m", KD_PROPERTY_FORCE, 4, NULL}, {"tz", "N m", KD_PROPERTY_FORCE, 5, NULL},
};
// clang-format on

const kd_force_class kd_force_contact = {
    .element =
        {
            .kind = {"contact", "sphere about `to` on the plane z = 0 of `from`: Hunt-Crossley with regularised "
                                "friction, or with `restitution` impacts"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .finish = finish,
            .doubt = kd_doubt_spring,
            .look = {.wheel = KD_LOOK_BALL,
                     .floor = KD_LOOK_LEVEL_FLOOR,
                     .radius = offsetof(kd_force_def, contact.radius)},
        },
    .law = &law,
    .choose = choose,
    .nchannels = 5,
    .stiff = true,
    .measure = kd_force_height,
    .make = make,
    .rows = add_distance,
    .rigid_reading = 2,
};
