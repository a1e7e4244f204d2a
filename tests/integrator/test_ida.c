// Tests of the SUNDIALS IDA adapter: known motions, both linear algebras, dense output, failures with words.
#include "integrator/shared.h"

static const kd_formulation forms[] = {KD_INDEX1, KD_INDEX2, KD_GGL, KD_BAUMGARTE2, KD_BAUMGARTE1, KD_ODE, KD_INDEX3};
enum { FORMS = sizeof forms / sizeof *forms };

static fixture make_fixture(kd_formulation form, const kd_integrator_options *opt)
{
    return make_pendulum(KD_IDA, opt, form, NULL);
}

// The pendulum moves as its exact solution, for all forms and both kinds of linear algebra; index 3 as well as it can.
static void pendulum_moves_exactly(void **state)
{
    (void)state;
    double exact[5];
    kd_pendulum_exact(GRAVITY, false, SPEED, 2, exact, exact + 2, exact + 4);
    for (int k = 0; k < FORMS; k++) {
        double tolerance = forms[k] == KD_INDEX3 ? 1e-3 : 2e-6;
        for (int own = 0; own < 2; own++) {
            kd_integrator_options opt = kd_integrator_options_default();
            opt.rtol = opt.atol = 1e-9;
            opt.ida.own_linear_algebra = own;
            fixture f = make_fixture(forms[k], &opt);
            assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
            run_until(f.solver, 2);
            assert_close(kd_integrator_time(f.solver), 2, 0);
            for (int i = 0; i < 4; i++) assert_close(kd_integrator_x(f.solver)[i], exact[i], tolerance);
            kd_formulation_unpack(f.dae, 2, kd_integrator_x(f.solver), f.x);
            if (forms[k] != KD_INDEX3) assert_close(f.x->lambda[0], exact[4], 1e-4);
            kd_stats stats = kd_integrator_stats(f.solver);
            assert_true(stats.accepted > 50 && stats.steps >= stats.accepted && stats.residuals > stats.accepted);
            assert_true(stats.jacobians > 0 && stats.decompositions > 0 && stats.h_last > 0 && stats.order_last > 1);
            assert_int_equal(stats.for_differences > 0, !own);
            drop_fixture(&f);
        }
    }
}

// Dense output is close to the exact motion inside each step, exact at its end, refused outside.
static void dense_output_is_close(void **state)
{
    (void)state;
    kd_integrator_options opt = kd_integrator_options_default();
    opt.rtol = opt.atol = 1e-8;
    fixture f = make_fixture(KD_GGL, &opt);
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    for (int k = 0; k < 200; k++) {
        double y[8], exact[4];
        assert_int_equal(kd_integrator_step(f.solver, 5), KD_OK);
        double t0 = kd_integrator_time_old(f.solver), t1 = kd_integrator_time(f.solver), t = t0 + 0.3 * (t1 - t0);
        assert_true(t1 > t0);
        assert_int_equal(kd_integrator_dense(f.solver, t, y), KD_OK);
        kd_pendulum_exact(GRAVITY, false, SPEED, t, exact, exact + 2, NULL);
        for (int i = 0; i < 4; i++) assert_close(y[i], exact[i], 1e-5);
        assert_int_equal(kd_integrator_dense(f.solver, t1, y), KD_OK);
        assert_memory_equal(y, kd_integrator_x(f.solver), (size_t)f.dae->n * sizeof(double));
        assert_int_equal(kd_integrator_dense(f.solver, t1 + 1, y), KD_ERR_TIME);
        assert_int_equal(kd_integrator_dense(f.solver, t0 - 1e-3, y), KD_ERR_TIME);
    }
    drop_fixture(&f);
}

// A second start forgets the past, gives the same numbers again and keeps counting.
static void restart_repeats(void **state)
{
    (void)state;
    fixture f = make_fixture(KD_INDEX2, NULL);
    check_restart(&f);
    drop_fixture(&f);
}

// Refused: tolerances that are none, forms with selectors, more rows than unknowns.
static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    fixture               f = make_fixture(KD_GGL, NULL);
    kd_integrator_options opt = kd_integrator_options_default();
    kd_integrator        *ida;
    char                  message[200];
    opt.rtol = 0;
    assert_int_equal(kd_integrator_create(f.dae, KD_IDA, &opt, &ida, message, sizeof message), KD_ERR_TOLERANCE);
    opt = kd_integrator_options_default();
    opt.max_steps = 0;
    assert_int_equal(kd_integrator_create(f.dae, KD_IDA, &opt, &ida, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_create(NULL, KD_IDA, NULL, &ida, message, sizeof message), KD_ERR_ARGUMENT);
    const kd_formulation refused[] = {KD_PSF, KD_PSF1, KD_ODASSL};
    for (int k = 0; k < 3; k++) {
        kd_dae *dae = make_dae(f.eom, NULL, f.x, refused[k], NULL);
        assert_int_equal(kd_integrator_create(dae, KD_IDA, NULL, &ida, message, sizeof message), KD_ERR_UNSUPPORTED);
        assert_non_null(strstr(message, "ggl"));
        assert_null(ida);
        kd_dae_destroy(dae);
    }
    drop_fixture(&f);
}

