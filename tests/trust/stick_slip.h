// stick_slip.h: blocks on springs in a row, pulled with a given speed, with dry friction of Stribeck's law: as a model
// of kardan, and as a piecewise smooth ordinary differential equation with an integrator of its own.
//
//     m_i x_i'' = L_i - z_i F_i(x_i'),   L_i = k_i (x_(i-1) - x_i) - k_(i+1) (x_i - x_(i+1)),   x_(-1) = speed t
//     F_i(v) = Fc_i + (Fs_i - Fc_i) exp(-(v/vs_i)^2);   z_i = 0: x_i' = 0 as long as |L_i| <= Fs_i
#ifndef KARDAN_TESTS_STICK_SLIP_H
#define KARDAN_TESTS_STICK_SLIP_H

#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BLOCKS = 2, MOST_CHANGES = 400 };

typedef struct row_of_blocks {
    int    n;
    bool   turns;  // shafts instead of blocks
    bool   across; // half of the friction by the force across the joint (blocks only)
    double m[MOST_BLOCKS], k[MOST_BLOCKS], sliding[MOST_BLOCKS], before[MOST_BLOCKS], stribeck[MOST_BLOCKS];
    double speed;
} row_of_blocks;

// Changes in their order: which block, what it does from then on
typedef struct changes {
    int    n;
    double t[MOST_CHANGES];
    int    block[MOST_CHANGES], direction[MOST_CHANGES]; // 0: sticks
} changes;

// ---- reference ------------------------------------------------------------------------------------------------------

typedef struct block_state {
    double x[MOST_BLOCKS], v[MOST_BLOCKS];
} block_state;

static inline double pull(const row_of_blocks *r, double t, const block_state *s, int i)
{
    double front = i == 0 ? r->speed * t : s->x[i - 1];
    double back = i + 1 < r->n ? r->k[i + 1] * (s->x[i] - s->x[i + 1]) : 0;
    return r->k[i] * (front - s->x[i]) - back;
}

static inline block_state rate_of(const row_of_blocks *r, const int *z, double t, const block_state *s)
{
    block_state out = {.x = {0}};
    for (int i = 0; i < r->n; i++) {
        if (z[i] == 0) continue;
        double w = s->v[i] / r->stribeck[i];
        double F = r->sliding[i] + (r->before[i] - r->sliding[i]) * exp(-w * w);
        out.x[i] = s->v[i];
        out.v[i] = (pull(r, t, s, i) - z[i] * F) / r->m[i];
    }
    return out;
}

static inline block_state moved(const row_of_blocks *r, const block_state *s, const block_state *rate, double h)
{
    block_state out = {.x = {0}};
    for (int i = 0; i < r->n; i++) {
        out.x[i] = s->x[i] + h * rate->x[i];
        out.v[i] = s->v[i] + h * rate->v[i];
    }
    return out;
}

// The classical Runge-Kutta method
static inline block_state runge_kutta_step(const row_of_blocks *r, const int *z, double t, const block_state *s,
                                           double h)
{
    block_state k1 = rate_of(r, z, t, s), a = moved(r, s, &k1, 0.5 * h);
    block_state k2 = rate_of(r, z, t + 0.5 * h, &a), b = moved(r, s, &k2, 0.5 * h);
    block_state k3 = rate_of(r, z, t + 0.5 * h, &b), c = moved(r, s, &k3, h);
    block_state k4 = rate_of(r, z, t + h, &c), sum = {.x = {0}};
    for (int i = 0; i < r->n; i++) {
        sum.x[i] = (k1.x[i] + 2 * k2.x[i] + 2 * k3.x[i] + k4.x[i]) / 6;
        sum.v[i] = (k1.v[i] + 2 * k2.v[i] + 2 * k3.v[i] + k4.v[i]) / 6;
    }
    return moved(r, s, &sum, h);
}

// Below zero: block i changes
static inline double threshold(const row_of_blocks *r, const int *z, double t, const block_state *s, int i)
{
    return z[i] == 0 ? r->before[i] - fabs(pull(r, t, s, i)) : z[i] * s->v[i];
}

