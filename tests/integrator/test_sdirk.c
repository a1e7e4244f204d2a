// Tests of the integrator sdirk: known motions through the formulation ode, the stiff double pendulum, step control,
// Jacobians that are kept, new coordinates, attempts that are told, failures with words.
#include "integrator/sdirk_dense.h"
#include "integrator/shared.h"
#include <kardan/model.h>
#include <kardan/system.h>

static const kd_sdirk_method METHODS[] = {KD_SDIRK_NEWTON, KD_SDIRK_ROSENBROCK, KD_SDIRK_STAGE_ORDER_2};

// ---- equations of motion --------------------------------------------------------------------------------------------

static fixture make_fixture(const kd_integrator_options *opt, kd_projection projection)
{
    fixture f = make_projected(KD_SDIRK, opt, projection);
    assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
    return f;
}

// The pendulum moves as its exact solution, projected or not; dense output keeps its accuracy; the counters count.
static void pendulum_moves_exactly(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        kd_integrator_options opt = kd_integrator_options_default();
        const bool            projected = k >= 3;
        double                most = 0, y[4];
        opt.sdirk.method = METHODS[k % 3];
        opt.rtol = opt.atol = 1e-8;
        fixture f = make_fixture(&opt, projected ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER);
        while (kd_integrator_time(f.solver) < 2) {
            assert_int_equal(kd_integrator_step(f.solver, 2), KD_OK);
            double t = 0.3 * kd_integrator_time_old(f.solver) + 0.7 * kd_integrator_time(f.solver);
            assert_int_equal(kd_integrator_dense(f.solver, t, y), KD_OK);
            most = fmax(most, pendulum_error(y, t));
        }
        const double *x = kd_integrator_x(f.solver);
        assert_close(kd_integrator_time(f.solver), 2, 0);
        assert_true(pendulum_error(x, 2) < 3e-7);
        assert_true(most < 3e-7);
        if (projected) assert_true(fabs(x[0] * x[0] + x[1] * x[1] - 1) < 1e-13);
        kd_stats s = kd_integrator_stats(f.solver);
        assert_int_equal(s.steps, s.accepted + s.rejected_error + s.rejected_newton);
        assert_true(s.accepted > 50 && s.residuals > 5 * s.accepted && s.h_last > 0);
        assert_true(k % 3 == 1 ? s.jacobians >= s.accepted : s.jacobians < s.accepted);
        assert_int_equal(s.projections > 0, projected);
        drop_fixture(&f);
    }
}

// All test systems: quaternions stay normed, contact coordinates and auxiliary variables are solved for.
static void systems_move_as_known(void **state)
{
    (void)state;
    for (int k = 0; k < 3 * KD_TEST_SYSTEM_COUNT; k++) {
        kd_integrator_options opt = kd_integrator_options_default();
        opt.sdirk.method = METHODS[k % 3 == 1];
        opt.rtol = opt.atol = 1e-6;
        check_system(&kd_test_systems[k / 3], KD_SDIRK, &opt, k % 3 < 2 ? KD_ODE : KD_PSF, 1e-3);
    }
}

