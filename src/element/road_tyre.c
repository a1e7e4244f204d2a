// road_tyre.c: a tyre on a road, up to the law of its slips.
//
// The road is a plane under the wheel, with the height z0, the slopes a, b along x and y of `from` and the normal
// N = (-a, -b, 1) c, c = 1/sqrt(1 + a^2 + b^2): its tangent plane below the centre, or the one through four points of the
// area of contact (front and rear, left and right), which takes edges off, or the one through four cams that slide over the road
// (envelope.h), which feel edges before the centre is there. The wheel is a thin disc about its axle n:
//
//     sin gamma = n . N,   e_x = n x N/cos gamma,   e_y = N x e_x,   rho = (z - z0) c/cos gamma,   delta = R - rho
//     F_z = (F(delta) + d delta')/cos gamma >= 0,    C = -rho (N - sin gamma n)/cos gamma     (centre to contact)
//     V_x = e_x . (v + (omega - Omega n) x C),   V_sx = V_x - R_e Omega,   V_sy = e_y . (v + omega x C)
//
// Slips build up over relaxation lengths: deflections u, w of the contact are inner states (Pacejka, Tire and Vehicle
// Dynamics, 3rd ed., ch. 7.2),
//
//     u' = -V_sx - W_x u/sigma_x,   w' = V_sy - W_y w/sigma_y,   kappa = (u - T V_sx)/sigma_x,   tan alpha = (w + T V_sy)/sigma_y
//     W = |V_x| + |V_s| q(slip),    q = max(0, |slip|/most - 1)^2,   most = 1.5 along, 3 across
//
// so that at standstill a tyre is a spring, and a wheel that spins on the spot does not wind it up. |V| is bent to a
// parabola below `slip`, T falls from `settling` at rest to 0 at VXLOW, and what turns round with the direction of rolling
// (trail, residual moment, rolling resistance) passes 0 as a sine: forces and rates have continuous derivatives at all
// speeds. docs/methods/road-tyre.md
#define KD_DUAL_PARTS 16
#include "math/dual.h"

#include <string.h>

#include "core/pi.h"
#include "core/text.h"
#include "element/envelope.h"
#include "element/road_tyre.h"
#include "model/fields.h"
#include "model/tyre_file.h"
#include "tree/work.h"

// What the law depends on: height above the plane, slopes, rise of the road in time, friction of the road; motion of the
// wheel; deflections
enum { H, A, B, RISE, GRIP, V, N = 8, OMEGA = 11, U = 14, INPUTS = 16 };
_Static_assert(INPUTS == KD_DUAL_PARTS, "one part for each input");

// Variables of the load
enum { PX, PY, PZ, PV, PN = 6, PW = 9, PU = 12, VARIABLES = 14 };

static const double most_slip[2] = {1.5, 3.0};

// ---- the plane of the road ------------------------------------------------------------------------------------------
// Along x and y, and the heading psi of the wheel, which turns the points of the area
typedef struct sample {
    double z, x, y, t, xt, yt; // value and derivatives
} sample;

typedef struct plane {
    double value[GRIP + 1]; // z0, a, b, rise, friction
    double by[GRIP + 1][3]; // derivatives by x, y, psi
} plane;

// An expression at a point, with the change along one direction: value, rate in time, slope, slope of the rate
static kd_jet jet_at(const kd_load *load, int law, double x, double y, double along_x, double along_y, double rate_x,
                     double rate_y, kd_work *w)
{
    const int    sx = load->variable[PX], sy = load->variable[PY];
    const kd_jet kept_x = w->jet[sx], kept_y = w->jet[sy];
    w->jet[sx] = (kd_jet){.x = x, .x1 = rate_x, .d = along_x};
    w->jet[sy] = (kd_jet){.x = y, .x1 = rate_y, .d = along_y};
    const kd_jet r = kd_expr_jet(load->law[law], w->jet, w->expr_work);
    w->jet[sx] = kept_x;
    w->jet[sy] = kept_y;
    return r;
}

static sample sample_at(const kd_load *load, int law, double x, double y, kd_work *w)
{
    if (!load->law[law]) return (sample){.z = law == 0 ? 0.0 : 1.0};
    const kd_jet a = jet_at(load, law, x, y, 1.0, 0.0, 0.0, 0.0, w), b = jet_at(load, law, x, y, 0.0, 1.0, 0.0, 0.0, w);
    return (sample){a.x, a.d, b.d, a.x1, a.d1, b.d1};
}

