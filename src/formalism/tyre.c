// tyre.c: the two laws of a tyre: a vertical spring-damper on a road profile, and one with forces of slip.
#include <math.h>

#include "formalism/loads.h"
#include "math/dual.h"

// The road along x, with the tangent along x: x height, x1 its rate, d slope, d1 change of the rate.
static kd_jet road_at(const kd_load *load, const double *x, kd_work *w, int position, int rate)
{
    if (!load->law[0]) return kd_jet_const(0.0);
    int    slot = load->variable[position];
    kd_jet kept = w->jet[slot];
    w->jet[slot] = (kd_jet){x[slot], x[load->variable[rate]], 0.0, 1.0, 0.0, 0.0};
    kd_jet road = kd_expr_jet(load->law[0], w->jet, w->expr_work);
    w->jet[slot] = kept;
    return road;
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

const kd_load_class kd_load_tyre = {tyre_eval, tyre_jacobian, tyre_energy};

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
// Channels: shifts z, x, y, turns x, y, z. Derivatives: the law in dual numbers, once per variable.
enum { X, Z, VX, VY, VZ, NX, NY, NZ, WX, WY, WZ, RX, RY }; // variables

typedef struct slip_state {
    kd_dual delta, rate;   // depth and its rate
    kd_dual Fz, Fx, Fy;    // load, forces along e_x, e_y
    kd_dual force[6];      // of the channels
    kd_dual state_rate[2]; // of the slips
    kd_dual vx, vy, roll;  // slip velocities, moment of rolling resistance
    double  road_rate, spin;
    double  cosine; // of the camber
} slip_state;

// tanh(y)/y of u = y^2; near 0 by its series, as is its derivative
static kd_dual tanh_ratio(kd_dual u)
{
    if (u.x < 1e-4) {
        double f = 1.0 + u.x * (-1.0 / 3.0 + u.x * (2.0 / 15.0 - u.x * 17.0 / 315.0));
        double slope = -1.0 / 3.0 + u.x * (4.0 / 15.0 + u.x * (-17.0 / 105.0 + u.x * 248.0 / 2835.0));
        return (kd_dual){f, slope * u.d};
    }
    double y = sqrt(u.x), t = tanh(y);
    return (kd_dual){t / y, (1.0 - t * t - t / y) / (2.0 * u.x) * u.d};
}

static kd_dual slope_at_load(const double C[2], double nominal, kd_dual Fz)
{
    kd_dual q = kd_dual_scale(1.0 / nominal, Fz);
    double  linear = 2.0 * C[0] - 0.5 * C[1], square = C[0] - 0.5 * C[1];
    if (square > 0.0 && q.x > 0.5 * linear / square) q = kd_dual_const(0.5 * linear / square);
    return kd_dual_mul(q, kd_dual_sub(kd_dual_const(linear), kd_dual_scale(square, q)));
}

// sqrt(a^2 + e^2)
static kd_dual smooth_norm(kd_dual a, double e)
{
    return kd_dual_sqrt(kd_dual_add(kd_dual_mul(a, a), kd_dual_const(e * e)));
}

// Forces of slip along e_x and e_y, from the slip velocities and the velocity of the carrier.
static void add_slip_forces(const kd_load *load, kd_dual V, const kd_dual state[2], kd_dual sine, slip_state *t)
{
    const kd_force_def *d = load->def;
    const kd_dual       velocity[2] = {t->vx, t->vy};
    const double *const slopes[2] = {d->longitudinal, d->lateral};
    kd_dual             S[2], square = kd_dual_const(0.0), limit = kd_dual_scale(d->friction, t->Fz);
    for (int i = 0; i < 2; i++) {
        kd_dual s = kd_dual_neg(kd_dual_div(velocity[i], V));
        if (load->nstates > 0) {
            t->state_rate[i] = kd_dual_scale(-1.0 / d->relaxation, kd_dual_add(velocity[i], kd_dual_mul(V, state[i])));
            s = state[i];
        }
        if (i == 1) s = kd_dual_sub(s, kd_dual_scale(d->camber, sine));
        if (t->Fz.x <= 0.0) continue;
        S[i] = kd_dual_mul(slope_at_load(slopes[i], d->load, t->Fz), s);
        kd_dual y = kd_dual_div(S[i], limit);
        square = kd_dual_add(square, kd_dual_mul(y, y));
    }
    if (t->Fz.x <= 0.0) return;
    kd_dual ratio = tanh_ratio(square);
    t->Fx = kd_dual_mul(ratio, S[0]);
    t->Fy = kd_dual_mul(ratio, S[1]);
}

// The law with the tangent along variable j; -1: values only. false: the axle stands upright.
static bool slip_at(const kd_load *load, const double *x, kd_work *w, int j, slip_state *t)
{
    const kd_force_def *d = load->def;
    kd_dual             a[RY + 1];
    for (int i = 0; i < load->nvariables; i++) a[i] = (kd_dual){x[load->variable[i]], i == j ? 1.0 : 0.0};
    kd_jet   road = road_at(load, x, w, X, VX);
    kd_dual  road_rate = {road.x1, road.d1 * a[X].d + road.d * a[VX].d};
    kd_dual  h = kd_dual_sub(a[Z], (kd_dual){road.x, road.d * a[X].d});
    kd_dual3 n = {a[NX], a[NY], a[NZ]}, omega = {a[WX], a[WY], a[WZ]}, v = {a[VX], a[VY], a[VZ]};
    kd_dual  cosine = kd_dual_sqrt(kd_dual_add(kd_dual_mul(n.x, n.x), kd_dual_mul(n.y, n.y)));
    *t = (slip_state){.road_rate = road.x1, .cosine = cosine.x};
    if (!(cosine.x > 1e-3)) return false;
    // delta' = -h'/cos - h (1/cos)',  (1/cos)' = n_z n_z' / cos^3,  n' = omega x n
    kd_dual one = kd_dual_const(1.0), inverse = kd_dual_div(one, cosine), rho = kd_dual_mul(h, inverse);
    kd_dual nz_rate = kd_dual_sub(kd_dual_mul(omega.x, n.y), kd_dual_mul(omega.y, n.x));
    kd_dual turning = kd_dual_mul(kd_dual_mul(n.z, nz_rate), kd_dual_mul(inverse, inverse));
    kd_dual rho_rate = kd_dual_add(kd_dual_mul(kd_dual_sub(v.z, road_rate), inverse), kd_dual_mul(rho, turning));
    t->delta = kd_dual_sub(kd_dual_const(d->radius), rho);
    t->rate = kd_dual_neg(rho_rate);
    kd_dual elastic = kd_dual_add(kd_dual_scale(d->stiffness, t->delta), kd_dual_const(d->preload));
    t->Fz = kd_dual_mul(kd_dual_add(elastic, kd_dual_scale(d->damping, t->rate)), inverse);
    if (d->lifts_off && (t->delta.x <= 0.0 || t->Fz.x <= 0.0)) t->Fz = kd_dual_const(0.0);

    kd_dual3 up = {kd_dual_const(0.0), kd_dual_const(0.0), one};
    kd_dual3 e_x = {kd_dual_mul(n.y, inverse), kd_dual_neg(kd_dual_mul(n.x, inverse)), kd_dual_const(0.0)};
    kd_dual3 e_y = {kd_dual_mul(n.x, inverse), kd_dual_mul(n.y, inverse), kd_dual_const(0.0)};
    kd_dual3 c =
        kd_dual3_scale(kd_dual_neg(kd_dual_mul(rho, inverse)), kd_dual3_add(up, kd_dual3_scale(kd_dual_neg(n.z), n)));
    kd_dual3 contact = kd_dual3_add(v, kd_dual3_cross(omega, c));
    kd_dual  spin = kd_dual3_dot(omega, n), rolled = kd_dual_mul(rho, spin);
    t->spin = spin.x;
    t->vx = kd_dual3_dot(e_x, contact);
    t->vy = kd_dual3_dot(e_y, contact);
    add_slip_forces(load, smooth_norm(kd_dual_add(t->vx, rolled), d->slip), a + RX, n.z, t);
    if (t->Fz.x > 0.0)
        t->roll = kd_dual_mul(kd_dual_scale(-d->rolling_resistance, kd_dual_mul(t->Fz, rho)),
                              kd_dual_div(rolled, smooth_norm(rolled, d->slip)));
    kd_dual3 F = kd_dual3_add(kd_dual3_scale(t->Fx, e_x), kd_dual3_scale(t->Fy, e_y));
    F.z = t->Fz;
    kd_dual3      N = kd_dual3_add(kd_dual3_cross(c, F), kd_dual3_scale(t->roll, n));
    const kd_dual force[6] = {F.z, F.x, F.y, N.x, N.y, N.z};
    for (int i = 0; i < 6; i++) t->force[i] = force[i];
    return true;
}

static kd_eval slip_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    slip_state t;
    if (!slip_at(load, x, w, -1, &t)) return KD_EVAL_RETRY;
    for (int i = 0; i < 6; i++) force[i] = t.force[i].x;
    for (int i = 0; i < load->nstates; i++) rate[i] = t.state_rate[i].x;
    return KD_EVAL_OK;
}

