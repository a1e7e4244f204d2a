// Radau IIa without models: the coefficients against their definition, every option, failures, on small hand-made DAEs
// with known solutions.
#include "integrator/radau_cases.h"

// ---- coefficients ---------------------------------------------------------------------------------------------------

// sum_j A_ij c_j^(k-1)
static double moment(const double *row, const kd_radau_tableau *m, int k)
{
    double sum = 0;
    for (int j = 0; j < m->stages; j++) sum += row[j] * pow(m->c[j], k - 1);
    return sum;
}

// B(2 s - 1), C(s) and D(s - 1) of Radau IIa with s stages; the last row of A is b. Not of order 2 s.
static void tableau_satisfies_order_conditions(void **state)
{
    (void)state;
    for (const kd_radau_tableau *m = radau_tableau; m < radau_tableau + KD_RADAU_METHODS; m++) {
        const int     s = m->stages;
        const double *b = m->A[s - 1], *c = m->c;
        for (int k = 1; k < 2 * s; k++) assert_true(fabs(moment(b, m, k) - 1.0 / k) < 1e-14);
        for (int k = 1; k <= s; k++)
            for (int i = 0; i < s; i++) assert_true(fabs(moment(m->A[i], m, k) - pow(c[i], k) / k) < 1e-14);
        for (int k = 1; k < s; k++) {
            for (int j = 0; j < s; j++) {
                double sum = 0;
                for (int i = 0; i < s; i++) sum += b[i] * pow(c[i], k - 1) * m->A[i][j];
                assert_true(fabs(sum - b[j] / k * (1 - pow(c[j], k))) < 1e-14);
            }
        }
        assert_true(fabs(moment(b, m, 2 * s) - 0.5 / s) > 1e-9);
    }
}

static double entry(int s, const double A[7][7], const double B[7][7], int i, int j)
{
    double sum = 0;
    for (int k = 0; k < s; k++) sum += A[i][k] * B[k][j];
    return sum;
}

// Characteristic polynomial of inv(A): the denominator of the stability function, Pade's (s - 1, s) of exp, whose k-th
// coefficient is (-1)^k s! (2 s - 1 - k)! / (k! (s - k)! (2 s - 1)!)
static double complex denominator(int s, double complex z)
{
    double complex sum = 0;
    for (int k = s; k >= 0; k--) {
        const double size = lgamma(s + 1) + lgamma(2 * s - k) - lgamma(k + 1) - lgamma(s - k + 1) - lgamma(2 * s);
        sum = sum * z + (k % 2 ? -1 : 1) * exp(size);
    }
    return sum;
}

// A inv(A) = I, T inv(T) = I, inv(A) T = T Lambda with Lambda = diag(g1, [al_k -be_k; be_k al_k], ..); the eigenvalues are
// the poles of the stability function.
static void transformation_matches_tableau(void **state)
{
    (void)state;
    for (const kd_radau_tableau *m = radau_tableau; m < radau_tableau + KD_RADAU_METHODS; m++) {
        const int s = m->stages;
        double    Lambda[7][7] = {{m->g1}};
        for (int k = 0; 2 * k + 1 < s; k++) {
            Lambda[2 * k + 1][2 * k + 1] = Lambda[2 * k + 2][2 * k + 2] = m->al[k];
            Lambda[2 * k + 1][2 * k + 2] = -m->be[k], Lambda[2 * k + 2][2 * k + 1] = m->be[k];
            assert_true(m->be[k] > 0);
            assert_true(cabs(denominator(s, m->al[k] + m->be[k] * I)) < 1e-11);
        }
        assert_true(cabs(denominator(s, m->g1)) < 1e-11);
        const double rounding = s == 3 ? 2e-14 : 2e-12; // cancellation in sums of large entries
        for (int i = 0; i < s; i++) {
            for (int j = 0; j < s; j++) {
                assert_true(fabs(entry(s, m->A, m->inv_A, i, j) - (i == j)) < rounding);
                assert_true(fabs(entry(s, m->T, m->inv_T, i, j) - (i == j)) < rounding);
                assert_true(fabs(entry(s, m->inv_A, m->T, i, j) - entry(s, m->T, (const double(*)[7])Lambda, i, j)) <
                            rounding);
            }
        }
    }
}

