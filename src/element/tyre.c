// tyre.c: the two laws of a tyre: a vertical spring-damper on a road profile, and one with forces of slip.
#include <math.h>

#include "core/text.h"
#include "element/force.h"
#include "element/tyre.h"
#include "model/fields.h"
#include "tree/work.h"

bool kd_tyre_slopes(const kd_motion *m, const kd_tyre_def *d, const double a[KD_TYRE_INPUTS], double road_rate,
                    double *out)
{
    (void)m; // where there is one variant only
    return KD_CALL(kd_tyre_slopes, d, a, road_rate, out);
}

bool kd_tyre_four(const kd_motion *m, const kd_tyre_def *const d[4], const double a[4][KD_TYRE_INPUTS],
                  const double road_rate[4], double out[4][KD_TYRE_OUTPUTS])
{
    (void)m;
    return KD_CALL(kd_tyre_four, d, a, road_rate, out);
}

// The jet of the road with x = at, x' = rate and unit tangent: height, rate, slope and change of the rate at once
static kd_jet road_jet(const kd_load *load, kd_work *w, int slot, double at, double rate)
{
    const kd_jet kept = w->jet[slot];
    w->jet[slot] = (kd_jet){at, rate, 0.0, 1.0, 0.0, 0.0};
    const kd_jet jet = kd_expr_jet(load->law[0], w->jet, w->expr_work);
    w->jet[slot] = kept;
    return jet;
}

// The same of a function of x alone, at unit rate
static kd_jet road_alone(const kd_load *load, const double *x, kd_work *w, int slot)
{
    double f[3];
    kd_expr_along(load->law[0], x, slot, w->expr_work, f);
    return (kd_jet){.x = f[0], .x1 = f[1], .d = f[1], .d1 = f[2]};
}

// Is it a function of x alone, or a number?
static bool is_alone(const kd_load *load, int position)
{
    const int count = kd_expr_slot_count(load->law[0]);
    return count == 0 || (count == 1 && kd_expr_slot(load->law[0], 0) == load->variable[position]);
}

// Is the road known here (a stamp of 0 is nowhere), for this velocity where that counts?
static bool is_known(const kd_road *road, const kd_work *w, bool alone, double at, double along)
{
    const unsigned long stamp = alone ? w->position_stamp : w->velocity_stamp;
    return stamp != 0 && road->stamp == stamp && road->x == at && (alone || road->rate == along);
}

// The road along x, with the tangent along x: x height, x1 its rate, d slope, d1 change of the rate. Kept for all who
// ask at the same point; where the road is a function of x alone for other velocities there, too: x1 = d x', d1 = d' x'.
static kd_jet road_at(const kd_load *load, const double *x, kd_work *w, int position, int rate)
{
    if (!load->law[0]) return kd_jet_const(0.0);
    kd_road   *road = &w->road[load - w->system->load];
    const int  slot = load->variable[position];
    const bool alone = is_alone(load, position);
    double     at = x[slot], along = x[load->variable[rate]];
    if (!is_known(road, w, alone, at, along)) {
        *road = (kd_road){.stamp = alone ? w->position_stamp : w->velocity_stamp, .x = at, .rate = along};
        if (alone)
            road->jet = road_alone(load, x, w, slot);
        else
            road->jet = road_jet(load, w, slot, at, along);
    }
    kd_jet jet = road->jet;
    if (!alone) return jet;
    jet.x1 *= along;
    jet.d1 *= along;
    return jet;
}

// Roads of four tyres that are functions of x alone with the same operations: found where one is not known
static void find_roads(const kd_load *const load[4], const double *x, kd_work *w, int position, const kd_road *out[4])
{
    const kd_expr *const law[4] = {load[0]->law[0], load[1]->law[0], load[2]->law[0], load[3]->law[0]};
    kd_road             *road[4];
    int                  slot[4];
    double               f[4][3];
    bool                 known = true;
    for (int i = 0; i < 4; i++) {
        out[i] = road[i] = &w->road[load[i] - w->system->load];
        slot[i] = load[i]->variable[position];
        known = known && is_known(road[i], w, true, x[slot[i]], 0.0);
    }
    if (known) return;
    kd_expr_bends_along(law, x, slot, w->expr_work, f);
    for (int i = 0; i < 4; i++)
        *road[i] = (kd_road){.stamp = w->position_stamp,
                             .x = x[slot[i]],
                             .jet = {.x = f[i][0], .x1 = f[i][1], .d = f[i][1], .d1 = f[i][2]}};
}

