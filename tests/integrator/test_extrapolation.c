// Tests of the extrapolation method: known motions, the order of every column, control of the order, projection, dense
// output, stiffness, jumps, other coordinates on the way, attempts, memory, failures with words.
#include "integrator/shared.h"
#include "integrator/toy_ode.h"
#include <kardan/simulation.h>

static const kd_sequence SEQUENCES[] = {KD_SEQUENCE_HARMONIC, KD_SEQUENCE_MIDPOINT};

static fixture make_fixture(const kd_integrator_options *opt, kd_projection projection)
{
    fixture f = make_projected(KD_EXTRAPOLATION, opt, projection);
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    return f;
}

static kd_integrator_options options_of(kd_sequence sequence, double tol)
{
    kd_integrator_options opt = kd_integrator_options_default();
    opt.extrapolation.sequence = sequence;
    opt.rtol = opt.atol = tol;
    return opt;
}

// ---- accuracy -------------------------------------------------------------------------------------------------------

// The pendulum moves as its exact solution, projected or not, and its constraints hold to rounding where projected.
static void pendulum_moves_exactly(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        bool                  projected = kind % 2;
        kd_integrator_options opt = options_of(SEQUENCES[kind / 2], 1e-9);
        fixture               f = make_fixture(&opt, projected ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER);
        while (kd_integrator_time(f.solver) < 2) {
            assert_int_equal(kd_integrator_step(f.solver, 2), KD_OK);
            if (projected) assert_true(violation(kd_integrator_x(f.solver)) < 1e-13);
        }
        assert_close(kd_integrator_time(f.solver), 2, 0);
        assert_true(pendulum_error(kd_integrator_x(f.solver), 2) < 1e-7);
        if (!projected) assert_true(violation(kd_integrator_x(f.solver)) > 1e-13);
        kd_stats stats = kd_integrator_stats(f.solver);
        assert_true(stats.accepted > 3 && stats.steps == stats.accepted + stats.rejected_error);
        assert_true(stats.residuals > 10 * stats.accepted);
        assert_int_equal(stats.projections, projected ? stats.accepted : 0);
        drop_fixture(&f);
    }
}

// Largest error at the ends of constant steps, or inside of them
static double fixed_step_error(kd_sequence sequence, int order, kd_projection projection, int steps, bool inside)
{
    kd_integrator_options opt = options_of(sequence, 1e-6);
    opt.h_fixed = 1.5 / steps;
    opt.extrapolation.order = order;
    fixture f = make_fixture(&opt, projection);
    double  error = 0, y[8];
    while (kd_integrator_time(f.solver) < 1.5) {
        assert_int_equal(kd_integrator_step(f.solver, 1.5), KD_OK);
        assert_int_equal(kd_integrator_stats(f.solver).order_last, order);
        double t0 = kd_integrator_time_old(f.solver), h = kd_integrator_time(f.solver) - t0;
        if (!inside) error = fmax(error, pendulum_error(kd_integrator_x(f.solver), t0 + h));
        for (int k = 1; k < 8 && inside; k++) {
            assert_int_equal(kd_integrator_dense(f.solver, t0 + k * h / 8, y), KD_OK);
            error = fmax(error, pendulum_error(y, t0 + k * h / 8));
        }
    }
    assert_int_equal(kd_integrator_stats(f.solver).accepted, steps);
    drop_fixture(&f);
    return error;
}

// Slope of a straight line through the logarithms of four errors
static double slope(const int *steps, const double *error)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < 4; i++) {
        double x = -log(steps[i]), y = log(error[i]);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    return (4 * sxy - sx * sy) / (4 * sxx - sx * sx);
}