// e belongs to the embedded quadrature formula with nodes 0, c_1, .., 1, weight 1/g1 at 0 and order s.
static void error_coefficients_match_embedded_formula(void **state)
{
    (void)state;
    for (const kd_radau_tableau *m = radau_tableau; m < radau_tableau + KD_RADAU_METHODS; m++) {
        const int s = m->stages;
        double    V[49], weight[7];
        int       pivot[7];
        for (int k = 0; k < s; k++) {
            for (int i = 0; i < s; i++) V[k + s * i] = pow(m->c[i], k);
            weight[k] = 1.0 / (k + 1) - (k == 0 ? 1 / m->g1 : 0);
        }
        assert_int_equal(kd_lu_factor(s, V, pivot), 0);
        kd_lu_solve(s, V, pivot, weight, 1);
        for (int j = 0; j < s; j++) { // g1 (weight - b)' inv(A)
            double sum = 0;
            for (int i = 0; i < s; i++) sum += m->g1 * (weight[i] - m->A[s - 1][i]) * m->inv_A[i][j];
            assert_true(fabs(sum - m->e[j]) < (s == 3 ? 1e-12 : 1e-9));
        }
    }
}

// ---- accuracy -------------------------------------------------------------------------------------------------------

// The error follows the tolerance on a stiff equation, an index-1 DAE and a nonlinear one; few steps for the stiff one.
static void error_follows_the_tolerance(void **state)
{
    (void)state;
    const problem *problems[] = {&stiff, &index1, &waves};
    for (int k = 0; k < 3; k++) {
        for (double tol = 1e-4; tol > 1e-11; tol *= 1e-2) {
            kd_integrator_options opt = with_tolerance(tol);
            solve(problems[k], &opt, 2, &one);
            assert_true(one.error < 10 * tol);
            assert_true(one.stats.accepted < 1000);
        }
    }
    kd_integrator_options opt = with_tolerance(1e-6);
    solve(&stiff, &opt, 2, &one);
    assert_true(one.stats.accepted < 40); // an explicit method needs a million
}

// Fixed steps show order 5 in differential and algebraic components (the slope of the error), and not more.
static void order_is_five(void **state)
{
    (void)state;
    const problem *problems[] = {&index1, &waves};
    const double   coarse[] = {0.0625, 0.1};
    for (int k = 0; k < 2; k++) {
        kd_integrator_options opt = fixed_step(coarse[k]);
        solve(problems[k], &opt, 2, &one);
        opt.h_first = opt.h_max = coarse[k] / 2;
        solve(problems[k], &opt, 2, &two);
        assert_int_equal(two.stats.accepted, 2 * one.stats.accepted);
        double slope = log2(one.error / two.error);
        if (!(slope > 4.7 && slope < 5.4))
            fail_msg("%s: slope %.2f (%.2e, %.2e)", problems[k]->name, slope, one.error, two.error);
    }
}

// Five and seven stages show orders 9 and 13; index 1 keeps them, as the methods are stiffly accurate (order 9: beyond it
// rounding is too near).
static void orders_are_nine_and_thirteen(void **state)
{
    (void)state;
    // rounding of seven stages is larger: Newton's method ends above it
    const struct {
        const problem *problem;
        int            order;
        double         coarse, newton_stop;
    } cases[] = {{&index1, 9, 0.2, 1e-13}, {&waves, 9, 0.2, 1e-13}, {&waves, 13, 0.5, 1e-11}};
    for (int k = 0; k < 3; k++) {
        const int             order = cases[k].order;
        kd_integrator_options opt = fixed_step(cases[k].coarse);
        opt.radau.order_fixed = order;
        opt.radau.newton_stop = cases[k].newton_stop;
        solve(cases[k].problem, &opt, 4, &one);
        opt.h_first = opt.h_max = cases[k].coarse / 2;
        solve(cases[k].problem, &opt, 4, &two);
        const double slope = log2(one.worst / two.worst);
        if (two.stats.accepted != 2 * one.stats.accepted || two.stats.order_last != order ||
            !(fabs(slope - order) < 1.8))
            fail_msg("%s: order %d, slope %.2f (%.2e, %.2e), %ld and %ld steps", cases[k].problem->name, order, slope,
                     one.worst, two.worst, one.stats.accepted, two.stats.accepted);
    }
}

