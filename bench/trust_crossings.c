// trust_crossings.c: laws with many jumps or kinks in a coordinate, and pendulums that swing between elastic stops: each
// crossing loses little, all of them together more. Reference: the equation of the single degree of freedom, with steps
// that end at the crossings.
#include "trust.h"

#include <math.h>

typedef enum shape { SAW, SQUARE, TRIANGLE, SHAPES } shape;

typedef struct numbers {
    shape  shape;
    bool   pendulum;
    double m, amplitude, pitch, k; // slider: force of the teeth, their distance, spring
    double l, J, stiffness, stop;  // pendulum of length l between stops at +- stop
    double q, v, t_end;
} numbers;

// ---- motion ---------------------------------------------------------------------------------------------------------

// Without a mean: the teeth take and give back
static double force_of_teeth(const numbers *n, double q)
{
    double part = q / n->pitch - floor(q / n->pitch);
    switch (n->shape) {
    case SAW:
        return n->amplitude * (part - 0.5);
    case SQUARE:
        return part < 0.5 ? n->amplitude : -n->amplitude;
    default:
        return n->amplitude * (fabs(part - 0.5) - 0.25);
    }
}

static void slopes(double t, const double *y, double *dy, const void *context)
{
    const numbers *n = context;
    (void)t;
    dy[0] = y[1];
    if (!n->pendulum) {
        dy[1] = (force_of_teeth(n, y[0]) - n->k * y[0]) / n->m;
        return;
    }
    double beyond = fmax(y[0] - n->stop, 0) + fmin(y[0] + n->stop, 0);
    dy[1] = (-n->m * 9.81 * n->l * sin(y[0]) - n->stiffness * beyond) / n->J;
}

static double step_of(double t, const double *y, const void *context)
{
    const numbers *n = context;
    (void)t;
    if (!n->pendulum) return fmin(n->t_end / 300, 0.2 * n->pitch / fmax(fabs(y[1]), 1e-2 * n->v));
    const double free = 0.1 * sqrt(n->l / 9.81), stiff = 0.1 * sqrt(n->J / n->stiffness);
    return fabs(y[0]) < n->stop ? fmin(free, fmax(stiff, 0.5 * (n->stop - fabs(y[0])) / fmax(fabs(y[1]), 1e-3)))
                                : stiff;
}

static void motion(const void *context, double delta, const double *times, double r[][3])
{
    const numbers *n = context;
    double         t = 0, y[2] = {n->q + delta * n->pendulum, n->v * (1 + delta)};
    trust_ode      ode = {.n = 2, .f = slopes, .step = step_of, .context = n};
    if (n->pendulum) {
        ode.nplaces = 2;
        ode.places[0] = -n->stop, ode.places[1] = n->stop;
    } else {
        ode.pitch = 0.5 * n->pitch;
    }
    for (int i = 0; i < TRUST_TIMES; i++) {
        trust_solve(&ode, y, t, times[i]);
        t = times[i];
        r[i][0] = n->pendulum ? n->l * sin(y[0]) : y[0];
        r[i][1] = n->pendulum ? -n->l * cos(y[0]) : 0;
        r[i][2] = 0;
    }
}

// ---- models ---------------------------------------------------------------------------------------------------------

void trust_teeth(trust_dice *dice, trust_case *c)
{
    static const char *const law[SHAPES] = {
        [SAW] = "%.17g*(mod(q, %.17g)/%.17g - 0.5)",
        [SQUARE] = "%.17g*if(mod(q, %.17g) < 0.5*%.17g, 1, -1)",
        [TRIANGLE] = "%.17g*(abs(mod(q, %.17g)/%.17g - 0.5) - 0.25)",
    };
    numbers n = {.shape = (shape)trust_choice(dice, SHAPES), .m = trust_decades(dice, 0.1, 10)};
    n.t_end = trust_decades(dice, 0.5, 10);
    double way = trust_decades(dice, 0.1, 10), teeth = trust_decades(dice, 3, 150);
    n.v = way / n.t_end;
    n.pitch = way / teeth;
    n.q = 0.37 * n.pitch;
    n.amplitude = trust_uniform(dice, 0.05, 0.5) * 4 * 0.5 * n.m * n.v * n.v / n.pitch; // of the kinetic energy
    if (trust_choice(dice, 2)) n.k = n.m * pow(trust_uniform(dice, 0.1, 3) / n.t_end, 2);
    c->family = "teeth";
    c->length = way;
    trust_write(c, "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n  block: {mass: %.17g, inertia: [1, 1, 1]}\n", n.m);
    trust_write(c,
                "joints:\n  slide: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [1, 0, 0], q: "
                "%.17g, v: %.17g}\nforces:\n",
                n.q, n.v);
    trust_write(c, "  teeth: {type: joint_spring, joint: slide, law: \"");
    trust_write(c, law[n.shape], n.amplitude, n.pitch, n.pitch);
    trust_write(c, "\"}\n  spring: {type: joint_spring, joint: slide, stiffness: %.17g, rest: 0}\n", n.k);
    trust_case_solve(c, n.t_end, motion, &n);
}

void trust_stops(trust_dice *dice, trust_case *c)
{
    numbers n = {.pendulum = true, .m = trust_decades(dice, 0.1, 10), .l = trust_decades(dice, 0.2, 2)};
    n.J = 1.2 * n.m * n.l * n.l;
    n.stop = trust_uniform(dice, 0.2, 1);
    n.stiffness = n.J * 9.81 / n.l * pow(trust_decades(dice, 10, 1000), 2);
    n.q = trust_uniform(dice, -0.9, 0.9) * n.stop;
    n.v = trust_sign(dice) * trust_uniform(dice, 2, 5) * sqrt(9.81 / n.l);
    double passage = 2 * n.stop / fabs(n.v), bounces = trust_decades(dice, 3, 60);
    n.t_end = bounces * passage;
    c->family = "stops";
    c->length = n.l;
    double Jc = n.J - n.m * n.l * n.l;
    trust_write(c, "kardan: 1\ngravity: [0, -9.81, 0]\n");
    trust_write(c, "bodies:\n  bob: {position: [0, %.17g, 0], mass: %.17g, inertia: [%.17g, %.17g, %.17g]}\n", -n.l,
                n.m, Jc, Jc, Jc);
    trust_write(
        c,
        "joints:\n  hinge: {type: revolute, bodies: [ground, bob], point: [0, 0, 0], axis: [0, 0, 1], q: %.17g, "
        "v: %.17g}\n",
        n.q, n.v);
    trust_write(c, "forces:\n  stop: {type: joint_stop, joint: hinge, lower: %.17g, upper: %.17g, stiffness: %.17g}\n",
                -n.stop, n.stop, n.stiffness);
    trust_case_solve(c, n.t_end, motion, &n);
    for (int i = 0; i < TRUST_TIMES; i++) // an error of one tolerance of the speed at each bounce so far
        c->condition[i] += ceil(c->times[i] / passage) * c->times[i] / 2 * (1 + fabs(n.v));
}
