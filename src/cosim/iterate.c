// iterate.c: steps that are repeated until what the systems assume at the end of a step is what they tell there.
//
//     w = C y(T + H; w)          w: inputs at the end of the step, over which they are interpolated
//
// by Newton's method with the interface Jacobian A = I - d(C y)/dw. Its columns come from steps of one system with one input
// changed, from the saved start; it is kept as long as the iteration converges well with it.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "cosim/cosim.h"
#include "math/dense.h"

static const double SHIFT = 1e-3;     // of an input for differences, relative
static const double SLOW = 0.3;       // a residual that falls by less asks for a new matrix
static const double OTHER_STEP = 0.2; // relative change of H that asks for one

static double residual(kd_cosim *c)
{
    kd_iteration *it = &c->iteration;
    double        norm = 0;
    for (int k = 0; k < c->nconnections; k++) {
        const kd_connection *l = &c->connection[k];
        const double         told = l->factor * c->y[l->from][l->output];
        it->r[k] = told - it->w[k];
        norm = fmax(norm, fabs(it->r[k]) / fmax(kd_cosim_scale(c, k), fabs(told)));
    }
    return norm;
}

// Steps of one system with input w_k changed: a column of A
static kd_status column(kd_cosim *c, int k, double t_end)
{
    const kd_connection *l = &c->connection[k];
    const int            s = l->to, n = c->nconnections;
    kd_cosim_system     *system = c->system[s];
    const kd_iteration  *it = &c->iteration;
    double              *A = it->A + (size_t)k * (size_t)n, *dy = c->y_other[s];
    const double         d = SHIFT * (l->largest > 0 ? l->largest : 1), was = it->w[k];
    // the step of this system alone once more from the saved start, with w_k + d as the end of its course
    kd_status status = system->class->restore(system, 0);
    if (status < 0) return kd_cosim_fail(c, s, status);
    kd_cosim_interpolate(c, k, t_end - c->T, was + d);
    kd_cosim_set_courses(c, s);
    kd_cosim_interpolate(c, k, t_end - c->T, was);
    if (kd_cosim_step_one(c, s, t_end) < 0) return kd_cosim_fail(c, s, c->status[s]);
    // outputs at the end, which may see the input directly as well
    c->u[s][l->input] = was + d;
    status = system->class->outputs(system, c->u[s], dy);
    c->u[s][l->input] = was;
    if (status < 0) return kd_cosim_fail(c, s, status);
    // column k of I - d(C y)/dw: only connections that come from this system
    for (int j = 0; j < n; j++) {
        const kd_connection *to = &c->connection[j];
        A[j] = j == k ? 1 : 0;
        if (to->from == s) A[j] -= to->factor * (dy[to->output] - c->y[s][to->output]) / d;
    }
    return KD_OK;
}

static kd_status make_matrix(kd_cosim *c, double t_end)
{
    kd_iteration *it = &c->iteration;
    c->certificate.jacobians++;
    for (int k = 0; k < c->nconnections; k++) {
        const kd_status status = column(c, k, t_end);
        if (status < 0) return status;
    }
    it->H = t_end - c->T;
    if (kd_lu_factor(c->nconnections, it->A, it->pivot) == 0) return KD_OK;
    it->H = 0;
    kd_text(c->why, sizeof c->why,
            "the interface Jacobian at t = %.9g s is singular: the coupling has no single solution", c->T);
    return KD_ERR_NEWTON;
}

static bool has_event(const kd_cosim *c, double t_end)
{
    for (int s = 0; s < c->nsystems; s++)
        if (c->event[s] < t_end) return true;
    return false;
}

// One pass with the present w: steps, outputs with the assumed inputs
static kd_status pass(kd_cosim *c, double t_end)
{
    kd_status status = kd_cosim_step_systems(c, t_end, c->iteration.w);
    memcpy(c->w, c->iteration.w, (size_t)c->nconnections * sizeof *c->w);
    c->certificate.iterations++;
    if (status != KD_OK) return status;
    kd_cosim_each(c, kd_cosim_read_task, t_end);
    return kd_cosim_look(c);
}

// From c->predicted on; slot 0 holds the start. An event inside ends it early: the caller looks
kd_status kd_cosim_iterate(kd_cosim *c, double t_end)
{
    kd_iteration *it = &c->iteration;
    const int     n = c->nconnections;
    const double  H = t_end - c->T;
    double        last = INFINITY;
    bool          fresh = false;
    memcpy(it->w, c->predicted, (size_t)n * sizeof *it->w);
    for (int i = 0; i < c->opt.max_iterations; i++) {
        // all systems with w, from the start of the step; an event inside must be looked at first
        kd_status status = i > 0 ? kd_cosim_restore_all(c, 0) : KD_OK;
        if (status >= 0) status = pass(c, t_end);
        if (status != KD_OK || has_event(c, t_end)) return status;
        // what the systems tell is what they assumed: this was the step
        const double norm = residual(c);
        if (norm <= c->opt.convergence) {
            for (int s = 0; s < c->nsystems; s++) (void)kd_cosim_take_outputs(c, s);
            return KD_OK;
        }
        if (!isfinite(norm)) break;
        // a matrix of another H, or one that no longer contracts, is made anew; one that is fresh must do
        const bool other = fabs(it->H - H) > OTHER_STEP * H, slow = norm > SLOW * last && !fresh;
        fresh = other || slow;
        if (fresh && (status = make_matrix(c, t_end)) < 0) return status;
        // w += inv(A) (C y - w)
        kd_lu_solve(n, it->A, it->pivot, it->r, 1);
        for (int k = 0; k < n; k++) it->w[k] += it->r[k];
        last = norm;
    }
    kd_text(
        c->why, sizeof c->why,
        "the iteration between the systems does not converge at t = %.9g s (residual %.2g after %d passes); a shorter "
        "macro step, or tighter tolerances of the systems, help",
        c->T, last, c->opt.max_iterations);
    return KD_ERR_NEWTON;
}
