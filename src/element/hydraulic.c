// hydraulic.c: hydraulic cylinder between two points with leakage and a servo valve; the pressures of its chambers are
// inner states. Method: docs/methods/fluid.md
//
// With the distance s of the points and its rate v: x = s - length, volumes V_A = volume_A + area_A x,
// V_B = volume_B + area_B (stroke - x):
//
//     V_A p_A' = E (Q_A - area_A v - Q_L),   V_B p_B' = E (Q_B + area_B v + Q_L),   Q_L = leakage (p_A - p_B)
//     f = area_A p_A - area_B p_B - viscous v + forces of the ends
//
// The valve, opened by y: for y > 0 Q_A = y q(pump - p_A), Q_B = -y q(p_B - tank), for y < 0 Q_A = y q(p_A - tank),
// Q_B = -y q(pump - p_B); q: throttle.h. Its spool follows the command c: lag y' = c - y, or y = c, with c cut off at
// -1 and 1. Variables s, v, p_A, p_B, with a lag y, then those of the command.
#include <math.h>

#include "core/text.h"
#include "element/spring.h"
#include "element/throttle.h"
#include "model/fields.h"

static double throttle(const kd_hydraulic_def *d, double pressure, double *slope)
{
    return kd_throttle(d->flow, d->drop, d->smooth, pressure, slope);
}

// variables of the law, in the order of the head
enum { LENGTH, RATE, A, B, SPOOL };

typedef struct port { // flow into a chamber, and its derivatives by the chamber's pressure and the opening
    double Q, by_p, by_y;
    double lost, pumped; // power lost in the edge, power of pump and tank
} port;

// The chamber is joined with the pump by an opening y > 0, with the tank by y < 0. At the kink between them the slope
// is the mean of both.
static port port_at(const kd_hydraulic_def *d, double y, double p)
{
    double slope;
    // closed: the flow changes with the opening towards either side
    if (y == 0.0)
        return (port){.by_y = 0.5 * (throttle(d, d->supply[0] - p, &slope) + throttle(d, p - d->supply[1], &slope))};
    const bool   pump = y > 0.0;
    const double other = d->supply[pump ? 0 : 1], drop = pump ? other - p : p - other, q = throttle(d, drop, &slope);
    // y q(drop) against the chamber's pressure; power lost in the edge, power of pump or tank
    return (port){.Q = y * q, .by_p = -fabs(y) * slope, .by_y = q, .lost = fabs(y) * q * drop, .pumped = y * q * other};
}

// one point of evaluation
typedef struct cylinder {
    double x, v, p[2], V[2], y, leak, ends, ends_stiffness;
    bool   cut_off; // the command
    double command;
    port   port[2];
} cylinder;

static bool cylinder_at(const kd_load *load, const double *x, kd_work *w, cylinder *c)
{
    const kd_hydraulic_def *d = &load->def->hydraulic;
    const int              *at = load->variable;
    // volumes of both chambers from the way of the piston
    *c = (cylinder){.x = x[at[LENGTH]] - load->constant[0], .v = x[at[RATE]], .p = {x[at[A]], x[at[B]]}};
    c->V[0] = d->volume[0] + d->area[0] * c->x;
    c->V[1] = d->volume[1] + d->area[1] * (d->stroke - c->x);
    // command, cut off at full opening; the spool follows, or is there at once
    const double command = kd_law_value(load->law[0], x, w);
    c->command = fmin(fmax(command, -1.0), 1.0);
    c->cut_off = c->command != command;
    c->y = d->lag > 0.0 ? x[at[SPOOL]] : c->command;
    // A and B are opened opposite to each other; oil leaks by the difference of pressure
    c->port[0] = port_at(d, c->y, c->p[0]);
    c->port[1] = port_at(d, -c->y, c->p[1]);
    c->leak = d->leakage * (c->p[0] - c->p[1]);
    // a spring beyond the ends of the stroke
    const double beyond = c->x < 0.0 ? c->x : c->x > d->stroke ? c->x - d->stroke : 0.0;
    c->ends = -d->ends * beyond;
    c->ends_stiffness = beyond != 0.0 ? d->ends : 0.0;
    return c->V[0] > 0.0 && c->V[1] > 0.0;
}