// The order is chosen: at tight tolerances it rises to 13 and saves most of the steps and half of the evaluations, with an
// error that still follows the tolerance; at loose ones and on a front it costs hardly more than order 5.
static void order_is_chosen(void **state)
{
    (void)state;
    kd_integrator_options opt = kd_integrator_options_default();
    opt.rtol = opt.atol = 1e-10;
    solve(&waves, &opt, 20, &one);
    assert_int_equal(one.stats.order_last, 0); // fixed
    opt.radau.order_max = 13;
    solve(&waves, &opt, 20, &two);
    assert_int_equal(two.stats.order_last, 13);
    assert_true(two.stats.accepted < one.stats.accepted / 4);
    assert_true(two.stats.residuals < one.stats.residuals / 2);
    assert_true(two.error < 10 * one.error && two.error < 1e-8);
    opt.radau.order_max = 9;
    solve(&waves, &opt, 20, &two);
    assert_int_equal(two.stats.order_last, 9);
    assert_true(two.stats.residuals < one.stats.residuals / 2);
    const problem *problems[] = {&waves, &front, &ramp, &stiff, &index1};
    for (int k = 0; k < 5; k++) {
        opt.rtol = opt.atol = 1e-4;
        opt.radau.order_max = 5;
        solve(problems[k], &opt, 2, &one);
        opt.radau.order_max = 13;
        solve(problems[k], &opt, 2, &two);
        if (two.stats.residuals > 2 * one.stats.residuals || two.error > fmax(20 * one.error, 1e-3))
            fail_msg("%s: %ld evaluations, error %.1e; order 5: %ld, %.1e", problems[k]->name, two.stats.residuals,
                     two.error, one.stats.residuals, one.error);
    }
}

// Orders that do not exist are refused by name; a form with one complex matrix has order 5 only.
static void orders_that_do_not_exist(void **state)
{
    (void)state;
    kd_integrator *radau;
    char           message[300];
    kd_dae_class   alone = dense_class;
    alone.pair = NULL;
    dense_init(&shared, &waves);
    kd_integrator_options opt = kd_integrator_options_default();
    opt.radau.order_max = 7;
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, message, sizeof message),
                     KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "radau.order_max = 7 must be 5, 9 or 13"));
    opt.radau.order_max = 13;
    opt.radau.order_fixed = 6;
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, message, sizeof message),
                     KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "radau.order_fixed = 6"));
    opt.radau.order_fixed = 0;
    shared.dae.methods = &alone;
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, message, sizeof message),
                     KD_ERR_UNSUPPORTED);
    opt.radau.order_max = 5;
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, message, sizeof message), KD_OK);
    kd_integrator_destroy(radau);
    shared.problem = NULL;
}

// On Prothero and Robinson's equation the order falls to the stage order or better, and the error is still tiny.
static void stiff_order(void **state)
{
    (void)state;
    kd_integrator_options opt = fixed_step(0.2);
    solve(&stiff, &opt, 2, &one);
    double coarse = fabs(one.x[0] - cos(2));
    opt.h_first = opt.h_max = 0.1;
    solve(&stiff, &opt, 2, &two);
    double fine = fabs(two.x[0] - cos(2));
    assert_true(coarse < 1e-9); // h^4 / 1e6
    assert_true(fine < coarse / 7 || fine < 1e-13);
}

// ---- dense output ---------------------------------------------------------------------------------------------------

