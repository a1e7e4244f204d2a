// test_radau_options.c: options of radau: what is refused, and what each of them does.
#include "integrator/radau_cases.h"

// ---- options: refused values ----------------------------------------------------------------------------------------

// Every field out of range is refused with its own words.
static void options_are_validated(void **state)
{
    (void)state;
    static const double         bad_each[] = {1e-6, 0}, nan_each[] = {NAN, 1e-6};
    const kd_integrator_options good = kd_integrator_options_default();
    kd_integrator_options       list[64];
    const char                 *word[64];
    kd_status                   expected[64];
    int                         n = 0;
#define BAD(field, value, status)                                                                                      \
    do {                                                                                                               \
        list[n] = good;                                                                                                \
        list[n].field = (value);                                                                                       \
        word[n] = #field;                                                                                              \
        expected[n++] = (status);                                                                                      \
    } while (0)
    const double wrong_tolerances[] = {0, -1e-6, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        BAD(rtol, wrong_tolerances[i], KD_ERR_TOLERANCE);
        BAD(atol, wrong_tolerances[i], KD_ERR_TOLERANCE);
    }
    BAD(rtol, 1e-16, KD_ERR_TOLERANCE); // below rounding
    BAD(rtol_each, bad_each, KD_ERR_TOLERANCE);
    word[n - 1] = "rtol";
    BAD(atol_each, nan_each, KD_ERR_TOLERANCE);
    word[n - 1] = "atol";
    BAD(h_first, -1e-3, KD_ERR_ARGUMENT);
    BAD(h_first, NAN, KD_ERR_ARGUMENT);
    BAD(h_max, -1, KD_ERR_ARGUMENT);
    BAD(h_max, NAN, KD_ERR_ARGUMENT);
    BAD(max_steps, 0, KD_ERR_ARGUMENT);
    BAD(max_steps, -5, KD_ERR_ARGUMENT);
    BAD(radau.max_newton, 1, KD_ERR_ARGUMENT);
    BAD(radau.reference, -1, KD_ERR_ARGUMENT);
    BAD(radau.reference, 4, KD_ERR_ARGUMENT);
    BAD(radau.reference, 1, KD_ERR_ARGUMENT);
    list[n - 1].radau.start_zero = true; // nothing to extrapolate
    BAD(radau.newton_updates, -1, KD_ERR_ARGUMENT);
    BAD(radau.uround, 0, KD_ERR_ARGUMENT);
    BAD(radau.uround, -1, KD_ERR_ARGUMENT);
    BAD(radau.uround, 0.5, KD_ERR_ARGUMENT);
    BAD(radau.uround, NAN, KD_ERR_ARGUMENT);
    BAD(radau.safety, 0, KD_ERR_ARGUMENT);
    BAD(radau.safety, 1, KD_ERR_ARGUMENT);
    BAD(radau.safety, NAN, KD_ERR_ARGUMENT);
    BAD(radau.theta, 1, KD_ERR_ARGUMENT);
    BAD(radau.theta, NAN, KD_ERR_ARGUMENT);
    BAD(radau.newton_stop, -1, KD_ERR_ARGUMENT);
    BAD(radau.newton_stop, NAN, KD_ERR_ARGUMENT);
    BAD(radau.quot1, 1.1, KD_ERR_ARGUMENT);
    BAD(radau.quot1, NAN, KD_ERR_ARGUMENT);
    BAD(radau.quot2, 0.9, KD_ERR_ARGUMENT);
    BAD(radau.quot2, NAN, KD_ERR_ARGUMENT);
    BAD(radau.fac_upper, 1, KD_ERR_ARGUMENT);
    BAD(radau.fac_upper, NAN, KD_ERR_ARGUMENT);
    BAD(radau.fac_lower, 0, KD_ERR_ARGUMENT);
    BAD(radau.fac_lower, 1, KD_ERR_ARGUMENT);
    BAD(radau.fac_lower, NAN, KD_ERR_ARGUMENT);
#undef BAD
    dense_init(&shared, &waves);
    for (int i = 0; i < n; i++) {
        char           message[300] = "";
        kd_integrator *radau = (kd_integrator *)&shared;
        kd_status      status = kd_integrator_create(&shared.dae, KD_RADAU, &list[i], &radau, message, sizeof message);
        if (status != expected[i]) fail_msg("case %d, %s: %s (%s)", i, word[i], kd_status_name(status), message);
        assert_null(radau);
        if (!strstr(message, word[i])) fail_msg("'%s' does not name %s", message, word[i]);
    }
    kd_integrator *radau;
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, NULL, &radau, NULL, 0),
                     KD_OK); // defaults, no place for a message
    kd_integrator_destroy(radau);
    kd_integrator_destroy(NULL);
}

