// Tests of dopri5, dop853 and half-explicit: known motions, orders, projection, dense output, stiffness, other
// coordinates on the way, attempts, memory, failures with words.
#include "integrator/shared.h"
#include "integrator/toy_ode.h"
#include <kardan/simulation.h>

static const kd_integrator_kind METHODS[] = {KD_DOPRI5, KD_DOP853, KD_HALF_EXPLICIT};
enum { METHOD_COUNT = sizeof METHODS / sizeof *METHODS };

static kd_integrator_options options_of(double tol)
{
    kd_integrator_options opt = kd_integrator_options_default();
    opt.rtol = opt.atol = tol;
    return opt;
}

// The pendulum moves as its exact solution, projected or not, and its constraints hold to rounding where projected.
static void pendulum_moves_exactly(void **state)
{
    (void)state;
    double exact[5];
    kd_pendulum_exact(GRAVITY, false, SPEED, 2, exact, exact + 2, exact + 4);
    for (int kind = 0; kind < 2 * METHOD_COUNT; kind++) {
        bool                  projected = kind % 2;
        kd_integrator_options opt = options_of(1e-9);
        fixture f = make_projected(METHODS[kind / 2], &opt, projected ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER);
        assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
        while (kd_integrator_time(f.solver) < 2) {
            assert_int_equal(kd_integrator_step(f.solver, 2), KD_OK);
            if (projected) assert_true(violation(kd_integrator_x(f.solver)) < 1e-13);
        }
        assert_close(kd_integrator_time(f.solver), 2, 0);
        assert_true(pendulum_error(kd_integrator_x(f.solver), 2) < 1e-6);
        if (!projected) assert_true(violation(kd_integrator_x(f.solver)) > 1e-13);
        kd_formulation_unpack(f.dae, 2, kd_integrator_x(f.solver), f.x);
        assert_close(f.x->lambda[0], exact[4], 1e-5);
        kd_stats stats = kd_integrator_stats(f.solver);
        int      per_step = kind < 2 ? 6 : kind < 4 ? 12 : 7;
        assert_int_equal(stats.order_last, METHODS[kind / 2] == KD_DOP853 ? 8 : 5);
        assert_true(stats.accepted > 10 && stats.steps == stats.accepted + stats.rejected_error);
        long looking = kind < 4 ? 0 : stats.steps / 50 + 15; // for stiffness
        assert_true(stats.residuals <= (per_step + projected) * stats.steps + 3 + looking);
        assert_int_equal(stats.projections, projected ? stats.accepted : 0);
        drop_fixture(&f);
    }
}

// Largest error at the ends of constant steps, or inside of them
// The slope at the end of a step, with which the next one starts and dense output ends, is that of the point behind the
// projection.
static void slopes_belong_to_the_projected_point(void **state)
{
    (void)state;
    for (int k = 0; k < METHOD_COUNT; k++) {
        kd_integrator_options opt = options_of(1e-4); // far from the constraints before it is projected
        fixture               f = make_projected(METHODS[k], &opt, KD_PROJECT_ALWAYS);
        assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
        for (int i = 0; i < 20; i++) {
            kd_step_ends e;
            double       slope[8];
            assert_int_equal(kd_integrator_step(f.solver, 10), KD_OK);
            if (!kd_integrator_ends(f.solver, &e)) continue;
            assert_int_equal(f.dae->methods->rhs(f.dae->impl, e.t1, e.x1, slope), KD_EVAL_OK);
            for (int j = 0; j < 4; j++) assert_true(fabs(e.d1[j] - slope[j]) < 1e-10 * (1 + fabs(slope[j])));
        }
        assert_true(kd_integrator_stats(f.solver).projections > 0);
        drop_fixture(&f);
    }
}

static double fixed_step_error(kd_integrator_kind method, kd_projection projection, int steps, bool inside)
{
    kd_integrator_options opt = options_of(1e-6);
    opt.h_fixed = 1.5 / steps;
    fixture f = make_projected(method, &opt, projection);
    double  error = 0, y[8];
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    while (kd_integrator_time(f.solver) < 1.5) {
        assert_int_equal(kd_integrator_step(f.solver, 1.5), KD_OK);
        double t0 = kd_integrator_time_old(f.solver), h = kd_integrator_time(f.solver) - t0;
        for (int k = 1; k < 8 && inside; k++) {
            assert_int_equal(kd_integrator_dense(f.solver, t0 + k * h / 8, y), KD_OK);
            error = fmax(error, pendulum_error(y, t0 + k * h / 8));
        }
    }
    if (!inside) error = pendulum_error(kd_integrator_x(f.solver), 1.5);
    drop_fixture(&f);
    return error;
}