// The collocation polynomial of s stages meets both ends exactly and has an error of order s + 1 between.
static double dense_slope(int order, double coarse)
{
    double worst[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        kd_integrator_options opt = fixed_step(k == 0 ? coarse : coarse / 2);
        opt.radau.order_fixed = order;
        kd_integrator *radau;
        double         x[MOST], y[MOST], exact[MOST];
        dense_init(&shared, &waves);
        assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, NULL, 0), KD_OK);
        waves.solution(0, x);
        assert_int_equal(kd_integrator_start(radau, 0, x), KD_OK);
        while (kd_integrator_time(radau) < 2) {
            double before[MOST];
            memcpy(before, kd_integrator_x(radau), sizeof(double) * 2);
            assert_int_equal(kd_integrator_step(radau, 2), KD_OK);
            double t0 = kd_integrator_time_old(radau), t1 = kd_integrator_time(radau);
            assert_int_equal(kd_integrator_dense(radau, t0, y), KD_OK);
            for (int i = 0; i < 2; i++) assert_true(fabs(y[i] - before[i]) < 1e-15);
            assert_int_equal(kd_integrator_dense(radau, t1, y), KD_OK);
            for (int i = 0; i < 2; i++) assert_true(y[i] == kd_integrator_x(radau)[i]);
            for (int j = 1; j < 8; j++) {
                double t = t0 + (t1 - t0) * j / 8;
                assert_int_equal(kd_integrator_dense(radau, t, y), KD_OK);
                waves.solution(t, exact);
                for (int i = 0; i < 2; i++) worst[k] = fmax(worst[k], fabs(y[i] - exact[i]));
            }
        }
        kd_integrator_destroy(radau);
    }
    return log2(worst[0] / worst[1]);
}

static void dense_output(void **state)
{
    (void)state;
    const double coarse[] = {0.1, 0.2, 0.2};
    for (int m = 0; m < 3; m++) {
        const double slope = dense_slope(4 * m + 5, coarse[m]), stages = radau_tableau[m].stages;
        if (!(slope > stages + 0.6 && slope < stages + 1.7)) fail_msg("order %d: slope %.2f", 4 * m + 5, slope);
    }
}

// ---- failures -------------------------------------------------------------------------------------------------------

// A solution that blows up ends with the status of its own, the time and the name of the component; the state is the
// last accepted one.
static void step_becomes_too_small(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    dense_init(&shared, &burst);
    go(&burst, &opt, 2, &one);
    assert_int_equal(one.status, KD_ERR_STEP_TOO_SMALL);
    assert_true(one.t < 1.001 && one.t > 0.99);
    assert_true(isfinite(one.x[0]));
    assert_non_null(strstr(one.message, "at t = "));
    assert_non_null(strstr(one.message, "x[0] of the test"));
    assert_non_null(strstr(one.message, "kd_eom_check")); // advice; the sentence comes with the status
}

// A function that cannot be evaluated beyond a time makes steps shorter until the status of its fault is reported; the
// state lies before that time.
static void function_refuses(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    dense_init(&shared, &waves);
    shared.beyond = 0.7;
    shared.beyond_answer = KD_EVAL_RETRY;
    go(&waves, &opt, 2, &one);
    assert_int_equal(one.status, KD_ERR_NOT_FINITE);
    assert_true(one.t <= 0.7 && one.t > 0.69);
    assert_true(one.error < 1e-4);
    assert_non_null(strstr(one.message, "the test wants it so"));
    assert_true(one.stats.rejected_newton > 10);
}

// What fails in steps of the size of rounding does not hide why they became so short.
static void first_reason_counts(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    dense_init(&shared, &waves);
    shared.beyond = 0.7;
    shared.beyond_answer = KD_EVAL_RETRY;
    shared.other_reason = true;
    go(&waves, &opt, 2, &one);
    assert_int_equal(shared.status, KD_ERR_SINGULAR_MASS); // the last one
    assert_int_equal(one.status, KD_ERR_NOT_FINITE);
}

// A function that asks to stop ends the run at once, without further attempts.
static void function_stops(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    dense_init(&shared, &waves);
    shared.beyond = 0.7;
    shared.beyond_answer = KD_EVAL_STOP;
    go(&waves, &opt, 2, &one);
    assert_int_equal(one.status, KD_ERR_CALLBACK_STOP);
    assert_int_equal(one.stats.steps, one.stats.accepted + one.stats.rejected_error + 1);
    assert_non_null(strstr(one.message, "the test wants it so"));
}

