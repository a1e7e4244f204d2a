// tyre_impl.h: the law of a tyre with slip (equations: tyre.c), on numbers that carry TYRE_PARTS derivatives along
// (forward mode; Griewank and Walther: Evaluating Derivatives, 2nd ed., ch. 3). Included by tyre.c (TYRE_PARTS 0:
// values), by tyre_slopes.c (TYRE_PARTS 12) and by tyre_four.c (TYRE_PARTS 0, TYRE_FOUR: every value is that of several tyres).
// A wheel in the air costs as much as one on the road.
#include <math.h>

#include "element/tyre.h"

// Values, data of the tyre, conditions: of one tyre, or of KD_LANES
#ifdef TYRE_FOUR
typedef kd_lanes  tyre_value;
typedef long long tyre_mask __attribute__((vector_size(8 * KD_LANES)));
typedef struct tyre_data { // as kd_tyre_def
    kd_lanes radius, stiffness, damping, preload, friction, load, longitudinal[2], lateral[2], camber, relaxation, slip;
    kd_lanes rolling_resistance;
    tyre_mask lifts_off;
    bool      relaxed;
} tyre_data;
#define TYRE_RELAXED(d) ((d)->relaxed)
#define TYRE_ALL(x) ((x) - (tyre_value){0})
#define TYRE_CHOOSE(mask, a, b) ((tyre_value)(((mask) & (tyre_mask)(a)) | (~(mask) & (tyre_mask)(b))))
static inline bool tyre_every(tyre_mask mask)
{
    bool every = true;
    for (int i = 0; i < KD_LANES; i++) every = every && mask[i];
    return every;
}
static inline tyre_value tyre_sqrt(tyre_value a)
{
#if KD_LANES == 4
    return _mm256_sqrt_pd(a);
#else
    for (int i = 0; i < KD_LANES; i++) a[i] = sqrt(a[i]);
    return a;
#endif
}
// Of y >= 0: E/(E + 2), E = exp(2 y) - 1 = (2^k - 1) + 2^k p(r), 2 y = k log 2 + r, |r| <= log(2)/2, p the series of exp(r) - 1
// up to r^13. Behind y = 20 it is 1. Differs from the library's by 2 units of the last place at most (tests/system/test_fours.c)
static inline tyre_value tyre_tanh(tyre_value y)
{
    const double        round = 0x1.8p52; // + round: the nearest whole number stands in the last bits
    const tyre_value    z = 2.0 * TYRE_CHOOSE(y > 20.0, TYRE_ALL(20.0), y), whole = z * 0x1.71547652b82fep0 + round;
    const tyre_value    k = whole - round, r = (z - k * 0x1.62e42fefa38p-1) - k * 0x1.ef35793c7673p-45;
    const tyre_value    power = (tyre_value)(((tyre_mask)whole + 1023) << 52); // 2^k
    static const double c[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                               1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                               1.0 / 120,        1.0 / 24,        1.0 / 6,        0.5};
    tyre_value          p = TYRE_ALL(c[0]);
    for (int i = 1; i < 12; i++) p = p * r + c[i];
    p = (p * r) * r + r;
    const tyre_value E = (power - 1.0) + power * p;
    return E / (E + 2.0);
}
#else
typedef double      tyre_value;
typedef bool        tyre_mask;
typedef kd_tyre_def tyre_data;
#define TYRE_RELAXED(d) ((d)->relaxation > 0.0)
#define TYRE_ALL(x) (x)
#define TYRE_CHOOSE(mask, a, b) ((mask) ? (a) : (b))
static inline bool  tyre_every(tyre_mask mask)
{
    return mask;
}
static inline tyre_value tyre_sqrt(tyre_value a)
{
    return sqrt(a);
}
static inline tyre_value tyre_tanh(tyre_value a)
{
    return tanh(a);
}
#endif

