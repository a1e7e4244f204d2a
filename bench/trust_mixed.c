// trust_mixed.c: several traps in one model: a load on a spring and a damper beside a table whose velocity jumps, a short pulse
// of a force, and a stiff elastic wall on one side. Reference: m x'' = -k (x - b) - c (x' - b') + A pulse(t) - K (x - wall)^e
// in pieces between kinks, with steps that end at the wall and are short inside of the pulse.
#include "trust.h"

#include <math.h>

#define ROWS 3

typedef struct numbers {
    double m, k, c;
    double t[ROWS], y[ROWS];  // table of the drive
    double force, t0, w;      // pulse
    double wall, hard, power; // contact where x > wall
    double v, t_end, length;
    int    form; // of the pulse: exp(-s^2), exp(-|s|), 1 / (1 + s^4)
} numbers;

static double rate_of(const numbers *n, int i)
{
    return i <= 0 || i >= ROWS ? 0 : (n->y[i] - n->y[i - 1]) / (n->t[i] - n->t[i - 1]);
}

static double pulse_of(const numbers *n, double t)
{
    const double s = (t - n->t0) / n->w;
    return n->form == 0 ? exp(-s * s) : n->form == 1 ? exp(-fabs(s)) : 1 / (1 + s * s * s * s);
}

typedef struct piece {
    const numbers *n;
    int            row;
} piece;

static void slopes(double t, const double *y, double *dy, const void *context)
{
    const piece   *p = context;
    const numbers *n = p->n;
    const double   rate = rate_of(n, p->row), deep = y[0] - n->wall;
    const double   base = p->row == 0 ? n->y[0] : n->y[p->row - 1] + rate * (t - n->t[p->row - 1]);
    double         force = -n->k * (y[0] - base) - n->c * (y[1] - rate) + n->force * pulse_of(n, t);
    if (deep > 0) force -= n->hard * pow(deep, n->power);
    dy[0] = y[1];
    dy[1] = force / n->m;
}

// Short in the pulse, where the wall is near, and behind it
static double step_of(double t, const double *y, const void *context)
{
    const piece   *p = context;
    const numbers *n = p->n;
    const double   deep = y[0] - n->wall, far = fabs(t - n->t0) / n->w;
    double         h = fmin(n->t_end / 200, 0.1 / (sqrt(n->k / n->m) + n->c / n->m));
    if (far < 40)
        h = fmin(h, n->w / 8);
    else if (n->form == 2)
        h = fmin(h, 0.1 * far * n->w);
    else
        h = fmin(h, (far - 39) * n->w);
    // K e d^(e - 1) is the stiffness, at its deepest; on the way there no step may come and go
    const double d = pow((n->power + 1) * n->m * y[1] * y[1] / (2 * n->hard), 1 / (n->power + 1)) + fmax(deep, 0);
    const double swing = 1 / sqrt(n->hard * n->power * pow(fmax(d, 1e-300), n->power - 1) / n->m);
    if (deep > 0) h = fmin(h, 0.05 * swing);
    if (deep <= 0) h = fmin(h, fmax(0.2 * swing, -0.3 * deep / fmax(fabs(y[1]), 1e-300)));
    return h;
}

// Data moved by a part delta: start, size of the pulse, place of the wall
static void motion(const void *context, double delta, const double *times, double r[][3])
{
    numbers n = *(const numbers *)context;
    piece   p = {&n, 0};
    double  t = 0, y[2] = {delta * n.length, n.v * (1 + delta)};
    n.force *= 1 + delta;
    n.wall += delta * n.length;
    trust_ode ode = {.n = 2, .f = slopes, .step = step_of, .context = &p, .nplaces = 1, .places = {n.wall}};
    if (n.form == 1) ode.ntimes = 1, ode.times[0] = n.t0;
    for (int i = 0; i < TRUST_TIMES; i++) {
        for (; p.row < ROWS && n.t[p.row] <= times[i]; p.row++) {
            trust_solve(&ode, y, t, n.t[p.row]);
            t = n.t[p.row];
        }
        trust_solve(&ode, y, t, times[i]);
        t = times[i];
        r[i][0] = y[0];
        r[i][1] = r[i][2] = 0;
    }
}

