// communicate.c: a communication point: outputs of all systems and the inputs that follow from them.
//
// Outputs may depend on inputs directly. Systems are read again as long as an input of theirs has changed; where that does not
// end there is an algebraic loop, and Newton's method solves  w = C y(w)  with the directional derivatives of the systems.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "cosim/cosim.h"
#include "math/dense.h"

enum { MOST_ITERATIONS = 12 };
static const double CONVERGED = 1e-12; // relative change of an input
static const double SHIFT = 1e-6;      // of an input for differences, relative

static void read_wave(kd_cosim *c, int s, double t)
{
    if (c->wave[s] == c->present_wave && c->heard[s]) kd_cosim_read_task(c, s, t);
}

static void read_heard(kd_cosim *c, int s, double t)
{
    c->status[s] = KD_OK;
    if (c->heard[s]) kd_cosim_read_task(c, s, t);
}

static void read_unheard(kd_cosim *c, int s, double t)
{
    c->status[s] = KD_OK;
    if (!c->heard[s]) kd_cosim_read_task(c, s, t);
}

kd_status kd_cosim_read_rest(kd_cosim *c)
{
    kd_cosim_each(c, read_unheard, c->T);
    return kd_cosim_look(c);
}

// Is there a system in the present wave whose outputs are not those of its inputs?
static bool wants_reading(kd_cosim *c)
{
    bool any = false;
    for (int s = 0; s < c->nsystems; s++) {
        c->status[s] = KD_OK;
        if (c->wave[s] != c->present_wave || !c->heard[s]) continue;
        kd_cosim_take_inputs(c, s);
        any = any || !kd_cosim_is_read(c, s);
    }
    return any;
}

// Each system with what those before it have just told; those of one wave at once
static kd_status sweep(kd_cosim *c, bool *changed)
{
    *changed = false;
    for (c->present_wave = 0; c->present_wave < c->nwaves; c->present_wave++) {
        if (wants_reading(c)) kd_cosim_each(c, read_wave, c->T);
        const kd_status status = kd_cosim_look(c);
        if (status < 0) return status;
        for (int s = 0; s < c->nsystems; s++)
            if (c->wave[s] == c->present_wave && c->heard[s] && kd_cosim_take_outputs(c, s)) *changed = true;
    }
    return KD_OK;
}

// dy = y_u e_i of the system into c->y_other
static kd_status slope(kd_cosim *c, int s, int input)
{
    kd_cosim_system *system = c->system[s];
    double          *u = c->u[s], *dy = c->y_other[s], was = u[input];
    // exactly, where the system knows its derivatives
    if (system->class->directional) {
        double *e = c->u_seen[s];
        memset(e, 0, (size_t)system->ninputs * sizeof *e);
        e[input] = 1;
        c->y_known[s] = false;
        const kd_status status = system->class->directional(system, u, e, dy);
        return status < 0 ? kd_cosim_fail(c, s, status) : KD_OK;
    }
    // otherwise by a difference of its outputs
    const double d = SHIFT * fmax(fabs(was), 1);
    u[input] = was + d;
    const kd_status status = system->class->outputs(system, u, dy);
    u[input] = was;
    for (int j = 0; j < system->noutputs; j++) dy[j] = (dy[j] - c->y[s][j]) / d;
    return status < 0 ? kd_cosim_fail(c, s, status) : KD_OK;
}

// A = I - C y_u at the present inputs, factored
static kd_status make_matrix(kd_cosim *c)
{
    const int n = c->nconnections;
    double   *A = c->loop.A;
    memset(A, 0, (size_t)n * (size_t)n * sizeof *A);
    for (int k = 0; k < n; k++) {
        const int       s = c->connection[k].to;
        const kd_status status = slope(c, s, c->connection[k].input);
        if (status < 0) return status;
        // column k: 1 on the diagonal, minus what the connections that leave this system carry on
        A[(size_t)k * (size_t)n + (size_t)k] += 1;
        for (int j = 0; j < n; j++)
            if (c->connection[j].from == s)
                A[(size_t)k * (size_t)n + (size_t)j] -=
                    c->connection[j].factor * c->y_other[s][c->connection[j].output];
    }
    if (kd_lu_factor(n, A, c->loop.pivot) == 0) return KD_OK;
    kd_text(
        c->why, sizeof c->why,
        "outputs and inputs of the systems depend on each other at t = %.9g s in a loop that has no single solution",
        c->T);
    return KD_ERR_NEWTON;
}

// w = C y(w) by Newton's method
static kd_status solve_loop(kd_cosim *c)
{
    const int n = c->nconnections;
    c->certificate.loops++;
    for (int iteration = 0; iteration < MOST_ITERATIONS; iteration++) {
        double change = 0;
        // r = C y(w) - w
        kd_cosim_each(c, read_heard, c->T);
        kd_status status = kd_cosim_look(c);
        if (status < 0) return status;
        for (int k = 0; k < n; k++) {
            const kd_connection *l = &c->connection[k];
            c->loop.r[k] = l->factor * c->y[l->from][l->output] - c->w[k];
        }
        // w += inv(I - C y_u) r; the loop may be nonlinear, so the matrix belongs to this w
        if ((status = make_matrix(c)) < 0) return status;
        kd_lu_solve(n, c->loop.A, c->loop.pivot, c->loop.r, 1);
        for (int k = 0; k < n; k++) {
            c->w[k] += c->loop.r[k];
            change = fmax(change, fabs(c->loop.r[k]) / fmax(kd_cosim_scale(c, k), fabs(c->w[k])));
        }
        if (change <= CONVERGED) return KD_OK;
    }
    kd_text(c->why, sizeof c->why, "the algebraic loop between the systems at t = %.9g s does not converge", c->T);
    return KD_ERR_NEWTON;
}

kd_status kd_cosim_communicate(kd_cosim *c)
{
    bool      changed = true;
    kd_status status = KD_OK;
    // with the inputs that were held: each system once
    if (c->opt.held) {
        kd_cosim_each(c, read_heard, c->T);
        status = kd_cosim_look(c);
        for (int s = 0; s < c->nsystems && status >= 0; s++) (void)kd_cosim_take_outputs(c, s);
        return status;
    }
    // without a loop every input is final after as many sweeps as there are systems in a row
    for (int i = 0; i <= c->nsystems && changed && status >= 0; i++) status = sweep(c, &changed);
    if (status >= 0 && changed) status = solve_loop(c);
    return status;
}
