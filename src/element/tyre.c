// tyre.c: the two laws of a tyre: a vertical spring-damper on a road profile, and one with forces of slip.
#include <math.h>

#include "element/loads.h"
#include "element/tyre.h"
#include "tree/work.h"

bool kd_tyre_slopes(const kd_motion *m, const kd_force_def *d, const double a[KD_TYRE_INPUTS], double road_rate,
                    double *out)
{
    return KD_CALL(kd_tyre_slopes, d, a, road_rate, out);
}

// The road along x, with the tangent along x: x height, x1 its rate, d slope, d1 change of the rate. Kept for the other
// of force and derivatives at the same point.
static kd_jet road_at(const kd_load *load, const double *x, kd_work *w, int position, int rate)
{
    if (!load->law[0]) return kd_jet_const(0.0);
    kd_road *road = &w->road[load - w->system->load];
    int      slot = load->variable[position];
    double   at = x[slot], along = x[load->variable[rate]];
    if (road->stamp == w->velocity_stamp && road->x == at && road->rate == along) return road->jet;
    kd_jet kept = w->jet[slot];
    w->jet[slot] = (kd_jet){at, along, 0.0, 1.0, 0.0, 0.0};
    *road = (kd_road){w->velocity_stamp, at, along, kd_expr_jet(load->law[0], w->jet, w->expr_work)};
    w->jet[slot] = kept;
    return road->jet;
}

static void put(const kd_load *load, int row, int variable, double value, double *J)
{
    J[row + variable * (load->nchannels + load->nstates)] += value;
}

// ---- vertical: F = k depth + c depth' + preload, depth = road(x) + R - z; variables x, z, x', z'
// ------------------------
typedef struct tyre_state {
    double depth, rate, road_x, road_rate_x, force;
    bool   touches;
} tyre_state;

static tyre_state tyre_at(const kd_load *load, const double *x, kd_work *w)
{
    const kd_force_def *d = load->def;
    tyre_state          t = {.touches = true};
    kd_jet              road = road_at(load, x, w, 0, 2);
    t.depth = road.x + d->radius - x[load->variable[1]];
    t.rate = road.x1 - x[load->variable[3]];
    t.road_x = road.d;
    t.road_rate_x = road.d1;
    t.force = d->stiffness * t.depth + d->damping * t.rate + d->preload;
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
    put(load, 0, 0, load->def->stiffness * t.road_x + load->def->damping * t.road_rate_x, J);
    put(load, 0, 1, -load->def->stiffness, J);
    put(load, 0, 2, load->def->damping * t.road_x, J);
    put(load, 0, 3, -load->def->damping, J);
    return KD_EVAL_OK;
}

static void tyre_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    tyre_state t = tyre_at(load, x, w);
    if (load->def->lifts_off && t.depth <= 0.0) return;
    double elastic = load->def->stiffness * t.depth + load->def->preload;
    sum->potential += 0.5 * load->def->stiffness * t.depth * t.depth + load->def->preload * t.depth;
    sum->dissipated += (t.force - elastic) * t.rate;
    sum->supplied += t.force * (t.rate + x[load->variable[3]]); // by the motion along the road
}

// What the tyre does not pull with: the part of k depth + c depth' + preload that is cut off, 0 while it touches
static kd_interval vertical_bounds(const kd_load *load, kd_interval z, kd_interval rate, const kd_interval *x,
                                   kd_work *w)
{
    const kd_force_def *d = load->def;
    if (!d->lifts_off) return (kd_interval){0.0, 0.0};
    const kd_interval road = load->law[0] ? kd_expr_bounds(load->law[0], x, w->breaks.work) : (kd_interval){0.0, 0.0};
    const double      least = d->stiffness * (road.lower + d->radius - z.upper) - d->damping * rate.upper + d->preload;
    const double      most = d->stiffness * (road.upper + d->radius - z.lower) - d->damping * rate.lower + d->preload;
    return (kd_interval){fmax(-most, 0.0), fmax(-least, 0.0)};
}

static kd_interval tyre_bounds(const kd_load *load, const kd_interval *x, kd_work *w)
{
    return vertical_bounds(load, x[load->variable[1]], x[load->variable[3]], x, w);
}

const kd_load_class kd_load_tyre = {
    .eval = tyre_eval, .jacobian = tyre_jacobian, .energy = tyre_energy, .bounds = tyre_bounds};

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
static void inputs_of(const kd_load *load, const double *x, kd_jet road, double a[KD_TYRE_INPUTS])
{
    const int *v = load->variable;
    a[KD_TYRE_H] = x[v[Z]] - road.x;
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
    *road = road_at(load, x, w, X, VX);
    inputs_of(load, x, *road, a);
    for (int i = 0; i < KD_TYRE_INPUTS; i++) in[i] = tyre_const(a[i]);
    return tyre_law(load->def, in, road->x1, t);
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
    inputs_of(load, x, road, a);
    if (!kd_tyre_slopes(&w->motion, load->def, a, road.x1, by)) return KD_EVAL_RETRY;
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
    const kd_force_def *d = load->def;
    tyre_forces         t;
    kd_jet              road;
    if (!slip_at(load, x, w, &t, &road)) return;
    double slip = t.Fx.x * t.vx.x + t.Fy.x * t.vy.x;
    sum->dissipated -= t.roll.x * t.spin.x;
    if (d->relaxation > 0.0 || d->camber != 0.0)
        sum->supplied += slip;
    else
        sum->dissipated -= slip;
    sum->supplied += t.Fz.x * road.x1; // by the motion along the road
    if (d->lifts_off && t.delta.x <= 0.0) return;
    double elastic = d->stiffness * t.delta.x + d->preload;
    sum->potential += 0.5 * d->stiffness * t.delta.x * t.delta.x + d->preload * t.delta.x;
    sum->dissipated += (t.Fz.x * t.cosine.x - elastic) * t.rate.x;
}

static kd_interval tyre_slip_bounds(const kd_load *load, const kd_interval *x, kd_work *w)
{
    return vertical_bounds(load, x[load->variable[Z]], x[load->variable[VZ]], x, w);
}

const kd_load_class kd_load_tyre_slip = {
    .eval = slip_eval, .jacobian = slip_jacobian, .energy = slip_energy, .bounds = tyre_slip_bounds};

// along e_x = (n_y, -n_x)/cos gamma or e_y = (n_x, n_y)/cos gamma
double kd_tyre_slip_force(const kd_load *load, const double *x, const double *force, int component)
{
    double nx = x[load->variable[NX]], ny = x[load->variable[NY]], cosine = hypot(nx, ny);
    return (component == 1 ? ny * force[1] - nx * force[2] : nx * force[1] + ny * force[2]) / cosine;
}
