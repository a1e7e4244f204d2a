// trust_laws.c: short pulses of time and narrow bumps of a coordinate, on a slider, on a pendulum, and as the motion of
// a shaker under a sprung mass. Reference: the equation of the single degree of freedom, steps of a small part of the
// pulse's width near it.
#include "trust.h"

#include <math.h>
#include <stdio.h>

typedef enum shape { GAUSS, QUARTIC, WINDOW, SMOOTH_STEPS, LAPLACE, RECTANGLE, SHAPES } shape;

typedef struct numbers {
    bool   pendulum, of_time, shaker, road;
    shape  shape;
    double amplitude, centre, width; // of force, torque or motion
    double m, k, c, l, J;            // mass, spring, damper; length and inertia about the pivot
    double q, v;                     // start
    double t_end, gravity;
} numbers;

// ---- shapes ---------------------------------------------------------------------------------------------------------

static double smooth_step(double x) // 0 to 1 with two continuous derivatives
{
    x = fmin(fmax(x, 0), 1);
    return x * x * x * (10 + x * (-15 + 6 * x));
}

static double smooth_slope(double x)
{
    if (x <= 0 || x >= 1) return 0;
    return 30 * x * x * (1 - x) * (1 - x);
}

static double value_of(shape s, double u)
{
    switch (s) {
    case GAUSS:
        return exp(-u * u);
    case QUARTIC:
        return 1 / (1 + u * u * u * u);
    case WINDOW:
        return fabs(u) < 1 ? pow(1 - u * u, 3) : 0;
    case SMOOTH_STEPS:
        return smooth_step(2 * (u + 1)) - smooth_step(2 * (u - 0.5));
    case LAPLACE:
        return exp(-fabs(u));
    default:
        return fabs(u) < 1 ? 1 : 0;
    }
}

static double slope_of(shape s, double u)
{
    switch (s) {
    case GAUSS:
        return -2 * u * exp(-u * u);
    case QUARTIC:
        return -4 * u * u * u / pow(1 + u * u * u * u, 2);
    case WINDOW:
        return fabs(u) < 1 ? -6 * u * pow(1 - u * u, 2) : 0;
    default:
        return 2 * smooth_slope(2 * (u + 1)) - 2 * smooth_slope(2 * (u - 0.5));
    }
}

// The shape as an expression of x
static void expression(const numbers *n, const char *x, char *text, size_t size)
{
    char u[100];
    snprintf(u, sizeof u, "((%s - %.17g)/%.17g)", x, n->centre, n->width);
    switch (n->shape) {
    case GAUSS:
        snprintf(text, size, "%.17g*exp(-%s^2)", n->amplitude, u);
        break;
    case QUARTIC:
        snprintf(text, size, "%.17g/(1 + %s^4)", n->amplitude, u);
        break;
    case WINDOW:
        snprintf(text, size, "%.17g*if(abs(%s) < 1, (1 - %s^2)^3, 0)", n->amplitude, u, u);
        break;
    case SMOOTH_STEPS:
        snprintf(text, size, "%.17g*(step5(%s, -1, 0, -0.5, 1) - step5(%s, 0.5, 0, 1, 1))", n->amplitude, u, u);
        break;
    case LAPLACE:
        snprintf(text, size, "%.17g*exp(-abs(%s))", n->amplitude, u);
        break;
    default:
        snprintf(text, size, "%.17g*if(abs(%s) < 1, 1, 0)", n->amplitude, u);
    }
}

static int edges_of(shape s, double *edge) // in units of the width
{
    static const double at[SHAPES][5] = {
        [WINDOW] = {-1, 1}, [SMOOTH_STEPS] = {-1, -0.5, 0.5, 1}, [RECTANGLE] = {-1, 1}};
    static const int count[SHAPES] = {[WINDOW] = 2, [SMOOTH_STEPS] = 4, [LAPLACE] = 1, [RECTANGLE] = 2};
    for (int i = 0; i < count[s]; i++) edge[i] = at[s][i];
    return count[s];
}

// ---- the motion -----------------------------------------------------------------------------------------------------

static double load(const numbers *n, double t, double q)
{
    return n->amplitude * value_of(n->shape, ((n->of_time ? t : q) - n->centre) / n->width);
}