// ---- vertical: F = k depth + c depth' + preload, depth = road(x) + R - z; variables x, z, x', z' --------------------
typedef struct tyre_state {
    double depth, rate, road_x, road_rate_x, force;
    bool   touches;
} tyre_state;

static tyre_state tyre_at(const kd_load *load, const double *x, kd_work *w)
{
    const kd_tyre_def *d = &load->def->tyre;
    tyre_state         t = {.touches = true};
    kd_jet             road = road_at(load, x, w, 0, 2);
    // depth and its rate over the profile
    t.depth = road.x + d->radius - x[load->variable[1]];
    t.rate = road.x1 - x[load->variable[3]];
    t.road_x = road.d;
    t.road_rate_x = road.d1;
    t.force = d->stiffness * t.depth + d->damping * t.rate + d->preload;
    // a tyre that lifts off cannot pull
    if (d->lifts_off && (t.depth <= 0.0 || t.force <= 0.0)) t.force = 0.0, t.touches = false;
    return t;
}

static kd_eval tyre_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)rate;
    force[0] = tyre_at(load, x, w).force;
    return KD_EVAL_OK;
}

static kd_eval tyre_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    tyre_state t = tyre_at(load, x, w);
    if (!t.touches) return KD_EVAL_OK;
    // by x the profile rises, by x' its rate
    kd_law_put(load, 0, 0, load->def->tyre.stiffness * t.road_x + load->def->tyre.damping * t.road_rate_x, J);
    kd_law_put(load, 0, 1, -load->def->tyre.stiffness, J);
    kd_law_put(load, 0, 2, load->def->tyre.damping * t.road_x, J);
    kd_law_put(load, 0, 3, -load->def->tyre.damping, J);
    return KD_EVAL_OK;
}

static void tyre_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    tyre_state t = tyre_at(load, x, w);
    if (load->def->tyre.lifts_off && t.depth <= 0.0) return;
    double elastic = load->def->tyre.stiffness * t.depth + load->def->tyre.preload;
    sum->potential += 0.5 * load->def->tyre.stiffness * t.depth * t.depth + load->def->tyre.preload * t.depth;
    sum->dissipated += (t.force - elastic) * t.rate;
    sum->supplied += t.force * (t.rate + x[load->variable[3]]); // by the motion along the road
}

// What the tyre does not pull with: the part of k depth + c depth' + preload that is cut off, 0 while it touches
static kd_interval vertical_bounds(const kd_load *load, kd_interval z, kd_interval rate, const kd_interval *x,
                                   kd_work *w)
{
    const kd_tyre_def *d = &load->def->tyre;
    if (!d->lifts_off) return (kd_interval){0.0, 0.0};
    // least and most of the force that is cut off: monotone in z, its rate and the road
    const kd_interval road = kd_road_range(load, x, w);
    const double      least = d->stiffness * (road.lower + d->radius - z.upper) - d->damping * rate.upper + d->preload;
    const double      most = d->stiffness * (road.upper + d->radius - z.lower) - d->damping * rate.lower + d->preload;
    return (kd_interval){fmax(-most, 0.0), fmax(-least, 0.0)};
}

static kd_interval tyre_bounds(const kd_load *load, const kd_interval *x, kd_work *w)
{
    return vertical_bounds(load, x[load->variable[1]], x[load->variable[3]], x, w);
}

static double stiffness(const kd_load *load)
{
    return load->def->tyre.stiffness; // of a road
}

static const kd_load_class vertical = {.eval = tyre_eval,
                                       .jacobian = tyre_jacobian,
                                       .energy = tyre_energy,
                                       .bounds = tyre_bounds,
                                       .factor = stiffness,
                                       .jets = true,
                                       .cost = {.operations = 8, .slopes = 12}};

