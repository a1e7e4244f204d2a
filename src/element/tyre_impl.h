// tyre_impl.h: the law of a tyre with slip (equations: tyre.c), on numbers that carry TYRE_PARTS derivatives along
// (forward mode; Griewank and Walther: Evaluating Derivatives, 2nd ed., ch. 3). Included by tyre.c (TYRE_PARTS 0:
// values) and by tyre_slopes.c (TYRE_PARTS 12). A wheel in the air costs as much as one on the road.
#include <math.h>

#include "element/tyre.h"

#if TYRE_PARTS > 0
enum { TYRE_GROUPS = TYRE_PARTS / KD_LANES };
typedef struct tyre_number {
    double   x;
    kd_lanes d[TYRE_GROUPS];
} tyre_number;
#else
enum { TYRE_GROUPS = 0 };
typedef struct tyre_number {
    double x, d[1];
} tyre_number;
#endif

// all that values and energies need of one evaluation
typedef struct tyre_forces {
    tyre_number delta, rate;  // depth and its rate
    tyre_number Fz, Fx, Fy;   // load, forces along e_x, e_y
    tyre_number vx, vy, roll; // slip velocities, moment of rolling resistance
    tyre_number force[6];     // of the channels
    tyre_number slip_rate[2];
    tyre_number spin, cosine; // of the camber
} tyre_forces;

// ---- numbers --------------------------------------------------------------------------------------------------------
static inline tyre_number tyre_const(double x)
{
    return (tyre_number){.x = x};
}
static inline tyre_number tyre_chained(double x, double f, const tyre_number *a) // x' = f a'
{
    tyre_number r;
    r.x = x;
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = f * a->d[i];
    return r;
}
static inline tyre_number tyre_add(const tyre_number *a, const tyre_number *b)
{
    tyre_number r;
    r.x = a->x + b->x;
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = a->d[i] + b->d[i];
    return r;
}
static inline tyre_number tyre_sub(const tyre_number *a, const tyre_number *b)
{
    tyre_number r;
    r.x = a->x - b->x;
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = a->d[i] - b->d[i];
    return r;
}
static inline tyre_number tyre_mul(const tyre_number *a, const tyre_number *b)
{
    tyre_number r;
    r.x = a->x * b->x;
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = b->x * a->d[i] + a->x * b->d[i];
    return r;
}
// a b + c e, and with a minus
static inline tyre_number tyre_sum(const tyre_number *a, const tyre_number *b, const tyre_number *c,
                                   const tyre_number *e)
{
    tyre_number r;
    r.x = a->x * b->x + c->x * e->x;
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = b->x * a->d[i] + a->x * b->d[i] + e->x * c->d[i] + c->x * e->d[i];
    return r;
}
static inline tyre_number tyre_difference(const tyre_number *a, const tyre_number *b, const tyre_number *c,
                                          const tyre_number *e)
{
    tyre_number r;
    r.x = a->x * b->x - c->x * e->x;
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = b->x * a->d[i] + a->x * b->d[i] - e->x * c->d[i] - c->x * e->d[i];
    return r;
}
static inline tyre_number tyre_div(const tyre_number *a, const tyre_number *b)
{
    const double inverse = 1.0 / b->x;
    tyre_number  r;
    r.x = a->x * inverse;
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = inverse * (a->d[i] - r.x * b->d[i]);
    return r;
}
static inline tyre_number tyre_scale(double s, const tyre_number *a)
{
    return tyre_chained(s * a->x, s, a);
}
static inline tyre_number tyre_shift(double s, const tyre_number *a) // s + a
{
    tyre_number r = *a;
    r.x += s;
    return r;
}
// sqrt(a^2 + e^2)
static inline tyre_number tyre_norm(const tyre_number *a, double e)
{
    const double norm = sqrt(a->x * a->x + e * e);
    return tyre_chained(norm, a->x / norm, a);
}
// sqrt(a^2 + b^2)
static inline tyre_number tyre_length(const tyre_number *a, const tyre_number *b)
{
    const double norm = sqrt(a->x * a->x + b->x * b->x), inverse = 1.0 / norm;
    tyre_number  r;
    r.x = norm;
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = inverse * (a->x * a->d[i] + b->x * b->d[i]);
    return r;
}

