// fluid.c: force elements that hold oil or air: hydraulic cylinder with servo valve, air spring with auxiliary volume.
// Method: docs/methods/fluid.md
//
// Flows through edges and throttles follow the square root of the difference of pressure d, smooth at 0:
//     q(d) = K d / (d^2 + smooth^2)^(1/4),   K = flow / sqrt(drop)
// Forces push `from` and `to` apart; s, v are the distance between them and its rate.
#include <math.h>

#include "core/text.h"
#include "element/loads.h"

// q and its slope K (d^2/2 + smooth^2) / (d^2 + smooth^2)^(5/4)
static double throttle(const kd_force_def *def, double d, double *slope)
{
    const double K = def->flow / sqrt(def->drop), n2 = d * d + def->smooth * def->smooth, root = sqrt(sqrt(n2));
    *slope = K * (0.5 * d * d + def->smooth * def->smooth) / (n2 * root);
    return K * d / root;
}

// ---- hydraulic cylinder ---------------------------------------------------------------------------------------------
// x = s - length, volumes V_A = volume_A + area_A x, V_B = volume_B + area_B (stroke - x):
//     V_A p_A' = E (Q_A - area_A v - Q_L),   V_B p_B' = E (Q_B + area_B v + Q_L),   Q_L = leakage (p_A - p_B)
//     f = area_A p_A - area_B p_B - viscous v + forces of the ends
// The valve, opened by y: for y > 0 Q_A = y q(pump - p_A), Q_B = -y q(p_B - tank), for y < 0 Q_A = y q(p_A - tank),
// Q_B = -y q(pump - p_B). Its spool follows the command c: lag y' = c - y, or y = c, with c cut off at -1 and 1.
// Variables s, v, p_A, p_B, with a lag y, then those of the command.
enum { LENGTH, RATE, A, B, SPOOL };

typedef struct port { // flow into a chamber, and its derivatives by the chamber's pressure and the opening
    double Q, by_p, by_y;
    double lost, pumped; // power lost in the edge, power of pump and tank
} port;

// The chamber is joined with the pump by an opening y > 0, with the tank by y < 0. At the kink between them the slope
// is the mean of both.
static port port_at(const kd_force_def *d, double y, double p)
{
    double slope;
    if (y == 0.0)
        return (port){.by_y = 0.5 * (throttle(d, d->supply[0] - p, &slope) + throttle(d, p - d->supply[1], &slope))};
    const bool   pump = y > 0.0;
    const double other = d->supply[pump ? 0 : 1], drop = pump ? other - p : p - other, q = throttle(d, drop, &slope);
    return (port){.Q = y * q, .by_p = -fabs(y) * slope, .by_y = q, .lost = fabs(y) * q * drop, .pumped = y * q * other};
}

typedef struct cylinder {
    double x, v, p[2], V[2], y, leak, ends, ends_stiffness;
    bool   cut_off; // the command
    double command;
    port   port[2];
} cylinder;

static bool cylinder_at(const kd_load *load, const double *x, kd_work *w, cylinder *c)
{
    const kd_force_def *d = load->def;
    const int          *at = load->variable;
    *c = (cylinder){.x = x[at[LENGTH]] - load->constant[0], .v = x[at[RATE]], .p = {x[at[A]], x[at[B]]}};
    c->V[0] = d->volume[0] + d->area[0] * c->x;
    c->V[1] = d->volume[1] + d->area[1] * (d->stroke - c->x);
    const double command = kd_law_value(load->law[0], x, w);
    c->command = fmin(fmax(command, -1.0), 1.0);
    c->cut_off = c->command != command;
    c->y = d->lag > 0.0 ? x[at[SPOOL]] : c->command;
    c->port[0] = port_at(d, c->y, c->p[0]);
    c->port[1] = port_at(d, -c->y, c->p[1]);
    c->leak = d->leakage * (c->p[0] - c->p[1]);
    const double beyond = c->x < 0.0 ? c->x : c->x > d->stroke ? c->x - d->stroke : 0.0;
    c->ends = -d->ends * beyond;
    c->ends_stiffness = beyond != 0.0 ? d->ends : 0.0;
    return c->V[0] > 0.0 && c->V[1] > 0.0;
}

// Net flow into a chamber, that of the moving piston included
static double net_flow(const kd_force_def *d, const cylinder *c, int i)
{
    return i == 0 ? c->port[0].Q - d->area[0] * c->v - c->leak : c->port[1].Q + d->area[1] * c->v + c->leak;
}

