// sundials_ode.h: what the adapters of CVODE and ARKODE have in common, tested on ode: known motions, projection, dense
// output, restarts, attempts, failures with words. A file that includes it says first which one it tests:
//
//     static const kd_integrator_kind KIND = KD_CVODE;
//     static bool choose(kd_integrator_options *opt, enum variant variant, bool projected);
#ifndef KD_TESTS_SUNDIALS_ODE_H
#define KD_TESTS_SUNDIALS_ODE_H

#include "core/failing_allocator.h"
#include "forms/whole.h"
#include "pendulum.h"
#include "systems/systems.h"
#include <kardan/integrator.h>

#define GRAVITY 13.75
#define SPEED 2.9

// an explicit method, or that of Adams; an implicit one with the linear algebra of SUNDIALS, with that of the form
enum variant { PLAIN, IMPLICIT, IMPLICIT_OWN };

static const kd_integrator_kind KIND;
// Method and linear algebra of a variant; false: it cannot project
static bool choose(kd_integrator_options *opt, enum variant variant, bool projected);

typedef struct fixture {
    kd_eom        *eom;
    kd_state      *x;
    kd_dae        *dae;
    kd_integrator *it;
    double         y[8];
} fixture;

static fixture make_fixture(const kd_integrator_options *opt, kd_projection projection)
{
    const double           p0[2] = {0, -1}, v0[2] = {SPEED, 0};
    fixture                f = {0};
    char                   message[200] = "";
    kd_formulation_options form = kd_formulation_options_default();
    form.projection = projection;
    assert_int_equal(kd_pendulum_create(GRAVITY, p0, v0, false, &f.eom, &f.x), KD_OK);
    f.dae = make_dae(f.eom, NULL, f.x, KD_ODE, &form);
    kd_formulation_pack(f.dae, f.x, f.y);
    if (kd_integrator_create(f.dae, KIND, opt, &f.it, message, sizeof message) < 0) fail_msg("%s", message);
    return f;
}