// Singular Newton matrices are tried again with smaller steps a few times, then reported.
static void singular_matrix(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-6);
    dense_init(&shared, &waves);
    shared.singular = true;
    go(&waves, &opt, 2, &one);
    assert_int_equal(one.status, KD_ERR_DECOMPOSITION);
    assert_true(one.t == 0);
    assert_int_equal(shared.nfactored, 5);
    assert_non_null(strstr(one.message, "the test wants it so"));
}

// Derivatives that cannot be evaluated at the accepted point end the run: no smaller step helps.
static void derivative_refuses(void **state)
{
    (void)state;
    dense_init(&shared, &waves);
    shared.linearize_answer = KD_EVAL_RETRY;
    go(&waves, NULL, 2, &one);
    assert_int_equal(one.status, KD_ERR_NOT_FINITE);
    assert_int_equal(shared.counters.jacobians, 1);
}

// Going back in time is refused; going nowhere is fine.
static void end_time(void **state)
{
    (void)state;
    kd_integrator *radau;
    double         x[MOST];
    dense_init(&shared, &waves);
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, NULL, &radau, NULL, 0), KD_OK);
    waves.solution(0, x);
    assert_int_equal(kd_integrator_start(radau, 1, x), KD_OK);
    assert_int_equal(kd_integrator_step(radau, 0.5), KD_ERR_TIME);
    assert_int_equal(kd_integrator_step(radau, NAN), KD_ERR_TIME);
    assert_true(kd_integrator_time(radau) == 1);
    assert_int_equal(kd_integrator_step(radau, 1), KD_OK);
    assert_true(kd_integrator_time(radau) == 1);
    assert_int_equal(kd_integrator_dense(radau, 1, x), KD_OK); // before any step: the start
    assert_true(x[0] == kd_integrator_x(radau)[0]);
    kd_integrator_destroy(radau);
}

// ---- restart --------------------------------------------------------------------------------------------------------

// After a start at a new place the integrator has forgotten everything: the same bits as a new one, also after failure.
static void restart_is_like_new(void **state)
{
    (void)state;
    kd_integrator_options opt = with_tolerance(1e-8);
    kd_integrator        *radau;
    double                x[MOST];
    solve(&waves, &opt, 2, &one);
    dense_init(&shared, &waves);
    assert_int_equal(kd_integrator_create(&shared.dae, KD_RADAU, &opt, &radau, NULL, 0), KD_OK);
    for (int k = 0; k < 3; k++) {
        if (k == 1) shared.beyond = 1.1, shared.beyond_answer = KD_EVAL_RETRY; // the second run fails
        waves.solution(0, x);
        assert_int_equal(kd_integrator_start(radau, 0, x), KD_OK);
        kd_status status = KD_OK;
        while (status == KD_OK && kd_integrator_time(radau) < 2) status = kd_integrator_step(radau, 2);
        assert_int_equal(status, k == 1 ? KD_ERR_NOT_FINITE : KD_OK);
        for (int i = 0; i < 2 && k != 1; i++) assert_true(kd_integrator_x(radau)[i] == one.x[i]);
        shared.beyond = INFINITY;
    }
    kd_integrator_destroy(radau);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tableau_satisfies_order_conditions),
        cmocka_unit_test(transformation_matches_tableau),
        cmocka_unit_test(error_coefficients_match_embedded_formula),
        cmocka_unit_test(error_follows_the_tolerance),
        cmocka_unit_test(order_is_five),
        cmocka_unit_test(orders_are_nine_and_thirteen),
        cmocka_unit_test(order_is_chosen),
        cmocka_unit_test(orders_that_do_not_exist),
        cmocka_unit_test(stiff_order),
        cmocka_unit_test(dense_output),
        cmocka_unit_test(step_becomes_too_small),
        cmocka_unit_test(function_refuses),
        cmocka_unit_test(first_reason_counts),
        cmocka_unit_test(function_stops),
        cmocka_unit_test(singular_matrix),
        cmocka_unit_test(derivative_refuses),
        cmocka_unit_test(end_time),
        cmocka_unit_test(restart_is_like_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
