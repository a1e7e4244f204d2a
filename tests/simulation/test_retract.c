// A step that is taken back leaves no trace: every integrator stands at its start again, and goes on as if the step had
// never been made.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "systems/systems.h"

#define TOL 1e-7

// ---- methods --------------------------------------------------------------------------------------------------------

typedef struct method {
    kd_formulation     formulation;
    kd_integrator_kind integrator;
    kd_sdirk_method    sdirk;
    double             agrees; // in tolerances: with the motion without the step that was taken back
} method;
static const method methods[] = {
    {KD_PSF, KD_RADAU, 0, 1},
    {KD_PSF1, KD_RADAU, 0, 1},
    {KD_GGL, KD_RADAU, 0, 1},
    {KD_ODASSL, KD_RADAU, 0, 1},
    {KD_INDEX1, KD_RADAU, 0, 1},
    {KD_INDEX2, KD_RADAU, 0, 1},
    {KD_INDEX3, KD_RADAU, 0, 1000},
    {KD_BAUMGARTE1, KD_RADAU, 0, 1},
    {KD_ODE, KD_RADAU, 0, 1},
    {KD_STATESPACE, KD_RADAU, 0, 1},
    {KD_GGL, KD_BDF, 0, 1},
    {KD_INDEX1, KD_BDF, 0, 1},
    {KD_INDEX2, KD_BDF, 0, 1},
    {KD_ODE, KD_BDF, 0, 1},
    {KD_STATESPACE, KD_BDF, 0, 1},
    {KD_PSF, KD_SDIRK, KD_SDIRK_NEWTON, 1},
    {KD_GGL, KD_SDIRK, KD_SDIRK_NEWTON, 1},
    {KD_STATESPACE, KD_SDIRK, KD_SDIRK_NEWTON, 1},
    {KD_ODE, KD_SDIRK, KD_SDIRK_ROSENBROCK, 1},
    {KD_ODE, KD_SDIRK, KD_SDIRK_STAGE_ORDER_2, 1},
    {KD_ODE, KD_DOPRI5, 0, 1e-6},
    {KD_ODE, KD_DOP853, 0, 1e-6},
    {KD_STATESPACE, KD_DOP853, 0, 1e-6},
    {KD_ODE, KD_HALF_EXPLICIT, 0, 1e-6},
    {KD_ODE, KD_EXTRAPOLATION, 0, 1},
    {KD_ODE, KD_ADAMS, 0, 1},
    {KD_GGL, KD_IDA, 0, 10},
    {KD_ODE, KD_CVODE, 0, 10},
    {KD_ODE, KD_ARKODE, 0, 1},
};
enum { METHODS = sizeof methods / sizeof *methods };

static bool is_missing(const method *m)
{
    return (m->integrator == KD_IDA && !kd_integrator_about(KD_IDA, NULL)->available) ||
           (m->integrator == KD_CVODE && !kd_integrator_about(KD_CVODE, NULL)->available) ||
           (m->integrator == KD_ARKODE && !kd_integrator_about(KD_ARKODE, NULL)->available);
}

// ---- runs -----------------------------------------------------------------------------------------------------------

// An integrator on the equations of a test system
typedef struct run {
    kd_eom        *eom;
    kd_state      *x;
    kd_dae        *dae;
    kd_integrator *self;
    double        *vector, *kept; // (n)
} run;

static void begin(run *r, const kd_test_system *system, const method *m)
{
    kd_simulation_options o = kd_simulation_options_default();
    char                  message[600];
    *r = (run){0};
    o.formulation = m->formulation;
    o.integrator = m->integrator;
    o.integrator_options.sdirk.method = m->sdirk;
    o.integrator_options.rtol = o.integrator_options.atol = TOL;
    assert_int_equal(system->create(&r->eom, &r->x), KD_OK);
    assert_true(kd_initial_consistent(r->eom, NULL, NULL, r->x, message, sizeof message) >= 0);
    if (kd_formulation_create(r->eom, NULL, r->x, o.formulation, NULL, &r->dae, message, sizeof message) < 0)
        fail_msg("%s", message);
    if (kd_integrator_create(r->dae, o.integrator, &o.integrator_options, &r->self, message, sizeof message) < 0)
        fail_msg("%s", message);
    r->vector = calloc((size_t)r->dae->n, sizeof(double));
    r->kept = calloc((size_t)r->dae->n, sizeof(double));
    kd_formulation_pack(r->dae, r->x, r->vector);
    assert_int_equal(kd_integrator_restart(r->self, r->x->t, r->vector, KD_RESTART_FRESH), KD_OK);
}