// The double pendulum of S2 (fast eigenvalue -1e5 1/s) in joint angles: steps as S2 table III tells (31 to 387), errors
// at 2 s within the tolerance for angles and 5 times that for rates, Jacobians hardly ever.
static void stiff_double_pendulum(void **state)
{
    (void)state;
    const long   paper[6] = {31, 47, 76, 127, 223, 387};
    const double exact[4] = {4.64047818322133113, 4.6404967016885317 - 4.64047818322133113, -1.629892454084,
                             -1.630252715380 + 1.629892454084};
    kd_model    *model = NULL;
    kd_system   *system = NULL;
    kd_state    *x = NULL;
    char         message[500] = "";
    assert_true(kd_model_read(KD_SOURCE_DIR "/models/stiff-double-pendulum.yaml", NULL, 0, &model, message,
                              sizeof message) >= 0);
    assert_true(kd_system_create(model, NULL, &system, message, sizeof message) >= 0);
    const kd_eom *eom = kd_system_eom(system);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    kd_formulation_options fo = kd_formulation_options_default();
    kd_dae                *dae = make_dae(eom, NULL, x, KD_ODE, &fo);
    for (int k = 0; k < 18; k++) {
        kd_integrator_options opt = kd_integrator_options_default();
        kd_integrator        *sdirk;
        double                y[4], tol = pow(10, -2 - k % 6);
        opt.rtol = opt.atol = tol;
        opt.sdirk.method = METHODS[k / 6];
        kd_formulation_pack(dae, x, y);
        assert_int_equal(kd_integrator_create(dae, KD_SDIRK, &opt, &sdirk, NULL, 0), KD_OK);
        long before = kd_integrator_stats(sdirk).jacobians;
        assert_int_equal(kd_integrator_start(sdirk, 0, y), KD_OK);
        run_until(sdirk, 2);
        kd_stats s = kd_integrator_stats(sdirk);
        for (int i = 0; i < 4; i++) assert_close(kd_integrator_x(sdirk)[i], exact[i], (i < 2 ? 1.5 : 5) * tol);
        if (k < 6) assert_true(labs(s.accepted - paper[k]) <= 2 + paper[k] / 50);
        if (k < 6) assert_true(s.jacobians - before < 12);
        kd_integrator_destroy(sdirk);
    }
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// ---- hand-made equations --------------------------------------------------------------------------------------------

static int count(const dense_dae *d, char what)
{
    int n = 0;
    for (int i = 0; i < d->nlog; i++) n += d->log[i] == what;
    return n;
}

// A linear problem needs one Jacobian, theta < 0 one in each step, the Rosenbrock method too. gamma is 1 / (h gamma).
static void jacobians_are_kept(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        kd_integrator_options opt = kd_integrator_options_default();
        dense_dae             d;
        if (k == 1) opt.sdirk.theta = -1;
        if (k == 2) opt.sdirk.method = KD_SDIRK_ROSENBROCK;
        kd_integrator *sdirk = make_sdirk(&d, &stiff, &opt);
        run_until(sdirk, 1);
        kd_stats s = kd_integrator_stats(sdirk);
        assert_int_equal(s.jacobians, count(&d, 'E'));
        assert_int_equal(s.jacobians, k == 0 ? 1 : s.accepted);
        assert_close(d.gamma * s.h_last, k == 2 ? 4 : 15.0 / 4, 1e-12);
        if (k == 0) assert_true(s.decompositions < s.steps);
        kd_integrator_destroy(sdirk);
    }
}

// A Jacobian that has become too old is replaced without a shorter step, and by an update where the form has one.
static void old_jacobians_are_replaced(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        kd_integrator_options opt = kd_integrator_options_default();
        dense_dae             d;
        opt.rtol = opt.atol = 1e-3;
        opt.sdirk.theta = k == 0 ? 0.9 : 0;
        opt.sdirk.max_newton = k == 0 ? 6 : 10;
        kd_integrator *sdirk = make_sdirk(&d, k == 0 ? &waves : &index1, &opt);
        if (k == 1) d.methods.update = dense_update;
        run_until(sdirk, 5);
        kd_stats s = kd_integrator_stats(sdirk);
        if (k == 0) assert_true(s.jacobians > 1 + s.rejected_newton && s.jacobians < s.accepted / 4);
        if (k == 1) assert_true(s.updates > 0 && s.jacobians < s.accepted);
        assert_true(error_of(sdirk, k == 0 ? &waves : &index1) < 2e-2);
        kd_integrator_destroy(sdirk);
    }
}