// y = (q, v): slider m v' = F - k q - c v, pendulum J v' = F - m g l sin q - k q - c v, sprung mass on a shaker
static void slopes(double t, const double *y, double *dy, const void *context)
{
    const numbers *n = context;
    dy[0] = y[1];
    if (n->road) { // tyre without damping on a road under a wheel that is driven evenly, damper against the ground
        dy[1] = (-n->k * (y[0] - load(n, t, 0)) - n->c * y[1]) / n->m;
        return;
    }
    if (n->shaker) {
        double u = (t - n->centre) / n->width, base = n->amplitude * value_of(n->shape, u);
        double rate = n->amplitude / n->width * slope_of(n->shape, u);
        dy[1] = (-n->k * (y[0] - base) - n->c * (y[1] - rate)) / n->m;
        return;
    }
    double weight = n->pendulum ? n->m * n->gravity * n->l * sin(y[0]) : 0;
    dy[1] = (load(n, t, y[0]) - weight - n->k * y[0] - n->c * y[1]) / (n->pendulum ? n->J : n->m);
}

// Fine steps within ten widths of the planted thing, and towards it
static double step_of(double t, const double *y, const void *context)
{
    const numbers *n = context;
    double         far = n->of_time ? t : y[0], speed = n->of_time ? 1 : fmax(fabs(y[1]), 1e-3 * fabs(n->v));
    double         way = fmax(fabs(far - n->centre) - 10 * n->width, 0);
    double         usual = n->t_end / 300;
    if (n->k > 0) usual = fmin(usual, 0.1 * sqrt(n->m / n->k));
    return fmin(usual, fmax(n->width / 20, 0.1 * way) / speed);
}

static void motion(const void *context, double delta, const double *times, double r[][3])
{
    const numbers *n = context;
    double         edge[5], t = 0, y[2] = {n->q + delta, n->v * (1 + delta)};
    trust_ode      ode = {.n = 2, .f = slopes, .step = step_of, .context = n};
    int            count = edges_of(n->shape, edge);
    for (int i = 0; i < count; i++) (n->of_time ? ode.times : ode.places)[i] = n->centre + edge[i] * n->width;
    if (n->of_time)
        ode.ntimes = count;
    else
        ode.nplaces = count;
    if (n->shaker) { // the block starts at rest on the table, which the tail of the pulse may move already
        double u = -n->centre / n->width;
        y[0] += n->amplitude * value_of(n->shape, u);
        y[1] += n->amplitude / n->width * slope_of(n->shape, u);
    }
    for (int i = 0; i < TRUST_TIMES; i++) {
        trust_solve(&ode, y, t, times[i]);
        t = times[i];
        r[i][0] = n->pendulum ? n->l * sin(y[0]) : y[0];
        r[i][1] = n->pendulum ? -n->l * cos(y[0]) : 0;
        r[i][2] = 0;
        if (n->road) {
            r[i][0] = n->l * t;
            r[i][2] = y[0];
        }
    }
}

// ---- model files ----------------------------------------------------------------------------------------------------

static void write_slider(trust_case *c, const numbers *n, const char *law, bool by_input)
{
    trust_write(c, "kardan: 1\ngravity: [0, 0, 0]\n");
    if (by_input) trust_write(c, "inputs:\n  push: {value: \"%s\"}\n", law);
    trust_write(c, "bodies:\n  block: {position: [0, 0, 0], mass: %.17g, inertia: [1, 1, 1]}\n", n->m);
    trust_write(c,
                "joints:\n  slide: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [1, 0, 0], q: "
                "%.17g, v: %.17g}\n",
                n->q, n->v);
    trust_write(c, "forces:\n  push: {type: applied, to: block, force: [\"%s\", 0, 0]}\n",
                by_input ? "input.push" : law);
    if (n->k > 0)
        trust_write(c, "  spring: {type: joint_spring, joint: slide, stiffness: %.17g, damping: %.17g, rest: 0}\n",
                    n->k, n->c);
}