// ---- the law --------------------------------------------------------------------------------------------------------
// tanh(y)/y of u = y^2; near 0 by its series, as is its derivative
static inline tyre_number tyre_saturation(const tyre_number *u)
{
    // t/y and its derivative by u = y^2: (sech^2 y - tanh(y)/y)/(2 u)
    const double x = u->x, y = sqrt(x), t = tanh(y);
    const double series = 1.0 + x * (-1.0 / 3.0 + x * (2.0 / 15.0 - x * 17.0 / 315.0));
    const double series_slope = -1.0 / 3.0 + x * (4.0 / 15.0 + x * (-17.0 / 105.0 + x * 248.0 / 2835.0));
    const bool   near = x < 1e-4;
    return tyre_chained(near ? series : t / y, near ? series_slope : (1.0 - t * t - t / y) / (2.0 * x), u);
}

static inline tyre_number tyre_slope(const double C[2], double nominal, const tyre_number *Fz)
{
    // q (linear - square q), from its maximum on constant
    const double linear = 2.0 * C[0] - 0.5 * C[1], square = C[0] - 0.5 * C[1];
    tyre_number  q = tyre_scale(1.0 / nominal, Fz);
    if (square > 0.0 && q.x > 0.5 * linear / square) q = tyre_const(0.5 * linear / square);
    return tyre_chained(q.x * (linear - square * q.x), linear - 2.0 * square * q.x, &q);
}

// Forces of slip along e_x and e_y at the load Fz > 0; V: speed of the carrier
static inline void tyre_slip_forces(const kd_tyre_def *d, const tyre_number *Fz, const tyre_number *V,
                                    const tyre_number *state, const tyre_number *sine, tyre_forces *t)
{
    const tyre_number limit = tyre_scale(d->friction, Fz), *const velocity[2] = {&t->vx, &t->vy};
    const double *const slopes[2] = {d->longitudinal, d->lateral};
    const bool          relaxed = d->relaxation > 0.0;
    tyre_number         S[2], y[2];
    // slip along and across: by velocity, or relaxed as a state
    for (int i = 0; i < 2; i++) {
        tyre_number s = tyre_div(velocity[i], V);
        s = tyre_scale(-1.0, &s);
        if (relaxed) {
            const tyre_number way = tyre_mul(V, &state[i]), sum = tyre_add(velocity[i], &way);
            t->slip_rate[i] = tyre_scale(-1.0 / d->relaxation, &sum);
            s = state[i];
        }
        if (i == 1) {
            const tyre_number thrust = tyre_scale(d->camber, sine);
            s = tyre_sub(&s, &thrust);
        }
        const tyre_number C = tyre_slope(slopes[i], d->load, Fz);
        S[i] = tyre_mul(&C, &s);
        y[i] = tyre_div(&S[i], &limit);
    }
    // one saturation for both: the force turns into the circle of friction
    const tyre_number square = tyre_sum(&y[0], &y[0], &y[1], &y[1]), ratio = tyre_saturation(&square);
    t->Fx = tyre_mul(&ratio, &S[0]);
    t->Fy = tyre_mul(&ratio, &S[1]);
}

// Load on the channels: F = Fx e_x + Fy e_y + Fz e_z at the point c, and the moment of rolling resistance
static inline void tyre_channels(const tyre_number *ex, const tyre_number *ey, const tyre_number *c,
                                 const tyre_number *n, tyre_forces *t)
{
    // F = Fx e_x + Fy e_y + Fz e_z, N = c x F + roll n
    const tyre_number *Fz = &t->Fz, *roll = &t->roll;
    const tyre_number  Fx = tyre_sum(&t->Fx, ex, &t->Fy, ey), Fy = tyre_difference(&t->Fy, ex, &t->Fx, ey);
    const tyre_number  Nx = tyre_difference(&c[1], Fz, &c[2], &Fy), Ny = tyre_difference(&c[2], &Fx, &c[0], Fz);
    const tyre_number  Nz = tyre_difference(&c[0], &Fy, &c[1], &Fx);
    const tyre_number  rx = tyre_mul(roll, &n[0]), ry = tyre_mul(roll, &n[1]), rz = tyre_mul(roll, &n[2]);
    t->force[0] = *Fz;
    t->force[1] = Fx;
    t->force[2] = Fy;
    t->force[3] = tyre_add(&Nx, &rx);
    t->force[4] = tyre_add(&Ny, &ry);
    t->force[5] = tyre_add(&Nz, &rz);
}