// All changes up to t_end with steps h; each is located by bisection of its step
static inline void reference_changes(const row_of_blocks *r, double t_end, double h, changes *out)
{
    int         z[MOST_BLOCKS] = {0};
    block_state s = {.x = {0}};
    double      t = 0;
    out->n = 0;
    while (t < t_end && out->n < MOST_CHANGES) {
        block_state next = runge_kutta_step(r, z, t, &s, h);
        int         who = -1;
        for (int i = 0; i < r->n; i++)
            if (threshold(r, z, t + h, &next, i) < 0) who = i;
        if (who < 0) {
            s = next;
            t += h;
            continue;
        }
        double low = 0, high = h;
        for (int k = 0; k < 60; k++) {
            double middle = 0.5 * (low + high);
            bool   any = false;
            next = runge_kutta_step(r, z, t, &s, middle);
            for (int i = 0; i < r->n; i++)
                if (threshold(r, z, t + middle, &next, i) < 0) any = true, who = i;
            *(any ? &high : &low) = middle;
        }
        s = runge_kutta_step(r, z, t, &s, high);
        t += high;
        const double L = pull(r, t, &s, who);
        const bool   sticks = z[who] != 0 && fabs(L) <= r->before[who];
        z[who] = sticks ? 0 : L > 0 ? 1 : -1;
        s.v[who] = 0;
        out->t[out->n] = t;
        out->block[out->n] = who;
        out->direction[out->n++] = z[who];
    }
}

// ---- the model ------------------------------------------------------------------------------------------------------

static inline void write_model(const row_of_blocks *r, char *text, size_t size)
{
    const char *type = r->turns ? "revolute" : "prismatic", *axis = r->turns ? "[0, 0, 1]" : "[1, 0, 0]";
    size_t      n = 0;
#define ADD(...) n += (size_t)snprintf(text + n, n < size ? size - n : 0, __VA_ARGS__)
    ADD("kardan: 1\ntitle: blocks\ngravity: [0, 0, -10]\nbodies:\n  puller: {mass: 1, inertia: [1, 1, 1]}\n");
    for (int i = 0; i < r->n; i++)
        ADD("  b%d: {mass: %.17g, inertia: [%.17g, %.17g, %.17g]}\n", i, r->turns ? 1.0 : r->m[i], r->m[i], r->m[i],
            r->m[i]);
    ADD("joints:\n  drive: {type: %s, bodies: [ground, puller], point: [0, 0, 0], axis: %s, motion: '%.17g*t'}\n", type,
        axis, r->speed);
    for (int i = 0; i < r->n; i++)
        ADD("  j%d: {type: %s, bodies: [ground, b%d], point: [0, 0, 0], axis: %s, q: 0, v: 0}\n", i, type, i, axis);
    ADD("frames:\n");
    for (int i = 0; i < r->n; i++) {
        ADD("  front%d: {body: b%d, point: [0, 0, 0]}\n", i, i);
        if (i == 0) ADD("  hook0: {body: puller, point: [%d, 0, 0]}\n", !r->turns);
        if (i > 0) ADD("  hook%d: {body: b%d, point: [%d, 0, 0]}\n", i, i - 1, !r->turns);
    }
    ADD("forces:\n");
    for (int i = 0; i < r->n; i++) {
        const double part = r->across ? 0.5 : 1, weight = 10 * r->m[i];
        ADD("  k%d: {type: %s, from: front%d, to: hook%d, stiffness: %.17g, %s}\n", i, r->turns ? "rsda" : "tsda", i, i,
            r->k[i], r->turns ? "angle: 0" : "length: 1");
        ADD("  grip%d: {type: joint_friction, joint: j%d, coulomb: %.17g, breakaway: %.17g, stribeck: %.17g", i, i,
            part * r->sliding[i], part * r->before[i], r->stribeck[i]);
        if (r->across) ADD(", normal: [%.17g, %.17g]", 0.5 * r->sliding[i] / weight, 0.5 * r->before[i] / weight);
        ADD(", stick: true}\n");
    }
#undef ADD
}

#endif