// The slope of the error over constant steps is twice the number of columns, at the ends of the steps and inside, where
// the error of the interpolation is that of one step; projected or not, with both sequences.
static void orders_are_measured(void **state)
{
    (void)state;
    const int fewest[2][7] = {{0, 128, 40, 20, 12, 12, 8}, {0, 128, 40, 20, 12, 10, 6}}; // above rounding
    for (int columns = 1; columns <= 6; columns++) {
        for (int kind = 0; kind < 8; kind++) {
            bool          inside = kind & 1;
            kd_projection projection = kind & 2 ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER;
            kd_sequence   sequence = SEQUENCES[kind / 4];
            int           steps[4];
            double        error[4];
            for (int i = 0; i < 4; i++) {
                steps[i] = fewest[kind / 4][columns] * (4 + i) / 4;
                error[i] = fixed_step_error(sequence, 2 * columns, projection, steps[i], inside);
            }
            double order = slope(steps, error);
            if (!(order > 2 * columns - 0.6 && order < 2 * columns + 2.5))
                fail_msg("%d columns, inside %d, projection %d, sequence %d: order %.2f (%.2g, %.2g)", columns, inside,
                         (int)projection, (int)sequence, order, error[0], error[3]);
        }
    }
}

// The error follows the tolerance, with the same work for some digits more as high orders promise: less than twice.
static void error_follows_the_tolerance(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        double last = INFINITY;
        long   evaluations[2] = {0, 0};
        for (double tol = 1e-4; tol > 1e-12; tol /= 100) {
            kd_integrator_options opt = options_of(SEQUENCES[k], tol);
            fixture               f = make_fixture(&opt, KD_PROJECT_ALWAYS);
            run_until(f.solver, 3);
            double error = pendulum_error(kd_integrator_x(f.solver), 3);
            if (!(error < 0.5 * last && error < 500 * tol)) fail_msg("tol %g: error %g after %g", tol, error, last);
            last = error;
            evaluations[0] = evaluations[1];
            evaluations[1] = kd_integrator_stats(f.solver).residuals;
            assert_true(evaluations[1] < 2 * evaluations[0] || evaluations[0] == 0);
            drop_fixture(&f);
        }
    }
}

// ---- order ----------------------------------------------------------------------------------------------------------

// Mean order of the accepted steps of a run
static double mean_order(const kd_integrator_options *opt, int *most)
{
    fixture f = make_fixture(opt, KD_PROJECT_ALWAYS);
    double  sum = 0;
    *most = 0;
    while (kd_integrator_time(f.solver) < 10) {
        assert_int_equal(kd_integrator_step(f.solver, 10), KD_OK);
        int order = kd_integrator_stats(f.solver).order_last;
        assert_true(order >= 4 && order <= opt->extrapolation.order_max && order % 2 == 0);
        sum += order;
        *most = order > *most ? order : *most;
    }
    sum /= (double)kd_integrator_stats(f.solver).accepted;
    drop_fixture(&f);
    return sum;
}

// Tight tolerances take high orders, loose ones low orders; a highest order is kept to, odd ones as the even one below;
// a constant order stays and keeps the tolerance.
static void order_follows_the_tolerance(void **state)
{
    (void)state;
    int    most;
    double last = 0;
    for (double tol = 1e-3; tol > 1e-13; tol /= 1000) {
        kd_integrator_options opt = options_of(KD_SEQUENCE_HARMONIC, tol);
        double                order = mean_order(&opt, &most);
        assert_true(order > last);
        last = order;
    }
    assert_true(last > 11);
    kd_integrator_options opt = options_of(KD_SEQUENCE_HARMONIC, 1e-10);
    opt.extrapolation.order_max = 9;
    assert_true(mean_order(&opt, &most) > 5 && most == 8);
    opt.extrapolation.order_max = 4;
    assert_close(mean_order(&opt, &most), 4, 0);
    opt.extrapolation.order_max = 18;
    opt.extrapolation.order = 10;
    assert_close(mean_order(&opt, &most), 10, 0);
    fixture f = make_fixture(&opt, KD_PROJECT_ALWAYS);
    run_until(f.solver, 3);
    assert_true(pendulum_error(kd_integrator_x(f.solver), 3) < 1e-8);
    drop_fixture(&f);
}