// The road: its expression and what its file has
static sample road_at(const kd_road_def *road, const kd_load *load, double x, double y, kd_work *w)
{
    sample s = sample_at(load, 0, x, y, w);
    double z[3];
    if (!road->read) return s;
    kd_crg_at(road->read->crg, x, y, z, NULL);
    s.z += z[0], s.x += z[1], s.y += z[2];
    return s;
}

// The tangent plane below the centre; its slopes turn with the curvature of the road
static void tangent_plane(const kd_load *load, double x, double y, kd_work *w, plane *p)
{
    const sample s = sample_at(load, 0, x, y, w);
    p->value[H] = s.z, p->value[A] = s.x, p->value[B] = s.y, p->value[RISE] = s.t;
    if (!load->law[0]) return;
    const double xx = jet_at(load, 0, x, y, 1.0, 0.0, 1.0, 0.0, w).d1 - s.xt;
    const double xy = jet_at(load, 0, x, y, 0.0, 1.0, 1.0, 0.0, w).d1 - s.yt;
    const double yy = jet_at(load, 0, x, y, 0.0, 1.0, 0.0, 1.0, w).d1 - s.yt;
    const double by[4][3] = {{s.x, s.y, 0.0}, {xx, xy, 0.0}, {xy, yy, 0.0}, {s.xt, s.yt, 0.0}};
    memcpy(p->by, by, sizeof by);
}

// Mean height of four points, slopes by their differences; the heading is (c, s)
static void fitted_plane(const kd_road_def *road, const kd_load *load, double x, double y, double c, double s,
                         kd_work *w, plane *p)
{
    const double *patch = road->patch;
    if (!load->law[0] && !road->read) return;
    for (int k = 0; k < 2; k++) {
        // along the heading, then across: direction e, which turns by e'
        const double ex = k == 0 ? c : -s, ey = k == 0 ? s : c, dx = -ey, dy = ex;
        for (int end = -1; end <= 1; end += 2) {
            const double l = end * patch[k], share = 0.5 / l;
            const sample z = road_at(road, load, x + l * ex, y + l * ey, w);
            const double turn = l * (z.x * dx + z.y * dy), by[3] = {z.x, z.y, turn};
            p->value[H] += 0.25 * z.z;
            p->value[RISE] += 0.25 * z.t;
            p->value[A] += share * z.z * ex;
            p->value[B] += share * z.z * ey;
            for (int i = 0; i < 3; i++) {
                p->by[H][i] += 0.25 * by[i];
                p->by[A][i] += share * by[i] * ex;
                p->by[B][i] += share * by[i] * ey;
            }
            p->by[A][2] += share * z.z * dx;
            p->by[B][2] += share * z.z * dy;
            p->by[RISE][0] += 0.25 * z.xt;
            p->by[RISE][1] += 0.25 * z.yt;
            p->by[RISE][2] += 0.25 * l * (z.xt * dx + z.yt * dy);
        }
    }
}

// The road along the heading from the middle of a cam
typedef struct line {
    const kd_road_def *road;
    const kd_load     *load;
    kd_work           *w;
    double             x, y, c, s;
} line;

static double height_along(double s, void *context)
{
    const line  *l = context;
    const double x = l->x + s * l->c, y = l->y + s * l->s;
    double       z[3] = {0.0, 0.0, 0.0};
    if (l->road->read) kd_crg_at(l->road->read->crg, x, y, z, NULL);
    return z[0] + (l->load->law[0] ? jet_at(l->load, 0, x, y, 0.0, 0.0, 0.0, 0.0, l->w).x : 0.0);
}