// Net flow into a chamber, that of the moving piston included
static double net_flow(const kd_hydraulic_def *d, const cylinder *c, int i)
{
    return i == 0 ? c->port[0].Q - d->area[0] * c->v - c->leak : c->port[1].Q + d->area[1] * c->v + c->leak;
}

static kd_eval hydraulic_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    const kd_hydraulic_def *d = &load->def->hydraulic;
    cylinder                c;
    if (!cylinder_at(load, x, w, &c)) return KD_EVAL_RETRY;
    // force of the pressures, V p' = E (net flow), lag of the spool
    force[0] = d->area[0] * c.p[0] - d->area[1] * c.p[1] - d->viscous * c.v + c.ends;
    for (int i = 0; i < 2; i++) rate[i] = d->bulk / c.V[i] * net_flow(d, &c, i);
    if (d->lag > 0.0) rate[2] = (c.command - c.y) / d->lag;
    return KD_EVAL_OK;
}

static kd_eval hydraulic_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    const kd_hydraulic_def *d = &load->def->hydraulic;
    cylinder                c;
    if (!cylinder_at(load, x, w, &c)) return KD_EVAL_RETRY;
    // row 0: force; rows 1, 2: pressures; row 3: spool
    kd_law_put(load, 0, LENGTH, -c.ends_stiffness, J);
    kd_law_put(load, 0, RATE, -d->viscous, J);
    kd_law_put(load, 0, A, d->area[0], J);
    kd_law_put(load, 0, B, -d->area[1], J);
    // a chamber: 1/V and flow by length, flow by rate, pressures and opening
    for (int i = 0; i < 2; i++) {
        const double sign = i == 0 ? 1.0 : -1.0, per = d->bulk / c.V[i]; // V_i changes by sign area_i s
        const double by_y = per * sign * c.port[i].by_y;
        kd_law_put(load, 1 + i, LENGTH, -sign * d->area[i] * per / c.V[i] * net_flow(d, &c, i), J);
        kd_law_put(load, 1 + i, RATE, -sign * d->area[i] * per, J);
        kd_law_put(load, 1 + i, A + i, per * (c.port[i].by_p - d->leakage), J);
        kd_law_put(load, 1 + i, B - i, per * d->leakage, J);
        if (d->lag > 0.0)
            kd_law_put(load, 1 + i, SPOOL, by_y, J);
        else if (!c.cut_off)
            kd_law_gradient(load, 1 + i, load->law[0], by_y, x, w, J);
    }
    if (d->lag > 0.0) kd_law_put(load, 3, SPOOL, -1.0 / d->lag, J);
    if (d->lag > 0.0 && !c.cut_off) kd_law_gradient(load, 3, load->law[0], 1.0 / d->lag, x, w, J);
    return KD_EVAL_OK;
}

// Potential: compressed oil, V p^2/(2 E), and the ends. Work of the oil that comes and goes is p Q; V changes with the
// piston, which leaves area p^2 v/(2 E) over, the work on oil that the law takes as not compressed.
static void hydraulic_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    const kd_hydraulic_def *d = &load->def->hydraulic;
    cylinder                c;
    (void)cylinder_at(load, x, w, &c);
    for (int i = 0; i < 2; i++) {
        const double sign = i == 0 ? 1.0 : -1.0, p2 = 0.5 * c.p[i] * c.p[i] / d->bulk;
        sum->potential += c.V[i] * p2;
        sum->dissipated += c.port[i].lost;
        sum->supplied += c.port[i].pumped + sign * d->area[i] * c.v * p2;
    }
    if (d->ends > 0.0) sum->potential += 0.5 * c.ends * c.ends / d->ends;
    sum->dissipated += c.leak * (c.p[0] - c.p[1]) + d->viscous * c.v * c.v;
}

