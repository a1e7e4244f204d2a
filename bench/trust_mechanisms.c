// trust_mechanisms.c: closed loops of one degree of freedom in the angle q of the crank: parallelograms and
// slider-cranks with equal rods, which pass singular positions, and slider-cranks of all sizes. Reference: J(q) q'' +
// J'(q) q'^2 / 2 = Q.
#include "trust.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>

typedef struct numbers {
    double r, l; // crank, rod (parallelogram: coupler)
    double m[3]; // crank, rod, third body
    double g, q, v, t_end;
    bool   parallelogram;
} numbers;

// Kinetic energy J(q) q'^2 / 2 of crank, rod and piston; complex arguments give the derivative by a complex step.
// Uniform thin rods: J = m l^2 / 12 about the centre. Piston x = r cos q + sqrt(l^2 - r^2 sin^2 q).
static double complex inertia(const numbers *n, double complex q)
{
    if (n->parallelogram) return (n->m[0] + n->m[2]) * n->r * n->r / 3 + n->m[1] * n->r * n->r;
    double complex s = csin(q), c = ccos(q);
    // sin phi = -(r/l) sin q; for equal rods phi = -q all the way round
    double complex cos_phi = n->r == n->l ? c : csqrt(1 - (n->r / n->l) * (n->r / n->l) * s * s);
    double complex rate = n->r == n->l ? -1 : -(n->r / n->l) * c / cos_phi; // phi' / q'
    double complex sin_phi = n->r == n->l ? -s : -(n->r / n->l) * s;
    double complex x = -n->r * s - n->l / 2 * sin_phi * rate, y = n->r * c + n->l / 2 * cos_phi * rate;
    double complex piston = -n->r * s - n->l * sin_phi * rate;
    return n->m[0] * n->r * n->r / 3 + n->m[1] * (x * x + y * y) + n->m[1] * n->l * n->l / 12 * rate * rate +
           n->m[2] * piston * piston;
}

// Gravity along -y: potential m g y of the centres
static double complex potential(const numbers *n, double complex q)
{
    double complex y = n->r * csin(q);
    if (n->parallelogram) return n->g * y * ((n->m[0] + n->m[2]) / 2 + n->m[1]);
    return n->g * y * (n->m[0] / 2 + n->m[1] / 2);
}

static void slopes(double t, const double *y, double *dy, const void *context)
{
    const numbers *n = context;
    const double   tiny = 1e-30;
    double complex J = inertia(n, y[0] + I * tiny), V = potential(n, y[0] + I * tiny);
    (void)t;
    dy[0] = y[1];
    dy[1] = -(cimag(V) / tiny + 0.5 * cimag(J) / tiny * y[1] * y[1]) / creal(J);
}

static double step_of(double t, const double *y, const void *context)
{
    const numbers *n = context;
    (void)t;
    return fmin(n->t_end / 100, 0.05 / fmax(fabs(y[1]), 1e-9 / n->t_end));
}

static void motion(const void *context, double delta, const double *times, double r[][3])
{
    const numbers *n = context;
    double         t = 0, y[2] = {n->q + delta, n->v * (1 + delta)};
    trust_ode      ode = {.n = 2, .f = slopes, .step = step_of, .context = n};
    for (int i = 0; i < TRUST_TIMES; i++) {
        trust_solve(&ode, y, t, times[i]);
        t = times[i];
        // the middle of the crank for the sign of q, body 0
        r[i][0] = n->r / 2 * cos(y[0]);
        r[i][1] = n->r / 2 * sin(y[0]);
        r[i][2] = 0;
    }
}

static void write_rod(trust_case *c, const char *name, double x, double y, double angle, double m, double l)
{
    double J = m * l * l / 12;
    trust_write(c,
                "  %s: {position: [%.17g, %.17g, 0], orientation: {axis: [0, 0, 1], angle: %.17g}, mass: %.17g, "
                "inertia: [%.17g, %.17g, %.17g]}\n",
                name, x, y, angle, m, J / 100, J, J);
}

static void write_joint(trust_case *c, const char *name, const char *from, const char *to, double x, double y,
                        const char *more)
{
    trust_write(c, "  %s: {type: revolute, bodies: [%s, %s], point: [%.17g, %.17g, 0], axis: [0, 0, 1]%s}\n", name,
                from, to, x, y, more);
}