// The defaults are those of S3's manual (FACL, FACR, SAFE, QUOT1, QUOT2, THET, NIT).
static void defaults(void **state)
{
    (void)state;
    kd_integrator_options o = kd_integrator_options_default();
    assert_true(o.rtol == 1e-6 && o.atol == 1e-6 && !o.rtol_each && !o.atol_each && o.h_first == 0 && o.h_max == 0);
    assert_true(o.max_steps == 100000 && o.radau.max_newton == 10 && !o.radau.start_zero && o.radau.reference == 0);
    assert_true(o.radau.newton_updates == 0 && !o.radau.classical && o.radau.uround == 1e-16 && o.radau.safety == 0.9 &&
                o.radau.theta == 0.001);
    assert_true(o.radau.newton_stop == 0 && o.radau.quot1 == 1 && o.radau.quot2 == 1.2 && o.radau.fac_upper == 8 &&
                o.radau.fac_lower == 0.2);
}

// ---- options: what they do ------------------------------------------------------------------------------------------

// Zero starting values give the same solution at the price of more Newton iterations.
static void start_zero_costs_iterations(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    solve(&waves, &opt, 3, &one);
    opt.radau.start_zero = true;
    solve(&waves, &opt, 3, &two);
    assert_true(two.error < 1e-7);
    assert_true((double)two.stats.solves / (double)two.stats.accepted >
                (double)one.stats.solves / (double)one.stats.accepted);
}

// The Newton matrix is taken at x_k or at the extrapolated stage that is asked for; the solution does not notice.
static void reference_point_of_the_newton_matrix(void **state)
{
    (void)state;
    for (int reference = 0; reference <= 3; reference++) {
        kd_integrator_options opt = fixed_step(0.05);
        opt.radau.reference = reference;
        opt.radau.theta = -1;
        solve(&waves, &opt, 2, &one);
        assert_int_equal(shared.nlog, one.nh); // one matrix per step
        double c = reference == 0 ? 0 : three->c[reference - 1], t = one.h[0];
        assert_true(shared.linearized_at[0] == 0); // nothing to extrapolate yet
        for (int k = 1; k < one.nh; k++) {
            assert_true(fabs(shared.linearized_at[k] - (t + c * one.h[k])) < 1e-12);
            t += one.h[k];
        }
        if (reference == 0) two = one;
        assert_true(fabs(one.x[0] - two.x[0]) < 1e-11);
        opt = with_tolerance(1e-9);
        opt.radau.reference = reference;
        solve(&waves, &opt, 3, &one);
        assert_true(one.error < 1e-8);
    }
}

// With few iterations allowed, new matrices inside a Newton iteration save rejected steps.
static void newton_updates_save_steps(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    opt.radau.max_newton = 3;
    opt.radau.newton_stop = 1e-5;
    opt.radau.start_zero = true;
    opt.radau.theta = -1;
    solve(&front, &opt, 0.5, &one);
    assert_int_equal(one.stats.newton_updates, 0);
    assert_true(one.stats.rejected_newton > 3);
    opt.radau.newton_updates = 1;
    solve(&front, &opt, 0.5, &two);
    assert_true(two.stats.newton_updates > 0);
    assert_true(two.stats.rejected_newton < one.stats.rejected_newton);
    assert_true(two.error < 1e-5);
}

// Newton never takes more iterations than allowed, and reports failures when they do not suffice.
static void max_newton_is_respected(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    opt.radau.start_zero = true;
    opt.radau.max_newton = 4;
    solve(&front, &opt, 0.5, &one);
    assert_true(one.stats.solves <= 4 * one.stats.steps);
    assert_true(one.stats.rejected_newton > 0);
    opt.radau.max_newton = 20;
    solve(&front, &opt, 0.5, &two);
    assert_true(two.stats.rejected_newton < one.stats.rejected_newton);
}

// A smaller newton_stop costs iterations and leaves a smaller defect.
static void newton_stop_is_used(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-4);
    opt.radau.newton_stop = 0.5;
    solve(&index1, &opt, 2, &one);
    opt.radau.newton_stop = 1e-9;
    solve(&index1, &opt, 2, &two);
    assert_true(two.stats.solves > one.stats.solves);
    double defect[] = {fabs(one.x[1] - log(one.x[0])), fabs(two.x[1] - log(two.x[0]))};
    assert_true(defect[1] < 0.01 * defect[0]);
}

// Predictive and classical control reach the same solution by different steps; at a front the predictive one is
// rejected less often.
static void classical_and_predictive_control(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    solve(&front, &opt, 0.5, &one);
    opt.radau.classical = true;
    solve(&front, &opt, 0.5, &two);
    assert_true(one.error < 1e-7 && two.error < 1e-7);
    assert_true(one.stats.accepted != two.stats.accepted);
    assert_true(one.stats.rejected_error <= two.stats.rejected_error);
}