// The plane through four cams that rest on the road, before and behind the centre, left and right; the heading is (c, s)
static void enveloped_plane(const kd_road_tyre *t, const kd_load *load, double x, double y, double c, double s,
                            kd_work *w, plane *p)
{
    const kd_road_def *road = t->road;
    const kd_cam       cam = {road->cam[0] * t->radius, road->cam[1] * t->radius, road->cam[2]};
    double             beta = 0.0, beta_by[3] = {0.0, 0.0, 0.0}, slope;
    if (!load->law[0] && !road->read) return;
    for (int k = 0; k < 4; k++) {
        // in the axes of the heading: middle, then place of contact
        const double      l = (k < 2 ? 1 : -1) * road->patch[0], across = (k % 2 == 0 ? 1 : -1) * road->patch[1];
        line              way = {road, load, w, x + l * c - across * s, y + l * s + across * c, c, s};
        const kd_cam_rest rest = kd_cam_on_road(&cam, height_along, &way);
        const sample      z = road_at(road, load, way.x + rest.s * c, way.y + rest.s * s, w);
        // slopes of W along and across, in x and y, by the heading
        const double by_l = rest.inside ? kd_cam_slope(&cam, rest.s) : z.x * c + z.y * s, by_w = z.y * c - z.x * s;
        const double by[3] = {by_l * c - by_w * s, by_l * s + by_w * c, (l + rest.s) * by_w - across * by_l};
        const double along = 0.25 / l, beside = 0.25 / across;
        const double ex = along * c - beside * s, ey = along * s + beside * c; // share in the slopes a, b
        beta += rest.W * along;
        for (int i = 0; i < 3; i++) beta_by[i] += by[i] * along;
        p->value[H] += 0.25 * rest.W;
        p->value[RISE] += 0.25 * z.t;
        p->value[A] += rest.W * ex;
        p->value[B] += rest.W * ey;
        for (int i = 0; i < 3; i++) {
            p->by[H][i] += 0.25 * by[i];
            p->by[A][i] += by[i] * ex;
            p->by[B][i] += by[i] * ey;
        }
        p->by[A][2] -= rest.W * ey;
        p->by[B][2] += rest.W * ex;
        p->by[RISE][0] += 0.25 * z.xt;
        p->by[RISE][1] += 0.25 * z.yt;
        p->by[RISE][2] += 0.25 * ((l + rest.s) * (z.yt * c - z.xt * s) - across * (z.xt * c + z.yt * s));
    }
    // the plane that lifts cams as high as they stand
    p->value[H] -= kd_cam_lift(&cam, beta, &slope);
    for (int i = 0; i < 3; i++) p->by[H][i] -= slope * beta_by[i];
}

static plane plane_under(const kd_road_tyre *t, const kd_load *load, const double *x, kd_work *w)
{
    const int    *v = load->variable;
    const double  px = x[v[PX]], py = x[v[PY]], nx = x[v[PN]], ny = x[v[PN + 1]], flat = hypot(nx, ny);
    const double *patch = t->road->patch;
    plane         p = {.value = {0.0}};
    const sample  mu = sample_at(load, 1, px, py, w);
    const bool    area = patch[0] > 0.0 && patch[1] > 0.0 && flat > 0.0;
    if (area && t->road->cam[0] > 0.0)
        enveloped_plane(t, load, px, py, ny / flat, -nx / flat, w, &p);
    else if (area)
        fitted_plane(t->road, load, px, py, ny / flat, -nx / flat, w, &p);
    else
        tangent_plane(load, px, py, w, &p);
    p.value[GRIP] = mu.z, p.by[GRIP][0] = mu.x, p.by[GRIP][1] = mu.y;
    return p;
}

// ---- smooth functions of the velocity -------------------------------------------------------------------------------

// |v|, below e the parabola of fourth degree that meets it with its slope and is 0 with its slope at 0
static dual smooth_abs(dual v, double e)
{
    const double x = v.x / e;
    if (fabs(x) >= 1.0) return d_abs(v);
    return d_chain(v, 0.5 * e * x * x * (3.0 - x * x), x * (3.0 - 2.0 * x * x));
}

// The direction, -1 to 1
static dual smooth_sign(dual v, double e)
{
    const double x = 0.5 * KD_PI * v.x / e;
    if (fabs(v.x) >= e) return d_const(v.x < 0.0 ? -1.0 : 1.0);
    return d_chain(v, sin(x), 0.5 * KD_PI / e * cos(x));
}

// 1 at rest, 0 from e on
static dual at_rest(dual v, double e)
{
    const double x = KD_PI * v.x / e;
    if (fabs(v.x) >= e) return d_const(0.0);
    return d_chain(v, 0.5 * (1.0 + cos(x)), -0.5 * KD_PI / e * sin(x));
}

// ---- vectors --------------------------------------------------------------------------------------------------------
typedef struct dual3 {
    dual x, y, z;
} dual3;

static dual dot(dual3 a, dual3 b)
{
    return d_add(d_add(d_mul(a.x, b.x), d_mul(a.y, b.y)), d_mul(a.z, b.z));
}
static dual3 cross(dual3 a, dual3 b)
{
    return (dual3){d_sub(d_mul(a.y, b.z), d_mul(a.z, b.y)), d_sub(d_mul(a.z, b.x), d_mul(a.x, b.z)),
                   d_sub(d_mul(a.x, b.y), d_mul(a.y, b.x))};
}
static dual3 times(dual s, dual3 a)
{
    return (dual3){d_mul(s, a.x), d_mul(s, a.y), d_mul(s, a.z)};
}
static dual3 sum(dual3 a, dual3 b)
{
    return (dual3){d_add(a.x, b.x), d_add(a.y, b.y), d_add(a.z, b.z)};
}

