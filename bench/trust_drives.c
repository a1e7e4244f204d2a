// trust_drives.c: drives whose velocity jumps, under a sprung mass and at the pivot of a pendulum, and forces that jump
// with the velocity. References: linear and pendulum equations between the kinks, momentum at them; Filippov's motion.
#include "trust.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROWS 4

typedef struct numbers {
    double m, k, c, l, J, g; // J: pendulum, about its centre
    double t[ROWS], y[ROWS]; // table of the drive
    double q, v, t_end;
    bool   pendulum;
} numbers;

// Velocity of the drive between rows i - 1 and i; 0 before and behind the table
static double rate_of(const numbers *n, int i)
{
    return i <= 0 || i >= ROWS ? 0 : (n->y[i] - n->y[i - 1]) / (n->t[i] - n->t[i - 1]);
}

static int row_of(const numbers *n, double t)
{
    int i = 0;
    while (i < ROWS && t >= n->t[i]) i++;
    return i;
}

static double place_of(const numbers *n, double t)
{
    int i = row_of(n, t);
    return i == 0 ? n->y[0] : n->y[i - 1] + rate_of(n, i) * (t - n->t[i - 1]);
}

typedef struct piece {
    const numbers *n;
    int            row;
} piece;

// Sprung mass: y = (place, velocity) in the world. Pendulum: angle and its velocity; the pivot moves evenly.
static void slopes(double t, const double *y, double *dy, const void *context)
{
    const piece   *p = context;
    const numbers *n = p->n;
    dy[0] = y[1];
    if (n->pendulum) {
        dy[1] = -n->m * n->g * n->l * sin(y[0]) / (n->J + n->m * n->l * n->l);
        return;
    }
    double rate = rate_of(n, p->row), base = p->row == 0 ? n->y[0] : n->y[p->row - 1] + rate * (t - n->t[p->row - 1]);
    dy[1] = (-n->k * (y[0] - base) - n->c * (y[1] - rate)) / n->m;
}

static double step_of(double t, const double *y, const void *context)
{
    const piece *p = context;
    (void)t;
    (void)y;
    double omega = p->n->pendulum ? sqrt(p->n->g / p->n->l) : sqrt(p->n->k / p->n->m) + p->n->c / p->n->m;
    return fmin(p->n->t_end / 100, 0.1 / omega);
}

// The pivot's velocity jumps by d: angular momentum about it stays, (J + m l^2) dv = -m l cos(q) d
static void pass_kink(const numbers *n, int row, double *y)
{
    if (!n->pendulum) return;
    double jump = rate_of(n, row + 1) - rate_of(n, row);
    y[1] -= n->m * n->l * cos(y[0]) * jump / (n->J + n->m * n->l * n->l);
}

static void motion(const void *context, double delta, const double *times, double r[][3])
{
    const numbers *n = context;
    piece          p = {n, 0};
    double         t = 0, y[2] = {n->q + delta, n->v * (1 + delta)};
    trust_ode      ode = {.n = 2, .f = slopes, .step = step_of, .context = &p};
    for (int i = 0; i < TRUST_TIMES; i++) {
        for (; p.row < ROWS && n->t[p.row] <= times[i]; p.row++) {
            trust_solve(&ode, y, t, n->t[p.row]);
            t = n->t[p.row];
            pass_kink(n, p.row, y);
        }
        trust_solve(&ode, y, t, times[i]);
        t = times[i];
        r[i][0] = n->pendulum ? place_of(n, t) + n->l * sin(y[0]) : y[0];
        r[i][1] = n->pendulum ? -n->l * cos(y[0]) : 0;
        r[i][2] = 0;
    }
}

// The table as a curve, or as a sum of ramps
static void write_drive(trust_case *c, const numbers *n, bool ramps)
{
    if (!ramps) {
        trust_write(c, "motion: \"road(min(max(t, %.17g), %.17g))\"}\n", n->t[0], n->t[ROWS - 1]);
        return;
    }
    trust_write(c, "motion: \"%.17g", n->y[0]);
    for (int i = 0; i < ROWS; i++)
        trust_write(c, " + %.17g*ramp(t - %.17g)", rate_of(n, i + 1) - rate_of(n, i), n->t[i]);
    trust_write(c, "\"}\n");
}

