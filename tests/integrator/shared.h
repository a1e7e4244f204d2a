// tests/integrator/shared.h: the half that tests of integrators have in common: the pendulum with its exact motion, all test
// systems with theirs, an equation that fails on purpose, memory that runs out.
#ifndef KD_TESTS_INTEGRATOR_SHARED_H
#define KD_TESTS_INTEGRATOR_SHARED_H

#include "core/failing_allocator.h"
#include "forms/whole.h"
#include "pendulum.h"
#include "systems/systems.h"
#include <kardan/integrator.h>

#define GRAVITY 13.75
#define SPEED 2.9

// ---- the pendulum ---------------------------------------------------------------------------------------------------

typedef struct fixture {
    kd_eom        *eom;
    kd_state      *x;
    kd_dae        *dae;
    kd_integrator *solver;
    double         y[8]; // its start
} fixture;

// form: NULL are defaults
static inline fixture make_pendulum(kd_integrator_kind kind, const kd_integrator_options *opt,
                                    kd_formulation formulation, const kd_formulation_options *form)
{
    const double p0[2] = {0, -1}, v0[2] = {SPEED, 0};
    fixture      f = {0};
    char         message[200] = "";
    assert_int_equal(kd_pendulum_create(GRAVITY, p0, v0, false, &f.eom, &f.x), KD_OK);
    f.dae = make_dae(f.eom, NULL, f.x, formulation, form);
    kd_formulation_pack(f.dae, f.x, f.y);
    if (kd_integrator_create(f.dae, kind, opt, &f.solver, message, sizeof message) < 0) fail_msg("%s", message);
    return f;
}

// As an ordinary differential equation, projected or not
static inline fixture make_projected(kd_integrator_kind kind, const kd_integrator_options *opt,
                                     kd_projection projection)
{
    kd_formulation_options form = kd_formulation_options_default();
    form.projection = projection;
    return make_pendulum(kind, opt, KD_ODE, &form);
}