static kd_eval hydraulic_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    const kd_force_def *d = load->def;
    cylinder            c;
    if (!cylinder_at(load, x, w, &c)) return KD_EVAL_RETRY;
    force[0] = d->area[0] * c.p[0] - d->area[1] * c.p[1] - d->viscous * c.v + c.ends;
    for (int i = 0; i < 2; i++) rate[i] = d->bulk / c.V[i] * net_flow(d, &c, i);
    if (d->lag > 0.0) rate[2] = (c.command - c.y) / d->lag;
    return KD_EVAL_OK;
}

static kd_eval hydraulic_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    const kd_force_def *d = load->def;
    cylinder            c;
    if (!cylinder_at(load, x, w, &c)) return KD_EVAL_RETRY;
    kd_law_put(load, 0, LENGTH, -c.ends_stiffness, J);
    kd_law_put(load, 0, RATE, -d->viscous, J);
    kd_law_put(load, 0, A, d->area[0], J);
    kd_law_put(load, 0, B, -d->area[1], J);
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
    const kd_force_def *d = load->def;
    cylinder            c;
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
    const kd_force_def *d = load->def;
    const double        position = x[load->variable[LENGTH]] - load->constant[0];
    const double V[2] = {d->volume[0] + d->area[0] * position, d->volume[1] + d->area[1] * (d->stroke - position)};
    for (int i = 0; i < 2; i++) {
        amount[i] = V[i] * exp(x[load->variable[A + i]] / d->bulk);
        slope[i] = amount[i] / d->bulk;
    }
    if (d->lag > 0.0) amount[2] = NAN;
}

static bool hydraulic_caution(const kd_load *load, const double *x, char *text, size_t size)
{
    const double p[2] = {x[load->variable[A]], x[load->variable[B]]};
    const int    low = p[1] < p[0] ? 1 : 0;
    if (!(p[low] < load->def->vapour)) return false;
    kd_text_append(text, size, "the oil in chamber %c is at %.4g bar, below its vapour pressure (%.4g bar)", "AB"[low],
                   1e-5 * p[low], 1e-5 * load -> def -> vapour);
    return true;
}

static void hydraulic_reason(const kd_load *load, const double *x, char *text, size_t size)
{
    kd_text_append(text, size,
                   "the piston is outside of its cylinder, at %.6g of a stroke from 0 to %.6g: look at the position "
                   "and at 'length', the distance at 0",
                   x[load->variable[LENGTH]] - load->constant[0], load->def->stroke);
}

const kd_load_class kd_load_hydraulic = {.eval = hydraulic_eval,
                                         .jacobian = hydraulic_jacobian,
                                         .energy = hydraulic_energy,
                                         .content = hydraulic_content,
                                         .caution = hydraulic_caution,
                                         .reason = hydraulic_reason};

// ---- air spring -----------------------------------------------------------------------------------------------------
// The amount of air c is the volume that it would have at ambient pressure, expanded with the exponent n:
//     p = ambient (c/V)^n,   f = (p - ambient) dV/ds
// V = volume + area (s - length), or from a curve. A flow F of air, as p V per time (p' = n/V (F - p V')), changes c by
//     c' = (c/V)/p F
// into the bellows F = ambient inflow - F_2, into the auxiliary volume F_2 = (p + p_2)/2 q(p - p_2).
// Variables s, v, c, with an auxiliary volume c_2, then those of the inflow.
enum { AIR = 2, AUXILIARY };

typedef struct air {              // in one volume
    double V, p, by_c, g, g_by_c; // p and its slope by c; c' per flow and its slope
} air;

static air air_at(const kd_force_def *d, double V, double c)
{
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
    const kd_force_def *d = load->def;
    const int          *at = load->variable;
    const double        s = x[at[LENGTH]];
    double              V[4] = {d->volume[0] + d->area[0] * (s - load->constant[0]), d->area[0], 0.0, 0.0};
    if (load->curve) kd_curve_eval(load->curve, s, V);
    *b = (bellows){.area = V[1], .area_slope = V[2]};
    if (!(V[0] > 0.0) || !(x[at[AIR]] > 0.0)) return false;
    b->air[0] = air_at(d, V[0], x[at[AIR]]);
    b->by_s = -d->exponent * b->air[0].p * b->area / V[0];
    b->inflow = d->ambient * kd_law_value(load->law[0], x, w);
    if (load->nstates < 2) return true;
    if (!(x[at[AUXILIARY]] > 0.0)) return false;
    b->air[1] = air_at(d, d->volume[1], x[at[AUXILIARY]]);
    double       slope;
    const double p = b->air[0].p, p2 = b->air[1].p, q = throttle(d, p - p2, &slope), mean = 0.5 * (p + p2);
    b->flow = mean * q;
    b->flow_by[0] = 0.5 * q + mean * slope;
    b->flow_by[1] = 0.5 * q - mean * slope;
    return true;
}

