// air_spring.c: air in a bellows between two points, with an auxiliary volume behind a throttle; the amounts of air are
// inner states. Method: docs/methods/fluid.md
//
// The amount of air c is the volume that it would have at ambient pressure, expanded with the exponent n:
//     p = ambient (c/V)^n,   f = (p - ambient) dV/ds
// V = volume + area (s - length), or from a curve. A flow F of air, as p V per time (p' = n/V (F - p V')), changes c by
//     c' = (c/V)/p F
// into the bellows F = ambient inflow - F_2, into the auxiliary volume F_2 = (p + p_2)/2 q(p - p_2), q: throttle.h.
// Variables s, v, c, with an auxiliary volume c_2, then those of the inflow.
#include <math.h>

#include "core/text.h"
#include "element/spring.h"
#include "element/throttle.h"
#include "model/fields.h"

// variables of the law, in the order of the head (RATE is not read)
enum { LENGTH, AIR = 2, AUXILIARY };

typedef struct air {              // in one volume
    double V, p, by_c, g, g_by_c; // p and its slope by c; c' per flow and its slope
} air;

static air air_at(const kd_air_spring_def *d, double V, double c)
{
    // by_c = dp/dc = n p/c; g = (c/V)/p goes with c^(1 - n)
    const double ratio = c / V, n = d->exponent, p = d->ambient * pow(ratio, n);
    return (air){V, p, n * p / c, ratio / p, (1.0 - n) / (V * p)};
}

typedef struct bellows {
    air    air[2];
    double area, area_slope, by_s; // dV/ds, its slope, dp/ds
    double inflow;                 // as p V per time
    double flow, flow_by[2];       // to the auxiliary volume, by the pressures
} bellows;

static bool bellows_at(const kd_load *load, const double *x, kd_work *w, bellows *b)
{
    const kd_air_spring_def *d = &load->def->air_spring;
    const int               *at = load->variable;
    const double             s = x[at[LENGTH]];
    // V and two slopes by the length, along a straight line or a curve
    double V[4] = {d->volume + d->area * (s - load->constant[0]), d->area, 0.0, 0.0};
    if (load->curve) kd_curve_eval(load->curve, s, V);
    *b = (bellows){.area = V[1], .area_slope = V[2]};
    // without room or without air there is no pressure: a smaller step
    if (!(V[0] > 0.0) || !(x[at[AIR]] > 0.0)) return false;
    b->air[0] = air_at(d, V[0], x[at[AIR]]);
    // at constant c: dp/ds = -n p/V dV/ds
    b->by_s = -d->exponent * b->air[0].p * b->area / V[0];
    b->inflow = d->ambient * kd_law_value(load->law[0], x, w);
    if (load->nstates < 2) return true;
    if (!(x[at[AUXILIARY]] > 0.0)) return false;
    b->air[1] = air_at(d, d->auxiliary, x[at[AUXILIARY]]);
    // F_2 = mean pressure times flow of the throttle, which has the derivatives q and its slope
    double       slope;
    const double p = b->air[0].p, p2 = b->air[1].p, q = kd_throttle(d->flow, d->drop, d->smooth, p - p2, &slope),
                 mean = 0.5 * (p + p2);
    b->flow = mean * q;
    b->flow_by[0] = 0.5 * q + mean * slope;
    b->flow_by[1] = 0.5 * q - mean * slope;
    return true;
}

static kd_eval air_spring_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    bellows b;
    if (!bellows_at(load, x, w, &b)) return KD_EVAL_RETRY;
    force[0] = (b.air[0].p - load->def->air_spring.ambient) * b.area;
    rate[0] = b.air[0].g * (b.inflow - b.flow);
    if (load->nstates > 1) rate[1] = b.air[1].g * b.flow;
    return KD_EVAL_OK;
}