// Ends of runs that cut steps short do not make the following ones short or of low order.
static void short_last_steps_do_no_harm(void **state)
{
    (void)state;
    kd_integrator_options opt = options_of(KD_SEQUENCE_HARMONIC, 1e-9);
    long                  steps[2];
    for (int k = 0; k < 2; k++) {
        fixture f = make_fixture(&opt, KD_PROJECT_ALWAYS);
        for (int i = 1; i <= 8; i++) run_until(f.solver, k == 0 || i % 2 == 0 ? i / 2 : i / 2 + 1e-3);
        steps[k] = kd_integrator_stats(f.solver).accepted;
        assert_true(pendulum_error(kd_integrator_x(f.solver), 4) < 1e-6);
        drop_fixture(&f);
    }
    assert_true(steps[1] <= steps[0] + 2 * 4);
}

// h_max limits every step.
static void steps_are_limited(void **state)
{
    (void)state;
    kd_integrator_options opt = options_of(KD_SEQUENCE_HARMONIC, 1e-5);
    opt.h_max = 0.02;
    fixture f = make_fixture(&opt, KD_PROJECT_ALWAYS);
    while (kd_integrator_time(f.solver) < 1) {
        assert_int_equal(kd_integrator_step(f.solver, 1), KD_OK);
        assert_true(kd_integrator_time(f.solver) - kd_integrator_time_old(f.solver) < 0.0205);
    }
    assert_true(kd_integrator_stats(f.solver).order_last <= 6); // more columns would not pay
    drop_fixture(&f);
}

// ---- dense output ---------------------------------------------------------------------------------------------------

// Dense output is as accurate as the steps, exact at their ends, on the constraints inside, refused outside; with the
// midpoint sequence it costs no evaluation that is not the projection's.
static void dense_output_ends_in_the_steps(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        kd_integrator_options opt = options_of(SEQUENCES[k], 1e-9);
        fixture               f = make_fixture(&opt, KD_PROJECT_ALWAYS);
        double                y[8], inside = 0, ends = 0;
        assert_int_equal(kd_integrator_dense(f.solver, 0, y), KD_OK);
        assert_memory_equal(y, f.y, 4 * sizeof(double));
        for (int i = 0; i < 30; i++) {
            assert_int_equal(kd_integrator_step(f.solver, 50), KD_OK);
            double t0 = kd_integrator_time_old(f.solver), t1 = kd_integrator_time(f.solver);
            long   before = kd_integrator_stats(f.solver).residuals;
            for (int part = 1; part < 10; part++) {
                double t = t0 + 0.1 * part * (t1 - t0);
                assert_int_equal(kd_integrator_dense(f.solver, t, y), KD_OK);
                inside = fmax(inside, pendulum_error(y, t));
                assert_true(violation(y) < 1e-13);
            }
            assert_int_equal(kd_integrator_stats(f.solver).residuals > before, k == 0);
            ends = fmax(ends, pendulum_error(kd_integrator_x(f.solver), t1));
            assert_int_equal(kd_integrator_dense(f.solver, t1, y), KD_OK);
            assert_memory_equal(y, kd_integrator_x(f.solver), (size_t)f.dae->n * sizeof(double));
            assert_int_equal(kd_integrator_dense(f.solver, t1 + 1, y), KD_ERR_TIME);
            assert_int_equal(kd_integrator_dense(f.solver, t0 - 1e-3, y), KD_ERR_TIME);
        }
        if (!(inside < 10 * ends + 1e-8)) fail_msg("inside %g, at the ends %g", inside, ends);
        drop_fixture(&f);
    }
}

// Dense output does not change the steps that follow.
static void dense_output_leaves_no_trace(void **state)
{
    (void)state;
    for (int sequence = 0; sequence < 2; sequence++) {
        kd_integrator_options opt = options_of(SEQUENCES[sequence], 1e-8);
        double                end[2][4], y[8];
        for (int k = 0; k < 2; k++) {
            fixture f = make_fixture(&opt, KD_PROJECT_ALWAYS);
            while (kd_integrator_time(f.solver) < 2) {
                assert_int_equal(kd_integrator_step(f.solver, 2), KD_OK);
                double t0 = kd_integrator_time_old(f.solver), t1 = kd_integrator_time(f.solver);
                if (k == 1) assert_int_equal(kd_integrator_dense(f.solver, 0.5 * (t0 + t1), y), KD_OK);
            }
            memcpy(end[k], kd_integrator_x(f.solver), sizeof end[k]);
            drop_fixture(&f);
        }
        for (int i = 0; i < 4; i++) assert_close(end[0][i], end[1][i], 1e-12);
    }
}