// ---- the law --------------------------------------------------------------------------------------------------------
typedef struct answer {
    dual   force[KD_ROAD_TYRE_CHANNELS], rate[KD_ROAD_TYRE_STATES];
    double told[KD_ROAD_TYRE_TOLD];
} answer;

// Geometry and velocities of the contact
typedef struct contact {
    dual3 N, ex, ey, C; // normal, directions, from the centre to the point
    dual  sine, delta, Fz;
    dual  Vx, Vsx, Vsy, Omega;
    bool  loaded;
} contact;

// f(a, b, ..) with its derivatives by each of them
static dual compose(double value, const double *by, const dual *of, int n)
{
    dual r = d_const(value);
    for (int k = 0; k < n; k++) KD_DUAL_EACH(i) r.d[i] += by[k] * of[k].d[i];
    return r;
}

static bool find_contact(const kd_road_tyre *t, const dual *a, contact *c)
{
    const dual3 v = {a[V], a[V + 1], a[V + 2]}, n = {a[N], a[N + 1], a[N + 2]};
    const dual3 omega = {a[OMEGA], a[OMEGA + 1], a[OMEGA + 2]};
    const dual  one = d_const(1.0);
    // the plane: normal, distance of the centre and its rate
    const dual slant = d_div(one, d_sqrt(d_add(d_shift(1.0, d_square(a[A])), d_square(a[B]))));
    c->N = (dual3){d_neg(d_mul(a[A], slant)), d_neg(d_mul(a[B], slant)), slant};
    const dual distance = d_mul(a[H], slant), approach = d_sub(dot(v, c->N), d_mul(a[RISE], slant));
    // camber
    c->sine = dot(n, c->N);
    const dual square = d_shift(1.0, d_neg(d_square(c->sine)));
    if (!(square.x > 1e-6)) return false;
    const dual cosine = d_sqrt(square), inverse = d_div(one, cosine), lean = d_mul(c->sine, inverse);
    c->ex = times(inverse, cross(n, c->N));
    c->ey = cross(c->N, c->ex);
    // deflection, load
    const dual rho = d_mul(distance, inverse), tilt = d_mul(dot(cross(omega, n), c->N), inverse);
    const dual rate = d_neg(d_add(d_mul(approach, inverse), d_mul(rho, d_mul(lean, tilt))));
    double     elastic[2] = {0.0, 0.0};
    c->delta = d_shift(t->radius, d_neg(rho));
    if (c->delta.x > 0.0) t->load(t->data, c->delta.x, elastic);
    c->Fz = d_mul(d_add(d_chain(c->delta, elastic[0], elastic[1]), d_scale(t->damping, rate)), inverse);
    c->loaded = c->delta.x > 0.0 && c->Fz.x > 0.0;
    if (!c->loaded) c->Fz = d_const(t->reference); // any: its forces are left out
    // the point of contact and its velocities
    c->C = times(d_neg(d_mul(rho, inverse)), sum(c->N, times(d_neg(c->sine), n)));
    const dual3 at = sum(v, cross(omega, c->C));
    const dual  carried = dot(c->ex, at);
    c->Omega = dot(omega, n);
    c->Vx = d_add(carried, d_mul(rho, c->Omega));
    dual Re = d_const(t->radius);
    if (t->give > 0.0) {
        const dual pressed = d_scale(1.0 / t->give, c->delta);
        const dual bent =
            d_add(d_scale(t->rolling[1], d_atan(d_scale(t->rolling[0], pressed))), d_scale(t->rolling[2], pressed));
        Re = d_shift(t->radius, d_scale(-t->give, bent));
    }
    c->Vsx = d_sub(c->Vx, d_mul(Re, c->Omega));
    c->Vsy = dot(c->ey, at);
    return true;
}

// Deflections: their rates, and the slips that they stand for
static void build_up(const kd_road_tyre *t, const contact *c, const dual *u, const dual *sigma, dual slip[2],
                     dual rate[2])
{
    const dual rolling = smooth_abs(c->Vx, t->slip), rest = d_scale(t->settling, at_rest(c->Vx, t->low));
    for (int i = 0; i < 2; i++) {
        const dual toward = i == 0 ? d_neg(c->Vsx) : c->Vsy; // u' without decay
        const dual own = d_div(u[i], sigma[i]);
        dual       decay = rolling;
        // beyond the largest slip it slides
        if (fabs(own.x) > most_slip[i]) {
            const dual over = d_shift(-1.0, d_scale(1.0 / most_slip[i], d_abs(own)));
            decay = d_add(decay, d_mul(smooth_abs(toward, t->slip), d_square(over)));
        }
        rate[i] = d_sub(toward, d_mul(decay, own));
        slip[i] = d_add(own, d_div(d_mul(rest, toward), sigma[i]));
    }
}

