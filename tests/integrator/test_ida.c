// Tests of the SUNDIALS IDA adapter: known motions, both linear algebras, dense output, failures with words.
#include "core/failing_allocator.h"
#include "forms/whole.h"
#include "pendulum.h"
#include <kardan/integrator.h>

#define GRAVITY 13.75
#define SPEED 2.9

static const kd_formulation forms[] = {KD_INDEX1, KD_INDEX2, KD_GGL, KD_BAUMGARTE2, KD_BAUMGARTE1, KD_ODE, KD_INDEX3};
enum { FORMS = sizeof forms / sizeof *forms };

typedef struct fixture {
    kd_eom        *eom;
    kd_state      *x;
    kd_dae        *dae;
    kd_integrator *ida;
    double         y[8];
} fixture;

static fixture make_fixture(kd_formulation form, const kd_integrator_options *opt)
{
    const double p0[2] = {0, -1}, v0[2] = {SPEED, 0};
    fixture      f = {0};
    char         message[200];
    assert_int_equal(kd_pendulum_create(GRAVITY, p0, v0, false, &f.eom, &f.x), KD_OK);
    f.dae = make_dae(f.eom, NULL, f.x, form, NULL);
    kd_formulation_pack(f.dae, f.x, f.y);
    assert_int_equal(kd_integrator_create(f.dae, KD_IDA, opt, &f.ida, message, sizeof message), KD_OK);
    return f;
}