// ---- systems --------------------------------------------------------------------------------------------------------

// All test systems: quaternions stay normed, contact coordinates and auxiliary variables are solved for.
static void systems_move_as_known(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * KD_TEST_SYSTEM_COUNT; k++) {
        const kd_integrator_options opt = options_of(SEQUENCES[k % 2], 1e-8);
        check_system(&kd_test_systems[k / 2], KD_EXTRAPOLATION, &opt, KD_ODE, 1e-4);
    }
}

// ---- a small equation that can be told what to do -------------------------------------------------------------------

// A form that chooses other coordinates now and then goes on without loss, and dense output is in those of its step.
static void coordinates_may_change(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        toy                   small;
        kd_integrator        *solver;
        kd_integrator_options opt = options_of(SEQUENCES[k], 1e-9);
        double                x = 1;
        opt.h_max = 0.5;
        toy_init(&small, 1);
        small.methods.relabel = toy_relabel;
        assert_int_equal(kd_integrator_create(&small.dae, KD_EXTRAPOLATION, &opt, &solver, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(solver, 0, &x), KD_OK);
        while (kd_integrator_time(solver) < 20) {
            assert_int_equal(kd_integrator_step(solver, 20), KD_OK);
            double t = 0.5 * (kd_integrator_time_old(solver) + kd_integrator_time(solver));
            assert_int_equal(kd_integrator_dense(solver, t, &x), KD_OK);
            assert_close(x, small.sign * cos(t), 1e-7);
        }
        assert_true(small.relabelled > 10);
        assert_close(kd_integrator_x(solver)[0], small.sign * cos(20), 1e-7);
        kd_integrator_destroy(solver);
    }
}

// Stiffness is told once, with the name of an implicit method; a slow equation is not called stiff.
static void stiffness_is_told(void **state)
{
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        bool                  stiff = kind % 2;
        toy                   small;
        kd_integrator        *solver;
        kd_integrator_options opt = options_of(SEQUENCES[kind / 2 % 2], kind < 4 ? 1e-5 : 1e-8);
        double                x = 1;
        int                   told = 0;
        toy_init(&small, stiff ? 1e4 : 1);
        assert_int_equal(kd_integrator_create(&small.dae, KD_EXTRAPOLATION, &opt, &solver, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(solver, 0, &x), KD_OK);
        while (kd_integrator_time(solver) < (stiff ? 2 : 100)) {
            kd_status status = kd_integrator_step(solver, stiff ? 2 : 100);
            assert_true(status >= 0);
            if (status != KD_STIFF) continue;
            told++;
            assert_non_null(strstr(kd_integrator_message(solver), "radau or bdf"));
        }
        assert_close(kd_integrator_x(solver)[0], cos(stiff ? 2 : 100), 1e-4);
        if (told != stiff) fail_msg("kind %d: told %d times", kind, told);
        kd_integrator_destroy(solver);
    }
}

// Functions that cannot be evaluated make the steps smaller and end the run with words near the border.
static void refusing_functions_end_with_words(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        toy                   small;
        kd_integrator        *solver;
        kd_integrator_options opt = options_of(SEQUENCES[kind / 2], 1e-6);
        double                x = 1;
        kd_status             status = KD_OK;
        toy_init(&small, 1);
        small.beyond = 3;
        small.nan = kind % 2;
        assert_int_equal(kd_integrator_create(&small.dae, KD_EXTRAPOLATION, &opt, &solver, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_step(solver, 5), KD_ERR_STAGE);
        assert_int_equal(kd_integrator_start(solver, 0, &x), KD_OK);
        for (int k = 0; k < 2000 && status >= 0; k++) status = kd_integrator_step(solver, 5);
        assert_int_equal(status, small.nan ? KD_ERR_NOT_FINITE : KD_ERR_RETRY_FAILED);
        assert_close(kd_integrator_time(solver), 3, 1e-6);
        assert_close(kd_integrator_x(solver)[0], cos(3), 1e-4);
        assert_non_null(strstr(kd_integrator_message(solver), small.nan ? "not finite" : "the toy is broken"));
        assert_true(kd_integrator_stats(solver).rejected_newton > 3);
        kd_integrator_destroy(solver);
    }
}

