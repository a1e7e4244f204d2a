// integrator/kink.c: jumps at a kink and the polynomial that they make, see kink.h.
#include "integrator/kink.h"

#include <string.h>

void kd_kink_cut(kd_kink *kink, kd_arena *arena, int n)
{
    kink->n = n;
    kink->x = kd_cut_double(arena, n);
    kink->xdot = kd_cut_double(arena, n);
    kink->xddot = kd_cut_double(arena, n);
}

// x' = rhs(t, x) has no algebraic components
static kd_eval solve_rhs(kd_kink *kink, const kd_dae *dae, double t, const double *x, double *xdot)
{
    for (int i = 0; i < kink->n; i++) kink->xdot[i] = -xdot[i];
    kd_eval answer = dae->methods->rhs(dae->impl, t, x, xdot);
    for (int i = 0; i < kink->n; i++) kink->xdot[i] += xdot[i];
    return answer;
}

kd_eval kd_kink_solve(kd_kink *kink, const kd_dae *dae, double t, double *x, double *xdot)
{
    const kd_dae_class *f = dae->methods;
    const size_t        bytes = (size_t)kink->n * sizeof *x;
    kd_eval             answer = KD_EVAL_OK;
    // jump = value behind - value before, of x here and of x', x'' by whoever solves
    for (int i = 0; i < kink->n; i++) kink->x[i] = -x[i];
    memset(kink->xdot, 0, bytes);
    memset(kink->xddot, 0, bytes);
    // resolve knows algebraic components and second derivatives; a rhs gives x' only
    if (f->resolve)
        answer = f->resolve(dae->impl, t, x, xdot, kink->xdot, kink->xddot);
    else if (f->rhs)
        answer = solve_rhs(kink, dae, t, x, xdot);
    for (int i = 0; i < kink->n; i++) kink->x[i] += x[i];
    return answer;
}

void kd_kink_add(const kd_kink *kink, double tau, double *y)
{
    for (int i = 0; i < kink->n; i++) y[i] += kink->x[i] + tau * (kink->xdot[i] + 0.5 * tau * kink->xddot[i]);
}

void kd_kink_add_slope(const kd_kink *kink, double tau, double *y)
{
    for (int i = 0; i < kink->n; i++) y[i] += kink->xdot[i] + tau * kink->xddot[i];
}
