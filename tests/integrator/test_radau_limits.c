// Radau IIa where things nearly go wrong: the last bit of t_end, numbers that are not finite, matrices that cannot be
// had, missing arguments. One equation x' = phi(t, x) with a known solution, whose DAE fails on request.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <complex.h>
#include <float.h>
#include <kardan/integrator.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- the DAE --------------------------------------------------------------------------------------------------------

// x' = f' - rate (x^3 - f^3), solution x = f(t) = 1.5 + sin 3 t; a stiff rate makes Newton work
typedef struct cubic {
    kd_dae         dae;
    double         rate;
    double         t_accepted; // end of the last step
    double         phi_x, real;
    double complex complex_;
    // failures on request
    int       nan_errors;    // every such error estimate is NaN; 0: none
    int       singular;      // every such factorisation fails; 0: none
    bool      refuse_stages; // no derivatives but at accepted points
    int       error_estimates, factorisations, refused;
    kd_status status;
} cubic;

static double solution(double t)
{
    return 1.5 + sin(3 * t);
}

static kd_eval cubic_evaluate(void *impl, double t, const double *x, const double *xdot, double *part, double *y)
{
    const cubic *c = impl;
    double       f = solution(t);
    part[0] = 0;
    y[0] = 3 * cos(3 * t) - c->rate * (x[0] * x[0] * x[0] - f * f * f) - xdot[0];
    return KD_EVAL_OK;
}

// only error estimates come here
static kd_eval cubic_evaluate_accepted(void *impl, double t, const double *x, const double *xdot, double *part,
                                       double *y)
{
    cubic  *c = impl;
    kd_eval answer = cubic_evaluate(impl, t, x, xdot, part, y);
    if (c->nan_errors > 0 && ++c->error_estimates % c->nan_errors == 0) y[0] = NAN;
    return answer;
}

static kd_status cubic_linearize(void *impl, double t, const double *x, const double *xdot, bool restart)
{
    cubic *c = impl;
    (void)xdot, (void)restart;
    if (c->refuse_stages && t != c->t_accepted) {
        c->refused++;
        return c->status = KD_ERR_NOT_FINITE;
    }
    c->phi_x = -3 * c->rate * x[0] * x[0];
    return KD_OK;
}

static kd_status cubic_factor(void *impl, double gamma_real, double gamma_re, double gamma_im)
{
    cubic *c = impl;
    if (c->singular > 0 && ++c->factorisations % c->singular == 0) return c->status = KD_ERR_DECOMPOSITION;
    c->real = gamma_real - c->phi_x;
    c->complex_ = gamma_re + gamma_im * I - c->phi_x;
    return KD_OK;
}

static void cubic_solve_real(void *impl, double *y)
{
    y[0] /= ((cubic *)impl)->real;
}

static void cubic_solve_complex(void *impl, double *y_re, double *y_im)
{
    double complex y = (*y_re + *y_im * I) / ((cubic *)impl)->complex_;
    *y_re = creal(y);
    *y_im = cimag(y);
}

static void cubic_expand(void *impl, const double *part, const double *y, double *dx)
{
    (void)impl;
    dx[0] = part[0] + y[0];
}

static kd_eval cubic_correct(void *impl, double t, double *x, const double *xdot)
{
    (void)x, (void)xdot;
    ((cubic *)impl)->t_accepted = t;
    return KD_EVAL_OK;
}

static kd_eval cubic_start(void *impl, double t, const double *x, double *xdot)
{
    const double zero = 0;
    double       part;
    ((cubic *)impl)->t_accepted = t;
    return cubic_evaluate(impl, t, x, &zero, &part, xdot);
}

static const char *cubic_name(void *impl, int i, char *buffer, size_t size)
{
    (void)impl;
    snprintf(buffer, size, "x[%d] of the test", i);
    return buffer;
}

static kd_status cubic_fault(void *impl, const char **message)
{
    *message = "the test wants it so";
    return ((cubic *)impl)->status;
}

static kd_dae_counters cubic_counters(void *impl)
{
    (void)impl;
    return (kd_dae_counters){0};
}

static const kd_dae_class cubic_class = {
    .name = "cubic",
    .linearize = cubic_linearize,
    .factor = cubic_factor,
    .evaluate = cubic_evaluate,
    .evaluate_accepted = cubic_evaluate_accepted,
    .solve_real = cubic_solve_real,
    .solve_complex = cubic_solve_complex,
    .expand = cubic_expand,
    .correct = cubic_correct,
    .start = cubic_start,
    .component_name = cubic_name,
    .fault = cubic_fault,
    .counters = cubic_counters,
};

static cubic make(double rate)
{
    static const kd_component component = KD_COMPONENT_POSITION;
    static const int          index = 1;
    static const bool         controlled = true;
    return (cubic){.rate = rate,
                   .dae = {.methods = &cubic_class,
                           .n = 1,
                           .nreduced = 1,
                           .nreduced_max = 1,
                           .component = &component,
                           .index = &index,
                           .controlled = &controlled,
                           .nstate = 1}};
}