// x' = -x, from t = 1 on x' = 3 - x
static kd_eval jumping_rhs(void *impl, double t, const double *x, double *xdot)
{
    (void)impl;
    xdot[0] = (t < 1 ? 0 : 3) - x[0];
    return KD_EVAL_OK;
}

// A jump of the right-hand side is passed with rejected attempts and short steps of low order, without loss of
// accuracy.
static void jumps_are_passed(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        toy                   small;
        kd_integrator        *solver;
        kd_integrator_options opt = options_of(SEQUENCES[k], 1e-8);
        double                x = 1, h_least = 1;
        int                   lowest = 20;
        toy_init(&small, 1);
        small.methods.rhs = jumping_rhs;
        assert_int_equal(kd_integrator_create(&small.dae, KD_EXTRAPOLATION, &opt, &solver, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(solver, 0, &x), KD_OK);
        while (kd_integrator_time(solver) < 4) {
            assert_int_equal(kd_integrator_step(solver, 4), KD_OK);
            double t0 = kd_integrator_time_old(solver), t1 = kd_integrator_time(solver);
            int    order = kd_integrator_stats(solver).order_last;
            if (t0 > 0.1 && t1 < 2) h_least = fmin(h_least, t1 - t0);
            if (t0 > 0.1 && t1 < 2 && order < lowest) lowest = order;
        }
        kd_stats stats = kd_integrator_stats(solver);
        assert_close(kd_integrator_x(solver)[0], exp(-4) + 3 * (1 - exp(-3)), 1e-6);
        assert_true(stats.rejected_error > 3 && stats.steps < 200);
        assert_true(h_least < 1e-4 && lowest <= 6);
        assert_true(stats.h_last > 0.1);
        kd_integrator_destroy(solver);
    }
}

// Whenever the right-hand side asks to stop, in stages, in the test for stiffness or in dense output, it stops.
static void stops_at_once(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        long calls = 0;
        for (long stop_at = 1; stop_at == 1 || stop_at <= calls; stop_at++) {
            toy                   small;
            kd_integrator        *solver;
            kd_integrator_options opt = options_of(SEQUENCES[kind % 2], 1e-6);
            double                x = 1, y;
            opt.extrapolation.stiff_steps = 1;
            toy_init(&small, 1);
            small.stop_at = stop_at > 1 ? stop_at : 0; // at first all calls are counted
            assert_int_equal(kd_integrator_create(&small.dae, KD_EXTRAPOLATION, &opt, &solver, NULL, 0), KD_OK);
            kd_status status = kd_integrator_start(solver, 0, &x);
            while (status >= 0 && kd_integrator_time(solver) < 0.5) {
                status = kd_integrator_step(solver, 0.5);
                if (status >= 0)
                    status = kd_integrator_dense(
                        solver, 0.5 * (kd_integrator_time_old(solver) + kd_integrator_time(solver)), &y);
            }
            assert_int_equal(status, stop_at > 1 ? KD_ERR_CALLBACK_STOP : KD_OK);
            if (stop_at > 1) assert_int_equal(small.calls, stop_at);
            calls = stop_at > 1 ? calls : small.calls;
            kd_integrator_destroy(solver);
        }
        assert_true(calls > 10);
    }
}

// ---- contracts ------------------------------------------------------------------------------------------------------

// A second start forgets the past, gives the same numbers again and keeps counting.
static void restart_repeats(void **state)
{
    (void)state;
    fixture f = make_fixture(NULL, KD_PROJECT_ALWAYS);
    double  first[4];
    run_until(f.solver, 0.5);
    memcpy(first, kd_integrator_x(f.solver), sizeof first);
    long steps = kd_integrator_stats(f.solver).accepted;
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    run_until(f.solver, 0.5);
    for (int i = 0; i < 4; i++) assert_close(kd_integrator_x(f.solver)[i], first[i], 1e-13);
    assert_int_equal(kd_integrator_stats(f.solver).accepted, 2 * steps);
    assert_int_equal(kd_integrator_step(f.solver, 0.4), KD_ERR_TIME);
    assert_int_equal(kd_integrator_step(f.solver, 0.5), KD_OK); // nothing to do
    drop_fixture(&f);
}