void trust_kink(trust_dice *dice, trust_case *c)
{
    numbers n = {
        .pendulum = trust_choice(dice, 2), .m = trust_decades(dice, 0.1, 1000), .t_end = trust_decades(dice, 0.3, 10)};
    bool   ramps = trust_choice(dice, 2);
    double size = trust_decades(dice, 0.01, 1), omega = trust_decades(dice, 3, 60) / n.t_end;
    n.k = n.m * omega * omega;
    n.c = n.m * omega * trust_uniform(dice, 0.02, 2);
    n.g = 9.81;
    n.l = n.pendulum ? fmax(trust_decades(dice, 0.2, 3), 9.81 * n.t_end * n.t_end / 3000) : 1;
    n.J = n.m * n.l * n.l * trust_uniform(dice, 0.01, 0.3);
    for (int i = 0; i < ROWS; i++) {
        n.t[i] = n.t_end * (0.05 + 0.8 * (i + trust_uniform(dice, 0, 0.8)) / ROWS);
        n.y[i] = i == 0 ? 0 : size * trust_uniform(dice, -1, 1);
    }
    if (n.pendulum) n.q = trust_uniform(dice, -1, 1);
    c->family = "kink";
    c->length = n.pendulum ? n.l : size;
    c->atol_scale = fmin(1, size);
    trust_write(c, "kardan: 1\ngravity: [0, %.17g, 0]\n", n.pendulum ? -n.g : 0.0);
    if (!ramps) {
        trust_write(c, "curves:\n  road: {form: linear, x: [");
        for (int i = 0; i < ROWS; i++) trust_write(c, "%s%.17g", i ? ", " : "", n.t[i]);
        trust_write(c, "], y: [");
        for (int i = 0; i < ROWS; i++) trust_write(c, "%s%.17g", i ? ", " : "", n.y[i]);
        trust_write(c, "]}\n");
    }
    trust_write(c, "bodies:\n  table: {position: [0, 0, 0], mass: %.17g, inertia: [1, 1, 1]}\n",
                trust_decades(dice, 0.1, 100));
    trust_write(c, "  load: {position: [0, %.17g, 0], mass: %.17g, inertia: [%.17g, %.17g, %.17g]}\n",
                n.pendulum ? -n.l : 0.0, n.m, n.J, n.J, n.J);
    trust_write(c, "joints:\n  drive: {type: prismatic, bodies: [ground, table], point: [0, 0, 0], axis: [1, 0, 0], ");
    write_drive(c, &n, ramps);
    if (n.pendulum)
        trust_write(
            c, "  hinge: {type: revolute, bodies: [table, load], point: [0, 0, 0], axis: [0, 0, 1], q: %.17g}\n", n.q);
    else {
        trust_write(c, "  slide: {type: prismatic, bodies: [table, load], point: [0, 0, 0], axis: [1, 0, 0]}\n");
        trust_write(
            c, "forces:\n  spring: {type: joint_spring, joint: slide, stiffness: %.17g, damping: %.17g, rest: 0}\n",
            n.k, n.c);
    }
    c->body = 1;
    trust_case_solve(c, n.t_end, motion, &n);
}

// ---- forces that jump with the velocity -----------------------------------------------------------------------------

typedef struct friction {
    double m, force, pull, v; // force against the motion, constant pull
} friction;

// Slows down, then rests where the pull is weaker than the jump (Filippov), or goes on the other way
static double friction_place(const friction *n, double v, double t)
{
    double sign = v > 0 ? 1 : -1, a = (n->pull - sign * n->force) / n->m, stop = -v / a;
    if (!(stop > 0) || t < stop) return v * t + 0.5 * a * t * t;
    double x = 0.5 * v * stop;
    if (fabs(n->pull) < n->force) return x;
    a = (n->pull - (n->pull > 0 ? 1 : -1) * n->force) / n->m;
    return x + 0.5 * a * (t - stop) * (t - stop);
}

static void friction_motion(const void *context, double delta, const double *times, double r[][3])
{
    const friction *n = context;
    for (int i = 0; i < TRUST_TIMES; i++) {
        r[i][0] = friction_place(n, n->v * (1 + delta), times[i]);
        r[i][1] = r[i][2] = 0;
    }
}

void trust_chatter(trust_dice *dice, trust_case *c)
{
    friction n = {.m = trust_decades(dice, 0.1, 100), .v = trust_sign(dice) * trust_decades(dice, 0.1, 10)};
    n.force = n.m * trust_decades(dice, 0.5, 20);
    n.pull = n.force * trust_sign(dice) *
             (trust_choice(dice, 3) ? trust_uniform(dice, 0, 0.9) : trust_uniform(dice, 1.1, 1.5));
    double stop = fabs(n.v) * n.m / (n.force + fabs(n.pull)), t_end = stop * trust_uniform(dice, 1.2, 6);
    c->family = "chatter";
    c->length = fmax(fabs(n.v) * t_end, 1e-3);
    trust_write(
        c, "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n  block: {position: [0, 0, 0], mass: %.17g, inertia: [1, 1, 1]}\n",
        n.m);
    trust_write(
        c,
        "joints:\n  slide: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [1, 0, 0], v: %.17g}\n",
        n.v);
    trust_write(c, "forces:\n  rub: {type: joint_spring, joint: slide, law: \"%.17g %s\"}\n", n.pull,
                trust_choice(dice, 2) ? "- @*sign(v)" : "+ if(v > 0, -@, @)");
    for (char *p = c->text, number[40]; (p = strchr(p, '@'));) { // the size of the jump
        int length = snprintf(number, sizeof number, "%.17g", n.force);
        memmove(p + length, p + 1, strlen(p));
        memcpy(p, number, (size_t)length);
    }
    trust_case_solve(c, t_end, friction_motion, &n);
}