// The slope of the error over constant steps is the order of the method, projected or not, and that of the dense output
// one more than its order.
static void orders_are_measured(void **state)
{
    (void)state;
    const struct {
        kd_integrator_kind method;
        bool               inside;
        int                steps;
        double             order;
    } kind[] = {{KD_DOPRI5, false, 64, 5},       {KD_DOP853, false, 16, 8}, {KD_HALF_EXPLICIT, false, 64, 5},
                {KD_HALF_EXPLICIT, true, 24, 5}, {KD_DOPRI5, true, 24, 5},  {KD_DOP853, true, 12, 8}};
    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
        for (int projected = 0; projected < 2; projected++) {
            kd_projection projection = projected ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER;
            double        coarse = fixed_step_error(kind[k].method, projection, kind[k].steps, kind[k].inside);
            double        fine = fixed_step_error(kind[k].method, projection, 2 * kind[k].steps, kind[k].inside);
            double        order = log2(coarse / fine);
            if (!(order > kind[k].order - 0.5 && order < kind[k].order + 1.5))
                fail_msg("method %d, dense %d, projected %d: order %.2f (%.2g, %.2g)", (int)kind[k].method,
                         kind[k].inside, projected, order, coarse, fine);
        }
    }
}

// The error follows the tolerance.
static void error_follows_the_tolerance(void **state)
{
    (void)state;
    for (int method = 0; method < METHOD_COUNT; method++) {
        double last = INFINITY;
        for (double tol = 1e-4; tol > 1e-11; tol /= 100) {
            kd_integrator_options opt = options_of(tol);
            fixture               f = make_projected(METHODS[method], &opt, KD_PROJECT_ALWAYS);
            assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
            run_until(f.solver, 3);
            double error = pendulum_error(kd_integrator_x(f.solver), 3);
            assert_true(error < 0.2 * last && error < 500 * tol);
            last = error;
            drop_fixture(&f);
        }
    }
}

// Dense output is exact at the end of a step, on the constraints inside, refused outside.
static void dense_output_ends_in_the_steps(void **state)
{
    (void)state;
    for (int method = 0; method < METHOD_COUNT; method++) {
        kd_integrator_options opt = options_of(1e-8);
        fixture               f = make_projected(METHODS[method], &opt, KD_PROJECT_ALWAYS);
        double                y[8];
        assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
        assert_int_equal(kd_integrator_dense(f.solver, 0, y), KD_OK);
        assert_memory_equal(y, f.y, 4 * sizeof(double));
        for (int k = 0; k < 30; k++) {
            assert_int_equal(kd_integrator_step(f.solver, 50), KD_OK);
            double t0 = kd_integrator_time_old(f.solver), t1 = kd_integrator_time(f.solver);
            assert_int_equal(kd_integrator_dense(f.solver, t0 + 0.3 * (t1 - t0), y), KD_OK);
            assert_true(pendulum_error(y, t0 + 0.3 * (t1 - t0)) < 1e-4);
            assert_true(violation(y) < 1e-13);
            assert_int_equal(kd_integrator_dense(f.solver, t1, y), KD_OK);
            assert_memory_equal(y, kd_integrator_x(f.solver), (size_t)f.dae->n * sizeof(double));
            assert_int_equal(kd_integrator_dense(f.solver, t1 + 1, y), KD_ERR_TIME);
            assert_int_equal(kd_integrator_dense(f.solver, t0 - 1e-3, y), KD_ERR_TIME);
        }
        drop_fixture(&f);
    }
}