// Rolling resistance about e_y: -R F' (Fz/F')^q7 (q1 + q2 Fx/F' + q3 |V/V0| + q4 (V/V0)^4 + (q5 + q6 Fz/F') gamma^2)
static dual resistance(const kd_road_tyre *t, const contact *c, dual Fx, dual gamma)
{
    const double *q = t->resistance, F = t->reference;
    const dual    v = d_scale(1.0 / t->speed, smooth_abs(c->Vx, t->slip)), z = d_scale(1.0 / F, c->Fz);
    const dual    lean = d_mul(d_poly(z, q[4], q[5], 0.0), d_square(gamma));
    const dual    part = d_add(d_shift(q[0], d_scale(q[1] / F, Fx)), d_scale(q[2], v));
    const dual    all = d_add(d_add(part, d_scale(q[3], d_square(d_square(v)))), lean);
    const double  power = pow(z.x, q[6]);
    const dual    load = d_chain(z, power, q[6] * power / z.x);
    return d_scale(-t->radius * F * q[7], d_mul(d_mul(smooth_sign(c->Vx, t->slip), load), all));
}

// What acts on the wheel about its centre, along the channels z, x, y, then about x, y, z
static void put_forces(const contact *c, dual Fx, dual Fy, dual Mx, dual My, dual Mz, answer *r)
{
    const dual3 F = sum(sum(times(Fx, c->ex), times(Fy, c->ey)), times(c->Fz, c->N));
    const dual3 M = sum(cross(c->C, F), sum(sum(times(Mx, c->ex), times(My, c->ey)), times(Mz, c->N)));
    const dual  zero = d_const(0.0), out[KD_ROAD_TYRE_CHANNELS] = {F.z, F.x, F.y, M.x, M.y, M.z};
    for (int i = 0; i < KD_ROAD_TYRE_CHANNELS; i++) r->force[i] = c->loaded ? out[i] : zero;
}

// false: the axle is upright on the road, or the road has no friction
static bool law_at(const kd_road_tyre *t, const dual *a, answer *r)
{
    contact c;
    double  length[2], by[2][2];
    if (!(a[GRIP].x > 0.0) || !find_contact(t, a, &c)) return false;
    const dual lean = d_chain(c.sine, t->mirror * asin(c.sine.x), t->mirror / sqrt(1.0 - c.sine.x * c.sine.x));
    // relaxation lengths, slips
    const dual of[2] = {c.Fz, lean};
    dual       sigma[2], slip[2];
    t->relaxation(t->data, c.Fz.x, lean.x, length, by);
    for (int i = 0; i < 2; i++) sigma[i] = compose(length[i], by[i], of, 2);
    build_up(t, &c, a + U, sigma, slip, r->rate);
    // forces of the slips; data of the other side are seen in a mirror
    const dual     alpha = d_scale(t->mirror, d_atan(slip[1])), in[] = {c.Fz, slip[0], alpha, lean, a[GRIP]};
    const double   at[KD_MAGIC_INPUTS] = {in[0].x, in[1].x, in[2].x, in[3].x, in[4].x};
    kd_magic_force f;
    dual           out[KD_MAGIC_OUTPUTS];
    t->force(t->data, at, &f);
    for (int i = 0; i < KD_MAGIC_OUTPUTS; i++) out[i] = compose(f.value[i], f.by[i], in, KD_MAGIC_INPUTS);
    const dual turned = d_add(d_mul(smooth_sign(c.Vx, t->slip), out[KD_MAGIC_MZ_TRAIL]), out[KD_MAGIC_MZ_ARM]);
    const dual Fx = out[KD_MAGIC_FX], Fy = d_scale(t->mirror, out[KD_MAGIC_FY]), Mz = d_scale(t->mirror, turned);
    const dual Mx = d_scale(t->mirror, out[KD_MAGIC_MX]), My = resistance(t, &c, Fx, lean);
    put_forces(&c, Fx, Fy, Mx, My, Mz, r);
    const double told[] = {c.Fz.x, Fx.x, Fy.x, Mx.x, My.x, Mz.x};
    for (int i = 0; i <= KD_ROAD_TYRE_MZ; i++) r->told[i] = c.loaded ? told[i] : 0.0;
    r->told[KD_ROAD_TYRE_KAPPA] = slip[0].x;
    r->told[KD_ROAD_TYRE_ALPHA] = atan(slip[1].x);
    r->told[KD_ROAD_TYRE_CAMBER] = t->mirror * lean.x;
    r->told[KD_ROAD_TYRE_DEPTH] = c.delta.x;
    return true;
}