// ---- with slip ------------------------------------------------------------------------------------------------------
// The wheel is a thin disc about its axle n (z axis of its place), above the road z = road(x) of `from`; e_z the normal
// of the road, gamma the camber, sin gamma = n_z:
//
//     e_x = n x e_z / cos gamma,  e_y = e_z x e_x,   h = z - road
//     rho = h / cos gamma,  delta = R - rho,   F_z = (k delta + c delta' + preload) / cos gamma
//     c = -rho (e_z - sin gamma n) / cos gamma       from the centre to the lowest point, where the road is touched
//
// so that the load has the potential k delta^2 / 2. Slip velocities are those of the wheel at the point of contact,
// the velocity V of the carrier there is without the spin Omega = omega . n:
//
//     v = d' + omega x c,   v_x = e_x . v,  v_y = e_y . v,   V = sqrt((v_x + rho Omega)^2 + v_slip^2)
//     s_x = -v_x / V,   s_y = -v_y / V - camber sin gamma
//     F = (C_x s_x, C_y s_y) tanh(y) / y,   y = |(C_x s_x, C_y s_y)| / (mu F_z)
//
// C from the slopes C_1, C_2 at the nominal load P and at 2 P, q = F_z / P (Rill: Road Vehicle Dynamics, ch. 3):
//
//     C = q (2 C_1 - C_2 / 2 - (C_1 - C_2 / 2) q),  constant behind its maximum
//
// With a relaxation length L the slips are inner states, L r_i' = -v_i - V r_i. Rolling resistance is a moment
// -f F_z rho (rho Omega / sqrt((rho Omega)^2 + v_slip^2)) about n.
//
// Channels: shifts z, x, y, turns x, y, z. The law itself: tyre_impl.h
enum { X, Z, VX, VY, VZ, NX, NY, NZ, WX, WY, WZ, RX, RY }; // variables

#define TYRE_PARTS 0
#include "element/tyre_impl.h"

// What the law depends on, from the variables
static void inputs_of(const kd_load *load, const double *x, double height, double a[KD_TYRE_INPUTS])
{
    const int *v = load->variable;
    a[KD_TYRE_H] = x[v[Z]] - height;
    for (int i = 0; i < 3; i++) {
        a[KD_TYRE_V + i] = x[v[VX + i]];
        a[KD_TYRE_N + i] = x[v[NX + i]];
        a[KD_TYRE_OMEGA + i] = x[v[WX + i]];
    }
    for (int i = 0; i < 2; i++) a[KD_TYRE_SLIP + i] = load->nstates > 0 ? x[v[RX + i]] : 0.0;
}

static bool slip_at(const kd_load *load, const double *x, kd_work *w, tyre_forces *t, kd_jet *road)
{
    double      a[KD_TYRE_INPUTS];
    tyre_number in[KD_TYRE_INPUTS];
    // road under the centre, then the law on plain numbers
    *road = road_at(load, x, w, X, VX);
    inputs_of(load, x, road->x, a);
    for (int i = 0; i < KD_TYRE_INPUTS; i++) in[i] = tyre_const(a[i]);
    return tyre_law(&load->def->tyre, in, road->x1, t);
}

static kd_eval slip_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    tyre_forces t;
    kd_jet      road;
    if (!slip_at(load, x, w, &t, &road)) return KD_EVAL_RETRY;
    for (int i = 0; i < 6; i++) force[i] = t.force[i].x;
    for (int i = 0; i < load->nstates; i++) rate[i] = t.slip_rate[i].x;
    return KD_EVAL_OK;
}

static kd_eval slip_of_four(const kd_load *const load[4], const double *x, kd_work *w, double *const force[4],
                            double *const rate[4])
{
    const kd_tyre_def *const d[4] = {&load[0]->def->tyre, &load[1]->def->tyre, &load[2]->def->tyre,
                                     &load[3]->def->tyre};
    double                   a[4][KD_TYRE_INPUTS], road_rate[4], out[4][KD_TYRE_OUTPUTS];
    const kd_road           *road[4];
    find_roads(load, x, w, X, road);
    for (int i = 0; i < 4; i++) {
        inputs_of(load[i], x, road[i]->jet.x, a[i]);
        road_rate[i] = road[i]->jet.x1 * x[load[i]->variable[VX]];
    }
    if (!kd_tyre_four(&w->motion, d, (const double(*)[KD_TYRE_INPUTS])a, road_rate, out)) return KD_EVAL_RETRY;
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 6; k++) force[i][k] = out[i][k];
        for (int k = 0; k < load[i]->nstates; k++) rate[i][k] = out[i][6 + k];
    }
    return KD_EVAL_OK;
}