static void write_pendulum(trust_case *c, const numbers *n, const char *law)
{
    double Jc = n->J - n->m * n->l * n->l;
    trust_write(c, "kardan: 1\ngravity: [0, %.17g, 0]\n", -n->gravity);
    trust_write(c, "bodies:\n  block: {position: [0, %.17g, 0], mass: %.17g, inertia: [%.17g, %.17g, %.17g]}\n", -n->l,
                n->m, Jc, Jc, Jc);
    trust_write(c,
                "joints:\n  slide: {type: revolute, bodies: [ground, block], point: [0, 0, 0], axis: [0, 0, 1], q: "
                "%.17g, v: %.17g}\n",
                n->q, n->v);
    trust_write(
        c,
        "forces:\n  push: {type: joint_spring, joint: slide, stiffness: %.17g, damping: %.17g, rest: 0, law: \"%s\"}\n",
        n->k, n->c, law);
}

static void write_shaker(trust_case *c, const numbers *n, const char *law)
{
    trust_write(
        c, "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n  table: {position: [0, 0, 0], mass: 1, inertia: [1, 1, 1]}\n");
    trust_write(c, "  block: {position: [0, 0, 0], mass: %.17g, inertia: [1, 1, 1]}\n", n->m);
    trust_write(c,
                "joints:\n  drive: {type: prismatic, bodies: [ground, table], point: [0, 0, 0], axis: [1, 0, 0], "
                "motion: \"%s\"}\n",
                law);
    trust_write(c, "  slide: {type: prismatic, bodies: [table, block], point: [0, 0, 0], axis: [1, 0, 0]}\n");
    trust_write(c, "forces:\n  spring: {type: joint_spring, joint: slide, stiffness: %.17g, damping: %.17g, rest: 0}\n",
                n->k, n->c);
    c->body = 1;
}

// l is the speed along the road; the centre and width of the bump are told as times
static void write_road(trust_case *c, const numbers *n)
{
    char    law[500];
    numbers along = *n;
    along.centre *= n->l;
    along.width *= n->l;
    expression(&along, "x", law, sizeof law);
    trust_write(
        c, "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n  trolley: {position: [0, 0, 0], mass: 1, inertia: [1, 1, 1]}\n");
    trust_write(c, "  wheel: {position: [0, 0, 0], mass: %.17g, inertia: [1, 1, 1]}\n", n->m);
    trust_write(c,
                "joints:\n  way: {type: prismatic, bodies: [ground, trolley], point: [0, 0, 0], axis: [1, 0, 0], "
                "motion: %.17g*t}\n",
                n->l);
    trust_write(c, "  guide: {type: prismatic, bodies: [trolley, wheel], point: [0, 0, 0], axis: [0, 0, 1]}\n");
    trust_write(c, "forces:\n  damper: {type: joint_spring, joint: guide, damping: %.17g}\n", n->c);
    trust_write(c, "  tyre: {type: tyre, body: wheel, radius: 0, stiffness: %.17g, lifts_off: false, road: \"%s\"}\n",
                n->k, law);
    c->body = 1;
}

// Velocities that a shaker reaches for a moment carry an error relative to them, which becomes one of the place
static void add_condition(trust_case *c, double speed)
{
    for (int i = 0; i < TRUST_TIMES; i++) c->condition[i] += speed * c->times[TRUST_TIMES - 1] / c->length;
}