// Cut-off steps: h_first, h_max, exact t_end, no step where no time is left, no way back.
static void steps_keep_their_limits(void **state)
{
    (void)state;
    kd_integrator_options opt = kd_integrator_options_default();
    dense_dae             d;
    opt.h_first = 1e-3;
    opt.h_max = 0.02;
    opt.rtol = opt.atol = 1e-3;
    kd_integrator *sdirk = make_sdirk(&d, &waves, &opt);
    assert_int_equal(kd_integrator_step(sdirk, 1), KD_OK);
    assert_close(kd_integrator_time(sdirk), 1e-3, 0);
    while (kd_integrator_time(sdirk) < 1) {
        assert_int_equal(kd_integrator_step(sdirk, 1), KD_OK);
        assert_true(kd_integrator_time(sdirk) - kd_integrator_time_old(sdirk) < 0.02 * (1 + 1e-3));
    }
    assert_close(kd_integrator_time(sdirk), 1, 0);
    long steps = kd_integrator_stats(sdirk).steps;
    assert_int_equal(kd_integrator_step(sdirk, 1), KD_OK);
    assert_int_equal(kd_integrator_stats(sdirk).steps, steps);
    assert_int_equal(kd_integrator_step(sdirk, 0.5), KD_ERR_TIME);
    assert_int_equal(kd_integrator_step(sdirk, NAN), KD_ERR_TIME);
    assert_int_equal(kd_integrator_step(NULL, 1), KD_ERR_ARGUMENT);
    kd_integrator_destroy(sdirk);
}

// Predictive control rejects less than classical control where the step has to become smaller.
static void predictive_control_rejects_less(void **state)
{
    (void)state;
    long rejected[2];
    for (int k = 0; k < 2; k++) {
        kd_integrator_options opt = kd_integrator_options_default();
        dense_dae             d;
        opt.sdirk.classical = k == 1;
        opt.rtol = opt.atol = 1e-5;
        kd_integrator *sdirk = make_sdirk(&d, &waves, &opt);
        run_until(sdirk, 20);
        rejected[k] = kd_integrator_stats(sdirk).rejected_error;
        kd_integrator_destroy(sdirk);
    }
    assert_true(rejected[0] < rejected[1]);
}

// A second start forgets the past, gives the same numbers again and keeps counting. Steps allocate nothing.
static void restart_repeats(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        kd_integrator_options opt = kd_integrator_options_default();
        opt.sdirk.method = METHODS[k];
        fixture           f = make_fixture(&opt, KD_PROJECT_ALWAYS);
        failing_allocator a = {0};
        failing_allocator_use(&a);
        run_until(f.solver, 1);
        double first[4];
        memcpy(first, kd_integrator_x(f.solver), sizeof first);
        long steps = kd_integrator_stats(f.solver).steps;
        assert_int_equal(kd_integrator_start(f.solver, 0, f.y), KD_OK);
        run_until(f.solver, 1);
        kd_set_allocator(NULL);
        assert_int_equal(a.calls, 0);
        for (int i = 0; i < 4; i++) assert_close(kd_integrator_x(f.solver)[i], first[i], 1e-13);
        assert_int_equal(kd_integrator_stats(f.solver).steps, 2 * steps);
        drop_fixture(&f);
    }
}

// ---- new coordinates ------------------------------------------------------------------------------------------------

// x' = cos(t) c(x), c = 1 / unit: the solution sin t in a unit that changes every now and then
typedef struct units {
    dense_dae d;
    double    unit;
    int       changes, asked;
} units;
static units *of_units;

static kd_eval units_residual(double t, const double *x, const double *xdot, double *F)
{
    F[0] = xdot[0] - cos(t) / of_units->unit - 0.5 * (x[0] - sin(t) / of_units->unit);
    return KD_EVAL_OK;
}
static void units_derivatives(double t, const double *x, double *F_x, double *F_xdot)
{
    (void)t, (void)x;
    F_x[0] = -0.5;
    F_xdot[0] = 1;
}
static void units_solution(double t, double *x)
{
    x[0] = sin(t) / of_units->unit;
}
static kd_eval units_relabel(void *impl, double t, double *x, bool *changed)
{
    (void)impl, (void)t;
    *changed = ++of_units->asked % 5 == 0;
    if (!*changed) return KD_EVAL_OK;
    const double factor = of_units->changes++ % 2 == 0 ? 2 : 0.5;
    of_units->unit *= factor;
    x[0] /= factor;
    return KD_EVAL_OK;
}