static kd_eval air_spring_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    bellows b;
    if (!bellows_at(load, x, w, &b)) return KD_EVAL_RETRY;
    force[0] = (b.air[0].p - load->def->ambient) * b.area;
    rate[0] = b.air[0].g * (b.inflow - b.flow);
    if (load->nstates > 1) rate[1] = b.air[1].g * b.flow;
    return KD_EVAL_OK;
}

static kd_eval air_spring_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    const kd_force_def *d = load->def;
    bellows             b;
    if (!bellows_at(load, x, w, &b)) return KD_EVAL_RETRY;
    const air   *one = &b.air[0], *two = &b.air[1];
    const double net = b.inflow - b.flow, g_by_s = (d->exponent - 1.0) * one->g * b.area / one->V;
    kd_law_put(load, 0, LENGTH, b.by_s * b.area + (one->p - d->ambient) * b.area_slope, J);
    kd_law_put(load, 0, AIR, one->by_c * b.area, J);
    kd_law_put(load, 1, LENGTH, g_by_s * net - one->g * b.flow_by[0] * b.by_s, J);
    kd_law_put(load, 1, AIR, one->g_by_c * net - one->g * b.flow_by[0] * one->by_c, J);
    kd_law_gradient(load, 1, load->law[0], one->g * d->ambient, x, w, J);
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
    const kd_force_def *d = load->def;
    const double        n = d->exponent, at_rest = d->ambient;
    bellows             b;
    if (!bellows_at(load, x, w, &b)) return;
    const air *one = &b.air[0], *two = &b.air[1];
    sum->potential += at_rest * one->V;
    for (int i = 0; i < load->nstates; i++) {
        const air *a = &b.air[i];
        sum->potential += n > 1.0 ? a->p * a->V / (n - 1.0) : a->p * a->V * (log(a->p / at_rest) - 1.0);
    }
    sum->supplied += n > 1.0 ? n / (n - 1.0) * b.inflow : b.inflow * log(one->p / at_rest);
    if (n == 1.0 && load->nstates > 1) sum->dissipated += b.flow * log(one->p / two->p);
}

double kd_air_spring_reading(const kd_load *load, const double *x, int number)
{
    const kd_force_def *d = load->def;
    const int          *at = load->variable;
    double              V[4] = {d->volume[0] + d->area[0] * (x[at[LENGTH]] - load->constant[0])};
    if (load->curve) kd_curve_eval(load->curve, x[at[LENGTH]], V);
    if (number == 2) return V[0];
    return number == 1 ? air_at(d, V[0], x[at[AIR]]).p : air_at(d, d->volume[1], x[at[AUXILIARY]]).p;
}

static void air_spring_reason(const kd_load *load, const double *x, char *text, size_t size)
{
    if (!(kd_air_spring_reading(load, x, 2) > 0.0))
        kd_text_append(text, size, "no volume is left at the length %.6g", x[load->variable[LENGTH]]);
    else
        kd_text_append(text, size, "no air is left");
}

const kd_load_class kd_load_air_spring = {
    .eval = air_spring_eval, .jacobian = air_spring_jacobian, .energy = air_spring_energy, .reason = air_spring_reason};

// ---- start values ---------------------------------------------------------------------------------------------------

void kd_fluid_start(const kd_load *load, const double *x, kd_work *w, double *r)
{
    const kd_force_def *d = load->def;
    if (d->kind == KD_HYDRAULIC) {
        for (int i = 0; i < 2; i++) r[i] = isnan(d->pressure[i]) ? d->supply[1] : d->pressure[i];
        if (d->lag > 0.0) r[2] = fmin(fmax(kd_law_value(load->law[0], x, w), -1.0), 1.0);
        return;
    }
    const double expanded = pow(d->pressure[0] / d->ambient, 1.0 / d->exponent);
    r[0] = kd_air_spring_reading(load, x, 2) * expanded;
    if (load->nstates > 1) r[1] = d->volume[1] * expanded;
}