void trust_pulse(trust_dice *dice, trust_case *c)
{
    char    law[500];
    numbers n = {
        .of_time = true, .m = trust_decades(dice, 0.1, 100), .gravity = 9.81, .t_end = trust_decades(dice, 0.5, 20)};
    int kind = trust_choice(dice, 5);
    n.pendulum = kind == 2;
    n.shaker = kind == 3;
    n.road = kind == 4;
    n.shape = (shape)trust_choice(dice, n.shaker ? SMOOTH_STEPS + 1
                                        : n.road ? LAPLACE + 1
                                                 : SHAPES); // a wall does work at once
    n.width = n.t_end * trust_decades(dice, 1e-4, 1e-1) / 2;
    n.centre = trust_uniform(dice, 0.05, 0.7) * n.t_end;
    n.l = trust_decades(dice, 0.2, 3);
    n.J = n.m * n.l * n.l * 1.2;
    // a pulse that changes the velocity by about one length per run, or one radian per second
    double change = trust_sign(dice) * trust_decades(dice, 0.1, 3);
    n.amplitude = change * (n.pendulum ? n.J : n.m) / n.width;
    bool sprung = n.shaker || n.road || trust_choice(dice, 2);
    if (sprung) {
        double omega = trust_decades(dice, 0.5, 30) / n.t_end;
        n.k = (n.pendulum ? n.J : n.m) * omega * omega;
        n.c = trust_uniform(dice, 0, 1) * (n.pendulum ? n.J : n.m) * omega;
    }
    if (n.shaker) n.amplitude = change;
    if (n.road) n.amplitude = change * n.m / (n.k * n.width);
    if (!n.shaker && !n.road && trust_choice(dice, 2)) n.v = trust_uniform(dice, -1, 1);
    expression(&n, "t", law, sizeof law);
    c->family = "pulse";
    c->length = n.pendulum ? n.l : fmax(1, fabs(n.v) * n.t_end);
    if (n.pendulum)
        write_pendulum(c, &n, law);
    else if (n.shaker)
        write_shaker(c, &n, law);
    else if (n.road)
        write_road(c, &n);
    else
        write_slider(c, &n, law, kind == 1);
    trust_case_solve(c, n.t_end, motion, &n);
    if (n.shaker) add_condition(c, fabs(n.amplitude) / n.width);
}

void trust_bump(trust_dice *dice, trust_case *c)
{
    char    law[500];
    numbers n = {.m = trust_decades(dice, 0.1, 100), .t_end = trust_decades(dice, 0.5, 20), .gravity = 0};
    n.pendulum = trust_choice(dice, 3) == 0;
    n.shape = (shape)trust_choice(dice, SHAPES);
    n.l = trust_decades(dice, 0.2, 3);
    n.J = n.m * n.l * n.l * 1.2;
    // the way goes through the band once; the bump takes or gives a part of the energy, or reflects well
    double way = n.pendulum ? trust_uniform(dice, 1, 6) : trust_decades(dice, 0.1, 10);
    n.v = way / n.t_end;
    n.width = way * trust_decades(dice, 1e-4, 1e-1) / 2;
    n.centre = trust_uniform(dice, 0.1, 0.6) * way;
    double energy = 0.5 * (n.pendulum ? n.J : n.m) * n.v * n.v, work = trust_uniform(dice, -2, 0.6);
    if (work > -0.1 && work < 0.1) work = 0.3;
    n.amplitude = -work * energy / n.width / 2;
    expression(&n, "joint.slide.q", law, sizeof law);
    c->family = "bump";
    c->length = n.pendulum ? n.l : way;
    if (n.pendulum)
        write_pendulum(c, &n, law);
    else
        write_slider(c, &n, law, false);
    trust_case_solve(c, n.t_end, motion, &n);
}

// Oscillators and pendulums with slow forces: nothing to find
void trust_innocent(trust_dice *dice, trust_case *c)
{
    char    law[500];
    numbers n = {
        .of_time = true, .m = trust_decades(dice, 0.1, 100), .gravity = 9.81, .t_end = trust_decades(dice, 0.5, 10)};
    n.pendulum = trust_choice(dice, 2);
    n.shape = GAUSS;
    n.width = n.t_end * trust_uniform(dice, 0.2, 1);
    n.centre = trust_uniform(dice, 0, 1) * n.t_end;
    n.l = trust_decades(dice, 0.2, 3);
    n.J = n.m * n.l * n.l * 1.2;
    double inertia = n.pendulum ? n.J : n.m, omega = trust_decades(dice, 0.5, 30) / n.t_end;
    n.k = inertia * omega * omega;
    n.c = trust_uniform(dice, 0, 1) * inertia * omega;
    n.amplitude = trust_uniform(dice, -1, 1) * inertia / n.width;
    n.q = trust_uniform(dice, -1, 1);
    n.v = trust_uniform(dice, -1, 1);
    expression(&n, "t", law, sizeof law);
    c->family = "innocent";
    c->length = n.pendulum ? n.l : fmax(1, fabs(n.v) * n.t_end);
    if (n.pendulum)
        write_pendulum(c, &n, law);
    else
        write_slider(c, &n, law, false);
    trust_case_solve(c, n.t_end, motion, &n);
}
