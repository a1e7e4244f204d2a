// Tests of the Adams methods: polynomials of every order over steps of any size, known motions, order as a slope, borders of
// stability, dense output, a past that is forgotten and one that is kept, evaluations, stiffness, memory, failures.
#include "integrator/shared.h"
#include "integrator/toy_ode.h"
#include <kardan/simulation.h>

enum { ORDER_MAX = 13 };

static kd_integrator_options options_of(double tol, int order)
{
    kd_integrator_options opt = kd_integrator_options_default();
    opt.rtol = opt.atol = tol;
    opt.adams.order = order;
    return opt;
}

// ---- formulas -------------------------------------------------------------------------------------------------------

// x' = (m + 1) t^m, plus `more` from t = `from` on
typedef struct power {
    toy    toy;
    int    m;
    double more, from;
} power;

static kd_eval power_rhs(void *impl, double t, const double *x, double *xdot)
{
    const power *p = impl;
    (void)x;
    xdot[0] = (p->m + 1) * pow(t, p->m) + (t >= p->from ? p->more : 0);
    return KD_EVAL_OK;
}

// What one step of an order with slopes at irregular times adds is exact for slopes of the degree below that order, and not
// for the next one.
static void polynomials_are_exact(void **state)
{
    (void)state;
    srand(7);
    for (int order = 2; order <= ORDER_MAX; order++) {
        for (int m = order - 2 > 0 ? order - 2 : 0; m <= order; m++) {
            power                 p = {.m = m};
            kd_integrator        *solver;
            kd_integrator_options opt = options_of(1e3, order);
            double                x = 0, worst = 0;
            opt.h_max = 0.2;
            toy_init(&p.toy, 1);
            p.toy.methods.rhs = power_rhs;
            assert_int_equal(kd_integrator_create(&p.toy.dae, KD_ADAMS, &opt, &solver, NULL, 0), KD_OK);
            assert_int_equal(kd_integrator_start(solver, 0, &x), KD_OK);
            while (kd_integrator_time(solver) < 1.5) {
                const double t = kd_integrator_time(solver), x0 = kd_integrator_x(solver)[0];
                const double h = 0.02 + 0.06 * rand() / RAND_MAX;
                assert_int_equal(kd_integrator_step(solver, t + h), KD_OK);
                if (kd_integrator_stats(solver).order_last < order) continue; // the first steps
                const double t1 = kd_integrator_time(solver), more = kd_integrator_x(solver)[0] - x0;
                worst = fmax(worst, fabs(more - (pow(t1, m + 1) - pow(t, m + 1))));
                // and so is what is between
                const double between = t + 0.3 * (t1 - t);
                assert_int_equal(kd_integrator_dense(solver, between, &x), KD_OK);
                if (m < order) worst = fmax(worst, fabs(x - x0 - (pow(between, m + 1) - pow(t, m + 1))));
            }
            if (m < order ? worst > 1e-12 : worst < 1e-15)
                fail_msg("order %d, t^%d: error %.2g of a step", order, m, worst);
            kd_integrator_destroy(solver);
        }
    }
}

// Steps of equal size decay below the border of stability on the real axis, and grow above it (borders by the roots of the
// characteristic polynomials, computed elsewhere).
static void borders_of_stability(void **state)
{
    (void)state;
    const double border[] = {0, 0, 2, 2.3999, 1.9346, 1.4114, 1.0393, 0.7727, 0.5797, 0.4393, 0.3374, 0.2635, 0.21};
    for (int order = 2; order <= 12; order++) {
        for (int above = 0; above < 2; above++) {
            toy                   small;
            kd_integrator        *solver;
            kd_integrator_options opt = options_of(1e9, order);
            double                x = 2, h = 0.01;
            opt.h_max = opt.h_first = h;
            toy_init(&small, (above ? 1.05 : 0.97) * border[order] / h);
            assert_int_equal(kd_integrator_create(&small.dae, KD_ADAMS, &opt, &solver, NULL, 0), KD_OK);
            assert_int_equal(kd_integrator_start(solver, 0, &x), KD_OK);
            while (kd_integrator_time(solver) < 10) assert_true(kd_integrator_step(solver, 10) >= 0);
            const double error = fabs(kd_integrator_x(solver)[0] - cos(10));
            if (above ? error < 1 : error > 1e-2) fail_msg("order %d, %d: error %.2g", order, above, error);
            kd_integrator_destroy(solver);
        }
    }
}

