// sundials_ode.h: what the adapters of CVODE and ARKODE have in common, tested on ode: known motions, projection, dense
// output, restarts, attempts, failures with words. A file that includes it says first which one it tests:
//
//     static const kd_integrator_kind KIND = KD_CVODE;
//     static bool choose(kd_integrator_options *opt, enum variant variant, bool projected);
#ifndef KD_TESTS_SUNDIALS_ODE_H
#define KD_TESTS_SUNDIALS_ODE_H

#include "integrator/shared.h"

// an explicit method, or that of Adams; an implicit one with the linear algebra of SUNDIALS, with that of the form
enum variant { PLAIN, IMPLICIT, IMPLICIT_OWN };

static const kd_integrator_kind KIND;
// Method and linear algebra of a variant; false: it cannot project
static bool choose(kd_integrator_options *opt, enum variant variant, bool projected);

static fixture make_fixture(const kd_integrator_options *opt, kd_projection projection)
{
    return make_projected(KIND, opt, projection);
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
            assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
            run_until(f.solver, 2);
            assert_close(kd_integrator_time(f.solver), 2, 0);
            assert_true(pendulum_error(kd_integrator_x(f.solver), 2) < 2e-6);
            if (projected) assert_true(violation(kd_integrator_x(f.solver)) < 1e-13);
            if (!projected) assert_true(violation(kd_integrator_x(f.solver)) > 1e-13);
            kd_formulation_unpack(f.dae, 2, kd_integrator_x(f.solver), f.x);
            assert_close(f.x->lambda[0], exact[4], 1e-4);
            kd_stats stats = kd_integrator_stats(f.solver);
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
    kd_formulation_options form = kd_formulation_options_default();
    form.projection = KD_PROJECT_BOUND;
    form.projection_bound = 5e-7; // below the tolerance: what a projection moves must not look like an error
    fixture f = make_pendulum(KIND, &opt, KD_ODE, &form);
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    while (kd_integrator_time(f.solver) < 10) {
        assert_int_equal(kd_integrator_step(f.solver, 10), KD_OK);
        assert_true(violation(kd_integrator_x(f.solver)) <= 5e-7);
    }
    kd_stats stats = kd_integrator_stats(f.solver);
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
        assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
        for (int k = 0; k < 60; k++) {
            double y[8], exact[4];
            assert_int_equal(kd_integrator_step(f.solver, 5), KD_OK);
            double t0 = kd_integrator_time_old(f.solver), t1 = kd_integrator_time(f.solver), t = t0 + 0.3 * (t1 - t0);
            assert_true(t1 > t0);
            assert_int_equal(kd_integrator_dense(f.solver, t, y), KD_OK);
            kd_pendulum_exact(GRAVITY, false, SPEED, t, exact, exact + 2, NULL);
            for (int i = 0; i < 4; i++) assert_close(y[i], exact[i], 1e-5);
            if (projected) assert_true(violation(y) < 1e-13);
            assert_int_equal(kd_integrator_dense(f.solver, t1, y), KD_OK);
            assert_memory_equal(y, kd_integrator_x(f.solver), (size_t)f.dae->n * sizeof(double));
            assert_int_equal(kd_integrator_dense(f.solver, t1 + 1, y), KD_ERR_TIME);
            assert_int_equal(kd_integrator_dense(f.solver, t0 - 1e-3, y), KD_ERR_TIME);
        }
        drop_fixture(&f);
    }
}

// All test systems: quaternions stay normed, contact coordinates and auxiliary variables are solved for.
static void systems_move_as_known(void **state)
{
    (void)state;
    kd_integrator_options opt = kd_integrator_options_default();
    opt.rtol = opt.atol = 1e-8;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) check_system(&kd_test_systems[k], KIND, &opt, KD_ODE, 1e-3);
}

// A second start forgets the past, gives the same numbers again and keeps counting.
static void restart_repeats(void **state)
{
    (void)state;
    fixture f = make_fixture(NULL, KD_PROJECT_NEVER);
    check_restart(&f);
    drop_fixture(&f);
}

// Too few steps allowed: status, time and advice; the state is the last accepted one.
static void too_many_steps(void **state)
{
    (void)state;
    kd_integrator_options opt = kd_integrator_options_default();
    opt.max_steps = 7;
    fixture f = make_fixture(&opt, KD_PROJECT_NEVER);
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    for (int k = 0; k < 7; k++) assert_int_equal(kd_integrator_step(f.solver, 50), KD_OK);
    double t = kd_integrator_time(f.solver), x = kd_integrator_x(f.solver)[0];
    assert_int_equal(kd_integrator_step(f.solver, 50), KD_ERR_TOO_MANY_STEPS);
    assert_non_null(strstr(kd_integrator_message(f.solver), "max_steps"));
    assert_close(kd_integrator_time(f.solver), t, 0);
    assert_close(kd_integrator_x(f.solver)[0], x, 0);
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
        assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
        run_until(f.solver, 3);
        kd_stats stats = kd_integrator_stats(f.solver);
        assert_int_equal(l.accepted, stats.accepted);
        assert_int_equal(l.rejected, stats.rejected_error + stats.rejected_newton);
        assert_true(l.rejected > 0);
        assert_close(l.t, 3, 1e-12);
        assert_true(l.share > 0.9 * (double)l.accepted);
        drop_fixture(&f);
    }
}

// ---- failures -------------------------------------------------------------------------------------------------------

// STOP ends the run at once; RETRY and NaN try smaller steps first; all say when, why and, if known, where.
static void failures_have_words(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        kd_integrator_options opt = kd_integrator_options_default();
        assert_true(choose(&opt, (enum variant)kind, false));
        check_words_of_failures(KIND, &opt);
    }
}

// A failed allocation of ours leaves nothing behind.
static void failed_allocation_leaves_nothing(void **state)
{
    (void)state;
    fixture f = make_fixture(NULL, KD_PROJECT_NEVER);
    check_memory(f.dae, KIND);
    drop_fixture(&f);
}

// Without SUNDIALS every call says so.
static void unavailable_says_so(void **state)
{
    (void)state;
    check_unavailable(KIND);
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