static void inputs_at(const kd_load *load, const double *x, const plane *p, dual a[INPUTS])
{
    const int *v = load->variable;
    for (int i = A; i <= GRIP; i++) a[i] = d_variable(p->value[i], i);
    a[H] = d_variable(x[v[PZ]] - p->value[H], H);
    for (int i = 0; i < 3; i++) {
        a[V + i] = d_variable(x[v[PV + i]], V + i);
        a[N + i] = d_variable(x[v[PN + i]], N + i);
        a[OMEGA + i] = d_variable(x[v[PW + i]], OMEGA + i);
    }
    for (int i = 0; i < 2; i++) a[U + i] = d_variable(x[v[PU + i]], U + i);
}

static kd_road_tyre tyre_of(const kd_load *load)
{
    return ((const kd_road_tyre_class *)load->class)->describe(load);
}

// ---- the load -------------------------------------------------------------------------------------------------------
kd_eval kd_road_tyre_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    const kd_road_tyre tyre = tyre_of(load);
    const plane        p = plane_under(&tyre, load, x, w);
    dual               a[INPUTS];
    answer             r;
    inputs_at(load, x, &p, a);
    if (!law_at(&tyre, a, &r)) return KD_EVAL_RETRY;
    for (int i = 0; i < KD_ROAD_TYRE_CHANNELS; i++) force[i] = r.force[i].x;
    for (int i = 0; i < KD_ROAD_TYRE_STATES; i++) rate[i] = r.rate[i].x;
    memcpy(w->road[load - w->system->load].told, r.told, sizeof r.told);
    return KD_EVAL_OK;
}

kd_eval kd_road_tyre_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    const kd_road_tyre tyre = tyre_of(load);
    const plane        p = plane_under(&tyre, load, x, w);
    const int          rows = KD_ROAD_TYRE_CHANNELS + KD_ROAD_TYRE_STATES, *v = load->variable;
    dual               a[INPUTS];
    answer             r;
    inputs_at(load, x, &p, a);
    if (!law_at(&tyre, a, &r)) return KD_EVAL_RETRY;
    // heading psi = atan2(-n_x, n_y)
    const double nx = x[v[PN]], ny = x[v[PN + 1]], flat = nx * nx + ny * ny;
    const double turn[2] = {flat > 0.0 ? -ny / flat : 0.0, flat > 0.0 ? nx / flat : 0.0};
    for (int i = 0; i < rows; i++) {
        const double *d = i < KD_ROAD_TYRE_CHANNELS ? r.force[i].d : r.rate[i - KD_ROAD_TYRE_CHANNELS].d;
        // by x, y, psi through the plane
        double by[3];
        for (int k = 0; k < 3; k++) {
            by[k] = -d[H] * p.by[H][k];
            for (int j = A; j <= GRIP; j++) by[k] += d[j] * p.by[j][k];
        }
        J[i + PX * rows] = by[0];
        J[i + PY * rows] = by[1];
        J[i + PZ * rows] = d[H];
        for (int k = 0; k < 3; k++) {
            J[i + (PV + k) * rows] = d[V + k];
            J[i + (PN + k) * rows] = d[N + k] + (k < 2 ? by[2] * turn[k] : 0.0);
            J[i + (PW + k) * rows] = d[OMEGA + k];
        }
        for (int k = 0; k < 2; k++) J[i + (PU + k) * rows] = d[U + k];
    }
    return KD_EVAL_OK;
}

// Of the file alone: expressions are searched by themselves
kd_interval kd_road_tyre_elevation(const kd_load *load, const kd_interval *x, kd_work *w)
{
    static const kd_interval anywhere = {-INFINITY, INFINITY};
    const kd_road_def       *road = tyre_of(load).road;
    const kd_interval        at_x = x ? x[load->variable[PX]] : anywhere, at_y = x ? x[load->variable[PY]] : anywhere;
    double                   z[2] = {0.0, 0.0};
    (void)w;
    if (!road->read) return (kd_interval){0.0, 0.0};
    kd_crg_range(road->read->crg, (double[]){at_x.lower, at_x.upper}, (double[]){at_y.lower, at_y.upper}, z);
    return (kd_interval){z[0], z[1]};
}