static void drop_fixture(fixture *f)
{
    kd_integrator_destroy(f->it);
    kd_dae_destroy(f->dae);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

static void run(fixture *f, double t_end)
{
    while (kd_integrator_time(f->it) < t_end)
        if (kd_integrator_step(f->it, t_end) != KD_OK) fail_msg("%s", kd_integrator_message(f->it));
}

// |g|, |gI| of the pendulum
static double violation(const double *y)
{
    return fmax(fabs(y[0] * y[0] + y[1] * y[1] - 1), fabs(y[0] * y[2] + y[1] * y[3]));
}

static double error_at(const fixture *f, double t)
{
    double exact[4], most = 0;
    kd_pendulum_exact(GRAVITY, false, SPEED, t, exact, exact + 2, NULL);
    for (int i = 0; i < 4; i++) most = fmax(most, fabs(kd_integrator_x(f->it)[i] - exact[i]));
    return most;
}

// The pendulum moves as its exact solution, by all methods and both kinds of linear algebra, projected or not; the
// state is completed with its multiplier.
static void pendulum_moves_exactly(void **state)
{
    (void)state;
    double exact[5];
    kd_pendulum_exact(GRAVITY, false, SPEED, 2, exact, exact + 2, exact + 4);
    for (int kind = 0; kind < 3; kind++) {
        for (int projected = 0; projected < 2; projected++) {
            kd_integrator_options opt = kd_integrator_options_default();
            opt.rtol = opt.atol = 1e-9;
            if (!choose(&opt, (enum variant)kind, projected)) continue; // refused
            fixture f = make_fixture(&opt, projected ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER);
            assert_int_equal(kd_integrator_start(f.it, 0, f.y), KD_OK);
            run(&f, 2);
            assert_close(kd_integrator_time(f.it), 2, 0);
            assert_true(error_at(&f, 2) < 2e-6);
            if (projected) assert_true(violation(kd_integrator_x(f.it)) < 1e-13);
            if (!projected) assert_true(violation(kd_integrator_x(f.it)) > 1e-13);
            kd_formulation_unpack(f.dae, 2, kd_integrator_x(f.it), f.x);
            assert_close(f.x->lambda[0], exact[4], 1e-4);
            kd_stats stats = kd_integrator_stats(f.it);
            assert_true(stats.accepted > 20 && stats.steps >= stats.accepted && stats.residuals > stats.accepted);
            assert_int_equal(stats.jacobians > 0, kind > 0);
            assert_int_equal(stats.for_differences > 0, kind == 1);
            assert_int_equal(stats.decompositions > 0, kind > 0);
            assert_true(stats.h_last > 0 && stats.order_last > 0);
            if (projected) assert_true(stats.projections >= stats.accepted);
            if (!projected) assert_int_equal(stats.projections, 0);
            if (kind == 2) assert_true(f.dae->methods->counters(f.dae->impl).jacobians > 0);
            drop_fixture(&f);
        }
    }
}

// A bound projects now and then, and the violation stays below it.
static void bound_projects_now_and_then(void **state)
{
    (void)state;
    kd_integrator_options opt = kd_integrator_options_default();
    opt.rtol = opt.atol = 1e-6;
    const double           p0[2] = {0, -1}, v0[2] = {SPEED, 0};
    kd_formulation_options form = kd_formulation_options_default();
    form.projection = KD_PROJECT_BOUND;
    form.projection_bound = 5e-7; // below the tolerance: what a projection moves must not look like an error
    fixture f = {0};
    assert_int_equal(kd_pendulum_create(GRAVITY, p0, v0, false, &f.eom, &f.x), KD_OK);
    f.dae = make_dae(f.eom, NULL, f.x, KD_ODE, &form);
    kd_formulation_pack(f.dae, f.x, f.y);
    assert_int_equal(kd_integrator_create(f.dae, KIND, &opt, &f.it, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(f.it, 0, f.y), KD_OK);
    while (kd_integrator_time(f.it) < 10) {
        assert_int_equal(kd_integrator_step(f.it, 10), KD_OK);
        assert_true(violation(kd_integrator_x(f.it)) <= 5e-7);
    }
    kd_stats stats = kd_integrator_stats(f.it);
    assert_true(stats.projections > 2 && stats.projections < stats.accepted * 3 / 4);
    drop_fixture(&f);
}

// Dense output is close to the exact motion inside each step, exact at its end, refused outside; projected with the
// steps.
static void dense_output_is_close(void **state)
{
    (void)state;
    for (int projected = 0; projected < 2; projected++) {
        kd_integrator_options opt = kd_integrator_options_default();
        opt.rtol = opt.atol = 1e-8;
        fixture f = make_fixture(&opt, projected ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER);
        assert_int_equal(kd_integrator_start(f.it, 0, f.y), KD_OK);
        for (int k = 0; k < 60; k++) {
            double y[8], exact[4];
            assert_int_equal(kd_integrator_step(f.it, 5), KD_OK);
            double t0 = kd_integrator_time_old(f.it), t1 = kd_integrator_time(f.it), t = t0 + 0.3 * (t1 - t0);
            assert_true(t1 > t0);
            assert_int_equal(kd_integrator_dense(f.it, t, y), KD_OK);
            kd_pendulum_exact(GRAVITY, false, SPEED, t, exact, exact + 2, NULL);
            for (int i = 0; i < 4; i++) assert_close(y[i], exact[i], 1e-5);
            if (projected) assert_true(violation(y) < 1e-13);
            assert_int_equal(kd_integrator_dense(f.it, t1, y), KD_OK);
            assert_memory_equal(y, kd_integrator_x(f.it), (size_t)f.dae->n * sizeof(double));
            assert_int_equal(kd_integrator_dense(f.it, t1 + 1, y), KD_ERR_TIME);
            assert_int_equal(kd_integrator_dense(f.it, t0 - 1e-3, y), KD_ERR_TIME);
        }
        drop_fixture(&f);
    }
}

// All test systems: quaternions stay normed, contact coordinates and auxiliary variables are solved for.
static void systems_move_as_known(void **state)
{
    (void)state;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system  *system = &kd_test_systems[k];
        kd_formulation_options form = kd_formulation_options_default();
        kd_integrator_options  opt = kd_integrator_options_default();
        kd_eom                *eom;
        kd_state              *x, *exact;
        kd_integrator         *it;
        double                 y[100];
        if (system->redundant) form.constraints = KD_DECOMPOSE_SVD;
        form.projection = KD_PROJECT_ALWAYS;
        opt.rtol = opt.atol = 1e-8;
        assert_int_equal(system->create(&eom, &x), KD_OK);
        assert_int_equal(kd_state_create(eom, &exact), KD_OK);
        kd_dae *dae = make_dae(eom, NULL, x, KD_ODE, &form);
        kd_dims d = kd_eom_dims(eom);
        assert_true(dae->n <= 100);
        kd_formulation_pack(dae, x, y);
        assert_int_equal(kd_integrator_create(dae, KIND, &opt, &it, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(it, 0, y), KD_OK);
        while (kd_integrator_time(it) < system->t_end)
            if (kd_integrator_step(it, system->t_end) < 0) fail_msg("%s: %s", system->name, kd_integrator_message(it));
        kd_formulation_unpack(dae, system->t_end, kd_integrator_x(it), x);
        system->solution(system->t_end, exact);
        for (int i = 0; i < d.np + d.nv + d.nr + d.nw + d.ns; i++)
            if (fabs(x->p[i] - exact->p[i]) > 1e-3 * fmax(1, fabs(exact->p[i])))
                fail_msg("%s: component %d is %.12g, not %.12g", system->name, i, x->p[i], exact->p[i]);
        if (d.nq == 1)
            assert_close(x->p[3] * x->p[3] + x->p[4] * x->p[4] + x->p[5] * x->p[5] + x->p[6] * x->p[6], 1, 1e-14);
        kd_integrator_destroy(it);
        kd_dae_destroy(dae);
        kd_state_destroy(exact);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// A second start forgets the past, gives the same numbers again and keeps counting.
static void restart_repeats(void **state)
{
    (void)state;
    fixture f = make_fixture(NULL, KD_PROJECT_NEVER);
    double  first[4];
    assert_int_equal(kd_integrator_step(f.it, 1), KD_ERR_STAGE);
    assert_int_equal(kd_integrator_start(f.it, 0, f.y), KD_OK);
    run(&f, 0.5);
    memcpy(first, kd_integrator_x(f.it), sizeof first);
    long steps = kd_integrator_stats(f.it).accepted;
    assert_int_equal(kd_integrator_start(f.it, 0, f.y), KD_OK);
    assert_close(kd_integrator_time(f.it), 0, 0);
    run(&f, 0.5);
    assert_memory_equal(kd_integrator_x(f.it), first, sizeof first);
    assert_int_equal(kd_integrator_stats(f.it).accepted, 2 * steps);
    assert_int_equal(kd_integrator_step(f.it, 0.4), KD_ERR_TIME);
    assert_int_equal(kd_integrator_step(f.it, 0.5), KD_OK); // nothing to do
    drop_fixture(&f);
}

// Too few steps allowed: status, time and advice; the state is the last accepted one.
static void too_many_steps(void **state)
{
    (void)state;
    kd_integrator_options opt = kd_integrator_options_default();
    opt.max_steps = 7;
    fixture f = make_fixture(&opt, KD_PROJECT_NEVER);
    assert_int_equal(kd_integrator_start(f.it, 0, f.y), KD_OK);
    for (int k = 0; k < 7; k++) assert_int_equal(kd_integrator_step(f.it, 50), KD_OK);
    double t = kd_integrator_time(f.it), x = kd_integrator_x(f.it)[0];
    assert_int_equal(kd_integrator_step(f.it, 50), KD_ERR_TOO_MANY_STEPS);
    assert_non_null(strstr(kd_integrator_message(f.it), "max_steps"));
    assert_close(kd_integrator_time(f.it), t, 0);
    assert_close(kd_integrator_x(f.it)[0], x, 0);
    drop_fixture(&f);
}

// ---- attempts -------------------------------------------------------------------------------------------------------

typedef struct listener {
    long   accepted, rejected;
    double t; // end of the last accepted step
    double share;
} listener;

static void listen(const kd_attempt_report *report, void *context)
{
    listener *l = context;
    if (report->outcome == KD_ATTEMPT_ACCEPTED) {
        l->accepted++;
        assert_close(report->t, l->t, 1e-13);
        assert_true(report->h > 0);
        l->t = report->t + report->h;
        double sum = 0;
        for (int i = 0; i < 4 && report->share; i++) sum += report->share[i];
        if (report->share) assert_close(sum, 1, 1e-12);
        if (report->share) l->share += sum;
    } else {
        l->rejected++;
        assert_close(report->t, l->t, 1e-13);
        assert_true(report->h >= 0);
        assert_null(report->share);
    }
}

// Every attempt is told: as many as the statistics count, end to end.
static void attempts_are_told(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        kd_integrator_options opt = kd_integrator_options_default();
        listener              l = {0};
        assert_true(choose(&opt, (enum variant)kind, false));
        opt.rtol = opt.atol = 1e-6;
        opt.h_first = 0.3; // too long: rejected
        fixture f = make_fixture(&opt, KD_PROJECT_NEVER);
        f.dae->observe = listen;
        f.dae->observer = &l;
        assert_int_equal(kd_integrator_start(f.it, 0, f.y), KD_OK);
        run(&f, 3);
        kd_stats stats = kd_integrator_stats(f.it);
        assert_int_equal(l.accepted, stats.accepted);
        assert_int_equal(l.rejected, stats.rejected_error + stats.rejected_newton);
        assert_true(l.rejected > 0);
        assert_close(l.t, 3, 1e-12);
        assert_true(l.share > 0.9 * (double)l.accepted);
        drop_fixture(&f);
    }
}

// ---- a DAE that fails on purpose: x' = -x ---------------------------------------------------------------------------

typedef struct decay {
    kd_dae  dae;
    double  from; // trouble starts at this time
    kd_eval answer;
    bool    nan, steep;
} decay;

static kd_eval decay_rhs(void *impl, double t, const double *x, double *xdot)
{
    decay *d = impl;
    xdot[0] = -x[0];
    if (t < d->from) return KD_EVAL_OK;
    if (d->nan) xdot[0] = NAN;
    if (d->steep) xdot[0] = 1e30 * (t - d->from);
    return d->answer;
}
static kd_status decay_fault(void *impl, const char **message)
{
    *message = "decay refuses";
    return ((decay *)impl)->answer == KD_EVAL_STOP ? KD_ERR_CALLBACK_STOP : KD_ERR_RETRY_FAILED;
}
static const char *decay_name(void *impl, int i, char *buffer, size_t size)
{
    (void)impl, (void)i;
    snprintf(buffer, size, "the amount");
    return buffer;
}

static kd_status run_decay(decay d, const kd_integrator_options *opt, char *message, size_t size)
{
    static const kd_dae_class methods = {
        .name = "decay", .rhs = decay_rhs, .fault = decay_fault, .component_name = decay_name};
    static const kd_component component[1] = {KD_COMPONENT_POSITION};
    static const int          index[1] = {1};
    static const bool         controlled[1] = {true};
    kd_integrator            *it;
    double                    x = 1;
    d.dae = (kd_dae){.methods = &methods,
                     .impl = &d,
                     .n = 1,
                     .nrows = 1,
                     .nreduced = 1,
                     .nreduced_max = 1,
                     .component = component,
                     .index = index,
                     .controlled = controlled,
                     .nstate = 1};
    assert_int_equal(kd_integrator_create(&d.dae, KIND, opt, &it, NULL, 0), KD_OK);
    kd_status status = kd_integrator_start(it, 0, &x);
    while (status == KD_OK && kd_integrator_time(it) < 1) status = kd_integrator_step(it, 1);
    snprintf(message, size, "%s", kd_integrator_message(it));
    if (status == KD_OK) assert_close(kd_integrator_x(it)[0], exp(-1), 1e-4);
    if (status < 0) {
        assert_true(kd_integrator_time(it) < d.from + 1e-12);
        assert_true(isfinite(kd_integrator_x(it)[0]));
    }
    kd_integrator_destroy(it);
    return status;
}

// STOP ends the run at once; RETRY and NaN try smaller steps first; all say when, why and, if known, where.
static void failures_have_words(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        kd_integrator_options opt = kd_integrator_options_default();
        char                  message[600];
        assert_true(choose(&opt, (enum variant)kind, false));
        assert_int_equal(run_decay((decay){.from = 2}, &opt, message, sizeof message), KD_OK);
        assert_string_equal(message, "");
        assert_int_equal(run_decay((decay){.from = 0.5, .answer = KD_EVAL_STOP}, &opt, message, sizeof message),
                         KD_ERR_CALLBACK_STOP);
        assert_non_null(strstr(message, "t = 0."));
        assert_non_null(strstr(message, "decay refuses"));
        assert_int_equal(run_decay((decay){.from = 0.5, .answer = KD_EVAL_RETRY}, &opt, message, sizeof message),
                         KD_ERR_RETRY_FAILED);
        assert_non_null(strstr(message, "decay refuses"));
        assert_int_equal(run_decay((decay){.from = 0.5, .nan = true}, &opt, message, sizeof message),
                         KD_ERR_NOT_FINITE);
        assert_non_null(strstr(message, "not finite"));
        kd_status status = run_decay((decay){.from = 0.5, .steep = true}, &opt, message, sizeof message);
        assert_true(status == KD_ERR_STEP_TOO_SMALL || status == KD_ERR_NEWTON);
        assert_non_null(strstr(message, "the amount"));
    }
}

// A failed allocation of ours leaves nothing behind.
static void failed_allocation_leaves_nothing(void **state)
{
    (void)state;
    fixture f = make_fixture(NULL, KD_PROJECT_NEVER);
    for (long fail_at = 1;; fail_at++) {
        failing_allocator a = {.fail_at = fail_at};
        kd_integrator    *it;
        failing_allocator_use(&a);
        kd_status status = kd_integrator_create(f.dae, KIND, NULL, &it, NULL, 0);
        kd_integrator_destroy(it);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
    }
    drop_fixture(&f);
}

// Without SUNDIALS every call says so.
static void unavailable_says_so(void **state)
{
    (void)state;
    kd_integrator *it;
    char           message[100];
    assert_int_equal(kd_integrator_create(NULL, KIND, NULL, &it, message, sizeof message), KD_ERR_UNAVAILABLE);
    assert_null(it);
    assert_int_equal(kd_integrator_step(NULL, 1), KD_ERR_UNAVAILABLE);
}

// All of them, with those of the adapter itself; without SUNDIALS what is said then
#define RUN_SUNDIALS_ODE(...)                                                                                          \
    do {                                                                                                               \
        const struct CMUnitTest with[] = {                                                                             \
            cmocka_unit_test(pendulum_moves_exactly),                                                                  \
            cmocka_unit_test(bound_projects_now_and_then),                                                             \
            cmocka_unit_test(dense_output_is_close),                                                                   \
            cmocka_unit_test(systems_move_as_known),                                                                   \
            cmocka_unit_test(restart_repeats),                                                                         \
            cmocka_unit_test(too_many_steps),                                                                          \
            cmocka_unit_test(attempts_are_told),                                                                       \
            cmocka_unit_test(failures_have_words),                                                                     \
            cmocka_unit_test(failed_allocation_leaves_nothing),                                                        \
            __VA_ARGS__,                                                                                               \
        };                                                                                                             \
        const struct CMUnitTest without[] = {cmocka_unit_test(unavailable_says_so)};                                   \
        silence_unused_whole();                                                                                        \
        if (kd_integrator_about(KIND, NULL)->available) return cmocka_run_group_tests(with, NULL, NULL);               \
        return cmocka_run_group_tests(without, NULL, NULL);                                                            \
    } while (0)

#endif