static bool slip_is_like(const kd_load *a, const kd_load *b)
{
    return a->law[0] && b->law[0] && is_alone(a, X) && is_alone(b, X) && kd_expr_is_like(a->law[0], b->law[0]);
}

// h = z - road(x, t),  h' = v_z - road':  by x through both, by x' through h'
static kd_eval slip_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    static const int input[] = {
        [VY] = KD_TYRE_V + 1, [VZ] = KD_TYRE_V + 2,   [NX] = KD_TYRE_N,         [NY] = KD_TYRE_N + 1,
        [NZ] = KD_TYRE_N + 2, [WX] = KD_TYRE_OMEGA,   [WY] = KD_TYRE_OMEGA + 1, [WZ] = KD_TYRE_OMEGA + 2,
        [RX] = KD_TYRE_SLIP,  [RY] = KD_TYRE_SLIP + 1};
    const kd_jet road = road_at(load, x, w, X, VX);
    const int    rows = load->nchannels + load->nstates;
    double       a[KD_TYRE_INPUTS], by[KD_TYRE_OUTPUTS * KD_TYRE_INPUTS];
    inputs_of(load, x, road.x, a);
    if (!kd_tyre_slopes(&w->motion, &load->def->tyre, a, road.x1, by)) return KD_EVAL_RETRY;
    // by h and h', the road makes them functions of x and x'
    for (int i = 0; i < rows; i++) {
        const double *slope = by + i * KD_TYRE_INPUTS, h = slope[KD_TYRE_H], h_rate = slope[KD_TYRE_V + 2];
        J[i + X * rows] = -road.d * h - road.d1 * h_rate;
        J[i + Z * rows] = h;
        J[i + VX * rows] = slope[KD_TYRE_V] - road.d * h_rate;
        for (int j = VY; j < load->nvariables; j++) J[i + j * rows] = slope[input[j]];
    }
    return KD_EVAL_OK;
}

// Slip dissipates; with relaxation or camber thrust its power can have either sign and counts as supplied.
static void slip_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    const kd_tyre_def *d = &load->def->tyre;
    tyre_forces        t;
    kd_jet             road;
    if (!slip_at(load, x, w, &t, &road)) return;
    double slip = t.Fx.x * t.vx.x + t.Fy.x * t.vy.x;
    sum->dissipated -= t.roll.x * t.spin.x;
    if (d->relaxation > 0.0 || d->camber != 0.0)
        sum->supplied += slip;
    else
        sum->dissipated -= slip;
    sum->supplied += t.Fz.x * road.x1; // by the motion along the road
    // in the air there is neither potential nor damping
    if (d->lifts_off && t.delta.x <= 0.0) return;
    double elastic = d->stiffness * t.delta.x + d->preload;
    sum->potential += 0.5 * d->stiffness * t.delta.x * t.delta.x + d->preload * t.delta.x;
    sum->dissipated += (t.Fz.x * t.cosine.x - elastic) * t.rate.x;
}

static kd_interval tyre_slip_bounds(const kd_load *load, const kd_interval *x, kd_work *w)
{
    return vertical_bounds(load, x[load->variable[Z]], x[load->variable[VZ]], x, w);
}

// Longitudinal (1) and lateral (2) force: along e_x = (n_y, -n_x)/cos gamma or e_y = (n_x, n_y)/cos gamma
static double reading(const kd_load *load, const kd_work *w, const kd_point *x, int number)
{
    const double *force = kd_load_forces(w, load);
    (void)x;
    if (number == 0) return force[0];
    double nx = w->slot[load->variable[NX]], ny = w->slot[load->variable[NY]], cosine = hypot(nx, ny);
    return (number == 1 ? ny * force[1] - nx * force[2] : nx * force[1] + ny * force[2]) / cosine;
}

static const kd_load_class with_slip = {
    .eval = slip_eval,
    .eval_four = slip_of_four,
    .is_like = slip_is_like,
    .jacobian = slip_jacobian,
    .energy = slip_energy,
    .bounds = tyre_slip_bounds,
    .reading = reading,
    .factor = stiffness,
    .jets = true,
    .cost = {.operations = 150, .functions = 14, .slopes = 150 * 25 + 60, .slope_functions = 16}};