static kd_integrator *start(cubic *c, const kd_integrator_options *opt, double t)
{
    kd_integrator *radau;
    double         x = solution(t);
    c->dae.impl = c;
    assert_int_equal(kd_integrator_create(&c->dae, KD_RADAU, opt, &radau, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(radau, t, &x), KD_OK);
    return radau;
}

static kd_status run(kd_integrator *radau, double t_end)
{
    kd_status status = KD_OK;
    for (int k = 0; status == KD_OK && kd_integrator_time(radau) < t_end; k++) {
        status = kd_integrator_step(radau, t_end);
        assert_true(k < 10000);
    }
    return status;
}

static double error_of(const kd_integrator *radau)
{
    return fabs(kd_integrator_x(radau)[0] - solution(kd_integrator_time(radau)));
}

static void assert_attempts_add_up(const kd_integrator *radau)
{
    kd_stats s = kd_integrator_stats(radau);
    assert_int_equal(s.accepted + s.rejected_error + s.rejected_newton, s.steps);
}

// ---- the end time ---------------------------------------------------------------------------------------------------

// The last step ends at t_end to the bit, also where t + (t_end - t) rounds to a neighbour: from negative to small
// times.
static void end_is_exact(void **state)
{
    (void)state;
    unsigned seed = 1;
    int      rounded = 0;
    for (int k = 0; k < 300; k++) {
        seed = seed * 1664525u + 1013904223u;
        cubic          c = make(1);
        double         t_end = 0.1 * (seed + 1.0) / 4294967297.0;
        kd_integrator *radau = start(&c, NULL, -1);
        assert_int_equal(run(radau, t_end), KD_OK);
        assert_true(kd_integrator_time(radau) == t_end);
        assert_true(error_of(radau) < 1e-4);
        double t = kd_integrator_time_old(radau);
        rounded += t + (t_end - t) != t_end;
        assert_int_equal(kd_integrator_step(radau, t_end), KD_OK); // nowhere to go
        assert_true(kd_integrator_time(radau) == t_end);
        kd_integrator_destroy(radau);
    }
    assert_true(rounded > 3); // there were such ends
}

// An end a few units in the last place away is reached without a step; what is known of the last step stays.
static void end_nearby(void **state)
{
    (void)state;
    const double times[] = {-3, 1, 1000};
    for (int k = 0; k < 3; k++) {
        cubic          c = make(1);
        kd_integrator *radau = start(&c, NULL, times[k]);
        for (int i = 0; i < 3; i++) {
            double t = kd_integrator_time(radau), x = kd_integrator_x(radau)[0], next = nextafter(t, INFINITY);
            assert_int_equal(kd_integrator_step(radau, next), KD_OK);
            assert_true(kd_integrator_time(radau) == next);
            assert_true(kd_integrator_x(radau)[0] == x);
            assert_int_equal(run(radau, next + 0.5), KD_OK);
            assert_true(kd_integrator_time(radau) == next + 0.5);
            assert_true(error_of(radau) < 1e-4);
        }
        double t = kd_integrator_time(radau), old = kd_integrator_time_old(radau), x;
        assert_int_equal(kd_integrator_step(radau, nextafter(t, INFINITY)), KD_OK);
        assert_true(kd_integrator_time_old(radau) == old);
        assert_int_equal(kd_integrator_dense(radau, (old + t) / 2, &x), KD_OK);
        assert_true(fabs(x - solution((old + t) / 2)) < 1e-3);
        kd_integrator_destroy(radau);
    }
}

// Every distance from one unit in the last place to a second is bridged.
static void any_distance(void **state)
{
    (void)state;
    const double times[] = {-1, 0.7, 1e5};
    for (int k = 0; k < 3; k++) {
        for (double ulps = 1; ulps * DBL_EPSILON * fabs(times[k]) < 1; ulps *= 1.7) {
            cubic          c = make(1);
            kd_integrator *radau = start(&c, NULL, times[k]);
            double         t_end = times[k] + ceil(ulps) * DBL_EPSILON * fabs(times[k]);
            kd_status      status = run(radau, t_end);
            if (status != KD_OK) fail_msg("from %g, %g ulps: %s", times[k], ceil(ulps), kd_integrator_message(radau));
            assert_true(kd_integrator_time(radau) == t_end);
            kd_integrator_destroy(radau);
        }
    }
}

// An end that is far away is no reason to call steps small: the first steps are those of a nearer end.
static void end_far_away(void **state)
{
    (void)state;
    cubic          near = make(1), far = make(1);
    kd_integrator *a = start(&near, NULL, 0), *b = start(&far, NULL, 0);
    while (kd_integrator_time(b) < 5) {
        if (kd_integrator_step(b, 1e16) != KD_OK) fail_msg("%s", kd_integrator_message(b));
        assert_int_equal(kd_integrator_step(a, 100), KD_OK);
        assert_true(kd_integrator_time(a) == kd_integrator_time(b));
    }
    assert_true(error_of(b) < 1e-4);
    kd_integrator_destroy(a);
    kd_integrator_destroy(b);
}

// ---- numbers that are not finite ------------------------------------------------------------------------------------

// A step whose error estimate is NaN is not accepted: smaller steps go around a few of them; if all are NaN, the run
// fails at its start.
static void error_that_is_not_a_number(void **state)
{
    (void)state;
    for (int every = 1; every <= 5; every++) {
        if (every == 2) continue; // every step would be half the one before
        cubic          c = make(1);
        kd_integrator *radau = start(&c, NULL, 0);
        c.nan_errors = every;
        kd_status status = run(radau, 2);
        kd_stats  s = kd_integrator_stats(radau);
        if (every == 1) {
            assert_true(status < 0);
            assert_int_equal(s.accepted, 0);
            assert_true(kd_integrator_time(radau) == 0 && kd_integrator_x(radau)[0] == solution(0));
            assert_non_null(strstr(kd_integrator_message(radau), "x[0] of the test"));
        } else {
            if (status != KD_OK) fail_msg("%s", kd_integrator_message(radau));
            assert_true(error_of(radau) < 1e-5);
            assert_true(s.rejected_newton > 3);
        }
        assert_attempts_add_up(radau);
        kd_integrator_destroy(radau);
    }
}

// ---- matrices that cannot be had ------------------------------------------------------------------------------------

// Where derivatives cannot be had at an extrapolated stage, those of the last accepted point serve.
static void stages_without_derivatives(void **state)
{
    (void)state;
    for (int reference = 1; reference <= 3; reference++) {
        cubic                 c = make(10);
        kd_integrator_options opt = kd_integrator_options_default();
        opt.radau.reference = reference;
        kd_integrator *radau = start(&c, &opt, 0);
        c.refuse_stages = true;
        if (run(radau, 3) != KD_OK) fail_msg("%d: %s", reference, kd_integrator_message(radau));
        assert_true(c.refused > 10);
        assert_true(error_of(radau) < 1e-5);
        assert_attempts_add_up(radau);
        kd_integrator_destroy(radau);
    }
}

// Where derivatives cannot be had at the iterates of Newton's method, the step becomes smaller as without updates.
static void iterates_without_derivatives(void **state)
{
    (void)state;
    cubic                 c = make(1000);
    kd_integrator_options opt = kd_integrator_options_default();
    opt.rtol = opt.atol = 1e-3;
    opt.radau.max_newton = 3;
    opt.radau.newton_updates = 2;
    kd_integrator *radau = start(&c, &opt, 0);
    c.refuse_stages = true;
    if (run(radau, 10) != KD_OK) fail_msg("%s", kd_integrator_message(radau));
    assert_true(c.refused > 3);
    assert_true(error_of(radau) < 1e-2);
    assert_true(kd_integrator_stats(radau).newton_updates >= c.refused);
    assert_attempts_add_up(radau);
    kd_integrator_destroy(radau);
}

// Every attempt is accepted, rejected by its error or rejected before: also those whose matrix was singular.
static void singular_matrices_are_counted(void **state)
{
    (void)state;
    for (int every = 1; every <= 7; every++) {
        cubic          c = make(10);
        kd_integrator *radau = start(&c, NULL, 0);
        c.singular = every;
        kd_status status = run(radau, 3);
        assert_int_equal(status, every == 1 ? KD_ERR_DECOMPOSITION : KD_OK);
        assert_true(kd_integrator_stats(radau).rejected_newton >= (every == 1 ? 5 : 3));
        assert_attempts_add_up(radau);
        assert_true(error_of(radau) < 1e-5);
        kd_integrator_destroy(radau);
    }
}

// ---- arguments ------------------------------------------------------------------------------------------------------

// Missing arguments are refused, in words where there is a place for them; options and message may be missing.
static void missing_arguments(void **state)
{
    (void)state;
    cubic          c = make(1);
    kd_integrator *radau = (kd_integrator *)(void *)&c;
    char           message[200] = "";
    double         x = 1;
    c.dae.impl = &c;
    assert_int_equal(kd_integrator_create(NULL, KD_RADAU, NULL, &radau, message, sizeof message), KD_ERR_ARGUMENT);
    assert_null(radau);
    assert_non_null(strstr(message, "needs a DAE"));
    assert_int_equal(kd_integrator_create(&c.dae, KD_RADAU, NULL, NULL, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_start(NULL, 0, &x), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_step(NULL, 1), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_dense(NULL, 1, &x), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_create(&c.dae, KD_RADAU, NULL, &radau, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(radau, 0, NULL), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_start(radau, 0, &x), KD_OK);
    assert_int_equal(kd_integrator_dense(radau, 0, NULL), KD_ERR_ARGUMENT);
    kd_integrator_destroy(radau);
    kd_integrator_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(end_is_exact),
        cmocka_unit_test(end_nearby),
        cmocka_unit_test(any_distance),
        cmocka_unit_test(end_far_away),
        cmocka_unit_test(error_that_is_not_a_number),
        cmocka_unit_test(stages_without_derivatives),
        cmocka_unit_test(iterates_without_derivatives),
        cmocka_unit_test(singular_matrices_are_counted),
        cmocka_unit_test(missing_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