// false: the axle stands upright
static inline bool tyre_law(const kd_tyre_def *d, const tyre_number *a, double road_rate, tyre_forces *t)
{
    const tyre_number *h = &a[KD_TYRE_H], *v = a + KD_TYRE_V, *n = a + KD_TYRE_N, *omega = a + KD_TYRE_OMEGA;
    const tyre_number  one = tyre_const(1.0), cosine = tyre_length(&n[0], &n[1]);
    if (!(cosine.x > 1e-3)) return false;
    // delta' = -h'/cos - h (1/cos)',  (1/cos)' = n_z n_z' / cos^3,  n' = omega x n
    const tyre_number inverse = tyre_div(&one, &cosine), rho = tyre_mul(h, &inverse);
    const tyre_number nz_rate = tyre_difference(&omega[0], &n[1], &omega[1], &n[0]);
    const tyre_number lean = tyre_mul(&n[2], &inverse), lean_rate = tyre_mul(&nz_rate, &inverse);
    const tyre_number turning = tyre_mul(&lean, &lean_rate), h_rate = tyre_shift(-road_rate, &v[2]);
    const tyre_number rho_rate = tyre_sum(&h_rate, &inverse, &rho, &turning);
    // depth, its rate, load along the normal of the road
    t->cosine = cosine;
    t->delta = tyre_scale(-1.0, &rho);
    t->delta.x += d->radius;
    t->rate = tyre_scale(-1.0, &rho_rate);
    const tyre_number elastic = tyre_scale(d->stiffness, &t->delta), viscous = tyre_scale(d->damping, &t->rate);
    tyre_number       along = tyre_add(&elastic, &viscous);
    along.x += d->preload;
    tyre_number Fz = tyre_mul(&along, &inverse);
    if (d->lifts_off && (t->delta.x <= 0.0 || Fz.x <= 0.0)) Fz = tyre_const(0.0);
    t->Fz = Fz;
    const bool loaded = Fz.x > 0.0;
    if (!loaded) Fz = tyre_const(d->load); // any, the forces are left out below

    // e_x = (ex, -ey, 0), e_y = (ey, ex, 0);  c = a (-nz nx, -nz ny, nx^2 + ny^2), a = -rho/cos
    const tyre_number ex = tyre_mul(&n[1], &inverse), ey = tyre_mul(&n[0], &inverse), sunk = tyre_mul(&rho, &lean);
    const tyre_number down = tyre_mul(&rho, &cosine);
    const tyre_number c[3] = {tyre_mul(&sunk, &n[0]), tyre_mul(&sunk, &n[1]), tyre_scale(-1.0, &down)};
    // velocity of the point of contact, spin about the axle
    const tyre_number px = tyre_difference(&omega[1], &c[2], &omega[2], &c[1]), vx = tyre_add(&v[0], &px);
    const tyre_number py = tyre_difference(&omega[2], &c[0], &omega[0], &c[2]), vy = tyre_add(&v[1], &py);
    const tyre_number flat = tyre_sum(&omega[0], &n[0], &omega[1], &n[1]), up = tyre_mul(&omega[2], &n[2]);
    t->spin = tyre_add(&flat, &up);
    // slip velocities along e_x and e_y; V of the carrier is without the spin
    t->vx = tyre_difference(&vx, &ex, &vy, &ey);
    t->vy = tyre_sum(&vx, &ey, &vy, &ex);
    const tyre_number rolled = tyre_mul(&rho, &t->spin), carried = tyre_add(&t->vx, &rolled);
    const tyre_number V = tyre_norm(&carried, d->slip), rolling = tyre_norm(&rolled, d->slip);
    tyre_slip_forces(d, &Fz, &V, a + KD_TYRE_SLIP, &n[2], t);
    // moment against rolling, smooth at rest
    const tyre_number lever = tyre_mul(&Fz, &rho), sense = tyre_div(&rolled, &rolling);
    const tyre_number moment = tyre_mul(&lever, &sense);
    t->roll = tyre_scale(-d->rolling_resistance, &moment);
    if (!loaded) t->Fx = t->Fy = t->roll = tyre_const(0.0);
    tyre_channels(&ex, &ey, c, n, t);
    return true;
}
