// tests/integrator/sdirk_dense.h: sdirk on equations made by hand (dense_dae.h).
#ifndef KD_TESTS_SDIRK_DENSE_H
#define KD_TESTS_SDIRK_DENSE_H

#include "forms/whole.h"
#include "integrator/dense_dae.h"
#include <kardan/integrator.h>

// x' of the equations whose F_x' is the identity
static inline kd_eval explicit_rhs(void *impl, double t, const double *x, double *xdot)
{
    dense_dae *d = impl;
    double     zero[DENSE_MOST] = {0};
    kd_eval    answer = dense_residual(d, t, x, zero, xdot);
    for (int i = 0; i < d->problem->n; i++) xdot[i] = -xdot[i];
    return answer;
}

static inline kd_integrator *make_sdirk(dense_dae *d, const dense_problem *problem, const kd_integrator_options *opt)
{
    kd_integrator *sdirk;
    double         x[DENSE_MOST];
    dense_make(d, problem);
    if (problem->ndifferential == problem->n) d->methods.rhs = explicit_rhs;
    problem->solution(0, x);
    assert_int_equal(kd_integrator_create(&d->dae, KD_SDIRK, opt, &sdirk, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(sdirk, 0, x), KD_OK);
    return sdirk;
}

static inline double error_of(const kd_integrator *sdirk, const dense_problem *problem)
{
    double exact[DENSE_MOST], most = 0;
    problem->solution(kd_integrator_time(sdirk), exact);
    for (int i = 0; i < problem->n; i++) most = fmax(most, fabs(kd_integrator_x(sdirk)[i] - exact[i]));
    return most;
}

#endif
