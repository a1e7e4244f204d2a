// tests/simulation/simulation_cases.h: what tests of simulations share: equations, states, a pendulum.
#ifndef KD_TEST_SIMULATION_CASES_H
#define KD_TEST_SIMULATION_CASES_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/failing_allocator.h"
#include "forms/everything.h"
#include "gallery.h"
#include "pendulum.h"
#include "simulation/disturbed.h"

// ---- helpers --------------------------------------------------------------------------------------------------------

static inline kd_simulation_options with_tolerance(double tolerance)
{
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    opt.rtol = opt.atol = tolerance;
    return opt;
}

static inline kd_eom *make(const kd_eom_def *def)
{
    kd_eom *eom;
    char    message[300];
    if (kd_eom_create(def, &eom, message, sizeof message) != KD_OK) fail_msg("%s", message);
    return eom;
}

static inline kd_state *make_state(const kd_eom *eom)
{
    kd_state *x;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    return x;
}

static const double gravity = 13.75, v10 = 2.8;

static inline void make_pendulum(kd_eom **eom, kd_state **x)
{
    assert_int_equal(kd_pendulum_create(gravity, (double[]){0, -1}, (double[]){v10, 0}, false, eom, x), KD_OK);
}

static inline kd_simulation *start(const kd_eom *eom, const kd_simulation_options *opt, kd_state *x)
{
    kd_simulation *s;
    char           message[800];
    if (kd_simulation_create(eom, NULL, opt, x, &s, message, sizeof message) < 0) fail_msg("%s", message);
    return s;
}

static inline bool all_finite(const kd_state *x)
{
    for (size_t i = 0; i < x->size; i++)
        if (!isfinite(x->p[i])) return false;
    return isfinite(x->t);
}

// the same bits
static inline bool same(const kd_state *a, const kd_state *b)
{
    return a->t == b->t && memcmp(a->p, b->p, a->size * sizeof(double)) == 0;
}

static inline kd_eval cart_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1;
    return KD_EVAL_OK;
}

#endif