// What the tyre does not pull with: the part of the load that is cut off, 0 while it touches
kd_interval kd_road_tyre_bounds(const kd_load *load, const kd_interval *x, kd_work *w)
{
    const kd_road_tyre tyre = tyre_of(load);
    const kd_interval  z = x[load->variable[PZ]], rate = x[load->variable[PV + 2]];
    const kd_interval  drawn = kd_road_range(load, x, w), file = kd_road_tyre_elevation(load, x, w);
    const kd_interval  road = {drawn.lower + file.lower, drawn.upper + file.upper};
    double             low[2] = {0.0, 0.0}, high[2] = {0.0, 0.0};
    const double       least = road.lower + tyre.radius - z.upper, most = road.upper + tyre.radius - z.lower;
    tyre.load(tyre.data, 1e-3 * tyre.radius, low);
    // in the air along the slope of the first deflection
    low[0] = least < 0.0 ? low[1] * least : 0.0;
    high[0] = most < 0.0 ? low[1] * most : 0.0;
    if (least > 0.0) tyre.load(tyre.data, least, low);
    if (most > 0.0) tyre.load(tyre.data, most, high);
    return (kd_interval){fmax(-high[0] + tyre.damping * rate.lower, 0.0),
                         fmax(-low[0] + tyre.damping * rate.upper, 0.0)};
}

double kd_road_tyre_reading(const kd_load *load, const kd_work *w, const kd_point *x, int number)
{
    (void)x;
    return w->road[load - w->system->load].told[number];
}

void kd_road_tyre_reason(const kd_load *load, const double *x, char *text, size_t size)
{
    const bool upright = fabs(x[load->variable[PN + 2]]) > 0.99;
    kd_text_append(text, size,
                   upright ? "its axle, z of `to`, is upright on the road" : "`grip` must be positive here");
}

// A wheel whose centre is in the ground, a road that has ended
bool kd_road_tyre_notice(const kd_load *load, const double *x, kd_work *w, char *text, size_t size)
{
    const kd_road_tyre tyre = tyre_of(load);
    double             force[KD_ROAD_TYRE_CHANNELS], rate[KD_ROAD_TYRE_STATES], z[3], uv[2], u[2], v[2], range[2];
    if (kd_road_tyre_eval(load, x, w, force, rate) != KD_EVAL_OK) return false;
    const double depth = w->road[load - w->system->load].told[KD_ROAD_TYRE_DEPTH];
    if (depth >= tyre.radius) {
        kd_text(text, size, "its centre is %.3g m below the road", depth - tyre.radius);
        return true;
    }
    // beyond a road from a file the elevation is that of its end
    if (!tyre.road->read) return false;
    kd_crg_at(tyre.road->read->crg, x[load->variable[PX]], x[load->variable[PY]], z, uv);
    kd_crg_ends(tyre.road->read->crg, u, v, range);
    const bool ends = uv[0] < u[0] || uv[0] > u[1];
    if (!ends && uv[1] >= v[0] && uv[1] <= v[1]) return false;
    kd_text(text, size, "it is beyond the %s of its road, %c from %.6g to %.6g m, which goes on as it ends",
            ends ? "end" : "edge", ends ? 'u' : 'v', ends ? u[0] : v[0], ends ? u[1] : v[1]);
    return true;
}

int kd_road_tyre_states(const kd_force_def *def)
{
    (void)def;
    return KD_ROAD_TYRE_STATES;
}

// ---- in models ------------------------------------------------------------------------------------------------------
static void add_road_law(kd_load_builder *b, int k, int force, const char *key)
{
    const int own = b->load->nvariables;
    if (b->status == KD_OK) kd_load_add_law(b, k, force, key, 0, b->load->variable);
    if (b->status != KD_OK || b->load->nvariables == own) return;
    kd_text(b->message, b->size, "force '%s': '%s' can depend on x, y, t and inputs only", b->load->name, key);
    b->status = KD_ERR_MODEL;
}

void kd_road_tyre_make(kd_load_builder *b, int force)
{
    int pair = kd_force_pair(b->s, force), shift[3], turn[3];
    for (int i = 0; i < 3; i++) shift[i] = kd_plain_measure(b->s, pair, KD_MEASURE_SHIFT, i);
    for (int i = 0; i < 3; i++) turn[i] = kd_plain_measure(b->s, pair, KD_MEASURE_TURN, i);
    // channels: z, x, y, then turns; variables in the order of the enumeration
    const int channel[] = {shift[2], shift[0], shift[1], turn[0], turn[1], turn[2]};
    for (int i = 0; i < KD_ROAD_TYRE_CHANNELS; i++) kd_load_add_channel(b, channel[i]);
    for (int i = 0; i < 3; i++) kd_load_add_measured(b, shift[i], 0);
    for (int i = 0; i < 3; i++) kd_load_add_measured(b, shift[i], 1);
    for (int i = 0; i < 3 && b->status == KD_OK; i++) {
        kd_measure axle = {KD_MEASURE_COSINE, .pair = pair, .dof = -1, .i = i, .j = 2, .turns = -1};
        kd_load_add_measured(b, kd_system_measure(b->s, &axle), 0);
    }
    for (int i = 0; i < 3; i++) kd_load_add_measured(b, turn[i], 1);
    kd_load_add_states(b, KD_ROAD_TYRE_STATES);
    add_road_law(b, 0, force, "road");
    add_road_law(b, 1, force, "grip");
}