// theta < 0: a new Jacobian in every step; a generous theta keeps it: fewer Jacobians, the same solution.
static void theta_keeps_the_jacobian(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    opt.radau.theta = -1;
    solve(&waves, &opt, 5, &one);
    assert_true(one.stats.jacobians >= one.stats.accepted);
    opt.radau.theta = 0.2;
    solve(&waves, &opt, 5, &two);
    assert_true(two.stats.jacobians < one.stats.jacobians / 2);
    assert_true(two.error < 1e-7);
    for (int i = 0; i < 2; i++) assert_true(fabs(one.x[i] - two.x[i]) < 1e-7);
}

// Between quot1 and quot2 step size and decomposition are kept; with quot1 = quot2 = 1 hardly ever.
static void quotients_keep_the_step_size(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    opt.radau.theta = 0.5; // the Jacobian must be kept, too
    opt.radau.quot1 = 0.5;
    opt.radau.quot2 = 3;
    solve(&waves, &opt, 5, &one);
    opt.radau.quot1 = opt.radau.quot2 = 1;
    solve(&waves, &opt, 5, &two);
    int kept = 0, kept_two = 0;
    for (int k = 1; k < one.nh; k++) kept += fabs(one.h[k] / one.h[k - 1] - 1) < 1e-9;
    for (int k = 1; k < two.nh; k++) kept_two += fabs(two.h[k] / two.h[k - 1] - 1) < 1e-9;
    assert_true(kept > one.nh / 2);
    assert_true(kept_two < two.nh / 10 + 1);
    assert_true((double)one.stats.decompositions / (double)one.stats.accepted <
                0.7 * (double)two.stats.decompositions / (double)two.stats.accepted);
}

// The first step is h_first if it can be; no step is longer than h_max.
static void first_and_largest_step(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-4);
    opt.h_first = 1.25e-3;
    solve(&index1, &opt, 2, &one);
    assert_true(one.h[0] == 1.25e-3);
    opt.h_max = 0.01;
    solve(&index1, &opt, 2, &two);
    for (int k = 0; k < two.nh; k++) assert_true(two.h[k] <= 0.01 * (1 + 2e-4));
    assert_true(two.stats.accepted >= 200 && two.stats.accepted < 215);
    assert_true(one.stats.accepted < 100);
    opt.h_first = 10; // beyond everything: h_max
    solve(&index1, &opt, 2, &two);
    assert_true(two.h[0] == 0.01);
}

// h_last is the last step; a step that was cut at t_end does not make the next one shorter.
static void short_last_step_is_forgotten(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    kd_integrator        *radau;
    double                x[MOST];
    dense_init(&shared, &waves);
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, NULL, 0), KD_OK);
    waves.solution(0, x);
    assert_int_equal(kd_integrator_start(radau, 0, x), KD_OK);
    for (int k = 0; k < 10; k++) assert_int_equal(kd_integrator_step(radau, 100), KD_OK);
    double t = kd_integrator_time(radau), h = t - kd_integrator_time_old(radau);
    assert_true(kd_integrator_stats(radau).h_last == h || fabs(kd_integrator_stats(radau).h_last - h) < 1e-14);
    assert_int_equal(kd_integrator_step(radau, t + 1e-6), KD_OK);
    assert_true(kd_integrator_time(radau) == t + 1e-6);
    assert_int_equal(kd_integrator_step(radau, 100), KD_OK);
    assert_true(kd_integrator_stats(radau).h_last > 0.5 * h);
    kd_integrator_destroy(radau);
}

// A smaller safety factor takes more steps and is rejected less often.
static void safety(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    opt.radau.safety = 0.95;
    solve(&waves, &opt, 5, &one);
    opt.radau.safety = 0.5;
    solve(&waves, &opt, 5, &two);
    assert_true(two.stats.accepted > one.stats.accepted);
    assert_true(two.stats.rejected_error <= one.stats.rejected_error);
    assert_true(two.error < one.error);
}

// Steps grow at most by fac_upper and shrink after an error at most by fac_lower.
static void growth_is_limited(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    opt.h_first = 1e-7;
    opt.radau.fac_upper = 1.5;
    solve(&front, &opt, 0.5, &one);
    for (int k = 1; k < one.nh; k++) assert_true(one.h[k] <= 1.5 * one.h[k - 1] * (1 + 1e-6));
    opt.radau.fac_upper = 8;
    solve(&front, &opt, 0.5, &two);
    double most = 0;
    for (int k = 1; k < two.nh; k++) most = fmax(most, two.h[k] / two.h[k - 1]);
    assert_true(most > 5 && most <= 8 * (1 + 1e-6));
    assert_true(two.stats.accepted < one.stats.accepted);
    double least[2];
    for (int k = 0; k < 2; k++) {
        opt.radau.fac_lower = k == 0 ? 0.7 : 0.01;
        opt.radau.classical = true;
        solve(&ramp, &opt, 0.5, &one);
        assert_true(one.stats.rejected_error > 0);
        assert_int_equal(one.stats.rejected_newton, 0);
        least[k] = 1;
        for (int i = 2; i < shared.nfactored; i++)
            least[k] = fmin(least[k], shared.h_factored[i] / shared.h_factored[i - 1]);
    }
    assert_true(least[0] >= 0.7 * (1 - 1e-9));
    assert_true(least[1] < 0.6);
}