// Oil of density proportional to exp(p/E) has the mass V exp(p/E), as a volume at p = 0: V p' = -E V' keeps it. The
// spool is no amount.
static void hydraulic_content(const kd_load *load, const double *x, double *amount, double *slope)
{
    const kd_hydraulic_def *d = &load->def->hydraulic;
    const double            position = x[load->variable[LENGTH]] - load->constant[0];
    const double V[2] = {d->volume[0] + d->area[0] * position, d->volume[1] + d->area[1] * (d->stroke - position)};
    for (int i = 0; i < 2; i++) {
        amount[i] = V[i] * exp(x[load->variable[A + i]] / d->bulk);
        slope[i] = amount[i] / d->bulk;
    }
    if (d->lag > 0.0) amount[2] = NAN;
}

static bool hydraulic_caution(const kd_load *load, const double *x, char *text, size_t size)
{
    // the lower pressure decides
    const double p[2] = {x[load->variable[A]], x[load->variable[B]]};
    const int    low = p[1] < p[0] ? 1 : 0;
    if (!(p[low] < load->def->hydraulic.vapour)) return false;
    kd_text_append(text, size, "the oil in chamber %c is at %.4g bar, below its vapour pressure (%.4g bar)", "AB"[low],
                   1e-5 * p[low], 1e-5 * load -> def -> hydraulic.vapour);
    return true;
}

static void hydraulic_reason(const kd_load *load, const double *x, char *text, size_t size)
{
    kd_text_append(text, size,
                   "the piston is outside of its cylinder, at %.6g of a stroke from 0 to %.6g: look at the position "
                   "and at 'length', the distance at 0",
                   x[load->variable[LENGTH]] - load->constant[0], load->def->hydraulic.stroke);
}
static void start(const kd_load *load, const double *x, kd_work *w, double *r)
{
    const kd_hydraulic_def *d = &load->def->hydraulic;
    // not given: that of the tank; the spool stands where the command wants it
    for (int i = 0; i < 2; i++) r[i] = isnan(d->pressure[i]) ? d->supply[1] : d->pressure[i];
    if (d->lag > 0.0) r[2] = fmin(fmax(kd_law_value(load->law[0], x, w), -1.0), 1.0);
}

static const kd_load_class law = {.eval = hydraulic_eval,
                                  .jacobian = hydraulic_jacobian,
                                  .energy = hydraulic_energy,
                                  .content = hydraulic_content,
                                  .caution = hydraulic_caution,
                                  .reason = hydraulic_reason,
                                  .start = start,
                                  .settles = true,
                                  .effect = KD_EFFECT_VALUE};

static int states(const kd_force_def *def)
{
    return def->hydraulic.lag > 0.0 ? 3 : 2;
}

static void make(kd_load_builder *b, int force)
{
    kd_load_make_scalar(b, force, &b->s->model->force[force].def.hydraulic.length);
    if (b->status == KD_OK) kd_load_add_law(b, 0, force, "valve", 0, b->load->variable);
}

static void finish(kd_model *m, int i)
{
    const kd_hydraulic_def *d = &m->force[i].def.hydraulic;
    if (d->valve && d->flow == 0.0) kd_model_error(m, KD_SECTION_FORCE, i, "flow", "the valve needs its 'flow'");
    if (d->valve && !(d->supply[0] > d->supply[1]))
        kd_model_error(m, KD_SECTION_FORCE, i, "supply",
                       "the pressure of the pump, %g, must be above that of the tank, %g", d->supply[0], d->supply[1]);
    if (!d->valve && d->lag > 0.0)
        kd_model_error(m, KD_SECTION_FORCE, i, "lag", "'lag' has no meaning without 'valve'");
    kd_finish_two_places(m, i);
}