static void end(run *r)
{
    free(r->vector);
    free(r->kept);
    kd_integrator_destroy(r->self);
    kd_dae_destroy(r->dae);
    kd_state_destroy(r->x);
    kd_eom_destroy(r->eom);
}

static void step(run *r, double t_end)
{
    kd_status status = kd_integrator_step(r->self, t_end);
    if (status < 0) fail_msg("%s", kd_integrator_message(r->self));
}

static void keep(run *r)
{
    memcpy(r->kept, kd_integrator_x(r->self), (size_t)r->dae->n * sizeof(double));
}

// p, v, r of the present point
static const kd_state *state(run *r)
{
    kd_formulation_unpack(r->dae, kd_integrator_time(r->self), kd_integrator_x(r->self), r->x);
    return r->x;
}

// ---- tests ----------------------------------------------------------------------------------------------------------

// Time and state are those of the start, bit for bit, the step is counted as taken back, and the next one is not longer
// than asked for; a second one is not to be had. At a start, too, where nothing was before the step.
static void goes_back(const kd_test_system *system, const method *m, int steps)
{
    run r;
    begin(&r, system, m);
    for (int i = 0; i < steps && kd_integrator_time(r.self) < 0.5 * system->t_end; i++) step(&r, system->t_end);
    keep(&r);
    double t = kd_integrator_time(r.self);
    step(&r, system->t_end);
    double   h = kd_integrator_time(r.self) - t;
    kd_stats before = kd_integrator_stats(r.self);
    assert_int_equal(kd_integrator_retract(r.self, 0.4 * h), KD_OK);
    kd_stats after = kd_integrator_stats(r.self);
    assert_true(kd_integrator_time(r.self) == t);
    assert_true(kd_integrator_time_old(r.self) == t);
    assert_memory_equal(kd_integrator_x(r.self), r.kept, (size_t)r.dae->n * sizeof(double));
    assert_int_equal(after.accepted, before.accepted - 1);
    assert_int_equal(after.retracted, before.retracted + 1);
    assert_int_equal(kd_integrator_dense(r.self, t, r.vector), KD_OK);
    assert_memory_equal(r.vector, r.kept, (size_t)r.dae->n * sizeof(double));
    assert_int_equal(kd_integrator_retract(r.self, 0.1 * h), KD_ERR_STAGE);
    step(&r, system->t_end);
    assert_true(kd_integrator_time(r.self) > t);
    assert_true(kd_integrator_time(r.self) <= t + 0.4 * h * (1 + 1e-12));
    assert_true(kd_integrator_time_old(r.self) == t);
    end(&r);
}

// A step of the same size without the one that was taken back ends at the same point.
static void leaves_no_trace(const kd_test_system *system, const method *m, int steps, double part)
{
    run r, straight;
    begin(&r, system, m);
    begin(&straight, system, m);
    for (int i = 0; i < steps && kd_integrator_time(r.self) < 0.5 * system->t_end; i++) {
        step(&r, system->t_end);
        step(&straight, system->t_end);
    }
    double t = kd_integrator_time(r.self);
    step(&r, system->t_end);
    double h = part * (kd_integrator_time(r.self) - t);
    if (kd_integrator_retract(r.self, h) != KD_OK)
        fail_msg("%s: %s %s from t = %g, h = %g", system->name, kd_formulation_word(m->formulation),
                 kd_integrator_word(m->integrator), t, h);
    step(&r, system->t_end);
    while (kd_integrator_time(straight.self) < kd_integrator_time(r.self)) step(&straight, kd_integrator_time(r.self));
    const kd_state *a = state(&r), *b = state(&straight);
    kd_dims         d = kd_eom_dims(r.eom);
    assert_true(fabs(a->t - b->t) <= 1e-14);
    for (int i = 0; i < d.np + d.nv + d.nr; i++) {
        double *one = a->p + i, *other = b->p + i, allowed = m->agrees * TOL * (1 + fabs(*other));
        if (!(fabs(*one - *other) <= allowed))
            fail_msg("%s: %s %s, component %d: %.12g, %.12g without the step that was taken back", system->name,
                     kd_formulation_word(m->formulation), kd_integrator_word(m->integrator), i, *one, *other);
    }
    end(&r);
    end(&straight);
}