static void drop_fixture(fixture *f)
{
    kd_integrator_destroy(f->ida);
    kd_dae_destroy(f->dae);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

static void run(fixture *f, double t_end)
{
    while (kd_integrator_time(f->ida) < t_end)
        if (kd_integrator_step(f->ida, t_end) != KD_OK) fail_msg("%s", kd_integrator_message(f->ida));
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
            assert_int_equal(kd_integrator_start(f.ida, 0, f.y), KD_OK);
            run(&f, 2);
            assert_close(kd_integrator_time(f.ida), 2, 0);
            for (int i = 0; i < 4; i++) assert_close(kd_integrator_x(f.ida)[i], exact[i], tolerance);
            kd_formulation_unpack(f.dae, 2, kd_integrator_x(f.ida), f.x);
            if (forms[k] != KD_INDEX3) assert_close(f.x->lambda[0], exact[4], 1e-4);
            kd_stats stats = kd_integrator_stats(f.ida);
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
    assert_int_equal(kd_integrator_start(f.ida, 0, f.y), KD_OK);
    for (int k = 0; k < 200; k++) {
        double y[8], exact[4];
        assert_int_equal(kd_integrator_step(f.ida, 5), KD_OK);
        double t0 = kd_integrator_time_old(f.ida), t1 = kd_integrator_time(f.ida), t = t0 + 0.3 * (t1 - t0);
        assert_true(t1 > t0);
        assert_int_equal(kd_integrator_dense(f.ida, t, y), KD_OK);
        kd_pendulum_exact(GRAVITY, false, SPEED, t, exact, exact + 2, NULL);
        for (int i = 0; i < 4; i++) assert_close(y[i], exact[i], 1e-5);
        assert_int_equal(kd_integrator_dense(f.ida, t1, y), KD_OK);
        assert_memory_equal(y, kd_integrator_x(f.ida), (size_t)f.dae->n * sizeof(double));
        assert_int_equal(kd_integrator_dense(f.ida, t1 + 1, y), KD_ERR_TIME);
        assert_int_equal(kd_integrator_dense(f.ida, t0 - 1e-3, y), KD_ERR_TIME);
    }
    drop_fixture(&f);
}

// A second start forgets the past, gives the same numbers again and keeps counting.
static void restart_repeats(void **state)
{
    (void)state;
    fixture f = make_fixture(KD_INDEX2, NULL);
    double  first[5];
    assert_int_equal(kd_integrator_step(f.ida, 1), KD_ERR_STAGE);
    assert_int_equal(kd_integrator_start(f.ida, 0, f.y), KD_OK);
    run(&f, 0.5);
    memcpy(first, kd_integrator_x(f.ida), sizeof first);
    long steps = kd_integrator_stats(f.ida).accepted;
    assert_int_equal(kd_integrator_start(f.ida, 0, f.y), KD_OK);
    assert_close(kd_integrator_time(f.ida), 0, 0);
    run(&f, 0.5);
    assert_memory_equal(kd_integrator_x(f.ida), first, sizeof first);
    assert_int_equal(kd_integrator_stats(f.ida).accepted, 2 * steps);
    assert_int_equal(kd_integrator_step(f.ida, 0.4), KD_ERR_TIME);
    assert_int_equal(kd_integrator_step(f.ida, 0.5), KD_OK); // nothing to do
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
    assert_int_equal(kd_integrator_start(f.ida, 0, f.y), KD_OK);
    for (int k = 0; k < 7; k++) assert_int_equal(kd_integrator_step(f.ida, 5), KD_OK);
    double t = kd_integrator_time(f.ida), x = kd_integrator_x(f.ida)[0];
    assert_int_equal(kd_integrator_step(f.ida, 5), KD_ERR_TOO_MANY_STEPS);
    assert_non_null(strstr(kd_integrator_message(f.ida), "max_steps"));
    assert_close(kd_integrator_time(f.ida), t, 0);
    assert_close(kd_integrator_x(f.ida)[0], x, 0);
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
    assert_int_equal(kd_integrator_start(f.ida, 0, f.y), KD_OK);
    run(&f, 3);
    kd_stats stats = kd_integrator_stats(f.ida);
    assert_int_equal(l.accepted, stats.accepted);
    assert_int_equal(l.rejected, stats.rejected_error + stats.rejected_newton);
    assert_true(l.rejected > 0);
    assert_true(l.shared > stats.accepted * 9 / 10);
    assert_close(l.t, 3, 1e-12);
    drop_fixture(&f);
}

// ---- a DAE that fails on purpose: x' = -x ---------------------------------------------------------------------------

typedef struct decay {
    kd_dae  dae;
    double  from; // trouble starts at this time
    kd_eval answer;
    bool    nan, steep;
} decay;

static kd_eval decay_residual(void *impl, double t, const double *x, const double *xdot, double *F)
{
    decay *d = impl;
    F[0] = xdot[0] + x[0];
    if (t < d->from) return KD_EVAL_OK;
    if (d->nan) F[0] = NAN;
    if (d->steep) F[0] = xdot[0] - 1e30 * (t - d->from);
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
static kd_eval decay_start(void *impl, double t, const double *x, double *xdot)
{
    (void)impl, (void)t;
    xdot[0] = -x[0];
    return KD_EVAL_OK;
}

static kd_status run_decay(decay d, char *message, size_t size)
{
    static const kd_dae_class methods = {.name = "decay",
                                         .residual = decay_residual,
                                         .fault = decay_fault,
                                         .component_name = decay_name,
                                         .start = decay_start};
    static const kd_component component[1] = {KD_COMPONENT_POSITION};
    static const int          index[1] = {1};
    static const bool         controlled[1] = {true};
    kd_integrator            *ida;
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
    assert_int_equal(kd_integrator_create(&d.dae, KD_IDA, NULL, &ida, NULL, 0), KD_OK);
    kd_status status = kd_integrator_start(ida, 0, &x);
    while (status == KD_OK && kd_integrator_time(ida) < 1) status = kd_integrator_step(ida, 1);
    snprintf(message, size, "%s", kd_integrator_message(ida));
    if (status == KD_OK) assert_close(kd_integrator_x(ida)[0], exp(-1), 1e-4);
    if (status < 0) {
        assert_true(kd_integrator_time(ida) < d.from + 1e-12);
        assert_true(isfinite(kd_integrator_x(ida)[0]));
    }
    kd_integrator_destroy(ida);
    return status;
}

// STOP ends the run at once; RETRY and NaN try smaller steps first; all say when, why and, if known, where.
static void failures_have_words(void **state)
{
    (void)state;
    char message[600];
    assert_int_equal(run_decay((decay){.from = 2}, message, sizeof message), KD_OK);
    assert_string_equal(message, "");
    assert_int_equal(run_decay((decay){.from = 0.5, .answer = KD_EVAL_STOP}, message, sizeof message),
                     KD_ERR_CALLBACK_STOP);
    assert_non_null(strstr(message, "t = 0."));
    assert_non_null(strstr(message, "decay refuses"));
    assert_int_equal(run_decay((decay){.from = 0.5, .answer = KD_EVAL_RETRY}, message, sizeof message),
                     KD_ERR_RETRY_FAILED);
    assert_non_null(strstr(message, "decay refuses"));
    assert_int_equal(run_decay((decay){.from = 0.5, .nan = true}, message, sizeof message), KD_ERR_NOT_FINITE);
    assert_non_null(strstr(message, "not finite"));
    kd_status status = run_decay((decay){.from = 0.5, .steep = true}, message, sizeof message);
    assert_true(status == KD_ERR_STEP_TOO_SMALL || status == KD_ERR_NEWTON);
    assert_non_null(strstr(message, "the amount"));
}

// A failed allocation of ours leaves nothing behind.
static void failed_allocation_leaves_nothing(void **state)
{
    (void)state;
    fixture f = make_fixture(KD_GGL, NULL);
    for (long fail_at = 1;; fail_at++) {
        failing_allocator a = {.fail_at = fail_at};
        kd_integrator    *ida;
        failing_allocator_use(&a);
        kd_status status = kd_integrator_create(f.dae, KD_IDA, NULL, &ida, NULL, 0);
        kd_integrator_destroy(ida);
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
    kd_integrator *ida;
    char           message[100];
    assert_int_equal(kd_integrator_create(NULL, KD_IDA, NULL, &ida, message, sizeof message), KD_ERR_UNAVAILABLE);
    assert_null(ida);
    assert_int_equal(kd_integrator_step(NULL, 1), KD_ERR_UNAVAILABLE);
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
