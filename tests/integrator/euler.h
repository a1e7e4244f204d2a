// Backward Euler and linear-implicit Euler on a kd_dae with a residual, in the plainest way: 0 = F(t + h, x, (x -
// x0)/h) by Newton's method, one new matrix per iteration; a single iteration from x0 is the linear-implicit method.
#ifndef KD_TESTS_EULER_H
#define KD_TESTS_EULER_H

#include <kardan/dae.h>
#include <string.h>

enum { EULER_MAX = 40 };

typedef struct euler {
    kd_dae *dae;
    double  t, x[EULER_MAX];
} euler;

static inline kd_status euler_step(euler *e, double h, int iterations)
{
    const kd_dae_class *f = e->dae->methods;
    void               *impl = e->dae->impl;
    const int           n = e->dae->n;
    double              x0[EULER_MAX], xdot[EULER_MAX], F[EULER_MAX], part[EULER_MAX], y[EULER_MAX], dx[EULER_MAX];
    if (n > EULER_MAX || e->dae->nreduced_max > EULER_MAX || e->dae->nrows > EULER_MAX) return KD_ERR_ARGUMENT;
    memcpy(x0, e->x, sizeof x0);
    e->t += h;
    e->dae->h = h;
    e->dae->gamma = 1 / h;
    for (int k = 0; k < iterations; k++) {
        for (int i = 0; i < n; i++) xdot[i] = (e->x[i] - x0[i]) / h;
        kd_status status = f->linearize(impl, e->t, e->x, xdot, false);
        if (status >= 0) status = f->factor(impl, 1 / h, 0, 0);
        if (status < 0) return status;
        if (f->residual(impl, e->t, e->x, xdot, F) != KD_EVAL_OK) return KD_ERR_RETRY_FAILED;
        memset(part, 0, sizeof part);
        f->reduce(impl, F, part, y);
        f->solve_real(impl, y);
        f->expand(impl, part, y, dx);
        for (int i = 0; i < n; i++) e->x[i] += dx[i];
    }
    return KD_OK;
}

#endif