// Refused with words: tolerances, orders and sequences that are none, every formulation without a right-hand side.
static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    fixture                     f = make_fixture(NULL, KD_PROJECT_NEVER);
    const kd_integrator_options good = kd_integrator_options_default();
    kd_integrator_options       wrong[10];
    kd_integrator              *solver;
    char                        message[200];
    for (int k = 0; k < 10; k++) wrong[k] = good;
    wrong[0].rtol = 0;
    wrong[1].max_steps = 0;
    wrong[2].extrapolation.order_max = 3;
    wrong[3].extrapolation.order_max = 22;
    wrong[4].extrapolation.order = 7;
    wrong[5].extrapolation.order = 2; // has no error estimate
    wrong[6].extrapolation.order = 20;
    wrong[7].extrapolation.sequence = (kd_sequence)7;
    wrong[8].extrapolation.safety = 1;
    wrong[9].extrapolation.stiff_steps = -1;
    for (int k = 0; k < 10; k++) {
        message[0] = '\0';
        kd_status status = kd_integrator_create(f.dae, KD_EXTRAPOLATION, &wrong[k], &solver, message, sizeof message);
        assert_int_equal(status, k == 0 ? KD_ERR_TOLERANCE : KD_ERR_ARGUMENT);
        assert_null(solver);
        assert_true(strlen(message) > 20);
    }
    assert_int_equal(kd_integrator_create(NULL, KD_EXTRAPOLATION, NULL, &solver, message, sizeof message),
                     KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_start(NULL, 0, f.y), KD_ERR_ARGUMENT);
    for (int form = 0; form < KD_FORMULATION_COUNT; form++) {
        kd_dae *dae = make_dae(f.eom, NULL, f.x, (kd_formulation)form, NULL);
        if (!dae->methods->rhs) {
            assert_int_equal(kd_integrator_create(dae, KD_EXTRAPOLATION, NULL, &solver, message, sizeof message),
                             KD_ERR_UNSUPPORTED);
            assert_non_null(strstr(message, "use the formulation ode"));
            assert_null(solver);
        }
        kd_dae_destroy(dae);
    }
    kd_integrator_destroy(NULL);
    drop_fixture(&f);
}

typedef struct listener {
    long   accepted, rejected;
    double t; // end of the last accepted step
} listener;

static void listen(const kd_attempt_report *report, void *context)
{
    listener *l = context;
    double    sum = 0;
    assert_close(report->t, l->t, 1e-13);
    assert_true(report->h > 0 && report->order >= 4);
    assert_non_null(report->share);
    for (int i = 0; i < 4; i++) sum += report->share[i];
    assert_close(sum, 1, 1e-12);
    if (report->outcome == KD_ATTEMPT_ACCEPTED) {
        assert_true(report->error < 1);
        l->accepted++;
        l->t = report->t + report->h;
    } else {
        assert_int_equal(report->outcome, KD_ATTEMPT_ERROR);
        assert_true(report->error >= 1);
        l->rejected++;
    }
}

// Every attempt is reported with the parts of the components in its error; a first step that is much too long is cut.
static void attempts_are_reported(void **state)
{
    (void)state;
    kd_integrator_options opt = options_of(KD_SEQUENCE_HARMONIC, 1e-7);
    opt.h_first = 20;
    fixture  f = make_fixture(&opt, KD_PROJECT_ALWAYS);
    listener l = {0};
    f.dae->observe = listen;
    f.dae->observer = &l;
    run_until(f.solver, 30);
    kd_stats stats = kd_integrator_stats(f.solver);
    assert_true(l.rejected > 0);
    assert_int_equal(l.accepted, stats.accepted);
    assert_int_equal(l.rejected, stats.rejected_error);
    drop_fixture(&f);
}