// Steps taken back again and again do not spoil the end of the motion.
static void arrives(const kd_test_system *system, const method *m)
{
    run       r;
    kd_state *known;
    begin(&r, system, m);
    assert_int_equal(kd_state_create(r.eom, &known), KD_OK);
    const double t_end = 0.3 * system->t_end;
    const int    every = m->integrator == KD_IDA || m->integrator == KD_CVODE ? 101 : 7; // these begin with order 1
    for (int i = 0; kd_integrator_time(r.self) < t_end; i++) {
        assert_true(i < 20000);
        double t = kd_integrator_time(r.self);
        step(&r, t_end);
        double h = kd_integrator_time(r.self) - t;
        if (i % every == 3) assert_int_equal(kd_integrator_retract(r.self, 0.6 * h), KD_OK);
    }
    system->solution(t_end, known);
    const kd_state *x = state(&r);
    kd_dims         d = kd_eom_dims(r.eom);
    for (int i = 0; i < d.np + d.nv; i++) {
        if (!(fabs(x->p[i] - known->p[i]) <= 2000 * fmax(1, m->agrees / 50) * TOL * (1 + fabs(known->p[i]))))
            fail_msg("%s: %s %s, component %d: %.12g, known %.12g", system->name, kd_formulation_word(m->formulation),
                     kd_integrator_word(m->integrator), i, x->p[i], known->p[i]);
    }
    kd_state_destroy(known);
    end(&r);
}

// systems with all kinds of positions, constraints and inner states that every form can take
static const char *const names[] = {"skate", "bead with contact coordinate", "heavy top"};

static void test_all(void **state_of_test)
{
    (void)state_of_test;
    int seen = 0;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system *system = &kd_test_systems[k];
        bool                  wanted = false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) wanted |= strcmp(names[i], system->name) == 0;
        if (!wanted) continue;
        seen++;
        for (int i = 0; i < METHODS; i++) {
            if (is_missing(&methods[i])) continue;
            goes_back(system, &methods[i], 0);
            goes_back(system, &methods[i], 9);
            leaves_no_trace(system, &methods[i], 12, 0.5);
            leaves_no_trace(system, &methods[i], 17, 0.23);
            arrives(system, &methods[i]);
        }
    }
    assert_int_equal(seen, (int)(sizeof names / sizeof *names));
}

// Steps of fixed size are not taken back.
static void test_fixed(void **state_of_test)
{
    (void)state_of_test;
    kd_eom        *eom;
    kd_state      *x;
    kd_dae        *dae;
    char           message[300];
    kd_integrator *bdf;
    assert_int_equal(kd_test_skate_create(&eom, &x), KD_OK);
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_ODE, NULL, &dae, message, sizeof message), KD_OK);
    kd_integrator_options o = kd_integrator_options_default();
    o.h_fixed = 1e-3;
    assert_int_equal(kd_integrator_create(dae, KD_BDF, &o, &bdf, message, sizeof message), KD_OK);
    double *vector = calloc((size_t)dae->n, sizeof *vector);
    kd_formulation_pack(dae, x, vector);
    assert_int_equal(kd_integrator_start(bdf, 0, vector), KD_OK);
    assert_int_equal(kd_integrator_retract(bdf, 1e-4), KD_ERR_STAGE);
    for (int i = 0; i < 30; i++) assert_int_equal(kd_integrator_step(bdf, 1), KD_OK);
    assert_int_equal(kd_integrator_retract(bdf, 1e-4), KD_ERR_STAGE);
    free(vector);
    kd_integrator_destroy(bdf);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_fixed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