// Coordinates that are chosen anew: the integration goes on with its step size, one Jacobian for each change; dense
// output of a step remains in its coordinates.
static void coordinates_change(void **state)
{
    (void)state;
    const dense_problem problem = {"units", 1, 1, units_residual, units_derivatives, units_solution};
    for (int k = 0; k < 3; k++) {
        kd_integrator_options opt = kd_integrator_options_default();
        units                 u = {.unit = 1};
        long                  steps[2];
        opt.sdirk.method = METHODS[k];
        opt.rtol = opt.atol = 1e-7;
        for (int with = 0; with < 2; with++) {
            u.unit = 1;
            of_units = &u;
            kd_integrator *sdirk = make_sdirk(&u.d, &problem, &opt);
            if (with) u.d.methods.relabel = units_relabel;
            while (kd_integrator_time(sdirk) < 3) {
                double y;
                assert_int_equal(kd_integrator_step(sdirk, 3), KD_OK);
                double t = 0.5 * (kd_integrator_time_old(sdirk) + kd_integrator_time(sdirk));
                assert_int_equal(kd_integrator_dense(sdirk, t, &y), KD_OK);
                assert_close(y * u.unit, sin(t), 3e-6);
            }
            assert_close(kd_integrator_x(sdirk)[0] * u.unit, sin(3), 2e-6);
            steps[with] = kd_integrator_stats(sdirk).accepted;
            if (with) assert_true(u.changes > 3);
            if (with && k == 0)
                assert_in_range(kd_integrator_stats(sdirk).jacobians, 1, 2 + u.changes); // the first steps grow
            kd_integrator_destroy(sdirk);
        }
        assert_true(labs(steps[1] - steps[0]) <= 1 + steps[0] / 5);
    }
}

// ---- attempts -------------------------------------------------------------------------------------------------------

typedef struct listener {
    long   accepted, error, other;
    double t; // end of the last accepted step
} listener;

static void listen(const kd_attempt_report *report, void *context)
{
    listener *l = context;
    double    sum = 0;
    assert_close(report->t, l->t, 1e-13);
    assert_int_equal(report->order, 4);
    for (int i = 0; i < 2 && report->share; i++) sum += report->share[i];
    if (report->share) assert_close(sum, 1, 1e-12);
    l->accepted += report->outcome == KD_ATTEMPT_ACCEPTED;
    l->error += report->outcome == KD_ATTEMPT_ERROR;
    l->other += report->outcome > KD_ATTEMPT_ERROR;
    if (report->outcome == KD_ATTEMPT_ACCEPTED) {
        assert_true(report->error < 1 && report->iterations >= 1);
        l->t = report->t + report->h;
    }
    if (report->outcome == KD_ATTEMPT_ERROR) assert_true(report->error >= 1);
}

// Every attempt is told: as many as the statistics count, end to end.
static void attempts_are_told(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        kd_integrator_options opt = kd_integrator_options_default();
        listener              l = {0};
        dense_dae             d;
        opt.sdirk.method = METHODS[k];
        opt.h_first = 1;
        kd_integrator *sdirk = make_sdirk(&d, &waves, &opt);
        d.dae.observe = listen;
        d.dae.observer = &l;
        run_until(sdirk, 3);
        kd_stats s = kd_integrator_stats(sdirk);
        assert_int_equal(l.accepted, s.accepted);
        assert_int_equal(l.error, s.rejected_error);
        assert_int_equal(l.other, s.rejected_newton);
        assert_true(l.error + l.other > 0);
        assert_close(l.t, 3, 1e-12);
        kd_integrator_destroy(sdirk);
    }
}

// ---- failures -------------------------------------------------------------------------------------------------------

static kd_status run_until_failure(kd_integrator *sdirk, double t_end)
{
    kd_status status = KD_OK;
    while (status == KD_OK && kd_integrator_time(sdirk) < t_end) status = kd_integrator_step(sdirk, t_end);
    return status;
}