// Dense output does not change the steps that follow.
static void dense_output_leaves_no_trace(void **state)
{
    (void)state;
    kd_integrator_options opt = options_of(1e-8);
    double                end[2][4], y[8];
    for (int k = 0; k < 2; k++) {
        fixture f = make_projected(KD_DOP853, &opt, KD_PROJECT_ALWAYS);
        assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
        while (kd_integrator_time(f.solver) < 2) {
            assert_int_equal(kd_integrator_step(f.solver, 2), KD_OK);
            double t0 = kd_integrator_time_old(f.solver), t1 = kd_integrator_time(f.solver);
            if (k == 1) assert_int_equal(kd_integrator_dense(f.solver, 0.5 * (t0 + t1), y), KD_OK);
        }
        memcpy(end[k], kd_integrator_x(f.solver), sizeof end[k]);
        drop_fixture(&f);
    }
    for (int i = 0; i < 4; i++) assert_close(end[0][i], end[1][i], 1e-13);
}

// All test systems: quaternions stay normed, contact coordinates and auxiliary variables are solved for.
static void systems_move_as_known(void **state)
{
    (void)state;
    const kd_integrator_options opt = options_of(1e-8);
    for (int k = 0; k < METHOD_COUNT * KD_TEST_SYSTEM_COUNT; k++)
        check_system(&kd_test_systems[k / METHOD_COUNT], METHODS[k % METHOD_COUNT], &opt, KD_ODE, 1e-4);
}

// ---- a small equation that can be told what to do -------------------------------------------------------------------