static void write_pulse(trust_case *c, const numbers *n)
{
    trust_write(c, "  push: {type: applied, to: load, force: [\"%.17g*", n->force);
    switch (n->form) {
    case 0:
        trust_write(c, "exp(-((t - %.17g)/%.17g)^2)", n->t0, n->w);
        break;
    case 1:
        trust_write(c, "exp(-abs((t - %.17g)/%.17g))", n->t0, n->w);
        break;
    default:
        trust_write(c, "1/(1 + ((t - %.17g)/%.17g)^4)", n->t0, n->w);
        break;
    }
    trust_write(c, "\", 0, 0]}\n");
}

void trust_mixed(trust_dice *dice, trust_case *c)
{
    numbers      n = {.m = trust_decades(dice, 0.1, 100), .t_end = trust_decades(dice, 0.5, 10)};
    const double size = trust_decades(dice, 0.02, 1), omega = trust_decades(dice, 3, 30) / n.t_end;
    n.length = size;
    n.k = n.m * omega * omega;
    n.c = n.m * omega * trust_uniform(dice, 0.02, 0.6);
    n.v = trust_sign(dice) * omega * size * trust_uniform(dice, 0.1, 0.5);
    for (int i = 0; i < ROWS; i++) {
        n.t[i] = n.t_end * (0.05 + 0.8 * (i + trust_uniform(dice, 0, 0.8)) / ROWS);
        n.y[i] = i == 0 ? 0 : size * trust_uniform(dice, -1, 1);
    }
    n.form = trust_choice(dice, 3);
    n.w = n.t_end * trust_decades(dice, 1e-4, 1e-1);
    n.t0 = n.t_end * trust_uniform(dice, 0.2, 0.7);
    n.force = trust_sign(dice) * n.m * omega * size * trust_uniform(dice, 0.3, 1.5) / n.w;
    n.wall = size * trust_uniform(dice, 0.1, 0.6);
    n.power = 1 + 0.5 * trust_choice(dice, 2);
    n.hard = n.k * trust_decades(dice, 1e2, 1e7) / pow(size, n.power - 1);
    c->family = "mixed";
    c->length = size;
    c->atol_scale = fmin(1, size);
    trust_write(
        c, "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n  table: {position: [0, 0, 0], mass: 1, inertia: [1, 1, 1]}\n");
    trust_write(c, "  load: {position: [0, 0, 0], mass: %.17g, inertia: [1, 1, 1]}\n", n.m);
    trust_write(c,
                "joints:\n  drive: {type: prismatic, bodies: [ground, table], point: [0, 0, 0], axis: [1, 0, 0], "
                "motion: \"%.17g",
                n.y[0]);
    for (int i = 0; i < ROWS; i++)
        trust_write(c, " + %.17g*ramp(t - %.17g)", rate_of(&n, i + 1) - rate_of(&n, i), n.t[i]);
    trust_write(c,
                "\"}\n  slide: {type: prismatic, bodies: [table, load], point: [0, 0, 0], axis: [1, 0, 0], v: %.17g}\n",
                n.v);
    trust_write(c, "forces:\n  spring: {type: joint_spring, joint: slide, stiffness: %.17g, damping: %.17g, rest: 0}\n",
                n.k, n.c);
    write_pulse(c, &n);
    trust_write(
        c,
        "  wall: {type: contact, from: {body: ground, point: [%.17g, 0, 0], axis: [-1, 0, 0]}, to: load, radius: "
        "0, stiffness: %.17g, exponent: %.17g}\n",
        n.wall, n.hard, n.power);
    c->body = 1;
    trust_case_solve(c, n.t_end, motion, &n);
}