// A solution that blows up, a function that refuses, stops or gives no number, singular matrices: the state is the last
// good one, and the message says when, why and where.
static void failures_have_words(void **state)
{
    (void)state;
    static const struct {
        kd_eval     answer;
        bool        nan, singular;
        kd_status   status;
        const char *word;
    } cases[] = {
        {KD_EVAL_OK, false, false, KD_ERR_STEP_TOO_SMALL, "x[0] of the test"},
        {KD_EVAL_RETRY, false, false, KD_ERR_NOT_FINITE, "the reason of the test"},
        {KD_EVAL_STOP, false, false, KD_ERR_CALLBACK_STOP, "the reason of the test"},
        {KD_EVAL_OK, true, false, KD_ERR_STEP_TOO_SMALL, "x[0] of the test"},
        {KD_EVAL_OK, false, true, KD_ERR_DECOMPOSITION, "the reason of the test"},
    };
    for (int k = 0; k < 3; k++) {
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            kd_integrator_options opt = kd_integrator_options_default();
            dense_dae             d;
            opt.sdirk.method = METHODS[k];
            kd_integrator *sdirk = make_sdirk(&d, &burst, &opt);
            d.beyond_answer = cases[c].answer;
            d.not_a_number = cases[c].nan;
            d.singular = cases[c].singular;
            if (d.beyond_answer != KD_EVAL_OK || d.not_a_number) d.beyond = 0.5;
            kd_status status = run_until_failure(sdirk, 2);
            if (status != cases[c].status || !strstr(kd_integrator_message(sdirk), cases[c].word))
                fail_msg("method %d, case %zu: %d, %s", k, c, (int)status, kd_integrator_message(sdirk));
            assert_non_null(strstr(kd_integrator_message(sdirk), "at t = "));
            assert_true(kd_integrator_time(sdirk) <= (isfinite(d.beyond) ? 0.5 : 1.0001));
            assert_true(isfinite(kd_integrator_x(sdirk)[0]));
            kd_integrator_destroy(sdirk);
        }
    }
}

static kd_eval refuse_to_start(void *impl, double t, const double *x, double *xdot)
{
    (void)t, (void)x, (void)xdot;
    ((dense_dae *)impl)->status = KD_ERR_NOT_FINITE;
    return KD_EVAL_RETRY;
}

static kd_eval refuse_point(void *impl, double t, double *x, bool *changed)
{
    (void)impl, (void)t, (void)x, (void)changed;
    return KD_EVAL_STOP;
}

// A start that is refused, and an end point or new coordinates that cannot be had.
static void refusals_around_steps(void **state)
{
    (void)state;
    dense_dae      d;
    double         x[2] = {1, 1};
    kd_integrator *sdirk = make_sdirk(&d, &waves, NULL);
    d.methods.start = refuse_to_start;
    assert_int_equal(kd_integrator_start(sdirk, 0, x), KD_ERR_NOT_FINITE);
    assert_non_null(strstr(kd_integrator_message(sdirk), "the reason of the test"));
    d.methods.start = dense_start;
    d.status = KD_ERR_CALLBACK_STOP;
    d.methods.project = refuse_point;
    assert_int_equal(kd_integrator_start(sdirk, 0, x), KD_OK);
    assert_int_equal(kd_integrator_step(sdirk, 1), KD_ERR_CALLBACK_STOP);
    assert_close(kd_integrator_time(sdirk), 0, 0);
    d.methods.project = NULL;
    d.methods.relabel = refuse_point;
    assert_int_equal(kd_integrator_start(sdirk, 0, x), KD_OK);
    assert_int_equal(kd_integrator_step(sdirk, 1), KD_OK);
    assert_int_equal(kd_integrator_step(sdirk, 1), KD_ERR_CALLBACK_STOP);
    kd_integrator_destroy(sdirk);
}