// A form that chooses other coordinates now and then goes on without loss, and dense output is in those of its step.
static void coordinates_may_change(void **state)
{
    (void)state;
    for (int method = 0; method < METHOD_COUNT; method++) {
        toy                   small;
        kd_integrator        *solver;
        kd_integrator_options opt = options_of(1e-9);
        double                x = 1;
        toy_init(&small, 1);
        small.methods.relabel = toy_relabel;
        assert_int_equal(kd_integrator_create(&small.dae, METHODS[method], &opt, &solver, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(solver, 0, &x), KD_OK);
        while (kd_integrator_time(solver) < 20) {
            assert_int_equal(kd_integrator_step(solver, 20), KD_OK);
            double t = 0.5 * (kd_integrator_time_old(solver) + kd_integrator_time(solver));
            assert_int_equal(kd_integrator_dense(solver, t, &x), KD_OK);
            assert_close(x, small.sign * cos(t), 1e-6);
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
    for (int kind = 0; kind < 2 * METHOD_COUNT; kind++) {
        bool                  stiff = kind % 2;
        toy                   small;
        kd_integrator        *solver;
        kd_integrator_options opt = options_of(1e-5);
        double                x = 1;
        int                   told = 0;
        toy_init(&small, stiff ? 1e4 : 1);
        assert_int_equal(kd_integrator_create(&small.dae, METHODS[kind / 2], &opt, &solver, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(solver, 0, &x), KD_OK);
        while (kd_integrator_time(solver) < (stiff ? 2 : 100)) {
            kd_status status = kd_integrator_step(solver, stiff ? 2 : 100);
            assert_true(status >= 0);
            if (status != KD_STIFF) continue;
            told++;
            assert_non_null(strstr(kd_integrator_message(solver), "radau or bdf"));
        }
        assert_int_equal(told, stiff);
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
        kd_integrator_options opt = options_of(1e-6);
        double                x = 1;
        kd_status             status = KD_OK;
        toy_init(&small, 1);
        small.beyond = 3;
        small.nan = kind % 2;
        assert_int_equal(kd_integrator_create(&small.dae, METHODS[kind / 2], &opt, &solver, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_step(solver, 5), KD_ERR_STAGE);
        assert_int_equal(kd_integrator_start(solver, 0, &x), KD_OK);
        for (int k = 0; k < 2000 && status >= 0; k++) status = kd_integrator_step(solver, 5);
        assert_int_equal(status, small.nan ? KD_ERR_NOT_FINITE : KD_ERR_RETRY_FAILED);
        assert_close(kd_integrator_time(solver), 3, 1e-6);
        assert_non_null(strstr(kd_integrator_message(solver), small.nan ? "not finite" : "the toy is broken"));
        assert_true(kd_integrator_stats(solver).rejected_newton > 3);
        kd_integrator_destroy(solver);
    }
}

// Whenever the right-hand side asks to stop, in stages, in the test for stiffness or in dense output, it stops.
static void stops_at_once(void **state)
{
    (void)state;
    for (int kind = 0; kind < METHOD_COUNT; kind++) {
        long calls = 0;
        for (long stop_at = 1; stop_at == 1 || stop_at <= calls; stop_at++) {
            toy                   small;
            kd_integrator        *solver;
            kd_integrator_options opt = options_of(1e-6);
            double                x = 1, y;
            opt.explicit_rk.stiff_steps = 1;
            toy_init(&small, 1);
            small.stop_at = stop_at > 1 ? stop_at : 0; // at first all calls are counted
            assert_int_equal(kd_integrator_create(&small.dae, METHODS[kind], &opt, &solver, NULL, 0), KD_OK);
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
    fixture f = make_projected(KD_DOPRI5, NULL, KD_PROJECT_ALWAYS);
    double  first[4];
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    run_until(f.solver, 0.5);
    memcpy(first, kd_integrator_x(f.solver), sizeof first);
    long steps = kd_integrator_stats(f.solver).accepted;
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    run_until(f.solver, 0.5);
    for (int i = 0; i < 4; i++) assert_close(kd_integrator_x(f.solver)[i], first[i], 1e-14);
    assert_int_equal(kd_integrator_stats(f.solver).accepted, 2 * steps);
    assert_int_equal(kd_integrator_step(f.solver, 0.4), KD_ERR_TIME);
    assert_int_equal(kd_integrator_step(f.solver, 0.5), KD_OK); // nothing to do
    drop_fixture(&f);
}

// Refused with words: tolerances that are none, methods that are none, every formulation but ode.
static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    fixture               f = make_projected(KD_DOPRI5, NULL, KD_PROJECT_NEVER);
    kd_integrator_options opt = kd_integrator_options_default();
    kd_integrator        *solver;
    char                  message[200];
    opt.rtol = 0;
    assert_int_equal(kd_integrator_create(f.dae, KD_DOPRI5, &opt, &solver, message, sizeof message), KD_ERR_TOLERANCE);
    opt = kd_integrator_options_default();
    opt.max_steps = 0;
    assert_int_equal(kd_integrator_create(f.dae, KD_DOPRI5, &opt, &solver, message, sizeof message), KD_ERR_ARGUMENT);
    opt = kd_integrator_options_default();
    assert_int_equal(kd_integrator_create(f.dae, (kd_integrator_kind)77, &opt, &solver, message, sizeof message),
                     KD_ERR_ARGUMENT);
    opt = kd_integrator_options_default();
    opt.explicit_rk.safety = 1.5;
    assert_int_equal(kd_integrator_create(f.dae, KD_DOPRI5, &opt, &solver, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_create(NULL, KD_DOPRI5, NULL, &solver, message, sizeof message), KD_ERR_ARGUMENT);
    for (int form = 0; form < KD_FORMULATION_COUNT; form++) {
        kd_dae *dae = make_dae(f.eom, NULL, f.x, (kd_formulation)form, NULL);
        if (!dae->methods->rhs) {
            assert_int_equal(kd_integrator_create(dae, KD_DOPRI5, NULL, &solver, message, sizeof message),
                             KD_ERR_UNSUPPORTED);
            assert_non_null(strstr(message, "use the formulation ode"));
            assert_null(solver);
        }
        kd_dae_destroy(dae);
    }
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
    assert_true(report->h > 0);
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

// Every attempt is reported with the parts of the components in its error.
static void attempts_are_reported(void **state)
{
    (void)state;
    for (int method = 0; method < METHOD_COUNT; method++) {
        kd_integrator_options opt = options_of(1e-7);
        opt.h_first = 0.4; // too long
        fixture  f = make_projected(METHODS[method], &opt, KD_PROJECT_ALWAYS);
        listener l = {0};
        f.dae->observe = listen;
        f.dae->observer = &l;
        assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
        run_until(f.solver, 2);
        kd_stats stats = kd_integrator_stats(f.solver);
        assert_true(l.rejected > 0);
        assert_int_equal(l.accepted, stats.accepted);
        assert_int_equal(l.rejected, stats.rejected_error);
        drop_fixture(&f);
    }
}

// Steps and dense output do not allocate; creation without memory answers so and leaks nothing.
static void memory_is_taken_at_creation_only(void **state)
{
    (void)state;
    for (int method = 0; method < METHOD_COUNT; method++) {
        kd_integrator_options opt = options_of(1e-7);
        fixture               f = make_projected(METHODS[method], &opt, KD_PROJECT_ALWAYS);
        kd_integrator        *solver;
        double                y[8];
        assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
        failing_allocator memory = {0};
        failing_allocator_use(&memory);
        for (int k = 0; k < 40; k++) {
            assert_int_equal(kd_integrator_step(f.solver, 5), KD_OK);
            double t = 0.5 * (kd_integrator_time_old(f.solver) + kd_integrator_time(f.solver));
            assert_int_equal(kd_integrator_dense(f.solver, t, y), KD_OK);
        }
        assert_int_equal(memory.calls, 0);
        kd_status status;
        do {
            memory.calls = 0;
            memory.fail_at++;
            status = kd_integrator_create(f.dae, METHODS[method], &opt, &solver, NULL, 0);
            if (status == KD_OK) kd_integrator_destroy(solver);
            assert_int_equal(memory.live, 0);
        } while (status == KD_ERR_MEMORY);
        kd_set_allocator(NULL);
        assert_int_equal(status, KD_OK);
        assert_true(memory.fail_at > 1);
        drop_fixture(&f);
    }
}

// Two ways to ask for the methods, one motion: the driver gives the pendulum's exact one, on the constraints.
static void simulations_run(void **state)
{
    (void)state;
    const double          p0[2] = {0, -1}, v0[2] = {SPEED, 0};
    kd_eom               *eom;
    kd_state             *x;
    char                  message[600];
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_ODE;
    opt.rtol = opt.atol = 1e-8;
    opt.formulation_options.projection = KD_PROJECT_ALWAYS;
    for (int k = 0; k < 3; k++) {
        kd_stats stats;
        opt.integrator = METHODS[k];
        assert_int_equal(kd_pendulum_create(GRAVITY, p0, v0, false, &eom, &x), KD_OK);
        assert_int_equal(kd_simulate(eom, NULL, &opt, x, 2, &stats, message, sizeof message), KD_OK);
        assert_true(pendulum_error(x->p, 2) < 1e-5 && violation(x->p) < 1e-13);
        assert_int_equal(stats.order_last, k == 1 ? 8 : 5);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

static kd_eval damper_mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1;
    return KD_EVAL_OK;
}

// v' = -1e4 (v - cos t): v is soon cos t
static kd_eval damper_force(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = -1e4 * (x->v[0] - cos(x->t));
    return KD_EVAL_OK;
}

// A simulation of a stiff model reaches its end and tells that an implicit method would do better.
static void simulations_pass_the_advice_on(void **state)
{
    (void)state;
    kd_eom_def            def = kd_eom_def_default();
    kd_simulation_options opt = kd_simulation_options_default();
    kd_eom               *eom;
    kd_state             *x;
    char                  message[800];
    def.dims.np = def.dims.nv = 1;
    def.M = damper_mass;
    def.f = damper_force;
    opt.formulation = KD_ODE;
    for (int k = 0; k < 3; k++) {
        opt.integrator = METHODS[k];
        eom = make(&def);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        kd_status status = kd_simulate(eom, NULL, &opt, x, 1, NULL, message, sizeof message);
        if (status != KD_STIFF) fail_msg("%s: %s", kd_status_name(status), message);
        assert_non_null(strstr(message, "radau or bdf"));
        assert_close(x->v[0], cos(1), 1e-3);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pendulum_moves_exactly),
        cmocka_unit_test(slopes_belong_to_the_projected_point),
        cmocka_unit_test(orders_are_measured),
        cmocka_unit_test(error_follows_the_tolerance),
        cmocka_unit_test(dense_output_ends_in_the_steps),
        cmocka_unit_test(dense_output_leaves_no_trace),
        cmocka_unit_test(systems_move_as_known),
        cmocka_unit_test(coordinates_may_change),
        cmocka_unit_test(stiffness_is_told),
        cmocka_unit_test(refusing_functions_end_with_words),
        cmocka_unit_test(stops_at_once),
        cmocka_unit_test(restart_repeats),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(attempts_are_reported),
        cmocka_unit_test(memory_is_taken_at_creation_only),
        cmocka_unit_test(simulations_run),
        cmocka_unit_test(simulations_pass_the_advice_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