// Steps and dense output do not allocate; creation without memory answers so and leaks nothing.
static void memory_is_taken_at_creation_only(void **state)
{
    (void)state;
    kd_integrator_options opt = options_of(KD_SEQUENCE_HARMONIC, 1e-10);
    fixture               f = make_fixture(&opt, KD_PROJECT_ALWAYS);
    kd_integrator        *solver;
    double                y[8];
    failing_allocator     memory = {0};
    failing_allocator_use(&memory);
    for (int k = 0; k < 40; k++) {
        assert_int_equal(kd_integrator_step(f.solver, 50), KD_OK);
        double t = 0.5 * (kd_integrator_time_old(f.solver) + kd_integrator_time(f.solver));
        assert_int_equal(kd_integrator_dense(f.solver, t, y), KD_OK);
    }
    assert_int_equal(memory.calls, 0);
    kd_status status;
    do {
        memory.calls = 0;
        memory.fail_at++;
        status = kd_integrator_create(f.dae, KD_EXTRAPOLATION, &opt, &solver, NULL, 0);
        if (status == KD_OK) kd_integrator_destroy(solver);
        assert_int_equal(memory.live, 0);
    } while (status == KD_ERR_MEMORY);
    kd_set_allocator(NULL);
    assert_int_equal(status, KD_OK);
    assert_true(memory.fail_at > 1);
    drop_fixture(&f);
}

typedef struct watcher {
    double worst, error;
    int    seen;
} watcher;

static kd_eval watch(const kd_state *x, bool at_time, void *context)
{
    watcher *w = context;
    w->worst = fmax(w->worst, violation(x->p));
    w->error = fmax(w->error, pendulum_error(x->p, x->t));
    w->seen += at_time;
    return KD_EVAL_OK;
}

// The driver gives the pendulum's exact motion, on the constraints at all steps and wanted times, with and without the
// projection of statespace; advice about stiffness comes with the end of the run.
static void simulations_run(void **state)
{
    (void)state;
    const double          p0[2] = {0, -1}, v0[2] = {SPEED, 0};
    double                times[100];
    kd_eom               *eom;
    kd_state             *x;
    char                  message[600];
    kd_simulation_options opt = kd_simulation_options_default();
    for (int i = 0; i < 100; i++) times[i] = 0.02 * (i + 1);
    opt.integrator = KD_EXTRAPOLATION;
    opt.rtol = opt.atol = 1e-9;
    for (int k = 0; k < 4; k++) {
        watcher w = {0};
        opt.formulation = k % 2 == 0 ? KD_ODE : KD_STATESPACE;
        opt.formulation_options.projection = k % 2 == 0 ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER;
        opt.times = k < 2 ? times : NULL;
        opt.ntimes = k < 2 ? 100 : 0;
        opt.output = watch;
        opt.context = &w;
        assert_int_equal(kd_pendulum_create(GRAVITY, p0, v0, false, &eom, &x), KD_OK);
        kd_status status = kd_simulate(eom, NULL, &opt, x, 2, NULL, message, sizeof message);
        if (status != KD_OK) fail_msg("%s: %s", kd_status_name(status), message);
        assert_int_equal(w.seen, k < 2 ? 100 : 0);
        if (!(w.worst < 1e-13)) fail_msg("kind %d: violation %g", k, w.worst);
        if (!(w.error < 1e-7)) fail_msg("kind %d: error %g", k, w.error);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pendulum_moves_exactly),
        cmocka_unit_test(orders_are_measured),
        cmocka_unit_test(error_follows_the_tolerance),
        cmocka_unit_test(order_follows_the_tolerance),
        cmocka_unit_test(short_last_steps_do_no_harm),
        cmocka_unit_test(steps_are_limited),
        cmocka_unit_test(dense_output_ends_in_the_steps),
        cmocka_unit_test(dense_output_leaves_no_trace),
        cmocka_unit_test(systems_move_as_known),
        cmocka_unit_test(coordinates_may_change),
        cmocka_unit_test(stiffness_is_told),
        cmocka_unit_test(refusing_functions_end_with_words),
        cmocka_unit_test(jumps_are_passed),
        cmocka_unit_test(stops_at_once),
        cmocka_unit_test(restart_repeats),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(attempts_are_reported),
        cmocka_unit_test(memory_is_taken_at_creation_only),
        cmocka_unit_test(simulations_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