static kd_eval air_spring_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    const kd_air_spring_def *d = &load->def->air_spring;
    bellows                  b;
    if (!bellows_at(load, x, w, &b)) return KD_EVAL_RETRY;
    // rows: force, c', c_2'; the pressures move with s and c, the flow with both pressures
    const air   *one = &b.air[0], *two = &b.air[1];
    const double net = b.inflow - b.flow, g_by_s = (d->exponent - 1.0) * one->g * b.area / one->V;
    kd_law_put(load, 0, LENGTH, b.by_s * b.area + (one->p - d->ambient) * b.area_slope, J);
    kd_law_put(load, 0, AIR, one->by_c * b.area, J);
    kd_law_put(load, 1, LENGTH, g_by_s * net - one->g * b.flow_by[0] * b.by_s, J);
    kd_law_put(load, 1, AIR, one->g_by_c * net - one->g * b.flow_by[0] * one->by_c, J);
    kd_law_gradient(load, 1, load->law[0], one->g * d->ambient, x, w, J);
    // what the auxiliary volume takes part in
    if (load->nstates < 2) return KD_EVAL_OK;
    kd_law_put(load, 1, AUXILIARY, -one->g * b.flow_by[1] * two->by_c, J);
    kd_law_put(load, 2, LENGTH, two->g * b.flow_by[0] * b.by_s, J);
    kd_law_put(load, 2, AIR, two->g * b.flow_by[0] * one->by_c, J);
    kd_law_put(load, 2, AUXILIARY, two->g_by_c * b.flow + two->g * b.flow_by[1] * two->by_c, J);
    return KD_EVAL_OK;
}

// n > 1: inner energy p V/(n - 1) of the air and work on the air outside; what flows in brings n/(n - 1) times its p V,
// and a throttle loses none of it. n = 1, air that takes up heat: its available work, p V (log(p/ambient) - 1) +
// ambient V, of which a throttle loses some.
static void air_spring_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    const kd_air_spring_def *d = &load->def->air_spring;
    const double             n = d->exponent, at_rest = d->ambient;
    bellows                  b;
    if (!bellows_at(load, x, w, &b)) return;
    const air *one = &b.air[0], *two = &b.air[1];
    // work against the air outside, then both volumes
    sum->potential += at_rest * one->V;
    for (int i = 0; i < load->nstates; i++) {
        const air *a = &b.air[i];
        sum->potential += n > 1.0 ? a->p * a->V / (n - 1.0) : a->p * a->V * (log(a->p / at_rest) - 1.0);
    }
    sum->supplied += n > 1.0 ? n / (n - 1.0) * b.inflow : b.inflow * log(one->p / at_rest);
    if (n == 1.0 && load->nstates > 1) sum->dissipated += b.flow * log(one->p / two->p);
}

// Pressure (1), volume (2), pressure of the auxiliary volume (3)
static double amount(const kd_load *load, const double *x, int number)
{
    const kd_air_spring_def *d = &load->def->air_spring;
    const int               *at = load->variable;
    double                   V[4] = {d->volume + d->area * (x[at[LENGTH]] - load->constant[0])};
    if (load->curve) kd_curve_eval(load->curve, x[at[LENGTH]], V);
    if (number == 2) return V[0];
    return number == 1 ? air_at(d, V[0], x[at[AIR]]).p : air_at(d, d->auxiliary, x[at[AUXILIARY]]).p;
}

static void air_spring_reason(const kd_load *load, const double *x, char *text, size_t size)
{
    if (!(amount(load, x, 2) > 0.0))
        kd_text_append(text, size, "no volume is left at the length %.6g", x[load->variable[LENGTH]]);
    else
        kd_text_append(text, size, "no air is left");
}
static double reading(const kd_load *load, const kd_work *w, const kd_point *x, int number)
{
    (void)x;
    return number == 0 ? kd_load_forces(w, load)[0] : amount(load, w->slot, number);
}

static void start(const kd_load *load, const double *x, kd_work *w, double *r)
{
    const kd_air_spring_def *d = &load->def->air_spring;
    // c = V (p/ambient)^(1/n)
    const double expanded = pow(d->pressure / d->ambient, 1.0 / d->exponent);
    (void)w;
    r[0] = amount(load, x, 2) * expanded;
    if (load->nstates > 1) r[1] = d->auxiliary * expanded;
}

static const kd_load_class law = {.eval = air_spring_eval,
                                  .jacobian = air_spring_jacobian,
                                  .energy = air_spring_energy,
                                  .reason = air_spring_reason,
                                  .start = start,
                                  .settles = true,
                                  .reading = reading,
                                  .effect = KD_EFFECT_VALUE};

static int states(const kd_force_def *def)
{
    return def->air_spring.auxiliary > 0.0 ? 2 : 1;
}

static void make(kd_load_builder *b, int force)
{
    const kd_force *f = &b->s->model->force[force];
    kd_load_make_scalar(b, force, &f->def.air_spring.length);
    // variables s, v and the states of air, then the law of the valve
    if (f->curve >= 0) b->load->curve = b->s->model->curve[f->curve].curve;
    if (b->status == KD_OK) kd_load_add_law(b, 0, force, "inflow", 0, b->load->variable);
}