static inline void drop_fixture(fixture *f)
{
    kd_integrator_destroy(f->solver);
    kd_dae_destroy(f->dae);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

static inline void run_until(kd_integrator *solver, double t_end)
{
    while (kd_integrator_time(solver) < t_end)
        if (kd_integrator_step(solver, t_end) != KD_OK) fail_msg("%s", kd_integrator_message(solver));
}

// |g|, |gI| of the pendulum
static inline double violation(const double *y)
{
    return fmax(fabs(y[0] * y[0] + y[1] * y[1] - 1), fabs(y[0] * y[2] + y[1] * y[3]));
}

static inline double pendulum_error(const double *y, double t)
{
    double exact[4], most = 0;
    kd_pendulum_exact(GRAVITY, false, SPEED, t, exact, exact + 2, NULL);
    for (int i = 0; i < 4; i++) most = fmax(most, fabs(y[i] - exact[i]));
    return most;
}

// ---- test systems ---------------------------------------------------------------------------------------------------

// A test system moves as known up to a relative tolerance: contact coordinates and auxiliary variables are solved for, the
// norm of a quaternion holds to rounding.
static inline void check_system(const kd_test_system *system, kd_integrator_kind kind, const kd_integrator_options *opt,
                                kd_formulation formulation, double tolerance)
{
    enum { MOST = 300 };
    kd_formulation_options form = kd_formulation_options_default();
    kd_eom                *eom;
    kd_state              *x, *exact;
    kd_integrator         *solver;
    double                 y[MOST];
    if (system->redundant) form.constraints = KD_DECOMPOSE_SVD;
    if (formulation == KD_ODE) form.projection = KD_PROJECT_ALWAYS;
    assert_int_equal(system->create(&eom, &x), KD_OK);
    assert_int_equal(kd_state_create(eom, &exact), KD_OK);
    kd_dae *dae = make_dae(eom, NULL, x, formulation, &form);
    kd_dims d = kd_eom_dims(eom);
    assert_true(dae->n <= MOST);
    kd_formulation_pack(dae, x, y);
    // from the start to the end
    assert_int_equal(kd_integrator_create(dae, kind, opt, &solver, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(solver, 0, y), KD_OK);
    while (kd_integrator_time(solver) < system->t_end)
        if (kd_integrator_step(solver, system->t_end) < 0)
            fail_msg("%s: %s", system->name, kd_integrator_message(solver));
    // beside the known motion
    kd_formulation_unpack(dae, system->t_end, kd_integrator_x(solver), x);
    system->solution(system->t_end, exact);
    for (int i = 0; i < d.np + d.nv + d.nr + d.nw + d.ns; i++)
        if (fabs(x->p[i] - exact->p[i]) > tolerance * fmax(1, fabs(exact->p[i])))
            fail_msg("%s: component %d is %.12g, not %.12g", system->name, i, x->p[i], exact->p[i]);
    if (d.nq == 1)
        assert_close(x->p[3] * x->p[3] + x->p[4] * x->p[4] + x->p[5] * x->p[5] + x->p[6] * x->p[6], 1, 1e-14);
    kd_integrator_destroy(solver);
    kd_dae_destroy(dae);
    kd_state_destroy(exact);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// ---- a DAE that fails on purpose: x' = -x ---------------------------------------------------------------------------

typedef struct decay {
    kd_dae  dae;
    double  from; // trouble starts at this time
    kd_eval answer;
    bool    nan, steep;
} decay;

static inline kd_eval decay_rhs(void *impl, double t, const double *x, double *xdot)
{
    decay *d = impl;
    xdot[0] = -x[0];
    if (t < d->from) return KD_EVAL_OK;
    if (d->nan) xdot[0] = NAN;
    if (d->steep) xdot[0] = 1e30 * (t - d->from);
    return d->answer;
}
static inline kd_eval decay_residual(void *impl, double t, const double *x, const double *xdot, double *F)
{
    kd_eval answer = decay_rhs(impl, t, x, F);
    F[0] = xdot[0] - F[0];
    return answer;
}
static inline kd_eval decay_start(void *impl, double t, const double *x, double *xdot)
{
    (void)impl, (void)t;
    xdot[0] = -x[0];
    return KD_EVAL_OK;
}
static inline kd_status decay_fault(void *impl, const char **message)
{
    *message = "decay refuses";
    return ((decay *)impl)->answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
}
static inline const char *decay_name(void *impl, int i, char *buffer, size_t size)
{
    (void)impl, (void)i;
    snprintf(buffer, size, "the amount");
    return buffer;
}

static inline kd_status run_decay(decay d, kd_integrator_kind kind, const kd_integrator_options *opt, char *message,
                                  size_t size)
{
    // with a right-hand side, or with residuals for a method that wants them
    static const kd_dae_class by_rhs = {
        .name = "decay", .rhs = decay_rhs, .fault = decay_fault, .component_name = decay_name};
    static const kd_dae_class by_residual = {.name = "decay",
                                             .residual = decay_residual,
                                             .fault = decay_fault,
                                             .component_name = decay_name,
                                             .start = decay_start};
    static const kd_component component[1] = {KD_COMPONENT_POSITION};
    static const int          index[1] = {1};
    static const bool         controlled[1] = {true};
    kd_integrator            *solver;
    double                    x = 1;
    d.dae = (kd_dae){.methods = kind == KD_IDA ? &by_residual : &by_rhs,
                     .impl = &d,
                     .n = 1,
                     .nrows = 1,
                     .nreduced = 1,
                     .nreduced_max = 1,
                     .component = component,
                     .index = index,
                     .controlled = controlled,
                     .nstate = 1};
    assert_int_equal(kd_integrator_create(&d.dae, kind, opt, &solver, NULL, 0), KD_OK);
    kd_status status = kd_integrator_start(solver, 0, &x);
    while (status == KD_OK && kd_integrator_time(solver) < 1) status = kd_integrator_step(solver, 1);
    snprintf(message, size, "%s", kd_integrator_message(solver));
    if (status == KD_OK) assert_close(kd_integrator_x(solver)[0], exp(-1), 1e-4);
    if (status < 0) {
        assert_true(kd_integrator_time(solver) < d.from + 1e-12);
        assert_true(isfinite(kd_integrator_x(solver)[0]));
    }
    kd_integrator_destroy(solver);
    return status;
}

// STOP ends the run at once; RETRY and NaN try smaller steps first; all say when, why and, if known, where.
static inline void check_words_of_failures(kd_integrator_kind kind, const kd_integrator_options *opt)
{
    char         message[600];
    const size_t size = sizeof message;
    assert_int_equal(run_decay((decay){.from = 2}, kind, opt, message, size), KD_OK);
    assert_string_equal(message, "");
    decay stop = {.from = 0.5, .answer = KD_EVAL_STOP}, retry = {.from = 0.5, .answer = KD_EVAL_RETRY};
    assert_int_equal(run_decay(stop, kind, opt, message, size), KD_ERR_CALLBACK_STOP);
    assert_non_null(strstr(message, "t = 0."));
    assert_non_null(strstr(message, "decay refuses"));
    assert_int_equal(run_decay(retry, kind, opt, message, size), KD_ERR_RETRY_FAILED);
    assert_non_null(strstr(message, "decay refuses"));
    assert_int_equal(run_decay((decay){.from = 0.5, .nan = true}, kind, opt, message, size), KD_ERR_NOT_FINITE);
    assert_non_null(strstr(message, "not finite"));
    kd_status status = run_decay((decay){.from = 0.5, .steep = true}, kind, opt, message, size);
    assert_true(status == KD_ERR_STEP_TOO_SMALL || status == KD_ERR_NEWTON);
    assert_non_null(strstr(message, "the amount"));
}

// ---- contracts ------------------------------------------------------------------------------------------------------

// No step before a start; a second start forgets the past, gives the same numbers again and keeps counting; no way back.
static inline void check_restart(fixture *f)
{
    double       first[8];
    const size_t bytes = (size_t)f->dae->n * sizeof *first;
    assert_true(bytes <= sizeof first);
    assert_int_equal(kd_integrator_step(f->solver, 1), KD_ERR_STAGE);
    assert_int_equal(kd_integrator_start(f->solver, 0, f->y), KD_OK);
    run_until(f->solver, 0.5);
    memcpy(first, kd_integrator_x(f->solver), bytes);
    const long steps = kd_integrator_stats(f->solver).accepted;
    assert_int_equal(kd_integrator_start(f->solver, 0, f->y), KD_OK);
    assert_close(kd_integrator_time(f->solver), 0, 0);
    run_until(f->solver, 0.5);
    assert_memory_equal(kd_integrator_x(f->solver), first, bytes);
    assert_int_equal(kd_integrator_stats(f->solver).accepted, 2 * steps);
    assert_int_equal(kd_integrator_step(f->solver, 0.4), KD_ERR_TIME);
    assert_int_equal(kd_integrator_step(f->solver, 0.5), KD_OK); // nothing to do
}

// A failed allocation of ours leaves nothing behind.
static inline void check_memory(kd_dae *dae, kd_integrator_kind kind)
{
    for (long fail_at = 1;; fail_at++) {
        failing_allocator a = {.fail_at = fail_at};
        kd_integrator    *solver;
        failing_allocator_use(&a);
        kd_status status = kd_integrator_create(dae, kind, NULL, &solver, NULL, 0);
        kd_integrator_destroy(solver);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
    }
}

// Without the library that it stands on there is no integrator, and the message says so.
static inline void check_unavailable(kd_integrator_kind kind)
{
    kd_dae         nobody = {0};
    kd_integrator *solver;
    char           message[200] = "";
    assert_int_equal(kd_integrator_create(&nobody, kind, NULL, &solver, message, sizeof message), KD_ERR_UNAVAILABLE);
    assert_null(solver);
    assert_non_null(strstr(message, kd_status_sentence(KD_ERR_UNAVAILABLE)));
    assert_int_equal(kd_integrator_step(solver, 1), KD_ERR_ARGUMENT);
}

#endif