// ---- in models ------------------------------------------------------------------------------------------------------
static const kd_load_class *choose(const kd_force_def *def)
{
    return def->tyre.friction > 0.0 ? &with_slip : &vertical;
}

static int states(const kd_force_def *def)
{
    return def->tyre.friction > 0.0 && def->tyre.relaxation > 0.0 ? 2 : 0;
}

// The road, behind the `own` variables of the law
static void make_road(kd_load_builder *b, int force)
{
    if (b->status != KD_OK) return;
    // a road that reads more than x would need derivatives that are not there
    const int own = b->load->nvariables;
    kd_load_add_law(b, 0, force, "road", 0, b->load->variable);
    if (b->status != KD_OK || b->load->nvariables == own) return;
    kd_text(b->message, b->size, "force '%s': the road can depend on x, t and inputs only", b->load->name);
    b->status = KD_ERR_MODEL;
}

static void make_vertical(kd_load_builder *b, int force)
{
    int pair = kd_force_pair(b->s, force);
    int x = kd_plain_measure(b->s, pair, KD_MEASURE_SHIFT, 0), z = kd_plain_measure(b->s, pair, KD_MEASURE_SHIFT, 2);
    kd_load_add_channel(b, z);
    kd_load_add_measured(b, x, 0);
    kd_load_add_measured(b, z, 0);
    kd_load_add_measured(b, x, 1);
    kd_load_add_measured(b, z, 1);
}

static void make_slip(kd_load_builder *b, int force)
{
    int pair = kd_force_pair(b->s, force), shift[3], turn[3];
    for (int i = 0; i < 3; i++) shift[i] = kd_plain_measure(b->s, pair, KD_MEASURE_SHIFT, i);
    for (int i = 0; i < 3; i++) turn[i] = kd_plain_measure(b->s, pair, KD_MEASURE_TURN, i);
    // channels: z, x, y, then turns; variables in the order of the enumeration
    const int channel[] = {shift[2], shift[0], shift[1], turn[0], turn[1], turn[2]};
    for (int i = 0; i < 6; i++) kd_load_add_channel(b, channel[i]);
    kd_load_add_measured(b, shift[0], 0);
    kd_load_add_measured(b, shift[2], 0);
    for (int i = 0; i < 3; i++) kd_load_add_measured(b, shift[i], 1);
    for (int i = 0; i < 3 && b->status == KD_OK; i++) {
        kd_measure axle = {KD_MEASURE_COSINE, .pair = pair, .dof = -1, .i = i, .j = 2, .turns = -1};
        kd_load_add_measured(b, kd_system_measure(b->s, &axle), 0);
    }
    for (int i = 0; i < 3; i++) kd_load_add_measured(b, turn[i], 1);
    const int n = states(&b->s->model->force[force].def);
    if (n > 0) kd_load_add_states(b, n);
}

static void make(kd_load_builder *b, int force)
{
    if (b->load->class == &with_slip)
        make_slip(b, force);
    else
        make_vertical(b, force);
    make_road(b, force);
}

static void check_load(kd_model *m, int i)
{
    const kd_tyre_def *d = &m->force[i].def.tyre;
    if (d->friction > 0.0 && isnan(d->load))
        kd_model_error(m, KD_SECTION_FORCE, i, "friction", "a tyre with 'friction' needs its nominal 'load'");
}

// The road is on the ground, where `from` says nothing else.
static void finish(kd_model *m, int i)
{
    kd_force *f = &m->force[i];
    // the wheel must be on a body that is not the road itself
    bool to = kd_place_resolve(m, KD_SECTION_FORCE, i, "to", &f->def.to, &f->to);
    if (to && f->to.body < 0)
        kd_model_error(m, KD_SECTION_FORCE, i, "to", "it acts on the ground, which does not move");
    // without a place of its own the road is that of the world, for subsystems as well
    f->from = (kd_anchor){.body = -1, .R = kd_mat_identity()};
    if (!kd_place_is_default(&f->def.from) &&
        kd_place_resolve(m, KD_SECTION_FORCE, i, "from", &f->def.from, &f->from) && to && f->to.body >= 0)
        kd_ends_differ(m, KD_SECTION_FORCE, i, &f->from, &f->to);
    check_load(m, i);
}