// Too few steps allowed: status, time and advice; the state is the last accepted one.
static void too_many_steps(void **state)
{
    (void)state;
    kd_integrator_options opt = kd_integrator_options_default();
    opt.max_steps = 7;
    fixture f = make_fixture(KD_GGL, &opt);
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    for (int k = 0; k < 7; k++) assert_int_equal(kd_integrator_step(f.solver, 5), KD_OK);
    double t = kd_integrator_time(f.solver), x = kd_integrator_x(f.solver)[0];
    assert_int_equal(kd_integrator_step(f.solver, 5), KD_ERR_TOO_MANY_STEPS);
    assert_non_null(strstr(kd_integrator_message(f.solver), "max_steps"));
    assert_close(kd_integrator_time(f.solver), t, 0);
    assert_close(kd_integrator_x(f.solver)[0], x, 0);
    drop_fixture(&f);
}

// ---- attempts -------------------------------------------------------------------------------------------------------

typedef struct listener {
    long   accepted, rejected, shared;
    double t; // end of the last accepted step
} listener;

static void listen(const kd_attempt_report *report, void *context)
{
    listener *l = context;
    assert_close(report->t, l->t, 1e-13);
    if (report->outcome != KD_ATTEMPT_ACCEPTED) {
        l->rejected++;
        assert_true(report->h > 0);
        return;
    }
    double sum = 0;
    l->accepted++;
    l->t = report->t + report->h;
    for (int i = 0; i < 6 && report->share; i++) sum += report->share[i];
    if (report->share) {
        assert_close(sum, 1, 1e-12);
        assert_close(report->share[4] + report->share[5], 0, 0); // lambda and eta are not in the error test
        l->shared++;
    }
}

// Every attempt is told: as many as the statistics count, end to end.
static void attempts_are_told(void **state)
{
    (void)state;
    kd_integrator_options opt = kd_integrator_options_default();
    listener              l = {0};
    opt.h_first = 0.1; // too long: rejected
    fixture f = make_fixture(KD_GGL, &opt);
    f.dae->observe = listen;
    f.dae->observer = &l;
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    run_until(f.solver, 3);
    kd_stats stats = kd_integrator_stats(f.solver);
    assert_int_equal(l.accepted, stats.accepted);
    assert_int_equal(l.rejected, stats.rejected_error + stats.rejected_newton);
    assert_true(l.rejected > 0);
    assert_true(l.shared > stats.accepted * 9 / 10);
    assert_close(l.t, 3, 1e-12);
    drop_fixture(&f);
}

// ---- failures -------------------------------------------------------------------------------------------------------

// STOP ends the run at once; RETRY and NaN try smaller steps first; all say when, why and, if known, where.
static void failures_have_words(void **state)
{
    (void)state;
    check_words_of_failures(KD_IDA, NULL);
}

// A failed allocation of ours leaves nothing behind.
static void failed_allocation_leaves_nothing(void **state)
{
    (void)state;
    fixture f = make_fixture(KD_GGL, NULL);
    check_memory(f.dae, KD_IDA);
    drop_fixture(&f);
}

// Without SUNDIALS every call says so.
static void unavailable_says_so(void **state)
{
    (void)state;
    check_unavailable(KD_IDA);
}

int main(void)
{
    const struct CMUnitTest with[] = {
        cmocka_unit_test(pendulum_moves_exactly), cmocka_unit_test(dense_output_is_close),
        cmocka_unit_test(restart_repeats),        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(too_many_steps),         cmocka_unit_test(attempts_are_told),
        cmocka_unit_test(failures_have_words),    cmocka_unit_test(failed_allocation_leaves_nothing),
    };
    const struct CMUnitTest without[] = {cmocka_unit_test(unavailable_says_so)};
    silence_unused_whole();
    if (kd_integrator_about(KD_IDA, NULL)->available) return cmocka_run_group_tests(with, NULL, NULL);
    return cmocka_run_group_tests(without, NULL, NULL);
}