// Tolerances per component are copied and count for their component: a tight one costs what it must and helps there.
static void tolerances_of_components(void **state)
{
    (void)state;
    double                tight[] = {1e-10, 1e-10}, mixed[] = {1e-3, 1e-10}, loose[] = {1e-3, 1e-3};
    kd_integrator_options opt = kd_integrator_options_default();
    double               *choice[] = {loose, mixed, tight};
    double                error[3][2];
    long                  steps[3];
    for (int k = 0; k < 3; k++) {
        opt.rtol_each = opt.atol_each = choice[k];
        solve(&waves, &opt, 2.5, &one);
        double exact[MOST];
        waves.solution(2.5, exact);
        for (int i = 0; i < 2; i++) error[k][i] = fabs(one.x[i] - exact[i]);
        steps[k] = one.stats.accepted;
    }
    assert_true(steps[0] < steps[1] && steps[1] < steps[2]);
    assert_true(error[1][1] < 1e-9 && error[0][1] > 1e-9);
    assert_true(error[1][0] > 10 * error[2][0]);
    kd_integrator *radau; // the arrays are copied
    double         x[MOST];
    opt.rtol_each = opt.atol_each = tight;
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, NULL, 0), KD_OK);
    tight[0] = tight[1] = 1;
    waves.solution(0, x);
    assert_int_equal(kd_integrator_start(radau, 0, x), KD_OK);
    while (kd_integrator_time(radau) < 2.5) assert_int_equal(kd_integrator_step(radau, 2.5), KD_OK);
    for (int i = 0; i < 2; i++) assert_true(kd_integrator_x(radau)[i] == one.x[i]);
    kd_integrator_destroy(radau);
}

// atol is the user's, not a copy of rtol: a large one makes the steps longer.
static void absolute_tolerance(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    solve(&waves, &opt, 5, &one);
    opt.atol = 1e-2;
    solve(&waves, &opt, 5, &two);
    assert_true(2 * two.stats.accepted < one.stats.accepted);
}

// Right after a rejection the step does not grow.
static void no_growth_after_rejection(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    opt.radau.theta = -1; // every attempt factors once
    int rejections = 0;
    for (int k = 0; k < 40; k++) {
        opt.h_first = 0.05 + 0.005 * k;
        solve(&ramp, &opt, 0.5, &one);
        assert_int_equal(shared.nfactored, one.stats.steps);
        for (int i = 0, j = 0; i + 1 < one.nh; i++, j++) { // i-th accepted step, j-th attempt
            bool rejected = false;
            for (; fabs(shared.h_factored[j] / one.h[i] - 1) > 1e-9; j++) rejected = true;
            if (rejected) assert_true(one.h[i + 1] <= one.h[i] * (1 + 1e-9));
            rejections += rejected;
        }
    }
    assert_true(rejections > 40);
}

// Components that are not controlled do not drive the step size.
static void uncontrolled_components(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    solve(&waves, &opt, 5, &one);
    dense_init(&shared, &waves);
    shared.controlled[0] = false; // the harder one
    go(&waves, &opt, 5, &two);
    assert_int_equal(two.status, KD_OK);
    assert_true(two.stats.accepted < 0.8 * (double)one.stats.accepted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_validated),
        cmocka_unit_test(defaults),
        cmocka_unit_test(start_zero_costs_iterations),
        cmocka_unit_test(reference_point_of_the_newton_matrix),
        cmocka_unit_test(newton_updates_save_steps),
        cmocka_unit_test(max_newton_is_respected),
        cmocka_unit_test(newton_stop_is_used),
        cmocka_unit_test(classical_and_predictive_control),
        cmocka_unit_test(theta_keeps_the_jacobian),
        cmocka_unit_test(quotients_keep_the_step_size),
        cmocka_unit_test(first_and_largest_step),
        cmocka_unit_test(short_last_step_is_forgotten),
        cmocka_unit_test(safety),
        cmocka_unit_test(growth_is_limited),
        cmocka_unit_test(tolerances_of_components),
        cmocka_unit_test(absolute_tolerance),
        cmocka_unit_test(no_growth_after_rejection),
        cmocka_unit_test(uncontrolled_components),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