kd_status kd_road_tyre_take(kd_model *m, kd_road_def *road, char *why, size_t size)
{
    if (!road->crg || road->read) return KD_OK;
    return kd_model_road_read(m, road->path ? road->path : road->crg, &road->read, why, size);
}

bool kd_road_tyre_finish(kd_model *m, int i, const kd_road_def *road)
{
    kd_force *f = &m->force[i];
    // a road of patches has edges everywhere
    if (road->crg && !(road->patch[0] > 0.0 && road->patch[1] > 0.0))
        kd_model_error(m, KD_SECTION_FORCE, i, "crg",
                       "a road from a file needs `patch`, the half length and half width of the contact");
    const bool cam = road->cam[0] > 0.0 || road->cam[1] > 0.0 || road->cam[2] > 0.0;
    if (cam && !(road->cam[0] > 0.0 && road->cam[1] > 0.0 && road->cam[2] > 1.0))
        kd_model_error(m, KD_SECTION_FORCE, i, "cam",
                       "half length and half height must be positive, the exponent above 1, like [1.03, 0.95, 1.8]");
    else if (cam && !(road->patch[0] > 0.0 && road->patch[1] > 0.0))
        kd_model_error(m, KD_SECTION_FORCE, i, "cam", "cams stand at the corners of `patch`, which is not given");
    if (road->read && kd_crg_modified(road->read->crg))
        kd_model_warn(m, KD_SECTION_FORCE, i, "crg", "the modifiers of %s ($ROAD_CRG_MODS) are not applied",
                      road->read->path);
    if (road->read && *kd_crg_unknown(road->read->crg))
        kd_model_warn(m, KD_SECTION_FORCE, i, "crg", "%s: '%s' in $ROAD_CRG is not known and is passed over",
                      road->read->path, kd_crg_unknown(road->read->crg));
    // the wheel must be on a body that is not the road itself
    const bool to = kd_place_resolve(m, KD_SECTION_FORCE, i, "to", &f->def.to, &f->to);
    if (to && f->to.body < 0)
        kd_model_error(m, KD_SECTION_FORCE, i, "to", "it acts on the ground, which does not move");
    // without a place of its own the road is that of the world, for subsystems as well
    f->from = (kd_anchor){.body = -1, .R = kd_mat_identity()};
    if (kd_place_is_default(&f->def.from)) return to && f->to.body >= 0;
    return kd_place_resolve(m, KD_SECTION_FORCE, i, "from", &f->def.from, &f->from) && to && f->to.body >= 0 &&
           kd_ends_differ(m, KD_SECTION_FORCE, i, &f->from, &f->to);
}

const char *const kd_road_locals[] = {"x", "y", NULL};
const char *const kd_words_tyre_side[] = {"left", "right", NULL};

const kd_readable kd_road_tyre_readings[KD_ROAD_TYRE_READINGS] = {
    {"length", "m", KD_PROPERTY_Q, 0, NULL},
    {"rate", "m/s", KD_PROPERTY_V, 0, NULL},
    {"force", "N", KD_PROPERTY_FORCE, KD_ROAD_TYRE_LOAD, NULL},
    {"longitudinal", "N", KD_PROPERTY_FORCE, KD_ROAD_TYRE_FX, NULL},
    {"lateral", "N", KD_PROPERTY_FORCE, KD_ROAD_TYRE_FY, NULL},
    {"overturning", "N m", KD_PROPERTY_FORCE, KD_ROAD_TYRE_MX, NULL},
    {"rolling", "N m", KD_PROPERTY_FORCE, KD_ROAD_TYRE_MY, NULL},
    {"aligning", "N m", KD_PROPERTY_FORCE, KD_ROAD_TYRE_MZ, NULL},
    {"slip", "1", KD_PROPERTY_FORCE, KD_ROAD_TYRE_KAPPA, NULL},
    {"angle", "rad", KD_PROPERTY_FORCE, KD_ROAD_TYRE_ALPHA, NULL},
    {"camber", "rad", KD_PROPERTY_FORCE, KD_ROAD_TYRE_CAMBER, NULL},
};