// ---- accuracy -------------------------------------------------------------------------------------------------------

// The pendulum moves as its exact solution, projected or not, at ends and inside of steps, with two evaluations a step and
// one more where a projection moved it.
static void pendulum_moves_exactly(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        const bool            projected = kind % 2;
        const double          tol = kind < 2 ? 1e-6 : 1e-10;
        kd_integrator_options opt = options_of(tol, 0);
        fixture               f = make_projected(KD_ADAMS, &opt, projected ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER);
        assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
        while (kd_integrator_time(f.solver) < 5) {
            double inside[8], start[8];
            memcpy(start, kd_integrator_x(f.solver), 4 * sizeof *start);
            assert_int_equal(kd_integrator_step(f.solver, 5), KD_OK);
            if (projected) assert_true(violation(kd_integrator_x(f.solver)) < 1e-13);
            const double t0 = kd_integrator_time_old(f.solver), h = kd_integrator_time(f.solver) - t0;
            for (int k = 0; k <= 4; k++) {
                assert_int_equal(kd_integrator_dense(f.solver, t0 + k * h / 4, inside), KD_OK);
                assert_true(pendulum_error(inside, t0 + k * h / 4) < 300 * tol);
                // it begins where the step before has ended
                for (int i = 0; i < 4 && k == 0; i++) assert_close(inside[i], start[i], 1e-14);
            }
        }
        const kd_stats stats = kd_integrator_stats(f.solver);
        assert_true(stats.order_last >= (kind < 2 ? 4 : 8));
        assert_true(stats.residuals <= (projected ? 3 : 2) * stats.steps + 3);
        drop_fixture(&f);
    }
}

// Largest error of steps of length h, behind first ones that are too short to have any
static double error_of_steps(int order, double h)
{
    kd_integrator_options opt = options_of(1e3, order);
    opt.h_first = 1e-5;
    opt.h_max = h;
    fixture f = make_projected(KD_ADAMS, &opt, KD_PROJECT_ALWAYS);
    double  error = 0;
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    while (kd_integrator_time(f.solver) < 3) {
        assert_int_equal(kd_integrator_step(f.solver, 3), KD_OK);
        error = fmax(error, pendulum_error(kd_integrator_x(f.solver), kd_integrator_time(f.solver)));
    }
    drop_fixture(&f);
    return error;
}

// The slope of the error over the step is the order; above 7 the errors of the doubled first steps are seen.
static void order_is_the_slope(void **state)
{
    (void)state;
    for (int order = 2; order <= 7; order++) {
        const double h = order < 5 ? 0.01 : 0.02;
        const double error[2] = {error_of_steps(order, h), error_of_steps(order, h / 2)};
        const double slope = log2(error[0] / error[1]);
        if (!(slope > order - 0.3 && slope < order + 0.3))
            fail_msg("order %d: slope %.2f (errors %.2g, %.2g)", order, slope, error[0], error[1]);
    }
}

static void all_systems_move_as_known(void **state)
{
    (void)state;
    const kd_integrator_options opt = options_of(1e-8, 0);
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) check_system(&kd_test_systems[k], KD_ADAMS, &opt, KD_ODE, 1e-4);
}

// ---- past -----------------------------------------------------------------------------------------------------------