static bool has_spool(const void *def)
{
    return ((const kd_force_def *)def)->hydraulic.lag > 0.0;
}

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_FORCE_PLACES,
    {"length", KD_FIELD_NUMBER, O(hydraulic.length), 1, ALL, KD_FIELD_MAYBE, NAN, NOT_NEGATIVE, "m",
     .doc = "length between the points with the piston at the beginning of its stroke; not given: as at the start position"},
    {"viscous", KD_FIELD_NUMBER, O(hydraulic.viscous), 1, ALL, 0, 0, NOT_NEGATIVE, "N s/m",
     .doc = "friction of the piston per velocity"},
    {"area", KD_FIELD_NUMBER, O(hydraulic.area), 2, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "m^2",
     .doc = "areas of the piston: in chamber A, which extends the cylinder, and on the side of the rod, B"},
    {"stroke", KD_FIELD_NUMBER, O(hydraulic.stroke), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "m",
     .doc = "way of the piston"},
    {"volume", KD_FIELD_NUMBER, O(hydraulic.volume), 2, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "m^3",
     .doc = "volumes of oil in A at the beginning and in B at the end of the stroke, with hoses"},
    {"bulk", KD_FIELD_NUMBER, O(hydraulic.bulk), 1, ALL, 0, 1.4e9, POSITIVE, "Pa",
     .doc = "bulk modulus of the oil"},
    {"leakage", KD_FIELD_NUMBER, O(hydraulic.leakage), 1, ALL, 0, 0, NOT_NEGATIVE, "m^3/(s Pa)",
     .doc = "flow from A to B per difference of pressure"},
    {"vapour", KD_FIELD_NUMBER, O(hydraulic.vapour), 1, ALL, 0, -1e5, ANY, "Pa",
     .doc = "pressure above the ambient one below which oil boils and the law no longer holds: told, not modelled"},
    {"ends", KD_FIELD_NUMBER, O(hydraulic.ends), 1, ALL, 0, 0, NOT_NEGATIVE, "N/m",
     .doc = "stiffness of the ends of the stroke; 0: none"},
    {"valve", KD_FIELD_LAW, O(hydraulic.valve), 1, ALL, 0, 0, ANY, "",
     .doc = "opening of the valve, an expression of length, rate and of paths: 1 joins A with the pump and B with the tank, -1 the other way round, beyond it stays open; not given: closed", .locals = kd_length_locals},
    {"lag", KD_FIELD_NUMBER, O(hydraulic.lag), 1, ALL, 0, 0, NOT_NEGATIVE, "s",
     .doc = "time constant with which the spool follows `valve`, an inner state; 0: at once"},
    {"supply", KD_FIELD_NUMBER, O(hydraulic.supply), 2, ALL, 0, 0, NOT_NEGATIVE, "Pa",
     .doc = "pressures of pump and tank above the ambient one"},
    {"flow", KD_FIELD_NUMBER, O(hydraulic.flow), 1, ALL, 0, 0, NOT_NEGATIVE, "m^3/s",
     .doc = "flow through an edge of the open valve at `drop`"},
    KD_THROTTLE_FIELDS(hydraulic),
    {"pressure", KD_FIELD_NUMBER, O(hydraulic.pressure), 2, ALL, KD_FIELD_MAYBE, NAN, ANY, "Pa",
     .doc = "pressures of A and B at the start, above the ambient one; not given: that of the tank"},
    KD_FORCE_STIFF("it does"),
};
static const kd_readable readings[] = {
    KD_LENGTH_READINGS,
    {"pressure_a", "Pa", KD_PROPERTY_INNER, 0, NULL},
    {"pressure_b", "Pa", KD_PROPERTY_INNER, 1, NULL},
    {"spool", "1", KD_PROPERTY_INNER, 2, has_spool},
};
// clang-format on

const kd_force_class kd_force_hydraulic = {
    .element =
        {
            .kind = {"hydraulic", "hydraulic cylinder between two points with leakage and a servo valve; the pressures "
                                  "of its chambers are inner states"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .finish = finish,
            .look = {.between = KD_LOOK_PISTON},
        },
    .law = &law,
    .nchannels = 1,
    .stiff = true,
    .states = states,
    .measure = kd_force_length,
    .make = make,
};