static void write_model(trust_case *c, const numbers *n)
{
    char   start[80];
    double x = n->r * cos(n->q), y = n->r * sin(n->q);
    snprintf(start, sizeof start, ", v: %.17g, hold: true", n->v);
    trust_write(c, "kardan: 1\ngravity: [0, %.17g, 0]\nbodies:\n", -n->g);
    write_rod(c, "crank", x / 2, y / 2, n->q, n->m[0], n->r);
    if (n->parallelogram) {
        write_rod(c, "coupler", x + n->l / 2, y, 0, n->m[1], n->l);
        write_rod(c, "rocker", n->l + x / 2, y / 2, n->q, n->m[2], n->r);
        trust_write(c, "joints:\n");
        write_joint(c, "a", "ground", "crank", 0, 0, start);
        write_joint(c, "b", "crank", "coupler", x, y, "");
        write_joint(c, "c", "coupler", "rocker", n->l + x, y, "");
        write_joint(c, "d", "ground", "rocker", n->l, 0, "");
        return;
    }
    double phi = asin(-n->r / n->l * sin(n->q)), end = x + n->l * cos(phi), J = n->m[2] * n->r * n->r / 10;
    write_rod(c, "rod", (x + end) / 2, y / 2, phi, n->m[1], n->l);
    trust_write(c, "  piston: {position: [%.17g, 0, 0], mass: %.17g, inertia: [%.17g, %.17g, %.17g]}\njoints:\n", end,
                n->m[2], J, J, J);
    write_joint(c, "a", "ground", "crank", 0, 0, start);
    write_joint(c, "b", "crank", "rod", x, y, "");
    write_joint(c, "c", "rod", "piston", end, 0, "");
    trust_write(c, "  slide: {type: prismatic, bodies: [ground, piston], point: [0, 0, 0], axis: [1, 0, 0]}\n");
}

void trust_singular(trust_dice *dice, trust_case *c)
{
    numbers n = {.parallelogram = trust_choice(dice, 2),
                 .r = trust_decades(dice, 0.05, 2),
                 .g = trust_choice(dice, 2) ? 9.81 : 0};
    n.l = n.parallelogram && trust_choice(dice, 2) ? n.r * trust_uniform(dice, 0.5, 3) : n.r;
    for (int i = 0; i < 3; i++) n.m[i] = trust_decades(dice, 0.2, 5);
    // passes of the singular positions (parallelogram: q = k pi, equal rods: q = pi/2 + k pi) at a good speed
    n.q = n.parallelogram ? trust_uniform(dice, 0.3, 2.8) : trust_uniform(dice, -1.2, 1.2);
    double fast = sqrt(4 * 9.81 / n.r);
    n.v = trust_sign(dice) * (n.g > 0 ? fast * trust_uniform(dice, 1.5, 4) : trust_decades(dice, 0.5, 30));
    n.t_end = trust_uniform(dice, 2, 12) / fabs(n.v);
    c->family = "singular";
    c->length = n.r + n.l; // the largest coordinate: tolerances are relative to it
    write_model(c, &n);
    trust_case_solve(c, n.t_end, motion, &n);
}

void trust_scaled(trust_dice *dice, trust_case *c)
{
    double  length = trust_decades(dice, 1e-5, 1e5), mass = trust_decades(dice, 1e-6, 1e6);
    numbers n = {.r = length * trust_uniform(dice, 0.1, 0.5)};
    n.l = length;
    for (int i = 0; i < 3; i++) n.m[i] = mass * trust_decades(dice, 0.2, 5);
    double period = trust_decades(dice, 1e-3, 1e3); // of a turn
    n.q = trust_uniform(dice, -2.5, 2.5);
    n.v = trust_sign(dice) * 6 / period;
    n.g = trust_uniform(dice, 0, 1) * length / (period * period);
    n.t_end = trust_uniform(dice, 0.5, 3) * period;
    c->family = "scaled";
    c->length = n.r + n.l; // the largest coordinate: tolerances are relative to it
    c->atol_scale = fmin(1, fmin(length, length / period));
    write_model(c, &n);
    trust_case_solve(c, n.t_end, motion, &n);
}