#if TYRE_PARTS > 0
enum { TYRE_GROUPS = TYRE_PARTS / KD_LANES };
typedef struct tyre_number {
    double   x;
    kd_lanes d[TYRE_GROUPS];
} tyre_number;
#else
enum { TYRE_GROUPS = 0 };
typedef struct tyre_number {
    tyre_value x, d[1];
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
static inline tyre_number tyre_const(tyre_value x)
{
    return (tyre_number){.x = x};
}
static inline tyre_number tyre_chained(tyre_value x, tyre_value f, const tyre_number *a) // x' = f a'
{
    tyre_number r = {.x = x};
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = f * a->d[i];
    return r;
}
static inline tyre_number tyre_add(const tyre_number *a, const tyre_number *b)
{
    tyre_number r = {.x = a->x + b->x};
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = a->d[i] + b->d[i];
    return r;
}
static inline tyre_number tyre_sub(const tyre_number *a, const tyre_number *b)
{
    tyre_number r = {.x = a->x - b->x};
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = a->d[i] - b->d[i];
    return r;
}
static inline tyre_number tyre_mul(const tyre_number *a, const tyre_number *b)
{
    tyre_number r = {.x = a->x * b->x};
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = b->x * a->d[i] + a->x * b->d[i];
    return r;
}
// a b + c e, and with a minus
static inline tyre_number tyre_sum(const tyre_number *a, const tyre_number *b, const tyre_number *c,
                                   const tyre_number *e)
{
    tyre_number r = {.x = a->x * b->x + c->x * e->x};
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = b->x * a->d[i] + a->x * b->d[i] + e->x * c->d[i] + c->x * e->d[i];
    return r;
}
static inline tyre_number tyre_difference(const tyre_number *a, const tyre_number *b, const tyre_number *c,
                                          const tyre_number *e)
{
    tyre_number r = {.x = a->x * b->x - c->x * e->x};
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = b->x * a->d[i] + a->x * b->d[i] - e->x * c->d[i] - c->x * e->d[i];
    return r;
}
static inline tyre_number tyre_div(const tyre_number *a, const tyre_number *b)
{
    const tyre_value inverse = 1.0 / b->x;
    tyre_number      r;
    r.x = a->x * inverse;
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = inverse * (a->d[i] - r.x * b->d[i]);
    return r;
}
static inline tyre_number tyre_scale(tyre_value s, const tyre_number *a)
{
    return tyre_chained(s * a->x, s, a);
}
static inline tyre_number tyre_shift(tyre_value s, const tyre_number *a) // s + a
{
    tyre_number r = *a;
    r.x += s;
    return r;
}
// a where the condition holds, otherwise b
static inline tyre_number tyre_choose(tyre_mask mask, const tyre_number *a, const tyre_number *b)
{
    tyre_number r = *b;
#ifdef TYRE_FOUR
    r.x = TYRE_CHOOSE(mask, a->x, b->x);
#else
    if (mask) r = *a;
#endif
    return r;
}
// sqrt(a^2 + e^2)
static inline tyre_number tyre_norm(const tyre_number *a, tyre_value e)
{
    const tyre_value norm = tyre_sqrt(a->x * a->x + e * e);
    return tyre_chained(norm, a->x / norm, a);
}
// sqrt(a^2 + b^2)
static inline tyre_number tyre_length(const tyre_number *a, const tyre_number *b)
{
    const tyre_value norm = tyre_sqrt(a->x * a->x + b->x * b->x), inverse = 1.0 / norm;
    tyre_number      r;
    r.x = norm;
    for (int i = 0; i < TYRE_GROUPS; i++) r.d[i] = inverse * (a->x * a->d[i] + b->x * b->d[i]);
    return r;
}

// ---- the law --------------------------------------------------------------------------------------------------------
// tanh(y)/y of u = y^2; near 0 by its series, as is its derivative
static inline tyre_number tyre_saturation(const tyre_number *u)
{
    // t/y and its derivative by u = y^2: (sech^2 y - tanh(y)/y)/(2 u)
    const tyre_value x = u->x, y = tyre_sqrt(x), t = tyre_tanh(y);
    const tyre_value series = 1.0 + x * (-1.0 / 3.0 + x * (2.0 / 15.0 - x * 17.0 / 315.0));
    const tyre_value series_slope = -1.0 / 3.0 + x * (4.0 / 15.0 + x * (-17.0 / 105.0 + x * 248.0 / 2835.0));
    const tyre_mask  near = x < 1e-4;
    return tyre_chained(TYRE_CHOOSE(near, series, t / y),
                        TYRE_CHOOSE(near, series_slope, (1.0 - t * t - t / y) / (2.0 * x)), u);
}

static inline tyre_number tyre_slope(const tyre_value C[2], tyre_value nominal, const tyre_number *Fz)
{
    // q (linear - square q), from its maximum on constant
    const tyre_value  linear = 2.0 * C[0] - 0.5 * C[1], square = C[0] - 0.5 * C[1];
    const tyre_number most = tyre_const(0.5 * linear / square);
    tyre_number       q = tyre_scale(1.0 / nominal, Fz);
    q = tyre_choose((square > 0.0) & (q.x > most.x), &most, &q);
    return tyre_chained(q.x * (linear - square * q.x), linear - 2.0 * square * q.x, &q);
}

// Forces of slip along e_x and e_y at the load Fz > 0; V: speed of the carrier
static inline void tyre_slip_forces(const tyre_data *d, const tyre_number *Fz, const tyre_number *V,
                                    const tyre_number *state, const tyre_number *sine, tyre_forces *t)
{
    const tyre_number limit = tyre_scale(d->friction, Fz), *const velocity[2] = {&t->vx, &t->vy};
    const tyre_value *const slopes[2] = {d->longitudinal, d->lateral};
    const bool              relaxed = TYRE_RELAXED(d);
    tyre_number             S[2], y[2];
    // slip along and across: by velocity, or relaxed as a state
    for (int i = 0; i < 2; i++) {
        tyre_number s = tyre_div(velocity[i], V);
        s = tyre_scale(TYRE_ALL(-1.0), &s);
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
static inline bool tyre_law(const tyre_data *d, const tyre_number *a, tyre_value road_rate, tyre_forces *t)
{
    const tyre_number *h = &a[KD_TYRE_H], *v = a + KD_TYRE_V, *n = a + KD_TYRE_N, *omega = a + KD_TYRE_OMEGA;
    const tyre_number  one = tyre_const(TYRE_ALL(1.0)), cosine = tyre_length(&n[0], &n[1]);
    if (!tyre_every(cosine.x > 1e-3)) return false;
    // delta' = -h'/cos - h (1/cos)',  (1/cos)' = n_z n_z' / cos^3,  n' = omega x n
    const tyre_number inverse = tyre_div(&one, &cosine), rho = tyre_mul(h, &inverse);
    const tyre_number nz_rate = tyre_difference(&omega[0], &n[1], &omega[1], &n[0]);
    const tyre_number lean = tyre_mul(&n[2], &inverse), lean_rate = tyre_mul(&nz_rate, &inverse);
    const tyre_number turning = tyre_mul(&lean, &lean_rate), h_rate = tyre_shift(-road_rate, &v[2]);
    const tyre_number rho_rate = tyre_sum(&h_rate, &inverse, &rho, &turning);
    // depth, its rate, load along the normal of the road
    t->cosine = cosine;
    t->delta = tyre_scale(TYRE_ALL(-1.0), &rho);
    t->delta.x += d->radius;
    t->rate = tyre_scale(TYRE_ALL(-1.0), &rho_rate);
    const tyre_number elastic = tyre_scale(d->stiffness, &t->delta), viscous = tyre_scale(d->damping, &t->rate);
    tyre_number       along = tyre_add(&elastic, &viscous);
    along.x += d->preload;
    const tyre_number none = tyre_const(TYRE_ALL(0.0)), any = tyre_const(d->load);
    tyre_number       Fz = tyre_mul(&along, &inverse);
    t->Fz = Fz = tyre_choose(d->lifts_off & ((t->delta.x <= 0.0) | (Fz.x <= 0.0)), &none, &Fz);
    const tyre_mask loaded = Fz.x > 0.0;
    Fz = tyre_choose(loaded, &Fz, &any); // the forces are left out below

    // e_x = (ex, -ey, 0), e_y = (ey, ex, 0);  c = a (-nz nx, -nz ny, nx^2 + ny^2), a = -rho/cos
    const tyre_number ex = tyre_mul(&n[1], &inverse), ey = tyre_mul(&n[0], &inverse), sunk = tyre_mul(&rho, &lean);
    const tyre_number down = tyre_mul(&rho, &cosine);
    const tyre_number c[3] = {tyre_mul(&sunk, &n[0]), tyre_mul(&sunk, &n[1]), tyre_scale(TYRE_ALL(-1.0), &down)};
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
    t->Fx = tyre_choose(loaded, &t->Fx, &none);
    t->Fy = tyre_choose(loaded, &t->Fy, &none);
    t->roll = tyre_choose(loaded, &t->roll, &none);
    tyre_channels(&ex, &ey, c, n, t);
    return true;
}