static const char *const locals[] = {"x", NULL};

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    {"from", KD_FIELD_PLACE, O(from), 1, ALL, 0, 0, ANY, "", .image = KD_IMAGE_KEEPS_XZ,
     .doc = "place that carries the road, its height along z; not given: the ground"},
    {"to", KD_FIELD_PLACE, O(to), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "", .image = KD_IMAGE_KEEPS_XY,
     .doc = "centre of the wheel; with friction z is its axle, which points to the left"},
    {"stiffness", KD_FIELD_NUMBER, O(tyre.stiffness), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "N/m",
     .doc = "stiffness"},
    {"damping", KD_FIELD_NUMBER, O(tyre.damping), 1, ALL, 0, 0, NOT_NEGATIVE, "N s/m",
     .doc = "damping while there is contact"},
    {"slip", KD_FIELD_NUMBER, O(tyre.slip), 1, ALL, 0, 0.1, POSITIVE, "m/s",
     .doc = "velocity below which slips are regularised"},
    {"radius", KD_FIELD_NUMBER, O(tyre.radius), 1, ALL, KD_FIELD_REQUIRED, 0, NOT_NEGATIVE, "m",
     .doc = "radius of the relaxed tyre"},
    {"road", KD_FIELD_LAW, O(tyre.road), 1, ALL, 0, 0, ANY, "m",
     .doc = "height of the road, an expression of x, t and inputs; not given: 0", .locals = locals, .reads = KD_READS_TIME},
    {"lifts_off", KD_FIELD_BOOLEAN, O(tyre.lifts_off), 1, ALL, 0, 1, ANY, "",
     .doc = "the tyre cannot pull; false: the spring acts both ways"},
    {"load", KD_FIELD_NUMBER, O(tyre.load), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "N",
     .doc = "nominal load, needed with `friction`"},
    {"longitudinal", KD_FIELD_NUMBER, O(tyre.longitudinal), 2, ALL, 0, 0, NOT_NEGATIVE, "N",
     .doc = "longitudinal force per slip, at the nominal load and at twice that"},
    {"lateral", KD_FIELD_NUMBER, O(tyre.lateral), 2, ALL, 0, 0, NOT_NEGATIVE, "N",
     .doc = "lateral force per tangent of the slip angle, at the nominal load and at twice that"},
    {"camber", KD_FIELD_NUMBER, O(tyre.camber), 1, ALL, 0, 0, ANY, "",
     .doc = "camber thrust: lateral slip per sine of the camber"},
    {"relaxation", KD_FIELD_NUMBER, O(tyre.relaxation), 1, ALL, 0, 0, NOT_NEGATIVE, "m",
     .doc = "relaxation length of the slips, which become inner states; 0: none"},
    {"rolling_resistance", KD_FIELD_NUMBER, O(tyre.rolling_resistance), 1, ALL, 0, 0, NOT_NEGATIVE, "",
     .doc = "coefficient of the moment against rolling"},
    {"friction", KD_FIELD_NUMBER, O(tyre.friction), 1, ALL, 0, 0, NOT_NEGATIVE, "",
     .doc = "coefficient of friction; 0: vertical force only"},
    KD_FORCE_STIFF("it does"),
};
static const kd_readable readings[] = {
    {"length", "m", KD_PROPERTY_Q, 0, NULL},
    {"rate", "m/s", KD_PROPERTY_V, 0, NULL},
    {"force", "N", KD_PROPERTY_FORCE, 0, NULL},
    {"longitudinal", "N", KD_PROPERTY_FORCE, 1, NULL}, // with friction; else 0
    {"lateral", "N", KD_PROPERTY_FORCE, 2, NULL},
};
// clang-format on

const kd_force_class kd_force_tyre = {
    .element =
        {
            .kind = {"tyre", "vertical spring-damper between a wheel centre and a road profile; with `friction` forces "
                             "of slip, too"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .unit = "1",
            .finish = finish,
            .look = {.wheel = KD_LOOK_BALL,
                     .floor = KD_LOOK_WORLD_FLOOR,
                     .radius = offsetof(kd_force_def, tyre.radius)},
        },
    .law = &vertical,
    .choose = choose,
    .nchannels = 6,
    .stiff = true,
    .states = states,
    .measure = kd_force_height,
    .make = make,
};