static kd_eval slip_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    for (int j = 0; j < load->nvariables; j++) {
        slip_state t;
        if (!slip_at(load, x, w, j, &t)) return KD_EVAL_RETRY;
        for (int i = 0; i < 6; i++) put(load, i, j, t.force[i].d, J);
        for (int i = 0; i < load->nstates; i++) put(load, 6 + i, j, t.state_rate[i].d, J);
    }
    return KD_EVAL_OK;
}

// Slip dissipates; with relaxation or camber thrust its power can have either sign and counts as supplied.
static void slip_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    const kd_force_def *d = load->def;
    slip_state          t;
    if (!slip_at(load, x, w, -1, &t)) return;
    double slip = t.Fx.x * t.vx.x + t.Fy.x * t.vy.x;
    sum->dissipated -= t.roll.x * t.spin;
    if (d->relaxation > 0.0 || d->camber != 0.0)
        sum->supplied += slip;
    else
        sum->dissipated -= slip;
    sum->supplied += t.Fz.x * t.road_rate; // by the motion along the road
    if (d->lifts_off && t.delta.x <= 0.0) return;
    double elastic = d->stiffness * t.delta.x + d->preload;
    sum->potential += 0.5 * d->stiffness * t.delta.x * t.delta.x + d->preload * t.delta.x;
    sum->dissipated += (t.Fz.x * t.cosine - elastic) * t.rate.x;
}

const kd_load_class kd_load_tyre_slip = {slip_eval, slip_jacobian, slip_energy};

// along e_x = (n_y, -n_x)/cos gamma or e_y = (n_x, n_y)/cos gamma
double kd_tyre_slip_force(const kd_load *load, const double *x, const double *force, int component)
{
    double nx = x[load->variable[NX]], ny = x[load->variable[NY]], cosine = hypot(nx, ny);
    return (component == 1 ? ny * force[1] - nx * force[2] : nx * force[1] + ny * force[2]) / cosine;
}