// The volume: by area and one volume, or by a curve.
static void finish(kd_model *m, int i)
{
    kd_force                *f = &m->force[i];
    const kd_air_spring_def *d = &f->def.air_spring;
    if (!d->volumes) {
        if (isnan(d->area) || isnan(d->volume))
            kd_model_error(m, KD_SECTION_FORCE, i, "area", "'area' and 'volume' are needed, or a curve 'volumes'");
    } else if (!isnan(d->area) || !isnan(d->volume) || !isnan(d->length)) {
        kd_model_error(m, KD_SECTION_FORCE, i, "volumes",
                       "'area', 'volume' and 'length' have no meaning beside 'volumes', which has them");
    } else {
        f->curve = kd_finish_curve(m, KD_SECTION_FORCE, i, "volumes", d->volumes);
    }
    if (d->auxiliary > 0.0 && d->flow == 0.0)
        kd_model_error(m, KD_SECTION_FORCE, i, "flow", "the throttle to the auxiliary volume needs its 'flow'");
    kd_finish_two_places(m, i);
}

static bool has_auxiliary(const void *def)
{
    return ((const kd_force_def *)def)->air_spring.auxiliary > 0.0;
}

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_FORCE_PLACES,
    {"length", KD_FIELD_NUMBER, O(air_spring.length), 1, ALL, KD_FIELD_MAYBE, NAN, NOT_NEGATIVE, "m",
     .doc = "length at which the volume is `volume`; not given: as at the start position"},
    {"exponent", KD_FIELD_NUMBER, O(air_spring.exponent), 1, ALL, 0, 1.4, BETWEEN(1, 2), "",
     .doc = "polytropic exponent: 1.4 for fast motions, 1 for slow ones at constant temperature"},
    {"flow", KD_FIELD_NUMBER, O(air_spring.flow), 1, ALL, 0, 0, NOT_NEGATIVE, "m^3/s",
     .doc = "flow through the throttle to the auxiliary volume at `drop`"},
    KD_THROTTLE_FIELDS(air_spring),
    {"area", KD_FIELD_NUMBER, O(air_spring.area), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "m^2",
     .doc = "effective area: force per pressure, volume per length"},
    {"volume", KD_FIELD_NUMBER, O(air_spring.volume), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "m^3",
     .doc = "volume at `length`"},
    {"volumes", KD_FIELD_NAME, O(air_spring.volumes), 1, ALL, 0, 0, ANY, "",
     .doc = "curve of the volume over the length, in place of `area` and `volume`; its slope is the effective area"},
    {"pressure", KD_FIELD_NUMBER, O(air_spring.pressure), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "Pa",
     .doc = "absolute pressure at the start"},
    {"ambient", KD_FIELD_NUMBER, O(air_spring.ambient), 1, ALL, 0, 101325, POSITIVE, "Pa",
     .doc = "absolute pressure outside"},
    {"auxiliary", KD_FIELD_NUMBER, O(air_spring.auxiliary), 1, ALL, 0, 0, NOT_NEGATIVE, "m^3",
     .doc = "volume behind the throttle; 0: none"},
    {"inflow", KD_FIELD_LAW, O(air_spring.inflow), 1, ALL, 0, 0, ANY, "m^3/s",
     .doc = "flow of air into the bellows, as volume at ambient pressure, an expression of length, rate and of paths: a levelling valve; not given: 0", .locals = kd_length_locals},
    KD_FORCE_STIFF("it does"),
};
static const kd_readable readings[] = {
    KD_LENGTH_READINGS,
    {"pressure", "Pa", KD_PROPERTY_FORCE, 1, NULL},
    {"volume", "m^3", KD_PROPERTY_FORCE, 2, NULL},
    {"air", "m^3", KD_PROPERTY_INNER, 0, NULL}, // as volumes at ambient pressure
    {"auxiliary_pressure", "Pa", KD_PROPERTY_FORCE, 3, has_auxiliary},
    {"auxiliary_air", "m^3", KD_PROPERTY_INNER, 1, has_auxiliary},
};
// clang-format on

const kd_force_class kd_force_air_spring = {
    .element =
        {
            .kind = {"air_spring", "air in a bellows between two points, with an auxiliary volume behind a throttle; "
                                   "the amounts of air are inner states"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .finish = finish,
            .look = {.between = KD_LOOK_COIL},
        },
    .law = &law,
    .nchannels = 1,
    .stiff = true,
    .states = states,
    .measure = kd_force_length,
    .make = make,
};