// A form that chooses other coordinates now and then goes on without loss, and dense output is in those of its step.
static void coordinates_may_change(void **state)
{
    (void)state;
    toy                   small;
    kd_integrator        *solver;
    kd_integrator_options opt = options_of(1e-9, 0);
    double                x = 1;
    toy_init(&small, 1);
    small.methods.relabel = toy_relabel;
    assert_int_equal(kd_integrator_create(&small.dae, KD_ADAMS, &opt, &solver, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(solver, 0, &x), KD_OK);
    while (kd_integrator_time(solver) < 2) {
        assert_int_equal(kd_integrator_step(solver, 2), KD_OK);
        const double t = 0.5 * (kd_integrator_time_old(solver) + kd_integrator_time(solver));
        assert_int_equal(kd_integrator_dense(solver, t, &x), KD_OK);
        assert_close(x, small.sign * cos(t), 1e-7);
    }
    assert_true(small.relabelled > 10);
    kd_integrator_destroy(solver);
}

// A step that was looked at inside and taken back leaves no trace but its length: the motion goes on as exactly.
static void steps_taken_back_leave_no_trace(void **state)
{
    (void)state;
    kd_integrator_options opt = options_of(1e-9, 0);
    fixture               f = make_projected(KD_ADAMS, &opt, KD_PROJECT_ALWAYS);
    double                inside[8];
    srand(3);
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    int back = 0;
    while (kd_integrator_time(f.solver) < 3) {
        assert_int_equal(kd_integrator_step(f.solver, 3), KD_OK);
        if (rand() % 10 != 0) continue;
        const double t0 = kd_integrator_time_old(f.solver), h = kd_integrator_time(f.solver) - t0;
        assert_int_equal(kd_integrator_dense(f.solver, t0 + 0.3 * h, inside), KD_OK);
        assert_int_equal(kd_integrator_retract(f.solver, 0.5 * h), KD_OK);
        assert_close(kd_integrator_time(f.solver), t0, 0);
        back++;
    }
    assert_true(back > 5);
    assert_true(pendulum_error(kd_integrator_x(f.solver), 3) < 1e-6);
    // it needed no new start: the order is high
    assert_true(kd_integrator_stats(f.solver).order_last >= 5);
    drop_fixture(&f);
}

// Behind a jump of the state the old slopes do not count.
static void jumps_begin_a_new_past(void **state)
{
    (void)state;
    const kd_restart modes[] = {KD_RESTART_FRESH, KD_RESTART_SAME_ROWS};
    for (int k = 0; k < 2; k++) {
        kd_integrator_options opt = options_of(1e-9, 0);
        fixture               f = make_projected(KD_ADAMS, &opt, KD_PROJECT_ALWAYS);
        assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
        run_until(f.solver, 1);
        // back to the first state, one second later
        assert_int_equal(kd_integrator_restart(f.solver, 1, f.y, modes[k]), KD_OK);
        run_until(f.solver, 3);
        assert_true(pendulum_error(kd_integrator_x(f.solver), 2) < 1e-6);
        drop_fixture(&f);
    }
}

// x' = t^m from 0 to 1, in steps of 0.05 at most
static kd_integrator *run_power(power *p)
{
    kd_integrator        *solver = NULL;
    kd_integrator_options opt = options_of(1e-9, 0);
    double                x = 0;
    opt.h_max = 0.05;
    toy_init(&p->toy, 1);
    p->toy.methods.rhs = power_rhs;
    assert_int_equal(kd_integrator_create(&p->toy.dae, KD_ADAMS, &opt, &solver, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(solver, 0, &x), KD_OK);
    run_until(solver, 1);
    return solver;
}

// Where nothing jumps the past goes on behind a sample; where the slope does, a new one begins.
static void kinks_that_are_felt_begin_a_new_past(void **state)
{
    (void)state;
    for (int jumps = 0; jumps < 2; jumps++) {
        power          p = {.m = 2};
        kd_integrator *solver = run_power(&p);
        const kd_stats before = kd_integrator_stats(solver);
        assert_true(before.order_last > 2);
        if (jumps) p.m = 4;
        assert_int_equal(kd_integrator_restart(solver, 1, NULL, KD_RESTART_SMOOTH), KD_OK);
        assert_int_equal(kd_integrator_step(solver, 2), KD_OK);
        const kd_stats after = kd_integrator_stats(solver);
        assert_true(jumps ? after.order_last == 2 : after.order_last > 2);
        // the new past did not come from failures with the old one
        assert_int_equal(after.rejected_error, before.rejected_error);
        kd_integrator_destroy(solver);
    }
}

// How much is felt: a jump of the slope that moves a step by a hundredth of the tolerance, not by a tenth of a thousandth.
static void small_kinks_are_not_felt(void **state)
{
    (void)state;
    for (int felt = 0; felt < 2; felt++) {
        power          p = {.m = 2};
        kd_integrator *solver = run_power(&p);
        const double   h = kd_integrator_time(solver) - kd_integrator_time_old(solver);
        p.more = (felt ? 1e-2 : 1e-4) * 2e-9 / fmax(h, 0.02);
        assert_int_equal(kd_integrator_restart(solver, 1, NULL, KD_RESTART_SMOOTH), KD_OK);
        assert_int_equal(kd_integrator_step(solver, 2), KD_OK);
        const kd_stats after = kd_integrator_stats(solver);
        assert_true(felt ? after.order_last == 2 : after.order_last > 2);
        kd_integrator_destroy(solver);
    }
}

// A slope that jumps unannounced: the differences of before say nothing, and are given up after three attempts. Steps of high order
// that are made shorter and shorter would pass it with an error of more than a thousand tolerances.
static void jumps_inside_cost_few_attempts(void **state)
{
    (void)state;
    long rejected = 0;
    for (int k = 0; k < 40; k++) {
        power                 p = {.m = 5, .more = pow(10, k % 5 - 1), .from = 0.5 + 0.3 * fmod(0.6180339887 * k, 1)};
        kd_integrator        *solver;
        kd_integrator_options opt = options_of(1e-9, 0);
        double                x = 0;
        toy_init(&p.toy, 1);
        p.toy.methods.rhs = power_rhs;
        assert_int_equal(kd_integrator_create(&p.toy.dae, KD_ADAMS, &opt, &solver, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(solver, 0, &x), KD_OK);
        run_until(solver, 1);
        rejected += kd_integrator_stats(solver).rejected_error;
        assert_true(fabs(kd_integrator_x(solver)[0] - 1 - p.more * (1 - p.from)) < 1e-6 * (1 + p.more));
        kd_integrator_destroy(solver);
    }
    if (rejected > 1000) fail_msg("%ld attempts rejected at 40 jumps", rejected);
}

// ---- stiffness, contracts, failures ---------------------------------------------------------------------------------

// Stiffness is told once, with the name of an implicit method; a slow equation is not called stiff.
static void stiffness_is_told(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        const bool            stiff = kind % 2;
        toy                   small;
        kd_integrator        *solver;
        kd_integrator_options opt = options_of(kind < 2 ? 1e-5 : 1e-8, 0);
        const double          t_end = stiff ? 2 : 100;
        double                x = 1;
        int                   told = 0;
        toy_init(&small, stiff ? 1e4 : 1);
        assert_int_equal(kd_integrator_create(&small.dae, KD_ADAMS, &opt, &solver, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(solver, 0, &x), KD_OK);
        while (kd_integrator_time(solver) < t_end) {
            const kd_status status = kd_integrator_step(solver, t_end);
            assert_true(status >= 0);
            if (status != KD_STIFF) continue;
            told++;
            assert_non_null(strstr(kd_integrator_message(solver), "radau or bdf"));
        }
        assert_close(kd_integrator_x(solver)[0], cos(t_end), 1e-4);
        if (told != stiff) fail_msg("kind %d: told %d times", kind, told);
        kd_integrator_destroy(solver);
    }
}

static void failures_have_words(void **state)
{
    (void)state;
    const kd_integrator_options opt = options_of(1e-8, 0);
    check_words_of_failures(KD_ADAMS, &opt);
}

static void memory_and_options(void **state)
{
    (void)state;
    kd_integrator_options opt = options_of(1e-6, 0);
    kd_integrator        *solver;
    char                  message[300];
    fixture               f = make_projected(KD_ADAMS, &opt, KD_PROJECT_ALWAYS);
    check_restart(&f);
    check_memory(f.dae, KD_ADAMS);
    opt.adams.order_max = 14;
    assert_int_equal(kd_integrator_create(f.dae, KD_ADAMS, &opt, &solver, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "adams.order_max"));
    opt = options_of(1e-6, 0);
    opt.h_fixed = 0.01;
    assert_int_equal(kd_integrator_create(f.dae, KD_ADAMS, &opt, &solver, message, sizeof message), KD_ERR_UNSUPPORTED);
    kd_dae *psf = make_dae(f.eom, NULL, f.x, KD_PSF, NULL);
    assert_int_equal(kd_integrator_create(psf, KD_ADAMS, NULL, &solver, message, sizeof message), KD_ERR_UNSUPPORTED);
    kd_dae_destroy(psf);
    drop_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polynomials_are_exact),
        cmocka_unit_test(borders_of_stability),
        cmocka_unit_test(pendulum_moves_exactly),
        cmocka_unit_test(order_is_the_slope),
        cmocka_unit_test(all_systems_move_as_known),
        cmocka_unit_test(coordinates_may_change),
        cmocka_unit_test(steps_taken_back_leave_no_trace),
        cmocka_unit_test(jumps_begin_a_new_past),
        cmocka_unit_test(kinks_that_are_felt_begin_a_new_past),
        cmocka_unit_test(small_kinks_are_not_felt),
        cmocka_unit_test(jumps_inside_cost_few_attempts),
        cmocka_unit_test(stiffness_is_told),
        cmocka_unit_test(failures_have_words),
        cmocka_unit_test(memory_and_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