// Wrong options and missing arguments are refused with a sentence; so is the Rosenbrock method without rhs.
static void options_are_validated(void **state)
{
    (void)state;
    const struct {
        size_t offset;
        double value;
    } wrong[] = {
        {offsetof(kd_integrator_options, rtol), 0},
        {offsetof(kd_integrator_options, atol), -1},
        {offsetof(kd_integrator_options, rtol), NAN},
        {offsetof(kd_integrator_options, h_first), -1},
        {offsetof(kd_integrator_options, h_max), -1},
        {offsetof(kd_integrator_options, sdirk.uround), 0},
        {offsetof(kd_integrator_options, sdirk.safety), 1},
        {offsetof(kd_integrator_options, sdirk.theta), 1},
        {offsetof(kd_integrator_options, sdirk.newton_stop), -1},
        {offsetof(kd_integrator_options, sdirk.quot1), 1.1},
        {offsetof(kd_integrator_options, sdirk.fac_upper), 1},
        {offsetof(kd_integrator_options, sdirk.fac_lower), 1},
    };
    dense_dae      d;
    kd_integrator *sdirk;
    char           message[300];
    dense_make(&d, &waves);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        kd_integrator_options opt = kd_integrator_options_default();
        memcpy((char *)&opt + wrong[k].offset, &wrong[k].value, sizeof(double));
        kd_status status = kd_integrator_create(&d.dae, KD_SDIRK, &opt, &sdirk, message, sizeof message);
        assert_true(status == KD_ERR_ARGUMENT || status == KD_ERR_TOLERANCE);
        assert_null(sdirk);
        assert_true(strlen(message) > 10);
    }
    kd_integrator_options opt = kd_integrator_options_default();
    opt.sdirk.max_newton = 1;
    assert_int_equal(kd_integrator_create(&d.dae, KD_SDIRK, &opt, &sdirk, NULL, 0), KD_ERR_ARGUMENT);
    opt = kd_integrator_options_default();
    opt.max_steps = 0;
    assert_int_equal(kd_integrator_create(&d.dae, KD_SDIRK, &opt, &sdirk, NULL, 0), KD_ERR_ARGUMENT);
    opt = kd_integrator_options_default();
    opt.rtol_each = (const double[]){1e-6, 0};
    assert_int_equal(kd_integrator_create(&d.dae, KD_SDIRK, &opt, &sdirk, message, sizeof message), KD_ERR_TOLERANCE);
    assert_non_null(strstr(message, "component 1"));
    opt = kd_integrator_options_default();
    for (int k = 1; k < 3; k++) {
        opt.sdirk.method = METHODS[k];
        assert_int_equal(kd_integrator_create(&d.dae, KD_SDIRK, &opt, &sdirk, message, sizeof message),
                         KD_ERR_UNSUPPORTED);
        assert_non_null(strstr(message, "rhs"));
    }
    d.index[1] = 3;
    assert_int_equal(kd_integrator_create(&d.dae, KD_SDIRK, NULL, &sdirk, message, sizeof message), KD_ERR_UNSUPPORTED);
    assert_non_null(strstr(message, "index 3"));
    assert_int_equal(kd_integrator_create(NULL, KD_SDIRK, NULL, &sdirk, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_create(&d.dae, KD_SDIRK, NULL, NULL, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_start(NULL, 0, NULL), KD_ERR_ARGUMENT);
    assert_int_equal(kd_integrator_dense(NULL, 0, NULL), KD_ERR_ARGUMENT);
    kd_integrator_destroy(NULL);
}

// A failed allocation leaves nothing behind.
static void failed_allocation_leaves_nothing(void **state)
{
    (void)state;
    dense_dae d;
    dense_make(&d, &waves);
    check_memory(&d.dae, KD_SDIRK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pendulum_moves_exactly),
        cmocka_unit_test(systems_move_as_known),
        cmocka_unit_test(stiff_double_pendulum),
        cmocka_unit_test(jacobians_are_kept),
        cmocka_unit_test(old_jacobians_are_replaced),
        cmocka_unit_test(steps_keep_their_limits),
        cmocka_unit_test(predictive_control_rejects_less),
        cmocka_unit_test(restart_repeats),
        cmocka_unit_test(coordinates_change),
        cmocka_unit_test(attempts_are_told),
        cmocka_unit_test(failures_have_words),
        cmocka_unit_test(refusals_around_steps),
        cmocka_unit_test(options_are_validated),
        cmocka_unit_test(failed_allocation_leaves_nothing),
    };
    silence_unused_whole();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
