// trust_impacts.c: elastic balls on stiff ground, and sliders between stiff stops. Reference: flights in closed form,
// the duration of a contact by the energy integral.
#include "trust.h"

#include <math.h>

typedef struct numbers {
    double m, k, exponent, g; // F = k depth^exponent
    double h, radius;         // the ball falls from rest, its lowest point h above the ground
    double v, gap;            // slider: speed and way between the stops
    bool   slider;
} numbers;

// Depth d(t) of a contact that begins with speed v: d'^2 = v^2 + 2 g d - 2 k d^(n+1) / (m (n+1)) = w(d)
static double square_of_speed(const numbers *n, double v, double d)
{
    return v * v + 2 * n->g * d - 2 * n->k * pow(d, n->exponent + 1) / (n->m * (n->exponent + 1));
}

static double deepest(const numbers *n, double v)
{
    double low = 0, high = pow((n->exponent + 1) * n->m * v * v / (2 * n->k), 1 / (n->exponent + 1));
    while (square_of_speed(n, v, high) > 0) high *= 1.1;
    for (int i = 0; i < 200; i++) {
        double middle = 0.5 * (low + high);
        if (square_of_speed(n, v, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

typedef struct contact {
    const numbers *n;
    double         v, depth;
} contact;

// d = D (1 - s^2): dd / sqrt(w) = 2 D s ds / sqrt(w); w vanishes like s^2 at the turning point
static double part_of_duration(double s, const void *context)
{
    const contact *c = context;
    double         d = c->depth * (1 - s * s), w = square_of_speed(c->n, c->v, d);
    return w > 0 ? 2 * c->depth * s / sqrt(w) : 0;
}

// s = 1 is the beginning, where d^n is not smooth: substitute s = 1 - u^2 there
static double part_near_beginning(double u, const void *context)
{
    return 2 * u * part_of_duration(1 - u * u, context);
}

static double duration(const numbers *n, double v)
{
    contact c = {n, v, deepest(n, v)};
    double  turn = trust_integral(part_of_duration, &c, 1e-6, 0.5, 4);
    double  w = square_of_speed(n, v, c.depth * (1 - 1e-12)); // near the turn the integrand is constant
    turn += 1e-6 * 2 * c.depth * 1e-6 / sqrt(fmax(w, 1e-300));
    return 2 * (turn + trust_integral(part_near_beginning, &c, 0, sqrt(0.5), 4));
}

// Elastic: each contact returns the speed; the phase of flight at any time, or NaN inside of a contact
static double ball_height(const numbers *n, double delta, double t)
{
    double h = n->h * (1 + delta), v = sqrt(2 * n->g * h), fall = v / n->g, hit = duration(n, v);
    if (t < fall) return h - 0.5 * n->g * t * t;
    double phase = fmod(t - fall, hit + 2 * fall) - hit;
    return phase < 0 ? NAN : v * phase - 0.5 * n->g * phase * phase;
}

static double slider_place(const numbers *n, double delta, double t)
{
    double v = n->v * (1 + delta), flight = n->gap / v, hit = duration(n, v);
    if (t < 0.5 * flight) return v * t;
    double phase = fmod(t - 0.5 * flight, 2 * (flight + hit)); // upper stop, back, lower stop, forth
    if (phase < hit) return NAN;
    if (phase < hit + flight) return 0.5 * n->gap - v * (phase - hit);
    if (phase < 2 * hit + flight) return NAN;
    return -0.5 * n->gap + v * (phase - 2 * hit - flight);
}

static double place(const numbers *n, double delta, double t)
{
    return n->slider ? slider_place(n, delta, t) : ball_height(n, delta, t) + n->radius;
}

static void motion(const void *context, double delta, const double *times, double r[][3])
{
    const numbers *n = context;
    for (int i = 0; i < TRUST_TIMES; i++) {
        r[i][0] = n->slider ? place(n, delta, times[i]) : 0;
        r[i][1] = 0;
        r[i][2] = n->slider ? 0 : place(n, delta, times[i]);
    }
}

static bool in_flight(const numbers *n, double t_end)
{
    for (int i = 0; i < TRUST_TIMES; i++) {
        double t = t_end * (i + 1) / TRUST_TIMES, near = 1e-3 * t_end / TRUST_TIMES;
        if (isnan(place(n, 0, t)) || isnan(place(n, 0, t - near)) || isnan(place(n, 0, t + near))) return false;
    }
    return true;
}

// An error of one tolerance in the speed, made at each of the impacts so far, becomes one of the place
static void add_condition(trust_case *c, double v, double period)
{
    for (int i = 0; i < TRUST_TIMES; i++) {
        double t = c->times[i], impacts = ceil(t / period);
        c->condition[i] += impacts * t / 2 * (1 + v) / c->length;
    }
}

void trust_impact(trust_dice *dice, trust_case *c)
{
    numbers n = {.m = trust_decades(dice, 0.1, 10), .slider = trust_choice(dice, 3) == 0};
    double  impacts = trust_uniform(dice, 0.6, 9), period;
    n.k = trust_decades(dice, 1e4, 1e12);
    n.exponent = n.slider ? 1 : 1 + 0.25 * trust_choice(dice, 5);
    n.radius = trust_decades(dice, 0.02, 0.3);
    if (n.slider) {
        n.gap = trust_decades(dice, 0.1, 3);
        n.v = trust_decades(dice, 0.2, 10);
        period = n.gap / n.v + duration(&n, n.v);
    } else {
        n.g = 9.81;
        n.h = trust_decades(dice, 0.1, 5);
        period = 2 * sqrt(2 * n.h / n.g) + duration(&n, sqrt(2 * n.g * n.h));
    }
    double t_end = impacts * period;
    while (!in_flight(&n, t_end)) t_end *= 1.0137;
    c->family = "impact";
    c->length = n.slider ? n.gap : n.h;
    trust_write(c, "kardan: 1\ngravity: [0, 0, %.17g]\n", -n.g);
    if (n.slider) {
        trust_write(c, "bodies:\n  block: {position: [0, 0, 0], mass: %.17g, inertia: [1, 1, 1]}\n", n.m);
        trust_write(c,
                    "joints:\n  slide: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [1, 0, 0], "
                    "v: %.17g}\n",
                    n.v);
        trust_write(c,
                    "forces:\n  stop: {type: joint_stop, joint: slide, lower: %.17g, upper: %.17g, stiffness: %.17g}\n",
                    -n.gap / 2, n.gap / 2, n.k);
    } else {
        double J = 0.4 * n.m * n.radius * n.radius;
        trust_write(c, "bodies:\n  ball: {position: [0, 0, %.17g], mass: %.17g, inertia: [%.17g, %.17g, %.17g]}\n",
                    n.h + n.radius, n.m, J, J, J);
        trust_write(c,
                    "forces:\n  ground: {type: contact, from: ground, to: ball, radius: %.17g, stiffness: %.17g, "
                    "exponent: %.17g}\n",
                    n.radius, n.k, n.exponent);
    }
    trust_case_solve(c, t_end, motion, &n);
    add_condition(c, n.slider ? n.v : sqrt(2 * n.g * n.h), period);
}
